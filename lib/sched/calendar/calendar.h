/* SPDX-License-Identifier: Apache-2.0 */
/* The calendar: what runs, is reserved and is planned, over time. README.md draws it.
 *
 * It exists while a leaf backfills, or something is reserved. Its timeline
 * (plan/timeline/timeline.h) has the nodes of the cluster as slots; a node that is not up has no
 * capacity there. Three kinds of occupation lie in it:
 *   - what each gang holds, until its expected end (occupation.c, expected_end.c);
 *   - what sources put there: nodes that gangs share in time (slice), and reservations (reserve);
 *   - planned starts (backfill/plan_start.c).
 * What a gang holds changes in many places. Those places only note the gang (wake.h), which cannot
 * fail; gang__calendar_sync() puts it into the timeline before the timeline is asked again. If
 * memory is short then, no gang that has to ask starts in this run.
 *
 * The queries: gang__calendar_earliest(), bounds by sums, and those of plan/timeline/timeline.h.
 * What-ifs: trial.h. */
#ifndef GANG__SCHED_CALENDAR_H
#define GANG__SCHED_CALENDAR_H

#include "place/request/request.h"
#include "plan/timeline/timeline.h"
#include "sched/calendar/trial.h"
#include "sched/record/state.h"

/* A kind of the site, or instances of a device profile, that the timeline counts beside
 * processors, memory and GPUs. */
struct gang__more_kind {
    int32_t kind; /* of the site; GANG__MORE_INSTANCES, GANG__MORE_GUARD */
    char profile[GANG_MAX_NAME + 1];
};

enum {
    GANG__MORE_INSTANCES = -1, /* of the profile, and what is in their way */
    GANG__MORE_GUARD = -2      /* those that are held, planned or reserved */
};

/* What reservations name, each once; begin with count 0. */
struct gang__more_list {
    struct gang__more_kind kind[GANG__MORE_MAX];
    uint32_t count;
};

/* What an instance of a profile takes at most of each kind that is counted. */
struct gang__profile_cost {
    struct gang__profile_cost *next;
    int64_t cost[GANG__MORE_MAX];
    char profile[];
};

struct gang__calendar {
    struct gang__timeline *timeline; /* NULL: it could not be made */
    uint32_t end;                    /* slots below are in it */
    uint64_t epoch, states;          /* of the cluster when it was made */
    uint64_t config;                 /* sched.config_count that it follows */
    int64_t planned;                 /* gangs that have a planned start */
    uint64_t failed_in;              /* the run in which memory was short */
    uint64_t changes;  /* rises when a plan or a holding goes or changes: more may be free now */
    bool by_limit;     /* its ends are the latest ones, not those predicted */
    bool plan_started; /* a planned gang starts: gangs that waited for its plan may be tried */
    bool all_up;       /* all nodes are up: gang__backfill_check() can compare sums */
    struct gang__time_fit fit, other; /* what gang__calendar_earliest() found */
    /* Scratch: */
    struct gang__time_group *group;
    size_t groups; /* those that gang__calendar_earliest() asked for */
    size_t group_cap;
    struct gang__time_place *place;
    size_t places, place_cap;
    uint32_t *group_of; /* of those groups: the group of the request */
    size_t group_of_cap;
    struct gang_placement *exact;
    size_t exact_cap;
    uint64_t *mask, *domain; /* nodes that may be used; those of them in a domain */
    size_t mask_cap, domain_cap;
    int64_t *capacity; /* GANG__FREE_KINDS of each slot */
    size_t capacity_cap;
    /* What reservations name, and what each slot has of it (more_kinds.c): */
    struct gang__more_list more;
    int64_t *more_capacity;           /* more.count of each slot; NULL: none is counted */
    struct gang__profile_cost *costs; /* those that were asked for since the timeline was made */
    /* Scratch: what the groups laid out last take outside of the reservation they lie in. */
    struct gang__time_group *beside;
    size_t beside_cap;
    bool some_beside; /* they take anything there */
    /* GPUs by memory, as gang__calendar_earliest() left it: see gang__time_request. */
    struct gang__time_group *variant;
    uint32_t *kind;
    size_t kinds, variant_cap, kind_cap;
};

/* ---- sources of occupation --------------------------------------------------------------------
 */

/* A higher floor that puts occupations of its own into the timeline. Any member may be NULL. */
struct gang__calendar_source {
    /* Put the occupations that came since the last call. False: out of memory. */
    bool (*put)(gang_sched *s);
    /* The timeline is about to be freed: no occupation of the source lies there any more. */
    void (*withdrawn)(gang_sched *s);
    /* A new timeline was made: the source puts its occupations again. */
    void (*renewed)(gang_sched *s);
    /* The parts of an allocation that occupations of the source cover (GANG__TIMESHARE_*); 0:
     * none. */
    uint32_t (*shares)(const gang_sched *s, gang_alloc_id alloc);
    /* The latest time at which the gang has run for left_ns from now on, if it shares nodes in
     * time, or will when it starts; -1: it does not. */
    int64_t (*lasts)(const gang_sched *s, const struct gang__gang *g, int64_t left_ns);
    /* For a gang inside an occupation of the source: the timeline inside; when the inside ends;
     * whether what the gang holds still fits inside. If not, the gang is outside from now on
     * (false: out of memory). */
    struct gang__timeline *(*inside)(const struct gang__gang *g);
    int64_t (*until)(const struct gang__gang *g);
    bool (*keeps)(gang_sched *s, struct gang__gang *g, struct gang__occupation *o);
    /* Of calendar.more, those that the occupation holds inside, as bits. */
    uint32_t (*names)(const gang_sched *s, const struct gang__gang *g);
};

/* ---- calendar.c: what lies in the timeline -----------------------------------------------------
 */

/* Does a leaf plan, or is something reserved? Else there is no calendar. */
static inline bool gang__calendar_on(const gang_sched *s)
{
    return s->queues->backfills || s->reserve.count > 0;
}

/* The timeline in which the gang is placed: that of its reservation, or the one of all. */
struct gang__timeline *gang__calendar_timeline_of(const gang_sched *s, const struct gang__gang *g);

/* Build the timeline if the nodes changed, and put all noted gangs there. False: out of memory. */
bool gang__calendar_ready(gang_sched *s);
bool gang__calendar_current(const gang_sched *s);
/* Put all noted gangs into the timeline. False: out of memory; then no gang that asks the
 * calendar starts in this run. */
bool gang__calendar_sync(gang_sched *s);
/* Is a cause noted for which plans are made again, and was memory not short in this run? */
bool gang__calendar_has_work(const gang_sched *s);
bool gang__calendar_reserve_slots(gang_sched *s, uint32_t end);
void gang__calendar_free(gang_sched *s);

/* Put what the gang holds into the timeline, until `end_ns`, in place of what it held before.
 * False: out of memory. */
bool gang__calendar_occupy(gang_sched *s, struct gang__gang *g, gang_alloc_id alloc,
                           int64_t end_ns);
void gang__calendar_vacate(gang_sched *s, struct gang__gang *g);
/* An occupation of a source leaves the timeline: its number and 1, or 0. */
void gang__calendar_vacated(gang_sched *s, uint32_t occupies);
/* The gang is about to be freed. */
void gang__calendar_forget(gang_sched *s, struct gang__gang *g);

/* Does the leaf of the gang plan starts? */
static inline bool gang__calendar_leaf_plans(const struct gang__gang *g)
{
    return g->job->leaf->q->backfill != GANG_BACKFILL_NONE;
}
/* Is any start planned? */
bool gang__calendar_has_plans(const gang_sched *s);
/* May the gang have a plan beside those of its leaf, or in place of one behind it? */
bool gang__calendar_may_plan(const struct gang__gang *g);
/* The plan of the gang leaves the calendar; _unplan() also notes that other plans may be earlier.
 * _uncounted() leaves calendar.changes to the caller: the plan may come back at its time. */
void gang__calendar_drop(gang_sched *s, struct gang__gang *g);
void gang__calendar_drop_uncounted(gang_sched *s, struct gang__gang *g);
void gang__calendar_unplan(gang_sched *s, struct gang__gang *g);
/* Is a planned start of the job due? Then plans are looked at again. */
void gang__calendar_note_due_plan(gang_sched *s, const struct gang__job *job);

/* ---- expected_end.c: until when ----------------------------------------------------------------
 */

enum { GANG__OVERRUN_NS = 1000000000 }; /* a gang past its end is looked for again after this */

/* How long the gang runs if it starts now: its time limit, and the grace in which it then stops. */
int64_t gang__calendar_estimate(const gang_sched *s, const struct gang__gang *g);
/* When it ends at the latest if it starts then; GANG__NEVER: it has no limit. */
int64_t gang__calendar_end_from(const gang_sched *s, const struct gang__gang *g, int64_t start_ns);
/* When its allocation comes free at the latest. */
int64_t gang__calendar_end(const gang_sched *s, const struct gang__gang *g);

/* ---- occupation.c: what tasks take -------------------------------------------------------------
 */

/* Set calendar.group to what the timeline counts of a task of each group. False: out of memory. */
bool gang__calendar_set_groups(gang_sched *s, const gang_request *request);
/* Append a task to calendar.place; then merge it: in order, one entry for all tasks of a group on a
 * node. */
bool gang__calendar_add_place(gang_sched *s, gang_node_id node, uint32_t group);
void gang__calendar_merge_places(struct gang__calendar *cal);

/* What the gang would take at these places from now on. The arrays of *o are scratch. False: out of
 * memory. */
bool gang__calendar_lay_out(gang_sched *s, const struct gang__gang *g,
                            const struct gang_placement *place, size_t count, int64_t end_ns,
                            struct gang__occupation *o);
/* The same of its allocation. No places: it holds nothing that the timeline counts. */
bool gang__calendar_lay_out_alloc(gang_sched *s, const struct gang__gang *g, gang_alloc_id alloc,
                                  int64_t end_ns, struct gang__occupation *o);

/* ---- more_kinds.c: kinds of the site, and device profiles --------------------------------------
 */

/* Adds what the request takes of nodes. False: the list would be too long. */
bool gang__more_list_add(struct gang__more_list *list, const gang_request *request);
/* The guard of each kind, for gang__timeline_count_more(). */
void gang__more_guards(const struct gang__more_list *list, int guard[GANG__MORE_MAX]);
/* From now on the calendar counts what the list says: the timeline is made again if that changed.
 * False: out of memory. */
bool gang__calendar_count_more(gang_sched *s, const struct gang__more_list *list);
/* What a task of the group takes of each kind that is counted. False: out of memory. */
bool gang__calendar_more_of(gang_sched *s, const struct gang__group *g, int64_t *more);
/* Of groups of the gang in calendar.group, what its reservation does not name moves to
 * calendar.beside: the gang takes that outside. False: out of memory. */
bool gang__calendar_split_groups(gang_sched *s, const struct gang__gang *g, size_t groups);
/* Does what the gang would take outside fit there? `o`: what gang__calendar_lay_out() made. */
bool gang__calendar_fits_beside(const gang_sched *s, const struct gang__gang *g,
                                const struct gang__occupation *o);
/* Are devices of a profile counted by instances? Then they are not counted as GPUs. */
static inline bool gang__calendar_counts_instances(const struct gang__calendar *cal,
                                                   const struct gang__group *g)
{
    return g->profile && cal->more.count > 0;
}

/* ---- memory_amounts.c: GPUs by memory ----------------------------------------------------------
 */

/* The result of that search (calendar.fit) gets these groups. */
void gang__calendar_use_variants(struct gang__calendar *cal, struct gang__occupation *o);

/* ---- sums.c: bounds over all nodes -------------------------------------------------------------
 */

/* Is enough free for the gang from now until it ends, beside all plans? */
bool gang__calendar_fits_sums(const gang_sched *s, const struct gang__gang *g);
/* For how long from now on is enough free? A gang that runs longer does not fit. */
int64_t gang__calendar_free_ns(const gang_sched *s, const struct gang__gang *g);
/* Has the gang a plan that cannot be earlier, because just before it too little is free? */
bool gang__calendar_is_earliest(const gang_sched *s, const struct gang__gang *g);

/* ---- earliest.c --------------------------------------------------------------------------------
 */

/* When the gang fits, and where (calendar.fit), beside all that lies in its timeline. GANG_OK;
 * GANG_ENEVER: not even when all that has an end has ended; GANG_ENOMEM. */
gang_result gang__calendar_earliest(gang_sched *s, const struct gang__gang *g, int64_t from_ns);
/* The same on some nodes alone: bits of slots below calendar.end. NULL: any node. */
gang_result gang__calendar_earliest_on(gang_sched *s, const struct gang__gang *g, int64_t from_ns,
                                       const uint64_t *open);
/* Would the gang start at once? */
bool gang__calendar_fits_now(gang_sched *s, const struct gang__gang *g);
/* Of calendar.mask, the nodes in a domain (calendar.domain). */
void gang__calendar_mask_domain(gang_sched *s, int32_t level, uint32_t index);

static inline void gang__mask_put(uint64_t *mask, uint32_t slot)
{
    mask[slot / 64] |= UINT64_C(1) << (slot % 64);
}

#endif
