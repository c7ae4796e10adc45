/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of admission.
 *
 *   admit.c        a request from its beginning to its answer
 *   admit_check.c  what makes a request wrong
 *   admit_place.c  placing it in one window: a stage's gangs, several stages
 *   admit_why.c    why it was refused, and when it would not be
 *   admit_chain.c  does a chain fit at one time; placing it, and undoing that
 *   admit_find.c   the earliest start, the latest one
 *   admit_cost.c   the cheapest one
 *
 * What is looked for is always a *chain*: stages that follow each other without a gap (mostly it
 * is one stage), each instance of them, which all move together. Its pieces never overlap in time,
 * so that no piece takes the capacity of another. */
#ifndef GANG__PLAN_ADMIT_IN_H
#define GANG__PLAN_ADMIT_IN_H

#include <string.h>

#include "base/mem.h"
#include "base/wide.h"
#include "plan/admit/admit.h"

#define GANG__TIME_MIN (-(INT64_C(1) << 60))
#define GANG__TIME_MAX (INT64_C(1) << 62)
#define GANG__SPAN_MAX (INT64_C(1) << 60)
#define GANG__UNITS_MAX (INT64_C(1) << 60)

/* A stage of the request, and how many gangs of it are to be placed. */
struct gang__demand {
    const struct gang__admit_stage *stage;
    struct gang__time_request request; /* not of the pool */
    struct gang__time_group *group;    /* of `request`, counted out for the gangs */
    uint64_t *named;                   /* a bit a node, or NULL */
    int64_t pool;                      /* units for the gangs */
    int64_t gangs;                     /* there are in all */
};

/* Stages first...first + count - 1, one directly after the other. */
struct gang__chain {
    uint32_t first, count;
};

/* How a request is tried. */
struct gang__attempt {
    int64_t from_ns, end_ns; /* the window */
    int64_t start_ns;        /* if `fixed` */
    bool fixed;
    int prefer;
    uint32_t first, count; /* the stages */
    int combine;
};

struct gang__admission {
    struct gang__timeline *t;
    struct gang__time_machine machine; /* of t */
    const struct gang__admit_request *request;
    struct gang__admitted *answer;
    struct gang__bookings *bookings; /* of the user; NULL: no limits */
    int64_t instances, period_ns;
    struct gang__demand *demand;        /* one a stage */
    struct gang__bookings_piece *piece; /* of a chain, by instance and stage */
    struct gang__time_fit fit;
    struct gang__admit_step *step; /* admit_cost.c */
    size_t step_count, step_cap;
    struct gang__admit_start *start;
    size_t start_count, start_cap;
};

/* ---- admit_check.c ---- */

/* GANG_OK, or what is wrong is in `answer`. */
gang_result gang__admit_check(const struct gang__time_machine *m,
                              const struct gang__admit_request *request,
                              struct gang__admitted *answer);
/* How many gangs a stage has; 0: the gang does not divide the count. */
int64_t gang__admit_gangs(const struct gang__admit_stage *stage);
/* How long the window must be at least. */
int64_t gang__admit_span(const struct gang__admit_request *request);

/* ---- admit_place.c ---- */

/* Where a chain goes in a window, as preferred. GANG_OK; GANG_ENOFIT; errors. */
gang_result gang__admit_find(struct gang__admission *a, const struct gang__chain *c, int prefer,
                             int64_t from_ns, int64_t end_ns, int64_t *start_ns);
/* All of it or nothing. GANG_ENOFIT: `answer` says which stage did not fit. */
gang_result gang__admit_place(struct gang__admission *a, const struct gang__attempt *t);
/* The same; if that is not possible as preferred, as early as can be. */
gang_result gang__admit_place_or_earliest(struct gang__admission *a, const struct gang__attempt *t);
/* The begin of the first piece of the first instance, or the end of the last one, of the pieces
 * from `first` on. */
int64_t gang__admit_border(const struct gang__admitted *answer, size_t first, bool end);

/* ---- admit_why.c ---- */

/* Writes the reason of a refusal into `answer`. GANG_OK; GANG_ENEVER: larger than the whole
 * capacity; errors. */
gang_result gang__admit_explain(struct gang__admission *a, const struct gang__attempt *t);
/* gang__admitted.next_ns. No time is looked at from horizon_ns on. */
gang_result gang__admit_next(struct gang__admission *a, const struct gang__attempt *t,
                             int64_t horizon_ns);

/* ---- admit_chain.c ---- */

/* Look for `gangs` gangs of a stage from now on. */
void gang__demand_set(struct gang__demand *d, int64_t gangs);
/* How many pieces a chain has, and how long it is. */
static inline size_t gang__chain_pieces(const struct gang__admission *a,
                                        const struct gang__chain *c)
{
    return (size_t)a->instances * c->count;
}
int64_t gang__chain_span(const struct gang__admission *a, const struct gang__chain *c);
/* Make out where its pieces are to its start, and what they take at least. */
void gang__chain_outline(struct gang__admission *a, const struct gang__chain *c);
static inline const struct gang__demand *
gang__chain_demand(const struct gang__admission *a, const struct gang__chain *c, size_t piece)
{
    return &a->demand[c->first + piece % c->count];
}
/* Does the chain fit at that start, within the limits of the user? GANG_OK; GANG_ENOFIT; errors.
 * Afterwards `piece` has the true amount of each piece that was tried. `full`: capacity is missing,
 * and not a limit in the way. */
gang_result gang__chain_fits(struct gang__admission *a, const struct gang__chain *c,
                             int64_t start_ns, bool *full);
/* Places the chain at a start at which it fits: into the timeline, the bookings and `answer`.
 * After an error a part of it may be placed. */
gang_result gang__chain_place(struct gang__admission *a, const struct gang__chain *c,
                              int64_t start_ns, int64_t gangs);
/* The amount of a piece that counts for its user. */
void gang__piece_amount(const struct gang__admission *a, const struct gang__admit_piece *p,
                        int64_t amount[GANG__FREE_DIMS]);
/* Removes all pieces but the first `keep`. */
void gang__admit_undo_to(struct gang__timeline *t, struct gang__admitted *answer, size_t keep);

/* ---- admit_find.c ---- */

/* The first start in from...to, the last, or the cheapest. GANG_OK; GANG_ENOFIT: none; errors. */
gang_result gang__chain_earliest(struct gang__admission *a, const struct gang__chain *c,
                                 int64_t from_ns, int64_t to_ns, int64_t *start_ns);
gang_result gang__chain_latest(struct gang__admission *a, const struct gang__chain *c,
                               int64_t from_ns, int64_t to_ns, int64_t *start_ns);
/* ---- admit_cost.c ---- */
gang_result gang__chain_cheapest(struct gang__admission *a, const struct gang__chain *c,
                                 int64_t from_ns, int64_t to_ns, int64_t *start_ns);

#endif
