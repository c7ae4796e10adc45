/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy_words.h"

const char *const gang__policy_words[GANG_POLICY_HOST + 1] = {
    "default",  "pack",        "spread",      "first",          "topology", "fgd",
    "best-fit", "dot-product", "gpu-packing", "gpu-clustering", "headroom", "host"};
