/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of the whole module, and why a connection uses TCP. */
#ifndef KRCORE_STATS_H
#define KRCORE_STATS_H

#include <linux/atomic.h>
#include <linux/types.h>

/* Why a socket uses TCP.  Names for people: kr_reason_name(). */
enum kr_reason {
	KR_REASON_NONE,
	KR_REASON_NO_DEVICE,		/* no RDMA device here */
	KR_REASON_NO_ANSWER,		/* the peer does not run krcore (silent) */
	KR_REASON_UNREACHABLE,		/* ICMP: nobody listens on the hello port */
	KR_REASON_ASKING,		/* off-link: asked in the background */
	KR_REASON_NAT,			/* the peer sees another address */
	KR_REASON_NO_PATH,		/* the RDMA path could not be proven */
	KR_REASON_PEER_NO_DEVICE,	/* the peer has no RDMA device */
	KR_REASON_SELF,			/* the peer is this host, and shall use TCP */
	KR_REASON_VERSION,		/* the peer speaks another version */
	KR_REASON_NO_LISTENER,		/* REJECT: no krcore listener */
	KR_REASON_POLICY,
	KR_REASON_NAMESPACE,
	KR_REASON_TIMEOUT,		/* CONNECT was not answered in time */
	KR_REASON_MEMORY,
	KR_REASON_OPTION,		/* a socket option needs TCP itself */
	KR_REASON_PLAIN_CLIENT,		/* accepted from a plain TCP client */
	KR_REASON_NR,
};

const char *kr_reason_name(enum kr_reason reason);
/* One word that scripts may rely on. */
const char *kr_reason_token(enum kr_reason reason);

#define KR_STATS(_) \
	_(conns_rdma) _(conns_local) _(conns_tcp) \
	_(accepts_rdma) _(accepts_local) _(accepts_tcp) \
	_(tx_bytes_rdma) _(rx_bytes_rdma) _(tx_bytes_local) _(rx_bytes_local) \
	_(tx_bytes_tcp) _(rx_bytes_tcp) \
	_(hello_asked) _(hello_answered) _(hello_sent_answers) \
	_(hello_dropped) _(paths_ready) _(paths_failed) _(paths_silent) \
	_(hosts_gone) _(rx_no_assoc) _(rx_malformed) _(gone_sent) \
	_(gone_limited) _(rejects_sent) _(rejects_received) \
	_(connect_timeouts) _(conns_aborted) _(backlog_full) \
	_(orphans_reset) _(lanes_failed) \
	_(rc_asked) _(rc_made) _(rc_ended) _(rc_evicted) _(rc_reclaimed) _(rc_refused) _(tcp_lanes)

enum kr_stat {
#define KR_STAT_ENUM(name) KR_STAT_##name,
	KR_STATS(KR_STAT_ENUM)
#undef KR_STAT_ENUM
	KR_STAT_NR,
};

extern atomic64_t kr_stats[KR_STAT_NR];
extern atomic64_t kr_fallbacks[KR_REASON_NR];	/* connections by reason */

static inline void kr_stat_add(enum kr_stat s, u64 n)
{
	atomic64_add(n, &kr_stats[s]);
}

static inline void kr_stat_inc(enum kr_stat s)
{
	atomic64_inc(&kr_stats[s]);
}

const char *kr_stat_name(enum kr_stat s);

#endif
