#!/bin/sh
# What documents name is there: files they link to or write in backquotes, pictures of modest size, the README's table.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"

for f in README.md CONTRIBUTING.md NEWS.md docs/*.md bench/README.md; do
  here=$(dirname "$f")
  for link in $(grep -oE '\]\([^)# ,]+' "$f" | sed 's/^](//' | grep -v '^[a-z]*:' | grep -E '/$|\.[a-z]+$'); do
    [ -e "$here/$link" ] || problem "$f links to $link, which is not there"
  done
  [ "$f" != docs/roadmap.md ] || continue # names what is not there yet
  # `folder/file.ext` of the project's own folders, from the root or from the document
  for name in $(grep -oE '`\.?/?(graph|ops|exec|pyfront|include|tools|samples|tests|bench|docs|scripts|build-aux|packaging)/[A-Za-z0-9_./-]+`' "$f" |
    tr -d '`' | sed 's,^\./,,' | grep -v /venv); do
    [ -e "$name" ] || [ -e "$here/$name" ] || [ -e "pyfront/$name" ] ||
      ls "$name".* >/dev/null 2>&1 || problem "$f names $name, which is not there"
  done
done
for picture in docs/gallery/*; do
  [ "$(wc -c <"$picture")" -le 200000 ] || problem "$picture: more than 200 kB"
done
for variable in $(grep -oE '^\| `JANUS_[A-Z_]+' docs/debugging.md | grep -oE 'JANUS_[A-Z_]+'); do
  grep -rqE "\"$variable\"|$variable" graph exec ops pyfront build-aux --include='*.c' --include='*.py' --include='*.h' --include='*.in' ||
    problem "docs/debugging.md: nothing reads $variable"
done
if command -v python3 >/dev/null; then
  python3 bench/readme_table.py | while read -r line; do
    grep -qxF "$line" README.md || echo "$line"
  done | grep . && problem "README.md: its table is not what bench/readme_table.py prints"
fi
exit $lint_failed
