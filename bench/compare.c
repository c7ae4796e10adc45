/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <jansson.h>
#include <string.h>

#include "bench.h"

static json_t *load(const char *path)
{
    json_error_t error;
    json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!all && error.line > 0)
        bench_die("%s: line %d: %s", path, error.line, error.text);
    if (!all)
        bench_die("%s: %s", path, error.text);
    if (!json_is_array(json_object_get(all, "benchmarks")))
        bench_die("%s: it has no \"benchmarks\"", path);
    return all;
}

static const char *name_of(const json_t *entry)
{
    const char *name = json_string_value(json_object_get(entry, "name"));
    return name ? name : "";
}

static const json_t *find(const json_t *list, const char *name)
{
    size_t i;
    const json_t *entry;
    for (i = 0; i < json_array_size(list); i++) {
        entry = json_array_get(list, i);
        if (strcmp(name_of(entry), name) == 0)
            return entry;
    }
    return NULL;
}

/* How many times worse; 0: one of them does not have it. */
static double worse(const json_t *before, const json_t *after, const char *key, bool more_is_better)
{
    double b = json_number_value(json_object_get(before, key));
    double a = json_number_value(json_object_get(after, key));
    if (b <= 0 || a <= 0)
        return 0;
    return more_is_better ? b / a : a / b;
}

static void print_ratio(double ratio)
{
    if (ratio > 0)
        printf(" %8.3f", ratio);
    else
        printf(" %8s", "-");
}

int compare_files(const char *before_path, const char *after_path, double tolerance_percent)
{
    json_t *before = load(before_path), *after = load(after_path);
    const json_t *old_list = json_object_get(before, "benchmarks");
    const json_t *new_list = json_object_get(after, "benchmarks");
    double limit = 1 + tolerance_percent / 100;
    size_t within = 0, outside = 0, only_before = 0, only_after = 0;
    printf("after / before: above 1 is slower; ops is before / after\n");
    printf("%-76s %8s %8s %8s\n", "", "p50", "p99", "ops");
    for (size_t i = 0; i < json_array_size(old_list); i++) {
        const json_t *old = json_array_get(old_list, i);
        const json_t *new = find(new_list, name_of(old));
        if (!new) {
            only_before++;
            continue;
        }
        double p50 = worse(old, new, "p50_ns", false), p99 = worse(old, new, "p99_ns", false);
        double ops = worse(old, new, "ops_per_s", true);
        bool bad = p50 > limit || p99 > limit || ops > limit;
        printf("%-76s", name_of(old));
        print_ratio(p50);
        print_ratio(p99);
        print_ratio(ops);
        printf("%s\n", bad ? "  worse" : "");
        within += !bad;
        outside += bad;
    }
    for (size_t i = 0; i < json_array_size(new_list); i++)
        only_after += !find(old_list, name_of(json_array_get(new_list, i)));
    if (only_before)
        printf("%zu only in %s\n", only_before, before_path);
    if (only_after)
        printf("%zu only in %s\n", only_after, after_path);
    json_decref(before);
    json_decref(after);
    if (!within && !outside)
        bench_die("%s and %s have no name in common", before_path, after_path);
    printf("%zu within tolerance, %zu outside\n", within, outside);
    return outside > 0;
}
