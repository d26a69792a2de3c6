# cmake -P script: the tests of SUITE on RANKS ranks of PROGRAM pass, and the job ends with 0.
set(SECONDS 280)
include(${CMAKE_CURRENT_LIST_DIR}/job.cmake)
run_job(-n ${RANKS} ${PROGRAM} --gtest_filter=${SUITE})
if(NOT status EQUAL 0 OR NOT text MATCHES "${RANKS} ranks passed" OR text MATCHES "FAILED|No test suites")
  message(FATAL_ERROR "${SUITE} on ${RANKS} ranks: ended with \"${status}\"")
endif()
