/* SPDX-License-Identifier: Apache-2.0 */
/* Access lists: may a user submit to a queue, or administer it? */
#include <string.h>

#include "base/error.h"
#include "queue/queue_spec_in.h"
#include "queue/queues.h"

/* An access list names users, then groups, with a blank between the two. */
struct acl {
    const char *users, *groups; /* names with commas between them */
    size_t users_length, groups_length;
};

static struct acl acl_split(const char *text)
{
    struct acl a;
    a.users = text;
    a.users_length = strcspn(text, " ");
    a.groups = text + a.users_length;
    a.groups += strspn(a.groups, " ");
    a.groups_length = strcspn(a.groups, " ");
    return a;
}

static bool is_all(const char *text)
{
    text += strspn(text, " ");
    return text[0] == '*' && !text[1 + strspn(text + 1, " ")];
}

/* ---- checking ------------------------------------------------------------------------------ */

static bool names_are_sound(const char *list, size_t length)
{
    if (length == 0)
        return true;
    for (size_t at = 0, start = 0; at <= length; at++) {
        if (at < length && list[at] != ',')
            continue;
        if (at == start || at - start > GANG_MAX_NAME || (at - start == 1 && list[start] == '*'))
            return false;
        start = at + 1;
    }
    return true;
}

gang_result gang__acl_check(const char *acl, const char *path, struct gang_error *error)
{
    if (!acl || is_all(acl))
        return GANG_OK;
    for (size_t i = 0; acl[i]; i++) {
        unsigned char byte = (unsigned char)acl[i];
        if (i >= GANG__MAX_ACL)
            return gang__error(error, GANG_ELIMIT, path, "longer than %d bytes", GANG__MAX_ACL);
        if (byte < 0x20 || byte == 0x7f)
            return gang__error(error, GANG_EINVAL, path, "a control character");
    }
    struct acl a = acl_split(acl);
    const char *rest = a.groups + a.groups_length;
    if (rest[strspn(rest, " ")])
        return gang__error(error, GANG_EINVAL, path, "more than users and groups");
    if (!names_are_sound(a.users, a.users_length) || !names_are_sound(a.groups, a.groups_length))
        return gang__error(error, GANG_EINVAL, path,
                           "a name in it is empty, too long, or '*' among others");
    return GANG_OK;
}

/* ---- asking -------------------------------------------------------------------------------- */

static bool list_has(const char *list, size_t length, const char *name)
{
    size_t want = name ? strlen(name) : 0;
    if (want == 0)
        return false;
    for (size_t at = 0; at < length;) {
        const char *comma = memchr(list + at, ',', length - at);
        size_t end = comma ? (size_t)(comma - list) : length;
        if (end - at == want && memcmp(list + at, name, want) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

static bool acl_has(const char *text, const char *user, const char *const *groups,
                    size_t group_count)
{
    if (is_all(text))
        return true;
    struct acl a = acl_split(text);
    if (list_has(a.users, a.users_length, user))
        return true;
    for (size_t i = 0; i < group_count; i++)
        if (list_has(a.groups, a.groups_length, groups[i]))
            return true;
    return false;
}

bool gang__queue_allows(const struct gang__queues *qs, const struct gang__queue *q, int32_t action,
                        const char *user, const char *const *groups, size_t group_count)
{
    if (action != GANG_MAY_SUBMIT && action != GANG_MAY_ADMINISTER)
        return false;
    for (;;) {
        const char *acl = action == GANG_MAY_SUBMIT ? q->spec->submit_acl : q->spec->admin_acl;
        bool top = q->parent == GANG__NO_QUEUE;
        if (acl ? acl_has(acl, user, groups, group_count) : top)
            return true;
        if (top)
            return false;
        q = &qs->queue[q->parent];
    }
}
