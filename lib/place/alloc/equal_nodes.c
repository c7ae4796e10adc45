/* SPDX-License-Identifier: Apache-2.0 */
#include "place/alloc/equal_nodes.h"

#include "core/commit/commit.h"
#include "place/alloc/equal_find.h"
#include "place/alloc/equal_record.h"
#include "place/search/search.h"

#ifdef GANG_TEST_HOOKS
bool gang__equal_nodes_off;
int64_t gang__equal_nodes_taken, gang__equal_nodes_by_index;
#endif

static void count_taken(bool by_index)
{
#ifdef GANG_TEST_HOOKS
    __atomic_fetch_add(&gang__equal_nodes_taken, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&gang__equal_nodes_by_index, by_index, __ATOMIC_RELAXED);
#else
    (void)by_index;
#endif
}

static bool is_off(void)
{
#ifdef GANG_TEST_HOOKS
    return gang__equal_nodes_off;
#else
    return false;
#endif
}

static void describe_leases(struct gang__committer *w, const struct gang__node_pattern *m,
                            const uint64_t *slot, size_t count)
{
    gang__commit_lease(w, (uint32_t)slot[0], m->row, m->words);
    gang__commit_lease_more(w, slot + 1, count - 1);
}

static void describe_ops(struct gang__committer *w, const struct gang__node_pattern *m,
                         const uint64_t *slot, size_t count)
{
    struct gang__alike what = {m->words, m->row, m->op_count, m->op};
    gang__commit_alike(w, &what, slot, count);
}

/* Did another worker take one of the nodes meanwhile? Else the index did not tell what they
 * lack. */
static bool some_leased(const gang_worker *w, const struct gang__equal_slots *n)
{
    for (size_t i = 0; i < n->count; i++)
        if (gang__cell_is_leased(&w->cluster->commit, (uint32_t)n->slot[i]))
            return true;
    return false;
}

static gang_result commit(gang_worker *w, const struct gang__node_pattern *m,
                          const struct gang__equal_slots *n, bool by_index)
{
    gang__commit_begin(&w->commit);
    if (m->op_count == 0)
        describe_leases(&w->commit, m, n->slot, n->count);
    else
        describe_ops(&w->commit, m, n->slot, n->count);
    int64_t helps = w->commit.helps;
    gang_result r = gang__commit_run_indexed(&w->commit, false);
    bool lost = r != GANG_OK && (!by_index || some_leased(w, n));
    w->stats.conflicts += lost;
    if (lost || w->commit.helps != helps || gang__plan_of(w)->out.skipped)
        gang__contention_met(w);
    return r;
}

/* May this way be tried? Not right after it led nowhere. */
static bool is_tried(struct gang__node_pattern *m)
{
    if (is_off())
        return false;
    if (!m->rest)
        return true;
    m->rest--;
    return false;
}

/* May the search go by the index alone? Not where the host is asked about the places, and not while
 * others take the same nodes: it would not pass over those that they claim. */
static bool goes_by_index(const gang_worker *w, struct gang__node_pattern *m,
                          const struct gang__equal_veto *veto)
{
    if (m->op_count || m->in_domain || veto || w->gangs_apart)
        return false;
    if (!m->looks)
        return true;
    m->looks--;
    return false;
}

/* Finds the nodes for a number of tasks: of a new gang, or more of a record. */
static bool find(gang_worker *w, const gang_request *request, int64_t tasks,
                 const struct gang__alloc *a, struct gang__equal_way way,
                 struct gang__equal_slots *n)
{
    enum { REST = 32 };
    struct gang__node_pattern *m = gang__node_pattern_of(w, request);
    *n = (struct gang__equal_slots){.count = (size_t)tasks / m->per_node};
    if (tasks % m->per_node || gang__commit_reserve(&w->commit, n->count * m->words) != GANG_OK)
        return false;
    /* The record reserves this, too; it must not move the slots. */
    size_t entries = gang__equal_record_entries(m, n->count);
    if (!gang__order_reserve(w, entries + (a ? gang__alloc_entries(a) : 0)))
        return false;
    bool found = gang__equal_find(w, request, way, n);
    if (!found && !way.by_index)
        m->rest = REST;
    return found;
}

static gang_result ask(const gang_worker *w, const gang_request *request,
                       const struct gang__node_pattern *m, const struct gang__equal_slots *n,
                       const struct gang__equal_veto *veto)
{
    gang_result r = gang__equal_places(w, request, m, n, veto->out);
    return r == GANG_OK ? veto->may(veto->out, veto->user) : r;
}

/* May tasks be added to the record without a plan? Those that it has, and the new ones, must have
 * all numbers from the first one on; and all that the group needs must come. */
static bool may_grow(const struct gang__plan *p, const struct gang__alloc *a, int64_t tasks)
{
    const gang_request *request = a->request;
    const struct gang__group *g = &request->group[0];
    int64_t after = a->tasks + tasks;
    return request->plain && !p->tasks.leaving_count && after >= g->min &&
           a->next_number == g->first + (int64_t)a->tasks;
}

/* Notes the numbers of the new tasks where gang__growth_numbers() reads them. False: out of
 * memory. */
static bool note_numbers(gang_worker *w, uint32_t first, int64_t tasks)
{
    struct gang__plan *p = gang__plan_of(w);
    if (!gang__grow(&w->cluster->mem, (void **)&p->tasks.plan, &p->tasks.cap, (size_t)tasks,
                    sizeof(*p->tasks.plan)))
        return false;
    for (int64_t i = 0; i < tasks; i++)
        p->tasks.plan[i].number = first + (uint32_t)i;
    return true;
}

/* Memory for all tasks of the record. */
static bool reserve(gang_worker *w, gang_request *request, int64_t tasks, size_t nodes, bool grows,
                    struct gang__alloc **a)
{
    const struct gang__node_pattern *m = gang__node_pattern_of(w, request);
    size_t entries = gang__equal_record_entries(m, nodes);
    size_t words = gang__equal_record_words(m, nodes);
    if (grows)
        return gang__record_reserve(w, *a, entries, words) &&
               note_numbers(w, (*a)->next_number, tasks);
    return *a || gang__record_make(w, request, entries, words, a) == GANG_OK;
}

/* Takes the nodes. False: nothing was taken, and there is no answer; but *a may be a new record. */
static bool take(gang_worker *w, gang_request *request, int64_t tasks,
                 const struct gang__equal_veto *veto, struct gang__equal_way way,
                 struct gang__alloc **a, gang_result *r)
{
    const struct gang__node_pattern *m = gang__node_pattern_of(w, request);
    struct gang__equal_slots n;
    if (!find(w, request, tasks, *a, way, &n) || !reserve(w, request, tasks, n.count, way.grows, a))
        return false;
    *r = veto ? ask(w, request, m, &n, veto) : GANG_OK;
    if (*r != GANG_OK)
        return true;
    *r = commit(w, m, &n, way.by_index);
    if (*r != GANG_OK)
        return false;
    gang__equal_record_add(w, m, &n, *a);
    count_taken(way.by_index);
    return true;
}

bool gang__equal_nodes_take(gang_worker *w, gang_request *request, int64_t tasks,
                            const struct gang__equal_veto *veto, struct gang__alloc **a,
                            gang_result *r)
{
    enum { LOOKS = 64 };
    struct gang__node_pattern *m = gang__node_pattern_of(w, request);
    struct gang__equal_way way = {.grows = *a != NULL};
    if (!is_tried(m) || (way.grows && !may_grow(gang__plan_of(w), *a, tasks)))
        return false;
    way.by_index = goes_by_index(w, m, veto);
    bool answered = take(w, request, tasks, veto, way, a, r);
    if (!answered && way.by_index) {
        m->looks = LOOKS;
        way.by_index = false;
        answered = take(w, request, tasks, veto, way, a, r);
    }
    if (!way.grows && *a && (!answered || *r != GANG_OK)) {
        gang__alloc_drop(w, *a);
        *a = NULL;
    }
    return answered;
}
