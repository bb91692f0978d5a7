/* graph/base: allocation and its failures, arenas, vectors, strings and numbers, errors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/base/arena.h"
#include "graph/base/log.h"
#include "graph/base/status.h"
#include "graph/base/str.h"
#include "graph/base/vec.h"
#include "tests/unit/check.h"

/* Before anything is counted: then nothing is kept.  Of blocks one after the other, each larger or
 * smaller than the last, no more is kept than one of them. */
static void freed_blocks_do_not_add_up(void) {
    const size_t first = (size_t)1 << 20, last = (size_t)12 << 20, huge = (size_t)4 << 20;
    for (size_t size = first, step = first / 4; size >= first && size <= last; size += step) {
        char *p = jn_alloc_aligned(size);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT_EQUAL((uintptr_t)p % 64, 0);
        p[0] = p[size - 1] = 1;
        jn_free_aligned(p);
        CU_ASSERT(jn_alloc_kept() <= size + size / 4 + huge);
    }
    char *some[4];
    size_t before = jn_alloc_kept();
    for (int k = 0; k < 4; k++)
        CU_ASSERT_PTR_NOT_NULL_FATAL(some[k] = jn_alloc_aligned(last));
    for (int k = 0; k < 4; k++)
        jn_free_aligned(some[k]);
    for (size_t size = last; size >= first; size -= first) {
        char *p = jn_alloc_aligned(size);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        p[size - 1] = 1;
        jn_free_aligned(p);
        CU_ASSERT(jn_alloc_kept() <= before + 4 * (last + last / 8 + huge));
    }
    jn_alloc_trim();
    CU_ASSERT_EQUAL(jn_alloc_kept(), 0);
}

static void the_nth_allocation_fails(void) {
    int64_t before = jn_alloc_live_blocks();
    jn_alloc_fail_after(2);
    void *a = jn_alloc(8), *b = jn_calloc(2, 8), *c = jn_alloc_aligned(100);
    CU_ASSERT_PTR_NOT_NULL(a);
    CU_ASSERT_PTR_NULL(b);
    CU_ASSERT_PTR_NOT_NULL(c);
    CU_ASSERT_EQUAL((uintptr_t)c % 64, 0);
    CU_ASSERT_EQUAL(jn_alloc_live_blocks() - before, 2);
    jn_alloc_fail_after(1);
    CU_ASSERT_PTR_NULL(jn_realloc(a, 1000));
    a = jn_realloc(a, 1000);
    CU_ASSERT_PTR_NOT_NULL(a);
    jn_free(a);
    jn_free_aligned(c);
    jn_free(NULL);
    CU_ASSERT_EQUAL(jn_alloc_live_blocks(), before);
    CU_ASSERT_PTR_NULL(jn_calloc(SIZE_MAX / 2, 3));
    CU_ASSERT_PTR_NULL(jn_alloc_aligned(SIZE_MAX - 3));
}

static void allocator_is_settled_by_first_use(void) {
    janus_allocator a = {0};
    CU_ASSERT_EQUAL(janus_set_allocator(&a), JANUS_INVALID_ARGUMENT);
    jn_free(jn_alloc(1));
    CU_ASSERT_EQUAL(janus_set_allocator(NULL), JANUS_INVALID_ARGUMENT);
}

static void arena_keeps_what_it_gave(void) {
    jn_arena a;
    jn_arena_init(&a, 64);
    char *blocks[100];
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < 100; i++) {
            blocks[i] = jn_arena_alloc(&a, i * 3);
            CU_ASSERT_PTR_NOT_NULL_FATAL(blocks[i]);
            CU_ASSERT_EQUAL((uintptr_t)blocks[i] % 16, 0);
            memset(blocks[i], (int)i, i * 3);
        }
        for (size_t i = 0; i < 100; i++) {
            for (size_t k = 0; k < i * 3; k++)
                CU_ASSERT_EQUAL(blocks[i][k], (char)i);
        }
        int64_t held = jn_alloc_live_blocks();
        jn_arena_reset(&a);
        CU_ASSERT_EQUAL(jn_alloc_live_blocks(), held);
    }
    CU_ASSERT_STRING_EQUAL(jn_arena_strndup(&a, "hello", 4), "hell");
    CU_ASSERT_PTR_NULL(jn_arena_alloc(&a, SIZE_MAX));
    int64_t before = jn_alloc_live_blocks();
    jn_arena_free(&a);
    CU_ASSERT(jn_alloc_live_blocks() < before);
}

static void vectors_grow(void) {
    JN_VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        CU_ASSERT_FATAL(jn_vec_push(&v, i));
    CU_ASSERT_EQUAL(v.n, 1000);
    CU_ASSERT_EQUAL(v.data[777], 777);
    jn_vec_free(&v);
    jn_alloc_fail_after(1);
    CU_ASSERT_FALSE(jn_vec_push(&v, 1));
    CU_ASSERT_EQUAL(v.n, 0);
}

static void check_double(double v, const char *text) {
    jn_str s = {0};
    jn_str_double(&s, v);
    double back = 0;
    CU_ASSERT_TRUE(jn_parse_double(s.data, s.n, &back));
    CU_ASSERT_EQUAL(memcmp(&v, &back, sizeof v), 0);
    if (text)
        CU_ASSERT_STRING_EQUAL(s.data, text);
    jn_str_free(&s);
}

static double from_bits(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void doubles_survive(void) {
    /* A locale with a decimal comma must not show; where none is installed "C" is used twice. */
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        setlocale(LC_NUMERIC, "C");
    check_double(0.0, "0.0");
    check_double(-0.0, "-0.0");
    check_double(1, "1.0");
    check_double(0.1, "0.1");
    check_double(1e22, "1e+22");
    check_double(5e-324, "5e-324");
    check_double(1.7976931348623157e308, "1.7976931348623157e+308");
    check_double(INFINITY, "inf");
    check_double(-INFINITY, "-inf");
    check_double(from_bits(UINT64_C(0x7ff8000000000000)), "nan");
    check_double(from_bits(UINT64_C(0xfff8000000000000)), "-nan");
    check_double(from_bits(UINT64_C(0x7ff8000000000abc)), "nan:0x8000000000abc");
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        check_double(from_bits(x), NULL);
    }
    setlocale(LC_NUMERIC, "C");
    double v;
    static const char *const bad[] = {"",   "-",     "x",      "1x",    " 1",
                                      "1 ", "nan:1", "nan:0x", "infin", "nan:0x0"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_FALSE(jn_parse_double(bad[i], strlen(bad[i]), &v));
}

static void ints_are_checked(void) {
    int64_t v = 0;
    CU_ASSERT(jn_parse_int64("-9223372036854775808", 20, &v) && v == INT64_MIN);
    CU_ASSERT(jn_parse_int64("9223372036854775807", 19, &v) && v == INT64_MAX);
    CU_ASSERT_FALSE(jn_parse_int64("9223372036854775808", 19, &v));
    CU_ASSERT_FALSE(jn_parse_int64("-9223372036854775809", 20, &v));
    CU_ASSERT_FALSE(jn_parse_int64("-", 1, &v));
    CU_ASSERT_FALSE(jn_parse_int64("1.", 2, &v));
}

static void strings_quote_and_break(void) {
    jn_str s = {0};
    jn_str_quote(&s, "a\"b\\\n\t\x01/\xc3\xa9", 10);
    CU_ASSERT_STRING_EQUAL(s.data, "\"a\\\"b\\\\\\n\\t\\u0001/\xc3\xa9\"");
    jn_str_free(&s);
    for (int i = 0; i < 300; i++)
        jn_str_printf(&s, "%0300d", i);
    CU_ASSERT_EQUAL(s.n, 300 * 300);
    jn_alloc_fail_after(1);
    for (int i = 0; i < 300; i++)
        jn_str_printf(&s, "%0300d", i);
    CU_ASSERT_FALSE(jn_str_ok(&s));
    CU_ASSERT_PTR_NULL(jn_str_take(&s));
    char *empty = jn_str_take(&s);
    CU_ASSERT_STRING_EQUAL(empty, "");
    janus_free(empty);
}

static void errors_keep_first_message_and_add_context(void) {
    CU_ASSERT_EQUAL(jn_error(JANUS_SHAPE, "%s: %d", "matmul", 3), JANUS_SHAPE);
    for (int i = 0; i < 20; i++)
        jn_error_context("in call %d", i);
    const janus_error *e = janus_last_error();
    CU_ASSERT_STRING_EQUAL(e->message, "matmul: 3");
    CU_ASSERT_EQUAL(e->n_context, 8);
    CU_ASSERT_STRING_EQUAL(e->context[0], "in call 0");
    jn_error(JANUS_PARSE, "again: %s", e->message);
    CU_ASSERT_STRING_EQUAL(e->message, "again: matmul: 3");
    CU_ASSERT_EQUAL(e->n_context, 0);
    char long_text[2000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    jn_error(JANUS_PARSE, "%s", long_text);
    CU_ASSERT_EQUAL(strlen(e->message), sizeof e->message - 1);
    CU_ASSERT_STRING_EQUAL(janus_status_text(JANUS_SHAPE), "shape mismatch");
    CU_ASSERT_STRING_EQUAL(janus_status_text((janus_status)77), "unknown status");
}

JN_TEST_MAIN("base", {"freed blocks do not add up", freed_blocks_do_not_add_up},
             {"the n-th allocation fails", the_nth_allocation_fails},
             {"allocator is settled by first use", allocator_is_settled_by_first_use},
             {"arena keeps what it gave", arena_keeps_what_it_gave}, {"vectors grow", vectors_grow},
             {"doubles survive", doubles_survive}, {"ints are checked", ints_are_checked},
             {"strings quote and break", strings_quote_and_break},
             {"errors keep the first message", errors_keep_first_message_and_add_context})
