/* SPDX-License-Identifier: Apache-2.0 */
#include "place/report/task_location.h"

#include <string.h>

#include "base/error.h"
#include "core/nodes/nodes.h"

gang_result gang__task_location_find(gang_cluster *c, const struct gang_task *task,
                                     struct gang__task_location *in)
{
    uint64_t payload[GANG__MAX_WORDS];
    gang_result r =
        gang__struct_in(&in->task, sizeof(in->task), sizeof(in->task), task, task->size);
    if (r != GANG_OK)
        return r;
    in->node = gang__node_read(c, in->task.node, payload);
    if (!in->node)
        return GANG_ESTALE;
    in->spec = in->node->type->spec;
    uint64_t outside = in->task.gpus & ~(in->node->type->gpus | in->node->type->slices);
    for (size_t w = 0; w < GANG_MAX_CORES / 64; w++) {
        size_t cores = in->spec->core_count;
        uint64_t there = cores >= 64 * (w + 1) ? UINT64_MAX
                         : cores > 64 * w      ? (UINT64_C(1) << (cores - 64 * w)) - 1
                                               : 0;
        outside |= in->task.cores[w] & ~there;
    }
    return outside ? GANG_EINVAL : GANG_OK;
}

const char *gang__task_location_uuid(const struct gang__task_location *in, size_t gpu)
{
    const char *uuid = NULL;
    if (in->node->tags && in->node->tags->uuids)
        uuid = in->node->tags->uuids[gpu];
    return uuid && uuid[0] ? uuid : NULL;
}

/* ---- runs of numbers ------------------------------------------------------------------------- */

/* Joins numbers that come in ascending order to runs. */
struct runs {
    gang__range_fn range;
    void *user;
    uint32_t first, end; /* the run so far; empty: first == end */
};

static bool runs_add(struct runs *r, uint32_t number)
{
    if (r->first != r->end && r->end == number) {
        r->end++;
        return true;
    }
    bool go_on = r->first == r->end || r->range(r->first, r->end - 1, r->user);
    r->first = number;
    r->end = number + 1;
    return go_on;
}

static bool runs_end(const struct runs *r)
{
    return r->first == r->end || r->range(r->first, r->end - 1, r->user);
}

/* ---- hardware threads ------------------------------------------------------------------------ */

/* Those of a window of numbers, and the highest of all. One window usually holds them all: they are
 * seldom above 1000. */
enum { WINDOW = 1 << 13 };
struct window {
    uint32_t base, top;
    uint64_t bit[WINDOW / 64];
};

static void window_add(struct window *w, uint32_t first, uint32_t last)
{
    if (last > w->top)
        w->top = last;
    if (last < w->base || first >= w->base + WINDOW)
        return;
    uint32_t from = first > w->base ? first - w->base : 0;
    for (uint32_t i = from; i < WINDOW && i <= last - w->base; i++)
        w->bit[i / 64] |= UINT64_C(1) << i % 64;
}

static uint32_t read_number(const char **text)
{
    uint32_t number = 0;
    for (; **text >= '0' && **text <= '9'; ++*text)
        number = number * 10 + (uint32_t)(**text - '0');
    return number;
}

/* The list of a core was checked with its node: "0,64", "0-3,8". */
static void add_core(struct window *w, const struct gang_core_spec *core)
{
    if (!core->cpuset) {
        window_add(w, (uint32_t)core->os_index, (uint32_t)core->os_index);
        return;
    }
    for (const char *at = core->cpuset; *at;) {
        uint32_t first = read_number(&at), last = first;
        if (*at == '-') {
            at++;
            last = read_number(&at);
        }
        at += *at == ',';
        window_add(w, first, last);
    }
}

bool gang__task_location_cpus(const struct gang__task_location *in, gang__range_fn range,
                              void *user)
{
    struct runs runs = {range, user, 0, 0};
    struct window w = {0};
    for (w.base = 0; w.base <= w.top; w.base += WINDOW) {
        memset(w.bit, 0, sizeof(w.bit));
        for (size_t i = 0; i < in->spec->core_count; i++)
            if (in->task.cores[i / 64] >> i % 64 & 1)
                add_core(&w, &in->spec->cores[i]);
        for (uint32_t i = 0; i < WINDOW; i++)
            if ((w.bit[i / 64] >> i % 64 & 1) && !runs_add(&runs, w.base + i))
                return false;
    }
    return runs_end(&runs);
}

/* ---- NUMA domains ---------------------------------------------------------------------------- */

bool gang__task_location_numas(const struct gang__task_location *in, gang__range_fn range,
                               void *user)
{
    struct runs runs = {range, user, 0, 0};
    uint64_t domain[GANG_MAX_NUMAS / 64] = {0};
    uint64_t cores = 0;
    for (size_t w = 0; w < GANG_MAX_CORES / 64; w++)
        cores |= in->task.cores[w];
    for (size_t i = 0; i < in->spec->core_count; i++)
        if ((in->task.cores[i / 64] >> i % 64 & 1) && in->spec->cores[i].numa >= 0)
            domain[in->spec->cores[i].numa / 64] |= UINT64_C(1) << in->spec->cores[i].numa % 64;
    for (size_t i = 0; !cores && i < in->spec->gpu_count; i++)
        if ((in->task.gpus >> i & 1) && in->spec->gpus[i].numa >= 0)
            domain[in->spec->gpus[i].numa / 64] |= UINT64_C(1) << in->spec->gpus[i].numa % 64;
    /* Ascending by the numbers of the operating system, which are in no order of ours. */
    for (int64_t last = -1;;) {
        int64_t next = INT64_MAX;
        for (size_t d = 0; d < in->spec->numa_count; d++) {
            int32_t number = in->spec->numas[d].os_index;
            if ((domain[d / 64] >> d % 64 & 1) && number > last && number < next)
                next = number;
        }
        if (next == INT64_MAX)
            return runs_end(&runs);
        if (!runs_add(&runs, (uint32_t)next))
            return false;
        last = next;
    }
}
