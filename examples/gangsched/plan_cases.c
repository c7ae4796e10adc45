/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched plan: run the cases of a scenario file and draw how long jobs run, and planned
 * starts. */
#include "gangsched/scenario_case.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"
#include "gangsched/json_out.h"
#include "gangsched/page.h"

static const char *only_case, *width_text, *horizon_text;
static bool as_json;

static const struct cli_option options[] = {{"case", &only_case, NULL},
                                            {"width", &width_text, NULL},
                                            {"horizon", &horizon_text, NULL},
                                            {"json", NULL, &as_json},
                                            {NULL, NULL, NULL}};

static const struct cli_command command = {
    "plan", "[--case ID] [--width COLUMNS] [--horizon SECONDS] [--json] FILE",
    "Runs the cases of a file as \"gangsched scenario\" does and draws how long jobs run, and\n"
    "planned starts: a row a node, or with more than 40 nodes a row a domain.\n"
    "  --case ID          only this case\n"
    "  --width COLUMNS    width of the drawing, 40 to 1000; 80 unless given\n"
    "  --horizon SECONDS  draw this far ahead; unless given, to the last known end\n"
    "  --json             one JSON object a case and line\n"
    "  FILE               a scenario file; -: standard input\n",
    options};

enum { MAX_ROWS = 40, MIN_WIDTH = 40, MAX_WIDTH = 1000, LABEL = 12 };

/* Something in the plan. Whatever there is to be drawn becomes one of these. */
struct bar {
    const char *name, *queue, *what;
    int64_t start_ns, end_ns; /* INT64_MAX: without end */
    gang_node_id *nodes;
    size_t node_count;
    char letter;
};

struct drawing {
    const char *file;
    struct page page;
    const struct case_end *end;
    struct bar *bars;
    size_t bar_count, bar_cap;
    bool no_memory;
    int64_t width, horizon_ns; /* 0: not given */
};

/* ---- what is drawn ---- */

static char letter_of(size_t number)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return letters[number % (sizeof letters - 1)];
}

static const char *kind_of(const struct gang_plan_item *item)
{
    return item->what == GANG_PLAN_RUNNING       ? "running"
           : item->what == GANG_PLAN_RESERVATION ? "reserved"
                                                 : "planned";
}

/* Names that stay: as the file has them. */
static void names_of(const struct gang_plan_item *item, const struct gang_scenario *scenario,
                     const char **name, const char **queue)
{
    *name = *queue = NULL;
    if (item->what != GANG_PLAN_RESERVATION) {
        *name = scenario->jobs[item->cookie].name;
        *queue = scenario->jobs[item->cookie].queue;
    }
    for (size_t i = 0; i < scenario->reservation_count && *name == NULL; i++) {
        if (strcmp(scenario->reservations[i].name, item->name) == 0) {
            *name = scenario->reservations[i].name;
            *queue = scenario->reservations[i].queue;
        }
    }
    *queue = *queue != NULL ? *queue : "-";
}

static int32_t add_bar(const struct gang_plan_item *entry, void *user)
{
    struct drawing *d = user;
    const char *name, *queue;
    names_of(entry, d->end->scenario, &name, &queue);
    if (!cli_grow((void **)&d->bars, &d->bar_cap, d->bar_count, sizeof *d->bars)) {
        d->no_memory = true;
        return -1;
    }
    gang_node_id *nodes = malloc((entry->node_count + 1) * sizeof *nodes);
    if (nodes == NULL) {
        d->no_memory = true;
        return -1;
    }
    if (entry->node_count > 0) {
        memcpy(nodes, entry->nodes, entry->node_count * sizeof *nodes);
    }
    d->bars[d->bar_count] =
        (struct bar){name,          queue, kind_of(entry),    entry->start_ns,
                     entry->end_ns, nodes, entry->node_count, letter_of(d->bar_count)};
    d->bar_count++;
    return 0;
}

static void drop_bars(struct drawing *d)
{
    for (size_t i = 0; i < d->bar_count; i++) {
        free(d->bars[i].nodes);
    }
    free(d->bars);
    d->bars = NULL;
    d->bar_count = d->bar_cap = 0;
}

/* ---- rows ---- */

/* A node, or a domain: some nodes. */
struct row {
    char label[GANG_MAX_NAME + 1];
    int64_t nodes;
};

struct rows {
    struct row *row;
    size_t count;
    int32_t level;  /* -1: nodes */
    size_t *row_of; /* of each slot */
    size_t slots;
    int64_t *busy; /* of a row, by column */
};

/* The row of a node, by its domain of the level. */
static bool row_add(struct rows *r, const struct gang_node_spec *spec, const char *level,
                    gang_node_id id)
{
    const char *label = level == NULL ? spec->name : "(none)";
    for (size_t i = 0; i < spec->topology_count && level != NULL; i++) {
        if (strcmp(spec->topology[i].key, level) == 0) {
            label = spec->topology[i].value;
        }
    }
    size_t at = level == NULL ? r->count : 0;
    while (at < r->count && strcmp(r->row[at].label, label) != 0) {
        at++;
    }
    if (at == r->count) {
        struct row *rows = realloc(r->row, (r->count + 1) * sizeof *rows);
        if (rows == NULL) {
            return false;
        }
        r->row = rows;
        r->row[r->count] = (struct row){.nodes = 0};
        snprintf(r->row[r->count++].label, sizeof r->row[0].label, "%s", label);
    }
    r->row[at].nodes++;
    r->row_of[(uint32_t)id] = at;
    return true;
}

static bool rows_fill(struct rows *r, gang_cluster *cluster)
{
    const char *level = r->level < 0 ? NULL : gang_cluster_level_name(cluster, r->level);
    r->count = 0;
    for (gang_node_id id = gang_node_next(cluster, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_node_next(cluster, id)) {
        struct gang_node_spec *spec = NULL;
        bool good = gang_node_get_spec(cluster, id, &spec) == GANG_OK && (uint32_t)id < r->slots &&
                    row_add(r, spec, level, id);
        gang_node_spec_free(spec);
        if (!good) {
            return false;
        }
    }
    return true;
}

/* Rows: nodes, or the narrowest domains that are few enough. */
static bool rows_make(struct rows *r, gang_cluster *cluster)
{
    gang_node_id last = GANG_ID_NONE;
    for (gang_node_id id = gang_node_next(cluster, last); id != GANG_ID_NONE;
         id = gang_node_next(cluster, id)) {
        last = id;
    }
    r->slots = (uint32_t)last + 1;
    r->row_of = calloc(r->slots, sizeof *r->row_of);
    r->level = -1;
    if (r->row_of == NULL) {
        return false;
    }
    if (gang_node_count(cluster) <= MAX_ROWS || gang_cluster_level_count(cluster) == 0) {
        return rows_fill(r, cluster);
    }
    for (r->level = gang_cluster_level_count(cluster) - 1; r->level >= 0; r->level--) {
        if (!rows_fill(r, cluster)) {
            return false;
        }
        if (r->count <= MAX_ROWS || r->level == 0) {
            return true;
        }
    }
    return true;
}

static void rows_free(struct rows *r)
{
    free(r->row);
    free(r->row_of);
    free(r->busy);
}

/* ---- drawing ---- */

static int64_t last_end(const struct drawing *d)
{
    int64_t end = d->end->now_ns + 1000000000;
    for (size_t i = 0; i < d->bar_count; i++) {
        const struct bar *b = &d->bars[i];
        end = b->end_ns != INT64_MAX && b->end_ns > end ? b->end_ns : end;
        end = b->start_ns > end ? b->start_ns + 1000000000 : end;
    }
    return d->horizon_ns > 0 ? d->end->now_ns + d->horizon_ns : end;
}

/* Has it some node of the row? How many? */
static int64_t nodes_in(const struct bar *b, const struct rows *r, size_t row)
{
    int64_t count = 0;
    for (size_t i = 0; i < b->node_count; i++) {
        uint32_t slot = (uint32_t)b->nodes[i];
        count += slot < r->slots && r->row_of[slot] == row;
    }
    return count;
}

/* One node: the letter of the job that holds it in the middle of a column; '+' for several jobs. */
static void draw_node(struct drawing *d, const struct rows *r, size_t row, char *cells,
                      int64_t columns, int64_t span)
{
    for (size_t i = 0; i < d->bar_count; i++) {
        const struct bar *b = &d->bars[i];
        if (nodes_in(b, r, row) == 0) {
            continue;
        }
        for (int64_t k = 0; k < columns; k++) {
            int64_t at = d->end->now_ns + span / columns * k + span / columns / 2;
            if (b->start_ns <= at && at < b->end_ns) {
                cells[k] = cells[k] == '.' ? b->letter : '+';
            }
        }
    }
}

/* Many: how many of them are in use, in tenths. A node that several use counts once for each, so
 * no more than all. */
static void draw_domain(struct drawing *d, const struct rows *r, size_t row, char *cells,
                        int64_t columns, int64_t span)
{
    memset(r->busy, 0, (size_t)columns * sizeof *r->busy);
    for (size_t i = 0; i < d->bar_count; i++) {
        const struct bar *b = &d->bars[i];
        int64_t nodes = nodes_in(b, r, row);
        for (int64_t k = 0; k < columns && nodes > 0; k++) {
            int64_t at = d->end->now_ns + span / columns * k + span / columns / 2;
            r->busy[k] += b->start_ns <= at && at < b->end_ns ? nodes : 0;
        }
    }
    for (int64_t k = 0; k < columns; k++) {
        int64_t tenths = 10 * r->busy[k] / r->row[row].nodes;
        cells[k] = r->busy[k] == 0 ? '.' : tenths >= 10 ? '#' : (char)('0' + tenths);
    }
}

static void draw_rows(struct drawing *d, struct rows *r, char *cells, int64_t columns, int64_t span)
{
    for (size_t row = 0; row < r->count; row++) {
        memset(cells, '.', (size_t)columns);
        cells[columns] = '\0';
        if (r->level < 0) {
            draw_node(d, r, row, cells, columns, span);
        } else {
            draw_domain(d, r, row, cells, columns, span);
        }
        page_printf(&d->page, "  %-*.*s |%s|\n", LABEL, LABEL, r->row[row].label, cells);
    }
}

static struct cli_text from_now(const struct drawing *d, int64_t at_ns)
{
    struct cli_text text;
    if (at_ns == INT64_MAX) {
        snprintf(text.s, sizeof text.s, "?");
        return text;
    }
    return cli_duration((double)(at_ns - d->end->now_ns) / 1e9);
}

static void draw_legend(struct drawing *d, bool letters)
{
    page_printf(&d->page, "    %-16s %-12s %-8s %6s %12s %12s\n", "job", "queue", "", "nodes",
                "from", "until");
    for (size_t i = 0; i < d->bar_count; i++) {
        const struct bar *b = &d->bars[i];
        bool before = b->start_ns < d->end->now_ns;
        page_printf(&d->page, "  %c %-16s %-12s %-8s %6zu %12s %12s\n", letters ? b->letter : ' ',
                    b->name, b->queue, b->what, b->node_count,
                    before ? "-" : from_now(d, b->start_ns).s, from_now(d, b->end_ns).s);
    }
}

static void list_refused(struct drawing *d)
{
    for (size_t i = 0; i < d->end->scenario->job_count; i++) {
        if (d->end->refused[i]) {
            page_printf(&d->page, "    %-16s refused: %s\n", d->end->scenario->jobs[i].name,
                        d->end->notes[i]);
        }
    }
}

static bool draw(struct drawing *d)
{
    struct rows r = {0};
    gang_cluster *cluster = gang_sched_cluster(d->end->sched);
    int64_t columns = d->width - LABEL - 5, span = last_end(d) - d->end->now_ns;
    char *cells = malloc((size_t)columns + 1);
    bool good = cells != NULL && rows_make(&r, cluster);
    r.busy = calloc((size_t)columns, sizeof *r.busy);
    good = good && r.busy != NULL;
    if (good) {
        page_printf(&d->page, "case %s: the next %s, by %s\n", d->end->scenario->id,
                    cli_duration((double)span / 1e9).s,
                    r.level < 0 ? "node" : gang_cluster_level_name(cluster, r.level));
        draw_rows(d, &r, cells, columns, span);
        if (d->bar_count > 0) {
            draw_legend(d, r.level < 0);
        }
        list_refused(d);
    }
    free(cells);
    rows_free(&r);
    return good;
}

static json_t *bar_json(const struct drawing *d, const struct bar *b)
{
    json_t *object = json_object(), *nodes = json_array();
    bool good = json_put(object, "job", json_string(b->name));
    good = json_put(object, "queue", json_string(b->queue)) && good;
    good = json_put(object, "what", json_string(b->what)) && good;
    good = json_put(object, "start_s", json_seconds(b->start_ns, d->end->now_ns)) && good;
    good = json_put(object, "end_s", json_seconds(b->end_ns, d->end->now_ns)) && good;
    for (size_t i = 0; i < b->node_count; i++) {
        struct gang_node_info info = {.size = sizeof info};
        gang_cluster *cluster = gang_sched_cluster(d->end->sched);
        if (gang_node_get(cluster, b->nodes[i], &info) == GANG_OK) {
            good = json_array_append_new(nodes, json_string(info.name)) == 0 && good;
        }
    }
    good = json_put(object, "nodes", nodes) && good;
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* The member "refused", if some job was. */
static bool put_refused(const struct drawing *d, json_t *object)
{
    json_t *list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; i < d->end->scenario->job_count && good; i++) {
        if (!d->end->refused[i]) {
            continue;
        }
        json_t *job = json_object();
        good = json_put(job, "job", json_string(d->end->scenario->jobs[i].name));
        good = json_put(job, "reason", json_string(d->end->notes[i])) && good;
        good = json_array_append_new(list, job) == 0 && good;
    }
    if (good && json_array_size(list) == 0) {
        json_decref(list);
        return true;
    }
    return json_put(object, "refused", list) && good;
}

static bool write_json(struct drawing *d)
{
    json_t *object = json_object(), *entries = json_array();
    bool good = json_put(object, "case", json_string(d->end->scenario->id));
    for (size_t i = 0; i < d->bar_count && good; i++) {
        good = json_array_append_new(entries, bar_json(d, &d->bars[i])) == 0;
    }
    good = json_put(object, "entries", entries) && good;
    good = put_refused(d, object) && good;
    if (!good) {
        json_decref(object);
        return false;
    }
    page_json(&d->page, object);
    return true;
}

/* ---- the command ---- */

static int show_case(const struct case_end *end, void *user)
{
    struct drawing *d = user;
    d->end = end;
    gang_result result = gang_plan_each(end->sched, add_bar, d);
    int status = CLI_OK;
    if (d->no_memory || result == GANG_ENOMEM) {
        status = cli_no_memory();
    } else if (result != GANG_OK) {
        status = cli_failf(d->file, "case '%s': %s", end->scenario->id, gang_strerror(result));
    } else if (!(as_json ? write_json(d) : draw(d))) {
        status = cli_no_memory();
    }
    drop_bars(d);
    return status;
}

static int read_options(struct drawing *d)
{
    int64_t number;
    d->width = 80;
    if (width_text != NULL && !cli_parse_number(width_text, MIN_WIDTH, MAX_WIDTH, &d->width)) {
        return cli_wrong_usage(&command, "--width %s: not a number from %d to %d", width_text,
                               MIN_WIDTH, MAX_WIDTH);
    }
    if (horizon_text != NULL) {
        if (!cli_parse_number(horizon_text, 1, INT64_C(4000000000), &number)) {
            return cli_wrong_usage(&command, "--horizon %s: not a number of seconds", horizon_text);
        }
        d->horizon_ns = number * INT64_C(1000000000);
    }
    return CLI_OK;
}

int cmd_plan(int argc, char **argv)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios = NULL;
    struct drawing d = {0};
    int status = cli_parse_file(&command, &argc, argv);
    if (status != CLI_GO_ON) {
        return status;
    }
    d.file = argv[1];
    status = read_options(&d);
    if (status == CLI_OK && cli_read_cases(argv[1], &scenarios, &error) != GANG_OK) {
        status = cli_fail(argv[1], &error);
    }
    if (status == CLI_OK) {
        status = scenario_run_each(d.file, scenarios, only_case, true, show_case, &d);
    }
    gang_scenarios_free(scenarios);
    return page_finish(&d.page, status);
}
