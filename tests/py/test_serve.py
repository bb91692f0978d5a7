# SPDX-License-Identifier: Apache-2.0
"""samples/c/serve: a recursive classifier trained in Python and served by a process without Python answers as Python
does, to many clients at once; bad requests get errors and disturb nobody."""
import http.client
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from c_programs import BUILD, SOURCE, needs_cjson

import janus

SERVE = BUILD / "samples/c/serve/serve"
sys.path.insert(0, str(SOURCE / "samples"))
import serve_tree  # noqa: E402


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """(port, {name: model}, process): two models that share all weights but those of their last layer."""
    needs_cjson()
    if not SERVE.exists():
        pytest.skip("the sample is not built")
    folder = tmp_path_factory.mktemp("served")
    janus.manual_seed(1)
    models = {name: serve_tree.TreeLSTM(8) for name in "ab"}
    serve_tree.train(models["a"], 3, random.Random(1))
    models["b"].load_state_dict(models["a"].state_dict())
    with janus.no_grad():
        models["b"].output.weight.mul_(-2)
    for name, model in models.items():
        janus.export(model.eval(), folder / name, serve_tree.tree_of([[1, 2], 3]))
    process = subprocess.Popen([str(SERVE), "--deadline", "20", *(f"{n}={folder / n}" for n in models)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert "listening" in line, line + process.stderr.read()
    yield int(line.rsplit(":", 1)[1]), models, process
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, out + err


@pytest.fixture(scope="module")
def patient(served, tmp_path_factory):
    """The port of a server that may wait ten seconds for a batch."""
    folder = tmp_path_factory.mktemp("patient")
    janus.export(served[1]["a"], folder / "a", serve_tree.tree_of([[1, 2], 3]))
    process = subprocess.Popen([str(SERVE), "--deadline", "10000", f"a={folder / 'a'}"], stdout=subprocess.PIPE, text=True)
    yield int(process.stdout.readline().rsplit(":", 1)[1])
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=30)


def ask(connection, name, body):
    connection.request("POST", f"/models/{name}", body if isinstance(body, str) else json.dumps(body))
    r = connection.getresponse()
    return r.status, json.loads(r.read())


def get(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/models")
    return json.loads(connection.getresponse().read())


def test_no_python_and_weights_once(served):
    port, models, process = served
    maps = pathlib.Path(f"/proc/{process.pid}/maps")
    if maps.exists():
        mapped = {line.rsplit("/", 1)[-1] for line in maps.read_text().splitlines() if "/" in line}
        assert any("libjanus" in name for name in mapped) and not any("python" in name or name.startswith("_C") for name in mapped)
    sizes = {k: 4 * v.numel() for k, v in models["a"].state_dict().items()}
    said = get(port)
    assert said["models"] == ["a", "b"]
    assert said["weight_bytes"] == sum(sizes.values()) + sizes["output.weight"]


@pytest.mark.parametrize("silent", [0, 1, 40])
def test_nobody_waits_for_those_who_do_not_ask(patient, silent):
    others = [socket.create_connection(("127.0.0.1", patient)) for _ in range(silent)]
    connection = http.client.HTTPConnection("127.0.0.1", patient, timeout=30)
    start = time.monotonic()
    assert [ask(connection, "a", {"tree": [1, [2, 3]]})[0] for _ in range(3)] == [200] * 3
    assert time.monotonic() - start < 10, "a request was kept for the whole deadline"
    for other in others:
        other.close()


@pytest.mark.parametrize("bad_too", [False, True])
def test_many_clients(served, bad_too):
    port, models, _ = served
    before, wrong = get(port), []
    bad = ['{"tree": [1, 99]}', '{"tree": -1}', '{"tree": [[1, 2], "x"]}', '{"tree": [1]}', "{", '{"trees": 1}', '{"tree": 1.5}',
           '{"tree": ' + "[" * 5000 + "]" * 5000 + "}"]

    def client(seed):
        rng = random.Random(seed)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for k in range(6):
            if bad_too and rng.random() < 0.5:
                body = bad[(seed + k) % len(bad)]
                status, got = ask(connection, rng.choice("ab"), body)
                if status != 400 or not got["error"]:
                    wrong.append((body[:40], status, got))
                continue
            name, nested = rng.choice("ab"), serve_tree.random_tree(rng, 1 + rng.randrange(9))[0]
            asked.append((name, nested, *ask(connection, name, {"tree": nested})))

    asked = []
    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and (len(asked) == 72 or bad_too)
    for name, nested, status, got in asked:
        with janus.no_grad():
            want = models[name](serve_tree.tree_of(nested))[0]
        assert status == 200 and janus.allclose(janus.tensor(got["scores"]), want, atol=1e-5), (nested, got, want)
        assert got["class"] == max(range(2), key=lambda i: got["scores"][i])
    after = get(port)
    assert after["answered"] - before["answered"] == len(asked)
    if not bad_too:
        assert after["runs"] - before["runs"] < len(asked)  # several in one


def test_deep_trees(served):
    port, models, _ = served
    nested = 3
    for i in range(400):
        nested = [i % 20, nested] if i % 3 else [nested, i % 20]
    status, got = ask(http.client.HTTPConnection("127.0.0.1", port, timeout=30), "a", {"tree": nested})
    with janus.no_grad():
        want = janus.function(models["a"].forward)(serve_tree.tree_of(nested))[0]
    assert status == 200 and janus.allclose(janus.tensor(got["scores"]), want, atol=1e-4)


def raw(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        got = b""
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            while chunk := s.recv(65536):
                got += chunk
        except OSError:
            pass  # it has not read all that was sent
    return got


def test_what_is_no_request(served):
    port = served[0]
    post = b'POST /models/a HTTP/1.1\r\nContent-Length: %s\r\n\r\n%s'
    for data, status in ((b"hello\r\n\r\n", b"400"), (b"GET / FTP\r\n\r\n", b"400"), (b"GET /models HTTP/1.1\r\n\0\r\n\r\n", b"400"),
                         (post % (b"x", b""), b"400"), (post % (b"-1", b""), b"400"), (post % (b"99999999", b""), b"413"),
                         (b"POST /models/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
                         (b"A" * 20000, b"400"), (b"GET /models/a HTTP/1.1\r\n\r\n", b"405"),
                         (b"GET /nothing HTTP/1.1\r\n\r\n", b"404"), (b"GET /models HTTP/1.0\r\n\r\n", b"200")):
        got = raw(port, data)
        assert got.startswith(b"HTTP/1.1 " + status) or (got == b"" and len(data) > 16384), (data[:40], got[:80])
    raw(port, post % (b"100", b"{"))  # gives up in the middle
    two = raw(port, post % (b"11", b'{"tree": 3}') + b"GET /models HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert two.count(b"HTTP/1.1 200 OK") == 2 and get(port)["models"] == ["a", "b"]


def test_wrong_command_lines(tmp_path):
    if not SERVE.exists():
        pytest.skip("the sample is not built")
    for args, why in (([], "serve ["), (["--port"], "serve ["), (["--batch", "0", "a=b"], "serve ["),
                      (["a=" + str(tmp_path)], "graph.jir")):
        done = subprocess.run([str(SERVE), *args], capture_output=True, text=True, timeout=30)
        assert done.returncode in (1, 2) and why in done.stderr
