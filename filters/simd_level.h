/* Vectors of TG_LANES floats, for one kind of CPU: see simd_each.h. Arithmetic is the compilers' own on vector types. */
#ifdef TG_LANES

#define vf      TG_LEVEL(vf)
#define vi      TG_LEVEL(vi)
#define v_load  TG_LEVEL(v_load)
#define v_store TG_LEVEL(v_store)

typedef float vf __attribute__((vector_size(4 * TG_LANES)));
typedef int32_t vi __attribute__((vector_size(4 * TG_LANES)));

static inline __attribute__((always_inline, unused)) vf v_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline __attribute__((always_inline, unused)) void v_store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

#endif
