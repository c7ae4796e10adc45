/* SPDX-License-Identifier: Apache-2.0 */
/* Milli-GPUs of requests by GPU memory, before a placement chooses the devices.
 *
 * The same amount of memory is a smaller share of a larger device. So a task takes more or fewer
 * milli-GPUs, depending on its device. Queues count the maximum: the share of the smallest device
 * in the cluster that has so much, whatever its state and wherever the task runs. So the usage of
 * a queue, and whether a gang may start, depend on the request and the devices alone.
 *
 * Usage is counted by one list of devices at a time. Each run begins by checking it. If it
 * changed, all gangs that ask by memory leave the usage and enter it by the new list. If a bound
 * must not be too high (capacity that came free, sums of the timeline), the largest device
 * counts. */
#include <string.h>

#include "base/rcu.h"
#include "place/request/request.h"
#include "sched/record/state.h"
#include "sched/usage/usage_in.h"
#include "sched/wake/wake.h"

/* ---- devices --------------------------------------------------------------------------------- */

static int64_t share_of(int64_t asked, int64_t has)
{
    return has < asked ? 1000 : gang__mul_div_up(asked, 1000, has);
}

int64_t gang__gpu_memory_max_share(const gang_sched *s, int64_t asked)
{
    const struct gang__gpu_memory *sizes = &s->usage.gpu_memory;
    size_t low = 0, high = sizes->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sizes->bytes[middle] < asked)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizes->count ? share_of(asked, sizes->bytes[low]) : 1000;
}

int64_t gang__gpu_memory_min_share(const gang_sched *s, int64_t asked)
{
    const struct gang__gpu_memory *sizes = &s->usage.gpu_memory;
    return sizes->count ? share_of(asked, sizes->bytes[sizes->count - 1]) : 1000;
}

static bool note(gang_sched *s, struct gang__gpu_memory *sizes, int64_t bytes)
{
    size_t at = sizes->count;
    while (at > 0 && sizes->bytes[at - 1] > bytes)
        at--;
    if (bytes <= 0 || (at > 0 && sizes->bytes[at - 1] == bytes))
        return true;
    if (!gang__grow(&s->mem, (void **)&sizes->bytes, &sizes->cap, sizes->count + 1,
                    sizeof(*sizes->bytes)))
        return false;
    memmove(sizes->bytes + at + 1, sizes->bytes + at, (sizes->count - at) * sizeof(*sizes->bytes));
    sizes->bytes[at] = bytes;
    sizes->count++;
    return true;
}

/* Reads the devices of a node, if its node type is not that of the node before. */
static size_t read_node(const gang_sched *s, uint32_t slot, uint64_t *serial,
                        int64_t bytes[GANG_MAX_GPUS])
{
    size_t count = 0;
    gang__rcu_enter();
    const struct gang__node *node = gang__node_at(s->cluster, slot);
    if (node && node->type->serial != *serial) {
        *serial = node->type->serial;
        for (; count < node->type->spec->gpu_count && count < GANG_MAX_GPUS; count++)
            bytes[count] = node->type->spec->gpus[count].memory_bytes;
    }
    gang__rcu_leave();
    return count;
}

/* Reads the devices of all nodes, as they are now, into the scratch list. */
static bool read_devices(gang_sched *s)
{
    int64_t bytes[GANG_MAX_GPUS];
    uint64_t serial = 0;
    uint32_t end = gang__load(&s->cluster->commit.slot_end);
    s->usage.gpu_memory_next.count = 0;
    for (uint32_t slot = 1; slot < end; slot++) {
        size_t count = read_node(s, slot, &serial, bytes);
        for (size_t i = 0; i < count; i++)
            if (!note(s, &s->usage.gpu_memory_next, bytes[i]))
                return false;
    }
    return true;
}

static void use_next(gang_sched *s)
{
    struct gang__gpu_memory was = s->usage.gpu_memory;
    s->usage.gpu_memory = s->usage.gpu_memory_next;
    s->usage.gpu_memory_next = was;
}

static bool is_other(const struct gang__gpu_memory *a, const struct gang__gpu_memory *b)
{
    return a->count != b->count ||
           (a->count > 0 && memcmp(a->bytes, b->bytes, a->count * sizeof(*a->bytes)) != 0);
}

bool gang__gpu_memory_begin(gang_sched *s)
{
    uint64_t epoch = gang__load(&s->cluster->nodes.epoch) + 1;
    if (s->usage.by_memory > 0 || s->usage.gpu_memory_epoch == epoch)
        return true;
    if (!read_devices(s))
        return false;
    use_next(s);
    s->usage.gpu_memory_epoch = epoch;
    return true;
}

/* ---- counting by another list ---------------------------------------------------------------- */

/* Adds (or, with sign -1, takes) all that usage has of a gang. */
static void count_usage(gang_sched *s, struct gang__gang *g, int64_t sign)
{
    if (sign > 0)
        gang__usage_in(s, g);
    else
        gang__usage_out(s, g);
    if (g->stop.handover && g->stop.handover->charged)
        gang__usage_charge_handover(s, g->stop.handover, sign);
    if (g->stop.moving)
        gang__usage_charge_move(s, g->stop.moving, sign);
}

static void count_all_usage(gang_sched *s, int64_t sign)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count && job->state != GANG_JOB_ENDED; i++)
            if (job->gang[i].request_class->by_memory)
                count_usage(s, &job->gang[i], sign);
    }
}

void gang__gpu_memory_refresh(gang_sched *s)
{
    uint64_t epoch = gang__load(&s->cluster->nodes.epoch) + 1;
    if (s->usage.by_memory == 0 || s->usage.gpu_memory_epoch == epoch)
        return;
    if (!read_devices(s)) {
        s->no_memory = true;
        gang__wake_next_run(s);
        return;
    }
    s->usage.gpu_memory_epoch = epoch;
    if (!is_other(&s->usage.gpu_memory, &s->usage.gpu_memory_next))
        return;
    count_all_usage(s, -1);
    use_next(s);
    for (size_t b = 0; b < s->classes.cap; b++)
        for (struct gang__hash_link *n = s->classes.bucket[b]; n; n = n->next) {
            struct gang__request_class *request_class =
                GANG__OF(struct gang__request_class, link, n);
            if (!request_class->by_memory)
                continue;
            /* Also renews amounts that changed queues made old: usage counts the class now. */
            request_class->config_of = s->config_count - 1;
            /* cannot fail: it needs no more amounts than before */
            (void)!gang__request_class_refresh(s, request_class);
        }
    count_all_usage(s, 1);
    gang__stopping_recount(s);
    s->usage.total_epoch = 0; /* limits may allow more gangs now */
    gang__fair_refresh(s);
}

/* ---- copies ---------------------------------------------------------------------------------- */

bool gang__gpu_memory_copy(gang_sched *s, const gang_sched *from)
{
    for (size_t i = 0; i < from->usage.gpu_memory.count; i++)
        if (!note(s, &s->usage.gpu_memory, from->usage.gpu_memory.bytes[i]))
            return false;
    s->usage.gpu_memory_epoch = gang__load(&s->cluster->nodes.epoch) + 1;
    return true;
}

void gang__gpu_memory_copy_end(gang_sched *s, const gang_sched *from)
{
    if (from->usage.gpu_memory_epoch != gang__load(&from->cluster->nodes.epoch) + 1)
        s->usage.gpu_memory_epoch = 0;
}
