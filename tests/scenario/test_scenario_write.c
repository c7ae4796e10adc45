/* SPDX-License-Identifier: Apache-2.0 */
/* A case that is written reads back as the same case; one that the format cannot express is
 * refused. */
#include <jansson.h>

#include "scenario/scenario_support.h"

/* Write, read again, compare, write again, compare. */
static char *round_trip(const struct gang_scenario *c, int32_t indent)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang__scenario_path where = {""};
    struct text text = {NULL, 0, 0};
    struct text again = {NULL, 0, 0};
    gang_result result = gang_scenario_write(c, indent, keep, &text, &error);
    ck_assert_msg(result == GANG_OK, "%s: %s: %s", c->id, error.path, error.text);
    gang_scenarios *scenarios = read_good(text.bytes);
    struct gang_scenario copy = get(scenarios, 0);
    ck_assert_msg(gang__scenario_equal(c, &copy, &where), "%s: %s", c->id, where.path);
    EXPECT_RESULT(gang_scenario_write(&copy, indent, keep, &again, &error), GANG_OK, &error);
    ck_assert_str_eq(text.bytes, again.bytes);
    gang_scenarios_free(scenarios);
    free(again.bytes);
    return text.bytes;
}

START_TEST(everything_is_written_and_read_again)
{
    const char *text = full_texts[_i];
    gang_scenarios *scenarios = read_good(text);
    struct gang_scenario c = get(scenarios, 0);
    free(round_trip(&c, 0));
    free(round_trip(&c, 2));
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(the_plain_form_is_used_where_it_is_enough)
{
    static const char text[] =
        "{\"id\":\"x\",\"nodes\":[{\"name\":\"n\",\"cpus\":2.5,\"mem_mib\":4,\"gpus\":2,"
        "\"gpu_mem_mib\":100,\"max_tasks\":7,\"labels\":{\"a\":\"b\"},\"topology\":{},"
        "\"unschedulable\":true}],\"queues\":[{\"name\":\"q\",\"parent\":null,"
        "\"guaranteed\":{\"gpu\":-1,\"cpu\":1.5,\"mem_mib\":7},\"limit\":null,\"weight\":1}],"
        "\"jobs\":[{\"name\":\"j\",\"queue\":\"q\",\"priority\":0,\"preemptible\":true,"
        "\"submit\":0,\"min\":1,\"tasks\":[{\"count\":1,\"cpu\":0.3,\"mem_mib\":0,\"gpu\":0.6,"
        "\"selector\":{\"a\":\"b\",\"node\":[\"n\",\"m\"]},\"group\":\"g\",\"protected\":true}],"
        "\"groups\":[{\"name\":\"g\",\"parent\":null,\"min\":1}],\"state\":\"running\","
        "\"running_on\":[\"n\"],\"running_gpu\":[[\"a\"]]}],\"rounds\":2,"
        "\"expect\":{\"jobs\":{\"j\":{\"gpus\":0.6}}}}";
    gang_scenarios *scenarios = read_good(text);
    struct gang_scenario c = get(scenarios, 0);
    char *written = round_trip(&c, 0);
    json_t *a = json_loads(text, 0, NULL);
    json_t *b = json_loads(written, 0, NULL);
    ck_assert_msg(json_equal(a, b), "%s", written);
    ck_assert_ptr_nonnull(strstr(written, "\"gpu\": 0.6"));
    json_decref(a);
    json_decref(b);
    free(written);
    gang_scenarios_free(scenarios);
}
END_TEST

START_TEST(sets_without_names_go_by_index)
{
    struct gang_group_set_spec sets[] = {GANG_GROUP_SET_SPEC_INIT, GANG_GROUP_SET_SPEC_INIT,
                                         GANG_GROUP_SET_SPEC_INIT};
    struct gang_group_spec groups[] = {GANG_GROUP_SPEC_INIT, GANG_GROUP_SPEC_INIT};
    struct gang_job_spec job = {
        .size = sizeof(job), .name = "j", .preemptible = 1, .request = GANG_REQUEST_SPEC_INIT};
    struct gang_scenario c = GANG_SCENARIO_INIT;
    sets[1].parent = 0;
    sets[2].name = "named";
    sets[2].parent = 1;
    sets[2].min = 1;
    groups[0].group_set = 1;
    groups[1].group_set = 2;
    groups[1].min = 0;
    job.request.groups = groups;
    job.request.group_count = 2;
    job.request.group_sets = sets;
    job.request.group_set_count = 3;
    c.jobs = &job;
    c.job_count = 1;
    free(round_trip(&c, 0));
}
END_TEST

/* The kind "tasks" that is not quite what `max_tasks` gives is written as a kind. */
START_TEST(a_kind_called_tasks_keeps_its_meaning)
{
    static const char *const texts[] = {
        "{\"kinds\":[{\"name\":\"tasks\"}],\"nodes\":[{\"name\":\"n\",\"amounts\":{\"tasks\":3}}]}",
        "{\"kinds\":[{\"name\":\"tasks\",\"unit\":\"tasks\"}],\"nodes\":[{\"name\":\"n\","
        "\"amounts\":{\"tasks\":3}}],\"jobs\":[{\"name\":\"j\",\"tasks\":[{\"amounts\":"
        "{\"tasks\":2}}]}]}",
        "{\"kinds\":[{\"name\":\"tasks\",\"unit\":\"tasks\"}],\"nodes\":[{\"name\":\"n\"}]}",
        "{\"nodes\":[{\"name\":\"n\",\"max_tasks\":1099511627775}]}",
        "{\"nodes\":[{\"name\":\"n\",\"max_tasks\":0},{\"name\":\"m\"}],\"jobs\":[{\"name\":\"j\","
        "\"tasks\":[{},{\"count\":2}]}]}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        gang_scenarios *scenarios = read_good(texts[i]);
        struct gang_scenario c = get(scenarios, 0);
        char *written = round_trip(&c, 0);
        ck_assert(!strstr(written, "max_tasks") == (i != 4));
        free(written);
        gang_scenarios_free(scenarios);
    }
}
END_TEST

/* A host with newer headers than the library has longer structs. */
START_TEST(longer_structs_are_written)
{
    struct {
        struct gang_node_spec node;
        int64_t more;
    } nodes[2] = {{GANG_NODE_SPEC_INIT, 0}, {GANG_NODE_SPEC_INIT, 0}};
    struct {
        struct gang_gpu_spec gpu;
        int64_t more;
    } gpus[2] = {{{NULL, NULL, NULL, 5, -1, 0, NULL, 0, 0}, 0},
                 {{"m", NULL, NULL, 6, -1, 0, NULL, 0, 0}, 0}};
    struct gang_scenario c = GANG_SCENARIO_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    nodes[0].node.name = "a";
    nodes[1].node.name = "b";
    nodes[0].node.size = nodes[1].node.size = sizeof(nodes[0]);
    nodes[1].node.gpus = &gpus[0].gpu;
    nodes[1].node.gpu_count = 2;
    nodes[1].node.gpu_size = sizeof(gpus[0]);
    c.nodes = &nodes[0].node;
    c.node_count = 2;
    free(round_trip(&c, 0));
    gpus[1].more = 1;
    struct text text = {NULL, 0, 0};
    gang_result result = gang_scenario_write(&c, 0, keep, &text, &error);
    ck_assert_int_ne(result, GANG_OK);
    ck_assert_str_eq(error.path, "nodes[1]");
    ck_assert_ptr_null(text.bytes);
}
END_TEST

START_TEST(a_case_the_format_cannot_express_is_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec node = GANG_NODE_SPEC_INIT;
    struct gang_scenario good = GANG_SCENARIO_INIT;
    struct gang_scenario c;
    struct text text = {NULL, 0, 0};
    static const char *const level = "rack";
    good.nodes = &node;
    good.node_count = 1;
    c = good;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    ck_assert_str_eq(error.path, "nodes[0]"); /* no name */
    node.name = "\xff";
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    node.name = "n";
    node.state = GANG_NODE_REMOVED;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    node.state = GANG_NODE_UP;
    node.cpu_milli = -1;
    EXPECT_ERROR(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error,
                 "nodes[0].cpus", NULL);
    node.cpu_milli = 0;
    node.gpu_count = 1; /* without an array */
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    struct gang_gpu_spec gpu = GANG_GPU_SPEC_INIT;
    node.gpus = &gpu;
    gpu.state = 2;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    gpu.state = GANG_GPU_OK;
    gpu.mig_index = 1; /* of nothing */
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    node.gpu_count = 0;
    node.profile_count = 1; /* without an array */
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    node.profile_count = 0;
    node.reserved0 = 1;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    node.reserved0 = 0;
    c.nodes = NULL;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    c = good;
    c.expect = "{\"jobs\":";
    EXPECT_ERROR(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error, "expect",
                 NULL);
    c.expect = "{\"jobs\":{\"j\":{}}}";
    EXPECT_ERROR(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error,
                 "expect.jobs.j", NULL);
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = {.size = sizeof(job), .name = "j", .preemptible = 1};
    job.request = (struct gang_request_spec)GANG_REQUEST_SPEC_INIT;
    job.request.groups = &group;
    job.request.group_count = 1;
    c.jobs = &job;
    c.job_count = 1;
    c.expect = NULL;
    job.request.policy = GANG_POLICY_HOST;
    EXPECT_ERROR(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error, "jobs[0]",
                 NULL);
    job.request.policy = GANG_POLICY_DEFAULT;
    job.request.score_user = &job;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    job.request.score_user = NULL;
    group.where = "a =";
    EXPECT_ERROR(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error,
                 "jobs[0].tasks[0].where", NULL);
    group.where = NULL;
    group.max_skew = -1;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    group.max_skew = 0;
    job.request.affinity_count = 1; /* without an array */
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    struct gang_partition_spec partition = {sizeof(partition), "p", 3, 0};
    c = good;
    c.partitions = &partition;
    c.partition_count = 1;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    c = good;
    c.policy = GANG_POLICY_HOST;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    c = good;
    c.rounds = -1;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    c = good;
    c.levels = &level;
    c.level_count = 1;
    c.needs = NULL;
    c.need_count = 1;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    c = good;
    c.size = 4;
    EXPECT_RESULT(gang_scenario_write(&c, 0, keep, &text, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_scenario_write(NULL, 0, keep, &text, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_scenario_write(&good, 0, NULL, &text, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_scenario_write(&good, -1, keep, &text, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_scenario_write(&good, 32, keep, &text, &error), GANG_EINVAL, &error);
    ck_assert_ptr_null(text.bytes);
    text.stop_after = 10;
    EXPECT_RESULT(gang_scenario_write(&good, 0, keep, &text, &error), GANG_EIO, &error);
    free(text.bytes);
}
END_TEST

static void is_refused(const struct gang_scenario *c, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct text text = {NULL, 0, 0};
    EXPECT_ERROR(gang_scenario_write(c, 0, keep, &text, &error), GANG_EINVAL, &error, path, NULL);
    ck_assert_ptr_null(text.bytes);
}

START_TEST(a_queue_the_format_cannot_express_is_refused)
{
    struct gang_queue_spec queue = GANG_QUEUE_SPEC_INIT;
    struct gang_quota quota = {"gpu", 0, NULL, 0, 0};
    struct gang_scenario c = GANG_SCENARIO_INIT;
    c.queues = &queue;
    c.queue_count = 1;
    queue.name = "q";
    queue.order = GANG_ORDER_MULTIFACTOR + 1;
    is_refused(&c, "queues[0].order");
    queue.order = -1;
    is_refused(&c, "queues[0].order");
    queue.order = 0;
    queue.no_preemption = 2;
    is_refused(&c, "queues[0].no_preemption");
    queue.no_preemption = 0;
    queue.grace_ns = -2;
    is_refused(&c, "queues[0].grace_s");
    queue.grace_ns = -1;
    queue.policy = GANG_POLICY_HOST;
    is_refused(&c, "queues[0].policy");
    queue.policy = 0;
    queue.submit_acl = "a\n";
    is_refused(&c, "queues[0].submit_acl");
    queue.submit_acl = NULL;
    queue.user_count = 1; /* without an array */
    is_refused(&c, "queues[0]");
    queue.user_count = 0;
    queue.reserved0 = 1;
    is_refused(&c, "queues[0]");
    queue.reserved0 = 0;
    queue.budget_count = 1; /* without an array */
    is_refused(&c, "queues[0]");
    queue.budget_count = 0;
    queue.guaranteed = &quota;
    queue.guaranteed_count = 1;
    quota = (struct gang_quota){"gpu", 1, NULL, 5, 0}; /* both an amount and a part */
    is_refused(&c, "queues[0]");
    quota = (struct gang_quota){"gpu", 0, NULL, 5, 5};
    is_refused(&c, "queues[0].guaranteed.gpu.weight");
    quota = (struct gang_quota){"gpu", 0, "", 0, 0};
    is_refused(&c, "queues[0].guaranteed[\"gpu@\"]");
    quota = (struct gang_quota){"gpu", 0, NULL, 0, 0};
    queue.child = &queue; /* without end */
    is_refused(&c, "queues[0]");
    queue.child = NULL;
    free(round_trip(&c, 0));
}
END_TEST

START_TEST(a_job_the_format_cannot_express_is_refused)
{
    struct gang_group_spec groups[2] = {GANG_GROUP_SPEC_INIT, GANG_GROUP_SPEC_INIT};
    struct gang_group_after order[2] = {{1, 0, GANG_AFTER_END, 0}, {0, 1, GANG_AFTER_END, 0}};
    struct gang_job_after after = {7, GANG_AFTER_END, 0};
    struct gang_scenario_after wait = {sizeof(wait), 0, 1, GANG_AFTER_END, 0};
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    struct gang_scenario c = GANG_SCENARIO_INIT;
    int32_t roles[2] = {0, 5};
    c.jobs = &job;
    c.job_count = 1;
    job.name = "j";
    job.request.groups = groups;
    job.request.group_count = 2;
    is_refused(&c, "jobs[0].submit"); /* a file has the age of each job */
    job.submit = 0;
    free(round_trip(&c, 0));
    job.cookie = 1;
    is_refused(&c, "jobs[0]");
    job.cookie = 0;
    job.after = &after;
    job.after_count = 1;
    is_refused(&c, "jobs[0]");
    job.after_count = 0;
    job.roles = roles;
    is_refused(&c, "jobs[0]");
    roles[1] = GANG_ROLE_CHIEF;
    job.preemptible = 3;
    is_refused(&c, "jobs[0]");
    job.preemptible = GANG_SEMI_PREEMPTIBLE;
    job.group_after = order;
    job.group_after_count = 1;
    free(round_trip(&c, 0));
    job.group_after_count = 2; /* not in the order of the groups */
    is_refused(&c, "jobs[0]");
    job.group_after_count = 0;
    c.afters = &wait;
    c.after_count = 1;
    is_refused(&c, "jobs[0]"); /* there is no job 1 */
    wait.after = 0;
    is_refused(&c, "jobs[0].after[0]");
    c.after_count = 0;
    c.half_life_ns = -1;
    is_refused(&c, "half_life_s");
}
END_TEST

START_TEST(times_are_as_fine_as_they_can_be_given_back)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {{"0.000000001", 1},
                 {"0.0000000001", 0},
                 {"86400.123456789", INT64_C(86400123456789)},
                 {"1125899.906842623", INT64_C(1125899906842623)},
                 {"1125899.906842624", INT64_C(1125899906843000)},
                 {"31536000.000001", INT64_C(31536000000001000)},
                 {"4611686018", INT64_C(4611686018000000000)}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "{\"half_life_s\":%s}", cases[i].text);
        gang_scenarios *scenarios = read_good(text);
        struct gang_scenario c = get(scenarios, 0);
        ck_assert_int_eq(c.half_life_ns, cases[i].ns);
        free(round_trip(&c, 0));
        gang_scenarios_free(scenarios);
    }
}
END_TEST

/* ---- the shared cases ---- */

static const char *const shared_files[] = {
    "scenarios/hived.json",    "scenarios/issue_scenarios.json",   "scenarios/kai_scheduler.json",
    "scenarios/kueue.json",    "scenarios/kueue_tas.json",         "scenarios/volcano.json",
    "scenarios/yunikorn.json", "scenarios/scheduler_plugins.json",
};

START_TEST(shared_cases_are_written_and_read_again)
{
    char path[4096];
    size_t total = 0;
    for (size_t i = 0; i < sizeof(shared_files) / sizeof(shared_files[0]); i++) {
        struct gang_error error = GANG_ERROR_INIT;
        gang_scenarios *scenarios;
        if (!gang_shared_path(path, sizeof(path), shared_files[i])) {
            fprintf(stderr, "skip: %s is not there\n", path);
            return;
        }
        gang_result result = gang_scenarios_read_file(path, &scenarios, &error);
        ck_assert_msg(result == GANG_OK, "%s: %s: %s", path, error.path, error.text);
        for (size_t k = 0; k < gang_scenarios_count(scenarios); k++) {
            struct gang_scenario c = get(scenarios, k);
            free(round_trip(&c, 0));
        }
        total += gang_scenarios_count(scenarios);
        gang_scenarios_free(scenarios);
    }
    ck_assert_uint_ge(total, 106);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("scenario_write");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, everything_is_written_and_read_again, 0, FULL_TEXTS);
    tcase_add_test(tests, the_plain_form_is_used_where_it_is_enough);
    tcase_add_test(tests, sets_without_names_go_by_index);
    tcase_add_test(tests, a_kind_called_tasks_keeps_its_meaning);
    tcase_add_test(tests, longer_structs_are_written);
    tcase_add_test(tests, a_case_the_format_cannot_express_is_refused);
    tcase_add_test(tests, a_queue_the_format_cannot_express_is_refused);
    tcase_add_test(tests, a_job_the_format_cannot_express_is_refused);
    tcase_add_test(tests, times_are_as_fine_as_they_can_be_given_back);
    tcase_add_test(tests, shared_cases_are_written_and_read_again);
    Suite *suite = suite_create("scenario_write");
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
