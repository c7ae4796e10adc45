/* SPDX-License-Identifier: Apache-2.0 */
/* Announced jobs (gang_job_spec.announced): which of their tasks have come, and with which tasks
 * does the job go on?
 *
 * While tasks are missing, job_states.c lets no gang of the job wait in an order, so nothing counts
 * of it. If all come, the job goes on as it was submitted. If it goes on with fewer, each gang gets
 * the request class of its request with the counts that have come. */
#include "core/nodes/nodes.h"
#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/usage/usage.h"

static const char refused_text[] = "its request is refused without the missing tasks";

static void drop_message(gang_sched *s, const struct gang__job *job, const char *why)
{
    gang__log_job(s, GANG_LOG_IGNORED, job, "a command about the tasks of job %llu is ignored: %s",
                  (unsigned long long)job->id, why);
}

/* How many tasks of a group of the job were announced. */
static int64_t announced_of(const struct gang__job *job, uint32_t group)
{
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const gang_request *request = gang__gang_request(&job->gang[i]);
        for (uint32_t own = 0; own < request->group_count; own++)
            if (gang__group_in_job(&job->gang[i], own) == (int32_t)group)
                return request->group[own].count;
    }
    return 0;
}

/* All tasks of the job are there: its time to start begins. */
static void become_complete(gang_sched *s, struct gang__job *job)
{
    job->ready_ns = -1;
    gang__job_settle(s, job);
}

bool gang__announced_add(gang_sched *s, struct gang__job *job, uint32_t group, int64_t count)
{
    if (job->missing == 0) {
        drop_message(s, job, job->options->missing_of ? "it is complete" : "it was not announced");
        return true;
    }
    if (group >= job->group_count) {
        drop_message(s, job, "it has no such group");
        return true;
    }
    int64_t missing = job->options->missing_of[group] - count;
    if (missing < 0 || missing > announced_of(job, group)) {
        drop_message(s, job, missing < 0 ? "more come than were announced" : "more go than came");
        return true;
    }
    job->options->missing_of[group] = missing;
    job->missing -= count;
    if (job->missing == 0)
        become_complete(s, job);
    return true;
}

/* ---- fewer than announced -------------------------------------------------------------------- */

/* Do the groups of each set meet its minimum? */
static bool sets_suffice(const struct gang_request_spec *q)
{
    for (size_t i = 0; i < q->group_set_count; i++) {
        int64_t inside = 0;
        for (size_t g = 0; g < q->group_count; g++)
            for (int32_t set = q->groups[g].group_set; set >= 0; set = q->group_sets[set].parent)
                inside += set == (int32_t)i ? q->groups[g].count : 0;
        if (inside < q->group_sets[i].min)
            return false;
    }
    return true;
}

/* Leave the gang those tasks that have come, in whole subgroups. Do they suffice? */
static bool set_counts(const struct gang__gang *g, struct gang__request_spec *to)
{
    int64_t sum = 0;
    for (size_t i = 0; i < to->spec.group_count; i++) {
        struct gang_group_spec *group = &to->groups[i];
        group->count -= g->job->options->missing_of[gang__group_in_job(g, (uint32_t)i)];
        if (group->subgroup_size > 0)
            group->count -= group->count % group->subgroup_size;
        if (group->count < 1 || group->count < group->min)
            return false;
        sum += group->count;
    }
    return sum >= to->spec.min && sets_suffice(&to->spec);
}

/* A text whose request has fewer tasks of each group. */
struct narrow_text {
    struct gang__request_text *made;
    struct gang__request_text *of[GANG_MAX_JOB_PARTITIONS]; /* for each partition */
    uint32_t partitions;
};

static void narrow_text_free(gang_sched *s, struct narrow_text *to)
{
    for (uint32_t i = 0; i < to->partitions; i++)
        gang__request_text_unref(&s->mem, to->of[i]);
}

/* The names by which the partitions of a text differ: those of the first group that has several. */
static void names_of(const struct gang__request_text *from,
                     const char *name[GANG_MAX_JOB_PARTITIONS])
{
    uint32_t group = 0;
    const gang_request *first = from->partition[0]->request, *second = from->partition[1]->request;
    while (group + 1 < first->group_count &&
           first->group[group].partition == second->group[group].partition)
        group++;
    for (uint32_t i = 0; i < from->partition_count; i++)
        name[i] = from->partition[i]->request->group[group].partition->name;
}

/* Makes the text of the request with these counts. If this succeeds, the request and the texts for
 * the partitions belong to it. */
static gang_result make_text(gang_sched *s, const struct gang__request_text *from,
                             const struct gang_request_spec *spec, struct narrow_text *to)
{
    struct gang__request_key key;
    gang_request *request;
    gang_result r = gang_request_new(s->cluster, spec, &request, NULL);
    if (r != GANG_OK)
        return r;
    if (from->request->insists)
        gang__request_insist(request);
    gang__request_number_like(request, from->request);
    gang__request_key_make(&key, &s->mem, spec, request->insists);
    gang__request_key_add_numbers(&key, request);
    if (to->partitions > 0) {
        const char *name[GANG_MAX_JOB_PARTITIONS];
        names_of(from, name);
        gang__request_key_add_partitions(&key, name, to->partitions);
        to->made = gang__request_text_partitioned(&key, request, to->of, to->partitions);
    } else {
        to->made = gang__request_text_new(&key, request);
    }
    gang__request_key_free(&key);
    if (!to->made)
        gang_request_free(request);
    return to->made ? GANG_OK : GANG_ENOMEM;
}

/* GANG_ENOFIT: too few tasks have come. A text for one partition has no partitions itself. */
static gang_result narrow_text(gang_sched *s, const struct gang__gang *g,
                               const struct gang__request_text *from,
                               struct gang__request_text **made)
{
    struct narrow_text to = {NULL, {NULL}, 0};
    gang_result r = GANG_OK;
    struct gang__request_spec *read = gang__request_spec_read(&s->mem, from);
    if (!read)
        return GANG_ENOMEM;
    r = set_counts(g, read) ? GANG_OK : GANG_ENOFIT;
    for (uint32_t i = 0; i < from->partition_count && r == GANG_OK; i++) {
        r = narrow_text(s, g, from->partition[i], &to.of[i]);
        to.partitions += r == GANG_OK;
    }
    if (r == GANG_OK)
        r = make_text(s, from, &read->spec, &to);
    gang__release(&s->mem, read);
    if (r != GANG_OK)
        narrow_text_free(s, &to);
    *made = to.made;
    return r;
}

/* What becomes of one class of the gang; NULL: it has none. */
static gang_result narrow_class(gang_sched *s, const struct gang__gang *g,
                                const struct gang__request_class *from,
                                struct gang__request_class **to)
{
    struct gang__request_text *text;
    gang_result r = from ? narrow_text(s, g, from->text, &text) : GANG_OK;
    if (r != GANG_OK || !from)
        return r;
    *to = gang__request_class_ref(s, text);
    if (!*to)
        gang__request_text_unref(&s->mem, text);
    return *to ? GANG_OK : GANG_ENOMEM;
}

/* The classes of a gang with the tasks that have come; NULL: they stay. */
struct narrowed {
    struct gang__request_class *now, *later;
};

static bool lacks_some(const struct gang__gang *g)
{
    for (uint32_t i = 0; i < gang__gang_request(g)->group_count; i++)
        if (g->job->options->missing_of[gang__group_in_job(g, i)] > 0)
            return true;
    return false;
}

static gang_result narrow_gang(gang_sched *s, const struct gang__gang *g, struct narrowed *to)
{
    if (!lacks_some(g))
        return GANG_OK;
    gang_result r = narrow_class(s, g, g->request_class, &to->now);
    return r == GANG_OK ? narrow_class(s, g, g->later_class, &to->later) : r;
}

/* The gang waits in no order, and nothing counts of it: nothing else knows its classes. */
static void change_class(gang_sched *s, struct gang__request_class **class,
                         struct gang__request_class *to)
{
    if (!to)
        return;
    gang__request_class_unref(s, *class);
    *class = to;
}

static void commit(gang_sched *s, struct gang__gang *g, const struct narrowed *to)
{
    gang__order_free_class(s, g);
    change_class(s, &g->request_class, to->now);
    if (g->waits_as)
        g->waits_as = g->request_class;
    change_class(s, &g->later_class, to->later);
    g->target = gang__min(g->target, gang__gang_request(g)->count);
}

static void drop(gang_sched *s, const struct narrowed *to)
{
    if (to->now)
        gang__request_class_unref(s, to->now);
    if (to->later)
        gang__request_class_unref(s, to->later);
}

/* The job is complete with the tasks that have come. GANG_ENOFIT: they do not suffice; other errors
 * are those of gang_request_new(). On an error nothing changed. */
static gang_result narrow(gang_sched *s, struct gang__job *job)
{
    struct narrowed *to = gang__zalloc(&s->mem, job->gang_count, sizeof(*to));
    gang_result r = to ? GANG_OK : GANG_ENOMEM;
    for (uint32_t i = 0; i < job->gang_count && r == GANG_OK; i++)
        r = narrow_gang(s, &job->gang[i], &to[i]);
    for (uint32_t i = 0; to && i < job->gang_count; i++)
        if (r == GANG_OK)
            commit(s, &job->gang[i], &to[i]);
        else
            drop(s, &to[i]);
    gang__release(&s->mem, to);
    if (r != GANG_OK)
        return r;
    for (uint32_t group = 0; group < job->group_count; group++)
        job->options->missing_of[group] = 0;
    job->missing = 0;
    job->ready_ns = -1;
    return GANG_OK;
}

bool gang__announced_complete(gang_sched *s, struct gang__job *job)
{
    if (job->missing == 0) {
        drop_message(s, job, job->options->missing_of ? "it is complete" : "it was not announced");
        return true;
    }
    gang_result r = narrow(s, job);
    if (r == GANG_OK)
        become_complete(s, job);
    else if (r == GANG_ENOFIT)
        gang__job_end(s, job, GANG_END_UNSTARTED, "too few of its tasks came");
    else if (r != GANG_ENOMEM)
        gang__job_end(s, job, GANG_END_REFUSED, refused_text);
    return r != GANG_ENOMEM;
}

bool gang__announced_times_out(gang_sched *s, struct gang__job *job)
{
    gang_result r = narrow(s, job);
    if (r == GANG_ENOMEM) { /* its time ends again in the next run */
        s->no_memory = true;
        job->ready_ns = s->now_ns + 1 - job->options->start_within_ns;
    } else if (r == GANG_ENOFIT) {
        if (job->options->back_off_ns > 0)
            return false;
        gang__job_end(s, job, GANG_END_UNSTARTED, "too few of its tasks came in time");
    } else if (r != GANG_OK) {
        gang__job_end(s, job, GANG_END_REFUSED, refused_text);
    }
    return true;
}
