/* SPDX-License-Identifier: Apache-2.0 */
/* Published traces: those of $GANG_SHARED/data, read whole. Numbers of jobs and sums are those
 * that their READMEs, or a line of awk, give. Without the data nothing is done; where everything
 * is slow only the first jobs are read. */
#include <gangsched/gangsched.h>

#include "support.h"

#include "trace/trace_same.h"

#define S INT64_C(1000000000)

static const struct file {
    const char *path;
    int32_t format;
    size_t jobs;
    int64_t tasks, gpu_milli, cpu_milli, memory_mib, submit_s, run_s, limit_s;
} files[] = {
    {"philly/jobs_all.csv.gz", GANG_TRACE_PHILLY, 82247, 0, 107235000, 0, 0, INT64_C(187656356268),
     1080390950, 0},
    {"swf_sc15/KTH-SP2.csv.gz", GANG_TRACE_PROCS, 28481, 218206, 0, 218206000, 0,
     INT64_C(432801540937), 252339555, 389572200},
    {"swf_sc15/SDSC-SP2.csv.gz", GANG_TRACE_PROCS, 54006, 0, 0, -1, 0, -1, -1, -1},
    {"swf_sc15/CTC-SP2.csv.gz", GANG_TRACE_PROCS, 77199, 0, 0, -1, 0, -1, -1, -1},
    {"swf_sc15/SDSC-BLUE.csv.gz", GANG_TRACE_PROCS, 232542, 9598328, 0, INT64_C(9598328000), 0,
     INT64_C(10254585035259), 980594629, INT64_C(2257121661)},
    {"swf_other/lublin_256.csv.gz", GANG_TRACE_PROCS, 10000, 221010, 0, 221010000, 0, -1, 48627667,
     48627667},
    {"swf_other/hpc2n_alea.csv.gz", GANG_TRACE_PROCS, 3145, 62449, 0, 62449000, 0, -1, 31826209,
     75541680},
    {"swf_other/sdsc_sp2_5k.csv.gz", GANG_TRACE_PROCS, 4606, 0, 0, -1, 0, -1, -1, -1},
    {"openb/openb_pod_list_default.csv.gz", GANG_TRACE_OPENB, 8152, 8152, 6086800, 85436012,
     303546211, -1, 210197755, 0},
    {"openb/openb_pod_list_multigpu50.csv.gz", GANG_TRACE_OPENB, 9061, 9061, -1, -1, -1, 0, 0, 0},
    {"tiresias60/60_job.csv", GANG_TRACE_TIRESIAS, 60, 60, 170000, 0, 0, 52710, 10705, 0},
};

/* The whole file as text; NULL: it is not there. */
static char *load(const char *name, size_t *length)
{
    char path[512], command[600];
    *length = 0;
    snprintf(command, sizeof(command), "data/%s", name);
    if (!gang_shared_path(path, sizeof(path), command))
        return NULL;
    bool packed = strcmp(name + strlen(name) - 3, ".gz") == 0;
    snprintf(command, sizeof(command), packed ? "gzip -dc '%s'" : "cat '%s'", path);
    FILE *f = popen(command, "r");
    char *text = NULL;
    size_t cap = 0;
    ck_assert_ptr_nonnull(f);
    for (size_t got = 1; got; *length += got) {
        if (cap - *length < 65536) {
            cap = cap * 2 + 65536;
            text = realloc(text, cap);
            ck_assert_ptr_nonnull(text);
        }
        got = fread(text + *length, 1, cap - *length, f);
    }
    ck_assert_int_eq(pclose(f), 0);
    return text;
}

static int64_t sum_of(const gang_trace *trace, int32_t column, int64_t unit)
{
    int64_t sum = 0, value;
    for (size_t i = 0; i < gang_trace_count(trace); i++) {
        test_assert(gang_trace_column(trace, column, i, 1, &value) == GANG_OK);
        test_assert(value % unit == 0);
        sum += value / unit;
    }
    return sum;
}

/* -1: not looked at. */
static void check_sum(const gang_trace *trace, int32_t column, int64_t unit, int64_t expected)
{
    if (expected >= 0)
        ck_assert_int_eq(sum_of(trace, column, unit), expected);
}

static void check_sums(const gang_trace *trace, const struct file *file)
{
    ck_assert_uint_eq(gang_trace_count(trace), file->jobs);
    ck_assert_uint_eq(gang_trace_skipped(trace), 0);
    check_sum(trace, GANG_TRACE_TASKS, 1, file->tasks ? file->tasks : -1);
    check_sum(trace, GANG_TRACE_GPU_MILLI, 1, file->gpu_milli);
    check_sum(trace, GANG_TRACE_CPU_MILLI, 1, file->cpu_milli);
    check_sum(trace, GANG_TRACE_MEMORY_BYTES, MIB, file->memory_mib);
    check_sum(trace, GANG_TRACE_SUBMIT_NS, S, file->submit_s);
    check_sum(trace, GANG_TRACE_RUN_NS, S, file->run_s);
    check_sum(trace, GANG_TRACE_LIMIT_NS, S, file->limit_s);
}

/* _i: which file */
START_TEST(a_published_trace_is_read_whole)
{
    const struct file *file = &files[_i];
    struct gang_error error = GANG_ERROR_INIT;
    size_t length;
    char *text = load(file->path, &length);
    gang_trace *trace;
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    bool is_quick = getenv("GANG_TEST_QUICK") != NULL;
    opts.max_jobs = is_quick ? 1000 : 0;
    if (!text) {
        printf("skipped: no %s; set GANG_SHARED\n", file->path);
        return;
    }
    gang_result r = gang_trace_read(text, length, &opts, &trace, &error);
    ck_assert_msg(r == GANG_OK, "line %d '%s': %s", (int)error.line, error.path, error.text);
    ck_assert_int_eq(gang_trace_format(trace), file->format);
    if (is_quick)
        ck_assert_uint_eq(gang_trace_count(trace), file->jobs < 1000 ? file->jobs : 1000);
    else
        check_sums(trace, file);
    struct trace_output out = {NULL, 0, 0};
    gang_trace *again;
    MUST(gang_trace_write(trace, _i % 2 ? GANG_TRACE_CSV : GANG_TRACE_JSONL, trace_append, &out,
                          NULL));
    MUST(gang_trace_read(out.bytes, out.length, NULL, &again, NULL));
    const char *difference = trace_difference(trace, again);
    ck_assert_msg(!difference, "written and read again it differs: %s", difference);
    gang_trace_free(again);
    gang_trace_free(trace);
    free(out.bytes);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_data");
    TCase *tcase = tcase_create("published");
    tcase_add_loop_test(tcase, a_published_trace_is_read_whole, 0,
                        sizeof(files) / sizeof(files[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
