/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices, f32 and f64.  Compiled per instruction set; see isa_gemm_body.h. */
#include <string.h>

#include "ops/cpu/isa.h"
#include "ops/cpu/vmath.h"

/* Tiles as large as the registers allow: 6 x 4 of 32, 6 x 2 of 16, 4 x 2 of 16 without FMA. */
#define PAIR(m, nv)                                                                                \
    { F(tile_##m##_##nv##_0), F(tile_##m##_##nv##_1) }
#if defined(__AVX512F__)
#define MR 6
#define NV 4
#define DOT_M 4
#define DOT_N 6
#define DOTS_ALL                                                                                   \
    DOTS(1, 1) DOTS(1, 6) DOTS(2, 1) DOTS(2, 6) DOTS(3, 1) DOTS(3, 6) DOTS(4, 1) DOTS(4, 6)
#define TILES_WIDE(m) TILE(m, 3, 0) TILE(m, 3, 1) TILE(m, 4, 0) TILE(m, 4, 1)
#define TILES_TALL TILES_OF(5) TILES_OF(6)
#define TILES_ENTRY(m) PAIR(m, 1), PAIR(m, 2), PAIR(m, 3), PAIR(m, 4)
#define TILES_TABLE ENTRY(1), ENTRY(2), ENTRY(3), ENTRY(4), ENTRY(5), ENTRY(6)
#elif defined(__AVX2__)
#define MR 6
#define NV 2
#define DOT_M 2
#define DOT_N 4
#define DOTS_ALL DOTS(1, 1) DOTS(1, 4) DOTS(2, 1) DOTS(2, 4)
#define TILES_WIDE(m)
#define TILES_TALL TILES_OF(5) TILES_OF(6)
#define TILES_ENTRY(m) PAIR(m, 1), PAIR(m, 2)
#define TILES_TABLE ENTRY(1), ENTRY(2), ENTRY(3), ENTRY(4), ENTRY(5), ENTRY(6)
#else
#define MR 4
#define NV 2
#define DOT_M 2
#define DOT_N 4
#define DOTS_ALL DOTS(1, 1) DOTS(1, 4) DOTS(2, 1) DOTS(2, 4)
#define TILES_WIDE(m)
#define TILES_TALL
#define TILES_ENTRY(m) PAIR(m, 1), PAIR(m, 2)
#define TILES_TABLE ENTRY(1), ENTRY(2), ENTRY(3), ENTRY(4)
#endif

#define T float
#define F(name) name##_f32
#include "ops/cpu/isa/gemm_body.h"
#undef T
#undef F

#define T double
#define F(name) name##_f64
#define JN_SIMD_F64
#include "ops/cpu/isa/gemm_body.h"

void JN_ISA_FN(jn_isa_fill_gemm)(jn_isa_table *t) {
    t->gemm[JANUS_F32] = gemm_f32;
    t->gemm[JANUS_F64] = gemm_f64;
    t->gemm_pack = pack_whole_f32;
    t->panel = NR_f32;
    t->dot_long = DOT_LONG_f32;
#if defined(__AVX512F__)
    t->turn = turn_f32;
    t->turn_long = DOT_SHORT_f32;
    t->turn_lanes = DOT_SHORT_f32 / 4;
#endif
}
