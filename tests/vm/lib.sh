# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# lib.sh: what lab cases share.  A case sources it twice: on the machine, for
# `lab`, and in its commands on the hosts (which start in the same directory),
# for the rest.  KR_PROTO=tcp runs a case over kernel TCP, to try the case.

KR_PROTO=${KR_PROTO:-krcore}
SOCKTEST=/build/tests/vm/socktest

# ---- on the machine ----

# lab [OPTIONS] -- 'COMMANDS ON h1' 'COMMANDS ON h2': a lab for this case.
# Commands see the functions below.
lab()
{
	local options=() commands=() name
	name=$(basename "$0" .sh)
	while [[ $# -gt 0 && $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	for command; do
		commands+=("export KR_PROTO=$KR_PROTO; . tests/vm/lib.sh; set -e
$command")
	done
	if [[ $KR_PROTO == tcp && " ${options[*]} " != *" --no-krcore "* ]]; then
		options+=(--no-krcore)
	fi
	rm -rf "build/test/vm/$name.out"
	mkdir -p "build/test/vm/$name.out"
	tools/lab/lab run --timeout 900 "${options[@]}" \
		-o "build/test/vm/$name.out" -- "${commands[@]}"
}

skip()
{
	echo "skipped: $*"
	exit 77
}

need()
{
	local program
	for program; do
		command -v "$program" >/dev/null || skip "no $program here"
	done
}

# ---- on the hosts ----

fail()
{
	echo "failed: $*" >&2
	exit 1
}

# Start the agents' service.
serve()
{
	"$SOCKTEST" server >/dev/null 2>&1 &
	lab-wait-port 7654
}

# cases OPTIONS... [--] CASE...: run cases against h1, or the address $AT, where
# the agents' service must be there already.
cases()
{
	local options=()
	while [[ $1 == -* ]]; do
		options+=("$1")
		if [[ $1 == --[a-z]* || $1 == -p ]]; then
			options+=("$2")
			shift
		fi
		shift
	done
	[[ -n $AT ]] || lab-wait-port 7654 h1
	"$SOCKTEST" client -p "$KR_PROTO" "${options[@]}" "${AT:-h1}" "$@"
}

# Load krcore again.
load()
{
	# shellcheck disable=SC2086
	insmod "$LAB_KMOD" $LAB_KMOD_ARGS
}

# kr CMD...: run a program over krcore (or as it is with KR_PROTO=tcp).
kr()
{
	if [[ $KR_PROTO == tcp ]]; then
		"$@"
	else
		krcore-run "$@"
	fi
}

# counter NAME: a counter of krcore on this host.
counter()
{
	krcorectl -j stat | tr '{},' '\n\n\n' |
		sed -n "s/^ *\"$1\" *: *\"\{0,1\}\([0-9]*\).*/\1/p" | head -n 1
}

# mark: remember the byte counters; the checks below look at what came since.
mark()
{
	[[ $KR_PROTO == tcp ]] && return
	RDMA_BEFORE=$(($(counter tx_bytes_rdma) + $(counter rx_bytes_rdma)))
	LOCAL_BEFORE=$(($(counter tx_bytes_local) + $(counter rx_bytes_local)))
	TCP_BEFORE=$(($(counter tx_bytes_tcp) + $(counter rx_bytes_tcp)))
}

rdma_bytes()
{
	echo $(($(counter tx_bytes_rdma) + $(counter rx_bytes_rdma) - RDMA_BEFORE))
}

tcp_bytes()
{
	echo $(($(counter tx_bytes_tcp) + $(counter rx_bytes_tcp) - TCP_BEFORE))
}

# over_rdma BYTES: at least that many went over RDMA since mark.
over_rdma()
{
	[[ $KR_PROTO == tcp ]] && return
	local moved
	moved=$(rdma_bytes)
	echo "over RDMA: $moved bytes"
	((moved >= $1)) || fail "expected $1 bytes over RDMA, got $moved"
}

# over_rdma_only BYTES: and none over TCP.
over_rdma_only()
{
	[[ $KR_PROTO == tcp ]] && return
	over_rdma "$1"
	(($(tcp_bytes) == 0)) || fail "$(tcp_bytes) bytes went over TCP"
}

# over_local BYTES: at least that many went through this host's memory.
over_local()
{
	[[ $KR_PROTO == tcp ]] && return
	local moved
	moved=$(($(counter tx_bytes_local) + $(counter rx_bytes_local) - LOCAL_BEFORE))
	echo "within this host: $moved bytes"
	((moved >= $1)) || fail "expected $1 bytes within this host, got $moved"
}

# over_local_only BYTES: and none over RDMA or TCP.
over_local_only()
{
	[[ $KR_PROTO == tcp ]] && return
	over_local "$1"
	(($(tcp_bytes) + $(rdma_bytes) == 0)) ||
		fail "$(tcp_bytes) bytes went over TCP, $(rdma_bytes) over RDMA"
}

# other_namespace: the network namespace "other" of this host, at 10.78.0.2 and
# fd78::2; here is 10.78.0.1 and fd78::1.
other_namespace()
{
	ip netns add other
	ip link add here type veth peer name there netns other
	ip addr add 10.78.0.1/24 dev here
	ip addr add fd78::1/64 dev here nodad
	ip link set here up
	ip -n other addr add 10.78.0.2/24 dev there
	ip -n other addr add fd78::2/64 dev there nodad
	ip -n other link set there up
	ip -n other link set lo up
}

# over_tcp_only: none over RDMA.
over_tcp_only()
{
	[[ $KR_PROTO == tcp ]] && return
	(($(rdma_bytes) == 0)) || fail "$(rdma_bytes) bytes went over RDMA"
}

# wait_file FILE [SECONDS]
wait_file()
{
	local end=$((SECONDS + ${2:-120} * LAB_SLOW))
	until [[ -e $1 ]]; do
		((SECONDS < end)) || fail "$1 did not come"
		sleep 0.1
	done
}

# broken CASE 'COMMANDS' [OPTIONS...]: run a case that waits (silent.*), do
# COMMANDS when it is ready, tell it to go on, and wait for its end.
broken()
{
	local name=$1 commands=$2
	shift 2
	export SOCKTEST_READY=/run/ready.$name SOCKTEST_GO=/run/go.$name
	rm -f "$SOCKTEST_READY" "$SOCKTEST_GO"
	cases "$@" "$name" &
	BROKEN=$!
	wait_file "$SOCKTEST_READY"
	eval "$commands"
	: >"$SOCKTEST_GO"
	wait "$BROKEN"
}

# The link carries nothing from here on / carries everything again.
silence()
{
	tc qdisc replace dev eth0 root netem loss 100%
}

sound()
{
	tc qdisc del dev eth0 root
}

# within SECONDS CMD...: until CMD succeeds.
within()
{
	local end=$((SECONDS + $1 * LAB_SLOW))
	shift
	until "$@"; do
		((SECONDS < end)) || fail "not in time: $*"
		sleep 0.2
	done
}

# nr_qps: number of QPs on this host's RDMA devices.
nr_qps()
{
	rdma resource show 2>/dev/null | sed -n 's/.*qp \([0-9]*\).*/\1/p' |
		awk '{ n += $1 } END { print n + 0 }'
}
