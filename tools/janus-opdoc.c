/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus-opdoc --c | --md: writes include/janus_ops.h or docs/ops.md from the op table.
 *
 * Both are committed; `make regen` writes them and tests/lint/generated.sh fails when they are
 * stale.
 */
#include "config.h"

#include "graph/ir/ir.h"
#include "ops/kernel.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const scalar_kinds[] = {"int, float or bool", "", "int", "float", "bool"};
static const char *const dtype_classes[] = {"any",  "float", "integer", "number",
                                            "bool", "",      "",        ""};

/* The op's name as a C identifier: s.add is s_add. */
static const char *c_name(const jn_op *op) {
    static char buf[64];
    snprintf(buf, sizeof buf, "%s", op->name);
    for (char *p = buf; *p; p++)
        *p = *p == '.' ? '_' : *p;
    return buf;
}

/* ---- docs/ops.md
 * --------------------------------------------------------------------------------- */

static void operand_md(const jn_op *op, const jn_operand *o) {
    printf("- `%s`%s: ", o->name, o->variadic ? " (any number)" : o->optional ? " (optional)" : "");
    switch ((jn_accept)o->accept) {
    case JN_ACCEPT_TENSOR:
        if (o->dtype_class >= JN_DT_SAME0)
            printf("tensor of the dtype of `%s`", op->operands[o->dtype_class - JN_DT_SAME0].name);
        else
            printf("%s tensor", dtype_classes[o->dtype_class]);
        if (o->doc)
            printf(", `%s`", o->doc);
        break;
    case JN_ACCEPT_LIKE:
        printf("tensor of which only shape and dtype are used");
        break;
    case JN_ACCEPT_SCALAR:
        printf("%s", scalar_kinds[o->dtype_class]);
        break;
    case JN_ACCEPT_SHAPE:
        printf("int that decides a size");
        break;
    case JN_ACCEPT_OBJECT:
        printf("object");
        break;
    case JN_ACCEPT_FRAME:
        printf("frame");
        break;
    case JN_ACCEPT_ACC:
        printf("accumulator");
        break;
    default:
        printf("any value");
    }
    printf("\n");
}

static void signature_md(const jn_op *op) {
    printf("### %s\n\n`%s(", op->name, op->name);
    for (const jn_operand *o = op->operands; o->accept != JN_ACCEPT_END; o++)
        printf("%s%s%s", o == op->operands ? "" : ", ", o->name,
               o->variadic   ? "..."
               : o->optional ? "?"
                             : "");
    printf(")");
    for (const jn_attr_spec *a = op->attrs; a->name; a++)
        printf("%s%s%s%s", a == op->attrs ? " {" : ", ", a->name, a->dflt ? "=" : "",
               a->dflt ? (*a->dflt ? a->dflt : "()") : "");
    printf("%s -> ", op->attrs->name ? "}" : "");
    if (op->n_out == 255)
        printf("results of the SubGraph");
    else if (op->n_out == 0)
        printf("nothing");
    for (unsigned i = 0; op->n_out != 255 && i < op->n_out; i++)
        printf("%s%s", i ? ", " : "", op->out_names[i]);
    printf("`\n\n");
}

static void op_md(const jn_op *op) {
    static const char *const batch[] = {
        "one by one",      "elementwise", "folded into the first dim",
        "as one more dim", "in segments", "by a rule"};
    const jn_op_impl *impl = &jn_op_impls[op->id];
    signature_md(op);
    printf("%c%s.\n\n", toupper((unsigned char)op->doc[0]), op->doc + 1);
    for (const jn_operand *o = op->operands; o->accept != JN_ACCEPT_END; o++)
        operand_md(op, o);
    if (op->operands->accept != JN_ACCEPT_END)
        printf("\n");
    if (!impl->ref)
        return;
    printf("%s; rows %s%s%s%s.\n\n", op->grad ? "Differentiable" : "No gradient",
           batch[impl->batch], op->flags & JN_OP_VIEW ? "; a view where strides allow" : "",
           op->flags & JN_OP_MAY_RAISE ? "; may raise" : "",
           op->flags & JN_OP_ADDS ? "; can add to an accumulator" : "");
}

static void write_md(void) {
    static const struct {
        const char *title;
        unsigned roles;
    } sections[] = {
        {"Tensors", 1u << JN_ROLE_COMPUTE},
        {"Random numbers", 1u << JN_ROLE_RNG},
        {"Constants", 1u << JN_ROLE_CONST},
        {"Scalars", 1u << JN_ROLE_SCALAR},
        {"Control", 1u << JN_ROLE_INVOKE | 1u << JN_ROLE_IF | 1u << JN_ROLE_WHILE |
                        1u << JN_ROLE_FOREACH | 1u << JN_ROLE_SAVED | 1u << JN_ROLE_GRAD |
                        1u << JN_ROLE_ACC | 1u << JN_ROLE_ASSERT},
        {"Host objects", 1u << JN_ROLE_HOST},
        {"Notes", 1u << JN_ROLE_NOTE},
    };
    printf("# Ops\n\nWritten by `janus-opdoc --md` from `ops/def/*.def`; do not edit.\n");
    printf("Operands marked `?` may be absent (`_`); attributes are given with their defaults.\n");
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
        printf("\n## %s\n\n", sections[s].title);
        for (unsigned i = 0; i < jn_n_ops; i++) {
            if (sections[s].roles >> jn_ops[i].role & 1)
                op_md(&jn_ops[i]);
        }
    }
}

/* ---- include/janus_ops.h
 * -------------------------------------------------------------------------- */

static const char *attr_type(jn_attr_kind k) {
    switch (k) {
    case JN_ATTR_FLOAT:
        return "double ";
    case JN_ATTR_INTS:
        return "janus_ints ";
    case JN_ATTR_STR:
        return "const char *";
    case JN_ATTR_DATA:
        return "janus_data ";
    default:
        return "int64_t ";
    }
}

/* Calls that name SubGraphs have builder functions of their own in janus.h. */
static bool has_builder(const jn_op *op) {
    switch ((jn_role)op->role) {
    case JN_ROLE_INVOKE:
    case JN_ROLE_IF:
    case JN_ROLE_WHILE:
    case JN_ROLE_FOREACH:
    case JN_ROLE_SAVED:
    case JN_ROLE_GRAD:
        return false;
    default:
        return op->n_out != 255;
    }
}

static void struct_c(const jn_op *op) {
    printf("typedef struct janus_%s_attrs {\n    size_t struct_size;\n", c_name(op));
    for (const jn_attr_spec *a = op->attrs; a->name; a++) {
        printf("    %s%s;", attr_type(a->kind), a->name);
        printf(a->dflt ? " /* default: %s */\n" : " /* required */\n",
               a->dflt && !*a->dflt ? "none" : a->dflt);
    }
    printf("} janus_%s_attrs;\n", c_name(op));
}

static void builder_c(const jn_op *op) {
    unsigned n = 0;
    bool variadic = false;
    printf("\n/* %s */\nstatic inline janus_status janus_build_%s(janus_subgraph *g", op->doc,
           c_name(op));
    for (const jn_operand *o = op->operands; o->accept != JN_ACCEPT_END; o++) {
        variadic |= o->variadic;
        n += !o->variadic;
        if (o->variadic)
            printf(", const janus_value *%s, unsigned n_%s", o->name, o->name);
        else
            printf(", janus_value %s", o->name);
    }
    if (op->attr_size)
        printf(", const janus_%s_attrs *attrs", c_name(op));
    for (unsigned i = 0; i < op->n_out; i++)
        printf(", janus_value *out_%s", op->out_names[i]);
    printf(") {\n");
    const char *rest = NULL;
    for (const jn_operand *o = op->operands; o->accept != JN_ACCEPT_END; o++)
        rest = o->variadic ? o->name : rest;
    if (variadic)
        printf("    janus_value in[%u + JANUS_OPS_MAX_VARIADIC];\n    unsigned i;\n", n);
    else if (n)
        printf("    janus_value in[%u];\n", n);
    if (op->n_out)
        printf("    janus_value out[%u];\n", op->n_out);
    printf("    janus_status st;\n");
    unsigned k = 0;
    for (const jn_operand *o = op->operands; o->accept != JN_ACCEPT_END; o++) {
        if (!o->variadic)
            printf("    in[%u] = %s;\n", k++, o->name);
    }
    if (variadic)
        printf("    if (n_%s > JANUS_OPS_MAX_VARIADIC || (n_%s && !%s))\n"
               "        return JANUS_INVALID_ARGUMENT;\n"
               "    for (i = 0; i < n_%s; i++)\n        in[%u + i] = %s[i];\n",
               rest, rest, rest, rest, n, rest);
    for (unsigned i = 0; i < op->n_out; i++)
        printf("    if (!out_%s)\n        return JANUS_INVALID_ARGUMENT;\n", op->out_names[i]);
    printf("    st = janus_build(g, \"%s\", %s, %u", op->name, n || variadic ? "in" : "NULL", n);
    if (variadic)
        printf(" + n_%s", rest);
    printf(", %s, %s, %u);\n", op->attr_size ? "attrs" : "NULL", op->n_out ? "out" : "NULL",
           op->n_out);
    for (unsigned i = 0; i < op->n_out; i++)
        printf("    if (st == JANUS_OK)\n        *out_%s = out[%u];\n", op->out_names[i], i);
    printf("    return st;\n}\n");
}

static void write_c(void) {
    printf(
        "/* SPDX-License-Identifier: Apache-2.0 */\n"
        "/*\n"
        " * Attribute structs and typed builder calls of all ops.\n"
        " * Written by `janus-opdoc --c` from ops/def/; do not edit.\n"
        " *\n"
        " * attrs NULL: all defaults.  To set some, fill the whole struct, struct_size included.\n"
        " * An operand that may be absent: JANUS_ABSENT.  See docs/ops.md.\n"
        " */\n"
        "#ifndef JANUS_OPS_H\n#define JANUS_OPS_H\n\n#include \"janus.h\"\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "enum { JANUS_OPS_MAX_VARIADIC = 64 }; /* more operands: janus_build */\n\n"
        "static inline janus_value janus_absent(void) {\n"
        "    janus_value v = {UINT32_MAX, UINT32_MAX};\n    return v;\n}\n"
        "#define JANUS_ABSENT janus_absent()\n\n"
        "#ifndef JN_OPS_ATTRS_H /* inside the library they are made from the table itself */\n");
    for (unsigned i = 0; i < jn_n_ops; i++) {
        if (jn_ops[i].attr_size && has_builder(&jn_ops[i]))
            struct_c(&jn_ops[i]);
    }
    printf("#endif\n");
    for (unsigned i = 0; i < jn_n_ops; i++) {
        if (has_builder(&jn_ops[i]))
            builder_c(&jn_ops[i]);
    }
    printf("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--c") == 0) {
        write_c();
    } else if (argc == 2 && strcmp(argv[1], "--md") == 0) {
        write_md();
    } else {
        fprintf(stderr, "usage: janus-opdoc --c | --md\n");
        return 2;
    }
    return ferror(stdout) || fflush(stdout) != 0;
}
