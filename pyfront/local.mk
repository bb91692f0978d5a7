# pyfront: the CPython extension janus._C and the Python package pyfront/janus/.
# The extension holds the core's objects itself (eager dispatch calls jn_ functions directly) and
# exports only its init function.
if HAVE_PYTHON
janusextdir = $(pyexecdir)/janus
janusext_LTLIBRARIES = pyfront/_C.la
endif

pyfront__C_la_SOURCES = \
	pyfront/module.c \
	$(NULL)
pyfront__C_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(PYTHON_INCLUDE)
pyfront__C_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -shrext $(PYTHON_EXT_SUFFIX) \
	-export-symbols-regex '^PyInit__C$$'
pyfront__C_la_LIBADD = libjanus_all.la

# Python files are found, not listed: every *.py and *.pyi under pyfront/janus belongs to the package.
EXTRA_DIST += \
	build-aux/python-tree \
	pyfront/janus \
	$(NULL)

PYTHON_TREE = $(SHELL) $(top_srcdir)/build-aux/python-tree
if HAVE_PYTHON
all-local: pyfront/_C.la
	@$(PYTHON_TREE) stage $(top_srcdir)/pyfront/janus pylib/janus pyfront/.libs/_C$(PYTHON_EXT_SUFFIX)

install-data-hook:
	rm -f $(DESTDIR)$(janusextdir)/_C.la $(DESTDIR)$(janusextdir)/_C.a

install-data-local:
	@$(PYTHON_TREE) install $(top_srcdir)/pyfront/janus $(DESTDIR)$(pythondir)/janus

uninstall-local:
	rm -f $(DESTDIR)$(janusextdir)/_C$(PYTHON_EXT_SUFFIX)
	@$(PYTHON_TREE) uninstall $(top_srcdir)/pyfront/janus $(DESTDIR)$(pythondir)/janus

clean-local:
	rm -rf pylib
endif
