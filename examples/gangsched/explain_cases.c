/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched explain: run the cases of a scenario file and tell why their jobs wait. */
#include "gangsched/scenario_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"
#include "gangsched/json_out.h"
#include "gangsched/page.h"

static const char *only_case;
static const char *only_job;
static bool as_json;

static const struct cli_option options[] = {{"case", &only_case, NULL},
                                            {"job", &only_job, NULL},
                                            {"json", NULL, &as_json},
                                            {NULL, NULL, NULL}};

static const struct cli_command command = {
    "explain", "[--case ID] [--job NAME] [--json] FILE",
    "Runs the cases of a file as \"gangsched scenario\" does and tells why jobs still wait,\n"
    "and why they preempt no other job.\n"
    "  --case ID    only this case\n"
    "  --job NAME   only this job, also if it runs\n"
    "  --json       one JSON object a job and line\n"
    "  FILE         a scenario file; -: standard input\n",
    options};

/* Output so far; printed after all cases have run. */
struct output {
    const char *file;
    struct page page;
    size_t cases;   /* that were looked at */
    size_t jobs;    /* of the name asked for */
    size_t printed; /* of the case under way */
};

/* ---- English ---- */

struct english {
    struct output *out;
    gang_cluster *cluster;
};

static const char *kind_name(gang_cluster *cluster, int32_t kind)
{
    struct gang_kind_info info = GANG_KIND_INFO_INIT;
    return gang_kind_get(cluster, kind, &info) == GANG_OK ? info.name : "?";
}

static const struct gang_explanation_kind *kind_at(const struct gang_explanation *e, size_t i)
{
    return (const void *)((const char *)e->kinds + i * e->kind_size);
}

/* "12 nodes: 9 take a task; state stops 1, kind 2 (gpu 2, cpu 1)". */
static void tell_nodes(struct english *to, const struct gang_explanation *e)
{
    char text[1024], kinds[700] = "";
    size_t used = 0;
    for (size_t i = 0; i < e->kind_count; i++) {
        const struct gang_explanation_kind *k = kind_at(e, i);
        if (k->nodes > 0 && used + 300 < sizeof kinds) {
            used +=
                (size_t)snprintf(kinds + used, sizeof kinds - used, "%s%.255s %" PRId64,
                                 used > 0 ? ", " : " (", kind_name(to->cluster, k->kind), k->nodes);
        }
    }
    if (used > 0) {
        snprintf(kinds + used, sizeof kinds - used, ")");
    }
    used = (size_t)snprintf(text, sizeof text, "%" PRId64 " node%s: %" PRId64 " take%s a task",
                            e->nodes, e->nodes == 1 ? "" : "s", e->nodes_fit,
                            e->nodes_fit == 1 ? "s" : "");
    const char *before = ";";
    for (size_t i = 0; i < e->refused_count; i++) {
        if (e->refused[i] > 0 && used < sizeof text) {
            bool short_of = i == GANG_CONSTRAINT_KIND || i == GANG_CONSTRAINT_POOL;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s %s stops %" PRId64 "%s",
                                     before, gang_constraint_name((int32_t)i), e->refused[i],
                                     short_of ? kinds : "");
            before = ",";
        }
    }
    page_line(&to->out->page, "    %s", text);
}

static int32_t print_english(const struct gang_explanation *e, void *user)
{
    struct english *to = user;
    bool whole = e->group < 0 && e->group_set < 0;
    if (whole && e->result != GANG_OK && (e->because_group >= 0 || e->because_group_set >= 0)) {
        return 0; /* printed already */
    }
    if (!whole || e->domain != NULL || e->result != GANG_OK) {
        page_line(&to->out->page, "  %s%s", whole ? "all: " : "", e->text);
    }
    if (e->group >= 0) {
        tell_nodes(to, e);
    }
    if (e->domain != NULL) {
        page_line(&to->out->page, "    best %s: %s, %" PRId64 " of %" PRId64 " task%s", e->level,
                  e->domain, e->domain_holds, e->domain_want, e->domain_want == 1 ? "" : "s");
    }
    return to->out->page.failed ? GANG_ENOMEM : 0;
}

static const char *answer_of(gang_result answer)
{
    return answer == GANG_OK ? "fits now" : answer == GANG_ENOFIT ? "not now" : "never";
}

static int32_t note_answer(const struct gang_explanation *e, void *user)
{
    gang_result *answer = user;
    *answer = e->answer;
    return 1; /* which is the same for all */
}

/* The request of a job, for an explanation of its placement. */
static gang_result request_of(const struct case_end *end, size_t job, gang_request **request)
{
    return gang_request_new(gang_sched_cluster(end->sched), &end->scenario->jobs[job].request,
                            request, NULL);
}

static void print_head(struct output *out, const struct case_end *end, size_t job,
                       const char *answer)
{
    page_line(&out->page, "case %s, job %s: %s", end->scenario->id, end->scenario->jobs[job].name,
              answer);
}

/* Why it has no place. `answer`: what to say if it had one; NULL: speak only if it could never
 * have any. */
static gang_result print_place(struct output *out, const struct case_end *end, size_t job,
                               const char *answer, bool *printed)
{
    struct english to = {out, gang_sched_cluster(end->sched)};
    gang_request *request;
    gang_result fits = GANG_OK;
    gang_result result = request_of(end, job, &request);
    if (result != GANG_OK) {
        return result;
    }
    result = gang_request_explain(end->worker, request, note_answer, &fits);
    *printed = result == 1 && (fits == GANG_ENEVER || answer != NULL);
    if (*printed) {
        print_head(out, end, job, fits != GANG_OK ? answer_of(fits) : answer);
        result = gang_request_explain(end->worker, request, print_english, &to);
    }
    gang_request_free(request);
    return result == 1 ? GANG_OK : result;
}

/* One that could never run, on the nodes or in its queue. */
static gang_result tell_never(struct output *out, const struct case_end *end, size_t job)
{
    bool printed;
    gang_result result = print_place(out, end, job, NULL, &printed);
    if (result == GANG_OK && !printed) {
        print_head(out, end, job, "never");
        page_line(&out->page, "  %s", end->notes[job]);
    }
    return result;
}

static const char *category_name(int32_t category)
{
    static const char *const names[] = {"not now", "never", "held", "policy"};
    bool known = category >= 0 && (size_t)category < sizeof names / sizeof names[0];
    return known ? names[category] : "?";
}

/* The reason that decides. */
struct decisive {
    int32_t reason; /* 0: there is none */
    int32_t category;
};

static int32_t note_decisive(const struct gang_wait *wait, void *user)
{
    struct decisive *first = user;
    *first = (struct decisive){wait->reason, wait->category};
    return 1;
}

/* The other reasons; a lack of capacity is explained elsewhere. */
static int32_t tell_wait(const struct gang_wait *wait, void *user)
{
    struct output *out = user;
    if (wait->reason != GANG_WAIT_CAPACITY) {
        page_line(&out->page, "  %s", wait->text);
    }
    return out->page.failed ? GANG_ENOMEM : 0;
}

static gang_result decide(const struct case_end *end, size_t job, struct decisive *first)
{
    *first = (struct decisive){0, GANG_WAIT_CATEGORY_NOT_NOW};
    gang_result result = gang_job_explain(end->sched, end->ids[job], note_decisive, first);
    return result == 1 ? GANG_OK : result;
}

/* ---- English: why it preempts no other job ---- */

/* "2000", or "none" of what is not managed. */
static const char *bound_text(int64_t bound, char *text, size_t size)
{
    if (bound == GANG_UNLIMITED) {
        return "none";
    }
    snprintf(text, size, "%" PRId64, bound);
    return text;
}

static void tell_queue(struct output *out, gang_cluster *cluster,
                       const struct gang_preemption_queue *queue)
{
    char guarantee[24], share[24], limit[24];
    page_line(&out->page, "    queue \"%s\": turn %d of %d, %" PRId64 " job%s run%s", queue->name,
              queue->turn, queue->siblings, queue->running, queue->running == 1 ? "" : "s",
              queue->running == 1 ? "s" : "");
    for (size_t i = 0; i < queue->amount_count; i++) {
        const struct gang_preemption_amount *a = &queue->amounts[i];
        struct gang_kind_info kind = GANG_KIND_INFO_INIT;
        if (gang_kind_get(cluster, a->kind, &kind) != GANG_OK) {
            continue;
        }
        page_line(&out->page,
                  "      %s in %s%s%s: %" PRId64 " used, guarantee %s, fair share %s, limit %s",
                  kind.name, kind.unit, a->partition ? ", partition " : "",
                  a->partition ? a->partition : "", a->used,
                  bound_text(a->guarantee, guarantee, sizeof guarantee),
                  bound_text(a->share, share, sizeof share),
                  bound_text(a->limit, limit, sizeof limit));
    }
}

/* Nothing, if no gang that runs was considered. */
static gang_result tell_preemption(struct output *out, const struct case_end *end, size_t job)
{
    struct gang_preemption *preemption;
    gang_result result = gang_job_explain_preemption(end->sched, end->ids[job], &preemption);
    if (result != GANG_OK) {
        return result;
    }
    if (preemption->rule_count > 0) {
        page_line(&out->page, "  preemption: %s", preemption->text);
        if (preemption->moves_text[0] != '\0') {
            page_line(&out->page, "  moves: %s", preemption->moves_text);
        }
    }
    for (size_t i = 0; i < preemption->rule_count; i++) {
        const struct gang_preemption_rule *rule =
            (const void *)((const char *)preemption->rules + i * preemption->rule_size);
        page_line(&out->page, "    %s", rule->text);
    }
    for (size_t i = 0; preemption->rule_count > 0 && i < preemption->queue_count; i++) {
        tell_queue(out, gang_sched_cluster(end->sched),
                   (const void *)((const char *)preemption->queues + i * preemption->queue_size));
    }
    gang_preemption_free(preemption);
    return GANG_OK;
}

static gang_result tell_pending(struct output *out, const struct case_end *end, size_t job)
{
    struct decisive first;
    bool printed;
    if (end->refused[job]) {
        print_head(out, end, job, "refused");
        page_line(&out->page, "  %s", end->notes[job]);
        return GANG_OK;
    }
    if (end->ids[job] == GANG_ID_NONE) {
        return tell_never(out, end, job);
    }
    if (end->notes[job] != NULL) {
        print_head(out, end, job, "ended");
        page_line(&out->page, "  %s", end->notes[job]);
        return GANG_OK;
    }
    gang_result result = decide(end, job, &first);
    if (result == GANG_OK && (first.reason == GANG_WAIT_CAPACITY || first.reason == 0)) {
        result = print_place(out, end, job, category_name(first.category), &printed);
    } else if (result == GANG_OK) {
        print_head(out, end, job, category_name(first.category));
    }
    if (result == GANG_OK) {
        result = gang_job_explain(end->sched, end->ids[job], tell_wait, out);
    }
    return result == GANG_OK ? tell_preemption(out, end, job) : result;
}

static gang_result tell_running(struct output *out, const struct case_end *end, size_t job)
{
    struct english to = {out, gang_sched_cluster(end->sched)};
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    gang_result result = gang_alloc_get(gang_sched_cluster(end->sched), end->allocs[job], &info);
    if (result != GANG_OK) {
        return result;
    }
    page_line(&out->page, "case %s, job %s: runs with %" PRId64 " of %" PRId64 " task%s",
              end->scenario->id, end->scenario->jobs[job].name, info.tasks, info.count,
              info.count == 1 ? "" : "s");
    result = gang_alloc_explain(end->worker, end->allocs[job], -1, print_english, &to);
    return result == GANG_ERANGE ? GANG_OK : result; /* it has all it can use */
}

/* ---- JSON ---- */

static bool add_line(struct output *out, json_t *object, bool good)
{
    good = good && json_dump_callback(object, page_append, &out->page, 0) == 0 &&
           page_append("\n", 1, &out->page) == 0;
    json_decref(object);
    return good;
}

/* Text that is one JSON object, as a tree; NULL: out of memory. */
static json_t *parse(struct page *text)
{
    json_t *object = text->failed ? NULL : json_loadb(text->text, text->length, 0, NULL);
    free(text->text);
    return object;
}

/* Why it has no place; nothing, if it has one. `never`: only if it could never have any. */
static gang_result add_place(json_t *object, const struct case_end *end, size_t job, bool never)
{
    struct page text = {0};
    gang_request *request;
    gang_result result = request_of(end, job, &request);
    if (result != GANG_OK) {
        return result;
    }
    result = gang_request_write_explanation(end->worker, request, page_append, &text);
    gang_request_free(request);
    json_t *why = parse(&text);
    if (result != GANG_OK || why == NULL) {
        json_decref(why);
        return result != GANG_OK && !text.failed ? result : GANG_ENOMEM;
    }
    const char *answer = json_string_value(json_object_get(why, "answer"));
    bool fits = answer == NULL || strcmp(answer, answer_of(GANG_OK)) == 0;
    if (fits || (never && strcmp(answer, answer_of(GANG_ENEVER)) != 0)) {
        json_decref(why);
        return GANG_OK;
    }
    return json_put(object, "why", why) ? GANG_OK : GANG_ENOMEM;
}

/* One that the scheduler does not know: it has no reasons but what was noted of it. */
static gang_result add_note(json_t *object, const struct case_end *end, size_t job)
{
    json_t *wait = json_object();
    bool ended = end->ids[job] != GANG_ID_NONE;
    const char *never = category_name(GANG_WAIT_CATEGORY_NEVER);
    bool good = ended || json_put(wait, "category", json_string(never));
    good = json_put(wait, "text", json_string(end->notes[job])) && good;
    good = json_put(object, "wait", wait) && good;
    if (!good) {
        return GANG_ENOMEM;
    }
    return ended ? GANG_OK : add_place(object, end, job, true);
}

/* The scheduler's explanation, without the identity of the job. */
static gang_result put_wait(json_t *object, const struct case_end *end, size_t job)
{
    static const char *const known[] = {"job", "name", "state", "placement"};
    struct page text = {0};
    struct decisive first;
    gang_result result = decide(end, job, &first);
    if (result != GANG_OK) {
        return result;
    }
    result = gang_job_write_explanation(end->sched, end->ids[job], page_append, &text);
    json_t *wait = parse(&text);
    if (result != GANG_OK || wait == NULL) {
        json_decref(wait);
        return result != GANG_OK && !text.failed ? result : GANG_ENOMEM;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        json_object_del(wait, known[i]);
    }
    if (!json_put(object, "wait", wait)) {
        return GANG_ENOMEM;
    }
    return first.reason == GANG_WAIT_CAPACITY ? add_place(object, end, job, false) : GANG_OK;
}

static gang_result put_tasks(json_t *object, const struct case_end *end, size_t job)
{
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    gang_result result = gang_alloc_get(gang_sched_cluster(end->sched), end->allocs[job], &info);
    if (result != GANG_OK) {
        return result;
    }
    bool good = json_put(object, "tasks", json_integer(info.tasks)) &&
                json_put(object, "count", json_integer(info.count));
    return good ? GANG_OK : GANG_ENOMEM;
}

static gang_result put_reason(json_t *object, const struct case_end *end, size_t job)
{
    return json_put(object, "reason", json_string(end->notes[job])) ? GANG_OK : GANG_ENOMEM;
}

static gang_result print_json_line(struct output *out, const struct case_end *end, size_t job)
{
    bool runs = end->allocs[job] != GANG_ID_NONE;
    bool ended = end->ids[job] != GANG_ID_NONE && end->notes[job] != NULL;
    json_t *object = json_object();
    bool good = json_put(object, "case", json_string(end->scenario->id));
    good = json_put(object, "job", json_string(end->scenario->jobs[job].name)) && good;
    good = json_put(object, "state",
                    json_string(runs                ? "running"
                                : end->refused[job] ? "refused"
                                : ended             ? "ended"
                                                    : "pending")) &&
           good;
    gang_result result = GANG_ENOMEM;
    if (good) {
        result = runs                      ? put_tasks(object, end, job)
                 : end->refused[job]       ? put_reason(object, end, job)
                 : end->notes[job] != NULL ? add_note(object, end, job)
                                           : put_wait(object, end, job);
    }
    good = add_line(out, object, result == GANG_OK);
    return result != GANG_OK || good ? result : GANG_ENOMEM;
}

/* ---- the command ---- */

static int show_case(const struct case_end *end, void *user)
{
    struct output *out = user;
    for (size_t i = 0; i < end->scenario->job_count; i++) {
        bool runs = end->allocs[i] != GANG_ID_NONE;
        if (only_job != NULL ? strcmp(only_job, end->scenario->jobs[i].name) != 0 : runs) {
            continue;
        }
        gang_result result = as_json ? print_json_line(out, end, i)
                             : runs  ? tell_running(out, end, i)
                                     : tell_pending(out, end, i);
        if (result == GANG_ENOMEM || out->page.failed) {
            return cli_no_memory();
        }
        if (result != GANG_OK) {
            return cli_failf(out->file, "case '%s': jobs[%zu]: %s", end->scenario->id, i,
                             gang_strerror(result));
        }
        out->printed++;
    }
    return CLI_OK;
}

static bool has_job(const struct gang_scenario *scenario)
{
    for (size_t i = 0; i < scenario->job_count && only_job != NULL; i++) {
        if (strcmp(only_job, scenario->jobs[i].name) == 0) {
            return true;
        }
    }
    return false;
}

static int explain_case(struct output *out, const struct gang_scenario *scenario)
{
    struct ran_case ran;
    out->printed = 0;
    int status = scenario_run(out->file, scenario, false, show_case, out, &ran);
    if (status == CLI_OK && !as_json && only_job == NULL && out->printed == 0) {
        page_line(&out->page, "case %s: no job is waiting", scenario->id);
    }
    scenario_done(&ran);
    return status;
}

static int explain_file(struct output *out, const gang_scenarios *scenarios)
{
    int status = CLI_OK;
    for (size_t i = 0; i < gang_scenarios_count(scenarios) && status == CLI_OK; i++) {
        struct gang_scenario scenario = GANG_SCENARIO_INIT;
        gang_result result = gang_scenarios_get(scenarios, i, &scenario);
        if (result != GANG_OK) {
            return cli_failf(out->file, "%s", gang_strerror(result));
        }
        if (only_case != NULL && strcmp(only_case, scenario.id) != 0) {
            continue;
        }
        out->cases++;
        if (only_job != NULL && !has_job(&scenario)) {
            continue;
        }
        out->jobs++;
        status = explain_case(out, &scenario);
    }
    if (status == CLI_OK && only_case != NULL && out->cases == 0) {
        return cli_failf(out->file, "no case '%s'", only_case);
    }
    if (status == CLI_OK && only_job != NULL && out->jobs == 0) {
        return cli_failf(out->file, "no job '%s'", only_job);
    }
    return status;
}

int cmd_explain(int argc, char **argv)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios = NULL;
    int status = cli_parse_file(&command, &argc, argv);
    if (status != CLI_GO_ON) {
        return status;
    }
    struct output out = {.file = argv[1]};
    status =
        cli_read_cases(argv[1], &scenarios, &error) == GANG_OK ? CLI_OK : cli_fail(argv[1], &error);
    if (status == CLI_OK) {
        status = explain_file(&out, scenarios);
    }
    gang_scenarios_free(scenarios);
    return page_finish(&out.page, status);
}
