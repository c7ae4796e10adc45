/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of users: the worked numbers of YARN. */
#include "queue/fairness/fairness.h"

#include <gangsched/model.h>

#include "suite.h"

#include <string.h>

static const int64_t M = 1000000;
static const int64_t GB = 1024; /* in MB */
enum { CPU = 1, MEMORY = 2, GPU = 4, GPU_KIND = GANG_KIND_GPU };

/* A queue with users, known by their memory (and GPUs, where there are any). */
struct users {
    struct gang__user_limit u;
    int64_t guarantee[GANG_MAX_KINDS], limit[GANG_MAX_KINDS], total[GANG_MAX_KINDS];
    int64_t least[GANG_MAX_KINDS], dominant[GANG_MAX_KINDS], active[GANG_MAX_KINDS];
    int64_t used[4][GANG_MAX_KINDS], weight[4];
    int count, active_count; /* the first ones are active */
    int64_t result[GANG_MAX_KINDS];
};

static void users_init(struct users *s, int64_t guarantee, int64_t total, int64_t minimum,
                       int64_t factor, int count)
{
    memset(s, 0, sizeof(*s));
    s->u = (struct gang__user_limit){.kinds = MEMORY,
                                     .guarantee = s->guarantee,
                                     .limit = s->limit,
                                     .total = s->total,
                                     .required = s->least,
                                     .dominant_used = s->dominant,
                                     .active_used = s->active,
                                     .minimum = minimum,
                                     .factor = factor};
    s->guarantee[1] = guarantee;
    s->limit[1] = s->total[1] = total;
    s->least[1] = GB;
    s->count = s->active_count = count;
    for (int i = 0; i < 4; i++)
        s->weight[i] = M;
}

/* The limit of a user in MB. */
static int64_t limit_now(struct users *s, int user)
{
    memset(s->dominant, 0, sizeof(s->dominant));
    memset(s->active, 0, sizeof(s->active));
    s->u.active_weight = 0;
    for (int i = 0; i < s->count; i++) {
        gang__user_limit_add(s->dominant, s->used[i], s->total, s->u.kinds);
        if (i >= s->active_count)
            continue;
        s->u.active_weight += s->weight[i];
        for (int k = 0; k < 3; k++)
            s->active[k] += s->used[i][k];
    }
    s->u.weight = s->weight[user];
    gang__user_limit(&s->u, s->result);
    return s->result[1];
}

/* May the user take so much more now? If so it does. */
static bool takes(struct users *s, int user, int64_t memory)
{
    int64_t gang[GANG_MAX_KINDS] = {0, memory};
    limit_now(s, user);
    if (!gang__keeps_limit(s->used[user], gang, s->result, s->u.kinds))
        return false;
    s->used[user][1] += memory;
    return true;
}

/* testUserLimits: 8.5 % of 16 GB, 2 GB after rounding; u0 asks for 3 GB twice, u1 for 1 GB twice.
 * In YARN u0 gets 6 GB, because it compares use before the start. Here a gang counts whole: the
 * first 3 GB of u0 are above its limit of 1 GB. */
START_TEST(a_strict_limit_counts_the_whole_gang)
{
    struct users s;
    users_init(&s, 2 * GB, 16 * GB, M / 2, 2 * M, 2);
    ck_assert(!takes(&s, 0, 3 * GB));
    ck_assert(takes(&s, 1, 1 * GB));
    ck_assert(!takes(&s, 1, 1 * GB));
    /* Alone, with the gang as what is required, it may have it. */
    s.count = s.active_count = 1;
    s.least[1] = 3 * GB;
    ck_assert(takes(&s, 0, 3 * GB));
}
END_TEST

START_TEST(a_minimum_of_a_quarter_has_its_shape)
{
    static const int64_t percent[4] = {100, 50, 34, 25}; /* a third of 100, rounded up */
    for (int users = 1; users <= 4; users++) {
        struct users s;
        users_init(&s, 100, 100, M / 4, M, users);
        s.least[1] = 0; /* no smallest allocation */
        for (int i = 0; i < users; i++)
            s.used[i][1] = 100 / users + (i < 100 % users);
        ck_assert_int_eq(limit_now(&s, 0), percent[users - 1]);
    }
    struct users s;
    users_init(&s, 100, 100, M / 4, M, 4);
    s.least[1] = 0;
    ck_assert_int_eq(limit_now(&s, 0), 25); /* no user has anything yet */
}
END_TEST

/* testUserSpecificUserLimits: in YARN u0 starts twice and ends at 8 GB; here the second start would
 * exceed its 4.5 GB. */
START_TEST(a_weight_multiplies_the_limit)
{
    struct users s;
    users_init(&s, 6 * GB, 16 * GB, M / 2, M, 2);
    s.weight[0] = M * 3 / 2;
    ck_assert_int_eq(limit_now(&s, 0), 4608);
    ck_assert_int_eq(limit_now(&s, 1), 3 * GB);
    ck_assert(takes(&s, 0, 4 * GB));
    ck_assert(!takes(&s, 0, 4 * GB));
    ck_assert(takes(&s, 1, 1 * GB));
}
END_TEST

START_TEST(the_bound_is_the_factor_or_the_queue)
{
    struct users s;
    users_init(&s, 10 * GB, 40 * GB, M, M, 1);
    s.used[0][1] = 20 * GB;
    s.limit[1] = 30 * GB;
    ck_assert_int_eq(limit_now(&s, 0), 10 * GB);
    s.u.factor = -1;
    ck_assert_int_eq(limit_now(&s, 0), 21 * GB);
    s.used[0][1] = 35 * GB;
    ck_assert_int_eq(limit_now(&s, 0), 30 * GB);
    s.u.factor = M; /* without a guarantee there is nothing to multiply */
    s.guarantee[1] = 0;
    ck_assert_int_eq(limit_now(&s, 0), 30 * GB);
}
END_TEST

/* In YARN 3.2 only memory and cores were kept on the way, and GPUs had no limit. */
START_TEST(gpus_have_a_limit_like_all_kinds)
{
    struct users s;
    users_init(&s, 100 * GB, 100 * GB, M / 2, M, 2);
    s.u.kinds = MEMORY | GPU;
    s.guarantee[GPU_KIND] = s.total[GPU_KIND] = s.limit[GPU_KIND] = 16000;
    s.least[GPU_KIND] = 1000;
    s.used[0][GPU_KIND] = 8000; /* half of the GPUs, so half of all counts as consumed */
    s.used[0][1] = 1 * GB;
    ck_assert_int_eq(limit_now(&s, 1), 50 * GB);
    ck_assert_int_eq(s.result[GPU_KIND], 8000);
    ck_assert_int_eq(s.dominant[GPU_KIND], 8000);
    ck_assert_int_eq(s.dominant[1], 0);
    int64_t one[GANG_MAX_KINDS] = {0, 1, 1000}, none[GANG_MAX_KINDS] = {0, 1, 0};
    ck_assert(!gang__keeps_limit(s.used[0], one, s.result, s.u.kinds));
    ck_assert(gang__keeps_limit(s.used[0], none, s.result, s.u.kinds));
    ck_assert_int_eq(s.result[0], INT64_MAX); /* not among the kinds */
}
END_TEST

START_TEST(parts_of_several_kinds_add_up)
{
    struct users s;
    users_init(&s, 10, 90, M, -1, 3);
    s.u.kinds = CPU | MEMORY | GPU;
    s.least[1] = 0;
    s.total[0] = s.limit[0] = s.guarantee[0] = 30;
    s.total[GPU_KIND] = 3;
    s.used[0][0] = 10;       /* a third of the CPUs */
    s.used[1][1] = 30;       /* a third of the memory */
    s.used[2][GPU_KIND] = 1; /* a third of the GPUs */
    s.active_count = 1;
    ck_assert_int_eq(limit_now(&s, 0), 90); /* all is consumed: not a thousandth more or less */
    ck_assert_int_eq(s.result[0], 30);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("user limits");
    TCase *tests = tcase_create("limits");
    tcase_add_test(tests, a_strict_limit_counts_the_whole_gang);
    tcase_add_test(tests, a_minimum_of_a_quarter_has_its_shape);
    tcase_add_test(tests, a_weight_multiplies_the_limit);
    tcase_add_test(tests, the_bound_is_the_factor_or_the_queue);
    tcase_add_test(tests, gpus_have_a_limit_like_all_kinds);
    tcase_add_test(tests, parts_of_several_kinds_add_up);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
