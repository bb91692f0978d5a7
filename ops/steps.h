/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of steps: several elementwise ops in one pass over memory.
 *
 * A program is run block by block, jn_step_block() elements at once.  What a step computes, the
 * accumulator, stays in vector registers, where the next step finds it; other operands are read
 * from memory: a tensor, or a block of scratch (stride 0) that an earlier step has stored.  Numbers
 * are f32.  A bool is a mask between steps, all bits of a number's place; JN_STEP_LOAD_MASK and
 * JN_STEP_STORE_MASK go between masks and tensors of bools.
 *
 * A step computes what the op's kernel does, bit by bit.
 */
#ifndef JN_OPS_STEPS_H
#define JN_OPS_STEPS_H

#include "ops/kernel.h"

typedef void (*jn_step_fn)(void); /* in fact of the instruction set: ops/cpu/isa/steps.c */

enum { JN_STEP_OPERANDS = 3 };

typedef struct jn_step {
    jn_step_fn run;
    char *
        data[JN_STEP_OPERANDS]; /* per operand that is read from memory, [0]: what a store writes */
    int64_t stride[JN_STEP_OPERANDS]; /* bytes from element to element, 0: one block for all */
    float p, q;                       /* attributes and numbers */
} jn_step;

typedef enum jn_step_move {
    JN_STEP_LOAD,
    JN_STEP_STORE,
    JN_STEP_LOAD_MASK,
    JN_STEP_STORE_MASK,
    JN_STEP_END, /* the last of each program */
    JN_STEP_MOVES
} jn_step_move;

/* Whether an op of these dtypes can be a step; dims do not matter. */
bool jn_step_knows(const jn_sig *sig);
/* Makes a step of an op that jn_step_knows, but for its operands in memory.  `held`: bit k says
 * that operand k is the accumulator.  False: not in this form; with 0 it always succeeds. */
bool jn_step_make(const jn_sig *sig, unsigned held, jn_step *to);
/* What the op costs for an element, as a step; 1: as an addition.  Ops that are no steps cost much.
 */
uint32_t jn_step_cost(const jn_op *op);
void jn_step_make_move(jn_step_move move, jn_step *to);

/* What an addition, subtraction or product can do to its operand in memory before it reads it: that
 * spares a block of scratch and a step. */
typedef enum jn_step_change {
    JN_STEP_ABS,
    JN_STEP_NEG,
    JN_STEP_RELU,
    JN_STEP_SCALE, /* times jn_step.p */
    JN_STEP_CHANGES
} jn_step_change;
/* Which one an op of these dtypes is, JN_STEP_CHANGES: none; *what: the operand that is changed,
 * the other one of SCALE being a single number. */
jn_step_change jn_step_change_of(const jn_sig *sig, unsigned *what);
/* Makes a step of an op that jn_step_knows, with operand k (0 or 1) changed; held: the other one is
 * the accumulator.  False: the op does not do so. */
bool jn_step_make_changing(const jn_op *op, unsigned k, jn_step_change change, bool held,
                           jn_step *to);
/* The operand that is a number known when the program runs, which goes into jn_step.p; -1: none. */
int jn_step_number(const jn_op *op);
void jn_step_set_number(jn_step *s, const jn_view *number);

/* Elements of a block: a multiple of 32. */
int64_t jn_step_block(void);
enum { JN_STEP_BLOCK_MOST = 128 };
/* Runs the program on elements 0 to blocks * jn_step_block(). */
void jn_steps_run(const jn_step *program, int64_t blocks);

/* ---- sums of what is computed block by block ---------------------------------------------------
 *
 * The kernels add up a whole tensor in blocks of JN_SUM_AT_ONCE numbers.  Who has computed one, in
 * any order, adds it up while it is in the cache; the result is that of the kernel, bit by bit. */
enum { JN_SUM_AT_ONCE = 4096 };
/* Whether a result is the sum, or the mean, of all numbers of the operand, both f32. */
bool jn_sum_knows(const jn_sig *sig);
/* Of one block, of n numbers. */
float jn_sum_block(const float *x, int64_t n);
/* The op's result from the sums of its blocks, in order, of numel numbers. */
void jn_sum_finish(const jn_op *op, const float *blocks, int64_t numel, float *to);

#endif
