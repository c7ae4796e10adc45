/* SPDX-License-Identifier: Apache-2.0 */
/* Admission against a naive calendar: every instant of a small world is tried, every window summed
 * up. */
#include "plan/admit/admit.h"

#include "chance.h"
#include "plan/audit.h"
#include "support.h"

enum { NODES = 3, TAKEN = 200, BUSY = 30, END = 160, STAGES = 3, GROUPS = 2 };

struct rival {
    int64_t start, end, pool;
    int64_t amount[NODES][GANG__FREE_KINDS];
    bool on[NODES], whole;
};

struct booking {
    int64_t start, end, amount[GANG__FREE_DIMS];
    bool new;
};

struct world {
    struct fail_mem mem;
    struct gang__timeline *t;
    struct gang__bookings *usage;
    struct gang__bookings_limit limit;
    struct gang__admitted got;
    int64_t capacity[NODES][GANG__FREE_KINDS], pool;
    uint32_t nodes;
    bool alike; /* all nodes are */
    struct rival rival[TAKEN];
    size_t rivals;
    struct booking booking[TAKEN];
    size_t bookings;
};

struct question {
    struct gang__admit_request request;
    struct gang__admit_stage stage[STAGES];
    struct gang__time_group group[STAGES][GROUPS];
    uint64_t mask[STAGES];
    uint32_t node[STAGES][NODES];
};

/* ---- the naive calendar -------------------------------------------------------------------- */

static bool free_of(const struct world *w, uint32_t node, int64_t at, int64_t *unused)
{
    bool whole = true;
    memcpy(unused, w->capacity[node], sizeof(w->capacity[node]));
    for (size_t i = 0; i < w->rivals; i++) {
        const struct rival *r = &w->rival[i];
        if (!r->on[node] || r->start > at || r->end <= at)
            continue;
        whole = false;
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            unused[k] -= r->whole ? w->capacity[node][k] : r->amount[node][k];
    }
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        unused[k] = unused[k] < 0 ? 0 : unused[k];
    return whole;
}

static int64_t free_pool(const struct world *w, int64_t at)
{
    int64_t unused = w->pool;
    for (size_t i = 0; i < w->rivals; i++)
        if (w->rival[i].start <= at && at < w->rival[i].end)
            unused -= w->rival[i].pool;
    return unused;
}

static bool free_during(const struct world *w, uint32_t node, int64_t start, int64_t end,
                        int64_t *unused)
{
    bool whole = true;
    for (int64_t at = start; at < end; at++) {
        int64_t one[GANG__FREE_KINDS];
        whole &= free_of(w, node, at, one);
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            unused[k] = at == start || one[k] < unused[k] ? one[k] : unused[k];
    }
    return whole;
}

static int64_t go_in(const struct gang__time_group *g, int64_t count, const int64_t *unused)
{
    int64_t tasks = 0;
    for (; tasks < count && (!g->max_per_node || tasks < g->max_per_node); tasks++)
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            if ((tasks + 1) * g->need[k] > unused[k])
                return tasks;
    return tasks;
}

static int64_t gangs_of(const struct gang__admit_stage *s)
{
    int64_t count = s->group_count ? s->group[0].count : s->pool;
    return s->gang ? count / s->gang : 1;
}

static bool may_use(const struct gang__admit_stage *s, uint32_t node)
{
    for (size_t i = 0; i < s->node_count; i++)
        if (s->node[i] == node)
            return true;
    return !s->node_count && (!s->nodes || (s->nodes[0] >> node & 1));
}

/* First fit of so many gangs of a stage with one group at most, as something that is taken then. */
static bool place_tasks(const struct world *w, const struct gang__admit_stage *s, int64_t gangs,
                        int64_t start, struct rival *r)
{
    int64_t end = start + s->duration_ns, unused[GANG__FREE_KINDS], left;
    struct gang__time_group node = {.count = (int64_t)s->node_count, .max_per_node = 1};
    const struct gang__time_group *g = s->node_count ? &node : s->group;
    *r = (struct rival){.start = start, .end = end, .whole = s->whole || s->node_count};
    if (s->pool) {
        r->pool = s->pool / gangs_of(s) * gangs;
        for (int64_t at = start; at < end; at++)
            if (free_pool(w, at) < r->pool)
                return false;
        return true;
    }
    left = g->count / gangs_of(s) * gangs;
    for (uint32_t n = 0; n < w->nodes && left > 0; n++) {
        bool whole = free_during(w, n, start, end, unused);
        if (!may_use(s, n) || (r->whole && !whole))
            continue;
        int64_t tasks = go_in(g, left, unused);
        left -= tasks;
        r->on[n] = tasks > 0;
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            r->amount[n][k] = tasks * g->need[k];
    }
    return left == 0;
}

static void count_up(const struct world *w, const struct rival *r, int64_t *amount)
{
    memset(amount, 0, GANG__FREE_DIMS * sizeof(amount[0]));
    amount[GANG__FREE_POOL] = r->pool;
    for (uint32_t n = 0; n < w->nodes; n++) {
        if (!r->on[n])
            continue;
        amount[GANG__FREE_NODES] += r->whole;
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            amount[k] += r->whole ? w->capacity[n][k] : r->amount[n][k];
    }
}

/* ---- limits -------------------------------------------------------------------------------- */

static int64_t booked_at(const struct world *w, int kind, int64_t at)
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->bookings; i++)
        if (w->booking[i].start <= at && at < w->booking[i].end)
            sum += w->booking[i].amount[kind];
    return sum;
}

static bool touches_new(const struct world *w, int kind, int64_t from, int64_t to)
{
    for (size_t i = 0; i < w->bookings; i++) {
        const struct booking *b = &w->booking[i];
        if (b->new && b->amount[kind] > 0 && b->start <= to && b->end >= from)
            return true;
    }
    return false;
}

/* Are the new bookings within the limits? */
static bool is_within(const struct world *w)
{
    for (int k = 0; k < GANG__FREE_DIMS && w->usage; k++) {
        int64_t window = w->limit.average[k] == GANG__NO_LIMIT ? 0 : w->limit.window_ns;
        if (window == 0 && w->limit.peak[k] == GANG__NO_LIMIT)
            continue;
        for (int64_t at = -20; at < END; at++) {
            int64_t sum = 0;
            for (size_t i = 0; i < w->bookings && w->limit.peak[k] != GANG__NO_LIMIT; i++)
                if (w->booking[i].new && w->booking[i].amount[k] > 0 && w->booking[i].start <= at &&
                    at < w->booking[i].end &&booked_at(w, k, at) > w->limit.peak[k])
                    return false;
            for (int64_t t = at; t < at + window; t++)
                sum += booked_at(w, k, t);
            if (touches_new(w, k, at, at + window) && sum > w->limit.average[k] * window)
                return false;
        }
    }
    return true;
}

static void book(struct world *w, const struct rival *r)
{
    struct booking *b = &w->booking[w->bookings++];
    ck_assert_uint_le(w->bookings, TAKEN);
    *b = (struct booking){r->start, r->end, {0}, true};
    count_up(w, r, b->amount);
}

/* Would all gangs of the stage fit there together, with all repetitions and within the limits? */
static bool would_do(struct world *w, const struct question *q, const struct gang__admit_stage *s,
                     int64_t start)
{
    int64_t instances = q->request.period_ns ? q->request.instances : 1;
    size_t bookings = w->bookings;
    bool fits = true;
    for (int64_t i = 0; i < instances && fits; i++) {
        struct rival r;
        fits = place_tasks(w, s, gangs_of(s), start + i * q->request.period_ns, &r);
        if (fits && w->usage)
            book(w, &r);
    }
    fits = fits && (!w->usage || is_within(w));
    w->bookings = bookings;
    return fits;
}

/* ---- what is there, and what is asked for -------------------------------------------------- */

static void occupy(struct world *w)
{
    struct rival *r = &w->rival[w->rivals++];
    struct gang__time_group group[NODES];
    struct gang__time_place place[NODES];
    struct gang__occupation o = {.start_ns = below(BUSY), .pool = below(4), .whole = one_in(4)};
    uint32_t id;
    o.end_ns = o.start_ns + 1 + below(12);
    o.group = group;
    o.group_count = w->nodes;
    o.place = place;
    *r = (struct rival){.start = o.start_ns, .end = o.end_ns, .pool = o.pool, .whole = o.whole};
    for (uint32_t n = 0; n < w->nodes; n++) {
        group[n] = (struct gang__time_group){.count = 1};
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            r->amount[n][k] = group[n].need[k] = below(3);
        r->on[n] = one_in(2);
        if (r->on[n])
            place[o.place_count++] = (struct gang__time_place){n, n, 1};
    }
    MUST(gang__timeline_add(w->t, &o, &id));
}

static void some_limit(struct world *w)
{
    struct gang__bookings_limit none = GANG__BOOKINGS_NO_LIMIT;
    const int kind[] = {GANG__FREE_GPU, GANG__FREE_POOL, GANG__FREE_NODES};
    w->limit = none;
    w->limit.window_ns = one_in(3) ? 0 : 1 + below(20);
    for (int i = 0; i < 3; i++) {
        w->limit.peak[kind[i]] = one_in(3) ? 2 + below(8) : GANG__NO_LIMIT;
        w->limit.average[kind[i]] = one_in(3) ? 1 + below(5) : GANG__NO_LIMIT;
    }
    MUST(gang__bookings_new(&w->mem.mem, &w->limit, &w->usage));
    for (int64_t n = below(4); n > 0; n--) {
        struct booking *b = &w->booking[w->bookings++];
        uint32_t id;
        *b = (struct booking){.start = below(BUSY)};
        b->end = b->start + 1 + below(10);
        b->amount[GANG__FREE_GPU] = below(4);
        b->amount[GANG__FREE_POOL] = below(4);
        MUST(gang__bookings_add(w->usage, b->start, b->end, b->amount, &id));
    }
}

static void world_open(struct world *w)
{
    memset(w, 0, sizeof(*w));
    fail_mem_init(&w->mem, 0);
    w->nodes = 1 + (uint32_t)below(NODES);
    w->pool = one_in(8) ? 0 : 4 + below(9);
    w->alike = one_in(2);
    for (uint32_t n = 0; n < w->nodes; n++)
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            w->capacity[n][k] = n && w->alike ? w->capacity[0][k] : one_in(12) ? 0 : 3 + below(8);
    MUST(gang__timeline_new(&w->mem.mem, w->capacity[0], w->nodes, w->pool, 0, &w->t));
    for (int64_t n = below(9); n > 0; n--)
        occupy(w);
    if (one_in(2))
        some_limit(w);
}

static void world_close(struct world *w)
{
    gang__timeline_free(w->t);
    gang__bookings_free(w->usage);
    gang__admitted_free(&w->got, &w->mem.mem);
    test_assert(w->mem.live == 0);
}

static void some_groups(struct question *q, size_t i)
{
    struct gang__admit_stage *s = &q->stage[i];
    int64_t gangs = one_in(2) ? 1 : 1 + below(4), gang = 1 + below(3);
    s->group = q->group[i];
    s->group_count = one_in(4) ? 2 : 1;
    for (size_t g = 0; g < s->group_count; g++) {
        q->group[i][g] = (struct gang__time_group){.count = gangs * (g ? 1 + below(2) : gang)};
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            q->group[i][g].need[k] = below(3);
        /* What needs nothing may also be where a node was taken whole before, but not the reverse.
         * */
        q->group[i][g].need[below(GANG__FREE_KINDS)] = 1 + below(2);
        q->group[i][g].max_per_node = one_in(4) ? 1 + below(2) : 0;
    }
    s->gang = gang;
    s->whole = one_in(4);
    if (one_in(3)) {
        q->mask[i] = 1 + (uint64_t)below((1 << NODES) - 1);
        s->nodes = &q->mask[i];
    }
}

static void some_stage(const struct world *w, struct question *q, size_t i)
{
    struct gang__admit_stage *s = &q->stage[i];
    *s = (struct gang__admit_stage){.duration_ns = 1 + below(8)};
    if (one_in(3)) {
        s->gang = 1 + below(4);
        s->pool = s->gang * (one_in(2) ? 1 : 1 + below(4));
    } else if (one_in(5)) {
        for (uint32_t n = 0; n < w->nodes; n++)
            if (one_in(2) || (n + 1 == w->nodes && !s->node_count))
                q->node[i][s->node_count++] = n;
        s->node = q->node[i];
    } else {
        some_groups(q, i);
    }
}

static void some_question(struct world *w, struct question *q)
{
    struct gang__admit_request *a = &q->request;
    int64_t sum = 0;
    memset(q, 0, sizeof(*q));
    a->stage = q->stage;
    a->stage_count = one_in(2) ? 1 : 1 + index_below(STAGES);
    for (size_t i = 0; i < a->stage_count; i++) {
        some_stage(w, q, i);
        sum += q->stage[i].duration_ns;
    }
    a->combine = (int)below(4);
    a->prefer = (int)below(3);
    a->arrival_ns = below(20);
    a->deadline_ns = a->arrival_ns + sum + below(20);
    if (a->prefer == GANG__ADMIT_EARLIEST && one_in(8))
        a->deadline_ns = GANG__NEVER;
    if (one_in(4)) {
        a->period_ns = sum + below(10);
        a->instances = 1 + below(3);
    }
    a->fixed = one_in(6);
    a->start_ns = a->arrival_ns + below(5);
    a->usage = w->usage;
}

/* ---- an answer ----------------------------------------------------------------------------- */

/* All that the timeline and the bookings tell. */
struct state {
    int64_t sum[END][GANG__FREE_DIMS], node[END][NODES][GANG__FREE_KINDS];
    int64_t booked[END][GANG__FREE_DIMS];
};

static void look(struct world *w, struct state *s)
{
    memset(s, 0, sizeof(*s));
    for (int64_t at = 0; at < END; at++) {
        (void)gang__timeline_sum_at(w->t, at, s->sum[at]);
        for (uint32_t n = 0; n < w->nodes; n++)
            (void)timeline_node_at(w->t, n, at, s->node[at][n]);
        if (w->usage)
            (void)bookings_at(w->usage, at, s->booked[at]);
    }
}

static void expect_state(struct world *w, const struct state *before)
{
    struct state *now = malloc(sizeof(*now));
    look(w, now);
    test_assert(memcmp(now, before, sizeof(*now)) == 0);
    free(now);
}

/* What a piece takes, after it was seen to be what its stage asks for. */
static struct rival rival_of(const struct world *w, const struct question *q,
                             const struct gang__admit_piece *p)
{
    const struct gang__admit_stage *s = &q->stage[p->stage];
    struct rival r = {.start = p->start_ns, .end = p->end_ns, .pool = p->pool, .whole = p->whole};
    int64_t tasks[GROUPS] = {0}, on[NODES][GROUPS] = {{0}};
    test_assert(p->end_ns - p->start_ns == s->duration_ns && p->gangs >= 1);
    test_assert(p->pool == s->pool / gangs_of(s) * p->gangs);
    test_assert(p->whole == (s->whole || s->node_count > 0));
    for (size_t i = p->place; i < p->place + p->place_count; i++) {
        const struct gang__time_place *at = &w->got.place[i];
        test_assert(at->tasks > 0 && may_use(s, at->node));
        r.on[at->node] = true;
        if (s->node_count)
            continue;
        tasks[at->group] += at->tasks;
        on[at->node][at->group] += at->tasks;
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            r.amount[at->node][k] += at->tasks * s->group[at->group].need[k];
    }
    test_assert(!s->node_count || p->place_count == s->node_count);
    for (size_t g = 0; g < s->group_count; g++) {
        test_assert(tasks[g] == s->group[g].count / gangs_of(s) * p->gangs);
        for (uint32_t n = 0; n < w->nodes; n++)
            test_assert(!s->group[g].max_per_node || on[n][g] <= s->group[g].max_per_node);
    }
    return r;
}

/* Is no more taken than there is, at any instant? */
static bool has_cap(const struct world *w, const struct rival *r)
{
    for (int64_t at = r->start; at < r->end; at++) {
        if (r->pool > 0 && free_pool(w, at) < r->pool)
            return false;
        for (uint32_t n = 0; n < w->nodes; n++) {
            int64_t unused[GANG__FREE_KINDS];
            bool whole = free_of(w, n, at, unused);
            if (r->on[n] && r->whole && !whole)
                return false;
            for (int k = 0; k < GANG__FREE_KINDS && r->on[n] && !r->whole; k++)
                if (r->amount[n][k] > unused[k])
                    return false;
        }
    }
    return true;
}

static int64_t gangs_at(const struct world *w, uint32_t stage, uint32_t instance, int64_t start)
{
    int64_t gangs = 0;
    for (size_t i = 0; i < w->got.count; i++) {
        const struct gang__admit_piece *p = &w->got.piece[i];
        if (p->stage == stage && p->instance == instance && (start < 0 || p->start_ns == start))
            gangs += p->gangs;
    }
    return gangs;
}

/* From when to when a stage lasts; false: it was not placed. */
static bool extent(const struct world *w, uint32_t stage, int64_t *from, int64_t *to)
{
    *from = INT64_MAX;
    *to = INT64_MIN;
    for (size_t i = 0; i < w->got.count; i++) {
        const struct gang__admit_piece *p = &w->got.piece[i];
        if (p->stage != stage || p->instance)
            continue;
        *from = p->start_ns < *from ? p->start_ns : *from;
        *to = p->end_ns > *to ? p->end_ns : *to;
    }
    return *from != INT64_MAX;
}

/* All gangs, as often as asked for, in the window, and in order. */
static void expect_times(const struct world *w, const struct question *q)
{
    const struct gang__admit_request *a = &q->request;
    int64_t from, to, last = a->arrival_ns, instances = a->period_ns ? a->instances : 1;
    int placed = 0;
    bool gap = a->combine != GANG__ADMIT_ORDER_NO_GAP;
    for (uint32_t s = 0; s < a->stage_count; s++) {
        if (!extent(w, s, &from, &to))
            continue;
        test_assert(from >= a->arrival_ns && to <= a->deadline_ns);
        for (uint32_t i = 0; i < instances; i++)
            test_assert(gangs_at(w, s, i, -1) == gangs_of(&q->stage[s]));
        if (a->combine >= GANG__ADMIT_ORDER)
            test_assert(gap || !placed ? from >= last : from == last);
        if (a->fixed && (a->combine < GANG__ADMIT_ORDER || !placed))
            test_assert(from == a->start_ns && to == from + q->stage[s].duration_ns);
        last = to;
        placed++;
    }
    test_assert(placed == (a->combine == GANG__ADMIT_ANY ? 1 : (int)a->stage_count));
    for (size_t i = 0; i < w->got.count; i++) {
        const struct gang__admit_piece *p = &w->got.piece[i];
        int64_t first = p->start_ns - p->instance * a->period_ns;
        test_assert(gangs_at(w, p->stage, p->instance, p->start_ns) ==
                    gangs_at(w, p->stage, 0, first));
    }
}

static void expect_accepted(struct world *w, const struct question *q)
{
    size_t rivals = w->rivals, bookings = w->bookings;
    for (size_t i = 0; i < w->got.count; i++) {
        struct rival r = rival_of(w, q, &w->got.piece[i]);
        test_assert(has_cap(w, &r));
        ck_assert_uint_lt(w->rivals, TAKEN);
        w->rival[w->rivals++] = r;
        if (w->usage)
            book(w, &r);
    }
    expect_times(w, q);
    test_assert(!w->usage || is_within(w));
    for (int64_t at = 0; at < END && w->usage; at++) {
        int64_t amount[GANG__FREE_DIMS];
        (void)bookings_at(w->usage, at, amount);
        for (int k = 0; k < GANG__FREE_DIMS; k++)
            test_assert(amount[k] == booked_at(w, k, at));
    }
    w->rivals = rivals;
    w->bookings = bookings;
}

/* ---- one gang, or all at once: exactly when ------------------------------------------------ */

static int64_t load_at(const struct world *w, int64_t at)
{
    int64_t load = 0, total[GANG__FREE_KINDS] = {0}, unused[GANG__FREE_KINDS] = {0};
    for (uint32_t n = 0; n < w->nodes; n++) {
        int64_t one[GANG__FREE_KINDS];
        (void)free_of(w, n, at, one);
        for (int k = 0; k < GANG__FREE_KINDS; k++) {
            total[k] += w->capacity[n][k];
            unused[k] += one[k];
        }
    }
    for (int k = 0; k <= GANG__FREE_KINDS; k++) {
        bool pool = k == GANG__FREE_KINDS;
        int64_t all = pool ? w->pool : total[k], left = pool ? free_pool(w, at) : unused[k];
        left = left < 0 ? 0 : left;
        int64_t one = all ? (all - left) * (1 << 20) / all : 0;
        load = one > load ? one : load;
    }
    return load;
}

static int64_t cost_of(const struct world *w, const struct question *q, int64_t start)
{
    int64_t cost = 0, instances = q->request.period_ns ? q->request.instances : 1;
    for (int64_t i = 0; i < instances; i++)
        for (int64_t t = 0; t < q->stage[0].duration_ns; t++)
            cost += load_at(w, start + i * q->request.period_ns + t);
    return cost;
}

/* Has it one stage of one gang of one group, so that its start is known exactly? */
static bool is_simple(const struct world *w, const struct question *q)
{
    const struct gang__admit_stage *s = &q->stage[0];
    bool whole = s->whole || s->node_count;
    return q->request.stage_count == 1 && s->group_count <= 1 && !q->request.fixed &&
           gangs_of(s) == 1 &&
           (!whole || !w->usage || (w->alike && q->request.prefer != GANG__ADMIT_CHEAPEST));
}

static int64_t best_start(struct world *w, const struct question *q)
{
    const struct gang__admit_stage *s = &q->stage[0];
    int64_t best = GANG__NEVER, last = q->request.deadline_ns - s->duration_ns, least = INT64_MAX;
    last = q->request.deadline_ns == GANG__NEVER ? END / 2 : last;
    for (int64_t at = q->request.arrival_ns; at <= last; at++) {
        if ((best != GANG__NEVER && q->request.prefer == GANG__ADMIT_EARLIEST) ||
            !would_do(w, q, s, at))
            continue;
        int64_t cost = q->request.prefer == GANG__ADMIT_CHEAPEST ? cost_of(w, q, at) : -at;
        best = cost < least ? at : best;
        least = cost < least ? cost : least;
    }
    return best;
}

static void expect_start(struct world *w, const struct question *q, gang_result r)
{
    int64_t best = best_start(w, q);
    test_assert((r == GANG_OK) == (best != GANG__NEVER));
    if (r == GANG_OK) {
        test_assert(w->got.piece[0].start_ns == best);
        return;
    }
    struct question open = *q;
    open.request.prefer = GANG__ADMIT_EARLIEST;
    open.request.deadline_ns = GANG__NEVER;
    int64_t next = best_start(w, &open);
    test_assert(w->got.next_ns == next);
}

/* ---- gang by gang, stage by stage ---------------------------------------------------------- */

/* Stages that are placed one after the other, each gang where it is first, or last. False: not
 * all. */
static bool place_naively(struct world *w, const struct question *q, int64_t (*gangs)[END])
{
    const struct gang__admit_request *a = &q->request;
    bool late = a->prefer == GANG__ADMIT_LATEST, order = a->combine == GANG__ADMIT_ORDER;
    int64_t from = a->arrival_ns, to = a->deadline_ns, others = 0;
    for (size_t i = 0; i < a->stage_count && order; i++)
        others += q->stage[i].duration_ns;
    for (size_t i = 0; i < a->stage_count; i++) {
        size_t at = late && order ? a->stage_count - 1 - i : i;
        const struct gang__admit_stage *s = &q->stage[at];
        int64_t first = INT64_MAX, last = INT64_MIN;
        others -= order ? s->duration_ns : 0;
        for (int64_t g = 0; g < gangs_of(s); g++) {
            int64_t low = from + (late ? others : 0),
                    high = to - (late ? 0 : others) - s->duration_ns;
            int64_t start = late ? high : low;
            struct rival r;
            while (start >= low && start <= high && !place_tasks(w, s, 1, start, &r))
                start += late ? -1 : 1;
            if (start < low || start > high)
                return false;
            w->rival[w->rivals++] = r;
            gangs[at][start]++;
            first = start < first ? start : first;
            last = start + s->duration_ns > last ? start + s->duration_ns : last;
        }
        from = order && !late ? last : from;
        to = order && late ? first : to;
    }
    return true;
}

static bool is_greedy(const struct world *w, const struct question *q)
{
    const struct gang__admit_request *a = &q->request;
    bool simple = !w->usage && !a->period_ns && !a->fixed && a->deadline_ns != GANG__NEVER &&
                  a->prefer == GANG__ADMIT_EARLIEST &&
                  (a->combine == GANG__ADMIT_ALL || a->combine == GANG__ADMIT_ORDER);
    for (size_t i = 0; i < a->stage_count; i++)
        simple = simple && q->stage[i].group_count <= 1 && !q->stage[i].whole &&
                 (!q->stage[i].group_count || q->stage[i].group[0].max_per_node == 0);
    return simple;
}

/* The same gangs at the same times. */
static void expect_greedy(struct world *w, struct question *q, gang_result r)
{
    int64_t gangs[STAGES][END] = {{0}};
    size_t rivals = w->rivals;
    bool placed = place_naively(w, q, gangs);
    w->rivals = rivals;
    test_assert((r == GANG_OK) == placed);
    for (uint32_t s = 0; s < q->request.stage_count && placed; s++)
        for (int64_t at = 0; at < END; at++)
            test_assert(gangs_at(w, s, 0, at) == gangs[s][at]);
}

/* Late, where it can be. */
static void expect_late(struct world *w, struct question *q)
{
    int64_t gangs[STAGES][END] = {{0}};
    size_t rivals = w->rivals;
    bool placed = place_naively(w, q, gangs);
    w->rivals = rivals;
    for (uint32_t s = 0; s < q->request.stage_count && placed; s++)
        for (int64_t at = 0; at < END; at++)
            test_assert(gangs_at(w, s, 0, at) == gangs[s][at]);
}

/* ---- refusals ------------------------------------------------------------------------------ */

/* The next window would do; without limits, where they are blamed; with all free, but not if it is
 * too large. */
static void expect_refused(struct world *w, const struct question *q, gang_result r)
{
    struct question other = *q;
    struct gang__admitted got = {0};
    struct gang__timeline *empty;
    int why = w->got.why;
    int64_t next = w->got.next_ns,
            way = next - (q->request.fixed ? q->request.start_ns : q->request.arrival_ns);
    test_assert(r == (next == GANG__NEVER ? GANG_ENEVER : GANG_ENOFIT));
    test_assert(next == GANG__NEVER || way > 0);
    other.request.stage = other.stage;
    if (next != GANG__NEVER) {
        other.request.arrival_ns += q->request.fixed ? 0 : way;
        other.request.start_ns += way;
        other.request.deadline_ns += q->request.deadline_ns == GANG__NEVER ? 0 : way;
        test_assert(gang__admit(w->t, &other.request, &got) == GANG_OK);
        gang__admitted_undo(w->t, &got);
        other.request = q->request;
    }
    if (why == GANG__ADMIT_PEAK || why == GANG__ADMIT_AVERAGE) {
        test_assert(w->got.wanted > w->got.has);
        other.request.usage = NULL;
        test_assert(gang__admit(w->t, &other.request, &got) == GANG_OK);
        gang__admitted_undo(w->t, &got);
    }
    if (why == GANG__ADMIT_LARGER) {
        MUST(gang__timeline_new(&w->mem.mem, w->capacity[0], w->nodes, w->pool, 0, &empty));
        test_assert(gang__admit(empty, &q->request, &got) == GANG_ENEVER);
        test_assert(got.why == GANG__ADMIT_LARGER);
        gang__timeline_free(empty);
    }
    gang__admitted_free(&got, &w->mem.mem);
}

/* ---- lives --------------------------------------------------------------------------------- */

static void ask_one(struct world *w, const struct state *before)
{
    struct question q;
    some_question(w, &q);
    w->mem.fail_at = one_in(4) ? w->mem.calls + 1 + below(12) : 0;
    gang_result r = gang__admit(w->t, &q.request, &w->got);
    bool failed = w->mem.fail_at > 0 && w->mem.calls >= w->mem.fail_at;
    w->mem.fail_at = 0;
    test_assert((r == GANG_ENOMEM) == failed);
    if (r == GANG_OK) {
        expect_accepted(w, &q);
        if (is_simple(w, &q))
            expect_start(w, &q, r);
        if (is_greedy(w, &q))
            expect_greedy(w, &q, r);
        struct question late = q;
        late.request.prefer = GANG__ADMIT_EARLIEST;
        if (q.request.prefer == GANG__ADMIT_LATEST && is_greedy(w, &late))
            expect_late(w, &q);
        gang__admitted_undo(w->t, &w->got);
    } else if (!failed && w->got.why < GANG__ADMIT_BAD_WINDOW && w->got.why != GANG__ADMIT_SHORT) {
        if (is_simple(w, &q))
            expect_start(w, &q, r);
        if (is_greedy(w, &q))
            expect_greedy(w, &q, r);
        expect_refused(w, &q, r);
    } else if (!failed) {
        /* Only what is drawn at random can be wrong. */
        test_assert(w->got.why == GANG__ADMIT_SHORT || w->got.why == GANG__ADMIT_BAD_WINDOW);
    }
    test_assert(w->got.count == 0);
    expect_state(w, before);
}

START_TEST(admission_agrees_with_a_naive_calendar)
{
    enum { ASKS = 12 };
    const int worlds = getenv("GANG_TEST_QUICK") ? 400 : 4000;
    struct world *w = malloc(sizeof(*w));
    struct state *before = malloc(sizeof(*before));
    chance_state = test_seed();
    for (int i = 0; i < worlds; i++) {
        world_open(w);
        look(w, before);
        for (int n = 0; n < ASKS; n++)
            ask_one(w, before);
        world_close(w);
    }
    free(before);
    free(w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admission, at random");
    TCase *tests = tcase_create("random");
    tcase_set_timeout(tests, 240);
    tcase_add_test(tests, admission_agrees_with_a_naive_calendar);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
