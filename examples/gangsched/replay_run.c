/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/cli.h"
#include "gangsched/progress.h"
#include "gangsched/replay.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- a binary heap, smallest key first, then smallest gang ---- */

struct heap_item {
    int64_t key;
    size_t gang; /* index into gangs */
    gang_alloc_id id;
};

struct heap {
    struct heap_item *items;
    size_t count;
    size_t cap;
};

static bool before(const struct heap_item *a, const struct heap_item *b)
{
    return a->key != b->key ? a->key < b->key : a->gang < b->gang;
}

static bool heap_push(struct heap *heap, struct heap_item item)
{
    if (!cli_grow((void **)&heap->items, &heap->cap, heap->count, sizeof *heap->items)) {
        return false;
    }
    size_t at = heap->count++;
    while (at > 0 && before(&item, &heap->items[(at - 1) / 2])) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = item;
    return true;
}

static struct heap_item heap_pop(struct heap *heap)
{
    struct heap_item first = heap->items[0];
    struct heap_item last = heap->items[--heap->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && before(&heap->items[child + 1], &heap->items[child])) {
            child++;
        }
        if (!before(&heap->items[child], &last)) {
            break;
        }
        heap->items[at] = heap->items[child];
    }
    heap->items[at] = last; /* of an empty heap: its own old place */
    return first;
}

/* ---- the state of a run that its report does not need ---- */

#define NONE SIZE_MAX

/* Gangs of one shape that wait, oldest first. */
struct line_up {
    size_t first;
    size_t last;
    size_t reason; /* index into reasons of the last refusal */
};

struct run {
    struct replay *replay;
    struct heap ends;         /* by time */
    struct heap waiting;      /* one entry for each shape that waits: its first gang */
    struct line_up *line_ups; /* by shape */
    size_t *next;             /* by gang: the next gang in line */
    int64_t now_us;
    bool arriving; /* there are gangs to come */
    int status;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static const struct trace_shape *shape_of(const struct run *run, size_t gang)
{
    return &run->replay->gangs.shapes[run->replay->gangs.gangs[gang].shape];
}

/* ---- counting ---- */

static const struct {
    const char *name;
    int64_t max_milli;
} sizes[REPLAY_SIZES] = {{"none", 0},   {"below 1", 999}, {"1", 1000},      {"2-4", 4000},
                         {"5-8", 8000}, {"9-16", 16000},  {"17-64", 64000}, {"65+", INT64_MAX}};

const char *replay_size_name(size_t size)
{
    return sizes[size].name;
}

size_t replay_size_of(int64_t gpu_milli)
{
    size_t size = 0;
    while (gpu_milli > sizes[size].max_milli) {
        size++;
    }
    return size;
}

static void add_amount(struct replay_amount *amount, const struct trace_shape *shape, int sign)
{
    amount->gangs += sign;
    amount->tasks += sign * shape->tasks;
    amount->gpu_milli += sign * shape->tasks * trace_task_gpu_milli(shape);
}

static struct replay_size *size_class(struct run *run, const struct trace_shape *shape)
{
    return &run->replay->sizes[replay_size_of(shape->tasks * trace_task_gpu_milli(shape))];
}

/* Index of a reason, added if it is new. */
static size_t find_reason(struct replay *replay, gang_result result, const struct gang_error *error)
{
    size_t i = 0;
    for (; i < replay->reason_count; i++) {
        const struct replay_reason *reason = &replay->reasons[i];
        if (reason->result == result && reason->constraint == error->constraint &&
            reason->kind == error->kind) {
            return i;
        }
    }
    if (i == REPLAY_REASONS) {
        return i - 1; /* cannot happen: two results, nine constraints, three kinds */
    }
    replay->reasons[i].result = result;
    replay->reasons[i].constraint = error->constraint;
    replay->reasons[i].kind = error->kind;
    return replay->reason_count++;
}

static void use(struct replay_usage *usage, int64_t amount)
{
    usage->taken += amount;
    usage->peak = usage->taken > usage->peak ? usage->taken : usage->peak;
}

static void pass_time(struct replay_usage *usage, double us)
{
    usage->taken_us += (double)usage->taken * us;
}

/* Let the clock go on. Integrals end with the last arrival. */
static void advance(struct run *run, int64_t us)
{
    struct replay *replay = run->replay;
    double passed = run->arriving ? (double)(us - run->now_us) : 0;
    for (size_t i = 0; i < REPLAY_KINDS; i++) {
        pass_time(&replay->usage[i], passed);
    }
    for (size_t i = 0; i < replay->nodes.model_count; i++) {
        pass_time(&replay->model_usage[i], passed);
    }
    run->now_us = us;
}

/* ---- placements ---- */

static void write_quoted(FILE *file, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            fputc('"', file);
        }
        fputc(*text, file);
    }
    fputc('"', file);
}

/* Microseconds as seconds, with no more decimals than they need. */
static void write_seconds(FILE *file, int64_t us)
{
    fprintf(file, "%" PRId64, us / 1000000);
    if (us % 1000000 != 0) {
        char decimals[8];
        int length = snprintf(decimals, sizeof decimals, "%06d", (int)(us % 1000000));
        while (length > 0 && decimals[length - 1] == '0') {
            decimals[--length] = '\0';
        }
        fprintf(file, ".%s", decimals);
    }
}

static void write_refused(struct run *run, size_t gang)
{
    const struct replay *replay = run->replay;
    if (replay->placements != NULL) {
        fprintf(replay->placements, "%zu,", gang);
        write_quoted(replay->placements, replay->gangs.text + replay->gangs.gangs[gang].name);
        fputs(",,,,,\n", replay->placements);
    }
}

struct visit {
    struct run *run;
    size_t gang;
    int sign; /* 1: placed, -1: about to be freed */
};

static void write_task(const struct visit *visit, const struct gang_task *task, size_t node)
{
    const struct replay *replay = visit->run->replay;
    FILE *file = replay->placements;
    const char *gap = "";
    fprintf(file, "%zu,", visit->gang);
    write_quoted(file, replay->gangs.text + replay->gangs.gangs[visit->gang].name);
    fprintf(file, ",%" PRId64 ",", task->task);
    write_quoted(file, replay->nodes.names[node]);
    fputc(',', file);
    for (int i = 0; i < GANG_MAX_GPUS; i++) {
        if ((task->gpus >> i & 1) != 0) {
            fprintf(file, "%s%d", gap, i);
            gap = " ";
        }
    }
    fprintf(file, ",%" PRId32 ",", task->gpu_count > 0 ? task->gpu_share : 0);
    if (replay->gangs.timed) {
        write_seconds(file, visit->run->now_us);
    }
    fputc('\n', file);
}

static int32_t visit_task(const struct gang_task *task, void *user)
{
    const struct visit *visit = user;
    struct replay *replay = visit->run->replay;
    size_t node = trace_node_index(&replay->nodes, task->node);
    int64_t gpu_milli = (int64_t)task->gpu_count * task->gpu_share;
    use(&replay->usage[GANG_KIND_CPU], visit->sign * task->cpu_milli);
    use(&replay->usage[GANG_KIND_MEMORY], visit->sign * task->memory_bytes);
    use(&replay->usage[GANG_KIND_GPU], visit->sign * gpu_milli);
    if (gpu_milli > 0) {
        use(&replay->model_usage[replay->nodes.model[node]], visit->sign * gpu_milli);
    }
    if (visit->sign > 0 && replay->placements != NULL) {
        write_task(visit, task, node);
    }
    return 0;
}

static int count_tasks(struct run *run, size_t gang, gang_alloc_id id, int sign)
{
    struct visit visit = {run, gang, sign};
    gang_result result = gang_alloc_each(run->replay->cluster, id, visit_task, &visit);
    return result == GANG_OK ? CLI_OK : cli_failf(NULL, "%s", gang_strerror(result));
}

/* ---- deciding ---- */

static bool keep_sample(struct replay *replay, int64_t ns)
{
    size_t count = (size_t)replay->decisions;
    if (!cli_grow((void **)&replay->decision_samples, &replay->sample_cap, count,
                  sizeof *replay->decision_samples)) {
        return false;
    }
    replay->decision_samples[count] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
    replay->decisions++;
    replay->decision_ns += ns;
    return true;
}

/* Ask the allocator; only its own time is measured. */
static gang_result decide(struct run *run, size_t gang, gang_alloc_id *id, struct gang_error *error)
{
    gang_request *request = shape_of(run, gang)->request;
    int64_t start = cli_now_ns();
    gang_result result = gang_alloc(run->replay->worker, request, id, error);
    int64_t end = cli_now_ns();
    return keep_sample(run->replay, end - start) ? result : GANG_ENOMEM;
}

static int64_t add_time(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int placed(struct run *run, size_t gang, gang_alloc_id id)
{
    struct replay *replay = run->replay;
    const struct trace_gang *what = &replay->gangs.gangs[gang];
    const struct trace_shape *shape = shape_of(run, gang);
    struct replay_size *size = size_class(run, shape);
    add_amount(&replay->placed, shape, 1);
    add_amount(&size->placed, shape, 1);
    if (count_tasks(run, gang, id, 1) != CLI_OK) {
        return CLI_WRONG;
    }
    if (!replay->gangs.timed) {
        return CLI_OK;
    }
    int64_t wait = run->now_us - what->submit_us;
    replay->waits_us[replay->placed.gangs - 1] = wait;
    size->waited += wait > 0;
    size->wait_us += (double)wait;
    struct heap_item end = {add_time(run->now_us, what->duration_us), gang, id};
    return heap_push(&run->ends, end) ? CLI_OK : cli_no_memory();
}

static int stand_in_line(struct run *run, size_t gang, size_t reason)
{
    struct line_up *line_up = &run->line_ups[run->replay->gangs.gangs[gang].shape];
    const struct trace_shape *shape = shape_of(run, gang);
    add_amount(&run->replay->reasons[reason].amount, shape, 1);
    add_amount(&run->replay->waiting, shape, 1);
    run->next[gang] = NONE;
    line_up->reason = reason;
    if (line_up->first != NONE) {
        run->next[line_up->last] = gang;
        line_up->last = gang;
        return CLI_OK;
    }
    line_up->first = line_up->last = gang;
    struct heap_item item = {0, gang, GANG_ID_NONE};
    return heap_push(&run->waiting, item) ? CLI_OK : cli_no_memory();
}

/* A gang that is not placed when it comes. */
static int refused(struct run *run, size_t gang, gang_result result, const struct gang_error *error)
{
    struct replay *replay = run->replay;
    const struct trace_shape *shape = shape_of(run, gang);
    if (result != GANG_ENOFIT && result != GANG_ENEVER) {
        return cli_failf(replay->tasks_path, "'%s': %s",
                         replay->gangs.text + replay->gangs.gangs[gang].name,
                         error->text[0] != '\0' ? error->text : gang_strerror(result));
    }
    size_t reason = find_reason(replay, result, error);
    if (result == GANG_ENOFIT && replay->gangs.timed) {
        return stand_in_line(run, gang, reason);
    }
    add_amount(&replay->reasons[reason].amount, shape, 1);
    add_amount(result == GANG_ENEVER ? &replay->never : &replay->refused, shape, 1);
    write_refused(run, gang);
    return CLI_OK;
}

static int arrive(struct run *run, size_t gang)
{
    struct replay *replay = run->replay;
    const struct trace_shape *shape = shape_of(run, gang);
    const struct line_up *line_up = &run->line_ups[replay->gangs.gangs[gang].shape];
    struct gang_error error = GANG_ERROR_INIT;
    gang_alloc_id id = GANG_ID_NONE;
    add_amount(&replay->arrived, shape, 1);
    add_amount(&size_class(run, shape)->arrived, shape, 1);
    if (line_up->first != NONE) {
        return stand_in_line(run, gang, line_up->reason); /* behind gangs with the same reason */
    }
    gang_result result = decide(run, gang, &id, &error);
    return result == GANG_OK ? placed(run, gang, id) : refused(run, gang, result, &error);
}

/* ---- time ---- */

/* Something ended: ask again for those that wait, oldest first. A refusal is the answer for all of
 * its shape. After REPLAY_MAX_SKIPS refusals the others wait for the next time. */
static int retry(struct run *run)
{
    struct heap_item skipped[REPLAY_MAX_SKIPS];
    size_t skips = 0;
    int status = CLI_OK;
    while (status == CLI_OK && run->waiting.count > 0 && skips < REPLAY_MAX_SKIPS) {
        struct heap_item item = heap_pop(&run->waiting);
        struct line_up *line_up = &run->line_ups[run->replay->gangs.gangs[item.gang].shape];
        gang_alloc_id id = GANG_ID_NONE;
        gang_result result = decide(run, item.gang, &id, NULL);
        if (result == GANG_ENOFIT || result == GANG_ENEVER) {
            skipped[skips++] = item;
            continue;
        }
        if (result != GANG_OK) {
            status = cli_failf(NULL, "%s", gang_strerror(result));
            break;
        }
        add_amount(&run->replay->waiting, shape_of(run, item.gang), -1);
        status = placed(run, item.gang, id);
        line_up->first = run->next[item.gang];
        if (line_up->first != NONE) {
            item.gang = line_up->first;
            heap_push(&run->waiting, item); /* cannot fail: one was popped */
        }
    }
    while (skips > 0) {
        heap_push(&run->waiting, skipped[--skips]);
    }
    return status;
}

/* End every gang that ends at the next instant, and place the gangs that waited. */
static int end_next(struct run *run)
{
    struct replay *replay = run->replay;
    int64_t now = run->ends.items[0].key;
    advance(run, now);
    replay->end_us = now;
    while (run->ends.count > 0 && run->ends.items[0].key == now) {
        struct heap_item item = heap_pop(&run->ends);
        if (count_tasks(run, item.gang, item.id, -1) != CLI_OK) {
            return CLI_WRONG;
        }
        gang_result result = gang_alloc_free(replay->worker, item.id);
        if (result != GANG_OK) {
            return cli_failf(NULL, "%s", gang_strerror(result));
        }
    }
    return retry(run);
}

static int arrive_in_time(struct run *run, size_t gang)
{
    struct replay *replay = run->replay;
    int64_t submit = replay->gangs.gangs[gang].submit_us;
    int status = CLI_OK;
    if (gang == 0) {
        run->now_us = replay->first_us = replay->end_us = submit;
    }
    while (status == CLI_OK && run->ends.count > 0 && run->ends.items[0].key <= submit) {
        status = end_next(run);
    }
    advance(run, submit);
    replay->last_us = submit;
    return status == CLI_OK ? arrive(run, gang) : status;
}

/* After the last arrival: until everything has ended. */
static int run_out(struct run *run)
{
    int status = CLI_OK;
    run->arriving = false;
    while (status == CLI_OK && run->ends.count > 0 && !interrupted) {
        status = end_next(run);
    }
    return status;
}

/* ---- the run ---- */

static bool prepare(struct run *run)
{
    struct replay *replay = run->replay;
    run->line_ups = calloc(replay->gangs.shape_count, sizeof *run->line_ups);
    run->next = calloc(replay->gangs.count, sizeof *run->next);
    replay->waits_us = calloc(replay->gangs.count, sizeof *replay->waits_us);
    replay->model_usage = calloc(replay->nodes.model_count + 1, sizeof *replay->model_usage);
    if (run->line_ups == NULL || run->next == NULL || replay->waits_us == NULL ||
        replay->model_usage == NULL) {
        return false;
    }
    for (size_t i = 0; i < replay->gangs.shape_count; i++) {
        run->line_ups[i].first = run->line_ups[i].last = NONE;
    }
    for (size_t i = 0; i < replay->nodes.model_count; i++) {
        replay->model_usage[i].capacity = replay->nodes.models[i].gpus * 1000;
    }
    replay->usage[GANG_KIND_CPU].capacity = replay->nodes.cpu_milli;
    replay->usage[GANG_KIND_MEMORY].capacity = replay->nodes.memory_bytes;
    replay->usage[GANG_KIND_GPU].capacity = replay->nodes.gpus * 1000;
    return true;
}

static int run_all(struct run *run)
{
    struct replay *replay = run->replay;
    struct progress progress;
    int status = CLI_OK;
    size_t gang = 0;
    progress_start(&progress, "gangs", (int64_t)replay->gangs.count);
    for (; gang < replay->gangs.count && status == CLI_OK && !interrupted; gang++) {
        status = replay->gangs.timed ? arrive_in_time(run, gang) : arrive(run, gang);
        progress_at(&progress, (int64_t)gang + 1);
    }
    if (status == CLI_OK && !interrupted) {
        status = run_out(run);
    }
    progress_end(&progress);
    for (size_t shape = 0; shape < replay->gangs.shape_count; shape++) {
        for (size_t i = run->line_ups[shape].first; i != NONE; i = run->next[i]) {
            write_refused(run, i);
        }
    }
    if (status == CLI_OK && interrupted) {
        replay->interrupted = true;
        status = CLI_INTERRUPTED;
    }
    return status;
}

static int compare_samples(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static int compare_waits(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

int replay_run(struct replay *replay)
{
    struct run run = {.replay = replay, .arriving = true};
    struct sigaction action = {0};
    struct sigaction old;
    int status = CLI_WRONG;
    if (!prepare(&run)) {
        cli_no_memory();
        goto out;
    }
    interrupted = 0;
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART | (int)SA_RESETHAND; /* a second Ctrl-C ends the program */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, NULL, &old);
    if (old.sa_handler != SIG_IGN) { /* a shell's background job is not to be interrupted */
        sigaction(SIGINT, &action, NULL);
    }
    status = run_all(&run);
    sigaction(SIGINT, &old, NULL);
    if (replay->decisions > 0) {
        qsort(replay->decision_samples, (size_t)replay->decisions, sizeof(uint32_t),
              compare_samples);
    }
    if (replay->gangs.timed) {
        qsort(replay->waits_us, (size_t)replay->placed.gangs, sizeof *replay->waits_us,
              compare_waits);
    }
out:
    free(run.ends.items);
    free(run.waiting.items);
    free(run.line_ups);
    free(run.next);
    return status;
}
