# bench: benchmarks; each is a command that prints one table.
EXTRA_DIST += \
	bench/README.md \
	bench/accuracy \
	bench/accuracy.py \
	bench/branches.py \
	bench/busy \
	bench/busy.py \
	bench/call_overhead \
	bench/call_overhead.py \
	bench/char_lm_step \
	bench/char_lm_step.py \
	bench/dense \
	bench/dense.py \
	bench/device_profile.py \
	bench/eager_overhead \
	bench/eager_overhead.py \
	bench/figures \
	bench/figures.py \
	bench/harness.py \
	bench/ladder \
	bench/ladder.py \
	bench/lenet_step \
	bench/lenet_step.py \
	bench/lengths.py \
	bench/merge.py \
	bench/networks \
	bench/networks.py \
	bench/papers \
	bench/papers.py \
	bench/peers/setup.sh \
	bench/peers/trees \
	bench/peers/worker.py \
	bench/plots.py \
	bench/profile_off.py \
	bench/results \
	bench/second_start.py \
	bench/serve.py \
	bench/tree_lstm \
	bench/tree_lstm.py \
	bench/treebench \
	bench/trees \
	bench/trees.py \
	bench/verification \
	bench/verification.py \
	bench/workloads \
	bench/zoo.py \
	$(NULL)

noinst_PROGRAMS += bench/kernels
bench_kernels_LDADD = libjanus_all.la -lm

noinst_PROGRAMS += bench/recursion
bench_recursion_LDADD = libjanus.la -lm

# Clients for bench/serve.py.
noinst_PROGRAMS += bench/serve_load
bench_serve_load_LDADD =

# Ops on a device; scripts/check-gpu.sh runs it.  `make check` compiles it everywhere.
check_PROGRAMS += bench/device_ops
bench_device_ops_SOURCES = bench/device_bare.c bench/device_bare.h bench/device_chain.c bench/device_ops.c
bench_device_ops_LDADD = libjanus_all.la
