/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that name a lending partition get its nodes back from guests. */
#include "sched/host.h"

enum { GPUS = 2 }; /* of each node */

static struct host h;
static struct gang_quota half = {"gpu", GPUS * 1000, NULL, 0, 0};
static struct gang_quota none = {"gpu", 0, NULL, 0, 0};

static void add_node(const char *name, const char *partition)
{
    struct box box = {.name = name,
                      .cpu = 8000,
                      .memory = GIB,
                      .gpus = GPUS,
                      .partitions = &partition,
                      .partition_count = partition != NULL};
    stage_add(&h.stage, &box);
}

static struct gang_queue_spec queue(const char *name, const struct gang_quota *guarantee)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = name;
    q.guaranteed = guarantee;
    q.guaranteed_count = 1;
    return q;
}

/* A node "lent" of the partition "own", a node "open". The queues "owner" and "guest" are
 * guaranteed a node each, "rest" nothing. */
static void setup(void)
{
    struct gang_queue_spec q[3] = {queue("owner", &half), queue("guest", &half),
                                   queue("rest", &none)};
    host_open(&h, 0, 0);
    add_node("lent", "own");
    add_node("open", NULL);
    MUST(gang_partition_set(h.stage.w, "own", GANG_PARTITION_LENDING));
    host_queues(&h, q, 3);
}

static void teardown(void)
{
    host_close(&h);
}

static gang_job_id submit(const char *in, int64_t gpus, int64_t min, const char *partition)
{
    struct gang_group_spec g = host_gpus(gpus, min);
    struct gang_job_spec job = host_job(&g, 1);
    g.partition = partition;
    job.queue = in;
    return host_submit(&h, &job);
}

static gang_job_id start(const char *in, int64_t gpus, const char *partition)
{
    gang_job_id id = submit(in, gpus, gpus, partition);
    host_run(&h, 1);
    return id;
}

static gang_node_id node(const char *name)
{
    gang_node_id id;
    MUST(gang_node_find(h.stage.c, name, &id));
    return id;
}

/* Nothing happens any more. */
static void stays_so(void)
{
    h.count = 0;
    for (int i = 0; i < 5; i++)
        host_run(&h, (int64_t)600 * HOST_SECOND);
    ck_assert_uint_eq(h.count, 0);
}

static int32_t rule_for(gang_job_id id)
{
    struct gang_preemption *answer;
    MUST(gang_job_explain_preemption(h.s, id, &answer));
    int32_t rule = answer->rule_count ? answer->rules[0].rule : -1;
    gang_preemption_free(answer);
    return rule;
}

START_TEST(a_guest_moves_where_it_fits)
{
    gang_job_id rest = start("rest", 2, NULL), guest = start("guest", 2, NULL);
    ck_assert_uint_eq(host_node_of(&h, guest, 0), node("lent"));
    host_end_job(&h, rest);
    gang_job_id owner = start("owner", 2, "own");
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    ck_assert_int_eq(host_tasks(&h, guest), 2);
    ck_assert_uint_eq(host_node_of(&h, guest, 0), node("open"));
    ck_assert_int_eq(host_last(&h, guest, "preempt")->reason, GANG_REASON_MOVE);
}
END_TEST

/* YARN preempts what ignores the exclusivity of a label first. The queue of the guest has its
 * guarantee still: it takes that where a queue has more than its own. */
START_TEST(a_guest_inside_its_guarantee_gives_way)
{
    gang_job_id rest = start("rest", 2, NULL), guest = start("guest", 2, NULL);
    ck_assert_uint_eq(host_node_of(&h, guest, 0), node("lent"));
    gang_job_id owner = start("owner", 2, "own");
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    ck_assert_int_eq(host_last(&h, guest, "preempt")->reason, GANG_REASON_RECLAIM);
    ck_assert_uint_eq(host_last(&h, guest, "preempt")->because, owner);
    ck_assert_int_eq(host_tasks(&h, guest), 2);
    ck_assert_uint_eq(host_node_of(&h, guest, 0), node("open"));
    ck_assert_int_eq(host_tasks(&h, rest), 0);
    stays_so();
}
END_TEST

START_TEST(a_guarantee_of_the_partition_alone_is_enough)
{
    struct gang_quota here = {"gpu", GPUS * 1000, "own", 0, 0};
    struct gang_queue_spec q[3] = {queue("owner", &here), queue("guest", &half),
                                   queue("rest", &none)};
    host_queues(&h, q, 3);
    gang_job_id rest = start("rest", 2, NULL), guest = start("guest", 2, NULL);
    ck_assert_int_eq(host_tasks(&h, rest) + host_tasks(&h, guest), 4);
    gang_job_id owner = start("owner", 2, "own");
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    ck_assert_int_eq(host_tasks(&h, guest), 2);
    gang_job_id more = start("owner", 1, "own"); /* it is beyond the guarantee */
    ck_assert_int_eq(host_tasks(&h, more), 0);
    stays_so();
}
END_TEST

/* Otherwise the guest would preempt the owner at once. */
START_TEST(a_guest_of_a_higher_class_stays_unless_a_guarantee_covers_the_owner)
{
    struct gang_quota here = {"gpu", GPUS * 1000, "own", 0, 0};
    struct gang_queue_spec q[3] = {queue("owner", &here), queue("guest", &half),
                                   queue("rest", &none)};
    q[0].preempt_class = "low";
    q[1].preempt_class = "high";
    q[1].preempts = "low";
    host_queues(&h, q, 3);
    start("rest", 2, NULL);
    gang_job_id guest = start("guest", 2, NULL), owner = start("owner", 2, "own");
    ck_assert_int_eq(host_tasks(&h, guest), 2);
    ck_assert_int_eq(host_tasks(&h, owner), 0);
    q[0].guaranteed = &half;
    host_queues(&h, q, 3);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    stays_so();
}
END_TEST

START_TEST(beyond_its_guarantee_the_owner_waits)
{
    start("rest", 2, NULL);
    gang_job_id guest = start("guest", 2, NULL), late = start("rest", 2, "own");
    ck_assert_int_eq(host_tasks(&h, late), 0);
    ck_assert_int_eq(host_tasks(&h, guest), 2);
    ck_assert_uint_eq(host_node_of(&h, guest, 0), node("lent"));
    stays_so();
}
END_TEST

START_TEST(a_job_that_names_the_partition_is_no_guest)
{
    gang_job_id guest = start("guest", 2, "own"), owner = start("owner", 2, "own");
    ck_assert_int_eq(host_tasks(&h, owner), 0);
    ck_assert_int_eq(host_tasks(&h, guest), 2);
    ck_assert_int_eq(rule_for(owner), GANG_PROTECTED_SHARE);
}
END_TEST

START_TEST(a_job_that_does_not_name_it_takes_nothing_back)
{
    start("owner", 2, NULL); /* on the open node */
    gang_job_id guest = start("guest", 2, NULL), rest = start("rest", 1, NULL);
    ck_assert_uint_eq(host_node_of(&h, guest, 0), node("lent"));
    ck_assert_int_eq(host_tasks(&h, rest), 0);
    stays_so();
}
END_TEST

START_TEST(what_protects_a_gang_protects_a_guest)
{
    struct gang_queue_spec q[3] = {queue("owner", &half), queue("guest", &half),
                                   queue("rest", &none)};
    gang_job_id rest = start("rest", 2, NULL), guest = start("guest", 2, NULL), owner;
    q[1].no_preemption = 1;
    host_queues(&h, q, 3);
    owner = start("owner", 2, "own");
    ck_assert_int_eq(host_tasks(&h, owner), 0);
    q[1].no_preemption = 0;
    q[0].reclaim = GANG_PREEMPT_NEVER;
    host_queues(&h, q, 3);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, owner), 0);
    ck_assert_int_eq(rule_for(owner), GANG_PROTECTED_RECLAIM_NEVER);
    q[0].reclaim = GANG_PREEMPT_ANY;
    q[1].min_runtime_ns = (int64_t)60 * HOST_SECOND;
    host_queues(&h, q, 3);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, owner), 0);
    host_run_next(&h);
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    ck_assert_int_eq(host_tasks(&h, guest), 2);
    ck_assert_int_eq(host_tasks(&h, rest), 0);
}
END_TEST

/* An elastic guest gives the tasks on the nodes where it is a guest, though others are newer. */
START_TEST(of_an_elastic_guest_the_tasks_there_go)
{
    struct gang_quota four = {"gpu", 4000, NULL, 0, 0};
    struct gang_queue_spec q[3] = {queue("owner", &half), queue("guest", &half),
                                   queue("rest", &four)};
    add_node("more", NULL);
    host_queues(&h, q, 3);
    gang_job_id rest = start("rest", 4, NULL), guest = submit("guest", 4, 1, NULL);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, guest), 2);
    ck_assert_uint_eq(host_node_of(&h, guest, 0), node("lent"));
    host_end_job(&h, rest);
    ck_assert_int_eq(host_tasks(&h, guest), 4);
    gang_job_id other = start("rest", 2, NULL), owner = start("owner", 2, "own");
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    ck_assert_int_eq(host_tasks(&h, other), 2);
    ck_assert_int_eq(host_tasks(&h, guest), 2);
    ck_assert_int_eq(host_ops(&h, guest, "preempt"), 0);
    stays_so();
}
END_TEST

START_TEST(a_node_that_became_exclusive_goes_back)
{
    MUST(gang_partition_set(h.stage.w, "own", GANG_PARTITION_SHARED));
    gang_job_id rest = start("rest", 2, NULL), guest = start("guest", 2, NULL), inside = guest;
    if (host_node_of(&h, rest, 0) == node("lent"))
        inside = rest;
    ck_assert_uint_eq(host_node_of(&h, inside, 0), node("lent"));
    MUST(gang_partition_set(h.stage.w, "own", GANG_PARTITION_EXCLUSIVE));
    gang_job_id owner = start("owner", 2, "own");
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    ck_assert_int_eq(host_tasks(&h, guest), 2);
    ck_assert_uint_eq(host_node_of(&h, guest, 0), node("open"));
    stays_so();
}
END_TEST

START_TEST(an_owner_that_waits_sees_the_mode_change)
{
    MUST(gang_partition_set(h.stage.w, "own", GANG_PARTITION_SHARED));
    gang_job_id first = start("guest", 2, NULL), second = start("rest", 2, NULL), owner;
    gang_job_id inside = host_node_of(&h, first, 0) == node("lent") ? first : second;
    struct gang_queue_spec q[3] = {queue("owner", &half), queue("guest", &half),
                                   queue("rest", &half)};
    host_queues(&h, q, 3);
    owner = start("owner", 2, "own");
    ck_assert_int_eq(host_tasks(&h, owner), 0);
    MUST(gang_partition_set(h.stage.w, "own", GANG_PARTITION_LENDING));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    ck_assert_int_eq(host_tasks(&h, inside), 0);
}
END_TEST

START_TEST(an_owner_with_a_planned_start_takes_its_nodes_too)
{
    struct gang_queue_spec q[3] = {queue("owner", &half), queue("guest", &half),
                                   queue("rest", &none)};
    gang_job_id rest = start("rest", 2, NULL), guest = start("guest", 2, NULL);
    q[0].backfill = GANG_BACKFILL_EASY;
    host_queues(&h, q, 3);
    host_end_job(&h, rest);
    gang_job_id owner = start("owner", 2, "own");
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    ck_assert_int_eq(host_tasks(&h, guest), 2);
}
END_TEST

START_TEST(an_owner_grows_on_nodes_with_guests)
{
    gang_job_id rest = start("rest", 2, NULL), guest, owner;
    owner = submit("owner", 2, 1, "own");
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    host_end_job(&h, owner);
    guest = start("guest", 1, NULL);
    owner = submit("owner", 2, 1, "own");
    host_run(&h, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, owner), 2);
    ck_assert_int_eq(host_tasks(&h, guest), 1);
    ck_assert_int_eq(host_tasks(&h, rest), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lending");
    TCase *tests = tcase_create("lending");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_guest_moves_where_it_fits);
    tcase_add_test(tests, a_guest_inside_its_guarantee_gives_way);
    tcase_add_test(tests, a_guarantee_of_the_partition_alone_is_enough);
    tcase_add_test(tests, a_guest_of_a_higher_class_stays_unless_a_guarantee_covers_the_owner);
    tcase_add_test(tests, beyond_its_guarantee_the_owner_waits);
    tcase_add_test(tests, a_job_that_names_the_partition_is_no_guest);
    tcase_add_test(tests, a_job_that_does_not_name_it_takes_nothing_back);
    tcase_add_test(tests, what_protects_a_gang_protects_a_guest);
    tcase_add_test(tests, of_an_elastic_guest_the_tasks_there_go);
    tcase_add_test(tests, a_node_that_became_exclusive_goes_back);
    tcase_add_test(tests, an_owner_that_waits_sees_the_mode_change);
    tcase_add_test(tests, an_owner_with_a_planned_start_takes_its_nodes_too);
    tcase_add_test(tests, an_owner_grows_on_nodes_with_guests);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
