/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

bool gang__is_control(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0);
}

/* RFC 3629, table of well-formed sequences: the second byte has narrower bounds after some. */
size_t gang__utf8_length(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    if (length == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    size_t need;
    unsigned low = 0x80;
    unsigned high = 0xbf;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        need = 2;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        need = 3;
        if (s[0] == 0xe0)
            low = 0xa0;
        if (s[0] == 0xed)
            high = 0x9f;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        need = 4;
        if (s[0] == 0xf0)
            low = 0x90;
        if (s[0] == 0xf4)
            high = 0x8f;
    } else {
        return 0;
    }
    if (length < need || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return need;
}

bool gang__utf8_valid(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t step = gang__utf8_length(text, left);
        if (step == 0)
            return false;
        text += step;
        left -= step;
    }
    return true;
}
