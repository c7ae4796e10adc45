/* SPDX-License-Identifier: Apache-2.0 */
/* Words and numbers of explanations. */
#include <inttypes.h>
#include <stdio.h>

#include "sched/explain/explain_in.h"

const char *gang__wait_category_word(int32_t category)
{
    static const char *const word[] = {"not now", "never", "held", "policy"};
    return word[category];
}

const char *gang__wait_reason_word(int32_t reason)
{
    static const char *const word[] = {
        "",      "capacity",    "limit",     "guarantee", "user-limit", "max-running",
        "hold",  "after",       "queue",     "behind",    "back-off",   "victims",
        "cells", "lending",     "not-tried", "planned",   "begin",      "starved",
        "slice", "reservation", "prefer",    "array",     "announced",  "budget"};
    return word[reason];
}

const char *gang__job_state_word(int32_t state)
{
    static const char *const word[] = {"pending", "running", "stopping", "suspended", "ended"};
    return word[state];
}

/* A number of thousandths, without trailing zeros. */
struct gang__amount_text gang__text_milli(int64_t amount, const char *unit)
{
    struct gang__amount_text w;
    int n = snprintf(w.s, sizeof(w.s), "%" PRId64, amount / 1000);
    if (amount % 1000) {
        n += snprintf(w.s + n, sizeof(w.s) - (size_t)n, ".%03d", (int)(amount % 1000));
        while (w.s[n - 1] == '0')
            w.s[--n] = 0;
    }
    snprintf(w.s + n, sizeof(w.s) - (size_t)n, "%s%s", *unit ? " " : "", unit);
    return w;
}

struct gang__amount_text gang__text_number(int32_t kind, int64_t amount)
{
    const int64_t gib = INT64_C(1) << 30;
    struct gang__amount_text w;
    if (kind == GANG_KIND_CPU || kind == GANG_KIND_GPU)
        return gang__text_milli(amount, "");
    if (kind == GANG_KIND_MEMORY && amount > 0 && amount < gib)
        return gang__text_milli((amount >> 10) * 1000 >> 10, "MiB");
    if (kind == GANG_KIND_MEMORY)
        return gang__text_milli((amount >> 20) * 1000 >> 10, "GiB");
    snprintf(w.s, sizeof(w.s), "%" PRId64, amount);
    return w;
}

bool gang__text_is_one(int32_t kind, int64_t amount)
{
    return kind != GANG_KIND_MEMORY &&
           amount == (kind == GANG_KIND_CPU || kind == GANG_KIND_GPU ? 1000 : 1);
}

/* "8 GPUs", "0.5 cores", "12 GiB of memory", "3 licences" */
void gang__text_amount(const gang_sched *s, int32_t kind, int64_t amount, char *text, size_t cap)
{
    const char *noun = kind == GANG_KIND_CPU      ? amount == 1000 ? "core" : "cores"
                       : kind == GANG_KIND_GPU    ? amount == 1000 ? "GPU" : "GPUs"
                       : kind == GANG_KIND_MEMORY ? "of memory"
                                                  : s->cluster->nodes.kind[kind].name;
    snprintf(text, cap, "%s %s", gang__text_number(kind, amount).s, noun);
}
