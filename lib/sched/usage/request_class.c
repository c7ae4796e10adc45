/* SPDX-License-Identifier: Apache-2.0 */
/* Request classes: equal requests share one class, because a request that did not fit for one job
 * does not fit for the others. This file also computes the amounts that a request takes in each
 * dimension of the queues. request_text.c decides which requests are equal. */
#include <string.h>

#include "place/request/request.h"
#include "sched/record/state.h"
#include "sched/usage/usage_in.h"

/* ---- amounts that a class takes -------------------------------------------------------------- */

static bool add_take(gang_sched *s, struct gang__request_class *request_class, uint32_t dim,
                     int64_t amount)
{
    if (amount == 0)
        return true;
    if (!gang__grow(&s->mem, (void **)&request_class->take, &request_class->take_cap,
                    request_class->take_count + 1, sizeof(*request_class->take)))
        return false;
    request_class->take[request_class->take_count++] = (struct gang__take){dim, amount};
    return true;
}

/* Is this the partition of the group, or one of its partitions? */
static bool names_partition(const struct gang__request_class *class, uint32_t group,
                            const struct gang__partition *p)
{
    bool named = class->request->group[group].partition == p;
    for (uint32_t i = 0; i < class->partition_count && !named; i++)
        named = class->partition[i]->request->group[group].partition == p;
    return named;
}

/* An amount of a kind counts in its dimension, and in those of the partitions that the group
 * names. */
static bool add_amount(gang_sched *s, struct gang__request_class *request_class, uint32_t group,
                       int32_t kind, int64_t amount)
{
    for (uint32_t d = 0; d < s->dims; d++) {
        const struct gang__dim *dim = &s->queues->dim[d];
        if (dim->kind == kind &&
            (!dim->partition || names_partition(request_class, group, dim->partition)) &&
            !add_take(s, request_class, d, amount))
            return false;
    }
    return true;
}

static bool is_by_memory(const struct gang__group *g)
{
    return g->devices > 0 && g->share == 0;
}

/* Milli-GPUs of one task: at most, or at least. Both are equal if the group does not ask by
 * memory. */
static int64_t gpus_of(const gang_sched *s, const struct gang__group *g, bool most)
{
    if (g->devices == 0)
        return 0;
    int64_t share = g->share ? (int64_t)g->share
                    : most   ? gang__gpu_memory_max_share(s, g->gpu_memory)
                             : gang__gpu_memory_min_share(s, g->gpu_memory);
    return (int64_t)g->devices * share * (int64_t)(g->profile ? g->width : 1);
}

int64_t gang__gpu_least(const gang_sched *s, const struct gang__group *g)
{
    return gpus_of(s, g, false);
}

static bool take_of_group(gang_sched *s, struct gang__request_class *request_class, uint32_t group)
{
    const struct gang__group *g = &request_class->request->group[group];
    int64_t gpu = gpus_of(s, g, true), pages = (int64_t)g->pages, cpu = (int64_t)g->cpu;
    request_class->group[group].from = request_class->take_count;
    bool ok = add_amount(s, request_class, group, GANG_KIND_CPU, cpu) &&
              add_amount(s, request_class, group, GANG_KIND_MEMORY, pages * GANG_PAGE_BYTES) &&
              add_amount(s, request_class, group, GANG_KIND_GPU, gpu);
    for (size_t i = 0; ok && i < g->node_need_count; i++)
        ok = add_amount(s, request_class, group, g->node_needs[i].kind, g->node_needs[i].amount);
    for (size_t i = 0; ok && i < g->pool_need_count; i++)
        ok = add_amount(s, request_class, group, g->pool_needs[i].kind, g->pool_needs[i].amount);
    request_class->group[group].count =
        request_class->take_count - request_class->group[group].from;
    if (group == 0 || cpu < request_class->min_cpu)
        request_class->min_cpu = cpu;
    if (group == 0 || pages < request_class->min_pages)
        request_class->min_pages = pages;
    gpu = is_by_memory(g) ? gpus_of(s, g, false) : gpu;
    if (group == 0 || gpu < request_class->min_gpu)
        request_class->min_gpu = gpu;
    return ok;
}

/* Computes how many tasks of each group start together. Each group gives its minimum; the first
 * groups give the rest of the request's minimum. Not exact: others may give it, see choices.c. */
static void set_gang_tasks(struct gang__request_class *request_class)
{
    const gang_request *request = request_class->request;
    int64_t sum = 0;
    for (uint32_t group = 0; group < request->group_count; group++)
        sum += request_class->gang_tasks[group] = request->group[group].min;
    request_class->exact = sum >= request->min;
    for (uint32_t group = 0; group < request->group_count && sum < request->min; group++) {
        int64_t more = request->group[group].count - request_class->gang_tasks[group];
        more = more < request->min - sum ? more : request->min - sum;
        request_class->gang_tasks[group] += more;
        sum += more;
    }
    /* A set with a minimum of its own is met by tasks that are not known before placing. */
    for (uint32_t i = 0; i < request->group_set_count; i++)
        request_class->exact =
            request_class->exact && request->set[i].min <= request->set[i].inside;
    request_class->exact = request_class->exact || request->group_count == 1;
}

/* Every placement takes the same. */
static void set_exact_take(const gang_sched *s, struct gang__request_class *request_class)
{
    const gang_request *request = request_class->request;
    request_class->even = true;
    request_class->gang_take_count =
        gang__takes_sum(s, request_class, request_class->gang_tasks, request_class->gang_take);
    request_class->gang_gpu = 0;
    for (uint32_t group = 0; request_class->by_memory && group < request->group_count; group++)
        request_class->gang_gpu +=
            request_class->gang_tasks[group] * gpus_of(s, &request->group[group], false);
}

bool gang__request_class_refresh(gang_sched *s, struct gang__request_class *request_class)
{
    const gang_request *request = request_class->request;
    if (request_class->config_of == s->config_count)
        return true;
    for (uint32_t i = 0; i < request_class->partition_count; i++)
        if (!gang__request_class_refresh(s, request_class->partition[i]))
            return false;
    request_class->take_count = 0;
    for (uint32_t group = 0; group < request->group_count; group++)
        if (!take_of_group(s, request_class, group))
            return false;
    set_gang_tasks(request_class);
    if (request_class->exact)
        set_exact_take(s, request_class);
    else
        gang__choices_refresh(s, request_class);
    request_class->config_of = s->config_count;
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static struct gang__request_class *find(gang_sched *s, const struct gang__request_text *text)
{
    struct gang__hash_link *n = gang__hash_first(&s->classes, text->hash);
    for (; n; n = n->next) {
        struct gang__request_class *request_class = GANG__OF(struct gang__request_class, link, n);
        if (request_class->text == text ||
            (n->hash == text->hash && request_class->text->bytes == text->bytes &&
             memcmp(request_class->text->key, text->key, text->bytes) == 0))
            return request_class;
    }
    return NULL;
}

/* A class without amounts, in one block. A class of one group has no choices. */
static struct gang__request_class *new_class(const gang_sched *s, size_t groups)
{
    size_t takes = groups > 1 ? 3 : 1, counts = groups > 1 ? 2 : 1;
    struct gang__request_class *class = gang__zalloc(
        &s->mem, 1,
        sizeof(*class) + groups * (sizeof(*class->group) + counts * sizeof(*class->gang_tasks)) +
            takes * GANG__DIMS * sizeof(*class->gang_take));
    if (!class)
        return NULL;
    class->gang_take = (struct gang__take *)(void *)(class + 1);
    class->gang_tasks = (int64_t *)(void *)(class->gang_take + takes * GANG__DIMS);
    class->group = (struct gang__span *)(void *)(class->gang_tasks + counts * groups);
    if (groups > 1) {
        class->most_take = class->gang_take + GANG__DIMS;
        class->choice.take = class->most_take + GANG__DIMS;
        class->choice.tasks = class->gang_tasks + groups;
    }
    return class;
}

/* The classes of the partitions that the text names. False: out of memory; those made so far are
 * in the class. */
static bool ref_partitions(gang_sched *s, struct gang__request_class *class,
                           const struct gang__request_text *text)
{
    if (text->partition_count == 0)
        return true;
    class->partition = gang__zalloc(&s->mem, text->partition_count, sizeof(*class->partition));
    if (!class->partition)
        return false;
    for (uint32_t i = 0; i < text->partition_count; i++) {
        struct gang__request_text *of = gang__request_text_ref(text->partition[i]);
        struct gang__request_class *made = gang__request_class_ref(s, of);
        if (!made) {
            gang__request_text_unref(&s->mem, of);
            return false;
        }
        class->partition[class->partition_count++] = made;
    }
    return true;
}

static void unref_partitions(gang_sched *s, struct gang__request_class *class)
{
    while (class->partition_count > 0)
        gang__request_class_unref(s, class->partition[--class->partition_count]);
    gang__release(&s->mem, class->partition);
}

struct gang__request_class *gang__request_class_ref(gang_sched *s, struct gang__request_text *text)
{
    struct gang__request_class *request_class = find(s, text);
    if (request_class) {
        if (!gang__request_class_refresh(s, request_class)) /* old if no gang counts by it */
            return NULL;
        request_class->refs++;
        gang__request_text_unref(&s->mem, text);
        return request_class;
    }
    request_class = new_class(s, text->request->group_count);
    if (!request_class)
        return NULL;
    request_class->request = text->request;
    for (size_t group = 0; group < text->request->group_count; group++)
        request_class->by_memory =
            request_class->by_memory || is_by_memory(&text->request->group[group]);
    if (!ref_partitions(s, request_class, text) ||
        (request_class->by_memory && !gang__gpu_memory_begin(s)) ||
        !gang__request_class_refresh(s, request_class) ||
        gang__hash_reserve(&s->classes, &s->mem) != GANG_OK) {
        unref_partitions(s, request_class);
        gang__release(&s->mem, request_class->take);
        gang__release(&s->mem, request_class);
        return NULL;
    }
    request_class->text = text;
    request_class->refs = 1;
    s->usage.by_memory += request_class->by_memory;
    s->usage.partitioned += request_class->partition_count > 0;
    gang__hash_insert(&s->classes, &request_class->link, text->hash);
    return request_class;
}

void gang__request_class_unref(gang_sched *s, struct gang__request_class *request_class)
{
    if (--request_class->refs > 0)
        return;
    gang__hash_remove(&s->classes, &request_class->link);
    s->usage.by_memory -= request_class->by_memory;
    s->usage.partitioned -= request_class->partition_count > 0;
    unref_partitions(s, request_class);
    gang__request_text_unref(&s->mem, request_class->text);
    gang__release(&s->mem, request_class->take);
    gang__release(&s->mem, request_class);
}
