#include "render/page_data.h"
#include "render/script.h"

void mt_page_data(const struct mt_page *p, struct mt_out *o)
{
    (void)p;
    mt_puts(o, "<script type=\"text/plain\" id=\"mt-worker\">\n");
    (void)mt_script_put(o, MT_SCRIPT_WORKER);
    mt_puts(o, "</script>\n<script>");
    (void)mt_script_put(o, MT_SCRIPT_PAGE);
    mt_puts(o, "</script>\n");
}
