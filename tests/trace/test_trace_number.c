/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and dates of traces. */
#include <locale.h>

#include "chance.h"
#include "suite.h"
#include "support.h"
#include "trace/trace_in.h"

#define S INT64_C(1000000000)
#define MIB_SCALE (INT64_C(1) << 20)

static const struct decimal {
    const char *text;
    int64_t scale;
    enum gang__number result;
    int64_t value;
} decimals[] = {
    {"0", 1, GANG__NUMBER_OK, 0},
    {"-0", S, GANG__NUMBER_OK, 0},
    {"12", S, GANG__NUMBER_OK, 12 * S},
    {"+12.", S, GANG__NUMBER_OK, 12 * S},
    {".5", S, GANG__NUMBER_OK, S / 2},
    {"-1.000000001", S, GANG__NUMBER_OK, -S - 1},
    {"0.0000000005", S, GANG__NUMBER_OK, 1},
    {"-0.0000000005", S, GANG__NUMBER_OK, -1},
    {"0.00000000049999", S, GANG__NUMBER_OK, 0},
    {"0.30000000000000004", S, GANG__NUMBER_OK, 300000000},
    {"1.5e3", S, GANG__NUMBER_OK, 1500 * S},
    {"15E-1", 10, GANG__NUMBER_OK, 15},
    {"0.00015e+4", 10, GANG__NUMBER_OK, 15},
    {"1e-400", S, GANG__NUMBER_OK, 0},
    {"0e400", S, GANG__NUMBER_OK, 0},
    {"0.000e9", 1, GANG__NUMBER_OK, 0},
    {"100000000000000000000e-20", 1, GANG__NUMBER_OK, 1},
    {"9223372036854775807", 1, GANG__NUMBER_OK, INT64_MAX},
    {"-9223372036854775807", 1, GANG__NUMBER_OK, -INT64_MAX},
    {"9223372036854775808", 1, GANG__NUMBER_RANGE, 0},
    {"9223372036.854775807", S, GANG__NUMBER_OK, INT64_MAX},
    {"9223372036.854775808", S, GANG__NUMBER_RANGE, 0},
    {"99999999999999999999999", 1, GANG__NUMBER_RANGE, 0},
    {"1e19", 1, GANG__NUMBER_RANGE, 0},
    {"1e999999999999", 1, GANG__NUMBER_RANGE, 0},
    {"0.00000095367431640625", MIB_SCALE, GANG__NUMBER_OK, 1},
    {"29.296875", INT64_C(1) << 30, GANG__NUMBER_OK, 30000 * MIB_SCALE},
    {"", 1, GANG__NUMBER_BAD, 0},
    {"-", 1, GANG__NUMBER_BAD, 0},
    {".", 1, GANG__NUMBER_BAD, 0},
    {"1 ", 1, GANG__NUMBER_BAD, 0},
    {"1,5", 1, GANG__NUMBER_BAD, 0},
    {"--1", 1, GANG__NUMBER_BAD, 0},
    {"1e", 1, GANG__NUMBER_BAD, 0},
    {"1e+", 1, GANG__NUMBER_BAD, 0},
    {"1e5x", 1, GANG__NUMBER_BAD, 0},
    {"e5", 1, GANG__NUMBER_BAD, 0},
    {"0x10", 1, GANG__NUMBER_BAD, 0},
    {"nan", 1, GANG__NUMBER_BAD, 0},
    {"1.2.3", 1, GANG__NUMBER_BAD, 0},
};

START_TEST(decimals_are_exact)
{
    const struct decimal *d = &decimals[_i];
    int64_t value = 0;
    enum gang__number result = gang__decimal(gang__span_of(d->text), d->scale, &value);
    ck_assert_msg(result == d->result && value == d->value, "%s: %d, %lld", d->text, (int)result,
                  (long long)value);
}
END_TEST

START_TEST(a_written_number_reads_back)
{
    static const int64_t scales[] = {1, 10, 1000, S, MIB_SCALE};
    chance_state = test_seed();
    (void)setlocale(LC_ALL, "de_DE.UTF-8"); /* where there is one, its comma is not ours */
    for (int i = 0; i < 200000; i++) {
        char text[64];
        int64_t value = (int64_t)(chance() >> below(64)) * (one_in(2) ? 1 : -1), back = 0;
        int64_t scale = scales[below(5)];
        if (value == INT64_MIN)
            continue;
        size_t length = gang__decimal_write(text, value, scale);
        test_assert(length == strlen(text));
        test_assert(gang__decimal(gang__span_of(text), scale, &back) == GANG__NUMBER_OK);
        test_assert(back == value);
    }
}
END_TEST

static const struct date {
    const char *text;
    enum gang__number result;
    int64_t ns;
} dates[] = {
    {"1970-01-01 00:00:00", GANG__NUMBER_OK, 0},
    {"2000-02-29T12:00:01Z", GANG__NUMBER_OK, INT64_C(951825601) * S},
    {"2017-10-07 01:12:09.25", GANG__NUMBER_OK, INT64_C(1507338729) * S + S / 4},
    {"2020-06-09 18:41:01+08:00", GANG__NUMBER_OK, INT64_C(1591699261) * S},
    {"1969-12-31 23:59:59-0130", GANG__NUMBER_OK, INT64_C(5399) * S},
    {"1900-03-01 00:00:00", GANG__NUMBER_OK, INT64_C(-2203891200) * S},
    {"2400-01-01 00:00:00", GANG__NUMBER_RANGE, 0},
    {"0001-01-01 00:00:00", GANG__NUMBER_RANGE, 0},
    {"2001-02-29 00:00:00", GANG__NUMBER_BAD, 0},
    {"1900-02-29 00:00:00", GANG__NUMBER_BAD, 0},
    {"2001-13-01 00:00:00", GANG__NUMBER_BAD, 0},
    {"2001-04-31 00:00:00", GANG__NUMBER_BAD, 0},
    {"2001-04-30 24:00:00", GANG__NUMBER_BAD, 0},
    {"2001-04-30 00:60:00", GANG__NUMBER_BAD, 0},
    {"2001-04-30 00:00", GANG__NUMBER_BAD, 0},
    {"2001-04-30", GANG__NUMBER_BAD, 0},
    {"2001-04-30 00:00:00 PST", GANG__NUMBER_BAD, 0},
    {"2001-04-30 00:00:00+8", GANG__NUMBER_BAD, 0},
    {"2001-04-30 00:00:00.", GANG__NUMBER_BAD, 0},
    {"", GANG__NUMBER_BAD, 0},
};

START_TEST(dates_are_counted_from_1970)
{
    const struct date *d = &dates[_i];
    int64_t ns = 0;
    enum gang__number result = gang__date(gang__span_of(d->text), &ns);
    ck_assert_msg(result == d->result && ns == d->ns, "%s: %d, %lld", d->text, (int)result,
                  (long long)ns);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace_number");
    TCase *tcase = tcase_create("numbers");
    tcase_add_loop_test(tcase, decimals_are_exact, 0, sizeof(decimals) / sizeof(decimals[0]));
    tcase_add_test(tcase, a_written_number_reads_back);
    tcase_add_loop_test(tcase, dates_are_counted_from_1970, 0, sizeof(dates) / sizeof(dates[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
