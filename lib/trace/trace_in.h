/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a trace, and what its readers and writers share.
 *
 * A row is 64 bytes. Words (names of queues, users, groups, models) and mixes (the groups of a job)
 * are kept once and referred to by number, for a trace has few of them. Names of jobs are kept one
 * by one and found through a table of 8 bytes a slot. */
#ifndef GANG__TRACE_TRACE_IN_H
#define GANG__TRACE_TRACE_IN_H

#include <gangsched/trace.h>

#include <string.h>

#include "base/error.h"
#include "base/hash_table.h"
#include "base/json/json.h"
#include "base/mem.h"

#define GANG__SECOND INT64_C(1000000000)
/* Times and run times lie within this, so that sums of two of them are numbers: 146 years. */
#define GANG__TRACE_MAX_NS (INT64_MAX / 2)
#define GANG__TRACE_MAX_MEMORY (GANG_MAX_AMOUNT * GANG_PAGE_BYTES)
#define GANG__TRACE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    GANG__TRACE_MAX_TASKS = 1 << 24,
    GANG__TRACE_MAX_GROUPS = 4095,
    GANG__TRACE_MAX_MODELS = 64, /* of a group */
    GANG__TRACE_PASS = 1         /* of a reader: the format itself marks this row as not run */
};

#define GANG__TRACE_TRY(call)      \
    do {                           \
        gang_result try_ = (call); \
        if (try_ != GANG_OK)       \
            return try_;           \
    } while (0)

/* Text that does not end with a NUL. */
struct gang__span {
    const char *s;
    size_t n;
};

static inline struct gang__span gang__span_of(const char *text)
{
    return (struct gang__span){text, text ? strlen(text) : 0};
}

bool gang__span_is(struct gang__span a, const char *text);

/* ---- memory that is never given back one by one (trace_store.c) ---- */

struct gang__trace_chunk {
    struct gang__trace_chunk *next;
    size_t used;
    size_t cap;
    size_t reserved0; /* keeps `data` aligned for any type */
    unsigned char data[];
};

/* ---- what is kept once ---- */

struct gang__trace_symbol {
    struct gang__hash_link link;
    uint32_t number;
    uint32_t length;
    char text[];
};

struct gang__trace_models {
    struct gang__hash_link link;
    uint32_t number;
    uint32_t count;
    const char *name[];
};

/* A group. No padding: it is compared and hashed as it lies there. */
struct gang__trace_group {
    uint32_t name;   /* a word; 0: none */
    uint32_t models; /* a set of models; 0: any */
    int64_t count;
    int64_t min;
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t gpu_milli;
    int64_t gpu_devices; /* 0 but for shares of several */
    uint32_t partition;  /* a word; 0: none */
    uint32_t reserved0;
};
_Static_assert(sizeof(struct gang__trace_group) == 64, "no padding");

struct gang__trace_mix {
    struct gang__hash_link link;
    uint32_t number;
    uint32_t count;
    int64_t tasks; /* of all groups; so are the amounts */
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t gpu_milli;
    struct gang__trace_group group[];
};

struct gang__trace_row {
    int64_t submit_ns;
    int64_t run_ns;
    int64_t limit_ns;
    int64_t started_ns;
    int64_t priority;
    const char *name;
    uint32_t queue; /* a word */
    uint32_t user;
    uint32_t mix;
    uint8_t preemptible;
    uint8_t end;
    uint16_t reserved0;
};
_Static_assert(sizeof(struct gang__trace_row) == 64, "a row is a cache line");

/* A job on its way in. */
struct gang__trace_draft {
    struct gang__span name; /* empty: its position */
    uint32_t queue;
    uint32_t user;
    int64_t submit_ns;
    int64_t run_ns;
    int64_t limit_ns;
    int64_t started_ns;
    int64_t priority;
    int32_t preemptible;
    int32_t end;
    const struct gang__trace_group *groups;
    size_t group_count;
};

#define GANG__TRACE_DRAFT_INIT                             \
    (struct gang__trace_draft)                             \
    {                                                      \
        .started_ns = GANG_TRACE_UNKNOWN, .preemptible = 1 \
    }

enum { GANG__TRACE_ROWS = 512 }; /* of a block */

struct gang_trace {
    struct gang_mem mem;
    struct gang__trace_chunk *chunks;
    size_t count;
    struct gang__trace_row **rows; /* blocks of GANG__TRACE_ROWS */
    size_t rows_cap;
    uint64_t *slots; /* upper half: hash of a name, lower half: position + 1; 0: free */
    size_t slots_cap;
    struct gang__hash_table symbol_names;
    struct gang__trace_symbol **symbols; /* [number - 1]; so are the next two */
    size_t symbol_cap;
    struct gang__hash_table model_names;
    struct gang__trace_models **models;
    size_t model_cap;
    struct gang__hash_table mix_names;
    struct gang__trace_mix **mixes;
    size_t mix_cap;
    void *scratch; /* struct gang_group_spec[], of the job that was asked for last */
    size_t scratch_cap;
    size_t skipped;
    int64_t skipped_line; /* of the first of these; 0: not known */
    int32_t format;
    int32_t reserved0;
};

static inline struct gang__trace_row *gang__trace_row(const gang_trace *t, size_t index)
{
    return &t->rows[index / GANG__TRACE_ROWS][index % GANG__TRACE_ROWS];
}
static inline const struct gang__trace_mix *gang__trace_mix(const gang_trace *t, size_t index)
{
    return t->mixes[gang__trace_row(t, index)->mix];
}
/* Text of a word; NULL: none. */
static inline const char *gang__trace_text(const gang_trace *t, uint32_t word)
{
    return word ? t->symbols[word - 1]->text : NULL;
}

/* ---- putting in: on failure nothing has changed that can be seen ---- */

/* May a text be a name? GANG_EINVAL: control characters, no UTF-8; GANG_ELIMIT: too long. */
gang_result gang__trace_check_text(struct gang__span text);
/* Keep a word. Empty: 0. Also the errors of the check, and GANG_ENOMEM. */
gang_result gang__trace_word(gang_trace *t, struct gang__span text, uint32_t *word);
/* Keep a list of models. Likewise; GANG_EINVAL: an empty one. */
gang_result gang__trace_models_add(gang_trace *t, const struct gang__span *models, size_t count,
                                   uint32_t *number);
/* Keep checked groups; GANG_ENOMEM, GANG_ERANGE (their sums). */
gang_result gang__trace_mix_add(gang_trace *t, const struct gang__trace_group *groups, size_t count,
                                uint32_t *number);
bool gang__trace_name_find(const gang_trace *t, struct gang__span name, size_t *index);
/* Allocates for one more job, whose name must be new: GANG_ENOMEM. */
gang_result gang__trace_reserve(gang_trace *t, struct gang__span name, size_t groups,
                                const char **kept);
/* The reserved row becomes the last job. */
void gang__trace_append(gang_trace *t, const struct gang__trace_row *row);

/* Check a job and add it. The path is that of the member of gang_trace_job. */
gang_result gang__trace_add(gang_trace *t, const struct gang__trace_draft *draft,
                            struct gang_error *error);

/* ---- numbers and dates (trace_number.c) ---- */

enum gang__number { GANG__NUMBER_OK, GANG__NUMBER_BAD, GANG__NUMBER_RANGE };

/* A decimal number times `scale` (1 .. 2^40), rounded to the nearest, halves away from 0; an
 * exponent is allowed. Exact where the value has at most 20 decimals; the same in every locale. */
enum gang__number gang__decimal(struct gang__span text, int64_t scale, int64_t *value);
/* "2020-04-01 00:04:03", also with a fraction, with "T" instead of the space, and with "Z" or an
 * offset, as ns since 1970 UTC. */
enum gang__number gang__date(struct gang__span text, int64_t *ns);
/* The shortest decimal that reads back as value / scale, scale a power of ten or of two up to
 * 2^20. Returns the length, < 64. */
size_t gang__decimal_write(char text[64], int64_t value, int64_t scale);

/* ---- reading ---- */

struct gang__trace_reader {
    gang_trace *trace;
    const char *text;
    size_t length;
    struct gang_trace_opts opts; /* defaults filled in */
    struct gang_error *error;    /* never NULL */
    int64_t line;                /* of the row that is read; 0: not known */
};

/* Have as many jobs been read as were asked for? */
static inline bool gang__trace_full(const struct gang__trace_reader *r)
{
    return r->opts.max_jobs && r->trace->count >= (size_t)r->opts.max_jobs;
}

/* What a row came to: GANG_OK to go on. One that is passed over is counted. */
gang_result gang__trace_accept(struct gang__trace_reader *r, gang_result result, size_t rows);

gang_result gang__trace_read_csv(struct gang__trace_reader *r);
gang_result gang__trace_read_jsonl(struct gang__trace_reader *r);
gang_result gang__trace_read_swf(struct gang__trace_reader *r);
gang_result gang__trace_read_procs(struct gang__trace_reader *r);
gang_result gang__trace_read_philly(struct gang__trace_reader *r);
gang_result gang__trace_read_philly_log(struct gang__trace_reader *r);
gang_result gang__trace_read_helios(struct gang__trace_reader *r);
gang_result gang__trace_read_pai(struct gang__trace_reader *r);
gang_result gang__trace_read_openb(struct gang__trace_reader *r);
gang_result gang__trace_read_batsim(struct gang__trace_reader *r);
gang_result gang__trace_read_tiresias(struct gang__trace_reader *r);

/* A gang of `gpus` GPUs, cut into tasks of opts.gpus_per_task; `cpu_milli` of the gang is divided
 * by GPUs. Makes one or two groups. */
gang_result gang__trace_cut(struct gang__trace_reader *r, int64_t gpus, int64_t cpu_milli,
                            struct gang__trace_group groups[2], size_t *count);

/* Devices of a task, and thousandths of each (-1: unknown). False: devices of which 0 thousandths
 * are requested. */
bool gang__trace_devices(int64_t gpus, int64_t gpu_milli, struct gang__trace_group *group);

/* Thousandths of devices of a task: whole devices, or a share below 1000 of each of `devices` (-1:
 * not given). NULL, or what is wrong. */
const char *gang__trace_gpu(int64_t milli, int64_t devices, struct gang__trace_group *group);

/* GANG_END_* as our own formats write it. */
extern const char *const gang__trace_ends[9];
#define GANG__TRACE_ABOVE_MIN "above-min"

/* ---- writing ---- */

/* Collects output in pieces of some length. */
struct gang__trace_sink {
    gang_write_fn write;
    void *user;
    bool refused;
    size_t used;
    char text[8192];
};

void gang__sink_write(struct gang__trace_sink *sink, const char *text, size_t length);
void gang__sink_text(struct gang__trace_sink *sink, const char *text);

gang_result gang__trace_write_swf(gang_trace *t, struct gang__trace_sink *sink,
                                  struct gang_error *error);
gang_result gang__trace_write_batsim(gang_trace *t, struct gang__trace_sink *sink,
                                     struct gang_error *error);
/* Is the job processors of one core that all start together, with neither priority nor rules of
 * its own? Else GANG_ENOTSUP with the path. */
gang_result gang__trace_is_flat(const gang_trace *t, size_t index, struct gang_error *error);
/* A job that the format cannot express: GANG_ENOTSUP. */
gang_result gang__trace_cannot(size_t index, const char *member, const char *why,
                               struct gang_error *error);
/* A text in quotes, as JSON has it. */
void gang__sink_quoted(struct gang__trace_sink *sink, const char *text);
void gang__sink_number(struct gang__trace_sink *sink, int64_t value, int64_t scale);

#endif
