/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_SLICE_H
#define GANG__SCHED_SLICE_H

#include "sched/calendar/calendar.h"
#include "sched/record/state.h"

/* What a higher floor does when the first quantum of a gang has come: start the gang; or take back
 * its grant, because its places are gone. */
struct gang__first_quantum {
    void (*start)(gang_sched *s, struct gang__gang *u);
    void (*undo)(gang_sched *s, struct gang__gang *u, int64_t not_before_ns);
};

/* Does it take turns, or will it when it starts? */
bool gang__slice_concerns(const struct gang__gang *u);

/* Put its gang into a row, or more tasks of it into its own: as gang__alloc_gang(), and gang_alloc_grow(). It starts
 * with its first turn. */
gang_result gang__slice_alloc(gang_sched *s, struct gang__gang *u, gang_alloc_id *id);
gang_result gang__slice_grow(gang_sched *s, struct gang__gang *u, uint32_t group, int64_t step,
                             int64_t *granted);

/* Tasks (NULL: all) of an allocation were given back. */
void gang__slice_gave(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks, size_t count);

/* The unit lets go of its allocation; and what held it has stopped, though it is not given back. */
void gang__slice_forsake(gang_sched *s, struct gang__gang *u);
void gang__slice_quiet(gang_sched *s, gang_alloc_id alloc);

/* Tasks (NULL: all) have stopped. False: nobody asked it to suspend. */
bool gang__slice_report(gang_sched *s, struct gang__gang *u, const int64_t *tasks, size_t count);
void gang__slice_gone(gang_sched *s, struct gang__sliced *x, const int64_t *tasks, size_t count);

/* It had none yet, and is not to start where it was to: it waits again. */
void gang__slice_ungrant(gang_sched *s, struct gang__gang *u);

/* Let turns pass; is it worth it again; when is it due. */
void gang__slice_run(gang_sched *s);
bool gang__slice_waits(const gang_sched *s);
int64_t gang__slice_next(const gang_sched *s);

/* Queues are others. */
void gang__slice_configure(gang_sched *s);

/* Who is in the matrix is a victim on s->scratch, or stays after all: what it has of its nodes is given back there with
 * the last one. Begun when the copy is made. On an error (back: it is taken) nothing changed. */
void gang__slice_copy_begin(gang_sched *s);
gang_result gang__slice_copy_turn(gang_sched *s, const struct gang__gang *u, bool back);

/* The timeline of planned starts: its nodes are taken there, each as a whole and without end, and what gangs have lent of
 * them is not. Those that came since go into it (false: out of memory); it is made anew, with none. */
bool gang__slice_occupy(gang_sched *s);
void gang__slice_vacate(gang_sched *s);
bool gang__slice_occupied(const gang_sched *s);                      /* are all there? */
uint32_t gang__slice_lent(const gang_sched *s, gang_alloc_id alloc); /* GANG__LEND_*; 0: nothing */
bool gang__slice_has_node(const gang_sched *s, gang_node_id node);

/* Its row, from 1, or 0; how many there are, and when it has its turn, if nothing changes (0: now). */
uint32_t gang__slice_row(const struct gang__gang *u);
uint32_t gang__slice_when(const gang_sched *s, const struct gang__gang *u, int64_t *until_ns);
struct gang__matrix *gang__slice_matrix(const gang_sched *s, const struct gang__queue_state *leaf);

/* Who is where, whose turn it is and for how long yet, and this number, as one number. */
uint64_t gang__slice_print(const gang_sched *s, uint64_t seed);
void gang__slice_info(const gang_sched *s, const struct gang__queue_state *q,
                      struct gang_queue_info *out);
gang_result gang__slice_check(gang_sched *s, struct gang_error *error);
void gang__slice_free(gang_sched *s);
extern const struct gang__calendar_source gang__slice_source;

#endif
