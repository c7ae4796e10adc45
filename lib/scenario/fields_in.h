/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the specifications that a table describes: how each is read, written and compared. */
#ifndef GANG__SCENARIO_FIELDS_IN_H
#define GANG__SCENARIO_FIELDS_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/json.h"
#include "scenario/words_in.h"

struct gang__reader;

enum gang__field_type {
    GANG__FIELD_FLAG,    /* int32_t: true or false */
    GANG__FIELD_WORD,    /* int32_t: one of `words`, by number */
    GANG__FIELD_NUMBER,  /* int64_t in [least, most] */
    GANG__FIELD_PART,    /* int64_t in [least, most], millionths of the number in the file */
    GANG__FIELD_SECONDS, /* int64_t in ns, in the file in seconds */
    GANG__FIELD_TEXT     /* const char *: NULL, or without control characters */
};

/* A member of a struct, under a key of the file. */
struct gang__field {
    const char *key;
    enum gang__field_type type;
    size_t offset;
    const struct gang__word_list *words;
    int64_t min;
    int64_t max;
    int64_t absent; /* what it is if the key is not there */
};
struct gang__fields {
    const struct gang__field *list;
    size_t count;
};
extern const struct gang__fields gang__queue_fields;
extern const struct gang__fields gang__budget_fields; /* of struct gang_budget */
extern const struct gang__fields gang__job_fields;
extern const struct gang__fields gang__case_fields;
extern const struct gang__fields gang__reserve_fields;
extern const struct gang__fields gang__stage_fields;
/* Of gang_reservation_spec.flags, by bit. */
enum { gang__reserve_flag_count = 5 };
extern const char *const gang__reserve_flag_words[gang__reserve_flag_count];

/* Members that the object lacks stay as they are: `to` has the defaults. */
gang_result gang__fields_read(struct gang__reader *r, const struct gang__json *object,
                              const struct gang__fields *fields, void *to);
void gang__fields_write(struct gang__json_maker *maker, json_t *object,
                        const struct gang__fields *fields, const void *from);
bool gang__fields_equal(const struct gang__fields *fields, const void *a, const void *b);

#endif
