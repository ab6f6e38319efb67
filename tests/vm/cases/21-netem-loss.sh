#!/bin/bash
# SPDX-License-Identifier: MIT
# Ten per cent loss.
. tests/vm/lib.sh

lab --netem 'loss 10%' -- 'serve' 'mark
	cases --bytes 1000000 --loops 50 bulk close.in_flight many.churn
	krcorectl stat
	over_rdma 4000000'
