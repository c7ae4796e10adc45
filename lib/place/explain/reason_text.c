/* SPDX-License-Identifier: Apache-2.0 */
/* A reason as one English line. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "core/nodes/nodes.h"
#include "place/explain/explain.h"
#include "place/explain/node_census.h"
#include "place/fit/fit.h"

enum { GROUP_CHARS = 64, PATH_CHARS = 64 }; /* of names inside a line */

struct line {
    char *text;
    size_t cap, used;
};

static void add(struct line *l, const char *fmt, ...) GANG__PRINTF(2, 3);

static void add(struct line *l, const char *fmt, ...)
{
    va_list args;
    if (l->used + 1 >= l->cap)
        return;
    va_start(args, fmt);
    int length = vsnprintf(l->text + l->used, l->cap - l->used, fmt, args);
    va_end(args);
    if (length > 0)
        l->used += (size_t)length;
    if (l->used >= l->cap)
        l->used = l->cap - 1;
}

/* The length of a text in bytes, cut to at most `most`, in whole characters. */
static int clip(const char *text, size_t most)
{
    size_t n = strlen(text);
    if (n <= most)
        return (int)n;
    while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return (int)most;
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *gang__level_word(const gang_cluster *c, int32_t level)
{
    static const char *const inner[] = {GANG_LEVEL_NODE, GANG_LEVEL_PACKAGE, GANG_LEVEL_NUMA,
                                        GANG_LEVEL_PCIE, GANG_LEVEL_ISLAND};
    return level >= GANG__LEVEL_NODE ? inner[level - GANG__LEVEL_NODE] : c->nodes.level_name[level];
}

static const struct gang__domain *domain_of(const struct gang__plan *p, uint32_t index)
{
    return gang__load(&gang__load(&p->c->nodes.domains)->entry[index]);
}

static void add_step(struct line *l, const char *key, const char *value, bool keys)
{
    add(l, "%s%s%s%s", l->used ? "/" : "", keys ? key : "", keys ? "=" : "", value);
}

void gang__scope_path(const struct gang__plan *p, const struct gang__scope *s, bool keys,
                      char *text, size_t cap)
{
    const struct gang__domain *way[GANG_MAX_LEVELS], *d = s->domain;
    const struct gang__node *node =
        s->level >= GANG__LEVEL_NODE ? gang__plan_node(p, s->slot) : NULL;
    struct line l = {text, cap, 0};
    int steps = 0;
    text[0] = '\0';
    for (int32_t i = (int32_t)p->c->nodes.level_count - 1; node && i >= 0; i--)
        if (node->domain[i] != GANG__NO_DOMAIN)
            way[steps++] = domain_of(p, node->domain[i]);
    for (; d; d = d->parent == GANG__NO_DOMAIN ? NULL : domain_of(p, d->parent))
        way[steps++] = d;
    while (steps-- > 0)
        add_step(&l, p->c->nodes.level_name[way[steps]->level], way[steps]->value, keys);
    if (node)
        add_step(&l, GANG_LEVEL_NODE, node->name, keys);
    if (s->level > GANG__LEVEL_NODE) {
        char part[16];
        snprintf(part, sizeof(part), "%u", s->part);
        add_step(&l, gang__level_word(p->c, s->level), part, true);
    }
}

/* ---- parts of a line ------------------------------------------------------------------------- */

static const char *words_of(int32_t why)
{
    static const char *const what[GANG__WHY_COUNT] = {
        [GANG_CONSTRAINT_STATE] = "no node is up for them",
        [GANG_CONSTRAINT_LABEL] = "the label rules match too few nodes",
        [GANG_CONSTRAINT_PARTITION] = "the partition holds too few nodes",
        [GANG_CONSTRAINT_GPU_MODEL] = "too few GPUs of the models asked for",
        [GANG_CONSTRAINT_SAME] = "too few nodes lie in a domain of the level asked for",
        [GANG_CONSTRAINT_NUMA] = "no NUMA domain holds a task whole",
        [GANG_CONSTRAINT_PROFILE] = "no partition of the profile asked for can be made",
        [GANG_CONSTRAINT_DEVICE] = "the devices are unhealthy",
        [GANG_CONSTRAINT_GPU_NODES] = "nodes with GPUs are not for work without",
        [GANG_CONSTRAINT_AFFINITY] = "the rules on other jobs leave too few nodes",
        [GANG_CONSTRAINT_SPREAD] = "the bounds of spreading leave too few nodes",
        [GANG_CONSTRAINT_EXCLUSIVE] = "too few nodes are wholly free",
        [GANG_CONSTRAINT_SAME_DEVICES] = "no GPUs of the same numbers are free on so many nodes",
    };
    return why > 0 && why < GANG__WHY_COUNT && what[why] ? what[why] : "";
}

/* "1 task", "8 tasks". */
static void add_tasks(struct line *l, const struct gang__reason *f, int64_t tasks)
{
    add(l, "%lld %stask%s", (long long)tasks, f->more ? "more " : "", tasks == 1 ? "" : "s");
}

static void add_bounds(struct line *l, const struct gang__question *a, const struct gang__group *g,
                       bool skew)
{
    const gang_cluster *c = a->c;
    const char *before = "within their bounds: ";
    if (skew) {
        add(l, "spread over the domains of level %s: numbers may differ by %lld",
            gang__level_word(c, g->spread), (long long)g->max_skew);
        return;
    }
    if (g->max_per_node < INT64_MAX) {
        add(l, "%sat most %lld a node", before, (long long)g->max_per_node);
        before = ", ";
    }
    if (g->domain_level >= 0)
        add(l, "%sat most %lld a %s", before, (long long)g->max_per_domain,
            gang__level_word(c, g->domain_level));
}

/* The shortage of the best domain. */
static void add_lack(struct line *l, const struct gang__question *a, const struct gang__reason *f)
{
    const struct gang__group *g = f->lack_group >= 0 ? &a->request->group[f->lack_group] : NULL;
    if (!g)
        return;
    add(l, "; ");
    if (f->group < 0)
        add(l, "for group \"%.*s\" ", clip(g->name, GROUP_CHARS), g->name);
    if (f->lack.kind >= 0)
        add(l, "%s%s is short", f->lack.why == GANG_CONSTRAINT_POOL ? "cluster-wide " : "",
            a->c->nodes.kind[f->lack.kind].name);
    else if (f->lack.why == GANG_CONSTRAINT_SPREAD)
        add(l, "the bounds of spreading stop the rest");
    else if (f->lack.why == GANG_CONSTRAINT_SAME && f->group >= 0)
        add(l, "its subgroups do not fit there");
    else if (f->lack.why == GANG_CONSTRAINT_SAME)
        add(l, "no domain is left that it demands");
    else
        add(l, "%s", words_of(f->lack.why));
}

static void add_domain(struct line *l, const struct gang__question *a, const struct gang__reason *f)
{
    const char *level = gang__level_word(a->c, f->level);
    char path[GANG__PATH_BYTES];
    if (!gang__scope_is_bound(&f->best)) {
        add(l, "there is no %s for them", level);
        return;
    }
    gang__scope_path(a->p, &f->best, false, path, sizeof(path));
    if (f->subgroups && f->best_holds >= f->best_want) {
        const int64_t each = f->best_want;
        add(l, "only %lld of %lld subgroups of %lld tasks find a %s",
            (long long)(f->allowed / each), (long long)(f->want / each), (long long)each, level);
        return;
    }
    bool never = f->code == GANG_ENEVER;
    if (f->more) {
        add(l, "%s %.*s, where it runs, %s ", level, clip(path, PATH_CHARS), path,
            never ? "could never hold" : "does not hold");
        add_tasks(l, f, f->best_want);
    } else {
        add(l, "no %s %s ", level, never ? "could ever hold" : "holds");
        if (f->subgroups)
            add(l, "a subgroup of ");
        add_tasks(l, f, f->best_want);
        add(l, ": the best, %.*s, %s %lld", clip(path, PATH_CHARS), path,
            never ? "could hold" : "holds", (long long)f->best_holds);
    }
    add_lack(l, a, f);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_group(struct line *l, const struct gang__question *a, const struct gang__reason *f)
{
    const struct gang__group *g = &a->request->group[f->group];
    const struct gang__misfit m = f->why;
    const char *fit = f->code == GANG_ENEVER ? "could ever fit" : "fit now";
    add(l, "group \"%.*s\": ", clip(g->name, GROUP_CHARS), g->name);
    if (f->want == 0) {
        add(l, "none of its tasks need start with the others");
        return;
    }
    if (f->inside) {
        add_domain(l, a, f);
        return;
    }
    int64_t tasks = m.why == GANG_CONSTRAINT_SPREAD ? f->allowed : f->fit;
    add(l, "%lld of ", (long long)tasks);
    add_tasks(l, f, f->want);
    add(l, " %s", fit);
    if (m.kind >= 0) {
        add(l, "; %s%s is short", m.why == GANG_CONSTRAINT_POOL ? "cluster-wide " : "",
            a->c->nodes.kind[m.kind].name);
        const char *unit = a->c->nodes.kind[m.kind].unit;
        if (gang__amount_asked(g, m.kind) && gang__utf8_valid(unit)) /* which was not checked */
            add(l, " (%lld %s a task)", (long long)gang__amount_asked(g, m.kind), unit);
    } else if (m.why == GANG_CONSTRAINT_SPREAD && f->fit >= f->want) {
        add(l, " ");
        add_bounds(l, a, g, f->skew);
    } else if (m.why != GANG_CONSTRAINT_NONE) {
        bool kept = m.why == GANG_CONSTRAINT_PARTITION && !g->partition;
        add(l, "; %s",
            kept ? "the other nodes are for requests that name their partition" : words_of(m.why));
    } else if (f->code != GANG_OK) {
        add(l, "; what was in the way has gone");
    }
}

static void add_member(struct line *l, const struct gang__question *a, const struct gang__reason *f)
{
    if (f->set >= 0)
        add(l, "set \"%.*s\": ", clip(a->request->set[f->set].name, GROUP_CHARS),
            a->request->set[f->set].name);
    if (f->code == GANG_OK) {
        add(l, "all ");
        add_tasks(l, f, f->want);
        add(l, " fit now");
    } else if (f->why.why == GANG_CONSTRAINT_SAME_DEVICES) {
        add(l, "%s", words_of(f->why.why));
    } else if (f->why.why == GANG_CONSTRAINT_NONE && a->request->score) {
        add(l, "too few nodes accepted by score(), or what was in the way has gone");
    } else if (f->why.why == GANG_CONSTRAINT_NONE) {
        add(l, "all tasks would fit: what was in the way has gone, or the search missed them");
    } else if (f->level >= 0 && f->best_holds < f->best_want) {
        add_domain(l, a, f);
    } else if (f->level >= 0 || f->placed >= f->want) {
        add(l, "all tasks would fit, but not in the domains that they demand");
    } else {
        add(l, "each group fits alone, but not all together: %lld of ", (long long)f->placed);
        add_tasks(l, f, f->want);
        add(l, " %s", f->code == GANG_ENEVER ? "could ever fit" : "fit now");
        add_lack(l, a, f);
    }
}

size_t gang__reason_text(const struct gang__question *a, const struct gang__reason *f, char *text,
                         size_t cap)
{
    struct line l = {text, cap, 0};
    text[0] = '\0';
    if (f->group >= 0)
        add_group(&l, a, f);
    else
        add_member(&l, a, f);
    if (l.used + 1 == cap) /* cut off, possibly within a character */
        l.used = (size_t)clip(text, cap - 2);
    text[l.used] = '\0';
    return l.used;
}
