/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storages and tensors.
 *
 * A small storage is one pool block: the header, then, 64 bytes further, its data;
 * jn_tensor_dense() puts the struct of the tensor it makes between them.  A tensor's dims and
 * strides are inline up to rank 4; above, they are one block of 2 * rank words.
 */
#include "exec/store/tensor.h"

#include <string.h>

#include "exec/store/pool.h"
#include "exec/store/slab.h"
#include "exec/store/tensor_rows.h"
#include "graph/base/alloc.h"
#include "graph/base/limit.h"

enum { HEADER = 64, SHELL = 128, INLINE_RANK = JN_LAYOUT_RANK };
_Static_assert(sizeof(jn_storage) <= HEADER, "the data follows the header");
_Static_assert(sizeof(janus_tensor) <= SHELL, "or the tensor's struct, then the data");

/* In a process that has one thread no instruction has to be locked.  The C library knows. */
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
static inline bool is_alone(void) { return __libc_single_threaded; }
#else
static inline bool is_alone(void) { return false; }
#endif

static inline int plain_add(atomic_int *refs, int by) {
    int n = atomic_load_explicit(refs, memory_order_relaxed) + by;
    atomic_store_explicit(refs, n, memory_order_relaxed);
    return n;
}

static inline void add_reference(atomic_int *refs) {
    if (is_alone())
        plain_add(refs, 1);
    else
        atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* Gives up a reference; true: it was the last.  A sole owner needs no locked instruction, since
 * nobody is left to take or give up another reference. */
static inline bool last_reference(atomic_int *refs) {
    if (is_alone())
        return plain_add(refs, -1) == 0;
    return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/* Instead of a slab: what is promised, and lies nowhere yet. */
static jn_slab promised;

static char *inline_data(jn_storage *s) { return (char *)s + HEADER; }

static void storage_init(jn_storage *s, size_t bytes) {
    atomic_init(&s->refs, 1);
    s->version = 0;
    s->unseen = 0;
    s->print = 0;
    atomic_init(&s->state, JN_STORAGE_READY);
    s->bytes = bytes;
    s->release = NULL;
    s->user = NULL;
    s->device = NULL;
    s->slab = NULL;
    s->shell = s->inside = false;
}

janus_status jn_storage_new(size_t bytes, jn_storage **out) {
    jn_storage *s;
    bool inside = bytes <= JN_POOL_MAX - HEADER;
    if (inside) {
        s = jn_pool_alloc(HEADER + bytes);
        if (!s)
            return JN_NO_MEMORY();
        s->raw = inline_data(s);
    } else {
        s = jn_pool_alloc(HEADER);
        if (!s)
            return JN_NO_MEMORY();
        /* more than there is: the system may give the addresses, and kill who writes to them */
        s->raw = bytes <= jn_memory_limit(NULL) ? jn_alloc_aligned(bytes) : NULL;
        if (!s->raw) {
            jn_pool_free(s, HEADER);
            return jn_error(JANUS_NO_MEMORY, "out of memory: a tensor of %zu bytes", bytes);
        }
    }
    storage_init(s, bytes);
    s->inside = inside;
    *out = s;
    return JANUS_OK;
}

void jn_storage_retain(jn_storage *s) { add_reference(&s->refs); }

void jn_storage_release(jn_storage *s) {
    if (!s || !last_reference(&s->refs))
        return;
    if (s->release) {
        s->release(s->user);
        jn_pool_free(s, HEADER);
    } else if (s->inside) {
        jn_pool_free(s, (s->shell ? HEADER + SHELL : HEADER) + s->bytes);
    } else {
        if (!s->slab)
            jn_free_aligned(s->raw);
        else if (s->slab != &promised)
            jn_slab_let_go(s->slab, s->raw, s->bytes);
        jn_pool_free(s, s->shell ? HEADER + SHELL : HEADER);
    }
}

/* The shell of a tensor: refs, rank and room for dims and strides. */
static janus_status shell(jn_thread *me, janus_dtype dtype, int rank, janus_tensor **out) {
    if (rank < 0 || rank > JN_MAX_RANK)
        return jn_error(JANUS_SHAPE, "a tensor of rank %d: at most %d dims are supported", rank,
                        JN_MAX_RANK);
    janus_tensor *t = jn_pool_take(me, sizeof *t);
    if (!t)
        return JN_NO_MEMORY();
    t->dims = t->inline_dims;
    if (JN_UNLIKELY(rank > INLINE_RANK)) {
        t->dims = jn_alloc(2 * (size_t)rank * sizeof *t->dims);
        if (!t->dims) {
            jn_pool_free(t, sizeof *t);
            return JN_NO_MEMORY();
        }
    }
    t->strides = t->dims + (rank > INLINE_RANK ? rank : INLINE_RANK);
    atomic_init(&t->refs, 1);
    t->dtype = (uint8_t)dtype;
    t->rank = (uint8_t)rank;
    t->in_storage = false;
    t->form = 0;
    *out = t;
    return JANUS_OK;
}

static void shell_free(janus_tensor *t) {
    if (JN_UNLIKELY(t->dims != t->inline_dims))
        jn_free(t->dims);
    jn_pool_free(t, sizeof *t);
}

janus_status jn_tensor_empty(janus_dtype dtype, int rank, const int64_t *dims, janus_tensor **out) {
    janus_tensor *t;
    JN_TRY(shell(&jn_this, dtype, rank, &t));
    int64_t n = 1;
    bool ok = true;
    for (int i = rank - 1; i >= 0; i--) {
        t->dims[i] = dims[i];
        t->strides[i] = n;
        ok = ok && dims[i] >= 0 && !__builtin_mul_overflow(n, dims[i] > 0 ? dims[i] : 1, &n);
    }
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0)
            n = 0;
    int64_t bytes;
    if (JN_UNLIKELY(!ok || __builtin_mul_overflow(n, (int64_t)jn_dtype_size(dtype), &bytes))) {
        shell_free(t);
        return jn_error(JANUS_SHAPE, "a tensor with a negative dim or with too many elements");
    }
    t->numel = n;
    t->contiguous = true;
    janus_status st = jn_storage_new((size_t)bytes, &t->storage);
    if (JN_UNLIKELY(st != JANUS_OK)) {
        shell_free(t);
        return st;
    }
    t->raw = t->storage->raw;
    *out = t;
    return JANUS_OK;
}

uint64_t jn_layout_form(unsigned dtype, int rank, const int64_t *dims, const int64_t *strides,
                        int64_t numel) {
    if (rank > JN_FORM_RANK || numel <= 0 || numel >= JN_FORM_NUMEL)
        return 0;
    uint64_t lengths = 0, step = 1, odd = 0;
    for (int i = rank - 1; i >= 0; step *= (uint64_t)dims[i], i--) {
        odd |= (uint64_t)strides[i] ^ step;
        lengths = lengths << 16 | (uint64_t)dims[i];
    }
    return odd ? 0 : JN_FORM | (uint64_t)dtype << 4 | (uint64_t)rank << 8 | lengths << 16;
}

/* False: sizes whose product cannot be counted, those of an empty tensor included (as
 * jn_tensor_empty asks it): kernels multiply the sizes of some dims and leave others out. */
static inline bool set_strided(janus_tensor *t, int rank, const int64_t *dims,
                               const int64_t *strides) {
    int64_t n = 1;
    bool odd = false, empty = false, counted = true;
    for (int i = rank - 1; i >= 0; i--) {
        int64_t dim = dims[i], stride = strides[i];
        t->dims[i] = dim;
        t->strides[i] = stride;
        odd |= (dim != 1) & (stride != n);
        empty |= dim == 0;
        counted &= !__builtin_mul_overflow(n, dim ? dim : 1, &n);
    }
    t->numel = empty ? 0 : n;
    t->contiguous = !odd || empty;
    return counted;
}

/* The last step: where it lies.  Another thread may be computing what is pending: the state is
 * looked at first. */
static janus_status view_of(janus_tensor *base, int64_t offset, janus_tensor *t,
                            janus_tensor **out) {
    offset *= (int64_t)jn_dtype_size((janus_dtype)base->dtype);
    if (JN_UNLIKELY(t->storage->state == JN_STORAGE_PENDING)) {
        janus_status st = jn_storage_viewed(base, offset, t);
        if (st != JANUS_OK) {
            janus_tensor_release(t);
            return st;
        }
    } else {
        t->raw = base->raw + offset;
    }
    *out = t;
    return JANUS_OK;
}

janus_status jn_tensor_window(jn_thread *me, janus_tensor *base, int rank, const int64_t *dims,
                              const int64_t *strides, int64_t offset, janus_tensor **out) {
    janus_tensor *t;
    if (JN_UNLIKELY(jn_tensor_is_rows(base)))
        JN_TRY(jn_tensor_fill(base));
    JN_TRY(shell(me, (janus_dtype)base->dtype, rank, &t));
    if (JN_UNLIKELY(!set_strided(t, rank, dims, strides))) {
        shell_free(t);
        return jn_error(JANUS_SHAPE, "a view with too many elements");
    }
    t->storage = base->storage;
    jn_storage_retain(t->storage);
    return view_of(base, offset, t, out);
}

/* A small tensor with its storage, in one block. */
static inline janus_tensor *whole(jn_thread *me, janus_dtype dtype, int rank, size_t bytes) {
    jn_storage *s = jn_pool_take(me, HEADER + SHELL + bytes);
    if (!s)
        return NULL;
    storage_init(s, bytes);
    janus_tensor *t = (janus_tensor *)(void *)inline_data(s);
    s->raw = inline_data(s) + SHELL;
    atomic_init(&t->refs, 1);
    t->dtype = (uint8_t)dtype;
    t->rank = (uint8_t)rank;
    t->in_storage = s->shell = s->inside = true;
    t->dims = t->inline_dims;
    t->strides = t->inline_dims + INLINE_RANK;
    t->storage = s;
    t->form = 0;
    return t;
}

static inline size_t size_of(unsigned dtype, int64_t numel) {
    return (size_t)numel * jn_dtype_size((janus_dtype)dtype);
}

static inline bool fits_whole(int rank, size_t bytes) {
    return JN_LIKELY(rank <= INLINE_RANK && bytes <= JN_POOL_MAX - HEADER - SHELL);
}

janus_status jn_tensor_dense(janus_dtype dtype, int rank, const int64_t *dims,
                             const int64_t *strides, int64_t numel, janus_tensor **out) {
    size_t bytes = size_of(dtype, numel);
    if (!fits_whole(rank, bytes))
        return jn_tensor_empty(dtype, rank, dims, out);
    janus_tensor *t = whole(&jn_this, dtype, rank, bytes);
    if (JN_UNLIKELY(!t))
        return JN_NO_MEMORY();
    for (int i = 0; i < rank; i++) {
        t->dims[i] = dims[i];
        t->strides[i] = strides[i];
    }
    t->numel = numel;
    t->contiguous = true;
    t->raw = t->storage->raw;
    *out = t;
    return JANUS_OK;
}

/* All the room that there is for dims and strides: what is not used of it costs nothing. */
static inline void lay_out(janus_tensor *t, const int64_t *dims, const int64_t *strides) {
    memcpy(t->inline_dims, dims, INLINE_RANK * sizeof *dims);
    memcpy(t->inline_dims + INLINE_RANK, strides, INLINE_RANK * sizeof *strides);
}

static inline janus_status small_dense(jn_thread *me, unsigned dtype, int rank, const int64_t *dims,
                                       const int64_t *strides, int64_t numel, uint64_t form,
                                       janus_tensor **out) {
    size_t bytes = size_of(dtype, numel);
    if (!fits_whole(rank, bytes))
        return jn_tensor_empty((janus_dtype)dtype, rank, dims, out);
    janus_tensor *t = whole(me, (janus_dtype)dtype, rank, bytes);
    if (JN_UNLIKELY(!t))
        return JN_NO_MEMORY();
    lay_out(t, dims, strides);
    t->numel = numel;
    t->contiguous = true;
    t->form = form;
    t->raw = t->storage->raw;
    *out = t;
    return JANUS_OK;
}

janus_status jn_tensor_of(jn_thread *me, const jn_layout *l, janus_tensor **out) {
    return small_dense(me, l->dtype, l->rank, l->dims, l->strides, l->numel, l->form, out);
}

janus_status jn_tensor_like(jn_thread *me, const janus_tensor *t, janus_tensor **out) {
    return small_dense(me, t->dtype, t->rank, t->inline_dims, t->inline_dims + INLINE_RANK,
                       t->numel, t->form, out);
}

janus_status jn_tensor_promise(janus_dtype dtype, int rank, const int64_t *dims,
                               const int64_t *strides, int64_t numel, char *nowhere,
                               janus_tensor **out) {
    janus_tensor *t = whole(&jn_this, dtype, rank, 0);
    if (JN_UNLIKELY(!t))
        return JN_NO_MEMORY();
    for (int i = 0; i < rank; i++) {
        t->dims[i] = dims[i];
        t->strides[i] = strides[i];
    }
    t->numel = numel;
    t->contiguous = true;
    t->storage->bytes = (size_t)numel * jn_dtype_size(dtype);
    t->storage->slab = &promised;
    t->storage->inside = false;
    t->storage->raw = t->raw = nowhere;
    *out = t;
    return JANUS_OK;
}

bool jn_tensor_promised(const janus_tensor *t) { return t->storage->slab == &promised; }

void jn_tensor_put(janus_tensor *t, char *at, jn_slab *slab) {
    if (slab)
        jn_slab_hold(slab, at, t->storage->bytes);
    t->storage->slab = slab;
    t->storage->raw = t->raw = at;
}

void jn_tensor_follow(janus_tensor *view, char *at) { view->raw = at; }

janus_status jn_tensor_alias(jn_thread *me, janus_tensor *base, const jn_layout *l, int64_t offset,
                             janus_tensor **out) {
    janus_tensor *t;
    if (JN_UNLIKELY(jn_tensor_is_rows(base)))
        JN_TRY(jn_tensor_fill(base));
    JN_TRY(shell(me, (janus_dtype)base->dtype, l->rank, &t));
    lay_out(t, l->dims, l->strides);
    t->numel = l->numel;
    t->contiguous = l->contiguous;
    t->form = l->form;
    t->storage = base->storage;
    jn_storage_retain(t->storage);
    return view_of(base, offset, t, out);
}

/* ---- where tensors lie --------------------------------------------------------------------------
 */

void jn_tensor_extent(const janus_tensor *t, const char **lo, const char **hi) {
    int64_t a = 0, b = 0;
    *lo = *hi = t->raw;
    if (t->numel == 0 || !t->raw)
        return;
    for (int i = 0; i < t->rank; i++) {
        int64_t step = (t->dims[i] - 1) * t->strides[i];
        if (step < 0)
            a += step;
        else
            b += step;
    }
    int64_t size = (int64_t)jn_dtype_size((janus_dtype)t->dtype);
    *lo = t->raw + a * size;
    *hi = t->raw + (b + 1) * size;
}

/* All that lies nowhere shares one address. */
static bool apart(const janus_tensor *a, const janus_tensor *b) {
    return a->storage != b->storage &&
           (a->storage->state == JN_STORAGE_PROXY || b->storage->state == JN_STORAGE_PROXY ||
            a->storage->state == JN_STORAGE_PENDING || b->storage->state == JN_STORAGE_PENDING);
}

bool jn_tensor_overlap(const janus_tensor *a, const janus_tensor *b) {
    if (a->numel == 0 || b->numel == 0 || apart(a, b))
        return false;
    const char *a0, *a1, *b0, *b1;
    jn_tensor_extent(a, &a0, &a1);
    jn_tensor_extent(b, &b0, &b1);
    return a0 < b1 && b0 < a1;
}

bool jn_tensor_same_view(const janus_tensor *a, const janus_tensor *b) {
    if (a->raw != b->raw || a->dtype != b->dtype || a->rank != b->rank || apart(a, b))
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i] || (a->dims[i] > 1 && a->strides[i] != b->strides[i]))
            return false;
    return true;
}

/* ---- the public face ----------------------------------------------------------------------------
 */

void janus_tensor_retain(janus_tensor *t) {
    if (!t)
        return;
    add_reference(&t->refs);
}

void janus_tensor_release(janus_tensor *t) {
    if (!t || !last_reference(&t->refs))
        return;
    bool apart = !t->in_storage;
    jn_storage_release(t->storage);
    if (apart)
        shell_free(t);
}

static janus_status check_dtype(janus_dtype dtype) {
    if ((int)dtype < 0 || (int)dtype >= JANUS_DTYPE_COUNT)
        return jn_error(JANUS_DTYPE, "%d is not a dtype", (int)dtype);
    return JANUS_OK;
}

static janus_status check_new(const char *function, int rank, const int64_t *dims,
                              janus_tensor *const *out_tensor) {
    if ((rank > 0 && !dims) || !out_tensor)
        return jn_error(JANUS_INVALID_ARGUMENT, "%s: %s is NULL", function,
                        out_tensor ? "dims" : "out_tensor");
    return JANUS_OK;
}

janus_status janus_tensor_new(janus_dtype dtype, int rank, const int64_t *dims,
                              janus_tensor **out_tensor) {
    JN_TRY(check_new(__func__, rank, dims, out_tensor));
    JN_TRY(check_dtype(dtype));
    return jn_tensor_empty(dtype, rank, dims, out_tensor);
}

janus_status janus_tensor_from_data(janus_dtype dtype, int rank, const int64_t *dims,
                                    const void *data, janus_tensor **out_tensor) {
    janus_tensor *t;
    JN_TRY(check_new(__func__, rank, dims, out_tensor));
    JN_TRY(janus_tensor_new(dtype, rank, dims, &t));
    if (t->numel && !data) {
        janus_tensor_release(t);
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_tensor_from_data: data is NULL");
    }
    if (t->numel)
        memcpy(t->raw, data, t->storage->bytes);
    *out_tensor = t;
    return JANUS_OK;
}

static void no_release(void *user) { (void)user; }

janus_status jn_tensor_over(janus_dtype dtype, int rank, const int64_t *dims,
                            const int64_t *strides, void *data, void (*release)(void *user),
                            void *user, janus_tensor **out_tensor) {
    janus_tensor *t;
    JN_TRY(shell(&jn_this, dtype, rank, &t));
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        t->dims[i] = dims[i];
        t->strides[i] = strides ? strides[i] : step;
        if (dims[i] < 0 || __builtin_mul_overflow(step, dims[i] > 0 ? dims[i] : 1, &step)) {
            shell_free(t);
            return jn_error(JANUS_SHAPE, "wrap: a negative dim or too many elements");
        }
    }
    (void)set_strided(t, rank, t->dims, t->strides); /* counted above */
    jn_storage *s = jn_pool_alloc(HEADER);
    if (!s) {
        shell_free(t);
        return JN_NO_MEMORY();
    }
    storage_init(s, (size_t)t->numel * jn_dtype_size(dtype));
    s->raw = data;
    s->release = release ? release : no_release;
    s->user = user;
    t->storage = s;
    t->raw = data;
    *out_tensor = t;
    return JANUS_OK;
}

janus_status janus_tensor_wrap(janus_dtype dtype, int rank, const int64_t *dims,
                               const int64_t *strides, void *data, void (*release)(void *user),
                               void *user, janus_tensor **out_tensor) {
    JN_TRY(check_new(__func__, rank, dims, out_tensor));
    JN_TRY(check_dtype(dtype));
    bool empty = false;
    for (int i = 0; i < rank; i++)
        empty = empty || dims[i] == 0;
    if (!data && !empty)
        return jn_error(JANUS_INVALID_ARGUMENT, "janus_tensor_wrap: data is NULL");
    return jn_tensor_over(dtype, rank, dims, strides, data, release, user, out_tensor);
}

janus_dtype janus_tensor_dtype(const janus_tensor *t) {
    return t ? (janus_dtype)t->dtype : (janus_dtype)-1;
}
int janus_tensor_rank(const janus_tensor *t) { return t ? t->rank : -1; }
const int64_t *janus_tensor_dims(const janus_tensor *t) { return t ? t->dims : NULL; }
const int64_t *janus_tensor_strides(const janus_tensor *t) { return t ? t->strides : NULL; }
void *janus_tensor_data(janus_tensor *t) {
    char *p;
    if (!t || jn_tensor_data(t, &p) != JANUS_OK)
        return NULL;
    jn_storage_export(t->storage);
    return p;
}
