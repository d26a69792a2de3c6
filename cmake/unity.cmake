# A first build of the program spends most of its time on small files: each instantiates and optimises the same strings,
# vectors and formatting anew. The presets that are built from scratch most often (release, core, sanitizers) therefore
# compile a layer in batches of a few files. The others, and tools/check_tidy, compile every file on its own.
#
# Files stay independent: no two files share a batch if a name that one keeps in an anonymous namespace also occurs in the
# other, so neither a clash nor an unintended overload is possible. The names are read when CMake runs, which ninja repeats
# after an edit. A file's batch follows from a hash of its name, so that a new file changes one batch, not all that follow.
option(HEADLIGHT_UNITY "Compile several files at once; faster from scratch, slower after an edit" OFF)

# GCC's warnings about data flow are often wrong about what several files together let it inline; the one about linkage
# takes an included file for a header. All of them are on in the other builds. A function that nobody calls is an error: a
# header of another file may have offered its callers a better overload.
add_library(headlight_unity_flags INTERFACE)
if(HEADLIGHT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(headlight_unity_flags INTERFACE -Werror=unused-function
    -Wno-subobject-linkage -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()

# Functions that several files of a layer define, each for a type of its own: `run` of a command takes its settings. No call
# can mean another file's, and two of one type would not compile.
set(overloads_cli run)

# headlight_names(FILE LOCAL USED): names of FILE's anonymous namespaces; names that it may look up.
function(headlight_names file local used)
  file(READ ${file} text)
  string(REGEX REPLACE "\n}  // namespace\n" "\n@" text "\n${text}")
  string(REGEX REPLACE "//[^\n]*|\"([^\"\\\n]|\\\\.)*\"" "" text "${text}")
  string(REGEX REPLACE "[][;]" "" text "${text}")
  string(REPLACE "\nnamespace {\n" "\n@{\n" text "${text}")

  set(names "")
  string(REGEX MATCHALL "@{[^@]*" bodies "${text}")
  string(REGEX MATCHALL "\n[A-Za-z][^\n]*" lines "${bodies}")
  foreach(line IN LISTS lines)
    if(line MATCHES "^\n(template <[^>]*> *)?(struct|class|enum class|enum|using|concept) ([A-Za-z_0-9]+)")
      list(APPEND names ${CMAKE_MATCH_3})
    elseif(line MATCHES "^\n(constexpr|const|thread_local|static|inline) [^=({]*[ *&]([A-Za-z_0-9]+) *[={]")
      string(REGEX MATCHALL "k[A-Z][A-Za-z_0-9]* *[={]" constants "${line}")
      string(REGEX REPLACE "[ ={]" "" constants "${constants}")
      list(APPEND names ${CMAKE_MATCH_2} ${constants})
    elseif(line MATCHES "^\n([^(=]*[ *&])?([A-Za-z_0-9]+)\\(")
      list(APPEND names ${CMAKE_MATCH_2})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${local} ${names} PARENT_SCOPE)

  # What may be a function, a type or a constant of a namespace: not members, not what is qualified.
  # A space after each parenthesis lets f(g(x)) match twice: the first match ends with it.
  string(REPLACE "(" "( " text "${text}")
  string(REGEX MATCHALL "[^A-Za-z_0-9.>:]([a-z_][A-Za-z_0-9]*\\(|[A-Zk][A-Za-z_0-9]+)" words "${text}")
  string(REGEX REPLACE "[^A-Za-z_0-9;]" "" words "${words}")
  list(REMOVE_DUPLICATES words)
  set(${used} ${words} PARENT_SCOPE)
endfunction()

# headlight_meet(RESULT LIST LIST): whether the lists share an element.
function(headlight_meet result left right)
  set(${result} FALSE PARENT_SCOPE)
  foreach(name IN LISTS left)
    if(name IN_LIST right)
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# headlight_unite(LAYER VARIABLE): replaces the list of files in VARIABLE by batches of about eight. A file with
# definitions of its own stays alone.
function(headlight_unite layer variable)
  if(NOT HEADLIGHT_UNITY)
    return()
  endif()
  set(sources ${${variable}})
  set(united "")
  list(LENGTH sources count)
  math(EXPR batches "(${count} + 7) / 8")
  foreach(source IN LISTS sources)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(definitions)
      list(APPEND united ${source})
      continue()
    endif()
    headlight_names(${source} local used)
    if(overloads_${layer})
      list(REMOVE_ITEM local ${overloads_${layer}})
    endif()
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/src/${layer} ${source})
    string(MD5 hash ${name})
    string(SUBSTRING ${hash} 0 6 hash)
    # The first batch without a clash, from the one that the hash names; then further ones that take what is left.
    foreach(step RANGE ${count})
      set(batch ${step})
      if(step LESS batches)
        math(EXPR batch "(0x${hash} + ${step}) % ${batches}")
      endif()
      headlight_meet(clash "${local}" "${used_${batch}}")
      headlight_meet(clash_back "${local_${batch}}" "${used}")
      if(NOT clash AND NOT clash_back)
        break()
      endif()
    endforeach()
    list(APPEND local_${batch} ${local})
    list(APPEND used_${batch} ${used})
    string(APPEND text_${batch} "#include \"${layer}/${name}\"\n")
  endforeach()

  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  foreach(batch RANGE ${count})
    if(text_${batch})
      # Relative to src/: ccache finds the same text in every checkout.
      set(file ${PROJECT_BINARY_DIR}/unity/${layer}_${batch}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text_${batch}}")
      list(APPEND united ${file})
    endif()
  endforeach()
  set(${variable} ${united} PARENT_SCOPE)
endfunction()
