# The README's C++ compiles, runs, and prints what the README says it prints; code shown in the
# guides is the code of the library.
add_test(NAME docs.readme COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/run_blocks.py
  --compiler ${CMAKE_CXX_COMPILER} --include ${PROJECT_SOURCE_DIR}/include
  --work ${CMAKE_CURRENT_BINARY_DIR}/docs
  --link $<TARGET_FILE:headlight_attention> $<TARGET_FILE:headlight_kernels> $<TARGET_FILE:headlight_core> -lhwy -pthread
  --documents ${PROJECT_SOURCE_DIR}/README.md)
set_tests_properties(docs.readme PROPERTIES LABELS docs ENVIRONMENT "HEADLIGHT=$<TARGET_FILE:headlight_program>")
add_test(NAME docs.included_code COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/include_code.py --check)
add_test(NAME docs.links COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/check_links.py ${PROJECT_SOURCE_DIR})
add_test(NAME docs.color_tables COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/make_color_tables --check)
add_test(NAME docs.picture COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/make_readme_picture --check)
set_tests_properties(docs.included_code docs.links docs.picture docs.color_tables PROPERTIES LABELS docs)
