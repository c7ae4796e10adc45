/* SPDX-License-Identifier: Apache-2.0 */
/* Threads place jobs with rules on each other and jobs that want nodes alone, grow and shrink and
 * free them. Now and then all stop: no two jobs that exclude each other are placed, exclusive nodes
 * have one owner, and the audit passes. */
#include <gangsched/gangsched.h>

#include <pthread.h>
#include <sched.h>

#include "base/atomic.h"
#include "chance.h"
#include "support.h"

enum { NODES = 12, THREADS = 6, ROUNDS = 10, KEEP = 4 };

static struct stage s;
static gang_node_id node[NODES];
static const char *const levels[] = {"zone", "rack"};
static pthread_barrier_t barrier;
static int64_t acts;

static int rack_of(int i)
{
    return i / 3;
}

static void open_stage(void)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    opts.levels = levels;
    opts.level_count = 2;
    MUST(gang_cluster_new(&opts, &s.c, NULL));
    MUST(gang_worker_new(s.c, &s.w));
    for (int i = 0; i < NODES; i++) {
        char name[8], zone[8], rack[8];
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(zone, sizeof(zone), "z%d", rack_of(i) / 2);
        snprintf(rack, sizeof(rack), "r%d", rack_of(i));
        struct gang_label place[] = {{"zone", zone}, {"rack", rack}};
        struct box box = {
            .name = name, .cpu = 8000, .memory = GIB, .place = place, .place_count = 2};
        node[i] = stage_add(&s, &box);
    }
}

static void yield_now_and_then(enum gang__step step)
{
    bool peers = step == GANG__STEP_ENTER || step == GANG__STEP_SETTLE;
    if (chance_of_thread() % (peers ? 2 : 64) == 0)
        sched_yield();
}

/* ---- the jobs ---- */

/* The label of a job, and the labels it avoids at which level; some want their nodes alone. */
struct sort {
    const char *app, *far, *level;
    bool alone;
    const char *near;
};
static const struct sort sorts[] = {
    {"a", "a", "rack", false, NULL},  {"b", "a", NULL, false, NULL},
    {"c", "b", "zone", false, NULL},  {"d", NULL, NULL, true, NULL},
    {"a", "d", NULL, true, NULL},     {"e", NULL, NULL, false, "a"},
    {NULL, "e", "rack", false, NULL}, {"b", NULL, NULL, false, NULL},
};
enum { SORTS = sizeof(sorts) / sizeof(sorts[0]) };
static gang_request *request[SORTS];

static gang_request *request_for(const struct sort *sort)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    const struct gang_label label = {"app", sort->app};
    const struct gang_affinity_rule rules[] = {
        {"app", sort->far ? sort->far : sort->near, sort->level, sort->near != NULL, 0}};
    g.min = 2;
    spec.labels = &label;
    spec.label_count = sort->app != NULL;
    spec.affinity = rules;
    spec.affinity_count = sort->far || sort->near;
    spec.exclusive = sort->alone;
    spec.policy = GANG_POLICY_SPREAD;
    return stage_request(&s, &spec);
}

struct held {
    gang_alloc_id id;
    int sort;
};
struct thread {
    pthread_t thread;
    gang_worker *w;
    uint64_t seed;
    struct held held[KEEP];
    int64_t placed, refused;
};
static struct thread thread[THREADS];

/* ---- when all stand still ---- */

static bool is_label(const struct sort *sort, const char *app)
{
    return sort->app && app && strcmp(sort->app, app) == 0;
}

static unsigned nodes_of(gang_alloc_id id)
{
    unsigned bits = 0;
    for (int i = 0; i < NODES; i++)
        if (stage_tasks_on(&s, id, node[i]))
            bits |= 1u << i;
    return bits;
}

static unsigned domains_of(unsigned nodes, const char *level)
{
    unsigned bits = 0;
    for (int i = 0; i < NODES; i++)
        if (nodes >> i & 1)
            bits |= 1u << (!level ? i : level[0] == 'r' ? rack_of(i) : rack_of(i) / 2);
    return bits;
}

static void check_pair(const struct held *x, const struct held *y)
{
    const struct sort *a = &sorts[x->sort], *b = &sorts[y->sort];
    unsigned at = nodes_of(x->id), bt = nodes_of(y->id);
    if (a->alone)
        ck_assert_uint_eq(at & bt, 0);
    if (a->far && is_label(b, a->far))
        ck_assert_uint_eq(domains_of(at, a->level) & domains_of(bt, a->level), 0);
}

static void check_all(void)
{
    stage_check(&s);
    for (int i = 0; i < THREADS * KEEP; i++)
        for (int k = 0; k < THREADS * KEEP; k++) {
            const struct held *a = &thread[i / KEEP].held[i % KEEP];
            const struct held *b = &thread[k / KEEP].held[k % KEEP];
            if (i != k && a->id && b->id)
                check_pair(a, b);
        }
}

/* ---- what a thread does ---- */

static void act(struct thread *t)
{
    uint64_t d = chance_of(&t->seed);
    struct held *h = &t->held[d % KEEP];
    gang_result r;
    if (!h->id) {
        h->sort = (int)((d >> 8) % SORTS);
        r = gang_alloc(t->w, request[h->sort], &h->id, NULL);
        test_assert(r == GANG_OK || r == GANG_ENOFIT);
        t->placed += r == GANG_OK;
        t->refused += r != GANG_OK;
    } else if (d >> 16 & 1) {
        r = gang_alloc_grow(t->w, h->id, 0, 1 + (int64_t)(d >> 20) % 4, NULL, NULL);
        test_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ERANGE || r == GANG_ENEVER);
    } else if (d >> 17 & 1) {
        const int64_t task = (int64_t)(d >> 20) % 8;
        r = gang_alloc_shrink(t->w, h->id, &task, 1, NULL);
        test_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENOENT);
    } else {
        r = gang_alloc_free(t->w, h->id);
        test_assert(r == GANG_OK);
        h->id = GANG_ID_NONE;
    }
}

static void *run(void *user)
{
    struct thread *t = user;
    for (int round = 0; round < ROUNDS; round++) {
        for (int64_t i = 0; i < acts; i++)
            act(t);
        pthread_barrier_wait(&barrier);
        if (t == thread)
            check_all();
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void run_threads(void *(*body)(void *))
{
    uint64_t seed = test_seed();
    memset(thread, 0, sizeof(thread));
    pthread_barrier_init(&barrier, NULL, THREADS);
    atomic_store(&gang__hook_now, yield_now_and_then);
    for (int i = 0; i < THREADS; i++) {
        thread[i].seed = seed * 31 + (uint64_t)i * 2 + 1;
        MUST(gang_worker_new(s.c, &thread[i].w));
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i].thread, NULL, body, &thread[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i].thread, NULL);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    pthread_barrier_destroy(&barrier);
}

START_TEST(no_two_jobs_that_exclude_each_other_are_placed)
{
    int64_t placed = 0, refused = 0;
    open_stage();
    acts = getenv("GANG_TEST_QUICK") ? 100 : 2000;
    for (int i = 0; i < SORTS; i++)
        request[i] = request_for(&sorts[i]);
    run_threads(run);
    for (int i = 0; i < THREADS; i++) {
        placed += thread[i].placed;
        refused += thread[i].refused;
        for (int k = 0; k < KEEP; k++)
            if (thread[i].held[k].id)
                MUST(gang_alloc_free(s.w, thread[i].held[k].id));
    }
    printf("%lld placed, %lld refused\n", (long long)placed, (long long)refused);
    ck_assert_int_gt(placed, acts);
    ck_assert_int_gt(refused, acts / 10);
    stage_check(&s);
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info info = stage_node(&s, node[i]);
        ck_assert_int_eq(info.cpu_free, 8000);
    }
    for (int i = 0; i < SORTS; i++)
        gang_request_free(request[i]);
    gang_cluster_free(s.c);
}
END_TEST

/* ---- one of them gets through ---- */

static gang_request *rival;

/* All at once ask for what only one can have; some also for a request of their own. */
static void *contend(void *user)
{
    struct thread *t = user;
    for (int64_t i = 0; i < acts; i++) {
        pthread_barrier_wait(&barrier);
        gang_result r = gang_alloc(t->w, rival, &t->held[0].id, NULL);
        test_assert(r == GANG_OK || r == GANG_ENOFIT);
        pthread_barrier_wait(&barrier);
        if (t == thread) {
            int winners = 0;
            for (int k = 0; k < THREADS; k++)
                winners += thread[k].held[0].id != GANG_ID_NONE;
            test_assert(winners == 1);
        }
        pthread_barrier_wait(&barrier);
        if (t->held[0].id)
            test_assert(gang_alloc_free(t->w, t->held[0].id) == GANG_OK);
        t->held[0].id = GANG_ID_NONE;
    }
    return NULL;
}

START_TEST(one_of_two_jobs_that_exclude_each_other_is_placed)
{
    static const struct sort lone[] = {{"x", "x", "all", false, NULL}};
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    static const char *const one[] = {"all"};
    struct gang_label place = {"all", "here"};
    opts.levels = one;
    opts.level_count = 1;
    MUST(gang_cluster_new(&opts, &s.c, NULL));
    MUST(gang_worker_new(s.c, &s.w));
    for (int i = 0; i < NODES; i++) {
        char name[8];
        snprintf(name, sizeof(name), "n%d", i);
        struct box box = {
            .name = name, .cpu = 8000, .memory = GIB, .place = &place, .place_count = 1};
        node[i] = stage_add(&s, &box);
    }
    acts = getenv("GANG_TEST_QUICK") ? 200 : 4000;
    rival = request_for(lone);
    run_threads(contend);
    stage_check(&s);
    gang_request_free(rival);
    gang_cluster_free(s.c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("others_threads");
    TCase *t = tcase_create("others");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, no_two_jobs_that_exclude_each_other_are_placed);
    tcase_add_test(t, one_of_two_jobs_that_exclude_each_other_is_placed);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
