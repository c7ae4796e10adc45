/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/arrivals.h"
#include "gangsched/cli.h"
#include "gangsched/openb.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kind of pod that fragmentation is measured by: without its memory. */
struct typical {
    const struct openb_kind *kind;
    int64_t count;
};

struct curve {
    double sum; /* of what is to be averaged, in hundredths of a per cent */
    int64_t count;
};

struct run {
    struct openb *openb;
    int32_t policy;
    struct typical *typical; /* all, by descending count */
    size_t ranked_count;
    size_t typical_count; /* number of those that are typical */
    int64_t weight;       /* pods of all of them */
    int64_t *fragment;    /* of each node, times weight */
    int64_t fragments;    /* of all */
    int64_t capacity;     /* milli-GPUs */
    int64_t arrived;
    int64_t allocated;
    int64_t rejected;
    struct curve allocated_at[OPENB_CURVE], fragmented_at[OPENB_CURVE];
    size_t *by_id; /* nodes, sorted by id */
    FILE *placements;
    int64_t decision_ns;
};

/* ---- typical pods ---- */

static bool same_but_memory(const struct openb_kind *a, const struct openb_kind *b)
{
    return a->cpu_milli == b->cpu_milli && a->gpus == b->gpus && a->gpu_milli == b->gpu_milli &&
           strcmp(a->spec, b->spec) == 0;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return a > b ? -1 : a < b;
}

/* Larger first: by count, then by what they ask for. */
static int compare_typical(const void *left, const void *right)
{
    const struct typical *a = left;
    const struct typical *b = right;
    int order = compare_numbers(a->count, b->count);
    order = order != 0 ? order : compare_numbers(a->kind->cpu_milli, b->kind->cpu_milli);
    order = order != 0 ? order : compare_numbers(a->kind->gpu_milli, b->kind->gpu_milli);
    order = order != 0 ? order : compare_numbers(a->kind->gpus, b->kind->gpus);
    return order != 0 ? order : -strcmp(a->kind->spec, b->kind->spec);
}

/* All kinds, the most frequent first; typical are those that make up 95 % of all pods. */
static bool find_typical(struct run *run)
{
    struct openb *openb = run->openb;
    run->typical = calloc(openb->kind_count + 1, sizeof *run->typical);
    if (run->typical == NULL) {
        return false;
    }
    size_t count = 0;
    for (size_t i = 0; i < openb->kind_count; i++) {
        size_t at = 0;
        while (at < count && !same_but_memory(run->typical[at].kind, &openb->kinds[i])) {
            at++;
        }
        run->typical[at].kind = &openb->kinds[i];
        run->typical[at].count += openb->kinds[i].count;
        count += at == count;
    }
    qsort(run->typical, count, sizeof *run->typical, compare_typical);
    int64_t pods = (int64_t)openb->pod_count;
    run->ranked_count = count;
    while (run->typical_count < count && run->weight * 100 < pods * 95) {
        run->weight += run->typical[run->typical_count++].count;
    }
    return true;
}

/* ---- fragmentation ---- */

static bool allows(const char *spec, const char *model)
{
    size_t length = strlen(model);
    if (spec[0] == '\0') {
        return true;
    }
    for (;;) {
        size_t here = strcspn(spec, "|");
        if (here == length && strncmp(spec, model, length) == 0) {
            return true;
        }
        if (spec[here] == '\0') {
            return false;
        }
        spec += here + 1;
    }
}

/* milli-GPUs free on a node that a typical pod cannot use, summed over all typical pods. */
static int64_t fragment_of(const struct run *run, const struct openb_node *node)
{
    int64_t sum = 0;
    for (size_t i = 0; i < run->typical_count; i++) {
        const struct openb_kind *kind = run->typical[i].kind;
        int64_t fit = 0;
        int64_t total = 0;
        int64_t small = 0;
        for (int64_t k = 0; k < node->gpus; k++) {
            bool fits = node->free[k] >= kind->gpu_milli;
            total += node->free[k];
            fit += fits;
            small += fits ? 0 : node->free[k];
        }
        bool use = kind->gpus > 0 && fit >= kind->gpus && node->cpu_milli >= kind->cpu_milli &&
                   allows(kind->spec, node->model);
        sum += run->typical[i].count * (use ? small : total);
    }
    return sum;
}

static void update_fragment(struct run *run, size_t node)
{
    run->fragments -= run->fragment[node];
    run->fragment[node] = fragment_of(run, &run->openb->nodes[node]);
    run->fragments += run->fragment[node];
}

/* ---- making the cluster and the requests ---- */

/* In the order of their ranks, so that of equal nodes the one of the lowest rank is taken. */
static int add_nodes(struct openb *openb)
{
    size_t *node_at = calloc(openb->node_count, sizeof *node_at);
    if (node_at == NULL) {
        return cli_no_memory();
    }
    for (size_t i = 0; i < openb->node_count; i++) {
        node_at[openb->rank[i]] = i;
    }
    gang_result result = GANG_OK;
    struct gang_error error = GANG_ERROR_INIT;
    for (size_t at = 0; at < openb->node_count && result == GANG_OK; at++) {
        static const struct gang_amount pods = {"pods", OPENB_PODS_PER_NODE};
        struct openb_node *node = &openb->nodes[node_at[at]];
        struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
        struct gang_gpu_spec gpus[OPENB_GPUS];
        for (int64_t i = 0; i < node->gpus; i++) {
            gpus[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
            gpus[i].model = node->model;
        }
        spec.name = node->name;
        spec.cpu_milli = node->cpu_milli;
        spec.memory_bytes = node->memory_bytes;
        spec.gpus = gpus;
        spec.gpu_count = (size_t)node->gpus;
        spec.amounts = &pods;
        spec.amount_count = 1;
        result = gang_node_add(openb->worker, &spec, &node->id, &error);
    }
    free(node_at);
    return result == GANG_OK ? CLI_OK : cli_fail(openb->options.nodes_path, &error);
}

/* A kind of pod as a group; `models` and `copy` belong to it. */
static struct gang_group_spec group_of(const struct openb_kind *kind, char *copy,
                                       const char **models, size_t cap)
{
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    group.cpu_milli = kind->cpu_milli;
    group.gpu_milli = kind->gpus > 1 ? kind->gpus * 1000 : kind->gpu_milli;
    if (kind->gpus > 0) { /* a pod without GPUs runs on any node */
        strcpy(copy, kind->spec);
        group.gpu_models = models;
        group.gpu_model_count = trace_cut_models(copy, models, cap);
    }
    return group;
}

static int make_requests(struct run *run)
{
    struct openb *openb = run->openb;
    static const struct gang_amount pod = {"pods", 1};
    for (size_t i = 0; i < openb->kind_count; i++) {
        struct openb_kind *kind = &openb->kinds[i];
        size_t cap = strlen(kind->spec) / 2 + 1;
        char *copy = malloc(strlen(kind->spec) + 1);
        const char **models = calloc(cap, sizeof *models);
        struct gang_error error = GANG_ERROR_INIT;
        struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
        gang_result result = GANG_ENOMEM;
        if (copy != NULL && models != NULL) {
            struct gang_group_spec group = group_of(kind, copy, models, cap);
            group.memory_bytes = kind->memory_bytes;
            group.amounts = &pod;
            group.amount_count = 1;
            spec.groups = &group;
            spec.group_count = 1;
            spec.policy = run->policy;
            /* The reference has one pool of nodes for all. */
            spec.gpu_nodes = GANG_GPU_NODES_ALLOW;
            result = gang_request_new(openb->cluster, &spec, &kind->request, &error);
        }
        free(copy);
        free(models);
        if (result != GANG_OK) {
            return error.code != GANG_OK ? cli_fail(openb->options.tasks_path, &error)
                                         : cli_no_memory();
        }
    }
    return CLI_OK;
}

/* Tell the library what comes: to the reference policies without memory, which does not count
 * there. */
static int declare_mix(struct run *run)
{
    enum { MODELS = 16 };
    bool memory = run->policy == GANG_POLICY_DEFAULT || run->policy == GANG_POLICY_HEADROOM;
    struct openb *openb = run->openb;
    size_t count = memory ? openb->kind_count : run->ranked_count;
    size_t longest = 0;
    for (size_t i = 0; i < openb->kind_count; i++) {
        size_t length = strlen(openb->kinds[i].spec);
        longest = length > longest ? length : longest;
    }
    struct gang_group_spec *shapes = calloc(count, sizeof *shapes);
    char *text = calloc(count, longest + 1);
    const char **models = calloc(count * MODELS, sizeof *models);
    struct gang_error error = GANG_ERROR_INIT;
    gang_result result = GANG_ENOMEM;
    if (shapes != NULL && text != NULL && models != NULL) {
        for (size_t i = 0; i < count; i++) {
            const struct openb_kind *kind = memory ? &openb->kinds[i] : run->typical[i].kind;
            shapes[i] = group_of(kind, text + i * (longest + 1), models + i * MODELS, MODELS);
            shapes[i].count = memory ? kind->count : run->typical[i].count;
            shapes[i].memory_bytes = memory ? kind->memory_bytes : 0;
        }
        result = gang_mix_set(openb->worker, shapes, sizeof *shapes, count, &error);
    }
    free(shapes);
    free(text);
    free(models);
    return result == GANG_OK       ? CLI_OK
           : error.code != GANG_OK ? cli_fail(openb->options.tasks_path, &error)
                                   : cli_no_memory();
}

static const struct openb_node *sorted_nodes;

static int compare_ids(const void *left, const void *right)
{
    gang_node_id a = sorted_nodes[*(const size_t *)left].id;
    gang_node_id b = sorted_nodes[*(const size_t *)right].id;
    return a < b ? -1 : a > b;
}

static int prepare(struct run *run)
{
    struct openb *openb = run->openb;
    struct gang_error error = GANG_ERROR_INIT;
    gang_result result = gang_cluster_new(NULL, &openb->cluster, &error);
    if (result == GANG_OK) {
        result = gang_worker_new(openb->cluster, &openb->worker);
    }
    if (result == GANG_OK) {
        result = gang_kind_add(openb->worker, "pods", NULL, GANG_SCOPE_NODE, 0, NULL);
    }
    if (result != GANG_OK) {
        return cli_failf(NULL, "%s", gang_strerror(result));
    }
    run->fragment = calloc(openb->node_count, sizeof *run->fragment);
    run->by_id = calloc(openb->node_count, sizeof *run->by_id);
    if (run->fragment == NULL || run->by_id == NULL || !find_typical(run)) {
        return cli_no_memory();
    }
    int status = add_nodes(openb);
    if (status == CLI_OK) {
        status = declare_mix(run);
    }
    if (status == CLI_OK) {
        status = make_requests(run);
    }
    for (size_t i = 0; i < openb->node_count; i++) {
        run->capacity += openb->nodes[i].gpus * 1000;
        run->by_id[i] = i;
        update_fragment(run, i);
    }
    sorted_nodes = openb->nodes;
    qsort(run->by_id, openb->node_count, sizeof *run->by_id, compare_ids);
    if (status == CLI_OK && run->capacity == 0) {
        status = cli_failf(openb->options.nodes_path, "no node has a GPU");
    }
    return status;
}

/* ---- the run ---- */

static size_t node_of(const struct run *run, gang_node_id id)
{
    size_t low = 0;
    size_t high = run->openb->node_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (run->openb->nodes[run->by_id[middle]].id <= id) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return run->by_id[low];
}

struct visit {
    struct run *run;
    size_t seq;
};

static int32_t take_task(const struct gang_task *task, void *user)
{
    const struct visit *visit = user;
    struct run *run = visit->run;
    size_t at = node_of(run, task->node);
    struct openb_node *node = &run->openb->nodes[at];
    node->cpu_milli -= task->cpu_milli;
    node->memory_bytes -= task->memory_bytes;
    const char *gap = "";
    if (run->placements != NULL) {
        fprintf(run->placements, "%zu,%s,", visit->seq, node->name);
    }
    for (int64_t i = 0; i < node->gpus; i++) {
        if ((task->gpus >> i & 1) == 0) {
            continue;
        }
        node->free[i] -= task->gpu_share;
        run->allocated += task->gpu_share;
        if (run->placements != NULL) {
            fprintf(run->placements, "%s%" PRId64, gap, i);
        }
        gap = "-";
    }
    if (run->placements != NULL) {
        fputc('\n', run->placements);
    }
    update_fragment(run, at);
    return 0;
}

static void note(struct curve *curve, double hundredths)
{
    curve->sum += hundredths;
    curve->count++;
}

/* After an arrival: what is allocated and fragmented, over what has arrived. As in the published
 * results, the one is rounded before it is averaged (the sum is exact), the other is not. */
static void measure(struct run *run)
{
    double capacity = (double)run->capacity;
    double load = rint(100 * (double)run->arrived / capacity);
    if (load >= OPENB_CURVE) {
        return;
    }
    note(&run->allocated_at[(size_t)load], rint(1e4 * (double)run->allocated / capacity));
    note(&run->fragmented_at[(size_t)load],
         1e4 * (double)run->fragments / (double)run->weight / capacity);
}

static int arrive(struct run *run, size_t seq)
{
    struct openb *openb = run->openb;
    const struct openb_kind *kind = &openb->kinds[openb->pods[openb->arrivals[seq]]];
    gang_alloc_id id;
    int64_t start = cli_now_ns();
    gang_result result = gang_alloc(openb->worker, kind->request, &id, NULL);
    run->decision_ns += cli_now_ns() - start;
    run->arrived += kind->gpus * kind->gpu_milli;
    if (result == GANG_OK) {
        struct visit visit = {run, seq};
        result = gang_alloc_each(openb->cluster, id, take_task, &visit);
    } else if (result == GANG_ENOFIT || result == GANG_ENEVER) {
        result = GANG_OK;
        run->rejected++;
        if (run->placements != NULL) {
            fprintf(run->placements, "%zu,,\n", seq);
        }
    }
    measure(run);
    return result == GANG_OK ? CLI_OK : cli_failf(NULL, "%s", gang_strerror(result));
}

static int run_all(struct run *run)
{
    const char *path = run->openb->options.placements_path;
    int status = CLI_OK;
    if (path != NULL) {
        run->placements = fopen(path, "w");
        if (run->placements == NULL) {
            return cli_fail_errno(path, errno);
        }
        fputs("seq,node,gpu_index\n", run->placements);
    }
    for (size_t i = 0; i < run->openb->arrival_count && status == CLI_OK; i++) {
        status = arrive(run, i);
    }
    if (run->placements != NULL) {
        bool failed = ferror(run->placements) != 0;
        int number = failed ? EIO : 0;
        if (fclose(run->placements) != 0) {
            failed = true;
            number = errno;
        }
        run->placements = NULL;
        status = failed ? cli_fail_errno(path, number) : status;
    }
    struct gang_error error = GANG_ERROR_INIT;
    if (status == CLI_OK && gang_cluster_check(run->openb->cluster, &error) != GANG_OK) {
        cli_fail("audit of the cluster", &error);
        status = CLI_FAILED;
    }
    return status;
}

/* ---- the report ---- */

static json_t *json_curve(const struct curve *curve)
{
    json_t *array = json_array();
    for (size_t i = 0; i < OPENB_CURVE; i++) {
        double mean = curve[i].count > 0 ? curve[i].sum / (double)curve[i].count : 0;
        json_array_append_new(array,
                              curve[i].count > 0 ? json_real(rint(mean) / 100) : json_null());
    }
    return array;
}

static double fragmented_milli(const struct run *run)
{
    return rint(100 * ((double)run->fragments / (double)run->weight)) / 100;
}

static const char *policy_name(const struct run *run)
{
    const char *asked = run->openb->options.policy;
    return asked != NULL ? asked : "default";
}

static int print_json(const struct run *run)
{
    const struct openb *openb = run->openb;
    json_t *root = json_pack(
        "{ss ss ss ss sI sI sI sI sI sI sI sI sf}", "version", gang_version(), "format", "openb",
        "policy", policy_name(run), "policy_used", gang_policy_name(run->policy), "seed",
        (json_int_t)openb->seed, "nodes", (json_int_t)openb->node_count, "gpu_milli",
        (json_int_t)run->capacity, "arrivals", (json_int_t)openb->arrival_count,
        "arrived_gpu_milli", (json_int_t)run->arrived, "allocated_gpu_milli",
        (json_int_t)run->allocated, "rejected", (json_int_t)run->rejected, "idle_gpu_milli",
        (json_int_t)(run->capacity - run->allocated), "fragmented_gpu_milli",
        fragmented_milli(run));
    json_object_set_new(root, "typical_kinds", json_integer((json_int_t)run->typical_count));
    json_object_set_new(root, "allocated", json_curve(run->allocated_at));
    json_object_set_new(root, "fragmented", json_curve(run->fragmented_at));
    json_object_set_new(root, "seconds", json_real((double)run->decision_ns / 1e9));
    int failed =
        json_dump_callback(root, cli_write, NULL, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    json_decref(root);
    cli_printf("\n");
    return failed && cli_output_ok() ? cli_no_memory() : CLI_OK;
}

static void print_text(const struct run *run)
{
    const struct openb *openb = run->openb;
    const struct curve *at = &run->allocated_at[100];
    cli_printf("policy      %s (%s), order of seed %" PRId64 "\n", policy_name(run),
               gang_policy_name(run->policy), openb->seed);
    cli_printf("arrived     %s pods, %s GPUs\n", cli_number((int64_t)openb->arrival_count).s,
               cli_milli(run->arrived).s);
    cli_printf("rejected    %s pods\n", cli_number(run->rejected).s);
    cli_printf("allocated   %s of %s GPUs (%s)\n", cli_milli(run->allocated).s,
               cli_milli(run->capacity).s, cli_percent(run->allocated, run->capacity).s);
    cli_printf("fragmented  %s of %s idle GPUs\n", cli_milli(llround(fragmented_milli(run))).s,
               cli_milli(run->capacity - run->allocated).s);
    if (at->count > 0) {
        cli_printf("at a load of 100 %%  %.2f %% allocated\n",
                   rint(at->sum / (double)at->count) / 100);
    }
    cli_printf("speed       %.2f s in all decisions\n", (double)run->decision_ns / 1e9);
}

int openb_replay(const struct openb_options *options)
{
    struct openb openb = {.options = *options};
    struct run run = {.openb = &openb};
    int status = CLI_WRONG;
    if (gang_policy_find(policy_name(&run), &run.policy) != GANG_OK) {
        return cli_failf(NULL, "unknown policy '%s'", options->policy);
    }
    status = openb_read(&openb);
    if (status == CLI_OK) {
        status = prepare(&run);
    }
    if (status == CLI_OK) {
        status = run_all(&run);
    }
    if (status != CLI_WRONG) {
        int printed = CLI_OK;
        if (options->json) {
            printed = print_json(&run);
        } else {
            print_text(&run);
        }
        status = printed == CLI_OK ? status : printed;
    }
    free(run.typical);
    free(run.fragment);
    free(run.by_id);
    openb_free(&openb);
    return status;
}
