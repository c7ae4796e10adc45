/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the orders of queues, by number. The check of a queue accepts as many numbers as
 * there are names; scenario files use the names. */
#ifndef GANG__QUEUE_NAMES_H
#define GANG__QUEUE_NAMES_H

/* GANG_ORDER_*: how the jobs of a leaf are ordered (sched/order/queue_order.c). */
#define GANG__ORDER_NAMES "priority", "fifo", "fair", "shortest", "least-served", "deadline"
/* GANG_CHILD_ORDER_*: how the children of a queue are ordered (sched/order/queue_order.c). */
#define GANG__CHILD_ORDER_NAMES "fair", "utilization", "priority-utilization"

#define GANG__NAME_COUNT(...) \
    ((int64_t)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))

#endif
