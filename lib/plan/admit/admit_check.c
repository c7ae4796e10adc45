/* SPDX-License-Identifier: Apache-2.0 */
/* What makes an ask wrong. */
#include "plan/admit/admit_in.h"

static gang_result wrong(struct gang__admitted *got, int why, size_t stage, size_t item)
{
    got->why = why;
    got->stage = (uint32_t)stage;
    got->item = (int)item;
    return GANG_EINVAL;
}

static gang_result wrong_by(struct gang__admitted *got, int why, size_t stage, int64_t wanted,
                            int64_t has)
{
    got->wanted = wanted;
    got->has = has;
    return wrong(got, why, stage, 0);
}

/* ---- stages -------------------------------------------------------------------------------- */

static bool is_group(const struct gang__time_group *g)
{
    bool sane = g->count >= 1 && g->count <= INT32_MAX && g->most >= 0;
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        sane = sane && g->need[k] >= 0 && g->need[k] <= GANG__AMOUNT_MAX;
    return sane;
}

int64_t gang__admit_gangs(const struct gang__admit_stage *stage)
{
    int64_t count = stage->group_count ? stage->group[0].count : stage->pool;
    int64_t gangs = stage->gang && count ? count / stage->gang : 1;
    bool whole = !stage->gang || gangs * stage->gang == count;
    for (size_t i = 1; i < stage->group_count && gangs > 0; i++)
        whole = whole && stage->group[i].count % gangs == 0;
    return whole ? gangs : 0;
}

static gang_result check_groups(const struct gang__admit_stage *s, size_t at,
                                struct gang__admitted *got)
{
    int64_t sum[GANG__FREE_KINDS] = {0};
    for (size_t i = 0; i < s->group_count; i++) {
        if (!is_group(&s->group[i])) {
            (void)wrong(got, GANG__ADMIT_BAD_GROUP, at, i);
            return GANG_ERANGE;
        }
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            sum[k] =
                gang__add_sat(sum[k], gang__mul_div(s->group[i].count, s->group[i].need[k], 1));
    }
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        if (sum[k] > GANG__UNITS_MAX) {
            (void)wrong(got, GANG__ADMIT_BAD_AMOUNT, at, (size_t)k);
            return GANG_ERANGE;
        }
    return GANG_OK;
}

static gang_result check_nodes(const struct gang__timeline *t, const struct gang__admit_stage *s,
                               size_t at, struct gang__admitted *got)
{
    for (size_t i = 0; i < s->node_count; i++)
        if (s->node[i] >= t->nodes || (i && s->node[i] <= s->node[i - 1]))
            return wrong(got, GANG__ADMIT_BAD_STAGE, at, i);
    return GANG_OK;
}

static gang_result check_stage(const struct gang__timeline *t, const struct gang__admit_stage *s,
                               size_t at, struct gang__admitted *got)
{
    if ((s->group_count > 0) + (s->pool != 0) + (s->node_count > 0) != 1)
        return wrong(got, GANG__ADMIT_BAD_STAGE, at, 0);
    if (s->duration_ns < 1 || s->duration_ns > GANG__SPAN_MAX) {
        (void)wrong_by(got, GANG__ADMIT_BAD_DURATION, at, s->duration_ns, GANG__SPAN_MAX);
        return GANG_ERANGE;
    }
    if (s->pool < 0 || s->pool > GANG__UNITS_MAX) {
        (void)wrong_by(got, GANG__ADMIT_BAD_AMOUNT, at, s->pool, GANG__UNITS_MAX);
        return GANG_ERANGE;
    }
    gang_result r = check_groups(s, at, got);
    if (r == GANG_OK)
        r = check_nodes(t, s, at, got);
    if (r != GANG_OK)
        return r;
    if (s->gang < 0 || (s->gang > 0 && s->node_count) || gang__admit_gangs(s) == 0)
        return wrong_by(got, GANG__ADMIT_BAD_GANG, at, s->gang,
                        s->group_count ? s->group[0].count : s->pool);
    return GANG_OK;
}

/* ---- times --------------------------------------------------------------------------------- */

static bool is_order(const struct gang__admit_ask *ask)
{
    return ask->combine == GANG__ADMIT_ORDER || ask->combine == GANG__ADMIT_ORDER_NO_GAP;
}

int64_t gang__admit_span(const struct gang__admit_ask *ask)
{
    int64_t sum = 0, longest = 0;
    for (size_t i = 0; i < ask->stage_count; i++) {
        int64_t d = ask->stage[i].duration_ns;
        sum = gang__add_sat(sum, d);
        longest = d > longest ? d : longest;
    }
    return is_order(ask) ? sum : longest;
}

static bool is_time(int64_t at)
{
    return at >= GANG__TIME_MIN && at <= GANG__TIME_MAX;
}

static gang_result check_period(const struct gang__admit_ask *ask, struct gang__admitted *got)
{
    int64_t span = gang__admit_span(ask);
    bool once = ask->period_ns == 0;
    if (ask->period_ns < 0 || (!once && ask->period_ns < span))
        return wrong_by(got, GANG__ADMIT_BAD_PERIOD, 0, span, ask->period_ns);
    int64_t most = GANG__ADMIT_INSTANCES / (int64_t)ask->stage_count;
    if (!once && (ask->instances < 1 || ask->instances > most))
        return wrong_by(got, GANG__ADMIT_BAD_PERIOD, 0, ask->instances, most);
    int64_t all = gang__add_sat(span, once ? 0 : gang__mul_div(ask->period_ns, ask->instances, 1));
    if (all <= GANG__SPAN_MAX)
        return GANG_OK;
    (void)wrong_by(got, GANG__ADMIT_BAD_DURATION, 0, all, GANG__SPAN_MAX);
    return GANG_ERANGE;
}

static gang_result check_window(const struct gang__timeline *t, const struct gang__admit_ask *ask,
                                struct gang__admitted *got)
{
    int64_t from = ask->arrival_ns > t->now_ns ? ask->arrival_ns : t->now_ns;
    bool open = ask->deadline_ns == GANG__NEVER;
    int64_t more = ask->period_ns * (ask->period_ns ? ask->instances : 0);
    if (!is_time(ask->arrival_ns) || !is_time(from) ||
        (!open && (!is_time(ask->deadline_ns) || ask->deadline_ns > GANG__TIME_MAX - more)) ||
        from > GANG__TIME_MAX - more - gang__admit_span(ask))
        return wrong(got, GANG__ADMIT_BAD_WINDOW, 0, 0);
    if (from >= ask->deadline_ns || (open && ask->prefer != GANG__ADMIT_EARLIEST))
        return wrong(got, GANG__ADMIT_BAD_WINDOW, 0, 0);
    if (ask->fixed && (ask->start_ns < from || ask->start_ns >= ask->deadline_ns ||
                       ask->start_ns > GANG__TIME_MAX - more - gang__admit_span(ask)))
        return wrong(got, GANG__ADMIT_BAD_WINDOW, 0, 0);
    return GANG_OK;
}

gang_result gang__admit_check(const struct gang__timeline *t, const struct gang__admit_ask *ask,
                              struct gang__admitted *got)
{
    if (ask->stage_count < 1 || ask->stage_count > GANG__ADMIT_STAGES ||
        ask->combine < GANG__ADMIT_ALL || ask->combine > GANG__ADMIT_ORDER_NO_GAP ||
        ask->prefer < GANG__ADMIT_EARLIEST || ask->prefer > GANG__ADMIT_CHEAPEST)
        return wrong(got, GANG__ADMIT_BAD_STAGES, 0, 0);
    for (size_t i = 0; i < ask->stage_count; i++) {
        gang_result r = check_stage(t, &ask->stage[i], i, got);
        if (r != GANG_OK)
            return r;
    }
    gang_result r = check_period(ask, got);
    return r == GANG_OK ? check_window(t, ask, got) : r;
}
