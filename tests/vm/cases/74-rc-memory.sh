#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory is short: RC queue pairs that are not in use go back, and connections go on.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'needs the module'
# The kernel asks every shrinker for all it has.
common='made() { (($(counter rc_made) >= $1)); }
reclaim() { echo 2 >/proc/sys/vm/drop_caches; }
reclaimed() { reclaim; (($(counter rc_reclaimed) >= 1)); }
no_rc() { ! krcorectl qp | grep -qw rc; }
'
lab --timeout 600 -- 'serve; wait_file "$OUT/done" 500; pkill -x socktest; within 60 rmmod krcore' \
"$common"'
	reclaim
	# Idle by far not long enough.
	echo 1000 >/sys/module/krcore/parameters/rc_idle_s
	cases --bytes 30000000 bulk.both_ways
	within 20 made 1
	(($(counter rc_reclaimed) == 0)) || fail "reclaimed before memory was short"
	broken silent.link_returns "within 20 reclaimed; within 20 no_rc; mark" --bytes 4000000
	(($(counter rc_reclaimed) <= $(counter rc_ended))) || fail "reclaimed more than there were"
	over_rdma_only 4000000
	cases --bytes 30000000 bulk.both_ways
	sleep 5
	cases --bytes 30000000 bulk.both_ways
	within 20 made 2
	krcorectl stat | grep rc_
	(($(counter conns_aborted) == 0)) || fail "a connection broke"
	: >"$OUT/done"
	within 60 rmmod krcore'
