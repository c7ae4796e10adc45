/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading scenarios.
 *
 * A file holds one case or an array of cases. Members of a case that a user may write:
 *
 *   case    id, source           text
 *           note, caps, tier, sensitive_to   comments of any kind, not kept
 *           needs                [name]: capabilities beyond plain allocation
 *           quota_only           true or false
 *           levels               [name], widest first
 *           kinds             *  [{name, unit, scope: "node" | "cluster", capacity}]; capacity only
 *                                with scope "cluster"; scope is "node" if it is not given
 *           policy            *  of the cluster: as in a job
 *           partitions        *  [{name, mode: "shared" (if not given) | "exclusive" | "lending"}]
 *           nodes, queues, jobs
 *           default_queue     *  of jobs that name none
 *           rules             *  [{match: "all" (if not given) | "user" | "group" | "name" | "label",
 *                                pattern, queue, fallback: "skip" (if not given) | "reject" |
 *                                "default"}]: where jobs go that name no queue (gang_queue_rule)
 *           excluded_kinds    *  [name]: "cpu", "memory", "gpu", or of `kinds`
 *           half_life_s       *  of the usage that counts; 0 (if not given): none does
 *           reservations      *  [reservation], accepted in this order: first those that a job that runs
 *                                names, then all that runs is put in its place, then the others, which
 *                                are refused where it is in their way; then jobs start
 *           rounds               1 if it is not given
 *           expect               {jobs, queues, interchangeable, derived}, see scenario.h
 *   node    name                 the only one that must be there; amounts are 0 if not given
 *           cpus                 cores, down to thousandths
 *           mem_mib              or mem_bytes *
 *           gpus                 whole devices, all alike, with
 *           gpu_mem_mib          or gpu_mem_bytes *, and
 *           gpu_model         *
 *           devices           *  instead of these: [{model, mem_mib | mem_bytes, numa, pci, uuid,
 *                                healthy (true), parent, slice (0), pcie}]; with `parent` a slice of it
 *           profiles          *  [{name, model, width, starts: [number]}]: how slices may be joined
 *           links             *  [{a, b, kind: "nvlink" | "xgmi" | "other", hops, bandwidth_mbps}]
 *           near              *  a string a GPU, in it a digit (GANG_LOCALITY_*) a GPU
 *           numas             *  [{os_index, package, mem_mib | mem_bytes}]; `numa` is an index here
 *           cores             *  [{os_index, numa, threads, cpuset}]
 *           nics              *  [{name, pci, numa}]
 *           amounts           *  {kind: number}, kinds of `kinds` that nodes have
 *           max_tasks            the amount of a kind "tasks" that each task takes 1 of; a node
 *                                without it has GANG_MAX_AMOUNT if another node of the case has it
 *           labels               {key: text}
 *           topology             {level: value}
 *           partitions        *  [name]
 *           unschedulable        true: draining
 *           state             *  instead: "up", "draining" or "down"
 *   queue   name, parent (null: top), priority (100 if not given)
 *           guaranteed, limit, lending_limit
 *                                {gpu, cpu, mem_mib | mem_bytes *, or a kind of `kinds` *: number};
 *                                -1: unlimited; the last two may be null. "gpu@NAME" *: of what is in
 *                                a partition. Instead of a number in the first two {"fraction": 0.25} *:
 *                                of what the parent has, down to millionths; in the first
 *                                {"weight": 2} *, a whole number: over the sum of the siblings'
 *           weight               number (1 if not given), or one a resource: {gpu, cpu, mem_mib,
 *                                a kind *, "default" *: what holds for the others, 1 if not given}
 *           within               "never", "lower" or "lower-or-newer"
 *           reclaim              "never", "lower" or "any"
 *           cells                [{level, count}]; level may also be "node"
 *           state             *  "open" (if not given), "draining" or "closed"
 *           order             *  "priority" (if not given), "fifo", "fair", "shortest", "least-served",
 *                                "deadline"
 *           child_order       *  "fair" (if not given), "utilization" or "priority-utilization"
 *           block             *  "none" (if not given) or "strict"
 *           preempt_mode      *  "requeue" (if not given), "suspend" or "cancel"
 *           backfill          *  "default" (if not given): the parent's, "none", "easy", "conservative"
 *           backfill_order    *  "default" (if not given): the parent's, "leaf", "shortest", "widest", "smallest"
 *           slice_s           *  turns of so long; 0 (if not given): as the parent, -1: none
 *           slice_rows        *  0 (if not given): 4
 *           slice_gpus        *  true: GPUs take turns, too
 *           plan_depth        *  jobs that have a planned start; 0 (if not given): as the parent
 *           overrun           *  "default" (if not given): the parent's, "kill", "extend" or "ask"
 *           extend_s, max_bypasses, max_wait_s
 *                             *  0 (if not given): as the parent
 *           no_preemption     *  true: nothing is ever taken from it
 *           max_running, max_pending, max_running_per_user
 *                             *  jobs; 0 (if not given): no bound
 *           default_time_limit_s, max_time_limit_s
 *                             *  0 (if not given): none
 *           user_limit_percent, user_limit_factor
 *                             *  whole number up to 100; number down to thousandths; 0: none
 *           users             *  {name: weight}, down to millionths
 *           submit_acl, admin_acl
 *                             *  "user1,user2 group1,group2"; "*": all, " ": nobody
 *           grace_s, min_runtime_s, stale_s
 *                             *  if not given, as the parent
 *           child             *  a queue without name and parent: how those made on demand are
 *           max_children, child_idle_s
 *                             *  0 (if not given): 1000, never
 *           policy            *  as in a job; "default": the parent's
 *   job     name, queue          the queue may be absent if the case has none, or has rules or a
 *                                default; "parent.name" *: may be made on demand
 *           priority (0), submit (the job's index)
 *           preemptible          true (if not given), false, "above-min" *: tasks above the minimum
 *           user, user_groups *  text, [name]
 *           min                  if it is not given, all tasks are the gang; if the minima of groups and
 *                                tasks add up to more, so many start together
 *           tasks                at least one
 *           same, prefer         levels: of `levels`, or "node", "package", "numa", "pcie", "island" *
 *           groups               [{name, parent, min, same, prefer}] in any order; they become sets
 *                                with parents first; without a name they go by index *
 *           policy            *  a name of gang_policy_name() but "host"; "default" if not given
 *           gpu_nodes         *  "avoid" (if not given), "allow" or "exclude": GANG_GPU_NODES_*
 *           exclusive         *  true: its nodes are for this job alone
 *           labels            *  {key: text} of the job, for the rules of others
 *           affinity          *  [{key, value (null: any), level ("node", or of `levels`), colocate, soft}]:
 *                                rules on other jobs; colocate and soft are true or false (if not given)
 *           state                "pending" (if not given) or "running"
 *           running_on           [node or null], one a task; may be shorter than the tasks
 *           running_gpu          [[label of a device]], one a task
 *           stale, never_preempts
 *           hold              *  true: waits to be released
 *           time_limit_s      *  0 (if not given): the queue's
 *           loss              *  "count" (if not given), "fail", "restart", "refill" or "shrink"
 *           max_restarts, restart_delay_s, refill_s
 *                             *  0 if not given
 *           start_within_s, back_off_s, heartbeat_s
 *                             *  0 if not given
 *           begin_s, deadline_s
 *                             *  times, the first pass is at 0; so are all times of reservations; 0 (if
 *                                not given): none
 *           reservation       *  name of one of `reservations`
 *           after             *  [{job: name, when: "start" | "end" | "success"}], without cycles:
 *                                gang_scenario.afters
 *           ran_s             *  of a job that runs: since when; 0 (if not given), below its time limit
 *           run_time_s        *  how long it runs in all, for forecasts: a number above 0, or a list of
 *                                them, each as likely: gang_scenario.times
 *   reserv. *  (gang_reservation_spec)
 *           name, stages         the only ones that must be there
 *           owner                text: whose limits count
 *           arrival_s, deadline_s
 *                                the window; 0 (if not given): now, none
 *           start_s              begins exactly then; if not given, wherever it fits
 *           duration_s           of stages that give none
 *           period_s, repetitions, until_s
 *                                0 (if not given): once; without end; no bound
 *           objective            "earliest" (if not given), "latest" or "cheapest"
 *           combine              "all" (if not given), "any", "order" or "order-no-gap"
 *           flags                ["maintenance", "overlap", "ignore-jobs", "flex", "magnetic"]
 *           queue, users         for whom: name, [name]
 *           purge_s, notice_s    0 (if not given): never, none
 *           stages               [{duration_s, gang_size, exclusive, and one of tasks: [task], nodes: [name],
 *                                level with domain (a path: "z1/r3") or domain_count}]; of a task
 *                                what gang_reservation_stage.groups reads, and no `min`
 *   task    count                1 if it is not given
 *           min               *  of this group. If it is not given: 0 where the job or a group
 *                                around it has a `min`, else `count`
 *           cpu, mem_mib (mem_bytes *)
 *           gpu                  whole devices, or a share below 1 of each of
 *           gpu_devices          devices (1)
 *           gpu_mem_mib          or gpu_mem_bytes *: memory of each of them, instead of a share
 *           gpu_models        *  [name]
 *           profile           *  of partitionable devices, `gpu` instances of it
 *           amounts           *  {kind: number}
 *           selector             {label or "node": value or [values]}
 *           where             *  a label expression (gang_group_spec.where), or a list of rules [{key,
 *                                op: "in" | "not_in" | "exists" | "not_exists" | "lt" | "le" | "gt" |
 *                                "ge", values}], in which one element may be an expression
 *           partition         *
 *           group                name (or index *) of one of `groups`
 *           same, prefer      *  levels, for the tasks of this group
 *           numa              *  "prefer" (if not given), "none" or "strict"
 *           near_nic          *  true: GPUs near a network card
 *           models_ranked     *  true: gpu_models are in the order of preference, at most 64
 *           subgroup_size, subgroup_same, subgroup_prefer
 *                             *  tasks of one, levels
 *           spread, max_skew, spread_soft
 *                             *  level ("node", or of `levels`), number, true or false
 *           max_per_node      *
 *           max_per_domain, domain_level
 *                             *  number, level ("node", or of `levels`)
 *           name              *
 *           protected, order
 *           role              *  "member" (if not given), "chief", "critical", "untracked" or "sidecar"
 *           after             *  [{group: index or name of one of `tasks`, when: as in a job}]
 *
 * Times end in _s and are seconds, decimals allowed: nanoseconds up to 13 days, microseconds beyond.
 *
 * What is marked * is an extension of this library; the writer uses it only where the plain format
 * does not say enough.
 */
#include "scenario/scenario_priv.h"

#include <string.h>

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
        return gang__json_fail(at, GANG_EEXIST, "'%s' is there twice", gang__word(name).s);
    return GANG_OK;
}

static gang_result read_kind(struct gang__reader *r, const struct gang__json *at,
                             struct gang_kind_spec *kind)
{
    static const char *const keys[] = {"name", "unit", "scope", "capacity"};
    struct gang__json member;
    const char *name;
    size_t scope = GANG_SCOPE_NODE;
    kind->size = sizeof(*kind);
    GANG__TRY(gang__json_object(at, keys, GANG__COUNT(keys)));
    GANG__TRY(gang__json_need(at, "name", &member));
    GANG__TRY(gang__json_name(&member, 1, GANG_MAX_NAME, &name));
    GANG__TRY(check_kind_name(r, &member, name));
    GANG__TRY(gang__take_copy(r, &member, name, &kind->name));
    GANG__TRY(gang__take_name_of(r, at, "unit", &kind->unit));
    if (gang__json_get(at, "scope", &member))
        GANG__TRY(
            gang__json_choice(&member, gang__scope_words, GANG__COUNT(gang__scope_words), &scope));
    kind->scope = (int32_t)scope;
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

static gang_result read_kinds(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json kinds;
    size_t count = 0;
    size_t most = GANG_MAX_KINDS - GANG_KIND_SITE;
    r->counts_tasks = has_max_tasks(at);
    if (gang__json_get(at, "kinds", &kinds))
        GANG__TRY(gang__json_array(&kinds, r->counts_tasks ? most - 1 : most, &count));
    GANG__TAKE(r->kinds, r, &kinds, count + r->counts_tasks);
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
        r->kinds[r->out->kind_count++] = (struct gang_kind_spec){
            sizeof(struct gang_kind_spec), GANG__TASKS, GANG__TASKS, GANG_SCOPE_NODE, 0, 0};
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
                           gang__word(json_string_value(name.value)).s);
}

static gang_result read_partitions(struct gang__reader *r, const struct gang__json *at)
{
    static const char *const keys[] = {"name", "mode"};
    struct gang__json partitions;
    struct gang_partition_spec *list;
    struct gang__lookup names;
    size_t count;
    if (!gang__json_get(at, "partitions", &partitions))
        return GANG_OK;
    GANG__TRY(gang__json_array(&partitions, GANG__MAX_LIST, &count));
    GANG__TAKE(list, r, &partitions, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&partitions, i);
        struct gang__json member;
        size_t mode = GANG_PARTITION_SHARED;
        GANG__TRY(gang__json_object(&element, keys, GANG__COUNT(keys)));
        GANG__TRY(gang__json_need(&element, "name", &member));
        GANG__TRY(gang__take_name(r, &member, &list[i].name));
        if (gang__json_get(&element, "mode", &member))
            GANG__TRY(
                gang__json_choice(&member, gang__mode_words, GANG__COUNT(gang__mode_words), &mode));
        list[i].size = sizeof(list[i]);
        list[i].mode = (int32_t)mode;
    }
    if (count > 0)
        GANG__TRY(index_names(r, &partitions, &list[0].name, sizeof(*list), count, &names));
    r->out->partitions = list;
    r->out->partition_count = count;
    return GANG_OK;
}

static gang_result read_nodes(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json nodes;
    struct gang_node_spec *list;
    size_t count;
    if (!gang__json_get(at, "nodes", &nodes))
        return GANG_OK;
    GANG__TRY(gang__json_array(&nodes, GANG__MAX_NODES, &count));
    GANG__TAKE(list, r, &nodes, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&nodes, i);
        GANG__TRY(gang__read_node(r, &element, &list[i]));
    }
    if (count > 0)
        GANG__TRY(index_names(r, &nodes, &list[0].name, sizeof(*list), count, &r->nodes));
    r->out->nodes = list;
    r->out->node_count = count;
    return GANG_OK;
}

static gang_result read_queues(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json queues;
    struct gang_queue_spec *list;
    size_t count;
    if (!gang__json_get(at, "queues", &queues))
        return GANG_OK;
    GANG__TRY(gang__json_array(&queues, GANG_MAX_QUEUES, &count));
    GANG__TAKE(list, r, &queues, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&queues, i);
        GANG__TRY(gang__read_queue(r, &element, &list[i]));
    }
    if (count > 0)
        GANG__TRY(index_names(r, &queues, &list[0].name, sizeof(*list), count, &r->queues));
    GANG__TRY(gang__link_queues(r, &queues, list, count));
    r->out->queues = list;
    r->out->queue_count = count;
    return GANG_OK;
}

static gang_result read_jobs(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json jobs;
    struct gang_job_spec *list;
    size_t count;
    if (!gang__json_get(at, "jobs", &jobs))
        return GANG_OK;
    GANG__TRY(gang__json_array(&jobs, GANG__MAX_JOBS, &count));
    GANG__TAKE(list, r, &jobs, count);
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&jobs, i);
        GANG__TRY(gang__read_job(r, &element, i, &list[i]));
    }
    if (count > 0)
        GANG__TRY(index_names(r, &jobs, &list[0].name, sizeof(*list), count, &r->jobs));
    r->out->jobs = list;
    r->out->job_count = count;
    GANG__TRY(gang__read_job_times(r, &jobs));
    return gang__read_job_after(r, &jobs);
}

/* ---- the case -------------------------------------------------------------------------- */

static gang_result take_comment(struct gang__reader *r, const struct gang__json *object,
                                const char *key, const char **out)
{
    struct gang__json at;
    const char *text = "";
    if (gang__json_get(object, key, &at))
        GANG__TRY(gang__json_text(&at, 0, GANG__MAX_COMMENT, &text));
    return gang__take_copy(r, &at, text, out);
}

static gang_result read_expect(struct gang__reader *r, const struct gang__json *object)
{
    struct gang__json at;
    if (!gang__json_get(object, "expect", &at))
        return GANG_OK;
    GANG__TRY(gang__check_expect(r, &at));
    char *text = gang__json_compact(at.value, r->keep->mem);
    if (!text)
        return gang__json_fail(&at, GANG_ENOMEM, "out of memory");
    gang_result result = gang__take_copy(r, &at, text, &r->out->expect);
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
        gang__take_names(r, &at, GANG_MAX_KINDS, &out->excluded_kinds, &out->excluded_kind_count));
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
    GANG__TRY(take_comment(r, at, "id", &out->id));
    GANG__TRY(take_comment(r, at, "source", &out->source));
    if (gang__json_get(at, "needs", &member))
        GANG__TRY(gang__take_names(r, &member, GANG__MAX_LIST, &out->needs, &out->need_count));
    if (gang__json_get(at, "levels", &member))
        GANG__TRY(gang__take_names(r, &member, GANG_MAX_LEVELS, &out->levels, &out->level_count));
    GANG__TRY(gang__take_bool(at, "quota_only", &out->quota_only));
    GANG__TRY(gang__take_int(at, "rounds", 1, GANG__MAX_ROUNDS, &out->rounds));
    if (gang__json_get(at, "policy", &member)) {
        size_t policy;
        GANG__TRY(gang__json_choice(&member, gang__policy_words, GANG_POLICY_HOST, &policy));
        out->policy = (int32_t)policy;
    }
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
                            struct gang_scenario *out, struct gang__key_warning *warning)
{
    struct gang__reader r = {
        .keep = keep, .scratch = {keep->mem, NULL}, .out = out, .warning = warning};
    *out = (struct gang_scenario)GANG_SCENARIO_INIT;
    out->rounds = 1;
    gang_result result = read_members(&r, at);
    gang__arena_free(&r.scratch);
    return result;
}

/* ---- files ----------------------------------------------------------------------------- */

static gang_result read_cases(struct gang_scenarios *scenarios, const struct gang__json *root)
{
    if (json_is_object(root->value)) {
        scenarios->cases = gang__arena_get(&scenarios->arena, 1, sizeof(*scenarios->cases));
        if (!scenarios->cases)
            return gang__json_fail(root, GANG_ENOMEM, "out of memory");
        scenarios->count = 1;
        return gang__read_case(&scenarios->arena, root, &scenarios->cases[0], &scenarios->warning);
    }
    GANG__TRY(gang__json_array(root, GANG__MAX_CASES, &scenarios->count));
    scenarios->cases =
        gang__arena_get(&scenarios->arena, scenarios->count, sizeof(*scenarios->cases));
    if (!scenarios->cases)
        return gang__json_fail(root, GANG_ENOMEM, "out of memory");
    for (size_t i = 0; i < scenarios->count; i++) {
        struct gang__json element = gang__json_element(root, i);
        GANG__TRY(gang__read_case(&scenarios->arena, &element, &scenarios->cases[i],
                                  &scenarios->warning));
    }
    return GANG_OK;
}

gang_result gang__scenarios_read_mem(const struct gang_mem *mem, const char *text, size_t length,
                                     gang_scenarios **scenarios, struct gang_error *error)
{
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
    struct gang__json at = gang__json_root(root, error);
    result = read_cases(out, &at);
    if (result != GANG_OK)
        gang_scenarios_free(out);
    else
        *scenarios = out;
out:
    json_decref(root);
    return result;
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
    GANG__TRY(gang__struct_out(scenario, scenario->size, sizeof(none),
                               there ? &scenarios->cases[index] : &none, sizeof(none)));
    return !scenarios ? GANG_EINVAL : there ? GANG_OK : GANG_ENOENT;
}
