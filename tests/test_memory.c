/* Peak memory and time of whole runs of the program, by the operating system's own account of them. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
/* after stdio.h, which it needs */
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

struct outcome {
    int code;
    long peak_kb;
    double seconds;
};

static double now(void)
{
    struct timeval t;
    gettimeofday(&t, NULL);
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static struct outcome run(char *const argv[])
{
    struct outcome out = {.code = -1};
    double start = now();
    pid_t pid = fork();
    if (pid == 0) {
        int quiet = open("/dev/null", O_WRONLY);
        dup2(quiet, 2);
        execv(argv[0], argv);
        _exit(127);
    }
    int status;
    struct rusage use;
    if (pid > 0 && wait4(pid, &status, 0, &use) == pid) {
        out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        out.peak_kb = use.ru_maxrss;
        out.seconds = now() - start;
    }
    return out;
}

static char *path(const char *name)
{
    static char buf[4][600];
    static int i;
    i = (i + 1) % 4;
    snprintf(buf[i], sizeof buf[i], "%s/%s", tg_test_dir(), name);
    return buf[i];
}

static void write_jpeg(const char *name, int w, int h)
{
    FILE *f = fopen(name, "wb");
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr e;
    c.err = jpeg_std_error(&e);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = (JDIMENSION)w;
    c.image_height = (JDIMENSION)h;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_start_compress(&c, TRUE);
    unsigned char *row = malloc((size_t)w * 3);
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w * 3; x++)
            row[x] = (unsigned char)((x / 3 * 255 / w + y * 255 / h) / 2 + (int)(tg_random() % 16));
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    fclose(f);
}

/* D14: a size that is only declared is refused before anything is taken for it. */
TEST(bomb)
{
    static const unsigned char png[] = {0x89, 'P', 'N', 'G',  '\r', '\n', 0x1a, '\n', 0, 0,    0,    13,  'I',
                                        'H',  'D', 'R', 0,    0,    0xff, 0xff, 0,    0, 0xff, 0xff, 8,   2,
                                        0,    0,   0,   0x7b, 0x75, 0x3a, 0x36, 0,    0, 0,    4,    'I', 'D',
                                        'A',  'T', 1,   2,    3,    4,    0,    0,    0, 0};
    char *in = path("bomb.png"), *out = path("bomb-out.png");
    FILE *f = fopen(in, "wb");
    fwrite(png, 1, sizeof png, f);
    fclose(f);
    struct outcome o = run((char *[]){TG_PROGRAM, "apply", in, "-f", "invert", "-o", out, "--device", "cpu", NULL});
    CHECK_INT(o.code, 1);
    CHECK(access(out, F_OK) != 0);
    if (!SANITIZED) {
        CHECK(o.peak_kb < 100 << 10);
        CHECK(o.seconds < 1);
    }
}

/* A 24-megapixel JPEG: peak under 4 times the uncompressed picture. */
TEST(photograph)
{
    if (SANITIZED) {
        tg_skip("the sanitizer's own memory would be measured");
        return;
    }
    const int w = 6000, h = 4000;
    char *in = path("photo.jpg"), *out = path("photo-out.jpg");
    write_jpeg(in, w, h);
    struct outcome o = run(
        (char *[]){TG_PROGRAM, "apply", in, "-f", "gaussian=1,invert", "-o", out, "--device", "cpu", NULL});
    CHECK_INT(o.code, 0);
    printf("peak %ld MB for %d MB uncompressed\n", o.peak_kb >> 10, w * h * 3 >> 20);
    CHECK(o.peak_kb < 4L * w * h * 3 / 1024);
}

/* B04: memory after many pictures, one in ten broken, is what it was after few. */
TEST(batch)
{
    if (SANITIZED) {
        tg_skip("the sanitizer's own memory would be measured");
        return;
    }
    char *few = path("few"), *many = path("many"), name[700];
    mkdir(few, 0755);
    mkdir(many, 0755);
    for (int i = 0; i < 2000; i++) {
        const char *folder = i < 50 ? few : many;
        snprintf(name, sizeof name, "%s/%04d.jpg", folder, i);
        if (i < 50) {
            write_jpeg(name, i % 10 ? 300 + 7 * i : 1600, i % 10 ? 200 + 5 * i : 1200);
            if (i % 10 == 3 && truncate(name, 700) != 0)
                CHECK(false);
        }
    }
    for (int i = 0; i < 2000; i++) {
        char target[700];
        snprintf(target, sizeof target, "%s/%04d.jpg", few, i % 50);
        snprintf(name, sizeof name, "%s/%04d.jpg", many, i);
        CHECK_INT(symlink(target, name), 0);
    }
    struct outcome a = run(
        (char *[]){TG_PROGRAM, "apply", few, "-f", "invert", "-o", path("few-out"), "-q", "--device", "cpu", NULL});
    struct outcome b = run(
        (char *[]){TG_PROGRAM, "apply", many, "-f", "invert", "-o", path("many-out"), "-q", "--device", "cpu", NULL});
    CHECK_INT(a.code, 1);
    CHECK_INT(b.code, 1);
    printf("peak %ld KB after 50, %ld KB after 2000\n", a.peak_kb, b.peak_kb);
    CHECK((double)b.peak_kb < 1.05 * (double)a.peak_kb);
}

TESTS(T(bomb), T(photograph), T(batch))
