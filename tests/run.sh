#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the project in its variants and runs every test. Needs no argument and no prior step;
# installs missing Debian packages. Ends with "N passed, N failed, N skipped"; the exit status is 1
# if anything failed.
#
# What runs, by its name:
#   build/PRESET               dev, release, asan, tsan
#   dev/FOLDER/test_x            each libcheck program; every check in it counts
#   asan/..., tsan/...         the same under AddressSanitizer and UndefinedBehaviorSanitizer, and
#                              under ThreadSanitizer those named test_*_threads; each counts once
#   asan/FOLDER/fuzz_x           each fuzzer for three seconds
#   valgrind/FOLDER/test_x       those named neither _threads nor _slow, and not listed in
#                              tests/tools/valgrind.skip; each counts once
#   helgrind/FOLDER/test_x       one of those named _threads: use of mutexes, not races
#   FOLDER/test_x.sh             shell tests: lines "ok NAME", "not ok NAME", "skip NAME # reason"
#   exports, cppcheck, shellcheck
#
# Environment for developers:
#   GANG_TESTS_ONLY=REGEX   run only what has a matching name (and the builds that it needs)
#   GANG_TESTS_JOBS=N       tests at the same time; the number of processors by default
#   GANG_SHARED=DIR         reference data; ../shared beside the repository by default
# Logs are kept in build/test-logs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. tests/tools/packages.sh

export GANG_SOURCE_DIR=$root
export GANG_SHARED=${GANG_SHARED:-$root/../shared}
# Checks that run in a process of their own may take this many seconds.
export CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-300}
only=${GANG_TESTS_ONLY:-}
jobs=${GANG_TESTS_JOBS:-$(nproc)}
limit=1800 # seconds, for what hangs; a loaded machine takes several times longer than others
logs=$root/build/test-logs
rm -rf "$logs"
mkdir -p "$logs"

passed=0
failed=0
skipped=0
failures=()
names=()  # what waits in the batch
kinds=()  # how its result is counted: checks, shell, once
commands=()

wanted() { # NAME
    [[ -z $only || $1 =~ $only ]]
}

skip() { # NAME REASON
    wanted "$1" || return 0
    skipped=$((skipped + 1))
    printf 'skip  %-42s %s\n' "$1" "$2"
}

add() { # NAME KIND COMMAND...
    wanted "$1" || return 0
    names+=("$1")
    kinds+=("$2")
    commands+=("$(printf '%q ' "${@:3}")")
}

log_of() { # NAME
    echo "$logs/${1//\//.}.log"
}

run_one() { # INDEX; runs in the background
    local log child status=0 start=${EPOCHREALTIME/[.,]/}
    log=$(log_of "${names[$1]}")
    eval "exec timeout -k 20 $limit ${commands[$1]}" >"$log" 2>&1 </dev/null &
    child=$!
    trap 'kill "$child"' TERM
    wait "$child" || status=$?
    echo "$status $(((${EPOCHREALTIME/[.,]/} - start) / 1000))" >"$log.status"
}

# What a reader needs of the log of a failure: not what went well before it.
show_log() { # LOG
    local interesting='^not ok |:[FE]:|ERROR:|FAILED:|error:|CMake Error'
    if (($(wc -l <"$1") > 100)); then
        grep -E "$interesting" "$1" | head -n 40 || true
        echo "..."
    fi
    grep -vE '^(ok|skip) |^\[[0-9]+/[0-9]+\] |^-- |^Preset CMake|^  [A-Z_]+(:[A-Z]+)?=' "$1" |
        tail -n 100 || true
}

report() { # NAME KIND
    local log ok=0 bad=0 skips=0 status=1 ms=0 word=ok what
    log=$(log_of "$1")
    [[ ! -e $log.status ]] || read -r status ms <"$log.status"
    case $2 in
    checks)
        read -r ok bad < <(sed -n -E \
            's/^[0-9]+%: Checks: ([0-9]+), Failures: ([0-9]+), Errors: ([0-9]+)$/\1 \2 \3/p' "$log" |
            awk '{ ok += $1 - $2 - $3; bad += $2 + $3 } END { print ok + 0, bad + 0 }')
        # A program that dies before its last line, or that runs nothing, has failed.
        if ((bad == 0 && (status != 0 || ok == 0))); then bad=1; fi
        what="$ok checks"
        ;;
    shell)
        ok=$(grep -c '^ok ' "$log" || true)
        bad=$(grep -c '^not ok ' "$log" || true)
        skips=$(grep -c '^skip ' "$log" || true)
        if ((bad == 0 && (status != 0 || ok + skips == 0))); then bad=1; fi
        what="$ok checks"
        ;;
    once)
        if ((status == 0)); then ok=1; else bad=1; fi
        what=
        ;;
    esac

    if ((bad)); then
        word=FAIL
        what+=", $bad failed, status $status"
        ((status != 124)) || what+=" (over $limit s)"
        failures+=("$1")
    fi
    printf '%-5s %-42s %4d.%01d s  %s\n' "$word" "$1" $((ms / 1000)) $((ms % 1000 / 100)) "${what#, }"
    if ((skips)); then sed -n 's/^skip /      skipped: /p' "$log"; fi
    if ((bad)); then
        show_log "$log" | sed 's/^/    | /'
        echo "    | (log: $log)"
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    skipped=$((skipped + skips))
}

# Runs the batch, "jobs" at a time, and reports in the order in which it was added.
flush() {
    local i running=0
    for i in "${!names[@]}"; do
        if ((running == jobs)); then
            wait -n || true
            running=$((running - 1))
        fi
        run_one "$i" 2>/dev/null & # bash's own words about signals
        running=$((running + 1))
    done
    wait
    for i in "${!names[@]}"; do report "${names[$i]}" "${kinds[$i]}"; done
    names=()
    kinds=()
    commands=()
}

build() { # PRESET TARGET CONFIGURE-ARGUMENT...
    local log status=0 start=${EPOCHREALTIME/[.,]/}
    log=$(log_of "build/$1")
    # Everything that can be built is, so that the rest of the tests still say something.
    # CC, not CMAKE_C_COMPILER, since that would throw away a cache made with "cc".
    { CC=gcc cmake --preset "$1" "${@:3}" && cmake --build --preset "$1" --target "$2" -- -k 0; } \
        >"$log" 2>&1 || status=$?
    echo "$status $(((${EPOCHREALTIME/[.,]/} - start) / 1000))" >"$log.status"
    report "build/$1" once
}

interrupted() {
    trap - INT TERM
    # shellcheck disable=SC2046 # one word for each job
    kill $(jobs -p) 2>/dev/null || true
    echo "interrupted"
    exit 130
}
trap interrupted INT TERM

gang_install_packages test || {
    echo "FAIL  packages"
    echo "0 passed, 1 failed"
    exit 1
}

# ---- what there is -------------------------------------------------------------------------

programs=()    # FOLDER/NAME of each libcheck program
for source in tests/*/test_*.c; do
    [[ -e $source ]] || continue
    source=${source#tests/}
    programs+=("${source%.c}")
done
scripts=()     # FOLDER/NAME.sh of the shell tests
cli_scripts=() # and of those that run the command line
for source in tests/*/test_*.sh; do
    case ${source#tests/} in
    cli/*) cli_scripts+=("${source#tests/}") ;;
    *) scripts+=("${source#tests/}") ;;
    esac
done

# Some kernels place memory more randomly than the sanitizers of gcc 12 and clang 14 can bear.
fixed_layout=()
if setarch "$(uname -m)" -R true 2>/dev/null; then fixed_layout=(setarch "$(uname -m)" -R); fi

# How a test of each build is started. Under the slow tools tests run in one process, those
# that repeat something many times may do it less often, and hwloc goes without its plugins, which
# leak and are unloaded again before they could be named.
slowly=(CK_FORK=no GANG_TEST_QUICK=1 GANG_SKIP_QUICKSTART=1 HWLOC_PLUGINS_PATH=/nonexistent)
in_dev=(env "GANG_BUILD_DIR=$root/build/dev" "GANG_BIN_DIR=$root/build/dev/examples")
in_asan=("${fixed_layout[@]}" env "${slowly[@]}"
    "GANG_BUILD_DIR=$root/build/asan" "GANG_BIN_DIR=$root/build/asan/examples"
    ASAN_OPTIONS=allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=1
    UBSAN_OPTIONS=print_stacktrace=1)
in_tsan=("${fixed_layout[@]}" env "${slowly[@]}"
    "GANG_BUILD_DIR=$root/build/tsan" "GANG_BIN_DIR=$root/build/tsan/examples"
    "TSAN_OPTIONS=suppressions='$root/tests/tools/tsan.supp' second_deadlock_stack=1")
in_valgrind=("${in_dev[@]}" "${slowly[@]}"
    valgrind --quiet --error-exitcode=99 --leak-check=full --child-silent-after-fork=yes
    "--suppressions=$root/tests/tools/memcheck.supp"
    "--show-leak-kinds=definite,indirect" "--errors-for-leak-kinds=definite,indirect")

# ---- release: that it builds, and the ABI of its library -------------------------------------

# Not beside other tests, since the quick start builds there too.
add abi/test_abi.sh shell "${in_dev[@]}" bash tests/abi/test_abi.sh
if ((${#names[@]})) || wanted build/release; then
    build release all
    flush
fi

# ---- dev -----------------------------------------------------------------------------------

for program in "${programs[@]}"; do
    add "dev/$program" checks "${in_dev[@]}" "build/dev/tests/$program"
done
for script in "${scripts[@]}" "${cli_scripts[@]}"; do
    [[ $script == abi/* ]] && continue
    add "$script" shell "${in_dev[@]}" bash "tests/$script"
done
add exports shell "${in_dev[@]}" tests/tools/exports.sh

# Another version has other false alarms than those that cppcheck.supp knows; so has a single job,
# which also analyses across files.
cppcheck_version=$(cppcheck --version 2>/dev/null || echo "no cppcheck")
if [[ $cppcheck_version == "Cppcheck 2.10" ]]; then
    add cppcheck once cppcheck --quiet --error-exitcode=1 --enable=warning --std=c11 \
        --inline-suppr --suppressions-list=tests/tools/cppcheck.supp \
        -j "$((jobs > 1 ? jobs : 2))" -I include -I lib lib
else
    skip cppcheck "this is $cppcheck_version, our list of false alarms is that of 2.10"
fi
if command -v shellcheck >/dev/null; then
    mapfile -t shell_files < <(find .ci tests examples bench bindings -name '*.sh' 2>/dev/null | sort)
    add shellcheck once shellcheck -x -P "$root" -P SCRIPTDIR .ci/run "${shell_files[@]}"
else
    skip shellcheck "shellcheck is not installed"
fi

for program in "${programs[@]}"; do
    [[ $program == *_threads || $program == *_slow ]] && continue
    if grep -qE "^$program([[:space:]]|$)" tests/tools/valgrind.skip; then continue; fi
    if command -v valgrind >/dev/null; then
        add "valgrind/$program" once "${in_valgrind[@]}" "build/dev/tests/$program"
    else
        skip "valgrind/$program" "valgrind is not installed"
    fi
done

# helgrind and drd cannot follow the lock-free part: a C11 load with acquire is a plain load to
# them, so that all that atomics put in order looks like a race (hundreds of reports, from the
# commit to the records of allocations), and a list of what to leave out would be a list of
# everything. Races are ThreadSanitizer's business. What helgrind can follow is the structure mutex
# and the threads around it: unlocking what is not locked, wrong order, destroying what is in use.
# drd tells the same and no more.
program=core/test_protocol_threads
if command -v valgrind >/dev/null; then
    add "helgrind/$program" once "${in_dev[@]}" "${slowly[@]}" valgrind --quiet \
        --tool=helgrind --history-level=none --error-exitcode=99 \
        --suppressions=tests/tools/helgrind.supp "build/dev/tests/$program"
else
    skip "helgrind/$program" "valgrind is not installed"
fi

if ((${#names[@]})) || wanted build/dev; then
    build dev all
    flush
fi

# ---- asan: AddressSanitizer and UndefinedBehaviorSanitizer -----------------------------------

for program in "${programs[@]}"; do
    add "asan/$program" once "${in_asan[@]}" "build/asan/tests/$program"
done
for source in tests/*/fuzz_*.c; do # a short slice; "fuzz_x SECONDS SEED" runs longer
    fuzzer=${source#tests/} fuzzer=${fuzzer%.c}
    [[ -f $source ]] && add "asan/$fuzzer" once "${in_asan[@]}" "build/asan/tests/$fuzzer" 3
done
for script in "${cli_scripts[@]}"; do
    add "asan/$script" once "${in_asan[@]}" bash "tests/$script"
done
if ((${#names[@]})) || wanted build/asan; then
    build asan all
    flush
fi

# ---- tsan: ThreadSanitizer -------------------------------------------------------------------

for program in "${programs[@]}"; do
    [[ $program == *_threads ]] || continue
    add "tsan/$program" once "${in_tsan[@]}" "build/tsan/tests/$program"
done
if ((${#names[@]})) || wanted build/tsan; then
    without_clang=()
    command -v clang >/dev/null || without_clang=(--fresh -DCMAKE_C_COMPILER=gcc)
    build tsan gang-thread-tests "${without_clang[@]}"
    flush
fi

# ---- result ----------------------------------------------------------------------------------

if ((${#failures[@]})); then
    echo
    printf 'failed: %s\n' "${failures[@]}"
fi
echo
result="$passed passed, $failed failed"
((skipped == 0)) || result+=", $skipped skipped"
echo "$result"
((failed == 0 && passed > 0))
