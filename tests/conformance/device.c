/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite on a device: every sample of every op through the eager path on the device,
 * compared with the reference kernels on the host; once with operands and results where allocations
 * begin, once an element behind.  A plain C program without test library, so that
 * it also runs on a machine that has a GPU and little else.
 *
 *     device [DEVICE [OP]]     DEVICE: cuda, toy; exits 77 with the reason where there is none
 *
 * An op that has a CPU kernel and none on the device must stand, with its reason, in
 * unsupported.txt beside this file ($srcdir), and an op that stands there must have none.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/device/device.h"
#include "exec/eager/eager.h"
#include "ops/ref/ref.h"
#include "tests/conformance/samples.h"
#include "tests/toy/toy.h"

/* A flag: so many numbers are added that the reference, which rounds each sum to f16 or bf16, is
 * far from the sum of them. */
enum { ROUGH = 4 };

/* What the samples are too small for: several blocks, splits, tiles, vectors with remainders. */
static const sample large[] = {
    {"add", "f[3,1000] f[1000]", "", 0, 0},
    {"add", "f[70001] f[70001]", "", 0, 0},
    {"mul", "t<f[300,77]> f[300,1]", "", 0, 0},
    {"add", "f[30,8] f[8]", "", 0, 0},
    {"mul", "f[30,8] f[30,1]", "", 0, 0},
    {"div", "t<f[30,8]> p[30,8]", "", 0, 0},
    {"sub", "f[5,1,8] f[6,8]", "", 0, 0},
    {"sub", "f[5,6] f[]", "", 0, 0},
    {"lerp", "f[1003] f[1003] f[]", "", 0, 0},
    {"tanh", "f[1003]", "", 0, 0},
    {"cast", "f[1003]", "dtype=f32", 0, 0},
    {"cast", "f[1003]", "dtype=bf16", 0, 4e-2},
    {"clone", "f[1003]", "", 0, 0},
    {"clone", "t<f[31,33]>", "", 0, 0},
    {"gelu", "f[1003]", "", 0, 0},
    {"sum", "f[3,700]", "dims=1", 0, 1e-4},
    {"sum", "f[100000]", "", 0, 1e-3},
    {"sum", "n[90001]", "", 0, 0},
    {"sum", "f[300,130]", "dims=0", 0, 1e-4},
    {"sum", "f[9,70,11]", "dims=0,2", 0, 1e-4},
    {"mean", "f[2,70000]", "dims=1", 0, 1e-4},
    {"prod", "p[2,80]", "dims=1", 0, 1e-3},
    {"max", "f[5,300]", "dims=1", 0, 0},
    {"argmax", "f[5,300]", "axis=1", 0, 0},
    {"argmax", "n[70000]", "all=true", 0, 0},
    {"min_dim", "n[300,7]", "axis=0", 0, 0},
    {"logsumexp", "f[4,500]", "dims=1", 0, 0},
    {"logsumexp", "f[70000]", "", 0, 0},
    {"var", "f[4,500]", "dims=1", 0, 1e-4},
    {"var", "f[70000]", "", 0, 1e-4},
    {"norm", "f[4,500]", "dims=1", 0, 1e-4},
    {"cumsum", "f[4,300]", "axis=1", 0, 1e-4},
    {"sum_like", "f[300,40] f[40]", "", 0, 1e-4},
    {"sum_like", "f[300,40] f[300,1]", "", 0, 1e-4},
    {"sum", "f[300,130]", "dims=0 keepdim=true", 0, 1e-4},
    {"sum", "f[70,5,12]", "dims=2", 0, 1e-4},
    {"sum", "t<f[70,50,12]>", "dims=0,2", 0, 1e-4},
    {"sum", "f[3,4,2,70,3]", "dims=1,3", 0, 1e-4},
    {"mean", "f[3,90,40]", "dims=1", 0, 1e-4},
    {"mean", "f[40,30,7,7]", "dims=2,3", 0, 1e-4},
    {"max", "f[700,9]", "dims=0", 0, 0},
    {"max", "f[400,20]", "dims=1", 0, 0},
    {"argmin", "t<n[90,77]>", "axis=1", 0, 0},
    {"argmax", "n[90,77]", "axis=0", 0, 0},
    {"argmax", "n[100,19]", "axis=1", 0, 0},
    {"max_dim", "n[2,40000]", "axis=1", 0, 0},
    {"var", "f[100,19]", "dims=1", 0, 1e-4},
    {"logsumexp", "f[100,19]", "dims=1", 0, 0},
    {"any", "b[100,19]", "dims=1", 0, 0},
    {"norm", "f[2,40000]", "dims=1", 0, 1e-4},
    {"sum_like", "f[6,3,50,50] f[3,1,1]", "", 0, 1e-4},
    {"sum_like", "f[40000] f[]", "", 0, 1e-3},
    {"sum_like", "f[3000,5] f[5]", "", 0, 1e-4},
    {"sum_like", "f[1100,40] f[40]", "", 0, 1e-4},
    {"sum_like", "f[7,160,40] f[40]", "", 0, 1e-4},
    {"sum_like", "t<f[7,160,40]> f[40]", "", 0, 1e-4},
    {"sum_like", "f[80,4,33] f[4,1]", "", 0, 1e-4},
    {"sum_like", "f[80,4,33] f[4,33]", "", 0, 1e-4},
    {"sum_like", "f[5,80,4,7,33] f[4,1,33]", "", 0, 1e-4},
    {"sum_like", "n[600,40] n[40]", "", 0, 0},
    {"softmax", "f[5,300]", "", 0, 0},
    {"softmax", "f[5,300]", "axis=0", 0, 0},
    {"log_softmax", "f[2,3000]", "", 0, 0},
    {"softmax_grad", "f[5,300] u[5,300]", "", 0, 1e-4},
    {"cross_entropy", "f[70,100] i[70]<100", "", 0, 0},
    {"cross_entropy", "f[70,100] u[70,100]", "reduction=0", 0, 1e-4},
    {"cross_entropy_grad", "f[] f[70,100] i[70]<100", "", 0, 0},
    {"mse_loss", "f[100,90] f[100,90]", "", 0, 1e-4},
    {"layer_norm", "f[6,300] p[300] f[300]", "", 0, 1e-3},
    {"layer_norm_grad", "f[6,300] f[6,300] p[300] f[6] p[6]", "", 0, 1e-3},
    {"layer_norm", "f[5,48] p[48] f[48]", "", 0, 1e-3},
    {"layer_norm", "f[2,9000] p[9000] f[9000]", "", 0, 1e-3},
    {"layer_norm", "f[2,8999] p[8999] f[8999]", "", 0, 1e-3},
    {"layer_norm", "f[2,17000] _ _", "", 0, 1e-3},
    {"layer_norm_grad", "f[5,48] f[5,48] p[48] f[5] p[5]", "", 0, 1e-3},
    {"layer_norm_grad", "f[2,9000] f[2,9000] p[9000] f[2] p[2]", "", ROUGH, 1e-3},
    {"layer_norm_grad", "f[2,8999] f[2,8999] p[8999] f[2] p[2]", "", ROUGH, 1e-3},
    {"layer_norm_grad", "f[2,17000] f[2,17000] _ f[2] p[2]", "", ROUGH, 1e-3},
    {"batch_norm", "f[6,5,4,4] p[5] f[5] _ _", "", 0, 1e-3},
    {"batch_norm", "f[130,3,8,8] p[3] f[3] _ _", "", 0, 1e-3},
    {"batch_norm", "f[6,5,4,4] p[5] f[5] f[5] p[5]", "training=false", 0, 1e-3},
    {"batch_norm_grad", "f[6,5,4,4] f[6,5,4,4] p[5] f[5] p[5]", "", 0, 1e-3},
    {"batch_norm_grad", "f[130,3,8,8] f[130,3,8,8] p[3] f[3] p[3]", "", ROUGH, 1e-3},
    {"layer_norm_grad", "f[1100,40] f[1100,40] p[40] f[1100] p[1100]", "", ROUGH, 1e-3},
    {"batch_norm", "f[7,5,9,9] p[5] f[5] _ _", "", 0, 1e-3},
    {"batch_norm_grad", "f[7,5,9,9] f[7,5,9,9] p[5] f[5] p[5]", "", 0, 1e-3},
    {"matmul", "f[70,50] f[50,33]", "", 0, 1e-4},
    {"matmul", "f[3,20,50] f[50,33]", "", 0, 1e-4},
    {"matmul", "f[2,3,20,40] f[2,3,30,40]", "transpose_b=true", 0, 1e-4},
    {"matmul", "n[40,50] n[50,33]", "", 0, 0},
    {"linear", "f[4,20,50] f[33,50] f[33]", "", 0, 1e-4},
    {"linear", "f[9,300] f[40,300] f[40]", "", 0, 1e-3},
    {"linear", "f[33,257] f[70,257] _", "", 0, 1e-3},
    {"matmul", "f[12,300] f[300,44]", "", 0, 1e-3},
    {"matmul", "f[40,257] f[257,13]", "", 0, 1e-3},
    {"dot", "f[5000] f[5000]", "", 0, 1e-3},
    {"conv2d", "f[2,8,20,20] f[12,8,3,3] f[12]", "padding=1,1", 0, 1e-4},
    {"conv2d_weight_grad", "f[2,12,20,20] f[2,8,20,20] f[12,8,3,3]", "padding=1,1", 0, 1e-3},
    {"conv2d", "f[2,40,19,19] f[40,1,5,5] _", "groups=40 padding=2,2", 0, 1e-4},
    {"conv2d", "f[1,24,12,16] f[24,1,3,3] f[24]", "groups=24 padding=1,1 stride=2,2", 0, 1e-4},
    {"conv2d", "f[1,12,9,8] f[12,2,5,5] _", "groups=6 padding=2,2", 0, 1e-4},
    {"conv2d", "f[1,8,9,8] f[8,1,3,3] _", "groups=8 padding=2,2 dilation=2,2", 0, 1e-4},
    {"conv2d", "f[1,150,5,5] f[40,150,3,3] f[40]", "padding=1,1", 0, 1e-3},
    {"conv2d", "f[1,600,4,4] f[33,600,1,1] f[33]", "", 0, 1e-3},
    {"conv2d", "f[2,70,8,8] f[40,70,1,1] _", "", 0, 1e-4},
    {"conv2d", "f[2,300,1,1] f[17,300,1,1] f[17]", "", 0, 1e-4},
    {"conv2d", "f[3,100,7,7] f[10,100,1,1] _", "stride=2,2", 0, 1e-4},
    {"conv2d_input_grad", "f[1,40,5,5] f[40,70,3,3] f[1,70,5,5]", "padding=1,1", 0, 1e-3},
    {"conv2d_input_grad", "f[2,40,4,6] f[40,33,1,1] f[2,33,4,6]", "", 0, 1e-3},
    {"conv2d_input_grad", "f[2,20,4,5] f[20,10,3,5] f[2,10,8,9]", "stride=2,2 padding=1,2", 0,
     1e-3},
    {"conv2d_input_grad", "f[1,300,4,5] f[300,35,1,1] f[1,35,8,9]", "stride=2,2", 0, 1e-3},
    {"conv2d_input_grad", "f[1,9,4,5] f[9,5,2,3] f[1,5,7,7]", "dilation=3,2 padding=0,1", 0, 1e-3},
    {"conv2d_weight_grad", "f[2,40,10,10] f[2,40,19,19] f[40,1,3,3]",
     "groups=40 padding=1,1 stride=2,2", 0, 1e-3},
    {"avg_pool2d", "f[2,40,7,7]", "kernel=7,7", 0, 1e-4},
    {"max_pool2d", "f[2,3,30,30]", "kernel=3,3 stride=2,2 padding=1,1", 0, 0},
    {"max_pool2d_grad", "f[2,3,10,10] i[2,3,10,10]<400 f[2,3,20,20]", "", 0, 1e-4},
    {"avg_pool2d_grad", "f[2,3,15,15] f[2,3,30,30]", "kernel=3,3 stride=2,2 padding=1,1", 0, 1e-4},
    {"attention", "f[2,3,70,33] f[2,3,90,33] f[2,3,90,21] b[2,1,70,90]", "", 0, 1e-4},
    {"attention", "t<f[3,70,40]> t<f[3,70,40]> f[3,70,40] _", "causal=true", 0, 1e-4},
    {"attention_grad", "f[3,70,40] f[3,70,40] f[3,90,40] f[3,90,40] f[90] f[3,70,40] f[3,70]",
     "causal=true", 0, 1e-3},
    {"embedding", "f[50,70] i[300]<50", "", 0, 0},
    {"embedding_grad", "f[300,70] i[300]<50 f[50,70]", "", 0, 1e-4},
    {"embedding_grad", "f[3000,70] i[3000]<9 f[9,70]", "", ROUGH, 1e-3},
    {"embedding_grad", "t<f[300,70]> i[300]<50 f[50,70]", "padding_idx=3", 0, 1e-4},
    {"index_add", "f[4,50,300] i[1200]<50 t<f[4,1200,300]>", "axis=1", ROUGH, 1e-4},
    {"index_add", "f[4,50,70] i[30]<50 f[4,30,70]", "axis=1", 0, 1e-4},
    {"scatter_add", "f[50,70] i[90,70]<50 f[90,70]", "", 0, 1e-4},
    {"index_put", "f[40,30] f[100,30] i[100]<40", "axes=0 accumulate=true", 0, 1e-4},
    {"index_put", "f[40,30] f[100,30] i[100]<40", "axes=0", 0, 0},
    {"nonzero", "n[50,70]", "", 0, 0},
    {"masked_select", "f[50,70] b[50,70]", "", 0, 0},
    {"sort", "n[5,300]", "", 0, 0},
    {"topk", "f[5,300]", "k=7", 0, 0},
    {"concat", "f[30,40] f[30,50]", "axis=1", 0, 0},
    {"slice_grad", "f[30,40] #3 #33 f[50,40]", "", 0, 0},
    {"slice_grad", "t<f[20,40]> #3 _ f[20,83]", "axis=1 step=2", 0, 0},
    {"select_grad", "f[30,40] #-3 f[30,50,40]", "axis=1", 0, 0},
    {"normal", "_ #7 #5", "shape=3001", 0, 0},
    {"uniform", "_ #7 #5", "shape=3001", 0, 0},
};

static jn_device *dev;
static unsigned n_run, n_failed, n_refused;
/* Elements before what operands hold and results are written to: 0 is where an allocation begins, 1
 * where a row of a matrix may, whose address is a multiple of an element's size alone. */
static int64_t before;

static void complain(const sample *s, int dtype, const char *what) {
    n_failed++;
    fprintf(stderr, "%s %s {%s} %s: %s\n", s->op, s->operands, s->attrs ? s->attrs : "",
            jn_dtype_name((janus_dtype)dtype), what);
}

/* The value as a tensor on the device, with the value's strides. */
static janus_status upload(const val *v, janus_tensor **out) {
    janus_tensor *flat = NULL, *there = NULL;
    int64_t n = v->numel + before;
    size_t size = jn_dtype_size((janus_dtype)v->t.dtype);
    char *data = calloc((size_t)n + 1, size);
    if (!data)
        return jn_error(JANUS_NO_MEMORY, "a sample's operand");
    memcpy(data + (size_t)before * size, v->data, (size_t)v->numel * size);
    janus_status st = janus_tensor_from_data((janus_dtype)v->t.dtype, 1, &n, data, &flat);
    free(data);
    if (st == JANUS_OK)
        st = jn_tensor_to(flat, dev, true, &there);
    if (st == JANUS_OK)
        st = jn_tensor_view(there, v->t.rank, v->dims, v->strides, before, out);
    janus_tensor_release(flat);
    janus_tensor_release(there);
    return st;
}

/* The op; its results into memory that begins `before` elements into an allocation. */
static janus_status run_op(const jn_op *op, const jn_eager_arg *args, unsigned n, const void *attrs,
                           val *const *want, janus_tensor **got, unsigned n_out) {
    if (!before)
        return jn_eager(op, args, n, attrs, got, n_out);
    for (unsigned i = 0; i < n_out; i++) {
        int64_t elements = want[i]->numel + before;
        janus_tensor *flat = NULL;
        JN_TRY(jn_dev_tensor(dev, (janus_dtype)want[i]->t.dtype, 1, &elements, &flat));
        janus_status st =
            jn_tensor_view(flat, want[i]->t.rank, want[i]->dims, want[i]->strides, before, &got[i]);
        janus_tensor_release(flat);
        JN_TRY(st);
    }
    return jn_eager_update(op, args, n, attrs, got, n_out);
}

static bool is_like(const jn_op *op, unsigned i) { return jn_op_accept(op, i) == JN_ACCEPT_LIKE; }

static janus_status arguments(const jn_op *op, val *const *in, unsigned n, jn_eager_arg *a) {
    for (unsigned i = 0; i < n; i++) {
        a[i] = (jn_eager_arg){.kind = JANUS_KIND_NONE};
        if (!in[i])
            continue;
        if (is_like(op, i)) {
            a[i].kind = JN_EAGER_LIKE;
            a[i].like = &in[i]->t;
        } else if (in[i]->t.kind == JANUS_KIND_TENSOR) {
            a[i].kind = JANUS_KIND_TENSOR;
            a[i].t = NULL;
            JN_TRY(upload(in[i], &a[i].t));
        } else {
            jn_view v = val_view(in[i]);
            a[i].kind = (uint8_t)in[i]->t.kind;
            if (in[i]->t.kind == JANUS_KIND_FLOAT)
                a[i].s.f = jn_load_f(&v, 0);
            else
                a[i].s.i = jn_load_i(&v, 0);
        }
    }
    return JANUS_OK;
}

static double tolerance(const sample *s, int dtype) {
    double tol = s->tol ? s->tol : 1e-5;
    if ((s->flags & ROUGH) && (dtype == JANUS_F16 || dtype == JANUS_BF16))
        tol = dtype == JANUS_F16 ? 0.5 : 4;
    return dtype == JANUS_F64    ? 1e-10
           : dtype == JANUS_F16  ? tol + 4e-3
           : dtype == JANUS_BF16 ? tol + 3e-2
                                 : tol;
}

static bool close_to(double x, double y, double tol) {
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y))
        return x == y;
    return fabs(x - y) <= tol * (1 + fabs(y));
}

static void compare(const sample *s, int dtype, janus_tensor *got, const val *want,
                    unsigned which) {
    janus_tensor *here;
    char text[200];
    if (jn_tensor_to(got, NULL, false, &here) != JANUS_OK) {
        complain(s, dtype, janus_last_error()->message);
        return;
    }
    jn_view v;
    if (jn_tensor_as_view(here, &v) != JANUS_OK) {
        complain(s, dtype, janus_last_error()->message);
        janus_tensor_release(here);
        return;
    }
    bool same = here->numel == want->numel && here->dtype == want->t.dtype;
    if (!same)
        complain(s, dtype, "another shape or dtype");
    double tol = jn_dtype_is_float(want->t.dtype) ? tolerance(s, want->t.dtype) : 0;
    for (int64_t i = 0; same && i < want->numel; i++) {
        double x = jn_load_f(&v, i), y = val_get(want, i);
        if (close_to(x, y, tol))
            continue;
        snprintf(text, sizeof text, "result %u, element %lld is %.17g, expected %.17g", which,
                 (long long)i, x, y);
        complain(s, dtype, text);
        break;
    }
    janus_tensor_release(here);
}

static void run_sample(const sample *s, int dtype) {
    tape t;
    val *in[64], *want[8];
    jn_eager_arg args[64];
    janus_tensor *got[8] = {0};
    void *attrs;
    const jn_op *op = jn_op_find(s->op, strlen(s->op));
    unsigned n_out = op_n_out(op);
    tape_init(&t, DEVICE_REF);
    int n = sample_operands(&t, s, dtype, 1234 + (uint64_t)op->id, in);
    if (n < 0 || sample_attrs(&t, s, op, &attrs) != JANUS_OK) {
        complain(s, dtype, "the sample does not parse");
        tape_free(&t);
        return;
    }
    if (tape_run(&t, op, in, (unsigned)n, attrs, want, n_out) != JANUS_OK) {
        if (dtype == JANUS_F32)
            complain(s, dtype, janus_last_error()->message);
        tape_free(&t); /* not an op of this dtype */
        return;
    }
    n_run++;
    janus_status st = arguments(op, in, (unsigned)n, args);
    if (st == JANUS_OK)
        st = run_op(op, args, (unsigned)n, attrs, want, got, n_out);
    janus_status flagged = st == JANUS_OK ? jn_dev_flags(dev) : st;
    if (st == JANUS_UNSUPPORTED && dtype != JANUS_F32) {
        n_refused++;
    } else if (st != JANUS_OK) {
        complain(s, dtype, janus_last_error()->message);
    } else if ((flagged != JANUS_OK) != (t.flags != 0)) {
        complain(s, dtype, t.flags ? "no flag was raised" : janus_last_error()->message);
    } else {
        for (unsigned i = 0; i < n_out; i++)
            compare(s, dtype, got[i], want[i], i);
    }
    for (unsigned i = 0; i < n_out; i++)
        janus_tensor_release(got[i]);
    for (int i = 0; i < n; i++)
        if (args[i].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(args[i].t);
    tape_free(&t);
}

/* The reason an op is listed with in unsupported.txt; NULL: it is not. */
static const char *reason(const char *list, const char *op) {
    size_t n = strlen(op);
    for (const char *line = list; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, op, n) == 0 && line[n] == ':')
            return line + n + 1;
    }
    return NULL;
}

static char *read_list(void) {
    char path[4096];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/conformance/unsupported.txt", srcdir ? srcdir : ".");
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 16);
    if (!f || !text || fread(text, 1, (1 << 16) - 1, f) == 0) {
        fprintf(stderr, "%s: cannot be read (srcdir names the source folder)\n", path);
        exit(2);
    }
    fclose(f);
    return text;
}

static void coverage(const char *list) {
    for (unsigned i = 0; i < jn_n_ops; i++) {
        const jn_op *op = &jn_ops[i];
        bool wanted = jn_op_impls[i].cpu, have = dev->module->rows[i].select;
        const char *why = reason(list, op->name);
        if (wanted && !have && !why) {
            fprintf(stderr, "%s: no kernel on %s and no line in unsupported.txt\n", op->name,
                    dev->name);
            n_failed++;
        } else if (have && why) {
            fprintf(stderr, "%s: stands in unsupported.txt and has a kernel\n", op->name);
            n_failed++;
        }
    }
}

int main(int argc, char **argv) {
    static const int dtypes[] = {JANUS_F32, JANUS_F64, JANUS_F16, JANUS_BF16};
    const char *only = argc > 2 ? argv[2] : NULL;
    if (argc > 1 && strcmp(argv[1], "toy") == 0 &&
        jn_device_open("toy", janus_toy_module(), &dev) == JANUS_OK)
        jn_device_use("toy", dev);
    if (jn_device_named(argc > 1 ? argv[1] : "cuda", &dev) != JANUS_OK || !dev) {
        printf("SKIP: %s\n", dev ? "" : janus_last_error()->message);
        return 77;
    }
    char *list = read_list();
    if (!only)
        coverage(list);
    size_t n_large = sizeof large / sizeof *large;
    for (size_t k = 0; k < n_samples + n_large; k++) {
        const sample *s = k < n_samples ? &samples[k] : &large[k - n_samples];
        const jn_op *op = jn_op_find(s->op, strlen(s->op));
        if ((only && strcmp(only, s->op) != 0) || !dev->module->rows[op->id].select)
            continue;
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (before = 0; before < 2; before++)
                run_sample(s, dtypes[d]);
    }
    jn_dev_stats s = jn_dev_pool_stats(&dev->pool);
    if (s.allocated != 0) {
        fprintf(stderr, "%llu bytes of device memory were not released\n",
                (unsigned long long)s.allocated);
        n_failed++;
    }
    printf("%s (%s): %u samples, %u of a dtype without kernel, %u failures\n", dev->name,
           dev->model, n_run, n_refused, n_failed);
    free(list);
    return n_failed != 0;
}
