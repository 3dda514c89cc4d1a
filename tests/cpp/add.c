// Calls a kernel through the C header, in whichever way the program is linked; is told the library if it has to load
// it. Nothing here uses tvm-ffi itself, which the library needs all the same.
#include <cute_kernels.h>

#include <stdio.h>

int main(int count, char** arguments) {
  float values[] = {1, 2};
  int64_t size = 2, stride = 1;
  const DLDevice cpu = {kDLCPU, 0};
  const DLDataType type = {(uint8_t)kDLFloat, 32, 1};
  DLTensor tensor = {values, cpu, 1, type, &size, &stride, 0};
  int code = 0;
#ifdef LOAD
  if (count > 1) code = cute_kernels_load_library(arguments[1]);
#else
  (void)count, (void)arguments;
#endif
  if (code == 0) code = cute_kernels_host_add_constant(&tensor, &tensor, 0.5f);
  if (code != 0) {
    return 1;
  }
  printf("%g %g\n", (double)values[0], (double)values[1]);
  return 0;
}
