/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest start of a chain of stages.
 *
 * The load is a step function of time, so the cost is piecewise linear in the start: it bends
 * where a piece begins or ends at a step. Where it fits changes there, too, for what fits changes
 * only where something begins or ends; but what the user's limits allow changes anywhere. Between
 * two such starts next to each other the cost is linear, so its least is at the first or the last
 * start there that the limits allow. */
#include <stdlib.h>

#include "plan/admit/admit_in.h"

enum { LOAD_BITS = 20, STARTS = 1 << 16 };

/* From here to the next step the load is this; up to here its integral is that. */
struct gang__admit_step {
    int64_t at_ns, load;
    gang__i128 integral;
};

struct gang__admit_start {
    int64_t at_ns;
    gang__i128 cost;
};

/* ---- load ---------------------------------------------------------------------------------- */

/* The highest used part over all kinds. */
static int64_t load_of(const struct gang__time_machine *m, const int64_t *unused)
{
    int64_t load = 0;
    for (int k = 0; k < GANG__FREE_DIMS; k++) {
        if (k == GANG__FREE_NODES || m->total[k] == 0)
            continue;
        int64_t left = unused[k] > 0 ? unused[k] : 0;
        int64_t one = gang__mul_div(m->total[k] - left, INT64_C(1) << LOAD_BITS, m->total[k]);
        load = one > load ? one : load;
    }
    return load;
}

/* The steps from an instant up to another. Sets *to_ns, up to where they are known. */
static gang_result list_steps(struct gang__admission *a, int64_t from_ns, int64_t *to_ns)
{
    int64_t unused[GANG__FREE_DIMS], at = from_ns, next;
    a->step_count = 0;
    if (!gang__grow(a->machine.mem, (void **)&a->step, &a->step_cap, GANG__ADMIT_STEPS,
                    sizeof(a->step[0])))
        return GANG_ENOMEM;
    for (; at < *to_ns && a->step_count < GANG__ADMIT_STEPS; at = next) {
        next = gang__timeline_sum_at(a->t, at, unused);
        struct gang__admit_step *s = &a->step[a->step_count++];
        *s = (struct gang__admit_step){at, load_of(&a->machine, unused), 0};
        if (a->step_count > 1)
            s->integral = s[-1].integral + (gang__i128)s[-1].load * (at - s[-1].at_ns);
    }
    *to_ns = at < *to_ns ? at : *to_ns;
    return GANG_OK;
}

/* The integral of the load from the first step on. */
static gang__i128 integral_to(const struct gang__admission *a, int64_t at_ns)
{
    size_t low = 0, high = a->step_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (a->step[middle].at_ns <= at_ns)
            low = middle;
        else
            high = middle;
    }
    const struct gang__admit_step *s = &a->step[low];
    return s->integral + (gang__i128)s->load * (at_ns - s->at_ns);
}

static gang__i128 cost_of(const struct gang__admission *a, const struct gang__chain *c,
                          int64_t start_ns)
{
    gang__i128 cost = 0;
    for (size_t i = 0; i < gang__chain_pieces(a, c); i++) {
        int64_t at = start_ns + a->piece[i].offset_ns;
        cost += integral_to(a, at + a->piece[i].duration_ns) - integral_to(a, at);
    }
    return cost;
}

/* ---- starts -------------------------------------------------------------------------------- */

static gang_result add_start(struct gang__admission *a, const struct gang__chain *c, int64_t at_ns)
{
    if (!gang__grow(a->machine.mem, (void **)&a->start, &a->start_cap, a->start_count + 1,
                    sizeof(a->start[0])))
        return GANG_ENOMEM;
    a->start[a->start_count++] = (struct gang__admit_start){at_ns, cost_of(a, c, at_ns)};
    return GANG_OK;
}

static int by_cost(const void *a, const void *b)
{
    const struct gang__admit_start *x = a, *y = b;
    return x->cost != y->cost ? (x->cost > y->cost ? 1 : -1)
                              : (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* Sort them, once each. */
static void sort_starts(struct gang__admission *a)
{
    size_t n = 0;
    qsort(a->start, a->start_count, sizeof(a->start[0]), by_cost);
    for (size_t i = 0; i < a->start_count; i++)
        if (!n || a->start[n - 1].at_ns != a->start[i].at_ns)
            a->start[n++] = a->start[i];
    a->start_count = n;
}

/* The ends of the window, and where a piece begins or ends at a step. */
static gang_result list_starts(struct gang__admission *a, const struct gang__chain *c,
                               int64_t from_ns, int64_t to_ns)
{
    a->start_count = 0;
    gang_result r = add_start(a, c, from_ns);
    if (r == GANG_OK)
        r = add_start(a, c, to_ns);
    for (size_t i = 0; i < a->step_count; i++)
        for (size_t j = 0; j < 2 * gang__chain_pieces(a, c) && r == GANG_OK; j++) {
            const struct gang__bookings_piece *p = &a->piece[j / 2];
            int64_t at = a->step[i].at_ns - p->offset_ns - (j & 1 ? p->duration_ns : 0);
            if (a->start_count < STARTS && at > from_ns && at < to_ns)
                r = add_start(a, c, at);
        }
    if (r == GANG_OK)
        sort_starts(a);
    return r;
}

/* For starts that the limits of the user do not allow: the next allowed ones before and behind
 * them. */
static gang_result list_allowed(struct gang__admission *a, const struct gang__chain *c,
                                int64_t from_ns, int64_t to_ns)
{
    size_t n = gang__chain_pieces(a, c), given = a->start_count;
    gang_result r = GANG_OK;
    for (size_t i = 0; i < given && i < GANG__ADMIT_TRIES && r == GANG_OK; i++) {
        int64_t at = a->start[i].at_ns;
        if (gang__bookings_fit(a->bookings, a->piece, n, at, NULL))
            continue;
        int64_t next = gang__bookings_earliest(a->bookings, a->piece, n, at, to_ns);
        int64_t last = gang__bookings_latest(a->bookings, a->piece, n, from_ns, at);
        if (next != GANG__NEVER)
            r = add_start(a, c, next);
        if (last != GANG__NEVER && r == GANG_OK)
            r = add_start(a, c, last);
    }
    if (r == GANG_OK)
        sort_starts(a);
    return r;
}

/* ---- trying -------------------------------------------------------------------------------- */

static gang_result try_starts(struct gang__admission *a, const struct gang__chain *c,
                              int64_t *start_ns)
{
    gang_result r = GANG_ENOFIT;
    bool full;
    for (size_t i = 0, tries = 0; i < a->start_count && tries < GANG__ADMIT_TRIES; i++, tries++) {
        *start_ns = a->start[i].at_ns;
        r = gang__chain_fits(a, c, *start_ns, &full);
        if (r != GANG_ENOFIT)
            break;
    }
    return r;
}

/* As far as the steps are known. */
static gang_result try_known(struct gang__admission *a, const struct gang__chain *c,
                             int64_t from_ns, int64_t to_ns, int64_t *start_ns)
{
    int64_t more = a->period_ns * (a->instances - 1) + gang__chain_span(a, c);
    int64_t known = to_ns + more;
    gang__chain_outline(a, c);
    gang_result r = list_steps(a, from_ns, &known);
    if (r == GANG_OK && known - more < from_ns)
        r = GANG_ENOFIT;
    if (r == GANG_OK)
        r = list_starts(a, c, from_ns, known - more);
    if (r == GANG_OK && a->bookings)
        r = list_allowed(a, c, from_ns, known - more);
    return r == GANG_OK ? try_starts(a, c, start_ns) : r;
}

gang_result gang__chain_cheapest(struct gang__admission *a, const struct gang__chain *c,
                                 int64_t from_ns, int64_t to_ns, int64_t *start_ns)
{
    if (from_ns > to_ns)
        return GANG_ENOFIT;
    gang_result r = try_known(a, c, from_ns, to_ns, start_ns);
    return r == GANG_ENOFIT ? gang__chain_earliest(a, c, from_ns, to_ns, start_ns) : r;
}
