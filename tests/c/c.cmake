# The C interface from C11, the list of its ABI, and its header in C++.
enable_language(C)
add_executable(test_c c/interface.c c/header.cc)
set_target_properties(test_c PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_compile_options(test_c PRIVATE -Wall -Wextra -Wpedantic -Werror)
target_link_libraries(test_c PRIVATE headlight_c m)
add_test(NAME c.interface COMMAND test_c ${PROJECT_SOURCE_DIR}/models)
add_test(NAME c.abi COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/check_abi.py $<TARGET_FILE:headlight_c>
  ${PROJECT_SOURCE_DIR}/include/headlight/c/headlight.h ${PROJECT_SOURCE_DIR}/src/c/abi.txt)
set_tests_properties(c.interface c.abi PROPERTIES LABELS c ENVIRONMENT ${leaks})
if(NOT HEADLIGHT_SANITIZE)  # a library with sanitizers cannot be opened by an interpreter without
  add_test(NAME c.golden COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/golden_test.py $<TARGET_FILE:headlight_c>
    ${PROJECT_SOURCE_DIR})
  add_test(NAME c.guide COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/guide_test.py ${CMAKE_C_COMPILER}
    $<TARGET_FILE:headlight_c> ${PROJECT_SOURCE_DIR})
  set_tests_properties(c.golden c.guide PROPERTIES LABELS c SKIP_RETURN_CODE 77)
endif()
