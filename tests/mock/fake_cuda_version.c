/* fake_cuda_version.c -- the only part of the fake libcuda that differs between the variants. */
#include "fake_cuda.h"

const int fake_driver_default = FAKE_DRIVER_DEFAULT;
