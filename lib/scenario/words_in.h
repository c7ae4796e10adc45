/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the format that stand for constants of the public headers. */
#ifndef GANG__SCENARIO_WORDS_IN_H
#define GANG__SCENARIO_WORDS_IN_H

#include <stddef.h>

#include <gangsched/scenario.h>

/* The word of the constant `number` is list[number - first]. */
struct gang__word_list {
    const char *const *list;
    size_t count;
    int32_t first;
};
/* Of an array of words. */
#define GANG__WORD_LIST(list, first)                    \
    {                                                   \
        list, sizeof(list) / sizeof((list)[0]), (first) \
    }

extern const struct gang__word_list gang__scope_words;        /* GANG_SCOPE_NODE ... */
extern const struct gang__word_list gang__link_words;         /* GANG_LINK_NVLINK ... */
extern const struct gang__word_list gang__state_words;        /* GANG_NODE_UP ... */
extern const struct gang__word_list gang__op_words;           /* GANG_LABEL_IN ... */
extern const struct gang__word_list gang__numa_words;         /* GANG_NUMA_PREFER ... */
extern const struct gang__word_list gang__gpu_nodes_words;    /* GANG_GPU_NODES_AVOID ... */
extern const struct gang__word_list gang__mode_words;         /* GANG_PARTITION_SHARED ... */
extern const struct gang__word_list gang__when_words;         /* GANG_AFTER_START ... */
extern const struct gang__word_list gang__role_words;         /* GANG_ROLE_MEMBER ... */
extern const struct gang__word_list gang__match_words;        /* GANG_MATCH_ALL ... */
extern const struct gang__word_list gang__fallback_words;     /* GANG_FALLBACK_SKIP ... */
extern const struct gang__word_list gang__place_policy_words; /* GANG_POLICY_DEFAULT ... */

/* The constants of `within` and `reclaim` are not consecutive: word i stands for
 * gang__within_numbers[i], gang__reclaim_numbers[i]. */
extern const char *const gang__within_words[4];
extern const int32_t gang__within_numbers[4];
extern const char *const gang__reclaim_words[3];
extern const int32_t gang__reclaim_numbers[3];

/* The kind that `max_tasks` stands for. */
#define GANG__TASKS "tasks"
/* A value of `preemptible`, besides true and false. */
#define GANG__ABOVE_MIN "above-min"
/* The level that a `cells` entry may name besides those of the case. */
#define GANG__NODE_LEVEL "node"

#define GANG__MIB ((int64_t)1048576)
#define GANG__COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
