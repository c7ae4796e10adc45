/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/topo.h"

#include "gangsched/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const char help[] =
    "Draws a machine: packages, NUMA domains, cores, GPUs and their links, network cards;\n"
    "or a cluster: its topology domains and nodes with what is taken and what is free.\n"
    "\n"
    "  (no option)      the machine on which the program runs\n"
    "  --xml FILE       the machine of an hwloc XML file, as `lstopo FILE.xml` writes it; may be\n"
    "                   compressed with gzip\n"
    "  --synthetic S    a machine by hwloc's synthetic description: \"pack:2 numa:1 core:8 pu:2\"\n"
    "  --cluster FILE   the clusters of a scenario file (JSON; \"-\": standard input); jobs that\n"
    "                   run in it hold their places\n"
    "  --json           a machine: as a scenario, to be used with --cluster; a cluster: its\n"
    "                   domains and nodes with capacity, taken and free\n"
    "\n"
    "Exit status: 0 done, 2 wrong input or usage.\n";

/* Largest XML that is unpacked. */
#define MAX_XML_BYTES ((int64_t)1 << 28)

/* ---- compressed XML ---- */

/* Copy what `from` holds, unpacked, into the open file `to`. */
static int unpack(const char *path, gzFile from, int to)
{
    char chunk[65536];
    int64_t total = 0;
    int code = Z_OK;
    for (;;) {
        errno = 0;
        int got = gzread(from, chunk, sizeof chunk);
        if (got <= 0) {
            const char *text = gzerror(from, &code);
            if (code == Z_ERRNO) {
                return cli_fail_errno(path, errno);
            }
            return got == 0 && code == Z_OK ? CLI_OK
                   : code == Z_BUF_ERROR    ? cli_failf(path, "the compressed file is cut off")
                                            : cli_failf(path, "damaged (%s)", text);
        }
        total += got;
        if (total > MAX_XML_BYTES) {
            return cli_failf(path, "larger than 256 MiB");
        }
        for (int done = 0; done < got;) {
            ssize_t written = write(to, chunk + done, (size_t)(got - done));
            if (written < 0) {
                return cli_fail_errno("temporary file", errno);
            }
            done += (int)written;
        }
    }
}

/* If a file is compressed, unpack it into a temporary file and put its name into `name`;
 * otherwise `name` becomes "". */
static int unpack_if_packed(const char *path, char *name, size_t cap)
{
    const char *folder = getenv("TMPDIR");
    name[0] = '\0';
    errno = 0;
    gzFile from = gzopen(path, "rb");
    if (from == NULL) {
        return cli_fail_errno(path, errno != 0 ? errno : ENOMEM);
    }
    if (gzdirect(from)) {
        gzclose(from);
        return CLI_OK;
    }
    int length = snprintf(name, cap, "%s/gangsched.XXXXXX",
                          folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    int to = length > 0 && (size_t)length < cap ? mkstemp(name) : -1;
    if (to < 0) {
        cli_fail_errno("temporary file", errno);
        name[0] = '\0';
        gzclose(from);
        return CLI_WRONG;
    }
    int status = unpack(path, from, to);
    gzclose(from);
    if (close(to) != 0 && status == CLI_OK) {
        status = cli_fail_errno("temporary file", errno);
    }
    if (status != CLI_OK) {
        unlink(name);
    }
    return status;
}

/* ---- machines ---- */

static int write_machine(const struct gang_node_spec *spec)
{
    struct gang_scenario scenario = GANG_SCENARIO_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    scenario.nodes = spec;
    scenario.node_count = 1;
    gang_result result = gang_scenario_write(&scenario, 2, cli_write, NULL, &error);
    cli_printf("\n");
    if (result == GANG_OK || !cli_output_ok()) {
        return CLI_OK; /* main() tells what went wrong with the output */
    }
    error.code = result;
    return cli_fail(NULL, &error);
}

/* `from` is what messages call the source. */
static int show_machine(int32_t kind, const char *source, const char *from, bool json)
{
    struct gang_node_spec *spec = NULL;
    struct gang_error error = GANG_ERROR_INIT;
    gang_result result = gang_node_spec_from_hwloc_source(kind, source, NULL, &spec, &error);
    if (result != GANG_OK) {
        error.code = result;
        return cli_fail(from, &error);
    }
    int status = json ? write_machine(spec) : topo_draw_machine(spec);
    gang_node_spec_free(spec);
    return status;
}

static int show_xml(const char *path, bool json)
{
    char unpacked[4096];
    int status = unpack_if_packed(path, unpacked, sizeof unpacked);
    if (status != CLI_OK) {
        return status;
    }
    const char *source = unpacked[0] != '\0' ? unpacked : path;
    status = show_machine(GANG_HWLOC_XML_FILE, source, path, json);
    if (unpacked[0] != '\0') {
        unlink(unpacked);
    }
    return status;
}

int cmd_topo(int argc, char **argv)
{
    const char *xml = NULL;
    const char *synthetic = NULL;
    const char *cluster = NULL;
    bool json = false;
    const struct cli_option options[] = {{"xml", &xml, NULL},
                                         {"synthetic", &synthetic, NULL},
                                         {"cluster", &cluster, NULL},
                                         {"json", NULL, &json},
                                         {NULL, NULL, NULL}};
    const struct cli_command command = {
        "topo", "[--xml FILE | --synthetic S | --cluster FILE] [--json]", help, options};
    int status = cli_parse(&command, &argc, argv);
    if (status != CLI_GO_ON) {
        return status;
    }
    if (argc > 1) {
        return cli_wrong_usage(&command, "unexpected argument '%s'", argv[1]);
    }
    if ((xml != NULL) + (synthetic != NULL) + (cluster != NULL) > 1) {
        return cli_wrong_usage(&command, "only one of --xml, --synthetic and --cluster");
    }
    if (cluster != NULL) {
        return topo_show_clusters(cluster, json);
    }
    if (xml != NULL) {
        return show_xml(xml, json);
    }
    if (synthetic != NULL) {
        return show_machine(GANG_HWLOC_SYNTHETIC, synthetic, "--synthetic", json);
    }
    return show_machine(GANG_HWLOC_THIS, NULL, "this machine", json);
}
