// SPDX-License-Identifier: GPL-2.0
/*
 * Network namespaces, coming and going.  A user of a namespace holds it (a
 * socket does, kr_netns_by_id() does), so peers are made in it only before exit,
 * except by the answerers, which only look at peers that exist.  Exit therefore
 * goes: not found any more, answerers closed, peers forgotten.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>
#include <net/netns/generic.h>
#include "netns.h"
#include "peer.h"

enum { NETNS_BUCKETS = 64 };		/* power of 2 */

static DEFINE_SPINLOCK(netns_lock);	/* protects changes of netns_table */
static struct hlist_head netns_table[NETNS_BUCKETS];
static unsigned int netns_id;

/* By an id or a cookie, of which the lowest bits are the same. */
static struct hlist_head *netns_bucket(u64 id)
{
	return &netns_table[id % NETNS_BUCKETS];
}

struct kr_netns *kr_netns(struct net *net)
{
	return net_generic(net, netns_id);
}

bool kr_netns_is_trusted(const struct kr_netns *ns)
{
	return ns->net->user_ns == &init_user_ns;
}

/* The lowest bits of the id, which find the namespace; the rest is proof. */
enum { COOKIE_ID_BITS = 16 };

u64 kr_netns_cookie(const struct kr_netns *ns, u8 family, const u8 from[16],
		    const u8 to[16])
{
	struct {
		u8 from[16];
		u8 to[16];
		u64 family;
	} who = { .family = family };

	memcpy(who.from, from, kr_addr_len(family));
	memcpy(who.to, to, kr_addr_len(family));
	return siphash(&who, sizeof(who), &ns->key) << COOKIE_ID_BITS |
	       (ns->id & GENMASK_ULL(COOKIE_ID_BITS - 1, 0));
}

struct net *kr_netns_by_cookie(u64 cookie, u8 family, const u8 from[16],
			       const u8 to[16])
{
	struct net *net = NULL;
	struct kr_netns *ns;

	rcu_read_lock();
	hlist_for_each_entry_rcu(ns, netns_bucket(cookie), node) {
		if ((ns->id ^ cookie) & GENMASK_ULL(COOKIE_ID_BITS - 1, 0) ||
		    kr_netns_cookie(ns, family, from, to) != cookie)
			continue;
		net = maybe_get_net(ns->net);
		break;
	}
	rcu_read_unlock();
	return net;
}

struct net *kr_netns_by_id(u64 id)
{
	struct net *net = NULL;
	struct kr_netns *ns;

	rcu_read_lock();
	hlist_for_each_entry_rcu(ns, netns_bucket(id), node) {
		if (ns->id == id) {
			net = maybe_get_net(ns->net);
			break;
		}
	}
	rcu_read_unlock();
	return net;
}

static void answerer_open(struct kr_answerer *a, struct kr_netns *ns, u8 family)
{
	kr_answerer_open(a, ns, family);
	/* A family that is switched off is nobody's surprise. */
	if (a->err && a->err != -EAFNOSUPPORT)
		pr_warn_ratelimited("namespace %u does not answer to hello (IPv%u, port %u): error %d\n",
				    ns->net->ns.inum, family, KRCORE_HELLO_PORT, a->err);
}

static int __net_init netns_init(struct net *net)
{
	struct kr_netns *ns = kr_netns(net);

	ns->net = net;
	while (!ns->id)
		ns->id = get_random_u64();
	get_random_bytes(&ns->key, sizeof(ns->key));
	answerer_open(&ns->answerer4, ns, 4);
	answerer_open(&ns->answerer6, ns, 6);
	spin_lock(&netns_lock);
	hlist_add_head_rcu(&ns->node, netns_bucket(ns->id));
	spin_unlock(&netns_lock);
	return 0;
}

/* The caller waits for RCU between this and exit. */
static void __net_exit netns_pre_exit(struct net *net)
{
	struct kr_netns *ns = kr_netns(net);

	WRITE_ONCE(ns->is_closing, true);	/* peer.c reads it */
	spin_lock(&netns_lock);
	hlist_del_rcu(&ns->node);
	spin_unlock(&netns_lock);
}

static void __net_exit netns_exit(struct net *net)
{
	struct kr_netns *ns = kr_netns(net);

	kr_answerer_close(&ns->answerer4);
	kr_answerer_close(&ns->answerer6);
	kr_peer_net_exit(ns);
}

static struct pernet_operations netns_ops = {
	.init = netns_init,
	.pre_exit = netns_pre_exit,
	.exit = netns_exit,
	.id = &netns_id,
	.size = sizeof(struct kr_netns),
};

int kr_netns_init(void)
{
	/* As a device, so that the sockets go before the interfaces do. */
	return register_pernet_device(&netns_ops);
}

void kr_netns_exit(void)
{
	unregister_pernet_device(&netns_ops);
}
