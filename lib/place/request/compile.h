/* SPDX-License-Identifier: Apache-2.0 */
/* How a request is made; for the files of this folder. */
#ifndef GANG__PLACE_COMPILE_H
#define GANG__PLACE_COMPILE_H

#include "place/request/compiled.h"

enum {
    GANG__MAX_TASKS = 1 << 24,
    GANG__MAX_MEMBERS = 4095,
    GANG__MAX_ELEMENT = 65536 /* bytes of a group or set of the caller's: more was never set up */
};

/* One call that makes a request. */
struct gang__request_job {
    gang_cluster *c;
    const struct gang_request_spec *spec;
    struct gang_error *error;
    const char *list; /* what the caller calls the groups */
};

/* ---- check.c: GANG_OK, or fill the error and return its code ---- */

gang_result gang__request_error(const struct gang__request_job *j, gang_result code,
                                const char *member, const char *text);
gang_result gang__check_text(const struct gang__request_job *j, const char *text, bool may_be_empty,
                             const char *member);
gang_result gang__check_range(const struct gang__request_job *j, int64_t value, int64_t min,
                              int64_t max, const char *member);
gang_result gang__check_flag(const struct gang__request_job *j, int32_t value, const char *member);
gang_result gang__check_group(const struct gang__request_job *j, const struct gang_group_spec *g);
/* The members of the spec itself, not its groups and sets. */
gang_result gang__check_spec(const struct gang__request_job *j);

/* ---- compile.c ---- */

/* A request lies in one block of memory. Compiling runs the same code twice: first with `base`
 * NULL, to learn the size, then to fill the block. gang__compile_alloc() is the only way to get
 * memory. */
struct gang__compile_block {
    char *base;
    size_t used;
};
void *gang__compile_alloc(struct gang__compile_block *b, size_t count, size_t size);

/* One run. `request` is a scratch one on the first. */
gang_result gang__compile(const struct gang__request_job *j, struct gang__compile_block *b,
                          gang_request *request);

/* ---- compile_resources.c ---- */

/* Of one group: amounts of the site's kinds; GPUs, whole or in parts. */
gang_result gang__compile_amounts(const struct gang__request_job *j, struct gang__compile_block *b,
                                  const struct gang_group_spec *s, struct gang__group *g);
void gang__compile_gpus(const struct gang_group_spec *s, struct gang__group *g);

#endif
