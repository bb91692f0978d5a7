# exec: see docs/ARCHITECTURE.md.
libjanus_all_la_SOURCES += \
	$(NULL)

noinst_HEADERS += \
	exec/eager.h \
	exec/run.h \
	exec/tensor.h \
	$(NULL)
