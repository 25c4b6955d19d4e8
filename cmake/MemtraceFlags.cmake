# mt_flags: the language, the warnings, the hardening and the sanitizers of every target.
if(CMAKE_VERSION VERSION_LESS 3.21) # knows no C17, gcc and clang do
  string(APPEND CMAKE_C_FLAGS " -std=c17")
else()
  set(CMAKE_C_STANDARD 17)
  set(CMAKE_C_STANDARD_REQUIRED ON)
  set(CMAKE_C_EXTENSIONS OFF)
endif()
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

set(mt_warnings
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wmissing-declarations -Wundef -Wcast-qual -Wcast-align -Wformat=2 -Wvla -Wwrite-strings -Wpointer-arith
  -Wdouble-promotion -Wnull-dereference -Wimplicit-fallthrough -Wswitch-enum)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND mt_warnings -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init -Walloca
    -Wno-format-truncation) # snprintf() is used because it cuts
endif()
if(MEMTRACE_WERROR)
  list(APPEND mt_warnings -Werror)
endif()

add_library(mt_flags INTERFACE)
target_include_directories(mt_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(mt_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(mt_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:${mt_warnings}>"
  # No path of the machine that builds enters the binary.
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")

if(MEMTRACE_SANITIZE)
  string(REPLACE ";" "," mt_sanitizers "${MEMTRACE_SANITIZE}")
  target_compile_options(mt_flags INTERFACE
    -fsanitize=${mt_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  target_link_options(mt_flags INTERFACE -fsanitize=${mt_sanitizers})
  # With sanitizers gcc sees null pointers on paths that cannot be taken.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(mt_flags INTERFACE
      "$<$<COMPILE_LANGUAGE:C>:-Wno-null-dereference;-Wno-maybe-uninitialized>")
  endif()
else()
  # Fortification needs optimisation, and must stay out of sanitizer builds: both wrap the same calls.
  set(mt_fortify 3)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 12)
    set(mt_fortify 2)
  endif()
  target_compile_options(mt_flags INTERFACE
    -fstack-protector-strong
    "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${mt_fortify}>")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(mt_flags INTERFACE -fcf-protection)
    # The C library's start files may lack the mark, which the linker then drops. They keep to a shadow stack all the same; of indirect branches
    # (IBT) they do not: that mark stays theirs. Of programs only: a library keeps to what its process does.
    include(CheckLinkerFlag)
    check_linker_flag(C -Wl,-z,shstk MT_HAS_SHSTK)
    if(MT_HAS_SHSTK)
      set(MT_PROGRAM_LINK -Wl,-z,shstk)
    endif()
  endif()
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang" OR CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(mt_flags INTERFACE -fstack-clash-protection)
  endif()
  target_link_options(mt_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

if(MEMTRACE_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "MEMTRACE_FUZZ=ON needs clang (libFuzzer): configure with -DCMAKE_C_COMPILER=clang")
  endif()
  target_compile_options(mt_flags INTERFACE "$<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>")
endif()
