/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one case, or one object without its case. */
#include "scenario/read_in.h"

#include <string.h>

#include "scenario/scenario_in.h"

static const char *const case_keys[] = {
    "id",           "source",         "note",        "caps",        "needs",      "tier",
    "sensitive_to", "quota_only",     "levels",      "kinds",       "nodes",      "queues",
    "jobs",         "rounds",         "expect",      "policy",      "partitions", "default_queue",
    "rules",        "excluded_kinds", "half_life_s", "reservations"};

/* ---- kinds ----------------------------------------------------------------------------- */

static gang_result check_kind_name(const struct gang__reader *r, const struct gang__json *at,
                                   const char *name)
{
    /* The built-in ones, and the words that stand for them or for something else in a queue. */
    static const char *const taken[] = {"cpu",     "memory",    "gpu",    "gpu_memory",
                                        "mem_mib", "mem_bytes", "default"};
    for (size_t i = 0; i < GANG__COUNT(taken); i++)
        if (strcmp(name, taken[i]) == 0)
            return gang__json_fail(at, GANG_EEXIST, "'%s' is built in", name);
    if (gang__find_kind(r, name))
        return gang__json_fail(at, GANG_EEXIST, "'%s' is there twice", gang__printable(name).s);
    return GANG_OK;
}

static gang_result read_kind(struct gang__reader *r, const struct gang__json *at,
                             struct gang_kind_spec *kind)
{
    static const char *const keys[] = {"name", "unit", "scope", "capacity"};
    struct gang__json member;
    const char *name;
    kind->size = sizeof(*kind);
    GANG__TRY(gang__json_object(at, keys, GANG__COUNT(keys)));
    GANG__TRY(gang__json_need(at, "name", &member));
    GANG__TRY(gang__json_name(&member, 1, GANG_MAX_NAME, &name));
    GANG__TRY(check_kind_name(r, &member, name));
    GANG__TRY(gang__keep_text(r, &member, name, &kind->name));
    GANG__TRY(gang__read_name_member(r, at, "unit", &kind->unit));
    kind->scope = GANG_SCOPE_NODE;
    GANG__TRY(gang__read_word(at, "scope", &gang__scope_words, &kind->scope));
    if (!gang__json_get(at, "capacity", &member))
        return GANG_OK;
    if (kind->scope == GANG_SCOPE_NODE)
        return gang__json_fail(&member, GANG_EINVAL, "each node has its own amount");
    return gang__json_int(&member, 0, GANG_MAX_AMOUNT, &kind->capacity);
}

/* Does a node of the case have `max_tasks`? */
static bool has_max_tasks(const struct gang__json *at)
{
    struct gang__json nodes;
    gang__json_get(at, "nodes", &nodes);
    for (size_t i = 0; i < json_array_size(nodes.value); i++)
        if (json_object_get(json_array_get(nodes.value, i), "max_tasks"))
            return true;
    return false;
}

void gang__count_tasks(struct gang__reader *r)
{
    r->kinds[r->out->kind_count++] = (struct gang_kind_spec){
        sizeof(struct gang_kind_spec), GANG__TASKS, GANG__TASKS, GANG_SCOPE_NODE, 0, 0};
}

static gang_result read_kinds(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json kinds;
    size_t count = 0;
    size_t max = GANG_MAX_KINDS - GANG_KIND_SITE;
    r->counts_tasks = has_max_tasks(at);
    if (gang__json_get(at, "kinds", &kinds))
        GANG__TRY(gang__json_array(&kinds, r->counts_tasks ? max - 1 : max, &count));
    GANG__KEEP(r->kinds, r, &kinds, count + r->counts_tasks);
    r->out->kinds = r->kinds;
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&kinds, i);
        GANG__TRY(read_kind(r, &element, &r->kinds[i]));
        r->out->kind_count = i + 1;
        if (r->counts_tasks && strcmp(r->kinds[i].name, GANG__TASKS) == 0)
            return gang__json_fail(&element, GANG_EEXIST,
                                   "'" GANG__TASKS "' is there already because of 'max_tasks'");
    }
    if (r->counts_tasks)
        gang__count_tasks(r);
    return GANG_OK;
}

/* ---- lists of the case ----------------------------------------------------------------- */

/* The names of what was read are each there once; the error names the later one. */
static gang_result index_names(struct gang__reader *r, const struct gang__json *at,
                               const char *const *first, size_t stride, size_t count,
                               struct gang__lookup *names)
{
    size_t twice;
    if (!gang__lookup_build(names, &r->scratch, first, stride, count, &twice))
        return gang__json_fail(at, GANG_ENOMEM, "out of memory");
    if (twice == SIZE_MAX)
        return GANG_OK;
    struct gang__json element = gang__json_element(at, twice);
    struct gang__json name;
    gang__json_get(&element, "name", &name);
    return gang__json_fail(&name, GANG_EEXIST, "'%s' is there twice",
                           gang__printable(json_string_value(name.value)).s);
}

static const char *const partition_keys[] = {"name", "mode"};

static gang_result read_partition(struct gang__reader *r, const struct gang__json *at,
                                  void *element, const void *owner)
{
    struct gang_partition_spec *partition = element;
    struct gang__json member;
    (void)owner;
    GANG__TRY(gang__json_need(at, "name", &member));
    GANG__TRY(gang__read_name(r, &member, &partition->name));
    partition->size = sizeof(*partition);
    partition->mode = GANG_PARTITION_SHARED;
    return gang__read_word(at, "mode", &gang__mode_words, &partition->mode);
}

static gang_result read_node(struct gang__reader *r, const struct gang__json *at, void *element,
                             const void *owner)
{
    (void)owner;
    return gang__read_node(r, at, element);
}

static gang_result read_queue(struct gang__reader *r, const struct gang__json *at, void *element,
                              const void *owner)
{
    (void)owner;
    return gang__read_queue(r, at, element);
}

static gang_result read_job(struct gang__reader *r, const struct gang__json *at, void *element,
                            const void *owner)
{
    (void)owner;
    return gang__read_job(r, at, at->index, element);
}

static const struct gang__list partition_list =
    GANG__LIST("partitions", GANG__MAX_LIST, struct gang_partition_spec, partition_keys,
               GANG__OBJECT_NONE, read_partition);
static const struct gang__list node_list = {
    GANG__MAX_NODES, sizeof(struct gang_node_spec), NULL, 0, GANG__OBJECT_NONE, read_node, NULL};
static const struct gang__list queue_list = {
    GANG_MAX_QUEUES, sizeof(struct gang_queue_spec), NULL, 0, GANG__OBJECT_NONE, read_queue, NULL};
static const struct gang__list job_list = {
    GANG__MAX_JOBS, sizeof(struct gang_job_spec), NULL, 0, GANG__OBJECT_NONE, read_job, NULL};

static gang_result read_partitions(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json partitions;
    struct gang__lookup names;
    void *list;
    size_t count;
    if (!gang__json_get(at, "partitions", &partitions))
        return GANG_OK;
    GANG__TRY(gang__read_list(r, &partitions, &partition_list, NULL, &list, &count));
    r->out->partitions = list;
    r->out->partition_count = count;
    return count > 0 ? index_names(r, &partitions, &r->out->partitions[0].name, partition_list.size,
                                   count, &names)
                     : GANG_OK;
}

static gang_result read_nodes(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json nodes;
    void *list;
    size_t count;
    if (!gang__json_get(at, "nodes", &nodes))
        return GANG_OK;
    GANG__TRY(gang__read_list(r, &nodes, &node_list, NULL, &list, &count));
    r->out->nodes = list;
    r->out->node_count = count;
    return count > 0
               ? index_names(r, &nodes, &r->out->nodes[0].name, node_list.size, count, &r->nodes)
               : GANG_OK;
}

static gang_result read_queues(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json queues;
    void *list;
    size_t count;
    if (!gang__json_get(at, "queues", &queues))
        return GANG_OK;
    GANG__TRY(gang__read_list(r, &queues, &queue_list, NULL, &list, &count));
    const struct gang_queue_spec *queue = list;
    if (count > 0)
        GANG__TRY(index_names(r, &queues, &queue[0].name, sizeof(*queue), count, &r->queues));
    GANG__TRY(gang__link_queues(r, &queues, queue, count));
    r->out->queues = queue;
    r->out->queue_count = count;
    return GANG_OK;
}

static gang_result read_jobs(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json jobs;
    void *list;
    size_t count;
    if (!gang__json_get(at, "jobs", &jobs))
        return GANG_OK;
    GANG__TRY(gang__read_list(r, &jobs, &job_list, NULL, &list, &count));
    r->out->jobs = list;
    r->out->job_count = count;
    if (count > 0)
        GANG__TRY(index_names(r, &jobs, &r->out->jobs[0].name, job_list.size, count, &r->jobs));
    GANG__TRY(gang__read_job_times(r, &jobs));
    GANG__TRY(gang__read_job_arrivals(r, &jobs));
    return gang__read_job_after(r, &jobs);
}

/* ---- the case -------------------------------------------------------------------------- */

static gang_result keep_comment(struct gang__reader *r, const struct gang__json *object,
                                const char *key, const char **out)
{
    struct gang__json at;
    const char *text = "";
    if (gang__json_get(object, key, &at))
        GANG__TRY(gang__json_text(&at, 0, GANG__MAX_COMMENT, &text));
    return gang__keep_text(r, &at, text, out);
}

static gang_result read_expect(struct gang__reader *r, const struct gang__json *object)
{
    struct gang__json at;
    if (!gang__json_get(object, "expect", &at))
        return GANG_OK;
    GANG__TRY(gang__read_expect(r, &at));
    char *text = gang__json_compact(at.value, r->keep->mem);
    if (!text)
        return gang__json_fail(&at, GANG_ENOMEM, "out of memory");
    gang_result result = gang__keep_text(r, &at, text, &r->out->expect);
    gang__release(r->keep->mem, text);
    return result;
}

/* Names of kinds as the library has them. */
static gang_result read_excluded(struct gang__reader *r, const struct gang__json *object)
{
    static const char *const built_in[] = {"cpu", "memory", "gpu"};
    struct gang_scenario *out = r->out;
    struct gang__json at;
    if (!gang__json_get(object, "excluded_kinds", &at))
        return GANG_OK;
    GANG__TRY(
        gang__read_names(r, &at, GANG_MAX_KINDS, &out->excluded_kinds, &out->excluded_kind_count));
    for (size_t i = 0; i < out->excluded_kind_count; i++) {
        struct gang__json element = gang__json_element(&at, i);
        bool known = gang__find_kind(r, out->excluded_kinds[i]) != NULL;
        for (size_t k = 0; k < GANG__COUNT(built_in); k++)
            known = known || strcmp(out->excluded_kinds[i], built_in[k]) == 0;
        if (!known)
            return gang__json_fail(&element, GANG_ENOENT, "no such kind");
    }
    return GANG_OK;
}

static gang_result read_members(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json member;
    struct gang_scenario *out = r->out;
    GANG__TRY(gang__json_object(at, case_keys, GANG__COUNT(case_keys)));
    GANG__TRY(keep_comment(r, at, "id", &out->id));
    GANG__TRY(keep_comment(r, at, "source", &out->source));
    if (gang__json_get(at, "needs", &member))
        GANG__TRY(gang__read_names(r, &member, GANG__MAX_LIST, &out->needs, &out->need_count));
    if (gang__json_get(at, "levels", &member))
        GANG__TRY(gang__read_names(r, &member, GANG_MAX_LEVELS, &out->levels, &out->level_count));
    GANG__TRY(gang__read_bool(at, "quota_only", &out->quota_only));
    GANG__TRY(gang__read_int(at, "rounds", 1, GANG__MAX_ROUNDS, &out->rounds));
    GANG__TRY(gang__read_word(at, "policy", &gang__place_policy_words, &out->policy));
    GANG__TRY(read_kinds(r, at));
    GANG__TRY(read_partitions(r, at));
    GANG__TRY(read_nodes(r, at));
    GANG__TRY(read_queues(r, at));
    GANG__TRY(gang__read_mapping(r, at));
    GANG__TRY(read_excluded(r, at));
    GANG__TRY(gang__fields_read(r, at, &gang__case_fields, out));
    GANG__TRY(gang__read_reservations(r, at));
    GANG__TRY(read_jobs(r, at));
    return read_expect(r, at);
}

gang_result gang__read_case(struct gang__arena *keep, const struct gang__json *at,
                            struct gang__warnings *warnings, struct gang_scenario *out)
{
    struct gang__reader r = {
        .keep = keep, .scratch = {keep->mem, NULL}, .out = out, .warnings = warnings};
    *out = (struct gang_scenario)GANG_SCENARIO_INIT;
    out->rounds = 1;
    gang_result result = read_members(&r, at);
    gang__arena_free(&r.scratch);
    return result;
}

/* ---- one object ------------------------------------------------------------------------ */

static gang_result read_object(struct gang__reader *r, const struct gang__json *at,
                               enum gang__object object)
{
    struct gang_scenario *out = r->out;
    struct gang_reservation_spec *reservation;
    struct gang_node_spec *node;
    struct gang_queue_spec *queue;
    struct gang_job_spec *job;
    GANG__KEEP(r->kinds, r, at, GANG_MAX_KINDS);
    out->kinds = r->kinds;
    switch (object) {
    case GANG__OBJECT_NODE:
        r->counts_tasks = json_object_get(at->value, "max_tasks") != NULL;
        if (r->counts_tasks)
            gang__count_tasks(r);
        GANG__KEEP(node, r, at, 1);
        out->nodes = node;
        out->node_count = 1;
        return gang__read_node(r, at, node);
    case GANG__OBJECT_QUEUE:
        GANG__KEEP(queue, r, at, 1);
        out->queues = queue;
        out->queue_count = 1;
        return gang__read_queue(r, at, queue);
    case GANG__OBJECT_JOB:
        GANG__KEEP(job, r, at, 1);
        out->jobs = job;
        out->job_count = 1;
        return gang__read_job(r, at, 0, job);
    default:
        GANG__KEEP(reservation, r, at, 1);
        out->reservations = reservation;
        out->reservation_count = 1;
        return gang__read_reservation(r, at, reservation);
    }
}

gang_result gang__read_alone(struct gang__arena *keep, const struct gang__json *at,
                             struct gang__warnings *warnings, enum gang__object object,
                             struct gang_scenario *out)
{
    struct gang__reader r = {.keep = keep,
                             .scratch = {keep->mem, NULL},
                             .out = out,
                             .warnings = warnings,
                             .alone = true};
    *out = (struct gang_scenario)GANG_SCENARIO_INIT;
    gang_result result = read_object(&r, at, object);
    gang__arena_free(&r.scratch);
    return result;
}
