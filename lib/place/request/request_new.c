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
static gang_result settle_minima(const struct gang__request_job *j, gang_request *request)
{
    int64_t inside = 0; /* of the request itself */
    for (uint32_t k = 0; k < request->group_count; k++) {
        const struct gang__group *g = &request->group[k];
        request->count += g->count;
        if (g->set < 0)
            inside += g->min;
        else {
            request->set[g->set].inside += g->min;
            request->set[g->set].count += g->count;
        }
    }
    for (uint32_t i = request->group_set_count; i-- > 0;) { /* a parent comes before its sets */
        struct gang__set *set = &request->set[i];
        if (set->min < set->inside)
            set->min = set->inside;
        if (set->min > set->count) {
            gang__error(j->error, GANG_ERANGE, "min", "more than the tasks of the set");
            return gang__error_at(j->error, GANG_ERANGE, "group_sets[%u]", i);
        }
        if (set->parent < 0) {
            inside += set->min;
        } else {
            request->set[set->parent].inside += set->min;
            request->set[set->parent].count += set->count;
        }
    }
    if (request->min < inside)
        request->min = inside;
    if (request->min > request->count)
        return gang__request_error(j, GANG_ERANGE, "min", "more than the tasks of the request");
    if (request->count > GANG__MAX_TASKS)
        return gang__request_error(j, GANG_ELIMIT, j->list, "too many tasks");
    if (request->min == 0)
        return gang__request_error(j, GANG_EINVAL, "min", "nothing would have to run");
    return GANG_OK;
}

/* When all is checked: a partition that is named for the first time stays for good. */
static gang_result join_partitions(const struct gang__request_job *j, gang_request *request)
{
    const struct gang_request_spec *s = j->spec;
    for (size_t i = 0; i < s->group_count; i++) {
        const void *at = (const char *)s->groups + i * s->group_size;
        const struct gang_group_spec *group = at;
        if (!group->partition)
            continue;
        request->group[i].partition = gang__partition_intern(j->c, group->partition);
        if (!request->group[i].partition)
            return gang__request_error(j, GANG_ENOMEM, NULL, "out of memory");
    }
    return GANG_OK;
}

/* Is some domain required or preferred? */
static bool is_bound(const gang_request *request)
{
    bool bound =
        request->same >= 0 || request->prefer >= 0 || request->policy == GANG_POLICY_TOPOLOGY;
    for (uint32_t i = 0; i < request->group_count; i++)
        bound = bound || request->group[i].same >= 0 || request->group[i].prefer >= 0 ||
                request->group[i].subgroup_size;
    for (uint32_t i = 0; i < request->group_set_count; i++)
        bound = bound || request->set[i].same >= 0 || request->set[i].prefer >= 0;
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

/* The numbers of tasks go on from group to group. */
static void number_groups(gang_request *request)
{
    int64_t first = 0;
    for (uint32_t i = 0; i < request->group_count; i++) {
        request->group[i].in_job = (int32_t)i;
        request->group[i].index = i;
        request->group[i].first = first;
        first += request->group[i].count;
    }
}

static void sort_groups(gang_request *request)
{
    for (uint32_t i = 0; i < request->group_count; i++) {
        uint32_t at = i;
        for (; at > 0 && harder(&request->group[i], &request->group[request->by_size[at - 1]]);
             at--)
            request->by_size[at] = request->by_size[at - 1];
        request->by_size[at] = i;
    }
}

static bool has_domains(const gang_request *request)
{
    bool some = request->same >= 0 || request->prefer >= 0;
    for (uint32_t i = 0; i < request->group_count; i++)
        some = some || request->group[i].same >= 0 || request->group[i].prefer >= 0 ||
               request->group[i].subgroup_size;
    for (uint32_t i = 0; i < request->group_set_count; i++)
        some = some || request->set[i].same >= 0 || request->set[i].prefer >= 0;
    return some;
}

/* Is it one group, and all of it to be in one domain of the site? */
static bool is_in_one_domain(const gang_request *request)
{
    const struct gang__group *g = &request->group[0];
    int32_t level = g->same > request->same ? g->same : request->same;
    for (int32_t i = g->set; i >= 0; i = request->set[i].parent)
        level = request->set[i].same > level ? request->set[i].same : level;
    return request->group_count == 1 && level >= 0 && level < GANG__LEVEL_NODE;
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
static gang_result check_inner_levels(const struct gang__request_job *j, gang_request *request)
{
    bool some = false;
    for (uint32_t i = 0; i < request->group_count; i++) {
        if (request->group[i].devices)
            continue;
        some = true;
        for (int32_t k = request->group[i].set; k >= 0 && !request->set[k].mixed;
             k = request->set[k].parent)
            request->set[k].mixed = true;
    }
    gang_result r = some ? check_inner(j, request->same, request->prefer) : GANG_OK;
    for (uint32_t i = 0; i < request->group_set_count && r == GANG_OK; i++) {
        if (request->set[i].mixed)
            r = check_inner(j, request->set[i].same, request->set[i].prefer);
        if (r != GANG_OK)
            gang__error_at(j->error, r, "group_sets[%u]", i);
    }
    return r;
}

/* gang_request.number of the last one; relaxed, pairs with none: only that no two are equal
 * counts. */
static gang__a64 requests_made;

/* Which searches place the compiled request? */
static void choose_search(gang_request *made)
{
    const struct gang__group *g = &made->group[0];
    made->searched = made->group_count == 1 && made->group_set_count == 0 && made->min == g->min &&
                     made->same < 0 && made->prefer < 0 && g->same < 0 && g->prefer < 0 &&
                     !g->subgroup_size && g->spread < 0 && g->max_per_node == INT64_MAX &&
                     g->domain_level < 0 && made->affinity_count == 0 &&
                     made->policy != GANG_POLICY_TOPOLOGY;
    made->plain = made->searched && !made->exclusive;
    made->in_domains = has_domains(made);
    made->single = made->plain && made->min == 1 && !made->score && !g->filters && !g->bounded &&
                   !g->models_ranked && !g->pool_need_count && g->gpu_nodes != GANG_GPU_NODES_AVOID;
    made->precheck = made->plain ? made->min > 1 : is_in_one_domain(made);
    made->large = made->plain && made->min > MANY;
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
    gang_request *made = gang__compile_alloc(&block, 1, sizeof(*made));
    made->group_count = (uint32_t)in.group_count;
    made->group_set_count = (uint32_t)in.group_set_count;
    made->cluster = cluster;
    made->policy = in.policy != GANG_POLICY_DEFAULT ? in.policy : cluster->policy;
    made->gpu_nodes = in.gpu_nodes;
    made->exclusive = in.exclusive;
    made->score = in.score;
    made->score_user = in.score_user;
    made->min = in.min;
    made->number = gang__add_relaxed(&requests_made, 1) + 1;
    gang__store(&made->refs, 1u);
    r = gang__compile(&j, &block, made);
    if (r == GANG_OK)
        r = settle_minima(&j, made);
    if (r == GANG_OK)
        r = check_inner_levels(&j, made);
    if (r == GANG_OK)
        r = join_partitions(&j, made);
    if (r != GANG_OK) {
        gang__release(&cluster->mem, made);
        return r;
    }
    made->has_affinity = made->label_count || made->affinity_count;
    if (gang__label_counts_bind(made) != GANG_OK) {
        gang__release(&cluster->mem, made);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    number_groups(made);
    sort_groups(made);
    for (uint32_t i = 0; i < made->group_count; i++) {
        made->uses_pool = made->uses_pool || made->group[i].pool_need_count > 0;
        made->same_devices = made->same_devices || made->group[i].same_devices;
    }
    made->bound = is_bound(made);
    choose_search(made);
    *request = made;
    return GANG_OK;
}

gang_result gang__request_compile(gang_cluster *c, const struct gang_request_spec *spec,
                                  gang_request **request, struct gang_error *error)
{
    struct gang_request_spec in;
    *request = NULL;
    gang_result r = gang__struct_in(&in, sizeof(in), sizeof(in), spec, spec->size);
    if (r != GANG_OK)
        return gang__error(error, r, "size", "struct gang_request_spec is not set up");
    const struct gang__request_job j = {c, &in, error, "groups"};
    return request_make(&j, request);
}

gang_result gang_request_new(gang_cluster *cluster, const struct gang_request_spec *spec,
                             gang_request **request, struct gang_error *error)
{
    if (request)
        *request = NULL;
    if (!cluster || !spec || !request)
        return gang__error(error, GANG_EINVAL, NULL, "NULL argument");
    gang_request *made;
    gang_result r = gang__request_compile(cluster, spec, &made, error);
    if (r != GANG_OK)
        return r;
    if (!gang__mix_learn(cluster, made)) {
        gang_request_free(made);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    *request = made;
    return GANG_OK;
}

gang_result gang__shapes_compile(gang_cluster *c, const struct gang_group_spec *shapes,
                                 size_t shape_size, size_t count, gang_request **request,
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
    return request_make(&j, request);
}

void gang__request_ref(gang_request *request, uint32_t times)
{
    gang__add_relaxed(&request->refs, times);
}

void gang__request_insist(gang_request *request)
{
    request->insists = true;
}

void gang__request_number(gang_request *request, const int32_t *in_job, const int64_t *first)
{
    for (uint32_t i = 0; i < request->group_count; i++) {
        request->group[i].in_job = in_job[i];
        request->group[i].first = first[i];
    }
    request->numbered = true;
}

void gang__request_number_like(gang_request *request, const gang_request *from)
{
    for (uint32_t i = 0; from->numbered && i < request->group_count; i++) {
        request->group[i].in_job = from->group[i].in_job;
        request->group[i].first = from->group[i].first;
    }
    request->numbered = from->numbered;
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
    /* acq_rel: the uses of other threads -> this thread, if it is the last one; see gang_request */
    if (!request || atomic_fetch_sub_explicit(&request->refs, times, memory_order_acq_rel) != times)
        return;
    gang__label_counts_unbind(request);
    match_caches_free(request);
    gang__release(&request->cluster->mem, request);
}
