/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that need no queue: numbers, groups, and the gangs into which the groups of a job fall. */
#include <stdio.h>
#include <string.h>

#include "sched/intake/submit_in.h"
#include "sched/usage/usage.h"

gang_result gang__submit_error(struct gang_error *error, gang_result r, const char *path,
                               const char *text)
{
    return gang__error(error, r, path, "%s", text);
}

/* Each submission asks this, so a group is not copied if the caller knows all its members. */
static const char *partition_of(const struct gang_request_spec *q, size_t i)
{
    return q->group_size == sizeof(struct gang_group_spec)
               ? gang__submit_group(q, i)->partition
               : gang__submit_whole_group(q, i).partition;
}

bool gang__submit_names_partitions(const struct gang_request_spec *q)
{
    bool all = true;
    for (size_t i = 0; i < q->group_count && all; i++)
        all = partition_of(q, i) != NULL;
    return all;
}

gang_result gang__submit_check_partitions(const struct gang_job_spec *j, struct gang_error *error)
{
    const char *const *names = j->partitions;
    if (j->partition_count == 0)
        return GANG_OK;
    if (!names || j->partition_count > GANG_MAX_JOB_PARTITIONS)
        return gang__submit_error(error, names ? GANG_ELIMIT : GANG_EINVAL, "partitions",
                                  names ? "too many" : "missing");
    if (j->prefer_wait_ns > 0)
        return gang__submit_error(error, GANG_ENOTSUP, "partitions", "with prefer_wait_ns");
    for (size_t i = 0; i < j->partition_count; i++) {
        bool again = false;
        for (size_t k = 0; k < i && names[i]; k++)
            again = again || strcmp(names[i], names[k]) == 0;
        if (gang__text_check(names[i], false) == GANG_OK && !again)
            continue;
        gang__submit_error(error, again ? GANG_EEXIST : GANG_EINVAL, NULL,
                           again ? "named twice" : "not a name");
        return gang__error_at(error, again ? GANG_EEXIST : GANG_EINVAL, "partitions[%zu]", i);
    }
    return gang__submit_names_partitions(&j->request)
               ? gang__submit_error(error, GANG_EINVAL, "partitions",
                                    "each group names a partition itself")
               : GANG_OK;
}

/* The member that is negative; NULL: none is. */
static const char *negative_member(const struct gang_job_spec *j)
{
#define NUMBER(member)                                  \
    {                                                   \
#member, offsetof(struct gang_job_spec, member) \
    }
    static const struct {
        const char *path;
        size_t at;
    } numbers[] = {NUMBER(time_limit_ns),    NUMBER(max_restarts), NUMBER(parallelism),
                   NUMBER(restart_delay_ns), NUMBER(refill_ns),    NUMBER(start_within_ns),
                   NUMBER(back_off_ns),      NUMBER(heartbeat_ns), NUMBER(prefer_wait_ns),
                   NUMBER(begin_ns),         NUMBER(deadline_ns),  NUMBER(array_max_running)};
#undef NUMBER
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int64_t value;
        memcpy(&value, (const char *)j + numbers[i].at, sizeof(value));
        if (value < 0)
            return numbers[i].path;
    }
    return NULL;
}

gang_result gang__submit_check_numbers(const struct gang_job_spec *j, struct gang_error *error)
{
    const char *negative = negative_member(j);
    if (negative)
        return gang__submit_error(error, GANG_ERANGE, negative, "negative");
    if (j->deadline_ns > 0 &&
        gang__add_sat(j->begin_ns, j->time_limit_ns > 0 ? j->time_limit_ns : 1) > j->deadline_ns)
        return gang__submit_error(error, GANG_EINVAL, "deadline_ns",
                                  "before begin_ns and the time limit");
    if (j->submit < -1 || j->submit > INT64_MAX / 4)
        return gang__submit_error(error, GANG_ERANGE, "submit", "below -1, or too large");
    if (j->preemptible < 0 || j->preemptible > GANG_SEMI_PREEMPTIBLE)
        return gang__submit_error(error, GANG_EINVAL, "preemptible", "no such value");
    if (j->announced < 0 || j->announced > 1)
        return gang__submit_error(error, GANG_EINVAL, "announced", "no such value");
    if (j->start_full < 0 || j->start_full > 1)
        return gang__submit_error(error, GANG_EINVAL, "start_full", "no such value");
    if (j->announced && j->running)
        return gang__submit_error(error, GANG_EINVAL, "announced", "of a job that runs already");
    if (j->loss < 0 || j->loss > GANG_LOSS_SHRINK)
        return gang__submit_error(error, GANG_EINVAL, "loss", "no such value");
    if (j->name && strlen(j->name) > GANG_MAX_NAME)
        return gang__submit_error(error, GANG_EINVAL, "name", "too long");
    if (j->user && strlen(j->user) > GANG_MAX_NAME)
        return gang__submit_error(error, GANG_EINVAL, "user", "too long");
    if (j->array && strlen(j->array) > GANG_MAX_NAME)
        return gang__submit_error(error, GANG_EINVAL, "array", "too long");
    if (j->array_max_running > 0 && (!j->array || !j->array[0]))
        return gang__submit_error(error, GANG_EINVAL, "array_max_running", "without an array");
    if (j->id > GANG_MAX_JOB_ID)
        return gang__submit_error(error, GANG_ERANGE, "id", "above GANG_MAX_JOB_ID");
    if (j->places && j->place_size && j->place_size < offsetof(struct gang_running_spec, grouped))
        return gang__submit_error(error, GANG_EINVAL, "place_size",
                                  "is not that of struct gang_running_spec");
    return GANG_OK;
}

static bool is_held(int32_t state)
{
    return state == GANG_JOB_RUNNING || state == GANG_JOB_STOPPING || state == GANG_JOB_SUSPENDED;
}

static gang_result check_slice(const struct gang_job_past *past, struct gang_error *error)
{
    enum { FLAGS = 31, MAX_ROWS = UINT16_MAX };
    bool out = past->slice_state == GANG_SLICE_WAITS || past->slice_state == GANG_SLICE_SUSPENDED;
    const char *path = NULL;
    if (past->slice_row < 0 || past->slice_row > MAX_ROWS)
        return gang__submit_error(error, GANG_ERANGE, "past.slice_row", "no such row");
    if (past->slice_row == 0) {
        bool none = !past->slice_state && !past->slice_flags && !past->slice_active &&
                    !past->slice_order && !past->slice_end_ns;
        return none ? GANG_OK
                    : gang__submit_error(error, GANG_EINVAL, "past.slice_row",
                                         "missing, and other members about slices are not 0");
    }
    if (past->slice_active < 1 || past->slice_active > MAX_ROWS)
        return gang__submit_error(error, GANG_ERANGE, "past.slice_active", "no such row");
    if (past->slice_order < 1 || past->slice_end_ns < 0)
        return gang__submit_error(error, GANG_ERANGE,
                                  past->slice_order < 1 ? "past.slice_order" : "past.slice_end_ns",
                                  "too small");
    if (past->slice_state < 0 || past->slice_state > GANG_SLICE_SUSPENDED ||
        (past->state == GANG_JOB_RUNNING && out) || (past->state == GANG_JOB_SUSPENDED && !out))
        path = "past.slice_state";
    else if (past->slice_flags & ~FLAGS)
        path = "past.slice_flags";
    else if (past->state == GANG_JOB_PENDING)
        path = "past.slice_row";
    return path ? gang__submit_error(error, GANG_EINVAL, path, "no such value in this state")
                : GANG_OK;
}

gang_result gang__submit_check_past(const struct gang_job_spec *j, struct gang_job_past *past,
                                    struct gang_error *error)
{
    gang_result r = gang__struct_in(
        past, sizeof(*past), offsetof(struct gang_job_past, below_min_ns), j->past, j->past->size);
    if (r != GANG_OK)
        return gang__error(error, r, "past", "struct gang_job_past is not set up");
    const struct {
        const char *path;
        int64_t value;
    } at_least_0[] = {
        {"past.deadline_ns", past->deadline_ns},     {"past.submitted_ns", past->submitted_ns},
        {"past.started_ns", past->started_ns},       {"past.suspended_ns", past->suspended_ns},
        {"past.restarts", past->restarts},           {"past.preemptions", past->preemptions},
        {"past.extended_ns", past->extended_ns},     {"past.attempts", past->attempts},
        {"past.not_before_ns", past->not_before_ns}, {"past.below_min_ns", past->below_min_ns},
        {"past.refill_ns", past->refill_ns}};
    for (size_t i = 0; i < sizeof(at_least_0) / sizeof(at_least_0[0]); i++)
        if (at_least_0[i].value < 0)
            return gang__submit_error(error, GANG_ERANGE, at_least_0[i].path, "negative");
    r = check_slice(past, error);
    if (r != GANG_OK)
        return r;
    if (past->reserved0)
        return gang__submit_error(error, GANG_EINVAL, "past.reserved0", "is not 0");
    if (past->state != GANG_JOB_PENDING && !is_held(past->state))
        return gang__submit_error(error, GANG_EINVAL, "past.state", "no state of such a job");
    if (is_held(past->state) != (j->running != 0))
        return gang__submit_error(error, GANG_EINVAL, "past.state",
                                  "contradicts gang_job_spec.running");
    if (past->reason < 0 || past->reason > GANG_REASON_DRAIN)
        return gang__submit_error(error, GANG_EINVAL, "past.reason", "no such value");
    if (past->end < 0 || past->end > GANG_END_DEADLINE)
        return gang__submit_error(error, GANG_EINVAL, "past.end", "no such value");
    if (past->state == GANG_JOB_STOPPING && past->reason == GANG_REASON_NONE)
        return gang__submit_error(error, GANG_EINVAL, "past.reason", "a job stops for some reason");
    return GANG_OK;
}

gang_result gang__submit_check_groups(const struct gang_job_spec *j, struct gang_error *error)
{
    size_t groups = j->request.group_count;
    for (size_t i = 0; j->roles && i < groups; i++)
        if (j->roles[i] < 0 || j->roles[i] > GANG_ROLE_SIDECAR) {
            gang__submit_error(error, GANG_EINVAL, NULL, "no such role");
            return gang__error_at(error, GANG_EINVAL, "roles[%zu]", i);
        }
    for (size_t i = 0; i < j->after_count; i++)
        if (j->after[i].when < 0 || j->after[i].when > GANG_AFTER_SUCCESS ||
            j->after[i].job == GANG_ID_NONE) {
            gang__submit_error(error, GANG_EINVAL, NULL, "no job, or no such time");
            return gang__error_at(error, GANG_EINVAL, "after[%zu]", i);
        }
    if (j->after_count && j->after_size != sizeof(struct gang_job_after))
        return gang__submit_error(error, GANG_EINVAL, "after_size",
                                  "is not that of struct gang_job_after");
    if (j->group_after_count && j->group_after_size != sizeof(struct gang_group_after))
        return gang__submit_error(error, GANG_EINVAL, "group_after_size",
                                  "is not that of struct gang_group_after");
    for (size_t i = 0; i < j->group_after_count; i++) {
        const struct gang_group_after *a = &j->group_after[i];
        if (a->group < 0 || (size_t)a->group >= groups || a->after < 0 ||
            (size_t)a->after >= groups || a->group == a->after || a->when < 0 ||
            a->when > GANG_AFTER_SUCCESS) {
            gang__submit_error(error, GANG_EINVAL, NULL,
                               "no such group or time, or a group after itself");
            return gang__error_at(error, GANG_EINVAL, "group_after[%zu]", i);
        }
    }
    return GANG_OK;
}

/* A hash of the groups that a group waits for; equal sets have equal hashes. */
static uint64_t waits_of(const struct gang_job_spec *j, size_t group)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < j->group_after_count; i++)
        if ((size_t)j->group_after[i].group == group) {
            const int32_t key[] = {j->group_after[i].after, j->group_after[i].when};
            sum += gang__hash(GANG__HASH_SEED, key, sizeof(key)); /* in whatever order they stand */
        }
    return sum;
}

/* Number the gangs: groups that wait for the same groups are one gang. Returns how many. */
uint32_t gang__submit_number_gangs(const struct gang_job_spec *j, uint32_t *gang_of)
{
    uint32_t gang_count = 0;
    for (size_t group = 0; group < j->request.group_count; group++) {
        gang_of[group] = gang_count;
        for (size_t k = 0; k < group && gang_of[group] == gang_count; k++)
            if (waits_of(j, k) == waits_of(j, group))
                gang_of[group] = gang_of[k];
        gang_count += gang_of[group] == gang_count;
    }
    return gang_count;
}

bool gang__submit_has_cycle(const struct gang_job_spec *j, uint32_t *depth)
{
    size_t groups = j->request.group_count;
    memset(depth, 0, groups * sizeof(*depth));
    for (size_t round = 0; round <= groups; round++) {
        bool moved = false;
        for (size_t i = 0; i < j->group_after_count; i++) {
            const struct gang_group_after *a = &j->group_after[i];
            if (depth[a->group] <= depth[a->after]) {
                depth[a->group] = depth[a->after] + 1;
                moved = true;
            }
        }
        if (!moved)
            return false;
    }
    return true;
}

const struct gang_group_spec *gang__submit_group(const struct gang_request_spec *q, size_t i)
{
    return (const struct gang_group_spec *)(const void *)((const char *)q->groups +
                                                          i * q->group_size);
}

struct gang_group_spec gang__submit_whole_group(const struct gang_request_spec *q, size_t i)
{
    struct gang_group_spec g;
    memset(&g, 0, sizeof(g));
    memcpy(&g, gang__submit_group(q, i), q->group_size < sizeof(g) ? q->group_size : sizeof(g));
    return g;
}

gang_result gang__submit_check_gangs(const struct gang_job_spec *j, uint32_t gang_count,
                                     struct gang_error *error)
{
    int64_t sum = 0;
    if (gang_count == 1)
        return GANG_OK;
    if (j->request.group_size != sizeof(struct gang_group_spec))
        return gang__submit_error(error, GANG_EINVAL, "request.group_size",
                                  "is not that of struct gang_group_spec");
    for (size_t group = 0; group < j->request.group_count; group++) {
        sum += gang__submit_group(&j->request, group)->min;
        if (gang__submit_group(&j->request, group)->group_set >= 0)
            return gang__submit_error(error, GANG_ENOTSUP, "request.sets",
                                      "groups that wait for each other cannot be in sets");
    }
    if (j->request.same || j->request.prefer || j->request.min > sum)
        return gang__submit_error(error, GANG_EINVAL, "group_after",
                                  "the job binds groups together that do not start together");
    if (j->running)
        return gang__submit_error(error, GANG_ENOTSUP, "running",
                                  "a job whose groups wait for each other");
    return GANG_OK;
}

/* The request of one gang, in `groups`. A group without a name gets its place in the job as its
 * name, behind the array: its place in the gang would mislead. */
void gang__submit_gang_request(const struct gang_job_spec *j, const uint32_t *gang_of,
                               uint32_t which, struct gang_group_spec *groups,
                               struct gang_request_spec *q)
{
    size_t count = 0;
    int64_t sum = 0;
    char *names = (char *)(groups + j->request.group_count);
    *q = j->request;
    for (size_t group = 0; group < j->request.group_count; group++)
        if (gang_of[group] == which) {
            groups[count] = *gang__submit_group(&j->request, group);
            char *name = names + group * GANG__GROUP_NAME;
            if (!groups[count].name) {
                snprintf(name, GANG__GROUP_NAME, "groups[%zu]", group);
                groups[count].name = name;
            }
            sum += groups[count++].min;
        }
    q->groups = groups;
    q->group_count = count;
    q->min = sum;
}
