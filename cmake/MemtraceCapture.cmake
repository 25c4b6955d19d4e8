# Capture from a running job is a part of the project that this version does not have. What is decided here is only what
# `memtrace --version` says, so that a build never claims more than it holds.
set(MEMTRACE_CAPTURE_STATE "not in this build")
if(MEMTRACE_CAPTURE STREQUAL "ON")
  message(FATAL_ERROR "MEMTRACE_CAPTURE=ON: this version of memtrace reads snapshots only; use AUTO or OFF")
elseif(NOT MEMTRACE_CAPTURE STREQUAL "OFF")
  find_path(MT_CUPTI_INCLUDE cupti.h
    HINTS ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda /opt/cuda
    PATH_SUFFIXES include extras/CUPTI/include targets/x86_64-linux/include)
  mark_as_advanced(MT_CUPTI_INCLUDE)
  if(MT_CUPTI_INCLUDE)
    message(STATUS "CUPTI headers: found in ${MT_CUPTI_INCLUDE} (not used by this version)")
  else()
    message(STATUS "CUPTI headers: not found (not needed)")
  endif()
endif()
