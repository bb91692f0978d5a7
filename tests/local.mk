# tests: `make check` runs each program and script listed here.
# A unit test is one file tests/unit/t_NAME.c (CUnit) and one line below.
unit_tests = \
	tests/conformance/t_half \
	tests/conformance/t_ops \
	tests/unit/t_cpu_matmul \
	tests/unit/t_cpu_moves \
	tests/unit/t_cpu_ref \
	tests/unit/t_cpu_rng \
	tests/unit/t_autodiff \
	tests/unit/t_random_graphs \
	tests/unit/t_cpu_vmath \
	tests/unit/t_lanes \
	tests/unit/t_late \
	tests/unit/t_pace \
	tests/unit/t_checks \
	tests/unit/t_par \
	tests/unit/t_pool \
	tests/unit/t_base \
	tests/unit/t_capi \
	tests/unit/t_device \
	tests/unit/t_schedule \
	tests/unit/t_golden \
	tests/unit/t_graph \
	tests/unit/t_graph_threads \
	tests/unit/t_model \
	tests/unit/t_oom \
	tests/unit/t_exec \
	tests/toy/t_toy \
	tests/unit/t_version \
	$(NULL)

check_PROGRAMS += tests/conformance/dump
tests_conformance_dump_SOURCES = \
	tests/conformance/dump.c \
	tests/conformance/interp.c \
	tests/conformance/samples.c \
	$(NULL)

# The same samples on a device; without CUnit.
check_PROGRAMS += tests/conformance/device
tests_conformance_device_SOURCES = \
	tests/conformance/device.c \
	tests/conformance/interp.c \
	tests/conformance/samples.c \
	tests/toy/toy.c \
	$(NULL)
tests_conformance_device_LDADD = libjanus_all.la
TESTS += \
	tests/cuda/conformance.sh \
	tests/cuda/emulated.sh \
	tests/toy/conformance.sh \
	$(NULL)
EXTRA_DIST += \
	tests/conformance/unsupported.txt \
	tests/cuda/conformance.sh \
	tests/cuda/differential.sh \
	tests/cuda/emulated.sh \
	tests/toy/conformance.sh \
	$(NULL)

tests_toy_t_toy_SOURCES = tests/toy/t_toy.c tests/toy/toy.c

tests_conformance_t_half_SOURCES = \
	tests/conformance/interp.c \
	tests/conformance/samples.c \
	tests/conformance/t_half.c \
	$(NULL)

tests_conformance_t_ops_SOURCES = \
	tests/conformance/interp.c \
	tests/conformance/samples.c \
	tests/conformance/t_ops.c \
	$(NULL)

if HAVE_CUNIT
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
else
TESTS += tests/no-cunit.sh
endif

# The lint scripts that take no time; `make lint` runs all of them.
TESTS += \
	tests/lint/docs.sh \
	tests/lint/generated.sh \
	tests/lint/layers.sh \
	tests/lint/lines.sh \
	tests/lint/names.sh \
	tests/lint/vectors.sh \
	tests/lint/raw.sh \
	tests/lint/rooms.sh \
	tests/tools.sh \
	tests/samples-c.sh \
	$(NULL)

lint: all
	@failed=0; for script in $(srcdir)/tests/lint/[!c]*.sh $(srcdir)/tests/lint/cppcheck.sh; do \
	  echo "$$script"; srcdir='$(srcdir)' JANUS_BUILD='$(abs_builddir)' $$script; \
	  case $$? in 0|77) ;; *) failed=1;; esac; \
	done; exit $$failed
.PHONY: lint

# Fuzzing: a plain program that replays and mutates a corpus, run by `make check`, and, where the
# compiler is clang, an entry for libFuzzer:
#     ./configure CC=clang CFLAGS='-g -O1 -fsanitize=fuzzer-no-link' --enable-asan
#     make tests/fuzz/fuzz_parse_libfuzzer && tests/fuzz/fuzz_parse_libfuzzer tests/fuzz/corpus
check_PROGRAMS += tests/fuzz/fuzz_parse
TESTS += tests/fuzz/fuzz_parse
tests_fuzz_fuzz_parse_SOURCES = tests/fuzz/exercise.c tests/fuzz/fuzz_parse.c tests/fuzz/replay.c
tests_fuzz_fuzz_parse_LDADD = libjanus_all.la
# Ops at random; JANUS_FUZZ_SECONDS=3600 for an hour, of the others too.
check_PROGRAMS += tests/fuzz/fuzz_ops
TESTS += tests/fuzz/fuzz_ops
tests_fuzz_fuzz_ops_SOURCES = \
	tests/conformance/interp.c \
	tests/conformance/samples.c \
	tests/fuzz/exercise.c \
	tests/fuzz/fuzz_ops.c \
	$(NULL)
tests_fuzz_fuzz_ops_LDADD = libjanus_all.la
if HAVE_CJSON
check_PROGRAMS += tests/fuzz/fuzz_model
TESTS += tests/fuzz/fuzz_model
endif
tests_fuzz_fuzz_model_SOURCES = tests/fuzz/fuzz_model.c tests/fuzz/replay.c
tests_fuzz_fuzz_model_LDADD = libjanus_all.la
EXTRA_PROGRAMS = tests/fuzz/fuzz_parse_libfuzzer tests/fuzz/fuzz_model_libfuzzer
tests_fuzz_fuzz_model_libfuzzer_SOURCES = tests/fuzz/fuzz_model.c
tests_fuzz_fuzz_model_libfuzzer_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_model_libfuzzer_LDADD = libjanus_all.la
tests_fuzz_fuzz_parse_libfuzzer_SOURCES = tests/fuzz/exercise.c tests/fuzz/fuzz_parse.c
tests_fuzz_fuzz_parse_libfuzzer_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_parse_libfuzzer_LDADD = libjanus_all.la

# Writes the golden files anew; look at the difference before committing it.
update-golden: tests/unit/t_golden
	srcdir='$(srcdir)' JANUS_UPDATE_GOLDEN=1 tests/unit/t_golden
	srcdir='$(srcdir)' JANUS_BUILD='$(abs_builddir)' JANUS_UPDATE_GOLDEN=1 $(srcdir)/run python3 -m pytest -q \
	  -p no:cacheprovider '$(srcdir)/tests/py/test_golden.py' '$(srcdir)/tests/py/test_schedule_text.py'
.PHONY: update-golden

if HAVE_PYTHON
TESTS += tests/pytest.sh tests/cuda/differential.sh
endif

noinst_HEADERS += \
	tests/conformance/interp.h \
	tests/conformance/samples.h \
	tests/fuzz/exercise.h \
	tests/fuzz/fuzz.h \
	tests/toy/toy.h \
	tests/unit/check.h \
	tests/unit/fake_device.h \
	tests/unit/kernel_check.h \
	tests/unit/gradcheck.h \
	$(NULL)

EXTRA_DIST += \
	tests/fuzz/corpus \
	tests/fuzz/models \
	tests/golden \
	tests/lint \
	tests/no-cunit.sh \
	tests/programs \
	tests/py \
	tests/stdlib \
	tests/pytest.sh \
	tests/torch \
	tests/wheel \
	tests/tools.sh \
	tests/samples-c.sh \
	$(NULL)

AM_TESTS_ENVIRONMENT = srcdir='$(srcdir)'; export srcdir; JANUS_BUILD='$(abs_builddir)'; export JANUS_BUILD;
