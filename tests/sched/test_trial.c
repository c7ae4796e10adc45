/* SPDX-License-Identifier: Apache-2.0 */
/* Trials: whatever is tried on a timeline and on the usage of queues, dropping it leaves all as it
 * was. Random trials nest, and are compared with what was there before. */
#include "sched/calendar/trial.h"

#include "chance.h"
#include "support.h"

enum { NODES = 4, GPUS = 8 };

struct fixture {
    struct fail_mem mem;
    gang_sched *s;
    struct gang__timeline *timeline;
    struct gang__queue_state root, leaf;
    int64_t used[2][GANG__DIMS]; /* of the root, of the leaf */
};

static void fixture_open(struct fixture *f)
{
    int64_t capacity[NODES * GANG__FREE_KINDS];
    memset(f, 0, sizeof(*f));
    fail_mem_init(&f->mem, 0);
    f->s = calloc(1, sizeof(*f->s));
    ck_assert_ptr_nonnull(f->s);
    f->s->mem = f->mem.mem;
    f->leaf.parent = &f->root;
    f->root.used = f->used[0];
    f->leaf.used = f->used[1];
    for (size_t i = 0; i < NODES * GANG__FREE_KINDS; i++)
        capacity[i] = GPUS;
    MUST(gang__timeline_new(&f->s->mem, capacity, NODES, 0, 0, &f->timeline));
}

static void fixture_close(struct fixture *f)
{
    gang__timeline_free(f->timeline);
    gang__trial_free(f->s);
    ck_assert_int_eq(f->mem.live, 0);
    free(f->s);
}

/* All of a node, from start to end. */
static struct gang__occupation whole(uint32_t node, int64_t start_ns, int64_t end_ns)
{
    static const struct gang__time_group group = {.count = 1, .need = {GPUS, GPUS, GPUS}};
    static struct gang__time_place place[NODES];
    place[node] = (struct gang__time_place){node, 0, 1};
    return (struct gang__occupation){start_ns, end_ns, &group, 1, &place[node], 1, 0, true};
}

static uint32_t occupy(struct fixture *f, uint32_t node, int64_t start_ns, int64_t end_ns)
{
    const struct gang__occupation o = whole(node, start_ns, end_ns);
    uint32_t id;
    MUST(gang__timeline_add(f->timeline, &o, &id));
    return id;
}

static bool is_free(const struct fixture *f, uint32_t node, int64_t start_ns, int64_t end_ns)
{
    const struct gang__occupation o = whole(node, start_ns, end_ns);
    return gang__timeline_fits(f->timeline, &o);
}

/* ---- by hand --------------------------------------------------------------------------------- */

START_TEST(a_withdrawn_occupation_counts_again_after_the_trial)
{
    struct fixture f;
    struct gang__trial t;
    fixture_open(&f);
    uint32_t id = occupy(&f, 1, 10, 20);
    gang__trial_begin(&t, f.s, f.timeline);
    gang__trial_withdraw(&t, id);
    ck_assert(is_free(&f, 1, 0, 30));
    gang__trial_drop(&t);
    ck_assert(!is_free(&f, 1, 0, 30) && is_free(&f, 1, 20, 30));
    fixture_close(&f);
}
END_TEST

/* As when a plan is replaced: see replace_plan() of backfill. */
START_TEST(a_withdrawn_occupation_that_is_replaced_does_not_come_back)
{
    struct fixture f;
    struct gang__trial t;
    fixture_open(&f);
    uint32_t id = occupy(&f, 1, 10, 20);
    gang__trial_begin(&t, f.s, f.timeline);
    gang__trial_withdraw(&t, id);
    uint32_t other = occupy(&f, 1, 15, 25);
    gang__timeline_remove(f.timeline, id);
    gang__trial_drop(&t);
    ck_assert(is_free(&f, 1, 0, 15) && !is_free(&f, 1, 15, 25));
    gang__timeline_remove(f.timeline, other);
    ck_assert(is_free(&f, 1, 0, 30));
    fixture_close(&f);
}
END_TEST

START_TEST(an_inner_trial_shows_what_the_outer_one_withdrew)
{
    struct fixture f;
    struct gang__trial outer, inner;
    fixture_open(&f);
    uint32_t id = occupy(&f, 0, 10, 20), other = occupy(&f, 1, 10, 20);
    gang__trial_begin(&outer, f.s, f.timeline);
    gang__trial_withdraw(&outer, id);
    gang__trial_begin(&inner, f.s, f.timeline);
    gang__trial_withdraw(&inner, other);
    ck_assert(gang__trial_restore(&inner, id) && gang__trial_restore(&inner, id));
    ck_assert(!is_free(&f, 0, 0, 30) && is_free(&f, 1, 0, 30));
    gang__trial_drop(&inner);
    ck_assert(is_free(&f, 0, 0, 30) && !is_free(&f, 1, 0, 30));
    gang__trial_drop(&outer);
    ck_assert(!is_free(&f, 0, 0, 30) && !is_free(&f, 1, 0, 30));
    fixture_close(&f);
}
END_TEST

START_TEST(usage_is_charged_up_to_the_root_until_the_trial_ends)
{
    struct fixture f;
    struct gang__trial t;
    const struct gang__take take[] = {{0, 5}, {2, 7}};
    fixture_open(&f);
    f.leaf.used[0] = f.root.used[0] = 1;
    gang__trial_begin(&t, f.s, NULL);
    ck_assert(gang__trial_charge(&t, &f.leaf, take, 2, 1));
    ck_assert(gang__trial_charge(&t, &f.leaf, take, 1, -1));
    ck_assert_int_eq(f.root.used[0], 1);
    ck_assert_int_eq(f.leaf.used[2], 7);
    gang__trial_drop(&t);
    ck_assert_int_eq(f.leaf.used[0], 1);
    ck_assert_int_eq(f.root.used[2], 0);
    fixture_close(&f);
}
END_TEST

/* Each allocation fails once. What was not done is not undone. */
START_TEST(a_trial_without_memory_changes_nothing)
{
    const struct gang__take take[] = {{0, 5}};
    bool done = false;
    for (long n = 1; !done; n++) {
        struct fixture f;
        struct gang__trial t;
        fixture_open(&f);
        uint32_t id = occupy(&f, 0, 10, 20);
        const struct gang__occupation o = whole(1, 10, 20);
        gang__timeline_withdraw(f.timeline, id);
        f.mem.fail_at = f.mem.calls + n;
        gang__trial_begin(&t, f.s, f.timeline);
        done = gang__trial_put(&t, &o, NULL) == GANG_OK;
        done = gang__trial_restore(&t, id) && done;
        done = gang__trial_charge(&t, &f.leaf, take, 1, 1) && done;
        f.mem.fail_at = 0;
        gang__trial_drop(&t);
        ck_assert(is_free(&f, 0, 0, 30) && is_free(&f, 1, 0, 30));
        ck_assert_int_eq(f.leaf.used[0], 0);
        fixture_close(&f);
    }
}
END_TEST

/* ---- at random ------------------------------------------------------------------------------- */

enum { SPAN = 40, OCCUPATIONS = 12 };

struct state {
    bool free[NODES][SPAN];
    int64_t used[2];
};

static struct state state_of(const struct fixture *f)
{
    struct state state;
    memset(&state, 0, sizeof(state));
    for (uint32_t node = 0; node < NODES; node++)
        for (int64_t at = 0; at < SPAN; at++)
            state.free[node][at] = is_free(f, node, at, at + 1);
    state.used[0] = f->leaf.used[0];
    state.used[1] = f->root.used[0];
    return state;
}

static void try_some(struct fixture *f, const uint32_t *id, int depth)
{
    static const struct gang__take take[] = {{0, 3}};
    struct state before = state_of(f);
    struct gang__trial t;
    gang__trial_begin(&t, f->s, f->timeline);
    for (int64_t steps = below(8); steps > 0; steps--) {
        uint32_t node = (uint32_t)below(NODES);
        int64_t start = below(SPAN - 1);
        const struct gang__occupation o = whole(node, start, start + 1);
        switch (below(depth > 0 ? 5 : 4)) {
        case 0:
            gang__trial_withdraw(&t, id[below(OCCUPATIONS)]);
            break;
        case 1:
            ck_assert(gang__trial_restore(&t, id[below(OCCUPATIONS)]));
            break;
        case 2:
            if (gang__timeline_fits(f->timeline, &o))
                MUST(gang__trial_put(&t, &o, NULL));
            break;
        case 3:
            ck_assert(gang__trial_charge(&t, &f->leaf, take, 1, below(2) ? 1 : -1));
            break;
        default:
            try_some(f, id, depth - 1);
        }
    }
    gang__trial_drop(&t);
    struct state after = state_of(f);
    ck_assert_mem_eq(&before, &after, sizeof(before));
}

START_TEST(dropped_trials_leave_no_trace)
{
    chance_state = test_seed();
    for (int i = 0; i < 300; i++) {
        struct fixture f;
        uint32_t id[OCCUPATIONS];
        fixture_open(&f);
        for (int64_t k = 0; k < OCCUPATIONS; k++)
            id[k] = occupy(&f, (uint32_t)(k % NODES), k * 3, k * 3 + 2);
        try_some(&f, id, 3);
        fixture_close(&f);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trial");
    TCase *t = tcase_create("trial");
    tcase_add_test(t, a_withdrawn_occupation_counts_again_after_the_trial);
    tcase_add_test(t, a_withdrawn_occupation_that_is_replaced_does_not_come_back);
    tcase_add_test(t, an_inner_trial_shows_what_the_outer_one_withdrew);
    tcase_add_test(t, usage_is_charged_up_to_the_root_until_the_trial_ends);
    tcase_add_test(t, a_trial_without_memory_changes_nothing);
    tcase_add_test(t, dropped_trials_leave_no_trace);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
