# run_job(ARGUMENT...): mpiexec with these arguments, for at most SECONDS; sets `text` and `status`. The launcher of Open MPI
# 4.1 has faults of its own at the end of a job: seldom, it crashes (in PMIx_server_finalize), or it reports that it ends the
# job and stays. Such a job runs again, twice at most. Faults of a rank are not taken for them: the launcher reports the
# crash of a rank as an exit code, and a rank that stays has no such report.
function(run_job)
  foreach(attempt RANGE 2)
    execute_process(COMMAND ${MPIEXEC} ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE errors RESULT_VARIABLE result
      TIMEOUT ${SECONDS})
    string(APPEND out "${errors}")
    message("${out}")
    if(result MATCHES "^[0-9]+$" OR (result MATCHES "timeout" AND NOT out MATCHES "mpi(exec|run)[^\n]* detected"))
      break()
    endif()
    message("the launcher itself: ${result}")
  endforeach()
  set(text "${out}" PARENT_SCOPE)
  set(status "${result}" PARENT_SCOPE)
endfunction()
