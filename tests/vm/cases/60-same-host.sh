#!/bin/bash
# SPDX-License-Identifier: MIT
# Both ends on one host: the table between two namespaces, programs over loopback.
. tests/vm/lib.sh

lab -n 1 --timeout 1500 -- 'other_namespace
	ip netns exec other "$SOCKTEST" server >/dev/null 2>&1 &
	ip netns exec other lab-wait-port 7654
	mark
	AT=10.78.0.2 cases --bytes 1000000 -4
	over_local 20000000
	mark
	AT=fd78::2 cases --bytes 1000000 -6
	over_local 20000000
	(($(rdma_bytes) == 0)) || fail "$(rdma_bytes) bytes went over RDMA"'
