/* SPDX-License-Identifier: Apache-2.0 */
/* What the unit tests share: the shared data, an allocator that fails, and a small cluster. */
#ifndef GANG_TESTS_SUPPORT_H
#define GANG_TESTS_SUPPORT_H

#include <gangsched/base.h>
#include <gangsched/place.h>

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#ifndef GANG_SOURCE_DIR
#define GANG_SOURCE_DIR "."
#endif

/* Path of a file of the shared data ($GANG_SHARED, else the folder `shared` beside the source
 * tree). Returns whether it is there; a test that needs it is skipped if not. */
static inline bool gang_shared_path(char *buf, size_t n, const char *rel)
{
    const char *root = getenv("GANG_SHARED");
    int length = root && root[0] ? snprintf(buf, n, "%s/%s", root, rel)
                                 : snprintf(buf, n, "%s/../shared/%s", GANG_SOURCE_DIR, rel);
    if (length < 0 || (size_t)length >= n)
        return false;
    FILE *file = fopen(buf, "r");
    if (file)
        fclose(file);
    return file != NULL;
}

/* An allocator that counts, and fails when a test wants it. Any thread may use it: the library
 * allocates in whichever thread calls it. */
struct fail_mem {
    struct gang_mem mem; /* pass this one on */
    long fail_at;        /* fail the n-th allocation from now, from 1; 0: none */
    bool fail_on;        /* and all after it */
    atomic_long calls;   /* allocations asked for so far */
    atomic_long live;    /* blocks not yet given back */
};

static inline void *fail_mem_alloc(size_t bytes, void *user)
{
    struct fail_mem *fail = user;
    long call = ++fail->calls;
    if (fail->fail_at > 0 && (call == fail->fail_at || (fail->fail_on && call > fail->fail_at)))
        return NULL;
    void *memory = malloc(bytes ? bytes : 1);
    if (memory)
        fail->live++;
    return memory;
}

static inline void fail_mem_release(void *memory, void *user)
{
    struct fail_mem *fail = user;
    fail->live--;
    free(memory);
}

/* Set it up (again): fails the `fail_at`-th allocation; 0: none. */
static inline void fail_mem_init(struct fail_mem *fail, long fail_at)
{
    *fail = (struct fail_mem){.mem = GANG_MEM_INIT, .fail_at = fail_at};
    fail->mem.alloc = fail_mem_alloc;
    fail->mem.release = fail_mem_release;
    fail->mem.user = fail;
}

/* ---- a small cluster ---------------------------------------------------------------------- */

#define GIB ((int64_t)1 << 30)
#define MIB ((int64_t)1 << 20)

/* Values for a pointer member and the count that follows it:
 *   .labels = LIST(struct gang_label, {"zone", "a"}) */
#define LIST(type, ...) (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}) / sizeof(type)

/* A call that must succeed; `error` is a local of the caller's. */
#define MUST(call)                                                                 \
    do {                                                                           \
        gang_result must_ = (call);                                                \
        ck_assert_msg(must_ == GANG_OK, "%s: %s", #call, gang_result_name(must_)); \
    } while (0)

/* A call must end with a result; a failure shows what the call wrote to *error. A call that fails
 * writes its code there too. */
#define EXPECT_RESULT(call, expected, error) EXPECT_RESULT_OF(#call, call, expected, error)

#define EXPECT_RESULT_OF(name, call, expected, error)                              \
    do {                                                                           \
        gang_result got_ = (call), want_ = (expected);                             \
        const struct gang_error *error_ = (error);                                 \
        ck_assert_msg(got_ == want_ && (got_ >= 0 || error_->code == got_),        \
                      "%s: %s, not %s (code %s, path \"%s\", text \"%s\")", name,  \
                      gang_result_name(got_), gang_result_name(want_),             \
                      gang_result_name(error_->code), error_->path, error_->text); \
    } while (0)

/* The same for a call that returns a struct outcome. */
#define EXPECT_OUTCOME(call, expected)                                       \
    do {                                                                     \
        struct outcome outcome_ = (call);                                    \
        EXPECT_RESULT_OF(#call, outcome_.result, expected, &outcome_.error); \
    } while (0)

/* A call must be refused with a code and a path. NULL for the path: whatever it is; `word`: must be
 * in the text, if not NULL. */
#define EXPECT_ERROR(call, expected, error, where, word)                               \
    do {                                                                               \
        EXPECT_RESULT(call, expected, error);                                          \
        const struct gang_error *refusal_ = (error);                                   \
        const char *where_ = (where), *word_ = (word);                                 \
        ck_assert_msg((!where_ || !strcmp(refusal_->path, where_)) &&                  \
                          (!word_ || strstr(refusal_->text, word_)),                   \
                      "%s: path \"%s\", not \"%s\"; text \"%s\", expected: %s", #call, \
                      refusal_->path, where_ ? where_ : "(any)", refusal_->text,       \
                      word_ ? word_ : "any");                                          \
    } while (0)

/* A machine in few words; what is 0 or NULL is not there. */
struct box {
    const char *name;
    int64_t cpu;    /* millicores */
    int64_t memory; /* bytes */
    size_t gpus;
    const char *model;  /* of all GPUs */
    int64_t gpu_memory; /* bytes, of each GPU */
    size_t numas;       /* GPUs and cores are dealt out to them in runs of equal length */
    size_t cores;
    const struct gang_amount *amounts;
    size_t amount_count;
    const struct gang_label *labels;
    size_t label_count;
    const char *const *partitions;
    size_t partition_count;
    const struct gang_label *place; /* in the topology */
    size_t place_count;
    int32_t state;
};

/* The arrays of a specification. */
struct box_arrays {
    struct gang_gpu_spec gpu[GANG_MAX_GPUS];
    struct gang_core_spec core[GANG_MAX_CORES];
    struct gang_numa_spec numa[GANG_MAX_NUMAS];
};

static inline int32_t box_numa(size_t i, size_t count, size_t numas)
{
    return numas ? (int32_t)(i * numas / count) : -1;
}

/* Write a box out as a specification with its arrays in `arrays`. */
static inline struct gang_node_spec box_spec(const struct box *box, struct box_arrays *arrays)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    memset(arrays, 0, sizeof(*arrays));
    for (size_t i = 0; i < box->gpus; i++) {
        arrays->gpu[i].model = box->model;
        arrays->gpu[i].memory_bytes = box->gpu_memory;
        arrays->gpu[i].numa = box_numa(i, box->gpus, box->numas);
    }
    for (size_t i = 0; i < box->cores; i++) {
        arrays->core[i].os_index = (int32_t)i;
        arrays->core[i].numa = box_numa(i, box->cores, box->numas);
        arrays->core[i].threads = 1;
    }
    for (size_t i = 0; i < box->numas; i++) {
        arrays->numa[i].os_index = (int32_t)i;
        arrays->numa[i].package = (int32_t)i;
    }
    spec.name = box->name;
    spec.cpu_milli = box->cpu;
    spec.memory_bytes = box->memory;
    spec.gpus = arrays->gpu;
    spec.gpu_count = box->gpus;
    spec.numas = arrays->numa;
    spec.numa_count = box->numas;
    spec.cores = arrays->core;
    spec.core_count = box->cores;
    spec.amounts = box->amounts;
    spec.amount_count = box->amount_count;
    spec.labels = box->labels;
    spec.label_count = box->label_count;
    spec.partitions = box->partitions;
    spec.partition_count = box->partition_count;
    spec.topology = box->place;
    spec.topology_count = box->place_count;
    spec.state = box->state;
    return spec;
}

/* A cluster with an allocator that counts, and a worker. */
struct stage {
    struct fail_mem mem;
    gang_cluster *c;
    gang_worker *w;
};

static inline void stage_open(struct stage *s, const char *const *levels, size_t level_count)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    fail_mem_init(&s->mem, 0);
    opts.levels = levels;
    opts.level_count = level_count;
    opts.mem = &s->mem.mem;
    MUST(gang_cluster_new(&opts, &s->c, NULL));
    MUST(gang_worker_new(s->c, &s->w));
}

/* Is the record of what is taken in order? */
static inline void stage_check(struct stage *s)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_cluster_check(s->c, &error);
    ck_assert_msg(r == GANG_OK, "gang_cluster_check: %s", error.text);
}

/* Ends it, after an audit; nothing may be left allocated. */
static inline void stage_close(struct stage *s)
{
    stage_check(s);
    gang_cluster_free(s->c);
    ck_assert_int_eq(s->mem.live, 0);
}

static inline gang_node_id stage_add(struct stage *s, const struct box *box)
{
    static struct box_arrays arrays;
    struct gang_node_spec spec = box_spec(box, &arrays);
    struct gang_error error = GANG_ERROR_INIT;
    gang_node_id id;
    gang_result r = gang_node_add(s->w, &spec, &id, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s %s", box->name, error.path, error.text);
    return id;
}

/* A node as it is now; it must be there. */
static inline struct gang_node_info stage_node(struct stage *s, gang_node_id id)
{
    struct gang_node_info info;
    info.size = sizeof(info);
    MUST(gang_node_get(s->c, id, &info));
    return info;
}

/* A group that wants all its tasks. */
static inline struct gang_group_spec group_of(int64_t count, int64_t cpu_milli, int64_t gpu_milli)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    g.count = g.min = count;
    g.cpu_milli = cpu_milli;
    g.gpu_milli = gpu_milli;
    return g;
}

static inline struct gang_request_spec request_of(const struct gang_group_spec *groups,
                                                  size_t count)
{
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    spec.groups = groups;
    spec.group_count = count;
    return spec;
}

static inline gang_request *stage_request(struct stage *s, const struct gang_request_spec *spec)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    gang_result r = gang_request_new(s->c, spec, &request, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s: %s", gang_result_name(r), error.path, error.text);
    return request;
}

/* Tries to allocate and returns the result; frees the request at once. */
struct outcome {
    gang_result result;
    gang_alloc_id id;
    struct gang_error error;
};

static inline struct outcome stage_try(struct stage *s, const struct gang_request_spec *spec)
{
    struct outcome o = {.error = GANG_ERROR_INIT};
    gang_request *request = stage_request(s, spec);
    o.id = 1;
    o.result = gang_alloc(s->w, request, &o.id, &o.error);
    ck_assert((o.result == GANG_OK) == (o.id != GANG_ID_NONE));
    ck_assert_int_eq(o.error.code, o.result);
    gang_request_free(request);
    return o;
}

static inline struct outcome stage_try_group(struct stage *s, const struct gang_group_spec *group)
{
    struct gang_request_spec spec = request_of(group, 1);
    return stage_try(s, &spec);
}

/* An allocation that must succeed. */
static inline gang_alloc_id stage_alloc(struct stage *s, const struct gang_request_spec *spec)
{
    struct outcome o = stage_try(s, spec);
    ck_assert_msg(o.result == GANG_OK, "%s: %s", gang_result_name(o.result), o.error.text);
    return o.id;
}

static inline gang_alloc_id stage_alloc_group(struct stage *s, const struct gang_group_spec *group)
{
    struct gang_request_spec spec = request_of(group, 1);
    return stage_alloc(s, &spec);
}

/* The tasks of an allocation; good until the next call. */
struct task_list {
    size_t count;
    struct gang_task task[2048];
};

static inline int32_t task_list_add(const struct gang_task *task, void *user)
{
    struct task_list *list = user;
    ck_assert_uint_lt(list->count, sizeof(list->task) / sizeof(list->task[0]));
    ck_assert_uint_eq(task->size, sizeof(*task));
    list->task[list->count++] = *task;
    return 0;
}

static inline const struct task_list *stage_tasks(struct stage *s, gang_alloc_id id)
{
    static struct task_list list;
    list.count = 0;
    MUST(gang_alloc_each(s->c, id, task_list_add, &list));
    return &list;
}

/* The task of an allocation of one task. */
static inline struct gang_task stage_only_task(struct stage *s, gang_alloc_id id)
{
    const struct task_list *list = stage_tasks(s, id);
    ck_assert_uint_eq(list->count, 1);
    return list->task[0];
}

/* How many tasks of an allocation are on a node; GANG_ID_NONE: in all. */
static inline size_t stage_tasks_on(struct stage *s, gang_alloc_id id, gang_node_id node)
{
    const struct task_list *list = stage_tasks(s, id);
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++)
        n += node == GANG_ID_NONE || list->task[i].node == node;
    return n;
}

#endif
