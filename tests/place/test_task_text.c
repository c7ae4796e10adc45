/* SPDX-License-Identifier: Apache-2.0 */
/* place.h, hwloc.h: where a task runs, as text and as sets for launchers, and in the JSON. */
#include <gangsched/gangsched.h>
#include <gangsched/hwloc.h>

#include <jansson.h>

#include "support.h"

static struct stage s;
static struct box_arrays arrays;

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
}

static void close_stage(void)
{
    stage_close(&s);
}

/* Eight cores of two threads in domains 8 and 0 as the system numbers them, four GPUs, three
 * cards. */
static struct gang_node_spec machine(void)
{
    static const struct box box = {
        .name = "n1", .cpu = 8000, .memory = 8 * GIB, .cores = 8, .numas = 2, .gpus = 4};
    static const char *const cpuset[8] = {"0,8",  "1,9",  "2,10", "3,11",
                                          "4,12", "5,13", NULL,   "7,15-16"};
    static const char *const pci[4] = {"0000:07:00.0", "0000:0a:00.0", "0000:47:00.0",
                                       "0000:4a:00.0"};
    static const char *const uuid[4] = {"GPU-aa", "GPU-bb", "cc", "dd"};
    static const struct gang_nic_spec nics[] = {{"mlx5_0", NULL, 0, 0},
                                                {"mlx5_1", NULL, 1, 0},
                                                {"eth0", NULL, -1, 0},
                                                {"eth1", NULL, 1, 0}};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    for (int i = 0; i < 8; i++)
        arrays.core[i].cpuset = cpuset[i];
    for (int i = 0; i < 4; i++) {
        arrays.gpu[i].pci = pci[i];
        arrays.gpu[i].uuid = uuid[i];
    }
    arrays.numa[0].os_index = 8;
    arrays.numa[1].os_index = 0;
    spec.nics = nics;
    spec.nic_count = 4;
    return spec;
}

static gang_node_id add(const struct gang_node_spec *spec)
{
    gang_node_id id;
    MUST(gang_node_add(s.w, spec, &id, NULL));
    return id;
}

static struct gang_task place(int64_t cpu_milli, int64_t gpu_milli)
{
    struct gang_group_spec g = group_of(1, cpu_milli, gpu_milli);
    return stage_only_task(&s, stage_alloc_group(&s, &g));
}

/* These GPUs and cores, for any holder. */
static struct gang_task made_up(gang_node_id node, uint64_t gpus, uint64_t cores)
{
    struct gang_task t = GANG_TASK_INIT;
    t.node = node;
    t.gpus = gpus;
    t.cores[0] = cores;
    return t;
}

static const char *text_of(const struct gang_task *t, int32_t what)
{
    static char buffer[8192];
    size_t needed = 0;
    memset(buffer, 'x', sizeof(buffer));
    MUST(gang_task_text(s.c, t, what, buffer, sizeof(buffer), &needed));
    ck_assert_uint_eq(needed, strlen(buffer) + 1);
    ck_assert_int_eq(buffer[needed], 'x');
    return buffer;
}

static void assert_text(const struct gang_task *t, int32_t what, const char *wanted)
{
    ck_assert_str_eq(text_of(t, what), wanted);
}

/* ---- what it says ---- */

START_TEST(the_text_names_the_whole_place_of_a_task)
{
    struct gang_node_spec spec = machine();
    add(&spec);
    struct gang_task t = place(3000, 2000);
    ck_assert_uint_eq(t.gpus, 3);
    assert_text(&t, GANG_TASK_TEXT_GPUS, "0,1");
    assert_text(&t, GANG_TASK_TEXT_PCI, "0000:07:00.0,0000:0a:00.0");
    assert_text(&t, GANG_TASK_TEXT_UUIDS, "GPU-aa,GPU-bb");
    assert_text(&t, GANG_TASK_TEXT_CUDA, "GPU-aa,GPU-bb");
    assert_text(&t, GANG_TASK_TEXT_ROCR, "GPU-aa,GPU-bb");
    assert_text(&t, GANG_TASK_TEXT_CPUSET, "0-2,8-10");
    assert_text(&t, GANG_TASK_TEXT_NODESET, "8");
    assert_text(&t, GANG_TASK_TEXT_NICS, "mlx5_0");
    t = place(2000, 1000);
    ck_assert_uint_eq(t.gpus, 4);
    assert_text(&t, GANG_TASK_TEXT_UUIDS, "cc");
    assert_text(&t, GANG_TASK_TEXT_CUDA, "cc");
    assert_text(&t, GANG_TASK_TEXT_ROCR, "GPU-cc");
    assert_text(&t, GANG_TASK_TEXT_CPUSET, "4-5,12-13");
    assert_text(&t, GANG_TASK_TEXT_NODESET, "0");
    assert_text(&t, GANG_TASK_TEXT_NICS, "mlx5_1,eth1");
}
END_TEST

START_TEST(cores_are_joined_to_runs)
{
    struct gang_node_spec spec = machine();
    gang_node_id node = add(&spec);
    struct gang_task t = made_up(node, 0, 0xff);
    assert_text(&t, GANG_TASK_TEXT_CPUSET, "0-13,15-16");
    assert_text(&t, GANG_TASK_TEXT_NODESET, "0,8");
    assert_text(&t, GANG_TASK_TEXT_NICS, "mlx5_0,mlx5_1,eth1");
    t = made_up(node, 0, 0xc1);
    assert_text(&t, GANG_TASK_TEXT_CPUSET, "0,6-8,15-16");
    t = made_up(node, 0, 0x40); /* without a cpuset: its first thread */
    assert_text(&t, GANG_TASK_TEXT_CPUSET, "6");
    t = made_up(node, 0, 0x80);
    assert_text(&t, GANG_TASK_TEXT_CPUSET, "7,15-16");
}
END_TEST

START_TEST(domains_next_to_each_other_are_joined)
{
    struct gang_node_spec spec = machine();
    arrays.numa[0].os_index = 3;
    arrays.numa[1].os_index = 2;
    gang_node_id node = add(&spec);
    struct gang_task t = made_up(node, 0, 0xff);
    assert_text(&t, GANG_TASK_TEXT_NODESET, "2-3");
    spec.name = "n2";
    arrays.numa[1].os_index = -1;
    t.node = add(&spec);
    assert_text(&t, GANG_TASK_TEXT_NODESET, "3");
}
END_TEST

/* Network cards go with the GPUs, memory with the cores. */
START_TEST(without_cores_the_devices_give_the_domain)
{
    struct gang_node_spec spec = machine();
    gang_node_id node = add(&spec);
    struct gang_task t = made_up(node, 8, 0);
    assert_text(&t, GANG_TASK_TEXT_CPUSET, "");
    assert_text(&t, GANG_TASK_TEXT_NODESET, "0");
    assert_text(&t, GANG_TASK_TEXT_NICS, "mlx5_1,eth1");
    t = made_up(node, 8, 1);
    assert_text(&t, GANG_TASK_TEXT_NODESET, "8");
    assert_text(&t, GANG_TASK_TEXT_NICS, "mlx5_1,eth1");
}
END_TEST

START_TEST(a_task_without_resources_has_an_empty_text)
{
    struct gang_node_spec spec = machine();
    gang_node_id node = add(&spec);
    struct gang_task t = made_up(node, 0, 0);
    for (int32_t what = GANG_TASK_TEXT_GPUS; what <= GANG_TASK_TEXT_NICS; what++)
        assert_text(&t, what, "");
}
END_TEST

START_TEST(a_machine_without_domains_has_all_its_cards_near)
{
    struct gang_node_spec spec = machine();
    static const struct gang_nic_spec nics[] = {{"eth0", NULL, -1, 0}, {"eth1", NULL, -1, 0}};
    for (int i = 0; i < 8; i++)
        arrays.core[i].numa = -1;
    for (int i = 0; i < 4; i++)
        arrays.gpu[i].numa = -1;
    spec.numa_count = 0;
    spec.nics = nics;
    spec.nic_count = 2;
    struct gang_task t = made_up(add(&spec), 1, 1);
    assert_text(&t, GANG_TASK_TEXT_NICS, "eth0,eth1");
    assert_text(&t, GANG_TASK_TEXT_NODESET, "");
    t.gpus = 0;
    assert_text(&t, GANG_TASK_TEXT_NICS, "eth0,eth1");
    t.cores[0] = 0;
    assert_text(&t, GANG_TASK_TEXT_NICS, "");
}
END_TEST

START_TEST(unknown_names_give_way_to_numbers)
{
    struct gang_node_spec spec = machine();
    arrays.gpu[1].uuid = NULL;
    arrays.gpu[2].pci = NULL;
    struct gang_task t = made_up(add(&spec), 3, 0);
    assert_text(&t, GANG_TASK_TEXT_UUIDS, "");
    assert_text(&t, GANG_TASK_TEXT_CUDA, "0,1");
    assert_text(&t, GANG_TASK_TEXT_ROCR, "0,1");
    t.gpus = 13;
    assert_text(&t, GANG_TASK_TEXT_PCI, "");
    assert_text(&t, GANG_TASK_TEXT_UUIDS, "GPU-aa,cc,dd");
    assert_text(&t, GANG_TASK_TEXT_CUDA, "GPU-aa,cc,dd");
}
END_TEST

/* Partitions of one device with the uuid of the device are not distinct by it. */
START_TEST(a_uuid_of_several_devices_names_none)
{
    struct gang_node_spec spec = machine();
    arrays.gpu[0].uuid = arrays.gpu[3].uuid = "GPU-aa";
    struct gang_task t = made_up(add(&spec), 1, 0);
    assert_text(&t, GANG_TASK_TEXT_UUIDS, "GPU-aa");
    assert_text(&t, GANG_TASK_TEXT_CUDA, "0");
    t.gpus = 6;
    assert_text(&t, GANG_TASK_TEXT_CUDA, "GPU-bb,cc");
}
END_TEST

START_TEST(all_threads_of_a_large_machine)
{
    static const struct box box = {.name = "n1", .cpu = 1024000, .cores = 1024, .gpus = 64};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    char far[2][24] = {"9999998-9999999", "8190-8193"};
    arrays.core[0].cpuset = far[0];
    arrays.core[0].os_index = 9999998;
    arrays.core[1].cpuset = far[1]; /* across two windows */
    arrays.core[1].os_index = 8190;
    gang_node_id node = add(&spec);
    struct gang_task t = made_up(node, UINT64_MAX, UINT64_MAX);
    for (int i = 0; i < GANG_MAX_CORES / 64; i++)
        t.cores[i] = UINT64_MAX;
    assert_text(&t, GANG_TASK_TEXT_CPUSET, "2-1023,8190-8193,9999998-9999999");
    for (int i = 0; i < GANG_MAX_CORES / 64; i++)
        t.cores[i] = UINT64_C(0x5555555555555555);
    ck_assert_uint_eq(strlen(text_of(&t, GANG_TASK_TEXT_CPUSET)),
                      4 * 2 + 45 * 3 + 450 * 4 + 12 * 5 + 15);
    ck_assert_uint_eq(strlen(text_of(&t, GANG_TASK_TEXT_GPUS)), 10 * 2 + 54 * 3 - 1);
}
END_TEST

/* An instance of a profile is shown by its slices: that is what CUDA knows of MIG. */
START_TEST(slices_are_written_like_devices)
{
    static const struct gang_profile_spec profile = {"2g", NULL, 2, 0x5};
    static const char *const uuid[4] = {"MIG-a", "MIG-b", "MIG-c", "MIG-d"};
    struct gang_node_spec spec = machine();
    for (int i = 0; i < 4; i++) {
        arrays.gpu[i].uuid = uuid[i];
        arrays.gpu[i].parent = "0000:07:00.0";
        arrays.gpu[i].mig_index = i;
    }
    spec.profiles = &profile;
    spec.profile_count = 1;
    add(&spec);
    struct gang_group_spec g = group_of(1, 1000, 1000);
    g.profile = "2g";
    struct gang_task t = stage_only_task(&s, stage_alloc_group(&s, &g));
    assert_text(&t, GANG_TASK_TEXT_GPUS, "0,1");
    assert_text(&t, GANG_TASK_TEXT_CUDA, "MIG-a,MIG-b");
}
END_TEST

/* ---- the contract of the buffer ---- */

START_TEST(a_short_buffer_is_not_overrun)
{
    struct gang_node_spec spec = machine();
    struct gang_task t = made_up(add(&spec), 3, 7);
    for (int32_t what = GANG_TASK_TEXT_GPUS; what <= GANG_TASK_TEXT_NICS; what++) {
        char buffer[64];
        size_t needed = 99, bytes = strlen(text_of(&t, what)) + 1;
        ck_assert_int_eq(gang_task_text(s.c, &t, what, NULL, 0, &needed), GANG_ELIMIT);
        ck_assert_uint_eq(needed, bytes);
        memset(buffer, 'x', sizeof(buffer));
        ck_assert_int_eq(gang_task_text(s.c, &t, what, buffer, bytes - 1, &needed), GANG_ELIMIT);
        ck_assert_uint_eq(needed, bytes);
        ck_assert_int_eq(buffer[0], 'x');
        MUST(gang_task_text(s.c, &t, what, buffer, bytes, NULL));
        ck_assert_str_eq(buffer, text_of(&t, what));
        ck_assert_int_eq(buffer[bytes], 'x');
    }
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    struct gang_node_spec spec = machine();
    gang_node_id node = add(&spec);
    struct gang_task t = made_up(node, 3, 7);
    struct {
        struct gang_task t;
        uint64_t more;
    } newer = {t, 0};
    char buffer[64] = "x";
    size_t needed = 7;
#define REFUSED(code, call)            \
    do {                               \
        needed = 7;                    \
        ck_assert_int_eq(call, code);  \
        ck_assert_uint_eq(needed, 0);  \
        ck_assert_str_eq(buffer, "x"); \
    } while (0)
    REFUSED(GANG_EINVAL, gang_task_text(NULL, &t, GANG_TASK_TEXT_GPUS, buffer, 64, &needed));
    REFUSED(GANG_EINVAL, gang_task_text(s.c, NULL, GANG_TASK_TEXT_GPUS, buffer, 64, &needed));
    REFUSED(GANG_EINVAL, gang_task_text(s.c, &t, GANG_TASK_TEXT_GPUS, NULL, 64, &needed));
    REFUSED(GANG_EINVAL, gang_task_text(s.c, &t, 0, buffer, 64, &needed));
    REFUSED(GANG_EINVAL, gang_task_text(s.c, &t, GANG_TASK_TEXT_NICS + 1, buffer, 64, &needed));
    t.size = sizeof(t) - 1;
    REFUSED(GANG_EINVAL, gang_task_text(s.c, &t, GANG_TASK_TEXT_GPUS, buffer, 64, &needed));
    newer.t.size = sizeof(newer);
    newer.more = 1;
    REFUSED(GANG_E2BIG, gang_task_text(s.c, &newer.t, GANG_TASK_TEXT_GPUS, buffer, 64, &needed));
    newer.more = 0;
    MUST(gang_task_text(s.c, &newer.t, GANG_TASK_TEXT_GPUS, buffer, 64, &needed));
    strcpy(buffer, "x");
    t = made_up(node, 1 << 4, 0);
    REFUSED(GANG_EINVAL, gang_task_text(s.c, &t, GANG_TASK_TEXT_GPUS, buffer, 64, &needed));
    t = made_up(node, 0, 1 << 8);
    REFUSED(GANG_EINVAL, gang_task_text(s.c, &t, GANG_TASK_TEXT_GPUS, buffer, 64, &needed));
    t = made_up(node, 0, 0);
    t.cores[3] = 1;
    REFUSED(GANG_EINVAL, gang_task_text(s.c, &t, GANG_TASK_TEXT_GPUS, buffer, 64, &needed));
    t = made_up(node + (UINT64_C(1) << 32), 0, 0);
    REFUSED(GANG_ESTALE, gang_task_text(s.c, &t, GANG_TASK_TEXT_GPUS, buffer, 64, &needed));
    t = made_up(GANG_ID_NONE, 0, 0);
    REFUSED(GANG_ESTALE, gang_task_text(s.c, &t, GANG_TASK_TEXT_GPUS, buffer, 64, &needed));
}
END_TEST

START_TEST(a_removed_node_is_known_while_it_is_held)
{
    struct gang_node_spec spec = machine();
    gang_node_id node = add(&spec);
    struct gang_group_spec g = group_of(1, 3000, 2000);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    struct gang_task t = stage_only_task(&s, id);
    char buffer[64];
    MUST(gang_node_remove(s.w, node));
    assert_text(&t, GANG_TASK_TEXT_CPUSET, "0-2,8-10");
    assert_text(&t, GANG_TASK_TEXT_UUIDS, "GPU-aa,GPU-bb");
    MUST(gang_alloc_free(s.w, id));
    ck_assert_int_eq(gang_task_text(s.c, &t, GANG_TASK_TEXT_GPUS, buffer, 64, NULL), GANG_ESTALE);
    hwloc_bitmap_t set = hwloc_bitmap_alloc_full();
    ck_assert_int_eq(gang_task_hwloc_cpuset(s.c, &t, set), GANG_ESTALE);
    ck_assert(hwloc_bitmap_iszero(set));
    hwloc_bitmap_free(set);
}
END_TEST

/* ---- sets of hwloc ---- */

START_TEST(sets_of_hwloc_say_the_same)
{
    struct gang_node_spec spec = machine();
    gang_node_id node = add(&spec);
    hwloc_bitmap_t set = hwloc_bitmap_alloc_full(), wanted = hwloc_bitmap_alloc();
    for (uint64_t cores = 0; cores < 256; cores += 5) {
        struct gang_task t = made_up(node, cores & 15, cores);
        MUST(gang_task_hwloc_cpuset(s.c, &t, set));
        ck_assert_int_eq(hwloc_bitmap_list_sscanf(wanted, text_of(&t, GANG_TASK_TEXT_CPUSET)), 0);
        ck_assert(hwloc_bitmap_isequal(set, wanted));
        MUST(gang_task_hwloc_nodeset(s.c, &t, set));
        ck_assert_int_eq(hwloc_bitmap_list_sscanf(wanted, text_of(&t, GANG_TASK_TEXT_NODESET)), 0);
        ck_assert(hwloc_bitmap_isequal(set, wanted));
    }
    struct gang_task t = made_up(node, 1 << 5, 1);
    ck_assert_int_eq(gang_task_hwloc_cpuset(s.c, &t, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_task_hwloc_nodeset(s.c, &t, NULL), GANG_EINVAL);
    hwloc_bitmap_fill(set);
    ck_assert_int_eq(gang_task_hwloc_cpuset(NULL, &t, set), GANG_EINVAL);
    ck_assert(hwloc_bitmap_iszero(set));
    hwloc_bitmap_fill(set);
    ck_assert_int_eq(gang_task_hwloc_nodeset(s.c, NULL, set), GANG_EINVAL);
    ck_assert(hwloc_bitmap_iszero(set));
    hwloc_bitmap_fill(set);
    ck_assert_int_eq(gang_task_hwloc_nodeset(s.c, &t, set), GANG_EINVAL);
    ck_assert(hwloc_bitmap_iszero(set));
    t.size = 8;
    ck_assert_int_eq(gang_task_hwloc_cpuset(s.c, &t, set), GANG_EINVAL);
    hwloc_bitmap_free(set);
    hwloc_bitmap_free(wanted);
}
END_TEST

/* ---- JSON ---- */

struct text {
    char bytes[16384];
    size_t length;
};

static int collect(const char *bytes, size_t length, void *user)
{
    struct text *t = user;
    ck_assert_uint_lt(t->length + length, sizeof(t->bytes));
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    return 0;
}

static json_t *task_json(gang_alloc_id id)
{
    static struct text text;
    text.length = 0;
    MUST(gang_alloc_write_json(s.c, id, collect, &text));
    json_t *root = json_loadb(text.bytes, text.length, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(root);
    return root;
}

static void assert_member(gang_alloc_id id, const char *key, const char *wanted)
{
    json_t *root = task_json(id);
    json_t *member = json_object_get(json_array_get(json_object_get(root, "tasks"), 0), key);
    char *is = member ? json_dumps(member, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (wanted)
        ck_assert_str_eq(is, wanted);
    else
        ck_assert_ptr_null(is);
    free(is);
    json_decref(root);
}

START_TEST(json_has_what_a_launcher_needs)
{
    struct gang_node_spec spec = machine();
    arrays.gpu[3].uuid = NULL;
    add(&spec);
    struct gang_group_spec g = group_of(1, 3000, 2000);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    assert_member(id, "pci", "[\"0000:07:00.0\",\"0000:0a:00.0\"]");
    assert_member(id, "uuids", "[\"GPU-aa\",\"GPU-bb\"]");
    assert_member(id, "cpuset", "\"0-2,8-10\"");
    assert_member(id, "nodeset", "\"8\"");
    g.cpu_milli = 500;
    id = stage_alloc_group(&s, &g);
    assert_member(id, "uuids", NULL);
    assert_member(id, "cpuset", NULL);
    assert_member(id, "nodeset", "\"0\"");
    g.gpu_milli = 0;
    id = stage_alloc_group(&s, &g);
    assert_member(id, "pci", NULL);
    assert_member(id, "uuids", NULL);
    assert_member(id, "nodeset", NULL);
}
END_TEST

START_TEST(json_without_memory_is_refused)
{
    struct gang_node_spec spec = machine();
    static struct text text;
    add(&spec);
    struct gang_group_spec g = group_of(1, 3000, 2000);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    gang_result r = GANG_ENOMEM;
    long live = s.mem.live, n = 0;
    for (; r == GANG_ENOMEM; n++) {
        text.length = 0;
        s.mem.calls = 0;
        s.mem.fail_at = n + 1;
        r = gang_alloc_write_json(s.c, id, collect, &text);
        ck_assert(r == GANG_OK || (r == GANG_ENOMEM && text.length == 0));
        ck_assert_int_eq(s.mem.live, live);
    }
    s.mem.fail_at = 0;
    ck_assert_int_eq(n, 3); /* the two texts */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("task text");
    TCase *tests = tcase_create("task text");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, the_text_names_the_whole_place_of_a_task);
    tcase_add_test(tests, cores_are_joined_to_runs);
    tcase_add_test(tests, domains_next_to_each_other_are_joined);
    tcase_add_test(tests, without_cores_the_devices_give_the_domain);
    tcase_add_test(tests, a_task_without_resources_has_an_empty_text);
    tcase_add_test(tests, a_machine_without_domains_has_all_its_cards_near);
    tcase_add_test(tests, unknown_names_give_way_to_numbers);
    tcase_add_test(tests, a_uuid_of_several_devices_names_none);
    tcase_add_test(tests, all_threads_of_a_large_machine);
    tcase_add_test(tests, slices_are_written_like_devices);
    tcase_add_test(tests, a_short_buffer_is_not_overrun);
    tcase_add_test(tests, wrong_arguments_are_refused);
    tcase_add_test(tests, a_removed_node_is_known_while_it_is_held);
    tcase_add_test(tests, sets_of_hwloc_say_the_same);
    tcase_add_test(tests, json_has_what_a_launcher_needs);
    tcase_add_test(tests, json_without_memory_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
