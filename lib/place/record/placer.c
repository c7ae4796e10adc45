/* SPDX-License-Identifier: Apache-2.0 */
#include "place/record/placer.h"

#include "place/request/shared.h"
#include "place/search/policy.h"

static void placer_free(gang_worker *w)
{
    struct gang__placer *p = w->place;
    if (!p)
        return;
    const struct gang_mem *mem = &w->cluster->mem;
    gang__record_cache_free(&p->cache, mem);
    gang__fgd_free(p->plan.fgd, mem);
    gang__headroom_free(p->plan.headroom, mem);
    gang__plan_free(&p->plan, mem);
    gang__release(mem, p->order);
    gang__release(mem, p);
    w->place = NULL;
}

static const struct gang__place_ops place_ops = {gang__records_free, placer_free,
                                                 gang__records_check};

struct gang__placer *gang__placer_of(gang_worker *w)
{
    if (w->place)
        return w->place;
    struct gang__shared *shared = gang__shared_of(w->cluster);
    if (!shared)
        return NULL;
    gang__store(&shared->above, &place_ops);
    struct gang__placer *p = gang__zalloc(&w->cluster->mem, 1, sizeof(*p));
    w->place = p;
    return p;
}

bool gang__placer_copy(gang_worker *to, const gang_worker *from)
{
    const struct gang__placer *there = from->place;
    struct gang__placer *p = gang__placer_of(to);
    if (!p || !there)
        return p != NULL;
    p->plan.c = to->cluster;
    return gang__fgd_copy(&p->plan, there->plan.fgd) &&
           gang__headroom_copy(&p->plan, there->plan.headroom);
}
