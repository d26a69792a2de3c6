# The headlight program, and the layers that only it uses.
headlight_layer(measure headlight_train fmt::fmt)
headlight_layer(playground headlight_train headlight_draw fmt::fmt)
# The page is one file that the program carries; see web/README.md for how it is made.
set(page ${PROJECT_SOURCE_DIR}/web/page.html)
# The assembler includes it, which ccache does not see: the hash tells ccache one page from another.
file(SHA256 ${page} page_hash)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/serve/page.cc PROPERTIES
  OBJECT_DEPENDS ${page} COMPILE_DEFINITIONS "HEADLIGHT_PAGE=\"${page}\";HEADLIGHT_PAGE_HASH=\"${page_hash}\"")
headlight_layer(serve headlight_session headlight_playground fmt::fmt)
target_link_libraries(headlight_serve PRIVATE PkgConfig::HTTPLIB)
headlight_layer(lab headlight_measure headlight_inspect headlight_draw headlight_playground fmt::fmt)
# The course is the files of docs/learn as they are; the hash is for ccache, as the page's.
set(course ${PROJECT_SOURCE_DIR}/docs/learn)
file(GLOB course_files CONFIGURE_DEPENDS ${course}/[0-9]*.md ${course}/pictures/[0-9]*.svg)
set(course_hash "")
foreach(file IN LISTS course_files)
  file(SHA256 ${file} file_hash)
  string(SHA256 course_hash "${course_hash}${file_hash}")
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${course_files})
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/learn/course.cc ${PROJECT_SOURCE_DIR}/src/learn/pictures.cc PROPERTIES
  OBJECT_DEPENDS "${course_files}" COMPILE_DEFINITIONS "HEADLIGHT_LEARN=\"${course}\";HEADLIGHT_LEARN_HASH=\"${course_hash}\"")
headlight_layer(learn headlight_lab headlight_draw fmt::fmt)
headlight_layer(cli headlight_lab headlight_learn headlight_measure headlight_serve CLI11::CLI11)
add_executable(headlight_program ${PROJECT_SOURCE_DIR}/src/cli/main.cc)
target_include_directories(headlight_program PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(headlight_program PRIVATE headlight_cli headlight_flags)
set_target_properties(headlight_program PROPERTIES OUTPUT_NAME headlight POSITION_INDEPENDENT_CODE ON)
foreach(layer IN ITEMS io text draw models train inspect session measure playground lab learn serve cli program)
  target_link_libraries(headlight_${layer} PRIVATE $<BUILD_INTERFACE:headlight_hardening>)
endforeach()

# What headlight becomes under mpirun: a program of its own, so that headlight itself neither needs MPI nor waits for it to load.
if("dist" IN_LIST components)
  file(GLOB cluster CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cluster/*.cc)
  add_executable(headlight_mpi_program ${cluster})
  target_include_directories(headlight_mpi_program PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(headlight_mpi_program PRIVATE headlight_cli headlight_dist headlight_flags
    $<BUILD_INTERFACE:headlight_hardening>)
  set_target_properties(headlight_mpi_program PROPERTIES OUTPUT_NAME headlight-mpi POSITION_INDEPENDENT_CODE ON)
endif()

# Manual pages and completion, which the program writes of its own options.
set(pages ${PROJECT_BINARY_DIR}/pages)
if(HEADLIGHT_INSTALL AND NOT CMAKE_CROSSCOMPILING AND NOT HEADLIGHT_SANITIZE AND NOT HEADLIGHT_FUZZ)
  add_custom_command(OUTPUT ${pages}/written DEPENDS headlight_program VERBATIM
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
    COMMAND headlight_program man --all ${pages}/man
    COMMAND headlight_program completion --all ${pages}/completion
    COMMAND ${CMAKE_COMMAND} -E touch ${pages}/written)
  add_custom_target(headlight_pages ALL DEPENDS ${pages}/written)
endif()

# Options, tables, sentences and pictures: half of all files and no time in them, so they are not optimised for long.
set(light headlight_draw headlight_serve headlight_lab headlight_learn headlight_cli)
foreach(target IN LISTS light)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endforeach()
headlight_precompile(headers_of_library LIKE headlight_flags Threads::Threads
  TARGETS headlight_core headlight_kernels headlight_attention headlight_nn)
headlight_precompile(headers_of_program LIKE headlight_flags headlight_hardening fmt::fmt HEADERS <fmt/format.h>
  TARGETS headlight_io headlight_text headlight_models headlight_train headlight_inspect headlight_session
          headlight_measure headlight_playground)
headlight_precompile(headers_of_commands LIKE headlight_flags headlight_hardening fmt::fmt -O1 HEADERS <fmt/format.h>
  TARGETS ${light})
