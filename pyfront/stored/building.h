/* SPDX-License-Identifier: Apache-2.0 */
/* What the files share that make an entry of what was dumped. */
#ifndef JPY_BUILDING_H
#define JPY_BUILDING_H

#include "pyfront/stored/stored.h"

typedef struct jpy_building {
    jpy_entry *e;
    jpy_guards *g;
    PyObject *d;           /* what was dumped, with objects of this process */
    const jn_subgraph *of; /* stage whose gradients are read */
    jpy_stage *stage;
} jpy_building;

/* parts.c */
/* -1, with ValueError where there is no exception yet. */
int jpy_not_stored(const char *what);
int jpy_stored_no_memory(void);
/* A list of the dict (borrowed). */
PyObject *jpy_stored_list(const jpy_building *b, const char *name);
/* Calls `take` for each tuple of a list. */
int jpy_stored_each(jpy_building *b, PyObject *l, int (*take)(jpy_building *, PyObject *));
/* The object in a box, owned by the guards (borrowed); NULL: none, or raised. */
PyObject *jpy_unboxed(jpy_building *b, PyObject *box);
/* Numbers of a list, from `least` and below `limit`, in memory of the entry; NULL: raised. */
int64_t *jpy_stored_numbers(jpy_building *b, PyObject *l, int64_t least, int64_t limit, size_t *n);
/* Truths of a list of n, in memory of the entry. */
bool *jpy_stored_truths(jpy_building *b, PyObject *l, size_t n);
/* The SubGraph of that name; NULL: raised. */
jn_subgraph *jpy_stored_subgraph(const jpy_building *b, const char *name);

/* Numbers of a list, each below `limit`, to the end of a vector of uint32_t; returns -1 from where
 * it is used. */
#define JPY_NUMBERS(b, vec, l, limit)                                                              \
    do {                                                                                           \
        size_t n_;                                                                                 \
        const int64_t *v_ = jpy_stored_numbers(b, l, 0, (int64_t)(limit), &n_);                    \
        if (!v_)                                                                                   \
            return -1;                                                                             \
        for (size_t i_ = 0; i_ < n_; i_++)                                                         \
            if (!jn_vec_push(vec, (uint32_t)v_[i_]))                                               \
                return jpy_stored_no_memory();                                                     \
    } while (0)

/* Whether the guards of a slot see to it that there is a tensor. */
static inline bool jpy_stored_is_tensor(const jpy_building *b, uint32_t slot) {
    return slot < b->g->srcs.n && b->g->srcs.data[slot]->checks & JPY_CHECK_TENSOR;
}

/* The type of a result of the graph; NULL: there is none of that number. */
static inline const jn_type *jpy_stored_result(const jpy_building *b, uint32_t slot) {
    return slot < b->e->n_results ? b->e->main->result_types.data[slot] : NULL;
}

/* link.c: guards, all of which hold; slots get what is there. */
int jpy_stored_guards(jpy_building *b, const jpy_call *call, PyObject **slots);
/* gradients.c: stages, and where tracked results are. */
int jpy_stored_stages(jpy_building *b);

#endif
