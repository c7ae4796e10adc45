/* SPDX-License-Identifier: Apache-2.0 */
#include "place/request/shared.h"

#include "core/cluster.h"

#include "place/request/label_count.h"
#include "place/request/mix.h"

/* ---- a cluster with requests alone: the functions that core/ calls
 * ------------------------------ */

static void no_worker(gang_worker *w)
{
    (void)w;
}

static gang_result no_check(gang_cluster *c, struct gang_error *error)
{
    (void)c;
    (void)error;
    return GANG_OK;
}

/* place/record/placer.c puts its own in place of these when the first worker places. */
static const struct gang__place_ops requests_only = {gang__shared_free, no_worker, no_check};

struct gang__shared *gang__shared_of(gang_cluster *c)
{
    struct gang__shared *there = gang__load(&c->place);
    if (there)
        return there;
    struct gang__shared *fresh = gang__zalloc_line(&c->mem, 1, sizeof(*fresh));
    if (!fresh)
        return NULL;
    const struct gang__place_ops *unset = NULL;
    gang__publish(&c->place_ops, &unset, &requests_only);
    void *none = NULL;
    if (gang__publish(&c->place, &none, (void *)fresh))
        return fresh;
    gang__release_line(&c->mem, fresh);
    return none;
}

void gang__shared_free(gang_cluster *c)
{
    struct gang__shared *s = gang__load(&c->place);
    if (!s)
        return;
    gang__label_counts_free(&s->label_counts, &c->mem);
    gang__mixes_free(&s->mixes, &c->mem);
    for (unsigned i = 0; i < GANG__CHUNKS; i++)
        gang__release_line(&c->mem, gang__load(&s->task_counts.chunk[i]));
    gang__release_line(&c->mem, s);
}
