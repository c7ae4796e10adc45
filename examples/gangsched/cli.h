/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of gangsched share: options, messages, output, numbers as text.
 *
 * A command is `int cmd_NAME(int argc, char **argv)`; argv[0] is its name. It returns the exit
 * status. main() checks standard output afterwards, so that a command need not. */
#ifndef GANGSCHED_CLI_H
#define GANGSCHED_CLI_H

#include <gangsched/gangsched.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit status of the program. */
enum {
    CLI_OK = 0,           /* done */
    CLI_FAILED = 1,       /* done, and a check that was asked for failed */
    CLI_WRONG = 2,        /* wrong input or usage, or the output could not be written */
    CLI_INTERRUPTED = 130 /* Ctrl-C; what had been done was printed */
};

int cmd_topo(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_scenario(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_forecast(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_validate(int argc, char **argv);

/* ---- options ---- */

/* `--NAME VALUE` and `--NAME=VALUE` store into *value; `--NAME` sets *flag. One of the two is
 * NULL. An option that is given twice is an error. */
struct cli_option {
    const char *name; /* without the dashes; NULL ends the list */
    const char **value;
    bool *flag;
};

struct cli_command {
    const char *name;  /* "topo" */
    const char *usage; /* what follows the name in the usage line */
    const char *help;  /* the text below the usage line; ends with a line feed */
    const struct cli_option *options;
};

enum { CLI_GO_ON = -1 };

/* Take the options out of argv; --help and -h are understood. What is left in argv[1..*argc-1] are
 * the operands ("-" is one; "--" ends the options). Returns CLI_GO_ON, or the exit status after
 * help or a message was printed. */
int cli_parse(const struct cli_command *command, int *argc, char **argv);

/* The same of a command that has one operand, a file: it is argv[1]. */
int cli_parse_file(const struct cli_command *command, int *argc, char **argv);

/* Print "gangsched: MESSAGE" and the usage line to standard error. Returns CLI_WRONG. */
int cli_wrong_usage(const struct cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A whole number in [least, most]. Returns false and leaves *number alone if it is none. */
bool cli_parse_number(const char *text, int64_t min, int64_t max, int64_t *number);

/* ---- messages: one line on standard error, control characters made harmless ---- */

/* "gangsched: FILE: line L, column C: PATH: TEXT", without the parts that do not apply (file may be
 * NULL). Returns CLI_WRONG. */
int cli_fail(const char *file, const struct gang_error *error);

/* Like gang_scenarios_read_file(); also prints each warning: "gangsched: FILE: warning: TEXT". */
gang_result cli_read_cases(const char *file, gang_scenarios **scenarios, struct gang_error *error);

/* "gangsched: FILE: MESSAGE". Returns CLI_WRONG. */
int cli_failf(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for errno: "gangsched: FILE: No such file or directory". Returns CLI_WRONG. */
int cli_fail_errno(const char *file, int number);

/* Out of memory. Returns CLI_WRONG. */
int cli_no_memory(void);

/* ---- standard output ---- */

/* A gang_write_fn for standard output. 0, or -1 if it cannot be written; main() then says so. */
int cli_write(const char *bytes, size_t length, void *user);

/* The same with printf's format; a failure is remembered for cli_finish(). */
void cli_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text from outside, control characters made harmless. */
void cli_print_text(const char *text);

/* Could everything so far be written? */
bool cli_output_ok(void);

/* Flush and check standard output. Returns `status`, or CLI_WRONG after a message if something
 * could not be written (without a message if the reader of a pipe has gone). */
int cli_finish(int status);

/* ---- terminal ---- */

/* Is the file descriptor a terminal that understands control sequences? */
bool cli_terminal(int descriptor);

/* May UTF-8 be printed (by the locale's character set)? */
bool cli_utf8(void);

/* ---- numbers as text; use as printf("%s", cli_number(n).s) ---- */

struct cli_text {
    char s[48];
};

struct cli_text cli_number(int64_t number);               /* 1,234,567 */
struct cli_text cli_bytes(int64_t bytes);                 /* "512 GiB", "1.5 GiB", "64 KiB" */
struct cli_text cli_milli(int64_t milli);                 /* 1500 as "1.5", 8000 as "8" */
struct cli_text cli_percent(int64_t part, int64_t whole); /* "97.4 %"; "-" if whole is 0 */
struct cli_text cli_duration(double seconds);             /* "12 s", "3 min 20 s", "2 d 4 h" */

/* Has memory for one element more than `count` in an array that malloc() made, or NULL; twice as
 * many as before, at least 16. False: out of memory, and nothing changed. */
bool cli_grow(void **array, size_t *cap, size_t count, size_t size);

/* A copy of a text, which the caller frees; NULL: out of memory. */
char *cli_copy(const char *text);

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t cli_now_ns(void);

/* Columns a UTF-8 text takes, taking one for each code point. */
size_t cli_width(const char *text);

#endif
