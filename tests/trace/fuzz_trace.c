/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing the readers and writers of traces: what is read must be written and read again to the
 * same trace.
 *
 *   with libFuzzer   clang -fsanitize=fuzzer,address -DGANG_LIBFUZZER ...
 *   alone            fuzz_trace [SECONDS [SEED]]
 *                    mutates a text of each format for so many seconds (3) and prints the seed
 *                    first; a failure repeats with the same seed. */
#include <gangsched/trace.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json/json.h"
#include "chance.h"
#include "trace/trace_same.h"
#include "trace/trace_texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what, const char *path, const char *text)
{
    fprintf(stderr, "fuzz_trace: %s: %s: %s\n", what, path, text);
    abort();
}

static void check_round(gang_trace *trace, int32_t format)
{
    struct trace_output out = {NULL, 0, 0};
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
    gang_trace *again;
    opts.format = format;
    gang_result r = gang_trace_write(trace, format, trace_append, &out, &error);
    if (r == GANG_ENOTSUP && format != GANG_TRACE_JSONL) {
        if (strncmp(error.path, "jobs[", 5) != 0)
            fail("a refusal without a place", error.path, error.text);
    } else if (r != GANG_OK) {
        fail("what was read cannot be written", error.path, error.text);
    } else if (gang_trace_read(out.bytes ? out.bytes : "", out.length, &opts, &again, &error) !=
               GANG_OK) {
        fail("what was written cannot be read", error.path, error.text);
    } else {
        const char *difference = trace_difference(trace, again);
        if (difference && format != GANG_TRACE_BATSIM) /* it does not tell all */
            fail("what was written reads differently", gang_trace_format_name(format), difference);
        gang_trace_free(again);
    }
    free(out.bytes);
}

/* An error that can be shown. */
static void check_error(gang_result result, const gang_trace *trace, const struct gang_error *error)
{
    if (trace || error->code != result || !error->text[0] || strchr(error->text, '\n') ||
        !gang__utf8_valid(error->text) || !gang__utf8_valid(error->path) || error->line < 0 ||
        error->column < 0)
        fail("an error that is none", error->path, error->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int32_t lenient = 0; lenient < 2; lenient++) {
        struct gang_trace_opts opts = GANG_TRACE_OPTS_INIT;
        struct gang_error error = GANG_ERROR_INIT;
        gang_trace *trace;
        opts.lenient = lenient;
        if (size) /* what is not known by its first lines is read as something, too */
            opts.format =
                data[0] % 3 ? GANG_TRACE_DETECT : 1 + data[size - 1] % GANG_TRACE_TIRESIAS;
        gang_result result = gang_trace_read((const char *)data, size, &opts, &trace, &error);
        if (result != GANG_OK) {
            check_error(result, trace, &error);
            continue;
        }
        check_round(trace, GANG_TRACE_CSV);
        check_round(trace, GANG_TRACE_JSONL);
        check_round(trace, GANG_TRACE_SWF);
        check_round(trace, GANG_TRACE_BATSIM);
        gang_trace_free(trace);
    }
    return 0;
}

#ifndef GANG_LIBFUZZER

static const char *const words[] = {"",
                                    ",",
                                    "\n",
                                    "\"",
                                    "\"\"",
                                    "0",
                                    "-1",
                                    "1e9",
                                    "1e-9",
                                    "0.5",
                                    "1000",
                                    "null",
                                    "{}",
                                    "[]",
                                    "{",
                                    "}",
                                    "]",
                                    "\\",
                                    "|",
                                    "\t",
                                    " ",
                                    ";",
                                    "group",
                                    "true",
                                    "None",
                                    "\xff",
                                    "\xc3\xa4",
                                    ",\n,",
                                    "a\nb\n",
                                    "\r\n",
                                    "9e18",
                                    "99999999999999999999",
                                    "2017-10-07 01:13:30"};

static size_t pick(size_t bound)
{
    return bound ? (size_t)(chance() % bound) : 0;
}

/* Put `length` bytes in place of the `gone` bytes at `at`. */
static void replace(struct trace_output *text, size_t at, size_t gone, const char *bytes,
                    size_t length)
{
    struct trace_output out = {NULL, 0, 0};
    trace_append(text->bytes, at, &out);
    trace_append(bytes, length, &out);
    trace_append(text->bytes + at + gone, text->length - at - gone, &out);
    free(text->bytes);
    *text = out;
}

static void mutate(struct trace_output *text)
{
    size_t at = pick(text->length + 1);
    size_t gone = pick(2) ? 0 : pick(text->length - at < 12 ? text->length - at + 1 : 12);
    size_t from = pick(text->length + 1);
    char byte = (char)chance();
    const char *word = words[pick(sizeof(words) / sizeof(words[0]))];
    switch (pick(4)) {
    case 0:
        replace(text, at, gone, &byte, 1);
        break;
    case 1: {
        struct trace_output piece = {NULL, 0, 0};
        trace_append(text->bytes + from, pick(text->length - from + 1), &piece);
        replace(text, at, gone, piece.bytes, piece.length);
        free(piece.bytes);
        break;
    }
    default:
        replace(text, at, gone, word, strlen(word));
    }
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
    chance_state = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
    printf("fuzz_trace: seed %llu\n", (unsigned long long)chance_state);
    fflush(stdout);
    struct timespec begin, now;
    unsigned long long rounds = 0;
    timespec_get(&begin, TIME_UTC);
    do {
        struct trace_output text = {NULL, 0, 0};
        const char *first = trace_texts[rounds % TRACE_TEXTS].text;
        trace_append(first, strlen(first), &text);
        for (size_t n = pick(6); n-- > 0;)
            mutate(&text);
        /* a block of its own size, so that a sanitizer sees reads past its end */
        uint8_t *exact = malloc(text.length ? text.length : 1);
        if (!exact)
            abort();
        memcpy(exact, text.bytes, text.length);
        LLVMFuzzerTestOneInput(exact, text.length);
        free(exact);
        free(text.bytes);
        rounds++;
        timespec_get(&now, TIME_UTC);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
             seconds);
    printf("fuzz_trace: %llu inputs, no failure\n", rounds);
    return 0;
}

#endif
