/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "histogram.h"

/* ---- JSON ---------------------------------------------------------------------------------- */

static void set_real(json_t *object, const char *key, double value)
{
    if (value >= 0)
        json_object_set_new(object, key, json_real(value));
}

static void set_integer(json_t *object, const char *key, int64_t value)
{
    if (value >= 0)
        json_object_set_new(object, key, json_integer(value));
}

static json_t *entry(const struct bench_result *r)
{
    const struct bench_histogram *h = r->histogram;
    json_t *e = json_object();
    double real = r->ns_per_op >= 0 ? r->ns_per_op : r->mean_ns;
    json_object_set_new(e, "name", json_string(r->name));
    json_object_set_new(e, "run_name", json_string(r->name));
    json_object_set_new(e, "run_type", json_string("iteration"));
    set_integer(e, "repetitions", 1);
    set_integer(e, "repetition_index", 0);
    set_integer(e, "threads", r->threads);
    set_integer(e, "iterations", r->iterations);
    set_real(e, "real_time", real);
    set_real(e, "cpu_time", r->cpu_ns >= 0 ? r->cpu_ns : real);
    json_object_set_new(e, "time_unit", json_string("ns"));
    set_integer(e, "p50_ns", histogram_at(h, 50));
    set_integer(e, "p90_ns", histogram_at(h, 90));
    set_integer(e, "p99_ns", histogram_at(h, 99));
    set_integer(e, "p999_ns", histogram_at(h, 99.9));
    set_integer(e, "max_ns", histogram_max(h));
    set_real(e, "mean_ns", r->mean_ns);
    set_real(e, "ns_per_op", r->ns_per_op);
    set_integer(e, "batch", r->batch);
    if (r->threads > 1)
        set_real(e, "together", r->together);
    set_real(e, "ops_per_s", r->ops_per_s);
    set_real(e, "wall_ops_per_s", r->wall_ops_per_s);
    set_real(e, "bytes_per_node", r->bytes_per_node);
    set_integer(e, "retries", r->retries);
    set_integer(e, "helps", r->helps);
    set_integer(e, "refused", r->refused);
    set_real(e, "allocs_per_op", r->allocs_per_op);
    return e;
}

json_t *report_json(const struct bench_results *results, json_t *context)
{
    json_t *list = json_array();
    for (size_t i = 0; i < results->count; i++)
        json_array_append_new(list, entry(&results->items[i]));
    json_t *all = json_object();
    json_object_set_new(all, "context", context);
    json_object_set_new(all, "benchmarks", list);
    return all;
}

/* ---- table --------------------------------------------------------------------------------- */

static const char *const impls[] = {"gangsched", "mutex", "locks", "python"};
enum { IMPLS = sizeof(impls) / sizeof(impls[0]), SHAPE_WIDTH = 76 };

static const char *shape_of(const struct bench_result *r)
{
    return strchr(r->name, '/') + 1;
}

static bool is_of(const struct bench_result *r, const char *impl)
{
    size_t n = strlen(impl);
    return strncmp(r->name, impl, n) == 0 && r->name[n] == '/';
}

static const struct bench_result *find(const struct bench_results *results, const char *impl,
                                       const char *shape)
{
    for (size_t i = 0; i < results->count; i++)
        if (is_of(&results->items[i], impl) && strcmp(shape_of(&results->items[i]), shape) == 0)
            return &results->items[i];
    return NULL;
}

/* 3 digits and a unit. */
static const char *time_text(char *text, size_t size, double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    for (; ns >= 999.5 && unit < 3; unit++)
        ns /= 1000;
    snprintf(text, size, "%.*f %s",
             ns >= 99.95 || unit == 0 ? 0
             : ns >= 9.995            ? 1
                                      : 2,
             ns, units[unit]);
    return text;
}

static const char *rate_text(char *text, size_t size, double per_second)
{
    if (per_second >= 1e6)
        snprintf(text, size, "%.2f M/s", per_second / 1e6);
    else if (per_second >= 1e3)
        snprintf(text, size, "%.1f k/s", per_second / 1e3);
    else
        snprintf(text, size, "%.1f /s", per_second);
    return text;
}

/* How much more all threads do than one, or 0. Threads that other programs kept apart tell
 * nothing. */
static double speedup(const struct bench_results *results, const struct bench_result *r)
{
    static const char word[] = "/threads:";
    char name[2 * BENCH_NAME];
    const char *threads = strstr(r->name, word);
    if (r->threads < 2 || !threads || r->together == 0)
        return 0;
    const char *rest = threads + strlen(word);
    rest += strspn(rest, "0123456789");
    snprintf(name, sizeof(name), "%.*s%s1%s", (int)(threads - r->name), r->name, word, rest);
    for (size_t i = 0; i < results->count; i++)
        if (strcmp(results->items[i].name, name) == 0)
            return r->ops_per_s / results->items[i].ops_per_s;
    return 0;
}

static void print_shape(const struct bench_results *results, const char *shape, FILE *file)
{
    char a[32], b[32];
    int width = 0;
    const struct bench_result *ours = find(results, impls[0], shape);
    width = fprintf(file, "%-*s", SHAPE_WIDTH, shape);
    for (size_t i = 0; i < IMPLS; i++) {
        const struct bench_result *r = find(results, impls[i], shape);
        if (!r)
            continue;
        if (width > SHAPE_WIDTH)
            fprintf(file, "\n%-*s", SHAPE_WIDTH, "");
        width = SHAPE_WIDTH + 1;
        const struct bench_histogram *h = r->histogram;
        double p50 = (double)histogram_at(h, 50);
        fprintf(file, " %-9s %9s", impls[i], time_text(a, sizeof(a), p50));
        fprintf(file, " %9s", time_text(a, sizeof(a), (double)histogram_at(h, 99)));
        fprintf(file, " %9s", time_text(a, sizeof(a), (double)histogram_at(h, 99.9)));
        fprintf(file, " %9s", time_text(a, sizeof(a), (double)histogram_max(h)));
        fprintf(file, " %9s", r->ns_per_op >= 0 ? time_text(a, sizeof(a), r->ns_per_op) : "-");
        fprintf(file, " %11s", rate_text(b, sizeof(b), r->ops_per_s));
        if (r != ours && ours && histogram_at(ours->histogram, 50) > 0)
            fprintf(file, " %8.2f x", p50 / (double)histogram_at(ours->histogram, 50));
        else
            fprintf(file, " %10s", "");
        double times = speedup(results, r);
        if (times > 0)
            fprintf(file, "  %.2f x one thread", times);
        if (r->threads > 1 && r->together == 0)
            fprintf(file, "  threads were kept apart");
        if (r->bytes_per_node >= 0)
            fprintf(file, "  %.0f bytes a node", r->bytes_per_node);
        if (r->allocs_per_op > 0)
            fprintf(file, "  %.3g allocations an operation", r->allocs_per_op);
        if (r->retries > 0)
            fprintf(file, "  %" PRId64 " retries", r->retries);
        if (r->helps > 0)
            fprintf(file, "  %" PRId64 " helps", r->helps);
        if (r->refused > 0 && strncmp(shape, "refuse", 6) != 0)
            fprintf(file, "  %" PRId64 " refused", r->refused);
    }
    fputc('\n', file);
}

void report_table(const struct bench_results *results, FILE *file)
{
    fprintf(file, "%-*s %-9s %9s %9s %9s %9s %9s %11s %10s\n", SHAPE_WIDTH, "", "", "p50", "p99",
            "p99.9", "max", "in a loop", "rate", "p50/ours");
    for (size_t i = 0; i < results->count; i++) {
        const char *shape = shape_of(&results->items[i]);
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = strcmp(shape_of(&results->items[j]), shape) != 0;
        if (first)
            print_shape(results, shape, file);
    }
}

/* ---- HdrHistogram -------------------------------------------------------------------------- */

void report_hdr(const struct bench_results *results, const char *folder)
{
    if (mkdir(folder, 0777) && errno != EEXIST)
        bench_die("--hdr %s: %s", folder, strerror(errno));
    for (size_t i = 0; i < results->count; i++) {
        char path[4096];
        int n = snprintf(path, sizeof(path), "%s/", folder);
        if (n < 0 || (size_t)n + BENCH_NAME + 8 > sizeof(path))
            bench_die("--hdr %s: the path is too long", folder);
        char *at = path + n;
        snprintf(at, BENCH_NAME + 8, "%s.hgrm", results->items[i].name);
        for (; *at; at++)
            if (*at == '/' || *at == ':')
                *at = *at == '/' ? '_' : '-';
        FILE *file = fopen(path, "w");
        if (!file)
            bench_die("%s: %s", path, strerror(errno));
        histogram_print(results->items[i].histogram, file);
        if (fclose(file))
            bench_die("%s: %s", path, strerror(errno));
    }
}
