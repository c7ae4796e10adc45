/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of jobs: how many jobs of an array run (gang_job_spec.array_max_running). The record of an
 * array lives as long as some job has it. Jobs that wait for their array are blocked by their leaf,
 * so the end of any job of the leaf unblocks them (job_count.c). */
#include <string.h>

#include "sched/order/order_in.h"

bool gang__array_enter(gang_sched *s, struct gang__job *job)
{
    size_t length = strlen(job->options->array_name);
    uint64_t hash = gang__hash_number(gang__hash(GANG__HASH_SEED, job->options->array_name, length),
                                      job->queue_id);
    if (job->array || length == 0 || job->options->array_max_running == INT64_MAX)
        return true;
    for (struct gang__hash_link *n = gang__hash_first(&s->arrays, hash); n; n = n->next) {
        struct gang__array *array = GANG__OF(struct gang__array, link, n);
        if (n->hash == hash && array->queue_id == job->queue_id &&
            strcmp(array->name, job->options->array_name) == 0)
            job->array = array;
    }
    if (!job->array) {
        struct gang__array *array = gang__zalloc(&s->mem, 1, sizeof(*array) + length + 1);
        if (!array || gang__hash_reserve(&s->arrays, &s->mem) != GANG_OK) {
            gang__release(&s->mem, array);
            return false;
        }
        array->queue_id = job->queue_id;
        memcpy(array->name, job->options->array_name, length + 1);
        gang__hash_insert(&s->arrays, &array->link, hash);
        job->array = array;
    }
    job->array->refs++;
    return true;
}

void gang__array_leave(gang_sched *s, struct gang__job *job)
{
    struct gang__array *array = job->array;
    job->array = NULL;
    if (!array || --array->refs > 0)
        return;
    gang__hash_remove(&s->arrays, &array->link);
    gang__release(&s->mem, array);
}
