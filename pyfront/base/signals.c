/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Noticing signals.
 *
 * Handlers are Python code and must not run inside a region: they could change what its guards
 * read.  So a run only asks whether a signal is waiting, and is discarded if one is; CPython, which
 * then runs the same statements, calls the handler where the undecorated program would.
 *
 * CPython tells of signals through the wakeup descriptor.  A graph that has run for a while in the
 * main thread, where handlers run, sets it to a pipe of ours, unless the program uses one (asyncio
 * does); SIGINT is asked for in any case.
 */
#include "pyfront/base/signals.h"
#include "pyfront/base/jpy.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int ends[2] = {-1, -1};
static unsigned long main_thread;
static PyObject *set_wakeup; /* signal.set_wakeup_fd, a C function */
static bool running, watching;
static unsigned polls;

/* Of the main thread, while its handlers are held back. */
static PyObject *held[NSIG];           /* the program's handlers */
static struct sigaction actions[NSIG]; /* what the kernel knew of them */
static volatile bool came[NSIG];
static PyObject *note;       /* in their place */
static PyObject *get_signal; /* signal.getsignal and signal.signal, C functions */
static PyObject *set_signal;

static PyObject *note_signal(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long number = n ? PyLong_AsLong(args[0]) : 0;
    if (number > 0 && number < NSIG)
        came[number] = true;
    Py_RETURN_NONE;
}
static PyMethodDef note_def = {"note_signal", (PyCFunction)(void (*)(void))note_signal,
                               METH_FASTCALL, NULL};

int jpy_init_signals(void) {
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *main = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = main ? PyObject_GetAttrString(main, "ident") : NULL;
    PyObject *module = ident ? PyImport_ImportModule("_signal") : NULL;
    main_thread = ident ? PyLong_AsUnsignedLong(ident) : 0;
    set_wakeup = module ? PyObject_GetAttrString(module, "set_wakeup_fd") : NULL;
    get_signal = module ? PyObject_GetAttrString(module, "getsignal") : NULL;
    set_signal = module ? PyObject_GetAttrString(module, "signal") : NULL;
    note = get_signal && set_signal ? PyCFunction_New(&note_def, NULL) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(ident);
    Py_XDECREF(main);
    Py_XDECREF(threading);
    if (PyErr_Occurred())
        return -1;
    if (pipe(ends) < 0) {
        ends[0] = ends[1] = -1; /* then only SIGINT is noticed */
        return 0;
    }
    for (int i = 0; i < 2; i++)
        if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) < 0 || fcntl(ends[i], F_SETFL, O_NONBLOCK) < 0) {
            PyErr_SetFromErrno(PyExc_OSError);
            return -1;
        }
    return 0;
}

/* The descriptor set before; -1: none, or an error. */
static long set(int fd) {
    PyObject *old = PyObject_CallFunction(set_wakeup, "i", fd);
    long was = old ? PyLong_AsLong(old) : -2;
    Py_XDECREF(old);
    PyErr_Clear();
    return was;
}

bool jpy_signals_watch(void) {
    if (running || PyThread_get_thread_ident() != main_thread)
        return false;
    polls = 0;
    return running = true;
}

void jpy_signals_ignore(bool mine) {
    if (!mine)
        return;
    if (watching)
        set(-1);
    running = watching = false;
}

bool jpy_signals_pending(void) {
    if (!running || PyThread_get_thread_ident() != main_thread)
        return false;
    char bytes[64];
    if (++polls == 2 && ends[1] >= 0) {
        while (read(ends[0], bytes, sizeof bytes) > 0) /* of a run before */
            continue;
        long other = set(ends[1]);
        watching = other == -1;
        if (other >= 0)
            set((int)other);
    }
    bool any = false;
    while (watching && read(ends[0], bytes, sizeof bytes) > 0)
        any = true;
    if (PyOS_InterruptOccurred()) { /* which clears it */
        PyErr_SetInterrupt();
        any = true;
    }
    return any;
}

bool jpy_signals_listen(void) {
    char bytes[64];
    if (running || ends[1] < 0 || PyThread_get_thread_ident() != main_thread)
        return false;
    while (read(ends[0], bytes, sizeof bytes) > 0)
        continue;
    long other = set(ends[1]);
    if (other != -1) { /* the program listens itself */
        set((int)other);
        return false;
    }
    return true;
}

bool jpy_signals_heard(bool mine) {
    if (!mine)
        return false;
    char bytes[64];
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    long now = set(-1);
    if (now != ends[1])
        set((int)now);
    PyErr_Restore(type, value, tb);
    return read(ends[0], bytes, sizeof bytes) > 0;
}

/* ---- undisturbed --------------------------------------------------------------------------------
 */

static unsigned undisturbed;         /* parts of calls, of all threads */
static _Thread_local unsigned depth; /* of this one */
static bool collects;                /* whether the collector was on before the first of them */

_Thread_local PyObject *jpy_waiting;

/* What a handler has raised waits. */
static void keep_waiting(void) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    if (value && tb)
        PyException_SetTraceback(value, tb);
    Py_XDECREF(type);
    Py_XDECREF(tb);
    if (value && jpy_waiting)
        PyException_SetContext(value, jpy_waiting);
    else
        Py_XDECREF(jpy_waiting);
    jpy_waiting = value;
}

/* signal.signal(), which first runs handlers of what has come. */
static bool set_handler(int number, PyObject *handler) {
    for (int tries = 0; tries < 4; tries++) {
        PyObject *old = PyObject_CallFunction(set_signal, "iO", number, handler);
        Py_XDECREF(old);
        if (old)
            return true;
        keep_waiting();
    }
    return false;
}

static void hold_signals(void) {
    if (PyErr_CheckSignals() < 0)
        keep_waiting();
    for (int i = 1; i < NSIG; i++) {
        PyObject *number = PyLong_FromLong(i); /* a small one, which there is */
        PyObject *h = number ? PyObject_CallOneArg(get_signal, number) : NULL;
        Py_XDECREF(number);
        PyErr_Clear(); /* of no such signal */
        if (h && PyCallable_Check(h) && sigaction(i, NULL, &actions[i]) == 0) {
            came[i] = false;
            if (set_handler(i, note))
                held[i] = Py_NewRef(h);
        }
        Py_XDECREF(h);
    }
}

/* Handlers of what has come meanwhile run now. */
static void give_signals_back(void) {
    PyObject *due[NSIG] = {NULL}, *frame = (PyObject *)PyEval_GetFrame();
    for (int i = 1; i < NSIG; i++)
        if (held[i]) {
            (void)set_handler(i, held[i]);
            sigaction(i, &actions[i], NULL);
            due[i] = came[i] ? Py_NewRef(held[i]) : NULL;
            Py_CLEAR(held[i]);
        }
    for (int i = 1; i < NSIG; i++) {
        PyObject *done =
            due[i] ? PyObject_CallFunction(due[i], "iO", i, frame ? frame : Py_None) : NULL;
        if (PyErr_Occurred())
            keep_waiting();
        Py_XDECREF(done);
        Py_XDECREF(due[i]);
    }
}

static bool handles_signals(void) {
    return note && PyThread_get_thread_ident() == main_thread &&
           PyInterpreterState_Get() == PyInterpreterState_Main();
}

void jpy_undisturbed_begin(void) {
    if (!depth++ && handles_signals()) {
        PyObject *type, *value, *tb;
        PyErr_Fetch(&type, &value, &tb);
        hold_signals();
        PyErr_Restore(type, value, tb);
    }
    if (!undisturbed++)
        collects = PyGC_Disable();
}

void jpy_undisturbed_end(void) {
    if (!--undisturbed && collects)
        PyGC_Enable();
    if (!--depth && handles_signals()) {
        PyObject *type, *value, *tb;
        PyErr_Fetch(&type, &value, &tb);
        give_signals_back();
        PyErr_Restore(type, value, tb);
    }
}

PyObject *jpy_raise_waiting(PyObject *result) {
    PyObject *type, *value, *tb, *waited = jpy_waiting;
    jpy_waiting = NULL;
    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    if (value && value != waited)
        PyException_SetContext(waited, Py_NewRef(value));
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    Py_XDECREF(result);
    PyErr_SetObject((PyObject *)Py_TYPE(waited), waited);
    Py_DECREF(waited);
    return NULL;
}
