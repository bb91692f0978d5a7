/* SPDX-License-Identifier: Apache-2.0 */
/*
 * History of tensors that share memory.
 *
 * Writing through a view changes its root.  In terms of values: root' = root with a region replaced
 * by w.  The two nodes here, reading a region and replacing one, are each other's gradients:
 *
 *     y = read(root)         droot = replace(zeros, dy)
 *     y = replace(root, w)   droot = replace(dy, zeros), dw = read(dy)
 */
#include "config.h"

#include "pyfront/tape/tape.h"

#include <assert.h>
#include <string.h>

#include "ops/attrs.h"
#include "ops/op_ids.h"
#include "pyfront/tensor/device.h"
#include "pyfront/tensor/object.h"

/* A region as a node keeps it, as short as its ranks allow: a program that takes tensors apart
 * makes many such nodes. */
typedef struct packed {
    int rank;
    int64_t offset;
    jn_type root;
    int64_t n[]; /* dims, strides, dims of the root */
} packed;

void jpy_region_get(jpy_node *n, jpy_region *out) {
    const packed *p = jpy_node_data(n);
    size_t size = (size_t)p->rank * sizeof(int64_t);
    out->rank = p->rank;
    out->offset = p->offset;
    out->root = p->root;
    memcpy(out->dims, p->n, size);
    memcpy(out->strides, p->n + p->rank, size);
    memcpy(out->root_dims, p->n + 2 * p->rank, (size_t)p->root.rank * sizeof(int64_t));
}

jn_type jpy_region_root(jpy_node *n) {
    const packed *p = jpy_node_data(n);
    return jn_tensor_type((janus_dtype)p->root.dtype, p->root.rank, p->n + 2 * p->rank);
}

jn_type jpy_piece_type(jpy_node *n) {
    const packed *p = jpy_node_data(n);
    return jn_tensor_type((janus_dtype)p->root.dtype, p->rank, p->n);
}

static jpy_node *make(jn_thread *me, const jpy_node_class *cls, const jpy_edge *edges, unsigned n,
                      int64_t offset, int rank, const int64_t *dims, const int64_t *strides,
                      const jn_type *root, const int64_t *root_dims) {
    size_t numbers = 2 * (size_t)rank + (size_t)root->rank;
    jpy_node *node =
        jpy_node_make(me, cls, n, 1, edges, sizeof(packed) + numbers * sizeof(int64_t));
    if (!node)
        return NULL;
    packed *p = jpy_node_data(node);
    p->rank = rank;
    p->offset = offset;
    p->root = *root;
    p->root.dims = NULL;
    for (int i = 0; i < rank; i++) {
        p->n[i] = dims[i];
        p->n[rank + i] = strides[i];
    }
    for (int i = 0; i < root->rank; i++)
        p->n[2 * rank + i] = root_dims[i];
    return node;
}

static int zeros(const jpy_region *r, const janus_tensor *like, janus_tensor **out) {
    jn_type t = jn_tensor_type((janus_dtype)r->root.dtype, r->root.rank, r->root_dims);
    return jpy_tensor_zeros(&t, like, out);
}

/* The region as a view of a contiguous tensor of the root's shape. */
static int view_region(const jpy_region *r, janus_tensor *root, janus_tensor **out) {
    return jpy_check(jn_tensor_view(root, r->rank, r->dims, r->strides, r->offset, out));
}

static int copy_into(const jpy_region *r, janus_tensor *root, janus_tensor *w) {
    janus_tensor *view;
    if (view_region(r, root, &view) < 0)
        return -1;
    int rc = 0;
    if (w)
        rc = jpy_check(jn_tensor_copy(view, w));
    else { /* zeros of the region's shape: one element seen everywhere */
        uint64_t zero = 0;
        int64_t strides[JN_MAX_RANK] = {0};
        janus_tensor *z = NULL;
        rc = jpy_check(janus_tensor_wrap((janus_dtype)root->dtype, r->rank, r->dims, strides, &zero,
                                         NULL, NULL, &z));
        if (rc == 0)
            rc = jpy_check(jn_tensor_copy(view, z));
        janus_tensor_release(z);
    }
    janus_tensor_release(view);
    return rc;
}

/* dy summed along the region's dims of stride 0, where elements lie on each other. */
static int fold_overlap(jpy_region *r, janus_tensor *dy, janus_tensor **out) {
    int64_t dims[JN_MAX_RANK];
    janus_sum_attrs attrs = {sizeof attrs, {dims, 0}, 1};
    for (int i = 0; i < r->rank; i++)
        if (r->strides[i] == 0 && r->dims[i] > 1) {
            dims[attrs.dims.n++] = i;
            r->dims[i] = 1;
        }
    if (!attrs.dims.n) {
        janus_tensor_retain(dy);
        *out = dy;
        return 0;
    }
    jn_eager_arg arg = {.kind = JANUS_KIND_TENSOR, .t = dy};
    return jpy_check(jn_eager(JN_OP(sum), &arg, 1, &attrs, out, 1));
}

static int read_backward(jpy_node *n, const jpy_val *dout, const bool *want, jpy_val *din,
                         bool create_graph) {
    (void)want;
    jpy_region r;
    janus_tensor *g, *dy;
    jpy_region_get(n, &r);
    if (zeros(&r, dout[0].t, &g) < 0)
        return -1;
    if (fold_overlap(&r, dout[0].t, &dy) < 0) {
        janus_tensor_release(g);
        return -1;
    }
    int rc = copy_into(&r, g, dy);
    janus_tensor_release(dy);
    jpy_node *node = NULL;
    if (rc == 0 && create_graph && jpy_edge_tracked(dout[0].edge)) {
        node = jpy_region_write_node(&r, (jpy_edge){0}, dout[0].edge);
        rc = node ? 0 : -1;
    }
    if (rc < 0)
        janus_tensor_release(g);
    else
        din[0] = jpy_val_tensor(g, (jpy_edge){node, NULL, 0});
    return rc;
}

static int write_backward(jpy_node *n, const jpy_val *dout, const bool *want, jpy_val *din,
                          bool create_graph) {
    jpy_region region, *r = &region;
    jpy_region_get(n, r);
    bool tracked = create_graph && jpy_edge_tracked(dout[0].edge);
    janus_tensor *dy, *t;
    if (jpy_check(jn_tensor_contiguous(dout[0].t, &dy)) < 0)
        return -1;
    int rc = 0;
    if (want[0]) {
        rc = zeros(r, dy, &t);
        if (rc == 0) {
            jpy_node *node = NULL;
            rc = jpy_check(jn_tensor_copy(t, dy));
            if (rc == 0)
                rc = copy_into(r, t, NULL);
            if (rc == 0 && tracked)
                rc = (node = jpy_region_write_node(r, dout[0].edge, (jpy_edge){0})) ? 0 : -1;
            din[0] = jpy_val_tensor(t, (jpy_edge){node, NULL, 0});
        }
    }
    if (rc == 0 && want[1]) {
        jpy_node *node = NULL;
        rc = view_region(r, dy, &t);
        if (rc == 0) {
            if (tracked)
                rc = (node = jpy_region_read_node(r, dout[0].edge)) ? 0 : -1;
            din[1] = jpy_val_tensor(t, (jpy_edge){node, NULL, 0});
        }
    }
    janus_tensor_release(dy);
    return rc;
}

/* A tensor that was overwritten still requires grad: what it was gets zeros, and what was copied
 * into it, where that has a history, all. */
static int overwrite_backward(jpy_node *n, const jpy_val *dout, const bool *want, jpy_val *din,
                              bool create_graph) {
    if (n->n_in > 1 && want[1]) {
        din[1] = dout[0];
        janus_tensor_retain(din[1].t);
        if (create_graph)
            jpy_edge_retain(din[1].edge);
        else
            din[1].edge = (jpy_edge){0};
    }
    if (!want[0])
        return 0;
    const janus_tensor *dy = dout[0].t;
    janus_tensor *t;
    jn_type type = jn_tensor_as_type(dy);
    if (jpy_tensor_zeros(&type, dy, &t) < 0)
        return -1;
    din[0] = jpy_val_tensor(t, (jpy_edge){0});
    return 0;
}

static int read_add_into(jpy_node *n, janus_tensor *dy, janus_tensor *sum) {
    jpy_region r;
    janus_tensor *folded, *view;
    jpy_region_get(n, &r);
    if (fold_overlap(&r, dy, &folded) < 0)
        return -1;
    int rc = view_region(&r, sum, &view);
    if (rc == 0) {
        jn_eager_arg args[2] = {{.kind = JANUS_KIND_TENSOR, .t = view},
                                {.kind = JANUS_KIND_TENSOR, .t = folded}};
        rc = jpy_check(jn_eager_into(JN_OP(add), args, 2, NULL, view));
        janus_tensor_release(view);
    }
    janus_tensor_release(folded);
    return rc;
}

static const jpy_node_class overwrite_class = {
    "Fill", overwrite_backward, NULL, NULL, NULL, true,
};
static const jpy_node_class read_class = {
    "AsStrided", read_backward, NULL, NULL, read_add_into, true,
};
const jpy_node_class jpy_piece_class = {
    "Slice", read_backward, NULL, NULL, read_add_into, true,
};
static const jpy_node_class write_class = {
    "CopySlices", write_backward, NULL, NULL, NULL, true,
};

static jpy_node *make_of(const jpy_node_class *cls, const jpy_region *r, const jpy_edge *edges,
                         unsigned n) {
    return make(&jn_this, cls, edges, n, r->offset, r->rank, r->dims, r->strides, &r->root,
                r->root_dims);
}

jpy_node *jpy_region_read_node(const jpy_region *r, jpy_edge root) {
    return make_of(&read_class, r, &root, 1);
}

jpy_node *jpy_region_write_node(const jpy_region *r, jpy_edge root, jpy_edge w) {
    jpy_edge edges[2] = {root, w};
    return make_of(&write_class, r, edges, 2);
}

jpy_node *jpy_piece_node(jn_thread *me, const janus_tensor *root, const janus_tensor *piece,
                         jpy_edge edge) {
    jn_type type = jn_tensor_as_type(root);
    return make(me, &jpy_piece_class, &edge, 1, jn_tensor_distance(root, piece), piece->rank,
                piece->dims, piece->strides, &type, root->dims);
}

/* ---- views and their roots
 * ------------------------------------------------------------------------
 */

/* Adds to *io the place that `distance` elements of the root's memory are away from it, as a place
 * in a row-major tensor of its dims; io_left: by which an index may still grow.  False: by none. */
static bool in_rows(const janus_tensor *root, int64_t distance, int64_t times, int64_t *io_left,
                    int64_t *io) {
    bool used[JN_MAX_RANK] = {false};
    for (int n = 0; n < root->rank; n++) {
        int at = -1;
        for (int i = 0; i < root->rank; i++) /* the longest steps first */
            if (!used[i] && root->dims[i] > 1 && (at < 0 || root->strides[i] > root->strides[at]))
                at = i;
        if (at < 0)
            break;
        used[at] = true;
        int64_t row = 1, steps = root->strides[at] > 0 ? distance / root->strides[at] : 0;
        for (int i = at + 1; i < root->rank; i++)
            row *= root->dims[i];
        distance -= steps * root->strides[at];
        io_left[at] -= steps * times;
        *io += steps * row;
        if (io_left[at] < 0)
            return false;
    }
    return !distance;
}

/* The region as if the root's rows lay one behind the other, as those of its gradient do. */
static bool as_rows(const janus_tensor *root, jpy_region *r) {
    int64_t left[JN_MAX_RANK], offset = r->offset;
    for (int i = 0; i < root->rank; i++)
        left[i] = root->dims[i] - 1;
    r->offset = 0;
    if (offset < 0 || !in_rows(root, offset, 1, left, &r->offset))
        return false;
    for (int a = 0; a < r->rank; a++) {
        int64_t stride = r->strides[a], most = r->dims[a] > 1 ? r->dims[a] - 1 : 0;
        r->strides[a] = 0;
        if (most && (stride < 0 || !in_rows(root, stride, most, left, &r->strides[a])))
            return false;
    }
    return true;
}

static int region_in(const janus_tensor *view, const janus_tensor *root, jpy_region *r) {
    r->rank = view->rank;
    r->offset = jn_tensor_distance(root, view);
    memcpy(r->dims, view->dims, (size_t)view->rank * sizeof(int64_t));
    memcpy(r->strides, view->strides, (size_t)view->rank * sizeof(int64_t));
    r->root = jn_tensor_as_type(root);
    memcpy(r->root_dims, root->dims, (size_t)root->rank * sizeof(int64_t));
    int64_t last = r->offset; /* as_strided() may lead out of the root */
    for (int i = 0; i < r->rank; i++)
        last += r->dims[i] > 1 ? (r->dims[i] - 1) * r->strides[i] : 0;
    bool inside = root->contiguous && r->offset >= 0 && last < root->numel;
    if (!view->numel || inside || (!root->contiguous && as_rows(root, r)))
        return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "gradients through in-place writes to views need a base of which the view is a "
                    "part by its axes: clone() the base tensor first");
    return -1;
}

static jpy_edge own_edge(const jpy_tensor *t) {
    if (t->node)
        return jpy_edge_now((jpy_edge){t->node, NULL, t->node_out});
    if (t->requires_grad)
        return (jpy_edge){NULL, (jpy_tensor *)t, 0};
    return (jpy_edge){0};
}

/* retain_grad() is about the tensor: its gradient is that of what it holds last, result 0 of `to`.
 */
static int retain_at(jpy_tensor *t, jpy_node *to) {
    const jpy_node *was = t->retains_grad && to ? own_edge(t).node : NULL;
    PyObject *list = was && was->extra ? was->extra->retained : NULL;
    if (JN_LIKELY(!list))
        return 0;
    PyObject *self = PyWeakref_NewRef((PyObject *)t, NULL); /* the one that there is */
    int rc = self ? 0 : -1;
    for (Py_ssize_t i = PyList_GET_SIZE(list); rc == 0 && i-- > 0;) {
        if (PyTuple_GET_ITEM(PyList_GET_ITEM(list, i), 1) != self)
            continue;
        jpy_node_extra *x = jpy_node_extra_get(to);
        if (x && !x->retained)
            x->retained = PyList_New(0);
        PyObject *entry = x && x->retained ? Py_BuildValue("kO", 0UL, self) : NULL;
        rc = entry ? PyList_Append(x->retained, entry) : -1;
        Py_XDECREF(entry);
        if (rc == 0)
            rc = PyList_SetSlice(list, i, i + 1, NULL);
    }
    Py_XDECREF(self);
    return rc;
}

static bool stale(const jpy_tensor *t) { return t->base && t->base->epoch != t->epoch; }

int jpy_tensor_edge(jpy_tensor *t, jpy_edge *out) {
    if (stale(t)) {
        jpy_region r;
        jpy_edge root = own_edge(t->base);
        jpy_node *node = NULL;
        if (jpy_edge_tracked(root)) {
            if (region_in(t->t, t->base->t, &r) < 0)
                return -1;
            node = jpy_region_read_node(&r, root);
            if (!node)
                return -1;
        }
        if (retain_at(t, node) < 0) {
            jpy_node_release(node);
            return -1;
        }
        jpy_node_release(t->node);
        t->node = node;
        t->node_out = 0;
        t->epoch = t->base->epoch;
    }
    *out = own_edge(t);
    return 0;
}

bool jpy_tensor_tracked(const jpy_tensor *t) {
    if (stale(t))
        return jpy_edge_tracked(own_edge(t->base));
    return t->node || t->requires_grad;
}

bool jpy_tensor_is_leaf(const jpy_tensor *t) {
    return stale(t) ? !jpy_edge_tracked(own_edge(t->base)) : !t->node;
}

int jpy_inplace_begin(jpy_tensor *t) {
    for (int i = 0; i < t->t->rank; i++)
        if (t->t->strides[i] == 0 && t->t->dims[i] > 1) {
            PyErr_SetString(PyExc_RuntimeError,
                            "unsupported operation: more than one element of the written-to tensor "
                            "refers to a single memory location. Please clone() the tensor before "
                            "performing the operation.");
            return -1;
        }
    return jpy_inplace_may(t);
}

int jpy_inplace_may(const jpy_tensor *t) {
    if (jpy_no_grad_mode)
        return 0;
    if (!t->node && t->requires_grad) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a leaf Variable that requires grad is being used in an "
                        "in-place operation.");
        return -1;
    }
    if (t->base && !t->base->node && t->base->requires_grad) {
        PyErr_SetString(PyExc_RuntimeError, "a view of a leaf Variable that requires grad is being "
                                            "used in an in-place operation.");
        return -1;
    }
    return 0;
}

static void set_node(jpy_tensor *t, jpy_node *node) {
    if (node)
        jpy_node_retain(node);
    jpy_node_release(t->node);
    t->node = node;
    t->node_out = 0;
    t->requires_grad = false;
}

void jpy_inplace_wrote(jpy_tensor *t) {
    if (t->no_version)
        jn_storage_wrote_unseen(t->t->storage);
    else
        t->t->storage->version++;
}

int jpy_inplace_reshape(jpy_tensor *t, jpy_tensor *view) {
    jpy_edge edge;
    if (jpy_tensor_edge(view, &edge) < 0)
        return -1;
    assert(view->t->storage == t->t->storage);
    jpy_inplace_wrote(t);
    if (view == t)
        return 0;
    /* What was taken of it before keeps the history that was, whose gradients are of its shape. */
    if (t->node) {
        set_node(t, edge.node);
        t->node_out = edge.index;
    }
    janus_tensor_retain(view->t);
    jpy_tensor_put_memory(t, view->t);
    return 0;
}

/* copied: the node's result was copied into it, and is no function of what it was. */
static int end(jpy_tensor *t, jpy_node *node, bool copied) {
    if (!node && (jpy_no_grad_mode || !jpy_tensor_tracked(t)))
        return 0;
    if (t->base) {
        jpy_region r;
        if (region_in(t->t, t->base->t, &r) < 0)
            return -1;
        jpy_edge old = own_edge(t->base);
        jpy_node *whole = jpy_region_write_node(&r, old, (jpy_edge){node, NULL, 0});
        if (!whole)
            return -1;
        int rc = retain_at(t->base, whole);
        set_node(t->base, whole);
        jpy_node_release(whole);
        t->base->epoch++;
        /* From now on it is a part of what the root has become: gradients of what it is used for
         * are the root's, too, for whoever asks for them. */
        if (!t->retains_grad)
            set_node(t, NULL);
        t->epoch = t->base->epoch - 1;
        return rc;
    }
    jpy_edge old = own_edge(t);
    jpy_edge both[2] = {old, {node, NULL, 0}};
    bool cuts = !node || (copied && jpy_edge_tracked(old));
    jpy_node *cut = cuts ? jpy_node_new(&overwrite_class, node ? 2 : 1, 1, both, 0) : NULL;
    if (cuts && !cut)
        return -1;
    int rc = retain_at(t, cut ? cut : node);
    set_node(t, cut ? cut : node);
    jpy_node_release(cut);
    t->epoch++;
    return rc;
}

int jpy_inplace_end(jpy_tensor *t, jpy_node *node) { return end(t, node, false); }

int jpy_inplace_copied(jpy_tensor *t, jpy_node *node) { return end(t, node, true); }
