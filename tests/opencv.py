#!/usr/bin/env python3
"""The same calls in OpenCV 4, on photographs, 8-bit gray and RGB: within one level everywhere.
    tests/opencv.py PROGRAM
Skipped (exit 77) where python3 has no cv2."""
import os
import subprocess
import sys
import tempfile

try:
    import cv2
    import numpy as np
except ImportError:
    print("SKIP python3 has no cv2")
    sys.exit(77)
if not cv2.__version__.startswith("4."):
    print("SKIP OpenCV is", cv2.__version__, "not 4")
    sys.exit(77)

program = sys.argv[1]
assets = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "assets")


def magnitude(image):
    gx = cv2.Sobel(image, cv2.CV_32F, 1, 0)
    gy = cv2.Sobel(image, cv2.CV_32F, 0, 1)
    return np.clip(np.floor(np.sqrt(gx * gx + gy * gy) + 0.5), 0, 255).astype(np.uint8)


sharpen = np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], np.float32)
emboss = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)
calls = {
    "bilateral": lambda im: cv2.bilateralFilter(im, -1, 25.5, 3),
    "bilateral=sigma_space=1:sigma_range=0.3": lambda im: cv2.bilateralFilter(im, -1, 76.5, 1),
    "bilateral=sigma_space=5:sigma_range=0.05": lambda im: cv2.bilateralFilter(im, -1, 12.75, 5),
    "convolve": lambda im: cv2.filter2D(im, -1, sharpen),
    "convolve=emboss": lambda im: cv2.filter2D(im, -1, emboss),
    "gaussian": lambda im: cv2.GaussianBlur(im, (0, 0), 3),
    "gaussian=1": lambda im: cv2.GaussianBlur(im, (0, 0), 1),
    "gaussian=sigma=2:border=reflect": lambda im: cv2.GaussianBlur(im, (0, 0), 2, borderType=cv2.BORDER_REFLECT),
    "sobel": magnitude,
}

passed = failed = 0
with tempfile.TemporaryDirectory() as folder:
    source, result = os.path.join(folder, "in.png"), os.path.join(folder, "out.png")
    for name in ("dusk.jpg", "table.png"):
        for flag, kind in ((cv2.IMREAD_GRAYSCALE, "gray"), (cv2.IMREAD_COLOR, "RGB")):
            image = cv2.imread(os.path.join(assets, name), flag)[:480, :640].copy()
            cv2.imwrite(source, image)
            for chain, call in calls.items():
                variants = subprocess.run([program, "list", chain.split("=")[0]], capture_output=True, text=True).stdout
                for variant in ("@reference", "@simd", ""):
                    if variant[1:] not in variants:
                        continue
                    head, _, tail = chain.partition("=")
                    text = head + variant + ("=" + tail if tail else "")
                    subprocess.run([program, "apply", source, "-f", text, "-o", result, "-q"], check=True)
                    ours = cv2.imread(result, cv2.IMREAD_UNCHANGED)
                    theirs = call(image)
                    diff = np.abs(ours.astype(int) - theirs.astype(int))
                    print(f"{name:10} {kind:5} {text:52} max {diff.max()}  differ {100 * (diff > 0).mean():.3f} %")
                    if ours.shape == theirs.shape and diff.max() <= 1:
                        passed += 1
                    else:
                        failed += 1
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
