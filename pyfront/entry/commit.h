/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparing a commit: every object that a run leaves, made and not yet written anywhere.
 */
#ifndef JPY_COMMIT_H
#define JPY_COMMIT_H

#include "pyfront/entry/parts.h"

typedef JN_VEC(PyObject *) jpy_objects;

typedef struct jpy_making {
    jpy_entry *e;
    PyObject **slots;        /* what the guards bound */
    jn_arg *results;         /* of the run */
    struct jpy_node **nodes; /* of results that require grad, by stage */
    jpy_objects *born;       /* gets the objects that are new, borrowed; NULL: nobody asks */
    PyObject **made;         /* by recipe id */
    PyObject **values;       /* by step; of a store NULL */
    PyObject *result;
    PyObject *handed; /* the same of a region, with what its dead variables hold; or NULL */
} jpy_making;

/* Makes the result and the values of all steps; false: it cannot be done, an exception may be set.
 * To be freed in any case. */
bool jpy_making_all(jpy_making *m, const jn_run *run);
void jpy_making_free(jpy_making *m);
/* Whether the run has taken the path that the step lies on. */
bool jpy_step_done(const jpy_making *m, const jpy_commit_step *s);

#endif
