# The libraries that others can use, and which folders of src/ each of them is made of. A public header belongs to the
# component of its folder; the table in tools/check_includes.py says which folder that is.
#
#   headlight::attention   forward, backward, decode      needs nothing but the C++ runtime
#   headlight::nn          layers                         attention
#   headlight::text        tokenizers                     fmt, utf8proc, PCRE2
#   headlight::models      open, run, look into models    nn, text, simdjson, zlib, Pango and Cairo (figures)
#   headlight::train       teach a model new texts        models, toml++
#   headlight::dist        attention over processes       attention, MPI
#
# `core` comes with every one of them.
set(known_components core attention nn text models train dist)
set(layers_core core)
set(layers_attention kernels attention)
set(layers_nn nn)
set(layers_text text)
set(layers_models io models inspect draw session)
set(layers_train train)
set(layers_dist dist)
set(needs_attention core)
set(needs_nn attention)
set(needs_text core)
set(needs_models nn text)
set(needs_train models)
set(needs_dist attention)

# The program is made of all of them; a project that includes this one gets attention unless it asks for more.
set(HEADLIGHT_COMPONENTS "attention" CACHE STRING "Libraries to build without the program: attention, nn, text, models, train, dist")
set(components ${HEADLIGHT_COMPONENTS})
if(HEADLIGHT_PROGRAM)
  set(components ${known_components})
  include(cmake/mpi.cmake)
endif()
foreach(component IN LISTS components)
  if(NOT component IN_LIST known_components)
    string(REPLACE ";" ", " known "${known_components}")
    message(FATAL_ERROR "headlight: unknown component \"${component}\": known ones are ${known}")
  endif()
endforeach()
set(wanted ${components})
set(components "")
while(wanted)
  list(POP_FRONT wanted component)
  list(APPEND components ${component})
  list(APPEND wanted ${needs_${component}})
endwhile()
list(REMOVE_DUPLICATES components)

# headlight_headers(COMPONENT VARIABLE): its public headers.
function(headlight_headers component variable)
  file(STRINGS ${PROJECT_SOURCE_DIR}/tools/check_includes.py lines REGEX "^ +\"[a-z_]+\\.h\": \"[a-z]+\",$")
  set(headers "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "\"([a-z_]+\\.h)\": \"([a-z]+)\"" line "${line}")
    if(CMAKE_MATCH_2 IN_LIST layers_${component} AND EXISTS ${PROJECT_SOURCE_DIR}/include/headlight/${CMAKE_MATCH_1})
      list(APPEND headers ${PROJECT_SOURCE_DIR}/include/headlight/${CMAKE_MATCH_1})
    endif()
  endforeach()
  if(component STREQUAL attention)
    list(APPEND headers ${PROJECT_SOURCE_DIR}/include/headlight/headlight.h)
  endif()
  set(${variable} ${headers} PARENT_SCOPE)
endfunction()
