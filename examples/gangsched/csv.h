/* SPDX-License-Identifier: Apache-2.0 */
/* A strict reader of comma-separated values (RFC 4180), plain or compressed with gzip.
 *
 * The first record is the header. Lines end with LF or CRLF; fields may be quoted. Refused, with
 * line and column: text that is not UTF-8, NUL bytes, stray quotes and carriage returns, records
 * with more or fewer fields than the header, records longer than CSV_MAX_RECORD (at once, without
 * reading on), a compressed file that is cut off. */
#ifndef GANGSCHED_CSV_H
#define GANGSCHED_CSV_H

#include <gangsched/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CSV_MAX_RECORD = 1 << 20, /* bytes */
    CSV_MAX_FIELDS = 256
};

struct csv {
    const char *path;             /* for messages; borrowed */
    struct gang_error error;      /* set when a function failed */
    int64_t line;                 /* of the current record's first byte */
    size_t field_count;           /* of every record, as the header has them */
    char *field[CSV_MAX_FIELDS];  /* of the current record; until the next csv_read() */
    char *header[CSV_MAX_FIELDS]; /* names of the columns */

    void *file; /* gzFile */
    char *record;
    size_t record_length;
    size_t record_cap;
    char *names; /* what `header` points into */
    int64_t next_line;
    size_t used; /* bytes of `chunk` that were taken */
    size_t filled;
    char chunk[65536];
};

/* Open a file ("-": standard input) and read its header. Returns false with csv->error set; then
 * and only then csv_close() is not needed. */
bool csv_open(struct csv *csv, const char *path);
void csv_close(struct csv *csv);

/* The next record. 1, 0 at the end, -1 with csv->error set. */
int csv_read(struct csv *csv);

/* Number of a column by name, -1 if there is none. */
int csv_column(const struct csv *csv, const char *name);

/* The field of a column as a whole number in [least, most]. On failure csv->error tells. */
bool csv_number(struct csv *csv, int column, int64_t min, int64_t max, int64_t *number);

/* The field of a column as seconds, not negative, with up to six decimals; in microseconds. */
bool csv_seconds(struct csv *csv, int column, int64_t *microseconds);

/* Set csv->error at the current record; column -1: none in particular. Returns false. */
bool csv_fail(struct csv *csv, int column, gang_result code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for memory that ran out. */
bool csv_no_memory(struct csv *csv);

#endif
