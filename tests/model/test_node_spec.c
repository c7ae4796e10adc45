/* SPDX-License-Identifier: Apache-2.0 */
/* Checking and copying node specifications, and how close two GPUs are. */
#include "model/node_spec.h"

#include <check.h>
#include <string.h>

#include "support.h"

/* A specification that uses everything. */
struct full {
    struct gang_gpu_spec gpus[4];
    struct gang_link_spec links[2];
    struct gang_numa_spec numas[3];
    struct gang_core_spec cores[3];
    struct gang_nic_spec nics[2];
    struct gang_profile_spec profiles[3];
    struct gang_amount amounts[2];
    struct gang_label labels[2];
    const char *partitions[2];
    struct gang_label topology[2];
    uint8_t near[16];
    char long_text[GANG_MAX_NAME + 2];
    struct gang_node_spec spec;
};

static void full_init(struct full *f)
{
    static const uint8_t near[16] = {4, 4, 0, 1, 4, 4, 0, 0, 0, 0, 4, 2, 1, 0, 2, 4};
    *f = (struct full){
        .gpus = {{"V100", "0000:07:00.0", "GPU-1", INT64_C(16) << 30, 0, 0},
                 {"V100", "0000:08:00.0", NULL, 0, 0, 0},
                 {"", "", "", 1, 2, GANG_GPU_UNHEALTHY, "0000:0a:00.0", 63, 0},
                 {NULL, NULL, NULL, 0, -1, 0, "0000:0a:00.0", 0, 0}},
        .links = {{0, 1, GANG_LINK_NVLINK, 1, 50000}, {3, 2, GANG_LINK_XGMI, 0, 0}},
        .numas = {{0, 0, INT64_C(8) << 30}, {1, 0, 0}, {-1, -1, 1}},
        .cores = {{0, 0, 2, 0, "0,64"}, {1, 1, 1, 0, NULL}, {8, -1, 4, 0, "8-11"}},
        .profiles = {{"1g", "A", 1, 127}, {"1g", "B", 64, 1}, {"7g", NULL, 1, UINT64_MAX}},
        .nics = {{"mlx5_0", "0000:09:00.0", 1, 0}, {"eth0", NULL, -1, 0}},
        .amounts = {{"nic", 2}, {"licence.matlab", 0}},
        .labels = {{"zone", "a"}, {"empty", ""}},
        .partitions = {"batch", "gpu"},
        .topology = {{"rack", "r1"}, {"zone", "z"}},
        .spec = GANG_NODE_SPEC_INIT,
    };
    memcpy(f->near, near, sizeof(near));
    memset(f->long_text, 'x', GANG_MAX_NAME + 1);
    f->spec.name = "n\xc3\xa9 1";
    f->spec.cpu_milli = 3500;
    f->spec.memory_bytes = INT64_C(9) << 30;
    f->spec.gpus = f->gpus;
    f->spec.gpu_count = 4;
    f->spec.links = f->links;
    f->spec.link_count = 2;
    f->spec.numas = f->numas;
    f->spec.numa_count = 3;
    f->spec.cores = f->cores;
    f->spec.core_count = 3;
    f->spec.nics = f->nics;
    f->spec.nic_count = 2;
    f->spec.profiles = f->profiles;
    f->spec.profile_count = 3;
    f->spec.amounts = f->amounts;
    f->spec.amount_count = 2;
    f->spec.labels = f->labels;
    f->spec.label_count = 2;
    f->spec.partitions = f->partitions;
    f->spec.partition_count = 2;
    f->spec.topology = f->topology;
    f->spec.topology_count = 2;
    f->spec.gpu_locality = f->near;
    f->spec.state = GANG_NODE_DRAINING;
}

static gang_result check(const struct gang_node_spec *spec, struct gang_error *error)
{
    *error = (struct gang_error)GANG_ERROR_INIT;
    return gang_node_spec_check(spec, error);
}

/* ---- checking ------------------------------------------------------------------------------ */

START_TEST(accepts_a_name_alone)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    spec.name = "n";
    ck_assert_int_eq(gang_node_spec_check(&spec, NULL), GANG_OK);
}
END_TEST

START_TEST(accepts_everything_at_once)
{
    struct full f;
    struct gang_error error;
    full_init(&f);
    ck_assert_msg(check(&f.spec, &error) == GANG_OK, "%s: %s", error.path, error.text);
}
END_TEST

START_TEST(accepts_the_largest_numbers)
{
    struct full f;
    struct gang_error error;
    full_init(&f);
    f.spec.cpu_milli = GANG_MAX_CPU_MILLI;
    f.spec.memory_bytes = GANG_MAX_AMOUNT * GANG_PAGE_BYTES;
    f.amounts[0].amount = GANG_MAX_AMOUNT;
    f.long_text[GANG_MAX_NAME] = '\0';
    f.spec.name = f.long_text;
    ck_assert_msg(check(&f.spec, &error) == GANG_OK, "%s: %s", error.path, error.text);
}
END_TEST

START_TEST(refuses_no_specification)
{
    struct gang_error error;
    EXPECT_RESULT(check(NULL, &error), GANG_EINVAL, &error);
    ck_assert_int_eq(gang_node_spec_check(NULL, NULL), GANG_EINVAL);
}
END_TEST

/* Each changes one thing of a good specification. */
#define CHANGE(name, ...)            \
    static void name(struct full *f) \
    {                                \
        __VA_ARGS__;                 \
    }
CHANGE(no_name, f->spec.name = NULL)
CHANGE(empty_name, f->spec.name = "")
CHANGE(long_name, f->spec.name = f->long_text)
CHANGE(control_in_name, f->spec.name = "a\nb")
CHANGE(delete_in_name, f->spec.name = "a\x7f")
CHANGE(c1_control_in_name, f->spec.name = "a\xc2\x85")
CHANGE(latin1_name, f->spec.name = "caf\xe9")
CHANGE(negative_cpu, f->spec.cpu_milli = -1)
CHANGE(too_much_cpu, f->spec.cpu_milli = GANG_MAX_CPU_MILLI + 1)
CHANGE(negative_memory, f->spec.memory_bytes = INT64_MIN)
CHANGE(too_much_memory, f->spec.memory_bytes = INT64_MAX)
CHANGE(state_gone, f->spec.state = GANG_NODE_REMOVED)
CHANGE(state_negative, f->spec.state = -1)
CHANGE(reserved_spec, f->spec.reserved0 = 1)
CHANGE(size_zero, f->spec.size = 0)
CHANGE(size_short, f->spec.size = sizeof(f->spec) - 4)
CHANGE(size_absurd, f->spec.size = SIZE_MAX)

CHANGE(null_gpus, f->spec.gpus = NULL)
CHANGE(too_many_gpus, f->spec.gpu_count = GANG_MAX_GPUS + 1)
CHANGE(gpu_size_short, f->spec.gpu_size = sizeof(f->gpus[0]) - 8)
CHANGE(gpu_size_absurd, f->spec.gpu_size = (size_t)1 << 40)
CHANGE(gpu_model, f->gpus[1].model = "\x1b[0m")
CHANGE(gpu_pci, f->gpus[1].pci = f->long_text)
CHANGE(gpu_uuid, f->gpus[2].uuid = "\xff")
CHANGE(gpu_memory, f->gpus[0].memory_bytes = -1)
CHANGE(gpu_memory_large, f->gpus[0].memory_bytes = INT64_MAX)
CHANGE(gpu_numa_large, f->gpus[3].numa = 3)
CHANGE(gpu_numa_negative, f->gpus[3].numa = -2)
CHANGE(gpu_pcie, f->gpus[2].pcie = -1)

CHANGE(gpu_state, f->gpus[1].state = 2)
CHANGE(gpu_state_negative, f->gpus[1].state = -1)
CHANGE(gpu_parent, f->gpus[3].parent = "\n")
CHANGE(gpu_slice_negative, f->gpus[3].mig_index = -1)
CHANGE(gpu_slice_large, f->gpus[2].mig_index = 64)
CHANGE(gpu_slice_twice, f->gpus[3].mig_index = 63)
CHANGE(gpu_slice_alone, f->gpus[0].mig_index = 1)
CHANGE(gpu_slice_of_nothing, f->gpus[3].parent = "", f->gpus[3].mig_index = 1)

CHANGE(null_profiles, f->spec.profiles = NULL)
CHANGE(too_many_profiles, f->spec.profile_count = GANG_MAX_ITEMS + 1)
CHANGE(profile_size, f->spec.profile_size = sizeof(f->profiles[0]) - 8)
CHANGE(profile_no_name, f->profiles[0].name = NULL)
CHANGE(profile_empty_name, f->profiles[0].name = "")
CHANGE(profile_model, f->profiles[1].model = f->long_text)
CHANGE(profile_width_zero, f->profiles[0].width = 0)
CHANGE(profile_width_large, f->profiles[1].width = 65)
CHANGE(profile_no_start, f->profiles[2].starts = 0)
CHANGE(profile_start_late, f->profiles[1].starts = 2)
CHANGE(profile_end_late, f->profiles[0].width = 59)
CHANGE(profile_twice, f->profiles[1].model = "A")
CHANGE(profile_twice_for_all, f->profiles[2].name = "1g")
CHANGE(profile_twice_for_all_first, f->profiles[0].model = "")

CHANGE(null_links, f->spec.links = NULL)
CHANGE(too_many_links, f->spec.link_count = 2017)
CHANGE(link_size, f->spec.link_size = 1)
CHANGE(link_a_large, f->links[0].a = 4)
CHANGE(link_a_negative, f->links[0].a = -1)
CHANGE(link_b_large, f->links[1].b = INT32_MAX)
CHANGE(link_b_negative, f->links[1].b = INT32_MIN)
CHANGE(link_to_itself, f->links[0].b = 0)
CHANGE(link_twice, f->links[1] = f->links[0])
CHANGE(link_twice_turned, f->links[1].a = 1, f->links[1].b = 0)
CHANGE(link_kind_zero, f->links[0].type = 0)
CHANGE(link_kind_large, f->links[0].type = 4)
CHANGE(link_hops, f->links[0].hops = -1)
CHANGE(link_bandwidth, f->links[1].bandwidth_mbps = -1)

CHANGE(null_numas, f->spec.numas = NULL)
CHANGE(too_many_numas, f->spec.numa_count = GANG_MAX_NUMAS + 1)
CHANGE(numa_size, f->spec.numa_size = 8)
CHANGE(numa_os_index, f->numas[1].os_index = -2)
CHANGE(numa_package, f->numas[1].package = -2)
CHANGE(numa_memory, f->numas[2].memory_bytes = -1)
CHANGE(numa_memory_large, f->numas[2].memory_bytes = INT64_MAX)

CHANGE(null_cores, f->spec.cores = NULL)
CHANGE(too_many_cores, f->spec.core_count = GANG_MAX_CORES + 1)
CHANGE(core_size, f->spec.core_size = 16)
CHANGE(core_os_index, f->cores[1].os_index = -1)
CHANGE(core_os_index_twice, f->cores[2].os_index = 0)
CHANGE(core_numa, f->cores[1].numa = 3)
CHANGE(core_threads, f->cores[1].threads = 0)
CHANGE(core_reserved, f->cores[1].reserved0 = 7)
CHANGE(core_cpuset_empty, f->cores[0].cpuset = "")
CHANGE(core_cpuset_text, f->cores[0].cpuset = "0x3")
CHANGE(core_cpuset_comma, f->cores[0].cpuset = "0,")
CHANGE(core_cpuset_range, f->cores[0].cpuset = "3-1")
CHANGE(core_cpuset_two_ranges, f->cores[0].cpuset = "0-1-2")
CHANGE(core_cpuset_large, f->cores[0].cpuset = "12345678")
CHANGE(core_cpuset_long, f->cores[0].cpuset = f->long_text)

CHANGE(null_nics, f->spec.nics = NULL)
CHANGE(too_many_nics, f->spec.nic_count = GANG_MAX_ITEMS + 1)
CHANGE(nic_size, f->spec.nic_size = 0)
CHANGE(nic_no_name, f->nics[0].name = NULL)
CHANGE(nic_empty_name, f->nics[0].name = "")
CHANGE(nic_pci, f->nics[0].pci = "\n")
CHANGE(nic_numa, f->nics[0].numa = 99)
CHANGE(nic_reserved, f->nics[0].reserved0 = 1)

CHANGE(null_amounts, f->spec.amounts = NULL)
CHANGE(too_many_amounts, f->spec.amount_count = GANG_MAX_KINDS - GANG_KIND_SITE + 1)
CHANGE(amount_no_kind, f->amounts[1].kind = NULL)
CHANGE(amount_long_kind, f->amounts[1].kind = f->long_text)
CHANGE(amount_built_in, f->amounts[1].kind = "gpu")
CHANGE(amount_twice, f->amounts[1].kind = "nic")
CHANGE(amount_negative, f->amounts[0].amount = -1)
CHANGE(amount_large, f->amounts[0].amount = GANG_MAX_AMOUNT + 1)

CHANGE(null_labels, f->spec.labels = NULL)
CHANGE(too_many_labels, f->spec.label_count = SIZE_MAX)
CHANGE(label_no_key, f->labels[1].key = NULL)
CHANGE(label_empty_key, f->labels[1].key = "")
CHANGE(label_twice, f->labels[1].key = "zone")
CHANGE(label_no_value, f->labels[0].value = NULL)
CHANGE(label_control, f->labels[0].value = "\t")
CHANGE(label_long, f->labels[0].value = f->long_text)

CHANGE(null_partitions, f->spec.partitions = NULL)
CHANGE(too_many_partitions, f->spec.partition_count = GANG_MAX_ITEMS + 1)
CHANGE(partition_null, f->partitions[1] = NULL)
CHANGE(partition_empty, f->partitions[0] = "")
CHANGE(partition_twice, f->partitions[1] = "batch")

CHANGE(null_topology, f->spec.topology = NULL)
CHANGE(too_many_levels, f->spec.topology_count = GANG_MAX_LEVELS + 1)
CHANGE(level_no_name, f->topology[0].key = NULL)
CHANGE(level_twice, f->topology[1].key = "rack")
CHANGE(level_empty_value, f->topology[1].value = "")

CHANGE(near_unknown, f->near[5] = 5)
CHANGE(near_not_symmetric, f->near[2] = 3)

static const struct refusal {
    void (*change)(struct full *f);
    gang_result code;
    const char *path;
} refusals[] = {
    {no_name, GANG_EINVAL, "name"},
    {empty_name, GANG_EINVAL, "name"},
    {long_name, GANG_ELIMIT, "name"},
    {control_in_name, GANG_EINVAL, "name"},
    {delete_in_name, GANG_EINVAL, "name"},
    {c1_control_in_name, GANG_EINVAL, "name"},
    {latin1_name, GANG_EINVAL, "name"},
    {negative_cpu, GANG_ERANGE, "cpu_milli"},
    {too_much_cpu, GANG_ERANGE, "cpu_milli"},
    {negative_memory, GANG_ERANGE, "memory_bytes"},
    {too_much_memory, GANG_ERANGE, "memory_bytes"},
    {state_gone, GANG_EINVAL, "state"},
    {state_negative, GANG_EINVAL, "state"},
    {reserved_spec, GANG_EINVAL, "reserved0"},
    {size_zero, GANG_EINVAL, "size"},
    {size_short, GANG_EINVAL, "size"},
    {size_absurd, GANG_EINVAL, "size"},

    {null_gpus, GANG_EINVAL, "gpus"},
    {too_many_gpus, GANG_ELIMIT, "gpus"},
    {gpu_size_short, GANG_EINVAL, "gpu_size"},
    {gpu_size_absurd, GANG_EINVAL, "gpu_size"},
    {gpu_model, GANG_EINVAL, "gpus[1].model"},
    {gpu_pci, GANG_ELIMIT, "gpus[1].pci"},
    {gpu_uuid, GANG_EINVAL, "gpus[2].uuid"},
    {gpu_memory, GANG_ERANGE, "gpus[0].memory_bytes"},
    {gpu_memory_large, GANG_ERANGE, "gpus[0].memory_bytes"},
    {gpu_numa_large, GANG_EINVAL, "gpus[3].numa"},
    {gpu_numa_negative, GANG_EINVAL, "gpus[3].numa"},
    {gpu_pcie, GANG_ERANGE, "gpus[2].pcie"},

    {gpu_state, GANG_EINVAL, "gpus[1].state"},
    {gpu_state_negative, GANG_EINVAL, "gpus[1].state"},
    {gpu_parent, GANG_EINVAL, "gpus[3].parent"},
    {gpu_slice_negative, GANG_ERANGE, "gpus[3].mig_index"},
    {gpu_slice_large, GANG_ERANGE, "gpus[2].mig_index"},
    {gpu_slice_twice, GANG_EINVAL, "gpus[3].mig_index"},
    {gpu_slice_alone, GANG_EINVAL, "gpus[0].mig_index"},
    {gpu_slice_of_nothing, GANG_EINVAL, "gpus[3].mig_index"},

    {null_profiles, GANG_EINVAL, "profiles"},
    {too_many_profiles, GANG_ELIMIT, "profiles"},
    {profile_size, GANG_EINVAL, "profile_size"},
    {profile_no_name, GANG_EINVAL, "profiles[0].name"},
    {profile_empty_name, GANG_EINVAL, "profiles[0].name"},
    {profile_model, GANG_ELIMIT, "profiles[1].model"},
    {profile_width_zero, GANG_ERANGE, "profiles[0].width"},
    {profile_width_large, GANG_ERANGE, "profiles[1].width"},
    {profile_no_start, GANG_EINVAL, "profiles[2].starts"},
    {profile_start_late, GANG_ERANGE, "profiles[1].starts"},
    {profile_end_late, GANG_ERANGE, "profiles[0].starts"},
    {profile_twice, GANG_EINVAL, "profiles[1].name"},
    {profile_twice_for_all, GANG_EINVAL, "profiles[2].name"},
    {profile_twice_for_all_first, GANG_EINVAL, "profiles[1].name"},

    {null_links, GANG_EINVAL, "links"},
    {too_many_links, GANG_ELIMIT, "links"},
    {link_size, GANG_EINVAL, "link_size"},
    {link_a_large, GANG_EINVAL, "links[0].a"},
    {link_a_negative, GANG_EINVAL, "links[0].a"},
    {link_b_large, GANG_EINVAL, "links[1].b"},
    {link_b_negative, GANG_EINVAL, "links[1].b"},
    {link_to_itself, GANG_EINVAL, "links[0].b"},
    {link_twice, GANG_EINVAL, "links[1]"},
    {link_twice_turned, GANG_EINVAL, "links[1]"},
    {link_kind_zero, GANG_EINVAL, "links[0].type"},
    {link_kind_large, GANG_EINVAL, "links[0].type"},
    {link_hops, GANG_ERANGE, "links[0].hops"},
    {link_bandwidth, GANG_ERANGE, "links[1].bandwidth_mbps"},

    {null_numas, GANG_EINVAL, "numas"},
    {too_many_numas, GANG_ELIMIT, "numas"},
    {numa_size, GANG_EINVAL, "numa_size"},
    {numa_os_index, GANG_ERANGE, "numas[1].os_index"},
    {numa_package, GANG_ERANGE, "numas[1].package"},
    {numa_memory, GANG_ERANGE, "numas[2].memory_bytes"},
    {numa_memory_large, GANG_ERANGE, "numas[2].memory_bytes"},

    {null_cores, GANG_EINVAL, "cores"},
    {too_many_cores, GANG_ELIMIT, "cores"},
    {core_size, GANG_EINVAL, "core_size"},
    {core_os_index, GANG_ERANGE, "cores[1].os_index"},
    {core_os_index_twice, GANG_EINVAL, "cores[2].os_index"},
    {core_numa, GANG_EINVAL, "cores[1].numa"},
    {core_threads, GANG_ERANGE, "cores[1].threads"},
    {core_reserved, GANG_EINVAL, "cores[1].reserved0"},
    {core_cpuset_empty, GANG_EINVAL, "cores[0].cpuset"},
    {core_cpuset_text, GANG_EINVAL, "cores[0].cpuset"},
    {core_cpuset_comma, GANG_EINVAL, "cores[0].cpuset"},
    {core_cpuset_range, GANG_EINVAL, "cores[0].cpuset"},
    {core_cpuset_two_ranges, GANG_EINVAL, "cores[0].cpuset"},
    {core_cpuset_large, GANG_EINVAL, "cores[0].cpuset"},
    {core_cpuset_long, GANG_ELIMIT, "cores[0].cpuset"},

    {null_nics, GANG_EINVAL, "nics"},
    {too_many_nics, GANG_ELIMIT, "nics"},
    {nic_size, GANG_EINVAL, "nic_size"},
    {nic_no_name, GANG_EINVAL, "nics[0].name"},
    {nic_empty_name, GANG_EINVAL, "nics[0].name"},
    {nic_pci, GANG_EINVAL, "nics[0].pci"},
    {nic_numa, GANG_EINVAL, "nics[0].numa"},
    {nic_reserved, GANG_EINVAL, "nics[0].reserved0"},

    {null_amounts, GANG_EINVAL, "amounts"},
    {too_many_amounts, GANG_ELIMIT, "amounts"},
    {amount_no_kind, GANG_EINVAL, "amounts[1].kind"},
    {amount_long_kind, GANG_ELIMIT, "amounts[1].kind"},
    {amount_built_in, GANG_EINVAL, "amounts[1].kind"},
    {amount_twice, GANG_EINVAL, "amounts[1].kind"},
    {amount_negative, GANG_ERANGE, "amounts[0].amount"},
    {amount_large, GANG_ERANGE, "amounts[0].amount"},

    {null_labels, GANG_EINVAL, "labels"},
    {too_many_labels, GANG_ELIMIT, "labels"},
    {label_no_key, GANG_EINVAL, "labels[1].key"},
    {label_empty_key, GANG_EINVAL, "labels[1].key"},
    {label_twice, GANG_EINVAL, "labels[1].key"},
    {label_no_value, GANG_EINVAL, "labels[0].value"},
    {label_control, GANG_EINVAL, "labels[0].value"},
    {label_long, GANG_ELIMIT, "labels[0].value"},

    {null_partitions, GANG_EINVAL, "partitions"},
    {too_many_partitions, GANG_ELIMIT, "partitions"},
    {partition_null, GANG_EINVAL, "partitions[1]"},
    {partition_empty, GANG_EINVAL, "partitions[0]"},
    {partition_twice, GANG_EINVAL, "partitions[1]"},

    {null_topology, GANG_EINVAL, "topology"},
    {too_many_levels, GANG_ELIMIT, "topology"},
    {level_no_name, GANG_EINVAL, "topology[0].key"},
    {level_twice, GANG_EINVAL, "topology[1].key"},
    {level_empty_value, GANG_EINVAL, "topology[1].value"},

    {near_unknown, GANG_EINVAL, "gpu_locality[5]"},
    {near_not_symmetric, GANG_EINVAL, "gpu_locality[2]"},
};
enum { REFUSALS = sizeof(refusals) / sizeof(refusals[0]) };

START_TEST(refuses_with_the_path)
{
    const struct refusal *r = &refusals[_i];
    struct full f;
    struct gang_error error;
    full_init(&f);
    r->change(&f);
    gang_result code = check(&f.spec, &error);
    ck_assert_msg(
        code == r->code && error.code == code && strcmp(error.path, r->path) == 0 && error.text[0],
        "refusal %d: %s at \"%s\": %s", _i, gang_result_name(code), error.path, error.text);
    ck_assert_int_eq(gang_node_spec_check(&f.spec, NULL), r->code);

    struct gang_node_spec *copy = &f.spec;
    ck_assert_int_eq(gang_node_spec_copy(&f.spec, &copy, NULL), r->code);
    ck_assert_ptr_null(copy);
}
END_TEST

START_TEST(element_sizes_of_empty_arrays_do_not_matter)
{
    struct gang_node_spec spec = {.size = sizeof(spec), .name = "n"};
    ck_assert_int_eq(gang_node_spec_check(&spec, NULL), GANG_OK);
}
END_TEST

/* A caller with structs longer than ours. */
struct new_spec {
    struct gang_node_spec old;
    int64_t more;
};
struct new_gpu {
    struct gang_gpu_spec old;
    const char *more;
};

START_TEST(accepts_a_longer_struct_with_a_zero_tail)
{
    struct full f;
    full_init(&f);
    struct new_spec spec = {f.spec, 0};
    spec.old.size = sizeof(spec);
    ck_assert_int_eq(gang_node_spec_check(&spec.old, NULL), GANG_OK);
}
END_TEST

START_TEST(refuses_a_longer_struct_that_uses_its_tail)
{
    struct full f;
    struct gang_error error;
    full_init(&f);
    struct new_spec spec = {f.spec, 1};
    spec.old.size = sizeof(spec);
    EXPECT_ERROR(check(&spec.old, &error), GANG_E2BIG, &error, "", NULL);
}
END_TEST

START_TEST(refuses_a_longer_element_that_uses_its_tail)
{
    struct new_gpu gpus[3] = {{{"A", NULL, NULL, 0, -1, 0, NULL, 0, 0}, NULL},
                              {{"B", NULL, NULL, 0, -1, 0, NULL, 0, 0}, NULL},
                              {{"C", NULL, NULL, 0, -1, 0, NULL, 0, 0}, "used"}};
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    struct gang_error error;
    spec.name = "n";
    spec.gpus = &gpus[0].old;
    spec.gpu_count = 3;
    spec.gpu_size = sizeof(gpus[0]);
    EXPECT_ERROR(check(&spec, &error), GANG_E2BIG, &error, "gpus[2]", NULL);
}
END_TEST

/* ---- text ---------------------------------------------------------------------------------- */

static const struct text {
    const char *text;
    gang_result code;
} texts[] = {
    {"a", GANG_OK},
    {" ", GANG_OK},
    {"\xc2\xa0", GANG_OK},
    {"\xdf\xbf", GANG_OK},
    {"\xe0\xa0\x80", GANG_OK},
    {"\xed\x9f\xbf", GANG_OK},
    {"\xf0\x90\x80\x80", GANG_OK},
    {"\xf4\x8f\xbf\xbf", GANG_OK},
    {"\x1f", GANG_EINVAL},
    {"\x7f", GANG_EINVAL},
    {"\xc2\x80", GANG_EINVAL},     /* a C1 control character */
    {"\x80", GANG_EINVAL},         /* a lone continuation */
    {"\xc1\x81", GANG_EINVAL},     /* overlong */
    {"\xe0\x9f\x80", GANG_EINVAL}, /* overlong */
    {"\xf0\x8f\x80\x80", GANG_EINVAL},
    {"\xed\xa0\x80", GANG_EINVAL},     /* a surrogate */
    {"\xf4\x90\x80\x80", GANG_EINVAL}, /* above U+10FFFF */
    {"\xf5\x80\x80\x80", GANG_EINVAL},
    {"\xe2\x82", GANG_EINVAL}, /* cut off */
    {"\xc3", GANG_EINVAL},
};
enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };

START_TEST(text_is_utf8_without_control_characters)
{
    ck_assert_msg(gang__text_check(texts[_i].text, false) == texts[_i].code, "text %d", _i);
}
END_TEST

START_TEST(text_is_limited_in_bytes)
{
    char text[GANG_MAX_NAME + 2] = "";
    for (int i = 0; i < GANG_MAX_NAME - 1; i += 2)
        strcat(text, "\xc3\xa9");
    strcat(text, "x");
    ck_assert_uint_eq(strlen(text), GANG_MAX_NAME);
    ck_assert_int_eq(gang__text_check(text, false), GANG_OK);
    strcat(text, "x");
    ck_assert_int_eq(gang__text_check(text, false), GANG_ELIMIT);
    memcpy(text + GANG_MAX_NAME - 1, "\xc3\xa9", 3); /* its last character crosses the limit */
    ck_assert_int_eq(gang__text_check(text, false), GANG_ELIMIT);
}
END_TEST

/* ---- copying ------------------------------------------------------------------------------- */

static void assert_text_copied(const char *copy, const char *from)
{
    ck_assert_int_eq(copy == NULL, from == NULL);
    if (from) {
        ck_assert_ptr_ne(copy, from);
        ck_assert_str_eq(copy, from);
    }
}

static void assert_devices_copied(const struct gang_node_spec *c, const struct full *f)
{
    ck_assert_uint_eq(c->gpu_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_text_copied(c->gpus[i].model, f->gpus[i].model);
        assert_text_copied(c->gpus[i].pci, f->gpus[i].pci);
        assert_text_copied(c->gpus[i].uuid, f->gpus[i].uuid);
        ck_assert_int_eq(c->gpus[i].memory_bytes, f->gpus[i].memory_bytes);
        ck_assert_int_eq(c->gpus[i].numa, f->gpus[i].numa);
        ck_assert_int_eq(c->gpus[i].state, f->gpus[i].state);
        ck_assert_int_eq(c->gpus[i].mig_index, f->gpus[i].mig_index);
        assert_text_copied(c->gpus[i].parent, f->gpus[i].parent);
    }
    ck_assert_uint_eq(c->link_count, 2);
    ck_assert_mem_eq(c->links, f->links, sizeof(f->links));
    ck_assert_uint_eq(c->numa_count, 3);
    ck_assert_mem_eq(c->numas, f->numas, sizeof(f->numas));
    ck_assert_uint_eq(c->core_count, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(c->cores[i].os_index, f->cores[i].os_index);
        ck_assert_int_eq(c->cores[i].numa, f->cores[i].numa);
        ck_assert_int_eq(c->cores[i].threads, f->cores[i].threads);
        assert_text_copied(c->cores[i].cpuset, f->cores[i].cpuset);
    }
    ck_assert_uint_eq(c->nic_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_text_copied(c->nics[i].name, f->nics[i].name);
        assert_text_copied(c->nics[i].pci, f->nics[i].pci);
        ck_assert_int_eq(c->nics[i].numa, f->nics[i].numa);
    }
    ck_assert_mem_eq(c->gpu_locality, f->near, sizeof(f->near));
    ck_assert_uint_eq(c->profile_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_text_copied(c->profiles[i].name, f->profiles[i].name);
        assert_text_copied(c->profiles[i].model, f->profiles[i].model);
        ck_assert_int_eq(c->profiles[i].width, f->profiles[i].width);
        ck_assert_uint_eq(c->profiles[i].starts, f->profiles[i].starts);
    }
}

static void assert_copied(const struct gang_node_spec *c, const struct full *f)
{
    assert_text_copied(c->name, f->spec.name);
    ck_assert_int_eq(c->cpu_milli, f->spec.cpu_milli);
    ck_assert_int_eq(c->memory_bytes, f->spec.memory_bytes);
    ck_assert_int_eq(c->state, f->spec.state);
    assert_devices_copied(c, f);
    ck_assert_uint_eq(c->amount_count, 2);
    ck_assert_uint_eq(c->label_count, 2);
    ck_assert_uint_eq(c->partition_count, 2);
    ck_assert_uint_eq(c->topology_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_text_copied(c->amounts[i].kind, f->amounts[i].kind);
        ck_assert_int_eq(c->amounts[i].amount, f->amounts[i].amount);
        assert_text_copied(c->labels[i].key, f->labels[i].key);
        assert_text_copied(c->labels[i].value, f->labels[i].value);
        assert_text_copied(c->partitions[i], f->partitions[i]);
        assert_text_copied(c->topology[i].key, f->topology[i].key);
        assert_text_copied(c->topology[i].value, f->topology[i].value);
    }
}

START_TEST(copy_is_deep_and_equal)
{
    struct full f;
    struct gang_node_spec *copy = NULL;
    full_init(&f);
    ck_assert_int_eq(gang_node_spec_copy(&f.spec, &copy, NULL), GANG_OK);
    assert_copied(copy, &f);
    ck_assert_int_eq(gang_node_spec_check(copy, NULL), GANG_OK);
    gang_node_spec_free(copy);
}
END_TEST

START_TEST(copy_of_a_copy_is_equal)
{
    struct full f;
    struct gang_node_spec *copy = NULL;
    struct gang_node_spec *again = NULL;
    full_init(&f);
    ck_assert_int_eq(gang_node_spec_copy(&f.spec, &copy, NULL), GANG_OK);
    ck_assert_int_eq(gang_node_spec_copy(copy, &again, NULL), GANG_OK);
    gang_node_spec_free(copy);
    assert_copied(again, &f);
    gang_node_spec_free(again);
}
END_TEST

START_TEST(copy_is_one_block_of_the_given_allocator)
{
    struct full f;
    struct fail_mem fail;
    struct gang_node_spec *copy = NULL;
    full_init(&f);
    fail_mem_init(&fail, 0);
    ck_assert_int_eq(gang__node_spec_copy_mem(&fail.mem, &f.spec, &copy, NULL), GANG_OK);
    ck_assert_int_eq(fail.calls, 1);
    assert_copied(copy, &f);
    gang__release(&fail.mem, copy);
    ck_assert_int_eq(fail.live, 0);
}
END_TEST

START_TEST(copy_without_memory_is_refused)
{
    struct full f;
    struct fail_mem fail;
    struct gang_error error = GANG_ERROR_INIT;
    full_init(&f);
    fail_mem_init(&fail, 1);
    struct gang_node_spec *copy = &f.spec;
    EXPECT_RESULT(gang__node_spec_copy_mem(&fail.mem, &f.spec, &copy, &error), GANG_ENOMEM, &error);
    ck_assert_ptr_null(copy);
    ck_assert_int_eq(fail.live, 0);
}
END_TEST

START_TEST(copy_has_the_sizes_of_the_library)
{
    struct new_gpu gpus[2] = {{{"A", "p", "u", 1, -1, 0, NULL, 0, 0}, NULL},
                              {{"B", "q", "v", 2, -1, 0, NULL, 0, 0}, NULL}};
    struct new_spec spec = {GANG_NODE_SPEC_INIT, 0};
    struct gang_node_spec *copy = NULL;
    spec.old.size = sizeof(spec);
    spec.old.name = "n";
    spec.old.gpus = &gpus[0].old;
    spec.old.gpu_count = 2;
    spec.old.gpu_size = sizeof(gpus[0]);
    spec.old.nic_size = 1; /* none of them */
    ck_assert_int_eq(gang_node_spec_copy(&spec.old, &copy, NULL), GANG_OK);
    ck_assert_uint_eq(copy->size, sizeof(struct gang_node_spec));
    ck_assert_uint_eq(copy->gpu_size, sizeof(struct gang_gpu_spec));
    ck_assert_uint_eq(copy->link_size, sizeof(struct gang_link_spec));
    ck_assert_uint_eq(copy->numa_size, sizeof(struct gang_numa_spec));
    ck_assert_uint_eq(copy->core_size, sizeof(struct gang_core_spec));
    ck_assert_uint_eq(copy->nic_size, sizeof(struct gang_nic_spec));
    ck_assert_uint_eq(copy->profile_size, sizeof(struct gang_profile_spec));
    ck_assert_str_eq(copy->gpus[0].model, "A");
    ck_assert_str_eq(copy->gpus[1].model, "B");
    ck_assert_int_eq(copy->gpus[1].memory_bytes, 2);
    gang_node_spec_free(copy);
}
END_TEST

START_TEST(elements_may_lie_at_any_address)
{
    char bytes[1 + 2 * (sizeof(struct gang_numa_spec) + 1)] = {0};
    struct gang_numa_spec numa[2] = {{3, 0, 5}, {4, 1, 6}};
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    struct gang_node_spec *copy = NULL;
    memcpy(bytes + 1, &numa[0], sizeof(numa[0]));
    memcpy(bytes + 1 + sizeof(numa[0]) + 1, &numa[1], sizeof(numa[1]));
    spec.name = "n";
    spec.numas = (const void *)(bytes + 1);
    spec.numa_count = 2;
    spec.numa_size = sizeof(numa[0]) + 1;
    ck_assert_int_eq(gang_node_spec_copy(&spec, &copy, NULL), GANG_OK);
    ck_assert_mem_eq(copy->numas, numa, sizeof(numa));
    gang_node_spec_free(copy);
}
END_TEST

START_TEST(copy_of_empty_arrays_has_null_pointers)
{
    struct full f;
    struct gang_node_spec *copy = NULL;
    full_init(&f);
    f.spec.gpu_count = f.spec.link_count = f.spec.numa_count = f.spec.core_count = 0;
    f.spec.nic_count = f.spec.amount_count = f.spec.label_count = 0;
    f.spec.partition_count = f.spec.topology_count = f.spec.profile_count = 0;
    ck_assert_int_eq(gang_node_spec_copy(&f.spec, &copy, NULL), GANG_OK);
    ck_assert_ptr_null(copy->gpus);
    ck_assert_ptr_null(copy->links);
    ck_assert_ptr_null(copy->numas);
    ck_assert_ptr_null(copy->cores);
    ck_assert_ptr_null(copy->nics);
    ck_assert_ptr_null(copy->profiles);
    ck_assert_ptr_null(copy->amounts);
    ck_assert_ptr_null(copy->labels);
    ck_assert_ptr_null(copy->partitions);
    ck_assert_ptr_null(copy->topology);
    ck_assert_ptr_null(copy->gpu_locality);
    gang_node_spec_free(copy);
}
END_TEST

START_TEST(copy_needs_a_place_to_go)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    spec.name = "n";
    ck_assert_int_eq(gang_node_spec_copy(&spec, NULL, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(copy_of_nothing_is_refused)
{
    struct gang_node_spec spec;
    struct gang_node_spec *copy = &spec;
    ck_assert_int_eq(gang_node_spec_copy(NULL, &copy, NULL), GANG_EINVAL);
    ck_assert_ptr_null(copy);
}
END_TEST

START_TEST(free_accepts_null)
{
    gang_node_spec_free(NULL);
}
END_TEST

/* ---- closeness ----------------------------------------------------------------------------- */

START_TEST(closeness_is_derived_from_links_and_numa_domains)
{
    struct gang_gpu_spec gpus[6] = {{.numa = 0}, {.numa = 0},  {.numa = 1},
                                    {.numa = 2}, {.numa = -1}, {.numa = -1}};
    struct gang_numa_spec numas[3] = {{0, 0, 1}, {1, 0, 1}, {2, 1, 1}};
    struct gang_link_spec links[1] = {{3, 0, GANG_LINK_OTHER, 0, 0}};
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    spec.name = "n";
    spec.gpus = gpus;
    spec.gpu_count = 6;
    spec.numas = numas;
    spec.numa_count = 3;
    spec.links = links;
    spec.link_count = 1;
    ck_assert_int_eq(gang_node_spec_check(&spec, NULL), GANG_OK);
    ck_assert_uint_eq(gang__gpu_locality(&spec, 0, 3), GANG_LOCALITY_LINK);
    ck_assert_uint_eq(gang__gpu_locality(&spec, 3, 0), GANG_LOCALITY_LINK);
    ck_assert_uint_eq(gang__gpu_locality(&spec, 0, 1), GANG_LOCALITY_NUMA);
    ck_assert_uint_eq(gang__gpu_locality(&spec, 1, 2), GANG_LOCALITY_PACKAGE);
    ck_assert_uint_eq(gang__gpu_locality(&spec, 2, 3), GANG_LOCALITY_SYSTEM);
    ck_assert_uint_eq(gang__gpu_locality(&spec, 4, 5), GANG_LOCALITY_SYSTEM);
    ck_assert_uint_eq(gang__gpu_locality(&spec, 5, 5), GANG_LOCALITY_LINK);
}
END_TEST

START_TEST(unknown_packages_are_not_the_same)
{
    struct gang_gpu_spec gpus[2] = {{.numa = 0}, {.numa = 1}};
    struct gang_numa_spec numas[2] = {{0, -1, 1}, {1, -1, 1}};
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    spec.gpus = gpus;
    spec.gpu_count = 2;
    spec.numas = numas;
    spec.numa_count = 2;
    ck_assert_uint_eq(gang__gpu_locality(&spec, 0, 1), GANG_LOCALITY_SYSTEM);
}
END_TEST

START_TEST(closeness_given_is_taken)
{
    struct full f;
    full_init(&f);
    ck_assert_uint_eq(gang__gpu_locality(&f.spec, 0, 3), GANG_LOCALITY_PACKAGE);
    ck_assert_uint_eq(gang__gpu_locality(&f.spec, 3, 2), GANG_LOCALITY_NUMA);
}
END_TEST

int main(void)
{
    TCase *c = tcase_create("node_spec");
    tcase_add_test(c, accepts_a_name_alone);
    tcase_add_test(c, accepts_everything_at_once);
    tcase_add_test(c, accepts_the_largest_numbers);
    tcase_add_test(c, refuses_no_specification);
    tcase_add_loop_test(c, refuses_with_the_path, 0, REFUSALS);
    tcase_add_test(c, element_sizes_of_empty_arrays_do_not_matter);
    tcase_add_test(c, accepts_a_longer_struct_with_a_zero_tail);
    tcase_add_test(c, refuses_a_longer_struct_that_uses_its_tail);
    tcase_add_test(c, refuses_a_longer_element_that_uses_its_tail);
    tcase_add_loop_test(c, text_is_utf8_without_control_characters, 0, TEXTS);
    tcase_add_test(c, text_is_limited_in_bytes);
    tcase_add_test(c, copy_is_deep_and_equal);
    tcase_add_test(c, copy_of_a_copy_is_equal);
    tcase_add_test(c, copy_is_one_block_of_the_given_allocator);
    tcase_add_test(c, copy_without_memory_is_refused);
    tcase_add_test(c, copy_has_the_sizes_of_the_library);
    tcase_add_test(c, elements_may_lie_at_any_address);
    tcase_add_test(c, copy_of_empty_arrays_has_null_pointers);
    tcase_add_test(c, copy_needs_a_place_to_go);
    tcase_add_test(c, copy_of_nothing_is_refused);
    tcase_add_test(c, free_accepts_null);
    tcase_add_test(c, closeness_is_derived_from_links_and_numa_domains);
    tcase_add_test(c, unknown_packages_are_not_the_same);
    tcase_add_test(c, closeness_given_is_taken);
    Suite *suite = suite_create("node_spec");
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
