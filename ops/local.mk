# ops: the op table, shared rules, and kernels per device.
libjanus_all_la_SOURCES += \
	ops/infer_control.c \
	ops/infer_create.c \
	ops/infer_elementwise.c \
	ops/infer_index.c \
	ops/infer_linear.c \
	ops/infer_nn.c \
	ops/infer_reduce.c \
	ops/infer_shape.c \
	ops/infer_util.c \
	ops/optable.c \
	ops/scalar.c \
	ops/view.c \
	$(NULL)

# Kernels compiled once per instruction set. Sources listed here are compiled again for each set,
# with JN_ISA naming it: let the file name its entry points through a macro that appends JN_ISA
# (generic, avx2, avx512) and choose one table at start-up with __builtin_cpu_supports.
# To use it: list the files in JN_ISA_SOURCES and take the comment signs away.
#
# JN_ISA_SOURCES = \
#	ops/cpu/isa_elementwise.c \
#	$(NULL)
# JN_ISA_CFLAGS = $(AM_CFLAGS) -O3 -fno-trapping-math
#
# noinst_LTLIBRARIES += libjn_isa_generic.la
# libjn_isa_generic_la_SOURCES = $(JN_ISA_SOURCES)
# libjn_isa_generic_la_CPPFLAGS = $(AM_CPPFLAGS) -DJN_ISA=generic
# libjn_isa_generic_la_CFLAGS = $(JN_ISA_CFLAGS)
# libjanus_all_la_LIBADD += libjn_isa_generic.la
#
# if JN_X86_64
# noinst_LTLIBRARIES += libjn_isa_avx2.la
# libjn_isa_avx2_la_SOURCES = $(JN_ISA_SOURCES)
# libjn_isa_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DJN_ISA=avx2
# libjn_isa_avx2_la_CFLAGS = $(JN_ISA_CFLAGS) -mavx2 -mfma
# libjanus_all_la_LIBADD += libjn_isa_avx2.la
# endif

noinst_HEADERS += \
	ops/attrs.h \
	ops/def/control.def \
	ops/def/create.def \
	ops/def/elementwise.def \
	ops/def/host.def \
	ops/def/index.def \
	ops/def/linear.def \
	ops/def/nn.def \
	ops/def/reduce.def \
	ops/def/scalar.def \
	ops/def/shape.def \
	ops/fields_empty.h \
	ops/fields_undef.h \
	ops/index_rules.h \
	ops/infer_util.h \
	ops/kernel.h \
	ops/nn_rules.h \
	ops/op_ids.h \
	ops/ops.def \
	ops/reduce_attrs.h \
	ops/rng.h \
	ops/rules.h \
	ops/scalar.h \
	ops/shape_rules.h \
	$(NULL)
