/* SPDX-License-Identifier: Apache-2.0 */
/* The order of victims in each leaf: the gangs that run, lowest priority first, of equals the
 * newest; and those of them that have tasks above their minimum (elastic victims).
 *
 * A gang that starts is only listed in sched.fresh: it is sorted into its leaf when the order is
 * read the next time (gang__victims_sort()), because most gangs end before that. */
#include "place/request/request.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"

static int by_number(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Victims: lowest priority first, of equals the newest. */
static int falls_before(const struct gang__gang *x, const struct gang__gang *y)
{
    int c = by_number(x->job->priority, y->job->priority);
    if (c == 0)
        c = by_number(y->job->age, x->job->age);
    if (c == 0)
        c = by_number((int64_t)y->job->id, (int64_t)x->job->id);
    return c ? c : by_number(y->part, x->part);
}

static int compare_falls(const struct gang__set_link *a, const struct gang__set_link *b,
                         const void *ctx)
{
    (void)ctx;
    return falls_before(GANG__OF(struct gang__gang, fall, a), GANG__OF(struct gang__gang, fall, b));
}

static int compare_sheds(const struct gang__set_link *a, const struct gang__set_link *b,
                         const void *ctx)
{
    (void)ctx;
    return falls_before(GANG__OF(struct gang__gang, shed, a), GANG__OF(struct gang__gang, shed, b));
}

void gang__victims_init(struct gang__queue_state *q)
{
    gang__set_init(&q->fall, compare_falls, q);
    gang__set_init(&q->shed, compare_sheds, q);
}

static void fresh_put(gang_sched *s, struct gang__gang *u)
{
    u->in_fresh.next = s->fresh;
    u->in_fresh.at = &s->fresh;
    if (s->fresh)
        s->fresh->in_fresh.at = &u->in_fresh.next;
    s->fresh = u;
    u->fresh = true;
}

static void fresh_take(struct gang__gang *u)
{
    *u->in_fresh.at = u->in_fresh.next;
    if (u->in_fresh.next)
        u->in_fresh.next->in_fresh.at = u->in_fresh.at;
    u->fresh = false;
}

/* While room is made somebody may look at any moment. */
void gang__victims_enter(gang_sched *s, struct gang__gang *u)
{
    if (u->falls)
        return;
    u->falls = true;
    if (s->making_room)
        gang__set_insert_end(&u->job->leaf->fall, &u->fall, 0);
    else
        fresh_put(s, u);
    gang__victims_settle_elastic(u);
}

void gang__victims_leave(struct gang__gang *u)
{
    if (u->falls && u->fresh)
        fresh_take(u);
    else if (u->falls)
        gang__set_remove(&u->job->leaf->fall, &u->fall);
    u->falls = false;
    gang__victims_settle_elastic(u);
}

void gang__victims_settle_elastic(struct gang__gang *u)
{
    bool sheds = u->falls && u->tasks + u->ended > gang__gang_request(u)->min;
    if (sheds && !u->sheds)
        gang__set_insert(&u->job->leaf->shed, &u->shed);
    else if (!sheds && u->sheds)
        gang__set_remove(&u->job->leaf->shed, &u->shed);
    u->sheds = sheds;
}

void gang__victims_sort(gang_sched *s)
{
    struct gang__gang *oldest = NULL;
    while (s->fresh) { /* turned round: the newest comes last, and before all others */
        struct gang__gang *u = s->fresh;
        s->fresh = u->in_fresh.next;
        u->in_fresh.next = oldest;
        oldest = u;
    }
    while (oldest) {
        struct gang__gang *u = oldest;
        oldest = u->in_fresh.next;
        u->fresh = false;
        gang__set_insert_end(&u->job->leaf->fall, &u->fall, 0);
    }
}
