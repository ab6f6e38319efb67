/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The generic netlink family "krcore", which krcorectl(8) asks: what a
 * connection and a host look like to people, and where they come from.  The
 * ABI is in include/krcore/uapi.h.  Nothing is changed through it.
 */
#ifndef KRCORE_NETLINK_H
#define KRCORE_NETLINK_H

#include <linux/types.h>
#include <krcore/uapi.h>
#include "core/state.h"
#include "stats.h"

struct net;

/* One connection or listener, as seen at one moment. */
struct kr_conn_info {
	u8 family;			/* 4 or 6, as in struct kr_tuple; 0: not shown */
	u8 saddr[16];			/* local; IPv4 uses the first 4 bytes */
	u8 daddr[16];			/* peer; zeros for a listener */
	u16 sport, dport;		/* host byte order */
	u8 state;			/* TCP_ESTABLISHED ... */
	u8 carrier;			/* enum krcore_carrier */
	u8 role;			/* enum krcore_role */
	enum kr_reason reason;
	u64 tx_rdma, rx_rdma, tx_local, rx_local, tx_tcp, rx_tcp;	/* bytes of the stream */
	u64 vqp_id;			/* 0: none */
	u64 host_id_prefix;		/* first 8 bytes of the instance, 0: none */
	u32 uid;			/* in the initial user namespace */
	u64 inode;			/* of the socket, 0: not accepted yet */
	u32 rx_queue, tx_queue;		/* bytes; of a listener: waiting, backlog */
	u64 age_ms;
};

/* One association and its path. */
struct kr_host_info {
	u8 instance[16];
	enum kr_path_state path;
	char dev_name[64];		/* empty: no path */
	u8 local_gid[16], remote_gid[16];
	u32 local_qpn, remote_qpn;
	u32 mtu;			/* bytes */
	u32 nr_vqps;
	u32 srtt_us, rttvar_us;
	u32 cwnd, inflight;		/* packets */
	u64 tx_packets, tx_bytes, rx_packets, rx_bytes;
	u64 lost, spurious, pto, dup;
	u64 malformed, refused, unknown;
	u32 nr_lanes;			/* that are up */
};

/*
 * The next connection or listener of @net after *@cursor, which is 0 at the
 * start and only the callee's to read.  A cursor stays good when sockets come
 * and go between two calls.  False at the end.  Context: may sleep.  (sock.c)
 */
bool kr_sock_info_get(struct net *net, u64 *cursor, struct kr_conn_info *info);

/* The same over all associations of this host.  Context: may sleep.  (host.c) */
bool kr_host_info_get(u64 *cursor, struct kr_host_info *info);

int kr_netlink_init(void);
void kr_netlink_exit(void);

#endif
