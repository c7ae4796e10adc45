/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a request: all its members as bytes. Two requests are equal if their texts are.
 * request_spec.c reads the text back, in the order in which this file writes it. */
#include <string.h>

#include "place/request/request.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"

/* ---- the key: all members of a request, as bytes --------------------------------------------- */

static bool grow_key(struct gang__request_key *key, size_t need)
{
    unsigned char *more = gang__alloc(key->mem, need * 2);
    if (!more)
        return false;
    memcpy(more, key->bytes, key->used);
    gang__request_key_free(key);
    key->bytes = more;
    key->cap = need * 2;
    return true;
}

static inline void put(struct gang__request_key *key, const void *bytes, size_t count)
{
    if (key->failed || (key->used + count > key->cap && !grow_key(key, key->used + count))) {
        key->failed = true;
        return;
    }
    memcpy(key->bytes + key->used, bytes, count);
    key->used += count;
}

static void put_int(struct gang__request_key *key, int64_t value)
{
    put(key, &value, sizeof(value));
}

/* Puts the length first, so that no two lists of texts have the same bytes. */
static void put_text(struct gang__request_key *key, const char *text)
{
    int64_t length = text ? (int64_t)strlen(text) : -1;
    put_int(key, length);
    if (text)
        put(key, text, (size_t)length);
}

static void put_texts(struct gang__request_key *key, const char *const *texts, size_t count)
{
    put_int(key, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        put_text(key, texts[i]);
}

static void put_labels(struct gang__request_key *key, const struct gang_label_rule *rules,
                       size_t count)
{
    put_int(key, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        put_text(key, rules[i].key);
        put_int(key, rules[i].op);
        put_texts(key, rules[i].values, rules[i].value_count);
    }
}

/* Most groups have no text at all: the number `any` says so. */
static void put_group(struct gang__request_key *key, const struct gang_group_spec *g)
{
    const char *const texts[] = {g->name,   g->partition,   g->same,          g->prefer,
                                 g->where,  g->profile,     g->subgroup_same, g->subgroup_prefer,
                                 g->spread, g->domain_level};
    bool any = false;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        any |= texts[i] != NULL;
    const int64_t numbers[] = {g->count,          g->min,          g->cpu_milli,
                               g->memory_bytes,   g->gpu_milli,    g->gpu_memory_bytes,
                               g->gpu_devices,    g->group_set,    g->numa,
                               g->near_nic,       g->same_devices, g->models_ranked,
                               g->subgroup_size,  g->max_skew,     g->max_per_node,
                               g->max_per_domain, g->spread_soft,  any};
    put(key, numbers, sizeof(numbers));
    for (size_t i = 0; any && i < sizeof(texts) / sizeof(texts[0]); i++)
        put_text(key, texts[i]);
    if (g->amount_count + g->label_count + g->gpu_model_count == 0) { /* three empty lists */
        static const int64_t none[3];
        put(key, none, sizeof(none));
        return;
    }
    put_int(key, (int64_t)g->amount_count);
    for (size_t i = 0; i < g->amount_count; i++) {
        put_text(key, g->amounts[i].kind);
        put_int(key, g->amounts[i].amount);
    }
    put_labels(key, g->labels, g->label_count);
    put_texts(key, g->gpu_models, g->gpu_model_count);
}

static void put_set(struct gang__request_key *key, const struct gang_group_set_spec *set)
{
    put_text(key, set->name);
    put_int(key, set->parent);
    put_int(key, set->min);
    put_text(key, set->same);
    put_text(key, set->prefer);
}

static void put_rest(struct gang__request_key *key, const struct gang_request_spec *q)
{
    const int64_t numbers[] = {q->policy, q->gpu_nodes, q->exclusive, (int64_t)q->label_count};
    put_int(key, q->min);
    put_text(key, q->same);
    put_text(key, q->prefer);
    put(key, numbers, sizeof(numbers));
    for (size_t i = 0; i < q->label_count; i++) {
        put_text(key, q->labels[i].key);
        put_text(key, q->labels[i].value);
    }
    put_int(key, (int64_t)q->affinity_count);
    for (size_t i = 0; i < q->affinity_count; i++) {
        struct gang_affinity_rule p = {NULL, NULL, NULL, 0, 0};
        memcpy(&p, (const char *)q->affinity + i * q->affinity_size,
               q->affinity_size < sizeof(p) ? q->affinity_size : sizeof(p));
        put_text(key, p.key);
        put_text(key, p.value);
        put_text(key, p.level);
        put_int(key, p.colocate);
        put_int(key, p.soft);
    }
    put_int(key, (int64_t)(uintptr_t)q->score_user);
    put(key, &q->score, sizeof(q->score));
}

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
    return ((hash << 5 | hash >> 59) ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Reads eight bytes at a time, because every submission makes a key, and mixes them into four
 * hashes in turn: a processor multiplies for these at the same time. Each step is as short as in
 * rustc's FxHash: keys with the same hash are compared byte by byte anyway. */
static uint64_t hash_of(const void *key, size_t bytes)
{
    enum { LANES = 4 };
    const unsigned char *at = key;
    uint64_t lane[LANES] = {GANG__HASH_SEED ^ bytes, 1, 2, 3}, word[LANES];
    size_t left = bytes;
    for (; left >= sizeof(word); left -= sizeof(word), at += sizeof(word)) {
        memcpy(word, at, sizeof(word));
        for (int i = 0; i < LANES; i++)
            lane[i] = mix(lane[i], word[i]);
    }
    memset(word, 0, sizeof(word));
    memcpy(word, at, left);
    uint64_t hash = lane[0];
    for (int i = 1; i < LANES; i++)
        hash = mix(hash, lane[i]);
    for (int i = 0; i < LANES; i++)
        hash = mix(hash, word[i]);
    return hash ^ hash >> 32;
}

/* Reads elements of the caller's size as elements of the library's size: a member that the
 * caller's headers lack is zero. */
void gang__request_key_make(struct gang__request_key *key, const struct gang_mem *mem,
                            const struct gang_request_spec *spec, bool insists)
{
    key->mem = mem;
    key->bytes = key->own;
    key->used = 0;
    key->cap = sizeof(key->own);
    key->failed = false;
    put_int(key, (int64_t)spec->group_count);
    for (size_t i = 0; i < spec->group_count; i++) {
        const void *at = (const char *)spec->groups + i * spec->group_size;
        struct gang_group_spec known;
        if (spec->group_size != sizeof(known)) {
            memset(&known, 0, sizeof(known));
            memcpy(&known, at, spec->group_size < sizeof(known) ? spec->group_size : sizeof(known));
            at = &known;
        }
        put_group(key, at);
    }
    put_int(key, (int64_t)spec->group_set_count);
    for (size_t i = 0; i < spec->group_set_count; i++) {
        struct gang_group_set_spec set;
        memset(&set, 0, sizeof(set));
        memcpy(&set, (const char *)spec->group_sets + i * spec->group_set_size,
               spec->group_set_size < sizeof(set) ? spec->group_set_size : sizeof(set));
        put_set(key, &set);
    }
    put_rest(key, spec);
    if (insists) /* the text is longer than any that starts like it */
        put_int(key, insists);
    key->failed = key->failed || key->used > UINT32_MAX;
    key->hash = hash_of(key->bytes, key->used);
}

void gang__request_key_add_numbers(struct gang__request_key *key, const gang_request *request)
{
    if (!request->numbered)
        return;
    put_int(key, -1); /* neither `insists` nor a number of partitions */
    for (uint32_t i = 0; i < request->group_count; i++) {
        put_int(key, request->group[i].in_job);
        put_int(key, request->group[i].first);
    }
    key->failed = key->failed || key->used > UINT32_MAX;
    key->hash = hash_of(key->bytes, key->used);
}

void gang__request_key_add_partitions(struct gang__request_key *key, const char *const *partitions,
                                      size_t count)
{
    put_texts(key, partitions, count); /* again, the text is longer than any that starts like it */
    key->failed = key->failed || key->used > UINT32_MAX;
    key->hash = hash_of(key->bytes, key->used);
}

void gang__request_key_free(struct gang__request_key *key)
{
    if (key->bytes != key->own)
        gang__release(key->mem, key->bytes);
    key->bytes = key->own;
}

/* ---- request texts --------------------------------------------------------------------------- */

struct gang__request_text *gang__request_text_new(const struct gang__request_key *key,
                                                  gang_request *request)
{
    struct gang__request_text *text =
        key->failed ? NULL : gang__alloc(key->mem, sizeof(*text) + key->used);
    if (!text)
        return NULL;
    text->request = request;
    text->partition = NULL;
    text->partition_count = 0;
    text->hash = key->hash;
    atomic_init(&text->refs, 1);
    text->bytes = (uint32_t)key->used;
    memcpy(text->key, key->bytes, key->used);
    return text;
}

struct gang__request_text *gang__request_text_partitioned(const struct gang__request_key *key,
                                                          gang_request *request,
                                                          struct gang__request_text *const *of,
                                                          size_t count)
{
    struct gang__request_text **list =
        gang__zalloc(key->mem, count, sizeof(struct gang__request_text *));
    struct gang__request_text *text = list ? gang__request_text_new(key, request) : NULL;
    if (!text) {
        gang__release(key->mem, list);
        return NULL;
    }
    memcpy(list, of, count * sizeof(struct gang__request_text *));
    text->partition = list;
    text->partition_count = (uint32_t)count;
    return text;
}

struct gang__request_text *gang__request_text_ref(struct gang__request_text *text)
{
    (void)gang__add_relaxed(&text->refs, 1);
    return text;
}

void gang__request_text_unref(const struct gang_mem *mem, struct gang__request_text *text)
{
    /* acq_rel: reads before the decrement of each thread -> the free by the last one */
    if (!text || atomic_fetch_sub_explicit(&text->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (uint32_t i = 0; i < text->partition_count; i++)
        gang__request_text_unref(mem, text->partition[i]);
    gang__release(mem, text->partition);
    gang_request_free(text->request);
    gang__release(mem, text);
}
