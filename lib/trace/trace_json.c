/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace_json_in.h"

#include <inttypes.h>
#include <stdio.h>

gang_result gang__trace_piece_read(struct gang__trace_reader *r,
                                   const struct gang__trace_piece *piece,
                                   gang_result (*read)(struct gang__trace_reader *r,
                                                       const struct gang__json *at))
{
    static const struct gang__json_limits limits = {SIZE_MAX, 64, SIZE_MAX};
    json_t *root;
    gang_result result =
        gang__json_parse(piece->text, piece->length, &limits, &r->trace->mem, &root, r->error);
    if (result != GANG_OK) {
        r->error->column += r->error->line == 1 ? piece->before : 0;
        r->error->line += piece->line - 1;
        return result;
    }
    struct gang__json at = gang__json_root(root, r->error);
    result = read(r, &at);
    if (result < 0)
        r->error->line = piece->line;
    json_decref(root);
    r->line = piece->line;
    return gang__trace_accept(r, result, 1);
}

gang_result gang__trace_json_add(struct gang__trace_reader *r, const struct gang__json *at,
                                 const struct gang__trace_draft *draft)
{
    struct gang_error mine = GANG_ERROR_INIT;
    gang_result result = gang__trace_add(r->trace, draft, &mine);
    if (result == GANG_OK)
        return result;
    if (mine.path[0])
        return gang__json_fail(at, result, "%s: %s", mine.path, mine.text);
    return gang__json_fail(at, result, "%s", mine.text);
}

gang_result gang__trace_json_word(struct gang__trace_reader *r, const struct gang__json *object,
                                  const char *key, uint32_t *word)
{
    struct gang__json at;
    const char *text;
    *word = 0;
    if (!gang__json_get_or_null(object, key, &at))
        return GANG_OK;
    GANG__TRACE_TRY(gang__json_name(&at, 0, GANG_MAX_NAME, &text));
    gang_result result = gang__trace_word(r->trace, gang__span_of(text), word);
    return result == GANG_OK ? result : gang__json_fail(&at, result, "out of memory");
}

gang_result gang__trace_json_name(const struct gang__json *object, const char *key, char cap[24],
                                  struct gang__span *name)
{
    struct gang__json at;
    const char *text = "";
    if (gang__json_get_or_null(object, key, &at) && json_is_integer(at.value)) {
        snprintf(cap, 24, "%" PRId64, (int64_t)json_integer_value(at.value));
        text = cap;
    } else if (at.value) {
        GANG__TRACE_TRY(gang__json_name(&at, 0, GANG_MAX_NAME, &text));
    }
    *name = gang__span_of(text);
    return GANG_OK;
}

gang_result gang__trace_json_seconds(const struct gang__json *object, const char *key, int64_t min,
                                     int64_t *ns)
{
    struct gang__json at;
    if (!gang__json_get_or_null(object, key, &at))
        return GANG_OK;
    return gang__json_scaled(&at, GANG__SECOND, min, GANG__TRACE_MAX_NS, ns);
}
