#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh DIR TAP SECONDS TARGET...: each fuzz target for a while, with a corpus
# in DIR that grows from run to run; TAP lines into TAP.

set -u
dir=$1
tap=$2
seconds=$3
shift 3
: >"$tap"
for target; do
	name=${target##*/}
	mkdir -p "$dir/$name.corpus"
	if "$target" -max_total_time="$seconds" -max_len=4096 -print_final_stats=0 \
		-artifact_prefix="$dir/$name." "$dir/$name.corpus" \
		>"$dir/$name.log" 2>&1; then
		echo "ok - $name" >>"$tap"
	else
		echo "not ok - $name" >>"$tap"
		tail -n 40 "$dir/$name.log" >&2
	fi
done
