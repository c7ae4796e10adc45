/* SPDX-License-Identifier: Apache-2.0 */
/* A host that reserves whole nodes and GPUs, runs members inside them, and asks for forecasts.
 *   - No job that is not a member starts on nodes that are reserved whole if it might still run
 *     when the reservation begins, nor while it lasts. The plan that the library shows says which
 *     nodes those are.
 *   - Members run on nodes of their reservation, while it lasts.
 *   - While no host answers against the rules, no job is in the way when a reservation begins.
 *   - A forecast expects each job that waits, not in the past, and changes nothing. */
#include "hosts/books.h"

enum { NODES = 6, GPUS = 4, NAMES = 8 };

static char name[NAMES][16];
static gang_reservation_id reservation[NAMES];
static bool is_whole[NAMES];
static gang_reservation_id member_of[BOOKS_JOBS]; /* by place in the books */
static int64_t grace_ns;
static int64_t accepted, begun, members, forecasts, expected;

/* Is the reservation on whole nodes, and still known? */
static int name_of(gang_reservation_id id)
{
    for (int i = 0; i < NAMES; i++)
        if (reservation[i] == id)
            return i;
    return -1;
}

struct start {
    const struct gang_event *e;
    const struct books_job *j;
    int64_t end_ns; /* latest; INT64_MAX: none */
    bool inside;
};

static bool runs_on(const struct start *s, const struct gang_plan_item *item)
{
    for (size_t i = 0; i < books.tasks; i++)
        for (size_t n = 0; books_concerns(&books.task[i], s->e) && n < item->node_count; n++)
            if (books.task[i].at.node == item->nodes[n])
                return true;
    return false;
}

static int32_t check_piece(const struct gang_plan_item *item, void *user)
{
    struct start *s = user;
    int n = item->what == GANG_PLAN_RESERVATION ? name_of(item->id) : -1;
    if (n < 0 || !runs_on(s, item))
        return 0;
    bool now = item->start_ns <= books.now_ns && item->end_ns > books.now_ns;
    bool own = member_of[s->j - books.job] == item->id;
    s->inside = s->inside || (own && now);
    BOOKS_CHECK(own || !is_whole[n] || s->end_ns <= item->start_ns || item->end_ns <= books.now_ns,
                "job %" PRIu64 " may run until %" PRId64 " on nodes of %s, from %" PRId64,
                s->e->job, s->end_ns, name[n], item->start_ns);
    return 0;
}

static void started(const struct gang_event *e)
{
    struct start s = {.e = e, .j = books_job_of(e->job), .end_ns = INT64_MAX};
    int n = member_of[s.j - books.job] ? name_of(member_of[s.j - books.job]) : -1;
    if (s.j->limit_ns && e->task_count == 0)
        s.end_ns = books.now_ns + s.j->limit_ns + grace_ns;
    if (e->task_count > 0) /* it started earlier, and ends by the limit from then on */
        return;
    if (n >= 0) { /* a member ends with its reservation */
        struct gang_reservation_info info = GANG_RESERVATION_INFO_INIT;
        test_must(gang_reservation_get(books.s, reservation[n], &info));
        s.end_ns = info.end_ns < s.end_ns ? info.end_ns : s.end_ns;
    }
    test_must(gang_plan_each(books.s, check_piece, &s));
    if (n >= 0) {
        members++;
        BOOKS_CHECK(s.inside, "job %" PRIu64 " starts outside %s", e->job, name[n]);
    }
}

static int32_t on_reservation(const struct gang_reservation_event *e, void *user)
{
    (void)user;
    int n = name_of(e->id);
    BOOKS_CHECK(n >= 0, "%s has ended", e->name);
    if (e->what == GANG_RESERVATION_BEGIN) {
        begun++;
        BOOKS_CHECK(e->start_ns <= books.now_ns, "%s begins before its time", e->name);
        BOOKS_CHECK(!is_whole[n] || e->job_count == 0 || books.manner != OBEYS ||
                        books.kill_wait_ns != 0,
                    "job %" PRIu64 " is in the way of %s", e->jobs[0], e->name);
    }
    if (e->what == GANG_RESERVATION_END || e->what == GANG_RESERVATION_PURGED)
        reservation[n] = GANG_ID_NONE; /* none of these recurs */
    return 0;
}

static void open_world(int manner)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    books_open(manner);
    books.started = started;
    ops.reservation = on_reservation;
    memset(reservation, 0, sizeof(reservation));
    memset(member_of, 0, sizeof(member_of));
    for (int i = 0; i < NAMES; i++)
        snprintf(name[i], sizeof(name[i]), "r%d", i);
    books_add_nodes(NODES, GPUS);
    books_open_sched((int64_t)NODES * GPUS, ops);
    grace_ns = below(3) * 10 * BOOKS_SECOND; /* one for all, so that ends are known */
    for (int q = 0; q < books.tree.count; q++)
        books.tree.spec[q].grace_ns = grace_ns;
    gang_result r =
        gang_sched_set_queues(books.s, books.tree.spec, (size_t)books.tree.count, &error);
    BOOKS_CHECK(r == GANG_OK, "%s: %s", error.path, error.text);
}

static void reserve(void)
{
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    struct gang_reservation_spec spec = GANG_RESERVATION_SPEC_INIT;
    int n = (int)below(NAMES);
    if (reservation[n] != GANG_ID_NONE)
        return;
    is_whole[n] = one_in(2);
    group.count = group.min = 1 + below(is_whole[n] ? 3 : 6);
    group.gpu_milli = is_whole[n] ? 0 : 1000;
    group.max_per_node = is_whole[n];
    stage.groups = &group;
    stage.group_count = 1;
    stage.exclusive = is_whole[n];
    spec.name = name[n];
    spec.stages = &stage;
    spec.stage_count = 1;
    spec.arrival_ns = books.now_ns + below(60) * BOOKS_SECOND;
    spec.duration_ns = (20 + below(100)) * BOOKS_SECOND;
    spec.deadline_ns = one_in(2) ? spec.arrival_ns + spec.duration_ns + 100 * BOOKS_SECOND : 0;
    spec.objective = (int32_t)below(2) && spec.deadline_ns ? GANG_OBJECTIVE_LATEST : 0;
    spec.notice_ns = below(2) * 5 * BOOKS_SECOND;
    spec.purge_ns = below(2) * 15 * BOOKS_SECOND;
    gang_reservation_id id;
    int64_t when_ns;
    gang_result r = gang_reservation_add(books.s, &spec, &id, &when_ns, NULL);
    BOOKS_CHECK(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENEVER, "%s", gang_result_name(r));
    if (r != GANG_OK)
        return;
    accepted++;
    reservation[n] = id;
    BOOKS_CHECK(when_ns >= spec.arrival_ns &&
                    (!spec.deadline_ns || when_ns + spec.duration_ns <= spec.deadline_ns),
                "%s is accepted outside its window", name[n]);
}

static void submit(void)
{
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    int n = one_in(3) ? (int)below(NAMES) : -1;
    group.gpu_milli = 1000;
    group.cpu_milli = 1000;
    group.count = 1 + below(6);
    group.min = one_in(2) ? group.count : 1;
    job.request.groups = &group;
    job.request.group_count = 1;
    job.priority = below(4);
    job.time_limit_ns = one_in(6) ? 0 : (5 + below(80)) * BOOKS_SECOND;
    job.reservation = n >= 0 && reservation[n] ? name[n] : NULL;
    struct books_job *j = books_submit(&job, tree_some_leaf());
    if (j)
        member_of[j - books.job] = job.reservation ? reservation[n] : GANG_ID_NONE;
}

static int32_t check_expected(const struct gang_expected *x, void *user)
{
    (void)user;
    expected++;
    BOOKS_CHECK(books_job_of(x->job), "job %" PRIu64 " is expected, and has ended", x->job);
    BOOKS_CHECK(x->start_ns >= books.now_ns, "job %" PRIu64 " is expected in the past", x->job);
    BOOKS_CHECK(x->what != GANG_EXPECTED_START || x->start_ns < INT64_MAX, "no start");
    return 0;
}

static void forecast(void)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    struct gang_sched_stats before = GANG_SCHED_STATS_INIT, after = GANG_SCHED_STATS_INIT;
    int64_t next = gang_sched_next(books.s);
    opts.now_ns = books.now_ns;
    opts.horizon_ns = 300 * BOOKS_SECOND;
    opts.max_events = 2000;
    test_must(gang_sched_stats(books.s, &before));
    test_must(gang_forecast_all(books.s, &opts, check_expected, NULL, NULL));
    test_must(gang_sched_stats(books.s, &after));
    BOOKS_CHECK(memcmp(&before, &after, sizeof(before)) == 0, "the forecast is counted");
    BOOKS_CHECK(gang_sched_next(books.s) == next, "the forecast changes the next run");
    forecasts++;
}

static void event(void)
{
    books_some_stop(5);
    struct books_task *t = books_some_task();
    int n = (int)below(NAMES);
    int64_t what = below(9);
    if (what < 3 && books.jobs < 25)
        submit();
    else if (what == 3)
        reserve();
    else if (what == 4 && one_in(4) && reservation[n] != GANG_ID_NONE) {
        test_must(gang_reservation_cancel(books.s, reservation[n]));
        reservation[n] = GANG_ID_NONE;
    } else if (what < 7 && t)
        books_report(t, one_in(4) ? GANG_TASK_FAILED : GANG_TASK_SUCCEEDED);
    else if (what == 7 && t && one_in(4))
        test_must(gang_job_cancel(books.s, t->job));
    else if (what == 8 && one_in(8))
        forecast();
}

START_TEST(reservations_stay_free_and_forecasts_change_nothing)
{
    books_play(10000, open_world, event, books_close);
    printf("%" PRId64 " reservations, %" PRId64 " begun, %" PRId64 " members, %" PRId64
           " forecasts of %" PRId64 " jobs\n",
           accepted, begun, members, forecasts, expected);
    ck_assert_int_gt(begun, books.events / 200);
    ck_assert_int_gt(members, books.events / 1000);
    ck_assert_int_gt(expected, books.events / 100);
}
END_TEST

int main(void)
{
    return books_main("host_reserve", reservations_stay_free_and_forecasts_change_nothing);
}
