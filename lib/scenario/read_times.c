/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what is known of the times of jobs: how long they have run, and are going to. */
#include "scenario/read_in.h"

#include <stdlib.h>

#define SECOND ((int64_t)1000000000)
#define LONGEST (INT64_MAX / 2)

static int by_length(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A number, or a list of them. */
static gang_result read_run_times(struct gang__reader *r, const struct gang__json *at,
                                  struct gang_scenario_time *time)
{
    bool is_list = json_is_array(at->value);
    int64_t *list;
    size_t count = 1;
    if (is_list)
        GANG__TRY(gang__json_array(at, GANG__MAX_LIST, &count));
    if (count == 0)
        return gang__json_fail(at, GANG_EINVAL, "is empty");
    GANG__KEEP(list, r, at, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = is_list ? gang__json_element(at, i) : *at;
        GANG__TRY(gang__json_scaled(&element, SECOND, 1, LONGEST, &list[i]));
    }
    qsort(list, count, sizeof(*list), by_length);
    time->run_time_ns = list;
    time->run_time_count = count;
    return GANG_OK;
}

static gang_result read_ran(const struct gang__json *at, const struct gang_job_spec *job,
                            struct gang_scenario_time *time)
{
    GANG__TRY(gang__json_scaled(at, SECOND, 0, LONGEST, &time->ran_ns));
    if (!job->running)
        return gang__json_fail(at, GANG_EINVAL, "of a job that does not run");
    if (job->time_limit_ns && time->ran_ns >= job->time_limit_ns)
        return gang__json_fail(at, GANG_ERANGE, "is not below time_limit_s");
    return GANG_OK;
}

gang_result gang__read_job_times(struct gang__reader *r, const struct gang__json *jobs)
{
    struct gang_scenario_time *list;
    size_t count = r->out->job_count, used = 0;
    GANG__KEEP(list, r, jobs, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(jobs, i), at;
        struct gang_scenario_time time = {sizeof(time), i, 0, NULL, 0};
        if (gang__json_get(&element, "ran_s", &at))
            GANG__TRY(read_ran(&at, &r->out->jobs[i], &time));
        if (gang__json_get(&element, "run_time_s", &at))
            GANG__TRY(read_run_times(r, &at, &time));
        if (time.ran_ns || time.run_time_count)
            list[used++] = time;
    }
    r->out->times = used ? list : NULL;
    r->out->time_count = used;
    return GANG_OK;
}
