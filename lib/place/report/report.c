/* SPDX-License-Identifier: Apache-2.0 */
/* Reading allocations: totals, enumeration, JSON. */
#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/report/report.h"
#include "place/report/task_location.h"
#include "place/state/records.h"

/* ---- one task, decoded ----------------------------------------------------------------------- */

static void decode_cores(struct gang_task *out, unsigned first, uint64_t bits)
{
    gang__cores_put_word(out->cores, first, bits);
    out->core_count += (int32_t)gang__popcount(bits);
}

static void decode_shares(struct gang_task *out, unsigned first, uint64_t payload)
{
    for (unsigned i = 0; payload != 0; i++, payload >>= GANG__SHARE_BITS) {
        uint32_t share = gang__share(payload, 0);
        if (!share)
            continue;
        out->gpus |= UINT64_C(1) << (first + i);
        out->gpu_count++;
        out->gpu_share = (int32_t)share;
    }
}

/* The node still holds the task's words, so its layout is the one the task was placed with. */
void gang__task_decode(gang_cluster *c, const uint64_t *task, struct gang_task *out)
{
    uint32_t slot = (uint32_t)task[0];
    struct gang__layout layout = gang__layout_at(gang__chunk_of(&c->commit, slot), slot);
    unsigned deltas = gang__task_deltas(task);
    memset(out, 0, sizeof(*out));
    out->size = sizeof(*out);
    out->task = gang__task_number(task);
    out->node = task[0];
    out->group = (int32_t)gang__task_group(task);
    for (unsigned i = 0; i < deltas; i++) {
        uint64_t delta = task[GANG__TASK_HEAD + i], payload = gang__payload(delta);
        unsigned word = gang__delta_word(delta);
        if (delta & GANG__DELTA_POOL)
            continue;
        if (word == GANG__WORD_HEAD)
            out->cpu_milli = (int64_t)payload;
        else if (word == GANG__WORD_MEMORY)
            out->memory_bytes = (int64_t)payload * GANG_PAGE_BYTES;
        else if (word < gang__first_core(layout))
            decode_shares(out, (word - GANG__WORD_SHARES) * GANG__SHARES_PER_WORD, payload);
        else if (word < gang__first_amount(layout))
            decode_cores(out, (word - gang__first_core(layout)) * GANG__CORES_PER_WORD, payload);
    }
}

/* ---- public ---------------------------------------------------------------------------------- */

/* The visitor runs outside any read section of ours: the record is held by the reader count.
 * `stopped`: for the scheduler, with tasks that have stopped, and by the groups of the request. */
static gang_result each(gang_cluster *cluster, gang_alloc_id id, gang_task_fn visit, void *user,
                        bool stopped)
{
    struct gang__alloc *a;
    gang_result r = gang__alloc_read(cluster, id, &a);
    if (r != GANG_OK)
        return r;
    for (const uint64_t *task = gang__task_first(a); task && r == GANG_OK;
         task = gang__task_next(a, task)) {
        struct gang_task out;
        if (!stopped && !gang__task_is_listed(a, task, -1))
            continue;
        gang__task_decode(cluster, task, &out);
        if (!stopped)
            out.group = gang__task_group_in_job(a, task);
        r = visit(&out, user);
    }
    gang__alloc_read_end(a);
    return r;
}

gang_result gang_alloc_each(gang_cluster *cluster, gang_alloc_id id, gang_task_fn visit, void *user)
{
    return cluster && visit ? each(cluster, id, visit, user, false) : (gang_result)GANG_EINVAL;
}

gang_result gang__alloc_each(gang_cluster *cluster, gang_alloc_id id, gang_task_fn visit,
                             void *user)
{
    return each(cluster, id, visit, user, true);
}

gang_result gang_alloc_task(gang_cluster *cluster, gang_alloc_id id, int64_t number,
                            struct gang_task *task)
{
    struct gang__alloc *a;
    struct gang_task out;
    if (!cluster || !task)
        return GANG_EINVAL;
    gang_result r = gang__alloc_read(cluster, id, &a);
    if (r != GANG_OK)
        return r;
    bool is_number = number >= 0 && number < GANG__NO_NUMBER;
    const uint64_t *found = is_number ? gang__task_find(a, (uint32_t)number) : NULL;
    if (found && !gang__task_is_listed(a, found, -1))
        found = NULL;
    if (found) {
        gang__task_decode(cluster, found, &out);
        out.group = gang__task_group_in_job(a, found);
    }
    gang__alloc_read_end(a);
    return found ? gang__struct_out(task, task->size, sizeof(out), &out, sizeof(out)) : GANG_ENOENT;
}

static int32_t add_totals(const struct gang_task *task, void *user)
{
    struct gang_alloc_info *sum = user;
    sum->tasks++;
    sum->cpu_milli += task->cpu_milli;
    sum->memory_bytes += task->memory_bytes;
    sum->gpu_milli += (int64_t)task->gpu_count * task->gpu_share;
    return 0;
}

gang_result gang_alloc_get(gang_cluster *cluster, gang_alloc_id id, struct gang_alloc_info *info)
{
    if (!cluster || !info)
        return GANG_EINVAL;
    struct gang__alloc *a;
    gang_result r = gang__alloc_read(cluster, id, &a);
    if (r != GANG_OK)
        return r;
    struct gang_alloc_info out = GANG_ALLOC_INFO_INIT;
    out.min = a->request->min;
    out.count = a->request->count;
    r = gang_alloc_each(cluster, id, add_totals, &out);
    gang__alloc_read_end(a);
    return r != GANG_OK ? r : gang__struct_out(info, info->size, sizeof(out), &out, sizeof(out));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

struct writer {
    gang_cluster *c;
    const gang_request *request;
    json_t *tasks;
    struct gang__json_maker maker;
};

static void put_number(struct writer *w, json_t *o, const char *key, int64_t number)
{
    gang__json_put(&w->maker, o, key, json_integer(number));
}

static void put_text(struct writer *w, json_t *o, const char *key, const char *text)
{
    gang__json_put(&w->maker, o, key, gang__json_new_text(&w->maker, text));
}

static void put_mask(struct writer *w, json_t *o, const char *key, const uint64_t *mask,
                     size_t words)
{
    json_t *list = json_array();
    for (size_t i = 0; i < words; i++)
        for (uint64_t bits = mask[i]; bits; bits &= bits - 1)
            gang__json_push(&w->maker, list,
                            json_integer((json_int_t)(i * 64) + __builtin_ctzll(bits)));
    gang__json_put(&w->maker, o, key, list);
}

static void put_node(struct writer *w, json_t *o, gang_node_id id)
{
    gang__rcu_enter();
    const struct gang__node *node = gang__node_of(w->c, id);
    put_text(w, o, "node", node ? node->name : "");
    gang__rcu_leave();
}

static const char *pci_of(const struct gang__task_location *in, size_t gpu)
{
    const char *pci = in->spec->gpus[gpu].pci;
    return pci && pci[0] ? pci : NULL;
}

/* A name of each GPU of a task, if all are known. */
static void put_names(struct writer *w, json_t *o, const char *key,
                      const struct gang__task_location *in,
                      const char *(*name_of)(const struct gang__task_location *, size_t))
{
    for (uint64_t left = in->task.gpus; left; left &= left - 1)
        if (!name_of(in, (size_t)__builtin_ctzll(left)))
            return;
    if (in->task.gpus == 0)
        return;
    json_t *list = json_array();
    for (uint64_t left = in->task.gpus; left; left &= left - 1)
        gang__json_push(&w->maker, list,
                        gang__json_new_text(&w->maker, name_of(in, (size_t)__builtin_ctzll(left))));
    gang__json_put(&w->maker, o, key, list);
}

static void put_task_text(struct writer *w, json_t *o, const char *key,
                          const struct gang_task *task, int32_t what)
{
    size_t bytes;
    gang_result r = gang_task_text(w->c, task, what, NULL, 0, &bytes);
    if (r != GANG_ELIMIT || bytes <= 1)
        return;
    char *text = gang__alloc(&w->c->mem, bytes);
    if (text && gang_task_text(w->c, task, what, text, bytes, NULL) == GANG_OK)
        put_text(w, o, key, text);
    else
        gang__json_note(&w->maker, GANG_ENOMEM);
    gang__release(&w->c->mem, text);
}

/* Data for a launcher. A removed node is gone if the task takes nothing of it. */
static void put_inside(struct writer *w, json_t *o, const struct gang_task *task)
{
    struct gang__task_location in;
    gang__rcu_enter();
    if (gang__task_location_find(w->c, task, &in) == GANG_OK) {
        put_names(w, o, "pci", &in, pci_of);
        put_names(w, o, "uuids", &in, gang__task_location_uuid);
    }
    gang__rcu_leave();
    put_task_text(w, o, "cpuset", task, GANG_TASK_TEXT_CPUSET);
    put_task_text(w, o, "nodeset", task, GANG_TASK_TEXT_NODESET);
}

static const char *group_name(const gang_request *request, int32_t in_job)
{
    uint32_t i = 0;
    while (i + 1 < request->group_count && request->group[i].in_job != in_job)
        i++;
    return request->group[i].name;
}

static int32_t put_task(const struct gang_task *task, void *user)
{
    struct writer *w = user;
    json_t *o = json_object();
    put_number(w, o, "task", task->task);
    put_text(w, o, "group", group_name(w->request, task->group));
    put_node(w, o, task->node);
    put_number(w, o, "cpu_milli", task->cpu_milli);
    put_number(w, o, "memory_bytes", task->memory_bytes);
    put_mask(w, o, "gpus", &task->gpus, 1);
    gang__json_put(&w->maker, o, "share",
                   json_real(task->gpu_count ? task->gpu_share / 1000.0 : 0.0));
    put_mask(w, o, "cores", task->cores, GANG_MAX_CORES / 64);
    put_inside(w, o, task);
    gang__json_push(&w->maker, w->tasks, o);
    return w->maker.result;
}

gang_result gang_alloc_write_json(gang_cluster *cluster, gang_alloc_id id, gang_write_fn write,
                                  void *user)
{
    if (!cluster || !write)
        return GANG_EINVAL;
    struct gang__alloc *a;
    gang_result r = gang__alloc_read(cluster, id, &a);
    if (r != GANG_OK)
        return r;
    struct gang_alloc_info sum = GANG_ALLOC_INFO_INIT;
    struct writer w = {cluster, a->request, json_array(), {GANG_OK}};
    json_t *root = json_object();
    r = gang_alloc_each(cluster, id, put_task, &w);
    if (r == GANG_OK)
        r = gang_alloc_each(cluster, id, add_totals, &sum);
    gang__alloc_read_end(a);
    gang__json_put(&w.maker, root, "tasks", w.tasks);
    put_number(&w, root, "gpu_milli", sum.gpu_milli);
    if (r == GANG_OK)
        r = w.maker.result;
    if (r == GANG_OK)
        r = gang__json_write(root, 0, write, user);
    json_decref(root);
    return r;
}
