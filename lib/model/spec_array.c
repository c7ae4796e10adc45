/* SPDX-License-Identifier: Apache-2.0 */
#include "model/spec_array.h"

gang_result gang__spec_load(void *to, size_t known, size_t min, const void *array, size_t index,
                            size_t stride)
{
    if (!array)
        return GANG_EINVAL;
    return gang__struct_in(to, known, min, (const char *)array + index * stride, stride);
}
