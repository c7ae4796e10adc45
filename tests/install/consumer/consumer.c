/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled as C and as C++ against an installed library. */
#include <gangsched/gangsched.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    char expected[64];
    snprintf(expected, sizeof expected, "%d.%d.%d", GANG_VERSION_MAJOR, GANG_VERSION_MINOR,
             GANG_VERSION_PATCH);
    if (gang_version_number() != GANG_VERSION_NUMBER || strcmp(gang_version(), expected) != 0) {
        fprintf(stderr, "headers are %s, the library is %s\n", expected, gang_version());
        return 1;
    }
    if (strcmp(gang_strerror(GANG_OK), "success") != 0) {
        fprintf(stderr, "gang_strerror(GANG_OK) is %s\n", gang_strerror(GANG_OK));
        return 1;
    }
    return 0;
}
