/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * krcore: the agreement between kernel and user space.
 *
 * Documentation
 * =============
 *
 * socket(AF_INET | AF_INET6, SOCK_STREAM, IPPROTO_KRCORE)
 *
 *	Makes a socket that talks over RDMA when both ends can and over TCP
 *	otherwise.  It takes the addresses, calls and options of a TCP
 *	socket.  The protocol number is the second of the two that RFC 3692
 *	keeps for experiments.  SO_PROTOCOL reads IPPROTO_KRCORE on it.
 *
 *	EPROTONOSUPPORT: the module is not loaded.
 *
 * Generic netlink family KRCORE_GENL_NAME, version KRCORE_GENL_VERSION
 *
 *	Reads what krcore is doing; changes nothing.  Anybody may ask.  A
 *	request carries no attributes: any is answered EINVAL.  A family that
 *	is not there (ENOENT from the controller): the module is not loaded.
 *	Readers skip attributes that they do not know; later versions append.
 *	Ports are in host byte order, addresses and GIDs in network order,
 *	strings end in a NUL.  Attributes marked * may be absent.
 *
 *	KRCORE_CMD_GET_CONNS, NLM_F_DUMP
 *		One message for each connection and listener of the caller's
 *		network namespace.
 *
 *	KRCORE_CONN_A_FAMILY	u16	AF_INET or AF_INET6
 *	KRCORE_CONN_A_STATE	u8	TCP_ESTABLISHED ... of netinet/tcp.h
 *	KRCORE_CONN_A_CARRIER	u8	enum krcore_carrier
 *	KRCORE_CONN_A_ROLE	u8	enum krcore_role
 *	KRCORE_CONN_A_SADDR	4 or 16 bytes, the local address
 *	KRCORE_CONN_A_DADDR	4 or 16 bytes, the peer's; zeros: none
 *	KRCORE_CONN_A_SPORT	u16
 *	KRCORE_CONN_A_DPORT	u16	0: none
 *	KRCORE_CONN_A_REASON *	string	why TCP: the token of a fallback
 *	KRCORE_CONN_A_TX_RDMA	u64	bytes of the stream, sent by RDMA
 *					(or TCP_LANE, see enum krcore_carrier)
 *	KRCORE_CONN_A_RX_RDMA	u64
 *	KRCORE_CONN_A_TX_TCP	u64	the same by TCP
 *	KRCORE_CONN_A_RX_TCP	u64
 *	KRCORE_CONN_A_VQP *	u64	id of the VQP
 *	KRCORE_CONN_A_HOST *	u64	first 8 bytes of the remote host's
 *					instance, the first one on top
 *	KRCORE_CONN_A_UID	u32	owner, in the caller's user namespace
 *	KRCORE_CONN_A_INODE *	u64	as in /proc/PID/fd: socket:[INODE]
 *	KRCORE_CONN_A_RX_QUEUE	u32	bytes received and not read; listener:
 *					connections that wait for accept
 *	KRCORE_CONN_A_TX_QUEUE	u32	bytes written and not accepted by the
 *					peer; listener: the backlog
 *	KRCORE_CONN_A_AGE_MS	u64
 *	KRCORE_CONN_A_TX_LOCAL	u64	bytes of the stream, within this host
 *	KRCORE_CONN_A_RX_LOCAL	u64
 *
 *	KRCORE_CMD_GET_STATS
 *		One message about the whole module, all namespaces together.
 *
 *	KRCORE_STATS_A_VERSION	string	KRCORE_VERSION of the module
 *	KRCORE_STATS_A_COUNTERS	a nest of one nest, of type 1, for each counter
 *		KRCORE_COUNTER_A_NAME	string
 *		KRCORE_COUNTER_A_VALUE	u64
 *	KRCORE_STATS_A_FALLBACKS	the same for each reason to use TCP
 *		KRCORE_FALLBACK_A_TOKEN	string	for programs
 *		KRCORE_FALLBACK_A_TEXT	string	for people
 *		KRCORE_FALLBACK_A_COUNT	u64	connections
 *
 *	KRCORE_CMD_GET_HOSTS, NLM_F_DUMP
 *		One message for each association.  Nothing outside the initial
 *		network namespace, where the RDMA devices are.
 *
 *	KRCORE_HOST_A_INSTANCE	16 bytes
 *	KRCORE_HOST_A_PATH	string	NONE, PROBING or READY
 *	KRCORE_HOST_A_DEV *	string	local RDMA device
 *	KRCORE_HOST_A_LOCAL_GID *	16 bytes
 *	KRCORE_HOST_A_REMOTE_GID *	16 bytes
 *	KRCORE_HOST_A_LOCAL_QPN *	u32
 *	KRCORE_HOST_A_REMOTE_QPN *	u32
 *	KRCORE_HOST_A_MTU *	u32	bytes of a packet
 *	KRCORE_HOST_A_VQPS	u32	VQPs there are now
 *	KRCORE_HOST_A_SRTT_US	u32
 *	KRCORE_HOST_A_RTTVAR_US	u32
 *	KRCORE_HOST_A_CWND	u32	packets
 *	KRCORE_HOST_A_INFLIGHT	u32	packets
 *	KRCORE_HOST_A_TX_PACKETS ... KRCORE_HOST_A_RX_BYTES	u64
 *	KRCORE_HOST_A_LOST	u64	packets found lost
 *	KRCORE_HOST_A_SPURIOUS	u64	of these, acknowledged later
 *	KRCORE_HOST_A_PTO	u64	probe timeouts
 *	KRCORE_HOST_A_DUP	u64	packets received more than once
 *	KRCORE_HOST_A_MALFORMED	u64	packets that broke the protocol
 *	KRCORE_HOST_A_REFUSED	u64	messages not accepted: no room
 *	KRCORE_HOST_A_UNKNOWN	u64	messages for a VQP that is not here
 *	KRCORE_HOST_A_LANES	u32	RC QPs and TCP connections in use
 *
 *	KRCORE_CMD_GET_DEVS, NLM_F_DUMP
 *		One message for each RDMA device port in use; as GET_HOSTS.
 *
 *	KRCORE_DEV_A_NAME	string
 *	KRCORE_DEV_A_QPN	u32	of the UD QP
 *	KRCORE_DEV_A_MTU	u32	bytes of a packet
 *	KRCORE_DEV_A_TX_PACKETS ... KRCORE_DEV_A_RX_BYTES	u64
 *	KRCORE_DEV_A_TX_NO_SLOT	u64	sends put off: all slots were out
 *	KRCORE_DEV_A_RX_ERRORS	u64	WCs of receives with an error
 *	KRCORE_DEV_A_QP_REBUILT	u64	times that the UD QP was made anew
 *
 *	KRCORE_CMD_GET_QPS, NLM_F_DUMP
 *		One message for each RC QP and each TCP connection that krcore
 *		has with a host, also while it is set up or ends; as GET_HOSTS.
 *
 *	KRCORE_QP_A_HOST	u64	as KRCORE_CONN_A_HOST
 *	KRCORE_QP_A_KIND	string	rc or tcp
 *	KRCORE_QP_A_DEV *	string	local RDMA device
 *	KRCORE_QP_A_LOCAL_QPN *	u32
 *	KRCORE_QP_A_REMOTE_QPN *	u32
 *	KRCORE_QP_A_STATE	string	SETUP, UP, DOUBT (answers are late: it is
 *					not used), FAILED or ENDING
 *	KRCORE_QP_A_ASKED	u8	1: we asked for it, 0: the host did
 *	KRCORE_QP_A_VQPS	u32	VQPs that the host has now
 *	KRCORE_QP_A_CREDITS	u32	packets that may wait for their answer
 *	KRCORE_QP_A_INFLIGHT	u32	packets that do
 *	KRCORE_QP_A_TX_BYTES	u64	of packets
 *	KRCORE_QP_A_RX_BYTES	u64
 *	KRCORE_QP_A_AGE_MS	u64
 *	KRCORE_QP_A_IDLE_MS	u64	since anything but answers went or came
 *	KRCORE_QP_A_DOUBTS	u64	times that it came into DOUBT
 */
#ifndef KRCORE_UAPI_H
#define KRCORE_UAPI_H

#define IPPROTO_KRCORE	254

/* UDP: asked before the first connection to an address; firewalls must let it in. */
#define KRCORE_HELLO_PORT 981

#define KRCORE_VERSION	"0.1"

#define KRCORE_GENL_NAME	"krcore"
#define KRCORE_GENL_VERSION	1

enum krcore_cmd {
	KRCORE_CMD_UNSPEC,
	KRCORE_CMD_GET_CONNS,
	KRCORE_CMD_GET_STATS,
	KRCORE_CMD_GET_HOSTS,
	KRCORE_CMD_GET_DEVS,
	KRCORE_CMD_GET_QPS,
	__KRCORE_CMD_END,
};
#define KRCORE_CMD_MAX (__KRCORE_CMD_END - 1)

/* What moves the bytes of a connection. */
enum krcore_carrier {
	KRCORE_CARRIER_NONE,	/* not decided, or a listener */
	KRCORE_CARRIER_UD,	/* the channel over UD */
	KRCORE_CARRIER_RC,	/* the same, and what is much by a shared RC QP */
	KRCORE_CARRIER_LOCAL,	/* in memory: the peer is this host */
	KRCORE_CARRIER_TCP,	/* it is a TCP connection */
	KRCORE_CARRIER_TCP_LANE,	/* TCP that all VQPs of two hosts share */
	__KRCORE_CARRIER_END,
};

enum krcore_role {
	KRCORE_ROLE_CLIENT,
	KRCORE_ROLE_SERVER,
	KRCORE_ROLE_LISTENER,
	__KRCORE_ROLE_END,
};

enum krcore_conn_attr {
	KRCORE_CONN_A_UNSPEC,
	KRCORE_CONN_A_PAD,
	KRCORE_CONN_A_FAMILY,
	KRCORE_CONN_A_STATE,
	KRCORE_CONN_A_CARRIER,
	KRCORE_CONN_A_ROLE,
	KRCORE_CONN_A_SADDR,
	KRCORE_CONN_A_DADDR,
	KRCORE_CONN_A_SPORT,
	KRCORE_CONN_A_DPORT,
	KRCORE_CONN_A_REASON,
	KRCORE_CONN_A_TX_RDMA,
	KRCORE_CONN_A_RX_RDMA,
	KRCORE_CONN_A_TX_TCP,
	KRCORE_CONN_A_RX_TCP,
	KRCORE_CONN_A_VQP,
	KRCORE_CONN_A_HOST,
	KRCORE_CONN_A_UID,
	KRCORE_CONN_A_INODE,
	KRCORE_CONN_A_RX_QUEUE,
	KRCORE_CONN_A_TX_QUEUE,
	KRCORE_CONN_A_AGE_MS,
	KRCORE_CONN_A_TX_LOCAL,
	KRCORE_CONN_A_RX_LOCAL,
	__KRCORE_CONN_A_END,
};
#define KRCORE_CONN_A_MAX (__KRCORE_CONN_A_END - 1)

enum krcore_stats_attr {
	KRCORE_STATS_A_UNSPEC,
	KRCORE_STATS_A_VERSION,
	KRCORE_STATS_A_COUNTERS,
	KRCORE_STATS_A_FALLBACKS,
	__KRCORE_STATS_A_END,
};
#define KRCORE_STATS_A_MAX (__KRCORE_STATS_A_END - 1)

enum krcore_counter_attr {
	KRCORE_COUNTER_A_UNSPEC,
	KRCORE_COUNTER_A_PAD,
	KRCORE_COUNTER_A_NAME,
	KRCORE_COUNTER_A_VALUE,
	__KRCORE_COUNTER_A_END,
};
#define KRCORE_COUNTER_A_MAX (__KRCORE_COUNTER_A_END - 1)

enum krcore_fallback_attr {
	KRCORE_FALLBACK_A_UNSPEC,
	KRCORE_FALLBACK_A_PAD,
	KRCORE_FALLBACK_A_TOKEN,
	KRCORE_FALLBACK_A_TEXT,
	KRCORE_FALLBACK_A_COUNT,
	__KRCORE_FALLBACK_A_END,
};
#define KRCORE_FALLBACK_A_MAX (__KRCORE_FALLBACK_A_END - 1)

enum krcore_host_attr {
	KRCORE_HOST_A_UNSPEC,
	KRCORE_HOST_A_PAD,
	KRCORE_HOST_A_INSTANCE,
	KRCORE_HOST_A_PATH,
	KRCORE_HOST_A_DEV,
	KRCORE_HOST_A_LOCAL_GID,
	KRCORE_HOST_A_REMOTE_GID,
	KRCORE_HOST_A_LOCAL_QPN,
	KRCORE_HOST_A_REMOTE_QPN,
	KRCORE_HOST_A_MTU,
	KRCORE_HOST_A_VQPS,
	KRCORE_HOST_A_SRTT_US,
	KRCORE_HOST_A_RTTVAR_US,
	KRCORE_HOST_A_CWND,
	KRCORE_HOST_A_INFLIGHT,
	KRCORE_HOST_A_TX_PACKETS,
	KRCORE_HOST_A_TX_BYTES,
	KRCORE_HOST_A_RX_PACKETS,
	KRCORE_HOST_A_RX_BYTES,
	KRCORE_HOST_A_LOST,
	KRCORE_HOST_A_SPURIOUS,
	KRCORE_HOST_A_PTO,
	KRCORE_HOST_A_DUP,
	KRCORE_HOST_A_MALFORMED,
	KRCORE_HOST_A_REFUSED,
	KRCORE_HOST_A_UNKNOWN,
	KRCORE_HOST_A_LANES,
	__KRCORE_HOST_A_END,
};
#define KRCORE_HOST_A_MAX (__KRCORE_HOST_A_END - 1)

enum krcore_dev_attr {
	KRCORE_DEV_A_UNSPEC,
	KRCORE_DEV_A_PAD,
	KRCORE_DEV_A_NAME,
	KRCORE_DEV_A_QPN,
	KRCORE_DEV_A_MTU,
	KRCORE_DEV_A_TX_PACKETS,
	KRCORE_DEV_A_TX_BYTES,
	KRCORE_DEV_A_RX_PACKETS,
	KRCORE_DEV_A_RX_BYTES,
	KRCORE_DEV_A_TX_NO_SLOT,
	KRCORE_DEV_A_RX_ERRORS,
	KRCORE_DEV_A_QP_REBUILT,
	__KRCORE_DEV_A_END,
};
#define KRCORE_DEV_A_MAX (__KRCORE_DEV_A_END - 1)

enum krcore_qp_attr {
	KRCORE_QP_A_UNSPEC,
	KRCORE_QP_A_PAD,
	KRCORE_QP_A_HOST,
	KRCORE_QP_A_KIND,
	KRCORE_QP_A_DEV,
	KRCORE_QP_A_LOCAL_QPN,
	KRCORE_QP_A_REMOTE_QPN,
	KRCORE_QP_A_STATE,
	KRCORE_QP_A_ASKED,
	KRCORE_QP_A_VQPS,
	KRCORE_QP_A_CREDITS,
	KRCORE_QP_A_INFLIGHT,
	KRCORE_QP_A_TX_BYTES,
	KRCORE_QP_A_RX_BYTES,
	KRCORE_QP_A_AGE_MS,
	KRCORE_QP_A_IDLE_MS,
	KRCORE_QP_A_DOUBTS,
	__KRCORE_QP_A_END,
};
#define KRCORE_QP_A_MAX (__KRCORE_QP_A_END - 1)

#endif /* KRCORE_UAPI_H */
