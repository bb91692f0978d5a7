/* janus-graph: looks at graphs in the text form (.jir).
 *
 * A program on top of the library, not part of it: it prints, and its exit status is 0 when all
 * went well, 1 when `diff` found a difference, 2 for anything wrong.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/run/run.h"
#include "graph/base/log.h"
#include "graph/draw/draw.h"
#include "graph/ir/ir.h"
#include "graph/passes/passes.h"
#include "graph/text/text.h"
#include "tools/graph_run.h"
#include "tools/graph_view.h"
#include "tools/line_diff.h"

extern char **environ;

enum { EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2 };

static const char usage_text[] =
    "usage: janus-graph dump [-O] FILE [-o OUT]   print it again, -O: optimised\n"
    "       janus-graph draw [-O] FILE OUT        OUT: .dot .svg .html .json .jir\n"
    "       janus-graph view [-O] FILE [-o OUT]   a page to look at it, FILE.html\n"
    "       janus-graph run [-O] FILE SUB [ARG...] results, one a line; ARG: 3, 0.5, true,\n"
    "                                             f32[2](1.0,2.0)\n"
    "           -s: statistics   -x: exact numerics   -d DEVICE   -r SEED\n"
    "       janus-graph schedule [-O] FILE [SUB [ARG...]]  windows of a run, after each pass; of "
    "the\n"
    "                                             first SubGraph; arguments left out are made up\n"
    "           -x, -d DEVICE, -r SEED: as above\n"
    "       janus-graph stats FILE                what is in it\n"
    "       janus-graph diff FILE FILE            SubGraph by SubGraph\n"
    "FILE is in the text form; - is standard input.\n";

static int trouble(const char *what, const char *why) {
    fprintf(stderr, "janus-graph: %s: %s\n", what, why);
    return EXIT_TROUBLE;
}

/* The error of the library, with where it came from. */
static int library_trouble(const char *file) {
    const janus_error *e = janus_last_error();
    bool located = e->code == JANUS_PARSE;
    fprintf(stderr, "janus-graph: %s%s%s\n", located ? "" : file, located ? "" : ": ", e->message);
    for (int i = 0; i < e->n_context; i++)
        fprintf(stderr, "    %s\n", e->context[i]);
    return EXIT_TROUBLE;
}

/* ---- files ------------------------------------------------------------------------------------
 */

static bool read_all(FILE *f, jn_str *out) {
    char block[1 << 16];
    size_t n;
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        jn_str_appendn(out, block, n);
    return !ferror(f) && jn_str_ok(out);
}

static int load(const char *file, bool optimize, janus_module **out) {
    bool standard = !strcmp(file, "-");
    FILE *f = standard ? stdin : fopen(file, "rb");
    jn_str text = {0};
    if (!f)
        return trouble(file, strerror(errno));
    bool ok = read_all(f, &text);
    if (!standard)
        fclose(f);
    if (!ok) {
        jn_str_free(&text);
        return trouble(file, "cannot be read");
    }
    janus_status st = jn_parse_module(text.data ? text.data : "", text.n,
                                      standard ? "standard input" : file, out);
    jn_str_free(&text);
    if (st != JANUS_OK)
        return library_trouble(file);
    if (optimize && jn_optimize(*out) != JANUS_OK) {
        jn_module_release(*out);
        return library_trouble(file);
    }
    return 0;
}

static int store(const char *file, const jn_str *text) {
    FILE *f = file ? fopen(file, "wb") : stdout;
    if (!f)
        return trouble(file, strerror(errno));
    bool ok = jn_str_ok(text) && fwrite(text->data ? text->data : "", 1, text->n, f) == text->n;
    ok = (file ? fclose(f) : fflush(f)) == 0 && ok;
    return ok ? 0 : trouble(file ? file : "standard output", "cannot be written");
}

/* ---- drawing ----------------------------------------------------------------------------------
 */

/* Runs Graphviz on the drawing; the result is in *out. */
static int layout(const janus_module *m, jn_str *out) {
    char path[] = "/tmp/janus-graph-XXXXXX";
    int fd = mkstemp(path), pipe_ends[2], status = 0, rc = EXIT_TROUBLE;
    if (fd < 0)
        return trouble(path, strerror(errno));
    close(fd);
    jn_str dot = {0};
    jn_print_dot(m, &dot);
    if (store(path, &dot) != 0)
        goto remove_file;
    if (pipe(pipe_ends) != 0) {
        trouble("pipe", strerror(errno));
        goto remove_file;
    }
    char *argv[] = {"dot", "-Tsvg", path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    int failed = posix_spawnp(&child, "dot", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    FILE *f = failed ? NULL : fdopen(pipe_ends[0], "rb");
    bool ok = f && read_all(f, out);
    if (f)
        fclose(f);
    else
        close(pipe_ends[0]);
    if (!failed)
        waitpid(child, &status, 0);
    if (ok && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        rc = 0;
remove_file:
    unlink(path);
    jn_str_free(&dot);
    return rc;
}

/* The viewer's page, with the source files that are at hand, and the schedule of a graph that can
 * be run: SubGraphs that are only declared have none. */
static void page(janus_module *m, const char *title, jn_str *text) {
    jn_str extra = {0}, schedule = {0};
    graph_view_extra(m, title, &extra);
    bool known = jn_module_freeze(m) == JANUS_OK && jn_module_schedule(m, &schedule) == JANUS_OK;
    jn_print_html(m, known ? schedule.data : NULL, extra.data, text);
    text->broken |= extra.broken;
    jn_str_free(&schedule);
    jn_str_free(&extra);
}

static int draw(const char *file, const char *out, bool optimize) {
    const char *suffix = strrchr(out, '.');
    janus_module *m;
    jn_str text = {0};
    int rc;
    if (!suffix)
        return trouble(out, "has no suffix that says what to draw");
    if ((rc = load(file, optimize, &m)) != 0)
        return rc;
    if (!strcmp(suffix, ".dot")) {
        jn_print_dot(m, &text);
    } else if (!strcmp(suffix, ".json")) {
        jn_print_json(m, &text);
    } else if (!strcmp(suffix, ".jir")) {
        jn_print_module(m, &text);
    } else if (!strcmp(suffix, ".html")) {
        page(m, file, &text);
    } else if (!strcmp(suffix, ".svg")) {
        rc = layout(m, &text);
        if (rc)
            trouble(out, "Graphviz' dot did not run (Debian, Ubuntu: graphviz)");
    } else {
        rc = trouble(out, "unknown suffix; .dot .svg .html .json .jir are known");
    }
    if (rc == 0)
        rc = store(out, &text);
    jn_str_free(&text);
    jn_module_release(m);
    return rc;
}

/* Writes the page and says where it is. */
static int view(const char *file, const char *out, bool optimize) {
    janus_module *m;
    jn_str text = {0}, name = {0};
    int rc = load(file, optimize, &m);
    if (rc)
        return rc;
    jn_str_append(&name, out ? out : strcmp(file, "-") ? file : "graph");
    if (!out)
        jn_str_append(&name, ".html");
    page(m, file, &text);
    rc = jn_str_ok(&name) ? store(name.data, &text) : trouble(file, "out of memory");
    if (rc == 0)
        printf("%s\n", name.data);
    jn_str_free(&name);
    jn_str_free(&text);
    jn_module_release(m);
    return rc;
}

static int dump(const char *file, const char *out, bool optimize) {
    janus_module *m;
    jn_str text = {0};
    int rc = load(file, optimize, &m);
    if (rc)
        return rc;
    jn_print_module(m, &text);
    rc = store(out, &text);
    jn_str_free(&text);
    jn_module_release(m);
    return rc;
}

static int run(const char *file, char **rest, int n_rest, bool optimize,
               const graph_run_options *options) {
    janus_module *m;
    int rc = load(file, optimize, &m);
    if (rc)
        return rc;
    if (graph_run(m, rest[0], rest + 1, (unsigned)n_rest - 1, options) != JANUS_OK)
        rc = library_trouble(file);
    jn_module_release(m);
    return rc;
}

/* What JANUS_LOG=schedule says, on standard output. */
static int schedule(const char *file, char **rest, int n_rest, bool optimize,
                    graph_run_options options) {
    janus_module *m;
    int rc = load(file, optimize, &m);
    if (rc)
        return rc;
    options.quiet = options.filled = true;
    jn_log_to(JN_LOG_SCHEDULE, stdout);
    if (!n_rest && !m->subs.n)
        rc = trouble(file, "has no SubGraph");
    else if (graph_run(m, n_rest ? rest[0] : m->subs.data[0]->name, rest + 1,
                       n_rest ? (unsigned)n_rest - 1 : 0, &options) != JANUS_OK)
        rc = library_trouble(file);
    jn_module_release(m);
    return rc;
}

/* ---- statistics -------------------------------------------------------------------------------
 */

typedef struct op_count {
    const jn_op *op;
    unsigned n;
} op_count;

static int by_count(const void *a, const void *b) {
    const op_count *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return x->op && y->op ? strcmp(x->op->name, y->op->name) : 0;
}

static int stats(const char *file) {
    janus_module *m;
    int rc = load(file, false, &m);
    if (rc)
        return rc;
    op_count *counts = calloc(jn_n_ops, sizeof *counts);
    if (!counts || jn_callgraph_compute(m) != JANUS_OK) {
        free(counts);
        jn_module_release(m);
        return trouble(file, "out of memory");
    }
    size_t nodes = 0, width = 4;
    for (size_t i = 0; i < m->subs.n; i++) {
        size_t n = strlen(m->subs.data[i]->name);
        width = n > width ? n : width;
    }
    printf("%-*s  params  nodes  calls  saved\n", (int)width + 1, "SubGraph");
    for (size_t i = 0; i < m->subs.n; i++) {
        const jn_subgraph *g = m->subs.data[i];
        unsigned calls = 0;
        for (size_t k = 1; k < g->nodes.n; k++) {
            const jn_op *op = g->nodes.data[k]->op;
            calls += jn_op_n_subs(op) != 0;
            counts[op->id].op = op;
            counts[op->id].n++;
        }
        nodes += g->nodes.n - 1;
        printf("@%-*s  %6zu  %5zu  %5u  %5zu%s%s\n", (int)width, g->name, g->params.n,
               g->nodes.n - 1, calls, g->saved.n, g->recursive ? "  recursive" : "",
               g->defined ? "" : "  declared only");
    }
    printf("\n%zu SubGraphs, %zu nodes\n", m->subs.n, nodes);
    qsort(counts, jn_n_ops, sizeof *counts, by_count);
    for (unsigned i = 0; i < jn_n_ops && counts[i].n; i++)
        printf("%8u  %s\n", counts[i].n, counts[i].op->name);
    free(counts);
    jn_module_release(m);
    return 0;
}

/* ---- differences ------------------------------------------------------------------------------
 */

static bool diff_one(const jn_subgraph *a, const jn_subgraph *b) {
    jn_str x = {0}, y = {0};
    if (a)
        jn_print_subgraph(a, &x);
    if (b)
        jn_print_subgraph(b, &y);
    bool differ = x.n != y.n || (x.n && memcmp(x.data, y.data, x.n));
    if (differ)
        line_diff(x.data ? x.data : "", y.data ? y.data : "", stdout);
    jn_str_free(&x);
    jn_str_free(&y);
    return differ;
}

static int diff(const char *first, const char *second) {
    janus_module *a, *b;
    bool differ = false;
    int rc = load(first, false, &a);
    if (rc)
        return rc;
    if ((rc = load(second, false, &b)) != 0) {
        jn_module_release(a);
        return rc;
    }
    for (size_t i = 0; i < a->subs.n; i++) {
        const jn_subgraph *g = a->subs.data[i];
        differ |= diff_one(g, jn_module_find(b, g->name, strlen(g->name)));
    }
    for (size_t i = 0; i < b->subs.n; i++) {
        const jn_subgraph *g = b->subs.data[i];
        if (!jn_module_find(a, g->name, strlen(g->name)))
            differ |= diff_one(NULL, g);
    }
    jn_module_release(a);
    jn_module_release(b);
    return differ ? EXIT_DIFFERENT : 0;
}

/* ---- command line -----------------------------------------------------------------------------
 */

int main(int argc, char **argv) {
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"optimize", no_argument, NULL, 'O'},
                                            {"stats", no_argument, NULL, 's'},
                                            {"exact", no_argument, NULL, 'x'},
                                            {"device", required_argument, NULL, 'd'},
                                            {"seed", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'V'},
                                            {NULL, 0, NULL, 0}};
    const char *out = NULL, *command = "";
    bool optimize = false;
    graph_run_options run_options = {0};
    if (argc > 1 && argv[1][0] != '-') {
        command = argv[1];
        argc--, argv++;
    }
    /* "+": with `run` and `schedule`, what follows the file may begin with '-' and be no option
     * (-3). */
    bool takes_arguments = !strcmp(command, "run") || !strcmp(command, "schedule");
    const char *letters = takes_arguments ? "+o:Osxd:r:hV" : "o:Osxd:r:hV";
    for (int c; (c = getopt_long(argc, argv, letters, options, NULL)) != -1;) {
        switch (c) {
        case 'o':
            out = optarg;
            break;
        case 'O':
            optimize = true;
            break;
        case 's':
            run_options.stats = true;
            break;
        case 'x':
            run_options.exact = true;
            break;
        case 'd':
            run_options.device = optarg;
            break;
        case 'r':
            run_options.seed = strtoull(optarg, NULL, 10);
            break;
        case 'h':
            fputs(usage_text, stdout);
            return 0;
        case 'V':
            printf("janus-graph %s\n", janus_version());
            return 0;
        default:
            fputs(usage_text, stderr);
            return EXIT_TROUBLE;
        }
    }
    char **files = argv + optind;
    int n_files = argc - optind;
    if (!strcmp(command, "dump") && n_files == 1)
        return dump(files[0], out, optimize);
    if (!strcmp(command, "draw") && n_files == 2)
        return draw(files[0], files[1], optimize);
    if (!strcmp(command, "draw") && n_files == 1 && out)
        return draw(files[0], out, optimize);
    if (!strcmp(command, "view") && n_files == 1)
        return view(files[0], out, optimize);
    if (!strcmp(command, "run") && n_files >= 2)
        return run(files[0], files + 1, n_files - 1, optimize, &run_options);
    if (!strcmp(command, "schedule") && n_files >= 1)
        return schedule(files[0], files + 1, n_files - 1, optimize, run_options);
    if (!strcmp(command, "stats") && n_files == 1)
        return stats(files[0]);
    if (!strcmp(command, "diff") && n_files == 2)
        return diff(files[0], files[1]);
    fputs(usage_text, stderr);
    return EXIT_TROUBLE;
}
