# libheadlight.so: the three layers in one file, for those who prefer that, and for the test which
# holds it to its promise (Highway and the C++ runtime, under 5 MB). Built only when asked for.
option(HEADLIGHT_SHARED_LIBRARY "Also build and install libheadlight.so" OFF)
add_library(headlight_shared SHARED EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/empty.cc)
target_link_libraries(headlight_shared PRIVATE
  -Wl,--whole-archive headlight_attention headlight_kernels headlight_core -Wl,--no-whole-archive)
target_include_directories(headlight_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(headlight_shared INTERFACE cxx_std_20)
set_target_properties(headlight_shared PROPERTIES
  OUTPUT_NAME headlight VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(HEADLIGHT_SHARED_LIBRARY OR HEADLIGHT_TESTS)
  set_target_properties(headlight_shared PROPERTIES EXCLUDE_FROM_ALL OFF)
endif()
