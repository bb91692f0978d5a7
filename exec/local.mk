# exec: see docs/ARCHITECTURE.md.
libjanus_all_la_SOURCES += \
	exec/eager.c \
	exec/par.c \
	exec/pool.c \
	exec/tensor.c \
	$(NULL)

noinst_HEADERS += \
	exec/par.h \
	exec/pool.h \
	exec/rng.h \
	exec/eager.h \
	exec/run.h \
	exec/tensor.h \
	$(NULL)
