/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what waits for what: groups of a job, and jobs of a case. */
#include "scenario/read_in.h"

#include <string.h>

/* Things that wait for other things: thing i waits for to[begin[i]] .. to[begin[i + 1] - 1]. */
struct waits {
    size_t count;
    size_t *begin;
    size_t *to;
    int32_t *when;
    size_t *last; /* by thing: the last that was found to wait for it, plus 1 */
};

static gang_result waits_cap(struct gang__reader *r, const struct gang__json *at, size_t count,
                             size_t edges, struct waits *w)
{
    w->count = count;
    w->begin = gang__arena_alloc(&r->scratch, count + 1, sizeof(*w->begin));
    w->to = gang__arena_alloc(&r->scratch, edges, sizeof(*w->to));
    w->when = gang__arena_alloc(&r->scratch, edges, sizeof(*w->when));
    w->last = gang__arena_alloc(&r->scratch, count, sizeof(*w->last));
    if (!w->begin || !w->to || !w->when || !w->last)
        return gang__json_fail(at, GANG_ENOMEM, "out of memory");
    return GANG_OK;
}

/* How many there are in all the `after` of the list. */
static gang_result count_edges(const struct gang__json *list, size_t count, size_t *edges)
{
    *edges = 0;
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(list, i);
        struct gang__json after;
        size_t length;
        if (!gang__json_get(&element, "after", &after))
            continue;
        GANG__TRY(gang__json_array(&after, GANG__MAX_LIST, &length));
        *edges += length;
    }
    return GANG_OK;
}

/* Finds the thing that a reference names. */
typedef gang_result (*find_fn)(const struct gang__json *at, void *user, size_t *index);

/* Reads the `after` of thing i. Its edges begin where those of thing i - 1 end. */
static gang_result read_edges(const struct gang__json *object, const char *const keys[2],
                              find_fn find, void *user, size_t i, struct waits *w)
{
    struct gang__json after;
    size_t count = 0;
    if (gang__json_get(object, "after", &after))
        GANG__TRY(gang__json_array(&after, GANG__MAX_LIST, &count));
    w->begin[i + 1] = w->begin[i] + count;
    for (size_t k = 0; k < count; k++) {
        struct gang__json element = gang__json_element(&after, k);
        struct gang__json member;
        size_t to = 0;
        GANG__TRY(gang__json_object(&element, keys, 2));
        GANG__TRY(gang__json_need(&element, keys[1], &member));
        GANG__TRY(gang__read_word(&element, keys[1], &gang__when_words, &w->when[w->begin[i] + k]));
        GANG__TRY(gang__json_need(&element, keys[0], &member));
        GANG__TRY(find(&member, user, &to));
        if (w->last[to] == i + 1)
            return gang__json_fail(&member, GANG_EEXIST, "is there twice");
        w->last[to] = i + 1;
        w->to[w->begin[i] + k] = to;
    }
    return GANG_OK;
}

/* Walk from each thing to those it waits for; `path` is the way to where the walk is. */
struct walk {
    size_t *path;
    size_t *next; /* by thing: its next edge */
    enum { NEW, ON_PATH, DONE } * state;
};

/* Follow all from `start`; false: back to the path, by the last edge of the thing at its end. */
static bool walk_from(const struct waits *w, struct walk *walk, size_t start, size_t *end)
{
    size_t depth = 1;
    walk->path[0] = start;
    walk->state[start] = ON_PATH;
    walk->next[start] = w->begin[start];
    while (depth > 0) {
        size_t at = walk->path[depth - 1];
        if (walk->next[at] == w->begin[at + 1]) {
            walk->state[at] = DONE;
            depth--;
            continue;
        }
        size_t to = w->to[walk->next[at]++];
        if (walk->state[to] == ON_PATH) {
            *end = at;
            return false;
        }
        if (walk->state[to] == NEW) {
            walk->state[to] = ON_PATH;
            walk->next[to] = w->begin[to];
            walk->path[depth++] = to;
        }
    }
    return true;
}

static gang_result check_cycles(struct gang__reader *r, const struct gang__json *list,
                                const struct waits *w)
{
    struct walk walk = {gang__arena_alloc(&r->scratch, w->count, sizeof(*walk.path)),
                        gang__arena_alloc(&r->scratch, w->count, sizeof(*walk.next)),
                        gang__arena_alloc(&r->scratch, w->count, sizeof(*walk.state))};
    if (!walk.path || !walk.next || !walk.state)
        return gang__json_fail(list, GANG_ENOMEM, "out of memory");
    for (size_t i = 0; i < w->count; i++) {
        size_t end;
        if (walk.state[i] != NEW || walk_from(w, &walk, i, &end))
            continue;
        struct gang__json element = gang__json_element(list, end);
        struct gang__json after;
        gang__json_get(&element, "after", &after);
        struct gang__json edge = gang__json_element(&after, walk.next[end] - 1 - w->begin[end]);
        return gang__json_fail(&edge, GANG_ECYCLE, "waits for itself in the end");
    }
    return GANG_OK;
}

/* ---- groups of a job ---- */

struct group_names {
    const struct gang_job_spec *job;
    struct gang__lookup names; /* of those that have one */
    size_t *named;             /* index of the group; SIZE_MAX: several have the name */
};

/* Two groups may have one name; then it cannot be said which is meant. */
static gang_result name_groups(struct gang__reader *r, const struct gang__json *at,
                               struct group_names *groups)
{
    size_t count = groups->job->request.group_count;
    const char **texts = gang__arena_alloc(&r->scratch, count, sizeof(*texts));
    groups->named = gang__arena_alloc(&r->scratch, count, sizeof(*groups->named));
    size_t named = 0;
    size_t twice;
    if (!texts || !groups->named)
        return gang__json_fail(at, GANG_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (!groups->job->request.groups[i].name)
            continue;
        texts[named] = groups->job->request.groups[i].name;
        groups->named[named++] = i;
    }
    if (!gang__lookup_build(&groups->names, &r->scratch, texts, sizeof(*texts), named, &twice))
        return gang__json_fail(at, GANG_ENOMEM, "out of memory");
    const struct gang__named_entry *list = groups->names.list;
    for (size_t i = 1; i < groups->names.count; i++)
        if (strcmp(list[i - 1].text, list[i].text) == 0)
            groups->named[list[i - 1].index] = groups->named[list[i].index] = SIZE_MAX;
    return GANG_OK;
}

static gang_result find_group(const struct gang__json *at, void *user, size_t *index)
{
    const struct group_names *groups = user;
    const char *text = json_string_value(at->value);
    int64_t number = 0;
    size_t found;
    if (json_is_integer(at->value)) {
        int64_t max = (int64_t)groups->job->request.group_count - 1;
        GANG__TRY(gang__json_int(at, 0, max, &number));
        *index = (size_t)number;
        return GANG_OK;
    }
    if (!text)
        return gang__json_fail(at, GANG_EINVAL, "must be the name or the index of tasks");
    if (!gang__lookup_find(&groups->names, text, &found))
        return gang__json_fail(at, GANG_ENOENT, "no tasks '%s' in this job",
                               gang__printable(text).s);
    if (groups->named[found] == SIZE_MAX)
        return gang__json_fail(at, GANG_EINVAL, "several tasks are called '%s'",
                               gang__printable(text).s);
    *index = groups->named[found];
    return GANG_OK;
}

gang_result gang__read_group_after(struct gang__reader *r, const struct gang__json *tasks,
                                   struct gang_job_spec *job)
{
    static const char *const keys[] = {"group", "when"};
    struct group_names groups = {.job = job};
    struct waits w;
    struct gang_group_after *list;
    size_t count = job->request.group_count;
    size_t edges;
    GANG__TRY(count_edges(tasks, count, &edges));
    if (edges == 0)
        return GANG_OK;
    GANG__TRY(name_groups(r, tasks, &groups));
    GANG__TRY(waits_cap(r, tasks, count, edges, &w));
    GANG__KEEP(list, r, tasks, edges);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(tasks, i);
        GANG__TRY(read_edges(&element, keys, find_group, &groups, i, &w));
        for (size_t e = w.begin[i]; e < w.begin[i + 1]; e++)
            list[e] = (struct gang_group_after){(int32_t)i, (int32_t)w.to[e], w.when[e], 0};
    }
    GANG__TRY(check_cycles(r, tasks, &w));
    job->group_after = list;
    job->group_after_count = edges;
    return GANG_OK;
}

gang_result gang__read_group_name(struct gang__reader *r, const struct gang__json *at,
                                  const struct gang_job_spec *job, int32_t *group)
{
    struct group_names groups = {.job = job};
    size_t index = 0;
    GANG__TRY(name_groups(r, at, &groups));
    GANG__TRY(find_group(at, &groups, &index));
    *group = (int32_t)index;
    return GANG_OK;
}

/* ---- jobs of a case ---- */

static gang_result find_job(const struct gang__json *at, void *user, size_t *index)
{
    const struct gang__lookup *names = user;
    const char *text;
    GANG__TRY(gang__json_name(at, 1, GANG_MAX_NAME, &text));
    if (!gang__lookup_find(names, text, index))
        return gang__json_fail(at, GANG_ENOENT, "no job '%s'", gang__printable(text).s);
    return GANG_OK;
}

gang_result gang__read_job_after(struct gang__reader *r, const struct gang__json *jobs)
{
    static const char *const keys[] = {"job", "when"};
    struct waits w;
    struct gang_scenario_after *list;
    size_t count = r->out->job_count;
    size_t edges;
    GANG__TRY(count_edges(jobs, count, &edges));
    if (edges == 0)
        return GANG_OK;
    GANG__TRY(waits_cap(r, jobs, count, edges, &w));
    GANG__KEEP(list, r, jobs, edges);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(jobs, i);
        GANG__TRY(read_edges(&element, keys, find_job, &r->jobs, i, &w));
        for (size_t e = w.begin[i]; e < w.begin[i + 1]; e++)
            list[e] = (struct gang_scenario_after){sizeof(*list), i, w.to[e], w.when[e], 0};
    }
    GANG__TRY(check_cycles(r, jobs, &w));
    r->out->afters = list;
    r->out->after_count = edges;
    return GANG_OK;
}
