/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations of kinds of the site and of device profiles. */
#include "chance.h"
#include "sched/reserving.h"

enum { NODES = 2, FPGAS = 4 };

static int32_t fpga;

/* An A100 of 40 GB. */
static const struct gang_profile_spec a100[] = {
    {"1g", "A100", 1, 0x7f}, {"2g", "A100", 2, 0x15}, {"3g", "A100", 4, 0x11}};

static void add_sliced(const char *name)
{
    struct gang_gpu_spec gpu[8];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_node_id id;
    for (int i = 0; i < 8; i++) {
        gpu[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
        gpu[i].model = "A100";
        gpu[i].parent = "gpu0";
        gpu[i].mig_index = i;
    }
    spec.name = name;
    spec.cpu_milli = 64000;
    spec.memory_bytes = 64 * GIB;
    spec.gpus = gpu;
    spec.gpu_count = 8;
    spec.profiles = a100;
    spec.profile_count = 3;
    gang_result r = gang_node_add(h.stage.w, &spec, &id, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
}

/* Nodes with FPGAs, or one with a GPU that is cut; one queue. */
static void open_with(bool sliced)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    memset(&h, 0, sizeof(h));
    stage_open(&h.stage, NULL, 0);
    MUST(gang_kind_add(h.stage.w, "fpga", NULL, GANG_SCOPE_NODE, 0, &fpga));
    MUST(gang_kind_add(h.stage.w, "seats", NULL, GANG_SCOPE_CLUSTER, 7, NULL));
    const struct gang_amount four = {"fpga", FPGAS};
    for (int i = 0; i < NODES && !sliced; i++) {
        char name[8];
        snprintf(name, sizeof(name), "n%d", i);
        struct box box = {.name = name, .cpu = 8000, .memory = 64 * GIB, .gpus = 4};
        box.amounts = &four;
        box.amount_count = 1;
        stage_add(&h.stage, &box);
    }
    if (sliced)
        add_sliced("n0");
    opts.mem = &h.stage.mem.mem;
    MUST(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, NULL));
    q.name = "q";
    q.backfill = GANG_BACKFILL_NONE;
    host_queues(&h, &q, 1);
    host_run(&h, 0);
}

static void open_fpgas(void)
{
    open_with(false);
}

static void open_sliced(void)
{
    open_with(true);
}

static void close_it(void)
{
    host_close(&h);
}

static struct gang_group_spec with_fpgas(int64_t count, int64_t each)
{
    static struct gang_amount amount;
    struct gang_group_spec g = group_of(count, 100, 0);
    amount = (struct gang_amount){"fpga", each};
    g.amounts = &amount;
    g.amount_count = each > 0;
    return g;
}

static struct gang_group_spec with_profile(int64_t count, const char *profile)
{
    struct gang_group_spec g = group_of(count, 100, 1000);
    g.profile = profile;
    return g;
}

/* From start_s, for 100 s. Good until the next call. */
static struct gang_reservation_spec *reservation(const char *name, struct gang_group_spec g,
                                                 int64_t start_s)
{
    static struct gang_group_spec group;
    struct gang_reservation_spec *spec = host_whole(name, 1, start_s, 100);
    struct gang_reservation_stage *stage = (struct gang_reservation_stage *)(uintptr_t)spec->stages;
    group = g;
    stage->groups = &group;
    stage->exclusive = 0;
    return spec;
}

static gang_job_id job(struct gang_group_spec g, int64_t limit_s, const char *in)
{
    struct gang_job_spec spec = host_job(&g, 1);
    spec.queue = "q";
    spec.time_limit_ns = limit_s * SECOND;
    spec.reservation = in;
    gang_job_id id = host_submit(&h, &spec);
    host_run(&h, 0);
    return id;
}

START_TEST(others_leave_the_reserved_amounts)
{
    reserve(reservation("r", with_fpgas(2, 3), 100));
    gang_job_id shorter = job(with_fpgas(2, 4), 90, NULL);
    ck_assert(runs(shorter)); /* it ends before */
    run_until(90);
    MUST(gang_report_end(h.s, shorter, 1));
    ck_assert(!runs(job(with_fpgas(1, 2), 50, NULL)));
    ck_assert(runs(job(with_fpgas(1, 1), 50, NULL))); /* beside it */
    ck_assert(runs(job(with_fpgas(1, 0), 50, NULL))); /* it asks for none */
}
END_TEST

START_TEST(members_use_what_is_reserved_once)
{
    gang_reservation_id id = reserve(reservation("r", with_fpgas(2, 3), 100));
    gang_job_id first = job(with_fpgas(1, 3), 50, "r"), second = job(with_fpgas(1, 2), 50, "r");
    gang_job_id third = job(with_fpgas(1, 2), 50, "r"), none = job(with_fpgas(1, 4), 50, "r");
    ck_assert(!runs(first));
    run_until(100);
    ck_assert(runs(first) && runs(second) && !runs(third) && !runs(none));
    ck_assert_int_eq(info_of(id).running, 2);
    MUST(gang_report_end(h.s, second, 1));
    host_run(&h, 0);
    ck_assert(runs(third));
}
END_TEST

/* What a reservation does not name its members take outside, beside what others reserved. */
START_TEST(members_take_other_kinds_outside)
{
    reserve(reservation("plain", with_fpgas(1, 0), 0));
    reserve(reservation("r", with_fpgas(1, 2), 0));
    gang_job_id first = job(with_fpgas(1, 2), 50, "plain");
    ck_assert(runs(first));
    MUST(gang_report_end(h.s, first, 1));
    host_run(&h, 0);
    ck_assert(!runs(job(with_fpgas(1, 3), 50, "plain")));
    ck_assert(runs(job(with_fpgas(1, 2), 50, "r")));
}
END_TEST

START_TEST(a_kind_may_be_reserved_while_members_use_it)
{
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    gang_reservation_id id = reserve(reservation("plain", with_fpgas(1, 0), 0));
    gang_job_id member = job(with_fpgas(1, 3), 50, "plain");
    ck_assert(runs(member));
    EXPECT_RESULT(refused(reservation("r", with_fpgas(3, 2), 0), &when, &error), GANG_ENOFIT,
                  &error);
    ck_assert_int_eq(when, 50 * SECOND);
    reserve(reservation("r", with_fpgas(3, 2), 50));
    host_run(&h, SECOND);
    ck_assert(runs(member));
    ck_assert_int_eq(info_of(id).running, 1); /* it is inside still */
}
END_TEST

START_TEST(whole_nodes_have_all_their_amounts)
{
    reserve(host_whole("all", 1, 0, 100));
    reserve(reservation("r", with_fpgas(1, 1), 0));
    ck_assert(runs(job(with_fpgas(1, 4), 50, "all")));
}
END_TEST

START_TEST(a_reservation_waits_for_amounts)
{
    int64_t when;
    struct gang_error error = GANG_ERROR_INIT;
    ck_assert(runs(job(with_fpgas(2, 3), 60, NULL)));
    EXPECT_RESULT(refused(reservation("r", with_fpgas(1, 2), 10), &when, &error), GANG_ENOFIT,
                  &error);
    ck_assert_int_eq(when, 60 * SECOND);
    struct gang_reservation_spec *later = reservation("r", with_fpgas(1, 2), 10);
    later->start_ns = -1;
    gang_reservation_id id = reserve(later);
    ck_assert_int_eq(info_of(id).start_ns, 60 * SECOND);
    EXPECT_RESULT(refused(reservation("s", with_fpgas(1, 5), 10), &when, &error), GANG_ENEVER,
                  &error);
}
END_TEST

START_TEST(lost_amounts_are_replaced)
{
    gang_reservation_id id = reserve(reservation("r", with_fpgas(1, 3), 100));
    lose(0);
    const struct host_reserve *event = last_reported(id, GANG_RESERVATION_LOST);
    ck_assert_int_eq(event->outcome, GANG_RESERVATION_KEPT); /* on the other node */
    bring_up(0);
    ck_assert(runs(job(with_fpgas(1, 4), 200, NULL)));
    lose(1);
    event = last_reported(id, GANG_RESERVATION_LOST);
    ck_assert_int_ne(event->outcome, GANG_RESERVATION_KEPT); /* the job has what is left */
}
END_TEST

START_TEST(what_lies_on_no_node_is_refused)
{
    static const struct gang_amount seat = {"seats", 1};
    struct gang_group_spec g = group_of(1, 100, 0);
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    g.amounts = &seat;
    g.amount_count = 1;
    EXPECT_ERROR(refused(reservation("r", g, 0), &when, &error), GANG_ENOTSUP, &error,
                 "stages[0].groups[0].amounts", NULL);
}
END_TEST

/* A profile counts twice. */
START_TEST(more_than_sixteen_kinds_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    for (int i = 0; i <= 16; i++) {
        char profile[8], name[8];
        snprintf(profile, sizeof(profile), "p%d", i);
        snprintf(name, sizeof(name), "r%d", i);
        gang_result r = refused(reservation(name, with_profile(1, profile), 0), &when, &error);
        ck_assert_int_eq(r, GANG_ENEVER); /* no node has it; nothing is left of it */
    }
    struct gang_group_spec group[9];
    char profile[9][8];
    struct gang_reservation_spec *spec = reservation("r", with_profile(1, "p"), 0);
    struct gang_reservation_stage *stage = (struct gang_reservation_stage *)(uintptr_t)spec->stages;
    for (int i = 0; i < 9; i++) {
        snprintf(profile[i], sizeof(profile[i]), "p%d", i);
        group[i] = with_profile(1, profile[i]);
    }
    stage->groups = group;
    stage->group_count = 9;
    EXPECT_RESULT(refused(spec, &when, &error), GANG_ELIMIT, &error);
}
END_TEST

/* ---- profiles -------------------------------------------------------------------------------- */

START_TEST(instances_are_kept)
{
    reserve(reservation("r", with_profile(1, "3g"), 100));
    ck_assert(runs(job(with_profile(1, "2g"), 200, NULL))); /* in the half that is left */
    ck_assert(!runs(job(with_profile(1, "3g"), 200, NULL)));
    gang_job_id member = job(with_profile(1, "3g"), 50, "r");
    run_until(100);
    ck_assert(runs(member));
}
END_TEST

/* Four instances of 1g may lie in both halves; then there is no place for one of 3g. */
START_TEST(smaller_instances_leave_the_larger_one)
{
    reserve(reservation("r", with_profile(1, "3g"), 100));
    gang_job_id one = job(with_profile(1, "1g"), 200, NULL);
    ck_assert(runs(one));
    ck_assert(!runs(job(with_profile(1, "1g"), 200, NULL))); /* it might lie in the other half */
    ck_assert(runs(job(with_profile(1, "1g"), 50, NULL)));
    gang_job_id member = job(with_profile(1, "3g"), 50, "r");
    run_until(60);
    host_run(&h, 0);
    run_until(100);
    ck_assert(runs(member));
}
END_TEST

START_TEST(members_take_instances)
{
    gang_reservation_id id = reserve(reservation("r", with_profile(4, "1g"), 10));
    gang_job_id two = job(with_profile(2, "1g"), 50, "r"),
                more = job(with_profile(3, "1g"), 50, "r");
    run_until(10);
    ck_assert(runs(two) && !runs(more));
    ck_assert_int_eq(info_of(id).running, 1);
    MUST(gang_report_end(h.s, two, 1));
    host_run(&h, 0);
    ck_assert(runs(more));
}
END_TEST

START_TEST(more_instances_than_there_are_never_fit)
{
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    EXPECT_RESULT(refused(reservation("r", with_profile(8, "1g"), 0), &when, &error), GANG_ENEVER,
                  &error);
    EXPECT_RESULT(refused(reservation("r", with_profile(3, "3g"), 0), &when, &error), GANG_ENEVER,
                  &error);
    reserve(reservation("r", with_profile(7, "1g"), 0));
}
END_TEST

/* ---- at random ------------------------------------------------------------------------------- */

enum { RESERVED = 40 };

static struct {
    gang_reservation_id id;
    gang_job_id member;
    int64_t start_ns;
} made[RESERVED];
static int made_count, started;

static void check_members(void)
{
    for (int i = 0; i < made_count; i++) {
        if (made[i].start_ns > h.now_ns)
            continue;
        ck_assert_msg(runs(made[i].member), "the member of reservation %d does not run at %" PRId64,
                      i, h.now_ns / SECOND);
        started++;
        made[i].start_ns = INT64_MAX;
    }
}

/* With its only member, which takes all of it. */
static void reserve_at_random(void)
{
    static const char *const profile[] = {"1g", "2g", "3g"};
    struct gang_group_spec g = with_profile(1 + below(4), profile[below(3)]);
    struct gang_reservation_spec *spec = reservation("", g, h.now_ns / SECOND + 1 + below(100));
    gang_reservation_id id;
    char name[16];
    if (made_count == RESERVED)
        return;
    snprintf(name, sizeof(name), "r%d", made_count);
    spec->name = name;
    spec->duration_ns = (10 + below(50)) * SECOND;
    if (one_in(2))
        spec->start_ns = -1;
    if (gang_reservation_add(h.s, spec, &id, &made[made_count].start_ns, NULL) != GANG_OK)
        return;
    made[made_count].id = id;
    made[made_count++].member = job(g, spec->duration_ns / SECOND, name);
    check_members();
}

static void pass(int64_t seconds)
{
    for (int64_t until = h.now_ns + seconds * SECOND; h.now_ns < until;) {
        int64_t next = gang_sched_next(h.s);
        next = next < h.now_ns ? h.now_ns : next;
        host_run(&h, (next < until ? next : until) - h.now_ns);
        check_members();
    }
}

/* A member that asks for just what is reserved starts at its begin, whatever runs beside it. */
START_TEST(members_start_in_random_lives)
{
    static const char *const profile[] = {"1g", "2g", "3g"};
    uint64_t seed = test_seed();
    started = 0;
    for (uint64_t world = 0; world < 60; world++) {
        chance_state = seed * 1000003u + world;
        open_sliced();
        add_sliced("n1");
        made_count = 0;
        for (int step = 0; step < 60; step++) {
            if (one_in(3))
                reserve_at_random();
            else if (one_in(2))
                (void)job(with_profile(1 + below(3), profile[below(3)]), 1 + below(80), NULL);
            else
                pass(below(30));
            h.count = 0;
        }
        close_it();
    }
    ck_assert_int_gt(started, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reserve kinds");
    TCase *kinds = tcase_create("kinds"), *profiles = tcase_create("profiles");
    tcase_add_checked_fixture(kinds, open_fpgas, close_it);
    tcase_add_test(kinds, others_leave_the_reserved_amounts);
    tcase_add_test(kinds, members_use_what_is_reserved_once);
    tcase_add_test(kinds, members_take_other_kinds_outside);
    tcase_add_test(kinds, a_kind_may_be_reserved_while_members_use_it);
    tcase_add_test(kinds, whole_nodes_have_all_their_amounts);
    tcase_add_test(kinds, a_reservation_waits_for_amounts);
    tcase_add_test(kinds, lost_amounts_are_replaced);
    tcase_add_test(kinds, what_lies_on_no_node_is_refused);
    tcase_add_test(kinds, more_than_sixteen_kinds_are_refused);
    tcase_add_checked_fixture(profiles, open_sliced, close_it);
    tcase_add_test(profiles, instances_are_kept);
    tcase_add_test(profiles, smaller_instances_leave_the_larger_one);
    tcase_add_test(profiles, members_take_instances);
    tcase_add_test(profiles, more_instances_than_there_are_never_fit);
    TCase *random = tcase_create("random");
    tcase_set_timeout(random, 120);
    tcase_add_test(random, members_start_in_random_lives);
    suite_add_tcase(suite, random);
    suite_add_tcase(suite, kinds);
    suite_add_tcase(suite, profiles);
    return run_suite(suite);
}
