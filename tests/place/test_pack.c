/* SPDX-License-Identifier: Apache-2.0 */
/* place/pack/pack.h: which domains and nodes a plan takes for a whole gang, and what backtracking
 * finds that greedy placing misses. Plans alone: nothing is committed. */
#include <gangsched/gangsched.h>

#include "base/rcu.h"
#include "place/fit/fit_plan.h"
#include "place/pack/pack.h"
#include "place/record/placer.h"
#include "place/search/search.h"
#include "support.h"

static struct stage s;
static const char *const levels[] = {"rack"};

enum { MAX_NODES = 256 };
static gang_node_id node[MAX_NODES];
static int nodes;

/* The plan under test, of one request. */
static gang_request *request;
static struct gang__plan *p;
static struct gang__pack pack;
static const struct gang__scope all = {GANG__NO_LEVEL, GANG__NO_SLOT, 0, NULL};

static void open_stage(void)
{
    stage_open(&s, levels, 1);
    ck_assert_ptr_nonnull(gang__placer_of(s.w));
    p = gang__plan_of(s.w);
    request = NULL;
    nodes = 0;
}

static void end_plan(void)
{
    if (request)
        gang__rcu_leave();
    gang_request_free(request);
    request = NULL;
}

static void close_stage(void)
{
    end_plan();
    stage_close(&s);
}

/* Nodes with so many cores and GPUs each in a rack; NULL: in none. */
static void add(const char *rack, int count, int cores, size_t gpus)
{
    struct gang_label place = {"rack", rack};
    for (int i = 0; i < count; i++) {
        char name[20];
        snprintf(name, sizeof(name), "n%d", nodes);
        struct box box = {.name = name,
                          .cpu = 1000 * cores,
                          .gpus = gpus,
                          .place = &place,
                          .place_count = rack != NULL};
        node[nodes++] = stage_add(&s, &box);
    }
}

/* Begins an empty plan for a request. The caller packs with `policy`. */
static void begin(const struct gang_request_spec *spec, int32_t policy)
{
    end_plan();
    request = stage_request(&s, spec);
    gang__rcu_enter();
    MUST(gang__plan_begin(p, s.c, request, false));
    p->start.slot = p->start.bit = 0;
    pack = (struct gang__pack){p, request, request->by_size, policy, GANG__NO_LEVEL, false};
}

static void begin_group(const struct gang_group_spec *g, int32_t policy)
{
    struct gang_request_spec spec = request_of(g, 1);
    begin(&spec, policy);
}

/* The tasks that the plan has on each node, in the order in which the nodes were added: "0 4 4".
 * Good until the next call. */
static const char *planned(void)
{
    static char text[MAX_NODES * 4];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < nodes; i++) {
        int tasks = 0;
        for (size_t k = 0; k < p->tasks.count; k++)
            tasks += p->nodes.copy[p->tasks.plan[k].copy].node->id == node[i];
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? " " : "", tasks);
    }
    return text;
}

static const char *rack_of(const struct gang__scope *scope)
{
    ck_assert_ptr_nonnull(scope->domain);
    return scope->domain->value;
}

/* The plan has no task, binds nothing, holds no key, and each node copy is as it was read. */
static void check_that_nothing_is_left(void)
{
    ck_assert(!p->out.failed);
    ck_assert_uint_eq(p->tasks.count, 0);
    ck_assert_uint_eq(p->bound.undos, 0);
    ck_assert_uint_eq(p->keys.count, 0);
    ck_assert(!gang__scope_is_bound(&p->bound.request));
    for (uint32_t g = 0; g < request->group_count; g++) {
        ck_assert_int_eq(p->tasks.in_group[g], 0);
        ck_assert(!gang__scope_is_bound(&p->bound.group[g]));
    }
    for (size_t i = 0; i < p->nodes.count; i++) {
        const struct gang__node_copy *copy = &p->nodes.copy[i];
        ck_assert_uint_eq(copy->used, 0);
        ck_assert_mem_eq(gang__words_was(p, copy), gang__words_now(p, copy),
                         copy->words * sizeof(uint64_t));
    }
}

/* ---- which domain ---- */

/* Both racks hold eight tasks; rack b does with two nodes. */
START_TEST(a_group_is_bound_to_the_rack_with_the_fewest_nodes)
{
    struct gang_group_spec g = group_of(8, 1000, 0);
    add("a", 4, 2, 0);
    add("b", 2, 4, 0);
    g.same = "rack";
    begin_group(&g, GANG_POLICY_TOPOLOGY);
    ck_assert(gang__pack_request(p, false));
    ck_assert_str_eq(planned(), "0 0 0 0 4 4");
    ck_assert_str_eq(rack_of(&p->bound.group[0]), "b");
}
END_TEST

/* Two groups of a request with one rack: the smaller group alone would go to rack a. */
START_TEST(a_request_is_bound_to_one_rack_for_all_its_groups)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(2, 3000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add("a", 1, 1, 0);
    add("b", 2, 4, 0);
    spec.same = "rack";
    begin(&spec, GANG_POLICY_DEFAULT);
    ck_assert(gang__pack_request(p, false));
    ck_assert_str_eq(rack_of(&p->bound.request), "b");
    ck_assert_int_eq(p->tasks.in_group[0], 1);
    ck_assert_int_eq(p->tasks.in_group[1], 2);
}
END_TEST

/* Notes the racks that are offered; takes none. */
struct offers {
    char text[MAX_NODES * 4];
    size_t used;
    int count;
};

static bool note_offer(void *user, const struct gang__scope *scope, int64_t most)
{
    (void)most;
    struct offers *o = user;
    o->used +=
        (size_t)snprintf(o->text + o->used, sizeof(o->text) - o->used, "%s ", rack_of(scope));
    o->count++;
    return false;
}

/* Four tasks need two nodes in rack a, and one in the others: of these c has less left. Rack d is
 * too small. */
START_TEST(racks_are_offered_best_first)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    struct offers o = {.used = 0};
    add("a", 2, 2, 0);
    add("b", 2, 5, 0);
    add("c", 1, 5, 0);
    add("d", 1, 3, 0);
    g.same = "rack";
    begin_group(&g, GANG_POLICY_TOPOLOGY);
    ck_assert(!gang__choose_each(&pack, gang__member_group(0, 4), 0, &all, note_offer, &o));
    ck_assert_str_eq(o.text, "c b a ");
    check_that_nothing_is_left();
}
END_TEST

/* With many nodes the eight best of some racks are offered first. If none will do, each rack is. */
START_TEST(every_rack_is_offered_before_a_refusal)
{
    enum { RACKS = 20, NODES_A_RACK = 10, FIRST_OFFERS = 8 };
    struct gang_group_spec g = group_of(4, 1000, 0);
    struct offers o = {.used = 0};
    for (int i = 0; i < RACKS; i++) {
        char rack[8];
        snprintf(rack, sizeof(rack), "r%d", i);
        add(rack, NODES_A_RACK, 4, 0);
    }
    g.same = "rack";
    begin_group(&g, GANG_POLICY_TOPOLOGY);
    ck_assert(!gang__choose_each(&pack, gang__member_group(0, 4), 0, &all, note_offer, &o));
    ck_assert_int_eq(o.count, FIRST_OFFERS + RACKS);
}
END_TEST

/* ---- how tasks lie in it ---- */

START_TEST(few_nodes_are_filled_equally)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    add("a", 4, 4, 0);
    begin_group(&g, GANG_POLICY_TOPOLOGY);
    ck_assert_int_eq(gang__fill_few_nodes(&pack, 0, 6, &all), 6);
    ck_assert_uint_eq(p->tasks.count, 6);
    int used = 0;
    for (size_t i = 0; i < p->nodes.count; i++)
        if (p->nodes.copy[i].used) {
            ck_assert_uint_eq(p->nodes.copy[i].used, 3);
            used++;
        }
    ck_assert_int_eq(used, 2);
}
END_TEST

/* What fits is planned, and its number returned. */
START_TEST(a_scope_that_is_too_small_is_filled)
{
    struct gang_group_spec g = group_of(9, 1000, 0);
    add("a", 2, 4, 0);
    begin_group(&g, GANG_POLICY_TOPOLOGY);
    ck_assert_int_eq(gang__fill_few_nodes(&pack, 0, 9, &all), 8);
    ck_assert_str_eq(planned(), "4 4");
}
END_TEST

START_TEST(tasks_are_spread_evenly)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    add("a", 1, 8, 0);
    add("b", 1, 4, 0);
    add("c", 1, 8, 0);
    g.spread = "rack";
    g.max_skew = 1;
    begin_group(&g, GANG_POLICY_DEFAULT);
    ck_assert_int_eq(gang__spread(&pack, 0, 6, &all), 6);
    ck_assert_str_eq(planned(), "2 2 2");
}
END_TEST

/* Rack b is full after one task: the others may have one more than it, and no more. */
START_TEST(a_full_rack_bounds_the_others)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    add("a", 1, 8, 0);
    add("b", 1, 1, 0);
    add("c", 1, 8, 0);
    g.spread = "rack";
    g.max_skew = 1;
    begin_group(&g, GANG_POLICY_DEFAULT);
    ck_assert_int_eq(gang__spread(&pack, 0, 6, &all), 5);
    ck_assert_str_eq(planned(), "2 1 2");
}
END_TEST

/* ---- more tasks ---- */

START_TEST(more_tasks_go_to_the_rack_that_is_bound)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    add("a", 1, 2, 0);
    add("b", 1, 4, 0);
    g.same = "rack";
    begin_group(&g, GANG_POLICY_DEFAULT);
    struct gang__scope rack = gang__scope_domain(gang__domain_at(s.c, 0, 0));
    p->bound.group[0] = rack;
    ck_assert_int_eq(gang__pack_more(p, 0, 1, 4, false), 2);
    ck_assert_str_eq(planned(), "2 0");
}
END_TEST

START_TEST(fewer_tasks_than_the_least_are_not_planned)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    add("a", 1, 2, 0);
    begin_group(&g, GANG_POLICY_DEFAULT);
    ck_assert_int_eq(gang__pack_more(p, 0, 3, 4, false), 0);
    check_that_nothing_is_left();
    ck_assert_int_eq(gang__pack_more(p, 0, 2, 4, false), 2);
}
END_TEST

/* ---- what greedy placing misses ---- */

/* Greedy placing fails in either order of the groups; backtracking finds a plan. */
static void check_that_only_backtracking_finds(const struct gang_request_spec *spec)
{
    begin(spec, GANG_POLICY_FIRST);
    ck_assert(!gang__place_inside(&pack, gang__member_all(), &all));
    gang__undo(p, 0, 0);
    pack.order = NULL;
    ck_assert(!gang__place_inside(&pack, gang__member_all(), &all));
    gang__undo(p, 0, 0);
    pack.order = request->by_size;
    ck_assert(gang__backtrack(&pack, gang__member_all()));
    for (uint32_t g = 0; g < request->group_count; g++)
        ck_assert_int_eq(p->tasks.in_group[g], request->group[g].min);
}

/* The larger group takes rack a, which is tighter for it, but the other one needs a's memory. */
START_TEST(backtracking_leaves_a_rack_to_the_group_that_needs_it)
{
    struct gang_group_spec g[] = {group_of(2, 2000, 0), group_of(1, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    struct gang_label a = {"rack", "a"}, b = {"rack", "b"};
    struct box large = {.name = "n0", .cpu = 4000, .memory = GIB, .place = &a, .place_count = 1};
    struct box small = {.name = "n1", .cpu = 5000, .memory = MIB, .place = &b, .place_count = 1};
    node[nodes++] = stage_add(&s, &large);
    node[nodes++] = stage_add(&s, &small);
    g[0].same = g[1].same = "rack";
    g[1].memory_bytes = GIB;
    check_that_only_backtracking_finds(&spec);
    ck_assert_str_eq(planned(), "1 2");
    ck_assert_str_eq(rack_of(&p->bound.group[0]), "b");
    ck_assert_str_eq(rack_of(&p->bound.group[1]), "a");
}
END_TEST

/* The first node is all the same to the larger group, but the other one needs its memory. */
START_TEST(backtracking_distributes_the_tasks_of_a_group)
{
    struct gang_group_spec g[] = {group_of(1, 4000, 0), group_of(1, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    struct box rich = {.name = "n0", .cpu = 4000, .memory = GIB};
    struct box poor = {.name = "n1", .cpu = 5000, .memory = MIB};
    node[nodes++] = stage_add(&s, &rich);
    node[nodes++] = stage_add(&s, &poor);
    g[1].memory_bytes = GIB;
    check_that_only_backtracking_finds(&spec);
    ck_assert_str_eq(planned(), "1 1");
}
END_TEST

/* ---- refusals ---- */

START_TEST(a_refused_group_leaves_nothing)
{
    struct gang_group_spec g = group_of(9, 1000, 0);
    add("a", 2, 4, 0);
    begin_group(&g, GANG_POLICY_DEFAULT);
    ck_assert(!gang__pack_request(p, false));
    check_that_nothing_is_left();
    g.prefer = "rack";
    begin_group(&g, GANG_POLICY_DEFAULT);
    ck_assert(!gang__pack_request(p, true));
    check_that_nothing_is_left();
}
END_TEST

/* The first two groups fit; the third one does not, with any choice for the others. */
START_TEST(a_gang_that_backtracking_misses_leaves_nothing)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(2, 2000, 0), group_of(1, 4000, 0)};
    struct gang_request_spec spec = request_of(g, 3);
    add("a", 2, 3, 0);
    add("b", 1, 3, 0);
    g[0].same = g[1].same = "rack";
    begin(&spec, GANG_POLICY_DEFAULT);
    ck_assert(!gang__pack_request(p, true));
    check_that_nothing_is_left();
    ck_assert(!gang__backtrack(&pack, gang__member_all()));
    check_that_nothing_is_left();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pack");
    TCase *t = tcase_create("pack");
    tcase_add_checked_fixture(t, open_stage, close_stage);
    tcase_add_test(t, a_group_is_bound_to_the_rack_with_the_fewest_nodes);
    tcase_add_test(t, a_request_is_bound_to_one_rack_for_all_its_groups);
    tcase_add_test(t, racks_are_offered_best_first);
    tcase_add_test(t, every_rack_is_offered_before_a_refusal);
    tcase_add_test(t, few_nodes_are_filled_equally);
    tcase_add_test(t, a_scope_that_is_too_small_is_filled);
    tcase_add_test(t, tasks_are_spread_evenly);
    tcase_add_test(t, a_full_rack_bounds_the_others);
    tcase_add_test(t, more_tasks_go_to_the_rack_that_is_bound);
    tcase_add_test(t, fewer_tasks_than_the_least_are_not_planned);
    tcase_add_test(t, backtracking_leaves_a_rack_to_the_group_that_needs_it);
    tcase_add_test(t, backtracking_distributes_the_tasks_of_a_group);
    tcase_add_test(t, a_refused_group_leaves_nothing);
    tcase_add_test(t, a_gang_that_backtracking_misses_leaves_nothing);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
