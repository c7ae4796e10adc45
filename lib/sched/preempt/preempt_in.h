/* SPDX-License-Identifier: Apache-2.0 */
/* Making room, from inside: one attempt to displace others for a unit that found none, and what its
 * files share.
 *
 *   evict.c        who may ask; one attempt from beginning to end
 *   victims.c      who may fall, and in which order
 *   may_take.c     which of them the rules let the taker take, and what he may have
 *   on_copy.c      taking them and placing him on the copy; who need not go after all
 *   carry_out.c    the same for real
 *   consolidate.c  others only move */
#ifndef GANG__SCHED_PREEMPT_IN_H
#define GANG__SCHED_PREEMPT_IN_H

#include "sched/record/state.h"

enum gang__preempt_mode {
    GANG__EVICT_MOVE,    /* consolidation */
    GANG__EVICT_RECLAIM, /* from other queues */
    GANG__EVICT_PREEMPT, /* in its own queue */
    /* first its own queue, then the others: with less of its own it may be entitled */
    GANG__EVICT_BOTH
};

struct gang__victim {
    struct gang__gang *u;
    bool whole;
    bool stays; /* it need not go: forgotten when all are looked through */
    bool told;  /* one that goes alone: it is among those of a leave */
    uint32_t group;
    int64_t task;             /* one above the minimum, if not whole */
    gang_node_id node;        /* all of it is there; GANG_ID_NONE: it is not so simple */
    struct gang__stop *leave; /* made out, before anybody is asked */
    struct gang__places to;   /* moved there */
};

/* What is taken of a unit, in this plan: its tasks that are victims on their own. */
struct gang__victims {
    struct gang__victim *list;
    size_t count, room;
    int64_t *tasks; /* scratch: numbers of a unit's tasks */
    size_t task_room;
    bool *kept; /* scratch: of each slot, is it more than put back when victims stay? */
    size_t kept_room;
    uint64_t *theirs; /* scratch: nodes of the victims, as bits */
    size_t theirs_cap;
    struct gang__cursor *cursor; /* a heap by what comes next */
    size_t cursors, cursor_room;
    bool told;   /* the first one's victim was told, it is to be stepped, */
    bool passed; /* or given up */
    bool failed; /* memory was short: the plan is not what it should be, and is given up */
};

enum { GANG__VICTIMS_AHEAD = 16 };

/* Where a leaf's victims are: whole gangs, or tasks above a minimum. */
struct gang__cursor {
    bool whole;
    struct gang__set_link *at; /* the unit that is next, in leaf->fall, or leaf->shed */
    /* Those after it, as far as they are known already: a ring. */
    struct gang__set_link *coming[GANG__VICTIMS_AHEAD];
    uint32_t first, known;
    struct gang__set_link *last;
    /* Tasks of the unit that may go one by one, in this order. */
    int64_t *spare;
    uint32_t *spare_group;
    size_t spares, spare_room, group_room, next;
};

struct gang__preemption {
    gang_sched *s;
    struct gang__gang *taker;
    enum gang__preempt_mode mode;
    const struct gang__take *take; /* what he asks for */
    uint32_t count;
    int32_t grow_group;                    /* -1: his gang; */
    int64_t step;                          /* else so many tasks of it, */
    struct gang__take of_step[GANG__DIMS]; /* which take this */
    int64_t tasks;                         /* of all victims */
    bool fair;                             /* reclaim: only what lies above fair shares, so far */
    bool charged;                          /* the queues of the taker count it already */
    bool again;                            /* some of the candidates are victims already */
    bool looked;                           /* sched.base is the cluster as it is */
    bool deferred; /* the next victim displaced others in this run: that is for the next one */
};

/* ---- evict.c ---- */

/* Begin an attempt: the copy is the cluster as it is, and nobody is a victim. False: no memory;
 * then nothing that is planned is what it should be. */
bool gang__preempt_begin(struct gang__preemption *p, enum gang__preempt_mode mode);
/* The taker has a place: who need not go stays, who can move does. False: the rules forbid it. */
bool gang__preempt_settle(struct gang__preemption *p);
/* Carry it out (ok), or put all back. True: it was carried out. */
bool gang__preempt_end(struct gang__preemption *p, bool ok);

#endif
