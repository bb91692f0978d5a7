# graph/base: status, allocators, arena, vectors, strings, log.
libjanus_all_la_SOURCES += \
	graph/base/alloc.c \
	graph/base/large.c \
	graph/base/limit.c \
	graph/base/arena.c \
	graph/base/log.c \
	graph/base/status.c \
	graph/base/str.c \
	graph/base/vec.c \
	graph/base/version.c \
	$(NULL)

noinst_HEADERS += \
	graph/base/alloc.h \
	graph/base/parts.h \
	graph/base/large.h \
	graph/base/limit.h \
	graph/base/arena.h \
	graph/base/checked.h \
	graph/base/hash.h \
	graph/base/log.h \
	graph/base/status.h \
	graph/base/str.h \
	graph/base/vec.h \
	$(NULL)
