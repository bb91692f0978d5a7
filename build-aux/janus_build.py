# SPDX-License-Identifier: Apache-2.0
"""PEP 517 backend: a wheel is what `configure && make install` puts into site-packages.

No requirements, hence no build isolation to download. The sources are built in a temporary folder;
a source tree that is configured in place is copied there first, because VPATH builds refuse it.
`pip install . -C configure="--without-onednn"` passes arguments to configure; `-C builddir=DIR` keeps the build folder,
so that wheels for several Pythons compile the core once.
"""
import base64
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

NAME = "janus_engine"
PREFIX = "/janus-wheel"
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _version():
    with open(os.path.join(SOURCE, "configure.ac"), encoding="utf-8") as f:
        return re.search(r"AC_INIT\(\[janus\], \[([^]]+)\]", f.read()).group(1)


def _metadata():
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    return (
        "Metadata-Version: 2.1\n"
        "Name: janus-engine\n"
        f"Version: {_version()}\n"
        "Summary: Speculative symbolic-graph engine for imperative deep-learning programs\n"
        "License: Apache-2.0\n"
        "Requires-Python: >=3.10\n"
        "Description-Content-Type: text/markdown\n"
        "\n" + readme
    )


def _run(command, cwd):
    print("+", shlex.join(command), flush=True)
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"janus: `{shlex.join(command)}` failed with status {done.returncode}")


def _source_to_build_from(work):
    """The folder to build from: the source itself, or a copy if it is configured in place."""
    source = SOURCE
    if os.path.exists(os.path.join(source, "config.status")):
        source = os.path.join(work, "source")
        skip = shutil.ignore_patterns(
            ".git", "build", "_build*", "*.o", "*.lo", "*.la", ".libs", "pylib", "config.status",
            "config.h", "Makefile", "janus-*", "__pycache__",
        )
        shutil.copytree(SOURCE, source, ignore=skip, symlinks=True)
    if not os.path.exists(os.path.join(source, "configure")):
        _run([os.path.join(source, "autogen.sh")], source)
    return source


def _configure(work, settings, *extra):
    """A configured build folder: a new one, or the one that is kept, in which another Python's objects are removed."""
    build = os.path.abspath((settings or {}).get("builddir", os.path.join(work, "build")))
    os.makedirs(build, exist_ok=True)
    source = _source_to_build_from(work)
    arguments = shlex.split((settings or {}).get("configure", ""))
    for folder in ("pyfront", "pylib"):
        shutil.rmtree(os.path.join(build, folder), ignore_errors=True)
    _run([os.path.join(source, "configure"), "--quiet", "--disable-werror", *extra, *arguments], build)
    return build


def _jobs():
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _files(folder):
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for name in sorted(names):
            path = os.path.join(here, name)
            yield path, os.path.relpath(path, folder).replace(os.sep, "/")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = f"{python}-{python}-{platform}"
    version = _version()
    info = f"{NAME}-{version}.dist-info"
    wheel = f"{NAME}-{version}-{tag}.whl"
    with tempfile.TemporaryDirectory(prefix="janus-wheel-") as work:
        build = _configure(
            work, config_settings, f"--prefix={PREFIX}", "--with-python", f"PYTHON={sys.executable}"
        )
        _run(["make", f"-j{_jobs()}"], build)
        stage = os.path.join(work, "stage")
        _run(["make", "install", f"DESTDIR={stage}"], build)
        root = stage + PREFIX
        members = []
        lib = os.path.join(root, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}")
        for path, name in _files(os.path.join(lib, "site-packages")):
            members.append((name, path))
        bin_folder = os.path.join(root, "bin")
        if os.path.isdir(bin_folder):
            for path, name in _files(bin_folder):
                members.append((f"{NAME}-{version}.data/scripts/{name}", path))
        record = []
        target = os.path.join(wheel_directory, wheel)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as z:

            def add(name, data, mode):
                entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o100000 | mode) << 16
                z.writestr(entry, data)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
                record.append(f"{name},sha256={digest.decode()},{len(data)}")

            for name, path in members:
                with open(path, "rb") as f:
                    add(name, f.read(), 0o755 if os.access(path, os.X_OK) else 0o644)
            add(f"{info}/METADATA", _metadata().encode(), 0o644)
            with open(os.path.join(SOURCE, "LICENSE"), "rb") as f:
                add(f"{info}/LICENSE", f.read(), 0o644)
            text = f"Wheel-Version: 1.0\nGenerator: janus\nRoot-Is-Purelib: false\nTag: {tag}\n"
            add(f"{info}/WHEEL", text.encode(), 0o644)
            record.append(f"{info}/RECORD,,")
            z.writestr(f"{info}/RECORD", "\n".join(record) + "\n")
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    version = _version()
    name = f"{NAME}-{version}"
    with tempfile.TemporaryDirectory(prefix="janus-sdist-") as work:
        build = _configure(work, config_settings, "--without-cuda")
        _run(["make", "dist"], build)
        target = os.path.join(sdist_directory, f"{name}.tar.gz")
        with tarfile.open(os.path.join(build, f"janus-{version}.tar.gz")) as old, tarfile.open(
            target, "w:gz", format=tarfile.PAX_FORMAT
        ) as new:
            for member in old:
                data = old.extractfile(member) if member.isfile() else None
                member.name = name + member.name[len(f"janus-{version}"):]
                new.addfile(member, data)
            text = _metadata().encode()
            entry = tarfile.TarInfo(f"{name}/PKG-INFO")
            entry.size = len(text)
            new.addfile(entry, io.BytesIO(text))
    return f"{name}.tar.gz"
