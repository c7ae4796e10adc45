/* SPDX-License-Identifier: Apache-2.0 */
/* The bookings of a user, and their sum over time. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bookings/bookings_in.h"

#define TIME_MAX (INT64_C(1) << 62)
#define AMOUNT_MAX (INT64_C(1) << 62)
#define LONGEST (INT64_C(1) << 60)
#define INTEGRAL_MAX ((gang__i128)1 << 124)

/* ---- making it ----------------------------------------------------------------------------- */

static bool is_limit(const struct gang__bookings_limit *limit)
{
    bool sane = limit->window_ns >= 0 && limit->window_ns <= LONGEST;
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        sane = sane && limit->peak[k] >= GANG__NO_LIMIT && limit->peak[k] <= AMOUNT_MAX &&
               limit->average[k] >= GANG__NO_LIMIT && limit->average[k] <= AMOUNT_MAX;
    return sane;
}

gang_result gang__bookings_new(const struct gang_mem *mem, const struct gang__bookings_limit *limit,
                               struct gang__bookings **usage)
{
    *usage = NULL;
    if (!is_limit(limit))
        return GANG_ERANGE;
    struct gang__bookings *u = gang__zalloc(mem, 1, sizeof(*u));
    if (!u)
        return GANG_ENOMEM;
    u->mem = *mem;
    u->limit = *limit;
    *usage = u;
    return GANG_OK;
}

void gang__bookings_free(struct gang__bookings *u)
{
    if (!u)
        return;
    void *const block[] = {u->booking, u->free_id, u->step[0], u->step[1]};
    for (size_t i = 0; i < sizeof(block) / sizeof(block[0]); i++)
        gang__release(&u->mem, block[i]);
    struct gang_mem mem = u->mem;
    gang__release(&mem, u);
}

gang_result gang__bookings_set_limit(struct gang__bookings *u,
                                     const struct gang__bookings_limit *limit)
{
    if (!is_limit(limit))
        return GANG_ERANGE;
    u->limit = *limit;
    return GANG_OK;
}

/* ---- bookings ------------------------------------------------------------------------------ */

static gang__i128 integral_of(const struct gang__booking *b, int kind)
{
    return (gang__i128)b->amount[kind] * (b->end_ns - b->start_ns);
}

static gang_result check_booking(const struct gang__bookings *u, const struct gang__booking *b)
{
    if (b->start_ns >= b->end_ns)
        return GANG_EINVAL;
    if (b->start_ns < -LONGEST || b->end_ns > TIME_MAX)
        return GANG_ERANGE;
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        if (b->amount[k] < 0 || b->amount[k] > AMOUNT_MAX ||
            integral_of(b, k) > INTEGRAL_MAX - u->sum[k])
            return GANG_ERANGE;
    return GANG_OK;
}

static bool reserve(struct gang__bookings *u)
{
    size_t steps = 2 * (u->count + 1);
    return gang__grow(&u->mem, (void **)&u->booking, &u->cap, u->end + 1, sizeof(u->booking[0])) &&
           gang__grow(&u->mem, (void **)&u->free_id, &u->free_id_cap, u->end + 1,
                      sizeof(u->free_id[0])) &&
           gang__grow(&u->mem, (void **)&u->step[0], &u->step_cap[0], steps,
                      sizeof(struct gang__bookings_step)) &&
           gang__grow(&u->mem, (void **)&u->step[1], &u->step_cap[1], steps,
                      sizeof(struct gang__bookings_step));
}

gang_result gang__bookings_copy(const struct gang_mem *mem, const struct gang__bookings *from,
                                struct gang__bookings **copy)
{
    gang_result r = gang__bookings_new(mem, &from->limit, copy);
    if (r != GANG_OK)
        return r;
    struct gang__bookings *u = *copy;
    u->end = from->end;
    u->count = from->count;
    if (!reserve(u)) {
        gang__bookings_free(u);
        *copy = NULL;
        return GANG_ENOMEM;
    }
    if (from->end)
        memcpy(u->booking, from->booking, from->end * sizeof(*u->booking));
    u->free_id_count = from->free_id_count;
    if (from->free_id_count)
        memcpy(u->free_id, from->free_id, from->free_id_count * sizeof(*u->free_id));
    memcpy(u->sum, from->sum, sizeof(u->sum));
    u->stale = true;
    return GANG_OK;
}

static void count(struct gang__bookings *u, const struct gang__booking *b, int sign)
{
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        u->sum[k] += sign * integral_of(b, k);
    u->stale = true;
}

gang_result gang__bookings_add(struct gang__bookings *u, int64_t start_ns, int64_t end_ns,
                               const int64_t *amount, uint32_t *id)
{
    struct gang__booking b = {true, false, start_ns, end_ns, {0}};
    memcpy(b.amount, amount, sizeof(b.amount));
    gang_result r = check_booking(u, &b);
    if (r != GANG_OK)
        return r;
    if (u->end >= UINT32_MAX || !reserve(u))
        return GANG_ENOMEM;
    *id = u->free_id_count ? u->free_id[--u->free_id_count] : (uint32_t)u->end++;
    u->booking[*id] = b;
    u->count++;
    count(u, &b, 1);
    return GANG_OK;
}

void gang__bookings_remove(struct gang__bookings *u, uint32_t id)
{
    assert(id < u->end && u->booking[id].in);
    count(u, &u->booking[id], -1);
    u->booking[id].in = false;
    u->count--;
    u->free_id[u->free_id_count++] = id;
}

void gang__bookings_set_aside(struct gang__bookings *u, uint32_t id, bool aside)
{
    assert(id < u->end && u->booking[id].in);
    u->booking[id].aside = aside;
    u->stale = true;
}

/* ---- steps --------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    int64_t x = ((const struct gang__bookings_step *)a)->at_ns,
            y = ((const struct gang__bookings_step *)b)->at_ns;
    return (x > y) - (x < y);
}

static void note_changes(struct gang__bookings *u)
{
    u->step_count = 0;
    for (size_t i = 0; i < u->end; i++) {
        const struct gang__booking *b = &u->booking[i];
        for (int side = 0; side < 2 && b->in && !b->aside; side++) {
            struct gang__bookings_step *s = &u->step[0][u->step_count++];
            *s = (struct gang__bookings_step){.at_ns = side ? b->end_ns : b->start_ns};
            for (int k = 0; k < GANG__FREE_DIMS; k++)
                s->amount[k] = side ? -(gang__i128)b->amount[k] : b->amount[k];
        }
    }
    if (u->step_count)
        qsort(u->step[0], u->step_count, sizeof(struct gang__bookings_step), by_time);
}

static void integrate(struct gang__bookings_step *step, size_t steps)
{
    for (size_t i = 1; i < steps; i++)
        for (int k = 0; k < GANG__FREE_DIMS; k++)
            step[i].integral[k] =
                step[i - 1].integral[k] +
                step[i - 1].amount[k] * ((gang__i128)step[i].at_ns - step[i - 1].at_ns);
}

/* From changes to sums; one step an instant. */
static void add_up(struct gang__bookings *u)
{
    struct gang__bookings_step *step = u->step[0];
    size_t n = 0;
    for (size_t i = 0; i < u->step_count; i++) {
        struct gang__bookings_step s = step[i];
        bool same = n > 0 && step[n - 1].at_ns == s.at_ns;
        for (int k = 0; k < GANG__FREE_DIMS && n > 0; k++)
            s.amount[k] += step[n - 1].amount[k];
        step[same ? n - 1 : n++] = s;
    }
    u->step_count = n;
    integrate(step, n);
}

/* An amount between two steps lies between their mirror images. */
static void reverse(struct gang__bookings *u)
{
    size_t n = u->step_count;
    for (size_t i = 0; i < n; i++) {
        u->step[1][i] = (struct gang__bookings_step){.at_ns = -u->step[0][n - 1 - i].at_ns};
        if (i + 1 < n)
            memcpy(u->step[1][i].amount, u->step[0][n - 2 - i].amount,
                   sizeof(u->step[1][i].amount));
    }
    integrate(u->step[1], n);
}

void gang__bookings_refresh(struct gang__bookings *u)
{
    if (!u->stale)
        return;
    note_changes(u);
    add_up(u);
    reverse(u);
    u->stale = false;
}
