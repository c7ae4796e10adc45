/* SPDX-License-Identifier: Apache-2.0 */
/* Running a test program, and the seed of random tests. */
#ifndef GANG_TESTS_SUITE_H
#define GANG_TESTS_SUITE_H

#include <check.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* As ck_assert(), which tells another process each time; for what is checked a million times. */
#define test_assert(condition)                                 \
    do {                                                       \
        if (!(condition))                                      \
            ck_abort_msg("Assertion '%s' failed", #condition); \
    } while (0)

/* A call that must succeed; also for threads, and for what is called a million times. */
#define test_must(call)                                             \
    do {                                                            \
        gang_result must_ = (call);                                 \
        if (must_ != GANG_OK)                                       \
            ck_abort_msg("%s: %s", #call, gang_result_name(must_)); \
    } while (0)

/* Runs a suite, prints libcheck's closing line, returns the exit status. */
static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The seed of a random test: $GANG_SEED, else the same all day (UTC), so that a run of the whole
 * suite and its repetition agree; tests/soak*.sh draw theirs from the clock. Printed, so that a
 * failure can be run again. Never 0. */
static inline uint64_t test_seed(void)
{
    const char *given = getenv("GANG_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)(time(NULL) / 86400) * 1000003u;
    if (!seed)
        seed = 1;
    printf("GANG_SEED=%" PRIu64 "\n", seed);
    fflush(stdout);
    return seed;
}

#endif
