#!/bin/sh
# Makes the environments that the benchmarks' peers live in, each of its own, and nothing else of the
# project uses them: NumPy, PyTorch and Matplotlib in bench/peers/venv, DyNet in bench/peers/venv-dynet.
# Safe to repeat. JANUS_PEERS=DIR puts them in DIR and DIR-dynet (give the benchmarks the same).
# A peer that cannot be installed here is said and left out.
# SPDX-License-Identifier: Apache-2.0
set -e
here=$(cd "$(dirname "$0")" && pwd)
venv=${JANUS_PEERS:-$here/venv}
python=${JANUS_PYTHON:-python3}

# environment FOLDER IMPORTS PACKAGE...
environment() {
  folder=$1
  imports=$2
  shift 2
  if [ ! -x "$folder/bin/python" ]; then
    "$python" -m venv "$folder"
  fi
  if "$folder/bin/python" -c "import $imports" >/dev/null 2>&1; then
    echo "peers: already there, in $folder"
  else
    "$folder/bin/python" -m pip install --quiet "$@"
  fi
}

environment "$venv" 'numpy, torch, matplotlib' numpy torch matplotlib
"$venv/bin/python" -c 'import numpy, torch; print("peers: NumPy", numpy.__version__, "PyTorch", torch.__version__)'

# DyNet's wheels are for CPython 3.7 to 3.11 and were built with NumPy 1.
if environment "$venv-dynet" _dynet 'numpy<2' dynet38 &&
  "$venv-dynet/bin/python" -c 'import _dynet; from importlib.metadata import version; print("peers: DyNet", version("dynet38"))'; then
  :
else
  echo "peers: no DyNet for $("$python" --version): it is left out"
  rm -rf "$venv-dynet"
fi
