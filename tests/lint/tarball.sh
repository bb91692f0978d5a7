#!/bin/sh
# The tarball holds every file that git knows, apart from those of git and CI.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"
need git
[ -e .git ] || {
  echo "skipped: no git checkout"
  exit 77
}
(cd "$build" && make -s dist >/dev/null) || exit 1
tarball=$(ls "$build"/janus-*.tar.gz)
held=$(tar tzf "$tarball" | sed 's|^[^/]*/||' | sort)
rm -f "$tarball"
for f in $(git ls-files | grep -vE '^\.(git|ci)|(^|/)\.git'); do
  echo "$held" | grep -qxF "$f" || problem "$f is not in the tarball"
done
exit $lint_failed
