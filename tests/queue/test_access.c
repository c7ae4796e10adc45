/* SPDX-License-Identifier: Apache-2.0 */
/* Access lists: their syntax, and the users they admit. */
#include "queue/queue_spec_in.h"
#include "tree.h"

/* ---- what is a list ------------------------------------------------------------------------ */

START_TEST(lists_that_make_no_sense_are_refused)
{
    static const char *const good[] = {"*",  " * ", "",      " ",      "a",        "a,b",
                                       " g", "a ",  "a,b g", "a g,h ", "\xc3\xa4", "a*,b"};
    static const char *const bad[] = {"a b c", ",",   "a,",  ",a",  "a,,b",
                                      "a g,",  "*,a", "* g", "a *", "a\tb"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ck_assert_msg(gang__acl_check(good[i], "acl", NULL) == GANG_OK, "'%s'", good[i]);
    ck_assert_int_eq(gang__acl_check(NULL, "acl", NULL), GANG_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct gang_error error = GANG_ERROR_INIT;
        ck_assert_msg(gang__acl_check(bad[i], "acl", &error) == GANG_EINVAL, "'%s'", bad[i]);
        ck_assert_str_eq(error.path, "acl");
    }
}
END_TEST

START_TEST(long_lists_are_refused)
{
    static char text[70000];
    memset(text, 'a', sizeof(text) - 1);
    ck_assert_int_eq(gang__acl_check(text, "acl", NULL), GANG_ELIMIT);
    text[GANG_MAX_NAME + 1] = '\0'; /* one name */
    ck_assert_int_eq(gang__acl_check(text, "acl", NULL), GANG_EINVAL);
    text[GANG_MAX_NAME] = '\0';
    ck_assert_int_eq(gang__acl_check(text, "acl", NULL), GANG_OK);
}
END_TEST

/* ---- admitted users ----------------------------------------------------------------------- */

/* A path of three queues with these lists. */
static struct gang__queues *path_of(const char *top, const char *middle, const char *leaf)
{
    struct gang_queue_spec t[] = {queue_of("top", NULL), queue_of("middle", "top"),
                                  queue_of("leaf", "middle")};
    t[0].submit_acl = top;
    t[1].submit_acl = middle;
    t[2].submit_acl = leaf;
    t[0].admin_acl = " ";
    t[1].admin_acl = "root";
    return tree_of(t, 3);
}

static bool may(const struct gang__queues *qs, const char *queue, const char *user,
                const char *group)
{
    const char *const groups[] = {"others", group};
    return gang__queue_allows(qs, queue_in(qs, queue), GANG_MAY_SUBMIT, user, groups,
                              group ? 2 : 0);
}

START_TEST(a_top_queue_that_says_nothing_lets_all_in)
{
    struct gang__queues *qs = path_of(NULL, " ", "amy");
    ck_assert(may(qs, "top", "bob", NULL));
    ck_assert(may(qs, "leaf", "bob", NULL)); /* by the top */
    ck_assert(may(qs, "leaf", NULL, NULL));
    tree_free(qs);
}
END_TEST

/* hadoop, TestLeafQueue.testInheritedQueueAcls: the lists along the path are joined. */
START_TEST(the_lists_along_the_path_are_joined)
{
    struct gang__queues *qs = path_of(" ", "amy,bob staff,guests", NULL);
    ck_assert(!may(qs, "top", "amy", NULL));
    ck_assert(may(qs, "middle", "amy", NULL));
    ck_assert(may(qs, "leaf", "bob", NULL));
    ck_assert(may(qs, "leaf", "carl", "guests"));
    ck_assert(may(qs, "leaf", "carl", "staff"));
    ck_assert(!may(qs, "leaf", "carl", "staf"));
    ck_assert(!may(qs, "leaf", "staff", "amy")); /* a user is no group */
    ck_assert(!may(qs, "leaf", "am", NULL));
    ck_assert(!may(qs, "leaf", "amy,bob", NULL));
    ck_assert(!may(qs, "leaf", "", ""));
    tree_free(qs);
    qs = path_of("", "", "*");
    ck_assert(may(qs, "leaf", "", NULL));
    ck_assert(!may(qs, "middle", "amy", NULL));
    tree_free(qs);
}
END_TEST

START_TEST(each_action_has_a_list_of_its_own)
{
    struct gang__queues *qs = path_of("amy", NULL, NULL);
    const struct gang__queue *leaf = queue_in(qs, "leaf");
    ck_assert(!gang__queue_allows(qs, leaf, GANG_MAY_ADMINISTER, "amy", NULL, 0));
    ck_assert(gang__queue_allows(qs, leaf, GANG_MAY_ADMINISTER, "root", NULL, 0));
    ck_assert(!gang__queue_allows(qs, leaf, GANG_MAY_SUBMIT, "root", NULL, 0));
    ck_assert(!gang__queue_allows(qs, leaf, 2, "root", NULL, 0));
    tree_free(qs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("access");
    TCase *tests = tcase_create("lists");
    tcase_add_checked_fixture(tests, tree_open, tree_close);
    tcase_add_test(tests, lists_that_make_no_sense_are_refused);
    tcase_add_test(tests, long_lists_are_refused);
    tcase_add_test(tests, a_top_queue_that_says_nothing_lets_all_in);
    tcase_add_test(tests, the_lists_along_the_path_are_joined);
    tcase_add_test(tests, each_action_has_a_list_of_its_own);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
