/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations as JSON. */
#include <string.h>

#include "base/json/json.h"
#include "sched/explain/explain_in.h"
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
static struct gang__gang *gang_without_place(const struct gang__job *job,
                                             const struct gang__reasons *l)
{
    for (uint32_t i = 0; gang__reasons_have(l, GANG_WAIT_CAPACITY) && i < job->gang_count; i++)
        if (gang__explain_waits(&job->gang[i]) && job->gang[i].alloc == GANG_ID_NONE &&
            !job->gang[i].places)
            return &job->gang[i];
    return NULL;
}

static gang_result write_all(gang_sched *s, const struct gang__job *job,
                             const struct gang__reasons *l, const char *text, gang_write_fn write,
                             void *user)
{
    struct gang__gang *g = gang_without_place(job, l);
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
