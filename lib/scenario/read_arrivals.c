/* SPDX-License-Identifier: Apache-2.0 */
/* Reading which tasks of announced jobs come, and when. */
#include "scenario/read_in.h"

#define SECOND ((int64_t)1000000000)

static gang_result read_what(struct gang__reader *r, const struct gang__json *element,
                             const struct gang_job_spec *job, struct gang_scenario_arrival *a)
{
    struct gang__json at;
    int32_t complete = 0;
    if (gang__json_get(element, "complete", &at))
        GANG__TRY(gang__json_bool(&at, &complete));
    if (!complete)
        GANG__TRY(gang__json_need(element, "count", &at));
    if (gang__json_get(element, "count", &at)) {
        GANG__TRY(gang__json_int(&at, -GANG__MAX_TASKS, GANG__MAX_TASKS, &a->count));
        if (complete || a->count == 0)
            return gang__json_fail(&at, GANG_EINVAL, complete ? "beside 'complete'" : "is 0");
    }
    if (!gang__json_get(element, "group", &at))
        return GANG_OK;
    if (complete)
        return gang__json_fail(&at, GANG_EINVAL, "beside 'complete'");
    return gang__read_group_name(r, &at, job, &a->group);
}

static gang_result read_arrival(struct gang__reader *r, const struct gang__json *element,
                                const struct gang_job_spec *job, int64_t not_before,
                                struct gang_scenario_arrival *a)
{
    static const char *const keys[] = {"at_s", "group", "count", "complete"};
    struct gang__json at;
    GANG__TRY(gang__json_object(element, keys, GANG__COUNT(keys)));
    if (gang__json_get(element, "at_s", &at))
        GANG__TRY(gang__json_scaled(&at, SECOND, 0, INT64_MAX / 2, &a->at_ns));
    if (a->at_ns < not_before)
        return gang__json_fail(element, GANG_EINVAL, "comes before the one before it");
    return read_what(r, element, job, a);
}

/* How many there are, and whether their jobs are announced. */
static gang_result count_all(struct gang__reader *r, const struct gang__json *jobs, size_t *total)
{
    *total = 0;
    for (size_t i = 0; i < r->out->job_count; i++) {
        struct gang__json element = gang__json_element(jobs, i), list;
        size_t count;
        if (!gang__json_get(&element, "arrivals", &list))
            continue;
        if (!r->out->jobs[i].announced)
            return gang__json_fail(&list, GANG_EINVAL, "of a job that is not announced");
        GANG__TRY(gang__json_array(&list, GANG__MAX_LIST, &count));
        *total += count;
    }
    return GANG_OK;
}

gang_result gang__read_job_arrivals(struct gang__reader *r, const struct gang__json *jobs)
{
    struct gang_scenario_arrival *all;
    size_t total, used = 0;
    GANG__TRY(count_all(r, jobs, &total));
    if (total == 0)
        return GANG_OK;
    GANG__KEEP(all, r, jobs, total);
    for (size_t i = 0; i < r->out->job_count; i++) {
        struct gang__json job = gang__json_element(jobs, i), list;
        size_t count = 0;
        int64_t last = 0;
        if (gang__json_get(&job, "arrivals", &list))
            GANG__TRY(gang__json_array(&list, GANG__MAX_LIST, &count));
        for (size_t k = 0; k < count; k++) {
            struct gang__json element = gang__json_element(&list, k);
            all[used] = (struct gang_scenario_arrival){sizeof(*all), i, 0, 0, 0, 0};
            GANG__TRY(read_arrival(r, &element, &r->out->jobs[i], last, &all[used]));
            last = all[used++].at_ns;
        }
    }
    r->out->arrivals = all;
    r->out->arrival_count = total;
    return GANG_OK;
}
