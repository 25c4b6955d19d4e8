# mt_rule_tables(<target>): analysis/rules/**.json as the tables of analysis/base/rule_json.h, compiled into the target.
function(mt_rule_tables target)
  set(folder "${PROJECT_SOURCE_DIR}/analysis/rules")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${folder}" "${folder}/*.json")
  list(FILTER files EXCLUDE REGEX "(^|/)[.]")
  list(SORT files)
  set(paths ${files})
  list(TRANSFORM paths PREPEND "${folder}/")
  set(out "${PROJECT_BINARY_DIR}/generated/rule_tables.c")

  add_executable(mt_rule_tables_maker cmake/rule_tables.c)
  target_link_libraries(mt_rule_tables_maker PRIVATE mt_flags mt_dep_cjson)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/generated")
  add_custom_command(OUTPUT "${out}" COMMAND mt_rule_tables_maker "${out}" "${folder}" ${files} DEPENDS ${paths} VERBATIM
    COMMENT "Rule tables")
  # ISO C asks for texts of 4095 bytes at most; gcc and clang have no limit.
  set_source_files_properties("${out}" PROPERTIES COMPILE_OPTIONS "-Wno-overlength-strings")
  target_sources(${target} PRIVATE "${out}")
endfunction()

# mt_check_rules(<target>): a program that loads every built-in rule of <target>, run right after it was linked.
function(mt_check_rules target)
  add_executable(mt_rules_checked cmake/check_rules.c cli/redact/words.c)
  target_link_libraries(mt_rules_checked PRIVATE ${target} mt_dep_cjson mt_dep_nettle)
  if(mt_runs_here)
    add_custom_command(TARGET mt_rules_checked POST_BUILD COMMAND mt_rules_checked VERBATIM COMMENT "Rules")
  endif()
endfunction()
