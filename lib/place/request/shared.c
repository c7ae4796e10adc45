/* SPDX-License-Identifier: Apache-2.0 */
#include "place/request/shared.h"

#include "base/error.h"

static void shared_free(gang_cluster *c)
{
    struct gang__shared *s = gang__shared_at(c);
    if (!s)
        return;
    const struct gang__place_ops *above = gang__load(&s->above);
    if (above)
        above->free_table(c);
    gang__badges_free(&s->badges, &c->mem);
    gang__mixes_free(&s->mixes, &c->mem);
    for (unsigned i = 0; i < GANG__CHUNKS; i++)
        gang__release_line(&c->mem, gang__load(&s->tallies.chunk[i]));
    gang__release_line(&c->mem, s);
}

/* A worker that placed something has set `above`. */
static void worker_free(gang_worker *w)
{
    struct gang__shared *s = gang__shared_at(w->cluster);
    const struct gang__place_ops *above = s ? gang__load(&s->above) : NULL;
    if (above)
        above->free_worker(w);
}

static gang_result check(gang_cluster *c, struct gang_error *error)
{
    struct gang__shared *s = gang__shared_at(c);
    const struct gang__place_ops *above = s ? gang__load(&s->above) : NULL;
    return above ? above->check(c, error) : GANG_OK;
}

static const struct gang__place_ops place_ops = {shared_free, worker_free, check};

/* Of several callers at the same time the first one makes it. */
struct gang__shared *gang__shared_of(gang_cluster *c)
{
    struct gang__shared *s = gang__shared_at(c);
    if (s)
        return s;
    struct gang__shared *fresh = gang__zalloc_line(&c->mem, 1, sizeof(*fresh));
    if (!fresh)
        return NULL;
    gang__store(&c->place_ops, &place_ops);
    void *none = NULL;
    if (atomic_compare_exchange_strong(&c->place, &none, (void *)fresh))
        return fresh;
    gang__release_line(&c->mem, fresh);
    return none;
}
