# The Python package: the extension module headlight._headlight, beside links to the pure Python files and the default
# models. PYTHONPATH=build/release/python makes it importable; `pip install .` (pyproject.toml) and `cmake --install
# --component python` install it.
file(GLOB binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bindings/*.cc)
Python3_add_library(headlight_python MODULE ${binding_sources})
target_include_directories(headlight_python PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/python)
# One module for every Python from 3.10 on: headlight_build.py names this version in the wheel's tag.
target_compile_definitions(headlight_python PRIVATE Py_LIMITED_API=0x030A0000)
target_link_libraries(headlight_python PRIVATE headlight_serve headlight_session headlight_flags)
# Conversions and calls, no loops over numbers: not optimised for long, as the program's own such layers.
target_compile_options(headlight_python PRIVATE -fvisibility=hidden $<$<CONFIG:Release>:-O1>)
set(python_package ${PROJECT_BINARY_DIR}/python/headlight)
set_target_properties(headlight_python PROPERTIES OUTPUT_NAME _headlight SUFFIX .abi3.so LIBRARY_OUTPUT_DIRECTORY ${python_package}
  INTERPROCEDURAL_OPTIMIZATION OFF)
if(NOT HEADLIGHT_SANITIZE)
  target_link_options(headlight_python PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL)
endif()

file(GLOB python_files RELATIVE ${PROJECT_SOURCE_DIR}/python/headlight CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/python/headlight/*.py ${PROJECT_SOURCE_DIR}/python/headlight/*.pyi
  ${PROJECT_SOURCE_DIR}/python/headlight/py.typed)
file(MAKE_DIRECTORY ${python_package})
foreach(name IN LISTS python_files)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/headlight/${name} ${python_package}/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/models ${python_package}/models SYMBOLIC)

# Relative to the prefix, where this interpreter looks for packages of the system; pip names another folder.
set(HEADLIGHT_PYTHON_DIR "lib/python3/dist-packages" CACHE STRING "Where the Python package is installed")
list(TRANSFORM python_files PREPEND ${PROJECT_SOURCE_DIR}/python/headlight/ OUTPUT_VARIABLE python_paths)
install(TARGETS headlight_python LIBRARY DESTINATION ${HEADLIGHT_PYTHON_DIR}/headlight COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${python_paths} DESTINATION ${HEADLIGHT_PYTHON_DIR}/headlight COMPONENT python EXCLUDE_FROM_ALL)
