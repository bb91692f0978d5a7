/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests/py/test_ops_numpy.py: runs every sample on the reference and the fast kernels and
 * prints one JSON object per line with attributes, operands and results.  With `scalar`, evaluates
 * lines "op kind:value ..." from standard input as scalar ops.
 */
#include "config.h"

#include "tests/conformance/samples.h"

#include "ops/scalar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void number(double f) {
    if (isnan(f))
        printf("NaN");
    else if (isinf(f))
        printf(f > 0 ? "Infinity" : "-Infinity");
    else if (f == 0 && signbit(f))
        printf("-0.0"); /* JSON's -0 is an integer */
    else
        printf("%.17g", f);
}

static void value(const val *v) {
    if (!v) {
        printf("null");
        return;
    }
    jn_view w = val_view(v);
    printf("{\"kind\":%d,\"dtype\":\"%s\",\"dims\":[", v->t.kind,
           jn_dtype_name((janus_dtype)w.dtype));
    for (int i = 0; i < w.rank; i++)
        printf("%s%" PRId64, i ? "," : "", v->dims[i]);
    printf("],\"data\":[");
    for (int64_t i = 0; i < v->numel; i++) {
        printf(i ? "," : "");
        number(val_get(v, i));
    }
    printf("]}");
}

static void attributes(const jn_op *op, const void *attrs) {
    printf("{");
    for (const jn_attr_spec *a = op->attrs; a->name; a++) {
        const char *p = (const char *)attrs + a->offset;
        const janus_ints *ints = (const janus_ints *)(const void *)p;
        printf("%s\"%s\":", a == op->attrs ? "" : ",", a->name);
        switch (a->kind) {
        case JN_ATTR_FLOAT:
            number(*(const double *)(const void *)p);
            break;
        case JN_ATTR_INTS:
            printf("[");
            for (size_t i = 0; i < ints->n; i++)
                printf("%s%" PRId64, i ? "," : "", ints->data[i]);
            printf("]");
            break;
        case JN_ATTR_STR:
        case JN_ATTR_DATA:
            printf("null");
            break;
        default:
            printf("%" PRId64, *(const int64_t *)(const void *)p);
        }
    }
    printf("}");
}

static int dump_sample(const sample *s, int fdt, device dev) {
    const jn_op *op = jn_op_find(s->op, strlen(s->op));
    tape t;
    val *in[64], *out[8];
    void *attrs;
    int rc = 1;
    tape_init(&t, dev);
    int n = sample_operands(&t, s, fdt, (uint64_t)(s - samples) * 7919 + 1, in);
    if (sample_attrs(&t, s, op, &attrs) == JANUS_OK &&
        tape_run(&t, op, in, (unsigned)n, attrs, out, op_n_out(op)) == JANUS_OK) {
        printf("{\"op\":\"%s\",\"text\":\"%s {%s}\",\"device\":\"%s\",\"flags\":%u,\"attrs\":",
               s->op, s->operands, s->attrs, dev == DEVICE_REF ? "ref" : "cpu", t.flags);
        attributes(op, attrs);
        printf(",\"in\":[");
        for (int i = 0; i < n; i++) {
            printf(i ? "," : "");
            value(in[i]);
        }
        printf("],\"out\":[");
        for (unsigned i = 0; i < op_n_out(op); i++) {
            printf(i ? "," : "");
            value(out[i]);
        }
        printf("]}\n");
        rc = 0;
    } else {
        fprintf(stderr, "%s: %s\n", s->op, janus_last_error()->message);
    }
    tape_free(&t);
    return rc;
}

static int scalars(void) {
    char line[512];
    while (fgets(line, sizeof line, stdin)) {
        janus_scalar in[3], out;
        uint8_t kinds[3];
        unsigned n = 0;
        char *word = strtok(line, " \n");
        const jn_op *op = word ? jn_op_find(word, strlen(word)) : NULL;
        while (op && n < 3 && (word = strtok(NULL, " \n"))) {
            kinds[n] = word[0] == 'i'   ? JANUS_KIND_INT
                       : word[0] == 'b' ? JANUS_KIND_BOOL
                                        : JANUS_KIND_FLOAT;
            if (word[0] == 'f')
                in[n++].f = strtod(word + 2, NULL);
            else
                in[n++].i = strtoll(word + 2, NULL, 10);
        }
        if (!op || jn_scalar_eval(op, in, kinds, n, &out) != JANUS_OK)
            printf("error %d\n", op ? janus_last_error()->code : 0);
        else if (jn_scalar_kind(op, kinds, n) == JANUS_KIND_FLOAT)
            printf("f %a\n", out.f);
        else
            printf("%c %" PRId64 "\n", jn_scalar_kind(op, kinds, n) == JANUS_KIND_INT ? 'i' : 'b',
                   out.i);
    }
    return 0;
}

int main(int argc, char **argv) {
    int rc = 0;
    if (argc > 1 && strcmp(argv[1], "scalar") == 0)
        return scalars();
    for (unsigned i = 0; i < n_samples; i++) {
        rc |= dump_sample(&samples[i], JANUS_F64, DEVICE_REF);
        rc |= dump_sample(&samples[i], JANUS_F32, DEVICE_CPU);
    }
    return rc;
}
