/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources and guards: one linear program per entry, run without Python code.
 *
 * A source is a place that can be read again at the next call: an argument, a global, a closure
 * cell, an attribute of another source ...  Steps are in path order: a step reads its value from
 * its parent's slot and then checks it.  Values are borrowed: nothing runs between reading and use.
 */
#ifndef JPY_GUARD_H
#define JPY_GUARD_H

#include <string.h>

#include "graph/base/arena.h"
#include "pyfront/base/keys.h"
#include "pyfront/function/function.h"

typedef enum jpy_src_kind {
    JPY_SRC_ARG,    /* argument `index` of the call */
    JPY_SRC_CONST,  /* `key`: an object the entry owns */
    JPY_SRC_GLOBAL, /* `key` in dict `obj` */
    JPY_SRC_CELL,   /* contents of the cell in the parent's (a tuple) place `index` */
    JPY_SRC_ATTR,   /* attribute `key` of the parent itself, in its dict or a slot, see `how` */
    JPY_SRC_TYPE,   /* what the MRO of the type `obj` has under `key` */
    JPY_SRC_ITEM,   /* item `index` of the parent, a list or tuple; below 0: from its end */
    JPY_SRC_KEY,    /* value of `key` in the parent, an exact dict; or (`by`, with no key) of what
                       that source is, whose number is `index` - 1 */
    JPY_SRC_FUNC,   /* of a function: the part of that number, see jpy_function_part */
    JPY_SRC_GRAD    /* .grad of a tensor; None when there is none */
} jpy_src_kind;

enum {                        /* checks, any number per source */
       JPY_CHECK_IDENT = 1,   /* is `ident` */
       JPY_CHECK_TYPE = 2,    /* type is that of `type`, which is as it was */
       JPY_CHECK_CONST = 4,   /* same type and value as `want`, see jpy_same_value */
       JPY_CHECK_LEN = 8,     /* len() == number, of list, tuple or dict */
       JPY_CHECK_ABSENT = 16, /* the read finds nothing */
       JPY_CHECK_TENSOR = 32, /* dtype, dims, requires_grad, leafness as in `tensor` */
       JPY_CHECK_CODE = 64,   /* a function whose code is `want2` and whose globals are `want` */
       JPY_CHECK_SAME = 128,  /* the same object as slot `same` */
       JPY_CHECK_KEYS = 256,  /* a dict with exactly the keys of tuple `want2`, in order */
       JPY_CHECK_INT = 512,   /* an exact int of 64 bits */
       JPY_CHECK_FLOAT = 1024,
       JPY_CHECK_VERSION = 2048, /* `type` is as it was */
       JPY_CHECK_SOME = 4096,    /* a list, tuple or dict that has at least `number` items */
       JPY_CHECK_BOOL = 8192
};

/* How an attribute of an object is read without running code of the user.  Which way it is follows
 * from what the object's type has under the name, which the guard of the type answers for. */
typedef enum jpy_attr_how {
    JPY_ATTR_PLAIN,  /* as object finds it: the type has nothing, or what at most binds itself */
    JPY_ATTR_SHADOW, /* the same; what the type has is a value, which is not the object's own */
    JPY_ATTR_DICT,   /* in the instance dict only: what the type has may run code when it is read */
    JPY_ATTR_MEMBER, /* in a slot, at `offset`: the type has a member descriptor */
    JPY_ATTR_MODULE  /* in the dict of a janus module: its class has no say */
} jpy_attr_how;

/* Where a function has a part of it; NULL in there: it has none. */
enum {
    JPY_FUNC_DEFAULTS,
    JPY_FUNC_KWDEFAULTS,
    JPY_FUNC_CLOSURE,
    JPY_FUNC_NAME,
    JPY_FUNC_DOC,
    JPY_FUNC_QUALNAME,
    JPY_FUNC_MODULE
};
static inline PyObject *const *jpy_function_part(PyObject *function, int64_t part) {
    PyFunctionObject *f = (PyFunctionObject *)function;
    PyObject *const *const parts[] = {&f->func_defaults, &f->func_kwdefaults, &f->func_closure,
                                      &f->func_name,     &f->func_doc,        &f->func_qualname,
                                      &f->func_module};
    return parts[part];
}

/* Whether two doubles are the same constant: by bits, so that -0.0 is not 0.0 and a NaN is itself.
 */
static inline bool jpy_same_double(double a, double b) {
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

/* The place of an item among n; not below n, or below 0: there is none. */
static inline Py_ssize_t jpy_item_at(int64_t index, Py_ssize_t n) {
    return (Py_ssize_t)(index < 0 ? index + n : index);
}

typedef struct jpy_any_dim { /* may be any size above 1, the one of axis `of` of that slot's tensor
                              */
    int16_t axis, of;
    uint32_t slot;
} jpy_any_dim;

/* How the elements of a tensor lie, whatever its sizes. */
typedef struct jpy_layout {
    uint8_t order[JN_MAX_RANK]; /* axes, the one with the longest steps first */
    uint32_t gaps;              /* bit i: steps along order[i] are longer than they need be */
    uint32_t spread;            /* bit i: along axis i all are one element (expand) */
} jpy_layout;
/* false: it has dims of 0 or 1, or its elements overlap in another way than by expand. */
bool jpy_layout_of(int rank, const int64_t *dims, const int64_t *strides, jpy_layout *out);

typedef struct jpy_tensor_want {
    uint8_t dtype;
    bool requires_grad, leaf, contiguous;
    bool part;   /* a view of another tensor, with a history */
    bool alone;  /* it must be no view, since that decides what is done with it */
    bool hooked; /* something is done when its gradient is known: a hook, retain_grad */
    int16_t rank;
    int64_t *dims, *strides;
    const jpy_any_dim *any; /* dims that need not be as in `dims`; then strides need not, either */
    unsigned n_any;
    uint64_t form; /* jn_tensor_form() of a leaf that nobody has hooked, or 0 */
} jpy_tensor_want;

/* What was found on a type.  While its version tag is the same, so is everything else; when it is
 * another one, what was looked up is looked up again, and the new tag is kept where all is as it
 * was.  So an unrelated attribute of a class may change at every call. */
typedef struct jpy_type_look {
    PyObject *name, *found; /* NULL: nothing */
    bool plain;             /* found is any value without `__get__` and `__set__` */
    PyTypeObject *kind; /* and its class is this one, or one that cannot become a descriptor's */
} jpy_type_look;
/* What a descriptor that was found holds in its memory: a property's functions, a static method's.
 */
typedef struct jpy_type_part {
    PyObject *const *at;
    PyObject *is;
} jpy_type_part;
typedef struct jpy_type_want {
    PyTypeObject *type;
    unsigned version; /* JPY_NO_VERSION: the tag says nothing */
    PyObject *mro, *name;
    PyObject **special; /* by number of the special method, see type.c */
    JN_VEC(jpy_type_look) looks;
    JN_VEC(jpy_type_part) parts;
    bool guarded; /* some source's check asks for it */
} jpy_type_want;
/* No type has that tag; one that has no tag (0) is not known by it. */
#define JPY_NO_VERSION UINT32_MAX

typedef struct jpy_src {
    jpy_src_kind kind;
    uint32_t slot, checks;
    struct jpy_src *parent, *by;
    int64_t index, number, same;
    PyObject *obj, *key;
    PyObject *want, *want2;
    PyObject *ident;     /* the object, or (weak) a weak reference to it */
    bool weak, weak_key; /* `key`: a weak reference to it, too */
    jpy_type_want *type;
    jpy_tensor_want tensor;
    bool is_tensor_input;
    bool distinct; /* its slot is in `identity` */
    jpy_attr_how how;
    Py_ssize_t offset; /* of a member */
    uint32_t failures; /* misses that it was the first to find */
} jpy_src;

/* Whether nothing is asked of it but to be a tensor with that form. */
static inline bool jpy_src_has_form(const jpy_src *s) {
    return s->checks == JPY_CHECK_TENSOR && s->tensor.form && !s->tensor.n_any;
}

typedef struct jpy_fast_word { /* of memory that holds this, as long as all before it hold */
    const void *at;
    uint64_t is;
} jpy_fast_word;
typedef struct jpy_fast_rest { /* a source that is read and checked at each call */
    uint32_t slot;
    bool anchor;    /* others were found by what it was: it must be that */
    uint32_t words; /* so many lead to it */
} jpy_fast_rest;
typedef struct jpy_fast_tensor { /* a leaf that a dict holds */
    uint32_t slot;
    bool requires_grad;
    PyTypeObject *type;
} jpy_fast_tensor;

typedef struct jpy_fast_names { /* globals, or the builtins behind them */
    PyObject *dict;
    uint64_t version;
} jpy_fast_names;

/* What was found when all guards held, see fast.c. */
typedef struct jpy_fast {
    bool valid, aliases;
    PyObject **values; /* borrowed, by slot */
    JN_VEC(jpy_fast_names) names;
    JN_VEC(uint32_t) named; /* sources that read these */
    JN_VEC(jpy_fast_word) words;
    JN_VEC(jpy_type_want *) types; /* that must not have changed */
    JN_VEC(jpy_fast_rest) rest;
    JN_VEC(uint32_t) again; /* sources whose values are checked only */
    JN_VEC(jpy_fast_tensor) tensors;
    uint64_t epoch; /* jpy_tensor_epoch when they were looked at */
    uint64_t known; /* a number for them: another one since some may have got other memory */
} jpy_fast;

typedef struct jpy_guards {
    jn_arena arena;
    JN_VEC(jpy_src *) srcs;   /* in path order; slot == place */
    uint32_t *found, n_found; /* 1 + slots by what jpy_src_get looks for: a table of open places */
    JN_VEC(PyObject *) owned; /* what keys and wants point to */
    JN_VEC(jpy_type_want *) types;
    JN_VEC(uint32_t) identity; /* slots that must hold pairwise different objects */
    JN_VEC(uint32_t) written;  /* slots of tensors whose storage is written ... */
    JN_VEC(uint32_t) bound;    /* ... and of all tensors: no storage of `written` in another one */
    Py_ssize_t n_pos;
    PyObject *kwnames;
    bool grad_mode;
    uint32_t autocast;   /* jpy_autocast_word at the call */
    PyObject *abc_token; /* jpy_abc_token() at the call, where it matters; or NULL */
    uint8_t device;      /* where bound tensors must be: 0 anywhere, 1 in host memory, 2 on cuda */
    jpy_fast fast;
    uint64_t known;                 /* fast.known where the last run found its tensors, else 0 */
    unsigned fast_wait, fast_pause; /* successes until it is learnt, how many the next time */
    const jpy_src *suspect;         /* what failed last; NULL: nothing did lately */
    unsigned suspected;             /* how many calls that hold end that */
} jpy_guards;

void jpy_guards_init(jpy_guards *g);
void jpy_guards_free(jpy_guards *g);
/* Keeps `o` alive with the guards; returns it.  NULL `o` is passed through. */
PyObject *jpy_guards_own(jpy_guards *g, PyObject *o);
/* The source has to be that very object, which is not kept alive for it: it may be of one call. */
void jpy_guards_ident(jpy_guards *g, jpy_src *s, PyObject *o);
/* The object, borrowed; NULL: it is gone. */
static inline PyObject *jpy_src_ident(const jpy_src *s) {
    PyObject *o = s->weak ? ((PyWeakReference *)s->ident)->wr_object : s->ident;
    return s->weak && o == Py_None ? NULL : o;
}
/* What the key of a dict is; NULL: it has died. */
static inline PyObject *jpy_src_key(const jpy_src *s) {
    PyObject *o = s->weak_key ? ((PyWeakReference *)s->key)->wr_object : s->key;
    return s->weak_key && o == Py_None ? NULL : o;
}
/* The source with that description, made when it is new.  NULL: out of memory. */
jpy_src *jpy_src_get(jpy_guards *g, jpy_src_kind kind, jpy_src *parent, PyObject *obj,
                     PyObject *key, int64_t index);
/* Its value now (borrowed), NULL: nothing there, or a key of the program's would be asked (no
 * exception).  `by`: what the source that is its key is, if there is one. */
PyObject *jpy_src_read(const jpy_src *s, PyObject *parent, PyObject *by, const jpy_call *call);
/* The same, from the first source on. */
PyObject *jpy_src_now(const jpy_src *s, const jpy_call *call);
/* Whether nothing was read since a key of the program's would be asked (see base/keys.h). */
bool jpy_src_asks(const jpy_src *s, PyObject *parent, PyObject *by);
/* What another source holds, by the values of all. */
static inline PyObject *jpy_src_in(const jpy_src *of, PyObject *const *slots) {
    return of ? slots[of->slot] : NULL;
}
/* The value of that very object in a dict, which the source does not keep; NULL: it cannot be. */
jpy_src *jpy_src_by_object(jpy_guards *g, jpy_src *dict, PyObject *key);
/* The value in a dict of whatever another source is at a call.  NULL: out of memory. */
jpy_src *jpy_src_by_source(jpy_guards *g, jpy_src *dict, jpy_src *key);
void jpy_src_check_type(jpy_guards *g, jpy_src *s, PyTypeObject *t);
void jpy_src_check_tensor(jpy_guards *g, jpy_src *s, PyObject *tensor);
/* Adds a source to those that must be different objects; false: out of memory. */
bool jpy_guards_distinct(jpy_guards *g, uint32_t slot);
/* Whether a call has as many arguments and as many by the same names, in the same modes. */
bool jpy_guards_called_so(const jpy_guards *g, const jpy_call *call);
/* suspect.c: `s` was the first to fail; whether it does again (g->suspect is set). */
void jpy_guards_failed(jpy_guards *g, const jpy_src *s);
bool jpy_suspect_fails(jpy_guards *g, const jpy_call *call, PyObject **slots);
/* Runs all: 0 when everything holds (slots filled), else 1 + the place of the first that fails. */
int jpy_guards_run(jpy_guards *g, const jpy_call *call, PyObject **slots);
/* Whether a value that was read passes its source's checks. */
bool jpy_src_holds(const jpy_src *s, PyObject *v, PyObject *const *slots);
/* fast.c: keeps what all guards found; runs with that (false: run all, slots are undefined).
 */
void jpy_fast_learn(jpy_guards *g, PyObject *const *slots);
bool jpy_fast_run(jpy_guards *g, const jpy_call *call, PyObject **slots);
void jpy_fast_free(jpy_fast *f);
/* Whether it is an item of a list or tuple, or of a dict in one: data, where it is True or False.
 */
bool jpy_src_in_sequence(const jpy_src *s);
/* Paths (jpy_src_path) of scalar sources that are another number now, of sequences that have
 * another length (jpy_src_length) and of dicts that have, added to sets; of tensors that are as
 * they were but for dims, added to a dict with their dims then and now, a pair of tuples. */
void jpy_guards_failing(const jpy_guards *g, const jpy_call *call, PyObject *numbers,
                        PyObject *lengths, PyObject *dicts, PyObject *dims);
/* "a0.children[3].token"; with `general`, numbers in brackets become *. New reference. */
PyObject *jpy_src_path(const jpy_src *s, bool general);
/* "length of a0.children[*]". New reference. */
PyObject *jpy_src_length(const jpy_src *s);
/* report.c: adds a tuple (path, what is assumed, how often it failed) for each check. */
int jpy_guards_report(const jpy_guards *g, PyObject *list);

/* What is another number once a class was registered with an abstract one; NULL, with an exception:
 * it is not known. */
PyObject *jpy_abc_token(void);
/* Whether values of its kind are told apart by jpy_same_value: immutable builtins, containers of
 * such included. */
bool jpy_by_value(PyObject *o);
/* Whether two values are the same in type and content, down to the bits; no code of the user runs.
 * False where one of them is not by value. */
bool jpy_same_value(PyObject *a, PyObject *b);

/* type.c */
/* The entry for a type, made when it is new; NULL: out of memory. */
jpy_type_want *jpy_guards_type(jpy_guards *g, PyTypeObject *t);
/* What the type has under a name (borrowed, NULL: nothing), which from now on must not change.
 * any_value: a value that is no descriptor may be replaced by another such. */
PyObject *jpy_guards_lookup(jpy_guards *g, PyTypeObject *t, PyObject *name, bool any_value);
/* Whether all that was looked up is there again; learns the new version tag. */
bool jpy_type_again(jpy_type_want *w);
static inline bool jpy_type_holds(jpy_type_want *w) {
    if (w->type->tp_version_tag != w->version && !jpy_type_again(w))
        return false;
    for (size_t i = 0; i < w->parts.n; i++) /* no version tells of them */
        if (*w->parts.data[i].at != w->parts.data[i].is)
            return false;
    return true;
}
void jpy_type_wants_free(jpy_guards *g);
/* Whether nothing of it can be assigned. */
bool jpy_type_fixed(const PyTypeObject *t);
/* Names that every guard of a type looks up, a new tuple. */
PyObject *jpy_special_names(void);
/* object's own way to read an attribute; borrowed, or NULL: nothing, or made by the read. */
static inline PyObject *jpy_generic_attr(PyObject *o, PyObject *name) {
    PyObject *v = _PyObject_GenericGetAttrWithDict(o, name, NULL, 1);
    if (!v) {
        if (PyErr_Occurred())
            PyErr_Clear();
        return NULL;
    }
    bool made = Py_REFCNT(v) == 1;
    Py_DECREF(v);
    return made ? NULL : v;
}
/* The attribute of an object itself (not of its type) read in that way; borrowed, or NULL without
 * an exception. */
PyObject *jpy_own_attr(PyObject *o, PyObject *name, jpy_attr_how how, Py_ssize_t offset);
/* Whether `d` is a place in all objects of the type: a member of it or of one of its bases.  That
 * of another class raises where it is read or written. */
bool jpy_is_member(PyTypeObject *type, PyObject *d);
/* The way to read attributes of objects whose type has `d` (NULL: nothing) under their name; false:
 * they are made by a descriptor. */
bool jpy_attr_way(PyTypeObject *type, PyObject *d, jpy_attr_how *how, Py_ssize_t *offset);

/* Attribute as object.__getattribute__ finds it without running Python code; new reference or NULL
 * without exception. */
PyObject *jpy_plain_attr(PyObject *o, PyObject *name);

#endif
