/* SPDX-License-Identifier: Apache-2.0 */
/* A wait class: the gangs of a leaf that wait for the same thing. If its first gang cannot start,
 * none of them can, so that a run tries one gang of each class. */
#ifndef GANG__SCHED_WAIT_CLASS_H
#define GANG__SCHED_WAIT_CLASS_H

#include "sched/record/types.h"

enum { GANG__CLASS_EMPTY = 0, GANG__CLASS_READY, GANG__CLASS_BLOCKED };

/* A class that is kept by its candidates of backfill (owner: backfill). */
enum { GANG__KEPT_NOT = 0, GANG__KEPT_TRIED, GANG__KEPT_WAITING };

/* A wait class among backfill candidates (backfill/candidates.c). */
struct gang__backfill_class {
    struct gang__candidates *candidates; /* NULL: it was never kept */
    uint8_t kept; /* GANG__KEPT_*: while BLOCKED in no list but that of its candidates */
    struct gang__set_link link;  /* in candidates->waiting, */
    int64_t run_ns, shortest_ns; /* by how long it runs, and the shortest there below */
};

/* A wait class that a bound of its queues may refuse for good (owner: usage/demand.c). */
struct gang__bounded_class {
    struct gang__wait_class *next, **at; /* in leaf->bounded; at is NULL: it is not in it */
    bool never;                          /* its gangs are larger than a limit */
    int64_t *lacks;       /* of each group, tasks that its gangs lack, while it is in the list, */
    int64_t *fixed_lacks; /* and those that preemption would never take */
};

/* The wait classes of a leaf that differ in the user alone (owner: order/class_group.c). */
struct gang__class_group {
    struct gang__hash_link link; /* in leaf->order.groups */
    struct gang__queue_state *leaf;
    struct gang__request_class *request_class;
    bool fixed, never_preempts;
    uint32_t refs;                        /* of its classes */
    struct gang__ordered_set waiting;     /* classes without capacity, in the order of the leaf */
    struct gang__class_group *next, **at; /* in request_class->groups, while some class waits */
    bool open;                          /* capacity came free since: the first class may be tried */
    bool due;                           /* the first class may have to be made READY, */
    struct gang__class_group *next_due; /* in sched.order.due_groups */
    struct gang__wait_class *ready;     /* READY for all of them; NULL: none */
};

/* A wait class in its group. */
struct gang__grouped_class {
    struct gang__class_group *group; /* NULL: it never waited in one */
    bool waits;                      /* it is BLOCKED in group->waiting, and in no other list */
    struct gang__set_link link;      /* in it */
    int64_t highest;                 /* priority of the heads there, from here down */
};

/* What each gang that enters or leaves it reads comes first. */
struct gang__wait_class {
    struct gang__hash_link link;         /* in leaf->order.classes */
    struct gang__set_link ready_link;    /* in leaf->order.ready, while READY */
    struct gang__wait_class *next, **at; /* READY: in request_class->ready; BLOCKED: in the list of
                                          * what blocks it */
    uint8_t state;                       /* GANG__CLASS_* */
    bool fixed;                          /* they start inside the guarantee alone */
    bool never_preempts;                 /* so its head bars no gang that may preempt */
    bool deferred;      /* READY: tried after those that are not, by deferred_key */
    bool some_capacity; /* several partitions: BLOCKED for want of capacity in some of them */
    bool spared;        /* its head did not take some victim whose cooldown new demand would end */
    struct gang__ordered_set gangs;
    struct gang__queue_state *leaf;
    struct gang__request_class *request_class;
    struct gang__user *user;   /* NULL: users do not count in the leaf */
    struct gang__array *array; /* of its jobs; NULL: none bounds them */
    int64_t array_max_running; /* and their bound */
    struct gang__gang *grower; /* the only gang: it grows or resumes; NULL: they wait to start */
    uint64_t class_salt; /* parts gangs of one request class: by run time, or one by one; or 0 */
    uint64_t tried;      /* wake.changes + 1 when preemption was tried and did not help */
    uint64_t demand_at;  /* the latest gang->preempt.demand_at of those that entered */
    struct gang__bounded_class bounded;
    struct gang__wait_class *next_barring, **at_barring; /* in leaf->order.barring; NULL: in none */
    struct gang__backfill_class backfill;
    struct gang__grouped_class grouped;
    /* If users count in the leaf: READY: in user->ready; waiting in its group: in user->grouped */
    struct gang__wait_class *next_of_user, **at_of_user;
    struct gang__wait_class *next_moved;                 /* scratch of order/user_order.c */
    struct gang__wait_class *next_blocked, **at_blocked; /* in sched.order.blocked */
    int64_t deferred_key;
    int32_t why;                          /* GANG_WAIT_*, while BLOCKED */
    uint32_t dim;                         /* in which dimension, */
    struct gang__queue_state *blocked_by; /* the queue that blocks it; or NULL */
};

#endif
