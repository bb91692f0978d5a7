# SPDX-License-Identifier: Apache-2.0
"""Runs one suite of CPython's own tests in this process and writes what became of each test.

A suite is a line of suites.txt: the test module, and the modules that are loaded decorated (for a suite of the language
the test module itself).  Every function and method of these gets `@janus.function`, in a copy of the text; with --plain
the decorator of the copy returns what it is given, so that both runs differ in janus alone.  Each test runs three times: the first call
of a function is imperative, later ones are graphs.  One line of JSON a test goes to the output file as soon as the test
has ended, so that a crash is seen to belong to the test that came next.
"""

import argparse
import ast
import builtins
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import sys
import tempfile
import unittest
import warnings
import weakref


def walk(node):
    """As ast.walk, which imports collections: that may be the module asked for."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from walk(child)


def decorated(source, but):
    """The text with `@__janus_function__` above every def that begins its line, innermost decorator last; `but` names
    functions that stay as they are."""
    lines = source.split("\n")
    places = set()
    for node in walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name not in but:
            line = node.lineno
            indent = lines[line - 1][: node.col_offset]
            if not indent.strip():
                places.add((line - 1, indent))
    for line, indent in sorted(places, reverse=True):
        lines.insert(line, indent + "@__janus_function__")
    return "\n".join(lines)


class Finder(importlib.abc.MetaPathFinder):
    """Loads the named modules from decorated copies of their files: {module: functions that stay as they are}."""

    def __init__(self, names, folder):
        self.names, self.folder = names, folder

    def find_spec(self, name, path, target=None):
        if name not in self.names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        with open(spec.origin, encoding="utf-8") as f:
            text = f.read()
        package = spec.submodule_search_locations is not None
        file = os.path.join(self.folder, *name.split("."), *(["__init__"] if package else [])) + ".py"
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as f:
            f.write(decorated(text, self.names[name]))
        # submodules that are not named come from where they were
        return importlib.util.spec_from_file_location(
            name, file, submodule_search_locations=spec.submodule_search_locations
        )


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


class Timeout(BaseException):
    pass


def on_alarm(*_):
    raise Timeout


def run_once(test, seconds):
    """"ok", "skipped", or the last line of the traceback."""
    result = unittest.TestResult()
    signal.alarm(seconds)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            unittest.TestSuite([test]).run(result)
    except Timeout:
        return "timeout"
    except BaseException as e:  # a test that raises SystemExit is no reason to lose the others
        return f"raised {type(e).__name__}: {e}"
    finally:
        signal.alarm(0)
    bad = result.errors + result.failures
    if bad:
        return bad[0][1].strip().split("\n")[-1]
    if result.unexpectedSuccesses:
        return "unexpected success"
    return "skipped" if result.skipped else "ok"


def again(test):
    """A test that has not run; None: the object does not say how it was made (a doctest)."""
    name = getattr(test, "_testMethodName", None)
    return type(test)(name) if name and type(test).__module__ != "doctest" else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("test", help="the test module, for example test.test_fractions")
    parser.add_argument("modules", nargs="*", help="the modules to be decorated, each with `!name` for a function that is not")
    parser.add_argument("--plain", action="store_true", help="with a decorator that does nothing: the reference")
    parser.add_argument("--out", required=True, help="file for the lines of JSON")
    parser.add_argument("--skip", default="", help="file with ids of tests that are left out, one a line")
    parser.add_argument("--only", default="", help="run only tests whose id contains this")
    parser.add_argument("--seconds", type=int, default=30, help="time limit of one test")
    parser.add_argument("--verbose", action="store_true", help="print failures as they come")
    args = parser.parse_args()

    import janus

    made = []

    def function(f):
        try:
            g = janus.function(f)
        except TypeError:  # no callable: a descriptor that an outer decorator has made
            return f
        made.append(weakref.ref(g))  # tests look at when functions die
        return g

    builtins.__janus_function__ = (lambda f: f) if args.plain else function
    warnings.simplefilter("ignore")
    importlib.import_module("test.support")
    folder = tempfile.mkdtemp(prefix="janus-stdlib-")
    modules = {name: but for name, *but in (m.split("!") for m in args.modules)}
    sys.meta_path.insert(0, Finder(modules, folder))
    for name in modules:
        sys.modules.pop(name, None)
    for name in modules:
        importlib.import_module(name)
    out = open(args.out, "a", encoding="utf-8", buffering=1)
    skip = set(open(args.skip, encoding="utf-8").read().split("\n")) if args.skip else set()
    signal.signal(signal.SIGALRM, on_alarm)
    seen = {}
    for test in flat(unittest.TestLoader().loadTestsFromModule(importlib.import_module(args.test))):
        if again(test) is None or args.only not in test.id():
            continue
        # generated classes of one name share an id
        seen[test.id()] = seen.get(test.id(), 0) + 1
        name = f"{test.id()}#{seen[test.id()]}" if seen[test.id()] > 1 else test.id()
        if name in skip:
            continue
        out.write(json.dumps({"begin": name}) + "\n")
        state = "ok"
        for _ in range(3):
            state = run_once(again(test), args.seconds)
            if state != "ok":
                break
        out.write(json.dumps({"test": name, "state": state}) + "\n")
        if args.verbose and state not in ("ok", "skipped"):
            print(name, state)
    stats = [f().stats() for f in made if f()]
    out.write(
        json.dumps(
            {
                "functions": len(made),
                "called": sum(s["calls"] > 0 for s in stats),
                "graphs": sum(s["graph"] > 0 for s in stats),
                "disproved": sum(s.get("disproved", 0) for s in stats),
            }
        )
        + "\n"
    )
    out.flush()
    # Threads and objects of the tests must not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()
