/* SPDX-License-Identifier: Apache-2.0 */
/* A host of jobs with roles whose callbacks only leave notes: it launches and reports later, and
 * some reports leave from inside a callback. Chief, workers, parameter servers and sidecars; in
 * some jobs the workers wait for the group that prepares their data. */
#include "hosts/books.h"

enum { NODES = 4, GPUS = 4, NOTES = 256 };

enum { FLAT, STAGED }; /* books_job.what */

/* A report that is under way. */
struct note {
    gang_job_id job;
    gang_alloc_id alloc;
    int32_t gang;
    int64_t task;
};

static struct note note[NOTES]; /* tasks that were launched and are not reported yet */
static size_t notes;
static int32_t role[BOOKS_JOBS][BOOKS_GROUPS];
static int64_t group_ended[BOOKS_JOBS][BOOKS_GROUPS]; /* well, since the start */
static bool chief_ended[BOOKS_JOBS], failed[BOOKS_JOBS], cancelled[BOOKS_JOBS];
static int64_t successes, failures, staged;

static int64_t place_of(gang_job_id id)
{
    return books_job_of(id) - books.job;
}

/* Launched later; the first task of a gang is reported from inside the callback, now and then. */
static void started(const struct gang_event *e)
{
    bool first = one_in(3);
    for (size_t i = 0; i < books.tasks; i++) {
        const struct books_task *t = &books.task[i];
        if (!books_concerns(t, e) || t->run != books.runs)
            continue;
        if (first || notes == NOTES)
            test_must(gang_report_tasks(books.s, t->job, t->gang, t->alloc, &t->at.task, 1,
                                        GANG_TASK_STARTED));
        else
            note[notes++] = (struct note){t->job, t->alloc, t->gang, t->at.task};
        first = false;
        int64_t j = place_of(e->job);
        if (books.job[j].what == STAGED && t->at.group == 1) {
            staged++;
            BOOKS_CHECK(group_ended[j][0] > 0 || failed[j],
                        "the workers of job %" PRIu64 " start before their data", e->job);
        }
    }
}

static void ended(const struct books_job *j, const struct gang_event *e)
{
    int64_t i = j - books.job;
    successes += e->end == GANG_END_SUCCESS;
    failures += e->end == GANG_END_FAILED;
    if (cancelled[i] || j->what == STAGED || books.manner == REFUSES)
        return;
    BOOKS_CHECK(e->end != GANG_END_FAILED || failed[i], "job %" PRIu64 " fails for nothing",
                e->job);
    BOOKS_CHECK(e->end != GANG_END_SUCCESS || role[i][0] != GANG_ROLE_CHIEF || chief_ended[i],
                "job %" PRIu64 " succeeds without its chief", e->job);
}

static void open_world(int manner)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    notes = 0;
    books_open(manner);
    books.started = started;
    books.ended = ended;
    books_add_nodes(NODES, GPUS);
    books_open_sched((int64_t)NODES * GPUS, ops);
}

static void submit(void)
{
    static const int32_t others[] = {GANG_ROLE_MEMBER, GANG_ROLE_CRITICAL, GANG_ROLE_UNTRACKED,
                                     GANG_ROLE_SIDECAR};
    static const int32_t loss[] = {GANG_LOSS_COUNT, GANG_LOSS_RESTART, GANG_LOSS_REFILL,
                                   GANG_LOSS_SHRINK};
    struct gang_group_spec group[3];
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    struct gang_group_after after = {.group = 1, .after = 0, .when = GANG_AFTER_SUCCESS};
    int32_t roles[3] = {one_in(2) ? GANG_ROLE_CHIEF : GANG_ROLE_MEMBER, GANG_ROLE_MEMBER,
                        others[index_below(4)]};
    bool in_stages = one_in(4);
    for (int g = 0; g < 3; g++) {
        group[g] = (struct gang_group_spec)GANG_GROUP_SPEC_INIT;
        group[g].count = g == 0 ? 1 : 1 + below(4);
        group[g].min = one_in(2) ? group[g].count : 1;
        group[g].gpu_milli = g == 2 && one_in(2) ? 0 : 1000;
        group[g].cpu_milli = 1000;
    }
    job.request.groups = group;
    job.request.group_count = in_stages ? 2 : 2 + index_below(2);
    job.roles = in_stages ? NULL : roles;
    job.group_after = &after;
    job.group_after_count = in_stages;
    job.priority = below(4);
    job.preemptible = one_in(8) ? GANG_SEMI_PREEMPTIBLE : GANG_PREEMPTIBLE;
    job.loss = loss[index_below(4)];
    job.max_restarts = 2;
    job.time_limit_ns = one_in(5) ? (10 + below(100)) * BOOKS_SECOND : 0;
    struct books_job *j = books_submit(&job, tree_some_leaf());
    if (!j)
        return;
    int64_t i = j - books.job;
    j->what = in_stages ? STAGED : FLAT;
    memcpy(role[i], roles, sizeof(roles));
    memset(group_ended[i], 0, sizeof(group_ended[i]));
    chief_ended[i] = failed[i] = cancelled[i] = false;
}

/* The task ends; the host says so. */
static void task_ends(struct books_task *t, bool well)
{
    int64_t i = place_of(t->job);
    int32_t group = t->at.group;
    group_ended[i][group] += well;
    chief_ended[i] = chief_ended[i] || (well && role[i][group] == GANG_ROLE_CHIEF);
    failed[i] = failed[i] || !well;
    books_report(t, well ? GANG_TASK_SUCCEEDED : GANG_TASK_FAILED);
}

/* Reports that were under way arrive, also about tasks that are gone. */
static void reports_arrive(void)
{
    while (notes > 0 && !one_in(3)) {
        struct note n = note[--notes];
        gang_result r =
            gang_report_tasks(books.s, n.job, n.gang, n.alloc, &n.task, 1, GANG_TASK_STARTED);
        test_assert(r == GANG_OK || r == GANG_ESTALE);
    }
}

static void event(void)
{
    books_some_stop(5);
    reports_arrive();
    struct books_task *t = books_some_task();
    int64_t what = below(8);
    if (what < 2 && books.jobs < 30)
        submit();
    else if (what < 5 && t)
        task_ends(t, true);
    else if (what == 5 && t)
        task_ends(t, !one_in(2));
    else if (what == 6 && t && one_in(3)) {
        cancelled[place_of(t->job)] = true;
        test_must(gang_job_cancel(books.s, t->job));
    } else if (what == 6 && t && one_in(3))
        test_must(gang_job_requeue(books.s, t->job));
}

START_TEST(roles_decide_how_jobs_end)
{
    books_play(20000, open_world, event, books_close);
    ck_assert_int_gt(successes, books.events / 200);
    ck_assert_int_gt(failures, books.events / 1000);
    ck_assert_int_gt(staged, books.events / 1000);
}
END_TEST

int main(void)
{
    return books_main("host_roles", roles_decide_how_jobs_end);
}
