# graph: see docs/ARCHITECTURE.md.
libjanus_all_la_SOURCES += \
	$(NULL)

noinst_HEADERS += \
	graph/attr.h \
	graph/autodiff.h \
	graph/graph.h \
	graph/op.h \
	graph/pass.h \
	graph/type.h \
	$(NULL)
