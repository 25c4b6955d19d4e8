# mt_embed_assets(<target> <symbol> <folder> <pattern>...): the files of a folder inside the program, as an array of
# struct mt_asset (render/html/assets.h) named <symbol>, in byte order of the names, closed by a row with a null name.
#
# The assembler's .incbin takes a file of any size at once, and the table stands in the same assembler file, so that a size is
# never older than its file. Each file is followed by a NUL that its size does not count.
function(mt_embed_assets target symbol folder)
  set(patterns ${ARGN})
  list(TRANSFORM patterns PREPEND "${PROJECT_SOURCE_DIR}/${folder}/")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/${folder}" ${patterns})
  list(FILTER files EXCLUDE REGEX "(^|/)[.]|[.](in|md)$|~$")
  list(SORT files)

  set(table "")
  set(body "")
  set(paths "")
  set(i 0)
  foreach(file IN LISTS files)
    if(NOT file MATCHES "^[A-Za-z0-9_./-]+$")
      message(FATAL_ERROR "${folder}/${file}: names of embedded files hold letters, digits, '_', '-', '.' and '/' only")
    endif()
    list(APPEND paths "${PROJECT_SOURCE_DIR}/${folder}/${file}")
    string(APPEND table "    POINTER .Lname_${i}\n    POINTER .Ldata_${i}\n    POINTER .Lend_${i} - .Ldata_${i}\n")
    string(APPEND body ".Lname_${i}:\n    .asciz \"${file}\"\n")
    string(APPEND body ".Ldata_${i}:\n    .incbin \"${PROJECT_SOURCE_DIR}/${folder}/${file}\"\n.Lend_${i}:\n    .byte 0\n")
    math(EXPR i "${i} + 1")
  endforeach()

  set(out "${PROJECT_BINARY_DIR}/generated/${symbol}.S")
  string(CONFIGURE
"/* Made by cmake/EmbedAssets.cmake from @folder@/. */
#if defined(__CET__)
#include <cet.h>
#endif
#if __SIZEOF_POINTER__ == 8
#define POINTER .quad
#else
#define POINTER .long
#endif
    .section .data.rel.ro, \"aw\"
    .balign 8
    .globl @symbol@
    .hidden @symbol@
    .type @symbol@, %object
@symbol@:
@table@    POINTER 0
    POINTER 0
    POINTER 0
    .size @symbol@, . - @symbol@
    .section .rodata
@body@    .section .note.GNU-stack, \"\", %progbits
" text @ONLY)
  file(GENERATE OUTPUT "${out}" CONTENT "${text}") # written where it differs
  set_source_files_properties("${out}" PROPERTIES OBJECT_DEPENDS "${paths}")
  target_sources(${target} PRIVATE "${out}")
endfunction()
