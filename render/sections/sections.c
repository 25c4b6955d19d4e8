#include "render/sections/sections.h"

#include "render/sections/impl.h"

void mt_sections(struct mt_sink *k, const struct mt_report *r)
{
    mt_sections_but_last(k, r);
    mt_section_footer(k, r);
}

void mt_sections_but_last(struct mt_sink *k, const struct mt_report *r)
{
    static const struct {
        void (*put)(struct mt_sink *k, const struct mt_report *r);
        unsigned formats;
    } sections[] = {
#define MT_SECTION(name, formats) {mt_section_##name, formats},
#include "render/sections/sections.def"
    };
    unsigned wanted = k->is_screen ? MT_IN_SCREEN : k->format;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if ((sections[i].formats & wanted) != 0 && sections[i].put != mt_section_footer)
            sections[i].put(k, r);
}
