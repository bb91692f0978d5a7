# graph/base: status, allocators, arena, vectors, strings, log.
libjanus_all_la_SOURCES += \
	graph/base/version.c \
	$(NULL)
