/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for a copy (copy.h). The request of a job is read from its request text, which is
 * complete (usage/). */
#include <string.h>

#include "base/two_pass_block.h"
#include "place/request/request.h"
#include "sched/copy/copy_in.h"
#include "sched/intake/intake.h"
#include "sched/usage/usage.h"

static gang_result compile(gang_sched *s, const struct gang__request_text *text,
                           gang_request **request)
{
    struct gang__request_spec *from = gang__request_spec_read(&s->mem, text);
    if (!from)
        return GANG_ENOMEM;
    gang_result made = gang__request_compile(s->cluster, &from->spec, request, NULL);
    gang__release(&s->mem, from);
    if (made == GANG_OK && text->request->insists)
        gang__request_insist(*request);
    if (made == GANG_OK)
        gang__request_number_like(*request, text->request);
    return made;
}

/* ---- requests without a job ------------------------------------------------------------------ */

static const char *level_name(const gang_cluster *c, int32_t level)
{
    return level >= 0 && level < (int32_t)c->nodes.level_count ? c->nodes.level_name[level]
                                                               : GANG_LEVEL_NODE;
}

/* What the tasks of a group hold; where they might go does not matter any more. */
static struct gang_group_spec held_group(struct gang__block *b, const gang_request *request,
                                         uint32_t group)
{
    const struct gang__group *from = &request->group[group];
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    g.name = from->name;
    g.count = from->count;
    g.min = from->min;
    g.cpu_milli = (int64_t)from->cpu;
    g.memory_bytes = (int64_t)from->pages * GANG_PAGE_BYTES;
    g.profile = from->profile;
    g.gpu_memory_bytes = from->gpu_memory;
    g.gpu_milli = from->share == 1000 ? 1000 * (int64_t)from->devices : (int64_t)from->share;
    g.gpu_devices = from->share == 1000 ? 0 : (int64_t)from->devices;
    g.amount_count = from->node_need_count + from->pool_need_count;
    struct gang_amount *amounts = gang__block_alloc(b, g.amount_count * sizeof(*amounts));
    for (size_t i = 0; amounts && i < g.amount_count; i++) {
        const struct gang__need *need = i < from->node_need_count
                                            ? &from->node_needs[i]
                                            : &from->pool_needs[i - from->node_need_count];
        amounts[i] =
            (struct gang_amount){request->cluster->nodes.kind[need->kind].name, need->amount};
    }
    g.amounts = amounts;
    return g;
}

/* Its labels, and its rules on others, hold while it runs. */
static struct gang_request_spec held_request(struct gang__block *b, const gang_request *request)
{
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    struct gang_group_spec *groups = gang__block_alloc(b, request->group_count * sizeof(*groups));
    struct gang_affinity_rule *affinity =
        gang__block_alloc(b, request->affinity_count * sizeof(*affinity));
    for (uint32_t i = 0; i < request->group_count; i++) {
        struct gang_group_spec g = held_group(b, request, i);
        if (groups)
            groups[i] = g;
    }
    for (uint32_t i = 0; affinity && i < request->affinity_count; i++)
        affinity[i] =
            (struct gang_affinity_rule){request->affinity[i].key, request->affinity[i].value,
                                        level_name(request->cluster, request->affinity[i].level),
                                        request->affinity[i].colocate, request->affinity[i].soft};
    spec.groups = groups;
    spec.group_count = request->group_count;
    spec.min = request->min;
    spec.policy =
        request->policy == GANG_POLICY_HOST ? (int32_t)GANG_POLICY_DEFAULT : request->policy;
    spec.gpu_nodes = request->gpu_nodes;
    spec.exclusive = request->exclusive;
    spec.labels = request->labels;
    spec.label_count = request->label_count;
    spec.affinity = affinity;
    spec.affinity_count = request->affinity_count;
    return spec;
}

static gang_result compile_held(gang_sched *s, const gang_request *from, gang_request **request)
{
    struct gang__block b = {NULL, 0};
    (void)held_request(&b, from);
    b = (struct gang__block){gang__alloc(&s->mem, b.used + 1), 0};
    if (!b.base)
        return GANG_ENOMEM;
    struct gang_request_spec spec = held_request(&b, from);
    gang_result r = gang__request_compile(s->cluster, &spec, request, NULL);
    if (r == GANG_OK)
        gang__request_number_like(*request, from);
    gang__release(&s->mem, b.base);
    return r;
}

/* ---- counterparts ---------------------------------------------------------------------------- */

struct entry {
    struct gang__hash_link link;
    const gang_request *from;
    gang_request *to;                /* a reference, unless `text` has it */
    struct gang__request_text *text; /* of a job; the same. NULL: without a job */
};

static uint64_t hash_of(const gang_request *request)
{
    return gang__hash_number(GANG__HASH_SEED, (uint64_t)(uintptr_t)request);
}

static struct entry *find(const struct gang__requests_copy *c, const gang_request *request)
{
    struct gang__hash_link *n = gang__hash_first(&c->of, hash_of(request));
    while (n && GANG__OF(struct entry, link, n)->from != request)
        n = n->next;
    return n ? GANG__OF(struct entry, link, n) : NULL;
}

static struct entry *make(struct gang__requests_copy *c, const gang_request *from)
{
    const struct gang_mem *mem = &c->to->mem;
    struct entry *e =
        gang__hash_reserve(&c->of, mem) == GANG_OK ? gang__zalloc(mem, 1, sizeof(*e)) : NULL;
    if (!e)
        return NULL;
    e->from = from;
    gang__hash_insert(&c->of, &e->link, hash_of(from));
    return e;
}

/* The same text, so that a job which asks for the same later on shares it. */
static struct gang__request_text *text_of(gang_sched *s, const struct gang__request_text *from,
                                          gang_request *request)
{
    struct gang__request_key key;
    key.mem = &s->mem;
    key.bytes = (unsigned char *)(uintptr_t)from->key; /* read alone */
    key.used = from->bytes;
    key.failed = false;
    key.hash = from->hash;
    return gang__request_text_new(&key, request);
}

struct gang__request_text *gang__request_text_copy(gang_sched *s,
                                                   const struct gang__request_text *from)
{
    gang_request *request;
    if (compile(s, from, &request) != GANG_OK)
        return NULL;
    struct gang__request_text *text = text_of(s, from, request);
    if (!text)
        gang_request_free(request);
    return text;
}

/* The texts for the partitions of a text. */
static gang_result copy_partitions(struct gang__requests_copy *c, struct gang__request_text *to,
                                   const struct gang__request_text *from)
{
    if (from->partition_count == 0)
        return GANG_OK;
    to->partition = gang__zalloc(&c->to->mem, from->partition_count, sizeof(*to->partition));
    if (!to->partition)
        return GANG_ENOMEM;
    for (uint32_t i = 0; i < from->partition_count; i++) {
        to->partition[i] = gang__requests_copy_text(c, from->partition[i]);
        if (!to->partition[i])
            return GANG_ENOMEM;
        to->partition_count++;
    }
    return GANG_OK;
}

static gang_result copy_text(struct gang__requests_copy *c, const struct gang__request_text *from)
{
    struct entry *e = make(c, from->request);
    if (!e)
        return GANG_ENOMEM;
    gang_result r = compile(c->to, from, &e->to);
    if (r != GANG_OK)
        return r;
    e->text = text_of(c->to, from, e->to);
    return e->text ? copy_partitions(c, e->text, from) : GANG_ENOMEM;
}

gang_result gang__requests_copy(struct gang__requests_copy *c, const gang_sched *from)
{
    gang_result r = GANG_OK;
    for (size_t i = 0; i < from->classes.cap && r == GANG_OK; i++)
        for (struct gang__hash_link *n = from->classes.bucket[i]; n && r == GANG_OK; n = n->next) {
            const struct gang__request_class *class = GANG__OF(struct gang__request_class, link, n);
            r = find(c, class->request) ? GANG_OK : copy_text(c, class->text);
        }
    return r;
}

gang_result gang__requests_copy_find(gang_request *from, void *ctx, gang_request **to)
{
    struct gang__requests_copy *c = ctx;
    struct entry *e = find(c, from);
    gang_result r = GANG_OK;
    if (!e) {
        e = make(c, from);
        r = e ? compile_held(c->to, from, &e->to) : GANG_ENOMEM;
    }
    *to = r == GANG_OK ? e->to : NULL;
    return r;
}

struct gang__request_text *gang__requests_copy_text(struct gang__requests_copy *c,
                                                    const struct gang__request_text *from)
{
    struct entry *e = find(c, from->request);
    if (!e && copy_text(c, from) == GANG_OK)
        e = find(c, from->request);
    struct gang__request_text *text = e ? e->text : NULL;
    return text ? gang__request_text_ref(text) : NULL;
}

struct gang__request_class *gang__requests_copy_class(struct gang__requests_copy *c,
                                                      const struct gang__request_class *from)
{
    struct gang__request_text *text = gang__requests_copy_text(c, from->text);
    if (!text)
        return NULL;
    struct gang__request_class *request_class = gang__request_class_ref(c->to, text);
    if (!request_class)
        gang__request_text_unref(&c->to->mem, text);
    return request_class;
}

void gang__requests_copy_end(struct gang__requests_copy *c)
{
    for (size_t i = 0; i < c->of.cap; i++)
        while (c->of.bucket[i]) {
            struct entry *e = GANG__OF(struct entry, link, c->of.bucket[i]);
            gang__hash_remove(&c->of, &e->link);
            if (e->text)
                gang__request_text_unref(&c->to->mem, e->text);
            else
                gang_request_free(e->to);
            gang__release(&c->to->mem, e);
        }
    gang__hash_free(&c->of, &c->to->mem);
}

/* ---- requests of late ------------------------------------------------------------------------ */

bool gang__recent_copy(struct gang__requests_copy *c, gang_sched *from)
{
    uint64_t epoch = gang__load(&c->to->cluster->nodes.epoch);
    bool ok = true;
    for (size_t i = 0; i < sizeof(from->intake.recent) / sizeof(from->intake.recent[0]) && ok;
         i++) {
        struct gang__recent *at = &from->intake.recent[i], *to = &c->to->intake.recent[i];
        if (!gang__recent_lock(at))
            continue; /* a thread is about to put another one there */
        if (at->text && at->epoch == gang__load(&from->cluster->nodes.epoch)) {
            to->text = gang__requests_copy_text(c, at->text);
            to->epoch = epoch;
            ok = to->text != NULL;
        }
        gang__store(&at->lock, 0);
    }
    return ok;
}
