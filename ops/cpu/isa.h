/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels per instruction set.
 *
 * The files named isa_*.c are compiled once for each instruction set with JN_ISA naming it.  Each
 * has one entry point, JN_ISA_FN(jn_isa_fill_NAME), that writes its kernels into a table; the table
 * of the best set this processor has is filled once, before main().  Selecting a kernel is then
 * one load: jn_isa.kernel[op][dtype].  JANUS_ISA=generic, avx2 or avx512 asks for a lesser one.
 */
#ifndef JN_OPS_CPU_ISA_H
#define JN_OPS_CPU_ISA_H

#include "ops/kernel.h"
#include "ops/op_ids.h"
#include "ops/steps.h"

/* C = A B (+ C when accumulate); strides in elements, any; rows of C are contiguous, ldc apart. */
typedef struct jn_gemm_args {
    int64_t m, n, k;
    const void *a;
    int64_t a_row, a_col;
    const void *b;
    int64_t b_row, b_col;
    void *c;
    int64_t ldc;
    bool accumulate;
    void *pack; /* JN_GEMM_PACK bytes of 64-byte aligned scratch for a B that no cache holds, or
                   NULL */
    const void *panels; /* B, packed whole, or NULL */
    const void *bias;   /* a row that each of C begins as, whatever it holds; or NULL */
    const void
        *turned; /* B, as jn_isa.turn has packed it, or NULL: used where its rows are short */
} jn_gemm_args;
typedef void (*jn_gemm_fn)(const jn_gemm_args *g);
typedef void (*jn_gemm_pack_fn)(const jn_gemm_args *g, void *panels);
enum { /* up to so many rows by a transposed B are dot products where they are so long, of a set
          that adds up several at once a quarter as long */
       JN_GEMM_DOT_ROWS = 256,
       JN_GEMM_DOT_LONG = 512,
       JN_GEMM_PACK = 512 << 10
};

/* How a tensor looks to an operation along one (possibly merged) axis: row-major
 * [outer, n, inner]. */
typedef struct jn_oni {
    int64_t outer, n, inner;
} jn_oni;

/* A window of pooling in a plane: flat index of its first tap, taps per dim, and how far apart they
 * are in elements. */
typedef struct jn_window {
    int64_t first, rows, cols, row_step, col_step;
} jn_window;

/* A convolution of stride 1 of an f32 image: filters of `depth` taps.  A tap is how many elements
 * from a position's place it reads, in planes with their padding around them; positions are rows of
 * `width`, whose places are `line` apart, the first at x.  y: [filters][rows][width]. */
typedef struct jn_taps {
    int64_t filters, depth, rows, width, line;
    const float *weight, *bias, *x; /* bias NULL: none */
    const int32_t *tap;
    float *y;
} jn_taps;

enum { JN_DRAW_UNIFORM, JN_DRAW_NORMAL, JN_DRAW_MASK, JN_DRAW_COUNT };
enum { JN_FEW = 16 };
enum { JN_PAIR_MSE, JN_PAIR_BCE, JN_PAIR_SMOOTH_L1, JN_PAIR_COUNT };
enum { JN_RED_SUM, JN_RED_PROD, JN_RED_MAX, JN_RED_MIN, JN_RED_ANY, JN_RED_ALL, JN_RED_COUNT };

/* Steps of programs (ops/steps.h), by the operands that are the accumulator, a bit each; NULL: not
 * so. */
enum { JN_STEP_FORMS = 1 << JN_STEP_OPERANDS };
/* Ops that can change an operand. */
enum { JN_STEP_ADDS, JN_STEP_SUBTRACTS, JN_STEP_MULTIPLIES, JN_STEP_CHANGERS };
typedef struct jn_isa_steps {
    int64_t block; /* elements */
    void (*run)(const jn_step *program, int64_t blocks);
    jn_step_fn move[JN_STEP_MOVES], op[JN_OP_ID_COUNT][JN_STEP_FORMS];
    jn_step_fn gelu_tanh[JN_STEP_FORMS], gelu_tanh_grad[JN_STEP_FORMS]; /* the approximate ones */
    jn_step_fn to_mask[JN_STEP_FORMS], from_mask[JN_STEP_FORMS];        /* casts */
    jn_step_fn changing[JN_STEP_CHANGERS][2][JN_STEP_CHANGES][2]; /* operand; change; other held */
} jn_isa_steps;

typedef struct jn_isa_table {
    const char *name;
    jn_kernel_fn kernel[JN_OP_ID_COUNT][JANUS_DTYPE_COUNT];
    jn_kernel_fn cast[JANUS_DTYPE_COUNT][JANUS_DTYPE_COUNT]; /* [from][to] */
    jn_gemm_fn gemm[2];                                      /* f32, f64 */
    jn_gemm_pack_fn gemm_pack;                               /* f32: all of B */
    int64_t panel;                                           /* columns of one */
    int64_t dot_long; /* of f32: from here on dot products pay */
    /* f32: all of a B that is a transpose, of which k is at most turn_long and a multiple of
     * turn_lanes, in n rounded up to these; dot products are those without it, to the bit.  NULL:
     * none. */
    jn_gemm_pack_fn turn;
    int64_t turn_long, turn_lanes;
    /* One reduction of [outer, n, inner] to [outer, inner]; [op][dtype]; `out` has the dtype the
     * row says (sums of integers i64, any and all bool).  Work on outer indices [begin, end) when
     * inner is 1, else on columns [begin, end) of outer * inner. */
    void (*reduce[JN_RED_COUNT][JANUS_DTYPE_COUNT])(const void *x, void *out, jn_oni s,
                                                    int64_t begin, int64_t end, bool accumulate);
    /* First position of the smallest [0] or largest [1] of n >= 1 elements `stride` apart. */
    int64_t (*arg[2][JANUS_DTYPE_COUNT])(const void *x, int64_t stride, int64_t n);
    /* Rows of n contiguous floats; [0] f32, [1] f64. */
    void (*softmax[2])(const void *x, void *y, int64_t n, bool logarithm);
    void (*softmax_grad[2])(const void *dy, const void *y, void *dx, int64_t n, bool logarithm);
    double (*logsumexp[2])(const void *x, int64_t n);
    /* Mean, and as result the sum of squared distances from it. */
    double (*moments[2])(const void *x, int64_t n, double *mean);
    /* of two rows of f32: means and sums of squares, the same bits */
    void (*moments_of_two)(const float *x, const float *y, int64_t n, double *mean, double *m2);
    /* y = (x - mean) * invstd * w + b; w and b may be NULL. */
    void (*affine[2])(const void *x, const void *w, const void *b, void *y, int64_t n, double mean,
                      double invstd);
    /* y = (x - mean) * scale + shift */
    void (*scale_shift[2])(const void *x, void *y, int64_t n, double mean, double scale,
                           double shift);
    /* Sums of d and of d * (x - mean). */
    void (*dots[2])(const void *d, const void *x, int64_t n, double mean, double *sum,
                    double *sum_dx);
    /* y = p * d + q * x + r */
    void (*combine[2])(const void *d, const void *x, void *y, int64_t n, double p, double q,
                       double r);
    /* One row of the gradient of layer_norm; adds to dw and db; w may be NULL. */
    void (*layer_norm_grad[2])(const void *d, const void *x, const void *w, void *dx, void *dw,
                               void *db, int64_t n, double mean, double invstd);
    /* Rows of 1 to JN_FEW classes: y NULL, logsumexp of each into lse; else softmax into y. */
    void (*few_classes[2])(const void *x, int64_t rows, int64_t n, void *lse, void *y);
    /* Rows of the gradient of softmax, of as few. */
    void (*few_grad[2])(const void *dy, const void *y, int64_t rows, int64_t n, void *dx);
    /* Losses of n pairs. */
    void (*pair_loss[JN_PAIR_COUNT][2])(const void *x, const void *t, void *y, int64_t n,
                                        double beta);
    /* y += x */
    void (*add_to[2])(void *y, const void *x, int64_t n);
    /* n windows `stride` elements apart from k on: the largest tap and its flat index; the mean of
     * the taps, that is their sum divided by count. */
    void (*max_row[2])(const void *plane, jn_window k, int64_t stride, int64_t n, void *y,
                       int64_t *index);
    void (*mean_row[2])(const void *plane, jn_window k, int64_t stride, int64_t n, void *y,
                        double count);
    /* The same of windows of 2 x 2, two apart, of a plane: `rows` of n, all inside; w < 2^31.
     * index NULL: only the largest. */
    void (*max_2x2)(const float *plane, int64_t w, int64_t rows, int64_t n, float *y,
                    int64_t *index);
    /* Rows of `bytes` from where they lie `step` bytes apart to where they lie `apart`. */
    void (*copy_rows)(char *to, int64_t apart, const char *from, int64_t rows, int64_t bytes,
                      int64_t step);
    /* False: rows and width do not make whole vectors, and nothing is done; with y NULL in no
     * case. */
    bool (*taps)(const jn_taps *t);
    /* Words of `blocks` counters from {counter, high} on: see ops/rng.h. */
    void (*philox)(uint64_t seed, uint64_t counter, uint64_t high, uint32_t *out, int64_t blocks);
    /* n numbers of their words (hi, and lo where the type is f64; n rounded up to whole counters);
     * a, b: low and high, mean and standard deviation, probability and value. [kind][f32, f64] */
    void (*draw[JN_DRAW_COUNT][2])(const uint32_t *hi, const uint32_t *lo, void *out, int64_t n,
                                   double a, double b);
    jn_isa_steps steps;
} jn_isa_table;

/* Of the instruction set in use. */
extern jn_isa_table jn_isa;
/* Tests: fills jn_isa for that instruction set; false when this processor or build has it not. */
bool jn_isa_use(const char *name);

/* The reference kernel, where there is no faster one. */
jn_kernel_fn jn_cpu_fallback(const jn_sig *sig);

#define JN_PASTE_(a, b) a##_##b
#define JN_PASTE(a, b) JN_PASTE_(a, b)
#ifdef JN_ISA
#define JN_ISA_FN(name) JN_PASTE(name, JN_ISA)
#endif

#define JN_ISA_FILLS(X)                                                                            \
    X(unary) X(binary) X(gemm) X(moments) X(reduce) X(nn) X(optim) X(pool) X(rng) X(steps) X(taps)

#define JN_DECLARE_FILL(name)                                                                      \
    void jn_isa_fill_##name##_generic(jn_isa_table *t);                                            \
    void jn_isa_fill_##name##_avx2(jn_isa_table *t);                                               \
    void jn_isa_fill_##name##_avx512(jn_isa_table *t);
JN_ISA_FILLS(JN_DECLARE_FILL)
#undef JN_DECLARE_FILL

/* A loop whose iterations do not depend on each other; the result may be an operand itself. */
#if defined(__clang__)
#define JN_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define JN_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

/* A loop of few rounds, whose arrays stay in registers. */
#if defined(__clang__)
#define JN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define JN_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
