/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real objects and what is written to them: variables, attributes, objects known only when the
 * graph runs; copies of the state, and what two paths leave.
 */
#ifndef JPY_CONVERT_HEAP_HEAP_H
#define JPY_CONVERT_HEAP_HEAP_H

#include "pyfront/convert/core/core.h"

/* host.c: objects known only when the graph runs */

jcv_av *jcv_host(jcv *c, jcv_val *v, PyObject *samples);
/* The same for an object that nothing was read to get at (a parameter, an element), seen in ctx. */
jcv_av *jcv_root(jcv *c, jcv_ctx *ctx, jcv_val *v, PyObject *samples);
/* A number or tensor of one type where a test before has left only such samples; else `a`. */
jcv_av *jcv_settled(jcv *c, jcv_av *a);
/* Makes an input of a real object that has a source. */
jcv_av *jcv_to_host(jcv *c, jcv_av *a);
jcv_av *jcv_host_item(jcv *c, jcv_av *o, jcv_val *index);
jcv_val *jcv_host_len(jcv *c, jcv_av *o);
/* Whether a type is tuple, or named tuples' and such, as far as items and lengths go. */
bool jcv_like_tuple(jcv *c, PyTypeObject *t);
/* What a read gave that can be made again for other samples. */
jcv_av *jcv_host_read(jcv *c, jcv_val *v, PyObject *samples);
/* What a read where the graph writes gave, which has these samples. */
jcv_av *jcv_host_got(jcv *c, jcv_val *v, PyObject *samples);
/* What a constant dict with these values has for a key, read once. */
jcv_av *jcv_looked_up(jcv *c, jcv_val *table, jcv_av *key, PyObject *values);
/* Samples of the items (of one at a known place: index) of a list, tuple or dict. */
PyObject *jcv_item_samples(jcv *c, jcv_av *o, const jcv_val *index);
static inline bool jcv_is_box(const jcv_av *a) { return a->kind == AV_HOST && a->val->box; }
/* The item of a list that a variable is (variables.c). */
jcv_av *jcv_box_item(jcv *c, jcv_av *box);
/* Sets it. */
void jcv_box_set(jcv *c, jcv_av *box, jcv_av *v);
/* What was just written: reads until the next write need no look. */
void jcv_attr_is(jcv *c, jcv_val *o, PyObject *name, jcv_av *v);
void jcv_known_type(jcv *c, jcv_val *v, PyTypeObject *t);
int64_t jcv_key_of(jcv *c, PyObject *name);
/* Whether its type is `t`, as a bool of the graph. */
jcv_val *jcv_host_is(jcv *c, jcv_av *o, PyTypeObject *t);
/* Whether its type, which is asserted to be one of those seen, is one that fits. */
typedef bool (*jcv_type_fits)(jcv *c, PyTypeObject *t, const void *user);
jcv_val *jcv_host_is_one(jcv *c, jcv_av *o, jcv_type_fits fits, const void *user);
jcv_val *jcv_host_truth(jcv *c, jcv_av *o);
PyTypeObject *jcv_host_type(jcv *c, jcv_av *o); /* asserts the one type seen */
/* Whether an assert or a branch around says which type it is. */
bool jcv_type_known(jcv *c, jcv_av *o);
/* The types seen, as a list of at least one. */
PyObject *jcv_types_of(jcv *c, jcv_av *o);
jcv_val *jcv_type_is(jcv *c, jcv_av *o, PyTypeObject *t);
/* An attribute that the object itself has, whichever of the types seen it is of; live: where the
 * graph writes it, NULL: nowhere. */
jcv_av *jcv_own_attr_of(jcv *c, jcv_av *o, PyObject *name, jcv_live *live);
/* What the type has under the name is used of objects read while the graph runs: the type of one
 * that has something of its own there is none that was seen.  `got`: the function, in a tuple where
 * it takes no self. */
void jcv_of_the_type(jcv *c, PyTypeObject *t, PyObject *name, PyObject *got);
/* More objects that it may be: from now on it is a root of its own. */
void jcv_add_samples(jcv *c, jcv_av *o, PyObject *more);
/* Asserts that its type is among those seen. */
void jcv_host_one_of_seen(jcv *c, jcv_av *o);
/* Samples of the heap and of what the graph stores. */
PyObject *jcv_with_stored(jcv *c, PyObject *heap, jcv_live *l);

/* live.c: what the graph writes.  The find functions give NULL where it does not (yet); making
 * something live starts the conversion again. */

jcv_live *jcv_live_attr(jcv *c, PyTypeObject *t, PyObject *name);
bool jcv_live_type(jcv *c, PyTypeObject *t);
jcv_live *jcv_live_var(jcv *c, PyObject *holder, PyObject *name);
__attribute__((noreturn)) void jcv_make_live_var(jcv *c, PyObject *holder, PyObject *name);
jcv_live *jcv_live_object(jcv *c, PyObject *o);
jcv_live *jcv_live_site(jcv *c, const void *site);
__attribute__((noreturn)) void jcv_make_live_attr(jcv *c, PyTypeObject *t, PyObject *name);
void jcv_make_live_objects(jcv *c, PyObject *const *o, Py_ssize_t n);
__attribute__((noreturn)) void jcv_make_live(jcv *c, jcv_av *container);
__attribute__((noreturn)) void jcv_make_live_site(jcv *c, const void *site, bool dict);
jcv_live *jcv_live_fresh(jcv *c, PyTypeObject *t, PyObject *name);
__attribute__((noreturn)) void jcv_make_live_fresh(jcv *c, PyTypeObject *t, PyObject *name);
/* A value is needed of which it is not known what it is: where it is one of several containers,
 * some of them made here, the graph makes them. */
void jcv_needed(jcv *c, const jcv_av *v);
/* The AV_LIST or AV_DICT whose contents a slot holds, NULL: none. */
jcv_av *jcv_container_in(jcv *c, uint32_t slot);
PyObject *jcv_live_samples(jcv *c, jcv_live *l);
int64_t jcv_tag_of(jcv *c, jcv_av *v); /* for host writes of it */
/* stands for one that requires grad; that may: others are stored there, too, which have no history
 */
bool jcv_is_stored_sample(const jpy_tensor *t);
bool jcv_is_mixed_sample(const jpy_tensor *t);
void jcv_live_learn(jcv *c, jcv_live *l, jcv_av *v);
/* Of a container `o` that gets all that `from`, an object of the graph, holds. */
void jcv_live_learn_items(jcv *c, jcv_live *l, jcv_av *o, jcv_av *from);
/* What is read may be in any of several containers: where what requires grad is stored in one that
 * the function makes, what others hold may have none.  Whether that is so; starts again where it is
 * new. */
bool jcv_mix_lives(jcv *c, PyObject *samples);
/* Samples as those of what may have a history: a new list. */
PyObject *jcv_mixed_samples(jcv *c, PyObject *samples);
void jcv_live_free(jcv_live *l);
jcv_val *jcv_object_input(jcv *c, jpy_src *src);
/* A text that was another one in other calls, whatever it is; whether an object is one; whether the
 * graph does more with such texts than hand them on, so that they have to be assumed. */
jcv_av *jcv_varying_text(jcv *c, PyObject *o, jpy_src *src);
bool jcv_text_varies(const jcv *c, const jcv_av *a);
bool jcv_texts_asked(jcv *c);
jcv_val *jcv_object_const(jcv *c, PyObject *o);
/* A tensor that requires grad; gradients meet at its number. */
jcv_val *jcv_stored_with_history(jcv *c, jcv_val *x);
bool jcv_tracked_inside(jcv *c, jcv_av *v);
/* The value that a write stores; inside: in what the function makes and is gone after the run,
 * mixed: where what requires grad is stored, too. */
jcv_val *jcv_stored(jcv *c, jcv_av *v);
/* The value of a constant that is printed: nobody sees which object it is. */
jcv_val *jcv_printed(jcv *c, jcv_av *v);
jcv_val *jcv_stored_inside(jcv *c, jcv_av *v, bool mixed);
bool jcv_is_put_without(const jcv_node *n); /* a wire.put of what has no history */
/* What is stored of it has a history where the graph finds that it requires grad. */
void jcv_put_if_tracked(jcv *c, jcv_val *x);
/* A list or dict made at a place where they are live; NULL: they are not. */
jcv_av *jcv_born(jcv *c, const void *site, jcv_av *const *items, unsigned n, bool dict);
void jcv_live_setattr(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name, jcv_av *v);
void jcv_live_delattr(jcv *c, jcv_av *o, PyTypeObject *t, PyObject *name);
void jcv_live_append(jcv *c, jcv_av *o, jcv_av *v);
jcv_av *jcv_live_pop(jcv *c, jcv_av *o);
/* o.pop(i) and o.insert(i, v) of a list. */
jcv_av *jcv_live_delitem(jcv *c, jcv_av *o, jcv_av *i);
void jcv_live_insert(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v);
void jcv_live_setitem(jcv *c, jcv_av *o, jcv_av *i, jcv_av *v);
void jcv_live_setkey(jcv *c, jcv_av *o, jcv_av *key, jcv_av *v);
/* All pairs of an object of the graph that is a dict. */
void jcv_live_update(jcv *c, jcv_av *o, jcv_av *from);
void jcv_live_delkey(jcv *c, jcv_av *o, jcv_av *key);
jcv_val *jcv_live_has(jcv *c, jcv_av *o, jcv_av *key);
jcv_av *jcv_live_getkey(jcv *c, jcv_av *o, jcv_av *key);

/* sample.c: what the real objects that a host value stood for say */

PyObject *jcv_samples(jcv *c, jcv_av *a);
/* The string that a read of a dict has for a key; NULL: it is no such read, or another key. */
PyObject *jcv_constant_key(jcv *c, const jcv_node *n);
/* Where one comes who takes `a` of a sample again and again: the last objects of that type. */
PyObject *jcv_ends(jcv *c, jcv_av *a);
/* Where `x` runs, only those samples count that come to that arm of a branch on `cond`. */
void jcv_narrow_by(jcv *c, jcv_ctx *x, jcv_val *cond, bool taken);
/* Where the nodes of `*x` are now. */
jcv_ctx *jcv_ctx_now(jcv_ctx **x);

/* outer.c: globals and cells */

typedef struct jcv_outer {
    PyObject *holder, *name; /* a dict and the key; a cell and "cell_contents" */
    jpy_src *src, *value_src;
} jcv_outer;
jcv_outer jcv_global_var(jcv *c, PyObject *dict, PyObject *name);
jcv_outer jcv_cell_var(jcv *c, PyObject *closure, jpy_src *closure_src, Py_ssize_t at);
jcv_av *jcv_outer_read(jcv *c, const jcv_outer *x); /* NULL: as the heap has it */
void jcv_outer_write(jcv *c, const jcv_outer *x, jcv_av *v);

/* seen.c: objects that earlier conversions met as that parameter */

PyObject *jcv_seen(jcv *c, const jcv_rec_fn *f, unsigned param);
void jcv_remember(jpy_function *f, const jcv_rec_fn *x);
/* What samples lead to, however deep, of their types but of other kinds: one of each. */
PyObject *jcv_kinds_below(jcv *c, PyObject *samples);
/* Whether an earlier conversion found it to be recursive: then it says which parameters differ. */
bool jcv_was_recursive(jcv *c, jcv_rec_fn *x);
/* Objects of several types have the method `name` called at one place; those of other types than
 * these that were met with some of them, NULL: none. */
void jcv_met_together(jcv *c, PyObject *name, PyObject *samples);
PyObject *jcv_may_meet(jcv *c, PyObject *name, PyObject *types);

/* met.c: leaves that require grad and that the graph reads of objects */

/* Some that a read may give; starts again where one is new. */
void jcv_met(jcv *c, PyObject *samples);
/* All of them are bound and have numbers, at which gradients meet. */
void jcv_put_met(jcv *c);

/* maybe.c: optional values */

/* None, unless `present` holds. */
jcv_av *jcv_maybe(jcv *c, jcv_val *present, jcv_av *v);
/* `number`, or None where that is NULL, unless it holds. */
jcv_av *jcv_maybe_or(jcv *c, jcv_val *present, jcv_av *v, jcv_av *number);
/* The number that a value is which is a tensor, or another kind of number, on other paths; NULL: it
 * is no such value. */
static inline jcv_av *jcv_number_or(const jcv_av *a) {
    return a->kind == AV_MAYBE && a->self && a->items ? a->items[0] : NULL;
}
/* What one is where a test before has found out; else `a`. */
jcv_av *jcv_found(jcv *c, jcv_av *a);
/* The same for who can do nothing with None: else it is assumed to be there; the statement forks
 * on which of two kinds of number it is. */
jcv_av *jcv_there(jcv *c, jcv_av *a);
/* Whether a condition holds here: 1, 0, or -1: not known.  The other one says so. */
int jcv_holds(jcv *c, const jcv_val *cond);
void jcv_now_known(jcv *c, jcv_ctx *x, jcv_val *cond, bool holds);
void jcv_take_known(jcv_ctx *to, jcv_ctx *from);

/* kinds.c: values of two kinds */

/* What a number of two kinds, or a number or None, is; the statement forks on that. */
jcv_av *jcv_which_number(jcv *c, jcv_av *a);
/* Whether it is a number of one kind or another. */
bool jcv_two_numbers(const jcv_av *a);
/* None, a number, a tensor: two kinds that paths leave, values or templates of results. */
typedef struct jcv_two {
    jcv_av *there, *number; /* some of them; NULL: None */
} jcv_two;
/* Which two kinds two values are, or may be; false: they are of one, of more, or of others. */
bool jcv_two_kinds(jcv_av *a, jcv_av *b, jcv_two *out);
/* What a value is where it is of the kind of `like`; NULL: it never is. */
jcv_av *jcv_kind_in(jcv_av *a, const jcv_av *like);
/* A value as one that may be of either kind. */
jcv_av *jcv_as_two(jcv *c, jcv_av *a, const jcv_two *as);
/* What `fn` gives of it as what it is, in an arm for either. */
typedef jcv_av *(*jcv_each_fn)(jcv *c, void *user, jcv_av *is);
jcv_av *jcv_each_way(jcv *c, jcv_av *which, jcv_each_fn fn, void *user);
/* A call of which some argument is a number of two kinds (none_too: or None), in arms; NULL: none
 * is. */
typedef jcv_av *(*jcv_call_fn)(jcv *c, void *user, const jcv_args *args);
jcv_av *jcv_call_each_way(jcv *c, const jcv_args *args, bool none_too, jcv_call_fn fn, void *user);
/* The same of an operand, which may be a tensor or None, too: None is assumed not to be met. */
jcv_av *jcv_operand(jcv *c, jcv_av *a);
/* What is kept for jcv_number_of, where v is not NULL from now on. */
jcv_av *jcv_read_as_number(jcv *c, jcv_av *o, jcv_av *v);
/* An object of the graph that is a number of two kinds, or a number or None, as such a value. */
jcv_av *jcv_number_of(jcv *c, jcv_av *o);

/* merge.c: the common shape of two values */

/* Common shape of two values; leaves that need a graph value become placeholders, numbered by
 * the place of (a, b) in pairs. */
typedef struct jcv_pairs { /* of list.h */
    JN_VEC(jcv_av *) a;
    JN_VEC(jcv_av *) b;
    struct jcv_joined *tuples;
} jcv_pairs;
typedef enum jcv_force {
    MERGE_ARMS,     /* what is equal stays as it is */
    MERGE_OPTIONAL, /* ... and None on one path, a tensor on the other is an optional value */
    MERGE_OBJECTS,  /* ... and two of the caller's objects are one that the graph knows */
    MERGE_ROUNDS,   /* values of the graph become placeholders also where they are equal */
    MERGE_NUMBERS   /* ... and constant numbers */
} jcv_force;
/* Whether it is an instance or container of the heap, of which another one may be on another path.
 */
bool jcv_one_of_many(const jcv_av *a);
jcv_av *jcv_merge(jcv *c, jcv_av *a, jcv_av *b, jcv_pairs *pairs, jcv_force force);
/* The same of what a slot holds: the pairs of a dict keep their keys. */
jcv_av *jcv_merge_slot(jcv *c, uint32_t slot, jcv_av *a, jcv_av *b, jcv_pairs *p, jcv_force force);
/* Stands for a and b in a shape, and becomes a value of the graph. */
jcv_av *jcv_placeholder(jcv *c, jcv_av *a, jcv_av *b, jcv_pairs *p);
/* held.c: whether a slot is a variable of which it matters what it holds, whoever reads it. */
bool jcv_is_kept(const jcv *c, uint32_t slot);
/* `both` is what two branches leave in a slot: if that is unknown, and such a variable, notes what
 * is known of it. */
void jcv_hold_either(jcv *c, uint32_t slot, jcv_av *both, jcv_av *a, jcv_av *b, jcv_pairs *p);
jcv_av *jcv_fill(jcv *c, jcv_av *shape, jcv_av *const *leaves);
/* The graph value of a leaf in the current SubGraph. */
jcv_val *jcv_leaf_val(jcv *c, jcv_av *a);
bool jcv_leaf_tracked(jcv *c, jcv_av *a);
/* An abstract value like `like` for a graph value; a tensor has the strides of `like`. */
jcv_av *jcv_leaf(jcv *c, jcv_val *v, jcv_av *like, bool tracked);
/* What a number is: an int, a float or a bool, known or the graph's; else JANUS_KIND_NONE. */
janus_kind jcv_number_kind(const jcv_av *a);
/* Something of the same kind that nobody looks at. */
jcv_av *jcv_dummy(jcv *c, jcv_av *like);
/* A tensor of that type that nobody looks at. */
jcv_val *jcv_unseen(jcv *c, const jn_type *type);
/* Whether two shapes have leaves at the same places and are else the same.  *out_number: where one
 * has a leaf the other has a number. */
bool jcv_same_shape(const jcv_av *a, const jcv_av *b, bool *out_number);
/* Fills slots with what the leaves have become. */
void jcv_fill_slots(jcv *c, const uint32_t *which, jcv_av *const *shapes, size_t n,
                    jcv_av *const *leaves, struct jcv_joined *once);

/* only.c: an `if` with one arm, where what the other one is without can be in no SubGraph */

/* What is known of n, where it is no branch; NULL: it is one. */
const jcv_only *jcv_only_of(const jcv *c, const jpy_tree *n);
/* An arm of n, a branch on cond, was refused; where it would not be outside of a SubGraph, and is
 * no less usual than the other one, the conversion starts again. */
void jcv_only_learn(jcv *c, const jpy_tree *n, jcv_val *cond, int arm, const char *reason);
/* An arm of a branch on cond is the one that is taken; which one. */
int jcv_only_assume(jcv *c, const jcv_only *o, jcv_val *cond);
/* Asserts about numbers of the call come first: no work is done before them. */
void jcv_ways_first(jcv *c);
/* An attempt was refused; whether one without such assumptions, or with others, is to follow. */
bool jcv_only_other(jcv *c);
/* The number that an input is in this call; false: it is none. */
bool jcv_input_number(jcv *c, const jcv_val *v, janus_scalar *out);

/* arms.c: branches */

typedef jcv_out (*jcv_arm_fn)(jcv *c, void *user, int arm);
/* Both arms of a condition. */
jcv_out jcv_branch(jcv *c, jcv_val *cond, jcv_arm_fn fn, void *user);
/* The same of an `if` of the program. */
jcv_out jcv_branch_at(jcv *c, const jpy_tree *n, jcv_val *cond, jcv_arm_fn fn, void *user);
/* Moves the nodes of `from` to the current SubGraph, and what is known there. */
void jcv_splice(jcv *c, jcv_ctx *from);
/* Whether functions are made in it. */
bool jcv_makes_functions(const jpy_tree *n);

/* state.c: copies of the slots, loops */

/* Whether an instance was made here. */
bool jcv_is_fresh(jcv *c, PyObject *o);

jcv_state jcv_save(jcv *c);
void jcv_restore(jcv *c, jcv_state s);
/* Whether slot i held something else in s. */
bool jcv_changed(jcv *c, jcv_state s, size_t i, jcv_av *now);
/* Where control is, to come back to after a throw. */
typedef struct jcv_place {
    jcv_ctx *ctx;
    jcv_frame *frame;
    jcv_cont *cont;
    int boundary;
    jcv_leave *leave;
    jpy_tree *at;
    bool no_grad;
    uint32_t autocast;
    const jpy_tree *running;
    jcv_ahead *ahead;
} jcv_place;
jcv_place jcv_where(jcv *c);
void jcv_back(jcv *c, jcv_place p);
/* Refuses where a part has switched a mode that was another one at `place`. */
void jcv_same_modes(jcv *c, const jcv_place *place);
/* foreach: body(i) for i < count. while: cond value by cond_fn. */
typedef jcv_val *(*jcv_cond_fn)(jcv *c, void *user);
typedef void (*jcv_body_fn)(jcv *c, void *user, jcv_val *i);
void jcv_foreach(jcv *c, jcv_val *count, jcv_body_fn body, void *user);
void jcv_while(jcv *c, jcv_cond_fn cond, jcv_body_fn body, void *user);

/* ask.c: a statement asks for what only the graph knows (syntax/fork.c) */

/* What is known of a statement that asks, NULL: it is not known to. */
jcv_fork *jcv_fork_of(const jcv *c, const jpy_tree *statement);
/* Something was learnt of one: the conversion starts again. */
__attribute__((noreturn)) void jcv_fork_learnt(jcv *c);
bool jcv_forks(const jcv *c, const jpy_tree *statement);
/* Of an object of several types. */
__attribute__((noreturn)) void jcv_ask_type(jcv *c, jcv_av *o);
/* Of a list of several lengths, one of which is `length`; returns where nothing can be asked. */
void jcv_ask_length(jcv *c, jcv_av *o, int64_t length);
/* The constant that a string is, for what cannot be done with one that only the graph knows. */
jcv_av *jcv_which_text(jcv *c, jcv_av *o);
/* Whether the statement does not fork on which string it is: there are many, or it cannot. */
enum { JCV_MAX_TEXTS = 24 };
bool jcv_any_text(jcv *c, jcv_av *o);
/* The same of what is a string, or else the value. */
jcv_av *jcv_text_known(jcv *c, jcv_av *a);
/* Which of two numbers it is; returns where nothing can be asked. */
void jcv_ask_kind(jcv *c, jcv_av *o);
/* Whether a list is empty, where some that were seen are. */
void jcv_ask_empty(jcv *c, jcv_av *o);

/* plain.c: strings, numbers, None of the graph */

bool jcv_is_plain(const jcv_av *a);
/* Whether such an object is certain to be plain (asserted). */
bool jcv_host_plain(jcv *c, jcv_av *o);
/* Whether it equals one of the keys, plain constants. */
jcv_val *jcv_host_among(jcv *c, jcv_av *o, jcv_av *const *keys, unsigned n);
/* The same of an object that is known to be plain, though it was not seen to be any of them. */
jcv_val *jcv_plain_among(jcv *c, jcv_av *o, jcv_av *const *keys, unsigned n);
/* Whether two strings of the graph are equal: one finds the other in a dict. */
jcv_val *jcv_same_text(jcv *c, jcv_av *a, jcv_av *b);
/* d.get(key, otherwise) of a dict that the graph reads; sets: d.setdefault(key, otherwise). */
jcv_av *jcv_plain_get(jcv *c, jcv_av *d, jcv_av *key, jcv_av *otherwise, bool sets);
/* d[key], which is missing(d, key) where there is no such key. */
jcv_av *jcv_get_or_ask(jcv *c, jcv_av *d, jcv_av *key, jcv_av *missing);
/* Whether an object of the graph is a dict, or has and writes pairs as one does (base/keys.h). */
bool jcv_host_has_pairs(jcv *c, jcv_av *o);

/* wrap.c: real objects as abstract values, and back */

/* An object found in a class or module that is as good as a constant. */
jcv_av *jcv_constant(jcv *c, PyObject *o);
jcv_av *jcv_list(jcv *c, jcv_av *const *items, unsigned n);
/* Of constants, for a membership test and nothing else. */
jcv_av *jcv_set(jcv *c, jcv_av *const *items, unsigned n);
jcv_av *jcv_dict(jcv *c);
/* What reading a real object gives: guarded as far as its kind needs. */
jcv_av *jcv_wrap(jcv *c, PyObject *o, jpy_src *src);
/* Whether what a source is, is a part of a module, as a tree that it has made. */
bool jcv_in_module(const jcv *c, const jpy_src *s);
/* The Python object of a constant (guards its value), tensors as proxies, tuples and lists of them;
 * NULL when it has none (graph values). Kept by c. */
PyObject *jcv_object(jcv *c, jcv_av *a);
/* A value that was read as a number or tensor, since it was one so far, decides something by being
 * one: that is asked, though nobody may use it (finish/reads.c). */
void jcv_kind_decides(jcv *c, const jcv_av *a);
/* The same where no tensor is part of it. */
PyObject *jcv_const_object(jcv *c, jcv_av *a);
PyTypeObject *jcv_type_of(jcv *c, jcv_av *a);
/* Whether two values are one real object, and go on to be: guarded where nothing else says so. */
bool jcv_one_object(jcv *c, const jcv_av *a, const jcv_av *b);
/* From now on the source must be that very object. */
void jcv_by_identity(jcv *c, PyObject *o, jpy_src *src);
/* ---- exact.c: instances of classes that derive from int, float and str -------------------------
 */

/* The exact type that such a class derives from; NULL: it is none, or one itself. */
PyTypeObject *jcv_exact_type(PyObject *o);
/* Whether it lies in a list or tuple of the caller, or an object there: data, of which another
 * call has others.  A graph would be for one pattern of them. */
bool jcv_is_data(const jcv_av *a);
/* The exact value; NULL: of something else. */
PyObject *jcv_exact_value(jcv *c, PyObject *o);
/* The int or float as C functions see it, which may call any of its methods; NULL: of something
 * else, or a class that has such methods of its own. */
PyObject *jcv_exact_number(jcv *c, PyObject *o);

/* A member of an Enum: which one is guarded. */
bool jcv_is_enum(PyObject *o);
/* Whether it is one whose __hash__ is Enum's own. */
bool jcv_hashes_as_enum(jcv *c, PyObject *o);
bool jcv_is_const(const jcv_av *a); /* AV_PY that is a number, string, None, dtype, ... */
/* The same, and C code that is given the object runs no code of Python. */
bool jcv_is_inert(const jcv_av *a);
/* The same, and to hash and compare the object runs none. */
bool jcv_is_key(const jcv_av *a);
/* Whether a guard may keep it: no part of it is an object that the program may let go of. */
bool jcv_lasts(PyObject *o);
bool jcv_av_equal(const jcv_av *a, const jcv_av *b);

/* attrs.c: the table of attributes of real objects */

jcv_attr *jcv_find_attr(jcv *c, PyObject *o, PyObject *name);
uint32_t jcv_attr_slot(jcv *c, PyObject *o, PyObject *name, jpy_src *src, jcv_av *first);
bool jcv_generic_attrs(PyTypeObject *t); /* reads attributes as object does, or by __getattr__ */

/* Whether an instance made here is one of several that stay as they are (objects/copies.c). */
bool jcv_is_frozen(jcv *c, const PyObject *o);
/* Refuses what cannot be done with such an instance. */
void jcv_not_frozen(jcv *c, const jcv_av *a, const char *what);

/* types.c: what a type has under a name */

/* What a type has under a name, and goes on to have there; NULL: nothing. */
PyObject *jcv_lookup(jcv *c, PyTypeObject *t, PyObject *name);
/* The same; but where it is a value, no descriptor, another value may be there the next time. */
PyObject *jcv_lookup_kind(jcv *c, PyTypeObject *t, PyObject *name);
/* Of a tuple: whether Python of its class says what its items are, which code of C asks at times,
 * and at times looks at those that lie in it. */
bool jcv_own_items(jcv *c, jcv_av *a);
/* jcv_lookup of a name that is written in C. */
PyObject *jcv_lookup_str(jcv *c, PyTypeObject *t, const char *name);
/* The type must be as it is: its special methods, and what was looked up. */
void jcv_guard_type(jcv *c, PyTypeObject *t);
/* abc.ABCMeta, borrowed, or NULL. */
PyObject *jcv_abc_meta(void);
/* What an abstract class has answered of a type once and says again without asking anybody, or says
 * of one that was registered: 1, 0 until a class is registered with any, which is guarded, or -1:
 * it would ask. */
int jcv_abstract_says(jcv *c, PyTypeObject *abstract, PyTypeObject *of);
/* Whether a type is one of sequences or mappings, as patterns see it: a jcv_type_fits. */
bool jcv_has_flag(jcv *c, PyTypeObject *t, const void *flag);

/* variables.c: variables of a function */

/* The variable of an enclosing function that a function of this source (NULL: always this one) has
 * in a cell of its own; false: it has none of the name. */
bool jcv_free_var(jcv *c, PyObject *fn, jpy_src *fs, PyObject *name, jcv_outer *out);

jcv_av *jcv_load(jcv *c, PyObject *name);
/* The local variable, NULL: none, or not bound. */
jcv_av *jcv_local(jcv *c, PyObject *name);
/* What a frame's variable holds, or lacks. */
jcv_av *jcv_left_in(jcv *c, const jcv_frame *fr, PyObject *name);
/* The variable in a slot, of the frame, of those around it or of its callers, is written by the
 * graph from now on: starts again; returns where it is none. */
void jcv_make_live_local(jcv *c, const jcv_frame *fr, uint32_t slot);
/* Whether earlier calls had other objects: what depends on their structure is left to the graph. */
bool jcv_varies(const jcv *c);
void jcv_store(jcv *c, PyObject *name, jcv_av *v);

#endif
