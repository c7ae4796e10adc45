/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: reading allocations: totals, enumeration, JSON. */
#include <gangsched/gangsched.h>

#include <jansson.h>

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

/* Two groups over two nodes: whole devices with cores, and shares of two devices. */
static gang_alloc_id mixed(void)
{
    struct gang_group_spec g[] = {group_of(2, 2000, 2000), group_of(2, 500, 250)};
    struct gang_request_spec spec = request_of(g, 2);
    for (int i = 0; i < 2; i++) {
        struct box box = {.name = i ? "n\"1" : "n\xc3\xa4", /* to be written with care */
                          .cpu = 8000,
                          .memory = 8 * GIB,
                          .gpus = 4,
                          .cores = 8};
        stage_add(&s, &box);
    }
    g[0].name = "big";
    g[0].memory_bytes = GIB;
    g[1].memory_bytes = 1;
    g[1].gpu_devices = 2;
    spec.policy = GANG_POLICY_SPREAD;
    return stage_alloc(&s, &spec);
}

/* ---- totals ---- */

START_TEST(totals_are_the_sum_of_the_tasks)
{
    gang_alloc_id id = mixed();
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    MUST(gang_alloc_get(s.c, id, &info));
    ck_assert_uint_eq(info.size, sizeof(info));
    ck_assert_int_eq(info.tasks, 4);
    ck_assert_int_eq(info.min, 4);
    ck_assert_int_eq(info.count, 4);
    ck_assert_int_eq(info.cpu_milli, 2 * 2000 + 2 * 500);
    ck_assert_int_eq(info.memory_bytes, 2 * GIB + 2 * GANG_PAGE_BYTES);
    ck_assert_int_eq(info.gpu_milli, 2 * 2000 + 2 * 2 * 250);
}
END_TEST

START_TEST(totals_follow_the_size_rule)
{
    struct {
        struct gang_alloc_info known;
        char more[8];
    } longer;
    gang_alloc_id id = mixed();
    memset(&longer, 0x5a, sizeof(longer));
    longer.known.size = sizeof(longer);
    MUST(gang_alloc_get(s.c, id, &longer.known));
    ck_assert_uint_eq(longer.known.size, sizeof(longer));
    ck_assert_int_eq(longer.known.tasks, 4);
    ck_assert_int_eq(longer.more[7], 0);
    const size_t bad[] = {0, sizeof(longer.known) - 1, SIZE_MAX};
    for (size_t i = 0; i < 3; i++) {
        longer.known.size = bad[i];
        ck_assert_int_eq(gang_alloc_get(s.c, id, &longer.known), GANG_EINVAL);
    }
    ck_assert_int_eq(gang_alloc_get(NULL, id, &longer.known), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_get(s.c, id, NULL), GANG_EINVAL);
    MUST(gang_alloc_free(s.w, id)); /* a failed reader holds nothing */
}
END_TEST

/* ---- enumeration ---- */

struct visit {
    int calls;
    int32_t stop_at, answer;
    gang_alloc_id id;
    int64_t last;
};

static int32_t visit_until(const struct gang_task *task, void *user)
{
    struct visit *v = user;
    ck_assert_int_gt(task->task, v->last); /* in task order */
    v->last = task->task;
    return ++v->calls == v->stop_at ? v->answer : 0;
}

START_TEST(each_task_is_visited_once_in_order)
{
    struct visit v = {.last = -1};
    gang_alloc_id id = mixed();
    MUST(gang_alloc_each(s.c, id, visit_until, &v));
    ck_assert_int_eq(v.calls, 4);
}
END_TEST

START_TEST(any_other_answer_stops_the_walk_and_is_returned)
{
    const int32_t answers[] = {1, INT32_MAX, -1, GANG_ENOMEM, INT32_MIN};
    gang_alloc_id id = mixed();
    for (size_t i = 0; i < 5; i++) {
        struct visit v = {.last = -1, .stop_at = 2, .answer = answers[i]};
        ck_assert_int_eq(gang_alloc_each(s.c, id, visit_until, &v), answers[i]);
        ck_assert_int_eq(v.calls, 2);
    }
    MUST(gang_alloc_free(s.w, id)); /* a stopped reader holds nothing */
}
END_TEST

START_TEST(a_visited_task_lists_all_it_holds)
{
    gang_alloc_id id = mixed();
    const struct task_list *list = stage_tasks(&s, id);
    int big = 0, small = 0;
    ck_assert_uint_eq(list->count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct gang_task *t = &list->task[i];
        struct gang_node_info info = stage_node(&s, t->node); /* it is a node's id */
        ck_assert_int_eq(info.gpu_count, 4);
        if (t->group == 0) {
            big++;
            ck_assert_int_eq(t->cpu_milli, 2000);
            ck_assert_int_eq(t->memory_bytes, GIB);
            ck_assert_int_eq(t->gpu_count, 2);
            ck_assert_int_eq(t->gpu_share, 1000);
            ck_assert_int_eq(t->core_count, 2);
        } else {
            small++;
            ck_assert_int_eq(t->group, 1);
            ck_assert_int_eq(t->cpu_milli, 500);
            ck_assert_int_eq(t->memory_bytes, GANG_PAGE_BYTES);
            ck_assert_int_eq(t->gpu_count, 2);
            ck_assert_int_eq(t->gpu_share, 250);
            ck_assert_int_eq(t->core_count, 0);
        }
    }
    ck_assert_int_eq(big, 2);
    ck_assert_int_eq(small, 2);
}
END_TEST

static int32_t query(const struct gang_task *task, void *user)
{
    struct visit *v = user;
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    struct visit inner = {.last = -1};
    v->calls++;
    ck_assert_int_eq(stage_node(&s, task->node).gpu_count, 4);
    MUST(gang_alloc_get(s.c, v->id, &info));
    ck_assert_int_eq(info.tasks, 4);
    MUST(gang_alloc_each(s.c, v->id, visit_until, &inner));
    ck_assert_int_eq(inner.calls, 4);
    ck_assert_uint_eq(gang_alloc_next(s.c, GANG_ID_NONE), v->id);
    return 0;
}

START_TEST(the_visitor_may_query)
{
    struct visit v = {.id = mixed()};
    MUST(gang_alloc_each(s.c, v.id, query, &v));
    ck_assert_int_eq(v.calls, 4);
}
END_TEST

static int32_t change(const struct gang_task *task, void *user)
{
    struct visit *v = user;
    struct gang_error error = GANG_ERROR_INIT;
    int64_t granted = 17, number = task->task;
    struct gang_group_spec g = group_of(1, 100, 0);
    v->calls++;
    ck_assert_int_eq(gang_alloc_free(s.w, v->id), GANG_EBUSY);
    EXPECT_RESULT(gang_alloc_grow(s.w, v->id, 0, 1, &granted, &error), GANG_EBUSY, &error);
    ck_assert_int_eq(granted, 0);
    ck_assert_int_eq(error.code, GANG_EBUSY);
    EXPECT_RESULT(gang_alloc_shrink(s.w, v->id, &number, 1, &error), GANG_EBUSY, &error);
    MUST(gang_alloc_free(s.w, stage_alloc_group(&s, &g))); /* another one may be changed */
    return 0;
}

START_TEST(the_visitor_must_not_change_this_allocation)
{
    struct visit v = {.id = mixed()};
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    MUST(gang_alloc_each(s.c, v.id, change, &v));
    ck_assert_int_eq(v.calls, 4);
    MUST(gang_alloc_get(s.c, v.id, &info));
    ck_assert_int_eq(info.tasks, 4);
    MUST(gang_alloc_free(s.w, v.id));
}
END_TEST

START_TEST(walking_needs_its_arguments)
{
    struct visit v = {.last = -1};
    gang_alloc_id id = mixed();
    ck_assert_int_eq(gang_alloc_each(NULL, id, visit_until, &v), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_each(s.c, id, NULL, &v), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_each(s.c, id + 1, visit_until, &v), GANG_ESTALE);
    ck_assert_int_eq(v.calls, 0);
}
END_TEST

/* ---- JSON ---- */

struct text {
    char bytes[1 << 16];
    size_t length;
    int calls;
    int refuse_at; /* 0: never */
};

static int collect(const char *bytes, size_t length, void *user)
{
    struct text *t = user;
    if (++t->calls == t->refuse_at)
        return 1;
    ck_assert_uint_lt(t->length + length, sizeof(t->bytes));
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    return 0;
}

static const char *node_name(gang_node_id id)
{
    static char name[GANG_MAX_NAME + 1];
    struct gang_node_info info = stage_node(&s, id);
    strcpy(name, info.name);
    return name;
}

/* The members are those that the header names, and no others. */
static void same_task(json_t *o, const struct gang_task *t)
{
    size_t gpus = 0, cores = 0, index;
    json_t *number;
    ck_assert_uint_eq(json_object_size(o), (t->core_count ? 9u : 8u)); /* with the cpuset */
    ck_assert(!json_object_get(o, "cpuset") == !t->core_count);
    ck_assert(json_is_integer(json_object_get(o, "task")));
    ck_assert_int_eq(json_integer_value(json_object_get(o, "task")), t->task);
    ck_assert_str_eq(json_string_value(json_object_get(o, "group")),
                     t->group ? "groups[1]" : "big");
    ck_assert_str_eq(json_string_value(json_object_get(o, "node")), node_name(t->node));
    ck_assert_int_eq(json_integer_value(json_object_get(o, "cpu_milli")), t->cpu_milli);
    ck_assert_int_eq(json_integer_value(json_object_get(o, "memory_bytes")), t->memory_bytes);
    ck_assert_int_eq((int)(1000 * json_number_value(json_object_get(o, "share")) + 0.5),
                     t->gpu_share);
    json_array_foreach (json_object_get(o, "gpus"), index, number) {
        ck_assert((t->gpus >> json_integer_value(number) & 1) != 0);
        gpus++;
    }
    json_array_foreach (json_object_get(o, "cores"), index, number) {
        ck_assert((t->cores[0] >> json_integer_value(number) & 1) != 0);
        cores++;
    }
    ck_assert_uint_eq(gpus, (size_t)t->gpu_count);
    ck_assert_uint_eq(cores, (size_t)t->core_count);
    ck_assert(json_is_array(json_object_get(o, "gpus")));
    ck_assert(json_is_array(json_object_get(o, "cores")));
}

static struct text text;

static json_t *write_and_parse(gang_alloc_id id)
{
    json_error_t error;
    memset(&text, 0, sizeof(text));
    MUST(gang_alloc_write_json(s.c, id, collect, &text));
    ck_assert_ptr_null(memchr(text.bytes, '\n', text.length));
    json_t *root = json_loadb(text.bytes, text.length, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s in %s", error.text, text.bytes);
    return root;
}

START_TEST(json_says_what_the_enumeration_says)
{
    gang_alloc_id id = mixed();
    json_t *root = write_and_parse(id), *tasks = json_object_get(root, "tasks");
    const struct task_list *list = stage_tasks(&s, id);
    ck_assert_uint_eq(json_object_size(root), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(root, "gpu_milli")), 5000);
    ck_assert_uint_eq(json_array_size(tasks), 4);
    for (size_t i = 0; i < 4; i++)
        same_task(json_array_get(tasks, i), &list->task[i]);
    json_decref(root);
}
END_TEST

START_TEST(json_of_tasks_without_gpus)
{
    struct gang_group_spec g = group_of(1, 100, 0);
    mixed();
    json_t *root = write_and_parse(stage_alloc_group(&s, &g));
    json_t *task = json_array_get(json_object_get(root, "tasks"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(root, "gpu_milli")), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(task, "gpus")), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(task, "cores")), 0);
    ck_assert(json_number_value(json_object_get(task, "share")) == 0.0);
    json_decref(root);
}
END_TEST

START_TEST(shares_are_written_with_few_digits)
{
    struct gang_group_spec g = group_of(1, 0, 333);
    mixed();
    json_decref(write_and_parse(stage_alloc_group(&s, &g)));
    ck_assert_ptr_nonnull(strstr(text.bytes, "0.333"));
    ck_assert_ptr_null(strstr(text.bytes, "0.3330"));
    ck_assert_ptr_null(strstr(text.bytes, "0.3329"));
}
END_TEST

START_TEST(json_of_tasks_on_a_removed_node)
{
    gang_alloc_id id = mixed();
    gang_node_id node = stage_tasks(&s, id)->task[0].node;
    MUST(gang_node_remove(s.w, node));
    json_t *root = write_and_parse(id);
    same_task(json_array_get(json_object_get(root, "tasks"), 0), &stage_tasks(&s, id)->task[0]);
    json_decref(root);
}
END_TEST

START_TEST(a_writer_that_refuses_ends_the_call)
{
    gang_alloc_id id = mixed();
    memset(&text, 0, sizeof(text));
    MUST(gang_alloc_write_json(s.c, id, collect, &text));
    int calls = text.calls;
    for (int at = 1; at <= calls; at++) {
        memset(&text, 0, sizeof(text));
        text.refuse_at = at;
        ck_assert_int_eq(gang_alloc_write_json(s.c, id, collect, &text), GANG_EIO);
        ck_assert_int_eq(text.calls, at); /* and it is not asked again */
    }
    MUST(gang_alloc_free(s.w, id));
}
END_TEST

/* The writer is called with nothing held: it may use the library. */
static int free_another(const char *bytes, size_t length, void *user)
{
    struct gang_group_spec g = group_of(1, 100, 0);
    (void)bytes;
    (void)length;
    (void)user;
    MUST(gang_alloc_free(s.w, stage_alloc_group(&s, &g)));
    return 0;
}

START_TEST(the_writer_may_use_the_library)
{
    gang_alloc_id id = mixed();
    MUST(gang_alloc_write_json(s.c, id, free_another, NULL));
}
END_TEST

START_TEST(writing_needs_its_arguments)
{
    gang_alloc_id id = mixed();
    memset(&text, 0, sizeof(text));
    ck_assert_int_eq(gang_alloc_write_json(NULL, id, collect, &text), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_write_json(s.c, id, NULL, &text), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_write_json(s.c, id + 1, collect, &text), GANG_ESTALE);
    ck_assert_int_eq(text.calls, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *tests = tcase_create("report");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, totals_are_the_sum_of_the_tasks);
    tcase_add_test(tests, totals_follow_the_size_rule);
    tcase_add_test(tests, each_task_is_visited_once_in_order);
    tcase_add_test(tests, any_other_answer_stops_the_walk_and_is_returned);
    tcase_add_test(tests, a_visited_task_lists_all_it_holds);
    tcase_add_test(tests, the_visitor_may_query);
    tcase_add_test(tests, the_visitor_must_not_change_this_allocation);
    tcase_add_test(tests, walking_needs_its_arguments);
    tcase_add_test(tests, json_says_what_the_enumeration_says);
    tcase_add_test(tests, json_of_tasks_without_gpus);
    tcase_add_test(tests, shares_are_written_with_few_digits);
    tcase_add_test(tests, json_of_tasks_on_a_removed_node);
    tcase_add_test(tests, a_writer_that_refuses_ends_the_call);
    tcase_add_test(tests, the_writer_may_use_the_library);
    tcase_add_test(tests, writing_needs_its_arguments);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
