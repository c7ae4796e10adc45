/* SPDX-License-Identifier: Apache-2.0 */
/* The reason of a refusal: for each group by itself, how far the nodes go, and what stops the rest. */
#include "place/explain.h"

#include <string.h>

#include "base/error.h"
#include "core/kind.h"
#include "core/node.h"
#include "place/filter.h"

enum { WHY_COUNT = GANG_WHY_EXCLUSIVE + 1 };

/* What one look over all nodes tells about a group. */
struct survey {
    int64_t nodes; /* looked at */
    int64_t fit;   /* tasks that would go somewhere */
    /* Nodes that take no more tasks, by reason; and by kind, those that could take one if they were
     * empty, and all. */
    int64_t by_why[WHY_COUNT];
    int64_t by_kind[GANG_MAX_KINDS];
    int64_t by_kind_ever[GANG_MAX_KINDS];
    int64_t most[GANG_MAX_KINDS]; /* the largest amount free on one node, in units of the kind */
};

static int64_t amount_asked(const struct gang__group *g, int32_t kind)
{
    if (kind == GANG_KIND_CPU)
        return (int64_t)g->cpu;
    if (kind == GANG_KIND_MEMORY)
        return (int64_t)g->pages * GANG_PAGE_BYTES;
    if (kind == GANG_KIND_GPU)
        return (int64_t)g->devices * g->share;
    for (size_t i = 0; i < g->node_need_count; i++)
        if (g->node_needs[i].kind == kind)
            return g->node_needs[i].amount;
    for (size_t i = 0; i < g->pool_need_count; i++)
        if (g->pool_needs[i].kind == kind)
            return g->pool_needs[i].amount;
    return 0;
}

/* What is free of a kind on one node, as far as the group can use it. */
static int64_t amount_free(const struct gang__group *g, const struct gang__view *v,
                           const uint64_t *now, int32_t kind)
{
    if (kind == GANG_KIND_CPU)
        return (int64_t)gang__head_cpu(now[GANG__WORD_HEAD]);
    if (kind == GANG_KIND_MEMORY)
        return (int64_t)now[GANG__WORD_MEMORY] * GANG_PAGE_BYTES;
    if (kind != GANG_KIND_GPU)
        return v->shape->kind_word[kind] ? (int64_t)now[v->shape->kind_word[kind]] : 0;
    int64_t sum = 0;
    uint64_t usable = gang__usable_devices(g, v);
    for (unsigned i = 0; i < v->layout.gpus; i++) {
        if (!(usable >> i & 1))
            continue;
        uint32_t share = gang__share(now[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                                     i % GANG__SHARES_PER_WORD);
        sum += g->share == 1000 && share < 1000 ? 0 : share;
    }
    return sum;
}

static void look_at(struct gang__plan *p, uint32_t group, uint32_t slot, int64_t want,
                    struct survey *s)
{
    const struct gang__group *g = &p->q->group[group];
    struct gang__node *node = gang__plan_node(p, slot);
    struct gang__misfit misfit = {GANG_WHY_NONE, -1};
    struct gang__view *v = node ? gang__plan_view(p, slot) : NULL;
    if (!v)
        return;
    const uint64_t *now = gang__view_now(p, v);
    uint32_t state = gang__head_state(now[GANG__WORD_HEAD]);
    if (state == GANG__STATE_GONE) /* removed, but still held */
        return;
    s->nodes++;
    if (!gang__node_matches(p, g, node, &misfit)) {
        s->by_why[misfit.why]++;
        return;
    }
    for (int32_t kind = 0; state == GANG__STATE_UP && kind < GANG_MAX_KINDS; kind++) {
        int64_t free = amount_free(g, v, now, kind);
        if (free > s->most[kind])
            s->most[kind] = free;
    }
    int64_t here = 0;
    while (here < want && gang__plan_task(p, group, slot, 0, &misfit))
        here++;
    s->fit += here;
    if (here == want)
        return;
    /* A node that others keep counts as such if it would do otherwise: as it is now, or to have it
     * alone, when it is empty. */
    if (misfit.why == GANG_WHY_PEER || misfit.why == GANG_WHY_EXCLUSIVE) {
        if (state != GANG__STATE_UP)
            misfit.why = GANG_WHY_STATE;
        else if (gang__plan_short(p, group, slot, misfit.why == GANG_WHY_EXCLUSIVE))
            misfit.why = GANG_WHY_KIND;
    }
    s->by_why[misfit.why]++;
    if (misfit.why == GANG_WHY_POOL)
        s->by_kind[misfit.kind]++;
    if (misfit.why != GANG_WHY_KIND)
        return;
    uint32_t kinds = gang__plan_short(p, group, slot, false);
    bool could = gang__plan_short(p, group, slot, true) == 0;
    for (; kinds; kinds &= kinds - 1) {
        s->by_kind_ever[__builtin_ctz(kinds)]++;
        s->by_kind[__builtin_ctz(kinds)] += could;
    }
}

/* The kind of a scope that stops most nodes, GPUs before others; of the nodes that could take a task
 * when empty, if there are any. */
static int32_t kind_of(const gang_cluster *c, const struct survey *s, int32_t scope)
{
    const int64_t *count = s->by_kind;
    for (int look = 0; look < 2; look++, count = s->by_kind_ever) {
        int32_t best = -1;
        int64_t most = 0;
        for (int32_t kind = 0; kind < GANG_MAX_KINDS; kind++) {
            int64_t weight = 2 * count[kind] + (kind == GANG_KIND_GPU);
            if (!count[kind] || c->kind[kind].scope != scope || weight <= most)
                continue;
            best = kind;
            most = weight;
        }
        if (best >= 0)
            return best;
    }
    return -1;
}

/* The reason that stops most nodes, of those the group could use at all: other jobs, on nodes with room
 * for it, before a kind before a state before a constraint. */
static struct gang__misfit reason_of(const gang_cluster *c, const struct survey *s)
{
    static const int32_t order[] = {GANG_WHY_POOL,      GANG_WHY_PEER,    GANG_WHY_EXCLUSIVE,
                                    GANG_WHY_KIND,      GANG_WHY_NUMA,    GANG_WHY_DEVICE,
                                    GANG_WHY_STATE,     GANG_WHY_SCARCE,  GANG_WHY_LABEL,
                                    GANG_WHY_GPU_MODEL, GANG_WHY_PROFILE, GANG_WHY_PARTITION};
    struct gang__misfit m = {GANG_WHY_STATE, -1}; /* no node at all */
    bool could = false; /* some node that is short would take a task if it were empty */
    for (int32_t kind = 0; kind < GANG_MAX_KINDS; kind++)
        could = could || s->by_kind[kind] > 0;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        bool late = order[i] == GANG_WHY_KIND && !could && s->by_why[GANG_WHY_DEVICE] > 0;
        if (s->by_why[order[i]] > 0 && !late) {
            m.why = order[i];
            break;
        }
    }
    if (m.why == GANG_WHY_KIND || m.why == GANG_WHY_POOL)
        m.kind = kind_of(c, s, m.why == GANG_WHY_POOL ? GANG_SCOPE_CLUSTER : GANG_SCOPE_NODE);
    return m;
}

static void describe(struct gang_error *error, const gang_cluster *c, const struct gang__group *g,
                     const struct survey *s, struct gang__misfit m, int64_t want, bool never)
{
    static const char *const what[WHY_COUNT] = {
        [GANG_WHY_NONE] = "",
        [GANG_WHY_STATE] = "no node is up for them",
        [GANG_WHY_LABEL] = "the label rules match too few nodes",
        [GANG_WHY_PARTITION] = "the partition holds too few nodes",
        [GANG_WHY_GPU_MODEL] = "too few GPUs of the models asked for",
        [GANG_WHY_SAME] = "no single domain of the level asked for holds them",
        [GANG_WHY_NUMA] = "no NUMA domain holds a task whole",
        [GANG_WHY_PROFILE] = "no partition of the profile asked for can be made",
        [GANG_WHY_DEVICE] = "the devices are unhealthy",
        [GANG_WHY_SCARCE] = "nodes with GPUs are not for work without",
        [GANG_WHY_PEER] = "the rules on other jobs leave too few nodes",
        [GANG_WHY_SPREAD] = "the bounds of spreading leave too few nodes",
        [GANG_WHY_EXCLUSIVE] = "too few nodes are wholly free",
    };
    const char *fit = never ? "could ever fit" : "fit now";
    if (m.kind >= 0)
        gang__error(error, error->code, NULL,
                    "group \"%.64s\": %lld of %lld tasks %s; %s%s is short (%lld %s a task)",
                    g->name, (long long)s->fit, (long long)want, fit,
                    m.why == GANG_WHY_POOL ? "cluster-wide " : "", c->kind[m.kind].name,
                    (long long)amount_asked(g, m.kind), c->kind[m.kind].unit);
    else
        gang__error(error, error->code, NULL, "group \"%.64s\": %lld of %lld tasks %s; %s", g->name,
                    (long long)s->fit, (long long)want, fit,
                    m.why == GANG_WHY_PARTITION && !g->partition
                        ? "the other nodes are for requests that name their partition"
                        : what[m.why]);
}

/* For all of the tasks: how many of the group could be placed if it were alone. */
static void survey_group(struct gang__plan *p, uint32_t group, int64_t want, struct survey *s)
{
    const struct gang__group *g = &p->q->group[group];
    memset(s, 0, sizeof(*s));
    struct gang__view *pool = g->pool_need_count ? gang__plan_view(p, GANG__POOL) : NULL;
    for (size_t i = 0; pool && i < g->pool_need_count; i++)
        s->most[g->pool_needs[i].kind] =
            (int64_t)gang__view_now(p, pool)[gang__pool_word(g->pool_needs[i].kind)];
    uint32_t end = gang__plan_end(p);
    for (uint32_t slot = 1; slot < end && !p->failed; slot++)
        look_at(p, group, slot, want - s->fit, s);
    gang__plan_rollback(p, 0);
}

static void fill(struct gang_error *error, const gang_cluster *c, const gang_request *q,
                 int32_t group, const struct survey *s, struct gang__misfit m, int64_t want)
{
    const struct gang__group *g = &q->group[group];
    gang_result code = error->code;
    describe(error, c, g, s, m, want, code == GANG_ENEVER);
    error->code = code;
    error->constraint = m.why;
    error->group = group;
    error->kind = m.kind;
    error->nodes = s->nodes;
    if (m.kind < 0)
        return;
    /* One task does not fit anywhere: what it asks, and the most that one node has. Else what all
     * of them ask, and what those that fit would take. */
    error->requested = amount_asked(g, m.kind);
    error->available = s->most[m.kind];
    if (s->fit > 0) {
        error->available = error->requested * s->fit;
        error->requested *= want;
    }
}

gang_result gang__explain(struct gang__plan *p, gang_cluster *c, const gang_request *q,
                          gang_result code, int32_t more, struct gang_error *error)
{
    if (!error || error->size < sizeof(*error))
        return gang__error(error, code, NULL, "%s", gang_strerror(code));
    struct gang_error out = GANG_ERROR_INIT;
    out.code = code;
    bool found = false;
    if (gang__plan_begin(p, c, q, code == GANG_ENEVER) != GANG_OK)
        return gang__error(error, code, NULL, "%s", gang_strerror(code));
    p->even = true;
    struct survey s;
    for (uint32_t i = 0; i < q->group_count && !found; i++) {
        uint32_t g = q->by_size[i];
        int64_t want = more >= 0 ? ((int32_t)g == more ? 1 : 0) : q->group[g].min;
        if (more < 0 && want == 0 && q->group_count == 1)
            want = q->min;
        if (want == 0)
            continue;
        survey_group(p, g, want, &s);
        if (s.fit < want) {
            fill(&out, c, q, (int32_t)g, &s, reason_of(c, &s), want);
            found = true;
        }
    }
    if (!found) {
        /* Each group fits alone: together they do not, or no one domain holds them. */
        bool bound = q->same >= 0;
        for (uint32_t i = 0; i < q->group_count; i++)
            bound = bound || q->group[i].same >= 0;
        for (uint32_t i = 0; i < q->set_count; i++)
            bound = bound || q->set[i].same >= 0;
        gang__error(&out, code, NULL, "%s",
                    bound      ? "no single domain of the level asked for holds it"
                    : q->score ? "the host's scores leave too few nodes, or not all fits together"
                               : "each group fits alone, but not all together");
        out.constraint = bound ? GANG_WHY_SAME : q->score ? GANG_WHY_NONE : GANG_WHY_KIND;
        out.group = more;
        out.nodes = p->snap ? p->snap->count : (int64_t)gang__load(&c->node_count);
    }
    size_t size = error->size;
    memcpy(error, &out, sizeof(out));
    error->size = size;
    return code;
}
