/* SPDX-License-Identifier: Apache-2.0 */
/* Many rows at a time (ffi_bulk.c). Of texts `ends` tells where each ends in `room`; GANG_ELIMIT: the last of them
 * tells what would do. An empty name of a job is its number. */
gang_result gangsched_py_sim_names(const gang_sim *sim, size_t count, char *room, size_t size, int64_t *ends);
/* which: 0 names, 1 queues, 2 users */
gang_result gangsched_py_trace_words(gang_trace *trace, int32_t which, size_t count, char *room, size_t size,
                                     int64_t *ends);
gang_result gangsched_py_allocations(const gang_sim *sim, size_t first, size_t count,
                                     struct gang_sim_allocation *rows);
gang_result gangsched_py_samples(const gang_sim *sim, size_t first, size_t count, struct gang_sim_sample *rows);
/* gangsched_py_event() for refusals alone: other events do not cost a call of Python. */
int32_t gangsched_py_refusal(const struct gang_sim_event *event, void *user);
