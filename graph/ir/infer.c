/* Inference of one op: what the row says about operands is checked here, the rest by its rule.
 *
 * Also on the path of every eager call, so the checks that pass cost a few instructions each and
 * messages are made out of line.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/ir/ir.h"

#include <stdio.h>
#include <string.h>

static bool is_scalar(int kind) {
    return kind == JANUS_KIND_INT || kind == JANUS_KIND_FLOAT || kind == JANUS_KIND_BOOL;
}

static const char *kind_name(int kind) {
    static const char *const names[] = {"none", "tensor", "int",   "float",
                                        "bool", "object", "frame", "accumulator"};
    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown kind";
}

static const char *expected(const jn_operand *o) {
    switch ((jn_accept)o->accept) {
    case JN_ACCEPT_TENSOR:
    case JN_ACCEPT_LIKE:
        return "a tensor";
    case JN_ACCEPT_SCALAR:
    case JN_ACCEPT_SHAPE:
        if (o->accept == JN_ACCEPT_SHAPE)
            return "an int";
        return o->dtype_class == JANUS_KIND_NONE ? "a scalar (int, float or bool)"
                                                 : kind_name(o->dtype_class);
    case JN_ACCEPT_OBJECT:
        return "an object";
    case JN_ACCEPT_FRAME:
        return "a frame";
    case JN_ACCEPT_ACC:
        return "an accumulator";
    case JN_ACCEPT_ANY:
    case JN_ACCEPT_END:
        break;
    }
    return "a value";
}

jn_type_text jn_type_text_of(const jn_type *t) {
    jn_type_text r;
    jn_str s = {0};
    if (t)
        jn_type_print(&s, t);
    snprintf(r.s, sizeof r.s, "%s",
             s.data && !s.broken ? s.data : kind_name(t ? t->kind : JANUS_KIND_NONE));
    jn_str_free(&s);
    return r;
}

__attribute__((cold)) static janus_status wrong_kind(const jn_infer *c, unsigned i,
                                                     const jn_operand *o) {
    jn_type_text got = jn_type_text_of(i < c->n_in ? c->in[i] : NULL);
    return jn_error(JANUS_INVALID_ARGUMENT, "%s: operand %u (%s): expected %s, got %s", c->op->name,
                    i, o->name, expected(o), got.s);
}

__attribute__((cold)) static janus_status wrong_dtype(const jn_infer *c, unsigned i,
                                                      const jn_operand *o, const char *want) {
    return jn_error(JANUS_DTYPE, "%s: operand %u (%s): expected %s, got %s", c->op->name, i,
                    o->name, want, jn_type_text_of(c->in[i]).s);
}

__attribute__((cold)) static janus_status wrong_count(const jn_infer *c) {
    const jn_op *op = c->op;
    char want[48];
    if (op->n_in_max == 255)
        snprintf(want, sizeof want, "at least %u", op->n_in_required);
    else if (op->n_in_max == op->n_in_required)
        snprintf(want, sizeof want, "%u", op->n_in_max);
    else
        snprintf(want, sizeof want, "%u to %u", op->n_in_required, op->n_in_max);
    return jn_error(JANUS_INVALID_ARGUMENT, "%s: expected %s operand%s, got %u", op->name, want,
                    op->n_in_max == 1 ? "" : "s", c->n_in);
}

static janus_status check_dtype(const jn_infer *c, unsigned i, const jn_operand *o) {
    int d = c->in[i]->dtype;
    switch ((jn_dtype_class)o->dtype_class) {
    case JN_DT_ANY:
        return JANUS_OK;
    case JN_DT_FLOAT:
        return jn_dtype_is_float(d) ? JANUS_OK : wrong_dtype(c, i, o, "f32, f64, f16 or bf16");
    case JN_DT_INT:
        return jn_dtype_is_int(d) ? JANUS_OK : wrong_dtype(c, i, o, "i32, i64 or u8");
    case JN_DT_NUM:
        return jn_dtype_is_float(d) || jn_dtype_is_int(d) ? JANUS_OK
                                                          : wrong_dtype(c, i, o, "a numeric dtype");
    case JN_DT_BOOL:
        return d == JANUS_BOOL ? JANUS_OK : wrong_dtype(c, i, o, "bool");
    case JN_DT_SAME0:
    case JN_DT_SAME1:
    case JN_DT_SAME2: {
        unsigned k = o->dtype_class - JN_DT_SAME0;
        const jn_type *other = k < c->n_in ? c->in[k] : NULL;
        if (!other || other->kind != JANUS_KIND_TENSOR || other->dtype == d)
            return JANUS_OK;
        char want[80];
        snprintf(want, sizeof want, "dtype %s as operand %u (%s)",
                 jn_dtype_name((janus_dtype)other->dtype), k, c->op->operands[k].name);
        return wrong_dtype(c, i, o, want);
    }
    }
    return JANUS_OK;
}

static janus_status check_operand(const jn_infer *c, unsigned i, const jn_operand *o) {
    const jn_type *t = c->in[i];
    if (!t || (t->kind == JANUS_KIND_NONE && o->accept != JN_ACCEPT_ANY))
        return o->optional || o->accept == JN_ACCEPT_ANY ? JANUS_OK : wrong_kind(c, i, o);
    switch ((jn_accept)o->accept) {
    case JN_ACCEPT_TENSOR:
        return t->kind == JANUS_KIND_TENSOR ? check_dtype(c, i, o) : wrong_kind(c, i, o);
    case JN_ACCEPT_LIKE:
        return t->kind == JANUS_KIND_TENSOR ? JANUS_OK : wrong_kind(c, i, o);
    case JN_ACCEPT_SCALAR:
        return is_scalar(t->kind) &&
                       (o->dtype_class == JANUS_KIND_NONE || o->dtype_class == t->kind)
                   ? JANUS_OK
                   : wrong_kind(c, i, o);
    case JN_ACCEPT_SHAPE:
        return t->kind == JANUS_KIND_INT ? JANUS_OK : wrong_kind(c, i, o);
    case JN_ACCEPT_OBJECT:
        return t->kind == JANUS_KIND_OBJECT ? JANUS_OK : wrong_kind(c, i, o);
    case JN_ACCEPT_FRAME:
        return t->kind == JANUS_KIND_FRAME ? JANUS_OK : wrong_kind(c, i, o);
    case JN_ACCEPT_ACC:
        return t->kind == JANUS_KIND_ACC ? JANUS_OK : wrong_kind(c, i, o);
    case JN_ACCEPT_ANY:
    case JN_ACCEPT_END:
        break;
    }
    return JANUS_OK;
}

janus_status jn_infer_check(const jn_infer *c) {
    const jn_op *op = c->op;
    if (JN_UNLIKELY(c->n_in < op->n_in_required || (op->n_in_max != 255 && c->n_in > op->n_in_max)))
        return wrong_count(c);
    const jn_operand *o = op->operands;
    for (unsigned i = 0; i < c->n_in; i++) {
        if (o->accept == JN_ACCEPT_END)
            return wrong_count(c);
        JN_TRY(check_operand(c, i, o));
        if (!o->variadic)
            o++;
    }
    /* Optional operands may be left out at the end, required ones that follow them may not. */
    for (unsigned i = c->n_in; o->accept != JN_ACCEPT_END && !o->variadic; i++, o++) {
        if (JN_UNLIKELY(!o->optional && o->accept != JN_ACCEPT_ANY))
            return wrong_kind(c, i, o);
    }
    return JANUS_OK;
}

janus_status jn_infer_run(jn_infer *c) {
    JN_TRY(jn_infer_check(c));
    if (JN_UNLIKELY(c->op->n_out != 255 && c->n_out != c->op->n_out))
        return jn_error(JANUS_INVALID_ARGUMENT, "%s: has %u result%s, %u asked for", c->op->name,
                        c->op->n_out, c->op->n_out == 1 ? "" : "s", c->n_out);
    JN_TRY(jn_attrs_check(c->op, c->attrs));
    if (!c->op->infer)
        return jn_error(JANUS_UNSUPPORTED, "%s: has no inference rule", c->op->name);
    return c->op->infer(c);
}
