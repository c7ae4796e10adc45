#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs into a scratch prefix, moves that, and uses it as another project would: by pkg-config
# and by CMake, in C and in C++, shared and static. Takes the build in GANG_BUILD_DIR.
# shellcheck disable=SC2317 # the functions are called by check()
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${GANG_BUILD_DIR:-$root/build/dev}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failed=0

check() { # NAME COMMAND...
    local name=$1 status
    shift
    # Not inside an "if", where bash would go on after a failed command of the function.
    set +e
    (set -e && "$@") >"$scratch/log" 2>&1
    status=$?
    set -e
    if [[ $status -eq 0 ]]; then echo "ok $name"; else
        echo "not ok $name"
        sed 's/^/  /' "$scratch/log"
        failed=1
    fi
}

installs() {
    cmake --install "$build" --prefix "$scratch/first"
    # From here on the installation is found wherever it was moved to.
    mv "$scratch/first" "$scratch/prefix"
}
check install installs
[[ -d $scratch/prefix ]] || exit 1

prefix=$scratch/prefix
libdir=$(dirname "$(find "$prefix" -name libgangsched.so)")
library=$libdir/libgangsched.so
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH

files_are_there() {
    local file status=0
    for file in "$library" "$libdir/libgangsched.a" "$libdir/pkgconfig/gangsched.pc" \
        "$libdir"/cmake/gangsched/gangsched-{config,config-version,targets,static-targets}.cmake; do
        [[ -e $file ]] || { echo "missing: $file" && status=1; }
    done
    diff -r -x README.md "$root/include/gangsched" "$prefix/include/gangsched" || status=1
    # Whatever belongs to the tests stays at home.
    # (Some public functions are called so, and have a page.)
    [[ -z $(find "$prefix" -name '*test*' ! -path '*/man3/gang_*' -print -quit) ]] || status=1
    return "$status"
}
check installed_files files_are_there

# Headers and manual pages name no file that only the source tree has.
names_only_what_is_installed() {
    local file status=0
    while read -r file; do
        [[ -n $(find "$prefix" -path "*/${file#./}" -print -quit) ]] && continue
        [[ -n $(find "$root/lib" -path "*/$file" -print -quit) || -e $root/$file ]] || continue
        echo "not installed: $file" && status=1
    done < <(grep -rhoE '[A-Za-z_]+[A-Za-z_/]*\.(md|c|h|sh|py|json)\b' "$prefix/include" \
        "$(find "$prefix" -type d -path '*/man' -print -quit)" | sed 's/^f[BI]//' | sort -u)
    return "$status"
}
check names_only_installed_files names_only_what_is_installed

nothing_remembers_the_build() {
    local file status=0
    for file in "$libdir/pkgconfig/gangsched.pc" "$libdir"/cmake/gangsched/*.cmake; do
        if grep -nF -e "$root" -e "$scratch" "$file" /dev/null; then status=1; fi
    done
    for file in "$library" "$prefix"/bin/*; do
        [[ -e $file ]] || continue
        if readelf -d "$file" | grep -E 'RPATH|RUNPATH'; then status=1; fi
    done
    return "$status"
}
check no_build_path_and_no_rpath nothing_remembers_the_build

version=$(pkg-config --modversion gangsched)
soname_follows_the_version() {
    local soname
    soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    echo "soname $soname, version $version"
    [[ $soname == libgangsched.so.1 ]] &&
        [[ $(readlink -f "$library") == "$libdir/libgangsched.so.$version" ]] &&
        [[ -e $libdir/$soname ]]
}
check soname soname_follows_the_version

only_gang_is_exported() {
    nm -D --defined-only "$library" | awk '
        $2 == "A" { next }
        $2 != "T" || $3 !~ /^gang_[a-z0-9_]+@@GANGSCHED_[0-9]+\.[0-9]+$/ { print "unexpected: " $0; bad = 1 }
        { n++ }
        END { if (!n) print "nothing is exported"; exit bad || !n }'
}
check only_gang_functions_with_a_version_node only_gang_is_exported

node_is_the_version() {
    nm -D --defined-only "$library" | awk '$2 == "A" { print $3 }' | sed 's/@.*//' | sort -u >nodes
    cat nodes
    grep -qx 'GANGSCHED_0\.2' nodes
}
check version_node_gangsched_0_2 node_is_the_version

by_pkg_config() { # COMPILER SOURCE
    local -a flags
    read -ra flags <<<"$(pkg-config --cflags --libs gangsched)"
    "$1" -Wall -Wextra -Werror -o by_pkg_config "$2" "${flags[@]}"
    LD_LIBRARY_PATH=$libdir ./by_pkg_config
    readelf -d by_pkg_config | grep -q 'NEEDED.*libgangsched.so.1'
}
by_pkg_config_static() { # COMPILER SOURCE
    local flags
    flags=$(pkg-config --static --cflags --libs gangsched)
    # The whole archive, so that a dependency that gangsched.pc does not name shows.
    flags=${flags/-lgangsched/-Wl,--whole-archive -l:libgangsched.a -Wl,--no-whole-archive}
    # hwloc.pc asks for libudev in a static link; Debian's libhwloc-dev does not bring the
    # development file; the hwloc that we link here is the shared one, which needs none.
    pkg-config --exists libudev || flags=${flags/-ludev/}
    # shellcheck disable=SC2086 # these are many words
    "$1" -Wall -Wextra -Werror -o by_pkg_config_static "$2" $flags
    ./by_pkg_config_static
    ! readelf -d by_pkg_config_static | grep 'NEEDED.*libgangsched'
}
cp "$here/consumer/consumer.c" consumer.c
cp consumer.c consumer.cc
check pkg_config_c by_pkg_config cc consumer.c
check pkg_config_cxx by_pkg_config c++ consumer.cc
check pkg_config_static_c by_pkg_config_static cc consumer.c
check pkg_config_static_cxx by_pkg_config_static c++ consumer.cc

by_cmake() { # BUILD-FOLDER PROGRAM...; the environment says whether pkg-config finds our needs
    local folder=$1 program
    shift
    cmake -G Ninja -S "$here/consumer" -B "$folder" -DCMAKE_PREFIX_PATH="$prefix" "${cmake_args[@]}"
    cmake --build "$folder"
    for program in "$@"; do "$folder/$program"; done
}
cmake_args=(-DSTATIC=ON)
check find_package_static_and_shared by_cmake all c_shared cxx_shared c_static cxx_static
# The shared library alone needs nothing of ours, not even pkg-config.
cmake_args=(-DSTATIC=OFF -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON)
check find_package_shared_without_dependencies by_cmake shared c_shared cxx_shared

wrong_version_is_refused() {
    sed 's/gangsched 0.2/gangsched 0.99/' "$here/consumer/CMakeLists.txt" >newer/CMakeLists.txt
    ! cmake -G Ninja -S newer -B newer/build -DCMAKE_PREFIX_PATH="$prefix" >newer/log 2>&1 &&
        grep -q 'compatible with requested version' newer/log
}
mkdir newer && cp consumer.c newer/
check find_package_refuses_another_minor wrong_version_is_refused

command_line_runs() {
    [[ -x $prefix/bin/gangsched ]]
    ldd "$prefix/bin/gangsched"
    LD_LIBRARY_PATH=$libdir "$prefix/bin/gangsched" --version
}
# As gangsched-host(7) tells a newcomer.
small_host_compiles_and_runs() {
    local page example
    page=$(find "$prefix" -path '*man7/gangsched-host.7')
    example=$(find "$prefix" -name small_host.c)
    [[ -n $page && -n $example ]]
    by_pkg_config cc "$example"
    for page in 3/gangsched 3/gangsched_sched 3/gang_sched_run 1/gangsched; do
        [[ -n $(find "$prefix" -path "*man$page.${page%%/*}") ]] || { echo "no $page" && return 1; }
    done
}

if [[ -e $build/examples/gangsched ]]; then
    check installed_command_line command_line_runs
    check installed_guide_compiles_and_runs small_host_compiles_and_runs
else
    echo "skip installed_command_line # the build has no command line"
fi
exit $failed
