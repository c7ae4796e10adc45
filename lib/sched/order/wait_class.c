/* SPDX-License-Identifier: Apache-2.0 */
/* Wait classes: which gangs wait, and in which class.
 *
 * The gangs of a leaf that wait for the same thing form one class, in the order of the leaf; its
 * first gang stands for all. class_state.c says whether the class may be tried. */
#include <string.h>

#include "place/request/request.h"
#include "sched/order/order_in.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- waiting --------------------------------------------------------------------------------- */

static struct gang__wait_class *new_class(gang_sched *s, struct gang__gang *g, bool grows)
{
    size_t groups = gang__gang_request(g)->group_count;
    struct gang__wait_class *class =
        gang__zalloc(&s->mem, 1, sizeof(*class) + 2 * groups * sizeof(*class->bounded.lacks));
    if (!class)
        return NULL;
    class->bounded.lacks = (int64_t *)(void *)(class + 1);
    class->bounded.fixed_lacks = class->bounded.lacks + groups;
    class->leaf = g->job->leaf;
    class->request_class = g->request_class;
    class->user = g->job->leaf_user;
    class->array = g->job->array;
    class->array_max_running = g->job->options->array_max_running;
    class->fixed = gang__gang_is_fixed(g, grows);
    class->never_preempts = g->job->never_preempts;
    class->grower = grows || g->places ? g : NULL;
    gang__set_init(&class->gangs, gang__order_compare_gangs, class->leaf);
    return class;
}

/* While jobs of a copy enter it: the gang's wait class in the original, else NULL. The copy keeps
 * its salt, because the original may not have sorted its waiting gangs again yet. */
static const struct gang__wait_class *class_in_original(const gang_sched *s,
                                                        const struct gang__gang *g)
{
    const struct gang__job *job = s->original ? gang__job_of(s->original, g->job->id) : NULL;
    return job ? job->gang[g->index].order.wait_class : NULL;
}

/* With backfill, also of other leaves beside time slices, a shorter gang may start when a longer
 * gang may not: the run time is the salt.
 * The same with budgets that keep the whole time limit of a gang.
 * If plan_depth allows several planned starts, equal gangs may each have one: each gang has its
 * own salt. */
static uint64_t salt_of(const gang_sched *s, const struct gang__gang *g)
{
    const struct gang__queue *q = g->job->leaf->q;
    const struct gang__wait_class *there = class_in_original(s, g);
    if (there)
        return there->class_salt;
    if (g->job->gang_count > 1 && g->job->counted_running) /* no limit of running jobs binds it */
        return gang__hash_number(g->index, g->job->id) | 1;
    uint64_t reserved = s->reserve.count > 0 ? s->order.hooks->class_salt(s, g) : 0;
    if (q->budget_safe) /* a budget that refuses a long gang may allow a shorter one */
        reserved = gang__hash_number((uint64_t)gang__time_limit_end(g->job, 0), reserved) | 1;
    bool sliced = q->slicer != GANG__NO_QUEUE && s->queues->backfills;
    if (reserved || (q->backfill == GANG_BACKFILL_NONE && !sliced))
        return reserved;
    return q->plan_depth > 1 && !sliced ? gang__hash_number(g->index, g->job->id) | 1
                                        : (uint64_t)gang__time_limit_run(g->job) << 1;
}

/* Finds or makes the wait class of a gang that waits to start. */
static struct gang__wait_class *class_of(gang_sched *s, struct gang__gang *g)
{
    struct gang__queue_state *leaf = g->job->leaf;
    bool fixed = gang__gang_is_fixed(g, false), never_preempts = g->job->never_preempts;
    uint64_t salt = salt_of(s, g), kind = fixed + 2U * never_preempts;
    uint64_t hash = gang__hash_number(gang__hash_number(kind, (uintptr_t)g->request_class),
                                      (uintptr_t)g->job->leaf_user);
    if (g->job->array)
        hash = gang__hash_number(hash, (uintptr_t)g->job->array ^
                                           (uint64_t)g->job->options->array_max_running << 16);
    if (salt)
        hash = gang__hash_number(hash, salt);
    for (struct gang__hash_link *n = gang__hash_first(&leaf->order.classes, hash); n; n = n->next) {
        struct gang__wait_class *class = GANG__OF(struct gang__wait_class, link, n);
        if (n->hash == hash && class->request_class == g->request_class &&
            class->user == g->job->leaf_user && class->array == g->job->array &&
            class->array_max_running == g->job->options->array_max_running &&
            class->fixed == fixed && class->never_preempts == never_preempts &&
            class->class_salt == salt)
            return class;
    }
    if (gang__hash_reserve(&leaf->order.classes, &s->mem) != GANG_OK)
        return NULL;
    struct gang__wait_class *class = new_class(s, g, false);
    if (class) {
        class->class_salt = salt;
        gang__hash_insert(&leaf->order.classes, &class->link, hash);
    }
    return class;
}

static void retry_preemption(gang_sched *s, struct gang__wait_class *class)
{
    class->tried = 0;
    class->spared = false;
    gang__wake_preemption(s);
}

bool gang__order_enter(gang_sched *s, struct gang__gang *g)
{
    bool grows = g->alloc != GANG_ID_NONE;
    struct gang__wait_class *class;
    if (g->order.wait_class)
        return true;
    if (g->job->leaf->q->order == GANG_ORDER_MULTIFACTOR)
        gang__multifactor_enter(s, g->job);
    if (grows || g->places) { /* no other gang waits for the same thing */
        if (!g->order.grow_class)
            g->order.grow_class = new_class(s, g, grows);
        class = g->order.grow_class;
        if (class) {
            class->fixed = gang__gang_is_fixed(g, grows);
            class->user = g->job->leaf_user; /* the leaf may have begun to count users */
        }
    } else {
        class = class_of(s, g);
    }
    if (!class)
        return false;
    bool was_ready = class->state == GANG__CLASS_READY;
    uint8_t kept = gang__class_unkeep(s, class);
    if (was_ready) /* its head may change */
        gang__set_remove(&class->leaf->order.ready, &class->ready_link);
    gang__set_insert_end(&class->gangs, &g->order.link, 1);
    g->order.wait_class = class;
    if (class->demand_at < g->preempt.demand_at) {
        class->demand_at = g->preempt.demand_at;
        if (class->spared) /* new demand ends cooldowns, for the first gang, too */
            retry_preemption(s, class);
    }
    if (class->gangs.count == 1)
        gang__demand_enter(s, class);
    else if (gang__demand_is_bounded(g))
        gang__demand_count(g, 1);
    gang__class_keep_again(s, class, kept);
    if (was_ready) {
        gang__set_insert(&class->leaf->order.ready, &class->ready_link);
        gang__group_moved(s, class);
    } else if (class->state == GANG__CLASS_EMPTY) {
        gang__set_insert(&class->leaf->order.ready, &class->ready_link);
        gang__class_enter_ready(class);
    } else if (gang__wait_class_head(class) == g) { /* preemption may help this gang */
        retry_preemption(s, class);
    }
    gang__wake_queue(s, class->leaf);
    return true;
}

/* The gang is tried soon: prefetches the members that this reads. */
static void fetch(const struct gang__gang *g)
{
    for (size_t at = offsetof(struct gang__job, id); at < sizeof(*g->job); at += 64)
        __builtin_prefetch((const char *)g->job + at, 1);
    for (size_t at = 0; at < offsetof(struct gang__gang, failed); at += 64)
        __builtin_prefetch((const char *)g + at, 1);
}

void gang__order_set_starved(gang_sched *s, struct gang__gang *g, uint8_t starved)
{
    struct gang__wait_class *class = g->order.wait_class;
    bool was_ready = class->state == GANG__CLASS_READY;
    uint8_t kept = gang__class_unkeep(s, class);
    if (was_ready)
        gang__set_remove(&class->leaf->order.ready, &class->ready_link);
    gang__set_remove(&class->gangs, &g->order.link);
    g->starved = starved;
    gang__set_insert(&class->gangs, &g->order.link);
    gang__class_keep_again(s, class, kept);
    if (was_ready)
        gang__set_insert(&class->leaf->order.ready, &class->ready_link);
    gang__wake_queue(s, class->leaf);
}

void gang__order_leave(gang_sched *s, struct gang__gang *g)
{
    struct gang__wait_class *class = g->order.wait_class;
    if (!class)
        return;
    struct gang__queue_state *leaf = class->leaf;
    bool was_ready = class->state == GANG__CLASS_READY;
    if (g->calendar.plan)
        s->order.hooks->unplan(s, g);
    uint8_t kept = gang__class_unkeep(s, class);
    if (was_ready)
        gang__set_remove(&leaf->order.ready, &class->ready_link);
    if (gang__demand_is_bounded(g))
        gang__demand_count(g, -1);
    gang__set_remove(&class->gangs, &g->order.link);
    g->order.wait_class = NULL;
    if (class->gangs.count == 0)
        gang__demand_leave(s, class);
    gang__class_keep_again(s, class, kept);
    if (class->gangs.count > 0)
        fetch(gang__wait_class_head(class));
    if (was_ready && class->gangs.count > 0) {
        gang__set_insert(&leaf->order.ready, &class->ready_link);
        gang__group_moved(s, class);
        gang__class_left_ready(s, class); /* others may come before its new head */
    } else if (class->gangs.count == 0) {
        if (was_ready)
            gang__class_leave_ready(s, class);
        gang__class_take_out(s, class);
        if (!class->grower) {
            gang__hash_remove(&leaf->order.classes, &class->link);
            gang__group_forget(s, class);
            s->order.hooks->forget(s, class);
            gang__release(&s->mem, class);
        }
    }
    gang__wake_queue(s, leaf);
    if (g->starved)
        gang__bypass_unblock(s);
}

void gang__order_free_class(gang_sched *s, struct gang__gang *g)
{
    gang__order_leave(s, g);
    gang__release(&s->mem, g->order.grow_class);
    g->order.grow_class = NULL;
}

/* ---- bounds change --------------------------------------------------------------------------- */

void gang__order_apply_bounds(gang_sched *s)
{
    if (!s->wake.bounds)
        return;
    s->wake.bounds = false;
    if (s->bypass.starved)
        gang__bypass_review(s);
    while (s->order.blocked)
        gang__order_unblock(s, s->order.blocked);
    gang__groups_unblock(s);
    s->order.hooks->unkeep_all(s);
    for (uint32_t i = 0; i < s->queues->count; i++)
        gang__order_rekey_users(s, s->qs[i]);
    gang__multifactor_rescore_all(s);
    gang__order_rekey_all(s);
}

void gang__order_refresh(gang_sched *s)
{
    uint64_t divided = s->usage.share_changes;
    gang__fair_refresh(s);
    gang__order_apply_bounds(s);
    if (s->bypass.starved && s->usage.share_changes != divided) /* which gangs give way? */
        gang__bypass_unblock(s);
}
