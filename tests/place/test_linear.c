/* SPDX-License-Identifier: Apache-2.0 */
/* The judge is judged: histories written by hand, good and bad, for the search of linear.h and the
 * specification of linear_cluster.h. */
#include <check.h>

#include "linear_cluster.h"
#include "suite.h"

/* ---- a register: the search alone ------------------------------------------------------------ */

struct reg_op {
    uint64_t call, back;
    int write, value;
};

static bool reg_step(const void *history, unsigned op, void *state)
{
    const struct reg_op *o = (const struct reg_op *)history + op;
    int64_t *value = state;
    if (o->write)
        *value = o->value;
    return *value == o->value;
}

static enum linear_answer reg_check(const struct reg_op *o, unsigned count, struct linear *l)
{
    static struct linear_op op[LINEAR_OPS];
    int64_t begin = 0;
    for (unsigned i = 0; i < count; i++)
        op[i] = (struct linear_op){o[i].call, o[i].back, LINEAR_NOT_AFTER};
    l->op = op;
    l->count = count;
    l->history = o;
    l->step = reg_step;
    l->state_size = sizeof(begin);
    return linear_check(l, &begin);
}

START_TEST(register_may_be_read_before_and_after_a_write_that_is_under_way)
{
    struct linear l = {0};
    const struct reg_op o[] = {{0, 9, 1, 1}, {1, 2, 0, 0}, {3, 4, 0, 1}};
    ck_assert_int_eq(reg_check(o, 3, &l), LINEAR_YES);
    ck_assert_uint_eq(l.order[0], 1);
    ck_assert_uint_eq(l.order[1], 0);
    ck_assert_uint_eq(l.order[2], 2);
    linear_free(&l);
}
END_TEST

START_TEST(register_does_not_go_back)
{
    struct linear l = {0};
    const struct reg_op o[] = {{0, 9, 1, 1}, {1, 2, 0, 1}, {3, 4, 0, 0}};
    ck_assert_int_eq(reg_check(o, 3, &l), LINEAR_NO);
    linear_free(&l);
}
END_TEST

START_TEST(writes_at_once_are_tried_in_every_order_but_not_twice)
{
    struct linear l = {0};
    struct reg_op o[22];
    for (int i = 0; i < 20; i++)
        o[i] = (struct reg_op){(uint64_t)i, (uint64_t)(100 + i), 1, i};
    o[20] = (struct reg_op){200, 201, 0, 7};
    o[21] = (struct reg_op){202, 203, 0, 7};
    ck_assert_int_eq(reg_check(o, 22, &l), LINEAR_YES);
    o[21].value = 8;
    l.most_visits = 0;
    ck_assert_int_eq(reg_check(o + 8, 14, &l), LINEAR_NO); /* 12! orders, far fewer states */
    ck_assert_uint_lt(l.visits, 100000);
    l.most_visits = 10;
    ck_assert_int_eq(reg_check(o + 8, 14, &l), LINEAR_GAVE_UP);
    linear_free(&l);
}
END_TEST

/* ---- the cluster ----------------------------------------------------------------------------- */

/* Two nodes of 1000 millicores, one page; shape 1 is two tasks of 1000 millicores, shape 0 one task
 * that takes a page, too. */
static struct lc_state begin;
static struct lc_history h;
static struct linear search;

static void setup(void)
{
    lc_begin(&begin);
    lc_put_node(&begin, 0, 1000, 1, 0, 0, true);
    lc_put_node(&begin, 1, 1000, 1, 0, 0, true);
    lc_put_node(&begin, 2, 1000, 1, 0, 0, false);
    memset(&h, 0, sizeof(h));
}

static void teardown(void)
{
    linear_free(&search);
}

static struct lc_call *add(enum lc_kind kind, uint64_t call, uint64_t back, gang_result r)
{
    struct lc_call *c = lc_add(&h, kind, call, back, LINEAR_NOT_AFTER);
    c->result = r;
    c->thread = (int)h.count; /* each by another thread by default */
    return c;
}

static struct lc_call *add_alloc(uint64_t call, uint64_t back, int shape, int alloc)
{
    struct lc_call *c = add(LC_ALLOC, call, back, alloc < 0 ? GANG_ENOFIT : GANG_OK);
    c->shape = shape;
    c->alloc = alloc;
    return c;
}

static void on_node(struct lc_call *c, int node)
{
    c->task[c->tasks] = (struct lc_task){(int16_t)c->tasks, (int16_t)node, 0, 0};
    c->tasks++;
}

static struct lc_call *add_free(uint64_t call, uint64_t back, int alloc, gang_result r)
{
    struct lc_call *c = add(LC_FREE, call, back, r);
    c->alloc = alloc;
    return c;
}

static struct lc_call *add_read(uint64_t call, uint64_t back, int node, int cpu)
{
    struct lc_call *c = add(LC_READ, call, back, GANG_OK);
    c->node = node;
    c->seen.state = GANG_NODE_UP;
    c->seen.cpu = cpu;
    c->seen.pages = 1;
    return c;
}

static void is_good(void)
{
    ck_assert_int_eq(lc_check(&search, &h, &begin), LINEAR_YES);
}

static void is_bad(void)
{
    ck_assert_int_eq(lc_check(&search, &h, &begin), LINEAR_NO);
}

/* A gang on both nodes, under way from 0 to 9. */
static void add_gang(void)
{
    struct lc_call *c = add_alloc(0, 9, 1, 0);
    on_node(c, 0);
    on_node(c, 1);
}

START_TEST(gang_that_is_seen_whole)
{
    add_gang();
    add_read(1, 2, 0, 1000);
    add_read(3, 4, 1, 0);
    add_read(5, 6, 0, 0);
    is_good();
}
END_TEST

START_TEST(gang_of_which_a_part_is_seen)
{
    add_gang();
    add_read(1, 2, 0, 0);
    add_read(3, 4, 1, 1000);
    is_bad();
}
END_TEST

START_TEST(release_of_which_a_part_is_seen)
{
    add_gang();
    add_free(10, 20, 0, GANG_OK);
    add_read(11, 12, 1, 1000);
    add_read(13, 14, 0, 0);
    is_bad();
}
END_TEST

START_TEST(release_that_is_lost)
{
    add_gang();
    add_free(10, 20, 0, GANG_OK);
    add_read(21, 22, 0, 0);
    is_bad();
}
END_TEST

START_TEST(node_that_is_given_twice)
{
    on_node(add_alloc(0, 5, 0, 0), 0);
    on_node(add_alloc(1, 4, 0, 1), 0);
    is_bad();
}
END_TEST

START_TEST(refusal_while_the_other_holds_it)
{
    add_gang();
    add_alloc(1, 2, 0, -1);
    add_free(10, 20, 0, GANG_OK);
    is_good();
}
END_TEST

START_TEST(refusal_though_there_was_capacity)
{
    add_gang();
    add_free(10, 20, 0, GANG_OK);
    add_alloc(21, 22, 0, -1);
    is_bad();
}
END_TEST

/* 0 and 1 hop from node to node so that one of both is free all the time. */
START_TEST(refusal_though_there_always_was_capacity)
{
    on_node(add_alloc(0, 1, 0, 0), 0);
    add_alloc(2, 20, 0, -1);
    add_free(3, 4, 0, GANG_OK);
    on_node(add_alloc(5, 6, 0, 1), 1);
    add_free(7, 8, 1, GANG_OK);
    on_node(add_alloc(9, 10, 0, 2), 0);
    is_bad();
    on_node(add_alloc(11, 12, 0, 3), 1); /* now it is true for a moment */
    add_free(13, 14, 3, GANG_OK);
    is_good();
}
END_TEST

START_TEST(refusal_for_ever_and_for_now)
{
    struct lc_call *c;
    add_gang();
    add_alloc(1, 2, 0, -1);
    c = add(LC_EVER, 1, 2, GANG_ENOFIT);
    c->shape = 0;
    is_good();
    c->kind = LC_NEVER;
    is_bad();
    c = add(LC_CHANGE, 0, 9, GANG_EBUSY);
    c->node = 0;
    c->number = 500;
    c = add(LC_REMOVE, 0, 9, GANG_OK);
    c->node = 0;
    is_bad(); /* the other node could still hold it */
    c = add(LC_REMOVE, 0, 9, GANG_OK);
    c->node = 1;
    is_good();
}
END_TEST

START_TEST(draining_node_takes_nothing)
{
    struct lc_call *c = add(LC_SET_STATE, 0, 1, GANG_OK);
    c->node = 0;
    c->number = GANG_NODE_DRAINING;
    on_node(add_alloc(2, 3, 0, 0), 0);
    is_bad();
    h.op[0].back = 5; /* both at once: either may have been first */
    is_good();
    add_read(6, 7, 0, 0)->seen.state = GANG_NODE_DRAINING;
    h.call[2].seen.pages = 0;
    is_good();
    h.call[2].seen.state = GANG_NODE_UP;
    is_bad();
}
END_TEST

START_TEST(busy_needs_a_concurrent_call)
{
    on_node(add_alloc(0, 1, 0, 0), 0);
    add_free(2, 10, 0, GANG_OK);
    add_free(11, 12, 0, GANG_EBUSY);
    is_bad();
    h.op[2] = (struct linear_op){5, 6, LINEAR_NOT_AFTER};
    is_good();
    h.call[2].thread = h.call[1].thread;
    is_bad();
}
END_TEST

START_TEST(stale_is_what_was_freed)
{
    on_node(add_alloc(0, 1, 0, 0), 0);
    add_free(2, 10, 0, GANG_OK);
    add_free(5, 6, 0, GANG_ESTALE);
    is_good();
    h.call[1].result = GANG_EBUSY;
    is_bad();
}
END_TEST

START_TEST(growth_and_its_refusal)
{
    struct lc_call *c;
    on_node(add_alloc(0, 1, 0, 0), 0);
    c = add(LC_GROW, 2, 3, GANG_OK);
    c->alloc = 0;
    c->wanted = 1;
    on_node(c, 1);
    c->task[0].number = 1;
    is_good();
    c = add(LC_GROW, 4, 5, GANG_ENOFIT);
    c->alloc = 0;
    c->wanted = 1;
    is_good();
    c = add(LC_SHRINK, 6, 7, GANG_OK);
    c->alloc = 0;
    c->number = 0;
    c = add(LC_GROW, 8, 9, GANG_ENOFIT);
    c->alloc = 0;
    c->wanted = 1;
    is_bad();
    h.op[3] = (struct linear_op){9, 12, LINEAR_NOT_AFTER};
    h.op[4] = (struct linear_op){8, 10, LINEAR_NOT_AFTER};
    is_good();
    h.call[3].result = GANG_ENOFIT; /* it is above its minimum */
    is_bad();
}
END_TEST

START_TEST(held_capacity_is_not_taken_away)
{
    struct lc_call *c;
    on_node(add_alloc(0, 1, 0, 0), 0);
    c = add(LC_CHANGE, 2, 3, GANG_OK);
    c->node = 0;
    c->number = 500;
    is_bad();
    c->result = GANG_EBUSY;
    is_good();
    c->node = 1;
    is_bad();
}
END_TEST

START_TEST(steps_of_one_call_come_in_their_order)
{
    struct lc_call *c = add(LC_CHANGE, 0, 9, GANG_OK);
    c->node = 0;
    c->number = 2000;
    c = add(LC_CHANGE_REPORTED, 0, 9, GANG_OK);
    c->node = 0;
    c->number = 2000;
    h.op[1].after = 0;
    c = add(LC_READ_REPORTED, 1, 2, GANG_OK);
    c->node = 0;
    c->number = 1000;
    add_read(1, 2, 0, 2000);
    h.op[3].after = 2;
    is_good(); /* the old capacity beside the new record: the report changes later */
    h.call[2].number = 2000;
    h.call[3].seen.cpu = 1000;
    is_bad(); /* never the other way round */
}
END_TEST

START_TEST(exact_places)
{
    struct lc_call *c = add(LC_ADOPT, 0, 1, GANG_OK);
    c->shape = 0;
    c->alloc = 0;
    c->any_devices = true;
    on_node(c, 1);
    c = add(LC_ADOPT, 2, 3, GANG_ENOFIT);
    c->shape = 0;
    c->any_devices = true;
    on_node(c, 1);
    is_good();
    c->task[0].node = 0;
    is_bad();
    c->result = GANG_ESTALE;
    is_bad();
}
END_TEST

START_TEST(node_that_comes_and_goes)
{
    struct lc_call *c = add(LC_ADD, 0, 5, GANG_OK);
    c->node = 2;
    on_node(add_alloc(1, 2, 0, 0), 2);
    c = add(LC_REMOVE, 3, 8, GANG_OK);
    c->node = 2;
    on_node(add_alloc(9, 10, 0, 1), 2);
    is_bad();
    h.call[3].task[0].node = 0;
    is_good();
    c = add(LC_READ, 11, 12, GANG_ESTALE);
    c->node = 2;
    is_bad(); /* an allocation still holds it */
    add_free(10, 12, 0, GANG_OK);
    is_good();
}
END_TEST

START_TEST(pool_is_shared_by_all)
{
    struct lc_call *c = add(LC_RESIZE, 0, 1, GANG_OK);
    c->number = 1;
    c = add(LC_READ_POOL, 2, 3, GANG_OK);
    c->number = 1;
    is_good();
    c->number = LC_POOL;
    is_bad();
    h.op[0].back = 4;
    is_good();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linear");
    TCase *t = tcase_create("search");
    tcase_add_test(t, register_may_be_read_before_and_after_a_write_that_is_under_way);
    tcase_add_test(t, register_does_not_go_back);
    tcase_add_test(t, writes_at_once_are_tried_in_every_order_but_not_twice);
    suite_add_tcase(suite, t);
    t = tcase_create("cluster");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, gang_that_is_seen_whole);
    tcase_add_test(t, gang_of_which_a_part_is_seen);
    tcase_add_test(t, release_of_which_a_part_is_seen);
    tcase_add_test(t, release_that_is_lost);
    tcase_add_test(t, node_that_is_given_twice);
    tcase_add_test(t, refusal_while_the_other_holds_it);
    tcase_add_test(t, refusal_though_there_was_capacity);
    tcase_add_test(t, refusal_though_there_always_was_capacity);
    tcase_add_test(t, refusal_for_ever_and_for_now);
    tcase_add_test(t, draining_node_takes_nothing);
    tcase_add_test(t, busy_needs_a_concurrent_call);
    tcase_add_test(t, stale_is_what_was_freed);
    tcase_add_test(t, growth_and_its_refusal);
    tcase_add_test(t, held_capacity_is_not_taken_away);
    tcase_add_test(t, steps_of_one_call_come_in_their_order);
    tcase_add_test(t, exact_places);
    tcase_add_test(t, node_that_comes_and_goes);
    tcase_add_test(t, pool_is_shared_by_all);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
