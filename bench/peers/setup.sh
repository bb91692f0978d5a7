#!/bin/sh
# Makes the environment that the benchmarks' peers live in: NumPy and PyTorch, in a virtual
# environment of their own that nothing else of the project uses. Safe to repeat.
# JANUS_PEERS=DIR puts it somewhere else than bench/peers/venv (give the benchmarks the same).
# SPDX-License-Identifier: Apache-2.0
set -e
here=$(cd "$(dirname "$0")" && pwd)
venv=${JANUS_PEERS:-$here/venv}
python=${JANUS_PYTHON:-python3}
if [ ! -x "$venv/bin/python" ]; then
  "$python" -m venv "$venv"
fi
if "$venv/bin/python" -c 'import numpy, torch' 2>/dev/null; then
  echo "peers: already there, in $venv"
else
  "$venv/bin/python" -m pip install --quiet numpy torch
fi
"$venv/bin/python" -c 'import numpy, torch; print("peers: NumPy", numpy.__version__, "PyTorch", torch.__version__)'
