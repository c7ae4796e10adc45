/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the policies, for text in and out; place/search/policy.h says what each does. */
#ifndef GANG__MODEL_POLICY_WORDS_H
#define GANG__MODEL_POLICY_WORDS_H

#include <gangsched/model.h>

extern const char *const gang__policy_words[GANG_POLICY_HOST + 1]; /* by GANG_POLICY_* */

#endif
