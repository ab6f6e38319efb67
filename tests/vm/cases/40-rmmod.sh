#!/bin/bash
# SPDX-License-Identifier: MIT
# rmmod refuses while sockets are open and leaves nothing afterwards.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'needs the module'
lab -- 'serve' 'before=$(rdma resource show)
	broken silent.hold "if rmmod krcore; then fail \"rmmod went through\"; fi"
	within 60 rmmod krcore
	if lsmod | grep -q "^krcore"; then fail "still loaded"; fi
	rdma resource show
	if rdma resource show qp | grep -q krcore; then fail "QPs are left"; fi
	if rdma resource show mr | grep -q krcore; then fail "MRs are left"; fi
	for i in 1 2 3; do
		load
		mark
		cases bulk.sizes
		over_rdma 100000
		within 60 rmmod krcore
	done'
