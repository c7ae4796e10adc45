/* SPDX-License-Identifier: Apache-2.0 */
/* How the children of a queue divide the capacity beyond their guarantees: by weight or evenly
 * (gang_queue_spec.surplus). */
#include "chance.h"
#include "sched/host.h"

enum { GPUS = 24, CHILDREN = 6, WORLDS = 400 };

static struct host h;

/* A child of the queue "p". Amounts in GPUs. */
struct child {
    int64_t guarantee, demand, priority;
    double weight;
    int64_t share; /* expected */
};

static void setup(void)
{
    host_open(&h, GPUS / 8, 8);
}

static void teardown(void)
{
    host_close(&h);
}

static const char *child_name(size_t i)
{
    static const char *const name[CHILDREN] = {"a", "b", "c", "d", "e", "f"};
    return name[i];
}

/* The queue "p" with its children. */
static void set_queues(const struct child *child, size_t n, int32_t surplus)
{
    static struct gang_quota quota[CHILDREN];
    struct gang_queue_spec q[CHILDREN + 1];
    q[0] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
    q[0].name = "p";
    q[0].surplus = surplus;
    for (size_t i = 0; i < n; i++) {
        quota[i] = (struct gang_quota){"gpu", child[i].guarantee * 1000, NULL, 0, 0};
        q[i + 1] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i + 1].name = child_name(i);
        q[i + 1].parent = "p";
        q[i + 1].guaranteed = &quota[i];
        q[i + 1].guaranteed_count = 1;
        q[i + 1].weight = child[i].weight;
        q[i + 1].priority = child[i].priority;
    }
    host_queues(&h, q, n + 1);
}

static void submit(const struct child *child, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (child[i].demand > 0)
            host_gang(&h, child_name(i), child[i].demand, 1);
}

static void check_shares(const struct child *child, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct gang_queue_info info = host_queue(&h, child_name(i));
        ck_assert_int_eq(info.demand[GANG_KIND_GPU], child[i].demand * 1000);
        ck_assert_msg(info.share[GANG_KIND_GPU] == child[i].share * 1000,
                      "share of %s: %lld, not %lld", child_name(i),
                      (long long)info.share[GANG_KIND_GPU] / 1000, (long long)child[i].share);
    }
}

/* ---- examples -------------------------------------------------------------------------------- */

static const struct row {
    int32_t surplus;
    struct child child[3];
} rows[] = {
    /* 24 - 6 = 18 remain: by weight 1, 2, 6 or evenly */
    {GANG_SURPLUS_BY_WEIGHT, {{2, 24, 0, 1, 4}, {4, 24, 0, 2, 8}, {0, 24, 0, 6, 12}}},
    {GANG_SURPLUS_EVENLY, {{2, 24, 0, 1, 8}, {4, 24, 0, 2, 10}, {0, 24, 0, 6, 6}}},
    /* what a satisfied child leaves goes to the others, evenly */
    {GANG_SURPLUS_EVENLY, {{0, 2, 0, 9, 2}, {0, 24, 0, 1, 11}, {0, 24, 0, 5, 11}}},
    /* the unit that remains goes to the oldest */
    {GANG_SURPLUS_EVENLY, {{1, 24, 0, 1, 9}, {0, 24, 0, 7, 8}, {0, 24, 0, 7, 7}}},
    /* weight 0: nothing beyond the guarantee */
    {GANG_SURPLUS_EVENLY, {{3, 24, 0, 0, 3}, {0, 24, 0, 1, 11}, {0, 24, 0, 3, 10}}},
    /* the higher priority goes first */
    {GANG_SURPLUS_EVENLY, {{0, 24, 0, 1, 2}, {0, 24, 0, 3, 2}, {4, 20, 1, 1, 20}}},
};

START_TEST(the_surplus_is_divided_as_the_parent_says)
{
    const struct row *row = &rows[_i];
    set_queues(row->child, 3, row->surplus);
    submit(row->child, 3);
    host_run(&h, 0);
    check_shares(row->child, 3);
}
END_TEST

START_TEST(a_change_of_the_parent_divides_again)
{
    struct child child[2] = {{0, 24, 0, 5, 20}, {0, 24, 0, 1, 4}};
    set_queues(child, 2, GANG_SURPLUS_BY_WEIGHT);
    submit(child, 2);
    host_run(&h, 0);
    check_shares(child, 2);
    set_queues(child, 2, GANG_SURPLUS_EVENLY);
    host_run(&h, 0);
    child[0].share = child[1].share = 12;
    check_shares(child, 2);
}
END_TEST

START_TEST(jobs_start_up_to_even_parts)
{
    struct child child[2] = {{0, 24, 0, 5, 12}, {0, 24, 0, 1, 12}};
    set_queues(child, 2, GANG_SURPLUS_EVENLY);
    for (int i = 0; i < GPUS; i++) {
        host_gang(&h, "a", 1, 1);
        host_gang(&h, "b", 1, 1);
    }
    host_run(&h, 0);
    check_shares(child, 2);
    ck_assert_int_eq(host_queue(&h, "a").used[GANG_KIND_GPU], 12000);
    ck_assert_int_eq(host_queue(&h, "b").used[GANG_KIND_GPU], 12000);
}
END_TEST

START_TEST(it_is_not_inherited)
{
    struct gang_queue_spec q[4] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT,
                                   GANG_QUEUE_SPEC_INIT};
    struct child child[2] = {{0, 24, 0, 3, 18}, {0, 24, 0, 1, 6}};
    q[0].name = "top";
    q[0].surplus = GANG_SURPLUS_EVENLY;
    q[1].name = "p";
    q[1].parent = "top";
    for (size_t i = 0; i < 2; i++) {
        q[i + 2].name = child_name(i);
        q[i + 2].parent = "p";
        q[i + 2].weight = child[i].weight;
    }
    host_queues(&h, q, 4);
    submit(child, 2);
    host_run(&h, 0);
    check_shares(child, 2);
}
END_TEST

START_TEST(past_use_lowers_equal_weights)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct child child[2] = {{0, 24, 0, 9, 0}, {0, 24, 0, 1, 0}};
    opts.half_life_ns = 1000;
    opts.usage_weight = GANG_WHOLE;
    host_close(&h);
    host_open_with(&h, GPUS / 8, 8, &opts, &ops);
    set_queues(child, 2, GANG_SURPLUS_EVENLY);
    gang_job_id id = host_gang(&h, "a", 24, 1);
    host_run(&h, 1);
    host_run(&h, 5000);
    host_end_job(&h, id);
    submit(child, 2);
    host_run(&h, 0);
    ck_assert_int_lt(host_queue(&h, "a").share[GANG_KIND_GPU], 12000);
    ck_assert_int_gt(host_queue(&h, "b").share[GANG_KIND_GPU], 12000);
}
END_TEST

/* ---- the exact division ---------------------------------------------------------------------- */

/* Does the child take part when `priority` is served, and lack something? */
static bool takes_part(const struct child *c, int64_t priority)
{
    return c->priority == priority && c->weight > 0 && c->share < c->demand;
}

/* Gives `rest` to the children of a priority: the exact division by equal weights, rounded once.
 * A child whose whole lack is at most the equal part rest / n of those that still lack something
 * gets it. The others have exactly equal parts, and so equal remainders: the whole units of each,
 * and the units that remain one each to the oldest. Returns what is left. */
static int64_t give_evenly(struct child *child, size_t count, int64_t priority, int64_t rest)
{
    bool filled = true;
    int64_t n = 0;
    while (filled) {
        filled = false;
        n = 0;
        for (size_t i = 0; i < count; i++)
            n += takes_part(&child[i], priority);
        for (size_t i = 0; i < count && !filled; i++)
            if (takes_part(&child[i], priority) && (child[i].demand - child[i].share) * n <= rest) {
                rest -= child[i].demand - child[i].share;
                child[i].share = child[i].demand;
                filled = true;
            }
    }
    int64_t part = n ? rest / n : 0, units = n ? rest % n : 0;
    for (size_t i = 0; i < count; i++)
        if (takes_part(&child[i], priority)) {
            child[i].share += part + (units > 0);
            rest -= part + (units > 0);
            units -= units > 0;
        }
    return rest;
}

static void divide_evenly(struct child *child, size_t count)
{
    int64_t rest = GPUS;
    for (size_t i = 0; i < count; i++) {
        struct child *c = &child[i];
        c->share = c->guarantee < c->demand ? c->guarantee : c->demand;
        rest -= c->share;
    }
    for (int64_t priority = 1; priority >= 0 && rest > 0; priority--)
        rest = give_evenly(child, count, priority, rest);
}

START_TEST(shares_are_the_exact_even_division)
{
    chance_state = test_seed();
    for (int world = 0; world < WORLDS; world++) {
        struct child child[CHILDREN];
        size_t n = 2 + index_below(CHILDREN - 1);
        for (size_t i = 0; i < n; i++)
            child[i] = (struct child){one_in(2) ? 0 : below(GPUS / CHILDREN), below(GPUS + 1),
                                      one_in(3), (double)below(5), 0};
        host_close(&h);
        setup();
        set_queues(child, n, GANG_SURPLUS_EVENLY);
        submit(child, n);
        host_run(&h, 0);
        divide_evenly(child, n);
        check_shares(child, n);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("surplus");
    TCase *tests = tcase_create("surplus");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, the_surplus_is_divided_as_the_parent_says, 0,
                        (int)(sizeof(rows) / sizeof(*rows)));
    tcase_add_test(tests, a_change_of_the_parent_divides_again);
    tcase_add_test(tests, jobs_start_up_to_even_parts);
    tcase_add_test(tests, it_is_not_inherited);
    tcase_add_test(tests, past_use_lowers_equal_weights);
    tcase_add_test(tests, shares_are_the_exact_even_division);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
