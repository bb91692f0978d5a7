/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* accept4, memmem, ppoll */
#include "samples/c/serve/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PEERS = 900, MAX_HEAD = 8192, MAX_BODY = 1 << 20, MAX_EVENTS = 64 };

typedef struct buffer {
    char *data;
    size_t n, cap;
} buffer;

struct http_peer {
    http_server *server;
    http_peer *next, *before;
    int fd; /* -1: gone, and to be freed once its request is answered */
    bool waits, last;
    buffer in, out;
};

struct http_server {
    int listener, poll;
    unsigned n, n_waiting;
    bool again; /* some connection has sent more than the request that was answered */
    http_peer *all;
};

static bool append(buffer *b, const char *data, size_t n) {
    if (b->cap - b->n < n) {
        size_t cap = (b->n + n) * 2;
        char *now = realloc(b->data, cap);
        if (!now)
            return false;
        b->data = now;
        b->cap = cap;
    }
    memcpy(b->data + b->n, data, n);
    b->n += n;
    return true;
}

static void drop_front(buffer *b, size_t n) {
    memmove(b->data, b->data + n, b->n - n);
    b->n -= n;
}

static void forget(http_peer *p) {
    free(p->in.data);
    free(p->out.data);
    free(p);
}

/* Closes a connection; whoever has its request keeps what is left of it. */
static void hang_up(http_peer *p) {
    http_server *s = p->server;
    close(p->fd);
    p->fd = -1;
    s->n--;
    s->n_waiting -= p->waits;
    *(p->before ? &p->before->next : &s->all) = p->next;
    if (p->next)
        p->next->before = p->before;
    p->server = NULL;
    if (!p->waits)
        forget(p);
}

static void watch(http_peer *p) {
    struct epoll_event e = {.events = p->out.n ? EPOLLOUT : EPOLLIN, .data.ptr = p};
    if (epoll_ctl(p->server->poll, EPOLL_CTL_MOD, p->fd, &e) < 0)
        hang_up(p);
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static const char *reason(int status) {
    return status == 200   ? "OK"
           : status == 404 ? "Not Found"
           : status == 405 ? "Method Not Allowed"
           : status == 413 ? "Content Too Large"
           : status == 500 ? "Internal Server Error"
                           : "Bad Request";
}

static void flush(http_peer *p) {
    while (p->out.n) {
        ssize_t n = send(p->fd, p->out.data, p->out.n, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            hang_up(p);
            return;
        }
        drop_front(&p->out, (size_t)n);
    }
    if (p->last && !p->out.n) {
        hang_up(p);
        return;
    }
    p->server->again |= p->in.n > 0;
    watch(p);
}

void http_answer(http_peer *p, int status, const char *json, size_t n) {
    char head[256];
    if (p->fd < 0) { /* it did not wait */
        forget(p);
        return;
    }
    p->server->n_waiting -= p->waits;
    p->waits = false;
    int n_head = snprintf(head, sizeof head,
                          "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"
                          "Content-Length: %zu\r\n%s\r\n",
                          status, reason(status), n, p->last ? "Connection: close\r\n" : "");
    if (append(&p->out, head, (size_t)n_head) && append(&p->out, json, n))
        flush(p);
    else
        hang_up(p);
}

static void refuse(http_peer *p, int status, const char *why) {
    char json[256];
    int n = snprintf(json, sizeof json, "{\"error\": \"%s\"}", why);
    p->last = true; /* where the next request begins is not known */
    http_answer(p, status, json, (size_t)n);
}

/* The value of a header, NULL: it is not there.  The lines from `head` on end with NULs. */
static const char *header(const char *head, const char *end, const char *name) {
    size_t n = strlen(name);
    for (; head < end; head += strlen(head) + 1)
        if (strncasecmp(head, name, n) == 0 && head[n] == ':')
            return head + n + 1 + strspn(head + n + 1, " \t");
    return NULL;
}

static bool length_of(const char *text, size_t *out) {
    *out = 0;
    if (!text)
        return true;
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 9 || text[digits + strspn(text + digits, " \t")])
        return false;
    *out = strtoul(text, NULL, 10);
    return true;
}

/* Hands over the request at the front of what has come, if it is whole; `head` is of n_head bytes,
 * the empty line included. */
static void take(http_peer *p, size_t n_head, void (*handle)(void *, const http_request *),
                 void *user) {
    http_request r = {.peer = p};
    size_t n_body;
    char *head = malloc(n_head), *save = NULL;
    if (!head) {
        hang_up(p);
        return;
    }
    memcpy(head, p->in.data, n_head);
    char *end = head + n_head - 2, *line = head; /* the end of the last header */
    if (memchr(head, 0, n_head))
        end = NULL;
    for (char *c = head; end && c + 1 < end; c++)
        if (c[0] == '\r' && c[1] == '\n') {
            c[0] = 0; /* empty strings in between do no harm */
            c[1] = 0;
        }
    const char *headers = end ? line + strlen(line) + 1 : NULL, *close_it, *length;
    r.method = end ? strtok_r(line, " ", &save) : NULL;
    r.path = r.method ? strtok_r(NULL, " ", &save) : NULL;
    const char *version = r.path ? strtok_r(NULL, " ", &save) : NULL;
    if (!version || strncmp(version, "HTTP/1.", 7) != 0) {
        refuse(p, 400, "not a request of HTTP/1.1");
        goto done;
    }
    end[0] = 0;
    length = header(headers, end, "Content-Length");
    if (header(headers, end, "Transfer-Encoding") || !length_of(length, &n_body)) {
        refuse(p, 400, "the body needs a Content-Length");
        goto done;
    }
    if (n_body > MAX_BODY) {
        refuse(p, 413, "the body is too large");
        goto done;
    }
    if (p->in.n < n_head + n_body) { /* more is to come */
        watch(p);
        goto done;
    }
    close_it = header(headers, end, "Connection");
    p->last = close_it ? strcasecmp(close_it, "close") == 0 : strcmp(version, "HTTP/1.0") == 0;
    p->waits = true;
    p->server->n_waiting++;
    r.n_body = n_body;
    char *body = malloc(n_body + 1);
    if (!body) {
        hang_up(p);
        p->waits = false;
        forget(p);
        goto done;
    }
    memcpy(body, p->in.data + n_head, n_body);
    body[n_body] = 0;
    r.body = body;
    drop_front(&p->in, n_head + n_body);
    struct epoll_event quiet = {.events = 0, .data.ptr = p}; /* one request at a time */
    (void)epoll_ctl(p->server->poll, EPOLL_CTL_MOD, p->fd, &quiet);
    handle(user, &r);
    free(body);
done:
    free(head);
}

/* Whether there is a whole request's head; *out is its length. */
static bool whole_head(const http_peer *p, size_t *out) {
    const char *found = p->in.n ? memmem(p->in.data, p->in.n, "\r\n\r\n", 4) : NULL;
    *out = found ? (size_t)(found - p->in.data) + 4 : 0;
    return found != NULL;
}

static void look(http_peer *p, void (*handle)(void *, const http_request *), void *user) {
    size_t n_head;
    if (whole_head(p, &n_head) && n_head <= MAX_HEAD)
        take(p, n_head, handle, user);
    else if (p->in.n > MAX_HEAD)
        refuse(p, 400, "the head of the request is too long");
    else
        watch(p);
}

static void receive(http_peer *p, void (*handle)(void *, const http_request *), void *user) {
    char data[16384];
    ssize_t n = recv(p->fd, data, sizeof data, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || !append(&p->in, data, (size_t)n)) {
        hang_up(p);
        return;
    }
    look(p, handle, user);
}

/* ---- connections -------------------------------------------------------------------------------
 */

http_server *http_open(int *port) {
    http_server *s = calloc(1, sizeof *s);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)*port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int on = 1;
    if (!s)
        return NULL;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    s->poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
    if (s->listener < 0 || s->poll < 0 ||
        setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(s->listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(s->listener, 512) < 0 ||
        getsockname(s->listener, (struct sockaddr *)&at, &n) < 0 ||
        epoll_ctl(s->poll, EPOLL_CTL_ADD, s->listener, &e) < 0) {
        http_close(s);
        return NULL;
    }
    *port = ntohs(at.sin_port);
    return s;
}

static void greet(http_server *s) {
    for (int fd, on = 1;
         (fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        http_peer *p = calloc(1, sizeof *p);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (!p || s->n >= MAX_PEERS || epoll_ctl(s->poll, EPOLL_CTL_ADD, fd, &e) < 0) {
            close(fd);
            free(p);
            continue;
        }
        p->server = s;
        p->fd = fd;
        p->next = s->all;
        if (s->all)
            s->all->before = p;
        s->all = p;
        s->n++;
    }
}

/* epoll_wait counts milliseconds, in which many requests are computed. */
static int wait_until_ready(const http_server *s, struct epoll_event *events, int64_t ns) {
    struct pollfd any = {.fd = s->poll, .events = POLLIN};
    struct timespec most = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    if (ns > 0 && ppoll(&any, 1, &most, NULL) <= 0)
        return 0;
    return epoll_wait(s->poll, events, MAX_EVENTS, ns < 0 ? -1 : 0);
}

void http_wait(http_server *s, int64_t ns, void (*handle)(void *user, const http_request *r),
               void *user) {
    struct epoll_event events[MAX_EVENTS];
    if (s->again) {
        s->again = false;
        for (http_peer *p = s->all, *next; p; p = next) {
            next = p->next;
            if (p->in.n && !p->waits && !p->out.n)
                look(p, handle, user);
        }
        ns = 0;
    }
    int n = wait_until_ready(s, events, ns);
    for (int i = 0; i < n; i++) {
        http_peer *p = events[i].data.ptr;
        if (!p) {
            greet(s);
        } else if (events[i].events & (EPOLLERR | EPOLLHUP)) {
            hang_up(p);
        } else if (events[i].events & EPOLLOUT) {
            flush(p);
        } else if (events[i].events & EPOLLIN) {
            receive(p, handle, user);
        }
    }
}

unsigned http_idle(const http_server *s) { return s->n - s->n_waiting; }

void http_close(http_server *s) {
    if (!s)
        return;
    while (s->all)
        hang_up(s->all);
    if (s->listener >= 0)
        close(s->listener);
    if (s->poll >= 0)
        close(s->poll);
    free(s);
}
