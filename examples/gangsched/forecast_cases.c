/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched forecast: run the cases of a scenario file and print the expected starts of waiting
 * jobs. */
#include "gangsched/scenario_case.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"
#include "gangsched/json_out.h"
#include "gangsched/page.h"
#include "gangsched/what_if.h"

static const char *only_case, *samples_text, *seed_text, *horizon_text;
static bool as_json;
static struct what_if what;

static const struct cli_option options[] = {{"case", &only_case, NULL},
                                            {"samples", &samples_text, NULL},
                                            {"seed", &seed_text, NULL},
                                            {"horizon", &horizon_text, NULL},
                                            {"add-nodes", &what.add_nodes, NULL},
                                            {"like", &what.like, NULL},
                                            {"drain", &what.drain, NULL},
                                            {"limit", &what.limit, NULL},
                                            {"submit", &what.submit, NULL},
                                            {"json", NULL, &as_json},
                                            {NULL, NULL, NULL}};

static const struct cli_command command = {
    "forecast", "[OPTION...] FILE",
    "Runs the cases of a file as \"gangsched scenario\" does and tells when waiting jobs are\n"
    "expected to start. Jobs run for their run_time_s, at most for their time limit.\n"
    "  --case ID          only this case\n"
    "  --samples N        draw run times N times (1 to 10000): median, and 10 % and 90 %\n"
    "  --seed N           seed of the draws; 0 unless given\n"
    "  --horizon SECONDS  look at most this far ahead\n"
    "  --json             one JSON object a job and line\n"
    "What if (the output also shows what is expected without the change):\n"
    "  --add-nodes N      add N nodes like the last of the case, or like --like NODE\n"
    "  --drain NAME       start nothing new on this node, or in the domains of this name\n"
    "  --limit QUEUE.KIND=AMOUNT   set a limit of a queue: gpu, cpu, mem_mib or a kind; -1: "
    "none\n"
    "  --submit FILE/JOB  also submit this job of a scenario file\n"
    "  FILE               a scenario file; -: standard input\n",
    options};

/* Input and results. */
struct asked {
    const char *file;
    struct gang_forecast_opts opts;
    struct what_if_job more;
    struct page page;
};

/* ---- how long jobs run ---- */

/* Results of one case: by job; the submitted job is the last. */
struct lengths {
    const struct gang_scenario_time **of;
    bool drawn; /* else the median */
};

static int64_t run_time(gang_job_id job, uint64_t cookie, int32_t sample, uint64_t draw, void *user)
{
    const struct lengths *lengths = user;
    const struct gang_scenario_time *time = lengths->of[cookie];
    (void)job;
    (void)sample;
    if (time == NULL || time->run_time_count == 0) {
        return 0;
    }
    if (lengths->drawn) {
        return time->run_time_ns[draw % time->run_time_count];
    }
    int64_t below = time->run_time_ns[(time->run_time_count - 1) / 2];
    return below + (time->run_time_ns[time->run_time_count / 2] - below) / 2;
}

static bool lengths_make(struct lengths *lengths, const struct gang_scenario *scenario,
                         const struct asked *asked)
{
    lengths->of = calloc(scenario->job_count + 1, sizeof(struct gang_scenario_time *));
    if (lengths->of == NULL) {
        return false;
    }
    lengths->drawn = asked->opts.samples > 1;
    for (size_t i = 0; i < scenario->time_count; i++) {
        lengths->of[scenario->times[i].job] = &scenario->times[i];
    }
    for (size_t i = 0; asked->more.job != SIZE_MAX && i < asked->more.scenario.time_count; i++) {
        if (asked->more.scenario.times[i].job == asked->more.job) {
            lengths->of[scenario->job_count] = &asked->more.scenario.times[i];
        }
    }
    return true;
}

/* ---- a case ---- */

struct forecast {
    struct asked *asked;
    const struct case_end *end;
    struct lengths lengths;
    gang_forecast *without, *with; /* with: NULL if nothing is changed */
};

static int fail(const struct forecast *f, gang_result result, const struct gang_error *error)
{
    return cli_failf(f->asked->file, "case '%s': %s", f->end->scenario->id,
                     error->text[0] != '\0' ? error->text : gang_strerror(result));
}

static int make(struct forecast *f, bool changed, gang_forecast **made)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_forecast_opts opts = f->asked->opts;
    int status = CLI_OK;
    opts.now_ns = f->end->now_ns;
    opts.run_time = run_time;
    opts.user = &f->lengths;
    gang_result result = gang_forecast_new(f->end->sched, &opts, made, &error);
    if (result == GANG_OK && changed) {
        const struct what_if_forecast forecast = {f->asked->file, f->end->scenario, *made,
                                                  f->end->now_ns};
        status = what_if_apply(&what, &f->asked->more, f->end->scenario->job_count, &forecast);
    }
    if (result == GANG_OK && status == CLI_OK) {
        result = gang_forecast_run(*made, &error);
    }
    return result == GANG_OK ? status : fail(f, result, &error);
}

static const struct gang_job_spec *spec_of(const struct forecast *f, uint64_t cookie)
{
    const struct gang_scenario *c = f->end->scenario;
    return cookie < c->job_count ? &c->jobs[cookie]
                                 : &f->asked->more.scenario.jobs[f->asked->more.job];
}

/* ---- why it does not ---- */

static const char *wait_word(int32_t wait)
{
    static const char *const words[] = {"",
                                        "no capacity",
                                        "limit",
                                        "guarantee",
                                        "user limit",
                                        "maximum of running jobs",
                                        "held",
                                        "waits for another job",
                                        "its queue is closed",
                                        "behind another job",
                                        "in back-off",
                                        "waits for preempted jobs",
                                        "cells",
                                        "not lent",
                                        "",
                                        "behind planned starts",
                                        "begins later",
                                        "behind a starved job",
                                        "waits for its turn",
                                        "reserved"};
    return wait > 0 && wait < (int32_t)(sizeof words / sizeof words[0]) ? words[wait] : "";
}

static const char *what_word(int32_t what_is)
{
    static const char *const words[] = {"starts", "later", "never", "ends"};
    return words[what_is];
}

/* ---- English ---- */

static struct cli_text when(const struct forecast *f, int64_t at_ns, int32_t what_is)
{
    struct cli_text text;
    if (at_ns != INT64_MAX) {
        return cli_duration((double)(at_ns - f->end->now_ns) / 1e9);
    }
    snprintf(text.s, sizeof text.s, "%s", what_is == GANG_EXPECTED_LATER ? "later" : "never");
    return text;
}

static int32_t print_line(const struct gang_expected *e, void *user)
{
    const struct forecast *f = user;
    struct page *page = &f->asked->page;
    const struct gang_job_spec *spec = spec_of(f, e->cookie);
    struct gang_expected before = GANG_EXPECTED_INIT;
    page_printf(page, "  %-16s %-12s %12s", spec->name, spec->queue != NULL ? spec->queue : "-",
                when(f, e->start_ns, e->what).s);
    if (f->asked->opts.samples > 1) {
        page_printf(page, " %12s %12s", when(f, e->low_ns, e->what).s,
                    when(f, e->high_ns, e->what).s);
    }
    if (f->with != NULL) {
        bool there = gang_forecast_get(f->without, e->job, &before) == GANG_OK &&
                     e->cookie < f->end->scenario->job_count;
        page_printf(page, " %12s", there ? when(f, before.start_ns, before.what).s : "-");
    }
    if (e->start_ns == INT64_MAX && wait_word(e->wait)[0] != '\0') {
        page_printf(page, "  %s", wait_word(e->wait));
    }
    page_printf(page, "\n");
    return 0;
}

static void print_head(const struct forecast *f)
{
    struct page *page = &f->asked->page;
    page_printf(page, "case %s\n  %-16s %-12s %12s", f->end->scenario->id, "job", "queue",
                "starts in");
    if (f->asked->opts.samples > 1) {
        page_printf(page, " %12s %12s", "10 % within", "90 % within");
    }
    page_printf(page, f->with != NULL ? " %12s\n" : "\n", "without");
}

static int32_t print_json_line(const struct gang_expected *e, void *user)
{
    const struct forecast *f = user;
    const struct gang_job_spec *spec = spec_of(f, e->cookie);
    struct gang_expected before = GANG_EXPECTED_INIT;
    json_t *object = json_object();
    bool good = json_put(object, "case", json_string(f->end->scenario->id));
    good = json_put(object, "job", json_string(spec->name)) && good;
    good = json_put(object, "queue", spec->queue ? json_string(spec->queue) : json_null()) && good;
    good = json_put(object, "what", json_string(what_word(e->what))) && good;
    good = json_put(object, "start_s", json_seconds(e->start_ns, f->end->now_ns)) && good;
    if (f->asked->opts.samples > 1) {
        good = json_put(object, "low_s", json_seconds(e->low_ns, f->end->now_ns)) && good;
        good = json_put(object, "high_s", json_seconds(e->high_ns, f->end->now_ns)) && good;
        good = json_put(object, "samples", json_integer(e->samples)) && good;
    }
    if (e->start_ns == INT64_MAX) {
        good = json_put(object, "wait", json_string(wait_word(e->wait))) && good;
    }
    if (f->with != NULL && e->cookie < f->end->scenario->job_count &&
        gang_forecast_get(f->without, e->job, &before) == GANG_OK) {
        good = json_put(object, "without_s", json_seconds(before.start_ns, f->end->now_ns)) && good;
    }
    if (!good) {
        json_decref(object);
        f->asked->page.failed = true;
        return 0;
    }
    page_json(&f->asked->page, object);
    return 0;
}

/* The scheduler does not know the job, but the output lists it, too: with the reason. */
static bool print_refused(const struct forecast *f, size_t job)
{
    const struct gang_job_spec *spec = spec_of(f, job);
    const char *reason = f->end->notes[job];
    if (!as_json) {
        page_printf(&f->asked->page, "  %-16s %-12s %12s  %s\n", spec->name,
                    spec->queue != NULL ? spec->queue : "-", "refused", reason);
        return true;
    }
    json_t *object = json_object();
    bool good = json_put(object, "case", json_string(f->end->scenario->id));
    good = json_put(object, "job", json_string(spec->name)) && good;
    good = json_put(object, "queue", spec->queue ? json_string(spec->queue) : json_null()) && good;
    good = json_put(object, "what", json_string("refused")) && good;
    good = json_put(object, "start_s", json_null()) && good;
    good = json_put(object, "reason", json_string(reason)) && good;
    if (!good) {
        json_decref(object);
        return false;
    }
    page_json(&f->asked->page, object);
    return true;
}

/* Jobs that were not taken: refused ones, and those that could never run. */
static void print_other_jobs(const struct forecast *f)
{
    const struct gang_scenario *c = f->end->scenario;
    for (size_t i = 0; i < c->job_count; i++) {
        struct gang_expected e = GANG_EXPECTED_INIT;
        if (f->end->refused[i]) {
            f->asked->page.failed = !print_refused(f, i) || f->asked->page.failed;
            continue;
        }
        if (f->end->ids[i] != GANG_ID_NONE) {
            continue;
        }
        e.cookie = i;
        e.what = GANG_EXPECTED_NEVER;
        e.start_ns = e.low_ns = e.high_ns = INT64_MAX;
        (void)(as_json ? print_json_line(&e, (void *)(uintptr_t)f)
                       : print_line(&e, (void *)(uintptr_t)f));
    }
}

static int show_case(const struct case_end *end, void *user)
{
    struct forecast f = {.asked = user, .end = end};
    int status = lengths_make(&f.lengths, end->scenario, f.asked) ? CLI_OK : cli_no_memory();
    if (status == CLI_OK) {
        status = make(&f, false, &f.without);
    }
    if (status == CLI_OK && what_if_any(&what)) {
        status = make(&f, true, &f.with);
    }
    if (status == CLI_OK) {
        if (!as_json) {
            print_head(&f);
        }
        gang_result result = gang_forecast_each(f.with != NULL ? f.with : f.without,
                                                as_json ? print_json_line : print_line, &f);
        (void)result; /* the visitors do not stop it */
        print_other_jobs(&f);
    }
    gang_forecast_free(f.with);
    gang_forecast_free(f.without);
    free(f.lengths.of);
    return status;
}

/* ---- the command ---- */

static int read_options(struct asked *asked)
{
    int64_t number = 0;
    asked->opts = (struct gang_forecast_opts)GANG_FORECAST_OPTS_INIT;
    if (samples_text != NULL && !cli_parse_number(samples_text, 1, 10000, &number)) {
        return cli_wrong_usage(&command, "--samples %s: not a number from 1 to 10000",
                               samples_text);
    }
    asked->opts.samples = samples_text != NULL ? (int32_t)number : 1;
    if (seed_text != NULL && !cli_parse_number(seed_text, 0, INT64_MAX, &number)) {
        return cli_wrong_usage(&command, "--seed %s: not a number", seed_text);
    }
    asked->opts.seed = seed_text != NULL ? (uint64_t)number : 0;
    if (horizon_text != NULL && !cli_parse_number(horizon_text, 1, INT64_C(4000000000), &number)) {
        return cli_wrong_usage(&command, "--horizon %s: not a number of seconds", horizon_text);
    }
    asked->opts.horizon_ns = horizon_text != NULL ? number * INT64_C(1000000000) : 0;
    if (what.like != NULL && what.add_nodes == NULL) {
        return cli_wrong_usage(&command, "--like without --add-nodes");
    }
    return CLI_OK;
}

int cmd_forecast(int argc, char **argv)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios = NULL;
    struct asked asked = {0};
    int status = cli_parse_file(&command, &argc, argv);
    if (status != CLI_GO_ON) {
        return status;
    }
    asked.file = argv[1];
    status = read_options(&asked);
    if (status == CLI_OK) {
        status = what_if_open(&what, &asked.more);
    }
    if (status == CLI_OK && cli_read_cases(argv[1], &scenarios, &error) != GANG_OK) {
        status = cli_fail(argv[1], &error);
    }
    if (status == CLI_OK) {
        status = scenario_run_each(asked.file, scenarios, only_case, true, show_case, &asked);
    }
    gang_scenarios_free(scenarios);
    what_if_close(&asked.more);
    return page_finish(&asked.page, status);
}
