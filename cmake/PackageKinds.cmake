# Read by cpack once for each package: which components it holds, and where they go.
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_COMPONENTS_ALL portable common)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
elseif(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL system common)
  set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
endif()
