/* SPDX-License-Identifier: Apache-2.0 */
/* What a janus.Region is: region.c, and what is told of it. */
#ifndef JPY_REGION_OBJECT_H
#define JPY_REGION_OBJECT_H

#include "pyfront/function/function.h"
#include "pyfront/tensor/tensor.h"

typedef struct region {
    PyObject_HEAD vectorcallfunc vectorcall;
    jpy_function *inner; /* of the region's function */
    jpy_function *owner; /* whose skeleton it is a part of */
    PyObject *within;    /* places (line, column) of its first and last statement */
    Py_ssize_t n_in;     /* what its function takes */
    unsigned small;      /* graphs that do not pay */
    jpy_warmth warmth;
    jpy_looks looks; /* at what its variables hold */
    bool cold;       /* it is converted when it is warm */
    bool nests;      /* its function may be run where there is no graph */
    bool partial;    /* it may leave a dead variable as it is that was bound before */
    bool raised;     /* that has raised what a skeleton might take for its own */
    bool off;
} region;

#endif
