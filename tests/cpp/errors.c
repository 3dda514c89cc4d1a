// Arguments that compile and do not fit: what a C program is told. It is also compiled as C++.
#include <cute_kernels.h>

#include <string.h>

#include "tensors.h"

/// Checks that a call failed, with this kind of error, and that the message contains a text.
static void expect_error(int code, const char* kind, const char* part) {
  char found[64], message[1024];
  EXPECT(code != 0);
  EXPECT(cute_kernels_take_error(found, sizeof(found), message, sizeof(message)));
  if (strcmp(found, kind) != 0 || strstr(message, part) == NULL) fprintf(stderr, "%s: %s\n", found, message);
  EXPECT(strcmp(found, kind) == 0);
  EXPECT(strstr(message, part) != NULL);
  EXPECT(!cute_kernels_take_error(found, sizeof(found), message, sizeof(message)));
  EXPECT(found[0] == '\0' && message[0] == '\0');
}

static void arguments_that_do_not_fit(void) {
  float two[] = {1, 2}, three[] = {99, 99, 99};
  double doubles[2];
  int64_t shape[] = {4, 9}, extents[3];
  Matrix two_matrix, three_matrix, doubles_matrix, extents_matrix;
  const DLTensor* pair = vector(&two_matrix, two, float_type(32), 2);
  const DLTensor* triple = vector(&three_matrix, three, float_type(32), 3);
  const DLTensor* wide = vector(&doubles_matrix, doubles, float_type(64), 2);
  const DLTensor* sizes = vector(&extents_matrix, extents, int_type(64), 3);
  cute_kernels_HostAffine empty = {NULL, 1};

  expect_error(cute_kernels_host_add_constant(pair, triple, 1), "ValueError", "b.shape[0]");
  EXPECT(three[0] == 99 && three[1] == 99 && three[2] == 99);
  expect_error(cute_kernels_host_add_constant(pair, triple, 1), "ValueError", "host_add_constant");
  expect_error(cute_kernels_host_polynomial(pair, triple), "ValueError", "host_polynomial");
  expect_error(cute_kernels_host_add_constant(pair, wide, 1), "ValueError", "b is Tensor([2], float64, CPU), expected dtype float32");
  expect_error(cute_kernels_host_row_sums__float32_2(pair, pair), "ValueError", "host_row_sums(");
  expect_error(cute_kernels_host_shape_static(shape, sizes), "ValueError", "host_shape_static");
  expect_error(cute_kernels_host_pointer(three, 1ll << 32, pair), "ValueError", "count is 4294967296, expected int32");

  expect_error(cute_kernels_host_row_sums(triple, triple), "TypeError", "host_row_sums");
  expect_error(cute_kernels_host_activate(pair, "cuboid", pair), "TypeError", "cuboid");

  // What is missing is refused, not read.
  expect_error(cute_kernels_host_add_constant(NULL, pair, 1), "TypeError", "a is None, expected a tensor");
  expect_error(cute_kernels_host_shape_static(NULL, sizes), "TypeError", "shape is None, expected 2 integers");
  expect_error(cute_kernels_host_tuple(pair, NULL, 1, pair), "TypeError", "operands[1][0] is None, expected a tensor");
  expect_error(cute_kernels_host_affine(empty, pair), "TypeError", "arguments.x is None, expected a tensor");
}

static void texts_that_do_not_fit(void) {
  float two[] = {1, 2}, three[3];
  char kind[6], message[9];
  Matrix two_matrix, three_matrix;
  const DLTensor* pair = vector(&two_matrix, two, float_type(32), 2);
  const DLTensor* triple = vector(&three_matrix, three, float_type(32), 3);

  EXPECT(cute_kernels_host_add_constant(pair, triple, 1) != 0);
  EXPECT(cute_kernels_take_error(kind, sizeof(kind), message, sizeof(message)));
  EXPECT(strcmp(kind, "Value") == 0);
  EXPECT(strcmp(message, "b.shape[") == 0);

  EXPECT(cute_kernels_host_add_constant(pair, triple, 1) != 0);
  EXPECT(cute_kernels_take_error(NULL, 0, NULL, 0));

  // A character of UTF-8 is kept whole or left out.
  TVMFFIErrorSetRaisedFromCStr("Odd", "1234567\xc3\xa4");
  EXPECT(cute_kernels_take_error(NULL, 0, message, sizeof(message)));
  EXPECT(strcmp(message, "1234567") == 0);
}

static void streams(void) {
  int first, second;
  void* previous = &first;
  EXPECT(cute_kernels_set_stream(0, &first, &previous) == 0 && previous == NULL);
  EXPECT(cute_kernels_set_stream(1, &second, &previous) == 0 && previous == NULL);
  EXPECT(cute_kernels_set_stream(0, NULL, &previous) == 0 && previous == &first);
  EXPECT(cute_kernels_set_stream(1, NULL, NULL) == 0);
  EXPECT(cute_kernels_set_stream(1, NULL, &previous) == 0 && previous == NULL);
}

void expect_errors(void) {
  arguments_that_do_not_fit();
  texts_that_do_not_fit();
  streams();
}
