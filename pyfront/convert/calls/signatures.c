/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which arguments builtins take, where the converter has their meaning itself: it looks at those
 * that it knows, and of others CPython raises.
 */
#include "pyfront/convert/calls/calls.h"

#include <string.h>

enum { ANY = 255 };

/* names: of keywords, by place they are counted with the others where `together`. */
static const struct {
    const char *name, *names;
    unsigned char least, most;
    bool together;
} signatures[] = {
    {"len", "", 1, 1, false},
    {"sum", "start", 1, 2, true},
    {"min", "key default", 1, ANY, false},
    {"max", "key default", 1, ANY, false},
    {"any", "", 1, 1, false},
    {"all", "", 1, 1, false},
    {"isinstance", "", 2, 2, false},
    {"issubclass", "", 2, 2, false},
    {"callable", "", 1, 1, false},
    {"vars", "", 1, 1, false},
    {"getattr", "", 2, 3, false},
    {"hasattr", "", 2, 2, false},
    {"setattr", "", 3, 3, false},
    {"abs", "", 1, 1, false},
    {"hash", "", 1, 1, false},
    {"id", "", 1, 1, false},
    {"repr", "", 1, 1, false},
    {"format", "", 1, 2, false},
    {"iter", "", 1, 2, false},
    {"next", "", 1, 2, false},
    {"sorted", "key reverse", 1, 1, false},
    {"round", "number ndigits", 1, 2, true},
    {"list", "", 0, 1, false},
    {"tuple", "", 0, 1, false},
    {"range", "", 1, 3, false},
    {"enumerate", "iterable start", 1, 2, true},
    {"zip", "strict", 0, ANY, false},
    {"map", "", 2, ANY, false},
    {"reversed", "", 1, 1, false},
    {"type", "", 1, 1, false},
    {"int", "base", 0, 2, true},
    {"float", "", 0, 1, false},
    {"bool", "", 0, 1, false},
    {"str", "object encoding errors", 0, 3, true},
};

static bool has_word(const char *words, const char *word) {
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

/* Whether it is what the name means in builtins. */
static bool is_builtin(PyObject *o) {
    PyObject *self = PyCFunction_Check(o) ? PyCFunction_GET_SELF(o) : NULL;
    const char *module = self && PyModule_Check(self) ? PyModule_GetName(self) : NULL;
    PyErr_Clear();
    return PyType_Check(o) ? !(((PyTypeObject *)o)->tp_flags & Py_TPFLAGS_HEAPTYPE)
                           : module && !strcmp(module, "builtins");
}

void jcv_check_arguments(jcv *c, PyObject *o, const char *name, const jcv_args *a) {
    size_t i = 0, n = sizeof signatures / sizeof *signatures;
    while (i < n && strcmp(signatures[i].name, name) != 0)
        i++;
    if (i == n || !is_builtin(o))
        return;
    unsigned given = a->n_pos + (signatures[i].together ? a->n_kw : 0);
    if (given < signatures[i].least || (given > signatures[i].most && signatures[i].most != ANY))
        jcv_refuse(c, "%s() with %u arguments", name, given);
    for (unsigned k = 0; k < a->n_kw; k++)
        if (!has_word(signatures[i].names, PyUnicode_AsUTF8(a->names[k])))
            jcv_refuse(c, "%s() with the argument %s", name, PyUnicode_AsUTF8(a->names[k]));
}
