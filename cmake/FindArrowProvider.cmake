# Finds Arrow C++ inside the pinned pyarrow wheel and offers Arrow::arrow and Arrow::compute.
# The wheel carries versioned libraries only (libarrow.so.2600), so targets point straight at them.
set(JAVELIN_ARROW_MAJOR 26)
if(NOT ARROW_PROVIDER_PYTHON)
  if(EXISTS "${CMAKE_SOURCE_DIR}/.venv/bin/python")
    set(ARROW_PROVIDER_PYTHON "${CMAKE_SOURCE_DIR}/.venv/bin/python")
  else()
    find_package(Python COMPONENTS Interpreter REQUIRED)
    set(ARROW_PROVIDER_PYTHON "${Python_EXECUTABLE}")
  endif()
endif()
execute_process(
  COMMAND "${ARROW_PROVIDER_PYTHON}" -c
    "import pyarrow as p, os; print(';'.join([p.__version__, os.path.dirname(p.__file__), p.get_include()]))"
  OUTPUT_VARIABLE _arrow_answer OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE _arrow_status ERROR_VARIABLE _arrow_error)
if(_arrow_status EQUAL 0)
  list(GET _arrow_answer 0 ArrowProvider_VERSION)
  list(GET _arrow_answer 1 ArrowProvider_LIBDIR)
  list(GET _arrow_answer 2 ArrowProvider_INCLUDE)
  string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" _match "${ArrowProvider_VERSION}")
  if(NOT CMAKE_MATCH_1 EQUAL JAVELIN_ARROW_MAJOR)
    message(FATAL_ERROR "pyarrow ${ArrowProvider_VERSION} found, this tree is pinned to ${JAVELIN_ARROW_MAJOR}.x")
  endif()
  math(EXPR _arrow_soversion "${CMAKE_MATCH_1} * 100 + ${CMAKE_MATCH_2}")
  foreach(_library IN ITEMS arrow compute)
    if(_library STREQUAL "arrow")
      set(_file "${ArrowProvider_LIBDIR}/libarrow.so.${_arrow_soversion}")
    else()
      set(_file "${ArrowProvider_LIBDIR}/libarrow_${_library}.so.${_arrow_soversion}")
    endif()
    if(NOT TARGET Arrow::${_library})
      add_library(Arrow::${_library} SHARED IMPORTED)
      set_target_properties(Arrow::${_library} PROPERTIES
        IMPORTED_LOCATION "${_file}"
        INTERFACE_INCLUDE_DIRECTORIES "${ArrowProvider_INCLUDE}"
        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${ArrowProvider_INCLUDE}")
      get_filename_component(_soname "${_file}" NAME)
      set_target_properties(Arrow::${_library} PROPERTIES IMPORTED_SONAME "${_soname}")
    endif()
  endforeach()
  target_link_libraries(Arrow::compute INTERFACE Arrow::arrow)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowProvider
  REQUIRED_VARS ArrowProvider_LIBDIR VERSION_VAR ArrowProvider_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup first: ${_arrow_error}")
