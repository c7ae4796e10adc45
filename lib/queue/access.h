/* SPDX-License-Identifier: Apache-2.0 */
/* Access lists as YARN writes them: "user1,user2 group1,group2". */
#ifndef GANG__QUEUE_ACCESS_H
#define GANG__QUEUE_ACCESS_H

#include <gangsched/base.h>

/* Checks an access list. `path` names it in the error. NULL is a valid list: it allows no user.
 * GANG_EINVAL, GANG_ELIMIT. */
gang_result gang__acl_check(const char *acl, const char *path, struct gang_error *error);

#endif
