/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of JSON that have a grammar of their own, strings and numbers, and the place of an
 * error in the text. json_parse.c puts the tokens together. */
#include "base/json/json_token.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 255 }; /* characters of one number */

gang_result gang__parse_fail(const struct gang__json_parser *p, const struct gang__json *at,
                             size_t pos, gang_result code, const char *what)
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

gang_result gang__parse_unexpected(const struct gang__json_parser *p, const struct gang__json *at,
                                   const char *expected)
{
    char what[128];
    if (p->pos >= p->length) {
        snprintf(what, sizeof(what), "the text ends where %s should be", expected);
        return gang__parse_fail(p, at, p->pos, GANG_EPARSE, what);
    }
    unsigned char c = (unsigned char)p->text[p->pos];
    if (c == 0)
        snprintf(what, sizeof(what), "a NUL byte where %s should be", expected);
    else if (c > 0x20 && c < 0x7f)
        snprintf(what, sizeof(what), "'%c' where %s should be", c, expected);
    else
        snprintf(what, sizeof(what), "byte 0x%02x where %s should be", c, expected);
    return gang__parse_fail(p, at, p->pos, GANG_EPARSE, what);
}

void gang__parse_space(struct gang__json_parser *p)
{
    while (p->pos < p->length && (p->text[p->pos] == ' ' || p->text[p->pos] == '\t' ||
                                  p->text[p->pos] == '\n' || p->text[p->pos] == '\r'))
        p->pos++;
}

bool gang__parse_skip(struct gang__json_parser *p, char c)
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
static int32_t hex4(const struct gang__json_parser *p, size_t pos)
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
static gang_result parse_unicode(struct gang__json_parser *p, const struct gang__json *at,
                                 char *out, size_t *bytes)
{
    size_t start = p->pos - 2;
    int32_t code = hex4(p, p->pos);
    if (code < 0)
        return gang__parse_fail(p, at, start, GANG_EPARSE, "\\u needs four hexadecimal digits");
    p->pos += 4;
    if (code == 0)
        return gang__parse_fail(p, at, start, GANG_EPARSE, "a NUL character in a string");
    if (code >= 0xd800 && code <= 0xdbff) {
        int32_t low = -1;
        if (p->pos + 1 < p->length && p->text[p->pos] == '\\' && p->text[p->pos + 1] == 'u')
            low = hex4(p, p->pos + 2);
        if (low < 0xdc00 || low > 0xdfff)
            return gang__parse_fail(p, at, start, GANG_EPARSE, "half of a surrogate pair");
        p->pos += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return gang__parse_fail(p, at, start, GANG_EPARSE, "half of a surrogate pair");
    }
    *bytes = utf8_encode((uint32_t)code, out);
    return GANG_OK;
}

/* Decodes what follows a backslash. */
static gang_result parse_escape(struct gang__json_parser *p, const struct gang__json *at, char *out,
                                size_t *bytes)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    p->pos++;
    if (p->pos >= p->length)
        return gang__parse_unexpected(p, at, "the end of a string");
    char c = p->text[p->pos];
    if (c == 'u') {
        p->pos++;
        return parse_unicode(p, at, out, bytes);
    }
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return gang__parse_fail(p, at, p->pos - 1, GANG_EPARSE, "unknown escape in a string");
    p->pos++;
    out[0] = to[found - from];
    *bytes = 1;
    return GANG_OK;
}

/* The number of bytes from `pos` on that stand for themselves: no quote, escape, control or
 * multi-byte character. */
static size_t plain_run(const struct gang__json_parser *p, size_t pos)
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
static gang_result parse_character(struct gang__json_parser *p, const struct gang__json *at,
                                   char *out, size_t *bytes)
{
    char c = p->text[p->pos];
    if (c == '\\')
        return parse_escape(p, at, out, bytes);
    if (c == '\0')
        return gang__parse_fail(p, at, p->pos, GANG_EPARSE, "a NUL byte in a string");
    if ((unsigned char)c < 0x20)
        return gang__parse_fail(p, at, p->pos, GANG_EPARSE, "a control character in a string");
    *bytes = gang__utf8_length(p->text + p->pos, p->length - p->pos);
    if (*bytes == 0)
        return gang__parse_fail(p, at, p->pos, GANG_EPARSE, "bytes that are no UTF-8");
    memcpy(out, p->text + p->pos, *bytes);
    p->pos += *bytes;
    return GANG_OK;
}

gang_result gang__parse_string(struct gang__json_parser *p, const struct gang__json *at)
{
    p->pos++;
    p->scratch_length = 0;
    while (true) {
        size_t bytes = plain_run(p, p->pos);
        void *scratch = p->scratch;
        if (!gang__grow(p->mem, &scratch, &p->scratch_cap, p->scratch_length + bytes + 5, 1))
            return gang__parse_fail(p, at, p->pos, GANG_ENOMEM, "out of memory");
        p->scratch = scratch;
        char *out = p->scratch + p->scratch_length;
        memcpy(out, p->text + p->pos, bytes);
        p->pos += bytes;
        p->scratch_length += bytes;
        out += bytes;
        if (p->pos >= p->length)
            return gang__parse_unexpected(p, at, "the end of a string");
        if (gang__parse_skip(p, '"')) {
            *out = '\0';
            return GANG_OK;
        }
        gang_result r = parse_character(p, at, out, &bytes);
        if (r != GANG_OK)
            return r;
        p->scratch_length += bytes;
    }
}

static size_t count_digits(const struct gang__json_parser *p, size_t pos)
{
    size_t count = 0;
    while (pos + count < p->length && p->text[pos + count] >= '0' && p->text[pos + count] <= '9')
        count++;
    return count;
}

/* The length of a number by JSON's grammar; 0: none. */
static size_t number_length(const struct gang__json_parser *p, size_t *fraction, size_t *exponent)
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

gang_result gang__parse_number(struct gang__json_parser *p, const struct gang__json *at,
                               json_t **value)
{
    char token[NUMBER_MAX + 1];
    size_t fraction;
    size_t exponent;
    size_t start = p->pos;
    size_t length = number_length(p, &fraction, &exponent);
    if (length == 0)
        return gang__parse_fail(p, at, start, GANG_EPARSE, "malformed number");
    if (length > NUMBER_MAX)
        return gang__parse_fail(p, at, start, GANG_ELIMIT, "number of more than 255 characters");
    memcpy(token, p->text + start, length);
    token[length] = '\0';
    p->pos += length;
    if (!fraction && !exponent) {
        errno = 0;
        long long number = strtoll(token, NULL, 10);
        if (errno == ERANGE)
            return gang__parse_fail(p, at, start, GANG_ERANGE, "number out of range");
        *value = json_integer(number);
    } else {
        double number = real_of(token, length, fraction ? fraction - start : 0,
                                exponent ? exponent - start : 0);
        if (!isfinite(number))
            return gang__parse_fail(p, at, start, GANG_ERANGE, "number out of range");
        *value = json_real(number);
    }
    return *value ? GANG_OK : gang__parse_fail(p, at, start, GANG_ENOMEM, "out of memory");
}
