/* SPDX-License-Identifier: Apache-2.0 */
/* Noticing, without running their handlers, that signals have arrived while a graph runs; holding
 * handlers back while the package's own code does. */
#ifndef JPY_SIGNALS_H
#define JPY_SIGNALS_H

#include <Python.h>

#include <stdbool.h>

int jpy_init_signals(void);
/* A run begins, and ends; takes what the other returned. */
bool jpy_signals_watch(void);
void jpy_signals_ignore(bool mine);
/* Whether one has arrived since the second time this was asked (SIGINT: since the beginning): its
 * handler is still to run. */
bool jpy_signals_pending(void);
/* While CPython runs: whether a handler has run in between, as far as can be known. */
bool jpy_signals_listen(void);
bool jpy_signals_heard(bool mine);

/* While the package's own code runs inside of a call, as in a conversion, none of the program's
 * does: no handler of a signal, no finalizer or callback that the collector calls.  Such code would
 * be taken for what the conversion calls, and its exceptions for reasons to refuse.  Handlers of
 * what has come before run first; what they raise waits until the call, or the region, ends. */
void jpy_undisturbed_begin(void);
void jpy_undisturbed_end(void);
/* `result` (consumed, NULL: an exception is set) of a call or region that ends: NULL where what a
 * handler has raised was waiting, which is raised. */
extern _Thread_local PyObject *jpy_waiting;
PyObject *jpy_raise_waiting(PyObject *result);
static inline PyObject *jpy_or_waiting(PyObject *result) {
    return jpy_waiting ? jpy_raise_waiting(result) : result;
}

#endif
