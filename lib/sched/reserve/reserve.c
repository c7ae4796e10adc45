/* SPDX-License-Identifier: Apache-2.0 */
/* The table of reservations, their pieces, and the view that submitting threads have of them. */
#include <string.h>

#include "base/rcu.h"
#include "base/two_pass_block.h"
#include "sched/calendar/calendar.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve_in.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- the table ------------------------------------------------------------------------------- */

struct gang__reserve *gang__reserve_of(const gang_sched *s, gang_reservation_id id)
{
    struct gang__reserve *r = s->reserve.all ? s->reserve.all->first : NULL;
    while (r && r->id != id)
        r = r->next;
    return r;
}

struct gang__reserve_piece *gang__reserve_current_piece(const struct gang__reserve *r)
{
    struct gang__reserve_piece *p = r->piece;
    while (p && p->instance != r->current)
        p = p->next;
    return p;
}

int64_t gang__reserve_begin_of(const struct gang__reserve *r, int64_t instance)
{
    int64_t begin = INT64_MAX;
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
        if (p->instance == instance && p->start_ns < begin)
            begin = p->start_ns;
    return begin;
}

int64_t gang__reserve_end_of(const struct gang__reserve *r, int64_t instance)
{
    int64_t end = INT64_MIN;
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
        if (p->instance == instance && p->end_ns > end)
            end = p->end_ns;
    return end;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

bool gang__reserve_lay_out(gang_sched *s, const struct gang__reserve *r,
                           const struct gang__reserve_piece *p, struct gang__occupation *o)
{
    struct gang__calendar *cal = s->calendar;
    const struct gang__reserve_stage *stage = &r->stage[p->stage];
    size_t groups = stage->request ? stage->request->group_count : 1;
    if (stage->request && !gang__calendar_set_groups(s, stage->request))
        return false;
    if (!gang__grow(&s->mem, (void **)&cal->group, &cal->group_cap, 1, sizeof(*cal->group)))
        return false;
    if (!stage->request)
        cal->group[0] = (struct gang__time_group){.count = 1};
    cal->places = 0;
    for (uint32_t i = 0; i < p->run_count; i++) {
        const struct gang__reserve_run *run = &p->run[i];
        size_t need = cal->places + run->nodes;
        if (!gang__grow(&s->mem, (void **)&cal->place, &cal->place_cap, need, sizeof(*cal->place)))
            return false;
        for (uint32_t k = 0; k < run->nodes && run->node + k < cal->end; k++)
            cal->place[cal->places++] =
                (struct gang__time_place){run->node + k, run->group, run->tasks};
    }
    *o = (struct gang__occupation){p->start_ns, p->end_ns,   cal->group, groups,
                                   cal->place,  cal->places, 0,          stage->whole};
    return true;
}

bool gang__reserve_enter(gang_sched *s, const struct gang__reserve *r,
                         struct gang__reserve_piece *p)
{
    struct gang__occupation o;
    uint32_t id;
    if (!gang__reserve_lay_out(s, r, p, &o))
        return false;
    if (o.place_count > 0) {
        if (gang__timeline_add(s->calendar->timeline, &o, &id) != GANG_OK)
            return false;
        p->id = id + 1;
    }
    return true;
}

void gang__reserve_take_out(gang_sched *s, struct gang__reserve_piece *p)
{
    if (p->id && s->calendar && s->calendar->timeline)
        gang__timeline_remove(s->calendar->timeline, p->id - 1);
    p->id = 0;
}

void gang__reserve_insert(struct gang__reserve *r, struct gang__reserve_piece *p)
{
    struct gang__reserve_piece **at = &r->piece;
    while (*at && (*at)->start_ns <= p->start_ns)
        at = &(*at)->next;
    p->next = *at;
    *at = p;
}

void gang__reserve_drop(gang_sched *s, struct gang__reserve *r, struct gang__reserve_piece *p)
{
    struct gang__reserve_piece **at = &r->piece;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    gang__reserve_take_out(s, p);
    if (p->booking)
        gang__bookings_remove(r->usage, p->booking - 1);
    gang__release(&s->mem, p);
    gang__wake_calendar(s);
}

void gang__reserve_each_node(const struct gang__reserve_piece *p,
                             bool (*each)(uint32_t slot, void *user), void *user)
{
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0; i < p->run_count; i++)
        for (uint32_t k = 0; k < p->run[i].nodes; k++) {
            uint32_t slot = p->run[i].node + k;
            if (slot != last && !each(slot, user))
                return;
            last = slot;
        }
}

void gang__reserve_withdraw_from(struct gang__trial *t, const struct gang__reserve *r)
{
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
        if (p->id)
            gang__trial_withdraw(t, p->id - 1);
}

/* ---- what submitters see --------------------------------------------------------------------- */

struct reserve_access {
    gang_reservation_id id;
    const char *name;
    gang_queue_id queue;
    gang_job_id job;
    const char **user;
    size_t user_count;
    bool closed; /* maintenance */
};

struct gang__reserve_view {
    size_t count;
    struct reserve_access *of;
};

static void lay_out_access(struct gang__block *b, const struct gang__reserve *r,
                           struct reserve_access *t)
{
    struct reserve_access none = {.id = GANG_ID_NONE};
    t = t ? t : &none;
    t->id = r->id;
    t->name = gang__block_text(b, r->name);
    t->queue = r->queue;
    t->job = r->job;
    t->closed = r->flags & GANG_RESERVATION_MAINTENANCE;
    t->user_count = r->user_count;
    t->user = gang__block_alloc(b, r->user_count * sizeof(*t->user));
    for (size_t i = 0; i < r->user_count; i++) {
        const char *text = gang__block_text(b, r->user[i]);
        if (t->user)
            t->user[i] = text;
    }
}

/* All reservations of a scheduler, with one more and one less. */
struct view_source {
    const gang_sched *s;
    const struct gang__reserve *more, *less; /* NULL: none */
};

static void *lay_out_view(struct gang__block *b, const void *from)
{
    const struct view_source *source = from;
    const gang_sched *s = source->s;
    struct gang__reserve_view *all = gang__block_alloc(b, sizeof(*all));
    struct reserve_access *of = gang__block_alloc(b, (s->reserve.count + 1) * sizeof(*of));
    size_t n = 0;
    const struct gang__reserve *first = s->reserve.all ? s->reserve.all->first : NULL;
    for (const struct gang__reserve *r = first; r; r = r->next)
        if (r != source->less && r != source->more)
            lay_out_access(b, r, of ? &of[n++] : NULL);
    if (source->more)
        lay_out_access(b, source->more, of ? &of[n++] : NULL);
    if (all)
        *all = (struct gang__reserve_view){n, of};
    return all;
}

bool gang__reserve_view_make(gang_sched *s, const struct gang__reserve *more,
                             const struct gang__reserve *less, struct gang__reserve_view **out)
{
    const struct view_source from = {s, more, less};
    *out = gang__block_build(&s->mem, lay_out_view, &from);
    return *out != NULL;
}

/* Frees the old view when no thread reads it any more. */
void gang__reserve_view_set(gang_sched *s, struct gang__reserve_view *view)
{
    struct gang__reserve_view *before = gang__load_relaxed(&s->reserve.view);
    gang__store(&s->reserve.view, view);
    if (before)
        gang__rcu_wait();
    gang__release(&s->mem, before);
}

static bool is_below(const struct gang__queues *qs, const struct gang__queue *q, gang_queue_id top)
{
    uint32_t at = q->index;
    while (at != GANG__NO_QUEUE && qs->queue[at].id != top)
        at = qs->queue[at].parent;
    return at != GANG__NO_QUEUE;
}

static bool is_for(const struct reserve_access *t, const struct gang__queues *qs,
                   const struct gang__queue *q, const char *user)
{
    bool named = t->user_count == 0;
    for (size_t i = 0; i < t->user_count && !named; i++)
        named = strcmp(t->user[i], user) == 0;
    return named && !t->closed && t->job == GANG_ID_NONE &&
           (t->queue == GANG_ID_NONE || is_below(qs, q, t->queue));
}

gang_result gang__reserve_view_find(gang_sched *s, const struct gang__submit_view *submit_view,
                                    const struct gang__queue *q, const struct gang_job_spec *j,
                                    gang_reservation_id *id, struct gang_error *error)
{
    const struct gang__reserve_view *all = gang__load(&s->reserve.view);
    for (size_t i = 0; all && i < all->count; i++) {
        const struct reserve_access *t = &all->of[i];
        if (strcmp(t->name, j->reservation) != 0)
            continue;
        *id = t->id;
        if (is_for(t, submit_view->queues, q, j->user ? j->user : ""))
            return GANG_OK;
        return gang__error(error, GANG_EPERM, "reservation",
                           "\"%s\" is not for user \"%s\" in queue \"%s\"", t->name,
                           j->user ? j->user : "", q->name);
    }
    return gang__error(error, GANG_ENOENT, "reservation", "there is no reservation \"%s\"",
                       j->reservation);
}

/* ---- the end of one ----------------------------------------------------------------------------
 */

void gang__reserve_record_free(gang_sched *s, struct gang__reserve *r)
{
    if (!r)
        return;
    while (r->piece)
        gang__reserve_drop(s, r, r->piece);
    gang__reserve_gaps_drop(s, r);
    gang__timeline_free(r->inside);
    for (size_t i = 0; i < r->stage_count; i++)
        gang__request_text_unref(&s->mem, r->stage[i].text);
    gang__release(&s->mem, r->part);
    gang__release(&s->mem, r->block);
    gang__release(&s->mem, r);
}

static void unlink_it(gang_sched *s, struct gang__reserve *r)
{
    struct gang__reserve **at = &s->reserve.all->first;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    s->reserve.count--;
    s->reserve.all->magnetic -= (r->flags & GANG_RESERVATION_MAGNETIC) != 0;
    gang__wake_reservations(s, GANG__RESERVE_CLASSES);
}

static void forget_in_jobs(gang_sched *s, const struct gang__reserve *r)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        if (job->reserve.named != r)
            continue;
        job->reserve.named = NULL;
        gang__wake_job(s, job, GANG__WAKE_SETTLE);
    }
}

void gang__reserve_end(gang_sched *s, struct gang__reserve *r)
{
    struct gang__reserve_view *view;
    gang__reserve_close_inside(s, r);
    unlink_it(s, r);
    forget_in_jobs(s, r);
    if (gang__reserve_view_make(s, NULL, r, &view))
        gang__reserve_view_set(
            s, view); /* else jobs that name it are refused when they are taken in */
    gang__reserve_record_free(s, r);
    gang__reserve_schedule(s);
}

void gang__reserve_free(gang_sched *s)
{
    struct gang__reserves *all = s->reserve.all;
    if (!all)
        return;
    while (all->first) {
        struct gang__reserve *r = all->first;
        all->first = r->next;
        gang__reserve_record_free(s, r);
    }
    while (all->owners) {
        struct gang__reserve_owner *o = all->owners;
        all->owners = o->next;
        gang__bookings_free(o->usage);
        gang__release(&s->mem, o);
    }
    gang__admitted_free(&all->got, &s->mem);
    gang__release(&s->mem, all->node);
    gang__release(&s->mem, all->jobs);
    gang__release(&s->mem, all->mask);
    gang__release(&s->mem, gang__load_relaxed(&s->reserve.view));
    gang__store_relaxed(&s->reserve.view, NULL);
    gang__release(&s->mem, all);
    s->reserve.all = NULL;
    s->reserve.count = 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

gang_result gang_reservation_get(gang_sched *sched, gang_reservation_id id,
                                 struct gang_reservation_info *info)
{
    struct gang_reservation_info out;
    if (!sched || !info)
        return GANG_EINVAL;
    const struct gang__reserve *r = gang__reserve_of(sched, id);
    if (!r)
        return GANG_ESTALE;
    memset(&out, 0, sizeof(out));
    out.size = info->size;
    out.id = id;
    out.state = r->begun ? GANG_RESERVATION_ACTIVE : GANG_RESERVATION_PLANNED;
    out.flags = r->flags;
    out.start_ns = gang__reserve_begin_of(r, r->current);
    out.end_ns = gang__reserve_end_of(r, r->current);
    out.instance = r->current;
    int64_t last = -1;
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next) {
        out.planned += p->instance > last;
        last = p->instance > last ? p->instance : last;
        for (uint32_t i = 0; p->instance == r->current && i < p->run_count; i++)
            out.nodes += p->run[i].nodes;
    }
    out.running = gang__reserve_running(sched, r);
    out.waiting = gang__reserve_waiting(sched, r);
    out.queue = r->queue;
    out.job = r->job;
    out.name = r->name;
    out.owner = r->owner;
    return gang__struct_out(info, info->size, offsetof(struct gang_reservation_info, owner), &out,
                            sizeof(out));
}

gang_reservation_id gang_reservation_next(gang_sched *sched, gang_reservation_id id)
{
    const struct gang__reserve *r = sched && sched->reserve.all ? sched->reserve.all->first : NULL;
    while (id != GANG_ID_NONE && r && r->id != id)
        r = r->next;
    r = id != GANG_ID_NONE && r ? r->next : r;
    return r ? r->id : GANG_ID_NONE;
}

gang_result gang_reservation_find(gang_sched *sched, const char *name, gang_reservation_id *id)
{
    if (id)
        *id = GANG_ID_NONE;
    if (!sched || !name || !id)
        return GANG_EINVAL;
    const struct gang__reserve *r = sched->reserve.all ? sched->reserve.all->first : NULL;
    while (r && strcmp(r->name, name) != 0)
        r = r->next;
    *id = r ? r->id : GANG_ID_NONE;
    return r ? GANG_OK : GANG_ENOENT;
}
