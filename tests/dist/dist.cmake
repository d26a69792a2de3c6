# Tests that several processes run together, once for each number of ranks. They share this machine's cores: the settings
# let Open MPI start more processes than cores, as root in a container, and yield while it waits. MPICH ignores them. One
# test at a time: two jobs that start and end together can both create, or remove, Open MPI's folder of this host. Jobs of
# other build folders have a folder of their own.
set(mpi_folder ${CMAKE_CURRENT_BINARY_DIR}/mpi)
file(MAKE_DIRECTORY ${mpi_folder})
set(mpi_settings OMPI_MCA_orte_tmpdir_base=${mpi_folder} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none)

file(GLOB sources CONFIGURE_DEPENDS dist/*_test.cc)
set(suites Group:Shards Refusals HeadExchange Ring Hybrid)
if(TARGET headlight_models)
  list(APPEND suites Tokens)
else()
  list(FILTER sources EXCLUDE REGEX tokens_test)
endif()
add_executable(test_dist ${sources} dist/main.cc)
target_link_libraries(test_dist PRIVATE headlight_test_support headlight_dist headlight_flags
  $<TARGET_NAME_IF_EXISTS:headlight_models>)
target_compile_options(test_dist PRIVATE $<$<CONFIG:Release>:-O1>)
foreach(ranks RANGE 1 4)
  foreach(suite IN LISTS suites)
    string(REGEX REPLACE ":.*" "" name ${suite})
    string(REGEX REPLACE "([A-Za-z]+)" "*\\1.*" filter ${suite})
    add_test(NAME dist.${name}_on_${ranks}
      COMMAND ${CMAKE_COMMAND} -D MPIEXEC=${MPIEXEC_EXECUTABLE} -D PROGRAM=$<TARGET_FILE:test_dist> -D RANKS=${ranks}
        -D SUITE=${filter} -P ${CMAKE_CURRENT_SOURCE_DIR}/dist/ranks.cmake)
    set_tests_properties(dist.${name}_on_${ranks} PROPERTIES LABELS dist RESOURCE_LOCK mpi TIMEOUT 900
      ENVIRONMENT "${mpi_settings}")
  endforeach()
endforeach()

add_executable(dist_fault dist/fault.cc)
target_link_libraries(dist_fault PRIVATE headlight_dist headlight_flags)
function(headlight_fault_test fault line)
  add_test(NAME dist.fault_${fault} COMMAND ${CMAKE_COMMAND} -D MPIEXEC=${MPIEXEC_EXECUTABLE}
    -D PROGRAM=$<TARGET_FILE:dist_fault> -D FAULT=${fault} -D "LINE=${line}" ${ARGN}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/dist/fault.cmake)
  set_tests_properties(dist.fault_${fault} PROPERTIES LABELS dist RESOURCE_LOCK mpi TIMEOUT 120 ENVIRONMENT "${mpi_settings}")
endfunction()
headlight_fault_test(agree "error: rank 0 of 3: dist::attention_forward: softcap is -1" -D CODE=2)
headlight_fault_test(throw "error: rank 2 of 3: not enough memory for 12 tokens" -D CODE=5)
headlight_fault_test(die "[Ss](ignal|IGNAL):? 9")
headlight_fault_test(leave "error: rank [01] of 3: nothing arrived from rank 2 for 2 s" -D CODE=7)

# The program itself on several processes. tools/kill-ranks is the long one, a command of its own.
if(HEADLIGHT_PROGRAM)
  foreach(suite IN ITEMS Texts Models Training Cores Faults)
    add_test(NAME dist.program_${suite} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/dist/program_test.py
      ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:headlight_program> ${suite})
    set_tests_properties(dist.program_${suite} PROPERTIES LABELS dist RESOURCE_LOCK mpi TIMEOUT 300 ENVIRONMENT "${mpi_settings}")
  endforeach()
endif()
