/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario/words_in.h"

#include "model/specs.h"

static const char *const scope_list[] = {"node", "cluster"};
const struct gang__word_list gang__scope_words = GANG__WORD_LIST(scope_list, GANG_SCOPE_NODE);

static const char *const link_list[] = {"nvlink", "xgmi", "other"};
const struct gang__word_list gang__link_words = GANG__WORD_LIST(link_list, GANG_LINK_NVLINK);

static const char *const state_list[] = {"up", "draining", "down"};
const struct gang__word_list gang__state_words = GANG__WORD_LIST(state_list, GANG_NODE_UP);

static const char *const op_list[] = {"in", "not_in", "exists", "not_exists",
                                      "lt", "le",     "gt",     "ge"};
const struct gang__word_list gang__op_words = GANG__WORD_LIST(op_list, GANG_LABEL_IN);

static const char *const numa_list[] = {"prefer", "none", "strict"};
const struct gang__word_list gang__numa_words = GANG__WORD_LIST(numa_list, GANG_NUMA_PREFER);

static const char *const scarce_list[] = {"avoid", "allow", "exclude"};
const struct gang__word_list gang__gpu_nodes_words =
    GANG__WORD_LIST(scarce_list, GANG_GPU_NODES_AVOID);

static const char *const mode_list[] = {"shared", "exclusive", "lending"};
const struct gang__word_list gang__mode_words = GANG__WORD_LIST(mode_list, GANG_PARTITION_SHARED);

static const char *const when_list[] = {"start", "end", "success"};
const struct gang__word_list gang__when_words = GANG__WORD_LIST(when_list, GANG_AFTER_START);

static const char *const role_list[] = {"member", "chief", "critical", "untracked", "sidecar"};
const struct gang__word_list gang__role_words = GANG__WORD_LIST(role_list, GANG_ROLE_MEMBER);

static const char *const match_list[] = {"all", "user", "group", "name", "label"};
const struct gang__word_list gang__match_words = GANG__WORD_LIST(match_list, GANG_MATCH_ALL);

static const char *const fallback_list[] = {"skip", "reject", "default"};
const struct gang__word_list gang__fallback_words =
    GANG__WORD_LIST(fallback_list, GANG_FALLBACK_SKIP);

/* A scenario has no function for GANG_POLICY_HOST, which comes last. */
const struct gang__word_list gang__place_policy_words = {gang__policy_words, GANG_POLICY_HOST,
                                                         GANG_POLICY_DEFAULT};

const char *const gang__within_words[4] = {"never", "lower", "lower-or-newer", "user-limit"};
const int32_t gang__within_numbers[4] = {GANG_PREEMPT_NEVER, GANG_PREEMPT_LOWER,
                                         GANG_PREEMPT_LOWER_OR_NEWER, GANG_PREEMPT_USER_LIMIT};

const char *const gang__reclaim_words[3] = {"never", "lower", "any"};
const int32_t gang__reclaim_numbers[3] = {GANG_PREEMPT_NEVER, GANG_PREEMPT_LOWER, GANG_PREEMPT_ANY};
