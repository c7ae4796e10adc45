/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of owners, and the error if a reservation finds no place. */
#include <string.h>

#include "sched/calendar/calendar.h"
#include "sched/reserve/reserve_in.h"

/* ---- limits of owners ------------------------------------------------------------------------ */

static struct gang__reserve_owner *owner_of(const gang_sched *s, const char *name)
{
    struct gang__reserve_owner *o = s->reserve.all ? s->reserve.all->owners : NULL;
    while (o && strcmp(o->name, name) != 0)
        o = o->next;
    return o;
}

/* Bookings of an owner are counted from its first reservation on, with or without limits. */
struct gang__reserve_owner *gang__reserve_owner_get(gang_sched *s, const char *name)
{
    const struct gang__bookings_limit none = GANG__BOOKINGS_NO_LIMIT;
    struct gang__reserve_owner *o = owner_of(s, name);
    size_t length = strlen(name) + 1;
    if (o || !(o = gang__zalloc(&s->mem, 1, sizeof(*o) + length)))
        return o;
    memcpy(o->name, name, length);
    if (gang__bookings_new(&s->mem, s->reserve.all->limited ? &s->reserve.all->limit : &none,
                           &o->usage) != GANG_OK) {
        gang__release(&s->mem, o);
        return NULL;
    }
    o->next = s->reserve.all->owners;
    s->reserve.all->owners = o;
    return o;
}

bool gang__reserve_make_table(gang_sched *s)
{
    if (!s->reserve.all)
        s->reserve.all = gang__zalloc(&s->mem, 1, sizeof(*s->reserve.all));
    if (s->reserve.all && s->reserve.count == 0)
        s->reserve.all->due_ns = INT64_MAX;
    return s->reserve.all != NULL;
}

static void take_limit(const struct gang_reservation_limit *l, struct gang__bookings_limit *to)
{
    *to = (struct gang__bookings_limit)GANG__BOOKINGS_NO_LIMIT;
    to->peak[GANG__FREE_CPU] = l->max_cpu_milli;
    to->peak[GANG__FREE_MEMORY] = l->max_memory_bytes;
    to->peak[GANG__FREE_GPU] = l->max_gpu_milli;
    to->average[GANG__FREE_CPU] = l->average_cpu_milli;
    to->average[GANG__FREE_MEMORY] = l->average_memory_bytes;
    to->average[GANG__FREE_GPU] = l->average_gpu_milli;
    to->window_ns = l->window_ns;
}

gang_result gang_reservation_set_limit(gang_sched *sched, const char *owner,
                                       const struct gang_reservation_limit *limit,
                                       struct gang_error *error)
{
    struct gang_reservation_limit l = GANG_RESERVATION_LIMIT_INIT;
    struct gang__bookings_limit to;
    if (!sched)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler");
    if (sched->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang_result r = limit ? gang__struct_in(&l, sizeof(l), sizeof(l), limit, limit->size) : GANG_OK;
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "struct gang_reservation_limit is not set up");
    take_limit(&l, &to);
    struct gang__bookings *tried = NULL;
    r = gang__bookings_new(&sched->mem, &to, &tried); /* does it hold? */
    gang__bookings_free(tried);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "%s", gang_strerror(r));
    struct gang__reserve_owner *o = NULL;
    if (!gang__reserve_make_table(sched) || (owner && !(o = gang__reserve_owner_get(sched, owner))))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (o) {
        o->own = limit != NULL;
        return gang__bookings_set_limit(o->usage, limit ? &to
                                                  : sched->reserve.all->limited
                                                      ? &sched->reserve.all->limit
                                                      : &to);
    }
    sched->reserve.all->limited = limit != NULL;
    sched->reserve.all->limit = to;
    for (o = sched->reserve.all->owners; o && r == GANG_OK; o = o->next)
        if (!o->own)
            r = gang__bookings_set_limit(o->usage, &to);
    return r;
}

/* ---- why not --------------------------------------------------------------------------------- */

gang_result gang__reserve_refusal_text(const struct gang__admitted *got,
                                       const struct gang__reserve *r, gang_result w,
                                       struct gang_error *error)
{
    static const char *const kind[] = {"cpu", "memory", "gpu", "nodes", "pool"};
    const char *what = got->item >= 0 && got->item < GANG__FREE_DIMS ? kind[got->item] : "";
    switch (w == GANG_ENOMEM || w == GANG_ELIMIT ? -1 : got->why) {
    case GANG__ADMIT_LARGER:
        w = gang__error(error, GANG_ENEVER, NULL, "a gang of it is larger than all there is");
        break;
    case GANG__ADMIT_SHORT:
        return gang__error(error, GANG_EINVAL, "deadline_ns",
                           "the window is shorter than what is to lie in it");
    case GANG__ADMIT_FULL:
        w = gang__error(error, w == GANG_ENEVER ? w : GANG_ENOFIT, NULL,
                        "too little is free in the window: %lld of %lld gangs fit",
                        (long long)got->has, (long long)got->wanted);
        break;
    case GANG__ADMIT_PEAK:
        return gang__error(error, GANG_ELIMIT, "owner",
                           "\"%s\" would have %lld of %s at a time, and may have %lld", r->owner,
                           (long long)got->wanted, what, (long long)got->has);
    case GANG__ADMIT_AVERAGE:
        return gang__error(error, GANG_ELIMIT, "owner",
                           "\"%s\" would have %lld of %s on average, and may have %lld", r->owner,
                           (long long)got->wanted, what, (long long)got->has);
    case GANG__ADMIT_BAD_WINDOW:
        return gang__error(error, GANG_EINVAL, r->start_ns >= 0 ? "start_ns" : "deadline_ns",
                           "not in the window, or that has passed");
    case GANG__ADMIT_BAD_PERIOD:
        return gang__error(error, GANG_EINVAL, "period_ns", "shorter than what is repeated");
    default:
        return gang__error(error, w, NULL, "%s", gang_strerror(w));
    }
    return gang__error_at(error, w, "stages[%u]", got->stage);
}
