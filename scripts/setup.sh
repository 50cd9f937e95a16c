#!/bin/sh
# Installs what the build needs and this machine lacks (Debian, Ubuntu). Does nothing where all is there.
#   scripts/setup.sh          to build and test
#   scripts/setup.sh --style  also clang-format and clang-tidy
set -eu

want="cmake ninja-build gcc libc6-dev libpng-dev libjpeg-dev"
[ "${1-}" = --style ] && want="$want clang-format clang-tidy"

missing=""
for p in $want; do
    case "$(dpkg-query -W -f='${db:Status-Abbrev}' "$p" 2>/dev/null || true)" in
    ii*) ;;
    *)
        # What does the package's work may have come another way.
        case $p in
        cmake) command -v cmake >/dev/null || missing="$missing $p" ;;
        ninja-build) command -v ninja >/dev/null || missing="$missing $p" ;;
        gcc) command -v cc >/dev/null || missing="$missing $p" ;;
        clang-format | clang-tidy) command -v "$p" >/dev/null || missing="$missing $p" ;;
        libpng-dev) echo '#include <png.h>' | cc -E - >/dev/null 2>&1 || missing="$missing $p" ;;
        libjpeg-dev) printf '#include <stdio.h>\n#include <jpeglib.h>\n' | cc -E - >/dev/null 2>&1 || missing="$missing $p" ;;
        *) missing="$missing $p" ;;
        esac
        ;;
    esac
done
[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "setup: please install:$missing" >&2
    exit 1
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: need root, or sudo, to install:$missing" >&2; exit 1; }
    sudo=sudo
fi
echo "setup: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
