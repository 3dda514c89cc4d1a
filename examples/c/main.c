// Calls generated kernels on memory of the program's own, and reads the error of a call that does not fit.
#include <cute_kernels.h>

#include <stdio.h>

/// Describes an array of floats as the tensor that kernels take. Size and stride have to live as long as it.
static DLTensor vector_of(float* values, int64_t* size, int64_t* stride) {
  DLTensor tensor = {0};
  tensor.data = values;
  tensor.device = (DLDevice){kDLCPU, 0};
  tensor.ndim = 1;
  tensor.dtype = (DLDataType){kDLFloat, 32, 1};
  tensor.shape = size;
  tensor.strides = stride;  // in elements; never NULL, as DLPack has it since version 1.2
  return tensor;
}

static int failed(void) {
  char kind[32], message[512];
  cute_kernels_take_error(kind, sizeof(kind), message, sizeof(message));
  printf("%s: %s\n", kind, message);
  return 1;
}

int main(void) {
  float x_values[] = {1, 2, 3, 4}, y_values[] = {10, 20, 30, 40}, out_values[4];
  int64_t size = 4, shorter = 3, stride = 1;
  const DLTensor x = vector_of(x_values, &size, &stride);
  const DLTensor y = vector_of(y_values, &size, &stride);
  const DLTensor out = vector_of(out_values, &size, &stride);
  const DLTensor too_short = vector_of(out_values, &shorter, &stride);

  if (cute_kernels_host_axpby(2, &x, 0.5f, &y, &out) != 0) return failed();
  for (int i = 0; i < 4; ++i) printf("%g ", (double)out_values[i]);
  printf("\n");

  // A struct of the kernel's author, without what was fixed when it was compiled.
  if (cute_kernels_host_affine((cute_kernels_HostAffine){.x = &x, .factor = 3}, &out) != 0) return failed();
  for (int i = 0; i < 4; ++i) printf("%g ", (double)out_values[i]);
  printf("\n");

  if (cute_kernels_host_axpby(2, &x, 0.5f, &y, &too_short) != 0) failed();
  return 0;
}
