/* SPDX-License-Identifier: Apache-2.0 */
/* What one user has booked over time, and what the user may book.
 *
 * The reservations of the user are *bookings*: an amount of each kind from a start to an end (not
 * included). Their sum is a step function of time. Two limits a kind bound it:
 *   peak     at each instant
 *   average  over any window of `window_ns`: the integral is at most average x window_ns
 * The integral over a sliding window is continuous and piecewise linear in where the window
 * begins, so its maximum is where one edge of the window is at a step. It is computed there,
 * exactly, in 128 bits: a booking of 25 % for 25 h has 25 % in every window of 24 h, and not more.
 * Only instants and windows that a new booking touches are judged: where limits were lowered, what
 * is booked already stays, and nothing is added there.
 *
 * Times are ns in -2^60...2^62, also those of pieces wherever they are looked for; durations,
 * offsets and windows are at most 2^60 (36 years). Amounts are the timeline's, and its dimensions
 * (GANG__FREE_DIMS). Threads: no concurrent call on one object. Memory: 64 bytes a booking, 352 a
 * step (at most two a booking). Only _new(), _copy() and _add() allocate: all others cannot fail.
 * Below, B is the number of bookings, n that of pieces of a call. */
#ifndef GANG__PLAN_BOOKINGS_H
#define GANG__PLAN_BOOKINGS_H

#include "plan/timeline/timeline.h"

#define GANG__NO_LIMIT (-1)

/* GANG__NO_LIMIT: none. */
struct gang__bookings_limit {
    int64_t peak[GANG__FREE_DIMS];
    int64_t average[GANG__FREE_DIMS];
    int64_t window_ns; /* 0: averages are not looked at */
};

#define GANG__BOOKINGS_NO_LIMIT                       \
    {                                                 \
        {-1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1}, 0 \
    }

/* A new booking without a start. */
struct gang__bookings_piece {
    int64_t offset_ns; /* from the start that is asked for; >= 0 */
    int64_t duration_ns;
    int64_t amount[GANG__FREE_DIMS]; /* >= 0 */
};

/* What stands against it. */
struct gang__bookings_excess {
    int kind;       /* GANG__FREE_...; -1: nothing */
    bool average;   /* else: at an instant */
    int64_t at_ns;  /* the instant; where the window begins; for audits in tests */
    int64_t wanted; /* it would come to so much there; the average over the window, rounded up */
    int64_t limit;
};

struct gang__bookings;

/* GANG_OK; GANG_ERANGE: a limit below -1 or beyond 2^62, a window not in 0...2^60; GANG_ENOMEM. On
 * error *usage is NULL. `limit` is copied. */
gang_result gang__bookings_new(const struct gang_mem *mem, const struct gang__bookings_limit *limit,
                               struct gang__bookings **usage) GANG_MUST_CHECK;
/* Copies limits, bookings and their ids. GANG_OK; GANG_ENOMEM: *copy is NULL. O(B). */
gang_result gang__bookings_copy(const struct gang_mem *mem, const struct gang__bookings *from,
                                struct gang__bookings **copy) GANG_MUST_CHECK;
/* NULL is allowed. */
void gang__bookings_free(struct gang__bookings *u);
/* Sets other limits; bookings stay. GANG_OK; GANG_ERANGE as above: nothing changed. */
gang_result gang__bookings_set_limit(struct gang__bookings *u,
                                     const struct gang__bookings_limit *limit) GANG_MUST_CHECK;

/* Book, whatever the limits say.
 *   amount  GANG__FREE_DIMS, >= 0
 *   id      by which it is removed; those of removed ones are given again
 * GANG_OK; GANG_EINVAL: start not before end; GANG_ERANGE: a time out of range, an amount not in
 * 0...2^62, the integral of all bookings beyond 2^124; GANG_ENOMEM. On error nothing changed.
 * O(1), amortised; the next question after changes takes O(B log B). */
gang_result gang__bookings_add(struct gang__bookings *u, int64_t start_ns, int64_t end_ns,
                               const int64_t *amount, uint32_t *id) GANG_MUST_CHECK;
void gang__bookings_remove(struct gang__bookings *u, uint32_t id);
/* Excludes a booking from all questions, or includes it again: a booking that is to be changed is
 * not in its own way. */
void gang__bookings_set_aside(struct gang__bookings *u, uint32_t id, bool aside);

/* Would the pieces, all of them, keep within the limits if they started there?
 *   piece   they do not overlap in time
 *   excess  NULL, or what stands against it: the first instant, else the first window that is found
 * O((B + n) (log B + n)). */
bool gang__bookings_fit(struct gang__bookings *u, const struct gang__bookings_piece *piece,
                        size_t count, int64_t start_ns, struct gang__bookings_excess *excess);

/* The least (the greatest) start in from_ns...to_ns with which the pieces fit; GANG__NEVER: none.
 * Exact to the ns. Costs as fit(), for each change of the limit that is in the way. */
int64_t gang__bookings_earliest(struct gang__bookings *u, const struct gang__bookings_piece *piece,
                                size_t count, int64_t from_ns, int64_t to_ns);
int64_t gang__bookings_latest(struct gang__bookings *u, const struct gang__bookings_piece *piece,
                              size_t count, int64_t from_ns, int64_t to_ns);

#endif
