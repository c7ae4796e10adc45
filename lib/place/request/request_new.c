/* SPDX-License-Identifier: Apache-2.0 */
/* A new request: check, compile, relate its groups and sets. References. */
#include "place/request/compile.h"

#include <string.h>

#include "base/error.h"
#include "core/cluster.h"
#include "core/nodes/nodes.h"
#include "place/request/compiled.h"
#include "place/request/label_count.h"
#include "place/request/mix.h"
#include "place/request/shared.h"

enum {
#ifdef GANG_TEST_HOOKS
    MANY = 1 /* the gangs of tests are small */
#else
    MANY = 32
#endif
};

/* A minimum is at least the sum of the minima inside, and not above the tasks there are. */
static gang_result settle_minima(const struct gang__request_job *j, gang_request *q)
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
        return gang__request_error(j, GANG_ERANGE, "min", "more than the tasks of the request");
    if (q->count > GANG__MAX_TASKS)
        return gang__request_error(j, GANG_ELIMIT, j->list, "too many tasks");
    if (q->min == 0)
        return gang__request_error(j, GANG_EINVAL, "min", "nothing would have to run");
    return GANG_OK;
}

/* When all is checked: a partition that is named for the first time stays for good. */
static gang_result join_partitions(const struct gang__request_job *j, gang_request *q)
{
    const struct gang_request_spec *s = j->spec;
    for (size_t i = 0; i < s->group_count; i++) {
        const void *at = (const char *)s->groups + i * s->group_size;
        const struct gang_group_spec *group = at;
        if (!group->partition)
            continue;
        q->group[i].partition = gang__partition_intern(j->c, group->partition);
        if (!q->group[i].partition)
            return gang__request_error(j, GANG_ENOMEM, NULL, "out of memory");
    }
    return GANG_OK;
}

/* Is some domain required or preferred? */
static bool is_bound(const gang_request *q)
{
    bool bound = q->same >= 0 || q->prefer >= 0 || q->policy == GANG_POLICY_TOPOLOGY;
    for (uint32_t i = 0; i < q->group_count; i++)
        bound =
            bound || q->group[i].same >= 0 || q->group[i].prefer >= 0 || q->group[i].subgroup_size;
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

static bool has_domains(const gang_request *q)
{
    bool some = q->same >= 0 || q->prefer >= 0;
    for (uint32_t i = 0; i < q->group_count; i++)
        some =
            some || q->group[i].same >= 0 || q->group[i].prefer >= 0 || q->group[i].subgroup_size;
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
static gang_result check_inner(const struct gang__request_job *j, int32_t same, int32_t prefer)
{
    if (same < GANG__LEVEL_PCIE && prefer < GANG__LEVEL_PCIE)
        return GANG_OK;
    return gang__request_error(j, GANG_EINVAL, same >= GANG__LEVEL_PCIE ? "same" : "prefer",
                               "a domain of GPUs, for a group without any");
}

/* Domains of GPUs are no place for a set or request with a group that has none. */
static gang_result check_inner_levels(const struct gang__request_job *j, gang_request *q)
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

static gang_result request_make(const struct gang__request_job *job, gang_request **request)
{
    const struct gang__request_job j = *job;
    const struct gang_request_spec in = *j.spec;
    gang_cluster *cluster = j.c;
    struct gang_error *error = j.error;
    gang_result r = gang__check_spec(&j);
    if (r != GANG_OK)
        return r;
    gang_request scratch = {0};
    struct gang__compile_block size = {NULL, 0};
    (void)gang__compile_alloc(&size, 1, sizeof(gang_request));
    r = gang__compile(&j, &size, &scratch);
    if (r != GANG_OK)
        return r;
    struct gang__compile_block block = {gang__zalloc(&cluster->mem, 1, size.used), 0};
    if (!block.base)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang_request *q = gang__compile_alloc(&block, 1, sizeof(*q));
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
    r = gang__compile(&j, &block, q);
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
    q->has_affinity = q->label_count || q->affinity_count;
    if (gang__label_counts_bind(q) != GANG_OK) {
        gang__release(&cluster->mem, q);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    sort_groups(q);
    for (uint32_t i = 0; i < q->group_count; i++)
        q->uses_pool = q->uses_pool || q->group[i].pool_need_count > 0;
    q->bound = is_bound(q);
    const struct gang__group *g = &q->group[0];
    q->plain = q->group_count == 1 && q->group_set_count == 0 && q->min == g->min && q->same < 0 &&
               q->prefer < 0 && g->same < 0 && g->prefer < 0 && !g->subgroup_size &&
               g->spread < 0 && g->max_per_node == INT64_MAX && g->domain_level < 0 &&
               q->affinity_count == 0 && !q->exclusive && q->policy != GANG_POLICY_TOPOLOGY;
    q->in_domains = has_domains(q);
    q->precheck = q->plain ? q->min > 1 : is_in_one_domain(q);
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
    const struct gang__request_job j = {c, &in, error, "groups"};
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
    if (shape_size < sizeof(*shapes) || shape_size > GANG__MAX_ELEMENT)
        return gang__error(error, GANG_EINVAL, "shape_size", "not of struct gang_group_spec");
    spec.groups = shapes;
    spec.group_size = shape_size;
    spec.group_count = count;
    spec.min = 1; /* a shape need not say */
    spec.policy = GANG_POLICY_PACK;
    const struct gang__request_job j = {c, &spec, error, "shapes"};
    return request_make(&j, q);
}

void gang__request_ref(gang_request *request, uint32_t times)
{
    gang__add_relaxed(&request->refs, times);
}

void gang__request_insist(gang_request *request)
{
    request->insists = true;
}

bool gang__request_prefers(const gang_request *request)
{
    bool prefers = request->prefer >= 0;
    for (uint32_t i = 0; i < request->group_set_count; i++)
        prefers = prefers || request->set[i].prefer >= 0;
    for (uint32_t i = 0; i < request->group_count; i++)
        prefers =
            prefers || request->group[i].prefer >= 0 || request->group[i].subgroup_prefer >= 0;
    return prefers;
}

void gang_request_free(gang_request *request)
{
    gang__request_unref(request, 1);
}

static void match_caches_free(gang_request *request)
{
    for (uint32_t i = 0; i < request->group_count; i++) {
        struct gang__match_cache *cache = gang__load(&request->group[i].match_cache->now);
        while (cache) {
            struct gang__match_cache *older = cache->older;
            gang__release(&request->cluster->mem, cache);
            cache = older;
        }
    }
}

void gang__request_unref(gang_request *request, uint32_t times)
{
    if (!request || atomic_fetch_sub_explicit(&request->refs, times, memory_order_acq_rel) != times)
        return;
    gang__label_counts_unbind(request);
    match_caches_free(request);
    gang__release(&request->cluster->mem, request);
}
