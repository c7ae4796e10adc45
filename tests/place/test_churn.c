/* SPDX-License-Identifier: Apache-2.0 */
/* Racks used by gangs on a cluster in churn, against the fewest there could be at that moment.
 *
 * Whole-node jobs of 1, 2, 4 and 8 nodes (one half, a fifth, and twice 15 percent) on 1,024 nodes
 * in racks of 32, cancelled at random: what other schedulers were measured with. */
#include <gangsched/gangsched.h>

#include "chance.h"
#include "support.h"

enum { NODES = 1024, RACK = 32, RACKS = NODES / RACK, JOBS = NODES, SIZES = 4 };

static struct stage s;
static gang_node_id node[NODES];
static gang_request *request[SIZES];

static struct job {
    gang_alloc_id id;
    int nodes;
} job[JOBS];
static int jobs, used;

static void open_stage(const char *prefer, int32_t policy)
{
    static const char *const levels[] = {"rack"};
    stage_open(&s, levels, 1);
    for (int i = 0; i < NODES; i++) {
        char name[12], rack_name[12];
        struct gang_label rack = {"rack", rack_name};
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(rack_name, sizeof(rack_name), "r%d", i / RACK);
        struct box box = {.name = name, .cpu = 64000, .gpus = 8, .place = &rack, .place_count = 1};
        node[i] = stage_add(&s, &box);
    }
    for (int i = 0; i < SIZES; i++) {
        struct gang_group_spec g = group_of(1 << i, 64000, 8000);
        struct gang_request_spec spec = request_of(&g, 1);
        spec.prefer = prefer;
        spec.policy = policy;
        request[i] = stage_request(&s, &spec);
    }
    jobs = used = 0;
}

static void close_stage(void)
{
    for (int i = 0; i < SIZES; i++)
        gang_request_free(request[i]);
    stage_close(&s);
}

static void cancel_one(void)
{
    int i = (int)below(jobs);
    MUST(gang_alloc_free(s.w, job[i].id));
    used -= job[i].nodes;
    job[i] = job[--jobs];
}

/* The fewest racks that hold so many free nodes: the emptiest ones. */
static int fewest_racks(int want)
{
    int free[RACKS] = {0}, racks = 0;
    for (int i = 0; i < NODES; i++)
        free[i / RACK] += stage_node(&s, node[i]).gpus_free == 8;
    while (want > 0) {
        int best = 0;
        for (int r = 1; r < RACKS; r++)
            if (free[r] > free[best])
                best = r;
        if (free[best] == 0)
            return 0;
        want -= free[best];
        free[best] = 0;
        racks++;
    }
    return racks;
}

static int racks_of(gang_alloc_id id)
{
    const struct task_list *list = stage_tasks(&s, id);
    bool seen[RACKS] = {false};
    int racks = 0;
    for (size_t i = 0; i < list->count; i++) {
        int n = 0;
        while (node[n] != list->task[i].node)
            n++;
        racks += !seen[n / RACK];
        seen[n / RACK] = true;
    }
    return racks;
}

/* Mean racks of 8-node gangs over the fewest possible, at a fill in percent. */
static double churn(int fill, int steps)
{
    int racks = 0, fewest = 0;
    while (steps > 0) {
        int size = (int)below(20);
        size = size < 10 ? 0 : size < 14 ? 1 : size < 17 ? 2 : 3;
        while (used + (1 << size) > NODES * fill / 100)
            cancel_one();
        gang_alloc_id id;
        int least = size == 3 ? fewest_racks(8) : 0;
        MUST(gang_alloc(s.w, request[size], &id, NULL));
        job[jobs++] = (struct job){id, 1 << size};
        used += 1 << size;
        if (size != 3 || used < NODES * fill / 100 - 16)
            continue;
        racks += racks_of(id);
        fewest += least;
        steps--;
    }
    return (double)racks / fewest;
}

static void measure(const char *prefer, int32_t policy)
{
    chance_state = test_seed();
    int steps = getenv("GANG_TEST_QUICK") ? 60 : 400;
    for (int fill = 60; fill <= 97; fill += fill < 85 ? 25 : 10) {
        open_stage(prefer, policy);
        double times = churn(fill, steps);
        printf("%s%s, %d %% full: %.3f times the fewest racks\n", gang_policy_name(policy),
               prefer ? ", prefer rack" : "", fill, times);
        ck_assert_msg(times <= 1.05, "%.3f", times);
        close_stage();
    }
}

START_TEST(soft_rack_preference_gives_the_fewest_racks)
{
    measure("rack", GANG_POLICY_DEFAULT);
}
END_TEST

START_TEST(the_policy_topology_gives_the_fewest_racks)
{
    measure(NULL, GANG_POLICY_TOPOLOGY);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("churn");
    TCase *tc = tcase_create("churn");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, soft_rack_preference_gives_the_fewest_racks);
    tcase_add_test(tc, the_policy_topology_gives_the_fewest_racks);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
