/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to a committed allocation, and what all calls on allocations share. */
#ifndef GANG__PLACE_RECORD_H
#define GANG__PLACE_RECORD_H

#include "place/record/holders.h"
#include "place/record/placer.h"
#include "place/record/places.h"
#include "place/record/running.h"
#include "place/record/task_order.h"

/* Releases may disturb a search. It is repeated this often, then the refusal stays unproved. */
enum { GANG__SEARCHES = 64 };

/* Memory for `keys` keys in the placer's `order`. False: out of memory. */
bool gang__order_reserve(gang_worker *w, size_t keys);

/* Complete a plan that has all its tasks: order the tasks, plan the holders. False: out of
 * memory. */
static inline bool gang__plan_complete(struct gang__plan *p)
{
    return gang__rank_tasks(p) && (!p->request->exclusive || gang__exclusive_hold(p));
}

/* A BUSY record of a request, with memory for `entries` entries of `words` words in all, and for
 * their release with this worker. GANG_OK; GANG_ENOMEM, GANG_ELIMIT: *a is NULL. */
gang_result gang__record_make(gang_worker *w, gang_request *request, size_t entries, size_t words,
                              struct gang__alloc **a);

/* Memory in a BUSY record for more entries of `words` words in all, and for the release of all that
 * it then has with this worker. False: out of memory. */
bool gang__record_reserve(gang_worker *w, struct gang__alloc *a, size_t entries, size_t words);

/* Writes the entry of a planned task. Returns its words. */
uint32_t gang__record_put_task(const struct gang__plan *p, const struct gang__task_plan *planned,
                               uint64_t *task);

/* Is nothing of the node taken yet, and does the plan take all of it? */
bool gang__plan_takes_all(struct gang__plan *p, const struct gang__node_copy *v);

/* Commit a plan, and note its tasks in a record: a new one (*a NULL; then *a is BUSY and holds the
 * request), or one that the caller has BUSY, which grows. Everything that can fail for want of
 * memory comes before the commit; nothing can fail after it.
 *   may  called when all is prepared; a result other than GANG_OK is returned, and nothing is
 *        taken. NULL: no such call
 * GANG_OK; GANG_ENOFIT: something changed meanwhile, plan again; GANG_ENOMEM; GANG_ELIMIT. After an
 * error a new record is dropped (*a NULL), and a record that grows is as before. */
typedef gang_result gang__plan_may(const struct gang__plan *p, void *user);
gang_result gang__plan_commit_record(gang_worker *w, gang_request *request, struct gang__alloc **a,
                                     gang__plan_may *may, void *user);

#endif
