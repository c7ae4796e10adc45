/* SPDX-License-Identifier: Apache-2.0 */
/* Host lists for launchers. */
#include <stdio.h>
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/report/report.h"
#include "place/state/records.h"

struct out {
    gang_write_fn write;
    void *user;
    size_t used;
    bool refused;
    char text[1024];
};

static void flush(struct out *o)
{
    if (o->used && !o->refused)
        o->refused = o->write(o->text, o->used, o->user) != 0;
    o->used = 0;
}

static void put(struct out *o, const char *text)
{
    size_t length = strlen(text); /* a name, or less */
    if (o->used + length > sizeof(o->text))
        flush(o);
    memcpy(o->text + o->used, text, length);
    o->used += length;
}

static void put_number(struct out *o, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    put(o, text);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool is_plain(const char *name)
{
    return name[0] != '+' && strpbrk(name, " ,:=#") == NULL;
}

struct host {
    char name[GANG_MAX_NAME + 1];
    uint64_t cores; /* of the node: those known, else as many as its millicores speak of */
};

static gang_result host_of(gang_cluster *c, gang_node_id id, struct host *host)
{
    gang__rcu_enter();
    const struct gang__node *node = gang__node_of(c, id);
    gang_result r = !node ? GANG_ESTALE : is_plain(node->name) ? GANG_OK : GANG_ENOTSUP;
    if (r == GANG_OK) {
        const struct gang_node_spec *spec = node->type->spec;
        memcpy(host->name, node->name, strlen(node->name) + 1);
        host->cores =
            spec->core_count ? spec->core_count : (uint64_t)(spec->cpu_milli + 999) / 1000;
    }
    gang__rcu_leave();
    return r;
}

/* ---- cores ----------------------------------------------------------------------------------- */

static bool has_core(const struct gang_task *task, unsigned core)
{
    return core < GANG_MAX_CORES && (task->cores[core / 64] >> (core % 64) & 1);
}

static void put_range(struct out *o, uint64_t first, uint64_t last)
{
    put_number(o, first);
    if (last > first) {
        put(o, "-");
        put_number(o, last);
    }
}

static void put_cores(struct out *o, const struct gang_task *task, uint64_t of_node)
{
    const char *comma = "";
    if (task->core_count == 0)
        put_range(o, 0, of_node ? of_node - 1 : 0);
    for (unsigned core = 0; core < GANG_MAX_CORES; core++) {
        unsigned first = core;
        if (!has_core(task, core))
            continue;
        while (has_core(task, core + 1))
            core++;
        put(o, comma);
        put_range(o, first, core);
        comma = ",";
    }
}

/* ---- the list -------------------------------------------------------------------------------- */

/* This task or the first after it that is listed; NULL: none. */
static const uint64_t *listed(const struct gang__alloc *a, const uint64_t *task, int32_t group)
{
    while (task && !gang__task_is_listed(a, task, group))
        task = gang__task_next(a, task);
    return task;
}

static const uint64_t *first_listed(const struct gang__alloc *a, int32_t group)
{
    return listed(a, gang__task_first(a), group);
}

static const uint64_t *next_listed(const struct gang__alloc *a, const uint64_t *task, int32_t group)
{
    return listed(a, gang__task_next(a, task), group);
}

static void put_tasks(struct out *o, int32_t format, const struct host *host, uint64_t tasks,
                      bool is_first)
{
    if (format == GANG_HOSTS_HOROVOD && !is_first)
        put(o, ",");
    put(o, host->name);
    if (format != GANG_HOSTS_PLAIN) {
        put(o, format == GANG_HOSTS_MPI ? " slots=" : ":");
        put_number(o, tasks);
    }
    if (format != GANG_HOSTS_HOROVOD)
        put(o, "\n");
}

static void put_rank(struct out *o, const struct host *host, const struct gang_task *task,
                     uint64_t rank)
{
    put(o, "rank ");
    put_number(o, rank);
    put(o, "=");
    put(o, host->name);
    put(o, " slot=");
    put_cores(o, task, host->cores);
    put(o, "\n");
}

/* Tasks in a row on one node are joined by the formats that count them. */
static gang_result write_all(gang_cluster *c, const struct gang__alloc *a, int32_t group,
                             int32_t format, struct out *o)
{
    bool joins = format == GANG_HOSTS_HOROVOD || format == GANG_HOSTS_MPI;
    struct host host;
    gang_node_id last = GANG_ID_NONE;
    uint64_t rank = 0, tasks = 0;
    gang_result r = GANG_OK;
    const uint64_t *task = first_listed(a, group), *next;
    for (; task && r == GANG_OK && !o->refused; task = next) {
        gang_node_id id = task[0];
        next = next_listed(a, task, group);
        if (id != last)
            r = host_of(c, id, &host);
        last = id;
        tasks++;
        if (r == GANG_OK && format == GANG_HOSTS_RANKFILE) {
            struct gang_task decoded;
            gang__task_decode(c, task, &decoded);
            put_rank(o, &host, &decoded, rank);
        } else if (r == GANG_OK && !(joins && next && next[0] == id)) {
            put_tasks(o, format, &host, tasks, rank + 1 == tasks);
            tasks = 0;
        }
        rank++;
    }
    flush(o);
    return r == GANG_OK && o->refused ? GANG_EIO : r;
}

/* Can all names be written? */
static gang_result check_names(gang_cluster *c, const struct gang__alloc *a, int32_t group)
{
    struct host host;
    gang_node_id last = GANG_ID_NONE;
    gang_result r = GANG_OK;
    for (const uint64_t *task = first_listed(a, group); task && r == GANG_OK;
         task = next_listed(a, task, group)) {
        if (task[0] != last)
            r = host_of(c, task[0], &host);
        last = task[0];
    }
    return r;
}

/* -1: all. */
bool gang__request_has_group(const gang_request *request, int32_t in_job)
{
    for (uint32_t i = 0; i < request->group_count; i++)
        if (request->group[i].in_job == in_job)
            return true;
    return in_job == -1;
}

gang_result gang_alloc_write_hosts(gang_cluster *cluster, gang_alloc_id id, int32_t group,
                                   int32_t format, gang_write_fn write, void *user)
{
    if (!cluster || !write || format < GANG_HOSTS_PLAIN || format > GANG_HOSTS_RANKFILE)
        return GANG_EINVAL;
    struct gang__alloc *a;
    gang_result r = gang__alloc_read(cluster, id, &a);
    if (r != GANG_OK)
        return r;
    struct out o = {.write = write, .user = user};
    if (!gang__request_has_group(a->request, group))
        r = GANG_EINVAL;
    if (r == GANG_OK)
        r = check_names(cluster, a, group);
    if (r == GANG_OK)
        r = write_all(cluster, a, group, format, &o);
    gang__alloc_read_end(a);
    return r;
}
