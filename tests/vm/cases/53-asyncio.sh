#!/bin/bash
# SPDX-License-Identifier: MIT
# A Python asyncio echo server and client.
. tests/vm/lib.sh

need python3
lab -- 'kr python3 tests/apps/asyncio_echo.py server 0.0.0.0 7000 >/dev/null 2>&1 & lab-wait-port 7000' \
	'lab-wait-port 7000 h1
	mark
	kr timeout 300 python3 tests/apps/asyncio_echo.py client h1 7000 --connections 50 --bytes 100000
	over_rdma_only 10000000'
