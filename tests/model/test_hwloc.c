/* SPDX-License-Identifier: Apache-2.0 */
/* Node specifications from hwloc: nine real machines, compared with what a person counted and with
 * what hwloc's own programs print of the same files; synthetic machines; this one; the adapter. */
#include <gangsched/hwloc.h>

#include <check.h>
#include <ctype.h>
#include <string.h>

#include "machine_file.h"
#include "model/hwloc_scan.h"
#include "support.h"

/* ---- the machines ---------------------------------------------------------------------------- */

/* What an expert for the machine finds in the file. */
static const struct machine {
    const char *file;
    const char *name;
    int64_t host_memory_kib;
    int64_t bandwidth_mbps; /* of each link */
    size_t cores;
    size_t numas;
    size_t gpus;
    size_t links;
    size_t nics;
    int32_t threads; /* of each core */
    int32_t link_kind;
    const char *model; /* of the first GPU */
} machines[] = {
    /* Two EPYC 7402 with 24 cores, a NUMA domain each; eight MI50, four below each processor. They
     * are not joined by bridges (XGMIHiveID=0). The ASPEED VGA is the management controller's. */
    {"flux-core_corona.xml", "corona263", 263645540, 0, 48, 2, 8, 0, 3, 2, 0,
     "deon Instinct MI50 32GB"},
    /* Dell XE8640: two Xeon 8480+ with 56 cores in four NUMA domains each; four H100 SXM, each
     * reported as cuda, nvml and opencl. All pairs are joined by 6 NVLinks of 25 GB/s. The
     * co-processors of class 0b40 are QAT and IAA, the Matrox VGA is the iDRAC's. */
    {"flux-core_ipa20.xml", "testhost-nvidia", 4226842212, 150000, 112, 8, 4, 6, 6, 2,
     GANG_LINK_NVLINK, "NVIDIA H100 80GB HBM3"},
    /* Sierra: two POWER9 with 22 cores of 4 threads, 256 GiB; four V100, which the kernel shows as
     * NUMA domains 252..255 of 16128 MiB, too. Their memory is not the host's. hwloc 1.11 knew no
     * NVLink. "card4" is the screen of the management controller. */
    {"flux-core_sierra.xml", "sierra3682", 267870400, 0, 44, 6, 4, 0, 6, 4, 0,
     "Tesla V100-SXM2-16GB"},
    /* Tuolumne: four MI300A in CPX mode, six partitions of each, a device of its own for every
     * program. All are joined by Infinity Fabric in one hop. 96 cores, of 24 in each package. */
    {"flux-core_tuo.CPX.xml", "testhost-amd", 526355148, 100000, 96, 4, 24, 276, 5, 2,
     GANG_LINK_XGMI, "Aqua Vanjaram [Instinct MI300A]"},
    /* The same machine in SPX mode: one device for each package. */
    {"flux-core_tuo.SPX.xml", "testhost-amd", 526355172, 100000, 96, 4, 4, 6, 5, 2, GANG_LINK_XGMI,
     "Aqua Vanjaram [Instinct MI300A]"},
    /* A workstation: Threadripper 2990WX with 32 cores on four dies, two of them with memory; one
     * GTX 1070 and one Vega Frontier, which only OpenCL reports. */
    {"flux-sched_chimera.xml", "chimera", 131947660, 0, 32, 2, 2, 0, 3, 2, 0, "GeForce GTX 1070"},
    /* Lassen: as Sierra, but two cores of each processor are kept for the system. */
    {"flux-sched_lassen.xml", "lassen6", 267838848, 0, 40, 2, 4, 0, 6, 4, 0,
     "Tesla V100-SXM2-16GB"},
    /* POWER8 with P100: each pair below a processor is joined by 2 NVLinks of 20 GB/s, and each
     * GPU to its processor by 2 more, which join no GPUs. Eight cores with two threads are left
     * over. */
    {"hwloc2.9_power8gpudistances.xml", "drac-12.grenoble.grid5000.fr", 133796416, 40000, 8, 2, 4,
     2, 0, 2, GANG_LINK_NVLINK, "Tesla P100-SXM2-16GB"},
    /* DGX-2: sixteen V100, each with a link of 25 GB/s to each of the six NVSwitches of its board;
     * the boards are joined, so that all pairs have 150 GB/s. The file keeps four cores. */
    {"hwloc2.x_nvidiaDGX2.xml", "node", 1583957300, 150000, 4, 2, 16, 120, 0, 1, GANG_LINK_NVLINK,
     "Tesla V100-SXM3-32GB-H"},
};
enum { MACHINES = sizeof(machines) / sizeof(machines[0]) };

static const struct machine *machine_named(const char *part)
{
    for (int i = 0; i < MACHINES; i++)
        if (strstr(machines[i].file, part))
            return &machines[i];
    ck_abort_msg("no machine %s", part);
    return NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct gang_node_spec *load(int32_t kind, const char *source, const char *name)
{
    struct gang_node_spec *spec = NULL;
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_node_spec_from_hwloc_source(kind, source, name, &spec, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s: %s", source, gang_result_name(r), error.text);
    EXPECT_RESULT(gang_node_spec_check(spec, &error), GANG_OK, &error);
    return spec;
}

static struct gang_node_spec *load_machine(const char *part)
{
    char path[64];
    if (!machine_unpack(machine_named(part)->file, path))
        return NULL;
    struct gang_node_spec *spec = load(GANG_HWLOC_XML_FILE, path, NULL);
    unlink(path);
    return spec;
}

/* Index of the link of a pair; -1: none. */
static int link_of(const struct gang_node_spec *spec, int a, int b)
{
    for (size_t i = 0; i < spec->link_count; i++)
        if ((spec->links[i].a == a && spec->links[i].b == b) ||
            (spec->links[i].a == b && spec->links[i].b == a))
            return (int)i;
    return -1;
}

/* ---- as a person counts ---------------------------------------------------------------------- */

START_TEST(machine_agrees_with_the_expert)
{
    const struct machine *m = &machines[_i];
    struct gang_node_spec *spec = load_machine(m->file);
    if (!spec)
        return;
    ck_assert_str_eq(spec->name, m->name);
    ck_assert_uint_eq(spec->core_count, m->cores);
    ck_assert_int_eq(spec->cpu_milli, 1000 * (int64_t)m->cores);
    ck_assert_uint_eq(spec->numa_count, m->numas);
    ck_assert_int_eq(spec->memory_bytes, m->host_memory_kib * 1024);
    ck_assert_uint_eq(spec->gpu_count, m->gpus);
    ck_assert_str_eq(spec->gpus[0].model, m->model);
    ck_assert_uint_eq(spec->link_count, m->links);
    ck_assert_uint_eq(spec->nic_count, m->nics);
    for (size_t i = 0; i < spec->core_count; i++)
        ck_assert_int_eq(spec->cores[i].threads, m->threads);
    for (size_t i = 0; i < spec->link_count; i++) {
        ck_assert_int_eq(spec->links[i].type, m->link_kind);
        ck_assert_int_eq(spec->links[i].bandwidth_mbps, m->bandwidth_mbps);
    }
    for (size_t i = 0; i < spec->gpu_count; i++)
        ck_assert_ptr_nonnull(spec->gpus[i].pci);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(gpus_are_in_the_order_of_their_addresses)
{
    struct gang_node_spec *spec = load_machine(machines[_i].file);
    if (!spec)
        return;
    for (size_t i = 1; i < spec->gpu_count; i++)
        ck_assert_int_le(strcmp(spec->gpus[i - 1].pci, spec->gpus[i].pci), 0);
    for (size_t i = 1; i < spec->nic_count; i++)
        ck_assert_int_lt(strcmp(spec->nics[i - 1].pci, spec->nics[i].pci), 0);
    gang_node_spec_free(spec);
}
END_TEST

static void assert_near(const struct gang_node_spec *spec, size_t i, size_t j, uint8_t near)
{
    ck_assert_ptr_nonnull(spec->gpu_locality);
    ck_assert_uint_eq(spec->gpu_locality[i * spec->gpu_count + j], near);
    ck_assert_uint_eq(spec->gpu_locality[j * spec->gpu_count + i], near);
}

START_TEST(memory_of_gpus_is_not_memory_of_the_host)
{
    struct gang_node_spec *spec = load_machine("sierra");
    if (!spec)
        return;
    ck_assert_int_eq(spec->gpus[0].memory_bytes, INT64_C(16515072) * 1024);
    for (int i = 2; i < 6; i++) {
        ck_assert_int_eq(spec->numas[i].os_index, 250 + i);
        ck_assert_int_eq(spec->numas[i].package, -1);
        ck_assert_int_eq(spec->numas[i].memory_bytes, spec->gpus[0].memory_bytes);
    }
    ck_assert_int_eq(spec->memory_bytes, spec->numas[0].memory_bytes + spec->numas[1].memory_bytes);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(gpus_below_one_switch_are_near)
{
    struct gang_node_spec *spec = load_machine("lassen");
    if (!spec)
        return;
    assert_near(spec, 0, 1, GANG_LOCALITY_PCI);
    assert_near(spec, 2, 3, GANG_LOCALITY_PCI);
    assert_near(spec, 0, 2, GANG_LOCALITY_SYSTEM);
    assert_near(spec, 1, 3, GANG_LOCALITY_SYSTEM);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(gpus_below_one_processor_are_in_its_numa_domain)
{
    struct gang_node_spec *spec = load_machine("corona");
    if (!spec)
        return;
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(spec->gpus[i].numa, i < 4 ? 0 : 1);
        for (size_t j = 0; j < i; j++)
            assert_near(spec, i, j, i / 4 == j / 4 ? GANG_LOCALITY_NUMA : GANG_LOCALITY_SYSTEM);
    }
    ck_assert_str_eq(spec->gpus[0].uuid, "9aa0304172df8896");
    ck_assert_int_eq(spec->gpus[0].memory_bytes, INT64_C(33538048) * 1024);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(gpus_of_sub_numa_domains_keep_theirs)
{
    struct gang_node_spec *spec = load_machine("ipa20");
    if (!spec)
        return;
    const int numa[4] = {3, 1, 7, 5};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(spec->gpus[i].numa, numa[i]);
        ck_assert_int_eq(spec->numas[numa[i]].package, i < 2 ? 0 : 1);
        ck_assert_ptr_null(spec->gpus[i].uuid); /* all zeros in the file */
        ck_assert_int_eq(spec->gpus[i].memory_bytes, INT64_C(83026944) * 1024);
        for (size_t j = 0; j < i; j++)
            assert_near(spec, i, j, GANG_LOCALITY_LINK);
    }
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(partitions_are_devices_of_one_address)
{
    struct gang_node_spec *spec = load_machine("CPX");
    if (!spec)
        return;
    for (size_t i = 0; i < 24; i++) {
        ck_assert_str_eq(spec->gpus[i].pci, spec->gpus[i / 6 * 6].pci);
        ck_assert_str_eq(spec->gpus[i].model, "Aqua Vanjaram [Instinct MI300A]");
        ck_assert_int_eq(spec->gpus[i].numa, (int32_t)(i / 6));
        ck_assert_ptr_null(spec->gpus[i].uuid);
    }
    for (size_t i = 0; i < spec->link_count; i++)
        ck_assert_int_eq(spec->links[i].hops, 1);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(links_to_processors_join_no_gpus)
{
    struct gang_node_spec *spec = load_machine("power8");
    if (!spec)
        return;
    ck_assert_int_ge(link_of(spec, 0, 1), 0);
    ck_assert_int_ge(link_of(spec, 2, 3), 0);
    assert_near(spec, 0, 1, GANG_LOCALITY_LINK);
    assert_near(spec, 0, 2, GANG_LOCALITY_SYSTEM);
    for (size_t i = 0; i < spec->link_count; i++)
        ck_assert_int_eq(spec->links[i].hops, 1);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(switches_join_gpus)
{
    struct gang_node_spec *spec = load_machine("DGX2");
    if (!spec)
        return;
    for (int a = 0; a < 16; a++) {
        for (int b = a + 1; b < 16; b++) {
            int link = link_of(spec, a, b);
            ck_assert_int_ge(link, 0);
            /* Over a switch of their board, or over one of each board. */
            ck_assert_int_eq(spec->links[link].hops, a / 8 == b / 8 ? 2 : 3);
        }
    }
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(gpus_of_two_vendors_and_dies_without_memory)
{
    struct gang_node_spec *spec = load_machine("chimera");
    if (!spec)
        return;
    ck_assert_str_eq(spec->gpus[1].model, "Vega 10 XTX [Radeon Vega Frontier Edition]");
    ck_assert_str_eq(spec->gpus[0].uuid, "GPU-4568d7d2-6f64-5ae3-e3c9-a95f595c6082");
    ck_assert_int_eq(spec->numas[1].os_index, 2);
    assert_near(spec, 0, 1, GANG_LOCALITY_PACKAGE);
    for (size_t i = 0; i < 32; i++)
        ck_assert_int_eq(spec->cores[i].numa, i < 8 ? 0 : i < 16 ? 1 : -1);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(cores_have_their_threads)
{
    struct gang_node_spec *spec = load_machine("corona");
    if (!spec)
        return;
    for (int i = 0; i < 48; i++) {
        char list[32];
        snprintf(list, sizeof(list), "%d,%d", i, i + 48);
        ck_assert_int_eq(spec->cores[i].os_index, i);
        ck_assert_str_eq(spec->cores[i].cpuset, list);
        ck_assert_int_eq(spec->cores[i].numa, i / 24);
    }
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(cards_have_the_names_of_verbs)
{
    struct gang_node_spec *spec = load_machine("ipa20");
    if (!spec)
        return;
    const char *names[6] = {"eno8303", "eno8403", "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"};
    for (size_t i = 0; i < 6; i++)
        ck_assert_str_eq(spec->nics[i].name, names[i]);
    ck_assert_str_eq(spec->nics[2].pci, "0000:4d:00.0");
    ck_assert_int_eq(spec->nics[2].numa, 3);
    gang_node_spec_free(spec);
}
END_TEST

/* ---- as hwloc's programs count --------------------------------------------------------------- */

/* Is a program there? Says so once if it is not. */
static bool have(const char *program)
{
    char command[128];
    snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program);
    if (system(command) == 0)
        return true;
    printf("skipped: %s is not installed\n", program);
    return false;
}

static long number_of(const char *type, const char *input)
{
    char command[256];
    long n = -1;
    snprintf(command, sizeof(command), "hwloc-calc %s %s --number-of %s all 2>/dev/null",
             input ? "--input" : "", input ? input : "", type);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    ck_assert_int_eq(fscanf(pipe, "%ld", &n), 1);
    pclose(pipe);
    return n;
}

/* An OS device that some back end reports as a GPU, from the text of lstopo. */
struct seen {
    char name[32];
    char family[32]; /* the name without its number */
    char pci[32];
};

struct lstopo {
    size_t cores;
    size_t numas;
    size_t count;
    struct seen seen[128];
};

/* Copy what follows `key` in `line`, up to one of `end`; false if it is not there. */
static bool field(char *to, size_t size, const char *line, const char *key, const char *end)
{
    const char *at = strstr(line, key);
    if (!at)
        return false;
    at += strlen(key);
    size_t length = strcspn(at, end);
    if (length >= size)
        return false;
    memcpy(to, at, length);
    to[length] = '\0';
    return true;
}

static bool starts(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

static void lstopo_device(struct lstopo *l, const char *line, const char *pci)
{
    struct seen *s = &l->seen[l->count];
    const char *quote = strrchr(line, '"');
    if (!quote)
        return;
    const char *name = quote;
    while (name > line && name[-1] != '"')
        name--;
    snprintf(s->name, sizeof(s->name), "%.*s", (int)(quote - name), name);
    strcpy(s->family, s->name);
    for (size_t n = strlen(s->family); n > 0 && isdigit((unsigned char)s->family[n - 1]); n--)
        s->family[n - 1] = '\0';
    if (strstr(line, "OpenCLDeviceType=") && !strstr(line, "OpenCLDeviceType=GPU"))
        return;
    if (strcmp(s->family, "cuda") != 0 && strcmp(s->family, "nvml") != 0 &&
        strcmp(s->family, "rsmi") != 0 && !starts(s->family, "opencl"))
        return; /* a screen */
    strcpy(s->pci, pci);
    l->count++;
    ck_assert_uint_lt(l->count, 128);
}

static void lstopo_read(struct lstopo *l, const char *path)
{
    static char line[65536];
    char command[256];
    char pci[32] = "";
    *l = (struct lstopo){0};
    snprintf(command, sizeof(command),
             "lstopo-no-graphics --input %s --of console -v --filter io:important 2>/dev/null",
             path);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    bool tree = true;
    while (fgets(line, sizeof(line), pipe)) {
        const char *at = line + strspn(line, " ");
        if (starts(at, "depth 0:"))
            tree = false;
        if (!tree)
            continue;
        if (starts(at, "Core "))
            l->cores++;
        else if (starts(at, "NUMANode"))
            l->numas++;
        else if (starts(at, "PCI ") || starts(at, "PCI("))
            ck_assert(field(pci, sizeof(pci), at, "busid=", " )"));
        else if (starts(at, "GPU") || starts(at, "Co-Processor"))
            lstopo_device(l, at, pci);
    }
    ck_assert_int_eq(pclose(pipe), 0);
}

/* Each back end counts a device once, so of a PCI device the largest count is right. */
static size_t lstopo_gpus(const struct lstopo *l)
{
    size_t gpus = 0;
    for (size_t i = 0; i < l->count; i++) {
        size_t most = 0;
        bool first = true;
        for (size_t j = 0; j < l->count; j++) {
            if (strcmp(l->seen[j].pci, l->seen[i].pci) != 0)
                continue;
            first = first && j >= i;
            size_t same = 0;
            for (size_t k = 0; k < l->count; k++)
                same += strcmp(l->seen[k].pci, l->seen[j].pci) == 0 &&
                        strcmp(l->seen[k].family, l->seen[j].family) == 0;
            most = same > most ? same : most;
        }
        gpus += first ? most : 0;
    }
    return gpus;
}

/* Index of the GPU that lstopo calls by the name of an OS device; -1: none. */
static int index_of(const struct gang_node_spec *spec, const struct lstopo *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++) {
        if (strcmp(l->seen[i].name, name) != 0)
            continue;
        size_t before = 0; /* partitions of the same device */
        for (size_t j = 0; j < i; j++)
            before += strcmp(l->seen[j].pci, l->seen[i].pci) == 0 &&
                      strcmp(l->seen[j].family, l->seen[i].family) == 0;
        for (size_t g = 0; g < spec->gpu_count; g++)
            if (strcmp(spec->gpus[g].pci, l->seen[i].pci) == 0 && before-- == 0)
                return (int)g;
    }
    return -1;
}

enum { COLUMNS = 64 };

/* A matrix as lstopo prints it. */
struct matrix {
    size_t count;
    char name[COLUMNS][32];
    long value[COLUMNS][COLUMNS];
};

/* Read the matrix of a name, changed by lstopo's `transform` if that is not NULL. */
static bool matrix_read(struct matrix *m, const char *path, const char *name, const char *transform)
{
    static char line[65536];
    char command[256];
    char title[64];
    bool found = false;
    snprintf(title, sizeof(title), "(name %s ", name);
    snprintf(command, sizeof(command),
             "lstopo-no-graphics --input %s --distances %s %s 2>/dev/null", path,
             transform ? "--distances-transform" : "", transform ? transform : "");
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t row = 0;
    m->count = 0;
    while (fgets(line, sizeof(line), pipe)) {
        if (strstr(line, "matrix (name")) {
            found = strstr(line, title) != NULL;
            continue;
        }
        char *save = NULL;
        char *word = found ? strtok_r(line, " \n", &save) : NULL;
        if (!word)
            continue;
        if (strcmp(word, "index") == 0) {
            while (m->count < COLUMNS && (word = strtok_r(NULL, " \n", &save)))
                snprintf(m->name[m->count++], sizeof(m->name[0]), "%s", word);
            continue;
        }
        for (size_t i = 0; row < m->count && i < m->count; i++) {
            ck_assert_ptr_nonnull(word = strtok_r(NULL, " \n", &save));
            m->value[row][i] = strtol(word, NULL, 10);
        }
        row++;
    }
    pclose(pipe);
    return m->count > 0;
}

static bool has_switches(const struct matrix *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (isdigit((unsigned char)m->name[i][0]))
            return true; /* a PCI address */
    return false;
}

/* Every pair of a matrix is linked with its bandwidth, or not linked. Returns the linked pairs. */
static size_t compare_links(const struct gang_node_spec *spec, const struct lstopo *l,
                            const struct matrix *m)
{
    size_t linked = 0;
    for (size_t i = 0; i < m->count; i++) {
        for (size_t j = i + 1; j < m->count; j++) {
            int a = index_of(spec, l, m->name[i]);
            int b = index_of(spec, l, m->name[j]);
            if (a < 0 || b < 0)
                continue;
            int link = link_of(spec, a, b);
            ck_assert_msg((link >= 0) == (m->value[i][j] > 0), "%s and %s: %ld", m->name[i],
                          m->name[j], m->value[i][j]);
            if (link >= 0)
                ck_assert_int_eq(spec->links[link].bandwidth_mbps, m->value[i][j]);
            linked += link >= 0;
        }
    }
    return linked;
}

START_TEST(machine_agrees_with_lstopo)
{
    static struct lstopo l;
    static struct matrix m;
    char path[64];
    if (!have("lstopo-no-graphics") || !have("hwloc-calc") ||
        !machine_unpack(machines[_i].file, path))
        return;
    struct gang_node_spec *spec = load(GANG_HWLOC_XML_FILE, path, NULL);
    lstopo_read(&l, path);
    ck_assert_uint_eq(spec->core_count, l.cores);
    ck_assert_uint_eq(spec->numa_count, l.numas);
    ck_assert_uint_eq(spec->gpu_count, lstopo_gpus(&l));

    size_t linked = 0;
    const char *names[2] = {"NVLinkBandwidth", "XGMIBandwidth"};
    for (int i = 0; i < 2; i++) {
        if (!matrix_read(&m, path, names[i], NULL))
            continue;
        if (has_switches(&m))
            ck_assert(matrix_read(&m, path, names[i], "transitive-closure"));
        linked += compare_links(spec, &l, &m);
    }
    ck_assert_uint_eq(spec->link_count, linked);

    /* hwloc-calc counts only the domains that have processors. */
    ck_assert_int_eq((long)spec->core_count, number_of("core", path));
    long with_cores = 0;
    for (size_t n = 0; n < spec->numa_count; n++) {
        bool used = false;
        for (size_t c = 0; c < spec->core_count; c++)
            used = used || spec->cores[c].numa == (int32_t)n;
        with_cores += used;
    }
    ck_assert_int_eq(with_cores, number_of("numanode", path));
    gang_node_spec_free(spec);
    unlink(path);
}
END_TEST

/* ---- synthetic machines ---------------------------------------------------------------------- */

START_TEST(synthetic_machine_has_what_it_says)
{
    struct gang_node_spec *spec = load(GANG_HWLOC_SYNTHETIC, "pack:2 numa:1 core:8 pu:2", NULL);
    ck_assert_str_eq(spec->name, "node");
    ck_assert_uint_eq(spec->core_count, 16);
    ck_assert_int_eq(spec->cpu_milli, 16000);
    ck_assert_uint_eq(spec->numa_count, 2);
    ck_assert_int_eq(spec->numas[1].package, 1);
    ck_assert_int_eq(spec->cores[8].numa, 1);
    ck_assert_int_eq(spec->cores[8].os_index, 16);
    ck_assert_str_eq(spec->cores[8].cpuset, "16-17");
    ck_assert_uint_eq(spec->gpu_count, 0);
    ck_assert_uint_eq(spec->nic_count, 0);
    ck_assert_int_eq(spec->state, GANG_NODE_UP);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(synthetic_memory_is_summed)
{
    struct gang_node_spec *spec =
        load(GANG_HWLOC_SYNTHETIC, "numa:3(memory=1073741824) core:2 pu:1", NULL);
    ck_assert_int_eq(spec->memory_bytes, INT64_C(3) << 30);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(processors_without_cores_are_cores)
{
    struct gang_node_spec *spec = load(GANG_HWLOC_SYNTHETIC, "numa:2 pu:4", NULL);
    ck_assert_uint_eq(spec->core_count, 8);
    ck_assert_int_eq(spec->cores[7].threads, 1);
    ck_assert_str_eq(spec->cores[7].cpuset, "7");
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(cores_take_the_first_of_two_memories)
{
    struct gang_node_spec *spec =
        load(GANG_HWLOC_SYNTHETIC, "pack:2 [numa] [numa] core:2 pu:1", NULL);
    ck_assert_uint_eq(spec->numa_count, 4);
    ck_assert_int_eq(spec->cores[1].numa, 0);
    ck_assert_int_eq(spec->cores[2].numa, 2);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(cores_take_the_innermost_memory)
{
    struct gang_node_spec *spec =
        load(GANG_HWLOC_SYNTHETIC, "[numa] pack:2 [numa] core:2 pu:1", NULL);
    ck_assert_uint_eq(spec->numa_count, 3);
    for (int i = 0; i < 4; i++) {
        int32_t numa = spec->cores[i].numa;
        ck_assert_int_ge(numa, 0);
        ck_assert_int_eq(spec->numas[numa].package, i / 2);
    }
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(largest_machine_is_read)
{
    struct gang_node_spec *spec = load(GANG_HWLOC_SYNTHETIC, "pack:16 numa:16 core:4 pu:4", NULL);
    ck_assert_uint_eq(spec->core_count, GANG_MAX_CORES);
    ck_assert_uint_eq(spec->numa_count, GANG_MAX_NUMAS);
    gang_node_spec_free(spec);
}
END_TEST

static const struct bad_synthetic {
    const char *text;
    gang_result code;
} bad_synthetic[] = {
    {"", GANG_EPARSE},
    {"no machine", GANG_EPARSE},
    {"pack:2", GANG_EPARSE},
    {"pack:0 core:1 pu:1", GANG_EPARSE},
    {"pu:2 core:2", GANG_EPARSE},
    {"core:-1 pu:2", GANG_EPARSE},
    {"pack:2 (", GANG_EPARSE},
    {"[", GANG_EPARSE},
    {"numa:1 core:1025 pu:1", GANG_ELIMIT}, /* cores */
    {"numa:257 core:1 pu:1", GANG_ELIMIT},  /* NUMA domains */
    {"numa:1 core:1 pu:100", GANG_OK},      /* one core of many threads */
    {"pack:2 core:99999999 pu:2", GANG_ELIMIT},
    {"pu:1000000000", GANG_ELIMIT}, /* hwloc would not come back */
    {"pack:10 numa:10 core:10 pu:99999999999999999999", GANG_ELIMIT},
    {"numa:1(memory=9999999999999999999) pu:1", GANG_ELIMIT},
};
enum { BAD_SYNTHETIC = sizeof(bad_synthetic) / sizeof(bad_synthetic[0]) };

START_TEST(synthetic_text_is_checked)
{
    const struct bad_synthetic *b = &bad_synthetic[_i];
    struct gang_node_spec place;
    struct gang_node_spec *spec = &place;
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r =
        gang_node_spec_from_hwloc_source(GANG_HWLOC_SYNTHETIC, b->text, NULL, &spec, &error);
    ck_assert_msg(r == b->code, "\"%s\": %s: %s", b->text, gang_result_name(r), error.text);
    if (r != GANG_OK) {
        ck_assert_ptr_null(spec);
        ck_assert_int_eq(error.code, r);
    }
    gang_node_spec_free(spec);
}
END_TEST

/* ---- this machine ---------------------------------------------------------------------------- */

START_TEST(this_machine_agrees_with_hwloc_calc)
{
    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, "vgpreload")) {
        printf("skipped: hwloc cannot look at a machine under valgrind\n");
        return;
    }
    struct gang_node_spec *spec = load(GANG_HWLOC_THIS, NULL, NULL);
    char host[256] = "";
    ck_assert_int_eq(gethostname(host, sizeof(host) - 1), 0);
    if (host[0])
        ck_assert_str_eq(spec->name, host);
    ck_assert_uint_ge(spec->core_count, 1);
    ck_assert_uint_ge(spec->numa_count, 1);
    ck_assert_int_gt(spec->memory_bytes, 0);
    if (have("hwloc-calc")) {
        long cores = number_of("core", NULL);
        ck_assert_int_eq((long)spec->core_count, cores ? cores : number_of("pu", NULL));
    }
    gang_node_spec_free(spec);
}
END_TEST

/* ---- names ----------------------------------------------------------------------------------- */

START_TEST(name_given_is_taken)
{
    struct gang_node_spec *spec = load(GANG_HWLOC_SYNTHETIC, "numa:1 pu:1", "my node");
    ck_assert_str_eq(spec->name, "my node");
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(bad_name_is_refused)
{
    char long_name[GANG_MAX_NAME + 2];
    memset(long_name, 'x', GANG_MAX_NAME + 1);
    long_name[GANG_MAX_NAME + 1] = '\0';
    const char *names[3] = {"", "a\nb", long_name};
    for (int i = 0; i < 3; i++) {
        struct gang_node_spec *spec = NULL;
        struct gang_error error = GANG_ERROR_INIT;
        EXPECT_ERROR(gang_node_spec_from_hwloc_source(GANG_HWLOC_SYNTHETIC, "numa:1 pu:1", names[i],
                                                      &spec, &error),
                     i < 2 ? GANG_EINVAL : GANG_ELIMIT, &error, "name", NULL);
        ck_assert_ptr_null(spec);
    }
}
END_TEST

/* ---- arguments ------------------------------------------------------------------------------- */

START_TEST(arguments_are_checked)
{
    struct gang_node_spec place;
    struct gang_node_spec *spec = &place;
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_ERROR(gang_node_spec_from_hwloc_source(3, "numa:1 pu:1", NULL, &spec, &error),
                 GANG_EINVAL, &error, "kind", NULL);
    ck_assert_ptr_null(spec);
    ck_assert_int_eq(gang_node_spec_from_hwloc_source(-1, "numa:1 pu:1", NULL, &spec, NULL),
                     GANG_EINVAL);
    spec = &place;
    EXPECT_ERROR(gang_node_spec_from_hwloc_source(GANG_HWLOC_XML_FILE, NULL, NULL, &spec, &error),
                 GANG_EINVAL, &error, "source", NULL);
    ck_assert_ptr_null(spec);
    ck_assert_int_eq(
        gang_node_spec_from_hwloc_source(GANG_HWLOC_SYNTHETIC, NULL, NULL, &spec, NULL),
        GANG_EINVAL);
    EXPECT_RESULT(
        gang_node_spec_from_hwloc_source(GANG_HWLOC_SYNTHETIC, "numa:1 pu:1", NULL, NULL, &error),
        GANG_EINVAL, &error);
}
END_TEST

START_TEST(every_failing_allocation_is_survived)
{
    char path[64];
    bool file = machine_unpack(machine_named("CPX")->file, path);
    for (int32_t kind = file ? GANG_HWLOC_XML_FILE : GANG_HWLOC_SYNTHETIC;
         kind <= GANG_HWLOC_SYNTHETIC; kind++) {
        const char *source = kind == GANG_HWLOC_XML_FILE ? path : "pack:2 numa:1 core:2 pu:1";
        gang_result r = GANG_ENOMEM;
        for (long n = 1; r != GANG_OK; n++) {
            struct gang_node_spec *spec = NULL;
            struct gang_error error = GANG_ERROR_INIT;
            struct fail_mem fail;
            fail_mem_init(&fail, n);
            r = gang__hwloc_describe_source(&fail.mem, kind, source, NULL, &spec, &error);
            ck_assert(r == GANG_OK || (r == GANG_ENOMEM && error.code == r && !spec));
            ck_assert_int_eq(r == GANG_OK, fail.calls < n);
            gang__release(&fail.mem, spec);
            ck_assert_int_eq(fail.live, 0);
        }
    }
    if (file)
        unlink(path);
}
END_TEST

/* ---- the adapter ----------------------------------------------------------------------------- */

static hwloc_topology_t synthetic(const char *text)
{
    hwloc_topology_t topology;
    ck_assert_int_eq(hwloc_topology_init(&topology), 0);
    ck_assert_int_eq(hwloc_topology_set_synthetic(topology, text), 0);
    ck_assert_int_eq(hwloc_topology_load(topology), 0);
    return topology;
}

START_TEST(adapter_describes_a_loaded_topology)
{
    hwloc_topology_t topology = synthetic("pack:2 numa:1 l3:1 core:2 pu:2");
    struct gang_node_spec *spec = NULL;
    ck_assert_int_eq(gang_node_spec_from_hwloc(topology, "n1", &spec, NULL), GANG_OK);
    hwloc_topology_destroy(topology); /* nothing of it is kept */
    ck_assert_str_eq(spec->name, "n1");
    ck_assert_uint_eq(spec->core_count, 4);
    ck_assert_str_eq(spec->cores[3].cpuset, "6-7");
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(adapter_sees_devices_only_if_they_were_loaded)
{
    char path[64];
    if (!machine_unpack(machine_named("ipa20")->file, path))
        return;
    for (int io = 0; io < 2; io++) {
        hwloc_topology_t topology;
        struct gang_node_spec *spec = NULL;
        ck_assert_int_eq(hwloc_topology_init(&topology), 0);
        ck_assert_int_eq(hwloc_topology_set_xml(topology, path), 0);
        if (io)
            hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
        ck_assert_int_eq(hwloc_topology_load(topology), 0);
        ck_assert_int_eq(gang_node_spec_from_hwloc(topology, NULL, &spec, NULL), GANG_OK);
        ck_assert_uint_eq(spec->gpu_count, io ? 4 : 0);
        ck_assert_uint_eq(spec->link_count, io ? 6 : 0);
        ck_assert_uint_eq(spec->nic_count, io ? 6 : 0);
        ck_assert_uint_eq(spec->core_count, 112);
        gang_node_spec_free(spec);
        hwloc_topology_destroy(topology);
    }
    unlink(path);
}
END_TEST

START_TEST(adapter_leaves_out_what_may_not_be_used)
{
    hwloc_topology_t topology;
    struct gang_node_spec *spec = NULL;
    ck_assert_int_eq(hwloc_topology_init(&topology), 0);
    ck_assert_int_eq(hwloc_topology_set_synthetic(topology, "numa:4 core:2 pu:2"), 0);
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    ck_assert_int_eq(hwloc_topology_load(topology), 0);
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
    hwloc_bitmap_set(cpus, 3);
    hwloc_bitmap_set_range(cpus, 8, 11);
    hwloc_bitmap_set_range(nodes, 1, 2);
    ck_assert_int_eq(hwloc_topology_allow(topology, cpus, nodes, HWLOC_ALLOW_FLAG_CUSTOM), 0);
    ck_assert_int_eq(gang_node_spec_from_hwloc(topology, NULL, &spec, NULL), GANG_OK);
    ck_assert_uint_eq(spec->numa_count, 2);
    ck_assert_int_eq(spec->numas[0].os_index, 1);
    ck_assert_uint_eq(spec->core_count, 3);
    ck_assert_str_eq(spec->cores[0].cpuset, "3");
    ck_assert_int_eq(spec->cores[0].threads, 1);
    ck_assert_int_eq(spec->cores[0].numa, -1); /* its domain is not allowed */
    ck_assert_str_eq(spec->cores[2].cpuset, "10-11");
    ck_assert_int_eq(spec->cores[2].numa, 1);
    gang_node_spec_free(spec);
    hwloc_bitmap_free(cpus);
    hwloc_bitmap_free(nodes);
    hwloc_topology_destroy(topology);
}
END_TEST

START_TEST(adapter_refuses_null_and_unloaded)
{
    struct gang_node_spec place;
    struct gang_node_spec *spec = &place;
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(gang_node_spec_from_hwloc(NULL, "n", &spec, &error), GANG_EINVAL, &error);
    ck_assert_ptr_null(spec);
    hwloc_topology_t topology;
    ck_assert_int_eq(hwloc_topology_init(&topology), 0);
    spec = &place;
    ck_assert_int_eq(gang_node_spec_from_hwloc(topology, "n", &spec, NULL), GANG_EINVAL);
    ck_assert_ptr_null(spec);
    hwloc_topology_destroy(topology);
    topology = synthetic("numa:1 pu:1");
    ck_assert_int_eq(gang_node_spec_from_hwloc(topology, "n", NULL, NULL), GANG_EINVAL);
    spec = &place;
    EXPECT_ERROR(gang_node_spec_from_hwloc(topology, "", &spec, &error), GANG_EINVAL, &error,
                 "name", NULL);
    ck_assert_ptr_null(spec);
    hwloc_topology_destroy(topology);
}
END_TEST

START_TEST(adapter_refuses_more_cores_than_fit)
{
    hwloc_topology_t topology = synthetic("numa:1 core:1025 pu:1");
    struct gang_node_spec *spec = NULL;
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_ERROR(gang_node_spec_from_hwloc(topology, NULL, &spec, &error), GANG_ELIMIT, &error,
                 "cores", NULL);
    ck_assert_ptr_null(spec);
    hwloc_topology_destroy(topology);
}
END_TEST

int main(void)
{
    static hwloc_topology_t keep; /* keeps hwloc's plugins loaded, see above */
    if (hwloc_topology_init(&keep) != 0)
        return 1;
    TCase *c = tcase_create("hwloc");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, machine_agrees_with_the_expert, 0, MACHINES);
    tcase_add_loop_test(c, gpus_are_in_the_order_of_their_addresses, 0, MACHINES);
    tcase_add_test(c, memory_of_gpus_is_not_memory_of_the_host);
    tcase_add_test(c, gpus_below_one_switch_are_near);
    tcase_add_test(c, gpus_below_one_processor_are_in_its_numa_domain);
    tcase_add_test(c, gpus_of_sub_numa_domains_keep_theirs);
    tcase_add_test(c, partitions_are_devices_of_one_address);
    tcase_add_test(c, links_to_processors_join_no_gpus);
    tcase_add_test(c, switches_join_gpus);
    tcase_add_test(c, gpus_of_two_vendors_and_dies_without_memory);
    tcase_add_test(c, cores_have_their_threads);
    tcase_add_test(c, cards_have_the_names_of_verbs);
    tcase_add_loop_test(c, machine_agrees_with_lstopo, 0, MACHINES);
    tcase_add_test(c, synthetic_machine_has_what_it_says);
    tcase_add_test(c, synthetic_memory_is_summed);
    tcase_add_test(c, processors_without_cores_are_cores);
    tcase_add_test(c, cores_take_the_first_of_two_memories);
    tcase_add_test(c, cores_take_the_innermost_memory);
    tcase_add_test(c, largest_machine_is_read);
    tcase_add_loop_test(c, synthetic_text_is_checked, 0, BAD_SYNTHETIC);
    tcase_add_test(c, this_machine_agrees_with_hwloc_calc);
    tcase_add_test(c, name_given_is_taken);
    tcase_add_test(c, bad_name_is_refused);
    tcase_add_test(c, arguments_are_checked);
    tcase_add_test(c, every_failing_allocation_is_survived);
    tcase_add_test(c, adapter_describes_a_loaded_topology);
    tcase_add_test(c, adapter_sees_devices_only_if_they_were_loaded);
    tcase_add_test(c, adapter_leaves_out_what_may_not_be_used);
    tcase_add_test(c, adapter_refuses_null_and_unloaded);
    tcase_add_test(c, adapter_refuses_more_cores_than_fit);
    Suite *suite = suite_create("hwloc");
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
