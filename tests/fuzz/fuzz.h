/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzz entry as libFuzzer calls it, and what tests/fuzz/replay.c needs to know of it. */
#ifndef JN_TESTS_FUZZ_H
#define JN_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Where its inputs lie, below tests; ends with NULL. */
extern const char *const fuzz_folders[];

#endif
