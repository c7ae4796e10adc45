/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a made-up cluster and a made-up trace of gangs for `gangsched replay`, the same ones for
 * the same seed on every machine.
 *
 * The numbers below have the *shape* of published statistics of GPU clusters. They were chosen by
 * hand after these papers; they are not fitted to any data, and no data is contained:
 *   - Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads",
 *     USENIX ATC'19 (Philly): nine jobs in ten take one GPU; run times spread over five orders of
 *     magnitude around a quarter of an hour; gangs of eight GPUs and more run for hours.
 *   - Hu et al., "Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU
 *     Datacenters", SC'21 (Helios): most jobs are small and short, and most of the GPU time goes to
 *     the few large ones; job sizes are powers of two.
 *   - Weng et al., "MLaaS in the Wild", NSDI'22 (Alibaba PAI): machines with two T4 or P100 next to
 *     machines with eight V100, tasks that share a GPU, gangs of many small tasks, jobs without a
 *     GPU, and some that ask for a certain model.
 * There are more large gangs here than in Philly, since they are what a gang scheduler is for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- chance: the same on every machine, so nothing of libm ---- */

static uint64_t state;

/* splitmix64 (Steele, Lea, Flood, OOPSLA'14) */
static uint64_t next_random(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* In [0, 1). */
static double uniform(void)
{
    return (double)(next_random() >> 11) * 0x1p-53;
}

/* Nearly normal: twelve uniform numbers have variance 1. */
static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += uniform();
    }
    return sum;
}

/* e to the x: a short series for x / 1024, squared ten times. */
static double exponential(double x)
{
    double small = x / 1024;
    double result = 1 + small * (1 + small / 2 * (1 + small / 3 * (1 + small / 4)));
    for (int i = 0; i < 10; i++) {
        result *= result;
    }
    return result;
}

/* ---- machines ---- */

static const struct {
    int percent; /* of the nodes */
    int gpus;
    int cores;
    int memory_gib;
    const char *model;
} node_types[] = {
    {50, 8, 96, 512, "V100"},
    {25, 2, 64, 256, "P100"},
    {20, 2, 64, 256, "T4"},
    {5, 0, 64, 256, ""},
};

static size_t node_type_of(int64_t index, int64_t count)
{
    int percent = 0;
    for (size_t i = 0; i + 1 < sizeof node_types / sizeof node_types[0]; i++) {
        percent += node_types[i].percent;
        if (index * 100 < count * percent) {
            return i;
        }
    }
    return sizeof node_types / sizeof node_types[0] - 1;
}

/* Returns the number of GPUs. */
static int64_t write_nodes(FILE *file, int64_t count)
{
    int64_t gpus = 0;
    fputs("sn,cpu_milli,memory_mib,gpu,model\n", file);
    for (int64_t i = 0; i < count; i++) {
        size_t type = node_type_of(i, count);
        fprintf(file, "node-%04" PRId64 ",%d,%d,%d,%s\n", i, node_types[type].cores * 1000,
                node_types[type].memory_gib * 1024, node_types[type].gpus, node_types[type].model);
        gpus += node_types[type].gpus;
    }
    return gpus;
}

/* ---- gangs ---- */

static const struct {
    int permille; /* of the gangs */
    int tasks;
    int gpus;      /* of each task */
    int gpu_milli; /* of each GPU; 0: 100 to 800 by chance */
    int median_s;  /* of the run time */
    double sigma;  /* of its logarithm */
} gang_types[] = {
    {40, 4, 0, 0, 600, 1.5},      /* preparation of data */
    {180, 1, 1, 0, 900, 1.8},     /* notebooks and inference that share a GPU */
    {500, 1, 1, 1000, 900, 1.9},  /* one GPU */
    {80, 1, 2, 1000, 1800, 1.9},  /* several GPUs of one machine */
    {80, 1, 4, 1000, 3600, 1.8},  /* */
    {70, 1, 8, 1000, 7200, 1.7},  /* a whole machine */
    {20, 16, 1, 1000, 3600, 1.5}, /* many small workers */
    {20, 2, 8, 1000, 10800, 1.5}, /* many machines */
    {7, 4, 8, 1000, 14400, 1.4},  /* */
    {2, 8, 8, 1000, 21600, 1.3},  /* */
    {1, 16, 8, 1000, 28800, 1.2}, /* */
};

enum { MIN_DURATION_S = 10, MAX_DURATION_S = 10 * 86400 };

struct gang {
    size_t type;
    int gpu_milli;
    const char *model;
    int64_t drawn; /* its number; decides the order within a second */
    int64_t submit_s;
    int64_t duration_s;
};

static size_t draw_type(void)
{
    int at = (int)(uniform() * 1000);
    size_t type = 0;
    while (at >= gang_types[type].permille) {
        at -= gang_types[type++].permille;
    }
    return type;
}

static struct gang draw_gang(void)
{
    struct gang gang = {.type = draw_type(), .model = ""};
    int gpus = gang_types[gang.type].gpus;
    double z = normal();
    double choice = uniform();
    double seconds = gang_types[gang.type].median_s * exponential(z * gang_types[gang.type].sigma);
    gang.gpu_milli = gang_types[gang.type].gpu_milli;
    if (gpus > 0 && gang.gpu_milli == 0) {
        gang.gpu_milli = 100 * (1 + (int)(uniform() * 8));
    }
    if (gpus > 2) {
        gang.model = choice < 0.3 ? "V100" : ""; /* only there are they to be had */
    } else if (gpus > 0) {
        gang.model = choice < 0.10 ? "V100" : choice < 0.20 ? "T4|P100" : choice < 0.25 ? "T4" : "";
    }
    gang.duration_s = seconds < MIN_DURATION_S   ? MIN_DURATION_S
                      : seconds > MAX_DURATION_S ? MAX_DURATION_S
                                                 : (int64_t)seconds;
    return gang;
}

static int compare_gangs(const void *left, const void *right)
{
    const struct gang *a = left;
    const struct gang *b = right;
    if (a->submit_s != b->submit_s) {
        return a->submit_s < b->submit_s ? -1 : 1;
    }
    return a->drawn < b->drawn ? -1 : 1;
}

/* Draw the gangs, and their arrivals over the time that gives the wanted load. Uniform random
 * arrivals are those of a Poisson process with a given number of events. */
static void draw_gangs(struct gang *gangs, int64_t count, int64_t gpus, int64_t load)
{
    double gpu_seconds = 0;
    for (int64_t i = 0; i < count; i++) {
        gangs[i] = draw_gang();
        gangs[i].drawn = i;
        gpu_seconds += (double)gang_types[gangs[i].type].tasks * gang_types[gangs[i].type].gpus *
                       gangs[i].gpu_milli / 1000 * (double)gangs[i].duration_s;
    }
    double span = gpu_seconds / (double)(gpus > 0 ? gpus : 1) * 100 / (double)load;
    for (int64_t i = 0; i < count; i++) {
        gangs[i].submit_s = (int64_t)(uniform() * span);
    }
    qsort(gangs, (size_t)count, sizeof *gangs, compare_gangs);
}

static void write_gangs(FILE *file, const struct gang *gangs, int64_t count)
{
    fputs("name,tasks,cpu_milli,memory_mib,gpus,gpu_milli,gpu_model,submit_s,duration_s\n", file);
    for (int64_t i = 0; i < count; i++) {
        const struct gang *gang = &gangs[i];
        int gpus = gang_types[gang->type].gpus;
        int cores = gpus == 0 ? 8 : gang->gpu_milli < 1000 ? 4 : 8 * gpus;
        fprintf(file, "gang-%06" PRId64 ",%d,%d,%d,%d,%d,%s,%" PRId64 ",%" PRId64 "\n", i,
                gang_types[gang->type].tasks, cores * 1000, cores * 4 * 1024, gpus, gang->gpu_milli,
                gang->model, gang->submit_s, gang->duration_s);
    }
}

/* ---- the program ---- */

static const char usage[] =
    "usage: workload [--seed N] [--gangs N] [--nodes N] [--load PERCENT] NODES.csv TASKS.csv\n";

static const char help[] =
    "\n"
    "Writes a made-up cluster and trace for `gangsched replay --nodes NODES.csv --tasks "
    "TASKS.csv`\n"
    "in the shape of published statistics of GPU clusters. The same seed gives the same files.\n"
    "\n"
    "  --seed N        default 1\n"
    "  --gangs N       gangs to arrive, default 20000\n"
    "  --nodes N       machines, default 128 (628 GPUs)\n"
    "  --load PERCENT  of the GPU time there is that the gangs ask for, default 80\n";

/* Takes the number of an option. Returns 0 if it is none in [least, most]. */
static int take_number(const char *text, int64_t least, int64_t most, int64_t *number)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    *number = value;
    return *text != '\0' && *end == '\0' && value >= least && value <= most;
}

static int close_file(FILE *file, const char *path)
{
    int failed = ferror(file);
    if (fclose(file) != 0 || failed) {
        fprintf(stderr, "workload: %s: cannot be written\n", path);
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    int64_t seed = 1;
    int64_t count = 20000;
    int64_t nodes = 128;
    int64_t load = 80;
    const struct {
        const char *name;
        int64_t least;
        int64_t most;
        int64_t *number;
    } options[] = {{"--seed", 0, INT64_MAX, &seed},
                   {"--gangs", 1, 10000000, &count},
                   {"--nodes", 1, 1000000, &nodes},
                   {"--load", 1, 1000, &load}};
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        size_t i = 0;
        while (i < 4 && strcmp(argv[at], options[i].name) != 0) {
            i++;
        }
        if (i == 4 ||
            !take_number(argv[at + 1], options[i].least, options[i].most, options[i].number)) {
            fputs(usage, stderr);
            return 2;
        }
    }
    if (at + 1 == argc && strcmp(argv[at], "--help") == 0) {
        printf("%s%s", usage, help);
        return fflush(stdout) != 0;
    }
    if (at + 2 != argc) {
        fputs(usage, stderr);
        return 2;
    }

    struct gang *gangs = calloc((size_t)count, sizeof *gangs);
    FILE *nodes_file = fopen(argv[at], "w");
    FILE *gangs_file = fopen(argv[at + 1], "w");
    if (gangs == NULL || nodes_file == NULL || gangs_file == NULL) {
        perror("workload");
        return 2;
    }
    state = (uint64_t)seed;
    draw_gangs(gangs, count, write_nodes(nodes_file, nodes), load);
    write_gangs(gangs_file, gangs, count);
    free(gangs);
    return close_file(nodes_file, argv[at]) & close_file(gangs_file, argv[at + 1]) ? 0 : 2;
}
