# cmake -P script: the job must end within 10 seconds (start of MPI not counted, so 30 on a busy machine), not with 0, and say
# LINE once.
set(SECONDS 30)
include(${CMAKE_CURRENT_LIST_DIR}/job.cmake)
run_job(-n 3 ${PROGRAM} ${FAULT})
if(NOT status MATCHES "^[0-9]+$" OR status EQUAL 0)
  message(FATAL_ERROR "${FAULT}: ended with \"${status}\"")
endif()
string(REGEX MATCHALL "${LINE}" found "${text}")
list(LENGTH found times)
if(NOT times EQUAL 1)
  message(FATAL_ERROR "${FAULT}: \"${LINE}\" was printed ${times} times; expected once")
endif()
# Other launchers have codes of their own for ranks that they end.
execute_process(COMMAND ${MPIEXEC} --version OUTPUT_VARIABLE version)
if(DEFINED CODE AND version MATCHES "OpenRTE|Open MPI" AND NOT status EQUAL CODE)
  message(FATAL_ERROR "${FAULT}: exit code ${status}; expected ${CODE}")
endif()
