# The README's C++ compiles, runs, and prints what the README says it prints; code shown in the
# guides is the code of the library.
add_test(NAME docs.readme COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/run_blocks.py
  --compiler ${CMAKE_CXX_COMPILER} --include ${PROJECT_SOURCE_DIR}/include
  --work ${CMAKE_CURRENT_BINARY_DIR}/docs
  --link $<TARGET_FILE:headlight_attention> $<TARGET_FILE:headlight_kernels> $<TARGET_FILE:headlight_core> -pthread
  --documents ${PROJECT_SOURCE_DIR}/README.md)
set_tests_properties(docs.readme PROPERTIES LABELS docs ENVIRONMENT "HEADLIGHT=$<TARGET_FILE:headlight_program>")
add_test(NAME docs.included_code COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/include_code.py --check)
add_test(NAME docs.words COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check_words)
set_tests_properties(docs.words PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME docs.color_tables COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/make_color_tables --check)
add_test(NAME docs.picture COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/make_readme_picture --check)
set_tests_properties(docs.included_code docs.words docs.picture docs.color_tables PROPERTIES LABELS docs)

# The course of docs/learn: commands print what the chapters say, its numbers and answers are those that the program
# computes, and its pictures are those that the program draws. docs/seeds.md is what the program prints.
file(GLOB chapters CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/learn/[0-9]*.md)
add_test(NAME docs.learn COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/check_output.py
  --program $<TARGET_FILE:headlight_program> --documents ${chapters})
add_test(NAME docs.learn_numbers COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/check_learn.py
  $<TARGET_FILE:headlight_program> ${PROJECT_SOURCE_DIR}/docs/learn)
add_test(NAME docs.learn_pictures COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/make-learn
  $<TARGET_FILE:headlight_program> --check)
add_test(NAME docs.seeds COMMAND /bin/sh -c
  "'$<TARGET_FILE:headlight_program>' lab seeds --markdown | diff - '${PROJECT_SOURCE_DIR}/docs/seeds.md'")
# The README's picture of the first screen is what the program prints.
add_test(NAME docs.screen COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/make_screen_svg.py
  $<TARGET_FILE:headlight_program> --check)
set_tests_properties(docs.learn docs.learn_numbers docs.learn_pictures docs.seeds docs.screen PROPERTIES LABELS docs)
# The notebooks are what their scripts say; python.notebooks runs them.
add_test(NAME docs.notebooks COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/make-notebooks --check)
set_tests_properties(docs.notebooks PROPERTIES LABELS docs)
# The site: no link leads nowhere, and its search works from the file system.
set(site ${CMAKE_CURRENT_BINARY_DIR}/site)
add_test(NAME docs.site COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/make-site ${site})
add_test(NAME docs.search COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/check_search.py ${site})
set_tests_properties(docs.site docs.search PROPERTIES LABELS docs SKIP_RETURN_CODE 77)
set_tests_properties(docs.site PROPERTIES FIXTURES_SETUP site)
set_tests_properties(docs.search PROPERTIES FIXTURES_REQUIRED site)
# Commands of all documents exist with their options and run where they can; fragments of C++ compile.
add_test(NAME docs.snippets COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/check_snippets.py
  $<TARGET_FILE:headlight_program> ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR})
# What other code blocks name exists: build commands, scripts, CMake of users, JSON.
add_test(NAME docs.blocks COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/check_blocks.py
  $<TARGET_FILE:headlight_program> ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR})
set_tests_properties(docs.snippets docs.blocks PROPERTIES LABELS docs)
