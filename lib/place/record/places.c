/* SPDX-License-Identifier: Apache-2.0 */
#include "place/record/places.h"

#include "core/nodes/nodes.h"

void gang__places_free(struct gang__places *places, const struct gang_mem *mem)
{
    gang__release(mem, places->place);
    *places = (struct gang__places){NULL, 0, 0};
}

bool gang__places_add(struct gang__places *places, const struct gang_mem *mem,
                      const struct gang_placement *place)
{
    if (!gang__grow(mem, (void **)&places->place, &places->cap, places->count + 1,
                    sizeof(*places->place)))
        return false;
    places->place[places->count++] = *place;
    return true;
}

/* The cores that were planned for the task. */
static void set_cores(const struct gang__plan *p, const struct gang__task_plan *planned,
                      struct gang_placement *place)
{
    const struct gang__layout *layout = &p->nodes.copy[planned->copy].layout;
    place->any_cores = planned->cores == 0;
    for (unsigned i = 0; planned->cores && i < layout->core_words; i++)
        gang__cores_put_word(place->cores, i * GANG__CORES_PER_WORD, p->word[planned->core_at + i]);
}

gang_result gang__places_of_plan(const struct gang__plan *p, struct gang__places *out)
{
    out->count = 0;
    if (!gang__grow(&p->c->mem, (void **)&out->place, &out->cap, p->tasks.count,
                    sizeof(*out->place)))
        return GANG_ENOMEM;
    for (size_t i = 0; i < p->tasks.count; i++) {
        const struct gang__task_plan *planned = &p->tasks.plan[i];
        out->place[i] = (struct gang_placement){
            .size = sizeof(struct gang_placement),
            .group = (int32_t)planned->group,
            .any_devices = planned->gpus == 0,
            .node = p->nodes.copy[planned->copy].node->id,
            .gpus = planned->gpus,
            .task = -1,
        };
        set_cores(p, planned, &out->place[i]);
    }
    out->count = p->tasks.count;
    return GANG_OK;
}
