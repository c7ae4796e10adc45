/* SPDX-License-Identifier: Apache-2.0 */
/* Affinity and anti-affinity between jobs.
 *
 * The label counts (place/request/label_count.h) say where labelled jobs run. A rule is evaluated
 * when a node is visited. A rule at a level of the site becomes a set of domains when the plan
 * begins. The hard anti-affinity of a running allocation also keeps out matching jobs that come
 * later. Two gangs that exclude each other are never both placed: each publishes its tasks as
 * pending (and as exclusions) before its last look and its commit. Both steps are sequentially
 * consistent, so at least one gang sees the other. That gang gives way: it withdraws and plans
 * again. One of them succeeds: a refusal follows only a search that began while the gang itself was
 * not published. Of several gangs that gave way to each other, the last one to withdraw searches
 * when none of the others is published. A gang that gives way GANG__SEARCHES times is refused
 * without proof, so that gangs do not give way to each other for ever.
 *
 * A rule of nearness counts only what runs, and is judged at an instant inside the call: the peer
 * may end right after.
 *
 * A refusal stays true as long as the stamp stands still (core/commit/commit.c), so it is raised
 * after all that can let a job in: tasks that run and are taken out of the label counts, or
 * withdrew; those that came, which others may want to be near. Until then they count as before. */
#include "place/fit/affinity.h"

#include <string.h>

#include "base/error.h"
#include "core/nodes/nodes.h"
#include "place/fit/exclusive.h"
#include "place/fit/fit_plan.h"
#include "place/fit/keys.h"
#include "place/request/label_count.h"
#include "place/request/shared.h"
#include "place/state/records.h"

/* ---- what is one's own ----------------------------------------------------------------------- */

/* The nodes that the running allocation has tasks on, and how many. */
static bool list_own(struct gang__plan *p)
{
    struct gang__affinity_state *o = &p->others;
    const struct gang__alloc *a = o->running;
    size_t at = gang__plan_words(p, 2 * (size_t)a->tasks), count = 0;
    if (p->out.failed)
        return false;
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task))
        p->word[at + count++] = task[0];
    o->own = at;
    o->own_tasks = at + count;
    gang__sort_keys(p->word + at, count);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || p->word[at + i] != p->word[o->own + o->owns - 1]) {
            p->word[o->own + o->owns] = p->word[at + i];
            p->word[o->own_tasks + o->owns++] = 0;
        }
        p->word[o->own_tasks + o->owns - 1]++;
    }
    return true;
}

/* Tasks of the running allocation on a node. */
static uint64_t own_on(const struct gang__plan *p, gang_node_id id)
{
    const struct gang__affinity_state *o = &p->others;
    size_t low = 0, high = o->owns;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (p->word[o->own + mid] < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < o->owns && p->word[o->own + low] == id ? p->word[o->own_tasks + low] : 0;
}

/* Tasks planned on a node, if they are counted as pending. */
static uint64_t pending_on(const struct gang__plan *p, gang_node_id id)
{
    const struct gang__node_copy *v =
        p->others.registered ? gang__node_copy_find(p, (uint32_t)id) : NULL;
    return v && v->node && v->node->id == id ? v->used : 0;
}

/* The tasks of other jobs that a label count has on a node. `times`: how often it counts each own
 * task. */
static uint64_t others_of(const struct gang__plan *p, unsigned role, uint64_t times,
                          gang_node_id id, uint64_t count)
{
    uint64_t own = 0;
    if (times && count) {
        own += role == GANG__ROLE_PENDING ? 0 : own_on(p, id);
        own += role == GANG__ROLE_HELD ? 0 : pending_on(p, id);
    }
    return count > own * times ? count - own * times : 0;
}

static bool others_on(const struct gang__plan *p, struct gang__label_count *badge, unsigned role,
                      uint64_t times, gang_node_id id)
{
    return others_of(p, role, times, id, gang__label_count_read(badge, role, id)) > 0;
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* Does a rule keep those that match it later out, as long as the job runs? */
static bool is_guard(const struct gang__affinity *peer)
{
    return !peer->near && !peer->wish;
}

/* How many of the job's own rules guard a level against a label count. */
static uint64_t own_guards(const gang_request *q, const struct gang__label_count *badge,
                           int32_t level)
{
    uint64_t times = 0;
    for (uint32_t i = 0; i < q->affinity_count; i++)
        times += is_guard(&q->peers[i]) && q->peers[i].badge == badge && q->peers[i].level == level;
    return times;
}

/* Of all rules: those that must hold, and the first `wishes` wishes. */
static uint64_t rules_active(const gang_request *q, uint32_t wishes)
{
    uint64_t active = 0;
    for (uint32_t i = 0; i < q->affinity_count; i++) {
        if (q->peers[i].wish && wishes == 0)
            continue;
        wishes -= q->peers[i].wish;
        active |= UINT64_C(1) << i;
    }
    return active;
}

/* The levels of the site at which others keep the job out; with the bit of GANG__LEVEL_NODE. */
static uint32_t guarded_levels(const gang_request *q)
{
    uint32_t levels = 0;
    for (uint32_t i = 0; i < 2 * q->label_count; i++)
        levels |= gang__load_seq(&q->badges[i]->guarded);
    return levels;
}

/* ---- sets of domains ------------------------------------------------------------------------- */

struct mark {
    struct gang__plan *p;
    unsigned role;
    uint64_t times;
    int32_t level;
    size_t set;
};

static void mark_domain(gang_node_id id, uint32_t tasks, void *user)
{
    const struct mark *m = user;
    struct gang__plan *p = m->p;
    if (others_of(p, m->role, m->times, id, tasks) == 0 || (uint32_t)id >= gang__plan_end(p))
        return;
    const struct gang__node *node = gang__plan_node(p, (uint32_t)id);
    if (!node || node->id != id)
        return;
    uint32_t domain = node->domain[m->level];
    if (domain / 64 < p->others.set_words)
        p->word[m->set + domain / 64] |= UINT64_C(1) << (domain % 64);
}

/* Note the domains of a level in which a label count counts tasks of others. */
static void mark_domains(struct gang__plan *p, struct gang__label_count *badge, unsigned role,
                         uint64_t times, int32_t level, size_t set)
{
    struct mark m = {p, role, times, level, set};
    gang__label_count_each(badge, role, mark_domain, &m);
}

static bool is_in_set(const struct gang__plan *p, size_t set, uint32_t domain)
{
    return domain / 64 < p->others.set_words &&
           (p->word[set + domain / 64] >> (domain % 64) & 1) != 0;
}

/* Those to be in, of the n-th rule of nearness at a level of the site. */
static size_t near_set(const struct gang__plan *p, uint32_t n)
{
    return p->others.set + (n + 1) * p->others.set_words;
}

static bool is_wide(const struct gang__affinity *peer)
{
    return peer->level != GANG__LEVEL_NODE;
}

static void mark_guarded(struct gang__plan *p, uint32_t levels)
{
    const gang_request *q = p->q;
    for (uint32_t i = 0; i < 2 * q->label_count; i++) {
        uint32_t at = gang__load_seq(&q->badges[i]->guarded) & levels;
        for (; at; at &= at - 1) {
            int32_t level = __builtin_ctz(at);
            mark_domains(p, q->badges[i], GANG__ROLE_EXCLUDE + (unsigned)level,
                         own_guards(q, q->badges[i], level), level, p->others.set);
        }
    }
}

static void mark_rules(struct gang__plan *p)
{
    uint32_t n = 0;
    for (uint64_t left = p->others.active; left; left &= left - 1) {
        const struct gang__affinity *peer = &p->q->peers[__builtin_ctzll(left)];
        if (!is_wide(peer))
            continue;
        size_t set = peer->near ? near_set(p, n++) : p->others.set;
        mark_domains(p, peer->badge, GANG__ROLE_HELD, peer->own, peer->level, set);
        if (!peer->near)
            mark_domains(p, peer->badge, GANG__ROLE_PENDING, peer->own, peer->level, set);
    }
}

/* What the active rules, and those of others, say now. */
static bool look_around(struct gang__plan *p, uint32_t wishes)
{
    struct gang__affinity_state *o = &p->others;
    const uint32_t node_level = UINT32_C(1) << GANG__LEVEL_NODE;
    uint32_t guarded = guarded_levels(p->q), wide = 0;
    o->active = rules_active(p->q, wishes);
    o->levels = guarded & ~node_level;
    for (uint64_t left = o->active; left; left &= left - 1) {
        const struct gang__affinity *peer = &p->q->peers[__builtin_ctzll(left)];
        wide += is_wide(peer) && peer->near;
        if (is_wide(peer) && !peer->near)
            o->levels |= UINT32_C(1) << peer->level;
    }
    o->bars = o->active || guarded;
    if (!o->levels && !wide)
        return true;
    o->set_words = gang__domains_end(p->c) / 64 + 1;
    o->set = gang__plan_words(p, (wide + 1) * o->set_words);
    if (p->out.failed)
        return false;
    memset(p->word + o->set, 0, (wide + 1) * o->set_words * sizeof(*p->word));
    mark_guarded(p, o->levels);
    mark_rules(p);
    return true;
}

gang_result gang__affinity_begin(struct gang__plan *p)
{
    struct gang__affinity_state *o = &p->others;
    o->registered = false;
    o->active = 0;
    o->levels = 0;
    o->owns = 0;
    if (o->running && !list_own(p))
        return GANG_ENOMEM;
    /* An empty cluster has no job to avoid, and a job to be near can still come. */
    if (p->q->social && !p->mode.empty && !look_around(p, o->wishes))
        return GANG_ENOMEM;
    return p->q->exclusive ? gang__exclusive_begin(p) : GANG_OK;
}

/* Do others keep the job out of this node alone? */
static bool is_guarded(const struct gang__plan *p, gang_node_id id)
{
    const gang_request *q = p->q;
    for (uint32_t i = 0; i < 2 * q->label_count; i++) {
        struct gang__label_count *badge = q->badges[i];
        if ((gang__load_seq(&badge->guarded) >> GANG__LEVEL_NODE & 1) &&
            others_on(p, badge, GANG__ROLE_EXCLUDE + GANG__LEVEL_NODE,
                      own_guards(q, badge, GANG__LEVEL_NODE), id))
            return true;
    }
    return false;
}

bool gang__affinity_admits(struct gang__plan *p, const struct gang__node *node)
{
    const struct gang__affinity_state *o = &p->others;
    uint32_t n = 0;
    if (p->mode.empty || !p->q->social)
        return true;
    for (uint32_t levels = o->levels; levels; levels &= levels - 1)
        if (is_in_set(p, o->set, node->domain[__builtin_ctz(levels)]))
            return false;
    for (uint64_t left = o->active; left; left &= left - 1) {
        const struct gang__affinity *peer = &p->q->peers[__builtin_ctzll(left)];
        bool holds = true;
        if (is_wide(peer))
            holds = !peer->near || is_in_set(p, near_set(p, n++), node->domain[peer->level]);
        else
            holds =
                others_on(p, peer->badge, GANG__ROLE_HELD, peer->own, node->id) == peer->near &&
                (peer->near || !others_on(p, peer->badge, GANG__ROLE_PENDING, peer->own, node->id));
        if (!holds)
            return false;
    }
    return !is_guarded(p, node->id);
}

/* ---- entering and leaving -------------------------------------------------------------------- */

/* The planned tasks of one node, in all label counts of the job. */
static bool reserve(const gang_request *q, const struct gang_mem *mem, uint32_t slot)
{
    for (uint32_t i = 0; i < 2 * q->label_count; i++)
        if (!gang__label_count_reserve(q->badges[i], mem, GANG__ROLE_HELD, slot) ||
            !gang__label_count_reserve(q->badges[i], mem, GANG__ROLE_PENDING, slot))
            return false;
    for (uint32_t i = 0; i < q->affinity_count; i++)
        if (is_guard(&q->peers[i]) &&
            !gang__label_count_reserve(q->peers[i].badge, mem,
                                       GANG__ROLE_EXCLUDE + (unsigned)q->peers[i].level, slot))
            return false;
    return true;
}

typedef void (*count_fn)(struct gang__label_count *badge, unsigned role, gang_node_id node,
                         uint32_t tasks);

static void count_labels(const gang_request *q, count_fn count, unsigned role, gang_node_id id,
                         uint32_t tasks)
{
    for (uint32_t i = 0; i < 2 * q->label_count; i++)
        count(q->badges[i], role, id, tasks);
}

static void count_guards(const gang_request *q, count_fn count, gang_node_id id, uint32_t tasks)
{
    for (uint32_t i = 0; i < q->affinity_count; i++)
        if (is_guard(&q->peers[i]))
            count(q->peers[i].badge, GANG__ROLE_EXCLUDE + (unsigned)q->peers[i].level, id, tasks);
}

static bool is_used(const struct gang__node_copy *v)
{
    return v->node && v->used > 0;
}

/* Does all that is planned still keep the rules that must be kept? */
static bool still_holds(struct gang__plan *p, bool *failed)
{
    *failed = !look_around(p, 0);
    for (size_t i = 0; i < p->nodes.count && p->others.bars && !*failed; i++)
        if (is_used(&p->nodes.copy[i]) && !gang__affinity_admits(p, p->nodes.copy[i].node))
            return false;
    return true;
}

gang_result gang__affinity_register(gang_worker *w, struct gang__plan *p)
{
    bool failed = false;
    for (size_t i = 0; i < p->nodes.count; i++)
        if (is_used(&p->nodes.copy[i]) && !reserve(p->q, &p->c->mem, p->nodes.copy[i].slot))
            return GANG_ENOMEM;
    for (size_t i = 0; i < p->nodes.count; i++) {
        if (!is_used(&p->nodes.copy[i]))
            continue;
        gang_node_id id = p->nodes.copy[i].node->id;
        count_labels(p->q, gang__label_count_add, GANG__ROLE_PENDING, id, p->nodes.copy[i].used);
        count_guards(p->q, gang__label_count_add, id, p->nodes.copy[i].used);
    }
    p->others.registered = true;
    gang__hook(GANG__STEP_ENTER);
    if (p->mode.adopting || (still_holds(p, &failed) && !failed))
        return GANG_OK;
    gang__affinity_withdraw(w, p);
    p->others.clashes += !failed;
    w->stats.conflicts += !failed;
    return failed ? GANG_ENOMEM : GANG_ENOFIT;
}

void gang__affinity_confirm(gang_worker *w, struct gang__plan *p)
{
    gang__hook(GANG__STEP_SETTLE);
    for (size_t i = 0; i < p->nodes.count; i++) {
        if (!is_used(&p->nodes.copy[i]))
            continue;
        gang_node_id id = p->nodes.copy[i].node->id;
        count_labels(p->q, gang__label_count_add, GANG__ROLE_HELD, id, p->nodes.copy[i].used);
        count_labels(p->q, gang__label_count_sub, GANG__ROLE_PENDING, id, p->nodes.copy[i].used);
    }
    if (p->q->label_count) /* others may have waited for it to be near */
        gang__add_seq(&w->commit.stamp, 1);
}

void gang__affinity_withdraw(gang_worker *w, struct gang__plan *p)
{
    gang__hook(GANG__STEP_SETTLE);
    for (size_t i = 0; i < p->nodes.count; i++) {
        if (!is_used(&p->nodes.copy[i]))
            continue;
        gang_node_id id = p->nodes.copy[i].node->id;
        count_labels(p->q, gang__label_count_sub, GANG__ROLE_PENDING, id, p->nodes.copy[i].used);
        count_guards(p->q, gang__label_count_sub, id, p->nodes.copy[i].used);
    }
    p->others.registered = false;
    gang__add_seq(&w->commit.stamp, 1);
}

void gang__affinity_release(gang_worker *w, const struct gang__alloc *a, const uint64_t *keys,
                            size_t count)
{
    uint32_t tasks = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t *task = a->data + (uint32_t)keys[i];
        bool last = i + 1 == count || a->data[(uint32_t)keys[i + 1]] != task[0];
        tasks += !gang__task_is_holder(task);
        if (!last)
            continue;
        count_labels(a->q, gang__label_count_sub, GANG__ROLE_HELD, task[0], tasks);
        count_guards(a->q, gang__label_count_sub, task[0], tasks);
        tasks = 0;
    }
    gang__add_seq(&w->commit.stamp, 1);
}

bool gang__affinity_count(gang_cluster *c, const struct gang__alloc *a)
{
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task)) {
        if (!reserve(a->q, &c->mem, (uint32_t)task[0]))
            return false;
        if (!gang__node_of(c, task[0])) /* it will be given back, but does not count */
            continue;
        count_labels(a->q, gang__label_count_add, GANG__ROLE_HELD, task[0], 1);
        count_guards(a->q, gang__label_count_add, task[0], 1);
    }
    return true;
}

/* ---- audit ----------------------------------------------------------------------------------- */

/* What the live allocations say that the label counts should count, in a table of open
 * addressing. */
struct entry {
    const struct gang__label_count *badge; /* NULL: free */
    gang_node_id node;
    unsigned role;
    uint64_t tasks;
};
struct audit {
    gang_cluster *c;
    struct entry *entry;
    size_t room;                           /* a power of two */
    const struct gang__label_count *badge; /* being compared, in this role */
    unsigned role;
    bool same;
};

static struct entry *entry_of(struct audit *t, const struct gang__label_count *badge, unsigned role,
                              gang_node_id node)
{
    uint64_t key[] = {(uint64_t)(uintptr_t)badge, role, node};
    size_t at = gang__hash(GANG__HASH_SEED, key, sizeof(key)) & (t->room - 1);
    while (t->entry[at].badge &&
           (t->entry[at].badge != badge || t->entry[at].role != role || t->entry[at].node != node))
        at = (at + 1) & (t->room - 1);
    t->entry[at].badge = badge;
    t->entry[at].role = role;
    t->entry[at].node = node;
    return &t->entry[at];
}

static size_t words_of_job(const gang_request *q)
{
    return 2 * (size_t)q->label_count + q->affinity_count;
}

static void audit_add(struct audit *t, const struct gang__alloc *a)
{
    const gang_request *q = a->q;
    for (const uint64_t *task = gang__entry_first(a); task; task = gang__entry_next(a, task)) {
        /* On a node that is no more they hold nothing, and do not count. */
        if (gang__task_is_holder(task) || !gang__node_of(t->c, task[0]))
            continue;
        for (uint32_t i = 0; i < 2 * q->label_count; i++)
            entry_of(t, q->badges[i], GANG__ROLE_HELD, task[0])->tasks++;
        for (uint32_t i = 0; i < q->affinity_count; i++)
            if (is_guard(&q->peers[i]))
                entry_of(t, q->peers[i].badge, GANG__ROLE_EXCLUDE + (unsigned)q->peers[i].level,
                         task[0])
                    ->tasks++;
    }
}

static void audit_node(gang_node_id node, uint32_t tasks, void *user)
{
    struct audit *t = user;
    if (!gang__node_of(t->c, node))
        return;
    struct entry *e = entry_of(t, t->badge, t->role, node);
    t->same = t->same && e->tasks == tasks;
    e->tasks = 0;
}

/* Compare all label counts with the table, and take from it what was met. */
static bool audit_badges(struct audit *t, const struct gang__label_counts *badges)
{
    t->same = true;
    for (size_t i = 0; i < badges->names.cap; i++)
        for (struct gang__hash_link *n = badges->names.bucket[i]; n; n = n->next) {
            struct gang__label_count *badge =
                (struct gang__label_count *)((char *)n - offsetof(struct gang__label_count, link));
            t->badge = badge;
            for (t->role = 0; t->role < GANG__ROLES && t->same; t->role++)
                gang__label_count_each(badge, t->role, audit_node, t);
        }
    for (size_t i = 0; i < t->room && t->same; i++)
        t->same = t->entry[i].tasks == 0;
    return t->same;
}

/* Entries that the label counts and the allocations can need. */
static void count_node(gang_node_id node, uint32_t tasks, void *user)
{
    (void)node;
    (void)tasks;
    ++*(size_t *)user;
}

static size_t entries_needed(gang_cluster *c, const struct gang__label_counts *badges)
{
    size_t need = 1;
    struct gang__alloc *a;
    for (uint32_t i = 0; (a = gang__alloc_at(c, i)) != NULL; i++)
        if (a->data)
            need += a->tasks * words_of_job(a->q);
    for (size_t i = 0; i < badges->names.cap; i++)
        for (struct gang__hash_link *n = badges->names.bucket[i]; n; n = n->next)
            for (unsigned role = 0; role < GANG__ROLES; role++)
                gang__label_count_each(
                    (struct gang__label_count *)((char *)n -
                                                 offsetof(struct gang__label_count, link)),
                    role, count_node, &need);
    return need;
}

gang_result gang__affinity_check(gang_cluster *c, struct gang_error *error)
{
    const struct gang__label_counts *badges = &gang__shared_at(c)->label_counts;
    if (badges->names.count == 0)
        return GANG_OK;
    struct audit t = {.c = c, .room = 64};
    size_t need = entries_needed(c, badges);
    while (t.room < 2 * need)
        t.room *= 2;
    t.entry = gang__zalloc(&c->mem, t.room, sizeof(*t.entry));
    if (!t.entry)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    struct gang__alloc *a;
    for (uint32_t i = 0; (a = gang__alloc_at(c, i)) != NULL; i++)
        if (a->data && a->q->social)
            audit_add(&t, a);
    bool same = audit_badges(&t, badges);
    gang__release(&c->mem, t.entry);
    if (same)
        return GANG_OK;
    return gang__error(error, GANG_EINVAL, NULL,
                       "label \"%.64s\": not the tasks that the allocations hold", t.badge->key);
}
