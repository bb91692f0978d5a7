/* SPDX-License-Identifier: Apache-2.0 */
/* Python's generators: see twister.h. */
#include "pyfront/base/twister.h"

#include <string.h>

#include "graph/base/alloc.h"
#include "graph/base/status.h"
#include "pyfront/base/names.h"

enum { N = JPY_TWISTER_WORDS, MIDDLE = 397, MOST_WORDS = 1 << 26 };

static PyTypeObject *known;
static PyObject *below;

/* The word N behind the first of two. */
static uint32_t next_word(uint32_t first, uint32_t second, uint32_t middle) {
    uint32_t y = (first & 0x80000000u) | (second & 0x7fffffffu);
    return middle ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
}

static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* ---- what lies in an object ---------------------------------------------------------------------
 */

PyTypeObject *jpy_twister_type(void) { return known; }
PyObject *jpy_twister_below(void) { return below; }

jpy_twister *jpy_twister_of(PyObject *o) {
    return known && PyObject_TypeCheck(o, known) ? (jpy_twister *)(void *)(o + 1) : NULL;
}

bool jpy_is_drawn(PyObject *name) {
    return name == jpy_names.drawn ||
           (name && PyUnicode_CheckExact(name) && PyUnicode_GET_LENGTH(name) &&
            PyUnicode_READ_CHAR(name, 0) == '<' && !PyUnicode_Compare(name, jpy_names.drawn));
}

void jpy_twister_advance(jpy_twister *t, int64_t n) {
    int64_t at = t->index + n;
    for (; at > N; at -= N)
        for (int i = 0; i < N; i++)
            t->word[i] = next_word(t->word[i], t->word[(i + 1) % N], t->word[(i + MIDDLE) % N]);
    t->index = (int)at;
}

/* Whether what getstate() says is what lies there, before and after a number of draws. */
static bool lies_as_known(PyObject *o) {
    jpy_twister *t = (jpy_twister *)(void *)(o + 1), moved = *t;
    bool same = true;
    for (int round = 0; round < 2 && same; round++) {
        PyObject *state = PyObject_CallMethod(o, "getstate", NULL);
        same = state && PyTuple_CheckExact(state) && PyTuple_GET_SIZE(state) == N + 1;
        for (int i = 0; i <= N && same; i++)
            same = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(state, i)) ==
                   (i < N ? moved.word[i] : (unsigned long)moved.index);
        Py_XDECREF(state);
        for (int i = 0; i < N + 1 && !round && same; i++) {
            PyObject *drawn = PyObject_CallMethod(o, "getrandbits", "i", 32);
            jpy_twister_advance(&moved, 1);
            same = drawn && PyLong_AsUnsignedLong(drawn) == temper(moved.word[moved.index - 1]);
            Py_XDECREF(drawn);
        }
    }
    return same;
}

/* Where generators do not lie as they are known to, there are none. */
int jpy_init_twister(PyObject *module) {
    (void)module;
    PyObject *m = PyImport_ImportModule("_random");
    PyObject *type = m ? PyObject_GetAttrString(m, "Random") : NULL;
    size_t size = sizeof(PyObject) + sizeof(jpy_twister);
    bool fits = type && PyType_Check(type) &&
                (size_t)((PyTypeObject *)type)->tp_basicsize >= size &&
                (size_t)((PyTypeObject *)type)->tp_basicsize < size + sizeof(void *);
    PyObject *seed = fits ? PyLong_FromLong(1) : NULL;
    PyObject *o = seed ? PyObject_CallOneArg(type, seed) : NULL;
    PyObject *python = PyImport_ImportModule("random");
    PyObject *of = python ? PyObject_GetAttrString(python, "Random") : NULL;
    PyObject *method = of ? PyObject_GetAttrString(of, "_randbelow_with_getrandbits") : NULL;
    if (o && lies_as_known(o)) {
        known = (PyTypeObject *)Py_NewRef(type);
        below = Py_XNewRef(method);
    }
    Py_XDECREF(method);
    Py_XDECREF(of);
    Py_XDECREF(python);
    Py_XDECREF(o);
    Py_XDECREF(seed);
    Py_XDECREF(type);
    Py_XDECREF(m);
    PyErr_Clear();
    return 0;
}

/* ---- draws of a run -----------------------------------------------------------------------------
 */

static jpy_stream *stream_of(jpy_stream **all, PyObject *o) {
    jpy_stream *s = *all;
    const jpy_twister *t = jpy_twister_of(o);
    while (s && s->o != o)
        s = s->next;
    if (s || !t || !(s = jn_calloc(1, sizeof *s)))
        return s;
    s->room = (size_t)2 * N;
    s->words = jn_alloc(s->room * sizeof *s->words);
    if (!s->words) {
        jn_free(s);
        return NULL;
    }
    memcpy(s->words, t->word, sizeof t->word);
    s->n = N;
    s->index = t->index;
    s->o = Py_NewRef(o);
    s->next = *all;
    *all = s;
    return s;
}

static bool word(jpy_stream *s, int64_t at, uint32_t *out) {
    size_t i = (size_t)(s->index + at);
    if (at < 0 || at > MOST_WORDS)
        return false;
    if (i >= s->room) {
        size_t room = i + i / 2;
        uint32_t *more = jn_realloc(s->words, room * sizeof *more);
        if (!more)
            return false;
        s->words = more;
        s->room = room;
    }
    for (uint32_t *w = s->words; s->n <= i; s->n++)
        w[s->n] = next_word(w[s->n - N], w[s->n - N + 1], w[s->n - N + MIDDLE]);
    *out = temper(s->words[i]);
    return true;
}

/* `k` bits, of one word or two; false: there is no such place. */
static bool bits(jpy_stream *s, int64_t at, int k, uint64_t *out) {
    uint32_t low, high;
    if (!word(s, at, &low))
        return false;
    *out = k <= 32 ? low >> (32 - k) : low;
    if (k <= 32)
        return true;
    bool there = word(s, at + 1, &high);
    *out |= there ? (uint64_t)(high >> (64 - k)) << 32 : 0;
    return there;
}

static int length_of(int64_t n) {
    int k = 0;
    for (; n; n >>= 1)
        k++;
    return k;
}

janus_status jpy_stream_draw(jpy_stream **all, PyObject *o, janus_draw what, int64_t at, int64_t n,
                             int64_t *out) {
    jpy_stream *s = stream_of(all, o);
    uint64_t x = 0;
    uint32_t a, b;
    bool ok = s != NULL;
    if (ok && what == JANUS_DRAW_UNIT) {
        ok = word(s, at, &a) && word(s, at + 1, &b);
        *out = ok ? (int64_t)(((uint64_t)(a >> 5) << 26) + (b >> 6)) : 0;
    } else if (ok && what == JANUS_DRAW_BITS) {
        ok = n > 0 && n < 64 && bits(s, at, (int)n, &x);
        *out = (int64_t)x;
    } else if (ok) {
        int k = length_of(n), step = k <= 32 ? 1 : 2;
        ok = n > 0;
        for (bool again = ok; again; again = ok && x >= (uint64_t)n) {
            ok = bits(s, at, k, &x);
            at += step;
        }
        *out = what == JANUS_DRAW_BELOW ? (int64_t)x : at;
    }
    return ok ? JANUS_OK : jn_error(JANUS_ASSUMPTION_FAILED, "a number that is not drawn");
}

bool jpy_streams_hold(const jpy_stream *all) {
    bool hold = true;
    for (; all && hold; all = all->next) {
        const jpy_twister *t = jpy_twister_of(all->o);
        hold = t->index == all->index && !memcmp(t->word, all->words, sizeof t->word);
    }
    return hold;
}

void jpy_streams_free(jpy_stream *all) {
    while (all) {
        jpy_stream *next = all->next;
        Py_DECREF(all->o);
        jn_free(all->words);
        jn_free(all);
        all = next;
    }
}
