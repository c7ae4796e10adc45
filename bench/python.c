/* SPDX-License-Identifier: Apache-2.0 */
/* Starts python_peer.py and reads the latencies that it prints. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "histogram.h"
#include "impl.h"
#include "run.h"

extern char **environ;

const struct bench_impl bench_python = {.name = "python"};

enum { MAX_LOOPS = 64, WORD = 32 };

/* python_peer.py lies beside this program. */
static void script_path(char *path, size_t size)
{
    static const char name[] = "/python_peer.py";
    ssize_t n = readlink("/proc/self/exe", path, size - sizeof(name));
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash : path, name);
}

static FILE *start(char *const *arguments, pid_t *child)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    if (pipe(ends))
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    int r = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (r) {
        close(ends[0]);
        errno = r;
        return NULL;
    }
    return fdopen(ends[0], "r");
}

static void record(const struct bench_loop *loop, const json_t *line, struct bench_results *results)
{
    for (int op = 0; op < BENCH_OPS; op++) {
        const json_t *times = json_array_get(json_object_get(line, "ns"), (size_t)op);
        if (!loop->wanted[op])
            continue;
        if (!json_array_size(times))
            bench_die("%s: nothing was measured", loop->name[op]);
        struct bench_result *r = results_add(results, loop->name[op], 1);
        for (size_t i = 0; i < json_array_size(times); i++)
            histogram_record(r->histogram, json_integer_value(json_array_get(times, i)));
        r->iterations = histogram_count(r->histogram);
        r->mean_ns = histogram_mean(r->histogram);
        r->ops_per_s = 1e9 / r->mean_ns;
        r->refused = loop->kind == LOOP_REFUSE ? r->iterations : 0;
    }
}

bool run_python(const struct bench_loop *loops, size_t count, const struct bench_options *options,
                struct bench_results *results)
{
    const struct bench_scene *scene = &loops[0].scene;
    char path[PATH_MAX], words[MAX_LOOPS + 4][WORD];
    char *arguments[MAX_LOOPS + 10] = {"python3", path};
    size_t n = 2, w = 0;
    script_path(path, sizeof(path));
    double seconds = options->seconds >= 0 ? options->seconds : loops[0].seconds;
    snprintf(words[w], WORD, "%" PRId64, scene->nodes);
    arguments[n++] = words[w++];
    snprintf(words[w], WORD, "%d", scene->fill);
    arguments[n++] = words[w++];
    arguments[n++] = scene->pattern == PATTERN_NODES ? "nodes" : "gpus";
    arguments[n++] = scene->packed ? "packed" : "random";
    snprintf(words[w], WORD, "%" PRIu64, options->seed);
    arguments[n++] = words[w++];
    snprintf(words[w], WORD, "%.6f", seconds);
    arguments[n++] = words[w++];
    for (size_t i = 0; i < count && i < MAX_LOOPS; i++) {
        snprintf(words[w], WORD, "%s:%s:%" PRId64,
                 loops[i].kind == LOOP_REFUSE ? "refuse" : "newest",
                 bench_need[loops[i].request.shape].name, loops[i].request.tasks);
        arguments[n++] = words[w++];
    }

    pid_t child;
    FILE *from = start(arguments, &child);
    if (!from) {
        fprintf(stderr, "gangsched-bench: python3: %s; its cases are left out\n", strerror(errno));
        return false;
    }
    size_t read = 0;
    json_error_t error;
    for (; read < count; read++) {
        json_t *line = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error);
        if (!line)
            break;
        record(&loops[read], line, results);
        json_decref(line);
    }
    while (fgetc(from) != EOF) /* else it would die of a closed pipe */
        ;
    fclose(from);
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) ||
        read < count)
        bench_die("%s: python3 %s failed", loops[read < count ? read : 0].name[0], path);
    return true;
}
