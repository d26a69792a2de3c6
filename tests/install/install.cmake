# Does the library reach its users? A small project finds it by find_package after an install, and by
# add_subdirectory from the source; libheadlight.so keeps its promise of few dependencies and 5 MB.
set(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer)
set(launcher -DCMAKE_CXX_COMPILER_LAUNCHER=${CCACHE_PROGRAM} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER})
foreach(way IN ITEMS find_package add_subdirectory)
  add_test(NAME install.${way} COMMAND ${CMAKE_COMMAND}
    -D WAY=${way} -D SOURCE=${PROJECT_SOURCE_DIR} -D BINARY=${PROJECT_BINARY_DIR} -D CONSUMER=${consumer}
    -D WORK=${CMAKE_CURRENT_BINARY_DIR}/install/${way} -D "OPTIONS=${launcher}"
    -P ${CMAKE_CURRENT_LIST_DIR}/consume.cmake)
  set_tests_properties(install.${way} PROPERTIES LABELS install TIMEOUT 900
    PASS_REGULAR_EXPRESSION "consumed headlight [0-9.]+: out 2.5")
endforeach()
add_test(NAME install.shared_library COMMAND Python3::Interpreter
  ${CMAKE_CURRENT_LIST_DIR}/check_shared.py $<TARGET_FILE:headlight_shared>)
set_tests_properties(install.shared_library PROPERTIES LABELS install)
