/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JANUS_DUMP_DIR: every graph that is converted is written there, as NAME.PROCESS.NUMBER.jir.
 *
 * Files are written under another name and renamed, so that who watches the folder sees whole ones.
 * What cannot be written is left out: dumping never disturbs the program.
 */
#include "pyfront/function/note.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/base/log.h"
#include "graph/draw/draw.h"
#include "graph/ir/ir.h"
#include "graph/text/text.h"

/* The folder and those above it. */
static bool make_folder(const char *path) {
    char part[4096];
    size_t n = strlen(path);
    if (n >= sizeof part)
        return false;
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++)
        if (part[i] == '/' || !part[i]) {
            char was = part[i];
            part[i] = '\0';
            if (mkdir(part, 0777) != 0 && errno != EEXIST)
                return false;
            part[i] = was;
        }
    return true;
}

void jpy_dump_entry(PyObject *callable, const janus_module *m) {
    static unsigned number;
    const char *dir = getenv("JANUS_DUMP_DIR");
    if (!dir || !*dir)
        return;
    PyObject *name_o = PyObject_GetAttrString(callable, "__qualname__");
    const char *name = name_o && PyUnicode_Check(name_o) ? PyUnicode_AsUTF8(name_o) : NULL;
    PyErr_Clear();
    char safe[128], path[4600], other[4700];
    size_t k = 0;
    for (const char *s = name ? name : "function"; *s && k + 1 < sizeof safe; s++) {
        bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
                     (*s >= '0' && *s <= '9') || *s == '_' || *s == '.';
        safe[k++] = plain ? *s : '_';
    }
    safe[k] = '\0';
    Py_XDECREF(name_o);
    int n = snprintf(path, sizeof path, "%s/%s.%ld.%04u.jir", dir, safe, (long)getpid(), number++);
    bool ok = n > 0 && (size_t)n < sizeof path && make_folder(dir);
    jn_str s = {0};
    FILE *file = NULL;
    if (ok) {
        snprintf(other, sizeof other, "%s.part", path);
        jn_print_module(m, &s);
        file = jn_str_ok(&s) ? fopen(other, "w") : NULL;
        ok = file && fwrite(s.data, 1, s.n, file) == s.n;
    }
    if (file && fclose(file) != 0)
        ok = false;
    if (ok)
        ok = rename(other, path) == 0;
    else if (file)
        (void)unlink(other);
    if (!ok && jn_log_on(JN_LOG_GRAPHS))
        jn_log(JN_LOG_GRAPHS, "%s cannot be written", path);
    jn_str_free(&s);
}

PyObject *jpy_module_text(const janus_module *m, const char *suffix) {
    jn_str s = {0};
    if (!strcmp(suffix, ".jir"))
        jn_print_module(m, &s);
    else if (!strcmp(suffix, ".dot"))
        jn_print_dot(m, &s);
    else if (!strcmp(suffix, ".json"))
        jn_print_json(m, &s);
    else
        return PyErr_Format(PyExc_ValueError,
                            "janus.dump: no format goes with the suffix \"%s\" (.jir .json .dot "
                            ".svg .html)",
                            suffix);
    PyObject *o = jn_str_ok(&s) ? PyUnicode_DecodeUTF8(s.data ? s.data : "", (Py_ssize_t)s.n, NULL)
                                : PyErr_NoMemory();
    jn_str_free(&s);
    return o;
}
