/* SPDX-License-Identifier: Apache-2.0 */
/* A thread is stopped at each step of each sort of call in turn, and stays stopped while two
 * others complete thousands of calls over the same nodes: gangs, growth, refusals, reads,
 * changes of state. Then it wakes, finishes what it began, and the books agree. The same beside
 * a thread that is stopped while it takes a snapshot, which still shows one instant. */
#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "base/atomic.h"
#include "suite.h"

enum { NODES = 5, GANG = 4, OTHERS = 2, MOST_COMINGS = 4 };

/* ---- freezing -------------------------------------------------------------------------------- */

static _Thread_local int is_victim;
static struct {
    enum gang__step step;
    int countdown; /* of the victim alone: freezes when it reaches 0 */
    sem_t frozen, wake;
} freeze;

/* A thread that is stopped in the middle of a snapshot. */
static _Thread_local int is_taker;
static sem_t taker_frozen, taker_wake;

static void freeze_victim(enum gang__step step)
{
    if (is_taker && step == GANG__STEP_SCAN && --is_taker == 0) {
        sem_post(&taker_frozen);
        sem_wait(&taker_wake);
    }
    if (!is_victim || step != freeze.step || --freeze.countdown != 0)
        return;
    sem_post(&freeze.frozen);
    sem_wait(&freeze.wake);
}

/* ---- the cluster ----------------------------------------------------------------------------- */

struct world {
    gang_cluster *c;
    gang_request *gang;  /* one GPU on each of four nodes, and a licence for each */
    gang_request *large; /* all there is, but something is always taken */
    gang_alloc_id base;
    gang_node_id node[NODES];
    gang_alloc_id held; /* what the victim holds before */
    gang_worker *victim;
    int32_t licence;
    int act;
    int64_t calls; /* that each of the others makes */
    _Atomic(int) victim_done;
};

enum act {
    ALLOC,
    REFUSED,
    FREE,
    GROW,
    SHRINK,
    ADOPT,
    TEST,
    LOOK,
    READ,
    STATE,
    HEALTH,
    CHANGE,
    RESIZE,
    ADD,
    REMOVE,
    ACT_COUNT
};

static gang_result put_node(gang_worker *w, int number, int64_t cpu_milli, gang_node_id *id)
{
    struct gang_gpu_spec gpu[8];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    char name[16];
    memset(gpu, 0, sizeof(gpu));
    for (int i = 0; i < 8; i++)
        gpu[i].numa = -1;
    snprintf(name, sizeof(name), "n%d", number);
    spec.name = name;
    spec.cpu_milli = cpu_milli;
    spec.memory_bytes = (int64_t)1 << 36;
    spec.gpus = gpu;
    spec.gpu_count = 8;
    return *id ? gang_node_change(w, *id, &spec, NULL) : gang_node_add(w, &spec, id, NULL);
}

static gang_request *request(gang_cluster *c, int64_t min, int64_t count, int64_t gpu_milli)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    struct gang_amount licence = {"licence", 1};
    gang_request *request;
    g.count = count;
    g.min = min;
    g.cpu_milli = 1000;
    g.gpu_milli = gpu_milli;
    g.amounts = &licence;
    g.amount_count = 1;
    spec.groups = &g;
    spec.group_count = 1;
    spec.policy = GANG_POLICY_SPREAD;
    test_must(gang_request_new(c, &spec, &request, NULL));
    return request;
}

static void world_init(struct world *w)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    opts.manual_recycle = 1; /* reclaiming waits for the stopped thread: core.h */
    test_must(gang_cluster_new(&opts, &w->c, NULL));
    test_must(gang_worker_new(w->c, &w->victim));
    test_must(gang_kind_add(w->victim, "licence", NULL, GANG_SCOPE_CLUSTER, 1000, &w->licence));
    for (int i = 0; i < NODES; i++)
        test_must(put_node(w->victim, i, 64000, &w->node[i]));
    w->gang = request(w->c, GANG, 2 * GANG, 1000);
    w->large = request(w->c, NODES, NODES, 8000);
    test_must(gang_alloc(w->victim, w->gang, &w->base, NULL));
    test_must(gang_alloc(w->victim, w->gang, &w->held, NULL));
    test_must(gang_alloc_grow(w->victim, w->held, 0, 1, NULL, NULL));
}

/* ---- the victim ------------------------------------------------------------------------------ */

static void act_on_allocation(struct world *w)
{
    struct gang_placement place[2] = {GANG_PLACEMENT_INIT, GANG_PLACEMENT_INIT};
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    gang_alloc_id id;
    int64_t last = GANG;
    switch (w->act) {
    case ALLOC:
        test_must(gang_alloc(w->victim, w->gang, &id, NULL));
        test_must(gang_alloc_free(w->victim, id));
        break;
    case REFUSED:
        ck_assert_int_eq(gang_alloc(w->victim, w->large, &id, NULL), GANG_ENOFIT);
        break;
    case FREE:
        test_must(gang_alloc_free(w->victim, w->held));
        break;
    case GROW:
        test_must(gang_alloc_grow(w->victim, w->held, 0, 2, NULL, NULL));
        break;
    case SHRINK:
        test_must(gang_alloc_shrink(w->victim, w->held, &last, 1, NULL));
        break;
    case ADOPT:
        place[0].node = w->node[0];
        place[1].node = w->node[2];
        test_must(gang_alloc_adopt(w->victim, w->gang, place, 2, &id, NULL));
        test_must(gang_alloc_free(w->victim, id));
        break;
    case TEST:
        test_must(gang_alloc_test(w->victim, w->gang, NULL));
        break;
    default:
        test_must(gang_alloc_get(w->c, w->held, &info));
        break;
    }
}

static void act_on_node(struct world *w)
{
    struct gang_node_info info = {.size = sizeof(info)};
    gang_node_id id = GANG_ID_NONE;
    switch (w->act) {
    case READ:
        test_must(gang_node_get(w->c, w->node[0], &info));
        break;
    case STATE:
        test_must(gang_node_set_state(w->victim, w->node[1], GANG_NODE_DRAINING));
        test_must(gang_node_set_state(w->victim, w->node[1], GANG_NODE_UP));
        break;
    case HEALTH:
        test_must(gang_gpu_set_state(w->victim, w->node[1], 0, GANG_GPU_UNHEALTHY));
        test_must(gang_gpu_set_state(w->victim, w->node[1], 0, GANG_GPU_OK));
        break;
    case CHANGE:
        test_must(put_node(w->victim, 1, 62000, &w->node[1]));
        test_must(put_node(w->victim, 1, 64000, &w->node[1]));
        break;
    case RESIZE:
        test_must(gang_kind_resize(w->victim, w->licence, 900));
        test_must(gang_kind_resize(w->victim, w->licence, 1000));
        break;
    case ADD:
        test_must(put_node(w->victim, NODES, 64000, &id));
        break;
    default: /* others may hold parts of it */
        test_must(gang_node_remove(w->victim, w->node[0]));
        break;
    }
}

static void *be_victim(void *user)
{
    struct world *w = user;
    is_victim = 1;
    if (w->act <= LOOK)
        act_on_allocation(w);
    else
        act_on_node(w);
    is_victim = 0;
    atomic_store(&w->victim_done, 1);
    sem_post(&freeze.frozen); /* it may never have come to the step */
    return NULL;
}

/* ---- the taker ------------------------------------------------------------------------------- */

static void *be_taker(void *user)
{
    struct world *w = user;
    gang_worker *worker;
    gang_snapshot *before, *s;
    test_must(gang_worker_new(w->c, &worker));
    test_must(gang_snapshot_new(w->c, &before));
    test_must(gang_snapshot_new(w->c, &s));
    test_must(gang_snapshot_take(worker, before)); /* nothing goes on yet */
    is_taker = 2;                                  /* the pool is behind it, the nodes before it */
    test_must(gang_snapshot_take(worker, s));
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info was = {.size = sizeof(was)}, is = {.size = sizeof(is)};
        test_must(gang_snapshot_node_get(before, w->node[i], &was));
        test_must(gang_snapshot_node_get(s, w->node[i], &is));
        ck_assert_mem_eq(&was, &is, sizeof(was));
    }
    gang_snapshot_free(before);
    gang_snapshot_free(s);
    gang_worker_free(worker);
    return NULL;
}

/* ---- the others ------------------------------------------------------------------------------ */

static int32_t count_task(const struct gang_task *task, void *user)
{
    int64_t *tasks = user;
    test_assert(task->gpu_count == 1);
    (*tasks)++;
    return 0;
}

/* The gang, with all that is done to one. Returns the number of calls. It fits, also
 * when a node is drained and another one removed. */
static int64_t use_gang(struct world *w, gang_worker *worker)
{
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    gang_alloc_id id;
    int64_t task = GANG, tasks = 0, granted;
    test_must(gang_alloc(worker, w->gang, &id, NULL));
    test_must(gang_alloc_grow(worker, id, 0, 1, &granted, NULL));
    test_must(gang_alloc_get(w->c, id, &info));
    test_assert(info.tasks == GANG + 1);
    test_must(gang_alloc_shrink(worker, id, &task, 1, NULL));
    test_must(gang_alloc_each(w->c, id, count_task, &tasks));
    test_assert(tasks == GANG);
    test_must(gang_alloc_free(worker, id));
    return 6;
}

static void *be_other(void *user)
{
    struct world *w = user;
    gang_worker *worker;
    static _Atomic(int) number;
    int mine = atomic_fetch_add(&number, 1) % OTHERS;
    int64_t calls = 0;
    test_must(gang_worker_new(w->c, &worker));
    while (calls < w->calls) {
        struct gang_node_info info = {.size = sizeof(info)};
        struct gang_placement place = GANG_PLACEMENT_INIT;
        struct gang_kind_info pool = GANG_KIND_INFO_INIT;
        gang_alloc_id id;
        calls += use_gang(w, worker);
        test_must(gang_node_get(w->c, w->node[calls % NODES], &info));
        gang_result r = gang_alloc(worker, w->large, &id, NULL);
        test_assert(r == GANG_ENOFIT || (w->act == REMOVE && r == GANG_ENEVER));
        test_must(gang_kind_get(w->c, w->licence, &pool));
        place.node = w->node[2 + calls % 2];
        test_must(gang_alloc_adopt(worker, w->gang, &place, 1, &id, NULL));
        test_must(gang_alloc_free(worker, id));
        calls += 5;
        if (mine == 0) {
            test_must(gang_node_set_state(worker, w->node[4], GANG_NODE_DRAINING));
            test_must(gang_gpu_set_state(worker, w->node[4], 0, GANG_GPU_UNHEALTHY));
            test_must(gang_node_set_state(worker, w->node[4], GANG_NODE_UP));
            test_must(gang_gpu_set_state(worker, w->node[4], 0, GANG_GPU_OK));
            calls += 4;
        }
        r = gang_alloc_get(w->c, w->held, &(struct gang_alloc_info)GANG_ALLOC_INFO_INIT);
        test_assert(r == GANG_OK || r == GANG_EBUSY || (w->act == FREE && r == GANG_ESTALE));
    }
    gang_worker_free(worker);
    return NULL;
}

/* ---- freezing at one step -------------------------------------------------------------------- */

/* Freeze at the n-th coming to a step. Returns whether the victim came there at all. */
static int freeze_at(enum act act, enum gang__step step, int n, int64_t calls, bool beside_a_take)
{
    struct world w;
    pthread_t victim, taker, other[OTHERS];
    struct gang_error error = GANG_ERROR_INIT;
    memset(&w, 0, sizeof(w));
    world_init(&w);
    w.act = (int)act;
    w.calls = calls;
    freeze.step = step;
    freeze.countdown = n;
    sem_init(&freeze.frozen, 0, 0);
    sem_init(&freeze.wake, 0, 0);
    atomic_store(&gang__hook_now, freeze_victim);
    sem_init(&taker_frozen, 0, 0);
    sem_init(&taker_wake, 0, 0);
    if (beside_a_take) {
        ck_assert_int_eq(pthread_create(&taker, NULL, be_taker, &w), 0);
        sem_wait(&taker_frozen);
    }
    ck_assert_int_eq(pthread_create(&victim, NULL, be_victim, &w), 0);
    sem_wait(&freeze.frozen);
    int came = !atomic_load(&w.victim_done);
    if (came) {
        for (int i = 0; i < OTHERS; i++)
            ck_assert_int_eq(pthread_create(&other[i], NULL, be_other, &w), 0);
        for (int i = 0; i < OTHERS; i++)
            pthread_join(other[i], NULL);
        ck_assert_int_eq(atomic_load(&w.victim_done), 0);
    }
    sem_post(&freeze.wake);
    pthread_join(victim, NULL);
    if (beside_a_take) {
        sem_post(&taker_wake);
        pthread_join(taker, NULL);
    }
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert_msg(gang_cluster_check(w.c, &error) == GANG_OK, "act %d step %d at %d: %s", act, step,
                  n, error.text);
    gang_request_free(w.gang);
    gang_request_free(w.large);
    gang_cluster_free(w.c);
    sem_destroy(&freeze.frozen);
    sem_destroy(&freeze.wake);
    return came;
}

/* Steps that each act comes to at least. */
#define COMMIT                                                                  \
    (1u << GANG__STEP_BUILD | 1u << GANG__STEP_CLAIM | 1u << GANG__STEP_AGREE | \
     1u << GANG__STEP_NOTE | 1u << GANG__STEP_DECIDE | 1u << GANG__STEP_WRITE | \
     1u << GANG__STEP_LABEL | 1u << GANG__STEP_RELEASE)
#define GIVE_BACK (1u << GANG__STEP_RAISE | 1u << GANG__STEP_STAMP)
#define PLAN (1u << GANG__STEP_FIND | 1u << GANG__STEP_READ)
#define RECORD (1u << GANG__STEP_HOLD | 1u << GANG__STEP_PUBLISH)

static const unsigned steps_of[ACT_COUNT] = {
    [ALLOC] = COMMIT | PLAN | RECORD | 1u << GANG__STEP_UPDATE | 1u << GANG__STEP_MARK |
              1u << GANG__STEP_DROP,
    [REFUSED] = PLAN | 1u << GANG__STEP_SUM, /* only a refusal reads the stamps */
    [FREE] = COMMIT | GIVE_BACK | 1u << GANG__STEP_HOLD | 1u << GANG__STEP_DROP,
    [GROW] = COMMIT | PLAN | RECORD,
    [SHRINK] = COMMIT | GIVE_BACK | RECORD,
    [ADOPT] = COMMIT | RECORD | 1u << GANG__STEP_FIND | 1u << GANG__STEP_READ,
    [TEST] = PLAN,
    [LOOK] = 0,
    [READ] = 1u << GANG__STEP_READ,
    [STATE] = COMMIT | GIVE_BACK | 1u << GANG__STEP_REPAIR,
    [CHANGE] = COMMIT | GIVE_BACK,
    [RESIZE] = COMMIT | GIVE_BACK,
    [ADD] = COMMIT | GIVE_BACK,
    [REMOVE] = COMMIT,
};

START_TEST(a_frozen_thread_stops_no_other_thread)
{
    bool quick = getenv("GANG_TEST_QUICK") != NULL;
    for (int step = 0; step < GANG__STEP_COUNT; step++) {
        for (int n = 1; n <= (quick ? 1 : MOST_COMINGS); n++) {
            /* Many thousand calls at the first coming to each step, hundreds at the next. */
            int64_t calls = quick ? 100 : n == 1 ? 20000 : 500;
            int came = freeze_at((enum act)_i, (enum gang__step)step, n, calls, false);
            if (!came) {
                ck_assert_msg(n > 1 || !(steps_of[_i] >> step & 1), "act %d never came to step %d",
                              _i, step);
                break;
            }
        }
    }
}
END_TEST

START_TEST(a_frozen_snapshot_stops_no_other_thread)
{
    bool quick = getenv("GANG_TEST_QUICK") != NULL;
    int stops = 0;
    for (int step = 0; step < GANG__STEP_COUNT; step++)
        for (int n = 1; n <= (quick ? 1 : 3); n++)
            if (freeze_at((enum act)_i, (enum gang__step)step, n, quick ? 20 : 100, true))
                stops++;
            else if (step == GANG__STEP_SAVE && n == 1) /* commits save the cells they write */
                ck_assert(!(steps_of[_i] & 1u << GANG__STEP_WRITE));
    ck_assert(stops > 0 || _i == LOOK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("freeze_threads");
    TCase *t = tcase_create("freeze");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, a_frozen_thread_stops_no_other_thread, 0, ACT_COUNT);
    tcase_add_loop_test(t, a_frozen_snapshot_stops_no_other_thread, 0, ACT_COUNT);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
