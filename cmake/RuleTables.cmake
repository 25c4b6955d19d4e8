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
  add_custom_command(OUTPUT "${out}" COMMAND mt_rule_tables_maker "${out}" "${folder}" ${files} DEPENDS mt_rule_tables_maker ${paths} VERBATIM
    COMMENT "Rule tables")
  # ISO C asks for texts of 4095 bytes at most; gcc and clang have no limit.
  set_source_files_properties("${out}" PROPERTIES COMPILE_OPTIONS "-Wno-overlength-strings")
  target_sources(${target} PRIVATE "${out}")
endfunction()

# mt_rule_image(<target>): a program that loads every built-in rule of <target>, run right after it was linked, and the library mt_rule_image, which is
# what it loaded.
function(mt_rule_image target)
  add_executable(mt_rules_checked cmake/check_rules.c cmake/rule_image.c cli/redact/words.c)
  target_link_libraries(mt_rules_checked PRIVATE ${target} mt_dep_cjson mt_dep_nettle)
  set(out "${PROJECT_BINARY_DIR}/generated/rule_image.c")
  if(mt_runs_here)
    add_custom_command(OUTPUT "${out}" COMMAND mt_rules_checked "${out}" DEPENDS mt_rules_checked VERBATIM COMMENT "Rules")
  else()
    file(WRITE "${out}" "#include \"analysis/run/rule_image.h\"\nconst struct mt_rule_image mt_rule_image = {0};\n")
  endif()
  add_library(mt_rule_image STATIC "${out}")
  target_link_libraries(mt_rule_image PRIVATE mt_flags)
endfunction()
