/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storages and tensors.
 *
 * A storage is a block of memory with an atomic reference count; a tensor is a strided view of one,
 * with its dims and strides inline.  Small blocks, tensors and storages come from per-thread free
 * lists (exec/store/pool.h): an eager op must not pay for malloc.  `version` counts in-place
 * writes, for the tape's saved-value check.
 *
 * Not every storage holds its elements.  Which do is its state, and the elements are reached by
 * jn_tensor_data() and jn_tensor_as_view() alone, which look at it: they fill what can be filled
 * and refuse what has no value.  So `raw` is for exec/tensor*.[ch] (tests/lint/raw.sh).
 */
#ifndef JN_EXEC_TENSOR_H
#define JN_EXEC_TENSOR_H

#include <stdatomic.h>

#include "exec/store/thread.h"
#include "graph/base/status.h"
#include "ops/kernel.h"

typedef enum jn_storage_state {
    JN_STORAGE_READY, /* the elements are there */
    JN_STORAGE_ROWS, /* some rows only: filled when they are asked for (exec/store/tensor_rows.h) */
    JN_STORAGE_PENDING, /* recorded, not computed yet (exec/defer/defer.h); perhaps nowhere yet */
    JN_STORAGE_LENT,    /* the elements are there, and recorded ops have still to read them */
    JN_STORAGE_PROXY    /* a type with an identity, of which there are no elements */
} jn_storage_state;

typedef struct jn_storage {
    atomic_int refs;
    uint32_t version;
    atomic_uchar state; /* jn_storage_state; set to READY after all else that comes with it */
    bool shell : 1;     /* its block has the struct of a tensor, too */
    bool inside : 1;    /* ... and the elements: `raw` may be right behind it without that */
    uint16_t unseen;    /* writes that `version` does not count (x.data.add_(1)), modulo 2^16 */
    uint32_t print; /* jn_storage_print() of what others got the address of; see jn_storage_mark */
    void *raw;      /* a proxy's is an address that nobody may read or write */
    size_t bytes;
    void (*release)(void *user); /* foreign memory; NULL: ours */
    void *user; /* without `release`: what its state belongs to (exec/defer/defer.h), or jn_exported
                 */
    struct jn_device *device; /* whose memory it is (exec/device/device.h); NULL: host memory */
    struct jn_slab *slab;     /* that `raw` lies in (exec/store/slab.h); NULL: memory of its own */
} jn_storage;

/* Dtype, dims and strides of what is small, of any rank that has room: as the recipe of a
 * remembered call keeps its results'. */
enum { JN_LAYOUT_RANK = 4 };
typedef struct jn_layout {
    uint8_t dtype;
    bool contiguous;
    int16_t rank;
    int64_t numel;
    uint64_t form; /* jn_layout_form() */
    int64_t dims[JN_LAYOUT_RANK], strides[JN_LAYOUT_RANK];
} jn_layout;

struct janus_tensor {
    atomic_int refs;
    uint8_t dtype;
    bool contiguous;
    uint8_t rank;
    bool in_storage; /* this struct lies in its storage's block; it never gets another storage */
    int64_t numel;
    char *raw; /* storage->raw + offset, first element */
    jn_storage *storage;
    int64_t *dims, *strides; /* point to inline_dims for rank <= 4, else to one block */
    int64_t inline_dims[2 * JN_LAYOUT_RANK];
    uint64_t form; /* jn_tensor_form(); 0: none, or not looked at yet */
};

/* A number that tells the dtype, dims and strides of small row-major tensors: equal where these
 * are, its low bits JN_FORM.  0: it is none of these. */
enum { JN_FORM = 1, JN_FORM_RANK = 3, JN_FORM_NUMEL = 1 << 16 };
uint64_t jn_layout_form(unsigned dtype, int rank, const int64_t *dims, const int64_t *strides,
                        int64_t numel);
/* Of a tensor in host memory, found once: neither of the three ever changes.  By one thread at a
 * time. */
static inline uint64_t jn_tensor_form(janus_tensor *t) {
    if (JN_UNLIKELY(!t->form) && !t->storage->device)
        t->form = jn_layout_form(t->dtype, t->rank, t->dims, t->strides, t->numel);
    return t->form;
}

/* Makes the elements of a tensor whose storage is not ready; of a proxy it fails with
 * JANUS_UNSUPPORTED, and says so in jn_proxy_asked. */
janus_status jn_tensor_settle(janus_tensor *t);
/* Whether this thread has asked for elements of a proxy; set here, cleared by who wants to know. */
extern _Thread_local bool jn_proxy_asked;
/* What computes the elements of PENDING storages and waits for the readers of LENT ones: set by who
 * makes such storages (exec/defer/), before the first of them. */
extern janus_status (*jn_storage_settle)(jn_storage *s);
/* Its first element, to read and write; a device tensor's is an address there. */
static inline janus_status jn_tensor_data(janus_tensor *t, char **out) {
    if (JN_UNLIKELY(t->storage->state != JN_STORAGE_READY))
        JN_TRY(jn_tensor_settle(t));
    *out = t->raw;
    return JANUS_OK;
}
/* The same for tensors that are ready, as new ones are; NULL for others. */
static inline char *jn_tensor_ready_data(const janus_tensor *t) {
    return JN_LIKELY(t->storage->state == JN_STORAGE_READY) ? t->raw : NULL;
}
/* Where its elements are or will be, whatever the state: for who computes them. */
static inline char *jn_tensor_place(const janus_tensor *t) { return t->raw; }
/* Whether asking for its elements runs recorded ops. */
static inline bool jn_storage_waits(const jn_storage *s) {
    return JN_UNLIKELY(s->state != JN_STORAGE_READY) &&
           (s->state == JN_STORAGE_PENDING || s->state == JN_STORAGE_LENT);
}
/* The address of a ready storage goes to others, who may write there at any time: from then on no
 * op that reads it is deferred. */
extern char jn_exported;
enum { JN_PRINT_WANTED = 1 };
/* A number that is another one if the elements are, as a rule; never 0 or JN_PRINT_WANTED. */
uint32_t jn_storage_print(const jn_storage *s);
static inline void jn_storage_export(jn_storage *s) {
    if (JN_UNLIKELY(s->print == JN_PRINT_WANTED))
        s->print = jn_storage_print(s);
    if (!s->release)
        s->user = &jn_exported;
}
/* A write that `version` does not count.  After so many that the count begins anew it says nothing
 * any more, as with writes by others. */
static inline void jn_storage_wrote_unseen(jn_storage *s) {
    if (JN_UNLIKELY(++s->unseen == 0) && s->state == JN_STORAGE_READY)
        jn_storage_export(s);
}
/* Whether others may write to it, of which `unseen` says nothing either. */
static inline bool jn_storage_open(const jn_storage *s) {
    return s->release || s->user == &jn_exported;
}
/* Somebody has to know later whether others have written to it from now on, without a write that is
 * counted in between: jn_storage_written(s, what this returns). */
static inline uint32_t jn_storage_mark(jn_storage *s) {
    if (s->state != JN_STORAGE_READY || s->device)
        return 0;
    if (jn_storage_open(s))
        return jn_storage_print(s);
    s->print = JN_PRINT_WANTED;
    return 0;
}
static inline bool jn_storage_written(const jn_storage *s, uint32_t mark) {
    uint32_t was = mark ? mark : s->print;
    return jn_storage_open(s) && s->state == JN_STORAGE_READY && !s->device &&
           was > JN_PRINT_WANTED && jn_storage_print(s) != was;
}
/* Its elements as kernels take them. */
static inline janus_status jn_tensor_as_view(janus_tensor *t, jn_view *out) {
    if (JN_UNLIKELY(t->storage->state != JN_STORAGE_READY))
        JN_TRY(jn_tensor_settle(t));
    *out = (jn_view){t->raw, t->dims, t->strides, t->rank, t->dtype, t->contiguous};
    return JANUS_OK;
}
/* The same without data: for what only looks at dims and strides. */
static inline jn_view jn_tensor_layout(const janus_tensor *t) {
    return (jn_view){NULL, t->dims, t->strides, t->rank, t->dtype, t->contiguous};
}
/* Elements (of from's size) between the first element of `from` and that of `to`, which is of the
 * same storage; from the first one of the storage. */
int64_t jn_tensor_distance(const janus_tensor *from, const janus_tensor *to);
int64_t jn_tensor_offset(const janus_tensor *t);
/* Addresses that nobody may read or write: where what has no memory lies; NULL: there are none. */
char *jn_nowhere(void);
/* A new row-major tensor of rank 4 at most that is PENDING and has no memory: it lies nowhere until
 * it is placed.  `nowhere`: jn_nowhere(). */
janus_status jn_tensor_promise(janus_dtype dtype, int rank, const int64_t *dims,
                               const int64_t *strides, int64_t numel, char *nowhere,
                               janus_tensor **out);
bool jn_tensor_promised(const janus_tensor *t);
/* Its elements are at `at`: in a slab, of which the storage gets a part, or (NULL) in a block of
 * jn_alloc_aligned() that becomes the storage's; the state stays. */
void jn_tensor_put(janus_tensor *t, char *at, struct jn_slab *slab);
/* The same to a view of a promised tensor, which lies at `at`. */
void jn_tensor_follow(janus_tensor *view, char *at);
/* Says where a new view of a PENDING storage lies, `offset` bytes from `base`, and sees to it when
 * the storage gets its memory: set beside jn_storage_settle. */
extern janus_status (*jn_storage_viewed)(janus_tensor *base, int64_t offset, janus_tensor *view);
/* A tensor without elements: dims, strides (>= 0; NULL: row-major) and an owner, released with
 * `user` when the last tensor of its storage goes. */
janus_status jn_tensor_proxy(janus_dtype dtype, int rank, const int64_t *dims,
                             const int64_t *strides, void (*release)(void *user), void *user,
                             janus_tensor **out);
/* Makes `shell` a 0-d tensor of the element at `cell`, for kernels only: it has no references and
 * no storage of its own. */
extern jn_storage jn_storage_of_cells;
static inline void jn_tensor_on_cell(janus_tensor *shell, janus_dtype dtype, void *cell) {
    *shell = (janus_tensor){.dtype = (uint8_t)dtype, .contiguous = true, .numel = 1, .raw = cell};
    shell->storage = &jn_storage_of_cells;
    shell->dims = shell->strides = shell->inline_dims;
}

/* New storage of `bytes` (0 allowed). */
janus_status jn_storage_new(size_t bytes, jn_storage **out);
void jn_storage_retain(jn_storage *s);
void jn_storage_release(jn_storage *s);
/* New row-major tensor with its own storage, uninitialised. */
janus_status jn_tensor_empty(janus_dtype dtype, int rank, const int64_t *dims, janus_tensor **out);
/* View of `base`'s storage; offset in elements relative to base's first element. */
janus_status jn_tensor_window(jn_thread *me, janus_tensor *base, int rank, const int64_t *dims,
                              const int64_t *strides, int64_t offset, janus_tensor **out);
static inline janus_status jn_tensor_view(janus_tensor *base, int rank, const int64_t *dims,
                                          const int64_t *strides, int64_t offset,
                                          janus_tensor **out) {
    return jn_tensor_window(&jn_this, base, rank, dims, strides, offset, out);
}
/* The two above with what the caller knows already: row-major strides and the number of elements;
 * a whole layout; a view's. */
janus_status jn_tensor_dense(janus_dtype dtype, int rank, const int64_t *dims,
                             const int64_t *strides, int64_t numel, janus_tensor **out);
janus_status jn_tensor_of(jn_thread *me, const jn_layout *l, janus_tensor **out);
janus_status jn_tensor_alias(jn_thread *me, janus_tensor *base, const jn_layout *l, int64_t offset,
                             janus_tensor **out);
/* New, of the dtype and dims of a tensor that has a form. */
janus_status jn_tensor_like(jn_thread *me, const janus_tensor *t, janus_tensor **out);
/* janus_tensor_wrap of arguments that are right; `data` may be NULL where the storage's state says
 * that its elements are not in memory. */
janus_status jn_tensor_over(janus_dtype dtype, int rank, const int64_t *dims,
                            const int64_t *strides, void *data, void (*release)(void *user),
                            void *user, janus_tensor **out_tensor);
/* Copies elements: same dtype and dims, no overlap, both in host memory and ready. */
void jn_tensor_copy_elements(janus_tensor *dst, const janus_tensor *src);
/* The same bytes elsewhere; a large block on all threads. */
void jn_copy_bytes(void *to, const void *from, size_t bytes);
/* The bytes that a tensor touches, as a half-open range. */
void jn_tensor_extent(const janus_tensor *t, const char **lo, const char **hi);
/* Whether the byte ranges two tensors lie in meet; whether they are the same elements in order. */
bool jn_tensor_overlap(const janus_tensor *a, const janus_tensor *b);
bool jn_tensor_same_view(const janus_tensor *a, const janus_tensor *b);
static inline jn_type jn_tensor_as_type(const janus_tensor *t) {
    return jn_tensor_type((janus_dtype)t->dtype, t->rank, t->dims);
}

#endif
