/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rcu.h"

#include <pthread.h>
#include <urcu-bp.h>

/* liburcu is not instrumented: these marks show ThreadSanitizer what its grace periods order. */
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
    /* liburcu waits in poll() with its mutex held; a thread cancelled there would never unlock
     * it. */
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    urcu_bp_synchronize_rcu();
    pthread_setcancelstate(cancel_state, &cancel_state);
#ifdef GANG__TSAN
    __tsan_acquire(&grace_period);
#endif
}

/* liburcu's mutexes are not recursive, and one set of them serves the whole process. So a thread
 * that made liburcu ready counts as inside a read section: this is how a second copy of this
 * library, or a host that did the same itself, is recognized. A thread inside any other read
 * section could deadlock: with a thread that waits for the end of that very section. */
bool gang__rcu_before_fork(void)
{
    if (urcu_bp_read_ongoing())
        return false;
    urcu_bp_before_fork();
    urcu_bp_read_lock();
    return true;
}

void gang__rcu_after_fork(bool is_child)
{
    urcu_bp_read_unlock();
    if (is_child)
        urcu_bp_after_fork_child();
    else
        urcu_bp_after_fork_parent();
}
