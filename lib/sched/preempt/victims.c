/* SPDX-License-Identifier: Apache-2.0 */
/* In which order are gangs and tasks victims? A heap of cursors, two for each leaf. */
#include <string.h>

#include "sched/preempt/preempt_in.h"

static struct gang__gang *gang_at_link(const struct gang__cursor *c, struct gang__set_link *n)
{
    return c->whole ? GANG__OF(struct gang__gang, victim.link, n)
                    : GANG__OF(struct gang__gang, victim.elastic_link, n);
}

static struct gang__gang *gang_at(const struct gang__cursor *c)
{
    return gang_at_link(c, c->at);
}

enum {
    FARTHER = GANG__VICTIMS_AHEAD * 3 / 4,
    FAR = GANG__VICTIMS_AHEAD / 2,
    NEAR = GANG__VICTIMS_AHEAD / 4
};

/* The members of a gang that the rules and the dry run read, each on another cache line. */
static void prefetch_gang(const struct gang__gang *g)
{
    __builtin_prefetch(g);
    __builtin_prefetch(&g->stop.first);
    __builtin_prefetch(&g->victim.tentative);
    __builtin_prefetch(&g->preempt.took);
}

static void prefetch_job(const struct gang__job *job)
{
    __builtin_prefetch(&job->leaf);
    __builtin_prefetch(&job->ending);
}

static const struct gang__gang *ahead_of(const struct gang__cursor *c, uint32_t i)
{
    return gang_at_link(c, c->coming[(c->first + i) % GANG__VICTIMS_AHEAD]);
}

/* Prefetch: thousands of victims lie all over the memory, and cache misses are most of the cost.
 * Two at a time, so that a short search does not prefetch many. */
static void prefetch_next(gang_sched *s, struct gang__cursor *c)
{
    for (int i = 0; i < 2 && c->known < GANG__VICTIMS_AHEAD && c->walk.at; i++) {
        struct gang__set_link *next = gang__set_walk_next(&c->walk);
        if (!next)
            return;
        c->coming[(c->first + c->known++) % GANG__VICTIMS_AHEAD] = next;
        prefetch_gang(gang_at_link(c, next));
    }
    if (c->known > FARTHER)
        prefetch_job(ahead_of(c, FARTHER)->job);
    if (c->known > FAR)
        gang__alloc_prefetch(s->cluster, ahead_of(c, FAR)->alloc);
    if (c->known > NEAR)
        gang__snapshot_prefetch(s->scratch, s->worker, ahead_of(c, NEAR)->alloc);
}

static struct gang__set_link *next_link(gang_sched *s, struct gang__cursor *c)
{
    struct gang__set_link *next = NULL;
    prefetch_next(s, c);
    if (c->known > 0) {
        next = c->coming[c->first];
        c->first = (c->first + 1) % GANG__VICTIMS_AHEAD;
        c->known--;
    }
    return next;
}

/* Step to the next gang that may be preempted. False: there is none. */
static bool settle_cursor(gang_sched *s, struct gang__cursor *c)
{
    for (; c->at; c->at = next_link(s, c)) {
        struct gang__gang *g = gang_at(c);
        if (c->whole && !gang__victim_is_protected(s, g) && gang__may_preempt_whole(g))
            return true;
        if (!c->whole)
            gang__spares_load(s, c, g);
        if (c->next < c->spares)
            return true;
    }
    return false;
}

/* Does the victim of cursor `a` come before that of `b`? */
static bool comes_before(const struct gang__cursor *a, const struct gang__cursor *b)
{
    const struct gang__job *x = gang_at(a)->job, *y = gang_at(b)->job;
    if (x->priority != y->priority)
        return x->priority < y->priority;
    if (a->whole != b->whole)
        return !a->whole;
    return x->age != y->age ? x->age > y->age : x->id > y->id;
}

static void heap_sift(struct gang__victims *v, size_t at)
{
    for (;;) {
        size_t least = at, child = 2 * at + 1;
        for (size_t k = child; k < child + 2 && k < v->cursors; k++)
            if (comes_before(&v->cursor[k], &v->cursor[least]))
                least = k;
        if (least == at)
            return;
        struct gang__cursor swap = v->cursor[at];
        v->cursor[at] = v->cursor[least];
        v->cursor[least] = swap;
        at = least;
    }
}

void gang__cursor_free(gang_sched *s, struct gang__cursor *c)
{
    gang__release(&s->mem, c->spare);
    gang__release(&s->mem, c->spare_group);
}

void gang__victims_close(gang_sched *s)
{
    struct gang__victims *v = s->preempt.victims;
    for (size_t i = 0; i < v->cursors; i++)
        gang__cursor_free(s, &v->cursor[i]);
    v->cursors = 0;
    v->given = v->passed = false;
}

static bool add_cursor(gang_sched *s, const struct gang__ordered_set *gangs, bool whole)
{
    struct gang__victims *v = s->preempt.victims;
    if (gangs->count == 0)
        return true;
    if (!gang__grow(&s->mem, (void **)&v->cursor, &v->cursor_cap, v->cursors + 1,
                    sizeof(*v->cursor)))
        return false;
    struct gang__cursor *c = &v->cursor[v->cursors];
    memset(c, 0, sizeof(*c));
    c->whole = whole;
    c->at = gang__set_first(gangs);
    c->walk = gang__set_walk_from(c->at);
    if (settle_cursor(s, c))
        v->cursors++;
    else
        gang__cursor_free(s, c);
    return true;
}

bool gang__victims_open(gang_sched *s, const struct gang__queue_state *mine, bool own, bool others)
{
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__queue_state *leaf = s->qs[i];
        if (!leaf->q->leaf || (leaf == mine ? !own : !others))
            continue;
        if (!add_cursor(s, &leaf->elastic_victims, false) || !add_cursor(s, &leaf->victims, true))
            return false;
    }
    for (size_t i = s->preempt.victims->cursors / 2; i-- > 0;)
        heap_sift(s->preempt.victims, i);
    return true;
}

/* Step past the current victim. False: there is none after it. */
static bool step_cursor(gang_sched *s, struct gang__cursor *c)
{
    if (!c->whole && ++c->next < c->spares)
        return true;
    c->at = next_link(s, c);
    return settle_cursor(s, c);
}

/* Step past the victim that was returned last. */
static void step(gang_sched *s, struct gang__victims *v)
{
    struct gang__cursor *c = &v->cursor[0];
    if (v->passed || !step_cursor(s, c)) {
        gang__cursor_free(s, c);
        *c = v->cursor[--v->cursors];
    }
    v->given = v->passed = false;
    heap_sift(v, 0);
}

bool gang__victims_next(gang_sched *s, struct gang__victim *out)
{
    struct gang__victims *v = s->preempt.victims;
    if (v->given)
        step(s, v);
    if (v->cursors == 0)
        return false;
    const struct gang__cursor *c = &v->cursor[0];
    memset(out, 0, sizeof(*out));
    out->g = gang_at(c);
    out->whole = c->whole;
    if (!c->whole) {
        out->task = c->spare[c->next];
        out->group = c->spare_group[c->next];
    }
    v->given = true;
    return true;
}

void gang__victims_skip_leaf(gang_sched *s)
{
    s->preempt.victims->passed = true;
}

void gang__victims_drop_leaf(gang_sched *s, const struct gang__queue_state *leaf)
{
    struct gang__victims *v = s->preempt.victims;
    size_t at = 0;
    while (at < v->cursors && !(v->cursor[at].whole && gang_at(&v->cursor[at])->job->leaf == leaf))
        at++;
    if (at == v->cursors)
        return;
    if (at == 0 && v->given) { /* the next step does it */
        v->passed = true;
        return;
    }
    gang__cursor_free(s, &v->cursor[at]);
    v->cursor[at] = v->cursor[--v->cursors];
    for (size_t i = v->cursors / 2; i-- > 0;)
        heap_sift(v, i);
}

void gang__preempt_free(gang_sched *s)
{
    struct gang__victims *v = s->preempt.victims;
    if (!v)
        return;
    gang__victims_close(s);
    gang__release(&s->mem, v->list);
    gang__release(&s->mem, v->tasks);
    gang__release(&s->mem, v->kept);
    gang__release(&s->mem, v->theirs);
    gang__release(&s->mem, v->before);
    gang__release(&s->mem, v->cursor);
    gang__release(&s->mem, v->batches.pending);
    gang__release(&s->mem, v);
}
