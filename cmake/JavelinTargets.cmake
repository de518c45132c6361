# One way to declare a module, a test executable and a fuzz target.

# javelin_module(<name> SOURCES <.cc files>)
# Adds the files to the one static library `javelin` (target made in src/javelin/CMakeLists.txt).
function(javelin_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  target_sources(javelin PRIVATE ${ARG_SOURCES})
endfunction()

set(JAVELIN_TEST_LABEL "" CACHE STRING "Build only the tests with this label (empty: all)")

# javelin_test(<name> SOURCES <_test.cc files> LABELS <core|concurrency|...> [LIBRARIES <...>] [TIMEOUT <seconds>])
# One executable, one ctest entry; sanitizer presets build what carries their label.
function(javelin_test name)
  if(NOT JAVELIN_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LABELS;LIBRARIES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(JAVELIN_TEST_LABEL AND NOT JAVELIN_TEST_LABEL IN_LIST ARG_LABELS)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE javelin ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM javelin)
  # The precompiled header is made with -fPIC; CMake would give executables -fPIE, and the compiler then ignores it.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES
    LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "ARROW_DEFAULT_MEMORY_POOL=system;TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/tsan.supp:halt_on_error=1;ASAN_OPTIONS=detect_leaks=1")
endfunction()

# javelin_fuzzer(<name> SOURCES <.cc> [CORPUS <folder>] [LIBRARIES <...>])
# One libFuzzer executable; <folder> (default: corpus/<name> beside the CMakeLists.txt) holds its first inputs.
function(javelin_fuzzer name)
  if(NOT JAVELIN_BUILD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "CORPUS" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_CORPUS)
    set(ARG_CORPUS "corpus/${name}")
  endif()
  get_filename_component(_corpus "${ARG_CORPUS}" ABSOLUTE)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE javelin ${ARG_LIBRARIES})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_precompile_headers(${name} REUSE_FROM javelin)
  set_property(GLOBAL APPEND_STRING PROPERTY JAVELIN_FUZZERS "$<TARGET_FILE:${name}>|${_corpus}\n")
endfunction()

# Writes fuzzers.txt into the build tree, one `executable|corpus folder` a line: what scripts/test runs.
function(javelin_list_fuzzers)
  get_property(_lines GLOBAL PROPERTY JAVELIN_FUZZERS)
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/fuzzers.txt" CONTENT "${_lines}")
endfunction()
