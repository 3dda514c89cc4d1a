// Calls families of every form: the choice made at run time, made when compiled, and variants by name.
#include <fam.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>

namespace f = fam;
using tvm::ffi::Any, tvm::ffi::Tensor, tvm::ffi::Tuple;

namespace {

struct Heap {
  void AllocData(DLTensor* tensor) { tensor->data = std::aligned_alloc(64, 1024); }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

Tensor array(std::vector<double> values) {
  const std::int64_t size = static_cast<std::int64_t>(values.size());
  Tensor tensor = Tensor::FromNDAlloc(Heap(), {size}, DLDataType{kDLFloat, 64, 1}, DLDevice{kDLCPU, 0});
  double* data = static_cast<double*>(tensor.data_ptr());
  for (const double value : values) *data++ = value;
  return tensor;
}

double at(const Tensor& tensor, int index) { return static_cast<double*>(tensor.data_ptr())[index]; }

void expect(int line, bool right) {
  if (right) return;
  std::fprintf(stderr, "line %d\n", line);
  std::exit(1);
}

#define WRITES(value, ...)                  \
  do {                                      \
    __VA_ARGS__;                            \
    expect(__LINE__, at(out, 0) == (value)); \
  } while (0)

const Tensor out = array({0});

void selectors() {
  for (const bool flag : {true, false}) WRITES(flag ? 1.0 : 2.0, f::by_bool(out, flag));
  WRITES(1.0, f::by_bool<true>(out));
  WRITES(2.0, f::by_bool_variants::false_(out));
  WRITES(64.0, f::by_int(out, 64));
  WRITES(1099511627776.0, f::by_int<(std::int64_t{1} << 40)>(out));
  WRITES(64.0, f::by_int_variants::_64(out));
  WRITES(-1e300, f::by_float(out, -1e300));
  WRITES(2.0, f::by_float(out, 2));
  WRITES(9.0, f::by_str(out, f::ByStrWord::two_words));
  WRITES(3.0, f::by_str<f::ByStrWord::int_>(out));
  WRITES(2.0, f::by_enum(out, f::ByEnumNumber_::exact));
  WRITES(1.0, f::by_enum<f::ByEnumNumber_::fast>(out));
  WRITES(1.0, f::by_enum_variants::FAST(out));
  WRITES(0.0, f::by_anything(out, f::ByAnythingNumber::none));
  WRITES(3.0, f::by_anything(out, f::ByAnythingNumber::value_3));
  WRITES(4.0, f::by_anything(out, f::ByAnythingNumber::four));
  WRITES(1.0, f::by_anything(out, f::ByAnythingNumber::true_));
  WRITES(-5.5, f::by_anything<f::ByAnythingNumber::minus_5_5>(out));
  const Tensor x = array({3});
  WRITES(9.0, f::by_function(x, f::ByFunctionFunction::square, out));
  WRITES(6.0, f::by_function<f::ByFunctionFunction::double_>(x, out));
}

void defaults() {
  WRITES(2.5, f::defaults(2.0, out));
  WRITES(1.0, f::defaults(2.0, out, f::DefaultsMode::multiply));
  WRITES(-5.0, f::defaults(2.0, out, f::DefaultsMode::add, 3.0, true));
  WRITES(-2.5, (f::defaults<f::DefaultsMode::add, true>(2.0, out)));
  try {
    f::defaults(2.0, out, f::DefaultsMode::multiply, 1.0, true);
    expect(__LINE__, false);
  } catch (const tvm::ffi::Error& error) {
    expect(__LINE__, error.kind() == "TypeError");
    expect(__LINE__, error.message().find("No variant accepts") == 0);
  }
}

void optional_tensors() {
  const Tensor x = array({1, 2}), scale = array({10, 10}), shift = array({5, 5}), result = array({0, 0});
  f::affine(x, result);
  expect(__LINE__, at(result, 0) == 1 && at(result, 1) == 2);
  f::affine(x, result, scale, shift);
  expect(__LINE__, at(result, 0) == 15 && at(result, 1) == 25);
  f::affine(x, result, std::nullopt, std::nullopt);
  expect(__LINE__, at(result, 0) == 1 && at(result, 1) == 2);
  f::affine_variants::true_(x, result, scale, shift);
  expect(__LINE__, at(result, 0) == 15 && at(result, 1) == 25);
  f::affine_variants::false_(x, result);
  expect(__LINE__, at(result, 0) == 1 && at(result, 1) == 2);
}

void little() {
  f::nothing(1);
  f::nothing<2>();
  f::nothing_variants::_1();
  WRITES(6.0, f::no_axes(out));
  WRITES(7.0, f::one_value(out));
  WRITES(8.0, f::detail(out));
  WRITES(9.0, f::a_variants(out));
  WRITES(10.0, f::ByEnumNumber(out));
  WRITES(9.0, f::a_variants_variants::_9p0(out));
  WRITES(2.0, f::a(out, f::ANumber::y));
  WRITES(2.0, f::a_variants_::y(out));
  WRITES(3.0, f::a_b(out, f::ABNumber::x));
  WRITES(5.0, f::AB(out));
  WRITES(32.0, f::unbuilt(out, 2, 10, 20, f::UnbuiltWord::none_2));
  WRITES(29.0, (f::unbuilt<1, f::UnbuiltWord::none>(out, 10, 20)));
  WRITES(28.0, (f::unbuilt<2, f::UnbuiltWord::none_3>(out, 10, 20)));
  WRITES(11.0, f::by(out, f::ByStrWord_::relu));
  WRITES(1.0, f::inner<1>(out));
  WRITES(2.0, f::inner_variants::_2(out));
}

void records() {
  const Tensor x = array({1}), other = array({10});
  const Tuple<Tensor, double, Any> with_factor(x, 3.0, Any());
  const Tuple<Tensor, Any, Tensor> with_other(x, Any(), other);
  WRITES(6.0, f::records(with_factor, Tuple<double, bool>(1.0, false), out));
  WRITES(-12.0, f::records(with_other, Tuple<double, bool>(1.0, true), out));
  WRITES(-6.0, f::records_variants::factor_true({x, 3.0}, {1.0}, out));
}

}  // namespace

int main() {
  selectors();
  defaults();
  optional_tensors();
  little();
  records();
  std::puts("done");
}
