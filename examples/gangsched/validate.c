/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched validate: check scenario and configuration files, and show what their queues come
 * to. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"
#include "gangsched/json_out.h"
#include "gangsched/outline.h"
#include "gangsched/scenario_case.h"

static bool as_json;

static const struct cli_option options[] = {{"json", NULL, &as_json}, {NULL, NULL, NULL}};

static const struct cli_command command = {
    "validate", "[--json] FILE...",
    "Checks clusters, queues, rules and jobs of scenario files as a scheduler does, and prints\n"
    "the queues with the guarantees and limits in force. A queue with children that names no\n"
    "guarantee has the sum of its children's.\n"
    "  --json    one JSON object a case\n"
    "  FILE      a scenario file; -: standard input\n"
    "Problems are printed as FILE: PATH: TEXT, and the exit status is 1.\n",
    options};

/* A case under way. */
struct checking {
    const char *file;
    char prefix[32]; /* of paths: "[2]." in a file of several cases */
    const struct gang_scenario *scenario;
    gang_cluster *cluster;
    gang_sched *sched;
    json_t *problems; /* as_json: what was found */
    size_t problem_count;
    bool no_memory;
};

/* ---- problems ---- */

static void add_problem(struct checking *c, const char *path, const struct gang_error *error)
{
    char text[sizeof error->path + sizeof error->text + 128];
    char line[64] = "";
    const char *what = error->text[0] != '\0' ? error->text : gang_strerror(error->code);
    c->problem_count++;
    if (as_json) {
        json_t *problem = json_object();
        bool good = json_put(problem, "path", json_string(path));
        good = json_put(problem, "text", json_string(what)) && good;
        good = (error->line == 0 || json_put(problem, "line", json_integer(error->line))) && good;
        good = (error->column == 0 || json_put(problem, "column", json_integer(error->column))) &&
               good;
        c->no_memory = json_array_append_new(c->problems, problem) != 0 || !good || c->no_memory;
        return;
    }
    if (error->line > 0) {
        snprintf(line, sizeof line, "line %" PRId64 ", column %" PRId64 ": ", error->line,
                 error->column);
    }
    snprintf(text, sizeof text, ": %s%s%s%s", line, path, path[0] != '\0' ? ": " : "", what);
    cli_print_text(c->file);
    cli_print_text(text);
    cli_printf("\n");
}

static void add_case_problem(struct checking *c, const struct gang_error *error)
{
    char path[sizeof c->prefix + sizeof error->path];
    snprintf(path, sizeof path, "%s%s", c->prefix, error->path);
    if (error->path[0] == '\0' && path[0] != '\0') {
        path[strlen(path) - 1] = '\0'; /* the dot */
    }
    add_problem(c, path, error);
}

static void add_job_problem(struct checking *c, size_t job, const struct gang_error *error)
{
    char rest[sizeof error->path + 16];
    char path[sizeof rest + sizeof c->prefix + 32];
    scenario_spec_path(error, rest, sizeof rest);
    snprintf(path, sizeof path, "%sjobs[%zu]%s%s", c->prefix, job, rest[0] != '\0' ? "." : "",
             rest);
    add_problem(c, path, error);
}

/* ---- checks ---- */

static gang_result check_jobs(struct checking *c)
{
    for (size_t i = 0; i < c->scenario->job_count; i++) {
        struct gang_error error = GANG_ERROR_INIT;
        gang_request *request;
        gang_result result =
            gang_request_new(c->cluster, &c->scenario->jobs[i].request, &request, &error);
        if (result == GANG_ENOMEM) {
            return result;
        }
        if (result != GANG_OK) {
            add_job_problem(c, i, &error);
        }
        gang_request_free(request);
    }
    return GANG_OK;
}

/* Later parts are checked only where the earlier ones are good. */
static gang_result check_case(struct checking *c)
{
    const struct gang_scenario *scenario = c->scenario;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_sched_opts opts = scenario_opts(scenario);
    gang_result result = gang_cluster_build(scenario, NULL, &c->cluster, &error);
    if (result == GANG_OK) {
        result = gang_sched_new(c->cluster, &opts, NULL, NULL, &c->sched, &error);
    }
    if (result == GANG_OK && scenario->queue_count > 0) {
        result = gang_sched_set_queues(c->sched, scenario->queues, scenario->queue_count, &error);
    }
    if (result != GANG_OK && result != GANG_ENOMEM) {
        add_case_problem(c, &error);
    }
    if (c->cluster != NULL && result != GANG_ENOMEM) {
        return check_jobs(c);
    }
    return result == GANG_ENOMEM ? result : GANG_OK;
}

/* ---- queues ---- */

struct queue {
    gang_queue_id id;
    gang_queue_id parent;
    size_t first; /* child, */
    size_t next;  /* sibling, SIZE_MAX: none */
    size_t last;  /* child */
    size_t up;
};

struct tree {
    struct queue *queues; /* parents before children; behind them one that is above the top */
    size_t count;
    struct gang_kind_info *kinds;
    int32_t kind_count;
    bool shown[GANG_MAX_KINDS]; /* some queue has a guarantee or limit of it */
};

static bool list_queues(const struct checking *c, struct tree *tree)
{
    size_t cap = 0;
    for (gang_queue_id id = gang_queue_next(c->sched, GANG_ID_NONE);; tree->count++) {
        /* One more is for the top. */
        if (!cli_grow((void **)&tree->queues, &cap, tree->count, sizeof *tree->queues)) {
            return false;
        }
        tree->queues[tree->count] =
            (struct queue){id, GANG_ID_NONE, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
        if (id == GANG_ID_NONE) {
            return true;
        }
        id = gang_queue_next(c->sched, id);
    }
}

static void append_child(struct tree *tree, size_t up, size_t child)
{
    struct queue *parent = &tree->queues[up];
    if (parent->last == SIZE_MAX) {
        parent->first = child;
    } else {
        tree->queues[parent->last].next = child;
    }
    parent->last = child;
    tree->queues[child].up = up;
}

/* The parent of a queue, which is before it: most are children of the same as the one before, or
 * near. tree->count: it is at the top. */
static size_t find_parent(const struct tree *tree, size_t at, gang_queue_id parent)
{
    if (parent == GANG_ID_NONE) {
        return tree->count;
    }
    if (at > 0 && tree->queues[at - 1].parent == parent) {
        return tree->queues[at - 1].up;
    }
    while (at-- > 0) {
        if (tree->queues[at].id == parent) {
            return at;
        }
    }
    return tree->count;
}

/* Join them by their parents, and find out which kinds matter. */
static bool join_queues(const struct checking *c, struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct gang_queue_info info = {.size = sizeof info};
        if (gang_queue_get(c->sched, tree->queues[i].id, &info) != GANG_OK) {
            return false;
        }
        tree->queues[i].parent = info.parent;
        append_child(tree, find_parent(tree, i, info.parent), i);
        for (int32_t kind = 0; kind < tree->kind_count; kind++) {
            tree->shown[kind] =
                tree->shown[kind] || info.guarantee[kind] > 0 || info.limit[kind] != GANG_UNLIMITED;
        }
    }
    return true;
}

static bool list_kinds(const struct checking *c, struct tree *tree)
{
    tree->kinds = calloc(GANG_MAX_KINDS, sizeof *tree->kinds);
    if (tree->kinds == NULL) {
        return false;
    }
    for (int32_t kind = 0; kind < GANG_MAX_KINDS; kind++) {
        tree->kinds[kind] = (struct gang_kind_info)GANG_KIND_INFO_INIT;
        if (gang_kind_get(c->cluster, kind, &tree->kinds[kind]) != GANG_OK) {
            break;
        }
        tree->kind_count = kind + 1;
    }
    return true;
}

/* The queue after this one, children before siblings; `depth` goes along. SIZE_MAX: it was the
 * last. */
static size_t next_in_tree(const struct tree *tree, size_t at, int *depth)
{
    if (tree->queues[at].first != SIZE_MAX) {
        ++*depth;
        return tree->queues[at].first;
    }
    while (at != tree->count && tree->queues[at].next == SIZE_MAX) {
        at = tree->queues[at].up;
        --*depth;
    }
    return at == tree->count ? SIZE_MAX : tree->queues[at].next;
}

/* ---- as text ---- */

static struct cli_text amount_text(int32_t kind, int64_t amount)
{
    struct cli_text none = {"-"};
    return amount == GANG_UNLIMITED                         ? none
           : kind == GANG_KIND_MEMORY                       ? cli_bytes(amount)
           : kind == GANG_KIND_CPU || kind == GANG_KIND_GPU ? cli_milli(amount)
                                                            : cli_number(amount);
}

static void add_heading(struct outline *outline, const struct tree *tree)
{
    outline_add(outline, -1, "queue");
    for (int32_t kind = 0; kind < tree->kind_count; kind++) {
        if (tree->shown[kind]) {
            outline_cell(outline, tree->kinds[kind].name);
            outline_cell(outline, "limit");
        }
    }
}

static void add_row(struct outline *outline, const struct tree *tree, int depth,
                    const struct gang_queue_info *info)
{
    static const char *const states[] = {"", "draining", "closed"};
    outline_add(outline, depth, "%s", info->name);
    for (int32_t kind = 0; kind < tree->kind_count; kind++) {
        if (tree->shown[kind]) {
            outline_cell(outline, amount_text(kind, info->guarantee[kind]).s);
            outline_cell(outline, amount_text(kind, info->limit[kind]).s);
        }
    }
    if (info->state == GANG_QUEUE_DRAINING || info->state == GANG_QUEUE_CLOSED) {
        outline_note(outline, states[info->state]);
    }
}

static int print_table(const struct checking *c, const struct tree *tree)
{
    struct outline outline = {0};
    int depth = -1;
    char text[128];
    const struct gang_scenario *scenario = c->scenario;
    snprintf(text, sizeof text, ": %zu node%s, %zu queue%s, %zu job%s\n", scenario->node_count,
             scenario->node_count == 1 ? "" : "s", tree->count, tree->count == 1 ? "" : "s",
             scenario->job_count, scenario->job_count == 1 ? "" : "s");
    cli_print_text(c->file);
    if (scenario->id[0] != '\0') {
        cli_printf(": case ");
        cli_print_text(scenario->id);
    }
    cli_printf("%s", text);
    add_heading(&outline, tree);
    for (size_t at = next_in_tree(tree, tree->count, &depth); at != SIZE_MAX;
         at = next_in_tree(tree, at, &depth)) {
        struct gang_queue_info info = {.size = sizeof info};
        if (gang_queue_get(c->sched, tree->queues[at].id, &info) == GANG_OK) {
            add_row(&outline, tree, depth, &info);
        }
    }
    return outline_print(&outline);
}

/* ---- as JSON ---- */

/* In the units of files; what is not bounded is left out. */
static json_t *amounts_json(const struct tree *tree, const int64_t *amounts)
{
    json_t *object = json_object();
    bool good = true;
    for (int32_t kind = 0; kind < tree->kind_count && good; kind++) {
        const char *key = kind == GANG_KIND_MEMORY ? "mem_bytes" : tree->kinds[kind].name;
        bool milli = kind == GANG_KIND_CPU || kind == GANG_KIND_GPU;
        int64_t amount = amounts[kind];
        if (amount != GANG_UNLIMITED) {
            good = json_put(object, key,
                            milli && amount % 1000 != 0
                                ? json_real((double)amount / 1000)
                                : json_integer(milli ? amount / 1000 : amount));
        }
    }
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *queue_json(const struct checking *c, const struct tree *tree, size_t at)
{
    struct gang_queue_info info = {.size = sizeof info};
    struct gang_queue_info up = {.size = sizeof up};
    gang_queue_id parent = tree->queues[at].parent;
    json_t *object = json_object();
    bool good = gang_queue_get(c->sched, tree->queues[at].id, &info) == GANG_OK &&
                (parent == GANG_ID_NONE || gang_queue_get(c->sched, parent, &up) == GANG_OK);
    good = good && json_put(object, "name", json_string(info.name));
    good = good &&
           json_put(object, "parent", parent != GANG_ID_NONE ? json_string(up.name) : json_null());
    good = good && json_put(object, "guarantee", amounts_json(tree, info.guarantee));
    good = good && json_put(object, "limit", amounts_json(tree, info.limit));
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static int print_json(struct checking *c, const struct tree *tree)
{
    json_t *object = json_object();
    json_t *queues = json_array();
    int depth = -1;
    bool good = json_put(object, "file", json_string(c->file));
    good = (c->scenario == NULL || json_put(object, "id", json_string(c->scenario->id))) && good;
    for (size_t at = tree != NULL ? next_in_tree(tree, tree->count, &depth) : SIZE_MAX;
         at != SIZE_MAX && good; at = next_in_tree(tree, at, &depth)) {
        good = json_array_append_new(queues, queue_json(c, tree, at)) == 0;
    }
    if (tree != NULL) {
        good = json_put(object, "queues", queues) && good;
    } else {
        json_decref(queues);
        good = json_object_set(object, "problems", c->problems) == 0 && good;
    }
    if (good) { /* main() finds out if that cannot be written */
        good = json_dump_callback(object, cli_write, NULL, JSON_REAL_PRECISION(15)) == 0 ||
               !cli_output_ok();
        cli_printf("\n");
    }
    json_decref(object);
    return good && !c->no_memory ? CLI_OK : cli_no_memory();
}

/* ---- the command ---- */

static int show_queues(struct checking *c)
{
    struct tree tree = {0};
    int status = CLI_OK;
    if (!list_kinds(c, &tree) || !list_queues(c, &tree) || !join_queues(c, &tree)) {
        status = cli_no_memory();
    } else {
        status = as_json ? print_json(c, &tree) : print_table(c, &tree);
    }
    free(tree.kinds);
    free(tree.queues);
    return status;
}

static int validate_case(struct checking *c)
{
    gang_result result = check_case(c);
    int status = result == GANG_OK && !c->no_memory ? CLI_OK : cli_no_memory();
    if (status == CLI_OK && c->problem_count == 0) {
        status = show_queues(c);
    } else if (status == CLI_OK) {
        status = as_json ? print_json(c, NULL) : CLI_OK;
        status = status == CLI_OK ? CLI_FAILED : status;
    }
    gang_sched_free(c->sched);
    gang_cluster_free(c->cluster);
    return status;
}

/* A file that cannot be understood: `error` says where. */
static int tell_unreadable(const char *file, const struct gang_error *error)
{
    struct checking c = {.file = file, .problems = json_array()};
    add_problem(&c, error->path, error);
    int status = as_json ? print_json(&c, NULL) : CLI_OK;
    json_decref(c.problems);
    return status == CLI_OK ? CLI_FAILED : status;
}

static int validate_file(const char *file, const gang_scenarios *scenarios)
{
    size_t count = gang_scenarios_count(scenarios);
    int worst = CLI_OK;
    for (size_t i = 0; i < count && worst != CLI_WRONG; i++) {
        struct gang_scenario scenario = GANG_SCENARIO_INIT;
        struct checking c = {.file = file, .scenario = &scenario, .problems = json_array()};
        gang_result result = gang_scenarios_get(scenarios, i, &scenario);
        if (count > 1) {
            snprintf(c.prefix, sizeof c.prefix, "[%zu].", i);
        }
        int status =
            result != GANG_OK ? cli_failf(file, "%s", gang_strerror(result)) : validate_case(&c);
        worst = status > worst ? status : worst;
        json_decref(c.problems);
    }
    return worst;
}

/* A file as it was read. */
struct input {
    gang_scenarios *scenarios; /* NULL: `error` */
    struct gang_error error;
};

/* Files that cannot be opened end it before anything is printed. */
static int read_files(char **names, size_t count, struct input *inputs)
{
    for (size_t i = 0; i < count; i++) {
        inputs[i].error = (struct gang_error)GANG_ERROR_INIT;
        gang_result result = cli_read_cases(names[i], &inputs[i].scenarios, &inputs[i].error);
        if (result == GANG_EIO || result == GANG_ENOMEM) {
            return cli_fail(names[i], &inputs[i].error);
        }
    }
    return CLI_OK;
}

int cmd_validate(int argc, char **argv)
{
    int worst = cli_parse(&command, &argc, argv);
    if (worst != CLI_GO_ON) {
        return worst;
    }
    if (argc < 2) {
        return cli_wrong_usage(&command, "no file is given");
    }
    size_t count = (size_t)argc - 1;
    struct input *inputs = calloc(count, sizeof *inputs);
    if (inputs == NULL) {
        return cli_no_memory();
    }
    worst = read_files(argv + 1, count, inputs);
    for (size_t i = 0; i < count && worst != CLI_WRONG; i++) {
        int status = inputs[i].scenarios != NULL ? validate_file(argv[i + 1], inputs[i].scenarios)
                                                 : tell_unreadable(argv[i + 1], &inputs[i].error);
        worst = status > worst ? status : worst;
    }
    for (size_t i = 0; i < count; i++) {
        gang_scenarios_free(inputs[i].scenarios);
    }
    free(inputs);
    return worst;
}
