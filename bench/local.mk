# bench: benchmarks; each is a command that prints one table.
EXTRA_DIST += \
	$(NULL)
