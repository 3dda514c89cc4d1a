// What the programs drawn by grammar.py are made of.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <type_traits>
#include <utility>
#include <vector>

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>

struct HeapAllocator {
  void AllocData(DLTensor* tensor) { tensor->data = std::aligned_alloc(64, 4096); }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

/// All tensors of the program, so that a view of one can be passed where it is made.
inline std::deque<tvm::ffi::Tensor> kept;

/// A tensor whose elements all have one value; column-major if asked for.
template <typename T>
const tvm::ffi::Tensor& make(T value, std::vector<std::int64_t> extents, bool column) {
  const DLDataTypeCode code = std::is_floating_point_v<T> ? kDLFloat : kDLInt;
  const DLDataType dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * sizeof(T)), 1};
  const tvm::ffi::Shape shape(extents.begin(), extents.end());
  auto tensor = tvm::ffi::Tensor::FromNDAlloc(HeapAllocator(), shape, dtype, DLDevice{kDLCPU, 0});
  for (std::int64_t i = 0; i < tensor.numel(); ++i) static_cast<T*>(tensor.data_ptr())[i] = value;
  if (column) {
    auto* strides = const_cast<std::int64_t*>(tensor.strides().data());
    strides[0] = 1;
    strides[1] = extents[0];
  }
  return kept.emplace_back(tensor);
}

/// A tuple of values of any kind.
template <typename... T>
tvm::ffi::Tuple<T...> group(T... values) {
  return tvm::ffi::Tuple<T...>(values...);
}

/// A tensor of any dtype and layout, in memory that is large enough for all of them.
inline tvm::ffi::TensorView raw(
    DLDataType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  alignas(64) static char memory[4096];
  static std::deque<std::vector<std::int64_t>> numbers;
  DLTensor tensor{};
  tensor.data = memory;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int>(shape.size());
  tensor.dtype = dtype;
  tensor.shape = numbers.emplace_back(std::move(shape)).data();
  tensor.strides = numbers.emplace_back(std::move(strides)).data();
  return tvm::ffi::TensorView(&tensor);
}

inline int failures = 0;

inline void expect(const char* name, const tvm::ffi::Tensor& out, std::vector<double> expected) {
  const auto* found = static_cast<const double*>(out.data_ptr());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (found[i] == expected[i]) continue;
    std::printf("%s: out[%zu] is %.17g, expected %.17g\n", name, i, found[i], expected[i]);
    ++failures;
  }
}
