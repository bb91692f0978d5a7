#!/bin/sh
# Writes configure and the Makefile.in files. Run once in a checkout; `--configure ARGS...` also
# configures (with --enable-maintainer-mode, so that changes of the build files are followed).
# SPDX-License-Identifier: Apache-2.0
set -e
srcdir=$(cd "$(dirname "$0")" && pwd)
for tool in autoconf automake libtoolize; do
  command -v $tool >/dev/null || {
    echo "autogen.sh: $tool not found (Debian, Ubuntu: apt-get install autoconf automake libtool pkg-config)" >&2
    exit 1
  }
done
(cd "$srcdir" && autoreconf --install --warnings=all,no-obsolete,no-portability)
if [ "$1" = --configure ]; then
  shift
  exec "$srcdir/configure" --enable-maintainer-mode "$@"
fi
echo "Now run $0 --configure, or ./configure && make"
