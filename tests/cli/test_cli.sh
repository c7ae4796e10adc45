#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command line as a whole: help, wrong usage, output that cannot be written, manual pages; and
# the example programs. Needs GANG_BIN_DIR.
# shellcheck source-path=SCRIPTDIR source=cli_support.sh disable=SC1091,SC2154,SC2317
source "$(dirname "${BASH_SOURCE[0]}")/cli_support.sh"

# ---- help and version ----

help_is_the_same() { # COMMAND
    "$gangsched" "$1" --help >"$scratch/a"
    "$gangsched" help "$1" >"$scratch/b"
    "$gangsched" "$1" --json --help >"$scratch/c"
    diff "$scratch/a" "$scratch/b"
    diff "$scratch/a" "$scratch/c"
    grep -q "^usage: gangsched $1 " "$scratch/a"
    # It fits a terminal.
    awk 'length > 100 {exit 1}' "$scratch/a"
}
check help_of_topo help_is_the_same topo
check help_of_replay help_is_the_same replay
check help_of_validate help_is_the_same validate
check help_of_forecast help_is_the_same forecast
check help_of_plan help_is_the_same plan

help_names_all_commands() {
    "$gangsched" --help >"$scratch/a"
    "$gangsched" help >"$scratch/b"
    diff "$scratch/a" "$scratch/b"
    local command
    for command in topo replay scenario explain forecast plan validate; do
        grep -q "^  $command " "$scratch/a"
    done
}
check help_names_all_commands help_names_all_commands

version_is_that_of_the_header() {
    local part version=''
    for part in MAJOR MINOR PATCH; do
        version+=.$(awk -v name="GANG_VERSION_$part" '$2 == name {print $3}' \
            "$root/include/gangsched/base.h")
    done
    [[ $("$gangsched" --version) == "gangsched ${version#.} (libgangsched ${version#.})" ]]
}
check version_is_that_of_the_header version_is_that_of_the_header

# ---- wrong usage ----

no_command() {
    local status=0
    "$gangsched" >"$scratch/out" 2>"$scratch/err" || status=$?
    [[ $status -eq 2 && ! -s $scratch/out ]] && grep -q '^usage: ' "$scratch/err"
}
check no_command_is_refused no_command
refuses unknown_command_is_refused "unknown command 'fly'" "$gangsched" fly
refuses unknown_first_option_is_refused "unknown option '--fly'" "$gangsched" --fly
refuses help_of_unknown_command_is_refused "unknown command 'fly'" "$gangsched" help fly
refuses unknown_option_is_refused "unknown option '--fly'" "$gangsched" topo --fly
refuses unknown_short_option_is_refused "unknown option '-x'" "$gangsched" replay -x
refuses missing_value_is_refused "option '--xml' needs a value" "$gangsched" topo --xml
refuses value_of_a_flag_is_refused "option '--json' takes no value" "$gangsched" topo --json=1
refuses option_twice_is_refused "option '--xml' is given twice" "$gangsched" topo --xml a --xml=b
refuses operand_is_refused "unexpected argument 'x'" "$gangsched" topo x
refuses operand_after_dashes_is_refused "unexpected argument '--json'" "$gangsched" topo -- --json
refuses control_characters_are_not_printed "unknown command 'a.b'" "$gangsched" $'a\eb'

usage_line_follows() {
    "$gangsched" topo --fly 2>"$scratch/err" || true
    grep -q '^usage: gangsched topo \[' "$scratch/err"
}
check usage_line_follows_the_message usage_line_follows

# ---- output that cannot be written ----

machine=(topo --synthetic "pack:2 numa:1 core:4 pu:2")
closed_output() {
    "$gangsched" "$@" >&-
}
full_output() {
    "$gangsched" "$@" >/dev/full
}
refuses closed_output_is_an_error "standard output: Bad file descriptor" closed_output "${machine[@]}"
refuses closed_output_of_help_is_an_error "standard output: " closed_output help
if [[ -e /dev/full ]]; then
    refuses full_output_is_an_error "standard output: No space" full_output "${machine[@]}"
    refuses full_output_of_json_is_an_error "standard output: No space" full_output \
        "${machine[@]}" --json
    refuses full_output_of_version_is_an_error "standard output: No space" full_output --version
else
    skip full_output_is_an_error "no /dev/full"
fi

reader_gone() {
    local status=0
    # More than a pipe holds, so that the reader is gone before the end.
    { "$gangsched" topo --synthetic "pack:2 numa:128 core:4 pu:1" --json || status=$?
        echo "$status" >"$scratch/status"; } 2>"$scratch/err" | head -c 1 >/dev/null
    [[ $(<"$scratch/status") -eq 2 && ! -s $scratch/err ]]
}
check reader_gone_ends_quietly reader_gone

standard_streams_closed() {
    # Nothing that the program opens may take the place of a closed stream.
    "$gangsched" "${machine[@]}" >"$scratch/first"
    "$gangsched" "${machine[@]}" <&- 2>&- >"$scratch/second"
    diff "$scratch/first" "$scratch/second"
}
check closed_input_and_error_do_no_harm standard_streams_closed

# ---- manual pages ----

man_page_tells_all_options() { # COMMAND
    local option
    sed 's/\\-/-/g' "$root/examples/man/gangsched-$1.1" >"$scratch/page"
    "$gangsched" help "$1" | grep -o -e '--[a-z]*' | sort -u | while read -r option; do
        grep -q -e "$option" "$scratch/page" || {
            echo "$option is not in gangsched-$1.1"
            return 1
        }
    done
}
check man_page_of_topo_is_complete man_page_tells_all_options topo
check man_page_of_replay_is_complete man_page_tells_all_options replay
check man_page_of_validate_is_complete man_page_tells_all_options validate

man_pages_have_sections() {
    local page section
    for page in "$root"/examples/man/gangsched{,-topo,-replay,-validate}.1; do
        head -n 1 "$page" | grep -q 'SPDX-License-Identifier: Apache-2.0'
        for section in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' EXAMPLES; do
            grep -qx "\.SH $section" "$page" || { echo "$page: no $section" && return 1; }
        done
    done
}
check man_pages_have_their_sections man_pages_have_sections

# One page for each public header, and one for each function.
pages_of_headers_are_complete() {
    local name
    for name in "$root"/include/gangsched/*.h; do
        name=gangsched_$(basename "$name" .h)
        [[ -s $bin/man3/${name%_gangsched}.3 ]] || { echo "no page $name" && return 1; }
    done
    grep -E '^ *gang_[a-z0-9_]+$' "$root/lib/exports.list" >"$scratch/names"
    [[ -s $scratch/names ]]
    while read -r name; do
        [[ -s $bin/man3/$name.3 ]] || { echo "no page of $name" && return 1; }
    done <"$scratch/names"
}
check pages_of_headers pages_of_headers_are_complete

# The text of a header is in its page, and what troff takes for commands is protected.
pages_of_headers_say_what_headers_say() {
    mkdir "$scratch/man3"
    printf '%s\n' '/**' ' * @file sample.h' ' * @brief A sample.' ' *' ' * .dot' ' *   - one *word*' '' \
        ' */' '' '/** Sum. @return a\b */' 'GANG_API int gang_sample(int a);' >"$scratch/sample.h"
    awk -v folder="$scratch/man3" -v version=1 -f "$root/examples/man/header_page.awk" "$scratch/sample.h"
    cat "$scratch/man3/gangsched_sample.3"
    grep -qx '\\&\.dot' "$scratch/man3/gangsched_sample.3"
    grep -qxF 'one \fIword\fP' "$scratch/man3/gangsched_sample.3"
    grep -qxF 'int gang_sample(int a);' "$scratch/man3/gangsched_sample.3"
    grep -qxF 'a\eb' "$scratch/man3/gangsched_sample.3"
    grep -qxF '.so man3/gangsched_sample.3' "$scratch/man3/gang_sample.3"
}
check pages_say_what_headers_say pages_of_headers_say_what_headers_say

# gangsched-host(7) shows the program that the build compiles, and what it prints.
page_of_hosts_is_true() {
    sed -e 's/\\-/-/g' -e 's/\\(ga/`/g' -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g' -e 's/^\\&//' \
        -e 's/\\e/\\/g' "$root/examples/man/gangsched-host.7" >"$scratch/page"
    awk '/^\/\* A whole host/ {on = 1} /^\.EE$/ {on = 0} on' "$scratch/page" >"$scratch/shown.c"
    [[ -s $scratch/shown.c ]]
    tail -n +2 "$root/examples/small_host.c" | diff "$scratch/shown.c" -
    awk '/^\.EE$/ {on = 0} on; /^\$ \.\/small_host$/ {on = 1}' "$scratch/page" >"$scratch/shown.txt"
    [[ -s $scratch/shown.txt ]]
    "$bin/small_host" | diff "$scratch/shown.txt" -
}
check page_of_hosts_is_true page_of_hosts_is_true

man_pages_format() { # PROGRAM...
    local page
    for page in "$root"/examples/man/*.[17] "$bin"/man3/gangsched*.3; do
        "$@" "$page" >/dev/null 2>"$scratch/warnings"
        # Code in pages of headers may be wider than the paper.
        sed -i -E '/(cannot adjust|can.t break) line/d' "$scratch/warnings"
        [[ ! -s $scratch/warnings ]] || { cat "$scratch/warnings" && return 1; }
    done
}
if command -v groff >/dev/null; then
    check man_pages_format_without_warning man_pages_format groff -man -ww -Tutf8
else
    skip man_pages_format_without_warning "groff is not there"
fi
if command -v mandoc >/dev/null; then
    check man_pages_pass_mandoc man_pages_format mandoc -Tlint -Wwarning
else
    skip man_pages_pass_mandoc "mandoc is not there"
fi

# What a manual page shows below "$ COMMAND".
example() { # PAGE COMMAND
    sed -e 's/\\-/-/g' -e 's/\\(ga/`/g' -e 's/\\(dq/"/g' -e 's/^\\&//' -e 's/\\e/\\/g' \
        "$root/examples/man/$1.1" |
        awk -v command="\$ $2" '/^\.fi$/ || /^\$ / {on = 0} on {print} $0 == command {on = 1}'
}

examples_are_true() {
    local command
    export LC_ALL=C
    cd "$scratch"
    example gangsched "gangsched --version" >shown
    [[ -s shown ]]
    "$gangsched" --version | diff shown -
    for command in 'topo --synthetic "pack:2 numa:1 core:4 pu:2"' 'topo --cluster cluster.json'; do
        example gangsched-topo "cat cluster.json" >cluster.json
        example gangsched-topo "gangsched $command" >shown
        [[ -s shown ]] || { echo "no example of $command" && return 1; }
        eval "\"\$gangsched\" $command" | diff shown -
    done
    example gangsched-replay "workload --gangs 2000 nodes.csv tasks.csv" >shown
    "$bin/workload" --gangs 2000 nodes.csv tasks.csv | diff shown -
    example gangsched-replay "head -n 3 tasks.csv" >shown
    head -n 3 tasks.csv | diff shown -
    # Where the gangs go may become better; what arrives stays.
    example gangsched-replay "gangsched replay --nodes nodes.csv --tasks tasks.csv" >shown
    "$gangsched" replay --nodes nodes.csv --tasks tasks.csv >out
    diff <(head -n 6 shown) <(head -n 6 out)
    diff <(tr -d '0-9., ' <shown | head -n 20) <(tr -d '0-9., ' <out | head -n 20)
}
check examples_of_man_pages_are_true examples_are_true

# ---- example programs ----

first_gang() {
    [[ $(wc -l <"$root/examples/first_gang.c") -lt 40 ]]
    "$bin/first_gang" >"$scratch/out"
    cat "$scratch/out"
    [[ $(grep -c '^task .* on n[1-4], GPUs 0x' "$scratch/out") -eq 17 ]]
    # The chief has no GPU, and no GPU is given twice.
    awk '/^task/ {gpu[$4 " " $6]++} END {for (g in gpu) if (g !~ / 0x00$/ && gpu[g] > 1) exit 1}' \
        "$scratch/out"
}
check first_gang_places_17_tasks first_gang

incremental() {
    "$bin/incremental" >"$scratch/out"
    cat "$scratch/out"
    grep -q 'one GPU is free .*trials: 0$' "$scratch/out"
    grep -q 'the second training ended .*trials: 0 1 2 3$' "$scratch/out"
    grep -q 'given back .*trials: 1 3$' "$scratch/out"
    awk '/the first training ended/ {exit NF != 11}' "$scratch/out"
}
check incremental_grows_and_shrinks incremental

threads() {
    "$bin/threads" >"$scratch/out"
    cat "$scratch/out"
    grep -q '^audit of the cluster: OK$' "$scratch/out"
    [[ $(grep -c '^thread [0-3]: [0-9]* commits' "$scratch/out") -eq 4 ]]
}
check threads_leave_a_sound_cluster threads

exit "$failed"
