// Arguments that compile and do not fit: what a program catches, and what it reads there.
#include <cute_kernels.hpp>
#include <cute_kernels/runtime.hpp>

#include <string>
#include <type_traits>

#include "tensors.hpp"

namespace ck = cute_kernels;

namespace {

/// Calls something that has to throw, and checks the kind of the error and what its message contains.
template <typename Call>
void expect_error(const char* kind, std::initializer_list<const char*> parts, Call call) {
  bool thrown = false;
  try {
    call();
  } catch (const tvm::ffi::Error& error) {
    thrown = true;
    EXPECT(error.kind() == kind);
    const std::string message = error.what();
    for (const char* part : parts) EXPECT(message.find(part) != std::string::npos);
  }
  EXPECT(thrown);
}

/// Guards set a stream for one device, and put back what was there, also when an error passes them.
void expect_guards_to_restore() {
  const auto stream_of = [](int device) { return TVMFFIEnvGetStream(kDLCUDA, device); };
  int first, second;
  {
    const ck::StreamGuard outer(DLDevice{kDLCUDA, 0}, &first);
    EXPECT(stream_of(0) == &first && stream_of(1) == nullptr);
    Borrowed<float> two({1, 2}), three = output(3);
    expect_error("ValueError", {"host_add_constant"}, [&] {
      const ck::StreamGuard inner(DLDevice{kDLCUDA, 0}, &second);
      EXPECT(stream_of(0) == &second);
      ck::host_add_constant(two, three, 1);
    });
    EXPECT(stream_of(0) == &first);
  }
  EXPECT(stream_of(0) == nullptr);
}

}  // namespace

static_assert(!std::is_copy_constructible_v<ck::StreamGuard>);
static_assert(!std::is_invocable_v<ck::StreamGuard, void*>);

void expect_errors() {
  expect_guards_to_restore();
  Borrowed<float> two({1, 2}), three = output(3);
  Borrowed<double> doubles = output<double>(2);
  expect_error("ValueError", {"host_add_constant", "b.shape[0]"},
               [&] { ck::host_add_constant(two, three, 1); });
  EXPECT(three.holds({99, 99, 99}));
  expect_error("ValueError", {"host_polynomial"}, [&] { ck::host_polynomial(two, three); });
  expect_error("ValueError", {"host_add_constant", "b is Tensor([2], float64, CPU), expected dtype float32"},
               [&] { ck::host_add_constant(two, doubles, 1); });
  expect_error("ValueError", {"host_row_sums"},
               [&] { ck::host_row_sums_variants::float32_2(two, two); });
  expect_error("TypeError", {"No variant accepts", "host_row_sums"},
               [&] { ck::host_row_sums(two, two); });
  expect_error("TypeError", {"host_affine", "arguments.x is None, expected a tensor"},
               [&] { ck::host_affine({tvm::ffi::Tensor(), 1}, two); });
  expect_error("ValueError", {"host_shape_static"}, [&] {
    Borrowed<std::int64_t> out = output<std::int64_t>(3);
    ck::host_shape_static({4, 9}, out);
  });
}
