/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of reservations: a host, reservations and jobs in one line each, and the
 * callbacks about them. */
#ifndef GANG_TESTS_SCHED_RESERVING_H
#define GANG_TESTS_SCHED_RESERVING_H

#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

/* So many GPUs, one a task. */
static inline struct gang_reservation_spec *gpus(const char *name, int64_t count, int64_t start_s,
                                                 int64_t seconds)
{
    static struct gang_group_spec group;
    struct gang_reservation_spec *spec = host_whole(name, 1, start_s, seconds);
    struct gang_reservation_stage *stage = (struct gang_reservation_stage *)(uintptr_t)spec->stages;
    group = host_gpus(count, count);
    stage->groups = &group;
    stage->exclusive = 0;
    return spec;
}

static inline gang_reservation_id reserve(const struct gang_reservation_spec *spec)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_reservation_id id;
    gang_result r = gang_reservation_add(h.s, spec, &id, NULL, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s: %s", gang_result_name(r), error.path, error.text);
    host_check(&h);
    return id;
}

static inline gang_result refused(const struct gang_reservation_spec *spec, int64_t *when_ns,
                                  struct gang_error *error)
{
    gang_reservation_id id;
    gang_result r = gang_reservation_add(h.s, spec, &id, when_ns, error);
    ck_assert_int_ne(r, GANG_OK);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    host_check(&h);
    return r;
}

/* A gang of so many tasks of one GPU each, that runs for so many seconds at most; 0: no limit. */
static inline struct gang_job_spec *spec_of(int64_t tasks, int64_t limit_s, const char *in)
{
    struct gang_job_spec *job = host_spec("q", tasks, tasks, 0);
    job->time_limit_ns = limit_s * SECOND;
    job->reservation = in;
    return job;
}

static inline gang_job_id put(int64_t tasks, int64_t limit_s, const char *in)
{
    gang_job_id id = host_submit(&h, spec_of(tasks, limit_s, in));
    host_run(&h, 0);
    return id;
}

static inline bool runs(gang_job_id id)
{
    return host_has(&h, id) && host_job_state(&h, id) == GANG_JOB_RUNNING;
}

static inline void run_until(int64_t second)
{
    host_run(&h, 0); /* then the next event lies ahead */
    while (h.now_ns < second * SECOND) {
        int64_t next = gang_sched_next(h.s);
        next = next > h.now_ns && next < second * SECOND ? next : second * SECOND;
        host_run(&h, next - h.now_ns);
    }
}

static inline struct gang_reservation_info info_of(gang_reservation_id id)
{
    struct gang_reservation_info info = {.size = sizeof(info)};
    MUST(gang_reservation_get(h.s, id, &info));
    return info;
}

static inline bool is_there(gang_reservation_id id)
{
    struct gang_reservation_info info = {.size = sizeof(info)};
    return gang_reservation_get(h.s, id, &info) == GANG_OK;
}

static inline int reported(gang_reservation_id id, int32_t what)
{
    int n = 0;
    for (size_t i = 0; i < h.reserve_count; i++)
        n += h.reserve[i].id == id && h.reserve[i].what == what;
    return n;
}

static inline const struct host_reserve *last_reported(gang_reservation_id id, int32_t what)
{
    for (size_t i = h.reserve_count; i-- > 0;)
        if (h.reserve[i].id == id && h.reserve[i].what == what)
            return &h.reserve[i];
    ck_abort_msg("never reported %d", what);
    return NULL;
}

static inline void lose(int i)
{
    MUST(gang_report_node_lost(h.s, host_node(&h, i)));
    host_run(&h, 0);
}

static inline void bring_up(int i)
{
    MUST(gang_node_set_state(h.stage.w, host_node(&h, i), GANG_NODE_UP));
    host_run(&h, 0);
}

struct explained {
    struct gang_wait wait;
    char text[512];
};

static inline int32_t note_explanation(const struct gang_wait *wait, void *user)
{
    struct explained *to = user;
    if (to->text[0])
        return 0;
    to->wait = *wait;
    snprintf(to->text, sizeof(to->text), "%s", wait->text);
    return 0;
}

/* The decisive reason. */
static inline struct explained why(gang_job_id id)
{
    struct explained to;
    memset(&to, 0, sizeof(to));
    MUST(gang_job_explain(h.s, id, note_explanation, &to));
    return to;
}

/* ---- while memory is short ---- */

/* Out of memory is said, nothing has changed, and doing it again does it. */
static inline gang_reservation_id reserve_again(const struct gang_reservation_spec *spec)
{
    gang_reservation_id id;
    gang_result r = gang_reservation_add(h.s, spec, &id, NULL, NULL);
    if (r != GANG_OK) {
        ck_assert_int_eq(r, GANG_ENOMEM);
        h.stage.mem.fail_at = 0;
        host_check(&h);
        MUST(gang_reservation_add(h.s, spec, &id, NULL, NULL));
    }
    return id;
}

static inline void run_again(int64_t ns)
{
    h.now_ns += ns;
    for (int i = 0; i < 5; i++) {
        gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
        if (r == GANG_OK)
            break;
        ck_assert_int_eq(r, GANG_ENOMEM);
        h.stage.mem.fail_at = 0;
        host_check(&h);
        h.now_ns++;
    }
}

static inline gang_job_id submit_again(const struct gang_job_spec *job)
{
    gang_job_id id;
    if (gang_job_submit(h.s, job, &id, NULL) != GANG_OK)
        MUST(gang_job_submit(h.s, job, &id, NULL));
    return id;
}

#endif
