// SPDX-License-Identifier: GPL-2.0
/*
 * Listening: one port, two kinds of clients.
 *
 * The inner TCP socket listens; whoever it would give a SYN to gets the CONNECT,
 * because the listener is found by TCP's own lookup.  An endpoint made for a
 * CONNECT waits on "pending" until the client confirms it, then on "accept_q"; it
 * becomes a socket in accept(), in the context of the one who accepts.  One
 * backlog covers both lists and TCP's queue.  accept() returns plain TCP clients
 * as plain TCP sockets.
 */
#include <linux/hashtable.h>
#include <linux/module.h>
#include <net/addrconf.h>
#include <net/inet6_hashtables.h>
#include <net/inet_connection_sock.h>
#include <net/ip6_route.h>
#include <net/route.h>
#include <net/tcp.h>
#include <krcore/uapi.h>
#include "netns.h"
#include "sock.h"

enum { LISTEN_HASH_BITS = 8 };

static DEFINE_SPINLOCK(listen_lock);	/* protects the table; readers use RCU */
static DEFINE_HASHTABLE(listeners, LISTEN_HASH_BITS);

int kr_listen(struct socket *sock, int backlog)
{
	struct kr_sock *ks = kr_sk(sock->sk);
	struct sock *sk = sock->sk;
	int err;

	lock_sock(sk);
	err = -EINVAL;
	if (ks->mode == KR_MODE_TCP) {
		kr_inner_plain(ks);
		err = ks->inner->ops->listen(ks->inner, backlog);
		goto out;
	}
	if (sock->state != SS_UNCONNECTED ||
	    (ks->mode != KR_MODE_NEW && ks->mode != KR_MODE_LISTEN))
		goto out;
	err = kr_inner_get(ks);
	if (err)
		goto out;
	kr_inner_plain(ks);
	err = ks->inner->ops->listen(ks->inner, backlog);
	if (err || ks->mode == KR_MODE_LISTEN)
		goto out;
	ks->is_stopped = false;
	kr_set_state(sk, TCP_LISTEN);
	kr_set_mode(ks, KR_MODE_LISTEN);
	spin_lock(&listen_lock);
	hash_add_rcu(listeners, &ks->listen_node, (unsigned long)ks->inner->sk);
	spin_unlock(&listen_lock);
out:
	release_sock(sk);
	return err;
}

/*
 * An endpoint that waits is counted in the inner socket's accept queue, as TCP
 * counts its own: one backlog for both, and a full one drops SYNs of either kind.
 */
static void count(struct kr_sock *ks, int by)
{
	struct sock *isk = ks->inner->sk;
	spinlock_t *lock = &inet_csk(isk)->icsk_accept_queue.rskq_lock;

	spin_lock_bh(lock);
	if (by > 0)
		sk_acceptq_added(isk);
	else
		sk_acceptq_removed(isk);
	spin_unlock_bh(lock);
}

/* Takes the endpoint off the listener's lists; the caller drops their hold. */
static struct kr_ep *pop(struct kr_sock *ks, struct list_head *list)
{
	struct kr_ep *ep;

	spin_lock_bh(&ks->accept_lock);
	ep = list_first_entry_or_null(list, struct kr_ep, accept);
	if (ep) {
		list_del_init(&ep->accept);
		count(ks, -1);
		if (ep->is_confirmed)
			ks->nr_ready--;
		ep->listener = NULL;
	}
	spin_unlock_bh(&ks->accept_lock);
	if (ep)
		sock_put(&ks->inet.sk);	/* the endpoint's hold of the listener */
	return ep;
}

static void reset_all(struct kr_sock *ks, struct list_head *list)
{
	struct kr_ep *ep;

	while ((ep = pop(ks, list))) {
		rcu_read_lock();
		kr_host_lock(ep->host);
		kr_vqp_abort(&ep->vqp, ECONNRESET, KR_RST_ABORT, ktime_get_ns());
		kr_host_unlock(ep->host);
		rcu_read_unlock();
		kr_ep_put(ep);
	}
}

/* No CONNECT finds the listener any more; those that wait are reset. */
void kr_listen_stop(struct kr_sock *ks)
{
	struct sock *sk = &ks->inet.sk;

	if (ks->mode != KR_MODE_LISTEN)
		return;
	spin_lock(&listen_lock);
	hash_del_rcu(&ks->listen_node);
	spin_unlock(&listen_lock);
	spin_lock_bh(&ks->accept_lock);
	ks->is_stopped = true;
	spin_unlock_bh(&ks->accept_lock);
	reset_all(ks, &ks->pending);
	reset_all(ks, &ks->accept_q);
	kr_set_state(sk, TCP_CLOSE);
}

/*
 * The interface by which a SYN of this client would have come in; for one of this
 * namespace that is lo.
 */
static int ingress_v4(struct net *net, const struct kr_tuple *t)
{
	struct flowi4 fl4 = { .flowi4_proto = IPPROTO_TCP };
	struct rtable *rt;
	int dif;

	memcpy(&fl4.daddr, t->saddr, 4);
	memcpy(&fl4.saddr, t->daddr, 4);
	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return 0;
	dif = rt->dst.dev->ifindex;
	ip_rt_put(rt);
	return dif;
}

/* For one of this namespace the interface that has the server's address. */
static int ingress_v6(struct net *net, const struct kr_tuple *t, bool is_own)
{
	struct flowi6 fl6 = { .flowi6_proto = IPPROTO_TCP };
	struct inet6_dev *idev;
	struct dst_entry *dst;
	int dif;

	memcpy(&fl6.daddr, is_own ? t->daddr : t->saddr, 16);
	memcpy(&fl6.saddr, is_own ? t->saddr : t->daddr, 16);
	dst = ip6_route_output(net, NULL, &fl6);
	idev = is_own ? ip6_dst_idev(dst) : NULL;
	dif = dst->error ? 0 : idev ? idev->dev->ifindex : dst->dev->ifindex;
	dst_release(dst);
	return dif;
}

/* Could a SYN with these addresses come in?  @is_own: from this namespace. */
static bool is_plausible_v4(struct net *net, const struct kr_tuple *t, bool is_own)
{
	__be32 saddr, daddr;

	memcpy(&saddr, t->saddr, 4);
	memcpy(&daddr, t->daddr, 4);
	/* One of ours that comes from outside is a martian. */
	return inet_addr_type(net, daddr) == RTN_LOCAL &&
	       inet_addr_type(net, saddr) == (is_own ? RTN_LOCAL : RTN_UNICAST);
}

static bool is_plausible_v6(struct net *net, const struct kr_tuple *t, bool is_own)
{
	const struct in6_addr *saddr = (const struct in6_addr *)t->saddr;
	const struct in6_addr *daddr = (const struct in6_addr *)t->daddr;

	return ipv6_chk_addr(net, daddr, NULL, 0) &&
	       ipv6_addr_type(saddr) & IPV6_ADDR_UNICAST &&
	       (is_own || !ipv6_addr_loopback(saddr)) &&
	       !!ipv6_chk_addr(net, saddr, NULL, 0) == is_own;
}

/* TCP's own lookup.  Context: RCU. */
static struct sock *find_tcp_listener(struct net *net, const struct kr_tuple *t,
				      bool is_own)
{
	struct inet_hashinfo *hashinfo = net->ipv4.tcp_death_row.hashinfo;
	__be32 saddr, daddr;

	if (t->family == 4) {
		if (!is_plausible_v4(net, t, is_own))
			return NULL;
		memcpy(&saddr, t->saddr, 4);
		memcpy(&daddr, t->daddr, 4);
		return __inet_lookup_listener(net, hashinfo, NULL, 0, saddr,
					      htons(t->sport), daddr, t->dport,
					      ingress_v4(net, t), 0);
	}
	if (!is_plausible_v6(net, t, is_own))
		return NULL;
	return inet6_lookup_listener(net, hashinfo, NULL, 0,
				     (const struct in6_addr *)t->saddr,
				     htons(t->sport),
				     (const struct in6_addr *)t->daddr, t->dport,
				     ingress_v6(net, t, is_own), 0);
}

/* Our listener whose inner socket this is, with a reference. */
static struct kr_sock *find_listener(struct net *net, const struct kr_tuple *t,
				     bool is_own)
{
	struct sock *isk = find_tcp_listener(net, t, is_own);
	struct socket *inner;
	struct kr_sock *ks;

	if (!isk)
		return NULL;
	hash_for_each_possible_rcu(listeners, ks, listen_node, (unsigned long)isk) {
		inner = READ_ONCE(ks->inner);	/* races kr_inner_put() */
		if (inner && READ_ONCE(inner->sk) == isk &&
		    refcount_inc_not_zero(&ks->inet.sk.sk_refcnt))
			return ks;
	}
	return NULL;
}

/* 0, -EAGAIN when the backlog is full, or why to REJECT. */
static int enqueue(struct kr_sock *ks, struct kr_ep *ep)
{
	int ret = 0;

	spin_lock_bh(&ks->accept_lock);
	if (ks->is_stopped)
		ret = KR_REJECT_NO_LISTENER;
	else if (sk_acceptq_is_full(ks->inner->sk))
		ret = -EAGAIN;
	if (!ret) {
		ep->listener = ks;
		sock_hold(&ks->inet.sk);
		list_add_tail(&ep->accept, &ks->pending);
		count(ks, 1);
	}
	spin_unlock_bh(&ks->accept_lock);
	return ret;
}

/*
 * A host that asked us, not we it: its address answers if it must be found again, in a
 * namespace whose answers are worth something.
 */
static void note_hello(struct kr_host *host, struct net *net, const struct kr_tuple *t)
{
	host->hello.net_id = kr_netns(net)->id;
	host->hello.family = t->family;
	memcpy(host->hello.saddr, t->daddr, 16);
	memcpy(host->hello.daddr, t->saddr, 16);
}

/* Is the client a socket of this namespace?  Only within a host that can be. */
static bool is_of(struct kr_host *host, u64 client, const struct net *net)
{
	struct kr_vqp *v;

	lockdep_assert_held(&host->lock);
	v = host->assoc.is_loop ? kr_assoc_find_vqp(&host->assoc, client) : NULL;
	if (!v || !container_of(v, struct kr_ep, vqp)->sk)
		return false;
	return net_eq(sock_net(container_of(v, struct kr_ep, vqp)->sk), net);
}

int kr_listen_incoming(struct kr_host *host, const struct kr_connect *c,
		       struct kr_ep **out)
{
	const struct kr_tuple *t = &c->tuple;
	struct net *net = kr_netns_by_cookie(c->cookie, t->family, t->saddr, t->daddr);
	int ret = KR_REJECT_NO_LISTENER;
	struct kr_sock *ks;
	struct kr_ep *ep;

	lockdep_assert_held(&host->lock);
	if (!net)
		return KR_REJECT_NAMESPACE;
	ks = find_listener(net, t, is_of(host, c->client, net));
	if (ks && !host->hello.family && !host->assoc.is_loop &&
	    kr_netns_is_trusted(kr_netns(net)))
		note_hello(host, net, t);
	put_net(net);
	if (!ks)
		return ret;
	ret = KR_REJECT_POLICY;
	if (ks->opts.needs_tcp || READ_ONCE(ks->inet.sk.sk_mark))
		goto out;
	ret = KR_REJECT_MEMORY;
	/* The listener pays until accept(); it outlives the endpoint's use of its name. */
	ep = kr_ep_create(host, kr_sock_sndlimit(&ks->inet.sk),
			  kr_sock_rcvlimit(&ks->inet.sk), ks->inet.sk.sk_memcg,
			  GFP_ATOMIC);
	if (!ep)
		goto out;
	kr_ep_get(ep);			/* one hold for core, one for the listener */
	ret = enqueue(ks, ep);
	if (ret) {
		kr_ep_put(ep);
		kr_ep_put(ep);
	} else {
		*out = ep;
	}
out:
	sock_put(&ks->inet.sk);
	return ret;
}

/*
 * An endpoint's listener may forget it at any time (pop()), but under RCU its
 * memory stays, as sockets of ours are freed after a grace period.  Whether the
 * endpoint still waits is only known under accept_lock.
 */
void kr_listen_confirmed(struct kr_ep *ep)
{
	bool is_waiting = false;
	struct kr_sock *ks;

	lockdep_assert_held(&ep->host->lock);
	rcu_read_lock();
	ks = READ_ONCE(ep->listener);
	if (ks) {
		spin_lock_bh(&ks->accept_lock);
		is_waiting = ep->listener == ks;
		if (is_waiting) {
			ep->is_confirmed = true;
			list_move_tail(&ep->accept, &ks->accept_q);
			ks->nr_ready++;
		}
		spin_unlock_bh(&ks->accept_lock);
	}
	if (is_waiting)
		ks->inet.sk.sk_data_ready(&ks->inet.sk);
	rcu_read_unlock();
}

/* Ended before its client confirmed it: nobody will ever accept it. */
void kr_listen_released(struct kr_ep *ep)
{
	bool is_dropped = false;
	struct kr_sock *ks;

	lockdep_assert_held(&ep->host->lock);
	rcu_read_lock();
	ks = READ_ONCE(ep->listener);
	if (ks) {
		spin_lock_bh(&ks->accept_lock);
		is_dropped = ep->listener == ks && !ep->is_confirmed;
		if (is_dropped) {
			list_del_init(&ep->accept);
			count(ks, -1);
			ep->listener = NULL;
		}
		spin_unlock_bh(&ks->accept_lock);
	}
	if (is_dropped) {
		sock_put(&ks->inet.sk);
		kr_ep_put(ep);
	}
	rcu_read_unlock();
}

/* What a TCP child inherits from its listener. */
static void inherit(struct sock *sk, const struct sock *from)
{
	sk->sk_rcvbuf = from->sk_rcvbuf;
	sk->sk_sndbuf = from->sk_sndbuf;
	sk->sk_userlocks = from->sk_userlocks;
	sk->sk_rcvtimeo = from->sk_rcvtimeo;
	sk->sk_sndtimeo = from->sk_sndtimeo;
	sk->sk_rcvlowat = from->sk_rcvlowat;
	sk->sk_lingertime = from->sk_lingertime;
	sk->sk_priority = from->sk_priority;
	sk->sk_mark = from->sk_mark;
	sk->sk_reuse = from->sk_reuse;
	sk->sk_bound_dev_if = from->sk_bound_dev_if;
	sock_valbool_flag(sk, SOCK_LINGER, sock_flag(from, SOCK_LINGER));
	sock_valbool_flag(sk, SOCK_KEEPOPEN, sock_flag(from, SOCK_KEEPOPEN));
	kr_sk(sk)->opts = kr_sk(from)->opts;
}

/* The endpoint becomes the connection of a new socket; takes over the hold. */
static void adopt(struct sock *sk, struct kr_ep *ep)
{
	struct kr_sock *ks = kr_sk(sk);
	struct kr_vqp *v = &ep->vqp;
	struct kr_vqp_opts opts;

	ks->ep = ep;
	ks->tuple = v->tuple;
	kr_sock_opts(ks, &opts);
	kr_set_mode(ks, KR_MODE_RDMA);
	kr_host_lock(ep->host);
	ep->sk = sk;
	v->tx.buf.owner = sk->sk_memcg;
	v->rx.buf.owner = sk->sk_memcg;
	kr_vqp_set_opts(v, &opts, ktime_get_ns());
	kr_set_state(sk, TCP_ESTABLISHED);
	if (kr_rx_is_fin(&v->rx)) {
		sk->sk_shutdown |= RCV_SHUTDOWN;
		kr_set_state(sk, TCP_CLOSE_WAIT);
	}
	if (!v->is_attached)
		kr_sock_event(sk, ep, KR_EV_END);
	kr_host_unlock(ep->host);
	kr_stat_inc(ep->host->assoc.is_loop ? KR_STAT_accepts_local : KR_STAT_accepts_rdma);
}

/* The socket is made first: without memory for it the client waits on. */
static int accept_rdma(struct kr_sock *ks, struct socket *new)
{
	struct sock *sk = &ks->inet.sk;
	struct socket *tmp;
	struct kr_ep *ep;
	int err;

	if (!READ_ONCE(ks->nr_ready))
		return -EAGAIN;
	err = __sock_create(sock_net(sk), sk->sk_family, SOCK_STREAM,
			    IPPROTO_KRCORE, &tmp, 0);
	if (err)
		return err == -ENFILE ? -ENOMEM : err;
	/* It is still there: whoever takes a confirmed one holds our lock. */
	ep = pop(ks, &ks->accept_q);
	lock_sock_nested(tmp->sk, SINGLE_DEPTH_NESTING);
	inherit(tmp->sk, sk);
	sock_graft(tmp->sk, new);
	adopt(tmp->sk, ep);
	release_sock(tmp->sk);
	tmp->sk = NULL;
	sock_release(tmp);
	new->state = SS_CONNECTED;
	return 0;
}

/* A plain TCP client becomes a plain TCP socket, before anybody sees the fd. */
static int accept_tcp(struct kr_sock *ks, struct socket *new, int flags, bool kern)
{
	const struct proto_ops *ours = new->ops;
	int err;

	new->ops = ks->inner->ops;
	err = ks->inner->ops->accept(ks->inner, new, flags, kern);
	if (err) {
		new->ops = ours;
		return err;
	}
	/* Release will put the module of the new ops, not ours any more. */
	__module_get(new->ops->owner);
	module_put(THIS_MODULE);
	atomic64_inc(&kr_fallbacks[KR_REASON_PLAIN_CLIENT]);
	kr_stat_inc(KR_STAT_accepts_tcp);
	return 0;
}

/* -EAGAIN when nobody waits. */
static int accept_any(struct kr_sock *ks, struct socket *new, int flags, bool kern)
{
	int err = accept_rdma(ks, new);

	return err == -EAGAIN ? accept_tcp(ks, new, flags | O_NONBLOCK, kern) : err;
}

/* Waits for a client of either kind.  Context: lock_sock held. */
static int wait_and_accept(struct kr_sock *ks, struct socket *new, int flags, bool kern)
{
	struct sock *sk = &ks->inet.sk;
	long timeo = sock_rcvtimeo(sk, flags & O_NONBLOCK);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err;

	add_wait_queue_exclusive(sk_sleep(sk), &wait);
	for (;;) {
		err = -EINVAL;
		if (ks->mode != KR_MODE_LISTEN || sk->sk_state != TCP_LISTEN)
			break;
		err = accept_any(ks, new, flags, kern);
		if (err != -EAGAIN || !timeo)
			break;
		if (signal_pending(current)) {
			err = sock_intr_errno(timeo);
			break;
		}
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	/* A wakeup that we leave with may have been meant for another client. */
	if (READ_ONCE(ks->nr_ready))
		sk->sk_data_ready(sk);
	return err;
}

int kr_accept(struct socket *sock, struct socket *new, int flags, bool kern)
{
	struct kr_sock *ks = kr_sk(sock->sk);
	int err;

	if (kr_mode(ks) == KR_MODE_TCP)
		return accept_tcp(ks, new, flags, kern);
	lock_sock(sock->sk);
	err = wait_and_accept(ks, new, flags, kern);
	release_sock(sock->sk);
	return err;
}

__poll_t kr_listen_poll(struct file *file, struct kr_sock *ks)
{
	__poll_t mask = ks->inner->ops->poll(file, ks->inner, NULL);

	if (READ_ONCE(ks->nr_ready))
		mask |= EPOLLIN | EPOLLRDNORM;
	return mask;
}
