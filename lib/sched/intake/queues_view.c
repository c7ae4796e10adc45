/* SPDX-License-Identifier: Apache-2.0 */
/* The tree as submitters on other threads see it, under RCU. */
#include "base/rcu.h"
#include "sched/intake/queues_live_in.h"

void gang__submit_view_release(const struct gang_mem *mem, struct gang__submit_view *d)
{
    gang__release(mem, d->limit);
    gang__release(mem, d->pending);
    gang__release(mem, d->arriving);
    gang__release(mem, d);
}

struct gang__submit_view *gang__submit_view_new(gang_sched *s, struct gang__queues *queues)
{
    size_t amounts = (size_t)queues->count * queues->dims;
    struct gang__submit_view *d = gang__zalloc(&s->mem, 1, sizeof(*d));
    if (!d)
        return NULL;
    d->limit = gang__zalloc(&s->mem, amounts + 1, sizeof(*d->limit));
    d->pending = gang__zalloc(&s->mem, queues->count + 1, sizeof(*d->pending));
    d->arriving = gang__zalloc(&s->mem, queues->count + 1, sizeof(*d->arriving));
    if (!d->limit || !d->pending || !d->arriving) {
        gang__submit_view_release(&s->mem, d);
        return NULL;
    }
    /* Until the owner stores the limits in force, a submission counts as one before the change. */
    for (size_t i = 0; i < amounts; i++)
        gang__store_relaxed(&d->limit[i], (uint64_t)GANG__NO_BOUND);
    d->queues = queues;
    d->number = ++s->intake.view_count;
    return d;
}

void gang__submit_view_free(gang_sched *s, struct gang__submit_view *d)
{
    while (d->gone) {
        struct gang__queue_state *q = d->gone;
        d->gone = q->next_gone;
        gang__queue_free(s, q);
    }
    gang__queues_free(d->queues, &s->mem);
    gang__submit_view_release(&s->mem, d);
}

/* Waits until no submitter reads an old view. */
void gang__submit_view_free_retired(gang_sched *s)
{
    if (!s->intake.retired)
        return;
    gang__rcu_wait();
    while (s->intake.retired) {
        struct gang__submit_view *d = s->intake.retired;
        s->intake.retired = d->retired;
        gang__submit_view_free(s, d);
    }
    s->intake.retired_count = 0;
}
