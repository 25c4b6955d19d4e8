# What `cmake --install` puts where, and the man page and completions, which the program prints from its own option table.
if(NOT mt_runs_here)
  message(STATUS "Cross-compiling: no man page and no completions (the program that prints them does not run here)")
else()
  set(mt_made "${PROJECT_BINARY_DIR}/made")
  file(MAKE_DIRECTORY "${mt_made}")
  # mt_made_by(<output> <hidden subcommand>)
  function(mt_made_by output subcommand)
    add_custom_command(OUTPUT "${mt_made}/${output}"
      COMMAND memtrace ${subcommand} > "${mt_made}/${output}.new"
      COMMAND ${CMAKE_COMMAND} -E rename "${mt_made}/${output}.new" "${mt_made}/${output}"
      DEPENDS memtrace VERBATIM COMMENT "memtrace ${subcommand}")
  endfunction()
  mt_made_by(memtrace.1 __man)
  mt_made_by(memtrace.bash __complete-bash)
  mt_made_by(_memtrace __complete-zsh)
  mt_made_by(memtrace.fish __complete-fish)
  add_custom_target(memtrace_made ALL DEPENDS "${mt_made}/memtrace.1" "${mt_made}/memtrace.bash" "${mt_made}/_memtrace" "${mt_made}/memtrace.fish")

  install(FILES "${mt_made}/memtrace.1" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT common)
  install(FILES "${mt_made}/memtrace.bash" DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME memtrace
    COMPONENT common)
  install(FILES "${mt_made}/memtrace.fish" DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT common)
  # zsh looks in vendor-completions below /usr alone; in /usr/local, and where people add a folder of their own, it is site-functions.
  install(CODE "
    set(mt_zsh site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES \"/usr\$\") # a package's too
      set(mt_zsh vendor-completions)
    endif()
    file(INSTALL \"${mt_made}/_memtrace\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${mt_zsh}\")
  " COMPONENT common)
endif()

install(TARGETS memtrace RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT system)
# The recorder, its Python hook and the header for marking phases. memtrace finds the first two relative to itself; the tar.gz has them in
# lib/memtrace, whatever the folder for libraries is called here.
if(TARGET memtrace_inject)
  foreach(kind system portable)
    set(mt_libdir ${CMAKE_INSTALL_LIBDIR})
    set(mt_includedir ${CMAKE_INSTALL_INCLUDEDIR})
    set(mt_exclude "")
    if(kind STREQUAL "portable")
      set(mt_libdir lib)
      set(mt_includedir include)
      set(mt_exclude EXCLUDE_FROM_ALL)
    endif()
    install(TARGETS memtrace_inject LIBRARY DESTINATION ${mt_libdir}/memtrace COMPONENT ${kind} ${mt_exclude})
    install(DIRECTORY capture/site/ DESTINATION ${mt_libdir}/memtrace/site COMPONENT ${kind} ${mt_exclude} FILES_MATCHING PATTERN "*.py")
    install(FILES capture/include/memtrace.h DESTINATION ${mt_includedir} COMPONENT ${kind} ${mt_exclude})
  endforeach()
endif()
foreach(doc README.md CHANGELOG.md SECURITY.md LICENSE)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${doc}")
    install(FILES ${doc} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT common)
  endif()
endforeach()
# What README.md links to, and what memtrace itself refers to.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT common FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.json" PATTERN "*.tsv" PATTERN "*.yml")
# For programs that read tickets; the wheel has the same files.
install(DIRECTORY skills/memtrace DESTINATION ${CMAKE_INSTALL_DATADIR}/memtrace/skills COMPONENT common)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT common)
