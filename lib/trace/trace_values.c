/* SPDX-License-Identifier: Apache-2.0 */
/* Values in a record of a table: numbers, times, words, lists of models. */
#include "trace/trace_table_in.h"

static bool is_nothing(struct gang__span text)
{
    static const char *const words[] = {"", "None", "NaN", "nan", "NaT", "null", "NULL", "Unknown"};
    for (size_t i = 0; i < GANG__TRACE_COUNT(words); i++)
        if (gang__span_is(text, words[i]))
            return true;
    return false;
}

static gang_result number_result(const struct gang__trace_table *t, size_t column,
                                 enum gang__number found, const char *wanted)
{
    if (found == GANG__NUMBER_BAD)
        return gang__table_fail(t, column, GANG_EPARSE, "not a %s", wanted);
    if (found == GANG__NUMBER_RANGE)
        return gang__table_fail(t, column, GANG_ERANGE, "number out of range");
    return GANG_OK;
}

/* May a whole number be written like this? "1.0" may. */
static bool is_whole(struct gang__span text)
{
    int64_t fine;
    bool has_point =
        memchr(text.s, '.', text.n) || memchr(text.s, 'e', text.n) || memchr(text.s, 'E', text.n);
    return !has_point || gang__decimal(text, 1000000, &fine) != GANG__NUMBER_OK ||
           fine % 1000000 == 0;
}

gang_result gang__table_number(const struct gang__trace_table *t, size_t column, int64_t scale,
                               int64_t min, int64_t max, int64_t *value)
{
    struct gang__span text = gang__table_field(t, column);
    int64_t number = 0;
    char bound[64];
    if (text.n == 0)
        return gang__table_fail(t, column, GANG_EINVAL, "missing");
    GANG__TRACE_TRY(number_result(t, column, gang__decimal(text, scale, &number), "number"));
    if (scale == 1 && !is_whole(text))
        return gang__table_fail(t, column, GANG_EINVAL, "not a whole number");
    if (number < min || number > max) {
        gang__decimal_write(bound, number < min ? min : max, scale);
        return gang__table_fail(t, column, GANG_ERANGE, "must be at %s %s",
                                number < min ? "least" : "most", bound);
    }
    *value = number;
    return GANG_OK;
}

gang_result gang__table_optional(const struct gang__trace_table *t, size_t column, int64_t scale,
                                 int64_t min, int64_t max, int64_t *value)
{
    if (gang__table_field(t, column).n == 0)
        return GANG_OK;
    return gang__table_number(t, column, scale, min, max, value);
}

gang_result gang__table_time(const struct gang__trace_table *t, size_t column, int64_t *ns)
{
    struct gang__span text = gang__table_field(t, column);
    *ns = GANG_TRACE_UNKNOWN;
    if (is_nothing(text))
        return GANG_OK;
    bool is_date = text.n > 4 && text.s[4] == '-';
    enum gang__number found =
        is_date ? gang__date(text, ns) : gang__decimal(text, GANG__SECOND, ns);
    GANG__TRACE_TRY(number_result(t, column, found, "time, in seconds or as a date"));
    if (*ns < -GANG__TRACE_MAX_NS || *ns > GANG__TRACE_MAX_NS)
        return gang__table_fail(t, column, GANG_ERANGE, "more than 146 years from 0");
    return GANG_OK;
}

gang_result gang__table_run_time(const struct gang__trace_table *t, size_t column, int64_t *ns)
{
    return gang__table_number(t, column, GANG__SECOND, 0, GANG__TRACE_MAX_NS, ns);
}

static gang_result word_result(const struct gang__trace_table *t, size_t column, gang_result r)
{
    if (r == GANG_OK)
        return r;
    if (r == GANG_ENOMEM)
        return gang__table_fail(t, column, r, "out of memory");
    return gang__table_fail(t, column, r, "longer than 255 bytes, or not plain UTF-8 text");
}

gang_result gang__table_word(const struct gang__trace_table *t, size_t column, uint32_t *word)
{
    return word_result(t, column,
                       gang__trace_word(t->reader->trace, gang__table_field(t, column), word));
}

gang_result gang__table_models(const struct gang__trace_table *t, size_t column, uint32_t *number)
{
    struct gang__span models[GANG__TRACE_MAX_MODELS];
    struct gang__span text = gang__table_field(t, column);
    size_t count = 0;
    *number = 0;
    if (text.n == 0)
        return GANG_OK;
    for (size_t i = 0, from = 0; i <= text.n; i++) {
        if (i < text.n && text.s[i] != '|')
            continue;
        if (count == GANG__TRACE_MAX_MODELS)
            return gang__table_fail(t, column, GANG_ELIMIT, "more than %d models",
                                    GANG__TRACE_MAX_MODELS);
        if (i == from)
            return gang__table_fail(t, column, GANG_EINVAL, "an empty name");
        models[count++] = (struct gang__span){text.s + from, i - from};
        from = i + 1;
    }
    return word_result(t, column, gang__trace_models_add(t->reader->trace, models, count, number));
}
