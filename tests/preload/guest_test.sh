#!/bin/bash
# SPDX-License-Identifier: MIT
#
# guest_test: the shim on a host with krcore.ko loaded.
#
# Runs in a lab host (or any host with the module); krcore-run comes from the
# build tree or from PATH.  Prints TAP and a last line "N passed, N failed,
# N skipped"; exits 77 without the module.

set -u
build=${BUILD:-$(cd "$(dirname "$0")/../.." && pwd)/build}
run=$build/bin/krcore-run
[ -x "$run" ] || run=$(command -v krcore-run) || exit 77
unset LD_PRELOAD KRCORE KRCORE_FALLBACK KRCORE_VERBOSE KRCORE_PRELOAD
nr=0 failed=0

# check NAME STATUS PATTERN COMMAND...: status and all output
check()
{
	local name=$1 status=$2 pattern=$3 out rc
	shift 3
	out=$(timeout 60 "$@" 2>&1)
	rc=$?
	nr=$((nr + 1))
	if [[ $rc = "$status" && $out = $pattern ]]; then
		echo "ok $nr - $name"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $nr - $name"
	printf '%s\n' "status $rc" "$out" | sed 's/^/# /'
}

# The protocol as the program sees it, and as the kernel has it.
python_protocols='
import ctypes, socket, sys
family = getattr(socket, sys.argv[1])
s = socket.socket(family)
seen = s.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL)
value, size = ctypes.c_int(), ctypes.c_int(4)
ctypes.CDLL(None).syscall(55, s.fileno(), socket.SOL_SOCKET,
	socket.SO_PROTOCOL, ctypes.byref(value), ctypes.byref(size))
print(seen, value.value)'

python_echo='
import asyncio
async def serve(r, w):
	w.write(await r.readexactly(5)); await w.drain(); w.close()
async def main():
	s = await asyncio.start_server(serve, "127.0.0.1", 0)
	r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
	w.write(b"hello"); print((await r.read()).decode()); w.close()
asyncio.run(main())'

if ! grep -q '^krcore ' /proc/modules 2>/dev/null; then
	echo "1..0 # SKIP the krcore module is not loaded"
	echo "0 passed, 0 failed, 1 skipped"
	exit 77
fi
py=/usr/bin/python3
check "--fallback=fail finds the module" 0 "" "$run" --fallback=fail true
check "AF_INET: Python sees TCP, the kernel has krcore" 0 "6 254" \
	"$run" "$py" -c "$python_protocols" AF_INET
check "AF_INET6: the same" 0 "6 254" \
	"$run" "$py" -c "$python_protocols" AF_INET6
check "KRCORE=off: TCP" 0 "6 6" \
	env KRCORE=off "$run" "$py" -c "$python_protocols" AF_INET
check "-v says krcore" 0 "krcore*: socket *: AF_INET stream -> krcore" \
	"$run" -v "$py" -c "import socket; socket.socket()"
check "-v says krcore for AF_INET6" 0 \
	"krcore*: socket *: AF_INET6 stream -> krcore" \
	"$run" -v "$py" -c "import socket; socket.socket(socket.AF_INET6)"
check "asyncio echo on this host" 0 "hello" "$run" "$py" -c "$python_echo"
if command -v setpriv >/dev/null; then
	check "unprivileged" 0 "6 254" setpriv --reuid=65534 --clear-groups \
		"$run" "$py" -c "$python_protocols" AF_INET
fi
tester=$build/tests/preload/tester
if [ -x "$tester" ]; then
	check "tester" 0 "*" "$run" "$tester" krcore
fi
echo "1..$nr"
echo "$((nr - failed)) passed, $failed failed, 0 skipped"
[ $failed = 0 ]
