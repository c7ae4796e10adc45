/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of queues: what is refused, and what becomes of what is taken. */
#include <gangsched/scenario.h>

#include <math.h>

#include "queue/queue_spec_in.h"
#include "tree.h"

/* ---- what is refused ----------------------------------------------------------------------- */

/* A queue that is wrong in one member, third of three; `change` is a statement on the specification
 * `s`. */
#define REFUSED(change, code, path, text)                                        \
    do {                                                                         \
        struct gang_queue_spec t_[3] = {queue_of("a", NULL), queue_of("b", "a"), \
                                        queue_of("c", "a")};                     \
        struct gang_queue_spec *s = &t_[2];                                      \
        change;                                                                  \
        tree_refused(t_, 3, code, path, text);                                   \
    } while (0)

static struct gang_quota quota(const char *kind, int64_t amount)
{
    return (struct gang_quota){kind, amount, NULL, 0, 0};
}

static void refuse_limit(struct gang_quota q, gang_result code, const char *path, const char *text)
{
    REFUSED(queue_limit(s, &q, 1), code, path, text);
}

static void refuse_guarantee(struct gang_quota q, gang_result code, const char *path,
                             const char *text)
{
    REFUSED(queue_guarantee(s, &q, 1), code, path, text);
}

START_TEST(a_quota_that_makes_no_sense_is_refused)
{
    char deep[GANG_MAX_NAME + 2];
    memset(deep, 'x', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    refuse_limit(quota("gpu", -2), GANG_ERANGE, "queues[2].limit.gpu", "negative");
    refuse_limit(quota("gpu", INT64_MAX), GANG_ERANGE, "queues[2].limit.gpu", "too large");
    refuse_limit(quota("nosuch", 1), GANG_ENOENT, "queues[2].limit.nosuch", "no such kind");
    refuse_limit(quota(NULL, 1), GANG_EINVAL, "queues[2].limit[0].kind", NULL);
    refuse_limit(quota("", 1), GANG_EINVAL, "queues[2].limit[0].kind", NULL);
    refuse_limit(quota(deep, 1), GANG_ELIMIT, "queues[2].limit[0].kind", NULL);
    refuse_limit((struct gang_quota){"gpu", 1, "nosuch", 0, 0}, GANG_ENOENT,
                 "queues[2].limit[0].partition", "no such partition");
    refuse_limit((struct gang_quota){"gpu", 1, "", 0, 0}, GANG_EINVAL,
                 "queues[2].limit[0].partition", NULL);
    refuse_limit((struct gang_quota){"gpu", -2, "fast", 0, 0}, GANG_ERANGE,
                 "queues[2].limit.gpu@fast", "negative");
    refuse_limit((struct gang_quota){"gpu", 0, NULL, -1, 0}, GANG_ERANGE, "queues[2].limit.gpu",
                 "negative");
    refuse_limit((struct gang_quota){"gpu", 0, NULL, GANG_WHOLE + 1, 0}, GANG_ERANGE,
                 "queues[2].limit.gpu", "more than the whole");
    refuse_limit((struct gang_quota){"gpu", 1, NULL, 1, 0}, GANG_EINVAL, "queues[2].limit.gpu",
                 "two of amount, part and weight");
    refuse_limit((struct gang_quota){"gpu", 0, NULL, 0, 1}, GANG_EINVAL, "queues[2].limit.gpu",
                 "by weight, as a guarantee alone may be");
    refuse_guarantee((struct gang_quota){"gpu", 0, NULL, 1, 1}, GANG_EINVAL,
                     "queues[2].guaranteed.gpu", "two of amount, part and weight");
    refuse_guarantee((struct gang_quota){"gpu", -1, NULL, 0, 1}, GANG_EINVAL,
                     "queues[2].guaranteed.gpu", "two of amount, part and weight");
    refuse_guarantee((struct gang_quota){"gpu", 0, NULL, 0, -1}, GANG_ERANGE,
                     "queues[2].guaranteed.gpu", "negative");
    refuse_guarantee((struct gang_quota){"gpu", 0, NULL, 0, INT64_MAX}, GANG_ERANGE,
                     "queues[2].guaranteed.gpu", "too large");
}
END_TEST

START_TEST(lists_of_quotas_must_agree)
{
    struct gang_quota twice[] = {quota("gpu", 1), quota("cpu", 1), quota("gpu", 2)};
    struct gang_quota pairs[] = {{"gpu", 1, "fast", 0, 0}, {"gpu", 1, "fast", 0, 0}};
    struct gang_quota four = quota("gpu", 4), three = quota("gpu", 3);
    struct gang_quota part = {"gpu", 0, NULL, 1, 0};
    REFUSED(queue_limit(s, twice, 3), GANG_EINVAL, "queues[2].limit.gpu", "twice");
    REFUSED(queue_limit(s, pairs, 2), GANG_EINVAL, "queues[2].limit.gpu@fast", "twice");
    REFUSED(queue_limit(s, NULL, 1), GANG_EINVAL, "queues[2].limit", NULL);
    REFUSED(queue_limit(s, twice, 65), GANG_ELIMIT, "queues[2].limit", NULL);
    REFUSED(
        {
            queue_guarantee(s, &four, 1);
            queue_limit(s, &three, 1);
        },
        GANG_EINVAL, "queues[2].limit.gpu", "below the guarantee");
    REFUSED(
        {
            queue_guarantee(s, &three, 1);
            s->lending_limit = &four;
            s->lending_limit_count = 1;
        },
        GANG_EINVAL, "queues[2].lending_limit.gpu", "above the guarantee");
    REFUSED(
        {
            s->lending_limit = &part;
            s->lending_limit_count = 1;
        },
        GANG_EINVAL, "queues[2].lending_limit.gpu", "not an amount");
}
END_TEST

START_TEST(a_weight_that_is_none_is_refused)
{
    const char *kinds[] = {"gpu", "nosuch", "gpu", NULL};
    double weights[] = {1, 2, 3, 4}, bad[] = {NAN};
    const double none[] = {-1, NAN, INFINITY, -INFINITY, 1e7};
    for (size_t i = 0; i < 5; i++)
        REFUSED(s->weight = none[i], GANG_ERANGE, "queues[2].weight", NULL);
#define WEIGHTS(k, w, n) s->weight_kinds = (k), s->weights = (w), s->weight_count = (n)
    REFUSED(WEIGHTS(kinds, weights, 2), GANG_ENOENT, "queues[2].weights.nosuch", "no such kind");
    kinds[1] = "cpu";
    REFUSED(WEIGHTS(kinds, weights, 3), GANG_EINVAL, "queues[2].weights.gpu", "twice");
    kinds[2] = "memory";
    REFUSED(WEIGHTS(kinds, weights, 4), GANG_EINVAL, "queues[2].weight_kinds[3]", NULL);
    REFUSED(WEIGHTS(kinds, bad, 1), GANG_ERANGE, "queues[2].weights.gpu", NULL);
    REFUSED(WEIGHTS(kinds, NULL, 1), GANG_EINVAL, "queues[2].weights", NULL);
    REFUSED(WEIGHTS(NULL, weights, 1), GANG_EINVAL, "queues[2].weight_kinds", NULL);
    REFUSED(WEIGHTS(kinds, weights, 33), GANG_ELIMIT, "queues[2].weights", NULL);
}
END_TEST

START_TEST(a_number_out_of_range_is_refused)
{
#define NEGATIVE(member) REFUSED(s->member = -2, GANG_ERANGE, "queues[2]." #member, "negative")
    NEGATIVE(max_running);
    NEGATIVE(max_pending);
    NEGATIVE(max_running_per_user);
    NEGATIVE(default_time_limit_ns);
    NEGATIVE(max_time_limit_ns);
    NEGATIVE(user_limit);
    NEGATIVE(user_limit_factor);
    NEGATIVE(grace_ns);
    NEGATIVE(fence_ns);
    NEGATIVE(min_runtime_ns);
    NEGATIVE(stale_ns);
    NEGATIVE(max_children);
    NEGATIVE(child_idle_ns);
    REFUSED(s->user_limit = GANG_WHOLE + 1, GANG_ERANGE, "queues[2].user_limit", "too large");
    REFUSED((s->default_time_limit_ns = 2, s->max_time_limit_ns = 1), GANG_EINVAL,
            "queues[2].default_time_limit_ns", "above max_time_limit_ns");
}
END_TEST

START_TEST(a_word_out_of_range_is_refused)
{
#define WORD(member, value)                                                                   \
    REFUSED(s->member = (value), GANG_EINVAL, "queues[2]." #member, "not one of its values"); \
    REFUSED(s->member = -1, GANG_EINVAL, "queues[2]." #member, "not one of its values")
    WORD(within, GANG_PREEMPT_ANY);
    WORD(within, GANG_PREEMPT_USER_LIMIT + 1);
    WORD(reclaim, GANG_PREEMPT_LOWER_OR_NEWER);
    WORD(reclaim, GANG_PREEMPT_USER_LIMIT);
    WORD(state, 3);
    WORD(order, GANG_ORDER_MULTIFACTOR + 1);
    WORD(child_order, GANG_CHILD_ORDER_MULTIFACTOR + 1);
    WORD(block, 2);
    WORD(preempt_mode, 3);
    WORD(no_preemption, 2);
    WORD(policy, GANG_POLICY_HOST);
    WORD(reserved0, 1);
    WORD(backfill, GANG_BACKFILL_CONSERVATIVE + 1);
    WORD(backfill_order, GANG_BACKFILL_ORDER_SMALLEST + 1);
    WORD(overrun, GANG_OVERRUN_ASK + 1);
    WORD(reserved1, 1);
    WORD(quantum_gpus, 2);
    WORD(reserved2, 1);
    WORD(across, GANG_ACROSS_LOWER_CAPPED + 1);
    WORD(nonpreemptible, GANG_NONPREEMPTIBLE_LIMIT + 1);
    WORD(surplus, GANG_SURPLUS_EVENLY + 1);
    WORD(partition_borrow, GANG_PARTITION_BORROW_LAST + 1);
    WORD(partition_preempt, GANG_PARTITION_PREEMPT_IN_ORDER + 1);
}
END_TEST

START_TEST(partitions_are_checked)
{
    static const char *const twice[] = {"a", "b", "a"}, *const nameless[] = {""};
    REFUSED((s->partitions = twice, s->partition_count = 3), GANG_EINVAL, "queues[2].partitions[2]",
            "twice");
    REFUSED((s->partitions = nameless, s->partition_count = 1), GANG_EINVAL,
            "queues[2].partitions[0]", NULL);
    REFUSED((s->partitions = NULL, s->partition_count = 1), GANG_EINVAL, "queues[2].partitions",
            NULL);
    REFUSED((s->partitions = twice, s->partition_count = GANG_MAX_JOB_PARTITIONS + 1), GANG_ELIMIT,
            "queues[2].partitions", NULL);
}
END_TEST

START_TEST(cells_and_users_are_checked)
{
    struct gang_cell_spec cells[] = {{"rack", 1}, {"node", 2}, {"nosuch", 1}};
    struct gang_user_weight users[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"b", 2}};
#define CELLS(n) s->cells = cells, s->cell_count = (n)
#define USERS(n) s->users = users, s->user_count = (n)
    REFUSED(CELLS(3), GANG_ENOENT, "queues[2].cells[2].level", "no such level");
    cells[2].level = "rack";
    REFUSED(CELLS(3), GANG_EINVAL, "queues[2].cells[2].level", "twice");
    cells[1].level = NULL;
    REFUSED(CELLS(2), GANG_EINVAL, "queues[2].cells[1].level", NULL);
    cells[0].count = 0;
    REFUSED(CELLS(1), GANG_ERANGE, "queues[2].cells[0].count", NULL);
    REFUSED(s->cell_count = 1, GANG_EINVAL, "queues[2].cells", NULL);
    REFUSED(CELLS(18), GANG_ELIMIT, "queues[2].cells", NULL);
    REFUSED(USERS(4), GANG_EINVAL, "queues[2].users[3].user", "twice");
    users[1].weight = 0;
    REFUSED(USERS(2), GANG_ERANGE, "queues[2].users[1].weight", NULL);
    users[1].user = "";
    REFUSED(USERS(2), GANG_EINVAL, "queues[2].users[1].user", NULL);
    REFUSED(s->user_count = 1, GANG_EINVAL, "queues[2].users", NULL);
    REFUSED(s->submit_acl = "a b c", GANG_EINVAL, "queues[2].submit_acl", NULL);
    REFUSED(s->admin_acl = "a,,b", GANG_EINVAL, "queues[2].admin_acl", NULL);
}
END_TEST

START_TEST(a_tree_that_is_none_is_refused)
{
    REFUSED(s->name = "", GANG_EINVAL, "queues[2].name", NULL);
    REFUSED(s->name = NULL, GANG_EINVAL, "queues[2].name", NULL);
    REFUSED(s->name = "a\n", GANG_EINVAL, "queues[2].name", NULL);
    REFUSED(s->name = "b", GANG_EEXIST, "queues[2].name", "of two queues");
    REFUSED(s->parent = "nosuch", GANG_ENOENT, "queues[2].parent", "no such queue");
    REFUSED(s->parent = "c", GANG_ECYCLE, "queues[2].parent", NULL);
    REFUSED((s[-2].parent = "b"), GANG_ECYCLE, "queues[0].parent", NULL);
    tree_refused(NULL, 1, GANG_EINVAL, "queues", NULL);
    tree_refused(NULL, GANG_MAX_QUEUES + 1, GANG_ELIMIT, "queues", NULL);
}
END_TEST

START_TEST(a_path_has_at_most_32_queues)
{
    struct gang_queue_spec specs[33], child = queue_of(NULL, NULL);
    char names[33][8];
    for (int i = 0; i < 33; i++) {
        snprintf(names[i], sizeof(names[i]), "q%d", i);
        /* Children come before their parents. */
        specs[32 - i] = queue_of(names[i], i ? names[i - 1] : NULL);
    }
    tree_refused(specs, 33, GANG_ELIMIT, "queues[0].parent", NULL);
    specs[1].child = &child;
    tree_refused(specs + 1, 32, GANG_ELIMIT, "queues[0].child", NULL);
    specs[1].child = NULL;
    struct gang__queues *qs = tree_of(specs + 1, 32);
    ck_assert_uint_eq(queue_in(qs, "q31")->depth, 31);
    tree_free(qs);
}
END_TEST

START_TEST(structs_of_other_sizes_are_accepted_if_their_tail_is_zero)
{
    struct newer_quota {
        struct gang_quota quota;
        int64_t more;
    } quotas[2] = {{quota("gpu", 1), 0}, {quota("cpu", 2), 0}};
    struct newer {
        struct gang_queue_spec spec;
        int64_t more;
    } specs[2] = {{queue_of("a", NULL), 0}, {queue_of("b", "a"), 0}};
    for (int i = 0; i < 2; i++) {
        specs[i].spec.size = sizeof(specs[i]);
        specs[i].spec.quota_size = sizeof(quotas[0]);
        queue_limit(&specs[i].spec, &quotas[0].quota, 2);
    }
    struct gang__queues *qs = tree_of(&specs[0].spec, 2);
    const struct gang__queue *b = queue_in(qs, "b");
    ck_assert_int_eq(b->limit[GANG_KIND_CPU].amount, 2);
    ck_assert_uint_eq(b->spec->size, sizeof(struct gang_queue_spec));
    ck_assert_uint_eq(b->spec->quota_size, sizeof(struct gang_quota));
    ck_assert_str_eq(b->spec->limit[1].kind, "cpu");
    tree_free(qs);
    quotas[1].more = 1;
    tree_refused(&specs[0].spec, 2, GANG_E2BIG, "queues[0].limit[1]", NULL);
    quotas[1].more = 0;
    specs[1].more = 1;
    tree_refused(&specs[0].spec, 2, GANG_E2BIG, "queues[1]", NULL);
    specs[1].spec.size--;
    tree_refused(&specs[0].spec, 2, GANG_EINVAL, "queues[1].size", NULL);
    specs[0].spec.size = 8;
    tree_refused(&specs[0].spec, 2, GANG_EINVAL, "queues[0].size", NULL);
    specs[0].spec.size = sizeof(specs[0]);
    specs[0].spec.quota_size = 8;
    tree_refused(&specs[0].spec, 2, GANG_EINVAL, "queues[0].quota_size", NULL);
}
END_TEST

START_TEST(siblings_must_agree)
{
    struct gang_quota part[] = {{"gpu", 0, NULL, 600000, 0}, {"gpu", 0, NULL, 400000, 0}};
    struct gang_quota weight = {"gpu", 0, NULL, 0, 1}, amount = quota("gpu", 1);
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("b", "a"), queue_of("c", "a"),
                                  queue_of("d", "a")};
    struct gang_queue_spec child = queue_of(NULL, NULL);
    queue_guarantee(&t[1], &part[0], 1);
    queue_guarantee(&t[3], &part[1], 1);
    tree_free(tree_of(t, 4));
    queue_guarantee(&t[3], &part[0], 1);
    tree_refused(t, 4, GANG_EINVAL, "queues[3].guaranteed.gpu",
                 "the parts of the siblings are more than the whole");
    queue_guarantee(&t[3], &weight, 1);
    tree_refused(t, 4, GANG_EINVAL, "queues[3].guaranteed.gpu",
                 "some siblings by weight, some not");
    queue_guarantee(&t[1], &weight, 1);
    tree_free(tree_of(t, 4));
    queue_guarantee(&child, &amount, 1);
    t[0].child = &child;
    tree_refused(t, 4, GANG_EINVAL, "queues[0].child.guaranteed.gpu",
                 "some siblings by weight, some not");
    queue_guarantee(&child, &weight, 1);
    tree_free(tree_of(t, 4));
    weight.partition = "fast";
    struct gang_queue_spec top[] = {queue_of("x", NULL), queue_of("y", NULL)};
    amount.partition = "fast";
    queue_guarantee(&top[0], &amount, 1);
    queue_guarantee(&top[1], &weight, 1);
    tree_refused(top, 2, GANG_EINVAL, "queues[1].guaranteed.gpu@fast", NULL);
}
END_TEST

START_TEST(the_parts_of_made_queues_do_not_count)
{
    struct gang_quota part = {"gpu", 0, NULL, 600000, 0};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("a.x", "a"), queue_of("a.y", "a")};
    const bool made[] = {false, true, true};
    t[0].child = &t[1];
    queue_guarantee(&t[1], &part, 1);
    queue_guarantee(&t[2], &part, 1);
    struct gang__queues *qs = tree_after(NULL, t, 3, made);
    ck_assert(queue_in(qs, "a.x")->made && !queue_in(qs, "a")->made);
    tree_free(qs);
}
END_TEST

START_TEST(a_template_is_checked_like_a_queue)
{
    struct gang_queue_spec child = queue_of(NULL, NULL), deep = queue_of(NULL, NULL);
    struct gang_quota bad = quota("gpu", -2);
    struct gang_user_weight users[] = {{"a", 1}, {"a", 1}};
#define CHILD() s->child = &child
    child.child = &deep;
    REFUSED(CHILD(), GANG_EINVAL, "queues[2].child.child", NULL);
    child.child = NULL;
    child.weight = NAN;
    REFUSED(CHILD(), GANG_ERANGE, "queues[2].child.weight", NULL);
    child.weight = 1;
    queue_limit(&child, &bad, 1);
    REFUSED(CHILD(), GANG_ERANGE, "queues[2].child.limit.gpu", "negative");
    queue_limit(&child, NULL, 0);
    child.users = users;
    child.user_count = 2;
    REFUSED(CHILD(), GANG_EINVAL, "queues[2].child.users[1].user", "twice");
    child.size = 1;
    REFUSED(CHILD(), GANG_EINVAL, "queues[2].child.size", NULL);
}
END_TEST

START_TEST(there_are_at_most_64_dimensions)
{
    static struct gang_quota quotas[61];
    static char names[61][8];
    struct gang_queue_spec specs[] = {queue_of("a", NULL), queue_of("b", NULL)};
    for (int i = 0; i < 61; i++) {
        snprintf(names[i], sizeof(names[i]), "p%d", i);
        MUST(gang_partition_set(stage.w, names[i], GANG_PARTITION_SHARED));
        quotas[i] = (struct gang_quota){"gpu", 1, names[i], 0, 0};
    }
    queue_limit(&specs[1], quotas, 60); /* beside 4 kinds */
    struct gang__queues *qs = tree_of(specs, 2);
    ck_assert_uint_eq(qs->dims, 64);
    tree_free(qs);
    queue_limit(&specs[1], quotas, 61);
    tree_refused(specs, 2, GANG_ELIMIT, "queues[1].limit.gpu@p60", NULL);
    specs[0].child = &specs[1];
    tree_refused(specs, 1, GANG_ELIMIT, "queues[0].child.limit.gpu@p60", NULL);
}
END_TEST

/* ---- what is taken ------------------------------------------------------------------------- */

START_TEST(parents_come_before_their_children)
{
    struct gang_queue_spec t[] = {queue_of("leaf", "mid"), queue_of("mid", "top"),
                                  queue_of("other", NULL), queue_of("top", NULL),
                                  queue_of("leaf2", "mid")};
    t[2].child = &t[0];
    struct gang__queues *qs = tree_of(t, 5);
    for (uint32_t i = 0; i < qs->count; i++) {
        const struct gang__queue *q = &qs->queue[i];
        ck_assert_uint_eq(q->index, i);
        ck_assert(q->parent == GANG__NO_QUEUE || q->parent < i);
        ck_assert_ptr_eq(gang__queue_by_id(qs, q->id), q);
        ck_assert_ptr_eq(gang__queue_by_name(qs, q->name), q);
    }
    const struct gang__queue *mid = queue_in(qs, "mid"), *leaf = queue_in(qs, "leaf");
    ck_assert_str_eq(qs->queue[mid->parent].name, "top");
    ck_assert_uint_eq(mid->first_child, leaf->index);
    ck_assert_str_eq(qs->queue[leaf->next_sibling].name, "leaf2");
    ck_assert(leaf->leaf && !mid->leaf && !queue_in(qs, "top")->leaf);
    ck_assert(!queue_in(qs, "other")->leaf); /* a place for made ones */
    ck_assert_str_eq(qs->queue[0].name, "other");
    ck_assert_str_eq(qs->queue[qs->queue[0].next_sibling].name, "top");
    ck_assert_ptr_null(gang__queue_by_id(qs, 0));
    ck_assert_ptr_null(gang__queue_by_id(qs, 99));
    ck_assert_ptr_null(gang__queue_by_name(qs, "nosuch"));
    tree_free(qs);
}
END_TEST

START_TEST(a_tree_may_be_empty)
{
    struct gang__queues *qs = tree_of(NULL, 0);
    ck_assert_uint_eq(qs->count, 0);
    ck_assert_ptr_null(gang__queue_by_name(qs, "a"));
    ck_assert_ptr_null(gang__queue_by_id(qs, 1));
    gang__queues_resolve(qs, (int64_t[GANG__DIMS]){0}, true, NULL, NULL);
    tree_free(qs);
    tree_free(NULL);
}
END_TEST

START_TEST(a_queue_keeps_its_id_across_swaps)
{
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("b", NULL), queue_of("c", NULL)};
    struct gang__queues *one = tree_of(t, 3);
    gang_queue_id a = queue_in(one, "a")->id, c = queue_in(one, "c")->id;
    struct gang_queue_spec u[] = {queue_of("d", "c"), queue_of("c", "a"), queue_of("a", NULL)};
    struct gang__queues *two = tree_after(one, u, 3, NULL);
    ck_assert_uint_eq(queue_in(two, "a")->id, a);
    ck_assert_uint_eq(queue_in(two, "c")->id, c);
    ck_assert_uint_gt(queue_in(two, "d")->id, c);
    /* Gone once, its id is never used again. */
    struct gang__queues *three = tree_after(two, t, 3, NULL);
    ck_assert_uint_eq(queue_in(three, "a")->id, a);
    ck_assert_uint_gt(queue_in(three, "b")->id, queue_in(two, "d")->id);
    /* The first in time is the first sibling, wherever it is written. */
    ck_assert_str_eq(three->queue[2].name, "b");
    tree_free(one);
    tree_free(two);
    tree_free(three);
}
END_TEST

START_TEST(quotas_are_written_by_dimension)
{
    struct gang_quota g[] = {quota("gpu", 4000), {"gpu", 2000, "fast", 0, 0}};
    struct gang_quota l[] = {{"cpu", 0, NULL, 500000, 0}, quota("licence", GANG_UNLIMITED)};
    struct gang_quota lend = quota("gpu", 1000), slow = {"memory", 1, "slow", 0, 0};
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("b", NULL)};
    struct gang_queue_spec child = queue_of(NULL, NULL);
    queue_guarantee(&t[0], g, 2);
    queue_limit(&t[0], l, 2);
    t[0].lending_limit = &lend;
    t[0].lending_limit_count = 1;
    queue_limit(&child, &slow, 1);
    t[1].child = &child;
    struct gang__queues *qs = tree_of(t, 2);
    ck_assert_uint_eq(qs->dims, 6); /* 4 kinds, 2 pairs */
    uint32_t fast = dim_in(qs, GANG_KIND_GPU, "fast");
    const struct gang__queue *a = queue_in(qs, "a"), *b = queue_in(qs, "b");
    ck_assert_int_eq(a->guarantee[GANG_KIND_GPU].amount, 4000);
    ck_assert_int_eq(a->guarantee[GANG_KIND_GPU].form, GANG__QUOTA_AMOUNT);
    ck_assert_int_eq(a->guarantee[GANG_KIND_CPU].form, GANG__QUOTA_NONE);
    ck_assert_int_eq(a->guarantee[fast].amount, 2000);
    ck_assert_int_eq(a->limit[GANG_KIND_CPU].form, GANG__QUOTA_FRACTION);
    ck_assert_int_eq(a->limit[GANG_KIND_CPU].amount, 500000);
    ck_assert_int_eq(a->limit[GANG_KIND_SITE].amount, GANG__NO_BOUND);
    ck_assert_int_eq(a->lending[GANG_KIND_GPU].amount, 1000);
    ck_assert_int_eq(b->lending[GANG_KIND_GPU].form, GANG__QUOTA_NONE);
    (void)dim_in(qs, GANG_KIND_MEMORY, "slow");
    ck_assert(qs->lends && !qs->cells);
    tree_free(qs);
}
END_TEST

START_TEST(a_queue_keeps_its_own_settings)
{
    const char *kinds[] = {"gpu", "cpu"};
    const double weights[] = {2.5, 1e-9};
    struct gang_user_weight users[] = {{"zoe", 3}, {"amy", 2}};
    struct gang_cell_spec cells[] = {{"rack", 2}, {"node", 5}};
    struct gang_queue_spec s = queue_of("a", NULL);
    s.weight_kinds = kinds;
    s.weights = weights;
    s.weight_count = 2;
    s.weight = 0.5;
    s.users = users;
    s.user_count = 2;
    s.cells = cells;
    s.cell_count = 2;
    s.max_running = 7;
    struct gang__queues *qs = tree_of(&s, 1);
    memset(users, 0, sizeof(users)); /* nothing of the caller's is kept */
    memset(cells, 0, sizeof(cells));
    kinds[0] = NULL;
    const struct gang__queue *q = queue_in(qs, "a");
    ck_assert_int_eq(q->weight[GANG_KIND_GPU], 2500000);
    ck_assert_int_eq(q->weight[GANG_KIND_CPU], 1);
    ck_assert_int_eq(q->weight[GANG_KIND_MEMORY], 500000);
    ck_assert_str_eq(q->users[0].user, "amy");
    ck_assert_int_eq(q->users[1].weight, 3);
    ck_assert_int_eq(q->cells[0].level, 1);
    ck_assert_int_eq(q->cells[1].level, GANG_MAX_LEVELS); /* GANG__LEVEL_NODE */
    ck_assert_int_eq(q->cells[1].count, 5);
    ck_assert_str_eq(q->spec->cells[1].level, "node");
    ck_assert_int_eq(q->max_running, 7);
    ck_assert_int_eq(q->max_pending, GANG__NO_BOUND);
    ck_assert_int_eq(q->within, GANG_PREEMPT_LOWER);
    ck_assert_int_eq(q->reclaim, GANG_PREEMPT_ANY);
    ck_assert_int_eq(q->priority, 100);
    ck_assert(qs->cells);
    tree_free(qs);
}
END_TEST

START_TEST(a_leaf_has_the_inherited_settings)
{
    struct gang_queue_spec t[] = {queue_of("c", "b"), queue_of("b", "a"), queue_of("a", NULL)};
    t[2].no_preemption = 1;
    t[2].nonpreemptible = GANG_NONPREEMPTIBLE_LIMIT;
    t[0].nonpreemptible = GANG_NONPREEMPTIBLE_GUARANTEED;
    t[2].grace_ns = 5;
    t[2].default_time_limit_ns = 100;
    t[2].policy = GANG_POLICY_SPREAD;
    t[1].state = GANG_QUEUE_CLOSED;
    t[1].min_runtime_ns = 6;
    t[2].overrun = GANG_OVERRUN_EXTEND;
    t[1].overrun = GANG_OVERRUN_ASK;
    t[1].max_bypasses = 7;
    t[2].max_wait_ns = 8;
    t[1].max_blocked_ns = -1;
    t[0].extend_ns = 9;
    t[1].max_time_limit_ns = 50;
    t[0].state = GANG_QUEUE_DRAINING;
    t[0].grace_ns = 0;
    struct gang__queues *qs = tree_of(t, 3);
    const struct gang__queue *a = queue_in(qs, "a"), *c = queue_in(qs, "c");
    ck_assert(c->fixed);
    ck_assert(a->nonpreemptible_to_limit && queue_in(qs, "b")->nonpreemptible_to_limit);
    ck_assert(!c->nonpreemptible_to_limit && qs->nonpreemptible_to_limit);
    ck_assert_int_eq(c->state, GANG_QUEUE_DRAINING);
    ck_assert_int_eq(c->open_state, GANG_QUEUE_CLOSED);
    ck_assert_int_eq(a->open_state, GANG_QUEUE_OPEN);
    ck_assert_int_eq(c->grace_ns, 0);
    ck_assert_int_eq(queue_in(qs, "b")->grace_ns, 5);
    ck_assert_int_eq(c->min_runtime_ns, 6);
    ck_assert_int_eq(a->min_runtime_ns, 0);
    ck_assert_int_eq(c->stale_ns, 60000000000);
    ck_assert_int_eq(c->max_time_limit_ns, 50);
    ck_assert_int_eq(a->default_time_limit_ns, 100);
    ck_assert_int_eq(c->default_time_limit_ns, 50); /* not above the bound */
    ck_assert_int_eq(c->policy, GANG_POLICY_SPREAD);
    ck_assert_int_eq(a->overrun, GANG_OVERRUN_EXTEND);
    ck_assert_int_eq(c->overrun, GANG_OVERRUN_ASK);
    ck_assert_int_eq(a->extend_ns, 60000000000);
    ck_assert_int_eq(c->extend_ns, 9);
    ck_assert_int_eq(a->max_bypasses, 0);
    ck_assert_int_eq(c->max_bypasses, 7);
    ck_assert_int_eq(c->max_wait_ns, 8);
    ck_assert_int_eq(a->max_blocked_ns, GANG_DEFAULT_MAX_BLOCKED_NS);
    ck_assert_int_eq(c->max_blocked_ns, -1);
    tree_free(qs);
}
END_TEST

/* As the trees of KAI and Volcano have it. */
START_TEST(children_may_state_more_than_their_parent)
{
    struct gang_quota three = quota("gpu", 3000), one = quota("gpu", 1000);
    struct gang_queue_spec t[] = {queue_of("a", NULL), queue_of("b", "a"), queue_of("c", "a")};
    queue_guarantee(&t[0], &one, 1);
    queue_guarantee(&t[1], &three, 1);
    tree_free(tree_of(t, 3));
}
END_TEST

/* Build the trees of all cases of a file. */
static size_t plant_file(const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    size_t queues = 0;
    EXPECT_RESULT(gang_scenarios_read_file(path, &scenarios, &error), GANG_OK, &error);
    for (size_t i = 0; i < gang_scenarios_count(scenarios); i++) {
        struct gang_scenario s = GANG_SCENARIO_INIT;
        struct gang__queues *qs;
        gang_cluster *c;
        MUST(gang_scenarios_get(scenarios, i, &s));
        EXPECT_RESULT(gang_cluster_build(&s, NULL, &c, &error), GANG_OK, &error);
        const struct gang__queues_source from = {s.queues, s.queue_count, NULL, NULL};
        gang_result r = gang__queues_new(c, &stage.mem.mem, &from, &tree_next_id, &qs, &error);
        ck_assert_msg(r == GANG_OK, "%s, case %zu: %s: %s", path, i, error.path, error.text);
        queues += qs->count;
        tree_free(qs);
        gang_cluster_free(c);
    }
    gang_scenarios_free(scenarios);
    return queues;
}

START_TEST(trees_of_other_schedulers_are_accepted)
{
    static const char *const files[] = {"hived",   "issue_scenarios", "kai_scheduler",
                                        "kueue",   "kueue_tas",       "scheduler_plugins",
                                        "volcano", "yunikorn"};
    size_t queues = 0;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[4096], name[64];
        snprintf(name, sizeof(name), "scenarios/%s.json", files[i]);
        if (!gang_shared_path(path, sizeof(path), name)) {
            fprintf(stderr, "skip: %s is not there\n", path);
            return;
        }
        queues += plant_file(path);
    }
    ck_assert_uint_ge(queues, 200);
}
END_TEST

/* ---- copies, memory ------------------------------------------------------------------------ */

/* A specification that has one of everything. */
static const struct gang_queue_spec *full_spec(void)
{
    static const char *const kinds[] = {"gpu"};
    static const double weights[] = {2};
    static const struct gang_quota quotas[] = {{"gpu", 4, NULL, 0, 0}, {"cpu", 9, "fast", 0, 0}};
    static const struct gang_user_weight users[] = {{"zoe", 3}, {"amy", 2}};
    static const struct gang_cell_spec cells[] = {{"rack", 2}};
    static struct gang_queue_spec s, child;
    s = queue_of("full", NULL);
    queue_guarantee(&s, quotas, 2);
    queue_limit(&s, quotas, 2);
    s.lending_limit = quotas;
    s.lending_limit_count = 2;
    s.weight_kinds = kinds;
    s.weights = weights;
    s.weight_count = 1;
    s.users = users;
    s.user_count = 2;
    s.cells = cells;
    s.cell_count = 1;
    s.submit_acl = "amy";
    s.admin_acl = " staff";
    child = s;
    child.name = child.parent = NULL;
    s.child = &child;
    return &s;
}

START_TEST(a_copy_is_deep)
{
    struct gang_queue_spec *copy;
    MUST(gang__queue_spec_copy(&stage.mem.mem, full_spec(), &copy));
    ck_assert_str_eq(copy->name, "full");
    ck_assert_ptr_ne(copy->guaranteed, full_spec()->guaranteed);
    ck_assert_str_eq(copy->guaranteed[1].partition, "fast");
    ck_assert_str_eq(copy->weight_kinds[0], "gpu");
    ck_assert_str_eq(copy->users[0].user, "amy");
    ck_assert_str_eq(copy->cells[0].level, "rack");
    ck_assert_str_eq(copy->submit_acl, "amy");
    ck_assert_str_eq(copy->child->admin_acl, " staff");
    ck_assert_ptr_null(copy->child->name);
    ck_assert_ptr_ne(copy->child, full_spec()->child);
    ck_assert_str_eq(copy->child->limit[0].kind, "gpu");
    gang__release(&stage.mem.mem, copy);
}
END_TEST

START_TEST(an_invalid_specification_is_not_copied)
{
    struct gang_queue_spec *copy = (struct gang_queue_spec *)&stage;
    struct gang_queue_spec s = *full_spec(), child = *s.child;
    ck_assert_int_eq(gang__queue_spec_copy(&stage.mem.mem, NULL, &copy), GANG_EINVAL);
    ck_assert_ptr_null(copy);
    s.users = NULL;
    ck_assert_int_eq(gang__queue_spec_copy(&stage.mem.mem, &s, &copy), GANG_EINVAL);
    s = *full_spec();
    s.child = &child;
    child.child = full_spec();
    ck_assert_int_eq(gang__queue_spec_copy(&stage.mem.mem, &s, &copy), GANG_EINVAL);
    stage.mem.fail_at = stage.mem.calls + 1;
    ck_assert_int_eq(gang__queue_spec_copy(&stage.mem.mem, full_spec(), &copy), GANG_ENOMEM);
    stage.mem.fail_at = 0;
    ck_assert_ptr_null(copy);
}
END_TEST

START_TEST(each_allocation_may_fail)
{
    struct gang_queue_spec t[41];
    char names[41][8];
    struct gang__queues *qs;
    gang_result r;
    long n = 0, live = stage.mem.live;
    t[0] = *full_spec();
    for (int i = 1; i < 41; i++) { /* so many that the table of names grows */
        snprintf(names[i], sizeof(names[i]), "q%d", i);
        t[i] = queue_of(names[i], NULL);
    }
    do {
        struct gang_error error = GANG_ERROR_INIT;
        gang_queue_id next = tree_next_id;
        stage.mem.fail_at = stage.mem.calls + ++n;
        const struct gang__queues_source from = {t, 41, NULL, NULL};
        r = gang__queues_new(stage.c, &stage.mem.mem, &from, &tree_next_id, &qs, &error);
        ck_assert(r == GANG_OK || (r == GANG_ENOMEM && !qs && tree_next_id == next));
        ck_assert_int_eq(error.code, r);
        ck_assert(r == GANG_OK || stage.mem.live == live);
    } while (r != GANG_OK);
    stage.mem.fail_at = 0;
    ck_assert_int_gt(n, 6);
    tree_free(qs);
    ck_assert_int_eq(stage.mem.live, live);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queues");
    TCase *refused = tcase_create("refused"), *taken = tcase_create("taken");
    tcase_add_checked_fixture(refused, tree_open, tree_close);
    tcase_add_test(refused, a_quota_that_makes_no_sense_is_refused);
    tcase_add_test(refused, lists_of_quotas_must_agree);
    tcase_add_test(refused, a_weight_that_is_none_is_refused);
    tcase_add_test(refused, a_number_out_of_range_is_refused);
    tcase_add_test(refused, a_word_out_of_range_is_refused);
    tcase_add_test(refused, cells_and_users_are_checked);
    tcase_add_test(refused, partitions_are_checked);
    tcase_add_test(refused, a_tree_that_is_none_is_refused);
    tcase_add_test(refused, a_path_has_at_most_32_queues);
    tcase_add_test(refused, structs_of_other_sizes_are_accepted_if_their_tail_is_zero);
    tcase_add_test(refused, siblings_must_agree);
    tcase_add_test(refused, the_parts_of_made_queues_do_not_count);
    tcase_add_test(refused, a_template_is_checked_like_a_queue);
    tcase_add_test(refused, there_are_at_most_64_dimensions);
    suite_add_tcase(suite, refused);
    tcase_add_checked_fixture(taken, tree_open, tree_close);
    tcase_add_test(taken, parents_come_before_their_children);
    tcase_add_test(taken, a_tree_may_be_empty);
    tcase_add_test(taken, a_queue_keeps_its_id_across_swaps);
    tcase_add_test(taken, quotas_are_written_by_dimension);
    tcase_add_test(taken, a_queue_keeps_its_own_settings);
    tcase_add_test(taken, a_leaf_has_the_inherited_settings);
    tcase_add_test(taken, children_may_state_more_than_their_parent);
    tcase_add_test(taken, trees_of_other_schedulers_are_accepted);
    tcase_add_test(taken, a_copy_is_deep);
    tcase_add_test(taken, an_invalid_specification_is_not_copied);
    tcase_add_test(taken, each_allocation_may_fail);
    suite_add_tcase(suite, taken);
    return run_suite(suite);
}
