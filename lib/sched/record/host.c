/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to the host that every floor makes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sched/record/job_record.h"

static void write_log(gang_sched *s, struct gang_log_entry *entry, const char *fmt, va_list args)
{
    char text[256];
    if (!s->ops.log && !s->ops.log_entry)
        return;
    vsnprintf(text, sizeof(text), fmt, args);
    entry->size = sizeof(*entry);
    entry->now_ns = s->now_ns;
    entry->text = text;
    if (s->ops.log_entry)
        (void)s->ops.log_entry(entry, s->user);
    else
        (void)s->ops.log(entry->level, text, s->user);
}

/* What the scheduler did by itself is information, and what a host cannot know when it reports; the
 * rest are errors of the host. */
static int32_t level_of(int32_t code)
{
    return code == GANG_LOG_STARVED || code == GANG_LOG_OBSERVED || code == GANG_LOG_PLACES_LOST ||
           code == GANG_LOG_LATE || code == GANG_LOG_REBOUND || code == GANG_LOG_PASSED_ON;
}

static struct gang_log_entry entry_of(int32_t code, const struct gang__job *job)
{
    struct gang_log_entry entry = GANG_LOG_ENTRY_INIT;
    entry.code = code;
    entry.level = level_of(code);
    entry.job = job->id;
    entry.queue = job->leaf ? job->leaf->q->id : GANG_ID_NONE;
    entry.cookie = job->cookie;
    return entry;
}

void gang__log(gang_sched *s, int32_t level, const char *fmt, ...)
{
    struct gang_log_entry entry = GANG_LOG_ENTRY_INIT;
    va_list args;
    entry.level = level;
    va_start(args, fmt);
    write_log(s, &entry, fmt, args);
    va_end(args);
}

void gang__log_unknown(gang_sched *s, int32_t code, gang_job_id id, const char *fmt, ...)
{
    struct gang_log_entry entry = GANG_LOG_ENTRY_INIT;
    va_list args;
    entry.code = code;
    entry.level = level_of(code);
    entry.job = id;
    va_start(args, fmt);
    write_log(s, &entry, fmt, args);
    va_end(args);
}

void gang__log_job(gang_sched *s, int32_t code, const struct gang__job *job, const char *fmt, ...)
{
    struct gang_log_entry entry = entry_of(code, job);
    va_list args;
    va_start(args, fmt);
    write_log(s, &entry, fmt, args);
    va_end(args);
}

struct gang_event gang__event_of(const gang_sched *s, const struct gang__gang *g, int32_t reason,
                                 const char *text)
{
    const struct gang__job *job = g->job;
    struct gang_event e;
    memset(&e, 0, sizeof(e));
    e.size = sizeof(e);
    e.job = job->id;
    e.cookie = job->cookie;
    e.alloc = g->alloc;
    e.gang = (int32_t)g->index;
    e.state = job->state;
    e.end = job->end;
    e.reason = reason;
    e.now_ns = s->now_ns;
    e.text = text;
    return e;
}
