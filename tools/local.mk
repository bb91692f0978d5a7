# tools: janus-graph and generators. Programs go to bin_PROGRAMS with
# tools_NAME_LDADD = libjanus_all.la.
bin_PROGRAMS += \
	tools/janus-graph \
	$(NULL)

tools_janus_graph_SOURCES = \
	tools/graph_run.c \
	tools/graph_run.h \
	tools/graph_view.c \
	tools/graph_view.h \
	tools/janus-graph.c \
	tools/line_diff.c \
	tools/line_diff.h \
	$(NULL)
tools_janus_graph_LDADD = libjanus_all.la

noinst_PROGRAMS += tools/janus-opdoc
tools_janus_opdoc_SOURCES = tools/janus-opdoc.c
tools_janus_opdoc_LDADD = libjanus_all.la

# The files made from the op table are committed; tests/lint/generated.sh says when they are stale.
regen: tools/janus-opdoc
	./tools/janus-opdoc --c > $(srcdir)/include/janus_ops.h
	./tools/janus-opdoc --md > $(srcdir)/docs/ops.md
.PHONY: regen

# Type stubs of the package; tests/py/test_types.py says when they are stale.
EXTRA_DIST += tools/stubs tools/reference.py
stubs: all
	./run '$(PYTHON)' $(srcdir)/tools/stubs/write.py
.PHONY: stubs
