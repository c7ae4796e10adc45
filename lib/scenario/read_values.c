/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values that several objects of a scenario have: names, levels, amounts, memory. */
#include "scenario/read_in.h"

#include <string.h>

void *gang__keep(struct gang__reader *r, const struct gang__json *at, size_t count, size_t bytes)
{
    void *memory = gang__arena_alloc(r->keep, count, bytes);
    if (!memory)
        gang__json_fail(at, GANG_ENOMEM, "out of memory");
    return memory;
}

gang_result gang__keep_text(struct gang__reader *r, const struct gang__json *at, const char *text,
                            const char **out)
{
    size_t bytes = strlen(text) + 1;
    char *copy = NULL;
    GANG__KEEP(copy, r, at, bytes);
    memcpy(copy, text, bytes);
    *out = copy;
    return GANG_OK;
}

gang_result gang__read_list(struct gang__reader *r, const struct gang__json *at,
                            const struct gang__list *list, const void *owner, void **elements,
                            size_t *count)
{
    size_t total;
    *elements = NULL;
    *count = 0;
    GANG__TRY(gang__json_array(at, list->max, &total));
    char *memory = gang__keep(r, at, total, list->size);
    if (!memory)
        return GANG_ENOMEM;
    for (size_t i = 0; i < total; i++) {
        struct gang__json element = gang__json_element(at, i);
        GANG__TRY(gang__rename_old_keys(r, &element, list->old_keys));
        if (list->keys)
            GANG__TRY(gang__json_object(&element, list->keys, list->key_count));
        GANG__TRY(list->read(r, &element, memory + i * list->size, owner));
    }
    *elements = memory;
    *count = total;
    return GANG_OK;
}

gang_result gang__read_list_member(struct gang__reader *r, const struct gang__json *object,
                                   const struct gang__list *list, const void *owner,
                                   void **elements, size_t *count)
{
    struct gang__json at;
    *elements = NULL;
    *count = 0;
    return gang__json_get(object, list->key, &at)
               ? gang__read_list(r, &at, list, owner, elements, count)
               : GANG_OK;
}

gang_result gang__read_name(struct gang__reader *r, const struct gang__json *at, const char **out)
{
    const char *text;
    GANG__TRY(gang__json_name(at, 1, GANG_MAX_NAME, &text));
    return gang__keep_text(r, at, text, out);
}

gang_result gang__read_name_member(struct gang__reader *r, const struct gang__json *object,
                                   const char *key, const char **out)
{
    struct gang__json at;
    return gang__json_get(object, key, &at) ? gang__read_name(r, &at, out) : GANG_OK;
}

gang_result gang__read_label_map(struct gang__reader *r, const struct gang__json *object,
                                 size_t max, const struct gang_label **out, size_t *count)
{
    struct gang__json at;
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    struct gang_label *list;
    if (!gang__json_get(object, "labels", &at))
        return GANG_OK;
    GANG__TRY(gang__json_map(&at, max));
    size_t total = json_object_size(at.value);
    GANG__KEEP(list, r, &at, total);
    for (size_t i = 0; i < total && gang__json_next(&at, &member); i++) {
        const char *value;
        GANG__TRY(gang__json_key(&member, GANG_MAX_NAME));
        GANG__TRY(gang__json_name(&member, 0, GANG_MAX_NAME, &value));
        GANG__TRY(gang__keep_text(r, &member, member.key, &list[i].key));
        GANG__TRY(gang__keep_text(r, &member, value, &list[i].value));
    }
    *out = list;
    *count = total;
    return GANG_OK;
}

gang_result gang__read_names(struct gang__reader *r, const struct gang__json *at, size_t max,
                             const char *const **out, size_t *count)
{
    size_t total;
    size_t twice;
    struct gang__lookup names;
    const char **list = NULL;
    GANG__TRY(gang__json_array(at, max, &total));
    GANG__KEEP(list, r, at, total);
    for (size_t i = 0; i < total; i++) {
        struct gang__json element = gang__json_element(at, i);
        GANG__TRY(gang__read_name(r, &element, &list[i]));
    }
    if (!gang__lookup_build(&names, &r->scratch, list, sizeof(*list), total, &twice))
        return gang__json_fail(at, GANG_ENOMEM, "out of memory");
    if (twice != SIZE_MAX) {
        struct gang__json element = gang__json_element(at, twice);
        return gang__json_fail(&element, GANG_EEXIST, "'%s' is there twice",
                               gang__printable(list[twice]).s);
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

gang_result gang__read_level(struct gang__reader *r, const struct gang__json *object,
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
    if (r->in_job || r->alone)
        return gang__keep_text(r, &at, text, out);
    return gang__json_fail(&at, GANG_ENOENT, "no level '%s' in `levels`", gang__printable(text).s);
}

gang_result gang__read_memory(const struct gang__json *object, const char *mib_key,
                              const char *bytes_key, int64_t max, int64_t *bytes)
{
    struct gang__json mib;
    struct gang__json exact;
    bool has_mib = gang__json_get(object, mib_key, &mib);
    if (gang__json_get(object, bytes_key, &exact)) {
        if (has_mib)
            return gang__json_fail(&exact, GANG_EINVAL, "given beside '%s'", mib_key);
        return gang__json_int(&exact, 0, max, bytes);
    }
    if (!has_mib)
        return GANG_OK;
    int64_t count = 0;
    GANG__TRY(gang__json_int(&mib, 0, max / GANG__MIB, &count));
    *bytes = count * GANG__MIB;
    return GANG_OK;
}

gang_result gang__read_amounts(struct gang__reader *r, const struct gang__json *object,
                               bool on_node, size_t more, struct gang_amount **out, size_t *count)
{
    struct gang__json at;
    bool there = gang__json_get(object, "amounts", &at);
    if (there)
        GANG__TRY(gang__json_map(&at, GANG_MAX_KINDS));
    size_t total = there ? json_object_size(at.value) : 0;
    struct gang_amount *list = NULL;
    GANG__KEEP(list, r, object, total + more);
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    for (size_t i = 0; i < total && gang__json_next(&at, &member); i++) {
        if (r->alone)
            GANG__TRY(gang__json_key(&member, GANG_MAX_NAME));
        const struct gang_kind_spec *kind;
        GANG__TRY(gang__kind_named(r, &member, member.key, &kind));
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

gang_result gang__read_word(const struct gang__json *object, const char *key,
                            const struct gang__word_list *words, int32_t *number)
{
    struct gang__json at;
    size_t index = 0;
    if (!gang__json_get(object, key, &at))
        return GANG_OK;
    GANG__TRY(gang__json_choice(&at, words->list, words->count, &index));
    *number = words->first + (int32_t)index;
    return GANG_OK;
}

gang_result gang__read_bool(const struct gang__json *object, const char *key, int32_t *flag)
{
    struct gang__json at;
    return gang__json_get(object, key, &at) ? gang__json_bool(&at, flag) : GANG_OK;
}

gang_result gang__read_int(const struct gang__json *object, const char *key, int64_t min,
                           int64_t max, int64_t *number)
{
    struct gang__json at;
    return gang__json_get(object, key, &at) ? gang__json_int(&at, min, max, number) : GANG_OK;
}

gang_result gang__read_int32(const struct gang__json *object, const char *key, int32_t min,
                             int32_t max, int32_t *number)
{
    struct gang__json at;
    return gang__json_get(object, key, &at) ? gang__json_int32(&at, min, max, number) : GANG_OK;
}

const struct gang_kind_spec *gang__find_kind(const struct gang__reader *r, const char *name)
{
    for (size_t i = 0; i < r->out->kind_count; i++)
        if (strcmp(r->kinds[i].name, name) == 0)
            return &r->kinds[i];
    return NULL;
}

gang_result gang__kind_named(struct gang__reader *r, const struct gang__json *at, const char *name,
                             const struct gang_kind_spec **kind)
{
    *kind = gang__find_kind(r, name);
    if (*kind || !r->alone)
        return GANG_OK;
    if (r->out->kind_count >= GANG_MAX_KINDS)
        return gang__json_fail(at, GANG_ELIMIT, "more than %d kinds", GANG_MAX_KINDS);
    if (!*name || strlen(name) > GANG_MAX_NAME)
        return gang__json_fail(at, GANG_EINVAL, "a kind has a name of 1 to %d bytes",
                               GANG_MAX_NAME);
    struct gang_kind_spec *made = &r->kinds[r->out->kind_count];
    *made = (struct gang_kind_spec){sizeof(*made), NULL, NULL, GANG_SCOPE_NODE, 0, 0};
    GANG__TRY(gang__keep_text(r, at, name, &made->name));
    r->out->kind_count++;
    *kind = made;
    return GANG_OK;
}
