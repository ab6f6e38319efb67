# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# guest.sh: what bench/run has the two lab hosts do.  h1 calls `servers`, h2
# calls `measure`, both with the kind of run (demo or bench).  Each measurement
# leaves in $OUT/raw what its program printed (QUESTION.CARRIER.RUN.txt) and
# the counters of h2 before and after it (.before, .after).
#
# Settings in the environment: RUNS, SECONDS_EACH, CONNECTS.

RSOCKET=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so.1
CONNECT=/build/bench-bin/connect
CMCONNECT=/build/bench-bin/cmconnect
H1=10.77.0.1

# Ports of h1: one for each program and carrier.
declare -A PORT=([iperf3.tcp]=5201 [iperf3.krcore]=5202 [sockperf.tcp]=11111
	[sockperf.krcore]=11112 [connect.tcp]=7001 [connect.krcore]=7002
	[connect.rsocket]=7003 [connect.cm]=7004 [pingpong.ud]=18515 [up.rc]=18516 [up.ud]=18517)

# What the progress lines call the questions.
declare -A TITLE=([connect]="connect and first echo" [pingpong]="64 B ping-pong"
	[up]="one stream, h2 to h1" [down]="one stream, h1 to h2"
	[four]="four streams, h2 to h1")

# on CARRIER COMMAND...
on()
{
	local carrier=$1
	shift
	case $carrier in
	krcore) krcore-run --fallback=fail "$@" ;;
	rsocket) LD_PRELOAD=$RSOCKET "$@" ;;
	*) "$@" ;;
	esac
}

# ---- h1 ----

# The programs that serve one client and end.
again()
{
	while :; do
		"$@" >/dev/null 2>&1
		sleep 0.1
	done
}

servers()
{
	local carrier
	exec </dev/null
	for carrier in tcp krcore; do
		on $carrier iperf3 -s -p "${PORT[iperf3.$carrier]}" >/dev/null 2>&1 &
		on $carrier sockperf sr --tcp -i 0.0.0.0 -p "${PORT[sockperf.$carrier]}" >/dev/null 2>&1 &
		on $carrier $CONNECT server "${PORT[connect.$carrier]}" &
	done
	if [[ $1 == bench ]]; then
		on rsocket $CONNECT server "${PORT[connect.rsocket]}" &
		again ib_send_lat -d rxe0 -x 1 -c UD -e -F -s 64 -n 1000 -p "${PORT[pingpong.ud]}" &
		again ib_send_bw -d rxe0 -x 1 -c RC -e -F -s 65536 -n 2000 -p "${PORT[up.rc]}" &
		again ib_send_bw -d rxe0 -x 1 -c UD -e -F -s 4096 -n 16000 -p "${PORT[up.ud]}" &
		[[ ! -x $CMCONNECT ]] || $CMCONNECT server "${PORT[connect.cm]}" &
	fi
	sleep 0.5
}

# ---- h2 ----

counters()
{
	{
		cd /sys/class/infiniband/rxe0/ports/1/hw_counters &&
			grep . rdma_* sent_pkts rcvd_pkts send_err completer_retry_err
		awk '/^Tcp:/ { if (!n++) split($0, name); else for (i = 2; i <= NF; i++)
			print "tcp_" name[i] ":" $i }' /proc/net/snmp
	} >"$1"
	krcorectl -j stat >"$1.json"
}

# Wait until the last measurement's TCP connections are closed, so that their
# last segments are not counted with the next.
settled()
{
	local tries
	for ((tries = 0; tries < 50; tries++)); do
		# Anything but LISTEN and TIME_WAIT?
		awk 'FNR > 1 && $4 != "0A" && $4 != "06" { n = 1 } END { exit n }' \
			/proc/net/tcp /proc/net/tcp6 && return
		sleep 0.1
	done
}

# run QUESTION CARRIER RUN COMMAND...: one measurement
run()
{
	local file=$OUT/raw/$1.$2.$3 carrier=$2 status
	shift 3
	settled
	counters "$file.before"
	on "$carrier" timeout -k 5 60 "$@" >"$file.txt" 2>"$file.err"
	status=$?
	counters "$file.after"
	echo "$status" >"$file.status"
	[[ $status == 0 ]] || echo "failed with status $status: $(tail -n 1 "$file.err")"
}

stream()
{
	local question=$1 carrier=$2 n=$3
	shift 3
	run "$question" "$carrier" "$n" iperf3 -c $H1 \
		-p "${PORT[iperf3.$carrier]}" -t "$SECONDS_EACH" -J "$@"
}

ask()
{
	local question=$1 carrier=$2 n=$3
	case $question.$carrier in
	pingpong.ud)
		lab-wait-port "${PORT[pingpong.ud]}" h1
		run pingpong ud "$n" ib_send_lat -d rxe0 -x 1 -c UD -e -F \
			-s 64 -n 1000 -p "${PORT[pingpong.ud]}" $H1
		;;
	up.rc)
		lab-wait-port "${PORT[up.rc]}" h1
		run up rc "$n" ib_send_bw -d rxe0 -x 1 -c RC -e -F \
			-s 65536 -n 2000 -p "${PORT[up.rc]}" $H1
		;;
	up.ud)
		lab-wait-port "${PORT[up.ud]}" h1
		run up ud "$n" ib_send_bw -d rxe0 -x 1 -c UD -e -F \
			-s 4096 -n 16000 -p "${PORT[up.ud]}" $H1
		;;
	*.cm)
		if [[ -x $CMCONNECT ]]; then
			run connect cm "$n" $CMCONNECT client $H1 \
				"${PORT[connect.cm]}" "$CONNECTS"
		else
			echo "not built: install librdmacm-dev and libibverbs-dev, make"
		fi
		;;
	up.*) stream up "$carrier" "$n" ;;
	down.*) stream down "$carrier" "$n" -R ;;
	four.*) stream four "$carrier" "$n" -P 4 ;;
	pingpong.*)
		run pingpong "$carrier" "$n" sockperf ping-pong --tcp \
			--full-rtt -i $H1 -p "${PORT[sockperf.$carrier]}" \
			-m 64 -t "$SECONDS_EACH"
		;;
	connect.*)
		run connect "$carrier" "$n" $CONNECT client $H1 \
			"${PORT[connect.$carrier]}" "$CONNECTS"
		;;
	esac
}

# The carriers that can answer a question.
carriers()
{
	echo tcp krcore
	[[ $1 == bench ]] || return 0
	case $2 in
	pingpong) echo ud ;;
	up) echo ud rc ;;
	connect) echo cm rsocket ;;
	esac
}

# Every second round starts with the last carrier, so that none is always
# the one that comes after the same other.
measure()
{
	local kind=$1 n question carrier order step=0 steps=0
	local questions=(connect pingpong up down four)
	mkdir -p "$OUT/raw"
	for question in "${questions[@]}"; do
		steps=$((steps + RUNS * $(carriers "$kind" "$question" | wc -w)))
	done
	for port in iperf3 sockperf connect; do
		lab-wait-port "${PORT[$port.tcp]}" h1 || return
		lab-wait-port "${PORT[$port.krcore]}" h1 || return
	done
	for ((n = 1; n <= RUNS; n++)); do
		for question in "${questions[@]}"; do
			mapfile -t order < <(carriers "$kind" "$question" | tr ' ' '\n' |
				if ((n % 2)); then cat; else tac; fi)
			for carrier in "${order[@]}"; do
				step=$((step + 1))
				echo "step $step of $steps: ${TITLE[$question]}: $carrier"
				ask "$question" "$carrier" "$n"
			done
		done
	done
}
