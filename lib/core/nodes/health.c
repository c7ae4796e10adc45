/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/health.h"

#include "base/rcu.h"
#include "core/commit/commit.h"
#include "core/nodes/node.h"
#include "core/nodes/node_type.h"

uint32_t gang__health_set(gang_worker *w, const struct gang__node *node)
{
    struct gang__layout l = node->type->layout;
    uint32_t first = w->commit.op_count;
    for (unsigned i = 0; i < gang__health_words(l); i++)
        gang__commit_add(&w->commit, node->slot, gang__word_count(l) + i, GANG__OP_SET,
                         gang__health_part(gang__health_described(node), i));
    return first;
}

/* What the last commit found in the health words of a node, from an operation on. */
static uint64_t found_by_commit(const gang_worker *w, struct gang__layout l, uint32_t first)
{
    uint64_t payload[2] = {0, 0};
    _Static_assert(GANG_MAX_GPUS <= 2 * GANG__HEALTH_PER_WORD, "two words of health");
    for (unsigned i = 0; i < gang__health_words(l); i++) {
        uint32_t slot;
        unsigned word;
        gang__commit_op(&w->commit, first + i, &slot, &word, &payload[i]);
    }
    return gang__health_mask(l, payload);
}

void gang__health_replaced(gang_worker *w, const struct gang__node *node, uint32_t first)
{
    gang__health_unexpect(w->cluster, found_by_commit(w, node->type->layout, first));
}

void gang__health_forget(gang_cluster *c, const struct gang__node *node)
{
    gang__health_unexpect(c, gang__health_read(c, node->slot, node->type->layout, true));
}

uint64_t gang__health_read(gang_cluster *c, uint32_t slot, struct gang__layout layout, bool exact)
{
    uint64_t payload[2] = {0, 0};
    unsigned first = gang__word_count(layout), words = gang__health_words(layout);
    if (exact) {
        gang__cell_read_from(&c->commit, slot, first, payload, words);
    } else {
        struct gang__words at = gang__words_of(&c->commit, slot);
        for (unsigned i = 0; i < words; i++)
            payload[i] = gang__payload(gang__load(gang__word_in(&at, first + i)));
    }
    return gang__health_mask(layout, payload);
}

/* ---- public ---------------------------------------------------------------------------------- */

/* One commit that marks or unmarks one device of a node that is not gone. If several threads do the
 * same at once, the agreed word says which of them changed the device; only that one counts. */
static gang_result commit_health(gang_worker *w, const struct gang__node *node, uint64_t device,
                                 bool heal)
{
    gang_cluster *c = w->cluster;
    struct gang__layout l = node->type->layout;
    gang_result r = gang__commit_reserve(&w->commit, 1 + gang__health_words(l));
    if (r != GANG_OK)
        return r;
    if (!heal)
        gang__health_expect(c, device);
    gang__commit_begin(&w->commit);
    gang__commit_add(&w->commit, node->slot, GANG__WORD_HEAD, GANG__OP_HEAD, GANG__HEAD_IF_THERE);
    for (unsigned i = 0; i < gang__health_words(l); i++)
        gang__commit_add(&w->commit, node->slot, gang__word_count(l) + i,
                         heal ? GANG__OP_UNMARK_BITS : GANG__OP_MARK_BITS,
                         gang__health_part(device, i));
    if (gang__commit_run(&w->commit, heal, NULL) != GANG_OK) {
        if (!heal)
            gang__health_unexpect(c, device);
        return GANG_ESTALE;
    }
    if (found_by_commit(w, l, 1) & device)
        gang__health_unexpect(c, device);
    return GANG_OK;
}

gang_result gang_gpu_set_state(gang_worker *worker, gang_node_id id, int32_t gpu, int32_t state)
{
    if (!worker || (state != GANG_GPU_OK && state != GANG_GPU_UNHEALTHY))
        return GANG_EINVAL;
    gang__rcu_enter();
    struct gang__node *node = gang__node_of(worker->cluster, id);
    gang_result r = GANG_OK;
    if (!node)
        r = GANG_ESTALE;
    else if (gpu < 0 || gpu >= node->type->layout.gpus)
        r = GANG_EINVAL;
    if (r == GANG_OK)
        r = commit_health(worker, node, UINT64_C(1) << (unsigned)gpu, state == GANG_GPU_OK);
    gang__rcu_leave();
    return r;
}
