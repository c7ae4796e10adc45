/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the values that several objects of a scenario have. */
#include "scenario/write_in.h"

#include <string.h>

bool gang__write_loaded(struct gang__writer *w, gang_result result)
{
    if (result != GANG_OK)
        gang__json_note(&w->maker, result);
    return result == GANG_OK;
}

void gang__write_value(struct gang__writer *w, json_t *object, const char *key, json_t *value)
{
    gang__json_put(&w->maker, object, key, value);
}

void gang__write_int(struct gang__writer *w, json_t *object, const char *key, int64_t number)
{
    gang__write_value(w, object, key, json_integer(number));
}

void gang__write_text(struct gang__writer *w, json_t *object, const char *key, const char *text)
{
    gang__write_value(w, object, key, gang__json_new_text(&w->maker, text));
}

void gang__write_nonempty(struct gang__writer *w, json_t *object, const char *key, const char *text)
{
    if (text && text[0])
        gang__write_text(w, object, key, text);
}

void gang__write_flag(struct gang__writer *w, json_t *object, const char *key, int32_t flag)
{
    if (flag != 0 && flag != 1)
        gang__json_note(&w->maker, GANG_EINVAL);
    if (flag)
        gang__write_value(w, object, key, json_true());
}

void gang__write_memory(struct gang__writer *w, json_t *object, const char *mib_key,
                        const char *bytes_key, int64_t bytes)
{
    if (bytes % GANG__MIB == 0)
        gang__write_int(w, object, mib_key, bytes / GANG__MIB);
    else
        gang__write_int(w, object, bytes_key, bytes);
}

void gang__write_word(struct gang__writer *w, json_t *object, const char *key,
                      const struct gang__word_list *words, int32_t number)
{
    if (number < words->first || (size_t)(number - words->first) >= words->count)
        gang__json_note(&w->maker, GANG_EINVAL);
    else
        gang__write_text(w, object, key, words->list[number - words->first]);
}

json_t *gang__make_names(struct gang__writer *w, const char *const *names, size_t count)
{
    json_t *list = json_array();
    if (!names && count > 0)
        gang__json_note(&w->maker, GANG_EINVAL);
    for (size_t i = 0; names && i < count; i++)
        gang__json_push(&w->maker, list, gang__json_new_text(&w->maker, names[i]));
    return list;
}

void gang__write_names(struct gang__writer *w, json_t *object, const char *key,
                       const char *const *names, size_t count)
{
    if (count > 0)
        gang__write_value(w, object, key, gang__make_names(w, names, count));
}

void gang__write_list(struct gang__writer *w, json_t *object, const char *key, json_t *list)
{
    if (!list || json_array_size(list) > 0)
        gang__write_value(w, object, key, list);
    else
        json_decref(list);
}

void gang__write_amounts(struct gang__writer *w, json_t *object, const struct gang_amount *amounts,
                         size_t count)
{
    if (count == 0)
        return;
    json_t *map = json_object();
    for (size_t i = 0; i < count; i++)
        gang__write_int(w, map, amounts[i].kind, amounts[i].amount);
    gang__write_value(w, object, "amounts", map);
}

void gang__write_labels(struct gang__writer *w, json_t *object, const char *key,
                        const struct gang_label *labels, size_t count)
{
    json_t *map = json_object();
    if (!labels && count > 0)
        gang__json_note(&w->maker, GANG_EINVAL);
    for (size_t i = 0; labels && i < count; i++)
        gang__write_text(w, map, labels[i].key, labels[i].value);
    gang__write_value(w, object, key, map);
}

void gang__write_given(struct gang__writer *w, json_t *object, const char *key, const char *level)
{
    if (level)
        gang__write_text(w, object, key, level);
}

void gang__write_nonzero(struct gang__writer *w, json_t *object, const char *key, int64_t number)
{
    if (number)
        gang__write_int(w, object, key, number);
}
