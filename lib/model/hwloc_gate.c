/* SPDX-License-Identifier: Apache-2.0 */
/* A gate in front of hwloc's XML reader.
 *
 * hwloc trusts its files: 2.9 dies of an assertion when a cpuset is misspelt and of a NULL
 * pointer when one is missing, recurses as deep as the file nests, and writes to stderr when
 * objects are out of order. A library may do none of that to its host, so this gate reads the
 * text first. It lets pass what hwloc writes. Text that passes is well-formed, has all sets,
 * spelt right and in order, and numbers small enough to allocate by. */
#include <string.h>

#include "base/error.h"
#include "model/hwloc_scan.h"

enum {
    DEPTH = 128,        /* nested elements */
    OBJECTS = 1000000,  /* in a file */
    PROCESSORS = 16384, /* GANG_MAX_CORES of 16 threads each */
    SET_WORDS = 2048,   /* of 32 bits, in a cpuset or nodeset */
    MATRIX = 4096,      /* rows of a distance matrix */
    OS_INDEX = 65535    /* of processors and NUMA domains */
};

/* A piece of the text. */
struct piece {
    const char *at;
    size_t length;
};

/* An element that is open. */
struct level {
    struct piece name;
    bool object;
    int64_t last; /* lowest processor of the last child that has an order; -1: none yet */
};

/* The sets of an object. hwloc has more; they need only be spelt right. */
enum set { CPUSET, COMPLETE_CPUSET, NODESET, COMPLETE_NODESET, SETS };

/* The attributes of an element that the gate checks. */
struct attributes {
    struct piece type;
    struct piece version;
    struct piece allowed_cpuset;
    struct piece allowed_nodeset;
    unsigned sets;       /* bit: the element has this set */
    int64_t first[SETS]; /* its lowest member; INT64_MAX: it is empty */
    int64_t os_index;
};

struct gate {
    const char *start;
    const char *at;
    const char *end; /* a NUL, the only one */
    struct gang_error *error;
    struct level level[DEPTH];
    size_t depth;
    bool seen_root;
    bool version_2;
    unsigned sets;               /* sets of the first object, which all objects must have */
    struct piece allowed_cpuset; /* of the first object */
    struct piece allowed_nodeset;
    size_t objects;
    size_t processors;
    size_t usable_processors;
    size_t numas;
    size_t usable_numas;
};

static gang_result reject_as(struct gate *g, gang_result code, const char *text)
{
    gang__error(g->error, code, NULL, "%s", text);
    if (g->error && g->error->size >= offsetof(struct gang_error, text)) {
        g->error->line = 1;
        for (const char *p = g->start; p < g->at; p++)
            g->error->line += *p == '\n';
    }
    return code;
}

static gang_result reject(struct gate *g, const char *text)
{
    return reject_as(g, GANG_EPARSE, text);
}

static bool equals(struct piece p, const char *text)
{
    return p.at && p.length == strlen(text) && memcmp(p.at, text, p.length) == 0;
}

static bool ends_with(struct piece p, const char *text)
{
    size_t length = strlen(text);
    return p.length >= length && memcmp(p.at + p.length - length, text, length) == 0;
}

/* Counts the characters from p on that are in `set`; or those that are not. */
static size_t span(const struct gate *g, const char *p, const char *set)
{
    size_t n = 0;
    while (p + n < g->end && strchr(set, p[n]))
        n++;
    return n;
}

static size_t until(const struct gate *g, const char *p, const char *set)
{
    size_t n = 0;
    while (p + n < g->end && !strchr(set, p[n]))
        n++;
    return n;
}

static bool follows(const struct gate *g, const char *p, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(g->end - p) >= length && memcmp(p, text, length) == 0;
}

/* Where `text` is, from p on and before `to`; NULL: nowhere. */
static const char *find(const struct gate *g, const char *p, const char *to, const char *text)
{
    while (p < to && !follows(g, p, text))
        p++;
    return p < to ? p : NULL;
}

static struct piece read_name(struct gate *g)
{
    struct piece name = {g->at, span(g, g->at, "abcdefghijklmnopqrstuvwxyz_0123456789")};
    g->at += name.length;
    return name;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A number of at most nine digits; -1: it is not one. */
static int64_t number(struct piece p)
{
    int64_t value = 0;
    if (p.length == 0 || p.length > 9)
        return -1;
    for (size_t i = 0; i < p.length; i++) {
        if (p.at[i] < '0' || p.at[i] > '9')
            return -1;
        value = value * 10 + (p.at[i] - '0');
    }
    return value;
}

/* One 32-bit word of a set: "0x00ff", or nothing for 0; -1: it is neither. */
static int64_t set_word(const char *at, size_t length)
{
    int64_t value = 0;
    if (length == 0)
        return 0;
    if (length < 3 || length > 10 || at[0] != '0' || at[1] != 'x')
        return -1;
    for (size_t i = 2; i < length; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = strchr(digits, at[i]);
        if (!digit || !*digit)
            return -1;
        value = value * 16 + (digit - digits);
    }
    return value;
}

/* The lowest member of a set such as "0xf...f,0x00000001,,0x00ff", the lowest word last; INT64_MAX
 * if it is empty, -1 if it is no set. */
static int64_t set_first(struct piece p)
{
    static const char infinite[] = "0xf...f";
    size_t prefix = sizeof(infinite) - 1;
    bool infinite_set = p.length >= prefix && memcmp(p.at, infinite, prefix) == 0;
    if (infinite_set && p.length == prefix)
        return 0;
    if (infinite_set && p.at[prefix] != ',')
        return -1;
    const char *front = p.at + (infinite_set ? prefix + 1 : 0);
    const char *end = p.at + p.length;
    int64_t first = -1;
    for (int64_t word = 0;; word++) {
        const char *start = end;
        while (start > front && start[-1] != ',')
            start--;
        int64_t value = set_word(start, (size_t)(end - start));
        bool must_be = word == 0 || (start == front && !infinite_set);
        if (value < 0 || word == SET_WORDS || (must_be && start == end))
            return -1;
        for (int64_t bit = 0; first < 0 && bit < 32; bit++)
            if (value >> bit & 1)
                first = word * 32 + bit;
        if (start == front)
            return first >= 0 ? first : infinite_set ? (word + 1) * 32 : INT64_MAX;
        end = start - 1;
    }
}

/* Has a set that set_first() accepted this member? A missing set has all. */
static bool set_has(struct piece p, int64_t member)
{
    if (!p.at)
        return true;
    const char *end = p.at + p.length;
    for (int64_t word = 0; end; word++) {
        const char *start = end;
        while (start > p.at && start[-1] != ',')
            start--;
        if (memchr(start, '.', (size_t)(end - start)))
            return true; /* "0xf...f" */
        if (word == member / 32)
            return set_word(start, (size_t)(end - start)) >> member % 32 & 1;
        end = start > p.at ? start - 1 : NULL;
    }
    return false;
}

static enum set set_of(struct piece name)
{
    return equals(name, "cpuset")             ? CPUSET
           : equals(name, "complete_cpuset")  ? COMPLETE_CPUSET
           : equals(name, "nodeset")          ? NODESET
           : equals(name, "complete_nodeset") ? COMPLETE_NODESET
                                              : SETS;
}

/* ---- elements -------------------------------------------------------------------------------- */

static gang_result set_attribute(struct gate *g, struct attributes *a, struct piece name,
                                 struct piece value)
{
    int64_t first = set_first(value);
    enum set set = set_of(name);
    if (first < 0)
        return reject(g, "a set of processors or NUMA domains that is none");
    if (set != SETS) {
        if (a->sets & 1u << set)
            return reject(g, "a set is given twice");
        a->sets |= 1u << set;
        a->first[set] = first;
    }
    if (equals(name, "allowed_cpuset"))
        a->allowed_cpuset = value;
    else if (equals(name, "allowed_nodeset"))
        a->allowed_nodeset = value;
    return GANG_OK;
}

static gang_result attribute(struct gate *g, struct attributes *a, struct piece name,
                             struct piece value)
{
    if (ends_with(name, "cpuset") || ends_with(name, "nodeset"))
        return set_attribute(g, a, name, value);
    if (equals(name, "type")) {
        a->type = value;
    } else if (equals(name, "version")) {
        a->version = value;
    } else if (equals(name, "os_index")) {
        a->os_index = number(value);
    } else if (equals(name, "nbobjs")) {
        int64_t rows = number(value);
        if (rows < 0 || rows > MATRIX)
            return reject(g, "a matrix of an impossible size");
    }
    return GANG_OK;
}

/* Are all entities of a value among those that hwloc writes? */
static bool entities_ok(const struct gate *g, struct piece value)
{
    static const char *const known[] = {"&amp;", "&lt;",  "&gt;", "&quot;",
                                        "&#9;",  "&#10;", "&#13;"};
    for (size_t i = 0; i < value.length; i++) {
        bool ok = value.at[i] != '&';
        for (size_t k = 0; !ok && k < sizeof(known) / sizeof(known[0]); k++)
            ok = follows(g, value.at + i, known[k]);
        if (!ok)
            return false;
    }
    return true;
}

/* hwloc's own parser, the one without libxml2, silently stops at the first attribute that is not
 * spelt like this: name="value". */
static gang_result attributes(struct gate *g, struct attributes *a)
{
    for (;;) {
        size_t space = span(g, g->at, " \t\n");
        g->at += space;
        if (*g->at == '>' || *g->at == '/')
            return GANG_OK;
        struct piece name = {g->at, span(g, g->at, "abcdefghijklmnopqrstuvwxyz_")};
        if (!space || !name.length || !follows(g, g->at + name.length, "=\""))
            return reject(g, "an attribute is expected");
        const char *start = g->at + name.length + 2;
        struct piece value = {start, until(g, start, "\"<")};
        if (value.at[value.length] != '"')
            return reject(g, "an attribute value without end");
        if (!entities_ok(g, value))
            return reject(g, "an unknown entity");
        gang_result r = attribute(g, a, name, value);
        if (r != GANG_OK)
            return r;
        g->at = value.at + value.length + 1;
    }
}

/* Does hwloc know a type? It accepts some names of old versions in XML only. */
static bool type_known(struct piece type)
{
    static const char *const old[] = {"Cache", "System", "Tile", "Module", "MemCache"};
    char text[32];
    hwloc_obj_type_t found;
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++)
        if (equals(type, old[i]))
            return true;
    if (type.length >= sizeof(text))
        return false;
    memcpy(text, type.at, type.length);
    text[type.length] = '\0';
    return hwloc_type_sscanf(text, &found, NULL, 0) == 0;
}

/* Objects without sets: devices, and notes that users attach. */
static bool is_special(struct piece type)
{
    return equals(type, "Bridge") || equals(type, "PCIDev") || equals(type, "OSDev") ||
           equals(type, "Misc");
}

/* Counts processors and NUMA domains, and how many of them the file allows. */
static gang_result count(struct gate *g, const struct attributes *a)
{
    bool processor = equals(a->type, "PU");
    if (++g->objects > OBJECTS)
        return reject_as(g, GANG_ELIMIT, "too many objects");
    if (!processor && !equals(a->type, "NUMANode"))
        return GANG_OK;
    if (a->os_index < 0 || a->os_index > OS_INDEX)
        return reject(g, "a processor or NUMA domain with an impossible os_index");
    if (processor && ++g->processors > PROCESSORS)
        return reject_as(g, GANG_ELIMIT, "too many processors");
    if (processor)
        g->usable_processors += set_has(g->allowed_cpuset, a->os_index);
    else
        g->numas++, g->usable_numas += set_has(g->allowed_nodeset, a->os_index);
    return GANG_OK;
}

static gang_result object(struct gate *g, const struct attributes *a)
{
    struct level *parent = &g->level[g->depth - 1];
    const unsigned all =
        1u << CPUSET | 1u << COMPLETE_CPUSET | 1u << NODESET | 1u << COMPLETE_NODESET;
    if (!a->type.at)
        return reject(g, "an object without type");
    if (!type_known(a->type))
        return reject(g, "an object of unknown type");
    if (g->objects == 0) {
        g->sets = g->version_2 ? all : a->sets | 1u << CPUSET;
        g->allowed_cpuset = a->allowed_cpuset;
        g->allowed_nodeset = a->allowed_nodeset;
    }
    gang_result r = count(g, a);
    if (r != GANG_OK)
        return r;
    if (is_special(a->type))
        return a->sets ? reject(g, "a device with a set of processors") : GANG_OK;
    if (a->sets != g->sets)
        return reject(g, "an object without its sets of processors and NUMA domains");
    bool complete = (a->sets & 1u << COMPLETE_CPUSET) != 0;
    int64_t first = a->first[complete ? COMPLETE_CPUSET : CPUSET];
    /* Memory has no order; but before version 2 a NUMA domain was the parent of its processors. */
    bool memory = equals(a->type, "NUMANode") || equals(a->type, "MemCache");
    if (memory && (g->version_2 || first == INT64_MAX))
        return GANG_OK;
    if (first < parent->last)
        return reject(g, "objects are not in the order of their processors");
    parent->last = first;
    return GANG_OK;
}

/* Checks where an element stands. hwloc reads only these in an object. */
static gang_result check_position(struct gate *g, struct piece name)
{
    const struct level *parent = g->depth > 0 ? &g->level[g->depth - 1] : NULL;
    if (!parent && (g->seen_root || !(equals(name, "topology") || equals(name, "root"))))
        return reject(g, "not an hwloc topology");
    if (g->depth == DEPTH)
        return reject(g, "nested too deep");
    if (equals(name, "object") && g->depth == 1 && g->objects > 0)
        return reject(g, "a second machine");
    if (equals(name, "object") && g->depth > 1 && !parent->object)
        return reject(g, "an object in something else");
    if (parent && parent->object && !equals(name, "object") && !equals(name, "info") &&
        !equals(name, "page_type") && !equals(name, "userdata") && !equals(name, "distances"))
        return reject(g, "an unknown element in an object");
    return GANG_OK;
}

static gang_result start_tag(struct gate *g)
{
    struct attributes a = {.os_index = -1};
    g->at++;
    struct piece name = read_name(g);
    if (!name.length)
        return reject(g, "an element is expected");
    bool is_object = equals(name, "object");
    gang_result r = check_position(g, name);
    if (r == GANG_OK)
        r = attributes(g, &a);
    if (r != GANG_OK)
        return r;
    if (g->depth == 0) {
        g->seen_root = true;
        g->version_2 = a.version.at && !equals(a.version, "1.0");
    }
    if (is_object && (r = object(g, &a)) != GANG_OK)
        return r;
    bool empty = *g->at == '/';
    g->at += empty;
    if (*g->at != '>')
        return reject(g, "an element without end");
    g->at++;
    if (!empty)
        g->level[g->depth++] = (struct level){name, is_object, -1};
    return GANG_OK;
}

static gang_result end_tag(struct gate *g)
{
    g->at += 2;
    struct piece name = read_name(g);
    const struct piece *open = g->depth ? &g->level[g->depth - 1].name : NULL;
    if (*g->at != '>' || !open || open->length != name.length ||
        memcmp(open->at, name.at, name.length) != 0)
        return reject(g, "the end of an element that is not open");
    g->at++;
    g->depth--;
    return GANG_OK;
}

/* Skips "<?xml ... ?>", "<!DOCTYPE ...>" and comments. The file may not define entities. */
static gang_result skip_markup(struct gate *g)
{
    bool comment = follows(g, g->at, "<!--");
    const char *mark = comment ? "-->" : g->at[1] == '?' ? "?>" : ">";
    const char *end = find(g, g->at + (comment ? 4 : 2), g->end, mark);
    if (!end)
        return reject(g, "an element without end");
    if (!comment) {
        const char *encoding = find(g, g->at, end, "encoding=");
        if (!follows(g, g->at, "<?xml ") && !follows(g, g->at, "<!DOCTYPE "))
            return reject(g, "unknown markup");
        if (g->depth > 0 || memchr(g->at, '[', (size_t)(end - g->at)))
            return reject(g, "a document type of its own");
        if (encoding && !follows(g, encoding + 10, "UTF-8") && !follows(g, encoding + 10, "utf-8"))
            return reject(g, "not in UTF-8");
    }
    g->at = end + strlen(mark);
    return GANG_OK;
}

static gang_result scan(struct gate *g)
{
    for (;;) {
        size_t space = span(g, g->at, " \t\r\n");
        size_t text = until(g, g->at, "<");
        bool in_object = g->depth > 0 && g->level[g->depth - 1].object;
        if (text != space && (g->depth == 0 || in_object)) {
            g->at += space;
            return reject(g, g->depth == 0 ? "not XML" : "text in an object");
        }
        g->at += text;
        if (g->at == g->end)
            return GANG_OK;
        gang_result r = g->at[1] == '/'                      ? end_tag(g)
                        : g->at[1] == '?' || g->at[1] == '!' ? skip_markup(g)
                                                             : start_tag(g);
        if (r != GANG_OK)
            return r;
    }
}

gang_result gang__hwloc_gate(const char *text, size_t length, struct gang_error *error)
{
    struct gate g = {.start = text, .at = text, .end = text + length, .error = error};
    if (length >= 2 && memcmp(text, "\x1f\x8b", 2) == 0)
        return reject(&g, "compressed by gzip; decompress it first");
    if (memchr(text, '\0', length))
        return reject(&g, "not text");
    gang_result r = scan(&g);
    if (r != GANG_OK)
        return r;
    if (g.depth > 0)
        return reject(&g, "the file ends in the middle");
    if (!g.seen_root)
        return reject(&g, "empty");
    if (g.usable_processors == 0)
        return reject(&g, "no processor that may be used");
    if (g.usable_numas == 0 && (g.numas > 0 || g.version_2))
        return reject(&g, "no NUMA domain that may be used");
    return GANG_OK;
}
