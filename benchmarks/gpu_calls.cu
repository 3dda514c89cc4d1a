// Times calls of one small kernel from C and C++: gpu_calls ROUNDS CALLS prints microseconds a call, round by round.
#include <cute_kernels.h>
#include <cute_kernels.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::int64_t kSize = 256;

void check(bool succeeded, const char* what) {
  if (!succeeded) {
    std::fprintf(stderr, "%s failed\n", what);
    std::exit(1);
  }
}

/// A vector of floats on the GPU, all zero.
struct Vector {
  Vector() {
    check(cudaMalloc(&tensor.data, kSize * sizeof(float)) == cudaSuccess, "cudaMalloc");
    check(cudaMemset(tensor.data, 0, kSize * sizeof(float)) == cudaSuccess, "cudaMemset");
    tensor.device = {kDLCUDA, 0};
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.ndim = 1;
    tensor.shape = &size;
    tensor.strides = &stride;
  }

  std::int64_t size = kSize, stride = 1;
  DLTensor tensor{};
};

template <typename Call>
void measure(const char* name, int rounds, int calls, bool last, Call call) {
  using Clock = std::chrono::steady_clock;
  std::printf("\"%s\": [", name);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 20; ++i) call();
    check(cudaDeviceSynchronize() == cudaSuccess, "the kernel");
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::micro> taken = Clock::now() - start;
    check(cudaDeviceSynchronize() == cudaSuccess, "the kernel");
    std::printf("%s%.4f", round ? ", " : "", taken.count() / calls);
  }
  std::printf("]%s\n", last ? "" : ",");
}

}  // namespace

int main(int, char** arguments) {
  const int rounds = std::atoi(arguments[1]), calls = std::atoi(arguments[2]);
  Vector a, b;
  const tvm::ffi::TensorView a_view(&a.tensor), b_view(&b.tensor);
  std::printf("{");
  measure("C++", rounds, calls, false, [&] { cute_kernels::add_constant(a_view, b_view, 2.5f); });
  measure("C", rounds, calls, true,
          [&] { check(cute_kernels_add_constant(&a.tensor, &b.tensor, 2.5f) == 0, "add_constant"); });
  float first = 0;
  check(cudaMemcpy(&first, b.tensor.data, sizeof first, cudaMemcpyDeviceToHost) == cudaSuccess, "cudaMemcpy");
  check(first == 2.5f, "add_constant's result");
  std::printf("}\n");
}
