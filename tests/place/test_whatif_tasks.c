/* SPDX-License-Identifier: Apache-2.0 */
/* What if, as a planner of preemption asks: copies of snapshots, some tasks given back and taken
 * again, the places that it returns, and those places taken for real. The oracle is the cluster
 * itself. */
#include <gangsched/gangsched.h>

#include "chance.h"
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/record/places.h"
#include "place/whatif/whatif.h"
#include "support.h"

enum { NODES = 12, HELD = 48 };

static struct stage s;
static gang_snapshot *base, *scratch, *live;
static struct gang__places placed_at;
static gang_node_id node[NODES];
static int32_t nic, licence;
static const char *const levels[] = {"block", "rack"};

static void add_node(int i)
{
    static const struct gang_amount nics = {"nic", 6};
    char name[10], rack[10];
    snprintf(name, sizeof(name), "n%d", i);
    snprintf(rack, sizeof(rack), "r%d", i / 3 % 2);
    struct gang_label place[] = {{"block", i < 6 ? "b0" : "b1"}, {"rack", rack}};
    struct box box = {.name = name,
                      .cpu = 64000,
                      .memory = 64 * GIB,
                      .gpus = i % 6 == 5 ? 0 : (size_t)(i % 3 == 2 ? 16 : 4),
                      .model = i % 2 ? "A100" : "V100",
                      .gpu_memory = 16 * GIB,
                      .numas = 2,
                      .cores = i % 4 == 3 ? 0 : 64,
                      .amounts = &nics,
                      .amount_count = i % 4 ? 1 : 0,
                      .place = place,
                      .place_count = 2};
    node[i] = stage_add(&s, &box);
}

/* One device of its own, one cut into eight slices. */
static void add_sliced(int i)
{
    static const struct gang_profile_spec profiles[] = {
        {"1g", NULL, 1, 0x7f}, {"2g", NULL, 2, 0x15}, {"3g", NULL, 4, 0x11}};
    struct gang_gpu_spec gpu[9];
    struct gang_label place[] = {{"block", "b1"}, {"rack", "r1"}};
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    for (int k = 0; k < 9; k++) {
        gpu[k] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
        gpu[k].model = "H100";
        gpu[k].parent = k ? "p" : NULL;
        gpu[k].mig_index = k ? k - 1 : 0;
    }
    spec.name = "sliced";
    spec.cpu_milli = 64000;
    spec.memory_bytes = 64 * GIB;
    spec.gpus = gpu;
    spec.gpu_count = 9;
    spec.profiles = profiles;
    spec.profile_count = 3;
    spec.topology = place;
    spec.topology_count = 2;
    MUST(gang_node_add(s.w, &spec, &node[i], NULL));
}

static void setup(void)
{
    stage_open(&s, levels, 2);
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, &nic));
    MUST(gang_kind_add(s.w, "licence", NULL, GANG_SCOPE_CLUSTER, 20, &licence));
    for (int i = 0; i < NODES - 1; i++)
        add_node(i);
    add_sliced(NODES - 1);
    MUST(gang_snapshot_new(s.c, &base));
    MUST(gang_snapshot_new(s.c, &scratch));
    MUST(gang_snapshot_new(s.c, &live));
}

static void teardown(void)
{
    gang__places_free(&placed_at, &s.mem.mem);
    gang_snapshot_free(base);
    gang_snapshot_free(scratch);
    gang_snapshot_free(live);
    stage_close(&s);
}

static gang_result release_tasks(gang_snapshot *snapshot, gang_alloc_id id, const int64_t *tasks,
                                 size_t count)
{
    gang_node_id at;
    return gang__snapshot_release_where(snapshot, id, tasks, count, &at);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool is_core_word(const struct gang__node *n, unsigned word)
{
    return n && word >= gang__first_core(n->type->layout) &&
           word < gang__first_amount(n->type->layout);
}

/* Do two snapshots show the same? `cores`: the same cores, else as many. */
static bool same(const gang_snapshot *a, const gang_snapshot *b, bool cores)
{
    if (a->end != b->end || a->count != b->count || a->kinds != b->kinds ||
        memcmp(a->pool, b->pool, a->kinds * sizeof(a->pool[0])) != 0)
        return false;
    for (uint32_t slot = 0; slot < a->end; slot++) {
        const struct gang__node *n = a->node[slot];
        const uint64_t *x = gang__snapshot_words(a, slot), *y = gang__snapshot_words(b, slot);
        unsigned words = slot == GANG__POOL ? (unsigned)GANG__POOL_WORDS
                         : n                ? gang__all_words(n->type->layout)
                                            : 0;
        uint32_t left = 0, right = 0;
        if (n != b->node[slot])
            return false;
        for (unsigned i = 0; i < words; i++) {
            if (slot != GANG__POOL && is_core_word(n, i) && !cores) {
                left += gang__popcount(x[i]);
                right += gang__popcount(y[i]);
            } else if (x[i] != y[i]) {
                return false;
            }
        }
        if (left != right)
            return false;
    }
    return true;
}

static void same_as_live(const gang_snapshot *snap, const char *after)
{
    MUST(gang_snapshot_take(s.w, live));
    ck_assert_msg(same(snap, live, false), "%s: not as in the cluster", after);
}

static void restore(void)
{
    MUST(gang__snapshot_copy(scratch, base));
    test_assert(same(scratch, base, true));
}

static void take(void)
{
    MUST(gang_snapshot_take(s.w, base));
    restore();
}

/* The next task of a group that was just added to an allocation, from *at on. */
static const struct gang_task *next_added(const struct task_list *list, const int64_t *added,
                                          int32_t group, size_t *at)
{
    for (; *at < list->count; ++*at)
        for (size_t i = 0; list->task[*at].group == group && i < placed_at.count; i++)
            if (added[i] == list->task[*at].task)
                return &list->task[(*at)++];
    ck_abort_msg("no more tasks of group %d were added", group);
    return NULL;
}

/* The tasks of an allocation that were just added are those of the plan; in each group their
 * numbers go by its order. */
static void is_as_planned(gang_alloc_id id)
{
    static int64_t added[1024];
    size_t at[2] = {0, 0};
    const struct task_list *list = stage_tasks(&s, id);
    ck_assert_uint_ge(list->count, placed_at.count);
    ck_assert_uint_le(placed_at.count, 1024);
    gang__growth_numbers(s.w, added, placed_at.count);
    for (size_t i = 0; i < placed_at.count; i++) {
        int32_t group = placed_at.place[i].group;
        const struct gang_task *t = next_added(list, added, group, &at[group]);
        ck_assert_uint_eq(t->node, placed_at.place[i].node);
        ck_assert_uint_eq(t->gpus, placed_at.place[i].gpus);
    }
}

/* ---- at random ------------------------------------------------------------------------------- */

struct random_request {
    struct gang_request_spec spec;
    struct gang_group_spec group[2];
    struct gang_amount amount[2];
};

static void draw(struct random_request *r, int64_t most)
{
    static const int64_t cpus[] = {0, 500, 1000, 2000, 4000, 16000};
    static const int64_t gpus[] = {0, 0, 250, 500, 1000, 1000, 2000, 4000};
    static const char *const profiles[] = {"1g", "2g", "3g"};
    static const int32_t numas[] = {GANG_NUMA_NONE, GANG_NUMA_PREFER, GANG_NUMA_STRICT};
    memset(r, 0, sizeof(*r));
    r->spec = (struct gang_request_spec)GANG_REQUEST_SPEC_INIT;
    r->spec.groups = r->group;
    r->spec.group_count = (size_t)(1 + below(2));
    r->spec.policy = (int32_t)below(5);
    r->spec.exclusive = below(6) == 0;
    if (below(3) == 0)
        r->spec.same = levels[below(2)];
    else if (below(3) == 0)
        r->spec.prefer = levels[below(2)];
    for (size_t i = 0; i < r->spec.group_count; i++) {
        struct gang_group_spec *g = &r->group[i];
        *g = group_of(1 + below(most), cpus[below(6)], gpus[below(8)]);
        g->min = 1 + below(g->count);
        g->name = i ? "b" : "a";
        g->memory_bytes = below(4) * GIB;
        g->numa = numas[below(3)];
        if (g->gpu_milli == 500 && below(2))
            g->gpu_devices = 2;
        else if (g->gpu_milli == 250 && below(2)) {
            g->gpu_milli = 0;
            g->gpu_memory_bytes = 3 * GIB;
        }
        if (g->gpu_milli == 1000 && below(2)) {
            g->profile = profiles[below(3)];
            g->cpu_milli = g->cpu_milli > 4000 ? 1000 : g->cpu_milli;
        }
        if (below(5) == 0) {
            g->subgroup_size = 2;
            g->subgroup_same = "rack";
            g->count = (g->count + 1) / 2 * 2;
            g->min = (g->min + 1) / 2 * 2;
        }
        if (below(5) == 0)
            g->max_per_node = 1 + below(3);
        r->amount[i] = (struct gang_amount){below(2) ? "nic" : "licence", 1 + below(2)};
        if (below(3) == 0) {
            g->amounts = &r->amount[i];
            g->amount_count = 1;
        }
    }
}

static gang_alloc_id held[HELD];
static size_t held_count;

/* A victim: a whole allocation, or some of its tasks. */
struct victim {
    size_t at; /* in `held` */
    bool whole, stays;
    int64_t task[512];
    size_t count;
};

/* Tasks that gang_alloc_shrink() gives back; else all of it. */
static void choose(struct victim *v, size_t at)
{
    const struct task_list *list = stage_tasks(&s, held[at]);
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    MUST(gang_alloc_get(s.c, held[at], &info));
    v->at = at;
    v->stays = false;
    v->count = 0;
    for (size_t i = 0; i < list->count && v->count < 512; i++)
        if (below(3) == 0)
            v->task[v->count++] = list->task[i].task;
    v->whole = v->count == 0 || below(3) == 0 || info.tasks - (int64_t)v->count < info.min;
}

static int preempted, reprieved, refused, grown, in_short;

/* Of an allocation that is the worker's own the short way comes first. */
static gang_result release(gang_snapshot *snap, const struct victim *v)
{
    gang_node_id at = GANG_ID_NONE;
    if (v->whole && gang__snapshot_release_kept(snap, s.w, held[v->at], &at)) {
        ck_assert_uint_eq(at, stage_tasks(&s, held[v->at])->task[0].node);
        in_short++;
        return GANG_OK;
    }
    return v->whole ? gang_snapshot_release(snap, held[v->at])
                    : release_tasks(snap, held[v->at], v->task, v->count);
}

static gang_result retake(gang_snapshot *snap, const struct victim *v)
{
    return v->whole ? gang__snapshot_retake(snap, held[v->at])
                    : gang__snapshot_retake_tasks(snap, held[v->at], v->task, v->count);
}

/* Below a group's minimum it may still be refused: then all of it goes. */
static void evict(struct victim *v)
{
    if (v->whole) {
        MUST(gang_alloc_free(s.w, held[v->at]));
        held[v->at] = GANG_ID_NONE;
        return;
    }
    MUST(gang_alloc_shrink(s.w, held[v->at], v->task, (int64_t)v->count, NULL));
}

/* Would the cluster let these tasks go? Groups have minima, too. */
static bool may_shrink(const struct victim *v, const struct random_request *spec)
{
    int64_t left[2] = {0, 0}, gone[2] = {0, 0};
    const struct task_list *list = stage_tasks(&s, held[v->at]);
    size_t next = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool goes = next < v->count && v->task[next] == list->task[i].task;
        next += goes;
        (goes ? gone : left)[list->task[i].group]++;
    }
    for (size_t i = 0; i < spec->spec.group_count; i++)
        if (gone[i] && left[i] < spec->group[i].min)
            return false;
    return true;
}

static struct random_request spec_of[HELD];

static void forget_gone(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < held_count; i++)
        if (held[i] != GANG_ID_NONE) {
            spec_of[kept] = spec_of[i];
            held[kept++] = held[i];
        }
    held_count = kept;
}

static void hold(gang_alloc_id id, const struct random_request *r)
{
    spec_of[held_count] = *r;
    held[held_count++] = id;
}

/* Release some, place, let those stay that need not go, and do it for real. */
static void preempt(void)
{
    static struct victim victim[8];
    struct random_request r;
    size_t victims = 0;
    draw(&r, 12);
    take();
    for (size_t i = 0; i < held_count && victims < 8; i++)
        if (below(3) == 0) {
            struct victim *v = &victim[victims++];
            choose(v, i);
            v->whole = v->whole || !may_shrink(v, &spec_of[i]);
            MUST(release(scratch, v));
        }
    for (size_t i = 0; i < victims; i++) /* to and fro */
        MUST(retake(scratch, &victim[i]));
    test_assert(same(scratch, base, true));
    for (size_t i = 0; i < victims; i++)
        MUST(release(scratch, &victim[i]));
    gang_request *request = stage_request(&s, &r.spec);
    gang_result test = gang_snapshot_test(s.w, scratch, request, NULL);
    gang_result placed = gang__snapshot_place_where(s.w, scratch, request, &placed_at);
    ck_assert_int_eq(test == GANG_ENEVER ? GANG_ENOFIT : test, placed);
    ck_assert_int_eq(placed == GANG_OK, placed_at.count > 0);
    if (placed != GANG_OK || held_count == HELD) {
        if (placed != GANG_OK) {
            ck_assert_int_eq(placed, GANG_ENOFIT);
            for (size_t i = victims; i-- > 0;)
                MUST(retake(scratch, &victim[i]));
            test_assert(same(scratch, base, true));
        }
        gang_request_free(request);
        refused++;
        return;
    }
    for (size_t i = 0; i < victims; i++) {
        gang_result back = retake(scratch, &victim[i]);
        ck_assert(back == GANG_OK || back == GANG_ENOFIT);
        victim[i].stays = back == GANG_OK;
        reprieved += victim[i].stays;
        preempted += !victim[i].stays;
    }
    for (size_t i = 0; i < victims; i++)
        if (!victim[i].stays)
            evict(&victim[i]);
    gang_alloc_id id;
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r2 =
        gang_alloc_adopt(s.w, request, placed_at.place, (int64_t)placed_at.count, &id, &error);
    ck_assert_msg(r2 == GANG_OK, "%s %s: %s", gang_result_name(r2), error.path, error.text);
    is_as_planned(id);
    same_as_live(scratch, "preempted");
    forget_gone();
    hold(id, &r);
    gang_request_free(request);
}

static void grow(void)
{
    if (!held_count)
        return;
    size_t at = index_below(held_count);
    int32_t group = (int32_t)below((int64_t)spec_of[at].spec.group_count + 1) - 1;
    int64_t tasks = 1 + below(4), granted;
    take();
    gang_result r = gang__snapshot_grow_where(s.w, scratch, held[at], group, tasks, &placed_at);
    if (r != GANG_OK) {
        ck_assert_uint_eq(placed_at.count, 0);
        test_assert(same(scratch, base, true));
        gang_result real = gang_alloc_grow(s.w, held[at], group, tasks, &granted, NULL);
        ck_assert_int_eq(real == GANG_ENEVER ? GANG_ENOFIT : real, r);
        return;
    }
    ck_assert_uint_ge(placed_at.count, 1);
    MUST(gang__alloc_adopt_more(s.w, held[at], placed_at.place, (int64_t)placed_at.count));
    is_as_planned(held[at]);
    same_as_live(scratch, "grown");
    stage_check(&s);
    grown++;
}

START_TEST(planned_places_can_be_taken)
{
    chance_state = test_seed() + (uint64_t)_i;
    held_count = 0;
    preempted = reprieved = refused = grown = in_short = 0;
    s.w->keeps_allocs = _i % 2;
    for (int i = 0; i < 300; i++) {
        int64_t what = below(10);
        if (what < 3 && held_count < HELD) {
            struct random_request r;
            draw(&r, 8);
            struct outcome o = stage_try(&s, &r.spec);
            if (o.result == GANG_OK)
                hold(o.id, &r);
        } else if (what < 6) {
            preempt();
        } else if (what < 9) {
            grow();
        } else {
            int32_t state = below(3) ? GANG_NODE_UP : GANG_NODE_DRAINING;
            MUST(gang_node_set_state(s.w, node[below(NODES)], state));
        }
    }
    ck_assert_int_gt(preempted, 5);
    ck_assert_int_gt(reprieved, 5);
    ck_assert_int_gt(refused, 3);
    ck_assert_int_gt(grown, 3);
    ck_assert_int_eq(in_short > 0, _i % 2); /* only the keeper reads without a hold */
}
END_TEST

/* The first worker begins its searches where the planner on a snapshot does: the same, to the
 * device. */
START_TEST(places_are_given_in_the_order_of_ranks)
{
    chance_state = test_seed() + (uint64_t)_i;
    for (int i = 0; i < 60; i++) {
        struct random_request r;
        draw(&r, 12);
        take();
        gang_request *request = stage_request(&s, &r.spec);
        gang_result planned = gang__snapshot_place_where(s.w, scratch, request, &placed_at);
        struct outcome o = stage_try(&s, &r.spec);
        ck_assert_int_eq(o.result == GANG_ENEVER ? GANG_ENOFIT : o.result, planned);
        if (planned == GANG_OK) {
            is_as_planned(o.id);
            MUST(gang_snapshot_take(s.w, live));
            test_assert(same(scratch, live, true));
        } else if (i % 2) {
            gang_alloc_id id = gang_alloc_next(s.c, GANG_ID_NONE);
            if (id != GANG_ID_NONE)
                MUST(gang_alloc_free(s.w, id));
        }
        gang_request_free(request);
    }
}
END_TEST

/* ---- copies ---------------------------------------------------------------------------------- */

static struct gang__domain *some_domain(void) /* block=b0 */
{
    return gang__load(&gang__load(&s.c->nodes.domains)->entry[0]);
}

START_TEST(a_copy_answers_like_its_original)
{
    struct gang_group_spec g = group_of(4, 4000, 250);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.same = "rack";
    stage_alloc(&s, &spec);
    gang_request *request = stage_request(&s, &spec);
    take();
    for (int i = 0; i < 20; i++) {
        struct gang_placement first[4];
        MUST(gang__snapshot_place_where(s.w, base, request, &placed_at));
        ck_assert_uint_eq(placed_at.count, 4);
        memcpy(first, placed_at.place, sizeof(first));
        MUST(gang__snapshot_place_where(s.w, scratch, request, &placed_at));
        ck_assert_mem_eq(first, placed_at.place, sizeof(first));
        test_assert(same(base, scratch, true));
    }
    ck_assert(!base->listed && !scratch->listed);
    const uint32_t *slots;
    uint32_t count;
    slots = gang__snapshot_members(base, some_domain(), &count);
    ck_assert_uint_eq(count, NODES / 2);
    MUST(gang__snapshot_copy(live, base)); /* the lists as well */
    ck_assert(live->listed);
    ck_assert_mem_eq(slots, gang__snapshot_members(live, some_domain(), &count),
                     count * sizeof(*slots));
    ck_assert_uint_eq(count, NODES / 2);
    restore(); /* of the same take, and now listed */
    ck_assert(scratch->listed);
    MUST(gang__snapshot_place_where(s.w, live, request, &placed_at));
    ck_assert(!same(live, base, true));
    struct gang_totals a = GANG_TOTALS_INIT, b = GANG_TOTALS_INIT;
    MUST(gang_snapshot_totals(base, &a));
    restore();
    MUST(gang_snapshot_totals(scratch, &b));
    ck_assert_mem_eq(&a, &b, sizeof(a));
    /* Another snapshot, of a cluster that has grown by domains and a wider node. */
    struct gang_label far[] = {{"block", "b7"}, {"rack", "r7"}};
    struct box box = {
        .name = "far", .cpu = 500000, .gpus = 64, .cores = 256, .place = far, .place_count = 2};
    struct gang_group_spec large = group_of(1, 400000, 0);
    struct gang_request_spec one = request_of(&large, 1);
    one.same = "rack";
    gang_request *q2 = stage_request(&s, &one);
    stage_add(&s, &box);
    ck_assert_int_eq(gang__snapshot_place_where(s.w, scratch, q2, &placed_at), GANG_ENOFIT);
    take();
    MUST(gang__snapshot_place_where(s.w, scratch, q2, &placed_at));
    MUST(gang_snapshot_set_state(scratch, node[0], GANG_NODE_DOWN));
    restore();
    gang_request_free(q2);
    gang_request_free(request);
}
END_TEST

static void describe_anew(int i, const char *rack)
{
    struct gang_node_spec *old;
    MUST(gang_node_get_spec(s.c, node[i], &old));
    struct gang_node_spec spec = *old;
    struct gang_label place[] = {{"block", "b5"}, {"rack", rack}};
    spec.topology = place;
    spec.topology_count = 2;
    MUST(gang_node_change(s.w, node[i], &spec, NULL));
    gang_node_spec_free(old);
}

/* Descriptions live as long as any copy shows them, whichever came first; the allocator's tools see
 * it if not. */
START_TEST(a_copy_keeps_the_nodes_that_it_shows)
{
    struct gang_node_info info = {.size = sizeof(info)};
    MUST(gang_snapshot_take(s.w, base));
    MUST(gang__snapshot_copy(scratch, base)); /* was never taken */
    describe_anew(0, "x");
    MUST(gang_node_remove(s.w, node[1]));
    MUST(gang_snapshot_take(s.w, base));
    MUST(gang_cluster_recycle(s.c));
    MUST(gang_snapshot_node_get(scratch, node[1], &info));
    ck_assert_str_eq(info.name, "n1");
    ck_assert_int_eq(gang_snapshot_node_get(base, node[1], &info), GANG_ESTALE);
    MUST(gang__snapshot_copy(live, base));
    MUST(gang__snapshot_copy(live, scratch)); /* an earlier instant than it had */
    MUST(gang__snapshot_copy(scratch, base)); /* a later one */
    describe_anew(2, "y");
    MUST(gang_cluster_recycle(s.c));
    MUST(gang_snapshot_node_get(live, node[1], &info));
    ck_assert_str_eq(info.name, "n1");
    ck_assert_int_eq(gang_snapshot_node_count(live), NODES);
    ck_assert_int_eq(gang_snapshot_node_count(scratch), NODES - 1);
    MUST(gang__snapshot_copy(live, base));
    MUST(gang_cluster_recycle(s.c));
    ck_assert_int_eq(gang_snapshot_node_get(live, node[1], &info), GANG_ESTALE);
    MUST(gang_snapshot_node_get(live, node[2], &info));
}
END_TEST

/* ---- some tasks ------------------------------------------------------------------------------ */

START_TEST(places_taken_by_another_are_not_retaken)
{
    struct gang_group_spec g = group_of(4, 64000, 0);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    const int64_t tasks[] = {1, 3};
    take();
    ck_assert_int_eq(gang__snapshot_retake(scratch, id), GANG_ENOFIT);
    ck_assert_int_eq(gang__snapshot_retake_tasks(scratch, id, tasks, 2), GANG_ENOFIT);
    test_assert(same(scratch, base, true));
    MUST(release_tasks(scratch, id, tasks, 2));
    ck_assert_int_eq(gang__snapshot_retake(scratch, id), GANG_ENOFIT); /* two are not free */
    g.count = g.min = NODES - 4 + 1;
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    MUST(gang__snapshot_copy(live, scratch));
    MUST(gang__snapshot_place_where(s.w, scratch, request, &placed_at));
    MUST(gang__snapshot_copy(live, scratch));
    ck_assert_int_eq(gang__snapshot_retake_tasks(scratch, id, tasks, 2), GANG_ENOFIT);
    test_assert(same(live, scratch, true)); /* the one that was free is as it was */
    restore();
    MUST(gang_snapshot_release(scratch, id));
    ck_assert_int_eq(gang_snapshot_release(scratch, id), GANG_ERANGE);
    MUST(gang__snapshot_retake(scratch, id));
    test_assert(same(scratch, base, true));
    gang_request_free(request);
}
END_TEST

START_TEST(an_exclusive_node_goes_back_with_its_last_task)
{
    struct gang_amount one = {"licence", 1};
    struct gang_group_spec g = group_of(4, 8000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    const int64_t all[] = {0, 1, 2, 3};
    g.min = 1;
    g.max_per_node = 2;
    g.amounts = &one;
    g.amount_count = 1;
    spec.exclusive = true;
    struct gang_placement place[4];
    for (int i = 0; i < 4; i++) {
        place[i] = (struct gang_placement)GANG_PLACEMENT_INIT;
        place[i].node = node[i / 2];
    }
    gang_request *request = stage_request(&s, &spec);
    gang_node_id first = node[0];
    gang_alloc_id id;
    MUST(gang_alloc_adopt(s.w, request, place, 4, &id, NULL));
    gang_request_free(request);
    struct gang_node_info info = {.size = sizeof(info)};
    take();
    MUST(release_tasks(scratch, id, all + 1, 1)); /* one of two */
    MUST(gang_snapshot_node_get(scratch, first, &info));
    ck_assert_int_eq(info.cpu_free, 0);
    MUST(gang__snapshot_retake_tasks(scratch, id, all + 1, 1));
    test_assert(same(scratch, base, true));
    MUST(release_tasks(scratch, id, all, 3)); /* a node, and one of the other */
    MUST(gang_snapshot_node_get(scratch, first, &info));
    ck_assert_int_eq(info.cpu_free, info.cpu_milli);
    MUST(gang_alloc_shrink(s.w, id, all, 3, NULL));
    same_as_live(scratch, "shrunk");
    /* It grows beside its task, and on a free node; all at the planned places. */
    take();
    MUST(gang__snapshot_grow_where(s.w, scratch, id, 0, 3, &placed_at));
    ck_assert_uint_eq(placed_at.count, 3);
    MUST(gang__alloc_adopt_more(s.w, id, placed_at.place, 3));
    is_as_planned(id);
    same_as_live(scratch, "grown");
    stage_check(&s);
}
END_TEST

/* What it holds beside its tasks does not come on top of that. */
START_TEST(a_released_node_is_as_free_as_any)
{
    struct gang_group_spec g = group_of(20, 8000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_placement at = GANG_PLACEMENT_INIT;
    gang_alloc_id id;
    spec.exclusive = true;
    g.min = 1;
    at.node = node[3]; /* with unnamed cores */
    gang_request *request = stage_request(&s, &spec);
    MUST(gang_alloc_adopt(s.w, request, &at, 1, &id, NULL));
    gang_request_free(request);
    MUST(gang_snapshot_take(s.w, base));
    for (int i = 0; i < NODES; i++)
        if (i != 3)
            MUST(gang_snapshot_set_state(base, node[i], GANG_NODE_DOWN));
    restore();
    MUST(gang__snapshot_grow_where(s.w, scratch, id, -1, 19, &placed_at));
    ck_assert_uint_eq(placed_at.count, 7);
    restore();
    MUST(gang_snapshot_release(scratch, id));
    MUST(gang__snapshot_grow_where(s.w, scratch, id, -1, 19, &placed_at));
    ck_assert_uint_eq(placed_at.count, 8);
}
END_TEST

START_TEST(growth_is_bound_to_the_domain_of_the_snapshot)
{
    struct gang_group_spec g = group_of(2, 64000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_placement at = GANG_PLACEMENT_INIT;
    gang_alloc_id id;
    spec.same = "rack";
    at.node = node[0];
    gang_request *request = stage_request(&s, &spec);
    MUST(gang_alloc_adopt(s.w, request, &at, 1, &id, NULL));
    gang_request_free(request);
    take();
    describe_anew(0, "elsewhere");
    MUST(gang__snapshot_grow_where(s.w, scratch, id, 0, 1, &placed_at));
    ck_assert(placed_at.place[0].node == node[1] || placed_at.place[0].node == node[2]);
}
END_TEST

START_TEST(adopting_more_is_all_or_nothing)
{
    struct gang_group_spec g[] = {group_of(6, 1000, 500), group_of(2, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].min = g[1].min = 1;
    g[0].name = "a";
    g[1].name = "b";
    gang_alloc_id id = stage_alloc(&s, &spec), other;
    take();
    MUST(gang__snapshot_grow_where(s.w, scratch, id, -1, 9, &placed_at));
    ck_assert_uint_eq(placed_at.count, 6);
    ck_assert_int_eq(placed_at.place[0].any_devices, 0);
    ck_assert_int_eq(placed_at.place[5].any_devices, 1);
    /* A node is in use already. */
    struct gang_group_spec whole = group_of(1, 0, 1000);
    struct gang_placement over = placed_at.place[4];
    struct gang_request_spec its = request_of(&whole, 1);
    gang_request *request = stage_request(&s, &its);
    over.group = 0;
    over.any_cores = 1;
    if (gang_alloc_adopt(s.w, request, &over, 1, &other, NULL) != GANG_OK) {
        ck_assert_uint_eq(over.gpus, stage_tasks(&s, id)->task[0].gpus);
        other = GANG_ID_NONE;
        over.gpus = placed_at.place[3].gpus;
        MUST(gang_alloc_adopt(s.w, request, &over, 1, &other, NULL));
    }
    gang_request_free(request);
    MUST(gang_snapshot_take(s.w, base));
    ck_assert_int_eq(gang__alloc_adopt_more(s.w, id, placed_at.place, 6), GANG_ENOFIT);
    same_as_live(base, "refused");
    ck_assert_uint_eq(stage_tasks(&s, id)->count, 2);
    MUST(gang_alloc_free(s.w, other));
    MUST(gang__alloc_adopt_more(s.w, id, placed_at.place, 6));
    ck_assert_uint_eq(stage_tasks(&s, id)->count, 8);
    same_as_live(scratch, "adopted");
    ck_assert_int_eq(gang__alloc_adopt_more(s.w, id, placed_at.place, 1), GANG_ERANGE);
    ck_assert_int_eq(gang__snapshot_grow_where(s.w, scratch, id, -1, 1, &placed_at), GANG_ERANGE);
}
END_TEST

/* ---- the stamp ------------------------------------------------------------------------------- */

static uint64_t stamp;

static bool has_risen(void)
{
    uint64_t now = gang__capacity_stamp(s.c);
    bool more = now > stamp;
    ck_assert_uint_ge(now, stamp);
    stamp = now;
    return more;
}

START_TEST(the_stamp_changes_when_capacity_is_freed)
{
    gang_worker *w2;
    struct gang_group_spec g = group_of(2, 1000, 1000);
    g.min = 1;
    MUST(gang_worker_new(s.c, &w2));
    stamp = gang__capacity_stamp(s.c);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    MUST(gang_alloc_grow(s.w, id, 0, 1, NULL, NULL));
    MUST(gang_node_set_state(s.w, node[0], GANG_NODE_DRAINING));
    ck_assert(!has_risen());
    uint64_t mine = gang__worker_stamp(s.w), others = gang__worker_stamp(w2);
    MUST(gang_alloc_shrink(s.w, id, (const int64_t[]){1}, 1, NULL));
    ck_assert(has_risen());
    ck_assert_uint_gt(gang__worker_stamp(s.w), mine);
    ck_assert_uint_eq(gang__worker_stamp(w2), others);
    mine = gang__worker_stamp(s.w);
    MUST(gang_alloc_free(w2, id));
    ck_assert(has_risen());
    ck_assert_uint_eq(gang__worker_stamp(s.w), mine);
    ck_assert_uint_gt(gang__worker_stamp(w2), others);
    MUST(gang_node_set_state(s.w, node[0], GANG_NODE_UP));
    ck_assert(has_risen());
    describe_anew(0, "z");
    ck_assert(has_risen());
    MUST(gang_partition_set(s.w, "p", GANG_PARTITION_EXCLUSIVE));
    ck_assert(has_risen());
    MUST(gang_kind_resize(s.w, licence, 30));
    ck_assert(has_risen());
    struct box box = {.name = "new", .cpu = 1000};
    stage_add(&s, &box);
    ck_assert(has_risen());
    MUST(gang_node_remove(s.w, node[0]));
    gang_worker_free(w2);
    ck_assert(!has_risen());
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

START_TEST(wrong_arguments_are_refused)
{
    struct gang_group_spec g = group_of(3, 1000, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    g.min = 1;
    gang_alloc_id id = stage_alloc(&s, &spec), none = GANG_ID_NONE;
    gang_request *request = stage_request(&s, &spec);
    const int64_t ok[] = {0, 2}, unsorted[] = {2, 0}, twice[] = {1, 1}, unknown[] = {1, 7};
    gang_cluster *c2;
    gang_worker *w2;
    gang_snapshot *other;
    MUST(gang_cluster_new(NULL, &c2, NULL));
    MUST(gang_worker_new(c2, &w2));
    MUST(gang_snapshot_new(c2, &other));
    MUST(gang_snapshot_take(w2, other));
    ck_assert_int_eq(gang__snapshot_copy(scratch, base), GANG_EINVAL); /* never taken */
    ck_assert_int_eq(gang__snapshot_copy(scratch, other), GANG_EINVAL);
    ck_assert_int_eq(release_tasks(scratch, id, ok, 2), GANG_EINVAL);
    ck_assert_int_eq(gang__snapshot_place_where(s.w, scratch, request, &placed_at), GANG_EINVAL);
    ck_assert_int_eq(gang__snapshot_grow_where(s.w, scratch, id, 0, 1, &placed_at), GANG_EINVAL);
    MUST(gang__snapshot_copy(other, other));
    take();
    ck_assert_int_eq(gang__snapshot_copy(NULL, base), GANG_EINVAL);
    ck_assert_int_eq(gang__snapshot_copy(scratch, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang__snapshot_place_where(w2, scratch, request, &placed_at), GANG_EINVAL);
    ck_assert_int_eq(gang__snapshot_place_where(s.w, other, request, &placed_at), GANG_EINVAL);
    ck_assert_int_eq(gang__snapshot_grow_where(w2, scratch, id, 0, 1, &placed_at), GANG_EINVAL);
    ck_assert_int_eq(gang__snapshot_grow_where(s.w, scratch, id, 1, 1, &placed_at), GANG_EINVAL);
    ck_assert_int_eq(gang__snapshot_grow_where(s.w, scratch, id, 0, 0, &placed_at), GANG_ERANGE);
    ck_assert_int_eq(gang__snapshot_grow_where(s.w, scratch, none, 0, 1, &placed_at), GANG_ESTALE);
    ck_assert_int_eq(release_tasks(scratch, id, unsorted, 2), GANG_EINVAL);
    ck_assert_int_eq(release_tasks(scratch, id, twice, 2), GANG_EINVAL);
    ck_assert_int_eq(release_tasks(scratch, id, unknown, 2), GANG_ENOENT);
    ck_assert_int_eq(release_tasks(scratch, none, ok, 2), GANG_ESTALE);
    ck_assert_int_eq(gang__snapshot_retake_tasks(scratch, id, NULL, 1), GANG_EINVAL);
    ck_assert_int_eq(gang__snapshot_retake(scratch, none), GANG_ESTALE);
    ck_assert_int_eq(gang__alloc_adopt_more(s.w, id, NULL, 1), GANG_EINVAL);
    struct gang_placement p = GANG_PLACEMENT_INIT;
    p.node = node[0];
    ck_assert_int_eq(gang__alloc_adopt_more(s.w, id, &p, 0), GANG_EINVAL);
    ck_assert_int_eq(gang__alloc_adopt_more(s.w, none, &p, 1), GANG_ESTALE);
    ck_assert_int_eq(gang__alloc_adopt_more(s.w, id, &p, 1), GANG_OK);
    p.node = node[0] + 77;
    ck_assert_int_eq(gang__alloc_adopt_more(s.w, id, &p, 1), GANG_ESTALE);
    p.node = node[0];
    p.group = 1;
    ck_assert_int_eq(gang__alloc_adopt_more(s.w, id, &p, 1), GANG_EINVAL);
    /* On a node that the snapshot does not know. */
    struct box box = {.name = "later", .cpu = 1000000};
    struct gang_group_spec large = group_of(1, 900000, 0);
    stage_add(&s, &box);
    gang_alloc_id young = stage_alloc_group(&s, &large);
    restore();
    ck_assert_int_eq(release_tasks(scratch, young, ok, 1), GANG_ENOENT);
    test_assert(same(scratch, base, true));
    gang_request_free(request);
    gang_snapshot_free(other);
    gang_cluster_free(c2);
}
END_TEST

/* ---- out of memory --------------------------------------------------------------------------- */

static gang_request *some_request;
static gang_alloc_id some_alloc, alone;

static gang_result copy_it(void)
{
    return gang__snapshot_copy(live, base);
}
static gang_result release_it(void)
{
    return release_tasks(scratch, alone, (const int64_t[]){0}, 1);
}
static gang_result retake_it(void)
{
    return gang__snapshot_retake_tasks(scratch, alone, (const int64_t[]){0}, 1);
}
static gang_result place_it(void)
{
    return gang__snapshot_place_where(s.w, scratch, some_request, &placed_at);
}
static gang_result grow_it(void)
{
    return gang__snapshot_grow_where(s.w, scratch, some_alloc, 0, 200, &placed_at);
}
static gang_result adopt_it(void)
{
    return gang__alloc_adopt_more(s.w, some_alloc, placed_at.place, (int64_t)placed_at.count);
}

/* Each allocation fails in turn; the last time none does. */
static void each_failing(const char *name, gang_result (*call)(void), int least)
{
    int failures = 0;
    MUST(gang_snapshot_take(s.w, base));
    size_t tasks = stage_tasks(&s, some_alloc)->count;
    gang_snapshot *before;
    MUST(gang_snapshot_new(s.c, &before));
    MUST(gang__snapshot_copy(before, scratch));
    for (long at = 1;; at = 3 - at) {
        s.mem.fail_at = s.mem.calls + at;
        gang_result r = call();
        bool failed = s.mem.calls >= s.mem.fail_at;
        s.mem.fail_at = 0;
        ck_assert_msg(r == (failed ? GANG_ENOMEM : GANG_OK), "%s: %s", name, gang_result_name(r));
        if (!failed)
            break;
        failures++;
        test_assert(same(scratch, before, true));
        ck_assert_uint_eq(stage_tasks(&s, some_alloc)->count, tasks);
    }
    ck_assert_msg(failures >= least, "%s: %d failures", name, failures);
    gang_snapshot_free(before);
}

START_TEST(out_of_memory_changes_nothing)
{
    struct gang_group_spec g = group_of(150, 100, 50);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_group_spec mine = group_of(1, 1000, 0);
    struct gang_request_spec only = request_of(&mine, 1);
    g.min = 1;
    only.exclusive = true;
    spec.same = "block";
    some_alloc = stage_alloc(&s, &spec);
    alone = stage_alloc(&s, &only);
    g.min = g.count = 40;
    some_request = stage_request(&s, &spec);
    take();
    each_failing("copy", copy_it, 3);
    each_failing("release", release_it, 1);
    each_failing("retake", retake_it, 1);
    restore();
    each_failing("place", place_it, 3);
    restore();
    each_failing("grow", grow_it, 2);
    ck_assert_uint_eq(placed_at.count, 149);
    each_failing("adopt", adopt_it, 1);
    same_as_live(scratch, "adopted");
    gang_request_free(some_request);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whatif_tasks");
    TCase *t = tcase_create("whatif_tasks");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, planned_places_can_be_taken, 0, 8);
    tcase_add_loop_test(t, places_are_given_in_the_order_of_ranks, 0, 4);
    tcase_add_test(t, a_copy_answers_like_its_original);
    tcase_add_test(t, a_copy_keeps_the_nodes_that_it_shows);
    tcase_add_test(t, places_taken_by_another_are_not_retaken);
    tcase_add_test(t, an_exclusive_node_goes_back_with_its_last_task);
    tcase_add_test(t, a_released_node_is_as_free_as_any);
    tcase_add_test(t, growth_is_bound_to_the_domain_of_the_snapshot);
    tcase_add_test(t, adopting_more_is_all_or_nothing);
    tcase_add_test(t, the_stamp_changes_when_capacity_is_freed);
    tcase_add_test(t, wrong_arguments_are_refused);
    tcase_add_test(t, out_of_memory_changes_nothing);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
