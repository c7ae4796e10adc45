/* SPDX-License-Identifier: Apache-2.0 */
/* Makes fork() safe in a process of many threads. The child has the forking thread only; every
 * other thread looks to it like one that stopped for ever. Commits bear that, for they are
 * lock-free. What a mutex guards does not, nor does liburcu's registry; both are kept whole.
 *
 * A thread that changes something behind a mutex holds off forks meanwhile. A fork waits for
 * these threads, and keeps out new ones until it is over. This is the only state of the library
 * outside of a cluster. */
#ifndef GANG__BASE_FORK_H
#define GANG__BASE_FORK_H

#include <gangsched/base.h>

/* Registers the fork handlers, for good. GANG_OK or GANG_ENOMEM. */
gang_result gang__fork_register(void);

/* Between the two no other thread forks. Between them a thread neither waits for a grace period
 * nor enters a read section (a fork under way delays both), and does not fork. The pair may be
 * nested. */
void gang__fork_hold_off(void);
void gang__fork_allow(void);

/* The number of forks from the first process to this one. A thread that noted a lower number does
 * not exist here. */
uint64_t gang__fork_count(void);

#endif
