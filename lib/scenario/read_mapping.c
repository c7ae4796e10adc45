/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which queue a job goes to: the queue it names, the rules, and the default queue. */
#include "scenario/read_in.h"

#include <string.h>

/* "parent.name", where the parent makes queues on demand. The rest of it is for the scheduler. */
static bool can_be_made(const struct gang__reader *r, const char *text)
{
    char front[GANG_MAX_NAME + 1];
    for (const char *dot = strchr(text, '.'); dot; dot = strchr(dot + 1, '.')) {
        size_t index;
        size_t length = (size_t)(dot - text);
        memcpy(front, text, length);
        front[length] = '\0';
        if (dot[1] && gang__lookup_find(&r->queues, front, &index) && r->out->queues[index].child)
            return true;
    }
    return false;
}

gang_result gang__read_leaf(struct gang__reader *r, const struct gang__json *at, const char **queue)
{
    const char *text;
    size_t index;
    GANG__TRY(gang__json_name(at, 1, GANG_MAX_NAME, &text));
    if (!gang__lookup_find(&r->queues, text, &index)) {
        if (can_be_made(r, text))
            return gang__keep_text(r, at, text, queue);
        return gang__json_fail(at, GANG_ENOENT, "no queue '%s'", gang__word(text).s);
    }
    if (r->queue_inner[index])
        return gang__json_fail(at, GANG_EINVAL, "queue '%s' has queues below it",
                               gang__word(text).s);
    *queue = r->out->queues[index].name;
    return GANG_OK;
}

static gang_result read_rule(struct gang__reader *r, const struct gang__json *at,
                             struct gang_queue_rule *rule)
{
    static const char *const keys[] = {"match", "pattern", "queue", "fallback"};
    struct gang__json member;
    *rule = (struct gang_queue_rule)GANG_QUEUE_RULE_INIT;
    GANG__TRY(gang__json_object(at, keys, GANG__COUNT(keys)));
    GANG__TRY(gang__read_word(at, "match", &gang__match_words, &rule->match));
    GANG__TRY(gang__read_word(at, "fallback", &gang__fallback_words, &rule->fallback));
    GANG__TRY(gang__read_name_member(r, at, "pattern", &rule->pattern));
    GANG__TRY(gang__json_need(at, "queue", &member));
    return gang__read_name(r, &member, &rule->queue);
}

gang_result gang__read_mapping(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json member;
    struct gang_queue_rule *list;
    size_t count;
    if (gang__json_get(at, "default_queue", &member))
        GANG__TRY(gang__read_leaf(r, &member, &r->out->default_queue));
    if (!gang__json_get(at, "rules", &member))
        return GANG_OK;
    GANG__TRY(gang__json_array(&member, GANG__MAX_RULES, &count));
    GANG__KEEP(list, r, &member, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&member, i);
        GANG__TRY(read_rule(r, &element, &list[i]));
    }
    r->out->rules = list;
    r->out->rule_count = count;
    return GANG_OK;
}
