/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers and dates, exactly and in any locale. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/wide.h"
#include "trace/trace_in.h"

enum { MAX_FRACTION = 20, MAX_DIGITS = 48 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- reading ---- */

/* A number without exponent, on its way. */
struct plain {
    uint64_t whole;
    gang__u128 fraction;
    gang__u128 parts; /* the fraction counts of it */
    bool over;        /* beyond any int64_t */
};

static void whole_digit(struct plain *p, int digit)
{
    p->over = p->over || p->whole > (uint64_t)INT64_MAX / 10;
    if (!p->over)
        p->whole = p->whole * 10 + (uint64_t)digit;
}

static void fraction_digit(struct plain *p, int digit, size_t place)
{
    if (place >= MAX_FRACTION)
        return;
    p->fraction = p->fraction * 10 + gang__wide(digit);
    p->parts *= 10;
}

static enum gang__number scaled(const struct plain *p, bool negative, int64_t scale, int64_t *value)
{
    gang__u128 by = gang__wide(scale);
    gang__u128 whole = (gang__u128)p->whole * by;
    gang__u128 wide = whole + (p->fraction * by * 2 + p->parts) / (p->parts * 2);
    if (p->over || wide > INT64_MAX)
        return GANG__NUMBER_RANGE;
    *value = negative ? -(int64_t)wide : (int64_t)wide;
    return GANG__NUMBER_OK;
}

/* The whole number after an 'e', bounded: beyond it everything is 0 or too much. */
static bool exponent_of(struct gang__span text, int *exponent)
{
    size_t i = text.n && (text.s[0] == '-' || text.s[0] == '+');
    int value = 0;
    if (i == text.n)
        return false;
    for (size_t at = i; at < text.n; at++) {
        if (!is_digit(text.s[at]))
            return false;
        value = value > 1000 ? value : value * 10 + (text.s[at] - '0');
    }
    *exponent = i && text.s[0] == '-' ? -value : value;
    return true;
}

/* Digits and where the point is: the mantissa of a number with an exponent. */
struct mantissa {
    char digit[MAX_DIGITS];
    int count;
    int point; /* digits before it; may be negative */
    bool any;  /* there was a digit, if only zeros */
};

static bool mantissa_of(struct gang__span text, struct mantissa *m)
{
    bool after = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];
        if (c == '.' && !after) {
            after = true;
            continue;
        }
        if (!is_digit(c))
            return false;
        m->any = true;
        bool leading = m->count == 0 && c == '0';
        if (!leading && m->count < MAX_DIGITS)
            m->digit[m->count++] = c;
        if (after)
            m->point -= leading;
        else
            m->point += !leading && m->point < 100000;
    }
    return m->any;
}

static enum gang__number with_exponent(struct gang__span text, struct gang__span exponent,
                                       bool negative, int64_t scale, int64_t *value)
{
    struct mantissa m = {.point = 0};
    struct plain p = {0, 0, 1, false};
    int shift = 0;
    if (!mantissa_of(text, &m) || !exponent_of(exponent, &shift))
        return GANG__NUMBER_BAD;
    int point = m.point + shift;
    if (m.count > 0 && point > MAX_DIGITS)
        return GANG__NUMBER_RANGE;
    for (int i = 0; m.count > 0 && i < point; i++)
        whole_digit(&p, i < m.count ? m.digit[i] - '0' : 0);
    for (int place = 0; m.count > 0 && place < MAX_FRACTION; place++) {
        int i = point + place;
        fraction_digit(&p, i >= 0 && i < m.count ? m.digit[i] - '0' : 0, (size_t)place);
    }
    return scaled(&p, negative, scale, value);
}

enum gang__number gang__decimal(struct gang__span text, int64_t scale, int64_t *value)
{
    struct plain p = {0, 0, 1, false};
    size_t i = text.n && (text.s[0] == '-' || text.s[0] == '+');
    bool negative = i && text.s[0] == '-';
    size_t first = i;
    size_t digits = 0;
    for (; i < text.n && is_digit(text.s[i]); i++, digits++)
        whole_digit(&p, text.s[i] - '0');
    if (i < text.n && text.s[i] == '.') {
        size_t point = ++i;
        for (; i < text.n && is_digit(text.s[i]); i++, digits++)
            fraction_digit(&p, text.s[i] - '0', i - point);
    }
    if (digits == 0)
        return GANG__NUMBER_BAD;
    if (i == text.n)
        return scaled(&p, negative, scale, value);
    if (text.s[i] != 'e' && text.s[i] != 'E')
        return GANG__NUMBER_BAD;
    return with_exponent((struct gang__span){text.s + first, i - first},
                         (struct gang__span){text.s + i + 1, text.n - i - 1}, negative, scale,
                         value);
}

/* ---- dates ---- */

/* Reads `count` digits as a number and moves behind them; -1: there are fewer digits. */
static int digits_at(struct gang__span *text, size_t count)
{
    int value = 0;
    if (text->n < count)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!is_digit(text->s[i]))
            return -1;
        value = value * 10 + (text->s[i] - '0');
    }
    text->s += count;
    text->n -= count;
    return value;
}

static bool accept_char(struct gang__span *text, char c)
{
    if (text->n == 0 || text->s[0] != c)
        return false;
    text->s++;
    text->n--;
    return true;
}

/* Days since 1970-01-01 of the Gregorian calendar; the year begins in March, so that a leap day
 * ends it. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t m = month <= 2 ? month + 9 : month - 3;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static bool is_day(int year, int month, int day)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days[month - 1])
        return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month != 2 || day < 29 || leap;
}

/* After the seconds: a fraction, an offset. */
static bool date_tail(struct gang__span text, int64_t *fraction_ns, int64_t *offset_s)
{
    size_t n = 0;
    *fraction_ns = *offset_s = 0;
    if (text.n && text.s[0] == '.') {
        for (n = 1; n < text.n && is_digit(text.s[n]);)
            n++;
        struct gang__span fraction = {text.s, n};
        if (gang__decimal(fraction, GANG__SECOND, fraction_ns) != GANG__NUMBER_OK)
            return false;
    }
    text.s += n;
    text.n -= n;
    if (text.n == 0 || (text.n == 1 && text.s[0] == 'Z'))
        return true;
    bool negative = text.s[0] == '-';
    if (!accept_char(&text, '+') && !accept_char(&text, '-'))
        return false;
    int hours = digits_at(&text, 2);
    (void)accept_char(&text, ':');
    int minutes = digits_at(&text, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || text.n)
        return false;
    *offset_s = (negative ? -60 : 60) * (int64_t)(hours * 60 + minutes);
    return true;
}

enum gang__number gang__date(struct gang__span text, int64_t *ns)
{
    int64_t fraction, offset;
    int year = digits_at(&text, 4);
    bool right = accept_char(&text, '-');
    int month = digits_at(&text, 2);
    right = accept_char(&text, '-') && right;
    int day = digits_at(&text, 2);
    right = (accept_char(&text, ' ') || accept_char(&text, 'T')) && right;
    int hour = digits_at(&text, 2);
    right = accept_char(&text, ':') && right;
    int minute = digits_at(&text, 2);
    right = accept_char(&text, ':') && right;
    int second = digits_at(&text, 2);
    if (!right || !is_day(year, month, day) || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
        second < 0 || second > 60 || !date_tail(text, &fraction, &offset))
        return GANG__NUMBER_BAD;
    int64_t s = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
    if (s > GANG__TRACE_MAX_NS / GANG__SECOND - 1 || s < -(GANG__TRACE_MAX_NS / GANG__SECOND - 1))
        return GANG__NUMBER_RANGE;
    *ns = s * GANG__SECOND + fraction;
    return GANG__NUMBER_OK;
}

/* ---- writing ---- */

size_t gang__decimal_write(char text[64], int64_t value, int64_t scale)
{
    uint64_t parts = (uint64_t)scale;
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    uint64_t rest = size % parts * 10;
    size_t length = (size_t)snprintf(text, 64, "%s%" PRIu64, value < 0 ? "-" : "", size / parts);
    if (rest)
        text[length++] = '.';
    for (; rest && length < 63; rest = rest % parts * 10) /* 2^20 parts need 20 digits */
        text[length++] = (char)('0' + rest / parts);
    text[length] = '\0';
    return length;
}
