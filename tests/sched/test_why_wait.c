/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job waits: each reason with its numbers, class and words; and the same as JSON. */
#include <jansson.h>

#include "sched/host.h"

static struct host h;

/* The reasons of one job. */
static struct {
    size_t count;
    struct gang_wait wait[32];
    char text[32][512];
} why;

static int32_t note(const struct gang_wait *w, void *user)
{
    (void)user;
    ck_assert_uint_lt(why.count, 32);
    ck_assert_uint_eq(w->size, sizeof(*w));
    snprintf(why.text[why.count], sizeof(why.text[0]), "%s", w->text);
    why.wait[why.count++] = *w;
    return 0;
}

static void explain(gang_job_id id)
{
    why.count = 0;
    MUST(gang_job_explain(h.s, id, note, NULL));
}

/* The first reason is this one. */
static const struct gang_wait *first(int32_t reason, int32_t cls)
{
    ck_assert_uint_gt(why.count, 0);
    ck_assert_msg(why.wait[0].reason == reason, "%s", why.text[0]);
    ck_assert_int_eq(why.wait[0].category, cls);
    return &why.wait[0];
}

static const struct gang_wait *any(int32_t reason)
{
    for (size_t i = 0; i < why.count; i++)
        if (why.wait[i].reason == reason)
            return &why.wait[i];
    ck_abort_msg("no such reason");
    return NULL;
}

static void open_small(void)
{
    host_open(&h, 2, 4);
}

static void close_small(void)
{
    host_close(&h);
}

static struct gang_queue_spec queue(const char *name)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = name;
    return q;
}

static void set_queues(const struct gang_queue_spec *q, size_t count)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_sched_set_queues(h.s, q, count, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
}

static struct gang_group_spec group;

static struct gang_job_spec gpu_job(const char *in, int64_t count)
{
    group = group_of(count, 1000, 1000);
    struct gang_job_spec job = host_job(&group, 1);
    job.queue = in;
    job.name = "train";
    return job;
}

static gang_job_id submit(const char *in, int64_t count)
{
    struct gang_job_spec job = gpu_job(in, count);
    return host_submit(&h, &job);
}

START_TEST(a_job_that_does_not_wait_has_no_reasons)
{
    gang_job_id id = submit("default", 2);
    ck_assert_int_eq(gang_job_explain(h.s, id, note, NULL), GANG_ESTALE); /* not taken in */
    host_run(&h, 1);
    explain(id);
    ck_assert_uint_eq(why.count, 0);
    ck_assert_int_eq(gang_job_explain(h.s, id, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_job_explain(NULL, id, note, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(lack_of_capacity_is_explained_as_placement_explains_it)
{
    gang_job_id runs = submit("default", 6), id = submit("default", 4);
    host_run(&h, 1);
    explain(id);
    const struct gang_wait *w = first(GANG_WAIT_CAPACITY, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(w->kind, GANG_KIND_GPU);
    ck_assert_uint_eq(w->blocker, runs);
    ck_assert_ptr_nonnull(strstr(why.text[0], "gpu"));
    ck_assert_uint_eq(why.count, 1);
}
END_TEST

START_TEST(a_task_that_no_node_can_hold_never_starts)
{
    gang_job_id runs = submit("default", 8), id = submit("default", 8);
    host_run(&h, 1);
    gang_node_id gone = gang_node_next(h.stage.c, GANG_ID_NONE);
    MUST(gang_report_end(h.s, runs, 1));
    MUST(gang_node_remove(h.stage.w, gone));
    host_run(&h, 1);
    explain(id);
    first(GANG_WAIT_CAPACITY, GANG_WAIT_CATEGORY_NEVER);
}
END_TEST

START_TEST(a_limit_is_explained_with_allowed_used_and_needed)
{
    struct gang_queue_spec q[] = {queue("top"), queue("a"), queue("b")};
    q[0].limit = (struct gang_quota[]){{.kind = "gpu", .amount = 6000}};
    q[0].limit_count = 1;
    q[1].parent = q[2].parent = "top";
    set_queues(q, 3);
    gang_job_id runs = submit("a", 3), id = submit("b", 4);
    host_run(&h, 1);
    explain(id);
    const struct gang_wait *w = first(GANG_WAIT_LIMIT, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_str_eq(why.text[0], "queue \"top\" allows 6 GPUs, 3 are used, the gang needs 4");
    ck_assert_uint_eq(w->queue, host_queue_id(&h, "top"));
    ck_assert_int_eq(w->kind, GANG_KIND_GPU);
    ck_assert_int_eq(w->requested, 4000);
    ck_assert_int_eq(w->used, 3000);
    ck_assert_int_eq(w->limit, 6000);
    ck_assert_uint_eq(w->blocker, runs);
    q[0].limit = (struct gang_quota[]){{.kind = "gpu", .amount = 3500}};
    set_queues(q, 3);
    explain(id);
    first(GANG_WAIT_LIMIT, GANG_WAIT_CATEGORY_NEVER);
    ck_assert_str_eq(why.text[0], "queue \"top\" allows 3.5 GPUs, 3 are used, the gang needs 4");
}
END_TEST

START_TEST(other_limits_are_explained_with_their_kind)
{
    struct gang_queue_spec q = queue("a");
    q.limit = (struct gang_quota[]){{.kind = "cpu", .amount = 2500},
                                    {.kind = "memory", .amount = 3 * GIB / 2}};
    q.limit_count = 2;
    set_queues(&q, 1);
    group = group_of(1, 2000, 0);
    group.memory_bytes = GIB;
    struct gang_job_spec job = host_job(&group, 1);
    job.queue = "a";
    host_submit(&h, &job);
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    explain(id);
    ck_assert_uint_eq(why.count, 2);
    ck_assert_str_eq(why.text[0], "queue \"a\" allows 2.5 cores, 2 are used, the gang needs 2");
    ck_assert_str_eq(why.text[1], "queue \"a\" allows 1.5 GiB of memory, 1 GiB are used, the gang "
                                  "needs 1 GiB");
}
END_TEST

START_TEST(a_non_preemptible_job_stays_inside_the_guarantee)
{
    struct gang_queue_spec q = queue("a");
    q.guaranteed = (struct gang_quota[]){{.kind = "gpu", .amount = 3000}};
    q.guaranteed_count = 1;
    set_queues(&q, 1);
    struct gang_job_spec job = gpu_job("a", 2);
    job.preemptible = GANG_NOT_PREEMPTIBLE;
    host_submit(&h, &job);
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    explain(id);
    const struct gang_wait *w = first(GANG_WAIT_GUARANTEE, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(w->requested, 2000);
    ck_assert_int_eq(w->used, 2000);
    ck_assert_int_eq(w->limit, 3000);
    ck_assert_ptr_nonnull(strstr(why.text[0], "guarantees to what is not preemptible 3 GPUs"));
}
END_TEST

START_TEST(a_lending_limit_is_explained)
{
    struct gang_queue_spec q[] = {queue("a"), queue("b")};
    q[0].guaranteed = (struct gang_quota[]){{.kind = "gpu", .amount = 4000}};
    q[0].guaranteed_count = 1;
    q[0].lending_limit = (struct gang_quota[]){{.kind = "gpu", .amount = 0}};
    q[0].lending_limit_count = 1;
    set_queues(q, 2);
    gang_job_id id = submit("b", 6);
    host_run(&h, 1);
    explain(id);
    const struct gang_wait *w = first(GANG_WAIT_LENDING, GANG_WAIT_CATEGORY_POLICY);
    ck_assert_uint_eq(w->queue, host_queue_id(&h, "a"));
    ck_assert_int_eq(w->requested, 6000);
}
END_TEST

START_TEST(a_release_of_a_third_queue_starts_a_job_that_lending_blocked)
{
    struct gang_queue_spec q[] = {queue("a"), queue("b"), queue("c")};
    q[0].guaranteed = (struct gang_quota[]){{.kind = "gpu", .amount = 4000}};
    q[0].guaranteed_count = 1;
    q[0].lending_limit = (struct gang_quota[]){{.kind = "gpu", .amount = 0}};
    q[0].lending_limit_count = 1;
    set_queues(q, 3);
    gang_job_id third = submit("c", 4);
    host_run(&h, 1);
    gang_job_id id = submit("b", 2);
    host_run(&h, 1);
    explain(id);
    first(GANG_WAIT_LENDING, GANG_WAIT_CATEGORY_POLICY);
    MUST(gang_report_end(h.s, third, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
}
END_TEST

START_TEST(a_user_limit_is_explained)
{
    struct gang_queue_spec q = queue("a");
    q.guaranteed = (struct gang_quota[]){{.kind = "gpu", .amount = 8000}};
    q.guaranteed_count = 1;
    q.user_limit = GANG_WHOLE;
    q.user_limit_factor = GANG_WHOLE / 2;
    set_queues(&q, 1);
    struct gang_job_spec job = gpu_job("a", 3);
    job.user = "u";
    host_submit(&h, &job);
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    explain(id);
    const struct gang_wait *w = first(GANG_WAIT_USER_LIMIT, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(w->used, 3000);
    ck_assert_int_eq(w->limit, 4000);
    ck_assert_str_eq(why.text[0], "queue \"a\" allows a user 4 GPUs, 3 are used, the gang needs 3");
}
END_TEST

START_TEST(max_running_is_explained)
{
    struct gang_queue_spec q = queue("a");
    q.max_running = 1;
    set_queues(&q, 1);
    submit("a", 1);
    gang_job_id id = submit("a", 1);
    host_run(&h, 1);
    explain(id);
    const struct gang_wait *w = first(GANG_WAIT_MAX_RUNNING, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(w->used, 1);
    ck_assert_int_eq(w->limit, 1);
    ck_assert_str_eq(why.text[0], "queue \"a\" lets 1 job run at a time, 1 does");
}
END_TEST

START_TEST(a_hold_is_explained_also_to_dependent_jobs)
{
    struct gang_job_spec job = gpu_job("default", 1);
    job.hold = 1;
    gang_job_id held = host_submit(&h, &job);
    job.hold = 0;
    job.after = (struct gang_job_after[]){{held, GANG_AFTER_SUCCESS, 0}};
    job.after_count = 1;
    gang_job_id later = host_submit(&h, &job);
    host_run(&h, 1);
    explain(held);
    first(GANG_WAIT_HOLD, GANG_WAIT_CATEGORY_HELD);
    explain(later);
    ck_assert_uint_eq(first(GANG_WAIT_AFTER, GANG_WAIT_CATEGORY_HELD)->blocker, held);
    char text[64];
    snprintf(text, sizeof(text), "it waits for job %" PRIu64 " to succeed", held);
    ck_assert_str_eq(why.text[0], text);
}
END_TEST

START_TEST(a_group_dependency_is_explained)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(1, 1000, 0)};
    g[0].name = "prepare";
    g[1].name = "train";
    struct gang_job_spec job = host_job(g, 2);
    job.group_after = (struct gang_group_after[]){{1, 0, GANG_AFTER_END, 0}};
    job.group_after_count = 1;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    explain(id);
    ck_assert_int_eq(first(GANG_WAIT_AFTER, GANG_WAIT_CATEGORY_HELD)->group, 1);
    ck_assert_str_eq(why.text[0],
                     "group \"train\" waits for the tasks of group \"prepare\" to end");
}
END_TEST

START_TEST(a_back_off_is_explained_with_its_end)
{
    h.refuses = true;
    gang_job_id id = submit("default", 1);
    host_run(&h, 1);
    explain(id);
    const struct gang_wait *w = first(GANG_WAIT_BACK_OFF, GANG_WAIT_CATEGORY_HELD);
    ck_assert_int_eq(w->until_ns, h.now_ns + 10 * (int64_t)HOST_SECOND);
    ck_assert_str_eq(why.text[0], "it is in back-off for 10 seconds");
}
END_TEST

START_TEST(a_closed_queue_starts_nothing)
{
    gang_job_id id = submit("default", 1);
    MUST(gang_queue_set_state(h.s, host_queue_id(&h, "default"), GANG_QUEUE_CLOSED));
    host_run(&h, 1);
    explain(id);
    ck_assert_uint_eq(first(GANG_WAIT_QUEUE, GANG_WAIT_CATEGORY_HELD)->queue,
                      host_queue_id(&h, "default"));
}
END_TEST

START_TEST(strict_order_names_the_barring_job)
{
    struct gang_queue_spec q = queue("a");
    q.block = GANG_BLOCK_STRICT;
    set_queues(&q, 1);
    submit("a", 6);
    gang_job_id head = submit("a", 4), id = submit("a", 1);
    host_run(&h, 1);
    explain(id);
    ck_assert_uint_eq(first(GANG_WAIT_BEHIND, GANG_WAIT_CATEGORY_POLICY)->blocker, head);
    explain(head);
    first(GANG_WAIT_CAPACITY, GANG_WAIT_CATEGORY_NOT_NOW);
}
END_TEST

START_TEST(a_handover_names_its_victims)
{
    struct gang_queue_spec q = queue("a");
    q.grace_ns = 30 * (int64_t)HOST_SECOND;
    set_queues(&q, 1);
    gang_job_id low = submit("a", 8);
    host_run(&h, 1);
    struct gang_job_spec job = gpu_job("a", 4);
    job.priority = 5;
    h.lingers = true;
    gang_job_id high = host_submit(&h, &job);
    host_run(&h, 1);
    explain(high);
    const struct gang_wait *w = first(GANG_WAIT_VICTIMS, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_uint_eq(w->blocker, low);
    ck_assert_int_eq(w->until_ns, h.now_ns + 30 * (int64_t)HOST_SECOND);
    ck_assert_str_eq(why.text[0], "8 tasks preempted for it have not stopped yet");
}
END_TEST

START_TEST(an_unblocked_job_waits_for_its_turn_in_the_order)
{
    gang_job_id one = submit("default", 1);
    gang_job_id two = submit("default", 2);
    struct gang_run_opts opts = GANG_RUN_OPTS_INIT;
    opts.max_steps = 3; /* both are taken in, one is tried */
    MUST(gang_sched_run(h.s, ++h.now_ns, &opts, NULL));
    explain(one);
    explain(host_job_state(&h, one) == GANG_JOB_PENDING ? one : two);
    first(GANG_WAIT_NOT_TRIED, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_uint_eq(why.count, 1);
}
END_TEST

START_TEST(all_reasons_are_listed)
{
    struct gang_queue_spec q = queue("a");
    q.limit = (struct gang_quota[]){{.kind = "gpu", .amount = 7000}};
    q.limit_count = 1;
    q.max_running = 1;
    set_queues(&q, 1);
    submit("a", 6);
    struct gang_job_spec job = gpu_job("a", 4);
    job.hold = 1;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    explain(id);
    first(GANG_WAIT_HOLD, GANG_WAIT_CATEGORY_HELD);
    any(GANG_WAIT_LIMIT);
    any(GANG_WAIT_MAX_RUNNING);
    any(GANG_WAIT_CAPACITY);
    ck_assert_uint_eq(why.count, 4);
}
END_TEST

/* ---- JSON ---- */

static struct {
    char text[16384];
    size_t length;
    size_t fails_at;
} out;

static int collect(const char *bytes, size_t length, void *user)
{
    (void)user;
    if (out.length + length > (out.fails_at ? out.fails_at : sizeof(out.text) - 1))
        return 1;
    memcpy(out.text + out.length, bytes, length);
    out.length += length;
    return 0;
}

static json_t *written(gang_job_id id)
{
    json_error_t error;
    memset(&out, 0, sizeof(out));
    MUST(gang_job_write_explanation(h.s, id, collect, NULL));
    json_t *root = json_loadb(out.text, out.length, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s: %s", error.text, out.text);
    ck_assert_ptr_null(strchr(out.text, '\n'));
    return root;
}

static const char *text_of(json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static int64_t number_of(json_t *o, const char *key)
{
    ck_assert(json_is_integer(json_object_get(o, key)));
    return json_integer_value(json_object_get(o, key));
}

START_TEST(the_json_says_the_same)
{
    struct gang_queue_spec q = queue("a");
    q.limit = (struct gang_quota[]){{.kind = "gpu", .amount = 7000}};
    q.limit_count = 1;
    set_queues(&q, 1);
    gang_job_id runs = submit("a", 6), id = submit("a", 4);
    host_run(&h, 1);
    json_t *root = written(id), *reasons = json_object_get(root, "reasons");
    ck_assert_int_eq(number_of(root, "job"), (int64_t)id);
    ck_assert_str_eq(text_of(root, "name"), "train");
    ck_assert_str_eq(text_of(root, "state"), "pending");
    ck_assert_str_eq(text_of(root, "category"), "not now");
    ck_assert_uint_eq(json_array_size(reasons), 2);
    json_t *limit = json_array_get(reasons, 0);
    ck_assert_str_eq(text_of(limit, "reason"), "limit");
    ck_assert_str_eq(text_of(limit, "category"), "not now");
    ck_assert_str_eq(text_of(limit, "queue"), "a");
    ck_assert_str_eq(text_of(limit, "kind"), "gpu");
    ck_assert_int_eq(number_of(limit, "requested"), 4000);
    ck_assert_int_eq(number_of(limit, "used"), 6000);
    ck_assert_int_eq(number_of(limit, "limit"), 7000);
    ck_assert_int_eq(number_of(limit, "blocker"), (int64_t)runs);
    ck_assert_str_eq(text_of(limit, "text"), text_of(root, "text"));
    ck_assert_str_eq(text_of(json_array_get(reasons, 1), "reason"), "capacity");
    ck_assert_str_eq(text_of(json_object_get(root, "placement"), "answer"), "not now");
    json_decref(root);
    root = written(runs);
    ck_assert_str_eq(text_of(root, "state"), "running");
    ck_assert_uint_eq(json_array_size(json_object_get(root, "reasons")), 0);
    ck_assert_ptr_null(json_object_get(root, "category"));
    json_decref(root);
}
END_TEST

START_TEST(a_writer_may_refuse)
{
    submit("default", 6);
    gang_job_id id = submit("default", 4);
    host_run(&h, 1);
    memset(&out, 0, sizeof(out));
    out.fails_at = 1;
    ck_assert_int_eq(gang_job_write_explanation(h.s, id, collect, NULL), GANG_EIO);
    json_decref(written(id));
    size_t all = out.length;
    memset(&out, 0, sizeof(out));
    out.fails_at = all - 1;
    ck_assert_int_eq(gang_job_write_explanation(h.s, id, collect, NULL), GANG_EIO);
    ck_assert_int_eq(gang_job_write_explanation(h.s, id + 9, collect, NULL), GANG_ESTALE);
    ck_assert_int_eq(gang_job_write_explanation(h.s, id, NULL, NULL), GANG_EINVAL);
}
END_TEST

static int32_t stop_at_once(const struct gang_wait *w, void *user)
{
    (void)w;
    ++*(int *)user;
    return 7;
}

START_TEST(a_visitor_may_stop)
{
    int calls = 0;
    submit("default", 6);
    gang_job_id id = submit("default", 4);
    host_run(&h, 1);
    ck_assert_int_eq(gang_job_explain(h.s, id, stop_at_once, &calls), 7);
    ck_assert_int_eq(calls, 1);
}
END_TEST

START_TEST(explaining_without_memory_is_refused)
{
    submit("default", 6);
    gang_job_id id = submit("default", 4);
    host_run(&h, 1);
    for (long n = 1;; n++) {
        long live = h.stage.mem.live;
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        why.count = 0;
        gang_result r = gang_job_explain(h.s, id, note, NULL);
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        ck_assert_int_ge(h.stage.mem.live, live);
        if (r == GANG_OK)
            break;
        ck_assert_int_lt(n, 100);
    }
    ck_assert_uint_eq(why.count, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("why_wait");
    TCase *t = tcase_create("why_wait");
    tcase_add_checked_fixture(t, open_small, close_small);
    tcase_add_test(t, a_job_that_does_not_wait_has_no_reasons);
    tcase_add_test(t, lack_of_capacity_is_explained_as_placement_explains_it);
    tcase_add_test(t, a_task_that_no_node_can_hold_never_starts);
    tcase_add_test(t, a_limit_is_explained_with_allowed_used_and_needed);
    tcase_add_test(t, other_limits_are_explained_with_their_kind);
    tcase_add_test(t, a_non_preemptible_job_stays_inside_the_guarantee);
    tcase_add_test(t, a_lending_limit_is_explained);
    tcase_add_test(t, a_release_of_a_third_queue_starts_a_job_that_lending_blocked);
    tcase_add_test(t, a_user_limit_is_explained);
    tcase_add_test(t, max_running_is_explained);
    tcase_add_test(t, a_hold_is_explained_also_to_dependent_jobs);
    tcase_add_test(t, a_group_dependency_is_explained);
    tcase_add_test(t, a_back_off_is_explained_with_its_end);
    tcase_add_test(t, a_closed_queue_starts_nothing);
    tcase_add_test(t, strict_order_names_the_barring_job);
    tcase_add_test(t, a_handover_names_its_victims);
    tcase_add_test(t, an_unblocked_job_waits_for_its_turn_in_the_order);
    tcase_add_test(t, all_reasons_are_listed);
    tcase_add_test(t, the_json_says_the_same);
    tcase_add_test(t, a_writer_may_refuse);
    tcase_add_test(t, a_visitor_may_stop);
    tcase_add_test(t, explaining_without_memory_is_refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
