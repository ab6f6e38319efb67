#!/bin/bash
# SPDX-License-Identifier: MIT
# A link that is down for a while and comes back costs no connection.
. tests/vm/lib.sh

down=${KR_DOWN_S:-60}
lab --timeout 600 -- 'serve' "mark
	broken silent.link_returns 'ip link set eth0 down; (sleep $down; ip link set eth0 up) &' --bytes 2000000
	over_rdma 4000000"
