/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: counts the calls of functions that lock or wait, and of those that allocate,
 * from any part of the program. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static _Atomic int64_t lock_calls, heap_calls;

EXPORT int64_t gang_bench_lock_calls(void);
EXPORT int64_t gang_bench_heap_calls(void);

int64_t gang_bench_lock_calls(void)
{
    return atomic_load(&lock_calls);
}

int64_t gang_bench_heap_calls(void)
{
    return atomic_load(&heap_calls);
}

/* Count, and call the function of that name that comes next. */
#define FORWARD(counter, type, name, parameters, arguments) \
    EXPORT type name parameters;                            \
    EXPORT type name parameters                             \
    {                                                       \
        static type(*_Atomic next) parameters;              \
        type(*f) parameters = atomic_load(&next);           \
        if (!f) {                                           \
            void *symbol = dlsym(RTLD_NEXT, #name);         \
            memcpy(&f, &symbol, sizeof(f));                 \
            atomic_store(&next, f);                         \
        }                                                   \
        atomic_fetch_add(&counter, 1);                      \
        return f arguments;                                 \
    }

FORWARD(lock_calls, int, pthread_mutex_lock, (pthread_mutex_t * m), (m))
FORWARD(lock_calls, int, pthread_mutex_trylock, (pthread_mutex_t * m), (m))
FORWARD(lock_calls, int, pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l))
FORWARD(lock_calls, int, pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l))
FORWARD(lock_calls, int, pthread_spin_lock, (pthread_spinlock_t * l), (l))
FORWARD(lock_calls, int, pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
FORWARD(lock_calls, int, sem_wait, (sem_t * s), (s))

/* glibc's own allocator, by its other names: dlsym() itself may allocate. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

EXPORT void *malloc(size_t bytes)
{
    atomic_fetch_add(&heap_calls, 1);
    return __libc_malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add(&heap_calls, 1);
    return __libc_calloc(count, bytes);
}

EXPORT void *realloc(void *memory, size_t bytes)
{
    atomic_fetch_add(&heap_calls, 1);
    return __libc_realloc(memory, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    atomic_fetch_add(&heap_calls, 1);
    return __libc_memalign(alignment, bytes);
}

EXPORT int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    atomic_fetch_add(&heap_calls, 1);
    *memory = __libc_memalign(alignment, bytes);
    return *memory ? 0 : 12; /* ENOMEM */
}
