/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who is at an address: the hello (one UDP question, one answer, in the
 * socket's own network namespace) and the cache of what was learnt, keyed by
 * (namespace, source, destination), bounded, with one question at a time per key.
 *
 *   ASKING   question sent, grace time running
 *   PROVING  answered; the path over RDMA is being proven
 *   READY    host and cookie are valid: CONNECT may be sent
 *   NO       use TCP; reason and until when
 */
#ifndef KRCORE_PEER_H
#define KRCORE_PEER_H

#include <net/net_namespace.h>
#include "core/wire.h"
#include "stats.h"

struct kr_host;
struct kr_peer_waiter;

enum kr_peer_state {
	KR_PEER_ASKING,
	KR_PEER_PROVING,
	KR_PEER_READY,
	KR_PEER_NO,
};

/*
 * Someone who waits for an answer; embedded in the socket, on one list at most.
 * INIT_LIST_HEAD(&w->node) before the first lookup.
 */
struct kr_peer_waiter {
	struct list_head node;		/* peers_lock; the rest is fixed */
	/* Called once, in a worker, with no lock held: look up again. */
	void (*on_answer)(struct kr_peer_waiter *w);
};

/* What kr_peer_lookup() found. */
struct kr_peer_answer {
	enum kr_peer_state state;
	struct kr_host *host;		/* READY: with a reference */
	u64 cookie;			/* READY: of the namespace there */
	enum kr_reason reason;		/* NO */
};

int kr_peer_init(void);			/* pernet, hello sockets */
void kr_peer_exit(void);

/*
 * What is known about (net, saddr, daddr).  When nothing is, a question is
 * started.  Whoever may wait (kr_peer_may_wait()) then gets ASKING or PROVING,
 * and @w, if not NULL, is queued and called when the state is READY or NO; that
 * takes at most the grace times.  Others get NO (KR_REASON_ASKING).  With READY
 * and NO the waiter is not queued.  Addresses as in struct kr_tuple.
 * Context: may sleep.
 */
void kr_peer_lookup(struct net *net, u8 family, const u8 saddr[16],
		    const u8 daddr[16], struct kr_peer_waiter *w,
		    struct kr_peer_answer *answer);

/*
 * The same when routing leads to @net itself: READY, or NO (KR_REASON_SELF) when
 * connections within the host shall be TCP.  Context: any.
 */
void kr_peer_lookup_own(struct net *net, u8 family, const u8 saddr[16],
			const u8 daddr[16], struct kr_peer_answer *answer);

/*
 * Policy: may a connect wait for the hello?  On-link destinations, configured
 * prefixes and addresses of known hosts; elsewhere TCP is used at once.
 * Context: may sleep.
 */
bool kr_peer_may_wait(struct net *net, u8 family, const u8 saddr[16],
		      const u8 daddr[16]);

/*
 * Takes a waiter back; on return on_answer is not running and will not be called.
 * Not from on_answer, nor with a lock held that on_answer takes.
 * Context: may sleep.
 */
void kr_peer_cancel(struct kr_peer_waiter *w);

/*
 * Path event of a host: its entries become READY, or NO (KR_REASON_NO_PATH) until
 * a path is ready again.  Context: may sleep.
 */
void kr_peer_on_path(struct kr_host *host, bool is_ready);
/* The host is gone: entries that name it are forgotten.  Context: may sleep. */
void kr_peer_forget(struct kr_host *host);
/* What is known of this address is wrong.  Context: may sleep. */
void kr_peer_forget_at(struct net *net, u8 family, const u8 saddr[16],
		       const u8 daddr[16]);
/*
 * Ask again, at most once per second, who is where @host answered; another
 * instance there ends it (kr_host_gone()), the same one proves its path anew.
 * Context: may sleep.
 */
void kr_peer_check(struct kr_host *host);
/* hello.c: @instance asked us from @addr, so it is awake.  Context: may sleep. */
void kr_peer_heard(struct net *net, u8 family, const u8 addr[16],
		   const u8 instance[16]);

/*
 * reject.c: CONNECTs to (daddr, dport) were rejected: seconds of TCP for that
 * port.  Context: any but hard interrupt.
 */
void kr_peer_note_reject(struct net *net, u8 family, const u8 daddr[16], u16 dport);
bool kr_peer_is_rejected(struct net *net, u8 family, const u8 daddr[16], u16 dport);

/* hello.c: the module parameter grace_ms, and the same within its bounds. */
extern unsigned int kr_grace_ms;
unsigned long kr_grace_jiffies(void);

#endif
