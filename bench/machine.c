/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* getloadavg */

#include "machine.h"

#include <gangsched/base.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#ifdef NDEBUG
#define BUILD_TYPE "release"
#else
#define BUILD_TYPE "debug"
#endif
#ifdef __clang__
#define COMPILER __VERSION__ /* begins with its name */
#else
#define COMPILER "GCC " __VERSION__
#endif

const char *machine_build(void)
{
    static char text[256];
#ifdef __GLIBC__
    snprintf(text, sizeof(text), "%s, %s, glibc %s", BUILD_TYPE, COMPILER, gnu_get_libc_version());
#else
    snprintf(text, sizeof(text), "%s, %s", BUILD_TYPE, COMPILER);
#endif
    return text;
}

double machine_clock_ns(void)
{
    double best = 1e9;
    for (int round = 0; round < 10; round++) {
        enum { READS = 2000 };
        int64_t start = bench_now();
        for (int i = 1; i < READS; i++)
            bench_now();
        double ns = (double)(bench_now() - start) / READS;
        if (ns < best)
            best = ns;
    }
    return best;
}

/* The first line of a small file, without its end; false: there is none. */
static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool ok = fgets(line, (int)size, file) != NULL;
    fclose(file);
    if (ok)
        line[strcspn(line, "\n")] = '\0';
    return ok;
}

static double mhz(char *model, size_t size)
{
    double found = 0;
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof(line), file)) {
        const char *value = strchr(line, ':');
        if (!value)
            continue;
        if (strncmp(line, "cpu MHz", 7) == 0 && found == 0)
            found = strtod(value + 1, NULL);
        if (strncmp(line, "model name", 10) == 0 && !model[0])
            snprintf(model, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
    }
    if (file)
        fclose(file);
    return found;
}

/* Processors of a mask such as "0000,00000003". */
static int processors(const char *mask)
{
    int n = 0;
    for (; *mask; mask++) {
        const char digit[] = {*mask, '\0'};
        n += __builtin_popcount((unsigned)strtoul(digit, NULL, 16));
    }
    return n;
}

static json_t *caches(void)
{
    json_t *list = json_array();
    for (int i = 0; i < 16; i++) {
        char path[128], level[16], type[32], size[32], map[256] = "";
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!read_line(path, level, sizeof(level)))
            break;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!read_line(path, type, sizeof(type)))
            break;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!read_line(path, size, sizeof(size)))
            break;
        json_array_append_new(list,
                              json_pack("{s:s, s:i, s:I, s:i}", "type", type, "level", atoi(level),
                                        "size", (json_int_t)strtoll(size, NULL, 10) * 1024,
                                        "num_sharing", processors(map)));
    }
    return list;
}

static void set_text(json_t *object, const char *key, const char *value)
{
    json_t *text = json_string(value);
    json_object_set_new(object, key, text ? text : json_string("?"));
}

json_t *machine_context(const char *executable, const struct bench_options *options)
{
    json_t *c = json_object();
    char text[256] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S%z", &local)) {
        /* Google Benchmark writes +01:00. */
        size_t n = strlen(text);
        if (n > 5 && n + 2 < sizeof(text)) {
            memmove(text + n - 1, text + n - 2, 3);
            text[n - 2] = ':';
        }
        set_text(c, "date", text);
    }
    if (gethostname(text, sizeof(text)) == 0)
        set_text(c, "host_name", text);
    set_text(c, "executable", executable);
    json_object_set_new(c, "num_cpus", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    char model[128] = "";
    json_object_set_new(c, "mhz_per_cpu", json_integer((json_int_t)mhz(model, sizeof(model))));
    bool scaling =
        read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof(text)) &&
        strcmp(text, "performance") != 0;
    json_object_set_new(c, "cpu_scaling_enabled", json_boolean(scaling));
    json_object_set_new(c, "caches", caches());
    double load[3];
    int loads = getloadavg(load, 3);
    json_t *load_avg = json_array();
    for (int i = 0; i < loads; i++)
        json_array_append_new(load_avg, json_real(load[i]));
    json_object_set_new(c, "load_avg", load_avg);
    set_text(c, "library_build_type", BUILD_TYPE);
    set_text(c, "library_version", gang_version());
    set_text(c, "compiler", COMPILER);
    struct utsname name;
    if (uname(&name) == 0) {
        snprintf(text, sizeof(text), "%.60s %.60s %.60s", name.sysname, name.release, name.machine);
        set_text(c, "kernel", text);
    }
    set_text(c, "cpu_model", model);
    if (read_line("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text)))
        set_text(c, "transparent_hugepage", text);
    if (read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
                  sizeof(text)))
        set_text(c, "clocksource", text);
    json_object_set_new(c, "clock_ns", json_real(machine_clock_ns()));
    snprintf(text, sizeof(text), "%" PRIu64, options->seed);
    set_text(c, "seed", text);
    set_text(c, "timing",
             "p50_ns..max_ns: each operation between two clock reads, of which nothing is "
             "subtracted; ns_per_op and real_time: batches without clock reads between operations");
    return c;
}
