/* SPDX-License-Identifier: Apache-2.0 */
/* The hwloc files of real machines among the shared data. */
#ifndef GANG_TESTS_MACHINE_FILE_H
#define GANG_TESTS_MACHINE_FILE_H

#include <unistd.h>
#include <zlib.h>

#include "support.h"

/* hwloc's plugins lose a little memory; they stay loaded so that reports show them by name. */
const char *__lsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__lsan_default_suppressions(void)
{
    return "leak:libhwloc\nleak:libpciaccess\nleak:hwloc_";
}

static inline void machine_temporary(char path[64])
{
    strcpy(path, "/tmp/gang_hwloc_XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

/* Unpack the file of a machine ("flux-core_corona.xml") into a temporary one; false, and a word, if
 * there is no data. */
static inline bool machine_unpack(const char *file, char path[64])
{
    char packed[1024];
    char rel[128];
    snprintf(rel, sizeof(rel), "data/hwloc_topologies/%s.gz", file);
    if (!gang_shared_path(packed, sizeof(packed), rel)) {
        printf("skipped: no %s in the shared data\n", rel);
        return false;
    }
    machine_temporary(path);
    gzFile from = gzopen(packed, "rb");
    FILE *to = fopen(path, "wb");
    ck_assert(from && to);
    char bytes[65536];
    for (int n; (n = gzread(from, bytes, sizeof(bytes))) > 0;)
        ck_assert_uint_eq(fwrite(bytes, 1, (size_t)n, to), (size_t)n);
    gzclose(from);
    ck_assert_int_eq(fclose(to), 0);
    return true;
}

#endif
