/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a trace: what is kept once, names of jobs, rows. */
#include <string.h>

#include "base/wide.h"
#include "trace/trace_in.h"

enum { CHUNK_FIRST = 4096, CHUNK_MAX = 1 << 20 };
_Static_assert(offsetof(struct gang__trace_chunk, data) % _Alignof(max_align_t) == 0, "aligned");

static void *chunk_alloc(gang_trace *t, size_t bytes, size_t align)
{
    struct gang__trace_chunk *chunk = t->chunks;
    size_t from = chunk ? (chunk->used + align - 1) / align * align : 0;
    if (!chunk || from > chunk->cap || chunk->cap - from < bytes) {
        size_t cap = chunk ? chunk->cap * 2 : CHUNK_FIRST;
        cap = cap > CHUNK_MAX ? CHUNK_MAX : cap;
        cap = cap < bytes ? bytes : cap;
        struct gang__trace_chunk *more = gang__alloc(&t->mem, sizeof(*more) + cap);
        if (!more)
            return NULL;
        *more = (struct gang__trace_chunk){chunk, 0, cap, 0};
        t->chunks = chunk = more;
        from = 0;
    }
    chunk->used = from + bytes;
    return chunk->data + from;
}

/* ---- words ---- */

/* A character that no name holds: C0, DEL, C1. */
static bool is_control(const unsigned char *s)
{
    return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

gang_result gang__trace_check_text(struct gang__span text)
{
    size_t step = 1;
    for (size_t i = 0; i < text.n; i += step) {
        step = 1;
        if (text.s[i] >= 0x20 && text.s[i] < 0x7f)
            continue;
        step = gang__utf8_length(text.s + i, text.n - i);
        if (step == 0 || is_control((const unsigned char *)text.s + i))
            return GANG_EINVAL;
    }
    return text.n > GANG_MAX_NAME ? GANG_ELIMIT : GANG_OK;
}

gang_result gang__trace_word(gang_trace *t, struct gang__span text, uint32_t *word)
{
    *word = 0;
    if (text.n == 0)
        return GANG_OK;
    uint64_t hash = gang__hash(GANG__HASH_SEED, text.s, text.n);
    struct gang__hash_link *n = gang__hash_first(&t->symbol_names, hash);
    for (; n; n = n->next) {
        const struct gang__trace_symbol *have = (const struct gang__trace_symbol *)n;
        if (n->hash == hash && have->length == text.n && memcmp(have->text, text.s, text.n) == 0) {
            *word = have->number;
            return GANG_OK;
        }
    }
    GANG__TRACE_TRY(gang__trace_check_text(text));
    GANG__TRACE_TRY(gang__hash_reserve(&t->symbol_names, &t->mem));
    size_t count = t->symbol_names.count;
    void *list = t->symbols;
    if (!gang__grow(&t->mem, &list, &t->symbol_cap, count + 1, sizeof(*t->symbols)))
        return GANG_ENOMEM;
    t->symbols = list;
    struct gang__trace_symbol *symbol =
        chunk_alloc(t, sizeof(*symbol) + text.n + 1, _Alignof(struct gang__trace_symbol));
    if (!symbol)
        return GANG_ENOMEM;
    symbol->number = (uint32_t)count + 1;
    symbol->length = (uint32_t)text.n;
    memcpy(symbol->text, text.s, text.n);
    symbol->text[text.n] = '\0';
    t->symbols[count] = symbol;
    gang__hash_insert(&t->symbol_names, &symbol->link, hash);
    *word = symbol->number;
    return GANG_OK;
}

/* ---- models ---- */

static bool same_models(const struct gang__trace_models *have, const struct gang__span *models,
                        size_t count)
{
    if (have->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!gang__span_is(models[i], have->name[i]))
            return false;
    return true;
}

/* Keep a list that is not there yet. */
static gang_result add_models(gang_trace *t, const struct gang__span *models, size_t count,
                              uint64_t hash, uint32_t *number)
{
    size_t known = t->model_names.count;
    void *list = t->models;
    GANG__TRACE_TRY(gang__hash_reserve(&t->model_names, &t->mem));
    if (!gang__grow(&t->mem, &list, &t->model_cap, known + 1, sizeof(*t->models)))
        return GANG_ENOMEM;
    t->models = list;
    struct gang__trace_models *add =
        chunk_alloc(t, sizeof(*add) + count * sizeof(add->name[0]), _Alignof(max_align_t));
    if (!add)
        return GANG_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        GANG__TRACE_TRY(models[i].n ? gang__trace_word(t, models[i], &word) : GANG_EINVAL);
        add->name[i] = gang__trace_text(t, word);
    }
    *number = add->number = (uint32_t)known + 1;
    add->count = (uint32_t)count;
    t->models[known] = add;
    gang__hash_insert(&t->model_names, &add->link, hash);
    return GANG_OK;
}

gang_result gang__trace_models_add(gang_trace *t, const struct gang__span *models, size_t count,
                                   uint32_t *number)
{
    *number = 0;
    if (count == 0)
        return GANG_OK;
    uint64_t hash = GANG__HASH_SEED;
    for (size_t i = 0; i < count; i++)
        hash = gang__hash_number(gang__hash(hash, models[i].s, models[i].n), models[i].n);
    for (struct gang__hash_link *n = gang__hash_first(&t->model_names, hash); n; n = n->next) {
        const struct gang__trace_models *have = (const struct gang__trace_models *)n;
        if (n->hash == hash && same_models(have, models, count)) {
            *number = have->number;
            return GANG_OK;
        }
    }
    return add_models(t, models, count, hash, number);
}

/* ---- mixes ---- */

static uint64_t hash_groups(const struct gang__trace_group *groups, size_t count)
{
    uint64_t hash = GANG__HASH_SEED;
    for (size_t i = 0; i < count; i++) {
        const struct gang__trace_group *g = &groups[i];
        hash = gang__hash_number(hash, (uint64_t)g->name << 32 | g->models);
        hash = gang__hash_number(hash ^ hash >> 29, (uint64_t)g->count);
        hash = gang__hash_number(hash ^ hash >> 29, (uint64_t)g->min);
        hash = gang__hash_number(hash ^ hash >> 29, (uint64_t)g->cpu_milli);
        hash = gang__hash_number(hash ^ hash >> 29, (uint64_t)g->memory_bytes);
        hash = gang__hash_number(hash ^ hash >> 29,
                                 (uint64_t)g->gpu_milli * 64 + (uint64_t)g->gpu_devices);
        hash = g->partition ? gang__hash_number(hash ^ hash >> 29, g->partition) : hash;
    }
    return hash ^ hash >> 32;
}

/* Sums of a job; false: more than a number tells. */
static bool sum_groups(struct gang__trace_mix *mix)
{
    gang__u128 tasks = 0, cpu = 0, memory = 0, gpu = 0;
    for (uint32_t i = 0; i < mix->count; i++) {
        const struct gang__trace_group *g = &mix->group[i];
        gang__u128 count = gang__wide(g->count);
        tasks += count;
        cpu += count * gang__wide(g->cpu_milli);
        memory += count * gang__wide(g->memory_bytes);
        gpu += count * gang__wide(g->gpu_milli) * gang__wide(g->gpu_devices ? g->gpu_devices : 1);
    }
    if (cpu > INT64_MAX || memory > INT64_MAX)
        return false; /* tasks and GPUs are few enough for any number of groups */
    mix->tasks = (int64_t)tasks;
    mix->cpu_milli = (int64_t)cpu;
    mix->memory_bytes = (int64_t)memory;
    mix->gpu_milli = (int64_t)gpu;
    return true;
}

gang_result gang__trace_mix_add(gang_trace *t, const struct gang__trace_group *groups, size_t count,
                                uint32_t *number)
{
    size_t bytes = count * sizeof(*groups);
    uint64_t hash = hash_groups(groups, count);
    for (struct gang__hash_link *n = gang__hash_first(&t->mix_names, hash); n; n = n->next) {
        const struct gang__trace_mix *have = (const struct gang__trace_mix *)n;
        if (n->hash == hash && have->count == count && memcmp(have->group, groups, bytes) == 0) {
            *number = have->number;
            return GANG_OK;
        }
    }
    size_t known = t->mix_names.count;
    void *list = t->mixes;
    GANG__TRACE_TRY(gang__hash_reserve(&t->mix_names, &t->mem));
    if (!gang__grow(&t->mem, &list, &t->mix_cap, known + 1, sizeof(*t->mixes)))
        return GANG_ENOMEM;
    t->mixes = list;
    struct gang__trace_mix *mix =
        chunk_alloc(t, sizeof(*mix) + bytes, _Alignof(struct gang__trace_mix));
    if (!mix)
        return GANG_ENOMEM;
    mix->number = (uint32_t)known;
    mix->count = (uint32_t)count;
    memcpy(mix->group, groups, bytes);
    if (!sum_groups(mix))
        return GANG_ERANGE;
    t->mixes[known] = mix;
    gang__hash_insert(&t->mix_names, &mix->link, hash);
    *number = mix->number;
    return GANG_OK;
}

/* ---- names of jobs ---- */

static uint32_t hash_name(struct gang__span name)
{
    uint64_t hash = gang__hash(GANG__HASH_SEED, name.s, name.n);
    return (uint32_t)(hash ^ hash >> 32);
}

bool gang__trace_name_find(const gang_trace *t, struct gang__span name, size_t *index)
{
    if (!t->slots_cap)
        return false;
    uint32_t hash = hash_name(name);
    for (size_t i = hash & (t->slots_cap - 1); t->slots[i]; i = (i + 1) & (t->slots_cap - 1)) {
        if (t->slots[i] >> 32 != hash)
            continue;
        size_t at = (size_t)(t->slots[i] & UINT32_MAX) - 1;
        if (gang__span_is(name, gang__trace_row(t, at)->name)) {
            *index = at;
            return true;
        }
    }
    return false;
}

static void slot_insert(uint64_t *slots, size_t cap, uint64_t slot)
{
    size_t i = (size_t)(slot >> 32) & (cap - 1);
    while (slots[i])
        i = (i + 1) & (cap - 1);
    slots[i] = slot;
}

/* At most two of three slots are taken. */
static gang_result reserve_slot(gang_trace *t)
{
    if (t->count + 1 <= t->slots_cap / 3 * 2)
        return GANG_OK;
    size_t cap = t->slots_cap ? t->slots_cap * 2 : 16;
    uint64_t *slots = gang__zalloc(&t->mem, cap, sizeof(*slots));
    if (!slots)
        return GANG_ENOMEM;
    for (size_t i = 0; i < t->slots_cap; i++)
        if (t->slots[i])
            slot_insert(slots, cap, t->slots[i]);
    gang__release(&t->mem, t->slots);
    t->slots = slots;
    t->slots_cap = cap;
    return GANG_OK;
}

/* ---- rows ---- */

static gang_result reserve_row(gang_trace *t)
{
    if (t->count % GANG__TRACE_ROWS)
        return GANG_OK;
    size_t block = t->count / GANG__TRACE_ROWS;
    size_t cap = t->rows_cap;
    void *rows = t->rows;
    if (!gang__grow(&t->mem, &rows, &t->rows_cap, block + 1, sizeof(*t->rows)))
        return GANG_ENOMEM;
    t->rows = rows;
    if (cap != t->rows_cap) /* blocks that are not there yet are NULL */
        memset(t->rows + cap, 0, (t->rows_cap - cap) * sizeof(*t->rows));
    if (!t->rows[block])
        t->rows[block] = gang__alloc(&t->mem, GANG__TRACE_ROWS * sizeof(**t->rows));
    return t->rows[block] ? GANG_OK : GANG_ENOMEM;
}

gang_result gang__trace_reserve(gang_trace *t, struct gang__span name, size_t groups,
                                const char **kept)
{
    GANG__TRACE_TRY(reserve_row(t));
    GANG__TRACE_TRY(reserve_slot(t));
    if (!gang__grow(&t->mem, &t->scratch, &t->scratch_cap, groups, sizeof(struct gang_group_spec)))
        return GANG_ENOMEM;
    char *text = chunk_alloc(t, name.n + 1, 1);
    if (!text)
        return GANG_ENOMEM;
    memcpy(text, name.s, name.n);
    text[name.n] = '\0';
    *kept = text;
    return GANG_OK;
}

void gang__trace_append(gang_trace *t, const struct gang__trace_row *row)
{
    uint64_t hash = hash_name(gang__span_of(row->name));
    *gang__trace_row(t, t->count) = *row;
    t->count++;
    slot_insert(t->slots, t->slots_cap, hash << 32 | t->count);
}
