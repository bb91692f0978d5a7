# Start of every lint script: the source folder becomes the working folder; `files GLOB...` lists.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
cd "${srcdir:-$(dirname "$0")/../..}" || exit 99
build=${JANUS_BUILD:-build}
lint_failed=0

# files GLOB...: the project's own files of these names, sorted.
files() {
  set -f
  names=
  for glob in "$@"; do
    names="$names -o -name $glob"
  done
  # shellcheck disable=SC2086
  find graph ops exec include pyfront tools samples tests bench \
    \( -name build -o -name .libs -o -name __pycache__ \) -prune -o -type f \( ${names# -o} \) -print | sort
  set +f
}

# problem TEXT: something to be put right.
problem() {
  echo "$*"
  lint_failed=1
}

# need COMMAND: skips the test without it.
need() {
  command -v "$1" >/dev/null || {
    echo "skipped: $1 not found"
    exit 77
  }
}
