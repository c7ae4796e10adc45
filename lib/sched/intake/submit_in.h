/* SPDX-License-Identifier: Apache-2.0 */
/* Submitting, from inside: what the files submit*.c share. */
#ifndef GANG__SCHED_SUBMIT_IN_H
#define GANG__SCHED_SUBMIT_IN_H

#include "sched/record/state.h"

/* The groups of one gang of several in the job, and the first numbers of their tasks. */
struct gang__numbers {
    int32_t *in_job;
    int64_t *first;
};

/* One call of gang_job_submit_array(): what its jobs have in common. */
struct gang__submit {
    gang_sched *s;
    const struct gang_job_spec *spec;
    const uint32_t *gang_of; /* of each group: the gang that it belongs to */
    uint32_t gang_count;     /* gangs of a job */
    char *made;              /* the leaf is made under this name; "": it exists */
    const struct gang__submit_view *submit_view;
    const struct gang__queue *q;   /* the leaf, or the queue below which it is made */
    gang_reservation_id reserved;  /* that the jobs named */
    const char *const *partitions; /* of the jobs, or those of the leaf */
    size_t partition_count;
    bool options;                        /* the jobs have some */
    struct gang__restored_job *restored; /* of the job that is being made; NULL: it has none */
    struct gang__numbers numbers; /* of the gang whose request is made; NULL: it is the only one */
    bool counted;                 /* the submit view counts the jobs as arriving */
};

/* Is it a job that the host restores, which was accepted before? */
static inline bool gang__submit_is_known(const struct gang_job_spec *j)
{
    return j->running || j->past;
}

/* ---- submit_check.c -------------------------------------------------------------------------- */

gang_result gang__submit_error(struct gang_error *error, gang_result r, const char *path,
                               const char *text);

gang_result gang__submit_check_numbers(const struct gang_job_spec *j, struct gang_error *error);

/* Does each group name a partition itself? */
bool gang__submit_names_partitions(const struct gang_request_spec *q);

/* The past of the job, in the size that the library knows. */
gang_result gang__submit_check_past(const struct gang_job_spec *j, struct gang_job_past *past,
                                    struct gang_error *error);

gang_result gang__submit_check_partitions(const struct gang_job_spec *j, struct gang_error *error);

gang_result gang__submit_check_groups(const struct gang_job_spec *j, struct gang_error *error);

/* Number the gangs: groups that wait for the same groups are one gang. Returns how many. */
uint32_t gang__submit_number_gangs(const struct gang_job_spec *j, uint32_t *gang_of);

bool gang__submit_has_cycle(const struct gang_job_spec *j, uint32_t *depth);

const struct gang_group_spec *gang__submit_group(const struct gang_request_spec *q, size_t i);
/* The same in the size that the library knows: members that the caller's headers lack are zero. */
struct gang_group_spec gang__submit_whole_group(const struct gang_request_spec *q, size_t i);

gang_result gang__submit_check_gangs(const struct gang_job_spec *j, uint32_t gang_count,
                                     struct gang_error *error);

enum { GANG__GROUP_NAME = 32 }; /* bytes for the name of a group, behind `groups` */

/* The request of one gang, in `groups`. */
void gang__submit_gang_request(const struct gang_job_spec *j, const uint32_t *gang_of,
                               uint32_t which, struct gang_group_spec *groups,
                               struct gang_request_spec *q);

/* ---- submit_record.c ------------------------------------------------------------------------- */

gang_result gang__submit_make_job(struct gang__submit *m, struct gang__job **out,
                                  struct gang_error *error);

/* ---- submit_stops.c -------------------------------------------------------------------------- */

/* How many places of tasks that have stopped do the stops name? */
size_t gang__submit_kept_places(const struct gang_job_spec *j);

/* The stops of a job whose places are set. */
gang_result gang__submit_make_stops(const struct gang__submit *m, struct gang_error *error);

/* ---- submit_request.c ------------------------------------------------------------------------ */

gang_result gang__submit_make_requests(struct gang__submit *m, struct gang__job *job,
                                       struct gang_error *error);

/* ---- submit_view.c --------------------------------------------------------------------------- */

/* Count `jobs` jobs on their way in, below this queue and up to `end`. */
void gang__submit_arrive(const struct gang__submit_view *submit_view, uint32_t at, uint32_t end,
                         int64_t jobs);

/* May `jobs` more jobs wait? Then they are counted, before another thread asks. */
gang_result gang__submit_may_wait(const struct gang__submit_view *submit_view,
                                  const struct gang__queue *q, int64_t jobs,
                                  struct gang_error *error);

#endif
