/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched-bench: options, and what is done in which order. */
#include <errno.h>
#include <gangsched/base.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"
#include "cycle.h"
#include "forecast.h"
#include "impl.h"
#include "machine.h"
#include "matrix.h"
#include "plan.h"
#include "report.h"
#include "run.h"
#include "work.h"

enum { WRONG = 2 };

static const char help[] =
    "usage: gangsched-bench [OPTION...]                  measure, print a table\n"
    "       gangsched-bench compare BEFORE.json AFTER.json [--tolerance PERCENT]\n"
    "       gangsched-bench work all|NAME... [--nodes N] [--operations N] [--seed N]\n"
    "       gangsched-bench work --list\n"
    "\n"
    "  --json FILE     write the results as Google Benchmark does; -: to standard output\n"
    "  --hdr DIR       write each histogram as HdrHistogram does (values in ns), a file a result\n"
    "  --filter REGEX  only results with a matching name (POSIX extended)\n"
    "  --list          print the names and measure nothing\n"
    "  --quick         few shapes, little time each: 20 seconds in all\n"
    "  --seconds S     time for each loop (0.1 by default; half of it again in batches)\n"
    "  --nodes LIST    cluster sizes (1,128,1k,8k,100k,1M; k is 1000; 1: all threads on one node)\n"
    "  --threads LIST  numbers of threads (1,2)\n"
    "  --seed N        of the random numbers (1)\n"
    "  --open RATE     arrivals a second of the open loop (100000)\n"
    "  --help, --version\n"
    "\n"
    "Names are IMPL/OP/nodes:N/gang:K/fill:F/threads:T and then what else is special.\n"
    "  IMPL  gangsched  this library\n"
    "        mutex      one mutex, array of structs, first-fit from node 0, rollback\n"
    "        locks      the same with a lock a node, taken in address order\n"
    "        python     dictionaries, first-fit, in python3\n"
    "  OP    alloc_gpu, alloc_share, alloc_node   1 GPU and 4 cores; a quarter of a GPU and 1 "
    "core;\n"
    "                       K whole nodes of 8 GPUs and 64 cores. Each with `free` of the newest, "
    "or\n"
    "                       (after:random) with `free_random` of any live allocation of that "
    "shape\n"
    "        alloc_half     K times the 8 GPUs of a node and half of its cores and memory\n"
    "        alloc_scarce   a whole node of the 0.1 % that have a label (by:label), a model "
    "(by:model)\n"
    "        refuse         what does not fit\n"
    "        grow, shrink   one more whole node for an allocation that has K of them, and back\n"
    "        churn          1, 2, 4 or 8 GPUs, or freeing any, around the fill: a decision each;\n"
    "                       open:RATE: on a fixed schedule, latency from the intended arrival\n"
    "        node_change    a node is drained, or taken back;  read: one node is read\n"
    "        snapshot       of the whole cluster; beside:other: one thread takes them, the others "
    "allocate\n"
    "        build          of the whole cluster, by one node or all nodes a call; the rate is of "
    "nodes\n";

static const char help_sched[] =
    "        sched_submit   gang_job_submit() of a job of K tasks\n"
    "        sched_decide   a run that starts all that were submitted: ns a task\n"
    "        sched_idle, sched_one_freed  a run while jobs wait in all queues of a full cluster: "
    "nothing\n"
    "                       happened; a job of a node ended, and others start there\n"
    "        sched_reclaim  a run that starts a gang of whole nodes of a queue that is guaranteed "
    "them, which\n"
    "                       jobs of one GPU of another queue have (victims:scattered: their age "
    "tells\n"
    "                       nothing about where they are)\n"
    "        sched_takers   a run in which each of many jobs preempts one: ns a job\n"
    "        sched_admit    all jobs submitted and started, queues in cohorts of 100: the whole\n"
    "        sched_full_1gpu, sched_full_gang   submitted, started, ended; sched_start_*: the run "
    "that starts\n"
    "        sched_fair_decide  a run that starts a job for each GPU, of users in turn: ns a job\n"
    "        sched_fair_freed   a run after one job ended, where each user has one that waits\n"
    "        plan_start     when would a gang of K nodes start, where each of J jobs ends at a "
    "time of "
    "its own?\n"
    "        plan_conservative  J gangs of 1 to K nodes get a planned start each on a full "
    "cluster: "
    "the whole\n"
    "                       (alone: on nodes of their own; shared: tasks of 8 GPUs)\n"
    "        forecast       a full cluster is copied and run ahead until J jobs of 1 to K nodes, "
    "that\n"
    "                       wait, have started; forecast_copy: copied and freed\n"
    "  The sizes of these are fixed: --nodes only chooses among them, and they need --threads 1.\n";

static const char help_rest[] =
    "  fill  percent of what there is that is taken, at random: whole nodes (whole-node shapes),\n"
    "        single GPUs (of:gpu, of:share), tasks of 1, 2, 4, 8 GPUs (churn).\n"
    "        cluster:packed: what is free lies last; cluster:fragmented: of F % of the nodes 1..8 "
    "GPUs\n"
    "        are taken.  search:restarted: each task of a gang is searched for from node 0\n"
    "\n"
    "p50_ns ... max_ns are of single operations, each between two clock reads, and nothing is\n"
    "subtracted (context.clock_ns tells what a read costs). ns_per_op is of the median batch of up "
    "to\n"
    "64 operations between clock reads, ops_per_s the sum over threads of what that makes in a "
    "second;\n"
    "with several threads only batches count during which all of them ran (together: their share, "
    "0 if\n"
    "other programs kept them apart). wall_ops_per_s and cpu_time are of all batches. Every result "
    "is\n"
    "checked, and the cluster audited.\n"
    "\n"
    "compare ends with status 1 when p50, p99 or rate of a result got worse by more than PERCENT "
    "(10).\n"
    "work does a fixed number of operations in the function gang_bench_work(), for tools that "
    "count\n"
    "(bench/instructions.sh), on 8000 nodes, 90 % full; it prints the calls of the allocator.\n"
    "Exit status: 0, 1 when something failed or got worse, 2 for wrong usage.\n";

/* ---- failures ------------------------------------------------------------------------------ */

__attribute__((noreturn)) static void vdie(int status, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof(text), format, arguments);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?'; /* names come from the command line */
    fflush(stdout);
    fprintf(stderr, "gangsched-bench: %s\n", text);
    exit(status);
}

void bench_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vdie(1, format, arguments);
}

__attribute__((noreturn, format(printf, 1, 2))) static void wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vdie(WRONG, format, arguments);
}

void bench_filter_open(const struct bench_options *options, regex_t *filter)
{
    char text[256];
    int r = options->filter ? regcomp(filter, options->filter, REG_EXTENDED | REG_NOSUB) : 0;
    if (r) {
        regerror(r, filter, text, sizeof(text));
        bench_die("--filter %s: %s", options->filter, text);
    }
}

void bench_filter_close(const struct bench_options *options, regex_t *filter)
{
    if (options->filter)
        regfree(filter);
}

void *bench_calloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        bench_die("out of memory");
    return memory;
}

/* ---- options ------------------------------------------------------------------------------- */

/* What a number on the command line may be. */
struct number_form {
    int64_t min, max;
    bool units;       /* "k" or "M" may follow */
    const char *ends; /* what may follow the number */
};

/* A whole number; *rest, if it is wanted, is what follows. Ends the program if it is none. */
static int64_t number_of(const char *option, const char *text, const struct number_form *form,
                         const char **rest)
{
    char *end;
    errno = 0;
    intmax_t n = strtoimax(text, &end, 10);
    bool ok = end != text && *text >= '0' && *text <= '9' && !errno;
    if (ok && form->units && (*end == 'k' || *end == 'M')) {
        intmax_t unit = *end++ == 'k' ? 1000 : 1000000;
        ok = n <= INTMAX_MAX / unit;
        n *= ok ? unit : 1;
    }
    if (!ok || (*end && !strchr(form->ends, *end)))
        wrong("%s: not a number: %s", option, text);
    if (n < form->min || n > form->max)
        wrong("%s: %s is not between %" PRId64 " and %" PRId64, option, text, form->min, form->max);
    if (rest)
        *rest = end;
    return n;
}

static int64_t amount(const char *option, const char *text, int64_t max)
{
    return number_of(option, text, &(struct number_form){1, max, true, ""}, NULL);
}

static uint64_t seed_of(const char *text)
{
    const struct number_form form = {0, INT64_MAX, false, ""};
    return (uint64_t)number_of("--seed", text, &form, NULL);
}

static double real(const char *option, const char *text, double min, double max)
{
    char *end;
    errno = 0;
    double n = strtod(text, &end);
    if (end == text || *end || errno || !isfinite(n))
        wrong("%s: not a number: %s", option, text);
    if (n < min || n > max)
        wrong("%s: %s is not between %g and %g", option, text, min, max);
    return n;
}

static size_t list(const char *option, const char *text, int64_t max, int64_t *items, size_t cap)
{
    const struct number_form form = {1, max, true, ","};
    size_t n = 0;
    for (;;) {
        if (n == cap)
            wrong("%s: more than %zu numbers", option, cap);
        items[n++] = number_of(option, text, &form, &text);
        for (size_t i = 0; i + 1 < n; i++)
            if (items[i] == items[n - 1])
                wrong("%s: %" PRId64 " is there twice", option, items[i]);
        if (!*text)
            return n;
        text++;
    }
}

/* Is the argument this option? Then *value is what follows it, "--name=value" included. */
static bool option(const char *name, char **arguments, int count, int *at, const char **value)
{
    size_t n = strlen(name);
    const char *argument = arguments[*at];
    if (strncmp(argument, name, n) != 0 || (argument[n] && argument[n] != '='))
        return false;
    if (argument[n] == '=')
        *value = argument + n + 1;
    else if (*at + 1 < count)
        *value = arguments[++*at];
    else
        wrong("%s: its value is missing", name);
    return true;
}

static void defaults(struct bench_options *o)
{
    static const int64_t nodes[] = {1, 128, 1000, 8000, 100000, 1000000};
    static const int64_t quick[] = {1, 128, 1000};
    if (!o->node_count) {
        o->node_count = o->quick ? 3 : 6;
        memcpy(o->nodes, o->quick ? quick : nodes, o->node_count * sizeof(o->nodes[0]));
    }
    if (!o->thread_count) {
        o->threads[o->thread_count++] = 1;
        o->threads[o->thread_count++] = 2;
    }
}

static void parse(struct bench_options *o, int count, char **arguments)
{
    *o = (struct bench_options){.seed = 1, .seconds = -1};
    for (int i = 1; i < count; i++) {
        const char *value;
        if (strcmp(arguments[i], "--help") == 0) {
            fputs(help, stdout);
            fputs(help_sched, stdout);
            fputs(help_rest, stdout);
            exit(0);
        } else if (strcmp(arguments[i], "--version") == 0) {
            printf("gangsched-bench %s, %s\n", gang_version(), machine_build());
            exit(0);
        } else if (strcmp(arguments[i], "--quick") == 0) {
            o->quick = true;
        } else if (strcmp(arguments[i], "--list") == 0) {
            o->list = true;
        } else if (option("--json", arguments, count, &i, &value)) {
            o->json = value;
        } else if (option("--hdr", arguments, count, &i, &value)) {
            o->hdr = value;
        } else if (option("--filter", arguments, count, &i, &value)) {
            o->filter = value;
        } else if (option("--seed", arguments, count, &i, &value)) {
            o->seed = seed_of(value);
        } else if (option("--seconds", arguments, count, &i, &value)) {
            o->seconds = real("--seconds", value, 0, 3600);
        } else if (option("--threads", arguments, count, &i, &value)) {
            o->thread_count = list("--threads", value, MAX_THREADS, o->threads, MAX_THREADS);
        } else if (option("--nodes", arguments, count, &i, &value)) {
            o->node_count = list("--nodes", value, MAX_NODES, o->nodes, 16);
            o->nodes_given = true;
        } else if (option("--open", arguments, count, &i, &value)) {
            o->rate = amount("--open", value, 1000000000);
        } else {
            wrong("unknown option: %s (--help tells them)", arguments[i]);
        }
    }
    defaults(o);
}

/* ---- what it does -------------------------------------------------------------------------- */

static void print_names(const struct bench_matrix *matrix)
{
    for (size_t i = 0; i < matrix->count; i++)
        for (int op = 0; op < BENCH_OPS; op++)
            if (matrix->loops[i].wanted[op])
                printf("%s\n", matrix->loops[i].name[op]);
}

static void write_json(const struct bench_results *results, json_t *context, const char *path)
{
    json_t *all = report_json(results, context);
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!file)
        bench_die("%s: %s", path, strerror(errno));
    bool ok = json_dumpf(all, file, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0 &&
              fputc('\n', file) != EOF;
    if (file == stdout)
        ok &= fflush(file) == 0;
    else
        ok &= fclose(file) == 0;
    if (!ok)
        bench_die("%s: cannot write: %s", path, strerror(errno));
    json_decref(all);
}

/* One progress line, overwritten, for a terminal. */
static void progress(size_t at, const struct bench_matrix *matrix)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K");
    if (at < matrix->count)
        fprintf(stderr, "%zu of %zu: %s", at + 1, matrix->count, matrix->loops[at].name[0]);
}

static int measure(int count, char **arguments)
{
    struct bench_options options;
    struct bench_matrix matrix = {0};
    struct bench_results results = {0};
    parse(&options, count, arguments);
    matrix_make(&matrix, &options);
    if (!matrix.count && !cycle_list(&options, NULL) && !plan_list(&options, NULL) &&
        !forecast_list(&options, NULL))
        bench_die("no case has such a name");
    if (options.list) {
        print_names(&matrix);
        cycle_list(&options, stdout);
        plan_list(&options, stdout);
        forecast_list(&options, stdout);
        matrix_free(&matrix);
        return 0;
    }
    json_t *context = machine_context(arguments[0], &options);
    bool python = true;
    for (size_t i = 0; i < matrix.count;) {
        size_t n = matrix_scene(&matrix, i);
        const struct bench_loop *loops = &matrix.loops[i];
        progress(i, &matrix);
        if (loops->scene.impl != &bench_python)
            run_scene(loops, n, &options, &results);
        else if (python)
            python = run_python(loops, n, &options, &results);
        i += n;
    }
    progress(matrix.count, &matrix);
    cycle_run(&options, &results);
    plan_run(&options, &results);
    forecast_run(&options, &results);
    if (!options.json || strcmp(options.json, "-") != 0)
        report_table(&results, stdout);
    if (options.json)
        write_json(&results, context, options.json);
    else
        json_decref(context);
    if (options.hdr)
        report_hdr(&results, options.hdr);
    results_free(&results);
    matrix_free(&matrix);
    return fflush(stdout) ? 1 : 0;
}

static int compare(int count, char **arguments)
{
    const char *files[2], *value;
    int n = 0;
    double tolerance = 10;
    for (int i = 2; i < count; i++) {
        if (option("--tolerance", arguments, count, &i, &value))
            tolerance = real("--tolerance", value, 0, 1e6);
        else if (strncmp(arguments[i], "--", 2) == 0)
            wrong("compare: unknown option: %s", arguments[i]);
        else if (n == 2)
            wrong("compare: more than two files");
        else
            files[n++] = arguments[i];
    }
    if (n < 2)
        wrong("compare: two files are needed");
    return compare_files(files[0], files[1], tolerance);
}

static int work(int count, char **arguments)
{
    const char *value;
    int64_t nodes = 8000, operations = 0;
    uint64_t seed = 1;
    size_t n = 0;
    char **names = bench_calloc((size_t)count, sizeof(*names));
    for (int i = 2; i < count; i++) {
        if (strcmp(arguments[i], "--list") == 0) {
            work_list(stdout);
            free(names);
            return 0;
        } else if (option("--nodes", arguments, count, &i, &value)) {
            nodes = amount("--nodes", value, MAX_NODES);
        } else if (option("--operations", arguments, count, &i, &value)) {
            operations = amount("--operations", value, INT64_MAX);
        } else if (option("--seed", arguments, count, &i, &value)) {
            seed = seed_of(value);
        } else if (strncmp(arguments[i], "--", 2) == 0) {
            wrong("work: unknown option: %s", arguments[i]);
        } else if (!work_is_known(arguments[i])) {
            wrong("work: no such work: %s (work --list tells them)", arguments[i]);
        } else {
            names[n++] = arguments[i];
        }
    }
    if (!n)
        wrong("work: a name is needed (work --list tells them)");
    int status = work_run(names, n, nodes, operations, seed);
    free(names);
    return status;
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "compare") == 0)
        return compare(count, arguments);
    if (count > 1 && strcmp(arguments[1], "work") == 0)
        return work(count, arguments);
    return measure(count, arguments);
}
