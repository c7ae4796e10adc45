/* SPDX-License-Identifier: Apache-2.0 */
/* A reduced reservation grows again. What a piece lost is kept as a *gap* of the same time. When
 * nodes are up again or come free, the gap is placed: all of it, or as many tasks of each group as
 * fit. Running jobs and other reservations keep what they have; planned starts make way. Slurm
 * replaces lost nodes of a reservation in the same way (REPLACE_DOWN). */
#include <string.h>

#include "sched/reserve/reserve_in.h"

/* ---- what is missing ------------------------------------------------------------------------- */

struct gang__reserve_gap *gang__reserve_gap_new(gang_sched *s, const struct gang__reserve *r,
                                                const struct gang__reserve_piece *p)
{
    uint32_t groups = r->stage[p->stage].request ? r->stage[p->stage].request->group_count : 1;
    struct gang__reserve_gap *gap =
        gang__zalloc(&s->mem, 1, sizeof(*gap) + groups * sizeof(gap->count[0]));
    if (!gap)
        return NULL;
    gap->instance = p->instance;
    gap->start_ns = p->start_ns;
    gap->end_ns = p->end_ns;
    gap->stage = p->stage;
    gap->groups = groups;
    for (uint32_t i = 0; i < p->run_count; i++)
        gap->count[p->run[i].group] += (int64_t)p->run[i].tasks * p->run[i].nodes;
    return gap;
}

void gang__reserve_gap_keep(gang_sched *s, struct gang__reserve *r, struct gang__reserve_gap *gap,
                            const struct gang__reserve_piece *rest)
{
    for (uint32_t i = 0; rest && i < rest->run_count; i++)
        gap->count[rest->run[i].group] -= (int64_t)rest->run[i].tasks * rest->run[i].nodes;
    gap->next = r->gap;
    r->gap = gap;
    s->reserve.all->gaps++;
}

static void drop_gap(gang_sched *s, struct gang__reserve_gap **at)
{
    struct gang__reserve_gap *gap = *at;
    *at = gap->next;
    gang__release(&s->mem, gap);
    s->reserve.all->gaps--;
}

void gang__reserve_gaps_drop(gang_sched *s, struct gang__reserve *r)
{
    while (r->gap)
        drop_gap(s, &r->gap);
}

static bool is_empty(const struct gang__reserve_gap *gap)
{
    int64_t left = 0;
    for (uint32_t group = 0; group < gap->groups; group++)
        left += gap->count[group];
    return left == 0;
}

/* Is the gap filled, past, or its instance gone? */
static bool is_over(const gang_sched *s, const struct gang__reserve *r,
                    const struct gang__reserve_gap *gap)
{
    const struct gang__reserve_piece *p = r->piece;
    while (p && p->instance != gap->instance)
        p = p->next;
    return !p || gap->end_ns <= s->now_ns || is_empty(gap);
}

/* ---- growing --------------------------------------------------------------------------------- */

/* Does a piece of the same stage still hold the full booking? */
static bool is_booked(const struct gang__reserve *r, const struct gang__reserve_gap *gap)
{
    bool some = false;
    for (const struct gang__reserve_piece *p = r->piece; p && !some; p = p->next)
        some = p->booking && p->instance == gap->instance && p->stage == gap->stage;
    return some;
}

static gang_result place(gang_sched *s, struct gang__reserve *r,
                         const struct gang__reserve_gap *gap, const int64_t *count)
{
    int64_t start_ns = gap->start_ns > s->now_ns ? gap->start_ns : s->now_ns;
    const struct gang__reserve_portion portion = {gap->stage, count,       gap->instance,
                                                  start_ns,   gap->end_ns, is_booked(r, gap)};
    return gang__reserve_place_lost(s, r, &portion);
}

/* Place as many tasks of a group as fit: all at once, else half as many, and so on. */
static gang_result fill_group(gang_sched *s, struct gang__reserve *r, struct gang__reserve_gap *gap,
                              uint32_t group, int64_t *count, bool *some)
{
    int64_t n = gap->groups > 1 ? gap->count[group]
                                : gap->count[group] / 2; /* not all of them: that was tried */
    gang_result w = GANG_OK;
    while (n > 0 && w != GANG_ENOMEM) {
        count[group] = n;
        w = place(s, r, gap, count);
        gap->count[group] -= w == GANG_OK ? n : 0;
        *some = *some || w == GANG_OK;
        n = w == GANG_OK ? gang__min(n, gap->count[group]) : n / 2;
    }
    count[group] = 0;
    return w == GANG_ENOMEM ? w : GANG_OK;
}

/* Fill the gap. GANG_OK; GANG_ENOMEM, after some tasks may have been placed. */
static gang_result fill(gang_sched *s, struct gang__reserve *r, struct gang__reserve_gap *gap,
                        bool *some)
{
    size_t bytes = gap->groups * sizeof(gap->count[0]);
    gang_result w = place(s, r, gap, gap->count);
    if (w == GANG_OK)
        memset(gap->count, 0, bytes);
    *some = *some || w == GANG_OK;
    if (w != GANG_ENOFIT)
        return w;
    int64_t *count = gang__zalloc(&s->mem, 1, bytes);
    w = count ? GANG_OK : GANG_ENOMEM;
    for (uint32_t group = 0; group < gap->groups && w == GANG_OK; group++)
        w = fill_group(s, r, gap, group, count, some);
    gang__release(&s->mem, count);
    return w;
}

/* Is anything still missing of this instance? */
static bool lacks(const struct gang__reserve *r, int64_t instance)
{
    bool some = false;
    for (const struct gang__reserve_gap *gap = r->gap; gap; gap = gap->next)
        some = some || (gap->instance == instance && !is_empty(gap));
    return some;
}

static void report(gang_sched *s, struct gang__reserve *r, int64_t instance)
{
    bool all = !lacks(r, instance);
    gang__reserve_report(s, r, instance, GANG_RESERVATION_RESTORED,
                         all ? GANG_RESERVATION_KEPT : GANG_RESERVATION_REDUCED,
                         all ? "it has again what it had lost"
                             : "it has again some of what it had lost");
}

static gang_result grow_one(gang_sched *s, struct gang__reserve *r)
{
    gang_result w = GANG_OK;
    bool grown = false;
    for (struct gang__reserve_gap **at = &r->gap; *at && w == GANG_OK;) {
        struct gang__reserve_gap *gap = *at;
        int64_t instance = gap->instance;
        bool some = false;
        if (!is_over(s, r, gap))
            w = fill(s, r, gap, &some);
        if (is_over(s, r, gap))
            drop_gap(s, at);
        else
            at = &gap->next;
        if (some)
            report(s, r, instance);
        grown = grown || some;
    }
    if (!grown)
        return w;
    gang__reserve_refill_inside(s, r);
    gang__reserve_wake(s, r);
    gang__reserve_schedule(s);
    return w;
}

bool gang__reserve_place_gaps(gang_sched *s)
{
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->timeline);
    gang_result w = gang__reserve_put_handovers(&t);
    for (struct gang__reserve *r = s->reserve.all->first; r && w == GANG_OK; r = r->next)
        if (!r->over)
            w = grow_one(s, r);
    gang__trial_drop(&t);
    return w == GANG_OK;
}
