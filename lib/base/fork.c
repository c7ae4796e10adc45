/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fork.h"

#include <pthread.h>
#include <time.h>

#include "base/atomic.h"
#include "base/rcu.h"

enum { POLL_NS = 50000 };

/* Locked to begin a hold-off; a fork locks it from before until after. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
/* The number of threads that hold off. Raised under the gate (relaxed: the gate orders it before
 * the load of a fork), lowered anywhere: gang__sub_release() -> gang__load() in before(). */
static gang__a32 holding_off;
static gang__a32 registered; /* 1: the handlers are registered; gang__store() -> gang__load() */
/* Written in the child of a fork, which has one thread; relaxed: pairs with none. */
static gang__a64 forks;

static _Thread_local struct {
    uint32_t depth;   /* of nested hold-offs */
    bool gate;        /* this thread forks and holds the gate */
    bool rcu;         /* and has made liburcu ready */
    int cancel_state; /* its cancel state before */
} mine;

void gang__fork_hold_off(void)
{
    if (mine.depth++)
        return;
    pthread_mutex_lock(&gate);
    gang__add_relaxed(&holding_off, 1u);
    pthread_mutex_unlock(&gate);
}

void gang__fork_allow(void)
{
    if (--mine.depth == 0)
        gang__sub_release(&holding_off, 1u);
}

uint64_t gang__fork_count(void)
{
    return gang__load_relaxed(&forks);
}

/* Two threads that made the first cluster may both have registered the handlers. A thread that
 * forks inside its own hold-off (from an allocator, or from a signal handler) would deadlock with
 * itself: it goes on without the gate, and its child may only exec. */
static void before(void)
{
    const struct timespec interval = {0, POLL_NS};
    if (mine.depth || mine.gate)
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mine.cancel_state);
    pthread_mutex_lock(&gate);
    while (gang__load(&holding_off))
        nanosleep(&interval, NULL);
    mine.gate = true;
    mine.rcu = gang__rcu_before_fork();
}

static void after(bool is_child)
{
    if (!mine.gate)
        return;
    if (mine.rcu)
        gang__rcu_after_fork(is_child);
    mine.gate = mine.rcu = false;
    pthread_mutex_unlock(&gate);
    pthread_setcancelstate(mine.cancel_state, &mine.cancel_state);
}

static void after_in_parent(void)
{
    after(false);
}

static void after_in_child(void)
{
    gang__store_relaxed(&forks, gang__load_relaxed(&forks) + 1);
    after(true);
}

gang_result gang__fork_register(void)
{
    /* Takes no lock: a fork at this very moment would leave it locked in the child. */
    if (gang__load(&registered))
        return GANG_OK;
    if (pthread_atfork(before, after_in_parent, after_in_child) != 0)
        return GANG_ENOMEM;
    gang__store(&registered, 1u);
    return GANG_OK;
}
