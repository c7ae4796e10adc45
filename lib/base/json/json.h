/* SPDX-License-Identifier: Apache-2.0 */
/* Strict JSON: a parser that says where it fails, a cursor that knows its path, and a writer whose
 * numbers read back the same. The tree between them is jansson's.
 *
 * jansson's own parser is not used: it ignores a token buffer that could not grow (2.14, lex_save()
 * in its file load.c), so that a failed allocation silently drops characters or reads past
 * the buffer, and it cannot say at which path a number or a duplicate key stands. */
#ifndef GANG__BASE_JSON_H
#define GANG__BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

/* ---- text to tree ---------------------------------------------------------------------------- */

/* Limits of a text. */
struct gang__json_limits {
    size_t bytes; /* length of the text */
    size_t depth; /* nesting of objects and arrays */
    /* objects and arrays in all: "{}" needs a hundred times its length in memory */
    size_t containers;
};

/* Parses one object or array with nothing but white space around it. On GANG_OK the caller owns
 * *root (json_decref()). GANG_EPARSE, GANG_EEXIST (a key twice), GANG_ERANGE (a number beyond int64
 * or double), GANG_ELIMIT, each with path, line and column; GANG_ENOMEM. */
gang_result gang__json_parse(const char *text, size_t length,
                             const struct gang__json_limits *limits, const struct gang_mem *mem,
                             json_t **root, struct gang_error *error);

/* Reads a whole file ("-": standard input) of at most `max` bytes; free *text with
 * gang__release(). GANG_EIO, GANG_ELIMIT (a file by its size, before it is read), GANG_ENOMEM. */
gang_result gang__read_file(const char *path, size_t max, const struct gang_mem *mem, char **text,
                            size_t *length, struct gang_error *error);

/* Makes foreign text fit for an error message: clips it, replaces control characters. Use it as
 * gang__printable(text).s within one expression. */
struct gang__printable {
    char s[68];
};
struct gang__printable gang__printable(const char *text);

/* ---- cursor ---------------------------------------------------------------------------------- */

/* A value and the way to it. Lives on the stack; a child points to its parent, which must outlive
 * it. Owns nothing. */
struct gang__json {
    json_t *value;               /* NULL: not there */
    const struct gang__json *up; /* NULL: the root */
    const char *key;             /* name in the object `up`; NULL: element `index` of it */
    size_t index;
    struct gang_error *error; /* NULL allowed */
};

struct gang__json gang__json_root(json_t *root, struct gang_error *error);

/* "[2].jobs[0].tasks[1].gpu"; "" for the root. */
void gang__json_path(const struct gang__json *at, char *path, size_t cap);

/* Fills the error with the path of this value. Returns `code`. */
gang_result gang__json_fail(const struct gang__json *at, gang_result code, const char *fmt, ...)
    GANG__PRINTF(3, 4);

/* The value must be an object with no other keys than these. */
gang_result gang__json_object(const struct gang__json *at, const char *const *keys, size_t count);

/* The value must be an object of at most `max` members, whose keys are data. */
gang_result gang__json_map(const struct gang__json *at, size_t max);

/* Member of an object; false if there is none. `member` knows the path even then. */
bool gang__json_get(const struct gang__json *object, const char *key, struct gang__json *member);

/* The same, where null means the same as absent. */
bool gang__json_get_or_null(const struct gang__json *object, const char *key,
                            struct gang__json *member);

/* The same, but a missing member is an error. */
gang_result gang__json_need(const struct gang__json *object, const char *key,
                            struct gang__json *member);

/* Walks a map in its order: false after the last member. Set member->value to NULL before the first
 * call. */
bool gang__json_next(const struct gang__json *map, struct gang__json *member);

/* The value must be an array of at most `max` elements. */
gang_result gang__json_array(const struct gang__json *at, size_t max, size_t *count);
struct gang__json gang__json_element(const struct gang__json *array, size_t index);

/* Scalars. A number with a fraction or exponent is a whole one if its value is. */
gang_result gang__json_int(const struct gang__json *at, int64_t min, int64_t max, int64_t *number);
gang_result gang__json_int32(const struct gang__json *at, int32_t min, int32_t max,
                             int32_t *number);
/* A number in thousandths, rounded to the nearest; the bounds are in thousandths, too. */
gang_result gang__json_milli(const struct gang__json *at, int64_t min, int64_t max, int64_t *milli);
/* The same in parts; `scale` (1000, 10^6 or 10^9) of them make one. Where a double no longer
 * resolves such parts, counts thousands of them. */
gang_result gang__json_scaled(const struct gang__json *at, int64_t scale, int64_t min, int64_t max,
                              int64_t *scaled);
gang_result gang__json_real(const struct gang__json *at, double min, double max, double *number);
/* true or false, as 1 or 0. */
gang_result gang__json_bool(const struct gang__json *at, int32_t *flag);
/* Text of min..max bytes, borrowed from the tree; a name has no control characters. */
gang_result gang__json_text(const struct gang__json *at, size_t min, size_t max, const char **text);
gang_result gang__json_name(const struct gang__json *at, size_t min, size_t max, const char **text);
/* One of the words; *index is its number. */
gang_result gang__json_choice(const struct gang__json *at, const char *const *words, size_t count,
                              size_t *index);

/* Checks a key of a map like a name. */
gang_result gang__json_key(const struct gang__json *member, size_t max);

/* ---- tree to text ---------------------------------------------------------------------------- */

/* Collects the first failure of a tree under construction. */
struct gang__json_maker {
    gang_result result; /* GANG_OK until something failed */
};

/* Notes a failure, unless there is one already. */
void gang__json_note(struct gang__json_maker *maker, gang_result result);

/* Adds `value` to a container, which takes it over. NULL counts as out of memory. */
void gang__json_put(struct gang__json_maker *maker, json_t *object, const char *key, json_t *value);
void gang__json_push(struct gang__json_maker *maker, json_t *array, json_t *value);

/* New values for put and push. Text that is no UTF-8 and numbers that are not finite are noted as
 * GANG_EINVAL. */
json_t *gang__json_new_text(struct gang__json_maker *maker, const char *text);
json_t *gang__json_new_milli(int64_t milli); /* whole if possible, else with a fraction */
json_t *gang__json_new_scaled(int64_t scaled, int64_t scale);
json_t *gang__json_new_real(struct gang__json_maker *maker, double number); /* the same */

/* Writes a tree, reals with as few digits as read back the same. `indent` 0: one line. GANG_EIO if
 * `write` refuses; GANG_ENOMEM. */
gang_result gang__json_write(json_t *root, size_t indent, gang_write_fn write, void *user);

/* Writes into memory of `mem`, one line, compact; NULL: out of memory. */
char *gang__json_compact(json_t *root, const struct gang_mem *mem);

#endif
