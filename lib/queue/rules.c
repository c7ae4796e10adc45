/* SPDX-License-Identifier: Apache-2.0 */
/* Which queue a job goes to: the one that it names, or the first that a rule leads to. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/two_pass_block.h"
#include "model/specs.h"
#include "queue/queues.h"

/* Queues made on demand below one queue, where it does not say. */
enum { CHILDREN = 1000 };
/* "key=value" is as long as that. */
enum { MAX_PATTERN = 2 * GANG_MAX_NAME + 1 };

enum { RULE_LEAST = offsetof(struct gang_queue_rule, queue) + sizeof(const char *) };

struct gang__rules {
    struct gang_queue_rule *rule; /* in the library's size */
    size_t count;
    const char *default_queue; /* NULL: none */
};

/* ---- names with words in them -------------------------------------------------------------- */

/* What may stand in the name of a queue. The key of a label reaches to the next '%', or the end. */
enum word { WORD_TEXT, WORD_USER, WORD_GROUP, WORD_NAME, WORD_LABEL, WORD_BAD };

struct piece {
    enum word word;
    const char *text; /* of WORD_TEXT; key of WORD_LABEL */
    size_t length;
};

static bool is_word(const char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

/* The next piece of a name; moves *at on. At its end: text of length 0. */
static struct piece next_piece(const char **at)
{
    struct piece p = {WORD_TEXT, *at, 0};
    if (**at != '%') {
        p.length = strcspn(*at, "%");
        *at += p.length;
    } else if (is_word(at, "%%")) {
        p.length = 1;
    } else if (is_word(at, "%user")) {
        p.word = WORD_USER;
    } else if (is_word(at, "%group")) {
        p.word = WORD_GROUP;
    } else if (is_word(at, "%name")) {
        p.word = WORD_NAME;
    } else if (is_word(at, "%label.")) {
        p.word = WORD_LABEL;
        p.text = *at;
        p.length = strcspn(*at, "%");
        *at += p.length;
    } else {
        p.word = WORD_BAD;
    }
    return p;
}

static bool name_is_sound(const char *name)
{
    while (*name) {
        struct piece p = next_piece(&name);
        if (p.word == WORD_BAD || (p.word == WORD_LABEL && p.length == 0))
            return false;
    }
    return true;
}

static const char *label_of(const struct gang__submitter *submitter, const char *key, size_t length)
{
    for (size_t i = 0; i < submitter->label_count; i++)
        if (strncmp(submitter->labels[i].key, key, length) == 0 &&
            !submitter->labels[i].key[length])
            return submitter->labels[i].value;
    return NULL;
}

/* The value that replaces a piece; NULL or "": the job has none. */
static const char *value_of(const struct piece *p, const struct gang__submitter *submitter)
{
    switch (p->word) {
    case WORD_USER:
        return submitter->user;
    case WORD_GROUP:
        return submitter->group_count ? submitter->groups[0] : NULL;
    case WORD_NAME:
        return submitter->name;
    case WORD_LABEL:
        return label_of(submitter, p->text, p->length);
    default:
        return NULL;
    }
}

/* Write a name with its words replaced into GANG_MAX_NAME + 1 bytes. False: too long, or the job
 * has no such thing. */
static bool expand(const char *name, const struct gang__submitter *submitter, char *to)
{
    size_t used = 0;
    while (*name) {
        struct piece p = next_piece(&name);
        const char *text = p.text;
        size_t length = p.length;
        if (p.word != WORD_TEXT) {
            text = value_of(&p, submitter);
            length = text ? strlen(text) : 0;
            if (length == 0)
                return false;
        }
        if (length > GANG_MAX_NAME - used)
            return false;
        memcpy(to + used, text, length);
        used += length;
    }
    to[used] = '\0';
    return true;
}

/* ---- matching ------------------------------------------------------------------------------ */

static bool matches(const char *pattern, const char *text)
{
    if (!text)
        text = "";
    if (!pattern)
        return true;
    size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '*')
        return strncmp(pattern, text, length - 1) == 0;
    return strcmp(pattern, text) == 0;
}

/* "key=value", or "key" for any value of it. */
static bool label_matches(const char *pattern, const struct gang_label *label)
{
    if (!pattern)
        return true;
    size_t length = strcspn(pattern, "=");
    if (!pattern[length])
        return matches(pattern, label->key);
    return strncmp(pattern, label->key, length) == 0 && !label->key[length] &&
           matches(pattern + length + 1, label->value);
}

static bool rule_matches(const struct gang_queue_rule *rule,
                         const struct gang__submitter *submitter)
{
    switch (rule->match) {
    case GANG_MATCH_USER:
        return matches(rule->pattern, submitter->user);
    case GANG_MATCH_NAME:
        return matches(rule->pattern, submitter->name);
    case GANG_MATCH_GROUP:
        for (size_t i = 0; i < submitter->group_count; i++)
            if (matches(rule->pattern, submitter->groups[i]))
                return true;
        return false;
    case GANG_MATCH_LABEL:
        for (size_t i = 0; i < submitter->label_count; i++)
            if (label_matches(rule->pattern, &submitter->labels[i]))
                return true;
        return false;
    default:
        return true;
    }
}

/* ---- rules --------------------------------------------------------------------------------- */

static gang_result rule_in(const struct gang_queue_rule *rules, size_t size, size_t i,
                           struct gang_queue_rule *rule, struct gang_error *error)
{
    gang_result r =
        gang__struct_in(rule, sizeof(*rule), RULE_LEAST, (const char *)rules + i * size, size);
    if (r == GANG_E2BIG)
        return gang__error(error, r, NULL, "an unknown member is not zero");
    if (r != GANG_OK)
        return gang__error(error, r, "size", "not the size of a known struct");
    if (rule->size != size)
        return gang__error(error, GANG_EINVAL, "size", "not that of the elements");
    if (rule->match < GANG_MATCH_ALL || rule->match > GANG_MATCH_LABEL)
        return gang__error(error, GANG_EINVAL, "match", "not one of its values");
    if (rule->fallback < GANG_FALLBACK_SKIP || rule->fallback > GANG_FALLBACK_DEFAULT)
        return gang__error(error, GANG_EINVAL, "fallback", "not one of its values");
    if (rule->pattern && rule->match == GANG_MATCH_ALL)
        return gang__error(error, GANG_EINVAL, "pattern", "of a rule that matches all");
    if (rule->pattern && strnlen(rule->pattern, MAX_PATTERN + 1) > MAX_PATTERN)
        return gang__error(error, GANG_ELIMIT, "pattern", "longer than %d bytes", MAX_PATTERN);
    r = gang__text_check(rule->queue, false);
    if (r != GANG_OK)
        return gang__error(error, r, "queue", "not a name");
    if (!name_is_sound(rule->queue))
        return gang__error(error, GANG_EINVAL, "queue", "unknown word after '%%'");
    return GANG_OK;
}

static void *lay(struct gang__block *b, const void *from)
{
    const struct gang__rules_source *s = from;
    struct gang__rules *to = gang__block_alloc(b, sizeof(*to));
    struct gang_queue_rule *rule = gang__block_alloc(b, s->count * sizeof(*rule));
    for (size_t i = 0; i < s->count; i++) {
        struct gang_queue_rule r;
        gang_result checked = rule_in(s->rules, s->rule_size, i, &r, NULL);
        assert(checked == GANG_OK);
        (void)checked;
        r.size = sizeof(r);
        r.pattern = gang__block_text(b, r.pattern);
        r.queue = gang__block_text(b, r.queue);
        if (rule)
            rule[i] = r;
    }
    const char *default_queue = gang__block_text(b, s->default_queue);
    if (to)
        *to = (struct gang__rules){rule, s->count, default_queue};
    return to;
}

gang_result gang__rules_new(const struct gang_mem *mem, const struct gang__rules_source *from,
                            struct gang__rules **out, struct gang_error *error)
{
    struct gang__rules_source s = *from;
    *out = NULL;
    if (s.count > GANG_MAX_QUEUES)
        return gang__error(error, GANG_ELIMIT, "rules", "%zu are more than %d", s.count,
                           GANG_MAX_QUEUES);
    if (s.count > 0 && !s.rules)
        return gang__error(error, GANG_EINVAL, "rules", "NULL with a count above 0");
    if (s.default_queue && !s.default_queue[0])
        s.default_queue = NULL;
    gang_result r = s.default_queue ? gang__text_check(s.default_queue, false) : GANG_OK;
    if (r != GANG_OK)
        return gang__error(error, r, "default_queue", "not a name");
    for (size_t i = 0; i < s.count; i++) {
        struct gang_queue_rule rule;
        r = rule_in(s.rules, s.rule_size, i, &rule, error);
        if (r != GANG_OK)
            return gang__error_at(error, r, "rules[%zu]", i);
    }
    *out = gang__block_build(mem, lay, &s);
    return *out ? GANG_OK : gang__error(error, GANG_ENOMEM, NULL, "out of memory");
}

gang_result gang__rules_copy(const struct gang_mem *mem, const struct gang__rules *from,
                             struct gang__rules **out)
{
    const struct gang__rules_source s = {from->rule, sizeof(*from->rule), from->count,
                                         from->default_queue};
    return gang__rules_new(mem, &s, out, NULL);
}

void gang__rules_free(struct gang__rules *rules, const struct gang_mem *mem)
{
    gang__release(mem, rules);
}

/* ---- finding ------------------------------------------------------------------------------- */

/* What came of looking for a queue. */
struct found {
    const struct gang__queue *queue; /* or the parent of the one to make */
    bool make;
    gang_result result;
    const char *text;
};

bool gang__queue_can_make_child(const struct gang__queues *qs, const struct gang__queue *parent)
{
    int64_t most = parent->spec->max_children ? parent->spec->max_children : CHILDREN, n = 0;
    for (uint32_t i = parent->first_child; i != GANG__NO_QUEUE; i = qs->queue[i].next_sibling)
        n += qs->queue[i].made;
    return n < most;
}

/* The queue that one of this name is to be made below: the longest part before a dot that names one
 * with a template. Names may have dots themselves. NULL: none. */
static const struct gang__queue *parent_of(const struct gang__queues *qs, const char *name)
{
    char part[GANG_MAX_NAME + 1];
    size_t length = strlen(name);
    memcpy(part, name, length + 1);
    for (size_t end = length; end-- > 1;) {
        if (part[end] != '.')
            continue;
        part[end] = '\0';
        const struct gang__queue *q = end + 1 < length ? gang__queue_by_name(qs, part) : NULL;
        if (q && q->spec->child)
            return q;
    }
    return NULL;
}

static struct found find_queue(const struct gang__queues *qs, const char *name)
{
    struct found f = {gang__queue_by_name(qs, name), false, GANG_OK, NULL};
    if (f.queue) {
        if (!f.queue->leaf)
            f = (struct found){NULL, false, GANG_EINVAL, "is not a leaf"};
        return f;
    }
    f = (struct found){NULL, false, GANG_ENOENT, "does not exist"};
    if (gang__text_check(name, false) != GANG_OK)
        return f;
    const struct gang__queue *parent = parent_of(qs, name);
    if (!parent)
        return f;
    if (!gang__queue_can_make_child(qs, parent))
        return (struct found){NULL, false, GANG_ELIMIT, "is one more than can be made there"};
    if (qs->count == GANG_MAX_QUEUES)
        return (struct found){NULL, false, GANG_ELIMIT, "is one more than there can be"};
    return (struct found){parent, true, GANG_OK, NULL};
}

/* Passes what was found for a name to the caller. */
static gang_result report_found(const struct found *f, const char *name,
                                const struct gang__queue **queue, char *made,
                                struct gang_error *error)
{
    if (f->result != GANG_OK)
        return gang__error(error, f->result, "queue", "'%s' %s", name, f->text);
    *queue = f->queue;
    if (f->make)
        memcpy(made, name, strlen(name) + 1);
    return GANG_OK;
}

static gang_result by_name(const struct gang__queues *qs, const char *name,
                           const struct gang__queue **queue, char *made, struct gang_error *error)
{
    struct found f = find_queue(qs, name);
    return report_found(&f, name, queue, made, error);
}

static gang_result by_default(const struct gang__queues *qs, const struct gang__rules *rules,
                              const struct gang__queue **queue, char *made,
                              struct gang_error *error)
{
    if (!rules || !rules->default_queue)
        return gang__error(error, GANG_ENOENT, "queue", "none is named, and no rule leads to one");
    return by_name(qs, rules->default_queue, queue, made, error);
}

/* A queue takes jobs while it and all its ancestors are open. */
static bool is_open(const struct found *f)
{
    return f->result == GANG_OK && f->queue->open_state == GANG_QUEUE_OPEN;
}

gang_result gang__queue_for(const struct gang__queues *qs, const struct gang__rules *rules,
                            const struct gang__submitter *submitter,
                            const struct gang__queue **queue, char *made, struct gang_error *error)
{
    *queue = NULL;
    made[0] = '\0';
    if (submitter->queue && submitter->queue[0])
        return by_name(qs, submitter->queue, queue, made, error);
    for (size_t i = 0; rules && i < rules->count; i++) {
        const struct gang_queue_rule *rule = &rules->rule[i];
        char name[GANG_MAX_NAME + 1];
        if (!rule_matches(rule, submitter))
            continue;
        if (expand(rule->queue, submitter, name)) {
            struct found f = find_queue(qs, name);
            if (is_open(&f))
                return report_found(&f, name, queue, made, error);
        }
        if (rule->fallback == GANG_FALLBACK_REJECT)
            return gang__error(error, GANG_EPERM, "queue", "refused by rule %zu", i);
        if (rule->fallback == GANG_FALLBACK_DEFAULT)
            break;
    }
    return by_default(qs, rules, queue, made, error);
}
