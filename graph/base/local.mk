# graph/base: status, allocators, arena, vectors, strings, log.
libjanus_all_la_SOURCES += \
	graph/base/version.c \
	$(NULL)

noinst_HEADERS += \
	graph/base/alloc.h \
	graph/base/arena.h \
	graph/base/log.h \
	graph/base/status.h \
	graph/base/str.h \
	graph/base/vec.h \
	$(NULL)
