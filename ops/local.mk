# ops: the op table, shared rules, and kernels per device.
libjanus_all_la_SOURCES += \
	ops/infer/batch.c \
	ops/grad/attention.c \
	ops/grad/elementwise.c \
	ops/grad/emit.c \
	ops/grad/index.c \
	ops/grad/linear.c \
	ops/grad/nn.c \
	ops/grad/norm.c \
	ops/grad/reduce.c \
	ops/grad/shape.c \
	ops/grad/wide.c \
	ops/infer/asked.c \
	ops/infer/attention.c \
	ops/infer/control.c \
	ops/infer/create.c \
	ops/infer/elementwise.c \
	ops/infer/index.c \
	ops/infer/linear.c \
	ops/infer/nn.c \
	ops/infer/optim.c \
	ops/infer/reduce.c \
	ops/infer/shape.c \
	ops/infer/infer.c \
	ops/table/services.c \
	ops/table/table.c \
	ops/ref/attention.c \
	ops/ref/create.c \
	ops/ref/elementwise.c \
	ops/ref/index.c \
	ops/ref/linear.c \
	ops/ref/nn.c \
	ops/ref/optim.c \
	ops/ref/pool_norm.c \
	ops/ref/reduce.c \
	ops/ref/ref.c \
	ops/ref/shape.c \
	ops/scalar.c \
	ops/shared_rules.c \
	ops/infer/view.c \
	$(NULL)

libjanus_all_la_SOURCES += \
	ops/cpu/products/attention.c \
	ops/cpu/box.c \
	ops/cpu/products/conv.c \
	ops/cpu/products/conv_few.c \
	ops/cpu/kernels/copy.c \
	ops/cpu/kernels/create.c \
	ops/cpu/ew.c \
	ops/cpu/select/half.c \
	ops/cpu/kernels/index.c \
	ops/cpu/kernels/index_put.c \
	ops/cpu/isa/isa.c \
	ops/cpu/kernels/loss.c \
	ops/cpu/products/matmul.c \
	ops/cpu/kernels/nn.c \
	ops/cpu/products/onednn.c \
	ops/cpu/products/packs.c \
	ops/cpu/kernels/pool.c \
	ops/cpu/kernels/reduce.c \
	ops/cpu/select/select.c \
	ops/cpu/serial.c \
	ops/cpu/kernels/shape.c \
	ops/cpu/kernels/sort.c \
	ops/cpu/kernels/steps.c \
	$(NULL)

# Kernels compiled once per instruction set, with JN_ISA naming it: see ops/cpu/isa.h.
JN_ISA_SOURCES = \
	ops/cpu/isa/binary.c \
	ops/cpu/isa/gemm.c \
	ops/cpu/isa/moments.c \
	ops/cpu/isa/nn.c \
	ops/cpu/isa/optim.c \
	ops/cpu/isa/pool.c \
	ops/cpu/isa/reduce.c \
	ops/cpu/isa/rng.c \
	ops/cpu/isa/steps.c \
	ops/cpu/isa/taps.c \
	ops/cpu/isa/unary.c \
	$(NULL)
JN_ISA_CFLAGS = $(AM_CFLAGS) $(JANUS_VECTOR_CFLAGS)

noinst_LTLIBRARIES += libjn_isa_generic.la
libjn_isa_generic_la_SOURCES = $(JN_ISA_SOURCES)
libjn_isa_generic_la_CPPFLAGS = $(AM_CPPFLAGS) -DJN_ISA=generic
libjn_isa_generic_la_CFLAGS = $(JN_ISA_CFLAGS)
libjanus_all_la_LIBADD += libjn_isa_generic.la

if JN_X86_64
noinst_LTLIBRARIES += libjn_isa_avx2.la libjn_isa_avx512.la
libjn_isa_avx2_la_SOURCES = $(JN_ISA_SOURCES)
libjn_isa_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DJN_ISA=avx2
libjn_isa_avx2_la_CFLAGS = $(JN_ISA_CFLAGS) -mavx2 -mfma
libjn_isa_avx512_la_SOURCES = $(JN_ISA_SOURCES)
libjn_isa_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DJN_ISA=avx512
libjn_isa_avx512_la_CFLAGS = $(JN_ISA_CFLAGS) -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq \
	-mavx512vl -mprefer-vector-width=512
libjanus_all_la_LIBADD += libjn_isa_avx2.la libjn_isa_avx512.la
endif

noinst_HEADERS += \
	ops/cpu/box.h \
	ops/cpu/ew.h \
	ops/cpu/gemm.h \
	ops/cpu/isa.h \
	ops/cpu/isa/gemm_body.h \
	ops/cpu/isa/rows.h \
	ops/cpu/isa/sums.h \
	ops/cpu/isa/few_rows.h \
	ops/cpu/isa/turned_body.h \
	ops/cpu/select/select.h \
	ops/cpu/simd.h \
	ops/cpu/take.h \
	ops/cpu/vmath.h \
	$(NULL)

noinst_HEADERS += \
	ops/attention_rules.h \
	ops/attrs.h \
	ops/def/control.def \
	ops/def/create.def \
	ops/def/elementwise.def \
	ops/def/host.def \
	ops/def/index.def \
	ops/def/linear.def \
	ops/def/nn.def \
	ops/def/optim.def \
	ops/def/reduce.def \
	ops/def/scalar.def \
	ops/def/shape.def \
	ops/fields_empty.h \
	ops/fields_undef.h \
	ops/grad/grad.h \
	ops/index_rules.h \
	ops/infer/infer.h \
	ops/device.h \
	ops/kernel.h \
	ops/nn_rules.h \
	ops/op_ids.h \
	ops/ops.def \
	ops/random_rules.h \
	ops/reduce_attrs.h \
	ops/ref/ref.h \
	ops/rng.h \
	ops/rules.h \
	ops/scalar.h \
	ops/special.h \
	ops/services.h \
	ops/shape_rules.h \
	ops/steps.h \
	$(NULL)
