#!/bin/sh
# The command line as a user meets it: exit codes, messages, files left behind.
#   tests/cli.sh PROGRAM MAKE-ASSETS
set -u
tg=$1
make_assets=$2
dir=$(mktemp -d "${TMPDIR:-/tmp}/tileglass-cli-XXXXXX")
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir" || exit 99
passed=0
failed=0

ok() {
    passed=$((passed + 1))
}
bad() {
    failed=$((failed + 1))
    echo "FAIL $*" >&2
}
# run WANT-EXIT ARGUMENTS...: runs the program, keeps stdout in out, stderr in err.
run() {
    want=$1
    shift
    "$tg" "$@" >out 2>err </dev/null
    got=$?
    if [ $got -eq "$want" ]; then ok; else bad "exit $got, not $want: $*: $(cat err)"; fi
}
# says TEXT: the last run's stderr holds the text.
says() {
    if grep -qF -e "$1" err; then ok; else bad "stderr lacks '$1': $(cat err)"; fi
}
same() {
    if cmp -s "$1" "$2"; then ok; else bad "$1 and $2 differ"; fi
}
exists() {
    if [ -e "$1" ]; then ok; else bad "no $1"; fi
}
# none NAME...: no such files, and no temporary ones.
none() {
    for f in "$@" .*.tmp */.*.tmp; do
        if [ -e "$f" ]; then bad "$f was left"; return; fi
    done
    ok
}

"$make_assets" table a.png --size 61x43 >/dev/null || exit 99
"$make_assets" table a16.png --size 61x43 --16 >/dev/null || exit 99
"$make_assets" table a.jpg --size 61x43 >/dev/null || exit 99
cpu="--device cpu"

# ---- usage ----
run 2
run 0 --help
run 0 --version
run 2 aply a.png
says "did you mean 'apply'?"
run 2 apply
says "which picture?"
run 2 apply a.png -o b.png
says "-f CHAIN is missing"
run 2 apply a.png -f invert
says "-o OUT is missing"
run 2 apply a.png -f invert -o b.png --devise cpu
says "did you mean '--device'?"
run 2 apply a.png -f invert -o b.png --quality
says "needs a value"
run 2 apply a.png -f invert -o b.jpg --quality 101
says "1..100"
run 2 apply a.png -f bilateral=sigma_range=1.7 -o b.png
says "bilateral: sigma_range=1.7 is outside 0..1"
run 2 apply a.png -f bilateral=sigma_rnge=0.1 -o b.png
says "did you mean 'sigma_range'?"
run 2 apply a.png -f bilatral -o b.png
says "did you mean 'bilateral'?"
for r in -3 999999 3.5 abc 1,5 1.5x 0x3; do
    run 2 apply a.png -f "bilateral=radius='$r'" -o b.png
    says "0..255"
done
run 2 apply a.png -f bilateral@fastest -o b.png
says "no variant 'fastest'"
run 2 apply a.png -f invert -o b.png --device gpu
says "--device gpu"
for c in apply sheet list info check bench; do
    run 0 $c --help
done

# ---- devices ----
run 0 apply a.png -f bilateral@reference -o ref.png
if [ -z "${CUDA_VISIBLE_DEVICES-x}" ] || ! "$tg" apply a.png -f invert -o b.png --device cuda:0 2>/dev/null; then
    rm -f b.png
    run 3 apply a.png -f invert -o b.png --device cuda:0
    none b.png
    run 0 apply a.png -f invert -o b.png
    if [ "$(wc -l <err)" -le 1 ]; then ok; else bad "more than one notice: $(cat err)"; fi
    rm -f b.png
else
    echo "SKIP falling back to the CPU: there is a card"
fi

# ---- pipes and names ----
run 0 apply a.png -f invert -o plain.png $cpu
for src in a.png a16.png; do
    "$tg" apply $src -f invert -o want.png $cpu || bad "$src"
    "$tg" apply - -f invert -o - --format png $cpu <$src >piped.png 2>err || bad "stdin: $(cat err)"
    same want.png piped.png
    mkfifo pipe
    cat $src >pipe &
    "$tg" apply pipe -f invert -o piped.png $cpu 2>err || bad "FIFO: $(cat err)"
    wait
    rm pipe
    same want.png piped.png
    dd if=$src bs=1 2>/dev/null | "$tg" apply - -f invert -o piped.png $cpu 2>err || bad "slow stdin: $(cat err)"
    same want.png piped.png
done
if [ -s err ]; then bad "messages on a quiet run: $(cat err)"; else ok; fi
for name in "a b.png" "q'\".png" "%d.png" "50%%.png" "x:y.png" "t[0].png" "-blur.png" "@l.png"; do
    cp a.png "./$name"
    run 0 apply -f invert $cpu -o "out $name" -- "$name"
    same plain.png "out $name"
    rm -f -- "$name" "out $name"
done
cp a.png x.jpg
run 0 apply x.jpg -f invert -o misnamed.png $cpu
same plain.png misnamed.png
run 1 apply missing.png -f invert -o b.png $cpu
says "missing.png"
run 2 apply a.png -f invert -o b.tiff $cpu
says "b.tiff"
run 1 apply "*.png" -f invert -o b.png $cpu
says "*.png"

# ---- output over input ----
cp a.png s.png
ln -s s.png link.png
ln s.png hard.png
run 0 apply s.png -f invert -o ./s.png $cpu
same plain.png s.png
cp a.png s.png
run 0 apply s.png -f invert -o link.png $cpu
same plain.png s.png
if [ -L link.png ]; then ok; else bad "the link was replaced"; fi
cp a.png t.png
ln -f t.png hard.png
run 0 apply t.png -f invert -o hard.png $cpu
same plain.png hard.png
cp a.png ro.png
chmod 0444 ro.png
run 1 apply a.png -f invert -o ro.png $cpu
says "ro.png"
same a.png ro.png
cp a.png mode.png
chmod 0600 mode.png
run 0 apply a.png -f invert -o mode.png $cpu
case $(ls -l mode.png) in -rw-------*) ok ;; *) bad "mode not kept: $(ls -l mode.png)" ;; esac

# ---- full disks, missing and broken things ----
if [ -e /dev/full ]; then
    run 1 apply a.png -f invert -o /dev/full --format png $cpu
    says "No space left"
fi
run 1 apply a.png -f invert -o nowhere/b.png $cpu
says "nowhere"
head -c 2000 a.png >cut.png
cp plain.png keep.png
run 1 apply cut.png -f invert -o keep.png $cpu
says "cut.png"
same plain.png keep.png
none
: >empty.png
run 1 apply empty.png -f invert -o b.png $cpu
says "empty"
none b.png

# ---- batches ----
mkdir in
for i in 0 1 2 3 5 6 8 9; do cp a.png in/$i.png; done
head -c 1000 a.png >in/4.png
echo text >in/7.png
run 1 apply in/*.png -f invert -o many $cpu
says "8 done, 2 failed, 0 skipped"
says "failed: in/4.png"
says "failed: in/7.png"
if [ "$(ls many | wc -l)" -eq 8 ]; then ok; else bad "not 8 outputs: $(ls many)"; fi
none
rm -r many
run 1 apply in/*.png -f invert -o many --stop $cpu
says "4 done, 1 failed"
rm -r many
rm in/4.png in/7.png
echo text >in/notes.txt
mkdir in/folder.png
ln -s nowhere in/dangling.png
mkfifo in/fifo.png
cp a.jpg in/folder.png/deep.jpg
run 0 apply in -f invert -o many $cpu
says "8 done, 0 failed, 4 skipped"
run 0 apply -r in -f invert -o deep $cpu
exists deep/folder.png/deep.jpg
mkdir sub
cp a.png sub/a.png
run 2 apply a.png sub/a.png -f invert -o two $cpu
says "a.png and sub/a.png would both be written to two/a.png"
none two
run 2 apply a.png a.jpg -f invert -o two --format png $cpu
says "would both be written"
run 2 apply a.png a.jpg -f invert -o plain.png $cpu
says "needs a folder"
rm -rf two many deep

# ---- the locale ----
for l in de_DE.UTF-8 pl_PL.UTF-8; do
    LC_ALL=$l "$tg" apply a.png -f "gaussian=sigma=1.5,convolve=kernel='1,1,1;1,1,1'" -o locale.png $cpu 2>err || bad "$l: $(cat err)"
    "$tg" apply a.png -f "gaussian=sigma=1.5,convolve=kernel='1 1 1;1 1 1'" -o point.png $cpu
    same locale.png point.png
done

# ---- depth ----
run 0 apply a16.png -f invert -o d8.png --depth 8 $cpu
says "16 bits are reduced to 8"
run 0 info d8.png
if grep -q '8 bits' out; then ok; else bad "info: $(cat out)"; fi
run 0 apply a16.png -f invert -o d16.png $cpu
run 0 info d16.png
if grep -q '16 bits' out; then ok; else bad "info: $(cat out)"; fi
run 0 apply a.png -f gaussian=2,gaussian=2 --depth f32 -o f.png $cpu
run 0 apply a.png -f gray --linear -o lin.png $cpu

# ---- interrupted ----
"$make_assets" table big.png --size 1500x1000 --samples 1 >/dev/null
cp keep.png was.png
"$tg" apply big.png -f "bilateral=30,bilateral=30,bilateral=30" -o keep.png $cpu 2>err &
pid=$!
sleep 0.5
kill -INT $pid
wait $pid
code=$?
if [ $code -eq 130 ]; then ok; else bad "interrupted: exit $code: $(cat err)"; fi
same was.png keep.png
none

# ---- bench ----
run 0 bench invert gaussian=1 --size 64x48 --planes 4 --seconds 0.01 $cpu
for row in 'invert     reference' 'invert     simd' 'gaussian   simd'; do
    if grep -q "^$row " out; then ok; else bad "bench lacks '$row': $(cat out)"; fi
done
run 2 bench invert --size 0x5 $cpu
says "1x1..32768x32768"
run 2 bench invert,gray $cpu
says "one filter at a time"

# ---- sheet ----
run 0 sheet a.png -f invert -f gray -o sheet.png $cpu
run 0 info sheet.png
if grep -q '199 x 43' out; then ok; else bad "sheet: $(cat out)"; fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
