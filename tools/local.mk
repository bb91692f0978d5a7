# tools: janus-graph and generators. Programs go to bin_PROGRAMS with
# tools_NAME_LDADD = libjanus_all.la.
bin_PROGRAMS += \
	tools/janus-graph \
	$(NULL)

tools_janus_graph_SOURCES = \
	tools/graph_run.c \
	tools/graph_run.h \
	tools/janus-graph.c \
	tools/line_diff.c \
	tools/line_diff.h \
	$(NULL)
tools_janus_graph_LDADD = libjanus_all.la
