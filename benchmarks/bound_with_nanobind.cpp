// The function of call_cost, bound with nanobind.

#include <cute_kernels/host.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

using Vector = nanobind::ndarray<float, nanobind::ndim<1>, nanobind::device::cpu>;

static DLTensor view(const Vector& vector) {
  return {vector.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, const_cast<int64_t*>(vector.shape_ptr()),
          const_cast<int64_t*>(vector.stride_ptr()), 0};
}

static void axpby(float alpha, const Vector& x, float beta, const Vector& y, const Vector& out) {
  const DLTensor views[] = {view(x), view(y), view(out)};
  if (cute_kernels_host_axpby(alpha, &views[0], beta, &views[1], &views[2]) != 0) throw std::runtime_error("failed");
}

NB_MODULE(with_nanobind, module) { module.def("axpby", &axpby); }
