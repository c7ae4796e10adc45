/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations as JSON. */
#include <gangsched/place.h>

#include "base/json/json.h"
#include "place/record/record.h"

struct writer {
    gang_cluster *c;
    const gang_request *request;
    json_t *root, *groups, *sets;
    struct gang__json_maker maker;
};

static void put_text(struct writer *w, json_t *o, const char *key, const char *text)
{
    gang__json_put(&w->maker, o, key, gang__json_new_text(&w->maker, text));
}

static void put_number(struct writer *w, json_t *o, const char *key, int64_t number)
{
    gang__json_put(&w->maker, o, key, json_integer(number));
}

static void put_answer(struct writer *w, json_t *o, gang_result answer)
{
    put_text(w, o, "answer",
             answer == GANG_OK       ? "fits now"
             : answer == GANG_ENOFIT ? "not now"
                                     : "never");
}

/* A constraint and a kind, if there are any. */
static void put_why(struct writer *w, json_t *o, int32_t constraint, int32_t kind)
{
    if (constraint != GANG_CONSTRAINT_NONE)
        put_text(w, o, "constraint", gang_constraint_name(constraint));
    if (kind >= 0)
        put_text(w, o, "kind", w->c->nodes.kind[kind].name);
}

static void put_kinds(struct writer *w, json_t *o, const struct gang_explanation *e)
{
    json_t *list = json_array();
    for (size_t i = 0; i < e->kind_count; i++) {
        const struct gang_explanation_kind *k = &e->kinds[i];
        const char *unit = w->c->nodes.kind[k->kind].unit;
        json_t *kind = json_object();
        put_text(w, kind, "kind", w->c->nodes.kind[k->kind].name);
        if (gang__utf8_valid(unit)) /* which was not checked */
            put_text(w, kind, "unit", unit);
        put_number(w, kind, "requested", k->requested);
        put_number(w, kind, "max_free", k->max_free);
        put_number(w, kind, "nodes", k->nodes);
        put_number(w, kind, "nodes_if_empty", k->nodes_if_empty);
        put_number(w, kind, "nodes_full", k->nodes_full);
        gang__json_push(&w->maker, list, kind);
    }
    gang__json_put(&w->maker, o, "kinds", list);
}

static void put_nodes(struct writer *w, json_t *o, const struct gang_explanation *e)
{
    json_t *refused = json_object();
    put_number(w, o, "nodes", e->nodes);
    put_number(w, o, "nodes_fit", e->nodes_fit);
    for (size_t i = 0; i < e->refused_count; i++)
        if (e->refused[i])
            put_number(w, refused, gang_constraint_name((int32_t)i), e->refused[i]);
    gang__json_put(&w->maker, o, "refused", refused);
    put_kinds(w, o, e);
}

static json_t *lack_json(struct writer *w, const struct gang_explanation *e)
{
    json_t *lack = json_object();
    put_text(w, lack, "group", w->request->group[e->lack_group].name);
    put_why(w, lack, e->lack_constraint, e->lack_kind);
    if (e->lack_kind >= 0)
        put_number(w, lack, "amount", e->lack_amount);
    return lack;
}

static void put_domain(struct writer *w, json_t *o, const struct gang_explanation *e)
{
    json_t *domain = json_object();
    put_text(w, domain, "level", e->level);
    if (e->domain) {
        put_text(w, domain, "path", e->domain);
        put_number(w, domain, "want", e->domain_want);
        put_number(w, domain, "holds", e->domain_holds);
    }
    if (e->lack_group >= 0)
        gang__json_put(&w->maker, domain, "lack", lack_json(w, e));
    gang__json_put(&w->maker, o, "domain", domain);
}

static void put_reason(struct writer *w, json_t *o, const struct gang_explanation *e)
{
    put_why(w, o, e->constraint, e->kind);
    if (e->requested) {
        put_number(w, o, "requested", e->requested);
        put_number(w, o, "available", e->available);
    }
    put_text(w, o, "text", e->text);
    if (e->because_group < 0 && e->because_group_set < 0)
        return;
    json_t *because = json_object();
    bool group = e->because_group >= 0;
    put_text(w, because, group ? "group" : "group_set",
             group ? w->request->group[e->because_group].name
                   : w->request->set[e->because_group_set].name);
    gang__json_put(&w->maker, o, "because", because);
}

static int32_t add(const struct gang_explanation *e, void *user)
{
    struct writer *w = user;
    bool whole = e->group < 0 && e->group_set < 0;
    json_t *o = whole ? w->root : json_object();
    if (!whole)
        put_text(w, o, e->group >= 0 ? "group" : "group_set", e->name);
    put_answer(w, o, e->result);
    put_number(w, o, "want", e->want);
    if (e->group >= 0) {
        put_number(w, o, "fit", e->fit);
        put_number(w, o, "placed", e->placed);
        put_nodes(w, o, e);
    } else {
        put_number(w, o, "placed", e->placed);
    }
    if (e->level)
        put_domain(w, o, e);
    else if (e->lack_group >= 0)
        gang__json_put(&w->maker, o, "lack", lack_json(w, e));
    put_reason(w, o, e);
    if (!whole)
        gang__json_push(&w->maker, e->group >= 0 ? w->groups : w->sets, o);
    return w->maker.result;
}

gang_result gang_request_write_explanation(gang_worker *worker, gang_request *request,
                                           gang_write_fn write, void *user)
{
    if (!worker || !request || !write)
        return GANG_EINVAL;
    struct writer w = {worker->cluster, request,      json_object(),
                       json_array(),    json_array(), {GANG_OK}};
    gang_result r =
        w.root && w.groups && w.sets ? gang_request_explain(worker, request, add, &w) : GANG_ENOMEM;
    gang__json_put(&w.maker, w.root, "groups", w.groups);
    gang__json_put(&w.maker, w.root, "group_sets", w.sets);
    if (r == GANG_OK)
        r = w.maker.result;
    if (r == GANG_OK)
        r = gang__json_write(w.root, 0, write, user);
    json_decref(w.root);
    return r;
}
