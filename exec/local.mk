# exec: see docs/ARCHITECTURE.md.
libjanus_all_la_SOURCES += \
	exec/acc.c \
	exec/collect.c \
	exec/dev_capture.c \
	exec/dev_group.c \
	exec/dev_pool.c \
	exec/dev_streams.c \
	exec/device.c \
	exec/eager.c \
	exec/eager_call.c \
	exec/effects.c \
	exec/flush.c \
	exec/group.c \
	exec/host.c \
	exec/host_loop.c \
	exec/host_ops.c \
	exec/host_slow.c \
	exec/log.c \
	exec/mem.c \
	exec/overlay.c \
	exec/par.c \
	exec/plan.c \
	exec/plan_build.c \
	exec/plan_cut.c \
	exec/plan_scalar.c \
	exec/plan_segments.c \
	exec/pool.c \
	exec/recipe.c \
	exec/rows.c \
	exec/run.c \
	exec/shape.c \
	exec/specialise.c \
	exec/suspend.c \
	exec/tensor.c \
	exec/tensor_rows.c \
	exec/variant.c \
	$(NULL)

noinst_HEADERS += \
	exec/acc.h \
	exec/dev_capture.h \
	exec/dev_pool.h \
	exec/dev_streams.h \
	exec/device.h \
	exec/eager.h \
	exec/eager_call.h \
	exec/effects.h \
	exec/host.h \
	exec/overlay.h \
	exec/par.h \
	exec/plan.h \
	exec/plan_internal.h \
	exec/pool.h \
	exec/recipe.h \
	exec/rng.h \
	exec/rows.h \
	exec/run.h \
	exec/run_internal.h \
	exec/segment.h \
	exec/task.h \
	exec/suspend.h \
	exec/tensor.h \
	exec/tensor_rows.h \
	exec/variant.h \
	$(NULL)
