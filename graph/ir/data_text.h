/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small constant tensors (attributes of kind DATA): checks, copies, text.
 *
 *     f32[2,2](1.0,2.0,0x7fc00001,-inf)     i64[3](1,2,3)     bool[2](1,0)     f16[1](0x3c00)
 *
 * Elements are decimal; bits in hexadecimal where decimals would lose something (nan payloads) or
 * have no C type (f16, bf16).
 */
#ifndef JN_GRAPH_DATA_TEXT_H
#define JN_GRAPH_DATA_TEXT_H

#include "graph/base/arena.h"
#include "graph/base/status.h"
#include "graph/base/str.h"

size_t jn_data_bytes(const janus_data *d); /* of a checked tensor */
bool jn_data_equal(const janus_data *a, const janus_data *b);
/* Whether dtype, dims and bytes are there and make sense. */
janus_status jn_data_check(const janus_data *d);
janus_status jn_data_copy(const janus_data *from, jn_arena *arena, janus_data *out);
void jn_data_print(const janus_data *d, jn_str *s);
/* *ok: whether the text was one; the status is about memory. */
janus_status jn_data_parse(const char *text, size_t n, jn_arena *arena, janus_data *out, bool *ok);

#endif
