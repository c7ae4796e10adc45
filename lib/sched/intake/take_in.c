/* SPDX-License-Identifier: Apache-2.0 */
/* The owner takes in a submitted job: into the table of jobs, the usage of its queues and the
 * order; or refuses it. */
#include "sched/intake/intake_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* The class of a text. Takes over the reference to the text, in *text. False: out of memory. */
static bool ref_class(gang_sched *s, struct gang__request_text **text,
                      struct gang__request_class **class)
{
    if (!*text)
        return true;
    if (!gang__grow(&s->mem, (void **)&s->by_group, &s->group_cap, (*text)->request->group_count,
                    sizeof(*s->by_group)))
        return false;
    *class = gang__request_class_ref(s, *text);
    if (!*class)
        return false;
    *text = NULL;
    return true;
}

static bool ref_request_classes(gang_sched *s, struct gang__job *job)
{
    bool ok = true;
    for (uint32_t i = 0; i < job->gang_count && ok; i++) {
        struct gang__gang *g = &job->gang[i];
        ok = ref_class(s, &g->text, &g->request_class);
        if (ok && g->request_class->partition_count > 0)
            g->waits_as = g->request_class;
        ok = ok && ref_class(s, &g->later_text, &g->later_class);
    }
    return ok;
}

static void set_age(gang_sched *s, struct gang__job *job)
{
    if (job->age < 0)
        job->age = s->age_high;
    if (job->age >= s->age_high)
        s->age_high = job->age + 1;
}

/* The leaf of the job; NULL: it was removed. False: out of memory. */
static bool leaf_of(gang_sched *s, const struct gang__job *job, struct gang__queue_state **leaf)
{
    gang_result r = GANG_OK;
    uint32_t at = job->at_view; /* where it was when the job was submitted; it may be there still */
    bool there = at < s->queues->count && s->queues->queue[at].id == job->queue_id;
    *leaf = there ? s->qs[at] : gang__queue_state_of(s, job->queue_id);
    if (*leaf && job->options->made_queue)
        r = gang__queues_make_on_demand(s, job->queue_id, job->options->made_queue, leaf);
    if (*leaf && !(*leaf)->q->leaf)
        *leaf = NULL;
    return r != GANG_ENOMEM;
}

/* Get all memory that entering needs. False: out of memory; what was got is used the next time. */
static bool make_ready(gang_sched *s, struct gang__job *job, struct gang__queue_state *leaf)
{
    if (!ref_request_classes(s, job) || gang__hash_reserve(&s->jobs, &s->mem) != GANG_OK)
        return false;
    if (gang__queue_counts_users(leaf->q) && !(job->leaf_user = gang__user_of(s, leaf, job->user)))
        return false;
    return gang__array_enter(s, job) && gang__budgets_enter(s, leaf, job->user) &&
           gang__job_register_waiter(s, job);
}

/* Refuse a submitted job: the host gets the event, and the record is freed. */
static void refuse(gang_sched *s, struct gang__job *job, const char *text)
{
    struct gang_event e = GANG_EVENT_INIT;
    e.job = job->id;
    e.cookie = job->cookie;
    e.state = GANG_JOB_ENDED;
    e.end = GANG_END_REFUSED;
    e.now_ns = s->now_ns;
    e.text = text;
    if (s->ops.state)
        (void)s->ops.state(&e, s->user);
    s->info.ended++;
    gang__stats_add_all(s, GANG__STAT_JOBS, 1);
    gang__stats_ended(&s->root, GANG_END_REFUSED);
    gang__job_arrived(s, job);
    gang__job_free(s, job);
}

void gang__job_enter_tables(gang_sched *s, struct gang__job *job)
{
    job->submitted_ns = s->now_ns;
    if (job->restored->past)
        gang__job_set_past(s, job);
    job->due_ns = INT64_MAX;
    set_age(s, job);
    gang__time_limit_predict(s, job);
    gang__hash_insert(&s->jobs, &job->link, job->id); /* ids that are near lie near, and apart */
    gang__set_insert_end(&s->by_id, &job->by_id, 1);
    s->job_count++;
    for (struct gang__queue_state *q = job->leaf; q; q = q->parent)
        q->jobs++;
    gang__stats_add(job->leaf, GANG__STAT_JOBS, 1);
    job->leaf->idle_since_ns = INT64_MAX;
    gang__wake_shares(s);
}

bool gang__job_take(gang_sched *s, struct gang__job *job)
{
    struct gang__queue_state *leaf;
    if (!leaf_of(s, job, &leaf))
        return false;
    if (!leaf) {
        refuse(s, job, "its queue is gone");
        return true;
    }
    if (!gang__reserve_join(s, job)) {
        refuse(s, job, "its reservation is over");
        return true;
    }
    if (!make_ready(s, job, leaf))
        return false;
    job->leaf = leaf;
    if (job->restored != &gang__not_restored) {
        if (gang__job_take_restored(s, job))
            return true;
        job->leaf = NULL;
        return false;
    }
    gang__job_enter_tables(s, job);
    gang__job_count(s, job);
    gang__job_arrived(s, job);
    gang__job_settle(s, job);
    return true;
}
