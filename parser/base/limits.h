/* limits.h -- every input size has a cap. The defaults let a 24 GiB machine survive; each has an
 * option that raises it. */
#ifndef MT_LIMITS_H
#define MT_LIMITS_H

#include <stdint.h>

struct mt_limits {
    uint64_t max_bytes;   /* decompressed bytes of one input           --max-bytes    1 TiB    */
    uint64_t max_memory;  /* bytes held at a time                      --max-memory   12 GiB   */
    uint64_t max_string;  /* one string                                --max-string   16 MiB   */
    uint64_t max_events;  /* trace entries over all devices            --max-events   250 M    */
    uint32_t max_depth;   /* nesting of containers                     --max-depth    256      */
    uint32_t max_ratio;   /* decompressed : compressed, after 64 MiB   --max-ratio    1000     */
    uint32_t max_members; /* files in archives and folders of a run    --max-members  4096     */
    uint32_t max_frames;  /* frames of one stack                       --max-frames   4096     */
    uint32_t max_time;    /* seconds that a run may read; 0 = no limit --max-time     0        */
};

#define MT_LIMITS_DEFAULT                                                                          \
    {                                                                                              \
        .max_bytes = UINT64_C(1) << 40, .max_memory = UINT64_C(12) << 30,                          \
        .max_string = UINT64_C(16) << 20, .max_events = 250000000, .max_depth = 256,               \
        .max_ratio = 1000, .max_members = 4096, .max_frames = 4096                                 \
    }

#endif
