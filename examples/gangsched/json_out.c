/* SPDX-License-Identifier: Apache-2.0 */
#include "gangsched/json_out.h"

bool json_put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

json_t *json_seconds(int64_t at_ns, int64_t from_ns)
{
    return at_ns == INT64_MAX ? json_null() : json_real((double)(at_ns - from_ns) / 1e9);
}
