# graph: see docs/ARCHITECTURE.md.
libjanus_all_la_SOURCES += \
	graph/attr.c \
	graph/autodiff.c \
	graph/autodiff_api.c \
	graph/autodiff_call.c \
	graph/autodiff_reach.c \
	graph/autodiff_sweep.c \
	graph/data_text.c \
	graph/module.c \
	graph/control.c \
	graph/builder.c \
	graph/infer.c \
	graph/op.c \
	graph/type.c \
	$(NULL)

noinst_HEADERS += \
	graph/attr.h \
	graph/autodiff.h \
	graph/autodiff_internal.h \
	graph/data_text.h \
	graph/graph.h \
	graph/graph_internal.h \
	graph/op.h \
	graph/pass.h \
	graph/type.h \
	$(NULL)
