# `cmake --build BUILD --target wheel` leaves BUILD/dist/memtrace-<version>-py3-none-manylinux_<glibc>_<cpu>.whl: the package in python/, and the
# program that needs only glibc with its recorder, as the tar.gz has them. Python packs it and is asked for by this target alone.
if(mt_portable AND mt_runs_here)
  find_program(MT_WHEEL_PYTHON NAMES python3)
  find_program(MT_WHEEL_OBJDUMP NAMES "${CMAKE_OBJDUMP}" objdump) # that of the machine it is for
  mark_as_advanced(MT_WHEEL_PYTHON MT_WHEEL_OBJDUMP)
  if(MT_WHEEL_PYTHON AND MT_WHEEL_OBJDUMP)
    set(mt_wheel_depends memtrace_portable)
    if(TARGET memtrace_inject)
      list(APPEND mt_wheel_depends memtrace_inject)
    endif()
    # MT_PORTABLE_IS_BUILT: the install does not start this build tool inside itself.
    add_custom_target(wheel
      COMMAND ${CMAKE_COMMAND} -E rm -rf "${PROJECT_BINARY_DIR}/wheel" "${PROJECT_BINARY_DIR}/dist"
      COMMAND ${CMAKE_COMMAND} -E env MT_PORTABLE_IS_BUILT=1 ${CMAKE_COMMAND} --install "${PROJECT_BINARY_DIR}" --component portable --strip
        --prefix "${PROJECT_BINARY_DIR}/wheel" > "${PROJECT_BINARY_DIR}/wheel.log"
      COMMAND ${MT_WHEEL_PYTHON} "${PROJECT_SOURCE_DIR}/cmake/make_wheel.py" --package "${PROJECT_SOURCE_DIR}/python/memtrace"
        --program "${PROJECT_BINARY_DIR}/wheel" --skills "${PROJECT_SOURCE_DIR}/skills" --readme "${PROJECT_SOURCE_DIR}/README.md" --license "${PROJECT_SOURCE_DIR}/LICENSE"
        --version "${PROJECT_VERSION}" --machine "${CMAKE_SYSTEM_PROCESSOR}" --objdump "${MT_WHEEL_OBJDUMP}" "--home=${MEMTRACE_HOME}" --out "${PROJECT_BINARY_DIR}/dist"
      DEPENDS ${mt_wheel_depends} VERBATIM COMMENT "Packing the wheel")
  endif()
endif()
