#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run: the shim and krcore-run, without the module.
#
# The first half runs tester in this machine's kernel and, through as_if, in
# one that answers as told.  The second half calls krcore-run on programs of
# all kinds.  Called by `make preload-test`, which sets BUILD and CC.

set -u
cd "$(dirname "$0")/../.."
build=${BUILD:-$PWD/build}
here=$build/tests/preload
dir=$here/tmp
shim=$build/lib/libkrcore-preload.so
run=$build/bin/krcore-run
tap=$here/shell.tap
unset LD_PRELOAD KRCORE KRCORE_FALLBACK KRCORE_VERBOSE KRCORE_PRELOAD
rm -rf "$here"/*.tap "$dir"
mkdir -p "$dir"
taps=$tap
nr=0

# result STATUS NAME: one line of TAP
result()
{
	nr=$((nr + 1))
	if [ "$1" = 0 ]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		sed 's/^/# /' "$dir/out" "$dir/err" 2>/dev/null
	fi >>"$tap"
}

skip()
{
	nr=$((nr + 1))
	echo "ok $nr - $1 # SKIP $2" >>"$tap"
}

# try COMMAND...: into $dir/out and $dir/err, status into $rc
try()
{
	timeout 60 "$@" >"$dir/out" 2>"$dir/err"
	rc=$?
}

# expect NAME STATUS OUT ERR: what try did; OUT and ERR are whole patterns
expect()
{
	local out err
	out=$(cat "$dir/out")
	err=$(cat "$dir/err")
	[[ $rc = "$2" && $out = $3 && $err = $4 ]]
	result $? "$1"
}

# tester NAME WANTED COMMAND...: a run of tester under COMMAND
tester()
{
	local name=$1 wanted=$2
	shift 2
	timeout 60 "$@" env LD_PRELOAD="$shim" "$here/tester" "$wanted" \
		>"$here/$name.tap" 2>"$dir/err"
	rc=$?
	taps="$taps $here/$name.tap"
	if [ $rc = 77 ]; then
		echo "ok 1 - $name # SKIP no seccomp notifications" >"$here/$name.tap"
		return
	fi
	[ ! -s "$dir/err" ]
	result $? "$name: silent"
}

as_if()
{
	local name=$1 wanted=$2 answer=$3
	shift 3
	rm -f "$dir/asked"
	tester "$name" "$wanted" env "$@" "$here/as_if" -c "$dir/asked" "$answer"
	asked=$(cat "$dir/asked" 2>/dev/null || echo none)
}

# asked_is NAME TEST: how often the kernel was asked for krcore
asked_is()
{
	if [ "$asked" = none ]; then
		skip "$1" "no seccomp notifications"
	else
		[ "$asked" "${@:2}" ]
		result $? "$1 (asked $asked times)"
	fi
}

shim_tests()
{
	if grep -q '^krcore ' /proc/modules 2>/dev/null; then
		tester here krcore
	else
		tester here tcp
	fi
	as_if loaded krcore loaded
	as_if absent tcp EPROTONOSUPPORT
	# 64 threads may ask at once, and AF_INET6 asks for itself.
	asked_is "absence is remembered" -le 66
	as_if absent-type tcp ESOCKTNOSUPPORT
	as_if sandbox tcp EACCES
	as_if no-family tcp EAFNOSUPPORT
	as_if invalid tcp EINVAL
	as_if no-fds EMFILE EMFILE
	as_if no-files ENFILE ENFILE
	as_if no-buffers ENOBUFS ENOBUFS
	as_if no-memory ENOMEM ENOMEM
	as_if off tcp loaded KRCORE=off
	asked_is "KRCORE=off never asks" -eq 0
	as_if typo krcore loaded KRCORE=offf KRCORE_FALLBACK=never
	as_if fail-absent EPROTONOSUPPORT EPROTONOSUPPORT KRCORE_FALLBACK=fail
	as_if fail-sandbox EACCES EACCES KRCORE_FALLBACK=fail
	as_if fail-loaded krcore loaded KRCORE_FALLBACK=fail
}

python_socket='import socket; s = socket.socket(); print(s.fileno() > 2, socket.socket(fileno=s.detach()).proto)'

verbose_tests()
{
	local as=$here/as_if py
	py=$(command -v /usr/bin/python3) || {
		skip "verbose" "no python3"
		return
	}
	try "$as" loaded "$run" -v "$py" -c "$python_socket"
	expect "-v: krcore; Python reads IPPROTO_TCP" 0 "True 6" \
		"krcore-run: *'krcorectl show'?krcore\[+([0-9])\]: socket +([0-9]): AF_INET stream -> krcore"
	try "$as" EPROTONOSUPPORT "$run" -v "$py" -c "$python_socket"
	expect "-v: module not loaded" 0 "True 6" \
		"krcore-run: the krcore module is not loaded; plain TCP is used?krcore\[+([0-9])\]: socket +([0-9]): AF_INET stream -> tcp (module not loaded)"
	try "$as" EACCES "$run" -v "$py" -c "$python_socket"
	expect "-v: refused" 0 "True 6" "*-> tcp (krcore socket refused: EACCES)"
	try env KRCORE=off "$as" loaded "$run" -v "$py" -c "$python_socket"
	expect "-v: KRCORE=off" 0 "True 6" "*-> tcp (KRCORE=off)"
	try "$as" EMFILE "$run" -v "$py" -c "$python_socket"
	expect "-v: failed" 1 "" "*AF_INET stream -> failed: EMFILE*"
	try "$as" EPROTONOSUPPORT "$run" "$py" -c "$python_socket"
	expect "silent without -v and module" 0 "True 6" ""
	try "$run" -v "$py" -c '
import os, socket
a, b = socket.socketpair()
os.dup2(a.fileno(), 2)
socket.socket()
b.setblocking(False)
try:
	print(b.recv(100))
except BlockingIOError:
	print("nothing")'
	expect "-v: never writes to what replaced stderr" 0 "nothing" "*"
	try "$run" "$py" -c '
import asyncio
async def serve(r, w):
	w.write(await r.readexactly(5)); await w.drain(); w.close()
async def main():
	s = await asyncio.start_server(serve, "127.0.0.1", 0)
	r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
	w.write(b"hello"); print((await r.read()).decode()); w.close()
asyncio.run(main())'
	expect "asyncio echo" 0 "hello" ""
}

# Programs that do not open sockets must not notice, nor their children.
inert_tests()
{
	local name
	declare -A commands=(
		[bash]="bash -c 'echo \$((1+1)); (echo sub) | cat; exit 3'"
		[strace]="strace -o /dev/null true"
		[gdb]="gdb -q -nx -batch -ex run -ex quit --args /bin/echo hello"
		[id]="id -u"
	)
	for name in "${!commands[@]}"; do
		command -v "$name" >/dev/null || {
			skip "$name is undisturbed" "not installed"
			continue
		}
		try bash -c "${commands[$name]}"
		sed 's/process [0-9]*/process N/' "$dir/out" >"$dir/out.plain"
		cp "$dir/err" "$dir/err.plain"
		local plain=$rc
		try "$run" bash -c "${commands[$name]}"
		[ $rc = $plain ] && cmp -s "$dir/err" "$dir/err.plain" &&
			sed 's/process [0-9]*/process N/' "$dir/out" |
			cmp -s - "$dir/out.plain"
		result $? "$name is undisturbed"
	done
}

run_tests()
{
	try "$run" printf '<%s>' "a b" "" "'" '"' '$HOME' '*' $'x\ny' -- -v
	expect "arguments pass unchanged" 0 \
		"<a b><><'><\"><\$HOME><\*><x?y><--><-v>" ""
	try "$run" sh -c 'exit 42'
	expect "the program's status" 42 "" ""
	try "$run" -- sh -c 'echo $LD_PRELOAD'
	expect "LD_PRELOAD is set" 0 "$shim" ""
	try env LD_PRELOAD=libc.so.6 "$run" sh -c 'echo $LD_PRELOAD'
	expect "others stay preloaded" 0 "$shim:libc.so.6" ""
	try "$run" "$run" sh -c 'echo $LD_PRELOAD'
	expect "nested" 0 "$shim" ""
	try "$run" --fallback=tcp -v sh -c 'echo $KRCORE_FALLBACK $KRCORE_VERBOSE'
	expect "options reach the shim" 0 "tcp 1" "*"
	try "$run" --help
	expect "--help" 0 "Usage:*" ""
	version=$(sed -n 's/^#define KRCORE_VERSION\t"\(.*\)"$/\1/p' include/krcore/uapi.h)
	try "$run" --version
	expect "--version" 0 "krcore-run $version" ""
	try "$run"
	expect "no command" 125 "" "Usage:*"
	try "$run" --fallback=maybe true
	expect "bad fallback" 125 "" "*--fallback is tcp or fail, not 'maybe'"
	try "$run" --no-such-option true
	expect "bad option" 125 "" "*Try *"
	try "$run" no-such-command-anywhere
	expect "not found" 127 "" "*no-such-command-anywhere: command not found"
	try "$run" ""
	expect "empty name" 127 "" "*'': command not found"
	try "$run" /etc/passwd
	expect "not executable" 126 "" "*/etc/passwd: Permission denied"
	try "$run" /etc
	expect "a directory" 126 "" "*/etc: Permission denied"
	try env KRCORE_PRELOAD=/nowhere.so "$run" true
	expect "KRCORE_PRELOAD is missing" 125 "" "*cannot read '/nowhere.so'"
	try env KRCORE_PRELOAD="$shim" "$run" sh -c 'echo $LD_PRELOAD'
	expect "KRCORE_PRELOAD is used" 0 "$shim" ""
	mkdir -p "$dir/a b/bin" "$dir/a b/lib"
	cp "$run" "$dir/a b/bin" && cp "$shim" "$dir/a b/lib"
	try "$dir/a b/bin/krcore-run" true
	expect "a path that LD_PRELOAD cannot hold" 125 "" "*space or colon"
}

module_tests()
{
	try "$here/as_if" EPROTONOSUPPORT "$run" --fallback=fail true
	expect "--fallback=fail without module" 125 "" "*module is not loaded"
	try "$here/as_if" loaded "$run" --fallback=fail true
	expect "--fallback=fail with module" 0 "" ""
	try env KRCORE_FALLBACK=fail "$here/as_if" EPROTONOSUPPORT "$run" true
	expect "KRCORE_FALLBACK=fail without module" 125 "" "*is not loaded"
}

# out_of_reach NAME FILE TEXT: runs with tcp, does not with fail
out_of_reach()
{
	try "$run" "$2"
	expect "$1: said and run" 0 "*" "krcore-run: *$3*; it runs with plain TCP"
	try "$run" --fallback=fail "$2"
	expect "$1: --fallback=fail" 125 "" "*$3*; krcore cannot be used"
}

make_programs()
{
	echo 'int main(void) { return 0; }' >"$dir/p.c"
	cat >"$dir/note.s" <<-'EOF'
	.section .note.go.buildid, "a", @note
	.long 4, 4, 4
	.asciz "Go\0"
	.asciz "abc"
	.section .note.GNU-stack, "", @progbits
	EOF
	${CC:-gcc} -static -o "$dir/static" "$dir/p.c" &&
		${CC:-gcc} -static-pie -o "$dir/static-pie" "$dir/p.c" &&
		${CC:-gcc} -o "$dir/go" "$dir/p.c" "$dir/note.s" &&
		${CC:-gcc} -o "$dir/dynamic" "$dir/p.c"
}

reach_tests()
{
	make_programs || {
		result 1 "test programs are built"
		return
	}
	try "$run" "$dir/dynamic"
	expect "dynamic" 0 "" ""
	out_of_reach static "$dir/static" "statically linked"
	out_of_reach static-pie "$dir/static-pie" "statically linked"
	out_of_reach Go "$dir/go" "Go program"
	printf '#! %s\n' "$dir/static" >"$dir/script"
	printf '#!/bin/sh -e\necho "$@"\n' >"$dir/sh-script"
	printf 'echo plain\n' >"$dir/no-shebang"
	printf '#!/no/such/interpreter\n' >"$dir/bad-script"
	chmod +x "$dir"/*script "$dir/no-shebang"
	out_of_reach "script of a static interpreter" "$dir/script" "/static is statically"
	try "$run" "$dir/sh-script" "a  b"
	expect "shell script" 0 "a  b" ""
	try "$run" "$dir/no-shebang"
	expect "script without #!" 0 "plain" ""
	try "$run" "$dir/bad-script"
	expect "script without its interpreter" 127 "" \
		"*bad-script: interpreter '/no/such/interpreter': No such file*"
	mkfifo -m 755 "$dir/fifo"
	printf '#!%s\n' "$dir/fifo" >"$dir/fifo-script"
	chmod +x "$dir/fifo-script"
	try "$run" "$dir/fifo-script"
	expect "script of a FIFO" 126 "" "*fifo-script: Permission denied"
	for at in 4:1 18:183; do
		cp "$dir/dynamic" "$dir/foreign"
		printf "\\x$(printf %x ${at#*:})" |
			dd of="$dir/foreign" bs=1 seek=${at%:*} conv=notrunc 2>/dev/null
		try "$run" --fallback=fail "$dir/foreign"
		expect "another machine's program (byte $at)" 125 "" \
			"*32-bit program or one for another machine; krcore cannot*"
	done
}

# Cut and broken files are judged without a crash.  None is ever run: without
# the module --fallback=fail ends before that.
broken_tests()
{
	local at size failed=0
	size=$(stat -c %s "$dir/go")
	for at in 0 1 3 4 15 16 40 63 64 100 500 $((size / 2)); do
		head -c $at "$dir/go" >"$dir/broken"
		chmod +x "$dir/broken"
		try_broken || failed=1
	done
	for at in $(seq 4 1 300); do
		cp "$dir/go" "$dir/broken"
		printf '\xff' | dd of="$dir/broken" bs=1 seek=$at conv=notrunc 2>/dev/null
		try_broken || failed=1
	done
	result $failed "broken ELF files"
}

try_broken()
{
	try "$here/as_if" EPROTONOSUPPORT "$run" --fallback=fail "$dir/broken"
	[ $rc = 125 ] || [ $rc = 77 ] || [ $rc = 127 ]
}

privilege_tests()
{
	if [ "$(id -u)" != 0 ]; then
		skip "set-user-id" "needs root to make one"
		skip "set-group-id" "needs root to make one"
		skip "file capabilities" "needs root to make them"
		return
	fi
	cp "$dir/dynamic" "$dir/setuid" && chown 65534 "$dir/setuid" &&
		chmod 4755 "$dir/setuid"
	out_of_reach set-user-id "$dir/setuid" "set-user-id"
	cp "$dir/dynamic" "$dir/setgid" && chgrp 65534 "$dir/setgid" &&
		chmod 2755 "$dir/setgid"
	out_of_reach set-group-id "$dir/setgid" "set-group-id"
	cp "$here/tester" "$dir/setuid-tester" &&
		chown 65534 "$dir/setuid-tester" && chmod 4755 "$dir/setuid-tester"
	try env LD_PRELOAD="$shim" "$dir/setuid-tester" tcp
	expect "the loader ignores us silently in set-user-id programs" 1 \
		"Bail out! the shim is not loaded*" ""
	cp "$dir/setuid" "$dir/own" && chown 0 "$dir/own" && chmod 4755 "$dir/own"
	try "$run" --fallback=tcp "$dir/own"
	expect "set-user-id to oneself is within reach" 0 "" ""
	capability_test
}

capability_test()
{
	local public
	public=$(mktemp -d) && chmod 755 "$public"
	cp "$dir/dynamic" "$public/caps"
	mkdir "$public/bin" "$public/lib"
	cp "$run" "$public/bin" && cp "$shim" "$public/lib"
	if ! command -v setcap setpriv >/dev/null ||
	   ! setcap cap_net_raw+ep "$public/caps" 2>/dev/null; then
		skip "file capabilities" "no setcap or setpriv"
	else
		try setpriv --reuid=65534 --clear-groups \
			"$public/bin/krcore-run" "$public/caps"
		expect "file capabilities" 0 "" "*has file capabilities*"
	fi
	rm -rf "$public"
}

shopt -s extglob
: >"$tap"
shim_tests
verbose_tests
inert_tests
run_tests
module_tests
reach_tests
broken_tests
privilege_tests
rm -rf "$dir"
exec tests/summary.sh count $taps
