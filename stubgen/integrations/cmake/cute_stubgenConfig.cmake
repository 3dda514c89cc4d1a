# Lets a CMake project generate kernels in its own build:
#
#   find_package(cute_stubgen CONFIG REQUIRED)     # -Dcute_stubgen_DIR=$(cute-stubgen --cmakedir)
#   cute_stubgen_generate(TARGET my_kernels KERNELS kernels/norm.py kernels/gemm.py ARCHS sm_90a)
#   target_link_libraries(my_program PRIVATE my_kernels)

if(NOT CUTE_STUBGEN_COMMAND)
  # Installed into <prefix>/lib/pythonX.Y/site-packages/stubgen/integrations/cmake, its command is in <prefix>/bin.
  find_program(CUTE_STUBGEN_EXECUTABLE cute-stubgen HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../../../../bin")
  if(NOT CUTE_STUBGEN_EXECUTABLE)
    set(cute_stubgen_FOUND FALSE)
    set(cute_stubgen_NOT_FOUND_MESSAGE
        "the command cute-stubgen was not found: pip install cute-stubgen, or say how it is started with -DCUTE_STUBGEN_COMMAND=...")
    return()
  endif()
endif()

# cute_stubgen_generate(TARGET <name> KERNELS <file or folder>...
#                       [PACKAGE <name>] [OUTPUT <folder>] [PROJECT <folder>] [ARCHS <arch>...]
#                       [TOOLCHAIN zig|system] [HOST <cpu>])
#
# Generates a package when the project is built, again whenever a kernel or a file that it imports has changed, and not
# otherwise. Gives three targets, of which a program links one: <name>, the shared library; <name>_static, an archive;
# <name>_load, which loads the shared library at run time. <name>_generate only generates.
#
#   PACKAGE   Name of the package; that of the target by default.
#   OUTPUT    Folder to generate into; in the build folder by default.
#   PROJECT   Folder whose pyproject.toml has further settings; the source folder by default.
#   ARCHS, TOOLCHAIN, HOST
#             As in pyproject.toml, which they override.
function(cute_stubgen_generate)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;PACKAGE;OUTPUT;PROJECT;TOOLCHAIN;HOST" "KERNELS;ARCHS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cute_stubgen_generate does not know ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(required TARGET KERNELS)
    if(NOT arg_${required})
      message(FATAL_ERROR "cute_stubgen_generate needs ${required}")
    endif()
  endforeach()
  if(NOT arg_PACKAGE)
    set(arg_PACKAGE "${arg_TARGET}")
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET}_generated")
  endif()
  if(NOT arg_PROJECT)
    set(arg_PROJECT "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  get_filename_component(arg_OUTPUT "${arg_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  get_filename_component(arg_PROJECT "${arg_PROJECT}" ABSOLUTE)
  set(kernels)
  foreach(kernel IN LISTS arg_KERNELS)
    get_filename_component(kernel "${kernel}" ABSOLUTE)
    if(NOT EXISTS "${kernel}")
      message(FATAL_ERROR "cute_stubgen_generate: ${kernel} does not exist")
    endif()
    list(APPEND kernels "${kernel}")
  endforeach()

  set(options --project "${arg_PROJECT}" --output "${arg_OUTPUT}" --package "${arg_PACKAGE}")
  foreach(arch IN LISTS arg_ARCHS)
    list(APPEND options --arch "${arch}")
  endforeach()
  if(arg_TOOLCHAIN)
    list(APPEND options --toolchain "${arg_TOOLCHAIN}")
  endif()
  if(arg_HOST)
    list(APPEND options --host "${arg_HOST}")
  endif()

  set(command "${CUTE_STUBGEN_EXECUTABLE}")
  if(CUTE_STUBGEN_COMMAND)
    set(command ${CUTE_STUBGEN_COMMAND})
  endif()
  # A run that changes nothing touches no file of the package, so it is a stamp that says when the last one was.
  set(stamp "${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET}.stamp")
  set(folder "${arg_OUTPUT}/${arg_PACKAGE}")
  set(shared "${folder}/lib/lib${arg_PACKAGE}.so")
  set(static "${folder}/lib/lib${arg_PACKAGE}.a")
  set(load "${folder}/lib/lib${arg_PACKAGE}_load.a")
  add_custom_command(
    OUTPUT "${stamp}"
    BYPRODUCTS "${shared}" "${static}" "${load}"
    COMMAND ${command} generate ${kernels} ${options} --depfile "${stamp}.d"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS ${kernels}
    DEPFILE "${stamp}.d"
    COMMENT "Generating ${arg_PACKAGE}"
    VERBATIM)
  add_custom_target(${arg_TARGET}_generate DEPENDS "${stamp}")

  file(MAKE_DIRECTORY "${folder}/include") # CMake refuses targets whose folders are not there yet
  _cute_stubgen_tvm_ffi()
  add_library(${arg_TARGET} SHARED IMPORTED GLOBAL)
  set_target_properties(${arg_TARGET} PROPERTIES
    IMPORTED_LOCATION "${shared}" IMPORTED_SONAME "lib${arg_PACKAGE}.so")
  add_library(${arg_TARGET}_static STATIC IMPORTED GLOBAL)
  set_target_properties(${arg_TARGET}_static PROPERTIES
    IMPORTED_LOCATION "${static}" INTERFACE_LINK_LIBRARIES "pthread;dl;rt")
  add_library(${arg_TARGET}_load STATIC IMPORTED GLOBAL)
  set_target_properties(${arg_TARGET}_load PROPERTIES
    IMPORTED_LOCATION "${load}" INTERFACE_LINK_LIBRARIES dl)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(target ${arg_TARGET} ${arg_TARGET}_static ${arg_TARGET}_load)
    set_property(TARGET ${target} PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${folder}/include")
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES cute_stubgen::tvm_ffi)
    if("CXX" IN_LIST languages)
      set_property(TARGET ${target} PROPERTY INTERFACE_COMPILE_FEATURES cxx_std_17)
    endif()
    add_dependencies(${target} ${arg_TARGET}_generate)
  endforeach()
endfunction()

# Makes the target cute_stubgen::tvm_ffi: the project's own tvm_ffi::shared, or the one that the tool works with.
function(_cute_stubgen_tvm_ffi)
  if(TARGET cute_stubgen::tvm_ffi)
    return()
  endif()
  # A program that does not itself use anything of tvm-ffi has to name it all the same: the path by which programs find
  # their libraries is not used for the libraries of these.
  add_library(cute_stubgen::tvm_ffi INTERFACE IMPORTED GLOBAL)
  if(TARGET tvm_ffi::shared)
    set_property(TARGET cute_stubgen::tvm_ffi PROPERTY
      INTERFACE_LINK_LIBRARIES "-Wl,--push-state,--no-as-needed;tvm_ffi::shared;-Wl,--pop-state")
    return()
  endif()
  set(command "${CUTE_STUBGEN_EXECUTABLE}")
  if(CUTE_STUBGEN_COMMAND)
    set(command ${CUTE_STUBGEN_COMMAND})
  endif()
  execute_process(
    COMMAND ${command} --tvm-ffi-dir
    OUTPUT_VARIABLE tvm_ffi OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  set_target_properties(cute_stubgen::tvm_ffi PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${tvm_ffi}/include"
    INTERFACE_LINK_LIBRARIES
      "-Wl,--push-state,--no-as-needed;${tvm_ffi}/lib/libtvm_ffi.so;-Wl,--pop-state")
endfunction()
