# cmake -P script: installs or copies the library into a fresh folder, then builds and runs a project that uses it.
#   WAY=component    find_package and pkg-config, with one component and all of its headers
#   WAY=examples     the installed examples, by find_package
#   WAY=program      the program from another folder: its models, manual pages and completion
#   WAY=subproject   add_subdirectory of a copy, with BUILD_SHARED_LIBS; checks what libheadlight.so exports and needs
function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# run_prints(TEXT COMMAND...): the command ends well and prints TEXT.
function(run_prints text)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  if(NOT printed MATCHES "${text}")
    message(FATAL_ERROR "${ARGN} printed \"${printed}\", which does not have \"${text}\"")
  endif()
endfunction()

set(configure ${CMAKE_COMMAND} -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${CXX}
  -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
set(build ${CMAKE_COMMAND} --build ${WORK}/build --parallel 1)
set(consumer ${SOURCE}/tests/install/consumer)
if(NOT CMAKE_CTEST_COMMAND)
  set(CMAKE_CTEST_COMMAND ctest)
endif()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

if(WAY STREQUAL "subproject")
  set(copy "${WORK}/a folder with spaces")
  file(COPY ${SOURCE}/CMakeLists.txt ${SOURCE}/cmake ${SOURCE}/include ${SOURCE}/src DESTINATION ${copy})
  file(COPY ${SOURCE}/tools/check_includes.py DESTINATION ${copy}/tools)
  set(ENV{CCACHE_BASEDIR} ${WORK})
  set(ENV{CCACHE_NOHASHDIR} 1)
  step(${configure} -S ${consumer} -B ${WORK}/build -DHEADLIGHT_SOURCE_DIR=${copy} -DBUILD_SHARED_LIBS=ON
    -DCOMPONENT=attention -DHEADERS=headlight.h)
  step(${build})
  run_prints("consumed headlight [0-9.]+" ${WORK}/build/consumer)
  step(${PYTHON} ${SOURCE}/tests/install/check_shared.py ${WORK}/build/headlight/libheadlight.so ${SOURCE}/include
    --attention)
  return()
endif()

if(WAY STREQUAL "program")
  step(${CMAKE_COMMAND} --install ${BINARY} --prefix ${WORK}/prefix --component program)
  step(${CMAKE_COMMAND} --install ${BINARY} --prefix ${WORK}/prefix --component models)
  set(prefix "${WORK}/moved here")
  file(RENAME ${WORK}/prefix ${prefix})
  file(MAKE_DIRECTORY ${WORK}/elsewhere)
  step(bash ${SOURCE}/tests/install/program.sh "${prefix}" WORKING_DIRECTORY ${WORK}/elsewhere)
  return()
endif()

step(${CMAKE_COMMAND} --install ${BINARY} --prefix ${WORK}/prefix --component library)
if(WAY STREQUAL "examples")  # some open a model, which comes with the program
  step(${CMAKE_COMMAND} --install ${BINARY} --prefix ${WORK}/prefix --component program)
  step(${CMAKE_COMMAND} --install ${BINARY} --prefix ${WORK}/prefix --component models)
endif()
# Away from where it was installed, and with a space: an exported path that points home would show here.
set(prefix "${WORK}/moved here")
file(RENAME ${WORK}/prefix ${prefix})
if(WAY STREQUAL "examples")
  file(GLOB_RECURSE lists "${prefix}/CMakeLists.txt")
  get_filename_component(examples ${lists} DIRECTORY)
  step(${configure} -S ${examples} -B ${WORK}/build "-DCMAKE_PREFIX_PATH=${prefix}")
  step(${build})
  step(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build --output-on-failure --no-tests=error)
  return()
endif()

step(${configure} -S ${consumer} -B ${WORK}/build "-DCMAKE_PREFIX_PATH=${prefix}" -DCOMPONENT=${COMPONENT}
  -DHEADERS=${HEADERS})
step(${build})
run_prints("consumed headlight [0-9.]+" ${WORK}/build/consumer)

# The same without CMake. pkg-config cannot quote a prefix with spaces for a shell, so this one has none.
file(RENAME ${prefix} ${WORK}/plain)
file(GLOB_RECURSE module ${WORK}/plain/*/headlight-${COMPONENT}.pc)
get_filename_component(modules ${module} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${modules})
execute_process(COMMAND pkg-config --cflags --libs headlight-${COMPONENT} OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
step(${CXX} -std=c++20 ${WORK}/build/consumer.cc -o ${WORK}/by_pkg_config ${flags})
run_prints("consumed headlight [0-9.]+" ${WORK}/by_pkg_config)
