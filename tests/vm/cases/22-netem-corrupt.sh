#!/bin/bash
# SPDX-License-Identifier: MIT
# One per cent of all packets with a wrong bit.
. tests/vm/lib.sh

lab --netem 'corrupt 1%' -- 'serve' 'mark
	cases --bytes 4000000 --loops 100 bulk close.in_flight many.churn
	krcorectl stat
	over_rdma 16000000'
