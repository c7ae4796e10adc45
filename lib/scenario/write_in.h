/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of scenarios: one case into a tree of JSON values. Each object of the format has a
 * write_*.c. A function that fails notes it in the writer; the rest of the tree then does not
 * matter. */
#ifndef GANG__SCENARIO_WRITE_IN_H
#define GANG__SCENARIO_WRITE_IN_H

#include <gangsched/scenario.h>

#include "base/json/json.h"
#include "model/specs.h"
#include "scenario/scenario_in.h"
#include "scenario/words_in.h"

struct gang__writer {
    struct gang__json_maker maker;
    const struct gang_mem *mem;
    bool max_tasks;                   /* the kind "tasks" is written as `max_tasks` */
    bool alone;                       /* one object, without its case */
    struct gang__scenario_path where; /* the element that could not be written */
    char *expect;                     /* the member as the reader returns it */
};

/* ---- objects ---- */

json_t *gang__make_node(struct gang__writer *w, const struct gang_node_spec *node);
json_t *gang__make_queue(struct gang__writer *w, const struct gang_queue_spec *queue);
/* `rules`, which map jobs to queues. */
void gang__write_mapping(struct gang__writer *w, json_t *object, const struct gang_scenario *c);
/* All but what refers to other jobs or to times of the case. */
json_t *gang__make_job(struct gang__writer *w, const struct gang_job_spec *job);
void gang__write_tasks(struct gang__writer *w, json_t *object, const struct gang_job_spec *job);
void gang__write_sets(struct gang__writer *w, json_t *object,
                      const struct gang_request_spec *request);
/* One group of tasks; `request` is the request of its job. */
json_t *gang__make_group(struct gang__writer *w, const struct gang_request_spec *request,
                         const struct gang_group_spec *group);
/* An element of `after` that has its `when` only. */
json_t *gang__make_wait(struct gang__writer *w, int32_t when);
/* What the case states of job number `job`. *next is the first element of gang_scenario.afters, or
 * .times or .arrivals, that is not yet written: all are sorted by job. */
void gang__write_job_after(struct gang__writer *w, json_t *object, const struct gang_scenario *c,
                           size_t job, size_t *next);
void gang__write_job_times(struct gang__writer *w, json_t *object, const struct gang_scenario *c,
                           size_t job, size_t *next);
void gang__write_job_arrivals(struct gang__writer *w, json_t *object, const struct gang_scenario *c,
                              size_t job, size_t *next);
json_t *gang__make_reservation(struct gang__writer *w, const struct gang_reservation_spec *spec);
void gang__write_reservations(struct gang__writer *w, json_t *object,
                              const struct gang_scenario *c);

/* ---- values ---- */

/* Notes a failure to load an element of a caller's array; returns whether it was loaded. */
bool gang__write_loaded(struct gang__writer *w, gang_result result);
#define GANG__WRITE_LOAD(w, to, last, array, index) \
    gang__write_loaded(w, GANG__LOAD(to, last, array, index))

/* Each adds a member to `object`. Takes `value` over; NULL counts as out of memory. */
void gang__write_value(struct gang__writer *w, json_t *object, const char *key, json_t *value);
void gang__write_int(struct gang__writer *w, json_t *object, const char *key, int64_t number);
void gang__write_text(struct gang__writer *w, json_t *object, const char *key, const char *text);
void gang__write_word(struct gang__writer *w, json_t *object, const char *key,
                      const struct gang__word_list *words, int32_t number);
/* A whole number of MiB under `mib_key`, any other amount under `bytes_key`. */
void gang__write_memory(struct gang__writer *w, json_t *object, const char *mib_key,
                        const char *bytes_key, int64_t bytes);
/* Nothing is added for: 0; 0; NULL; NULL and ""; an empty list (which is freed); no names. */
void gang__write_flag(struct gang__writer *w, json_t *object, const char *key, int32_t flag);
void gang__write_nonzero(struct gang__writer *w, json_t *object, const char *key, int64_t number);
void gang__write_given(struct gang__writer *w, json_t *object, const char *key, const char *text);
void gang__write_nonempty(struct gang__writer *w, json_t *object, const char *key,
                          const char *text);
void gang__write_list(struct gang__writer *w, json_t *object, const char *key, json_t *list);
void gang__write_names(struct gang__writer *w, json_t *object, const char *key,
                       const char *const *names, size_t count);
json_t *gang__make_names(struct gang__writer *w, const char *const *names, size_t count);
void gang__write_amounts(struct gang__writer *w, json_t *object, const struct gang_amount *amounts,
                         size_t count);
void gang__write_labels(struct gang__writer *w, json_t *object, const char *key,
                        const struct gang_label *labels, size_t count);

#endif
