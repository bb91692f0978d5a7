/* SPDX-License-Identifier: Apache-2.0 */
/*
 * janus.function: a callable that stands for another and may run it as a graph.
 *
 * A call tries the cached entries; without a hit it runs imperatively and is then converted.  While
 * CPython runs the function, nested calls of it in the same thread run plain: otherwise a failing
 * leaf of a recursion would be tried at every level.
 */
#include "pyfront/call/cache.h"
#include "pyfront/convert/convert.h"
#include "pyfront/function/function.h"

#include <stdarg.h>
#include <string.h>

#include "exec/defer/defer.h"
#include "graph/base/log.h"
#include "pyfront/base/signals.h"
#include "pyfront/base/tracing.h"
#include "pyfront/call/explain.h"
#include "pyfront/call/ladder.h"
#include "pyfront/call/nested.h"
#include "pyfront/call/object.h"
#include "pyfront/call/policy.h"
#include "pyfront/call/region.h"
#include "pyfront/run/run.h"
#include "pyfront/stored/stored.h"
#include "pyfront/verify/verify.h"

/* A conversion is paid for by some calls that hit. */
enum {
    FREE_CONVERSIONS = 16,
    FREE_OF_SHAPES = 8,
    FREE_UNASKED = 4,
    HITS_A_CONVERSION = 4,
    MANY_UNHIT = 8,
    LEARNT_FROM =
        16 /* calls before a conversion; what is learnt of one costs as much as all guards */
};

static PyObject *run_plain(jpy_function *f, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames) {
    bool mine = f->plain && f->thread == PyThread_get_thread_ident(), counts = !f->plain || mine;
    int64_t start = jn_prof_begin();
    jpy_regions_timer timer = {0};
    PyObject *run =
        Py_NewRef(counts ? jpy_regions_begin(f, args, nargsf, kwnames, &timer) : f->callable);
    counts = counts && (mine || !f->plain); /* another thread may have come here meanwhile */
    if (counts) {
        f->plain++;
        f->thread = PyThread_get_thread_ident();
    }
    PyObject *r = PyObject_Vectorcall(run, args, nargsf, kwnames);
    if (JN_UNLIKELY(jpy_shadow_open != NULL)) /* statements of this call have ended it */
        r = jpy_regions_ended(r);
    Py_DECREF(run);
    if (JN_UNLIKELY(!r))
        jpy_nested_raised();
    if (timer.trial && r)
        jpy_regions_end(f, &timer);
    if (counts)
        f->plain--;
    if (JN_UNLIKELY(start))
        jpy_prof_add(f, JN_PROF_IMPERATIVE, start);
    return r;
}

static void drop_entry(jpy_function *f, size_t i) {
    jpy_entry *e = f->entries.data[i];
    memmove(f->entries.data + i, f->entries.data + i + 1,
            (f->entries.n - i - 1) * sizeof *f->entries.data);
    f->entries.n--;
    jpy_entry_free(e);
}

/* What conversions read: the code, or the callable that has none; borrowed. */
static PyObject *converted_of(const jpy_function *f) {
    PyObject *o = PyMethod_Check(f->callable) ? PyMethod_GET_FUNCTION(f->callable) : f->callable;
    return PyFunction_Check(o) ? PyFunction_GET_CODE(o) : o;
}

/* look: entries on disk are looked for first: they were not for this call, or it has run since and
 * may have changed what guards look at. */
static void try_convert(jpy_function *f, const jpy_call *call, bool look, int64_t plain_ns) {
    if (JN_UNLIKELY(f->wrong) && f->wrong == converted_of(f))
        return;
    if (f->next_try > 0) {
        f->next_try--;
        return;
    }
    if (!(f->ladder & JPY_RUNG_GRAPH))
        return;
    if (!jpy_may_convert(f)) {
        jpy_word_look(f, call, JPY_TRY_PUT_OFF);
        return;
    }
    if (JN_UNLIKELY(jpy_stored_on) && look && jpy_stored_take(f, call))
        return;
    if (JN_UNLIKELY(f->kept_others) && !f->conversions && !f->entries.n && !f->waited) {
        f->waited = true; /* as in an optimizer's first step: what is kept is for the next ones */
        return;
    }
    if (f->plain) /* another thread has come first */
        return;
    f->plain++;
    f->thread = PyThread_get_thread_ident();
    f->conversions++;
    PyObject *cause = f->entries.n ? jpy_miss(f->entries.data[0], call) : NULL;
    int64_t start = jpy_now(), worked = jpy_worked();
    jn_deferral *recording = jn_deferring, *tracing = jn_tracing;
    jn_deferring = jn_tracing = NULL; /* what a conversion runs is none of the program's ops */
    jpy_undisturbed_begin();
    jpy_entry *e = jpy_convert(f, call);
    jpy_undisturbed_end();
    jn_deferring = recording;
    jn_tracing = tracing;
    int64_t ns = jpy_converted(f, start, worked);
    jn_memory_trim(); /* graphs need none of what CPython's run has left */
    jpy_report_conversion(f, e, cause, ns);
    if (jn_prof_on())
        jpy_prof_add(f, JN_PROF_CONVERT, start);
    f->plain--;
    PyErr_Clear();
    f->refused = !e;
    if (!e) {
        jpy_back_off(f, 4);
        f->convert_first = !f->convert_first;
        jpy_note(f, "not converted: %s", f->reason ? PyUnicode_AsUTF8(f->reason) : "?");
        jpy_regions_refused(f);
        if (!f->skeleton || !f->ops.graph) /* else a part of it runs as graphs */
            jpy_word_look(f, call, JPY_TRY_REFUSED);
        return;
    }
    if (f->entries.n >= JPY_MAX_ENTRIES)
        drop_entry(f, f->entries.n - 1);
    /* a function that needs ever new graphs does not pay, nor does one whose graphs are discarded
     */
    bool unasked = f->payer && f->measure;
    uint64_t free_ones = unasked ? FREE_UNASKED : f->pinned ? FREE_OF_SHAPES : FREE_CONVERSIONS;
    if (f->conversions >= JPY_UNHIT && !f->graph && !f->of_region && !f->skeleton)
        jpy_regions_unhit(f);
    if (f->conversions > free_ones && f->graph < HITS_A_CONVERSION * f->conversions)
        jpy_back_off(f, unasked ? 4 : 2);
    else if (f->measure && f->conversions >= MANY_UNHIT && f->graph <= f->fallbacks)
        jpy_back_off(f, 4);
    else
        f->backoff = 0;
    jpy_entry_trial(e)->first_ns = plain_ns;
    e->to_keep = jpy_stored_on;
    jpy_entry_verify(e, f->verify != JPY_VERIFY_NEVER);
    if (!jn_vec_push(&f->entries, e)) {
        jpy_entry_free(e);
        return;
    }
    memmove(f->entries.data + 1, f->entries.data, (f->entries.n - 1) * sizeof *f->entries.data);
    f->entries.data[0] = e;
    jpy_word_look(f, call, JPY_TRY_MADE);
}

static void rest_if_slow(jpy_function *f) {
    for (size_t i = 0; i < f->entries.n; i++)
        if (jpy_entry_trial(f->entries.data[i])->state != JPY_TRIAL_SLOW)
            return;
    for (size_t i = 0; i < f->entries.n; i++)
        jpy_trial_anew(jpy_entry_trial(f->entries.data[i]));
    if (f->rest_length && f->word.tensors) /* once can be chance */
        f->word.due = JPY_WORD_SLOW;
    jpy_rest(f);
}

/* A call that an entry (held by the caller) would take, but that is a trial or whose graph is slow.
 */
static PyObject *timed_plain(jpy_function *f, jpy_entry *e, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames) {
    bool trial = jpy_entry_trial(e)->state == JPY_TRIAL_PLAIN;
    if (trial) { /* both need much, one at a time */
        jn_module_rest(jpy_entry_module(e));
        jn_memory_trim();
    }
    jpy_timing start = jpy_trial_start(f, jpy_entry_trial(e), false);
    f->imperative++;
    f->undressed += start.ns && f->skeleton; /* a function that rests is as it is undecorated */
    if (jpy_entry_trial(e)->state == JPY_TRIAL_SLOW)
        jpy_met_slow(f);
    PyObject *r = run_plain(f, args, nargsf, kwnames);
    if (r && jpy_trial_end(f, jpy_entry_trial(e), false, start))
        rest_if_slow(f);
    if (trial)
        jn_memory_trim();
    return JN_UNLIKELY(f->word.due) ? jpy_word_say(f, r) : r;
}

/* A call that was compared.  It counts as a graph's where the graph would have done the same. */
static PyObject *shadowed(jpy_function *f, size_t i, bool here, int got, PyObject *result) {
    bool wrong = here && f->entries.data[i]->wrong;
    if (got == 4) {
        f->graph++;
        f->verified++;
        return result;
    }
    f->imperative++;
    if (got == 5) {
        f->disproved++;
        jpy_back_off(f, 16);
        if (wrong) { /* the same would come of it again */
            Py_XSETREF(f->wrong, Py_NewRef(converted_of(f)));
            jpy_note(f, "no graph is made of this code again");
        }
    } else if (got == 7) { /* graphs that round as CPython does tell whether it is rounding */
        f->exact = f->doubted = true;
        jpy_note(f, "numerics are \"exact\" from now on: a graph in \"fast\" gave other numbers");
    }
    if (here && got != 6) {
        jpy_entry *e = f->entries.data[i]; /* the caller holds it */
        drop_entry(f, i);
        jpy_stored_forget(f, e); /* last: what it runs may change the entries */
    }
    return result;
}

/* CPython runs the statements of a region, and may be timed for an entry. */
static void time_statements(jpy_function *f, jpy_entry *e) {
    f->timed_since = jpy_trial_start(f, jpy_entry_trial(e), false);
    if (f->timed_since.ns) {
        jpy_entry_hold(e);
        f->timed = e;
    }
}

void jpy_function_time_no_more(jpy_function *f) {
    jpy_entry *e = f->timed;
    f->timed = NULL;
    if (e)
        jpy_entry_free(e);
}

/* A call that no other entry takes, of a function whose slow ones are not looked at. */
static PyObject *unlooked(jpy_function *f, const jpy_call *call, size_t nargsf) {
    f->unlooked--;
    f->imperative++;
    jpy_in_vain(f);
    PyObject *r = run_plain(f, call->args, nargsf, call->kwnames);
    return JN_UNLIKELY(f->word.due) ? jpy_word_say(f, r) : r;
}

/* What became of entries that did not take a call. */
typedef enum jpy_discarded {
    NONE_RAN,
    DISCARDED,
    AN_EXCEPTION /* it came to a path that is seldom taken: the entry stays, none is made for it */
} jpy_discarded;

/* The same with the entry whose run was discarded, held until it is known what CPython makes of the
 * call; NULL: there is none, or nothing is left to decide. */
typedef struct jpy_outcome {
    jpy_discarded what;
    jpy_entry *e;
    PyObject *failed; /* f->failed of it */
    bool left;        /* the entry leaves such calls to CPython */
} jpy_outcome;

/* What comes of a discarded run for its entry; raised: CPython has ended the call with an
 * exception, which is set. */
static void settle(jpy_function *f, const jpy_call *call, jpy_outcome *o, bool raised) {
    jpy_entry *e = o->e;
    if (!e)
        return;
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb); /* what is dropped may run code */
    size_t i = 0;
    while (i < f->entries.n && f->entries.data[i] != e)
        i++;
    bool stays =
        raised || o->left ? jpy_hints_left(f, e) : jpy_hints_discarded(f, e, call, o->failed);
    if (stays) {
        o->what = AN_EXCEPTION;
    } else if (i < f->entries.n) {
        drop_entry(f, i);
        jpy_stored_forget(f, e); /* last: what it runs may change the entries */
    }
    o->e = NULL;
    jpy_entry_free(e);
    Py_CLEAR(o->failed);
    PyErr_Restore(type, value, tb);
}

/* What the entries make of a call: true: it is done, *result is its outcome (NULL: raised).
 * region: CPython's statements are not a call of the callable, and run by whoever asks, NULL: so.
 */
static bool by_entries(jpy_function *f, const jpy_call *call, size_t nargsf, bool region,
                       jpy_outcome *discarded, PyObject **result) {
    bool left_out = false;
    for (size_t i = 0; i < f->entries.n && !discarded->what; i++) {
        jpy_entry *e = f->entries.data[i];
        jpy_trial *trial = jpy_entry_trial(e);
        if (f->unlooked && trial->state == JPY_TRIAL_SLOW && !region) {
            left_out = true;
            continue;
        }
        bool graph = trial->state != JPY_TRIAL_PLAIN && trial->state != JPY_TRIAL_SLOW;
        jpy_timing start = jpy_trial_start(f, trial, true);
        jpy_entry_hold(e); /* what a commit drops may run code that clears the entries */
        int got = jpy_entry_call(f, e, call, graph, result);
        bool here = i < f->entries.n && f->entries.data[i] == e;
        if (got == 1 || got == 3) {
            if (here && jpy_trial_end(f, trial, true, start))
                rest_if_slow(f);
            if (i > 0 && here) {
                memmove(f->entries.data + 1, f->entries.data, i * sizeof *f->entries.data);
                f->entries.data[0] = e;
            }
            f->graph++;
            if (trial->state == JPY_TRIAL_PAYS)
                jpy_paid(f, trial);
        } else if (got == 2 && region) {
            f->imperative++;
            if (trial->state == JPY_TRIAL_SLOW)
                jpy_in_vain(f);
            time_statements(f, e);
        } else if (got == 2) {
            *result = timed_plain(f, e, call->args, nargsf, call->kwnames);
        } else if (got > 3 && got < 8) {
            *result = shadowed(f, i, here, got, *result);
        }
        discarded->what = got < 0 ? DISCARDED : NONE_RAN;
        f->fallbacks += got < 0;
        if (got == -1 || got == JPY_LEFT) {
            *discarded = (jpy_outcome){DISCARDED, e, f->failed, got == JPY_LEFT};
            f->failed = NULL;
            return false;
        }
        jpy_entry_free(e);
        if (got > 0)
            return true;
    }
    if (left_out && !discarded->what)
        *result = unlooked(f, call, nargsf);
    return left_out && !discarded->what;
}

/* The same of those that are on disk, too. */
static bool by_any_entry(jpy_function *f, const jpy_call *call, size_t nargsf, bool region,
                         jpy_outcome *discarded, PyObject **result) {
    return by_entries(f, call, nargsf, region, discarded, result) ||
           (JN_UNLIKELY(jpy_stored_on) && !discarded->what && jpy_stored_take(f, call) &&
            by_entries(f, call, nargsf, region, discarded, result));
}

/* No entry takes the call, which will be run without a graph. */
static void learn(jpy_function *f, const jpy_call *call, const jpy_outcome *discarded) {
    f->met_slow = 0;
    bool teaches = !discarded->what && f->next_try <= LEARNT_FROM;
    for (size_t i = 0; i < f->entries.n && teaches; i++)
        teaches = !jpy_entry_learn(f, f->entries.data[i], call);
    /* a call that uses up what it is given (pops a key, deletes an attribute) leaves nothing to
     * convert for: after a refusal, or a graph that was good for no call, the next try comes before
     * the call */
    size_t first = f->entries.n && f->entries.data[0] == discarded->e;
    if (f->entries.n > first && !jpy_entry_runs(f->entries.data[first]) && !f->next_try)
        f->convert_first = !f->convert_first;
}

PyObject *jpy_function_enter(jpy_function *f, const jpy_call *call, bool *watched) {
    PyObject *result = NULL;
    jpy_outcome discarded = {NONE_RAN, NULL, NULL, false};
    *watched = false;
    if (JN_UNLIKELY(f->timed)) /* an exception, or another way out, was taken */
        jpy_function_time_no_more(f);
    if (jpy_plain_calls() || f->plain || jpy_resting(f) ||
        JN_UNLIKELY(jpy_shadows_running && jpy_shadow_here))
        return NULL;
    f->calls++;
    if (by_any_entry(f, call, 0, true, &discarded, &result)) {
        *watched = f->timed || jpy_shadow_open;
        return result;
    }
    f->imperative++;
    settle(f, call, &discarded, false); /* how its statements end is not known here */
    learn(f, call, &discarded);
    uint64_t conversions = f->conversions;
    if (discarded.what == AN_EXCEPTION)
        return NULL;
    try_convert(f, call, discarded.what, 0);
    if (f->measure && f->conversions > conversions && !f->refused && f->entries.n) {
        f->timed = f->entries.data[0];
        jpy_entry_hold(f->timed);
        f->timed_since.ns = jpy_now();
        *watched = true;
    }
    return NULL;
}

/* The statements were compared. */
static int leave_compared(jpy_function *f, PyObject *outcome, bool known) {
    jpy_compared *x = jpy_shadow_open;
    jpy_entry *e = x->m.e;
    jpy_verdict v;
    jpy_shadow_open = NULL;
    jpy_entry_hold(e);
    bool raised = known && !outcome;
    PyObject *r = jpy_shadow_end(x, outcome, known, &v);
    size_t i = 0;
    while (i < f->entries.n && f->entries.data[i] != e)
        i++;
    shadowed(f, i, i < f->entries.n, jpy_entry_judged(f, e, v, raised), NULL);
    jpy_entry_free(e);
    Py_XDECREF(r);
    return known && !raised && !r ? -1 : 0;
}

int jpy_function_leave(jpy_function *f, PyObject *outcome, bool known) {
    if (jpy_shadow_open && jpy_shadow_open->f == f)
        return leave_compared(f, outcome, known);
    jpy_entry *e = f->timed;
    Py_XDECREF(outcome);
    if (!e)
        return 0;
    jpy_trial *trial = jpy_entry_trial(e);
    if (trial->state == JPY_TRIAL_WARM) /* it was just converted */
        trial->first_ns = jpy_now() - f->timed_since.ns;
    else if (jpy_trial_end(f, trial, false, f->timed_since))
        rest_if_slow(f);
    jpy_function_time_no_more(f);
    return 0;
}

/* Whether an entry would take the call as it is now, after it was run.  The call has changed what
 * it was given, and a graph made of that would be one that there is: the next one is made before.
 */
static bool taken_by_now(jpy_function *f, const jpy_call *call) {
    if (f->next_try || f->differentiated)
        return false;
    for (size_t i = 0; i < f->entries.n; i++)
        if (jpy_entry_guard_time(f->entries.data[i], call, 1) >= 0) {
            f->convert_first = true;
            return true;
        }
    return false;
}

/* What was learnt of f in another process, where it was refused: it is not tried again at once. */
static void recall(jpy_function *f) {
    PyObject *why = f->refused ? NULL : jpy_regions_recall(f);
    if (!why)
        return;
    Py_XSETREF(f->reason, why);
    f->refused = true;
    jpy_back_off(f, 4);
    jpy_note(f, "not converted, as JANUS_CACHE has it: %s", PyUnicode_AsUTF8(why));
}

/* A call whose function and arguments are held. */
static PyObject *held_call(jpy_function *f, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames) {
    f->calls++;
    if (jpy_traced()) {
        f->imperative++;
        return PyObject_Vectorcall(f->callable, args, nargsf, kwnames);
    }
    jpy_call call = {args, PyVectorcall_NARGS(nargsf), kwnames};
    jpy_outcome discarded = {NONE_RAN, NULL, NULL, false};
    PyObject *result = NULL;
    bool rests = jpy_resting(f); /* it has a skeleton, which may pay */
    if (JN_UNLIKELY(f->phases.state) && !f->plain && !rests && jpy_phase_plain(f)) {
        rests = true;
        f->undressed += f->skeleton && !f->undressed;
    }
    if (!rests && by_any_entry(f, &call, nargsf, false, &discarded, &result))
        return result;
    if (JN_UNLIKELY(jpy_stored_on) && !f->entries.n && !f->plan && !f->plain)
        recall(f);
    if (!rests)
        learn(f, &call, &discarded);
    bool first = f->convert_first && !f->plain && !rests && !discarded.e;
    uint64_t conversions = f->conversions;
    if (first)
        try_convert(f, &call, discarded.what, 0);
    int64_t start = f->measure ? jpy_now() : 0;
    bool outer = !f->running_since;
    if (outer)
        f->running_since = start;
    PyObject *r = jpy_below_graphs(f, run_plain, args, nargsf, kwnames);
    int64_t ns = start ? jpy_now() - start : 0;
    if (outer)
        f->running_since = 0;
    f->plain_ns += ns;
    settle(f, &call, &discarded, !r);
    if (r && !f->plain && !first && !rests && discarded.what != AN_EXCEPTION &&
        (discarded.what || !taken_by_now(f, &call)))
        try_convert(f, &call, true, ns);
    if (!f->plain && !rests && f->conversions == conversions)
        jpy_in_vain(f);
    if (f->first || f->calls == 1)
        jpy_regions_first_over(f);
    return jpy_or_waiting(JN_UNLIKELY(f->word.due) ? jpy_word_say(f, r) : r);
}

/* A function of Python needs nothing that PyObject_Vectorcall() does around it. */
static inline PyObject *as_it_is(jpy_function *f, PyObject *const *args, size_t nargsf,
                                 PyObject *kwnames) {
    PyObject *c = f->callable;
    return JN_LIKELY(PyFunction_Check(c))
               ? ((PyFunctionObject *)c)->vectorcall(c, args, nargsf, kwnames)
               : PyObject_Vectorcall(c, args, nargsf, kwnames);
}

/* A call of a function that rests: what it was asked to stand for, and a count. */
__attribute__((noinline)) static PyObject *resting_call(jpy_function *f, PyObject *const *args,
                                                        size_t nargsf, PyObject *kwnames) {
    jn_thread *me = jn_thread_mine();
    if (f->rests == me) /* a recursion is one call */
        return as_it_is(f, args, nargsf, kwnames);
    f->rest--;
    f->rests = me;
    f->calls++;
    Py_INCREF((PyObject *)f);
    uint64_t eager = me->ops.eager, graph = me->ops.graph;
    bool at_once = !(f->ladder & JPY_RUNG_COEXECUTION);
    f->imperative += at_once;
    PyObject *r = JN_LIKELY(at_once) ? as_it_is(f, args, nargsf, kwnames)
                                     : jpy_below_graphs(f, as_it_is, args, nargsf, kwnames);
    /* each by itself: both at once would wait for what an op has just written to one */
    f->ops.eager += *(volatile uint64_t *)&me->ops.eager - eager;
    f->ops.graph += *(volatile uint64_t *)&me->ops.graph - graph;
    if (f->rests == me)
        f->rests = NULL;
    Py_DECREF((PyObject *)f);
    return r;
}

/* The caller lends its arguments, and may have them from where the function itself takes them away
 * (a traceback that `__exit__` cuts off its exception).  What is converted after the run, and what
 * guards and runs read, must still be there: the call holds all of it. */
__attribute__((noinline)) static PyObject *holding_call(jpy_function *f, PyObject *const *args,
                                                        size_t nargsf, PyObject *kwnames) {
    enum { FEW = 16 };
    Py_ssize_t n_pos = PyVectorcall_NARGS(nargsf);
    Py_ssize_t n = n_pos + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *few[FEW + 1], **held = few; /* one before them is the callee's to use */
    if (n > FEW && !(held = PyMem_Malloc(((size_t)n + 1) * sizeof *held)))
        return PyErr_NoMemory();
    held[0] = NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        held[i + 1] = Py_NewRef(args[i]);
    Py_INCREF((PyObject *)f);
    Py_XINCREF(kwnames);
    jn_thread *me = jn_thread_mine();
    jn_op_counts before = me->ops;
    PyObject *r = held_call(f, held + 1, (size_t)n_pos | PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
    f->ops.eager += me->ops.eager - before.eager;
    f->ops.graph += me->ops.graph - before.graph;
    for (Py_ssize_t i = 0; i < n; i++)
        Py_DECREF(held[i + 1]);
    Py_XDECREF(kwnames);
    if (held != few)
        PyMem_Free(held);
    Py_DECREF((PyObject *)f);
    return r;
}

/* Each way is a call of its own: those that are short pay for no other's frame. */
PyObject *jpy_function_call(PyObject *self, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames) {
    jpy_function *f = (jpy_function *)self;
    if (jpy_plain_calls() || (f->plain && f->thread == PyThread_get_thread_ident()) ||
        JN_UNLIKELY(jpy_shadows_running && jpy_shadow_here))
        return PyObject_Vectorcall(f->callable, args, nargsf, kwnames);
    if (f->rest && !f->skeleton)
        return resting_call(f, args, nargsf, kwnames);
    if (JN_UNLIKELY(f->rests != NULL) && f->rests == jn_thread_mine()) /* of the last one */
        return as_it_is(f, args, nargsf, kwnames);
    if (JN_UNLIKELY(f->unasked))
        return jpy_regions_unasked(f, args, nargsf, kwnames);
    return holding_call(f, args, nargsf, kwnames);
}

void jpy_function_drop_entries(jpy_function *f) {
    while (f->entries.n)
        drop_entry(f, f->entries.n - 1);
}
