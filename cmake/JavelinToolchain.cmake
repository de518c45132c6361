# Compiler, linker and cache settings that every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# The launcher is a small `env` wrapper so that every way of building gets the same cache keys:
# base_dir makes paths relative, no_hash_dir lets two checkouts share results. Time stamps of headers are not sloppy on
# purpose: a header that changes while a file compiles would leave a wrong object under the right key.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1
      ${CCACHE_PROGRAM})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # else no cached result fits a new precompiled header
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

# One code model for the library, the extension and the executables: CMake's own switch would give executables -fPIE, and
# the precompiled header, made with -fPIC, would be refused there.
add_compile_options(-fPIC)
add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)

set(JAVELIN_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")
if(JAVELIN_SANITIZE)
  add_compile_options(-fsanitize=${JAVELIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${JAVELIN_SANITIZE})
endif()
