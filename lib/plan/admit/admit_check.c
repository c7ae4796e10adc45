/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a request wrong. */
#include "plan/admit/admit_in.h"

static gang_result refuse(struct gang__admitted *answer, int why, size_t stage, size_t item)
{
    answer->why = why;
    answer->stage = (uint32_t)stage;
    answer->item = (int)item;
    return GANG_EINVAL;
}

static gang_result refuse_amount(struct gang__admitted *answer, int why, size_t stage,
                                 int64_t wanted, int64_t has)
{
    answer->wanted = wanted;
    answer->has = has;
    return refuse(answer, why, stage, 0);
}

/* ---- stages -------------------------------------------------------------------------------- */

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
                                struct gang__admitted *answer)
{
    int64_t sum[GANG__FREE_KINDS] = {0};
    for (size_t i = 0; i < s->group_count; i++) {
        if (!gang__time_group_is_valid(&s->group[i])) {
            (void)refuse(answer, GANG__ADMIT_BAD_GROUP, at, i);
            return GANG_ERANGE;
        }
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            sum[k] =
                gang__add_sat(sum[k], gang__mul_div(s->group[i].count, s->group[i].need[k], 1));
    }
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        if (sum[k] > GANG__UNITS_MAX) {
            (void)refuse(answer, GANG__ADMIT_BAD_AMOUNT, at, (size_t)k);
            return GANG_ERANGE;
        }
    return GANG_OK;
}

static gang_result check_nodes(const struct gang__time_machine *m,
                               const struct gang__admit_stage *s, size_t at,
                               struct gang__admitted *answer)
{
    for (size_t i = 0; i < s->node_count; i++)
        if (s->node[i] >= m->nodes || (i && s->node[i] <= s->node[i - 1]))
            return refuse(answer, GANG__ADMIT_BAD_STAGE, at, i);
    return GANG_OK;
}

static gang_result check_stage(const struct gang__time_machine *m,
                               const struct gang__admit_stage *s, size_t at,
                               struct gang__admitted *answer)
{
    if ((s->group_count > 0) + (s->pool != 0) + (s->node_count > 0) != 1)
        return refuse(answer, GANG__ADMIT_BAD_STAGE, at, 0);
    if (s->duration_ns < 1 || s->duration_ns > GANG__SPAN_MAX) {
        (void)refuse_amount(answer, GANG__ADMIT_BAD_DURATION, at, s->duration_ns, GANG__SPAN_MAX);
        return GANG_ERANGE;
    }
    if (s->pool < 0 || s->pool > GANG__UNITS_MAX) {
        (void)refuse_amount(answer, GANG__ADMIT_BAD_AMOUNT, at, s->pool, GANG__UNITS_MAX);
        return GANG_ERANGE;
    }
    gang_result r = check_groups(s, at, answer);
    if (r == GANG_OK)
        r = check_nodes(m, s, at, answer);
    if (r != GANG_OK)
        return r;
    if (s->gang < 0 || (s->gang > 0 && s->node_count) || gang__admit_gangs(s) == 0)
        return refuse_amount(answer, GANG__ADMIT_BAD_GANG, at, s->gang,
                             s->group_count ? s->group[0].count : s->pool);
    return GANG_OK;
}

/* ---- times --------------------------------------------------------------------------------- */

static bool is_order(const struct gang__admit_request *request)
{
    return request->combine == GANG__ADMIT_ORDER || request->combine == GANG__ADMIT_ORDER_NO_GAP;
}

int64_t gang__admit_span(const struct gang__admit_request *request)
{
    int64_t sum = 0, longest = 0;
    for (size_t i = 0; i < request->stage_count; i++) {
        int64_t d = request->stage[i].duration_ns;
        sum = gang__add_sat(sum, d);
        longest = d > longest ? d : longest;
    }
    return is_order(request) ? sum : longest;
}

static bool is_time(int64_t at)
{
    return at >= GANG__TIME_MIN && at <= GANG__TIME_MAX;
}

static gang_result check_period(const struct gang__admit_request *request,
                                struct gang__admitted *answer)
{
    int64_t span = gang__admit_span(request);
    bool once = request->period_ns == 0;
    if (request->period_ns < 0 || (!once && request->period_ns < span))
        return refuse_amount(answer, GANG__ADMIT_BAD_PERIOD, 0, span, request->period_ns);
    int64_t max = GANG__ADMIT_INSTANCES / (int64_t)request->stage_count;
    if (!once && (request->instances < 1 || request->instances > max))
        return refuse_amount(answer, GANG__ADMIT_BAD_PERIOD, 0, request->instances, max);
    int64_t all =
        gang__add_sat(span, once ? 0 : gang__mul_div(request->period_ns, request->instances, 1));
    if (all <= GANG__SPAN_MAX)
        return GANG_OK;
    (void)refuse_amount(answer, GANG__ADMIT_BAD_DURATION, 0, all, GANG__SPAN_MAX);
    return GANG_ERANGE;
}

static gang_result check_window(const struct gang__time_machine *m,
                                const struct gang__admit_request *request,
                                struct gang__admitted *answer)
{
    int64_t from = request->arrival_ns > m->now_ns ? request->arrival_ns : m->now_ns;
    bool open = request->deadline_ns == GANG__NEVER;
    int64_t more = request->period_ns * (request->period_ns ? request->instances : 0);
    if (!is_time(request->arrival_ns) || !is_time(from) ||
        (!open &&
         (!is_time(request->deadline_ns) || request->deadline_ns > GANG__TIME_MAX - more)) ||
        from > GANG__TIME_MAX - more - gang__admit_span(request))
        return refuse(answer, GANG__ADMIT_BAD_WINDOW, 0, 0);
    if (from >= request->deadline_ns || (open && request->prefer != GANG__ADMIT_EARLIEST))
        return refuse(answer, GANG__ADMIT_BAD_WINDOW, 0, 0);
    if (request->fixed && (request->start_ns < from || request->start_ns >= request->deadline_ns ||
                           request->start_ns > GANG__TIME_MAX - more - gang__admit_span(request)))
        return refuse(answer, GANG__ADMIT_BAD_WINDOW, 0, 0);
    return GANG_OK;
}

gang_result gang__admit_check(const struct gang__time_machine *m,
                              const struct gang__admit_request *request,
                              struct gang__admitted *answer)
{
    if (request->stage_count < 1 || request->stage_count > GANG__ADMIT_STAGES ||
        request->combine < GANG__ADMIT_ALL || request->combine > GANG__ADMIT_ORDER_NO_GAP ||
        request->prefer < GANG__ADMIT_EARLIEST || request->prefer > GANG__ADMIT_CHEAPEST)
        return refuse(answer, GANG__ADMIT_BAD_STAGES, 0, 0);
    for (size_t i = 0; i < request->stage_count; i++) {
        gang_result r = check_stage(m, &request->stage[i], i, answer);
        if (r != GANG_OK)
            return r;
    }
    gang_result r = check_period(request, answer);
    return r == GANG_OK ? check_window(m, request, answer) : r;
}
