/* Runs a fuzz entry without libFuzzer: over the files given (or those in its folders), each as it
 * is and in many small mutations.  A seed decides which: without one they are always the same.
 *
 *     fuzz_parse [--seconds S] [--seed SEED] [-n MUTATIONS] [FILE...]
 *
 * With a time (or JANUS_FUZZ_SECONDS in the environment) it goes through the files again and again
 * until that is over, each round with the next seed, told when it begins: what ends the process is
 * then found again by the seed.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fuzz/fuzz.h"

enum { MAX_SIZE = 1 << 16 };

static uint64_t state;
static void start_with(uint64_t seed) {
    state = UINT64_C(88172645463325252) ^ (seed * UINT64_C(0x9e3779b97f4a7c15));
    state += state == 0; /* which xorshift does not leave */
}
static uint64_t random64(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Pieces of the language, to get past the first error more often than bytes alone would. */
static const char *const pieces[] = {"%1",      "%x",      "@f",
                                     "(",       ")",       "{",
                                     "}",       "[",       "]",
                                     ",",       ":",       "->",
                                     "=",       "_",       "\"",
                                     "\n",      "int ",    "float ",
                                     "sub",     "module",  "return",
                                     "saved",   "frame",   "frame #1",
                                     "shared ", "f32[",    "?",
                                     "s0",      "acc<",    "invoke",
                                     "if",      "nan:0x",  "-9223372036",
                                     "9",       "\\u",     "@\"",
                                     "0",       "foreach", "while",
                                     "//",      "bool",    "none",
                                     ".save",   ".grad",   "\\",
                                     "[[",      "{}",      "1e99",
                                     "-1",      "null",    "\"argument\":",
                                     "]]",      "[8,4]",   "\"F32\""};

static size_t mutate(uint8_t *text, size_t n) {
    for (unsigned k = random64() % 4 + 1; k; k--) {
        size_t at = n ? random64() % n : 0, len = random64() % 12;
        const char *piece = pieces[random64() % (sizeof pieces / sizeof pieces[0])];
        size_t piece_len = strlen(piece);
        switch (random64() % 5) {
        case 0: /* another byte */
            if (n)
                text[at] = (uint8_t)random64();
            break;
        case 1: /* without some */
            len = len < n - at ? len : n - at;
            memmove(text + at, text + at + len, n - at - len);
            n -= len;
            break;
        case 2: /* a piece more */
            if (n + piece_len > MAX_SIZE)
                break;
            memmove(text + at + piece_len, text + at, n - at);
            memcpy(text + at, piece, piece_len);
            n += piece_len;
            break;
        case 3: /* some of it copied elsewhere */
            if (n > 16) {
                size_t from = random64() % (n - 12), to = random64() % (n - 12);
                memmove(text + to, text + from, len);
            }
            break;
        default: /* cut off */
            if (random64() % 8 == 0)
                n = at;
        }
    }
    return n;
}

static unsigned long n_runs;
static time_t stop; /* of rounds with a time */

static void run(const uint8_t *text, size_t n) {
    /* A block of exactly this size, so that a sanitizer sees reading past the end. */
    uint8_t *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    memcpy(copy, text, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
    n_runs++;
}

static int replay(const char *path, unsigned long mutations) {
    static uint8_t text[MAX_SIZE], now[MAX_SIZE];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    run(text, n);
    for (unsigned long i = 0; i < mutations && (!stop || time(NULL) < stop); i++) {
        memcpy(now, text, n);
        run(now, mutate(now, n));
    }
    return 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files in the order of their names: the mutations are the same everywhere. */
static int replay_folder(const char *folder, unsigned long mutations) {
    enum { MAX_FILES = 4096 };
    static char *names[MAX_FILES];
    char path[2048];
    size_t n = 0;
    int failed = 0;
    DIR *d = opendir(folder);
    if (!d)
        return 0;
    for (struct dirent *e; n < MAX_FILES && (e = readdir(d));) {
        if (e->d_name[0] != '.')
            names[n++] = strdup(e->d_name);
    }
    closedir(d);
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        failed |= replay(path, mutations);
        free(names[i]);
    }
    return failed;
}

/* All files once; true where one could not be read. */
static int round_of(int n, char **files, unsigned long mutations) {
    int failed = 0;
    for (int i = 0; i < n; i++)
        failed |= replay(files[i], mutations);
    if (n == 0) {
        const char *srcdir = getenv("srcdir");
        char path[1024];
        for (const char *const *folder = fuzz_folders; *folder; folder++) {
            snprintf(path, sizeof path, "%s/tests/%s", srcdir ? srcdir : "..", *folder);
            failed |= replay_folder(path, mutations);
        }
        failed |= n_runs == 0;
    }
    return failed;
}

int main(int argc, char **argv) {
    const char *env = getenv("JANUS_FUZZ_SECONDS");
    unsigned long mutations = 300, seconds = env ? strtoul(env, NULL, 10) : 0;
    uint64_t seed = 0;
    int failed = 0, first = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        const char *word = argv[first], *more = argv[first + 1];
        if (strcmp(word, "-n") == 0) {
            mutations = strtoul(more, NULL, 10);
        } else if (strcmp(word, "--seconds") == 0) {
            seconds = strtoul(more, NULL, 10);
        } else if (strcmp(word, "--seed") == 0) {
            seed = strtoull(more, NULL, 10);
        } else {
            fprintf(stderr, "%s: what is %s?\n", argv[0], word);
            return 2;
        }
    }
    stop = seconds ? time(NULL) + (time_t)seconds : 0;
    do {
        if (stop)
            fprintf(stderr, "--seed %llu\n", (unsigned long long)seed);
        start_with(seed++);
        failed |= round_of(argc - first, argv + first, mutations);
    } while (!failed && stop && time(NULL) < stop);
    printf("%lu inputs\n", n_runs);
    return failed;
}
