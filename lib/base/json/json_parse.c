/* SPDX-License-Identifier: Apache-2.0 */
/* From a file to text, and from text to a tree. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json/json.h"

enum { NUMBER_MAX = 255 }; /* characters of one number */

/* ---- parser ---------------------------------------------------------------------------------- */

struct parser {
    const char *text;
    size_t length;
    size_t pos;
    size_t max_depth;
    size_t containers_left;
    const struct gang_mem *mem;
    char *scratch; /* the string that was read last, NUL-terminated */
    size_t scratch_cap;
    size_t scratch_length;
    struct gang_error *error;
};

/* Fails at byte `pos` of the text. */
static gang_result parse_fail(const struct parser *p, const struct gang__json *at, size_t pos,
                              gang_result code, const char *what)
{
    gang__json_fail(at, code, "%s", what);
    struct gang_error *error = p->error;
    if (!error || error->size < offsetof(struct gang_error, path))
        return code;
    int64_t line = 1;
    int64_t column = 1;
    for (size_t i = 0; i < pos && i < p->length; i++) {
        if (p->text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)p->text[i] & 0xc0) != 0x80) {
            column++; /* columns are characters, not bytes */
        }
    }
    error->line = line;
    error->column = column;
    return code;
}

static gang_result parse_unexpected(const struct parser *p, const struct gang__json *at,
                                    const char *expected)
{
    char what[128];
    if (p->pos >= p->length) {
        snprintf(what, sizeof(what), "the text ends where %s should be", expected);
        return parse_fail(p, at, p->pos, GANG_EPARSE, what);
    }
    unsigned char c = (unsigned char)p->text[p->pos];
    if (c == 0)
        snprintf(what, sizeof(what), "a NUL byte where %s should be", expected);
    else if (c > 0x20 && c < 0x7f)
        snprintf(what, sizeof(what), "'%c' where %s should be", c, expected);
    else
        snprintf(what, sizeof(what), "byte 0x%02x where %s should be", c, expected);
    return parse_fail(p, at, p->pos, GANG_EPARSE, what);
}

static void skip_space(struct parser *p)
{
    while (p->pos < p->length && (p->text[p->pos] == ' ' || p->text[p->pos] == '\t' ||
                                  p->text[p->pos] == '\n' || p->text[p->pos] == '\r'))
        p->pos++;
}

/* Steps over the next character if it is `c`. */
static bool skip(struct parser *p, char c)
{
    if (p->pos >= p->length || p->text[p->pos] != c)
        return false;
    p->pos++;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Four hexadecimal digits at `pos`, or -1. */
static int32_t hex4(const struct parser *p, size_t pos)
{
    int32_t value = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = pos + i < p->length ? hex_digit(p->text[pos + i]) : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static size_t utf8_encode(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Decodes the characters after "\u"; moves past them, and past the second half of a pair. */
static gang_result parse_unicode(struct parser *p, const struct gang__json *at, char *out,
                                 size_t *bytes)
{
    size_t start = p->pos - 2;
    int32_t code = hex4(p, p->pos);
    if (code < 0)
        return parse_fail(p, at, start, GANG_EPARSE, "\\u needs four hexadecimal digits");
    p->pos += 4;
    if (code == 0)
        return parse_fail(p, at, start, GANG_EPARSE, "a NUL character in a string");
    if (code >= 0xd800 && code <= 0xdbff) {
        int32_t low = -1;
        if (p->pos + 1 < p->length && p->text[p->pos] == '\\' && p->text[p->pos + 1] == 'u')
            low = hex4(p, p->pos + 2);
        if (low < 0xdc00 || low > 0xdfff)
            return parse_fail(p, at, start, GANG_EPARSE, "half of a surrogate pair");
        p->pos += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return parse_fail(p, at, start, GANG_EPARSE, "half of a surrogate pair");
    }
    *bytes = utf8_encode((uint32_t)code, out);
    return GANG_OK;
}

/* Decodes what follows a backslash. */
static gang_result parse_escape(struct parser *p, const struct gang__json *at, char *out,
                                size_t *bytes)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    p->pos++;
    if (p->pos >= p->length)
        return parse_unexpected(p, at, "the end of a string");
    char c = p->text[p->pos];
    if (c == 'u') {
        p->pos++;
        return parse_unicode(p, at, out, bytes);
    }
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return parse_fail(p, at, p->pos - 1, GANG_EPARSE, "unknown escape in a string");
    p->pos++;
    out[0] = to[found - from];
    *bytes = 1;
    return GANG_OK;
}

/* The number of bytes from `pos` on that stand for themselves: no quote, escape, control or
 * multi-byte character. */
static size_t plain_run(const struct parser *p, size_t pos)
{
    size_t count = 0;
    for (; pos + count < p->length; count++) {
        unsigned char c = (unsigned char)p->text[pos + count];
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
            break;
    }
    return count;
}

/* Decodes one character of a string that does not stand for itself; its UTF-8 goes to `out`. */
static gang_result parse_character(struct parser *p, const struct gang__json *at, char *out,
                                   size_t *bytes)
{
    char c = p->text[p->pos];
    if (c == '\\')
        return parse_escape(p, at, out, bytes);
    if (c == '\0')
        return parse_fail(p, at, p->pos, GANG_EPARSE, "a NUL byte in a string");
    if ((unsigned char)c < 0x20)
        return parse_fail(p, at, p->pos, GANG_EPARSE, "a control character in a string");
    *bytes = gang__utf8_length(p->text + p->pos, p->length - p->pos);
    if (*bytes == 0)
        return parse_fail(p, at, p->pos, GANG_EPARSE, "bytes that are no UTF-8");
    memcpy(out, p->text + p->pos, *bytes);
    p->pos += *bytes;
    return GANG_OK;
}

/* Parses a string, whose opening quote is next, into p->scratch. */
static gang_result parse_string(struct parser *p, const struct gang__json *at)
{
    p->pos++;
    p->scratch_length = 0;
    while (true) {
        size_t bytes = plain_run(p, p->pos);
        void *scratch = p->scratch;
        if (!gang__grow(p->mem, &scratch, &p->scratch_cap, p->scratch_length + bytes + 5, 1))
            return parse_fail(p, at, p->pos, GANG_ENOMEM, "out of memory");
        p->scratch = scratch;
        char *out = p->scratch + p->scratch_length;
        memcpy(out, p->text + p->pos, bytes);
        p->pos += bytes;
        p->scratch_length += bytes;
        out += bytes;
        if (p->pos >= p->length)
            return parse_unexpected(p, at, "the end of a string");
        if (skip(p, '"')) {
            *out = '\0';
            return GANG_OK;
        }
        gang_result r = parse_character(p, at, out, &bytes);
        if (r != GANG_OK)
            return r;
        p->scratch_length += bytes;
    }
}

static size_t count_digits(const struct parser *p, size_t pos)
{
    size_t count = 0;
    while (pos + count < p->length && p->text[pos + count] >= '0' && p->text[pos + count] <= '9')
        count++;
    return count;
}

/* The length of a number by JSON's grammar; 0: none. */
static size_t number_length(const struct parser *p, size_t *fraction, size_t *exponent)
{
    size_t pos = p->pos;
    *fraction = *exponent = 0;
    if (p->text[pos] == '-')
        pos++;
    size_t whole = count_digits(p, pos);
    if (whole == 0 || (whole > 1 && p->text[pos] == '0'))
        return 0;
    pos += whole;
    if (pos < p->length && p->text[pos] == '.') {
        *fraction = pos;
        size_t digits = count_digits(p, pos + 1);
        if (digits == 0)
            return 0;
        pos += 1 + digits;
    }
    if (pos < p->length && (p->text[pos] == 'e' || p->text[pos] == 'E')) {
        *exponent = pos++;
        if (pos < p->length && (p->text[pos] == '+' || p->text[pos] == '-'))
            pos++;
        size_t digits = count_digits(p, pos);
        if (digits == 0)
            return 0;
        pos += digits;
    }
    return pos - p->pos;
}

/* strtod() expects the decimal point of the process's locale, so it gets none: "2.5e3" becomes
 * "25e2". */
static double real_of(const char *token, size_t length, size_t fraction, size_t exponent)
{
    char buffer[NUMBER_MAX + 32];
    size_t mantissa = exponent ? exponent : length;
    long shift = 0;
    size_t out = 0;
    if (exponent)
        shift = strtol(token + exponent + 1, NULL, 10);
    shift = shift > 100000 ? 100000 : shift < -100000 ? -100000 : shift;
    for (size_t i = 0; i < mantissa; i++)
        if (!fraction || i != fraction)
            buffer[out++] = token[i];
    if (fraction)
        shift -= (long)(mantissa - fraction - 1);
    snprintf(buffer + out, sizeof(buffer) - out, "e%ld", shift);
    return strtod(buffer, NULL);
}

static gang_result parse_number(struct parser *p, const struct gang__json *at, json_t **value)
{
    char token[NUMBER_MAX + 1];
    size_t fraction;
    size_t exponent;
    size_t start = p->pos;
    size_t length = number_length(p, &fraction, &exponent);
    if (length == 0)
        return parse_fail(p, at, start, GANG_EPARSE, "malformed number");
    if (length > NUMBER_MAX)
        return parse_fail(p, at, start, GANG_ELIMIT, "number of more than 255 characters");
    memcpy(token, p->text + start, length);
    token[length] = '\0';
    p->pos += length;
    if (!fraction && !exponent) {
        errno = 0;
        long long number = strtoll(token, NULL, 10);
        if (errno == ERANGE)
            return parse_fail(p, at, start, GANG_ERANGE, "number out of range");
        *value = json_integer(number);
    } else {
        double number = real_of(token, length, fraction ? fraction - start : 0,
                                exponent ? exponent - start : 0);
        if (!isfinite(number))
            return parse_fail(p, at, start, GANG_ERANGE, "number out of range");
        *value = json_real(number);
    }
    return *value ? GANG_OK : parse_fail(p, at, start, GANG_ENOMEM, "out of memory");
}

static gang_result parse_value(struct parser *p, struct gang__json *at, size_t depth,
                               json_t **value);

/* Parses one element or member into its container, which takes it over. */
static gang_result parse_element(struct parser *p, const struct gang__json *at, size_t index,
                                 size_t depth, json_t *array)
{
    struct gang__json element = {NULL, at, NULL, index, p->error};
    json_t *value;
    gang_result r = parse_value(p, &element, depth, &value);
    if (r != GANG_OK)
        return r;
    if (json_array_append_new(array, value) != 0)
        return parse_fail(p, &element, p->pos, GANG_ENOMEM, "out of memory");
    return GANG_OK;
}

static gang_result parse_array(struct parser *p, const struct gang__json *at, size_t depth,
                               json_t *array)
{
    p->pos++;
    skip_space(p);
    if (skip(p, ']'))
        return GANG_OK;
    for (size_t i = 0;; i++) {
        gang_result r = parse_element(p, at, i, depth, array);
        if (r != GANG_OK)
            return r;
        skip_space(p);
        if (skip(p, ']'))
            return GANG_OK;
        if (!skip(p, ','))
            return parse_unexpected(p, at, "',' or ']'");
    }
}

static gang_result parse_member(struct parser *p, const struct gang__json *at, size_t depth,
                                json_t *object)
{
    skip_space(p);
    if (p->pos >= p->length || p->text[p->pos] != '"')
        return parse_unexpected(p, at, "a key in quotes");
    size_t start = p->pos;
    gang_result r = parse_string(p, at);
    if (r != GANG_OK)
        return r;
    char *key = gang__strdup(p->mem, p->scratch);
    if (!key)
        return parse_fail(p, at, start, GANG_ENOMEM, "out of memory");
    struct gang__json member = {NULL, at, key, 0, p->error};
    json_t *value = NULL;
    if (json_object_get(object, key)) {
        r = parse_fail(p, &member, start, GANG_EEXIST, "the key is there twice");
        goto out;
    }
    skip_space(p);
    if (!skip(p, ':')) {
        r = parse_unexpected(p, &member, "':'");
        goto out;
    }
    r = parse_value(p, &member, depth, &value);
    if (r == GANG_OK && json_object_set_new_nocheck(object, key, value) != 0)
        r = parse_fail(p, &member, p->pos, GANG_ENOMEM, "out of memory");
out:
    gang__release(p->mem, key);
    return r;
}

static gang_result parse_object(struct parser *p, const struct gang__json *at, size_t depth,
                                json_t *object)
{
    p->pos++;
    skip_space(p);
    if (skip(p, '}'))
        return GANG_OK;
    while (true) {
        gang_result r = parse_member(p, at, depth, object);
        if (r != GANG_OK)
            return r;
        skip_space(p);
        if (skip(p, '}'))
            return GANG_OK;
        if (!skip(p, ','))
            return parse_unexpected(p, at, "',' or '}'");
    }
}

static gang_result parse_container(struct parser *p, const struct gang__json *at, size_t depth,
                                   json_t **value)
{
    bool array = p->text[p->pos] == '[';
    if (depth >= p->max_depth)
        return parse_fail(p, at, p->pos, GANG_ELIMIT, "nested too deeply");
    if (p->containers_left-- == 0)
        return parse_fail(p, at, p->pos, GANG_ELIMIT, "too many objects and arrays");
    json_t *container = array ? json_array() : json_object();
    if (!container)
        return parse_fail(p, at, p->pos, GANG_ENOMEM, "out of memory");
    gang_result r = array ? parse_array(p, at, depth + 1, container)
                          : parse_object(p, at, depth + 1, container);
    if (r != GANG_OK) {
        json_decref(container);
        return r;
    }
    *value = container;
    return GANG_OK;
}

static gang_result parse_literal(struct parser *p, const struct gang__json *at, json_t **value)
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
    return parse_unexpected(p, at, "a value");
}

/* Recursive; the limit on depth bounds it. */
static gang_result parse_value(struct parser *p, struct gang__json *at, size_t depth,
                               json_t **value)
{
    *value = NULL;
    skip_space(p);
    if (p->pos >= p->length)
        return parse_unexpected(p, at, "a value");
    char c = p->text[p->pos];
    if (c == '{' || c == '[')
        return parse_container(p, at, depth, value);
    if (c == '-' || (c >= '0' && c <= '9'))
        return parse_number(p, at, value);
    if (c != '"')
        return parse_literal(p, at, value);
    gang_result r = parse_string(p, at);
    if (r != GANG_OK)
        return r;
    *value = json_stringn_nocheck(p->scratch, p->scratch_length);
    return *value ? GANG_OK : parse_fail(p, at, p->pos, GANG_ENOMEM, "out of memory");
}

gang_result gang__json_parse(const char *text, size_t length,
                             const struct gang__json_limits *limits, const struct gang_mem *mem,
                             json_t **root, struct gang_error *error)
{
    *root = NULL;
    if (length > limits->bytes)
        return gang__error(error, GANG_ELIMIT, NULL, "the text is longer than %zu bytes",
                           limits->bytes);
    struct parser p = {.text = text,
                       .length = length,
                       .max_depth = limits->depth,
                       .containers_left = limits->containers,
                       .mem = mem,
                       .error = error};
    struct gang__json at = gang__json_root(NULL, error);
    json_t *value = NULL;
    gang_result r;
    skip_space(&p);
    if (p.pos >= length || (text[p.pos] != '{' && text[p.pos] != '['))
        r = parse_unexpected(&p, &at, "an object or an array");
    else
        r = parse_value(&p, &at, 0, &value);
    if (r == GANG_OK) {
        skip_space(&p);
        if (p.pos < length)
            r = parse_unexpected(&p, &at, "the end of the text");
    }
    gang__release(mem, p.scratch);
    if (r != GANG_OK) {
        json_decref(value);
        return r;
    }
    *root = value;
    return GANG_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static gang_result file_fail(struct gang_error *error, const char *what, int number)
{
    char reason[128];
    if (strerror_r(number, reason, sizeof(reason)) != 0)
        snprintf(reason, sizeof(reason), "error %d", number);
    return gang__error(error, GANG_EIO, NULL, "%s: %s", what, reason);
}

struct buffer {
    const struct gang_mem *mem;
    void *text;
    size_t cap, used;
};

/* Reads on until the end of the file or until there are more than `max` bytes. */
static gang_result read_to_end(int file, size_t max, size_t guess, struct buffer *b,
                               struct gang_error *error)
{
    while (true) {
        size_t need = b->used < guess ? guess : b->used + 4096;
        if (b->used == b->cap &&
            !gang__grow(b->mem, &b->text, &b->cap, need > max + 1 ? max + 1 : need, 1))
            return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
        size_t left = (b->cap < max + 1 ? b->cap : max + 1) - b->used;
        ssize_t got = read(file, (char *)b->text + b->used, left);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_fail(error, "cannot be read", errno);
        b->used += (size_t)got;
        if (b->used > max)
            return gang__error(error, GANG_ELIMIT, NULL, "the text is longer than %zu bytes", max);
        if (got == 0)
            return GANG_OK;
    }
}

gang_result gang__read_file(const char *path, size_t max, const struct gang_mem *mem, char **text,
                            size_t *length, struct gang_error *error)
{
    *text = NULL;
    *length = 0;
    bool standard = strcmp(path, "-") == 0;
    int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return file_fail(error, "cannot be opened", errno);
    gang_result r;
    struct buffer b = {mem, NULL, 0, 0};
    struct stat status;
    if (fstat(file, &status) != 0)
        r = file_fail(error, "cannot be read", errno);
    else if (S_ISDIR(status.st_mode))
        r = gang__error(error, GANG_EIO, NULL, "is a directory");
    else if (S_ISREG(status.st_mode) && (uintmax_t)status.st_size > max)
        r = gang__error(error, GANG_ELIMIT, NULL, "the text is longer than %zu bytes", max);
    else
        r = read_to_end(file, max, S_ISREG(status.st_mode) ? (size_t)status.st_size + 1 : 65536, &b,
                        error);
    if (!standard)
        close(file);
    if (r == GANG_OK) {
        *text = b.text;
        *length = b.used;
    } else {
        gang__release(mem, b.text);
    }
    return r;
}
