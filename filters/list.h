/* Every filter, in the order in which it is listed. TG_FILTER(x) stands for `const struct tg_filter x_filter` in x.c. */
TG_FILTER(bilateral)
TG_FILTER(convolve)
TG_FILTER(gaussian)
TG_FILTER(sobel)
TG_FILTER(gray)
TG_FILTER(invert)
