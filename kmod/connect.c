// SPDX-License-Identifier: GPL-2.0
/*
 * connect(): who is there, and by which way.
 *
 * The caller's context makes and binds the inner socket, so that the local address
 * and port are final when connect() returns, whatever carries the connection.  Then
 * the peer cache says READY (a CONNECT goes out at once), NO (TCP), or that the
 * question is under way: then the connect work goes on when the answer is there.
 * A CONNECT that is refused or not answered in time goes on as TCP from the same
 * port, by the same work.
 */
#include <net/addrconf.h>
#include <net/inet_connection_sock.h>
#include <net/inet_hashtables.h>
#include <net/ip6_route.h>
#include <net/route.h>
#include "netns.h"
#include "sock.h"

/* The destination as in a tuple; false: TCP must deal with it. */
static bool get_dest(struct kr_tuple *t, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *a6 = (const void *)addr;
	const struct sockaddr_in *a4 = (const void *)addr;
	int type;

	memset(t, 0, sizeof(*t));
	if (addr->ss_family == AF_INET) {
		t->family = 4;
		t->dport = ntohs(a4->sin_port);
		memcpy(t->daddr, &a4->sin_addr, 4);
		return a4->sin_addr.s_addr && t->dport;
	}
	t->dport = ntohs(a6->sin6_port);
	if (ipv6_addr_v4mapped(&a6->sin6_addr)) {
		t->family = 4;
		memcpy(t->daddr, &a6->sin6_addr.s6_addr[12], 4);
		return a6->sin6_addr.s6_addr32[3] && t->dport;
	}
	t->family = 6;
	memcpy(t->daddr, &a6->sin6_addr, 16);
	type = ipv6_addr_type(&a6->sin6_addr);
	return type & IPV6_ADDR_UNICAST && !(type & IPV6_ADDR_LINKLOCAL) && t->dport;
}

static int route_v4(struct sock *sk, struct kr_tuple *t, bool *is_own)
{
	struct flowi4 fl4 = {
		.flowi4_oif = sk->sk_bound_dev_if,
		.flowi4_mark = READ_ONCE(sk->sk_mark),
		.flowi4_proto = IPPROTO_TCP,
		.flowi4_uid = sk->sk_uid,
	};
	struct rtable *rt;

	memcpy(&fl4.daddr, t->daddr, 4);
	memcpy(&fl4.saddr, t->saddr, 4);
	rt = ip_route_output_key(sock_net(sk), &fl4);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	if (rt->rt_flags & (RTCF_MULTICAST | RTCF_BROADCAST)) {
		ip_rt_put(rt);
		return -ENETUNREACH;
	}
	memcpy(t->saddr, &fl4.saddr, 4);
	*is_own = rt->rt_type == RTN_LOCAL;
	ip_rt_put(rt);
	return 0;
}

static int route_v6(struct sock *sk, struct kr_tuple *t, bool *is_own)
{
	struct flowi6 fl6 = {
		.flowi6_oif = sk->sk_bound_dev_if,
		.flowi6_mark = READ_ONCE(sk->sk_mark),
		.flowi6_proto = IPPROTO_TCP,
		.flowi6_uid = sk->sk_uid,
	};
	struct dst_entry *dst;

	memcpy(&fl6.daddr, t->daddr, 16);
	memcpy(&fl6.saddr, t->saddr, 16);
	dst = ipv6_stub->ipv6_dst_lookup_flow(sock_net(sk), sk, &fl6, NULL);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	memcpy(t->saddr, &fl6.saddr, 16);
	*is_own = container_of(dst, struct rt6_info, dst)->rt6i_flags & RTF_LOCAL;
	dst_release(dst);
	return ipv6_addr_any((struct in6_addr *)t->saddr) ? -ENETUNREACH : 0;
}

/*
 * The source address that TCP would use; the bound one if there is one.  And does
 * routing lead to this namespace itself?
 */
static int get_source(struct kr_sock *ks, struct kr_tuple *t)
{
	struct sock *sk = &ks->inet.sk;
	u16 port;

	kr_inner_addr(ks->inner->sk, t->family, t->saddr, &port);
	return t->family == 4 ? route_v4(sk, t, &ks->is_own) : route_v6(sk, t, &ks->is_own);
}

static int bind_port(struct kr_sock *ks, const struct kr_tuple *t)
{
	struct sock *isk = ks->inner->sk;
	struct sockaddr_storage addr = { .ss_family = isk->sk_family };
	struct sockaddr_in6 *a6 = (void *)&addr;
	struct sockaddr_in *a4 = (void *)&addr;

	if (isk->sk_family == AF_INET)
		memcpy(&a4->sin_addr, t->saddr, 4);
	else if (t->family == 6)
		memcpy(&a6->sin6_addr, t->saddr, 16);
	else
		ipv6_addr_set_v4mapped(*(__be32 *)t->saddr, &a6->sin6_addr);
	return kernel_bind(ks->inner, (struct sockaddr *)&addr,
			   isk->sk_family == AF_INET ? sizeof(*a4) : sizeof(*a6));
}

/*
 * A port for the connection, from TCP's own space.  As after TCP's connect() it is
 * the socket's until that is disconnected, unless the user has bound it.  Context:
 * lock_sock held, by which alone one comes to the inner socket.
 */
static int bind_source(struct kr_sock *ks, struct kr_tuple *t)
{
	struct inet_sock *inner = inet_sk(ks->inner->sk);
	const u8 mask = SOCK_BINDADDR_LOCK | SOCK_BINDPORT_LOCK;
	u8 locks = inner->sk.sk_userlocks & mask;
	bool is_late = inner->bind_address_no_port;
	bool is_v6only = inner->sk.sk_ipv6only;
	int err = 0;

	if (!inner->inet_num) {
		/* IP_BIND_ADDRESS_NO_PORT: connect() is when it is due. */
		inner->bind_address_no_port = false;
		err = bind_port(ks, t);
		/* No port: what the user has bound stays bound. */
		inner->bind_address_no_port = true;
		if (err && locks & SOCK_BINDADDR_LOCK)
			bind_port(ks, t);
		inner->bind_address_no_port = is_late;
		inner->sk.sk_ipv6only = is_v6only;
		inner->sk.sk_userlocks &= ~mask | locks;
	}
	t->sport = inner->inet_num;
	return err;
}

/* A port that bind_source() has taken goes back. */
static int unbind_source(struct kr_sock *ks)
{
	struct sockaddr addr = { .sa_family = AF_UNSPEC };
	struct sock *isk;
	int err;

	if (!ks->inner)
		return 0;
	/* TCP does so when it leaves another state; the inner one was in none. */
	isk = ks->inner->sk;
	lock_sock(isk);
	if (isk->sk_state == TCP_CLOSE && inet_csk(isk)->icsk_bind_hash &&
	    !(isk->sk_userlocks & SOCK_BINDPORT_LOCK))
		inet_put_port(isk);
	release_sock(isk);
	err = kernel_connect(ks->inner, &addr, sizeof(addr), 0);
	/* It has reported "no error": nothing that SO_ERROR would have to clear. */
	WRITE_ONCE(ks->is_err_mirrored, false);
	return err;
}

static void drop_ep(struct kr_sock *ks)
{
	struct kr_ep *ep = ks->ep;

	if (!ep)
		return;
	kr_host_lock(ep->host);
	ep->sk = NULL;
	kr_vqp_abort(&ep->vqp, ECONNRESET, KR_RST_ABORT, ktime_get_ns());
	kr_host_unlock(ep->host);
	WRITE_ONCE(ks->ep, NULL);	/* read by poll */
	kr_ep_put(ep);
}

static u64 give_up_ns(struct kr_host *host, u64 now)
{
	return now + max_t(u64, jiffies_to_nsecs(kr_grace_jiffies()), 8 * host->assoc.ch.srtt_ns);
}

/* CONNECT to a host whose path is proven; 0, or -errno and nothing has happened. */
static int connect_rdma(struct kr_sock *ks, struct kr_host *host, u64 cookie)
{
	struct sock *sk = &ks->inet.sk;
	u64 now = ktime_get_ns();
	struct kr_ep *ep;
	int err;

	ep = kr_ep_create(host, kr_sock_sndlimit(sk), kr_sock_rcvlimit(sk),
			  sk->sk_memcg, GFP_KERNEL);
	if (!ep)
		return -ENOMEM;
	ep->vqp.tuple = ks->tuple;
	ep->vqp.cookie = cookie;
	kr_sock_opts(ks, &ep->vqp.opts);
	ep->sk = sk;
	ks->ep = ep;
	kr_ep_get(ep);			/* the association's */
	kr_set_state(sk, TCP_SYN_SENT);
	kr_set_mode(ks, KR_MODE_RDMA);
	kr_host_lock(host);
	err = kr_vqp_connect(&host->assoc, &ep->vqp, give_up_ns(host, now), now);
	if (err)
		ep->sk = NULL;
	kr_host_unlock(host);
	if (!err)
		return 0;
	kr_set_state(sk, TCP_CLOSE);
	ks->ep = NULL;
	kr_ep_put(ep);
	kr_ep_put(ep);
	return err;
}

static enum kr_reason refusal_reason(u32 refusal)
{
	switch (refusal) {
	case KR_REJECT_NO_LISTENER:
		return KR_REASON_NO_LISTENER;
	case KR_REJECT_POLICY:
		return KR_REASON_POLICY;
	case KR_REJECT_NAMESPACE:
		return KR_REASON_NAMESPACE;
	case KR_REJECT_MEMORY:
		return KR_REASON_MEMORY;
	case KR_REFUSAL_TIMEOUT:
		return KR_REASON_TIMEOUT;
	}
	return KR_REASON_VERSION;
}

static enum kr_reason note_refusal(struct kr_sock *ks)
{
	struct kr_tuple *t = &ks->tuple;
	u32 refusal = ks->ep->vqp.refusal;

	if (refusal == KR_REFUSAL_TIMEOUT) {
		kr_stat_inc(KR_STAT_connect_timeouts);
		return KR_REASON_TIMEOUT;
	}
	kr_stat_inc(KR_STAT_rejects_received);
	/* The namespace at that address is another one now: ask again. */
	if (refusal == KR_REJECT_NAMESPACE)
		kr_peer_forget_at(sock_net(&ks->inet.sk), t->family, t->saddr, t->daddr);
	if (refusal == KR_REJECT_NO_LISTENER || refusal == KR_REJECT_POLICY)
		kr_peer_note_reject(sock_net(&ks->inet.sk), t->family, t->daddr,
				    t->dport);
	return refusal_reason(refusal);
}

static bool is_refused(const struct kr_sock *ks)
{
	return ks->ep && READ_ONCE(ks->ep->vqp.state) == KR_VQP_REFUSED;
}

/*
 * May the connection claim its port at another namespace?  Whoever owns a namespace
 * binds any port there, and can have an address of this host and, from a hello of his
 * own, a cookie for it: as a user of this host he may not use a privileged port.
 */
static bool may_claim_port(const struct kr_sock *ks)
{
	return ks->is_own || kr_netns_is_trusted(kr_netns(sock_net(&ks->inet.sk))) ||
	       !inet_port_requires_bind_service(&init_net, ks->tuple.sport);
}

/*
 * What the peer cache says now decides.  Return: 0 under way; a positive enum
 * kr_reason: use TCP; -errno: no port.
 */
static int choose(struct kr_sock *ks)
{
	struct sock *sk = &ks->inet.sk;
	struct kr_tuple *t = &ks->tuple;
	struct kr_peer_answer answer;
	int err;

	if (kr_peer_is_rejected(sock_net(sk), t->family, t->daddr, t->dport))
		return KR_REASON_NO_LISTENER;
	if (ks->is_own)
		kr_peer_lookup_own(sock_net(sk), t->family, t->saddr, t->daddr, &answer);
	else
		kr_peer_lookup(sock_net(sk), t->family, t->saddr, t->daddr, &ks->waiter,
			       &answer);
	if (answer.state == KR_PEER_NO)
		return answer.reason;
	/* The work looks again; by then the port is bound, by the caller here. */
	err = bind_source(ks, t);
	if (answer.state != KR_PEER_READY) {
		if (err)
			return err;
		kr_set_mode(ks, KR_MODE_ASKING);
		kr_set_state(sk, TCP_SYN_SENT);
		return 0;
	}
	if (!err && !may_claim_port(ks)) {
		err = KR_REASON_POLICY;
	} else if (!err) {
		err = connect_rdma(ks, answer.host, answer.cookie);
		if (err)
			err = err == -ENOMEM ? KR_REASON_MEMORY : KR_REASON_NO_PATH;
		else if (is_refused(ks))	/* within this host that is known at once */
			err = note_refusal(ks);
	}
	kr_host_put(answer.host);
	if (err)
		drop_ep(ks);
	return err;
}

static int start_tcp(struct kr_sock *ks, enum kr_reason reason)
{
	int err;

	drop_ep(ks);
	kr_inner_push(ks);
	err = kernel_connect(ks->inner, (struct sockaddr *)&ks->peer_addr,
			     ks->peer_addr_len, O_NONBLOCK);
	/* Not before: a poller must not take the closed inner socket for the outcome. */
	kr_inner_use(ks, reason);
	return err;
}

/*
 * The answer of the peer cache, or a refusal, has come.  Release of the socket
 * waits for this work, so that it needs no reference.
 */
void kr_connect_work_fn(struct work_struct *work)
{
	struct kr_sock *ks = container_of(work, struct kr_sock, connect_work);
	struct sock *sk = &ks->inet.sk;
	int reason = 0;
	int err = 0;

	lock_sock(sk);
	if (ks->is_released)
		goto out;
	if (ks->mode == KR_MODE_ASKING)
		reason = choose(ks);
	else if (ks->mode == KR_MODE_RDMA && is_refused(ks))
		reason = note_refusal(ks);
	if (reason > 0)
		err = start_tcp(ks, reason);
	if (err && err != -EINPROGRESS) {
		WRITE_ONCE(sk->sk_err, -err);
		sk_error_report(sk);
	}
	sk->sk_state_change(sk);
out:
	release_sock(sk);
}

void kr_connect_on_answer(struct kr_peer_waiter *w)
{
	struct kr_sock *ks = container_of(w, struct kr_sock, waiter);

	schedule_work(&ks->connect_work);
}

/*
 * The socket is being closed (is_released is set): nothing of connect() runs any
 * more on return.  Context: no lock held.
 */
void kr_connect_abandon(struct kr_sock *ks)
{
	kr_peer_cancel(&ks->waiter);
	cancel_work_sync(&ks->connect_work);
}

static int begin(struct kr_sock *ks, struct sockaddr *addr, int len)
{
	struct sock *sk = &ks->inet.sk;
	int reason = KR_REASON_OPTION;
	int err;

	if (len < (sk->sk_family == AF_INET ? sizeof(struct sockaddr_in) : SIN6_LEN_RFC2133))
		return -EINVAL;
	if (addr->sa_family != sk->sk_family &&
	    !(sk->sk_family == AF_INET6 && addr->sa_family == AF_INET))
		return -EAFNOSUPPORT;
	err = kr_inner_get(ks);
	if (err)
		return err;
	memset(&ks->peer_addr, 0, sizeof(ks->peer_addr));
	ks->peer_addr_len = min_t(int, len, sizeof(ks->peer_addr));
	memcpy(&ks->peer_addr, addr, ks->peer_addr_len);
	if (ks->opts.needs_tcp || READ_ONCE(sk->sk_mark) || addr->sa_family != sk->sk_family)
		goto tcp;
	reason = KR_REASON_POLICY;
	if (!get_dest(&ks->tuple, &ks->peer_addr) ||
	    (ks->tuple.family == 4 && ipv6_only_sock(ks->inner->sk)) ||
	    get_source(ks, &ks->tuple))
		goto tcp;
	reason = choose(ks);
	if (reason < 0)
		return reason == -EADDRINUSE ? -EADDRNOTAVAIL : reason;
	if (!reason)
		return 0;
tcp:
	kr_inner_use(ks, reason);
	return 0;
}

static bool is_undecided(struct kr_sock *ks)
{
	return ks->mode == KR_MODE_ASKING ||
	       (ks->mode == KR_MODE_RDMA &&
		(READ_ONCE(ks->inet.sk.sk_state) == TCP_SYN_SENT || is_refused(ks)));
}

/* Waits until the connection is decided; 0 or what to return. */
static int wait_decided(struct kr_sock *ks, int err, int flags)
{
	struct sock *sk = &ks->inet.sk;
	long timeo = sock_sndtimeo(sk, flags & O_NONBLOCK);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	if (!is_undecided(ks))
		return 0;
	if (!timeo)
		return err;
	add_wait_queue(sk_sleep(sk), &wait);
	while (is_undecided(ks) && timeo && !signal_pending(current)) {
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	if (!is_undecided(ks))
		return 0;
	return signal_pending(current) ? sock_intr_errno(timeo) : err;
}

/* A decided RDMA connection: established, or ended with an error. */
static int finish_rdma(struct kr_sock *ks, struct socket *sock)
{
	struct sock *sk = &ks->inet.sk;
	enum kr_vqp_state state = READ_ONCE(ks->ep->vqp.state);
	int err;

	/* It may be over already, but it was there. */
	if (state == KR_VQP_OPEN || state == KR_VQP_CLOSED) {
		sock->state = SS_CONNECTED;
		return 0;
	}
	err = sock_error(sk) ? : -ECONNABORTED;
	drop_ep(ks);
	unbind_source(ks);
	sk->sk_shutdown = 0;
	kr_set_mode(ks, KR_MODE_NEW);
	sock->state = SS_UNCONNECTED;
	return err;
}

/* Back to NEW, whatever it was but TCP.  Context: lock_sock held. */
int kr_disconnect(struct kr_sock *ks, struct socket *sock)
{
	struct sock *sk = &ks->inet.sk;
	int err;

	if (ks->mode == KR_MODE_LISTEN)
		kr_listen_stop(ks);
	/* The work, if it is queued already, finds nothing to do. */
	if (ks->mode == KR_MODE_ASKING)
		kr_peer_cancel(&ks->waiter);
	if (ks->mode == KR_MODE_RDMA)
		drop_ep(ks);
	err = unbind_source(ks);
	WRITE_ONCE(sk->sk_err, 0);
	sk->sk_shutdown = 0;
	kr_set_state(sk, TCP_CLOSE);
	if (ks->mode != KR_MODE_TCP)
		kr_set_mode(ks, KR_MODE_NEW);
	sock->state = err ? SS_DISCONNECTING : SS_UNCONNECTED;
	sk->sk_state_change(sk);
	return err;
}

static int connect_tcp(struct kr_sock *ks, struct socket *sock,
		       struct sockaddr *addr, int len, int flags)
{
	struct socket *inner = ks->inner;
	int err;

	kr_inner_sync(ks);
	err = inner->ops->connect(inner, addr, len, flags);
	sock->state = inner->state;
	/* An attempt that the work could not even start has left its error here. */
	if (err && inner->state == SS_UNCONNECTED)
		WRITE_ONCE(ks->inet.sk.sk_err, 0);
	return kr_inner_result(ks, err);
}

int kr_connect(struct socket *sock, struct sockaddr *addr, int len, int flags)
{
	struct kr_sock *ks = kr_sk(sock->sk);
	struct sock *sk = sock->sk;
	bool is_first = false;
	int err = -EALREADY;

	if (kr_mode(ks) == KR_MODE_TCP)
		return connect_tcp(ks, sock, addr, len, flags);
	if (len < sizeof(addr->sa_family))
		return -EINVAL;
	lock_sock(sk);
	if (addr->sa_family == AF_UNSPEC) {
		err = kr_disconnect(ks, sock);
		goto out;
	}
	if (sock->state == SS_CONNECTED || ks->mode == KR_MODE_LISTEN) {
		err = -EISCONN;
		goto out;
	}
	if (ks->mode == KR_MODE_NEW) {
		err = begin(ks, addr, len);
		if (err)
			goto out;
		if (ks->mode != KR_MODE_TCP)
			sock->state = SS_CONNECTING;
		err = -EINPROGRESS;
		is_first = true;
	}
	/* As TCP, even if the answer is here by now: programs count on it. */
	if (is_first && flags & O_NONBLOCK && ks->mode == KR_MODE_RDMA)
		goto out;
	err = wait_decided(ks, err, flags);
	if (!err && ks->mode == KR_MODE_RDMA) {
		err = finish_rdma(ks, sock);
		goto out;
	}
	/* Another thread has disconnected, or was told why it failed. */
	if (!err && ks->mode != KR_MODE_TCP)
		err = -ECONNABORTED;
	if (err)
		goto out;
	release_sock(sk);
	err = connect_tcp(ks, sock, addr, len, flags);
	/* To the caller, the attempt of the work is the one of this call. */
	return is_first && err == -EALREADY ? -EINPROGRESS : err;
out:
	release_sock(sk);
	return err;
}
