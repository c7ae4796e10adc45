/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched-schedules: the schedules that are published of a workload log, and ours. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

enum { WRONG = 2 };

static void usage(FILE *to)
{
    fprintf(to,
            "usage: gangsched-schedules --processors N [--policy NAME]... [--repeat N] [LOG.csv]\n"
            "Run a workload log (standard input if none is named) through the scheduler and "
            "compare each\n"
            "job's wait with the published one. Policies:");
    for (const struct replay_policy *p = replay_policies; p->name; p++)
        fprintf(to, " %s", p->name);
    fprintf(to, " (all if none is named).\n"
                "--repeat N: the log N times, one after the other; nothing is compared.\n"
                "Ends with 0: no job differs; 1: some do; 2: it could not be run.\n");
}

static int64_t number(const char *name, const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < 1 || value > 1000000000) {
        fprintf(stderr, "gangsched-schedules: --%s %s: not a number from 1 to 10^9\n", name, text);
        exit(WRONG);
    }
    return value;
}

static int die(const char *what, const char *why)
{
    fprintf(stderr, "gangsched-schedules: %s: %s\n", what, why);
    return WRONG;
}

struct options {
    int64_t processors, repeat;
    const char *policy[8];
    size_t policies;
    const char *file;
};

static bool is_wanted(const struct options *w, const char *name)
{
    for (size_t i = 0; i < w->policies; i++)
        if (strcmp(w->policy[i], name) == 0)
            return true;
    return w->policies == 0;
}

static bool is_policy(const char *name)
{
    const struct replay_policy *p = replay_policies;
    while (p->name && strcmp(p->name, name) != 0)
        p++;
    return p->name;
}

static struct options read_options(int count, char **words)
{
    static const struct option option[] = {{"processors", 1, NULL, 'n'},
                                           {"policy", 1, NULL, 'p'},
                                           {"repeat", 1, NULL, 'r'},
                                           {"help", 0, NULL, 'h'},
                                           {NULL, 0, NULL, 0}};
    struct options w = {.repeat = 1};
    int c;
    while ((c = getopt_long(count, words, "n:p:r:h", option, NULL)) != -1) {
        if (c == 'n') {
            w.processors = number("processors", optarg);
        } else if (c == 'r') {
            w.repeat = number("repeat", optarg);
        } else if (c == 'p' && w.policies < 8 && is_policy(optarg)) {
            w.policy[w.policies++] = optarg;
        } else if (c == 'p') {
            exit(die(optarg, "no such policy"));
        } else {
            usage(c == 'h' ? stdout : stderr);
            exit(c == 'h' ? 0 : WRONG);
        }
    }
    if (w.processors == 0 || optind + 1 < count) {
        usage(stderr);
        exit(WRONG);
    }
    w.file = words[optind];
    return w;
}

static void tell(const struct replay_log *log, const char *name, const struct replay_result *r)
{
    char published[32] = "-", differing[32] = "-";
    if (r->compared > 0) {
        snprintf(published, sizeof(published), "%.3f", r->published_s);
        snprintf(differing, sizeof(differing), "%zu", r->differing);
    }
    printf("%-22s %8zu %14.3f %14s %10s %9.0f\n", name, log->count, r->wait_s, published, differing,
           (double)log->count / r->cpu_s);
}

int main(int count, char **words)
{
    struct options w = read_options(count, words);
    struct replay_log log;
    FILE *file = w.file ? fopen(w.file, "r") : stdin;
    size_t differing = 0;
    if (!file)
        return die(w.file, strerror(errno));
    if (!replay_read(file, 0, &log))
        return die(w.file ? w.file : "standard input", log.error);
    if (w.repeat > 1 && !replay_repeat(&log, w.repeat))
        return die("--repeat", "out of memory");
    printf("%-22s %8s %14s %14s %10s %9s\n", "policy", "jobs", "wait (s)", "published", "differing",
           "jobs/s");
    for (const struct replay_policy *p = replay_policies; p->name; p++) {
        struct replay_result result;
        if (!is_wanted(&w, p->name))
            continue;
        gang_result r = replay_run(&log, w.processors, p, false, &result);
        if (r != GANG_OK)
            return die(p->name, gang_strerror(r));
        tell(&log, p->name, &result);
        differing += result.differing;
    }
    replay_free(&log);
    if (w.file)
        fclose(file);
    return differing > 0;
}
