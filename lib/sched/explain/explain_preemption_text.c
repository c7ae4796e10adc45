/* SPDX-License-Identifier: Apache-2.0 */
/* Words and lines of explanations of preemption. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sched/explain/explain_preemption.h"

const char *gang__preemption_word(int32_t outcome)
{
    static const char *const word[] = {"none",           "next",        "off",       "never",
                                       "victims",        "not-tried",   "reason",    "suspended",
                                       "slice",          "reservation", "failed",    "behind",
                                       "protected",      "capacity",    "limit",     "fuller",
                                       "pretext",        "guarantee",   "max-tasks", "observed",
                                       "above-guarantee"};
    return word[outcome];
}

const char *gang__moves_word(int32_t moves)
{
    static const char *const word[] = {"tried", "off", "planned", "amounts", "limit"};
    return word[moves];
}

const char *gang__protected_word(int32_t rule)
{
    static const char *const word[] = {"not",
                                       "job",
                                       "queue",
                                       "stopping",
                                       "min-runtime",
                                       "same-job",
                                       "reservation",
                                       "within-never",
                                       "reclaim-never",
                                       "priority",
                                       "guarantee",
                                       "share",
                                       "preemptor-share",
                                       "preemptor-guarantee",
                                       "cooldown",
                                       "cooldown-job",
                                       "user-limit",
                                       "preemptor-user-limit",
                                       "across",
                                       "outranks"};
    return word[rule];
}

/* ---- one entry ------------------------------------------------------------------------------- */

static const char *name_of(const struct gang__preemption_answer *a, gang_queue_id id)
{
    const struct gang__queue_state *q = gang__queue_state_of(a->s, id);
    return q ? q->q->name : "";
}

/* "its fair share of 4 GPUs", with what is used: "6 are used" */
struct amounts {
    char bound[160];
    struct gang__amount_text used, requested;
    const char *are;
};

static struct amounts amounts_of(const struct gang__preemption_answer *a,
                                 const struct gang_preemption_rule *r)
{
    struct amounts w;
    gang__text_amount(a->s, r->kind, r->bound, w.bound, sizeof(w.bound));
    w.used = gang__text_number(r->kind, r->used);
    w.requested = gang__text_number(r->kind, r->requested);
    w.are = gang__text_is_one(r->kind, r->used) ? "is" : "are";
    return w;
}

/* Why they are protected, with the amounts of a queue. */
static void write_amounts(const struct gang__preemption_answer *a,
                          const struct gang_preemption_rule *r, char *text, size_t cap)
{
    const char *queue = name_of(a, r->bound_queue);
    const char *what = r->rule == GANG_PROTECTED_SHARE || r->rule == GANG_PROTECTED_PREEMPTOR_SHARE
                           ? "fair share"
                           : "guarantee";
    if (r->kind < 0) {
        snprintf(text, cap, "queue \"%s\" has no %s of what the job requests", queue, what);
        return;
    }
    struct amounts w = amounts_of(a, r);
    if (r->rule == GANG_PROTECTED_SHARE || r->rule == GANG_PROTECTED_GUARANTEE)
        snprintf(text, cap, "queue \"%s\" keeps to its %s of %s, %s %s used", queue, what, w.bound,
                 w.used.s, w.are);
    else
        snprintf(
            text, cap, "queue \"%s\" would exceed its %s of %s, %s %s used, the job needs %s%s",
            queue, what, w.bound, w.used.s, w.are, w.requested.s,
            r->rule == GANG_PROTECTED_PREEMPTOR_GUARANTEE ? "; their queue keeps to its fair share"
                                                          : "");
}

static void write_user_limit(const struct gang__preemption_answer *a,
                             const struct gang_preemption_rule *r, char *text, size_t cap)
{
    if (r->kind < 0) {
        snprintf(text, cap, "the user of the job would exceed its user limit in queue \"%s\"",
                 name_of(a, r->bound_queue));
        return;
    }
    struct amounts w = amounts_of(a, r);
    snprintf(
        text, cap,
        "the user of the job would exceed its user limit of %s in queue \"%s\", %s %s used, the "
        "job needs %s",
        w.bound, name_of(a, r->bound_queue), w.used.s, w.are, w.requested.s);
}

static void write_until(const struct gang__preemption_answer *a,
                        const struct gang_preemption_rule *r, const char *what, char *text,
                        size_t cap)
{
    int64_t ns = r->until_ns - a->s->now_ns;
    if (r->until_ns > 0)
        snprintf(text, cap, "%s, for %s seconds more%s", what,
                 gang__text_milli((ns + 999999) / 1000000, "").s,
                 r->gangs > 1 ? " the first of them" : "");
    else
        snprintf(text, cap, "%s, until something changes", what);
}

static void write_priority(const struct gang__preemption_answer *a,
                           const struct gang_preemption_rule *r, char *text, size_t cap)
{
    const struct gang__queue_state *q = gang__queue_state_of(a->s, r->bound_queue);
    bool newer = q && r->queue == r->bound_queue && q->q->within == GANG_PREEMPT_LOWER_OR_NEWER;
    snprintf(text, cap, "their priority, %" PRId64 "%s, is not below %" PRId64 "%s", r->bound,
             r->gangs > 1 ? " or more" : "", r->requested, newer ? ", and they are not newer" : "");
}

static void write_across(const struct gang__preemption_answer *a,
                         const struct gang_preemption_rule *r, char *text, size_t cap)
{
    write_priority(a, r, text, cap);
    size_t used = strlen(text);
    snprintf(text + used, cap - used, ", and queue \"%s\" may not reclaim from them",
             name_of(a, r->bound_queue));
}

static void write_why(const struct gang__preemption_answer *a, const struct gang_preemption_rule *r,
                      char *text, size_t cap)
{
    static const char *const plain[] = {
        [GANG_PROTECTED_NOT] = "no rule protects them",
        [GANG_PROTECTED_JOB] = "they are not preemptible",
        [GANG_PROTECTED_QUEUE] = "their queue is not preempted",
        [GANG_PROTECTED_STOPPING] = "they stop or move already, or others stop for them",
        [GANG_PROTECTED_SAME_JOB] = "they belong to the same job",
        [GANG_PROTECTED_RESERVATION] = "they run inside reservations",
        [GANG_PROTECTED_USER_LIMIT] = "their users are not above their user limits, or would fall "
                                      "below them",
    };
    switch (r->rule) {
    case GANG_PROTECTED_MIN_RUNTIME:
        write_until(a, r, "the minimum run time protects them", text, cap);
        break;
    case GANG_PROTECTED_COOLDOWN:
        write_until(a, r, "they were stopped for this queue before and are spared", text, cap);
        break;
    case GANG_PROTECTED_COOLDOWN_JOB:
        write_until(a, r, "the job was stopped for them before and spares them", text, cap);
        break;
    case GANG_PROTECTED_WITHIN_NEVER:
        snprintf(text, cap, "no job preempts inside queue \"%s\"", name_of(a, r->bound_queue));
        break;
    case GANG_PROTECTED_RECLAIM_NEVER:
        snprintf(text, cap, "queue \"%s\" takes nothing from other queues",
                 name_of(a, r->bound_queue));
        break;
    case GANG_PROTECTED_PRIORITY:
        write_priority(a, r, text, cap);
        break;
    case GANG_PROTECTED_ACROSS:
        write_across(a, r, text, cap);
        break;
    case GANG_PROTECTED_OUTRANKS:
        snprintf(
            text, cap,
            "they outrank the job, and queue \"%s\" may only take from them what its guarantee "
            "covers",
            name_of(a, r->bound_queue));
        break;
    case GANG_PROTECTED_GUARANTEE:
    case GANG_PROTECTED_SHARE:
    case GANG_PROTECTED_PREEMPTOR_SHARE:
    case GANG_PROTECTED_PREEMPTOR_GUARANTEE:
        write_amounts(a, r, text, cap);
        break;
    case GANG_PROTECTED_PREEMPTOR_USER_LIMIT:
        write_user_limit(a, r, text, cap);
        break;
    default:
        snprintf(text, cap, "%s", plain[r->rule]);
        break;
    }
}

/* "jobs 4, 5, 6 and others" */
static void write_jobs(const struct gang_preemption_rule *r, char *text, size_t cap)
{
    int used = snprintf(text, cap, "job%s", r->job_count > 1 ? "s" : "");
    for (int32_t i = 0; i < r->job_count; i++)
        used +=
            snprintf(text + used, cap - (size_t)used, "%s %" PRIu64, i > 0 ? "," : "", r->jobs[i]);
    if (r->gangs > r->job_count)
        snprintf(text + used, cap - (size_t)used, " and others");
}

static void write_entry(const struct gang__preemption_answer *a, struct gang__rule_entry *e)
{
    struct gang_preemption_rule *r = &e->shown;
    char jobs[128], why[400], queue[GANG_MAX_NAME + 16] = "other queues";
    if (r->queue != GANG_ID_NONE)
        snprintf(queue, sizeof(queue), "queue \"%s\"", name_of(a, r->queue));
    write_jobs(r, jobs, sizeof(jobs));
    write_why(a, r, why, sizeof(why));
    snprintf(e->text, sizeof(e->text), "%" PRId64 " gang%s of %s (%s): %s", r->gangs,
             r->gangs == 1 ? "" : "s", queue, jobs, why);
    r->text = e->text;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void write_outcome(struct gang__preemption_answer *a)
{
    static const char *const plain[] = {
        [GANG_PREEMPTION_NONE] = "the job does not wait",
        [GANG_PREEMPTION_NEXT] = "the next run preempts for it",
        [GANG_PREEMPTION_OFF] = "preemption is off",
        [GANG_PREEMPTION_NEVER] = "the job never preempts others",
        [GANG_PREEMPTION_VICTIMS] = "gangs are stopping for it",
        [GANG_PREEMPTION_NOT_TRIED] = "the job has not been tried yet in its order",
        [GANG_PREEMPTION_REASON] = "what the job waits for is nothing that preemption frees",
        [GANG_PREEMPTION_SUSPENDED] = "the job resumes on its old places alone",
        [GANG_PREEMPTION_SLICE] = "the job shares nodes in time, and waits for a row",
        [GANG_PREEMPTION_RESERVATION] = "no job is preempted for a member of a reservation",
        [GANG_PREEMPTION_FAILED] = "gangs stopped for it before and it could not start: it waits "
                                   "until something changes",
        [GANG_PREEMPTION_PROTECTED] = "a rule protects each gang that runs",
        [GANG_PREEMPTION_LIMIT] = "a limit of its queues or its user would still stop it",
        [GANG_PREEMPTION_FULLER] = "its queue would end relatively fuller than a queue that gives",
        [GANG_PREEMPTION_PRETEXT] = "a gang of its own branch would have to go that could start "
                                    "again beside it",
        [GANG_PREEMPTION_GUARANTEE] = "a queue that gives would fall below its share or guarantee",
        [GANG_PREEMPTION_MAX_TASKS] = "more tasks would stop than a run may preempt",
        [GANG_PREEMPTION_OBSERVED] = "preemption is only observed, not carried out",
        [GANG_PREEMPTION_ABOVE_GUARANTEE] = "it is not preemptible, and above a guarantee: it "
                                            "starts on free capacity alone",
    };
    const struct gang_preemption *p = &a->shown;
    if (p->outcome == GANG_PREEMPTION_BEHIND)
        snprintf(a->text, sizeof(a->text), "job %" PRIu64 " is tried before it, and is blocked",
                 p->blocker);
    else if (p->outcome == GANG_PREEMPTION_CAPACITY)
        snprintf(a->text, sizeof(a->text),
                 "without the %" PRId64 " victim%s that it may take together it still cannot start",
                 p->together, p->together == 1 ? "" : "s");
    else if (p->outcome == GANG_PREEMPTION_PROTECTED && p->gangs == 0)
        snprintf(a->text, sizeof(a->text), "no gang runs that it could preempt");
    else
        snprintf(a->text, sizeof(a->text), "%s", plain[p->outcome]);
}

void gang__preemption_write_texts(struct gang__preemption_answer *a)
{
    static const char *const moves[] = {
        [GANG_MOVES_TRIED] = "no moves of gangs make a place for it",
        [GANG_MOVES_OFF] = "moves are off",
        [GANG_MOVES_PLANNED] = "no gang is moved: planned starts come first",
        [GANG_MOVES_AMOUNTS] = "moving gangs does not help: less is free in all than it requests",
        [GANG_MOVES_LIMIT] = "moving gangs does not help: its queues do not allow it to start",
    };
    bool tried = a->shown.outcome >= GANG_PREEMPTION_PROTECTED &&
                 a->shown.outcome <= GANG_PREEMPTION_OBSERVED && a->shown.gangs > 0;
    write_outcome(a);
    snprintf(a->moves_text, sizeof(a->moves_text), "%s", tried ? moves[a->shown.moves] : "");
    for (size_t i = 0; i < a->shown.rule_count; i++)
        write_entry(a, &a->rule[i]);
}
