/* 32 threads make their first calls at once, on many devices and with several dtypes. `expected.inc` is written by
 * the test: for each device and dtype the number of the build, or -1 for an error. */

#include <pthread.h>
#include <stdatomic.h>
#ifdef RACY
/* To see that the sanitizer would find a race: the same program with a cache that is not atomic. */
#define _Atomic
#undef atomic_load_explicit
#undef atomic_store_explicit
#define atomic_load_explicit(pointer, order) (*(pointer))
#define atomic_store_explicit(pointer, value, order) ((void)(*(pointer) = (value)))
#endif

static int capability(int device);
#define COMPUTE_CAPABILITY_OF capability
#include "dispatcher.c"
#include "builds.h"

enum { THREADS = 32, DEVICES = 80, DTYPES = 3 };

static const int capabilities[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120};
static const int expected[10][DTYPES] = {
#include "expected.inc"
};
static const DLDataType dtypes[DTYPES] = {{kDLFloat, 16, 1}, {kDLBfloat, 16, 1}, {kDLFloat, 32, 1}};

static pthread_barrier_t start;
static _Atomic int wrong;

static int capability(int device) { return capabilities[device % 10]; }

static void call(int device, int dtype) {
  int64_t extent = 4, stride = 1;
  DLTensor tensor = {NULL, {kDLCUDA, device}, 1, dtypes[dtype], &extent, &stride, 0};
  TVMFFIAny argument = {0}, result = {0};
  argument.type_index = kTVMFFIDLTensorPtr;
  argument.v_ptr = &tensor;
  int code = FUNCTION(NULL, &argument, 1, &result);
  int64_t found = code == 0 ? result.v_int64 : -1;
  if (code != 0) {
    TVMFFIObjectHandle error;
    TVMFFIErrorMoveFromRaised(&error);
    TVMFFIObjectDecRef(error);
  }
  if (found != expected[device % 10][dtype]) ++wrong;
}

static void* run(void* number) {
  int own = (int)(intptr_t)number;
  pthread_barrier_wait(&start);
  for (int round = 0; round < 3; ++round)
    for (int index = 0; index < DEVICES; ++index) call((index + own % 2) % DEVICES, (own + round) % DTYPES);
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&start, NULL, THREADS);
  for (intptr_t own = 0; own < THREADS; ++own) pthread_create(&threads[own], NULL, run, (void*)own);
  for (int own = 0; own < THREADS; ++own) pthread_join(threads[own], NULL);
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
