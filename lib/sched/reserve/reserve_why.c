/* SPDX-License-Identifier: Apache-2.0 */
/* Explains how reservations keep a job waiting. */
#include <inttypes.h>
#include <stdio.h>

#include "sched/reserve/reserve_in.h"

/* Seconds, rounded up to thousandths. */
struct seconds {
    char text[32];
};

static struct seconds in_seconds(int64_t ns)
{
    struct seconds s;
    int64_t milli = ns > 0 ? ns / 1000000 + (ns % 1000000 > 0) : 0;
    int n = snprintf(s.text, sizeof(s.text), "%" PRId64, milli / 1000);
    if (milli % 1000)
        snprintf(s.text + n, sizeof(s.text) - (size_t)n, ".%03d", (int)(milli % 1000));
    return s;
}

/* How long it needs; GANG__NEVER: until the reservation ends. */
static int64_t needs(const struct gang__job *job)
{
    return job->time_limit_ns > 0 ? gang__add_sat(job->time_limit_ns, job->leaf->q->grace_ns)
                                  : GANG__NEVER;
}

/* The duration of its longest piece. */
static int64_t longest(const struct gang__reserve *r)
{
    int64_t most = 0;
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
        most = p->end_ns - p->start_ns > most ? p->end_ns - p->start_ns : most;
    return most;
}

static void tell_member(const gang_sched *s, const struct gang__job *job,
                        struct gang__reserve_reason *why)
{
    const struct gang__reserve *r = job->reserve.named;
    int64_t need = needs(job), end_ns = gang__reserve_end_of(r, r->current);
    int64_t begin_ns = gang__reserve_begin_of(r, r->current);
    if (need != GANG__NEVER && need > longest(r)) {
        why->never = true;
        snprintf(
            why->text, sizeof(why->text),
            "with its grace it may run for %s seconds, and reservation \"%.200s\" lasts for %s",
            in_seconds(need).text, r->name, in_seconds(longest(r)).text);
    } else if (!gang__reserve_active(s, r)) {
        why->until_ns = begin_ns;
        snprintf(why->text, sizeof(why->text),
                 "it waits for reservation \"%.200s\", which begins in %s seconds", r->name,
                 in_seconds(begin_ns - s->now_ns).text);
    } else if (need != GANG__NEVER && gang__add_sat(s->now_ns, need) > end_ns) {
        snprintf(why->text, sizeof(why->text),
                 "with its grace it may run for %s seconds, and reservation \"%.200s\" ends in %s",
                 in_seconds(need).text, r->name, in_seconds(end_ns - s->now_ns).text);
    } else {
        snprintf(why->text, sizeof(why->text), "reservation \"%.200s\" has no capacity for it now",
                 r->name);
    }
}

/* The reservation without which the gang could start; else the first that begins before the gang
 * would end. */
static const struct gang__reserve *reservation_in_the_way(gang_sched *s, struct gang__gang *g)
{
    const struct gang__reserve *first = NULL;
    int64_t first_ns = INT64_MAX, end_ns = gang__add_sat(s->now_ns, gang__calendar_estimate(s, g));
    bool ready = gang__calendar_ready(s);
    for (const struct gang__reserve *r = s->reserve.all->first; r; r = r->next) {
        int64_t begin_ns = r->piece ? r->piece->start_ns : INT64_MAX;
        if (begin_ns >= end_ns || r == g->job->reserve.named)
            continue;
        if (ready) {
            struct gang__trial t;
            gang__trial_begin(&t, s, s->calendar->timeline);
            gang__reserve_withdraw_from(&t, r);
            bool fits = gang__calendar_fits_now(s, g);
            gang__trial_drop(&t);
            if (fits)
                return r;
        }
        if (begin_ns < first_ns) {
            first_ns = begin_ns;
            first = r;
        }
    }
    return first;
}

bool gang__reserve_explain(gang_sched *s, struct gang__gang *g, struct gang__reserve_reason *why)
{
    const struct gang__wait_class *class = g->order.wait_class;
    bool blocked =
        class && class->state == GANG__CLASS_BLOCKED && class->why == GANG_WAIT_RESERVATION;
    why->until_ns = 0;
    why->never = false;
    why->text[0] = 0;
    if (s->reserve.count == 0 || g->calendar.plan || (!blocked && !g->job->reserve.named))
        return false;
    if (g->job->reserve.named && !(g->job->reserve.named->flags & GANG_RESERVATION_FLEX)) {
        tell_member(s, g->job, why);
        return true;
    }
    const struct gang__reserve *r = blocked ? reservation_in_the_way(s, g) : NULL;
    if (!r)
        return false;
    why->until_ns = r->piece->start_ns;
    if (r->piece->start_ns > s->now_ns)
        snprintf(why->text, sizeof(why->text),
                 "its place is reserved for \"%.200s\", from in %s seconds on", r->name,
                 in_seconds(r->piece->start_ns - s->now_ns).text);
    else
        snprintf(why->text, sizeof(why->text), "its place is reserved for \"%.200s\"", r->name);
    return true;
}
