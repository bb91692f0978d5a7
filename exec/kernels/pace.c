/* SPDX-License-Identifier: Apache-2.0 */
/* Which way takes less: see exec/kernels/pace.h. */
#include "config.h"

#include "exec/kernels/pace.h"

enum {
    WAKING = 4,       /* first runs of a way, which are not measured */
    TRIED = 24,       /* runs of a way that has been tried */
    OFTEN = 256,      /* runs one after the other until a trial */
    RARELY = 1 << 13, /* the same where trials came to nothing */
    STEADY = 1 << 12, /* runs beside each other after which the other way is measured again */
    LONG = 1024       /* runs that a mean is of: a lost core counts for what it is */
};
#define GAIN 1.1 /* what is saved pays for the other core */

static void turn(jn_pace *p, bool beside) {
    p->beside = beside;
    p->n = p->measured = 0;
}

void jn_pace_took(jn_pace *p, int64_t ns) {
    if (++p->n <= WAKING)
        return;
    double *mean = &p->mean[p->beside], more;
    p->measured += p->measured < LONG;
    if (p->measured == 1)
        *mean = (double)ns;
    more = (double)ns - *mean;
    if (p->beside)
        *mean += more / p->measured;
    else if (more < 0) /* follow the lowest: this is not measured again soon */
        *mean += more / 2;
    else
        *mean += (more < *mean / 8 ? more : *mean / 8) / 16;
    if (!p->beside) {
        if (p->n >= (p->least > TRIED ? p->least : TRIED))
            turn(p, true);
        return;
    }
    if (p->n >= TRIED && *mean * GAIN > p->mean[0]) {
        p->least = p->least < OFTEN ? OFTEN : p->least < RARELY ? 2 * p->least : RARELY;
        turn(p, false);
    } else if (p->n >= STEADY) {
        p->least = TRIED;
        turn(p, false);
    }
}
