/* script.h -- the page's script and that of its worker: templates/page.js and templates/worker.js,
 * which tests/web/bundle.mjs makes out of the modules of templates/js/. Pure; same bytes every
 * time. */
#ifndef MT_HTML_SCRIPT_H
#define MT_HTML_SCRIPT_H

#include "render/base/out.h"

enum mt_script_kind { MT_SCRIPT_PAGE, MT_SCRIPT_WORKER };
#define MT_SCRIPT_HASH_SIZE 64 /* "sha256-" and base64, with its NUL */

/* Both give 1, or 0 with o->error set. */
int mt_script_put(struct mt_out *o, enum mt_script_kind kind);
/* What a Content-Security-Policy calls that text. */
int mt_script_hash(char out[MT_SCRIPT_HASH_SIZE], enum mt_script_kind kind);

#endif
