/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the elements of a caller's array of sized structs. The caller may have been compiled
 * against an older or a newer header: its elements then have another size than ours. */
#ifndef GANG__MODEL_SPEC_ARRAY_H
#define GANG__MODEL_SPEC_ARRAY_H

#include "base/error.h"

/* Copies element `index` of `array` into `to`, a struct of `known` bytes of ours. The elements are
 * `stride` bytes apart. `min` is the size of the struct when it was first released.
 * GANG_EINVAL (no array, or a stride below `min`), GANG_E2BIG (unknown bytes are not zero). */
gang_result gang__spec_load(void *to, size_t known, size_t min, const void *array, size_t index,
                            size_t stride);

/* `last`: the last member of the struct when it was first released. */
#define GANG__LOAD_BY(to, last, array, index, stride)                                             \
    gang__spec_load(&(to), sizeof(to),                                                            \
                    (size_t)((const char *)&(to).last - (const char *)&(to)) + sizeof((to).last), \
                    (array), (index), (stride))
/* Loads element `i` of two arrays with their strides; false if one cannot be loaded. */
#define GANG__LOAD2_BY(x, y, last, a, b, i, stride_a, stride_b) \
    (GANG__LOAD_BY(x, last, a, i, stride_a) == GANG_OK &&       \
     GANG__LOAD_BY(y, last, b, i, stride_b) == GANG_OK)
/* The `size` of the first element is the stride. */
#define GANG__LOAD(to, last, array, index) \
    ((array) ? GANG__LOAD_BY(to, last, array, index, (array)->size) : GANG_EINVAL)

#endif
