/* SPDX-License-Identifier: Apache-2.0 */
/* Values below 2^11 are counted one by one; above, each doubling has 2^10 buckets. */
#include "histogram.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum {
    HALF_LOG = 10,
    HALF = 1 << HALF_LOG,
    LARGEST_LOG = 41, /* 2^41 ns: 36 minutes; more counts as that */
    BUCKETS = (LARGEST_LOG - HALF_LOG + 1) * HALF
};

struct bench_histogram {
    int64_t total, max;
    double sum, squares;
    uint64_t count[BUCKETS];
};

struct bench_histogram *histogram_new(void)
{
    return bench_calloc(1, sizeof(struct bench_histogram));
}

void histogram_free(struct bench_histogram *h)
{
    free(h);
}

void histogram_clear(struct bench_histogram *h)
{
    memset(h, 0, sizeof(*h));
}

static unsigned bucket_of(uint64_t value)
{
    if (value < 2 * HALF)
        return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - HALF_LOG;
    return shift * HALF + (unsigned)(value >> shift);
}

/* The largest value that is counted in a bucket. */
static int64_t bucket_top(unsigned bucket)
{
    if (bucket < 2 * HALF)
        return bucket;
    unsigned shift = bucket / HALF - 1;
    uint64_t mantissa = bucket % HALF + HALF;
    return (int64_t)(((mantissa + 1) << shift) - 1);
}

void histogram_record(struct bench_histogram *h, int64_t ns)
{
    uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
    if (value >> LARGEST_LOG)
        value = ((uint64_t)1 << LARGEST_LOG) - 1;
    h->count[bucket_of(value)]++;
    h->total++;
    h->sum += (double)value;
    h->squares += (double)value * (double)value;
    if ((int64_t)value > h->max)
        h->max = (int64_t)value;
}

void histogram_merge(struct bench_histogram *into, const struct bench_histogram *from)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        into->count[i] += from->count[i];
    into->total += from->total;
    into->sum += from->sum;
    into->squares += from->squares;
    if (from->max > into->max)
        into->max = from->max;
}

int64_t histogram_count(const struct bench_histogram *h)
{
    return h->total;
}

int64_t histogram_max(const struct bench_histogram *h)
{
    return h->max;
}

double histogram_mean(const struct bench_histogram *h)
{
    return h->total ? h->sum / (double)h->total : 0;
}

static int64_t clip(const struct bench_histogram *h, int64_t value)
{
    return value < h->max ? value : h->max;
}

int64_t histogram_at(const struct bench_histogram *h, double percent)
{
    int64_t wanted = (int64_t)ceil(percent / 100 * (double)h->total), seen = 0;
    if (wanted < 1)
        wanted = 1;
    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += (int64_t)h->count[i];
        if (seen >= wanted)
            return clip(h, bucket_top(i));
    }
    return 0;
}

/* Five lines for each halving of the distance to 100 %, as HdrHistogram prints them. */
void histogram_print(const struct bench_histogram *h, FILE *file)
{
    fprintf(file, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    double percent = 0;
    int64_t seen = 0;
    for (unsigned i = 0; i < BUCKETS && seen < h->total; i++) {
        if (!h->count[i])
            continue;
        seen += (int64_t)h->count[i];
        double reached = 100.0 * (double)seen / (double)h->total;
        while (seen < h->total && percent <= reached) {
            fprintf(file, "%12.3f %2.12f %10" PRId64 " %14.2f\n", (double)clip(h, bucket_top(i)),
                    percent / 100, seen, 1 / (1 - percent / 100));
            double halvings = floor(log2(100 / (100 - percent))) + 1;
            percent += 100 / (5 * pow(2, halvings));
        }
    }
    fprintf(file, "%12.3f %2.12f %10" PRId64 "\n", (double)h->max, 1.0, h->total);
    double mean = histogram_mean(h);
    double variance = h->total ? h->squares / (double)h->total - mean * mean : 0;
    fprintf(file, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean,
            variance > 0 ? sqrt(variance) : 0);
    fprintf(file, "#[Max     = %12.3f, Total count    = %12" PRId64 "]\n", (double)h->max,
            h->total);
    fprintf(file, "#[Buckets = %12d, SubBuckets     = %12d]\n", LARGEST_LOG - HALF_LOG, 2 * HALF);
}
