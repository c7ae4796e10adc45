/* SPDX-License-Identifier: Apache-2.0 */
/* Text for messages, paths, and the cursor. */
#include "base/json/json.h"
#include "base/closest.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    KEY_SHOWN = 60, /* bytes of a key that a path shows */
    PATH_MAX_DEPTH = 256
};

/* 2^53: up to here a double holds every whole number. */
static const double EXACT_MAX = 9007199254740992.0;
/* 2^50: below this many parts, a number and its parts convert into each other exactly. */
static const double FINE_MAX = 1125899906842624.0;

/* ---- text for messages ----------------------------------------------------------------------- */

/* Appends foreign text of at most `max` bytes to a buffer of `cap`; replaces by '?' what cannot
 * be shown. Returns the new length. */
static size_t append_clean(char *to, size_t cap, size_t used, const char *text, size_t max)
{
    size_t length = strlen(text);
    size_t shown = 0;
    while (shown < length) {
        size_t step = gang__utf8_length(text + shown, length - shown);
        size_t bytes = step ? step : 1;
        if (shown + bytes > max) {
            if (used + 3 < cap)
                used += (size_t)snprintf(to + used, cap - used, "...");
            break;
        }
        if (used + bytes >= cap)
            break;
        if (step == 0 || gang__is_control(text + shown)) {
            to[used++] = '?';
        } else {
            memcpy(to + used, text + shown, step);
            used += step;
        }
        shown += bytes;
    }
    to[used] = '\0';
    return used;
}

struct gang__printable gang__printable(const char *text)
{
    struct gang__printable word;
    append_clean(word.s, sizeof(word.s), 0, text, sizeof(word.s) - 5);
    return word;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool plain_key(const char *key)
{
    size_t length = strlen(key);
    return length > 0 && length <= KEY_SHOWN &&
           strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
               length;
}

static size_t append_segment(char *path, size_t cap, size_t used, const struct gang__json *at)
{
    char step[KEY_SHOWN + 16];
    if (!at->key) {
        snprintf(step, sizeof(step), "[%zu]", at->index);
    } else if (plain_key(at->key)) {
        snprintf(step, sizeof(step), "%s%s", used ? "." : "", at->key);
    } else {
        step[0] = '[';
        step[1] = '"';
        size_t end = append_clean(step, sizeof(step) - 2, 2, at->key, KEY_SHOWN);
        step[end] = '"';
        step[end + 1] = ']';
        step[end + 2] = '\0';
    }
    return append_clean(path, cap, used, step, sizeof(step));
}

void gang__json_path(const struct gang__json *at, char *path, size_t cap)
{
    const struct gang__json *steps[PATH_MAX_DEPTH];
    size_t count = 0;
    for (; at->up && count < PATH_MAX_DEPTH; at = at->up)
        steps[count++] = at;
    size_t used = 0;
    path[0] = '\0';
    while (count > 0)
        used = append_segment(path, cap, used, steps[--count]);
}

gang_result gang__json_fail(const struct gang__json *at, gang_result code, const char *fmt, ...)
{
    if (!at->error)
        return code;
    char path[sizeof(at->error->path)];
    char text[sizeof(at->error->text)];
    gang__json_path(at, path, sizeof(path));
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return gang__error(at->error, code, path, "%s", text);
}

/* ---- cursor ---------------------------------------------------------------------------------- */

struct gang__json gang__json_root(json_t *root, struct gang_error *error)
{
    return (struct gang__json){root, NULL, NULL, 0, error};
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_NULL:
        return "null";
    default:
        return "true or false";
    }
}

static gang_result wrong_type(const struct gang__json *at, const char *expected)
{
    if (!at->value)
        return gang__json_fail(at, GANG_EINVAL, "missing");
    return gang__json_fail(at, GANG_EINVAL, "must be %s, not %s", expected, type_name(at->value));
}

static gang_result unknown_key(const struct gang__json *member, const char *const *keys,
                               size_t count)
{
    const char *meant = gang__closest(member->key, keys, count);
    if (!meant)
        return gang__json_fail(member, GANG_EINVAL, "unknown key");
    return gang__json_fail(member, GANG_EINVAL, "unknown key; did you mean '%s'?", meant);
}

gang_result gang__json_object(const struct gang__json *at, const char *const *keys, size_t count)
{
    if (!json_is_object(at->value))
        return wrong_type(at, "an object");
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    while (gang__json_next(at, &member)) {
        size_t i = 0;
        while (i < count && strcmp(member.key, keys[i]) != 0)
            i++;
        if (i == count)
            return unknown_key(&member, keys, count);
    }
    return GANG_OK;
}

gang_result gang__json_map(const struct gang__json *at, size_t max)
{
    if (!json_is_object(at->value))
        return wrong_type(at, "an object");
    if (json_object_size(at->value) > max)
        return gang__json_fail(at, GANG_ELIMIT, "has more than %zu members", max);
    return GANG_OK;
}

bool gang__json_get(const struct gang__json *object, const char *key, struct gang__json *member)
{
    *member =
        (struct gang__json){json_object_get(object->value, key), object, key, 0, object->error};
    return member->value != NULL;
}

bool gang__json_get_or_null(const struct gang__json *object, const char *key,
                            struct gang__json *member)
{
    if (gang__json_get(object, key, member) && json_is_null(member->value))
        member->value = NULL;
    return member->value != NULL;
}

gang_result gang__json_need(const struct gang__json *object, const char *key,
                            struct gang__json *member)
{
    if (!gang__json_get(object, key, member))
        return gang__json_fail(member, GANG_EINVAL, "missing");
    return GANG_OK;
}

bool gang__json_next(const struct gang__json *map, struct gang__json *member)
{
    void *iter = member->value
                     ? json_object_iter_next(map->value, json_object_key_to_iter(member->key))
                     : json_object_iter(map->value);
    if (!iter)
        return false;
    *member = (struct gang__json){json_object_iter_value(iter), map, json_object_iter_key(iter), 0,
                                  map->error};
    return true;
}

gang_result gang__json_array(const struct gang__json *at, size_t max, size_t *count)
{
    *count = 0;
    if (!json_is_array(at->value))
        return wrong_type(at, "an array");
    if (json_array_size(at->value) > max)
        return gang__json_fail(at, GANG_ELIMIT, "has more than %zu elements", max);
    *count = json_array_size(at->value);
    return GANG_OK;
}

struct gang__json gang__json_element(const struct gang__json *array, size_t index)
{
    return (struct gang__json){json_array_get(array->value, index), array, NULL, index,
                               array->error};
}

gang_result gang__json_int(const struct gang__json *at, int64_t min, int64_t max, int64_t *number)
{
    int64_t value;
    if (json_is_integer(at->value)) {
        value = json_integer_value(at->value);
    } else if (json_is_real(at->value)) {
        double real = json_real_value(at->value);
        if (floor(real) != real)
            return gang__json_fail(at, GANG_EINVAL, "must be a whole number");
        if (fabs(real) > EXACT_MAX)
            return gang__json_fail(at, GANG_ERANGE, "number out of range");
        value = (int64_t)real;
    } else {
        return wrong_type(at, "a whole number");
    }
    if (value < min)
        return gang__json_fail(at, GANG_ERANGE, "must be at least %" PRId64, min);
    if (value > max)
        return gang__json_fail(at, GANG_ERANGE, "must be at most %" PRId64, max);
    *number = value;
    return GANG_OK;
}

gang_result gang__json_int32(const struct gang__json *at, int32_t min, int32_t max, int32_t *number)
{
    int64_t value = 0;
    gang_result r = gang__json_int(at, min, max, &value);
    if (r == GANG_OK)
        *number = (int32_t)value;
    return r;
}

/* A number that is not whole, in parts: as fine as a double can represent. */
static int64_t scale_real(double real, int64_t scale)
{
    int64_t coarse = 1;
    while (coarse < scale && fabs(real) * (double)(scale / coarse) >= FINE_MAX)
        coarse *= 1000;
    return llround(real * (double)(scale / coarse)) * coarse;
}

gang_result gang__json_scaled(const struct gang__json *at, int64_t scale, int64_t min, int64_t max,
                              int64_t *scaled)
{
    if (!json_is_number(at->value))
        return wrong_type(at, "a number");
    int64_t value = 0;
    bool low = false;
    bool high = false;
    if (json_is_integer(at->value)) {
        int64_t whole = json_integer_value(at->value);
        high = whole > INT64_MAX / scale;
        low = whole < INT64_MIN / scale;
        value = high || low ? 0 : whole * scale;
    } else {
        double real = json_real_value(at->value);
        double bound = 9.2e18 / (double)scale;
        high = real > bound;
        low = real < -bound || (real < 0 && min >= 0); /* -0.0001 is not 0 */
        value = high || low ? 0 : scale_real(real, scale);
    }
    if (low || (!high && value < min))
        return gang__json_fail(at, GANG_ERANGE, "must be at least %.15g",
                               (double)min / (double)scale);
    if (high || value > max)
        return gang__json_fail(at, GANG_ERANGE, "must be at most %.15g",
                               (double)max / (double)scale);
    *scaled = value;
    return GANG_OK;
}

gang_result gang__json_milli(const struct gang__json *at, int64_t min, int64_t max, int64_t *milli)
{
    return gang__json_scaled(at, 1000, min, max, milli);
}

gang_result gang__json_real(const struct gang__json *at, double min, double max, double *number)
{
    if (!json_is_number(at->value))
        return wrong_type(at, "a number");
    double value = json_number_value(at->value);
    if (value < min)
        return gang__json_fail(at, GANG_ERANGE, "must be at least %.15g", min);
    if (value > max)
        return gang__json_fail(at, GANG_ERANGE, "must be at most %.15g", max);
    *number = value;
    return GANG_OK;
}

gang_result gang__json_bool(const struct gang__json *at, int32_t *flag)
{
    if (!json_is_boolean(at->value))
        return wrong_type(at, "true or false");
    *flag = json_is_true(at->value);
    return GANG_OK;
}

/* Checks the bounds of a text, and that a name has no control characters. */
static gang_result check_text(const struct gang__json *at, const char *text, size_t min, size_t max,
                              bool name)
{
    size_t length = strlen(text);
    if (length < min)
        return gang__json_fail(at, GANG_EINVAL, "must not be empty");
    if (length > max)
        return gang__json_fail(at, GANG_ELIMIT, "is longer than %zu bytes", max);
    for (size_t i = 0; name && i < length; i++)
        if (gang__is_control(text + i))
            return gang__json_fail(at, GANG_EINVAL, "holds a control character");
    return GANG_OK;
}

static gang_result get_text(const struct gang__json *at, size_t min, size_t max, bool name,
                            const char **text)
{
    if (!json_is_string(at->value))
        return wrong_type(at, "a string");
    const char *value = json_string_value(at->value);
    gang_result r = check_text(at, value, min, max, name);
    if (r == GANG_OK)
        *text = value;
    return r;
}

gang_result gang__json_text(const struct gang__json *at, size_t min, size_t max, const char **text)
{
    return get_text(at, min, max, false, text);
}

gang_result gang__json_name(const struct gang__json *at, size_t min, size_t max, const char **text)
{
    return get_text(at, min, max, true, text);
}

gang_result gang__json_key(const struct gang__json *member, size_t max)
{
    return check_text(member, member->key, 1, max, true);
}

gang_result gang__json_choice(const struct gang__json *at, const char *const *words, size_t count,
                              size_t *index)
{
    if (!json_is_string(at->value))
        return wrong_type(at, "a string");
    const char *text = json_string_value(at->value);
    char list[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            *index = i;
            return GANG_OK;
        }
        if (used < sizeof(list))
            used +=
                (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", words[i]);
    }
    return gang__json_fail(at, GANG_EINVAL, "'%s' is none of %s", gang__printable(text).s, list);
}
