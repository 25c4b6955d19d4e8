# sbom.spdx.json: what a package of memtrace is made of (SPDX 2.3), from the libraries that this configuration found. Reproducible: its date is
# SOURCE_DATE_EPOCH where that is set, else the beginning of time.
set(mt_sbom_date "1970-01-01T00:00:00Z")
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  string(TIMESTAMP mt_sbom_date "%Y-%m-%dT%H:%M:%SZ" UTC)
endif()
set(mt_license_archive "BSD-2-Clause")
set(mt_license_nettle "LGPL-3.0-or-later OR GPL-2.0-or-later")
set(mt_license_cjson "MIT")
set(mt_license_zlib "Zlib")
set(mt_license_yaml "MIT")
set(mt_license_sqlite "blessing")
set(mt_license_elf "LGPL-3.0-or-later OR GPL-2.0-or-later")
set(mt_license_xxhash "BSD-2-Clause")

set(mt_sbom_packages "")
set(mt_sbom_relations "")
# mt_sbom_add(<id> <name> <version> <license>)
function(mt_sbom_add id name version license)
  string(APPEND mt_sbom_packages ",\n    {\"SPDXID\": \"SPDXRef-${id}\", \"name\": \"${name}\", \"versionInfo\": \"${version}\","
    " \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, \"licenseConcluded\": \"${license}\"}")
  string(APPEND mt_sbom_relations ",\n    {\"spdxElementId\": \"SPDXRef-memtrace\", \"relationshipType\": \"DEPENDS_ON\", \"relatedSpdxElement\": \"SPDXRef-${id}\"}")
  set(mt_sbom_packages "${mt_sbom_packages}" PARENT_SCOPE)
  set(mt_sbom_relations "${mt_sbom_relations}" PARENT_SCOPE)
endfunction()
foreach(dep IN LISTS MEMTRACE_DEPS)
  if(NOT mt_license_${dep})
    message(FATAL_ERROR "cmake/MemtraceSbom.cmake: the licence of '${dep}' is not named")
  endif()
  mt_sbom_add(${dep} "${MT_${dep}_MODULE_NAME}" "${MT_${dep}_VERSION}" "${mt_license_${dep}}")
endforeach()
# not file(CONFIGURE), which CMake 3.18 has with other arguments
string(CONFIGURE [[{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "memtrace-@PROJECT_VERSION@",
  "documentNamespace": "urn:memtrace:sbom:@PROJECT_VERSION@:@CMAKE_SYSTEM_PROCESSOR@",
  "creationInfo": {"created": "@mt_sbom_date@", "creators": ["Tool: memtrace-cmake"]},
  "packages": [
    {"SPDXID": "SPDXRef-memtrace", "name": "memtrace", "versionInfo": "@PROJECT_VERSION@", "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseConcluded": "Apache-2.0"}@mt_sbom_packages@
  ],
  "relationships": [
    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-memtrace"}@mt_sbom_relations@
  ]
}
]] mt_sbom @ONLY)
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/sbom.spdx.json" CONTENT "${mt_sbom}")
install(FILES "${PROJECT_BINARY_DIR}/sbom.spdx.json" DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT common)
