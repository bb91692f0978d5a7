# tools: janus-graph and generators. Programs go to bin_PROGRAMS with
# tools_NAME_LDADD = libjanus_all.la.
bin_PROGRAMS += \
	$(NULL)
