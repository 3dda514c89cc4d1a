// Loads the library that it is told, and calls a kernel of it: the same typed functions as in a program that is linked
// with the library.
#include <cute_kernels.hpp>
#include <cute_kernels/runtime.hpp>

#include <cstdint>
#include <iostream>
#include <vector>

int main(int count, char** arguments) {
  std::vector<float> values{0, 1, 2, 3};
  std::int64_t size = 4, stride = 1;
  DLTensor tensor{};
  tensor.data = values.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 1;
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.shape = &size;
  tensor.strides = &stride;
  const tvm::ffi::TensorView view(&tensor);

  for (int i = 1; i < count; ++i) {
    try {
      cute_kernels::load_library(arguments[i]);
      cute_kernels::host_add_constant(view, view, 2.5f);
      for (const float value : values) std::cout << value << ' ';
      std::cout << '\n';
    } catch (const tvm::ffi::Error& error) {
      std::cout << error.kind() << ": " << error.message() << '\n';
    }
  }
}
