/* SPDX-License-Identifier: Apache-2.0 */
/* A leaf that is fair to its users starts jobs in the order of a plain model, which compares all
 * users before each start. */
#include "chance.h"
#include "sched/host.h"

enum { USERS = 12, JOBS = 400, GPUS = 24, ROUNDS = 250 };

struct user {
    char name[8];
    int64_t weight; /* thousandths */
    int64_t used, running;
};

struct job {
    gang_job_id id;
    int user;
    int64_t gpus, priority;
    enum { WAITS, RUNS, ENDED } state;
};

static struct host h;
static struct user user[USERS];
static struct job job[JOBS];
static size_t jobs, seen; /* seen: events of the host that were compared */
static int64_t max_running;

/* used / weight, compared without rounding; then as GANG_ORDER_PRIORITY. */
static bool goes_before(const struct job *a, const struct job *b)
{
    int64_t left = user[a->user].used * user[b->user].weight;
    int64_t right = user[b->user].used * user[a->user].weight;
    if (a->user != b->user && left != right)
        return left < right;
    return a->priority != b->priority ? a->priority > b->priority : a < b;
}

static int64_t free_gpus(void)
{
    int64_t left = GPUS;
    for (int u = 0; u < USERS; u++)
        left -= user[u].used;
    return left;
}

/* The job that the model starts next; NULL: none. */
static struct job *model_next(void)
{
    struct job *best = NULL;
    int64_t left = free_gpus();
    for (size_t i = 0; i < jobs; i++)
        if (job[i].state == WAITS && job[i].gpus <= left &&
            (max_running == 0 || user[job[i].user].running < max_running) &&
            (!best || goes_before(&job[i], best)))
            best = &job[i];
    return best;
}

static void model_change(struct job *j, int sign)
{
    user[j->user].used += sign * j->gpus;
    user[j->user].running += sign;
    j->state = sign > 0 ? RUNS : ENDED;
}

/* The starts since the last call are those of the model, in its order. */
static void compare(void)
{
    struct job *next;
    for (; seen < h.count; seen++) {
        if (strcmp(h.event[seen].op, "start") != 0)
            continue;
        next = model_next();
        ck_assert_ptr_nonnull(next);
        ck_assert_uint_eq(h.event[seen].job, next->id);
        model_change(next, 1);
    }
    ck_assert_ptr_null(model_next());
    h.count = seen = 0;
}

static void submit_one(void)
{
    struct job *j = &job[jobs++];
    struct gang_group_spec group = group_of(1, 0, 0);
    *j = (struct job){.user = (int)below(USERS), .gpus = 1 + below(3), .priority = below(2)};
    group.gpu_milli = j->gpus * 1000;
    struct gang_job_spec spec = host_job(&group, 1);
    spec.queue = "leaf";
    spec.priority = j->priority;
    spec.user = user[j->user].name;
    j->id = host_submit(&h, &spec);
}

static void end_one(void)
{
    size_t at = index_below(jobs);
    for (size_t i = 0; i < jobs; i++, at = (at + 1) % jobs)
        if (job[at].state == RUNS) {
            MUST(gang_report_end(h.s, job[at].id, 1));
            model_change(&job[at], -1);
            return;
        }
}

static void open_leaf(int32_t within)
{
    struct gang_queue_spec spec = GANG_QUEUE_SPEC_INIT;
    struct gang_user_weight weights[USERS];
    host_open(&h, 1, GPUS);
    for (int u = 0; u < USERS; u++) {
        snprintf(user[u].name, sizeof(user[u].name), "u%d", u);
        user[u].weight = 500 * (1 + below(4));
        user[u].used = user[u].running = 0;
        weights[u] = (struct gang_user_weight){user[u].name, user[u].weight * GANG_WHOLE / 1000};
    }
    max_running = below(2) * 3;
    jobs = seen = 0;
    spec.name = "leaf";
    spec.order = GANG_ORDER_FAIR;
    spec.within = within;
    spec.users = weights;
    spec.user_count = USERS;
    spec.max_running_per_user = max_running;
    host_queues(&h, &spec, 1);
}

static void live(int32_t within)
{
    open_leaf(within);
    for (int i = 0; i < ROUNDS; i++) {
        for (int64_t n = below(4); n > 0 && jobs < JOBS; n--)
            submit_one();
        for (int64_t n = below(3); n > 0; n--)
            if (jobs > 0 && within == GANG_PREEMPT_NEVER)
                end_one();
        if (within != GANG_PREEMPT_NEVER && jobs > 0)
            (void)!gang_job_cancel(h.s, job[index_below(jobs)].id);
        host_run(&h, HOST_SECOND);
        if (within == GANG_PREEMPT_NEVER)
            compare();
        h.count = seen = 0;
    }
    host_close(&h);
}

START_TEST(jobs_start_in_the_order_of_a_model_that_compares_all_users)
{
    chance_state = test_seed() + (uint64_t)_i;
    live(GANG_PREEMPT_NEVER);
}
END_TEST

START_TEST(all_counts_hold_where_jobs_preempt_each_other)
{
    chance_state = test_seed() + (uint64_t)_i;
    live(GANG_PREEMPT_LOWER_OR_NEWER);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("users");
    TCase *tests = tcase_create("users");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, jobs_start_in_the_order_of_a_model_that_compares_all_users, 0, 20);
    tcase_add_loop_test(tests, all_counts_hold_where_jobs_preempt_each_other, 0, 10);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
