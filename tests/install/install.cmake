# Do the libraries reach their users? Each way of using them is tried by a small project in a fresh folder.
set(consume ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D BINARY=${PROJECT_BINARY_DIR} -D CXX=${CMAKE_CXX_COMPILER}
  -D LAUNCHER=${CCACHE_PROGRAM} -D PYTHON=${Python3_EXECUTABLE})
function(headlight_install_test name)
  add_test(NAME install.${name} COMMAND ${consume} -D "WORK=${CMAKE_CURRENT_BINARY_DIR}/install/${name}" ${ARGN}
    -P ${PROJECT_SOURCE_DIR}/tests/install/consume.cmake)
  set_tests_properties(install.${name} PROPERTIES LABELS install TIMEOUT 900)
endfunction()

foreach(component IN ITEMS attention nn text models train)
  headlight_headers(${component} headers)
  list(TRANSFORM headers REPLACE ".*/" "")
  string(REPLACE ";" "," headers "${headers}")
  headlight_install_test(component_${component} -D WAY=component -D COMPONENT=${component} -D HEADERS=${headers})
endforeach()
if(TARGET headlight_dist)
  headlight_headers(dist headers)
  list(TRANSFORM headers REPLACE ".*/" "")
  headlight_install_test(component_dist -D WAY=component -D COMPONENT=dist -D HEADERS=${headers})
endif()
headlight_install_test(examples -D WAY=examples)
headlight_install_test(program -D WAY=program)
headlight_install_test(subproject -D WAY=subproject)
add_test(NAME install.exports COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/install/check_shared.py
  $<TARGET_FILE:headlight_shared> ${PROJECT_SOURCE_DIR}/include)
set_tests_properties(install.exports PROPERTIES LABELS install)

# Recipes for package managers, and the notes of a release.
add_test(NAME install.packaging COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/install/check_packaging.py
  ${PROJECT_SOURCE_DIR} ${CMAKE_COMMAND})
set_tests_properties(install.packaging PROPERTIES LABELS install)
# Functions of a newer glibc that the archive of the program brings along.
add_test(NAME install.archive COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/install/check_archive.py
  ${PROJECT_SOURCE_DIR} cc)
set_tests_properties(install.archive PROPERTIES LABELS install SKIP_RETURN_CODE 77)

# All packages that are missing are named at once.
add_test(NAME install.missing_packages COMMAND ${CMAKE_COMMAND} -G Ninja -S ${PROJECT_SOURCE_DIR}
  -B ${CMAKE_CURRENT_BINARY_DIR}/install/missing_packages -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
  -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
set_tests_properties(install.missing_packages PROPERTIES LABELS install
  PASS_REGULAR_EXPRESSION "not found: libfmt-dev libcli11-dev[.]")
