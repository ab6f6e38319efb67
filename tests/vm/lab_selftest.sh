#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests of the lab itself, without krcore.  Prints one line for each case and
# a summary; LAB_ARGS is given to each `lab run`.

cd "$(dirname "$0")/../.." || exit 1
lab=tools/lab/lab
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0

# case_ NAME EXPECTED-STATUS PATTERN LAB-ARGUMENTS...: one `lab run`, whose
# output must have a line that matches PATTERN.
case_() {
	local name=$1 expected=$2 pattern=$3 status
	shift 3
	timeout 240 $lab run --no-krcore "$@" > "$log" 2>&1
	status=$?
	if [[ $status == "$expected" ]] && grep -Eq -- "$pattern" "$log"; then
		echo "ok   $name"
		((passed++))
		return
	fi
	echo "FAIL $name: status $status, expected $expected and /$pattern/"
	sed 's/^/     /' "$log" | tail -40
	((failed++))
}

case_ "two hosts reach each other by name, IPv4 and IPv6" 0 'h2: both$' \
	-- 'test $(hostname) = h1 && ping -c1 h2-4 && ping -c1 h2-6' \
	'ping -c1 h1 && ping -c1 h1-6 && echo both'

case_ "a command's status is the lab's" 7 'h2: commands failed with status 7' \
	-- 'true' 'exit 7'

case_ "a failure of an earlier host fails the lab" 3 'h1: commands failed' \
	-- 'sleep 2; exit 3' 'sleep 4'

case_ "commands that do not end are a time-out" 124 'h1.*: commands still running' \
	--timeout 20 -- 'sleep 100' 'true'

case_ "a kernel warning fails the lab and is shown" 99 'h1\| .*WARNING: test' \
	-- 'echo "WARNING: test" > /dev/kmsg' 'true'

case_ "a crash fails the lab" 99 'Kernel panic' \
	-- 'echo c > /proc/sysrq-trigger; sleep 60' 'sleep 60'

case_ "a server in the foreground does not hold up the next host" 0 'h2: hello$' \
	-- 'echo hello | nc -l -p 5000' 'lab-wait-port 5000 h1 && nc -N h1 5000 </dev/null'

case_ "RDMA between hosts" 0 'h2: .*bytes in .* seconds' \
	-- 'ibv_rc_pingpong -d rxe0 -g 1 -e -n 100' \
	'lab-wait-port 18515 h1 && ibv_rc_pingpong -d rxe0 -g 1 -e -n 100 h1'

case_ "a host without RDMA" 0 'h2: none$' --no-rdma 2 \
	-- 'test -e /sys/class/infiniband/rxe0' \
	'test -e /sys/class/infiniband/rxe0 || echo none'

case_ "netem is on the links" 0 'h1: qdisc netem .* loss 1%' --netem 'loss 1%' \
	-- 'tc qdisc show dev eth0' 'true'

case_ "three hosts reach each other and meet" 0 'h3: met$' -n 3 \
	-- 'lab-barrier a; ping -c1 h3; lab-barrier a' \
	'sleep 2; lab-barrier a; ping -c1 h1; lab-barrier a' \
	'lab-barrier a; ping -c1 h2 && lab-barrier a && echo met'

case_ "a host reboots and goes on" 0 'h1: back$' \
	-- 'lab-reboot "echo back; lab-barrier a"' 'lab-barrier a; ping -c1 h1'

out=$(mktemp -d)
case_ "files in OUT come back" 0 'h2: done$' -o "$out" \
	-- 'echo one > $OUT/file1' 'echo two > $OUT/file2; echo done'
if [[ $(cat "$out/file1" "$out/file2" 2>&1) != $'one\ntwo' || ! -s $out/dmesg-h1.txt ]]; then
	echo "FAIL files in OUT: $(ls "$out")"
	((failed++))
fi
rm -rf "$out"

# An interrupted lab leaves nothing behind.
$lab run --no-krcore -- 'sleep 100' > "$log" 2>&1 &
lab_pid=$!
sleep 4
left=$(pgrep -P "$lab_pid" | wc -l)
kill -TERM "$lab_pid"
wait "$lab_pid"
if [[ $left == 2 ]] && ! pgrep -P "$lab_pid" > /dev/null && ! pgrep -s "$lab_pid" > /dev/null; then
	echo "ok   an interrupted lab leaves nothing behind"
	((passed++))
else
	echo "FAIL an interrupted lab leaves nothing behind"
	((failed++))
fi

echo "$passed passed, $failed failed, 0 skipped"
exit $((failed != 0))
