#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Published schedules of workload logs beside ours, job by job.
#   bench/schedules.sh DIRECTORY [POLICY]...
# DIRECTORY has KTH-SP2.csv.gz and the other logs (format: bench/schedules/replay.h); without a
# policy all are run. BUILD_DIR: where the release build is (build/release).
set -eu
cd "$(dirname "$0")/.."
tool=${BUILD_DIR:-build/release}/bench/gangsched-schedules
if [ $# -lt 1 ]; then
    sed -n '3,6s/^# //p' bench/schedules.sh >&2
    exit 2
fi
[ -x "$tool" ] || { echo "no $tool: cmake --preset release && cmake --build --preset release" >&2; exit 2; }
logs=$1
shift
options=
for policy; do
    options="$options --policy $policy"
done
status=0 found=
for log in KTH-SP2:100 SDSC-SP2:128 CTC-SP2:338 SDSC-BLUE:1152; do
    file=$logs/${log%%:*}.csv.gz
    [ -r "$file" ] || continue
    found=1
    echo "${log%%:*}, ${log##*:} processors"
    # shellcheck disable=SC2086 # several words
    gzip -dc "$file" | "$tool" --processors "${log##*:}" $options || status=$?
    echo
done
[ -n "$found" ] || { echo "no KTH-SP2.csv.gz nor its like in $logs" >&2; exit 2; }
exit $status
