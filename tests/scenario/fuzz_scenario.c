/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing the scenario reader and writer: whatever is read must be written and read again to the
 * same thing.
 *
 *   with libFuzzer   clang -fsanitize=fuzzer,address -DGANG_LIBFUZZER ...
 *   alone            fuzz_scenario [SECONDS [SEED [FILE...]]]
 *                    mutates built-in texts, and the files, for so many seconds (3) and prints the
 *                    seed first; a failure repeats with the same seed and files. */
#include <gangsched/scenario.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json/json.h"
#include "chance.h"
#include "scenario/scenario_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
    char *bytes;
    size_t length;
    size_t cap;
};

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static int append(const char *bytes, size_t length, void *user)
{
    struct text *text = user;
    if (length == 0)
        return 0;
    if (text->length + length > text->cap) {
        text->cap = 2 * (text->length + length);
        text->bytes = must(realloc(text->bytes, text->cap));
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

static void fail(const char *what, const char *path, const char *text)
{
    fprintf(stderr, "fuzz_scenario: %s: %s: %s\n", what, path, text);
    abort();
}

static void check_case(const gang_scenarios *scenarios, size_t index)
{
    struct gang_scenario c = GANG_SCENARIO_INIT;
    struct gang_scenario copy = GANG_SCENARIO_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang__scenario_path where = {""};
    struct text text = {NULL, 0, 0};
    gang_scenarios *again;
    if (gang_scenarios_get(scenarios, index, &c) != GANG_OK)
        fail("get", "", "");
    if (gang_scenario_write(&c, (int32_t)(index % 3), append, &text, &error) != GANG_OK)
        fail("what was read cannot be written", error.path, error.text);
    if (gang_scenarios_read(text.bytes, text.length, &again, &error) != GANG_OK)
        fail("what was written cannot be read", error.path, error.text);
    if (gang_scenarios_get(again, 0, &copy) != GANG_OK)
        fail("get", "", "");
    if (!gang__scenario_equal(&c, &copy, &where))
        fail("what was written reads differently", where.path, "");
    gang_scenarios_free(again);
    free(text.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    gang_result result = gang_scenarios_read((const char *)data, size, &scenarios, &error);
    if (result != GANG_OK) {
        if (scenarios || error.code != result || !error.text[0] || strchr(error.text, '\n') ||
            !gang__utf8_valid(error.text) || !gang__utf8_valid(error.path))
            fail("an error that is none", error.path, error.text);
        return 0;
    }
    for (size_t i = 0; i < gang_scenarios_count(scenarios); i++)
        check_case(scenarios, i);
    gang_scenarios_free(scenarios);
    return 0;
}

#ifndef GANG_LIBFUZZER

static const char *const built_in[] = {
    "[{\"id\":\"a\",\"needs\":[\"gang\"],\"levels\":[\"zone\",\"rack\"],\"rounds\":2,"
    "\"kinds\":[{\"name\":\"nic\",\"unit\":\"u\"},{\"name\":\"l\",\"scope\":\"cluster\","
    "\"capacity\":5}],\"nodes\":[{\"name\":\"n0\",\"cpus\":2.5,\"mem_mib\":4,\"gpus\":2,"
    "\"gpu_mem_mib\":100,\"max_tasks\":3,\"labels\":{\"a\":\"b\"},\"topology\":{\"zone\":\"z\"},"
    "\"amounts\":{\"nic\":1},\"partitions\":[\"p\"],\"unschedulable\":true,"
    "\"links\":[{\"a\":0,\"b\":1,\"type\":\"nvlink\"}],\"gpu_locality\":[\"44\",\"44\"]},"
    "{\"name\":\"n1\",\"mem_bytes\":77,\"devices\":[{\"model\":\"m\",\"numa\":0,\"healthy\":false},"
    "{\"parent\":\"x\",\"mig_index\":3}],"
    "\"numas\":[{\"os_index\":0}],\"cores\":[{\"os_index\":0,\"cpuset\":\"0,64\"}],"
    "\"nics\":[{\"name\":\"e\"}],\"state\":\"down\","
    "\"profiles\":[{\"name\":\"1g\",\"width\":2,\"starts\":[0,4]}]}],"
    "\"queues\":[{\"name\":\"p\",\"limit\":{\"gpu\":0.5,\"mem_bytes\":3},\"weight\":0.3},"
    "{\"name\":\"q\",\"parent\":\"p\",\"guaranteed\":{\"cpu\":1.5,\"mem_mib\":-1},"
    "\"weight\":{\"gpu\":2,\"default\":0.1},\"within\":\"lower\",\"reclaim\":\"any\","
    "\"cells\":[{\"level\":\"node\",\"count\":1}]}],"
    "\"jobs\":[{\"name\":\"j\",\"queue\":\"q\",\"min\":2,\"same\":\"zone\",\"state\":\"running\","
    "\"running_on\":[\"n0\",null],\"running_gpu\":[[\"x\"]],\"groups\":[{\"name\":\"c\","
    "\"parent\":\"d\",\"min\":1},{\"name\":\"d\",\"prefer\":\"rack\"}],"
    "\"tasks\":[{\"count\":2,\"gpu\":1,\"group\":\"c\"},{\"cpu\":0.3,\"gpu\":0.6,"
    "\"gpu_devices\":2,\"selector\":{\"a\":[\"b\",\"c\"]},\"where\":[{\"key\":\"x\","
    "\"op\":\"not_in\",\"values\":[\"y\"]}],\"amounts\":{\"l\":1},\"protected\":true}]}],"
    "\"expect\":{\"jobs\":{\"j\":{\"state\":\"running\",\"gpus\":0.6,\"nodes\":[\"n0\"]}},"
    "\"interchangeable\":[[\"j\"]]}}]",
    "{\"nodes\":[{\"name\":\"n\",\"gpus\":1}],\"jobs\":[{\"name\":\"j\",\"policy\":\"first\","
    "\"groups\":[{},{\"parent\":0}],\"tasks\":[{\"gpu_mem_mib\":5,\"group\":1,\"min\":0},"
    "{\"count\":3}]}]}",
    "{\"levels\":[\"r\"],\"policy\":\"fgd\",\"partitions\":[{\"name\":\"p\",\"mode\":\"le"
    "nding\"}],\"nodes\":[{\"name\":\"n\",\"gpus\":1}],\"jobs\":[{\"name\":\"j\",\"gpu_nodes\":"
    "\"allow\",\"exclusive\":true,\"labels\":{\"a\":\"b\"},\"affinity\":[{\"key\":\"a\",\"l"
    "evel\":\"node\",\"colocate\":true}],\"tasks\":[{\"count\":4,\"gpu\":1,\"where\":\"a = b "
    "or not (c < "
    "3)\",\"numa\":\"strict\",\"subgroup_size\":2,\"subgroup_same\":\"island\",\"spread\""
    ":\"r\",\"max_skew\":2,\"max_per_node\":3,\"max_per_domain\":3,\"domain_level\":\"r\""
    "},{\"where\":[{\"key\":\"a\",\"op\":\"lt\",\"values\":[\"1\"]},\"x in (y)\"]}]}]}",
    "{\"queues\":[{\"name\":\"q\",\"guaranteed\":{\"gpu\":{\"fraction\":0.25},\"cpu@a\":"
    "{\"weight\":2},\"mem_mib@b\":1.5e1},\"limit\":{\"mem_bytes@b\":7},\"state\":\"open\","
    "\"order\":\"fair\",\"child_order\":\"utilization\",\"block\":\"strict\",\"preempt_mode\":"
    "\"suspend\",\"no_preemption\":true,\"max_running\":1,\"default_time_limit_s\":0.1,"
    "\"user_limit_factor\":1.5,\"users\":{\"a\":0.5},\"submit_acl\":\"a b\",\"grace_s\":3.25,"
    "\"child\":{\"stale_s\":0,\"child\":{\"policy\":\"fgd\"}},\"child_idle_s\":1e9,\"backfill\":"
    "\"conservative\",\"plan_depth\":2,\"quantum_s\":30,\"quantum_rows\":2,\"quantum_gpus\":true,"
    "\"across\":\"lower\",\"preempt_class\":\"a\",\"preempts\":\"b\","
    "\"nonpreemptible\":\"limit\",\"priority_factor\":0.5,"
    "\"budgets\":[{\"kind\":\"gpu\",\"amount\":1.5,\"period_s\":60}]}],"
    "\"default_queue\":\"q.x\",\"rules\":[{\"match\":\"label\",\"pattern\":\"a=b\","
    "\"queue\":\"q.%user\",\"fallback\":\"default\"}],\"excluded_kinds\":[\"gpu\"],"
    "\"half_life_s\":1234567.125,\"jobs\":[{\"name\":\"j\",\"user\":\"a\",\"user_groups\":"
    "[\"b\"],\"preemptible\":\"above-min\",\"loss\":\"shrink\",\"time_limit_s\":0.3,"
    "\"after\":[{\"job\":\"k\",\"when\":\"end\"}],\"tasks\":[{\"name\":\"x\",\"role\":"
    "\"chief\"},{\"after\":[{\"group\":\"x\",\"when\":\"start\"}]},{\"after\":[{\"group\":1,"
    "\"when\":\"success\"}]}]},{\"name\":\"k\",\"queue\":\"q.y\",\"hold\":true,"
    "\"tasks\":[{}]}]}"};

static const char *const words[] = {"null",
                                    "true",
                                    "-1",
                                    "0",
                                    "1e999",
                                    "0.5",
                                    "9223372036854775807",
                                    "1.0",
                                    "\"\"",
                                    "{}",
                                    "[]",
                                    "[[[[",
                                    "\"a\"",
                                    "\"n0\"",
                                    "\"rack\"",
                                    "\"island\"",
                                    "\"a in (b)\"",
                                    "-0",
                                    "\\u0000",
                                    "\\ud800",
                                    "\"j\"",
                                    "{\"a\":1}",
                                    "1e-5",
                                    "4294967.2954",
                                    "\"max_tasks\":1,",
                                    "\"child\":{},",
                                    "{\"fraction\":0.1}",
                                    "{\"weight\":3}",
                                    "1125899.9068426",
                                    "\"gpu@p\":",
                                    "\"above-min\"",
                                    ","};

static size_t pick(size_t bound)
{
    return bound ? (size_t)(chance() % bound) : 0;
}

/* Put `length` bytes in place of the `gone` bytes at `at`. */
static void replace(struct text *text, size_t at, size_t gone, const char *bytes, size_t length)
{
    struct text out = {NULL, 0, 0};
    append(text->bytes, at, &out);
    append(bytes, length, &out);
    if (text->length > at + gone)
        append(text->bytes + at + gone, text->length - at - gone, &out);
    free(text->bytes);
    *text = out;
}

/* The extent of a value that begins at or after a random place: "1.5", "[...]", "\"a\"". */
static size_t find_value(const struct text *text, size_t *at)
{
    size_t depth = 0;
    size_t end;
    *at = pick(text->length);
    while (*at < text->length && !strchr("[{\"-0123456789tfn", text->bytes[*at]))
        ++*at;
    for (end = *at; end < text->length; end++) {
        char c = text->bytes[end];
        if (c == '[' || c == '{')
            depth++;
        else if ((c == ',' || c == ']' || c == '}') && depth == 0)
            break;
        else if (c == ']' || c == '}')
            depth--;
    }
    return end - *at;
}

static void mutate(struct text *text, const struct text *other)
{
    if (text->length == 0)
        return;
    size_t at = pick(text->length + 1);
    size_t span = pick(text->length - at + 1);
    const char *word = words[pick(sizeof(words) / sizeof(words[0]))];
    size_t from = pick(other->length);
    char byte = (char)chance();
    switch (pick(8)) {
    case 0:
        if (at < text->length)
            text->bytes[at] = byte;
        break;
    case 1:
        replace(text, at, span < 16 ? span : 16, NULL, 0);
        break;
    case 2:
        replace(text, at, 0, word, strlen(word));
        break;
    case 3:
        replace(text, at, 0, other->bytes + from, pick(other->length - from) % 64);
        break;
    case 4:
        text->length = at > 0 ? at : text->length;
        break;
    default: /* the syntax stays good: these get furthest */
        span = find_value(text, &at);
        if (chance() % 4) {
            replace(text, at, span, word, strlen(word));
        } else {
            struct text piece = {NULL, 0, 0};
            size_t length = find_value(other, &from);
            append(other->bytes + from, length, &piece);
            replace(text, at, span, piece.bytes, piece.length);
            free(piece.bytes);
        }
    }
}

static struct text load(const char *path)
{
    struct text text = {NULL, 0, 0};
    char buffer[4096];
    size_t got;
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "fuzz_scenario: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    while ((got = fread(buffer, 1, sizeof(buffer), file)) > 0)
        append(buffer, got, &text);
    fclose(file);
    if (text.length == 0)
        append("{}", 2, &text);
    return text;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
    size_t files = argc > 3 ? (size_t)(argc - 3) : 0;
    size_t built_in_count = sizeof(built_in) / sizeof(built_in[0]);
    struct text *seeds = must(calloc(files + built_in_count, sizeof(*seeds)));
    struct timespec begin;
    struct timespec now;
    uint64_t rounds = 0;
    printf("fuzz_scenario: seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    for (size_t i = 0; i < built_in_count; i++)
        append(built_in[i], strlen(built_in[i]), &seeds[i]);
    for (size_t i = 0; i < files; i++)
        seeds[built_in_count + i] = load(argv[3 + i]);
    chance_state = seed;
    timespec_get(&begin, TIME_UTC);
    do {
        struct text text = {NULL, 0, 0};
        const struct text *first = &seeds[pick(files + built_in_count)];
        append(first->bytes, first->length, &text);
        for (size_t n = pick(6); n-- > 0;)
            mutate(&text, &seeds[pick(files + built_in_count)]);
        /* a block of its own size, so that a sanitizer sees reads past its end */
        uint8_t *exact = must(malloc(text.length ? text.length : 1));
        if (text.length > 0)
            memcpy(exact, text.bytes, text.length);
        LLVMFuzzerTestOneInput(exact, text.length);
        free(exact);
        free(text.bytes);
        rounds++;
        timespec_get(&now, TIME_UTC);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
             seconds);
    printf("fuzz_scenario: %llu inputs, no failure\n", (unsigned long long)rounds);
    for (size_t i = 0; i < files + built_in_count; i++)
        free(seeds[i].bytes);
    free(seeds);
    return 0;
}

#endif
