# SPDX-License-Identifier: Apache-2.0
"""Inference of the networks of samples/zoo at batch 1, janus beside PyTorch, on whatever device there is.

    ./run python3 bench/zoo.py [--device cuda] [--nets resnet50,...] [--seconds 120] [--size 64] [--tf32] [--json FILE]

One table: milliseconds per image (median), and how many times faster than PyTorch's eager mode.  Each contender is a
process of its own; PyTorch's rows run the same files with the other library's name in them, in this Python or in the
environment JANUS_PEERS names, and are left out where there is none.  f32 is f32 in both unless --tf32.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import types

HERE = pathlib.Path(__file__).resolve().parent
ZOO = HERE.parent / "samples" / "zoo"
CONTENDERS = ("janus eager", "janus graph", "janus graph, one stream", "torch eager", "torch cuda graph",
              "torch compile")


def table():
    """The nets of samples/zoo: file, class, parameters, size of an image."""
    names = {"__name__": "zoo"}
    exec((ZOO / "__init__.py").read_text(), names)
    return names["NETS"]


def torch_net(name):
    """The same file with the other library's name in it."""
    file, cls, _, _ = table()[name]
    module = types.ModuleType(file)
    exec(compile((ZOO / f"{file}.py").read_text().replace("janus", "torch"), file, "exec"), module.__dict__)
    sys.modules[file] = module
    return getattr(module, cls)()


def prepared(contender, net, device, size, tf32):
    """A call per image, and what waits for the device."""
    how = contender.split(" ", 1)[1]
    if contender.startswith("janus"):
        import janus
        sys.path.insert(0, str(ZOO.parent))
        import zoo
        janus.backends.cudnn.benchmark = True
        janus.backends.cuda.matmul.allow_tf32 = janus.backends.cudnn.allow_tf32 = tf32
        model, wait = zoo.make(net).to(device).eval(), janus.cuda.synchronize
        x = janus.randn(1, 3, size, size, device=device)
        call = model if how == "eager" else janus.function(lambda x: model(x), measure=False)

        def step():
            with janus.no_grad():
                return call(x)
        return model, step, wait
    import torch
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    model = torch_net(net).to(device).eval()
    x = torch.randn(1, 3, size, size, device=device)
    if device == "cuda":
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    call = torch.compile(model, mode="reduce-overhead") if how == "compile" else model

    def step():
        with torch.no_grad():
            return call(x)
    if how == "cuda graph":
        side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        with torch.cuda.graph(graph):
            step()
        return model, graph.replay, wait
    return model, step, wait


def measure(contender, net, device, size, seconds, tf32):
    model, step, wait = prepared(contender, net, device, size, tf32)
    for _ in range(4):
        step()
    wait()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 300):
        start = time.perf_counter()
        step()
        wait()
        times.append(time.perf_counter() - start)
    return {"ms": 1e3 * statistics.median(times), "parameters": sum(p.numel() for p in model.parameters())}


def contender_runs(contender, net, args, left):
    python = sys.executable
    environment = dict(os.environ)
    if contender.startswith("torch"):
        peers = os.path.join(os.environ.get("JANUS_PEERS", HERE / "peers" / "venv"), "bin", "python")
        if os.path.exists(peers):
            python = peers
            environment.pop("PYTHONPATH", None)
    if contender.endswith("one stream"):
        environment["JANUS_CUDA_STREAMS"] = "1"
    command = [python, __file__, "--device", args.device, "--contender", contender, "--net", net]
    if args.size:
        command += ["--size", str(args.size)]
    if args.tf32:
        command.append("--tf32")
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=max(left, 10))
        return json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="")
    parser.add_argument("--nets", default="")
    parser.add_argument("--seconds", type=float, default=240, help="for everything")
    parser.add_argument("--size", type=int, default=0, help="of an image; 0: the network's own")
    parser.add_argument("--tf32", action="store_true", help="products of f32 may be TF32 ones, in both libraries")
    parser.add_argument("--json", metavar="FILE", help="write the table there")
    parser.add_argument("--contender")
    parser.add_argument("--net")
    args = parser.parse_args()
    if args.contender:
        args.size = args.size or table()[args.net][3]
        print(json.dumps(measure(args.contender, args.net, args.device, args.size, 1.5, args.tf32)))
        return 0
    import janus
    args.device = args.device or ("cuda" if janus.cuda.is_available() else "cpu")
    nets = args.nets.split(",") if args.nets else sorted(table())
    contenders = [c for c in CONTENDERS if args.device == "cuda" or c in ("janus eager", "janus graph", "torch eager")]
    end = time.monotonic() + args.seconds
    failed, table_of = 0, {}
    print(f"batch-1 inference on {args.device}, ms per image (times faster than torch eager)")
    for net in nets:
        rows = {c: contender_runs(c, net, args, end - time.monotonic()) if time.monotonic() < end else None
                for c in contenders}
        base, table_of[net] = rows.get("torch eager"), rows
        for c, r in rows.items():
            beside = f"  ({base['ms'] / r['ms']:.2f} x)" if r and base else ""
            print(f"{net:16} {c:24} {r['ms']:9.3f}{beside}" if r else f"{net:16} {c:24} not run")
            failed += r is None and c.startswith("janus") and time.monotonic() < end
    if args.json:
        with open(args.json, "w", encoding="utf-8") as stream:
            json.dump({"device": args.device, "tf32": args.tf32, "nets": table_of}, stream, indent=2)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
