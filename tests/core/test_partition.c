/* SPDX-License-Identifier: Apache-2.0 */
/* core.h: the modes of partitions, as such. What they do to placement is in place/test_tiers.c. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
}

static void close_stage(void)
{
    stage_close(&s);
}

static int32_t mode_of(const char *name)
{
    int32_t mode = -7;
    MUST(gang_partition_get(s.c, name, &mode));
    return mode;
}

START_TEST(a_partition_is_shared_until_it_is_set)
{
    struct box box = {.name = "n", .cpu = 1000, .partitions = LIST(const char *, "batch")};
    ck_assert_int_eq(mode_of("batch"), GANG_PARTITION_SHARED);
    stage_add(&s, &box);
    ck_assert_int_eq(mode_of("batch"), GANG_PARTITION_SHARED);
    MUST(gang_partition_set(s.w, "batch", GANG_PARTITION_EXCLUSIVE));
    ck_assert_int_eq(mode_of("batch"), GANG_PARTITION_EXCLUSIVE);
    MUST(gang_partition_set(s.w, "batch", GANG_PARTITION_LENDING));
    ck_assert_int_eq(mode_of("batch"), GANG_PARTITION_LENDING);
    ck_assert_int_eq(mode_of("batch2"), GANG_PARTITION_SHARED);
    MUST(gang_partition_set(s.w, "batch", GANG_PARTITION_SHARED));
    ck_assert_int_eq(mode_of("batch"), GANG_PARTITION_SHARED);
}
END_TEST

START_TEST(a_mode_may_be_set_before_there_are_nodes)
{
    MUST(gang_partition_set(s.w, "later", GANG_PARTITION_LENDING));
    ck_assert_int_eq(mode_of("later"), GANG_PARTITION_LENDING);
}
END_TEST

START_TEST(each_partition_has_a_mode_of_its_own)
{
    enum { MANY = 300 }; /* several in a bucket */
    char name[20];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof(name), "p%d", i);
            MUST(gang_partition_set(s.w, name, (i + round) % 3));
        }
        for (int i = 0; i < MANY; i++) {
            snprintf(name, sizeof(name), "p%d", i);
            ck_assert_int_eq(mode_of(name), (i + round) % 3);
        }
    }
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    char long_name[GANG_MAX_NAME + 2];
    int32_t mode = -7;
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[GANG_MAX_NAME + 1] = '\0';
    ck_assert_int_eq(gang_partition_set(NULL, "a", 0), GANG_EINVAL);
    ck_assert_int_eq(gang_partition_set(s.w, NULL, 0), GANG_EINVAL);
    ck_assert_int_eq(gang_partition_set(s.w, "", 0), GANG_EINVAL);
    ck_assert_int_eq(gang_partition_set(s.w, "a\n", 0), GANG_EINVAL);
    ck_assert_int_eq(gang_partition_set(s.w, long_name, 0), GANG_EINVAL);
    ck_assert_int_eq(gang_partition_set(s.w, "a", -1), GANG_EINVAL);
    ck_assert_int_eq(gang_partition_set(s.w, "a", 3), GANG_EINVAL);
    ck_assert_int_eq(gang_partition_get(NULL, "a", &mode), GANG_EINVAL);
    ck_assert_int_eq(mode, GANG_PARTITION_SHARED);
    ck_assert_int_eq(gang_partition_get(s.c, NULL, &mode), GANG_EINVAL);
    ck_assert_int_eq(gang_partition_get(s.c, "", &mode), GANG_EINVAL);
    ck_assert_int_eq(gang_partition_get(s.c, "a", NULL), GANG_EINVAL);
    long_name[GANG_MAX_NAME] = '\0';
    MUST(gang_partition_set(s.w, long_name, GANG_PARTITION_EXCLUSIVE));
    ck_assert_int_eq(mode_of(long_name), GANG_PARTITION_EXCLUSIVE);
}
END_TEST

START_TEST(each_allocation_may_fail)
{
    gang_result r;
    long n = 0;
    MUST(gang_partition_set(s.w, "other", GANG_PARTITION_LENDING));
    do {
        s.mem.fail_at = s.mem.calls + ++n;
        r = gang_partition_set(s.w, "batch", GANG_PARTITION_EXCLUSIVE);
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        ck_assert_int_eq(mode_of("batch"),
                         r == GANG_OK ? GANG_PARTITION_EXCLUSIVE : GANG_PARTITION_SHARED);
        ck_assert_int_eq(mode_of("other"), GANG_PARTITION_LENDING);
    } while (r != GANG_OK);
    ck_assert_int_gt(n, 1);
    s.mem.fail_at = 0;
}
END_TEST

START_TEST(replaced_modes_are_given_back)
{
    MUST(gang_partition_set(s.w, "a", GANG_PARTITION_EXCLUSIVE));
    long live = s.mem.live;
    for (int i = 0; i < 1000; i++)
        MUST(gang_partition_set(s.w, "a", i % 3));
    ck_assert_int_le(s.mem.live, live + 70);
    MUST(gang_cluster_recycle(s.c));
    ck_assert_int_eq(s.mem.live, live);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partition");
    TCase *tests = tcase_create("modes");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, a_partition_is_shared_until_it_is_set);
    tcase_add_test(tests, a_mode_may_be_set_before_there_are_nodes);
    tcase_add_test(tests, each_partition_has_a_mode_of_its_own);
    tcase_add_test(tests, wrong_arguments_are_refused);
    tcase_add_test(tests, each_allocation_may_fail);
    tcase_add_test(tests, replaced_modes_are_given_back);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
