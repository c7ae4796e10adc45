/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeats: a list in order of reports, and a hash table by gang and task (heartbeat.h). */
#include "sched/record/heartbeat.h"

#include "base/wide.h"

struct task_heartbeat {
    struct gang__hash_link link;
    struct task_heartbeat *before, *after;
    int64_t task, heard_ns;
    uint32_t gang;
};

struct gang__heartbeat {
    struct gang__hash_table tasks;
    struct task_heartbeat *oldest, *newest;
};

static uint64_t hash_of(uint32_t gang, int64_t task)
{
    uint64_t key[2] = {gang, (uint64_t)task};
    return gang__hash(GANG__HASH_SEED, key, sizeof(key));
}

static struct task_heartbeat *find(const struct gang__job *job, uint32_t gang, int64_t task)
{
    if (!job->heartbeats)
        return NULL;
    uint64_t hash = hash_of(gang, task);
    struct gang__hash_link *n = gang__hash_first(&job->heartbeats->tasks, hash);
    for (; n; n = n->next) {
        struct task_heartbeat *b = GANG__OF(struct task_heartbeat, link, n);
        if (n->hash == hash && b->gang == gang && b->task == task)
            return b;
    }
    return NULL;
}

static void unlink_heartbeat(struct gang__heartbeat *all, struct task_heartbeat *b)
{
    *(b->before ? &b->before->after : &all->oldest) = b->after;
    *(b->after ? &b->after->before : &all->newest) = b->before;
}

static void append(struct gang__heartbeat *all, struct task_heartbeat *b)
{
    b->before = all->newest;
    b->after = NULL;
    *(all->newest ? &all->newest->after : &all->oldest) = b;
    all->newest = b;
}

static struct task_heartbeat *make(gang_sched *s, struct gang__job *job, uint32_t gang,
                                   int64_t task)
{
    if (!job->heartbeats)
        job->heartbeats = gang__zalloc(&s->mem, 1, sizeof(*job->heartbeats));
    if (!job->heartbeats || gang__hash_reserve(&job->heartbeats->tasks, &s->mem) != GANG_OK)
        return NULL;
    struct task_heartbeat *b = gang__zalloc(&s->mem, 1, sizeof(*b));
    if (!b)
        return NULL;
    b->gang = gang;
    b->task = task;
    gang__hash_insert(&job->heartbeats->tasks, &b->link, hash_of(gang, task));
    return b;
}

bool gang__heartbeat_known(const struct gang__job *job, uint32_t gang, int64_t task)
{
    return find(job, gang, task) != NULL;
}

bool gang__heartbeat_heard(gang_sched *s, struct gang__job *job, uint32_t gang, int64_t task)
{
    struct task_heartbeat *b = find(job, gang, task);
    if (b)
        unlink_heartbeat(job->heartbeats, b);
    else if (!(b = make(s, job, gang, task)))
        return false;
    b->heard_ns = s->now_ns;
    append(job->heartbeats, b);
    return true;
}

static void drop(gang_sched *s, struct gang__heartbeat *all, struct task_heartbeat *b)
{
    unlink_heartbeat(all, b);
    gang__hash_remove(&all->tasks, &b->link);
    gang__release(&s->mem, b);
}

void gang__heartbeat_forget(gang_sched *s, struct gang__job *job, uint32_t gang, int64_t task)
{
    struct task_heartbeat *b = find(job, gang, task);
    if (b)
        drop(s, job->heartbeats, b);
}

void gang__heartbeat_forget_gang(gang_sched *s, struct gang__job *job, uint32_t gang)
{
    for (struct task_heartbeat *b = job->heartbeats ? job->heartbeats->oldest : NULL, *after; b;
         b = after) {
        after = b->after;
        if (b->gang == gang)
            drop(s, job->heartbeats, b);
    }
}

int64_t gang__heartbeat_next(const struct gang__job *job)
{
    if (!job->heartbeats || !job->heartbeats->oldest)
        return INT64_MAX;
    return gang__add_sat(job->heartbeats->oldest->heard_ns, job->options->heartbeat_ns);
}

size_t gang__heartbeat_late(const gang_sched *s, const struct gang__job *job, uint32_t *gang,
                            int64_t *tasks, size_t cap)
{
    size_t count = 0;
    if (gang__heartbeat_next(job) > s->now_ns)
        return 0;
    const struct task_heartbeat *b = job->heartbeats->oldest;
    *gang = b->gang;
    for (; b && count < cap && gang__add_sat(b->heard_ns, job->options->heartbeat_ns) <= s->now_ns;
         b = b->after) {
        if (b->gang != *gang)
            continue;
        size_t at = count++;
        for (; at > 0 && tasks[at - 1] > b->task; at--)
            tasks[at] = tasks[at - 1];
        tasks[at] = b->task;
    }
    return count;
}

bool gang__heartbeat_copy(gang_sched *s, struct gang__job *to, const struct gang__job *from)
{
    for (const struct task_heartbeat *b = from->heartbeats ? from->heartbeats->oldest : NULL; b;
         b = b->after) {
        struct task_heartbeat *copy = make(s, to, b->gang, b->task);
        if (!copy)
            return false;
        copy->heard_ns = b->heard_ns;
        append(to->heartbeats, copy);
    }
    return true;
}

void gang__heartbeat_free(gang_sched *s, struct gang__job *job)
{
    if (!job->heartbeats)
        return;
    while (job->heartbeats->oldest)
        drop(s, job->heartbeats, job->heartbeats->oldest);
    gang__hash_free(&job->heartbeats->tasks, &s->mem);
    gang__release(&s->mem, job->heartbeats);
    job->heartbeats = NULL;
}
