#!/bin/sh
# Configures and builds one preset: scripts/build.sh PRESET [cmake options]. Quiet unless something is wrong.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
mkdir -p build
log=build/$preset.log
if ! { cmake --preset "$preset" "$@" && cmake --build --preset "$preset"; } >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "build: failed; the whole log is $log" >&2
    exit 1
fi
grep -h '^-- tileglass:' "$log" | sed 's/^-- //' >&2 || true
grep -h -A3 'warning:' "$log" >&2 || true
