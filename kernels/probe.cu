/* A kernel of one thread, which tg_cuda_open runs: whether this program holds code for a card shows only on a launch. */
#include "cuda.h"

static __global__ void probe(int *word)
{
    *word = TG_PROBE;
}

void tg_cuda_probe(int *word, void *stream)
{
    probe<<<1, 1, 0, (cudaStream_t)stream>>>(word);
}
