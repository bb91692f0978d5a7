#!/bin/sh
# Debian packages (libjanus0, libjanus-dev, python3-janus-engine, janus-tools), built from a source archive, checked by
# lintian, unpacked and tried: a C program against the library, a recursive network in Python, janus-graph.
#   scripts/deb.sh [DIR]     writes them to DIR (build/deb); the last line printed is `N passed, N failed`
# What cannot be had (not Debian, no network) is said, and the status is 77.
# SPDX-License-Identifier: Apache-2.0
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/deb}
mkdir -p "$out/logs" && out=$(cd "$out" && pwd) || exit 1
logs=$out/logs
. "$root/scripts/lib.sh"
passed=0 failed=0

# step NAME COMMAND...: its output in logs/NAME.log; counted, and shown where it fails.
step() {
  step_name=$1
  shift
  if "$@" >"$logs/$step_name.log" 2>&1 </dev/null; then
    passed=$((passed + 1))
    say "$step_name: passed"
  else
    failed=$((failed + 1))
    say "$step_name: FAILED; the end of $logs/$step_name.log:"
    tail -n 30 "$logs/$step_name.log" | sed 's/^/    /'
    return 1
  fi
}

install_debian gcc libc6-dev make pkg-config dpkg-dev debhelper dh-python python3-dev uthash-dev libdnnl-dev libcjson-dev ||
  exit 77
install_debian lintian
ensure_configure || exit 1
version=$(sed -n 's/^AC_INIT(\[janus\], \[\([^]]*\)\].*/\1/p' "$root/configure.ac")
arch=$(dpkg --print-architecture)

# The archive as `make dist` makes it, without a build: only configured.
archive() {
  rm -rf "$out/dist" "$out/source" && mkdir "$out/dist" "$out/source" && cd "$out/dist" &&
    "$root/configure" --quiet --without-cuda --without-python && make -s dist &&
    tar -xzf "janus-$version.tar.gz" -C "$out/source" --strip-components=1 &&
    cp -R "$root/packaging/debian" "$out/source/debian" && cd "$out/source" &&
    # packages of a version that is not released yet sort before it
    printf 'janus (%s) unstable; urgency=medium\n\n  * See NEWS.md.\n\n -- janus developers <janus@localhost>  %s\n' \
      "$version" "$(date -R -u -d @"${SOURCE_DATE_EPOCH:-0}")" >debian/changelog
}

build_packages() {
  rm -f "$out"/*.deb
  cd "$out/source" && DEB_BUILD_OPTIONS="parallel=$jobs ${DEB_BUILD_OPTIONS:-}" PATH=/usr/sbin:/usr/bin:/sbin:/bin dpkg-buildpackage -us -uc -b
}

lint() {
  # Tags of errors fail; the others are printed. The project has no address that mail reaches.
  lintian --fail-on error --tag-display-limit 0 --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$out/janus_${version}_$arch.changes"
}

unpack() {
  rm -rf "$out/root" && mkdir "$out/root" && for deb in "$out"/*_"$arch".deb; do
    case $deb in
    *-dbgsym_*) ;;
    *) dpkg-deb -x "$deb" "$out/root" || return 1 ;;
    esac
  done
}

try_c() {
  lib=$(dirname "$(find "$out/root/usr/lib" -name libjanus.so.0)")
  PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$out/root
  export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
  # shellcheck disable=SC2046
  gcc -o "$out/fib" "$root/samples/c/fib.c" $(pkg-config --cflags --libs janus) &&
    said=$(LD_LIBRARY_PATH=$lib "$out/fib" 20) && echo "$said" && case $said in *6765*) true ;; *) false ;; esac
}

try_python() {
  cd / && env -u LD_LIBRARY_PATH PYTHONPATH="$out/root/usr/lib/python3/dist-packages" /usr/bin/python3 \
    "$root/tests/wheel/try.py" "$out/root/usr" system
}

try_tool() {
  [ "$("$out/root/usr/bin/janus-graph" run "$root/tests/golden/ir/fib.jir" fib 20)" = 6765 ] &&
    [ -f "$out/root/usr/share/man/man1/janus-graph.1.gz" ]
}

if step archive archive && step packages build_packages && step unpack unpack; then
  if command -v lintian >/dev/null; then
    step lintian lint
  else
    cannot "run lintian: not installed"
  fi
  step c-program try_c
  step python try_python
  step janus-graph try_tool
  ls -l "$out"/*.deb | awk '{ n = split($NF, part, "/"); printf "  %s: %d KiB\n", part[n], $5 / 1024 }'
fi
say "$passed passed, $failed failed"
[ "$failed" = 0 ]
