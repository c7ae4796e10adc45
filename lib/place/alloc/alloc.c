/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates a gang: plan, commit, record. Also the dry run, and whether a gang could ever fit. */
#include "place/alloc/alloc.h"
#include "base/error.h"
#include "base/rcu.h"
#include "core/commit/commit.h"
#include "place/alloc/equal_nodes.h"
#include "place/explain/explain.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/record/record.h"
#include "place/search/search.h"
#include "place/state/records.h"

/* ---- planning a gang ------------------------------------------------------------------------- */

void gang__plan_start(struct gang__plan *p, gang_worker *w)
{
    gang__contention_begin(p, w);
    struct gang__plan_start *start = &p->start;
    enum { APART = 13 };            /* odd, so that 32 workers begin at 32 places of a word */
    if (p->snap || w->from_first) { /* no other thread is active: equal requests get equal plans */
        *start = (struct gang__plan_start){0};
        return;
    }
    uint32_t end = gang__load(&w->cluster->commit.slot_end);
    start->share = w->commit.index * UINT32_C(0x9e3779b1);
    start->slot = (uint32_t)((uint64_t)start->share * end >> 32);
    start->bit = w->commit.index * APART % GANG__FAN;
    start->in_bucket = w->gangs_apart > 0;
    w->gangs_apart -= start->in_bucket;
}

static gang_result plan_once(gang_worker *w, const gang_request *request, bool proof, bool empty)
{
    struct gang__plan *p = gang__plan_of(w);
    bool fits;
    int tries = 0;
    do {
        if (gang__plan_begin(p, w->cluster, request, empty) != GANG_OK)
            return GANG_ENOMEM;
        gang__plan_start(p, w);
        fits = gang__pack_request(p, proof);
    } while (p->out.replan && ++tries < GANG__SEARCHES);
    return gang__plan_result(p, fits);
}

/* Do the totals of the index already prove that the request does not fit? */
static bool index_cannot_fit(gang_worker *w, const gang_request *request)
{
    struct gang__plan *p = gang__plan_of(w);
    if (request->plain)
        return gang__search_cannot_fit(w->cluster, &request->group[0], request->min);
    return gang__plan_begin(p, w->cluster, request, false) == GANG_OK && gang__choose_cannot_fit(p);
}

/* A plan that keeps as many soft affinity rules as it can: the last one gives way first. */
static gang_result plan_with_soft_rules(gang_worker *w, const gang_request *request)
{
    struct gang__plan *p = gang__plan_of(w);
    gang_result r;
    uint32_t soft_count = request->soft_count;
    do {
        p->others.soft_count = soft_count;
        r = plan_once(w, request, false, false);
    } while (r == GANG_ENOFIT && !p->out.host && soft_count-- > 0);
    p->others.soft_count = 0;
    return r;
}

/* request->refused_at of a request that was placed since its last refusal. It is likely to be
 * refused again soon: the next search begins with the totals, too. */
#define REFUSED_LATELY UINT64_MAX

/* A plan for the whole gang, or a refusal that is true (core/commit/commit.c). */
static gang_result plan_gang(gang_worker *w, gang_request *request)
{
    /* Refused before, and nothing was released since: the refusal still holds. Only requests that
     * were refused read the stamp, because other threads write it all the time. */
    uint64_t refused = gang__load(&request->refused_at), stamp = 0;
    bool precheck = request->precheck && (request->large || refused);
    if (refused || precheck)
        stamp = gang__stamp_read(&w->cluster->commit);
    if (refused && refused == stamp + 1)
        return GANG_ENOFIT;
    const struct gang__plan *p = gang__plan_of(w);
    bool proved =
        precheck && index_cannot_fit(w, request) && gang__stamp_read(&w->cluster->commit) == stamp;
    gang_result r = proved                ? GANG_ENOFIT
                    : request->soft_count ? plan_with_soft_rules(w, request)
                                          : plan_once(w, request, false, false);
    for (int i = 0; i < GANG__SEARCHES && r == GANG_ENOFIT && !p->out.host && !proved; i++) {
        /* Only a refusal looks at the stamps, which other threads write all the time. */
        stamp = gang__stamp_read(&w->cluster->commit);
        r = plan_once(w, request, true, false);
        proved = r == GANG_ENOFIT && !p->out.host && gang__stamp_read(&w->cluster->commit) == stamp;
        if (r == GANG_ENOFIT && !p->out.host && !proved)
            r = plan_once(w, request, false, false);
    }
    /* The score function of the host may admit next time what it excluded now. */
    uint64_t now = refused && refused != REFUSED_LATELY ? REFUSED_LATELY : 0;
    if (r == GANG_ENOFIT && proved && !request->score)
        now = stamp + 1;
    if (now != refused)
        gang__store(&request->refused_at, now);
    return r;
}

uint64_t gang__capacity_stamp(gang_cluster *c)
{
    gang__rcu_enter();
    uint64_t stamp = gang__stamp_read(&c->commit);
    gang__rcu_leave();
    return stamp;
}

/* Note an answer for as long as the nodes do not change. */
static void remember(gang__a64 *where, uint64_t epoch)
{
    if (gang__load(where) != epoch)
        gang__store(where, epoch);
}

/* Could the request ever fit? One that was placed could. */
static gang_result fits_ever(gang_worker *w, gang_request *request)
{
    uint64_t epoch = gang__load(&w->cluster->nodes.epoch) + 1;
    if (gang__load(&request->fits_epoch) == epoch)
        return GANG_OK;
    if (gang__load(&request->never_epoch) == epoch)
        return GANG_ENEVER;
    gang_result r = plan_once(w, request, false, true);
    if (r == GANG_ENOFIT && request->group_count > 1) /* as plan_gang() does */
        r = plan_once(w, request, true, true);
    if (r != GANG_ENOMEM)
        remember(r == GANG_OK ? &request->fits_epoch : &request->never_epoch, epoch);
    return r == GANG_ENOFIT ? GANG_ENEVER : r;
}

/* Explain a refusal. `ever`: the result of fits_ever(). */
static gang_result refuse(gang_worker *w, gang_request *request, gang_result ever,
                          struct gang_error *error)
{
    struct gang__plan *p = gang__plan_of(w);
    w->stats.refusals++;
    if (ever == GANG_ENOMEM)
        return gang__error(error, ever, NULL, "out of memory");
    gang_result code = ever == GANG_OK ? GANG_ENOFIT : GANG_ENEVER;
    return error ? gang__explain(p, w->cluster, request, code, error) : code;
}

gang_result gang__check_call(gang_worker *w, const gang_request *request, struct gang_error *error)
{
    if (!w || !request)
        return gang__error(error, GANG_EINVAL, NULL, "no worker or no request");
    if (w->cluster != request->cluster)
        return gang__error(error, GANG_EINVAL, NULL, "the request is of another cluster");
    struct gang__placer *placer = gang__placer_of(w);
    if (!placer)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    placer->plan.out.host = 0;
    return GANG_OK;
}

gang_result gang__fail(const struct gang__plan *p, gang_result r, struct gang_error *error)
{
    if (p->out.host)
        return gang__error(error, r, "score", "the host's function returned %d", (int)r);
    return gang__error(error, r, NULL, "%s", gang_strerror(r));
}

/* ---- the gang -------------------------------------------------------------------------------- */

/* The caller's veto on the places before the commit. */
struct commit_check {
    struct gang__places *out;
    gang__alloc_may *may;
    void *user;
    bool declined;
};

static gang_result check_places(const struct gang__plan *p, void *user)
{
    struct commit_check *check = user;
    gang_result r = gang__places_of_plan(p, check->out);
    if (r == GANG_OK)
        r = check->may(check->out, check->user);
    check->declined = r != GANG_OK;
    return r;
}

static gang_result check_equal_nodes(const struct gang__places *places, void *user)
{
    struct commit_check *check = user;
    gang_result r = check->may(places, check->user);
    check->declined = r != GANG_OK;
    return r;
}

/* A gang of equal nodes. False: it is to be planned. */
static inline bool alloc_alike(gang_worker *w, gang_request *request, struct commit_check *check,
                               struct gang__alloc **a, gang_result *r)
{
    if (!check)
        return gang__equal_nodes_take(w, request, request->min, NULL, a, r);
    struct gang__equal_veto veto = {check->out, check_equal_nodes, check};
    return gang__equal_nodes_take(w, request, request->min, &veto, a, r);
}

/* Inside a read section. */
static inline gang_result alloc(gang_worker *w, gang_request *request, struct commit_check *check,
                                gang_alloc_id *id)
{
    struct gang__plan *p = gang__plan_of(w);
    uint64_t epoch = gang__load(&w->cluster->nodes.epoch) + 1;
    gang_result r;
    struct gang__alloc *a = NULL;
    if (gang__equal_nodes_suit(w, request) && alloc_alike(w, request, check, &a, &r)) {
        if (r == GANG_OK)
            *id = gang__alloc_publish(a);
        return r;
    }
    p->others.clashes = 0;
    do {
        r = plan_gang(w, request);
        if (r != GANG_OK)
            return r;
        a = NULL;
        int64_t helps = w->commit.helps;
        r = gang__plan_commit_record(w, request, &a, check ? check_places : NULL, check);
        bool lost = r == GANG_ENOFIT || w->commit.helps != helps;
        if (lost && request->min > 1)
            gang__contention_met(w);
        if ((lost || p->contention.met || w->commit.apart) && !(check && check->declined))
            gang__contention_note(w, p, lost, r == GANG_OK);
        if (r == GANG_OK)
            *id = gang__alloc_publish(a);
    } while (r == GANG_ENOFIT && !p->out.host && !(check && check->declined) &&
             p->others.clashes < GANG__SEARCHES);
    if (r == GANG_OK) {
        remember(&request->fits_epoch, epoch);
        gang__equal_nodes_learn(w, request);
    }
    return r;
}

gang_result gang_alloc(gang_worker *worker, gang_request *request, gang_alloc_id *id,
                       struct gang_error *error)
{
    if (id)
        *id = GANG_ID_NONE;
    gang_result r = id ? gang__check_call(worker, request, error)
                       : gang__error(error, GANG_EINVAL, NULL, "no place for the id");
    if (r != GANG_OK)
        return r;
    const struct gang__plan *p = gang__plan_of(worker);
    gang__rcu_enter();
    r = alloc(worker, request, NULL, id);
    if (r == GANG_ENOFIT && !p->out.host)
        r = refuse(worker, request, fits_ever(worker, request), error);
    else if (r != GANG_OK)
        gang__fail(p, r, error);
    gang__rcu_leave();
    return r;
}

gang_result gang__alloc_if(gang_worker *w, gang_request *request, struct gang__places *out,
                           gang__alloc_may *may, void *user, gang_alloc_id *id)
{
    struct commit_check check = {out, may, user, false};
    *id = GANG_ID_NONE;
    gang_result r = gang__check_call(w, request, NULL);
    if (r != GANG_OK)
        return r;
    gang__rcu_enter();
    r = alloc(w, request, &check, id);
    gang__rcu_leave();
    return r;
}

gang_result gang__request_verdict(gang_worker *w, gang_request *request)
{
    gang_result r = plan_gang(w, request);
    if (r != GANG_ENOFIT || gang__plan_of(w)->out.host)
        return r;
    r = fits_ever(w, request);
    return r == GANG_OK ? GANG_ENOFIT : r;
}

gang_result gang_alloc_test(gang_worker *worker, gang_request *request, struct gang_error *error)
{
    gang_result r = gang__check_call(worker, request, error);
    if (r != GANG_OK)
        return r;
    const struct gang__plan *p = gang__plan_of(worker);
    gang__rcu_enter();
    r = plan_gang(worker, request);
    if (r == GANG_ENOFIT && !p->out.host)
        r = refuse(worker, request, fits_ever(worker, request), error);
    else if (r != GANG_OK)
        gang__fail(p, r, error);
    gang__rcu_leave();
    return r;
}

gang_result gang_request_fits_ever(gang_worker *worker, gang_request *request,
                                   struct gang_error *error)
{
    gang_result r = gang__check_call(worker, request, error);
    if (r != GANG_OK)
        return r;
    gang__rcu_enter();
    r = fits_ever(worker, request);
    if (r == GANG_ENEVER && error)
        gang__explain(gang__plan_of(worker), worker->cluster, request, r, error);
    else if (r != GANG_OK)
        gang__error(error, r, NULL, "%s", gang_strerror(r));
    gang__rcu_leave();
    return r;
}

/* ---- memory in advance ----------------------------------------------------------------------- */

gang_result gang_worker_preallocate(gang_worker *worker, int64_t tasks)
{
    if (!worker)
        return GANG_EINVAL;
    if (tasks < 1 || tasks > 1 << 24)
        return GANG_ERANGE;
    if (!gang__placer_of(worker))
        return GANG_ENOMEM;
    struct gang__placer *placer = worker->place;
    enum { USUAL_WORDS = 8 }; /* of a node with eight GPUs and named cores */
    if (!gang__order_reserve(worker, (size_t)tasks) ||
        !gang__plan_reserve(&placer->plan, &worker->cluster->mem, (size_t)tasks, USUAL_WORDS))
        return GANG_ENOMEM;
    return gang__commit_reserve(&worker->commit, (size_t)tasks * USUAL_WORDS);
}
