#!/bin/sh
# Runs opencv.py where there is python3; it needs cv2 4.x besides.
#   tests/opencv.sh PROGRAM
command -v python3 >/dev/null || { echo "SKIP no python3"; exit 77; }
exec python3 "$(dirname "$0")/opencv.py" "$1"
