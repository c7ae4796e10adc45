/* SPDX-License-Identifier: Apache-2.0 */
/* Building the JSON that commands print. */
#ifndef GANGSCHED_JSON_OUT_H
#define GANGSCHED_JSON_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Adds a member; takes the value over. False: `object` or `value` is NULL, or out of memory. */
bool json_put(json_t *object, const char *key, json_t *value);

/* Seconds from one time to another; null for a time that never comes, INT64_MAX. */
json_t *json_seconds(int64_t at_ns, int64_t from_ns);

#endif
