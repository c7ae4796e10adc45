/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, names and small members of scenarios. */
#include "scenario/scenario_priv.h"

#include <stdlib.h>
#include <string.h>

const struct gang__json_limits gang__scenario_limits = {GANG_JSON_MAX_BYTES, GANG_JSON_MAX_DEPTH,
                                                        1 << 24};

const char *const gang__scope_words[2] = {"node", "cluster"};
const char *const gang__link_words[3] = {"nvlink", "xgmi", "other"};
const char *const gang__state_words[3] = {"up", "draining", "down"};
const char *const gang__op_words[8] = {"in", "not_in", "exists", "not_exists",
                                       "lt", "le",     "gt",     "ge"};
const char *const gang__numa_words[3] = {"prefer", "none", "strict"};
const char *const gang__gpu_nodes_words[3] = {"avoid", "allow", "exclude"};
const char *const gang__mode_words[3] = {"shared", "exclusive", "lending"};
const char *const gang__within_words[3] = {"never", "lower", "lower-or-newer"};
const char *const gang__reclaim_words[3] = {"never", "lower", "any"};
const int32_t gang__reclaim_numbers[3] = {GANG_PREEMPT_NEVER, GANG_PREEMPT_LOWER, GANG_PREEMPT_ANY};

const char *const gang__when_words[3] = {"start", "end", "success"};
const char *const gang__role_words[5] = {"member", "chief", "critical", "untracked", "sidecar"};
const char *const gang__match_words[5] = {"all", "user", "group", "name", "label"};
const char *const gang__fallback_words[3] = {"skip", "reject", "default"};

/* ---- arena ----------------------------------------------------------------------------- */

struct gang__arena_chunk {
    struct gang__arena_chunk *next;
    size_t used;
    size_t room;
    size_t reserved0; /* keeps `data` aligned for any type */
    unsigned char data[];
};

enum { ALIGN = _Alignof(max_align_t), CHUNK_FIRST = 4096, CHUNK_MOST = 1 << 20 };
_Static_assert(offsetof(struct gang__arena_chunk, data) % ALIGN == 0, "data must be aligned");

void *gang__arena_get(struct gang__arena *arena, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / 2 / bytes)
        return NULL;
    size_t need = (count * bytes + ALIGN - 1) / ALIGN * ALIGN;
    struct gang__arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->room - chunk->used < need) {
        size_t room = chunk ? chunk->room * 2 : CHUNK_FIRST;
        if (room > CHUNK_MOST)
            room = CHUNK_MOST;
        if (room < need)
            room = need;
        struct gang__arena_chunk *more = gang__alloc(arena->mem, sizeof(*more) + room);
        if (!more)
            return NULL;
        *more = (struct gang__arena_chunk){chunk, 0, room, 0};
        arena->chunks = chunk = more;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += need;
    memset(memory, 0, need);
    return memory;
}

void gang__arena_free(struct gang__arena *arena)
{
    while (arena->chunks) {
        struct gang__arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        gang__release(arena->mem, chunk);
    }
}

/* ---- names ----------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const struct gang__named_entry *left = a;
    const struct gang__named_entry *right = b;
    int order = strcmp(left->text, right->text);
    if (order == 0)
        order = left->index < right->index ? -1 : left->index > right->index;
    return order;
}

bool gang__lookup_build(struct gang__lookup *names, struct gang__arena *arena,
                        const char *const *first, size_t stride, size_t count, size_t *twice)
{
    *twice = SIZE_MAX;
    *names = (struct gang__lookup){NULL, 0};
    if (count == 0)
        return true;
    names->list = gang__arena_get(arena, count, sizeof(*names->list));
    if (!names->list)
        return false;
    names->count = count;
    for (size_t i = 0; i < count; i++) {
        const char *text;
        memcpy(&text, (const char *)first + i * stride, sizeof(text));
        names->list[i] = (struct gang__named_entry){text, i};
    }
    /* Sorting, not hashing: no input makes it slow. */
    qsort(names->list, count, sizeof(*names->list), compare_names);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names->list[i - 1].text, names->list[i].text) == 0 &&
            names->list[i].index < *twice)
            *twice = names->list[i].index;
    return true;
}

bool gang__lookup_find(const struct gang__lookup *names, const char *text, size_t *index)
{
    size_t low = 0;
    size_t high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(text, names->list[middle].text);
        if (order == 0) {
            *index = names->list[middle].index;
            return true;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

/* ---- members --------------------------------------------------------------------------- */

void *gang__take(struct gang__reader *r, const struct gang__json *at, size_t count, size_t bytes)
{
    void *memory = gang__arena_get(r->keep, count, bytes);
    if (!memory)
        gang__json_fail(at, GANG_ENOMEM, "out of memory");
    return memory;
}

gang_result gang__take_copy(struct gang__reader *r, const struct gang__json *at, const char *text,
                            const char **out)
{
    size_t bytes = strlen(text) + 1;
    char *copy = NULL;
    GANG__TAKE(copy, r, at, bytes);
    memcpy(copy, text, bytes);
    *out = copy;
    return GANG_OK;
}

gang_result gang__take_name(struct gang__reader *r, const struct gang__json *at, const char **out)
{
    const char *text;
    GANG__TRY(gang__json_name(at, 1, GANG_MAX_NAME, &text));
    return gang__take_copy(r, at, text, out);
}

gang_result gang__take_name_of(struct gang__reader *r, const struct gang__json *object,
                               const char *key, const char **out)
{
    struct gang__json at;
    return gang__json_get(object, key, &at) ? gang__take_name(r, &at, out) : GANG_OK;
}

gang_result gang__take_labels(struct gang__reader *r, const struct gang__json *object, size_t most,
                              const struct gang_label **out, size_t *count)
{
    struct gang__json at;
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    struct gang_label *list;
    if (!gang__json_get(object, "labels", &at))
        return GANG_OK;
    GANG__TRY(gang__json_map(&at, most));
    size_t total = json_object_size(at.value);
    GANG__TAKE(list, r, &at, total);
    for (size_t i = 0; i < total && gang__json_next(&at, &member); i++) {
        const char *value;
        GANG__TRY(gang__json_key(&member, GANG_MAX_NAME));
        GANG__TRY(gang__json_name(&member, 0, GANG_MAX_NAME, &value));
        GANG__TRY(gang__take_copy(r, &member, member.key, &list[i].key));
        GANG__TRY(gang__take_copy(r, &member, value, &list[i].value));
    }
    *out = list;
    *count = total;
    return GANG_OK;
}

gang_result gang__take_names(struct gang__reader *r, const struct gang__json *at, size_t most,
                             const char *const **out, size_t *count)
{
    size_t total;
    size_t twice;
    struct gang__lookup names;
    const char **list = NULL;
    GANG__TRY(gang__json_array(at, most, &total));
    GANG__TAKE(list, r, at, total);
    for (size_t i = 0; i < total; i++) {
        struct gang__json element = gang__json_element(at, i);
        GANG__TRY(gang__take_name(r, &element, &list[i]));
    }
    if (!gang__lookup_build(&names, &r->scratch, list, sizeof(*list), total, &twice))
        return gang__json_fail(at, GANG_ENOMEM, "out of memory");
    if (twice != SIZE_MAX) {
        struct gang__json element = gang__json_element(at, twice);
        return gang__json_fail(&element, GANG_EEXIST, "'%s' is there twice",
                               gang__word(list[twice]).s);
    }
    *out = list;
    *count = total;
    return GANG_OK;
}

/* From wide to narrow, those of GPUs last. */
static const char *const built_in_levels[GANG__LEVELS_ALL] = {
    GANG_LEVEL_NODE, GANG_LEVEL_PACKAGE, GANG_LEVEL_NUMA, GANG_LEVEL_PCIE, GANG_LEVEL_ISLAND};
enum { FIRST_OF_GPUS = 3 };

bool gang__level_needs_gpus(const char *level)
{
    for (size_t i = FIRST_OF_GPUS; i < GANG__LEVELS_ALL; i++)
        if (level == built_in_levels[i])
            return true;
    return false;
}

gang_result gang__take_level(struct gang__reader *r, const struct gang__json *object,
                             const char *key, size_t which, const char **out)
{
    struct gang__json at;
    const char *text;
    if (!gang__json_get_or_null(object, key, &at))
        return GANG_OK;
    GANG__TRY(gang__json_name(&at, 1, GANG_MAX_NAME, &text));
    for (size_t i = 0; i < r->out->level_count; i++) {
        if (strcmp(text, r->out->levels[i]) == 0) {
            *out = r->out->levels[i];
            return GANG_OK;
        }
    }
    for (size_t i = 0; i < GANG__LEVELS_ALL; i++) {
        if (strcmp(text, built_in_levels[i]) != 0)
            continue;
        if (i >= which && which != GANG__LEVELS_SITE)
            return gang__json_fail(&at, GANG_EINVAL, "'%s' lies below the node", text);
        if (i < which) {
            *out = built_in_levels[i];
            return GANG_OK;
        }
    }
    return gang__json_fail(&at, GANG_ENOENT, "no level '%s' in `levels`", gang__word(text).s);
}

gang_result gang__take_memory(const struct gang__json *object, const char *mib_key,
                              const char *bytes_key, int64_t most, int64_t *bytes)
{
    struct gang__json mib;
    struct gang__json exact;
    bool has_mib = gang__json_get(object, mib_key, &mib);
    if (gang__json_get(object, bytes_key, &exact)) {
        if (has_mib)
            return gang__json_fail(&exact, GANG_EINVAL, "given beside '%s'", mib_key);
        return gang__json_int(&exact, 0, most, bytes);
    }
    if (!has_mib)
        return GANG_OK;
    int64_t count = 0;
    GANG__TRY(gang__json_int(&mib, 0, most / GANG__MIB, &count));
    *bytes = count * GANG__MIB;
    return GANG_OK;
}

gang_result gang__take_amounts(struct gang__reader *r, const struct gang__json *object,
                               bool on_node, size_t more, struct gang_amount **out, size_t *count)
{
    struct gang__json at;
    bool there = gang__json_get(object, "amounts", &at);
    if (there)
        GANG__TRY(gang__json_map(&at, GANG_MAX_KINDS));
    size_t total = there ? json_object_size(at.value) : 0;
    struct gang_amount *list = NULL;
    GANG__TAKE(list, r, object, total + more);
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    for (size_t i = 0; i < total && gang__json_next(&at, &member); i++) {
        const struct gang_kind_spec *kind = gang__find_kind(r, member.key);
        if (!kind)
            return gang__json_fail(&member, GANG_ENOENT, "no such kind in `kinds`");
        if (on_node && kind->scope != GANG_SCOPE_NODE)
            return gang__json_fail(&member, GANG_EINVAL, "the kind is counted for the cluster");
        if (r->counts_tasks && strcmp(kind->name, GANG__TASKS) == 0)
            return gang__json_fail(&member, GANG_EINVAL, "given beside 'max_tasks'");
        list[i].kind = kind->name;
        GANG__TRY(gang__json_int(&member, 0, GANG_MAX_AMOUNT, &list[i].amount));
    }
    *out = list;
    *count = total;
    return GANG_OK;
}

gang_result gang__take_choice(const struct gang__json *object, const char *key,
                              const char *const *words, size_t count, int32_t *number)
{
    struct gang__json at;
    size_t index = 0;
    if (!gang__json_get(object, key, &at))
        return GANG_OK;
    GANG__TRY(gang__json_choice(&at, words, count, &index));
    *number = (int32_t)index;
    return GANG_OK;
}

gang_result gang__take_bool(const struct gang__json *object, const char *key, int32_t *flag)
{
    struct gang__json at;
    return gang__json_get(object, key, &at) ? gang__json_bool(&at, flag) : GANG_OK;
}

gang_result gang__take_int(const struct gang__json *object, const char *key, int64_t least,
                           int64_t most, int64_t *number)
{
    struct gang__json at;
    return gang__json_get(object, key, &at) ? gang__json_int(&at, least, most, number) : GANG_OK;
}

gang_result gang__take_int32(const struct gang__json *object, const char *key, int32_t least,
                             int32_t most, int32_t *number)
{
    struct gang__json at;
    return gang__json_get(object, key, &at) ? gang__json_int32(&at, least, most, number) : GANG_OK;
}

const struct gang_kind_spec *gang__find_kind(const struct gang__reader *r, const char *name)
{
    for (size_t i = 0; i < r->out->kind_count; i++)
        if (strcmp(r->kinds[i].name, name) == 0)
            return &r->kinds[i];
    return NULL;
}
