/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots by one thread: what they show, what is not in them though it happens while one is being
 * taken, wrong input, no memory. */
#include <gangsched/gangsched.h>

#include "core/snapshot_take.h"
#include "support.h"

static struct stage s;
static gang_snapshot *snap;

static void setup(void)
{
    stage_open(&s, NULL, 0);
    MUST(gang_snapshot_new(s.c, &snap));
}

static void teardown(void)
{
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    gang_snapshot_free(snap);
    stage_close(&s);
}

static struct box plain(const char *name)
{
    return (struct box){.name = name, .cpu = 64000, .memory = 64 * GIB, .gpus = 4};
}

static gang_node_id add(const char *name)
{
    struct box box = plain(name);
    return stage_add(&s, &box);
}

static struct gang_node_info info_of(const gang_snapshot *of, gang_node_id id)
{
    struct gang_node_info info;
    info.size = sizeof(info);
    MUST(gang_snapshot_node_get(of, id, &info));
    return info;
}

/* A gang with a task of one GPU on each of `n` nodes. */
static gang_alloc_id spread(int64_t n)
{
    struct gang_group_spec g = group_of(n, 1000, 1000);
    struct gang_request_spec r = request_of(&g, 1);
    g.memory_bytes = GIB;
    r.policy = GANG_POLICY_SPREAD;
    return stage_alloc(&s, &r);
}

/* ---- what it shows --------------------------------------------------------------------------- */

START_TEST(shows_each_node_as_node_get_does)
{
    static const struct gang_amount nics = {"nic", 8};
    gang_node_id id[4];
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    struct box big = {.name = "big", .cpu = 128000, .memory = 900 * GIB, .gpus = 16, .cores = 128};
    struct box small = {.name = "small", .cpu = 500, .memory = GIB};
    struct box nic = plain("nic");
    nic.amounts = &nics;
    nic.amount_count = 1;
    id[0] = stage_add(&s, &big);
    id[1] = stage_add(&s, &small);
    id[2] = stage_add(&s, &nic);
    id[3] = add("plain");
    spread(3);
    MUST(gang_node_set_state(s.w, id[3], GANG_NODE_DRAINING));
    MUST(gang_snapshot_take(s.w, snap));
    ck_assert_int_eq(gang_snapshot_node_count(snap), 4);
    gang_node_id next = GANG_ID_NONE;
    for (int i = 0; i < 4; i++) {
        struct gang_node_info live = stage_node(&s, id[i]), seen = info_of(snap, id[i]);
        ck_assert_mem_eq(&live, &seen, sizeof(live));
        next = gang_snapshot_node_next(snap, next);
        ck_assert_uint_eq(next, id[i]);
    }
    ck_assert_uint_eq(gang_snapshot_node_next(snap, next), GANG_ID_NONE);
}
END_TEST

START_TEST(stays_as_it_was)
{
    gang_node_id a = add("a"), b = add("b");
    MUST(gang_snapshot_take(s.w, snap));
    struct gang_node_info before = info_of(snap, a), now;
    gang_alloc_id gang = spread(2);
    MUST(gang_node_set_state(s.w, a, GANG_NODE_DOWN));
    gang_node_id c = add("c");
    now = info_of(snap, a);
    ck_assert_mem_eq(&before, &now, sizeof(now));
    ck_assert_int_eq(gang_snapshot_node_count(snap), 2);
    ck_assert_int_eq(gang_snapshot_node_get(snap, c, &now), GANG_ESTALE);
    MUST(gang_snapshot_take(s.w, snap));
    ck_assert_int_eq(info_of(snap, a).state, GANG_NODE_DOWN);
    ck_assert_int_eq(info_of(snap, b).gpus_free, 3);
    ck_assert_int_eq(gang_snapshot_node_count(snap), 3);
    MUST(gang_alloc_free(s.w, gang));
}
END_TEST

START_TEST(node_that_was_removed_since_stays_in_it)
{
    gang_node_id a = add("a"), b = add("b");
    struct gang_node_info live = stage_node(&s, a), seen, other;
    long with_both = s.mem.live;
    MUST(gang_snapshot_take(s.w, snap));
    long taken = s.mem.live;
    MUST(gang_node_remove(s.w, a));
    MUST(gang_cluster_recycle(s.c));
    ck_assert_int_eq(s.mem.live, taken); /* the snapshot has it */
    gang_node_id again = add("c");
    ck_assert_uint_eq((uint32_t)again, (uint32_t)a); /* the slot is free though */
    seen = info_of(snap, a);
    ck_assert_mem_eq(&live, &seen, sizeof(live));
    ck_assert_uint_eq(gang_snapshot_node_next(snap, GANG_ID_NONE), a);
    other.size = sizeof(other);
    ck_assert_int_eq(gang_snapshot_node_get(snap, again, &other), GANG_ESTALE);
    gang_snapshot *second;
    MUST(gang_snapshot_new(s.c, &second));
    MUST(gang_snapshot_take(s.w, second)); /* after the removal: holds nothing of it */
    gang_snapshot_free(snap);
    snap = NULL;
    other.size = sizeof(other);
    ck_assert_int_eq(gang_snapshot_node_get(second, a, &other), GANG_ESTALE);
    ck_assert_int_eq(info_of(second, again).state, GANG_NODE_UP);
    ck_assert_int_eq(info_of(second, b).state, GANG_NODE_UP);
    gang_snapshot_free(second);
    MUST(gang_node_remove(s.w, again));
    MUST(gang_cluster_recycle(s.c));
    ck_assert_int_lt(s.mem.live, with_both + 8); /* areas and tables, but no third node */
}
END_TEST

/* A planner that renews its snapshot all the time does not keep all nodes there ever were. */
START_TEST(taking_anew_lets_removed_nodes_go)
{
    long live[3];
    add("a");
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 100; k++) {
            gang_node_id id = add("b");
            MUST(gang_snapshot_take(s.w, snap));
            MUST(gang_node_remove(s.w, id));
            MUST(gang_cluster_recycle(s.c));
        }
        live[i] = s.mem.live;
    }
    ck_assert_int_eq(live[1], live[0]);
    ck_assert_int_eq(live[2], live[0]);
}
END_TEST

START_TEST(removed_node_that_is_held_is_gone_but_there)
{
    gang_node_id a = add("a"), b = add("b");
    gang_alloc_id gang = spread(2);
    MUST(gang_node_remove(s.w, a));
    MUST(gang_snapshot_take(s.w, snap));
    ck_assert_int_eq(info_of(snap, a).state, GANG_NODE_REMOVED);
    ck_assert_int_eq(info_of(snap, a).gpus_free, 3);
    ck_assert_int_eq(gang_snapshot_node_count(snap), 1);
    ck_assert_uint_eq(gang_snapshot_node_next(snap, GANG_ID_NONE), b);
    ck_assert_int_eq(gang_snapshot_set_state(snap, a, GANG_NODE_UP), GANG_ESTALE);
    MUST(gang_alloc_free(s.w, gang));
    MUST(gang_snapshot_take(s.w, snap));
    struct gang_node_info info = {.size = sizeof(info)};
    ck_assert_int_eq(gang_snapshot_node_get(snap, a, &info), GANG_ESTALE);
}
END_TEST

START_TEST(description_of_its_time_stays)
{
    struct box box = plain("a");
    struct box_arrays arrays;
    gang_node_id a = add("a");
    MUST(gang_snapshot_take(s.w, snap));
    box.cpu = 32000;
    struct gang_node_spec spec = box_spec(&box, &arrays);
    MUST(gang_node_change(s.w, a, &spec, NULL));
    MUST(gang_cluster_recycle(s.c));
    ck_assert_int_eq(info_of(snap, a).cpu_milli, 64000);
    ck_assert_int_eq(info_of(snap, a).cpu_free, 64000);
    MUST(gang_snapshot_take(s.w, snap));
    ck_assert_int_eq(info_of(snap, a).cpu_milli, 32000);
    ck_assert_int_eq(info_of(snap, a).cpu_free, 32000);
}
END_TEST

START_TEST(totals_are_the_sums)
{
    struct gang_totals t = GANG_TOTALS_INIT;
    MUST(gang_snapshot_totals(snap, &t));
    ck_assert_int_eq(t.nodes, 0);
    gang_node_id id[5];
    char name[2] = "a";
    for (int i = 0; i < 5; i++, name[0]++)
        id[i] = add(name);
    gang_alloc_id gang = spread(5);
    MUST(gang_node_set_state(s.w, id[1], GANG_NODE_DRAINING));
    MUST(gang_node_set_state(s.w, id[2], GANG_NODE_DOWN));
    MUST(gang_node_remove(s.w, id[3]));
    MUST(gang_snapshot_take(s.w, snap));
    MUST(gang_snapshot_totals(snap, &t));
    ck_assert_uint_eq(t.size, sizeof(t));
    ck_assert_int_eq(t.nodes, 4);
    ck_assert_int_eq(t.nodes_up, 2);
    ck_assert_int_eq(t.nodes_draining, 1);
    ck_assert_int_eq(t.nodes_down, 1);
    ck_assert_int_eq(t.cpu_milli, 4 * 64000);
    ck_assert_int_eq(t.cpu_free, 4 * 63000);
    ck_assert_int_eq(t.cpu_free_up, 2 * 63000);
    ck_assert_int_eq(t.memory_bytes, 4 * 64 * GIB);
    ck_assert_int_eq(t.memory_free, 4 * 63 * GIB);
    ck_assert_int_eq(t.memory_free_up, 2 * 63 * GIB);
    ck_assert_int_eq(t.gpu_milli, 16000);
    ck_assert_int_eq(t.gpu_free, 12000);
    ck_assert_int_eq(t.gpu_free_up, 6000);
    ck_assert_int_eq(t.gpus, 16);
    ck_assert_int_eq(t.gpus_free, 12);
    ck_assert_int_eq(t.gpus_free_up, 6);
    MUST(gang_snapshot_set_state(snap, id[1], GANG_NODE_UP));
    MUST(gang_snapshot_totals(snap, &t));
    ck_assert_int_eq(t.nodes_up, 3);
    ck_assert_int_eq(t.gpu_free_up, 9000);
    MUST(gang_alloc_free(s.w, gang));
}
END_TEST

/* ---- what happens meanwhile ------------------------------------------------------------------ */

/* Something is done at the n-th coming of a take to a step. */
static struct {
    enum gang__step step;
    int n;
    void (*act)(void);
} meanwhile;

static void at_step(enum gang__step step)
{
    if (step != meanwhile.step || !meanwhile.act || --meanwhile.n != 0)
        return;
    void (*act)(void) = meanwhile.act;
    meanwhile.act = NULL;
    act();
}

/* Take with something done at a step. Returns whether it came there. */
static bool take_while(enum gang__step step, int n, void (*act)(void))
{
    meanwhile.step = step;
    meanwhile.n = n;
    meanwhile.act = act;
    atomic_store(&gang__hook_now, at_step);
    MUST(gang_snapshot_take(s.w, snap));
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    bool came = !meanwhile.act;
    meanwhile.act = NULL;
    return came;
}

static gang_worker *other;
static gang_node_id node[6];
static gang_alloc_id held;

static void do_alloc(void)
{
    spread(4);
}
static void do_free(void)
{
    MUST(gang_alloc_free(other, held));
    held = GANG_ID_NONE;
}
static void do_drain(void)
{
    MUST(gang_node_set_state(other, node[0], GANG_NODE_DRAINING));
    MUST(gang_node_set_state(other, node[3], GANG_NODE_DRAINING));
}
static void change_to(int64_t cpu)
{
    struct box_arrays arrays;
    for (int i = 0; i < 4; i += 3) {
        struct box box = plain(i ? "d" : "a");
        box.cpu = cpu;
        struct gang_node_spec spec = box_spec(&box, &arrays);
        MUST(gang_node_change(other, node[i], &spec, NULL));
    }
}
static void do_change(void)
{
    change_to(32000);
}
static void do_change_twice(void)
{
    change_to(32000);
    change_to(96000);
}
static void do_change_in_vain(void)
{
    struct box_arrays arrays;
    struct box box = plain("b");
    box.memory = 0;
    struct gang_node_spec spec = box_spec(&box, &arrays);
    ck_assert_int_eq(gang_node_change(other, node[1], &spec, NULL), GANG_EBUSY);
}
static void do_remove(void) /* the second call of each drains */
{
    do_free();
    MUST(gang_node_remove(other, node[0]));
    MUST(gang_node_remove(other, node[3]));
    add("x");
}
static void do_add(void)
{
    add("x");
    add("y");
}
static void do_add_large(void) /* more words than any node has */
{
    struct box large = {.name = "x", .cpu = 512000, .gpus = 64, .cores = 512};
    stage_add(&s, &large);
    large.name = "y";
    stage_add(&s, &large);
    spread(6);
}
static void do_add_many(void) /* a second chunk */
{
    for (int i = 0; i < 1030; i++) {
        char name[10];
        snprintf(name, sizeof(name), "m%d", i);
        add(name);
    }
    spread(1000);
}
static void (*const acts[])(void) = {do_alloc,        do_free,           do_drain,  do_change,
                                     do_change_twice, do_change_in_vain, do_remove, do_add,
                                     do_add_large,    do_add_many};
enum { ACTS = sizeof(acts) / sizeof(acts[0]) };

/* Four nodes, a gang on all of them, and a slot that was given back. */
static void prepare(void)
{
    char name[2] = "a";
    MUST(gang_worker_new(s.c, &other));
    for (int i = 0; i < 5; i++, name[0]++)
        node[i] = add(name);
    MUST(gang_node_remove(other, node[4]));
    MUST(gang_cluster_recycle(s.c));
    held = spread(4);
}

/* After the instant: nothing of it is in the snapshot, wherever the walk was. */
START_TEST(what_begins_after_the_instant_is_not_in_it)
{
    for (enum gang__step step = GANG__STEP_SCAN; step <= GANG__STEP_COPY; step++) {
        for (int n = 1;; n++) {
            struct gang_node_info before[4];
            setup();
            prepare();
            for (int i = 0; i < 4; i++)
                before[i] = stage_node(&s, node[i]);
            bool came = take_while(step, n, acts[_i]);
            ck_assert_int_eq(gang_snapshot_node_count(snap), 4);
            gang_node_id next = GANG_ID_NONE;
            for (int i = 0; i < 4; i++) {
                struct gang_node_info seen = info_of(snap, node[i]);
                ck_assert_msg(memcmp(&seen, &before[i], sizeof(seen)) == 0,
                              "node %d at coming %d to step %d: %d of %d free, state %d", i, n,
                              step, (int)seen.gpu_free, (int)seen.gpu_count, seen.state);
                next = gang_snapshot_node_next(snap, next);
                ck_assert_uint_eq(next, node[i]);
            }
            teardown();
            if (!came)
                break;
            ck_assert_int_lt(n, 20);
        }
    }
}
END_TEST

/* Before the instant, but after the preparations: the snapshot holds all of it. */
START_TEST(what_returned_before_the_instant_is_in_it)
{
    prepare();
    ck_assert(take_while(GANG__STEP_TAKE, 1, acts[_i]));
    gang_node_id next = gang_snapshot_node_next(snap, GANG_ID_NONE), live = GANG_ID_NONE;
    int64_t count = 0;
    while ((live = gang_node_next(s.c, live)) != GANG_ID_NONE) {
        struct gang_node_info now = stage_node(&s, live), seen = info_of(snap, live);
        ck_assert_uint_eq(next, live);
        ck_assert_mem_eq(&now, &seen, sizeof(now));
        next = gang_snapshot_node_next(snap, next);
        count++;
    }
    ck_assert_uint_eq(next, GANG_ID_NONE);
    ck_assert_int_eq(gang_snapshot_node_count(snap), count);
}
END_TEST

/* Numbers come round to the same tags: what was saved long ago is not taken for new. */
START_TEST(saved_words_of_long_ago_do_not_count)
{
    const uint64_t round = UINT64_C(1) << 24;
    prepare();
    uint64_t n = gang__snapshot_number(&s.c->commit);
    ck_assert(take_while(GANG__STEP_SCAN, 2, do_alloc)); /* saves all four for n */
    ck_assert_int_eq(info_of(snap, node[0]).gpus_free, 3);
    gang__store(&s.c->commit.snap, (n + round) << GANG__SNAPSHOTS);
    ck_assert(take_while(GANG__STEP_SCAN, 2, do_alloc)); /* needs to save them again */
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(info_of(snap, node[i]).gpus_free, 2);
    /* Skips a number with the tag of cleared words. */
    gang__store(&s.c->commit.snap, (2 * round) << GANG__SNAPSHOTS);
    ck_assert(take_while(GANG__STEP_SCAN, 2, do_free));
    ck_assert_uint_eq(gang__snapshot_number(&s.c->commit), 2 * round + 2);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(info_of(snap, node[i]).gpus_free, 1);
}
END_TEST

/* ---- wrong input, no memory ------------------------------------------------------------------ */

START_TEST(wrong_input_is_refused)
{
    struct gang_node_info info = {.size = sizeof(info)};
    struct gang_totals t = GANG_TOTALS_INIT;
    gang_cluster *c2;
    gang_worker *w2;
    gang_snapshot *none = snap;
    gang_node_id a = add("a");
    ck_assert_int_eq(gang_snapshot_new(NULL, &none), GANG_EINVAL);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(gang_snapshot_new(s.c, NULL), GANG_EINVAL);
    gang_snapshot_free(NULL);
    MUST(gang_cluster_new(NULL, &c2, NULL));
    MUST(gang_worker_new(c2, &w2));
    ck_assert_int_eq(gang_snapshot_take(w2, snap), GANG_EINVAL);
    gang_cluster_free(c2);
    ck_assert_int_eq(gang_snapshot_take(NULL, snap), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_take(s.w, NULL), GANG_EINVAL);
    /* never taken */
    ck_assert_int_eq(gang_snapshot_node_count(NULL), 0);
    ck_assert_int_eq(gang_snapshot_node_count(snap), 0);
    ck_assert_uint_eq(gang_snapshot_node_next(NULL, GANG_ID_NONE), GANG_ID_NONE);
    ck_assert_uint_eq(gang_snapshot_node_next(snap, GANG_ID_NONE), GANG_ID_NONE);
    ck_assert_int_eq(gang_snapshot_node_get(snap, a, &info), GANG_ESTALE);
    ck_assert_int_eq(gang_snapshot_set_state(snap, a, GANG_NODE_UP), GANG_ESTALE);
    MUST(gang_snapshot_take(s.w, snap));
    ck_assert_uint_eq(gang_snapshot_node_next(snap, UINT64_MAX), GANG_ID_NONE);
    ck_assert_int_eq(gang_snapshot_node_get(NULL, a, &info), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_node_get(snap, a, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_node_get(snap, GANG_ID_NONE, &info), GANG_ESTALE);
    ck_assert_int_eq(gang_snapshot_node_get(snap, a + (UINT64_C(1) << 32), &info), GANG_ESTALE);
    ck_assert_int_eq(gang_snapshot_node_get(snap, a + 70000, &info), GANG_ESTALE);
    info.size = 8;
    ck_assert_int_eq(gang_snapshot_node_get(snap, a, &info), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_totals(NULL, &t), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_totals(snap, NULL), GANG_EINVAL);
    t.size = 8;
    ck_assert_int_eq(gang_snapshot_totals(snap, &t), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_set_state(NULL, a, GANG_NODE_UP), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_set_state(snap, a, GANG_NODE_REMOVED), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_set_state(snap, a, -1), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_set_state(snap, a + 1, GANG_NODE_UP), GANG_ESTALE);
}
END_TEST

START_TEST(out_of_memory_leaves_the_former_content)
{
    int failures = 0;
    gang_snapshot *more;
    s.mem.fail_at = s.mem.calls + 1;
    ck_assert_int_eq(gang_snapshot_new(s.c, &more), GANG_ENOMEM);
    ck_assert_ptr_null(more);
    s.mem.fail_at = 0;
    gang_node_id a = add("a");
    for (int round = 0; round < 2; round++) {
        /* Work done before the failure is kept: one more allocation succeeds each time. */
        for (long at = 1;; at = 3 - at) {
            s.mem.fail_at = s.mem.calls + at;
            gang_result r = gang_snapshot_take(s.w, snap);
            bool failed = s.mem.calls >= s.mem.fail_at;
            s.mem.fail_at = 0;
            ck_assert_int_eq(r, failed ? GANG_ENOMEM : GANG_OK);
            if (!failed)
                break;
            failures++;
            ck_assert_int_eq(gang_snapshot_node_count(snap), round);
            if (round)
                ck_assert_int_eq(info_of(snap, a).gpus_free, 4);
        }
        ck_assert_int_eq(gang_snapshot_node_count(snap), round ? 2072 : 1);
        /* Two chunks more, and larger nodes in the first one. */
        struct box large = {.name = "large", .cpu = 512000, .gpus = 64, .cores = 512};
        if (round == 0)
            stage_add(&s, &large);
        for (int i = 0; round == 0 && i < 2070; i++) {
            char name[10];
            snprintf(name, sizeof(name), "m%d", i);
            add(name);
        }
    }
    ck_assert_int_ge(failures, 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *shows = tcase_create("shows"), *takes = tcase_create("meanwhile");
    tcase_add_checked_fixture(shows, setup, teardown);
    tcase_add_test(shows, shows_each_node_as_node_get_does);
    tcase_add_test(shows, stays_as_it_was);
    tcase_add_test(shows, node_that_was_removed_since_stays_in_it);
    tcase_add_test(shows, taking_anew_lets_removed_nodes_go);
    tcase_add_test(shows, removed_node_that_is_held_is_gone_but_there);
    tcase_add_test(shows, description_of_its_time_stays);
    tcase_add_test(shows, totals_are_the_sums);
    tcase_add_loop_test(shows, what_returned_before_the_instant_is_in_it, 0, ACTS);
    tcase_add_test(shows, saved_words_of_long_ago_do_not_count);
    tcase_add_test(shows, wrong_input_is_refused);
    tcase_add_test(shows, out_of_memory_leaves_the_former_content);
    tcase_add_loop_test(takes, what_begins_after_the_instant_is_not_in_it, 0, ACTS);
    suite_add_tcase(suite, shows);
    suite_add_tcase(suite, takes);
    return run_suite(suite);
}
