/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rcu.h"

#include <urcu-bp.h>

/* liburcu is not instrumented: tell ThreadSanitizer what its grace periods order. */
#if defined(__SANITIZE_THREAD__)
#define GANG__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GANG__TSAN 1
#endif
#endif

#ifdef GANG__TSAN
#include <sanitizer/tsan_interface.h>
static char grace_period;
#endif

void gang__rcu_enter(void)
{
    urcu_bp_read_lock();
}

void gang__rcu_leave(void)
{
#ifdef GANG__TSAN
    __tsan_release(&grace_period);
#endif
    urcu_bp_read_unlock();
}

void gang__rcu_wait(void)
{
    urcu_bp_synchronize_rcu();
#ifdef GANG__TSAN
    __tsan_acquire(&grace_period);
#endif
}
