# pyfront: the CPython extension janus._C and the Python package pyfront/janus/.
# The extension holds the core's objects itself (eager dispatch calls jn_ functions directly) and
# exports only its init function.
if HAVE_PYTHON
janusextdir = $(pyexecdir)/janus
janusext_LTLIBRARIES = pyfront/_C.la
endif

pyfront__C_la_SOURCES = \
	pyfront/autocast.c \
	pyfront/autocast.h \
	pyfront/away.c \
	pyfront/away.h \
	pyfront/cache.c \
	pyfront/coexecute.c \
	pyfront/commit.c \
	pyfront/commit.h \
	pyfront/convert/calls/apart.c \
	pyfront/convert/calls/autograd.c \
	pyfront/convert/calls/backward.c \
	pyfront/convert/calls/builtins.c \
	pyfront/convert/calls/call.c \
	pyfront/convert/calls/calls.h \
	pyfront/convert/calls/own_gradient.c \
	pyfront/convert/calls/print.c \
	pyfront/convert/calls/recursion.c \
	pyfront/convert/calls/steps.c \
	pyfront/convert/core/above.h \
	pyfront/convert/core/abstract.h \
	pyfront/convert/core/core.h \
	pyfront/convert/core/dims.c \
	pyfront/convert/core/list.h \
	pyfront/convert/core/stage.c \
	pyfront/convert/core/staged.h \
	pyfront/convert/core/state.h \
	pyfront/convert/core/value.c \
	pyfront/convert/finish/alike.c \
	pyfront/convert/finish/convert.c \
	pyfront/convert/finish/emit.c \
	pyfront/convert/finish/finish.c \
	pyfront/convert/finish/finish.h \
	pyfront/convert/finish/gradient.c \
	pyfront/convert/finish/history.c \
	pyfront/convert/finish/history.h \
	pyfront/convert/finish/images.c \
	pyfront/convert/finish/share.c \
	pyfront/convert/heap/ask.c \
	pyfront/convert/heap/attrs.c \
	pyfront/convert/heap/heap.h \
	pyfront/convert/heap/host.c \
	pyfront/convert/heap/live.c \
	pyfront/convert/heap/maybe.c \
	pyfront/convert/heap/merge.c \
	pyfront/convert/heap/outer.c \
	pyfront/convert/heap/plain.c \
	pyfront/convert/heap/sample.c \
	pyfront/convert/heap/seen.c \
	pyfront/convert/heap/state.c \
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
	pyfront/convert/tensors/proxy.c \
	pyfront/convert/tensors/reach.c \
	pyfront/convert/tensors/tensors.h \
	pyfront/convert/tensors/tracked.c \
	pyfront/convert/tree/lower.c \
	pyfront/convert/tree/tree.h \
	pyfront/convert/values/choice.c \
	pyfront/convert/values/compare.c \
	pyfront/convert/values/data.c \
	pyfront/convert/values/iterate.c \
	pyfront/convert/values/native.c \
	pyfront/convert/values/native.h \
	pyfront/convert/values/operators.c \
	pyfront/convert/values/order.c \
	pyfront/convert/values/rows.c \
	pyfront/convert/values/sequence.c \
	pyfront/convert/values/sight.c \
	pyfront/convert/values/sizes.c \
	pyfront/convert/values/subscript.c \
	pyfront/convert/values/take.c \
	pyfront/convert/values/text.c \
	pyfront/convert/values/values.h \
	pyfront/convert/values/watch.c \
	pyfront/deferred/deferred.c \
	pyfront/deferred/deferred.h \
	pyfront/dump_dir.c \
	pyfront/entry.c \
	pyfront/entry.h \
	pyfront/explain.c \
	pyfront/explain.h \
	pyfront/explain_lines.c \
	pyfront/export.c \
	pyfront/export.h \
	pyfront/export_state.c \
	pyfront/external.c \
	pyfront/external.h \
	pyfront/external_run.c \
	pyfront/external_run.h \
	pyfront/function.c \
	pyfront/function.h \
	pyfront/function_object.c \
	pyfront/function_object.h \
	pyfront/function_type.c \
	pyfront/guard.c \
	pyfront/guard.h \
	pyfront/guard_fast.c \
	pyfront/guard_type.c \
	pyfront/guard_value.c \
	pyfront/hints.c \
	pyfront/hints.h \
	pyfront/history.c \
	pyfront/history.h \
	pyfront/host_py.c \
	pyfront/host_py.h \
	pyfront/jpy.h \
	pyfront/ladder.c \
	pyfront/ladder.h \
	pyfront/module.c \
	pyfront/nan.c \
	pyfront/policy.c \
	pyfront/policy.h \
	pyfront/print.c \
	pyfront/print.h \
	pyfront/profile.c \
	pyfront/profile.h \
	pyfront/py_convert.c \
	pyfront/py_copy.c \
	pyfront/py_copy.h \
	pyfront/py_create.c \
	pyfront/py_create.h \
	pyfront/py_device.c \
	pyfront/py_device.h \
	pyfront/py_dlpack.c \
	pyfront/py_index.c \
	pyfront/py_memory.c \
	pyfront/py_method.c \
	pyfront/py_method.h \
	pyfront/py_module_base.c \
	pyfront/py_module_base.h \
	pyfront/py_op.c \
	pyfront/py_op.h \
	pyfront/py_operator.c \
	pyfront/py_optim.c \
	pyfront/py_pieces.c \
	pyfront/py_promote.c \
	pyfront/py_quick.c \
	pyfront/py_quick.h \
	pyfront/py_random.c \
	pyfront/py_rng.h \
	pyfront/py_run.c \
	pyfront/py_spell.c \
	pyfront/py_spell.h \
	pyfront/py_spell_math.c \
	pyfront/py_spell_nn.c \
	pyfront/py_spell_reduce.c \
	pyfront/py_spell_shape.c \
	pyfront/py_tensor.c \
	pyfront/py_tensor.h \
	pyfront/py_threads.c \
	pyfront/py_types.c \
	pyfront/py_view.c \
	pyfront/py_view.h \
	pyfront/region/callee.c \
	pyfront/region/region.c \
	pyfront/region/region.h \
	pyfront/replay.c \
	pyfront/replay.h \
	pyfront/report.c \
	pyfront/signals.c \
	pyfront/signals.h \
	pyfront/source.c \
	pyfront/stored/build.c \
	pyfront/stored/building.h \
	pyfront/stored/dump.c \
	pyfront/stored/gradients.c \
	pyfront/stored/link.c \
	pyfront/stored/parts.c \
	pyfront/stored/stored.h \
	pyfront/stored/take.c \
	pyfront/tape.h \
	pyfront/tape_engine.c \
	pyfront/tape_engine.h \
	pyfront/tape_group_rows.c \
	pyfront/tape_groups.c \
	pyfront/tape_groups.h \
	pyfront/tape_internal.h \
	pyfront/tape_node.c \
	pyfront/tape_objects.c \
	pyfront/tape_op.c \
	pyfront/tape_py.c \
	pyfront/tape_view.c \
	pyfront/tracing.c \
	pyfront/tracing.h \
	pyfront/verify/check.c \
	pyfront/verify/match.c \
	pyfront/verify/mutate.c \
	pyfront/verify/numbers.c \
	pyfront/verify/numbers.h \
	pyfront/verify/report.c \
	pyfront/verify/shadow.c \
	pyfront/verify/twin.c \
	pyfront/verify/verify.h \
	pyfront/verify/write.c \
	pyfront/word.c \
	pyfront/word.h \
	pyfront/write.c \
	pyfront/write.h \
	pyfront/write_ready.c \
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
