/* SPDX-License-Identifier: Apache-2.0 */
/* Submitting, on any thread: everything that can be said about a job at once is said here,
 * against the queues as they are (read under RCU), and its record is made. The owner takes it in
 * later. */
#include <assert.h>
#include <string.h>

#include "base/rcu.h"
#include "base/two_pass_block.h"
#include "place/request/request.h"
#include "sched/intake/intake.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/reserve/reserve.h"
#include "sched/usage/usage.h"

/* ---- workers for questions ------------------------------------------------------------------- */

/* "Could it ever fit" needs a worker. A few are kept; if all are in use, the question is left to
 * whoever looks at the job later. */
static gang_worker *borrow(gang_sched *s, uint32_t *at)
{
    for (*at = 0; *at < sizeof(s->submit_lock) / sizeof(s->submit_lock[0]); ++*at) {
        uint32_t is_free = 0;
        if (!atomic_compare_exchange_strong(&s->submit_lock[*at], &is_free, 1))
            continue;
        if (s->submit_worker[*at] || gang_worker_new(s->cluster, &s->submit_worker[*at]) == GANG_OK)
            return s->submit_worker[*at];
        gang__store(&s->submit_lock[*at], 0);
        return NULL;
    }
    return NULL;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* A caller's spec, of his size, as the library knows it. */
static gang_result take_in(const struct gang_job_spec *from, struct gang_job_spec *spec,
                           struct gang_error *error)
{
    gang_result r = from ? gang__struct_in(spec, sizeof(*spec),
                                           offsetof(struct gang_job_spec, cookie), from, from->size)
                         : GANG_EINVAL;
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "struct gang_job_spec is not set up");
    return GANG_OK;
}

static gang_result bad(struct gang_error *error, gang_result r, const char *path, const char *text)
{
    return gang__error(error, r, path, "%s", text);
}

static gang_result check_numbers(const struct gang_job_spec *j, struct gang_error *error)
{
    const struct {
        const char *path;
        int64_t value;
    } at_least_0[] = {{"time_limit_ns", j->time_limit_ns},
                      {"max_restarts", j->max_restarts},
                      {"restart_delay_ns", j->restart_delay_ns},
                      {"refill_ns", j->refill_ns},
                      {"start_within_ns", j->start_within_ns},
                      {"back_off_ns", j->back_off_ns},
                      {"heartbeat_ns", j->heartbeat_ns},
                      {"begin_ns", j->begin_ns},
                      {"deadline_ns", j->deadline_ns}};
    for (size_t i = 0; i < sizeof(at_least_0) / sizeof(at_least_0[0]); i++)
        if (at_least_0[i].value < 0)
            return bad(error, GANG_ERANGE, at_least_0[i].path, "negative");
    if (j->deadline_ns > 0 &&
        gang__add_sat(j->begin_ns, j->time_limit_ns > 0 ? j->time_limit_ns : 1) > j->deadline_ns)
        return bad(error, GANG_EINVAL, "deadline_ns", "before begin_ns and the time limit");
    if (j->submit < -1 || j->submit > INT64_MAX / 4)
        return bad(error, GANG_ERANGE, "submit", "below -1, or too large");
    if (j->preemptible < 0 || j->preemptible > GANG_SEMI_PREEMPTIBLE)
        return bad(error, GANG_EINVAL, "preemptible", "no such value");
    if (j->loss < 0 || j->loss > GANG_LOSS_SHRINK)
        return bad(error, GANG_EINVAL, "loss", "no such value");
    if (j->name && strlen(j->name) > GANG_MAX_NAME)
        return bad(error, GANG_EINVAL, "name", "too long");
    if (j->user && strlen(j->user) > GANG_MAX_NAME)
        return bad(error, GANG_EINVAL, "user", "too long");
    return GANG_OK;
}

static gang_result check_groups(const struct gang_job_spec *j, struct gang_error *error)
{
    size_t groups = j->request.group_count;
    for (size_t i = 0; j->roles && i < groups; i++)
        if (j->roles[i] < 0 || j->roles[i] > GANG_ROLE_SIDECAR) {
            bad(error, GANG_EINVAL, NULL, "no such role");
            return gang__error_at(error, GANG_EINVAL, "roles[%zu]", i);
        }
    for (size_t i = 0; i < j->after_count; i++)
        if (j->after[i].when < 0 || j->after[i].when > GANG_AFTER_SUCCESS ||
            j->after[i].job == GANG_ID_NONE) {
            bad(error, GANG_EINVAL, NULL, "no job, or no such time");
            return gang__error_at(error, GANG_EINVAL, "after[%zu]", i);
        }
    if (j->after_count && j->after_size != sizeof(struct gang_job_after))
        return bad(error, GANG_EINVAL, "after_size", "is not that of struct gang_job_after");
    if (j->group_after_count && j->group_after_size != sizeof(struct gang_group_after))
        return bad(error, GANG_EINVAL, "group_after_size",
                   "is not that of struct gang_group_after");
    for (size_t i = 0; i < j->group_after_count; i++) {
        const struct gang_group_after *a = &j->group_after[i];
        if (a->group < 0 || (size_t)a->group >= groups || a->after < 0 ||
            (size_t)a->after >= groups || a->group == a->after || a->when < 0 ||
            a->when > GANG_AFTER_SUCCESS) {
            bad(error, GANG_EINVAL, NULL, "no such group or time, or a group after itself");
            return gang__error_at(error, GANG_EINVAL, "group_after[%zu]", i);
        }
    }
    return GANG_OK;
}

/* ---- parts: groups that wait for the same groups are one gang -------------------------------- */

/* A text of bits: which groups a group waits for, as a number that is the same for the same
 * sets. */
static uint64_t waits_of(const struct gang_job_spec *j, size_t group)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < j->group_after_count; i++)
        if ((size_t)j->group_after[i].group == group) {
            const int32_t key[] = {j->group_after[i].after, j->group_after[i].when};
            sum += gang__hash(GANG__HASH_SEED, key, sizeof(key)); /* in whatever order they stand */
        }
    return sum;
}

/* Which part each group is in; parts in the order of their first groups. Returns how many. */
static uint32_t number_parts(const struct gang_job_spec *j, uint32_t *part)
{
    uint32_t parts = 0;
    for (size_t g = 0; g < j->request.group_count; g++) {
        part[g] = parts;
        for (size_t k = 0; k < g && part[g] == parts; k++)
            if (waits_of(j, k) == waits_of(j, g))
                part[g] = part[k];
        parts += part[g] == parts;
    }
    return parts;
}

static bool has_cycle(const struct gang_job_spec *j, uint32_t *depth)
{
    size_t groups = j->request.group_count;
    memset(depth, 0, groups * sizeof(*depth));
    for (size_t round = 0; round <= groups; round++) {
        bool moved = false;
        for (size_t i = 0; i < j->group_after_count; i++) {
            const struct gang_group_after *a = &j->group_after[i];
            if (depth[a->group] <= depth[a->after]) {
                depth[a->group] = depth[a->after] + 1;
                moved = true;
            }
        }
        if (!moved)
            return false;
    }
    return true;
}

static const struct gang_group_spec *group_at(const struct gang_request_spec *q, size_t i)
{
    return (const struct gang_group_spec *)(const void *)((const char *)q->groups +
                                                          i * q->group_size);
}

static gang_result check_parts(const struct gang_job_spec *j, const uint32_t *part, uint32_t parts,
                               struct gang_error *error)
{
    int64_t sum = 0;
    if (parts == 1)
        return GANG_OK;
    if (j->request.group_size != sizeof(struct gang_group_spec))
        return bad(error, GANG_EINVAL, "request.group_size",
                   "is not that of struct gang_group_spec");
    for (size_t g = 0; g < j->request.group_count; g++) {
        sum += group_at(&j->request, g)->min;
        if (group_at(&j->request, g)->group_set >= 0)
            return bad(error, GANG_ENOTSUP, "request.sets",
                       "groups that wait for each other cannot be in sets");
    }
    if (j->request.same || j->request.prefer || j->request.min > sum)
        return bad(error, GANG_EINVAL, "group_after",
                   "the job binds groups together that do not start together");
    if (j->running)
        return bad(error, GANG_ENOTSUP, "running", "a job whose groups wait for each other");
    (void)part;
    return GANG_OK;
}

/* The request of one part, in `groups`. */
static void part_of(const struct gang_job_spec *j, const uint32_t *part, uint32_t which,
                    struct gang_group_spec *groups, struct gang_request_spec *q)
{
    size_t count = 0;
    int64_t sum = 0;
    *q = j->request;
    for (size_t g = 0; g < j->request.group_count; g++)
        if (part[g] == which) {
            groups[count] = *group_at(&j->request, g);
            sum += groups[count++].min;
        }
    q->groups = groups;
    q->group_count = count;
    q->min = sum;
}

/* ---- the record ------------------------------------------------------------------------------ */

struct make {
    gang_sched *s;
    const struct gang_job_spec *spec;
    const uint32_t *part;
    uint32_t parts;
    const struct gang_queue_spec *unused;
    const char *made;
};

static void *copy(struct gang__block *b, const void *from, size_t bytes)
{
    void *to = gang__block_alloc(b, bytes);
    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

/* Lay the job out in one block: measured first, then made. */
static struct gang__job *lay_out(const struct make *m, struct gang__block *b)
{
    const struct gang_job_spec *j = m->spec;
    size_t groups = j->request.group_count;
    struct gang__job *job = gang__block_alloc(b, sizeof(*job)), none;
    if (!job)
        job = &none;
    else
        memset(job, 0, sizeof(*job));
    job->unit = gang__block_alloc(b, m->parts * sizeof(struct gang__gang));
    job->wanted = gang__block_alloc(b, m->parts * sizeof(*job->wanted));
    int64_t *counts = gang__block_alloc(b, 4 * groups * sizeof(*counts));
    int32_t *group_of = m->parts == 1 ? NULL : gang__block_alloc(b, groups * sizeof(*group_of));
    job->name = gang__block_text(b, j->name ? j->name : "");
    job->user = gang__block_text(b, j->user ? j->user : "");
    job->made_queue = m->made[0] ? gang__block_text(b, m->made) : NULL;
    job->protected_groups =
        j->protected_groups ? copy(b, j->protected_groups, groups * sizeof(int32_t)) : NULL;
    job->group_order = j->group_order ? copy(b, j->group_order, groups * sizeof(int64_t)) : NULL;
    job->roles = j->roles ? copy(b, j->roles, groups * sizeof(int32_t)) : NULL;
    job->after = gang__block_alloc(b, j->after_count * sizeof(*job->after));
    job->group_after = copy(b, j->group_after, j->group_after_count * sizeof(*j->group_after));
    job->places = gang__block_alloc(b, j->place_count * sizeof(*job->places));
    if (!b->base)
        return NULL;
    memset(job->unit, 0, m->parts * sizeof(*job->unit));
    memset(job->wanted, 0, m->parts * sizeof(*job->wanted));
    memset(counts, 0, 4 * groups * sizeof(*counts));
    job->unit_count = m->parts;
    job->group_count = (uint32_t)groups;
    for (uint32_t p = 0; p < m->parts; p++) {
        struct gang__gang *u = &job->unit[p];
        size_t n = 0;
        u->job = job;
        u->part = p;
        u->has = counts;
        for (size_t g = 0; g < groups; g++)
            if (m->part[g] == p) {
                u->target += group_at(&j->request, g)->count;
                if (group_of)
                    group_of[n] = (int32_t)g;
                n++;
            }
        u->done = u->has + n;
        u->failed = u->done + n;
        u->taken = u->failed + n;
        counts += 4 * n;
        u->group_of = group_of;
        group_of = group_of ? group_of + n : NULL;
    }
    for (size_t i = 0; i < j->after_count; i++)
        job->after[i] = (struct gang__after){j->after[i].job, j->after[i].when};
    job->after_count = j->after_count;
    job->group_after_count = j->group_after_count;
    return (struct gang__job *)(void *)b->base; /* it lies first */
}

static void set_members(struct gang__job *job, const struct gang_job_spec *j,
                        const struct gang__queue *q)
{
    job->cookie = j->cookie;
    job->priority = j->priority;
    job->age = j->submit;
    job->time_limit_ns = j->time_limit_ns ? j->time_limit_ns : q->default_time_limit_ns;
    job->start_within_ns = j->start_within_ns;
    job->begin_ns = j->begin_ns ? j->begin_ns : INT64_MIN;
    job->deadline_ns = j->deadline_ns;
    job->back_off_ns = job->back_off_now = j->back_off_ns;
    job->restart_delay_ns = j->restart_delay_ns;
    job->refill_ns = j->refill_ns;
    job->heartbeat_ns = j->heartbeat_ns;
    job->max_restarts = j->max_restarts;
    job->due_ns = INT64_MAX;
    job->ready_ns = -1;
    job->not_before_ns = INT64_MIN;
    job->preemptible = j->preemptible;
    job->loss = j->loss;
    job->held = j->hold != 0;
    job->never_preempts = j->never_preempts != 0;
    job->stale = j->stale != 0;
    job->queue_id = q->id;
}

/* Where it runs: names to ids, numbers of devices to bits. */
static gang_result set_places(gang_sched *s, struct gang__job *job, const struct gang_job_spec *j,
                              struct gang_error *error)
{
    size_t group = 0, task = 0;
    for (size_t i = 0; i < j->place_count; i++, task++) {
        const struct gang_running_spec *at = &j->places[i];
        while (group < j->request.group_count &&
               task >= (size_t)group_at(&j->request, group)->count) {
            task -= (size_t)group_at(&j->request, group)->count;
            group++;
        }
        if (!at->node)
            continue;
        struct gang_placement *p = &job->places[job->place_count];
        *p = (struct gang_placement)GANG_PLACEMENT_INIT;
        gang_result r = gang_node_find(s->cluster, at->node, &p->node);
        if (r != GANG_OK || group >= j->request.group_count) {
            gang__error(error, r != GANG_OK ? r : GANG_EINVAL, NULL,
                        "no such node, or no such task");
            return gang__error_at(error, r != GANG_OK ? r : GANG_EINVAL, "places[%zu]", i);
        }
        p->group = (int32_t)group;
        p->any_devices = at->device_count == 0;
        for (size_t k = 0; k < at->device_count; k++) {
            const char *text = at->devices[k];
            int64_t number = 0;
            for (; *text >= '0' && *text <= '9' && number < GANG_MAX_GPUS; text++)
                number = number * 10 + (*text - '0');
            if (*text || number >= GANG_MAX_GPUS) {
                gang__error(error, GANG_EINVAL, NULL, "not the number of a device");
                return gang__error_at(error, GANG_EINVAL, "places[%zu].devices[%zu]", i, k);
            }
            p->gpus |= UINT64_C(1) << number;
        }
        job->place_count++;
    }
    return GANG_OK;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Could the gang ever start inside the limits of its queue and of those above? */
static gang_result check_limits(gang_sched *s, const struct gang__submit_view *door,
                                const struct gang__queue *q, const gang_request *request,
                                struct gang_error *error)
{
    const struct gang__queues *qs = door->queues;
    int64_t sum[GANG_MAX_KINDS] = {0};
    for (uint32_t g = 0; g < request->group_count; g++) {
        const struct gang__group *group = &request->group[g];
        sum[GANG_KIND_CPU] += (int64_t)group->cpu * group->min;
        sum[GANG_KIND_MEMORY] += (int64_t)group->pages * GANG_PAGE_BYTES * group->min;
        sum[GANG_KIND_GPU] += (int64_t)group->devices * group->share * group->min;
    }
    for (uint32_t at = q->index; at != GANG__NO_QUEUE; at = qs->queue[at].parent)
        for (uint32_t k = 0; k < GANG_KIND_SITE; k++) {
            int64_t limit = (int64_t)gang__load(&door->limit[at * qs->dims + k]);
            /* A limit that is not its own is that of a queue above, which is told of. */
            if (sum[k] <= limit || qs->queue[at].limit[k].how == GANG__QUOTA_NONE)
                continue;
            gang__error(error, GANG_ENEVER, "queue",
                        "the gang is above the limit of queue \"%s\" (%s)", qs->queue[at].name,
                        s->cluster->nodes.kind[k].name);
            if (error && error->size >= sizeof(*error)) {
                error->kind = (int32_t)k;
                error->requested = sum[k];
                error->available = limit;
            }
            return GANG_ENEVER;
        }
    return GANG_OK;
}

/* Of what is plain its key says all, and can be made before the request is checked. */
static bool is_plain(const struct gang_request_spec *q)
{
    if (q->size != sizeof(*q) || q->group_size != sizeof(*q->groups) || !q->groups ||
        q->group_count == 0 || q->group_count > 16 || q->group_set_size != sizeof(*q->group_sets) ||
        q->group_set_count || q->label_count || q->affinity_size != sizeof(*q->affinity) ||
        q->affinity_count || q->score || q->reserved0)
        return false;
    for (size_t i = 0; i < q->group_count; i++) {
        const struct gang_group_spec *g = &q->groups[i];
        if (g->size != sizeof(*g) || g->amount_count || g->label_count || g->gpu_model_count ||
            g->reserved0)
            return false;
    }
    return true;
}

bool gang__recent_lock(struct gang__recent *at)
{
    uint32_t is_free = 0;
    return atomic_compare_exchange_strong(&at->lock, &is_free, 1);
}

static struct gang__recent *lock_recent(gang_sched *s, uint64_t hash)
{
    struct gang__recent *at = &s->recent[hash % (sizeof(s->recent) / sizeof(s->recent[0]))];
    return gang__recent_lock(at) ? at : NULL;
}

/* relaxed: whoever gives out a reference has one himself */
static struct gang__request_text *get_wanted(struct gang__request_text *w)
{
    (void)atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
    return w;
}

static struct gang__request_text *take_recent(gang_sched *s, const struct gang__key *k)
{
    struct gang__recent *at = lock_recent(s, k->hash);
    if (!at)
        return NULL;
    struct gang__request_text *w = at->wanted;
    bool same = w && w->hash == k->hash && w->bytes == k->used &&
                at->epoch == gang__load(&s->cluster->nodes.epoch) &&
                memcmp(w->key, k->bytes, k->used) == 0;
    w = same ? get_wanted(w) : NULL;
    gang__store(&at->lock, 0);
    return w;
}

/* In the place of what was there. */
static void put_recent(gang_sched *s, struct gang__request_text *w, uint64_t epoch)
{
    struct gang__recent *at = lock_recent(s, w->hash);
    if (!at)
        return;
    struct gang__request_text *before = at->wanted;
    at->wanted = get_wanted(w);
    at->epoch = epoch;
    gang__store(&at->lock, 0);
    gang__request_text_unref(&s->mem, before);
}

void gang__recent_free(gang_sched *s)
{
    for (size_t i = 0; i < sizeof(s->recent) / sizeof(s->recent[0]); i++)
        gang__request_text_unref(&s->mem, s->recent[i].wanted);
}

static gang_result make_wanted(gang_sched *s, const struct gang_request_spec *spec,
                               struct gang__key *k, struct gang__request_text **wanted,
                               struct gang_error *error)
{
    bool plain = is_plain(spec);
    if (plain) {
        gang__key_make(k, &s->mem, spec);
        if (!k->failed && (*wanted = take_recent(s, k)) != NULL)
            return GANG_OK;
    }
    uint64_t epoch = gang__load(&s->cluster->nodes.epoch);
    gang_request *q;
    gang_result r = gang_request_new(s->cluster, spec, &q, error);
    if (r != GANG_OK)
        return gang__error_at(error, r, "request");
    if (!plain)
        gang__key_make(k, &s->mem, spec);
    *wanted = gang__request_text_new(k, q);
    if (!*wanted) {
        gang_request_free(q);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    if (plain)
        put_recent(s, *wanted, epoch);
    return GANG_OK;
}

static gang_result make_request(gang_sched *s, const struct gang__queue *q,
                                const struct gang_request_spec *spec,
                                struct gang__request_text **wanted, struct gang_error *error)
{
    struct gang_request_spec with = *spec;
    struct gang__key k;
    if (with.policy == GANG_POLICY_DEFAULT && with.size == sizeof(with))
        with.policy = q->policy;
    k.bytes = k.own;
    gang_result r = make_wanted(s, &with, &k, wanted, error);
    gang__key_free(&k);
    return r;
}

static gang_result fits_ever(gang_sched *s, gang_request *q, struct gang_error *error)
{
    uint32_t at;
    gang_worker *w = borrow(s, &at);
    if (!w)
        return GANG_OK;
    gang_result r = gang_request_fits_ever(w, q, error);
    gang__store(&s->submit_lock[at], 0);
    return r;
}

static gang_result make_requests(struct make *m, struct gang__job *job,
                                 const struct gang__submit_view *door, const struct gang__queue *q,
                                 struct gang_error *error)
{
    const struct gang_job_spec *j = m->spec;
    gang_result r = GANG_OK;
    struct gang_group_spec *groups = NULL;
    if (m->parts > 1 &&
        !(groups = gang__zalloc(&m->s->mem, j->request.group_count, sizeof(*groups))))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    for (uint32_t p = 0; p < m->parts && r == GANG_OK; p++) {
        struct gang_request_spec spec = j->request;
        if (m->parts > 1)
            part_of(j, m->part, p, groups, &spec);
        r = make_request(m->s, q, &spec, &job->wanted[p], error);
        if (r == GANG_OK && !j->running)
            r = check_limits(m->s, door, q, job->wanted[p]->q, error);
        if (r == GANG_OK && !j->running)
            r = fits_ever(m->s, job->wanted[p]->q, error);
    }
    gang__release(&m->s->mem, groups);
    return r;
}

/* ---- submitting ------------------------------------------------------------------------------ */

static gang_result may(gang_sched *s, const struct gang__queues *qs, const struct gang__queue *q,
                       int32_t action, const char *user, const char *const *groups, size_t count)
{
    if (s->ops.may)
        return s->ops.may(q->name, action, user, groups, count, s->user) == 0 ? GANG_OK
                                                                              : GANG_EPERM;
    return gang__queue_allows(qs, q, action, user, groups, count) ? GANG_OK : GANG_EPERM;
}

static gang_result check_queue(gang_sched *s, const struct gang__submit_view *door,
                               const struct gang_job_spec *j, const struct gang__queue *q,
                               struct gang_error *error)
{
    const char *user = j->user ? j->user : "";
    if (may(s, door->queues, q, GANG_MAY_SUBMIT, user, j->user_groups, j->user_group_count) !=
        GANG_OK)
        return gang__error(error, GANG_EPERM, "queue", "user \"%s\" may not submit to \"%s\"", user,
                           q->name);
    if (q->open_state != GANG_QUEUE_OPEN && !j->running)
        return gang__error(error, GANG_ECLOSED, "queue", "\"%s\" takes no new jobs", q->name);
    if (q->max_time_limit_ns && j->time_limit_ns > q->max_time_limit_ns)
        return bad(error, GANG_ELIMIT, "time_limit_ns", "more than the queue allows");
    return GANG_OK;
}

/* So many are on their way in, below this queue and up to `end`. */
static void arrive(const struct gang__submit_view *door, uint32_t at, uint32_t end, int64_t jobs)
{
    for (; at != end; at = door->queues->queue[at].parent)
        atomic_fetch_add(&door->arriving[at], (uint64_t)jobs);
}

void gang__job_arrives(gang_sched *s, struct gang__job *job, uint32_t at)
{
    const struct gang__submit_view *door = gang__load_relaxed(&s->door);
    arrive(door, at, GANG__NO_QUEUE, 1);
    job->door = door->number;
    job->at_door = at;
}

void gang__job_arrived(gang_sched *s, struct gang__job *job)
{
    const struct gang__submit_view *door = gang__load_relaxed(&s->door);
    if (job->door == door->number) /* an older one counts nobody any more */
        arrive(door, job->at_door, GANG__NO_QUEUE, -1);
    job->door = 0;
}

/* May so many more wait? Then they are counted, before others ask. */
static gang_result may_wait(const struct gang__submit_view *door, const struct gang__queue *q,
                            int64_t jobs, struct gang_error *error)
{
    for (uint32_t at = q->index; at != GANG__NO_QUEUE; at = door->queues->queue[at].parent) {
        const struct gang__queue *up = &door->queues->queue[at];
        int64_t before = (int64_t)atomic_fetch_add(&door->arriving[at], (uint64_t)jobs);
        if ((int64_t)gang__load(door->pending[at]) + before + jobs > up->max_pending) {
            arrive(door, q->index, up->parent, -jobs);
            return gang__error(error, GANG_ELIMIT, "queue",
                               "\"%s\" has as many waiting jobs as it may", up->name);
        }
    }
    return GANG_OK;
}

static gang_result make_job(struct make *m, const struct gang__submit_view *door,
                            const struct gang__queue *q, struct gang__job **out,
                            struct gang_error *error)
{
    struct gang__block b = {NULL, 0};
    gang_sched *s = m->s;
    (void)lay_out(m, &b);
    b.base = gang__alloc(&s->mem, b.used);
    if (!b.base)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    b.used = 0;
    struct gang__job *job = lay_out(m, &b);
    set_members(job, m->spec, q);
    job->bytes = b.used;
    gang_result r = make_requests(m, job, door, q, error);
    if (r == GANG_OK)
        r = m->spec->running ? set_places(s, job, m->spec, error) : GANG_OK;
    if (job->place_count == 0)
        job->places = NULL;
    if (r != GANG_OK) {
        gang__job_free(s, job);
        return r;
    }
    *out = job;
    return GANG_OK;
}

/* Consecutive ones, for jobs that lie last first. Returns them in order. */
static struct gang__job *give_ids(gang_sched *s, struct gang__job *jobs, int64_t count,
                                  gang_job_id *first)
{
    gang_job_id id = atomic_fetch_add(&s->next_job, (uint64_t)count) + (uint64_t)count;
    struct gang__job *ordered = NULL;
    *first = id - (uint64_t)count + 1;
    while (jobs) {
        struct gang__job *next = jobs->next;
        jobs->id = id--;
        jobs->next = ordered;
        ordered = jobs;
        jobs = next;
    }
    return ordered;
}

static gang_result submit(gang_sched *s, const struct gang_job_spec *j, int64_t count,
                          gang_job_id *first, struct gang_error *error)
{
    uint32_t small[2 * 64], *part = small;
    size_t groups = j->request.group_count;
    char made[GANG_MAX_NAME + 1] = "";
    const struct gang__queue *q = NULL;
    struct gang__job *jobs = NULL;
    gang_result r = GANG_OK;
    if (groups > 64 && !(part = gang__zalloc(&s->mem, 2 * groups, sizeof(*part))))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    struct make m = {s, j, part, 1, NULL, made};
    memset(part, 0, 2 * groups * sizeof(*part));
    if (j->group_after_count) {
        m.parts = number_parts(j, part);
        if (has_cycle(j, part + groups)) {
            r = gang__error(error, GANG_ECYCLE, "group_after",
                            "groups wait for each other in a circle");
            goto out;
        }
        r = check_parts(j, part, m.parts, error);
        if (r != GANG_OK)
            goto out;
    }
    gang__rcu_enter();
    const struct gang__submit_view *door = gang__load(&s->door);
    const struct gang__submitter who = {.queue = j->queue,
                                        .user = j->user ? j->user : "",
                                        .groups = j->user_groups,
                                        .group_count = j->user_group_count,
                                        .name = j->name ? j->name : "",
                                        .labels = j->request.labels,
                                        .label_count = j->request.label_count};
    r = gang__queue_for(door->queues, s->rules, &who, &q, made, error);
    if (r == GANG_OK)
        r = check_queue(s, door, j, q, error);
    gang_reservation_id reserved = GANG_ID_NONE;
    if (r == GANG_OK && j->reservation && j->reservation[0])
        r = gang__reserve_view_find(s, door, q, j, &reserved, error);
    bool counted = r == GANG_OK && !j->running;
    if (counted)
        r = may_wait(door, q, count, error);
    counted = counted && r == GANG_OK;
    for (int64_t i = 0; i < count && r == GANG_OK; i++) {
        struct gang__job *job = NULL;
        r = make_job(&m, door, q, &job, error);
        if (r == GANG_OK) {
            job->door = counted ? door->number : 0;
            job->at_door = q->index;
            job->reserve.id = reserved;
            job->next = jobs;
            jobs = job;
        }
    }
    if (r == GANG_OK) {
        struct gang__job *ordered = give_ids(s, jobs, count, first);
        jobs = NULL;
        assert(ordered); /* count is at least 1 */
        ordered->submit.what = GANG__MESSAGE_SUBMIT;
        gang__inbox_put(s, &ordered->submit);
    } else if (counted) {
        arrive(door, q->index, GANG__NO_QUEUE, -count);
    }
    gang__rcu_leave();
out:
    while (jobs) {
        struct gang__job *next = jobs->next;
        gang__job_free(s, jobs);
        jobs = next;
    }
    if (part != small)
        gang__release(&s->mem, part);
    return r;
}

gang_result gang_job_submit_array(gang_sched *sched, const struct gang_job_spec *spec,
                                  int64_t count, gang_job_id *first, struct gang_error *error)
{
    struct gang_job_spec j;
    if (first)
        *first = GANG_ID_NONE;
    if (!sched || !first)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler, or no place for the id");
    if (count < 1 || count > INT64_C(1) << 24)
        return gang__error(error, GANG_ERANGE, "count", "not from 1 to 2^24");
    gang_result r = take_in(spec, &j, error);
    if (r == GANG_OK && (!j.request.groups || j.request.group_count == 0))
        r = gang__error(error, GANG_EINVAL, "request.groups", "none");
    if (r == GANG_OK)
        r = check_numbers(&j, error);
    if (r == GANG_OK)
        r = check_groups(&j, error);
    return r == GANG_OK ? submit(sched, &j, count, first, error) : r;
}

gang_result gang_job_submit(gang_sched *sched, const struct gang_job_spec *spec, gang_job_id *id,
                            struct gang_error *error)
{
    return gang_job_submit_array(sched, spec, 1, id, error);
}

gang_result gang_sched_may(gang_sched *sched, const char *queue, int32_t action, const char *user,
                           const char *const *groups, size_t group_count)
{
    if (!sched || !queue || !user || action < GANG_MAY_SUBMIT || action > GANG_MAY_ADMINISTER)
        return GANG_EINVAL;
    gang__rcu_enter();
    const struct gang__submit_view *door = gang__load(&sched->door);
    const struct gang__queue *q = gang__queue_by_name(door->queues, queue);
    gang_result r =
        q ? may(sched, door->queues, q, action, user, groups, group_count) : GANG_ENOENT;
    gang__rcu_leave();
    return r;
}

gang_result gang_queue_find(gang_sched *sched, const char *name, gang_queue_id *id)
{
    if (id)
        *id = GANG_ID_NONE;
    if (!sched || !name || !id)
        return GANG_EINVAL;
    gang__rcu_enter();
    const struct gang__queue *q = gang__queue_by_name(gang__load(&sched->door)->queues, name);
    if (q)
        *id = q->id;
    gang__rcu_leave();
    return q ? GANG_OK : GANG_ENOENT;
}
