/* SPDX-License-Identifier: Apache-2.0 */
/* A change of queues is a whole new tree: compiled and checked beside the one in force, with all
 * memory that the change needs, and then swapped in at once. Jobs keep their queues by id. */
#include <string.h>

#include "sched/backfill/backfill.h"
#include "sched/intake/queues_live_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

struct swap {
    gang_sched *s;
    struct gang__queues *queues;
    struct gang__queue_state **qs;
    struct gang__submit_view *submit_view;
    struct gang__sharer *sharer;
    struct gang__share_slot *slot;
    int64_t *resolved;
    bool rebuild; /* each job leaves wait classes and usage, and enters them again */
};

static bool same_dims(const struct gang__queues *a, const struct gang__queues *b)
{
    return a && a->dims == b->dims && memcmp(a->dim, b->dim, a->dims * sizeof(*a->dim)) == 0;
}

static gang_result index_error(struct gang_error *error, gang_result r, const char *name,
                               const char *text)
{
    gang__error(error, r, NULL, "queue \"%s\" %s", name, text);
    return r;
}

/* Changes that are refused because of jobs. */
static gang_result check_jobs(const gang_sched *s, const struct gang__queues *queues,
                              struct gang_error *error)
{
    for (uint32_t i = 0; s->queues && i < s->queues->count; i++) {
        const struct gang__queue_state *old = s->qs[i];
        const struct gang__queue *now = gang__queue_by_id(queues, old->q->id);
        if (old->jobs > 0 && !now)
            return index_error(error, GANG_EBUSY, old->q->name, "has jobs");
        if (old->q->leaf && old->jobs > 0 && !now->leaf)
            return index_error(error, GANG_EINVAL, old->q->name,
                               "has jobs, and would no longer be a leaf");
    }
    return GANG_OK;
}

static bool same_budgets(const struct gang__queue *a, const struct gang__queue *b)
{
    if (a->budgeted != b->budgeted || a->budget_count != b->budget_count)
        return false;
    for (size_t i = 0; i < a->budget_count; i++) {
        const struct gang__budget *x = &a->budgets[i], *y = &b->budgets[i];
        if (x->kind != y->kind || x->exhausted != y->exhausted || x->per_user != y->per_user ||
            x->amount != y->amount || x->period_ns != y->period_ns)
            return false;
    }
    return true;
}

/* The books of the budgets above the leaf, as it will be. */
static bool make_books(struct swap *w, const struct gang__queue *q, const char *user)
{
    for (uint32_t i = q->index; q->budgeted && i != GANG__NO_QUEUE; i = w->queues->queue[i].parent)
        if (!gang__budget_make(w->s, w->qs[i], &w->queues->queue[i], user))
            return false;
    return true;
}

static bool needs_rebuild(const gang_sched *s, const struct gang__queues *queues)
{
    if (!same_dims(s->queues, queues) ||
        (queues->slices && s->queues->backfills != queues->backfills)) /* salts of wait classes */
        return true;
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__queue *old = s->qs[i]->q, *now = gang__queue_by_id(queues, old->id);
        if (!now)
            continue;
        gang_queue_id a = old->parent == GANG__NO_QUEUE ? 0 : s->queues->queue[old->parent].id;
        gang_queue_id b = now->parent == GANG__NO_QUEUE ? 0 : queues->queue[now->parent].id;
        if (a != b || old->order != now->order || old->leaf != now->leaf ||
            old->backfill != now->backfill || old->plan_depth != now->plan_depth ||
            old->backfill_order != now->backfill_order ||
            (old->slicer == GANG__NO_QUEUE) != (now->slicer == GANG__NO_QUEUE) ||
            gang__queue_counts_users(old) != gang__queue_counts_users(now) ||
            old->budget_safe != now->budget_safe || !same_budgets(old, now))
            return true;
    }
    return false;
}

static void swap_free(struct swap *w)
{
    const struct gang_mem *mem = &w->s->mem;
    for (uint32_t i = 0; w->qs && i < w->queues->count; i++)
        if (w->qs[i] && !w->qs[i]->q)
            gang__queue_free(w->s, w->qs[i]);
    gang__release(mem, w->qs);
    gang__release(mem, w->sharer);
    gang__release(mem, w->slot);
    gang__release(mem, w->resolved);
    if (w->submit_view)
        gang__submit_view_release(mem, w->submit_view);
    gang__queues_free(w->queues, mem);
}

/* Queues that stay, and new ones (their q is NULL until the swap). */
static bool make_qs(struct swap *w)
{
    gang_sched *s = w->s;
    for (uint32_t i = 0; i < w->queues->count; i++) {
        struct gang__queue_state *q =
            s->queues ? gang__queue_state_of(s, w->queues->queue[i].id) : NULL;
        if (!q) {
            q = gang__zalloc(&s->mem, 1, sizeof(*q));
            if (!q)
                return false;
            w->qs[i] = q;
            if (!gang__queue_make_amounts(s, q, w->queues->dims))
                return false;
        }
        w->qs[i] = q;
    }
    return true;
}

/* Memory that a rebuild needs: amounts of new dimensions in request classes, users of leaves that
 * count them. */
static bool reserve_amounts(struct swap *w)
{
    gang_sched *s = w->s;
    for (size_t b = 0; b < s->classes.cap; b++)
        for (struct gang__hash_link *n = s->classes.bucket[b]; n; n = n->next) {
            struct gang__request_class *request_class =
                GANG__OF(struct gang__request_class, link, n);
            if (!gang__grow(&s->mem, (void **)&request_class->take, &request_class->take_cap,
                            (size_t)request_class->request->group_count * w->queues->dims,
                            sizeof(*request_class->take)))
                return false;
        }
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        const struct gang__queue *q = gang__queue_by_id(w->queues, job->leaf->q->id);
        if (q && gang__queue_counts_users(q) && !gang__user_of(s, job->leaf, job->user))
            return false;
        if (q && !make_books(w, q, job->user))
            return false;
    }
    return true;
}

static bool prepare(struct swap *w)
{
    const struct gang_mem *mem = &w->s->mem;
    size_t n = w->queues->count + 1;
    w->qs = gang__zalloc(mem, n, sizeof(struct gang__queue_state *));
    w->sharer = gang__zalloc(mem, n, sizeof(*w->sharer));
    w->slot = gang__zalloc(mem, n, sizeof(*w->slot));
    w->resolved = gang__zalloc(mem, 2 * n * w->queues->dims, sizeof(*w->resolved));
    w->submit_view = gang__submit_view_new(w->s, w->queues);
    w->rebuild = needs_rebuild(w->s, w->queues);
    return w->qs && w->sharer && w->slot && w->resolved && w->submit_view && make_qs(w) &&
           (!w->rebuild || reserve_amounts(w));
}

static void leave_all(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            gang__order_leave(s, &job->gang[i]);
            gang__victims_leave(&job->gang[i]);
        }
    }
}

static void enter_usage(gang_sched *s, struct gang__job *job)
{
    struct gang__queue_state *leaf = job->leaf;
    job->leaf_user = gang__queue_counts_users(leaf->q) ? gang__user_of(s, leaf, job->user) : NULL;
    if (job->array) /* it counts from zero, like the queues */
        job->array->running -= job->counted_running;
    job->counted_pending = job->counted_running = false;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        (void)gang__request_class_refresh(s, g->request_class);
        if (job->state == GANG_JOB_ENDED)
            continue;
        if (job->leaf_user)
            job->leaf_user->waiting += g->demands;
        gang__usage_in(s, g);
        if (g->stop.handover && g->stop.handover->charged)
            gang__usage_charge_handover(s, g->stop.handover, 1);
        if (g->stop.moving)
            gang__usage_charge_move(s, g->stop.moving, 1);
        if (g->stop.handover && g->stop.handover->counted_promised) {
            if (job->array)
                job->array->promised--;
            g->stop.handover->counted_promised = false; /* the queues count from zero */
            gang__handover_promise_job(g->stop.handover, true);
        }
        if (g->alloc != GANG_ID_NONE)
            gang__victims_enter(s, g);
    }
    if (job->state == GANG_JOB_ENDED)
        return;
    gang__job_count(s, job);
    for (struct gang__queue_state *q = leaf; q; q = q->parent)
        q->jobs++;
}

static void enter_all(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n))
        enter_usage(s, GANG__OF(struct gang__job, by_id, n));
    gang__stopping_recount(s);
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n))
        gang__job_settle(s, GANG__OF(struct gang__job, by_id, n));
}

static void link_queues(gang_sched *s, const struct gang__submit_view *submit_view)
{
    for (uint32_t i = 0; i < s->queues->count; i++) {
        struct gang__queue_state *q = s->qs[i];
        bool is_new = !q->q;
        q->q = &s->queues->queue[i];
        q->parent = q->q->parent == GANG__NO_QUEUE ? &s->root : s->qs[q->q->parent];
        if (is_new) {
            gang__order_init(q);
            q->idle_since_ns = s->now_ns;
        }
        submit_view->pending[i] = &q->waiting;
    }
}

void gang__queues_enter_jobs(gang_sched *s)
{
    gang__multifactor_reset(s);
    for (uint32_t i = 0; i < s->queues->count; i++) {
        gang__budgets_reset(s, s->qs[i]);
        gang__queue_reset(s->qs[i], s->dims);
    }
    gang__queue_reset(&s->root, s->dims);
    s->usage.total_epoch = 0; /* guarantees and limits in force are resolved again, too */
    enter_all(s);
}

/* From here nothing can fail. */
static void commit(struct swap *w)
{
    gang_sched *s = w->s;
    struct gang__submit_view *before = gang__load_relaxed(&s->intake.submit_view);
    struct gang__queue_state **old = s->qs;
    uint32_t count = s->queues ? s->queues->count : 0;
    gang__wake_event(s);
    if (s->queues) {
        gang__candidates_unkeep_all(s);
        gang__users_advance(s);
        gang__budgets_advance(s);
    }
    if (w->rebuild && s->queues)
        leave_all(s);
    gang__order_remove_queues(s);
    gang__wake_forget_share_dims(s);
    for (uint32_t i = 0; i < count; i++)
        if (!gang__queue_by_id(w->queues, old[i]->q->id)) {
            old[i]->next_gone = before->gone;
            before->gone = old[i];
        }
    gang__release(&s->mem, old);
    if (s->usage.sharer) {
        gang__release(&s->mem, s->usage.sharer);
        gang__release(&s->mem, s->usage.share_slot);
        gang__release(&s->mem, s->usage.resolved);
    }
    s->queues = w->queues;
    s->qs = w->qs;
    s->usage.sharer = w->sharer;
    s->usage.share_slot = w->slot;
    s->usage.resolved = w->resolved;
    s->dims = w->queues->dims;
    link_queues(s, w->submit_view);
    gang__store(&s->intake.submit_view,
                w->submit_view); /* complete: submitters read it from now on */
    s->config_count++;
    gang__slice_configure(s);
    if (before) {
        before->retired = s->intake.retired;
        s->intake.retired = before;
        s->intake.retired_count++;
    }
    s->usage.total_epoch = 0;
}

gang_result gang__queues_swap(gang_sched *s, struct gang__queues *queues, struct gang_error *error)
{
    struct swap w = {s, queues, NULL, NULL, NULL, NULL, NULL, false};
    gang_result r = check_jobs(s, queues, error);
    if (r == GANG_OK && !prepare(&w))
        r = gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (r != GANG_OK) {
        swap_free(&w);
        return r;
    }
    commit(&w);
    if (w.rebuild) {
        gang__queues_enter_jobs(s);
    } else {
        for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n))
            gang__job_settle(s, GANG__OF(struct gang__job, by_id, n));
    }
    gang__wake_all_shares(s);
    gang__order_refresh(s);
    return GANG_OK;
}
