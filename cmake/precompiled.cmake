# Much of a first build would be spent on reading the same headers of the standard library in every file. GCC reads them
# once for all targets that have the same flags. Only in our own checkout, where files are compiled in batches: other
# builds, clang-tidy's among them, read what a file names, and find an include that is missing.
#
#   headlight_precompile(NAME [PROGRAMS] TARGETS TARGET... LIKE LIBRARY|OPTION... HEADERS HEADER...)
#
# TARGETS are libraries, or with PROGRAMS programs.
# NAME has the flags of LIKE, which must be those of all targets; a definition that one of them lacks would keep GCC from
# using the headers for it, with a warning. Headers that few files use only make it slower: with CLI11 among them, files
# took longer than without any of this.
function(headlight_precompile name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PROGRAMS" "" "TARGETS;LIKE;HEADERS")
  if(NOT PROJECT_IS_TOP_LEVEL OR NOT (CMAKE_BUILD_TYPE STREQUAL Release OR HEADLIGHT_UNITY)
     OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/empty.cc)
  if(NOT arg_PROGRAMS)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  endif()
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS} <algorithm> <array> <bit> <cmath> <cstdint> <cstring>
    <functional> <limits> <memory> <numeric> <optional> <span> <string> <string_view> <utility> <vector>)
  foreach(like IN LISTS arg_LIKE)
    if(like MATCHES "^-")
      target_compile_options(${name} PRIVATE ${like})
    else()
      target_link_libraries(${name} PRIVATE ${like})
    endif()
  endforeach()
  foreach(target IN LISTS arg_TARGETS)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endforeach()
endfunction()
