/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched: the command line of libgangsched. It uses the public headers only. */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/cli.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"topo", cmd_topo, "draw a machine or a cluster"},
    {"replay", cmd_replay, "feed a trace of arriving gangs through the allocator"},
    {"scenario", cmd_scenario, "run cases of clusters, queues and jobs written as JSON"},
    {"explain", cmd_explain, "run such cases and tell why jobs wait"},
    {"forecast", cmd_forecast, "tell when waiting jobs will start, and what if"},
    {"plan", cmd_plan, "draw how long jobs run, and planned starts"},
    {"validate", cmd_validate, "check such files and show what their queues come to"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* Commands of the Python package's program of the same name, which hands on those above. */
static const char *const of_python[] = {"simulate", "compare", "convert", "report"};
enum { OF_PYTHON = sizeof of_python / sizeof of_python[0] };

static const char usage[] = "usage: gangsched COMMAND [OPTION...] | help [COMMAND] | --version\n";

static int print_help(void)
{
    cli_printf("%s\n", usage);
    for (int i = 0; i < COMMANDS; i++) {
        cli_printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    cli_printf("\n\"gangsched help COMMAND\" and \"gangsched COMMAND --help\" tell more.\n"
               "Exit status: 0 done, 1 a check failed, 2 wrong input or usage, 130 Ctrl-C.\n");
    return CLI_OK;
}

static int print_version(void)
{
    cli_printf("gangsched %d.%d.%d (libgangsched %s)\n", GANG_VERSION_MAJOR, GANG_VERSION_MINOR,
               GANG_VERSION_PATCH, gang_version());
    return CLI_OK;
}

static int run_command(int argc, char **argv)
{
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[0], commands[i].name) == 0) {
            return commands[i].run(argc, argv);
        }
    }
    for (int i = 0; i < OF_PYTHON; i++) {
        if (strcmp(argv[0], of_python[i]) == 0) {
            cli_failf(NULL, "'%s' is a command of the Python package: python3 -m gangsched %s",
                      argv[0], argv[0]);
            return CLI_WRONG;
        }
    }
    cli_failf(NULL, "unknown %s '%s'", argv[0][0] == '-' ? "option" : "command", argv[0]);
    fputs(usage, stderr);
    return CLI_WRONG;
}

static int dispatch(int argc, char **argv)
{
    static char help[] = "--help";
    if (argc < 2) {
        fputs(usage, stderr);
        return CLI_WRONG;
    }
    if (strcmp(argv[1], "--version") == 0) {
        return print_version();
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2)) {
        return print_help();
    }
    if (strcmp(argv[1], "help") == 0) {
        char *words[] = {argv[2], help, NULL};
        return run_command(2, words);
    }
    return run_command(argc - 1, argv + 1);
}

/* If a standard stream is closed, the next file that is opened would take its place, and our
 * output would go there. Put something in its place that refuses. */
static void fill_standard_streams(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int descriptor = 0; descriptor < 3; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0) {
            int got = open("/dev/null", modes[descriptor]);
            (void)got; /* the lowest free number, which is this one */
        }
    }
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    setlocale(LC_CTYPE, ""); /* only this: numbers keep their decimal point */
    signal(SIGPIPE, SIG_IGN);
    return cli_finish(dispatch(argc, argv));
}
