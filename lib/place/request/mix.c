/* SPDX-License-Identifier: Apache-2.0 */
#include "place/request/mix.h"

#include <string.h>

#include "base/error.h"
#include "base/hash_table.h"
#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/request/compiled.h"
#include "place/request/shared.h"

/* ---- shapes -------------------------------------------------------------------------------- */

static struct gang__shape_demand shape_of(const struct gang__group *g)
{
    return (struct gang__shape_demand){.weight = (uint64_t)g->count,
                                       .cpu = g->cpu,
                                       .pages = g->pages,
                                       .devices = g->devices,
                                       .share = g->share,
                                       .slices = g->profile != NULL,
                                       .gpu_memory = g->gpu_memory,
                                       .models = g->models,
                                       .model_count = g->model_count};
}

static uint64_t hash_of(const struct gang__shape_demand *a)
{
    uint64_t h = GANG__HASH_SEED;
    h = gang__hash(h, &a->cpu, sizeof(a->cpu));
    h = gang__hash(h, &a->pages, sizeof(a->pages));
    h = gang__hash(h, &a->devices, sizeof(a->devices));
    h = gang__hash(h, &a->share, sizeof(a->share));
    h = gang__hash(h, &a->gpu_memory, sizeof(a->gpu_memory));
    for (size_t i = 0; i < a->model_count; i++)
        h = gang__hash(h, a->models[i], strlen(a->models[i]) + 1);
    return h;
}

static bool is_same(const struct gang__shape_demand *a, const struct gang__shape_demand *b)
{
    if (a->cpu != b->cpu || a->pages != b->pages || a->slices != b->slices ||
        a->devices != b->devices || a->share != b->share || a->gpu_memory != b->gpu_memory ||
        a->model_count != b->model_count)
        return false;
    for (size_t i = 0; i < a->model_count; i++)
        if (strcmp(a->models[i], b->models[i]) != 0)
            return false;
    return true;
}

/* Bytes of the models' names and of the pointers to them. */
static size_t models_size(const struct gang__shape_demand *a)
{
    size_t bytes = a->model_count * sizeof(char *);
    for (size_t i = 0; i < a->model_count; i++)
        bytes += strlen(a->models[i]) + 1;
    return (bytes + sizeof(char *) - 1) / sizeof(char *) * sizeof(char *);
}

/* Move the models to memory of their own. Returns its end. */
static void *models_copy(struct gang__shape_demand *a, void *memory)
{
    const char **list = memory;
    char *text = (char *)(list + a->model_count);
    size_t bytes = models_size(a);
    for (size_t i = 0; i < a->model_count; i++) {
        size_t length = strlen(a->models[i]) + 1;
        list[i] = memcpy(text, a->models[i], length);
        text += length;
    }
    a->models = list;
    return (char *)memory + bytes;
}

/* ---- learned ------------------------------------------------------------------------------- */

static struct gang__observed *seen_new(const struct gang_mem *mem,
                                       const struct gang__shape_demand *shape)
{
    struct gang__observed *s = gang__zalloc(mem, 1, sizeof(*s) + models_size(shape));
    if (!s)
        return NULL;
    s->shape = *shape;
    models_copy(&s->shape, s + 1);
    return s;
}

/* The entry of a shape, made if need be; NULL: the table is full, or (*failed) out of memory. */
static struct gang__observed *seen_get(gang_cluster *c, struct gang__mixes *m,
                                       const struct gang__shape_demand *shape, bool *failed)
{
    uint64_t at = hash_of(shape);
    for (unsigned i = 0; i < GANG__MIX_LEARNED; i++, at++) {
        _Atomic(struct gang__observed *) *entry = &m->seen[at % GANG__MIX_LEARNED];
        struct gang__observed *s = gang__load(entry);
        if (!s) {
            struct gang__observed *fresh = seen_new(&c->mem, shape);
            *failed = !fresh;
            if (!fresh || gang__publish(entry, &s, fresh))
                return fresh;
            gang__release(&c->mem,
                          fresh); /* another thread came first, possibly with the same shape */
        }
        if (is_same(&s->shape, shape))
            return s;
    }
    return NULL;
}

bool gang__mix_learn(gang_cluster *c, const gang_request *request)
{
    struct gang__shared *shared = gang__shared_of(c);
    if (!shared)
        return false;
    struct gang__mixes *m = &shared->mixes;
    /* All entries first, so that nothing is counted if there is no memory. */
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < request->group_count; i++) {
            bool failed = false;
            struct gang__shape_demand shape = shape_of(&request->group[i]);
            struct gang__observed *s = seen_get(c, m, &shape, &failed);
            if (failed)
                return false;
            if (!s || round == 0)
                continue;
            gang__add_relaxed(&s->tasks, shape.weight);
            gang__add_relaxed(&m->learned, shape.weight);
        }
    }
    return true;
}

bool gang__mix_learned(gang_cluster *c, struct gang__mixes *m, struct gang__shape_demand **own,
                       size_t *cap, size_t *count)
{
    if (!gang__grow(&c->mem, (void **)own, cap, GANG__MIX_LEARNED, sizeof(**own)))
        return false;
    *count = 0;
    for (unsigned i = 0; i < GANG__MIX_LEARNED; i++) {
        const struct gang__observed *s = gang__load(&m->seen[i]);
        if (!s)
            continue;
        (*own)[*count] = s->shape;
        (*own)[(*count)++].weight = gang__load_relaxed(&s->tasks);
    }
    return true;
}

bool gang__mix_own_copy(gang_cluster *c, const struct gang__shape_demand *from, size_t count,
                        struct gang__shape_demand **own, size_t *cap)
{
    struct gang__mixes *m = &gang__shared_at(c)->mixes;
    bool failed = !gang__grow(&c->mem, (void **)own, cap, GANG__MIX_LEARNED, sizeof(**own));
    for (size_t i = 0; i < count && !failed; i++) {
        const struct gang__observed *s = seen_get(c, m, &from[i], &failed);
        if (!s)
            return false;
        (*own)[i] = s->shape;
        (*own)[i].weight = from[i].weight;
    }
    return !failed;
}

/* ---- declared ------------------------------------------------------------------------------ */

static struct gang__mix *mix_copy(const struct gang_mem *mem, const struct gang__mix *from)
{
    size_t bytes = sizeof(*from) + from->count * sizeof(from->shape[0]);
    for (size_t i = 0; i < from->count; i++)
        bytes += models_size(&from->shape[i]);
    struct gang__mix *mix = gang__zalloc(mem, 1, bytes);
    if (!mix)
        return NULL;
    mix->version = from->version;
    mix->count = from->count;
    void *end = &mix->shape[mix->count];
    for (size_t i = 0; i < mix->count; i++) {
        mix->shape[i] = from->shape[i];
        end = models_copy(&mix->shape[i], end);
    }
    return mix;
}

bool gang__mixes_copy(gang_cluster *to, gang_cluster *from)
{
    struct gang__shared *theirs = gang__shared_at(from), *ours = gang__shared_of(to);
    if (!ours)
        return false;
    if (!theirs)
        return true;
    for (unsigned i = 0; i < GANG__MIX_LEARNED; i++) {
        const struct gang__observed *seen = gang__load(&theirs->mixes.seen[i]);
        struct gang__observed *copy = seen ? seen_new(&to->mem, &seen->shape) : NULL;
        if (seen && !copy)
            return false;
        if (copy)
            gang__store(&copy->tasks, gang__load(&seen->tasks));
        gang__store(&ours->mixes.seen[i], copy);
    }
    gang__store(&ours->mixes.learned, gang__load(&theirs->mixes.learned));
    ours->mixes.versions = theirs->mixes.versions;
    gang__rcu_enter();
    const struct gang__mix *declared = gang__load(&theirs->mixes.declared);
    struct gang__mix *copy = declared ? mix_copy(&to->mem, declared) : NULL;
    gang__store(&ours->mixes.declared, copy);
    gang__rcu_leave();
    return !declared || copy;
}

static struct gang__mix *mix_new(const struct gang_mem *mem, const gang_request *request)
{
    size_t bytes =
        sizeof(struct gang__mix) + request->group_count * sizeof(struct gang__shape_demand);
    for (uint32_t i = 0; i < request->group_count; i++) {
        struct gang__shape_demand shape = shape_of(&request->group[i]);
        bytes += models_size(&shape);
    }
    struct gang__mix *mix = gang__zalloc(mem, 1, bytes);
    if (!mix)
        return NULL;
    mix->count = request->group_count;
    void *end = &mix->shape[mix->count];
    for (uint32_t i = 0; i < request->group_count; i++) {
        mix->shape[i] = shape_of(&request->group[i]);
        end = models_copy(&mix->shape[i], end);
    }
    return mix;
}

static void publish(gang_cluster *c, struct gang__mixes *m, struct gang__mix *mix)
{
    gang__structure_lock(c);
    if (mix)
        mix->version = ++m->versions;
    struct gang__mix *old = gang__load(&m->declared);
    gang__store(&m->declared, mix);
    if (old)
        gang__retire(c, &old->spent);
    gang__reclaim_some(c);
    gang__structure_unlock(c);
}

gang_result gang_mix_set(gang_worker *worker, const struct gang_group_spec *shapes,
                         size_t shape_size, size_t count, struct gang_error *error)
{
    if (!worker)
        return gang__error(error, GANG_EINVAL, NULL, "no worker");
    gang_cluster *c = worker->cluster;
    struct gang__shared *shared = gang__shared_of(c);
    if (!shared)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    struct gang__mix *mix = NULL;
    if (count) {
        gang_request *request;
        gang_result r = gang__shapes_compile(c, shapes, shape_size, count, &request, error);
        if (r != GANG_OK)
            return r;
        mix = mix_new(&c->mem, request);
        gang_request_free(request);
        if (!mix)
            return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    publish(c, &shared->mixes, mix);
    return GANG_OK;
}

void gang__mixes_free(struct gang__mixes *m, const struct gang_mem *mem)
{
    gang__release(mem, gang__load(&m->declared));
    for (unsigned i = 0; i < GANG__MIX_LEARNED; i++)
        gang__release(mem, gang__load(&m->seen[i]));
}
