// Finds a kernel by its name; no header of the package is needed for that.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

#include <string>

void call_by_name(const std::string& name, tvm::ffi::TensorView in, tvm::ffi::TensorView out, float offset) {
  // A program that calls it often keeps the function instead of looking it up each time.
  const auto function = tvm::ffi::Function::GetGlobalRequired(name);
  function(in, out, offset);
}
