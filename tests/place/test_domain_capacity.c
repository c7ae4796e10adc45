/* SPDX-License-Identifier: Apache-2.0 */
/* place/search/domain_capacity.h: which domains may hold so many tasks, by the index, two words of
 * it at a time; compared with what is counted word by word, in domains of all widths. */
#include <gangsched/gangsched.h>

#include "base/rcu.h"
#include "chance.h"
#include "place/fit/fit_plan.h"
#include "place/record/placer.h"
#include "place/search/domain_capacity.h"
#include "support.h"

/* More than two chunks of the index, which has 1024 nodes in one. */
enum { NODES = 2300, WIDEST = 200 };
static const char *const levels[] = {"rack"};
static struct stage s;
static int racks;

/* Racks of consecutive nodes, most of them up to two index words wide; some lie scattered. */
static void add_nodes(void)
{
    int left = 0;
    bool scattered = false;
    for (int i = 0; i < NODES; i++, left--) {
        char name[16], rack[16];
        struct gang_label place = {"rack", rack};
        if (left == 0) {
            left = 1 + (int)below(one_in(8) ? WIDEST : 66);
            scattered = one_in(8);
            racks++;
        }
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(rack, sizeof(rack), "r%d", scattered && i % 2 ? 0 : racks);
        struct box box = {.name = name, .cpu = 16000, .place = &place, .place_count = 1};
        box.gpus = one_in(3) ? 16 : one_in(8) ? 0 : 8;
        box.model = one_in(4) ? "A100" : "H100";
        stage_add(&s, &box);
    }
}

static void take_some(void)
{
    for (int i = 0; i < 2 * NODES; i++) {
        struct gang_group_spec g = group_of(1, 1000 * below(3), 1000 * (1 + below(8)));
        stage_alloc_group(&s, &g);
    }
}

/* Each domain by itself, for about as many tasks as it holds. */
static void compare(struct gang__capacity_query *q, uint32_t count, int *shown, int *hidden)
{
    struct gang__scope all = gang__scope_all();
    struct gang__spans spans = gang__domain_spans(s.c, 0);
    struct gang__capacity capacity;
    for (uint32_t i = 0; i < count; i++) {
        gang__domain_capacity(q, 0, i, &capacity);
        for (int64_t want = capacity.tasks - 1; want <= capacity.tasks + 1; want++) {
            bool may = !gang__span_is_dense(gang__load(&spans.span[i])) || capacity.tasks >= want;
            uint32_t next = gang__domain_capacity_next(q, &all, 0, i, i + 1, want);
            if (want < 1)
                continue;
            if (next != (may ? i : i + 1))
                ck_abort_msg("domain %u holds %d tasks, for %d: %u", i, (int)capacity.tasks,
                             (int)want, next);
            *(may ? shown : hidden) += 1;
        }
    }
}

/* All of them in a row: those that are passed over hold too few. */
static void compare_rows(struct gang__capacity_query *q, uint32_t count, int64_t want)
{
    struct gang__scope all = gang__scope_all();
    for (uint32_t i = 0, next; i < count; i = next + 1) {
        next = gang__domain_capacity_next(q, &all, 0, i, count, want);
        for (uint32_t k = i; k < count && k <= next; k++)
            ck_assert_int_eq(gang__domain_capacity_next(q, &all, 0, k, k + 1, want) == k,
                             k == next);
    }
}

START_TEST(words_in_pairs_count_like_one_by_one)
{
    int shown = 0, hidden = 0;
    chance_state = test_seed() + (uint64_t)_i;
    racks = 0;
    stage_open(&s, levels, 1);
    add_nodes();
    take_some();
    ck_assert_ptr_nonnull(gang__placer_of(s.w));
    struct gang__plan *p = gang__plan_of(s.w);
    for (int gpus = 0; gpus <= 8; gpus += gpus ? gpus : 1) {
        struct gang__capacity_query q;
        struct gang_group_spec g = group_of(1, 1000, 1000 * gpus);
        struct gang_request_spec spec = request_of(&g, 1);
        gang_request *request = stage_request(&s, &spec);
        gang__rcu_enter();
        MUST(gang__plan_begin(p, s.c, request, false));
        gang__capacity_query_init(&q, p, 0, NODES);
        ck_assert(q.by_index);
        uint32_t count = gang__domain_count(s.c, 0);
        compare(&q, count, &shown, &hidden);
        compare_rows(&q, count, 1 + below(8));
        gang__rcu_leave();
        gang_request_free(request);
    }
    printf("%d racks: shown %d times, hidden %d times\n", racks, shown, hidden);
    ck_assert_int_gt(shown, racks);
    ck_assert_int_gt(hidden, racks);
    stage_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("domain_capacity");
    TCase *t = tcase_create("by the index");
    tcase_add_loop_test(t, words_in_pairs_count_like_one_by_one, 0, 4);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
