/* SPDX-License-Identifier: Apache-2.0 */
/* Noticing, without running their handlers, that signals have arrived while a graph runs. */
#ifndef JPY_SIGNALS_H
#define JPY_SIGNALS_H

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

#endif
