/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on the labels of a node: single ones (struct gang_label_rule) and expressions of them
 * (gang_group_spec.where). By value: nothing here knows a cluster. */
#ifndef GANG__MODEL_LABEL_EXPR_H
#define GANG__MODEL_LABEL_EXPR_H

#include <gangsched/model.h>

#include <stdbool.h>

#include "base/two_pass_block.h"

/* The labels of a node, and its name. */
struct gang__labels {
    const char *name; /* the value of the key "node" */
    const struct gang_label *list;
    size_t count;
};

/* One condition, checked. */
struct gang__rule {
    const char *key;
    const char *const *values;
    size_t value_count;
    int32_t op; /* GANG_LABEL_* */
};

/* An expression, operators behind their operands: a step >= 0 is the truth of that rule. */
enum { GANG__EXPR_AND = -1, GANG__EXPR_OR = -2, GANG__EXPR_NOT = -3 };
struct gang__label_expr {
    const struct gang__rule *rules;
    const int32_t *steps;
    size_t step_count; /* 0: no expression, which is true */
};

/* Is it a number for the comparing rules: "-12.5", any length? */
bool gang__is_decimal(const char *text);
/* Below 0: a < b; 0: equal; above 0: a > b. Both are such numbers. Exact, whatever their length. */
int gang__decimal_order(const char *a, const char *b);

bool gang__rule_holds(const struct gang__rule *rule, const struct gang__labels *on);
bool gang__label_expr_holds(const struct gang__label_expr *expr, const struct gang__labels *on);

/* Compiles an expression into the block. While measuring (no base), *expr has only the counts.
 * GANG_EPARSE, GANG_EINVAL (text that is no label), GANG_ELIMIT; the error has the column, and no
 * path. O(length of the text). */
gang_result gang__label_expr_compile(const char *text, struct gang__block *block,
                                     struct gang__label_expr *expr, struct gang_error *error);

#endif
