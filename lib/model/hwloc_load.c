/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a topology for a caller without one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "model/hwloc_scan.h"

enum {
    FILE_MOST = 256 << 20, /* bytes of an XML file; those of real machines have less than 4 MiB */
    FILE_GUESS = 64 << 10, /* bytes to begin with where the size is unknown (pipes) */
    SYNTHETIC_PROCESSORS = 16384 /* hwloc's memory grows with the square of them */
};

/* ---- files ----------------------------------------------------------------------------------- */

static gang_result io_error(struct gang_error *error, int number)
{
    const char *text = number == ENOENT || number == ENOTDIR ? "no such file"
                       : number == EACCES                    ? "permission denied"
                       : number == EISDIR                    ? "a directory"
                                                             : "cannot be read";
    return gang__error(error, GANG_EIO, "source", "%s (errno %d)", text, number);
}

static gang_result too_long(struct gang_error *error)
{
    return gang__error(error, GANG_ELIMIT, "source", "more than %d bytes", FILE_MOST);
}

/* Reads all there is into *text, with a NUL behind it that *length does not count. */
static gang_result read_all(const struct gang_mem *mem, int fd, size_t guess, void **text,
                            size_t *length, struct gang_error *error)
{
    size_t cap = 0;
    for (ssize_t got = 1; got != 0;) {
        size_t need = (*length < guess ? guess : *length) + 2;
        if (!gang__grow(mem, text, &cap, need, 1))
            return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
        got = read(fd, (char *)*text + *length, cap - 1 - *length);
        if (got < 0 && errno != EINTR)
            return io_error(error, errno);
        if (got > 0)
            *length += (size_t)got;
        if (*length > FILE_MOST)
            return too_long(error);
    }
    ((char *)*text)[*length] = '\0';
    return GANG_OK;
}

/* hwloc could read the file itself, but would read "-" as standard input and, with libxml2, a URL
 * as a place in the network; and it cannot distinguish a missing file from a malformed one. */
static gang_result read_file(const struct gang_mem *mem, const char *path, void **text,
                             size_t *length, struct gang_error *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return io_error(error, errno);
    gang_result r = GANG_OK;
    size_t guess = FILE_GUESS;
    if (fstat(fd, &status) != 0)
        r = io_error(error, errno);
    else if (S_ISREG(status.st_mode) && status.st_size > FILE_MOST)
        r = too_long(error);
    else if (S_ISREG(status.st_mode))
        guess = (size_t)status.st_size;
    if (r == GANG_OK)
        r = read_all(mem, fd, guess, text, length, error);
    (void)close(fd);
    return r;
}

/* ---- topologies ------------------------------------------------------------------------------ */

static gang_result unreadable(struct gang_error *error, const char *what)
{
    unsigned version = hwloc_get_api_version();
    if (errno == ENOMEM)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    return gang__error(error, GANG_EPARSE, "source", "not %s that this hwloc (API %u.%u) reads",
                       what, version >> 16, version >> 8 & 0xff);
}

static gang_result set_xml(const struct gang_mem *mem, hwloc_topology_t topology, const char *path,
                           struct gang_error *error)
{
    void *text = NULL;
    size_t length = 0;
    gang_result r = read_file(mem, path, &text, &length, error);
    if (r == GANG_OK)
        r = gang__hwloc_gate(text, length, error);
    errno = 0;
    if (r == GANG_OK && hwloc_topology_set_xmlbuffer(topology, text, (int)length + 1) != 0)
        r = unreadable(error, "an XML topology");
    gang__release(mem, text);
    return r;
}

/* The number of processors of a description: the product of its counts outside of the parentheses
 * of attributes and the brackets of memory; or more than SYNTHETIC_PROCESSORS. */
static long synthetic_processors(const char *text)
{
    long product = 1;
    while (*text) {
        if (*text == '(' || *text == '[') {
            text += strcspn(text, *text == '(' ? ")" : "]");
            text += *text != '\0';
            continue;
        }
        size_t token = strcspn(text, " \t\n([");
        const char *count = text;
        for (size_t i = 0; i < token; i++)
            if (text[i] == ':')
                count = text + i + 1;
        long value = 0;
        for (; *count >= '0' && *count <= '9' && value <= SYNTHETIC_PROCESSORS; count++)
            value = value * 10 + (*count - '0');
        if (value > 0)
            product *= value;
        if (product > SYNTHETIC_PROCESSORS)
            return product;
        text += token + (token == 0);
    }
    return product;
}

static gang_result set_synthetic(hwloc_topology_t topology, const char *text,
                                 struct gang_error *error)
{
    if (synthetic_processors(text) > SYNTHETIC_PROCESSORS)
        return gang__error(error, GANG_ELIMIT, "source", "more than %d processors",
                           SYNTHETIC_PROCESSORS);
    errno = 0;
    if (hwloc_topology_set_synthetic(topology, text) != 0)
        return unreadable(error, "a synthetic description");
    return GANG_OK;
}

/* Sets what hwloc looks for: devices that matter, and no caches. */
static gang_result load(hwloc_topology_t topology, int32_t kind, struct gang_error *error)
{
    errno = 0;
    if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
        hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
        hwloc_topology_load(topology) == 0)
        return GANG_OK;
    if (kind == GANG_HWLOC_THIS && errno != ENOMEM)
        return io_error(error, errno);
    return unreadable(error,
                      kind == GANG_HWLOC_XML_FILE ? "an XML topology" : "a synthetic description");
}

gang_result gang__hwloc_describe_source(const struct gang_mem *mem, int32_t kind,
                                        const char *source, const char *name,
                                        struct gang_node_spec **spec, struct gang_error *error)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang_result r = GANG_OK;
    if (kind == GANG_HWLOC_XML_FILE)
        r = set_xml(mem, topology, source, error);
    else if (kind == GANG_HWLOC_SYNTHETIC)
        r = set_synthetic(topology, source, error);
    if (r == GANG_OK)
        r = load(topology, kind, error);
    if (r == GANG_OK)
        r = gang__hwloc_describe(mem, topology, name, spec, error);
    if (r == GANG_EINVAL) /* the arguments are right, so it is the text */
        r = gang__error(error, GANG_EPARSE, "source", "the topology contradicts itself");
    hwloc_topology_destroy(topology);
    return r;
}

gang_result gang_node_spec_from_hwloc_source(int32_t kind, const char *source, const char *name,
                                             struct gang_node_spec **spec, struct gang_error *error)
{
    if (!spec)
        return gang__error(error, GANG_EINVAL, NULL, "nowhere to put the specification");
    *spec = NULL;
    if (kind != GANG_HWLOC_THIS && kind != GANG_HWLOC_XML_FILE && kind != GANG_HWLOC_SYNTHETIC)
        return gang__error(error, GANG_EINVAL, "kind", "%ld is not one of GANG_HWLOC_*",
                           (long)kind);
    if (kind != GANG_HWLOC_THIS && !source)
        return gang__error(error, GANG_EINVAL, "source", "missing");
    gang_result r = name ? gang__text_check(name, false) : GANG_OK;
    if (r != GANG_OK)
        return gang__error(error, r, "name", "empty, too long, or not plain UTF-8 text");
    return gang__hwloc_describe_source(&gang__mem_libc, kind, source, name, spec, error);
}
