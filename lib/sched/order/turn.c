/* SPDX-License-Identifier: Apache-2.0 */
/* Who is next. Those of a leaf who wait for the same thing lie in one *bin*, in the order of the
 * leaf; the first of the bin stands for all. Bins that may be tried are READY and lie in the
 * leaf's order by their heads; leaves with such, and queues above them, lie in the order of
 * their parent. A bin whose head cannot start is BLOCKED and hangs in the list of what blocks it
 * (a shape that finds no room, a queue at its limit, a user at his), until that changes. So a
 * run looks at nobody for whom nothing changed.
 *
 * What a queue's turn depends on is kept in a key that is made out when it is put into order.
 * Whoever changes one of the inputs calls gang__wake_queue(), which only notes the queue: it is
 * put where it belongs before somebody is asked whose turn it is, once for all that happened to
 * it. A queue that has no sibling in order needs no key until one comes. */
#include <string.h>

#include "place/alloc/alloc.h"
#include "place/request/request.h"
#include "sched/order/bypass.h"
#include "sched/order/wait_order.h"
#include "sched/record/record.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- orders ---------------------------------------------------------------------------------- */

static int by_number(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static bool lacks_minimum(const struct gang__gang *u)
{
    return u->tasks + u->ended < gang__gang_request(u)->min;
}

/* Service in classes that double, so that jobs of like service keep their order. */
static int service_class(const struct gang__job *job)
{
    int class = 0;
    for (int64_t left = job->attained; left > 0; left >>= 1)
        class ++;
    return class;
}

int gang__gang_before(const struct gang__gang *a, const struct gang__gang *b, int32_t order)
{
    const struct gang__job *x = a->job, *y = b->job;
    int c = b->bypass.starved - a->bypass.starved;
    if (c != 0)
        return c;
    if (order == GANG_ORDER_SHORTEST) {
        c = by_number(gang__time_limit_run(x), gang__time_limit_run(y));
    } else if (order == GANG_ORDER_DEADLINE) {
        uint64_t left = (uint64_t)x->deadline_ns - 1, right = (uint64_t)y->deadline_ns - 1;
        c = left < right ? -1 : left > right; /* 0, none, is the last */
    } else if (order == GANG_ORDER_LEAST_SERVED) {
        c = service_class(x) - service_class(y);
    }
    if (c == 0 && order != GANG_ORDER_FIFO)
        c = by_number(y->priority, x->priority);
    if (c == 0 && order != GANG_ORDER_FIFO)
        c = lacks_minimum(b) - lacks_minimum(a);
    if (c == 0)
        c = by_number(x->age, y->age);
    if (c == 0)
        c = by_number((int64_t)x->id, (int64_t)y->id);
    return c ? c : by_number(a->index, b->index);
}

static int compare_units(const struct gang__set_link *a, const struct gang__set_link *b,
                         const void *ctx)
{
    const struct gang__queue_state *leaf = ctx;
    return gang__gang_before(GANG__OF(struct gang__gang, order.link, a),
                             GANG__OF(struct gang__gang, order.link, b), leaf->q->order);
}

/* Who uses least for his weight, over all that there is. */
static int compare_users(const struct gang__user *a, const struct gang__user *b)
{
    if (!a || !b || a == b)
        return 0;
    return gang__ratio_compare(a->key, b->key);
}

static int compare_bins(const struct gang__set_link *a, const struct gang__set_link *b,
                        const void *ctx)
{
    const struct gang__queue_state *leaf = ctx;
    const struct gang__wait_class *x = GANG__OF(struct gang__wait_class, ready_link, a);
    const struct gang__wait_class *y = GANG__OF(struct gang__wait_class, ready_link, b);
    int c = gang__wait_class_head(y)->bypass.starved - gang__wait_class_head(x)->bypass.starved;
    if (c != 0)
        return c;
    c = x->deferred - y->deferred;
    if (c == 0 && x->deferred)
        c = by_number(x->deferred_key, y->deferred_key);
    if (c == 0 && leaf->q->order == GANG_ORDER_FAIR)
        c = compare_users(x->user, y->user);
    return c ? c
             : gang__gang_before(gang__wait_class_head(x), gang__wait_class_head(y),
                                 leaf->q->order);
}

static int compare_fair(const struct gang__child_key *x, const struct gang__child_key *y)
{
    int c = x->over_share - y->over_share;
    if (c == 0)
        c = x->over_guarantee - y->over_guarantee;
    if (c == 0)
        c = by_number(y->priority, x->priority);
    if (c == 0)
        c = gang__ratio_compare(x->with, y->with);
    if (c == 0)
        c = gang__ratio_compare(x->used, y->used);
    return c ? c : gang__ratio_compare(x->whole, y->whole);
}

/* How the children of a queue take turns; `q->q` is NULL at the root. */
static int32_t turn_below(const struct gang__queue_state *q)
{
    return q->q ? q->q->turn : (int32_t)GANG_CHILD_ORDER_FAIR;
}

static int compare_queues(const struct gang__set_link *a, const struct gang__set_link *b,
                          const void *ctx)
{
    const struct gang__queue_state *p = GANG__OF(struct gang__queue_state, order.link, a),
                                   *q = GANG__OF(struct gang__queue_state, order.link, b);
    int c;
    switch (turn_below(ctx)) {
    case GANG_CHILD_ORDER_UTILIZATION:
        c = gang__order_utilization(&p->order.key.yarn, &q->order.key.yarn);
        break;
    case GANG_CHILD_ORDER_PRIORITY_UTILIZATION:
        c = gang__order_priority_utilization(&p->order.key.yarn, &q->order.key.yarn);
        break;
    default:
        c = compare_fair(&p->order.key, &q->order.key);
    }
    return c ? c : by_number((int64_t)p->q->id, (int64_t)q->q->id);
}

void gang__order_init(struct gang__queue_state *q)
{
    q->order.holds_classes = q->q && q->q->leaf;
    gang__set_init(&q->order.ready, q->order.holds_classes ? compare_bins : compare_queues, q);
    gang__victims_init(q);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* The unit at the head of a queue; it is active. */
static struct gang__gang *head_below(const struct gang__queue_state *q)
{
    while (!q->order.holds_classes)
        q = GANG__OF(struct gang__queue_state, order.link, gang__set_first(&q->order.ready));
    return gang__wait_class_head(
        GANG__OF(struct gang__wait_class, ready_link, gang__set_first(&q->order.ready)));
}

const struct gang__take *gang__gang_asks(const struct gang__gang *u, uint32_t *count)
{
    if (u->alloc == GANG_ID_NONE)
        return gang__class_takes(u->request_class, -1, count);
    const gang_request *q = gang__gang_request(u);
    uint32_t g = 0;
    while (g + 1 < q->group_count && gang__gang_lacks(u, g) == 0)
        g++;
    return gang__class_takes(u->request_class, (int32_t)g, count);
}

static void key_fair(gang_sched *s, struct gang__queue_state *q)
{
    uint32_t count;
    const struct gang__take *take = gang__gang_asks(head_below(q), &count);
    struct gang__child_key *k = &q->order.key;
    k->over_share = gang__over(s, q, q->share, take, count);
    k->over_guarantee = !gang__stays(q, q->guarantee, q->used, take, count);
    k->priority = q->q->priority;
    k->with = gang__fair_ratio(s, q, q->share, take, count);
    k->used = gang__fair_ratio(s, q, q->share, NULL, 0);
    k->whole = gang__fair_ratio(s, q, s->total, take, count);
}

static void key_yarn(gang_sched *s, struct gang__queue_state *q)
{
    struct gang__sibling *k = &q->order.key.yarn;
    k->used = gang__fair_ratio(s, q, q->guarantee, NULL, 0);
    k->absolute = gang__fair_ratio(s, q, s->total, NULL, 0);
    k->capacity = gang__fair_capacity(s, q);
    k->priority = q->q->priority;
}

static void make_key(gang_sched *s, struct gang__queue_state *q)
{
    if (turn_below(q->parent) == GANG_CHILD_ORDER_FAIR)
        key_fair(s, q);
    else
        key_yarn(s, q);
}

/* ---- activity -------------------------------------------------------------------------------- */

/* Strict order, or one that is starved: blocked heads bar those behind them. There may be several, for who comes later may
 * come before those that are blocked already, and be blocked too. */
const struct gang__wait_class *gang__order_bars(const struct gang__queue_state *leaf,
                                                const struct gang__wait_class *bin)
{
    const struct gang__wait_class *first = NULL;
    for (const struct gang__wait_class *b = leaf->order.holds_classes ? leaf->order.barring : NULL; b;
         b = b->next_barring)
        if (b != bin && b->gangs.count > 0 &&
            (leaf->q->block == GANG_BLOCK_STRICT || gang__wait_class_head(b)->bypass.starved) &&
            compare_bins(&b->ready_link, first ? &first->ready_link : &bin->ready_link, leaf) < 0)
            first = b;
    return first;
}

static bool is_barred(const struct gang__queue_state *leaf)
{
    return leaf->order.holds_classes && gang__order_bars(leaf, GANG__OF(struct gang__wait_class, ready_link,
                                                                  gang__set_first(&leaf->order.ready)));
}

static bool has_turn(const struct gang__queue_state *q)
{
    return q->order.ready.count > 0 && !is_barred(q);
}

static void out_of_order(struct gang__queue_state *q)
{
    if (q->order.active)
        gang__set_remove(&q->parent->order.ready, &q->order.link);
    q->order.active = false;
}

static void ensure_key(gang_sched *s, struct gang__queue_state *q)
{
    if (!q->order.has_key)
        make_key(s, q);
    q->order.has_key = true;
}

static void into_order(gang_sched *s, struct gang__queue_state *q)
{
    struct gang__ordered_set *ready = &q->parent->order.ready;
    q->order.active = has_turn(q);
    if (!q->order.active)
        return;
    q->order.has_key = false;
    if (ready->count > 0) {
        ensure_key(s, q);
        ensure_key(s, GANG__OF(struct gang__queue_state, order.link, gang__set_first(ready)));
    }
    gang__set_insert_end(ready, &q->order.link, 1); /* who was just served goes last */
}

/* All paths are taken out first, so that nobody looks for a head below a queue that has none. */
static void rekey_noted(gang_sched *s)
{
    for (struct gang__queue_state *q = s->wake.queues; q; q = q->wake.next)
        for (struct gang__queue_state *at = q; at->parent; at = at->parent)
            out_of_order(at);
    while (s->wake.queues) {
        struct gang__queue_state *q = s->wake.queues;
        s->wake.queues = q->wake.next;
        q->wake.noted = false;
        for (; q->parent; q = q->parent) {
            out_of_order(q);
            into_order(s, q);
        }
    }
}

void gang__order_forget(gang_sched *s)
{
    for (; s->wake.queues; s->wake.queues = s->wake.queues->wake.next)
        s->wake.queues->wake.noted = false;
    for (uint32_t i = s->queues ? s->queues->count : 0; i-- > 0;)
        out_of_order(s->qs[i]);
}

/* From the leaves up: parents lie before their children. */
void gang__order_rekey_all(gang_sched *s)
{
    gang__order_forget(s);
    for (uint32_t i = s->queues->count; i-- > 0;)
        into_order(s, s->qs[i]);
}

/* ---- bins ------------------------------------------------------------------------------------ */

static void list_put(struct gang__wait_class **list, struct gang__wait_class *bin)
{
    bin->next = *list;
    bin->at = list;
    if (*list)
        (*list)->at = &bin->next;
    *list = bin;
}

static void list_take(struct gang__wait_class *bin)
{
    *bin->at = bin->next;
    if (bin->next)
        bin->next->at = bin->at;
    bin->at = NULL;
}

static void all_put(gang_sched *s, struct gang__wait_class *bin)
{
    bin->next_blocked = s->order.blocked;
    bin->at_blocked = &s->order.blocked;
    if (s->order.blocked)
        s->order.blocked->at_blocked = &bin->next_blocked;
    s->order.blocked = bin;
}

static void all_take(struct gang__wait_class *bin)
{
    *bin->at_blocked = bin->next_blocked;
    if (bin->next_blocked)
        bin->next_blocked->at_blocked = bin->at_blocked;
}

static void asks_put(gang_sched *s, struct gang__request_class *ask)
{
    if (ask->blocked_at)
        return;
    ask->next_blocked = s->order.blocked_requests;
    ask->blocked_at = &s->order.blocked_requests;
    if (s->order.blocked_requests)
        s->order.blocked_requests->blocked_at = &ask->next_blocked;
    s->order.blocked_requests = ask;
}

static void asks_take(struct gang__request_class *ask)
{
    if (!ask->blocked_at)
        return;
    *ask->blocked_at = ask->next_blocked;
    if (ask->next_blocked)
        ask->next_blocked->blocked_at = ask->blocked_at;
    ask->blocked_at = NULL;
}

void gang__order_set_bar(struct gang__wait_class *bin, bool bars)
{
    struct gang__wait_class **list = &bin->leaf->order.barring;
    if (bars == (bin->at_barring != NULL))
        return;
    if (bars) {
        bin->next_barring = *list;
        bin->at_barring = list;
        if (*list)
            (*list)->at_barring = &bin->next_barring;
        *list = bin;
        return;
    }
    *bin->at_barring = bin->next_barring;
    if (bin->next_barring)
        bin->next_barring->at_barring = bin->at_barring;
    bin->at_barring = NULL;
}

static void done(gang_sched *s, struct gang__wait_class *bin)
{
    if (bin->backfill.candidates)
        s->order.hooks->done(bin);
}

/* Out of whatever it hangs in. */
static void bin_out(gang_sched *s, struct gang__wait_class *bin)
{
    if (bin->state == GANG__CLASS_READY) {
        gang__set_remove(&bin->leaf->order.ready, &bin->ready_link);
        list_take(bin);
    }
    if (bin->backfill.kept != GANG__KEPT_NOT) {
        s->order.hooks->let_go(bin);
    } else if (bin->state == GANG__CLASS_BLOCKED) {
        list_take(bin);
        all_take(bin);
        if (!bin->request_class->blocked)
            asks_take(bin->request_class);
    }
    done(s, bin);
    gang__order_set_bar(bin, false);
    bin->state = GANG__CLASS_EMPTY;
    bin->deferred = false;
}

static void bin_ready(gang_sched *s, struct gang__wait_class *bin)
{
    bin_out(s, bin);
    if (bin->gangs.count > 0) {
        gang__set_insert(&bin->leaf->order.ready, &bin->ready_link);
        list_put(&bin->request_class->ready, bin);
        bin->state = GANG__CLASS_READY;
    }
}

/* In the list of what blocks it. */
static void hang_blocked(gang_sched *s, struct gang__wait_class *bin)
{
    if (bin->why == GANG_WAIT_CAPACITY || bin->why == GANG_WAIT_CELLS) {
        list_put(&bin->request_class->blocked, bin);
        asks_put(s, bin->request_class);
    } else if (bin->why == GANG_WAIT_LENDING) { /* whoever gives back leaves more to be lent */
        list_put(&s->root.order.blocked, bin);
    } else {
        list_put(&(bin->blocked_by ? bin->blocked_by : bin->leaf)->order.blocked, bin);
    }
    all_put(s, bin);
}

/* Its head is about to be another; how it was kept is to be told when that has come. */
static uint8_t unhang(gang_sched *s, struct gang__wait_class *bin)
{
    uint8_t kept = bin->backfill.kept;
    if (kept != GANG__KEPT_NOT)
        s->order.hooks->let_go(bin);
    return kept;
}

static void rehang(gang_sched *s, struct gang__wait_class *bin, uint8_t kept)
{
    if (kept == GANG__KEPT_NOT)
        return;
    if (bin->gangs.count == 0)
        bin->state = GANG__CLASS_EMPTY;
    else if (!s->order.hooks->keep_again(s, bin, kept))
        hang_blocked(s, bin);
}

void gang__order_block(gang_sched *s, struct gang__wait_class *bin, int32_t why,
                       struct gang__queue_state *by, uint32_t dim)
{
    struct gang__queue_state *leaf = bin->leaf;
    bin_out(s, bin);
    if (bin->gangs.count == 0) {
        gang__wake_queue(s, leaf);
        return;
    }
    bin->state = GANG__CLASS_BLOCKED;
    bin->why = why;
    bin->blocked_by = by;
    bin->dim = dim;
    if (why == GANG_WAIT_PLANNED && s->order.hooks->keep(s, bin)) {
        gang__wake_queue(s, leaf);
        return;
    }
    s->preempt.untried = s->preempt.untried || bin->tried != s->wake.changes + 1;
    hang_blocked(s, bin);
    bool starved = gang__wait_class_head(bin)->bypass.starved;
    bool bars = starved ? gang__waits_for_room(why) : leaf->q->block == GANG_BLOCK_STRICT;
    if (starved && !bars)
        gang__bypass_ease(s);
    gang__order_set_bar(bin, bars && !bin->grower);
    gang__wake_queue(s, leaf);
}

void gang__order_block_alike(gang_sched *s, struct gang__request_class *ask)
{
    for (struct gang__wait_class *bin = ask->ready, *next; bin; bin = next) {
        next = bin->next;
        if (!bin->grower)
            gang__order_block(s, bin, GANG_WAIT_CAPACITY, NULL, 0);
    }
}

void gang__order_unblock(gang_sched *s, struct gang__wait_class *bin)
{
    if (bin->state != GANG__CLASS_BLOCKED)
        return;
    bin_ready(s, bin);
    gang__wake_queue(s, bin->leaf);
}

void gang__order_defer(gang_sched *s, struct gang__wait_class *bin, int64_t key)
{
    gang__set_remove(&bin->leaf->order.ready, &bin->ready_link);
    bin->deferred = true;
    bin->deferred_key = key;
    gang__set_insert(&bin->leaf->order.ready, &bin->ready_link);
    s->order.hooks->deferred(bin);
    gang__wake_queue(s, bin->leaf);
}

void gang__order_unblock_all(gang_sched *s, struct gang__wait_class **list)
{
    while (*list)
        gang__order_unblock(s, *list);
}

static bool may_help(const gang_sched *s, const struct gang__request_class *ask)
{
    return ask->min_cpu <= s->wake.room_cpu && ask->min_pages <= s->wake.room_pages &&
           ask->min_gpu <= s->wake.room_gpu;
}

/* What came free by our own doing is known; if others freed something, or nodes came, anybody
 * may try. */
void gang__order_room(gang_sched *s)
{
    uint64_t stamp = gang__capacity_stamp(s->cluster), own = gang__worker_stamp(s->worker);
    bool others = stamp - s->order.room_stamp != own - s->order.own_stamp;
    s->order.room_stamp = stamp;
    s->order.own_stamp = own;
    if (!others && !s->wake.room)
        return;
    s->external_events += others;
    for (struct gang__request_class *ask = s->order.blocked_requests, *next; ask; ask = next) {
        next = ask->next_blocked;
        if (others || may_help(s, ask))
            gang__order_unblock_all(s, &ask->blocked);
    }
    if (s->bypass.starved) /* room that those leave alone */
        gang__bypass_ease(s);
    s->wake.room = false;
    s->wake.room_cpu = s->wake.room_pages = s->wake.room_gpu = 0;
    s->wake.changes++;
}

/* ---- users ----------------------------------------------------------------------------------- */

bool gang__asks_users(const struct gang__queue *q)
{
    return q->order == GANG_ORDER_FAIR || q->user_limit_percent || q->user_limit_factor_milli ||
           q->max_running_per_user != GANG__NO_BOUND;
}

static int64_t weight_of(const struct gang__queue *q, const char *name)
{
    for (size_t i = 0; i < q->user_count; i++)
        if (strcmp(q->users[i].user, name) == 0)
            return q->users[i].weight;
    return GANG_WHOLE;
}

static struct gang__user *user_in(const struct gang__queue_state *leaf, const char *name,
                                  uint64_t hash)
{
    for (struct gang__hash_link *n = gang__hash_first(&leaf->users, hash); n; n = n->next) {
        struct gang__user *user = GANG__OF(struct gang__user, link, n);
        if (n->hash == hash && strcmp(user->name, name) == 0)
            return user;
    }
    return NULL;
}

struct gang__user *gang__user_of(gang_sched *s, struct gang__queue_state *leaf, const char *name)
{
    size_t length = strlen(name);
    uint64_t hash = gang__hash(GANG__HASH_SEED, name, length);
    struct gang__user *there = user_in(leaf, name, hash);
    if (there)
        return there;
    size_t amounts = GANG__DIMS * sizeof(int64_t);
    struct gang__user *user = gang__zalloc(&s->mem, 1, sizeof(*user) + amounts + length + 1);
    if (!user || gang__hash_reserve(&leaf->users, &s->mem) != GANG_OK) {
        gang__release(&s->mem, user);
        return NULL;
    }
    user->used = (int64_t *)(void *)(user + 1);
    user->name = (char *)user->used + amounts;
    memcpy(user->name, name, length + 1);
    user->weight = weight_of(leaf->q, name);
    user->key = (struct gang__ratio){0, 1};
    gang__hash_insert(&leaf->users, &user->link, hash);
    return user;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static struct gang__wait_class *new_bin(gang_sched *s, struct gang__gang *u, bool grows)
{
    struct gang__wait_class *bin = gang__zalloc(&s->mem, 1, sizeof(*bin));
    if (!bin)
        return NULL;
    bin->leaf = u->job->leaf;
    bin->request_class = u->request_class;
    bin->user = u->job->leaf_user;
    bin->fixed = gang__gang_is_fixed(u, grows);
    bin->grower = grows || u->places ? u : NULL;
    gang__set_init(&bin->gangs, compare_units, bin->leaf);
    return bin;
}

/* In a copy, as it is where it was copied from: there those who wait may not have been sorted anew yet. */
static const struct gang__wait_class *bin_there(const gang_sched *s, const struct gang__gang *u)
{
    const struct gang__job *job = s->like ? gang__job_of(s->like, u->job->id) : NULL;
    return job ? job->gang[u->index].order.wait_class : NULL;
}

/* Where starts are planned, who runs for less may start when another may not; and where several may have a plan, so may
 * several that are alike. */
static uint64_t apart_of(const gang_sched *s, const struct gang__gang *u)
{
    const struct gang__queue *q = u->job->leaf->q;
    const struct gang__wait_class *there = bin_there(s, u);
    if (there)
        return there->class_salt;
    if (u->job->gang_count > 1 &&
        u->job->counted_running) /* how many jobs may run does not bind it */
        return gang__hash_number(u->index, u->job->id) | 1;
    uint64_t reserved = s->reserve.count > 0 ? s->order.hooks->class_salt(s, u) : 0;
    if (reserved || q->backfill == GANG_BACKFILL_NONE)
        return reserved;
    return q->plan_depth > 1 ? gang__hash_number(u->index, u->job->id) | 1
                             : (uint64_t)gang__time_limit_run(u->job) << 1;
}

/* The bin of those that wait to start; made if it is not there. */
static struct gang__wait_class *bin_of(gang_sched *s, struct gang__gang *u)
{
    struct gang__queue_state *leaf = u->job->leaf;
    bool fixed = gang__gang_is_fixed(u, false);
    uint64_t apart = apart_of(s, u);
    uint64_t hash =
        gang__hash_number(gang__hash_number(fixed, (uintptr_t)u->request_class), (uintptr_t)u->job->leaf_user);
    if (apart)
        hash = gang__hash_number(hash, apart);
    for (struct gang__hash_link *n = gang__hash_first(&leaf->order.classes, hash); n; n = n->next) {
        struct gang__wait_class *bin = GANG__OF(struct gang__wait_class, link, n);
        if (n->hash == hash && bin->request_class == u->request_class && bin->user == u->job->leaf_user &&
            bin->fixed == fixed && bin->class_salt == apart)
            return bin;
    }
    if (gang__hash_reserve(&leaf->order.classes, &s->mem) != GANG_OK)
        return NULL;
    struct gang__wait_class *bin = new_bin(s, u, false);
    if (bin) {
        bin->class_salt = apart;
        gang__hash_insert(&leaf->order.classes, &bin->link, hash);
    }
    return bin;
}

bool gang__order_enter(gang_sched *s, struct gang__gang *u)
{
    bool grows = u->alloc != GANG_ID_NONE;
    struct gang__wait_class *bin;
    if (u->order.wait_class)
        return true;
    if (grows || u->places) { /* what it waits for is its own affair */
        if (!u->order.grow_class)
            u->order.grow_class = new_bin(s, u, grows);
        bin = u->order.grow_class;
        if (bin) {
            bin->fixed = gang__gang_is_fixed(u, grows);
            bin->user = u->job->leaf_user; /* its leaf may ask since who that is */
        }
    } else {
        bin = bin_of(s, u);
    }
    if (!bin)
        return false;
    bool was_ready = bin->state == GANG__CLASS_READY;
    uint8_t kept = unhang(s, bin);
    if (was_ready) /* its head may become another */
        gang__set_remove(&bin->leaf->order.ready, &bin->ready_link);
    gang__set_insert_end(&bin->gangs, &u->order.link, 1);
    u->order.wait_class = bin;
    rehang(s, bin, kept);
    if (was_ready) {
        gang__set_insert(&bin->leaf->order.ready, &bin->ready_link);
    } else if (bin->state == GANG__CLASS_EMPTY) {
        bin->state = GANG__CLASS_READY;
        gang__set_insert(&bin->leaf->order.ready, &bin->ready_link);
        list_put(&bin->request_class->ready, bin);
    } else if (gang__wait_class_head(bin) == u) { /* making room may be worth it for this one */
        bin->tried = 0;
        s->wake.changes++;
    }
    gang__wake_queue(s, bin->leaf);
    return true;
}

/* It is soon its turn: what is looked at of it then is on its way. */
static void fetch(const struct gang__gang *u)
{
    for (size_t at = 0; at < offsetof(struct gang__gang, calendar); at += 64)
        __builtin_prefetch((const char *)u + at, 1);
    for (size_t at = 0; at < offsetof(struct gang__job, timer); at += 64)
        __builtin_prefetch((const char *)u->job + at, 1);
}

void gang__order_first(gang_sched *s, struct gang__gang *u)
{
    struct gang__wait_class *bin = u->order.wait_class;
    bool was_ready = bin->state == GANG__CLASS_READY;
    uint8_t kept = unhang(s, bin);
    if (was_ready)
        gang__set_remove(&bin->leaf->order.ready, &bin->ready_link);
    gang__set_remove(&bin->gangs, &u->order.link);
    u->bypass.starved = true;
    gang__set_insert(&bin->gangs, &u->order.link);
    rehang(s, bin, kept);
    if (was_ready)
        gang__set_insert(&bin->leaf->order.ready, &bin->ready_link);
    gang__wake_queue(s, bin->leaf);
}

void gang__order_leave(gang_sched *s, struct gang__gang *u)
{
    struct gang__wait_class *bin = u->order.wait_class;
    if (!bin)
        return;
    struct gang__queue_state *leaf = bin->leaf;
    bool was_ready = bin->state == GANG__CLASS_READY;
    if (u->calendar.plan)
        s->order.hooks->unplan(s, u);
    uint8_t kept = unhang(s, bin);
    if (was_ready)
        gang__set_remove(&leaf->order.ready, &bin->ready_link);
    gang__set_remove(&bin->gangs, &u->order.link);
    u->order.wait_class = NULL;
    rehang(s, bin, kept);
    if (bin->gangs.count > 0)
        fetch(gang__wait_class_head(bin));
    if (was_ready && bin->gangs.count > 0) {
        gang__set_insert(&leaf->order.ready, &bin->ready_link);
        done(s, bin); /* others may come before who is its head now */
    } else if (bin->gangs.count == 0) {
        if (was_ready) {
            bin->state = GANG__CLASS_EMPTY;
            list_take(bin);
        }
        bin_out(s, bin);
        if (!bin->grower) {
            gang__hash_remove(&leaf->order.classes, &bin->link);
            s->order.hooks->forget(s, bin);
            gang__release(&s->mem, bin);
        }
    }
    gang__wake_queue(s, leaf);
    if (u->bypass.starved)
        gang__bypass_ease(s);
}

void gang__order_free_class(gang_sched *s, struct gang__gang *u)
{
    gang__order_leave(s, u);
    gang__release(&s->mem, u->order.grow_class);
    u->order.grow_class = NULL;
}

struct gang__gang *gang__order_next(gang_sched *s)
{
    s->order.hooks->look(s);
    rekey_noted(s);
    return s->root.order.ready.count > 0 ? head_below(&s->root) : NULL;
}

/* ---- users change ---------------------------------------------------------------------------- */

static void make_user_key(const gang_sched *s, struct gang__user *user)
{
    user->key = (struct gang__ratio){0, 1};
    for (uint32_t d = 0; d < s->dims; d++) {
        int64_t of = gang__mul_div(s->total[d], user->weight, GANG_WHOLE);
        struct gang__ratio r = {user->used[d], of};
        if (user->used[d] > 0 && !s->excluded[s->queues->dim[d].kind] &&
            gang__ratio_compare(r, user->key) > 0)
            user->key = r;
    }
}

/* All bins of the leaf go where they belong; `as`: by the keys that its users have there. */
static void order_users(gang_sched *s, struct gang__queue_state *leaf,
                        const struct gang__queue_state *as)
{
    struct gang__wait_class *all = NULL;
    struct gang__set_link *n;
    if (!leaf->q->leaf || !gang__asks_users(leaf->q))
        return;
    while ((n = gang__set_first(&leaf->order.ready)) != NULL) {
        struct gang__wait_class *bin = GANG__OF(struct gang__wait_class, ready_link, n);
        gang__set_remove(&leaf->order.ready, n);
        bin->next_moved = all;
        all = bin;
    }
    for (size_t b = 0; b < leaf->users.cap; b++)
        for (struct gang__hash_link *at = leaf->users.bucket[b]; at; at = at->next) {
            struct gang__user *user = GANG__OF(struct gang__user, link, at);
            user->weight = weight_of(leaf->q, user->name);
            const struct gang__user *other = as ? user_in(as, user->name, user->link.hash) : NULL;
            if (other)
                user->key = other->key;
            else
                make_user_key(s, user);
        }
    for (; all; all = all->next_moved)
        gang__set_insert(&leaf->order.ready, &all->ready_link);
    gang__wake_queue(s, leaf);
}

void gang__order_users(gang_sched *s, struct gang__queue_state *leaf)
{
    order_users(s, leaf, NULL);
}

void gang__order_users_as(gang_sched *s, struct gang__queue_state *leaf,
                          const struct gang__queue_state *from)
{
    order_users(s, leaf, from);
}

/* The limit of each user follows what all of them use, and how many of them want more. */
static void limits_moved(gang_sched *s, struct gang__queue_state *leaf)
{
    if (!leaf->q->user_limit_percent && !leaf->q->user_limit_factor_milli)
        return;
    for (struct gang__wait_class *bin = leaf->order.blocked, *next; bin; bin = next) {
        next = bin->next;
        if (bin->why == GANG_WAIT_USER_LIMIT)
            gang__order_unblock(s, bin);
    }
}

/* What a user uses changed, or whether he wants more: his bins of the leaf go where they belong. */
void gang__order_user(gang_sched *s, struct gang__queue_state *leaf, struct gang__user *user)
{
    limits_moved(s, leaf);
    if (leaf->q->order != GANG_ORDER_FAIR)
        return;
    struct gang__wait_class *moved = NULL;
    struct gang__set_link *n = gang__set_first(&leaf->order.ready);
    while (n) {
        struct gang__wait_class *bin = GANG__OF(struct gang__wait_class, ready_link, n);
        n = gang__set_next(n);
        if (bin->user == user) {
            gang__set_remove(&leaf->order.ready, &bin->ready_link);
            bin->next_moved = moved;
            moved = bin;
        }
    }
    make_user_key(s, user);
    while (moved) {
        struct gang__wait_class *bin = moved;
        moved = bin->next_moved;
        gang__set_insert(&leaf->order.ready, &bin->ready_link);
    }
    gang__wake_queue(s, leaf);
}

/* ---- bounds change --------------------------------------------------------------------------- */

void gang__order_bounds(gang_sched *s)
{
    if (!s->wake.bounds)
        return;
    s->wake.bounds = false;
    while (s->order.blocked)
        gang__order_unblock(s, s->order.blocked);
    s->order.hooks->dissolve(s);
    for (uint32_t i = 0; i < s->queues->count; i++)
        gang__order_users(s, s->qs[i]);
    gang__order_rekey_all(s);
}

void gang__order_refresh(gang_sched *s)
{
    gang__fair_refresh(s);
    gang__order_bounds(s);
}
