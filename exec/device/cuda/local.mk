# The CUDA module: driver calls and kernels, loaded at run time.  libjanus links nothing of CUDA.
# The .cu files stay in _SOURCES so that archives have them whether nvcc is there or not.
JN_CU_SOURCES = \
	ops/cuda/attention.cu \
	ops/cuda/branch.cu \
	ops/cuda/chain.cu \
	ops/cuda/conv.cu \
	ops/cuda/conv_small.cu \
	ops/cuda/create.cu \
	ops/cuda/elementwise.cu \
	ops/cuda/index.cu \
	ops/cuda/linear.cu \
	ops/cuda/nn.cu \
	ops/cuda/norm.cu \
	ops/cuda/optim.cu \
	ops/cuda/pool.cu \
	ops/cuda/reduce.cu \
	ops/cuda/rows.cu \
	ops/cuda/shape.cu \
	$(NULL)
JN_CU_C_SOURCES = \
	exec/device/cuda/module.c \
	ops/cuda/libs.c \
	ops/cuda/workspace.c \
	ops/shared_rules.c \
	ops/infer/view.c \
	$(NULL)

noinst_HEADERS += \
	ops/cuda/columns.cuh \
	ops/cuda/cuda.cuh \
	ops/cuda/dnn_api.h \
	ops/cuda/dnn_graph.h \
	ops/cuda/elementwise.cuh \
	ops/cuda/kernels.h \
	ops/cuda/libs.h \
	ops/cuda/lt_api.h \
	ops/cuda/product.cuh \
	ops/cuda/registers.cuh \
	ops/cuda/steps.cuh \
	tests/cuda/check.h \
	tests/cuda/emulate.cuh \
	$(NULL)
EXTRA_DIST += build-aux/nvcc-lt tests/cuda/emulate.cc tests/cuda/emulate_dnn.cc tests/cuda/t_attention.c tests/cuda/t_dnn.c tests/cuda/t_libs.c

# What every kernel is compiled from: op numbers and attributes come from the op table.
JN_CU_DEPS = $(srcdir)/ops/cuda/*.cuh $(srcdir)/ops/cuda/*.h $(srcdir)/ops/def/*.def \
	$(srcdir)/ops/ops.def $(srcdir)/ops/device.h $(srcdir)/ops/kernel.h $(srcdir)/ops/attrs.h $(srcdir)/ops/rng.h $(srcdir)/ops/special.h \
	$(srcdir)/graph/ir/op.h $(srcdir)/include/janus.h

SUFFIXES = .cu
JN_NVCCFLAGS = -std=c++17 -O3 $(NVCC_GENCODE) -fno-threadsafe-statics -fno-exceptions -fno-rtti \
	-fvisibility=hidden -Wall
AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =
.cu.lo:
	$(AM_V_NVCC)$(MKDIR_P) $(@D) && $(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile \
	  $(srcdir)/build-aux/nvcc-lt "$(NVCC_LAUNCHER) $(NVCC)" $(AM_CPPFLAGS) $(JN_NVCCFLAGS) $(NVCCFLAGS) \
	  -c -o $@ $<

if HAVE_CUDA
pkglib_LTLIBRARIES = libjanus_cuda.la
$(JN_CU_SOURCES:.cu=.lo): $(wildcard $(JN_CU_DEPS))
endif
libjanus_cuda_la_SOURCES = exec/device/cuda/runtime.c ops/cuda/dnn.c ops/cuda/dnn_attention.c ops/cuda/dnn_winograd.c $(JN_CU_C_SOURCES) $(JN_CU_SOURCES)
libjanus_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(CUDA_DIR)/include
libjanus_cuda_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -export-symbols-regex '^janus_cuda_module$$'
libjanus_cuda_la_LIBADD = $(CUDART_LIBS) -ldl -lrt -lpthread -lm

# What is asked of the vendor's libraries, on a table of the test's own.
if HAVE_CUDA
check_PROGRAMS += tests/cuda/t_attention tests/cuda/t_dnn tests/cuda/t_libs
TESTS += tests/cuda/t_attention tests/cuda/t_dnn tests/cuda/t_libs
endif
JN_DNN_SOURCES = ops/cuda/dnn.c ops/cuda/dnn_attention.c ops/cuda/dnn_winograd.c ops/cuda/libs.c
tests_cuda_t_dnn_SOURCES = tests/cuda/t_dnn.c $(JN_DNN_SOURCES)
tests_cuda_t_attention_SOURCES = tests/cuda/t_attention.c $(JN_DNN_SOURCES)
tests_cuda_t_attention_CPPFLAGS = $(tests_cuda_t_dnn_CPPFLAGS)
tests_cuda_t_attention_LDADD = -ldl -lm
tests_cuda_t_dnn_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(CUDA_DIR)/include
tests_cuda_t_dnn_LDADD = -ldl
tests_cuda_t_libs_SOURCES = tests/cuda/t_libs.c $(JN_DNN_SOURCES)
tests_cuda_t_libs_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(CUDA_DIR)/include
tests_cuda_t_libs_LDADD = -ldl

# The same kernels for the host, so that tests run them where there is no GPU (tests/cuda/emulate.cuh).  They trap where
# an address is not a multiple of what is read or written there: a GPU faults, this machine's processor would not.
if HAVE_EMULATION
check_LTLIBRARIES = libjanus_cuda_emulated.la
endif
libjanus_cuda_emulated_la_SOURCES = $(JN_CU_C_SOURCES)
libjanus_cuda_emulated_la_CPPFLAGS = $(AM_CPPFLAGS) -DJN_CUDA_EMULATED
libjanus_cuda_emulated_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere
JN_EMULATED = $(JN_CU_SOURCES:ops/cuda/%.cu=tests/cuda/emulated/%.lo) tests/cuda/emulated/emulate.lo \
	tests/cuda/emulated/emulate_dnn.lo
libjanus_cuda_emulated_la_LIBADD = $(JN_EMULATED) -lm
libjanus_cuda_emulated_la_DEPENDENCIES = $(JN_EMULATED)
JN_EMULATED_COMPILE = $(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile $(CC) -x c++ -std=c++17 -O1 -g -U_FORTIFY_SOURCE \
	$(AM_CPPFLAGS) -DJN_CUDA_EMULATED -fno-exceptions -fno-rtti -fno-threadsafe-statics \
	-fvisibility=hidden -ffp-contract=off -pthread -Wall \
	-fsanitize=alignment -fsanitize-undefined-trap-on-error $(JN_EMULATED_CFLAGS)
tests/cuda/emulated/%.lo: ops/cuda/%.cu $(wildcard $(JN_CU_DEPS)) tests/cuda/emulate.cuh
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(JN_EMULATED_COMPILE) -include $(srcdir)/tests/cuda/emulate.cuh -c -o $@ $<
tests/cuda/emulated/emulate_dnn.lo: tests/cuda/emulate_dnn.cc $(wildcard $(JN_CU_DEPS)) tests/cuda/emulate.cuh
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(JN_EMULATED_COMPILE) -include $(srcdir)/tests/cuda/emulate.cuh -c -o $@ $<
tests/cuda/emulated/emulate.lo: tests/cuda/emulate.cc $(wildcard $(JN_CU_DEPS)) tests/cuda/emulate.cuh
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(JN_EMULATED_COMPILE) -c -o $@ $<
mostlyclean-local: clean-emulated
clean-emulated:
	-rm -rf tests/cuda/emulated
.PHONY: clean-emulated
