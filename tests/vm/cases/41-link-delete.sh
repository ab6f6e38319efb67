#!/bin/bash
# SPDX-License-Identifier: MIT
# rdma link delete under load ends or moves connections; a new link is taken up.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'needs the module'
lab --timeout 600 -- 'serve' 'mark
	cases bulk.sizes
	over_rdma 100000
	cases --timeout 200 --bytes 30000000 bulk.both_ways bulk.parallel &
	load=$!
	sleep 3
	timeout 60 rdma link delete rxe0
	sleep 2
	rdma link add rxe0 type rxe netdev eth0
	wait $load || echo "the connections under load ended"
	sleep 3
	mark
	within 60 cases bulk.sizes
	cases --bytes 2000000 bulk.both_ways
	over_rdma 4000000'
