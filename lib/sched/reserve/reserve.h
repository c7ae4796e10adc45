/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations: capacity kept for jobs, owners or maintenance. README.md explains them.
 *
 * A reservation is a list of *pieces*. Each is an occupation of the calendar from its start to its
 * end, so every query of the calendar leaves its capacity free. For a gang outside, a piece is
 * taken as a whole: nothing of it changes while members start and end inside.
 *
 * Members do not lie in that timeline. A reservation in which members start has a timeline of its
 * own (*inside*): its nodes have what is reserved of them. What a member holds and plans lies
 * there, and gang.reserve.inside_of names the reservation. If what a member holds does not fit
 * inside any more (the reservation was changed, lost the node, or has ended), the member is outside
 * from then on; inside_timeline.c finds that out when it is put.
 *
 * gang__reserve_try() tries a gang inside each reservation that it may use, then outside, by the
 * same code (backfill/start_between.c), which asks gang__calendar_timeline_of(). Members of a
 * flexible reservation lie outside; its pieces are withdrawn while such a member is tried.
 *
 * Of a repeated reservation the next GANG__RESERVE_AHEAD instances have pieces. When an instance
 * ends, one more is placed like the first (*parts*). */
#ifndef GANG__SCHED_RESERVE_H
#define GANG__SCHED_RESERVE_H

#include <gangsched/plan.h>

#include "plan/admit/admit.h"
#include "sched/calendar/calendar.h"

/* ---- what is stored -------------------------------------------------------------------------- */

enum { GANG__RESERVE_AHEAD = 8 };

/* Consecutive nodes with the same number of tasks of a group each. */
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
    bool tight; /* it overlaps what its nodes have: by an overrun, or by its flags */
    bool hurt;  /* some of its nodes are not up, and this was reported: reserve_lost.c */
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
    struct gang__request_text *text; /* its groups, as the host gave them; NULL: it has none */
    gang_request *request;           /* the same; NULL: nodes by name, or domains */
    int64_t duration_ns;
    int64_t gang;
    int64_t *count; /* of each group */
    bool whole;
    bool stays;      /* nodes of it are not replaced by others */
    int32_t level;   /* whole domains of it; GANG__NO_LEVEL */
    int64_t domains; /* their number; 0: the one of this index: */
    uint32_t domain;
    gang_node_id *node;
    size_t node_count;
};

/* How the first instance was placed: `gangs` gangs of a stage, `offset_ns` after its begin. */
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
    int64_t first_ns;      /* begin of the first instance */
    int64_t instances;     /* in all; INT64_MAX: without end */
    int64_t next_instance; /* the next one to be placed */
    int64_t current;       /* the instance that lasts now, or comes next: */
    bool noticed, begun;   /* it was announced, and has begun */
    int64_t woken_ns;      /* its members were last woken */
    bool open;             /* its members could start inside when it was last checked */
    int64_t before_ns;     /* while it is being changed: its end before that; else GANG__NEVER */
    bool over;             /* the job that it was made for has ended */
    bool aside;            /* withdrawn for an older one that lost nodes: reserve_lost.c */
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

/* ---- while a run schedules ------------------------------------------------------------------- */

/* When the next thing is due: notice, begin, end, purge. */
int64_t gang__reserve_next(const gang_sched *s);

/* If every reservation repeats without end: the end of all pieces placed so far. Else INT64_MAX. */
int64_t gang__reserve_endless_until(const gang_sched *s);

/* The salt of the gang's wait class: gangs for which reservations differ do not share a class. 0:
 * none needed. */
uint64_t gang__reserve_class_salt(const gang_sched *s, const struct gang__gang *g);

/* In the trial, capacity that handovers keep is taken. GANG_OK; GANG_ENOMEM. */
gang_result gang__reserve_put_handovers(struct gang__trial *t);

/* Process events that are due: notice, begin, end, next instance, lost nodes. False: out of
 * memory. */
bool gang__reserve_due(gang_sched *s);

/* Try the gang in the timeline of gang__calendar_timeline_of(): as gang__where_alloc(). */
typedef gang_result gang__reserve_attempt(gang_sched *s, struct gang__gang *g, gang_alloc_id *id,
                                          int32_t *why);

/* Tries a gang in each timeline in which it may be placed, one after the other: inside the
 * reservations that it may use, then outside. */
gang_result gang__reserve_try(gang_sched *s, struct gang__gang *g, gang_alloc_id *id, int32_t *why,
                              gang__reserve_attempt *attempt);
/* In a trial of the calendar: show the flexible reservations as this gang sees them, without those
 * that it may use, whichever gang is tried. False: out of memory. */
bool gang__reserve_show_for(struct gang__trial *t, const struct gang__gang *g);
/* The nodes have free capacity, but plans or reservations keep it: which does the gang wait for
 * (GANG_WAIT_*)? */
int32_t gang__reserve_why(gang_sched *s, struct gang__gang *g);

/* May the gang start inside a reservation: one that it named, or a magnetic one that matches it? */
bool gang__reserve_has_match(const gang_sched *s, const struct gang__gang *g);

/* May a job that named a reservation be tried now? */
bool gang__reserve_may_try(const gang_sched *s, const struct gang__job *job);

/* May the gang start only inside one reservation? Then preemption cannot help it. */
bool gang__reserve_confines(const struct gang__gang *g);

/* A job was taken in: look up its reservation. False: the reservation has ended. */
bool gang__reserve_join(gang_sched *s, struct gang__job *job);

/* A job ended. A reservation that was made for it is over. */
void gang__reserve_leave(gang_sched *s, const struct gang__job *job);

/* When a job without a time limit stops because its reservation ends; INT64_MAX: it does not. */
int64_t gang__reserve_stop_ns(const struct gang__job *job);

/* Would the job occupy reserved nodes if it ran until until_ns? */
bool gang__reserve_is_reserved_until(gang_sched *s, const struct gang__job *job, int64_t until_ns);

/* When no gang of the job runs, it drops the time limit that it kept from its reservation. Not
 * while a gang is moving: its new places were found with that limit. */
void gang__reserve_forget_end(gang_sched *s, struct gang__job *job);

/* Does a piece begin before the gang would end, or is the gang inside a reservation? */
bool gang__reserve_binds(const gang_sched *s, const struct gang__gang *g);

/* Nodes that are reserved for others while the gang runs: sched/where. */
extern const struct gang__veto gang__reserve_veto;

/* Would the gang, started at these places now, have stopped before what is reserved of them begins?
 * Planned starts do not count. Memory is short: no. */
bool gang__reserve_allows_start(gang_sched *s, const struct gang__gang *g,
                                const struct gang_placement *places, int64_t count);

/* Grow the gang where reservations leave capacity. Like gang_alloc_grow(). */
gang_result gang__reserve_grow(gang_sched *s, struct gang__gang *g, uint32_t group, int64_t step,
                               int64_t *granted);

/* Any thread, inside a read section: may the submitted job start inside the reservation of this
 * name? GANG_OK and its id; GANG_ENOENT; GANG_EPERM. */
gang_result gang__reserve_view_find(gang_sched *s, const struct gang__submit_view *submit_view,
                                    const struct gang__queue *q, const struct gang_job_spec *j,
                                    gang_reservation_id *id, struct gang_error *error);
bool gang__reserve_explain(gang_sched *s, struct gang__gang *g, struct gang__reserve_reason *why);
void gang__reserve_free(gang_sched *s);
extern const struct gang__calendar_source gang__reserve_source;
gang_result gang__reserve_check(gang_sched *s, struct gang_error *error);

/* ---- changes by the host, copies and queries ------------------------------------------------- */

/* The reservation of this id; NULL: it is over. */
struct gang__reserve *gang__reserve_of(const gang_sched *s, gang_reservation_id id);

/* When an instance begins and ends. */
int64_t gang__reserve_begin_of(const struct gang__reserve *r, int64_t instance);
int64_t gang__reserve_end_of(const struct gang__reserve *r, int64_t instance);

/* Nodes of a piece, each once; `each` returns false to end it. */
void gang__reserve_each_node(const struct gang__reserve_piece *p,
                             bool (*each)(uint32_t slot, void *user), void *user);

/* The table of reservations exists from now on. False: out of memory. */
bool gang__reserve_make_table(gang_sched *s);
/* The record of an owner, made if there is none. NULL: out of memory. */
struct gang__reserve_owner *gang__reserve_owner_get(gang_sched *s, const char *name);

/* A record without pieces. */
gang_result gang__reserve_new(gang_sched *s, const struct gang_reservation_spec *spec,
                              struct gang__reserve **r, struct gang_error *error);
void gang__reserve_record_free(gang_sched *s, struct gang__reserve *r);

/* Place its first instances; those after `until_ns` (0: no bound) are not wanted. On an error
 * nothing is placed. */
gang_result gang__reserve_place_first(gang_sched *s, struct gang__reserve *r, int64_t until_ns,
                                      struct gang_error *error);

/* In the trial nothing of the reservation is in the calendar. */
void gang__reserve_withdraw_from(struct gang__trial *t, const struct gang__reserve *r);

/* All pieces are put into the timeline where they were. False: out of memory. */
bool gang__reserve_put_pieces(gang_sched *s);

/* From now on the calendar counts what reservations name of the kinds of the site and of device
 * profiles, those of `more` with them. GANG_OK; GANG_ELIMIT: too many; GANG_ENOMEM. */
gang_result gang__reserve_count_kinds(gang_sched *s, const struct gang__reserve *more,
                                      struct gang_error *error);

/* Its times changed: find when the next event is due. */
void gang__reserve_schedule(gang_sched *s);

/* It ends: its members are outside, jobs that waited for it wait on. */
void gang__reserve_end(gang_sched *s, struct gang__reserve *r);

/* Its members are outside from now on; the timeline inside is freed. */
void gang__reserve_close_inside(gang_sched *s, struct gang__reserve *r);

/* A member leaves the inside. If it has no time limit, it keeps the end of the reservation: other
 * gangs may count on it. */
void gang__reserve_keep_end(gang_sched *s, struct gang__gang *g);

/* May the job use the reservation, by its user, queue and id? */
bool gang__reserve_allows(const gang_sched *s, const struct gang__reserve *r,
                          const struct gang__job *job);

/* What submitters see: all reservations but `less`, and `more`. False: out of memory, and nothing
 * changed. */
bool gang__reserve_view_make(gang_sched *s, const struct gang__reserve *more,
                             const struct gang__reserve *less, struct gang__reserve_view **out);
void gang__reserve_view_set(gang_sched *s, struct gang__reserve_view *view);

#endif
