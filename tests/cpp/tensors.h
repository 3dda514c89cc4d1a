// Tensors in host memory, and the check that the C programs here make.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <tvm/ffi/c_api.h>

/// Ends the program if a condition does not hold, and says where.
#define EXPECT(...)                                                                  \
  do {                                                                               \
    if (!(__VA_ARGS__)) {                                                            \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #__VA_ARGS__);      \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

/// A tensor and what it points to. It must not be copied or moved.
typedef struct {
  DLTensor tensor;
  int64_t shape[2];
  int64_t strides[2];
} Matrix;

static inline DLDataType float_type(int bits) {
  const DLDataType type = {(uint8_t)kDLFloat, (uint8_t)bits, 1};
  return type;
}

static inline DLDataType int_type(int bits) {
  const DLDataType type = {(uint8_t)kDLInt, (uint8_t)bits, 1};
  return type;
}

/// Describes memory as a row-major matrix and gives its tensor.
static inline const DLTensor* matrix(Matrix* made, void* data, DLDataType type, int64_t rows, int64_t columns) {
  const DLDevice cpu = {kDLCPU, 0};
  made->shape[0] = rows;
  made->shape[1] = columns;
  made->strides[0] = columns;
  made->strides[1] = 1;
  made->tensor.data = data;
  made->tensor.device = cpu;
  made->tensor.ndim = 2;
  made->tensor.dtype = type;
  made->tensor.shape = made->shape;
  made->tensor.strides = made->strides;
  made->tensor.byte_offset = 0;
  return &made->tensor;
}

/// Describes memory as a vector and gives its tensor.
static inline const DLTensor* vector(Matrix* made, void* data, DLDataType type, int64_t size) {
  matrix(made, data, type, 1, size);
  made->tensor.ndim = 1;
  made->tensor.shape = made->shape + 1;
  made->tensor.strides = made->strides + 1;
  return &made->tensor;
}
