/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: tasks that must (same) or should (prefer) be in one domain of the topology. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
static const char *const levels[] = {"block", "rack"};

enum { MAX_NODES = 16 };
static gang_node_id node[MAX_NODES];
static char where[MAX_NODES][8]; /* "b1/r1" */
static int nodes;

static void open_stage(void)
{
    stage_open(&s, levels, 2);
    nodes = 0;
}

static void close_stage(void)
{
    stage_close(&s);
}

/* A node with `cores` cores in a rack of a block; NULL: in none. */
static int add(const char *block, const char *rack, int cores)
{
    struct gang_label place[2];
    size_t count = 0;
    char name[20];
    if (rack)
        place[count++] = (struct gang_label){"rack", rack};
    if (block)
        place[count++] = (struct gang_label){"block", block};
    snprintf(name, sizeof(name), "n%d", nodes);
    snprintf(where[nodes], sizeof(where[0]), "%.2s/%.2s", block ? block : "", rack ? rack : "");
    struct box box = {.name = name, .cpu = 1000 * cores, .place = place, .place_count = count};
    node[nodes] = stage_add(&s, &box);
    return nodes++;
}

static int index_of(gang_node_id id)
{
    int i = 0;
    while (i < nodes && node[i] != id)
        i++;
    ck_assert_int_lt(i, nodes);
    return i;
}

/* The domains ("b1/" or "b1/r1") that tasks of a group are in, without repetition, each followed by
 * a blank; group -1: all groups. Good until the next call. */
static const char *domains(gang_alloc_id id, int32_t group, const char *level)
{
    static char text[200];
    const struct task_list *list = stage_tasks(&s, id);
    text[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        char one[12];
        const char *full = where[index_of(list->task[i].node)];
        if (group >= 0 && list->task[i].group != group)
            continue;
        if (strcmp(level, "block") == 0)
            snprintf(one, sizeof(one), "%.*s ", (int)(strchr(full, '/') - full), full);
        else
            snprintf(one, sizeof(one), "%s ", full);
        if (!strstr(text, one))
            strcat(text, one);
    }
    return text;
}

static size_t group_count(gang_alloc_id id, int32_t group)
{
    const struct task_list *list = stage_tasks(&s, id);
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++)
        n += list->task[i].group == group;
    return n;
}

/* Blocks b1 (racks r1: 2 cores, r2: 3 cores) and b2 (r1: 2, r2: 1). */
static void add_two_blocks(void)
{
    add("b1", "r1", 2);
    add("b1", "r2", 3);
    add("b2", "r1", 2);
    add("b2", "r2", 1);
}

/* ---- same ---- */

START_TEST(a_gang_goes_to_the_one_rack_that_holds_it)
{
    struct gang_group_spec g = group_of(3, 1000, 0);
    add_two_blocks();
    g.same = "rack";
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_str_eq(domains(id, -1, "rack"), "b1/r2 ");
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    g.count = g.min = 4;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    g.same = "block";
    MUST(gang_alloc_free(s.w, id));
    ck_assert_str_eq(domains(stage_alloc_group(&s, &g), -1, "block"), "b1 ");
}
END_TEST

/* Two racks named r1 hold 4 together. */
START_TEST(racks_of_one_name_in_two_blocks_are_two)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    add("b1", "r1", 2);
    add("b2", "r1", 2);
    g.same = "rack";
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    g.same = NULL;
    stage_alloc_group(&s, &g);
}
END_TEST

START_TEST(nodes_of_one_rack_are_one_domain)
{
    struct gang_group_spec g = group_of(5, 1000, 0);
    add("b1", "r1", 2);
    add("b2", "r1", 2);
    add("b1", "r1", 3);
    g.same = "rack";
    ck_assert_str_eq(domains(stage_alloc_group(&s, &g), -1, "rack"), "b1/r1 ");
}
END_TEST

START_TEST(a_node_without_a_rack_is_in_none)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    add("b1", NULL, 8);
    add(NULL, NULL, 8);
    g.same = "rack";
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    g.same = "block";
    g.count = g.min = 8;
    ck_assert_str_eq(domains(stage_alloc_group(&s, &g), -1, "block"), "b1 ");
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
}
END_TEST

START_TEST(a_rack_without_a_block_is_a_domain_too)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    add(NULL, "r1", 2);
    add("b1", "r1", 2);
    add(NULL, "r1", 2);
    g.same = "rack";
    ck_assert_str_eq(domains(stage_alloc_group(&s, &g), -1, "rack"), "/r1 ");
}
END_TEST

START_TEST(without_nodes_no_domain_takes_a_gang)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.same = "rack";
    spec.prefer = "rack";
    gang_request *request = stage_request(&s, &spec);
    EXPECT_RESULT(gang_alloc_test(s.w, request, &error), GANG_ENEVER, &error);
    gang_node_id id = node[add("b1", "r1", 1)];
    EXPECT_RESULT(gang_alloc_test(s.w, request, &error), GANG_OK, &error);
    MUST(gang_node_remove(s.w, id)); /* a rack without nodes */
    EXPECT_RESULT(gang_alloc_test(s.w, request, &error), GANG_ENEVER, &error);
    gang_request_free(request);
}
END_TEST

START_TEST(groups_of_a_request_share_its_domain)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(1, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add_two_blocks();
    spec.same = "rack";
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(domains(id, -1, "rack"), "b1/r2 ");
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENOFIT);
}
END_TEST

START_TEST(groups_may_have_a_domain_each)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(3, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add_two_blocks();
    g[0].same = g[1].same = "rack";
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(domains(id, 1, "rack"), "b1/r2 ");
    ck_assert_uint_eq(strlen(domains(id, 0, "rack")), 6);
}
END_TEST

/* Racks inside the block that the request demands, one a group. */
START_TEST(domains_nest)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(1, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add("b1", "r1", 2);
    add("b2", "r1", 1);
    add("b3", "r1", 2);
    add("b3", "r2", 1);
    spec.same = "block";
    g[0].same = g[1].same = "rack";
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(domains(id, 0, "rack"), "b3/r1 ");
    ck_assert_str_eq(domains(id, 1, "rack"), "b3/r2 ");
}
END_TEST

START_TEST(a_set_has_a_domain_of_its_own)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(1, 1000, 0), group_of(2, 1000, 0)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 3);
    add("b1", "r1", 1);
    add("b1", "r2", 2);
    add("b2", "r1", 1);
    g[0].group_set = g[1].group_set = 0;
    set.same = "rack";
    spec.group_sets = &set;
    spec.group_set_count = 1;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(domains(id, 0, "rack"), "b1/r2 ");
    ck_assert_str_eq(domains(id, 1, "rack"), "b1/r2 ");
    ck_assert_uint_eq(group_count(id, 2), 2);
}
END_TEST

START_TEST(sets_in_sets_nest_their_domains)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(2, 1000, 0)};
    struct gang_group_set_spec set[] = {GANG_GROUP_SET_SPEC_INIT, GANG_GROUP_SET_SPEC_INIT,
                                        GANG_GROUP_SET_SPEC_INIT};
    struct gang_request_spec spec = request_of(g, 2);
    add("b1", "r1", 2);
    add("b1", "r2", 1);
    add("b2", "r1", 2);
    add("b3", "r1", 2);
    add("b3", "r2", 2);
    set[0].same = "block";
    set[1].parent = set[2].parent = 0;
    set[1].same = set[2].same = "rack";
    g[0].group_set = 1;
    g[1].group_set = 2;
    spec.group_sets = set;
    spec.group_set_count = 3;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(domains(id, -1, "block"), "b3 ");
    ck_assert_uint_eq(strlen(domains(id, 0, "rack")), 6);
    ck_assert_uint_eq(strlen(domains(id, 1, "rack")), 6);
}
END_TEST

/* A domain at the level that encloses or equals the one demanded is no further bound. */
START_TEST(a_wider_hard_level_inside_a_narrower_one_holds_by_itself)
{
    struct gang_group_spec g = group_of(3, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    add_two_blocks();
    spec.same = "rack";
    g.same = "block";
    ck_assert_str_eq(domains(stage_alloc(&s, &spec), -1, "rack"), "b1/r2 ");
}
END_TEST

/* The rack of the request lies in no block, so tasks in it are not in one block. */
START_TEST(a_wider_hard_level_holds_only_where_there_is_such_a_domain)
{
    struct gang_group_spec g = group_of(2, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    add(NULL, "r1", 2);
    spec.same = "rack";
    g.same = "block";
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
    add("b1", "r1", 2);
    ck_assert_str_eq(domains(stage_alloc(&s, &spec), -1, "rack"), "b1/r1 ");
}
END_TEST

START_TEST(the_tightest_domain_that_holds_it_is_packed)
{
    struct gang_group_spec g = group_of(2, 1000, 0);
    add("b1", "r1", 5);
    add("b1", "r2", 1);
    add("b1", "r3", 3);
    add("b1", "r4", 4);
    g.same = "rack";
    ck_assert_str_eq(domains(stage_alloc_group(&s, &g), -1, "rack"), "b1/r3 ");
}
END_TEST

/* Tasks that nothing demanded at first: the group's minimum is 0, the request's is not. */
START_TEST(tasks_that_fill_up_the_request_share_the_domain)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    add("b1", "r1", 2);
    add("b1", "r2", 2);
    g.min = 0;
    g.same = "rack";
    spec.min = 4;
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
    add("b1", "r3", 4);
    ck_assert_str_eq(domains(stage_alloc(&s, &spec), -1, "rack"), "b1/r3 ");
}
END_TEST

START_TEST(tasks_that_fill_up_the_request_share_the_domain_of_their_set)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(2, 1000, 0)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 2);
    add("b1", "r1", 2);
    add("b1", "r2", 2);
    g[0].min = g[1].min = 0;
    g[0].group_set = g[1].group_set = 0;
    set.same = "rack";
    spec.min = 4;
    spec.group_sets = &set;
    spec.group_set_count = 1;
    struct outcome o = stage_try(&s, &spec);
    EXPECT_OUTCOME(o, GANG_ENEVER);
    spec.min = 2;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_uint_eq(strlen(domains(id, -1, "rack")), 6);
}
END_TEST

/* The block that is tried first holds a part of the gang; what was planned there is forgotten. */
START_TEST(a_block_that_failed_leaves_no_trace)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(1, 3000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add("b1", "r1", 2); /* 4 cores in all, but no 3 on a node */
    add("b1", "r2", 2);
    add("b2", "r1", 2);
    add("b2", "r2", 4);
    spec.same = "block";
    spec.min = 3;
    g[0].min = 0;
    g[0].same = "rack";
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(domains(id, -1, "block"), "b2 ");
    ck_assert_uint_eq(strlen(domains(id, 0, "rack")), 6);
}
END_TEST

/* As before, but it is the group planned first that was bound to a rack of the wrong block. */
START_TEST(a_block_that_failed_binds_no_group)
{
    struct gang_group_spec g[] = {group_of(3, 1000, 0), group_of(3, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add("b1", "r1", 3);
    add("b1", "r2", 2);
    add("b2", "r1", 3);
    add("b2", "r2", 3);
    spec.same = "block";
    spec.min = 6;
    g[0].min = g[1].min = 0;
    g[0].same = g[1].same = "rack";
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(domains(id, -1, "block"), "b2 ");
}
END_TEST

/* ---- prefer ---- */

START_TEST(a_soft_level_is_satisfied_where_possible)
{
    struct gang_group_spec g = group_of(3, 1000, 0);
    add_two_blocks();
    g.prefer = "rack";
    ck_assert_str_eq(domains(stage_alloc_group(&s, &g), -1, "rack"), "b1/r2 ");
}
END_TEST

START_TEST(a_soft_level_falls_back_to_wider_domains)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    add_two_blocks();
    g.prefer = "rack";
    gang_alloc_id id = stage_alloc_group(&s, &g); /* no rack has 4, block b1 has */
    ck_assert_str_eq(domains(id, -1, "block"), "b1 ");
    MUST(gang_alloc_free(s.w, id));
    g.count = g.min = 8;
    stage_alloc_group(&s, &g); /* all there is */
}
END_TEST

START_TEST(a_soft_level_lies_inside_a_hard_level)
{
    struct gang_group_spec g = group_of(3, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    add_two_blocks();
    spec.same = "block";
    spec.prefer = "rack";
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(domains(id, -1, "rack"), "b1/r2 ");
    MUST(gang_alloc_free(s.w, id));
    g.count = g.min = 5;
    id = stage_alloc(&s, &spec);
    ck_assert_str_eq(domains(id, -1, "block"), "b1 ");
    MUST(gang_alloc_free(s.w, id));
    g.count = g.min = 6;
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
}
END_TEST

/* The tightest rack is in no block, but a block is demanded. */
START_TEST(a_soft_level_that_fails_stays_inside_the_hard_level)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    add(NULL, "r1", 1);
    add("b1", "r1", 2);
    g.same = "block";
    g.prefer = "rack";
    ck_assert_str_eq(domains(stage_alloc_group(&s, &g), -1, "rack"), "b1/r1 ");
}
END_TEST

START_TEST(a_set_may_have_a_soft_level)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(1, 1000, 0)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 2);
    add_two_blocks();
    g[0].group_set = g[1].group_set = 0;
    set.prefer = "rack";
    spec.group_sets = &set;
    spec.group_set_count = 1;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_str_eq(domains(id, -1, "rack"), "b1/r2 ");
    g[0].count = g[0].min = 4;
    stage_alloc(&s, &spec); /* what is left, all over the cluster */
}
END_TEST

/* The group's minimum is in the rack that it prefers; the rest of the request's minimum does not
 * fit there. */
START_TEST(a_soft_level_does_not_keep_the_request_from_its_minimum)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    add("b1", "r1", 3);
    add("b2", "r1", 1);
    g.min = 2;
    g.prefer = "rack";
    spec.min = 4;
    stage_alloc(&s, &spec);
}
END_TEST

/* ---- growing ---- */

/* The tests of growing add a larger rack when the gang runs already: it would have chosen that. */
static int64_t grow(gang_alloc_id id, int32_t group, int64_t tasks)
{
    int64_t granted = -1;
    gang_result r = gang_alloc_grow(s.w, id, group, tasks, &granted, NULL);
    ck_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENEVER);
    ck_assert_int_eq(granted > 0, r == GANG_OK);
    return granted;
}

START_TEST(a_group_grows_in_its_domain)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    add("b1", "r1", 3);
    g.min = 3;
    g.same = "rack";
    struct gang_request_spec spec = request_of(&g, 1);
    gang_alloc_id id = stage_alloc(&s, &spec);
    add("b1", "r2", 8);
    ck_assert_str_eq(domains(id, -1, "rack"), "b1/r1 ");
    ck_assert_int_eq(grow(id, 0, 1), 0);
    add("b1", "r1", 2);
    ck_assert_int_eq(grow(id, 0, 3), 2);
    ck_assert_str_eq(domains(id, -1, "rack"), "b1/r1 ");
}
END_TEST

START_TEST(a_request_grows_in_its_domain)
{
    struct gang_group_spec g[] = {group_of(4, 1000, 0), group_of(4, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add("b1", "r1", 3);
    g[0].min = 2;
    g[1].min = 0;
    spec.same = "rack";
    gang_alloc_id id = stage_alloc(&s, &spec);
    add("b1", "r2", 8);
    ck_assert_str_eq(domains(id, -1, "rack"), "b1/r1 ");
    ck_assert_int_eq(grow(id, 1, 4), 1);
    ck_assert_int_eq(grow(id, -1, 4), 0);
    ck_assert_str_eq(domains(id, -1, "rack"), "b1/r1 ");
}
END_TEST

START_TEST(a_set_grows_in_its_domain)
{
    struct gang_group_spec g[] = {group_of(4, 1000, 0), group_of(4, 1000, 0)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 2);
    add("b1", "r1", 3);
    g[0].min = 2;
    g[1].min = 0;
    g[0].group_set = g[1].group_set = 0;
    set.same = "rack";
    spec.group_sets = &set;
    spec.group_set_count = 1;
    gang_alloc_id id = stage_alloc(&s, &spec);
    add("b1", "r2", 8);
    ck_assert_str_eq(domains(id, -1, "rack"), "b1/r1 ");
    ck_assert_int_eq(grow(id, 1, 4), 1);
    ck_assert_int_eq(grow(id, 0, 4), 0);
}
END_TEST

/* The group's own demand is wider than that of the request (or its set) and must not widen it. */
START_TEST(a_wider_hard_level_of_the_group_does_not_leave_the_domain)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(&g, 1);
    add("b1", "r1", 3);
    g.min = 3;
    if (_i < 2)
        g.same = "block";
    else
        g.prefer = "block";
    if (_i % 2) {
        g.group_set = 0;
        set.same = "rack";
        spec.group_sets = &set;
        spec.group_set_count = 1;
    } else {
        spec.same = "rack";
    }
    gang_alloc_id id = stage_alloc(&s, &spec);
    add("b1", "r2", 8);
    ck_assert_str_eq(domains(id, -1, "rack"), "b1/r1 ");
    ck_assert_int_eq(grow(id, 0, 1), 0);
}
END_TEST

/* A group without a running task, and a call that adds several of its tasks. */
START_TEST(a_group_that_begins_to_grow_chooses_one_domain)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(4, 1000, 0)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 2);
    add("b1", "r1", 3);
    add("b1", "r2", 2);
    g[1].min = 0;
    if (_i == 0) {
        g[1].same = "rack";
    } else {
        g[1].group_set = 0;
        set.same = "rack";
        spec.group_sets = &set;
        spec.group_set_count = 1;
    }
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_int_gt(grow(id, 1, 4), 0);
    grow(id, 1, 4);
    ck_assert_uint_eq(strlen(domains(id, 1, "rack")), 6);
    ck_assert_int_eq(grow(id, 1, 4), 0);
}
END_TEST

START_TEST(a_soft_level_does_not_bound_growth)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    add("b1", "r1", 3);
    add("b2", "r1", 3);
    g.min = 2;
    g.prefer = "rack";
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_uint_eq(strlen(domains(id, -1, "rack")), 6);
    ck_assert_int_eq(grow(id, 0, 1), 1);
    ck_assert_uint_eq(strlen(domains(id, -1, "rack")), 6); /* its rack has free capacity */
    ck_assert_int_eq(grow(id, 0, 1), 1);
    ck_assert_uint_eq(strlen(domains(id, -1, "rack")), 12);
}
END_TEST

START_TEST(one_call_grows_beyond_the_soft_domain)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    add("b1", "r1", 3);
    add("b2", "r1", 3);
    g.min = 2;
    g.prefer = "rack";
    ck_assert_int_eq(grow(stage_alloc_group(&s, &g), 0, 4), 4);
}
END_TEST

START_TEST(growth_leaves_the_soft_domain_but_not_the_hard_one)
{
    struct gang_group_spec g = group_of(8, 1000, 0);
    add("b1", "r1", 2);
    add("b1", "r2", 2);
    add("b2", "r1", 1);
    g.min = 2;
    g.same = "block";
    g.prefer = "rack";
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(strlen(domains(id, -1, "rack")), 6);
    ck_assert_int_eq(grow(id, 0, 6), 2);
    ck_assert_str_eq(domains(id, -1, "block"), "b1 ");
    ck_assert_int_eq(grow(id, 0, 6), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology");
    TCase *same = tcase_create("same");
    tcase_add_checked_fixture(same, open_stage, close_stage);
    tcase_add_test(same, a_gang_goes_to_the_one_rack_that_holds_it);
    tcase_add_test(same, racks_of_one_name_in_two_blocks_are_two);
    tcase_add_test(same, nodes_of_one_rack_are_one_domain);
    tcase_add_test(same, a_node_without_a_rack_is_in_none);
    tcase_add_test(same, a_rack_without_a_block_is_a_domain_too);
    tcase_add_test(same, without_nodes_no_domain_takes_a_gang);
    tcase_add_test(same, groups_of_a_request_share_its_domain);
    tcase_add_test(same, groups_may_have_a_domain_each);
    tcase_add_test(same, domains_nest);
    tcase_add_test(same, a_set_has_a_domain_of_its_own);
    tcase_add_test(same, sets_in_sets_nest_their_domains);
    tcase_add_test(same, a_wider_hard_level_inside_a_narrower_one_holds_by_itself);
    tcase_add_test(same, a_wider_hard_level_holds_only_where_there_is_such_a_domain);
    tcase_add_test(same, the_tightest_domain_that_holds_it_is_packed);
    tcase_add_test(same, tasks_that_fill_up_the_request_share_the_domain);
    tcase_add_test(same, tasks_that_fill_up_the_request_share_the_domain_of_their_set);
    tcase_add_test(same, a_block_that_failed_leaves_no_trace);
    tcase_add_test(same, a_block_that_failed_binds_no_group);
    suite_add_tcase(suite, same);
    TCase *prefer = tcase_create("prefer");
    tcase_add_checked_fixture(prefer, open_stage, close_stage);
    tcase_add_test(prefer, a_soft_level_is_satisfied_where_possible);
    tcase_add_test(prefer, a_soft_level_falls_back_to_wider_domains);
    tcase_add_test(prefer, a_soft_level_lies_inside_a_hard_level);
    tcase_add_test(prefer, a_soft_level_that_fails_stays_inside_the_hard_level);
    tcase_add_test(prefer, a_set_may_have_a_soft_level);
    tcase_add_test(prefer, a_soft_level_does_not_keep_the_request_from_its_minimum);
    suite_add_tcase(suite, prefer);
    TCase *growing = tcase_create("growing");
    tcase_add_checked_fixture(growing, open_stage, close_stage);
    tcase_add_test(growing, a_group_grows_in_its_domain);
    tcase_add_test(growing, a_request_grows_in_its_domain);
    tcase_add_test(growing, a_set_grows_in_its_domain);
    tcase_add_loop_test(growing, a_wider_hard_level_of_the_group_does_not_leave_the_domain, 0, 4);
    tcase_add_loop_test(growing, a_group_that_begins_to_grow_chooses_one_domain, 0, 2);
    tcase_add_test(growing, a_soft_level_does_not_bound_growth);
    tcase_add_test(growing, one_call_grows_beyond_the_soft_domain);
    tcase_add_test(growing, growth_leaves_the_soft_domain_but_not_the_hard_one);
    suite_add_tcase(suite, growing);
    return run_suite(suite);
}
