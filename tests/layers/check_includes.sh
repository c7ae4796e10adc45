#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Includes between the folders of lib/: a file includes its own folder, and the interface headers of
# lower ones (tests/layers/floors). Public headers follow the same order; examples and bindings see
# nothing but public headers. Prints one line for each violation, "FILE:LINE: what", and exits with
# 1 if there is any.
#   check_includes.sh [ROOT]    ROOT: the project; it holds include/, lib/, tests/layers/floors
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

all_includes | awk -v floors=tests/layers/floors '
    function fail(what) { print $1 ":" $2 ": " what; bad = 1 }
    function stem(path) { sub(/.*\//, "", path); sub(/\.h$/, "", path); return path }
    function folder(path) { sub(/^lib\//, "", path); sub(/\/[^\/]*$/, "", path); return path }
    function component(path) { sub(/\/.*/, "", path); return path }
    BEGIN {
        while ((getline line < floors) > 0) {
            if (line ~ /^#/ || line == "") continue
            split(line, column, " ")
            rank[column[1]] = ++ranks
            interface[column[1]] = column[2]
            top[component(column[1])] = ranks # of a component: its highest folder
        }
        n = split("assert complex ctype errno fenv float inttypes iso646 limits locale math " \
                  "setjmp signal stdarg stdbool stddef stdint stdio stdlib string tgmath time " \
                  "wchar wctype", names, " ")
        for (i = 1; i <= n; i++) c_library["" names[i] ".h"] = 1
        # These are hosts like others: they know the public headers and the tools of base/.
        host["trace"] = host["sim"] = 1
    }
    {
        path = $4
        public = path ~ /^gangsched\/[a-z0-9_]+\.h$/ && !($3 == "\"" && $5 == 1)
        split($1, part, "/")
    }

    # Public headers: the C library and each other, in the order of the components.
    part[1] == "include" {
        me = stem($1)
        if (public) {
            other = stem(path)
            if (other == "hwloc")
                fail("a public header must not include <" path ">")
            else if ((me in top) && ((other in top && top[other] > top[me]) || other == "gangsched"))
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

    # Folders of the library.
    part[1] == "lib" {
        me = folder($1)
        if (!(me in rank)) { fail("the folder " me " is not in the list of floors"); next }
        if (public) {
            other = stem(path)
            if (!(component(me) in host) &&
                ((other in top && top[other] > top[component(me)]) || other == "gangsched"))
                fail("component " component(me) " includes the higher public header <" path ">")
        } else if ($3 == "\"") {
            other = folder(path)
            if (other == path || !(other in rank))
                fail("write \"folder/file.h\", not \"" path "\"")
            else if (rank[other] > rank[me])
                fail("folder " me " includes the higher folder " other " (\"" path "\")")
            else if (other != me && interface[other] != "*" && path != other "/" interface[other])
                fail("the interface of " other " is " interface[other] ", not \"" path "\"")
            else if ((component(me) in host) && !(component(other) in host) && component(other) != "base")
                fail(component(me) " uses the public headers and base only, not \"" path "\"")
        } else if (component(path) in top) {
            fail("write \"" path "\", not <" path ">")
        }
    }
    END { exit bad }'
