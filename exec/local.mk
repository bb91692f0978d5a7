# exec: see docs/ARCHITECTURE.md.
libjanus_all_la_SOURCES += \
	exec/par.c \
	$(NULL)

noinst_HEADERS += \
	exec/par.h \
	exec/eager.h \
	exec/run.h \
	exec/tensor.h \
	$(NULL)
