# cmake -P script: both programs must end well and print the same.
execute_process(COMMAND ${FIRST} OUTPUT_VARIABLE one RESULT_VARIABLE status COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SECOND} OUTPUT_VARIABLE two RESULT_VARIABLE status COMMAND_ERROR_IS_FATAL ANY)
if(one STREQUAL "" OR NOT one STREQUAL two)
  message(FATAL_ERROR "${FIRST} prints\n${one}\n${SECOND} prints\n${two}")
endif()
