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
#include <unistd.h>

static int ends[2] = {-1, -1};
static unsigned long main_thread;
static PyObject *set_wakeup; /* signal.set_wakeup_fd, a C function */
static bool running, watching;
static unsigned polls;

int jpy_init_signals(void) {
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *main = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = main ? PyObject_GetAttrString(main, "ident") : NULL;
    PyObject *module = ident ? PyImport_ImportModule("_signal") : NULL;
    main_thread = ident ? PyLong_AsUnsignedLong(ident) : 0;
    set_wakeup = module ? PyObject_GetAttrString(module, "set_wakeup_fd") : NULL;
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

/* Runs the handlers of what has come. */
static void handle(void) {
    PyObject *type, *value, *tb;
    if (PyErr_CheckSignals() == 0)
        return;
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

void jpy_undisturbed_begin(sigset_t *mask) {
    static const int always[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    PyObject *type, *value, *tb;
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        sigdelset(&all, always[i]);
    pthread_sigmask(SIG_BLOCK, &all, mask);
    if (!depth++) { /* inside of another, one that has come by way of another thread waits */
        PyErr_Fetch(&type, &value, &tb);
        handle();
        PyErr_Restore(type, value, tb);
    }
    if (!undisturbed++)
        collects = PyGC_Disable();
}

void jpy_undisturbed_end(const sigset_t *mask) {
    depth--;
    if (!--undisturbed && collects)
        PyGC_Enable();
    pthread_sigmask(SIG_SETMASK, mask, NULL);
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
