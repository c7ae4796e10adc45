/* SPDX-License-Identifier: Apache-2.0 */
/* Are the structs of the caller in order, each by itself? Errors name the member. */
#include "place/request/compile.h"

#include "base/error.h"
#include "core/cluster.h"
#include "model/specs.h"

enum {
    MAX_DEVICE_MILLI = GANG_MAX_GPUS * 1000,
    MAX_WORDS_OF_A_JOB = 64, /* labels; affinity rules */
    MAX_RANKS = 64           /* models in their order */
};

gang_result gang__request_error(const struct gang__request_job *j, gang_result code,
                                const char *member, const char *text)
{
    return gang__error(j->error, code, member, "%s", text);
}

gang_result gang__check_text(const struct gang__request_job *j, const char *text, bool may_be_empty,
                             const char *member)
{
    gang_result r = gang__text_check(text, may_be_empty);
    if (r == GANG_ELIMIT)
        return gang__request_error(j, r, member, "longer than 255 bytes");
    return r == GANG_OK
               ? r
               : gang__request_error(j, r, member, "missing, empty, or not plain UTF-8 text");
}

gang_result gang__check_range(const struct gang__request_job *j, int64_t value, int64_t least,
                              int64_t most, const char *member)
{
    if (value < 0)
        return gang__request_error(j, GANG_ERANGE, member, "negative");
    if (value < least)
        return gang__request_error(j, GANG_ERANGE, member, "too small");
    if (value > most)
        return gang__request_error(j, GANG_ERANGE, member, "too large");
    return GANG_OK;
}

static gang_result check_gpus(const struct gang__request_job *j, const struct gang_group_spec *g)
{
    gang_result r = gang__check_range(j, g->gpu_milli, 0, MAX_DEVICE_MILLI, "gpu_milli");
    if (r == GANG_OK)
        r = gang__check_range(j, g->gpu_memory_bytes, 0, INT64_MAX / 1024, "gpu_memory_bytes");
    if (r == GANG_OK)
        r = gang__check_range(j, g->gpu_devices, 0, GANG_MAX_GPUS, "gpu_devices");
    if (r != GANG_OK)
        return r;
    if (g->gpu_milli && g->gpu_memory_bytes)
        return gang__request_error(j, GANG_EINVAL, "gpu_memory_bytes", "excludes gpu_milli");
    if (g->gpu_milli >= 1000 && g->gpu_milli % 1000)
        return gang__request_error(j, GANG_EINVAL, "gpu_milli",
                                   "neither below 1000 nor a multiple of it");
    if (g->gpu_milli >= 1000 && g->gpu_devices && g->gpu_devices * 1000 != g->gpu_milli)
        return gang__request_error(j, GANG_EINVAL, "gpu_devices", "contradicts gpu_milli");
    if (!g->gpu_milli && !g->gpu_memory_bytes && g->gpu_devices)
        return gang__request_error(j, GANG_EINVAL, "gpu_devices",
                                   "without gpu_milli or gpu_memory_bytes");
    return GANG_OK;
}

static gang_result check_rule(const struct gang__request_job *j, const struct gang_label_rule *rule)
{
    gang_result r = gang__check_text(j, rule->key, false, "key");
    if (r != GANG_OK)
        return r;
    if (rule->reserved0)
        return gang__request_error(j, GANG_EINVAL, "reserved0", "not 0");
    bool number = rule->op >= GANG_LABEL_LT && rule->op <= GANG_LABEL_GE;
    bool list = number || rule->op == GANG_LABEL_IN || rule->op == GANG_LABEL_NOT_IN;
    if (!list && rule->op != GANG_LABEL_EXISTS && rule->op != GANG_LABEL_NOT_EXISTS)
        return gang__request_error(j, GANG_EINVAL, "op", "unknown");
    if (list != (rule->value_count > 0) || (rule->value_count && !rule->values))
        return gang__request_error(j, GANG_EINVAL, "values",
                                   list ? "none" : "not wanted by this op");
    if (number && rule->value_count != 1)
        return gang__request_error(j, GANG_EINVAL, "values", "more than one number");
    for (size_t i = 0; i < rule->value_count && r == GANG_OK; i++)
        r = gang__check_text(j, rule->values[i], true, "values");
    if (r == GANG_OK && number && !gang__is_decimal(rule->values[0]))
        return gang__request_error(j, GANG_EINVAL, "values", "not a number");
    return r;
}

gang_result gang__check_flag(const struct gang__request_job *j, int32_t value, const char *member)
{
    return value == 0 || value == 1
               ? GANG_OK
               : gang__request_error(j, GANG_EINVAL, member, "neither 0 nor 1");
}

/* What says where the tasks go beside each other. */
static gang_result check_placing(const struct gang__request_job *j, const struct gang_group_spec *g)
{
    gang_result r = gang__check_range(j, g->subgroup_size, 0, g->count, "subgroup_size");
    if (r == GANG_OK)
        r = gang__check_range(j, g->max_skew, 0, GANG__MAX_TASKS, "max_skew");
    if (r == GANG_OK)
        r = gang__check_range(j, g->max_per_node, 0, GANG__MAX_TASKS, "max_per_node");
    if (r == GANG_OK)
        r = gang__check_range(j, g->max_per_domain, 0, GANG__MAX_TASKS, "max_per_domain");
    if (r == GANG_OK)
        r = gang__check_flag(j, g->near_nic, "near_nic");
    if (r == GANG_OK)
        r = gang__check_flag(j, g->same_devices, "same_devices");
    if (r == GANG_OK)
        r = gang__check_flag(j, g->models_ranked, "models_ranked");
    if (r == GANG_OK)
        r = gang__check_flag(j, g->spread_soft, "spread_soft");
    if (r == GANG_OK && g->profile)
        r = gang__check_text(j, g->profile, false, "profile");
    if (r != GANG_OK)
        return r;
    if (g->numa < GANG_NUMA_PREFER || g->numa > GANG_NUMA_STRICT)
        return gang__request_error(j, GANG_EINVAL, "numa", "unknown");
    if (g->profile && (g->gpu_milli < 1000 || g->gpu_devices))
        return gang__request_error(j, GANG_EINVAL, "profile",
                                   "asks for gpu_milli = 1000 * k, without gpu_devices");
    if (g->same_devices && (g->profile || (!g->gpu_milli && !g->gpu_memory_bytes)))
        return gang__request_error(j, GANG_EINVAL, "same_devices",
                                   "asks for GPUs, without profile");
    if (g->subgroup_size && (g->count % g->subgroup_size || g->min % g->subgroup_size))
        return gang__request_error(j, GANG_EINVAL, "subgroup_size",
                                   "does not divide count and min");
    if (!g->subgroup_size != (!g->subgroup_same && !g->subgroup_prefer))
        return gang__request_error(j, GANG_EINVAL, "subgroup_size",
                                   "a size and its level go together");
    if (!g->max_per_domain != !g->domain_level)
        return gang__request_error(j, GANG_EINVAL, "max_per_domain",
                                   "a bound and its level go together");
    if ((g->max_skew || g->spread_soft) && !g->spread)
        return gang__request_error(j, GANG_EINVAL, g->max_skew ? "max_skew" : "spread_soft",
                                   "without spread");
    return GANG_OK;
}

gang_result gang__check_group(const struct gang__request_job *j, const struct gang_group_spec *g)
{
    gang_result r = g->name ? gang__check_text(j, g->name, false, "name") : GANG_OK;
    if (r == GANG_OK)
        r = gang__check_range(j, g->count, 1, GANG__MAX_TASKS, "count");
    if (r == GANG_OK)
        r = gang__check_range(j, g->min, 0, g->count, "min");
    if (r == GANG_OK)
        r = gang__check_range(j, g->cpu_milli, 0, GANG_MAX_CPU_MILLI, "cpu_milli");
    if (r == GANG_OK)
        r = gang__check_range(j, g->memory_bytes, 0, GANG_MAX_AMOUNT * GANG_PAGE_BYTES,
                              "memory_bytes");
    if (r == GANG_OK)
        r = check_gpus(j, g);
    if (r != GANG_OK)
        return r;
    r = check_placing(j, g);
    if (r != GANG_OK)
        return r;
    if (g->group_set < -1 ||
        (g->group_set >= 0 && (size_t)g->group_set >= j->spec->group_set_count))
        return gang__request_error(j, GANG_EINVAL, "group_set", "no such set");
    if ((g->amount_count && !g->amounts) || (g->label_count && !g->labels) ||
        (g->gpu_model_count && !g->gpu_models))
        return gang__request_error(j, GANG_EINVAL, NULL, "a count without its array");
    if (g->amount_count > GANG_MAX_KINDS)
        return gang__request_error(j, GANG_ELIMIT, "amounts", "too many");
    if (g->models_ranked && g->gpu_model_count > MAX_RANKS)
        return gang__request_error(j, GANG_ELIMIT, "gpu_models", "too many in an order");
    for (size_t i = 0; i < g->label_count && r == GANG_OK; i++) {
        r = check_rule(j, &g->labels[i]);
        if (r != GANG_OK)
            gang__error_at(j->error, r, "labels[%zu]", i);
    }
    for (size_t i = 0; i < g->gpu_model_count && r == GANG_OK; i++) {
        r = gang__check_text(j, g->gpu_models[i], false, NULL);
        if (r != GANG_OK)
            gang__error_at(j->error, r, "gpu_models[%zu]", i);
    }
    if (r == GANG_OK && g->partition)
        r = gang__check_text(j, g->partition, false, "partition");
    return r;
}

gang_result gang__check_spec(const struct gang__request_job *j)
{
    const struct gang_request_spec *s = j->spec;
    if (s->group_count < 1 || !s->groups)
        return gang__request_error(j, GANG_EINVAL, j->list, "none");
    if (s->group_count > GANG__MAX_MEMBERS || s->group_set_count > GANG__MAX_MEMBERS)
        return gang__request_error(j, GANG_ELIMIT,
                                   s->group_set_count > GANG__MAX_MEMBERS ? "group_sets" : j->list,
                                   "too many");
    if (s->group_set_count && !s->group_sets)
        return gang__request_error(j, GANG_EINVAL, "group_sets", "NULL");
    if (s->group_size < sizeof(struct gang_group_spec) || s->group_size > GANG__MAX_ELEMENT ||
        (s->group_set_count && (s->group_set_size < sizeof(struct gang_group_set_spec) ||
                                s->group_set_size > GANG__MAX_ELEMENT)))
        return gang__request_error(j, GANG_EINVAL, "group_size",
                                   "struct gang_request_spec is not set up");
    if (s->policy < GANG_POLICY_DEFAULT || s->policy > GANG_POLICY_HOST)
        return gang__request_error(j, GANG_EINVAL, "policy", "unknown");
    if ((s->policy == GANG_POLICY_HOST) != (s->score != NULL))
        return gang__request_error(j, GANG_EINVAL, "score",
                                   "the policy of the host and its function go together");
    if (s->gpu_nodes < GANG_GPU_NODES_AVOID || s->gpu_nodes > GANG_GPU_NODES_EXCLUDE)
        return gang__request_error(j, GANG_EINVAL, "gpu_nodes", "unknown");
    if ((s->label_count && !s->labels) || (s->affinity_count && !s->affinity))
        return gang__request_error(j, GANG_EINVAL, s->affinity_count ? "affinity" : "labels",
                                   "NULL");
    if (s->label_count > MAX_WORDS_OF_A_JOB || s->affinity_count > MAX_WORDS_OF_A_JOB)
        return gang__request_error(j, GANG_ELIMIT,
                                   s->affinity_count > MAX_WORDS_OF_A_JOB ? "affinity" : "labels",
                                   "too many");
    if (s->reserved0)
        return gang__request_error(j, GANG_EINVAL, "reserved0", "not 0");
    gang_result r = gang__check_flag(j, s->exclusive, "exclusive");
    return r == GANG_OK ? gang__check_range(j, s->min, 0, INT64_MAX, "min") : r;
}
