// Calls kernels from C++ and C on a stream of the program's own, checks that they ran there and what they computed, and
// prints what a call costs the CPU. Linked with the static archive beside a CUDA runtime of the program's own.
#include <cute_kernels.h>
#include <cute_kernels.hpp>
#include <cute_kernels/runtime.hpp>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define EXPECT(...)                                                                  \
  do {                                                                               \
    if (!(__VA_ARGS__)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (false)
#define CUDA(...) EXPECT((__VA_ARGS__) == cudaSuccess)

namespace ck = cute_kernels;

/// A row-major matrix in GPU memory, filled from the host.
template <typename T>
class OnGpu {
 public:
  OnGpu(const std::vector<T>& values, std::int64_t rows, DLDataType type) : size_(values.size()) {
    const std::int64_t columns = static_cast<std::int64_t>(size_) / rows;
    shape_[0] = rows, shape_[1] = columns, strides_[0] = columns, strides_[1] = 1;
    CUDA(cudaMalloc(&tensor_.data, size_ * sizeof(T)));
    CUDA(cudaMemcpy(tensor_.data, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
    tensor_.device = {kDLCUDA, 0};
    tensor_.dtype = type;
    tensor_.ndim = rows == 1 ? 1 : 2;
    tensor_.shape = rows == 1 ? shape_ + 1 : shape_;
    tensor_.strides = rows == 1 ? strides_ + 1 : strides_;
  }
  OnGpu(const OnGpu&) = delete;
  ~OnGpu() { cudaFree(tensor_.data); }

  operator tvm::ffi::TensorView() const { return &tensor_; }
  const DLTensor* operator&() const { return &tensor_; }

  std::vector<T> values() const {
    std::vector<T> copied(size_);
    CUDA(cudaMemcpy(copied.data(), tensor_.data, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return copied;
  }

 private:
  std::size_t size_;
  std::int64_t shape_[2], strides_[2];
  DLTensor tensor_{};
};

/// Counts the kernels that get into a stream during a call.
template <typename Call>
std::size_t launched(cudaStream_t stream, Call call) {
  cudaGraph_t graph;
  std::size_t nodes = 0;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  call();
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  CUDA(cudaGraphDestroy(graph));
  return nodes;
}

template <typename Call>
void time(const char* what, cudaStream_t stream, Call call) {
  const int calls = 20000;
  for (int i = 0; i < 100; ++i) call();
  CUDA(cudaStreamSynchronize(stream));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
  CUDA(cudaStreamSynchronize(stream));
  std::printf("%s: %.2f us a call\n", what, taken.count() / calls);
}

int main() {
  const DLDataType float32{kDLFloat, 32, 1}, float16{kDLFloat, 16, 1};
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  const std::size_t size = 1000;
  std::vector<float> numbers(size);
  for (std::size_t i = 0; i < size; ++i) numbers[i] = static_cast<float>(i);
  const OnGpu<float> a(numbers, 1, float32), b(std::vector<float>(size), 1, float32);

  const std::int64_t rows = 7, hidden = 1024;
  std::vector<__half> values(rows * hidden), weights(hidden);
  for (std::int64_t i = 0; i < rows * hidden; ++i) values[i] = __float2half(std::sin(static_cast<float>(i)));
  for (std::int64_t i = 0; i < hidden; ++i) weights[i] = __float2half(1 + static_cast<float>(i % 5));
  const OnGpu<__half> x(values, rows, float16), weight(weights, 1, float16), out(values, rows, float16);

  const auto elementwise = [&] { ck::add_constant(a, b, 2.5f); };
  const auto norm = [&] { ck::rmsnorm(x, weight, out, 1e-6f); };
  const auto elementwise_in_c = [&] { EXPECT(cute_kernels_add_constant(&a, &b, 2.5f) == 0); };
  const auto norm_in_c = [&] { EXPECT(cute_kernels_rmsnorm(&x, &weight, &out, 1e-6f) == 0); };
  elementwise(), norm();  // which loads the device code: that must not happen during a capture
  CUDA(cudaDeviceSynchronize());

  EXPECT(launched(stream, elementwise) == 0);
  {
    const ck::StreamGuard guard(DLDevice{kDLCUDA, 0}, stream);
    EXPECT(launched(stream, elementwise) == 1);
    EXPECT(launched(stream, norm) == 1);
    EXPECT(launched(stream, [&] { ck::rmsnorm_variants::float16_1024(x, weight, out, 1e-6f); }) == 1);
    elementwise(), norm();
    CUDA(cudaStreamSynchronize(stream));
    time("C++, add_constant", stream, elementwise);
    time("C++, rmsnorm", stream, norm);
  }
  EXPECT(launched(stream, norm) == 0);

  void* previous = nullptr;
  EXPECT(cute_kernels_set_stream(0, stream, &previous) == 0 && previous == nullptr);
  EXPECT(launched(stream, elementwise_in_c) == 1);
  EXPECT(launched(stream, norm_in_c) == 1);
  time("C, add_constant", stream, elementwise_in_c);
  time("C, rmsnorm", stream, norm_in_c);
  EXPECT(cute_kernels_set_stream(0, nullptr, nullptr) == 0);
  EXPECT(launched(stream, [&] { ck::scale(b, 1.0f, stream); }) == 1);
  CUDA(cudaDeviceSynchronize());

  const std::vector<float> sums = b.values();
  for (std::size_t i = 0; i < size; ++i) EXPECT(sums[i] == numbers[i] + 2.5f);
  const std::vector<__half> normed = out.values();
  double largest = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    double squares = 0;
    for (std::int64_t i = 0; i < hidden; ++i) squares += std::pow(__half2float(values[row * hidden + i]), 2);
    for (std::int64_t i = 0; i < hidden; ++i) {
      const double expected = __half2float(values[row * hidden + i]) / std::sqrt(squares / hidden + 1e-6) *
                              __half2float(weights[i]);
      const double error = std::abs(__half2float(normed[row * hidden + i]) - expected);
      largest = std::fmax(largest, error / std::fmax(1, std::abs(expected)));
    }
  }
  std::printf("rmsnorm: largest relative error %.1e\n", largest);
  EXPECT(largest < 2e-3);

  // Memory of the host is refused.
  DLTensor host = *&a;
  host.device = {kDLCPU, 0};
  bool refused = false;
  try {
    ck::add_constant(&host, b);
  } catch (const tvm::ffi::Error& error) {
    refused = error.kind() == "ValueError";
  }
  EXPECT(refused);
  CUDA(cudaStreamDestroy(stream));
}
