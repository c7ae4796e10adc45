/* SPDX-License-Identifier: Apache-2.0 */
/* The gangs of a job whose gangs wait for each other: which groups form one, and which waits for
 * which. */
#include <string.h>

#include "base/wide.h"
#include "sim/sim_in.h"

/* A hash of the groups that a group waits for. The scheduler puts groups that wait for the same
 * into one gang. */
static uint64_t waits_of(const struct gang_job_spec *spec, size_t group)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < spec->group_after_count; i++)
        if ((size_t)spec->group_after[i].group == group) {
            const int32_t key[] = {spec->group_after[i].after, spec->group_after[i].when};
            sum += gang__hash(GANG__HASH_SEED, key, sizeof(key));
        }
    return sum;
}

/* Numbers the gangs: part_of[g] is the gang of group g. Returns how many there are. */
static uint32_t number_gangs(const struct gang_job_spec *spec, uint32_t *gang_of)
{
    uint32_t gangs = 0;
    for (size_t g = 0; g < spec->request.group_count; g++) {
        size_t k = 0;
        while (k < g && waits_of(spec, k) != waits_of(spec, g))
            k++;
        gang_of[g] = k < g ? gang_of[k] : gangs++;
    }
    return gangs;
}

static bool has_role(const struct gang_job_spec *spec, size_t group, int32_t role)
{
    return (spec->roles ? spec->roles[group] : GANG_ROLE_MEMBER) == role;
}

/* The job is over with its chiefs; without any, with its members; without these, with all. */
static void find_deciders(struct gang__sim_stages *st, const struct gang_job_spec *spec,
                          const uint32_t *gang_of)
{
    bool chiefs = false, members = false;
    for (size_t g = 0; g < spec->request.group_count; g++) {
        chiefs = chiefs || has_role(spec, g, GANG_ROLE_CHIEF);
        members =
            members || has_role(spec, g, GANG_ROLE_MEMBER) || has_role(spec, g, GANG_ROLE_CRITICAL);
    }
    for (size_t g = 0; g < spec->request.group_count; g++)
        if (chiefs ? has_role(spec, g, GANG_ROLE_CHIEF)
                   : !members || has_role(spec, g, GANG_ROLE_MEMBER) ||
                         has_role(spec, g, GANG_ROLE_CRITICAL))
            st->gang[gang_of[g]].decides = true;
}

/* Sorts the waits so that a gang comes after those it waits for, by the longest path to it. With a
 * cycle there is no such order; the scheduler then refuses the job. */
static void sort_waits(struct gang__sim_stages *st)
{
    bool moved = true;
    for (uint32_t round = 0; moved && round <= st->gangs; round++) {
        moved = false;
        for (uint32_t i = 0; i < st->waits; i++) {
            struct gang__sim_gang *p = &st->gang[st->wait[i].gang];
            int64_t min = st->gang[st->wait[i].after].begins_ns + 1;
            moved = moved || p->begins_ns < min;
            p->begins_ns = p->begins_ns < min ? min : p->begins_ns;
        }
    }
    for (uint32_t i = 1; i < st->waits; i++) {
        struct gang__sim_wait w = st->wait[i];
        uint32_t at = i;
        for (; at > 0 && st->gang[st->wait[at - 1].gang].begins_ns > st->gang[w.gang].begins_ns;
             at--)
            st->wait[at] = st->wait[at - 1];
        st->wait[at] = w;
    }
}

/* Memory for `gangs` gangs and `waits` waits, in one block. */
static struct gang__sim_stages *make(const struct gang_mem *mem, uint32_t gangs, size_t waits)
{
    struct gang__sim_stages *st =
        gang__zalloc(mem, 1, sizeof(*st) + gangs * sizeof(*st->gang) + waits * sizeof(*st->wait));
    if (!st)
        return NULL;
    st->gang = (struct gang__sim_gang *)(st + 1);
    st->wait = (struct gang__sim_wait *)(st->gang + gangs);
    st->gangs = gangs;
    for (uint32_t p = 0; p < gangs; p++)
        st->gang[p].stopped_ns = INT64_MAX;
    return st;
}

struct gang__sim_stages *gang__sim_stages_new(const gang_sim *sim, const struct gang_job_spec *spec,
                                              const struct gang__sim_runs *runs)
{
    size_t groups = spec->request.group_count;
    uint32_t *gang_of = gang__zalloc(&sim->mem, groups, sizeof(*gang_of));
    struct gang__sim_stages *st =
        gang_of ? make(&sim->mem, number_gangs(spec, gang_of), spec->group_after_count) : NULL;
    for (size_t g = 0; st && g < groups; g++) {
        struct gang__sim_gang *p = &st->gang[gang_of[g]];
        struct gang__sim_amounts all = gang__sim_group_takes(&spec->request, g);
        p->tasks = gang__add_sat(p->tasks, all.tasks);
        p->cpu_milli = gang__add_sat(p->cpu_milli, all.cpu_milli);
        p->gpu_milli = gang__add_sat(p->gpu_milli, all.gpu_milli);
        int64_t run_ns = runs->of[g * runs->step];
        p->run_ns = run_ns > p->run_ns ? run_ns : p->run_ns;
        p->work.left_ns = p->run_ns;
    }
    for (size_t i = 0; st && i < spec->group_after_count; i++) {
        const struct gang_group_after *a = &spec->group_after[i];
        st->wait[st->waits++] =
            (struct gang__sim_wait){gang_of[a->group], gang_of[a->after], a->when};
    }
    if (st) {
        find_deciders(st, spec, gang_of);
        sort_waits(st);
    }
    gang__release(&sim->mem, gang_of);
    return st;
}

struct gang__sim_stages *gang__sim_stages_copy(const struct gang__sim_stages *from,
                                               const struct gang_mem *mem)
{
    struct gang__sim_stages *to = make(mem, from->gangs, from->waits);
    if (!to)
        return NULL;
    memcpy(to->gang, from->gang, from->gangs * sizeof(*to->gang));
    memcpy(to->wait, from->wait, from->waits * sizeof(*to->wait));
    to->waits = from->waits;
    return to;
}
