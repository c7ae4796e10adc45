/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications of queues by value: taking them in, checking one alone, and copying. Errors name
 * the member: "limit.gpu", "child.users[3].weight". */
#ifndef GANG__QUEUE_QUEUE_SPEC_IN_H
#define GANG__QUEUE_QUEUE_SPEC_IN_H

#include <stdbool.h>

#include <gangsched/queue.h>

#include "base/two_pass_block.h"
#include "core/nodes/nodes.h"
#include "queue/fairness/fairness.h"

/* The greatest amount of a quota, so that sums over all queues stay below 2^79. */
#define GANG__MAX_QUOTA_AMOUNT ((int64_t)1 << 62)

enum { GANG__MAX_QUEUE_USERS = 65536, GANG__MAX_ACL = 65536 };

/* The size that a specification had when it was first released. */
enum { GANG__QUEUE_SPEC_MIN_SIZE = offsetof(struct gang_queue_spec, reserved0) + sizeof(int32_t) };

/* Take a specification in, in the library's struct size; its arrays and `child` are still the
 * caller's. Sizes are checked, and that what has a count is there. */
gang_result gang__queue_spec_in(const struct gang_queue_spec *from, struct gang_queue_spec *spec,
                                struct gang_error *error);

/* Quota i of one of the lists of a specification that was taken in. */
struct gang_quota gang__quota_at(const struct gang_queue_spec *spec, const struct gang_quota *list,
                                 size_t i);

/* Budget i of a specification that was taken in. */
struct gang_budget gang__budget_at(const struct gang_queue_spec *spec, size_t i);

/* Check one that was taken in, and its template, as far as that needs no other queue. */
gang_result gang__queue_spec_check(const gang_cluster *c, const struct gang_queue_spec *spec,
                                   struct gang_error *error);

/* Refuse a quota, or the weight, of a kind: "limit.gpu"; of a pair: "limit.gpu@fast". Returns
 * `code`. */
gang_result gang__quota_refuse(struct gang_error *error, gang_result code, const char *list,
                               const char *kind, const char *partition, const char *text);

/* Checks an access list as YARN writes it: "user1,user2 group1,group2". `path` names it in the
 * error. NULL is a valid list: it allows no user. GANG_EINVAL, GANG_ELIMIT. */
gang_result gang__acl_check(const char *acl, const char *path, struct gang_error *error);

/* Checks a list of classes (gang_queue_spec.preempts). GANG_EINVAL, GANG_ELIMIT. */
gang_result gang__preempts_check(const char *list, struct gang_error *error);

/* Lay out a deep copy of one that was taken in, in the library's sizes. NULL while measuring. */
struct gang_queue_spec *gang__queue_spec_lay(struct gang__block *b,
                                             const struct gang_queue_spec *spec);

/* A weight in millionths; one that is not 0 does not become 0. */
int64_t gang__millionths(double weight);

#endif
