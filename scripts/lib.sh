# Functions shared by the scripts of this folder; to be read with `.`, after root has been set.
#
# What the machine lacks is installed (Debian packages with apt-get, Python packages with pip into
# virtual environments under the build folder). What cannot be installed is said once, plainly.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh

export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1
unset PYTHONPATH PYTHONHOME MAKEFLAGS

jobs=$(nproc 2>/dev/null || echo 2)

say() {
  printf '%s\n' "$*"
}

# cannot REASON...: something this machine does not allow; not a failure by itself.
cannot() {
  printf 'cannot: %s\n' "$*"
}

# as_root COMMAND...: runs it as root, or fails without asking for a password.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n "$@"
  else
    return 1
  fi
}

have_debian_package() {
  case $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) in
  *' installed') return 0 ;;
  *) return 1 ;;
  esac
}

# install_debian PACKAGE...: installs those that are missing; false if one is still missing after that.
install_debian() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    cannot "install packages: this is no Debian or Ubuntu; wanted are the equivalents of: $*"
    return 1
  fi
  missing=
  for package in "$@"; do
    have_debian_package "$package" || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  if ! as_root true; then
    cannot "install packages: neither root nor sudo without a password. Please run: apt-get install$missing"
    return 1
  fi
  say "installing:$missing"
  # shellcheck disable=SC2086
  if ! as_root apt-get install -y -qq --no-install-recommends $missing >"$logs/apt.log" 2>&1; then
    as_root apt-get update -qq >"$logs/apt-update.log" 2>&1 ||
      cannot "refresh the package lists (no network?)"
    # shellcheck disable=SC2086
    if ! as_root apt-get install -y -qq --no-install-recommends $missing >"$logs/apt.log" 2>&1; then
      # One unknown package must not keep the others out.
      for package in $missing; do
        as_root apt-get install -y -qq --no-install-recommends "$package" >>"$logs/apt.log" 2>&1
      done
    fi
  fi
  still=
  for package in $missing; do
    have_debian_package "$package" || still="$still $package"
  done
  [ -z "$still" ] && return 0
  cannot "install$still (no network, or unknown to this release; see $logs/apt.log)"
  return 1
}

# python_usable PATH: true if that interpreter is CPython 3.10 to 3.14 with headers and venv.
python_usable() {
  "$1" - <<'PY' >/dev/null 2>&1
import os, sys, sysconfig, ensurepip, venv
ok = (3, 10) <= sys.version_info[:2] <= (3, 14) and sys.implementation.name == "cpython"
sys.exit(not (ok and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))))
PY
}

# find_pythons: one line `X.Y PATH` for each usable minor version that PATH, pyenv or the system has.
find_pythons() {
  {
    for minor in 10 11 12 13 14; do
      command -v "python3.$minor"
    done
    command -v python3
    [ -x /usr/bin/python3 ] && echo /usr/bin/python3
    if command -v pyenv >/dev/null; then
      for found in "$(pyenv root)"/versions/*/bin/python3; do
        [ -x "$found" ] && echo "$found"
      done
    fi
  } 2>/dev/null | while read -r found; do
    real=$("$found" -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.executable)' 2>/dev/null) ||
      continue
    python_usable "${real#* }" && echo "$real"
  done | sort -t. -k2,2n -s | awk '!seen[$1]++'
}

# default_python: the interpreter that `python3` is, if usable, else the newest usable one; installs
# Debian's if there is none.
default_python() {
  found=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
  if [ -n "$found" ] && python_usable "$found"; then
    echo "$found"
    return 0
  fi
  found=$(find_pythons | tail -n 1)
  if [ -z "$found" ]; then
    install_debian python3 python3-dev python3-venv >&2
    found=$(find_pythons | tail -n 1)
  fi
  [ -n "$found" ] && echo "${found#* }"
}

# venv DIR PYTHON PACKAGE...: a virtual environment with the packages; repeated calls cost nothing.
venv() {
  venv_dir=$1 venv_python=$2
  shift 2
  stamp="$("$venv_python" -VV | tr '\n' ' ') $*"
  [ "$(cat "$venv_dir/janus-stamp" 2>/dev/null)" = "$stamp" ] && return 0
  rm -rf "$venv_dir"
  if ! "$venv_python" -m venv "$venv_dir" >"$logs/venv.log" 2>&1; then
    cannot "make a virtual environment with $venv_python (see $logs/venv.log)"
    return 1
  fi
  if [ $# -gt 0 ] && ! "$venv_dir/bin/python" -m pip install -q "$@" >"$logs/pip.log" 2>&1; then
    cannot "install $* with pip (no network? see $logs/pip.log)"
    return 1
  fi
  printf '%s' "$stamp" >"$venv_dir/janus-stamp"
}

# ensure_configure: (re)generates configure when a file it is made from is newer.
ensure_configure() {
  if [ -f "$root/config.status" ]; then
    say "the source folder is configured in place; run \`make distclean\` in it first"
    return 1
  fi
  if [ -f "$root/configure" ] && [ -f "$root/Makefile.in" ]; then
    newer=$(find "$root/configure.ac" "$root/Makefile.am" "$root"/m4/jn_*.m4 "$root"/*/local.mk \
      "$root"/*/*/local.mk -newer "$root/Makefile.in" 2>/dev/null)
    # A tarball's time stamps are in order; a checkout's are arbitrary.
    [ -z "$newer" ] && return 0
    [ -e "$root/.git" ] || return 0
  fi
  install_debian autoconf automake libtool pkg-config || command -v autoreconf >/dev/null || return 1
  "$root/autogen.sh" >"$logs/autogen.log" 2>&1 || {
    cat "$logs/autogen.log"
    return 1
  }
}

# use_ccache: compilers through ccache where it is found; one cache serves all build folders.
use_ccache() {
  ccache=
  if command -v ccache >/dev/null; then
    ccache='ccache '
    export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros
  fi
}
