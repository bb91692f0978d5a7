# pyfront: the CPython extension janus._C and the Python package pyfront/janus/.
# The extension holds the core's objects itself (eager dispatch calls jn_ functions directly) and
# exports only its init function.
if HAVE_PYTHON
janusextdir = $(pyexecdir)/janus
janusext_LTLIBRARIES = pyfront/_C.la
endif

pyfront__C_la_SOURCES = \
	pyfront/backward/backward.h \
	pyfront/backward/collect.c \
	pyfront/backward/engine.c \
	pyfront/backward/engine.h \
	pyfront/backward/functions.c \
	pyfront/backward/group_rows.c \
	pyfront/backward/groups.c \
	pyfront/backward/walk.c \
	pyfront/backward/groups.h \
	pyfront/backward/objects.c \
	pyfront/backward/stretch.c \
	pyfront/backward/stretch.h \
	pyfront/backward/stretch_follow.c \
	pyfront/backward/stretch_run.c \
	pyfront/backward/stretch_write.c \
	pyfront/base/jpy.h \
	pyfront/base/lines.c \
	pyfront/base/lines.h \
	pyfront/base/memory.c \
	pyfront/base/signals.c \
	pyfront/base/signals.h \
	pyfront/base/threads.c \
	pyfront/base/tracing.c \
	pyfront/base/tracing.h \
	pyfront/base/types.c \
	pyfront/call/cache.c \
	pyfront/call/cache.h \
	pyfront/call/call.c \
	pyfront/call/call.h \
	pyfront/call/callee.c \
	pyfront/call/check.c \
	pyfront/call/coexecute.c \
	pyfront/call/due.c \
	pyfront/call/explain.c \
	pyfront/call/explain.h \
	pyfront/call/ladder.c \
	pyfront/call/ladder.h \
	pyfront/call/nested.c \
	pyfront/call/object.c \
	pyfront/call/object.h \
	pyfront/call/policy.c \
	pyfront/call/policy.h \
	pyfront/call/region.c \
	pyfront/call/nested.h \
	pyfront/call/region.h \
	pyfront/call/region_object.h \
	pyfront/call/region_report.c \
	pyfront/call/report.c \
	pyfront/call/type.c \
	pyfront/convert/calls/apart.c \
	pyfront/convert/calls/autograd.c \
	pyfront/convert/calls/backward.c \
	pyfront/convert/calls/builtins.c \
	pyfront/convert/calls/call.c \
	pyfront/convert/calls/calls.h \
	pyfront/convert/calls/own_gradient.c \
	pyfront/convert/calls/print.c \
	pyfront/convert/calls/recursion.c \
	pyfront/convert/calls/recursion_sizes.c \
	pyfront/convert/calls/returned.c \
	pyfront/convert/calls/steps.c \
	pyfront/convert/calls/tensor_call.c \
	pyfront/convert/convert.h \
	pyfront/convert/core/above.h \
	pyfront/convert/core/abstract.h \
	pyfront/convert/core/core.h \
	pyfront/convert/core/dims.c \
	pyfront/convert/core/equal.c \
	pyfront/convert/core/fit.c \
	pyfront/convert/core/list.h \
	pyfront/convert/core/parts.c \
	pyfront/convert/core/stage.c \
	pyfront/convert/core/staged.h \
	pyfront/convert/core/state.h \
	pyfront/convert/core/value.c \
	pyfront/convert/finish/alike.c \
	pyfront/convert/finish/convert.c \
	pyfront/convert/finish/cut.c \
	pyfront/convert/finish/emit.c \
	pyfront/convert/finish/finish.c \
	pyfront/convert/finish/finish.h \
	pyfront/convert/finish/given.c \
	pyfront/convert/finish/given.h \
	pyfront/convert/finish/gradient.c \
	pyfront/convert/finish/history.c \
	pyfront/convert/finish/history.h \
	pyfront/convert/finish/identity.c \
	pyfront/convert/finish/images.c \
	pyfront/convert/finish/recipe.c \
	pyfront/convert/finish/recipe.h \
	pyfront/convert/finish/remains.c \
	pyfront/convert/finish/share.c \
	pyfront/convert/finish/stages.c \
	pyfront/convert/finish/stages.h \
	pyfront/convert/heap/arms.c \
	pyfront/convert/heap/ask.c \
	pyfront/convert/heap/attrs.c \
	pyfront/convert/heap/heap.h \
	pyfront/convert/heap/host.c \
	pyfront/convert/heap/kinds.c \
	pyfront/convert/heap/learn.c \
	pyfront/convert/heap/live.c \
	pyfront/convert/heap/maybe.c \
	pyfront/convert/heap/met.c \
	pyfront/convert/heap/merge.c \
	pyfront/convert/heap/outer.c \
	pyfront/convert/heap/plain.c \
	pyfront/convert/heap/sample.c \
	pyfront/convert/heap/seen.c \
	pyfront/convert/heap/state.c \
	pyfront/convert/heap/stored.c \
	pyfront/convert/heap/types.c \
	pyfront/convert/heap/variables.c \
	pyfront/convert/heap/wrap.c \
	pyfront/convert/model/convert.c \
	pyfront/convert/model/lookup.c \
	pyfront/convert/model/model.h \
	pyfront/convert/model/operate.c \
	pyfront/convert/model/protocols.c \
	pyfront/convert/model/slots.def \
	pyfront/convert/objects/attr.c \
	pyfront/convert/objects/copies.c \
	pyfront/convert/objects/dispatch.c \
	pyfront/convert/objects/methods.c \
	pyfront/convert/objects/models.c \
	pyfront/convert/objects/modules.c \
	pyfront/convert/objects/objects.c \
	pyfront/convert/objects/objects.h \
	pyfront/convert/objects/special.c \
	pyfront/convert/objects/super.c \
	pyfront/convert/objects/tensor_attr.c \
	pyfront/convert/syntax/comprehension.c \
	pyfront/convert/syntax/control.c \
	pyfront/convert/syntax/expr.c \
	pyfront/convert/syntax/fork.c \
	pyfront/convert/syntax/loop.c \
	pyfront/convert/syntax/match.c \
	pyfront/convert/syntax/syntax.h \
	pyfront/convert/syntax/with.c \
	pyfront/convert/tensors/layout.c \
	pyfront/convert/tensors/leaf.c \
	pyfront/convert/tensors/place.c \
	pyfront/convert/tensors/leak.c \
	pyfront/convert/tensors/proxy.c \
	pyfront/convert/tensors/reach.c \
	pyfront/convert/tensors/tensors.h \
	pyfront/convert/tensors/tracked.c \
	pyfront/convert/tree/lower.c \
	pyfront/convert/tree/source.c \
	pyfront/convert/tree/tree.h \
	pyfront/convert/values/choice.c \
	pyfront/convert/values/compare.c \
	pyfront/convert/values/data.c \
	pyfront/convert/values/dict.c \
	pyfront/convert/values/iterate.c \
	pyfront/convert/values/lists.c \
	pyfront/convert/values/native.c \
	pyfront/convert/values/native.h \
	pyfront/convert/values/operators.c \
	pyfront/convert/values/order.c \
	pyfront/convert/values/rows.c \
	pyfront/convert/values/sequence.c \
	pyfront/convert/values/sight.c \
	pyfront/convert/values/sizes.c \
	pyfront/convert/values/stacked.c \
	pyfront/convert/values/subscript.c \
	pyfront/convert/values/take.c \
	pyfront/convert/values/tensor_key.c \
	pyfront/convert/values/text.c \
	pyfront/convert/values/values.h \
	pyfront/convert/values/watch.c \
	pyfront/entry/again.c \
	pyfront/entry/again.h \
	pyfront/entry/away.c \
	pyfront/entry/away.h \
	pyfront/entry/commit.c \
	pyfront/entry/commit.h \
	pyfront/entry/entry.c \
	pyfront/entry/entry.h \
	pyfront/entry/external.c \
	pyfront/entry/external.h \
	pyfront/entry/external_run.c \
	pyfront/entry/external_run.h \
	pyfront/entry/held.h \
	pyfront/entry/history.c \
	pyfront/entry/history.h \
	pyfront/entry/host.c \
	pyfront/entry/host.h \
	pyfront/entry/parts.h \
	pyfront/entry/print.c \
	pyfront/entry/print.h \
	pyfront/entry/replay.c \
	pyfront/entry/replay.h \
	pyfront/entry/write.c \
	pyfront/entry/write.h \
	pyfront/entry/write_ready.c \
	pyfront/function/function.h \
	pyfront/function/note.c \
	pyfront/function/note.h \
	pyfront/function/object.h \
	pyfront/function/profile.c \
	pyfront/function/profile.h \
	pyfront/function/text.c \
	pyfront/function/word.c \
	pyfront/function/word.h \
	pyfront/guard/fast.c \
	pyfront/guard/guard.c \
	pyfront/guard/guard.h \
	pyfront/guard/type.c \
	pyfront/guard/value.c \
	pyfront/methods/create.c \
	pyfront/methods/create.h \
	pyfront/methods/method.c \
	pyfront/methods/method.h \
	pyfront/methods/methods.h \
	pyfront/methods/module_base.c \
	pyfront/methods/module_base.h \
	pyfront/methods/optim.c \
	pyfront/methods/pieces.c \
	pyfront/methods/random.c \
	pyfront/methods/rng.h \
	pyfront/methods/type.c \
	pyfront/module/export.c \
	pyfront/module/export.h \
	pyfront/module/export_prints.c \
	pyfront/module/export_state.c \
	pyfront/module/module.c \
	pyfront/module/nan.c \
	pyfront/op/autocast.c \
	pyfront/op/autocast.h \
	pyfront/op/bound.h \
	pyfront/op/copy.c \
	pyfront/op/copy.h \
	pyfront/op/index.c \
	pyfront/op/op.c \
	pyfront/op/op.h \
	pyfront/op/operator.c \
	pyfront/op/promote.c \
	pyfront/op/quick.c \
	pyfront/op/quick.h \
	pyfront/op/quick_entry.h \
	pyfront/op/quick_learn.c \
	pyfront/op/refuse.c \
	pyfront/op/refuse.h \
	pyfront/op/run.c \
	pyfront/op/spell.c \
	pyfront/op/spell.h \
	pyfront/op/spell_math.c \
	pyfront/op/spell_nn.c \
	pyfront/op/spell_reduce.c \
	pyfront/op/spell_shape.c \
	pyfront/op/view.c \
	pyfront/op/view.h \
	pyfront/run/hints.c \
	pyfront/run/hints.h \
	pyfront/run/later.c \
	pyfront/run/later.h \
	pyfront/run/run.c \
	pyfront/run/run.h \
	pyfront/stored/build.c \
	pyfront/stored/building.h \
	pyfront/stored/dump.c \
	pyfront/stored/gradients.c \
	pyfront/stored/link.c \
	pyfront/stored/parts.c \
	pyfront/stored/renumber.c \
	pyfront/stored/stored.h \
	pyfront/stored/take.c \
	pyfront/tape/deferred.c \
	pyfront/tape/kinds.c \
	pyfront/tape/deferred.h \
	pyfront/tape/node.c \
	pyfront/tape/node.h \
	pyfront/tape/op.c \
	pyfront/tape/record.c \
	pyfront/tape/record.h \
	pyfront/tape/tape.h \
	pyfront/tensor/buffers.h \
	pyfront/tensor/convert.c \
	pyfront/tensor/device.c \
	pyfront/tensor/device.h \
	pyfront/tensor/dlpack.c \
	pyfront/tensor/inplace.c \
	pyfront/tensor/item.c \
	pyfront/tensor/object.h \
	pyfront/tensor/scalar.c \
	pyfront/tensor/tensor.c \
	pyfront/tensor/tensor.h \
	pyfront/verify/gradients.c \
	pyfront/verify/match.c \
	pyfront/verify/mutate.c \
	pyfront/verify/numbers.c \
	pyfront/verify/numbers.h \
	pyfront/verify/report.c \
	pyfront/verify/shadow.c \
	pyfront/verify/text.c \
	pyfront/verify/twin.c \
	pyfront/verify/verify.h \
	pyfront/verify/write.c \
	$(NULL)
pyfront__C_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(PYTHON_INCLUDE)
pyfront__C_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -shrext $(PYTHON_EXT_SUFFIX) \
	-export-symbols-regex '^PyInit__C$$'
pyfront__C_la_LIBADD = libjanus_all.la

# Python files are found, not listed: every *.py and *.pyi under pyfront/janus belongs to the package.
EXTRA_DIST += \
	build-aux/python-tree \
	pyfront/janus \
	$(NULL)

PYTHON_TREE = $(SHELL) $(top_srcdir)/build-aux/python-tree
if HAVE_PYTHON
all-local: pyfront/_C.la
	@$(PYTHON_TREE) stage $(top_srcdir)/pyfront/janus pylib/janus pyfront/.libs/_C$(PYTHON_EXT_SUFFIX)

install-data-hook:
	rm -f $(DESTDIR)$(janusextdir)/_C.la $(DESTDIR)$(janusextdir)/_C.a

install-data-local:
	@$(PYTHON_TREE) install $(top_srcdir)/pyfront/janus $(DESTDIR)$(pythondir)/janus

uninstall-local:
	rm -f $(DESTDIR)$(janusextdir)/_C$(PYTHON_EXT_SUFFIX)
	@$(PYTHON_TREE) uninstall $(top_srcdir)/pyfront/janus $(DESTDIR)$(pythondir)/janus

clean-local:
	rm -rf pylib
endif
