/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the parts of nodes that others use. */
#include "sched/foreign/foreign.h"

#include <string.h>

#include "place/request/request.h"
#include "sched/wake/wake.h"

/* ---- one node -------------------------------------------------------------------------------- */

static struct gang__foreign_node *node_of(const gang_sched *s, gang_node_id node)
{
    for (size_t i = 0; i < s->foreign.count; i++)
        if (s->foreign.node[i].id == node)
            return &s->foreign.node[i];
    return NULL;
}

gang_alloc_id gang__foreign_alloc(const gang_sched *s, gang_node_id node)
{
    const struct gang__foreign_node *n = node_of(s, node);
    return n ? n->alloc : GANG_ID_NONE;
}

bool gang__foreign_wants(const gang_sched *s, gang_node_id node)
{
    const struct gang__foreign_node *n = node_of(s, node);
    return n && n->wants;
}

gang_request *gang__foreign_request(gang_sched *s)
{
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    group.name = "foreign";
    group.count = group.min = 1;
    spec.groups = &group;
    spec.group_count = 1;
    if (!s->foreign.request)
        (void)!gang__request_compile(s->cluster, &spec, &s->foreign.request, NULL);
    return s->foreign.request;
}

static void forget(gang_sched *s, struct gang__foreign_node *n)
{
    gang__release(&s->mem, n->claim);
    *n = s->foreign.node[--s->foreign.count];
}

/* Hold what is claimed and free. Notes whether that is all. */
static gang_result hold(gang_sched *s, struct gang__foreign_node *n, struct gang__claim *claim,
                        size_t count)
{
    struct gang__hold made = {n->alloc, false};
    bool wants = false;
    gang_result r;
    int tries = 0;
    do
        r = gang__hold_set(s->worker, s->foreign.request, n->id, claim, count, &made);
    while (gang__busy_again(r, &tries));
    n->alloc = made.id;
    for (size_t k = 0; r == GANG_OK && k < count; k++)
        wants = wants || claim[k].is_short;
    bool over = r == GANG_OK && n->wants && !wants;
    if (r == GANG_OK)
        n->wants = wants;
    if (made.gave || over)
        gang__wake_capacity_any(s);
    gang__wake_calendar(s);
    return r;
}

/* The same with the claims of the node. It is tried again in the next run if need be. */
static void hold_again(gang_sched *s, struct gang__foreign_node *n)
{
    gang_result r = hold(s, n, n->claim, n->count);
    if (r != GANG_OK && r != GANG_ESTALE) {
        n->wants = true;
        gang__wake_next_run(s);
        s->no_memory = s->no_memory || r == GANG_ENOMEM;
    }
}

/* ---- claims ---------------------------------------------------------------------------------- */

/* Claims and what they are of, in one block. */
static struct gang__claim *claims_new(gang_sched *s, const struct gang__claim *claim,
                                      const struct gang__claim_of *of, size_t count,
                                      struct gang__claim_of **own_of)
{
    struct gang__claim *own =
        gang__alloc(&s->mem, count * (sizeof(*claim) + sizeof(*of)) + sizeof(*of));
    if (!own)
        return NULL;
    *own_of = (struct gang__claim_of *)(void *)(own + count);
    if (count > 0) {
        memcpy(own, claim, count * sizeof(*claim));
        memcpy(*own_of, of, count * sizeof(*of));
    }
    return own;
}

gang_result gang__foreign_set(gang_sched *s, gang_node_id node, struct gang__claim *claim,
                              const struct gang__claim_of *of, size_t count)
{
    struct gang__foreign_node *n = node_of(s, node), fresh = {.id = node};
    struct gang__claim_of *own_of;
    if (!n && count == 0)
        return GANG_OK;
    if (!gang__foreign_request(s) ||
        !gang__grow(&s->mem, (void **)&s->foreign.node, &s->foreign.cap, s->foreign.count + 1,
                    sizeof(fresh)))
        return GANG_ENOMEM;
    n = node_of(s, node); /* it may have moved */
    struct gang__claim *own = claims_new(s, claim, of, count, &own_of);
    if (!own)
        return GANG_ENOMEM;
    gang_result r = hold(s, n ? n : &fresh, claim, count);
    if (r != GANG_OK) {
        gang__release(&s->mem, own);
        return r;
    }
    if (!n)
        *(n = &s->foreign.node[s->foreign.count++]) = fresh;
    gang__release(&s->mem, n->claim);
    n->claim = own;
    n->of = own_of;
    n->count = count;
    if (count == 0)
        forget(s, n);
    return GANG_OK;
}

static bool is_named(int64_t task, const int64_t *tasks, size_t count)
{
    for (size_t i = 0; tasks && i < count; i++)
        if (tasks[i] == task)
            return true;
    return !tasks;
}

/* True: some claim was of one of these tasks. */
static bool drop_claims(struct gang__foreign_node *n, gang_alloc_id alloc, const int64_t *tasks,
                        size_t count)
{
    size_t kept = 0, before = n->count;
    for (size_t k = 0; k < before; k++)
        if (n->of[k].alloc != alloc || !is_named(n->of[k].task, tasks, count)) {
            n->claim[kept] = n->claim[k];
            n->of[kept++] = n->of[k];
        }
    n->count = kept;
    return kept < before;
}

void gang__foreign_released_some(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks,
                                 size_t count)
{
    for (size_t i = s->foreign.count; i-- > 0;) {
        struct gang__foreign_node *n = &s->foreign.node[i];
        if (drop_claims(n, alloc, tasks, count) || n->wants)
            hold_again(s, n);
        if (n->count == 0 && n->alloc == GANG_ID_NONE)
            forget(s, n);
    }
}

/* ---- runs, copies, the end ------------------------------------------------------------------- */

static gang_result free_alloc(gang_sched *s, gang_alloc_id alloc)
{
    gang_result r;
    int tries = 0;
    if (alloc == GANG_ID_NONE)
        return GANG_OK;
    do
        r = gang_alloc_free(s->worker, alloc);
    while (gang__busy_again(r, &tries));
    return r;
}

static bool is_gone(const gang_sched *s, gang_node_id node)
{
    struct gang_node_info info = {.size = sizeof(info)};
    return gang_node_get(s->cluster, node, &info) != GANG_OK || info.state == GANG_NODE_REMOVED;
}

void gang__foreign_look_all(gang_sched *s)
{
    uint64_t epoch = gang__load(&s->cluster->nodes.epoch) + 1;
    bool changed = s->foreign.epoch != epoch, again = false;
    for (size_t i = s->foreign.count; i-- > 0;) {
        struct gang__foreign_node *n = &s->foreign.node[i];
        if (changed && is_gone(s, n->id)) {
            gang_result r = free_alloc(s, n->alloc);
            again = again || r == GANG_EBUSY || r == GANG_ENOMEM;
            if (r != GANG_EBUSY && r != GANG_ENOMEM)
                forget(s, n);
        } else if (n->wants) {
            hold_again(s, n);
        }
    }
    s->foreign.epoch = again ? 0 : epoch;
}

bool gang__foreign_copy(gang_sched *s, const gang_sched *from)
{
    const struct gang__foreign_sched *f = &from->foreign;
    if (f->count == 0)
        return true;
    if (!gang__grow(&s->mem, (void **)&s->foreign.node, &s->foreign.cap, f->count,
                    sizeof(*f->node)) ||
        !gang__foreign_request(s))
        return false;
    for (size_t i = 0; i < f->count; i++) {
        struct gang__foreign_node *n = &s->foreign.node[i];
        *n = f->node[i];
        n->claim = claims_new(s, f->node[i].claim, f->node[i].of, n->count, &n->of);
        if (!n->claim)
            return false;
        s->foreign.count++;
    }
    return true;
}

void gang__foreign_free(gang_sched *s)
{
    while (s->foreign.count > 0) {
        struct gang__foreign_node *n = &s->foreign.node[s->foreign.count - 1];
        while (free_alloc(s, n->alloc) == GANG_EBUSY)
            continue;
        forget(s, n);
    }
    gang__release(&s->mem, s->foreign.node);
    gang_request_free(s->foreign.request);
}
