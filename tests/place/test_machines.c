/* SPDX-License-Identifier: Apache-2.0 */
/* Real machines, and two that Slurm is known to serve badly: successive jobs get the GPUs that an
 * expert for the machine would give them. */
#include <gangsched/gangsched.h>

#include "machine_file.h"
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

/* One job of one task, and its GPUs. */
struct job {
    int gpus;
    const char *set; /* NULL: it is refused */
    int cores;
    bool near_nic;
};
enum { JOBS = 6 };
#define JOB(gpus, set)      \
    {                       \
        gpus, set, 0, false \
    }
#define WITH_CORES(gpus, set, cores) \
    {                                \
        gpus, set, cores, false      \
    }
#define NEAR_CARD(gpus, set) \
    {                        \
        gpus, set, 0, true   \
    }

/* Jobs that come to the empty machine, each while those before it run. */
static const struct day {
    const char *file;
    struct job job[JOBS];
} days[] = {
    /* Eight MI50 without bridges, four below each processor. One GPU breaks into the first
     * processor; the pair goes beside it, so that the four get the other one whole. */
    {"flux-core_corona.xml",
     {JOB(1, "0"), JOB(2, "1,2"), JOB(4, "4,5,6,7"), JOB(2, NULL), JOB(1, "3")}},
    {"flux-core_corona.xml", {JOB(4, "0,1,2,3"), JOB(4, "4,5,6,7")}},
    {"flux-core_corona.xml", {JOB(8, "0,1,2,3,4,5,6,7")}},
    /* Three fill a processor as far as they can; the next three find one GPU there: they go to the
     * other processor, and the two single ones are left for two jobs of one GPU. */
    {"flux-core_corona.xml", {JOB(3, "0,1,2"), JOB(3, "4,5,6"), JOB(1, "3"), JOB(1, "7")}},
    /* The InfiniBand card is below the second processor. Four do not share a processor
     * with earlier jobs, card or not: closeness of the GPUs comes first. */
    {"flux-core_corona.xml", {NEAR_CARD(1, "4"), NEAR_CARD(2, "5,6"), NEAR_CARD(4, "0,1,2,3")}},
    /* 24 cores a processor: two jobs of twelve, and the third goes where cores are near. */
    {"flux-core_corona.xml",
     {WITH_CORES(1, "0", 12), WITH_CORES(1, "1", 12), WITH_CORES(1, "4", 12),
      WITH_CORES(1, "5", 12)}},

    /* Four H100, all joined alike by NVLink; two below each processor, each in a domain of its own.
     * A pair stays below one processor: so does its traffic to memory and cards. */
    {"flux-core_ipa20.xml", {JOB(1, "0"), JOB(2, "2,3"), JOB(1, "1")}},
    {"flux-core_ipa20.xml", {JOB(2, "0,1"), JOB(2, "2,3")}},
    {"flux-core_ipa20.xml", {JOB(4, "0,1,2,3"), JOB(1, NULL)}},
    /* GPU 2 has no card in its domain; the others have. */
    {"flux-core_ipa20.xml", {NEAR_CARD(1, "0"), NEAR_CARD(1, "1"), NEAR_CARD(1, "3")}},

    /* Two V100 below each POWER9, joined by NVLink that hwloc 1 did not know: the same domain
     * tells. */
    {"flux-core_sierra.xml", {JOB(1, "0"), JOB(2, "2,3"), JOB(1, "1")}},
    {"flux-core_sierra.xml", {JOB(2, "0,1"), JOB(2, "2,3")}},
    {"flux-core_sierra.xml", {JOB(4, "0,1,2,3"), JOB(1, NULL)}},
    /* As Sierra; here the two are below one bridge. */
    {"flux-sched_lassen.xml", {JOB(1, "0"), JOB(2, "2,3"), JOB(1, "1")}},
    {"flux-sched_lassen.xml", {JOB(2, "0,1"), JOB(2, "2,3")}},
    {"flux-sched_lassen.xml",
     {WITH_CORES(1, "0", 12), WITH_CORES(1, "2", 12), WITH_CORES(1, "1", 8),
      WITH_CORES(1, "3", 8)}},

    /* Four MI300A in six parts each, all joined alike by Infinity Fabric; parts of one share its
     * memory. Jobs of up to six stay in one, and begin where one is begun already if they fit in
     * the rest. */
    {"flux-core_tuo.CPX.xml",
     {JOB(1, "0"), JOB(2, "1,2"), JOB(4, "6,7,8,9"), JOB(8, "10,11,12,13,14,15,16,17"),
      JOB(3, "3,4,5")}},
    {"flux-core_tuo.CPX.xml",
     {JOB(6, "0,1,2,3,4,5"), JOB(6, "6,7,8,9,10,11"), JOB(1, "12"), JOB(6, "18,19,20,21,22,23"),
      JOB(6, NULL)}},
    {"flux-core_tuo.CPX.xml",
     {JOB(8, "0,1,2,3,4,5,6,7"), JOB(4, "8,9,10,11"), JOB(6, "12,13,14,15,16,17"),
      JOB(2, "18,19")}},
    /* In one part each: any pair is as good as any other. */
    {"flux-core_tuo.SPX.xml", {JOB(1, "0"), JOB(2, "1,2"), JOB(1, "3")}},
    {"flux-core_tuo.SPX.xml", {JOB(2, "0,1"), JOB(2, "2,3")}},
    {"flux-core_tuo.SPX.xml", {JOB(4, "0,1,2,3")}},

    /* A GTX 1070 and a Vega on dies of their own; the cards are beside the first. */
    {"flux-sched_chimera.xml", {JOB(1, "0"), JOB(1, "1")}},
    {"flux-sched_chimera.xml", {JOB(2, "0,1"), JOB(1, NULL)}},
    {"flux-sched_chimera.xml", {WITH_CORES(1, "0", 6), WITH_CORES(1, "1", 6)}},

    /* Two linked pairs. The single job breaks one; the pair gets the other. */
    {"hwloc2.9_power8gpudistances.xml", {JOB(1, "0"), JOB(2, "2,3"), JOB(1, "1")}},
    {"hwloc2.9_power8gpudistances.xml", {JOB(2, "0,1"), JOB(2, "2,3")}},
    {"hwloc2.9_power8gpudistances.xml", {JOB(4, "0,1,2,3")}},

    /* Sixteen V100 at one NVSwitch fabric: any set would do. Those below one PCIe switch (four
     * GPUs) and on one board go together, so that the eight get the other board whole. */
    {"hwloc2.x_nvidiaDGX2.xml",
     {JOB(1, "0"), JOB(2, "1,2"), JOB(4, "4,5,6,7"), JOB(8, "8,9,10,11,12,13,14,15"), JOB(1, "3")}},
    {"hwloc2.x_nvidiaDGX2.xml",
     {JOB(8, "0,1,2,3,4,5,6,7"), JOB(4, "8,9,10,11"), JOB(2, "12,13"), JOB(1, "14"), JOB(1, "15")}},
};
enum { DAYS = sizeof(days) / sizeof(days[0]) };

static const char *gpus_of(gang_alloc_id id)
{
    static char text[256];
    const struct task_list *list = stage_tasks(&s, id);
    ck_assert_uint_eq(list->count, 1);
    MUST(gang_task_text(s.c, &list->task[0], GANG_TASK_TEXT_GPUS, text, sizeof(text), NULL));
    return text;
}

static void run_job(const char *machine, int number, const struct job *job)
{
    struct gang_group_spec g = group_of(1, 1000 * job->cores, 1000 * job->gpus);
    g.near_nic = job->near_nic;
    struct outcome o = stage_try_group(&s, &g);
    ck_assert_msg((o.result == GANG_OK) == (job->set != NULL), "%s, job %d of %d GPUs: %s", machine,
                  number, job->gpus, gang_result_name(o.result));
    if (job->set)
        ck_assert_msg(strcmp(gpus_of(o.id), job->set) == 0, "%s, job %d: %s, not %s", machine,
                      number, gpus_of(o.id), job->set);
}

START_TEST(jobs_get_what_an_expert_gives_them)
{
    char path[64];
    struct gang_node_spec *spec;
    const struct day *day = &days[_i];
    if (!machine_unpack(day->file, path))
        return;
    MUST(gang_node_spec_from_hwloc_source(GANG_HWLOC_XML_FILE, path, NULL, &spec, NULL));
    unlink(path);
    MUST(gang_node_add(s.w, spec, NULL, NULL));
    gang_node_spec_free(spec);
    for (int i = 0; i < JOBS && day->job[i].gpus; i++)
        run_job(day->file, i, &day->job[i]);
}
END_TEST

/* ---- numbers of links ---- */

/* Cores and memory of one domain; links by number, 1000 MB/s each. */
static void add_linked(size_t gpus, const uint8_t *count)
{
    static struct box_arrays arrays;
    static struct gang_link_spec link[64];
    struct box box = {.name = "n1", .cpu = 8000, .gpus = gpus};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    spec.links = link;
    for (size_t i = 0; i < gpus; i++)
        for (size_t j = i + 1; j < gpus; j++)
            if (count[i * gpus + j])
                link[spec.link_count++] = (struct gang_link_spec){
                    (int32_t)i, (int32_t)j, GANG_LINK_NVLINK, 1, 1000 * count[i * gpus + j]};
    MUST(gang_node_add(s.w, &spec, NULL, NULL));
}

/* Slurm 26.05 gives 0,1, which have no link (`--gres=gpu:2`). */
START_TEST(pairs_of_four_links)
{
    static const uint8_t count[16] = {0, 0, 4, 0, 0, 0, 0, 4, 4, 0, 0, 0, 0, 4, 0, 0};
    static const struct job jobs[] = {JOB(2, "0,2"), JOB(1, "1"), JOB(1, "3")};
    add_linked(4, count);
    for (int i = 0; i < 3; i++)
        run_job("pairs", i, &jobs[i]);
}
END_TEST

static const uint8_t dgx1[64] = {0, 1, 1, 2, 2, 0, 0, 0, 1, 0, 2, 1, 0, 2, 0, 0, 1, 2, 0, 2, 0, 0,
                                 1, 0, 2, 1, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 1, 2, 0, 2, 0, 0,
                                 1, 0, 2, 1, 0, 0, 1, 0, 1, 2, 0, 2, 0, 0, 0, 1, 2, 1, 2, 0};

static int links_among(uint64_t gpus)
{
    int sum = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++)
            sum += (gpus >> i & 1) && (gpus >> j & 1) ? dgx1[i * 8 + j] : 0;
    return sum;
}

/* Slurm 22.05 reaches 2, 4 and 9; 26.05 reaches 1, 4 and 9. */
START_TEST(the_mesh_of_a_dgx1)
{
    static const int best[] = {0, 0, 2, 5, 9};
    add_linked(8, dgx1);
    for (int k = 2; k <= 4; k++) {
        struct gang_group_spec g = group_of(1, 0, 1000 * k);
        gang_alloc_id id = stage_alloc_group(&s, &g);
        ck_assert_int_eq(links_among(stage_tasks(&s, id)->task[0].gpus), best[k]);
        MUST(gang_alloc_free(s.w, id));
    }
}
END_TEST

/* Later jobs fare no worse than necessary: four pairs of two links each, two fours of nine. */
START_TEST(the_mesh_of_a_dgx1_is_shared_out_well)
{
    add_linked(8, dgx1);
    for (int k = 2; k <= 4; k += 2) {
        struct gang_group_spec g = group_of(1, 0, 1000 * k);
        gang_alloc_id id[4];
        for (int i = 0; i < 8 / k; i++) {
            id[i] = stage_alloc_group(&s, &g);
            ck_assert_int_eq(links_among(stage_tasks(&s, id[i])->task[0].gpus), k == 2 ? 2 : 9);
        }
        for (int i = 0; i < 8 / k; i++)
            MUST(gang_alloc_free(s.w, id[i]));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("machines");
    TCase *tests = tcase_create("machines");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_loop_test(tests, jobs_get_what_an_expert_gives_them, 0, DAYS);
    tcase_add_test(tests, pairs_of_four_links);
    tcase_add_test(tests, the_mesh_of_a_dgx1);
    tcase_add_test(tests, the_mesh_of_a_dgx1_is_shared_out_well);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
