/* SPDX-License-Identifier: Apache-2.0 */
/* Planned starts, and who may start before them.
 *
 * As soon as some leaf backfills there is a timeline (plan/timeline.h): what each unit holds until its expected
 * end, and what is planned. Nodes of it are slots; those that are not up have nothing.
 *
 * A unit of such a leaf that cannot start gets a planned start, the earliest at which it fits beside all that is in
 * the timeline, if fewer than the leaf's depth have one. From then on nobody starts, from whatever leaf, who
 * would not leave room for it: where it would go is looked up in the timeline first. When somebody ends early,
 * leaves, or gives up his plan, the plans are *stale*: those of all such leaves have their turn again, in turn
 * order, and each that has a plan may only improve it, since its own stays where it is until it is found
 * another. So a plan moves later only when nodes go, when somebody is entitled to room that is made for him,
 * when somebody runs longer than expected, or when place refuses what amounts allow.
 *
 * Gangs that take turns have no plans. Their nodes are in the timeline (slice.h), taken as a whole and without end as
 * long as they are theirs; and they come to no node that a plan counts on.
 *
 * What a unit holds changes in many places, all of which pass through the books: it is only noted there
 * (touched), which cannot fail, and put into the timeline before that is asked the next time. If that fails for
 * want of memory, nobody starts in this run who would have to ask.
 *
 * The order is that of Lifka, "The ANL/IBM SP Scheduling System", 1995 (EASY), and Mu'alem and Feitelson, IEEE
 * TPDS 12(6), 2001 (conservative). */
#ifndef GANG__SCHED_AHEAD_H
#define GANG__SCHED_AHEAD_H

#include "plan/timeline/timeline.h"
#include "sched/record/state.h"

struct gang__calendar {
    struct gang__timeline *when; /* NULL: it could not be made */
    uint32_t end;                /* slots below are in it */
    uint64_t epoch, states, config;
    int64_t planned;                /* units that have a planned start */
    uint64_t failed_in;             /* the run in which memory was short */
    const struct gang__gang *again; /* who is tried, if he had a plan; NULL */
    uint64_t moves; /* rises when a plan goes, or is another: there may be more room now */
    bool by_limit;  /* ends in it are the latest ones, not those predicted */
    bool kept;      /* a plan has become a start: who waited for it without one may look again */
    bool plain;     /* all nodes are up: see gang__calendar_check() */
    struct gang__time_fit fit, other;
    struct gang__time_group *group; /* scratch, as all below */
    size_t groups, group_room;      /* those that earliest() asked for */
    struct gang__time_place *place;
    size_t places, place_room;
    uint32_t *group_of; /* of those that earliest() asked for: their groups in the request */
    size_t group_of_room;
    struct gang_placement *exact;
    size_t exact_room;
    uint64_t *mask, *part; /* nodes that may be used; those of a domain */
    size_t mask_room, part_room;
    int64_t *capacity;
    size_t capacity_room;
    /* Of one that asks for GPUs by memory, as gang__backfill_earliest() left it: see gang__time_ask. */
    struct gang__time_group *variant;
    uint32_t *kind;
    size_t kinds, variant_room, kind_room;
};

/* Has its leaf planned starts? */
static inline bool gang__calendar_plans(const struct gang__gang *u)
{
    return u->job->leaf->q->backfill != GANG_BACKFILL_NONE;
}

static inline void gang__mask_put(uint64_t *mask, uint32_t slot)
{
    mask[slot / 64] |= UINT64_C(1) << (slot % 64);
}

/* ---- ahead.c: what is in the timeline ---- */

/* The one in which it is placed: that of its reservation, or the one of all. */
struct gang__timeline *gang__calendar_when(const gang_sched *s, const struct gang__gang *u);
/* It is there, of the nodes as they are, with all that was noted. False: out of memory. */
bool gang__calendar_ready(gang_sched *s);

enum {
    GANG__OVERRUN_NS = 1000000000
}; /* one that should have gone is looked for again after this */

/* How long it runs if it starts now: its time limit, and the grace in which it then stops. */
int64_t gang__calendar_estimate(const gang_sched *s, const struct gang__gang *u);
/* When it ends at the latest if it starts then; GANG__NEVER: it has no limit. */
int64_t gang__calendar_end_from(const gang_sched *s, const struct gang__gang *u, int64_t start_ns);
/* When what it holds comes free at the latest. */
int64_t gang__calendar_end(const gang_sched *s, const struct gang__gang *u);
/* Of its request: what the timeline counts of a task of each group (a->group). False: out of memory. */
bool gang__calendar_needs(gang_sched *s, const gang_request *q);
/* The list of places (a->place): one task more; in order, one entry for all tasks of a group on a node. */
bool gang__calendar_place(gang_sched *s, gang_node_id node, uint32_t group);
void gang__calendar_merge(struct gang__calendar *a);
struct gang__occupation gang__calendar_occupation(const struct gang__calendar *a,
                                                  const gang_request *q, int64_t end_ns,
                                                  int64_t now_ns);
/* What it would have at these places from now on; its arrays are scratch. False: out of memory. */
bool gang__calendar_lay_out(gang_sched *s, const struct gang__gang *u,
                            const struct gang_placement *place, size_t count, int64_t end_ns,
                            struct gang__occupation *o);
/* The same of what it holds, until then; without places: that takes nothing that counts. */
bool gang__calendar_hold(gang_sched *s, const struct gang__gang *u, gang_alloc_id alloc,
                         int64_t end_ns, struct gang__occupation *o);
/* What it holds goes into the timeline anew; out of it. False: out of memory. */
bool gang__calendar_occupy(gang_sched *s, struct gang__gang *u, gang_alloc_id alloc,
                           int64_t end_ns);
void gang__calendar_vacate(gang_sched *s, struct gang__gang *u);
/* All that was noted is put into the timeline. False: out of memory; nobody starts in this run who has to ask. */
bool gang__calendar_sync(gang_sched *s);
/* Is the timeline of the nodes as they are? */
bool gang__calendar_current(const gang_sched *s);
/* Its plan is taken out, and nobody is told. */
void gang__calendar_drop(gang_sched *s, struct gang__gang *u);

/* By sums over all nodes, wherever things lie: is enough free for a unit's gang from now until it ends, beside all
 * plans? */
bool gang__calendar_fits_sums(const gang_sched *s, const struct gang__gang *u);
/* By the same sums: for how long from now on is so much free; those that run longer do not fit. */
int64_t gang__calendar_free_ns(const gang_sched *s, const struct gang__gang *u);
/* May it have a plan, beside those that its leaf has, or in the place of one behind it? */
bool gang__calendar_may_plan(const struct gang__gang *u);
/* Can it neither start now, nor have a plan? Then it need not be looked at. */
bool gang__calendar_hopeless(const gang_sched *s, const struct gang__gang *u);

/* ---- ahead_memory.c: GPUs by memory ---- */

/* The group of a->group[0...*count - 1] that needs just that, or one more. False: out of memory. */
bool gang__calendar_like(gang_sched *s, const int64_t need[GANG__FREE_KINDS], size_t *count,
                         uint32_t *group);
/* What tasks at these places take at most goes into the list of places, after gang__calendar_needs(); *groups there are
 * then. False: out of memory. */
bool gang__calendar_lay_out_memory(gang_sched *s, const struct gang__gang *u,
                                   const struct gang_placement *place, size_t count,
                                   size_t *groups);
/* What the groups that are asked for (a->group, a->groups, a->group_of) need on each node at most (a->kind, a->variant);
 * in a->group where it is least. False: out of memory. O(nodes). */
bool gang__calendar_kinds(gang_sched *s, const gang_request *q);
/* What was found by that (a->fit) has these groups from now on. */
void gang__calendar_by_kind(struct gang__calendar *a, struct gang__occupation *o);

/* ---- ahead_start.c: who may start before ---- */

/* In the order of the smallest area: the longest that comes as early as one that runs for so long, and asks for the
 * same. */
int64_t gang__backfill_alike_ns(const gang_sched *s, const struct gang__gang *u, int64_t lasts_ns);

/* ---- ahead_plan.c: when it would start, and where ---- */

/* Those of them in a domain (a->part). */
void gang__backfill_part(gang_sched *s, int32_t level, uint32_t index);

/* When its gang fits, and where (a->fit), beside all that is there and planned. */
gang_result gang__backfill_earliest(gang_sched *s, const struct gang__gang *u, int64_t from_ns);
/* What gang__backfill_earliest() has found becomes its plan. a->group is still as that left it. */
gang_result gang__backfill_put(gang_sched *s, struct gang__gang *u);
/* It cannot start now, and has a plan from now on if it may have one (*why says). GANG_ENOFIT; GANG_ENOMEM. */
gang_result gang__backfill_plan(gang_sched *s, struct gang__gang *u, int32_t *why);

/* Arrays for nodes below this slot. False: out of memory. */
bool gang__calendar_reserve_slots(gang_sched *s, uint32_t end);

#endif
