/* Includes the file TG_SELF once for each kind of CPU that this compiler can make code for:
 *
 *     #ifndef TG_LANES
 *     #include "simd.h"
 *     ...what is the same for all, and the prototypes...
 *     #define TG_SELF "name_simd.c"
 *     #include "simd_each.h"
 *     ...calls TG_PICK(f)...
 *     #else
 *     static void TG_LEVEL(f)(...) { ...vectors of TG_LANES floats, from simd_level.h... }
 *     #endif
 */
#ifdef TG_SELF

#define TG_LANES    4
#define TG_LEVEL(f) f##_baseline
#include "simd_level.h"
#include TG_SELF
#undef TG_LANES
#undef TG_LEVEL

#ifdef TG_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target(TG_TARGET_AVX2))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma") /* TG_TARGET_AVX2; GCC wants the text itself */
#endif
#define TG_LANES    8
#define TG_LEVEL(f) f##_avx2
#include "simd_level.h"
#include TG_SELF
#undef TG_LANES
#undef TG_LEVEL
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target(TG_TARGET_AVX512))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#endif
#define TG_LANES    16
#define TG_LEVEL(f) f##_avx512
#include "simd_level.h"
#include TG_SELF
#undef TG_LANES
#undef TG_LEVEL
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#endif
