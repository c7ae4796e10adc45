/* SPDX-License-Identifier: Apache-2.0 */
/* The types of the scheduler by name, and what every header of its records needs. */
#ifndef GANG__SCHED_TYPES_H
#define GANG__SCHED_TYPES_H

#include <gangsched/sched.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/hash_table.h"
#include "base/mem.h"
#include "base/ordered_set.h"

struct gang__calendar;
struct gang__candidates;
struct gang__claim;
struct gang__cooldowns;
struct gang__first_quantum;
struct gang__gang;
struct gang__handover;
struct gang__heartbeat;
struct gang__job;
struct gang__matrix;
struct gang__order_hooks;
struct gang__queue_state;
struct gang__request_class;
struct gang__request_text;
struct gang__reserve;
struct gang__sliced;
struct gang__stop;
struct gang__stop_hooks;
struct gang__use;
struct gang__user;
struct gang__victims;
struct gang__wait_class;

/* The record in which a link lies. */
#define GANG__OF(type, member, link) ((type *)(void *)((char *)(link)-offsetof(type, member)))

#endif
