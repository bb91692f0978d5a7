/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands and results of one eager call: see exec/eager/eager_call.h.
 */
#include "config.h"

#include "exec/eager/eager_call.h"

#include "graph/base/alloc.h"
#include "ops/op_ids.h"

static int64_t *dims_of(jn_infer *c, unsigned rank) {
    jn_call *k = c->user;
    if (k->n_dims + rank > JN_CALL_DIMS)
        return NULL;
    int64_t *dims = k->dims + k->n_dims;
    k->n_dims += rank;
    return dims;
}

janus_status jn_call_init(jn_call *k, jn_call_room *room, const jn_op *op, unsigned n_in,
                          const void *attrs, unsigned n_out) {
    if (n_out > JN_EAGER_MAX_OUT)
        return jn_error(JANUS_INTERNAL, "%s: more results than an eager call can give", op->name);
    k->op = op;
    k->impl = &jn_op_impls[op->id];
    k->n_in = n_in;
    k->n_out = n_out;
    k->attrs = attrs;
    k->n_dims = 0;
    k->waits = false;
    k->device = NULL;
    k->block = NULL;
    if (JN_LIKELY(n_in <= JN_CALL_FEW)) {
        k->in = room->in;
        k->types = room->types;
        k->type_of = room->type_of;
        k->cv = room->cv;
        k->cells = room->cells;
        k->temps = room->temps;
        for (unsigned i = 0; i < n_in; i++)
            k->temps[i] = NULL;
        return JANUS_OK;
    }
    size_t each = sizeof *k->in + sizeof *k->types + sizeof *k->type_of + sizeof *k->cv +
                  sizeof *k->cells + sizeof *k->temps;
    char *p = jn_calloc(n_in, each);
    if (!p)
        return JN_NO_MEMORY();
    k->block = p;
    k->in = (jn_view *)(void *)p;
    p += n_in * sizeof *k->in;
    k->types = (jn_type *)(void *)p;
    p += n_in * sizeof *k->types;
    k->type_of = (const jn_type **)(void *)p;
    p += n_in * sizeof *k->type_of;
    k->cv = (const int64_t **)(void *)p;
    p += n_in * sizeof *k->cv;
    k->cells = (jn_cell *)(void *)p;
    p += n_in * sizeof *k->cells;
    k->temps = (janus_tensor **)(void *)p;
    return JANUS_OK;
}

void jn_call_done(jn_call *k) {
    for (unsigned i = 0; i < k->n_in; i++)
        if (k->temps[i])
            janus_tensor_release(k->temps[i]);
    jn_free(k->block);
}

/* Operand position's declaration; the last one stands for all further operands. */
static const jn_operand *operand_of(const jn_op *op, unsigned i) {
    unsigned k = 0;
    while (k < i && op->operands[k].accept != JN_ACCEPT_END && !op->operands[k].variadic)
        k++;
    return &op->operands[k];
}

static void take_scalar(jn_call *k, unsigned i, janus_kind kind, janus_scalar s) {
    janus_kind want = (janus_kind)operand_of(k->op, i)->dtype_class;
    if (want == JANUS_KIND_FLOAT && kind != JANUS_KIND_FLOAT) {
        const double f = (double)s.i;
        s.f = f;
        kind = JANUS_KIND_FLOAT;
    }
    janus_dtype dtype = JANUS_I64;
    k->cv[i] = NULL;
    if (kind == JANUS_KIND_FLOAT) {
        k->cells[i].f = s.f;
        dtype = JANUS_F64;
    } else {
        k->cells[i].i = s.i; /* a bool's byte is the first one of the number */
        if (kind == JANUS_KIND_BOOL) {
            k->cells[i].i = 0;
            k->cells[i].b = s.i != 0;
            dtype = JANUS_BOOL;
        }
        k->cv[i] = &k->cells[i].i;
    }
    k->types[i] = jn_scalar_type(kind);
    k->type_of[i] = &k->types[i];
    k->in[i] = (jn_view){&k->cells[i], NULL, NULL, 0, (uint8_t)dtype, true};
}

/* Whether elements of an operand are read: of others the type is all that counts. */
static bool read(const jn_op *op, unsigned i) {
    return operand_of(op, i)->accept != JN_ACCEPT_LIKE;
}

/* Types and strides are looked at first; elements, which may have to be computed, when a kernel is
 * to run (jn_call_straighten). */
static janus_status take_operands(jn_call *k, const jn_eager_arg *in) {
    for (unsigned i = 0; i < k->n_in; i++) {
        switch (in[i].kind) {
        case JANUS_KIND_TENSOR:
            if (JN_UNLIKELY(jn_storage_waits(in[i].t->storage))) {
                k->waits = k->waits || read(k->op, i);
                k->in[i] = jn_tensor_layout(in[i].t);
            } else {
                JN_TRY(jn_tensor_as_view(in[i].t, &k->in[i]));
            }
            k->types[i] = jn_tensor_as_type(in[i].t);
            k->type_of[i] = &k->types[i];
            k->cv[i] = NULL;
            break;
        case JN_EAGER_LAYOUT:
            k->in[i] = jn_tensor_layout(in[i].layout);
            k->types[i] = jn_tensor_as_type(in[i].layout);
            k->type_of[i] = &k->types[i];
            k->cv[i] = NULL;
            break;
        case JN_EAGER_LIKE:
            if (operand_of(k->op, i)->accept != JN_ACCEPT_LIKE)
                return jn_error(JANUS_INTERNAL, "%s: operand %u has no data", k->op->name, i);
            k->in[i] =
                (jn_view){NULL, in[i].like->dims, NULL, in[i].like->rank, in[i].like->dtype, false};
            k->type_of[i] = in[i].like;
            k->cv[i] = NULL;
            break;
        case JANUS_KIND_NONE:
            k->in[i] = (jn_view){.rank = -1};
            k->type_of[i] = NULL;
            k->cv[i] = NULL;
            break;
        default:
            take_scalar(k, i, (janus_kind)in[i].kind, in[i].s);
        }
    }
    return JANUS_OK;
}

/* With device tensors about: where the call runs.  0-d host tensors go there with it. */
static janus_status find_device(jn_call *k, const jn_eager_arg *in, const janus_tensor *dst) {
    JN_TRY(jn_dev_of_args(k->op, in, k->n_in, dst, &k->device));
    for (unsigned i = 0; i < k->n_in && k->device; i++) {
        if (in[i].kind != JANUS_KIND_TENSOR || in[i].t->storage->device)
            continue;
        JN_TRY(jn_tensor_to(in[i].t, k->device, false, &k->temps[i]));
        JN_TRY(jn_tensor_as_view(k->temps[i], &k->in[i]));
    }
    return JANUS_OK;
}

static bool like_p(const janus_tensor *p, const janus_tensor *t) {
    if (t->dtype != p->dtype || t->rank != p->rank)
        return false;
    for (int i = 0; i < p->rank; i++)
        if (t->dims[i] != p->dims[i])
            return false;
    return true;
}

/* What jn_infer_optim and the operands' classes ask, of tensors as they nearly always are. */
static bool step_fits(const jn_call *k, const jn_eager_arg *in) {
    if (!(k->op->flags & JN_OP_STEP) || jn_dev_in_use || k->n_in < 2 ||
        in[k->n_in - 1].kind != JANUS_KIND_FLOAT)
        return false;
    for (unsigned i = 0; i + 1 < k->n_in; i++) {
        if (in[i].kind != JANUS_KIND_TENSOR || !jn_dtype_is_float(in[i].t->dtype))
            return false;
        bool count = i && k->op->operands[i].dtype_class == JN_DT_FLOAT; /* the steps so far */
        if (count ? in[i].t->rank != 0 : !like_p(in[0].t, in[i].t))
            return false;
    }
    return true;
}

janus_status jn_call_infer_step(jn_call *k, const jn_eager_arg *in, const janus_tensor *dst) {
    return JN_LIKELY(step_fits(k, in)) ? take_operands(k, in) : jn_call_infer(k, in, dst);
}

janus_status jn_call_infer(jn_call *k, const jn_eager_arg *in, const janus_tensor *dst) {
    JN_TRY(take_operands(k, in));
    if (JN_UNLIKELY(jn_dev_in_use))
        JN_TRY(find_device(k, in, dst));
    jn_infer c = {.op = k->op,
                  .n_in = k->n_in,
                  .in = k->type_of,
                  .cv = k->cv,
                  .attrs = k->attrs,
                  .n_out = k->n_out,
                  .out = k->out_types,
                  .dims_of = dims_of,
                  .user = k};
    JN_TRY(jn_infer_run(&c));
    for (unsigned i = 0; i < k->n_out; i++)
        if (k->out_types[i].kind != JANUS_KIND_TENSOR || !jn_type_static(&k->out_types[i]))
            return jn_error(JANUS_UNSUPPORTED, "%s: no tensor of a known shape results",
                            k->op->name);
    return JANUS_OK;
}

janus_status jn_call_straighten(jn_call *k, const jn_eager_arg *in) {
    for (unsigned i = 0; JN_UNLIKELY(k->waits) && i < k->n_in; i++)
        if (in[i].kind == JANUS_KIND_TENSOR && !k->temps[i] && read(k->op, i))
            JN_TRY(jn_tensor_as_view(in[i].t, &k->in[i]));
    if (k->op->flags & JN_OP_STRIDED)
        return JANUS_OK;
    for (unsigned i = 0; i < k->n_in; i++) {
        if (in[i].kind != JANUS_KIND_TENSOR || in[i].t->contiguous || k->temps[i] ||
            !read(k->op, i))
            continue;
        JN_TRY(jn_tensor_contiguous(in[i].t, &k->temps[i]));
        JN_TRY(jn_tensor_as_view(k->temps[i], &k->in[i]));
    }
    return JANUS_OK;
}

janus_status jn_call_flag_error(const jn_op *op, uint32_t flags) {
    if (flags & JN_KFLAG_INDEX)
        return jn_error(JANUS_INDEX, "%s: index out of range", op->name);
    if (flags & JN_KFLAG_DIVZERO)
        return jn_error(JANUS_ARITHMETIC, "%s: integer division or modulo by zero", op->name);
    if (flags & JN_KFLAG_MEMORY)
        return jn_error(JANUS_NO_MEMORY, "%s: out of memory", op->name);
    return jn_error(JANUS_ARITHMETIC, "%s: integer overflow", op->name);
}

janus_status jn_dev_of_args(const jn_op *op, const jn_eager_arg *in, unsigned n_in,
                            const janus_tensor *dst, jn_device **out) {
    jn_device *found = dst ? dst->storage->device : NULL;
    bool none = !dst;
    for (unsigned i = 0; i < n_in && !found; i++)
        if (in[i].kind == JANUS_KIND_TENSOR) {
            found = in[i].t->storage->device;
            none = false;
        }
    if (none)
        found = jn_dev_for_new;
    *out = found;
    unsigned first_index = jn_op_impls[op->id].indices_from;
    if (!first_index)
        first_index = n_in;
    for (unsigned i = 0; i < n_in && i < first_index && found; i++)
        if (in[i].kind == JANUS_KIND_TENSOR && in[i].t->storage->device != found &&
            in[i].t->rank > 0)
            return jn_error(JANUS_DEVICE,
                            "expected all tensors to be on the same device, but found at least two "
                            "devices, cuda and cpu (operand %u)",
                            i);
    return dst && found && dst->storage->device != found
               ? jn_error(JANUS_DEVICE, "in place: the tensor is on cpu, the operands are on cuda")
               : JANUS_OK;
}
