/* SPDX-License-Identifier: Apache-2.0 */
/* How values behave whose types are not made in Python, and objects that the program makes. */
#ifndef JPY_CONVERT_VALUES_VALUES_H
#define JPY_CONVERT_VALUES_VALUES_H

#include "pyfront/convert/core/core.h"
#include "pyfront/convert/model/model.h"

/* What values do whose slots are CPython's or the tensor layer's own. */
extern const jcv_slots jcv_native;
/* A number, of the graph or exactly one of Python's. */
bool jcv_is_numeric(const jcv_av *a);
/* A number of the graph beside a tensor: as a tensor of no dims. */
jcv_av *jcv_number_beside(jcv *c, jcv_av *s, jcv_av *beside, bool arithmetic);

/* sight.c: what was written, printed or drawn so far, and what variables and objects of the program
 * held */
typedef struct jcv_done {
    uint32_t writes, effects, draws;
    jcv_state held;
} jcv_done;
jcv_done jcv_done_now(jcv *c);
/* The same but for what an iterator alone sees: its place, variables of generators. */
jcv_done jcv_done_outside(jcv *c, const jcv_av *iterator);
/* Whether anything was since then; the same but for numbers that were drawn. */
bool jcv_done_any(const jcv *c, const jcv_done *since);
bool jcv_done_changes(const jcv *c, const jcv_done *since);

/* sequence.c: what has a length that only the graph knows */

typedef void (*jcv_feed_fn)(jcv *c, void *from, jcv_visit_fn fn, void *user);
/* Of an AV_LIST that is empty as far as is known: who needs items of it leads nowhere. */
extern const char jcv_never[];
jcv_av *jcv_seq(jcv *c, const char *what, jcv_av *const *bases, unsigned n);
/* Whether count and item are defined for it. */
bool jcv_is_seq(const jcv_av *a);
jcv_val *jcv_seq_count(jcv *c, jcv_av *a);
jcv_av *jcv_seq_item(jcv *c, jcv_av *a, jcv_val *i);
/* The same in a loop over all of it, round by round; peeled: or in one of several places which read
 * all of it together. */
jcv_av *jcv_seq_next(jcv *c, jcv_av *a, jcv_val *i, bool peeled);
jcv_av *jcv_seq_at(jcv *c, jcv_av *a, jcv_av *at);
/* A slice of a list or tuple of the graph, which nobody writes; bounds: start, stop, step. */
extern const char jcv_bounds[]; /* text of the bounds of a slice, AV_ITER, where one is computed */
jcv_av *jcv_slice(jcv *c, jcv_av *o, jcv_av *const *bounds);
/* Items of a list or tuple of the graph that was seen with one length only (asserted), or of a
 * stacked list of as many: AV_TUPLE, or NULL.  A stacked list made by a comprehension starts the
 * conversion again, to be unrolled. */
jcv_av *jcv_all_assumed(jcv *c, jcv_av *a);
/* The same for who uses some of the items later; NULL: the graph may have written the list then. */
jcv_av *jcv_later_assumed(jcv *c, jcv_av *a);
/* The first so many items of a list whose length the graph decides, which is assumed to have them;
 * NULL: it is another slice. */
jcv_av *jcv_first_assumed(jcv *c, jcv_av *a, jcv_av *const *bounds);
/* Whether one of them can be taken at a place that only the graph knows. */
bool jcv_at_any_place(jcv *c, jcv_av *const *items, unsigned n);
/* One of few numbers of one kind, known or of the graph; NULL: of something else.  i is one of
 * their places. */
jcv_av *jcv_number_at(jcv *c, jcv_av *const *items, unsigned n, jcv_val *i);
/* n items of one of that kind, asserted; NULL: it is not of that kind. */
jcv_av *jcv_exactly(jcv *c, jcv_av *a, unsigned n);
/* The parts of a tensor along its first dim, as many as that varies. */
jcv_av *jcv_parts(jcv *c, jcv_av *t);
/* An iterator is used once; false: it was, and is empty. */
bool jcv_use_up(jcv *c, jcv_av *a);
/* A sum that has a term, asserted; anything else as it is. */
jcv_av *jcv_firm(jcv *c, jcv_av *a);

/* places.c: items at places that only the graph knows */

/* The place that an index means, asserted to be one of n. */
jcv_val *jcv_place_among(jcv *c, jcv_av *i, jcv_val *n);
/* o[i] of what is known, i a number of the graph; NULL: not of that. */
jcv_av *jcv_item_at_place(jcv *c, jcv_av *o, jcv_av *i);
/* A list with which something is done that only the graph knows all of is the graph's: starts
 * again; returns where it can not be. */
void jcv_leave_to_graph(jcv *c, jcv_av *o);

/* stacked.c: lists of unknown length whose items are rows */

/* A stacked list of what `feed` gives.  keys: its rows may be read one by one; site: the
 * expression that makes it, or NULL.  Where its items are no rows it is a list of the graph from
 * then on, if there is a site: not if it `must` be rows. */
jcv_av *jcv_collect(jcv *c, jcv_feed_fn feed, void *user, bool keys);
jcv_av *jcv_collect_at(jcv *c, jcv_feed_fn feed, void *user, bool keys, bool must,
                       const jpy_tree *site);
/* A list that this place makes of what `feed` gives: rows, or a list of the graph. */
jcv_av *jcv_list_of(jcv *c, jcv_feed_fn feed, void *user, bool must, const jpy_tree *site);
/* Whether the items are objects, which are no rows. */
bool jcv_gives_objects(jcv *c, jcv_feed_fn feed, void *user);
jcv_av *jcv_stacked_item(jcv *c, jcv_av *a, jcv_val *i);
/* Runs `feed` up to where fn throws THROW_PROBE, and takes it all back. */
void jcv_probe(jcv *c, jcv_feed_fn feed, void *from, jcv_visit_fn fn, void *user);

/* lists.c: lists of unknown length put together */

/* The items of something iterable, for jcv_collect. */
void jcv_feed(jcv *c, void *iterable, jcv_visit_fn fn, void *user);
/* a op b of lists, or a list and an int; NULL: it is something else. */
jcv_av *jcv_lists_binary(jcv *c, int op, jcv_av *a, jcv_av *b);

/* Appends all items to a list of the graph. */
void jcv_live_extend(jcv *c, jcv_av *list, jcv_av *items);
/* What stands for the items of something of which only the graph knows how many there are, among
 * arguments or items of a display. */
jcv_av *jcv_rest(jcv *c, jcv_av *of);
bool jcv_is_rest(const jcv_av *a);
/* A list of the graph, made at this place, of such items; or a tuple. */
jcv_av *jcv_objects_of(jcv *c, jcv_av *const *items, unsigned n, const void *site, bool list);

/* A tuple of the items of a list that nobody else has. */
jcv_av *jcv_tuple_of_list(jcv *c, jcv_av *list);

/* iterate.c: builtins that iterate */

jcv_av *jcv_iter(jcv *c, const char *what, jcv_av *const *items, unsigned n);
/* Who does something with each item before CPython makes, or takes, the next one: what is done may
 * not change what the others are, since all are taken first. */
typedef struct jcv_turn {
    jcv_av *over, *items; /* NULL: only the graph knows how many, `over` is to be visited */
    bool made;            /* one after the other, as they are asked for */
    jcv_watch *watch;
    jcv_done since;
} jcv_turn;
jcv_turn jcv_turn_begin(jcv *c, jcv_av *a, const char *name);
void jcv_turn_end(jcv *c, const jcv_turn *t, const char *name);
jcv_av *jcv_kw_of(const jcv_args *args, const char *name);
jcv_av *jcv_b_enumerate(jcv *c, const jcv_args *a);
jcv_av *jcv_b_zip(jcv *c, const jcv_args *a);
jcv_av *jcv_b_map(jcv *c, const jcv_args *a);
jcv_av *jcv_b_reversed(jcv *c, const jcv_args *a);
jcv_av *jcv_b_iter(jcv *c, const jcv_args *a);
jcv_av *jcv_b_next(jcv *c, const jcv_args *a);
jcv_av *jcv_b_sum(jcv *c, const jcv_args *a);
jcv_av *jcv_b_min(jcv *c, const jcv_args *a);
jcv_av *jcv_b_max(jcv *c, const jcv_args *a);
jcv_av *jcv_b_any(jcv *c, const jcv_args *a);
jcv_av *jcv_b_all(jcv *c, const jcv_args *a);
jcv_av *jcv_make_list(jcv *c, const jcv_args *a, bool list);
jcv_av *jcv_made_tuple(jcv *c, jcv_av *t);

/* compare.c: as PyObject_RichCompareBool(a, b, Py_EQ): 1, 0, or -1 and *out the bool of the graph.
 */
int jcv_same_or_equal(jcv *c, jcv_av *a, jcv_av *b, jcv_val **out);

/* subscript.c: items of lists, tuples and dicts */

/* Texts of all pairs of a dict, by how many keys were taken out of it, and how many of the pairs,
 * the last ones, were put in since it was known as a whole: they lie behind the others, whether
 * they were in it before or not.  Of one that was cleared, whose commit clears it, too. */
enum { JCV_MOST_GONE = 16, JCV_MOST_PUT = 1024, JCV_WHOLE = JCV_MOST_GONE * JCV_MOST_PUT };
extern const char jcv_whole[JCV_WHOLE], jcv_cleared[];
static inline bool jcv_is_whole(const jcv_av *pairs) {
    return (uintptr_t)pairs->text - (uintptr_t)jcv_whole < sizeof jcv_whole;
}
static inline unsigned jcv_pairs_gone(const jcv_av *pairs) {
    return jcv_is_whole(pairs) ? (unsigned)(pairs->text - jcv_whole) / JCV_MOST_PUT : 0;
}
static inline unsigned jcv_pairs_put(const jcv_av *pairs) {
    return jcv_is_whole(pairs) ? (unsigned)(pairs->text - jcv_whole) % JCV_MOST_PUT : 0;
}
const char *jcv_whole_text(jcv *c, unsigned gone, unsigned put);
static inline bool jcv_all_pairs(const jcv_av *pairs) {
    return jcv_is_whole(pairs) || pairs->text == jcv_cleared;
}
/* What stands for a real container that was written, or for the pairs of an instance made here;
 * NULL: nothing. */
jcv_av *jcv_standing_for(jcv *c, PyObject *o);
/* Whether a real list or dict was written in what is converted. */
bool jcv_is_written(jcv *c, PyObject *o);
/* The abstract container that stands for a real one from now on. */
jcv_av *jcv_abstract(jcv *c, jcv_av *a);
bool jcv_same_key(jcv *c, jcv_av *a, jcv_av *b);
int jcv_find_key(jcv *c, jcv_av *pairs, jcv_av *key); /* place of the pair, -1: none */
/* Whether it is a dict, or an object that has pairs as one has (base/keys.h). */
bool jcv_is_dict(const jcv_av *a);
jcv_av *jcv_dict_get(jcv *c, jcv_av *d, jcv_av *key); /* NULL: no such key */
/* d[key] of an object of the graph that has pairs. */
jcv_av *jcv_host_getkey(jcv *c, jcv_av *d, jcv_av *key);
/* What d[key] is where there is no such key: its class may have a __missing__. */
jcv_av *jcv_missing(jcv *c, jcv_av *d, jcv_av *key);
void jcv_dict_set(jcv *c, jcv_av *d, jcv_av *key, jcv_av *v);

/* text.c: text with numbers of the graph in it; NULL: not of these values */

/* One behind the other in a new text. */
jcv_av *jcv_text_join(jcv *c, jcv_av *a, jcv_av *b);
/* a + b: the other one where one is empty. */
jcv_av *jcv_text_added(jcv *c, jcv_av *a, jcv_av *b);
/* a, which is what an expression gives: where it is stored on paths that lead on from there, it is
 * an object from there on. */
jcv_av *jcv_text_made_at(jcv *c, jcv_av *a, const jpy_tree *at);
/* between.join(items), where not all of them are known */
jcv_av *jcv_text_between(jcv *c, PyObject *between, jcv_av *const *items, unsigned n);
/* str() and repr() of a list, tuple or dict of known length, exactly, of whatever is in it. */
jcv_av *jcv_text_of_items(jcv *c, jcv_av *a);
/* format(a, spec), a of any type; spec: str or NULL: a str, or text with a number of the graph. */
jcv_av *jcv_format(jcv *c, jcv_av *a, PyObject *spec);
/* The same of a value whose type is not made in Python; spec: kept by c, NULL: "". */
jcv_av *jcv_text_of(jcv *c, jcv_av *a, PyObject *spec);
/* template.format(...) and template % on. */
jcv_av *jcv_text_formatted(jcv *c, PyObject *template, const jcv_args *a);
jcv_av *jcv_text_of_percent(jcv *c, PyObject *template, jcv_av *on);
/* text.c: the object of the graph that it is from now on. */
jcv_val *jcv_object_of_text(jcv *c, jcv_av *a);
struct jpy_piece;
typedef void (*jcv_each_piece)(jcv *c, void *user, const struct jpy_piece *p, jcv_av *const *args);
void jcv_text_pieces(jcv *c, jcv_av *a, jcv_each_piece fn, void *user);

/* table.c: a call of a function without effects, all of whose arguments are constants but one, a
 * string that only the graph knows; NULL: it is another one, or what it gives is no number. */
jcv_av *jcv_by_table(jcv *c, PyObject *f, const jcv_args *a);
/* What a constant dict of the graph has for a key, the same one where it was looked up before;
 * NULL: it is no such dict. */
jcv_av *jcv_from_table(jcv *c, jcv_val *table, jcv_av *key);
/* Which key of a dict a string of the graph is: CPython has a call with one that is none. */
jcv_av *jcv_which_key(jcv *c, PyObject *d, jcv_av *text);
/* `item in in` of such a string and a constant one. */
jcv_av *jcv_part_of_text(jcv *c, jcv_av *in, jcv_av *item);

/* order.c: sorting and extremes */

jcv_av *jcv_b_sorted(jcv *c, const jcv_args *a);
jcv_av *jcv_sort_items(jcv *c, jcv_av *t, const jcv_args *a); /* list.sort: the items then */
jcv_av *jcv_extreme_by(jcv *c, const jcv_args *a, bool max);  /* with a key */
extern const char *const jcv_ordered;                         /* text of an AV_SEQ */
jcv_av *jcv_ordered_item(jcv *c, jcv_av *a, jcv_val *i);

/* rows.c: stack() and cat() of a list of unknown length (NULL: something else), and its methods */

jcv_av *jcv_rows_of(jcv *c, const char *name, const jcv_args *args);
bool jcv_rows_has(const char *method);
/* Refuses what is done with such a result otherwise; in an image it is a tensor like others. */
__attribute__((noreturn)) void jcv_refuse_rows(jcv *c, const char *what);
jcv_av *jcv_rows_method(jcv *c, jcv_av *x, const char *name, const jcv_args *args);
jcv_av *jcv_rows_binary(jcv *c, int op, jcv_av *a, jcv_av *b);

/* An object of the graph that is a number or a tensor is asked which (heap/ask.c). */
jcv_av *jcv_number_known(jcv *c, jcv_av *a);

/* sight.c: what a generator could read when its items were made */

/* What a generator could read when its items were made, in how many nodes; whether that is
 * as it was. */
typedef struct jcv_sight jcv_sight;
jcv_sight *jcv_sight_of(jcv *c, jcv_av *generator, size_t nodes);
bool jcv_sees_the_same(jcv *c, const jcv_sight *s);
/* What a call of a function with these arguments sees that is no argument: variables of enclosing
 * calls, containers and instances that the program made and that these lead to. */
jcv_sight *jcv_sight_of_call(jcv *c, const jcv_frame *fr, jcv_av *const *args, unsigned n);
/* *out_slot: where it does not, 0: an attribute is new. */
bool jcv_call_sees_the_same(jcv *c, const jcv_sight *s, uint32_t *out_slot);

/* watch.c: containers that change while they are iterated over */

typedef enum jcv_watch_kind { WATCH_ITEMS, WATCH_KEYS, WATCH_PAIRS, WATCH_SIGHT } jcv_watch_kind;
jcv_watch *jcv_watch_new(jcv *c, jcv_watch_kind kind, jcv_av *of, jcv_av *held, bool reverse);
/* What iterating over `a`, which gave `items`, depends on, and then `rest`. */
jcv_watch *jcv_watch_over(jcv *c, jcv_av *a, jcv_av *items, bool reverse, jcv_watch *rest);
jcv_watch *jcv_watch_sight(jcv *c, jcv_sight *sight, jcv_watch *rest);
/* Refuses where item i of an iterator is another one by now, or (i < 0) there are others. */
void jcv_unchanged(jcv *c, const jcv_watch *w, int64_t i);
void jcv_all_unchanged(jcv *c, const jcv_watch *w, int64_t from, int64_t n);
/* What an iterator gives for one of its items: map() calls its function then. */
jcv_av *jcv_taken(jcv *c, jcv_av *it, jcv_av *item);
/* It may not be used again: how much of it is left is not followed. */
void jcv_abandon(jcv *c, jcv_av *it);
/* The same of the iterators that it goes over, all of whose items were made, but not of its own. */
void jcv_abandon_inside(jcv *c, jcv_av *it);

/* data.c: janus.tensor(...) */

jcv_av *jcv_tensor_of_data(jcv *c, PyObject *callable, const jcv_args *args);

/* sizes.c: sizes of tensors whose dims vary */

/* x.shape, and a call of size(), numel() or __len__() (NULL: of something else), where dims vary;
 * NULL: none do. */
jcv_av *jcv_shape(jcv *c, jcv_av *t);
jcv_av *jcv_size_method(jcv *c, const char *name, const jcv_args *args);
/* x.narrow(dim, start, length) by numbers of the graph; NULL: it is something else. */
jcv_av *jcv_narrowed(jcv *c, const jcv_args *args);
/* Whether it is a tensor that only the graph knows the first size of. */
bool jcv_has_parts(jcv *c, jcv_av *a);
/* Rows, so many, as a tensor of an image: stacked along a dim (NULL: the first), or joined there.
 */
jcv_av *jcv_rows_tensor(jcv *c, jcv_av *rows, jcv_val *count, jcv_av *dim, bool joined);

/* choice.c: a function, module or tensor that an object selects */

/* A tensor of a real dict, list or tuple of tensors, of which some require grad, at a key or index
 * that only the graph knows; NULL: it holds something else. */
jcv_av *jcv_pick_key(jcv *c, jcv_av *d, jcv_av *key);
jcv_av *jcv_pick_item(jcv *c, jcv_av *l, jcv_av *i);
/* One of few values by its place, by branches; NULL: they are none or many. */
jcv_av *jcv_pick_at(jcv *c, jcv_av *const *items, unsigned n, jcv_av *place);
/* text of an AV_CHOICE whose keys are tuples of types, which the type of an object selects. */
extern const char jcv_by_type[];
/* Whether it is a function, a record of some or a dict of either: the graph has to know which. */
bool jcv_is_functions(PyObject *v);
/* The value of a real dict of functions; NULL: it is something else. */
jcv_av *jcv_choice(jcv *c, jcv_av *d, jcv_av *key);
jcv_av *jcv_call_choice(jcv *c, jcv_av *f, const jcv_args *args);
/* take.c: taking all items */

/* All items as AV_TUPLE; NULL: only the graph knows how many, and nothing was used up. */
jcv_av *jcv_try_all(jcv *c, jcv_av *a);
/* fn for each of them before the next is made; false: only the graph knows how many, and nothing
 * was done. */
bool jcv_try_each(jcv *c, jcv_av *a, jcv_visit_fn fn, void *user);
/* The same, else a stacked list and *out_known is false. */
jcv_av *jcv_take_all(jcv *c, jcv_av *a, bool *out_known, const jpy_tree *at);

#endif
