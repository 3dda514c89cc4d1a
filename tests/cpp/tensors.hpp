// Tensors in host memory, and the check that the programs here make.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include <tvm/ffi/container/tensor.h>

/// Ends the program if a condition does not hold, and says where.
#define EXPECT(...)                                                               \
  do {                                                                            \
    if (!(__VA_ARGS__)) {                                                         \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      std::exit(1);                                                               \
    }                                                                             \
  } while (false)

template <typename T>
constexpr DLDataType dtype_of() {
  const DLDataTypeCode code =
      std::is_floating_point_v<T> ? kDLFloat : std::is_signed_v<T> ? kDLInt : kDLUInt;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * sizeof(T)), 1};
}

/// A vector's memory, passed the way a program passes memory of its own.
template <typename T>
class Borrowed {
 public:
  explicit Borrowed(std::vector<T> values, std::vector<std::int64_t> shape = {})
      : values_(std::move(values)), shape_(std::move(shape)) {
    if (shape_.empty()) shape_ = {static_cast<std::int64_t>(values_.size())};
    strides_.assign(shape_.size(), 1);
    for (std::size_t i = shape_.size() - 1; i > 0; --i) strides_[i - 1] = strides_[i] * shape_[i];
  }

  operator tvm::ffi::TensorView() {
    DLTensor tensor{};
    tensor.data = values_.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int>(shape_.size());
    tensor.dtype = dtype_of<T>();
    tensor.shape = shape_.data();
    tensor.strides = strides_.data();
    return tvm::ffi::TensorView(&tensor);
  }

  bool holds(std::initializer_list<T> values) const { return values_ == std::vector<T>(values); }

 private:
  std::vector<T> values_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
};

/// An output of that many elements, filled with a value that no kernel here computes.
template <typename T = float>
Borrowed<T> output(std::size_t size) {
  return Borrowed<T>(std::vector<T>(size, T(99)));
}

/// Takes from the heap what tvm-ffi then owns.
struct HeapAllocator {
  void AllocData(DLTensor* tensor) { tensor->data = std::malloc(tvm::ffi::GetDataSize(*tensor)); }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

/// A tensor that owns its memory, as tuples and structs hold it.
inline tvm::ffi::Tensor owned(std::initializer_list<float> values) {
  const tvm::ffi::Shape shape{static_cast<std::int64_t>(values.size())};
  const DLDevice cpu{kDLCPU, 0};
  auto tensor = tvm::ffi::Tensor::FromNDAlloc(HeapAllocator(), shape, dtype_of<float>(), cpu);
  std::copy(values.begin(), values.end(), static_cast<float*>(tensor.data_ptr()));
  return tensor;
}
