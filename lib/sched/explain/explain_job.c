/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job waits: every gate that its gangs must pass is asked again, with its numbers. The
 * reasons are ordered: what keeps a gang from being tried at all, the handover it waits for,
 * what can never be, what blocked it when it was tried last, and the rest. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sched/explain/explain_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"

struct gang__reason *gang__reason_add(struct gang__reasons *l, int32_t why, int32_t cls,
                                      const struct gang__queue_state *queue)
{
    if (!gang__grow(&l->s->mem, (void **)&l->reason, &l->cap, l->count + 1, sizeof(*l->reason))) {
        l->failed = true;
        return NULL;
    }
    struct gang__reason *r = &l->reason[l->count++];
    const struct gang__wait_class *wait_class = l->gang->order.wait_class;
    memset(r, 0, sizeof(*r));
    r->wait.size = sizeof(r->wait);
    r->wait.reason = why;
    r->wait.category = cls;
    r->wait.kind = r->wait.group = -1;
    r->wait.queue = queue && queue->q ? queue->q->id : GANG_ID_NONE;
    r->queue = queue && queue->q ? queue : NULL;
    r->rank = cls == GANG_WAIT_CATEGORY_NEVER ? RANK_NEVER
              : wait_class && wait_class->state == GANG__CLASS_BLOCKED && wait_class->why == why
                  ? RANK_LAST
                  : RANK_OTHER;
    return r;
}

void gang__reason_set_text(struct gang__reason *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->text, sizeof(r->text), fmt, args);
    va_end(args);
}

bool gang__reasons_have(const struct gang__reasons *l, int32_t why)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->reason[i].wait.reason == why)
            return true;
    return false;
}

struct gang__reason *gang__reason_add_held(struct gang__reasons *l, int32_t why)
{
    struct gang__reason *r = gang__reason_add(l, why, GANG_WAIT_CATEGORY_HELD, NULL);
    if (r)
        r->rank = RANK_HELD;
    return r;
}

bool gang__explain_waits(const struct gang__gang *g)
{
    const struct gang__job *job = g->job;
    if (job->state == GANG_JOB_ENDED || job->ending || g->over)
        return false;
    if (g->alloc != GANG_ID_NONE)
        return g->stop.handover || g->order.wait_class || gang__slice_is_suspended(g);
    return !g->stop.first || g->stop.moving;
}

/* The gates of a gang that may be tried, in the order in which the cycle asks them; capacity is
 * asked last. */
typedef void explain_gate(struct gang__reasons *l, const struct gang__take *take, uint32_t count);
static explain_gate *const bounds[] = {gang__explain_bounds, gang__explain_lending};
static explain_gate *const gates[] = {gang__explain_user,    gang__explain_max_running,
                                      gang__explain_budgets, gang__explain_order,
                                      gang__explain_planned, gang__explain_reservation};
enum { BOUNDS = sizeof(bounds) / sizeof(bounds[0]), GATES = sizeof(gates) / sizeof(gates[0]) };

/* Places elsewhere do not count before the wait has ended: what capacity lacks there is no
 * reason. */
static gang_result explain_prefer(struct gang__reasons *l)
{
    int64_t until = gang__prefer_until(l->gang->job), left = until - l->s->now_ns;
    struct gang__reason *r =
        gang__reason_add(l, GANG_WAIT_PREFER, GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (!r)
        return GANG_OK;
    r->rank = RANK_LAST;
    r->wait.until_ns = until;
    gang__reason_set_text(
        r, "its preferred domains have no place now; it takes any place in %s seconds",
        gang__text_milli((left + 999999) / 1000000, "").s);
    return GANG_OK;
}

/* The partition in which the gang is being tried: that of a group which names none itself. */
static const char *partition_name(const struct gang__gang *g, uint32_t i)
{
    const gang_request *request = g->waits_as->partition[i]->request;
    const gang_request *other = g->waits_as->partition[i == 0]->request;
    uint32_t group = 0;
    while (group + 1 < request->group_count &&
           request->group[group].partition == other->group[group].partition)
        group++;
    return request->group[group].partition->name;
}

/* The reasons from `from` on hold in this partition. True: in it the gang can never start. */
static bool set_partition(struct gang__reasons *l, size_t from, const char *name)
{
    bool never = false;
    for (size_t i = from; i < l->count; i++) {
        struct gang__reason *r = &l->reason[i];
        char text[sizeof(r->text)];
        memcpy(text, r->text, sizeof(text));
        gang__reason_set_text(r, "in partition \"%s\": %s", name, text);
        r->wait.partition = name;
        never = never || r->wait.category == GANG_WAIT_CATEGORY_NEVER;
    }
    return never;
}

/* What can never be in one partition decides nothing if the gang can start in another one. */
static void lower_never(struct gang__reasons *l, size_t from)
{
    for (size_t i = from; i < l->count; i++)
        if (l->reason[i].wait.category == GANG_WAIT_CATEGORY_NEVER) {
            l->reason[i].wait.category = GANG_WAIT_CATEGORY_NOT_NOW;
            l->reason[i].rank = RANK_OTHER;
        }
}

/* Why does the gang not start in each of its partitions? */
static gang_result explain_partitions(struct gang__reasons *l)
{
    struct gang__gang *g = l->gang;
    size_t first = l->count;
    uint32_t never = 0;
    gang_result r = GANG_OK;
    for (uint32_t i = 0; i < g->waits_as->partition_count && r == GANG_OK; i++) {
        size_t from = l->count;
        uint32_t count;
        gang__partition_try(g, i);
        const struct gang__take *take = gang__gang_next_demand(g, &count);
        for (size_t k = 0; k < BOUNDS; k++)
            bounds[k](l, take, count);
        r = gang__explain_capacity(l);
        never += set_partition(l, from, partition_name(g, i));
    }
    gang__partition_try_end(g);
    if (never < g->waits_as->partition_count)
        lower_never(l, first);
    return r;
}

static gang_result explain_gang(struct gang__reasons *l)
{
    const struct gang__gang *g = l->gang;
    uint32_t count;
    if (g->job->wait_why && l->count == 0)
        gang__explain_held(l);
    else if (!g->job->wait_why && !g->order.wait_class && !g->stop.handover && !g->stop.moving)
        gang__explain_group_after(l);
    if (g->stop.handover || g->stop.moving) {
        gang__explain_handover(l, g->stop.handover ? g->stop.handover : g->stop.moving->handover);
        return GANG_OK;
    }
    if (gang__slice_is_suspended(g)) {
        gang__explain_slice(l);
        return GANG_OK;
    }
    struct gang__take of_places[GANG__DIMS];
    const struct gang__take *take = of_places;
    if (g->places)
        count = gang__places_take(l->s, g, g->places, g->place_count, of_places);
    else
        take = gang__gang_next_demand(g, &count);
    uint32_t partitions = g->places ? 0 : gang__partition_count(g);
    for (size_t i = 0; i < BOUNDS && partitions == 0; i++)
        bounds[i](l, take, count);
    for (size_t i = 0; i < GATES; i++)
        gates[i](l, take, count);
    gang_result r = partitions > 0          ? explain_partitions(l)
                    : gang__gang_insists(g) ? explain_prefer(l)
                                            : gang__explain_capacity(l);
    if (r != GANG_OK || l->count > 0)
        return r;
    struct gang__reason *turn =
        gang__reason_add(l, GANG_WAIT_NOT_TRIED, GANG_WAIT_CATEGORY_NOT_NOW, NULL);
    if (turn) {
        turn->rank = RANK_ORDER;
        gang__reason_set_text(turn,
                              "nothing is in its way: it is its turn in one of the next runs");
    }
    return GANG_OK;
}

/* The decisive reason first; those of a rank as they were found. */
static void sort(struct gang__reasons *l)
{
    for (size_t i = 1; i < l->count; i++)
        for (size_t j = i; j > 0 && l->reason[j].rank < l->reason[j - 1].rank; j--) {
            struct gang__reason swap = l->reason[j];
            l->reason[j] = l->reason[j - 1];
            l->reason[j - 1] = swap;
        }
    for (size_t i = 0; i < l->count; i++)
        l->reason[i].wait.text = l->reason[i].text;
}

gang_result gang__reasons_collect(gang_sched *s, struct gang__job *job, struct gang__reasons *l)
{
    gang_result r = GANG_OK;
    memset(l, 0, sizeof(*l));
    l->s = s;
    for (uint32_t i = 0; i < job->gang_count && r == GANG_OK; i++) {
        l->gang = &job->gang[i];
        if (gang__explain_waits(l->gang))
            r = explain_gang(l);
        if (l->failed)
            r = GANG_ENOMEM;
    }
    sort(l);
    return r;
}

gang_result gang_job_explain(gang_sched *sched, gang_job_id id, gang_wait_fn visit, void *user)
{
    if (!sched || !visit)
        return GANG_EINVAL;
    struct gang__job *job = gang__job_of(sched, id);
    if (!job)
        return GANG_ESTALE;
    struct gang__reasons l;
    gang_result r = gang__reasons_collect(sched, job, &l);
    for (size_t i = 0; r == GANG_OK && i < l.count; i++)
        r = visit(&l.reason[i].wait, user);
    gang__release(&sched->mem, l.reason);
    return r;
}
