/* SPDX-License-Identifier: Apache-2.0 */
/* The difference of two texts by lines: "-" only in the first, "+" only in the second, " " both. */
#ifndef JN_TOOLS_LINE_DIFF_H
#define JN_TOOLS_LINE_DIFF_H

#include <stdio.h>

/* Texts of very many lines are shown as replaced as a whole, rather than compared in n*m steps. */
void line_diff(const char *a, const char *b, FILE *out);

#endif
