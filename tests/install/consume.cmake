# cmake -P script: builds and runs the consumer in a fresh folder, in one of two ways.
function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
if(WAY STREQUAL "find_package")
  step(${CMAKE_COMMAND} --install ${BINARY} --prefix ${WORK}/prefix --component library)
  # Away from where it was installed: an exported path that points home would show here.
  file(RENAME ${WORK}/prefix ${WORK}/moved)
  list(APPEND OPTIONS -DCMAKE_PREFIX_PATH=${WORK}/moved)
else()
  list(APPEND OPTIONS -DHEADLIGHT_SOURCE_DIR=${SOURCE})
endif()
step(${CMAKE_COMMAND} -G Ninja -S ${CONSUMER} -B ${WORK}/build -DCMAKE_BUILD_TYPE=Release ${OPTIONS})
step(${CMAKE_COMMAND} --build ${WORK}/build --parallel 1)
step(${WORK}/build/consumer)
