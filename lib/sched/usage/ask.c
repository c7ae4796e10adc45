/* SPDX-License-Identifier: Apache-2.0 */
/* Request classes: equal requests share one class, because a request that did not fit for one job
 * does not fit for the others. This file also computes the amounts that a request takes in each
 * dimension of the queues. */
#include <string.h>

#include "place/request/request.h"
#include "sched/record/job_record.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"

/* ---- the key: all members of a request, as bytes, which copy_request.c reads ----------------- */

static bool make_room(struct gang__key *k, size_t need)
{
    unsigned char *more = gang__alloc(k->mem, need * 2);
    if (!more)
        return false;
    memcpy(more, k->bytes, k->used);
    gang__key_free(k);
    k->bytes = more;
    k->room = need * 2;
    return true;
}

static inline void put(struct gang__key *k, const void *bytes, size_t count)
{
    if (k->failed || (k->used + count > k->room && !make_room(k, k->used + count))) {
        k->failed = true;
        return;
    }
    memcpy(k->bytes + k->used, bytes, count);
    k->used += count;
}

static void put_int(struct gang__key *k, int64_t value)
{
    put(k, &value, sizeof(value));
}

/* Puts the length first, so that no two lists of texts have the same bytes. */
static void put_text(struct gang__key *k, const char *text)
{
    int64_t length = text ? (int64_t)strlen(text) : -1;
    put_int(k, length);
    if (text)
        put(k, text, (size_t)length);
}

static void put_texts(struct gang__key *k, const char *const *texts, size_t count)
{
    put_int(k, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        put_text(k, texts[i]);
}

static void put_labels(struct gang__key *k, const struct gang_label_rule *rules, size_t count)
{
    put_int(k, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        put_text(k, rules[i].key);
        put_int(k, rules[i].op);
        put_texts(k, rules[i].values, rules[i].value_count);
    }
}

/* Most groups have no text at all: the number `any` says so. */
static void put_group(struct gang__key *k, const struct gang_group_spec *g)
{
    const char *const texts[] = {g->name,   g->partition,   g->same,          g->prefer,
                                 g->where,  g->profile,     g->subgroup_same, g->subgroup_prefer,
                                 g->spread, g->domain_level};
    bool any = false;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        any |= texts[i] != NULL;
    const int64_t numbers[] = {g->count,
                               g->min,
                               g->cpu_milli,
                               g->memory_bytes,
                               g->gpu_milli,
                               g->gpu_memory_bytes,
                               g->gpu_devices,
                               g->group_set,
                               g->numa,
                               g->near_nic,
                               g->models_ranked,
                               g->subgroup_size,
                               g->max_skew,
                               g->max_per_node,
                               g->max_per_domain,
                               g->spread_soft,
                               any};
    put(k, numbers, sizeof(numbers));
    for (size_t i = 0; any && i < sizeof(texts) / sizeof(texts[0]); i++)
        put_text(k, texts[i]);
    put_int(k, (int64_t)g->amount_count);
    for (size_t i = 0; i < g->amount_count; i++) {
        put_text(k, g->amounts[i].kind);
        put_int(k, g->amounts[i].amount);
    }
    put_labels(k, g->labels, g->label_count);
    put_texts(k, g->gpu_models, g->gpu_model_count);
}

static void put_set(struct gang__key *k, const struct gang_group_set_spec *set)
{
    put_text(k, set->name);
    put_int(k, set->parent);
    put_int(k, set->min);
    put_text(k, set->same);
    put_text(k, set->prefer);
}

static void put_rest(struct gang__key *k, const struct gang_request_spec *q)
{
    put_int(k, q->min);
    put_text(k, q->same);
    put_text(k, q->prefer);
    put_int(k, q->policy);
    put_int(k, q->gpu_nodes);
    put_int(k, q->exclusive);
    put_int(k, (int64_t)q->label_count);
    for (size_t i = 0; i < q->label_count; i++) {
        put_text(k, q->labels[i].key);
        put_text(k, q->labels[i].value);
    }
    put_int(k, (int64_t)q->affinity_count);
    for (size_t i = 0; i < q->affinity_count; i++) {
        struct gang_affinity_rule p = {NULL, NULL, NULL, 0, 0};
        memcpy(&p, (const char *)q->affinity + i * q->affinity_size,
               q->affinity_size < sizeof(p) ? q->affinity_size : sizeof(p));
        put_text(k, p.key);
        put_text(k, p.value);
        put_text(k, p.level);
        put_int(k, p.colocate);
        put_int(k, p.soft);
    }
    put_int(k, (int64_t)(uintptr_t)q->score_user);
    put(k, &q->score, sizeof(q->score));
}

/* Reads eight bytes at a time, because every submission makes a key. Each step is as short as in
 * rustc's FxHash: keys with the same hash are compared byte by byte anyway. */
static uint64_t hash_of(const void *key, size_t bytes)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    const unsigned char *at = key;
    uint64_t hash = GANG__HASH_SEED ^ bytes, word;
    size_t left = bytes;
    for (; left >= sizeof(word); left -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        hash = ((hash << 5 | hash >> 59) ^ word) * odd;
    }
    word = 0;
    memcpy(&word, at, left);
    hash = ((hash << 5 | hash >> 59) ^ word) * odd;
    return hash ^ hash >> 32;
}

/* Reads elements of the caller's size as elements of the library's size: a member that the
 * caller's headers lack is zero. */
void gang__key_make(struct gang__key *k, const struct gang_mem *mem,
                    const struct gang_request_spec *spec)
{
    k->mem = mem;
    k->bytes = k->own;
    k->used = 0;
    k->room = sizeof(k->own);
    k->failed = false;
    put_int(k, (int64_t)spec->group_count);
    for (size_t i = 0; i < spec->group_count; i++) {
        const void *at = (const char *)spec->groups + i * spec->group_size;
        struct gang_group_spec known;
        if (spec->group_size != sizeof(known)) {
            memset(&known, 0, sizeof(known));
            memcpy(&known, at, spec->group_size < sizeof(known) ? spec->group_size : sizeof(known));
            at = &known;
        }
        put_group(k, at);
    }
    put_int(k, (int64_t)spec->group_set_count);
    for (size_t i = 0; i < spec->group_set_count; i++) {
        struct gang_group_set_spec set;
        memset(&set, 0, sizeof(set));
        memcpy(&set, (const char *)spec->group_sets + i * spec->group_set_size,
               spec->group_set_size < sizeof(set) ? spec->group_set_size : sizeof(set));
        put_set(k, &set);
    }
    put_rest(k, spec);
    k->failed = k->failed || k->used > UINT32_MAX;
    k->hash = hash_of(k->bytes, k->used);
}

void gang__key_free(struct gang__key *k)
{
    if (k->bytes != k->own)
        gang__release(k->mem, k->bytes);
    k->bytes = k->own;
}

/* ---- request texts --------------------------------------------------------------------------- */

struct gang__request_text *gang__request_text_new(const struct gang__key *k, gang_request *q)
{
    struct gang__request_text *w = k->failed ? NULL : gang__alloc(k->mem, sizeof(*w) + k->used);
    if (!w)
        return NULL;
    w->q = q;
    w->hash = k->hash;
    atomic_init(&w->refs, 1);
    w->bytes = (uint32_t)k->used;
    memcpy(w->key, k->bytes, k->used);
    return w;
}

void gang__request_text_unref(const struct gang_mem *mem, struct gang__request_text *w)
{
    /* release: reads come before the decrement; acquire: the free comes after all reads */
    if (!w || atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) > 1)
        return;
    gang_request_free(w->q);
    gang__release(mem, w);
}

/* ---- amounts that a class takes -------------------------------------------------------------- */

static bool add_take(gang_sched *s, struct gang__request_class *ask, uint32_t dim, int64_t amount)
{
    if (amount == 0)
        return true;
    if (!gang__grow(&s->mem, (void **)&ask->take, &ask->take_cap, ask->take_count + 1,
                    sizeof(*ask->take)))
        return false;
    ask->take[ask->take_count++] = (struct gang__take){dim, amount};
    return true;
}

/* An amount of a kind counts in its dimension, and in that of the partition that the group
 * names. */
static bool add_amount(gang_sched *s, struct gang__request_class *ask, const struct gang__group *g,
                       int32_t kind, int64_t amount)
{
    for (uint32_t d = 0; d < s->dims; d++) {
        const struct gang__dim *dim = &s->queues->dim[d];
        if (dim->kind == kind && (!dim->partition || dim->partition == g->partition) &&
            !add_take(s, ask, d, amount))
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
                    : most   ? gang__memory_most(s, g->gpu_memory)
                             : gang__memory_least(s, g->gpu_memory);
    return (int64_t)g->devices * share * (int64_t)(g->profile ? g->width : 1);
}

static bool take_of_group(gang_sched *s, struct gang__request_class *ask, uint32_t group)
{
    const struct gang__group *g = &ask->q->group[group];
    int64_t gpu = gpus_of(s, g, true), pages = (int64_t)g->pages, cpu = (int64_t)g->cpu;
    ask->group[group].from = ask->take_count;
    bool ok = add_amount(s, ask, g, GANG_KIND_CPU, cpu) &&
              add_amount(s, ask, g, GANG_KIND_MEMORY, pages * GANG_PAGE_BYTES) &&
              add_amount(s, ask, g, GANG_KIND_GPU, gpu);
    for (size_t i = 0; ok && i < g->node_need_count; i++)
        ok = add_amount(s, ask, g, g->node_needs[i].kind, g->node_needs[i].amount);
    for (size_t i = 0; ok && i < g->pool_need_count; i++)
        ok = add_amount(s, ask, g, g->pool_needs[i].kind, g->pool_needs[i].amount);
    ask->group[group].count = ask->take_count - ask->group[group].from;
    if (group == 0 || cpu < ask->min_cpu)
        ask->min_cpu = cpu;
    if (group == 0 || pages < ask->min_pages)
        ask->min_pages = pages;
    gpu = is_by_memory(g) ? gpus_of(s, g, false) : gpu;
    if (group == 0 || gpu < ask->min_gpu)
        ask->min_gpu = gpu;
    return ok;
}

/* Computes how many tasks of each group start together. Each group gives its minimum; the first
 * groups give the rest of the request's minimum. Placing decides which groups really give it. */
static void gang_of(struct gang__request_class *ask)
{
    const gang_request *q = ask->q;
    int64_t sum = 0;
    for (uint32_t group = 0; group < q->group_count; group++)
        sum += ask->gang_tasks[group] = q->group[group].min;
    ask->exact = sum >= q->min;
    for (uint32_t group = 0; group < q->group_count && sum < q->min; group++) {
        int64_t more = q->group[group].count - ask->gang_tasks[group];
        more = more < q->min - sum ? more : q->min - sum;
        ask->gang_tasks[group] += more;
        sum += more;
    }
    /* A set with a minimum of its own is met by tasks that are not known before placing. */
    for (uint32_t i = 0; i < q->group_set_count; i++)
        ask->exact = ask->exact && q->set[i].min <= q->set[i].inside;
    ask->exact = ask->exact || q->group_count == 1;
}

bool gang__class_refresh(gang_sched *s, struct gang__request_class *ask)
{
    const gang_request *q = ask->q;
    if (ask->config_of == s->config_count)
        return true;
    ask->take_count = 0;
    for (uint32_t group = 0; group < q->group_count; group++)
        if (!take_of_group(s, ask, group))
            return false;
    gang_of(ask);
    int64_t sum[GANG__DIMS] = {0};
    for (uint32_t group = 0; group < q->group_count; group++)
        for (uint32_t i = 0; i < ask->group[group].count; i++) {
            const struct gang__take *t = &ask->take[ask->group[group].from + i];
            sum[t->dim] += t->amount * ask->gang_tasks[group];
        }
    ask->gang_gpu = 0;
    for (uint32_t group = 0; ask->by_memory && group < q->group_count; group++)
        ask->gang_gpu += ask->gang_tasks[group] * gpus_of(s, &q->group[group], false);
    ask->gang_take_count = 0;
    for (uint32_t d = 0; d < s->dims; d++)
        if (sum[d])
            ask->gang_take[ask->gang_take_count++] = (struct gang__take){d, sum[d]};
    ask->config_of = s->config_count;
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static struct gang__request_class *find(gang_sched *s, const struct gang__request_text *w)
{
    struct gang__hash_link *n = gang__hash_first(&s->classes, w->hash);
    for (; n; n = n->next) {
        struct gang__request_class *ask = GANG__OF(struct gang__request_class, link, n);
        if (ask->text == w || (n->hash == w->hash && ask->text->bytes == w->bytes &&
                               memcmp(ask->text->key, w->key, w->bytes) == 0))
            return ask;
    }
    return NULL;
}

struct gang__request_class *gang__class_ref(gang_sched *s, struct gang__request_text *w)
{
    struct gang__request_class *ask = find(s, w);
    if (ask) {
        ask->refs++;
        gang__request_text_unref(&s->mem, w);
        return ask;
    }
    size_t groups = w->q->group_count;
    ask = gang__zalloc(&s->mem, 1,
                       sizeof(*ask) + groups * (sizeof(*ask->group) + sizeof(*ask->gang_tasks)) +
                           GANG__DIMS * sizeof(*ask->gang_take));
    if (!ask)
        return NULL;
    ask->gang_take = (struct gang__take *)(void *)(ask + 1);
    ask->gang_tasks = (int64_t *)(void *)(ask->gang_take + GANG__DIMS);
    ask->group = (struct gang__span *)(void *)(ask->gang_tasks + groups);
    ask->q = w->q;
    for (size_t group = 0; group < groups; group++)
        ask->by_memory = ask->by_memory || is_by_memory(&w->q->group[group]);
    if ((ask->by_memory && !gang__memories_begin(s)) || !gang__class_refresh(s, ask) ||
        gang__hash_reserve(&s->classes, &s->mem) != GANG_OK) {
        gang__release(&s->mem, ask->take);
        gang__release(&s->mem, ask);
        return NULL;
    }
    ask->text = w;
    ask->refs = 1;
    s->usage.by_memory += ask->by_memory;
    gang__hash_insert(&s->classes, &ask->link, w->hash);
    return ask;
}

void gang__class_unref(gang_sched *s, struct gang__request_class *ask)
{
    if (--ask->refs > 0)
        return;
    gang__hash_remove(&s->classes, &ask->link);
    s->usage.by_memory -= ask->by_memory;
    gang__request_text_unref(&s->mem, ask->text);
    gang__release(&s->mem, ask->take);
    gang__release(&s->mem, ask);
}
