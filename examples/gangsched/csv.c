/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/csv.h"

#include "gangsched/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Longest number of seconds that is taken for one: some 300 years. */
#define MAX_SECONDS INT64_C(10000000000)

/* What a message shows of a field. */
#define SHOWN "%.60s%s"
#define SHOW(text) (text), strlen(text) > 60 ? "..." : ""

bool csv_fail(struct csv *csv, int column, gang_result code, const char *format, ...)
{
    struct gang_error error = GANG_ERROR_INIT;
    va_list arguments;
    error.code = code;
    error.line = csv->line;
    if (column >= 0) {
        snprintf(error.path, sizeof error.path, "column '%.100s'", csv->header[column]);
    }
    va_start(arguments, format);
    vsnprintf(error.text, sizeof error.text, format, arguments);
    va_end(arguments);
    csv->error = error;
    return false;
}

/* ---- bytes ---- */

/* Takes what gzread() could not deliver into csv->error. */
static void fail_reading(struct csv *csv)
{
    int code = Z_OK;
    const char *text = gzerror((gzFile)csv->file, &code);
    if (code == Z_ERRNO) {
        csv_fail(csv, -1, GANG_EIO, "%s", strerror(errno));
        csv->error.line = 0;
    } else if (code == Z_BUF_ERROR) {
        csv_fail(csv, -1, GANG_EPARSE, "the compressed file is cut off");
    } else if (code == Z_MEM_ERROR) {
        csv_no_memory(csv);
    } else {
        csv_fail(csv, -1, GANG_EPARSE, "the compressed file is damaged (%.80s)", text);
    }
}

/* Refill the chunk. 1, 0 at the end, -1 with csv->error set. */
static int fill(struct csv *csv)
{
    errno = 0;
    int got = gzread((gzFile)csv->file, csv->chunk, sizeof csv->chunk);
    int code = Z_OK;
    if (got == 0) {
        gzerror((gzFile)csv->file, &code); /* a file cut off says so only here */
    }
    if (got < 0 || code != Z_OK) {
        fail_reading(csv);
        return -1;
    }
    csv->used = 0;
    csv->filled = (size_t)got;
    return got > 0;
}

/* The next byte, -1 at the end, -2 with csv->error set. */
static int next_byte(struct csv *csv)
{
    if (csv->used == csv->filled) {
        int more = fill(csv);
        if (more <= 0) {
            return more - 1;
        }
    }
    return (unsigned char)csv->chunk[csv->used++];
}

bool csv_no_memory(struct csv *csv)
{
    return csv_fail(csv, -1, GANG_ENOMEM, "out of memory");
}

/* ---- records ---- */

static bool append_byte(struct csv *csv, char byte)
{
    if (csv->record_length == CSV_MAX_RECORD) {
        return csv_fail(csv, -1, GANG_ELIMIT, "longer than 1 MiB");
    }
    if (csv->record_length == csv->record_cap &&
        !cli_grow((void **)&csv->record, &csv->record_cap, csv->record_length, 1)) {
        return csv_no_memory(csv);
    }
    csv->record[csv->record_length++] = byte;
    return true;
}

/* Where the reader is inside a record. */
enum place { FIELD_START, UNQUOTED, QUOTED, QUOTE_IN_QUOTED };

/* What a byte means there. */
enum meaning { KEEP, SKIP, END_FIELD, END_RECORD, WRONG };

static enum meaning judge(struct csv *csv, enum place *place, int byte)
{
    if (byte == '\0') {
        csv_fail(csv, -1, GANG_EPARSE, "contains a NUL byte");
        return WRONG;
    }
    if (*place == QUOTED) {
        if (byte == '"') {
            *place = QUOTE_IN_QUOTED;
            return SKIP;
        }
        csv->next_line += byte == '\n';
        return KEEP;
    }
    if (byte == '"' && *place != UNQUOTED) {
        enum meaning meaning = *place == FIELD_START ? SKIP : KEEP;
        *place = QUOTED;
        return meaning;
    }
    if (byte == ',' || byte == '\n') {
        *place = FIELD_START;
        csv->next_line += byte == '\n';
        return byte == ',' ? END_FIELD : END_RECORD;
    }
    if (byte == '"' || *place == QUOTE_IN_QUOTED) {
        csv_fail(csv, -1, GANG_EPARSE, "a quote inside a field, or text after a quoted one");
        return WRONG;
    }
    *place = UNQUOTED;
    return KEEP;
}

/* A carriage return outside quotes: only as part of CRLF. */
static int after_return(struct csv *csv)
{
    int byte = next_byte(csv);
    if (byte >= -1 && byte != '\n') {
        csv_fail(csv, -1, GANG_EPARSE, "a carriage return that does not end the line");
        return -2;
    }
    return byte;
}

/* Read the bytes of one record, each field ended by a NUL. 1, 0 at the end of the file, -1. */
static int read_record(struct csv *csv, size_t *fields)
{
    enum place place = FIELD_START;
    bool any = false;
    csv->record_length = 0;
    csv->line = csv->next_line;
    *fields = 0;
    for (;;) {
        int byte = next_byte(csv);
        if (byte == '\r' && place != QUOTED) {
            byte = after_return(csv);
        }
        if (byte == -2) {
            return -1;
        }
        if (byte == -1) {
            if (place == QUOTED) {
                csv_fail(csv, -1, GANG_EPARSE, "a quoted field does not end");
                return -1;
            }
            if (any && !append_byte(csv, '\0')) {
                return -1;
            }
            *fields += any;
            return any;
        }
        any = true;
        enum meaning meaning = judge(csv, &place, byte);
        if (meaning == WRONG || (meaning == KEEP && !append_byte(csv, (char)byte)) ||
            ((meaning == END_FIELD || meaning == END_RECORD) && !append_byte(csv, '\0'))) {
            return -1;
        }
        *fields += meaning == END_FIELD || meaning == END_RECORD;
        if (meaning == END_RECORD) {
            return 1;
        }
    }
}

/* Length of the UTF-8 sequence at `text`, 0 if it is none (Unicode 15, table 3-7). */
static size_t utf8_length(const unsigned char *text)
{
    unsigned char first = text[0];
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    size_t length = first < 0x80   ? 1
                    : first < 0xc2 ? 0
                    : first < 0xe0 ? 2
                    : first < 0xf0 ? 3
                    : first < 0xf5 ? 4
                                   : 0;
    for (size_t i = 1; i < length; i++) {
        if (text[i] < (i == 1 ? low : 0x80) || text[i] > (i == 1 ? high : 0xbf)) {
            return 0;
        }
    }
    return length;
}

/* The record ends with a NUL, which no sequence goes past. */
static bool is_utf8(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t step = utf8_length((const unsigned char *)text + i);
        if (step == 0) {
            return false;
        }
        i += step;
    }
    return true;
}

static int read_checked(struct csv *csv, size_t *fields)
{
    int got = read_record(csv, fields);
    if (got == 1 && !is_utf8(csv->record, csv->record_length)) {
        csv_fail(csv, -1, GANG_EPARSE, "is not UTF-8 text");
        return -1;
    }
    return got;
}

/* Point `field` at the `count` fields of a record. */
static void split(char *record, size_t count, char **field)
{
    for (size_t i = 0; i < count; i++) {
        field[i] = record;
        record += strlen(record) + 1;
    }
}

int csv_read(struct csv *csv)
{
    size_t fields = 0;
    int got = read_checked(csv, &fields);
    if (got == 1 && fields != csv->field_count) {
        csv_fail(csv, -1, GANG_EPARSE, "has %zu column%s, the header has %zu", fields,
                 fields == 1 ? "" : "s", csv->field_count);
        return -1;
    }
    if (got == 1) {
        split(csv->record, fields, csv->field);
    }
    return got;
}

/* ---- files ---- */

static bool read_header(struct csv *csv)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark of some editors */
    size_t fields = 0;
    if (fill(csv) < 0) {
        return false;
    }
    if (csv->filled >= strlen(mark) && memcmp(csv->chunk, mark, strlen(mark)) == 0) {
        csv->used = strlen(mark);
    }
    int got = read_checked(csv, &fields);
    if (got < 0) {
        return false;
    }
    if (got == 0) {
        csv_fail(csv, -1, GANG_EPARSE, "the file is empty");
        csv->error.line = 0;
        return false;
    }
    if (fields > CSV_MAX_FIELDS) {
        return csv_fail(csv, -1, GANG_ELIMIT, "more than %d columns", CSV_MAX_FIELDS);
    }
    csv->names = csv->record; /* the records to come get memory of their own */
    csv->record = NULL;
    csv->record_cap = 0;
    split(csv->names, fields, csv->header);
    csv->field_count = fields;
    for (size_t i = 0; i < fields; i++) {
        if (csv_column(csv, csv->header[i]) != (int)i) {
            return csv_fail(csv, -1, GANG_EEXIST, "column '%.100s' is there twice", csv->header[i]);
        }
    }
    return true;
}

bool csv_open(struct csv *csv, const char *path)
{
    memset(csv, 0, sizeof *csv);
    csv->next_line = 1;
    csv->path = path;
    errno = 0;
    if (strcmp(path, "-") == 0) {
        int copy = dup(STDIN_FILENO);
        csv->path = "standard input";
        csv->file = copy >= 0 ? gzdopen(copy, "rb") : NULL;
    } else {
        csv->file = gzopen(path, "rb");
    }
    if (csv->file == NULL) {
        return csv_fail(csv, -1, GANG_EIO, "%s", strerror(errno != 0 ? errno : ENOMEM));
    }
    gzbuffer((gzFile)csv->file, 1 << 17);
    if (!read_header(csv)) {
        csv_close(csv);
        return false;
    }
    return true;
}

void csv_close(struct csv *csv)
{
    gzclose((gzFile)csv->file);
    free(csv->record);
    free(csv->names);
    csv->file = NULL;
    csv->record = csv->names = NULL;
}

/* ---- fields ---- */

int csv_column(const struct csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->field_count; i++) {
        if (strcmp(csv->header[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

bool csv_number(struct csv *csv, int column, int64_t min, int64_t max, int64_t *number)
{
    const char *text = csv->field[column];
    const char *digits = text[0] == '-' ? text + 1 : text;
    int64_t value = 0;
    if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0') {
        return csv_fail(csv, column, GANG_EINVAL, "'" SHOWN "' is not a whole number", SHOW(text));
    }
    if (text[0] == '-') {
        return csv_fail(csv, column, GANG_ERANGE, "'" SHOWN "' is negative", SHOW(text));
    }
    for (; *digits != '\0' && value <= max; digits++) {
        value = value > (INT64_MAX - 9) / 10 ? INT64_MAX : value * 10 + (*digits - '0');
    }
    if (value > max) {
        return csv_fail(csv, column, GANG_ERANGE, "'" SHOWN "' is more than %s", SHOW(text),
                        cli_number(max).s);
    }
    if (value < min) {
        return csv_fail(csv, column, GANG_ERANGE, "'" SHOWN "' is less than %s", SHOW(text),
                        cli_number(min).s);
    }
    *number = value;
    return true;
}

bool csv_seconds(struct csv *csv, int column, int64_t *microseconds)
{
    const char *text = csv->field[column];
    size_t whole = strspn(text, "0123456789");
    size_t decimals = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    int64_t value = 0;
    if (text[0] == '-' && strspn(text + 1, "0123456789.") == strlen(text + 1)) {
        return csv_fail(csv, column, GANG_ERANGE, "'" SHOWN "' is negative", SHOW(text));
    }
    if (whole == 0 || text[whole + (decimals > 0 ? decimals + 1 : 0)] != '\0') {
        return csv_fail(csv, column, GANG_EINVAL, "'" SHOWN "' is not a number of seconds",
                        SHOW(text));
    }
    if (decimals > 6) {
        return csv_fail(csv, column, GANG_ERANGE, "'" SHOWN "' has more than 6 decimals",
                        SHOW(text));
    }
    for (size_t i = 0; i < whole && value <= MAX_SECONDS; i++) {
        value = value * 10 + (text[i] - '0');
    }
    if (value > MAX_SECONDS) {
        return csv_fail(csv, column, GANG_ERANGE, "'" SHOWN "' is more than %s seconds", SHOW(text),
                        cli_number(MAX_SECONDS).s);
    }
    for (size_t i = 0; i < 6; i++) {
        value = value * 10 + (i < decimals ? text[whole + 1 + i] - '0' : 0);
    }
    *microseconds = value;
    return true;
}
