/* What 'tileglass list' prints, against golden/. Rows of CUDA variants, which a program built without CUDA lacks, are left
 * out of the comparison. TG_GOLDEN=write in the environment writes the golden files anew. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { SIZE = 1 << 16 };

/* Standard output, or with errors standard error, of 'tileglass list WHAT'; its exit code in *code. */
static const char *list(const char *what, bool errors, int *code)
{
    static char text[SIZE];
    char command[2048];
    snprintf(command, sizeof command, "'%s' list %s %s", TG_PROGRAM, what, errors ? "2>&1 >/dev/null" : "2>/dev/null");
    FILE *p = popen(command, "r");
    size_t n = p ? fread(text, 1, sizeof text - 1, p) : 0;
    int status = p ? pclose(p) : -1;
    text[n] = 0;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return text;
}

/* Takes out "  name  CUDA  idea" and the lines that go on with the idea. */
static void drop_cuda_rows(char *text)
{
    char *to = text;
    bool dropping = false;
    for (char *s = text; *s;) {
        char *end = strchr(s, '\n'), word[16] = "";
        size_t n = end ? (size_t)(end - s) + 1 : strlen(s);
        bool more = strncmp(s, "    ", 4) == 0;
        dropping = (more && dropping) || (!more && sscanf(s, "  %*s %15s", word) == 1 && strcmp(word, "CUDA") == 0);
        if (!dropping) {
            memmove(to, s, n);
            to += n;
        }
        s += n;
    }
    *to = 0;
}

static void golden(const char *what, const char *file)
{
    char got[SIZE], want[SIZE], path[1024];
    int code;
    snprintf(got, sizeof got, "%s", list(what, false, &code));
    drop_cuda_rows(got);
    CHECK_INT(code, 0);
    snprintf(path, sizeof path, TG_SOURCE_DIR "/tests/golden/%s.txt", file);
    const char *mode = getenv("TG_GOLDEN");
    bool write = mode && strcmp(mode, "write") == 0;
    FILE *f = fopen(path, write ? "wb" : "rb");
    CHECK(f != NULL);
    if (!f)
        return;
    if (write) {
        fputs(got, f);
    } else {
        want[fread(want, 1, sizeof want - 1, f)] = 0;
        CHECK_STR(got, want);
    }
    fclose(f);
}

TEST(golden_text)
{
    golden("", "list");
    golden("filters", "list");
    golden("formats", "list-formats");
    golden("bilateral", "list-bilateral");
    golden("convolve", "list-convolve");
    golden("gaussian", "list-gaussian");
    golden("sobel", "list-sobel");
    golden("gray", "list-gray");
    golden("invert", "list-invert");
}

TEST(cuda_rows)
{
    char text[] =
        "variants\n  a     host  x\n  b     CUDA  y\n              more\n  c     CUDA  z\n\nexamples\n  d e f\n";
    drop_cuda_rows(text);
    CHECK_STR(text, "variants\n  a     host  x\n\nexamples\n  d e f\n");
}

TEST(devices)
{
    int code, threads = 0;
    char simd[32] = "";
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    const char *text = list("devices", false, &code);
    CHECK_INT(code, 0);
    CHECK_INT(sscanf(text, "cpu %d threads, %31s", &threads, simd), 2);
    CHECK(threads >= 1);
    CHECK(strchr(text, '\n') && strchr(text, '\n')[1] == 0); /* and nothing else where no card is visible */
    CHECK_HAS(list("devices", true, &code), "tileglass: no CUDA device");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(refused)
{
    int code;
    CHECK_STR(list("blateral", true, &code), "tileglass: list: no 'blateral'; did you mean 'bilateral'?\n");
    CHECK_INT(code, 2);
    CHECK_STR(list("device", true, &code), "tileglass: list: no 'device'; did you mean 'devices'?\n");
    CHECK_INT(code, 2);
    CHECK_STR(list("xyzzy", true, &code),
              "tileglass: list: no 'xyzzy'; want filters, devices, formats or a filter's name\n");
    CHECK_INT(code, 2);
    CHECK_STR(list("gray invert", true, &code), "tileglass: list: one name at a time: 'invert' is too many\n");
    CHECK_INT(code, 2);
    CHECK_STR(list("blateral", false, &code), "");
    CHECK_STR(list("--help", true, &code), "");
    CHECK_INT(code, 0);
    list(">/dev/full", false, &code); /* a full disk is no success */
    CHECK_INT(code, 1);
}

TESTS(T(golden_text), T(cuda_rows), T(devices), T(refused))
