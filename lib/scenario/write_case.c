/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one case. The tree of JSON values that is made of the case is read back and compared with
 * the case before any text is written. So a text reads back as the case; a case that the format
 * cannot express is an error and not a loss. */
#include "scenario/write_in.h"

#include <stdio.h>
#include <string.h>

#include "scenario/read_in.h"
#include "scenario/scenario_in.h"

/* ---- max_tasks ------------------------------------------------------------------------- */

static bool is_max_tasks(const struct gang_amount *amounts, size_t count)
{
    return count > 0 && amounts && amounts[count - 1].kind &&
           strcmp(amounts[count - 1].kind, GANG__TASKS) == 0;
}

static bool every_task_counts(const struct gang_scenario *c)
{
    struct gang_job_spec job;
    struct gang_group_spec group;
    for (size_t i = 0; i < c->job_count; i++) {
        if (GANG__LOAD(job, group_order, c->jobs, i) != GANG_OK)
            return false;
        for (size_t k = 0; k < job.request.group_count; k++) {
            if (GANG__LOAD_BY(group, same_devices, job.request.groups, k, job.request.group_size) !=
                    GANG_OK ||
                !is_max_tasks(group.amounts, group.amount_count) ||
                group.amounts[group.amount_count - 1].amount != 1)
                return false;
        }
    }
    return true;
}

/* Is the kind "tasks" as the reader makes it of `max_tasks`? */
static bool kind_is_max_tasks(const struct gang_scenario *c)
{
    struct gang_kind_spec kind;
    struct gang_node_spec node;
    bool bounded = false;
    if (c->kind_count == 0 || GANG__LOAD(kind, capacity, c->kinds, c->kind_count - 1) != GANG_OK)
        return false;
    if (!kind.name || strcmp(kind.name, GANG__TASKS) != 0 || !kind.unit ||
        strcmp(kind.unit, GANG__TASKS) != 0 || kind.scope != GANG_SCOPE_NODE || kind.capacity)
        return false;
    for (size_t i = 0; i < c->node_count; i++) {
        if (GANG__LOAD(node, profile_count, c->nodes, i) != GANG_OK ||
            !is_max_tasks(node.amounts, node.amount_count))
            return false;
        bounded = bounded || node.amounts[node.amount_count - 1].amount != GANG_MAX_AMOUNT;
    }
    return bounded && every_task_counts(c);
}

/* ---- the case -------------------------------------------------------------------------- */

static void write_kinds(struct gang__writer *w, json_t *object, const struct gang_scenario *c)
{
    size_t count = c->kind_count - (w->max_tasks ? 1 : 0);
    if (count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        struct gang_kind_spec kind;
        if (!GANG__WRITE_LOAD(w, kind, capacity, c->kinds, i))
            break;
        json_t *item = json_object();
        gang__write_text(w, item, "name", kind.name);
        gang__write_nonempty(w, item, "unit", kind.unit);
        gang__write_word(w, item, "scope", &gang__scope_words, kind.scope);
        if (kind.scope == GANG_SCOPE_CLUSTER || kind.capacity)
            gang__write_int(w, item, "capacity", kind.capacity);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "kinds", list);
}

/* Was this element the first that could not be written? */
static bool check_element(struct gang__writer *w, const char *list, size_t index)
{
    if (w->maker.result != GANG_OK && !w->where.path[0])
        snprintf(w->where.path, sizeof(w->where.path), "%s[%zu]", list, index);
    return w->maker.result == GANG_OK;
}

static json_t *make_nodes(struct gang__writer *w, const struct gang_scenario *c)
{
    json_t *list = json_array();
    struct gang_node_spec node;
    for (size_t i = 0; i < c->node_count; i++) {
        if (GANG__WRITE_LOAD(w, node, profile_count, c->nodes, i))
            gang__json_push(&w->maker, list, gang__make_node(w, &node));
        if (!check_element(w, "nodes", i))
            break;
    }
    return list;
}

static json_t *make_queues(struct gang__writer *w, const struct gang_scenario *c)
{
    json_t *list = json_array();
    struct gang_queue_spec queue;
    for (size_t i = 0; i < c->queue_count; i++) {
        if (GANG__WRITE_LOAD(w, queue, reserved0, c->queues, i))
            gang__json_push(&w->maker, list, gang__make_queue(w, &queue));
        if (!check_element(w, "queues", i))
            break;
    }
    return list;
}

static json_t *make_jobs(struct gang__writer *w, const struct gang_scenario *c)
{
    json_t *list = json_array();
    struct gang_job_spec job;
    size_t after = 0, time = 0, arrival = 0;
    for (size_t i = 0; i < c->job_count; i++) {
        if (GANG__WRITE_LOAD(w, job, group_order, c->jobs, i)) {
            json_t *item = gang__make_job(w, &job);
            gang__write_job_after(w, item, c, i, &after);
            gang__write_job_times(w, item, c, i, &time);
            gang__write_job_arrivals(w, item, c, i, &arrival);
            gang__json_push(&w->maker, list, item);
        }
        if (!check_element(w, "jobs", i))
            break;
    }
    return list;
}

static void write_partitions(struct gang__writer *w, json_t *object, const struct gang_scenario *c)
{
    if (c->partition_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < c->partition_count; i++) {
        struct gang_partition_spec partition;
        if (!GANG__WRITE_LOAD(w, partition, reserved0, c->partitions, i))
            break;
        json_t *item = json_object();
        gang__write_text(w, item, "name", partition.name);
        gang__write_word(w, item, "mode", &gang__mode_words, partition.mode);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "partitions", list);
}

static void write_expect(struct gang__writer *w, json_t *object, const char *text)
{
    json_t *expect;
    gang_result result =
        gang__json_parse(text, strlen(text), &gang__scenario_limits, w->mem, &expect, NULL);
    if (result == GANG_OK) {
        w->expect = gang__json_compact(expect, w->mem);
        if (!w->expect)
            gang__json_note(&w->maker, GANG_ENOMEM);
        gang__write_value(w, object, "expect", expect);
    } else {
        gang__json_note(&w->maker, result == GANG_ENOMEM ? GANG_ENOMEM : GANG_EINVAL);
    }
    if (w->maker.result != GANG_OK && !w->where.path[0])
        snprintf(w->where.path, sizeof(w->where.path), "expect");
}

static json_t *make_case(struct gang__writer *w, const struct gang_scenario *c)
{
    json_t *object = json_object();
    w->max_tasks = kind_is_max_tasks(c);
    gang__write_nonempty(w, object, "source", c->source);
    gang__write_nonempty(w, object, "id", c->id);
    gang__write_names(w, object, "needs", c->needs, c->need_count);
    gang__write_flag(w, object, "quota_only", c->quota_only);
    gang__write_names(w, object, "levels", c->levels, c->level_count);
    write_kinds(w, object, c);
    if (c->policy != GANG_POLICY_DEFAULT)
        gang__write_word(w, object, "policy", &gang__place_policy_words, c->policy);
    write_partitions(w, object, c);
    gang__write_value(w, object, "nodes", make_nodes(w, c));
    gang__write_value(w, object, "queues", make_queues(w, c));
    gang__write_nonempty(w, object, "default_queue", c->default_queue);
    gang__write_mapping(w, object, c);
    gang__write_names(w, object, "excluded_kinds", c->excluded_kinds, c->excluded_kind_count);
    gang__fields_write(&w->maker, object, &gang__case_fields, c);
    gang__write_reservations(w, object, c);
    gang__write_value(w, object, "jobs", make_jobs(w, c));
    gang__write_int(w, object, "rounds", c->rounds ? c->rounds : 1);
    if (c->expect)
        write_expect(w, object, c->expect);
    return object;
}

/* Does the tree read back as the case? */
static gang_result check_tree(const struct gang_mem *mem, json_t *tree,
                              const struct gang_scenario *scenario, struct gang_error *error)
{
    struct gang_error detail = GANG_ERROR_INIT;
    struct gang__json at = gang__json_root(tree, &detail);
    struct gang__arena arena = {mem, NULL};
    struct gang_scenario copy;
    struct gang__scenario_path where = {""};
    gang_result result = gang__read_case(&arena, &at, NULL, &copy);
    if (result == GANG_ENOMEM)
        gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    else if (result != GANG_OK)
        result = gang__error(error, GANG_EINVAL, detail.path, "%s", detail.text);
    else if (!gang__scenario_equal(scenario, &copy, &where))
        result = gang__error(error, GANG_EINVAL, where.path, "cannot be said in this format");
    gang__arena_free(&arena);
    return result;
}

gang_result gang__scenario_write_mem(const struct gang_mem *mem,
                                     const struct gang_scenario *scenario, int32_t indent,
                                     gang_write_fn write, void *user, struct gang_error *error)
{
    struct gang_scenario c;
    if (!scenario || !write || indent < 0 || indent > 31)
        return gang__error(error, GANG_EINVAL, NULL, "bad argument");
    gang_result result = gang__struct_in(
        &c, sizeof(c), offsetof(struct gang_scenario, reservations), scenario, scenario->size);
    if (result != GANG_OK)
        return gang__error(error, result, NULL, "bad size of struct gang_scenario");
    struct gang__writer w = {.maker = {GANG_OK}, .mem = mem};
    json_t *tree = make_case(&w, &c);
    if (!tree)
        gang__json_note(&w.maker, GANG_ENOMEM);
    result = w.maker.result;
    c.expect = w.expect;
    if (result != GANG_OK)
        gang__error(error, result, w.where.path, "%s",
                    result == GANG_ENOMEM ? "out of memory" : "cannot be said in this format");
    else
        result = check_tree(mem, tree, &c, error);
    if (result == GANG_OK) {
        result = gang__json_write(tree, (size_t)indent, write, user);
        if (result != GANG_OK)
            gang__error(error, result, NULL, "%s", gang_strerror(result));
    }
    json_decref(tree);
    gang__release(mem, w.expect);
    return result;
}

gang_result gang_scenario_write(const struct gang_scenario *scenario, int32_t indent,
                                gang_write_fn write, void *user, struct gang_error *error)
{
    return gang__scenario_write_mem(&gang__mem_libc, scenario, indent, write, user, error);
}
