#!/bin/bash
# SPDX-License-Identifier: MIT
# More hosts with much to send than RC queue pairs: the pool keeps its bound, and does not thrash.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'needs the module'
common='nr_rc() { krcorectl qp | grep -w rc | grep -cv ENDING || true; }
bound() { while sleep 0.2; do (($(nr_rc) <= $1)) || : >"$OUT/too_many"; done; }
rest() { wait_file "$OUT/done" 800; pkill -x socktest; within 60 rmmod krcore; }
'
lab --timeout 900 -- "$common"'serve; rest' "$common"'serve; rest' "$common"'
	echo 1 >/sys/module/krcore/parameters/rc_max
	bound 1 & bound=$!
	mark
	cases --timeout 600 --bytes 100000000 bulk.both_ways &
	one=$!
	lab-wait-port 7654 h2
	AT=h2 cases --timeout 600 --bytes 100000000 bulk.both_ways &
	two=$!
	wait $one
	wait $two
	kill $bound
	krcorectl stat | grep -E "rc_|lanes"
	[[ ! -e $OUT/too_many ]] || fail "more than one RC queue pair"
	(($(counter rc_made) >= 1)) || fail "no RC queue pair"
	(($(counter rc_evicted) <= 10)) || fail "it thrashes"
	over_rdma_only 400000000
	: >"$OUT/done"
	within 60 rmmod krcore'
