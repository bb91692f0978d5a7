/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit of the process: see limit.h. */
#include "config.h"

#include "graph/base/limit.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "graph/base/alloc.h"

enum { PATH_SIZE = 1024 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static size_t limit = SIZE_MAX;
static bool limit_given;

static void lower(unsigned long long bytes) {
    if (bytes > 0 && bytes < limit)
        limit = (size_t)bytes;
}

/* A number alone in a file; anything else ("max") is no limit. */
static void lower_by_file(const char *path) {
    unsigned long long bytes;
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    if (fscanf(f, "%llu", &bytes) == 1)
        lower(bytes);
    fclose(f);
}

/* Limits of a group and of those it lies in: of folder/group/file, and upwards. */
static void lower_by_group(const char *folder, char *group, const char *file) {
    char path[2 * PATH_SIZE];
    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", folder, strcmp(group, "/") ? group : "", file);
        lower_by_file(path);
        char *slash = strrchr(group, '/');
        if (!slash)
            return;
        *slash = 0;
    }
}

/* Lines "0::GROUP" (version 2) and "N:memory:GROUP" (version 1). */
static void lower_by_groups(void) {
    char line[PATH_SIZE];
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) {
        char *kind = strchr(line, ':'), *group = kind ? strchr(kind + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        if (kind[1] == 0)
            lower_by_group("/sys/fs/cgroup", group, "memory.max");
        else if (strcmp(kind + 1, "memory") == 0)
            lower_by_group("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    }
    if (f)
        fclose(f);
}

/* "8000", "64K", "512M", "2G"; false: no such text. */
static bool parse(const char *text, size_t *out) {
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    static const char units[] = "KMG";
    const char *unit = *end ? strchr(units, *end) : NULL;
    size_t scale = unit ? (size_t)1 << (10 * (unit - units + 1)) : 1;
    if (end == text || *text == '-' || n == 0 || (*end && (!unit || end[1])))
        return false;
    return jn_mul_size((size_t)n, scale, out);
}

static void find(void) {
    const char *env = getenv("JANUS_MEMORY_LIMIT");
    if (env && parse(env, &limit)) {
        limit_given = true;
        return;
    }
    limit = SIZE_MAX;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0)
        lower((unsigned long long)pages * (unsigned long long)size);
    struct rlimit as;
    if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur != RLIM_INFINITY)
        lower((unsigned long long)as.rlim_cur);
    lower_by_groups();
}

size_t jn_memory_limit(bool *given) {
    pthread_once(&once, find);
    if (given)
        *given = limit_given;
    return limit;
}
