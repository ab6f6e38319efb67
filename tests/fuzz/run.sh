#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh libfuzzer|afl|seeds DIR SECONDS NAME...: fuzz targets DIR/fuzz_NAME, from
# the seeds in tests/fuzz/corpus/NAME; TAP lines into DIR/fuzz.tap.
#
# libfuzzer: always the same FUZZ_RUNS runs first; then SECONDS of others, which
# start from what earlier ones have found (DIR/NAME.corpus).  afl: SECONDS, going on
# from DIR/NAME.afl.  Of a failure the log's end is shown, and the input is kept.
# seeds: no run; the fewest short inputs known that reach all that any reaches
# become the seeds.  Their names are hashes; a file with another name is somebody's
# and stays.

set -u
kind=$1
dir=$2
seconds=$3
shift 3
seeds=$(dirname "$0")/corpus
runs=${FUZZ_RUNS:-5000}

# libfuzzer NAME ARG...: into the log, with the bounds that all runs have
libfuzzer()
{
	name=$1
	shift
	"$dir/fuzz_$name" -max_len=4096 -timeout=20 -rss_limit_mb=1024 \
		-artifact_prefix="$dir/$name." "$@" "$seeds/$name" >>"$dir/$name.log" 2>&1
}

fuzz_libfuzzer()
{
	rm -rf "$dir/$1.fixed"
	mkdir -p "$dir/$1.fixed" "$dir/$1.corpus"
	libfuzzer "$1" -seed=1 -runs="$runs" "$dir/$1.fixed" || return 1
	[ "$seconds" -eq 0 ] ||
		libfuzzer "$1" -max_total_time="$seconds" "$dir/$1.corpus"
}

# The machine is taken as it is: no change of core_pattern or the CPU's governor.
fuzz_afl()
{
	out=$dir/$1.afl
	from=$seeds/$1
	[ ! -d "$out/default/queue" ] || from=-
	AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 \
		AFL_NO_UI=1 afl-fuzz -i "$from" -o "$out" -V "$seconds" -t 5000 -m none \
		"$dir/fuzz_$1" >>"$dir/$1.log" 2>&1 || return 1
	for crash in "$out"/default/crashes/id:* "$out"/default/hangs/id:*; do
		[ ! -e "$crash" ] || { echo "input: $crash" >>"$dir/$1.log"; return 1; }
	done
}

fuzz_seeds()
{
	new=$dir/$1.seeds
	rm -rf "$new"
	mkdir -p "$new" "$dir/$1.corpus"
	libfuzzer "$1" -max_len=300 -use_counters=0 -set_cover_merge=1 "$new" \
		"$dir/$1.corpus" || return 1
	find "$seeds/$1" -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -delete
	cp "$new"/* "$seeds/$1"
}

: >"$dir/fuzz.tap"
for target; do
	: >"$dir/$target.log"
	mkdir -p "$seeds/$target"
	if "fuzz_$kind" "$target"; then
		echo "ok - $kind: $target" >>"$dir/fuzz.tap"
	else
		echo "not ok - $kind: $target" >>"$dir/fuzz.tap"
		tail -n 40 "$dir/$target.log" >&2
	fi
done
