/* SPDX-License-Identifier: Apache-2.0 */
/* Node specifications from XML that is written for one question each: what counts as a GPU, what
 * as a link, what as a network card; and files that are missing, cut off, damaged or hostile. */
#include <gangsched/model.h>

#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <hwloc.h>

#include "chance.h"
#include "support.h"

/* hwloc loses a little memory with a file that it refuses, and its plugins do. They stay loaded so
 * that reports show them by name. */
const char *__lsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__lsan_default_suppressions(void)
{
    return "leak:libhwloc\nleak:libpciaccess\nleak:hwloc_";
}

static bool under_valgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
}

/* ---- XML ------------------------------------------------------------------------------------- */

#define SETS_OF(cpus, nodes)                                                  \
    "cpuset=\"" cpus "\" complete_cpuset=\"" cpus "\" nodeset=\"" nodes "\" " \
    "complete_nodeset=\"" nodes "\" "
#define ALL SETS_OF("0x00000003", "0x00000001")
#define HEAD                                       \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" \
    "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"  \
    "<topology version=\"2.0\">\n"
#define FOOT "</topology>\n"
#define INFO(name, value) "<info name=\"" name "\" value=\"" value "\"/>\n"
#define NUMA \
    "<object type=\"NUMANode\" os_index=\"0\" " ALL "gp_index=\"2\" local_memory=\"4096000\"/>\n"
#define CORE                                                                             \
    "<object type=\"Core\" os_index=\"0\" " ALL "gp_index=\"3\">\n"                      \
    "<object type=\"PU\" os_index=\"0\" " SETS_OF(                                       \
        "0x00000001", "0x00000001") "gp_index=\"4\"/>\n"                                 \
                                    "<object type=\"PU\" os_index=\"1\" " SETS_OF(       \
                                        "0x00000002", "0x00000001") "gp_index=\"5\"/>\n" \
                                                                    "</object>\n"
#define ROOT(inner) \
    "<object type=\"Machine\" os_index=\"0\" " ALL "gp_index=\"1\">\n" inner "</object>\n"
/* A machine with one core and the devices given. */
#define MACHINE(devices) HEAD ROOT(NUMA CORE devices) FOOT

#define PCI(gp, address, type, inner)                                                        \
    "<object type=\"PCIDev\" gp_index=\"" gp "\" pci_busid=\"" address "\" pci_type=\"" type \
    " [0000:0000] 00\" pci_link_speed=\"0.000000\">\n" inner "</object>\n"
#define OSDEV(gp, name, osdev_type, inner)                                                  \
    "<object type=\"OSDev\" gp_index=\"" gp "\" name=\"" name "\" osdev_type=\"" osdev_type \
    "\">\n" inner "</object>\n"
#define BY(back_end) INFO("Backend", back_end)
#define GPU(gp, name, back_end, inner) OSDEV(gp, name, "1", BY(back_end) inner)
#define H100 "0302 [10de:2330]"
#define MI300 "1200 [1002:74a0]"
#define XE "0380 [8086:0bd5]"

/* A matrix, appended to text. Its objects are OS devices by number, or all have their type. */
static void add_matrix(char *text, const char *name, const char *indexes, unsigned count,
                       const char *values)
{
    bool typed = strchr(indexes, ':') != NULL;
    const char *element = typed ? "distances2hetero" : "distances2";
    const char *kind = typed ? "25" : strstr(name, "Hops") ? "5" : "9";
    sprintf(text + strlen(text),
            "<%s%s nbobjs=\"%u\" kind=\"%s\" name=\"%s\" indexing=\"gp\">\n"
            "<indexes length=\"%zu\">%s</indexes>\n<u64values length=\"%zu\">%s</u64values>\n"
            "</%s>\n",
            element, typed ? "" : " type=\"OSDev\"", count, kind, name, strlen(indexes), indexes,
            strlen(values), values, element);
}

static char path[64]; /* the temporary file of a test */

static void setup(void)
{
    strcpy(path, "/tmp/gang_hwloc_XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void teardown(void)
{
    unlink(path);
}

static void write_file(const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

/* Read the file, and see that nothing is written to stderr meanwhile. */
static gang_result read_quietly(const char *file, struct gang_node_spec **spec,
                                struct gang_error *error)
{
    fflush(stderr);
    FILE *caught = tmpfile();
    int kept = dup(2);
    ck_assert(caught && kept >= 0);
    ck_assert_int_eq(dup2(fileno(caught), 2), 2);
    gang_result r = gang_node_spec_from_hwloc_source(GANG_HWLOC_XML_FILE, file, NULL, spec, error);
    fflush(stderr);
    ck_assert_int_eq(dup2(kept, 2), 2);
    close(kept);
    char line[256] = "";
    rewind(caught);
    ck_assert_msg(under_valgrind() || !fgets(line, sizeof(line), caught), "on stderr: %s", line);
    fclose(caught);
    return r;
}

static gang_result read_text(const char *text, struct gang_node_spec **spec,
                             struct gang_error *error)
{
    *error = (struct gang_error)GANG_ERROR_INIT;
    write_file(text, strlen(text));
    return read_quietly(path, spec, error);
}

static struct gang_node_spec *read_good(const char *text)
{
    struct gang_node_spec *spec = NULL;
    struct gang_error error;
    gang_result r = read_text(text, &spec, &error);
    ck_assert_msg(r == GANG_OK, "%s, line %d: %s", gang_result_name(r), (int)error.line,
                  error.text);
    ck_assert_int_eq(gang_node_spec_check(spec, NULL), GANG_OK);
    return spec;
}

/* ---- what is a GPU --------------------------------------------------------------------------- */

START_TEST(back_ends_that_report_one_device_report_one_gpu)
{
    struct gang_node_spec *spec = read_good(MACHINE(
        PCI("10", "0000:41:00.0", H100,
            OSDEV("11", "card0", "1", "") OSDEV("12", "renderD128", "1", "")
                OSDEV("13", ":0.0", "1", BY("GL"))
                    GPU("14", "opencl0d0", "OpenCL",
                        INFO("OpenCLDeviceType", "GPU") INFO("OpenCLPlatformIndex", "0"))
                        GPU("15", "opencl1d0", "OpenCL",
                            INFO("OpenCLDeviceType", "GPU") INFO("OpenCLPlatformIndex", "1"))
                            GPU("16", "cuda0", "CUDA",
                                INFO("GPUModel", "of CUDA") INFO("CUDAGlobalMemorySize", "1048576"))
                                GPU("17", "nvml0", "NVML",
                                    INFO("GPUModel", "of NVML") INFO("NVIDIAUUID", "GPU-12")))));
    ck_assert_uint_eq(spec->gpu_count, 1);
    ck_assert_str_eq(spec->gpus[0].pci, "0000:41:00.0");
    ck_assert_str_eq(spec->gpus[0].model, "of NVML");
    ck_assert_str_eq(spec->gpus[0].uuid, "GPU-12");
    ck_assert_int_eq(spec->gpus[0].memory_bytes, INT64_C(1) << 30);
    ck_assert_int_eq(spec->gpus[0].numa, 0);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(subtype_or_name_stand_for_a_back_end_that_is_not_given)
{
    struct gang_node_spec *spec = read_good(MACHINE(
        PCI("10", "0000:01:00.0", H100,
            "<object type=\"OSDev\" gp_index=\"11\" name=\"x\" subtype=\"CUDA\" "
            "osdev_type=\"5\"/>\n") PCI("12", "0000:02:00.0", MI300,
                                        OSDEV("13", "rsmi0", "1", "") OSDEV("14", "rsmi1", "1", ""))
            PCI("15", "0000:03:00.0", XE, OSDEV("16", "zebra", "1", ""))));
    ck_assert_uint_eq(spec->gpu_count, 4); /* and one by its class */
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(devices_without_address_are_matched_by_order)
{
    struct gang_node_spec *spec = read_good(MACHINE(
        GPU("10", "cuda0", "CUDA", INFO("CUDAGlobalMemorySize", "1024"))
            GPU("11", "cuda1", "CUDA", INFO("CUDAGlobalMemorySize", "2048"))
                GPU("12", "nvml0", "NVML", INFO("NVIDIAUUID", "GPU-a0"))
                    GPU("13", "nvml1", "NVML", INFO("NVIDIAUUID", "GPU-a1"))
                        GPU("14", "opencl0d0", "OpenCL", INFO("GPUVendor", "NVIDIA Corporation"))));
    ck_assert_uint_eq(spec->gpu_count, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(spec->gpus[i].pci);
        ck_assert_int_eq(spec->gpus[i].memory_bytes, INT64_C(1048576) << i);
        ck_assert_str_eq(spec->gpus[i].uuid, i ? "GPU-a1" : "GPU-a0");
    }
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(devices_without_address_are_matched_with_those_of_their_vendor)
{
    struct gang_node_spec *spec =
        read_good(MACHINE(PCI("10", "0000:01:00.0", MI300, GPU("11", "rsmi0", "RSMI", ""))
                              GPU("12", "opencl3d0", "OpenCL", INFO("GPUVendor", "AMD"))
                                  GPU("13", "opencl1d0", "OpenCL", INFO("GPUVendor", "Mesa"))
                                      GPU("14", "cuda0", "CUDA", "")));
    ck_assert_uint_eq(spec->gpu_count, 2); /* one of AMD, one of NVIDIA */
    ck_assert_str_eq(spec->gpus[0].pci, "0000:01:00.0");
    ck_assert_ptr_null(spec->gpus[1].pci);
    gang_node_spec_free(spec);
}
END_TEST

/* PCI devices that no back end reports. */
static const struct bare {
    const char *text;
    size_t gpus;
    const char *model;
} bares[] = {
    {PCI("10", "0000:41:00.0", "0302 [10de:2330]", ""), 1, "10de:2330"},
    {PCI("10", "0000:41:00.0", "0302 [10de:2330]", INFO("PCIDevice", "GH100")), 1, "GH100"},
    {PCI("10", "0000:41:00.0", "0300 [10de:1b81]", ""), 1, "10de:1b81"},
    {PCI("10", "0000:41:00.0", "0380 [1002:740c]", ""), 1, "1002:740c"}, /* MI250 */
    {PCI("10", "0000:41:00.0", "1200 [1002:74a0]", ""), 1, "1002:74a0"}, /* MI300A */
    {PCI("10", "0000:41:00.0", "0380 [8086:56c0]", ""), 1, "8086:56c0"}, /* Flex 170 */
    {PCI("10", "0000:41:00.0", "0302 [1ed5:0100]", ""), 1, "1ed5:0100"}, /* of another vendor */
    {PCI("10", "0000:c3:00.0", "0300 [1002:15bf]", ""), 0, NULL}, /* graphics of a processor */
    {PCI("10", "0000:00:02.0", "0300 [8086:5916]", ""), 0, NULL}, /* and of Intel's */
    {PCI("10", "0000:00:02.0", "0380 [8086:a7a0]", ""), 0, NULL},
    {PCI("10", "0000:00:0b.0", "1200 [8086:7d1d]", ""), 0, NULL}, /* a neural processor */
    {PCI("10", "0000:41:00.0", "1200 [10ee:5004]", ""), 0, NULL}, /* an FPGA */
    {PCI("10", "0000:6b:00.0", "0b40 [8086:4940]", ""), 0, NULL}, /* QuickAssist */
    {PCI("10", "0000:03:00.0", "0300 [102b:0536]", ""), 0, NULL}, /* Matrox */
    {PCI("10", "0000:00:01.0", "0380 [1af4:1050]", ""), 0, NULL}, /* virtio */
    {PCI("10", "0000:03:00.0", "0300 [1a03:2000]",                /* ASPEED */
         OSDEV("11", "card0", "1", "") OSDEV("12", "controlD64", "1", "")),
     0, NULL},
    {PCI("10", "0000:41:00.0", "0300 [10de:1b81]", OSDEV("11", ":0.0", "1", BY("GL"))), 1,
     "10de:1b81"},
    /* Two functions of one card, two cards, and one that the vendor's back end does not report. */
    {PCI("10", "0000:41:00.0", "0380 [1002:6800]", "")
         PCI("11", "0000:41:00.1", "0380 [1002:6801]", ""),
     1, "1002:6800"},
    {PCI("10", "0000:41:00.0", "0302 [10de:2330]", "")
         PCI("11", "0000:42:00.0", "0302 [10de:2331]", ""),
     2, "10de:2330"},
    {PCI("10", "0000:41:00.0", "0300 [10de:1287]", "")
         PCI("11", "0000:42:00.0", H100, GPU("12", "nvml0", "NVML", INFO("GPUModel", "H100"))),
     1, "H100"},
    {PCI("10", "0000:41:00.0", "0302 [10de:2330]", "")
         PCI("11", "0000:42:00.0", MI300, GPU("12", "rsmi0", "RSMI", INFO("GPUModel", "M"))),
     2, "10de:2330"},
};
enum { BARES = sizeof(bares) / sizeof(bares[0]) };

START_TEST(devices_without_a_report_are_known_by_their_class)
{
    char text[8192];
    snprintf(text, sizeof(text),
             "%s<object type=\"Machine\" os_index=\"0\" %sgp_index=\"1\">%s%s"
             "</object>%s",
             HEAD, ALL, NUMA CORE, bares[_i].text, FOOT);
    struct gang_node_spec *spec = read_good(text);
    ck_assert_uint_eq(spec->gpu_count, bares[_i].gpus);
    if (bares[_i].gpus)
        ck_assert_str_eq(spec->gpus[0].model, bares[_i].model);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(devices_that_compute_but_are_no_gpus_are_left_out)
{
    struct gang_node_spec *spec = read_good(
        MACHINE(GPU("10", "opencl0d0", "OpenCL", INFO("OpenCLDeviceType", "CPU"))
                    GPU("11", "opencl0d1", "OpenCL", INFO("OpenCLDeviceType", "Accelerator"))
                        GPU("12", "ze0", "LevelZero", INFO("LevelZeroDeviceType", "VPU"))
                            OSDEV("13", "mic0", "5", "") OSDEV("14", "ve0", "5", "")
                                OSDEV("15", "cudaesque", "5", "") OSDEV("16", "cuda0", "0", "")));
    ck_assert_uint_eq(spec->gpu_count, 0);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(console_of_a_dgx_is_left_out)
{
    struct gang_node_spec *spec = read_good(MACHINE(
        PCI("10", "0000:41:00.0", H100, GPU("11", "nvml0", "NVML", INFO("GPUModel", "A100")))
            PCI("12", "0000:42:00.0", "0300 [10de:1fb0]",
                GPU("13", "nvml1", "NVML", INFO("GPUModel", "NVIDIA DGX Display")))));
    ck_assert_uint_eq(spec->gpu_count, 1);
    ck_assert_str_eq(spec->gpus[0].model, "A100");
    gang_node_spec_free(spec);
}
END_TEST

/* An Intel GPU of two tiles. */
#define TILED(gp, address, n)                                                               \
    PCI(gp "0", address, XE,                                                                \
        GPU(gp "1", "ze" n, "LevelZero",                                                    \
            INFO("LevelZeroDeviceType", "GPU") INFO("LevelZeroModel", "Max 1550")           \
                INFO("LevelZeroHBMSize", "2048") INFO("LevelZeroDDRSize", "1024")           \
                    GPU(gp "2", "ze" n ".0", "LevelZero", INFO("LevelZeroHBMSize", "1024")) \
                        GPU(gp "3", "ze" n ".1", "LevelZero", "")))

START_TEST(tiles_are_no_gpus)
{
    struct gang_node_spec *spec =
        read_good(MACHINE(TILED("1", "0000:41:00.0", "0") TILED("2", "0000:42:00.0", "1")));
    ck_assert_uint_eq(spec->gpu_count, 2);
    ck_assert_str_eq(spec->gpus[1].model, "Max 1550");
    ck_assert_int_eq(spec->gpus[1].memory_bytes, 3072 * 1024);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(numbers_and_texts_that_say_nothing_are_unknown)
{
    struct gang_node_spec *spec = read_good(
        MACHINE(PCI("10", "0000:41:00.0", H100,
                    GPU("11", "cuda0", "CUDA",
                        INFO("GPUModel", "a&#10;b") INFO("CUDAGlobalMemorySize", "12MB"))
                        GPU("12", "nvml0", "NVML",
                            INFO("NVIDIAUUID", "GPU-00000000-0000-0000-0000-000000000000")))
                    PCI("13", "0000:42:00.0", H100,
                        GPU("14", "cuda1", "CUDA",
                            INFO("GPUModel", "A &amp; B")
                                INFO("CUDAGlobalMemorySize", "99999999999999999999"))
                            GPU("15", "nvml1", "NVML", INFO("GPUModel", "")))
                        PCI("16", "0000:43:00.0", H100,
                            GPU("17", "cuda2", "CUDA", INFO("CUDAGlobalMemorySize", "2KiB")))));
    ck_assert_uint_eq(spec->gpu_count, 3);
    ck_assert_str_eq(spec->gpus[0].model, "10de:2330");
    ck_assert_ptr_null(spec->gpus[0].uuid);
    ck_assert_int_eq(spec->gpus[0].memory_bytes, 0);
    ck_assert_str_eq(spec->gpus[1].model, "A & B");
    ck_assert_int_eq(spec->gpus[1].memory_bytes, 0);
    ck_assert_int_eq(spec->gpus[2].memory_bytes, 2048);
    gang_node_spec_free(spec);
}
END_TEST

/* Text of a machine with n H100. */
static char *machine_of(unsigned n)
{
    char *text = malloc(4096 + (size_t)n * 512);
    ck_assert_ptr_nonnull(text);
    char *at = text + sprintf(text, "%s<object type=\"Machine\" os_index=\"0\" %sgp_index=\"1\">%s",
                              HEAD, ALL, NUMA CORE);
    for (unsigned i = 0; i < n; i++)
        at += sprintf(at, PCI("1%03u", "0000:%02x:00.0", H100, GPU("2%03u", "nvml%u", "NVML", "")),
                      i, i, i, i);
    sprintf(at, "</object>\n");
    return text;
}

START_TEST(sixty_four_gpus_are_the_most)
{
    struct gang_node_spec *spec = NULL;
    struct gang_error error;
    char *text = machine_of(64);
    strcat(text, FOOT);
    spec = read_good(text);
    ck_assert_uint_eq(spec->gpu_count, 64);
    gang_node_spec_free(spec);
    free(text);
    text = machine_of(65);
    strcat(text, FOOT);
    EXPECT_ERROR(read_text(text, &spec, &error), GANG_ELIMIT, &error, "gpus", NULL);
    ck_assert_ptr_null(spec);
    free(text);
}
END_TEST

/* ---- what is a link -------------------------------------------------------------------------- */

START_TEST(links_hold_both_ways_with_the_lesser_bandwidth)
{
    char *text = machine_of(4);
    add_matrix(text, "NVLinkBandwidth", "2000 2001 2002 2003 ", 4,
               "1000000 100 70 0 80 1000000 0 0 0 0 1000000 0 0 0 0 1000000 ");
    strcat(text, FOOT);
    struct gang_node_spec *spec = read_good(text);
    ck_assert_uint_eq(spec->link_count, 2);
    ck_assert_int_eq(spec->links[0].a, 0);
    ck_assert_int_eq(spec->links[0].b, 1);
    ck_assert_int_eq(spec->links[0].type, GANG_LINK_NVLINK);
    ck_assert_int_eq(spec->links[0].bandwidth_mbps, 80);
    ck_assert_int_eq(spec->links[1].b, 2);
    ck_assert_int_eq(spec->links[1].bandwidth_mbps, 70); /* one direction only */
    ck_assert_uint_eq(spec->gpu_locality[1], GANG_LOCALITY_LINK);
    ck_assert_uint_eq(spec->gpu_locality[3], GANG_LOCALITY_NUMA);
    gang_node_spec_free(spec);
    free(text);
}
END_TEST

START_TEST(largest_bandwidth_is_kept_in_range)
{
    char *text = machine_of(2);
    add_matrix(text, "NVLinkBandwidth", "2000 2001 ", 2,
               "0 18446744073709551615 18446744073709551615 0 ");
    strcat(text, FOOT);
    struct gang_node_spec *spec = read_good(text);
    ck_assert_int_eq(spec->links[0].bandwidth_mbps, INT64_MAX);
    gang_node_spec_free(spec);
    free(text);
}
END_TEST

START_TEST(hops_of_infinity_fabric_are_taken)
{
    char *text = machine_of(3);
    add_matrix(text, "XGMIBandwidth", "2000 2001 2002 ", 3, "9 5 5 5 9 0 5 0 9 ");
    add_matrix(text, "XGMIHops", "2000 2001 2002 ", 3, "0 2 0 2 0 1 0 1 0 ");
    strcat(text, FOOT);
    struct gang_node_spec *spec = read_good(text);
    ck_assert_uint_eq(spec->link_count, 3);
    ck_assert_int_eq(spec->links[0].hops, 2);
    ck_assert_int_eq(spec->links[1].hops, 0); /* 0 and 2: unknown */
    ck_assert_int_eq(spec->links[1].bandwidth_mbps, 5);
    ck_assert_int_eq(spec->links[2].hops, 1); /* 1 and 2: only the hops are known */
    ck_assert_int_eq(spec->links[2].bandwidth_mbps, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(spec->links[i].type, GANG_LINK_XGMI);
    gang_node_spec_free(spec);
    free(text);
}
END_TEST

START_TEST(tiles_link_their_gpus_once)
{
    char text[16384] =
        HEAD ROOT(NUMA CORE TILED("1", "0000:41:00.0", "0") TILED("2", "0000:42:00.0", "1"));
    add_matrix(text, "XeLinkBandwidth", "12 13 22 23 ", 4,
               "0 999 10 30 999 0 0 20 10 0 0 999 30 20 999 0 ");
    strcat(text, FOOT);
    struct gang_node_spec *spec = read_good(text);
    ck_assert_uint_eq(spec->gpu_count, 2);
    ck_assert_uint_eq(spec->link_count, 1);
    ck_assert_int_eq(spec->links[0].type, GANG_LINK_OTHER);
    ck_assert_int_eq(spec->links[0].bandwidth_mbps, 30);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(pair_with_two_kinds_of_link_keeps_the_better)
{
    char *text = machine_of(2);
    add_matrix(text, "XGMIBandwidth", "2000 2001 ", 2, "9 5 5 9 ");
    add_matrix(text, "NVLinkBandwidth", "2000 2001 ", 2, "9 4 4 9 ");
    strcat(text, FOOT);
    struct gang_node_spec *spec = read_good(text);
    ck_assert_uint_eq(spec->link_count, 1);
    ck_assert_int_eq(spec->links[0].type, GANG_LINK_NVLINK);
    ck_assert_int_eq(spec->links[0].bandwidth_mbps, 4);
    gang_node_spec_free(spec);
    free(text);
}
END_TEST

START_TEST(matrices_of_other_names_are_no_links)
{
    char *text = machine_of(2);
    add_matrix(text, "SomeBandwidth", "2000 2001 ", 2, "9 5 5 9 ");
    strcat(text, FOOT);
    struct gang_node_spec *spec = read_good(text);
    ck_assert_uint_eq(spec->link_count, 0);
    gang_node_spec_free(spec);
    free(text);
}
END_TEST

START_TEST(direct_links_are_better_than_switches)
{
    static const char nvswitch[] =
        "<object type=\"PCIDev\" gp_index=\"99\" subtype=\"NVSwitch\" pci_busid=\"0000:f0:00.0\" "
        "pci_type=\"0680 [10de:1ac2] [0000:0000] 00\" pci_link_speed=\"0.000000\"/>\n";
    char *text = machine_of(3);
    char *end = strstr(text, "</object>\n</object>\n</object>\n"); /* of the last device */
    ck_assert_ptr_nonnull(end);
    strcpy(end, "</object>\n</object>\n");
    strcat(text, nvswitch);
    strcat(text, "</object>\n");
    add_matrix(text, "NVLinkBandwidth", "OSDev:2000 OSDev:2001 OSDev:2002 PCIDev:99 ", 4,
               "0 50 0 30 50 0 0 20 0 0 0 25 30 20 25 0 ");
    strcat(text, FOOT);
    struct gang_node_spec *spec = read_good(text);
    ck_assert_uint_eq(spec->gpu_count, 3);
    ck_assert_uint_eq(spec->link_count, 3);
    ck_assert_int_eq(spec->links[0].bandwidth_mbps, 50);
    ck_assert_int_eq(spec->links[0].hops, 1);
    ck_assert_int_eq(spec->links[1].bandwidth_mbps, 25); /* 0 and 2 */
    ck_assert_int_eq(spec->links[1].hops, 2);
    ck_assert_int_eq(spec->links[2].bandwidth_mbps, 20); /* 1 and 2 */
    gang_node_spec_free(spec);
    free(text);
}
END_TEST

/* ---- what is a network card ------------------------------------------------------------------ */

#define NET(gp, name) OSDEV(gp, name, "2", "")
#define VERBS(gp, name) OSDEV(gp, name, "3", "")
#define MLX "0207 [15b3:101b]"

START_TEST(network_cards_are_pci_functions)
{
    struct gang_node_spec *spec = read_good(MACHINE(
        NET("10", "lo") NET("11", "docker0") PCI("12", "0000:4d:00.1", MLX,
                                                 NET("13", "ib1") VERBS("14", "mlx5_1"))
            PCI("15", "0000:4d:00.0", MLX, VERBS("16", "mlx5_0") NET("17", "ib0"))
                PCI("18", "0000:01:00.0", "0200 [8086:1537]", NET("19", "eth0") NET("20", "eth0v1"))
                    PCI("21", "0000:02:00.0", "0200 [8086:1537]", "")
                        PCI("22", "10000:03:00.0", MLX,
                            NET("23", "ib2") VERBS("24", "mlx4_0") VERBS("25", "mlx4_1"))));
    const char *names[4] = {"eth0", "mlx5_0", "mlx5_1", "mlx4_0"};
    size_t count = spec->nic_count; /* an hwloc with 16-bit domains leaves the last one out */
    ck_assert(count == 3 || count == 4);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(spec->nics[i].name, names[i]);
        ck_assert_int_eq(spec->nics[i].numa, 0);
    }
    ck_assert_str_eq(spec->nics[1].pci, "0000:4d:00.0");
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(a_thousand_network_cards_are_too_many)
{
    struct gang_node_spec *spec = NULL;
    struct gang_error error;
    char *text = malloc(1 << 20);
    ck_assert_ptr_nonnull(text);
    char *at = text + sprintf(text, "%s<object type=\"Machine\" os_index=\"0\" %sgp_index=\"1\">%s",
                              HEAD, ALL, NUMA CORE);
    for (unsigned i = 0; i <= GANG_MAX_ITEMS; i++)
        at += sprintf(at, PCI("1%04u", "0000:%02x:%02x.%x", MLX, NET("2%04u", "eth%u")), i, i / 256,
                      i / 8 % 32, i % 8, i, i);
    sprintf(at, "</object>%s", FOOT);
    EXPECT_ERROR(read_text(text, &spec, &error), GANG_ELIMIT, &error, "nics", NULL);
    free(text);
}
END_TEST

/* ---- where things are ------------------------------------------------------------------------ */

/* Two packages with a NUMA domain and a processor each. */
#define PACKAGE(n, cpus, nodes, devices)                                                        \
    "<object type=\"Package\" os_index=\"" n                                                    \
    "\" " SETS_OF(cpus, nodes) "gp_index=\"5" n "\">\n"                                         \
                               "<object type=\"NUMANode\" os_index=\"" n "\" " SETS_OF(         \
                                   cpus, nodes) "gp_index=\"6" n "\" local_memory=\"4096\"/>\n" \
                                                "<object type=\"PU\" os_index=\"" n             \
                                                "\" " SETS_OF(cpus, nodes) "gp_index=\"7" n     \
                                                                           "\"/>\n" devices     \
                                                                           "</object>\n"
#define TWO(gpu_memory, devices0, devices1, devices)                            \
    HEAD "<object type=\"Machine\" os_index=\"0\" " SETS_OF(                    \
        "0x00000003", "0x00000007") "gp_index=\"1\">\n" INFO("HostName", "two") \
        gpu_memory PACKAGE("0", "0x00000001", "0x00000001", devices0)           \
            PACKAGE("1", "0x00000002", "0x00000002", devices1) devices "</object>\n" FOOT
#define BRIDGE(gp, type, buses, inner)                                                  \
    "<object type=\"Bridge\" gp_index=\"" gp "\" bridge_type=\"" type                   \
    "\" depth=\"0\" bridge_pci=\"0000:[" buses "]\" pci_busid=\"0000:00:01.0\" "        \
    "pci_type=\"0604 [8086:2030] [0000:0000] 00\" pci_link_speed=\"0.000000\">\n" inner \
    "</object>\n"
#define PLAIN(gp, address) PCI(gp, address, H100, "")

START_TEST(devices_of_unknown_place_have_no_numa_domain)
{
    struct gang_node_spec *spec =
        read_good(TWO("", "", PLAIN("10", "0000:20:00.0"), PLAIN("11", "0000:30:00.0")));
    ck_assert_str_eq(spec->name, "two");
    ck_assert_int_eq(spec->gpus[0].numa, 1);
    ck_assert_int_eq(spec->gpus[1].numa, -1);
    ck_assert_uint_eq(spec->gpu_locality[1], GANG_LOCALITY_SYSTEM);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(host_bridges_bring_nothing_nearer)
{
    struct gang_node_spec *spec =
        read_good(TWO("",
                      BRIDGE("30", "0-1", "10-2f",
                             BRIDGE("31", "1-1", "10-1f",
                                    BRIDGE("32", "1-1", "10-17", PLAIN("10", "0000:10:00.0"))
                                        BRIDGE("33", "1-1", "18-1f", PLAIN("11", "0000:18:00.0")))
                                 BRIDGE("34", "1-1", "20-2f", PLAIN("12", "0000:20:00.0"))),
                      "", ""));
    ck_assert_uint_eq(spec->gpu_count, 3);
    ck_assert_uint_eq(spec->gpu_locality[1], GANG_LOCALITY_PCI);
    ck_assert_uint_eq(spec->gpu_locality[2], GANG_LOCALITY_NUMA);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(domains_marked_as_memory_of_gpus_are_not_the_hosts)
{
    struct gang_node_spec *spec =
        read_good(TWO("<object type=\"NUMANode\" subtype=\"GPUMemory\" os_index=\"2\" " SETS_OF(
                          "0x00000003", "0x00000004") "gp_index=\"9\" local_memory=\"1000000\"/>\n",
                      "", "", ""));
    ck_assert_uint_eq(spec->numa_count, 3);
    ck_assert_int_eq(spec->memory_bytes, 8192);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(spec->numas[spec->cores[i].numa].package, i);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(host_name_that_is_none_is_not_taken)
{
    struct gang_node_spec *spec = read_good(HEAD ROOT(INFO("HostName", "a&#9;b") NUMA CORE) FOOT);
    ck_assert_str_eq(spec->name, "node");
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(host_name_of_the_file_is_the_name)
{
    struct gang_node_spec *spec = read_good(HEAD ROOT(INFO("HostName", "far-away") NUMA CORE) FOOT);
    ck_assert_str_eq(spec->name, "far-away");
    gang_node_spec_free(spec);
}
END_TEST

/* ---- files that are no topology -------------------------------------------------------------- */

#define OBJECT(type, attributes) "<object type=\"" type "\" os_index=\"0\" " attributes "/>\n"

static const struct bad {
    const char *text;
    int64_t line; /* 0: hwloc refuses it */
} bads[] = {
    {"", 1},
    {" \n", 2},
    {"no topology", 1},
    {"<", 1},
    {"<topology", 1},
    {"<?xml version=\"1.0\"", 1},
    {"<!-- <topology/>", 1},
    {"<html></html>", 1},
    {"\x1f\x8b\x08 compressed", 1},
    {HEAD, 4},
    {HEAD FOOT, 5},
    {HEAD ROOT(NUMA CORE), 11},
    {HEAD ROOT(NUMA CORE) FOOT "more", 12},
    {HEAD ROOT(NUMA CORE) FOOT FOOT, 12},
    {HEAD ROOT(NUMA CORE) FOOT "<topology/>", 12},
    {HEAD ROOT(NUMA CORE) ROOT(NUMA CORE) FOOT, 11},
    {"<topology version=\"3.0\">" ROOT(NUMA CORE) FOOT, 0},
    {"<?xml version=\"1.0\" encoding=\"UTF-16\"?><topology/>", 1},
    {"<!DOCTYPE t [<!ENTITY a \"&b;&b;\">]><topology/>", 1},
    {"<topology><![CDATA[x]]></topology>", 1},
    {"<topology><?php x ?></topology>", 1},
    {HEAD ROOT(NUMA), 7},
    {HEAD ROOT(CORE) FOOT, 11}, /* no NUMA domain */
    {HEAD ROOT(NUMA) FOOT, 8},  /* no processor */
    {HEAD ROOT(NUMA CORE "text") FOOT, 10},
    {HEAD ROOT(NUMA CORE "<sub/>") FOOT, 10},
    {HEAD ROOT(NUMA CORE "<info name='a' value='b'/>") FOOT, 10},
    {HEAD ROOT(NUMA CORE "<info name=\"a\" value=\"&lol;\"/>") FOOT, 10},
    {HEAD ROOT(NUMA CORE "<info name=\"a<b\"/>") FOOT, 10},
    {HEAD ROOT(NUMA CORE "<info name=\"a\"value=\"b\"/>") FOOT, 10},
    {HEAD ROOT(NUMA CORE "<info NAME=\"a\"/>") FOOT, 10},
    {HEAD ROOT(NUMA CORE "<info><object type=\"Misc\"/></info>") FOOT, 10},
    {HEAD ROOT(NUMA CORE "</info>") FOOT, 10},
    {HEAD ROOT(NUMA CORE "<object os_index=\"1\"/>") FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("Unicorn", ALL)) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("Unicorn_of_an_extraordinary_length", ALL)) FOOT, 10},
    {HEAD ROOT(NUMA CORE "<info name=\"a\"/ >") FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("PU", "")) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("PU", "cpuset=\"0x1\" nodeset=\"0x1\"")) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("OSDev", "cpuset=\"0x1\"")) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("Core", ALL "cpuset=\"0x1\"")) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("Core", SETS_OF("0xg", "0x1"))) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("Core", SETS_OF("1", "0x1"))) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("Core", SETS_OF("0x1,", "0x1"))) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("Core", SETS_OF(",0x1", "0x1"))) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("Core", SETS_OF("", "0x1"))) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("Core", SETS_OF("0x123456789", "0x1"))) FOOT, 10},
    {HEAD ROOT(NUMA CORE OBJECT("Core", SETS_OF("0xf...f0", "0x1"))) FOOT, 10},
    {HEAD ROOT(NUMA CORE CORE) FOOT, 0}, /* two cores of the same processors */
    {HEAD ROOT(NUMA CORE "<object type=\"PU\" os_index=\"99999\" " ALL "/>") FOOT, 10},
    {HEAD ROOT(NUMA CORE "<object type=\"PU\" os_index=\"-1\" " ALL "/>") FOOT, 10},
    {HEAD ROOT(NUMA "<object type=\"Group\" " SETS_OF(
         "0x2", "0x1") ">"
                       "<object type=\"PU\" os_index=\"1\" " SETS_OF(
                           "0x2", "0x1") "/></object>\n"
                                         "<object type=\"Group\" " SETS_OF("0x1", "0x1") "/>") FOOT,
     7},
    {HEAD ROOT(NUMA CORE) "<distances2 nbobjs=\"99999\"/>" FOOT, 11},
    {HEAD ROOT(NUMA CORE) "<distances2 nbobjs=\"x\"/>" FOOT, 11},
    {"<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" " ALL
     "allowed_cpuset=\"0x0\">" NUMA CORE "</object></topology>",
     6},
    {"<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" " ALL
     "allowed_nodeset=\"0x2\">" NUMA CORE "</object></topology>",
     6},
};
enum { BADS = sizeof(bads) / sizeof(bads[0]) };

START_TEST(text_that_is_no_topology_is_refused)
{
    struct gang_node_spec place;
    struct gang_node_spec *spec = &place;
    struct gang_error error;
    gang_result r = read_text(bads[_i].text, &spec, &error);
    ck_assert_msg(r == GANG_EPARSE, "%d: %s", _i, gang_result_name(r));
    ck_assert_int_eq(error.code, GANG_EPARSE);
    ck_assert_msg(error.line == bads[_i].line, "%d: line %d: %s", _i, (int)error.line, error.text);
    ck_assert_ptr_null(spec);
}
END_TEST

static const char *const goods[] = {
    MACHINE(""),
    MACHINE("<object type=\"Misc\" gp_index=\"30\" name=\"a\"><userdata length=\"4\">a b "
            "</userdata></object>"),
    HEAD ROOT(NUMA CORE) "<support name=\"discovery.pu\"/>" FOOT,
    HEAD "<object type=\"Machine\" os_index=\"0\" " ALL
         "allowed_cpuset=\"0xf...f\" allowed_nodeset=\"0xf...f,0x00000001\">" NUMA CORE
         "</object>" FOOT,
};
enum { GOODS = sizeof(goods) / sizeof(goods[0]) };

START_TEST(text_that_is_a_topology_is_read)
{
    struct gang_node_spec *spec = read_good(goods[_i]);
    ck_assert_uint_eq(spec->core_count, 1);
    gang_node_spec_free(spec);
}
END_TEST

START_TEST(bytes_after_a_nul_are_refused)
{
    struct gang_node_spec *spec = NULL;
    struct gang_error error = GANG_ERROR_INIT;
    char text[] = MACHINE("");
    write_file(text, sizeof(text)); /* with its NUL */
    EXPECT_RESULT(read_quietly(path, &spec, &error), GANG_EPARSE, &error);
}
END_TEST

START_TEST(deep_nesting_is_refused)
{
    enum { DEEP = 20000 };
    struct gang_node_spec *spec = NULL;
    struct gang_error error;
    static const char group[] = "<object type=\"Group\" " ALL ">";
    char *text = malloc(1024 + DEEP * sizeof(group));
    ck_assert_ptr_nonnull(text);
    char *at = text + sprintf(text, "<topology version=\"2.0\">");
    for (int i = 0; i < DEEP; i++)
        at = stpcpy(at, group);
    EXPECT_RESULT(read_text(text, &spec, &error), GANG_EPARSE, &error);
    free(text);
}
END_TEST

START_TEST(too_many_processors_are_refused)
{
    struct gang_node_spec *spec = NULL;
    struct gang_error error;
    static const char pu[] = "<object type=\"PU\" os_index=\"1\" " ALL "/>";
    char *text = malloc(4096 + 16385 * sizeof(pu));
    ck_assert_ptr_nonnull(text);
    char *at = text + sprintf(text, "<topology version=\"2.0\"><object type=\"Machine\" %s>", ALL);
    for (int i = 0; i < 16385; i++)
        at = stpcpy(at, pu);
    EXPECT_RESULT(read_text(text, &spec, &error), GANG_ELIMIT, &error);
    free(text);
}
END_TEST

START_TEST(errors_of_older_callers_are_not_overrun)
{
    /* A caller with a struct that ends before `text` gets no text (no such struct was released). */
    struct gang_node_spec *spec = NULL;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_error before = error;
    error.size = before.size = 24;
    write_file("x", 1);
    ck_assert_int_eq(read_quietly(path, &spec, &error), GANG_EPARSE);
    ck_assert_mem_eq(&error, &before, sizeof(error));
}
END_TEST

/* ---- files that are none --------------------------------------------------------------------- */

static void assert_refused(const char *file, gang_result code, const char *word)
{
    struct gang_node_spec place;
    struct gang_node_spec *spec = &place;
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = read_quietly(file, &spec, &error);
    ck_assert_msg(r == code && error.code == code, "%s: %s", file, gang_result_name(r));
    ck_assert_str_eq(error.path, "source");
    ck_assert_msg(strstr(error.text, word) != NULL, "%s", error.text);
    ck_assert_ptr_null(spec);
}

START_TEST(missing_file_is_refused)
{
    assert_refused("/nonexistent/gang.xml", GANG_EIO, "no such file");
    assert_refused("", GANG_EIO, "no such file");
    char below[80];
    snprintf(below, sizeof(below), "%s/x.xml", path);
    assert_refused(below, GANG_EIO, "no such file");
}
END_TEST

START_TEST(names_that_hwloc_takes_for_something_else_are_files)
{
    assert_refused("-", GANG_EIO, "no such file");
    assert_refused("http://localhost/machine.xml", GANG_EIO, "no such file");
}
END_TEST

START_TEST(directory_is_refused)
{
    assert_refused("/tmp", GANG_EIO, "directory");
}
END_TEST

START_TEST(unreadable_file_is_refused)
{
    if (geteuid() == 0) {
        printf("skipped: root may read everything\n");
        return;
    }
    ck_assert_int_eq(chmod(path, 0), 0);
    assert_refused(path, GANG_EIO, "permission");
}
END_TEST

/* Bytes that this process has read so far; 0 where the kernel does not count them. */
static int64_t bytes_read(void)
{
    int64_t bytes = 0;
    FILE *counts = fopen("/proc/self/io", "r");
    if (!counts)
        return 0;
    if (fscanf(counts, "rchar: %" SCNd64, &bytes) != 1)
        bytes = 0;
    fclose(counts);
    return bytes;
}

START_TEST(absurdly_large_file_is_refused_unread)
{
    ck_assert_int_eq(truncate(path, (off_t)2 << 30), 0);
    int64_t before = bytes_read();
    assert_refused(path, GANG_ELIMIT, "more than");
    ck_assert_int_lt(bytes_read() - before, MIB);
}
END_TEST

START_TEST(pipe_is_read)
{
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        static const char text[] = MACHINE("");
        int fd = open(path, O_WRONLY);
        for (size_t i = 0; i < sizeof(text) - 1; i += 100) {
            size_t n = sizeof(text) - 1 - i < 100 ? sizeof(text) - 1 - i : 100;
            if (write(fd, text + i, n) != (ssize_t)n)
                _exit(1);
        }
        _exit(0);
    }
    struct gang_node_spec *spec = NULL;
    ck_assert_int_eq(gang_node_spec_from_hwloc_source(GANG_HWLOC_XML_FILE, path, NULL, &spec, NULL),
                     GANG_OK);
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(spec->core_count, 1);
    gang_node_spec_free(spec);
}
END_TEST

/* ---- real files, damaged --------------------------------------------------------------------- */

/* Text of a real machine; NULL, and a word, if there is no data. */
static char *real_machine(const char *name, size_t *length)
{
    enum { MOST = 1 << 20 };
    char file[1024];
    char rel[128];
    snprintf(rel, sizeof(rel), "data/hwloc_topologies/%s.xml.gz", name);
    if (!gang_shared_path(file, sizeof(file), rel)) {
        printf("skipped: no %s in the shared data\n", rel);
        return NULL;
    }
    char *text = malloc(MOST);
    gzFile from = gzopen(file, "rb");
    ck_assert(text && from);
    int n = gzread(from, text, MOST - 1);
    ck_assert_int_gt(n, 0);
    gzclose(from);
    text[n] = '\0';
    *length = (size_t)n;
    return text;
}

static const char *const real_names[] = {"flux-core_ipa20", "flux-core_sierra",
                                         "hwloc2.x_nvidiaDGX2"};
enum { REAL_NAMES = sizeof(real_names) / sizeof(real_names[0]) };

START_TEST(cut_files_are_refused)
{
    size_t length = 0;
    char *text = real_machine(real_names[_i], &length);
    if (!text)
        return;
    size_t whole = strlen(text) - 1; /* the last line feed may be missing */
    for (size_t i = 0; i < 50; i++) {
        struct gang_node_spec *spec = NULL;
        struct gang_error error = GANG_ERROR_INIT;
        write_file(text, i * whole / 50);
        EXPECT_RESULT(read_quietly(path, &spec, &error), GANG_EPARSE, &error);
        ck_assert_int_gt(error.line, 0);
    }
    for (size_t i = 1; i < 20; i++) {
        struct gang_node_spec *spec = NULL;
        write_file(text, whole - i);
        ck_assert_int_eq(read_quietly(path, &spec, NULL), GANG_EPARSE);
    }
    free(text);
}
END_TEST

/* Change a value, a byte, or take a piece out. */
static void damage(char *text)
{
    static const char bytes[] = "0123456789abcdefx,\"<>/ -";
    size_t length = strlen(text);
    size_t at = index_below(length);
    char *value = strstr(text + at, "=\"");
    switch (below(4)) {
    case 0:
        text[at] = bytes[below(sizeof(bytes) - 1)];
        break;
    case 1:
        if (value)
            value[2] = bytes[below(18)];
        break;
    case 2:
        if (value && strlen(value) > 8)
            memset(value + 2, '0' + (int)below(10), strcspn(value + 2, "\""));
        break;
    default: {
        size_t gone = 1 + index_below(30);
        gone = gone < length - at ? gone : length - at;
        memmove(text + at, text + at + gone, length - at - gone + 1);
    }
    }
}

START_TEST(damaged_files_are_refused_or_read)
{
    size_t length = 0;
    char *text = real_machine(real_names[_i], &length);
    if (!text)
        return;
    if (under_valgrind()) {
        printf("skipped: hwloc loses memory with files that it refuses\n");
        free(text);
        return;
    }
    chance_state = test_seed() + (uint64_t)_i;
    char *copy = malloc(length + 1);
    ck_assert_ptr_nonnull(copy);
    for (int round = getenv("GANG_TEST_QUICK") ? 30 : 200; round > 0; round--) {
        struct gang_node_spec *spec = NULL;
        struct gang_error error;
        memcpy(copy, text, length + 1);
        for (int64_t n = 1 + below(3); n > 0; n--)
            damage(copy);
        gang_result r = read_text(copy, &spec, &error);
        ck_assert_msg(r == GANG_OK || r == GANG_EPARSE || r == GANG_ELIMIT, "%s: %s",
                      gang_result_name(r), error.text);
        ck_assert_int_eq(r == GANG_OK, spec != NULL);
        gang_node_spec_free(spec);
    }
    free(copy);
    free(text);
}
END_TEST

int main(void)
{
    static hwloc_topology_t keep; /* keeps hwloc's plugins loaded, see above */
    if (hwloc_topology_init(&keep) != 0)
        return 1;
    TCase *c = tcase_create("hwloc_text");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, back_ends_that_report_one_device_report_one_gpu);
    tcase_add_test(c, subtype_or_name_stand_for_a_back_end_that_is_not_given);
    tcase_add_test(c, devices_without_address_are_matched_by_order);
    tcase_add_test(c, devices_without_address_are_matched_with_those_of_their_vendor);
    tcase_add_loop_test(c, devices_without_a_report_are_known_by_their_class, 0, BARES);
    tcase_add_test(c, devices_that_compute_but_are_no_gpus_are_left_out);
    tcase_add_test(c, console_of_a_dgx_is_left_out);
    tcase_add_test(c, tiles_are_no_gpus);
    tcase_add_test(c, numbers_and_texts_that_say_nothing_are_unknown);
    tcase_add_test(c, sixty_four_gpus_are_the_most);
    tcase_add_test(c, links_hold_both_ways_with_the_lesser_bandwidth);
    tcase_add_test(c, largest_bandwidth_is_kept_in_range);
    tcase_add_test(c, hops_of_infinity_fabric_are_taken);
    tcase_add_test(c, tiles_link_their_gpus_once);
    tcase_add_test(c, pair_with_two_kinds_of_link_keeps_the_better);
    tcase_add_test(c, matrices_of_other_names_are_no_links);
    tcase_add_test(c, direct_links_are_better_than_switches);
    tcase_add_test(c, network_cards_are_pci_functions);
    tcase_add_test(c, a_thousand_network_cards_are_too_many);
    tcase_add_test(c, devices_of_unknown_place_have_no_numa_domain);
    tcase_add_test(c, host_bridges_bring_nothing_nearer);
    tcase_add_test(c, domains_marked_as_memory_of_gpus_are_not_the_hosts);
    tcase_add_test(c, host_name_that_is_none_is_not_taken);
    tcase_add_test(c, host_name_of_the_file_is_the_name);
    tcase_add_loop_test(c, text_that_is_no_topology_is_refused, 0, BADS);
    tcase_add_loop_test(c, text_that_is_a_topology_is_read, 0, GOODS);
    tcase_add_test(c, bytes_after_a_nul_are_refused);
    tcase_add_test(c, deep_nesting_is_refused);
    tcase_add_test(c, too_many_processors_are_refused);
    tcase_add_test(c, errors_of_older_callers_are_not_overrun);
    tcase_add_test(c, missing_file_is_refused);
    tcase_add_test(c, names_that_hwloc_takes_for_something_else_are_files);
    tcase_add_test(c, directory_is_refused);
    tcase_add_test(c, unreadable_file_is_refused);
    tcase_add_test(c, absurdly_large_file_is_refused_unread);
    tcase_add_test(c, pipe_is_read);
    tcase_add_loop_test(c, cut_files_are_refused, 0, REAL_NAMES);
    tcase_add_loop_test(c, damaged_files_are_refused_or_read, 0, REAL_NAMES);
    Suite *suite = suite_create("hwloc_text");
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
