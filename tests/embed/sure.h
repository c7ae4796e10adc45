/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions for threads: libcheck's own are for one thread only. */
#ifndef GANG_TESTS_EMBED_SURE_H
#define GANG_TESTS_EMBED_SURE_H

#include <stdio.h>
#include <stdlib.h>

#include "support.h"

#define SURE(what)                                                             \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what); \
            abort();                                                           \
        }                                                                      \
    } while (0)

#undef MUST
#define MUST(call) SURE((call) == GANG_OK)

#endif
