/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of lines with columns beside it, as `gangsched topo` prints them. */
#ifndef GANGSCHED_OUTLINE_H
#define GANGSCHED_OUTLINE_H

#include <stdbool.h>
#include <stddef.h>

struct outline_row {
    int depth; /* 0: top; -1: a heading, which is no part of the tree */
    bool last; /* among the children of its parent */
    char *text;
    char **cells; /* to the right of the tree, right-aligned */
    size_t cell_count;
    char *note; /* to the right of the cells, left-aligned; NULL: none */
};

struct outline {
    struct outline_row *rows;
    size_t count;
    size_t cap;
    bool failed; /* out of memory; nothing will be printed */
};

/* Add a line; the lines come in the order in which they are printed, a parent before its children.
 */
void outline_add(struct outline *outline, int depth, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Add a cell, or a note, to the line added last. */
void outline_cell(struct outline *outline, const char *text);
void outline_note(struct outline *outline, const char *text);

/* Print it to standard output, with box drawing characters if the locale has them, and free it.
 * Returns an exit status, after a message if memory ran out. */
int outline_print(struct outline *outline);

#endif
