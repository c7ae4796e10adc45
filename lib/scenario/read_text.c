/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions that read texts: files of cases, and single objects. */
#include "scenario/read_in.h"

#include "scenario/scenario_in.h"

const struct gang__json_limits gang__scenario_limits = {GANG_JSON_MAX_BYTES, GANG_JSON_MAX_DEPTH,
                                                        1 << 24};

struct gang_scenarios {
    struct gang_mem mem;
    struct gang__arena arena;
    struct gang_scenario *cases;
    size_t count;
    struct gang__warnings warnings;
};

static gang_result read_cases(struct gang_scenarios *scenarios, const struct gang__json *root)
{
    if (json_is_object(root->value)) {
        scenarios->cases = gang__arena_alloc(&scenarios->arena, 1, sizeof(*scenarios->cases));
        if (!scenarios->cases)
            return gang__json_fail(root, GANG_ENOMEM, "out of memory");
        scenarios->count = 1;
        return gang__read_case(&scenarios->arena, root, &scenarios->warnings, &scenarios->cases[0]);
    }
    GANG__TRY(gang__json_array(root, GANG__MAX_CASES, &scenarios->count));
    scenarios->cases =
        gang__arena_alloc(&scenarios->arena, scenarios->count, sizeof(*scenarios->cases));
    if (!scenarios->cases)
        return gang__json_fail(root, GANG_ENOMEM, "out of memory");
    for (size_t i = 0; i < scenarios->count; i++) {
        struct gang__json element = gang__json_element(root, i);
        GANG__TRY(gang__read_case(&scenarios->arena, &element, &scenarios->warnings,
                                  &scenarios->cases[i]));
    }
    return GANG_OK;
}

static gang_result read_object(struct gang_scenarios *scenarios, const struct gang__json *root,
                               enum gang__object object)
{
    scenarios->cases = gang__arena_alloc(&scenarios->arena, 1, sizeof(*scenarios->cases));
    if (!scenarios->cases)
        return gang__json_fail(root, GANG_ENOMEM, "out of memory");
    scenarios->count = 1;
    return gang__read_alone(&scenarios->arena, root, &scenarios->warnings, object,
                            &scenarios->cases[0]);
}

struct text {
    const char *text;
    size_t length;
};

/* A text of cases, or of one object (`object`). */
static gang_result read_text(const struct gang_mem *mem, const struct text *in,
                             enum gang__object object, gang_scenarios **scenarios,
                             struct gang_error *error)
{
    const char *text = in->text;
    size_t length = in->length;
    if (!scenarios)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the result");
    *scenarios = NULL;
    if (!text && length > 0)
        return gang__error(error, GANG_EINVAL, NULL, "no text");
    json_t *root;
    GANG__TRY(
        gang__json_parse(text ? text : "", length, &gang__scenario_limits, mem, &root, error));
    gang_result result = GANG_ENOMEM;
    struct gang_scenarios *out = gang__zalloc(mem, 1, sizeof(*out));
    if (!out) {
        gang__error(error, GANG_ENOMEM, NULL, "out of memory");
        goto out;
    }
    out->mem = *mem;
    out->arena.mem = &out->mem;
    out->warnings.last = &out->warnings.first;
    struct gang__json at = gang__json_root(root, error);
    result = object == GANG__OBJECT_NONE ? read_cases(out, &at) : read_object(out, &at, object);
    if (result != GANG_OK)
        gang_scenarios_free(out);
    else
        *scenarios = out;
out:
    json_decref(root);
    return result;
}

gang_result gang__scenarios_read_mem(const struct gang_mem *mem, const char *text, size_t length,
                                     gang_scenarios **scenarios, struct gang_error *error)
{
    return read_text(mem, &(struct text){text, length}, GANG__OBJECT_NONE, scenarios, error);
}

gang_result gang__object_read_mem(const struct gang_mem *mem, const char *text, size_t length,
                                  enum gang__object object, gang_scenarios **scenarios,
                                  struct gang_error *error)
{
    return read_text(mem, &(struct text){text, length}, object, scenarios, error);
}

gang_result gang_scenarios_read(const char *text, size_t length, gang_scenarios **scenarios,
                                struct gang_error *error)
{
    return gang__scenarios_read_mem(&gang__mem_libc, text, length, scenarios, error);
}

gang_result gang_scenarios_read_file(const char *path, gang_scenarios **scenarios,
                                     struct gang_error *error)
{
    char *text;
    size_t length;
    if (!scenarios)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the result");
    *scenarios = NULL;
    if (!path)
        return gang__error(error, GANG_EINVAL, NULL, "no path");
    GANG__TRY(gang__read_file(path, GANG_JSON_MAX_BYTES, &gang__mem_libc, &text, &length, error));
    gang_result result = gang_scenarios_read(text, length, scenarios, error);
    gang__release(&gang__mem_libc, text);
    return result;
}

void gang_scenarios_free(gang_scenarios *scenarios)
{
    if (!scenarios)
        return;
    gang__arena_free(&scenarios->arena);
    struct gang_mem mem = scenarios->mem;
    gang__release(&mem, scenarios);
}

size_t gang_scenarios_count(const gang_scenarios *scenarios)
{
    return scenarios ? scenarios->count : 0;
}

gang_result gang_scenarios_get(const gang_scenarios *scenarios, size_t index,
                               struct gang_scenario *scenario)
{
    if (!scenario)
        return GANG_EINVAL;
    static const struct gang_scenario none = GANG_SCENARIO_INIT;
    bool there = scenarios && index < scenarios->count;
    GANG__TRY(gang__struct_out(scenario, scenario->size, offsetof(struct gang_scenario, arrivals),
                               there ? &scenarios->cases[index] : &none, sizeof(none)));
    return !scenarios ? GANG_EINVAL : there ? GANG_OK : GANG_ENOENT;
}

const char *gang_scenarios_warning(const gang_scenarios *scenarios, size_t index)
{
    const struct gang__warning *w = scenarios ? scenarios->warnings.first : NULL;
    while (w && index-- > 0)
        w = w->next;
    return w ? w->text : NULL;
}

/* ---- one object ------------------------------------------------------------------------ */

static gang_result read_alone(const char *text, size_t length, enum gang__object object,
                              gang_scenarios **keep, struct gang_error *error)
{
    return gang__object_read_mem(&gang__mem_libc, text, length, object, keep, error);
}

gang_result gang_node_read(const char *text, size_t length, gang_scenarios **keep,
                           const struct gang_node_spec **spec, struct gang_error *error)
{
    if (!spec)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the result");
    *spec = NULL;
    GANG__TRY(read_alone(text, length, GANG__OBJECT_NODE, keep, error));
    *spec = (*keep)->cases[0].nodes;
    return GANG_OK;
}

gang_result gang_queue_read(const char *text, size_t length, gang_scenarios **keep,
                            const struct gang_queue_spec **spec, struct gang_error *error)
{
    if (!spec)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the result");
    *spec = NULL;
    GANG__TRY(read_alone(text, length, GANG__OBJECT_QUEUE, keep, error));
    *spec = (*keep)->cases[0].queues;
    return GANG_OK;
}

gang_result gang_job_read(const char *text, size_t length, gang_scenarios **keep,
                          const struct gang_job_spec **spec, struct gang_error *error)
{
    if (!spec)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the result");
    *spec = NULL;
    GANG__TRY(read_alone(text, length, GANG__OBJECT_JOB, keep, error));
    *spec = (*keep)->cases[0].jobs;
    return GANG_OK;
}

gang_result gang_reservation_read(const char *text, size_t length, gang_scenarios **keep,
                                  const struct gang_reservation_spec **spec,
                                  struct gang_error *error)
{
    if (!spec)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the result");
    *spec = NULL;
    GANG__TRY(read_alone(text, length, GANG__OBJECT_RESERVATION, keep, error));
    *spec = (*keep)->cases[0].reservations;
    return GANG_OK;
}
