// The function of call_cost, bound as extensions of PyTorch bind theirs.

#include <cute_kernels/host.h>
#include <torch/csrc/utils/pybind.h>

#include <stdexcept>

static DLTensor view(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat, "expected float32 on the CPU");
  return {tensor.data_ptr(), {kDLCPU, 0}, static_cast<int32_t>(tensor.dim()), {kDLFloat, 32, 1},
          const_cast<int64_t*>(tensor.sizes().data()), const_cast<int64_t*>(tensor.strides().data()), 0};
}

static void axpby(float alpha, const at::Tensor& x, float beta, const at::Tensor& y, const at::Tensor& out) {
  const DLTensor views[] = {view(x), view(y), view(out)};
  if (cute_kernels_host_axpby(alpha, &views[0], beta, &views[1], &views[2]) != 0) throw std::runtime_error("failed");
}

PYBIND11_MODULE(with_pybind11, module) { module.def("axpby", &axpby); }
