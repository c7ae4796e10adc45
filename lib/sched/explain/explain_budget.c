/* SPDX-License-Identifier: Apache-2.0 */
/* Why a budget lets a gang wait (gang_queue_spec.budgets). */
#include <stdio.h>

#include "sched/explain/explain_in.h"
#include "sched/usage/usage.h"

struct hours {
    char s[96];
};

/* An amount times seconds, as hours: "2.5 GPU hours". */
static struct hours hours_of(const gang_sched *s, int32_t kind, int64_t amount)
{
    struct hours w;
    const char *noun = kind == GANG_KIND_CPU      ? "core "
                       : kind == GANG_KIND_GPU    ? "GPU "
                       : kind == GANG_KIND_MEMORY ? ""
                                                  : s->cluster->nodes.kind[kind].name;
    bool own = kind == GANG_KIND_CPU || kind == GANG_KIND_GPU || kind == GANG_KIND_MEMORY;
    struct gang__amount_text number = own ? gang__text_number(kind, amount / 3600)
                                          : gang__text_milli(gang__mul_div(amount, 1000, 3600), "");
    snprintf(w.s, sizeof(w.s), "%s %.60s%shours", number.s, noun, own ? "" : " ");
    return w;
}

static void explain_budget(struct gang__reasons *l, const struct gang__queue_state *q, size_t i,
                           const struct gang__take *take)
{
    const struct gang__budget *b = &q->q->budgets[i];
    bool safe = b->exhausted == GANG_BUDGET_SAFE;
    struct gang__budget_view view = gang__budget_look(l->s, l->gang, q, i, take);
    bool never = safe && (view.endless || view.requested > b->amount);
    struct gang__reason *r = gang__reason_add(
        l, GANG_WAIT_BUDGET, never ? GANG_WAIT_CATEGORY_NEVER : GANG_WAIT_CATEGORY_NOT_NOW, q);
    if (!r)
        return;
    int64_t until = gang__budget_renewal(q, l->s->now_ns);
    struct hours whole = hours_of(l->s, b->kind, b->amount);
    const char *whom = b->per_user ? " a user" : "";
    r->wait.kind = b->kind;
    r->wait.requested = view.requested;
    r->wait.used = view.used;
    r->wait.limit = b->amount;
    r->wait.until_ns = never || until == INT64_MAX ? 0 : until;
    if (!safe)
        gang__reason_set_text(r, "queue \"%s\" allows%s %s, and all are used", q->q->name, whom,
                              whole.s);
    else if (view.endless)
        gang__reason_set_text(r, "queue \"%s\" allows%s %s, and the job has no time limit",
                              q->q->name, whom, whole.s);
    else
        gang__reason_set_text(r,
                              "queue \"%s\" allows%s %s, %s are used or promised, the gang needs "
                              "%s in its time limit",
                              q->q->name, whom, whole.s, hours_of(l->s, b->kind, view.used).s,
                              hours_of(l->s, b->kind, view.requested).s);
}

void gang__explain_budgets(struct gang__reasons *l, const struct gang__take *take, uint32_t count)
{
    const struct gang__queue_state *leaf = l->gang->job->leaf;
    for (const struct gang__queue_state *q = leaf; leaf->q->budgeted && q->parent; q = q->parent)
        for (size_t i = 0; i < q->q->budget_count; i++)
            for (uint32_t t = 0; t < count; t++)
                if (gang__budget_refuses(l->s, l->gang, q, i, &take[t]))
                    explain_budget(l, q, i, &take[t]);
}
