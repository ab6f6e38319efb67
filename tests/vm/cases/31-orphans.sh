#!/bin/bash
# SPDX-License-Identifier: MIT
# Connections live on after close() to deliver their bytes, but not any number.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'TCP has its own bound'
lab -- 'cat > /run/sink.py <<-END
	import socket, time
	listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 254)
	listener.bind(("", 7100))
	listener.listen()
	for wait in 0, 5:
	    conn, total = listener.accept()[0], 0
	    time.sleep(wait)
	    try:
	        while data := conn.recv(65536):
	            total += len(data)
	        print("end after", total, flush=True)
	    except ConnectionResetError:
	        print("reset", flush=True)
	END
	python3 /run/sink.py >"$OUT/sink"
	diff "$OUT/sink" - <<-END
	end after 1000000
	reset
	END' '
	limit=/sys/module/krcore/parameters/max_orphans
	send() {
		python3 -c "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 254)
s.connect((\"h1\", 7100))
s.sendall(bytes($1))"
	}
	lab-wait-port 7100 h1
	mark
	send 1000000
	[[ $(counter orphans_reset) == 0 ]] || fail "an orphan was reset for no reason"
	echo 0 >$limit
	# More than fits into the window: some of it is still to be delivered.
	send 3000000
	[[ $(counter orphans_reset) == 1 ]] || fail "no orphan was reset"
	over_rdma_only 1000000'
