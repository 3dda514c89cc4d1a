// Calls every function of kernels/host.py with values that show that each argument arrived in its own place.
#include <cute_kernels.hpp>

#include <limits>
#include <optional>

#include "tensors.hpp"

namespace ck = cute_kernels;

void expect_errors();   // in errors.cpp
void expect_numbers();  // in numbers.cpp

namespace {

void scalars() {
  Borrowed<float> a({1, 2, 3}), b = output(3), c = output(3);
  ck::host_add_constant(a, b, 0.5f);
  EXPECT(b.holds({1.5f, 2.5f, 3.5f}));
  ck::host_add_constant(a, a, 10);
  EXPECT(a.holds({11, 12, 13}));

  Borrowed<float> x({1, 2}), y({10, 20}), out = output(2);
  ck::host_axpby(2, x, 3, y, out);
  EXPECT(out.holds({32, 64}));
  EXPECT(x.holds({1, 2}) && y.holds({10, 20}));

  ck::host_positional_only(x, 4, out);
  EXPECT(out.holds({4, 8}));
}

void scalars_of_every_width() {
  Borrowed<std::int64_t> integers = output<std::int64_t>(9);
  Borrowed<double> floats = output<double>(2);
  ck::host_scalars(true, -128, -32768, std::numeric_limits<std::int32_t>::min(),
                   std::numeric_limits<std::int64_t>::min(), 255, 65535,
                   std::numeric_limits<std::uint32_t>::max(),
                   std::numeric_limits<std::uint64_t>::max(), 0.1f, 0.1, integers, floats);
  EXPECT(integers.holds({1, -128, -32768, std::numeric_limits<std::int32_t>::min(),
                         std::numeric_limits<std::int64_t>::min(), 255, 65535, 4294967295,
                         -1 /* what 2**64 - 1 is as int64 */}));
  EXPECT(floats.holds({double{0.1f}, 0.1}));

  ck::host_scalars(false, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, integers, floats);
  EXPECT(integers.holds({0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT(floats.holds({9, 10}));
}

void defaults() {
  Borrowed<double> out = output<double>(4);
  ck::host_defaults(out);
  EXPECT(out.holds({1, -7, 0.25, 9}));
  ck::host_defaults(out, false, 8);
  EXPECT(out.holds({0, 8, 0.25, 9}));
  ck::host_defaults(out, true, std::int64_t{1} << 40, 0.1, 2.5f);
  EXPECT(out.holds({1, 1099511627776, 0.1, 2.5}));

  Borrowed<float> x({1, 2}), y = output(2);
  ck::host_add_constant(x, y);
  EXPECT(y.holds({2, 3}));
  ck::host_keyword_only(x, y);
  EXPECT(y.holds({2, 4}));
  ck::host_keyword_only(x, y, -1);
  EXPECT(y.holds({-1, -2}));
}

void several_tensors() {
  Borrowed<float> x({1, 2}), y({10, 20}), z({100, 200}), out = output(2);
  ck::host_weighted_sum(out, x, y, z);
  EXPECT(out.holds({321, 642}));
}

void hidden_arguments() {
  Borrowed<float> x({2, -1}), bias({5, 7}), out = output(2);
  ck::host_frozen(x, out);
  EXPECT(out.holds({-8, 1}));
  ck::host_bias(x, out);
  EXPECT(out.holds({4, -2}));
  ck::host_bias_given(x, bias, out);
  EXPECT(out.holds({9, 5}));
  ck::host_polynomial(x, out);
  EXPECT(out.holds({-1, 3.5f}));
}

void tuples() {
  using tvm::ffi::Tensor, tvm::ffi::Tuple;
  const Tuple<Tensor, Tuple<Tensor, float>> operands(owned({1, 2}),
                                                     Tuple<Tensor, float>(owned({10, 20}), 3.0f));
  Borrowed<float> out = output(2);
  ck::host_tuple(operands, out);
  EXPECT(out.holds({-29, -58}));
}

void structs() {
  Borrowed<float> out = output(2);
  ck::host_affine({owned({1, 2}), 5}, out);
  EXPECT(out.holds({5, 10}));

  ck::HostPowers series{owned({2, 3}), 10};
  ck::host_powers(series, out);
  EXPECT(out.holds({60, 210}));
  series.factor = 1;
  ck::host_powers(series, out);
  EXPECT(out.holds({6, 21}));
}

void pointers() {
  std::vector<float> values{1, 10, 100};
  Borrowed<float> out = output(1);
  ck::host_pointer(values.data(), 2, out);
  EXPECT(out.holds({21}));
  ck::host_pointer(values.data(), 3, out);
  EXPECT(out.holds({321}));
}

void shapes() {
  Borrowed<std::int64_t> three = output<std::int64_t>(3), four = output<std::int64_t>(4);
  ck::host_shape_static({4, 8}, three);
  EXPECT(three.holds({4, 8, 32}));
  const tvm::ffi::Shape shape{4, 5, std::int64_t{1} << 33};
  ck::host_shape_mixed(shape, four);
  EXPECT(four.holds({4, 5, std::int64_t{1} << 33, 20 * (std::int64_t{1} << 33)}));
}

template <typename T, typename Two, typename Five>
void row_sums(Two two, Five five) {
  Borrowed<T> narrow({1, 2, 10, 20}, {2, 2}), wide({1, 0, 2, 0, 3}, {1, 5});
  Borrowed<T> sums = output<T>(2), sum = output<T>(1);
  two(narrow, sums);
  EXPECT(sums.holds({5, 50}));
  five(wide, sum);
  EXPECT(sum.holds({22}));
  sums = output<T>(2), sum = output<T>(1);
  ck::host_row_sums(narrow, sums);
  EXPECT(sums.holds({5, 50}));
  ck::host_row_sums(wide, sum);
  EXPECT(sum.holds({22}));
}

void variants() {
  namespace own = ck::host_row_sums_variants;
  row_sums<float>(own::float32_2, own::float32_5);
  row_sums<double>(own::float64_2, own::float64_5);
  row_sums<std::int32_t>(own::int32_2, own::int32_5);
}

void choices() {
  using tvm::ffi::TensorView;
  Borrowed<float> x({1, 2}), bias({5, 6}), out = output(2);
  ck::host_scale_add(x, 2, false, std::nullopt, out);
  EXPECT(out.holds({2, 4}));
  ck::host_scale_add(x, 2, true, std::nullopt, out);
  EXPECT(out.holds({-2, -4}));
  ck::host_scale_add(x, 2, false, TensorView(bias), out);
  EXPECT(out.holds({7, 10}));
  ck::host_scale_add<true>(x, 3, std::nullopt, out);
  EXPECT(out.holds({-3, -6}));

  Borrowed<float> rows({1, 2, 10, 20}, {2, 2}), three({1, 2, 3}, {1, 3}), one = output(1);
  ck::host_activate(rows, ck::HostActivateKind::square, out);
  EXPECT(out.holds({9, 900}));
  ck::host_activate<ck::HostActivateKind::cube>(three, one);
  EXPECT(one.holds({98}));
}

}  // namespace

int main() {
  scalars();
  scalars_of_every_width();
  defaults();
  several_tensors();
  hidden_arguments();
  tuples();
  structs();
  pointers();
  shapes();
  variants();
  choices();
  expect_errors();
  expect_numbers();
}
