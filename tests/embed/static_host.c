/* SPDX-License-Identifier: Apache-2.0 */
/* A host that contains the static library, and uses another flavour of liburcu through its own
 * headers, mapped to their short names. Built by test_dlopen.sh with hidden visibility. */
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu.h>

struct value {
    struct rcu_head head;
    int good;
};

static struct value *current;
static int frees;

static void free_value(struct rcu_head *head)
{
    struct value *old = (struct value *)(void *)head;
    old->good = 0;
    free(old);
    frees++;
}

static int node(gang_worker *w)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    gang_node_id id;
    spec.name = "n";
    spec.cpu_milli = 1000;
    spec.memory_bytes = INT64_C(1) << 30;
    return gang_node_add(w, &spec, &id, NULL) == GANG_OK && gang_node_remove(w, id) == GANG_OK &&
           gang_cluster_recycle(gang_worker_cluster(w)) == GANG_OK;
}

int main(void)
{
    gang_cluster *c;
    gang_worker *w;
    int status = -1;
    if (gang_cluster_new(NULL, &c, NULL) != GANG_OK || gang_worker_new(c, &w) != GANG_OK)
        return 1;
    rcu_register_thread();
    for (int i = 0; i < 100; i++) {
        struct value *fresh = calloc(1, sizeof(*fresh));
        if (!fresh)
            return 1;
        fresh->good = 1;
        struct value *old = rcu_xchg_pointer(&current, fresh);
        rcu_read_lock();
        if (!node(w) || !rcu_dereference(current)->good)
            return 1;
        rcu_read_unlock();
        if (old)
            call_rcu(&old->head, free_value);
    }
    rcu_unregister_thread();
    rcu_barrier();
    pid_t child = fork();
    if (child == 0)
        _exit(node(w) ? 0 : 1);
    if (waitpid(child, &status, 0) != child || status != 0 || frees != 99)
        return 1;
    gang_cluster_free(c);
    return 0;
}
