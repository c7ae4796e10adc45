/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values (RFC 4180, but that no field holds a line feed) with columns that are
 * found by name. */
#ifndef GANG__TRACE_TRACE_TABLE_IN_H
#define GANG__TRACE_TRACE_TABLE_IN_H

#include "trace/trace_in.h"

enum { GANG__TRACE_MAX_COLUMNS = 24 };

struct gang__trace_table;

/* Another name of a column, read like its name. */
struct gang__trace_alias {
    const char *name;
    size_t column;
};

/* What a format makes of its columns. */
struct gang__trace_format {
    const char *const *columns;
    size_t count;                            /* <= GANG__TRACE_MAX_COLUMNS */
    const struct gang__trace_alias *aliases; /* up to one without a name; NULL: none */
    uint32_t needed;                         /* bit i: column i must be there */
    size_t name;                             /* column of the name of a job */
    bool is_strict;                          /* other columns are errors */
    bool
        /* the columns are these, in this order; a line that names them is passed over */
        has_no_header;
    /* One record. GANG_OK, GANG__TRACE_PASS, or what is wrong with it. */
    gang_result (*row)(struct gang__trace_table *table);
    /* After the last one; NULL: nothing to do. */
    gang_result (*finish)(struct gang__trace_table *table);
};

struct gang__trace_table {
    struct gang__trace_reader *reader;
    const struct gang__trace_format *format;
    void *user;     /* of the format */
    const char *at; /* what is still to be read */
    const char *end;
    int64_t line;      /* of the record, from 1 */
    const char *begin; /* of the record */
    struct gang__span *field;
    size_t field_cap;
    size_t fields;
    size_t width;  /* fields that each record must have */
    void *scratch; /* fields that were in quotes with quotes inside */
    size_t scratch_cap;
    size_t scratch_used;
    size_t where[GANG__TRACE_MAX_COLUMNS];       /* which field a column is; SIZE_MAX: not there */
    const char *called[GANG__TRACE_MAX_COLUMNS]; /* the alias that the header has; NULL: its name */
};

/* Read the whole text; result and error of the first record that is wrong. */
gang_result gang__table_read(struct gang__trace_reader *reader,
                             const struct gang__trace_format *format, void *user);

/* The error has line, column and path of a column of the record. Returns code. */
gang_result gang__table_fail(const struct gang__trace_table *table, size_t column, gang_result code,
                             const char *fmt, ...) GANG__PRINTF(4, 5);

static inline bool gang__table_has(const struct gang__trace_table *table, size_t column)
{
    return table->where[column] != SIZE_MAX;
}

/* A field; empty if there is no such column. */
static inline struct gang__span gang__table_field(const struct gang__trace_table *table,
                                                  size_t column)
{
    size_t i = table->where[column];
    return i == SIZE_MAX ? (struct gang__span){"", 0} : table->field[i];
}

/* A number times `scale`; the bounds are in the same unit. GANG_EINVAL if the field is empty. */
gang_result gang__table_number(const struct gang__trace_table *table, size_t column, int64_t scale,
                               int64_t min, int64_t max, int64_t *value);
/* The same; an empty field leaves *value alone. */
gang_result gang__table_optional(const struct gang__trace_table *table, size_t column,
                                 int64_t scale, int64_t min, int64_t max, int64_t *value);
/* A time in seconds, or a date. Empty, "None", "NaN" and their like: GANG_TRACE_UNKNOWN. */
gang_result gang__table_time(const struct gang__trace_table *table, size_t column, int64_t *ns);
/* Seconds that a job runs or may run, >= 0. */
gang_result gang__table_run_time(const struct gang__trace_table *table, size_t column, int64_t *ns);
/* A word that is kept; empty: 0. */
gang_result gang__table_word(const struct gang__trace_table *table, size_t column, uint32_t *word);
/* "A|B" */
gang_result gang__table_models(const struct gang__trace_table *table, size_t column,
                               uint32_t *number);
/* Name of the job from its column, and in with it. */
gang_result gang__table_add(const struct gang__trace_table *table, struct gang__trace_draft *draft);

/* Does the text begin with a line that has these columns? */
bool gang__table_is(const char *text, size_t length, const char *const *columns, size_t count);

#endif
