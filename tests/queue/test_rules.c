/* SPDX-License-Identifier: Apache-2.0 */
/* Which queue a job goes to. */
#include "tree.h"

static struct gang__queues *tree;
static struct gang__rules *rules;

static const struct gang_label labels[] = {{"app", "bert"}, {"team.org/name", "nlp"}, {"void", ""}};
static const char *const groups[] = {"staff", "guests"};
static const struct gang__submitter amy = {NULL, "amy", groups, 2, "train-7", labels, 3};
static const struct gang__submitter nobody = {NULL, NULL, NULL, 0, NULL, NULL, 0};

/* A small company. */
static void open_tree(void)
{
    struct gang_queue_spec child = queue_of(NULL, NULL);
    struct gang_queue_spec t[] = {
        queue_of("dept", NULL),     queue_of("batch", "dept"), queue_of("staff", "dept"),
        queue_of("closed", "dept"), queue_of("users", NULL),   queue_of("users.bob", "users"),
        queue_of("users.x", NULL),  queue_of("nlp", NULL),     queue_of("train-7", NULL)};
    const bool made[] = {false, false, false, false, false, true, false, false, false};
    child.max_running = 3;
    t[3].state = GANG_QUEUE_CLOSED;
    t[4].child = t[6].child = &child;
    t[4].max_children = 2;
    tree_open();
    tree = tree_after(NULL, t, 9, made);
    rules = NULL;
}

static void close_tree(void)
{
    gang__rules_free(rules, &stage.mem.mem);
    tree_free(tree);
    tree_close();
}

static void set_rules(const struct gang_queue_rule *list, size_t count, const char *default_queue)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang__rules_free(rules, &stage.mem.mem);
    gang_result r = gang__rules_new(
        &stage.mem.mem, &((struct gang__rules_source){list, sizeof(*list), count, default_queue}),
        &rules, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
}

static struct gang_queue_rule rule_of(int32_t match, const char *pattern, const char *queue)
{
    struct gang_queue_rule rule = GANG_QUEUE_RULE_INIT;
    rule.match = match;
    rule.pattern = pattern;
    rule.queue = queue;
    return rule;
}

/* The job goes to a queue that is there, or is to be made below it (`made`, or ""). */
static void goes_to(const char *wanted, const struct gang__submitter *who, const char *queue,
                    const char *made)
{
    struct gang_error error = GANG_ERROR_INIT;
    const struct gang__queue *q;
    char name[GANG_MAX_NAME + 1];
    struct gang__submitter job = *who;
    job.queue = wanted;
    gang_result r = gang__queue_for(tree, rules, &job, &q, name, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", gang_result_name(r), error.text);
    ck_assert_str_eq(q->name, queue);
    ck_assert_str_eq(name, made);
}

static void goes_nowhere(const char *wanted, const struct gang__submitter *who, gang_result code)
{
    struct gang_error error = GANG_ERROR_INIT;
    const struct gang__queue *q = tree->queue;
    char name[GANG_MAX_NAME + 1] = "?";
    struct gang__submitter job = *who;
    job.queue = wanted;
    EXPECT_ERROR(gang__queue_for(tree, rules, &job, &q, name, &error), code, &error, "queue", NULL);
    ck_assert_ptr_null(q);
    ck_assert_str_eq(name, "");
}

/* ---- named --------------------------------------------------------------------------------- */

START_TEST(a_job_goes_to_the_leaf_that_it_names)
{
    goes_to("batch", &amy, "batch", "");
    goes_to("closed", &amy, "closed", ""); /* whether it takes jobs is asked later */
    goes_nowhere("nosuch", &amy, GANG_ENOENT);
    goes_nowhere("dept", &amy, GANG_EINVAL);
    goes_nowhere("users", &amy, GANG_EINVAL); /* a place for made ones */
    goes_nowhere(NULL, &amy, GANG_ENOENT);    /* no rules */
    goes_nowhere("", &amy, GANG_ENOENT);
}
END_TEST

START_TEST(a_queue_is_made_below_one_with_a_template)
{
    goes_to("users.amy", &amy, "users", "users.amy");
    goes_to("users.bob", &amy, "users.bob", ""); /* is there */
    goes_to("users.x.y", &amy, "users.x", "users.x.y");
    goes_to("users.y.x", &amy, "users", "users.y.x");
    goes_nowhere("users.", &amy, GANG_ENOENT);
    goes_nowhere(".amy", &amy, GANG_ENOENT);
    goes_nowhere("dept.amy", &amy, GANG_ENOENT);
    goes_nowhere("users.a\tb", &amy, GANG_ENOENT);
    goes_nowhere("users.x", &amy, GANG_EINVAL);
}
END_TEST

START_TEST(only_so_many_queues_are_made)
{
    struct gang_queue_spec t[1100];
    static char names[1100][16];
    static bool made[1100];
    struct gang_queue_spec child = queue_of(NULL, NULL);
    t[0] = queue_of("p", NULL);
    t[0].child = &child;
    for (int i = 1; i < 1100; i++) {
        snprintf(names[i], sizeof(names[i]), "p.%d", i);
        t[i] = queue_of(names[i], "p");
        made[i] = i < 1000;
    }
    tree_free(tree);
    tree = tree_after(NULL, t, 1100, made); /* 999 made, 100 not */
    goes_to("p.x", &amy, "p", "p.x");
    made[1000] = true;
    tree_free(tree);
    tree = tree_after(NULL, t, 1100, made);
    goes_nowhere("p.x", &amy, GANG_ELIMIT);
    goes_to("p.7", &amy, "p.7", "");
    t[0].max_children = 1001;
    tree_free(tree);
    tree = tree_after(NULL, t, 1100, made);
    goes_to("p.x", &amy, "p", "p.x");
}
END_TEST

/* ---- by rules ------------------------------------------------------------------------------ */

/* One rule alone leads there; "-": it does not match, or leads nowhere. */
static void leads_to(int32_t match, const char *pattern, const char *name, const char *queue)
{
    struct gang_queue_rule rule = rule_of(match, pattern, name);
    set_rules(&rule, 1, NULL);
    if (strcmp(queue, "-") == 0)
        goes_nowhere(NULL, &amy, GANG_ENOENT);
    else
        goes_to("", &amy, queue, "");
}

START_TEST(rules_match_user_group_name_and_label)
{
    leads_to(GANG_MATCH_ALL, NULL, "batch", "batch");
    leads_to(GANG_MATCH_USER, "amy", "batch", "batch");
    leads_to(GANG_MATCH_USER, "am*", "batch", "batch");
    leads_to(GANG_MATCH_USER, "*", "batch", "batch");
    leads_to(GANG_MATCH_USER, NULL, "batch", "batch");
    leads_to(GANG_MATCH_USER, "am", "batch", "-");
    leads_to(GANG_MATCH_USER, "*my", "batch", "-"); /* a star at the end alone */
    leads_to(GANG_MATCH_USER, "", "batch", "-");
    leads_to(GANG_MATCH_GROUP, "guests", "batch", "batch");
    leads_to(GANG_MATCH_GROUP, "gue*", "batch", "batch");
    leads_to(GANG_MATCH_GROUP, "amy", "batch", "-");
    leads_to(GANG_MATCH_NAME, "train-*", "batch", "batch");
    leads_to(GANG_MATCH_NAME, "train", "batch", "-");
    leads_to(GANG_MATCH_LABEL, "app=bert", "batch", "batch");
    leads_to(GANG_MATCH_LABEL, "app=b*", "batch", "batch");
    leads_to(GANG_MATCH_LABEL, "app", "batch", "batch");
    leads_to(GANG_MATCH_LABEL, "void=", "batch", "batch");
    leads_to(GANG_MATCH_LABEL, "app=gpt", "batch", "-");
    leads_to(GANG_MATCH_LABEL, "ap", "batch", "-");
    leads_to(GANG_MATCH_LABEL, "ap=bert", "batch", "-");
    leads_to(GANG_MATCH_LABEL, NULL, "batch", "batch");
}
END_TEST

START_TEST(words_in_the_name_are_replaced)
{
    leads_to(GANG_MATCH_ALL, NULL, "%group", "staff"); /* the first */
    leads_to(GANG_MATCH_ALL, NULL, "%name", "train-7");
    leads_to(GANG_MATCH_ALL, NULL, "%label.team.org/name", "nlp");
    leads_to(GANG_MATCH_ALL, NULL, "%label.nosuch", "-");
    leads_to(GANG_MATCH_ALL, NULL, "%label.void", "-");
    leads_to(GANG_MATCH_ALL, NULL, "%user", "-"); /* no such queue */
    leads_to(GANG_MATCH_ALL, NULL, "%%user", "-");
    struct gang_queue_rule rule = rule_of(GANG_MATCH_ALL, NULL, "users.%user-%label.app%%%group");
    set_rules(&rule, 1, NULL);
    goes_to(NULL, &amy, "users", "users.amy-bert%staff");
    goes_nowhere(NULL, &nobody, GANG_ENOENT);
}
END_TEST

START_TEST(a_name_that_grows_too_long_leads_nowhere)
{
    char user[GANG_MAX_NAME + 1];
    struct gang__submitter who = nobody;
    struct gang_queue_rule rule = rule_of(GANG_MATCH_ALL, NULL, "users.%user");
    memset(user, 'x', sizeof(user) - 1);
    user[GANG_MAX_NAME] = '\0';
    who.user = user;
    set_rules(&rule, 1, NULL);
    goes_nowhere(NULL, &who, GANG_ENOENT);
    user[GANG_MAX_NAME - strlen("users.")] = '\0';
    char name[GANG_MAX_NAME + 1] = "users.";
    memcpy(name + strlen("users."), user, strlen(user) + 1);
    goes_to(NULL, &who, "users", name);
}
END_TEST

START_TEST(the_first_rule_that_leads_somewhere_wins)
{
    struct gang_queue_rule list[] = {
        rule_of(GANG_MATCH_USER, "bob", "nlp"), rule_of(GANG_MATCH_ALL, NULL, "nosuch"),
        rule_of(GANG_MATCH_ALL, NULL, "dept"),  rule_of(GANG_MATCH_ALL, NULL, "closed"),
        rule_of(GANG_MATCH_ALL, NULL, "batch"), rule_of(GANG_MATCH_ALL, NULL, "staff")};
    set_rules(list, 6, NULL);
    goes_to(NULL, &amy, "batch", "");
    goes_to("staff", &amy, "staff", ""); /* rules do not apply to a job that names a queue */
}
END_TEST

START_TEST(a_rule_states_its_fallback)
{
    struct gang_queue_rule list[] = {rule_of(GANG_MATCH_ALL, NULL, "nosuch"),
                                     rule_of(GANG_MATCH_ALL, NULL, "batch")};
    list[0].fallback = GANG_FALLBACK_REJECT;
    set_rules(list, 2, "staff");
    goes_nowhere(NULL, &amy, GANG_EPERM);
    list[0].fallback = GANG_FALLBACK_DEFAULT;
    set_rules(list, 2, "staff");
    goes_to(NULL, &amy, "staff", "");
    list[0].fallback = GANG_FALLBACK_SKIP;
    set_rules(list, 1, "staff"); /* the default comes last, too */
    goes_to(NULL, &amy, "staff", "");
    set_rules(list, 1, "nosuch");
    goes_nowhere(NULL, &amy, GANG_ENOENT);
    set_rules(list, 0, "dept");
    goes_nowhere(NULL, &amy, GANG_EINVAL);
    list[0].queue = "users.%user";
    list[0].fallback = GANG_FALLBACK_REJECT;
    set_rules(list, 1, NULL);
    goes_to(NULL, &amy, "users", "users.amy");
}
END_TEST

/* ---- what is refused ----------------------------------------------------------------------- */

static void rule_refused(struct gang_queue_rule rule, gang_result code, const char *path)
{
    struct gang_queue_rule list[] = {rule_of(GANG_MATCH_ALL, NULL, "batch"), rule};
    struct gang_error error = GANG_ERROR_INIT;
    struct gang__rules *out = (struct gang__rules *)&stage;
    EXPECT_RESULT(gang__rules_new(&stage.mem.mem,
                                  &((struct gang__rules_source){list, sizeof(list[0]), 2, NULL}),
                                  &out, &error),
                  code, &error);
    ck_assert_ptr_null(out);
    ck_assert_str_eq(error.path, path);
}

START_TEST(rules_that_make_no_sense_are_refused)
{
    char pattern[600];
    memset(pattern, 'x', sizeof(pattern) - 1);
    pattern[sizeof(pattern) - 1] = '\0';
    rule_refused(rule_of(5, NULL, "a"), GANG_EINVAL, "rules[1].match");
    rule_refused(rule_of(-1, NULL, "a"), GANG_EINVAL, "rules[1].match");
    rule_refused(rule_of(GANG_MATCH_ALL, "x", "a"), GANG_EINVAL, "rules[1].pattern");
    rule_refused(rule_of(GANG_MATCH_NAME, pattern, "a"), GANG_ELIMIT, "rules[1].pattern");
    rule_refused(rule_of(GANG_MATCH_ALL, NULL, NULL), GANG_EINVAL, "rules[1].queue");
    rule_refused(rule_of(GANG_MATCH_ALL, NULL, ""), GANG_EINVAL, "rules[1].queue");
    rule_refused(rule_of(GANG_MATCH_ALL, NULL, pattern), GANG_ELIMIT, "rules[1].queue");
    rule_refused(rule_of(GANG_MATCH_ALL, NULL, "a.%nosuch"), GANG_EINVAL, "rules[1].queue");
    rule_refused(rule_of(GANG_MATCH_ALL, NULL, "%label."), GANG_EINVAL, "rules[1].queue");
    rule_refused(rule_of(GANG_MATCH_ALL, NULL, "a%"), GANG_EINVAL, "rules[1].queue");
    struct gang_queue_rule rule = rule_of(GANG_MATCH_ALL, NULL, "a");
    rule.fallback = 3;
    rule_refused(rule, GANG_EINVAL, "rules[1].fallback");
    rule.fallback = 0;
    rule.size--;
    rule_refused(rule, GANG_EINVAL, "rules[1].size");
}
END_TEST

START_TEST(other_arguments_are_checked)
{
    struct newer {
        struct gang_queue_rule rule;
        int64_t more;
    } newer = {rule_of(GANG_MATCH_ALL, NULL, "batch"), 0};
    struct gang_error error = GANG_ERROR_INIT;
    const struct gang_mem *mem = &stage.mem.mem;
    newer.rule.size = sizeof(newer);
    EXPECT_RESULT(gang__rules_new(mem,
                                  &((struct gang__rules_source){&newer.rule, sizeof(newer), 1, ""}),
                                  &rules, &error),
                  GANG_OK, &error);
    goes_to(NULL, &amy, "batch", "");
    gang__rules_free(rules, mem);
    newer.more = 1;
    EXPECT_ERROR(
        gang__rules_new(mem, &((struct gang__rules_source){&newer.rule, sizeof(newer), 1, NULL}),
                        &rules, &error),
        GANG_E2BIG, &error, "rules[0]", NULL);
    EXPECT_ERROR(gang__rules_new(mem, &((struct gang__rules_source){&newer.rule, 8, 1, NULL}),
                                 &rules, &error),
                 GANG_EINVAL, &error, "rules[0].size", NULL);
    EXPECT_ERROR(
        gang__rules_new(mem, &((struct gang__rules_source){NULL, 32, 1, NULL}), &rules, &error),
        GANG_EINVAL, &error, "rules", NULL);
    EXPECT_RESULT(
        gang__rules_new(mem, &((struct gang__rules_source){NULL, 32, 70000, NULL}), &rules, &error),
        GANG_ELIMIT, &error);
    EXPECT_ERROR(
        gang__rules_new(mem, &((struct gang__rules_source){NULL, 0, 0, "\n"}), &rules, &error),
        GANG_EINVAL, &error, "default_queue", NULL);
    stage.mem.fail_at = stage.mem.calls + 1;
    EXPECT_RESULT(
        gang__rules_new(mem, &((struct gang__rules_source){NULL, 0, 0, NULL}), &rules, &error),
        GANG_ENOMEM, &error);
    stage.mem.fail_at = 0;
    ck_assert_ptr_null(rules);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *tests = tcase_create("rules");
    tcase_add_checked_fixture(tests, open_tree, close_tree);
    tcase_add_test(tests, a_job_goes_to_the_leaf_that_it_names);
    tcase_add_test(tests, a_queue_is_made_below_one_with_a_template);
    tcase_add_test(tests, only_so_many_queues_are_made);
    tcase_add_test(tests, rules_match_user_group_name_and_label);
    tcase_add_test(tests, words_in_the_name_are_replaced);
    tcase_add_test(tests, a_name_that_grows_too_long_leads_nowhere);
    tcase_add_test(tests, the_first_rule_that_leads_somewhere_wins);
    tcase_add_test(tests, a_rule_states_its_fallback);
    tcase_add_test(tests, rules_that_make_no_sense_are_refused);
    tcase_add_test(tests, other_arguments_are_checked);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
