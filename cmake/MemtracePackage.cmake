# `cpack` in a build folder makes two packages of one build:
#   memtrace_<version>_<arch>.deb      uses the distribution's libraries (dependencies by dpkg-shlibdeps)
#   memtrace-<version>-Linux-<cpu>.tar.gz   unpacks anywhere and needs only glibc
set(mt_portable OFF)
if(MEMTRACE_STATIC_DEPS AND NOT MEMTRACE_SANITIZE AND NOT MEMTRACE_FUZZ)
  set(mt_portable ON)
  # The same objects once more, linked with lib*.a; what has no .a travels in lib/memtrace, found relative to the program.
  add_executable(memtrace_portable EXCLUDE_FROM_ALL)
  set_target_properties(memtrace_portable PROPERTIES
    OUTPUT_NAME memtrace
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/portable/bin"
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN/../lib/memtrace")
  target_link_libraries(memtrace_portable PRIVATE mt_flags)
  # The dependencies of mt_* name the shared libraries, so the archives are given by file; --as-needed drops what nothing asks for.
  target_link_options(memtrace_portable PRIVATE -Wl,--disable-new-dtags -Wl,--gc-sections ${MT_PROGRAM_LINK})
  target_sources(memtrace_portable PRIVATE $<TARGET_OBJECTS:mt_cli>)
  add_dependencies(memtrace_portable mt_render mt_analysis mt_rule_image mt_capture mt_parser)
  target_link_libraries(memtrace_portable PRIVATE -Wl,--as-needed
    $<TARGET_FILE:mt_render> $<TARGET_FILE:mt_analysis> $<TARGET_FILE:mt_rule_image> $<TARGET_FILE:mt_capture> $<TARGET_FILE:mt_parser>
    -Wl,--start-group ${MEMTRACE_STATIC_LIBS} -Wl,--end-group)
  set_property(TARGET memtrace_portable PROPERTY LINK_DEPENDS
    $<TARGET_FILE:mt_render> $<TARGET_FILE:mt_analysis> $<TARGET_FILE:mt_rule_image> $<TARGET_FILE:mt_capture> $<TARGET_FILE:mt_parser>)
  # Built when it is packaged, so that a machine without the archives can still build everything else.
  install(CODE "
    if(NOT DEFINED ENV{MT_PORTABLE_IS_BUILT})
      execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${PROJECT_BINARY_DIR}\" --target memtrace_portable RESULT_VARIABLE failed)
    endif()
    if(failed)
      message(FATAL_ERROR \"The portable memtrace could not be linked; './bootstrap.sh deps package' installs what it needs.\")
    endif()"
    COMPONENT portable EXCLUDE_FROM_ALL)
  install(PROGRAMS $<TARGET_FILE:memtrace_portable> DESTINATION bin COMPONENT portable EXCLUDE_FROM_ALL)
  # Only libraries that the program really asks for; each under the name it is asked by.
  install(CODE "set(mt_libs \"${MEMTRACE_BUNDLED_LIBS}\")\nset(mt_exe \"$<TARGET_FILE:memtrace_portable>\")\nset(mt_objdump \"${CMAKE_OBJDUMP}\")"
    COMPONENT portable EXCLUDE_FROM_ALL)
  install(SCRIPT cmake/BundleLibs.cmake COMPONENT portable EXCLUDE_FROM_ALL)
endif()

set(CPACK_PACKAGE_NAME memtrace)
set(CPACK_PACKAGE_VENDOR memtrace)
set(CPACK_PACKAGE_CONTACT "the memtrace developers <memtrace@localhost>")
if(MEMTRACE_HOME)
  set(CPACK_PACKAGE_HOMEPAGE_URL "${MEMTRACE_HOME}")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "why a GPU ran out of memory, and which settings to change")
set(CPACK_PACKAGE_DESCRIPTION
"memtrace reads memory snapshots of PyTorch's CUDA allocator (pickle, JSON, compressed or in archives) and writes a report:
which phase of the job ran out of memory, who held it, whether it was fragmentation or capacity, and the settings to change.
It needs no GPU and no Python. memtrace capture also records what the GPU driver does in every process of a job.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGE_FILE_NAME "memtrace-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_PACKAGING_INSTALL_PREFIX "")

set(CPACK_GENERATOR "")
if(mt_portable)
  list(APPEND CPACK_GENERATOR TGZ)
endif()
find_program(MT_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(MT_DPKG_SHLIBDEPS)
if(MT_DPKG_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_IGNORE_FILES "/[.]git/;/build[^/]*/;/node_modules/")
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(mt_needed "")
foreach(late ARCHIVE SQLITE) # of dpkg-shlibdeps, which finds only what is linked
  if(MEMTRACE_LATE_${late} AND MT_DPKG_SHLIBDEPS)
    execute_process(COMMAND dpkg-query -S "*/${MEMTRACE_LATE_${late}}" OUTPUT_VARIABLE mt_owner ERROR_QUIET)
    if(mt_owner MATCHES "^([a-z0-9.+-]+)[:,]")
      list(APPEND mt_needed "${CMAKE_MATCH_1}")
    else()
      message(STATUS "No .deb: no package has ${MEMTRACE_LATE_${late}}, which it would have to ask for")
      list(REMOVE_ITEM CPACK_GENERATOR DEB)
    endif()
  endif()
endforeach()
list(JOIN mt_needed ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
set(mt_faster "") # with these; zlib is always there
if(MT_isal_FOUND)
  list(APPEND mt_faster libisal2)
endif()
if(MT_libdeflate_FOUND)
  list(APPEND mt_faster libdeflate0)
endif()
list(JOIN mt_faster ", " CPACK_DEBIAN_PACKAGE_RECOMMENDS)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/PackageKinds.cmake")
if(CPACK_GENERATOR)
  include(CPack)
endif()
