/* SPDX-License-Identifier: Apache-2.0 */
/* Taking in and copying the specification of a queue. */
#include "queue/queue_spec_in.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "queue/queues.h"

enum { QUOTA_LEAST = offsetof(struct gang_quota, by_weight) + sizeof(int64_t) };

int64_t gang__millionths(double weight)
{
    int64_t w = llround(weight * (double)GANG_WHOLE);
    return w == 0 && weight > 0 ? 1 : w;
}

static gang_result element_in(struct gang_quota *to, const struct gang_queue_spec *s,
                              const struct gang_quota *list, size_t i)
{
    const char *from = (const char *)list + i * s->quota_size;
    return gang__struct_in(to, sizeof(*to), QUOTA_LEAST, from, s->quota_size);
}

struct gang_quota gang__quota_at(const struct gang_queue_spec *spec, const struct gang_quota *list,
                                 size_t i)
{
    struct gang_quota q;
    gang_result r = element_in(&q, spec, list, i);
    assert(r == GANG_OK); /* as when it was taken in */
    (void)r;
    return q;
}

enum { BUDGET_LEAST = sizeof(struct gang_budget) };

static gang_result budget_in(struct gang_budget *to, const struct gang_queue_spec *s, size_t i)
{
    const char *from = (const char *)s->budgets + i * s->budget_size;
    return gang__struct_in(to, sizeof(*to), BUDGET_LEAST, from, s->budget_size);
}

struct gang_budget gang__budget_at(const struct gang_queue_spec *spec, size_t i)
{
    struct gang_budget b;
    gang_result r = budget_in(&b, spec, i);
    assert(r == GANG_OK); /* as when it was taken in */
    (void)r;
    return b;
}

/* ---- taking in ----------------------------------------------------------------------------- */

static gang_result array_in(const void *array, size_t count, size_t most, const char *name,
                            struct gang_error *error)
{
    if (count > most)
        return gang__error(error, GANG_ELIMIT, name, "%zu are more than %zu", count, most);
    if (count > 0 && !array)
        return gang__error(error, GANG_EINVAL, name, "NULL with a count above 0");
    return GANG_OK;
}

static gang_result quotas_in(const struct gang_queue_spec *s, const struct gang_quota *list,
                             size_t count, const char *name, struct gang_error *error)
{
    gang_result r = array_in(list, count, GANG_MAX_QUEUE_DIMENSIONS, name, error);
    for (size_t i = 0; r == GANG_OK && i < count; i++) {
        struct gang_quota q;
        char path[64];
        r = element_in(&q, s, list, i);
        snprintf(path, sizeof(path), "%s[%zu]", name, i);
        if (r == GANG_E2BIG)
            return gang__error(error, r, path, "an unknown member is not zero");
        if (r != GANG_OK)
            return gang__error(error, r, "quota_size", "not the size of a known struct");
    }
    return r;
}

static gang_result budgets_in(const struct gang_queue_spec *s, struct gang_error *error)
{
    gang_result r = array_in(s->budgets, s->budget_count, GANG_MAX_BUDGETS, "budgets", error);
    for (size_t i = 0; r == GANG_OK && i < s->budget_count; i++) {
        struct gang_budget b;
        char path[64];
        r = budget_in(&b, s, i);
        snprintf(path, sizeof(path), "budgets[%zu]", i);
        if (r == GANG_E2BIG)
            return gang__error(error, r, path, "an unknown member is not zero");
        if (r != GANG_OK)
            return gang__error(error, r, "budget_size", "not the size of a known struct");
    }
    return r;
}

gang_result gang__queue_spec_in(const struct gang_queue_spec *from, struct gang_queue_spec *s,
                                struct gang_error *error)
{
    if (!from)
        return gang__error(error, GANG_EINVAL, NULL, "no specification");
    gang_result r = gang__struct_in(s, sizeof(*s), GANG__QUEUE_SPEC_MIN_SIZE, from, from->size);
    if (r == GANG_E2BIG)
        return gang__error(error, r, NULL, "an unknown member is not zero");
    if (r != GANG_OK)
        return gang__error(error, r, "size", "not the size of a known struct");
    if ((r = quotas_in(s, s->guaranteed, s->guaranteed_count, "guaranteed", error)) != GANG_OK ||
        (r = quotas_in(s, s->limit, s->limit_count, "limit", error)) != GANG_OK ||
        (r = quotas_in(s, s->lending_limit, s->lending_limit_count, "lending_limit", error)) !=
            GANG_OK ||
        (r = budgets_in(s, error)) != GANG_OK ||
        (r = array_in(s->weights, s->weight_count, GANG_MAX_KINDS, "weights", error)) != GANG_OK ||
        (r = array_in(s->weight_kinds, s->weight_count, GANG_MAX_KINDS, "weight_kinds", error)) !=
            GANG_OK ||
        (r = array_in(s->cells, s->cell_count, GANG_MAX_LEVELS + 1, "cells", error)) != GANG_OK ||
        (r = array_in(s->partitions, s->partition_count, GANG_MAX_JOB_PARTITIONS, "partitions",
                      error)) != GANG_OK)
        return r;
    return array_in(s->users, s->user_count, GANG__MAX_QUEUE_USERS, "users", error);
}

/* ---- copying ------------------------------------------------------------------------------- */

static const struct gang_quota *lay_quotas(struct gang__block *b, const struct gang_queue_spec *s,
                                           const struct gang_quota *list, size_t count)
{
    struct gang_quota *to = gang__block_alloc(b, count * sizeof(*to));
    for (size_t i = 0; i < count; i++) {
        struct gang_quota q = gang__quota_at(s, list, i);
        q.kind = gang__block_text(b, q.kind);
        q.partition = gang__block_text(b, q.partition);
        if (to)
            to[i] = q;
    }
    return count ? to : NULL;
}

static void lay_weights(struct gang__block *b, const struct gang_queue_spec *s,
                        struct gang_queue_spec *copy)
{
    const char **kinds = gang__block_alloc(b, s->weight_count * sizeof(*kinds));
    double *weights = gang__block_alloc(b, s->weight_count * sizeof(*weights));
    for (size_t i = 0; i < s->weight_count; i++) {
        const char *kind = gang__block_text(b, s->weight_kinds[i]);
        if (kinds) {
            kinds[i] = kind;
            weights[i] = s->weights[i];
        }
    }
    copy->weight_kinds = s->weight_count ? kinds : NULL;
    copy->weights = s->weight_count ? weights : NULL;
}

static const struct gang_cell_spec *lay_cells(struct gang__block *b,
                                              const struct gang_queue_spec *s)
{
    struct gang_cell_spec *to = gang__block_alloc(b, s->cell_count * sizeof(*to));
    for (size_t i = 0; i < s->cell_count; i++) {
        const char *level = gang__block_text(b, s->cells[i].level);
        if (to)
            to[i] = (struct gang_cell_spec){level, s->cells[i].count};
    }
    return s->cell_count ? to : NULL;
}

static int by_user(const void *a, const void *b)
{
    const struct gang_user_weight *x = a, *y = b;
    return strcmp(x->user, y->user);
}

/* Sorted by name, so that one is found among many. */
static const struct gang_user_weight *lay_users(struct gang__block *b,
                                                const struct gang_queue_spec *s)
{
    struct gang_user_weight *to = gang__block_alloc(b, s->user_count * sizeof(*to));
    for (size_t i = 0; i < s->user_count; i++) {
        const char *user = gang__block_text(b, s->users[i].user);
        if (to)
            to[i] = (struct gang_user_weight){user, s->users[i].weight};
    }
    if (to && s->user_count)
        qsort(to, s->user_count, sizeof(*to), by_user);
    return s->user_count ? to : NULL;
}

static const struct gang_budget *lay_budgets(struct gang__block *b, const struct gang_queue_spec *s)
{
    struct gang_budget *to = gang__block_alloc(b, s->budget_count * sizeof(*to));
    for (size_t i = 0; i < s->budget_count; i++) {
        struct gang_budget budget = gang__budget_at(s, i);
        budget.kind = gang__block_text(b, budget.kind);
        if (to)
            to[i] = budget;
    }
    return s->budget_count ? to : NULL;
}

static const char *const *lay_partitions(struct gang__block *b, const struct gang_queue_spec *s)
{
    const char **to = gang__block_alloc(b, s->partition_count * sizeof(*to));
    for (size_t i = 0; i < s->partition_count; i++) {
        const char *name = gang__block_text(b, s->partitions[i]);
        if (to)
            to[i] = name;
    }
    return s->partition_count ? to : NULL;
}

/* All but the template. */
static struct gang_queue_spec *lay_alone(struct gang__block *b, const struct gang_queue_spec *s)
{
    struct gang_queue_spec *to = gang__block_alloc(b, sizeof(*to));
    struct gang_queue_spec copy = *s;
    copy.size = sizeof(struct gang_queue_spec);
    copy.quota_size = sizeof(struct gang_quota);
    copy.budget_size = sizeof(struct gang_budget);
    copy.name = gang__block_text(b, s->name);
    copy.parent = gang__block_text(b, s->parent);
    copy.guaranteed = lay_quotas(b, s, s->guaranteed, s->guaranteed_count);
    copy.limit = lay_quotas(b, s, s->limit, s->limit_count);
    copy.lending_limit = lay_quotas(b, s, s->lending_limit, s->lending_limit_count);
    lay_weights(b, s, &copy);
    copy.cells = lay_cells(b, s);
    copy.users = lay_users(b, s);
    copy.budgets = lay_budgets(b, s);
    copy.partitions = lay_partitions(b, s);
    copy.submit_acl = gang__block_text(b, s->submit_acl);
    copy.admin_acl = gang__block_text(b, s->admin_acl);
    copy.preempt_class = gang__block_text(b, s->preempt_class);
    copy.preempts = gang__block_text(b, s->preempts);
    copy.child = NULL;
    if (to)
        *to = copy;
    return to;
}

struct gang_queue_spec *gang__queue_spec_lay(struct gang__block *b,
                                             const struct gang_queue_spec *spec)
{
    struct gang_queue_spec *to = lay_alone(b, spec), child;
    if (spec->child && gang__queue_spec_in(spec->child, &child, NULL) == GANG_OK) {
        struct gang_queue_spec *copy = lay_alone(b, &child); /* a template has none of its own */
        if (to)
            to->child = copy;
    }
    return to;
}

static void *lay_spec(struct gang__block *b, const void *from)
{
    return gang__queue_spec_lay(b, from);
}

/* As far as a copy needs it. */
static gang_result template_in(const struct gang_queue_spec *spec)
{
    struct gang_queue_spec child;
    gang_result r = spec->child ? gang__queue_spec_in(spec->child, &child, NULL) : GANG_OK;
    return r == GANG_OK && spec->child && child.child ? GANG_EINVAL : r;
}

gang_result gang__queue_spec_copy(const struct gang_mem *mem, const struct gang_queue_spec *spec,
                                  struct gang_queue_spec **copy)
{
    struct gang_queue_spec s;
    *copy = NULL;
    gang_result r = gang__queue_spec_in(spec, &s, NULL);
    if (r == GANG_OK)
        r = template_in(&s);
    if (r != GANG_OK)
        return r;
    *copy = gang__block_build(mem, lay_spec, &s);
    return *copy ? GANG_OK : GANG_ENOMEM;
}
