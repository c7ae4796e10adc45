/* SPDX-License-Identifier: Apache-2.0 */
/* A host that loads the library at run time. It is given two files, which may be one:
 *   dlopen_host twice|fork|unload FIRST SECOND
 * Built by test_dlopen.sh, without the library. */
#include <dlfcn.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(what)                                                             \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what); \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

/* ---- what a plugin has of the library -- */

#define EACH_FUNCTION(X)    \
    X(gang_cluster_new)     \
    X(gang_cluster_free)    \
    X(gang_cluster_check)   \
    X(gang_cluster_recycle) \
    X(gang_worker_new)      \
    X(gang_worker_free)     \
    X(gang_node_add)        \
    X(gang_node_remove) X(gang_request_new) X(gang_request_free) X(gang_alloc) X(gang_alloc_free)

struct plugin {
    void *handle;
#define MEMBER(name) __typeof__(&name) name;
    EACH_FUNCTION(MEMBER)
    gang_cluster *c;
    gang_request *one;
};

static void find(const struct plugin *p, const char *name, void *function)
{
    void *symbol = dlsym(p->handle, name);
    MUST(symbol);
    memcpy(function, &symbol, sizeof(symbol));
}

static void plugin_open(struct plugin *p, const char *file)
{
    memset(p, 0, sizeof(*p));
    p->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!p->handle)
        fprintf(stderr, "%s\n", dlerror());
    MUST(p->handle);
#define FIND(name) find(p, #name, &p->name);
    EACH_FUNCTION(FIND)
}

static gang_node_id add_node(struct plugin *p, gang_worker *w, const char *name)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    gang_node_id id;
    spec.name = name;
    spec.cpu_milli = 64000;
    spec.memory_bytes = INT64_C(1) << 36;
    MUST(p->gang_node_add(w, &spec, &id, NULL) == GANG_OK);
    return id;
}

static void plugin_begin(struct plugin *p)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_worker *w;
    g.count = g.min = 1;
    g.cpu_milli = 1000;
    spec.groups = &g;
    spec.group_count = 1;
    MUST(p->gang_cluster_new(NULL, &p->c, NULL) == GANG_OK);
    MUST(p->gang_worker_new(p->c, &w) == GANG_OK);
    add_node(p, w, "first");
    p->gang_worker_free(w);
    MUST(p->gang_request_new(p->c, &spec, &p->one, NULL) == GANG_OK);
}

static void plugin_end(struct plugin *p)
{
    MUST(p->gang_cluster_check(p->c, NULL) == GANG_OK);
    p->gang_request_free(p->one);
    p->gang_cluster_free(p->c);
}

static void work(struct plugin *p, int rounds)
{
    gang_worker *w;
    MUST(p->gang_worker_new(p->c, &w) == GANG_OK);
    for (int i = 0; i < rounds; i++) {
        char name[32];
        gang_alloc_id id;
        snprintf(name, sizeof(name), "of %p", (void *)w);
        MUST(p->gang_alloc(w, p->one, &id, NULL) == GANG_OK);
        MUST(p->gang_alloc_free(w, id) == GANG_OK);
        MUST(p->gang_node_remove(w, add_node(p, w, name)) == GANG_OK);
        MUST(p->gang_cluster_recycle(p->c) == GANG_OK);
    }
    p->gang_worker_free(w);
}

/* ---- threads -- */

static void *work_much(void *user)
{
    work(user, 300);
    return NULL;
}

static sem_t worked, go;

static void *work_then_stay(void *user)
{
    work(user, 3);
    sem_post(&worked);
    sem_wait(&go);
    return NULL;
}

static pthread_t start(void *(*body)(void *), void *user)
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, body, user) == 0);
    return thread;
}

static void both_work(struct plugin *a, struct plugin *b)
{
    pthread_t one = start(work_much, a), other = start(work_much, b);
    work(a, 50);
    work(b, 50);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
}

static void fork_both(struct plugin *a, struct plugin *b)
{
    pthread_t one = start(work_much, a), other = start(work_much, b);
    for (int i = 0; i < 20; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            work(a, 3);
            work(b, 3);
            _exit(0);
        }
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
    pthread_join(one, NULL);
    pthread_join(other, NULL);
}

/* ---- the cases -- */

/* Both at work; one ends, the other goes on; the one comes again. */
static void use_twice(const char *first, const char *second)
{
    struct plugin a, b;
    plugin_open(&a, first);
    plugin_open(&b, second);
    /* One file is one library; two files are two. */
    MUST((a.gang_alloc == b.gang_alloc) == (strcmp(first, second) == 0));
    plugin_begin(&a);
    plugin_begin(&b);
    both_work(&a, &b);
    plugin_end(&a);
    MUST(dlclose(a.handle) == 0);
    work(&b, 50);
    plugin_open(&a, first);
    plugin_begin(&a);
    both_work(&a, &b);
    plugin_end(&a);
    plugin_end(&b);
    MUST(dlclose(a.handle) == 0);
    MUST(dlclose(b.handle) == 0);
}

static void use_and_fork(const char *first, const char *second)
{
    struct plugin a, b;
    plugin_open(&a, first);
    plugin_open(&b, second);
    plugin_begin(&a);
    plugin_begin(&b);
    fork_both(&a, &b);
    plugin_end(&a);
    MUST(dlclose(a.handle) == 0);
    /* The handlers of what was closed do no harm. */
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        work(&b, 3);
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
    plugin_end(&b);
    MUST(dlclose(b.handle) == 0);
}

/* Threads that liburcu knows end long after the library was closed, and more than once. */
static void unload_under_threads(const char *first)
{
    struct plugin a;
    pthread_t thread[4];
    for (int round = 0; round < 3; round++) {
        plugin_open(&a, first);
        plugin_begin(&a);
        for (int i = 0; i < 4; i++)
            thread[i] = start(work_then_stay, &a);
        for (int i = 0; i < 4; i++)
            sem_wait(&worked);
        plugin_end(&a);
        MUST(dlclose(a.handle) == 0);
        for (int i = 0; i < 4; i++)
            sem_post(&go);
        for (int i = 0; i < 4; i++)
            pthread_join(thread[i], NULL);
    }
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    MUST(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    MUST(argc == 4);
    sem_init(&worked, 0, 0);
    sem_init(&go, 0, 0);
    alarm(120);
    if (strcmp(argv[1], "twice") == 0)
        use_twice(argv[2], argv[3]);
    else if (strcmp(argv[1], "fork") == 0)
        use_and_fork(argv[2], argv[3]);
    else if (strcmp(argv[1], "unload") == 0)
        unload_under_threads(argv[2]);
    else
        return 2;
    return 0;
}
