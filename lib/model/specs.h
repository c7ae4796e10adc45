/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of the folder: nodes, label expressions and names of policies by value. */
#ifndef GANG__SPECS_H
#define GANG__SPECS_H

#include "model/label_expr.h"
#include "model/node_spec.h"
#include "model/policy_words.h"
#include "model/spec_array.h"

#endif
