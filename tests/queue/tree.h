/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the tree of queues share: a cluster that knows some names, and trees on it. */
#ifndef GANG_TESTS_QUEUE_TREE_H
#define GANG_TESTS_QUEUE_TREE_H

#include "queue/queues.h"
#include "support.h"

static struct stage stage;
static gang_queue_id tree_next_id;

/* A site with the levels pod and rack, the kind "licence", and the partitions fast and slow. */
static inline void tree_open(void)
{
    static const char *const levels[] = {"pod", "rack"};
    stage_open(&stage, levels, 2);
    MUST(gang_kind_add(stage.w, "licence", NULL, GANG_SCOPE_CLUSTER, 100, NULL));
    MUST(gang_partition_set(stage.w, "fast", GANG_PARTITION_SHARED));
    MUST(gang_partition_set(stage.w, "slow", GANG_PARTITION_SHARED));
    tree_next_id = 1;
}

static inline void tree_close(void)
{
    stage_close(&stage);
}

static inline struct gang_queue_spec queue_of(const char *name, const char *parent)
{
    struct gang_queue_spec s = GANG_QUEUE_SPEC_INIT;
    s.name = name;
    s.parent = parent;
    return s;
}

static inline void queue_guarantee(struct gang_queue_spec *s, const struct gang_quota *list,
                                   size_t count)
{
    s->guaranteed = list;
    s->guaranteed_count = count;
}

static inline void queue_limit(struct gang_queue_spec *s, const struct gang_quota *list,
                               size_t count)
{
    s->limit = list;
    s->limit_count = count;
}

/* A tree that must be taken, in place of `old`. */
static inline struct gang__queues *tree_after(const struct gang__queues *old,
                                              const struct gang_queue_spec *specs, size_t count,
                                              const bool *made)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang__queues *qs;
    const struct gang__queues_source from = {specs, count, made, old};
    EXPECT_RESULT(gang__queues_new(stage.c, &stage.mem.mem, &from, &tree_next_id, &qs, &error),
                  GANG_OK, &error);
    return qs;
}

static inline struct gang__queues *tree_of(const struct gang_queue_spec *specs, size_t count)
{
    return tree_after(NULL, specs, count, NULL);
}

static inline void tree_free(struct gang__queues *qs)
{
    gang__queues_free(qs, &stage.mem.mem);
}

static inline const struct gang__queue *queue_in(const struct gang__queues *qs, const char *name)
{
    const struct gang__queue *q = gang__queue_by_name(qs, name);
    ck_assert_msg(q, "no queue %s", name);
    return q;
}

/* A tree that must be refused, and leave nothing behind. */
static inline void tree_refused(const struct gang_queue_spec *specs, size_t count, gang_result code,
                                const char *path, const char *text)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang__queues *qs = (struct gang__queues *)&stage;
    gang_queue_id before = tree_next_id;
    long live = stage.mem.live;
    const struct gang__queues_source from = {specs, count, NULL, NULL};
    EXPECT_RESULT(gang__queues_new(stage.c, &stage.mem.mem, &from, &tree_next_id, &qs, &error),
                  code, &error);
    ck_assert_ptr_null(qs);
    ck_assert_int_eq(error.code, code);
    ck_assert_str_eq(error.path, path);
    if (text)
        ck_assert_str_eq(error.text, text);
    ck_assert_uint_eq(tree_next_id, before);
    ck_assert_int_eq(stage.mem.live, live);
}

/* The index of a dimension of a tree; `partition` may be NULL. */
static inline uint32_t dim_in(const struct gang__queues *qs, int32_t kind, const char *partition)
{
    for (uint32_t d = 0; d < qs->dims; d++)
        if (qs->dim[d].kind == kind &&
            (partition ? qs->dim[d].partition && !strcmp(qs->dim[d].partition->name, partition)
                       : !qs->dim[d].partition))
            return d;
    ck_abort_msg("no such dimension");
    return 0;
}

#endif
