/* SPDX-License-Identifier: Apache-2.0 */
/* Our own JSON: an object a line. */
#include <gangsched/job.h>
#include <gangsched/sched.h>

#include <math.h>

#include "trace/trace_json_in.h"

/* "tasks" as a number, "gpus", "gpu_milli", "limit_s" and "groups" are the words before version
 * 0.2. */
#define GROUP_KEYS                                                                              \
    "group", "count", "min", "cpu", "mem_mib", "gpu", "gpu_devices", "gpu_models", "partition", \
        "tasks", "gpus", "gpu_milli"
static const char *const flat_keys[] = {GROUP_KEYS};
static const char *const group_keys[] = {"name", GROUP_KEYS};
static const char *const job_keys[] = {
    "job",     "name",         "submit_s",      "submit_ns", "run_s",    "run_ns",   "queue",
    "user",    "time_limit_s", "time_limit_ns", "limit_s",   "limit_ns", "priority", "preemptible",
    "start_s", "start_ns",     "end",           "groups",    GROUP_KEYS};

/* Which of two words for the same member an object has. Both: an error. */
static gang_result one_of(const struct gang__json *object, const char *key, const char *other,
                          const char **found)
{
    struct gang__json at;
    bool has_other = gang__json_get_or_null(object, other, &at);
    *found = has_other ? other : key;
    if (has_other && gang__json_get_or_null(object, key, &(struct gang__json){.value = NULL}))
        return gang__json_fail(&at, GANG_EINVAL, "is there beside '%s'", key);
    return GANG_OK;
}

static gang_result whole(const struct gang__json *object, const char *key, int64_t min, int64_t max,
                         int64_t *value)
{
    struct gang__json at;
    if (!gang__json_get_or_null(object, key, &at))
        return GANG_OK;
    return gang__json_int(&at, min, max, value);
}

/* A time as a number of seconds, or exactly as ns. */
static gang_result time_of(const struct gang__json *job, const char *seconds, const char *exact,
                           int64_t min, bool is_needed, int64_t *ns)
{
    struct gang__json at, other;
    bool in_seconds = gang__json_get_or_null(job, seconds, &at);
    if (!gang__json_get_or_null(job, exact, &other)) {
        if (!in_seconds && is_needed)
            return gang__json_fail(&at, GANG_EINVAL, "missing");
        return gang__trace_json_seconds(job, seconds, min, ns);
    }
    if (in_seconds)
        return gang__json_fail(&other, GANG_EINVAL, "is there beside '%s'", seconds);
    return gang__json_int(&other, min, GANG__TRACE_MAX_NS, ns);
}

static gang_result memory_of(const struct gang__json *group, int64_t *bytes)
{
    struct gang__json at;
    double mib;
    const double unit = 1048576;
    if (!gang__json_get_or_null(group, "mem_mib", &at))
        return GANG_OK;
    GANG__TRACE_TRY(gang__json_real(&at, 0, (double)GANG__TRACE_MAX_MEMORY / unit, &mib));
    *bytes = llround(mib * unit);
    return GANG_OK;
}

/* ["A", "B"], or "A|B" as in the table. */
static gang_result models_of(struct gang__trace_reader *r, const struct gang__json *group,
                             uint32_t *number)
{
    struct gang__span models[GANG__TRACE_MAX_MODELS];
    struct gang__json at;
    size_t count = 0;
    if (!gang__json_get_or_null(group, "gpu_models", &at))
        return GANG_OK;
    if (json_is_string(at.value)) {
        const char *text = json_string_value(at.value);
        for (const char *bar; *text && count < GANG__TRACE_MAX_MODELS; text = bar + (*bar == '|')) {
            bar = text + strcspn(text, "|");
            models[count++] = (struct gang__span){text, (size_t)(bar - text)};
        }
        if (*text)
            return gang__json_fail(&at, GANG_ELIMIT, "more than %d models", GANG__TRACE_MAX_MODELS);
    } else {
        GANG__TRACE_TRY(gang__json_array(&at, GANG__TRACE_MAX_MODELS, &count));
        for (size_t i = 0; i < count; i++) {
            struct gang__json one = gang__json_element(&at, i);
            const char *text;
            GANG__TRACE_TRY(gang__json_name(&one, 1, GANG_MAX_NAME, &text));
            models[i] = gang__span_of(text);
        }
    }
    gang_result result = gang__trace_models_add(r->trace, models, count, number);
    return result == GANG_OK ? result : gang__json_fail(&at, result, "cannot be kept");
}

static gang_result gpus_of(const struct gang__json *at, struct gang__trace_group *g)
{
    struct gang__json gpu, before;
    int64_t milli = -1, devices = -1, gpus = -1, gpu_milli = -1;
    bool is_given = gang__json_get_or_null(at, "gpu", &gpu);
    if (is_given)
        GANG__TRACE_TRY(gang__json_milli(&gpu, 0, 1000 * (int64_t)GANG_MAX_GPUS, &milli));
    GANG__TRACE_TRY(whole(at, "gpu_devices", 0, GANG_MAX_GPUS, &devices));
    GANG__TRACE_TRY(whole(at, "gpus", 0, GANG_MAX_GPUS, &gpus));
    GANG__TRACE_TRY(whole(at, "gpu_milli", 0, 1000, &gpu_milli));
    if (!is_given && devices < 0)
        return gang__trace_devices(gpus, gpu_milli, g)
                   ? GANG_OK
                   : gang__json_fail(at, GANG_EINVAL, "gpu_milli: nothing of each of the devices");
    if (gang__json_get_or_null(at, "gpus", &before) ||
        gang__json_get_or_null(at, "gpu_milli", &before))
        return gang__json_fail(&before, GANG_EINVAL, "is there beside 'gpu' or 'gpu_devices'");
    const char *wrong = gang__trace_gpu(milli, devices, g);
    return wrong ? gang__json_fail(is_given ? &gpu : at, GANG_EINVAL, "%s", wrong) : GANG_OK;
}

/* `name_key`: the member that names the group. */
static gang_result read_group(struct gang__trace_reader *r, const struct gang__json *at,
                              const char *name_key, struct gang__trace_group *g)
{
    struct gang__json cpu;
    const char *count;
    *g = (struct gang__trace_group){.count = 1};
    GANG__TRACE_TRY(gang__trace_json_word(r, at, name_key, &g->name));
    GANG__TRACE_TRY(gang__trace_json_word(r, at, "partition", &g->partition));
    GANG__TRACE_TRY(one_of(at, "count", "tasks", &count));
    GANG__TRACE_TRY(whole(at, count, 1, GANG__TRACE_MAX_TASKS, &g->count));
    g->min = g->count;
    GANG__TRACE_TRY(whole(at, "min", 0, g->count, &g->min));
    if (gang__json_get_or_null(at, "cpu", &cpu))
        GANG__TRACE_TRY(gang__json_milli(&cpu, 0, GANG_MAX_CPU_MILLI, &g->cpu_milli));
    GANG__TRACE_TRY(memory_of(at, &g->memory_bytes));
    GANG__TRACE_TRY(gpus_of(at, g));
    return models_of(r, at, &g->models);
}

static gang_result read_preemptible(const struct gang__json *job, int32_t *preemptible)
{
    static const char *const words[] = {GANG__TRACE_ABOVE_MIN};
    struct gang__json at;
    size_t index;
    if (!gang__json_get_or_null(job, "preemptible", &at))
        return GANG_OK;
    if (!json_is_string(at.value))
        return gang__json_bool(&at, preemptible);
    GANG__TRACE_TRY(gang__json_choice(&at, words, 1, &index));
    *preemptible = GANG_SEMI_PREEMPTIBLE;
    return GANG_OK;
}

static gang_result read_end(const struct gang__json *job, int32_t *end)
{
    struct gang__json at;
    size_t index;
    if (!gang__json_get_or_null(job, "end", &at))
        return GANG_OK;
    GANG__TRACE_TRY(gang__json_choice(&at, gang__trace_ends + 1,
                                      GANG__TRACE_COUNT(gang__trace_ends) - 1, &index));
    *end = (int32_t)index + 1;
    return GANG_OK;
}

static gang_result read_members(struct gang__trace_reader *r, const struct gang__json *job,
                                struct gang__trace_draft *d, char number[24])
{
    const int64_t max = GANG__TRACE_MAX_NS;
    const char *name, *seconds, *exact;
    GANG__TRACE_TRY(gang__json_object(job, job_keys, GANG__TRACE_COUNT(job_keys)));
    GANG__TRACE_TRY(one_of(job, "job", "name", &name));
    GANG__TRACE_TRY(one_of(job, "time_limit_s", "limit_s", &seconds));
    GANG__TRACE_TRY(one_of(job, "time_limit_ns", "limit_ns", &exact));
    GANG__TRACE_TRY(gang__trace_json_name(job, name, number, &d->name));
    GANG__TRACE_TRY(time_of(job, "submit_s", "submit_ns", -max, true, &d->submit_ns));
    GANG__TRACE_TRY(time_of(job, "run_s", "run_ns", 0, true, &d->run_ns));
    GANG__TRACE_TRY(time_of(job, seconds, exact, 0, false, &d->limit_ns));
    GANG__TRACE_TRY(time_of(job, "start_s", "start_ns", -max, false, &d->started_ns));
    GANG__TRACE_TRY(whole(job, "priority", INT64_MIN, INT64_MAX, &d->priority));
    GANG__TRACE_TRY(gang__trace_json_word(r, job, "queue", &d->queue));
    GANG__TRACE_TRY(gang__trace_json_word(r, job, "user", &d->user));
    GANG__TRACE_TRY(read_preemptible(job, &d->preemptible));
    return read_end(job, &d->end);
}

/* Where there is a list of groups, the job itself has none of their members. */
static gang_result read_groups(struct gang__trace_reader *r, const struct gang__json *job,
                               const struct gang__json *list, struct gang__trace_group *groups,
                               size_t count)
{
    struct gang__json beside;
    const char *name_key;
    for (size_t i = 0; i < GANG__TRACE_COUNT(flat_keys); i++)
        if (gang__json_get(job, flat_keys[i], &beside) && beside.value != list->value)
            return gang__json_fail(&beside, GANG_EINVAL, "is there beside the list of groups");
    for (size_t i = 0; i < count; i++) {
        struct gang__json at = gang__json_element(list, i);
        GANG__TRACE_TRY(gang__json_object(&at, group_keys, GANG__TRACE_COUNT(group_keys)));
        GANG__TRACE_TRY(one_of(&at, "name", "group", &name_key));
        GANG__TRACE_TRY(read_group(r, &at, name_key, &groups[i]));
    }
    return GANG_OK;
}

/* The list of groups: "tasks" as in scenarios, "groups" before version 0.2. */
static bool has_list(const struct gang__json *job, struct gang__json *list)
{
    if (gang__json_get_or_null(job, "groups", list))
        return true;
    return gang__json_get_or_null(job, "tasks", list) && json_is_array(list->value);
}

static gang_result read_line(struct gang__trace_reader *r, const struct gang__json *job)
{
    struct gang__trace_draft d = GANG__TRACE_DRAFT_INIT;
    struct gang__trace_group one, *many = NULL;
    struct gang__json list;
    char number[24];
    GANG__TRACE_TRY(read_members(r, job, &d, number));
    d.groups = &one;
    d.group_count = 1;
    if (!has_list(job, &list)) {
        GANG__TRACE_TRY(read_group(r, job, "group", &one));
        return gang__trace_json_add(r, job, &d);
    }
    GANG__TRACE_TRY(gang__json_array(&list, GANG__TRACE_MAX_GROUPS, &d.group_count));
    d.groups = many = gang__zalloc(&r->trace->mem, d.group_count, sizeof(*many));
    gang_result result = many ? GANG_OK : gang__json_fail(&list, GANG_ENOMEM, "out of memory");
    if (result == GANG_OK)
        result = read_groups(r, job, &list, many, d.group_count);
    if (result == GANG_OK)
        result = gang__trace_json_add(r, job, &d);
    gang__release(&r->trace->mem, many);
    return result;
}

static bool is_blank(const char *s, size_t n)
{
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\r'))
        n--;
    return n == 0;
}

gang_result gang__trace_read_jsonl(struct gang__trace_reader *r)
{
    struct gang__trace_piece piece = {r->text, 0, 0, 0};
    const char *end = r->text + r->length;
    for (const char *at = r->text; at < end && !gang__trace_full(r); at += piece.length + 1) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        piece.text = at;
        piece.length = (size_t)((stop ? stop : end) - at);
        piece.line++;
        if (!is_blank(at, piece.length))
            GANG__TRACE_TRY(gang__trace_piece_read(r, &piece, read_line));
    }
    return GANG_OK;
}
