/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a gang's tasks, and the lists of hosts that follow it. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
static gang_node_id node[8];
static const char *const levels[] = {"zone", "rack"};

/* Eight nodes of four cores; added so that neighbours in number are not in one rack: zones z0, z1;
 * racks r0, r1 in z0 and r2, r3 in z1; node i is in rack i % 4. */
static void open_stage(void)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};
    static const char *const zones[] = {"z0", "z0", "z1", "z1"}, *const racks[] = {"r0", "r1", "r2",
                                                                                   "r3"};
    stage_open(&s, levels, 2);
    for (int i = 0; i < 8; i++) {
        struct gang_label place[] = {{"zone", zones[i % 4]}, {"rack", racks[i % 4]}};
        struct box box = {.name = names[i],
                          .cpu = 4000,
                          .memory = GIB,
                          .cores = i < 4 ? 4 : 0,
                          .place = place,
                          .place_count = 2};
        node[i] = stage_add(&s, &box);
    }
}

static void close_stage(void)
{
    stage_close(&s);
}

struct text {
    char bytes[4096];
    size_t used;
    int calls, refuse_at;
};

static int write_text(const char *bytes, size_t length, void *user)
{
    struct text *t = user;
    if (++t->calls == t->refuse_at)
        return 1;
    ck_assert_uint_lt(t->used + length, sizeof(t->bytes));
    memcpy(t->bytes + t->used, bytes, length);
    t->used += length;
    t->bytes[t->used] = 0;
    return 0;
}

static const char *hosts(gang_alloc_id id, int32_t group, int32_t format)
{
    static struct text t;
    memset(&t, 0, sizeof(t));
    MUST(gang_alloc_write_hosts(s.c, id, group, format, write_text, &t));
    return t.bytes;
}

static gang_alloc_id gang(int64_t count, int64_t min, int64_t cpu, int32_t policy)
{
    struct gang_group_spec g = group_of(count, cpu, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.min = min;
    spec.policy = policy;
    return stage_alloc(&s, &spec);
}

/* ---- the order ---- */

START_TEST(neighbours_in_number_are_neighbours_in_the_network)
{
    for (int policy = GANG_POLICY_PACK; policy <= GANG_POLICY_TOPOLOGY; policy++) {
        gang_alloc_id id = gang(16, 16, 2000, policy);
        ck_assert_str_eq(hosts(id, -1, GANG_HOSTS_HOROVOD),
                         "n0:2,n4:2,n1:2,n5:2,n2:2,n6:2,n3:2,n7:2");
        const struct task_list *list = stage_tasks(&s, id);
        for (size_t i = 0; i < list->count; i++)
            ck_assert_int_eq(list->task[i].task, (int64_t)i);
        MUST(gang_alloc_free(s.w, id));
    }
}
END_TEST

START_TEST(groups_come_one_after_the_other)
{
    struct gang_group_spec g[] = {group_of(4, 500, 0), group_of(8, 2000, 0), group_of(4, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 3);
    spec.policy = GANG_POLICY_SPREAD;
    gang_alloc_id id = stage_alloc(&s, &spec);
    const struct task_list *list = stage_tasks(&s, id);
    for (size_t i = 0; i < 16; i++)
        ck_assert_int_eq(list->task[i].group, i < 4 ? 0 : i < 12 ? 1 : 2);
    ck_assert_str_eq(hosts(id, 1, GANG_HOSTS_HOROVOD), "n0:1,n4:1,n1:1,n5:1,n2:1,n6:1,n3:1,n7:1");
    ck_assert_str_eq(hosts(id, 0, GANG_HOSTS_PLAIN), hosts(id, 0, GANG_HOSTS_PLAIN));
}
END_TEST

START_TEST(nodes_in_no_domain_come_last)
{
    struct gang_label place = {"zone", "z1"};
    struct box box = {.name = "a", .cpu = 4000, .memory = GIB};
    stage_add(&s, &box);
    box.name = "b";
    box.place = &place;
    box.place_count = 1;
    stage_add(&s, &box);
    gang_alloc_id id = gang(10, 10, 4000, GANG_POLICY_SPREAD);
    ck_assert_str_eq(hosts(id, -1, GANG_HOSTS_PLAIN), "n0\nn4\nn1\nn5\nn2\nn6\nn3\nn7\nb\na\n");
}
END_TEST

START_TEST(grown_tasks_come_after)
{
    gang_alloc_id id = gang(12, 4, 1000, GANG_POLICY_TOPOLOGY);
    MUST(gang_alloc_grow(s.w, id, 0, 8, NULL, NULL));
    const struct task_list *list = stage_tasks(&s, id);
    ck_assert_uint_eq(list->count, 12);
    for (size_t i = 0; i < 12; i++)
        ck_assert_int_eq(list->task[i].task, (int64_t)i);
    const int64_t two[] = {0, 5};
    char first[4096];
    strcpy(first, hosts(id, -1, GANG_HOSTS_PLAIN));
    MUST(gang_alloc_shrink(s.w, id, two, 2, NULL));
    ck_assert_uint_eq(strlen(hosts(id, -1, GANG_HOSTS_PLAIN)), strlen(first) - 6);
}
END_TEST

START_TEST(adopted_tasks_keep_the_order_they_are_named_in)
{
    struct gang_group_spec g = group_of(5, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    const int on[] = {7, 0, 0, 4, 7};
    struct gang_placement place[5];
    gang_alloc_id id;
    for (int i = 0; i < 5; i++) {
        place[i] = (struct gang_placement)GANG_PLACEMENT_INIT;
        place[i].node = node[on[i]];
    }
    MUST(gang_alloc_adopt(s.w, request, place, 5, &id, NULL));
    gang_request_free(request);
    ck_assert_str_eq(hosts(id, -1, GANG_HOSTS_HOROVOD), "n7:1,n0:2,n4:1,n7:1");
    ck_assert_str_eq(hosts(id, -1, GANG_HOSTS_MPI),
                     "n7 slots=1\nn0 slots=2\nn4 slots=1\nn7 slots=1\n");
}
END_TEST

START_TEST(the_order_holds_for_many_tasks_levels_and_domains)
{
    static const char *const many[] = {"l0", "l1", "l2", "l3", "l4", "l5"};
    enum { NODES = 300 };
    close_stage();
    stage_open(&s, many, 6);
    for (int i = 0; i < NODES; i++) {
        char name[16], value[6][16];
        struct gang_label place[6];
        unsigned dice = (unsigned)i * 2654435761u;
        snprintf(name, sizeof(name), "n%d", i);
        for (unsigned k = 0; k < 6; k++) {
            snprintf(value[k], sizeof(value[k]), "d%u", dice >> (30 - 4 * k) & 3);
            place[k] = (struct gang_label){many[k], value[k]};
        }
        struct box box = {.name = name, .cpu = 4000, .place = place, .place_count = 6};
        stage_add(&s, &box);
    }
    gang_alloc_id id = gang(4 * NODES, 4 * NODES, 1000, GANG_POLICY_SPREAD);
    const struct task_list *list = stage_tasks(&s, id);
    bool seen[6][4096] = {{0}}; /* domains that were left */
    char path[6][128] = {{0}};
    for (size_t i = 0; i < list->count; i++) {
        struct gang_node_info info = {.size = sizeof(info)};
        ck_assert_uint_eq(list->task[i].node, list->task[i - i % 4].node);
        MUST(gang_node_get(s.c, list->task[i].node, &info));
        unsigned dice = (unsigned)atoi(info.name + 1) * 2654435761u, key = 0;
        for (unsigned k = 0; k < 6; k++) {
            key = key << 2 | (dice >> (30 - 4 * k) & 3);
            char now[128];
            snprintf(now, sizeof(now), "%u", key);
            if (strcmp(now, path[k]) != 0) {
                ck_assert_msg(!seen[k][key], "level %u is torn at task %zu", k, i);
                seen[k][key] = true;
                strcpy(path[k], now);
            }
        }
    }
    ck_assert_uint_eq(list->count, 4 * NODES);
}
END_TEST

/* ---- formats ---- */

START_TEST(a_rank_file_binds_to_cores)
{
    struct gang_group_spec g[] = {group_of(2, 2000, 0), group_of(2, 500, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    struct gang_placement place[4];
    const int on[] = {0, 4, 1, 5};
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    for (int i = 0; i < 4; i++) {
        place[i] = (struct gang_placement)GANG_PLACEMENT_INIT;
        place[i].node = node[on[i]];
        place[i].group = i / 2;
    }
    MUST(gang_alloc_adopt(s.w, request, place, 4, &id, NULL));
    gang_request_free(request);
    ck_assert_str_eq(hosts(id, -1, GANG_HOSTS_RANKFILE), "rank 0=n0 slot=0-1\n"
                                                         "rank 1=n4 slot=0-3\n"
                                                         "rank 2=n1 slot=0-3\n"
                                                         "rank 3=n5 slot=0-3\n");
    ck_assert_str_eq(hosts(id, 1, GANG_HOSTS_RANKFILE), "rank 0=n1 slot=0-3\n"
                                                        "rank 1=n5 slot=0-3\n");
}
END_TEST

START_TEST(cores_need_not_be_beside_each_other)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = GANG_POLICY_FIRST;
    g.min = 1;
    gang_alloc_id a = stage_alloc(&s, &spec), b;
    MUST(gang_alloc_grow(s.w, a, 0, 3, NULL, NULL));
    const int64_t two[] = {1, 3};
    MUST(gang_alloc_shrink(s.w, a, two, 2, NULL));
    g = group_of(1, 2000, 0);
    b = stage_alloc(&s, &spec);
    ck_assert_str_eq(hosts(b, -1, GANG_HOSTS_RANKFILE), "rank 0=n0 slot=1,3\n");
    ck_assert_str_eq(hosts(a, -1, GANG_HOSTS_RANKFILE), "rank 0=n0 slot=0\nrank 1=n0 slot=2\n");
}
END_TEST

START_TEST(long_lists_come_in_pieces)
{
    struct text t = {.refuse_at = 0};
    gang_alloc_id id = gang(32, 32, 1000, GANG_POLICY_SPREAD);
    MUST(gang_alloc_write_hosts(s.c, id, -1, GANG_HOSTS_RANKFILE, write_text, &t));
    size_t lines = 0;
    for (size_t i = 0; i < t.used; i++)
        lines += t.bytes[i] == '\n';
    ck_assert_uint_eq(lines, 32);
    struct text u = {.refuse_at = 1};
    ck_assert_int_eq(gang_alloc_write_hosts(s.c, id, -1, GANG_HOSTS_PLAIN, write_text, &u),
                     GANG_EIO);
    MUST(gang_alloc_free(s.w, id)); /* a failed reader holds nothing */
}
END_TEST

START_TEST(holders_are_no_ranks)
{
    struct gang_group_spec g = group_of(2, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.exclusive = 1;
    ck_assert_str_eq(hosts(stage_alloc(&s, &spec), -1, GANG_HOSTS_HOROVOD), "n0:2");
}
END_TEST

START_TEST(a_group_without_tasks_is_nothing)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(4, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[1].min = 0;
    gang_alloc_id id = stage_alloc(&s, &spec);
    for (int32_t format = GANG_HOSTS_PLAIN; format <= GANG_HOSTS_RANKFILE; format++)
        ck_assert_str_eq(hosts(id, 1, format), "");
}
END_TEST

START_TEST(names_that_formats_cannot_carry)
{
    static const char *const names[] = {"a b", "a,b", "a:1", "a=b", "a#b", "+n0"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct box box = {.name = names[i], .cpu = 64000, .memory = GIB};
        struct text t = {.used = 0};
        gang_node_id id = stage_add(&s, &box);
        gang_alloc_id a = gang(2, 2, 20000, GANG_POLICY_PACK);
        ck_assert_int_eq(gang_alloc_write_hosts(s.c, a, -1, GANG_HOSTS_MPI, write_text, &t),
                         GANG_ENOTSUP);
        ck_assert_int_eq(t.calls, 0);
        MUST(gang_alloc_free(s.w, a));
        MUST(gang_node_remove(s.w, id));
    }
}
END_TEST

START_TEST(nodes_that_are_gone)
{
    struct text t = {.used = 0};
    gang_alloc_id id = gang(1, 1, 1000, GANG_POLICY_FIRST);
    MUST(gang_node_remove(s.w, node[0]));
    ck_assert_str_eq(hosts(id, -1, GANG_HOSTS_PLAIN), "n0\n"); /* still held */
    gang_alloc_id ghost = gang(1, 1, 0, GANG_POLICY_FIRST);
    MUST(gang_node_remove(s.w, node[1]));
    MUST(gang_cluster_recycle(s.c));
    ck_assert_int_eq(gang_alloc_write_hosts(s.c, ghost, -1, GANG_HOSTS_PLAIN, write_text, &t),
                     GANG_ESTALE);
    ck_assert_int_eq(t.calls, 0);
}
END_TEST

static gang_result write_error;
static gang_alloc_id to_free;

static int try_to_change(const char *bytes, size_t length, void *user)
{
    (void)bytes;
    (void)length;
    write_error = gang_alloc_free(s.w, to_free);
    return write_text(bytes, length, user);
}

START_TEST(arguments_are_checked)
{
    struct text t = {.used = 0};
    gang_alloc_id id = gang(1, 1, 1000, GANG_POLICY_FIRST);
    ck_assert_int_eq(gang_alloc_write_hosts(NULL, id, -1, 0, write_text, &t), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_write_hosts(s.c, id, -1, 0, NULL, &t), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_write_hosts(s.c, id, -1, -1, write_text, &t), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_write_hosts(s.c, id, -1, 4, write_text, &t), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_write_hosts(s.c, id, 1, 0, write_text, &t), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_write_hosts(s.c, id, -2, 0, write_text, &t), GANG_EINVAL);
    ck_assert_int_eq(t.calls, 0);
    to_free = id;
    MUST(gang_alloc_write_hosts(s.c, id, 0, 0, try_to_change, &t));
    ck_assert_int_eq(write_error, GANG_EBUSY);
    MUST(gang_alloc_free(s.w, id));
    ck_assert_int_eq(gang_alloc_write_hosts(s.c, id, -1, 0, write_text, &t), GANG_ESTALE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hosts");
    TCase *t = tcase_create("hosts");
    tcase_add_checked_fixture(t, open_stage, close_stage);
    tcase_add_test(t, neighbours_in_number_are_neighbours_in_the_network);
    tcase_add_test(t, groups_come_one_after_the_other);
    tcase_add_test(t, nodes_in_no_domain_come_last);
    tcase_add_test(t, grown_tasks_come_after);
    tcase_add_test(t, adopted_tasks_keep_the_order_they_are_named_in);
    tcase_add_test(t, the_order_holds_for_many_tasks_levels_and_domains);
    tcase_add_test(t, a_rank_file_binds_to_cores);
    tcase_add_test(t, cores_need_not_be_beside_each_other);
    tcase_add_test(t, long_lists_come_in_pieces);
    tcase_add_test(t, holders_are_no_ranks);
    tcase_add_test(t, a_group_without_tasks_is_nothing);
    tcase_add_test(t, names_that_formats_cannot_carry);
    tcase_add_test(t, nodes_that_are_gone);
    tcase_add_test(t, arguments_are_checked);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
