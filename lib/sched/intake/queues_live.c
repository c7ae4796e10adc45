/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the tree of queues at run time: the whole tree, or one queue. */
#include <string.h>

#include "sched/intake/intake.h"
#include "sched/intake/queues_live_in.h"
#include "sched/record/state.h"

void gang__queue_list_free(gang_sched *s, struct gang__queue_list *l)
{
    gang__release(&s->mem, l->spec);
    gang__release(&s->mem, l->made);
}

/* The specifications in force, with space for more. */
bool gang__queue_list_now(gang_sched *s, size_t more, struct gang__queue_list *l)
{
    size_t n = s->queues->count;
    l->spec = gang__zalloc(&s->mem, n + more, sizeof(*l->spec));
    l->made = gang__zalloc(&s->mem, n + more, sizeof(*l->made));
    l->count = 0;
    if (!l->spec || !l->made) {
        gang__queue_list_free(s, l);
        return false;
    }
    for (; l->count < n; l->count++) {
        l->spec[l->count] = *s->queues->queue[l->count].spec;
        l->made[l->count] = s->queues->queue[l->count].made;
    }
    return true;
}

gang_result gang__queues_apply(gang_sched *s, const struct gang_queue_spec *specs, size_t count,
                               const bool *made, struct gang_error *error)
{
    struct gang__queues *queues;
    const struct gang__queues_source from = {specs, count, made, s->queues};
    gang_result r =
        gang__queues_new(s->cluster, &s->mem, &from, &s->intake.next_queue, &queues, error);
    return r == GANG_OK ? gang__queues_swap(s, queues, error) : r;
}

static bool is_named(const struct gang_queue_spec *specs, size_t size, size_t count,
                     const char *name)
{
    for (size_t i = 0; i < count; i++) {
        const struct gang_queue_spec *q =
            (const struct gang_queue_spec *)(const void *)((const char *)specs + i * size);
        if (q->name && strcmp(q->name, name) == 0)
            return true;
    }
    return false;
}

/* The given specifications, and those of made queues with a parent among them. */
static gang_result with_made(gang_sched *s, const struct gang_queue_spec *specs, size_t count,
                             struct gang__queue_list *l, struct gang_error *error)
{
    size_t size = count > 0 ? specs[0].size : sizeof(*specs);
    l->spec = gang__zalloc(&s->mem, count + s->queues->count, sizeof(*l->spec));
    l->made = gang__zalloc(&s->mem, count + s->queues->count, sizeof(*l->made));
    if (!l->spec || !l->made)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    for (l->count = 0; l->count < count; l->count++) {
        gang_result r = gang__struct_in(&l->spec[l->count], sizeof(*specs),
                                        offsetof(struct gang_queue_spec, policy),
                                        (const char *)specs + l->count * size, size);
        if (r != GANG_OK) {
            gang__error(error, r, NULL, "struct gang_queue_spec is not set up");
            return gang__error_at(error, r, "queues[%zu]", l->count);
        }
        l->spec[l->count].size = sizeof(*specs);
    }
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__queue *q = &s->queues->queue[i];
        if (!q->made || is_named(l->spec, sizeof(*specs), count, q->name) ||
            !is_named(l->spec, sizeof(*specs), count, q->spec->parent))
            continue;
        l->spec[l->count] = *q->spec;
        l->made[l->count++] = true;
    }
    return GANG_OK;
}

gang_result gang_sched_set_queues(gang_sched *sched, const struct gang_queue_spec *queues,
                                  size_t count, struct gang_error *error)
{
    if (!sched || (count > 0 && !queues) || count > GANG_MAX_QUEUES)
        return gang__error(error, GANG_EINVAL, "queues", "no scheduler, no queues, or too many");
    if (sched->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    struct gang__queue_list l = {NULL, NULL, 0};
    gang_result r = count > 0 ? with_made(sched, queues, count, &l, error)
                              : gang__queues_make_default(sched, error);
    if (r == GANG_OK && count > 0)
        r = gang__queues_apply(sched, l.spec, l.count, l.made, error);
    gang__queue_list_free(sched, &l);
    gang__submit_view_free_retired(sched);
    return r;
}

gang_result gang__queues_make_default(gang_sched *s, struct gang_error *error)
{
    static const struct gang_quota all[] = {{"cpu", GANG_UNLIMITED, NULL, 0, 0}};
    struct gang_queue_spec spec = GANG_QUEUE_SPEC_INIT;
    spec.name = "default";
    spec.guaranteed = all; /* other kinds are not managed: nothing is above its guarantee */
    spec.guaranteed_count = 1;
    return gang__queues_apply(s, &spec, 1, NULL, error);
}

/* An error path "queues[3].limit.gpu" in a list that the caller does not know becomes "limit.gpu".
 * */
static gang_result own_path(struct gang_error *error, gang_result r)
{
    char *dot = error && r != GANG_OK ? strstr(error->path, "].") : NULL;
    if (dot && strncmp(error->path, "queues[", 7) == 0)
        memmove(error->path, dot + 2, strlen(dot + 2) + 1);
    return r;
}

static gang_result take_spec(gang_sched *s, const struct gang_queue_spec *from,
                             struct gang_queue_spec *spec, struct gang_error *error)
{
    if (!s || !from)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler, or no queue");
    if (s->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang_result r = gang__struct_in(spec, sizeof(*spec), offsetof(struct gang_queue_spec, policy),
                                    from, from->size);
    spec->size = sizeof(*spec);
    if (r != GANG_OK || !spec->name)
        return gang__error(error, r != GANG_OK ? r : GANG_EINVAL, "name", "no name, or not set up");
    return GANG_OK;
}

gang_result gang_queue_add(gang_sched *sched, const struct gang_queue_spec *spec, gang_queue_id *id,
                           struct gang_error *error)
{
    struct gang_queue_spec with;
    struct gang__queue_list l;
    if (id)
        *id = GANG_ID_NONE;
    gang_result r = take_spec(sched, spec, &with, error);
    if (r != GANG_OK)
        return r;
    if (!gang__queue_list_now(sched, 1, &l))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    l.spec[l.count++] = with;
    r = own_path(error, gang__queues_apply(sched, l.spec, l.count, l.made, error));
    gang__queue_list_free(sched, &l);
    gang__submit_view_free_retired(sched);
    if (r == GANG_OK && id)
        r = gang_queue_find(sched, with.name, id);
    return r;
}

static size_t find_spec(const struct gang__queue_list *l, const char *name)
{
    size_t i = 0;
    while (i < l->count && strcmp(l->spec[i].name, name) != 0)
        i++;
    return i;
}

gang_result gang_queue_change(gang_sched *sched, const struct gang_queue_spec *spec,
                              struct gang_error *error)
{
    struct gang_queue_spec with;
    struct gang__queue_list l;
    gang_result r = take_spec(sched, spec, &with, error);
    if (r != GANG_OK)
        return r;
    if (!gang__queue_list_now(sched, 0, &l))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    size_t at = find_spec(&l, with.name);
    if (at == l.count) {
        r = gang__error(error, GANG_ENOENT, "name", "no queue \"%s\"", with.name);
    } else {
        l.spec[at] = with;
        r = own_path(error, gang__queues_apply(sched, l.spec, l.count, l.made, error));
    }
    gang__queue_list_free(sched, &l);
    gang__submit_view_free_retired(sched);
    return r;
}

gang_result gang__queues_without(gang_sched *s, const struct gang__queue *q,
                                 struct gang_error *error)
{
    struct gang__queue_list l;
    if (q->first_child != GANG__NO_QUEUE)
        return gang__error(error, GANG_EBUSY, NULL, "it has children");
    if (s->queues->count == 1)
        return gang__error(error, GANG_EBUSY, NULL, "it is the last one");
    if (!gang__queue_list_now(s, 0, &l))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    size_t at = find_spec(&l, q->name);
    l.count--;
    memmove(&l.spec[at], &l.spec[at + 1], (l.count - at) * sizeof(*l.spec));
    memmove(&l.made[at], &l.made[at + 1], (l.count - at) * sizeof(*l.made));
    gang_result r = own_path(error, gang__queues_apply(s, l.spec, l.count, l.made, error));
    gang__queue_list_free(s, &l);
    return r;
}

gang_result gang_queue_remove(gang_sched *sched, gang_queue_id id, struct gang_error *error)
{
    if (!sched)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler");
    if (sched->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    const struct gang__queue *q = gang__queue_by_id(sched->queues, id);
    gang_result r = q ? gang__queues_without(sched, q, error)
                      : gang__error(error, GANG_ESTALE, NULL, "no such queue");
    gang__submit_view_free_retired(sched);
    return r;
}

gang_result gang_queue_set_state(gang_sched *sched, gang_queue_id id, int32_t state)
{
    const struct gang__queue *q = sched ? gang__queue_by_id(sched->queues, id) : NULL;
    if (!sched || state < GANG_QUEUE_OPEN || state > GANG_QUEUE_CLOSED)
        return GANG_EINVAL;
    if (!q)
        return GANG_ESTALE;
    struct gang_queue_spec spec = *q->spec;
    spec.state = state;
    return gang_queue_change(sched, &spec, NULL);
}

/* The state of a queue that follows neither from its specification nor from its jobs. */
static void copy_past_use(struct gang__queue_state *to, const struct gang__queue_state *from)
{
    to->idle_since_ns = from->idle_since_ns;
    gang__stats_copy(to, from);
    if (to->past_use && from->past_use)
        memcpy(to->past_use, from->past_use, GANG__DIMS * sizeof(*to->past_use));
    to->past_restored = from->past_restored;
}

gang_result gang__queues_copy_tree(gang_sched *s, gang_sched *from, struct gang_error *error)
{
    struct gang__queues *queues = NULL;
    gang_queue_id next = from->intake.next_queue;
    struct gang__queue_list l;
    if (!gang__queue_list_now(from, 0, &l))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    const struct gang__queues_source source = {l.spec, l.count, l.made, from->queues};
    gang_result r = gang__queues_new(s->cluster, &s->mem, &source, &next, &queues, error);
    gang__queue_list_free(from, &l);
    if (r == GANG_OK)
        r = gang__queues_swap(s, queues, error);
    gang__submit_view_free_retired(s);
    s->intake.next_queue = next;
    for (uint32_t i = 0; r == GANG_OK && i < s->queues->count; i++)
        copy_past_use(s->qs[i], gang__queue_state_of(from, s->queues->queue[i].id));
    if (r == GANG_OK)
        copy_past_use(&s->root, &from->root);
    return r;
}
