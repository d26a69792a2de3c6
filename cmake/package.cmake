# Debian packages: tools/make-packages builds all of them, or `cpack` in a build folder that has everything built.
#
#   headlight            the program, manual pages, completion
#   headlight-mpi        the program on several processes, where MPI was found
#   headlight-models     the default models
#   libheadlight0        the C interface, libheadlight_c.so.0
#   libheadlight-dev     the headers, the C++ libraries, the examples
#   python3-headlight    the Python package
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  message(FATAL_ERROR "headlight: HEADLIGHT_PACKAGES needs -DCMAKE_INSTALL_PREFIX=/usr: packages are installed there")
endif()
set(HEADLIGHT_PACKAGE_CONTACT "Headlight developers <dev@headlight.invalid>" CACHE STRING "The Maintainer field of Debian packages")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headlight)
set(CPACK_PACKAGE_VENDOR Headlight)
set(CPACK_PACKAGE_CONTACT ${HEADLIGHT_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "transformer attention on CPUs")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program models library c python)
if(TARGET headlight_mpi_program)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# headlight_package(COMPONENT NAME SECTION DEPENDS DESCRIPTION): also installs its copyright, changelog and lintian overrides.
set(packaging ${PROJECT_SOURCE_DIR}/packaging/debian)
set(changelog ${PROJECT_BINARY_DIR}/debian-changelog)
function(headlight_package component name section depends description)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${key}_DESCRIPTION "${description}" PARENT_SCOPE)
  install(FILES ${packaging}/copyright DESTINATION share/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${changelog}/changelog.gz DESTINATION share/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(EXISTS ${packaging}/${name}.lintian-overrides)
    install(FILES ${packaging}/${name}.lintian-overrides DESTINATION share/lintian/overrides RENAME ${name}
      COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
endfunction()

headlight_package(program headlight science "headlight-models (>= ${PROJECT_VERSION})"
  "transformer attention on CPUs: program
 Shows, explains and changes what the attention heads of transformer models
 do, in the terminal, as figures and in a browser viewer. Opens Hugging Face
 folders and GGUF files.")
if(TARGET headlight_mpi_program)
  headlight_package(mpi headlight-mpi science "headlight (= ${PROJECT_VERSION}), openmpi-bin"
    "transformer attention on CPUs: several processes
 What the program needs to run under mpirun: models, training runs and
 corpora shared by the processes of one or several machines.")
endif()
headlight_package(models headlight-models science "" "transformer attention on CPUs: default models
 A translator from English to French and a writer of short English stories,
 16 and 10 million parameters, for the program and the Python package.")
headlight_package(library libheadlight-dev libdevel
  "libheadlight0 (= ${PROJECT_VERSION}), libfmt-dev, libsimdjson-dev, libutf8proc-dev, libpcre2-dev, libpango1.0-dev, zlib1g-dev"
  "transformer attention on CPUs: headers and libraries
 Attention, layers, tokenizers and models: C++ headers with static libraries,
 the header of the C interface, CMake and pkg-config files, and examples.")
headlight_package(c libheadlight0 libs "" "transformer attention on CPUs: C interface
 Attention and models for C and every language that can call C functions.")
headlight_package(python python3-headlight python
  "python3 (>= 3.10~), python3-numpy, headlight-models (>= ${PROJECT_VERSION})"
  "transformer attention on CPUs: Python package
 Attention on NumPy arrays and PyTorch tensors, models with their attention
 weights, hooks, figures and notebooks.")
if(TARGET headlight_mpi_program)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS headlight-mpi)
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS libopenmpi-dev)  # for the component dist alone
endif()
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-torch, python3-tqdm")
set(CPACK_DEBIAN_MODELS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_MODELS_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # of libheadlight0
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_C_PACKAGE_CONTROL_EXTRA ${packaging}/c/triggers)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${packaging}/python/postinst ${packaging}/python/prerm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Debian's changelog is made from CHANGELOG.md, and compressed manual pages replace the plain ones.
add_custom_command(OUTPUT ${changelog}/changelog.gz DEPENDS CHANGELOG.md tools/debian_changelog.py VERBATIM
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/debian_changelog.py --maintainer ${HEADLIGHT_PACKAGE_CONTACT}
    ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_VERSION} ${changelog}/changelog.gz)
add_custom_target(headlight_debian_changelog ALL DEPENDS ${changelog}/changelog.gz)
install(CODE "file(GLOB manuals \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1/*.1\")
  if(manuals)
    execute_process(COMMAND gzip -9nf \${manuals} COMMAND_ERROR_IS_FATAL ANY)
  endif()" COMPONENT program)
include(CPack)
