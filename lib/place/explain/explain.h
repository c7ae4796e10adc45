/* SPDX-License-Identifier: Apache-2.0 */
/* Why a request fits or does not: found once, reported as an error (here), as an explanation and as
 * JSON (report/). */
#ifndef GANG__PLACE_EXPLAIN_H
#define GANG__PLACE_EXPLAIN_H

#include "place/explain/node_census.h"
#include "place/pack/pack.h"
#include "place/record/record.h"

/* The question: a gang, or more tasks for a running one. */
struct gang__question {
    struct gang__plan *p; /* scratch */
    gang_cluster *c;
    const gang_request *request;
    const struct gang__alloc *running; /* NULL: the gang */
};

/* What was found out about a group, a set or the whole request by itself. */
struct gang__reason {
    gang_result code; /* GANG_OK, GANG_ENOFIT or GANG_ENEVER */
    int32_t group;    /* >= 0: this group */
    int32_t set;      /* >= 0: this set; else the request */
    bool more;        /* tasks more of a group that runs */
    int64_t want;
    int64_t fit;     /* of a group: tasks that would go somewhere, wherever they lie */
    int64_t allowed; /* of these, within bounds and subgroups, and spread, unless in a domain */
    int64_t placed;  /* of these, in the domain that is demanded */
    struct gang__node_census census; /* of a group; of others only the nodes */

    struct gang__misfit why;
    bool skew; /* GANG_CONSTRAINT_SPREAD: by the numbers in the domains, not by the most of one */
    int64_t requested, available;

    int32_t level;           /* the level of the required domain; GANG__NO_LEVEL: none */
    bool subgroups;          /* by the subgroups */
    bool inside;             /* it is in the domain that tasks do not fit: they would elsewhere */
    struct gang__scope best; /* the one that holds most; unbound: there is none */
    int64_t best_want, best_holds;
    /* What the best domain lacks; without a required domain, what is short when all but this is
     * placed. */
    struct gang__misfit lack;
    int32_t lack_group; /* the group of these tasks; -1: none */
    int64_t lack_amount;
};

/* Tasks of a group that must start with the request: of the only one also what the request
 * demands. */
int64_t gang__tasks_needed(const gang_request *request, uint32_t group);

/* A group by itself, as things are or (`empty`) as if all nodes were up and empty. With a domain,
 * if one is demanded, also where it is not what fails (`whole`). GANG_OK or GANG_ENOMEM. Inside a
 * read section, as all here. O(nodes + tasks). */
gang_result gang__reason_of_group(const struct gang__question *a, uint32_t group, int64_t want,
                                  bool empty, bool whole, struct gang__reason *f);

/* A set by itself, or (-1) the whole request, with the known answer `fits`. O(nodes * groups in
 * it), and a plan of it. */
gang_result gang__reason_of_member(const struct gang__question *a, int32_t set, bool fits,
                                   bool empty, struct gang__reason *f);

/* Finds why a request does not fit: the first of its groups, its sets from the inside out, and the
 * whole that does not fit by itself. `code`: GANG_ENOFIT or GANG_ENEVER. */
gang_result gang__reason_find(const struct gang__question *a, gang_result code,
                              struct gang__reason *f);

/* Fill `error` with the reason of a refusal, and return `code`. */
gang_result gang__explain(struct gang__plan *p, gang_cluster *c, const gang_request *request,
                          gang_result code, struct gang_error *error);

/* The same for `tasks` more tasks of a group that runs. */
gang_result gang__explain_growth(struct gang__plan *p, const struct gang__alloc *a, uint32_t group,
                                 int64_t tasks, gang_result code, struct gang_error *error);

/* One English line. Returns its length, cut off at `cap`. */
size_t gang__reason_text(const struct gang__question *a, const struct gang__reason *f, char *text,
                         size_t cap);

/* The name of a level. Valid while the cluster lives. */
const char *gang__level_word(const gang_cluster *c, int32_t level);

/* Where a scope is: "block=b1/rack=r2", or without the keys. Cut off at `cap`. Inside a read
 * section. */
enum { GANG__PATH_BYTES = (GANG_MAX_LEVELS + 2) * 2 * (GANG_MAX_NAME + 1) };
void gang__scope_path(const struct gang__plan *p, const struct gang__scope *s, bool keys,
                      char *text, size_t cap);

#endif
