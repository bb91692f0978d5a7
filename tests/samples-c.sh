#!/bin/sh
# Builds nothing: runs the C samples and compares what they print, times aside.
# SPDX-License-Identifier: Apache-2.0
dir=${JANUS_BUILD:-.}/samples/c
failed=0
expect() { # name, lines wanted at the start of the output, command...
  name=$1 want=$2
  shift 2
  got=$("$@" 2>&1) || { echo "$name: failed"; echo "$got"; failed=1; return; }
  n=$(printf '%s\n' "$want" | wc -l)
  if [ "$(printf '%s\n' "$got" | head -n "$n")" != "$want" ]; then
    printf '%s: expected\n%s\ngot\n%s\n' "$name" "$want" "$got"
    failed=1
  fi
}
last() { "$@" | tail -n 1; }

expect 'fib 20' 'fib(20) = 6765
calls: 21891' "$dir/fib" 20
expect 'fib --depth' 'depth(1000000) = 1000000
calls: 1000001' "$dir/fib" --depth 1000000
expect mlp learned last "$dir/mlp"
expect tree_rnn learned last "$dir/tree_rnn"
exit $failed
