/* SPDX-License-Identifier: Apache-2.0 */
/* Leases: a whole node is taken by one word of its cell, and no answer differs. What would touch a
 * leased node otherwise breaks the lease. A random life is lived twice, with leases and without. */
#include "lease.h"

#include "chance.h"

enum { NODES = 4 };

static gang_cluster *cluster;
static gang_worker *worker;
static gang_node_id node[NODES];

static void setup(void)
{
    test_must(gang_cluster_new(NULL, &cluster, NULL));
    test_must(gang_worker_new(cluster, &worker));
    lease_machines(worker, node, NODES);
}

static void teardown(void)
{
    ck_assert_int_eq(gang_cluster_check(cluster, NULL), GANG_OK);
    lease_end(cluster);
}

static gang_alloc_id place(int64_t tasks, int64_t gpus)
{
    gang_alloc_id id;
    test_must(gang_alloc(worker, lease_request(cluster, tasks, gpus), &id, NULL));
    ck_assert_int_eq(gang_cluster_check(cluster, NULL), GANG_OK);
    return id;
}

static int leased(void)
{
    int count = 0;
    for (int i = 0; i < NODES; i++)
        count += is_leased(cluster, node[i]);
    return count;
}

static void check_node(gang_node_id id, int gpus)
{
    struct gang_node_info info = GANG_NODE_INFO_INIT;
    gang_snapshot *snapshot;
    test_must(gang_node_get(cluster, id, &info));
    ck_assert_int_eq(info.gpus_free, gpus);
    ck_assert_int_eq(info.cpu_free, gpus * LEASE_CPU / LEASE_GPUS);
    ck_assert_int_eq(info.memory_free, gpus * (LEASE_MEMORY / LEASE_GPUS));
    test_must(gang_snapshot_new(cluster, &snapshot));
    test_must(gang_snapshot_take(worker, snapshot));
    test_must(gang_snapshot_node_get(snapshot, id, &info));
    ck_assert_int_eq(info.gpus_free, gpus);
    ck_assert_int_eq(info.cpu_free, gpus * LEASE_CPU / LEASE_GPUS);
    ck_assert_int_eq(info.memory_free, gpus * (LEASE_MEMORY / LEASE_GPUS));
    gang_snapshot_free(snapshot);
}

static void free_all(gang_alloc_id id)
{
    test_must(gang_alloc_free(worker, id));
    ck_assert_int_eq(leased(), 0);
    for (int i = 0; i < NODES; i++)
        check_node(node[i], LEASE_GPUS);
}

/* ---- granted --------------------------------------------------------------------------------- */

START_TEST(whole_nodes_are_leased_and_full)
{
    gang_alloc_id id = place(NODES, 8), other;
    ck_assert_int_eq(leased(), NODES);
    for (int i = 0; i < NODES; i++)
        check_node(node[i], 0);
    ck_assert_int_eq(gang_alloc(worker, lease_request(cluster, 1, 1), &other, NULL), GANG_ENOFIT);
    ck_assert_int_eq(leased(), NODES);
    free_all(id);
}
END_TEST

START_TEST(tasks_that_fill_a_node_together_lease_it)
{
    gang_alloc_id id = place(2 * LEASE_GPUS, 1);
    ck_assert_int_eq(leased(), 2);
    free_all(id);
}
END_TEST

/* A node that a stale bit of the index shows once more is not taken twice. `_i`: the node. */
START_TEST(node_that_is_shown_twice_is_taken_once)
{
    gang_request *all = lease_request(cluster, NODES * LEASE_GPUS, 1);
    gang_alloc_id id, one;
    for (int i = 0; i < 2; i++) { /* the second gang is placed without a plan */
        test_must(gang_alloc(worker, all, &id, NULL));
        free_all(id);
    }
    test_must(gang_alloc(worker, lease_request(cluster, 1, 8), &one, NULL));
    struct gang__buckets stale = {GANG__GPU_WHOLE + 1, 1};
    uint32_t slot = (uint32_t)node[_i];
    struct gang__chunk *chunk = gang__chunk_of(&cluster->commit, slot);
    gang__index_raise(&cluster->commit, slot, gang__layout_at(chunk, slot), stale);
    ck_assert_int_eq(gang_alloc(worker, all, &id, NULL), GANG_ENOFIT);
    free_all(one);
    test_must(gang_alloc(worker, all, &id, NULL));
    free_all(id);
}
END_TEST

START_TEST(exclusive_nodes_are_leased)
{
    gang_alloc_id id;
    test_must(gang_alloc(worker, lease_elastic(cluster, 2, 2, 3, 1), &id, NULL));
    ck_assert_int_eq(leased(), 1); /* two of three GPUs on one node */
    free_all(id);
}
END_TEST

static uint64_t owner_of(int i)
{
    uint32_t slot = (uint32_t)node[i];
    return gang__load(&gang__chunk_of(&cluster->commit, slot)->cell[slot % GANG__CHUNK].owner);
}

/* The commit of a lease leaves its claims, which say nothing. Readers clear them, and the end of
 * the lease claims in their place. A free node is left without a claim. */
START_TEST(claims_of_leased_nodes_are_void)
{
    gang_worker *other;
    test_must(gang_worker_new(cluster, &other));
    for (int reader = 0; reader < 2; reader++) {
        gang_request *all = lease_request(cluster, NODES, 8);
        gang_alloc_id id;
        test_must(gang_alloc(worker, all, &id, NULL));
        for (int i = 0; i < NODES; i++) {
            ck_assert(owner_of(i) != 0);
            ck_assert(gang__claim_is_void(&cluster->commit, owner_of(i)));
        }
        for (int i = 0; reader && i < NODES; i++) {
            check_node(node[i], 0);
            ck_assert_uint_eq(owner_of(i), 0);
        }
        test_must(gang_alloc_free(other, id));
        ck_assert_int_eq(leased(), 0);
        for (int i = 0; i < NODES; i++) {
            ck_assert_uint_eq(owner_of(i), 0);
            check_node(node[i], LEASE_GPUS);
        }
    }
}
END_TEST

START_TEST(part_of_a_node_is_not_leased)
{
    gang_alloc_id part = place(1, 1), rest = place(1, 7), whole = place(1, 8);
    ck_assert_int_eq(leased(), 1);
    test_must(gang_alloc_free(worker, part));
    test_must(gang_alloc_free(worker, whole));
    free_all(rest);
}
END_TEST

/* ---- broken ---------------------------------------------------------------------------------- */

static gang_result visit_task(const struct gang_task *task, void *user)
{
    *(gang_node_id *)user = task->node;
    return GANG_OK;
}

/* The node of the last task of a gang. */
static gang_node_id gang_alloc_node(gang_alloc_id id)
{
    gang_node_id at = 0;
    test_must(gang_alloc_each(cluster, id, visit_task, &at));
    return at;
}

enum {
    MORE_CAPACITY,
    LESS_THAN_IS_TAKEN,
    SAME_CAPACITY,
    DRAINED,
    SICK,
    TASK_OF_NOTHING,
    OTHER_TASK_GOES,
    WAYS
};

/* What is done to a node that a gang has alone. */
static void disturb(int how, gang_alloc_id id, gang_node_id at)
{
    static const int64_t second = 1;
    struct gang_node_info info = GANG_NODE_INFO_INIT;
    gang_alloc_id other;
    test_must(gang_node_get(cluster, at, &info));
    switch (how) {
    case MORE_CAPACITY:
        test_must(lease_machine(worker, info.name, LEASE_CPU + 8000, 0, &at));
        break;
    case LESS_THAN_IS_TAKEN:
        ck_assert_int_eq(lease_machine(worker, info.name, LEASE_CPU - 1000, 0, &at), GANG_EBUSY);
        break;
    case SAME_CAPACITY:
        test_must(lease_machine(worker, info.name, LEASE_CPU, 0, &at));
        break;
    case DRAINED:
        test_must(gang_node_set_state(worker, at, GANG_NODE_DRAINING));
        break;
    case SICK:
        test_must(gang_gpu_set_state(worker, at, 3, GANG_GPU_UNHEALTHY));
        break;
    case TASK_OF_NOTHING: /* fits, as on any node */
        test_must(gang_alloc(worker, lease_request(cluster, 1, 0), &other, NULL));
        test_must(gang_alloc_free(worker, other));
        break;
    case OTHER_TASK_GOES:
        test_must(gang_alloc_grow(worker, id, 0, 1, NULL, NULL));
        ck_assert_int_eq(leased(), 2);
        test_must(gang_alloc_shrink(worker, id, &second, 1, NULL));
        ck_assert_int_eq(leased(), 1);
        break;
    }
}

START_TEST(lease_is_broken_where_it_has_to_be)
{
    struct gang_node_info info = GANG_NODE_INFO_INIT;
    gang_alloc_id id;
    test_must(gang_alloc(worker, lease_elastic(cluster, 1, 3, 8, 0), &id, NULL));
    gang_node_id at = gang_alloc_node(id);
    ck_assert(is_leased(cluster, at));
    disturb(_i, id, at);
    ck_assert_int_eq(gang_cluster_check(cluster, NULL), GANG_OK);
    ck_assert_int_eq(is_leased(cluster, at), _i == OTHER_TASK_GOES);
    test_must(gang_node_get(cluster, at, &info));
    ck_assert_int_eq(info.gpus_free, 0);
    ck_assert_int_eq(info.cpu_free, _i == MORE_CAPACITY ? 8000 : 0);
    ck_assert_int_eq(info.memory_free, 0);
    test_must(gang_alloc_free(worker, id));
    test_must(gang_node_get(cluster, at, &info));
    ck_assert_int_eq(info.cpu_free, info.cpu_milli);
    ck_assert_int_eq(info.memory_free, LEASE_MEMORY);
    ck_assert_int_eq(info.gpu_free, 8000);
}
END_TEST

START_TEST(task_of_nothing_goes_to_a_full_cluster)
{
    gang_alloc_id id = place(NODES, 8), other = place(1, 0);
    ck_assert_int_eq(leased(), NODES - 1);
    test_must(gang_alloc_free(worker, other));
    free_all(id);
}
END_TEST

START_TEST(part_of_a_lease_is_given_back)
{
    gang_alloc_id id;
    int64_t granted, last = 2 * LEASE_GPUS - 1, rest[LEASE_GPUS];
    gang_request *request = lease_elastic(cluster, 1, 2 * LEASE_GPUS, 1, 0);
    test_must(gang_alloc(worker, request, &id, NULL));
    test_must(gang_alloc_grow(worker, id, 0, 2 * LEASE_GPUS - 1, &granted, NULL));
    ck_assert_int_eq(leased(), 1); /* all of the second node at once */
    gang_node_id at = gang_alloc_node(id);
    ck_assert(is_leased(cluster, at));
    test_must(gang_alloc_shrink(worker, id, &last, 1, NULL));
    ck_assert_int_eq(leased(), 0);
    check_node(at, 1);
    for (int i = 0; i < LEASE_GPUS - 1; i++)
        rest[i] = LEASE_GPUS + i;
    test_must(gang_alloc_shrink(worker, id, rest, LEASE_GPUS - 1, NULL));
    check_node(at, LEASE_GPUS);
    free_all(id);
}
END_TEST

/* The record of the lease is taken over by exact places. */
START_TEST(leased_place_is_refused_to_adoption)
{
    struct gang_placement place_of = GANG_PLACEMENT_INIT;
    gang_alloc_id id = place(NODES, 8), other;
    place_of.node = node[0];
    gang_request *request = lease_request(cluster, 1, 8);
    ck_assert_int_eq(gang_alloc_adopt(worker, request, &place_of, 1, &other, NULL), GANG_ENOFIT);
    ck_assert_int_eq(leased(), NODES);
    free_all(id);
    test_must(gang_alloc_adopt(worker, request, &place_of, 1, &other, NULL));
    ck_assert_int_eq(leased(), 0);
    free_all(other);
}
END_TEST

START_TEST(removed_node_keeps_what_was_leased)
{
    struct gang_node_info info = GANG_NODE_INFO_INIT;
    gang_alloc_id id = place(NODES, 8);
    test_must(gang_node_remove(worker, node[0]));
    ck_assert_int_eq(leased(), NODES - 1);
    test_must(gang_node_get(cluster, node[0], &info));
    ck_assert_int_eq(info.state, GANG_NODE_REMOVED);
    ck_assert_int_eq(info.gpus_free, 0);
    test_must(gang_alloc_free(worker, id));
    ck_assert_int_eq(leased(), 0);
    node[0] = 0;
    test_must(lease_machine(worker, "again", LEASE_CPU, 0, &node[0])); /* in the same slot or not */
    free_all(place(NODES, 8));
}
END_TEST

/* ---- what comes between a plan and its commit ------------------------------------------------ */

static gang_worker *other_worker;
static void (*between)(void);
static int step_now, step_at;

/* Once, before the first claim of the next commit of a gang. */
static void come_between(enum gang__step step)
{
    if (step != GANG__STEP_CLAIM || !between || step_now++ < step_at)
        return;
    void (*now)(void) = between;
    between = NULL;
    now();
}

static void let_come_between(void (*what)(void), int claims)
{
    step_now = 0;
    step_at = claims;
    between = what;
    atomic_store(&gang__hook_now, come_between);
}

static void other_takes_a_gpu(void)
{
    struct gang_placement at = GANG_PLACEMENT_INIT;
    gang_alloc_id id;
    at.node = node[2];
    test_must(gang_alloc_adopt(other_worker, lease_request(cluster, 1, 1), &at, 1, &id, NULL));
}

static void other_drains(void)
{
    test_must(gang_node_set_state(other_worker, node[2], GANG_NODE_DRAINING));
}

static void gpu_gets_sick(void)
{
    test_must(gang_gpu_set_state(other_worker, node[2], 3, GANG_GPU_UNHEALTHY));
}

/* Before the first claim and in the midst of the claims: the gang needs all nodes, and is refused
 * as a whole. */
START_TEST(node_that_changed_is_not_leased)
{
    gang_alloc_id id;
    test_must(gang_worker_new(cluster, &other_worker));
    free_all(place(NODES, 8)); /* the next one needs no plan */
    let_come_between(_i % 2 ? other_drains : other_takes_a_gpu, _i / 2);
    ck_assert_int_eq(gang_alloc(worker, lease_request(cluster, NODES, 8), &id, NULL), GANG_ENOFIT);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert(!between);
    ck_assert_int_eq(leased(), 0);
    for (int i = 0; i < NODES; i++)
        if (i != 2)
            check_node(node[i], LEASE_GPUS);
}
END_TEST

/* The same where all GPUs and half of the rest are taken of equal nodes, without a plan. */
START_TEST(equal_node_that_changed_is_not_taken)
{
    gang_request *halves = lease_halves(cluster, NODES);
    gang_alloc_id id;
    test_must(gang_worker_new(cluster, &other_worker));
    for (int i = 0; i < 2; i++) {
        test_must(gang_alloc(worker, halves, &id, NULL));
        free_all(id);
    }
    let_come_between(_i % 2 ? other_drains : other_takes_a_gpu, _i / 2);
    ck_assert_int_eq(gang_alloc(worker, halves, &id, NULL), GANG_ENOFIT);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert(!between);
    for (int i = 0; i < NODES; i++)
        if (i != 2)
            check_node(node[i], LEASE_GPUS);
}
END_TEST

START_TEST(lease_that_was_broken_meanwhile_is_given_back)
{
    test_must(gang_worker_new(cluster, &other_worker));
    gang_alloc_id id = place(NODES, 8);
    let_come_between(gpu_gets_sick, _i);
    test_must(gang_alloc_free(worker, id));
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert(!between);
    ck_assert_int_eq(gang_cluster_check(cluster, NULL), GANG_OK);
    test_must(gang_gpu_set_state(worker, node[2], 3, GANG_GPU_OK));
    for (int i = 0; i < NODES; i++)
        check_node(node[i], LEASE_GPUS);
}
END_TEST

/* Two leases of unlike nodes end in one commit: each stands where its own words say. */
START_TEST(unlike_nodes_go_back_together)
{
    struct gang_gpu_spec gpu[4];
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_node_id few, more;
    gang_alloc_id id;
    memset(gpu, 0, sizeof(gpu));
    for (int i = 0; i < 4; i++)
        gpu[i].numa = -1;
    for (int i = 0; i < NODES; i++)
        test_must(gang_node_set_state(worker, node[i], GANG_NODE_DOWN));
    struct gang_node_spec machine = GANG_NODE_SPEC_INIT;
    machine.name = "few";
    machine.cpu_milli = 8000;
    machine.gpus = gpu;
    machine.gpu_count = 3;
    test_must(gang_node_add(worker, &machine, &few, NULL));
    machine.name = "more";
    machine.gpu_count = 4;
    test_must(gang_node_add(worker, &machine, &more, NULL));
    g.count = 2;
    g.min = 1;
    g.cpu_milli = 8000;
    spec.groups = &g;
    spec.group_count = 1;
    spec.exclusive = 1;
    gang_request *request;
    test_must(gang_request_new(cluster, &spec, &request, NULL));
    lease_made[lease_made_count++] = request;
    test_must(gang_alloc(worker, request, &id, NULL));
    test_must(gang_alloc_grow(worker, id, 0, 1, NULL, NULL));
    ck_assert(is_leased(cluster, few) && is_leased(cluster, more));
    test_must(gang_alloc_free(worker, id));
    ck_assert(!is_leased(cluster, few) && !is_leased(cluster, more));
    ck_assert_int_eq(gang_cluster_check(cluster, NULL), GANG_OK); /* the index, too */
}
END_TEST

/* ---- the same life twice --------------------------------------------------------------------- */

enum { LIFE_NODES = 12, LIVES = 2, HELD = 16, KINDS_OF_GANG = 9 };

/* With leases, and on machines with too many words for them. */
struct life {
    gang_cluster *c;
    gang_worker *w;
    gang_node_id node[LIFE_NODES];
    gang_request *request[KINDS_OF_GANG];
    gang_alloc_id held[HELD];
    int kinds;
};
static struct life life[LIVES];

static void life_init(struct life *l, int kinds)
{
    static const int64_t tasks[KINDS_OF_GANG] = {1, 3, 6, 8, 16, 1, 5, 2, 1};
    static const int64_t gpus[KINDS_OF_GANG] = {8, 8, 8, 1, 1, 1, 4, 3, 0};
    char name[16];
    memset(l, 0, sizeof(*l));
    l->kinds = kinds;
    test_must(gang_cluster_new(NULL, &l->c, NULL));
    test_must(gang_worker_new(l->c, &l->w));
    for (int i = 0; i < kinds; i++) {
        int32_t kind;
        snprintf(name, sizeof(name), "kind%d", i);
        test_must(gang_kind_add(l->w, name, NULL, GANG_SCOPE_NODE, 0, &kind));
    }
    for (int i = 0; i < LIFE_NODES; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        test_must(lease_machine(l->w, name, LEASE_CPU, kinds, &l->node[i]));
    }
    for (int i = 0; i < KINDS_OF_GANG; i++)
        l->request[i] =
            lease_elastic(l->c, tasks[i], tasks[i] + 4, gpus[i], tasks[i] == 2 || tasks[i] == 6);
}

struct step {
    int64_t what, held, kind, node, amount;
};

static gang_result change_node(struct life *l, const struct step *s)
{
    gang_node_id *id = &l->node[s->node];
    char name[16];
    snprintf(name, sizeof(name), "n%d", (int)s->node);
    switch (s->amount % 4) {
    case 0:
        return lease_machine(l->w, name, LEASE_CPU + 1000 * (s->amount / 4 - 1), l->kinds, id);
    case 1:
        return gang_node_set_state(l->w, *id, s->amount > 5 ? GANG_NODE_UP : GANG_NODE_DRAINING);
    case 2:
        return gang_gpu_set_state(l->w, *id, (int32_t)s->held % LEASE_GPUS,
                                  s->amount > 4 ? GANG_GPU_OK : GANG_GPU_UNHEALTHY);
    default:
        return lease_machine(l->w, name, LEASE_CPU, l->kinds, id);
    }
}

static gang_result live(struct life *l, const struct step *s)
{
    gang_alloc_id *id = &l->held[s->held];
    int64_t task = s->amount;
    if (s->what < 2)
        return change_node(l, s);
    if (*id == 0)
        return gang_alloc(l->w, l->request[s->kind], id, NULL);
    switch (s->what) {
    case 2:
        return gang_alloc_grow_whole(l->w, *id, 0, 1 + s->amount % 3, NULL);
    case 3:
        return gang_alloc_shrink(l->w, *id, &task, 1, NULL);
    default: {
        gang_result r = gang_alloc_free(l->w, *id);
        *id = 0;
        return r;
    }
    }
}

/* The nodes of both are the same, but for the kinds. */
static void compare_nodes(void)
{
    gang_snapshot *snapshot;
    test_must(gang_snapshot_new(life[0].c, &snapshot));
    test_must(gang_snapshot_take(life[0].w, snapshot));
    for (int i = 0; i < LIFE_NODES; i++) {
        struct gang_node_info a = GANG_NODE_INFO_INIT, b = GANG_NODE_INFO_INIT,
                              then = GANG_NODE_INFO_INIT;
        test_must(gang_node_get(life[0].c, life[0].node[i], &a));
        test_must(gang_node_get(life[1].c, life[1].node[i], &b));
        test_must(gang_snapshot_node_get(snapshot, life[0].node[i], &then));
        ck_assert_int_eq(a.state, b.state);
        ck_assert_int_eq(a.cpu_free, b.cpu_free);
        ck_assert_int_eq(a.memory_free, b.memory_free);
        ck_assert_int_eq(a.gpu_free, b.gpu_free);
        ck_assert(memcmp(a.gpu_share_free, b.gpu_share_free, sizeof(a.gpu_share_free)) == 0);
        ck_assert(a.gpu_unhealthy == b.gpu_unhealthy && a.gpu_unhealthy == then.gpu_unhealthy);
        ck_assert_int_eq(a.cpu_free, then.cpu_free);
        ck_assert_int_eq(a.memory_free, then.memory_free);
        ck_assert_int_eq(a.gpu_free, then.gpu_free);
    }
    gang_snapshot_free(snapshot);
}

START_TEST(answers_are_those_of_the_general_way)
{
    int64_t most = 0;
    chance_state = test_seed();
    life_init(&life[0], 0);
    life_init(&life[1], LEASE_KINDS);
    for (int i = 0; i < 4000; i++) {
        struct step s = {below(8), below(HELD), below(KINDS_OF_GANG), below(LIFE_NODES), below(10)};
        int64_t now = 0;
        gang_result a = live(&life[0], &s), b = live(&life[1], &s);
        if (a != b)
            ck_abort_msg("step %d: %s, but %s without leases", i, gang_result_name(a),
                         gang_result_name(b));
        if (i % 8 == 0)
            compare_nodes();
        if (i % 64 == 0) {
            test_must(gang_cluster_check(life[0].c, NULL));
            test_must(gang_cluster_check(life[1].c, NULL));
        }
        for (int k = 0; k < LIFE_NODES; k++) {
            now += is_leased(life[0].c, life[0].node[k]);
            ck_assert(!is_leased(life[1].c, life[1].node[k]));
        }
        most = now > most ? now : most;
    }
    ck_assert_int_ge(most, LIFE_NODES / 3);
    lease_end(life[0].c); /* frees the requests of both */
    lease_end(life[1].c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lease");
    TCase *t = tcase_create("one cluster"), *twice = tcase_create("random lives");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, whole_nodes_are_leased_and_full);
    tcase_add_test(t, tasks_that_fill_a_node_together_lease_it);
    tcase_add_loop_test(t, node_that_is_shown_twice_is_taken_once, 0, NODES);
    tcase_add_test(t, exclusive_nodes_are_leased);
    tcase_add_test(t, claims_of_leased_nodes_are_void);
    tcase_add_test(t, part_of_a_node_is_not_leased);
    tcase_add_loop_test(t, lease_is_broken_where_it_has_to_be, 0, WAYS);
    tcase_add_test(t, task_of_nothing_goes_to_a_full_cluster);
    tcase_add_test(t, part_of_a_lease_is_given_back);
    tcase_add_test(t, leased_place_is_refused_to_adoption);
    tcase_add_test(t, removed_node_keeps_what_was_leased);
    tcase_add_loop_test(t, node_that_changed_is_not_leased, 0, 6);
    tcase_add_loop_test(t, equal_node_that_changed_is_not_taken, 0, 6);
    tcase_add_loop_test(t, lease_that_was_broken_meanwhile_is_given_back, 0, NODES);
    tcase_add_test(t, unlike_nodes_go_back_together);
    tcase_set_timeout(twice, 120);
    tcase_add_test(twice, answers_are_those_of_the_general_way);
    suite_add_tcase(suite, t);
    suite_add_tcase(suite, twice);
    return run_suite(suite);
}
