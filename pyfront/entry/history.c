/* SPDX-License-Identifier: Apache-2.0 */
/* Which groups of a node are used up: see history.h. */
#include "pyfront/entry/history.h"

uint32_t jpy_groups_freed(const jpy_groups *l, const bool *freed, jpy_set outs, jpy_set ins) {
    uint32_t first = 0;
    for (size_t i = 0; freed && i < l->n; i++)
        if (freed[i] && jpy_group_runs(&l->data[i], outs, ins) && l->data[i].at > first)
            first = l->data[i].at;
    return first;
}

void jpy_groups_free(const jpy_groups *l, bool *freed, jpy_set outs, jpy_set ins, jpy_set not_taken,
                     uint32_t after) {
    for (size_t i = 0; i < l->n; i++)
        freed[i] = freed[i] || (l->data[i].at > after && jpy_group_runs(&l->data[i], outs, ins) &&
                                !jpy_arm_not_taken(not_taken, l->data[i].arm));
}

jpy_set jpy_groups_gone(const jpy_groups *l, const bool *freed, unsigned out) {
    jpy_set gone = 0;
    for (size_t i = 0; i < l->n; i++)
        if (freed[i] && (l->data[i].outs & JPY_SET_OF(out)))
            gone |= l->data[i].ins;
    return gone;
}
