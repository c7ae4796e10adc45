/* SPDX-License-Identifier: Apache-2.0 */
/* Checking the `expect` member of a case. The library hands it on as text. */
#include "scenario/read_in.h"

#include <string.h>

static gang_result check_sums(const struct gang__json *at)
{
    struct gang__json member;
    double gpus = 0;
    int64_t tasks = 0;
    if (gang__json_get(at, "gpus", &member))
        GANG__TRY(gang__json_real(&member, 0, GANG__MAX_WEIGHT, &gpus));
    if (gang__json_get(at, "tasks_running", &member))
        GANG__TRY(gang__json_int(&member, 0, INT64_MAX, &tasks));
    return GANG_OK;
}

static gang_result check_job(struct gang__reader *r, const struct gang__json *at)
{
    static const char *const keys[] = {"state", "gpus", "tasks_running", "nodes"};
    static const char *const states[] = {"running", "pending", "preempted", "refused"};
    struct gang__json member;
    const char *const *names;
    size_t index = 0;
    size_t count;
    if (!gang__lookup_find(&r->jobs, at->key, &index))
        return gang__json_fail(at, GANG_ENOENT, "no such job");
    GANG__TRY(gang__json_object(at, keys, GANG__COUNT(keys)));
    if (gang__json_get(at, "state", &member))
        GANG__TRY(gang__json_choice(&member, states, GANG__COUNT(states), &index));
    if (gang__json_get(at, "nodes", &member)) {
        GANG__TRY(gang__read_names(r, &member, GANG__MAX_NODES, &names, &count));
        for (size_t i = 0; i < count; i++) {
            struct gang__json element = gang__json_element(&member, i);
            if (!gang__lookup_find(&r->nodes, names[i], &index))
                return gang__json_fail(&element, GANG_ENOENT, "no such node");
        }
    }
    return check_sums(at);
}

static gang_result check_queue(struct gang__reader *r, const struct gang__json *at)
{
    static const char *const keys[] = {"gpus", "tasks_running"};
    size_t index;
    if (!gang__lookup_find(&r->queues, at->key, &index))
        return gang__json_fail(at, GANG_ENOENT, "no such queue");
    GANG__TRY(gang__json_object(at, keys, GANG__COUNT(keys)));
    return check_sums(at);
}

/* A list of names of jobs. */
static gang_result check_job_list(struct gang__reader *r, const struct gang__json *at)
{
    const char *const *names;
    size_t index;
    size_t count;
    GANG__TRY(gang__read_names(r, at, GANG__MAX_JOBS, &names, &count));
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(at, i);
        if (!gang__lookup_find(&r->jobs, names[i], &index))
            return gang__json_fail(&element, GANG_ENOENT, "no such job");
    }
    return GANG_OK;
}

gang_result gang__read_expect(struct gang__reader *r, const struct gang__json *expect)
{
    static const char *const keys[] = {"jobs", "queues", "interchangeable", "derived"};
    struct gang__json at;
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    size_t count;
    GANG__TRY(gang__json_object(expect, keys, GANG__COUNT(keys)));
    if (gang__json_get(expect, "jobs", &at)) {
        GANG__TRY(gang__json_map(&at, GANG__MAX_JOBS));
        while (gang__json_next(&at, &member))
            GANG__TRY(check_job(r, &member));
    }
    member.value = NULL;
    if (gang__json_get(expect, "queues", &at)) {
        GANG__TRY(gang__json_map(&at, GANG_MAX_QUEUES));
        while (gang__json_next(&at, &member))
            GANG__TRY(check_queue(r, &member));
    }
    if (gang__json_get(expect, "interchangeable", &at)) {
        GANG__TRY(gang__json_array(&at, GANG__MAX_LIST, &count));
        for (size_t i = 0; i < count; i++) {
            struct gang__json element = gang__json_element(&at, i);
            GANG__TRY(check_job_list(r, &element));
        }
    }
    if (gang__json_get(expect, "derived", &at))
        GANG__TRY(check_job_list(r, &at));
    return GANG_OK;
}
