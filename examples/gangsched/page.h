/* SPDX-License-Identifier: Apache-2.0 */
/* Text that is kept until all of it is there, so that nothing is printed if something later is
 * wrong. */
#ifndef GANGSCHED_PAGE_H
#define GANGSCHED_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct page {
    char *text;
    size_t length;
    size_t cap;
    bool failed; /* out of memory */
};

/* A json_dump_callback_t. 0, or -1: out of memory. */
int page_append(const char *bytes, size_t length, void *page);

/* With printf's format; control characters but line feeds are made harmless. */
void page_printf(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One line: a line feed comes at its end, and nowhere else. */
void page_line(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A value as one line of JSON; it is given up. */
struct json_t;
void page_json(struct page *page, struct json_t *value);

/* Print it, unless `status` says that something was wrong, and give it up. Returns the exit
 * status. */
int page_finish(struct page *page, int status);

#endif
