/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job preempts no other: one case for each rule that protects, one for each outcome, the
 * queues on both sides, and the bounds of the answer. */
#include <jansson.h>

#include "sched/record/state.h"
#include "sched/reserving.h"

static const int64_t minute = (int64_t)60 * HOST_SECOND;

static struct gang_sched_opts opts;
static struct gang_preemption *answer;
static struct gang_quota one = {"gpu", 1000, NULL, 0, 0}, two = {"gpu", 2000, NULL, 0, 0},
                         three = {"gpu", 3000, NULL, 0, 0}, four = {"gpu", 4000, NULL, 0, 0};

static void setup(void)
{
    opts = (struct gang_sched_opts)GANG_SCHED_OPTS_INIT;
    answer = NULL;
}

static void teardown(void)
{
    gang_preemption_free(answer);
    host_close(&h);
}

/* So many nodes of so many GPUs. */
static void open_host(size_t nodes, size_t gpus)
{
    struct gang_host_ops ops = host_table();
    host_open_with(&h, nodes, gpus, &opts, &ops);
}

static struct gang_queue_spec queue(const char *name, struct gang_quota *guarantee)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = name;
    q.guaranteed = guarantee;
    q.guaranteed_count = guarantee != NULL;
    return q;
}

/* Two queues: a is guaranteed so much, b nothing. */
static void open_two(size_t gpus, struct gang_quota *guarantee)
{
    struct gang_queue_spec q[] = {queue("a", guarantee), queue("b", NULL)};
    open_host(1, gpus);
    host_queues(&h, q, 2);
}

static gang_job_id start(const char *in, int64_t gpus, int64_t priority)
{
    gang_job_id id = host_gang(&h, in, gpus, priority);
    host_run(&h, 1);
    return id;
}

static const struct gang_preemption *ask(gang_job_id id)
{
    gang_preemption_free(answer);
    MUST(gang_job_explain_preemption(h.s, id, &answer));
    ck_assert_uint_eq(answer->size, sizeof(*answer));
    ck_assert_str_ne(answer->text, "");
    return answer;
}

static const struct gang_preemption_rule *rule_at(size_t i)
{
    return (const void *)((const char *)answer->rules + i * answer->rule_size);
}

static const struct gang_preemption_queue *queue_at(size_t i)
{
    return (const void *)((const char *)answer->queues + i * answer->queue_size);
}

/* One rule alone protects all that runs. */
static const struct gang_preemption_rule *only(gang_job_id id, int32_t rule, const char *text)
{
    ask(id);
    ck_assert_msg(answer->rule_count == 1, "%s", answer->text);
    ck_assert_msg(rule_at(0)->rule == rule, "%s", rule_at(0)->text);
    ck_assert_str_eq(rule_at(0)->text, text);
    ck_assert_int_eq(rule_at(0)->gangs, answer->gangs);
    ck_assert_int_eq(answer->takeable, rule == GANG_PROTECTED_NOT ? answer->gangs : 0);
    if (rule != GANG_PROTECTED_NOT)
        ck_assert_int_eq(answer->outcome, GANG_PREEMPTION_PROTECTED);
    return rule_at(0);
}

/* ---- rules ----------------------------------------------------------------------------------- */

START_TEST(a_job_that_is_not_preemptible)
{
    open_two(2, &two);
    struct gang_job_spec *spec = host_spec("a", 2, 2, 0);
    spec->preemptible = GANG_NOT_PREEMPTIBLE;
    gang_job_id runs = host_submit(&h, spec);
    host_run(&h, 1);
    const struct gang_preemption_rule *r =
        only(start("b", 1, 9), GANG_PROTECTED_JOB,
             "1 gang of queue \"a\" (job 1): they are not preemptible");
    ck_assert_uint_eq(r->queue, host_queue_id(&h, "a"));
    ck_assert_int_eq(r->tasks, 2);
    ck_assert_int_eq(r->job_count, 1);
    ck_assert_uint_eq(r->jobs[0], runs);
    ck_assert_int_eq(r->kind, -1);
}
END_TEST

START_TEST(a_queue_that_is_not_preempted)
{
    struct gang_queue_spec q[] = {queue("a", &two), queue("b", &two)};
    open_host(1, 2);
    q[1].no_preemption = 1;
    host_queues(&h, q, 2);
    start("b", 2, 0);
    only(start("a", 1, 0), GANG_PROTECTED_QUEUE,
         "1 gang of queue \"b\" (job 1): their queue is not preempted");
}
END_TEST

START_TEST(a_gang_that_stops_already)
{
    struct gang_queue_spec q[] = {queue("a", &two), queue("b", NULL)};
    open_host(1, 3);
    q[0].grace_ns = q[1].grace_ns = minute;
    host_queues(&h, q, 2);
    h.lingers = true;
    host_submit(&h, host_spec("b", 3, 1, 0));
    host_run(&h, 1);
    gang_job_id taker = start("a", 1, 1);
    ck_assert_int_eq(ask(taker)->outcome, GANG_PREEMPTION_VICTIMS);
    only(start("a", 1, 0), GANG_PROTECTED_STOPPING,
         "1 gang of queue \"b\" (job 1): they stop or move already, or others stop for them");
}
END_TEST

START_TEST(a_minimum_run_time)
{
    struct gang_queue_spec q[] = {queue("a", &two), queue("b", NULL)};
    open_host(1, 2);
    q[1].min_runtime_ns = minute;
    host_queues(&h, q, 2);
    start("b", 2, 0);
    gang_job_id id = start("a", 2, 0);
    host_run(&h, 10 * SECOND);
    const struct gang_preemption_rule *r =
        only(id, GANG_PROTECTED_MIN_RUNTIME,
             "1 gang of queue \"b\" (job 1): the minimum run time protects them, for 50 seconds "
             "more");
    ck_assert_int_eq(r->until_ns, 1 + minute);
    ck_assert_int_eq(gang_sched_next(h.s), 1 + minute);
    host_run(&h, r->until_ns - h.now_ns);
    ck_assert_int_eq(host_tasks(&h, id), 2);
}
END_TEST

START_TEST(another_gang_of_the_same_job)
{
    struct gang_group_spec groups[] = {host_gpus(2, 2), host_gpus(1, 1)};
    struct gang_job_spec spec = host_job(groups, 2);
    struct gang_group_after after = {.group = 1, .after = 0, .when = GANG_AFTER_START};
    struct gang_queue_spec q = queue("a", NULL);
    groups[1].name = "second";
    open_host(1, 2);
    q.within = GANG_PREEMPT_LOWER_OR_NEWER;
    host_queues(&h, &q, 1);
    spec.queue = "a";
    spec.group_after = &after;
    spec.group_after_count = 1;
    gang_job_id id = host_submit(&h, &spec);
    host_run(&h, 1);
    host_run(&h, 1);
    only(id, GANG_PROTECTED_SAME_JOB, "1 gang of queue \"a\" (job 1): they belong to the same job");
    ck_assert_int_eq(answer->gang, 1);
}
END_TEST

START_TEST(a_gang_inside_a_reservation)
{
    open_host(1, 2);
    struct gang_queue_spec q[] = {queue("a", &two), queue("q", NULL)};
    host_queues(&h, q, 2);
    reserve(gpus("r", 2, 1, 1000));
    run_until(1);
    struct gang_job_spec *member = host_spec("q", 2, 2, 0);
    member->reservation = "r";
    member->time_limit_ns = 100 * SECOND;
    host_submit(&h, member);
    host_run(&h, 1);
    struct gang_job_spec *spec = host_spec("a", 2, 2, 0);
    spec->time_limit_ns = 10 * SECOND;
    gang_job_id id = host_submit(&h, spec);
    host_run(&h, 1);
    only(id, GANG_PROTECTED_RESERVATION,
         "1 gang of queue \"q\" (job 1): they run inside reservations");
}
END_TEST

START_TEST(a_queue_in_which_no_job_preempts)
{
    struct gang_queue_spec q = queue("a", NULL);
    open_host(1, 2);
    q.within = GANG_PREEMPT_NEVER;
    host_queues(&h, &q, 1);
    start("a", 2, 0);
    only(start("a", 1, 9), GANG_PROTECTED_WITHIN_NEVER,
         "1 gang of queue \"a\" (job 1): no job preempts inside queue \"a\"");
}
END_TEST

START_TEST(a_queue_that_never_reclaims)
{
    struct gang_queue_spec q[] = {queue("a", &two), queue("b", NULL)};
    open_host(1, 2);
    q[0].reclaim = GANG_PREEMPT_NEVER;
    host_queues(&h, q, 2);
    start("b", 2, 0);
    only(start("a", 1, 9), GANG_PROTECTED_RECLAIM_NEVER,
         "1 gang of queue \"b\" (job 1): queue \"a\" takes nothing from other queues");
}
END_TEST

START_TEST(a_priority_that_is_not_lower)
{
    struct gang_queue_spec q[] = {queue("a", NULL), queue("b", &one)};
    open_host(1, 3);
    q[0].within = GANG_PREEMPT_LOWER_OR_NEWER;
    host_queues(&h, q, 2);
    start("a", 1, 5);
    start("a", 2, 7);
    const struct gang_preemption_rule *r =
        only(start("a", 1, 5), GANG_PROTECTED_PRIORITY,
             "2 gangs of queue \"a\" (jobs 1, 2): their priority, 5 or more, is not below 5, and "
             "they are not newer");
    ck_assert_int_eq(r->bound, 5);
    ck_assert_int_eq(r->requested, 5);
    ck_assert_int_eq(r->kind, -1);
    ck_assert_uint_eq(r->jobs[0], 1);
}
END_TEST

START_TEST(a_priority_that_is_not_lower_in_another_queue)
{
    struct gang_queue_spec q[] = {queue("a", &two), queue("b", NULL)};
    open_host(1, 2);
    q[0].reclaim = GANG_PREEMPT_LOWER;
    host_queues(&h, q, 2);
    start("b", 2, 3);
    only(start("a", 1, 3), GANG_PROTECTED_PRIORITY,
         "1 gang of queue \"b\" (job 1): their priority, 3, is not below 3");
}
END_TEST

START_TEST(a_queue_inside_its_guarantee)
{
    struct gang_queue_spec q[] = {queue("a", &two), queue("top", &two), queue("b", &two),
                                  queue("c", NULL)};
    open_host(1, 4);
    q[2].parent = q[3].parent = "top";
    host_queues(&h, q, 4);
    start("b", 2, 0);
    struct gang_job_spec *spec = host_spec("c", 2, 2, 9);
    spec->priority = 9;
    host_submit(&h, spec);
    host_run(&h, 1);
    gang_job_id id = host_gang(&h, "a", 3, 0); /* more than a is guaranteed */
    host_run(&h, 1);
    ask(id);
    ck_assert_uint_eq(answer->rule_count, 2);
    ck_assert_msg(rule_at(0)->rule == GANG_PROTECTED_GUARANTEE, "%s", rule_at(0)->text);
    ck_assert_str_eq(rule_at(0)->text, "1 gang of queue \"b\" (job 1): queue \"b\" keeps to its "
                                       "guarantee of 2 GPUs, 2 are used");
    ck_assert_int_eq(rule_at(0)->kind, GANG_KIND_GPU);
    ck_assert_int_eq(rule_at(0)->used, 2000);
    ck_assert_int_eq(rule_at(0)->bound, 2000);
    ck_assert_uint_eq(rule_at(0)->bound_queue, host_queue_id(&h, "b"));
}
END_TEST

START_TEST(a_queue_inside_its_share)
{
    open_two(2, NULL);
    start("b", 1, 0);
    start("a", 1, 0);
    const struct gang_preemption_rule *r;
    gang_job_id id = host_gang(&h, "a", 1, 0);
    host_run(&h, 1);
    ask(id);
    ck_assert_uint_eq(answer->rule_count, 2);
    r = rule_at(1);
    ck_assert_msg(r->rule == GANG_PROTECTED_SHARE, "%s", r->text);
    ck_assert_str_eq(r->text, "1 gang of queue \"b\" (job 1): queue \"b\" keeps to its fair share "
                              "of 1 GPU, 1 is used");
    ck_assert_int_eq(rule_at(0)->rule, GANG_PROTECTED_PRIORITY);
    ck_assert_int_eq(answer->outcome, GANG_PREEMPTION_PROTECTED);
    ck_assert_str_eq(answer->text, "a rule protects each gang that runs");
    ck_assert_int_eq(answer->moves, GANG_MOVES_AMOUNTS);
    ck_assert_str_ne(answer->moves_text, "");
}
END_TEST

START_TEST(a_preemptor_that_would_exceed_its_share)
{
    open_two(4, NULL);
    start("b", 4, 0);
    const struct gang_preemption_rule *r =
        only(start("a", 3, 0), GANG_PROTECTED_PREEMPTOR_SHARE,
             "1 gang of queue \"b\" (job 1): queue \"a\" would exceed its fair share of 2 GPUs, 0 "
             "are used, the job needs 3");
    ck_assert_uint_eq(r->bound_queue, host_queue_id(&h, "a"));
    ck_assert_uint_eq(r->queue, host_queue_id(&h, "b"));
    ck_assert_int_eq(r->used, 0);
    ck_assert_int_eq(r->bound, 2000);
    ck_assert_int_eq(r->requested, 3000);
}
END_TEST

START_TEST(a_preemptor_that_would_exceed_its_guarantee)
{
    /* What is left goes to b, by priority: it keeps to its share of 3, above its guarantee. */
    struct gang_queue_spec q[] = {queue("a", &one), queue("b", &one)};
    open_host(1, 4);
    q[1].priority = 200;
    host_queues(&h, q, 2);
    start("b", 3, 0);
    gang_job_id more = host_gang(&h, "b", 3, 0);
    ck_assert_uint_ne(more, GANG_ID_NONE);
    only(start("a", 2, 0), GANG_PROTECTED_PREEMPTOR_GUARANTEE,
         "1 gang of queue \"b\" (job 1): queue \"a\" would exceed its guarantee of 1 GPU, 0 are "
         "used, the job needs 2; their queue keeps to its fair share");
}
END_TEST

/* A job of queue a that needs the whole node. */
static gang_job_id submit_large(void)
{
    struct gang_group_spec all = group_of(1, 4000, 2000);
    struct gang_job_spec spec = host_job(&all, 1);
    spec.queue = "a";
    return host_submit(&h, &spec);
}

START_TEST(a_gang_that_was_stopped_for_the_queue_before)
{
    struct gang_group_spec core = group_of(1, 1000, 0);
    open_two(2, &two);
    gang_alloc_id in_the_way = stage_alloc_group(&h.stage, &core);
    gang_job_id gang = start("b", 2, 0);
    host_run(&h, minute);
    gang_job_id first = host_gang(&h, "a", 2, 1);
    gang_job_id old = submit_large();
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, first), 2);
    int64_t until = h.now_ns + 10 * minute;
    host_end_job(&h, first);
    ck_assert_int_eq(host_tasks(&h, gang), 2);
    /* the host still holds a core: no victim helps */
    ck_assert_int_eq(ask(old)->takeable, 0);
    MUST(gang_alloc_free(h.stage.w, in_the_way));
    host_run(&h, 0);
    const struct gang_preemption_rule *r =
        only(old, GANG_PROTECTED_COOLDOWN,
             "1 gang of queue \"b\" (job 1): they were stopped for this queue before and are "
             "spared, for 600 seconds more");
    ck_assert_int_eq(r->until_ns, until);
}
END_TEST

static gang_job_id submit_to(const char *in, int64_t gpus, const char *where)
{
    struct gang_group_spec group = group_of(1, 1000, gpus * 1000);
    struct gang_job_spec spec = host_job(&group, 1);
    group.where = where;
    spec.queue = in;
    return host_submit(&h, &spec);
}

START_TEST(a_job_for_which_the_preemptor_was_stopped)
{
    open_host(2, 2);
    struct gang_queue_spec q[] = {queue("a", NULL), queue("b", NULL)};
    host_queues(&h, q, 2);
    gang_job_id third = submit_to("b", 1, "node = n1"), gang = submit_to("b", 2, "node = n0");
    host_run(&h, 1);
    gang_job_id taker = submit_to("a", 2, "node = n0");
    host_run(&h, 1);
    host_end_job(&h, third);
    submit_to("a", 1, "node = n1");
    host_run(&h, 1);
    ask(gang);
    bool found = false;
    for (size_t i = 0; i < answer->rule_count; i++) {
        const struct gang_preemption_rule *r = rule_at(i);
        found = found || (r->rule == GANG_PROTECTED_COOLDOWN_JOB && r->jobs[0] == taker);
    }
    ck_assert_msg(found, "%s", answer->text);
}
END_TEST

/* ---- outcomes -------------------------------------------------------------------------------- */

START_TEST(a_job_that_does_not_wait)
{
    open_two(2, NULL);
    gang_job_id id = start("a", 1, 0);
    ask(id);
    ck_assert_int_eq(answer->outcome, GANG_PREEMPTION_NONE);
    ck_assert_uint_eq(answer->queue_count + answer->rule_count, 0);
    ck_assert_str_eq(answer->moves_text, "");
}
END_TEST

static void outcome_is(gang_job_id id, int32_t outcome)
{
    ask(id);
    ck_assert_msg(answer->outcome == outcome, "%d: %s", answer->outcome, answer->text);
}

START_TEST(preemption_may_be_off)
{
    opts.no_preemption = 1;
    open_two(2, &two);
    start("b", 2, 0);
    outcome_is(start("a", 2, 0), GANG_PREEMPTION_OFF);
}
END_TEST

START_TEST(a_job_that_never_preempts)
{
    open_two(2, &two);
    start("b", 2, 0);
    struct gang_job_spec *spec = host_spec("a", 1, 1, 0);
    spec->never_preempts = 1;
    gang_job_id id = host_submit(&h, spec);
    host_run(&h, 1);
    outcome_is(id, GANG_PREEMPTION_NEVER);
}
END_TEST

START_TEST(a_job_that_is_held_waits_for_another_reason)
{
    open_two(2, &two);
    start("b", 2, 0);
    struct gang_job_spec *spec = host_spec("a", 1, 1, 0);
    spec->hold = 1;
    gang_job_id id = host_submit(&h, spec);
    host_run(&h, 1);
    outcome_is(id, GANG_PREEMPTION_REASON);
}
END_TEST

START_TEST(a_job_that_was_not_tried_yet)
{
    struct gang_run_opts cut = GANG_RUN_OPTS_INIT;
    open_two(2, &two);
    start("b", 2, 0);
    gang_job_id id = host_gang(&h, "a", 1, 0);
    cut.max_steps = 1;
    MUST(gang_sched_run(h.s, h.now_ns, &cut, NULL));
    outcome_is(id, GANG_PREEMPTION_NOT_TRIED);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, id), 1);
}
END_TEST

START_TEST(victims_that_do_not_help)
{
    open_two(2, &two);
    struct gang_group_spec cores = group_of(1, 2000, 0);
    gang_alloc_id in_the_way = stage_alloc_group(&h.stage, &cores);
    start("b", 1, 0);
    start("b", 1, 0);
    gang_job_id id = submit_large(); /* needs the cores, too */
    host_run(&h, 1);
    outcome_is(id, GANG_PREEMPTION_CAPACITY);
    ck_assert_int_eq(answer->takeable, 2);
    ck_assert_int_eq(answer->together, 2);
    ck_assert_str_eq(answer->text,
                     "without the 2 victims that it may take together it still cannot start");
    /* The host frees the cores: the next run preempts both. */
    MUST(gang_alloc_free(h.stage.w, in_the_way));
    outcome_is(id, GANG_PREEMPTION_NEXT);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 1);
}
END_TEST

START_TEST(of_like_jobs_the_first_is_tried)
{
    open_two(2, &two);
    struct gang_group_spec cores = group_of(1, 2000, 0);
    gang_alloc_id in_the_way = stage_alloc_group(&h.stage, &cores);
    start("b", 2, 0);
    gang_job_id first = submit_large(), second = submit_large();
    host_run(&h, 1);
    MUST(gang_alloc_free(h.stage.w, in_the_way));
    outcome_is(first, GANG_PREEMPTION_NEXT);
    outcome_is(second, GANG_PREEMPTION_BEHIND);
    ck_assert_uint_eq(answer->blocker, first);
}
END_TEST

START_TEST(preemption_may_be_observed_only)
{
    opts.observe_only = 1;
    open_two(2, &two);
    start("b", 2, 0);
    gang_job_id id = start("a", 2, 0);
    h.log[0] = 0;
    outcome_is(id, GANG_PREEMPTION_OBSERVED);
    ck_assert_str_eq(h.log, "");
    ck_assert_int_eq(answer->takeable, 1);
}
END_TEST

START_TEST(a_run_may_preempt_few_tasks)
{
    opts.max_preempted_tasks = 1;
    open_two(2, &two);
    start("b", 2, 0);
    outcome_is(start("a", 2, 0), GANG_PREEMPTION_MAX_TASKS);
}
END_TEST

/* Without the low job queue a would stay inside its share of 3 GPUs. But the low job still fits
 * when the gang of b has stopped, and would start again. */
START_TEST(giving_up_an_own_job_is_a_pretext)
{
    struct gang_queue_spec q[] = {queue("a", NULL), queue("b", NULL)};
    open_host(1, 5);
    q[0].weight = q[1].weight = 2;
    host_queues(&h, q, 2);
    start("a", 1, 0);
    start("b", 3, 0);
    gang_job_id high = start("a", 3, 5);
    outcome_is(high, GANG_PREEMPTION_PRETEXT);
    ck_assert_int_eq(answer->takeable, 1); /* the own job, by priority */
    ck_assert_int_eq(answer->together, 2);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, high), 0);
}
END_TEST

/* Queue a uses twice its share of the cores, which b waits for. What it asks for of the GPUs is
 * inside its share, but with it a would be fuller than b. */
START_TEST(a_queue_that_would_end_fuller_than_the_giver)
{
    struct gang_group_spec cores = group_of(1, 8000, 0), gpus_only = group_of(1, 0, 2000);
    struct gang_job_spec of_cores = host_job(&cores, 1), of_gpus = host_job(&gpus_only, 1);
    struct gang_queue_spec q[] = {queue("a", NULL), queue("b", NULL)};
    open_host(1, 4);
    q[1].reclaim = GANG_PREEMPT_NEVER;
    host_queues(&h, q, 2);
    of_cores.queue = "a";
    of_gpus.queue = "b";
    host_submit(&h, &of_cores);
    host_submit(&h, &of_gpus);
    host_submit(&h, &of_gpus);
    host_run(&h, 1);
    of_cores.queue = "b";
    host_submit(&h, &of_cores); /* so that the cores are shared */
    host_run(&h, 1);
    gpus_only.gpu_milli = 1000;
    of_gpus.queue = "a";
    gang_job_id id = host_submit(&h, &of_gpus);
    host_run(&h, 1);
    outcome_is(id, GANG_PREEMPTION_FULLER);
    ck_assert_int_eq(answer->takeable, 2);
    h.s->opts.saturation = GANG_WHOLE / 1000; /* as if the host allowed it */
    outcome_is(id, GANG_PREEMPTION_NEXT);
}
END_TEST

/* Each of the two gangs of b may be taken by itself, but with both b would use less than it is
 * guaranteed. */
START_TEST(victims_that_break_a_guarantee_together)
{
    struct gang_queue_spec q[] = {queue("a", &three), queue("b", &two)};
    opts.max_moves = -1;
    open_host(2, 3);
    host_queues(&h, q, 2);
    submit_to("b", 2, "node = n0");
    host_run(&h, 1);
    submit_to("b", 1, "node = n0");
    host_run(&h, 1);
    gang_job_id id = submit_to("a", 3, "node = n0");
    host_run(&h, 1);
    outcome_is(id, GANG_PREEMPTION_GUARANTEE);
    ck_assert_int_eq(answer->takeable, 2);
    ck_assert_int_eq(answer->together, 1);
    q[1].guaranteed = &one;
    host_queues(&h, q, 2);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 1);
}
END_TEST

static gang_job_id start_of(const char *user, int64_t gpus, int64_t priority)
{
    struct gang_job_spec *spec = host_spec("a", gpus, gpus, priority);
    spec->user = user;
    gang_job_id id = host_submit(&h, spec);
    host_run(&h, 1);
    return id;
}

/* What a user may use depends on what the others do: beside the gang of bob ann may use 5 GPUs,
 * without it 3.5. */
START_TEST(a_limit_that_holds_without_the_victims)
{
    bool bob_waits = _i == 0; /* otherwise when the gang has stopped */
    struct gang_queue_spec q = queue("a", NULL);
    open_host(1, 4);
    q.user_limit = GANG_WHOLE / 4;
    host_queues(&h, &q, 1);
    start_of("ann", 1, 9);
    start_of("bob", 3, 0);
    if (bob_waits)
        start_of("bob", 3, 0);
    gang_job_id id = start_of("ann", 3, 9);
    outcome_is(id, GANG_PREEMPTION_LIMIT);
    ck_assert_int_eq(answer->takeable, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 0);
}
END_TEST

/* When the victim has stopped, the queue may not use so much any more. */
START_TEST(a_job_for_which_gangs_stopped_before)
{
    struct gang_queue_spec q[] = {queue("a", &two), queue("b", NULL)};
    open_host(1, 2);
    q[1].grace_ns = minute;
    q[0].limit = &one;
    host_queues(&h, q, 2);
    h.lingers = true;
    gang_job_id gang = start("b", 2, 0), id = start("a", 2, 0);
    outcome_is(id, GANG_PREEMPTION_VICTIMS);
    q[0].guaranteed = &one;
    q[0].limit_count = 1;
    host_queues(&h, q, 2);
    host_run(&h, 1);
    outcome_is(id, GANG_PREEMPTION_VICTIMS);
    MUST(gang_report_tasks(h.s, gang, 0, GANG_ID_NONE, NULL, 0, GANG_TASK_STOPPED));
    host_run(&h, 1);
    outcome_is(id, GANG_PREEMPTION_FAILED);
    ck_assert_uint_eq(answer->rule_count, 0);
    start("b", 1, 0); /* another event */
    ck_assert_int_ne(ask(id)->outcome, GANG_PREEMPTION_FAILED);
}
END_TEST

START_TEST(a_gang_that_waits_for_a_row_of_time_slices)
{
    struct gang_queue_spec q[] = {queue("a", &two), queue("b", NULL)};
    struct gang_group_spec group = group_of(1, 4000, 0);
    struct gang_job_spec spec = host_job(&group, 1);
    open_host(1, 2);
    q[0].quantum_ns = minute;
    q[0].quantum_rows = 2;
    host_queues(&h, q, 2);
    group.memory_bytes = GIB;
    spec.queue = "a";
    gang_job_id of_row[3];
    for (int i = 0; i < 3; i++) {
        of_row[i] = host_submit(&h, &spec);
        host_run(&h, 1);
    }
    outcome_is(of_row[2], GANG_PREEMPTION_PROTECTED); /* all rows are full: as any gang */
    ck_assert_uint_gt(queue_at(0)->amount_count, 0);
    ck_assert_int_eq(host_job_state(&h, of_row[1]), GANG_JOB_SUSPENDED);
    outcome_is(of_row[1], GANG_PREEMPTION_SLICE); /* it has its row, and waits for its turn */
    ck_assert_uint_eq(answer->rule_count, 0);
    ck_assert_uint_eq(queue_at(0)->amount_count, 0);
}
END_TEST

START_TEST(a_member_of_a_reservation)
{
    struct gang_queue_spec q[] = {queue("a", &four), queue("b", NULL)};
    open_host(1, 4);
    host_queues(&h, q, 2);
    reserve(gpus("r", 2, 1, 1000));
    run_until(1);
    struct gang_job_spec *spec = host_spec("b", 2, 2, 0);
    spec->time_limit_ns = 900 * SECOND;
    host_submit(&h, spec);
    host_run(&h, 1);
    gang_job_id member[2];
    for (int i = 0; i < 2; i++) {
        spec = host_spec("a", 2, 2, 0);
        spec->reservation = "r";
        spec->time_limit_ns = 100 * SECOND;
        member[i] = host_submit(&h, spec);
        host_run(&h, 1);
    }
    ck_assert_int_eq(host_tasks(&h, member[0]), 2);
    outcome_is(member[1], GANG_PREEMPTION_RESERVATION);
    ck_assert_uint_eq(answer->rule_count, 0);
    spec->reservation = NULL;
    gang_job_id other = host_submit(&h, spec);
    host_run(&h, 1);
    outcome_is(other, GANG_PREEMPTION_CAPACITY); /* others may preempt, but not on these nodes */
}
END_TEST

START_TEST(a_suspended_job_resumes_on_its_places_alone)
{
    struct gang_queue_spec q = queue("a", NULL);
    open_host(1, 2);
    q.preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    host_queues(&h, &q, 1);
    gang_job_id low = start("a", 2, 0);
    gang_job_id high = start("a", 2, 9);
    ck_assert_int_eq(host_tasks(&h, high), 2);
    outcome_is(low, GANG_PREEMPTION_SUSPENDED);
}
END_TEST

START_TEST(a_gang_that_waits_for_its_time_slice)
{
    struct gang_queue_spec q = queue("a", NULL);
    open_host(1, 2);
    q.quantum_ns = minute;
    q.quantum_gpus = 1;
    host_queues(&h, &q, 1);
    gang_job_id runs = start("a", 2, 0), waits = start("a", 2, 0);
    ck_assert_int_eq(host_job_state(&h, runs), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, waits), GANG_JOB_SUSPENDED);
    outcome_is(waits, GANG_PREEMPTION_SLICE); /* it holds its nodes, and lacks no task */
    ck_assert_uint_eq(answer->rule_count, 0);
}
END_TEST

START_TEST(moves_without_stops_are_an_outcome_of_their_own)
{
    opts.max_moves = -1;
    open_host(2, 2);
    struct gang_queue_spec q = queue("a", NULL);
    host_queues(&h, &q, 1);
    submit_to("a", 1, "node = n0");
    submit_to("a", 1, "node = n1");
    host_run(&h, 1);
    gang_job_id id = submit_to("a", 2, NULL);
    host_run(&h, 1);
    outcome_is(id, GANG_PREEMPTION_PROTECTED);
    ck_assert_int_eq(answer->moves, GANG_MOVES_OFF);
}
END_TEST

/* ---- queues ---------------------------------------------------------------------------------- */

START_TEST(the_queues_of_both_sides_are_listed)
{
    struct gang_queue_spec q[] = {queue("x", &three), queue("y", &one), queue("a", &two),
                                  queue("b", &one), queue("idle", NULL)};
    open_host(1, 4);
    q[2].parent = q[3].parent = "x";
    q[1].limit = &four;
    q[1].limit_count = 1;
    host_queues(&h, q, 5);
    start("b", 1, 0);
    start("y", 3, 0);
    gang_job_id id = start("a", 3, 0);
    ask(id);
    ck_assert_uint_eq(answer->queue_count, 4); /* not the idle one */
    static const char *const name[] = {"a", "x", "b", "y"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_msg(queue_at(i)->preemptor == (i < 2), "%s", queue_at(i)->name);
        bool found = false;
        for (size_t k = 0; k < 4; k++)
            found = found || strcmp(queue_at(i)->name, name[k]) == 0;
        ck_assert(found);
    }
    const struct gang_preemption_queue *a = queue_at(0), *x = queue_at(1);
    ck_assert_str_eq(a->name, "a");
    ck_assert_uint_eq(a->queue, host_queue_id(&h, "a"));
    ck_assert_int_eq(a->siblings, 2);
    ck_assert_int_eq(x->siblings, 3);
    ck_assert_uint_eq(a->amount_count, 2); /* cores and GPUs */
    const struct gang_preemption_amount *gpu = &a->amounts[1];
    ck_assert_int_eq(gpu->kind, GANG_KIND_GPU);
    ck_assert_int_eq(gpu->requested, 3000);
    ck_assert_int_eq(gpu->guarantee, 2000);
    ck_assert_int_eq(gpu->used, 0);
    ck_assert_int_eq(gpu->limit, GANG_UNLIMITED);
    ck_assert_int_eq(a->amounts[0].guarantee, GANG_UNLIMITED);
    struct gang_queue_info info = host_queue(&h, "a");
    ck_assert_int_eq(gpu->share, info.share[GANG_KIND_GPU]);
}
END_TEST

START_TEST(the_turn_is_the_place_among_siblings)
{
    struct gang_queue_spec q[] = {queue("a", &two), queue("b", &two)};
    open_host(1, 4);
    q[1].no_preemption = 1;
    host_queues(&h, q, 2);
    start("b", 3, 0);
    gang_job_id id = start("a", 2, 0);
    ask(id);
    ck_assert_uint_eq(answer->queue_count, 2);
    ck_assert_int_eq(queue_at(0)->turn, 1); /* a uses nothing */
    ck_assert_int_eq(queue_at(1)->turn, 2);
    ck_assert_int_eq(queue_at(1)->siblings, 2);
    ck_assert_int_eq(queue_at(1)->running, 1);
}
END_TEST

enum { MANY = 150 };

START_TEST(the_answer_is_bounded)
{
    static struct gang_queue_spec q[MANY + 1];
    static char name[MANY + 1][16];
    for (int i = 0; i <= MANY; i++) {
        snprintf(name[i], sizeof(name[i]), "q%d", i);
        q[i] = queue(name[i], NULL);
        q[i].reclaim = GANG_PREEMPT_LOWER;
    }
    open_host(MANY / 30, 60);
    host_queues(&h, q, MANY + 1);
    for (int i = 1; i <= MANY; i++)
        host_gang(&h, name[i], 2, i % 3);
    host_run(&h, 1);
    ask(start("q0", 1, 0));
    ck_assert_uint_eq(answer->queue_count, GANG_PREEMPTION_QUEUES);
    ck_assert_uint_le(answer->rule_count, GANG_PREEMPTION_RULES);
    int64_t gangs = 0, others = 0;
    for (size_t i = 0; i < answer->rule_count; i++) {
        gangs += rule_at(i)->gangs;
        others += rule_at(i)->queue == GANG_ID_NONE ? rule_at(i)->gangs : 0;
        ck_assert_int_le(rule_at(i)->job_count, GANG_PREEMPTION_JOBS);
    }
    ck_assert_int_eq(gangs, MANY);
    ck_assert_int_eq(answer->gangs, MANY);
    ck_assert_int_eq(others, MANY - (GANG_PREEMPTION_QUEUES - 1));
}
END_TEST

/* ---- the call -------------------------------------------------------------------------------- */

static gang_result in_callback;

static void ask_during(struct host *host, const struct host_event *e)
{
    struct gang_preemption *p;
    in_callback = gang_job_explain_preemption(host->s, e->job, &p);
}

START_TEST(wrong_calls_are_refused)
{
    struct gang_preemption *p = (void *)&opts;
    open_two(2, NULL);
    gang_job_id id = host_gang(&h, "a", 1, 0);
    ck_assert_int_eq(gang_job_explain_preemption(h.s, id, &p), GANG_ESTALE); /* not taken in */
    ck_assert_ptr_null(p);
    ck_assert_int_eq(gang_job_explain_preemption(NULL, id, &p), GANG_EINVAL);
    ck_assert_int_eq(gang_job_explain_preemption(h.s, id, NULL), GANG_EINVAL);
    h.during = ask_during;
    host_run(&h, 1);
    ck_assert_int_eq(in_callback, GANG_EBUSY);
    gang_preemption_free(NULL);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
    struct gang_preemption *p;
    open_two(2, &two);
    struct gang_group_spec cores = group_of(1, 2000, 0);
    (void)stage_alloc_group(&h.stage, &cores);
    start("b", 1, 0);
    start("b", 1, 0);
    gang_job_id id = submit_large();
    host_run(&h, 1);
    for (int n = 1;; n++) {
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        gang_result r = gang_job_explain_preemption(h.s, id, &p);
        h.stage.mem.fail_at = 0;
        host_check(&h);
        if (r == GANG_OK)
            break;
        ck_assert_int_eq(r, GANG_ENOMEM);
        ck_assert_ptr_null(p);
        ck_assert_int_lt(n, 200);
    }
    ck_assert_int_eq(p->outcome, GANG_PREEMPTION_CAPACITY);
    gang_preemption_free(p);
}
END_TEST

static int32_t append(const char *text, size_t length, void *user)
{
    strncat(user, text, length);
    return 0;
}

START_TEST(the_json_says_the_same)
{
    char text[8192] = "";
    open_two(4, NULL);
    start("b", 4, 0);
    gang_job_id id = start("a", 3, 0);
    MUST(gang_job_write_explanation(h.s, id, append, text));
    json_t *root = json_loads(text, 0, NULL), *p = json_object_get(root, "preemption");
    ck_assert_msg(p != NULL, "%s", text);
    ck_assert_str_eq(json_string_value(json_object_get(p, "outcome")), "protected");
    ck_assert_str_eq(json_string_value(json_object_get(p, "moves")), "amounts");
    json_t *rule = json_array_get(json_object_get(p, "rules"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(rule, "rule")), "preemptor-share");
    ck_assert_str_eq(json_string_value(json_object_get(rule, "kind")), "gpu");
    ck_assert_int_eq(json_integer_value(json_object_get(rule, "bound")), 2000);
    json_t *q = json_array_get(json_object_get(p, "queues"), 1);
    ck_assert_str_eq(json_string_value(json_object_get(q, "queue")), "b");
    json_t *gpu = json_array_get(json_object_get(q, "amounts"), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(gpu, "used")), 4000);
    ck_assert(json_is_null(json_object_get(gpu, "limit")));
    json_decref(root);
    text[0] = 0;
    MUST(gang_job_write_explanation(h.s, 1, append, text)); /* it runs */
    ck_assert_ptr_null(strstr(text, "preemption"));
}
END_TEST

static void add_rules(TCase *t)
{
    tcase_add_test(t, a_gang_that_waits_for_its_time_slice);
    tcase_add_test(t, a_job_that_is_not_preemptible);
    tcase_add_test(t, a_queue_that_is_not_preempted);
    tcase_add_test(t, a_gang_that_stops_already);
    tcase_add_test(t, a_minimum_run_time);
    tcase_add_test(t, another_gang_of_the_same_job);
    tcase_add_test(t, a_gang_inside_a_reservation);
    tcase_add_test(t, a_queue_in_which_no_job_preempts);
    tcase_add_test(t, a_queue_that_never_reclaims);
    tcase_add_test(t, a_priority_that_is_not_lower);
    tcase_add_test(t, a_priority_that_is_not_lower_in_another_queue);
    tcase_add_test(t, a_queue_inside_its_guarantee);
    tcase_add_test(t, a_queue_inside_its_share);
    tcase_add_test(t, a_preemptor_that_would_exceed_its_share);
    tcase_add_test(t, a_preemptor_that_would_exceed_its_guarantee);
    tcase_add_test(t, a_gang_that_was_stopped_for_the_queue_before);
    tcase_add_test(t, a_job_for_which_the_preemptor_was_stopped);
}

static void add_outcomes(TCase *t)
{
    tcase_add_test(t, a_job_that_does_not_wait);
    tcase_add_test(t, preemption_may_be_off);
    tcase_add_test(t, a_job_that_never_preempts);
    tcase_add_test(t, a_job_that_is_held_waits_for_another_reason);
    tcase_add_test(t, a_job_that_was_not_tried_yet);
    tcase_add_test(t, victims_that_do_not_help);
    tcase_add_test(t, of_like_jobs_the_first_is_tried);
    tcase_add_test(t, preemption_may_be_observed_only);
    tcase_add_test(t, a_run_may_preempt_few_tasks);
    tcase_add_test(t, giving_up_an_own_job_is_a_pretext);
    tcase_add_test(t, a_queue_that_would_end_fuller_than_the_giver);
    tcase_add_test(t, victims_that_break_a_guarantee_together);
    tcase_add_loop_test(t, a_limit_that_holds_without_the_victims, 0, 2);
    tcase_add_test(t, a_job_for_which_gangs_stopped_before);
    tcase_add_test(t, a_gang_that_waits_for_a_row_of_time_slices);
    tcase_add_test(t, a_member_of_a_reservation);
    tcase_add_test(t, a_suspended_job_resumes_on_its_places_alone);
    tcase_add_test(t, moves_without_stops_are_an_outcome_of_their_own);
}

int main(void)
{
    Suite *suite = suite_create("explain_preemption");
    TCase *t = tcase_create("explain_preemption");
    tcase_add_checked_fixture(t, setup, teardown);
    add_rules(t);
    add_outcomes(t);
    tcase_add_test(t, the_queues_of_both_sides_are_listed);
    tcase_add_test(t, the_turn_is_the_place_among_siblings);
    tcase_add_test(t, the_answer_is_bounded);
    tcase_add_test(t, wrong_calls_are_refused);
    tcase_add_test(t, without_memory_nothing_changes);
    tcase_add_test(t, the_json_says_the_same);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
