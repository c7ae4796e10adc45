/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the reservations of a case. */
#include "scenario/write_in.h"

#include "scenario/fields_in.h"

static json_t *make_stage(struct gang__writer *w, const struct gang_reservation_stage *stage)
{
    const struct gang_request_spec none = GANG_REQUEST_SPEC_INIT;
    json_t *object = json_object(), *tasks = json_array();
    gang__fields_write(&w->maker, object, &gang__stage_fields, stage);
    for (size_t i = 0; i < stage->group_count; i++) {
        struct gang_group_spec group;
        if (!gang__write_loaded(
                w, GANG__LOAD_BY(group, same_devices, stage->groups, i, stage->group_size)))
            break;
        gang__json_push(&w->maker, tasks, gang__make_group(w, &none, &group));
    }
    gang__write_list(w, object, "tasks", tasks);
    gang__write_given(w, object, "level", stage->level);
    gang__write_given(w, object, "domain", stage->domain);
    gang__write_names(w, object, "nodes", stage->nodes, stage->node_count);
    return object;
}

json_t *gang__make_reservation(struct gang__writer *w, const struct gang_reservation_spec *spec)
{
    json_t *object = json_object(), *flags = json_array(), *stages = json_array();
    gang__write_text(w, object, "name", spec->name);
    gang__write_nonempty(w, object, "owner", spec->owner);
    gang__fields_write(&w->maker, object, &gang__reserve_fields, spec);
    for (size_t i = 0; i < gang__reserve_flag_count; i++)
        if (spec->flags >> i & 1)
            gang__json_push(&w->maker, flags,
                            gang__json_new_text(&w->maker, gang__reserve_flag_words[i]));
    gang__write_list(w, object, "flags", flags);
    gang__write_nonempty(w, object, "queue", spec->queue);
    gang__write_names(w, object, "users", spec->users, spec->user_count);
    for (size_t i = 0; i < spec->stage_count; i++) {
        struct gang_reservation_stage stage;
        if (!gang__write_loaded(
                w, GANG__LOAD_BY(stage, node_count, spec->stages, i, spec->stage_size)))
            break;
        gang__json_push(&w->maker, stages, make_stage(w, &stage));
    }
    gang__write_value(w, object, "stages", stages);
    return object;
}

void gang__write_reservations(struct gang__writer *w, json_t *object, const struct gang_scenario *c)
{
    json_t *list = json_array();
    for (size_t i = 0; i < c->reservation_count; i++) {
        struct gang_reservation_spec spec;
        if (!GANG__WRITE_LOAD(w, spec, notice_ns, c->reservations, i))
            break;
        gang__json_push(&w->maker, list, gang__make_reservation(w, &spec));
    }
    gang__write_list(w, object, "reservations", list);
}
