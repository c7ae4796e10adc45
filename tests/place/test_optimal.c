/* SPDX-License-Identifier: Apache-2.0 */
/* Small random clusters against an exhaustive search: a gang that any assignment could hold is
 * placed, on (nearly) as few racks and nodes as there can be.
 *
 * The oracle knows nothing of the library: it tries every node for every task, and every device for
 * every part of one. Tasks of a group are alike, so they go in rising order. */
#include <gangsched/gangsched.h>

#include "chance.h"
#include "support.h"

enum { NODES = 6, GPUS = 4, RACKS = 3, GROUPS = 3, TASKS = 6 };

/* ---- a small world ---- */

struct machine {
    int cpu; /* cores free */
    int gpus;
    int share[GPUS]; /* milli free */
    int rack;
};

struct shape {
    int count, cpu, devices, share; /* share 1000: whole devices */
    bool same;                      /* the group in one rack */
};

struct world {
    int nodes, groups;
    struct machine node[NODES];
    struct shape group[GROUPS];
    bool same, prefer; /* rack, of the request */
    int set;           /* groups in a set, as bits */
    int32_t policy;
};

static int rnd(int n)
{
    return (int)below(n);
}

static void make_world(struct world *w)
{
    memset(w, 0, sizeof(*w));
    w->nodes = 2 + rnd(NODES - 1);
    int racks = 1 + rnd(RACKS);
    for (int i = 0; i < w->nodes; i++) {
        struct machine *m = &w->node[i];
        m->cpu = 1 + rnd(8);
        m->gpus = rnd(GPUS + 1);
        m->rack = rnd(racks);
        for (int g = 0; g < m->gpus; g++)
            m->share[g] = rnd(3) ? 1000 : 100 * rnd(11);
    }
    int left = TASKS;
    w->groups = 1 + rnd(GROUPS);
    for (int i = 0; i < w->groups && left > 0; i++) {
        struct shape *s = &w->group[i];
        s->count = 1 + rnd(i + 1 == w->groups ? left : (left + 1) / 2);
        left -= s->count;
        s->cpu = rnd(4);
        int kind = rnd(4);
        s->devices = kind == 0 ? 0 : kind == 1 ? 1 + rnd(2) : 1;
        s->share = kind == 3 ? 100 * (2 + rnd(6)) : 1000;
        if (s->devices == 0)
            s->cpu++;
        s->same = w->groups > 1 && rnd(4) == 0;
        if (left == 0)
            w->groups = i + 1;
    }
    w->set = rnd(3) ? 0 : rnd(1 << w->groups);
    switch (rnd(4)) {
    case 0:
        w->same = true;
        break;
    case 1:
        w->prefer = true;
        break;
    case 2:
        w->policy = GANG_POLICY_TOPOLOGY;
        break;
    default:
        break;
    }
}

/* ---- the oracle ---- */

struct oracle {
    struct world w; /* as it is being filled */
    int tasks[NODES];
    bool found;
    int racks, nodes; /* the least */
    long steps;
};

static void judge(struct oracle *o)
{
    int nodes = 0, racks = 0;
    bool seen[RACKS] = {false};
    for (int i = 0; i < o->w.nodes; i++) {
        nodes += o->tasks[i] > 0;
        racks += o->tasks[i] > 0 && !seen[o->w.node[i].rack];
        seen[o->w.node[i].rack] |= o->tasks[i] > 0;
    }
    if (!o->found || racks < o->racks || (racks == o->racks && nodes < o->nodes)) {
        o->racks = racks;
        o->nodes = nodes;
    }
    o->found = true;
}

static void try_task(struct oracle *o, int group, int task, int from, int device, int group_rack,
                     int all_rack);

static void go_on(struct oracle *o, int group, int task, int node, int device, int group_rack,
                  int all_rack)
{
    o->tasks[node]++;
    group_rack = o->w.group[group].same ? o->w.node[node].rack : group_rack;
    all_rack = o->w.same ? o->w.node[node].rack : all_rack;
    if (task + 1 < o->w.group[group].count)
        try_task(o, group, task + 1, node, device, group_rack, all_rack);
    else if (group + 1 < o->w.groups)
        try_task(o, group + 1, 0, 0, 0, -1, all_rack);
    else
        judge(o);
    o->tasks[node]--;
}

static void try_node(struct oracle *o, int group, int task, int i, int device, int group_rack,
                     int all_rack)
{
    const struct shape *s = &o->w.group[group];
    struct machine *m = &o->w.node[i], before = *m;
    if (m->cpu < s->cpu || (group_rack >= 0 && m->rack != group_rack) ||
        (all_rack >= 0 && m->rack != all_rack))
        return;
    m->cpu -= s->cpu;
    if (s->devices && s->share < 1000) {
        for (int d = device; d < m->gpus; d++) {
            if (m->share[d] < s->share)
                continue;
            m->share[d] -= s->share;
            go_on(o, group, task, i, d, group_rack, all_rack);
            m->share[d] += s->share;
        }
    } else {
        int missing = s->devices;
        for (int d = 0; d < m->gpus && missing; d++) {
            if (m->share[d] == 1000) {
                m->share[d] = 0;
                missing--;
            }
        }
        if (!missing)
            go_on(o, group, task, i, 0, group_rack, all_rack);
    }
    *m = before;
}

static void try_task(struct oracle *o, int group, int task, int from, int device, int group_rack,
                     int all_rack)
{
    o->steps++;
    for (int i = from; i < o->w.nodes; i++)
        try_node(o, group, task, i, i == from ? device : 0, group_rack, all_rack);
}

/* ---- the library ---- */

static const char *const levels[] = {"rack"};

static void build(struct stage *s, const struct world *w, gang_node_id *node)
{
    static const char *const rack_name[] = {"r0", "r1", "r2"};
    for (int i = 0; i < w->nodes; i++) {
        char name[8];
        const struct machine *m = &w->node[i];
        struct gang_label rack = {"rack", rack_name[m->rack]};
        snprintf(name, sizeof(name), "n%d", i);
        struct box box = {.name = name,
                          .cpu = 1000 * m->cpu,
                          .gpus = (size_t)m->gpus,
                          .place = &rack,
                          .place_count = 1};
        node[i] = stage_add(s, &box);
        for (int g = 0; g < m->gpus; g++) { /* take what is not free */
            if (m->share[g] == 1000)
                continue;
            struct gang_group_spec taken = group_of(1, 0, 1000 - m->share[g]);
            struct gang_request_spec spec = request_of(&taken, 1);
            struct gang_placement at = GANG_PLACEMENT_INIT;
            gang_request *request = stage_request(s, &spec);
            gang_alloc_id id;
            at.node = node[i];
            at.gpus = UINT64_C(1) << g;
            at.any_devices = 0;
            MUST(gang_alloc_adopt(s->w, request, &at, 1, &id, NULL));
            gang_request_free(request);
        }
    }
}

struct tally {
    int placed, optimal;
    int racks, least_racks, nodes, least_nodes;
    double worst;
};

static void count(struct stage *s, const struct world *w, const gang_node_id *node,
                  gang_alloc_id id, const struct oracle *o, struct tally *t)
{
    int nodes = 0, racks = 0;
    bool seen[RACKS] = {false};
    for (int i = 0; i < w->nodes; i++) {
        bool used = stage_tasks_on(s, id, node[i]) > 0;
        nodes += used;
        racks += used && !seen[w->node[i].rack];
        seen[w->node[i].rack] |= used;
    }
    t->placed++;
    t->optimal += racks == o->racks && nodes <= o->nodes;
    t->racks += racks;
    t->least_racks += o->racks;
    t->nodes += nodes;
    t->least_nodes += o->nodes;
    double times = racks > o->racks ? (double)racks / o->racks : (double)nodes / o->nodes;
    t->worst = times > t->worst ? times : t->worst;
}

/* One world. Returns 1 if a gang was refused that could be placed. */
static void play(const struct world *w, struct tally *t)
{
    static struct stage s;
    gang_node_id node[NODES];
    struct gang_group_spec group[GROUPS];
    struct oracle o = {.w = *w};
    try_task(&o, 0, 0, 0, 0, -1, -1);
    stage_open(&s, levels, 1);
    build(&s, w, node);
    for (int i = 0; i < w->groups; i++) {
        const struct shape *g = &w->group[i];
        int milli = g->share < 1000 ? g->share : 1000 * g->devices;
        group[i] = group_of(g->count, 1000 * g->cpu, g->devices ? milli : 0);
        group[i].same = g->same ? "rack" : NULL;
    }
    struct gang_request_spec spec = request_of(group, (size_t)w->groups);
    struct gang_group_set_spec set =
        GANG_GROUP_SET_SPEC_INIT; /* which demands nothing, but orders the groups */
    for (int i = 0; i < w->groups; i++)
        group[i].group_set = w->set >> i & 1 ? 0 : -1;
    spec.group_sets = w->set ? &set : NULL;
    spec.group_set_count = w->set != 0;
    spec.same = w->same ? "rack" : NULL;
    spec.prefer = w->prefer ? "rack" : NULL;
    spec.policy = w->policy;
    spec.gpu_nodes = GANG_GPU_NODES_ALLOW; /* the optimum does not mind nodes with GPUs */
    struct outcome got = stage_try(&s, &spec);
    ck_assert_msg((got.result == GANG_OK) == o.found, "%s, but the oracle says %s: %s",
                  gang_result_name(got.result), o.found ? "it fits" : "it does not",
                  got.error.text);
    bool few = w->same || w->prefer || w->policy == GANG_POLICY_TOPOLOGY;
    if (got.result == GANG_OK && few)
        count(&s, w, node, got.id, &o, t);
    stage_close(&s);
}

START_TEST(no_gang_is_refused_that_fits_and_few_nodes_are_used)
{
    uint64_t seed = test_seed();
    int worlds = getenv("GANG_TEST_QUICK") ? 500 : 6000;
    struct tally t = {0};
    for (int i = 0; i < worlds; i++) {
        struct world w;
        chance_state = seed + (uint64_t)i;
        make_world(&w);
        play(&w, &t);
    }
    printf(
        "%d placed, %d optimal (%.2f %%); racks %d (least %d), nodes %d (least %d), worst %.2f\n",
        t.placed, t.optimal, 100.0 * t.optimal / t.placed, t.racks, t.least_racks, t.nodes,
        t.least_nodes, t.worst);
    ck_assert_int_ge(t.optimal * 100, t.placed * 95);
    ck_assert(t.worst <= 1.25);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimal");
    TCase *tc = tcase_create("optimal");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, no_gang_is_refused_that_fits_and_few_nodes_are_used);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
