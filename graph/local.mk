# graph: see docs/ARCHITECTURE.md.
libjanus_all_la_SOURCES += \
	graph/api/api.c \
	graph/autodiff/api.c \
	graph/autodiff/arm.c \
	graph/autodiff/autodiff.c \
	graph/autodiff/call.c \
	graph/autodiff/paths.c \
	graph/autodiff/presence.c \
	graph/autodiff/reach.c \
	graph/autodiff/slice.c \
	graph/autodiff/sweep.c \
	graph/autodiff/turns.c \
	graph/autodiff/undo.c \
	graph/autodiff/rows.c \
	graph/autodiff/wire.c \
	graph/draw/dot.c \
	graph/draw/html.c \
	graph/draw/json.c \
	graph/ir/attr.c \
	graph/ir/builder.c \
	graph/ir/callgraph.c \
	graph/ir/control.c \
	graph/ir/data_text.c \
	graph/ir/infer.c \
	graph/ir/module.c \
	graph/ir/op.c \
	graph/ir/type.c \
	graph/ir/verify.c \
	graph/passes/cse.c \
	graph/passes/dce.c \
	graph/passes/fold.c \
	graph/passes/inline.c \
	graph/passes/optimize.c \
	graph/passes/rewrite.c \
	graph/passes/views.c \
	graph/text/lexer.c \
	graph/text/parse.c \
	graph/text/parse_type.c \
	graph/text/print.c \
	$(NULL)

noinst_HEADERS += \
	graph/autodiff/autodiff.h \
	graph/autodiff/internal.h \
	graph/autodiff/undo.h \
	graph/draw/draw.h \
	graph/ir/attr.h \
	graph/ir/data_text.h \
	graph/ir/interned.h \
	graph/ir/ir.h \
	graph/ir/op.h \
	graph/ir/type.h \
	graph/passes/passes.h \
	graph/passes/rewrite.h \
	graph/text/lexer.h \
	graph/text/parse_internal.h \
	graph/text/text.h \
	$(NULL)

# The viewer's page as C strings, a line each.
EXTRA_DIST += graph/draw/viewer.html
BUILT_SOURCES += graph/draw/viewer_page.inc
CLEANFILES += graph/draw/viewer_page.inc
# BUILT_SOURCES come before `all` alone, and any target may be asked for first.
graph/draw/html.lo: graph/draw/viewer_page.inc
graph/draw/viewer_page.inc: graph/draw/viewer.html
	@$(MKDIR_P) graph/draw
	$(AM_V_GEN)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n",/' $(srcdir)/graph/draw/viewer.html > $@.part && mv $@.part $@
