// Calls a generated kernel on memory of the program's own, and catches what it throws.
#include <cute_kernels.hpp>

#include <cstdint>
#include <iostream>
#include <vector>

namespace {

/// A vector, described as the tensor that kernels take. Nothing is copied: the vector has to stay.
class Vector {
 public:
  explicit Vector(std::vector<float>& values) : size_(static_cast<std::int64_t>(values.size())) {
    tensor_.data = values.data();
    tensor_.device = {kDLCPU, 0};
    tensor_.ndim = 1;
    tensor_.dtype = {kDLFloat, 32, 1};
    tensor_.shape = &size_;
    tensor_.strides = &stride_;  // in elements; never null, as DLPack has it since version 1.2
  }
  Vector(const Vector&) = delete;  // a copy would point into the original

  operator tvm::ffi::TensorView() const { return &tensor_; }

 private:
  std::int64_t size_;
  std::int64_t stride_ = 1;
  DLTensor tensor_{};
};

}  // namespace

int main() {
  std::vector<float> input{0, 1, 2, 3}, output(4), short_output(3);
  const Vector a(input), b(output), too_short(short_output);

  cute_kernels::host_add_constant(a, b, 2.5f);
  for (const float value : output) std::cout << value << ' ';
  std::cout << '\n';

  try {
    cute_kernels::host_add_constant(a, too_short);
  } catch (const tvm::ffi::Error& error) {
    std::cout << error.kind() << ": " << error.message() << '\n';
  }
}
