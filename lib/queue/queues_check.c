/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what concerns several queues of a tree: the guarantees of siblings, users that are named
 * twice, and settings that do not go together along a path. */
#include <stdio.h>
#include <string.h>

#include "core/nodes/nodes.h"
#include "queue/queues_in.h"

/* How the siblings before gave their guarantee in one dimension. */
struct siblings {
    enum gang__quota_form form; /* GANG__QUOTA_NONE: none of them so far */
    int64_t parts;
};

/* The path of a queue that is refused for its guarantee in a dimension. */
static gang_result refuse_dim(const struct gang__queue_drafts *t, const struct gang__queue_draft *s,
                              bool is_template, const struct gang__dim *dim, const char *text)
{
    const char *partition = dim->partition ? dim->partition->name : NULL;
    gang_result r = gang__quota_refuse(t->error, GANG_EINVAL, "guaranteed",
                                       t->c->nodes.kind[dim->kind].name, partition, text);
    return gang__error_at(t->error, r, "queues[%zu]%s", (size_t)(s - t->draft),
                          is_template ? ".child" : "");
}

/* Siblings are guaranteed all by weight or none. The fractions of queues made on demand do not
 * count: they are scaled down with those of their siblings, so that no job is refused for naming
 * one. */
static const char *sibling_fault(struct siblings *before, struct gang__quota q, bool made)
{
    if (q.form == GANG__QUOTA_NONE)
        return NULL;
    if (before->form != GANG__QUOTA_NONE &&
        (before->form == GANG__QUOTA_WEIGHT) != (q.form == GANG__QUOTA_WEIGHT))
        return "some siblings by weight, some not";
    before->form = q.form;
    if (q.form == GANG__QUOTA_FRACTION && !made)
        before->parts += q.amount; /* of 2^16 queues at most */
    return before->parts > GANG_WHOLE ? "the parts of the siblings are more than the whole" : NULL;
}

static struct gang__quota quota_in_dim(const struct gang__queue_drafts *t,
                                       const struct gang_queue_spec *s, const struct gang__dim *dim)
{
    for (size_t i = 0; i < s->guaranteed_count; i++) {
        struct gang_quota q = gang__quota_at(s, s->guaranteed, i);
        const struct gang__partition *partition =
            q.partition ? gang__partition_find(t->c, q.partition) : NULL;
        if (partition == dim->partition && gang__kind_find(t->c, q.kind) == dim->kind)
            return gang__quota_compile(&q);
    }
    return (struct gang__quota){0, GANG__QUOTA_NONE};
}

/* The queues from `first` on, children of `parent` (NULL: the top), and its template. */
static gang_result siblings_check(const struct gang__queue_drafts *t, const struct gang__queues *qs,
                                  uint32_t first, const struct gang__queue_draft *parent)
{
    for (uint32_t d = 0; d < qs->dims; d++) {
        struct siblings before = {GANG__QUOTA_NONE, 0};
        const char *fault;
        for (uint32_t i = first; i != GANG__NO_QUEUE; i = qs->queue[i].next_sibling) {
            const struct gang__queue *q = &qs->queue[i];
            fault = sibling_fault(&before, q->guarantee[d], q->made);
            if (fault)
                return refuse_dim(t, t->order[i], false, &qs->dim[d], fault);
        }
        struct gang_queue_spec child;
        if (!parent || !parent->spec.child ||
            gang__queue_spec_in(parent->spec.child, &child, NULL) != GANG_OK)
            continue;
        fault = sibling_fault(&before, quota_in_dim(t, &child, &qs->dim[d]), true);
        if (fault)
            return refuse_dim(t, parent, true, &qs->dim[d], fault);
    }
    return GANG_OK;
}

/* `sorted` has the users of `spec`, the caller's, by name. */
static gang_result users_check(const struct gang__queue_drafts *t,
                               const struct gang__queue_draft *s, const char *member,
                               const struct gang_queue_spec *spec,
                               const struct gang_user_weight *sorted)
{
    for (size_t i = 1; i < spec->user_count; i++) {
        const char *user = sorted[i].user;
        if (strcmp(sorted[i - 1].user, user) != 0)
            continue;
        size_t at = spec->user_count - 1;
        while (strcmp(spec->users[at].user, user) != 0)
            at--;
        char path[64];
        snprintf(path, sizeof(path), "%susers[%zu].user", member, at);
        return gang__draft_refuse(t, s, GANG_EINVAL, path, "twice");
    }
    return GANG_OK;
}

/* Time slices do not go with planned starts, which do not predict them, nor with suspension: a
 * suspended gang resumes on the same nodes. */
static gang_result slices_check(const struct gang__queue_drafts *t, const struct gang__queues *qs)
{
    for (uint32_t i = 0; qs->slices && i < qs->count; i++) {
        const struct gang__queue *q = &qs->queue[i];
        if (!q->leaf || q->slicer == GANG__NO_QUEUE)
            continue;
        const struct gang__queue_draft *s = t->order[i];
        if (q->backfill != GANG_BACKFILL_NONE)
            return gang__draft_refuse(t, s, GANG_EINVAL, "backfill", "not where gangs take turns");
        if (q->budgeted)
            return gang__draft_refuse(t, s, GANG_EINVAL, "budgets", "not where gangs take turns");
        if (q->preempt == GANG_PREEMPT_MODE_SUSPEND)
            return gang__draft_refuse(t, s, GANG_EINVAL, "preempt_mode",
                                      "not to suspend where gangs take turns");
    }
    return GANG_OK;
}

gang_result gang__drafts_check(const struct gang__queue_drafts *t, const struct gang__queues *qs)
{
    gang_result r = siblings_check(t, qs, qs->count ? 0 : GANG__NO_QUEUE, NULL);
    if (r == GANG_OK)
        r = slices_check(t, qs);
    for (uint32_t i = 0; r == GANG_OK && i < qs->count; i++) {
        const struct gang_queue_spec *spec = qs->queue[i].spec;
        const struct gang__queue_draft *s = t->order[i];
        r = users_check(t, s, "", &s->spec, spec->users);
        struct gang_queue_spec child;
        if (r == GANG_OK && s->spec.child &&
            gang__queue_spec_in(s->spec.child, &child, NULL) == GANG_OK)
            r = users_check(t, s, "child.", &child, spec->child->users);
        if (r == GANG_OK)
            r = siblings_check(t, qs, qs->queue[i].first_child, s);
    }
    return r;
}
