/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations as JSON. */
#include <string.h>

#include "base/json/json.h"
#include "sched/explain/explain_preemption.h"
#include "sched/record/state.h"

static void put_number(struct gang__json_maker *m, json_t *o, const char *key, int64_t value)
{
    gang__json_put(m, o, key, json_integer(value));
}

static void put_text(struct gang__json_maker *m, json_t *o, const char *key, const char *text)
{
    gang__json_put(m, o, key, gang__json_new_text(m, text));
}

static json_t *reason_json(struct gang__json_maker *m, const gang_sched *s,
                           const struct gang__reason *r)
{
    const struct gang_wait *w = &r->wait;
    json_t *o = json_object();
    put_text(m, o, "reason", gang__wait_reason_word(w->reason));
    put_text(m, o, "category", gang__wait_category_word(w->category));
    if (r->queue)
        put_text(m, o, "queue", r->queue->q->name);
    if (w->kind >= 0)
        put_text(m, o, "kind", s->cluster->nodes.kind[w->kind].name);
    if (r->group)
        put_text(m, o, "group", r->group);
    if (w->requested || w->limit) {
        put_number(m, o, "requested", w->requested);
        put_number(m, o, "used", w->used);
        put_number(m, o, "limit", w->limit);
    }
    if (w->blocker != GANG_ID_NONE)
        put_number(m, o, "blocker", (int64_t)w->blocker);
    if (w->until_ns)
        put_number(m, o, "until_ns", w->until_ns);
    if (w->partition)
        put_text(m, o, "partition", w->partition);
    put_text(m, o, "text", r->text);
    return o;
}

static json_t *list_json(struct gang__json_maker *m, const struct gang__job *job,
                         const struct gang__reasons *l)
{
    json_t *root = json_object(), *reasons = json_array();
    put_number(m, root, "job", (int64_t)job->id);
    put_text(m, root, "name", job->name);
    put_text(m, root, "state", gang__job_state_word(job->state));
    if (l->count > 0) {
        put_text(m, root, "category", gang__wait_category_word(l->reason[0].wait.category));
        put_text(m, root, "text", l->reason[0].text);
    }
    for (size_t i = 0; i < l->count; i++)
        gang__json_push(m, reasons, reason_json(m, l->s, &l->reason[i]));
    gang__json_put(m, root, "reasons", reasons);
    return root;
}

/* The first gang that waits to start, if capacity is short: its placement is explained, too. */
static const struct gang__gang *gang_without_place(const struct gang__job *job,
                                                   const struct gang__reasons *l)
{
    for (uint32_t i = 0; gang__reasons_have(l, GANG_WAIT_CAPACITY) && i < job->gang_count; i++)
        if (gang__explain_waits(&job->gang[i]) && job->gang[i].alloc == GANG_ID_NONE &&
            !job->gang[i].places)
            return &job->gang[i];
    return NULL;
}

/* ---- preemption ------------------------------------------------------------------------------ */

static void put_amount(struct gang__json_maker *m, json_t *o, const char *key, int64_t value)
{
    gang__json_put(m, o, key, value == GANG_UNLIMITED ? json_null() : json_integer(value));
}

static json_t *rule_json(struct gang__json_maker *m, const gang_sched *s,
                         const struct gang_preemption_rule *r)
{
    const struct gang__queue_state *q = gang__queue_state_of(s, r->queue);
    json_t *o = json_object(), *jobs = json_array();
    put_text(m, o, "rule", gang__protected_word(r->rule));
    if (q)
        put_text(m, o, "queue", q->q->name);
    put_number(m, o, "gangs", r->gangs);
    put_number(m, o, "tasks", r->tasks);
    for (int32_t i = 0; i < r->job_count; i++)
        gang__json_push(m, jobs, json_integer((json_int_t)r->jobs[i]));
    gang__json_put(m, o, "jobs", jobs);
    if (r->kind >= 0) {
        put_text(m, o, "kind", s->cluster->nodes.kind[r->kind].name);
        put_number(m, o, "used", r->used);
    }
    if (r->kind >= 0 || gang__protected_by_priority(r->rule)) {
        put_number(m, o, "bound", r->bound);
        put_number(m, o, "requested", r->requested);
    }
    if (r->until_ns)
        put_number(m, o, "until_ns", r->until_ns);
    put_text(m, o, "text", r->text);
    return o;
}

static json_t *amount_json(struct gang__json_maker *m, const gang_sched *s,
                           const struct gang_preemption_amount *a)
{
    json_t *o = json_object();
    put_text(m, o, "kind", s->cluster->nodes.kind[a->kind].name);
    if (a->partition)
        put_text(m, o, "partition", a->partition);
    put_number(m, o, "requested", a->requested);
    put_amount(m, o, "guarantee", a->guarantee);
    put_amount(m, o, "share", a->share);
    put_number(m, o, "used", a->used);
    put_amount(m, o, "limit", a->limit);
    return o;
}

static json_t *queue_json(struct gang__json_maker *m, const gang_sched *s,
                          const struct gang_preemption_queue *q)
{
    json_t *o = json_object(), *amounts = json_array();
    put_text(m, o, "queue", q->name);
    gang__json_put(m, o, "preemptor", json_boolean(q->preemptor));
    put_number(m, o, "turn", q->turn);
    put_number(m, o, "siblings", q->siblings);
    put_number(m, o, "running", q->running);
    for (size_t i = 0; i < q->amount_count; i++)
        gang__json_push(m, amounts, amount_json(m, s, &q->amounts[i]));
    gang__json_put(m, o, "amounts", amounts);
    return o;
}

static json_t *preemption_json(struct gang__json_maker *m, const gang_sched *s,
                               const struct gang__preemption_answer *a)
{
    json_t *o = json_object(), *rules = json_array(), *queues = json_array();
    const struct gang_preemption *p = &a->shown;
    put_text(m, o, "outcome", gang__preemption_word(p->outcome));
    put_text(m, o, "text", p->text);
    if (p->blocker != GANG_ID_NONE)
        put_number(m, o, "blocker", (int64_t)p->blocker);
    if (p->rule_count > 0) {
        put_text(m, o, "moves", gang__moves_word(p->moves));
        put_number(m, o, "gangs", p->gangs);
        put_number(m, o, "takeable", p->takeable);
        put_number(m, o, "together", p->together);
    }
    for (size_t i = 0; i < p->rule_count; i++)
        gang__json_push(m, rules, rule_json(m, s, &a->rule[i].shown));
    gang__json_put(m, o, "rules", rules);
    for (size_t i = 0; i < p->queue_count; i++)
        gang__json_push(m, queues, queue_json(m, s, &a->queue[i].shown));
    gang__json_put(m, o, "queues", queues);
    return o;
}

/* Put the member "preemption", if the job waits; a callback cannot ask for it. */
static gang_result put_preemption(struct gang__json_maker *m, gang_sched *s, struct gang__job *job,
                                  json_t *root)
{
    struct gang__preemption_answer *a;
    if (s->running)
        return GANG_OK;
    gang_result r = gang__explain_preemption(s, job, &a);
    if (r != GANG_OK)
        return r;
    if (a->shown.outcome != GANG_PREEMPTION_NONE)
        gang__json_put(m, root, "preemption", preemption_json(m, s, a));
    gang_preemption_free(&a->shown);
    return GANG_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static gang_result write_all(gang_sched *s, const struct gang__job *job,
                             const struct gang__reasons *l, const char *text, gang_write_fn write,
                             void *user)
{
    const struct gang__gang *g = gang_without_place(job, l);
    size_t length = strlen(text);
    if (!g)
        return write(text, length, user) == 0 ? GANG_OK : GANG_EIO;
    static const char member[] = ",\"placement\":";
    if (write(text, length - 1, user) != 0 || write(member, sizeof(member) - 1, user) != 0)
        return GANG_EIO;
    gang_result r = gang_request_write_explanation(s->worker, gang__gang_request(g), write, user);
    if (r != GANG_OK)
        return r;
    return write("}", 1, user) == 0 ? GANG_OK : GANG_EIO;
}

gang_result gang_job_write_explanation(gang_sched *sched, gang_job_id id, gang_write_fn write,
                                       void *user)
{
    if (!sched || !write)
        return GANG_EINVAL;
    struct gang__job *job = gang__job_of(sched, id);
    if (!job)
        return GANG_ESTALE;
    struct gang__reasons l;
    struct gang__json_maker maker = {GANG_OK};
    gang_result r = gang__reasons_collect(sched, job, &l);
    json_t *root = r == GANG_OK ? list_json(&maker, job, &l) : NULL;
    if (r == GANG_OK && root)
        r = put_preemption(&maker, sched, job, root);
    if (r == GANG_OK)
        r = maker.result;
    char *text = r == GANG_OK ? gang__json_compact(root, &sched->mem) : NULL;
    if (r == GANG_OK)
        r = text ? write_all(sched, job, &l, text, write, user) : GANG_ENOMEM;
    gang__release(&sched->mem, text);
    gang__release(&sched->mem, l.reason);
    json_decref(root);
    return r;
}
