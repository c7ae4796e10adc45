/* SPDX-License-Identifier: Apache-2.0 */
/* Labels wander over the nodes, nodes come and go in the same slots, and modes of partitions
 * change, while other threads look for rare nodes. One of these is always free: nothing is refused.
 * Under ThreadSanitizer, too. */
#include <gangsched/gangsched.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "support.h"

enum { NODES = 1100, PLACERS = 3 }; /* in two chunks */

static struct stage s;
static gang_node_id node[NODES];
static gang_request *rare, *fresh, *anyone;
static _Atomic(bool) over;
static _Atomic(int64_t) placed, wandered;

static void check(gang_result r, const char *what)
{
    if (r != GANG_OK)
        ck_abort_msg("%s: %s", what, gang_result_name(r));
}

/* Every tenth node is in the partition that is closed now and then; no label gets there. */
static void name_of(int i, char name[static 20])
{
    snprintf(name, 20, "%c%d", i % 10 ? 'n' : 'p', i);
}

static struct gang_node_spec spec_of(const char *name, struct box_arrays *arrays,
                                     const struct gang_label *label)
{
    static const char *const mine[] = {"mine"};
    struct box box = {.name = name, .cpu = 2000 * PLACERS, .labels = label, .label_count = 1};
    box.partitions = mine;
    box.partition_count = name[0] == 'p';
    return box_spec(&box, arrays);
}

static void relabel(gang_worker *w, int i, const char *value)
{
    struct box_arrays arrays;
    char name[20];
    struct gang_label label = {"rare", value};
    name_of(i, name);
    struct gang_node_spec spec = spec_of(name, &arrays, &label);
    check(gang_node_change(w, node[i], &spec, NULL), "change");
}

static void await(int64_t more)
{
    int64_t until = atomic_load(&placed) + more;
    while (!atomic_load(&over) && atomic_load(&placed) < until)
        sched_yield();
}

/* The next node gets the label before the last one loses it. A node that this thread adds it finds
 * at once, and no more when it is gone. */
static void *wander(void *user)
{
    gang_worker *w = user;
    for (int at = 1, i = 1; !atomic_load(&over); i++) {
        int next = (at + 37) % NODES;
        next += next % 10 == 0;
        relabel(w, next, "y");
        await(i % 4);
        relabel(w, at, "n");
        at = next;
        check(gang_partition_set(w, "mine", i % 2), "mode");
        struct box_arrays arrays;
        struct gang_label label = {"rare", "fresh"};
        struct gang_node_spec spec = spec_of("x", &arrays, &label);
        gang_node_id x;
        gang_alloc_id id;
        check(gang_node_add(w, &spec, &x, NULL), "add");
        check(gang_alloc(w, fresh, &id, NULL), "the new node");
        check(gang_alloc_free(w, id), "free");
        check(gang_node_remove(w, x), "remove");
        if (i % 8 == 0)
            check(gang_cluster_recycle(s.c), "reclaim");
        if (gang_alloc_test(w, fresh, NULL) == GANG_OK)
            ck_abort_msg("a node that is gone took work");
        atomic_fetch_add(&wandered, 1);
    }
    return NULL;
}

static void *place(void *user)
{
    gang_worker *w = user;
    while (!atomic_load(&over)) {
        gang_alloc_id id[2];
        check(gang_alloc(w, rare, &id[0], NULL), "rare");
        check(gang_alloc(w, anyone, &id[1], NULL), "anyone");
        check(gang_alloc_free(w, id[0]), "free");
        check(gang_alloc_free(w, id[1]), "free");
        atomic_fetch_add(&placed, 1);
    }
    return NULL;
}

static gang_request *request(const char *where)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.where = where;
    g.partition = where ? NULL : "mine";
    return stage_request(&s, &spec);
}

START_TEST(nothing_is_refused_while_labels_move_between_nodes)
{
    static struct box_arrays arrays;
    pthread_t thread[PLACERS + 1];
    MUST(gang_cluster_new(NULL, &s.c, NULL)); /* the stage's own counts for one thread alone */
    MUST(gang_worker_new(s.c, &s.w));
    for (int i = 0; i < NODES; i++) {
        char name[20];
        struct gang_label label = {"rare", i == 1 ? "y" : "n"};
        name_of(i, name);
        struct gang_node_spec spec = spec_of(name, &arrays, &label);
        MUST(gang_node_add(s.w, &spec, &node[i], NULL));
    }
    rare = request("rare = y");
    fresh = request("rare = fresh");
    anyone = request(NULL);
    for (int i = 0; i <= PLACERS; i++) {
        gang_worker *w;
        MUST(gang_worker_new(s.c, &w));
        ck_assert_int_eq(pthread_create(&thread[i], NULL, i ? place : wander, w), 0);
    }
    int64_t turns = getenv("GANG_TEST_QUICK") ? 300 : 5000;
    while (atomic_load(&placed) < turns || atomic_load(&wandered) < turns)
        sched_yield();
    atomic_store(&over, true);
    for (int i = 0; i <= PLACERS; i++)
        pthread_join(thread[i], NULL);
    stage_check(&s);
    gang_request_free(rare);
    gang_request_free(fresh);
    gang_request_free(anyone);
    gang_cluster_free(s.c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("match cache with threads");
    TCase *tests = tcase_create("match cache");
    tcase_set_timeout(tests, 200);
    tcase_add_test(tests, nothing_is_refused_while_labels_move_between_nodes);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
