/* SPDX-License-Identifier: Apache-2.0 */
/* From the structs of the caller to a request of one cluster: names become numbers. Runs twice, see
 * struct block. */
#include "place/request/compile.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/two_pass_block.h"
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"

void *gang__compile_alloc(struct gang__compile_block *b, size_t count, size_t size)
{
    void *p = b->base ? b->base + b->used : NULL;
    b->used += (count * size + 15) & ~(size_t)15;
    return p;
}

static const char *take_text(struct gang__compile_block *b, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *p = gang__compile_alloc(b, bytes, 1);
    return p ? memcpy(p, text, bytes) : text;
}

static const char *const *take_texts(struct gang__compile_block *b, const char *const *texts,
                                     size_t count)
{
    const char **p = gang__compile_alloc(b, count, sizeof(*p));
    for (size_t i = 0; i < count; i++) {
        const char *copy = take_text(b, texts[i]);
        if (p)
            p[i] = copy;
    }
    return p;
}

static gang_result find_level(const struct gang__request_job *j, const char *name,
                              const char *member, int32_t *level)
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
static gang_result find_wide_level(const struct gang__request_job *j, const char *name,
                                   const char *member, int32_t *level)
{
    gang_result r = find_level(j, name, member, level);
    if (r == GANG_OK && *level > GANG__LEVEL_NODE)
        return gang__request_error(j, GANG_EINVAL, member, "lies below the node");
    return r;
}

/* Tasks without GPUs have no place among switches and links. */
static gang_result check_inner_level(const struct gang__request_job *j,
                                     const struct gang_group_spec *s, int32_t level,
                                     const char *member)
{
    bool gpus = s->gpu_milli || s->gpu_memory_bytes;
    if (!gpus && (level == GANG__LEVEL_PCIE || level == GANG__LEVEL_ISLAND))
        return gang__request_error(j, GANG_EINVAL, member,
                                   "a domain of GPUs, for tasks without any");
    return GANG_OK;
}

static gang_result compile_placing(const struct gang__request_job *j, struct gang__compile_block *b,
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
    g->subgroup_size = s->subgroup_size;
    g->max_skew = s->max_skew ? s->max_skew : 1;
    g->spread_soft = s->spread_soft;
    g->max_per_node = s->max_per_node ? s->max_per_node : INT64_MAX;
    g->max_per_domain = s->max_per_domain ? s->max_per_domain : INT64_MAX;
    g->bounded = s->max_per_node || s->max_per_domain;
    g->numa = s->numa;
    g->near_nic = s->near_nic;
    g->same_devices = s->same_devices;
    g->models_ranked = s->models_ranked;
    g->profile = s->profile ? take_text(b, s->profile) : NULL;
    g->takes = s->profile ? GANG__HOLDS_SLICES : GANG__HOLDS_DEVICES;
    g->width = s->profile ? gang__width_of(j->c, s->profile) : 1;
    return r;
}

static gang_result compile_labels(const struct gang__request_job *j, struct gang__compile_block *b,
                                  gang_request *request)
{
    const struct gang_request_spec *s = j->spec;
    struct gang_label *labels = gang__compile_alloc(b, s->label_count, sizeof(*labels));
    for (size_t i = 0; i < s->label_count; i++) {
        gang_result r = gang__check_text(j, s->labels[i].key, false, "key");
        if (r == GANG_OK)
            r = gang__check_text(j, s->labels[i].value, true, "value");
        for (size_t k = 0; k < i && r == GANG_OK; k++)
            if (strcmp(s->labels[k].key, s->labels[i].key) == 0)
                r = gang__request_error(j, GANG_EINVAL, "key", "twice");
        if (r != GANG_OK)
            return gang__error_at(j->error, r, "labels[%zu]", i);
        struct gang_label label = {take_text(b, s->labels[i].key),
                                   take_text(b, s->labels[i].value)};
        if (labels)
            labels[i] = label;
    }
    request->labels = labels;
    request->own_counts = gang__compile_alloc(b, 2 * s->label_count, sizeof(*request->own_counts));
    request->label_count = (uint32_t)s->label_count;
    return GANG_OK;
}

/* "node" is one machine, unless the site has a level of that name. */
static gang_result find_affinity_level(const struct gang__request_job *j, const char *name,
                                       int32_t *level)
{
    *level = GANG__LEVEL_NODE;
    if (strcmp(name, GANG_LEVEL_NODE) == 0 && gang__level_find(j->c, name) < 0)
        return GANG_OK;
    return find_wide_level(j, name, "level", level);
}

static gang_result compile_affinity_rule(const struct gang__request_job *j,
                                         struct gang__compile_block *b,
                                         const struct gang_affinity_rule *s,
                                         struct gang__affinity *rule)
{
    gang_result r = gang__check_text(j, s->key, false, "key");
    if (r == GANG_OK && s->value)
        r = gang__check_text(j, s->value, true, "value");
    if (r == GANG_OK)
        r = gang__check_flag(j, s->colocate, "colocate");
    if (r == GANG_OK)
        r = gang__check_flag(j, s->soft, "soft");
    if (r == GANG_OK)
        r = find_affinity_level(j, s->level ? s->level : GANG_LEVEL_NODE, &rule->level);
    if (r != GANG_OK)
        return r;
    rule->key = take_text(b, s->key);
    rule->value = s->value ? take_text(b, s->value) : NULL;
    rule->colocate = s->colocate;
    rule->soft = s->soft;
    rule->own = false; /* gang__label_counts_bind() knows */
    rule->counts = NULL;
    return GANG_OK;
}

static gang_result compile_peers(const struct gang__request_job *j, struct gang__compile_block *b,
                                 gang_request *request)
{
    const struct gang_request_spec *s = j->spec;
    struct gang__affinity *affinity = gang__compile_alloc(b, s->affinity_count, sizeof(*affinity));
    for (size_t i = 0; i < s->affinity_count; i++) {
        const char *at = (const char *)s->affinity + i * s->affinity_size;
        struct gang_affinity_rule in;
        struct gang__affinity scratch;
        gang_result r = gang__struct_in(&in, sizeof(in), sizeof(in), at, s->affinity_size);
        if (r != GANG_OK)
            gang__request_error(j, r, NULL, "struct gang_affinity_rule of an unknown size");
        else
            r = compile_affinity_rule(j, b, &in, affinity ? &affinity[i] : &scratch);
        if (r != GANG_OK)
            return gang__error_at(j->error, r, "affinity[%zu]", i);
        request->soft_count += affinity && affinity[i].soft;
    }
    request->affinity = affinity;
    request->affinity_count = (uint32_t)s->affinity_count;
    return GANG_OK;
}

static gang_result compile_where(const struct gang__request_job *j, struct gang__compile_block *b,
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

/* One that has none gets one: where it stands, unless it is the only one. */
static const char *take_name(const struct gang__request_job *j, struct gang__compile_block *b,
                             const char *name, size_t index)
{
    char text[64];
    if (name || j->spec->group_count == 1)
        return take_text(b, name ? name : "tasks");
    snprintf(text, sizeof(text), "%s[%zu]", j->list, index);
    name = take_text(b, text);
    return name == text ? NULL : name; /* NULL: the first pass, which measures */
}

static gang_result compile_group(const struct gang__request_job *j, struct gang__compile_block *b,
                                 const struct gang_group_spec *s, struct gang__group *g)
{
    gang_result r = gang__check_group(j, s);
    if (r == GANG_OK)
        r = gang__compile_amounts(j, b, s, g);
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
    g->count = s->count;
    g->min = s->min;
    g->cpu = (uint64_t)s->cpu_milli;
    g->cores = g->cpu % 1000 ? 0 : (uint32_t)(g->cpu / 1000);
    g->pages = (uint64_t)((s->memory_bytes + GANG_PAGE_BYTES - 1) / GANG_PAGE_BYTES);
    gang__compile_gpus(s, g);
    g->cpu_level = gang__bucket_for_cpu(g->cpu);
    struct gang__rule *rules = gang__compile_alloc(b, s->label_count, sizeof(*rules));
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
    g->match_cache = gang__compile_alloc(b, 1, sizeof(*g->match_cache));
    g->set = s->group_set;
    return GANG_OK;
}

static gang_result compile_set(const struct gang__request_job *j, struct gang__compile_block *b,
                               size_t i, const struct gang_group_set_spec *s, struct gang__set *set)
{
    gang_result r = s->name ? gang__check_text(j, s->name, false, "name") : GANG_OK;
    if (r == GANG_OK && s->parent >= 0 && (size_t)s->parent >= j->spec->group_set_count)
        r = gang__request_error(j, GANG_EINVAL, "parent", "no such set");
    if (r == GANG_OK && s->parent < -1)
        r = gang__request_error(j, GANG_EINVAL, "parent", "no such set");
    if (r == GANG_OK && s->parent >= 0 && (size_t)s->parent >= i)
        r = gang__request_error(j, GANG_ECYCLE, "parent", "not before its set");
    if (r == GANG_OK && s->reserved0)
        r = gang__request_error(j, GANG_EINVAL, "reserved0", "not 0");
    if (r == GANG_OK)
        r = gang__check_range(j, s->min, 0, INT64_MAX, "min");
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

/* Both runs, see struct gang__compile_block. `request` is a scratch one on the first. */
gang_result gang__compile(const struct gang__request_job *j, struct gang__compile_block *b,
                          gang_request *request)
{
    const struct gang_request_spec *s = j->spec;
    gang_result r = GANG_OK;
    request->group = gang__compile_alloc(b, s->group_count, sizeof(*request->group));
    request->set = gang__compile_alloc(b, s->group_set_count, sizeof(*request->set));
    request->by_size = gang__compile_alloc(b, s->group_count, sizeof(*request->by_size));
    for (size_t i = 0; i < s->group_count && r == GANG_OK; i++) {
        const char *at = (const char *)s->groups + i * s->group_size;
        struct gang_group_spec in;
        struct gang__group scratch = {0};
        size_t size;
        memcpy(&size, at, sizeof(size));
        r = size > s->group_size ? GANG_EINVAL
                                 : gang__struct_in(&in, sizeof(in), sizeof(in), at, size);
        if (r != GANG_OK)
            gang__request_error(j, r, "size", "struct gang_group_spec is not set up");
        else
            r = compile_group(j, b, &in, request->group ? &request->group[i] : &scratch);
        if (r == GANG_OK)
            *(request->group ? &request->group[i].name : &scratch.name) =
                take_name(j, b, in.name, i);
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
            gang__request_error(j, r, "size", "struct gang_group_set_spec is not set up");
        else
            r = compile_set(j, b, i, &in, request->set ? &request->set[i] : &scratch);
        if (r != GANG_OK)
            gang__error_at(j->error, r, "group_sets[%zu]", i);
    }
    if (r == GANG_OK)
        r = find_level(j, s->same, "same", &request->same);
    if (r == GANG_OK)
        r = find_level(j, s->prefer, "prefer", &request->prefer);
    if (r == GANG_OK)
        r = compile_labels(j, b, request);
    if (r == GANG_OK)
        r = compile_peers(j, b, request);
    return r;
}
