# libheadlight_c.so: the C interface (include/headlight/c/headlight.h). It exports the functions of that header and nothing of
# C++, so that its ABI does not change with the library's: src/c/abi.txt lists it, and a test compares.
file(GLOB c_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/c/*.cc)
add_library(headlight_c SHARED ${c_sources})
target_include_directories(headlight_c
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(headlight_c PRIVATE headlight_session headlight_flags)
set_target_properties(headlight_c PROPERTIES CXX_VISIBILITY_PRESET hidden VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports-c.map)
target_link_options(headlight_c PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports-c.map)
if(NOT HEADLIGHT_SANITIZE)
  target_link_options(headlight_c PRIVATE -Wl,--no-undefined -Wl,--as-needed)
endif()
# In two components: `c`, which programs need to run, and `c_dev`, to compile them. Debian's package libheadlight-dev has what
# C and C++ programs are compiled with.
if(HEADLIGHT_PACKAGES)
  set(c_dev library)
else()
  set(c_dev c_dev)
endif()
if(HEADLIGHT_INSTALL AND HEADLIGHT_C)
  install(TARGETS headlight_c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT c NAMELINK_COMPONENT ${c_dev})
  install(FILES include/headlight/c/headlight.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headlight/c COMPONENT ${c_dev})
endif()
