// Registers all kernels with tvm-ffi, and lets another part of the program call one by its name.
#include <cute_kernels/runtime.hpp>
#include <tvm/ffi/container/tensor.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

void call_by_name(
    const std::string& name, tvm::ffi::TensorView in, tvm::ffi::TensorView out, float offset);

int main() {
  cute_kernels::register_functions();

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

  call_by_name("cute_kernels.host_add_constant", view, view, 2.5f);
  for (const float value : values) std::cout << value << ' ';
  std::cout << '\n';
}
