# How the kernels use Highway, from version 1.0.3 on. Everything they need of it is in its headers.
target_include_directories(headlight_kernels SYSTEM PRIVATE ${HWY_INCLUDE_DIR})
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64|i[3-6]86)$")
  # Each of our four targets, and no other, whatever -march says and whichever targets this version of Highway would
  # choose. The portable one is HWY_SCALAR for every compiler: g++ 12.2 cannot build EMU128, and clang must not differ.
  target_compile_definitions(headlight_kernels PRIVATE HWY_COMPILE_ALL_ATTAINABLE HWY_BROKEN_EMU128=1
    "HWY_DISABLED_TARGETS=(~(HWY_SCALAR|HWY_SSE4|HWY_AVX2|HWY_AVX3))")
else()
  target_compile_definitions(headlight_kernels PRIVATE HWY_COMPILE_ONLY_STATIC)
endif()
# Highway's own assertions are on under the sanitizers. Their messages are printed by code in libhwy, which nothing else
# needs.
if(HEADLIGHT_SANITIZE)
  find_library(HWY_LIBRARY hwy)
  if(NOT HWY_LIBRARY)
    message(FATAL_ERROR "headlight: libhwy not found (package libhwy-dev)")
  endif()
  target_link_libraries(headlight_kernels PRIVATE ${HWY_LIBRARY})
else()
  target_compile_definitions(headlight_kernels PRIVATE HWY_IS_DEBUG_BUILD=0)
endif()
