/* SPDX-License-Identifier: Apache-2.0 */
/* The one place where liburcu is used. Readers borrow node descriptions and tables; writers publish
 * new ones with a release store (base/atomic.h) and free old ones after a grace period.
 *
 * Flavour: "bulletproof". It registers a thread at its first read section and forgets it when
 * the thread ends, so a worker may move between threads, any thread may query, and a host that
 * uses liburcu itself, in any flavour, is not disturbed. */
#ifndef GANG__BASE_RCU_H
#define GANG__BASE_RCU_H

#include <stdbool.h>

void gang__rcu_enter(void);
void gang__rcu_leave(void);
/* Waits until every read section that was open at the call has ended. No cancellation point. */
void gang__rcu_wait(void);

/* For a fork, see base/fork.h. False: this thread is inside a read section, of this library, of the
 * host, or of another copy of this library that has made liburcu ready just before; then there is
 * nothing to do after the fork. Waits for the grace periods that other threads wait for. */
bool gang__rcu_before_fork(void);
void gang__rcu_after_fork(bool is_child);

#endif
