/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of backfill by class (sched/backfill/candidates.c) against a scheduler that tries
 * every one of them: the same random life, and the same calls of the host in the same order. */
#include "chance.h"
#include "sched/host.h"
#include "sched/record/state.h"

enum { JOBS = 60, SHAPES = 5 };

static struct host one, all; /* `all` tries every candidate */
static const int64_t SECOND = HOST_SECOND;

/* Shared by both worlds. */
struct life {
    size_t nodes, queues;
    gang_job_id job[JOBS];
    int64_t ends_ns[JOBS]; /* when it ends by itself, once it runs */
    size_t count;
    int64_t tried, tried_all; /* turns that there were */
    gang_node_id down;
};

static void some_queue(struct gang_queue_spec *q, const char *name)
{
    static const int32_t order[] = {GANG_ORDER_FIFO, GANG_ORDER_PRIORITY, GANG_ORDER_SHORTEST,
                                    GANG_ORDER_LEAST_SERVED, GANG_ORDER_MULTIFACTOR};
    static const int32_t behind[] = {GANG_BACKFILL_ORDER_LEAF, GANG_BACKFILL_ORDER_SHORTEST,
                                     GANG_BACKFILL_ORDER_WIDEST, GANG_BACKFILL_ORDER_SMALLEST};
    *q = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
    q->name = name;
    q->backfill = GANG_BACKFILL_EASY;
    q->backfill_order = behind[below(4)];
    q->order = order[below(5)];
    q->priority_weight_age = 1;
    q->priority_weight_size = below(3);
    q->priority_weight_job = below(2);
    q->priority_max_age_ns = 300 * SECOND;
    q->priority_period_ns = 60 * SECOND;
    q->plan_depth = below(3) ? 0 : 1 + below(3);
    q->grace_ns = below(3) ? 0 : 5 * SECOND;
    q->max_running = below(4) ? 0 : 6;
    q->max_wait_ns = below(6) ? 0 : 400 * SECOND;
    q->max_bypasses = below(6) ? 0 : 5;
}

static void set_queues(struct life *l)
{
    struct gang_queue_spec q[2];
    some_queue(&q[0], "q");
    some_queue(&q[1], "r");
    if (l->queues > 1)
        q[1].max_wait_ns = q[1].max_bypasses = q[0].max_wait_ns = q[0].max_bypasses = 0;
    host_queues(&one, q, l->queues);
    host_queues(&all, q, l->queues);
}

static void open_both(struct life *l)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.no_preemption = below(2) != 0;
    host_open_with(&one, l->nodes, 4, &opts, &ops);
    host_open_with(&all, l->nodes, 4, &opts, &ops);
    all.s->backfill.try_all = true;
    set_queues(l);
}

static void submit_some(struct life *l)
{
    static const int64_t gpus[SHAPES] = {1, 2, 4, 1, 2}, tasks[SHAPES] = {1, 1, 1, 6, 3};
    if (l->count == JOBS)
        return;
    size_t shape = index_below(SHAPES);
    struct gang_group_spec g = group_of(1, 1000, 1000);
    g.gpu_milli = gpus[shape] * 1000;
    g.count = g.min = tasks[shape] < (int64_t)l->nodes * 4 / gpus[shape]
                          ? tasks[shape]
                          : (int64_t)l->nodes * 4 / gpus[shape];
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = l->queues > 1 && below(2) ? "r" : "q";
    job.loss = GANG_LOSS_RESTART;
    job.priority = below(4) ? 0 : 5;
    job.time_limit_ns = below(12) ? below(3000) * SECOND / 10 + 1 : 0;
    if (below(12) == 0)
        job.deadline_ns = one.now_ns + job.time_limit_ns + below(900) * SECOND + 1;
    l->job[l->count] = host_submit(&one, &job);
    test_assert(host_submit(&all, &job) == l->job[l->count]);
    l->ends_ns[l->count++] = 0;
}

/* An order to both, about one that may be over. */
static void command(struct life *l)
{
    gang_job_id id = l->count ? l->job[index_below(l->count)] : GANG_ID_NONE;
    int64_t value = below(200) * SECOND + 1;
    if (id == GANG_ID_NONE)
        return;
    switch (below(4)) {
    case 0:
        test_assert(gang_job_set_priority(one.s, id, value % 7) ==
                    gang_job_set_priority(all.s, id, value % 7));
        break;
    case 1:
        test_assert(gang_job_cancel(one.s, id) == gang_job_cancel(all.s, id));
        break;
    case 2:
        test_assert(gang_job_hold(one.s, id) == gang_job_hold(all.s, id));
        test_assert(gang_job_release(one.s, id) == gang_job_release(all.s, id));
        break;
    default:
        test_assert(gang_job_set_time_limit(one.s, id, value) ==
                    gang_job_set_time_limit(all.s, id, value));
    }
}

/* A node is lost, or is back. */
static void change_nodes(struct life *l)
{
    if (l->down != GANG_ID_NONE) {
        MUST(gang_node_set_state(one.stage.w, l->down, GANG_NODE_UP));
        MUST(gang_node_set_state(all.stage.w, l->down, GANG_NODE_UP));
        l->down = GANG_ID_NONE;
        return;
    }
    char name[8];
    snprintf(name, sizeof(name), "n%d", (int)index_below(l->nodes));
    MUST(gang_node_find(one.stage.c, name, &l->down));
    MUST(gang_report_node_lost(one.s, l->down));
    MUST(gang_report_node_lost(all.s, l->down));
}

static void report_ends(struct life *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->ends_ns[i] && l->ends_ns[i] <= one.now_ns) {
            test_assert(gang_report_end(one.s, l->job[i], 1) ==
                        gang_report_end(all.s, l->job[i], 1));
            l->ends_ns[i] = 0;
        }
}

static void note_starts(struct life *l)
{
    for (size_t i = 0; i < l->count; i++) {
        bool runs =
            host_has(&one, l->job[i]) && host_job_state(&one, l->job[i]) == GANG_JOB_RUNNING;
        if (runs && !l->ends_ns[i])
            l->ends_ns[i] = one.now_ns + below(300) * SECOND + 1;
    }
}

/* What differs can be read. */
static void print_events(const char *name, const struct host *h)
{
    printf("%s, at %" PRId64 " s\n", name, h->now_ns / SECOND);
    for (size_t i = 0; i < h->count; i++)
        printf("  %s job %" PRIu64 ", state %d, end %d\n", h->event[i].op, h->event[i].job,
               (int)h->event[i].state, (int)h->event[i].end);
}

static bool is_same(const struct host_event *a, const struct host_event *b)
{
    return strcmp(a->op, b->op) == 0 && a->job == b->job && a->alloc == b->alloc &&
           a->state == b->state && a->end == b->end && a->reason == b->reason;
}

static void compare_calls(void)
{
    bool same = one.count == all.count;
    for (size_t i = 0; i < one.count && same; i++)
        same = is_same(&one.event[i], &all.event[i]);
    if (!same) {
        print_events("by candidates", &one);
        print_events("all", &all);
        fflush(stdout);
    }
    test_assert(same);
}

static void run_both(struct life *l)
{
    one.count = all.count = 0;
    l->tried += host_run_info(&one, 0).jobs_tried;
    l->tried_all += host_run_info(&all, 0).jobs_tried;
    compare_calls();
    for (size_t i = 0; i < l->count; i++)
        if (host_has(&one, l->job[i]))
            ck_assert_int_eq(host_job_info(&one, l->job[i]).planned_ns,
                             host_job_info(&all, l->job[i]).planned_ns);
    test_assert(gang_sched_next(one.s) == gang_sched_next(all.s));
}

static void step(struct life *l)
{
    for (int64_t n = below(4); n > 0; n--)
        submit_some(l);
    report_ends(l);
    if (below(6) == 0)
        command(l);
    if (below(40) == 0)
        change_nodes(l);
    if (below(60) == 0)
        set_queues(l);
    run_both(l);
    note_starts(l);
    int64_t next = gang_sched_next(one.s), pause = below(40) * SECOND;
    one.now_ns += next > one.now_ns && next < one.now_ns + pause ? next - one.now_ns : pause;
    all.now_ns = one.now_ns;
}

static void live(struct life *l)
{
    enum { STEPS = 120 };
    open_both(l);
    for (int i = 0; i < STEPS; i++)
        step(l);
    host_close(&one);
    host_close(&all);
}

/* _i: nodes, at most. One alone is a case of its own in the timeline. */
START_TEST(the_same_gangs_start_at_the_same_time_as_if_every_candidate_were_tried)
{
    enum { LIVES = 25 };
    uint64_t seed = test_seed();
    int64_t tried = 0, tried_all = 0;
    for (uint64_t i = 0; i < LIVES; i++) {
        chance_state = seed + i;
        struct life l = {.nodes = _i ? 1 + (size_t)i % 4 : 1, .queues = 1, .down = GANG_ID_NONE};
        live(&l);
        tried += l.tried;
        tried_all += l.tried_all;
    }
    printf("%" PRId64 " turns instead of %" PRId64 "\n", tried, tried_all);
    test_assert(tried < tried_all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("candidates");
    TCase *tests = tcase_create("candidates");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(
        tests, the_same_gangs_start_at_the_same_time_as_if_every_candidate_were_tried, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
