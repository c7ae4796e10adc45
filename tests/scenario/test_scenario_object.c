/* SPDX-License-Identifier: Apache-2.0 */
/* One node, queue, job or reservation as JSON, without a case around it. */
#include "scenario/scenario_support.h"

/* ---- written and read again ---- */

static void same_text(const struct text *a, const struct text *b)
{
    ck_assert_str_eq(a->bytes, b->bytes);
    free(a->bytes);
    free(b->bytes);
}

#define ROUND_TRIP(kind, spec)                                                             \
    do {                                                                                   \
        struct text text_ = {NULL, 0, 0}, again_ = {NULL, 0, 0};                           \
        struct gang_error why = GANG_ERROR_INIT;                                           \
        const struct gang_##kind##_spec *read_;                                            \
        gang_scenarios *kept_;                                                             \
        EXPECT_RESULT(gang_##kind##_write(spec, 0, keep, &text_, &why), GANG_OK, &why);    \
        EXPECT_RESULT(gang_##kind##_read(text_.bytes, text_.length, &kept_, &read_, &why), \
                      GANG_OK, &why);                                                      \
        EXPECT_RESULT(gang_##kind##_write(read_, 0, keep, &again_, &why), GANG_OK, &why);  \
        same_text(&text_, &again_);                                                        \
        gang_scenarios_free(kept_);                                                        \
    } while (0)

static void round_trips(const struct gang_scenario *c)
{
    for (size_t i = 0; i < c->node_count; i++)
        ROUND_TRIP(node, &c->nodes[i]);
    for (size_t i = 0; i < c->queue_count; i++)
        ROUND_TRIP(queue, &c->queues[i]);
    for (size_t i = 0; i < c->job_count; i++)
        ROUND_TRIP(job, &c->jobs[i]);
    for (size_t i = 0; i < c->reservation_count; i++)
        ROUND_TRIP(reservation, &c->reservations[i]);
}

START_TEST(every_member_of_an_object_is_written_and_read_again)
{
    gang_scenarios *scenarios = read_good(full_texts[_i]);
    struct gang_scenario c = get(scenarios, 0);
    round_trips(&c);
    gang_scenarios_free(scenarios);
}
END_TEST

/* What is left out when written is left out when it is read and written again, too. */
START_TEST(flags_of_a_group_are_written)
{
    static const char given[] = "{\"name\":\"j\",\"tasks\":[{\"gpu\":1,\"near_nic\":true,"
                                "\"same_devices\":true,\"gpu_models\":[\"A\"],"
                                "\"models_ranked\":true}]}";
    static const char *const flag[] = {"near_nic", "same_devices", "models_ranked"};
    struct gang_error error = GANG_ERROR_INIT;
    struct text text = {NULL, 0, 0};
    const struct gang_job_spec *job;
    gang_scenarios *kept;
    EXPECT_RESULT(gang_job_read(given, strlen(given), &kept, &job, &error), GANG_OK, &error);
    ck_assert_int_eq(job->request.groups[0].same_devices, 1);
    MUST(gang_job_write(job, 0, keep, &text, NULL));
    for (size_t i = 0; i < sizeof(flag) / sizeof(flag[0]); i++) {
        char member[64];
        snprintf(member, sizeof(member), "\"%s\": true", flag[i]);
        ck_assert_ptr_nonnull(strstr(text.bytes, member));
    }
    free(text.bytes);
    gang_scenarios_free(kept);
}
END_TEST

START_TEST(objects_of_shared_cases_are_written_and_read_again)
{
    static const char *const files[] = {"scenarios/hived.json", "scenarios/kai_scheduler.json"};
    char path[4096];
    for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
        struct gang_error error = GANG_ERROR_INIT;
        gang_scenarios *scenarios;
        if (!gang_shared_path(path, sizeof(path), files[k])) {
            fprintf(stderr, "skip: %s is not there\n", path);
            return;
        }
        EXPECT_RESULT(gang_scenarios_read_file(path, &scenarios, &error), GANG_OK, &error);
        for (size_t i = 0; i < gang_scenarios_count(scenarios); i++) {
            struct gang_scenario c = get(scenarios, i);
            round_trips(&c);
        }
        gang_scenarios_free(scenarios);
    }
}
END_TEST

/* ---- without a case ---- */

START_TEST(names_of_other_things_are_read_as_they_are)
{
    static const char node_text[] = "{\"name\":\"n\",\"cpus\":4,\"amounts\":{\"nic\":2},"
                                    "\"max_tasks\":7,\"topology\":{\"rack\":\"r1\"}}";
    static const char queue_text[] = "{\"name\":\"q\",\"parent\":\"far\",\"limit\":{\"nic\":3,"
                                     "\"gpu@big\":4,\"nic@big\":1}}";
    static const char job_text[] = "{\"name\":\"j\",\"queue\":\"far\",\"same\":\"rack\","
                                   "\"reservation\":\"r\",\"state\":\"running\",\"running_on\":"
                                   "[\"n7\"],\"tasks\":[{\"amounts\":{\"nic\":1}}]}";
    static const char reservation_text[] = "{\"name\":\"r\",\"queue\":\"far\","
                                           "\"stages\":[{\"nodes\":[\"n7\"]}]}";
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *kept;
    const struct gang_node_spec *node;
    const struct gang_queue_spec *queue;
    const struct gang_job_spec *job;
    const struct gang_reservation_spec *reservation;
    EXPECT_RESULT(gang_node_read(node_text, strlen(node_text), &kept, &node, &error), GANG_OK,
                  &error);
    ck_assert_uint_eq(node->amount_count, 2);
    ck_assert_str_eq(node->amounts[0].kind, "nic");
    ck_assert_str_eq(node->amounts[1].kind, "tasks");
    ck_assert_int_eq(node->amounts[1].amount, 7);
    ck_assert_str_eq(node->topology[0].key, "rack");
    gang_scenarios_free(kept);
    EXPECT_RESULT(gang_queue_read(queue_text, strlen(queue_text), &kept, &queue, &error), GANG_OK,
                  &error);
    ck_assert_str_eq(queue->parent, "far");
    ck_assert_uint_eq(queue->limit_count, 3);
    ck_assert_str_eq(queue->limit[2].kind, "nic");
    ck_assert_str_eq(queue->limit[2].partition, "big");
    gang_scenarios_free(kept);
    EXPECT_RESULT(gang_job_read(job_text, strlen(job_text), &kept, &job, &error), GANG_OK, &error);
    ck_assert_int_eq(job->submit, -1);
    ck_assert_str_eq(job->places[0].node, "n7");
    ck_assert_str_eq(job->reservation, "r");
    gang_scenarios_free(kept);
    EXPECT_RESULT(gang_reservation_read(reservation_text, strlen(reservation_text), &kept,
                                        &reservation, &error),
                  GANG_OK, &error);
    ck_assert_str_eq(reservation->queue, "far");
    gang_scenarios_free(kept);
}
END_TEST

/* ---- refused ---- */

enum what { NODE_TEXT, QUEUE_TEXT, JOB_TEXT, RESERVATION_TEXT };

static gang_result read_any(enum what what, const char *text, gang_scenarios **kept,
                            struct gang_error *error)
{
    const struct gang_node_spec *node;
    const struct gang_queue_spec *queue;
    const struct gang_job_spec *job;
    const struct gang_reservation_spec *reservation;
    size_t length = strlen(text);
    switch (what) {
    case NODE_TEXT:
        return gang_node_read(text, length, kept, &node, error);
    case QUEUE_TEXT:
        return gang_queue_read(text, length, kept, &queue, error);
    case JOB_TEXT:
        return gang_job_read(text, length, kept, &job, error);
    default:
        return gang_reservation_read(text, length, kept, &reservation, error);
    }
}

START_TEST(an_error_names_its_place_in_the_object)
{
    static const struct {
        enum what what;
        const char *text;
        gang_result result;
        const char *path;
    } bad[] = {
        {NODE_TEXT, "{\"cpus\":1}", GANG_EINVAL, "name"},
        {NODE_TEXT, "{\"name\":\"n\",\"cpus\":-1}", GANG_ERANGE, "cpus"},
        {NODE_TEXT, "{\"name\":\"n\",\"devices\":[{},{\"nu\":1}]}", GANG_EINVAL, "devices[1].nu"},
        {NODE_TEXT, "{\"name\":\"n\",\"amounts\":{\"\":1}}", GANG_EINVAL, "amounts[\"\"]"},
        {NODE_TEXT, "[]", GANG_EINVAL, ""},
        {NODE_TEXT, "{\"name\":\"n\",", GANG_EPARSE, ""},
        {QUEUE_TEXT, "{\"name\":\"q\",\"limit\":{\"gpu\":\"x\"}}", GANG_EINVAL, "limit.gpu"},
        {QUEUE_TEXT, "{\"name\":\"q\",\"order\":\"x\"}", GANG_EINVAL, "order"},
        {JOB_TEXT, "{\"name\":\"j\",\"queue\":\"q\",\"tasks\":[{},{\"gpu\":-1}]}", GANG_ERANGE,
         "tasks[1].gpu"},
        {JOB_TEXT, "{\"name\":\"j\",\"tasks\":[{}],\"after\":[{\"job\":\"k\"}]}", GANG_EINVAL,
         "after"},
        {JOB_TEXT, "{\"name\":\"j\",\"tasks\":[{}],\"ran_s\":1}", GANG_EINVAL, "ran_s"},
        {RESERVATION_TEXT, "{\"name\":\"r\",\"stages\":[{\"nodes\":[1]}]}", GANG_EINVAL,
         "stages[0].nodes[0]"},
    };
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *kept = (gang_scenarios *)(void *)&error;
    EXPECT_ERROR(read_any(bad[_i].what, bad[_i].text, &kept, &error), bad[_i].result, &error,
                 bad[_i].path, NULL);
    ck_assert_ptr_null(kept);
}
END_TEST
enum { BAD = 12 };

START_TEST(what_the_format_cannot_express_is_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    struct text text = {NULL, 0, 0};
    job.name = "j";
    job.queue = "q";
    job.request.groups = &group;
    job.request.group_count = 1;
    EXPECT_RESULT(gang_job_write(&job, 0, keep, &text, &error), GANG_OK, &error);
    free(text.bytes);
    text = (struct text){NULL, 0, 0};
    job.cookie = 7;
    EXPECT_RESULT(gang_job_write(&job, 0, keep, &text, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_job_write(NULL, 0, keep, &text, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_job_write(&job, -1, keep, &text, &error), GANG_EINVAL, &error);
    ck_assert_ptr_null(text.bytes);
    job.cookie = 0;
    text.stop_after = 1;
    EXPECT_RESULT(gang_job_write(&job, 0, keep, &text, &error), GANG_EIO, &error);
    free(text.bytes);
}
END_TEST

/* ---- out of memory ---- */

START_TEST(every_failing_allocation_is_reported)
{
    gang_scenarios *scenarios = read_good(full_texts[1]);
    struct gang_scenario c = get(scenarios, 0);
    struct text text = {NULL, 0, 0};
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(gang_queue_write(&c.queues[2], 0, keep, &text, &error), GANG_OK, &error);
    gang_result result = GANG_ENOMEM;
    for (long n = 1; result == GANG_ENOMEM; n++) {
        struct fail_mem fail;
        gang_scenarios *kept = NULL;
        fail_mem_init(&fail, n);
        result = gang__object_read_mem(&fail.mem, text.bytes, text.length, GANG__OBJECT_QUEUE,
                                       &kept, &error);
        ck_assert(result == GANG_OK || (result == GANG_ENOMEM && !kept));
        gang_scenarios_free(kept);
        ck_assert_int_eq(fail.live, 0);
    }
    result = GANG_ENOMEM;
    for (long n = 1; result == GANG_ENOMEM; n++) {
        struct text again = {NULL, 0, 0};
        struct gang__object_to to = {GANG__OBJECT_QUEUE, 0, keep, &again};
        struct fail_mem fail;
        fail_mem_init(&fail, n);
        result = gang__object_write_mem(&fail.mem, &to, &c.queues[2], &error);
        ck_assert(result == GANG_OK || (result == GANG_ENOMEM && !again.bytes));
        ck_assert_int_eq(fail.live, 0);
        free(again.bytes);
    }
    free(text.bytes);
    gang_scenarios_free(scenarios);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scenario_object");
    TCase *tc = tcase_create("object");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, every_member_of_an_object_is_written_and_read_again, 0, FULL_TEXTS);
    tcase_add_test(tc, flags_of_a_group_are_written);
    tcase_add_test(tc, objects_of_shared_cases_are_written_and_read_again);
    tcase_add_test(tc, names_of_other_things_are_read_as_they_are);
    tcase_add_loop_test(tc, an_error_names_its_place_in_the_object, 0, BAD);
    tcase_add_test(tc, what_the_format_cannot_express_is_refused);
    tcase_add_test(tc, every_failing_allocation_is_reported);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
