# SPDX-License-Identifier: Apache-2.0
"""janus_module_load: exported graphs called by a C program give what Python gives, and errors where the files or the
arguments are wrong.  The program here is written once; what it calls is said on its command line."""
import json
import os
import shutil
import struct
import subprocess

import pytest
from c_programs import compiled, needs_cjson

import janus
from janus import nn
from janus.io import load_safetensors, save_safetensors

# call FOLDER N: N calls with all arguments as they lie in FOLDER/in.bin; prints each result.
# weights FOLDER...: loads all with one set of weights, prints its bytes and those of each alone.
PROGRAM = r"""
#include <inttypes.h>
#include <janus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int fail(void) {
    const janus_error *e = janus_last_error();
    printf("%s: %s\n", janus_status_text(e->code), e->message);
    return 3;
}
static int64_t word(FILE *f) {
    int64_t v;
    if (fread(&v, sizeof v, 1, f) != 1)
        exit(9);
    return v;
}
/* A kind, then a number, or dtype, rank, dims, how many bytes, bytes */
static janus_arg value(FILE *f) {
    janus_arg a = {.kind = (janus_kind)word(f)};
    if (a.kind == JANUS_KIND_TENSOR) {
        int64_t dims[16], dtype = word(f), rank = word(f);
        for (int64_t i = 0; i < rank; i++)
            dims[i] = word(f);
        size_t n = (size_t)word(f);
        char *bytes = malloc(n + 1);
        if (!bytes || fread(bytes, 1, n, f) != n || janus_tensor_from_data((janus_dtype)dtype, (int)rank, dims, bytes, &a.t))
            exit(9);
        free(bytes);
    } else if (a.kind != JANUS_KIND_NONE) {
        a.s.i = word(f);
    }
    return a;
}
static void show(const char *name, janus_arg *r) {
    printf("%s|%d|", name, (int)r->kind);
    if (r->kind == JANUS_KIND_INT || r->kind == JANUS_KIND_BOOL)
        printf("%" PRId64, r->s.i);
    if (r->kind == JANUS_KIND_FLOAT)
        printf("%a", r->s.f);
    if (r->kind == JANUS_KIND_TENSOR) {
        int64_t n = 1;
        for (int i = 0; i < janus_tensor_rank(r->t); i++) {
            printf("%s%" PRId64, i ? "," : "", janus_tensor_dims(r->t)[i]);
            n *= janus_tensor_dims(r->t)[i];
        }
        printf("|");
        for (int64_t i = 0; i < n && janus_tensor_dtype(r->t) == JANUS_F32; i++)
            printf("%a ", (double)((float *)janus_tensor_data(r->t))[i]);
        janus_tensor_release(r->t);
    }
    printf("\n");
}
int main(int argc, char **argv) {
    janus_model *m;
    int status = 0;
    if (argc > 2 && strcmp(argv[1], "weights") == 0) {
        janus_weights *all;
        uint64_t apart = 0;
        janus_model *models[16];
        if (janus_weights_new(&all))
            return fail();
        for (int i = 2; i < argc; i++) {
            janus_weights *one;
            if (janus_weights_new(&one) || janus_module_load(argv[i], one, &m) || janus_module_load(argv[i], all, &models[i]))
                return fail();
            apart += janus_weights_bytes(one);
            janus_weights_release(one);
            janus_model_release(m);
        }
        printf("%" PRIu64 " %" PRIu64 "\n", janus_weights_bytes(all), apart);
        janus_weights_release(all);
        for (int i = 2; i < argc; i++)
            janus_model_release(models[i]);
        return 0;
    }
    if (argc != 4 || janus_module_load(argv[2], NULL, &m))
        return fail();
    unsigned n = janus_model_arguments(m), n_out = janus_model_results(m), calls = (unsigned)atoi(argv[3]), k, i;
    char path[4096];
    snprintf(path, sizeof path, "%s/in.bin", argv[2]);
    FILE *f = fopen(path, "rb");
    janus_arg *in = calloc(calls * n + 1, sizeof *in), *out = calloc(calls * n_out + 1, sizeof *out);
    const char **names = calloc(n + 1, sizeof *names);
    if (!f || !in || !out || !names)
        return 9;
    for (k = 0; k < calls * n; k++)
        in[k] = value(f);
    fclose(f);
    for (i = 0; i < n; i++)
        printf("%s%s", i ? "," : "", names[i] = janus_model_argument(m, i));
    printf("\n");
    if (janus_model_batch(m, calls, in, n, NULL, out, n_out, NULL))
        status = fail();
    for (k = 0; status == 0 && k < calls; k++)
        for (i = 0; i < n_out; i++)
            show(janus_model_result(m, i), &out[k * n_out + i]);
    if (status == 0 && janus_model_call(m, names, in, n, NULL, out, n_out, NULL)) /* by name */
        status = fail();
    for (i = 0; status == 0 && i < n_out; i++)
        show(janus_model_result(m, i), &out[i]);
    for (k = 0; k < calls * n; k++)
        if (in[k].kind == JANUS_KIND_TENSOR)
            janus_tensor_release(in[k].t);
    free(in);
    free(out);
    free(names);
    janus_model_release(m);
    return status;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    needs_cjson()
    model = compiled(tmp_path_factory.mktemp("program") / "model", PROGRAM)

    def run(*args):
        # the leaks of a program that ends in an error are its own
        env = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        done = subprocess.run([str(model), *map(str, args)], capture_output=True, text=True, timeout=60, env=env)
        assert done.returncode in (0, 3), (done.returncode, done.stdout, done.stderr)
        return done.returncode, done.stdout.splitlines()
    return run


DTYPES = {janus.float32: 0, janus.float64: 1, janus.int32: 2, janus.int64: 3}


def packed(a):
    if a is None or type(a) is str:
        return struct.pack("<q", 0)
    if type(a) is bool:
        return struct.pack("<qq", 4, a)
    if type(a) is int:
        return struct.pack("<qq", 2, a)
    if type(a) is float:
        return struct.pack("<qd", 3, a)
    data = memoryview(a.contiguous().reshape(-1)).tobytes()
    return struct.pack(f"<{4 + len(a.shape)}q", 1, DTYPES[a.dtype], len(a.shape), *a.shape, len(data)) + data


def leaves(r, path=""):
    if isinstance(r, dict):
        return [x for k, v in r.items() for x in leaves(v, f"{path}.{k}" if path else k)]
    if isinstance(r, (tuple, list)):
        return [x for i, v in enumerate(r) for x in leaves(v, f"{path}[{i}]")]
    return [(path, r)]


def agree(line, name, want):
    found = line.split("|")
    assert found[0] == name
    if isinstance(want, janus.Tensor):
        assert found[1] == "1" and found[2] == ",".join(map(str, want.shape))
        got = [float.fromhex(x) for x in found[3].split()]
        assert janus.allclose(janus.tensor(got).reshape(want.shape), want, atol=1e-6), (got, want)
    elif type(want) is bool:
        assert found[1:] == ["4", str(int(want))]
    elif type(want) is int:
        assert found[1:] == ["2", str(want)]
    elif type(want) is float:
        assert found[1] == "3" and repr(float.fromhex(found[2])) == repr(want)
    else:
        assert found[1:] == ["0", ""]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.twin = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        with janus.no_grad():
            self.twin.weight.copy_(self.second.weight)

    def forward(self, x, k=1.0, mode="plain"):
        y = janus.relu(self.first(x))
        for _ in range(3):
            y = janus.tanh(self.second(y)) + self.twin(y) * k
        if y.sum() > 0:
            y = y * 2
        return {"y": y, "parts": (y[0].clone(), [y.sum(), 3, True, "text", None, -2.5])}


def closure():
    w = janus.tensor([1.0, 2.0])
    return lambda a, b: a * w + b


def loops(x, n):
    while x.sum() < 10:
        x = x * 2 + n
    return x * 2, x * n


def odd(x, big, far, none):
    return x * far, x + (big > 2 ** 60), -0.0, none is None, float("nan"), 2 ** 60 + 1


CASES = {"net": (lambda: Net().eval(), [(janus.ones(2, 3), 0.5, "plain"), (-janus.ones(2, 3), 0.5, "plain")]),
         "closure": (closure, [(janus.ones(2), janus.zeros(2)), (janus.tensor([3.0, 4.0]), janus.ones(2))]),
         "loops": (lambda: loops, [(janus.ones(2), 1), (janus.tensor([0.1, 0.2]), 1)]),
         "odd": (lambda: odd, [(janus.ones(3), 2 ** 60 + 1, float("inf"), None)])}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("calls", [1, 2, 13, 40])
def test_as_in_python(tmp_path, program, name, calls):
    make, examples = CASES[name]
    f = make()
    janus.export(f, tmp_path / "m", *examples[0])
    calls_made = [examples[i % len(examples)] for i in range(calls)]
    (tmp_path / "m" / "in.bin").write_bytes(b"".join(packed(a) for args in calls_made for a in args))
    with janus.no_grad():
        want = [leaf for args in [*calls_made, calls_made[0]] for leaf in leaves(f(*args))]
    status, lines = program("call", tmp_path / "m", calls)
    assert status == 0, lines
    assert len(lines) == 1 + len(want)
    for line, (path, value) in zip(lines[1:], want):
        agree(line, path, value)
    if all(type(v) is not janus.Tensor or len(v.shape) for _, v in want):
        g = janus.load_graph(tmp_path / "m")  # the same files in Python
        again = [leaf for args in calls_made for leaf in leaves(g(*args))]
        assert [repr(v) for _, v in again if not isinstance(v, janus.Tensor)] == \
            [repr(v) for _, v in want[:len(again)] if not isinstance(v, janus.Tensor)]


def test_equal_weights_are_shared(tmp_path, program):
    net, other = Net().eval(), Net().eval()
    other.load_state_dict(net.state_dict())
    with janus.no_grad():
        other.first.bias.add_(1)
    folders = []
    for i, m in enumerate((net, other, net)):
        folders.append(tmp_path / str(i))
        janus.export(m, folders[-1], janus.ones(2, 3), 0.5)
    status, lines = program("weights", *folders)
    shared, apart = map(int, lines[0].split())
    one = 4 * (12 + 4 + 16 + 4 + 4)  # second and twin share a weight
    assert (status, shared, apart) == (0, one + 16, 3 * one)


def test_wrong_arguments(tmp_path, program):
    janus.export(Net().eval(), tmp_path / "m", janus.ones(2, 3), 0.5, "plain")

    def given(*args):
        (tmp_path / "m" / "in.bin").write_bytes(b"".join(map(packed, args)))
        return program("call", tmp_path / "m", 1)

    x = janus.ones(2, 3)
    for args, why in (((None, 0.5, None), "invalid argument: the argument x is missing"),
                      ((1.0, 0.5, None), "invalid argument: the argument x is of another kind"),
                      ((x, 1, None), "argument k"),
                      ((x, 0.5, 1), "the argument mode: the model was exported for another one"),
                      ((janus.ones(3, 2), 0.5, None), "expected f32[2,3]"),
                      ((janus.ones(2, 3, dtype=janus.int64), 0.5, None), "expected f32[2,3]")):
        status, lines = given(*args)
        assert status == 3 and why in lines[-1], (why, lines)


def test_damaged_files(tmp_path, program):
    whole = tmp_path / "m"
    janus.export(Net().eval(), whole, janus.ones(2, 3), 0.5)
    (whole / "in.bin").write_bytes(b"".join(map(packed, (janus.ones(2, 3), 0.5))))
    assert program("call", whole, 1)[0] == 0
    signature = json.loads((whole / "signature.json").read_text())
    with open(whole / "weights.safetensors", "rb") as file:
        weights = load_safetensors(file)

    def says(change, why):
        shutil.rmtree(tmp_path / "d", ignore_errors=True)
        shutil.copytree(whole, tmp_path / "d")
        change(tmp_path / "d")
        status, lines = program("call", tmp_path / "d", 1)
        assert status == 3 and why in lines[-1], (why, lines)

    def edited(**changes):
        return lambda d: (d / "signature.json").write_text(json.dumps({**signature, **changes}))

    def weighed(**changes):
        def write(d):
            with open(d / "weights.safetensors", "wb") as file:
                save_safetensors({k: v for k, v in {**weights, **changes}.items() if v is not None}, file)
        return write

    for name in ("graph.jir", "signature.json", "weights.safetensors"):
        says(lambda d: (d / name).unlink(), f"not found: {tmp_path}/d/{name}")
        text = (whole / name).read_bytes()
        for cut in (0, 1, 7, len(text) // 2, len(text) - 3):
            says(lambda d: (d / name).write_bytes(text[:cut]), "parse error")
    says(lambda d: (d / "signature.json").write_text("{} {}"), "something follows")
    says(edited(format=3), "only janus.load_graph, in Python")
    says(edited(format=4), "no known format")
    says(edited(inputs=signature["inputs"][1:]), '"inputs" is damaged')
    says(edited(inputs=[{"name": "x", "argument": 99}] * len(signature["inputs"])), "an input is damaged")
    says(edited(inputs=[{"name": "x", "weight": "nothing"}] * len(signature["inputs"])), "has no nothing")
    says(edited(result=["result", 99]), '"result" is damaged')
    says(edited(result=["dict", [["result", 0]]]), '"result" is damaged')
    first = weights["self.first.weight"]
    says(weighed(**{"self.first.weight": None}), "has no self.first.weight")
    says(weighed(**{"self.first.weight": janus.ones(5, 3)}), "shape mismatch")
    says(weighed(**{"self.first.weight": first.double()}), "dtype mismatch")
    says(lambda d: shutil.rmtree(d), "not found")


# A tree of dicts as a C program has it: a number of kids, which follow.
DICTS = r"""
#include <janus.h>
#include <stdio.h>
#include <string.h>
typedef struct node { double value; int64_t n; struct node *kids; } node;
static janus_status get_key(void *ctx, janus_object o, const janus_host_value *key, janus_host_value *out) {
    const node *d = o;
    (void)ctx;
    if (key->kind != JANUS_KIND_OBJECT)
        return JANUS_NOT_FOUND;
    if (strcmp(key->o, "value") == 0)
        *out = (janus_host_value){.kind = JANUS_KIND_FLOAT, .s.f = d->value};
    else if (strcmp(key->o, "kids") == 0)
        *out = (janus_host_value){.kind = JANUS_KIND_OBJECT, .o = (char *)o + 4}; /* the list of it */
    else
        return JANUS_NOT_FOUND;
    return JANUS_OK;
}
static const node *listed(janus_object o) { return (const node *)((char *)o - 4); }
static janus_status get_item(void *ctx, janus_object o, int64_t i, janus_host_value *out) {
    (void)ctx;
    *out = (janus_host_value){.kind = JANUS_KIND_OBJECT, .o = &listed(o)->kids[i]};
    return JANUS_OK;
}
static janus_status length(void *ctx, janus_object o, int64_t *out) {
    (void)ctx;
    *out = listed(o)->n;
    return JANUS_OK;
}
static janus_status type_of(void *ctx, janus_object o, int64_t *out) {
    (void)ctx;
    *out = JANUS_TYPE_TOKEN + ((size_t)o % 8 ? JANUS_TYPE_LIST : JANUS_TYPE_DICT);
    return JANUS_OK;
}
int main(int argc, char **argv) {
    node leaves[2] = {{2.0, 0, NULL}, {3.5, 0, NULL}}, inner[2] = {{1.0, 2, leaves}, {4.0, 0, NULL}}, root = {0.5, 2, inner};
    const janus_host_ops host = {.struct_size = sizeof host, .get_key = get_key, .get_item = get_item, .length = length,
                                 .type_of = type_of};
    janus_run_options options = JANUS_RUN_OPTIONS_INIT;
    options.host = &host;
    const char *names[2] = {"d", "x"};
    int64_t two = 2;
    janus_arg in[2] = {{.kind = JANUS_KIND_OBJECT, .o = &root}, {.kind = JANUS_KIND_TENSOR}}, out;
    float x[2] = {1.0f, -2.0f};
    janus_model *m;
    if (argc != 2 || janus_module_load(argv[1], NULL, &m) || janus_tensor_from_data(JANUS_F32, 1, &two, x, &in[1].t) ||
        janus_model_call(m, names, in, 2, &options, &out, 1, NULL)) {
        printf("%s\n", janus_last_error()->message);
        return 3;
    }
    printf("%g %g\n", ((float *)janus_tensor_data(out.t))[0], ((float *)janus_tensor_data(out.t))[1]);
    janus_tensor_release(out.t);
    janus_tensor_release(in[1].t);
    janus_model_release(m);
    return 0;
}
"""


def test_trees_of_dicts(tmp_path):
    from test_export import a_dict, by_lists
    needs_cjson()
    janus.export(by_lists, tmp_path / "m", a_dict(5), janus.ones(2))
    program = compiled(tmp_path / "dicts", DICTS)
    done = subprocess.run([str(program), str(tmp_path / "m")], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "11 -22\n"), (done.stdout, done.stderr)
