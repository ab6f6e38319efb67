#!/bin/bash
# SPDX-License-Identifier: MIT
# iperf3: plain, -R, --bidir, -P 8 (KR_SECONDS each, default 5).
. tests/vm/lib.sh

need iperf3
seconds=${KR_SECONDS:-5}
lab --timeout $((600 + 4 * seconds)) -- 'kr iperf3 -s >/dev/null 2>&1 & lab-wait-port 5201' "seconds=$seconds"'
	lab-wait-port 5201 h1
	for options in "" -R --bidir "-P 8"; do
		mark
		kr timeout $((seconds + 90)) iperf3 -c h1 -t $seconds $options >/run/iperf3.log ||
			{ cat /run/iperf3.log; fail "iperf3 $options"; }
		tail -n 4 /run/iperf3.log
		over_rdma_only 1000000
	done'
