# Install rules, in two components: `library` (headers, libraries, find_package files) and `program`.
include(CMakePackageConfigHelpers)

set(installed headlight headlight_attention headlight_kernels headlight_core)
if(HEADLIGHT_SHARED_LIBRARY)
  list(APPEND installed headlight_shared)
endif()
install(TARGETS ${installed} EXPORT headlight
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY include/headlight DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headlight)
install(EXPORT headlight NAMESPACE headlight:: FILE headlight-targets.cmake
  DESTINATION ${package_dir} COMPONENT library)
configure_package_config_file(cmake/headlight-config.cmake.in headlight-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(headlight-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/headlight-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/headlight-config-version.cmake
  DESTINATION ${package_dir} COMPONENT library)

if(HEADLIGHT_PROGRAM)
  install(TARGETS headlight_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/headlight COMPONENT library)
