# A toolchain file: builds against the C library and the libraries of another system, which lie in the folder MT_SYSROOT (environment), as
# sysroot.sh makes it. MT_MACHINE is its processor; where that is not this one, qemu runs what the build itself runs.
set(CMAKE_SYSROOT "$ENV{MT_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
cmake_host_system_information(RESULT mt_host QUERY OS_PLATFORM)
if(NOT "$ENV{MT_MACHINE}" STREQUAL mt_host)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR "$ENV{MT_MACHINE}")
  if("$ENV{MT_MACHINE}" STREQUAL i386) # this processor runs it, by that system's loader
    set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
    set(CMAKE_C_FLAGS_INIT "-msse2 -mfpmath=sse") # the older unit rounds to other doubles
    set(mt_libraries "$ENV{MT_SYSROOT}/lib/i386-linux-gnu:$ENV{MT_SYSROOT}/usr/lib/i386-linux-gnu")
    set(CMAKE_CROSSCOMPILING_EMULATOR "$ENV{MT_SYSROOT}/lib/ld-linux.so.2;--library-path;${mt_libraries}")
  else()
    set(CMAKE_C_COMPILER "$ENV{MT_MACHINE}-linux-gnu-gcc")
    set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-$ENV{MT_MACHINE}-static;-L;$ENV{MT_SYSROOT}")
  endif()
endif()
