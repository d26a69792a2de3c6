# Install rules, in four components: `library` (headers, libraries, what find_package and pkg-config read, examples),
# `program` (with manual pages and completion), `mpi` (what the program becomes under mpirun) and `models` (the default models).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headlight)
file(RELATIVE_PATH prefix_from_here /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

set(description_core "Tensors, contexts and errors of Headlight")
set(description_attention "Transformer attention on CPUs: forward, backward, decode")
set(description_nn "Layers of transformers and their gradients")
set(description_text "Tokenizers")
set(description_models "Transformer models: open, run and look into them")
set(description_train "Fine-tuning of transformer models")
set(description_dist "Attention over several processes with MPI")
set(modules_text fmt libutf8proc libpcre2-8)
set(modules_models fmt simdjson zlib pangocairo cairo-pdf libutf8proc)
set(modules_train fmt tomlplusplus)
set(models_dir ${CMAKE_INSTALL_DATADIR}/headlight/models)

set(needs "")
foreach(component IN LISTS components)
  string(APPEND needs "set(headlight_needs_${component} ${needs_${component}})\n")
  set(targets headlight_public_${component})
  list(TRANSFORM layers_${component} PREPEND headlight_ OUTPUT_VARIABLE layers)
  list(TRANSFORM needs_${component} PREPEND headlight- OUTPUT_VARIABLE requires)
  if(BUILD_SHARED_LIBS)
    set(libraries -lheadlight)
    if(component STREQUAL core)
      list(APPEND targets headlight_shared)
    endif()
  else()
    list(APPEND targets ${layers})
    list(REVERSE layers)
    list(TRANSFORM layers PREPEND -l OUTPUT_VARIABLE libraries)
    list(APPEND requires ${modules_${component}})
    if(component STREQUAL dist)  # MPI has no pkg-config file of one name: the flags that were found here
      list(APPEND libraries ${MPI_CXX_LIBRARIES})
    endif()
    if(component STREQUAL core)
      list(APPEND libraries -pthread)
    endif()
  endif()
  if(component STREQUAL attention)
    list(APPEND targets headlight)
  endif()
  install(TARGETS ${targets} EXPORT headlight_${component}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
  install(EXPORT headlight_${component} NAMESPACE headlight:: FILE headlight-${component}.cmake
    DESTINATION ${package_dir} COMPONENT library)
  headlight_headers(${component} headers)
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/headlight COMPONENT library)

  set(description ${description_${component}})
  string(REPLACE ";" " " requires "${requires}")
  string(REPLACE ";" " " libraries "${libraries}")
  configure_file(cmake/headlight.pc.in headlight-${component}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/headlight-${component}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT library)
endforeach()

configure_package_config_file(cmake/headlight-config.cmake.in headlight-config.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS models_dir)
write_basic_package_version_file(headlight-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headlight-config.cmake ${PROJECT_BINARY_DIR}/headlight-config-version.cmake
  DESTINATION ${package_dir} COMPONENT library)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
if(NOT HEADLIGHT_PACKAGES)  # whose copyright file names the licence
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
endif()
if(HEADLIGHT_PROGRAM)
  install(TARGETS headlight_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  if(TARGET headlight_mpi_program)
    install(TARGETS headlight_mpi_program RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR} COMPONENT mpi)
  endif()
  install(DIRECTORY models/ DESTINATION ${models_dir} COMPONENT models)
  if(TARGET headlight_pages)
    install(DIRECTORY ${pages}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
    install(FILES ${pages}/completion/headlight COMPONENT program
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${pages}/completion/_headlight DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
    install(FILES ${pages}/completion/headlight.fish COMPONENT program
      DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()
