/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what a host asks for, and makes the record of a reservation. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/rcu.h"
#include "base/two_pass_block.h"
#include "core/nodes/nodes.h"
#include "place/request/request.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve_in.h"
#include "sched/usage/usage.h"

enum { MOST_STAGES = GANG__ADMIT_STAGES };

static const int64_t LONGEST_NS = INT64_C(1) << 60, LATEST_NS = INT64_C(1) << 62;

static gang_result bad(struct gang_error *error, gang_result r, const char *path, const char *text)
{
    return gang__error(error, r, path, "%s", text);
}

static const struct gang_reservation_stage *stage_at(const struct gang_reservation_spec *spec,
                                                     size_t i)
{
    return (const struct gang_reservation_stage *)(const void *)((const char *)spec->stages +
                                                                 i * spec->stage_size);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static gang_result check_times(const struct gang_reservation_spec *t, struct gang_error *error)
{
    const struct {
        const char *path;
        int64_t value, most;
    } number[] = {
        {"deadline_ns", t->deadline_ns, LATEST_NS}, {"duration_ns", t->duration_ns, LONGEST_NS},
        {"period_ns", t->period_ns, LONGEST_NS},    {"repetitions", t->repetitions, INT64_MAX},
        {"until_ns", t->until_ns, LATEST_NS},       {"purge_ns", t->purge_ns, LONGEST_NS},
        {"notice_ns", t->notice_ns, LONGEST_NS}};
    for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
        if (number[i].value < 0 || number[i].value > number[i].most)
            return bad(error, GANG_ERANGE, number[i].path, "negative, or too large");
    if (t->arrival_ns < -LATEST_NS || t->arrival_ns > LATEST_NS)
        return bad(error, GANG_ERANGE, "arrival_ns", "too large");
    if (t->start_ns < -1 || t->start_ns > LATEST_NS)
        return bad(error, GANG_ERANGE, "start_ns", "below -1, or too large");
    if (t->deadline_ns && t->deadline_ns <= t->arrival_ns)
        return bad(error, GANG_EINVAL, "deadline_ns", "not after arrival_ns");
    if ((t->repetitions || t->until_ns) && !t->period_ns)
        return bad(error, GANG_EINVAL, t->repetitions ? "repetitions" : "until_ns",
                   "without period_ns");
    return GANG_OK;
}

static gang_result check_words(const struct gang_reservation_spec *t, struct gang_error *error)
{
    const int32_t known = GANG_RESERVATION_MAINTENANCE | GANG_RESERVATION_OVERLAP |
                          GANG_RESERVATION_IGNORE_JOBS | GANG_RESERVATION_FLEX |
                          GANG_RESERVATION_MAGNETIC;
    if (!t->name || !t->name[0] || strlen(t->name) > GANG_MAX_NAME)
        return bad(error, GANG_EINVAL, "name", "none, or too long");
    if (t->owner && strlen(t->owner) > GANG_MAX_NAME)
        return bad(error, GANG_EINVAL, "owner", "too long");
    if (t->objective < 0 || t->objective > GANG_OBJECTIVE_CHEAPEST)
        return bad(error, GANG_EINVAL, "objective", "no such value");
    if (t->combine < 0 || t->combine > GANG_STAGES_ORDER_NO_GAP)
        return bad(error, GANG_EINVAL, "combine", "no such value");
    if (t->flags & ~known)
        return bad(error, GANG_EINVAL, "flags", "unknown flag");
    if (t->flags & GANG_RESERVATION_MAINTENANCE &&
        t->flags & (GANG_RESERVATION_FLEX | GANG_RESERVATION_MAGNETIC))
        return bad(error, GANG_EINVAL, "flags", "maintenance has no members");
    if (t->reserved0)
        return bad(error, GANG_EINVAL, "reserved0", "is not 0");
    if (t->stage_size != sizeof(struct gang_reservation_stage))
        return bad(error, GANG_EINVAL, "stage_size",
                   "is not that of struct gang_reservation_stage");
    if (!t->stages || t->stage_count == 0)
        return bad(error, GANG_EINVAL, "stages", "none");
    if (t->stage_count > MOST_STAGES)
        return bad(error, GANG_ELIMIT, "stages", "more than 64");
    return GANG_OK;
}

/* ---- members --------------------------------------------------------------------------------- */

static gang_result check_members(gang_sched *s, const struct gang_reservation_spec *t,
                                 gang_queue_id *queue, struct gang_error *error)
{
    bool named = t->queue && t->queue[0];
    const struct gang__queue *q = named ? gang__queue_by_name(s->queues, t->queue) : NULL;
    *queue = q ? q->id : GANG_ID_NONE;
    if (named && !q)
        return gang__error(error, GANG_ENOENT, "queue", "there is no queue \"%s\"", t->queue);
    if (t->user_count && !t->users)
        return bad(error, GANG_EINVAL, "users", "none");
    for (size_t i = 0; i < t->user_count; i++)
        if (!t->users[i] || strlen(t->users[i]) > GANG_MAX_NAME) {
            bad(error, GANG_EINVAL, NULL, "none, or too long");
            return gang__error_at(error, GANG_EINVAL, "users[%zu]", i);
        }
    const struct gang__job *job = t->job == GANG_ID_NONE ? NULL : gang__job_of(s, t->job);
    if (t->job != GANG_ID_NONE && (!job || job->state == GANG_JOB_ENDED))
        return bad(error, GANG_ENOENT, "job", "there is no such job");
    return GANG_OK;
}

/* ---- what: groups ---------------------------------------------------------------------------- */

/* A reservation can promise only what the timeline counts. */
static gang_result check_group(const struct gang_group_spec *g, bool same, struct gang_error *error)
{
    const char *path = g->gpu_memory_bytes ? "gpu_memory_bytes"
                       : g->subgroup_size  ? "subgroup_size"
                       : g->spread         ? "spread"
                       : g->max_per_domain ? "max_per_domain"
                       : g->same_devices   ? "same_devices"
                       : g->group_set >= 0 ? "group_set"
                       : g->same && !same  ? "same"
                                           : NULL;
    if (path)
        return bad(error, GANG_ENOTSUP, path, "cannot be reserved");
    return GANG_OK;
}

/* The text is kept: a copy of the scheduler compiles the request from it. */
static gang_result compile(gang_sched *s, const struct gang_request_spec *spec,
                           struct gang__request_text **text, struct gang_error *error)
{
    struct gang__request_key key;
    gang_request *request;
    gang_result r = gang_request_new(s->cluster, spec, &request, error);
    if (r != GANG_OK)
        return r;
    gang__request_key_make(&key, &s->mem, spec, false);
    *text = gang__request_text_new(&key, request);
    gang__request_key_free(&key);
    if (*text)
        return GANG_OK;
    gang_request_free(request);
    return bad(error, GANG_ENOMEM, NULL, "out of memory");
}

/* The groups of the stage as one request. */
static gang_result make_request(gang_sched *s, const struct gang_reservation_stage *from, bool same,
                                struct gang__request_text **text, struct gang_error *error)
{
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_result r = GANG_OK;
    if (from->group_size != sizeof(struct gang_group_spec))
        return bad(error, GANG_EINVAL, "group_size", "is not that of struct gang_group_spec");
    struct gang_group_spec *group = gang__zalloc(&s->mem, from->group_count, sizeof(*group));
    if (!group)
        return bad(error, GANG_ENOMEM, NULL, "out of memory");
    for (size_t i = 0; i < from->group_count && r == GANG_OK; i++) {
        group[i] = from->groups[i];
        group[i].min = group[i].count;
        r = check_group(&group[i], same, error);
        if (r != GANG_OK)
            gang__error_at(error, r, "groups[%zu]", i);
    }
    spec.groups = group;
    spec.group_count = from->group_count;
    if (r == GANG_OK)
        r = compile(s, &spec, text, error);
    gang__release(&s->mem, group);
    return r;
}

/* A pool of the cluster lies on no node. */
static gang_result check_pools(const gang_request *request, struct gang_error *error)
{
    for (uint32_t i = 0; i < request->group_count; i++)
        if (request->group[i].pool_need_count > 0) {
            bad(error, GANG_ENOTSUP, "amounts", "a kind of the whole cluster cannot be reserved");
            return gang__error_at(error, GANG_ENOTSUP, "groups[%" PRIu32 "]", i);
        }
    return GANG_OK;
}

static gang_result take_groups(gang_sched *s, const struct gang_reservation_stage *from, bool same,
                               struct gang__reserve_stage *to, struct gang_error *error)
{
    gang_result r = make_request(s, from, same, &to->text, error);
    if (r != GANG_OK)
        return r;
    to->request = to->text->request;
    r = check_pools(to->request, error);
    if (r != GANG_OK)
        return r;
    for (size_t i = 0; i < from->group_count; i++)
        to->count[i] = from->groups[i].count;
    if (from->gang_size < 0 || (from->gang_size && to->count[0] % from->gang_size))
        return bad(error, GANG_EINVAL, "gang_size", "negative, or does not divide the count");
    to->gang = from->gang_size;
    to->whole = from->exclusive != 0;
    return GANG_OK;
}

/* ---- what: nodes ----------------------------------------------------------------------------- */

static int by_slot(const void *a, const void *b)
{
    uint32_t x = (uint32_t) * (const gang_node_id *)a, y = (uint32_t) * (const gang_node_id *)b;
    return (x > y) - (x < y);
}

static gang_result take_nodes(gang_sched *s, const struct gang_reservation_stage *from,
                              struct gang__reserve_stage *to, struct gang_error *error)
{
    for (size_t i = 0; i < from->node_count; i++) {
        gang_result r =
            from->nodes[i] ? gang_node_find(s->cluster, from->nodes[i], &to->node[i]) : GANG_ENOENT;
        if (r != GANG_OK) {
            bad(error, r, NULL, "no such node");
            return gang__error_at(error, r, "nodes[%zu]", i);
        }
    }
    qsort(to->node, from->node_count, sizeof(*to->node), by_slot);
    for (size_t i = 1; i < from->node_count; i++)
        if (to->node[i] == to->node[i - 1])
            return bad(error, GANG_EEXIST, "nodes", "one twice");
    to->node_count = from->node_count;
    to->whole = to->stays = true;
    return GANG_OK;
}

/* Is this the domain with the path "z1/r3"? Compared from its end upwards. */
static bool is_domain(gang_cluster *c, const struct gang__domain *d, const char *path)
{
    size_t length = strlen(path);
    for (;;) {
        size_t n = strlen(d->value);
        if (n > length || memcmp(path + length - n, d->value, n) != 0)
            return false;
        length -= n;
        if (d->parent == GANG__NO_DOMAIN)
            return length == 0;
        if (length == 0 || path[length - 1] != '/')
            return false;
        length--;
        d = gang__domain_by_index(c, d->parent);
    }
}

static gang_result take_domain(gang_sched *s, const struct gang_reservation_stage *from,
                               struct gang__reserve_stage *to, struct gang_error *error)
{
    bool found = false;
    to->level = gang__level_find(s->cluster, from->level);
    to->whole = to->stays = true;
    if (to->level < 0)
        return gang__error(error, GANG_ENOENT, "level", "there is no level \"%s\"", from->level);
    if (!from->domain == (from->domain_count <= 0))
        return bad(error, GANG_EINVAL, "domain_count", "either a domain or a number of them");
    to->domains = from->domain ? 0 : from->domain_count;
    if (!from->domain)
        return GANG_OK;
    gang__rcu_enter();
    uint32_t count = gang__domain_count(s->cluster, (uint32_t)to->level);
    for (uint32_t i = 0; i < count && !found; i++) {
        const struct gang__domain *d = gang__domain_at(s->cluster, (uint32_t)to->level, i);
        found = is_domain(s->cluster, d, from->domain);
        to->domain = d->index;
    }
    gang__rcu_leave();
    return found ? GANG_OK
                 : gang__error(error, GANG_ENOENT, "domain", "there is no %s \"%s\"", from->level,
                               from->domain);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static gang_result take_stage(gang_sched *s, const struct gang_reservation_spec *spec, size_t i,
                              struct gang__reserve_stage *to, struct gang_error *error)
{
    const struct gang_reservation_stage *from = stage_at(spec, i);
    to->level = GANG__NO_LEVEL;
    if (from->size != sizeof(*from) || from->reserved0)
        return bad(error, GANG_EINVAL, NULL, "struct gang_reservation_stage is not set up");
    to->duration_ns = from->duration_ns ? from->duration_ns : spec->duration_ns;
    if (from->duration_ns < 0 || to->duration_ns < 1 || to->duration_ns > LONGEST_NS)
        return bad(error, GANG_ERANGE, "duration_ns", "none, negative, or too large");
    if ((from->group_count > 0) + (from->level != NULL) + (from->node_count > 0) != 1)
        return bad(error, GANG_EINVAL, NULL, "not one of groups, domains, nodes");
    if ((from->group_count && !from->groups) || (from->node_count && !from->nodes))
        return bad(error, GANG_EINVAL, from->group_count ? "groups" : "nodes", "none");
    bool alone = spec->stage_count == 1 && spec->objective == GANG_OBJECTIVE_EARLIEST;
    if (from->group_count)
        return take_groups(s, from, alone && from->group_count == 1 && !spec->period_ns, to, error);
    if (from->node_count)
        return take_nodes(s, from, to, error);
    if (from->domain_count > 0 && (!alone || spec->period_ns))
        return bad(error, GANG_ENOTSUP, "domain_count",
                   "with other stages, with a period, or not the earliest");
    return take_domain(s, from, to, error);
}

/* The record and its parts of fixed size lie in one block. */
static void lay_out(struct gang__reserve *r, const struct gang_reservation_spec *spec,
                    struct gang__block *b)
{
    r->name = gang__block_text(b, spec->name);
    r->owner = gang__block_text(b, spec->owner ? spec->owner : "");
    r->user = gang__block_alloc(b, spec->user_count * sizeof(*r->user));
    for (size_t i = 0; i < spec->user_count; i++) {
        const char *text = gang__block_text(b, spec->users[i]);
        if (b->base)
            r->user[i] = text;
    }
    r->stage = gang__block_alloc(b, spec->stage_count * sizeof(*r->stage));
    if (b->base)
        memset(r->stage, 0, spec->stage_count * sizeof(*r->stage));
    for (size_t i = 0; i < spec->stage_count; i++) {
        const struct gang_reservation_stage *from = stage_at(spec, i);
        int64_t *count = gang__block_alloc(b, from->group_count * sizeof(*count));
        gang_node_id *node = gang__block_alloc(b, from->node_count * sizeof(*node));
        if (b->base) {
            r->stage[i].count = count;
            r->stage[i].node = node;
        }
    }
}

static void set_numbers(struct gang__reserve *r, const struct gang_reservation_spec *spec)
{
    r->job = spec->job;
    r->flags = spec->flags;
    r->prefer = spec->objective;
    r->combine = spec->combine;
    r->arrival_ns = spec->arrival_ns;
    r->deadline_ns = spec->deadline_ns ? spec->deadline_ns : GANG__NEVER;
    r->start_ns = spec->start_ns;
    r->period_ns = spec->period_ns;
    r->purge_ns = spec->purge_ns;
    r->notice_ns = spec->notice_ns;
    r->user_count = spec->user_count;
    r->instances = !spec->period_ns ? 1 : spec->repetitions ? spec->repetitions : INT64_MAX;
    r->idle_since_ns = INT64_MAX;
    r->before_ns = GANG__NEVER;
}

gang_result gang__reserve_new(gang_sched *s, const struct gang_reservation_spec *spec,
                              struct gang__reserve **out, struct gang_error *error)
{
    gang_queue_id queue;
    struct gang__block b = {NULL, 0};
    *out = NULL;
    gang_result r = check_times(spec, error);
    if (r == GANG_OK)
        r = check_words(spec, error);
    if (r == GANG_OK)
        r = check_members(s, spec, &queue, error);
    if (r != GANG_OK)
        return r;
    struct gang__reserve *made = gang__zalloc(&s->mem, 1, sizeof(*made));
    if (!made)
        return bad(error, GANG_ENOMEM, NULL, "out of memory");
    lay_out(made, spec, &b);
    made->block = b.base = gang__zalloc(&s->mem, 1, b.used);
    if (!b.base) {
        gang__release(&s->mem, made);
        return bad(error, GANG_ENOMEM, NULL, "out of memory");
    }
    b.used = 0;
    lay_out(made, spec, &b);
    set_numbers(made, spec);
    made->queue = queue;
    for (size_t i = 0; i < spec->stage_count && r == GANG_OK; i++) {
        made->stage_count = i + 1;
        r = take_stage(s, spec, i, &made->stage[i], error);
        if (r != GANG_OK)
            gang__error_at(error, r, "stages[%zu]", i);
    }
    if (r != GANG_OK)
        gang__reserve_record_free(s, made);
    else
        *out = made;
    return r;
}
