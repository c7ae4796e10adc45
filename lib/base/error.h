/* SPDX-License-Identifier: Apache-2.0 */
/* Filling struct gang_error, and copying the structs that callers fill. */
#ifndef GANG__BASE_ERROR_H
#define GANG__BASE_ERROR_H

#include <gangsched/base.h>

/* GANG__COLD: keeps error paths away from the rest of the code, because a cycle is short of
 * instruction cache. */
#if defined(__GNUC__)
#define GANG__COLD __attribute__((cold))
#define GANG__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define GANG__COLD
#define GANG__PRINTF(fmt, args)
#endif

/* Resets `error` (NULL allowed) and fills code, path and text. Returns `code`, so that a check
 * reads `return gang__error(error, GANG_ERANGE, "cpu_milli", "negative");`. `path` may be NULL. */
GANG__COLD gang_result gang__error(struct gang_error *error, gang_result code, const char *path,
                                   const char *fmt, ...) GANG__PRINTF(4, 5);

/* Puts `fmt` and a dot in front of the path of an error that a callee filled: "gpus[3]" becomes
 * "nodes[7].gpus[3]". NULL allowed. Returns error->code or `code` if NULL. */
GANG__COLD gang_result gang__error_at(struct gang_error *error, gang_result code, const char *fmt,
                                      ...) GANG__PRINTF(3, 4);

/* The sized-struct rule: copies a caller's struct of `size` bytes (its first member) into `dst` of
 * `known` bytes. Shorter: the tail is zero. Longer: the surplus must be zero, else GANG_E2BIG.
 * Smaller than `min` (the first released size) or absurdly large: GANG_EINVAL. */
gang_result gang__struct_in(void *dst, size_t known, size_t min, const void *src, size_t size);

/* The reverse, for structs that the library fills: writes min(size, known) bytes and zeroes the
 * rest, but keeps the caller's `size`. GANG_EINVAL if size < min. */
gang_result gang__struct_out(void *dst, size_t size, size_t min, const void *src, size_t known);

#endif
