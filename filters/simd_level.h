/* Vectors of TG_LANES floats, for one kind of CPU: see simd_each.h. Arithmetic is the compilers' own on vector types. */
#ifdef TG_LANES

#define vf           TG_LEVEL(vf)
#define vi           TG_LEVEL(vi)
#define v_load       TG_LEVEL(v_load)
#define v_store      TG_LEVEL(v_store)
#define v_abs        TG_LEVEL(v_abs)
#define v_exp2       TG_LEVEL(v_exp2)
#define v_reciprocal TG_LEVEL(v_reciprocal)
#define V_FN         static inline __attribute__((always_inline, unused))

typedef float vf __attribute__((vector_size(4 * TG_LANES)));
typedef int32_t vi __attribute__((vector_size(4 * TG_LANES)));

V_FN vf v_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

V_FN void v_store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

V_FN vf v_abs(vf v)
{
    return (vf)((vi)v & 0x7fffffff);
}

/* 2^x for x <= 0: 2^n * p(f), n a whole number, p the minimax polynomial of the relative error: 7.5e-5 at degree 3, 2.6e-6 at
 * degree 4. With deep, x may lie below -126, where the result is 0. */
V_FN vf v_exp2(vf x, int degree, bool deep)
{
#if TG_LANES == 16
    vf f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF);
    vf p = degree == 3
               ? ((0.0780245222F * f + 0.226067171F) * f + 0.695833527F) * f + 0.999925221F
               : (((0.0135341679F * f + 0.0520114628F) * f + 0.241442754F) * f + 0.693003836F) * f + 1.00000259F;
    if (deep)
        return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(-126.F), _CMP_GT_OQ), p, x);
    return _mm512_scalef_ps(p, x);
#else
    const vf shift = 12582912.F - (vf){0}; /* 1.5 * 2^23: adding it leaves n in the low bits */
    vf n = x + shift, f = x - (n - shift);
    vf p = degree == 3
               ? ((0.0551716688F * f + 0.242611133F) * f + 0.693260986F) * f + 0.999928073F
               : (((0.00957010188F * f + 0.0559178618F) * f + 0.240247448F) * f + 0.693121815F) * f + 0.999999261F;
    p = (vf)((vi)p + ((vi)n << 23));
    return deep ? (vf)((vi)p & (x > -126.F)) : p;
#endif
}

/* 1 / v within 2^-22, v normal. */
V_FN vf v_reciprocal(vf v)
{
#if TG_LANES == 16
    vf r = _mm512_rcp14_ps(v);
    return r * (2.F - v * r);
#elif TG_LANES == 8
    vf r = _mm256_rcp_ps(v);
    return r * (2.F - v * r);
#else
    return 1.F / v;
#endif
}

#endif
