/* SPDX-License-Identifier: Apache-2.0 */
/* Members that are one number or one word: tables say how each is read, written and compared. */
#include "scenario/read_in.h"

#include <string.h>

#include "queue/queues.h"

#define SECOND ((int64_t)1000000000)

static const char *const state_names[] = {"open", "draining", "closed"};
static const struct gang__word_list state_words = GANG__WORD_LIST(state_names, 0);
static const char *const order_names[] = {GANG__ORDER_NAMES};
static const struct gang__word_list order_words = GANG__WORD_LIST(order_names, 0);
static const char *const child_order_names[] = {GANG__CHILD_ORDER_NAMES};
static const struct gang__word_list child_order_words = GANG__WORD_LIST(child_order_names, 0);
static const char *const surplus_names[] = {"by-weight", "evenly"};
static const struct gang__word_list surplus_words = GANG__WORD_LIST(surplus_names, 0);
static const char *const borrow_names[] = {"in-order", "last"};
static const struct gang__word_list borrow_words = GANG__WORD_LIST(borrow_names, 0);
static const char *const when_preempt_names[] = {"last", "in-order"};
static const struct gang__word_list when_preempt_words = GANG__WORD_LIST(when_preempt_names, 0);
static const char *const block_names[] = {"none", "strict"};
static const struct gang__word_list block_words = GANG__WORD_LIST(block_names, 0);
static const char *const preempt_names[] = {"requeue", "suspend", "cancel"};
static const struct gang__word_list preempt_words = GANG__WORD_LIST(preempt_names, 0);
static const char *const backfill_names[] = {"default", "none", "easy", "conservative"};
static const struct gang__word_list backfill_words = GANG__WORD_LIST(backfill_names, 0);
static const char *const backfill_order_names[] = {"default", "leaf", "shortest", "widest",
                                                   "smallest"};
static const struct gang__word_list backfill_order_words = GANG__WORD_LIST(backfill_order_names, 0);
static const char *const overrun_names[] = {"default", "kill", "extend", "ask"};
static const struct gang__word_list overrun_words = GANG__WORD_LIST(overrun_names, 0);
static const char *const across_names[] = {"default", "never", "lower", "lower-capped"};
static const struct gang__word_list across_words = GANG__WORD_LIST(across_names, 0);
static const char *const nonpreemptible_names[] = {"default", "guaranteed", "limit"};
static const struct gang__word_list nonpreemptible_words = GANG__WORD_LIST(nonpreemptible_names, 0);
static const char *const loss_names[] = {"count", "fail", "restart", "refill", "shrink"};
static const struct gang__word_list loss_words = GANG__WORD_LIST(loss_names, 0);

#define QUEUE(member) offsetof(struct gang_queue_spec, member)
#define JOB(member) offsetof(struct gang_job_spec, member)
#define WORD(key, offset, words)                         \
    {                                                    \
        key, GANG__FIELD_WORD, offset, &(words), 0, 0, 0 \
    }
#define FLAG(key, offset)                            \
    {                                                \
        key, GANG__FIELD_FLAG, offset, NULL, 0, 1, 0 \
    }
#define NUMBER(key, offset, min, max, absent)                   \
    {                                                           \
        key, GANG__FIELD_NUMBER, offset, NULL, min, max, absent \
    }
#define COUNT(key, offset) NUMBER(key, offset, 0, GANG_MAX_AMOUNT, 0)
#define SECONDS(key, offset, absent)                                     \
    {                                                                    \
        key, GANG__FIELD_SECONDS, offset, NULL, 0, INT64_MAX / 2, absent \
    }
#define TEXT(key, offset)                                            \
    {                                                                \
        key, GANG__FIELD_TEXT, offset, NULL, 0, GANG__MAX_COMMENT, 0 \
    }

static const struct gang__field queue_list[] = {
    NUMBER("priority", QUEUE(priority), INT64_MIN, INT64_MAX, 100),
    WORD("state", QUEUE(state), state_words),
    WORD("order", QUEUE(order), order_words),
    WORD("child_order", QUEUE(child_order), child_order_words),
    WORD("surplus", QUEUE(surplus), surplus_words),
    WORD("partition_borrow", QUEUE(partition_borrow), borrow_words),
    WORD("partition_preempt", QUEUE(partition_preempt), when_preempt_words),
    WORD("block", QUEUE(block), block_words),
    WORD("preempt_mode", QUEUE(preempt_mode), preempt_words),
    WORD("backfill", QUEUE(backfill), backfill_words),
    WORD("backfill_order", QUEUE(backfill_order), backfill_order_words),
    COUNT("plan_depth", QUEUE(plan_depth)),
    WORD("overrun", QUEUE(overrun), overrun_words),
    SECONDS("extend_s", QUEUE(extend_ns), 0),
    COUNT("max_bypasses", QUEUE(max_bypasses)),
    SECONDS("max_wait_s", QUEUE(max_wait_ns), 0),
    {"max_blocked_s", GANG__FIELD_SECONDS, QUEUE(max_blocked_ns), NULL, -1, INT64_MAX / 2, 0},
    {"quantum_s", GANG__FIELD_SECONDS, QUEUE(quantum_ns), NULL, -1, INT64_MAX / 2, 0},
    NUMBER("quantum_rows", QUEUE(quantum_rows), 0, UINT16_MAX, 0),
    FLAG("quantum_gpus", QUEUE(quantum_gpus)),
    WORD("across", QUEUE(across), across_words),
    NUMBER("across_max_priority", QUEUE(across_max_priority), INT64_MIN, INT64_MAX, 0),
    TEXT("preempt_class", QUEUE(preempt_class)),
    TEXT("preempts", QUEUE(preempts)),
    NUMBER("priority_weight_age", QUEUE(priority_weight_age), 0, UINT32_MAX, 0),
    NUMBER("priority_weight_fair_share", QUEUE(priority_weight_fair_share), 0, UINT32_MAX, 0),
    NUMBER("priority_weight_size", QUEUE(priority_weight_size), 0, UINT32_MAX, 0),
    NUMBER("priority_weight_queue", QUEUE(priority_weight_queue), 0, UINT32_MAX, 0),
    NUMBER("priority_weight_job", QUEUE(priority_weight_job), 0, UINT32_MAX, 0),
    SECONDS("priority_max_age_s", QUEUE(priority_max_age_ns), 0),
    SECONDS("priority_period_s", QUEUE(priority_period_ns), 0),
    {"priority_factor", GANG__FIELD_PART, QUEUE(priority_factor), NULL, 0, GANG_WHOLE, 0},
    FLAG("priority_favor_small", QUEUE(priority_favor_small)),
    FLAG("no_preemption", QUEUE(no_preemption)),
    WORD("nonpreemptible", QUEUE(nonpreemptible), nonpreemptible_words),
    COUNT("max_running", QUEUE(max_running)),
    COUNT("max_pending", QUEUE(max_pending)),
    COUNT("max_running_per_user", QUEUE(max_running_per_user)),
    SECONDS("default_time_limit_s", QUEUE(default_time_limit_ns), 0),
    SECONDS("max_time_limit_s", QUEUE(max_time_limit_ns), 0),
    {"user_limit", GANG__FIELD_PART, QUEUE(user_limit), NULL, 0, GANG_WHOLE, 0},
    {"user_limit_factor", GANG__FIELD_PART, QUEUE(user_limit_factor), NULL, 0,
     GANG_WHOLE *GANG_WHOLE, 0},
    TEXT("submit_acl", QUEUE(submit_acl)),
    TEXT("admin_acl", QUEUE(admin_acl)),
    SECONDS("grace_s", QUEUE(grace_ns), -1),
    SECONDS("min_runtime_s", QUEUE(min_runtime_ns), -1),
    SECONDS("stale_s", QUEUE(stale_ns), -1),
    {"fence_s", GANG__FIELD_SECONDS, QUEUE(fence_ns), NULL, -1, INT64_MAX / 2, 0},
    COUNT("max_children", QUEUE(max_children)),
    SECONDS("child_idle_s", QUEUE(child_idle_ns), 0),
    WORD("policy", QUEUE(policy), gang__place_policy_words)};

#define BUDGET(member) offsetof(struct gang_budget, member)
static const char *const exhausted_names[] = {"safe", "kill", "finish"};
static const struct gang__word_list exhausted_words = GANG__WORD_LIST(exhausted_names, 0);
static const struct gang__field budget_list[] = {
    SECONDS("period_s", BUDGET(period_ns), 0), FLAG("per_user", BUDGET(per_user)),
    WORD("exhausted", BUDGET(exhausted), exhausted_words)};

static const struct gang__field job_list[] = {FLAG("stale", JOB(stale)),
                                              FLAG("never_preempts", JOB(never_preempts)),
                                              FLAG("hold", JOB(hold)),
                                              WORD("loss", JOB(loss), loss_words),
                                              SECONDS("time_limit_s", JOB(time_limit_ns), 0),
                                              COUNT("max_restarts", JOB(max_restarts)),
                                              COUNT("parallelism", JOB(parallelism)),
                                              SECONDS("restart_delay_s", JOB(restart_delay_ns), 0),
                                              SECONDS("refill_s", JOB(refill_ns), 0),
                                              SECONDS("start_within_s", JOB(start_within_ns), 0),
                                              SECONDS("back_off_s", JOB(back_off_ns), 0),
                                              SECONDS("prefer_wait_s", JOB(prefer_wait_ns), 0),
                                              SECONDS("heartbeat_s", JOB(heartbeat_ns), 0),
                                              SECONDS("begin_s", JOB(begin_ns), 0),
                                              SECONDS("deadline_s", JOB(deadline_ns), 0),
                                              TEXT("array", JOB(array)),
                                              COUNT("array_max_running", JOB(array_max_running)),
                                              FLAG("announced", JOB(announced)),
                                              FLAG("start_full", JOB(start_full))};

#define RESERVE(member) offsetof(struct gang_reservation_spec, member)
#define STAGE(member) offsetof(struct gang_reservation_stage, member)
static const char *const prefer_names[] = {"earliest", "latest", "cheapest"};
static const struct gang__word_list prefer_words = GANG__WORD_LIST(prefer_names, 0);
static const char *const combine_names[] = {"all", "any", "order", "order-no-gap"};
static const struct gang__word_list combine_words = GANG__WORD_LIST(combine_names, 0);
const char *const gang__reserve_flag_words[gang__reserve_flag_count] = {
    "maintenance", "overlap", "ignore-jobs", "flex", "magnetic"};

static const struct gang__field reserve_list[] = {
    SECONDS("arrival_s", RESERVE(arrival_ns), 0),
    SECONDS("deadline_s", RESERVE(deadline_ns), 0),
    SECONDS("start_s", RESERVE(start_ns), -1),
    SECONDS("duration_s", RESERVE(duration_ns), 0),
    SECONDS("period_s", RESERVE(period_ns), 0),
    COUNT("repetitions", RESERVE(repetitions)),
    SECONDS("until_s", RESERVE(until_ns), 0),
    WORD("objective", RESERVE(objective), prefer_words),
    WORD("combine", RESERVE(combine), combine_words),
    SECONDS("purge_s", RESERVE(purge_ns), 0),
    SECONDS("notice_s", RESERVE(notice_ns), 0)};

static const struct gang__field stage_list[] = {
    SECONDS("duration_s", STAGE(duration_ns), 0), COUNT("gang_size", STAGE(gang_size)),
    FLAG("exclusive", STAGE(exclusive)), COUNT("domain_count", STAGE(domain_count))};

static const struct gang__field case_list[] = {
    SECONDS("half_life_s", offsetof(struct gang_scenario, half_life_ns), 0)};

const struct gang__fields gang__queue_fields = {queue_list, GANG__COUNT(queue_list)};
const struct gang__fields gang__budget_fields = {budget_list, GANG__COUNT(budget_list)};
const struct gang__fields gang__job_fields = {job_list, GANG__COUNT(job_list)};
const struct gang__fields gang__reserve_fields = {reserve_list, GANG__COUNT(reserve_list)};
const struct gang__fields gang__stage_fields = {stage_list, GANG__COUNT(stage_list)};
const struct gang__fields gang__case_fields = {case_list, GANG__COUNT(case_list)};

static bool is_narrow(const struct gang__field *field)
{
    return field->type == GANG__FIELD_WORD || field->type == GANG__FIELD_FLAG;
}

/* The value of a member that is a number. */
static int64_t value_of(const struct gang__field *field, const void *from)
{
    const char *member = (const char *)from + field->offset;
    int32_t narrow;
    int64_t wide;
    if (is_narrow(field)) {
        memcpy(&narrow, member, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, member, sizeof(wide));
    return wide;
}

static const char *text_of(const struct gang__field *field, const void *from)
{
    const char *text;
    memcpy(&text, (const char *)from + field->offset, sizeof(text));
    return text;
}

/* ---- reading ---- */

static gang_result read_text(struct gang__reader *r, const struct gang__json *at,
                             const struct gang__field *field, char *member)
{
    const char *text;
    GANG__TRY(gang__json_name(at, 0, (size_t)field->max, &text));
    GANG__TRY(gang__keep_text(r, at, text, &text));
    memcpy(member, &text, sizeof(text));
    return GANG_OK;
}

static gang_result read_value(const struct gang__json *at, const struct gang__field *field,
                              int64_t *value)
{
    int32_t flag = 0;
    size_t index = 0;
    switch (field->type) {
    case GANG__FIELD_FLAG:
        GANG__TRY(gang__json_bool(at, &flag));
        *value = flag;
        return GANG_OK;
    case GANG__FIELD_WORD:
        GANG__TRY(gang__json_choice(at, field->words->list, field->words->count, &index));
        *value = field->words->first + (int64_t)index;
        return GANG_OK;
    case GANG__FIELD_PART:
        return gang__json_scaled(at, GANG_WHOLE, field->min, field->max, value);
    case GANG__FIELD_SECONDS:
        if (field->min < 0 && json_is_number(at->value) && json_number_value(at->value) == -1) {
            *value = -1; /* it is a word, and no time */
            return GANG_OK;
        }
        return gang__json_scaled(at, SECOND, 0, field->max, value);
    default:
        return gang__json_int(at, field->min, field->max, value);
    }
}

gang_result gang__fields_read(struct gang__reader *r, const struct gang__json *object,
                              const struct gang__fields *fields, void *to)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct gang__field *field = &fields->list[i];
        char *member = (char *)to + field->offset;
        struct gang__json at;
        int64_t value = 0;
        if (!gang__json_get(object, field->key, &at))
            continue;
        if (field->type == GANG__FIELD_TEXT) {
            GANG__TRY(read_text(r, &at, field, member));
            continue;
        }
        GANG__TRY(read_value(&at, field, &value));
        int32_t narrow = (int32_t)value;
        if (is_narrow(field))
            memcpy(member, &narrow, sizeof(narrow));
        else
            memcpy(member, &value, sizeof(value));
    }
    return GANG_OK;
}

/* ---- writing ---- */

static json_t *json_of(struct gang__json_maker *maker, const struct gang__field *field,
                       int64_t value)
{
    switch (field->type) { /* what no word stands for is refused when it is read back */
    case GANG__FIELD_FLAG:
        return value == 1 ? json_true() : json_integer(value);
    case GANG__FIELD_WORD:
        value -= field->words->first;
        if (value < 0 || (size_t)value >= field->words->count)
            return json_integer(value);
        return gang__json_new_text(maker, field->words->list[value]);
    case GANG__FIELD_PART:
        return gang__json_new_scaled(value, GANG_WHOLE);
    case GANG__FIELD_SECONDS:
        return value == -1 ? json_integer(value) : gang__json_new_scaled(value, SECOND);
    default:
        return json_integer(value);
    }
}

void gang__fields_write(struct gang__json_maker *maker, json_t *object,
                        const struct gang__fields *fields, const void *from)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct gang__field *field = &fields->list[i];
        if (field->type == GANG__FIELD_TEXT) {
            const char *text = text_of(field, from);
            if (text)
                gang__json_put(maker, object, field->key, gang__json_new_text(maker, text));
        } else if (value_of(field, from) != field->absent) {
            gang__json_put(maker, object, field->key, json_of(maker, field, value_of(field, from)));
        }
    }
}

/* ---- comparing ---- */

bool gang__fields_equal(const struct gang__fields *fields, const void *a, const void *b)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct gang__field *field = &fields->list[i];
        if (field->type == GANG__FIELD_TEXT) {
            const char *x = text_of(field, a);
            const char *y = text_of(field, b);
            if (x != y && (!x || !y || strcmp(x, y) != 0))
                return false;
        } else if (value_of(field, a) != value_of(field, b)) {
            return false;
        }
    }
    return true;
}
