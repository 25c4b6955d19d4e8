# mt_dep_<name>: one interface target per library, headers as SYSTEM, found by pkg-config.
# MEMTRACE_DEPS lists the names. For each, MEMTRACE_STATIC_LIBS collects what a binary without these shared libraries has to link instead.
find_package(PkgConfig REQUIRED)

# mt_find_dep(<name> <pkg-config module> <Debian package> [HEADER_ONLY])
macro(mt_find_dep name module package)
  pkg_check_modules(MT_${name} ${module})
  if(NOT MT_${name}_FOUND)
    message(FATAL_ERROR
      "memtrace needs the library '${module}' with its headers (Debian and Ubuntu: ${package}).\n"
      "./bootstrap.sh deps installs everything that is missing.")
  endif()
  list(APPEND MEMTRACE_DEPS ${name})
  add_library(mt_dep_${name} INTERFACE)
  target_include_directories(mt_dep_${name} SYSTEM INTERFACE ${MT_${name}_INCLUDE_DIRS})
  if(NOT "${ARGN}" STREQUAL "HEADER_ONLY")
    target_link_libraries(mt_dep_${name} INTERFACE ${MT_${name}_LINK_LIBRARIES})
    list(APPEND mt_static_names ${MT_${name}_STATIC_LIBRARIES})
    list(APPEND mt_static_dirs ${MT_${name}_STATIC_LIBRARY_DIRS} ${MT_${name}_LIBDIR})
  endif()
endmacro()

mt_find_dep(archive libarchive libarchive-dev)
mt_find_dep(nettle nettle nettle-dev)
mt_find_dep(cjson libcjson libcjson-dev)
mt_find_dep(zlib zlib zlib1g-dev)
mt_find_dep(yaml yaml-0.1 libyaml-dev)
mt_find_dep(sqlite sqlite3 libsqlite3-dev)
mt_find_dep(elf libelf libelf-dev)
mt_find_dep(xxhash libxxhash libxxhash-dev HEADER_ONLY)

# libarchive with all that it asks for was more than half of a start, SQLite is a tenth of what is left, and few runs need them: the program opens
# them when it meets a packed file or packs a page, or meets a database (parser/late/). By the name that they would have been linked by; where that
# cannot be told, as of a library for another processor, or where it lies in a folder that is not searched, the library is linked.
# mt_late(<name> <NAME> <library>): MEMTRACE_LATE_<NAME> is the name by which the program opens mt_dep_<name>.
function(mt_late name NAME library)
  set(MEMTRACE_LATE_${NAME} "" CACHE STRING "Name by which the program opens ${library}; NO = it is linked; empty = found out")
  if("${MEMTRACE_LATE_${NAME}}" STREQUAL "" AND CMAKE_OBJDUMP)
    set(found NO)
    list(GET MT_${name}_LINK_LIBRARIES 0 path)
    get_filename_component(folder "${path}" DIRECTORY)
    execute_process(COMMAND "${CMAKE_OBJDUMP}" -p "${path}" OUTPUT_VARIABLE headers ERROR_QUIET)
    if(headers MATCHES "SONAME +(${library}[^ \n]+)" AND folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
      set(found "${CMAKE_MATCH_1}")
    endif()
    set_property(CACHE MEMTRACE_LATE_${NAME} PROPERTY VALUE "${found}")
  endif()
  # Of the target that is linked: MT_LATE_<NAME> says that it has these functions itself.
  set_property(TARGET mt_dep_${name} PROPERTY INTERFACE_LINK_LIBRARIES
    "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:MT_LATE_${NAME}>>>:${MT_${name}_LINK_LIBRARIES}>")
endfunction()
mt_late(archive ARCHIVE libarchive)
mt_late(sqlite SQLITE libsqlite3)

# ISA-L unpacks in two fifths of zlib's time, and packs what does not repeat in a fifth of it. It is opened where it is there (parser/late/isal.c) and nothing links to it, so that what is built here
# runs without it; only its headers have to be here. The state of its first versions had another layout.
pkg_check_modules(MT_isal QUIET "libisal>=2.24")
# libdeflate packs the columns of a page in half of zlib's time; in the same way.
pkg_check_modules(MT_libdeflate QUIET libdeflate)

# cJSON's .pc names .../include/cjson as well; the project writes <cjson/cJSON.h>.

# The static form: lib<name>.a where the distribution ships one, the shared library otherwise (cpack then puts it beside memtrace).
list(REMOVE_DUPLICATES mt_static_names)
# glibc stays shared, whole: half of it static does not link.
list(REMOVE_ITEM mt_static_names m c dl pthread rt)
set(MEMTRACE_STATIC_LIBS "")
set(MEMTRACE_BUNDLED_LIBS "")
foreach(lib IN LISTS mt_static_names)
  find_library(MT_A_${lib} NAMES lib${lib}.a PATHS ${mt_static_dirs})
  mark_as_advanced(MT_A_${lib})
  if(MT_A_${lib})
    list(APPEND MEMTRACE_STATIC_LIBS ${MT_A_${lib}})
  else()
    find_library(MT_SO_${lib} NAMES ${lib} PATHS ${mt_static_dirs})
    mark_as_advanced(MT_SO_${lib})
    # Libraries that only libarchive.a could ask for (ACLs on disk, say) are not there at all: nothing refers to them.
    if(MT_SO_${lib})
      list(APPEND MEMTRACE_STATIC_LIBS ${MT_SO_${lib}})
      list(APPEND MEMTRACE_BUNDLED_LIBS ${MT_SO_${lib}})
    endif()
  endif()
endforeach()
list(APPEND MEMTRACE_STATIC_LIBS m pthread ${CMAKE_DL_LIBS}) # the latter two are parts of libc since glibc 2.34
