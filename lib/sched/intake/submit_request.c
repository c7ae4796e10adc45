/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a job: compiled, or found among recent ones; and checked against limits and
 * nodes. */
#include <string.h>

#include "sched/intake/submit_in.h"
#include "sched/usage/usage.h"

enum { MAX_NUMBER = 1 << 30 }; /* tasks of a job */

/* A worker that answers "could it ever fit". A few are kept; if all are in use, the question is
 * left to later runs. */
static gang_worker *borrow_worker(gang_sched *s, uint32_t *at)
{
    for (*at = 0; *at < sizeof(s->intake.submit_lock) / sizeof(s->intake.submit_lock[0]); ++*at) {
        if (!gang__try_lock(&s->intake.submit_lock[*at]))
            continue;
        if (s->intake.submit_worker[*at] ||
            gang_worker_new(s->cluster, &s->intake.submit_worker[*at]) == GANG_OK)
            return s->intake.submit_worker[*at];
        gang__store(&s->intake.submit_lock[*at], 0);
        return NULL;
    }
    return NULL;
}

/* Can the gang ever start inside the limits of its queue and of those above? */
static gang_result check_limits(gang_sched *s, const struct gang__submit_view *submit_view,
                                const struct gang__queue *q, const gang_request *request,
                                struct gang_error *error)
{
    const struct gang__queues *qs = submit_view->queues;
    int64_t sum[GANG_KIND_SITE] = {0};
    for (uint32_t g = 0; g < request->group_count; g++) {
        const struct gang__group *group = &request->group[g];
        sum[GANG_KIND_CPU] += (int64_t)group->cpu * group->min;
        sum[GANG_KIND_MEMORY] += (int64_t)group->pages * GANG_PAGE_BYTES * group->min;
        sum[GANG_KIND_GPU] += (int64_t)group->devices * group->share * group->min;
    }
    for (uint32_t at = q->index; at != GANG__NO_QUEUE; at = qs->queue[at].parent)
        for (uint32_t k = 0; k < GANG_KIND_SITE; k++) {
            int64_t limit = (int64_t)gang__load(&submit_view->limit[at * qs->dims + k]);
            /* a limit inherited from a queue above is reported there */
            if (sum[k] <= limit || qs->queue[at].limit[k].form == GANG__QUOTA_NONE)
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

/* Is the request plain? Then its key is complete, and is made before the request is checked. */
static bool is_plain(const struct gang_request_spec *q)
{
    if (q->size != sizeof(*q) || q->group_size != sizeof(*q->groups) || !q->groups ||
        q->group_count == 0 || q->group_count > 16 || q->group_set_size != sizeof(*q->group_sets) ||
        q->group_set_count || q->label_count || q->affinity_size != sizeof(*q->affinity) ||
        q->affinity_count || q->score || q->reserved0)
        return false;
    for (size_t i = 0; i < q->group_count; i++) {
        const struct gang_group_spec *g = &q->groups[i];
        if (g->size != sizeof(*g) || g->amount_count || g->label_count || g->gpu_model_count)
            return false;
    }
    return true;
}

bool gang__recent_lock(struct gang__recent *at)
{
    return gang__try_lock(&at->lock);
}

static struct gang__recent *recent_lock(gang_sched *s, uint64_t hash)
{
    struct gang__recent *at =
        &s->intake.recent[hash % (sizeof(s->intake.recent) / sizeof(s->intake.recent[0]))];
    return gang__recent_lock(at) ? at : NULL;
}

static struct gang__request_text *recent_get(gang_sched *s, const struct gang__request_key *key)
{
    struct gang__recent *at = recent_lock(s, key->hash);
    if (!at)
        return NULL;
    struct gang__request_text *text = at->text;
    bool same = text && text->hash == key->hash && text->bytes == key->used &&
                at->epoch == gang__load(&s->cluster->nodes.epoch) &&
                memcmp(text->key, key->bytes, key->used) == 0;
    text = same ? gang__request_text_ref(text) : NULL;
    gang__store(&at->lock, 0);
    return text;
}

/* Replaces the older one in its slot. */
static void recent_set(gang_sched *s, struct gang__request_text *text, uint64_t epoch)
{
    struct gang__recent *at = recent_lock(s, text->hash);
    if (!at)
        return;
    struct gang__request_text *before = at->text;
    at->text = gang__request_text_ref(text);
    at->epoch = epoch;
    gang__store(&at->lock, 0);
    gang__request_text_unref(&s->mem, before);
}

void gang__recent_free(gang_sched *s)
{
    for (size_t i = 0; i < sizeof(s->intake.recent) / sizeof(s->intake.recent[0]); i++)
        gang__request_text_unref(&s->mem, s->intake.recent[i].text);
}

/* The tasks of one gang of several keep their numbers in the job. */
static void number(const struct gang__submit *m, gang_request *request)
{
    if (m->numbers.in_job)
        gang__request_number(request, m->numbers.in_job, m->numbers.first);
}

static gang_result make_text(const struct gang__submit *m, const struct gang_request_spec *spec,
                             bool insists, struct gang__request_key *key,
                             struct gang__request_text **text, struct gang_error *error)
{
    gang_sched *s = m->s;
    bool plain = is_plain(spec) && !m->numbers.in_job;
    if (plain) {
        gang__request_key_make(key, &s->mem, spec, insists);
        if (!key->failed && (*text = recent_get(s, key)) != NULL)
            return GANG_OK;
    }
    uint64_t epoch = gang__load(&s->cluster->nodes.epoch);
    gang_request *request;
    gang_result r = gang_request_new(s->cluster, spec, &request, error);
    if (r != GANG_OK)
        return gang__error_at(error, r, "request");
    if (insists)
        gang__request_insist(request);
    number(m, request);
    if (!plain) {
        gang__request_key_make(key, &s->mem, spec, insists);
        gang__request_key_add_numbers(key, request);
    }
    *text = gang__request_text_new(key, request);
    if (!*text) {
        gang_request_free(request);
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    }
    if (plain)
        recent_set(s, *text, epoch);
    return GANG_OK;
}

static gang_result make_request(const struct gang__submit *m, const struct gang_request_spec *spec,
                                bool insists, struct gang__request_text **text,
                                struct gang_error *error)
{
    struct gang_request_spec with;
    struct gang__request_key key;
    if (spec->policy == GANG_POLICY_DEFAULT && spec->size == sizeof(with) &&
        m->q->policy != GANG_POLICY_DEFAULT) {
        with = *spec;
        with.policy = m->q->policy;
        spec = &with;
    }
    key.bytes = key.own;
    gang_result r = make_text(m, spec, insists, &key, text, error);
    gang__request_key_free(&key);
    return r;
}

static gang_result fits_ever(gang_sched *s, gang_request *request, struct gang_error *error)
{
    uint32_t at;
    gang_worker *w = borrow_worker(s, &at);
    if (!w)
        return GANG_OK;
    gang_result r = gang_request_fits_ever(w, request, error);
    gang__store(&s->intake.submit_lock[at], 0);
    return r;
}

/* ---- several partitions ---------------------------------------------------------------------- */

/* The groups that name no partition name this one; `groups` is the copy that is changed. */
static void set_partition(const struct gang_request_spec *spec, const char *name,
                          struct gang_group_spec *groups)
{
    for (size_t i = 0; i < spec->group_count; i++) {
        groups[i] = gang__submit_whole_group(spec, i);
        groups[i].partition = groups[i].partition ? groups[i].partition : name;
    }
}

/* Joins the texts `of` for each partition to one text. `spec` is the request in the first one. If
 * this succeeds, the references to the texts are taken over. */
static gang_result join_partitions(const struct gang__submit *m,
                                   const struct gang_request_spec *spec,
                                   struct gang__request_text **of, struct gang__request_text **text,
                                   struct gang_error *error)
{
    struct gang__request_key key;
    gang_request *request;
    size_t count = m->partition_count;
    gang_result r = gang_request_new(m->s->cluster, spec, &request, error);
    if (r != GANG_OK)
        return gang__error_at(error, r, "request");
    number(m, request);
    gang__request_key_make(&key, &m->s->mem, spec, false);
    gang__request_key_add_numbers(&key, request);
    gang__request_key_add_partitions(&key, m->partitions, count);
    *text = gang__request_text_partitioned(&key, request, of, count);
    gang__request_key_free(&key);
    if (*text)
        return GANG_OK;
    gang_request_free(request);
    return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
}

/* The text of a request that may be placed in any of the job's partitions. It can never run if it
 * fits into none of them. */
static gang_result make_partitioned(const struct gang__submit *m,
                                    const struct gang_request_spec *from,
                                    struct gang__request_text **text, struct gang_error *error)
{
    struct gang__request_text *of[GANG_MAX_JOB_PARTITIONS] = {NULL};
    struct gang_request_spec spec = *from;
    struct gang_group_spec *groups = gang__zalloc(&m->s->mem, spec.group_count, sizeof(*groups));
    gang_result r = groups ? GANG_OK : gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang_result fits = GANG_ENEVER;
    size_t count = m->partition_count;
    spec.groups = groups;
    spec.group_size = sizeof(*groups);
    for (size_t i = count; i-- > 0 && r == GANG_OK;) { /* the first one remains in `groups` */
        set_partition(from, m->partitions[i], groups);
        r = make_request(m, &spec, false, &of[i], error);
        if (r == GANG_OK && fits != GANG_OK && !gang__submit_is_known(m->spec))
            fits = fits_ever(m->s, of[i]->request, error);
    }
    if (r == GANG_OK && fits != GANG_OK && !gang__submit_is_known(m->spec))
        r = fits;
    if (r == GANG_OK && count == 1) {
        *text = of[0];
        of[0] = NULL;
    } else if (r == GANG_OK) {
        if (spec.policy == GANG_POLICY_DEFAULT && spec.size == sizeof(spec))
            spec.policy = m->q->policy;
        r = join_partitions(m, &spec, of, text, error);
    }
    for (size_t i = 0; i < count && !(r == GANG_OK && count > 1); i++)
        gang__request_text_unref(&m->s->mem, of[i]);
    gang__release(&m->s->mem, groups);
    return r;
}

/* The groups of one gang, and the first numbers of their tasks. GANG_ERANGE, GANG_ELIMIT: they have
 * no such number. */
static gang_result set_numbers(struct gang__submit *m, uint32_t gang, struct gang_error *error)
{
    struct gang__numbers *to = &m->numbers;
    const struct gang_request_spec *q = &m->spec->request;
    int64_t first = 0;
    size_t n = 0;
    for (size_t group = 0; group < q->group_count; group++) {
        int64_t count = gang__submit_group(q, group)->count;
        if (count < 1 || count > MAX_NUMBER)
            return GANG_OK; /* the check of the request says it */
        if (m->gang_of[group] == gang) {
            to->in_job[n] = (int32_t)group;
            to->first[n++] = first;
        }
        first += count;
        if (first > MAX_NUMBER)
            return gang__error(error, GANG_ELIMIT, "request.groups", "too many tasks");
    }
    return GANG_OK;
}

gang_result gang__submit_make_requests(struct gang__submit *m, struct gang__job *job,
                                       struct gang_error *error)
{
    const struct gang_job_spec *j = m->spec;
    gang_result r = GANG_OK;
    struct gang_group_spec *groups = NULL;
    size_t count = j->request.group_count;
    if (m->gang_count > 1) {
        groups =
            gang__zalloc(&m->s->mem, count,
                         sizeof(*groups) + sizeof(int64_t) + sizeof(int32_t) + GANG__GROUP_NAME);
        if (!groups)
            return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
        /* behind the names of groups */
        char *names = (char *)(groups + count);
        m->numbers.first = (int64_t *)(void *)(names + count * GANG__GROUP_NAME);
        m->numbers.in_job = (int32_t *)(void *)(m->numbers.first + count);
    }
    for (uint32_t p = 0; p < m->gang_count && r == GANG_OK; p++) {
        struct gang_request_spec own;
        const struct gang_request_spec *spec = &j->request;
        if (m->gang_count > 1) {
            gang__submit_gang_request(j, m->gang_of, p, groups, &own);
            spec = &own;
            r = set_numbers(m, p, error);
        }
        if (r != GANG_OK)
            break;
        struct gang__gang *g = &job->gang[p];
        bool several = m->partition_count > 0;
        r = several ? make_partitioned(m, spec, &g->text, error)
                    : make_request(m, spec, false, &g->text, error);
        if (r == GANG_OK && !gang__submit_is_known(j))
            r = check_limits(m->s, m->submit_view, m->q, g->text->request, error);
        if (r == GANG_OK && !gang__submit_is_known(j) && !several)
            r = fits_ever(m->s, g->text->request, error);
        if (r == GANG_OK && job->options->prefer_wait_ns > 0 &&
            gang__request_prefers(g->text->request)) {
            g->later_text = g->text;
            g->text = NULL;
            r = make_request(m, spec, true, &g->text, error);
        }
    }
    m->numbers = (struct gang__numbers){NULL, NULL};
    gang__release(&m->s->mem, groups);
    return r;
}
