/* SPDX-License-Identifier: Apache-2.0 */
/* The best set of GPUs of a node, compared with trying all sets: links first, then network cards,
 * then what is left for others, then the lowest numbers; with devices that are alike, and with
 * random ones.
 *   GANG_SEED   of the random matrices */
#include "place/fit/gpu_set.h"

#include "chance.h"
#include "support.h"

enum { MOST = 64 };

static struct gang__gpu_solver solver;
static struct fail_mem mem;
static uint64_t weight[MOST * MOST];
static uint64_t serial; /* each matrix is another shape */

static void begin(void)
{
    memset(&solver, 0, sizeof(solver));
    fail_mem_init(&mem, 0);
    serial = 0;
}

static void end(void)
{
    gang__gpu_solver_free(&solver, &mem.mem);
    ck_assert_int_eq(mem.live, 0);
}

static uint64_t all_of(uint32_t gpus)
{
    return gpus == 64 ? UINT64_MAX : (UINT64_C(1) << gpus) - 1;
}

/* All pairs of `gpus` devices; no pair is joined. */
static struct gang__gpu_question question_of(uint32_t gpus, uint32_t count)
{
    struct gang__gpu_question question = {++serial, weight, all_of(gpus), all_of(gpus),
                                          0,        gpus,   count};
    memset(weight, 0, sizeof(weight));
    return question;
}

static void join(const struct gang__gpu_question *question, unsigned a, unsigned b, uint64_t w)
{
    weight[a * question->gpus + b] = weight[b * question->gpus + a] = w;
}

static uint64_t links(uint64_t count)
{
    return count << GANG__WEIGHT_LINK;
}

static struct gang__gpu_set best_of(const struct gang__gpu_question *question)
{
    const struct gang__gpu_set *set = gang__gpu_set_best(&solver, &mem.mem, question);
    test_assert(set != NULL);
    struct gang__gpu_set again = gang__gpu_set_of(question, set->gpus);
    test_assert(gang__popcount(set->gpus) == question->count && !(set->gpus & ~question->among));
    test_assert(memcmp(set, &again, sizeof(again)) == 0);
    return again;
}

/* ---- by hand ---- */

/* Two pairs of four links each: Slurm 26.05 gives 0 and 1, which have none. */
START_TEST(a_linked_pair_is_preferred_to_neighbours)
{
    struct gang__gpu_question question = question_of(4, 2);
    join(&question, 0, 2, links(4));
    join(&question, 1, 3, links(4));
    struct gang__gpu_set set = best_of(&question);
    ck_assert_uint_eq(set.gpus, 1 << 0 | 1 << 2);
    question.among = question.free = 15 & ~set.gpus;
    ck_assert_uint_eq(best_of(&question).gpus, 1 << 1 | 1 << 3);
}
END_TEST

/* The links of a DGX-1 with V100, as `nvidia-smi topo -m` shows them. */
static void join_dgx1(const struct gang__gpu_question *question)
{
    static const uint8_t mesh[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                                       {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                                       {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                       {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
    for (unsigned i = 0; i < 8; i++)
        for (unsigned j = 0; j < 8; j++) {
            ck_assert_uint_eq(mesh[i][j], mesh[j][i]);
            join(question, i, j, links(mesh[i][j]));
        }
}

/* The sums that can be reached: Slurm 22.05 reaches 4 of 5 for three devices. */
START_TEST(the_mesh_of_a_dgx1_gives_all_its_links)
{
    static const uint32_t best[9] = {0, 0, 2, 5, 9, 12, 16, 21, 28};
    for (uint32_t count = 1; count <= 8; count++) {
        struct gang__gpu_question question = question_of(8, count);
        join_dgx1(&question);
        uint64_t most = 0;
        for (uint64_t set = 0; set < 256; set++) {
            if (gang__popcount(set) != count)
                continue;
            uint64_t sum = gang__gpu_set_of(&question, set).links;
            most = sum > most ? sum : most;
        }
        struct gang__gpu_set set = best_of(&question);
        ck_assert_uint_eq(set.links, most);
        if (count <= 4)
            ck_assert_uint_eq(set.links, links(best[count]));
    }
}
END_TEST

/* Three devices with links between all, and one beside them. */
START_TEST(a_single_device_breaks_no_pair)
{
    struct gang__gpu_question question = question_of(4, 1);
    join(&question, 0, 1, links(1));
    join(&question, 0, 3, links(1));
    join(&question, 1, 3, links(1));
    ck_assert_uint_eq(best_of(&question).gpus, 1 << 2);
    question.among = question.free = 1 << 0 | 1 << 1 | 1 << 3;
    ck_assert_uint_eq(best_of(&question).gpus, 1 << 0);
}
END_TEST

/* Two pairs have the same link; one is part of a clique of three. */
START_TEST(the_better_rest_is_left)
{
    struct gang__gpu_question question = question_of(5, 2);
    join(&question, 0, 1, links(2));
    join(&question, 1, 2, links(2));
    join(&question, 0, 2, links(2));
    join(&question, 3, 4, links(2));
    ck_assert_uint_eq(best_of(&question).gpus, 1 << 3 | 1 << 4);
}
END_TEST

/* What others may want counts, even if it is not to choose from. */
START_TEST(the_rest_is_all_that_is_free)
{
    struct gang__gpu_question question = question_of(4, 1);
    join(&question, 0, 2, links(1));
    question.among = 1 << 0 | 1 << 1;
    ck_assert_uint_eq(best_of(&question).gpus, 1 << 1);
    question.free = question.among;
    ck_assert_uint_eq(best_of(&question).gpus, 1 << 0);
}
END_TEST

START_TEST(one_link_is_preferred_to_locality)
{
    struct gang__gpu_question question = question_of(8, 4);
    const uint64_t near = UINT64_C(1) << GANG__WEIGHT_PCI | UINT64_C(1) << GANG__WEIGHT_NUMA |
                          UINT64_C(1) << GANG__WEIGHT_PACKAGE;
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < i; j++)
            join(&question, i, j, near);
    ck_assert_uint_eq(best_of(&question).gpus, 0x0f);
    question.type = ++serial;
    join(&question, 6, 7, links(1));
    ck_assert_uint_eq(best_of(&question).gpus, 0xc3);
}
END_TEST

START_TEST(equal_links_give_way_to_a_network_card)
{
    struct gang__gpu_question question = question_of(4, 2);
    join(&question, 0, 1, links(1));
    join(&question, 2, 3, links(1));
    question.near = 1 << 3;
    ck_assert_uint_eq(best_of(&question).gpus, 1 << 2 | 1 << 3);
    question.near = 1 << 1 | 1 << 2;
    ck_assert_uint_eq(best_of(&question).gpus, 1 << 0 | 1 << 1);
    question.type = ++serial;
    join(&question, 0, 1, links(2));
    question.near = 1 << 2 | 1 << 3;
    ck_assert_uint_eq(best_of(&question).gpus, 1 << 0 | 1 << 1);
}
END_TEST

/* ---- many that are alike ---- */

/* `boards` of equal size; pairs on a board have `in` links more. */
static void join_boards(const struct gang__gpu_question *question, uint32_t boards, uint64_t in,
                        uint64_t between)
{
    for (unsigned i = 0; i < question->gpus; i++)
        for (unsigned j = 0; j < i; j++)
            join(question, i, j,
                 i * boards / question->gpus == j * boards / question->gpus ? in + between
                                                                            : between);
}

/* Sixteen to sixty-four devices on boards: a set fills boards, and begins on the fullest. */
START_TEST(boards_are_filled_one_after_the_other)
{
    static const uint32_t shapes[][2] = {{16, 2}, {24, 4}, {64, 1}, {64, 8}, {64, 16}, {48, 3}};
    uint32_t gpus = shapes[_i][0], boards = shapes[_i][1], each = gpus / boards;
    struct gang__gpu_question question = question_of(gpus, 1);
    join_boards(&question, boards, UINT64_C(1) << GANG__WEIGHT_NUMA, links(100));
    for (question.count = 1; question.count <= gpus; question.count++) {
        struct gang__gpu_set set = best_of(&question);
        uint64_t pairs = (uint64_t)question.count / each * (each * (each - 1) / 2) +
                         (uint64_t)question.count % each * (question.count % each - 1) / 2;
        ck_assert_uint_eq(set.links, links(100) * (question.count * (question.count - 1) / 2) +
                                         (pairs << GANG__WEIGHT_NUMA));
        ck_assert_uint_eq(set.gpus, all_of(question.count));
    }
    if (boards == 1)
        return;
    question.count = 1; /* one is gone from the last board: the next goes there, too */
    question.free = question.among = all_of(gpus - 1);
    ck_assert_uint_eq(best_of(&question).gpus, UINT64_C(1) << (gpus - each));
}
END_TEST

/* ---- compared with trying all sets ---- */

enum sort { FEW_WEIGHTS, LINKS_ONLY, ALL_FIELDS, TREE, SORTS };

static void join_by_chance(const struct gang__gpu_question *question, enum sort sort)
{
    for (unsigned i = 0; i < question->gpus; i++)
        for (unsigned j = 0; j < i; j++) {
            uint64_t w = 0;
            if (sort == FEW_WEIGHTS)
                w = links(chance() % 3);
            else if (sort == LINKS_ONLY)
                w = links(chance() % 1000);
            else if (sort == ALL_FIELDS)
                w = links(chance() % 4 ? 0 : chance() % 3) | (chance() & 1) << GANG__WEIGHT_PCI |
                    (chance() & 1) << GANG__WEIGHT_NUMA | (chance() & 1) << GANG__WEIGHT_PACKAGE;
            else
                w = (uint64_t)(i / 2 == j / 2) << GANG__WEIGHT_PCI |
                    (uint64_t)(i / 4 == j / 4) << GANG__WEIGHT_NUMA | (chance() % 8 ? 0 : links(1));
            join(question, i, j, w);
        }
}

/* Do the numbers of a come before those of b, when both are written in order? */
static bool comes_before(uint64_t a, uint64_t b)
{
    uint64_t differ = a ^ b;
    return (a & differ & (~differ + 1)) != 0;
}

static struct gang__gpu_set best_of_all(const struct gang__gpu_question *question)
{
    struct gang__gpu_set best = {0, 0, 0, 0};
    for (uint64_t set = 1; set <= question->among; set++) {
        if ((set & ~question->among) || gang__popcount(set) != question->count)
            continue;
        struct gang__gpu_set one = gang__gpu_set_of(question, set);
        if (!best.gpus || gang__gpu_set_wins(&one, &best) ||
            (!gang__gpu_set_wins(&best, &one) && comes_before(set, best.gpus)))
            best = one;
    }
    return best;
}

START_TEST(random_links_give_the_very_best_set)
{
    chance_state = test_seed();
    for (int round = 0; round < 400; round++) {
        struct gang__gpu_question question = question_of(1 + (uint32_t)(chance() % 10), 1);
        join_by_chance(&question, (enum sort)(round % SORTS));
        question.free = chance() & all_of(question.gpus);
        if (round % 3 == 0 || !question.free)
            question.free = all_of(question.gpus);
        question.among = question.free & (round % 5 ? UINT64_MAX : chance());
        question.near = round % 2 ? chance() & all_of(question.gpus) : 0;
        for (question.count = 1; question.count <= gang__popcount(question.among);
             question.count++) {
            struct gang__gpu_set is = best_of(&question), best = best_of_all(&question);
            ck_assert_uint_eq(is.links, best.links);
            ck_assert_uint_eq(is.near_count, best.near_count);
            ck_assert_uint_eq(is.broken, best.broken);
            ck_assert_uint_eq(is.gpus, best.gpus);
            /* Least broken is the most that stays among the others. */
            struct gang__gpu_set rest = gang__gpu_set_of(&question, question.free & ~is.gpus);
            struct gang__gpu_set all = gang__gpu_set_of(&question, question.free);
            ck_assert_uint_eq(rest.links, all.links + is.links - is.broken);
        }
    }
}
END_TEST

/* As large as the promise goes. */
START_TEST(sixteen_devices_give_the_very_best_set)
{
    chance_state = test_seed();
    for (int round = 0; round < SORTS; round++) {
        struct gang__gpu_question question = question_of(16, 1);
        join_by_chance(&question, (enum sort)round);
        for (question.count = 2; question.count < 16; question.count += 3)
            ck_assert_uint_eq(best_of(&question).gpus, best_of_all(&question).gpus);
    }
}
END_TEST

/* More than can be tried: at least no exchange of a device for another makes it better. */
START_TEST(sixty_four_random_devices_give_a_good_set)
{
    chance_state = test_seed();
    for (int round = 0; round < SORTS; round++) {
        struct gang__gpu_question question = question_of(64, 1);
        join_by_chance(&question, (enum sort)round);
        for (question.count = 2; question.count < 64; question.count += 15) {
            struct gang__gpu_set is = best_of(&question);
            for (unsigned out = 0; out < 64; out++)
                for (unsigned in = 0; in < 64; in++) {
                    uint64_t other = (is.gpus & ~(UINT64_C(1) << out)) | UINT64_C(1) << in;
                    if (!(is.gpus >> out & 1) || is.gpus >> in & 1)
                        continue;
                    struct gang__gpu_set one = gang__gpu_set_of(&question, other);
                    test_assert(!gang__gpu_set_wins(&one, &is));
                }
        }
    }
}
END_TEST

/* The greatest sums do not run over. */
START_TEST(the_heaviest_links_can_be_summed)
{
    struct gang__gpu_question question = question_of(64, 32);
    const uint64_t most = links(GANG__WEIGHT_LINK_MOST) | UINT64_C(1) << GANG__WEIGHT_PCI |
                          UINT64_C(1) << GANG__WEIGHT_NUMA | UINT64_C(1) << GANG__WEIGHT_PACKAGE;
    join_boards(&question, 64, 0, most);
    weight[0 * 64 + 63] = weight[63 * 64 + 0] = most - links(1); /* less than the others */
    struct gang__gpu_set set = best_of(&question);
    ck_assert_uint_eq(set.links, most * (32 * 31 / 2));
    ck_assert_uint_eq(gang__popcount(set.gpus & (UINT64_C(1) << 63 | 1)), 1);
    question.count = 63;
    set = best_of(&question);
    ck_assert_uint_eq(set.links, most * (63 * 62 / 2));
    ck_assert_uint_eq(set.links >> GANG__WEIGHT_LINK,
                      (uint64_t)GANG__WEIGHT_LINK_MOST * (63 * 62 / 2));
}
END_TEST

/* ---- memory ---- */

START_TEST(without_memory_there_is_no_set)
{
    struct gang__gpu_question question = question_of(8, 3);
    join_dgx1(&question);
    mem.fail_at = 1;
    ck_assert_ptr_null(gang__gpu_set_best(&solver, &mem.mem, &question));
    ck_assert_uint_eq(best_of(&question).links, links(5));
    long calls = mem.calls;
    (void)best_of(&question);
    question.near = 1;
    (void)best_of(&question);
    ck_assert_int_eq(mem.calls, calls);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpu set");
    TCase *tests = tcase_create("gpu set");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_linked_pair_is_preferred_to_neighbours);
    tcase_add_test(tests, the_mesh_of_a_dgx1_gives_all_its_links);
    tcase_add_test(tests, a_single_device_breaks_no_pair);
    tcase_add_test(tests, the_better_rest_is_left);
    tcase_add_test(tests, the_rest_is_all_that_is_free);
    tcase_add_test(tests, one_link_is_preferred_to_locality);
    tcase_add_test(tests, equal_links_give_way_to_a_network_card);
    tcase_add_loop_test(tests, boards_are_filled_one_after_the_other, 0, 6);
    tcase_add_test(tests, random_links_give_the_very_best_set);
    tcase_add_test(tests, sixteen_devices_give_the_very_best_set);
    tcase_add_test(tests, sixty_four_random_devices_give_a_good_set);
    tcase_add_test(tests, the_heaviest_links_can_be_summed);
    tcase_add_test(tests, without_memory_there_is_no_set);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
