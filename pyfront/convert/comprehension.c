/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comprehensions over things of known length; of unknown length only where the result is a sum,
 * which the caller asks for by looping itself.
 */
#include "pyfront/convert/convert.h"

typedef struct building {
    jpy_tree *n;
    JN_VEC(jcv_av *) out;
} building;

static void generate(jcv *c, building *b, unsigned level) {
    jpy_tree *n = b->n;
    if (level == n->x.n) {
        jcv_av *v = jcv_eval(c, n->a);
        if (!jn_vec_push(&b->out, v) ||
            (n->kind == JPY_DICTCOMP && !jn_vec_push(&b->out, jcv_eval(c, n->b))))
            jcv_refuse(c, "out of memory");
        return;
    }
    jpy_tree *g = n->x.v[level];
    jcv_av **items, *it = jcv_eval(c, g->b);
    unsigned m;
    if (!jcv_items(c, it, &items, &m))
        jcv_refuse(c, "a comprehension over %s of unknown length", jcv_describe(it));
    for (unsigned i = 0; i < m; i++) {
        jcv_assign(c, g->a, items[i]);
        bool keep = true;
        for (unsigned k = 0; k < g->x.n && keep; k++) {
            jcv_val *v = NULL;
            int t = jcv_truth(c, jcv_eval(c, g->x.v[k]), &v);
            if (t < 0)
                jcv_refuse(c, "a condition of the graph in a comprehension");
            keep = t;
        }
        if (keep)
            generate(c, b, level + 1);
    }
}

jcv_av *jcv_comprehension(jcv *c, jpy_tree *n) {
    jcv_frame *fr = jcv_alloc(c, sizeof *fr), *was = c->frame;
    *fr = (jcv_frame){.source = was->source,
                      .def = was->def,
                      .outer = was,
                      .caller = was,
                      .comprehension = true,
                      .depth = was->depth};
    fr->code = was->code;
    fr->self_key = was->self_key;
    c->frame = fr;
    building b = {n, {0}};
    generate(c, &b, 0);
    c->frame = was;
    jcv_av *r;
    if (n->kind == JPY_LISTCOMP) {
        r = jcv_list(c, b.out.data, (unsigned)b.out.n);
    } else if (n->kind == JPY_DICTCOMP) {
        r = jcv_dict(c);
        for (size_t i = 0; i + 1 < b.out.n; i += 2)
            jcv_dict_set(c, r, b.out.data[i], b.out.data[i + 1]);
    } else if (n->kind == JPY_GENEXP) {
        r = jcv_new(c, AV_ITER);
        jcv_av *t = jcv_tuple(c, b.out.data, (unsigned)b.out.n);
        r->text = "generator";
        r->items = t->items;
        r->n = t->n;
    } else {
        jcv_refuse(c, "a set comprehension");
    }
    jn_vec_free(&b.out);
    return r;
}
