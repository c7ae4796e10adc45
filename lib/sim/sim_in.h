/* SPDX-License-Identifier: Apache-2.0 */
/* The simulation inside; README.md says what each file does.
 *
 * The callbacks of the scheduler change the rows of jobs at once and allocate nothing. What needs
 * memory (events, placements) is updated after the run, job by job, in gang__sim_settle(). If
 * memory is short there, the job stays listed, and nothing is lost. */
#ifndef GANG__SIM_SIM_IN_H
#define GANG__SIM_SIM_IN_H

#include <gangsched/gangsched.h>
#include <gangsched/sim.h>

#include <stdbool.h>

#include "base/hash_table.h"
#include "base/mem.h"

enum gang__sim_event_class {
    GANG__SIM_END,       /* of a job's work */
    GANG__SIM_STOPPED,   /* it was asked to stop, and has */
    GANG__SIM_TASK_FAIL, /* of a job */
    GANG__SIM_NODE_FAIL,
    GANG__SIM_NODE_REPAIR,
    GANG__SIM_NODE_SET
};

/* One that is to come. Those of jobs count as long as the job's epoch is the same. */
struct gang__sim_entry {
    int64_t at_ns;
    uint64_t key; /* order in the same instant, within a class */
    uint32_t class;
    uint32_t epoch;  /* of a job; GANG__SIM_NODE_SET: the state */
    uint64_t target; /* index of a node; of a job, and above 32 bits of its gang */
};

enum { GANG__SIM_TO_COME, GANG__SIM_KNOWN, GANG__SIM_OVER };

/* Tasks of a running job on a node. */
struct gang__sim_placement {
    uint32_t node; /* index */
    uint32_t row;  /* of the allocations, + 1; 0: none */
    int64_t gang;
    int64_t tasks, cpu_milli, memory_bytes, gpu_milli;
    uint64_t gpus;
};

struct gang__sim_placements {
    struct gang__sim_placement *list;
    uint32_t count, cap;
};

/* How far work is, as of since_ns of its job. */
struct gang__sim_work {
    int64_t left_ns;    /* at full speed */
    int64_t ahead_ns;   /* of a restart, before the work goes on */
    int64_t unsaved_ns; /* work since the last checkpoint */
    int64_t lost_ns;
    int32_t speed_ppm;
    bool works;   /* it runs, and is not asked to stop */
    bool unsaved; /* it goes back to its checkpoint */
};

struct gang__sim_job {
    gang_job_id id;
    uint32_t index; /* of the job; of a free row: the next one, + 1 */
    int32_t queue, user;
    int64_t submit_ns, start_ns, end_ns, run_ns, limit_ns;
    int64_t tasks, cpu_milli, memory_bytes, gpu_milli;
    /* While it runs: what follows is as of since_ns. */
    int64_t since_ns;
    struct gang__sim_work work;
    struct gang__sim_stages *stages; /* its gangs, one after the other; NULL: it is one gang */
    int64_t done_ns;                 /* when its work ended: the scheduler hears of it later */
    int64_t ran_ns, wait_ns, suspended_ns;
    int64_t priority;   /* sent to the scheduler last */
    int64_t held_tasks; /* tasks it has */
    uint64_t began;     /* number of its start, or of when it began to wait */
    struct gang__sim_placements at;
    uint32_t touched; /* index + 1 of the next one that is to be settled; itself: the last */
    uint32_t hit;     /* index + 1 of the next one to settle after the run; itself: the last */
    uint32_t active;  /* position in gang_sim.active, + 1 */
    uint32_t epoch;
    uint32_t starts, preemptions, failures;
    uint32_t users_at_submit; /* at work when it came */
    uint8_t stage;            /* GANG__SIM_TO_COME... */
    uint8_t state;            /* GANG_JOB_* */
    uint8_t end;              /* GANG_END_* */
    bool held;                /* by the policy */
    bool fails;               /* its work ended badly, as its trace says */
};

/* One gang of a job of several gangs. */
struct gang__sim_gang {
    struct gang__sim_work work;
    gang_alloc_id alloc; /* that it works with; GANG_ID_NONE: it does not */
    int64_t run_ns;
    int64_t tasks, cpu_milli, gpu_milli; /* of all its tasks */
    int64_t held_tasks;                  /* tasks it has */
    int64_t ran_ns;
    int64_t stopped_ns; /* it was asked to stop, and has then; INT64_MAX: it was not */
    int64_t begins_ns;  /* scratch of paths */
    bool begun;
    bool out;     /* suspended between its time slices */
    bool over;    /* its work is done */
    bool decides; /* with all of these the job is over */
};

/* Parts that wait, those they wait for before them. */
struct gang__sim_wait {
    uint32_t gang, after;
    int32_t when; /* GANG_AFTER_* */
};

/* The gangs of such a job. gang__sim_job.work then sums them up: what is left on the longest path,
 * whether one works, what all lost. */
struct gang__sim_stages {
    struct gang__sim_gang *gang; /* in the same block */
    struct gang__sim_wait *wait;
    uint32_t gangs, waits;
};

/* Where jobs come from: a trace, or gang_sim_submit(). */
struct gang__sim_source {
    gang_trace *trace; /* NULL: submitted, and: */
    char *name;        /* of the one job */
    size_t first;      /* its first job */
};

/* Kept for each job, also before and after it has a row. */
struct gang__sim_brief {
    int64_t submit_ns;
    int32_t queue, user;
    uint32_t source; /* of gang_sim.source */
    uint32_t slot;   /* of its row, + 1; 0: it has not come; or: */
};

#define GANG__SIM_ROW_FREED UINT32_MAX /* it was written away */

/* The outcome of a job for statistics; kept after its row is freed. */
struct gang__sim_result {
    int64_t start_ns, end_ns, run_ns, wait_ns;
    double used_s, lost_s; /* GPU-seconds (of a job without: core-seconds) */
    int64_t demand;
    uint32_t users_at_submit, preemptions, failures;
    uint8_t stage, end;
    bool gpus;
};

enum { GANG__SIM_TABLES = GANG_SIM_BATSIM_CSV + 1 };
struct gang__sim_stream;

/* A word that jobs have in common: a queue, a user, a model. */
struct gang__sim_word {
    struct gang__hash_link link;
    int32_t number;
    char text[];
};

struct gang__sim_words {
    struct gang__hash_table table;
    struct gang__sim_word **list;
    size_t cap;
};

struct gang__sim_node {
    struct gang__hash_link link;
    gang_node_id id;
    int64_t cpu_milli, memory_bytes, gpu_milli;
    int64_t gpu_used;
    int32_t model;     /* of gang_sim.models; -1: no GPU */
    uint32_t failures; /* draws taken */
    bool up, seen;
    uint64_t
        /* the runs of the cycle when it was lost, + 1: the scheduler hears of it in the next one */
        lost_in;
};

/* Amounts times time, in double: exact for all that matters, and it does not overflow. */
struct gang__sim_area {
    double cpu, memory, gpu;             /* used */
    double cpu_all, memory_all, gpu_all; /* that were up */
    double stray, free;                  /* GPUs free beside taken ones, and all free ones */
};

/* Usage of a queue, or of the GPUs of a model: now, and times time until until_ns. */
struct gang__sim_share {
    int64_t until_ns;
    int64_t cpu_milli, gpu_milli, all_milli; /* used; that are up */
    double cpu, gpu, all;
};

/* sim_fork.c copies each pointer of this struct. */
struct gang_sim {
    struct gang_mem mem;
    gang_cluster *cluster;
    gang_worker *worker;
    gang_sched *sched;
    struct gang_sim_opts opts;
    struct gang_sim_ops ops;
    void *user;
    bool running;
    int32_t stop; /* what a callback returned */
    int32_t why;  /* why the last run returned: GANG_SIM_DONE ... */

    int64_t now_ns, used_until_ns;
    int64_t first_submit_ns, last_submit_ns, last_end_ns;
    int64_t events, runs;
    bool began, dirty; /* something happened that a run is to see */
    bool decided;      /* the policy was asked: last at this time */
    int64_t decided_ns;
    bool unsettled;    /* memory was short after a run */
    int64_t decide_ns; /* when scores change by themselves; INT64_MAX: they do not */

    struct gang__sim_job *job; /* rows; that of a job: gang__sim_at() */
    size_t rows, job_cap;
    size_t row_cap;    /* number of rows for which all lists have memory */
    uint32_t free_row; /* + 1; the first of those that were given back */
    struct gang__sim_brief *brief;
    size_t jobs, brief_cap;
    uint32_t touched; /* index + 1 of the first to be settled */
    uint32_t hit;     /* + 1; the first job to settle after the next run */
    uint32_t *active; /* jobs that wait or run: sim_active.c */
    size_t actives, active_cap;
    int64_t pending, runs_now, suspended, over;
    uint64_t begun;
    struct gang__sim_source *source;
    size_t sources, source_cap;
    struct gang__sim_words queues, users, models;
    int64_t *user_jobs; /* that wait or run */
    size_t user_cap;
    uint32_t users_at_work;
    int32_t default_queue; /* -1: none */

    /* Those to come, by time: order[arrival...] */
    uint32_t *order;
    size_t orders, order_cap, arrival;

    struct gang__sim_entry *heap;
    size_t heaped, heap_cap;
    size_t live; /* entries that something may wait for: not failures of nodes */

    struct gang__sim_node *node;
    size_t nodes, node_cap;
    struct gang__hash_table node_by_id;

    int64_t cpu_used, memory_used, gpu_used;
    int64_t cpu_all, memory_all, gpu_all, nodes_up, gpu_stray;
    struct gang__sim_area area, at_last_end;
    struct gang__sim_share *by_queue, *by_model;
    size_t queue_cap, model_cap;
    struct gang__sim_area *at_submit; /* of each job: when it came */
    size_t submit_cap;

    struct gang_sim_allocation *allocation;
    size_t allocations, allocation_cap;
    struct gang_sim_sample *sample;
    size_t samples, sample_cap;
    struct gang__sim_stream *stream[GANG__SIM_TABLES]; /* NULL: the table is kept */
    bool streams;                                      /* some is not */
    bool streamed_allocations, streamed_samples;       /* some rows are gone */
    size_t stopped;                                    /* rows of jobs that are */
    struct gang__sim_result *result;                   /* by job, where rows are given back */
    size_t result_cap;
    uint32_t *ended; /* jobs that are to be written; has memory for all rows */
    size_t ends, ended_cap;
    struct gang_sim_allocation *closed; /* rows that are to be written */
    size_t closes, closed_cap;
    uint32_t *open; /* rows of allocations that are free */
    size_t opens, open_cap;
    struct gang__sim_placements scratch;

    int64_t *view;      /* columns for a policy, */
    size_t viewed;      /* number of jobs that stood in them last, */
    bool *unchanged;    /* rows that have not changed since */
    size_t closed_rows; /* that were taken out since */
    double *score;      /* of the jobs in it; behind all of these: as which they were told last */
    uint32_t *by_score;
    size_t view_cap;
};

/* ---- sim_jobs.c ---- */

/* Number of a word, new or not; -1: out of memory. */
int32_t gang__sim_word(gang_sim *sim, struct gang__sim_words *words, const char *text);
int32_t gang__sim_word_find(const struct gang__sim_words *words, const char *text);
void gang__sim_words_free(const gang_sim *sim, struct gang__sim_words *words);
/* Submits a job of a trace at its time. */
gang_result gang__sim_arrive(gang_sim *sim, size_t index);
/* Fills a blank row from a job of a trace. */
void gang__sim_row_fill(const gang_sim *sim, struct gang__sim_job *j,
                        const struct gang_trace_job *t);

enum { GANG__SIM_MAX_JOBS = INT32_MAX };
/* Number of a user, new or not; -1: out of memory. */
int32_t gang__sim_user(gang_sim *sim, const char *name);
/* Adds what all tasks of a request need to the amounts of a row. */
void gang__sim_add_amounts(struct gang__sim_job *j, const struct gang_request_spec *request);
/* The scheduler has the job: its row gets the id, and op event is called. */
void gang__sim_accept(gang_sim *sim, size_t index, gang_job_id id);

/* ---- sim_rows.c ---- */

/* The row of a job that has come, and is not gone. */
static inline struct gang__sim_job *gang__sim_at(const gang_sim *sim, size_t index)
{
    return &sim->job[sim->brief[index].slot - 1];
}
bool gang__sim_reserve_jobs(gang_sim *sim, size_t more);
/* For one more. False: out of memory. */
bool gang__sim_grow_rows(gang_sim *sim);
static inline bool gang__sim_reserve_row(gang_sim *sim)
{
    return sim->free_row || sim->rows < sim->row_cap || gang__sim_grow_rows(sim);
}
struct gang__sim_job gang__sim_blank(const gang_sim *sim, size_t index);
struct gang__sim_job *gang__sim_row_new(gang_sim *sim, const struct gang__sim_job *from);
/* `slot`: what its brief has then. */
void gang__sim_row_free(gang_sim *sim, struct gang__sim_job *j, uint32_t slot);
/* A copy of its row, also of one that is to come. GANG_ESTALE: it is gone. */
gang_result gang__sim_row_of(const gang_sim *sim, size_t index, struct gang__sim_job *j);
/* As if its time had been counted up to now. */
void gang__sim_count_now(const gang_sim *sim, struct gang__sim_job *j);
const char *gang__sim_name(const gang_sim *sim, size_t index, char number[24]);
/* Where a job comes from, and its position there. */
static inline const struct gang__sim_source *gang__sim_source(const gang_sim *sim, size_t index,
                                                              size_t *row)
{
    const struct gang__sim_source *s = &sim->source[sim->brief[index].source];
    *row = index - s->first;
    return s;
}
struct gang__sim_result gang__sim_result_of(const struct gang__sim_job *j);
/* False: it is to come. */
bool gang__sim_result_find(const gang_sim *sim, size_t index, struct gang__sim_result *p);

/* ---- sim_stream.c ---- */

bool gang__sim_streams_jobs(const gang_sim *sim);
bool gang__sim_streams_allocations(const gang_sim *sim);
/* Writes complete rows in blocks; `all`: also a last, shorter block. */
gang_result gang__sim_stream_out(gang_sim *sim, bool all);
void gang__sim_streams_free(gang_sim *sim);

/* What all tasks of a group take. */
struct gang__sim_amounts {
    int64_t tasks, cpu_milli, memory_bytes, gpu_milli;
};
struct gang__sim_amounts gang__sim_group_takes(const struct gang_request_spec *request,
                                               size_t group);

/* ---- sim_events.c ---- */

bool gang__sim_event_add(gang_sim *sim, struct gang__sim_entry e);
struct gang__sim_entry gang__sim_event_pop(gang_sim *sim);
/* When the first that counts is; INT64_MAX: there is none. Those that do not count any more go. */
int64_t gang__sim_event_time(gang_sim *sim);

/* ---- sim_host.c ---- */

/* The callbacks. Those of reservations are set only if the host of the simulation listens: their
 * texts are gathered from all jobs. */
struct gang_host_ops gang__sim_host_ops(const gang_sim *sim);
/* One more has ended, or was refused. */
void gang__sim_count_over(gang_sim *sim, const struct gang__sim_job *j);
/* Reports an event of one gang of a job; gang 0 if it concerns the job. */
void gang__sim_report_gang(gang_sim *sim, int32_t what, size_t index, uint32_t gang, int32_t reason,
                           const char *text);
void gang__sim_report(gang_sim *sim, int32_t what, size_t index, gang_node_id node, int32_t reason,
                      const char *text);

/* ---- sim_run.c ---- */

/* The clock; before it has begun, where it will begin. */
int64_t gang__sim_now(const gang_sim *sim);
/* From now on it goes forward alone: with the first run, or the first job that is submitted. */
void gang__sim_start_clock(gang_sim *sim);
/* To the next tick; 0: there are none. */
int64_t gang__sim_round_up(int64_t at_ns, int64_t tick_ns);

/* ---- sim_work.c ---- */

/* The time since since_ns, if it counts for something; and what it counts for. */
int64_t gang__sim_since(const gang_sim *sim, const struct gang__sim_job *j);
void gang__sim_count_time(struct gang__sim_job *j, int64_t ns);

/* Its work up to now. */
void gang__sim_progress(gang_sim *sim, struct gang__sim_job *j);
/* It begins to run, goes on, stops (saved or not), or waits again. */
void gang__sim_begin(gang_sim *sim, struct gang__sim_job *j);
void gang__sim_halt(struct gang__sim_work *w);
void gang__sim_preempted(gang_sim *sim, struct gang__sim_job *j);
void gang__sim_rewind(struct gang__sim_work *w);
void gang__sim_touch(gang_sim *sim, size_t index);
/* How long it worked. */
void gang__sim_work(const gang_sim *sim, struct gang__sim_work *w, int64_t ns);
/* What a restart adds to the work left of a job with that many GPUs. */
int64_t gang__sim_restart(const gang_sim *sim, size_t index, int64_t gpu_milli);
/* Its speed with `has` of `tasks`, and when its work then ends. */
int32_t gang__sim_speed(const gang_sim *sim, size_t index, int64_t held_tasks, int64_t tasks);
int64_t gang__sim_end(const gang_sim *sim, const struct gang__sim_work *w);
/* An event of a job; INT64_MAX: it does not come. False: out of memory. */
bool gang__sim_expect(gang_sim *sim, size_t index, uint32_t gang, uint32_t class, int64_t at_ns);
/* Events and places of those that were touched. */
gang_result gang__sim_settle(gang_sim *sim);

/* ---- sim_stages_make.c ---- */

/* How long groups run: of[i * step] the i-th. */
struct gang__sim_runs {
    const int64_t *of;
    size_t step;
};
/* The gangs of a job with their run times; NULL: out of memory. gang__release() frees them. The
 * caller has checked the groups. */
struct gang__sim_stages *gang__sim_stages_new(const gang_sim *sim, const struct gang_job_spec *spec,
                                              const struct gang__sim_runs *runs);
/* A copy, by another's allocator; NULL: out of memory. */
struct gang__sim_stages *gang__sim_stages_copy(const struct gang__sim_stages *from,
                                               const struct gang_mem *mem);
/* ---- sim_stages.c ---- */

/* Updates the row of the job from its gangs. */
void gang__sim_stages_sum(struct gang__sim_job *j);
/* How long they worked, or stopped. */
void gang__sim_stages_work(const gang_sim *sim, struct gang__sim_job *j, int64_t ns);
/* A gang starts or stops; the state of the job changes. */
void gang__sim_gang_starts(gang_sim *sim, size_t index, const struct gang_event *e);
bool gang__sim_gang_stops(gang_sim *sim, size_t index, const struct gang_event *e);
/* Its time slice is over, or (out: false) begins. */
void gang__sim_gang_turns(gang_sim *sim, size_t index, const struct gang_event *e, bool out);
void gang__sim_stages_state(gang_sim *sim, struct gang__sim_job *j, const struct gang_event *e,
                            int32_t was);
/* A gang's work has ended; a gang that was asked to stop has stopped. */
gang_result gang__sim_gang_ends(gang_sim *sim, size_t index, uint32_t gang);
gang_result gang__sim_gang_stopped(gang_sim *sim, size_t index, uint32_t gang);
/* The gangs with tasks on the node lose the work that is not saved. False: none has tasks there. */
bool gang__sim_stages_lose(gang_sim *sim, struct gang__sim_job *j, gang_node_id node);
/* It is settled again after the next run of the cycle. */
void gang__sim_touch_later(gang_sim *sim, size_t index);
void gang__sim_touch_hit(gang_sim *sim);
gang_result gang__sim_stages_settle(gang_sim *sim, size_t index);
/* milli-GPUs, or cores, of the gangs that run or may start. */
int64_t gang__sim_stages_demand(const struct gang__sim_stages *st, bool gpus);
/* GPU-time (or core-time) of all gangs so far in thousandths of ns, and how much the working gangs
 * add in a ns. */
int64_t gang__sim_stages_served(const struct gang__sim_stages *st, bool gpus, int64_t *rate);

/* The most GPUs (without GPUs: cores) that the job needs at a time: of all tasks, or of its largest
 * gang; and the GPU-seconds that it used and lost. */
int64_t gang__sim_demand(const struct gang__sim_job *j);
void gang__sim_served(const struct gang__sim_job *j, double *used_s, double *lost_s);

/* ---- sim_usage.c ---- */

gang_result gang__sim_nodes(gang_sim *sim); /* as the cluster has them now */
int64_t gang__sim_node_index(const gang_sim *sim, gang_node_id id); /* -1: not known */
void gang__sim_node_state(gang_sim *sim, size_t node, bool up);
bool gang__sim_lies_on(const struct gang__sim_job *j, size_t node);
/* Sums usage up to now_ns. Called before each change and only then, so that sums do not depend on
 * where a run was cut. */
void gang__sim_spend(gang_sim *sim);
struct gang__sim_area gang__sim_area(const gang_sim *sim);
/* Where a job is, from now on, gang by gang: of a gang the number of its tasks on nodes that are up
 * is returned in `tasks`. `alloc` GANG_ID_NONE: it is nowhere. */
void gang__sim_gather_begin(gang_sim *sim);
gang_result gang__sim_gather(gang_sim *sim, uint32_t gang, gang_alloc_id alloc, int64_t *tasks);
gang_result gang__sim_gather_end(gang_sim *sim, size_t index);
gang_result gang__sim_sample(gang_sim *sim);
/* Rows that are open stay, in their order. */
void gang__sim_drop_allocations(gang_sim *sim);
/* Stores the usage until this job arrived; gang__sim_reserve_jobs() has made the row. */
void gang__sim_note_submit(gang_sim *sim, size_t index);

/* ---- sim_fail.c ---- */

gang_result gang__sim_fail_begin(gang_sim *sim);
gang_result gang__sim_node_event(gang_sim *sim, const struct gang__sim_entry *e);
gang_result gang__sim_task_fails(gang_sim *sim, size_t index, uint32_t gang);
/* When one of its `has` tasks fails, from now; INT64_MAX: none does. */
int64_t gang__sim_task_failure(gang_sim *sim, size_t index, uint32_t gang, int64_t held_tasks);

/* ---- sim_active.c ---- */

void gang__sim_activate(gang_sim *sim, size_t index);
void gang__sim_deactivate(gang_sim *sim, size_t index);
/* Something of a job has changed, or will. */
void gang__sim_view_changed(gang_sim *sim, size_t index);
/* What a policy sees. False: out of memory. */
bool gang__sim_view_fill(gang_sim *sim, struct gang_sim_view *v);

/* ---- sim_policy.c ---- */

/* Do scores order or select the jobs? */
bool gang__sim_has_scores(const gang_sim *sim);

int64_t gang__sim_first_priority(const gang_sim *sim, const struct gang__sim_job *j,
                                 int64_t priority);
bool gang__sim_selects(const gang_sim *sim);
gang_result gang__sim_decide(gang_sim *sim);
/* It runs from now on: when does its score change by itself? */
void gang__sim_watch(gang_sim *sim, const struct gang__sim_job *j);

/* ---- sim_place.c ---- */

/* Where a job of a trace may go, GANG_SIM_PLACE_*. */
/* What gang_sim_opts.place and op place say of a job, before it is submitted. */
void gang__sim_place_trace_job(gang_sim *sim, size_t index, int64_t run_ns,
                               struct gang_job_spec *job);
/* Op place: its result; 0: there is none. */
int32_t gang__sim_place(gang_sim *sim, size_t index, int64_t run_ns, struct gang_job_spec *job);

#endif
