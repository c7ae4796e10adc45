/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline against a naive one: arrays of occupations, every instant tried. Memory runs out now
 * and then. */
#include "plan/timeline/timeline.h"

#include "chance.h"
#include "plan/audit.h"
#include "support.h"

enum { NODES = 6, OCCUPATIONS = 40, HORIZON = 60, PLACES = 12, GROUPS = 3 };

/* In half of the worlds further kinds are counted by node. The last one guards the first one. */
enum { MORE = 3, KINDS = GANG__FREE_KINDS + MORE };

static const int guards[MORE] = {MORE - 1, -1, -1};

struct rival {
    bool in;
    uint32_t id;
    int64_t start, end, pool;
    int64_t amount[NODES][KINDS];
    bool on[NODES], whole;
};

struct world {
    struct fail_mem mem;
    struct gang__timeline *t;
    int64_t now, pool;
    uint32_t nodes, first; /* those below `first` are none */
    int64_t capacity[NODES][GANG__FREE_KINDS], more[NODES][MORE];
    bool counts_more;
    struct rival rival[OCCUPATIONS];
    struct gang__time_fit fit;
};

/* ---- the naive one ------------------------------------------------------------------------- */

static int64_t capacity_of(const struct world *w, uint32_t node, int kind)
{
    return kind < GANG__FREE_KINDS ? w->capacity[node][kind]
                                   : w->more[node][kind - GANG__FREE_KINDS];
}

static int64_t need_of(const struct gang__time_group *g, int kind)
{
    return kind < GANG__FREE_KINDS ? g->need[kind] : g->more[kind - GANG__FREE_KINDS];
}

/* The free amounts of a node at an instant; returns whether it is wholly free. */
static bool free_of(const struct world *w, uint32_t node, int64_t at, int64_t *unused)
{
    bool whole = true;
    for (int k = 0; k < KINDS; k++)
        unused[k] = capacity_of(w, node, k);
    for (int i = 0; i < OCCUPATIONS; i++) {
        const struct rival *r = &w->rival[i];
        if (!r->in || !r->on[node] || r->start > at || r->end <= at)
            continue;
        whole = false;
        for (int k = 0; k < KINDS; k++)
            unused[k] -= r->whole ? capacity_of(w, node, k) : r->amount[node][k];
    }
    for (int k = 0; k < KINDS; k++)
        unused[k] = unused[k] < 0 ? 0 : unused[k];
    return whole;
}

static void free_in_all(const struct world *w, int64_t at, int64_t *unused)
{
    memset(unused, 0, GANG__FREE_DIMS * sizeof(unused[0]));
    unused[GANG__FREE_POOL] = w->pool;
    for (uint32_t n = w->first; n < w->nodes; n++) {
        int64_t one[KINDS];
        unused[GANG__FREE_NODES] += free_of(w, n, at, one);
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            unused[k] += one[k];
    }
    for (int i = 0; i < OCCUPATIONS; i++)
        if (w->rival[i].in && w->rival[i].start <= at && w->rival[i].end > at)
            unused[GANG__FREE_POOL] -= w->rival[i].pool;
}

/* After 2 * HORIZON nothing changes any more. */
static int64_t last_instant(int64_t start, int64_t duration)
{
    return duration > 3 * HORIZON ? start + 3 * HORIZON : start + duration;
}

/* The amounts of a node that are free all the time; returns whether it is wholly free. */
static bool free_during(const struct world *w, uint32_t node, int64_t start, int64_t duration,
                        int64_t *unused)
{
    bool whole = true;
    for (int64_t at = start; at < last_instant(start, duration); at++) {
        int64_t one[KINDS];
        whole &= free_of(w, node, at, one);
        for (int k = 0; k < KINDS; k++)
            unused[k] = at == start || one[k] < unused[k] ? one[k] : unused[k];
    }
    return whole;
}

/* Does the first of the further kinds bind what needs so much of its guard? */
static bool binds(const struct world *w, uint32_t node, int kind, int64_t need_of_guard,
                  const int64_t *unused)
{
    return kind != GANG__FREE_KINDS || need_of_guard > 0 ||
           unused[KINDS - 1] < capacity_of(w, node, KINDS - 1);
}

static int64_t go_in(const struct world *w, uint32_t node, const struct gang__time_group *g,
                     const int64_t *unused)
{
    int64_t tasks = 0;
    for (; tasks < g->count && (!g->max_per_node || tasks < g->max_per_node); tasks++)
        for (int k = 0; k < KINDS; k++)
            if ((tasks + 1) * need_of(g, k) > (unused[k] > 0 ? unused[k] : 0) &&
                binds(w, node, k, need_of(g, KINDS - 1), unused))
                return tasks;
    return tasks;
}

/* First fit at one instant. Returns how many places; 0: it does not fit. */
static size_t place_tasks(const struct world *w, const struct gang__time_request *request,
                          int64_t start, struct gang__time_place *place)
{
    int64_t left[GROUPS], short_of = 0;
    size_t count = 0;
    for (size_t g = 0; g < request->group_count; g++)
        left[g] = request->group[g].count;
    for (uint32_t n = w->first; n < w->nodes; n++) {
        int64_t unused[KINDS];
        bool whole = free_during(w, n, start, request->duration_ns, unused);
        if ((request->nodes && !(request->nodes[0] >> n & 1)) || (request->whole && !whole))
            continue;
        for (uint32_t g = 0; g < request->group_count; g++) {
            int64_t tasks = go_in(w, n, &request->group[g], unused);
            tasks = tasks < left[g] ? tasks : left[g];
            for (int k = 0; k < KINDS; k++)
                unused[k] -= tasks * need_of(&request->group[g], k);
            left[g] -= tasks;
            if (tasks > 0)
                place[count++] = (struct gang__time_place){n, g, tasks};
        }
    }
    for (size_t g = 0; g < request->group_count; g++)
        short_of += left[g];
    return short_of ? 0 : count;
}

static int64_t earliest(const struct world *w, const struct gang__time_request *request,
                        int64_t from)
{
    struct gang__time_place place[PLACES * GROUPS];
    for (int64_t at = from < w->now ? w->now : from; at <= 2 * HORIZON; at++)
        if (place_tasks(w, request, at, place))
            return at;
    return GANG__NEVER;
}

/* ---- what is done -------------------------------------------------------------------------- */

/* Fails soon, or not. */
static void tempt(struct world *w)
{
    w->mem.fail_at = below(4) ? 0 : w->mem.calls + 1 + (long)below(4);
}

static int64_t some_end(int64_t start)
{
    return below(12) ? start + 1 + below(20) : GANG__NEVER;
}

static bool counts_more; /* does the world? */

static void some_group(struct gang__time_group *g)
{
    *g = (struct gang__time_group){.count = 1 + below(9)};
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        g->need[k] = below(4);
    for (int k = 0; k < MORE && counts_more; k++)
        g->more[k] = below(2) ? 0 : below(4);
    if (g->more[MORE - 1] > 0 && g->more[0] == 0)
        g->more[0] = 1;
    if (counts_more && below(3) == 0) /* nothing else */
        memset(g->need, 0, sizeof(g->need));
    g->max_per_node = below(3) ? 0 : 1 + below(3);
}

static struct gang__occupation some_occupation(struct world *w, struct gang__time_group *group,
                                               struct gang__time_place *place)
{
    struct gang__occupation o = {.start_ns = below(HORIZON)};
    o.end_ns = some_end(o.start_ns);
    o.pool = below(3);
    o.whole = below(4) == 0;
    o.group = group;
    o.group_count = 1 + index_below(GROUPS);
    for (size_t i = 0; i < o.group_count; i++)
        some_group(&group[i]);
    o.place = place;
    for (uint32_t n = w->first; n < w->nodes; n++)
        for (uint32_t again = 0; again < 2; again++)
            if (below(3) == 0)
                place[o.place_count++] =
                    (struct gang__time_place){n, (uint32_t)index_below(o.group_count), below(3)};
    return o;
}

static void rival_of(const struct gang__occupation *o, struct rival *r)
{
    *r = (struct rival){.start = o->start_ns, .end = o->end_ns, .pool = o->pool, .whole = o->whole};
    for (size_t i = 0; i < o->place_count; i++) {
        const struct gang__time_place *p = &o->place[i];
        r->on[p->node] = true;
        for (int k = 0; k < KINDS; k++)
            r->amount[p->node][k] += p->tasks * need_of(&o->group[p->group], k);
    }
}

static void add(struct world *w, struct rival *r)
{
    struct gang__time_group group[GROUPS];
    struct gang__time_place place[PLACES];
    struct gang__occupation o = some_occupation(w, group, place);
    uint32_t id;
    tempt(w);
    gang_result result = gang__timeline_add(w->t, &o, &id);
    bool failed = w->mem.fail_at > 0 && w->mem.calls >= w->mem.fail_at;
    w->mem.fail_at = 0;
    test_assert(result == (failed ? GANG_ENOMEM : GANG_OK));
    if (result != GANG_OK)
        return;
    rival_of(&o, r);
    r->in = true;
    r->id = id;
}

static void change(struct world *w)
{
    struct rival *r = &w->rival[below(OCCUPATIONS)];
    if (!r->in) {
        add(w, r);
    } else if (below(2)) {
        gang__timeline_remove(w->t, r->id);
        r->in = false;
    } else {
        r->start = below(HORIZON);
        r->end = some_end(r->start);
        gang__timeline_move(w->t, r->id, r->start, r->end);
    }
}

/* ---- what is compared ---------------------------------------------------------------------- */

static void compare_steps(struct world *w)
{
    int64_t at = below(HORIZON) - 3, until, is[GANG__FREE_DIMS], must[GANG__FREE_DIMS + MORE];
    until = gang__timeline_sum_at(w->t, at, is);
    for (int64_t t = at; t < until && t < 2 * HORIZON; t++) {
        free_in_all(w, t, must);
        test_assert(memcmp(is, must, sizeof(is)) == 0);
    }
    uint32_t n = w->first + (uint32_t)below(w->nodes - w->first);
    until = timeline_node_at(w->t, n, at, is);
    for (int64_t t = at; t < until && t < 2 * HORIZON; t++) {
        (void)free_of(w, n, t, must);
        test_assert(memcmp(is, must, GANG__FREE_KINDS * sizeof(is[0])) == 0);
    }
}

static bool is_enough(const int64_t *need, const int64_t *unused)
{
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        if (need[k] > 0 && unused[k] < need[k])
            return false;
    return true;
}

static void compare_sums(struct world *w)
{
    int64_t need[GANG__FREE_DIMS], unused[GANG__FREE_DIMS], must = GANG__NEVER;
    int64_t from = below(HORIZON), duration = some_end(0);
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        need[k] = below(3) ? 0 : below(k == GANG__FREE_NODES ? 4 : 14);
    for (int64_t at = from < w->now ? w->now : from; at <= 2 * HORIZON && must == GANG__NEVER;
         at++) {
        bool enough = true;
        for (int64_t t = at; t < last_instant(at, duration) && enough; t++) {
            free_in_all(w, t, unused);
            enough = is_enough(need, unused);
        }
        test_assert(gang__timeline_fits_sum(w->t, need, at,
                                            duration == GANG__NEVER ? duration : at + duration) ==
                    enough);
        must = enough ? at : must;
    }
    test_assert(gang__timeline_earliest_sum(w->t, need, from, duration) == must);
}

static void compare_fits(struct world *w)
{
    struct gang__time_group group[GROUPS];
    struct gang__time_place place[PLACES];
    struct gang__occupation o = some_occupation(w, group, place);
    struct rival r;
    rival_of(&o, &r);
    bool fits = true;
    int64_t duration = o.end_ns == GANG__NEVER ? o.end_ns : o.end_ns - o.start_ns;
    for (uint32_t n = 0; n < w->nodes; n++) {
        int64_t unused[KINDS];
        bool whole = free_during(w, n, o.start_ns, duration, unused);
        fits &= !r.on[n] || !o.whole || whole;
        for (int k = 0; k < KINDS && !o.whole; k++)
            fits &= r.amount[n][k] <= unused[k] || !binds(w, n, k, r.amount[n][KINDS - 1], unused);
    }
    for (int64_t t = o.start_ns; t < last_instant(o.start_ns, duration); t++) {
        int64_t unused[GANG__FREE_DIMS];
        free_in_all(w, t, unused);
        fits &= o.pool == 0 || o.pool <= unused[GANG__FREE_POOL];
    }
    test_assert(gang__timeline_fits(w->t, &o) == fits);
}

static void compare_fit(struct world *w, const struct gang__time_request *request,
                        gang_result result)
{
    struct gang__time_place place[PLACES * GROUPS];
    size_t count = place_tasks(w, request, w->fit.start_ns, place);
    test_assert(result == GANG_OK && count > 0);
    struct gang__occupation o = {.start_ns = w->fit.start_ns,
                                 .end_ns = request->duration_ns == GANG__NEVER
                                               ? GANG__NEVER
                                               : w->fit.start_ns + request->duration_ns,
                                 .group = request->group,
                                 .group_count = request->group_count,
                                 .place = w->fit.place,
                                 .place_count = w->fit.count,
                                 .whole = request->whole};
    test_assert(gang__timeline_fits(w->t, &o));
    int64_t tasks[GROUPS] = {0};
    for (size_t i = 0; i < w->fit.count; i++) {
        const struct gang__time_place *p = &w->fit.place[i];
        test_assert(p->group < request->group_count && p->tasks > 0);
        test_assert(!request->nodes || (request->nodes[0] >> p->node & 1));
        test_assert(!request->group[p->group].max_per_node ||
                    p->tasks <= request->group[p->group].max_per_node);
        tasks[p->group] += p->tasks;
    }
    for (size_t g = 0; g < request->group_count; g++)
        test_assert(tasks[g] == request->group[g].count);
    if (request->group_count == 1)
        return; /* any of the nodes will do */
    test_assert(w->fit.count == count);
    for (size_t i = 0; i < count; i++)
        test_assert(place[i].node == w->fit.place[i].node &&
                    place[i].group == w->fit.place[i].group &&
                    place[i].tasks == w->fit.place[i].tasks);
}

/* With as much as it points to. */
struct question {
    struct gang__time_request request;
    struct gang__time_group group[GROUPS];
    uint64_t nodes;
    int64_t from;
};

static void some_question(struct question *q)
{
    *q = (struct question){.nodes = index_below(1 << NODES), .from = below(HORIZON)};
    q->request =
        (struct gang__time_request){.group = q->group, .group_count = 1 + index_below(GROUPS)};
    for (size_t i = 0; i < q->request.group_count; i++)
        some_group(&q->group[i]);
    q->request.duration_ns = some_end(0);
    q->request.nodes = below(3) ? NULL : &q->nodes;
    q->request.whole = below(2);
}

/* False: out of memory. */
static bool answer(struct world *w, const struct question *q, gang_result *result)
{
    tempt(w);
    *result = gang__timeline_earliest(w->t, &q->request, q->from, &w->fit);
    bool failed = w->mem.fail_at > 0 && w->mem.calls >= w->mem.fail_at;
    w->mem.fail_at = 0;
    test_assert((*result == GANG_ENOMEM) == failed);
    return !failed;
}

/* Each answer is a chance to remember something that is not true later. */
static void chat(struct world *w)
{
    struct question q;
    gang_result result;
    for (int i = 0; i < 4; i++) {
        some_question(&q);
        (void)answer(w, &q, &result);
    }
}

static void compare_earliest(struct world *w)
{
    struct question q;
    gang_result result;
    some_question(&q);
    if (!answer(w, &q, &result))
        return;
    if (q.request.group_count == 1) {
        int64_t must = earliest(w, &q.request, q.from);
        test_assert(result == (must == GANG__NEVER ? GANG_ENEVER : GANG_OK));
        test_assert(result != GANG_OK || w->fit.start_ns == must);
    }
    if (result == GANG_OK)
        compare_fit(w, &q.request, result);
    /* All at once is never before each alone. */
    for (size_t i = 0; i < q.request.group_count && result == GANG_OK; i++) {
        struct gang__time_request one = q.request;
        one.group = &q.group[i];
        one.group_count = 1;
        test_assert(earliest(w, &one, q.from) <= w->fit.start_ns);
    }
}

/* At one time: as laid out there. */
static void compare_at(struct world *w)
{
    struct question q;
    struct gang__time_place place[PLACES * GROUPS];
    some_question(&q);
    tempt(w);
    gang_result result = gang__timeline_at(w->t, &q.request, q.from, &w->fit);
    bool failed = w->mem.fail_at > 0 && w->mem.calls >= w->mem.fail_at;
    w->mem.fail_at = 0;
    test_assert((result == GANG_ENOMEM) == failed);
    if (failed)
        return;
    bool must = q.from >= w->now && place_tasks(w, &q.request, q.from, place) > 0;
    test_assert(result == (must ? GANG_OK : GANG_ENOFIT));
    if (result == GANG_OK)
        compare_fit(w, &q.request, result);
    else
        test_assert(w->fit.count == 0);
}

static void compare_latest(struct world *w)
{
    struct question q;
    struct gang__time_place place[PLACES * GROUPS];
    int64_t must = GANG__NEVER;
    some_question(&q);
    int64_t to = q.from + below(HORIZON);
    tempt(w);
    gang_result result = gang__timeline_latest(w->t, &q.request, q.from, to, &w->fit);
    bool failed = w->mem.fail_at > 0 && w->mem.calls >= w->mem.fail_at;
    w->mem.fail_at = 0;
    if (q.request.duration_ns == GANG__NEVER)
        test_assert(result == GANG_EINVAL || result == GANG_ENOFIT || failed);
    if (failed || q.request.duration_ns == GANG__NEVER)
        return;
    for (int64_t at = to; at >= q.from && at >= w->now && must == GANG__NEVER; at--)
        must = place_tasks(w, &q.request, at, place) ? at : must;
    if (q.request.group_count == 1) {
        test_assert(result == (must == GANG__NEVER ? GANG_ENOFIT : GANG_OK));
        test_assert(result != GANG_OK || w->fit.start_ns == must);
    }
    if (result != GANG_OK)
        return;
    test_assert(must != GANG__NEVER && w->fit.start_ns <= must && w->fit.start_ns >= q.from);
    compare_fit(w, &q.request, result);
}

static void compare_latest_sum(struct world *w)
{
    int64_t need[GANG__FREE_DIMS], unused[GANG__FREE_DIMS], must = GANG__NEVER;
    int64_t from = below(HORIZON), to = from + below(HORIZON);
    int64_t duration = 1 + below(20);
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        need[k] = below(3) ? 0 : below(k == GANG__FREE_NODES ? 4 : 14);
    for (int64_t at = to; at >= from && at >= w->now && must == GANG__NEVER; at--) {
        bool enough = true;
        for (int64_t t = at; t < at + duration && enough; t++) {
            free_in_all(w, t, unused);
            enough = is_enough(need, unused);
        }
        must = enough ? at : must;
    }
    test_assert(gang__timeline_latest_sum(w->t, need, from, to, duration) == must);
}

/* As on an empty timeline. */
static void compare_holds(struct world *w)
{
    struct question q;
    struct gang__timeline *empty;
    some_question(&q);
    MUST(gang__timeline_new(&w->mem.mem, w->capacity[0], w->nodes, 0, w->now, &empty));
    if (w->counts_more)
        MUST(gang__timeline_count_more(empty, w->more[0], guards, MORE));
    gang__timeline_skip(empty, w->first);
    gang_result must = gang__timeline_earliest(empty, &q.request, w->now, &w->fit);
    test_assert(gang__timeline_fits_empty(w->t, &q.request, &w->fit) == must);
    gang__timeline_free(empty);
}

/* On with a copy of it. */
static void copy(struct world *w)
{
    struct gang__timeline *other;
    tempt(w);
    gang_result result = gang__timeline_copy(&w->mem.mem, w->t, &other);
    bool failed = w->mem.fail_at > 0 && w->mem.calls >= w->mem.fail_at;
    w->mem.fail_at = 0;
    test_assert(result == (failed ? GANG_ENOMEM : GANG_OK));
    if (result != GANG_OK)
        return;
    gang__timeline_free(w->t);
    w->t = other;
}

/* ---- lives --------------------------------------------------------------------------------- */

/* `flat`: one node is left, or it is the only one. */
static void live(uint64_t seed, bool flat)
{
    enum { STEPS = 120 };
    struct world w = {.pool = 6};
    chance_state = seed;
    fail_mem_init(&w.mem, 0);
    w.nodes = 1 + (uint32_t)below(NODES);
    w.first = flat ? w.nodes - 1 : below(3) ? 0 : (uint32_t)below(w.nodes);
    for (uint32_t n = w.first; n < w.nodes; n++)
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            w.capacity[n][k] = below(8);
    w.counts_more = counts_more = below(2);
    for (uint32_t n = w.first; n < w.nodes && counts_more; n++)
        for (int k = 0; k < MORE; k++)
            w.more[n][k] = below(8);
    for (bool made = false; !made;) {
        tempt(&w);
        made = gang__timeline_new(&w.mem.mem, w.capacity[0], w.nodes, w.pool, 0, &w.t) == GANG_OK;
        test_assert(made || (!w.t && w.mem.live == 0));
    }
    for (bool made = !counts_more; !made;) {
        tempt(&w);
        made = gang__timeline_count_more(w.t, w.more[0], guards, MORE) == GANG_OK;
    }
    w.mem.fail_at = 0;
    gang__timeline_skip(w.t, w.first);
    for (int step = 0; step < STEPS; step++) {
        change(&w);
        if (below(40) == 0)
            copy(&w);
        if (below(10) == 0) {
            w.now += below(8);
            gang__timeline_advance(w.t, w.now);
        }
        compare_steps(&w);
        chat(&w);
        compare_earliest(&w);
        if (step % 4 == 0) {
            compare_sums(&w);
            compare_fits(&w);
            compare_at(&w);
            compare_latest(&w);
            compare_latest_sum(&w);
            compare_holds(&w);
        }
    }
    for (int i = 0; i < OCCUPATIONS; i++)
        if (w.rival[i].in && below(2))
            gang__timeline_remove(w.t, w.rival[i].id);
    gang__timeline_free(w.t);
    gang__time_fit_free(&w.fit, &w.mem.mem);
    test_assert(w.mem.live == 0);
}

START_TEST(a_timeline_agrees_with_arrays_of_intervals)
{
    enum { LIVES = 100 };
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < LIVES; i++)
        live(seed + i, false);
}
END_TEST

START_TEST(a_timeline_of_one_node_agrees_with_arrays_of_intervals)
{
    enum { LIVES = 100 };
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < LIVES; i++)
        live(seed + i, true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timelines, at random");
    TCase *tests = tcase_create("random");
    tcase_set_timeout(tests, 240);
    tcase_add_test(tests, a_timeline_agrees_with_arrays_of_intervals);
    tcase_add_test(tests, a_timeline_of_one_node_agrees_with_arrays_of_intervals);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
