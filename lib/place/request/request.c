/* SPDX-License-Identifier: Apache-2.0 */
/* Checking and compiling a request. Everything it needs lies in one block of memory. */
#include "place/request/request.h"

#include <string.h>

#include "base/error.h"
#include "base/two_pass_block.h"
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "model/node_spec.h"
#include "place/request/label_count.h"
#include "place/request/mix.h"
#include "place/request/shared.h"

enum {
    MAX_TASKS = 1 << 24,
    MAX_MEMBERS = 4095,
    MAX_DEVICE_MILLI = GANG_MAX_GPUS * 1000,
    MAX_WORDS_OF_A_JOB = 64, /* labels; peer rules */
    MAX_RANKS = 64,          /* models in their order */
#ifdef GANG_TEST_HOOKS
    MANY = 1, /* the gangs of tests are small */
#else
    MANY = 32,
#endif
    MAX_ELEMENT = 65536 /* bytes of a group or set of the caller's: more was never set up */
};

/* ---- one block -------------------------------------------------------------------------------
 * Compiling runs twice over the same code: first with `base` NULL, to learn the size, then for
 * good. take() is the only way to get memory. */
struct block {
    char *base;
    size_t used;
};

static void *take(struct block *b, size_t count, size_t size)
{
    void *p = b->base ? b->base + b->used : NULL;
    b->used += (count * size + 15) & ~(size_t)15;
    return p;
}

static const char *take_text(struct block *b, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *p = take(b, bytes, 1);
    return p ? memcpy(p, text, bytes) : text;
}

static const char *const *take_texts(struct block *b, const char *const *texts, size_t count)
{
    const char **p = take(b, count, sizeof(*p));
    for (size_t i = 0; i < count; i++) {
        const char *copy = take_text(b, texts[i]);
        if (p)
            p[i] = copy;
    }
    return p;
}

/* ---- checks ---------------------------------------------------------------------------------- */

struct job {
    gang_cluster *c;
    const struct gang_request_spec *spec;
    struct gang_error *error;
    const char *list; /* what the caller calls the groups */
};

static gang_result bad(const struct job *j, gang_result code, const char *member, const char *text)
{
    return gang__error(j->error, code, member, "%s", text);
}

static gang_result check_text(const struct job *j, const char *text, bool may_be_empty,
                              const char *member)
{
    gang_result r = gang__text_check(text, may_be_empty);
    if (r == GANG_ELIMIT)
        return bad(j, r, member, "longer than 255 bytes");
    return r == GANG_OK ? r : bad(j, r, member, "missing, empty, or not plain UTF-8 text");
}

static gang_result check_range(const struct job *j, int64_t value, int64_t least, int64_t most,
                               const char *member)
{
    if (value < 0)
        return bad(j, GANG_ERANGE, member, "negative");
    if (value < least)
        return bad(j, GANG_ERANGE, member, "too small");
    if (value > most)
        return bad(j, GANG_ERANGE, member, "too large");
    return GANG_OK;
}

static gang_result check_gpus(const struct job *j, const struct gang_group_spec *g)
{
    gang_result r = check_range(j, g->gpu_milli, 0, MAX_DEVICE_MILLI, "gpu_milli");
    if (r == GANG_OK)
        r = check_range(j, g->gpu_memory_bytes, 0, INT64_MAX / 1024, "gpu_memory_bytes");
    if (r == GANG_OK)
        r = check_range(j, g->gpu_devices, 0, GANG_MAX_GPUS, "gpu_devices");
    if (r != GANG_OK)
        return r;
    if (g->gpu_milli && g->gpu_memory_bytes)
        return bad(j, GANG_EINVAL, "gpu_memory_bytes", "excludes gpu_milli");
    if (g->gpu_milli >= 1000 && g->gpu_milli % 1000)
        return bad(j, GANG_EINVAL, "gpu_milli", "neither below 1000 nor a multiple of it");
    if (g->gpu_milli >= 1000 && g->gpu_devices && g->gpu_devices * 1000 != g->gpu_milli)
        return bad(j, GANG_EINVAL, "gpu_devices", "contradicts gpu_milli");
    if (!g->gpu_milli && !g->gpu_memory_bytes && g->gpu_devices)
        return bad(j, GANG_EINVAL, "gpu_devices", "without gpu_milli or gpu_memory_bytes");
    return GANG_OK;
}

static gang_result check_rule(const struct job *j, const struct gang_label_rule *rule)
{
    gang_result r = check_text(j, rule->key, false, "key");
    if (r != GANG_OK)
        return r;
    if (rule->reserved0)
        return bad(j, GANG_EINVAL, "reserved0", "not 0");
    bool number = rule->op >= GANG_LABEL_LT && rule->op <= GANG_LABEL_GE;
    bool list = number || rule->op == GANG_LABEL_IN || rule->op == GANG_LABEL_NOT_IN;
    if (!list && rule->op != GANG_LABEL_EXISTS && rule->op != GANG_LABEL_NOT_EXISTS)
        return bad(j, GANG_EINVAL, "op", "unknown");
    if (list != (rule->value_count > 0) || (rule->value_count && !rule->values))
        return bad(j, GANG_EINVAL, "values", list ? "none" : "not wanted by this op");
    if (number && rule->value_count != 1)
        return bad(j, GANG_EINVAL, "values", "more than one number");
    for (size_t i = 0; i < rule->value_count && r == GANG_OK; i++)
        r = check_text(j, rule->values[i], true, "values");
    if (r == GANG_OK && number && !gang__is_decimal(rule->values[0]))
        return bad(j, GANG_EINVAL, "values", "not a number");
    return r;
}

static gang_result check_flag(const struct job *j, int32_t value, const char *member)
{
    return value == 0 || value == 1 ? GANG_OK : bad(j, GANG_EINVAL, member, "neither 0 nor 1");
}

/* What says where the tasks go beside each other. */
static gang_result check_placing(const struct job *j, const struct gang_group_spec *g)
{
    gang_result r = check_range(j, g->subgroup_size, 0, g->count, "subgroup_size");
    if (r == GANG_OK)
        r = check_range(j, g->max_skew, 0, MAX_TASKS, "max_skew");
    if (r == GANG_OK)
        r = check_range(j, g->max_per_node, 0, MAX_TASKS, "max_per_node");
    if (r == GANG_OK)
        r = check_range(j, g->max_per_domain, 0, MAX_TASKS, "max_per_domain");
    if (r == GANG_OK)
        r = check_flag(j, g->near_nic, "near_nic");
    if (r == GANG_OK)
        r = check_flag(j, g->models_ranked, "models_ranked");
    if (r == GANG_OK)
        r = check_flag(j, g->spread_soft, "spread_soft");
    if (r == GANG_OK && g->profile)
        r = check_text(j, g->profile, false, "profile");
    if (r != GANG_OK)
        return r;
    if (g->numa < GANG_NUMA_PREFER || g->numa > GANG_NUMA_STRICT)
        return bad(j, GANG_EINVAL, "numa", "unknown");
    if (g->profile && (g->gpu_milli < 1000 || g->gpu_devices))
        return bad(j, GANG_EINVAL, "profile", "asks for gpu_milli = 1000 * k, without gpu_devices");
    if (g->subgroup_size && (g->count % g->subgroup_size || g->min % g->subgroup_size))
        return bad(j, GANG_EINVAL, "subgroup_size", "does not divide count and min");
    if (!g->subgroup_size != (!g->subgroup_same && !g->subgroup_prefer))
        return bad(j, GANG_EINVAL, "subgroup_size", "a size and its level go together");
    if (!g->max_per_domain != !g->domain_level)
        return bad(j, GANG_EINVAL, "max_per_domain", "a bound and its level go together");
    if ((g->max_skew || g->spread_soft) && !g->spread)
        return bad(j, GANG_EINVAL, g->max_skew ? "max_skew" : "spread_soft", "without spread");
    return GANG_OK;
}

static gang_result check_group(const struct job *j, const struct gang_group_spec *g)
{
    gang_result r = g->name ? check_text(j, g->name, false, "name") : GANG_OK;
    if (r == GANG_OK)
        r = check_range(j, g->count, 1, MAX_TASKS, "count");
    if (r == GANG_OK)
        r = check_range(j, g->min, 0, g->count, "min");
    if (r == GANG_OK)
        r = check_range(j, g->cpu_milli, 0, GANG_MAX_CPU_MILLI, "cpu_milli");
    if (r == GANG_OK)
        r = check_range(j, g->memory_bytes, 0, GANG_MAX_AMOUNT * GANG_PAGE_BYTES, "memory_bytes");
    if (r == GANG_OK)
        r = check_gpus(j, g);
    if (r != GANG_OK)
        return r;
    r = check_placing(j, g);
    if (r != GANG_OK)
        return r;
    if (g->reserved0)
        return bad(j, GANG_EINVAL, "reserved0", "not 0");
    if (g->group_set < -1 ||
        (g->group_set >= 0 && (size_t)g->group_set >= j->spec->group_set_count))
        return bad(j, GANG_EINVAL, "group_set", "no such set");
    if ((g->amount_count && !g->amounts) || (g->label_count && !g->labels) ||
        (g->gpu_model_count && !g->gpu_models))
        return bad(j, GANG_EINVAL, NULL, "a count without its array");
    if (g->amount_count > GANG_MAX_KINDS)
        return bad(j, GANG_ELIMIT, "amounts", "too many");
    if (g->models_ranked && g->gpu_model_count > MAX_RANKS)
        return bad(j, GANG_ELIMIT, "gpu_models", "too many in an order");
    for (size_t i = 0; i < g->label_count && r == GANG_OK; i++) {
        r = check_rule(j, &g->labels[i]);
        if (r != GANG_OK)
            gang__error_at(j->error, r, "labels[%zu]", i);
    }
    for (size_t i = 0; i < g->gpu_model_count && r == GANG_OK; i++) {
        r = check_text(j, g->gpu_models[i], false, NULL);
        if (r != GANG_OK)
            gang__error_at(j->error, r, "gpu_models[%zu]", i);
    }
    if (r == GANG_OK && g->partition)
        r = check_text(j, g->partition, false, "partition");
    return r;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static gang_result find_level(const struct job *j, const char *name, const char *member,
                              int32_t *level)
{
    *level = GANG__NO_LEVEL;
    if (!name)
        return GANG_OK;
    static const char *const built_in[] = {GANG_LEVEL_NODE, GANG_LEVEL_PACKAGE, GANG_LEVEL_NUMA,
                                           GANG_LEVEL_PCIE, GANG_LEVEL_ISLAND};
    *level = gang__level_find(j->c, name);
    for (int32_t i = 0; *level < 0 && i < (int32_t)(sizeof(built_in) / sizeof(built_in[0])); i++)
        if (strcmp(built_in[i], name) == 0)
            *level = GANG__LEVEL_NODE + i;
    if (*level < 0)
        return gang__error(j->error, GANG_ENOENT, member, "no topology level \"%.64s\"", name);
    return GANG_OK;
}

/* A level at which domains are whole nodes or wider. */
static gang_result find_wide_level(const struct job *j, const char *name, const char *member,
                                   int32_t *level)
{
    gang_result r = find_level(j, name, member, level);
    if (r == GANG_OK && *level > GANG__LEVEL_NODE)
        return bad(j, GANG_EINVAL, member, "lies below the node");
    return r;
}

/* Tasks without GPUs have no place among switches and links. */
static gang_result check_inner_level(const struct job *j, const struct gang_group_spec *s,
                                     int32_t level, const char *member)
{
    bool gpus = s->gpu_milli || s->gpu_memory_bytes;
    if (!gpus && (level == GANG__LEVEL_PCIE || level == GANG__LEVEL_ISLAND))
        return bad(j, GANG_EINVAL, member, "a domain of GPUs, for tasks without any");
    return GANG_OK;
}

static gang_result compile_amounts(const struct job *j, struct block *b,
                                   const struct gang_group_spec *s, struct gang__group *g)
{
    struct gang__need *node_needs = take(b, s->amount_count, sizeof(*node_needs));
    struct gang__need *pool_needs = take(b, s->amount_count, sizeof(*pool_needs));
    size_t nodes = 0, pools = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < s->amount_count; i++) {
        const struct gang_amount *a = &s->amounts[i];
        int32_t kind = a->kind ? gang__kind_find(j->c, a->kind) : -1;
        gang_result r = GANG_OK;
        if (kind < 0)
            r = gang__error(j->error, a->kind ? GANG_ENOENT : GANG_EINVAL, "kind",
                            "no kind \"%.64s\"", a->kind ? a->kind : "");
        else if (kind < GANG_KIND_SITE)
            r = bad(j, GANG_EINVAL, "kind", "has a member of its own");
        else if (seen >> kind & 1)
            r = bad(j, GANG_EINVAL, "kind", "twice");
        else
            r = check_range(j, a->amount, 0, GANG_MAX_AMOUNT, "amount");
        if (r != GANG_OK)
            return gang__error_at(j->error, r, "amounts[%zu]", i);
        seen |= UINT64_C(1) << kind;
        struct gang__need need = {kind, a->amount};
        if (a->amount == 0)
            continue;
        if (j->c->nodes.kind[kind].scope == GANG_SCOPE_CLUSTER) {
            if (pool_needs)
                pool_needs[pools] = need;
            pools++;
        } else {
            if (node_needs)
                node_needs[nodes] = need;
            nodes++;
        }
    }
    g->node_needs = node_needs;
    g->node_need_count = nodes;
    g->pool_needs = pool_needs;
    g->pool_need_count = pools;
    return GANG_OK;
}

static void compile_gpus(const struct gang_group_spec *s, struct gang__group *g)
{
    g->devices = (uint32_t)(s->gpu_devices ? s->gpu_devices : 1);
    if (s->gpu_milli >= 1000) {
        g->devices = (uint32_t)(s->gpu_milli / 1000);
        g->share = 1000;
        g->gpu_level = gang__bucket_for_gpus(g->devices);
    } else if (s->gpu_milli) {
        g->share = (uint32_t)s->gpu_milli;
        g->gpu_level = gang__bucket_for_share(g->share);
    } else if (s->gpu_memory_bytes) {
        g->gpu_memory = s->gpu_memory_bytes;
        g->gpu_level = 1;
    } else {
        g->devices = 0;
    }
}

static gang_result compile_placing(const struct job *j, struct block *b,
                                   const struct gang_group_spec *s, struct gang__group *g)
{
    gang_result r = find_level(j, s->subgroup_same, "subgroup_same", &g->subgroup_same);
    if (r == GANG_OK)
        r = find_level(j, s->subgroup_prefer, "subgroup_prefer", &g->subgroup_prefer);
    if (r == GANG_OK)
        r = find_wide_level(j, s->spread, "spread", &g->spread);
    if (r == GANG_OK)
        r = find_wide_level(j, s->domain_level, "domain_level", &g->domain_level);
    if (r == GANG_OK)
        r = check_inner_level(j, s, g->same, "same");
    if (r == GANG_OK)
        r = check_inner_level(j, s, g->prefer, "prefer");
    if (r == GANG_OK)
        r = check_inner_level(j, s, g->subgroup_same, "subgroup_same");
    if (r == GANG_OK)
        r = check_inner_level(j, s, g->subgroup_prefer, "subgroup_prefer");
    g->slice = s->subgroup_size;
    g->max_skew = s->max_skew ? s->max_skew : 1;
    g->spread_soft = s->spread_soft;
    g->max_per_node = s->max_per_node ? s->max_per_node : INT64_MAX;
    g->max_per_domain = s->max_per_domain ? s->max_per_domain : INT64_MAX;
    g->bounded = s->max_per_node || s->max_per_domain;
    g->numa = s->numa;
    g->near_nic = s->near_nic;
    g->models_ranked = s->models_ranked;
    g->profile = s->profile ? take_text(b, s->profile) : NULL;
    g->takes = s->profile ? GANG__HOLDS_SLICES : GANG__HOLDS_DEVICES;
    g->width = s->profile ? gang__width_of(j->c, s->profile) : 1;
    return r;
}

static gang_result compile_labels(const struct job *j, struct block *b, gang_request *q)
{
    const struct gang_request_spec *s = j->spec;
    struct gang_label *labels = take(b, s->label_count, sizeof(*labels));
    for (size_t i = 0; i < s->label_count; i++) {
        gang_result r = check_text(j, s->labels[i].key, false, "key");
        if (r == GANG_OK)
            r = check_text(j, s->labels[i].value, true, "value");
        for (size_t k = 0; k < i && r == GANG_OK; k++)
            if (strcmp(s->labels[k].key, s->labels[i].key) == 0)
                r = bad(j, GANG_EINVAL, "key", "twice");
        if (r != GANG_OK)
            return gang__error_at(j->error, r, "labels[%zu]", i);
        struct gang_label label = {take_text(b, s->labels[i].key),
                                   take_text(b, s->labels[i].value)};
        if (labels)
            labels[i] = label;
    }
    q->labels = labels;
    q->badges = take(b, 2 * s->label_count, sizeof(*q->badges));
    q->label_count = (uint32_t)s->label_count;
    return GANG_OK;
}

/* "node" is one machine, unless the site has a level of that name. */
static gang_result find_peer_level(const struct job *j, const char *name, int32_t *level)
{
    *level = GANG__LEVEL_NODE;
    if (strcmp(name, GANG_LEVEL_NODE) == 0 && gang__level_find(j->c, name) < 0)
        return GANG_OK;
    return find_wide_level(j, name, "level", level);
}

static gang_result compile_peer(const struct job *j, struct block *b,
                                const struct gang_affinity_rule *s, struct gang__peer *peer)
{
    gang_result r = check_text(j, s->key, false, "key");
    if (r == GANG_OK && s->value)
        r = check_text(j, s->value, true, "value");
    if (r == GANG_OK)
        r = check_flag(j, s->colocate, "colocate");
    if (r == GANG_OK)
        r = check_flag(j, s->soft, "soft");
    if (r == GANG_OK)
        r = find_peer_level(j, s->level ? s->level : GANG_LEVEL_NODE, &peer->level);
    if (r != GANG_OK)
        return r;
    peer->key = take_text(b, s->key);
    peer->value = s->value ? take_text(b, s->value) : NULL;
    peer->near = s->colocate;
    peer->wish = s->soft;
    peer->own = false; /* gang__badges_bind() knows */
    peer->badge = NULL;
    return GANG_OK;
}

static gang_result compile_peers(const struct job *j, struct block *b, gang_request *q)
{
    const struct gang_request_spec *s = j->spec;
    struct gang__peer *peers = take(b, s->affinity_count, sizeof(*peers));
    for (size_t i = 0; i < s->affinity_count; i++) {
        const char *at = (const char *)s->affinity + i * s->affinity_size;
        struct gang_affinity_rule in;
        struct gang__peer scratch;
        gang_result r = gang__struct_in(&in, sizeof(in), sizeof(in), at, s->affinity_size);
        if (r != GANG_OK)
            bad(j, r, NULL, "struct gang_affinity_rule of an unknown size");
        else
            r = compile_peer(j, b, &in, peers ? &peers[i] : &scratch);
        if (r != GANG_OK)
            return gang__error_at(j->error, r, "affinity[%zu]", i);
        q->wishes += peers && peers[i].wish;
    }
    q->peers = peers;
    q->affinity_count = (uint32_t)s->affinity_count;
    return GANG_OK;
}

static gang_result compile_where(const struct job *j, struct block *b,
                                 const struct gang_group_spec *s, struct gang__group *g)
{
    struct gang__block block = {b->base, b->used};
    g->where.step_count = 0;
    if (!s->where)
        return GANG_OK;
    gang_result r = gang__label_expr_compile(s->where, &block, &g->where, j->error);
    if (r != GANG_OK)
        return gang__error_at(j->error, r, "where");
    b->used = (block.used + 15) & ~(size_t)15;
    return r;
}

static gang_result compile_group(const struct job *j, struct block *b,
                                 const struct gang_group_spec *s, struct gang__group *g)
{
    gang_result r = check_group(j, s);
    if (r == GANG_OK)
        r = compile_amounts(j, b, s, g);
    if (r == GANG_OK)
        r = find_level(j, s->same, "same", &g->same);
    if (r == GANG_OK)
        r = find_level(j, s->prefer, "prefer", &g->prefer);
    if (r == GANG_OK)
        r = compile_placing(j, b, s, g);
    if (r == GANG_OK)
        r = compile_where(j, b, s, g);
    if (r != GANG_OK)
        return r;
    g->name = take_text(b, s->name ? s->name : "tasks");
    g->count = s->count;
    g->min = s->min;
    g->cpu = (uint64_t)s->cpu_milli;
    g->cores = g->cpu % 1000 ? 0 : (uint32_t)(g->cpu / 1000);
    g->pages = (uint64_t)((s->memory_bytes + GANG_PAGE_BYTES - 1) / GANG_PAGE_BYTES);
    compile_gpus(s, g);
    g->cpu_level = gang__bucket_for_cpu(g->cpu);
    struct gang__rule *rules = take(b, s->label_count, sizeof(*rules));
    for (size_t i = 0; i < s->label_count; i++) {
        struct gang__rule rule = {take_text(b, s->labels[i].key),
                                  take_texts(b, s->labels[i].values, s->labels[i].value_count),
                                  s->labels[i].value_count, s->labels[i].op};
        if (rules)
            rules[i] = rule;
    }
    g->rules = rules;
    g->rule_count = s->label_count;
    g->models = take_texts(b, s->gpu_models, s->gpu_model_count);
    g->model_count = s->gpu_model_count;
    g->partition = NULL; /* see join_partitions() */
    g->gpu_nodes = g->devices ? (int32_t)GANG_GPU_NODES_ALLOW : j->spec->gpu_nodes;
    g->models_ranked = g->models_ranked && g->devices && g->model_count > 1;
    g->filters = s->partition || g->rule_count || g->where.step_count || g->model_count ||
                 g->profile || g->gpu_nodes == GANG_GPU_NODES_EXCLUDE;
    g->sieve = take(b, 1, sizeof(*g->sieve));
    g->set = s->group_set;
    return GANG_OK;
}

static gang_result compile_set(const struct job *j, struct block *b, size_t i,
                               const struct gang_group_set_spec *s, struct gang__set *set)
{
    gang_result r = s->name ? check_text(j, s->name, false, "name") : GANG_OK;
    if (r == GANG_OK && s->parent >= 0 && (size_t)s->parent >= j->spec->group_set_count)
        r = bad(j, GANG_EINVAL, "parent", "no such set");
    if (r == GANG_OK && s->parent < -1)
        r = bad(j, GANG_EINVAL, "parent", "no such set");
    if (r == GANG_OK && s->parent >= 0 && (size_t)s->parent >= i)
        r = bad(j, GANG_ECYCLE, "parent", "not before its set");
    if (r == GANG_OK && s->reserved0)
        r = bad(j, GANG_EINVAL, "reserved0", "not 0");
    if (r == GANG_OK)
        r = check_range(j, s->min, 0, INT64_MAX, "min");
    if (r == GANG_OK)
        r = find_level(j, s->same, "same", &set->same);
    if (r == GANG_OK)
        r = find_level(j, s->prefer, "prefer", &set->prefer);
    if (r != GANG_OK)
        return r;
    set->name = take_text(b, s->name ? s->name : "set");
    set->parent = s->parent;
    set->min = s->min;
    return GANG_OK;
}

/* A minimum is at least the sum of the minima inside, and not above the tasks there are. */
static gang_result settle_minima(const struct job *j, gang_request *q)
{
    int64_t inside = 0; /* of the request itself */
    for (uint32_t k = 0; k < q->group_count; k++) {
        const struct gang__group *g = &q->group[k];
        q->count += g->count;
        if (g->set < 0)
            inside += g->min;
        else {
            q->set[g->set].inside += g->min;
            q->set[g->set].count += g->count;
        }
    }
    for (uint32_t i = q->group_set_count; i-- > 0;) { /* a parent comes before its sets */
        struct gang__set *set = &q->set[i];
        if (set->min < set->inside)
            set->min = set->inside;
        if (set->min > set->count) {
            gang__error(j->error, GANG_ERANGE, "min", "more than the tasks of the set");
            return gang__error_at(j->error, GANG_ERANGE, "group_sets[%u]", i);
        }
        if (set->parent < 0) {
            inside += set->min;
        } else {
            q->set[set->parent].inside += set->min;
            q->set[set->parent].count += set->count;
        }
    }
    if (q->min < inside)
        q->min = inside;
    if (q->min > q->count)
        return bad(j, GANG_ERANGE, "min", "more than the tasks of the request");
    if (q->count > MAX_TASKS)
        return bad(j, GANG_ELIMIT, j->list, "too many tasks");
    if (q->min == 0)
        return bad(j, GANG_EINVAL, "min", "nothing would have to run");
    return GANG_OK;
}

/* When all is checked: a partition that is named for the first time stays for good. */
static gang_result join_partitions(const struct job *j, gang_request *q)
{
    const struct gang_request_spec *s = j->spec;
    for (size_t i = 0; i < s->group_count; i++) {
        const void *at = (const char *)s->groups + i * s->group_size;
        const struct gang_group_spec *group = at;
        if (!group->partition)
            continue;
        q->group[i].partition = gang__partition_intern(j->c, group->partition);
        if (!q->group[i].partition)
            return bad(j, GANG_ENOMEM, NULL, "out of memory");
    }
    return GANG_OK;
}

/* Is some domain demanded or wished? */
static bool is_bound(const gang_request *q)
{
    bool bound = q->same >= 0 || q->prefer >= 0 || q->policy == GANG_POLICY_TOPOLOGY;
    for (uint32_t i = 0; i < q->group_count; i++)
        bound = bound || q->group[i].same >= 0 || q->group[i].prefer >= 0 || q->group[i].slice;
    for (uint32_t i = 0; i < q->group_set_count; i++)
        bound = bound || q->set[i].same >= 0 || q->set[i].prefer >= 0;
    return bound;
}

static bool harder(const struct gang__group *a, const struct gang__group *b)
{
    uint64_t x = (uint64_t)a->devices * (a->share ? a->share : 1) * a->width;
    uint64_t y = (uint64_t)b->devices * (b->share ? b->share : 1) * b->width;
    if (x != y)
        return x > y;
    return a->cpu != b->cpu ? a->cpu > b->cpu : a->pages > b->pages;
}

static void sort_groups(gang_request *q)
{
    for (uint32_t i = 0; i < q->group_count; i++) {
        uint32_t at = i;
        for (; at > 0 && harder(&q->group[i], &q->group[q->by_size[at - 1]]); at--)
            q->by_size[at] = q->by_size[at - 1];
        q->by_size[at] = i;
    }
}

/* Both runs, see struct block. `q` is a scratch request on the first. */
static gang_result compile(const struct job *j, struct block *b, gang_request *q)
{
    const struct gang_request_spec *s = j->spec;
    gang_result r = GANG_OK;
    q->group = take(b, s->group_count, sizeof(*q->group));
    q->set = take(b, s->group_set_count, sizeof(*q->set));
    q->by_size = take(b, s->group_count, sizeof(*q->by_size));
    for (size_t i = 0; i < s->group_count && r == GANG_OK; i++) {
        const char *at = (const char *)s->groups + i * s->group_size;
        struct gang_group_spec in;
        struct gang__group scratch = {0};
        size_t size;
        memcpy(&size, at, sizeof(size));
        r = size > s->group_size ? GANG_EINVAL
                                 : gang__struct_in(&in, sizeof(in), sizeof(in), at, size);
        if (r != GANG_OK)
            bad(j, r, "size", "struct gang_group_spec is not set up");
        else
            r = compile_group(j, b, &in, q->group ? &q->group[i] : &scratch);
        if (r != GANG_OK)
            gang__error_at(j->error, r, "%s[%zu]", j->list, i);
    }
    for (size_t i = 0; i < s->group_set_count && r == GANG_OK; i++) {
        const char *at = (const char *)s->group_sets + i * s->group_set_size;
        struct gang_group_set_spec in;
        struct gang__set scratch;
        size_t size;
        memcpy(&size, at, sizeof(size));
        r = size > s->group_set_size ? GANG_EINVAL
                                     : gang__struct_in(&in, sizeof(in), sizeof(in), at, size);
        if (r != GANG_OK)
            bad(j, r, "size", "struct gang_group_set_spec is not set up");
        else
            r = compile_set(j, b, i, &in, q->set ? &q->set[i] : &scratch);
        if (r != GANG_OK)
            gang__error_at(j->error, r, "group_sets[%zu]", i);
    }
    if (r == GANG_OK)
        r = find_level(j, s->same, "same", &q->same);
    if (r == GANG_OK)
        r = find_level(j, s->prefer, "prefer", &q->prefer);
    if (r == GANG_OK)
        r = compile_labels(j, b, q);
    if (r == GANG_OK)
        r = compile_peers(j, b, q);
    return r;
}

static gang_result check_spec(const struct job *j)
{
    const struct gang_request_spec *s = j->spec;
    if (s->group_count < 1 || !s->groups)
        return bad(j, GANG_EINVAL, j->list, "none");
    if (s->group_count > MAX_MEMBERS || s->group_set_count > MAX_MEMBERS)
        return bad(j, GANG_ELIMIT, s->group_set_count > MAX_MEMBERS ? "group_sets" : j->list,
                   "too many");
    if (s->group_set_count && !s->group_sets)
        return bad(j, GANG_EINVAL, "group_sets", "NULL");
    if (s->group_size < sizeof(struct gang_group_spec) || s->group_size > MAX_ELEMENT ||
        (s->group_set_count && (s->group_set_size < sizeof(struct gang_group_set_spec) ||
                                s->group_set_size > MAX_ELEMENT)))
        return bad(j, GANG_EINVAL, "group_size", "struct gang_request_spec is not set up");
    if (s->policy < GANG_POLICY_DEFAULT || s->policy > GANG_POLICY_HOST)
        return bad(j, GANG_EINVAL, "policy", "unknown");
    if ((s->policy == GANG_POLICY_HOST) != (s->score != NULL))
        return bad(j, GANG_EINVAL, "score", "the policy of the host and its function go together");
    if (s->gpu_nodes < GANG_GPU_NODES_AVOID || s->gpu_nodes > GANG_GPU_NODES_EXCLUDE)
        return bad(j, GANG_EINVAL, "gpu_nodes", "unknown");
    if ((s->label_count && !s->labels) || (s->affinity_count && !s->affinity))
        return bad(j, GANG_EINVAL, s->affinity_count ? "affinity" : "labels", "NULL");
    if (s->label_count > MAX_WORDS_OF_A_JOB || s->affinity_count > MAX_WORDS_OF_A_JOB)
        return bad(j, GANG_ELIMIT, s->affinity_count > MAX_WORDS_OF_A_JOB ? "affinity" : "labels",
                   "too many");
    if (s->reserved0)
        return bad(j, GANG_EINVAL, "reserved0", "not 0");
    gang_result r = check_flag(j, s->exclusive, "exclusive");
    return r == GANG_OK ? check_range(j, s->min, 0, INT64_MAX, "min") : r;
}

static bool has_domains(const gang_request *q)
{
    bool some = q->same >= 0 || q->prefer >= 0;
    for (uint32_t i = 0; i < q->group_count; i++)
        some = some || q->group[i].same >= 0 || q->group[i].prefer >= 0 || q->group[i].slice;
    for (uint32_t i = 0; i < q->group_set_count; i++)
        some = some || q->set[i].same >= 0 || q->set[i].prefer >= 0;
    return some;
}

/* Is it one group, and all of it to be in one domain of the site? */
static bool is_in_one_domain(const gang_request *q)
{
    const struct gang__group *g = &q->group[0];
    int32_t level = g->same > q->same ? g->same : q->same;
    for (int32_t i = g->set; i >= 0; i = q->set[i].parent)
        level = q->set[i].same > level ? q->set[i].same : level;
    return q->group_count == 1 && level >= 0 && level < GANG__LEVEL_NODE;
}

/* Check and compile; the caller's struct is of the library's size. */
static gang_result check_inner(const struct job *j, int32_t same, int32_t prefer)
{
    if (same < GANG__LEVEL_PCIE && prefer < GANG__LEVEL_PCIE)
        return GANG_OK;
    return bad(j, GANG_EINVAL, same >= GANG__LEVEL_PCIE ? "same" : "prefer",
               "a domain of GPUs, for a group without any");
}

/* Domains of GPUs are no place for a set or request with a group that has none. */
static gang_result check_inner_levels(const struct job *j, gang_request *q)
{
    bool some = false;
    for (uint32_t i = 0; i < q->group_count; i++) {
        if (q->group[i].devices)
            continue;
        some = true;
        for (int32_t k = q->group[i].set; k >= 0 && !q->set[k].mixed; k = q->set[k].parent)
            q->set[k].mixed = true;
    }
    gang_result r = some ? check_inner(j, q->same, q->prefer) : GANG_OK;
    for (uint32_t i = 0; i < q->group_set_count && r == GANG_OK; i++) {
        if (q->set[i].mixed)
            r = check_inner(j, q->set[i].same, q->set[i].prefer);
        if (r != GANG_OK)
            gang__error_at(j->error, r, "group_sets[%u]", i);
    }
    return r;
}

static gang_result request_make(const struct job *job, gang_request **request)
{
    const struct job j = *job;
    const struct gang_request_spec in = *j.spec;
    gang_cluster *cluster = j.c;
    struct gang_error *error = j.error;
    gang_result r = check_spec(&j);
    if (r != GANG_OK)
        return r;
    gang_request scratch = {0};
    struct block size = {NULL, 0};
    (void)take(&size, 1, sizeof(gang_request));
    r = compile(&j, &size, &scratch);
    if (r != GANG_OK)
        return r;
    struct block block = {gang__zalloc(&cluster->mem, 1, size.used), 0};
    if (!block.base)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang_request *q = take(&block, 1, sizeof(*q));
    q->group_count = (uint32_t)in.group_count;
    q->group_set_count = (uint32_t)in.group_set_count;
    q->cluster = cluster;
    q->policy = in.policy != GANG_POLICY_DEFAULT ? in.policy : cluster->policy;
    q->gpu_nodes = in.gpu_nodes;
    q->exclusive = in.exclusive;
    q->score = in.score;
    q->score_user = in.score_user;
    q->min = in.min;
    gang__store(&q->refs, 1u);
    r = compile(&j, &block, q);
    if (r == GANG_OK)
        r = settle_minima(&j, q);
    if (r == GANG_OK)
        r = check_inner_levels(&j, q);
    if (r == GANG_OK)
        r = join_partitions(&j, q);
    if (r != GANG_OK) {
        gang__release(&cluster->mem, q);
        return r;
    }
    q->social = q->label_count || q->affinity_count;
    if (gang__badges_bind(q) != GANG_OK) {
        gang__release(&cluster->mem, q);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    sort_groups(q);
    for (uint32_t i = 0; i < q->group_count; i++)
        q->uses_pool = q->uses_pool || q->group[i].pool_need_count > 0;
    q->bound = is_bound(q);
    const struct gang__group *g = &q->group[0];
    q->plain = q->group_count == 1 && q->group_set_count == 0 && q->min == g->min && q->same < 0 &&
               q->prefer < 0 && g->same < 0 && g->prefer < 0 && !g->slice && g->spread < 0 &&
               g->max_per_node == INT64_MAX && g->domain_level < 0 && q->affinity_count == 0 &&
               !q->exclusive && q->policy != GANG_POLICY_TOPOLOGY;
    q->in_domains = has_domains(q);
    q->glance = q->plain ? q->min > 1 : is_in_one_domain(q);
    q->large = q->plain && q->min > MANY;
    *request = q;
    return GANG_OK;
}

gang_result gang__request_compile(gang_cluster *c, const struct gang_request_spec *spec,
                                  gang_request **q, struct gang_error *error)
{
    struct gang_request_spec in;
    *q = NULL;
    gang_result r = gang__struct_in(&in, sizeof(in), sizeof(in), spec, spec->size);
    if (r != GANG_OK)
        return gang__error(error, r, "size", "struct gang_request_spec is not set up");
    const struct job j = {c, &in, error, "groups"};
    return request_make(&j, q);
}

gang_result gang_request_new(gang_cluster *cluster, const struct gang_request_spec *spec,
                             gang_request **request, struct gang_error *error)
{
    if (request)
        *request = NULL;
    if (!cluster || !spec || !request)
        return gang__error(error, GANG_EINVAL, NULL, "NULL argument");
    gang_request *q;
    gang_result r = gang__request_compile(cluster, spec, &q, error);
    if (r != GANG_OK)
        return r;
    if (!gang__mix_learn(cluster, q)) {
        gang_request_free(q);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    *request = q;
    return GANG_OK;
}

gang_result gang__shapes_compile(gang_cluster *c, const struct gang_group_spec *shapes,
                                 size_t shape_size, size_t count, gang_request **q,
                                 struct gang_error *error)
{
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    if (shape_size < sizeof(*shapes) || shape_size > MAX_ELEMENT)
        return gang__error(error, GANG_EINVAL, "shape_size", "not of struct gang_group_spec");
    spec.groups = shapes;
    spec.group_size = shape_size;
    spec.group_count = count;
    spec.min = 1; /* a shape need not say */
    spec.policy = GANG_POLICY_PACK;
    const struct job j = {c, &spec, error, "shapes"};
    return request_make(&j, q);
}

void gang__request_get(gang_request *request, uint32_t times)
{
    atomic_fetch_add_explicit(&request->refs, times, memory_order_relaxed);
}

void gang_request_free(gang_request *request)
{
    gang__request_put(request, 1);
}

static void free_match_caches(gang_request *request)
{
    for (uint32_t i = 0; i < request->group_count; i++) {
        void *cache = gang__load(&request->group[i].sieve->now);
        while (cache) {
            void *older = ((struct gang__sieve_link *)cache)->older;
            gang__release(&request->cluster->mem, cache);
            cache = older;
        }
    }
}

void gang__request_put(gang_request *request, uint32_t times)
{
    if (!request || atomic_fetch_sub_explicit(&request->refs, times, memory_order_acq_rel) != times)
        return;
    gang__badges_unbind(request);
    free_match_caches(request);
    gang__release(&request->cluster->mem, request);
}
