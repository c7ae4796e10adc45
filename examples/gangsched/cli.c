/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* errno of the first write to standard output that failed; 0: none did. */
static int output_error;

/* ---- messages ---- */

/* Lines are put together here and written in one piece, so that those of parallel runs stay whole.
 */
struct line {
    char text[8192];
    size_t length;
};

__attribute__((format(printf, 2, 0))) static void line_vadd(struct line *line, const char *format,
                                                            va_list arguments)
{
    size_t cap = sizeof line->text - line->length;
    int n = vsnprintf(line->text + line->length, cap, format, arguments);
    if (n > 0) {
        line->length += (size_t)n < cap ? (size_t)n : cap - 1;
    }
}

__attribute__((format(printf, 2, 3))) static void line_add(struct line *line, const char *format,
                                                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    line_vadd(line, format, arguments);
    va_end(arguments);
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

/* File names and input reach the terminal here: no escape sequence may. */
static void line_print(struct line *line)
{
    for (size_t i = 0; i < line->length; i++) {
        if (is_control(line->text[i])) {
            line->text[i] = '?';
        }
    }
    fflush(stdout);
    fprintf(stderr, "%s\n", line->text);
}

int cli_fail(const char *file, const struct gang_error *error)
{
    struct line line = {"", 0};
    line_add(&line, "gangsched: ");
    if (file != NULL) {
        line_add(&line, "%s: ", file);
    }
    if (error->line > 0) {
        line_add(&line, "line %" PRId64, error->line);
        if (error->column > 0) {
            line_add(&line, ", column %" PRId64, error->column);
        }
        line_add(&line, ": ");
    }
    if (error->path[0] != '\0') {
        line_add(&line, "%s: ", error->path);
    }
    line_add(&line, "%s", error->text[0] != '\0' ? error->text : gang_strerror(error->code));
    line_print(&line);
    return CLI_WRONG;
}

gang_result cli_read_cases(const char *file, gang_scenarios **scenarios, struct gang_error *error)
{
    gang_result result = gang_scenarios_read_file(file, scenarios, error);
    const char *text;
    for (size_t i = 0; result == GANG_OK && (text = gang_scenarios_warning(*scenarios, i)); i++) {
        cli_failf(file, "warning: %s", text);
    }
    return result;
}

int cli_failf(const char *file, const char *format, ...)
{
    struct line line = {"", 0};
    va_list arguments;
    line_add(&line, "gangsched: ");
    if (file != NULL) {
        line_add(&line, "%s: ", file);
    }
    va_start(arguments, format);
    line_vadd(&line, format, arguments);
    va_end(arguments);
    line_print(&line);
    return CLI_WRONG;
}

int cli_fail_errno(const char *file, int number)
{
    return cli_failf(file, "%s", strerror(number));
}

int cli_no_memory(void)
{
    return cli_failf(NULL, "out of memory");
}

/* ---- options ---- */

static void print_usage(FILE *file, const struct cli_command *command)
{
    fprintf(file, "usage: gangsched %s%s%s\n", command->name, command->usage[0] != '\0' ? " " : "",
            command->usage);
}

int cli_wrong_usage(const struct cli_command *command, const char *format, ...)
{
    struct line line = {"", 0};
    va_list arguments;
    line_add(&line, "gangsched: ");
    va_start(arguments, format);
    line_vadd(&line, format, arguments);
    va_end(arguments);
    line_print(&line);
    print_usage(stderr, command);
    return CLI_WRONG;
}

/* The option that `word` (after its dashes) names, up to a '='. */
static const struct cli_option *find_option(const struct cli_command *command, const char *word)
{
    size_t length = strcspn(word, "=");
    const struct cli_option *option = command->options;
    for (; option != NULL && option->name != NULL; option++) {
        if (strlen(option->name) == length && strncmp(option->name, word, length) == 0) {
            return option;
        }
    }
    return NULL;
}

/* Take the option at argv[*at]; moves *at on to its value if that is an argument of its own. */
static int take_option(const struct cli_command *command, int argc, char **argv, int *at)
{
    const char *word = argv[*at] + 2;
    const char *equals = strchr(word, '=');
    const struct cli_option *option = find_option(command, word);
    if (option == NULL) {
        return cli_wrong_usage(command, "unknown option '%s'", argv[*at]);
    }
    if (option->flag != NULL) {
        if (equals != NULL) {
            return cli_wrong_usage(command, "option '--%s' takes no value", option->name);
        }
        *option->flag = true;
        return CLI_GO_ON;
    }
    if (*option->value != NULL) {
        return cli_wrong_usage(command, "option '--%s' is given twice", option->name);
    }
    if (equals != NULL) {
        *option->value = equals + 1;
    } else if (*at + 1 < argc) {
        *option->value = argv[++*at];
    } else {
        return cli_wrong_usage(command, "option '--%s' needs a value", option->name);
    }
    return CLI_GO_ON;
}

int cli_parse(const struct cli_command *command, int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_usage(stdout, command);
            cli_printf("\n%s", command->help);
            return CLI_OK;
        }
        if (strcmp(argv[i], "--") == 0) {
            for (i++; i < *argc; i++) {
                argv[kept++] = argv[i];
            }
        } else if (argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[kept++] = argv[i];
        } else if (argv[i][1] != '-') {
            return cli_wrong_usage(command, "unknown option '%s'", argv[i]);
        } else {
            int status = take_option(command, *argc, argv, &i);
            if (status != CLI_GO_ON) {
                return status;
            }
        }
    }
    *argc = kept;
    return CLI_GO_ON;
}

int cli_parse_file(const struct cli_command *command, int *argc, char **argv)
{
    int status = cli_parse(command, argc, argv);
    if (status != CLI_GO_ON) {
        return status;
    }
    if (*argc < 2) {
        return cli_wrong_usage(command, "no file is given");
    }
    if (*argc > 2) {
        return cli_wrong_usage(command, "unexpected argument '%s'", argv[2]);
    }
    return CLI_GO_ON;
}

bool cli_parse_number(const char *text, int64_t min, int64_t max, int64_t *number)
{
    char *end;
    if (text[0] == '\0' || strspn(text, "-0123456789") != strlen(text)) {
        return false;
    }
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || value < min || value > max) {
        return false;
    }
    *number = value;
    return true;
}

/* ---- standard output ---- */

static void remember_error(void)
{
    if (output_error == 0) {
        output_error = errno != 0 ? errno : EIO;
    }
}

int cli_write(const char *bytes, size_t length, void *user)
{
    (void)user;
    errno = 0;
    if (output_error == 0 && fwrite(bytes, 1, length, stdout) < length) {
        remember_error();
    }
    return output_error == 0 ? 0 : -1;
}

void cli_printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    errno = 0;
    if (output_error == 0 && vprintf(format, arguments) < 0) {
        remember_error();
    }
    va_end(arguments);
}

void cli_print_text(const char *text)
{
    while (*text != '\0') {
        size_t harmless = 0;
        while (text[harmless] != '\0' && !is_control(text[harmless])) {
            harmless++;
        }
        cli_write(text, harmless, NULL);
        text += harmless;
        if (*text != '\0') {
            cli_write("?", 1, NULL);
            text++;
        }
    }
}

bool cli_output_ok(void)
{
    return output_error == 0;
}

int cli_finish(int status)
{
    errno = 0;
    if (fflush(stdout) != 0) {
        remember_error();
    }
    if (output_error == 0) {
        return status;
    }
    if (output_error != EPIPE) {
        cli_fail_errno("standard output", output_error);
    }
    return CLI_WRONG;
}

/* ---- terminal ---- */

bool cli_terminal(int descriptor)
{
    const char *term = getenv("TERM");
    return isatty(descriptor) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

bool cli_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* ---- numbers as text ---- */

struct cli_text cli_number(int64_t number)
{
    struct cli_text text;
    char digits[24];
    size_t out = 0;
    uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    int count = snprintf(digits, sizeof digits, "%" PRIu64, magnitude);
    if (number < 0) {
        text.s[out++] = '-';
    }
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) {
            text.s[out++] = ',';
        }
        text.s[out++] = digits[i];
    }
    text.s[out] = '\0';
    return text;
}

struct cli_text cli_bytes(int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    struct cli_text text;
    double value = (double)bytes;
    size_t unit = 0;
    /* A machine with 1.5 TiB is known by its 1536 GiB. */
    while (unit + 1 < sizeof units / sizeof units[0] && value >= (unit < 3 ? 1024 : 10240)) {
        value /= 1024;
        unit++;
    }
    double rounded = round(value);
    if (fabs(value - rounded) < 0.05 || value >= 100) {
        snprintf(text.s, sizeof text.s, "%.30s %s", cli_number((int64_t)rounded).s, units[unit]);
    } else {
        snprintf(text.s, sizeof text.s, "%.1f %s", value, units[unit]);
    }
    return text;
}

struct cli_text cli_milli(int64_t milli)
{
    struct cli_text text = cli_number(milli / 1000);
    int rest = (int)(milli % 1000);
    if (rest != 0) {
        size_t length = strlen(text.s);
        snprintf(text.s + length, sizeof text.s - length, ".%03d", rest < 0 ? -rest : rest);
        length = strlen(text.s);
        while (text.s[length - 1] == '0') {
            text.s[--length] = '\0';
        }
    }
    return text;
}

struct cli_text cli_percent(int64_t part, int64_t whole)
{
    struct cli_text text = {"-"};
    if (whole > 0) {
        snprintf(text.s, sizeof text.s, "%.1f %%", 100.0 * (double)part / (double)whole);
    }
    return text;
}

struct cli_text cli_duration(double seconds)
{
    struct cli_text text;
    int64_t whole = (int64_t)llround(seconds);
    if (seconds > 0 && seconds < 10) {
        snprintf(text.s, sizeof text.s, "%.1f s", seconds);
    } else if (whole < 60) {
        snprintf(text.s, sizeof text.s, "%" PRId64 " s", whole);
    } else if (whole < 3600) {
        snprintf(text.s, sizeof text.s, "%" PRId64 " min %" PRId64 " s", whole / 60, whole % 60);
    } else if (whole < 86400) {
        snprintf(text.s, sizeof text.s, "%" PRId64 " h %" PRId64 " min", whole / 3600,
                 whole % 3600 / 60);
    } else {
        snprintf(text.s, sizeof text.s, "%" PRId64 " d %" PRId64 " h", whole / 86400,
                 whole % 86400 / 3600);
    }
    return text;
}

bool cli_grow(void **array, size_t *cap, size_t count, size_t size)
{
    if (count < *cap) {
        return true;
    }
    size_t larger = count < 16 ? 16 : count * 2;
    void *moved = realloc(*array, larger * size);
    if (moved == NULL) {
        return false;
    }
    *array = moved;
    *cap = larger;
    return true;
}

char *cli_copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

int64_t cli_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

size_t cli_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}
