/* SPDX-License-Identifier: Apache-2.0 */
/* A task as text for launchers. */
#include <stdio.h>
#include <string.h>

#include "base/rcu.h"
#include "place/report/task_location.h"

/* Text: what does not fit is counted, not written. */
struct text {
    char *at;
    size_t capacity;
    size_t length;
};

static void put_bytes(struct text *t, const char *bytes, size_t count)
{
    if (t->length < t->capacity && count <= t->capacity - t->length)
        memcpy(t->at + t->length, bytes, count);
    t->length += count;
}

/* The next item of a list. */
static void put_item(struct text *t, const char *prefix, const char *item)
{
    if (t->length)
        put_bytes(t, ",", 1);
    put_bytes(t, prefix, strlen(prefix));
    put_bytes(t, item, strlen(item));
}

static bool put_range(uint32_t first, uint32_t last, void *user)
{
    char item[32];
    if (first == last)
        snprintf(item, sizeof(item), "%u", first);
    else
        snprintf(item, sizeof(item), "%u-%u", first, last);
    put_item(user, "", item);
    return true;
}

static void put_indexes(struct text *t, const struct gang__task_location *in)
{
    for (uint64_t left = in->task.gpus; left; left &= left - 1)
        put_range((uint32_t)__builtin_ctzll(left), (uint32_t)__builtin_ctzll(left), t);
}

static void put_addresses(struct text *t, const struct gang__task_location *in)
{
    for (uint64_t left = in->task.gpus; left; left &= left - 1)
        if (!in->spec->gpus[__builtin_ctzll(left)].pci ||
            !in->spec->gpus[__builtin_ctzll(left)].pci[0])
            return;
    for (uint64_t left = in->task.gpus; left; left &= left - 1)
        put_item(t, "", in->spec->gpus[__builtin_ctzll(left)].pci);
}

static bool uuids_are_known(const struct gang__task_location *in)
{
    for (uint64_t left = in->task.gpus; left; left &= left - 1)
        if (!gang__task_location_uuid(in, (size_t)__builtin_ctzll(left)))
            return false;
    return true;
}

/* Partitions of one device may bear its uuid, each of them. */
static bool uuids_are_unique(const struct gang__task_location *in)
{
    for (uint64_t left = in->task.gpus; left; left &= left - 1) {
        size_t gpu = (size_t)__builtin_ctzll(left);
        for (size_t i = 0; i < in->spec->gpu_count; i++) {
            const char *other = i == gpu ? NULL : gang__task_location_uuid(in, i);
            if (other && strcmp(other, gang__task_location_uuid(in, gpu)) == 0)
                return false;
        }
    }
    return true;
}

static void put_uuids(struct text *t, const struct gang__task_location *in, const char *prefix)
{
    if (!uuids_are_known(in))
        return;
    for (uint64_t left = in->task.gpus; left; left &= left - 1) {
        const char *uuid = gang__task_location_uuid(in, (size_t)__builtin_ctzll(left));
        put_item(t, strncmp(uuid, prefix, strlen(prefix)) == 0 ? "" : prefix, uuid);
    }
}

static void put_visible(struct text *t, const struct gang__task_location *in, const char *prefix)
{
    if (uuids_are_known(in) && uuids_are_unique(in))
        put_uuids(t, in, prefix);
    else
        put_indexes(t, in);
}

/* Does the task have a GPU, or without GPUs a core, in a domain? -1: of a machine that has none. */
static bool is_in(const struct gang__task_location *in, int32_t numa)
{
    if (in->spec->numa_count && numa < 0)
        return false;
    for (uint64_t left = in->task.gpus; left; left &= left - 1)
        if (in->spec->gpus[__builtin_ctzll(left)].numa == numa || !in->spec->numa_count)
            return true;
    for (size_t i = 0; !in->task.gpus && i < in->spec->core_count; i++)
        if ((in->task.cores[i / 64] >> i % 64 & 1) &&
            (in->spec->cores[i].numa == numa || !in->spec->numa_count))
            return true;
    return false;
}

static void put_nics(struct text *t, const struct gang__task_location *in)
{
    for (size_t i = 0; i < in->spec->nic_count; i++)
        if (is_in(in, in->spec->nics[i].numa))
            put_item(t, "", in->spec->nics[i].name);
}

static void compose(struct text *t, const struct gang__task_location *in, int32_t what)
{
    t->length = 0;
    switch (what) {
    case GANG_TASK_TEXT_GPUS:
        put_indexes(t, in);
        break;
    case GANG_TASK_TEXT_PCI:
        put_addresses(t, in);
        break;
    case GANG_TASK_TEXT_UUIDS:
        put_uuids(t, in, "");
        break;
    case GANG_TASK_TEXT_CUDA:
        put_visible(t, in, "");
        break;
    case GANG_TASK_TEXT_ROCR:
        put_visible(t, in, "GPU-");
        break;
    case GANG_TASK_TEXT_CPUSET:
        (void)gang__task_location_cpus(in, put_range, t);
        break;
    case GANG_TASK_TEXT_NODESET:
        (void)gang__task_location_numas(in, put_range, t);
        break;
    default:
        put_nics(t, in);
        break;
    }
    put_bytes(t, "", 1);
}

gang_result gang_task_text(gang_cluster *cluster, const struct gang_task *task, int32_t what,
                           char *buffer, size_t buffer_size, size_t *needed)
{
    struct gang__task_location in;
    struct text none = {NULL, 0, 0}, text = {buffer, buffer_size, 0};
    if (needed)
        *needed = 0;
    if (!cluster || !task || what < GANG_TASK_TEXT_GPUS || what > GANG_TASK_TEXT_NICS ||
        (buffer_size && !buffer))
        return GANG_EINVAL;
    gang__rcu_enter();
    gang_result r = gang__task_location_find(cluster, task, &in);
    if (r == GANG_OK) {
        compose(&none, &in, what);
        if (none.length <= buffer_size)
            compose(&text, &in, what);
        else
            r = GANG_ELIMIT;
    }
    gang__rcu_leave();
    if (needed)
        *needed = none.length;
    return r;
}
