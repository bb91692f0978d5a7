#!/bin/sh
# The rooms of graph/, ops/, ops/cpu/, exec/, pyfront/ and pyfront/convert/: who may use whom are the tables in docs/ARCHITECTURE.md,
# over includes and over symbols.  A room named `.` is what lies in the folder itself: its ground.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/common.sh"

# house NAME [KINDS]: holds the folder against its table; KINDS: nm's letters of what counts as used.
house() {
  house=$1
  kinds=${2:-TDBRC}
  # The table's rows, from the bottom to the top: | `room` | `lower` `rooms` or nothing | what it is |.
  rooms=$(sed -n "\\#^<!-- rooms of $house -->\$#,/^<!-- end of rooms -->\$/p" docs/ARCHITECTURE.md | grep '^| `' |
    awk -F'|' '{ gsub(/`/, ""); gsub(/ +/, " "); print $2 ":" $3 }' | sed 's/^ *//; s/ *: */:/; s/ *$//')
  [ -n "$rooms" ] || problem "docs/ARCHITECTURE.md: the table of the rooms of $house/ is not found"

  names=
  for room in $(echo "$rooms" | cut -d: -f1); do
    for lower in $(echo "$rooms" | grep "^$room:" | cut -d: -f2); do
      case " $names " in
      *" $lower "*) ;;
      *) problem "docs/ARCHITECTURE.md: $room may use $lower, which does not stand above it in the table" ;;
      esac
    done
    names="$names $room"
  done
  for folder in "$house"/*/; do
    folder=$(basename "$folder")
    [ -n "$(find "$house/$folder" -name '*.[ch]' -print -quit)" ] || continue
    case " $names " in
    *" $folder "*) ;;
    *) problem "$house/$folder is no room of the table in docs/ARCHITECTURE.md" ;;
    esac
    [ "$(find "$house/$folder" -maxdepth 1 -name '*.[ch]' | wc -l)" -le 25 ] || problem "$house/$folder has more than 25 files"
  done
  # but for the one header of a house that is a room of another one
  own=$house/$(basename "$house").h
  bad=$(find "$house" -maxdepth 1 -name '*.[ch]' ! -path "$own")
  case " $names " in *" . "*) bad= ;; esac
  [ "$(find "$house" -maxdepth 1 -name '*.[ch]' | wc -l)" -le 25 ] || problem "$house has more than 25 files of its own"
  [ -z "$bad" ] || problem "a file of $house/ belongs into a room:
$bad"

  # Includes: of its own room any header, of an allowed room its one header.
  for room in $names; do
    allowed=$(echo "$rooms" | grep "^$room:" | cut -d: -f2)
    pattern="$(inside "$room")|$own"
    for lower in $allowed; do pattern="$pattern|$(front "$lower")"; done
    bad=$(find "$house/$room" $(depth "$room") -name '*.[ch]' -exec grep -nE "^ *# *include +\"$house/" {} + | grep -vE "\"($pattern)")
    [ -z "$bad" ] || problem "$house/$room may include of other rooms only the headers of:$allowed
$bad"
  done

  # Symbols: `defined room name` and `used room name object` of all objects, then each use looked up.
  command -v nm >/dev/null && [ -d "$build/$house" ] || return
  for room in $names; do
    find "$build/$house/$room" $(depth "$room" 2) -name '*.o' -path '*/.libs/*' | while read -r object; do
      source=$(echo "$object" | sed -E "s#^$build/##; s#/\./#/#; s#/.libs/#/#; s#\\.o\$#.c#; s#/(lib[a-z0-9_]*|_C)_la-#/#")
      [ -f "$source" ] || continue # of a file that has gone
      nm "$object" | awk -v room="$room" -v source="$source" '
        $(NF - 1) ~ /^['"$kinds"']$/ { print "defined", room, $NF }
        $(NF - 1) == "U" { print "used", room, $NF, source }'
    done
  done >"$build/rooms.symbols"
  bad=$(echo "$rooms" | awk -v symbols="$build/rooms.symbols" -v house="$house" -F: '
    { n = split($2, lower, " "); for (i = 1; i <= n; i++) may[$1, lower[i]] = 1; may[$1, $1] = 1 }
    END {
      while ((getline line < symbols) > 0) { split(line, f, " "); if (f[1] == "defined") home[f[3]] = f[2] }
      close(symbols)
      while ((getline line < symbols) > 0) {
        split(line, f, " ")
        if (f[1] == "used" && f[3] in home && !((f[2], home[f[3]]) in may))
          print f[4] " uses " f[3] " of " house "/" home[f[3]]
      }
    }')
  rm -f "$build/rooms.symbols"
  [ -z "$bad" ] || problem "these uses of functions are not in the table of rooms:
$bad"
}

# depth ROOM [DEPTH]: find's options that keep to the files of the room `.`.
depth() { [ "$1" != . ] || echo "-maxdepth ${2:-1}"; }

# inside ROOM: its own headers.
inside() { if [ "$1" = . ]; then echo "$house/([a-z_]*\.(h|def)|def/)"; else echo "$house/$1/"; fi; }

# front ROOM: what others may include of it.  The ground of a house has a header for each of its things.
front() {
  case $house/$1 in
  */.) echo "$house/[a-z_]*\.(h|def)\"" ;;
  ops/cpu) echo "ops/cpu/([a-z]*|select/select)\.h\"" ;; # a house of its own
  graph/base | pyfront/base | pyfront/convert/core) echo "$house/$1/[a-z]*\\.h\"" ;;
  # a table of rows that each who includes it makes something else of
  pyfront/convert/model) echo "$house/$1/(model\\.h|slots\\.def)\"" ;;
  *) echo "$house/$1/$1\\.h\"" ;;
  esac
}

house graph
# Of the op table all rooms read the rows, which are data, and only `table` names what the rows name: functions count.
house ops T
house ops/cpu
house exec
house pyfront
house pyfront/convert

# What a room of exec/ keeps of a run (jn_run.of_ROOM, exec/state/state.h) is touched by its own files alone.
kept=$(grep -oE '\bof_[a-z]+;' exec/state/state.h | sed 's/of_//; s/;//' | sort -u)
[ "$(echo "$kept" | wc -l)" -gt 2 ] || problem "exec/state/state.h: the rooms' parts of jn_run are not found"
for room in $kept; do
  bad=$(find exec -name '*.[ch]' ! -path "exec/$room/*" -exec grep -nE "(->|\.)of_$room\b" {} +)
  [ -z "$bad" ] || problem "what exec/$room keeps of a run is not for others:
$bad"
done

# The layers above include of graph/ only the rooms' own headers.
bad=$(find ops exec -name '*.[ch]' -exec grep -nE '^ *# *include +"graph/' {} + |
  grep -vE '"graph/(base/[a-z]*|ir/ir|text/text|passes/passes|autodiff/autodiff|draw/draw)\.h"')
[ -z "$bad" ] || problem "of graph/ other layers may include the headers of its rooms only:
$bad"

# What pyfront/ may include of the rooms, and of graph/ and ops/: the list in docs/ARCHITECTURE.md.
open=$(sed -n '/^<!-- open to pyfront -->$/,/^<!-- end of open -->$/p' docs/ARCHITECTURE.md |
  grep -oE '(exec|graph|ops)/[a-z_/]+\.(h|def)')
[ -n "$open" ] || problem "docs/ARCHITECTURE.md: the list of headers open to pyfront/ is not found"
pattern=$(echo "$open" | sed 's/\./\\./g' | paste -sd'|' -)
bad=$(find pyfront -name '*.[ch]' -exec grep -nE '^ *# *include +"(exec|graph|ops)/' {} + | grep -vE "\"($pattern)\"")
[ -z "$bad" ] || problem "pyfront/ may include only what docs/ARCHITECTURE.md lists as open to it:
$bad"
for header in $open; do
  [ -f "$header" ] || problem "docs/ARCHITECTURE.md: $header is open to pyfront/ and does not exist"
done

exit $lint_failed
