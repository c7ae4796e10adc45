/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables as text. */
#ifndef GANG__SIM_SIM_TEXT_IN_H
#define GANG__SIM_SIM_TEXT_IN_H

#include "sim/sim_in.h"

/* A buffer of text: writing line by line would be slow for the receiver. */
struct gang__sim_out {
    gang_write_fn write;
    void *user;
    const struct gang_mem *mem; /* grows the buffer; NULL: a full buffer is written first */
    gang_result result;         /* of all so far: after an error nothing is added */
    size_t used, cap;
    char *bytes;
};

void gang__sim_write_header(struct gang__sim_out *o, int32_t table);
/* GANG_SIM_JOBS_CSV or GANG_SIM_BATSIM_CSV */
void gang__sim_write_job(struct gang__sim_out *o, const gang_sim *sim, int32_t table,
                         const struct gang__sim_job *j);
void gang__sim_write_allocation(struct gang__sim_out *o, const gang_sim *sim,
                                const struct gang_sim_allocation *a);
void gang__sim_write_sample(struct gang__sim_out *o, const struct gang_sim_sample *s);

#endif
