/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing label expressions. Random trees are written out, read, and must be as true as the tree on
 * random labels; random damage to the text must be read or refused with a column inside it.
 *
 *   with libFuzzer   clang -fsanitize=fuzzer,address -DGANG_LIBFUZZER ...  (arbitrary text alone)
 *   alone            fuzz_label_expr [SECONDS [SEED]]
 *                    runs for so many seconds (3) and prints the seed first, with which a failure
 *                    repeats. */
#include "model/label_expr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json/json.h"
#include "chance.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "fuzz_label_expr: %s: %s\n", what, text);
    abort();
}

/* Compile into a block of exactly the size that was measured, so that a sanitizer sees beyond it.
 * NULL: refused. */
static char *compile(const char *text, struct gang__label_expr *expr)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang__block size = {NULL, 0}, block = {NULL, 0};
    gang_result r = gang__label_expr_compile(text, &size, expr, &error);
    if (r != GANG_OK) {
        bool known = r == GANG_EPARSE || r == GANG_EINVAL || r == GANG_ELIMIT;
        bool inside = error.column >= 0 && error.column <= (int64_t)strlen(text) + 1;
        if (!known || error.code != r || !inside || !error.text[0] || !gang__utf8_valid(error.text))
            fail("an error that is none", text);
        return NULL;
    }
    block.base = malloc(size.used ? size.used : 1);
    if (!block.base)
        abort();
    if (gang__label_expr_compile(text, &block, expr, &error) != GANG_OK || block.used != size.used)
        fail("measured and laid out differ", text);
    return block.base;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct gang_label label = {"a", "1"};
    static const struct gang__labels on = {"n", &label, 1};
    struct gang__label_expr expr;
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    char *memory = compile(text, &expr);
    if (memory)
        (void)gang__label_expr_holds(&expr, &on);
    free(memory);
    free(text);
    return 0;
}

#ifndef GANG_LIBFUZZER

/* ---- a tree, its text, its truth ---- */

enum { ROOM = 4 * GANG_MAX_WHERE, KEYS = 4, VALUES = 8 };
static const char *const keys[KEYS] = {"a", "b.c/d", "in", "node"};
static const char *const key_texts[KEYS] = {"a", "\"b.c/d\"", "\"in\"", "node"};
/* Values, how they are written, and those that are numbers times 1000. */
static const char *const values[VALUES] = {"x", "1", "-2.5", "10", "x \"y\"", "and", "9", "-0"};
static const char *const value_texts[VALUES] = {"x",       "1", "-2.5", "\"10\"", "\"x \\\"y\\\"\"",
                                                "\"and\"", "9", "-0"};
static const bool is_number[VALUES] = {false, true, true, true, false, false, true, true};
static const int milli[VALUES] = {0, 1000, -2500, 10000, 0, 0, 9000, 0};

static char text[ROOM];
static size_t length;
static int held[KEYS]; /* the value of each key; -1: none. Of "node" there is always one. */

static void say(const char *word)
{
    size_t bytes = strlen(word);
    if (length + bytes + 1 < ROOM) {
        memcpy(text + length, word, bytes + 1);
        length += bytes;
    }
}

static void space(void)
{
    say(below(8) ? " " : "\t \n");
}

static size_t number(void)
{
    size_t v = index_below(VALUES);
    while (!is_number[v])
        v = index_below(VALUES);
    return v;
}

static bool condition(void)
{
    static const char *const signs[] = {"<", "<=", ">", ">="};
    size_t key = index_below(KEYS), v = index_below(VALUES);
    int value = held[key];
    bool found = false;
    switch (below(6)) {
    case 0:
        say(below(2) ? "exists " : "");
        say(key_texts[key]);
        return value >= 0;
    case 1:
        say(key_texts[key]);
        say(below(2) ? "=" : " = ");
        say(value_texts[v]);
        return value == (int)v;
    case 2:
        say(key_texts[key]);
        say(" !=");
        say(value_texts[v]);
        return value != (int)v;
    case 3: {
        size_t sign = index_below(4);
        v = number();
        say(key_texts[key]);
        space();
        say(signs[sign]);
        space();
        say(value_texts[v]);
        if (value < 0 || !is_number[value])
            return false;
        int x = milli[value], y = milli[v];
        return sign == 0 ? x < y : sign == 1 ? x <= y : sign == 2 ? x > y : x >= y;
    }
    default: {
        bool negative = below(2);
        say(key_texts[key]);
        say(negative ? " not in (" : " in (");
        for (size_t n = index_below(4) + 1; n > 0; n--) {
            v = index_below(VALUES);
            found = found || value == (int)v;
            say(value_texts[v]);
            say(n > 1 ? ", " : ")");
        }
        return negative ? !found : found;
    }
    }
}

/* Writes an expression that stands where `binding` binds: 0 as loosely as can be, 1 in "and", 2
 * alone. Returns whether it is true. */
static bool tree(unsigned depth, int binding)
{
    size_t kind = depth ? index_below(6) : 0;
    bool parentheses = (kind == 1 && binding > 0) || (kind == 2 && binding > 1) || below(10) == 0;
    bool truth;
    if (parentheses && depth)
        say("(");
    if (kind == 1 && (depth || binding == 0)) {
        bool left = tree(depth - 1, 0);
        space();
        say("or ");
        bool right = tree(depth - 1, 1);
        truth = left || right;
    } else if (kind == 2) {
        bool left = tree(depth - 1, 1);
        space();
        say("and ");
        bool right = tree(depth - 1, 2);
        truth = left && right;
    } else if (kind == 3) {
        say("not ");
        truth = !tree(depth - 1, 2);
    } else {
        truth = condition();
    }
    if (parentheses && depth)
        say(")");
    return truth;
}

static void check_tree(void)
{
    struct gang_label labels[KEYS];
    struct gang__labels on = {NULL, labels, 0};
    struct gang__label_expr expr;
    for (size_t i = 0; i < KEYS; i++) {
        held[i] = (int)below(VALUES + 1) - 1;
        if (strcmp(keys[i], "node") == 0) {
            held[i] = held[i] < 0 ? 0 : held[i];
            on.name = values[held[i]];
        } else if (held[i] >= 0) {
            labels[on.count++] = (struct gang_label){keys[i], values[held[i]]};
        }
    }
    length = 0;
    bool truth = tree((unsigned)below(7), 0);
    if (length > GANG_MAX_WHERE)
        return;
    char *memory = compile(text, &expr);
    if (!memory)
        fail("a good expression is refused", text);
    if (gang__label_expr_holds(&expr, &on) != truth)
        fail(truth ? "should hold" : "should not hold", text);
    free(memory);
}

static void damage(void)
{
    static const char bytes[] = "()\"\\=!<>,- aonti01.\x01\xc3";
    for (size_t n = index_below(4) + 1; n > 0 && length > 0; n--) {
        size_t at = index_below(length);
        switch (below(3)) {
        case 0:
            text[at] = bytes[index_below(sizeof(bytes) - 1)];
            break;
        case 1:
            memmove(text + at, text + at + 1, length - at);
            length--;
            break;
        default:
            text[at] = '\0';
            length = at;
        }
    }
    LLVMFuzzerTestOneInput((const uint8_t *)text, length);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
    struct timespec begin, now;
    uint64_t rounds = 0;
    printf("fuzz_label_expr: seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    chance_state = seed;
    timespec_get(&begin, TIME_UTC);
    do {
        check_tree();
        damage();
        rounds++;
        timespec_get(&now, TIME_UTC);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
             seconds);
    printf("fuzz_label_expr: %llu expressions, no failure\n", (unsigned long long)rounds);
    return 0;
}

#endif
