# graph: see docs/ARCHITECTURE.md.
libjanus_all_la_SOURCES += \
	$(NULL)
