/* SPDX-License-Identifier: Apache-2.0 */
/* core.h: resource kinds, those of nodes and the pools of the cluster. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
}

static void close_stage(void)
{
    stage_close(&s);
}

static struct gang_kind_info kind_now(int32_t kind)
{
    struct gang_kind_info info = GANG_KIND_INFO_INIT;
    MUST(gang_kind_get(s.c, kind, &info));
    return info;
}

/* A task that takes `amount` of the pool "lic". */
static struct gang_request_spec licensed(struct gang_group_spec *g, struct gang_amount *a,
                                         int64_t count, int64_t amount)
{
    *g = group_of(count, 0, 0);
    *a = (struct gang_amount){"lic", amount};
    g->amounts = a;
    g->amount_count = 1;
    return request_of(g, 1);
}

START_TEST(the_built_in_kinds_are_there)
{
    static const char *const name[] = {"cpu", "memory", "gpu"};
    for (int32_t i = 0; i < 3; i++) {
        int32_t kind = -1;
        struct gang_kind_info info = kind_now(i);
        ck_assert_int_eq(info.kind, i);
        ck_assert_int_eq(info.scope, GANG_SCOPE_NODE);
        ck_assert_str_eq(info.name, name[i]);
        ck_assert_str_ne(info.unit, "");
        ck_assert_int_eq(info.capacity, 0);
        MUST(gang_kind_find(s.c, name[i], &kind));
        ck_assert_int_eq(kind, i);
    }
}
END_TEST

START_TEST(kinds_get_the_next_number_and_are_copied)
{
    char name[] = "nic", unit[] = "cards";
    int32_t nic = 0, disk = 0, kind;
    MUST(gang_kind_add(s.w, name, unit, GANG_SCOPE_NODE, 0, &nic));
    name[0] = unit[0] = 'x';
    MUST(gang_kind_add(s.w, "disk", NULL, GANG_SCOPE_NODE, 0, &disk));
    MUST(gang_kind_add(s.w, "tape", "", GANG_SCOPE_NODE, 0, NULL));
    ck_assert_int_eq(nic, GANG_KIND_SITE);
    ck_assert_int_eq(disk, GANG_KIND_SITE + 1);
    ck_assert_str_eq(kind_now(nic).name, "nic");
    ck_assert_str_eq(kind_now(nic).unit, "cards");
    ck_assert_str_eq(kind_now(disk).unit, "units");
    ck_assert_str_eq(kind_now(disk + 1).unit, "units");
    MUST(gang_kind_find(s.c, "tape", &kind));
    ck_assert_int_eq(kind, disk + 1);
}
END_TEST

static char name_255[GANG_MAX_NAME + 1], name_256[GANG_MAX_NAME + 2];

struct bad_kind {
    const char *name;
    const char *unit;
    int32_t scope;
    int64_t capacity;
    gang_result code;
};
static const struct bad_kind bad_kinds[] = {
    {NULL, NULL, GANG_SCOPE_NODE, 0, GANG_EINVAL},
    {"", NULL, GANG_SCOPE_NODE, 0, GANG_EINVAL},
    {name_256, NULL, GANG_SCOPE_NODE, 0, GANG_EINVAL},
    {"gpu_memory", NULL, GANG_SCOPE_NODE, 0, GANG_EINVAL},
    {"nic", NULL, 2, 0, GANG_EINVAL},
    {"nic", NULL, -1, 0, GANG_EINVAL},
    {"nic", name_256, GANG_SCOPE_NODE, 0, GANG_EINVAL},
    {"cpu", NULL, GANG_SCOPE_NODE, 0, GANG_EEXIST},
    {"memory", NULL, GANG_SCOPE_CLUSTER, 1, GANG_EEXIST},
    {"gpu", NULL, GANG_SCOPE_NODE, 0, GANG_EEXIST},
    {"taken", NULL, GANG_SCOPE_CLUSTER, 5, GANG_EEXIST},
    {"nic", NULL, GANG_SCOPE_NODE, 1, GANG_ERANGE},
    {"nic", NULL, GANG_SCOPE_CLUSTER, -1, GANG_ERANGE},
    {"nic", NULL, GANG_SCOPE_CLUSTER, GANG_MAX_AMOUNT + 1, GANG_ERANGE},
};
enum { BAD_KINDS = sizeof(bad_kinds) / sizeof(bad_kinds[0]) };

START_TEST(a_bad_kind_is_refused_and_nothing_is_registered)
{
    const struct bad_kind *bad = &bad_kinds[_i];
    struct gang_kind_info info = GANG_KIND_INFO_INIT;
    int32_t kind = 17;
    memset(name_256, 'k', GANG_MAX_NAME + 1);
    MUST(gang_kind_add(s.w, "taken", NULL, GANG_SCOPE_NODE, 0, NULL));
    ck_assert_int_eq(gang_kind_add(s.w, bad->name, bad->unit, bad->scope, bad->capacity, &kind),
                     bad->code);
    ck_assert_int_eq(kind, 0);
    ck_assert_int_eq(gang_kind_get(s.c, GANG_KIND_SITE + 1, &info), GANG_ENOENT);
    ck_assert_int_eq(gang_kind_add(NULL, "nic", NULL, GANG_SCOPE_NODE, 0, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(names_and_units_of_255_bytes_are_kept_whole)
{
    int32_t kind;
    memset(name_255, 'k', GANG_MAX_NAME);
    MUST(gang_kind_add(s.w, name_255, name_255, GANG_SCOPE_CLUSTER, GANG_MAX_AMOUNT, &kind));
    ck_assert_str_eq(kind_now(kind).name, name_255);
    ck_assert_str_eq(kind_now(kind).unit, name_255);
    ck_assert_int_eq(kind_now(kind).available, GANG_MAX_AMOUNT);
}
END_TEST

START_TEST(there_is_room_for_32_kinds_in_all)
{
    char name[16];
    int32_t kind;
    for (int32_t i = GANG_KIND_SITE; i < GANG_MAX_KINDS; i++) {
        snprintf(name, sizeof(name), "k%d", (int)(i % 100));
        MUST(gang_kind_add(s.w, name, NULL, GANG_SCOPE_CLUSTER, i, &kind));
        ck_assert_int_eq(kind, i);
    }
    ck_assert_int_eq(gang_kind_add(s.w, "more", NULL, GANG_SCOPE_CLUSTER, 1, &kind), GANG_ELIMIT);
    ck_assert_int_eq(kind, 0);
    ck_assert_int_eq(gang_kind_add(s.w, "k5", NULL, GANG_SCOPE_CLUSTER, 1, &kind), GANG_EEXIST);
    for (int32_t i = GANG_KIND_SITE; i < GANG_MAX_KINDS; i++)
        ck_assert_int_eq(kind_now(i).available, i);
}
END_TEST

START_TEST(finding_and_describing_report_what_is_not_there)
{
    int32_t kind = 17;
    struct gang_kind_info info = GANG_KIND_INFO_INIT;
    ck_assert_int_eq(gang_kind_find(s.c, "nic", &kind), GANG_ENOENT);
    ck_assert_int_eq(kind, 0);
    ck_assert_int_eq(gang_kind_find(s.c, NULL, &kind), GANG_EINVAL);
    ck_assert_int_eq(gang_kind_find(s.c, "cpu", NULL), GANG_EINVAL);
    kind = 17;
    ck_assert_int_eq(gang_kind_find(NULL, "cpu", &kind), GANG_EINVAL);
    ck_assert_int_eq(kind, 0);
    ck_assert_int_eq(gang_kind_get(s.c, GANG_KIND_SITE, &info), GANG_ENOENT);
    ck_assert_int_eq(gang_kind_get(s.c, -1, &info), GANG_ENOENT);
    ck_assert_int_eq(gang_kind_get(s.c, INT32_MAX, &info), GANG_ENOENT);
    ck_assert_int_eq(gang_kind_get(NULL, 0, &info), GANG_EINVAL);
    ck_assert_int_eq(gang_kind_get(s.c, 0, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(describing_follows_the_size_rule)
{
    struct {
        struct gang_kind_info known;
        char more[8];
    } longer;
    memset(&longer, 0x5a, sizeof(longer));
    longer.known.size = sizeof(longer);
    MUST(gang_kind_get(s.c, GANG_KIND_GPU, &longer.known));
    ck_assert_uint_eq(longer.known.size, sizeof(longer));
    ck_assert_str_eq(longer.known.name, "gpu");
    ck_assert_int_eq(longer.more[0], 0);
    const size_t bad[] = {0, sizeof(longer.known) - 1, SIZE_MAX};
    for (size_t i = 0; i < 3; i++) {
        longer.known.size = bad[i];
        ck_assert_int_eq(gang_kind_get(s.c, 0, &longer.known), GANG_EINVAL);
    }
}
END_TEST

/* ---- pools ----------------------------------------------------------------------------------- */

START_TEST(a_pool_is_shared_by_all_nodes)
{
    int32_t kind;
    struct box box = {.name = "n1"};
    struct gang_group_spec g;
    struct gang_amount a;
    MUST(gang_kind_add(s.w, "lic", "licences", GANG_SCOPE_CLUSTER, 5, &kind));
    stage_add(&s, &box);
    box.name = "n2";
    stage_add(&s, &box);
    struct gang_request_spec spec = licensed(&g, &a, 2, 2);
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_int_eq(kind_now(kind).capacity, 5);
    ck_assert_int_eq(kind_now(kind).available, 1);
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENOFIT);
    spec = licensed(&g, &a, 1, 1);
    stage_alloc(&s, &spec);
    ck_assert_int_eq(kind_now(kind).available, 0);
    MUST(gang_alloc_free(s.w, id));
    ck_assert_int_eq(kind_now(kind).available, 4);
    spec = licensed(&g, &a, 3, 2);
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
}
END_TEST

START_TEST(a_pool_changes_its_size_but_not_below_what_is_taken)
{
    int32_t kind;
    struct box box = {.name = "n1"};
    struct gang_group_spec g;
    struct gang_amount a;
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 5, &kind));
    stage_add(&s, &box);
    struct gang_request_spec spec = licensed(&g, &a, 1, 3);
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_int_eq(gang_kind_resize(s.w, kind, 2), GANG_EBUSY);
    ck_assert_int_eq(kind_now(kind).capacity, 5);
    ck_assert_int_eq(kind_now(kind).available, 2);
    stage_check(&s);
    MUST(gang_kind_resize(s.w, kind, 3));
    ck_assert_int_eq(kind_now(kind).available, 0);
    MUST(gang_kind_resize(s.w, kind, 3)); /* no change is allowed, too */
    MUST(gang_kind_resize(s.w, kind, GANG_MAX_AMOUNT));
    ck_assert_int_eq(kind_now(kind).available, GANG_MAX_AMOUNT - 3);
    stage_check(&s);
    MUST(gang_alloc_free(s.w, id));
    MUST(gang_kind_resize(s.w, kind, 0));
    ck_assert_int_eq(kind_now(kind).capacity, 0);
    ck_assert_int_eq(kind_now(kind).available, 0);
}
END_TEST

START_TEST(resizing_a_pool_decides_whether_it_could_ever_fit)
{
    int32_t kind;
    struct box box = {.name = "n1"};
    struct gang_group_spec g;
    struct gang_amount a;
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 1, &kind));
    stage_add(&s, &box);
    struct gang_request_spec spec = licensed(&g, &a, 1, 2);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENEVER);
    MUST(gang_kind_resize(s.w, kind, 2));
    MUST(gang_request_fits_ever(s.w, request, NULL));
    MUST(gang_alloc(s.w, request, &id, NULL));
    MUST(gang_alloc_free(s.w, id));
    MUST(gang_kind_resize(s.w, kind, 1));
    ck_assert_int_eq(gang_request_fits_ever(s.w, request, NULL), GANG_ENEVER);
    gang_request_free(request);
}
END_TEST

START_TEST(only_pools_can_be_resized)
{
    int32_t nic, lic;
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, &nic));
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 4, &lic));
    ck_assert_int_eq(gang_kind_resize(s.w, nic, 1), GANG_EINVAL);
    ck_assert_int_eq(gang_kind_resize(s.w, GANG_KIND_CPU, 1), GANG_EINVAL);
    ck_assert_int_eq(gang_kind_resize(s.w, -1, 1), GANG_EINVAL);
    ck_assert_int_eq(gang_kind_resize(s.w, lic + 1, 1), GANG_EINVAL);
    ck_assert_int_eq(gang_kind_resize(NULL, lic, 1), GANG_EINVAL);
    ck_assert_int_eq(gang_kind_resize(s.w, lic, -1), GANG_ERANGE);
    ck_assert_int_eq(gang_kind_resize(s.w, lic, GANG_MAX_AMOUNT + 1), GANG_ERANGE);
    ck_assert_int_eq(kind_now(lic).capacity, 4);
}
END_TEST

START_TEST(a_pool_is_no_kind_of_a_node)
{
    static struct box_arrays arrays;
    struct gang_error error = GANG_ERROR_INIT;
    struct box box = {.name = "n1", .amounts = LIST(struct gang_amount, {"lic", 1})};
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 4, NULL));
    struct gang_node_spec spec = box_spec(&box, &arrays);
    EXPECT_ERROR(gang_node_add(s.w, &spec, NULL, &error), GANG_EINVAL, &error, "amounts[0].kind",
                 NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kind");
    TCase *kinds = tcase_create("kinds");
    tcase_add_checked_fixture(kinds, open_stage, close_stage);
    tcase_add_test(kinds, the_built_in_kinds_are_there);
    tcase_add_test(kinds, kinds_get_the_next_number_and_are_copied);
    tcase_add_loop_test(kinds, a_bad_kind_is_refused_and_nothing_is_registered, 0, BAD_KINDS);
    tcase_add_test(kinds, names_and_units_of_255_bytes_are_kept_whole);
    tcase_add_test(kinds, there_is_room_for_32_kinds_in_all);
    tcase_add_test(kinds, finding_and_describing_report_what_is_not_there);
    tcase_add_test(kinds, describing_follows_the_size_rule);
    suite_add_tcase(suite, kinds);
    TCase *pools = tcase_create("pools");
    tcase_add_checked_fixture(pools, open_stage, close_stage);
    tcase_add_test(pools, a_pool_is_shared_by_all_nodes);
    tcase_add_test(pools, a_pool_changes_its_size_but_not_below_what_is_taken);
    tcase_add_test(pools, resizing_a_pool_decides_whether_it_could_ever_fit);
    tcase_add_test(pools, only_pools_can_be_resized);
    tcase_add_test(pools, a_pool_is_no_kind_of_a_node);
    suite_add_tcase(suite, pools);
    return run_suite(suite);
}
