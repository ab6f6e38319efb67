// SPDX-License-Identifier: GPL-2.0
/*
 * The socket as the kernel sees it: protocol registration, creation and release,
 * poll, shutdown, names, and the way from events of the endpoint to whoever waits.
 * Each call is handed on by mode (see sock.h); no policy is here.
 */
#include <linux/module.h>
#include <linux/xarray.h>
#include <net/inet_common.h>
#include <net/protocol.h>
#include <net/tcp.h>
#include <net/transp_v6.h>
#include <krcore/uapi.h>
#include "netlink.h"
#include "sock.h"

unsigned int kr_sndbuf = 2 << 20;
module_param_named(sndbuf, kr_sndbuf, uint, 0644);
MODULE_PARM_DESC(sndbuf, "send buffer of a connection in bytes, unless SO_SNDBUF is set");
unsigned int kr_rcvbuf = 2 << 20;
module_param_named(rcvbuf, kr_rcvbuf, uint, 0644);
MODULE_PARM_DESC(rcvbuf, "receive window of a connection in bytes, unless SO_RCVBUF is set");

/*
 * All sockets by serial number, for krcorectl.  Numbers are used again, lowest
 * first, and one is nobody's: so the array keeps its nodes while sockets come and go.
 */
static DEFINE_XARRAY_ALLOC1(socks);

enum { BUF_MIN = 4096 };

u32 kr_sock_sndlimit(const struct sock *sk)
{
	u32 limit = sk->sk_userlocks & SOCK_SNDBUF_LOCK ? READ_ONCE(sk->sk_sndbuf) / 2 :
							  READ_ONCE(kr_sndbuf);

	return clamp_t(u32, limit, BUF_MIN, KR_BUF_BYTES_MAX);
}

u32 kr_sock_rcvlimit(const struct sock *sk)
{
	u32 limit = sk->sk_userlocks & SOCK_RCVBUF_LOCK ? READ_ONCE(sk->sk_rcvbuf) / 2 :
							  READ_ONCE(kr_rcvbuf);

	return clamp_t(u32, limit, BUF_MIN, KR_BUF_BYTES_MAX);
}

static int sock_init(struct sock *sk)
{
	struct kr_sock *ks = kr_sk(sk);
	struct net *net = sock_net(sk);

	/* A listener is looked up under RCU. */
	sock_set_flag(sk, SOCK_RCU_FREE);
	sk->sk_sndbuf = READ_ONCE(net->ipv4.sysctl_tcp_wmem[1]);
	sk->sk_rcvbuf = READ_ONCE(net->ipv4.sysctl_tcp_rmem[1]);
	INIT_LIST_HEAD(&ks->waiter.node);
	ks->waiter.on_answer = kr_connect_on_answer;
	INIT_WORK(&ks->connect_work, kr_connect_work_fn);
	INIT_LIST_HEAD(&ks->pending);
	INIT_LIST_HEAD(&ks->accept_q);
	spin_lock_init(&ks->accept_lock);
	ks->born_ns = ktime_get_ns();
	if (!xa_alloc(&socks, &ks->serial, ks, xa_limit_31b, GFP_KERNEL))
		return 0;
	/* May be set all the same, and then be another's by the time of destroy. */
	ks->serial = 0;
	return -ENOMEM;
}

static void sock_destroy(struct sock *sk)
{
	struct kr_sock *ks = kr_sk(sk);

	if (ks->serial)
		xa_erase(&socks, ks->serial);
	ks->serial = 0;
}

/* Events of the endpoint, under the host's lock: in softirq, or a task of the peer. */

static void wake_writers(struct sock *sk, struct kr_ep *ep)
{
	struct socket *sock = sk->sk_socket;
	struct socket_wq *wq;

	/* As TCP: a third of the buffer must be free before a writer is woken. */
	if (!sock || kr_tx_room(&ep->vqp.tx) < ep->vqp.tx.limit / 3)
		return;
	/* Pairs with the barrier in poll_out(). */
	smp_mb();
	if (!test_bit(SOCK_NOSPACE, &sock->flags))
		return;
	clear_bit(SOCK_NOSPACE, &sock->flags);
	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait,
					   EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
	if (wq && wq->fasync_list && !(sk->sk_shutdown & SEND_SHUTDOWN))
		sock_wake_async(wq, SOCK_WAKE_SPACE, POLL_OUT);
	rcu_read_unlock();
}

static void on_end(struct sock *sk, struct kr_ep *ep)
{
	int err = ep->vqp.err;

	/* As TCP: after the peer's FIN a reset means that nobody reads there. */
	if (err == ECONNRESET && sk->sk_state == TCP_CLOSE_WAIT)
		err = EPIPE;
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	kr_set_state(sk, TCP_CLOSE);
	if (ep->vqp.state == KR_VQP_ABORTED) {
		WRITE_ONCE(sk->sk_err, err);
		sk_error_report(sk);
		kr_stat_inc(KR_STAT_conns_aborted);
	}
	sk->sk_state_change(sk);
}

static void on_fin(struct sock *sk)
{
	if (sk->sk_shutdown & RCV_SHUTDOWN)
		return;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | RCV_SHUTDOWN);
	if (sk->sk_state == TCP_ESTABLISHED)
		kr_set_state(sk, TCP_CLOSE_WAIT);
	sk->sk_state_change(sk);
	sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
}

void kr_sock_event(struct sock *sk, struct kr_ep *ep, u32 events)
{
	if (events & KR_EV_OPEN && !ep->vqp.is_server) {
		kr_stat_inc(ep->host->assoc.is_loop ? KR_STAT_conns_local :
						     KR_STAT_conns_rdma);
		kr_set_state(sk, TCP_ESTABLISHED);
		sk->sk_state_change(sk);
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
	}
	if (events & KR_EV_REFUSED)
		schedule_work(&kr_sk(sk)->connect_work);
	if (events & KR_EV_READ) {
		if (kr_rx_is_fin(&ep->vqp.rx))
			on_fin(sk);
		sk->sk_data_ready(sk);
	}
	if (events & KR_EV_WRITE)
		wake_writers(sk, ep);
	if (events & KR_EV_END)
		on_end(sk, ep);
}

/* Release. */

/* SO_LINGER with a time: close() waits until the peer has accepted all. */
static void linger(struct kr_sock *ks)
{
	struct sock *sk = &ks->inet.sk;
	struct kr_vqp *v = &ks->ep->vqp;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long timeo = sk->sk_lingertime;

	add_wait_queue(sk_sleep(sk), &wait);
	while (timeo && !signal_pending(current)) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		/* Pairs with the barrier in wake_writers(). */
		smp_mb__after_atomic();
		if (!READ_ONCE(v->is_attached) || READ_ONCE(v->tx.is_fin_accepted))
			break;
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
}

/* The user's end of the connection; what was written still arrives. */
static void close_ep(struct kr_sock *ks)
{
	struct sock *sk = &ks->inet.sk;
	struct kr_ep *ep = ks->ep;
	bool is_linger = sock_flag(sk, SOCK_LINGER);

	kr_host_lock(ep->host);
	if (is_linger && !sk->sk_lingertime)
		kr_vqp_abort(&ep->vqp, ECONNRESET, KR_RST_ABORT, ktime_get_ns());
	else
		kr_vqp_close(&ep->vqp, ktime_get_ns());
	kr_host_unlock(ep->host);
	if (is_linger && sk->sk_lingertime && !(current->flags & PF_EXITING))
		linger(ks);
	kr_host_lock(ep->host);
	/* As TCP: nobody can have the kernel deliver for any number of connections. */
	if (!kr_ep_orphan(ep))
		kr_vqp_abort(&ep->vqp, ECONNRESET, KR_RST_ABORT, ktime_get_ns());
	ep->sk = NULL;
	ep->vqp.tx.buf.owner = NULL;	/* the socket's memcg reference ends */
	ep->vqp.rx.buf.owner = NULL;
	kr_host_unlock(ep->host);
	ks->ep = NULL;
	kr_ep_put(ep);
}

static int kr_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct kr_sock *ks;

	if (!sk)
		return 0;
	ks = kr_sk(sk);
	lock_sock(sk);
	ks->is_released = true;
	release_sock(sk);
	kr_connect_abandon(ks);
	lock_sock(sk);
	kr_listen_stop(ks);
	if (ks->ep)
		close_ep(ks);
	sock_destroy(sk);
	kr_set_state(sk, TCP_CLOSE);
	release_sock(sk);
	/* A REFUSED that came in between has queued the work once more. */
	cancel_work_sync(&ks->connect_work);
	lock_sock(sk);
	kr_inner_put(ks);
	sock_orphan(sk);
	sock->sk = NULL;
	release_sock(sk);
	sk_refcnt_debug_release(sk);
	sock_put(sk);
	return 0;
}

/* Names. */

static int kr_bind(struct socket *sock, struct sockaddr *addr, int len)
{
	struct kr_sock *ks = kr_sk(sock->sk);
	int err;

	lock_sock(sock->sk);
	/* An accepted connection has no inner socket that would say so. */
	err = ks->mode == KR_MODE_RDMA || ks->mode == KR_MODE_ASKING ? -EINVAL :
								       kr_inner_get(ks);
	if (!err)
		err = ks->inner->ops->bind(ks->inner, addr, len);
	release_sock(sock->sk);
	return err;
}

static int put_name(const struct sock *sk, const struct kr_tuple *t, bool is_local,
		    struct sockaddr *addr)
{
	const u8 *from = is_local ? t->saddr : t->daddr;
	__be16 port = htons(is_local ? t->sport : t->dport);
	struct sockaddr_in6 *a6 = (void *)addr;
	struct sockaddr_in *a4 = (void *)addr;

	if (sk->sk_family == AF_INET) {
		memset(a4, 0, sizeof(*a4));
		a4->sin_family = AF_INET;
		a4->sin_port = port;
		memcpy(&a4->sin_addr, from, 4);
		return sizeof(*a4);
	}
	memset(a6, 0, sizeof(*a6));
	a6->sin6_family = AF_INET6;
	a6->sin6_port = port;
	if (t->family == 6)
		memcpy(&a6->sin6_addr, from, 16);
	else
		ipv6_addr_set_v4mapped(*(const __be32 *)from, &a6->sin6_addr);
	return sizeof(*a6);
}

static int kr_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	struct kr_sock *ks = kr_sk(sock->sk);
	struct sock *sk = sock->sk;
	static const struct kr_tuple none = { .family = 4 };
	int ret = -ENOTCONN;
	bool is_client;

	if (kr_mode(ks) == KR_MODE_TCP)
		return ks->inner->ops->getname(ks->inner, addr, peer);
	lock_sock(sk);
	is_client = !ks->ep || !ks->ep->vqp.is_server;
	/* accept() names a peer (2) that has gone already, too. */
	if (ks->mode == KR_MODE_RDMA && (peer != 1 || (sk->sk_state != TCP_SYN_SENT &&
						    sk->sk_state != TCP_CLOSE)))
		ret = put_name(sk, &ks->tuple, is_client == !peer, addr);
	else if (ks->mode == KR_MODE_ASKING && !peer)
		ret = put_name(sk, &ks->tuple, true, addr);
	else if (ks->inner && !peer)
		ret = ks->inner->ops->getname(ks->inner, addr, 0);
	else if (!peer)
		ret = sk->sk_family == AF_INET ? put_name(sk, &none, true, addr) :
		      put_name(sk, &(struct kr_tuple){ .family = 6 }, true, addr);
	release_sock(sk);
	return ret;
}

/* poll and shutdown.  poll takes no lock: RCU keeps an endpoint that is dropped. */

static __poll_t poll_out(struct sock *sk, struct kr_ep *ep)
{
	struct kr_tx *tx = &ep->vqp.tx;

	if (sk->sk_shutdown & SEND_SHUTDOWN || kr_tx_room(tx) >= tx->limit / 3)
		return EPOLLOUT | EPOLLWRNORM;
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	/* Pairs with the barrier in wake_writers(). */
	smp_mb__after_atomic();
	return kr_tx_room(tx) >= tx->limit / 3 ? EPOLLOUT | EPOLLWRNORM : 0;
}

static __poll_t poll_rdma_rcu(struct sock *sk, bool is_in)
{
	struct kr_ep *ep = READ_ONCE(kr_sk(sk)->ep);	/* races drop_ep() */
	u8 shutdown = READ_ONCE(sk->sk_shutdown);
	int state = READ_ONCE(sk->sk_state);
	__poll_t mask = 0;
	u64 nr;

	/* It becomes a TCP connection, and then wakes the poller; or is none. */
	if (!ep)
		return 0;
	if (shutdown == SHUTDOWN_MASK || state == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (shutdown & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (state == TCP_SYN_SENT)
		return mask;
	/* Racy reads: an event that changes them wakes the poller again. */
	nr = READ_ONCE(ep->vqp.rx.accepted) - READ_ONCE(ep->vqp.rx.read);
	/* More than half a window is not waited for: it might never come. */
	if (nr && nr >= min_t(u32, sock_rcvlowat(sk, 0, INT_MAX), ep->vqp.rx.limit / 2))
		mask |= EPOLLIN | EPOLLRDNORM;
	else if (is_in)
		kr_ep_hurry(ep);
	return mask | poll_out(sk, ep);
}

static __poll_t kr_poll(struct file *file, struct socket *sock, poll_table *wait)
{
	struct kr_sock *ks = kr_sk(sock->sk);
	struct sock *sk = sock->sk;
	bool is_connecting;
	__poll_t mask = 0;

	sock_poll_wait(file, sock, wait);
	is_connecting = kr_is_connecting(ks);
	switch (kr_mode(ks)) {
	case KR_MODE_NEW:
		mask = EPOLLOUT | EPOLLWRNORM | EPOLLHUP;
		break;
	case KR_MODE_ASKING:
		break;
	case KR_MODE_RDMA:
		rcu_read_lock();
		mask = poll_rdma_rcu(sk, poll_requested_events(wait) &
					 (EPOLLIN | EPOLLRDNORM | EPOLLRDHUP));
		rcu_read_unlock();
		break;
	case KR_MODE_TCP:
		kr_inner_sync(ks);
		mask = ks->inner->ops->poll(file, ks->inner, NULL);
		break;
	case KR_MODE_LISTEN:
		mask = kr_listen_poll(file, ks);
		break;
	}
	/*
	 * Pairs with the order in on_end(): state first, error seen here.  TCP may
	 * have failed before the connect work has said that it is TCP now; the work
	 * wakes the poller again, and then it sees the whole outcome.
	 */
	if (!is_connecting && READ_ONCE(sk->sk_err))
		mask |= EPOLLERR;
	return mask;
}

static int shutdown_rdma(struct kr_sock *ks, int how)
{
	struct sock *sk = &ks->inet.sk;
	struct kr_ep *ep = ks->ep;

	if (sk->sk_state == TCP_CLOSE || sk->sk_state == TCP_SYN_SENT)
		return -ENOTCONN;
	kr_host_lock(ep->host);
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
	if (how & SEND_SHUTDOWN) {
		kr_vqp_shutdown(&ep->vqp, ktime_get_ns());
		if (sk->sk_state == TCP_ESTABLISHED)
			kr_set_state(sk, TCP_FIN_WAIT1);
		else if (sk->sk_state == TCP_CLOSE_WAIT)
			kr_set_state(sk, TCP_LAST_ACK);
	}
	kr_host_unlock(ep->host);
	return 0;
}

static int kr_shutdown(struct socket *sock, int how)
{
	struct kr_sock *ks = kr_sk(sock->sk);
	struct sock *sk = sock->sk;
	int err = -ENOTCONN;

	if (how < SHUT_RD || how > SHUT_RDWR)
		return -EINVAL;
	if (kr_mode(ks) == KR_MODE_TCP)
		return ks->inner->ops->shutdown(ks->inner, how);
	lock_sock(sk);
	if (ks->mode == KR_MODE_LISTEN) {
		/* First, since TCP wants to find its accept queue empty. */
		if (how != SHUT_WR) {
			kr_listen_stop(ks);
			kr_set_mode(ks, KR_MODE_NEW);
		}
		err = ks->inner->ops->shutdown(ks->inner, how);
	} else if (ks->mode == KR_MODE_TCP) {	/* since just now */
		err = ks->inner->ops->shutdown(ks->inner, how);
	} else if (kr_is_connecting(ks)) {
		err = kr_disconnect(ks, sock);
	} else if (ks->mode == KR_MODE_RDMA) {
		err = shutdown_rdma(ks, how + 1);
	}
	sk->sk_state_change(sk);
	release_sock(sk);
	return err;
}

/* For krcorectl. */

/* What moves the bytes of @host's connections now. */
static u8 host_carrier(struct kr_host *host)
{
	const struct kr_assoc *a = &host->assoc;
	u8 carrier = KRCORE_CARRIER_UD;

	if (a->is_loop)
		return KRCORE_CARRIER_LOCAL;
	spin_lock_bh(&host->lock);
	if (a->nr_bulk_up)
		carrier = KRCORE_CARRIER_RC;
	else if (kr_assoc_is_by_lanes(a))
		carrier = KRCORE_CARRIER_TCP_LANE;
	spin_unlock_bh(&host->lock);
	return carrier;
}

static u8 conn_carrier(const struct kr_sock *ks)
{
	if (ks->mode == KR_MODE_TCP)
		return KRCORE_CARRIER_TCP;
	return ks->mode == KR_MODE_RDMA && ks->ep ? host_carrier(ks->ep->host) :
						    KRCORE_CARRIER_NONE;
}

static void fill_info(struct kr_sock *ks, struct kr_conn_info *info)
{
	struct sock *sk = &ks->inet.sk;
	struct kr_ep *ep = ks->ep;
	bool is_server = ep && ep->vqp.is_server;
	struct kr_tuple t = ks->tuple;

	if (ks->inner && ks->mode != KR_MODE_RDMA && ks->mode != KR_MODE_ASKING) {
		t.family = sk->sk_family == AF_INET ? 4 : 6;
		kr_inner_addr(ks->inner->sk, t.family, t.saddr, &t.sport);
	}
	info->family = t.family;
	memcpy(info->saddr, is_server ? t.daddr : t.saddr, 16);
	memcpy(info->daddr, is_server ? t.saddr : t.daddr, 16);
	info->sport = is_server ? t.dport : t.sport;
	info->dport = is_server ? t.sport : t.dport;
	info->state = ks->mode == KR_MODE_TCP ? ks->inner->sk->sk_state : sk->sk_state;
	info->carrier = conn_carrier(ks);
	info->role = ks->mode == KR_MODE_LISTEN ? KRCORE_ROLE_LISTENER :
		     is_server ? KRCORE_ROLE_SERVER : KRCORE_ROLE_CLIENT;
	info->reason = ks->reason;
	info->tx_rdma = ks->tx_rdma;
	info->rx_rdma = ks->rx_rdma;
	info->tx_local = ks->tx_local;
	info->rx_local = ks->rx_local;
	info->tx_tcp = ks->tx_tcp;
	info->rx_tcp = ks->rx_tcp;
	info->age_ms = div_u64(ktime_get_ns() - ks->born_ns, NSEC_PER_MSEC);
	info->uid = from_kuid_munged(&init_user_ns, sk->sk_uid);
	info->inode = sk->sk_socket ? SOCK_INODE(sk->sk_socket)->i_ino : 0;
	if (ep) {
		info->vqp_id = ep->vqp.id;
		info->host_id_prefix = get_unaligned_be64(ep->host->assoc.peer_instance);
		info->rx_queue = kr_rx_ready(&ep->vqp.rx);
		info->tx_queue = ep->vqp.tx.end - ep->vqp.tx.head;
	}
}

bool kr_sock_info_get(struct net *net, u64 *cursor, struct kr_conn_info *info)
{
	unsigned long index = *cursor + 1;
	struct kr_sock *ks;
	struct sock *sk = NULL;

	while (!sk) {
		rcu_read_lock();
		ks = xa_find(&socks, &index, ULONG_MAX, XA_PRESENT);
		if (!ks) {
			rcu_read_unlock();
			return false;
		}
		sk = &ks->inet.sk;
		if (!net_eq(sock_net(sk), net) ||
		    !refcount_inc_not_zero(&sk->sk_refcnt)) {
			sk = NULL;
			index++;
		}
		rcu_read_unlock();
	}
	memset(info, 0, sizeof(*info));
	lock_sock(sk);
	if (!ks->is_released)
		fill_info(ks, info);
	release_sock(sk);
	sock_put(sk);
	*cursor = index;
	return true;
}

/* Registration. */

static int set_rcvlowat(struct sock *sk, int val)
{
	WRITE_ONCE(sk->sk_rcvlowat, val ? : 1);
	return 0;
}

static void set_keepalive(struct sock *sk, int val)
{
	/* The flag itself is set by the caller, after this. */
	kr_sk(sk)->opts.is_keepalive = val;
	kr_sock_push_opts(kr_sk(sk));
	kr_inner_keepalive(kr_sk(sk), val);
}

static int no_hash(struct sock *sk)
{
	return 0;
}

static void no_unhash(struct sock *sk)
{
}

static struct proto kr_prot_v4 = {
	.name = "KRCORE",
	.owner = THIS_MODULE,
	.init = sock_init,
	.destroy = sock_destroy,
	.hash = no_hash,
	.unhash = no_unhash,
	.keepalive = set_keepalive,
	.obj_size = sizeof(struct kr_sock),
};

static struct proto kr_prot_v6 = {
	.name = "KRCOREv6",
	.owner = THIS_MODULE,
	.init = sock_init,
	.destroy = sock_destroy,
	.hash = no_hash,
	.unhash = no_unhash,
	.keepalive = set_keepalive,
	.obj_size = sizeof(struct kr6_sock),
};

#define KR_OPS(fam) {					\
	.family = fam,					\
	.owner = THIS_MODULE,				\
	.release = kr_release,				\
	.bind = kr_bind,				\
	.connect = kr_connect,				\
	.socketpair = sock_no_socketpair,		\
	.accept = kr_accept,				\
	.getname = kr_getname,				\
	.poll = kr_poll,				\
	.ioctl = kr_ioctl,				\
	.gettstamp = sock_gettstamp,			\
	.listen = kr_listen,				\
	.shutdown = kr_shutdown,			\
	.setsockopt = kr_setsockopt,			\
	.getsockopt = kr_getsockopt,			\
	.sendmsg = kr_sendmsg,				\
	.recvmsg = kr_recvmsg,				\
	.mmap = sock_no_mmap,				\
	.set_rcvlowat = set_rcvlowat,			\
}

const struct proto_ops kr_ops_v4 = KR_OPS(PF_INET);
const struct proto_ops kr_ops_v6 = KR_OPS(PF_INET6);

static struct inet_protosw sw_v4 = {
	.type = SOCK_STREAM,
	.protocol = IPPROTO_KRCORE,
	.prot = &kr_prot_v4,
	.ops = &kr_ops_v4,
};

static struct inet_protosw sw_v6 = {
	.type = SOCK_STREAM,
	.protocol = IPPROTO_KRCORE,
	.prot = &kr_prot_v6,
	.ops = &kr_ops_v6,
};

int kr_sock_init(void)
{
	u32 nobody;
	int err;

	err = xa_alloc(&socks, &nobody, NULL, xa_limit_31b, GFP_KERNEL);
	if (err)
		return err;
	err = proto_register(&kr_prot_v4, 1);
	if (err)
		goto err_free;
	err = proto_register(&kr_prot_v6, 1);
	if (err)
		goto err_unregister_v4;
	err = inet6_register_protosw(&sw_v6);
	if (err)
		goto err_unregister_v6;
	inet_register_protosw(&sw_v4);
	return 0;

err_unregister_v6:
	proto_unregister(&kr_prot_v6);
err_unregister_v4:
	proto_unregister(&kr_prot_v4);
err_free:
	xa_destroy(&socks);
	return err;
}

void kr_sock_exit(void)
{
	inet_unregister_protosw(&sw_v4);
	inet6_unregister_protosw(&sw_v6);
	rcu_barrier();			/* SOCK_RCU_FREE sockets, endpoints */
	proto_unregister(&kr_prot_v6);
	proto_unregister(&kr_prot_v4);
	xa_destroy(&socks);
}
