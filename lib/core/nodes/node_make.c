/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a node from its specification: type, tags and domains. All under the structure mutex. */
#include <string.h>

#include "base/error.h"
#include "base/two_pass_block.h"
#include "core/nodes/node.h"
#include "core/nodes/node_type.h"
#include "core/nodes/partition.h"
#include "core/nodes/topology.h"
#include "model/specs.h"

/* Resolves the topology of a specification to domains; makes those that are missing. */
static gang_result find_domains(gang_cluster *c, const struct gang_node_spec *spec,
                                struct gang__node *node, struct gang_error *error)
{
    const char *value[GANG_MAX_LEVELS] = {NULL};
    for (unsigned i = 0; i < spec->topology_count; i++) {
        int32_t level = gang__level_find(c, spec->topology[i].key);
        if (level < 0) {
            gang__error(error, GANG_ENOENT, "key", "no topology level \"%.64s\"",
                        spec->topology[i].key);
            return gang__error_at(error, GANG_ENOENT, "topology[%u]", i);
        }
        value[level] = spec->topology[i].value;
    }
    uint32_t parent = GANG__NO_DOMAIN;
    for (uint32_t level = 0; level < c->nodes.level_count; level++) {
        node->domain[level] = GANG__NO_DOMAIN;
        if (!value[level])
            continue;
        gang_result r = gang__domain_intern(c, level, parent, value[level], &node->domain[level]);
        if (r != GANG_OK)
            return gang__error(error, r, NULL, "out of memory");
        parent = node->domain[level];
    }
    return GANG_OK;
}

struct tags_source {
    const gang_cluster *c; /* has the partitions already */
    const struct gang_node_spec *spec;
    const char *const *uuid; /* of each GPU; NULL: no GPU has one */
    uint64_t unhealthy;
};

static void *tags_lay(struct gang__block *b, const void *from)
{
    const struct tags_source *source = from;
    const struct gang_node_spec *spec = source->spec;
    struct gang__tags *tags = gang__block_alloc(b, sizeof(*tags));
    struct gang_label *labels = gang__block_alloc(b, spec->label_count * sizeof(*labels));
    struct gang__partition **partitions =
        gang__block_alloc(b, spec->partition_count * sizeof(*partitions));
    const char **uuids =
        source->uuid ? gang__block_alloc(b, spec->gpu_count * sizeof(*uuids)) : NULL;
    for (size_t i = 0; i < spec->label_count; i++) {
        const char *key = gang__block_text(b, spec->labels[i].key);
        const char *value = gang__block_text(b, spec->labels[i].value);
        if (labels)
            labels[i] = (struct gang_label){key, value};
    }
    for (size_t i = 0; partitions && i < spec->partition_count; i++)
        partitions[i] = gang__partition_find(source->c, spec->partitions[i]);
    for (size_t i = 0; source->uuid && i < spec->gpu_count; i++) {
        const char *text = gang__block_text(b, source->uuid[i]);
        if (uuids)
            uuids[i] = text;
    }
    if (tags)
        *tags = (struct gang__tags){labels, spec->label_count, partitions, spec->partition_count,
                                    uuids,  source->unhealthy};
    return tags;
}

static gang_result tags_new(gang_cluster *c, const struct gang_node_spec *spec,
                            struct gang__tags **tags)
{
    const char *uuid[GANG_MAX_GPUS];
    bool any = false;
    *tags = NULL;
    for (size_t i = 0; i < spec->gpu_count; i++) {
        uuid[i] = gang__node_spec_uuid(spec, i);
        any = any || uuid[i];
    }
    struct tags_source from = {c, spec, any ? uuid : NULL, gang__node_spec_unhealthy(spec)};
    if (!any && !from.unhealthy && !spec->label_count && !spec->partition_count)
        return GANG_OK;
    for (size_t i = 0; i < spec->partition_count; i++)
        if (!gang__partition_intern(c, spec->partitions[i]))
            return GANG_ENOMEM;
    *tags = gang__block_build(&c->mem, tags_lay, &from);
    return *tags ? GANG_OK : GANG_ENOMEM;
}

void gang__node_free(gang_cluster *c, struct gang__node *node)
{
    if (!node)
        return;
    if (node->type)
        gang__node_type_unref(c, node->type);
    gang__release(&c->mem, node->tags);
    gang__release(&c->mem, node);
}

gang_result gang__node_new(gang_cluster *c, const struct gang_node_spec *from,
                           struct gang__node **made, struct gang_error *error)
{
    struct gang_node_spec spec;
    bool is_known;
    gang_result r = gang__node_spec_in(from, c->nodes.last_type ? c->nodes.last_type->spec : NULL,
                                       &spec, &is_known, error);
    if (r != GANG_OK)
        return r;
    size_t levels = c->nodes.level_count * sizeof(uint32_t), bytes = strlen(spec.name) + 1;
    struct gang__node *node = gang__zalloc(&c->mem, 1, sizeof(*node) + levels + bytes);
    if (!node)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    node->name = memcpy((char *)node->domain + levels, spec.name, bytes);
    node->state = spec.state;
    if (is_known)
        node->type = gang__node_type_ref_last(c);
    else
        r = gang__node_type_intern(c, &spec, &node->type, error);
    if (r == GANG_OK) {
        r = tags_new(c, &spec, &node->tags);
        if (r != GANG_OK)
            gang__error(error, r, NULL, "out of memory");
    }
    if (r == GANG_OK)
        r = find_domains(c, &spec, node, error);
    if (r != GANG_OK) {
        gang__node_free(c, node);
        return r;
    }
    *made = node;
    return GANG_OK;
}
