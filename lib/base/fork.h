/* SPDX-License-Identifier: Apache-2.0 */
/* What makes fork() safe in a process of many threads. The child has the forking thread only; each
 * other one looks to it like a thread that stopped for ever. Commits bear that, for they are
 * lock-free. What does not bear it is kept whole: what a mutex guards, and liburcu's registry.
 *
 * Whoever is going to change something behind a mutex holds off forks meanwhile; a fork waits for
 * those who do, and keeps out new ones until it is over. This is all the state that the library
 * has outside of a cluster. */
#ifndef GANG__BASE_FORK_H
#define GANG__BASE_FORK_H

#include <gangsched/base.h>

/* Have fork() call us, from now on and for good. GANG_OK or GANG_ENOMEM. */
gang_result gang__fork_watch(void);

/* Between the two no fork takes place in another thread. Between them a thread waits neither for a
 * grace period nor to enter a read section (a fork that is under way holds up both), and does not
 * fork. The pair may be nested. */
void gang__fork_hold_off(void);
void gang__fork_allow(void);

/* How many forks lead from the first process to this one. What a thread left behind with a lower
 * number belongs to nobody. */
uint64_t gang__fork_count(void);

#endif
