/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What we keep of each network namespace: by what number we name it, by which cookies
 * those who asked in it do, and the sockets that answer hellos in it.
 */
#ifndef KRCORE_NETNS_H
#define KRCORE_NETNS_H

#include <linux/atomic.h>
#include <linux/siphash.h>
#include <net/net_namespace.h>
#include "hello.h"

/* From pernet init to exit; does not hold the namespace. */
struct kr_netns {
	/* fixed */
	struct net *net;
	u64 id;				/* random, not 0 */
	siphash_key_t key;		/* of its cookies */
	struct hlist_node node;		/* netns_lock, read under RCU */

	bool is_closing;		/* set once: no new peers */
	atomic_t nr_peers;		/* peer.c's; exit waits for 0 */
	struct kr_answerer answerer4, answerer6;
};

int kr_netns_init(void);
void kr_netns_exit(void);

struct kr_netns *kr_netns(struct net *net);

/*
 * Who owns a namespace can answer a hello there in any host's name.  Is its owner who
 * owns this host?  Else it is any user with a user namespace of his own.  Context: any.
 */
bool kr_netns_is_trusted(const struct kr_netns *ns);

/*
 * The cookie that the answer to a hello from @from to @to in this namespace has.
 * Nobody else can name the namespace as reached from @from at @to: so a CONNECT with
 * the cookie comes from where its client's address is.  Context: any.
 */
u64 kr_netns_cookie(const struct kr_netns *ns, u8 family, const u8 from[16],
		    const u8 to[16]);
/* The namespace with this cookie, with a reference, or NULL.  Context: any. */
struct net *kr_netns_by_cookie(u64 cookie, u8 family, const u8 from[16],
			       const u8 to[16]);
/* The namespace with this id, with a reference, or NULL.  Context: any. */
struct net *kr_netns_by_id(u64 id);

/*
 * peer.c: forgets all peers of a namespace that is going, whose is_closing is
 * set.  Context: may sleep.
 */
void kr_peer_net_exit(struct kr_netns *ns);

#endif
