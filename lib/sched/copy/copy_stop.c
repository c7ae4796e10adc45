/* SPDX-License-Identifier: Apache-2.0 */
/* Stops and handovers in a copy (copy.h). What they hold lies in records with the same ids. */
#include <string.h>

#include "sched/copy/copy_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/record/state.h"

/* Handovers of the original, and their counterparts. */
struct pair {
    const void *from;
    void *to;
};
struct pairs {
    gang_sched *s;
    struct pair *pair;
    size_t count, cap;
};

static bool pair_put(struct pairs *p, const void *from, void *to)
{
    if (!gang__grow(&p->s->mem, (void **)&p->pair, &p->cap, p->count + 1, sizeof(*p->pair)))
        return false;
    p->pair[p->count++] = (struct pair){from, to};
    return true;
}

static void *pair_of(const struct pairs *p, const void *from)
{
    size_t i = 0;
    while (i < p->count && p->pair[i].from != from)
        i++;
    return i < p->count ? p->pair[i].to : NULL;
}

static void *copy_array(gang_sched *s, const void *from, size_t count, size_t element)
{
    void *to = gang__zalloc(&s->mem, count + 1, element);
    if (to && count)
        memcpy(to, from, count * element);
    return to;
}

static struct gang__gang *gang_as(const gang_sched *s, const struct gang__gang *from)
{
    struct gang__job *job = from ? gang__job_of(s, from->job->id) : NULL;
    return job ? &job->gang[from->index] : NULL;
}

static void drop_stop(gang_sched *s, struct gang__stop *stop)
{
    gang__release(&s->mem, stop->own);
    gang__release(&s->mem, stop->to);
    gang__release(&s->mem, stop->held);
    gang__release(&s->mem, stop);
}

/* `still` lies behind `own` and has as many entries; `by_group` lies behind both. */
static struct gang__stop *copy_stop(struct pairs *p, const struct gang__stop *from)
{
    gang_sched *s = p->s;
    struct gang__stop *stop = gang__zalloc(&s->mem, 1, sizeof(*stop));
    if (!stop)
        return NULL;
    *stop = *from;
    size_t cap = (size_t)(from->still - from->own);
    stop->next = stop->next_of_handover = NULL;
    stop->handover = from->handover ? pair_of(p, from->handover) : NULL;
    stop->gang = gang_as(s, from->gang);
    stop->own = gang__zalloc(&s->mem, 2 * cap + from->groups + 1, sizeof(*stop->own));
    stop->to = from->to ? copy_array(s, from->to, (size_t)from->to_count, sizeof(*stop->to)) : NULL;
    stop->held = from->held ? copy_array(s, from->held, gang__gang_request(from->gang)->group_count,
                                         sizeof(*stop->held))
                            : NULL;
    if (!stop->own || (from->to && !stop->to) || (from->held && !stop->held) ||
        !pair_put(p, from, stop)) {
        drop_stop(s, stop);
        return NULL;
    }
    memcpy(stop->own, from->own, from->own_count * sizeof(*stop->own));
    stop->still = stop->own + cap;
    memcpy(stop->still, from->still, from->left * sizeof(*stop->still));
    stop->by_group = stop->still + cap;
    memcpy(stop->by_group, from->by_group, from->groups * sizeof(*stop->by_group));
    stop->tasks = from->tasks ? stop->own : NULL;
    return stop;
}

/* The array of a copy is new. It counts what the job takes back when it enters its queues. */
static void promise_to_array(const struct gang__handover *handover)
{
    struct gang__array *array = handover->taker ? handover->taker->job->array : NULL;
    if (array && handover->counted_promised)
        array->promised++;
}

static bool copy_handover(struct pairs *p, const struct gang__handover *from,
                          struct gang__handover **at)
{
    gang_sched *s = p->s;
    struct gang__handover *handover = gang__zalloc(&s->mem, 1, sizeof(*handover));
    if (!handover)
        return false;
    *at = handover;
    *handover = *from;
    handover->next = NULL;
    handover->stops = NULL;
    handover->below = NULL; /* made when the jobs of the copy enter its queues */
    handover->hold_cap = from->hold_count + 1;
    handover->taker = gang_as(s, from->taker);
    handover->places =
        copy_array(s, from->places, (size_t)from->place_count, sizeof(*handover->places));
    handover->holds = copy_array(s, from->holds, from->hold_count, sizeof(*handover->holds));
    if (handover->taker)
        handover->taker->stop.handover = handover;
    promise_to_array(handover);
    bool ok = handover->places && handover->holds && pair_put(p, from, handover);
    struct gang__stop **last = &handover->stops;
    for (const struct gang__stop *stop = from->stops; ok && stop; stop = stop->next_of_handover) {
        *last = copy_stop(p, stop);
        ok = *last != NULL;
        last = ok ? &(*last)->next_of_handover : last;
    }
    return ok;
}

/* The stops of a gang that go on, in their order; some belong to a handover. */
static bool copy_gang_stops(struct pairs *p, struct gang__gang *g, const struct gang__gang *from)
{
    struct gang__stop **last = &g->stop.first;
    for (const struct gang__stop *stop = from->stop.first; stop; stop = stop->next) {
        struct gang__stop *copy = pair_of(p, stop);
        if (!copy && !(copy = copy_stop(p, stop)))
            return false;
        *last = copy;
        last = &copy->next;
    }
    g->stop.moving = from->stop.moving ? pair_of(p, from->stop.moving) : NULL;
    return true;
}

/* Memory ran short: no usage counts them yet. */
static void drop_all(gang_sched *s, const struct pairs *p)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            job->gang[i].stop.first = job->gang[i].stop.moving = NULL;
            job->gang[i].stop.handover = NULL;
        }
    }
    s->stop.deferred = s->stop.kept = NULL;
    while (s->stop.handovers) {
        struct gang__handover *handover = s->stop.handovers;
        s->stop.handovers = handover->next;
        gang__release(&s->mem, handover->places);
        gang__release(&s->mem, handover->holds);
        for (size_t i = 0; i < p->count; i++)
            if (p->pair[i].to == handover)
                p->pair[i].to = NULL;
        gang__release(&s->mem, handover);
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->pair[i].to)
            drop_stop(s, p->pair[i].to);
}

bool gang__stops_copy(gang_sched *to, const gang_sched *from)
{
    struct pairs p = {to, NULL, 0, 0};
    struct gang__handover **last = &to->stop.handovers;
    struct gang__stop **last_owed;
    bool ok = true;
    to->stop.restored = from->stop.restored;
    for (const struct gang__handover *handover = from->stop.handovers; ok && handover;
         handover = handover->next) {
        ok = copy_handover(&p, handover, last);
        last = ok ? &(*last)->next : last;
    }
    for (struct gang__set_link *n = gang__set_first(&from->by_id); ok && n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; ok && i < job->gang_count; i++)
            if (job->gang[i].stop.first || job->gang[i].stop.moving)
                ok = copy_gang_stops(&p, gang_as(to, &job->gang[i]), &job->gang[i]);
    }
    last_owed = &to->stop.deferred;
    for (const struct gang__stop *stop = from->stop.deferred; ok && stop;
         stop = stop->next_of_handover) {
        *last_owed = copy_stop(&p, stop);
        ok = *last_owed != NULL;
        last_owed = ok ? &(*last_owed)->next_of_handover : last_owed;
    }
    struct gang__stop **last_kept = &to->stop.kept;
    for (const struct gang__stop *stop = from->stop.kept; ok && stop;
         stop = stop->next_of_handover) {
        *last_kept = copy_stop(&p, stop);
        ok = *last_kept != NULL;
        last_kept = ok ? &(*last_kept)->next_of_handover : last_kept;
    }
    if (!ok)
        drop_all(to, &p);
    gang__release(&to->mem, p.pair);
    return ok;
}
