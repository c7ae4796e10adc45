/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values: lines, fields, columns. */
#include "trace/trace_table_in.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- errors ---- */

static int64_t column_of(const struct gang__trace_table *t, const char *at)
{
    int64_t column = 1;
    for (const char *s = t->begin; s < at; s++)
        column += ((unsigned char)*s & 0xc0) != 0x80; /* characters, not bytes */
    return column;
}

static void place(const struct gang__trace_table *t, const char *at)
{
    t->reader->error->line = t->line;
    if (at >= t->begin && at <= t->end)
        t->reader->error->column = column_of(t, at);
}

gang_result gang__table_fail(const struct gang__trace_table *t, size_t column, gang_result code,
                             const char *fmt, ...)
{
    char text[sizeof(t->reader->error->text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    gang__error(t->reader->error, code,
                t->called[column] ? t->called[column] : t->format->columns[column], "%s", text);
    place(t, gang__table_has(t, column) ? gang__table_field(t, column).s : t->begin);
    return code;
}

/* A failure of the text itself, at one of its bytes. */
static gang_result broken(const struct gang__trace_table *t, const char *at, gang_result code,
                          const char *what)
{
    gang__error(t->reader->error, code, NULL, "%s", what);
    place(t, at);
    return code;
}

/* ---- fields ---- */

static gang_result add_field(struct gang__trace_table *t, const char *s, size_t n)
{
    void *list = t->field;
    if (!gang__grow(&t->reader->trace->mem, &list, &t->field_cap, t->fields + 1, sizeof(*t->field)))
        return broken(t, t->begin, GANG_ENOMEM, "out of memory");
    t->field = list;
    t->field[t->fields++] = (struct gang__span){s, n};
    return GANG_OK;
}

/* Where the field in quotes that begins at `s` ends: at its closing quote. NULL: nowhere. */
static const char *closing_quote(const char *s, const char *stop, bool *has_quotes)
{
    *has_quotes = false;
    for (s++; s < stop; s++) {
        if (*s != '"')
            continue;
        if (s + 1 == stop || s[1] != '"')
            return s;
        *has_quotes = true;
        s++;
    }
    return NULL;
}

/* Without the doubling of quotes; the buffer is large enough for the whole record. */
static struct gang__span without_quotes(struct gang__trace_table *t, const char *s, size_t n)
{
    char *to = (char *)t->scratch + t->scratch_used;
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        to[length++] = s[i];
        i += s[i] == '"';
    }
    t->scratch_used += length;
    return (struct gang__span){to, length};
}

static gang_result quoted_field(struct gang__trace_table *t, const char **s, const char *stop)
{
    bool has_quotes;
    const char *begin = *s + 1;
    const char *close = closing_quote(*s, stop, &has_quotes);
    if (!close)
        return broken(t, *s, GANG_EPARSE, "a quoted field does not end in its line");
    if (close + 1 < stop && close[1] != ',')
        return broken(t, close + 1, GANG_EPARSE, "text after a quoted field");
    struct gang__span field = {begin, (size_t)(close - begin)};
    if (has_quotes) {
        if (!gang__grow(&t->reader->trace->mem, &t->scratch, &t->scratch_cap,
                        (size_t)(stop - t->begin), 1))
            return broken(t, *s, GANG_ENOMEM, "out of memory");
        field = without_quotes(t, begin, field.n);
    }
    *s = close + 1;
    return add_field(t, field.s, field.n);
}

static gang_result plain_field(struct gang__trace_table *t, const char **s, const char *stop)
{
    const char *begin = *s;
    for (; *s < stop && **s != ','; (*s)++)
        if (**s == '"' || **s == '\0')
            return broken(t, *s, GANG_EPARSE,
                          **s ? "a quote inside a field without quotes" : "a NUL byte");
    return add_field(t, begin, (size_t)(*s - begin));
}

/* The next line that is not blank. GANG_OK; GANG_ENOENT: there is none; what is wrong with it. */
static gang_result next_record(struct gang__trace_table *t)
{
    const char *stop;
    do {
        if (t->at == t->end)
            return GANG_ENOENT;
        t->begin = t->at;
        t->line++;
        stop = memchr(t->at, '\n', (size_t)(t->end - t->at));
        t->at = stop ? stop + 1 : t->end;
        stop = stop ? stop : t->end;
        stop -= stop > t->begin && stop[-1] == '\r';
    } while (stop == t->begin);
    /* A field's text in the scratch moves when that grows: it does so once, before the first of
     * them. */
    t->fields = t->scratch_used = 0;
    for (const char *s = t->begin;; s++) {
        GANG__TRACE_TRY(s < stop && *s == '"' ? quoted_field(t, &s, stop)
                                              : plain_field(t, &s, stop));
        if (s == stop)
            return GANG_OK;
    }
}

/* ---- header ---- */

/* format->count: there is none of this name. `called` is an older name, if it is one. */
static size_t known_column(const struct gang__trace_format *format, struct gang__span name,
                           const char **called)
{
    const struct gang__trace_alias *alias = format->aliases;
    size_t i = 0;
    *called = NULL;
    while (i < format->count && !gang__span_is(name, format->columns[i]))
        i++;
    if (i < format->count || !alias)
        return i;
    while (alias->name && !gang__span_is(name, alias->name))
        alias++;
    *called = alias->name;
    return alias->name ? alias->column : i;
}

static gang_result take_column(struct gang__trace_table *t, size_t field)
{
    char what[160];
    const char *called;
    size_t column = known_column(t->format, t->field[field], &called);
    if (column < t->format->count && t->where[column] == SIZE_MAX) {
        t->where[column] = field;
        t->called[column] = called;
        return GANG_OK;
    }
    if (column == t->format->count && !t->format->is_strict)
        return GANG_OK;
    int shown = t->field[field].n < 60 ? (int)t->field[field].n : 60;
    char name[64];
    snprintf(name, sizeof(name), "%.*s", shown, t->field[field].s);
    snprintf(what, sizeof(what), "column '%s' %s", gang__printable(name).s,
             column == t->format->count ? "is not known" : "is there twice");
    return broken(t, t->field[field].s, column == t->format->count ? GANG_EINVAL : GANG_EEXIST,
                  what);
}

static gang_result read_header(struct gang__trace_table *t)
{
    gang_result r = next_record(t);
    if (r == GANG_ENOENT) {
        gang__error(t->reader->error, GANG_EPARSE, NULL, "no header");
        t->reader->error->line = 1;
        return GANG_EPARSE;
    }
    GANG__TRACE_TRY(r);
    t->width = t->fields;
    for (size_t i = 0; i < t->fields; i++)
        GANG__TRACE_TRY(take_column(t, i));
    for (size_t i = 0; i < t->format->count; i++) {
        if (t->format->needed >> i & 1 && t->where[i] == SIZE_MAX) {
            gang__error(t->reader->error, GANG_EPARSE, t->format->columns[i], "no such column");
            t->reader->error->line = t->line;
            return GANG_EPARSE;
        }
    }
    return GANG_OK;
}

/* The columns are known beforehand; some hand the files on with a header nonetheless. */
static void fixed_columns(struct gang__trace_table *t)
{
    t->width = t->format->count;
    for (size_t i = 0; i < t->width; i++)
        t->where[i] = i;
    if (gang__table_is(t->at, (size_t)(t->end - t->at), t->format->columns, t->width) &&
        next_record(t) != GANG_OK)
        t->at = t->end; /* not reached: the line was just read */
}

/* ---- all of it ---- */

static gang_result read_rows(struct gang__trace_table *t)
{
    while (!gang__trace_full(t->reader)) {
        gang_result r = next_record(t);
        if (r == GANG_ENOENT)
            break;
        GANG__TRACE_TRY(r);
        if (t->fields != t->width) {
            gang__error(t->reader->error, GANG_EPARSE, NULL, "%zu fields, not %zu", t->fields,
                        t->width);
            place(t, t->begin);
            return GANG_EPARSE;
        }
        t->reader->line = t->line;
        GANG__TRACE_TRY(gang__trace_accept(t->reader, t->format->row(t), 1));
    }
    return t->format->finish ? t->format->finish(t) : GANG_OK;
}

gang_result gang__table_read(struct gang__trace_reader *reader,
                             const struct gang__trace_format *format, void *user)
{
    struct gang__trace_table t = {.reader = reader,
                                  .format = format,
                                  .user = user,
                                  .at = reader->text,
                                  .end = reader->text + reader->length,
                                  .begin = reader->text};
    for (size_t i = 0; i < GANG__TRACE_MAX_COLUMNS; i++)
        t.where[i] = SIZE_MAX;
    gang_result r = GANG_OK;
    if (format->has_no_header)
        fixed_columns(&t);
    else
        r = read_header(&t);
    if (r == GANG_OK)
        r = read_rows(&t);
    gang__release(&reader->trace->mem, t.field);
    gang__release(&reader->trace->mem, t.scratch);
    return r;
}

bool gang__table_is(const char *text, size_t length, const char *const *columns, size_t count)
{
    const char *stop = memchr(text, '\n', length);
    stop = stop ? stop : text + length;
    stop -= stop > text && stop[-1] == '\r';
    uint32_t found = 0;
    for (const char *s = text, *field = text; s <= stop; s++) {
        if (s < stop && *s != ',')
            continue;
        struct gang__span name = {field, (size_t)(s - field)};
        if (name.n > 1 && name.s[0] == '"' && s[-1] == '"')
            name = (struct gang__span){field + 1, name.n - 2};
        for (size_t i = 0; i < count; i++)
            found |= (uint32_t)gang__span_is(name, columns[i]) << i;
        field = s + 1;
    }
    return found == (UINT32_C(1) << count) - 1;
}

gang_result gang__table_add(const struct gang__trace_table *t, struct gang__trace_draft *draft)
{
    struct gang_error *error = t->reader->error;
    draft->name = gang__table_field(t, t->format->name);
    gang_result r = gang__trace_add(t->reader->trace, draft, error);
    if (r == GANG_OK)
        return r;
    if (strcmp(error->path, "name") == 0) {
        char text[sizeof(error->text)];
        memcpy(text, error->text, sizeof(text));
        return gang__table_fail(t, t->format->name, r, "%s", text);
    }
    place(t, t->begin);
    return r;
}
