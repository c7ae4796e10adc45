/* SPDX-License-Identifier: Apache-2.0 */
#include <gangsched/base.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *gang_version(void)
{
    return TEXT(GANG_VERSION_MAJOR) "." TEXT(GANG_VERSION_MINOR) "." TEXT(GANG_VERSION_PATCH);
}

int32_t gang_version_number(void)
{
    return GANG_VERSION_NUMBER;
}
