#!/bin/sh
# janus-graph: each command once, and its exit status.
# SPDX-License-Identifier: Apache-2.0
graph=${JANUS_BUILD:-.}/tools/janus-graph
golden=${srcdir:-.}/tests/golden
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

check() { # what, expected, got
    if [ "$2" != "$3" ]; then
        printf 'FAIL %s: expected %s, got %s\n' "$1" "$2" "$3"
        failed=1
    fi
}

"$graph" dump "$golden/ir/fib.jir" -o "$tmp/fib.jir"
check "dump" 0 $?
cmp -s "$golden/ir/fib.jir" "$tmp/fib.jir"
check "dump prints the same bytes" 0 $?
"$graph" dump - < "$golden/ir/control.jir" > "$tmp/control.jir"
cmp -s "$golden/ir/control.jir" "$tmp/control.jir"
check "dump of standard input" 0 $?
"$graph" dump -O "$golden/pass/optimize.jir" | cmp -s - "$golden/pass/optimize.out"
check "dump -O optimises" 0 $?

check "run" 6765 "$("$graph" run "$golden/ir/fib.jir" fib 20)"
check "run with a negative argument" -3 "$("$graph" run "$golden/ir/fib.jir" @fib -3)"
cat > "$tmp/run.jir" <<'JIR'
module {
  sub @f(%x: f32[?,2], %k: float, %b: bool) -> (f32[2,?], float, bool) {
    %1 = transpose %x {dim0=0, dim1=1}
    %2 = s.add %k, %k
    %3 = s.not %b
    return %1, %2, %3
  }
}
JIR
check "run with tensors" "f32[2,2](1.0,3.0,2.0,4.0) 0.2 false" \
    "$("$graph" run "$tmp/run.jir" f 'f32[2,2](1,2,3,4)' 0.1 true | tr '\n' ' ' | sed 's/ $//')"
"$graph" run "$tmp/run.jir" f 'f32[2,3](1,2,3,4,5,6)' 0.1 true 2> "$tmp/err"
check "run with a wrong shape" 2 $?
grep -q 'parameter x: expected f32\[?,2\]' "$tmp/err"
check "its message" 0 $?

check "schedule counts the windows" 3 "$("$graph" schedule "$golden/schedule/recursion.jir" | grep -c 'a window of 5 tasks')"
"$graph" schedule "$golden/ir/frames.jir" > /dev/null 2> "$tmp/err"
check "schedule of what needs objects" 2 $?
grep -q 'parameter o, object, cannot be made up' "$tmp/err"
check "its message" 0 $?

for suffix in dot json html jir; do
    "$graph" draw "$golden/ir/frames.jir" "$tmp/frames.$suffix" 2> /dev/null
    check "draw .$suffix" 0 $?
    [ -s "$tmp/frames.$suffix" ]
    check "draw .$suffix writes" 0 $?
done
[ "$("$graph" view "$golden/ir/frames.jir" -o "$tmp/view.html")" = "$tmp/view.html" ]
check "view says where the page is" 0 $?
grep -q '"module":{"subgraphs":\[' "$tmp/view.html"
check "view has the graph" 0 $?
grep -q '"plan":{"plans":\[' "$tmp/view.html"
check "view has the schedule" 0 $?
printf 'module {\n  sub @f(%%x: f32[2]) -> f32[2]\n}\n' > "$tmp/declared.jir"
"$graph" view "$tmp/declared.jir" -o "$tmp/declared.html" > /dev/null
check "view of what cannot run" 0 $?
if command -v dot > /dev/null; then
    "$graph" draw "$golden/ir/frames.jir" "$tmp/frames.svg"
    check "draw .svg" 0 $?
fi
"$graph" draw "$golden/ir/frames.jir" "$tmp/frames.xyz" 2> /dev/null
check "draw of an unknown suffix" 2 $?

"$graph" stats "$golden/ir/frames.jir" | grep -q '^5 SubGraphs, 17 nodes$'
check "stats" 0 $?
"$graph" diff "$golden/ir/fib.jir" "$tmp/fib.jir" > "$tmp/diff"
check "diff of equal modules" 0 $?
[ ! -s "$tmp/diff" ]
check "diff prints nothing then" 0 $?
sed 's/int 2$/int 3/' "$tmp/fib.jir" > "$tmp/other.jir"
"$graph" diff "$tmp/fib.jir" "$tmp/other.jir" > "$tmp/diff"
check "diff of different ones" 1 $?
grep -q '^-    %1 = int 2$' "$tmp/diff" && grep -q '^+    %1 = int 3$' "$tmp/diff"
check "diff shows lines" 0 $?

"$graph" dump "$golden/bad/shape.jir" 2> "$tmp/err"
check "dump of bad text" 2 $?
grep -q 'shape.jir:3:10: ' "$tmp/err"
check "bad text is located" 0 $?
"$graph" dump /nonexistent 2> /dev/null
check "no such file" 2 $?
"$graph" 2> /dev/null
check "no command" 2 $?
exit $failed
