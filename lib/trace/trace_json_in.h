/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of JSON share. */
#ifndef GANG__TRACE_TRACE_JSON_IN_H
#define GANG__TRACE_TRACE_JSON_IN_H

#include "trace/trace_in.h"

/* One JSON value of a longer text. Its line is that of the whole. */
struct gang__trace_piece {
    const char *text;
    size_t length;
    int64_t line;   /* of its first byte, from 1 */
    int64_t before; /* characters before it in its line */
};

/* Parses the text and calls `read` with its cursor. A text that is no JSON is an error; the result
 * of `read` is judged like a row (gang__trace_accept()). */
gang_result gang__trace_piece_read(struct gang__trace_reader *r,
                                   const struct gang__trace_piece *piece,
                                   gang_result (*read)(struct gang__trace_reader *r,
                                                       const struct gang__json *at));

/* Add a job; an error is at its cursor. */
gang_result gang__trace_json_add(struct gang__trace_reader *r, const struct gang__json *at,
                                 const struct gang__trace_draft *draft);
/* The text of a member as a word that is kept; null or none: 0. */
gang_result gang__trace_json_word(struct gang__trace_reader *r, const struct gang__json *object,
                                  const char *key, uint32_t *word);
/* A name: text, or a whole number, which is written into `cap`. null or none: empty. */
gang_result gang__trace_json_name(const struct gang__json *object, const char *key, char cap[24],
                                  struct gang__span *name);
/* Seconds as ns, within what times may be and not below `min`. Null or none: *ns is left alone.
 * */
gang_result gang__trace_json_seconds(const struct gang__json *object, const char *key, int64_t min,
                                     int64_t *ns);

#endif
