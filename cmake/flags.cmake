# Flags of our own code. Contraction is off everywhere: two inlinings of one function must give the
# same bits, so a fused multiply-add appears only where the source asks for it. No -march and no
# -ffast-math: the SIMD target is chosen at run time, and every rounding is one we wrote.
add_library(headlight_flags INTERFACE)
target_compile_options(headlight_flags INTERFACE
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)

# Sanitizers and coverage change every object, so they are set for the whole tree.
set(HEADLIGHT_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")
option(HEADLIGHT_COVERAGE "Count executed lines (gcov)" OFF)
option(HEADLIGHT_FUZZ "Build the libFuzzer targets; needs clang" OFF)
if(HEADLIGHT_SANITIZE)
  add_compile_options(-fsanitize=${HEADLIGHT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEADLIGHT_SANITIZE})
endif()
if(HEADLIGHT_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
if(HEADLIGHT_FUZZ)  # which edges were taken
  add_compile_options(-fsanitize-coverage=inline-8bit-counters,pc-table)
endif()

# The program reads files of strangers. The kernels are left alone: they see only checked sizes.
include(CheckPIESupported)
check_pie_supported()
add_library(headlight_hardening INTERFACE)
target_compile_options(headlight_hardening INTERFACE
  -fstack-protector-strong $<$<CONFIG:Release>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>)
target_link_options(headlight_hardening INTERFACE -Wl,-z,relro,-z,now)
if(HEADLIGHT_FUZZ)  # what was compared with what: in arithmetic that takes most of the time and finds nothing
  target_compile_options(headlight_hardening INTERFACE -fsanitize-coverage=trace-cmp)
endif()

# A second build of the same file is a cache hit, in another checkout too: ccache is told to see paths
# inside the checkout as relative ones. It asks the compiler what a file includes and preprocesses nothing itself,
# which saves a first build a twelfth. The sloppiness is what it wants for precompiled headers: macros that these do not
# depend on may differ, and no source of ours looks at the time. A machine without ccache just compiles.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()
