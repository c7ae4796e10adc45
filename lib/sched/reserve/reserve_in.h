/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: pieces, members, and how a reservation is placed. */
#ifndef GANG__SCHED_RESERVE_IN_H
#define GANG__SCHED_RESERVE_IN_H

#include "sched/reserve/reserve.h"

/* ---- reserve.c ------------------------------------------------------------------------------- */

/* The first piece of the current instance; NULL: none. */
struct gang__reserve_piece *gang__reserve_current_piece(const struct gang__reserve *r);

/* Has it begun, and does a piece of it last now? */
static inline bool gang__reserve_active(const gang_sched *s, const struct gang__reserve *r)
{
    return r->begun && r->piece && r->piece->start_ns <= s->now_ns;
}
/* A piece as an occupation, its arrays being scratch of the calendar (group, place).
 * False: out of memory. */
bool gang__reserve_lay_out(gang_sched *s, const struct gang__reserve *r,
                           const struct gang__reserve_piece *p, struct gang__occupation *o);
/* Put it into the timeline; take it out, and keep it. */
bool gang__reserve_enter(gang_sched *s, const struct gang__reserve *r,
                         struct gang__reserve_piece *p);
void gang__reserve_take_out(gang_sched *s, struct gang__reserve_piece *p);
void gang__reserve_insert(struct gang__reserve *r, struct gang__reserve_piece *p);
/* Drop a piece: it leaves the timeline and the bookings of its owner. */
void gang__reserve_drop(gang_sched *s, struct gang__reserve *r, struct gang__reserve_piece *p);

/* Kinds of calendar.more that a reservation holds for the gang inside of it, as bits. */
uint32_t gang__reserve_names(const gang_sched *s, const struct gang__gang *g);

/* ---- reserve_place.c ------------------------------------------------------------------------- */

/* Does the reservation fit beside all others, or over those that it may overlap? */
bool gang__reserve_fits(gang_sched *s, const struct gang__reserve *r,
                        const struct gang__occupation *o);

/* Tasks of a stage, in a window of time. */
struct gang__reserve_portion {
    uint32_t stage;
    const int64_t *count; /* tasks of each group */
    int64_t instance, start_ns, end_ns;
    bool booked; /* a booking of its owner covers it already */
};

/* Place one instance of it again, or what is lost of a piece, at its time: all or nothing. Planned
 * starts make way. GANG_OK; GANG_ENOFIT; GANG_ENOMEM. */
gang_result gang__reserve_place_instance(gang_sched *s, struct gang__reserve *r, int64_t instance);
gang_result gang__reserve_place_lost(gang_sched *s, struct gang__reserve *r,
                                     const struct gang__reserve_portion *portion);
/* Anywhere in its window, from now on, and without bookings: it was accepted before. */
gang_result gang__reserve_place_later(gang_sched *s, struct gang__reserve *r);

/* ---- reserve_due.c --------------------------------------------------------------------------- */

/* Report to the host what became of an instance of the reservation. */
void gang__reserve_report(gang_sched *s, const struct gang__reserve *r, int64_t instance,
                          int32_t what, int32_t outcome, const char *text);

/* ---- reserve_lost.c -------------------------------------------------------------------------- */

/* Put all pieces where they were; then give pieces that lost nodes other nodes, and report to the
 * host. False: out of memory. */
bool gang__reserve_replace_lost(gang_sched *s);

/* ---- lost_places.c --------------------------------------------------------------------------- */

/* Keep the places of the occupation (gang__reserve_lay_out()) whose nodes still have enough. */
void gang__reserve_keep_whole(const gang_sched *s, struct gang__occupation *o);
/* Count the lost tasks of each group of the piece (NULL: only all). Returns their sum; -1: out of
 * memory. */
int64_t gang__reserve_count_lost(gang_sched *s, const struct gang__reserve *r,
                                 const struct gang__reserve_piece *p, int64_t *lost);
/* A copy of the piece without the places that are lost, not in the timeline yet. NULL: out of
 * memory. */
struct gang__reserve_piece *gang__reserve_rest_of(gang_sched *s, const struct gang__reserve *r,
                                                  const struct gang__reserve_piece *p);

/* ---- reserve_grow.c -------------------------------------------------------------------------- */

/* A gap as large as the piece; NULL: out of memory. Keeping it subtracts `rest` (NULL: nothing),
 * which is still there. */
struct gang__reserve_gap *gang__reserve_gap_new(gang_sched *s, const struct gang__reserve *r,
                                                const struct gang__reserve_piece *p);
void gang__reserve_gap_keep(gang_sched *s, struct gang__reserve *r, struct gang__reserve_gap *gap,
                            const struct gang__reserve_piece *rest);
void gang__reserve_gaps_drop(gang_sched *s, struct gang__reserve *r);
/* Place what is missing, as far as capacity allows. False: out of memory. */
bool gang__reserve_place_gaps(gang_sched *s);

/* ---- members.c, inside_timeline.c ------------------------------------------------------------ */

/* Does a magnetic reservation match the job? */
bool gang__reserve_matches(const gang_sched *s, const struct gang__reserve *r,
                           const struct gang__job *job);
/* The timeline inside is ready for members. False: out of memory. */
bool gang__reserve_open_inside(gang_sched *s, struct gang__reserve *r);
/* Does the occupation fit inside, beside the other members that run there? */
bool gang__reserve_fits_inside(gang_sched *s, const struct gang__gang *g,
                               const struct gang__occupation *o);

/* How many members run, and how many jobs wait for it. */
int64_t gang__reserve_running(const gang_sched *s, const struct gang__reserve *r);
int64_t gang__reserve_waiting(const gang_sched *s, const struct gang__reserve *r);

/* Its pieces changed: members are put into the timeline inside again. */
void gang__reserve_refill_inside(gang_sched *s, struct gang__reserve *r);
/* Jobs that named it are settled: they may start now, or wait for it again. */
void gang__reserve_wake(gang_sched *s, struct gang__reserve *r);

/* ---- for the calendar ------------------------------------------------------------------------ */

/* The end of the reservation inside which the gang is placed; GANG__NEVER: it is outside. */
int64_t gang__reserve_inside_end(const struct gang__gang *g);
/* The timeline is about to be freed. */
void gang__reserve_leave_timeline(gang_sched *s);
/* A new one was made: gang__reserve_due() puts pieces there, as far as nodes allow. */
void gang__reserve_note_new_timeline(gang_sched *s);

/* ---- placing: reserve_request.c, reserve_place.c, owners.c ----------------------------------- */

/* The stages of a reservation as plan/admit/admit.h asks for them. */
struct gang__reserve_request {
    struct gang__admit_request a;
    struct gang__admit_stage *stage;
    struct gang__time_group *group;
    uint64_t *mask;
    uint32_t *node;
};

/* Make the request; the caller frees it, also after an error. False: out of memory. */
bool gang__reserve_request_make(gang_sched *s, const struct gang__reserve *r,
                                struct gang__reserve_request *request);
void gang__reserve_request_free(gang_sched *s, struct gang__reserve_request *request);
/* Nodes of a domain, ascending, without those that were removed. Returns how many. */
size_t gang__reserve_domain_nodes(gang_sched *s, int32_t level, uint32_t index, uint32_t *node);
/* What was found (reserve.all->got) becomes pieces of the reservation. `only`: the one stage that
 * was asked for; UINT32_MAX: all were. False: out of memory, and what was found is taken back. */
bool gang__reserve_accept_pieces(gang_sched *s, struct gang__reserve *r, int64_t instance,
                                 uint32_t only);
/* Later instances are placed as the first one was. False: out of memory. */
bool gang__reserve_note_parts(gang_sched *s, struct gang__reserve *r);

/* The error for what gang__admit() answered. */
gang_result gang__reserve_refusal_text(const struct gang__admitted *got,
                                       const struct gang__reserve *r, gang_result w,
                                       struct gang_error *error);

/* ---- reserve_domains.c ----------------------------------------------------------------------- */

/* The first time in the window at which the stages fit, with the domains that they name whole.
 * The result is in s->reserve.all->got. GANG_OK; GANG_ENOFIT; GANG_ENOMEM. */
gang_result gang__reserve_admit_whole(gang_sched *s, struct gang__reserve *r,
                                      struct gang__reserve_request *request);

#endif
