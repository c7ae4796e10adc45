/* SPDX-License-Identifier: Apache-2.0 */
/* Submitting, on any thread: a job is checked against the queues as submitters see them (under
 * RCU), its record is made, and it goes into the inbox. The owner takes it in later (take_in.c). */
#include <assert.h>
#include <string.h>

#include "base/rcu.h"
#include "sched/intake/intake_in.h"
#include "sched/intake/submit_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/reserve/reserve.h"

/* The caller's specification, in the size that the library knows: `own` if that is not the
 * caller's. */
static gang_result take_in(const struct gang_job_spec **spec, struct gang_job_spec *own,
                           struct gang_error *error)
{
    const struct gang_job_spec *from = *spec;
    if (from && from->size == sizeof(*own))
        return GANG_OK;
    gang_result r = from ? gang__struct_in(own, sizeof(*own),
                                           offsetof(struct gang_job_spec, cookie), from, from->size)
                         : GANG_EINVAL;
    *spec = own;
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "struct gang_job_spec is not set up");
    return GANG_OK;
}

/* May this user do this to the queue? The host decides if it has an op for that. */
static gang_result may(gang_sched *s, const struct gang__queues *qs, const struct gang__queue *q,
                       int32_t action, const struct gang__submitter *by)
{
    if (s->ops.may)
        return s->ops.may(q->name, action, by->user, by->groups, by->group_count, s->user) == 0
                   ? GANG_OK
                   : GANG_EPERM;
    return gang__queue_allows(qs, q, action, by->user, by->groups, by->group_count) ? GANG_OK
                                                                                    : GANG_EPERM;
}

static gang_result check_queue(const struct gang__submit *m, const struct gang__submitter *by,
                               struct gang_error *error)
{
    const struct gang__queue *q = m->q;
    if (may(m->s, m->submit_view->queues, q, GANG_MAY_SUBMIT, by) != GANG_OK)
        return gang__error(error, GANG_EPERM, "queue", "user \"%s\" may not submit to \"%s\"",
                           by->user, q->name);
    if (q->open_state != GANG_QUEUE_OPEN && !gang__submit_is_known(m->spec))
        return gang__error(error, GANG_ECLOSED, "queue", "\"%s\" takes no new jobs", q->name);
    if (q->max_time_limit_ns && m->spec->time_limit_ns > q->max_time_limit_ns)
        return gang__submit_error(error, GANG_ELIMIT, "time_limit_ns",
                                  "more than the queue allows");
    return GANG_OK;
}

/* The last of `count` ids: those behind the last that was given, or from the host's own first one
 * on. False: that one is not above all that were given. */
static bool reserve_ids(gang_sched *s, gang_job_id own, int64_t count, gang_job_id *last)
{
    uint64_t given;
    *last = own + (uint64_t)count - 1;
    if (own == GANG_ID_NONE) {
        *last = gang__add_relaxed(&s->intake.next_job, (uint64_t)count) + (uint64_t)count;
        return true;
    }
    while ((given = gang__load_relaxed(&s->intake.next_job)) < own)
        if (gang__cas(&s->intake.next_job, given, *last))
            return true;
    return false;
}

/* Give consecutive ids, up to `id`, to jobs that are linked last first. Returns them in order. */
static struct gang__job *give_ids(struct gang__job *jobs, gang_job_id id, int64_t count,
                                  gang_job_id *first)
{
    struct gang__job *ordered = NULL;
    *first = id - (uint64_t)count + 1;
    while (jobs) {
        struct gang__job *next = jobs->next;
        jobs->id = id--;
        jobs->next = ordered;
        ordered = jobs;
        jobs = next;
    }
    return ordered;
}

/* Groups that start after others are gangs of their own. */
static gang_result number_gangs(struct gang__submit *m, uint32_t *gang_of, struct gang_error *error)
{
    m->gang_count = gang__submit_number_gangs(m->spec, gang_of);
    if (gang__submit_has_cycle(m->spec, gang_of + m->spec->request.group_count))
        return gang__error(error, GANG_ECYCLE, "group_after",
                           "groups wait for each other in a circle");
    return gang__submit_check_gangs(m->spec, m->gang_count, error);
}

/* Jobs that list no partitions have those of their leaf. */
static void choose_partitions(struct gang__submit *m)
{
    const struct gang_queue_spec *leaf = m->q->spec;
    m->partitions = m->spec->partitions;
    m->partition_count = m->spec->partition_count;
    if (m->made[0] && leaf->child)
        leaf = leaf->child;
    if (m->partition_count > 0 || m->spec->prefer_wait_ns > 0 ||
        gang__submit_names_partitions(&m->spec->request))
        return;
    m->partitions = leaf->partitions;
    m->partition_count = leaf->partition_count;
}

/* Find the leaf and the reservation, and count the jobs as arriving there. */
static gang_result choose_leaf(struct gang__submit *m, int64_t count, struct gang_error *error)
{
    const struct gang_job_spec *j = m->spec;
    const struct gang__submitter submitter = {.queue = j->queue,
                                              .user = j->user ? j->user : "",
                                              .groups = j->user_groups,
                                              .group_count = j->user_group_count,
                                              .name = j->name ? j->name : "",
                                              .labels = j->request.labels,
                                              .label_count = j->request.label_count};
    gang_result r =
        gang__queue_for(m->submit_view->queues, m->s->rules, &submitter, &m->q, m->made, error);
    if (r == GANG_OK)
        r = check_queue(m, &submitter, error);
    if (r == GANG_OK)
        choose_partitions(m);
    if (r == GANG_OK && j->reservation && j->reservation[0])
        r = gang__reserve_view_find(m->s, m->submit_view, m->q, j, &m->reserved, error);
    if (r == GANG_OK && !gang__submit_is_known(j)) {
        r = gang__submit_may_wait(m->submit_view, m->q, count, error);
        m->counted = r == GANG_OK;
    }
    return r;
}

/* The records of `count` jobs, linked last first. On an error *jobs are those made so far. */
static gang_result make_jobs(struct gang__submit *m, int64_t count, struct gang__job **jobs,
                             struct gang_error *error)
{
    gang_result r = GANG_OK;
    for (int64_t i = 0; i < count && r == GANG_OK; i++) {
        struct gang__job *job = NULL;
        r = gang__submit_make_job(m, &job, error);
        if (r == GANG_OK) {
            job->submit_view = m->counted ? m->submit_view->number : 0;
            job->at_view = m->q->index;
            job->reserve.id = m->reserved;
            job->next = *jobs;
            *jobs = job;
        }
    }
    return r;
}

static gang_result submit(gang_sched *s, const struct gang_job_spec *j, int64_t count,
                          gang_job_id *first, struct gang_error *error)
{
    uint32_t small[2 * 64], *gang_of = small;
    size_t groups = j->request.group_count;
    char made[GANG_MAX_NAME + 1];
    struct gang__job *jobs = NULL;
    gang_result r = GANG_OK;
    if (groups > 64 && !(gang_of = gang__zalloc(&s->mem, 2 * groups, sizeof(*gang_of))))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    struct gang__submit m = {.s = s,
                             .spec = j,
                             .gang_of = gang_of,
                             .gang_count = 1,
                             .made = made,
                             .reserved = GANG_ID_NONE};
    made[0] = '\0';
    memset(gang_of, 0, 2 * groups * sizeof(*gang_of));
    if (j->group_after_count)
        r = number_gangs(&m, gang_of, error);
    if (r != GANG_OK)
        goto out;
    gang__rcu_enter();
    m.submit_view = gang__load(&s->intake.submit_view);
    r = choose_leaf(&m, count, error);
    if (r == GANG_OK)
        r = make_jobs(&m, count, &jobs, error);
    gang_job_id last;
    if (r == GANG_OK && !reserve_ids(s, j->id, count, &last))
        r = gang__error(error, GANG_EEXIST, "id", "not above every id that was given before");
    if (r == GANG_OK) {
        struct gang__job *ordered = give_ids(jobs, last, count, first);
        jobs = NULL;
        assert(ordered); /* count is at least 1 */
        ordered->submit.what = GANG__MESSAGE_SUBMIT;
        gang__inbox_put(s, &ordered->submit);
    } else if (m.counted) {
        gang__submit_arrive(m.submit_view, m.q->index, GANG__NO_QUEUE, -count);
    }
    gang__rcu_leave();
out:
    while (jobs) {
        struct gang__job *next = jobs->next;
        gang__job_free(s, jobs);
        jobs = next;
    }
    if (gang_of != small)
        gang__release(&s->mem, gang_of);
    return r;
}

gang_result gang_job_submit_array(gang_sched *sched, const struct gang_job_spec *spec,
                                  int64_t count, gang_job_id *first, struct gang_error *error)
{
    const struct gang_job_spec *j = spec;
    struct gang_job_spec own;
    struct gang_job_past past;
    if (first)
        *first = GANG_ID_NONE;
    if (!sched || !first)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler, or no place for the id");
    if (count < 1 || count > INT64_C(1) << 24)
        return gang__error(error, GANG_ERANGE, "count", "not from 1 to 2^24");
    gang_result r = take_in(&j, &own, error);
    if (r == GANG_OK && (!j->request.groups || j->request.group_count == 0))
        r = gang__error(error, GANG_EINVAL, "request.groups", "none");
    if (r == GANG_OK)
        r = gang__submit_check_numbers(j, error);
    if (r == GANG_OK)
        r = gang__submit_check_groups(j, error);
    if (r == GANG_OK)
        r = gang__submit_check_partitions(j, error);
    if (r == GANG_OK && j->past) {
        r = gang__submit_check_past(j, &past, error);
        if (j != &own)
            own = *j;
        own.past = &past;
        j = &own;
    }
    return r == GANG_OK ? submit(sched, j, count, first, error) : r;
}

gang_result gang_job_submit(gang_sched *sched, const struct gang_job_spec *spec, gang_job_id *id,
                            struct gang_error *error)
{
    return gang_job_submit_array(sched, spec, 1, id, error);
}

gang_result gang_sched_may(gang_sched *sched, const char *queue, int32_t action, const char *user,
                           const char *const *groups, size_t group_count)
{
    if (!sched || !queue || !user || action < GANG_MAY_SUBMIT || action > GANG_MAY_ADMINISTER)
        return GANG_EINVAL;
    gang__rcu_enter();
    const struct gang__submit_view *submit_view = gang__load(&sched->intake.submit_view);
    const struct gang__queue *q = gang__queue_by_name(submit_view->queues, queue);
    const struct gang__submitter by = {.user = user, .groups = groups, .group_count = group_count};
    gang_result r = q ? may(sched, submit_view->queues, q, action, &by) : GANG_ENOENT;
    gang__rcu_leave();
    return r;
}

gang_result gang_queue_find(gang_sched *sched, const char *name, gang_queue_id *id)
{
    if (id)
        *id = GANG_ID_NONE;
    if (!sched || !name || !id)
        return GANG_EINVAL;
    gang__rcu_enter();
    const struct gang__queue *q =
        gang__queue_by_name(gang__load(&sched->intake.submit_view)->queues, name);
    if (q)
        *id = q->id;
    gang__rcu_leave();
    return q ? GANG_OK : GANG_ENOENT;
}
