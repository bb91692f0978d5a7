# SPDX-License-Identifier: Apache-2.0
"""NULL for every pointer of every public C function: an error, never a crash.

The test is made from the headers: a C program with a call for each pointer of each function, the
others being right, which runs every call in a child process.
"""
import re
import subprocess

from c_programs import BUILD, SOURCE, compiled

# Where NULL has a meaning of its own; the comments of the headers say which.
ALLOWED = {("janus_tensor_wrap", "strides"), ("janus_tensor_wrap", "release"), ("janus_tensor_wrap", "user"),
           ("janus_module_parse", "name"), ("janus_subgraph_param", "name"), ("janus_subgraph_at", "file"),
           ("janus_build", "attrs"), ("janus_run", "options"), ("janus_run", "stats"), ("janus_module_load", "weights"),
           ("janus_model_call", "options"), ("janus_model_call", "stats"), ("janus_model_batch", "options"),
           ("janus_model_batch", "stats"), ("janus_session_call", "options"), ("janus_session_call", "stats")}
# Lists: they may be NULL where their number is 0, which is not what is called here.
LISTS = {"const janus_value *": "values", "const janus_arg *": "args", "janus_arg *": "args", "janus_value *": "outs",
         "const janus_type *": "&tensor_type", "const unsigned *": "numbers", "const int64_t *": "dims"}
VALUES = {"janus_module *": "m", "const janus_module *": "m", "janus_subgraph *": "g", "const janus_subgraph *": "g",
          "janus_tensor *": "t", "const janus_tensor *": "t", "const char *": '"neg"', "const void *": "data",
          "void *": "data", "janus_module **": "&new_m", "janus_subgraph **": "&new_g", "janus_tensor **": "&new_t",
          "char **": "&text", "const janus_allocator *": "&allocator", "const janus_run_options *": "&options",
          "janus_run_stats *": "&stats", "janus_weights *": "weights", "const janus_weights *": "weights",
          "janus_weights **": "&new_weights", "janus_model *": "NULL", "const janus_model *": "NULL",
          "janus_model **": "&new_model", "janus_session *": "NULL",
          "const janus_session *": "NULL", "janus_session **": "&new_session", "int64_t *": "dims",
          "const char *const *": "texts", "void (*)(void *)": "released"}
SCALARS = {"janus_value": "x", "unsigned": "1", "int": "1", "size_t": "3", "bool": "false", "int64_t": "1",
           "double": "1", "janus_dtype": "JANUS_F32", "janus_status": "JANUS_OK"}

HEAD = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "janus.h"
#include "janus_ops.h"
static void released(void *user) { (void)user; }
static janus_module *m, *new_m;
static janus_subgraph *g, *new_g;
static janus_tensor *t, *new_t;
static janus_value x, values[4], outs[4];
static janus_arg args[4];
static unsigned numbers[1];
static int64_t dims[1] = {1};
static float data[4];
static char *text;
static const char *texts[4];
static janus_weights *weights, *new_weights;
static janus_model *new_model;
static janus_session *new_session;
static janus_type tensor_type = {.kind = JANUS_KIND_TENSOR, .rank = 1, .dims = dims};
static janus_allocator allocator;
static janus_run_options options = JANUS_RUN_OPTIONS_INIT;
static janus_run_stats stats;
#define TRY(name, has_status, allowed, call) do { \\
    fflush(stdout); \\
    pid_t pid = fork(); \\
    if (pid == 0) { int st = -100; has_status call; _exit(st == -100 ? 0 : st == JANUS_OK ? 2 : 3); } \\
    int how = 0; waitpid(pid, &how, 0); n++; \\
    if (!WIFEXITED(how)) { printf("%s: signal %d\\n", name, WTERMSIG(how)); failed = 1; } \\
    else if (WEXITSTATUS(how) == 2 && !(allowed)) { printf("%s: succeeded\\n", name); failed = 1; } \\
} while (0)
int main(void) {
    int failed = 0, n = 0;
    if (janus_module_new(&m) || janus_subgraph_declare(m, "g", &tensor_type, 1, &g) ||
        janus_subgraph_param(g, "x", &tensor_type, false, &x) || janus_tensor_new(JANUS_F32, 1, dims, &t))
        return 1;
    values[0] = values[1] = x;
    args[0] = (janus_arg){.kind = JANUS_KIND_TENSOR, .t = t};
"""


def split(parameters):
    """[(type, name)] of a parameter list, functions as parameters included."""
    found, depth, start = [], 0, 0
    for i, c in enumerate(parameters + ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            found.append(parameters[start:i].strip())
            start = i + 1
    result = []
    for p in found:
        function = re.fullmatch(r"void \(\*(\w+)\)\(void \*\w+\)", p)
        if function:
            result.append(("void (*)(void *)", function[1]))
        elif p != "void":
            kind, name = re.fullmatch(r"(.*?)(\w+)", p).groups()
            result.append((kind.strip(), name))
    return result


def functions():
    """[(returns a status, name, parameters)] of both headers."""
    public = re.sub(r"/\*.*?\*/", "", (SOURCE / "include/janus.h").read_text(), flags=re.S)
    typed = re.sub(r"/\*.*?\*/", "", (SOURCE / "include/janus_ops.h").read_text(), flags=re.S)
    found = re.findall(r"JANUS_API ([\w *]+?)(janus_\w+)\(([^;]*)\);", public)
    found += re.findall(r"static inline (janus_status )(janus_build_\w+)\((.*?)\) \{", typed)
    return [(kind.strip() == "janus_status", name, split(" ".join(parameters.split()))) for kind, name, parameters in found]


def argument(kind, name):
    if kind.startswith("const janus_") and kind.endswith("_attrs *"):
        return "NULL"
    if kind in ("janus_value *",) and name.startswith("out"):
        return "outs"
    for table in (LISTS, VALUES, SCALARS):
        if kind in table:
            return table[kind]
    raise KeyError(f"{kind} {name}: no value of this type is known to the test")


def calls():
    for status, name, parameters in functions():
        for i, (kind, own) in enumerate(parameters):
            if "*" not in kind or kind.endswith("_attrs *"):
                continue
            arguments = ["NULL" if k == i else argument(*p) for k, p in enumerate(parameters)]
            allowed = (name, own) in ALLOWED
            yield (f'    TRY("{name}: {own}", {"st =" if status else "(void)"}, {int(allowed)}, '
                   f'{name}({", ".join(arguments)}));')


def test_null_is_an_error(tmp_path):
    lines = list(calls())
    assert len(lines) > 400 and len(functions()) > 200
    text = HEAD + "\n".join(lines) + '\n    printf("%d calls\\n", n);\n    return failed;\n}\n'
    program = compiled(tmp_path / "null", text, "-Wno-nonnull", f"-I{BUILD}/include")
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and f"{len(lines)} calls" in done.stdout, done.stdout + done.stderr
