/* What a dispatcher of the tests calls: each function answers with its number. `builds.inc` is written by the test:
 * BUILD(symbol, number) for each. */

#include <tvm/ffi/c_api.h>

#define BUILD(symbol, number)                                                                  \
  int symbol(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {         \
    (void)self, (void)args, (void)num_args;                                                    \
    result->type_index = kTVMFFIInt;                                                           \
    result->v_int64 = number;                                                                  \
    return 0;                                                                                  \
  }
#include "builds.inc"
#undef BUILD
