/* arrays.c -- the size of a CUDA array or mipmapped array from its description.
 */
#include "capture/inject/cupti.h"

/* Bytes of a block of side x side elements; false = a format whose size is not
 * known here. */
static bool array_element(int32_t format, uint32_t channels, uint32_t *bytes, uint32_t *side)
{
    static const uint8_t normal[6] = {1, 2, 4, 2, 4, 8};
    uint32_t one = 0;
    *side = 1;
    if (format >= MTI_CU_FORMAT_NORM_FIRST && format <= MTI_CU_FORMAT_NORM_LAST) {
        *bytes = normal[(format - MTI_CU_FORMAT_NORM_FIRST) % 6];
        return true;
    }
    if (format >= MTI_CU_FORMAT_BC1 && format <= MTI_CU_FORMAT_BC7_SRGB) {
        bool small = format == MTI_CU_FORMAT_BC1 || format == MTI_CU_FORMAT_BC1_SRGB ||
                     format == MTI_CU_FORMAT_BC4 || format == MTI_CU_FORMAT_BC4_S;
        *bytes = small ? 8 : 16;
        *side = 4;
        return true;
    }
    switch (format) {
    case MTI_CU_FORMAT_U8:
    case MTI_CU_FORMAT_S8: one = 1; break;
    case MTI_CU_FORMAT_U16:
    case MTI_CU_FORMAT_S16:
    case MTI_CU_FORMAT_HALF: one = 2; break;
    case MTI_CU_FORMAT_U32:
    case MTI_CU_FORMAT_S32:
    case MTI_CU_FORMAT_FLOAT: one = 4; break;
    default: return false;
    }
    *bytes = one * (channels && channels <= 4 ? channels : 1);
    return true;
}

/* The driver's own layout has padding that is not known: this is the least the
 * array can take. */
uint64_t mti_array_bytes(const struct mti_cu_array3d_desc *d, uint32_t levels)
{
    uint32_t bytes, side;
    if ((d->flags & (MTI_CU_ARRAY_SPARSE | MTI_CU_ARRAY_DEFERRED)) ||
        !array_element(d->format, d->channels, &bytes, &side))
        return 0;
    size_t w = d->width, h = d->height ? d->height : 1, z = d->depth ? d->depth : 1;
    uint64_t total = 0;
    for (uint32_t i = 0; i < levels && i < 32; i++) {
        uint64_t blocks = (w / side + (w % side != 0)), level;
        if (__builtin_mul_overflow(blocks, h / side + (h % side != 0), &level) ||
            __builtin_mul_overflow(level, z, &level) ||
            __builtin_mul_overflow(level, bytes, &level) ||
            __builtin_add_overflow(total, level, &total))
            return 0;
        w = w > 1 ? w / 2 : 1;
        h = h > 1 ? h / 2 : 1;
    }
    return total;
}
