/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations in a copy (copy.h): their records are copied before the jobs, their members after
 * them, and their occupations together with the timelines. */
#include <string.h>

#include "base/two_pass_block.h"
#include "sched/copy/copy_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"

/* ---- what owners have ------------------------------------------------------------------------ */

static bool copy_owner(gang_sched *s, const struct gang__reserve_owner *from,
                       struct gang__reserve_owner **at)
{
    size_t length = strlen(from->name) + 1;
    struct gang__reserve_owner *o = gang__zalloc(&s->mem, 1, sizeof(*o) + length);
    if (!o)
        return false;
    *at = o;
    o->own = from->own;
    memcpy(o->name, from->name, length);
    return gang__bookings_copy(&s->mem, from->usage, &o->usage) == GANG_OK;
}

static bool copy_owners(gang_sched *s, const struct gang__reserves *from)
{
    struct gang__reserve_owner **at = &s->reserve.all->owners;
    for (const struct gang__reserve_owner *o = from->owners; o; o = o->next) {
        if (!copy_owner(s, o, at))
            return false;
        at = &(*at)->next;
    }
    return true;
}

/* The lists are in the same order. */
static struct gang__bookings *usage_as(const gang_sched *s, const struct gang__reserves *from,
                                       const struct gang__bookings *usage)
{
    const struct gang__reserve_owner *o = s->reserve.all->owners, *old = from->owners;
    while (old && old->usage != usage) {
        o = o->next;
        old = old->next;
    }
    return old ? o->usage : NULL;
}

/* ---- one reservation ------------------------------------------------------------------------- */

static void *copy_bytes(struct gang__block *b, const void *from, size_t bytes)
{
    void *to = gang__block_alloc(b, bytes);
    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

/* Texts and stages, in one block: measured, then made. */
static void lay_out(struct gang__block *b, struct gang__reserve *r,
                    const struct gang__reserve *from)
{
    r->name = gang__block_text(b, from->name);
    r->owner = gang__block_text(b, from->owner);
    r->user = gang__block_alloc(b, from->user_count * sizeof(*r->user));
    for (size_t i = 0; i < from->user_count; i++) {
        const char *text = gang__block_text(b, from->user[i]);
        if (b->base)
            r->user[i] = text;
    }
    r->stage = copy_bytes(b, from->stage, from->stage_count * sizeof(*r->stage));
    for (size_t i = 0; i < from->stage_count; i++) {
        const struct gang__reserve_stage *stage = &from->stage[i];
        size_t groups = stage->request ? stage->request->group_count : 0;
        int64_t *count = copy_bytes(b, stage->count, groups * sizeof(*count));
        gang_node_id *node = copy_bytes(b, stage->node, stage->node_count * sizeof(*node));
        if (!b->base)
            continue;
        r->stage[i].count = count;
        r->stage[i].node = node;
        r->stage[i].text = NULL;
        r->stage[i].request = NULL;
    }
}

static bool copy_stages(gang_sched *s, struct gang__reserve *r, const struct gang__reserve *from)
{
    struct gang__block b = {NULL, 0};
    lay_out(&b, r, from);
    r->block = b.base = gang__zalloc(&s->mem, 1, b.used);
    if (!b.base)
        return false;
    b.used = 0;
    lay_out(&b, r, from);
    r->stage_count = from->stage_count;
    for (size_t i = 0; i < r->stage_count; i++) {
        if (!from->stage[i].text)
            continue;
        r->stage[i].text = gang__request_text_copy(s, from->stage[i].text);
        if (!r->stage[i].text)
            return false;
        r->stage[i].request = r->stage[i].text->request;
    }
    r->part = gang__zalloc(&s->mem, from->part_count + 1, sizeof(*r->part));
    if (r->part && from->part_count)
        memcpy(r->part, from->part, from->part_count * sizeof(*r->part));
    return r->part != NULL;
}

static bool copy_pieces(gang_sched *s, struct gang__reserve *r, const struct gang__reserve *from)
{
    struct gang__reserve_piece **at = &r->piece;
    for (const struct gang__reserve_piece *p = from->piece; p; p = p->next) {
        size_t bytes = sizeof(*p) + p->run_count * sizeof(p->run[0]);
        *at = gang__zalloc(&s->mem, 1, bytes);
        if (!*at)
            return false;
        memcpy(*at, p, bytes);
        (*at)->next = NULL;
        (*at)->id = 0;
        at = &(*at)->next;
    }
    return true;
}

static bool copy_gaps(gang_sched *s, struct gang__reserve *r, const struct gang__reserve *from)
{
    struct gang__reserve_gap **at = &r->gap;
    for (const struct gang__reserve_gap *gap = from->gap; gap; gap = gap->next) {
        size_t bytes = sizeof(*gap) + gap->groups * sizeof(gap->count[0]);
        *at = gang__zalloc(&s->mem, 1, bytes);
        if (!*at)
            return false;
        memcpy(*at, gap, bytes);
        (*at)->next = NULL;
        at = &(*at)->next;
        s->reserve.all->gaps++;
    }
    return true;
}

/* It is in the table even if memory was short: it is ended with that. */
static bool copy_one(gang_sched *s, const struct gang__reserves *all,
                     const struct gang__reserve *from, struct gang__reserve **at)
{
    struct gang__reserve *r = gang__zalloc(&s->mem, 1, sizeof(*r));
    if (!r)
        return false;
    *r = *from;
    *at = r;
    r->next = NULL;
    r->stage = NULL;
    r->stage_count = 0;
    r->part = NULL;
    r->piece = NULL;
    r->gap = NULL;
    r->inside = NULL;
    r->block = NULL;
    r->usage = usage_as(s, all, from->usage);
    return copy_stages(s, r, from) && copy_pieces(s, r, from) && copy_gaps(s, r, from);
}

/* ---- all of them ----------------------------------------------------------------------------- */

bool gang__reserves_copy(gang_sched *s, const gang_sched *from)
{
    const struct gang__reserves *old = from->reserve.all;
    struct gang__reserve_view *view;
    if (!old)
        return true;
    struct gang__reserves *all = s->reserve.all = gang__zalloc(&s->mem, 1, sizeof(*all));
    if (!all)
        return false;
    all->last_id = old->last_id;
    all->accepted = old->accepted;
    all->due_ns = old->due_ns;
    s->wake.reservations = from->wake.reservations;
    all->magnetic = old->magnetic;
    all->limit = old->limit;
    all->limited = old->limited;
    if (!copy_owners(s, old))
        return false;
    struct gang__reserve **at = &all->first;
    for (const struct gang__reserve *r = old->first; r; r = r->next) {
        if (!copy_one(s, old, r, at))
            return false;
        s->reserve.count++;
        at = &(*at)->next;
    }
    if (!gang__reserve_view_make(s, NULL, NULL, &view))
        return false;
    gang__reserve_view_set(s, view);
    return true;
}

static struct gang__reserve *reserve_as(const gang_sched *s, const struct gang__reserve *from)
{
    return from ? gang__reserve_of(s, from->id) : NULL;
}

void gang__reserve_members_copy(gang_sched *s, const gang_sched *from)
{
    for (struct gang__set_link *n = gang__set_first(&from->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *old = GANG__OF(struct gang__job, by_id, n);
        struct gang__job *job = gang__job_of(s, old->id);
        job->reserve.id = old->reserve.id;
        job->reserve.named = reserve_as(s, old->reserve.named);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            job->gang[i].reserve.inside_of = reserve_as(s, old->gang[i].reserve.inside_of);
            job->gang[i].reserve.until_ns = old->gang[i].reserve.until_ns;
        }
    }
}

bool gang__reserve_laid_copy(gang_sched *s, const gang_sched *from)
{
    const struct gang__reserve *old = from->reserve.all ? from->reserve.all->first : NULL;
    for (struct gang__reserve *r = old ? s->reserve.all->first : NULL; r;
         r = r->next, old = old->next) {
        const struct gang__reserve_piece *was = old->piece;
        for (struct gang__reserve_piece *p = r->piece; p; p = p->next, was = was->next)
            p->id = was->id;
        if (old->inside && gang__timeline_copy(&s->mem, old->inside, &r->inside) != GANG_OK)
            return false;
    }
    return true;
}
