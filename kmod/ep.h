/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An endpoint: a VQP of core with what the kernel adds to it - its host, its
 * timer, the socket it belongs to or the listener it waits at.
 *
 * An endpoint is held by: its socket, the association while attached (dropped in
 * kr_ep_released), the listener while it waits there, its armed timer.  It is
 * freed after an RCU grace period, since core may drop the association's hold in
 * the middle of a packet.
 */
#ifndef KRCORE_EP_H
#define KRCORE_EP_H

#include <linux/refcount.h>
#include <linux/timer.h>
#include "host.h"

struct kr_sock;

struct kr_ep {
	struct kr_vqp vqp;		/* protected by host->lock */
	struct kr_host *host;		/* with reference, fixed */
	refcount_t ref;
	struct rcu_head rcu;
	struct timer_list timer;
	struct sock *sk;		/* host->lock: the socket, or NULL */
	enum kr_vqp_state traced;	/* host->lock: the last state told to tracers */
	bool is_orphan;			/* host->lock: counted, until nothing is to deliver */

	/* protected by listener->accept_lock */
	struct kr_sock *listener;	/* with reference while on its lists */
	struct list_head accept;	/* pending or accept_q of the listener */
	bool is_confirmed;		/* on accept_q */
};

/* A client's endpoint; takes over no reference.  NULL without memory. */
struct kr_ep *kr_ep_create(struct kr_host *host, u32 tx_limit, u32 rx_limit,
			   void *owner, gfp_t gfp);
void kr_ep_get(struct kr_ep *ep);
void kr_ep_put(struct kr_ep *ep);

/* The user is gone: false when there are too many of these.  Under host->lock. */
bool kr_ep_orphan(struct kr_ep *ep);

/* The user waits for the peer: kr_vqp_hurry().  Context: any but under host->lock. */
void kr_ep_hurry(struct kr_ep *ep);

/* struct kr_ops, under host->lock. */
int kr_ep_incoming(struct kr_assoc *a, const struct kr_connect *c,
		   struct kr_vqp **out);
void kr_ep_event(struct kr_vqp *v, u32 events);
void kr_ep_released(struct kr_vqp *v);
void kr_ep_arm(struct kr_vqp *v, u64 when);

#endif
