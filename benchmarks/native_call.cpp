// Times calls of one kernel in several ways, which take turns in every round, and prints a line for each round:
// nanoseconds a call, in the order of the first line.
#include <cute_kernels.h>
#include <cute_kernels/host.hpp>
#include <cute_kernels/runtime.hpp>
#include <tvm/ffi/reflection/registry.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

namespace {

using tvm::ffi::Function, tvm::ffi::TensorView;

float values[3][4];
std::int64_t size = 4, stride = 1;

DLTensor vector_of(float* data) {
  DLTensor tensor{};
  tensor.data = data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 1;
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.shape = &size;
  tensor.strides = &stride;
  return tensor;
}

DLTensor x = vector_of(values[0]), y = vector_of(values[1]), out = vector_of(values[2]);
const TensorView x_view(&x), y_view(&y), out_view(&out);
float alpha = 2, beta = 3;

/// What an engine writes by hand today.
int raw() {
  TVMFFIAny arguments[5], result;
  arguments[0].type_index = kTVMFFIFloat;
  arguments[1].type_index = kTVMFFIDLTensorPtr;
  arguments[2].type_index = kTVMFFIFloat;
  arguments[3].type_index = kTVMFFIDLTensorPtr;
  arguments[4].type_index = kTVMFFIDLTensorPtr;
  for (TVMFFIAny& argument : arguments) argument.zero_padding = 0;
  arguments[0].v_float64 = alpha;
  arguments[1].v_ptr = &x;
  arguments[2].v_float64 = beta;
  arguments[3].v_ptr = &y;
  arguments[4].v_ptr = &out;
  result.type_index = kTVMFFINone;
  result.zero_padding = 0;
  result.v_int64 = 0;
  return __tvm_ffi_cute_kernels__host_axpby(nullptr, arguments, 5, &result);
}

double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <typename Call>
double timed(Call call, int calls) {
  const double start = now();
  for (int i = 0; i < calls; ++i) {
    asm volatile("" ::: "memory");  // the arguments may have changed
    call();
  }
  return (now() - start) / calls;
}

}  // namespace

int main(int, char** arguments) {
  const int rounds = std::atoi(arguments[1]), calls = std::atoi(arguments[2]);
  cute_kernels::register_functions();
  // What tvm-ffi offers for the same purpose.
  tvm::ffi::reflection::GlobalDef().def("own.host_axpby", [](float a, TensorView u, float b, TensorView v, TensorView w) {
    cute_kernels::host_axpby(a, u, b, v, w);
  });
  const Function kept = Function::GetGlobalRequired("cute_kernels.host_axpby");

  const auto run = [calls](int which) {
    switch (which) {
      case 0: return timed([] { raw(); }, calls);
      case 1: return timed([] { cute_kernels_host_axpby(alpha, &x, beta, &y, &out); }, calls);
      case 2: return timed([] { cute_kernels::host_axpby(alpha, x_view, beta, y_view, out_view); }, calls);
      case 3:
        return timed([] { Function::GetGlobalRequired("cute_kernels.host_axpby")(alpha, x_view, beta, y_view, out_view); },
                     calls);
      case 4:
        return timed([] { Function::GetGlobalRequired("own.host_axpby")(alpha, x_view, beta, y_view, out_view); }, calls);
    }
    return 0.0;
  };
  const auto run_kept = [&] { return timed([&] { kept(alpha, x_view, beta, y_view, out_view); }, calls); };

  std::puts("raw\tC\tC++\tregistry\ttvm-ffi's own\tregistry, kept");
  for (int round = 0; round < rounds; ++round) {
    double cost[6];
    for (int turn = 0; turn < 6; ++turn) {
      const int which = (round + turn) % 6;
      cost[which] = which == 5 ? run_kept() : run(which);
    }
    for (int which = 0; which < 6; ++which) std::printf("%.3f%c", cost[which], which == 5 ? '\n' : '\t');
  }
}
