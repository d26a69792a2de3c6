# cmake -P script: the job must end within 10 seconds (start of MPI not counted, so 30 on a busy machine), not with 0, and say
# LINE once. Seldom, mpiexec reports that it ends the job and stays (Open MPI 4.1): the job
# then runs once more.
foreach(attempt RANGE 1)
  execute_process(COMMAND ${MPIEXEC} -n 3 ${PROGRAM} ${FAULT} OUTPUT_VARIABLE text ERROR_VARIABLE errors RESULT_VARIABLE status
    TIMEOUT 30)
  message("${text}${errors}")
  if(NOT (status MATCHES "timeout" AND "${text}${errors}" MATCHES "mpiexec detected"))
    break()
  endif()
endforeach()
if(status EQUAL 0 OR status MATCHES "timeout")
  message(FATAL_ERROR "${FAULT}: ended with \"${status}\"")
endif()
string(REGEX MATCHALL "${LINE}" found "${text}${errors}")
list(LENGTH found times)
if(NOT times EQUAL 1)
  message(FATAL_ERROR "${FAULT}: \"${LINE}\" was printed ${times} times; expected once")
endif()
if(DEFINED CODE AND NOT status EQUAL CODE)
  message(FATAL_ERROR "${FAULT}: exit code ${status}; expected ${CODE}")
endif()
