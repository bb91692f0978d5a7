# ops: the op table, shared rules, and kernels per device.
libjanus_all_la_SOURCES += \
	ops/batch_rules.c \
	ops/grad_attention.c \
	ops/grad_elementwise.c \
	ops/grad_emit.c \
	ops/grad_index.c \
	ops/grad_linear.c \
	ops/grad_nn.c \
	ops/grad_norm.c \
	ops/grad_reduce.c \
	ops/grad_shape.c \
	ops/grad_wide.c \
	ops/infer_attention.c \
	ops/infer_control.c \
	ops/infer_create.c \
	ops/infer_elementwise.c \
	ops/infer_index.c \
	ops/infer_linear.c \
	ops/infer_nn.c \
	ops/infer_optim.c \
	ops/infer_reduce.c \
	ops/infer_shape.c \
	ops/infer_util.c \
	ops/optable.c \
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
	ops/view.c \
	$(NULL)

libjanus_all_la_SOURCES += \
	ops/cpu/attention.c \
	ops/cpu/box.c \
	ops/cpu/conv.c \
	ops/cpu/copy.c \
	ops/cpu/create.c \
	ops/cpu/ew.c \
	ops/cpu/half.c \
	ops/cpu/index.c \
	ops/cpu/index_put.c \
	ops/cpu/isa.c \
	ops/cpu/loss.c \
	ops/cpu/matmul.c \
	ops/cpu/nn.c \
	ops/cpu/onednn.c \
	ops/cpu/pool.c \
	ops/cpu/reduce.c \
	ops/cpu/select.c \
	ops/cpu/serial.c \
	ops/cpu/shape.c \
	ops/cpu/sort.c \
	ops/cpu/steps.c \
	$(NULL)

# Kernels compiled once per instruction set, with JN_ISA naming it: see ops/cpu/isa.h.
JN_ISA_SOURCES = \
	ops/cpu/isa_binary.c \
	ops/cpu/isa_gemm.c \
	ops/cpu/isa_nn.c \
	ops/cpu/isa_optim.c \
	ops/cpu/isa_pool.c \
	ops/cpu/isa_reduce.c \
	ops/cpu/isa_rng.c \
	ops/cpu/isa_steps.c \
	ops/cpu/isa_unary.c \
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
	ops/cpu/isa_gemm_body.h \
	ops/cpu/isa_rows.h \
	ops/cpu/isa_sums.h \
	ops/cpu/select.h \
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
	ops/grad_emit.h \
	ops/index_rules.h \
	ops/infer_util.h \
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
	ops/shape_rules.h \
	ops/steps.h \
	$(NULL)
