# Whether the component `dist` is built beside the program. AUTO: where MPI is found, unless libheadlight.so is built, which
# would then need MPI too. Nothing else depends on it. HEADLIGHT_COMPONENTS can name it as well.
set(HEADLIGHT_DIST AUTO CACHE STRING "Build headlight::dist, attention over several processes (MPI): AUTO, ON or OFF")
set_property(CACHE HEADLIGHT_DIST PROPERTY STRINGS AUTO ON OFF)
if(HEADLIGHT_DIST STREQUAL AUTO AND NOT BUILD_SHARED_LIBS AND NOT HEADLIGHT_SANITIZE AND NOT HEADLIGHT_FUZZ)
  set(MPI_CXX_SKIP_MPICXX ON)  # the C++ bindings that MPI no longer has
  find_package(MPI QUIET COMPONENTS CXX)
  set(with_dist ${MPI_CXX_FOUND})
elseif(HEADLIGHT_DIST STREQUAL AUTO)
  set(with_dist OFF)
else()
  set(with_dist ${HEADLIGHT_DIST})
endif()
if(NOT with_dist)
  list(REMOVE_ITEM components dist)
endif()
