# SPDX-License-Identifier: Apache-2.0
"""Which kernels a step runs on a GPU, how often and how long: a step of bench/networks or an image of bench/zoo.

    ./run python3 bench/device_profile.py janus|torch [--top 16] "resnet50 train" zoo:mobilenet_v2 ...

Of each case: milliseconds a step (one after the other; each waited for; what the host takes), kernels, the sum of their
times, and the time in which at least one of them ran; below it the kernels that took most.  PyTorch's profiler counts
them, which sees all of a process's kernels, so this Python needs PyTorch for janus too.  janus runs as a graph, PyTorch
as a CUDA graph.
"""
import argparse
import collections
import importlib.util
import pathlib
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
WARM, TIMED, TRACED = 5, 20, 3


def image(net, how):
    """`(step, what waits for it)` of bench/zoo.py, whose name samples/zoo has too."""
    spec = importlib.util.spec_from_file_location("bench_zoo", HERE / "zoo.py")
    zoo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(zoo)
    contender = {"janus": "janus graph", "torch": "torch cuda graph"}[how]
    return zoo.prepared(contender, net, "cuda", zoo.table()[net][3], False)[1:]


def network(case, how, lib):
    """The same of bench/workloads/zoo_steps.py."""
    sys.path.insert(0, str(HERE / "workloads"))
    import zoo_steps
    settings = {"device": "cuda", "small": False, "tf32": False, "f64": False, "seconds": 0.05}
    if how == "janus":
        lib.set_default_device("cuda")
    zoo_steps.prepare(lib, settings)
    name = {"janus": "janus graph", "torch": "PyTorch CUDA graph"}[how]
    wanted = [mode for mode in zoo_steps.modes(how, lib, settings) if mode[0] == name]
    run = zoo_steps.contenders(lib, wanted, settings)[f"{case}: {name}"]()
    return run, lib.cuda.synchronize


def seconds_each(step, wait, each=False):
    """`(with the last one waited for, of the host alone)`"""
    start = time.perf_counter()
    for _ in range(TIMED):
        step()
        if each:
            wait()
    host = time.perf_counter() - start
    wait()
    return (time.perf_counter() - start) / TIMED, host / TIMED


def profile(case, how, lib, top):
    import torch
    step, wait = image(case[4:], how) if case.startswith("zoo:") else network(case, how, lib)
    for _ in range(WARM):
        step()
    wait()
    steps = TRACED
    wall, host = seconds_each(step, wait)
    waited, _ = seconds_each(step, wait, each=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
        for _ in range(TRACED):
            n = step()
            steps += n - 1 if isinstance(n, int) else 0  # a round of bench/networks is several
        wait()
        torch.cuda.synchronize()
    per_call = steps / TRACED
    kernels, spans = collections.defaultdict(lambda: [0, 0]), []
    for event in trace.profiler.kineto_results.events():
        if event.device_type() == torch.autograd.DeviceType.CUDA:
            kernels[event.name()][0] += 1
            kernels[event.name()][1] += event.duration_ns()
            spans.append((event.start_ns(), event.start_ns() + event.duration_ns()))
    busy = end = 0
    for start, stop in sorted(spans):
        if stop > end:
            busy += stop - max(start, end)
            end = stop
    total = sum(ns for _, ns in kernels.values())
    print(f"{case}, {how}: {1e3 * wall / per_call:.3f} ms, waited for {1e3 * waited / per_call:.3f}, "
          f"host {1e3 * host / per_call:.3f}; {len(spans) / steps:.0f} kernels of {total / steps / 1e6:.3f} ms, "
          f"busy {busy / steps / 1e6:.3f}")
    for name, (count, ns) in sorted(kernels.items(), key=lambda kernel: -kernel[1][1])[:top]:
        print(f"  {ns / steps / 1e3:9.1f} us {count / steps:7.1f} x {ns / count / 1e3:8.1f}  {name[:110]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=["janus", "torch"])
    parser.add_argument("--top", type=int, default=16)
    parser.add_argument("cases", nargs="+", metavar="case")
    args = parser.parse_args()
    try:
        import torch
        torch.zeros(1, device="cuda")  # its driver context first: janus shares it
    except (ImportError, RuntimeError) as error:
        print(f"SKIP: {error}")
        return 77
    lib = __import__(args.library)
    lib.backends.cudnn.benchmark = True
    failed = 0
    for case in args.cases:
        try:
            profile(case, args.library, lib, args.top)
        except Exception:  # one network's trouble is not the next one's
            failed += 1
            traceback.print_exc()
    return failed


if __name__ == "__main__":
    sys.exit(main())
