#include "convolve.h"
#include "sample.h"

static const char *const negatives[] = {"clamp", "abs", "offset", NULL};

static const struct tg_param params[] = {
    TG_PARAM_KERNEL(struct tg_convolve, kernel, "Kernel", "sharpen",
                    "box, gaussian, sharpen, emboss, laplacian, identity; a file; or rows: '1 2 1; 2 4 2; 1 2 1'"),
    TG_PARAM_FLOAT(struct tg_convolve, divisor, "Divisor", 0, -1e6, 1e6, "",
                   "0: the kernel's sum, or 1 where that is near 0"),
    TG_PARAM_FLOAT(struct tg_convolve, bias, "Bias", 0, -1, 1, "of full scale", "added to the result"),
    TG_PARAM_CHOICE(struct tg_convolve, negative, "Negative", TG_NEGATIVE_CLAMP, negatives,
                    "results below 0: cut, made positive, or all shifted up by half of full scale"),
    TG_PARAM_BOOL(struct tg_convolve, flip, "Flip", 0,
                  "turn the kernel by 180 degrees: convolution instead of correlation"),
    TG_PARAM_BORDER(struct tg_convolve),
    TG_PARAM_END,
};

void tg_convolve_plan(const struct tg_convolve *p, struct tg_convolve_plan *plan)
{
    const struct tg_kernel *k = p->kernel;
    double sum = 0, magnitude = 0;
    bool negative = false;
    for (int i = 0; i < k->w * k->h; i++) {
        sum += (double)k->weights[i];
        magnitude += fabs((double)k->weights[i]);
        negative |= k->weights[i] < 0.F;
    }
    double divisor = (double)p->divisor;
    if (divisor == 0)
        divisor = fabs(sum) < 1e-6 * fmax(1, magnitude) ? 1 : sum;
    plan->w = k->w;
    plan->h = k->h;
    plan->ax = p->flip ? k->w - 1 - k->w / 2 : k->w / 2;
    plan->ay = p->flip ? k->h - 1 - k->h / 2 : k->h / 2;
    plan->scale = (float)(1 / divisor);
    plan->sum = (float)sum;
    plan->average = !negative && sum > 0;
}

static int reference(const struct tg_job *job)
{
    const struct tg_convolve *p = job->params;
    const struct tg_image *src = &job->src, *dst = &job->dst;
    struct tg_convolve_plan plan;
    tg_convolve_plan(p, &plan);
    const float full = tg_depth_full(src->depth);
    const int colors = tg_image_colors(src);
#pragma omp parallel for schedule(dynamic, 4)
    for (int y = 0; y < src->h; y++)
        for (int x = 0; x < src->w; x++) {
            double alpha = 0; /* sum of k a for the alpha plane */
            for (int c = 0; c < colors; c++) {
                float own = tg_get(src, c, x, y), a;
                double sum = 0, weights = 0, base = plan.average ? 0 : (double)own;
                alpha = 0;
                for (int j = 0; j < plan.h; j++)
                    for (int i = 0; i < plan.w; i++) {
                        double k = (double)tg_convolve_weight(p, i, j);
                        double v = (double)tg_tap(src, c, x + i - plan.ax, y + j - plan.ay, p->border, &a);
                        sum += k * (base + (double)a * (v - base));
                        weights += k * (double)a;
                        if (src->has_alpha) {
                            tg_tap(src, src->planes - 1, x + i - plan.ax, y + j - plan.ay, p->border, &a);
                            alpha += k * (double)a;
                        }
                    }
                float v;
                if (!plan.average)
                    v = tg_finite(own) ? (float)(sum * (double)plan.scale) : NAN;
                else if (weights < (double)TG_VANISH * (double)plan.sum) {
                    tg_put(dst, c, x, y, tg_kept(own));
                    continue;
                } else
                    v = (float)(sum / weights * (double)plan.sum * (double)plan.scale);
                tg_put(dst, c, x, y, tg_convolve_finish(v, p->bias, p->negative, full));
            }
            if (src->has_alpha)
                tg_put(dst, src->planes - 1, x, y,
                       plan.average ? (float)alpha * plan.scale * full : tg_get(src, src->planes - 1, x, y));
        }
    return 0;
}

/* clang-format off */
static const struct tg_variant variants[] = {
    {"reference", "the formula, a loop a tap", TG_HOST, reference, NULL, NULL},
    {"simd", "blocks of pixels in registers share taps and weights", TG_HOST, convolve_simd, NULL,
     convolve_simd_scratch},
    TG_CUDA_ROW("naive", "a thread a pixel: bounds test on every tap, weights from global memory", TG_CUDA,
                convolve_cuda_naive, NULL, convolve_cuda_scratch)
    TG_CUDA_ROW("tiled", "tile and halo in shared memory", TG_CUDA, convolve_cuda_tiled, convolve_cuda_tiled_fits,
                convolve_cuda_scratch)
    {.name = NULL},
};
/* clang-format on */

const struct tg_filter convolve_filter = {
    .name = "convolve",
    .label = "Convolve",
    .about = "weighs the neighbourhood by a kernel of your choice",
    .params_size = sizeof(struct tg_convolve),
    .params = params,
    .variants = variants,
};
