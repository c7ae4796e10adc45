/* SPDX-License-Identifier: Apache-2.0 */
/* The request that a text says: reads what request_text.c wrote, in the order in which that file
 * writes it. */
#include <string.h>

#include "base/two_pass_block.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"

/* All of it lies in one block, measured first. */
struct reader {
    const unsigned char *at;
    struct gang__block *b;
};

static void get(struct reader *r, void *to, size_t bytes)
{
    memcpy(to, r->at, bytes);
    r->at += bytes;
}

static int64_t get_int(struct reader *r)
{
    int64_t value;
    get(r, &value, sizeof(value));
    return value;
}

static const char *get_text(struct reader *r)
{
    int64_t length = get_int(r);
    if (length < 0)
        return NULL;
    char *text = gang__block_alloc(r->b, (size_t)length + 1);
    if (text) {
        memcpy(text, r->at, (size_t)length);
        text[length] = '\0';
    }
    r->at += length;
    return text;
}

static const char *const *get_texts(struct reader *r, size_t *count)
{
    *count = (size_t)get_int(r);
    const char **texts = gang__block_alloc(r->b, *count * sizeof(*texts));
    for (size_t i = 0; i < *count; i++) {
        const char *text = get_text(r);
        if (texts)
            texts[i] = text;
    }
    return texts;
}

static const struct gang_label_rule *get_rules(struct reader *r, size_t *count)
{
    *count = (size_t)get_int(r);
    struct gang_label_rule *rules = gang__block_alloc(r->b, *count * sizeof(*rules));
    for (size_t i = 0; i < *count; i++) {
        struct gang_label_rule rule;
        memset(&rule, 0, sizeof(rule));
        rule.key = get_text(r);
        rule.op = (int32_t)get_int(r);
        rule.values = get_texts(r, &rule.value_count);
        if (rules)
            rules[i] = rule;
    }
    return rules;
}

static const struct gang_amount *get_amounts(struct reader *r, size_t *count)
{
    *count = (size_t)get_int(r);
    struct gang_amount *amounts = gang__block_alloc(r->b, *count * sizeof(*amounts));
    for (size_t i = 0; i < *count; i++) {
        struct gang_amount amount;
        memset(&amount, 0, sizeof(amount));
        amount.kind = get_text(r);
        amount.amount = get_int(r);
        if (amounts)
            amounts[i] = amount;
    }
    return amounts;
}

static struct gang_group_spec get_group(struct reader *r)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    int64_t *const numbers[] = {&g.count,        &g.min,       &g.cpu_milli,
                                &g.memory_bytes, &g.gpu_milli, &g.gpu_memory_bytes,
                                &g.gpu_devices};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *numbers[i] = get_int(r);
    g.group_set = (int32_t)get_int(r);
    g.numa = (int32_t)get_int(r);
    g.near_nic = (int32_t)get_int(r);
    g.same_devices = (int32_t)get_int(r);
    g.models_ranked = (int32_t)get_int(r);
    g.subgroup_size = get_int(r);
    g.max_skew = get_int(r);
    g.max_per_node = get_int(r);
    g.max_per_domain = get_int(r);
    g.spread_soft = (int32_t)get_int(r);
    const char **const texts[] = {&g.name,   &g.partition,   &g.same,          &g.prefer,
                                  &g.where,  &g.profile,     &g.subgroup_same, &g.subgroup_prefer,
                                  &g.spread, &g.domain_level};
    bool any = get_int(r) != 0;
    for (size_t i = 0; any && i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = get_text(r);
    g.amounts = get_amounts(r, &g.amount_count);
    g.labels = get_rules(r, &g.label_count);
    g.gpu_models = get_texts(r, &g.gpu_model_count);
    return g;
}

static struct gang_group_set_spec get_set(struct reader *r)
{
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    set.name = get_text(r);
    set.parent = (int32_t)get_int(r);
    set.min = get_int(r);
    set.same = get_text(r);
    set.prefer = get_text(r);
    return set;
}

static const struct gang_label *get_labels(struct reader *r, size_t *count)
{
    *count = (size_t)get_int(r);
    struct gang_label *labels = gang__block_alloc(r->b, *count * sizeof(*labels));
    for (size_t i = 0; i < *count; i++) {
        const char *key = get_text(r), *value = get_text(r);
        if (labels)
            labels[i] = (struct gang_label){key, value};
    }
    return labels;
}

static const struct gang_affinity_rule *get_affinity(struct reader *r, size_t *count)
{
    *count = (size_t)get_int(r);
    struct gang_affinity_rule *affinity = gang__block_alloc(r->b, *count * sizeof(*affinity));
    for (size_t i = 0; i < *count; i++) {
        struct gang_affinity_rule p = {NULL, NULL, NULL, 0, 0};
        p.key = get_text(r);
        p.value = get_text(r);
        p.level = get_text(r);
        p.colocate = (int32_t)get_int(r);
        p.soft = (int32_t)get_int(r);
        if (affinity)
            affinity[i] = p;
    }
    return affinity;
}

static struct gang__request_spec *get_request(struct reader *r)
{
    struct gang__request_spec *out = gang__block_alloc(r->b, sizeof(*out));
    struct gang_request_spec q = GANG_REQUEST_SPEC_INIT;
    q.group_count = (size_t)get_int(r);
    struct gang_group_spec *groups = gang__block_alloc(r->b, q.group_count * sizeof(*groups));
    for (size_t i = 0; i < q.group_count; i++) {
        struct gang_group_spec g = get_group(r);
        if (groups)
            groups[i] = g;
    }
    q.group_set_count = (size_t)get_int(r);
    struct gang_group_set_spec *sets = gang__block_alloc(r->b, q.group_set_count * sizeof(*sets));
    for (size_t i = 0; i < q.group_set_count; i++) {
        struct gang_group_set_spec set = get_set(r);
        if (sets)
            sets[i] = set;
    }
    q.groups = groups;
    q.group_sets = sets;
    q.min = get_int(r);
    q.same = get_text(r);
    q.prefer = get_text(r);
    q.policy = (int32_t)get_int(r);
    q.gpu_nodes = (int32_t)get_int(r);
    q.exclusive = (int32_t)get_int(r);
    q.labels = get_labels(r, &q.label_count);
    q.affinity = get_affinity(r, &q.affinity_count);
    q.score_user = (void *)(uintptr_t)get_int(r);
    get(r, &q.score, sizeof(q.score));
    if (!out)
        return NULL;
    out->spec = q;
    out->groups = groups;
    return out;
}

struct gang__request_spec *gang__request_spec_read(const struct gang_mem *mem,
                                                   const struct gang__request_text *text)
{
    struct gang__block b = {NULL, 0};
    struct reader r = {text->key, &b};
    (void)get_request(&r);
    b = (struct gang__block){gang__alloc(mem, b.used), 0};
    if (!b.base)
        return NULL;
    r.at = text->key;
    return get_request(&r);
}
