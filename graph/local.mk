# graph: see docs/ARCHITECTURE.md.
libjanus_all_la_SOURCES += \
	graph/api.c \
	graph/attr.c \
	graph/autodiff.c \
	graph/autodiff_api.c \
	graph/autodiff_arm.c \
	graph/autodiff_call.c \
	graph/autodiff_paths.c \
	graph/autodiff_presence.c \
	graph/autodiff_reach.c \
	graph/autodiff_slice.c \
	graph/autodiff_sweep.c \
	graph/autodiff_wire.c \
	graph/builder.c \
	graph/callgraph.c \
	graph/control.c \
	graph/data_text.c \
	graph/dot.c \
	graph/html.c \
	graph/infer.c \
	graph/json.c \
	graph/lexer.c \
	graph/module.c \
	graph/op.c \
	graph/parse.c \
	graph/parse_type.c \
	graph/pass.c \
	graph/pass_cse.c \
	graph/pass_dce.c \
	graph/pass_fold.c \
	graph/pass_inline.c \
	graph/print.c \
	graph/rewrite.c \
	graph/type.c \
	graph/undo.c \
	graph/verify.c \
	$(NULL)

noinst_HEADERS += \
	graph/attr.h \
	graph/autodiff.h \
	graph/autodiff_internal.h \
	graph/data_text.h \
	graph/graph.h \
	graph/graph_internal.h \
	graph/lexer.h \
	graph/op.h \
	graph/parse_internal.h \
	graph/pass.h \
	graph/rewrite.h \
	graph/type.h \
	graph/undo.h \
	$(NULL)

# The viewer's page as C strings, a line each.
EXTRA_DIST += graph/viewer.html
BUILT_SOURCES += graph/viewer_page.inc
CLEANFILES += graph/viewer_page.inc
graph/viewer_page.inc: graph/viewer.html
	@$(MKDIR_P) graph
	$(AM_V_GEN)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n",/' $(srcdir)/graph/viewer.html > $@.part && mv $@.part $@
