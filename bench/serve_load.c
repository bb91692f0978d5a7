/* Clients of samples/c/serve that ask as fast as they are answered; bench/serve.py runs it.
 *
 *     serve_load PORT PATH CLIENTS REQUESTS BODIES
 *
 * BODIES is a file with a request's body on each line, taken in turn. Prints how many requests were
 * answered, how many wrongly (not with 200), requests per second, and the 50th and 99th percentile
 * of the time to an answer in microseconds.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_BODIES = 4096, MAX_CLIENTS = 512 };

static char *bodies[MAX_BODIES];
static unsigned n_bodies, n_requests;
static const char *path;
static int port;

typedef struct client {
    pthread_t thread;
    unsigned seed, n, wrong;
    double *us; /* n_requests of them */
} client;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int dial(void) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        close(fd);
        return -1;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* Status of the answer, which is read to its end; 0: the connection is gone. */
static int answer(int fd) {
    char got[65536];
    size_t n = 0, whole = 0;
    while (!whole || n < whole) {
        ssize_t more = recv(fd, got + n, sizeof got - 1 - n, 0);
        if (more <= 0)
            return 0;
        n += (size_t)more;
        got[n] = 0;
        const char *end = strstr(got, "\r\n\r\n"), *length = strstr(got, "Content-Length: ");
        if (end && length)
            whole = (size_t)(end - got) + 4 + strtoul(length + 16, NULL, 10);
    }
    return atoi(got + 9);
}

static void *ask(void *arg) {
    client *c = arg;
    int fd = dial();
    char *text = malloc(1 << 20);
    for (unsigned i = 0; fd >= 0 && text && i < n_requests; i++) {
        const char *body = bodies[(c->seed + i * 7) % n_bodies];
        int n = snprintf(text, 1 << 20, "POST %s HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", path,
                         strlen(body), body);
        double start = now();
        if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
            break;
        int status = answer(fd);
        if (!status)
            break;
        c->us[c->n++] = now() - start;
        c->wrong += status != 200;
    }
    if (fd >= 0)
        close(fd);
    free(text);
    return NULL;
}

static int by_time(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int run(unsigned n_clients) {
    static client clients[MAX_CLIENTS];
    double *all = calloc((size_t)n_clients * n_requests, sizeof *all), start = now();
    size_t n = 0, wrong = 0;
    if (!all)
        return 1;
    for (unsigned i = 0; i < n_clients; i++) {
        clients[i] = (client){.seed = i, .us = all + (size_t)i * n_requests};
        if (pthread_create(&clients[i].thread, NULL, ask, &clients[i]))
            return 1;
    }
    for (unsigned i = 0; i < n_clients; i++)
        pthread_join(clients[i].thread, NULL);
    double seconds = (now() - start) / 1e6;
    for (unsigned i = 0; i < n_clients; i++) {
        memmove(all + n, clients[i].us, clients[i].n * sizeof *all);
        n += clients[i].n;
        wrong += clients[i].wrong;
    }
    qsort(all, n, sizeof *all, by_time);
    printf("%zu %zu %.1f %.0f %.0f\n", n, wrong, (double)n / seconds, n ? all[n / 2] : 0,
           n ? all[n * 99 / 100] : 0);
    free(all);
    return n != (size_t)n_clients * n_requests;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "serve_load PORT PATH CLIENTS REQUESTS BODIES\n");
        return 2;
    }
    port = atoi(argv[1]);
    path = argv[2];
    unsigned n_clients = (unsigned)atoi(argv[3]);
    n_requests = (unsigned)atoi(argv[4]);
    FILE *f = fopen(argv[5], "r");
    size_t room = 0;
    while (f && n_bodies < MAX_BODIES && getline(&bodies[n_bodies], &room, f) > 0) {
        bodies[n_bodies][strcspn(bodies[n_bodies], "\n")] = 0;
        n_bodies++;
        room = 0;
    }
    if (f)
        fclose(f);
    int failed = n_bodies && n_clients && n_clients <= MAX_CLIENTS ? run(n_clients) : 2;
    for (unsigned i = 0; i <= n_bodies && i < MAX_BODIES; i++)
        free(bodies[i]);
    return failed;
}
