#!/bin/sh
# Builds for the card in this machine, without window and video, and runs all that needs a card:
#   scripts/gpu.sh DIR
# the tests labelled gpu, every variant against its definition, and the same on small sizes under compute-sanitizer.
# Logs, and <card>.txt with the tables, are left in DIR. Exits non-zero where anything failed; later steps run all the same.
set -u
[ $# -eq 1 ] || { echo "usage: scripts/gpu.sh DIR" >&2; exit 2; }
mkdir -p "$1" && dir=$(cd "$1" && pwd) || exit 2
cd "$(dirname "$0")/.." || exit 2
build=build/gpu
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
jobs=$(nproc)
failed=0
table=""

query() {
    nvidia-smi --query-gpu="$1" --format=csv,noheader -i 0 2>/dev/null
}
card=$(query name)
[ -n "$card" ] || { echo "gpu: nvidia-smi finds no card" >&2; exit 3; }
report=$dir/$(echo "$card" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-').txt

# step NAME SECONDS COMMAND...: runs it into NAME.log and keeps its verdict.
step() {
    name=$1 limit=$2 start=$(date +%s)
    shift 2
    timeout -k 5 "$limit" "$@" >"$dir/$name.log" 2>&1
    code=$?
    case $code in
    0) verdict=passed ;;
    124 | 137) verdict="stopped after $limit s" ;;
    *) verdict="FAILED ($code)" ;;
    esac
    [ $code -eq 0 ] || failed=1
    table="$table$(printf '%-12s %-22s %4d s' "$name" "$verdict" $(($(date +%s) - start)))
"
    return $code
}

# A device on which nothing ran must not look like one on which all passed.
ran() {
    if grep -q "$2" "$dir/$1.log"; then
        return 0
    fi
    failed=1
    table="$table$(printf '%-12s %s' "$1" "FAILED: it ran nothing ($2 is not in its log)")
"
}

finish() {
    {
        echo "card      $card, compute capability $(query compute_cap), $(query memory.total)"
        echo "driver    $(query driver_version)"
        echo "nvcc      $(nvcc --version 2>/dev/null | sed -n 's/^.*release .*, V//p')"
        echo "date      $(date -u +%Y-%m-%d)"
        echo "commit    $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
        echo
        printf '%s' "$table"
        if [ -s "$dir/check.log" ]; then
            echo
            cat "$dir/check.log"
        fi
        for tool in memcheck packing racecheck; do
            if [ -s "$dir/$tool.log" ]; then
                echo
                echo "$tool: $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$dir/$tool.log" | tail -n 1 | sed 's/^=* *//')"
            fi
        done
    } >"$report"
    echo
    echo "$card: $report"
    printf '%s' "$table"
    exit $failed
}

generator=""
command -v ninja >/dev/null && generator="-G Ninja"
# shellcheck disable=SC2086
step configure 60 cmake -S . -B $build $generator -DCMAKE_BUILD_TYPE=Release -DTG_CUDA=ON -DTG_WINDOW=OFF -DTG_VIDEO=OFF ||
    { tail -n 30 "$dir/configure.log"; finish; }
step build 900 cmake --build $build -j "$jobs" || { tail -n 40 "$dir/build.log"; finish; }

step ctest 150 ctest --test-dir $build -L gpu --output-on-failure || tail -n 60 "$dir/ctest.log"
ran ctest 'check_gpu .*Passed'
step check 180 $build/tileglass check --device cuda:0 || tail -n 60 "$dir/check.log"
ran check 'sobel .* ok$'

if command -v compute-sanitizer >/dev/null; then
    sanitize() {
        tool=$1 name=$2 limit=$3
        shift 3
        step "$name" "$limit" compute-sanitizer --error-exitcode 9 --tool "$tool" "$@" || tail -n 40 "$dir/$name.log"
    }
    sanitize memcheck memcheck 120 $build/tileglass check --quick --device cuda:0
    ran memcheck 'sobel .* ok$'
    sanitize memcheck packing 60 $build/test_cuda packing copies
    ran packing '^2 passed'
    sanitize racecheck racecheck 150 $build/tileglass check --quick --device cuda:0
    ran racecheck 'sobel .* ok$'
else
    table="${table}compute-sanitizer is not there: memcheck and racecheck did not run
"
fi
finish
