#!/bin/sh
# Sets up, builds, and filters the sample picture and each picture named:
#   scripts/demo.sh [PICTURE...]
# Results, and a sheet "picture | bilateral | edges" for each, are left in out/.
set -eu
here=$(pwd)
cd "$(dirname "$0")/.."
root=$(pwd)
scripts/setup.sh
scripts/build.sh native
mkdir -p out
tg=$root/build/native/tileglass
bilateral="bilateral=sigma_space=3:sigma_range=0.1"
edges="bilateral,gray,sobel"

one() {
    name=${1##*/}
    name=${name%.*}
    echo
    echo "$1"
    "$tg" apply -f "$bilateral" -o "out/$name-bilateral.png" --timings -- "$1"
    "$tg" apply -f "$edges" -o "out/$name-edges.png" -q -- "$1"
    "$tg" sheet -f "$bilateral" -f "$edges" -o "out/$name-sheet.png" -- "$1"
    echo "-> out/$name-bilateral.png, out/$name-edges.png, out/$name-sheet.png"
}

one assets/dusk.jpg
for p; do
    case $p in
    /*) one "$p" ;;
    *) one "$here/$p" ;;
    esac
done
