# SPDX-License-Identifier: Apache-2.0
"""Whether a wheel or source distribution (argument 1) has what it should, nothing else, and at most so many MB (2)."""
import os
import sys
import tarfile
import zipfile

path, limit = sys.argv[1], int(sys.argv[2])
size = os.path.getsize(path)
if path.endswith(".whl"):
    assert "manylinux" in os.path.basename(path), "not repaired"
    names = zipfile.ZipFile(path).namelist()
    wanted = ["janus/__init__.py", "janus/__init__.pyi", "janus/py.typed", "janus/nn/module.py", "/METADATA", "/LICENSE",
              "janus/_C.", "libdnnl", "libcjson", "libgomp", "janus-graph"]
    unwanted = ["tests/", ".la", ".a", ".o", "__pycache__", "libOpenCL", "libcuda"]
else:
    names = [name.partition("/")[2] for name in tarfile.open(path).getnames()]
    wanted = ["configure", "Makefile.in", "pyproject.toml", "PKG-INFO", "LICENSE", "pyfront/module/module.c", "ops/ops.def",
              "pyfront/janus/__init__.pyi", "build-aux/janus_build.py", "tests/py/conftest.py", "docs/tutorial.md",
              "docs/reference/conf.py"]
    unwanted = [".git/", ".o", ".lo", "__pycache__", ".pytest_cache", "autom4te.cache"]
missing = [w for w in wanted if not any(w in name for name in names)]
extra = [name for name in names for u in unwanted if name.endswith(u) or u.endswith("/") and name.startswith(u) or f"/{u}/" in name]
assert not missing, f"missing: {missing}"
assert not extra, f"not wanted: {extra[:10]}"
assert size < limit * 1e6, f"{size} bytes, at most {limit} MB"
print(f"{len(names)} files, {size / 1e6:.1f} MB")
