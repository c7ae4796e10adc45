/* SPDX-License-Identifier: Apache-2.0 */
/* Queues at run time. Every change is a whole new tree: compiled and checked beside the one in
 * force (queue/queues.c), all memory that the change needs is got, and then it is swapped in at
 * once; jobs keep their queues by id. Submitters on other threads see the tree through a *door*,
 * under RCU. */
#include <string.h>

#include "base/rcu.h"
#include "place/request/request.h"
#include "queue/queue_spec.h"
#include "sched/backfill/candidates.h"
#include "sched/intake/intake.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/wait_order.h"
#include "sched/record/record.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"

/* ---- queues as they are ---------------------------------------------------------------------- */

enum { AMOUNTS = 6 }; /* arrays of a queue */

/* As many as there could ever be, so that other dimensions need no memory. */
static bool make_amounts(gang_sched *s, struct gang__queue_state *q)
{
    int64_t **const arrays[AMOUNTS] = {&q->guarantee, &q->limit, &q->share,
                                       &q->used,      &q->fixed, &q->want};
    q->block = gang__zalloc(&s->mem, AMOUNTS * (size_t)GANG__DIMS, sizeof(*q->block));
    if (s->opts.half_life_ns > 0)
        q->decayed = gang__zalloc(&s->mem, GANG__DIMS, sizeof(*q->decayed));
    if (!q->block || (s->opts.half_life_ns > 0 && !q->decayed))
        return false;
    for (size_t i = 0; i < AMOUNTS; i++)
        *arrays[i] = q->block + i * GANG__DIMS;
    return true;
}

bool gang__config_root(gang_sched *s)
{
    gang__order_init(&s->root);
    return make_amounts(s, &s->root);
}

static void free_users(gang_sched *s, struct gang__queue_state *q)
{
    for (size_t b = 0; b < q->users.cap; b++)
        while (q->users.bucket[b]) {
            struct gang__user *user = GANG__OF(struct gang__user, link, q->users.bucket[b]);
            gang__hash_remove(&q->users, &user->link);
            gang__release(&s->mem, user);
        }
    gang__hash_free(&q->users, &s->mem);
    memset(&q->users, 0, sizeof(q->users));
}

static void free_qs(gang_sched *s, struct gang__queue_state *q)
{
    if (!q)
        return;
    for (size_t b = 0; b < q->bins.cap; b++)
        while (q->bins.bucket[b]) {
            struct gang__wait_class *bin =
                GANG__OF(struct gang__wait_class, link, q->bins.bucket[b]);
            gang__hash_remove(&q->bins, &bin->link);
            gang__candidates_forget(s, bin);
            gang__release(&s->mem, bin);
        }
    gang__hash_free(&q->bins, &s->mem);
    gang__hash_free(&q->backfill.by_key, &s->mem);
    free_users(s, q);
    gang__release(&s->mem, q->block);
    gang__release(&s->mem, q->decayed);
    if (q != &s->root)
        gang__release(&s->mem, q);
}

/* ---- doors ----------------------------------------------------------------------------------- */

static void release_door(const struct gang_mem *mem, struct gang__submit_view *d)
{
    gang__release(mem, d->limit);
    gang__release(mem, d->pending);
    gang__release(mem, d->arriving);
    gang__release(mem, d);
}

static struct gang__submit_view *new_door(gang_sched *s, struct gang__queues *queues)
{
    size_t amounts = (size_t)queues->count * queues->dims;
    struct gang__submit_view *d = gang__zalloc(&s->mem, 1, sizeof(*d));
    if (!d)
        return NULL;
    d->limit = gang__zalloc(&s->mem, amounts + 1, sizeof(*d->limit));
    d->pending = gang__zalloc(&s->mem, queues->count + 1, sizeof(*d->pending));
    d->arriving = gang__zalloc(&s->mem, queues->count + 1, sizeof(*d->arriving));
    if (!d->limit || !d->pending || !d->arriving) {
        release_door(&s->mem, d);
        return NULL;
    }
    d->queues = queues;
    d->number = ++s->doors;
    return d;
}

static void free_door(gang_sched *s, struct gang__submit_view *d)
{
    while (d->gone) {
        struct gang__queue_state *q = d->gone;
        d->gone = q->next;
        free_qs(s, q);
    }
    gang__queues_free(d->queues, &s->mem);
    release_door(&s->mem, d);
}

/* Waits until no submitter is at an old one. */
static void free_retired(gang_sched *s)
{
    if (!s->retired)
        return;
    gang__rcu_wait();
    while (s->retired) {
        struct gang__submit_view *d = s->retired;
        s->retired = d->retired;
        free_door(s, d);
    }
    s->retired_count = 0;
}

/* ---- the swap -------------------------------------------------------------------------------- */

struct swap {
    gang_sched *s;
    struct gang__queues *queues;
    struct gang__queue_state **qs;
    struct gang__submit_view *door;
    struct gang__sharer *sharer;
    struct gang__share_slot *slot;
    int64_t *resolved;
    bool rebuild; /* everybody leaves his bins and books, and enters them anew */
};

static bool same_dims(const struct gang__queues *a, const struct gang__queues *b)
{
    return a && a->dims == b->dims && memcmp(a->dim, b->dim, a->dims * sizeof(*a->dim)) == 0;
}

static gang_result index_error(struct gang_error *error, gang_result r, const char *name,
                               const char *text)
{
    gang__error(error, r, NULL, "queue \"%s\" %s", name, text);
    return r;
}

/* What only jobs can forbid. */
static gang_result check_jobs(const gang_sched *s, const struct gang__queues *queues,
                              struct gang_error *error)
{
    for (uint32_t i = 0; s->queues && i < s->queues->count; i++) {
        const struct gang__queue_state *old = s->qs[i];
        const struct gang__queue *now = gang__queue_by_id(queues, old->q->id);
        if (old->jobs > 0 && !now)
            return index_error(error, GANG_EBUSY, old->q->name, "has jobs");
        if (old->q->leaf && old->jobs > 0 && !now->leaf)
            return index_error(error, GANG_EINVAL, old->q->name,
                               "has jobs, and would no longer be a leaf");
    }
    return GANG_OK;
}

static bool needs_rebuild(const gang_sched *s, const struct gang__queues *queues)
{
    if (!same_dims(s->queues, queues))
        return true;
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__queue *old = s->qs[i]->q, *now = gang__queue_by_id(queues, old->id);
        if (!now)
            continue;
        gang_queue_id a = old->parent == GANG__NO_QUEUE ? 0 : s->queues->queue[old->parent].id;
        gang_queue_id b = now->parent == GANG__NO_QUEUE ? 0 : queues->queue[now->parent].id;
        if (a != b || old->order != now->order || old->leaf != now->leaf ||
            old->backfill != now->backfill || old->plan_depth != now->plan_depth ||
            old->backfill_order != now->backfill_order ||
            gang__asks_users(old) != gang__asks_users(now))
            return true;
    }
    return false;
}

static void swap_free(struct swap *w)
{
    const struct gang_mem *mem = &w->s->mem;
    for (uint32_t i = 0; w->qs && i < w->queues->count; i++)
        if (w->qs[i] && !w->qs[i]->q)
            free_qs(w->s, w->qs[i]);
    gang__release(mem, w->qs);
    gang__release(mem, w->sharer);
    gang__release(mem, w->slot);
    gang__release(mem, w->resolved);
    if (w->door)
        release_door(mem, w->door);
    gang__queues_free(w->queues, mem);
}

/* Queues that go on, and new ones (their q is NULL until the swap). */
static bool make_qs(struct swap *w)
{
    gang_sched *s = w->s;
    for (uint32_t i = 0; i < w->queues->count; i++) {
        struct gang__queue_state *q =
            s->queues ? gang__queue_state_of(s, w->queues->queue[i].id) : NULL;
        if (!q) {
            q = gang__zalloc(&s->mem, 1, sizeof(*q));
            if (!q)
                return false;
            w->qs[i] = q;
            if (!make_amounts(s, q))
                return false;
        }
        w->qs[i] = q;
    }
    return true;
}

/* What a rebuild will need: amounts of new dimensions, room in asks, users of leaves that ask
 * for them. */
static bool make_room(struct swap *w)
{
    gang_sched *s = w->s;
    for (size_t b = 0; b < s->asks.cap; b++)
        for (struct gang__hash_link *n = s->asks.bucket[b]; n; n = n->next) {
            struct gang__request_class *ask = GANG__OF(struct gang__request_class, link, n);
            if (!gang__grow(&s->mem, (void **)&ask->take, &ask->take_room,
                            (size_t)ask->q->group_count * w->queues->dims, sizeof(*ask->take)))
                return false;
        }
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, all, n);
        const struct gang__queue *q = gang__queue_by_id(w->queues, job->leaf->q->id);
        if (q && gang__asks_users(q) && !gang__user_of(s, job->leaf, job->user))
            return false;
    }
    return true;
}

static bool prepare(struct swap *w)
{
    const struct gang_mem *mem = &w->s->mem;
    size_t n = w->queues->count + 1;
    w->qs = gang__zalloc(mem, n, sizeof(struct gang__queue_state *));
    w->sharer = gang__zalloc(mem, n, sizeof(*w->sharer));
    w->slot = gang__zalloc(mem, n, sizeof(*w->slot));
    w->resolved = gang__zalloc(mem, 2 * n * w->queues->dims, sizeof(*w->resolved));
    w->door = new_door(w->s, w->queues);
    w->rebuild = needs_rebuild(w->s, w->queues);
    return w->qs && w->sharer && w->slot && w->resolved && w->door && make_qs(w) &&
           (!w->rebuild || make_room(w));
}

static void all_leave(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, all, n);
        for (uint32_t i = 0; i < job->unit_count; i++) {
            gang__order_leave(s, &job->unit[i]);
            gang__victims_leave(&job->unit[i]);
        }
    }
}

/* A queue begins to count anew, in the dimensions in force. */
static void count_anew(struct gang__queue_state *q)
{
    memset(q->block, 0, AMOUNTS * (size_t)GANG__DIMS * sizeof(*q->block));
    q->tasks = q->running = q->pending = q->jobs = q->coming = 0;
    gang__store(&q->waiting, 0);
    q->blocked = NULL;
    q->barring = NULL;
    q->active = false;
    gang__order_init(q);
    for (size_t b = 0; b < q->users.cap; b++)
        for (struct gang__hash_link *n = q->users.bucket[b]; n; n = n->next) {
            struct gang__user *user = GANG__OF(struct gang__user, link, n);
            memset(user->used, 0, GANG__DIMS * sizeof(*user->used));
            user->running = user->waiting = user->coming = 0;
        }
}

static void enter_books(gang_sched *s, struct gang__job *job)
{
    struct gang__queue_state *leaf = job->leaf;
    job->user_in = gang__asks_users(leaf->q) ? gang__user_of(s, leaf, job->user) : NULL;
    job->counted_pending = job->counted_running = false;
    for (uint32_t i = 0; i < job->unit_count; i++) {
        struct gang__gang *u = &job->unit[i];
        (void)gang__class_refresh(s, u->ask);
        if (job->state == GANG_JOB_ENDED)
            continue;
        if (job->user_in)
            job->user_in->waiting += u->wanted;
        gang__usage_in(s, u);
        if (u->claim && u->claim->charged)
            gang__handover_charge(u->claim, 1);
        if (u->moving)
            gang__usage_promise(u, -1, 1);
        if (u->claim && u->claim->comes) {
            u->claim->comes = false; /* nobody counts it any more */
            gang__handover_comes(u->claim, true);
        }
        if (u->alloc != GANG_ID_NONE)
            gang__victims_enter(s, u);
    }
    if (job->state == GANG_JOB_ENDED)
        return;
    gang__job_count(s, job);
    for (struct gang__queue_state *q = leaf; q; q = q->parent)
        q->jobs++;
}

static void all_enter(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n))
        enter_books(s, GANG__OF(struct gang__job, all, n));
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n))
        gang__job_settle(s, GANG__OF(struct gang__job, all, n));
}

static void link_queues(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++) {
        struct gang__queue_state *q = s->qs[i];
        bool is_new = !q->q;
        q->q = &s->queues->queue[i];
        q->parent = q->q->parent == GANG__NO_QUEUE ? &s->root : s->qs[q->q->parent];
        if (is_new) {
            gang__order_init(q);
            q->idle_since_ns = s->now_ns;
        }
        gang__load_relaxed(&s->door)->pending[i] = &q->waiting;
    }
}

void gang__config_enter(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        count_anew(s->qs[i]);
    count_anew(&s->root);
    s->total_epoch = 0; /* the amounts in force are to be made out anew, too */
    all_enter(s);
}

/* From here nothing can fail. */
static void commit(struct swap *w)
{
    gang_sched *s = w->s;
    struct gang__submit_view *before = gang__load_relaxed(&s->door);
    struct gang__queue_state **old = s->qs;
    uint32_t count = s->queues ? s->queues->count : 0;
    s->heard++;
    if (s->queues)
        gang__candidates_dissolve(s);
    if (w->rebuild && s->queues)
        all_leave(s);
    gang__order_forget(s);
    for (uint32_t i = 0; i < count; i++)
        if (!gang__queue_by_id(w->queues, old[i]->q->id)) {
            old[i]->next = before->gone;
            before->gone = old[i];
        }
    gang__release(&s->mem, old);
    if (s->sharer) {
        gang__release(&s->mem, s->sharer);
        gang__release(&s->mem, s->share_slot);
        gang__release(&s->mem, s->resolved);
    }
    s->queues = w->queues;
    s->qs = w->qs;
    s->sharer = w->sharer;
    s->share_slot = w->slot;
    s->resolved = w->resolved;
    s->dims = w->queues->dims;
    gang__store(&s->door, w->door);
    link_queues(s);
    s->config_count++;
    gang__slice_configure(s);
    if (before) {
        before->retired = s->retired;
        s->retired = before;
        s->retired_count++;
    }
    s->total_epoch = 0;
}

static gang_result swap_in(gang_sched *s, struct gang__queues *queues, struct gang_error *error)
{
    struct swap w = {s, queues, NULL, NULL, NULL, NULL, NULL, false};
    gang_result r = check_jobs(s, queues, error);
    if (r == GANG_OK && queues->slices && s->reserve.count > 0)
        r = gang__error(error, GANG_ENOTSUP, NULL, "no time slices where something is reserved");
    if (r == GANG_OK && !prepare(&w))
        r = gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (r != GANG_OK) {
        swap_free(&w);
        return r;
    }
    commit(&w);
    if (w.rebuild) {
        gang__config_enter(s);
    } else {
        for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n))
            gang__job_settle(s, GANG__OF(struct gang__job, all, n));
    }
    s->wake.shares = true;
    s->root.moved = UINT64_MAX;
    gang__fair_refresh(s);
    return GANG_OK;
}

/* ---- lists of specifications ----------------------------------------------------------------- */

struct list {
    struct gang_queue_spec *spec;
    bool *made;
    size_t count;
};

static void list_free(gang_sched *s, struct list *l)
{
    gang__release(&s->mem, l->spec);
    gang__release(&s->mem, l->made);
}

/* Those in force, and room for more. */
static bool list_now(gang_sched *s, size_t more, struct list *l)
{
    size_t n = s->queues->count;
    l->spec = gang__zalloc(&s->mem, n + more, sizeof(*l->spec));
    l->made = gang__zalloc(&s->mem, n + more, sizeof(*l->made));
    l->count = 0;
    if (!l->spec || !l->made) {
        list_free(s, l);
        return false;
    }
    for (; l->count < n; l->count++) {
        l->spec[l->count] = *s->queues->queue[l->count].spec;
        l->made[l->count] = s->queues->queue[l->count].made;
    }
    return true;
}

static gang_result apply(gang_sched *s, const struct gang_queue_spec *specs, size_t count,
                         const bool *made, struct gang_error *error)
{
    struct gang__queues *queues;
    gang_result r = gang__queues_new(s->cluster, &s->mem, specs, count, made, s->queues,
                                     &s->next_queue, &queues, error);
    return r == GANG_OK ? swap_in(s, queues, error) : r;
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

/* Those given, as the library knows them, and those that were made on demand and whose parents
 * are still there. */
static gang_result with_made(gang_sched *s, const struct gang_queue_spec *specs, size_t count,
                             struct list *l, struct gang_error *error)
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
    struct list l = {NULL, NULL, 0};
    gang_result r =
        count > 0 ? with_made(sched, queues, count, &l, error) : gang__config_default(sched, error);
    if (r == GANG_OK && count > 0)
        r = apply(sched, l.spec, l.count, l.made, error);
    list_free(sched, &l);
    free_retired(sched);
    return r;
}

gang_result gang__config_default(gang_sched *s, struct gang_error *error)
{
    static const struct gang_quota all[] = {{"cpu", GANG_UNLIMITED, NULL, 0, 0}};
    struct gang_queue_spec spec = GANG_QUEUE_SPEC_INIT;
    spec.name = "default";
    spec.guaranteed =
        all; /* of other kinds nothing is managed, so that nothing is above its guarantee */
    spec.guaranteed_count = 1;
    return apply(s, &spec, 1, NULL, error);
}

/* ---- one at a time --------------------------------------------------------------------------- */

/* "queues[3].limit.gpu" of a list that the caller does not know becomes "limit.gpu". */
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
    struct list l;
    if (id)
        *id = GANG_ID_NONE;
    gang_result r = take_spec(sched, spec, &with, error);
    if (r != GANG_OK)
        return r;
    if (!list_now(sched, 1, &l))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    l.spec[l.count++] = with;
    r = own_path(error, apply(sched, l.spec, l.count, l.made, error));
    list_free(sched, &l);
    free_retired(sched);
    if (r == GANG_OK && id)
        r = gang_queue_find(sched, with.name, id);
    return r;
}

static size_t find_spec(const struct list *l, const char *name)
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
    struct list l;
    gang_result r = take_spec(sched, spec, &with, error);
    if (r != GANG_OK)
        return r;
    if (!list_now(sched, 0, &l))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    size_t at = find_spec(&l, with.name);
    if (at == l.count) {
        r = gang__error(error, GANG_ENOENT, "name", "no queue \"%s\"", with.name);
    } else {
        l.spec[at] = with;
        r = own_path(error, apply(sched, l.spec, l.count, l.made, error));
    }
    list_free(sched, &l);
    free_retired(sched);
    return r;
}

static gang_result without(gang_sched *s, const struct gang__queue *q, struct gang_error *error)
{
    struct list l;
    if (q->first_child != GANG__NO_QUEUE)
        return gang__error(error, GANG_EBUSY, NULL, "it has children");
    if (s->queues->count == 1)
        return gang__error(error, GANG_EBUSY, NULL, "it is the last one");
    if (!list_now(s, 0, &l))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    size_t at = find_spec(&l, q->name);
    l.count--;
    memmove(&l.spec[at], &l.spec[at + 1], (l.count - at) * sizeof(*l.spec));
    memmove(&l.made[at], &l.made[at + 1], (l.count - at) * sizeof(*l.made));
    gang_result r = own_path(error, apply(s, l.spec, l.count, l.made, error));
    list_free(s, &l);
    return r;
}

gang_result gang_queue_remove(gang_sched *sched, gang_queue_id id, struct gang_error *error)
{
    if (!sched)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler");
    if (sched->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    const struct gang__queue *q = gang__queue_by_id(sched->queues, id);
    gang_result r =
        q ? without(sched, q, error) : gang__error(error, GANG_ESTALE, NULL, "no such queue");
    free_retired(sched);
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

/* ---- of another scheduler -------------------------------------------------------------------- */

/* What a queue has that neither its description nor its jobs tell. */
static void copy_past(struct gang__queue_state *to, const struct gang__queue_state *from)
{
    to->idle_since_ns = from->idle_since_ns;
    if (to->decayed && from->decayed)
        memcpy(to->decayed, from->decayed, GANG__DIMS * sizeof(*to->decayed));
}

gang_result gang__config_copy(gang_sched *s, gang_sched *from, struct gang_error *error)
{
    struct gang__queues *queues = NULL;
    gang_queue_id next = from->next_queue;
    struct list l;
    if (!list_now(from, 0, &l))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang_result r = gang__queues_new(s->cluster, &s->mem, l.spec, l.count, l.made, from->queues,
                                     &next, &queues, error);
    list_free(from, &l);
    if (r == GANG_OK)
        r = swap_in(s, queues, error);
    free_retired(s);
    s->next_queue = next;
    for (uint32_t i = 0; r == GANG_OK && i < s->queues->count; i++)
        copy_past(s->qs[i], gang__queue_state_of(from, s->queues->queue[i].id));
    if (r == GANG_OK)
        copy_past(&s->root, &from->root);
    return r;
}

/* ---- made on demand -------------------------------------------------------------------------- */

gang_result gang__config_make(gang_sched *s, gang_queue_id parent, const char *name,
                              struct gang__queue_state **leaf)
{
    const struct gang__queue *q = gang__queue_by_name(s->queues, name);
    const struct gang__queue *up = gang__queue_by_id(s->queues, parent);
    gang_result r = GANG_OK;
    struct list l;
    *leaf = NULL;
    if (!q) {
        if (!up || !up->spec->child || !gang__queue_has_room(s->queues, up))
            return GANG_ENOENT;
        if (!list_now(s, 1, &l))
            return GANG_ENOMEM;
        l.spec[l.count] = *up->spec->child;
        l.spec[l.count].name = name;
        l.spec[l.count].parent = up->name;
        l.made[l.count++] = true;
        r = apply(s, l.spec, l.count, l.made, NULL);
        list_free(s, &l);
        if (s->retired_count > 64)
            free_retired(s);
        q = r == GANG_OK ? gang__queue_by_name(s->queues, name) : NULL;
    }
    *leaf = q ? s->qs[q->index] : NULL;
    return r;
}

static int64_t idle_until(const struct gang__queue_state *q)
{
    const struct gang__queue *up = q->q->made ? q->parent->q : NULL;
    int64_t after = up ? up->spec->child_idle_ns : 0;
    if (after <= 0 || q->idle_since_ns == INT64_MAX || q->jobs > 0)
        return INT64_MAX;
    return gang__add_sat(q->idle_since_ns, after);
}

int64_t gang__config_next(const gang_sched *s)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; s->queues->count > 1 && i < s->queues->count; i++) {
        int64_t until = s->queues->queue[i].made ? idle_until(s->qs[i]) : INT64_MAX;
        next = until < next ? until : next;
    }
    return next;
}

void gang__config_idle(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        if (s->queues->queue[i].made && idle_until(s->qs[i]) <= s->now_ns &&
            without(s, &s->queues->queue[i], NULL) == GANG_OK)
            i = UINT32_MAX; /* another tree */
}

/* ---- reading --------------------------------------------------------------------------------- */

gang_result gang_queue_get_spec(gang_sched *sched, gang_queue_id id, struct gang_queue_spec **spec)
{
    if (spec)
        *spec = NULL;
    if (!sched || !spec)
        return GANG_EINVAL;
    const struct gang__queue *q = gang__queue_by_id(sched->queues, id);
    return q ? gang__queue_spec_copy(&gang__mem_libc, q->spec, spec) : GANG_ESTALE;
}

void gang_queue_spec_free(struct gang_queue_spec *spec)
{
    gang__release(&gang__mem_libc, spec);
}

static int64_t shown(int64_t amount)
{
    return amount == GANG__NO_BOUND ? GANG_UNLIMITED : amount;
}

gang_result gang_queue_get(gang_sched *sched, gang_queue_id id, struct gang_queue_info *info)
{
    if (!sched || !info)
        return GANG_EINVAL;
    struct gang__queue_state *q = gang__queue_state_of(sched, id);
    if (!q)
        return GANG_ESTALE;
    if (!sched->running)
        gang__fair_refresh(sched);
    struct gang_queue_info out;
    memset(&out, 0, sizeof(out));
    out.size = info->size;
    out.id = id;
    out.parent = q->parent->q ? q->parent->q->id : GANG_ID_NONE;
    out.state = q->q->state;
    out.is_leaf = q->q->leaf;
    out.running = q->running;
    out.pending = q->pending;
    out.tasks = q->tasks;
    for (uint32_t d = 0; d < sched->dims; d++) {
        int32_t kind = sched->queues->dim[d].kind;
        if (sched->queues->dim[d].partition)
            continue;
        out.guarantee[kind] = shown(q->guarantee[d]);
        out.limit[kind] = shown(q->limit[d]);
        out.share[kind] = shown(q->share[d]);
        out.used[kind] = q->used[d];
        out.used_fixed[kind] = q->fixed[d];
        int64_t demand = q->used[d] + q->want[d];
        out.demand[kind] = demand < q->limit[d] ? demand : q->limit[d];
    }
    strncpy(out.name, q->q->name, sizeof(out.name) - 1);
    out.backfill = q->q->backfill;
    out.plan_depth = q->q->plan_depth == GANG__NO_BOUND ? 0 : q->q->plan_depth;
    out.planned = q->calendar.planned_count;
    gang__slice_info(sched, q, &out);
    return gang__struct_out(info, info->size, offsetof(struct gang_queue_info, backfill), &out,
                            sizeof(out));
}

gang_queue_id gang_queue_next(gang_sched *sched, gang_queue_id id)
{
    const struct gang__queue *q = sched ? gang__queue_by_id(sched->queues, id) : NULL;
    uint32_t next = q ? q->index + 1 : 0;
    if (!sched || (id != GANG_ID_NONE && !q) || next >= sched->queues->count)
        return GANG_ID_NONE;
    return sched->queues->queue[next].id;
}

/* ---- the end --------------------------------------------------------------------------------- */

void gang__config_free(gang_sched *s)
{
    struct gang__submit_view *door = gang__load_relaxed(&s->door);
    for (uint32_t i = 0; s->queues && i < s->queues->count; i++)
        free_qs(s, s->qs[i]);
    free_qs(s, &s->root);
    free_retired(s);
    if (door)
        free_door(s, door);
    void *const rest[] = {s->qs, s->sharer, s->share_slot, s->resolved};
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
        gang__release(&s->mem, rest[i]);
}
