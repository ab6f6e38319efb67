#!/bin/bash
# SPDX-License-Identifier: MIT
# Hosts with much to send get an RC queue pair: byte-exact, and nothing is left of it.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'needs the module'
need iperf3
seconds=${KR_SECONDS:-5}
# rdma_cm makes the QP, so it is named after that.
common='rc_qps() { rdma resource show qp | grep -c "type RC "; }
	made() { [[ $(counter rc_made) -ge 1 && $(rc_qps) -ge 1 ]]; }
	gone() { [[ $(rc_qps) == 0 ]]; }
	nothing_left()
	{
		within 60 rmmod krcore
		if rdma resource show | grep -q krcore; then fail "something is left"; fi
		if rdma resource show qp | grep -q krcore; then fail "QPs are left"; fi
		if rdma resource show cq | grep -q krcore; then fail "CQs are left"; fi
		if rdma resource show mr | grep -q krcore; then fail "MRs are left"; fi
		if rdma resource show cm_id | grep -q krcore; then fail "ids are left"; fi
	}
'
# It is in use for who only receives as well.
idle='echo 2 >/sys/module/krcore/parameters/rc_idle_s
'
lab --timeout $((600 + 4 * seconds)) -- "$idle$common"'serve
	kr iperf3 -s >/dev/null 2>&1 &
	lab-wait-port 5201
	within 120 made
	wait_file "$OUT/one_way" 400
	(($(counter rc_made) == 1)) || fail "one way: $(counter rc_made) QPs"
	wait_file "$OUT/done" 400
	pkill -x iperf3
	pkill -x socktest
	within 60 gone
	krcorectl stat | grep -E "rc_|lanes"
	nothing_left' "seconds=$seconds; $idle$common"'
	lab-wait-port 5201 h1
	mark
	kr timeout 120 iperf3 -c h1 -t 7 >/run/iperf3.log || { cat /run/iperf3.log; fail iperf3; }
	(($(counter rc_made) == 1)) || fail "one way: $(counter rc_made) QPs"
	: >"$OUT/one_way"
	for options in "" -R --bidir; do
		kr timeout $((seconds + 90)) iperf3 -c h1 -t $seconds $options >/run/iperf3.log ||
			{ cat /run/iperf3.log; fail "iperf3 $options"; }
		tail -n 4 /run/iperf3.log
	done
	within 10 made
	rdma resource show qp
	ud=$(krcorectl -j dev | sed -n "s/.*\"tx_bytes\": \([0-9]*\).*/\1/p")
	echo "by UD: $ud of $(counter tx_bytes_rdma) bytes sent"
	((ud * 4 < $(counter tx_bytes_rdma))) || fail "too little went by RC"
	cases --bytes 8000000 bulk close.in_flight
	over_rdma_only 30000000
	krcorectl stat | grep -E "rc_|lanes"
	(($(counter lanes_failed) == 0)) || fail "a lane failed"
	# The peer learns it from the device.
	nothing_left
	: >"$OUT/done"'
