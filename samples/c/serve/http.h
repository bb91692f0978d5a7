/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of an HTTP/1.1 server as serving needs, on one thread over epoll: requests with a body of
 * known length, connections kept open, answers in JSON that may be given later.
 */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct http_server http_server;
typedef struct http_peer http_peer; /* a connection with a request that waits for its answer */

typedef struct http_request {
    http_peer *peer; /* to be answered exactly once, now or later */
    const char *method, *path, *body;
    size_t n_body;
} http_request;

/* Listens on 127.0.0.1; *port 0: any, which is written there.  NULL: errno says why. */
http_server *http_open(int *port);
/* Waits for events, at most `ns` nanoseconds (-1: for ever), and hands over the requests that are
 * whole.  Their texts are valid until `handle` returns, which may answer this request, but no
 * other. */
void http_wait(http_server *s, int64_t ns, void (*handle)(void *user, const http_request *r),
               void *user);
/* Answers with a body of JSON. */
void http_answer(http_peer *p, int status, const char *json, size_t n);
/* Connections from which a request may still come: those that wait for no answer. */
unsigned http_idle(const http_server *s);
/* Closes all connections; answers that are due are dropped. */
void http_close(http_server *s);

#endif
