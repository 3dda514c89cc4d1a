// Calls every function of kernels/host.py through the C header, with values that show that each argument arrived in
// its own place. It is also compiled as C++.
#include <cute_kernels.h>

#include <string.h>

#include "tensors.h"

void expect_errors(void);  // in errors.c

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))
#define FLOATS(name) (vector(&name##_matrix, name, float_type(32), COUNT(name)))

/// Calls something that has to succeed; otherwise ends the program with its error.
#define CALL(...)                                                       \
  do {                                                                  \
    if ((__VA_ARGS__) != 0) {                                           \
      char kind_[64], message_[1024];                                   \
      cute_kernels_take_error(kind_, sizeof(kind_), message_, sizeof(message_)); \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, kind_, message_);   \
      exit(1);                                                          \
    }                                                                   \
  } while (0)

static int same(const void* found, const void* expected, size_t size) { return memcmp(found, expected, size) == 0; }

#define HOLDS(array, type, ...)                                   \
  do {                                                            \
    const type expected_[] = {__VA_ARGS__};                       \
    EXPECT(sizeof(expected_) == sizeof(array) && same(array, expected_, sizeof(expected_))); \
  } while (0)

static void scalars(void) {
  float a[] = {1, 2, 3}, b[3] = {0}, x[] = {1, 2}, y[] = {10, 20}, out[2] = {0};
  Matrix a_matrix, b_matrix, x_matrix, y_matrix, out_matrix;
  CALL(cute_kernels_host_add_constant(FLOATS(a), FLOATS(b), 0.5f));
  HOLDS(b, float, 1.5f, 2.5f, 3.5f);
  CALL(cute_kernels_host_add_constant(FLOATS(a), FLOATS(a), 10));
  HOLDS(a, float, 11, 12, 13);
  CALL(cute_kernels_host_axpby(2, FLOATS(x), 3, FLOATS(y), FLOATS(out)));
  HOLDS(out, float, 32, 64);
  CALL(cute_kernels_host_positional_only(FLOATS(x), 4, FLOATS(out)));
  HOLDS(out, float, 4, 8);
  CALL(cute_kernels_host_keyword_only(FLOATS(x), FLOATS(out), -1));
  HOLDS(out, float, -1, -2);
}

static void scalars_of_every_width(void) {
  int64_t integers[9];
  double floats[2];
  Matrix integers_matrix, floats_matrix;
  const DLTensor* ints = vector(&integers_matrix, integers, int_type(64), COUNT(integers));
  const DLTensor* reals = vector(&floats_matrix, floats, float_type(64), COUNT(floats));
  CALL(cute_kernels_host_scalars(true, -128, -32768, INT32_MIN, INT64_MIN, 255, 65535, UINT32_MAX, UINT64_MAX, 0.1f,
                                 0.1, ints, reals));
  HOLDS(integers, int64_t, 1, -128, -32768, INT32_MIN, INT64_MIN, 255, 65535, 4294967295, -1);
  HOLDS(floats, double, (double)0.1f, 0.1);
  CALL(cute_kernels_host_scalars(false, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ints, reals));
  HOLDS(integers, int64_t, 0, 1, 2, 3, 4, 5, 6, 7, 8);
  HOLDS(floats, double, 9, 10);
}

static void defaults_are_passed(void) {
  double out[4];
  Matrix out_matrix;
  const DLTensor* given = vector(&out_matrix, out, float_type(64), COUNT(out));
  CALL(cute_kernels_host_defaults(given, true, INT64_C(1) << 40, 0.1, 2.5f));
  HOLDS(out, double, 1, 1099511627776, 0.1, 2.5);
}

static void tensors(void) {
  float x[] = {1, 2}, y[] = {10, 20}, z[] = {100, 200}, out[2];
  Matrix x_matrix, y_matrix, z_matrix, out_matrix;
  CALL(cute_kernels_host_weighted_sum(FLOATS(out), FLOATS(x), FLOATS(y), FLOATS(z)));
  HOLDS(out, float, 321, 642);
}

static void hidden_arguments(void) {
  float x[] = {2, -1}, bias[] = {5, 7}, out[2];
  Matrix x_matrix, bias_matrix, out_matrix;
  CALL(cute_kernels_host_frozen(FLOATS(x), FLOATS(out)));
  HOLDS(out, float, -8, 1);
  CALL(cute_kernels_host_bias(FLOATS(x), FLOATS(out)));
  HOLDS(out, float, 4, -2);
  CALL(cute_kernels_host_bias_given(FLOATS(x), FLOATS(bias), FLOATS(out)));
  HOLDS(out, float, 9, 5);
  CALL(cute_kernels_host_polynomial(FLOATS(x), FLOATS(out)));
  HOLDS(out, float, -1, 3.5f);
}

static void tuples_and_structs(void) {
  float x[] = {1, 2}, y[] = {10, 20}, out[2];
  Matrix x_matrix, y_matrix, out_matrix;
  cute_kernels_HostAffine affine;
  cute_kernels_HostPowers powers;
  CALL(cute_kernels_host_tuple(FLOATS(x), FLOATS(y), 3, FLOATS(out)));
  HOLDS(out, float, -29, -58);
  affine.x = FLOATS(x);
  affine.factor = 5;
  CALL(cute_kernels_host_affine(affine, FLOATS(out)));
  HOLDS(out, float, 5, 10);
  powers.x = FLOATS(x);
  powers.factor = 10;
  CALL(cute_kernels_host_powers(powers, FLOATS(out)));
  HOLDS(out, float, 10, 60);
}

static void pointers(void) {
  float values[] = {1, 10, 100}, out[1];
  Matrix out_matrix;
  CALL(cute_kernels_host_pointer(values, 3, FLOATS(out)));
  HOLDS(out, float, 321);
}

static void shapes(void) {
  int64_t three[3], four[4], given[] = {4, 8}, mixed[] = {4, 5, INT64_C(1) << 33};
  Matrix three_matrix, four_matrix;
  CALL(cute_kernels_host_shape_static(given, vector(&three_matrix, three, int_type(64), COUNT(three))));
  HOLDS(three, int64_t, 4, 8, 32);
  CALL(cute_kernels_host_shape_mixed(mixed, vector(&four_matrix, four, int_type(64), COUNT(four))));
  HOLDS(four, int64_t, 4, 5, INT64_C(1) << 33, 20 * (INT64_C(1) << 33));
}

#define ROW_SUMS(kernel, type, dtype)                                                                     \
  do {                                                                                                    \
    type narrow_[] = {1, 2, 10, 20}, wide_[] = {1, 0, 2, 0, 3}, sums_[2], sum_[1];                        \
    Matrix matrix_, out_;                                                                                 \
    CALL(kernel##_2(matrix(&matrix_, narrow_, dtype, 2, 2), vector(&out_, sums_, dtype, 2)));             \
    HOLDS(sums_, type, 5, 50);                                                                            \
    CALL(kernel##_5(matrix(&matrix_, wide_, dtype, 1, 5), vector(&out_, sum_, dtype, 1)));                \
    HOLDS(sum_, type, 22);                                                                                \
  } while (0)

/// One function for all variants: by dtype, extent, whether there is a tensor, and by what the caller chooses.
static void families(void) {
  float x[] = {1, 2, 10, 20}, bias[] = {5, 6, 7, 8}, out[4], sums[2], cubes[1], three[] = {1, 2, 3};
  double wide[] = {1, 2}, wide_out[2];
  Matrix x_matrix, bias_matrix, out_matrix, rows, sums_matrix, cubes_matrix;
  CALL(cute_kernels_host_row_sums(matrix(&rows, x, float_type(32), 2, 2), FLOATS(sums)));
  HOLDS(sums, float, 5, 50);
  CALL(cute_kernels_host_scale_add(FLOATS(x), 2, false, NULL, FLOATS(out)));
  HOLDS(out, float, 2, 4, 20, 40);
  CALL(cute_kernels_host_scale_add(FLOATS(x), 2, true, NULL, FLOATS(out)));
  HOLDS(out, float, -2, -4, -20, -40);
  CALL(cute_kernels_host_scale_add(FLOATS(x), 2, false, FLOATS(bias), FLOATS(out)));
  HOLDS(out, float, 7, 10, 27, 48);
  CALL(cute_kernels_host_scale_add(vector(&x_matrix, wide, float_type(64), 2), 3, false, NULL,
                                   vector(&out_matrix, wide_out, float_type(64), 2)));
  HOLDS(wide_out, double, 3, 6);
  CALL(cute_kernels_host_scale_add__float32_false_true(FLOATS(x), 2, FLOATS(bias), FLOATS(out)));
  HOLDS(out, float, 7, 10, 27, 48);
  CALL(cute_kernels_host_activate(matrix(&rows, x, float_type(32), 2, 2), "square", FLOATS(sums)));
  HOLDS(sums, float, 9, 900);
  CALL(cute_kernels_host_activate(matrix(&rows, three, float_type(32), 1, 3), "cube", FLOATS(cubes)));
  HOLDS(cubes, float, 98);
}

int main(void) {
  scalars();
  scalars_of_every_width();
  defaults_are_passed();
  tensors();
  hidden_arguments();
  tuples_and_structs();
  pointers();
  shapes();
  ROW_SUMS(cute_kernels_host_row_sums__float32, float, float_type(32));
  ROW_SUMS(cute_kernels_host_row_sums__float64, double, float_type(64));
  ROW_SUMS(cute_kernels_host_row_sums__int32, int32_t, int_type(32));
  families();
  expect_errors();
  return 0;
}
