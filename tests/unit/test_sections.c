/* Forms, and the rows that the sections of a report put into them. */
#include "tests/unit/diag_fixture.h"
#include "tests/unit/form_check.h"

static void put_cell(struct mt_out *o, const char *cell, const char *spec, unsigned i, void *ctx)
{
    MT_CHECK(i < 4 && ctx == NULL);
    mt_put(o, cell, mt_form_cut(cell, *spec != '}' ? spec + 1 : spec));
    mt_putc(o, *spec == '}' ? '.' : *spec);
}

MT_TEST(forms)
{
    static const char *const cell[] = {"one", "", "three", NULL};
    static const struct {
        const char *form, *text; /* NULL = says nothing */
    } all[] = {
        {"a {0} b {2:<8}", "a one. b three<"},
        {"{2:.3}{0:`2}", "thr.on`"},
        {"x[, {1}][; {2}] y", "x; three. y"},
        {"x[ {0} and {1}][ {0} and {2}]", "x one. and three."},
        {"[[{0}] {2}", "[one.] three."},
        {"{1}{3}", NULL},
        {"lead {1} [{3}]", NULL},
        {"{9}", NULL}, /* there is none */
        {"no cell", "no cell"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct mt_out o;
        size_t n = strlen(all[i].form);
        MT_CHECK_EQ(mt_form_says(all[i].form, n, cell, 4), all[i].text != NULL);
        if (all[i].text == NULL)
            continue;
        MT_ASSERT(mt_out_mem(&o));
        mt_form_put(&o, all[i].form, n, cell, 4, put_cell, NULL);
        MT_CHECK_EQ(mt_out_finish(&o), 0);
        MT_CHECK_STR((const char *)o.buf, all[i].text);
        mt_out_done(&o);
    }
}

MT_TEST(a_part_of_a_form)
{
    static const char *const cell[] = {"", "two"};
    MT_CHECK(!mt_form_says("{0}|{1}", 3, cell, 2));
    MT_CHECK(mt_form_says("{0}|{1}", 7, cell, 2));
}

MT_TEST(rows_have_their_cells)
{
    static struct diag_fixture x;
    fxd_make(&x, false);
    MT_CHECK(check_forms(&x.f.r) > 150);
    fxd_done(&x);
}

MT_MAIN(MT_RUN(forms) MT_RUN(a_part_of_a_form) MT_RUN(rows_have_their_cells))
