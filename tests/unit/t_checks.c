/* Invariants of the executor: each one, broken by hand, is found and named. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "exec/plan/plan_internal.h"
#include "exec/schedule/schedule.h"
#include "exec/store/store.h"
#include "janus.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

/* A window of three tasks in a chain, each of one input and one output: task i reads what task i -
 * 1 promises, the first a concrete tensor. */
enum { N = 3 };
static jn_shape shape = {.dtype = JANUS_F32, .numel = 1, .bytes = 4}, other;
static const jn_shape *in_shape[1], *out_shape[1];
static jn_segment segment;
static jn_seginst inst;
static jn_tval concrete, *input[N];
static jn_task *task[N];
static uint32_t deps[N - 1];

static void make_window(void) {
    in_shape[0] = out_shape[0] = &shape;
    segment = (jn_segment){.n_inputs = 1, .n_outputs = 1};
    inst = (jn_seginst){.seg = &segment, .in = in_shape, .out = out_shape};
    concrete = (jn_tval){.shape = &shape};
    for (uint32_t i = 0; i < N; i++) {
        free(task[i]);
        task[i] = calloc(1, sizeof(jn_task) + sizeof(jn_tval));
        CU_ASSERT_PTR_NOT_NULL_FATAL(task[i]);
        jn_task *t = task[i];
        t->inst = &inst;
        t->id = t->level = i;
        t->first_dep = i ? i - 1 : 0;
        t->n_deps = i != 0;
        input[i] = i ? &task[i - 1]->out[0] : &concrete;
        t->in = &input[i];
        t->out[0] = (jn_tval){.shape = &shape, .task = t};
        if (i)
            deps[i - 1] = i - 1;
    }
}

static janus_status look(void) {
    jn_window w = {.deps = deps, .n_deps = N - 1, .task = task, .n = N, .max_level = N - 1};
    return jn_window_check(&w, "a test");
}

static void found(janus_status st, const char *what) {
    CU_ASSERT_EQUAL(st, JANUS_INTERNAL);
    if (st != JANUS_INTERNAL || !strstr(janus_last_error()->message, what))
        printf("expected \"%s\", got %s\n", what, st ? janus_last_error()->message : "nothing");
    CU_ASSERT(st == JANUS_INTERNAL && strstr(janus_last_error()->message, what) != NULL);
}

static void windows(void) {
    make_window();
    CU_ASSERT_EQUAL(look(), JANUS_OK);
    task[1]->id = 2;
    found(look(), "after a test, task 1 of the window: its number");
    make_window();
    task[2]->done = true;
    found(look(), "has run");
    make_window();
    task[2]->level = N;
    found(look(), "above the highest");
    make_window();
    task[2]->n_deps = 2;
    found(look(), "more than is written down");
    make_window();
    deps[0] = 1;
    found(look(), "itself or a later one");
    make_window();
    task[1]->level = 0;
    found(look(), "its own level");
    make_window();
    task[1]->n_deps = 0;
    found(look(), "does not wait");
    make_window();
    concrete.shape = &other;
    found(look(), "another shape");
    make_window();
    task[1]->out[0].task = task[0];
    found(look(), "not its promise");
    jn_task outside = {.inst = &inst, .id = 0};
    make_window();
    concrete.task = &outside;
    found(look(), "outside of the window");
}

/* Phase 0 is light and has task 0, phase 1 has tasks 1 and 2, lane 1. */
static void lanes(void) {
    make_window();
    uint32_t key[N] = {0, 3, 3}, start[] = {0, 1, 1, 1, N};
    jn_task *sorted[N] = {task[0], task[1], task[2]};
    jn_dealt d = {deps, task, sorted, key, start, N, 0, 2, 2};
    CU_ASSERT_EQUAL(jn_dealt_check(&d), JANUS_OK);
    key[1] = 2; /* another lane than that of task 2, which waits for it */
    start[3] = 2;
    found(jn_dealt_check(&d), "of another lane");
    key[1] = 3;
    found(jn_dealt_check(&d), "not dealt to");
    start[3] = 1;
    sorted[1] = task[2], sorted[2] = task[1];
    found(jn_dealt_check(&d), "issue order");
    start[4] = 2;
    found(jn_dealt_check(&d), "more or fewer");
}

/* Memory that a run and two frame values hold, with a tensor that it keeps alive twice. */
static void memory(void) {
    jn_mem *m = jn_mem_new(&jn_on_cpu, NULL);
    janus_tensor *t;
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(jn_mem_check(m, "it is new", true), JANUS_OK);
    CU_ASSERT_EQUAL_FATAL(jn_tensor_empty(JANUS_F32, 0, NULL, &t), JANUS_OK);
    janus_tensor_retain(t);
    CU_ASSERT(jn_vec_push(&m->owned, t) && jn_vec_push(&m->owned, t));
    CU_ASSERT_PTR_NOT_NULL(jn_mem_tensor(m, 100));
    jn_mem_hold(m);
    jn_mem_hold(m);
    CU_ASSERT_EQUAL(jn_mem_check(m, "it is in use", false), JANUS_OK);
    found(jn_mem_check(m, "a run begins", true),
          "when a run begins: a frame value of an earlier run");
    jn_mem_retain(m);
    found(jn_mem_check(m, "it is in use", false), "more references than holders");
    m->refs = 2;
    found(jn_mem_check(m, "it is in use", false), "fewer references than holders");
    m->refs = 3;
    t->refs--;
    found(jn_mem_check(m, "it is in use", false), "a tensor has fewer references");
    t->refs++;
    m->chunks.data[0].used += m->chunks.data[0].bytes;
    found(jn_mem_check(m, "it is in use", false), "more of a chunk");
    m->chunks.data[0].used -= m->chunks.data[0].bytes;
    m->bytes++;
    found(jn_mem_check(m, "it is in use", false), "other bytes");
    m->bytes--;
    m->chunk_at = 2;
    found(jn_mem_check(m, "it is in use", false), "that there is not");
    m->chunk_at = 0;
    jn_mem_let_go(m);
    jn_mem_let_go(m);
    found(jn_mem_check(m, "a run begins", true), "keeps tensors of an earlier run");
    jn_mem_reset(m);
    CU_ASSERT_EQUAL(jn_mem_check(m, "a run begins", true), JANUS_OK);
    m->frames = -1;
    found(jn_mem_check(m, "a run begins", true), "more than once");
    jn_mem_release(m);
}

/* Memory of somebody else that begins where a storage's own block ends, or a struct further: whose
 * the elements are is not told by their address. */
static void neighbours(void) {
    for (size_t behind = 64; behind <= 512; behind += 64) {
        int64_t dim = 100, step = 1;
        jn_slab *slab = calloc(1, sizeof *slab + sizeof slab->holds[0]);
        janus_tensor *t;
        CU_ASSERT_PTR_NOT_NULL_FATAL(slab);
        CU_ASSERT_EQUAL_FATAL(jn_tensor_promise(JANUS_F32, 1, &dim, &step, dim, NULL, &t),
                              JANUS_OK);
        slab->data = (char *)t->storage + behind;
        slab->units = 1;
        jn_tensor_put(t, slab->data, slab);
        CU_ASSERT_EQUAL(slab->holds[0], 1);
        janus_tensor_release(t);
        CU_ASSERT_EQUAL(slab->holds[0], 0);
        free(slab);
    }
}

/* One segment: a node that reads an input and a node that reads that one. */
static void plans(void) {
    uint32_t in_slot[] = {0}, out_slot[] = {1}, value[] = {0, 1};
    jn_src in[] = {{JN_SRC_INPUT, 0, 0}, {JN_SRC_NODE, 0, 0}}, out[] = {{JN_SRC_NODE, 0, 1}};
    jn_segnode node[] = {
        {.n_in = 1, .n_out = 1, .in = &in[0], .value = &value[0], .acc = -1, .fused_acc = -1},
        {.n_in = 1, .n_out = 1, .in = &in[1], .value = &value[1], .acc = -1, .fused_acc = -1}};
    jn_segment seg = {.n_nodes = 2,
                      .n_inputs = 1,
                      .n_outputs = 1,
                      .n_values = 2,
                      .nodes = node,
                      .input_slot = in_slot,
                      .output_slot = out_slot,
                      .output = out};
    jn_instr code[] = {{.op = JN_I_JUMP, .imm = 1}, {.op = JN_I_ISSUE, .aux = &seg}};
    uint8_t kind[] = {JANUS_KIND_TENSOR, JANUS_KIND_TENSOR};
    jn_subgraph sub = {.name = (char *)"f"};
    jn_plan p = {.sub = &sub, .code = code, .n_code = 2, .n_slots = 2, .slot_kind = kind};
    CU_ASSERT_EQUAL(jn_plan_check(&p), JANUS_OK);
    in[1].index = 1;
    found(jn_plan_check(&p), "the plan of @f, instruction 1: a node reads a later one");
    in[1].index = 0;
    in[0].index = 1;
    found(jn_plan_check(&p), "an input that there is not");
    in[0].index = 0;
    kind[0] = JANUS_KIND_INT;
    found(jn_plan_check(&p), "is of no tensor");
    kind[0] = JANUS_KIND_TENSOR;
    node[1].fused_acc = 0;
    found(jn_plan_check(&p), "an accumulator that there is not");
    node[1].fused_acc = -1;
    value[1] = 2;
    found(jn_plan_check(&p), "has no value");
    value[1] = 1;
    code[0].imm = 2;
    found(jn_plan_check(&p), "leads out");
}

JN_TEST_MAIN("checks", {"windows", windows}, {"lanes", lanes}, {"memory", memory},
             {"neighbours", neighbours}, {"plans", plans})
