#include "check.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failures, skipped;
static uint64_t state;
static char dir[512];

void tg_check(bool ok, const char *file, int line, const char *what)
{
    if (!ok) {
        failures++;
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    }
}

void tg_check_int(long long got, long long want, const char *file, int line, const char *what)
{
    if (got != want) {
        failures++;
        fprintf(stderr, "%s:%d: %s is %lld, want %lld\n", file, line, what, got, want);
    }
}

void tg_check_near(double got, double want, double tolerance, const char *file, int line, const char *what)
{
    if (!(fabs(got - want) <= tolerance)) {
        failures++;
        fprintf(stderr, "%s:%d: %s is %.9g, want %.9g +- %.3g\n", file, line, what, got, want, tolerance);
    }
}

void tg_check_str(const char *got, const char *want, const char *file, int line, const char *what)
{
    if (!got || strcmp(got, want) != 0) {
        failures++;
        fprintf(stderr, "%s:%d: %s is\n  %s\nwant\n  %s\n", file, line, what, got ? got : "(null)", want);
    }
}

void tg_check_has(const char *got, const char *want, const char *file, int line, const char *what)
{
    if (!got || !strstr(got, want)) {
        failures++;
        fprintf(stderr, "%s:%d: %s is\n  %s\nwhich lacks\n  %s\n", file, line, what, got ? got : "(null)", want);
    }
}

void tg_skip(const char *why)
{
    skipped++;
    printf("SKIP %s\n", why);
}

void tg_random_seed(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15ULL + 1;
}

uint32_t tg_random(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545f4914f6cdd1dULL) >> 32);
}

float tg_random_unit(void)
{
    return (float)(tg_random() >> 8) * 0x1p-24F;
}

static void remove_tree(const char *path)
{
    DIR *d = opendir(path);
    if (d) {
        chmod(path, 0700);
        for (struct dirent *e; (e = readdir(d));) {
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                continue;
            char sub[1024];
            if ((size_t)snprintf(sub, sizeof sub, "%s/%s", path, e->d_name) >= sizeof sub)
                continue;
            struct stat st;
            if (lstat(sub, &st) == 0 && S_ISDIR(st.st_mode))
                remove_tree(sub);
            else
                unlink(sub);
        }
        closedir(d);
    }
    rmdir(path);
}

const char *tg_test_dir(void)
{
    if (!dir[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(dir, sizeof dir, "%s/tileglass-test-XXXXXX", base && *base ? base : "/tmp");
        if (!mkdtemp(dir)) {
            perror(dir);
            exit(99);
        }
    }
    return dir;
}

int tg_test_main(int argc, char **argv, const struct tg_test *tests, int n)
{
    const char *seed = getenv("TG_SEED");
    uint64_t value = seed ? strtoull(seed, NULL, 0) : 20240229;
    int passed = 0, failed = 0, skips = 0;
    for (int i = 0; i < n; i++) {
        bool wanted = argc < 2;
        for (int a = 1; a < argc; a++)
            wanted |= strcmp(argv[a], tests[i].name) == 0;
        if (!wanted)
            continue;
        failures = skipped = 0;
        tg_random_seed(value);
        tests[i].run();
        printf("%s %s\n", failures ? "FAIL" : skipped ? "SKIP" : "ok", tests[i].name);
        if (failures)
            failed++;
        else if (skipped)
            skips++;
        else
            passed++;
    }
    if (failed)
        printf("seed %llu\n", (unsigned long long)value);
    if (dir[0])
        remove_tree(dir);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skips);
    return failed ? 1 : passed + skips ? 0 : 2;
}
