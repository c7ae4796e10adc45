/* SPDX-License-Identifier: Apache-2.0 */
/* May a reservation be accepted, and when and where does each of its stages run?
 *
 * A *request* has a window and stages. It is placed on a timeline, which holds all that is taken
 * already as occupations (jobs, maintenance, accepted reservations), and within what its user may
 * book. All of it is placed or nothing. It is placed in *pieces*: some gangs of one stage at one
 * time, on nodes or of the pool.
 *
 * Gangs of a stage may run at different times, unless combine is ORDER_NO_GAP or the start is
 * fixed. As in YARN's GreedyReservationAgent, the first instant (or the last) at which a gang fits
 * for its duration gets as many whole gangs as fit there; the search for the others continues from
 * there. A piece is never moved: a request of several stages or gangs may be refused though a
 * search through all combinations would place it. But one stage of one gang is refused only if no
 * start exists, and so are stages in order, one gang each, without a period and without limits of
 * the user. (Tasks of several groups are placed first fit, as by gang__timeline_earliest(). Where
 * nodes that are taken whole differ and their user has limits, some starts may be skipped.)
 *
 * EARLIEST  each piece as early as it can be; stages from the first to the last.
 * LATEST    each piece as late as it can be; stages in order from the last to the first.
 * CHEAPEST  each piece where its cost is least; of several such starts the earliest. The cost of a
 *           start is the integral of the load over the times of the piece (all its repetitions and,
 *           without gaps, all stages). The load is the used part of the capacity, of the most used
 *           kind, in 2^-20, floored; pieces of the request that are placed already count. Between
 *           steps the cost is linear, so it is least at an end of the window, where an end of the
 *           piece is at a step of the timeline, or where a limit of the user begins or ends to
 *           forbid the start: these starts are tried, by cost. At most GANG__ADMIT_STEPS steps from
 *           the beginning of the window, 16 starts for each, and GANG__ADMIT_TRIES starts in all
 *           are tried; if none fits, the piece is placed as with EARLIEST. In an order, a stage's
 *           window ends where the durations of the later stages still fit.
 * A request that cannot be placed LATEST or CHEAPEST is placed EARLIEST if it can be.
 *
 * Repetitions: with a period P every piece is placed `instances` times, P apart, on nodes of its
 * own each time. The window is that of the first instance.
 *
 * The user's limits (bookings.h) count what tasks need, units of the pool, and of nodes that
 * are taken whole all that they have and the nodes themselves.
 *
 * Times are ns in -2^60...2^62; durations and (instances x period) come to at most 2^60, but a
 * deadline may be GANG__NEVER if EARLIEST is preferred. What lies before the timeline's present
 * counts as the present. Threads: as the timeline: one owner at a time. Memory: that of the
 * timeline's allocator.
 *
 * Example: 16 tasks of 8 GPUs, 8 at a time, for an hour, today:
 *
 *     struct gang__time_group eight = {.count = 16, .need = {8000, 64 << 20, 8000}};
 *     struct gang__admit_stage stage = {
 *         .duration_ns = hour, .group = &eight, .group_count = 1, .gang = 8};
 *     struct gang__admit_request request = {
 *         .arrival_ns = now, .deadline_ns = now + day, .stage = &stage, .stage_count = 1};
 *     struct gang__admitted answer = {0};
 *     gang_result r = gang__admit(timeline, &request, &answer);
 *     if (r == GANG_ENOFIT)
 *         report(answer.why, answer.next_ns);
 *     gang__admitted_free(&answer, mem);
 */
#ifndef GANG__PLAN_ADMIT_H
#define GANG__PLAN_ADMIT_H

#include "plan/bookings/bookings.h"
#include "plan/timeline/timeline.h"

enum {
    GANG__ADMIT_STAGES = 64,      /* at most */
    GANG__ADMIT_INSTANCES = 4096, /* at most; also stages x instances */
    GANG__ADMIT_STEPS = 4096,
    GANG__ADMIT_TRIES = 1024
};

enum {
    GANG__ADMIT_ALL,         /* each stage in the window, in any order, also at the same time */
    GANG__ADMIT_ANY,         /* the first stage that can be placed, alone */
    GANG__ADMIT_ORDER,       /* each begins when all of the one before has ended, or later */
    GANG__ADMIT_ORDER_NO_GAP /* exactly then; all gangs of a stage at the same time */
};

enum { GANG__ADMIT_EARLIEST, GANG__ADMIT_LATEST, GANG__ADMIT_CHEAPEST };

/* Exactly one of: groups, pool, named nodes. */
struct gang__admit_stage {
    int64_t duration_ns; /* >= 1 */
    /* Tasks: `count` of each group in all. `max_per_node` bounds those of a piece on one node. */
    const struct gang__time_group *group;
    size_t group_count;
    /* On nodes that are taken whole. For n nodes: a group of count n, max_per_node 1, that needs
     * nothing.
     * */
    bool whole;
    const uint64_t *nodes; /* bit i % 64 of word i / 64: node i may be used; NULL: all may */
    /* Units of the pool, in all; 0: none. */
    int64_t pool;
    /* Tasks of the first group, or units of the pool, that run at the same time or not at all; the
     * other groups in proportion. 0: all. It divides the count. */
    int64_t gang;
    /* Exactly these nodes, whole; ascending. NULL: none. */
    const uint32_t *node;
    size_t node_count;
};

struct gang__admitted;

struct gang__admit_request {
    /* All is within. arrival < deadline; GANG__NEVER: no deadline. */
    int64_t arrival_ns, deadline_ns;
    /* The first stage (ALL, ANY: each) begins at start_ns, all its gangs, or nothing is placed. */
    bool fixed;
    int64_t start_ns;
    const struct gang__admit_stage *stage;
    size_t stage_count; /* 1...GANG__ADMIT_STAGES */
    int combine;        /* GANG__ADMIT_ALL... */
    int prefer;         /* GANG__ADMIT_EARLIEST... */
    /* 0: once. At least the sum of the durations (ORDER...) or the longest (ALL, ANY). */
    int64_t period_ns;
    int64_t instances;            /* with a period: 1...GANG__ADMIT_INSTANCES */
    struct gang__bookings *usage; /* of its user; NULL: no limits */
    /* One that was accepted on the same timeline and of the same user (usage) and is to be
     * changed: it counts as gone. If the request is accepted it is, and is empty then; otherwise
     * all is as it was. NULL: none. */
    struct gang__admitted *replaced;
};

/* Gangs of a stage that are together at a time. */
struct gang__admit_piece {
    uint32_t stage;
    uint32_t instance; /* 0, 1...: `instance` periods later */
    int64_t start_ns, end_ns;
    int64_t gangs;
    size_t place, place_count; /* in gang__admitted.place; by node, then group of the stage */
    int64_t pool;              /* units */
    bool whole;
    uint32_t id;       /* of the occupation in the timeline */
    uint32_t usage_id; /* of the booking, where the request has a usage */
};

/* Why not: what `wanted`, `has` and `item` say. */
enum {
    GANG__ADMIT_FITS,
    /* The request is refused: */
    /* A gang does not fit even on the empty machine: tasks of the group `item` (`has` of them
     * would fit, if the group were alone), or units. */
    GANG__ADMIT_LARGER,
    /* The window is shorter than the durations: ns. */
    GANG__ADMIT_SHORT,
    /* Too little is free in the window: gangs of the stage, and how many of them fit. */
    GANG__ADMIT_FULL,
    /* It fits, but at the first time at which it does, the user would have `wanted` of the kind
     * `item` at an instant, and may have `has`. */
    GANG__ADMIT_PEAK,
    /* The same, as the average over a window. */
    GANG__ADMIT_AVERAGE,
    /* The request is wrong: */
    /* arrival not before deadline; in the past, out of range; start outside */
    GANG__ADMIT_BAD_WINDOW,
    GANG__ADMIT_BAD_STAGES,   /* none, too many; no such combine or prefer */
    GANG__ADMIT_BAD_STAGE,    /* none or several of groups, pool, nodes; node number `item` */
    GANG__ADMIT_BAD_DURATION, /* ns, and the limit */
    GANG__ADMIT_BAD_GROUP,    /* number `item` of the stage: a number out of range */
    GANG__ADMIT_BAD_GANG,     /* does not divide the count: the gang, and the count */
    GANG__ADMIT_BAD_PERIOD, /* shorter than the durations: ns of these; instances, and the limit */
    GANG__ADMIT_BAD_AMOUNT  /* more than can be counted */
};

/* The answer. A buffer that is used again; begin with all zero. */
struct gang__admitted {
    struct gang__admit_piece *piece; /* by start, then stage, then instance */
    size_t count;                    /* 0 if refused */
    size_t cap;
    struct gang__time_place *place;
    size_t place_count, place_cap;
    /* If refused: */
    int why;
    uint32_t stage; /* what the reason concerns */
    int item;
    int64_t wanted, has;
    /* The earliest begin >= arrival (and > arrival, or it would not be refused) of a window as
     * long as that asked for in which all would be accepted as things are, EARLIEST, and with the
     * same limits of the user; for a fixed start, the earliest later start, all gangs at once.
     * Where several gangs or stages are placed one after the other it is found by trying, up to 64
     * times. GANG__NEVER: none, or none was found. */
    int64_t next_ns;
    struct gang__bookings *usage; /* where it is booked; NULL: nowhere */
};

/* Place a request. If it is accepted, the pieces are in the timeline and booked, and stay there
 * until gang__admitted_undo(), or until their ids are removed; if not, both are as before.
 *   answer  filled; must not be request->replaced
 * Returns GANG_OK; GANG_ENOFIT: not in this window (FULL, MOST, AVERAGE), see next_ns;
 * GANG_ENEVER: refused whatever the window (LARGER), or for a reason that does not lie in the plan
 * (SHORT), or next_ns is GANG__NEVER; GANG_EINVAL, GANG_ERANGE: a wrong request, and `why` says
 * what is wrong with it; GANG_ELIMIT: a node has too many occupations; GANG_ENOMEM.
 *
 * With E the occupations that begin or end in the window, I instances, F = O(nodes (p + log
 * nodes)) for placing at one time (timeline.h), and U for a question about the user's limits
 * (bookings.h), a piece takes EARLIEST: I searches of the timeline, again each time that an
 * instance or a limit moves the start; LATEST: up to E I (log P + F), F only where the sums
 * are enough; CHEAPEST: E I log E, and up to GANG__ADMIT_TRIES times I F + U. Gangs that start
 * together are counted in O(log gangs) placings. A refusal takes some three times as long, and up
 * to 64 placings for next_ns. */
gang_result gang__admit(struct gang__timeline *t, const struct gang__admit_request *request,
                        struct gang__admitted *answer) GANG_MUST_CHECK;

/* Take all pieces out of the timeline and of the bookings; `answer` is empty then. Cannot fail. */
void gang__admitted_undo(struct gang__timeline *t, struct gang__admitted *answer);
void gang__admitted_free(struct gang__admitted *answer, const struct gang_mem *mem);

#endif
