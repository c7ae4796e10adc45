/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/outline.h"

#include "gangsched/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32, GLYPH_COLUMNS = 3, GAP = 2 };

static struct outline_row *last_row(struct outline *outline)
{
    return outline->failed || outline->count == 0 ? NULL : &outline->rows[outline->count - 1];
}

void outline_add(struct outline *outline, int depth, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    if (outline->failed) {
        return;
    }
    if (!cli_grow((void **)&outline->rows, &outline->cap, outline->count, sizeof *outline->rows)) {
        outline->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct outline_row *row = &outline->rows[outline->count];
    memset(row, 0, sizeof *row);
    row->depth = depth < MAX_DEPTH ? depth : MAX_DEPTH - 1;
    row->text = strdup(text);
    outline->failed = row->text == NULL;
    outline->count += row->text != NULL;
}

void outline_cell(struct outline *outline, const char *text)
{
    struct outline_row *row = last_row(outline);
    if (row == NULL) {
        return;
    }
    char **larger = realloc(row->cells, (row->cell_count + 1) * sizeof *larger);
    char *copy = strdup(text);
    if (larger != NULL) {
        row->cells = larger;
    }
    if (larger == NULL || copy == NULL) {
        free(copy);
        outline->failed = true;
        return;
    }
    row->cells[row->cell_count++] = copy;
}

void outline_note(struct outline *outline, const char *text)
{
    struct outline_row *row = last_row(outline);
    if (row != NULL) {
        free(row->note);
        row->note = strdup(text);
        outline->failed = row->note == NULL;
    }
}

/* Seen from the end, a row is the last child if no row of its depth follows under its parent. */
static void find_last(struct outline *outline)
{
    bool follows[MAX_DEPTH + 1] = {false};
    for (size_t i = outline->count; i-- > 0;) {
        struct outline_row *row = &outline->rows[i];
        if (row->depth < 0) {
            continue;
        }
        row->last = !follows[row->depth];
        follows[row->depth] = true;
        for (int deeper = row->depth + 1; deeper < MAX_DEPTH; deeper++) {
            follows[deeper] = false;
        }
    }
}

static void print_spaces(size_t count)
{
    cli_printf("%*s", (int)count, "");
}

/* The lines to the left of a row; `bars` remembers which ancestors have more children to come. */
static size_t print_branches(const struct outline_row *row, bool *bars)
{
    static const char *const boxes[] = {"│  ", "   ", "├─ ", "└─ "};
    static const char *const ascii[] = {"|  ", "   ", "|- ", "`- "};
    const char *const *glyphs = cli_utf8() ? boxes : ascii;
    if (row->depth <= 0) {
        return 0;
    }
    for (int depth = 1; depth < row->depth; depth++) {
        cli_printf("%s", glyphs[bars[depth] ? 0 : 1]);
    }
    cli_printf("%s", glyphs[row->last ? 3 : 2]);
    bars[row->depth] = !row->last;
    return (size_t)row->depth * GLYPH_COLUMNS;
}

static size_t tree_width(const struct outline_row *row)
{
    return cli_width(row->text) + (row->depth > 0 ? (size_t)row->depth * GLYPH_COLUMNS : 0);
}

static void print_row(const struct outline_row *row, bool *bars, size_t tree, const size_t *widths)
{
    size_t width = print_branches(row, bars);
    cli_print_text(row->text);
    width += cli_width(row->text);
    size_t gap = tree - width; /* printed only before something */
    for (size_t i = 0; i < row->cell_count; i++) {
        gap += GAP + widths[i] - cli_width(row->cells[i]);
        if (row->cells[i][0] != '\0') {
            print_spaces(gap);
            cli_print_text(row->cells[i]);
            gap = 0;
        }
    }
    if (row->note != NULL) {
        print_spaces(gap + GAP);
        cli_print_text(row->note);
    }
    cli_printf("\n");
}

static void clear(struct outline *outline)
{
    for (size_t i = 0; i < outline->count; i++) {
        for (size_t k = 0; k < outline->rows[i].cell_count; k++) {
            free(outline->rows[i].cells[k]);
        }
        free(outline->rows[i].cells);
        free(outline->rows[i].text);
        free(outline->rows[i].note);
    }
    free(outline->rows);
    memset(outline, 0, sizeof *outline);
}

int outline_print(struct outline *outline)
{
    bool bars[MAX_DEPTH] = {false};
    size_t tree = 0;
    size_t columns = 0;
    for (size_t i = 0; i < outline->count; i++) {
        const struct outline_row *row = &outline->rows[i];
        bool beside = row->cell_count > 0 || row->note != NULL;
        tree = beside && tree_width(row) > tree ? tree_width(row) : tree;
        columns = row->cell_count > columns ? row->cell_count : columns;
    }
    size_t *widths = calloc(columns + 1, sizeof *widths);
    if (widths == NULL || outline->failed) {
        free(widths);
        clear(outline);
        return cli_no_memory();
    }
    for (size_t i = 0; i < outline->count; i++) {
        for (size_t k = 0; k < outline->rows[i].cell_count; k++) {
            size_t width = cli_width(outline->rows[i].cells[k]);
            widths[k] = width > widths[k] ? width : widths[k];
        }
    }
    find_last(outline);
    for (size_t i = 0; i < outline->count; i++) {
        print_row(&outline->rows[i], bars, tree, widths);
    }
    free(widths);
    clear(outline);
    return CLI_OK;
}
