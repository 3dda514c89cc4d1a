/* Passes arguments that nobody would, everywhere: a call that fits no variant has to fail with a message in UTF-8.
 * `functions.inc` is written by the test: FUNCTION(symbol, number of arguments) for each. */

#include <stdlib.h>

static int capability(int device);
#define COMPUTE_CAPABILITY_OF capability
#include "dispatcher.c"
#include "builds.h"

enum { MAX_ARGUMENTS = 40, MAX_VALUES = 256 };

static int capability(int device) { return device < 0 ? 0 : 90; }

static TVMFFIAny values[MAX_VALUES];
static int count;

static TVMFFIAny* add(int32_t type) {
  TVMFFIAny* any = &values[count++];
  memset(any, 0, sizeof(*any));
  any->type_index = type;
  return any;
}

/* An object with just the memory that it needs, so that the sanitizer sees every byte that is read beyond. */
static void* object(int32_t type, size_t size) {
  TVMFFIObject* made = (TVMFFIObject*)calloc(1, sizeof(TVMFFIObject) + size);
  made->type_index = type;
  add(type)->v_obj = made;
  return made + 1;
}

static int64_t* integers(int64_t a, int64_t b) {
  int64_t* made = (int64_t*)malloc(2 * sizeof(int64_t));
  made[0] = a, made[1] = b;
  return made;
}

static void tensor(int32_t ndim, int64_t* shape, int64_t* strides, DLDataType dtype) {
  DLTensor made = {(void*)(uintptr_t)12345, {kDLCPU, -1}, ndim, dtype, shape, strides, 3};
  *(DLTensor*)object(kTVMFFITensor, sizeof(DLTensor)) = made;
  DLTensor* borrowed = (DLTensor*)malloc(sizeof(DLTensor));
  *borrowed = made;
  borrowed->device.device_type = kDLCUDA;
  add(kTVMFFIDLTensorPtr)->v_ptr = borrowed;
}

static void text(size_t size, const char* character) {
  char* data = (char*)malloc(size + 1);
  for (size_t index = 0; index < size; ++index) data[index] = character[index % strlen(character)];
  data[size] = 0;
  add(kTVMFFIRawStr)->v_c_str = data;
  TVMFFIByteArray* bytes = (TVMFFIByteArray*)object(kTVMFFIStr, sizeof(TVMFFIByteArray));
  char* exact = (char*)malloc(size ? size : 1); /* without a zero at its end */
  memcpy(exact, data, size);
  *bytes = (TVMFFIByteArray){exact, size};
  if (size > 7) return;
  TVMFFIAny* small = add(kTVMFFISmallStr);
  small->small_str_len = (uint32_t)size;
  memcpy(small->v_bytes, data, size);
}

static void array(const TVMFFIAny* items, int64_t size) {
  TVMFFIAny* data = size ? (TVMFFIAny*)malloc((size_t)size * sizeof(TVMFFIAny)) : NULL;
  for (int64_t index = 0; index < size; ++index) data[index] = items[index];
  TVMFFISeqCell* cell = (TVMFFISeqCell*)object(kTVMFFIArray, sizeof(TVMFFISeqCell));
  cell->data = data;
  cell->size = size;
}

static void make_values(void) {
  const int64_t numbers[] = {0, 1, -1, 8, INT64_MIN, INT64_MAX};
  for (int index = 0; index < 6; ++index) {
    add(kTVMFFIInt)->v_int64 = numbers[index];
    add(kTVMFFIBool)->v_int64 = numbers[index];
  }
  add(kTVMFFINone);
  add(kTVMFFIOpaquePtr);
  add(kTVMFFIFloat)->v_float64 = 1e-5;
  add(kTVMFFIFloat)->v_float64 = NAN;
  add(kTVMFFIFloat)->v_float64 = -HUGE_VAL;
  add(12345)->v_int64 = 1;
  add(-1)->v_int64 = 1;
  const DLDataType f32 = {kDLFloat, 32, 1}, strange = {99, 255, 65535};
  tensor(0, NULL, NULL, f32);
  tensor(1, integers(4, 0), integers(1, 0), f32);
  tensor(2, integers(2, 3), NULL, f32);
  tensor(2, integers(2, 3), integers(3, 1), strange);
  tensor(2, integers(-2, INT64_MIN), integers(INT64_MAX, INT64_MIN), f32);
  tensor(2, integers(INT64_MAX, INT64_MAX), integers(INT64_MAX, 1), f32);
  tensor(2, integers(0, 1), integers(0, 0), f32);
  int64_t* many = (int64_t*)malloc(2000 * sizeof(int64_t));
  for (int index = 0; index < 2000; ++index) many[index] = INT64_MIN;
  tensor(2000, many, many, f32);
  for (size_t size = 0; size < 3; ++size) {
    TVMFFIShapeCell* shape = (TVMFFIShapeCell*)object(kTVMFFIShape, sizeof(TVMFFIShapeCell));
    shape->data = size ? integers(4, 8) : NULL;
    shape->size = size;
  }
  for (size_t size = 0; size < 9; ++size) text(size, "relu");
  text(64, "\xC3\xA9"), text(66, "\xC3\xA9"), text(65, "a\xF0\x9F\x98\x80"), text(5000, "a\xF0\x9F\x98\x80");
  array(NULL, 0);
  int before = count;
  for (int size = 1; size <= before; size += 7) array(values + before - size, size);
  for (int depth = 0; depth < 20; ++depth) array(values + count - 1, 1);
  TVMFFIAny inner = values[count - 1];
  for (int depth = 0; depth < 20000; ++depth) { /* too deep to be written out */
    --count;
    values[count] = inner;
    array(&inner, 1);
    inner = values[count - 1];
  }
}

static int is_utf8(const char* data, size_t size) {
  for (size_t index = 0; index < size;) {
    unsigned char lead = (unsigned char)data[index];
    size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0;
    if (length == 0 || index + length > size) return 0;
    for (size_t next = 1; next < length; ++next)
      if ((data[index + next] & 0xC0) != 0x80) return 0;
    index += length;
  }
  return 1;
}

static long calls, refused;

static void call(const char* name, TVMFFISafeCallType function, const TVMFFIAny* args, int32_t num_args) {
  TVMFFIAny result = {0};
  ++calls;
  if (function(NULL, args, num_args, &result) == 0) return;
  ++refused;
  TVMFFIObjectHandle error;
  TVMFFIErrorMoveFromRaised(&error);
  const TVMFFIErrorCell* cell = (const TVMFFIErrorCell*)((const char*)error + sizeof(TVMFFIObject));
  if (cell->message.size == 0 || cell->message.size > 10000 || !is_utf8(cell->message.data, cell->message.size)) {
    printf("%s: %.*s\n", name, (int)cell->message.size, cell->message.data);
    exit(1);
  }
  TVMFFIObjectDecRef(error);
}

static void try_all(const char* name, TVMFFISafeCallType function, int arity) {
  for (int num_args = 0; num_args <= MAX_ARGUMENTS; num_args += 1 + 8 * (num_args > arity))
    for (int index = 0; index < count; ++index) {
      /* As many arguments as are said to be there, and not one more. */
      TVMFFIAny* args = (TVMFFIAny*)malloc((size_t)(num_args ? num_args : 1) * sizeof(TVMFFIAny));
      for (int position = 0; position < num_args; ++position) args[position] = values[(index + position * 5) % count];
      call(name, function, args, num_args);
      for (int position = 0; position < num_args; ++position) args[position] = values[index];
      call(name, function, args, num_args);
      free(args);
    }
}

int main(void) {
  make_values();
#define FUNCTION(symbol, arity) try_all(#symbol, symbol, arity);
#include "functions.inc"
  printf("%d values, %ld calls, %ld refused\n", count, calls, refused);
  return 0;
}
