#!/bin/sh
# Sets up, builds and runs every test. What needs a card says SKIP where there is none.
set -eu
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/build.sh native "$@"
ctest --test-dir build/native --output-on-failure -j "$(nproc)"
