#!/bin/bash
# SPDX-License-Identifier: MIT
# Streams both ways, while their RC queue pair is taken away and given back again and again.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'needs the module'
bytes=${KR_BYTES:-300000000}
common='
rc_max() { echo "$1" >/sys/module/krcore/parameters/rc_max; }
rc_is_up() { krcorectl -j qp | grep -A9 "\"kind\": *\"rc\"" | grep -q "\"state\": *\"UP\""; }
rc_is_gone() { ! krcorectl -j qp | grep -q "\"kind\": *\"rc\""; }
'
lab --timeout 900 -- "$common"'serve
	wait_file "$OUT/done" 800
	krcorectl stat | grep -E "rc_|lanes"
	(($(counter lanes_failed) == 0)) || fail "a lane failed"
	pkill -x socktest
	within 60 rmmod krcore' "bytes=$bytes; $common"'
	mark
	cases --timeout 600 --bytes $bytes bulk.both_ways &
	load=$!
	moves=0
	while kill -0 $load 2>/dev/null; do
		end=$((SECONDS + 20 * LAB_SLOW))
		until rc_is_up || ! kill -0 $load 2>/dev/null || ((SECONDS > end)); do sleep 0.1; done
		rc_is_up || break
		sleep 0.$((RANDOM % 5))
		rc_max 0
		within 20 rc_is_gone
		rc_max 64
		moves=$((moves + 2))
	done
	wait $load
	echo "moved $moves times"
	((moves >= 10)) || fail "it moved only $moves times"
	over_rdma_only $((2 * bytes))
	krcorectl stat | grep -E "rc_|lanes"
	(($(counter rc_made) * 2 >= moves && $(counter lanes_failed) == 0)) || fail "counters"
	: >"$OUT/done"
	within 60 rmmod krcore'
