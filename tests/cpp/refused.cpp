// What does not compile. Each refused call stands below one that differs only in what is wrong with it.
#include <cute_kernels.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ck = cute_kernels;
using tvm::ffi::Shape, tvm::ffi::Tensor, tvm::ffi::TensorView, tvm::ffi::Tuple;
using None = std::nullptr_t;

namespace {

template <auto function, typename... Arguments>
constexpr bool takes = std::is_invocable_v<decltype(function), Arguments...>;

template <typename Struct, typename = void, typename... Fields>
struct BracedWith : std::false_type {};

template <typename Struct, typename... Fields>
struct BracedWith<Struct, std::void_t<decltype(Struct{std::declval<Fields>()...})>, Fields...>
    : std::true_type {};

template <typename Struct, typename... Fields>
constexpr bool has_fields = BracedWith<Struct, void, Fields...>::value;

}  // namespace

// Too few and too many arguments.
static_assert(takes<ck::host_axpby, float, TensorView, float, TensorView, TensorView>);
static_assert(!takes<ck::host_axpby>);
static_assert(!takes<ck::host_axpby, float, TensorView, float, TensorView>);
static_assert(!takes<ck::host_axpby, float, TensorView, float, TensorView, TensorView, float>);

// Arguments of another kind, or in another's place.
static_assert(!takes<ck::host_axpby, TensorView, float, TensorView, float, TensorView>);
static_assert(!takes<ck::host_axpby, float, std::string, float, TensorView, TensorView>);
static_assert(!takes<ck::host_axpby, float, const char*, float, TensorView, TensorView>);
static_assert(!takes<ck::host_axpby, std::string, TensorView, float, TensorView, TensorView>);
static_assert(!takes<ck::host_axpby, None, TensorView, float, TensorView, TensorView>);
static_assert(!takes<ck::host_axpby, float, std::vector<float>, float, TensorView, TensorView>);
static_assert(takes<ck::host_pointer, float*, std::int32_t, TensorView>);
static_assert(!takes<ck::host_pointer, const float*, std::int32_t, TensorView>);
static_assert(!takes<ck::host_pointer, std::int64_t, std::int32_t, TensorView>);
static_assert(!takes<ck::host_pointer, TensorView, std::int32_t, TensorView>);
static_assert(takes<ck::host_shape_mixed, Shape, TensorView>);
static_assert(takes<ck::host_shape_mixed, std::vector<std::int64_t>, TensorView>);
static_assert(!takes<ck::host_shape_mixed, std::int64_t, TensorView>);
static_assert(!takes<ck::host_shape_mixed, TensorView, TensorView>);

// A view of a tensor that is gone when the call returns.
static_assert(takes<ck::host_bias, const Tensor&, TensorView>);
static_assert(!takes<ck::host_bias, Tensor&&, TensorView>);

// Hidden arguments.
static_assert(takes<ck::host_bias, TensorView, TensorView>);
static_assert(!takes<ck::host_bias, TensorView, None, TensorView>);
static_assert(takes<ck::host_frozen, TensorView, TensorView>);
static_assert(!takes<ck::host_frozen, int, TensorView, bool, TensorView>);
static_assert(has_fields<ck::HostAffine, Tensor, float>);
static_assert(!has_fields<ck::HostAffine, Tensor, float, None>);
static_assert(has_fields<ck::HostPowers, Tensor, float>);
static_assert(!has_fields<ck::HostPowers, Tensor, float, int, bool>);

// Structs and tuples: one for another, and with other contents.
static_assert(takes<ck::host_affine, ck::HostAffine, TensorView>);
static_assert(!takes<ck::host_affine, ck::HostPowers, TensorView>);
static_assert(!takes<ck::host_affine, Tuple<Tensor, float>, TensorView>);
static_assert(!has_fields<ck::HostAffine, float, Tensor>);
static_assert(!has_fields<ck::HostAffine, TensorView, float>);
static_assert(takes<ck::host_tuple, Tuple<Tensor, Tuple<Tensor, float>>, TensorView>);
static_assert(!takes<ck::host_tuple, Tuple<Tensor, Tensor, float>, TensorView>);
static_assert(!takes<ck::host_tuple, Tuple<Tensor, Tuple<float, Tensor>>, TensorView>);
static_assert(!takes<ck::host_tuple, TensorView, TensorView>);
