/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a cell: what is computed on all fields of a share word at once is what a plain loop
 * over the devices gives. */
#include "core/commit/word.h"

#include <check.h>

#include "chance.h"
#include "suite.h"

/* Four devices, often whole or taken. */
static uint64_t random_shares(uint32_t *share)
{
    static const uint32_t usual[] = {0, 1000, 1, 999, 488, 489, 512, 1023};
    uint64_t word = 0;
    for (unsigned i = 0; i < GANG__SHARES_PER_WORD; i++) {
        share[i] = !one_in(4) ? usual[index_below(8)] : (uint32_t)below(1024);
        word |= gang__share_of(i, share[i]);
    }
    return word;
}

START_TEST(whole_devices_are_those_with_all_their_thousandths)
{
    for (int n = 0; n < 200000; n++) {
        uint32_t share[GANG__SHARES_PER_WORD], whole = 0, count = 0;
        uint64_t word = random_shares(share);
        for (unsigned i = 0; i < GANG__SHARES_PER_WORD; i++) {
            whole |= (share[i] == 1000 ? 1u : 0u) << i;
            count += share[i] == 1000;
        }
        test_assert(gang__whole(word) == whole);
        test_assert(gang__fields_sum(gang__whole_fields(word)) == count);
    }
}
END_TEST

START_TEST(fields_of_many_words_sum_up)
{
    uint64_t sum = 0;
    for (uint32_t words = 1; words <= GANG_MAX_GPUS / GANG__SHARES_PER_WORD; words++) {
        sum += gang__whole_fields(gang__shares_of(15, 1000));
        ck_assert_uint_eq(gang__fields_sum(sum), words * GANG__SHARES_PER_WORD);
    }
}
END_TEST

START_TEST(a_share_of_some_of_four_devices_lies_in_their_fields)
{
    for (uint32_t four = 0; four < 16; four++) {
        for (uint32_t share = 0; share <= 1000; share++) {
            uint64_t word = 0;
            for (unsigned i = 0; i < GANG__SHARES_PER_WORD; i++)
                word |= four >> i & 1 ? gang__share_of(i, share) : 0;
            test_assert(gang__shares_of(four, share) == word);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("word");
    TCase *t = tcase_create("shares");
    chance_state = test_seed();
    tcase_add_test(t, whole_devices_are_those_with_all_their_thousandths);
    tcase_add_test(t, fields_of_many_words_sum_up);
    tcase_add_test(t, a_share_of_some_of_four_devices_lies_in_their_fields);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
