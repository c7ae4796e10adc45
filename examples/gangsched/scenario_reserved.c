/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that run at the start on nodes that a reservation keeps whole for others. The case is run
 * all the same, but the answer says so: a live scheduler would have stopped such a job, or would
 * not have accepted the reservation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"
#include "gangsched/scenario_run.h"

struct running {
    size_t job;
    gang_reservation_id inside; /* GANG_ID_NONE: outside of all */
    int64_t end_ns;
    gang_node_id *nodes;
    size_t node_count;
};

struct looking {
    const struct run *run;
    struct ran_case *ran;
    struct running *list;
    size_t count;
    size_t cap;
    bool failed;
};

static void note_running(struct looking *l, const struct gang_plan_item *item)
{
    if (!l->run->scenario->jobs[item->cookie].running) {
        return;
    }
    gang_node_id *nodes = malloc((item->node_count + 1) * sizeof *nodes);
    if (nodes == NULL || !cli_grow((void **)&l->list, &l->cap, l->count, sizeof *l->list)) {
        free(nodes);
        l->failed = true;
        return;
    }
    if (item->node_count > 0) {
        memcpy(nodes, item->nodes, item->node_count * sizeof *nodes);
    }
    l->list[l->count++] = (struct running){(size_t)item->cookie, item->reservation, item->end_ns,
                                           nodes, item->node_count};
}

/* The first node of both; GANG_ID_NONE: there is none. */
static gang_node_id common_node(const struct running *r, const struct gang_plan_item *item)
{
    for (size_t i = 0; i < r->node_count; i++) {
        for (size_t k = 0; k < item->node_count; k++) {
            if (r->nodes[i] == item->nodes[k]) {
                return r->nodes[i];
            }
        }
    }
    return GANG_ID_NONE;
}

static void warn(struct looking *l, const struct running *r, const struct gang_plan_item *item,
                 gang_node_id node)
{
    struct gang_node_info info = {.size = sizeof info};
    const struct gang_scenario *c = l->run->scenario;
    const char *name = gang_node_get(l->run->cluster, node, &info) == GANG_OK ? info.name : "?";
    struct ran_job *job = &l->ran->jobs[r->job];
    char text[3 * GANG_MAX_NAME + 128];
    if (job->warning != NULL) {
        return; /* one of each job is enough */
    }
    snprintf(text, sizeof text, "runs on node '%s', which reservation '%s' keeps for others", name,
             item->name);
    job->warning = cli_copy(text);
    l->failed = l->failed || job->warning == NULL;
    cli_failf(l->run->file, "warning: case '%s': jobs[%zu]: %s", c->id, r->job, text);
}

/* A job that names the reservation may be there before the reservation begins. */
static bool is_member(const struct looking *l, const struct running *r,
                      const struct gang_plan_item *item)
{
    const char *named = l->run->scenario->jobs[r->job].reservation;
    return r->inside == item->reservation || (named != NULL && strcmp(named, item->name) == 0);
}

/* Does the stage keep whole nodes, not only some of their capacity? */
static bool is_whole(const struct looking *l, const struct gang_plan_item *item)
{
    const struct gang_scenario *c = l->run->scenario;
    for (size_t i = 0; i < c->reservation_count; i++) {
        const struct gang_reservation_spec *spec = &c->reservations[i];
        if (strcmp(spec->name, item->name) == 0 && (size_t)item->gang < spec->stage_count) {
            const struct gang_reservation_stage *stage = &spec->stages[item->gang];
            return stage->group_count == 0 || stage->exclusive;
        }
    }
    return false;
}

static int32_t look(const struct gang_plan_item *item, void *user)
{
    struct looking *l = user;
    if (item->what == GANG_PLAN_RUNNING) {
        note_running(l, item);
    }
    if (item->what != GANG_PLAN_RESERVATION || !is_whole(l, item)) {
        return 0;
    }
    for (size_t i = 0; i < l->count; i++) {
        const struct running *r = &l->list[i];
        bool before = r->end_ns <= item->start_ns;
        gang_node_id node = before || is_member(l, r, item) ? GANG_ID_NONE : common_node(r, item);
        if (node != GANG_ID_NONE) {
            warn(l, r, item, node);
        }
    }
    return 0;
}

int scenario_warn_reserved(const struct run *run, struct ran_case *ran)
{
    struct looking l = {.run = run, .ran = ran};
    gang_result result = GANG_OK;
    if (run->scenario->reservation_count > 0) {
        result = gang_plan_each(run->sched, look, &l);
    }
    for (size_t i = 0; i < l.count; i++) {
        free(l.list[i].nodes);
    }
    free(l.list);
    if (l.failed || result == GANG_ENOMEM) {
        return cli_no_memory();
    }
    return result == GANG_OK
               ? CLI_OK
               : cli_failf(run->file, "case '%s': %s", run->scenario->id, gang_strerror(result));
}
