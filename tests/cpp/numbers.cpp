// Numbers of every type for parameters of every type: what compiles, what arrives, and what is refused by name.
#include <cute_kernels.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "tensors.hpp"

namespace ck = cute_kernels;

void expect_numbers();

namespace {

template <typename To, typename From>
constexpr bool takes = std::is_convertible_v<From, ck::Number<To>>;

enum Unscoped { ten = 10 };
enum class Scoped { ten = 10 };
struct Half {
  operator float() const { return 0.5f; }
};
struct Wide {
  operator std::int64_t() const { return 7; }
};

static_assert(takes<std::int32_t, std::int64_t> && takes<std::int8_t, int> && takes<std::int64_t, std::size_t>);
static_assert(!takes<std::int32_t, float> && !takes<std::int64_t, double> && !takes<std::uint8_t, double>);
static_assert(!takes<std::int32_t, bool> && !takes<float, bool> && takes<bool, bool>);
static_assert(!takes<bool, int> && !takes<bool, double> && !takes<bool, const char*> && !takes<bool, void*>);
static_assert(takes<float, double> && takes<double, float> && takes<float, int> && takes<double, std::int64_t>);
static_assert(!takes<std::int32_t, void*> && !takes<float, const char*> && !takes<std::int64_t, std::nullptr_t>);
static_assert(!takes<float, long double> && !takes<float, std::string>);
static_assert(takes<std::int32_t, Unscoped> && !takes<std::int32_t, Scoped> && takes<std::int8_t, Unscoped> && !takes<bool, Unscoped>);
static_assert(takes<bool, std::true_type> && takes<std::int64_t, std::integral_constant<int, 3>>);
static_assert(takes<float, Half> && !takes<std::int32_t, Half> && takes<std::int64_t, Wide>);
static_assert(!takes<std::int32_t, Wide> && !takes<std::int64_t, std::optional<int>>);
static_assert(std::is_convertible_v<int, std::optional<ck::Number<std::int64_t>>>);
static_assert(!std::is_convertible_v<double, std::optional<ck::Number<std::int64_t>>>);
static_assert(!std::is_invocable_v<decltype(ck::host_pointer), void*, float, tvm::ffi::TensorView>);
static_assert(!std::is_invocable_v<decltype(ck::host_defaults), tvm::ffi::TensorView, const char*>);

template <typename Call>
void expect_refusal(const char* expected, Call call) {
  std::string message;
  try {
    call();
  } catch (const tvm::ffi::Error& error) {
    message = error.what();
  }
  EXPECT(message.find(expected) != std::string::npos);
}

void expect_values_beyond_their_types_to_be_refused() {
  std::vector<float> values{1, 10, 100};
  Borrowed<float> out = output(1);
  const auto with_count = [&](auto count) { ck::host_pointer(values.data(), count, out); };
  with_count(std::int64_t{2});
  EXPECT(out.holds({21}));
  with_count(std::size_t{3});
  EXPECT(out.holds({321}));
  expect_refusal("count is 4294967298, expected int32", [&] { with_count((std::int64_t{1} << 32) + 2); });
  expect_refusal("count is 2147483648, expected int32", [&] { with_count(2147483648u); });
  expect_refusal("count is 1.844674", [&] { with_count(std::numeric_limits<std::uint64_t>::max()); });
  EXPECT(out.holds({321}));

  Borrowed<std::int64_t> integers = output<std::int64_t>(9);
  Borrowed<double> floats = output<double>(2);
  const auto scalars = [&](auto i8, auto i64, auto u8, auto u64) {
    ck::host_scalars(true, i8, 2, 3, i64, u8, 6, 7, u64, 9, 10, integers, floats);
  };
  scalars(std::int64_t{-128}, std::size_t{4}, 255ll, std::numeric_limits<std::uint64_t>::max());
  EXPECT(integers.holds({1, -128, 2, 3, 4, 255, 6, 7, -1}));
  scalars(Unscoped::ten, Wide{}, 5, std::int64_t{8});
  EXPECT(integers.holds({1, 10, 2, 3, 7, 5, 6, 7, 8}));
  expect_refusal("i8 is 128, expected int8", [&] { scalars(128, 4, 5, 8); });
  expect_refusal("u8 is -1, expected uint8", [&] { scalars(1, 4, -1, 8); });
  expect_refusal("u64 is -8", [&] { scalars(1, 4, 5, -8); });
  expect_refusal("i64 is 9.22337", [&] { scalars(1, std::uint64_t{1} << 63, 5, 8); });
  EXPECT(integers.holds({1, 10, 2, 3, 7, 5, 6, 7, 8}));
}

}  // namespace

void expect_numbers() { expect_values_beyond_their_types_to_be_refused(); }
