/* SPDX-License-Identifier: Apache-2.0 */
/* The scratch of a worker for placement: made at first use, copied, freed. Also the functions with
 * which core/ frees what place/ keeps in a cluster. */
#include "place/record/placer.h"

#include "core/cluster.h"
#include "place/fit/fit.h"
#include "place/record/record.h"
#include "place/request/request.h"
#include "place/search/search.h"
#include "place/state/records.h"

static void placer_free(gang_worker *w)
{
    struct gang__placer *p = w->place;
    if (!p)
        return;
    const struct gang_mem *mem = &w->cluster->mem;
    gang__record_cache_free(&p->records, mem);
    gang__plan_free(&p->plan, mem);
    gang__fgd_free(p->plan.score.fgd, mem);
    gang__headroom_free(p->plan.score.headroom, mem);
    gang__release(mem, p->order);
    gang__release(mem, p);
    w->place = NULL;
}

static void place_free(gang_cluster *c)
{
    gang__records_free(c);
    gang__shared_free(c);
}

static const struct gang__place_ops place_ops = {place_free, placer_free, gang__records_check};

struct gang__placer *gang__placer_make(gang_worker *w)
{
    if (!gang__shared_of(w->cluster))
        return NULL;
    gang__store(&w->cluster->place_ops, &place_ops);
    struct gang__placer *p = gang__zalloc(&w->cluster->mem, 1, sizeof(*p));
    w->place = p;
    return p;
}

void gang__placer_keep_mix(gang_worker *w, bool keep)
{
    struct gang__placer *p = gang__placer_of(w);
    if (!p)
        return; /* out of memory: it cannot plan either */
    p->plan.score.keeps_mix = keep;
    if (keep)
        return;
    gang__fgd_forget_mix(p->plan.score.fgd);
    gang__headroom_forget_mix(p->plan.score.headroom);
}

bool gang__placer_copy(gang_worker *to, const gang_worker *from)
{
    const struct gang__placer *there = from->place;
    struct gang__placer *p = gang__placer_of(to);
    if (!p || !there)
        return p != NULL;
    p->plan.c = to->cluster;
    return gang__fgd_copy(&p->plan, there->plan.score.fgd) &&
           gang__headroom_copy(&p->plan, there->plan.score.headroom);
}
