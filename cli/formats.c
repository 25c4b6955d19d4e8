#include "cli/formats.h"

#include "render/html/html.h"
#include "render/json/json.h"
#include "render/md/md.h"
#include "render/text/text.h"

#include <stddef.h>

const struct mt_report_format mt_report_formats[MT_FORMAT_COUNT + 1] = {
#define MT_FORMAT(id, name, ending, words, render, traits) {name, mt_render_##render, traits},
#include "cli/formats.def"
#undef MT_FORMAT
    {NULL, NULL, 0},
};
