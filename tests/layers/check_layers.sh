#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The order of the rooms: each file includes only what its room may know. Prints one line for each
# violation, "FILE:LINE: what", and exits with 1 if there is any.
#   check_layers.sh [ROOT]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1:-$here/../..}"

includes() { # FILE -> "LINE DELIMITER PATH" of each #include
    awk -f "$here/../tools/strip_comments.awk" "$1" |
        sed -n -E '=; s/^[[:space:]]*#[[:space:]]*include[[:space:]]*([<"])([^>"]+)[>"].*/\1 \2/p' |
        awk '/^[0-9]+$/ { line = $0; next } { print line, $0 }'
}

# All files with their includes, one "FILE LINE DELIMITER PATH LOCAL" a line. LOCAL is 1 for a
# quoted path that is found beside the including file.
all_includes() {
    local file line delimiter path
    find . \( -path './include/*' -o -path './lib/*' -o -path './examples/*' -o -path './bindings/*' \) \
        -type f \( -name '*.h' -o -name '*.c' -o -name '*.cc' -o -name '*.cpp' \) -printf '%P\n' | sort |
        while read -r file; do
            includes "$file" | while read -r line delimiter path; do
                if [[ $delimiter == '"' && -e ${file%/*}/$path ]]; then
                    echo "$file $line $delimiter $path 1"
                else
                    echo "$file $line $delimiter $path 0"
                fi
            done
        done
}

all_includes | awk '
    function fail(what) { print $1 ":" $2 ": " what; bad = 1 }
    function stem(path) { sub(/.*\//, "", path); sub(/\.h$/, "", path); return path }
    BEGIN {
        n = split("base model core place queue plan record sched sim", rooms, " ")
        for (i = 1; i <= n; i++) rank[rooms[i]] = i
        n = split("assert complex ctype errno fenv float inttypes iso646 limits locale math " \
                  "setjmp signal stdarg stdbool stddef stdint stdio stdlib string tgmath time " \
                  "wchar wctype", names, " ")
        for (i = 1; i <= n; i++) c_library["" names[i] ".h"] = 1
    }
    {
        path = $4
        public = path ~ /^gangsched\/[a-z0-9_]+\.h$/ && !($3 == "\"" && $5 == 1)
        n = split($1, part, "/")
        head = path
        sub(/\/.*/, "", head)
    }

    # Public headers: the C library and each other, in the order of the rooms.
    part[1] == "include" {
        me = stem($1)
        if (public) {
            other = stem(path)
            if (other == "hwloc")
                fail("a public header must not include <" path ">")
            else if ((me in rank) && ((other in rank && rank[other] > rank[me]) || other == "gangsched"))
                fail("public header of " me " includes the higher one of " other)
        } else if (!(path in c_library) && !(me == "hwloc" && path == "hwloc.h" && $3 == "<"))
            fail("a public header must not include " path)
        next
    }

    # Examples and bindings: public headers, other libraries, and files of their own.
    part[1] == "examples" || part[1] == "bindings" {
        if ($3 == "\"" && !public && $5 == 0)
            fail("only public headers are for " part[1] ", not \"" path "\"")
        next
    }

    # Rooms of the library.
    part[1] == "lib" {
        me = part[2]
        if (!(me in rank)) { fail("no room is called " me); next }
        if (public) {
            other = stem(path)
            if (me != "sim" && ((other in rank && rank[other] > rank[me]) || other == "gangsched"))
                fail("room " me " includes the higher public header <" path ">")
        } else if ($3 == "\"") {
            if (!(head in rank) || head == path)
                fail("write \"room/file.h\", not \"" path "\"")
            else if (me == "sim" && head != "sim" && head != "base")
                fail("sim uses the public headers and base only, not \"" path "\"")
            else if (rank[head] > rank[me])
                fail("room " me " includes the higher room " head " (\"" path "\")")
        } else if (head in rank) {
            fail("write \"" path "\", not <" path ">")
        }
    }
    END { exit bad }'
