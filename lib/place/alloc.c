/* SPDX-License-Identifier: Apache-2.0 */
/* Allocating, growing, shrinking, freeing: plan, commit, record.
 *
 * Everything that can fail for want of memory happens before the commit; after it nothing can. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/commit.h"
#include "core/index.h"
#include "core/kind.h"
#include "core/node.h"
#include "place/explain.h"
#include "place/search.h"
#include "place/table.h"

/* A refusal is given without proof when releases have disturbed so many searches in a row. */
enum { SEARCHES = 64 };

/* ---- from plan to commit ------------------------------------------------------------------------ */

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void sort_keys(uint64_t *key, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (key[i - 1] > key[i]) {
            qsort(key, count, sizeof(*key), by_key);
            return;
        }
    }
}

static bool order_reserve(gang_worker *w, size_t keys)
{
    struct gang__placer *p = w->place;
    return gang__grow(&w->cluster->mem, (void **)&p->order, &p->order_room, keys,
                      sizeof(*p->order));
}

/* Does the plan touch this view? A node by any task, if only to see that it is up; the pool if
 * something is taken of it. */
static bool is_touched(struct gang__plan *p, const struct gang__view *v)
{
    size_t bytes = v->words * sizeof(uint64_t);
    return v->node ? v->used > 0 : memcmp(gang__view_was(p, v), gang__view_now(p, v), bytes) != 0;
}

static void add_view(gang_worker *w, struct gang__plan *p, const struct gang__view *v)
{
    const uint64_t *was = gang__view_was(p, v), *now = gang__view_now(p, v);
    if (v->node)
        gang__commit_add(w, v->slot, GANG__WORD_HEAD, GANG__OP_HEAD,
                         (gang__head_cpu(was[0]) - gang__head_cpu(now[0])) |
                             (p->adopting ? GANG__HEAD_IF_THERE : GANG__HEAD_IF_UP));
    for (unsigned i = 1; i < v->words; i++) {
        if (was[i] == now[i])
            continue;
        /* Of bits and of counts alike, what was there and is not any more. */
        enum gang__code code = v->node ? gang__code_of(v->layout, i, false) : GANG__OP_TAKE;
        gang__commit_add(w, v->slot, i, code, was[i] - now[i]);
    }
}

/* Take what the plan takes. GANG_ENOFIT: something changed meanwhile; *slot is where. */
static gang_result commit_plan(gang_worker *w, struct gang__plan *p, uint32_t *slot)
{
    struct gang__placer *placer = w->place;
    size_t touched = 0, ops = 0;
    if (!order_reserve(w, p->views))
        return GANG_ENOMEM;
    for (size_t i = 0; i < p->views; i++) {
        if (!is_touched(p, &p->view[i]))
            continue;
        placer->order[touched++] = (uint64_t)p->view[i].slot << 32 | i;
        ops += p->view[i].words;
    }
    if (gang__commit_reserve(w, ops) != GANG_OK)
        return GANG_ENOMEM;
    sort_keys(placer->order, touched);
    gang__commit_begin(w);
    for (size_t i = 0; i < touched; i++)
        add_view(w, p, &p->view[(uint32_t)placer->order[i]]);
    uint32_t refused = 0;
    gang_result r = gang__commit_run(w, false, &refused);
    if (r != GANG_OK) {
        unsigned word;
        uint64_t payload;
        w->stats.conflicts++;
        if (touched)
            gang__commit_op(w, refused, slot, &word, &payload);
        return r;
    }
    for (size_t i = 0; i < touched; i++)
        if ((uint32_t)(placer->order[i] >> 32) != GANG__POOL)
            gang__index_tidy(w->cluster, (uint32_t)(placer->order[i] >> 32));
    return GANG_OK;
}

/* ---- what a task holds, as a record ---------------------------------------------------------------- */

static void put(uint64_t *out, unsigned *n, unsigned word, uint64_t payload, uint64_t flags)
{
    if (payload == 0)
        return;
    if (out)
        out[*n] = payload | (uint64_t)word << GANG__PAYLOAD_BITS | flags;
    (*n)++;
}

/* The deltas of a pick; `out` NULL: only count them. */
static unsigned deltas_of(const struct gang__plan *p, const struct gang__pick *pick, uint64_t *out)
{
    const struct gang__group *g = &p->q->group[pick->group];
    const struct gang__view *v = &p->view[pick->view];
    unsigned n = 0;
    put(out, &n, GANG__WORD_HEAD, g->cpu, 0);
    put(out, &n, GANG__WORD_MEMORY, g->pages, 0);
    for (unsigned w = 0; pick->gpus >> (w * GANG__SHARES_PER_WORD); w++) {
        uint64_t shares = 0;
        for (unsigned i = 0; i < GANG__SHARES_PER_WORD; i++)
            if (pick->gpus >> (w * GANG__SHARES_PER_WORD + i) & 1)
                shares |= gang__share_of(i, pick->share);
        put(out, &n, GANG__WORD_SHARES + w, shares, 0);
        if (w + 1 == GANG_MAX_GPUS / GANG__SHARES_PER_WORD)
            break;
    }
    for (unsigned i = 0; pick->cores && i < v->layout.core_words; i++)
        put(out, &n, gang__first_core(v->layout) + i, p->word[pick->core_at + i], 0);
    for (size_t i = 0; i < g->node_need_count; i++)
        put(out, &n, v->node->kind_word[g->node_needs[i].kind], (uint64_t)g->node_needs[i].amount,
            0);
    for (size_t i = 0; i < g->pool_need_count; i++)
        put(out, &n, gang__pool_word(g->pool_needs[i].kind), (uint64_t)g->pool_needs[i].amount,
            GANG__DELTA_POOL);
    return n;
}

static size_t data_size(const struct gang__plan *p)
{
    size_t words = 0;
    for (size_t i = 0; i < p->picks; i++)
        words += GANG__TASK_HEAD + deltas_of(p, &p->pick[i], NULL);
    return words;
}

static void data_append(struct gang__alloc *a, const struct gang__plan *p)
{
    for (size_t i = 0; i < p->picks; i++) {
        const struct gang__pick *pick = &p->pick[i];
        uint64_t *task = a->data + a->used;
        unsigned n = deltas_of(p, pick, task + GANG__TASK_HEAD);
        task[0] = p->view[pick->view].node->id;
        task[1] = (uint64_t)a->next_number++ | (uint64_t)n << 32 | (uint64_t)pick->group << 48;
        a->used += GANG__TASK_HEAD + n;
    }
    a->tasks += (uint32_t)p->picks;
}

/* ---- planning a gang --------------------------------------------------------------------------------- */

static uint32_t start_of(const gang_worker *w)
{
    uint32_t end = gang__load(&w->cluster->slot_end);
    return (uint32_t)((uint64_t)(w->index * UINT32_C(0x9e3779b1)) * end >> 32);
}

static gang_result plan_once(gang_worker *w, const gang_request *q, bool proof, bool empty)
{
    struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    if (gang__plan_begin(p, w->cluster, q, empty) != GANG_OK)
        return GANG_ENOMEM;
    p->start = start_of(w);
    bool fits = gang__pack_request(p, proof);
    return p->failed ? GANG_ENOMEM : fits ? GANG_OK : GANG_ENOFIT;
}

/* A plan for the whole gang, or a refusal that is true (core/commit.c). */
static gang_result plan_gang(gang_worker *w, const gang_request *q)
{
    gang_result r = GANG_ENOFIT;
    for (int i = 0; i < SEARCHES && r == GANG_ENOFIT; i++) {
        uint64_t stamp = gang__stamp_read(w->cluster);
        r = plan_once(w, q, false, false);
        if (r == GANG_ENOFIT)
            r = plan_once(w, q, true, false);
        if (r == GANG_ENOFIT && gang__stamp_read(w->cluster) == stamp)
            break;
    }
    return r;
}

/* Could it ever fit? Remembered for as long as the nodes do not change. */
static gang_result fits_ever(gang_worker *w, gang_request *q)
{
    uint64_t epoch = gang__load(&w->cluster->epoch) + 1;
    if (gang__load(&q->fits_epoch) == epoch)
        return GANG_OK;
    if (gang__load(&q->never_epoch) == epoch)
        return GANG_ENEVER;
    gang_result r = plan_once(w, q, false, true);
    if (r != GANG_ENOMEM)
        gang__store(r == GANG_OK ? &q->fits_epoch : &q->never_epoch, epoch);
    return r == GANG_ENOFIT ? GANG_ENEVER : r;
}

/* A refusal of a gang (more < 0) or of one more task of a group: tell why. `ever`: GANG_OK,
 * GANG_ENEVER or GANG_ENOMEM. */
static gang_result refuse(gang_worker *w, gang_request *q, gang_result ever, int32_t more,
                          struct gang_error *error)
{
    struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    w->stats.refusals++;
    if (ever == GANG_ENOMEM)
        return gang__error(error, ever, NULL, "out of memory");
    gang_result code = ever == GANG_OK ? GANG_ENOFIT : GANG_ENEVER;
    return error ? gang__explain(p, w->cluster, q, code, more, error) : code;
}

static gang_result check_call(gang_worker *w, const gang_request *q, struct gang_error *error)
{
    if (!w || !q)
        return gang__error(error, GANG_EINVAL, NULL, "no worker or no request");
    if (w->cluster != q->cluster)
        return gang__error(error, GANG_EINVAL, NULL, "the request is of another cluster");
    if (!gang__placer_of(w))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    return GANG_OK;
}

/* ---- the gang ------------------------------------------------------------------------------------------ */

/* Room to give back `tasks` tasks of `words` words of data with this worker. */
static bool release_reserve(gang_worker *w, size_t tasks, size_t words)
{
    return order_reserve(w, tasks) && gang__commit_reserve(w, words + GANG__MAX_WORDS) == GANG_OK;
}

/* A BUSY record with room for what is planned, and to give it back. */
static gang_result record_new(gang_worker *w, gang_request *q, struct gang__alloc **a)
{
    struct gang__placer *placer = w->place;
    uint32_t room_class;
    size_t words = data_size(&placer->plan);
    if (!release_reserve(w, placer->plan.picks, words))
        return GANG_ENOMEM;
    uint64_t *data = gang__buffer_get(w, words, &room_class);
    if (!data)
        return GANG_ENOMEM;
    gang_result r = gang__alloc_take(w, a);
    if (r != GANG_OK) {
        gang__buffer_put(w, data, room_class);
        return r;
    }
    (*a)->data = data;
    (*a)->room_class = room_class;
    (*a)->q = q;
    gang__request_get(q);
    return GANG_OK;
}

gang_result gang_alloc(gang_worker *worker, gang_request *request, gang_alloc_id *id,
                       struct gang_error *error)
{
    if (id)
        *id = GANG_ID_NONE;
    gang_result r = id ? check_call(worker, request, error)
                       : gang__error(error, GANG_EINVAL, NULL, "no place for the id");
    if (r != GANG_OK)
        return r;
    struct gang__placer *placer = worker->place;
    gang__rcu_enter();
    do {
        struct gang__alloc *a = NULL;
        uint32_t slot = 0;
        r = plan_gang(worker, request);
        if (r != GANG_OK)
            break;
        r = record_new(worker, request, &a);
        if (r != GANG_OK)
            break;
        r = commit_plan(worker, &placer->plan, &slot);
        if (r == GANG_OK) {
            data_append(a, &placer->plan);
            *id = gang__alloc_publish(a);
            gang__rcu_leave();
            return GANG_OK;
        }
        gang__alloc_drop(worker, a);
    } while (r == GANG_ENOFIT);
    if (r == GANG_ENOFIT)
        r = refuse(worker, request, fits_ever(worker, request), -1, error);
    else
        gang__error(error, r, NULL, "%s", gang_strerror(r));
    gang__rcu_leave();
    return r;
}

gang_result gang_alloc_test(gang_worker *worker, gang_request *request, struct gang_error *error)
{
    gang_result r = check_call(worker, request, error);
    if (r != GANG_OK)
        return r;
    gang__rcu_enter();
    r = plan_gang(worker, request);
    if (r == GANG_ENOFIT)
        r = refuse(worker, request, fits_ever(worker, request), -1, error);
    else if (r != GANG_OK)
        gang__error(error, r, NULL, "%s", gang_strerror(r));
    gang__rcu_leave();
    return r;
}

gang_result gang_request_fits_ever(gang_worker *worker, gang_request *request,
                                   struct gang_error *error)
{
    gang_result r = check_call(worker, request, error);
    if (r != GANG_OK)
        return r;
    gang__rcu_enter();
    r = fits_ever(worker, request);
    if (r == GANG_ENEVER && error)
        gang__explain(&((struct gang__placer *)worker->place)->plan, worker->cluster, request, r,
                      -1, error);
    else if (r != GANG_OK)
        gang__error(error, r, NULL, "%s", gang_strerror(r));
    gang__rcu_leave();
    return r;
}

/* ---- growing --------------------------------------------------------------------------------------------- */

static struct gang__domain *domain_of_task(gang_cluster *c, gang_node_id id, int32_t level)
{
    struct gang__node *node = gang__node_of(c, id);
    if (level < 0 || !node || node->domain[level] == GANG__NO_DOMAIN)
        return NULL;
    return gang__load(&gang__load(&c->domains)->entry[node->domain[level]]);
}

/* Tell the plan what is running: tasks of each group, and the domains they are bound to. */
static void plan_running(struct gang__plan *p, const struct gang__alloc *a)
{
    const gang_request *q = a->q;
    for (const uint64_t *task = a->data; task < a->data + a->used;
         task += GANG__TASK_HEAD + gang__task_deltas(task)) {
        uint32_t group = gang__task_group(task);
        const struct gang__group *g = &q->group[group];
        p->in_group[group]++;
        if (!p->domain_of_request)
            p->domain_of_request = domain_of_task(p->c, task[0], q->same);
        for (int32_t k = g->set; k >= 0; k = q->set[k].parent)
            if (q->set[k].same >= 0 && !p->domain_of_set[k])
                p->domain_of_set[k] = domain_of_task(p->c, task[0], gang__demanded_around(q, k));
        int32_t level = gang__demanded_level(q, (int32_t)group);
        if (g->prefer > level && !p->domain_of_group[group])
            p->domain_of_group[group] = domain_of_task(p->c, task[0], g->prefer);
        if (g->same >= 0 && !p->domain_of_group[group])
            p->domain_of_group[group] = domain_of_task(p->c, task[0], level);
    }
}

/* One look for more tasks of a group. Returns how many were planned. */
static int64_t plan_more(gang_worker *w, const struct gang__alloc *a, int32_t group, int64_t tasks,
                         bool proof)
{
    struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    const gang_request *q = a->q;
    if (gang__plan_begin(p, w->cluster, q, false) != GANG_OK) {
        p->failed = true;
        return 0;
    }
    p->start = start_of(w);
    plan_running(p, a);
    int64_t done = 0;
    for (uint32_t g = 0; g < q->group_count && done < tasks && !p->failed; g++) {
        int64_t room = q->group[g].count - p->in_group[g];
        int64_t below = q->group[g].min - p->in_group[g];
        if ((group >= 0 && (int32_t)g != group) || room <= 0)
            continue;
        /* A group below its minimum comes back whole or not at all. */
        int64_t want = tasks - done < room ? tasks - done : room;
        if (want < below)
            want = below;
        done += gang__pack_more(p, g, below, want, proof);
    }
    return done;
}

static gang_result plan_growth(gang_worker *w, const struct gang__alloc *a, int32_t group,
                               int64_t tasks)
{
    struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    for (int i = 0; i < SEARCHES; i++) {
        uint64_t stamp = gang__stamp_read(w->cluster);
        bool some = plan_more(w, a, group, tasks, false) > 0 ||
                    (!p->failed && plan_more(w, a, group, tasks, true) > 0);
        if (p->failed)
            return GANG_ENOMEM;
        if (some)
            return GANG_OK;
        if (gang__stamp_read(w->cluster) == stamp)
            break;
    }
    return GANG_ENOFIT;
}

/* Room in a record for what is planned. */
static gang_result record_extend(gang_worker *w, struct gang__alloc *a)
{
    const struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    size_t words = a->used + data_size(p);
    if (!release_reserve(w, a->tasks + p->picks, words))
        return GANG_ENOMEM;
    if (words <= (size_t)1 << a->room_class)
        return GANG_OK;
    uint32_t room_class;
    uint64_t *data = gang__buffer_get(w, words, &room_class);
    if (!data)
        return GANG_ENOMEM;
    memcpy(data, a->data, a->used * sizeof(*data));
    gang__buffer_put(w, a->data, a->room_class);
    a->data = data;
    a->room_class = room_class;
    return GANG_OK;
}

/* Tasks of a group that the allocation holds; -1: of all. */
static int64_t tasks_held(const struct gang__alloc *a, int32_t group)
{
    int64_t held = 0;
    for (const uint64_t *task = a->data; task < a->data + a->used;
         task += GANG__TASK_HEAD + gang__task_deltas(task))
        held += group < 0 || gang__task_group(task) == (uint32_t)group;
    return held;
}

/* How many tasks of each group run on nodes that are still there, into p->word. The others need no
 * room any more. */
static size_t count_running(struct gang__plan *p, const struct gang__alloc *a)
{
    size_t bytes = a->q->group_count * sizeof(uint64_t), at = gang__plan_take(p, a->q->group_count);
    if (p->failed)
        return at;
    memset(p->word + at, 0, bytes);
    for (const uint64_t *task = a->data; task < a->data + a->used;
         task += GANG__TASK_HEAD + gang__task_deltas(task)) {
        struct gang__view *v = gang__plan_view(p, (uint32_t)task[0]);
        if (v && v->node->id == task[0] &&
            gang__head_state(gang__view_now(p, v)[GANG__WORD_HEAD]) != GANG__STATE_GONE)
            p->word[at + gang__task_group(task)]++;
    }
    return at;
}

/* Could one task of a group more than it holds ever fit, where the running ones are bound to?
 * Remembered until nodes or the number of tasks change. */
static gang_result one_more_fits_ever(gang_worker *w, struct gang__alloc *a, uint32_t group)
{
    struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    const gang_request *q = a->q;
    uint64_t epoch = gang__load(&w->cluster->epoch) + 1;
    if (a->fits_epoch == epoch && a->fits_tasks == a->tasks && a->fits_group == group)
        return GANG_OK;
    if (gang__plan_begin(p, w->cluster, q, true) != GANG_OK)
        return GANG_ENOMEM;
    plan_running(p, a);
    memset(p->in_group, 0, q->group_count * sizeof(*p->in_group));
    size_t running = count_running(p, a);
    for (uint32_t i = 0; i < q->group_count && !p->failed; i++) {
        uint32_t g = q->by_size[i];
        int64_t want = (int64_t)p->word[running + g] + (g == group);
        if (gang__pack_more(p, g, want, want, false) < want && !p->failed)
            return GANG_ENEVER;
    }
    if (p->failed)
        return GANG_ENOMEM;
    a->fits_epoch = epoch;
    a->fits_tasks = a->tasks;
    a->fits_group = group;
    return GANG_OK;
}

/* No more tasks fit now: of which group is it said, and could any ever? */
static gang_result refuse_growth(gang_worker *w, struct gang__alloc *a, int32_t group,
                                 struct gang_error *error)
{
    gang_result ever = GANG_ENEVER;
    int32_t about = -1;
    for (uint32_t g = 0; g < a->q->group_count && ever == GANG_ENEVER; g++) {
        if ((group >= 0 && (int32_t)g != group) ||
            tasks_held(a, (int32_t)g) >= a->q->group[g].count)
            continue;
        ever = one_more_fits_ever(w, a, g);
        if (about < 0 || ever == GANG_OK)
            about = (int32_t)g;
    }
    return refuse(w, a->q, ever, about, error);
}

static gang_result grow(gang_worker *w, struct gang__alloc *a, int32_t group, int64_t tasks,
                        int64_t *granted, struct gang_error *error)
{
    struct gang__placer *placer = w->place;
    const gang_request *q = a->q;
    if (group < -1 || group >= (int32_t)q->group_count)
        return gang__error(error, GANG_EINVAL, "group", "no such group");
    if (tasks_held(a, group) >= (group < 0 ? q->count : q->group[group].count))
        return gang__error(error, GANG_ERANGE, "tasks", "it has all the tasks it asked for");
    gang_result r;
    do {
        uint32_t slot = 0;
        r = plan_growth(w, a, group, tasks);
        if (r != GANG_OK)
            break;
        r = record_extend(w, a);
        if (r != GANG_OK)
            break;
        r = commit_plan(w, &placer->plan, &slot);
    } while (r == GANG_ENOFIT);
    if (r == GANG_OK) {
        *granted = (int64_t)placer->plan.picks;
        data_append(a, &placer->plan);
        return GANG_OK;
    }
    if (r == GANG_ENOFIT)
        return refuse_growth(w, a, group, error);
    return gang__error(error, r, NULL, "%s", gang_strerror(r));
}

gang_result gang_alloc_grow(gang_worker *worker, gang_alloc_id id, int32_t group, int64_t tasks,
                            int64_t *granted, struct gang_error *error)
{
    int64_t added = 0;
    if (granted)
        *granted = 0;
    if (!worker)
        return gang__error(error, GANG_EINVAL, NULL, "no worker");
    if (tasks < 1)
        return gang__error(error, GANG_ERANGE, "tasks", "below 1");
    if (!gang__placer_of(worker))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang__rcu_enter();
    struct gang__alloc *a;
    gang_result r = gang__alloc_lock(worker->cluster, id, &a);
    if (r == GANG_OK) {
        r = grow(worker, a, group, tasks, &added, error);
        gang__alloc_publish(a);
    } else {
        gang__error(error, r, NULL, "%s", gang_strerror(r));
    }
    gang__rcu_leave();
    if (granted)
        *granted = added;
    return r;
}

/* ---- giving back --------------------------------------------------------------------------------------------- */

/* Add what one task holds to the sums of the words of its cell, or of the pool's. Bits of different
 * tasks never meet, so that adding is joining. */
static void sum_task(const uint64_t *task, bool pool, uint64_t *sum)
{
    for (unsigned i = 0; i < gang__task_deltas(task); i++) {
        uint64_t delta = task[GANG__TASK_HEAD + i];
        if (((delta & GANG__DELTA_POOL) != 0) == pool)
            sum[gang__delta_word(delta)] += gang__payload(delta);
    }
}

static void give_words(gang_worker *w, uint32_t slot, uint64_t *sum)
{
    struct gang__layout layout = gang__layout_at(gang__chunk_of(w->cluster, slot), slot);
    bool pool = slot == GANG__POOL;
    unsigned words = pool ? (unsigned)GANG__MAX_WORDS : gang__word_count(layout);
    for (unsigned i = 0; i < words; i++) {
        if (!sum[i])
            continue;
        if (i == GANG__WORD_HEAD)
            gang__commit_add(w, slot, i, GANG__OP_HEAD, sum[i] | GANG__HEAD_GIVE);
        else
            gang__commit_add(w, slot, i, pool ? GANG__OP_GIVE : gang__code_of(layout, i, true),
                             sum[i]);
        sum[i] = 0;
    }
}

/* Give back the tasks whose keys {slot, offset in data} stand in placer->order, in one commit. */
static gang_result give_tasks(gang_worker *w, const struct gang__alloc *a, size_t count)
{
    struct gang__placer *placer = w->place;
    uint64_t sum[GANG__MAX_WORDS] = {0};
    size_t ops = GANG__MAX_WORDS;
    for (size_t i = 0; i < count; i++)
        ops += gang__task_deltas(a->data + (uint32_t)placer->order[i]);
    gang_result r = gang__commit_reserve(w, ops);
    if (r != GANG_OK)
        return r;
    sort_keys(placer->order, count);
    gang__commit_begin(w);
    if (a->q->uses_pool) { /* the pool is slot 0: first */
        for (size_t i = 0; i < count; i++)
            sum_task(a->data + (uint32_t)placer->order[i], true, sum);
        give_words(w, GANG__POOL, sum);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = (uint32_t)(placer->order[i] >> 32);
        sum_task(a->data + (uint32_t)placer->order[i], false, sum);
        if (i + 1 == count || (uint32_t)(placer->order[i + 1] >> 32) != slot)
            give_words(w, slot, sum);
    }
    gang__commit_run(w, true, NULL); /* nothing in it can be refused */
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = (uint32_t)(placer->order[i] >> 32);
        if (i + 1 == count || (uint32_t)(placer->order[i + 1] >> 32) != slot)
            gang__index_tidy(w->cluster, slot);
    }
    return GANG_OK;
}

gang_result gang_alloc_free(gang_worker *worker, gang_alloc_id id)
{
    if (!worker)
        return GANG_EINVAL;
    if (!gang__placer_of(worker))
        return GANG_ENOMEM;
    struct gang__placer *placer = worker->place;
    gang__rcu_enter();
    struct gang__alloc *a;
    gang_result r = gang__alloc_lock(worker->cluster, id, &a);
    if (r == GANG_OK) {
        size_t count = 0;
        if (!order_reserve(worker, a->tasks))
            r = GANG_ENOMEM;
        for (uint32_t at = 0; r == GANG_OK && at < a->used;
             at += GANG__TASK_HEAD + gang__task_deltas(a->data + at))
            placer->order[count++] = a->data[at] << 32 | at;
        if (r == GANG_OK)
            r = give_tasks(worker, a, count);
        if (r == GANG_OK)
            gang__alloc_drop(worker, a);
        else
            gang__alloc_publish(a);
    }
    gang__rcu_leave();
    return r;
}

/* Would a group, a set or the request fall below its minimum? `left`: tasks of each group after. */
static bool below_min(const gang_request *q, const int64_t *held, const int64_t *left,
                      int32_t *group)
{
    int64_t all = 0, all_held = 0;
    *group = -1;
    for (uint32_t g = 0; g < q->group_count; g++) {
        all += left[g];
        all_held += held[g];
        if (left[g] < held[g] && left[g] < q->group[g].min) {
            *group = (int32_t)g;
            return true;
        }
    }
    for (uint32_t s = 0; s < q->set_count; s++) {
        int64_t in_set = 0, in_set_held = 0;
        for (uint32_t g = 0; g < q->group_count; g++) {
            int32_t at = q->group[g].set;
            while (at >= 0 && at != (int32_t)s)
                at = q->set[at].parent;
            if (at >= 0) {
                in_set += left[g];
                in_set_held += held[g];
            }
        }
        if (in_set < in_set_held && in_set < q->set[s].min)
            return true;
    }
    return all < all_held && all < q->min;
}

/* Keys of the named tasks into placer->order. */
static gang_result find_tasks(gang_worker *w, const struct gang__alloc *a, const int64_t *tasks,
                              int64_t count, int64_t *left, struct gang_error *error)
{
    struct gang__placer *placer = w->place;
    /* Tasks lie in the order of their numbers: sort the names and walk both. */
    for (int64_t i = 0; i < count; i++) {
        if (tasks[i] < 0 || tasks[i] > UINT32_MAX)
            return gang__error(error, GANG_ENOENT, "tasks", "no task %lld", (long long)tasks[i]);
        placer->order[i] = (uint64_t)tasks[i];
    }
    sort_keys(placer->order, (size_t)count);
    uint32_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        while (at < a->used && gang__task_number(a->data + at) < placer->order[i])
            at += GANG__TASK_HEAD + gang__task_deltas(a->data + at);
        if (at >= a->used || gang__task_number(a->data + at) != placer->order[i])
            return gang__error(error, GANG_ENOENT, "tasks", "no task %lld, or named twice",
                               (long long)placer->order[i]);
        left[gang__task_group(a->data + at)]--;
        placer->order[i] = a->data[at] << 32 | at;
        at += GANG__TASK_HEAD + gang__task_deltas(a->data + at);
    }
    return GANG_OK;
}

static int by_offset(const void *a, const void *b)
{
    uint32_t x = (uint32_t) * (const uint64_t *)a, y = (uint32_t) * (const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Drop the tasks of placer->order from the record. */
static void data_remove(gang_worker *w, struct gang__alloc *a, size_t count)
{
    struct gang__placer *placer = w->place;
    qsort(placer->order, count, sizeof(*placer->order), by_offset);
    uint32_t to = 0, from = 0;
    size_t next = 0;
    while (from < a->used) {
        uint32_t size = GANG__TASK_HEAD + gang__task_deltas(a->data + from);
        if (next < count && (uint32_t)placer->order[next] == from) {
            next++;
        } else {
            memmove(a->data + to, a->data + from, size * sizeof(*a->data));
            to += size;
        }
        from += size;
    }
    a->used = to;
    a->tasks -= (uint32_t)count;
}

static gang_result shrink(gang_worker *w, struct gang__alloc *a, const int64_t *tasks,
                          int64_t count, struct gang_error *error)
{
    const gang_request *q = a->q;
    struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    if (!order_reserve(w, (size_t)count) || gang__plan_begin(p, w->cluster, q, false) != GANG_OK)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    size_t at = gang__plan_take(p, q->group_count);
    if (p->failed)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    int64_t *held = p->in_group, *left = (int64_t *)&p->word[at];
    for (const uint64_t *task = a->data; task < a->data + a->used;
         task += GANG__TASK_HEAD + gang__task_deltas(task))
        held[gang__task_group(task)]++;
    memcpy(left, held, q->group_count * sizeof(*left));
    gang_result r = find_tasks(w, a, tasks, count, left, error);
    if (r != GANG_OK)
        return r;
    int32_t group;
    if (below_min(q, held, left, &group)) {
        gang__error(error, GANG_ENOFIT, "tasks", "the gang would fall below its minimum");
        if (error && error->size >= sizeof(*error)) {
            error->constraint = GANG_WHY_MIN;
            error->group = group;
        }
        return GANG_ENOFIT;
    }
    r = give_tasks(w, a, (size_t)count);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "out of memory");
    data_remove(w, a, (size_t)count);
    return GANG_OK;
}

gang_result gang_alloc_shrink(gang_worker *worker, gang_alloc_id id, const int64_t *tasks,
                              int64_t task_count, struct gang_error *error)
{
    if (!worker || !tasks || task_count < 1)
        return gang__error(error, GANG_EINVAL, "tasks", "none");
    if (!gang__placer_of(worker))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang__rcu_enter();
    struct gang__alloc *a;
    gang_result r = gang__alloc_lock(worker->cluster, id, &a);
    if (r != GANG_OK) {
        gang__error(error, r, NULL, "%s", gang_strerror(r));
    } else if (task_count > a->tasks) {
        r = gang__error(error, GANG_ENOENT, "tasks", "more than it holds");
        gang__alloc_publish(a);
    } else {
        r = shrink(worker, a, tasks, task_count, error);
        gang__alloc_publish(a);
    }
    gang__rcu_leave();
    return r;
}

/* ---- exact places ---------------------------------------------------------------------------------------------- */

static gang_result adopt_refused(gang_worker *w, const struct gang_placement *place, int64_t i,
                                 struct gang__misfit m, struct gang_error *error)
{
    gang__error(error, GANG_ENOFIT, NULL, "%s is taken already", w->cluster->kind[m.kind].name);
    gang__error_at(error, GANG_ENOFIT, "places[%lld]", (long long)i);
    if (error && error->size >= sizeof(*error)) {
        error->constraint = m.why;
        error->kind = m.kind;
        error->group = place->group;
        error->id = place->node;
    }
    return GANG_ENOFIT;
}

static gang_result plan_place(gang_worker *w, gang_request *q, const struct gang_placement *from,
                              int64_t i, struct gang_error *error)
{
    struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    struct gang_placement in;
    gang_result r = gang__struct_in(&in, sizeof(in), sizeof(in), from, from->size);
    const char *what = "struct gang_placement is not set up";
    if (r == GANG_OK && (in.group < 0 || in.group >= (int32_t)q->group_count)) {
        r = GANG_EINVAL;
        what = "no such group";
    } else if (r == GANG_OK && p->in_group[in.group] >= q->group[in.group].count) {
        r = GANG_ERANGE;
        what = "more tasks than the group's count";
    } else if (r == GANG_OK && (in.any_devices < 0 || in.any_devices > 1)) {
        r = GANG_EINVAL;
        what = "any_devices is neither 0 nor 1";
    } else if (r == GANG_OK && !in.any_devices &&
               (uint32_t)__builtin_popcountll(in.gpus) != q->group[in.group].devices) {
        r = GANG_EINVAL;
        what = "not the number of devices that the group asks for";
    } else if (r == GANG_OK && !gang__node_of(w->cluster, in.node)) {
        r = GANG_ESTALE;
        what = "no such node";
    }
    if (r != GANG_OK) {
        gang__error(error, r, NULL, "%s", what);
        return gang__error_at(error, r, "places[%lld]", (long long)i);
    }
    struct gang__misfit misfit = {0, -1};
    if (gang__plan_task(p, (uint32_t)in.group, (uint32_t)in.node, in.any_devices ? 0 : in.gpus,
                        &misfit))
        return GANG_OK;
    if (p->failed)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (misfit.why == GANG_WHY_STATE) { /* removed: any other state would do */
        gang__error(error, GANG_ESTALE, NULL, "no such node");
        return gang__error_at(error, GANG_ESTALE, "places[%lld]", (long long)i);
    }
    return adopt_refused(w, &in, i, misfit, error);
}

static gang_result plan_places(gang_worker *w, gang_request *q, const struct gang_placement *places,
                               int64_t count, struct gang_error *error)
{
    struct gang__plan *p = &((struct gang__placer *)w->place)->plan;
    if (gang__plan_begin(p, w->cluster, q, false) != GANG_OK)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    p->adopting = p->settled = p->even = true;
    gang_result r = GANG_OK;
    size_t step = places->size;
    const char *at = (const char *)places;
    for (int64_t i = 0; i < count && r == GANG_OK; i++, at += step)
        r = plan_place(w, q, (const struct gang_placement *)(const void *)at, i, error);
    return r;
}

gang_result gang_alloc_adopt(gang_worker *worker, gang_request *request,
                             const struct gang_placement *places, int64_t place_count,
                             gang_alloc_id *id, struct gang_error *error)
{
    if (id)
        *id = GANG_ID_NONE;
    if (!id || !places || place_count < 1)
        return gang__error(error, GANG_EINVAL, "places", "none, or no place for the id");
    gang_result r = check_call(worker, request, error);
    if (r != GANG_OK)
        return r;
    struct gang__placer *placer = worker->place;
    gang__rcu_enter();
    for (;;) {
        struct gang__alloc *a = NULL;
        uint32_t slot = 0;
        r = plan_places(worker, request, places, place_count, error);
        if (r != GANG_OK)
            break;
        r = record_new(worker, request, &a);
        if (r == GANG_OK)
            r = commit_plan(worker, &placer->plan, &slot);
        if (r == GANG_OK) {
            data_append(a, &placer->plan);
            *id = gang__alloc_publish(a);
            break;
        }
        if (a)
            gang__alloc_drop(worker, a);
        if (r != GANG_ENOFIT) {
            gang__error(error, r, NULL, "%s", gang_strerror(r));
            break;
        }
    }
    gang__rcu_leave();
    return r;
}

/* ---- room in advance ------------------------------------------------------------------------------------------- */

gang_result gang_worker_reserve(gang_worker *worker, int64_t tasks)
{
    if (!worker)
        return GANG_EINVAL;
    if (tasks < 1 || tasks > 1 << 24)
        return GANG_ERANGE;
    if (!gang__placer_of(worker))
        return GANG_ENOMEM;
    struct gang__placer *placer = worker->place;
    enum { USUAL_WORDS = 8 }; /* of a node with eight GPUs and named cores */
    if (!order_reserve(worker, (size_t)tasks) ||
        !gang__plan_reserve(&placer->plan, &worker->cluster->mem, (size_t)tasks, USUAL_WORDS))
        return GANG_ENOMEM;
    return gang__commit_reserve(worker, (size_t)tasks * USUAL_WORDS);
}
