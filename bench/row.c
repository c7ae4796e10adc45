/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"

#include <inttypes.h>

#include "impl.h"

void bench_row_name(const struct bench_row *row, char name[BENCH_NAME])
{
    snprintf(name, BENCH_NAME,
             "%s/%s/nodes:%" PRId64 "/gang:%" PRId64 "/fill:100/threads:1/jobs:%" PRId64 "%s",
             bench_gangsched.name, row->op, row->nodes, row->gang, row->jobs, row->more);
}

bool bench_row_wanted(const struct bench_options *options, const regex_t *filter,
                      const struct bench_row *row)
{
    char name[BENCH_NAME];
    bool threads = false, nodes = !options->nodes_given;
    for (size_t i = 0; i < options->thread_count; i++)
        threads = threads || options->threads[i] == 1;
    for (size_t i = 0; i < options->node_count; i++)
        nodes = nodes || options->nodes[i] == row->nodes;
    bench_row_name(row, name);
    return threads && nodes && (!options->filter || regexec(filter, name, 0, NULL, 0) == 0);
}

size_t bench_row_list(const struct bench_options *options, const void *cases, size_t count,
                      size_t bytes, FILE *file)
{
    regex_t filter;
    char name[BENCH_NAME];
    size_t wanted = 0;
    bench_filter_open(options, &filter);
    for (size_t i = 0; i < count; i++) {
        const struct bench_row *row = (const void *)((const char *)cases + i * bytes);
        if (!bench_row_wanted(options, &filter, row))
            continue;
        bench_row_name(row, name);
        wanted++;
        if (file)
            fprintf(file, "%s\n", name);
    }
    bench_filter_close(options, &filter);
    return wanted;
}
