/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to the host that every floor makes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sched/record/job_record.h"

void gang__log(gang_sched *s, int32_t level, const char *fmt, ...)
{
    char text[256];
    va_list args;
    if (!s->ops.log)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)s->ops.log(level, text, s->user);
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
