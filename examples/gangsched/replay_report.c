/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/cli.h"
#include "gangsched/json_out.h"
#include "gangsched/replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[REPLAY_KINDS] = {"cpu", "memory", "gpu"};

static const char *const constraint_names[] = {"none",      "kind", "state", "label", "partition",
                                               "gpu_model", "same", "pool",  "min"};

static const char *constraint_name(int32_t constraint)
{
    size_t count = sizeof constraint_names / sizeof constraint_names[0];
    return constraint >= 0 && (size_t)constraint < count ? constraint_names[constraint] : "other";
}

/* Where a quantile is in a sorted array: `part` of the way from `below` to `above`, as by
 * numpy.quantile(). */
struct position {
    size_t below, above;
    double part;
};

static struct position position_of(int64_t count, double fraction)
{
    double at = (double)(count - 1) * fraction;
    struct position p = {(size_t)at, (size_t)at + 1, at - floor(at)};
    if (p.above >= (size_t)count) {
        p.above = p.below;
    }
    return p;
}

static double between(double below, double above, double part)
{
    double step = above - below;
    return part < 0.5 ? below + step * part : above - step * (1 - part);
}

static double wait_s(const struct replay *replay, double fraction)
{
    struct position p = position_of(replay->placed.gangs, fraction);
    const int64_t *sorted = replay->waits_us;
    return between((double)sorted[p.below] / 1e6, (double)sorted[p.above] / 1e6, p.part);
}

static double decision_ns(const struct replay *replay, double fraction)
{
    struct position p = position_of(replay->decisions, fraction);
    const uint32_t *sorted = replay->decision_samples;
    return between(sorted[p.below], sorted[p.above], p.part);
}

static double arrival_us(const struct replay *replay)
{
    return (double)(replay->last_us - replay->first_us);
}

/* Decisions a second; 0 if there was nothing to measure. */
static double decision_rate(const struct replay *replay)
{
    return replay->decision_ns > 0 ? (double)replay->decisions * 1e9 / (double)replay->decision_ns
                                   : 0;
}

/* ---- text ---- */

/* 1234567 ns as "1.23 ms". */
static struct cli_text short_time(double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    struct cli_text text;
    size_t unit = 0;
    for (; unit < 3 && ns >= 1000; unit++) {
        ns /= 1000;
    }
    snprintf(text.s, sizeof text.s, ns < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", ns, units[unit]);
    return text;
}

/* An amount of a kind, without its unit: whole GiB, cores in tenths, GPUs exactly. */
static struct cli_text amount_of(size_t kind, int64_t amount)
{
    if (kind == GANG_KIND_MEMORY) {
        return cli_number(amount / ((int64_t)1 << 30));
    }
    return cli_milli(kind == GANG_KIND_CPU ? (amount + 50) / 100 * 100 : amount);
}

static void print_amount(const char *name, const struct replay_amount *amount)
{
    cli_printf("%-42s %10s %11s %11s\n", name, cli_number(amount->gangs).s,
               cli_number(amount->tasks).s, cli_milli(amount->gpu_milli).s);
}

static void print_reason(const struct replay_reason *reason)
{
    static const char *const texts[] = {
        "no capacity",
        "no capacity",
        "the nodes are draining or down",
        "a label matches too few nodes",
        "the partition is too small",
        "too few GPUs of these models",
        "no single domain holds it",
        "a pool of the cluster is short",
        "below its minimum",
    };
    size_t known = sizeof texts / sizeof texts[0];
    const char *text = texts[0];
    char name[64];
    if (reason->constraint >= 0 && (size_t)reason->constraint < known) {
        text = texts[reason->constraint];
    }
    bool kind = reason->kind >= 0 && reason->kind < REPLAY_KINDS;
    if (reason->constraint == GANG_CONSTRAINT_KIND && kind) {
        snprintf(name, sizeof name, "  %s: too little %s",
                 reason->result == GANG_ENEVER ? "never" : "not now", kind_names[reason->kind]);
    } else {
        snprintf(name, sizeof name, "  %s: %s", reason->result == GANG_ENEVER ? "never" : "not now",
                 text);
    }
    print_amount(name, &reason->amount);
}

static void print_input(const struct replay *replay)
{
    const struct trace_nodes *nodes = &replay->nodes;
    cli_printf("nodes   %s with %s GPUs, %s cores, %s GiB of memory\n",
               cli_number((int64_t)nodes->count).s, cli_number(nodes->gpus).s,
               cli_milli(nodes->cpu_milli).s, amount_of(GANG_KIND_MEMORY, nodes->memory_bytes).s);
    cli_printf("trace   %s gangs (%s format), %s\n", cli_number((int64_t)replay->gangs.count).s,
               replay->gangs.format,
               replay->gangs.timed ? "which end when their duration is over"
                                   : "none of which ends");
    cli_printf("policy  %s\n\n", gang_policy_name(replay->policy));
}

static void print_outcome(const struct replay *replay)
{
    bool timed = replay->gangs.timed;
    cli_printf("%-42s %10s %11s %11s\n", "", "gangs", "tasks", "GPUs");
    print_amount("arrived", &replay->arrived);
    print_amount("placed", &replay->placed);
    print_amount("refused for ever", &replay->never);
    if (timed) {
        print_amount("still waiting", &replay->waiting);
    } else {
        print_amount("refused", &replay->refused);
    }
    if (replay->reason_count > 0) {
        cli_printf("%s\n", timed ? "why not at once" : "why not");
    }
    for (size_t i = 0; i < replay->reason_count; i++) {
        print_reason(&replay->reasons[i]);
    }
    cli_printf("\n");
}

/* One line of use: what is taken, or was on average and at most. */
static void print_usage_line(const struct replay *replay, const char *name, size_t kind,
                             const struct replay_usage *usage, const char *unit)
{
    if (!replay->gangs.timed) {
        cli_printf("%-22s %12s of %11s %-6s %8s\n", name, amount_of(kind, usage->taken).s,
                   amount_of(kind, usage->capacity).s, unit,
                   cli_percent(usage->taken, usage->capacity).s);
        return;
    }
    double us = arrival_us(replay);
    int64_t average = us > 0 ? llround(usage->taken_us / us) : 0;
    int64_t shown = kind == GANG_KIND_MEMORY ? average : (average + 50) / 100 * 100;
    cli_printf("%-22s %12s of %11s %-6s %8s %8s\n", name, amount_of(kind, shown).s,
               amount_of(kind, usage->capacity).s, unit,
               us > 0 ? cli_percent(average, usage->capacity).s : "-",
               cli_percent(usage->peak, usage->capacity).s);
}

static void print_use(const struct replay *replay)
{
    static const char *const units[REPLAY_KINDS] = {"cores", "GiB", "GPUs"};
    cli_printf("%s\n", replay->gangs.timed
                           ? "taken on average from the first to the last arrival        "
                             "average     peak"
                           : "taken at the end");
    for (size_t i = 0; i < REPLAY_KINDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "  %s", kind_names[i]);
        print_usage_line(replay, name, i, &replay->usage[i], units[i]);
    }
    for (size_t i = 0; i < replay->nodes.model_count; i++) {
        char name[GANG_MAX_NAME + 8];
        const char *model = replay->nodes.models[i].name;
        snprintf(name, sizeof name, "    %s", model[0] != '\0' ? model : "(no model)");
        for (char *c = name; *c != '\0'; c++) {
            *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
        }
        print_usage_line(replay, name, GANG_KIND_GPU, &replay->model_usage[i], "GPUs");
    }
    cli_printf("\n");
}

static void print_sizes(const struct replay *replay)
{
    bool timed = replay->gangs.timed;
    cli_printf("GPUs of the gang     arrived      placed%s\n",
               timed ? "      waited   mean wait" : "   not placed");
    for (size_t i = 0; i < REPLAY_SIZES; i++) {
        const struct replay_size *size = &replay->sizes[i];
        if (size->arrived.gangs == 0) {
            continue;
        }
        cli_printf("  %-14s %11s %11s", replay_size_name(i), cli_number(size->arrived.gangs).s,
                   cli_number(size->placed.gangs).s);
        if (!timed) {
            cli_printf(" %12s\n", cli_number(size->arrived.gangs - size->placed.gangs).s);
            continue;
        }
        double mean = size->placed.gangs > 0 ? size->wait_us / (double)size->placed.gangs : 0;
        cli_printf(" %11s %11s\n", cli_number(size->waited).s, cli_duration(mean / 1e6).s);
    }
    cli_printf("\n");
}

static void print_times(const struct replay *replay)
{
    int64_t count = replay->placed.gangs;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (double)replay->waits_us[i];
    }
    cli_printf("time    arrivals over %s, last end after %s\n",
               cli_duration(arrival_us(replay) / 1e6).s,
               cli_duration((double)(replay->end_us - replay->first_us) / 1e6).s);
    if (count > 0) {
        cli_printf("waits   mean %s, median %s, 90 %% below %s, 99 %% below %s, longest %s\n",
                   cli_duration(sum / (double)count / 1e6).s, cli_duration(wait_s(replay, 0.5)).s,
                   cli_duration(wait_s(replay, 0.9)).s, cli_duration(wait_s(replay, 0.99)).s,
                   cli_duration(wait_s(replay, 1)).s);
    }
}

static void print_decisions(const struct replay *replay)
{
    int64_t count = replay->decisions;
    if (count == 0) {
        return;
    }
    cli_printf("speed   %s decisions in %s: %s a second\n", cli_number(count).s,
               short_time((double)replay->decision_ns).s,
               cli_number(llround(decision_rate(replay))).s);
    cli_printf("        each: median %s, 99 %% below %s, longest %s\n",
               short_time(decision_ns(replay, 0.5)).s, short_time(decision_ns(replay, 0.99)).s,
               short_time(decision_ns(replay, 1)).s);
    cli_printf("        (time inside gang_alloc() only, on CLOCK_MONOTONIC, one thread)\n");
}

void replay_print_text(const struct replay *replay)
{
    print_input(replay);
    if (replay->interrupted) {
        cli_printf("INTERRUPTED after %s of %s gangs; what follows is up to there\n\n",
                   cli_number(replay->arrived.gangs).s, cli_number((int64_t)replay->gangs.count).s);
    }
    print_outcome(replay);
    print_use(replay);
    print_sizes(replay);
    if (replay->gangs.timed) {
        print_times(replay);
    }
    print_decisions(replay);
}

/* ---- JSON ---- */

/* Two decimals are what a reader wants; more would differ from machine to machine. */
static json_t *json_percent(double part, double whole)
{
    return whole > 0 ? json_real(round(part / whole * 1e4) / 100) : json_null();
}

static json_t *json_amount(const struct replay_amount *amount)
{
    return json_pack("{sI sI sI}", "gangs", (json_int_t)amount->gangs, "tasks",
                     (json_int_t)amount->tasks, "gpu_milli", (json_int_t)amount->gpu_milli);
}

static json_t *json_usage(const struct replay *replay, const struct replay_usage *usage)
{
    double capacity = (double)usage->capacity;
    double us = arrival_us(replay);
    json_t *object = json_pack("{sI}", "capacity", (json_int_t)usage->capacity);
    if (!replay->gangs.timed) {
        json_put(object, "taken", json_integer(usage->taken));
        json_put(object, "percent", json_percent((double)usage->taken, capacity));
        return object;
    }
    json_put(object, "average", us > 0 ? json_real(round(usage->taken_us / us)) : json_null());
    json_put(object, "percent",
             json_percent(us > 0 ? usage->taken_us / us : 0, us > 0 ? capacity : 0));
    json_put(object, "peak", json_integer(usage->peak));
    json_put(object, "peak_percent", json_percent((double)usage->peak, capacity));
    return object;
}

static json_t *json_nodes(const struct replay *replay)
{
    const struct trace_nodes *nodes = &replay->nodes;
    return json_pack("{sI sI sI sI}", "count", (json_int_t)nodes->count, "gpus",
                     (json_int_t)nodes->gpus, "cpu_milli", (json_int_t)nodes->cpu_milli,
                     "memory_bytes", (json_int_t)nodes->memory_bytes);
}

static json_t *json_reasons(const struct replay *replay)
{
    json_t *array = json_array();
    for (size_t i = 0; i < replay->reason_count; i++) {
        const struct replay_reason *reason = &replay->reasons[i];
        json_t *object = json_amount(&reason->amount);
        bool kind = reason->kind >= 0 && reason->kind < REPLAY_KINDS;
        json_put(object, "result", json_string(gang_result_name(reason->result)));
        json_put(object, "constraint", json_string(constraint_name(reason->constraint)));
        json_put(object, "kind", kind ? json_string(kind_names[reason->kind]) : json_null());
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_models(const struct replay *replay)
{
    json_t *array = json_array();
    for (size_t i = 0; i < replay->nodes.model_count; i++) {
        json_t *object = json_usage(replay, &replay->model_usage[i]);
        const struct trace_model *model = &replay->nodes.models[i];
        json_put(object, "model", json_string(model->name));
        json_put(object, "nodes", json_integer(model->nodes));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_sizes(const struct replay *replay)
{
    json_t *array = json_array();
    for (size_t i = 0; i < REPLAY_SIZES; i++) {
        const struct replay_size *size = &replay->sizes[i];
        json_t *object =
            json_pack("{ss sI sI}", "gpus", replay_size_name(i), "arrived",
                      (json_int_t)size->arrived.gangs, "placed", (json_int_t)size->placed.gangs);
        if (replay->gangs.timed) {
            double count = (double)size->placed.gangs;
            json_put(object, "waited", json_integer(size->waited));
            json_put(object, "mean_wait_s",
                     count > 0 ? json_real(size->wait_us / count / 1e6) : json_null());
        }
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_times(const struct replay *replay)
{
    int64_t count = replay->placed.gangs;
    double sum = 0;
    json_t *object =
        json_pack("{sf sf sf}", "first_arrival_s", (double)replay->first_us / 1e6, "last_arrival_s",
                  (double)replay->last_us / 1e6, "last_end_s", (double)replay->end_us / 1e6);
    for (int64_t i = 0; i < count; i++) {
        sum += (double)replay->waits_us[i];
    }
    if (count > 0) {
        json_t *waits = json_pack("{sf sf sf sf sf}", "mean_s", sum / (double)count / 1e6, "p50_s",
                                  wait_s(replay, 0.5), "p90_s", wait_s(replay, 0.9), "p99_s",
                                  wait_s(replay, 0.99), "max_s", wait_s(replay, 1));
        json_put(object, "waits", waits);
    }
    return object;
}

static json_t *json_decisions(const struct replay *replay)
{
    int64_t count = replay->decisions;
    json_t *object =
        json_pack("{sI sf sf ss}", "count", (json_int_t)count, "seconds",
                  (double)replay->decision_ns / 1e9, "per_second", round(decision_rate(replay)),
                  "clock", "CLOCK_MONOTONIC, inside gang_alloc() only, one thread");
    if (count > 0) {
        json_put(object, "p50_ns", json_integer(llround(decision_ns(replay, 0.5))));
        json_put(object, "p99_ns", json_integer(llround(decision_ns(replay, 0.99))));
        json_put(object, "max_ns", json_integer(llround(decision_ns(replay, 1))));
    }
    return object;
}

int replay_print_json(const struct replay *replay)
{
    int64_t rejected = replay->arrived.gangs - replay->placed.gangs;
    json_t *kinds = json_object();
    for (size_t i = 0; i < REPLAY_KINDS; i++) {
        json_put(kinds, kind_names[i], json_usage(replay, &replay->usage[i]));
    }
    json_t *root =
        json_pack("{ss ss ss sb sb}", "version", gang_version(), "policy",
                  gang_policy_name(replay->policy), "format", replay->gangs.format, "timed",
                  (int)replay->gangs.timed, "interrupted", (int)replay->interrupted);
    json_put(root, "nodes", json_nodes(replay));
    json_put(root, "gangs_in_trace", json_integer((json_int_t)replay->gangs.count));
    json_put(root, "arrived", json_amount(&replay->arrived));
    json_put(root, "placed", json_amount(&replay->placed));
    json_put(root, "refused", json_amount(&replay->refused));
    json_put(root, "never", json_amount(&replay->never));
    json_put(root, "waiting", json_amount(&replay->waiting));
    json_put(root, "rejected", json_integer(rejected));
    if (!replay->gangs.timed) {
        json_put(root, "allocated_gpu_milli", json_integer(replay->placed.gpu_milli));
    }
    json_put(root, "reasons", json_reasons(replay));
    json_put(root, "kinds", kinds);
    json_put(root, "gpu_models", json_models(replay));
    json_put(root, "gang_sizes", json_sizes(replay));
    if (replay->gangs.timed) {
        json_put(root, "time", json_times(replay));
    }
    json_put(root, "decisions", json_decisions(replay));
    int failed =
        json_dump_callback(root, cli_write, NULL, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    json_decref(root);
    cli_printf("\n");
    return failed && cli_output_ok() ? cli_no_memory() : CLI_OK;
}
