/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline of one node, or of none but a pool. What is free of the node is what is free in all.
 * So there are no lists, no walks and no bounds: instants and sums suffice. Amounts count in full,
 * also where they exceed the capacity; a negative rest is reported as 0.
 *
 * No search looks before the present, so edges that have passed are removed and their changes added
 * to timeline.before. A question about the past looks at each occupation. */
#include "plan/timeline/timeline_in.h"

/* A dimension that never changed needs no sums. They are all 0 when the first occupation arrives
 * that changes it. */
void gang__flat_count(struct gang__timeline *t, const int64_t change[GANG__FREE_DIMS])
{
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        if (change[k] != 0 && !(t->counted >> k & 1)) {
            t->counted |= 1u << k;
            t->dim[t->dim_count++] = k;
        }
}

void gang__flat_change(const struct gang__timeline *t, const struct gang__occupant *o,
                       int64_t change[2][GANG__FREE_DIMS])
{
    memset(change, 0, 2 * sizeof(change[0]));
    if (o->stay_count > 0) {
        const int64_t *amount = gang__stay_amount(t, o, &o->stay[0]);
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            change[GANG__ENDS][k] = t->total[k] > 0 ? amount[k] : 0;
        change[GANG__ENDS][GANG__FREE_NODES] = 1;
    }
    change[GANG__ENDS][GANG__FREE_POOL] = t->total[GANG__FREE_POOL] > 0 ? o->pool : 0;
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        change[GANG__STARTS][k] = -change[GANG__ENDS][k];
}

void gang__flat_advance(struct gang__timeline *t)
{
    struct gang__set_link *n;
    while ((n = gang__set_first(&t->edges)) != NULL && gang__edge_of(n)->at_ns <= t->now_ns)
        gang__edge_pass(t, gang__edge_of(n));
}

int64_t gang__flat_past(const struct gang__timeline *t, int64_t at_ns,
                        int64_t unused[GANG__FREE_DIMS])
{
    int64_t until_ns = GANG__NEVER, change[2][GANG__FREE_DIMS];
    memcpy(unused, t->total, sizeof(t->total));
    for (size_t i = 0; i < t->occupant_end; i++) {
        const struct gang__occupant *o = t->occupant[i];
        if (!o || o->withdrawn || o->end_ns <= at_ns)
            continue;
        bool begun = o->start_ns <= at_ns;
        until_ns = gang__min(until_ns, begun ? o->end_ns : o->start_ns);
        gang__flat_change(t, o, change);
        for (int k = 0; k < GANG__FREE_DIMS && begun; k++)
            unused[k] += change[GANG__STARTS][k];
    }
    return until_ns;
}

bool gang__flat_was_free(const struct gang__timeline *t, const int64_t need[GANG__FREE_DIMS],
                         int64_t start_ns, int64_t end_ns)
{
    int64_t unused[GANG__FREE_DIMS];
    end_ns = gang__min(end_ns, t->now_ns);
    for (int64_t at = start_ns; at < end_ns;) {
        at = gang__flat_past(t, at, unused);
        for (int k = 0; k < GANG__FREE_DIMS; k++)
            if (need[k] > 0 && unused[k] < need[k])
                return false;
    }
    return true;
}
