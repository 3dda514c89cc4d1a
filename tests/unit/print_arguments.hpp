// Kernels that print their arguments, in place of a library.
#pragma once

#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <sstream>

#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>

inline void print(const tvm::ffi::AnyView& value) {
  const char* separator = "";
  switch (value.type_index()) {
    case kTVMFFINone:
      std::cout << "None";
      break;
    case kTVMFFIBool:
      std::cout << (value.cast<bool>() ? "True" : "False");
      break;
    case kTVMFFIInt:
      std::cout << value.cast<std::int64_t>();
      break;
    case kTVMFFIFloat: {
      std::ostringstream text;
      text.precision(std::numeric_limits<double>::digits10);
      text << value.cast<double>();
      const bool whole = text.str().find_first_not_of("-0123456789") == std::string::npos;
      std::cout << text.str() << (whole ? ".0" : "");
      break;
    }
    case kTVMFFIOpaquePtr:
      std::cout << (value.cast<void*>() ? "pointer" : "null");
      break;
    case kTVMFFIDLTensorPtr:
      std::cout << "view";
      break;
    case kTVMFFITensor:
      std::cout << "tensor";
      break;
    case kTVMFFIShape:
      std::cout << '[';
      for (const std::int64_t extent : value.cast<tvm::ffi::Shape>()) {
        std::cout << separator << extent;
        separator = ",";
      }
      std::cout << ']';
      break;
    case kTVMFFIArray:
      std::cout << '(';
      for (const tvm::ffi::Any& item : value.cast<tvm::ffi::Array<tvm::ffi::Any>>()) {
        std::cout << separator;
        print(item);
        separator = ",";
      }
      std::cout << ')';
      break;
    default:
      std::cout << value.GetTypeKey();
  }
}

#define PRINTING_KERNEL(symbol)                                                        \
  int symbol(void*, const TVMFFIAny* arguments, std::int32_t count, TVMFFIAny*) {      \
    for (std::int32_t i = 0; i < count; ++i) {                                         \
      std::cout << (i > 0 ? " " : "");                                                 \
      print(tvm::ffi::AnyView::CopyFromTVMFFIAny(arguments[i]));                       \
    }                                                                                  \
    std::cout << '\n';                                                                 \
    return 0;                                                                          \
  }
