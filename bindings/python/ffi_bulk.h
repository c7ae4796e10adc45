/* SPDX-License-Identifier: Apache-2.0 */
/* Many rows in one call (ffi_bulk.c). ends[i] is the end of text i in `buffer`. GANG_ELIMIT:
 * `buffer` is too small; the last end is the size that it needs. A job without a name has its
 * index. */
gang_result gangsched_py_sim_names(const gang_sim *sim, size_t count, char *buffer, size_t size,
                                   int64_t *ends);
/* which: 0 names, 1 queues, 2 users, 3 partitions of the first groups */
gang_result gangsched_py_trace_words(gang_trace *trace, int32_t which, size_t count, char *buffer,
                                     size_t size, int64_t *ends);
gang_result gangsched_py_allocations(const gang_sim *sim, size_t first, size_t count,
                                     struct gang_sim_allocation *rows);
gang_result gangsched_py_samples(const gang_sim *sim, size_t first, size_t count,
                                 struct gang_sim_sample *rows);
/* gangsched_py_event() for refusals only, so that other events cost no call of Python. */
int32_t gangsched_py_refusal(const struct gang_sim_event *event, void *user);
