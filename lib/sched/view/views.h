/* SPDX-License-Identifier: Apache-2.0 */
/* Views of jobs and queues; the interface is gangsched/view.h. */
#ifndef GANG__SCHED_VIEWS_H
#define GANG__SCHED_VIEWS_H

#include <gangsched/view.h>

/* Gives up the published view and the older ones. No concurrent call. */
void gang__views_free(gang_sched *s);

#endif
