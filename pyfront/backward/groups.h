/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backward() by groups: pyfront/backward/groups.c decides what runs when, group_rows.c runs it.
 */
#ifndef JPY_TAPE_GROUPS_H
#define JPY_TAPE_GROUPS_H

#include "exec/defer/defer.h"
#include "pyfront/backward/engine.h"

enum {
    JPY_GROUPS_FEW = 2,     /* nodes of a depth, on average: fewer are not worth a group */
    JPY_GROUPS_WAITING = 4, /* bytes of gradients, of those that may wait for being computed */
    JPY_GROUP_PLACES = 512  /* a table of the groups of one depth */
};
#define JPY_NO_VISIT UINT32_MAX

/* The gradient that has arrived at a result, or at a leaf. */
typedef struct jpy_cotangent {
    char *data;   /* row-major; NULL: none */
    jn_acc *sum;  /* and what is summed up; NULL: none */
    jn_type type; /* of both */
    bool fresh;   /* nobody else reads `data` */
} jpy_cotangent;

/* Where a visit is in the history. */
typedef struct jpy_place {
    uint32_t depth; /* JPY_LEAF: a leaf */
    uint32_t uses;
} jpy_place;
#define JPY_LEAF UINT32_MAX

typedef struct jpy_group {
    const jpy_visit *first;
    uint64_t hash;
    jn_call_kind *kind;
    jn_grad_key key;
    uint32_t head, tail, n; /* visits, linked through next[] */
} jpy_group;

typedef struct jpy_groups {
    jpy_engine *e;
    jn_grad_work *work;
    uint32_t n_depths;
    jpy_place *where; /* per visit */
    uint32_t *next;   /* per visit: of its group */
    uint32_t *by_depth, *depth_begin;
    jpy_cotangent *slots; /* as e->slots */
    JN_VEC(jpy_group) group;
    uint32_t place[JPY_GROUP_PLACES]; /* group + 1 */
    JN_VEC(jn_grad_row) rows;
    uint64_t n_groups, n_grouped, n_alone;
    janus_tensor *copy_of[JN_GRAD_VALUES], *copy[JN_GRAD_VALUES]; /* row-major, of the last one */
} jpy_groups;

static inline int64_t jpy_type_numel(const jn_type *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

static inline size_t jpy_type_bytes(const jn_type *t) {
    return (size_t)jpy_type_numel(t) * jn_dtype_size((janus_dtype)t->dtype);
}

/* pyfront/backward/group_rows.c.  -1 and statuses mean that the nodes have to run one by one; there
 * may be an exception, which is not the program's. */
/* What has arrived at a slot so far, with another contribution: a row-major tensor of floats, kept.
 */
int jpy_cotangent_take(jpy_groups *g, jpy_cotangent *c, janus_tensor *t);
/* Sums are read: all that has arrived is in c->data. */
janus_status jpy_cotangent_complete(jpy_groups *g, jpy_cotangent *c);
janus_status jpy_cotangent_tensor(const jpy_cotangent *c, janus_tensor **out);
/* Whether something has arrived at a node. */
static inline bool jpy_cotangents_arrived(const jpy_groups *g, const jpy_visit *v) {
    for (unsigned i = 0; i < v->n_out; i++)
        if (g->slots[v->slot + i].data || g->slots[v->slot + i].sum)
            return true;
    return false;
}
/* Runs a node whose cotangents are complete, or puts it into a group of its depth. */
int jpy_groups_node(jpy_groups *g, const jpy_visit *v);
int jpy_group_run(jpy_groups *g, jpy_group *p);

#endif
