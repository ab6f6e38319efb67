#!/bin/bash
# SPDX-License-Identifier: MIT
# sockperf ping-pong and throughput over TCP sockets.
. tests/vm/lib.sh

need sockperf
lab -- 'kr sockperf sr --tcp -i 0.0.0.0 -p 11111 >/dev/null 2>&1 & lab-wait-port 11111' \
	'lab-wait-port 11111 h1
	for mode in ping-pong throughput; do
		mark
		kr timeout 120 sockperf $mode --tcp -i 10.77.0.1 -p 11111 -m 64 -t 5 >/run/sockperf.log ||
			{ cat /run/sockperf.log; fail "sockperf $mode"; }
		grep -iE "summary|percentile 99.0|bandwidth" /run/sockperf.log || true
		over_rdma_only 10000
	done'
