/* SPDX-License-Identifier: Apache-2.0 */
#include "base/atomic.h"

#ifdef GANG_TEST_HOOKS
_Atomic(gang__hook_fn) gang__hook_now; /* none */
#else
typedef int gang__no_hooks_in_this_build;
#endif
