/* SPDX-License-Identifier: Apache-2.0 */
/* Audit of queues: amounts, users, arrays, wait classes. */
#include <inttypes.h>
#include <string.h>

#include "sched/explain/audit_in.h"
#include "sched/order/order.h"
#include "sched/usage/usage.h"

static gang_result check_amounts(struct gang__audit *a, const struct gang__queue_state *q,
                                 const struct gang__audit_sums *sum)
{
    for (uint32_t d = 0; d < a->s->dims; d++) {
        const char *kind = a->s->cluster->nodes.kind[a->s->queues->dim[d].kind].name;
        if (q->used[d] != sum->used[d])
            return GANG__AUDIT_BAD(a, gang__audit_name_of(q),
                                   "uses %" PRId64 " of %s, counted as %" PRId64, sum->used[d],
                                   kind, q->used[d]);
        if (q->fixed[d] != sum->fixed[d])
            return GANG__AUDIT_BAD(a, gang__audit_name_of(q),
                                   "has %" PRId64 " of %s fixed, counted as %" PRId64,
                                   sum->fixed[d], kind, q->fixed[d]);
        if (q->demand[d] + q->withheld[d] != sum->want[d])
            return GANG__AUDIT_BAD(a, gang__audit_name_of(q),
                                   "wants %" PRId64 " of %s, counted as %" PRId64, sum->want[d],
                                   kind, q->demand[d] + q->withheld[d]);
    }
    return GANG_OK;
}

/* What the tasks of a stop hold, without those that move: their new places are in use already. */
static int64_t held_by_stop(const struct gang__gang *g, const struct gang__stop *stop, uint32_t dim)
{
    const struct gang__request_class *class =
        g->waits_as ? g->waits_as->partition[stop->partition] : g->request_class;
    int64_t sum = 0;
    for (uint32_t group = 0; stop->holds && group < stop->groups; group++)
        for (uint32_t i = 0; i < class->group[group].count; i++) {
            const struct gang__take *t = &class->take[class->group[group].from + i];
            sum += t->dim == dim ? t->amount * gang__max(stop->by_group[group], 0) : 0;
        }
    return sum;
}

/* Of each handover to a taker below the queue: what its victims hold below the queue counts only as
 * far as it exceeds the promise. */
static void subtract_covered(const struct gang__audit *a, const struct gang__queue_state *q,
                             int64_t sum[GANG__DIMS])
{
    for (const struct gang__handover *h = a->s->stop.handovers; h; h = h->next) {
        if (!h->below || !gang__queue_is_below(h->taker->job->leaf, q))
            continue;
        for (uint32_t d = 0; d < a->s->dims; d++) {
            int64_t held = 0;
            for (const struct gang__stop *stop = h->stops; stop; stop = stop->next_of_handover)
                if (stop->holds && gang__queue_is_below(stop->gang->job->leaf, q))
                    held += held_by_stop(stop->gang, stop, d);
            sum[d] -= gang__min(held, h->promise[d]);
        }
    }
}

/* What tasks that stop hold below the queue, but for what promises to takers cover. */
static gang_result check_stopping(struct gang__audit *a, const struct gang__queue_state *q)
{
    int64_t sum[GANG__DIMS] = {0};
    struct gang__set_link *n =
        q != &a->s->root && a->some_stop ? gang__set_first(&a->s->by_id) : NULL;
    for (; n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count && gang__queue_is_below(job->leaf, q); i++)
            for (const struct gang__stop *stop = job->gang[i].stop.first; stop; stop = stop->next)
                for (uint32_t d = 0; d < a->s->dims && stop->holds; d++)
                    sum[d] += held_by_stop(&job->gang[i], stop, d);
    }
    if (q != &a->s->root && a->some_stop)
        subtract_covered(a, q, sum);
    for (uint32_t d = 0; d < a->s->dims; d++)
        if (q->stopping[d] != sum[d])
            return GANG__AUDIT_BAD(a, gang__audit_name_of(q),
                                   "tasks that stop hold %" PRId64 " of dimension %" PRIu32
                                   ", counted as %" PRId64,
                                   sum[d], d, q->stopping[d]);
    return GANG_OK;
}

/* Where the children of a queue got what they demanded, it has the sum of that. */
static gang_result check_division(struct gang__audit *a, const struct gang__queue_state *q)
{
    const gang_sched *s = a->s;
    int64_t sum[GANG__DIMS] = {0};
    uint32_t first = q->q ? q->q->first_child : 0;
    for (uint32_t c = first; c != GANG__NO_QUEUE && c < s->queues->count;
         c = s->qs[c]->q->next_sibling)
        for (uint32_t d = 0; d < s->dims; d++) {
            sum[d] += s->qs[c]->counted[d];
            if ((q->by_demand >> d & 1) && s->qs[c]->share[d] != s->qs[c]->counted[d])
                return GANG__AUDIT_BAD(a, gang__audit_name_of(s->qs[c]),
                                       "its share %" PRId64 " of dimension %" PRIu32
                                       " is not what it demanded, %" PRId64,
                                       s->qs[c]->share[d], d, s->qs[c]->counted[d]);
        }
    for (uint32_t d = 0; d < s->dims; d++)
        if ((q->by_demand >> d & 1) && q->counted_below[d] != sum[d])
            return GANG__AUDIT_BAD(a, gang__audit_name_of(q),
                                   "the queues below demanded %" PRId64 " of dimension %" PRIu32
                                   ", counted as %" PRId64,
                                   sum[d], d, q->counted_below[d]);
    return GANG_OK;
}

/* What a user should count in a leaf. */
static gang_result check_user(struct gang__audit *a, const struct gang__queue_state *leaf,
                              const struct gang__user *user)
{
    struct gang__audit_sums sum;
    int64_t running = 0, waiting = 0;
    memset(&sum, 0, sizeof(sum));
    for (struct gang__set_link *n = gang__set_first(&a->s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; job->leaf_user == user && i < job->gang_count; i++) {
            waiting += job->gang[i].demands;
            gang__audit_add_gang(a, &job->gang[i], &sum);
            gang__audit_add_handover(&job->gang[i], &sum);
        }
        running += job->leaf_user == user && job->counted_running;
    }
    for (uint32_t d = 0; d < a->s->dims; d++)
        if (user->used[d] != sum.used[d])
            return GANG__AUDIT_BAD(a, gang__audit_name_of(leaf),
                                   "user \"%s\" is said to use %" PRId64 ", and uses %" PRId64,
                                   user->name, user->used[d], sum.used[d]);
    if (user->running != running)
        return GANG__AUDIT_BAD(a, gang__audit_name_of(leaf),
                               "user \"%s\" is said to run %" PRId64 " jobs, not %" PRId64,
                               user->name, user->running, running);
    if (user->waiting != waiting)
        return GANG__AUDIT_BAD(a, gang__audit_name_of(leaf),
                               "user \"%s\" is said to want %" PRId64 " times, not %" PRId64,
                               user->name, (int64_t)user->waiting, waiting);
    return GANG_OK;
}

/* What an array should count. */
static gang_result check_array(struct gang__audit *a, const struct gang__array *array)
{
    int64_t jobs = 0, running = 0, promised = 0;
    for (struct gang__set_link *n = gang__set_first(&a->s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        if (job->array != array)
            continue;
        jobs++;
        running += job->counted_running;
        for (uint32_t i = 0; i < job->gang_count; i++)
            promised += job->gang[i].stop.handover && job->gang[i].stop.handover->counted_promised;
    }
    return array->refs == jobs && array->running == running && array->promised == promised
               ? GANG_OK
               : GANG__AUDIT_BAD(a, array->name,
                                 "of %" PRId64 " jobs of the array %" PRId64 " run and %" PRId64
                                 " are promised; counted as %" PRId64 ", %" PRId64 ", %" PRId64,
                                 jobs, running, promised, array->refs, array->running,
                                 array->promised);
}

gang_result gang__audit_arrays(struct gang__audit *a)
{
    gang_result r = GANG_OK;
    for (size_t b = 0; r == GANG_OK && b < a->s->arrays.cap; b++)
        for (struct gang__hash_link *n = a->s->arrays.bucket[b]; n && r == GANG_OK; n = n->next)
            r = check_array(a, GANG__OF(struct gang__array, link, n));
    return r;
}

/* READY wait classes are in order, and none is empty. */
static gang_result check_ready(struct gang__audit *a, const struct gang__queue_state *leaf)
{
    for (const struct gang__set_link *n = gang__set_first(&leaf->order.ready); n;
         n = gang__set_next(n)) {
        const struct gang__wait_class *wait_class =
            GANG__OF(struct gang__wait_class, ready_link, n);
        if (leaf->order.holds_classes &&
            (wait_class->state != GANG__CLASS_READY || wait_class->gangs.count == 0))
            return GANG__AUDIT_BAD(a, gang__audit_name_of(leaf),
                                   "a READY wait class is empty, or not marked as READY");
    }
    return gang__set_is_sorted(&leaf->order.ready)
               ? GANG_OK
               : GANG__AUDIT_BAD(a, gang__audit_name_of(leaf), "its wait classes are out of order");
}

/* Classes that wait in a group are in order, BLOCKED, and in the list of their user. */
static gang_result check_group(struct gang__audit *a, const struct gang__queue_state *leaf,
                               const struct gang__class_group *group)
{
    for (const struct gang__set_link *n = gang__set_first(&group->waiting); n;
         n = gang__set_next(n)) {
        const struct gang__wait_class *wait_class =
            GANG__OF(struct gang__wait_class, grouped.link, n);
        if (wait_class->state != GANG__CLASS_BLOCKED || wait_class->why != GANG_WAIT_CAPACITY ||
            !wait_class->grouped.waits || wait_class->grouped.group != group ||
            wait_class->gangs.count == 0 || *wait_class->at_of_user != wait_class)
            return GANG__AUDIT_BAD(a, gang__audit_name_of(leaf),
                                   "a wait class waits in a group, and should not");
    }
    return gang__set_is_sorted(&group->waiting)
               ? GANG_OK
               : GANG__AUDIT_BAD(a, gang__audit_name_of(leaf),
                                 "a group of wait classes is out of order");
}

static gang_result check_groups(struct gang__audit *a, const struct gang__queue_state *leaf)
{
    gang_result r = GANG_OK;
    for (size_t b = 0; r == GANG_OK && b < leaf->order.groups.cap; b++)
        for (struct gang__hash_link *n = leaf->order.groups.bucket[b]; n && r == GANG_OK;
             n = n->next)
            r = check_group(a, leaf, GANG__OF(struct gang__class_group, link, n));
    return r;
}

gang_result gang__audit_queue(struct gang__audit *a, struct gang__queue_state *q)
{
    const struct gang__audit_sums *sum = &a->sum[gang__audit_index_of(a->s, q)];
    gang_result r = check_amounts(a, q, sum);
    if (r != GANG_OK)
        return r;
    if (q->tasks != sum->tasks || q->running != sum->running || q->pending != sum->pending ||
        q->jobs != sum->jobs)
        return GANG__AUDIT_BAD(a, gang__audit_name_of(q),
                               "%" PRId64 " tasks, %" PRId64 " jobs run, %" PRId64
                               " wait, of %" PRId64 "; counted as %" PRId64 ", %" PRId64
                               ", %" PRId64 ", %" PRId64,
                               sum->tasks, sum->running, sum->pending, sum->jobs, q->tasks,
                               q->running, q->pending, q->jobs);
    r = check_stopping(a, q);
    r = r == GANG_OK ? check_division(a, q) : r;
    r = r == GANG_OK ? check_ready(a, q) : r;
    r = r == GANG_OK ? check_groups(a, q) : r;
    for (size_t b = 0; r == GANG_OK && b < q->users.cap; b++)
        for (struct gang__hash_link *n = q->users.bucket[b]; n && r == GANG_OK; n = n->next)
            r = check_user(a, q, GANG__OF(struct gang__user, link, n));
    a->listed_victims -= q->victims.count;
    return r;
}
