/* SPDX-License-Identifier: Apache-2.0 */
/* Reading reservations. */
#include "scenario/read_in.h"

#include <string.h>

static const char *const reserve_keys[] = {
    "name",     "owner",   "arrival_s", "deadline_s", "start_s",     "duration_s",
    "period_s", "until_s", "objective", "combine",    "repetitions", "purge_s",
    "notice_s", "queue",   "users",     "stages",     "flags"};
static const char *const stage_keys[] = {"duration_s", "tasks",  "gang_size",    "exclusive",
                                         "level",      "domain", "domain_count", "nodes"};

static gang_result read_flags(const struct gang__json *at, int32_t *flags)
{
    size_t count;
    GANG__TRY(gang__json_array(at, gang__reserve_flag_count, &count));
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(at, i);
        size_t bit = 0;
        GANG__TRY(
            gang__json_choice(&element, gang__reserve_flag_words, gang__reserve_flag_count, &bit));
        if (*flags >> bit & 1)
            return gang__json_fail(&element, GANG_EEXIST, "is there twice");
        *flags |= 1 << bit;
    }
    return GANG_OK;
}

/* An array that is not empty. */
static gang_result read_some(struct gang__reader *r, const struct gang__json *at,
                             const struct gang__list *list, void **elements, size_t *count)
{
    GANG__TRY(gang__read_list(r, at, list, NULL, elements, count));
    return *count > 0 ? GANG_OK : gang__json_fail(at, GANG_EINVAL, "must not be empty");
}

static gang_result read_group(struct gang__reader *r, const struct gang__json *at, void *element,
                              const void *owner)
{
    (void)owner;
    return gang__read_group(r, at, element);
}

static const struct gang__list group_list = {
    GANG__MAX_GROUPS, sizeof(struct gang_group_spec), NULL, 0, GANG__OBJECT_NONE, read_group, NULL};

static gang_result read_nodes(struct gang__reader *r, const struct gang__json *at,
                              struct gang_reservation_stage *stage)
{
    GANG__TRY(gang__read_names(r, at, GANG__MAX_LIST, &stage->nodes, &stage->node_count));
    for (size_t i = 0; i < stage->node_count; i++) {
        struct gang__json element = gang__json_element(at, i);
        size_t index;
        if (!r->alone && !gang__lookup_find(&r->nodes, stage->nodes[i], &index))
            return gang__json_fail(&element, GANG_ENOENT, "no node '%s'",
                                   gang__printable(stage->nodes[i]).s);
    }
    return GANG_OK;
}

static gang_result read_stage(struct gang__reader *r, const struct gang__json *at, void *element,
                              const void *owner)
{
    struct gang_reservation_stage *stage = element;
    struct gang__json member;
    void *groups;
    (void)owner;
    *stage = (struct gang_reservation_stage)GANG_RESERVATION_STAGE_INIT;
    GANG__TRY(gang__fields_read(r, at, &gang__stage_fields, stage));
    if (gang__json_get(at, "tasks", &member)) {
        GANG__TRY(read_some(r, &member, &group_list, &groups, &stage->group_count));
        stage->groups = groups;
    }
    GANG__TRY(gang__read_level(r, at, "level", GANG__LEVELS_SITE, &stage->level));
    GANG__TRY(gang__read_name_member(r, at, "domain", &stage->domain));
    if (gang__json_get(at, "nodes", &member))
        GANG__TRY(read_nodes(r, &member, stage));
    if ((stage->group_count > 0) + (stage->level != NULL) + (stage->node_count > 0) != 1)
        return gang__json_fail(at, GANG_EINVAL, "needs one of 'tasks', 'level', 'nodes'");
    return GANG_OK;
}

static const struct gang__list stage_list = GANG__LIST("stages", 64, struct gang_reservation_stage,
                                                       stage_keys, GANG__OBJECT_STAGE, read_stage);

gang_result gang__read_reservation(struct gang__reader *r, const struct gang__json *at,
                                   struct gang_reservation_spec *out)
{
    struct gang__json member;
    void *stages;
    size_t index;
    *out = (struct gang_reservation_spec)GANG_RESERVATION_SPEC_INIT;
    GANG__TRY(gang__rename_old_keys(r, at, GANG__OBJECT_RESERVATION));
    GANG__TRY(gang__json_object(at, reserve_keys, GANG__COUNT(reserve_keys)));
    GANG__TRY(gang__json_need(at, "name", &member));
    GANG__TRY(gang__read_name(r, &member, &out->name));
    GANG__TRY(gang__read_name_member(r, at, "owner", &out->owner));
    GANG__TRY(gang__fields_read(r, at, &gang__reserve_fields, out));
    if (gang__json_get(at, "flags", &member))
        GANG__TRY(read_flags(&member, &out->flags));
    GANG__TRY(gang__read_name_member(r, at, "queue", &out->queue));
    if (out->queue && !r->alone && !gang__lookup_find(&r->queues, out->queue, &index)) {
        gang__json_get(at, "queue", &member);
        return gang__json_fail(&member, GANG_ENOENT, "no queue '%s'",
                               gang__printable(out->queue).s);
    }
    if (gang__json_get(at, "users", &member))
        GANG__TRY(gang__read_names(r, &member, GANG__MAX_LIST, &out->users, &out->user_count));
    GANG__TRY(gang__json_need(at, "stages", &member));
    GANG__TRY(read_some(r, &member, &stage_list, &stages, &out->stage_count));
    out->stages = stages;
    return GANG_OK;
}

static const struct gang_reservation_spec *find(const struct gang_scenario *c, const char *name)
{
    for (size_t i = 0; i < c->reservation_count; i++)
        if (strcmp(c->reservations[i].name, name) == 0)
            return &c->reservations[i];
    return NULL;
}

gang_result gang__read_reservations(struct gang__reader *r, const struct gang__json *at)
{
    struct gang__json all;
    struct gang_reservation_spec *list;
    size_t count;
    if (!gang__json_get(at, "reservations", &all))
        return GANG_OK;
    GANG__TRY(gang__json_array(&all, GANG__MAX_LIST, &count));
    GANG__KEEP(list, r, &all, count + 1);
    r->out->reservations = list;
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(&all, i), name;
        GANG__TRY(gang__read_reservation(r, &element, &list[i]));
        gang__json_get(&element, "name", &name);
        if (find(r->out, list[i].name))
            return gang__json_fail(&name, GANG_EEXIST, "'%s' is there twice",
                                   gang__printable(list[i].name).s);
        r->out->reservation_count = i + 1;
    }
    return GANG_OK;
}

gang_result gang__read_reservation_name(struct gang__reader *r, const struct gang__json *job,
                                        const char **name)
{
    struct gang__json member;
    GANG__TRY(gang__read_name_member(r, job, "reservation", name));
    if (!*name || r->alone || find(r->out, *name))
        return GANG_OK;
    gang__json_get(job, "reservation", &member);
    return gang__json_fail(&member, GANG_ENOENT, "no reservation '%s'", gang__printable(*name).s);
}
