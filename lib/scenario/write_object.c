/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one node, queue, job or reservation, as it stands in a case. Like a case it is read back
 * and compared before a byte is written. */
#include "scenario/read_in.h"
#include "scenario/scenario_in.h"
#include "scenario/write_in.h"

/* A case with one object, and that object as a tree. */
struct alone {
    enum gang__object object;
    struct gang_scenario c;
    json_t *tree;
};

/* Does the tree read back as the object? */
static gang_result check_tree(const struct gang_mem *mem, struct alone *a, struct gang_error *error)
{
    struct gang_error detail = GANG_ERROR_INIT;
    struct gang__json at = gang__json_root(a->tree, &detail);
    struct gang__arena arena = {mem, NULL};
    struct gang_scenario copy;
    struct gang__scenario_path where = {""};
    gang_result result = gang__read_alone(&arena, &at, NULL, a->object, &copy);
    a->c.kinds = copy.kinds; /* the reader makes those that the object names */
    a->c.kind_count = copy.kind_count;
    if (result == GANG_ENOMEM)
        gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    else if (result != GANG_OK)
        result = gang__error(error, GANG_EINVAL, detail.path, "%s", detail.text);
    else if (!gang__scenario_equal(&a->c, &copy, &where))
        result = gang__error(error, GANG_EINVAL, NULL, "cannot be said in this format");
    a->c.kinds = NULL;
    a->c.kind_count = 0;
    gang__arena_free(&arena);
    return result;
}

static gang_result make_tree(struct gang__writer *w, struct alone *a, const void *spec)
{
    struct gang_node_spec node;
    struct gang_queue_spec queue;
    struct gang_job_spec job;
    struct gang_reservation_spec reservation;
    switch (a->object) {
    case GANG__OBJECT_NODE:
        a->c.nodes = spec;
        a->c.node_count = 1;
        if (GANG__WRITE_LOAD(w, node, profile_count, a->c.nodes, 0))
            a->tree = gang__make_node(w, &node);
        break;
    case GANG__OBJECT_QUEUE:
        a->c.queues = spec;
        a->c.queue_count = 1;
        if (GANG__WRITE_LOAD(w, queue, reserved0, a->c.queues, 0))
            a->tree = gang__make_queue(w, &queue);
        break;
    case GANG__OBJECT_JOB:
        a->c.jobs = spec;
        a->c.job_count = 1;
        if (GANG__WRITE_LOAD(w, job, group_order, a->c.jobs, 0))
            a->tree = gang__make_job(w, &job);
        break;
    default:
        a->c.reservations = spec;
        a->c.reservation_count = 1;
        if (GANG__WRITE_LOAD(w, reservation, notice_ns, a->c.reservations, 0))
            a->tree = gang__make_reservation(w, &reservation);
        break;
    }
    if (!a->tree)
        gang__json_note(&w->maker, GANG_ENOMEM);
    return w->maker.result;
}

gang_result gang__object_write_mem(const struct gang_mem *mem, const struct gang__object_to *to,
                                   const void *spec, struct gang_error *error)
{
    struct alone a = {to->object, GANG_SCENARIO_INIT, NULL};
    struct gang__writer w = {.maker = {GANG_OK}, .mem = mem, .alone = true};
    if (!spec || !to->write || to->indent < 0 || to->indent > 31)
        return gang__error(error, GANG_EINVAL, NULL, "bad argument");
    a.c.rounds = 1;
    gang_result result = make_tree(&w, &a, spec);
    if (result != GANG_OK)
        gang__error(error, result, w.where.path, "%s",
                    result == GANG_ENOMEM ? "out of memory" : "cannot be said in this format");
    else
        result = check_tree(mem, &a, error);
    if (result == GANG_OK) {
        result = gang__json_write(a.tree, (size_t)to->indent, to->write, to->user);
        if (result != GANG_OK)
            gang__error(error, result, NULL, "%s", gang_strerror(result));
    }
    json_decref(a.tree);
    return result;
}

gang_result gang_node_write(const struct gang_node_spec *spec, int32_t indent, gang_write_fn write,
                            void *user, struct gang_error *error)
{
    struct gang__object_to to = {GANG__OBJECT_NODE, indent, write, user};
    return gang__object_write_mem(&gang__mem_libc, &to, spec, error);
}

gang_result gang_queue_write(const struct gang_queue_spec *spec, int32_t indent,
                             gang_write_fn write, void *user, struct gang_error *error)
{
    struct gang__object_to to = {GANG__OBJECT_QUEUE, indent, write, user};
    return gang__object_write_mem(&gang__mem_libc, &to, spec, error);
}

gang_result gang_job_write(const struct gang_job_spec *spec, int32_t indent, gang_write_fn write,
                           void *user, struct gang_error *error)
{
    struct gang__object_to to = {GANG__OBJECT_JOB, indent, write, user};
    return gang__object_write_mem(&gang__mem_libc, &to, spec, error);
}

gang_result gang_reservation_write(const struct gang_reservation_spec *spec, int32_t indent,
                                   gang_write_fn write, void *user, struct gang_error *error)
{
    struct gang__object_to to = {GANG__OBJECT_RESERVATION, indent, write, user};
    return gang__object_write_mem(&gang__mem_libc, &to, spec, error);
}
