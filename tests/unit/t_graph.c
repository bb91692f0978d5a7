/* Building graphs: types, attributes, inference, calls, what is refused and how it is said. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "graph/ir/ir.h"
#include "tests/unit/check.h"

#define OK(expr) CU_ASSERT_EQUAL_FATAL((expr), JANUS_OK)
#define FAILS(code, text, expr)                                                                    \
    do {                                                                                           \
        CU_ASSERT_EQUAL((expr), (code));                                                           \
        if (!strstr(janus_last_error()->message, (text)))                                          \
            fprintf(stderr, "message: %s\n", janus_last_error()->message);                         \
        CU_ASSERT_PTR_NOT_NULL(strstr(janus_last_error()->message, (text)));                       \
    } while (0)

static const jn_op *op_named(const char *name) {
    const jn_op *op = jn_op_find(name, strlen(name));
    CU_ASSERT_PTR_NOT_NULL_FATAL(op);
    return op;
}

/* ---- types and attributes ---------------------------------------------------------------------
 */

static void types_form_a_lattice(void) {
    int64_t d23[] = {2, 3}, d2u[] = {2, -1}, d24[] = {2, 4}, ds[] = {jn_dim_symbol(0), 3}, out[16];
    jn_type a = jn_tensor_type(JANUS_F32, 2, d23), b = jn_tensor_type(JANUS_F32, 2, d2u),
            c = jn_tensor_type(JANUS_F32, 2, d24), s = jn_tensor_type(JANUS_F32, 2, ds),
            any = jn_tensor_type(JANUS_F32, JN_RANK_UNKNOWN, NULL), j,
            i = jn_tensor_type(JANUS_I64, 2, d23), scalar = jn_scalar_type(JANUS_KIND_INT);
    CU_ASSERT(jn_type_fits(&a, &b) && !jn_type_fits(&b, &a));
    CU_ASSERT(jn_type_fits(&b, &any) && !jn_type_fits(&any, &b));
    CU_ASSERT(jn_type_fits(&a, &s) && !jn_type_fits(&s, &a));
    CU_ASSERT(!jn_type_fits(&a, &i) && !jn_type_fits(&a, &scalar));
    CU_ASSERT(jn_type_join(&a, &c, &j, out) && jn_type_equal(&j, &b));
    CU_ASSERT(jn_type_join(&a, &any, &j, out) && jn_type_equal(&j, &any));
    CU_ASSERT(!jn_type_join(&a, &i, &j, out));
    CU_ASSERT_EQUAL(jn_type_numel(&a), 6);
    CU_ASSERT_EQUAL(jn_type_numel(&b), -1);
    int64_t huge[] = {INT64_MAX, 2}, zero[] = {INT64_MAX, INT64_MAX, 0};
    jn_type h = jn_tensor_type(JANUS_F32, 2, huge), z = jn_tensor_type(JANUS_F32, 3, zero);
    CU_ASSERT_EQUAL(jn_type_numel(&h), -1);
    CU_ASSERT_EQUAL(jn_type_numel(&z), 0);
    CU_ASSERT_STRING_EQUAL(jn_type_text_of(&s).s, "f32[s0,3]");
    CU_ASSERT_STRING_EQUAL(jn_type_text_of(&any).s, "f32[*]");
}

static void types_are_interned(void) {
    janus_module *m;
    OK(jn_module_new(&m));
    int64_t d[] = {2, 3};
    jn_type a = jn_tensor_type(JANUS_F32, 2, d);
    const jn_type *first = jn_type_intern(m, &a);
    d[1] = 4;
    const jn_type *second = jn_type_intern(m, &a);
    d[1] = 3;
    CU_ASSERT_PTR_EQUAL(jn_type_intern(m, &a), first);
    CU_ASSERT_PTR_NOT_EQUAL(first, second);
    CU_ASSERT_EQUAL(first->dims[1], 3);
    jn_module_release(m);
}

static void every_row_is_found(void) {
    for (unsigned i = 0; i < jn_n_ops; i++)
        CU_ASSERT_PTR_EQUAL(jn_op_find(jn_ops[i].name, strlen(jn_ops[i].name)), &jn_ops[i]);
    CU_ASSERT_PTR_NULL(jn_op_find("ad", 2));
    CU_ASSERT_PTR_NULL(jn_op_find("addx", 4));
    CU_ASSERT_PTR_NULL(jn_op_find("", 0));
}

static void every_default_reads_back(void) {
    jn_arena arena;
    jn_arena_init(&arena, 0);
    unsigned n_ops = 0;
    for (unsigned i = 0; i < jn_n_ops; i++) {
        const jn_op *op = &jn_ops[i];
        const void *dflt, *copy;
        jn_str s = {0};
        OK(jn_attrs_defaults(op, &dflt));
        bool required = false; /* without a default, so what stands there is out of range */
        for (const jn_attr_spec *p = op->attrs; p->name; p++)
            required |= !p->dflt;
        if (!op->attr_size || required)
            continue;
        n_ops++;
        OK(jn_attrs_copy(op, dflt, &arena, &copy));
        CU_ASSERT_TRUE(jn_attrs_equal(op, dflt, copy));
        CU_ASSERT_EQUAL(jn_attrs_hash(op, dflt), jn_attrs_hash(op, copy));
        for (const jn_attr_spec *p = op->attrs; p->name; p++)
            CU_ASSERT_PTR_EQUAL(jn_attr_find(op, p->name, strlen(p->name)), p);
        jn_attrs_print(op, dflt, &s);
        jn_str_free(&s);
    }
    CU_ASSERT_TRUE(n_ops > 20);
    jn_arena_free(&arena);
}

static void short_structs_are_completed(void) {
    /* A caller compiled when `sum` had only its first attribute. */
    const jn_op *op = op_named("sum");
    const jn_attr_spec *dims = jn_attr_find(op, "dims", 4), *keep = jn_attr_find(op, "keepdim", 7);
    CU_ASSERT_FATAL(dims && keep && dims->offset < keep->offset);
    char given[256] = {0};
    int64_t axis = 1;
    *(size_t *)given = keep->offset;
    *(janus_ints *)(given + dims->offset) = (janus_ints){&axis, 1};
    memset(given + keep->offset, 0xee, 16);
    jn_arena arena;
    jn_arena_init(&arena, 0);
    const void *full;
    jn_str s = {0};
    OK(jn_attrs_copy(op, given, &arena, &full));
    CU_ASSERT_EQUAL(*(const size_t *)full, op->attr_size);
    jn_attrs_print(op, full, &s);
    CU_ASSERT_STRING_EQUAL(s.data, "{dims=[1]}");
    *(size_t *)given = 0;
    FAILS(JANUS_INVALID_ARGUMENT, "struct_size", jn_attrs_copy(op, given, &arena, &full));
    FAILS(JANUS_INVALID_ARGUMENT, "key is required",
          jn_attrs_copy(op_named("host.attr"), NULL, &arena, &full));
    jn_str_free(&s);
    jn_arena_free(&arena);
}

/* ---- building
 * ----------------------------------------------------------------------------------*/

typedef struct fixture {
    janus_module *m;
    janus_subgraph *g;
    janus_value x, w, n, o;
} fixture;

/* @f(%x: f32[2,3], %w: f32[3,4], %n: int, %o: object) */
static fixture begin(void) {
    fixture f;
    int64_t dx[] = {2, 3}, dw[] = {3, 4};
    janus_type x = {.kind = JANUS_KIND_TENSOR, .rank = 2, .dims = dx},
               w = {.kind = JANUS_KIND_TENSOR, .rank = 2, .dims = dw}, n = {.kind = JANUS_KIND_INT},
               o = {.kind = JANUS_KIND_OBJECT};
    OK(janus_module_new(&f.m));
    OK(janus_subgraph_declare(f.m, "f", NULL, 0, &f.g));
    OK(janus_subgraph_param(f.g, "x", &x, false, &f.x));
    OK(janus_subgraph_param(f.g, "w", &w, false, &f.w));
    OK(janus_subgraph_param(f.g, "n", &n, false, &f.n));
    OK(janus_subgraph_param(f.g, "o", &o, false, &f.o));
    return f;
}

static void the_public_builder_builds(void) {
    fixture f = begin();
    janus_value y, c, z;
    janus_subgraph_at(f.g, "model.py", 7, 3);
    OK(janus_build(f.g, "matmul", (janus_value[]){f.x, f.w}, 2, NULL, &y, 1));
    OK(janus_build_float(f.g, 0.5, &c));
    OK(janus_build(f.g, "tanh", &y, 1, NULL, &z, 1));
    janus_type t = janus_value_type(f.g, z);
    CU_ASSERT(t.kind == JANUS_KIND_TENSOR && t.rank == 2 && t.dims[0] == 2 && t.dims[1] == 4);
    OK(janus_subgraph_define(f.g, &z, 1));
    OK(janus_module_freeze(f.m));
    char *text;
    OK(janus_module_print(f.m, &text));
    CU_ASSERT_STRING_EQUAL(text, "module {\n"
                                 "  sub @f(%x: f32[2,3], %w: f32[3,4], %n: int, %o: object) -> "
                                 "f32[2,4] {\n"
                                 "    %1 = matmul %x, %w : f32[2,4] @\"model.py\":7:3\n"
                                 "    %2 = float 0.5 @\"model.py\":7:3\n"
                                 "    %3 = tanh %1 : f32[2,4] @\"model.py\":7:3\n"
                                 "    return %3\n"
                                 "  }\n"
                                 "}\n");
    janus_free(text);
    FAILS(JANUS_INVALID_ARGUMENT, "frozen", janus_build_int(f.g, 1, &c));
    CU_ASSERT_PTR_EQUAL(janus_module_find(f.m, "f"), f.g);
    CU_ASSERT_PTR_NULL(janus_module_find(f.m, "g"));
    janus_module_release(f.m);
}

static void refusals_say_why(void) {
    fixture f = begin();
    janus_value y, many[2];
    janus_value xx[] = {f.x, f.x}, xo[] = {f.x, f.o}, bad[] = {f.x, {99, 0}};
    size_t before = f.g->nodes.n;
    FAILS(JANUS_SHAPE, "matmul", janus_build(f.g, "matmul", xx, 2, NULL, &y, 1));
    FAILS(JANUS_INVALID_ARGUMENT, "operand 1 (b): expected a tensor, got object",
          janus_build(f.g, "add", xo, 2, NULL, &y, 1));
    CU_ASSERT_PTR_NOT_NULL(strstr(janus_last_error()->context[0], "in @f, node %1 = add"));
    FAILS(JANUS_INVALID_ARGUMENT, "expected 2 operands, got 1",
          janus_build(f.g, "add", xx, 1, NULL, &y, 1));
    FAILS(JANUS_INVALID_ARGUMENT, "has 1 result, 2 asked for",
          janus_build(f.g, "add", xx, 2, NULL, many, 2));
    FAILS(JANUS_INVALID_ARGUMENT, "no value of @f", janus_build(f.g, "add", bad, 2, NULL, &y, 1));
    FAILS(JANUS_NOT_FOUND, "no op named", janus_build(f.g, "nonsense", xx, 2, NULL, &y, 1));
    FAILS(JANUS_INVALID_ARGUMENT, "own call", janus_build(f.g, "invoke", xx, 2, NULL, &y, 1));
    FAILS(JANUS_INVALID_ARGUMENT, "out is NULL", janus_build(f.g, "add", xx, 2, NULL, NULL, 1));
    FAILS(JANUS_INVALID_ARGUMENT, "SubGraph 0 is missing",
          janus_build_invoke(f.g, NULL, xx, 2, &y, 1));
    FAILS(JANUS_INVALID_ARGUMENT, "declared twice",
          janus_subgraph_declare(f.m, "f", NULL, 0, &f.g));
    FAILS(JANUS_INVALID_ARGUMENT, "not defined", janus_module_freeze(f.m));
    CU_ASSERT_EQUAL(f.g->nodes.n, before);
    janus_type t = {.kind = JANUS_KIND_TENSOR, .dtype = (janus_dtype)77};
    FAILS(JANUS_DTYPE, "dtype 77", janus_subgraph_param(f.g, "p", &t, false, &y));
    int64_t dims[] = {-2};
    t = (janus_type){.kind = JANUS_KIND_TENSOR, .rank = 1, .dims = dims};
    FAILS(JANUS_SHAPE, "dim 0 is -2", janus_subgraph_param(f.g, "p", &t, false, &y));
    t = (janus_type){.kind = JANUS_KIND_TENSOR, .rank = 17};
    FAILS(JANUS_SHAPE, "rank 17", janus_subgraph_param(f.g, "p", &t, false, &y));
    janus_module_release(f.m);
}

static void parameters_get_distinct_names(void) {
    fixture f = begin();
    jn_value v;
    jn_type t = jn_scalar_type(JANUS_KIND_INT);
    OK(jn_subgraph_add_param(f.g, "x", &t, false, &v));
    CU_ASSERT_STRING_EQUAL(f.g->params.data[v.index].name, "x.1");
    OK(jn_subgraph_add_param(f.g, "12", &t, false, &v));
    CU_ASSERT_STRING_EQUAL(f.g->params.data[v.index].name, "p12");
    OK(jn_subgraph_add_param(f.g, NULL, &t, false, &v));
    CU_ASSERT_EQUAL(jn_value_type(f.g, v)->kind, JANUS_KIND_INT);
    const char *name;
    OK(jn_module_fresh_name(f.m, "f", &name));
    CU_ASSERT_STRING_EQUAL(name, "f.1");
    janus_module_release(f.m);
}

static janus_module *parse(const char *text) {
    janus_module *m = NULL;
    if (janus_module_parse(text, strlen(text), "t", &m))
        fprintf(stderr, "%s\n", janus_last_error()->message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static const char *type_of(janus_module *m, const char *sub, uint32_t node, uint32_t index) {
    static jn_type_text text;
    text = jn_type_text_of(jn_value_type(janus_module_find(m, sub), (jn_value){node, index}));
    return text.s;
}

static void calls_bring_the_callers_dims(void) {
    janus_module *m = parse("module {\n"
                            "  sub @f(%x: f32[2,3], %y: f32[?,5]) -> () {\n"
                            "    %1 = invoke @id(%x)\n"
                            "    %2 = invoke @id(%y)\n"
                            "    %3 = bool true\n"
                            "    %4 = if %3, @id, @wide(%x)\n"
                            "    %5.0, %5.1 = invoke.save @id(%x)\n"
                            "    return\n"
                            "  }\n"
                            "  sub @id(%x: f32[s0,s1]) -> f32[s0,s1] {\n"
                            "    return %x\n"
                            "  }\n"
                            "  sub @wide(%x: f32[?,3]) -> f32[?,3] {\n"
                            "    return %x\n"
                            "  }\n"
                            "}\n");
    CU_ASSERT_STRING_EQUAL(type_of(m, "f", 1, 0), "f32[2,3]");
    CU_ASSERT_STRING_EQUAL(type_of(m, "f", 2, 0), "f32[?,5]");
    CU_ASSERT_STRING_EQUAL(type_of(m, "f", 4, 0), "f32[?,3]");
    CU_ASSERT_STRING_EQUAL(type_of(m, "f", 5, 1), "frame<@id>");
    janus_module_release(m);
}

static void loops_widen_what_they_carry(void) {
    janus_module *m = parse("module {\n"
                            "  sub @f(%n: int, %x: f32[2,3]) -> f32[?,3] {\n"
                            "    %1 = foreach %n, @grow(%x)\n"
                            "    return %1\n"
                            "  }\n"
                            "  sub @grow(%i: int, %x: f32[?,3]) -> f32[?,3] {\n"
                            "    %1 = concat %x, %x {axis=0}\n"
                            "    return %1\n"
                            "  }\n"
                            "}\n");
    CU_ASSERT_STRING_EQUAL(type_of(m, "f", 1, 0), "f32[?,3]");
    OK(janus_module_freeze(m));
    janus_module_release(m);
}

static void recursion_is_found(void) {
    janus_module *m = parse("module {\n"
                            "  sub @even(%n: int, shared %w: f32[2]) -> bool {\n"
                            "    %1 = invoke @odd(%n, %w)\n"
                            "    return %1\n"
                            "  }\n"
                            "  sub @odd(%n: int, shared %w: f32[2]) -> bool {\n"
                            "    %1 = invoke @even(%n, %w)\n"
                            "    return %1\n"
                            "  }\n"
                            "  sub @main(%n: int, %w: f32[2]) -> bool {\n"
                            "    %1 = neg %w\n"
                            "    %2 = invoke @even(%n, %1)\n"
                            "    return %2\n"
                            "  }\n"
                            "}\n");
    OK(janus_module_freeze(m));
    const jn_subgraph *even = janus_module_find(m, "even"), *odd = janus_module_find(m, "odd"),
                      *main_sub = janus_module_find(m, "main");
    CU_ASSERT(even->recursive && odd->recursive && !main_sub->recursive);
    CU_ASSERT_EQUAL(even->scc, odd->scc);
    CU_ASSERT(main_sub->scc > even->scc);
    janus_module_release(m);
}

static void shared_parameters_are_passed_on(void) {
    janus_module *m = parse("module {\n"
                            "  sub @f(%n: int, shared %w: f32[2]) -> int {\n"
                            "    %1 = neg %w\n"
                            "    %2 = invoke @f(%n, %1)\n"
                            "    return %2\n"
                            "  }\n"
                            "}\n");
    FAILS(JANUS_INVALID_ARGUMENT, "shared parameter w must be passed on", janus_module_freeze(m));
    janus_module_release(m);
    m = parse("module {\n"
              "  sub @f(%n: int, shared %w: f32[2]) -> int {\n"
              "    %1 = invoke @g(%n)\n"
              "    return %1\n"
              "  }\n"
              "  sub @g(%n: int) -> int {\n"
              "    %1 = constant {value=f32[2](0.0,0.0)}\n"
              "    %2 = invoke @f(%n, %1)\n"
              "    return %2\n"
              "  }\n"
              "}\n");
    FAILS(JANUS_INVALID_ARGUMENT, "same shared parameters", janus_module_freeze(m));
    janus_module_release(m);
}

/* A call graph deeper than any C stack would allow a recursive search to be. */
static void deep_call_graphs_are_fine(void) {
    enum { DEPTH = 200000 };
    janus_module *m;
    OK(jn_module_new(&m));
    jn_type t = jn_scalar_type(JANUS_KIND_INT);
    const jn_type *types[] = {&t};
    jn_subgraph *previous = NULL;
    const jn_op *invoke = op_named("invoke");
    for (int i = 0; i < DEPTH; i++) {
        jn_subgraph *g;
        jn_value x, y;
        char name[32];
        snprintf(name, sizeof name, "f%d", i);
        OK(jn_subgraph_declare(m, name, &g));
        OK(jn_subgraph_add_param(g, "x", &t, false, &x));
        OK(jn_subgraph_set_result_types(g, types, 1));
        y = x;
        if (previous)
            OK(jn_build(g, invoke, &x, 1, NULL, &previous, (jn_loc){0}, &y, 1));
        OK(jn_subgraph_define(g, &y, 1));
        previous = g;
    }
    OK(jn_module_freeze(m));
    CU_ASSERT_EQUAL(previous->scc, DEPTH - 1);
    jn_module_release(m);
}

JN_TEST_MAIN("graph", {"types form a lattice", types_form_a_lattice},
             {"types are interned", types_are_interned}, {"every row is found", every_row_is_found},
             {"every default reads back", every_default_reads_back},
             {"short structs are completed", short_structs_are_completed},
             {"the public builder builds", the_public_builder_builds},
             {"refusals say why", refusals_say_why},
             {"parameters get distinct names", parameters_get_distinct_names},
             {"calls bring the caller's dims", calls_bring_the_callers_dims},
             {"loops widen what they carry", loops_widen_what_they_carry},
             {"recursion is found", recursion_is_found},
             {"shared parameters are passed on", shared_parameters_are_passed_on},
             {"deep call graphs are fine", deep_call_graphs_are_fine})
