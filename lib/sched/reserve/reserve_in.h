/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations, from inside. README.md explains them.
 *
 * A reservation is a list of *pieces*. Each is an occupation of the calendar from its start to its
 * end, so every query of the calendar leaves its capacity free. For a gang outside, a piece is
 * taken as a whole: nothing of it changes while members start and end inside.
 *
 * Members do not lie in that timeline. A reservation in which members start has a timeline of its
 * own (*inside*): its nodes have what is reserved of them. What a member holds and plans lies
 * there, and gang.reserve.inside_of names the reservation. If what a member holds does not fit
 * inside any more (the reservation was changed, lost the node, or has ended), the member is outside
 * from then on; gang__reserve_still_fits_inside() finds that out when it is put.
 *
 * gang__reserve_try() tries a gang inside each reservation that it may use, then outside, by the
 * same code (backfill/start_between.c), which asks gang__calendar_timeline_of(). Members of a
 * flexible reservation lie outside; its pieces are withdrawn while such a member is tried.
 *
 * Of a repeated reservation the next GANG__RESERVE_AHEAD instances have pieces. When an instance
 * ends, one more is placed like the first (*parts*). */
#ifndef GANG__SCHED_RESERVES_H
#define GANG__SCHED_RESERVES_H

#include <gangsched/plan.h>

#include "plan/admit/admit.h"
#include "sched/calendar/calendar.h"
#include "sched/calendar/trial.h"

enum { GANG__RESERVE_AHEAD = 8 };

/* So many neighbours with as many tasks of a group each. */
struct gang__reserve_run {
    uint32_t node, nodes, group, tasks;
};

struct gang__reserve_piece {
    struct gang__reserve_piece *next; /* by start */
    int64_t start_ns, end_ns;
    int64_t instance;
    uint32_t stage;
    uint32_t id;      /* in the timeline, and 1; 0: not there */
    uint32_t booking; /* of its owner, and 1; 0: none */
    uint32_t run_count;
    bool was_in; /* it was in the timeline before it was tried elsewhere */
    bool tight;  /* it overlaps what its nodes have: by an overrun, or by its flags */
    bool hurt;   /* some of its nodes are not up, and the host knows: reserve_lost.c */
    struct gang__reserve_run run[];
};

/* Capacity that an instance lost and has not got back: reserve_grow.c. */
struct gang__reserve_gap {
    struct gang__reserve_gap *next;
    int64_t instance, start_ns, end_ns;
    uint32_t stage, groups;
    int64_t count[]; /* tasks of each group */
};

struct gang__reserve_stage {
    struct gang__request_text *wanted; /* its groups, as the host gave them; NULL: it has none */
    gang_request *q;                   /* the same; NULL: nodes by name, or domains */
    int64_t duration_ns;
    int64_t gang;
    int64_t *count; /* of each group */
    bool whole;
    bool stays;      /* nodes of it are not replaced by others */
    int32_t level;   /* whole domains of it; GANG__NO_LEVEL */
    int64_t domains; /* so many; 0: the one of this index: */
    uint32_t domain;
    gang_node_id *node;
    size_t node_count;
};

/* How the first instance was placed: so many gangs of a stage, so long after its begin. */
struct gang__reserve_part {
    uint32_t stage;
    int64_t gangs, offset_ns;
};

struct gang__reserve {
    struct gang__reserve *next; /* in the order of acceptance */
    gang_reservation_id id;
    uint64_t accepted; /* the later, the greater */
    const char *name, *owner;
    gang_queue_id queue;
    const char **user;
    size_t user_count;
    gang_job_id job;
    int32_t flags, prefer, combine;
    int64_t arrival_ns, deadline_ns, start_ns, period_ns, purge_ns, notice_ns;
    struct gang__reserve_stage *stage;
    size_t stage_count;
    struct gang__reserve_part *part;
    size_t part_count;
    int64_t first_ns;      /* begin of the first time */
    int64_t instances;     /* that there are to be; INT64_MAX: without end */
    int64_t next_instance; /* the next that is to be placed */
    int64_t current;       /* that is on, or comes next */
    bool noticed, begun;   /* that one */
    int64_t woken_ns;      /* its members were last woken */
    bool open;             /* its members could start inside it when that was looked at last */
    int64_t before_ns;     /* while it is being changed: its end before that; else GANG__NEVER */
    bool over;             /* the job that it was made for has ended */
    bool aside;            /* makes way for an older one that lost nodes: reserve_lost.c */
    int64_t idle_since_ns; /* no member runs or waits; INT64_MAX: one does */
    struct gang__reserve_piece *piece;
    struct gang__reserve_gap *gap;
    struct gang__bookings *usage; /* its owner's; NULL: no limits */
    struct gang__timeline *inside;
    void *block; /* texts, stages and parts lie there */
};

/* The bookings of an owner, and whether it has a limit of its own. */
struct gang__reserve_owner {
    struct gang__reserve_owner *next;
    struct gang__bookings *usage;
    bool own; /* else: by the limit of all */
    char name[];
};

struct gang__reserves {
    struct gang__reserve *first; /* count: sched.reserve.count */
    uint64_t last_id, accepted;
    int64_t due_ns;
    bool reclass;                /* waiting gangs are to enter their wait classes again */
    bool new_timeline;           /* the timeline was made again: pieces are to be put */
    uint32_t magnetic;           /* of them */
    size_t gaps;                 /* in all */
    struct gang__reserve *tried; /* flexible: a member of it is being placed; NULL: none is */
    struct gang__reserve_owner *owners;
    struct gang__bookings_limit limit; /* of owners without one of their own, if `limited` */
    bool limited;
    gang_node_id *node; /* scratch: of an event */
    size_t node_cap;
    gang_job_id *jobs;
    size_t job_cap;
    struct gang__admitted got;
    uint64_t *mask;
    size_t mask_cap;
};

/* ---- reserve.c ------------------------------------------------------------------------------- */

struct gang__reserve *gang__reserve_of(const gang_sched *s, gang_reservation_id id);
/* The first piece of the current instance (NULL: none); when an instance begins and ends. */
struct gang__reserve_piece *gang__reserve_current_piece(const struct gang__reserve *r);
int64_t gang__reserve_begin_of(const struct gang__reserve *r, int64_t instance);
int64_t gang__reserve_end_of(const struct gang__reserve *r, int64_t instance);
static inline bool gang__reserve_active(const gang_sched *s, const struct gang__reserve *r)
{
    return r->begun && r->piece && r->piece->start_ns <= s->now_ns;
}
/* A piece as an occupation, its arrays being scratch of the timeline's (ahead.group, ahead.place).
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
/* It ends: its members are outside, jobs that waited for it wait on. */
void gang__reserve_end(gang_sched *s, struct gang__reserve *r);
void gang__reserve_record_free(gang_sched *s, struct gang__reserve *r);
/* Submitters see all but `less`, and `more`. False: out of memory, and nothing changed. */
bool gang__reserve_view_make(gang_sched *s, const struct gang__reserve *more,
                             const struct gang__reserve *less, struct gang__reserve_view **out);
void gang__reserve_view_set(gang_sched *s, struct gang__reserve_view *tickets);
/* Its times changed: find when the next event is due. */
void gang__reserve_schedule(gang_sched *s);
/* Nodes of a piece, each once; `each` returns false to end it. */
void gang__reserve_each_node(const struct gang__reserve_piece *p,
                             bool (*each)(uint32_t slot, void *user), void *user);

/* ---- reserve_spec.c -------------------------------------------------------------------------- */

/* A record without pieces. */
gang_result gang__reserve_new(gang_sched *s, const struct gang_reservation_spec *spec,
                              struct gang__reserve **r, struct gang_error *error);

/* ---- reserve_place.c ---------------------------------------------------------------------- */

/* Does the reservation fit beside all others, or over those that it may overlap? */
bool gang__reserve_fits(gang_sched *s, const struct gang__reserve *r,
                        const struct gang__occupation *o);

/* Place one time of it again, or what is lost of a piece, at its time: all or nothing. Planned
 * starts make way. GANG_OK; GANG_ENOFIT; GANG_ENOMEM. */
gang_result gang__reserve_place_instance(gang_sched *s, struct gang__reserve *r, int64_t instance);
gang_result gang__reserve_place_lost(gang_sched *s, struct gang__reserve *r, uint32_t stage,
                                     const int64_t *count, int64_t instance, int64_t start_ns,
                                     int64_t end_ns);
/* Anywhere in its window, from now on. */
gang_result gang__reserve_place_later(gang_sched *s, struct gang__reserve *r);

/* ---- reserve_due.c --------------------------------------------------------------------------- */

void gang__reserve_report(gang_sched *s, const struct gang__reserve *r, int32_t what,
                          int32_t outcome, const char *text);

/* ---- reserve_lost.c -------------------------------------------------------------------------- */

/* Put all pieces where they were; then give pieces that lost nodes other nodes, and report to the
 * host. False: out of memory. */
bool gang__reserve_put_pieces(gang_sched *s);
bool gang__reserve_replace_lost(gang_sched *s);

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
/* Its members are outside from now on; the timeline inside is freed. */
void gang__reserve_close_inside(gang_sched *s, struct gang__reserve *r);
/* A member leaves the inside. If it has no time limit, it keeps the end of the reservation: other
 * gangs may count on it. */
void gang__reserve_keep_end(gang_sched *s, struct gang__gang *g);
/* Its pieces changed: members are put into the timeline inside again. */
void gang__reserve_refill_inside(gang_sched *s, struct gang__reserve *r);
/* Jobs that named it are settled: they may start now, or wait for it again. */
void gang__reserve_wake(gang_sched *s, struct gang__reserve *r);
bool gang__reserve_allows(const gang_sched *s, const struct gang__reserve *r,
                          const struct gang__job *job);

/* ---- for the calendar ------------------------------------------------------------------------ */

/* The end of the reservation inside which the gang is placed; GANG__NEVER: it is outside. */
int64_t gang__reserve_inside_end(const struct gang__gang *g);
/* Does what the gang holds still fit inside? Otherwise it is outside from now on. False: out of
 * memory. */
bool gang__reserve_still_fits_inside(gang_sched *s, struct gang__gang *g,
                                     struct gang__occupation *o);
/* The timeline is about to be freed. */
void gang__reserve_leave_timeline(gang_sched *s);
/* A new one was made: gang__reserve_due() puts pieces there, as far as nodes allow. */
void gang__reserve_note_new_timeline(gang_sched *s);

/* In the trial nothing of the reservation is in the calendar. */
void gang__reserve_withdraw_from(struct gang__trial *t, const struct gang__reserve *r);

#endif
