#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Three lists of exported names must be one: lib/exports.list, the GANG_API declarations of the
# public headers, and the dynamic symbols of the shared library.
#   exports.sh [LIBRARY]   check; LIBRARY is build/dev/lib/libgangsched.so by default
#   exports.sh --write     make lib/exports.list say what the headers say: known names stay in
#                          their section, new ones go to the last GANGSCHED_x.y section
#   exports.sh --names     print the names that the headers declare
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
list=$root/lib/exports.list

header_names() {
    local header
    for header in "$root"/include/gangsched/*.h; do
        awk -f "$root/tests/tools/strip_comments.awk" "$header" | awk -v file="${header##*/}" '
            # Preprocessor lines say what GANG_API is, not what is exported.
            /^[ \t]*#/ || more { more = /\\$/; next }
            { text = text " " $0 }
            END {
                n = split(text, part, /[;{}]/)
                for (i = 1; i <= n; i++) {
                    if (!match(part[i], /(^|[^A-Za-z0-9_])GANG_API([^A-Za-z0-9_]|$)/)) continue
                    rest = " " substr(part[i], RSTART + RLENGTH)
                    if (match(rest, /[^A-Za-z0-9_]gang_[A-Za-z0-9_]*[ \t]*\(/)) {
                        name = substr(rest, RSTART + 1, RLENGTH - 2)
                        sub(/[ \t]*$/, "", name)
                        print name
                    } else {
                        print file ": GANG_API without a gang_ function:" rest > "/dev/stderr"
                        bad = 1
                    }
                }
                exit bad
            }'
    done | sort
}

# "SECTION NAME" of each name in exports.list.
listed_names() {
    awk '{ sub(/#.*/, ""); gsub(/[ \t]/, "") }
         /^\[/ { section = substr($0, 2, length($0) - 2); next }
         $0 != "" { print section, $0 }' "$list"
}

# "SECTION NAME" of each dynamic symbol; the nodes themselves are absolute symbols.
library_names() { # LIBRARY
    nm -D --defined-only "$1" | awk '$2 != "A" {
        n = split($3, part, /@+/)
        print (n > 1 ? part[2] : "unversioned"), part[1] }' | sort
}

write_list() {
    local names
    names=$(header_names)
    [[ -e $list ]] || printf '[GANGSCHED_0.2]\n' >"$list"
    NAMES=$names awk '
        BEGIN { n = split(ENVIRON["NAMES"], declared, "\n"); for (i = 1; i <= n; i++) want[declared[i]] = 1 }
        {
            bare = $0
            sub(/#.*/, "", bare)
            gsub(/[ \t]/, "", bare)
        }
        bare ~ /^\[/ {
            section = bare
            order[++sections] = section
            if (section ~ /^\[GANGSCHED_[0-9]/) newest = section
            next
        }
        !sections { head = head $0 "\n"; next }
        bare in want { home[bare] = section; text[bare] = $0 }
        END {
            printf "%s", head
            for (s = 1; s <= sections; s++) {
                if (s > 1) print ""
                print order[s]
                for (i = 1; i <= n; i++) {
                    name = declared[i]
                    if (name == "" || name == declared[i - 1]) continue
                    if ((name in home ? home[name] : newest) == order[s])
                        print (name in text ? text[name] : name)
                }
            }
        }' "$list" >"$list.new"
    mv "$list.new" "$list"
}

compare() { # WHAT LEFT-NAME LEFT RIGHT-NAME RIGHT
    local left right
    left=$(comm -23 <(printf '%s\n' "$3") <(printf '%s\n' "$5"))
    right=$(comm -13 <(printf '%s\n' "$3") <(printf '%s\n' "$5"))
    [[ -z $left ]] || printf 'only in %s, not in %s:\n%s\n' "$2" "$4" "$left"
    [[ -z $right ]] || printf 'only in %s, not in %s:\n%s\n' "$4" "$2" "$right"
    [[ -z $left && -z $right ]] && echo "ok $1" && return 0
    echo "not ok $1"
    return 1
}

case ${1:-} in
--write)
    write_list
    exit 0
    ;;
--names)
    header_names
    exit 0
    ;;
esac

library=${1:-${GANG_BUILD_DIR:-$root/build/dev}/lib/libgangsched.so}
failed=0
headers=$(header_names)
listed=$(listed_names | sort)
compare exports_list_equals_headers \
    lib/exports.list "$(cut -d' ' -f2 <<<"$listed" | sort)" "the headers" "$headers" || failed=1
compare exports_list_equals_library \
    lib/exports.list "$listed" "the library" "$(library_names "$library")" || failed=1
exit $failed
