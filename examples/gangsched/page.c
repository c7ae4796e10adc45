/* SPDX-License-Identifier: Apache-2.0 */
#include "gangsched/page.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"

int page_append(const char *bytes, size_t length, void *user)
{
    struct page *page = user;
    if (page->cap - page->length < length) {
        size_t cap = 2 * (page->length + length);
        char *text = realloc(page->text, cap);
        if (text == NULL) {
            page->failed = true;
            return -1;
        }
        page->text = text;
        page->cap = cap;
    }
    memcpy(page->text + page->length, bytes, length);
    page->length += length;
    return 0;
}

/* Control characters are made harmless; line feeds, too, unless they are kept. */
static void append_text(struct page *page, bool keeps_feeds, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text == NULL) {
        page->failed = true;
        return;
    }
    vsnprintf(text, (size_t)length + 1, format, args);
    for (int i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && !(keeps_feeds && c == '\n')) || c == 0x7f) {
            text[i] = '?';
        }
    }
    page_append(text, (size_t)length, page);
    free(text);
}

void page_printf(struct page *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append_text(page, true, format, args);
    va_end(args);
}

void page_line(struct page *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append_text(page, false, format, args);
    va_end(args);
    page_append("\n", 1, page);
}

void page_json(struct page *page, json_t *value)
{
    if (value == NULL ||
        json_dump_callback(value, page_append, page, JSON_REAL_PRECISION(15)) != 0 ||
        page_append("\n", 1, page) != 0) {
        page->failed = true;
    }
    json_decref(value);
}

int page_finish(struct page *page, int status)
{
    if (status == CLI_OK && page->failed) {
        status = cli_no_memory();
    }
    if (status == CLI_OK && page->length > 0) {
        cli_write(page->text, page->length, NULL); /* main() finds out if that fails */
    }
    free(page->text);
    return status;
}
