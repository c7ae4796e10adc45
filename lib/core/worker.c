/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "core/nodes/nodes.h"

gang_result gang_worker_new(gang_cluster *cluster, gang_worker **worker)
{
    if (worker)
        *worker = NULL;
    if (!cluster || !worker)
        return GANG_EINVAL;
    for (uint32_t i = 0; i < cluster->max_workers; i++) {
        gang_worker *w = gang__worker_of(gang__load(&cluster->commit.worker[i]));
        if (!w) {
            gang_worker *fresh = gang__zalloc_line(&cluster->mem, 1, sizeof(*fresh));
            if (!fresh)
                return GANG_ENOMEM;
            fresh->commit.index = i;
            fresh->commit.cells = &cluster->commit;
            fresh->cluster = cluster;
            struct gang__committer *none = NULL;
            if (gang__publish(&cluster->commit.worker[i], &none, &fresh->commit)) {
                w = fresh;
            } else {
                gang__release_line(&cluster->mem, fresh);
                w = gang__worker_of(none);
            }
        }
        uint32_t end = gang__load(&cluster->commit.worker_end);
        /* Whichever thread made the worker, its stamp must count before any thread can use it:
         * seq_cst, so that this CAS comes before the stamps of the worker in the one order in
         * which gang__stamp_read() loads worker_end, then the stamps: CAS -> load_seq there. */
        while (end < i + 1 &&
               !atomic_compare_exchange_weak_explicit(&cluster->commit.worker_end, &end, i + 1,
                                                      memory_order_seq_cst, memory_order_acquire))
            continue;
        if (gang__load_relaxed(&w->in_use) == 0 && gang__try_lock(&w->in_use)) {
            memset(&w->stats, 0, sizeof(w->stats));
            w->commit.commits = w->commit.helps = 0;
            w->commit.apart = w->gangs_apart = 0;
            w->from_first = w->keeps_allocs = false;
            *worker = w;
            return GANG_OK;
        }
    }
    return GANG_ELIMIT;
}

void gang_worker_free(gang_worker *worker)
{
    if (worker)
        gang__store(&worker->in_use, 0u);
}

gang_cluster *gang_worker_cluster(const gang_worker *worker)
{
    return worker ? worker->cluster : NULL;
}

gang_result gang_worker_get_stats(const gang_worker *worker, struct gang_worker_stats *stats)
{
    if (!worker || !stats)
        return GANG_EINVAL;
    struct gang_worker_stats out = worker->stats;
    out.commits = worker->commit.commits;
    out.helps = worker->commit.helps;
    return gang__struct_out(stats, stats->size, sizeof(out), &out, sizeof(out));
}
