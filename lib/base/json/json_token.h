/* SPDX-License-Identifier: Apache-2.0 */
/* Inside this folder: the state of the parser, and the tokens that json_token.c reads. */
#ifndef GANG__BASE_JSON_TOKEN_H
#define GANG__BASE_JSON_TOKEN_H

#include "base/json/json.h"

struct gang__json_parser {
    const char *text;
    size_t length;
    size_t pos;
    size_t max_depth;
    size_t containers_left;
    const struct gang_mem *mem;
    char *scratch; /* the string that was read last, NUL-terminated */
    size_t scratch_cap;
    size_t scratch_length;
    struct gang_error *error;
};

/* Fails at byte `pos` of the text, with its line and column. Returns `code`. */
gang_result gang__parse_fail(const struct gang__json_parser *p, const struct gang__json *at,
                             size_t pos, gang_result code, const char *what);

/* Fails at the next byte, where `expected` should be. */
gang_result gang__parse_unexpected(const struct gang__json_parser *p, const struct gang__json *at,
                                   const char *expected);

void gang__parse_space(struct gang__json_parser *p);

/* Steps over the next character if it is `c`. */
bool gang__parse_skip(struct gang__json_parser *p, char c);

/* Parses a string, whose opening quote is next, into p->scratch. */
gang_result gang__parse_string(struct gang__json_parser *p, const struct gang__json *at);

/* Parses a number, which begins at the next byte. */
gang_result gang__parse_number(struct gang__json_parser *p, const struct gang__json *at,
                               json_t **value);

#endif
