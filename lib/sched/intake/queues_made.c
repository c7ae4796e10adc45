/* SPDX-License-Identifier: Apache-2.0 */
/* Queues that are made on demand below a parent, and removed when they were idle long enough. */
#include "sched/intake/intake_in.h"
#include "sched/intake/queues_live_in.h"

gang_result gang__queues_make_on_demand(gang_sched *s, gang_queue_id parent, const char *name,
                                        struct gang__queue_state **leaf)
{
    const struct gang__queue *q = gang__queue_by_name(s->queues, name);
    const struct gang__queue *up = gang__queue_by_id(s->queues, parent);
    gang_result r = GANG_OK;
    struct gang__queue_list l;
    *leaf = NULL;
    if (!q) {
        if (!up || !up->spec->child || !gang__queue_can_make_child(s->queues, up))
            return GANG_ENOENT;
        if (!gang__queue_list_now(s, 1, &l))
            return GANG_ENOMEM;
        l.spec[l.count] = *up->spec->child;
        l.spec[l.count].name = name;
        l.spec[l.count].parent = up->name;
        l.made[l.count++] = true;
        r = gang__queues_apply(s, l.spec, l.count, l.made, NULL);
        gang__queue_list_free(s, &l);
        if (s->intake.retired_count > 64)
            gang__submit_view_free_retired(s);
        q = r == GANG_OK ? gang__queue_by_name(s->queues, name) : NULL;
    }
    *leaf = q ? s->qs[q->index] : NULL;
    return r;
}

static int64_t idle_until(const struct gang__queue_state *q)
{
    const struct gang__queue *up = q->q->made ? q->parent->q : NULL;
    int64_t after = up ? up->spec->child_idle_ns : 0;
    if (after <= 0 || q->idle_since_ns == INT64_MAX || q->jobs > 0)
        return INT64_MAX;
    return gang__add_sat(q->idle_since_ns, after);
}

int64_t gang__queues_next_idle(const gang_sched *s)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; s->queues->has_made && i < s->queues->count; i++) {
        int64_t until = s->queues->queue[i].made ? idle_until(s->qs[i]) : INT64_MAX;
        next = until < next ? until : next;
    }
    return next;
}

void gang__queues_remove_idle(gang_sched *s)
{
    for (uint32_t i = 0; s->queues->has_made && i < s->queues->count; i++)
        if (s->queues->queue[i].made && idle_until(s->qs[i]) <= s->now_ns &&
            gang__queues_without(s, &s->queues->queue[i], NULL) == GANG_OK)
            i = UINT32_MAX; /* another tree */
}
