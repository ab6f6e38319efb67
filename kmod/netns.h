/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What we keep of each network namespace: its cookie, by which other hosts name
 * it, and the sockets that answer hellos in it.
 */
#ifndef KRCORE_NETNS_H
#define KRCORE_NETNS_H

#include <linux/atomic.h>
#include <net/net_namespace.h>
#include "hello.h"

/* From pernet init to exit; does not hold the namespace. */
struct kr_netns {
	/* fixed */
	struct net *net;
	u64 cookie;			/* random, not 0 */
	struct hlist_node by_cookie;	/* netns_lock, read under RCU */

	bool is_closing;		/* set once: no new peers */
	atomic_t nr_peers;		/* peer.c's; exit waits for 0 */
	struct kr_answerer answerer4, answerer6;
};

int kr_netns_init(void);
void kr_netns_exit(void);

struct kr_netns *kr_netns(struct net *net);

/*
 * peer.c: forgets all peers of a namespace that is going, whose is_closing is
 * set.  Context: may sleep.
 */
void kr_peer_net_exit(struct kr_netns *ns);

#endif
