#include "simd.h"

#include <stdlib.h>

enum tg_cpu tg_cpu(void)
{
#ifdef TG_X86
    static int known = -1;
    int cpu = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (cpu >= 0)
        return (enum tg_cpu)cpu;
    __builtin_cpu_init();
    cpu = TG_CPU_BASELINE;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        cpu = TG_CPU_AVX2;
    if (cpu == TG_CPU_AVX2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        cpu = TG_CPU_AVX512;
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    const char *want = getenv("TILEGLASS_SIMD");
    for (int i = 0; want && i < cpu; i++)
        if (strcmp(want, names[i]) == 0)
            cpu = i;
    __atomic_store_n(&known, cpu, __ATOMIC_RELAXED);
    return (enum tg_cpu)cpu;
#else
    return TG_CPU_BASELINE;
#endif
}
