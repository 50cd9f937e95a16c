/* A few macros for test programs: each check says file, line and values when it fails, and the test goes on.
 *
 *     #include "check.h"
 *     TEST(fold_period) { CHECK_INT(tg_fold(-1, 1, TG_REFLECT101), 0); }
 *     TESTS(T(fold_period), T(another))
 *
 * The program runs all tests, or those named on its command line, and closes with "N passed, N failed, N skipped".
 */
#ifndef TG_CHECK_H
#define TG_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct tg_test {
    const char *name;
    void (*run)(void);
};

int tg_test_main(int argc, char **argv, const struct tg_test *tests, int n);

void tg_check(bool ok, const char *file, int line, const char *what);
void tg_check_int(long long got, long long want, const char *file, int line, const char *what);
void tg_check_near(double got, double want, double tolerance, const char *file, int line, const char *what);
void tg_check_str(const char *got, const char *want, const char *file, int line, const char *what);
/* want occurs in got. */
void tg_check_has(const char *got, const char *want, const char *file, int line, const char *what);
/* Marks the running test as skipped and says why; return after it. */
void tg_skip(const char *why);

/* A generator with a seed that tests print and accept as TG_SEED in the environment: xorshift64*, uniform 32 bits. */
uint32_t tg_random(void);
float tg_random_unit(void); /* [0,1) */
void tg_random_seed(uint64_t seed);

/* A fresh folder under $TMPDIR for this program's files, removed at its end. */
const char *tg_test_dir(void);

#define CHECK(cond)                      tg_check(cond, __FILE__, __LINE__, #cond)
#define CHECK_INT(got, want)             tg_check_int(got, want, __FILE__, __LINE__, #got)
#define CHECK_NEAR(got, want, tolerance) tg_check_near(got, want, tolerance, __FILE__, __LINE__, #got)
#define CHECK_STR(got, want)             tg_check_str(got, want, __FILE__, __LINE__, #got)
#define CHECK_HAS(got, want)             tg_check_has(got, want, __FILE__, __LINE__, #got)

#define TEST(name) static void test_##name(void)

#define TESTS(...)                                                                                 \
    static const struct tg_test all_tests[] = {__VA_ARGS__};                                       \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return tg_test_main(argc, argv, all_tests, (int)(sizeof all_tests / sizeof all_tests[0])); \
    }
#define T(name)            \
    {                      \
#name, test_##name \
    }

#endif
