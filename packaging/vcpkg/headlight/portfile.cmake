vcpkg_download_distfile(archive
  URLS "https://headlight.invalid/headlight-${VERSION}.tar.gz"
  FILENAME "headlight-${VERSION}.tar.gz"
  SHA512 @SHA512@)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${archive}")

set(components attention)
if("models" IN_LIST FEATURES)
  set(components "attention\\;nn\\;text\\;models")  # one option, which is a list
endif()
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
  -DHEADLIGHT_PROGRAM=OFF -DHEADLIGHT_INSTALL=ON "-DHEADLIGHT_COMPONENTS=${components}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/headlight)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
