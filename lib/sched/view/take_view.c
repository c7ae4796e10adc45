/* SPDX-License-Identifier: Apache-2.0 */
/* The owner copies what queries say of each job and queue into one block. */
#include "base/two_pass_block.h"
#include "sched/view/view_in.h"

/* What gang__block_build() passes on. */
struct from {
    gang_sched *s;
};

static void fill_queues(gang_sched *s, struct gang_view *v)
{
    for (size_t i = 0; i < v->queue_count; i++) {
        v->queue[i].size = sizeof(v->queue[i]);
        (void)!gang_queue_get(s, s->qs[i]->q->id, &v->queue[i]);
        v->queue_by_id[i] = s->queues->by_id[i];
    }
}

static void fill_job(gang_sched *s, const struct gang__job *job, struct gang_job_info *info)
{
    info->size = sizeof(*info);
    (void)!gang_job_get(s, job->id, info);
}

/* Texts are laid out in both passes; figures are read in the second one. */
static void *lay(struct gang__block *b, const void *from)
{
    gang_sched *s = ((const struct from *)from)->s;
    struct gang_view *v = gang__block_alloc(b, sizeof(*v));
    struct gang_job_info *info = gang__block_alloc(b, s->by_id.count * sizeof(*info));
    struct gang_queue_info *queue = gang__block_alloc(b, s->queues->count * sizeof(*queue));
    uint32_t *queue_by_id = gang__block_alloc(b, s->queues->count * sizeof(*queue_by_id));
    if (v) {
        v->job = info;
        v->job_count = s->by_id.count;
        v->queue = queue;
        v->queue_by_id = queue_by_id;
        v->queue_count = s->queues->count;
        fill_queues(s, v); /* first: it brings shares up to date */
    }
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        const char *name = gang__block_text(b, job->name);
        const char *user = gang__block_text(b, job->user);
        if (!v)
            continue;
        fill_job(s, job, info);
        info->name = name;
        info->user = user;
        info++;
    }
    return v;
}

gang_result gang_sched_view(gang_sched *sched, gang_view **view, struct gang_error *error)
{
    struct from from = {sched};
    if (view)
        *view = NULL;
    if (!sched || !view)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler, or no place for the view");
    if (sched->running)
        return gang__error(error, GANG_EBUSY, NULL, "a run is under way: take it after the run");
    struct gang_view *v = gang__block_build(&sched->mem, lay, &from);
    if (!v)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    v->mem = sched->mem;
    v->now_ns = sched->runs > 0 ? sched->now_ns : INT64_MIN;
    gang__store_relaxed(&v->refs, 1);
    *view = v;
    return GANG_OK;
}
