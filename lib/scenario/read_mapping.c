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
        return gang__json_fail(at, GANG_ENOENT, "no queue '%s'", gang__printable(text).s);
    }
    if (r->queue_inner[index])
        return gang__json_fail(at, GANG_EINVAL, "queue '%s' has queues below it",
                               gang__printable(text).s);
    *queue = r->out->queues[index].name;
    return GANG_OK;
}

static const char *const rule_keys[] = {"match", "pattern", "queue", "fallback"};

static gang_result read_rule(struct gang__reader *r, const struct gang__json *at, void *element,
                             const void *owner)
{
    struct gang_queue_rule *rule = element;
    struct gang__json member;
    (void)owner;
    *rule = (struct gang_queue_rule)GANG_QUEUE_RULE_INIT;
    GANG__TRY(gang__read_word(at, "match", &gang__match_words, &rule->match));
    GANG__TRY(gang__read_word(at, "fallback", &gang__fallback_words, &rule->fallback));
    GANG__TRY(gang__read_name_member(r, at, "pattern", &rule->pattern));
    GANG__TRY(gang__json_need(at, "queue", &member));
    return gang__read_name(r, &member, &rule->queue);
}

static const struct gang__list rule_list = GANG__LIST(
    "rules", GANG__MAX_RULES, struct gang_queue_rule, rule_keys, GANG__OBJECT_NONE, read_rule);

gang_result gang__read_mapping(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json member;
    void *rules;
    if (gang__json_get(at, "default_queue", &member))
        GANG__TRY(gang__read_leaf(r, &member, &r->out->default_queue));
    GANG__TRY(gang__read_list_member(r, at, &rule_list, NULL, &rules, &r->out->rule_count));
    r->out->rules = rules;
    return GANG_OK;
}
