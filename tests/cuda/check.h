/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the tests that call what runs CUDA's libraries; they need no CUnit. */
#ifndef JN_TESTS_CUDA_CHECK_H
#define JN_TESTS_CUDA_CHECK_H

#include <stdio.h>

static unsigned failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#endif
