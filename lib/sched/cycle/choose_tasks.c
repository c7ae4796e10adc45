/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks of unlike groups start together, where limits do not allow every choice?
 *
 * The first choice (usage/choices.c) that the limits allow and that has a place now. If none has a
 * place, the first one that the limits allow: the gang waits for that, with a planned start in a
 * leaf that backfills. */
#include "sched/cycle/cycle_in.h"
#include "sched/order/order.h"
#include "sched/usage/usage.h"
#include "sched/where/where.h"

/* What refuses the choices. */
struct refused {
    struct gang__queue_state *by;
    struct gang__refusal refusal;
};

/* The queue nearest to the root stands for all: when anything below it is given back, the gang is
 * tried again. */
static void note(struct refused *r, struct gang__queue_state *by, struct gang__refusal refusal)
{
    bool first = !r->by, wider = !first && by->q->depth < r->by->q->depth;
    bool lends = refusal.why == GANG_WAIT_LENDING; /* waits for what any queue gives back */
    if (first || lends || (wider && r->refusal.why != GANG_WAIT_LENDING)) {
        r->by = by;
        r->refusal = refusal;
    }
}

static bool limits_allow(gang_sched *s, struct gang__gang *g, const struct gang__take *take,
                         uint32_t count, struct refused *r)
{
    struct gang__refusal refusal = {0, 0};
    struct gang__queue_state *by =
        gang__limits_refuse(s, g, take, count, g->order.wait_class->fixed, &refusal);
    if (by)
        note(r, by, refusal);
    return !by;
}

static bool choice_is_allowed(gang_sched *s, struct gang__gang *g, struct refused *r)
{
    return limits_allow(s, g, g->choice->take, g->choice->take_count, r);
}

/* Step from choice to choice until limits allow one and (fits) it has a place in the snapshot
 * sched.scratch. *no_memory: it could not be asked. */
static bool find(gang_sched *s, struct gang__gang *g, bool fits, struct refused *r, bool *no_memory)
{
    struct gang__where w = {.s = s, .g = g, .on = s->scratch};
    for (bool some = gang__choice_first(s, g); some; some = gang__choice_next(s, g)) {
        if (!choice_is_allowed(s, g, r))
            continue;
        gang_result result = fits ? gang__where_fits(&w) : GANG_OK;
        *no_memory = *no_memory || result == GANG_ENOMEM;
        if (result == GANG_OK)
            return true;
    }
    return false;
}

bool gang__choose_tasks(gang_sched *s, struct gang__gang *g)
{
    const struct gang__request_class *class = g->request_class;
    struct refused r = {NULL, {0, 0}};
    bool no_memory = false;
    if (limits_allow(s, g, class->most_take, class->most_take_count, &r))
        return true;
    r.by = NULL;
    if (!find(s, g, false, &r, &no_memory)) {
        if (r.by)
            gang__order_block(s, g->order.wait_class, r.refusal.why, r.by, r.refusal.dim);
        else /* the groups cannot give as many tasks as the minimum asks for */
            gang__order_block(s, g->order.wait_class, GANG_WAIT_CAPACITY, NULL, 0);
        return false;
    }
    no_memory = gang_snapshot_take(s->worker, s->scratch) != GANG_OK;
    if (!no_memory && !find(s, g, true, &r, &no_memory))
        (void)!find(s, g, false, &r, &no_memory);
    if (no_memory) {
        g->choice = NULL;
        gang__block_for_this_run(s, g, true);
    }
    return !no_memory;
}
