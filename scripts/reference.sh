#!/bin/sh
# Builds the API reference as HTML from the docstrings of a built package, with Sphinx.
#   scripts/reference.sh BUILD [DIR]     BUILD: a build folder; DIR: where to put it (BUILD/reference)
# Sphinx is installed into a virtual environment under BUILD (JANUS_SPHINX=PYTHON: one that has it). A warning is a failure.
# SPDX-License-Identifier: Apache-2.0
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?a build folder}" && pwd) || exit 2
out=${2:-$build/reference}
logs=$build
. "$root/scripts/lib.sh"

python=${JANUS_SPHINX:-}
if [ -z "$python" ]; then
  venv "$build/venv-sphinx" "$("$build/run" python3 -c 'import sys; print(sys.executable)')" sphinx || exit 77
  python=$build/venv-sphinx/bin/python
fi
# The pages are written beside the configuration: in a copy.
rm -rf "$build/reference-source"
cp -R "$root/docs/reference" "$build/reference-source" && chmod -R u+w "$build/reference-source" || exit 1
JANUS_SOURCE=$root "$build/run" "$python" -m sphinx -q -W --keep-going -E -b html "$build/reference-source" "$out" || exit 1
say "reference: $out/index.html, $(find "$out" -name '*.html' | wc -l) pages"
