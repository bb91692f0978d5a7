#!/bin/sh
# clang-tidy with the checks of .clang-tidy finds nothing in the core.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"
need clang-tidy
python=$("$(pwd)/run" python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
files '*.c' | grep -E '^(graph|ops|exec|tools|pyfront)/' |
  { if [ -n "$python" ]; then cat; else grep -v '^pyfront/'; fi; } |
  xargs -n 8 -P "$(nproc 2>/dev/null || echo 2)" sh -c '
    python=$0 build=$1
    shift
    clang-tidy --quiet --warnings-as-errors="*" "$@" -- -std=gnu17 -DJN_ISA=generic -DJANUS_MODULE_DIR="\"\"" -I"$build" -I. -Iinclude \
      ${python:+-I"$python"} 2>/dev/null' "$python" "$build"
