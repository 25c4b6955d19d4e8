/* cmd_schema.c -- the contracts in docs/, as they lie in the program. */
#include "cli/cli.h"
#include "cli/output.h"
#include "render/html/assets.h"

#include <string.h>

extern const struct mt_asset
    mt_schema_assets[]; /* docs/NAME.schema.json; cmake/EmbedAssets.cmake */

enum mt_exit mt_cmd_schema(const struct mt_cli *c)
{
    static const char ending[] = ".schema.json";
    const char *name = c->inputs[0];
    size_t n = strlen(name);
    struct mt_output out;
    char shown[64];
    for (const struct mt_asset *a = mt_schema_assets; a->name != NULL; a++) {
        if (strncmp(a->name, name, n) != 0 || strcmp(a->name + n, ending) != 0)
            continue;
        if (!mt_output_open(&out, NULL, false))
            return MT_EXIT_FAILED;
        mt_put(&out.out, a->data, a->size);
        return mt_output_commit(&out, false);
    }
    mt_say("there is no schema '%s'; there are 'report', 'diff', 'check' and 'rules'",
           mt_printable(shown, sizeof shown, name, n));
    return MT_EXIT_USAGE;
}
