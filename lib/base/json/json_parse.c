/* SPDX-License-Identifier: Apache-2.0 */
/* From text to a tree: objects, arrays and literals, and the limits on depth and containers. */
#include <string.h>

#include "base/json/json_token.h"

static gang_result parse_value(struct gang__json_parser *p, struct gang__json *at, size_t depth,
                               json_t **value);

/* Parses one element or member into its container, which takes it over. */
static gang_result parse_element(struct gang__json_parser *p, const struct gang__json *at,
                                 size_t index, size_t depth, json_t *array)
{
    struct gang__json element = {NULL, at, NULL, index, p->error};
    json_t *value;
    gang_result r = parse_value(p, &element, depth, &value);
    if (r != GANG_OK)
        return r;
    if (json_array_append_new(array, value) != 0)
        return gang__parse_fail(p, &element, p->pos, GANG_ENOMEM, "out of memory");
    return GANG_OK;
}

static gang_result parse_array(struct gang__json_parser *p, const struct gang__json *at,
                               size_t depth, json_t *array)
{
    p->pos++;
    gang__parse_space(p);
    if (gang__parse_skip(p, ']'))
        return GANG_OK;
    for (size_t i = 0;; i++) {
        gang_result r = parse_element(p, at, i, depth, array);
        if (r != GANG_OK)
            return r;
        gang__parse_space(p);
        if (gang__parse_skip(p, ']'))
            return GANG_OK;
        if (!gang__parse_skip(p, ','))
            return gang__parse_unexpected(p, at, "',' or ']'");
    }
}

static gang_result parse_member(struct gang__json_parser *p, const struct gang__json *at,
                                size_t depth, json_t *object)
{
    gang__parse_space(p);
    if (p->pos >= p->length || p->text[p->pos] != '"')
        return gang__parse_unexpected(p, at, "a key in quotes");
    size_t start = p->pos;
    gang_result r = gang__parse_string(p, at);
    if (r != GANG_OK)
        return r;
    char *key = gang__strdup(p->mem, p->scratch);
    if (!key)
        return gang__parse_fail(p, at, start, GANG_ENOMEM, "out of memory");
    struct gang__json member = {NULL, at, key, 0, p->error};
    json_t *value = NULL;
    if (json_object_get(object, key)) {
        r = gang__parse_fail(p, &member, start, GANG_EEXIST, "the key is there twice");
        goto out;
    }
    gang__parse_space(p);
    if (!gang__parse_skip(p, ':')) {
        r = gang__parse_unexpected(p, &member, "':'");
        goto out;
    }
    r = parse_value(p, &member, depth, &value);
    if (r == GANG_OK && json_object_set_new_nocheck(object, key, value) != 0)
        r = gang__parse_fail(p, &member, p->pos, GANG_ENOMEM, "out of memory");
out:
    gang__release(p->mem, key);
    return r;
}

static gang_result parse_object(struct gang__json_parser *p, const struct gang__json *at,
                                size_t depth, json_t *object)
{
    p->pos++;
    gang__parse_space(p);
    if (gang__parse_skip(p, '}'))
        return GANG_OK;
    while (true) {
        gang_result r = parse_member(p, at, depth, object);
        if (r != GANG_OK)
            return r;
        gang__parse_space(p);
        if (gang__parse_skip(p, '}'))
            return GANG_OK;
        if (!gang__parse_skip(p, ','))
            return gang__parse_unexpected(p, at, "',' or '}'");
    }
}

static gang_result parse_container(struct gang__json_parser *p, const struct gang__json *at,
                                   size_t depth, json_t **value)
{
    bool array = p->text[p->pos] == '[';
    if (depth >= p->max_depth)
        return gang__parse_fail(p, at, p->pos, GANG_ELIMIT, "nested too deeply");
    if (p->containers_left-- == 0)
        return gang__parse_fail(p, at, p->pos, GANG_ELIMIT, "too many objects and arrays");
    json_t *container = array ? json_array() : json_object();
    if (!container)
        return gang__parse_fail(p, at, p->pos, GANG_ENOMEM, "out of memory");
    gang_result r = array ? parse_array(p, at, depth + 1, container)
                          : parse_object(p, at, depth + 1, container);
    if (r != GANG_OK) {
        json_decref(container);
        return r;
    }
    *value = container;
    return GANG_OK;
}

static gang_result parse_literal(struct gang__json_parser *p, const struct gang__json *at,
                                 json_t **value)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if (p->length - p->pos >= length && memcmp(p->text + p->pos, words[i], length) == 0) {
            p->pos += length;
            *value = i == 0 ? json_true() : i == 1 ? json_false() : json_null();
            return GANG_OK;
        }
    }
    return gang__parse_unexpected(p, at, "a value");
}

/* Recursive; the limit on depth bounds it. */
static gang_result parse_value(struct gang__json_parser *p, struct gang__json *at, size_t depth,
                               json_t **value)
{
    *value = NULL;
    gang__parse_space(p);
    if (p->pos >= p->length)
        return gang__parse_unexpected(p, at, "a value");
    char c = p->text[p->pos];
    if (c == '{' || c == '[')
        return parse_container(p, at, depth, value);
    if (c == '-' || (c >= '0' && c <= '9'))
        return gang__parse_number(p, at, value);
    if (c != '"')
        return parse_literal(p, at, value);
    gang_result r = gang__parse_string(p, at);
    if (r != GANG_OK)
        return r;
    *value = json_stringn_nocheck(p->scratch, p->scratch_length);
    return *value ? GANG_OK : gang__parse_fail(p, at, p->pos, GANG_ENOMEM, "out of memory");
}

gang_result gang__json_parse(const char *text, size_t length,
                             const struct gang__json_limits *limits, const struct gang_mem *mem,
                             json_t **root, struct gang_error *error)
{
    *root = NULL;
    if (length > limits->bytes)
        return gang__error(error, GANG_ELIMIT, NULL, "the text is longer than %zu bytes",
                           limits->bytes);
    struct gang__json_parser p = {.text = text,
                                  .length = length,
                                  .max_depth = limits->depth,
                                  .containers_left = limits->containers,
                                  .mem = mem,
                                  .error = error};
    struct gang__json at = gang__json_root(NULL, error);
    json_t *value = NULL;
    gang_result r;
    gang__parse_space(&p);
    if (p.pos >= length || (text[p.pos] != '{' && text[p.pos] != '['))
        r = gang__parse_unexpected(&p, &at, "an object or an array");
    else
        r = parse_value(&p, &at, 0, &value);
    if (r == GANG_OK) {
        gang__parse_space(&p);
        if (p.pos < length)
            r = gang__parse_unexpected(&p, &at, "the end of the text");
    }
    gang__release(mem, p.scratch);
    if (r != GANG_OK) {
        json_decref(value);
        return r;
    }
    *root = value;
    return GANG_OK;
}
