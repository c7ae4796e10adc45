/* SPDX-License-Identifier: Apache-2.0 */
/* Making a tree, and writing it as text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"

void gang__json_note(struct gang__json_maker *maker, gang_result result)
{
    if (maker->result == GANG_OK)
        maker->result = result;
}

void gang__json_put(struct gang__json_maker *maker, json_t *object, const char *key, json_t *value)
{
    if (!key || !gang__utf8_valid(key)) {
        json_decref(value);
        gang__json_note(maker, GANG_EINVAL);
    } else if (json_object_set_new_nocheck(object, key, value) != 0) {
        gang__json_note(maker, GANG_ENOMEM); /* jansson has freed `value`; NULL gets here, too */
    }
}

void gang__json_push(struct gang__json_maker *maker, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        gang__json_note(maker, GANG_ENOMEM);
}

json_t *gang__json_new_text(struct gang__json_maker *maker, const char *text)
{
    if (!text || !gang__utf8_valid(text)) {
        gang__json_note(maker, GANG_EINVAL);
        return NULL;
    }
    return json_string_nocheck(text);
}

json_t *gang__json_new_milli(int64_t milli)
{
    return gang__json_new_scaled(milli, 1000);
}

json_t *gang__json_new_scaled(int64_t scaled, int64_t scale)
{
    for (; scale > 1 && scaled % 1000 == 0; scale /= 1000)
        scaled /= 1000;
    return scale == 1 ? json_integer(scaled) : json_real((double)scaled / (double)scale);
}

json_t *gang__json_new_real(struct gang__json_maker *maker, double number)
{
    if (!isfinite(number)) {
        gang__json_note(maker, GANG_EINVAL);
        return NULL;
    }
    if (floor(number) == number && fabs(number) < 0x1p53)
        return json_integer((json_int_t)number);
    return json_real(number);
}

/* The digits, 15 to 17, with which every real of the tree reads back the same. 15 digits are the
 * most that show 0.1 as 0.1. */
static int digits_needed(json_t *value, int digits)
{
    size_t i;
    const char *key;
    json_t *child;
    if (json_is_real(value)) {
        char text[40];
        double real = json_real_value(value);
        for (; digits < 17; digits++) {
            snprintf(text, sizeof(text), "%.*g", digits, real);
            if (strtod(text, NULL) == real)
                break;
        }
    } else if (json_is_array(value)) {
        json_array_foreach (value, i, child)
            digits = digits_needed(child, digits);
    } else if (json_is_object(value)) {
        json_object_foreach (value, key, child)
            digits = digits_needed(child, digits);
    }
    return digits;
}

struct sink {
    gang_write_fn write;
    void *user;
    bool refused;
};

static int sink_write(const char *bytes, size_t length, void *user)
{
    struct sink *sink = user;
    if (!sink->refused && sink->write(bytes, length, sink->user) != 0)
        sink->refused = true;
    return sink->refused ? -1 : 0;
}

gang_result gang__json_write(json_t *root, size_t indent, gang_write_fn write, void *user)
{
    struct sink sink = {write, user, false};
    size_t flags = JSON_REAL_PRECISION((size_t)digits_needed(root, 15));
    flags |= indent ? JSON_INDENT(indent) : 0;
    int failed = json_dump_callback(root, sink_write, &sink, flags);
    if (sink.refused) /* jansson passes on a refusal only of most pieces */
        return GANG_EIO;
    return failed ? GANG_ENOMEM : GANG_OK;
}

struct text_sink {
    const struct gang_mem *mem;
    void *text;
    size_t cap;
    size_t used;
    bool failed;
};

static int text_write(const char *bytes, size_t length, void *user)
{
    struct text_sink *sink = user;
    if (sink->failed ||
        !gang__grow(sink->mem, &sink->text, &sink->cap, sink->used + length + 1, 1)) {
        sink->failed = true;
        return -1;
    }
    memcpy((char *)sink->text + sink->used, bytes, length);
    sink->used += length;
    return 0;
}

char *gang__json_compact(json_t *root, const struct gang_mem *mem)
{
    struct text_sink sink = {mem, NULL, 0, 0, false};
    size_t flags = JSON_COMPACT | JSON_REAL_PRECISION((size_t)digits_needed(root, 15));
    if (json_dump_callback(root, text_write, &sink, flags) != 0 || sink.failed) {
        gang__release(mem, sink.text);
        return NULL;
    }
    ((char *)sink.text)[sink.used] = '\0';
    return sink.text;
}
