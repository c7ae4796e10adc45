/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A sane cap on the size member of a caller's struct: above it the memory was never set up. */
enum { STRUCT_SIZE_MAX = 65536 };

const char *gang_strerror(gang_result result)
{
    switch (result) {
#define GANG_RESULT_TEXT(name, value, text) \
    case name:                              \
        return text;
        GANG_RESULT_LIST(GANG_RESULT_TEXT)
#undef GANG_RESULT_TEXT
    default:
        return "unknown result";
    }
}

const char *gang_result_name(gang_result result)
{
    switch (result) {
#define GANG_RESULT_NAME(name, value, text) \
    case name:                              \
        return #name;
        GANG_RESULT_LIST(GANG_RESULT_NAME)
#undef GANG_RESULT_NAME
    default:
        return "GANG_E?";
    }
}

const char *gang_constraint_name(int32_t constraint)
{
    static const char *const names[] = {
        [GANG_CONSTRAINT_NONE] = "none",
        [GANG_CONSTRAINT_KIND] = "kind",
        [GANG_CONSTRAINT_STATE] = "state",
        [GANG_CONSTRAINT_LABEL] = "label",
        [GANG_CONSTRAINT_PARTITION] = "partition",
        [GANG_CONSTRAINT_GPU_MODEL] = "gpu-model",
        [GANG_CONSTRAINT_SAME] = "same",
        [GANG_CONSTRAINT_POOL] = "pool",
        [GANG_CONSTRAINT_MIN] = "min",
        [GANG_CONSTRAINT_NUMA] = "numa",
        [GANG_CONSTRAINT_PROFILE] = "profile",
        [GANG_CONSTRAINT_DEVICE] = "device",
        [GANG_CONSTRAINT_GPU_NODES] = "gpu-nodes",
        [GANG_CONSTRAINT_AFFINITY] = "affinity",
        [GANG_CONSTRAINT_SPREAD] = "spread",
        [GANG_CONSTRAINT_EXCLUSIVE] = "exclusive",
        [GANG_CONSTRAINT_SAME_DEVICES] = "same-devices",
    };
    const int32_t count = (int32_t)(sizeof(names) / sizeof(names[0]));
    return constraint >= 0 && constraint < count ? names[constraint] : NULL;
}

static bool error_is_set_up(const struct gang_error *error)
{
    return error && error->size >= offsetof(struct gang_error, text) &&
           error->size <= STRUCT_SIZE_MAX;
}

/* Callers may be older or newer than the library: writes no more than their size. */
static void error_store(struct gang_error *error, const struct gang_error *value)
{
    size_t size = error->size;
    if (!error_is_set_up(error))
        return;
    memcpy(error, value, size < sizeof(*value) ? size : sizeof(*value));
    error->size = size;
}

gang_result gang__error(struct gang_error *error, gang_result code, const char *path,
                        const char *fmt, ...)
{
    if (!error)
        return code;
    struct gang_error value = GANG_ERROR_INIT;
    value.code = code;
    if (path)
        snprintf(value.path, sizeof(value.path), "%s", path);
    va_list args;
    va_start(args, fmt);
    vsnprintf(value.text, sizeof(value.text), fmt, args);
    va_end(args);
    error_store(error, &value);
    return code;
}

gang_result gang__error_at(struct gang_error *error, gang_result code, const char *fmt, ...)
{
    if (!error_is_set_up(error))
        return code;
    char front[sizeof(error->path)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(front, sizeof(front), fmt, args);
    va_end(args);
    char joined[2 * sizeof(error->path)];
    const char *dot = error->path[0] && error->path[0] != '[' ? "." : "";
    snprintf(joined, sizeof(joined), "%s%s%s", front, dot, error->path);
    memcpy(error->path, joined, sizeof(error->path) - 1);
    error->path[sizeof(error->path) - 1] = '\0';
    return code;
}

gang_result gang__struct_in(void *dst, size_t known, size_t min, const void *src, size_t size)
{
    if (size < min || size > STRUCT_SIZE_MAX)
        return GANG_EINVAL;
    const unsigned char *bytes = src;
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return GANG_E2BIG;
    size_t count = size < known ? size : known;
    memcpy(dst, src, count);
    memset((unsigned char *)dst + count, 0, known - count);
    return GANG_OK;
}

gang_result gang__struct_out(void *dst, size_t size, size_t min, const void *src, size_t known)
{
    if (size < min || size > STRUCT_SIZE_MAX)
        return GANG_EINVAL;
    unsigned char *bytes = dst;
    memcpy(bytes, src, size < known ? size : known);
    if (size > known)
        memset(bytes + known, 0, size - known);
    memcpy(bytes, &size, sizeof(size));
    return GANG_OK;
}
