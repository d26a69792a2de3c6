# Debian packages: tools/make-packages builds all of them, or `cpack` in a build folder that has everything built.
#
#   headlight            the program, its default models, manual pages, completion
#   libheadlight-dev     the C++ libraries and headers
#   libheadlight-c0      the C interface; libheadlight-c-dev has its header
#   python3-headlight    the Python package, which finds the models of `headlight`
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  message(FATAL_ERROR "headlight: HEADLIGHT_PACKAGES needs -DCMAKE_INSTALL_PREFIX=/usr: packages are installed there")
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headlight)
set(CPACK_PACKAGE_VENDOR Headlight)
set(CPACK_PACKAGE_CONTACT "The Headlight authors <headlight@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "transformer attention on CPUs")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program library c c_dev python)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

# headlight_package(COMPONENT NAME SECTION DEPENDS DESCRIPTION)
macro(headlight_package component name section depends description)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_COMPONENT_${key}_DESCRIPTION "${description}")
endmacro()
headlight_package(program headlight science "" "transformer attention on CPUs: program
 Shows, explains and changes what the attention heads of transformer models do.")
headlight_package(library libheadlight-dev libdevel
  "libfmt-dev, libsimdjson-dev, libutf8proc-dev, libpcre2-dev, libpango1.0-dev, zlib1g-dev"
  "transformer attention on CPUs: C++ libraries
 Attention, layers, tokenizers and models, as static libraries with headers.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS OFF)
headlight_package(c libheadlight-c0 libs "" "transformer attention on CPUs: C interface
 Attention and models for C and every language that calls C.")
headlight_package(c_dev libheadlight-c-dev libdevel "libheadlight-c0 (= ${PROJECT_VERSION})"
  "transformer attention on CPUs: header of the C interface
 What programs in C are compiled with.")
set(CPACK_DEBIAN_C_DEV_PACKAGE_SHLIBDEPS OFF)
# The extension module is for one version of Python.
math(EXPR next_minor "${Python3_VERSION_MINOR} + 1")
headlight_package(python python3-headlight python
  "python3 (>= 3.${Python3_VERSION_MINOR}), python3 (<< 3.${next_minor}), python3-numpy, headlight"
  "transformer attention on CPUs: Python package
 Attention on NumPy arrays and tensors, models, figures and notebooks.")
include(CPack)
