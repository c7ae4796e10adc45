/* SPDX-License-Identifier: Apache-2.0 */
/* Label expressions. The grammar, loosest binding first:
 *
 *    disjunction = conjunction { "or" conjunction }
 *    conjunction = negation { "and" negation }
 *    negation    = { "not" } primary
 *    primary     = "(" disjunction ")" | condition
 *    condition   = "exists" KEY
 *                | KEY [ ("=" | "!=" | "<" | "<=" | ">" | ">=") V
 *                      | ["not"] "in" "(" V { "," V } ")" ]
 *
 * A text is parsed twice: once to count what it needs, once to fill it in. The result runs on a
 * stack of bits; the bound on parentheses keeps the stack within one word. */
#include "model/label_expr.h"

#include <string.h>

#include "base/error.h"
#include "model/node_spec.h"

/* ---- numbers --------------------------------------------------------------------------------- */

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

bool gang__is_decimal(const char *text)
{
    const char *at = text + (*text == '-');
    const char *end = skip_digits(at);
    if (end == at)
        return false;
    if (*end == '.') {
        at = end + 1;
        end = skip_digits(at);
        if (end == at)
            return false;
    }
    return *end == '\0';
}

/* A number without zeros at both ends, and without the sign of zero. */
struct decimal {
    bool negative;
    const char *integer, *fraction; /* digits before and after the point */
    size_t integer_length, fraction_length;
};

static struct decimal decimal_of(const char *text)
{
    struct decimal d = {text[0] == '-', text + (text[0] == '-'), "", 0, 0};
    while (*d.integer == '0')
        d.integer++;
    const char *end = skip_digits(d.integer);
    d.integer_length = (size_t)(end - d.integer);
    if (*end == '.') {
        d.fraction = end + 1;
        d.fraction_length = strlen(d.fraction);
        while (d.fraction_length && d.fraction[d.fraction_length - 1] == '0')
            d.fraction_length--;
    }
    d.negative = d.negative && (d.integer_length || d.fraction_length);
    return d;
}

static int magnitude_order(const struct decimal *a, const struct decimal *b)
{
    if (a->integer_length != b->integer_length)
        return a->integer_length < b->integer_length ? -1 : 1;
    int order = memcmp(a->integer, b->integer, a->integer_length);
    if (order)
        return order;
    size_t common =
        a->fraction_length < b->fraction_length ? a->fraction_length : b->fraction_length;
    order = memcmp(a->fraction, b->fraction, common);
    return order                                      ? order
           : a->fraction_length == b->fraction_length ? 0
           : a->fraction_length < b->fraction_length  ? -1
                                                      : 1;
}

int gang__decimal_order(const char *a, const char *b)
{
    struct decimal x = decimal_of(a), y = decimal_of(b);
    if (x.negative != y.negative)
        return x.negative ? -1 : 1;
    return x.negative ? magnitude_order(&y, &x) : magnitude_order(&x, &y);
}

/* ---- evaluation ------------------------------------------------------------------------------ */

static const char *value_of(const struct gang__labels *on, const char *key)
{
    if (strcmp(key, "node") == 0)
        return on->name;
    for (size_t i = 0; i < on->count; i++)
        if (strcmp(on->list[i].key, key) == 0)
            return on->list[i].value;
    return NULL;
}

static bool is_among(const char *text, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, texts[i]) == 0)
            return true;
    return false;
}

bool gang__rule_holds(const struct gang__rule *rule, const struct gang__labels *on)
{
    const char *value = value_of(on, rule->key);
    switch (rule->op) {
    case GANG_LABEL_IN:
        return value && is_among(value, rule->values, rule->value_count);
    case GANG_LABEL_NOT_IN:
        return !value || !is_among(value, rule->values, rule->value_count);
    case GANG_LABEL_EXISTS:
        return value != NULL;
    case GANG_LABEL_NOT_EXISTS:
        return value == NULL;
    default:
        break;
    }
    if (!value || !gang__is_decimal(value))
        return false;
    int order = gang__decimal_order(value, rule->values[0]);
    return rule->op == GANG_LABEL_LT   ? order < 0
           : rule->op == GANG_LABEL_LE ? order <= 0
           : rule->op == GANG_LABEL_GT ? order > 0
                                       : order >= 0;
}

bool gang__label_expr_holds(const struct gang__label_expr *expr, const struct gang__labels *on)
{
    uint64_t stack = 1; /* the newest truth is bit 0 */
    for (size_t i = 0; i < expr->step_count; i++) {
        int32_t step = expr->steps[i];
        if (step >= 0)
            stack = stack << 1 | gang__rule_holds(&expr->rules[step], on);
        else if (step == GANG__EXPR_NOT)
            stack ^= 1;
        else if (step == GANG__EXPR_AND)
            stack = (stack >> 1) & (stack | ~UINT64_C(1));
        else
            stack = (stack >> 1) | (stack & 1);
    }
    return stack & 1;
}

/* At each level of parentheses one truth may wait for "or" and one for "and"; one more is the
 * newest. */
_Static_assert(2 * (GANG_MAX_WHERE_DEPTH + 1) + 1 <= 64, "the stack is one word");

/* ---- words ----------------------------------------------------------------------------------- */

enum token { END, WORD, QUOTED, OPEN, CLOSE, COMMA, COMPARE };

struct parser {
    const char *text;
    const char *at;    /* behind the token */
    const char *start; /* of the token */
    enum token token;
    int32_t op;                   /* of COMPARE: GANG_LABEL_*; "!=" is NOT_IN */
    char word[GANG_MAX_NAME + 1]; /* of WORD and QUOTED */
    unsigned depth;
    struct gang_error *error;
    /* What was found so far, and its destination; NULL: it is only counted. */
    size_t rules, values, steps, bytes;
    struct gang__rule *rule;
    const char **value;
    int32_t *step;
    char *texts;
};

/* Fails at the token that was read last. */
static gang_result fail(const struct parser *p, gang_result code, const char *what)
{
    size_t column = (size_t)(p->start - p->text) + 1;
    gang__error(p->error, code, NULL, "column %zu: %s", column, what);
    if (p->error && p->error->size >= sizeof(*p->error))
        p->error->column = (int64_t)column;
    return code;
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_-./:@+", c));
}

/* Reads the rest of a text in quotes; a backslash keeps the next byte as it is. */
static gang_result read_quoted(struct parser *p)
{
    size_t length = 0;
    for (; *p->at != '"'; p->at++) {
        if (*p->at == '\\')
            p->at++;
        if (!*p->at)
            return fail(p, GANG_EPARSE, "the quotes are not closed");
        if (length == GANG_MAX_NAME)
            return fail(p, GANG_ELIMIT, "longer than 255 bytes");
        p->word[length++] = *p->at;
    }
    p->at++;
    p->word[length] = '\0';
    p->token = QUOTED;
    if (gang__text_check(p->word, true) != GANG_OK)
        return fail(p, GANG_EINVAL, "not plain UTF-8 text");
    return GANG_OK;
}

static gang_result read_word(struct parser *p)
{
    while (is_word_byte(*p->at))
        p->at++;
    size_t length = (size_t)(p->at - p->start);
    if (length == 0)
        return fail(p, GANG_EPARSE, "unexpected character");
    if (length > GANG_MAX_NAME)
        return fail(p, GANG_ELIMIT, "longer than 255 bytes");
    memcpy(p->word, p->start, length);
    p->word[length] = '\0';
    p->token = WORD;
    return GANG_OK;
}

static gang_result compare(struct parser *p, int32_t op, size_t length)
{
    p->token = COMPARE;
    p->op = op;
    p->at += length;
    return GANG_OK;
}

/* Reads the next token. */
static gang_result next(struct parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
    p->start = p->at;
    bool or_equal = p->at[0] && p->at[1] == '=';
    switch (*p->at) {
    case '\0':
        p->token = END;
        return GANG_OK;
    case '(':
    case ')':
    case ',':
        p->token = *p->at == '(' ? OPEN : *p->at == ')' ? CLOSE : COMMA;
        p->at++;
        return GANG_OK;
    case '=':
        return compare(p, GANG_LABEL_IN, 1);
    case '!':
        return or_equal ? compare(p, GANG_LABEL_NOT_IN, 2)
                        : fail(p, GANG_EPARSE, "unexpected character");
    case '<':
        return or_equal ? compare(p, GANG_LABEL_LE, 2) : compare(p, GANG_LABEL_LT, 1);
    case '>':
        return or_equal ? compare(p, GANG_LABEL_GE, 2) : compare(p, GANG_LABEL_GT, 1);
    case '"':
        p->at++;
        return read_quoted(p);
    default:
        return read_word(p);
    }
}

static bool is_keyword(const struct parser *p, const char *keyword)
{
    return p->token == WORD && strcmp(p->word, keyword) == 0;
}

static bool is_any_keyword(const struct parser *p)
{
    return is_keyword(p, "and") || is_keyword(p, "or") || is_keyword(p, "not") ||
           is_keyword(p, "in") || is_keyword(p, "exists");
}

/* ---- what is found --------------------------------------------------------------------------- */

static const char *add_text(struct parser *p)
{
    size_t bytes = strlen(p->word) + 1;
    const char *kept = p->texts ? memcpy(p->texts + p->bytes, p->word, bytes) : NULL;
    p->bytes += bytes;
    return kept;
}

static void add_step(struct parser *p, int32_t step)
{
    if (p->step)
        p->step[p->steps] = step;
    p->steps++;
}

static void add_rule(struct parser *p, const char *key, int32_t op, size_t values)
{
    if (p->rule) {
        const char **from = values ? p->value + (p->values - values) : NULL;
        p->rule[p->rules] = (struct gang__rule){key, from, values, op};
    }
    add_step(p, (int32_t)p->rules++);
}

/* ---- parsing --------------------------------------------------------------------------------- */

#define TRY(call)                  \
    do {                           \
        gang_result try_ = (call); \
        if (try_ != GANG_OK)       \
            return try_;           \
    } while (0)

static gang_result disjunction(struct parser *p);

static gang_result parse_key(struct parser *p, const char **key)
{
    if ((p->token != WORD && p->token != QUOTED) || is_any_keyword(p))
        return fail(p, GANG_EPARSE, "expected a label");
    if (!p->word[0])
        return fail(p, GANG_EINVAL, "an empty label");
    *key = add_text(p);
    return next(p);
}

static gang_result parse_value(struct parser *p, bool number)
{
    if ((p->token != WORD && p->token != QUOTED) || is_any_keyword(p))
        return fail(p, GANG_EPARSE, number ? "expected a number" : "expected a value");
    if (number && !gang__is_decimal(p->word))
        return fail(p, GANG_EPARSE, "expected a number");
    const char *value = add_text(p);
    if (p->value)
        p->value[p->values] = value;
    p->values++;
    return next(p);
}

/* Reads the list after "in". */
static gang_result parse_list(struct parser *p, size_t *count)
{
    size_t before = p->values;
    if (p->token != OPEN)
        return fail(p, GANG_EPARSE, "expected '('");
    do {
        TRY(next(p));
        TRY(parse_value(p, false));
    } while (p->token == COMMA);
    if (p->token != CLOSE)
        return fail(p, GANG_EPARSE, "expected ',' or ')'");
    *count = p->values - before;
    return next(p);
}

static gang_result condition(struct parser *p)
{
    const char *key = NULL;
    int32_t op = GANG_LABEL_EXISTS;
    size_t values = 0;
    if (is_keyword(p, "exists")) {
        TRY(next(p));
        TRY(parse_key(p, &key));
        add_rule(p, key, op, 0);
        return GANG_OK;
    }
    TRY(parse_key(p, &key));
    if (p->token == COMPARE) {
        op = p->op;
        values = 1;
        TRY(next(p));
        TRY(parse_value(p, op >= GANG_LABEL_LT));
    } else if (is_keyword(p, "in") || is_keyword(p, "not")) {
        op = is_keyword(p, "in") ? GANG_LABEL_IN : GANG_LABEL_NOT_IN;
        TRY(next(p));
        if (op == GANG_LABEL_NOT_IN) {
            if (!is_keyword(p, "in"))
                return fail(p, GANG_EPARSE, "expected 'in'");
            TRY(next(p));
        }
        TRY(parse_list(p, &values));
    }
    add_rule(p, key, op, values);
    return GANG_OK;
}

static gang_result primary(struct parser *p)
{
    if (p->token != OPEN)
        return condition(p);
    if (p->depth == GANG_MAX_WHERE_DEPTH)
        return fail(p, GANG_ELIMIT, "too many parentheses in each other");
    p->depth++;
    TRY(next(p));
    TRY(disjunction(p));
    if (p->token != CLOSE)
        return fail(p, GANG_EPARSE, "expected ')', 'and' or 'or'");
    p->depth--;
    return next(p);
}

static gang_result negation(struct parser *p)
{
    bool odd = false;
    for (; is_keyword(p, "not"); odd = !odd)
        TRY(next(p));
    TRY(primary(p));
    if (odd)
        add_step(p, GANG__EXPR_NOT);
    return GANG_OK;
}

static gang_result conjunction(struct parser *p)
{
    TRY(negation(p));
    while (is_keyword(p, "and")) {
        TRY(next(p));
        TRY(negation(p));
        add_step(p, GANG__EXPR_AND);
    }
    return GANG_OK;
}

static gang_result disjunction(struct parser *p)
{
    TRY(conjunction(p));
    while (is_keyword(p, "or")) {
        TRY(next(p));
        TRY(conjunction(p));
        add_step(p, GANG__EXPR_OR);
    }
    return GANG_OK;
}

static gang_result parse(struct parser *p)
{
    p->at = p->start = p->text;
    p->depth = 0;
    p->rules = p->values = p->steps = p->bytes = 0;
    TRY(next(p));
    TRY(disjunction(p));
    return p->token == END ? GANG_OK : fail(p, GANG_EPARSE, "expected 'and', 'or' or the end");
}

gang_result gang__label_expr_compile(const char *text, struct gang__block *block,
                                     struct gang__label_expr *expr, struct gang_error *error)
{
    struct parser p;
    memset(&p, 0, sizeof(p));
    p.text = text;
    p.error = error;
    if (strlen(text) > GANG_MAX_WHERE)
        return gang__error(error, GANG_ELIMIT, NULL, "longer than %d bytes", GANG_MAX_WHERE);
    TRY(parse(&p));
    p.rule = gang__block_alloc(block, p.rules * sizeof(*p.rule));
    p.value = gang__block_alloc(block, p.values * sizeof(*p.value));
    p.step = gang__block_alloc(block, p.steps * sizeof(*p.step));
    p.texts = gang__block_alloc(block, p.bytes);
    *expr = (struct gang__label_expr){p.rule, p.step, p.steps};
    return block->base ? parse(&p) : GANG_OK;
}
