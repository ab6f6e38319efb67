// SPDX-License-Identifier: GPL-2.0
/*
 * The inner TCP socket: it holds address, port and options from the first bind or
 * connect on, listens beside krcore, and carries everything once a connection
 * cannot use RDMA.
 *
 * Its wait queue and its "socket" are the outer ones, so that TCP wakes whoever
 * waits on the fd.  SOL_SOCKET options are set on the outer socket by the kernel
 * without asking; they are copied when they matter.  An error that TCP reports is
 * mirrored to the outer socket, where SO_ERROR looks for it; whichever of the two
 * is consumed first clears the other.
 */
#include <linux/net.h>
#include <net/tcp.h>
#include "sock.h"
#include "trace.h"

/* TCP's own, the same for all sockets; set before the first is replaced. */
static void (*tcp_error_report)(struct sock *sk);

static void on_error_report(struct sock *isk)
{
	struct sock *sk;

	read_lock_bh(&isk->sk_callback_lock);
	sk = __locked_read_sk_user_data_with_flags(isk, SK_USER_DATA_NOCOPY);
	if (sk) {
		WRITE_ONCE(sk->sk_err, READ_ONCE(isk->sk_err));
		WRITE_ONCE(kr_sk(sk)->is_err_mirrored, true);
	}
	read_unlock_bh(&isk->sk_callback_lock);
	tcp_error_report(isk);
}

/* The wait queue, the user and the inode of @sock become the inner socket's. */
static void graft(struct sock *isk, struct socket *sock)
{
	write_lock_bh(&isk->sk_callback_lock);
	rcu_assign_pointer(isk->sk_wq, &sock->wq);
	sk_set_socket(isk, sock);
	isk->sk_uid = sock->sk->sk_uid;
	tcp_error_report = isk->sk_error_report;
	isk->sk_error_report = on_error_report;
	/* O_ASYNC is noted at the outer socket; its list of waiters is the one used. */
	sock_set_flag(isk, SOCK_FASYNC);
	__rcu_assign_sk_user_data_with_flags(isk, sock->sk, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&isk->sk_callback_lock);
}

static void ungraft(struct sock *isk, struct socket *inner)
{
	write_lock_bh(&isk->sk_callback_lock);
	rcu_assign_pointer(isk->sk_wq, &inner->wq);
	sk_set_socket(isk, inner);
	isk->sk_error_report = tcp_error_report;
	__rcu_assign_sk_user_data_with_flags(isk, NULL, 0);
	write_unlock_bh(&isk->sk_callback_lock);
}

/* A kernel socket holds no namespace; this one lives as long as a user's. */
static void hold_net(struct sock *isk)
{
	struct net *net = sock_net(isk);

	isk->sk_net_refcnt = 1;
	get_net_track(net, &isk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}

static int create(struct kr_sock *ks)
{
	struct sock *sk = &ks->inet.sk;
	struct socket *inner;
	int err;

	err = sock_create_kern(sock_net(sk), sk->sk_family, SOCK_STREAM,
			       IPPROTO_TCP, &inner);
	/* No file is opened: it is memory that lacks. */
	if (err)
		return err == -ENFILE ? -ENOMEM : err;
	hold_net(inner->sk);
	SOCK_INODE(inner)->i_ino = SOCK_INODE(sk->sk_socket)->i_ino;
	SOCK_INODE(inner)->i_uid = SOCK_INODE(sk->sk_socket)->i_uid;
	SOCK_INODE(inner)->i_gid = SOCK_INODE(sk->sk_socket)->i_gid;
	graft(inner->sk, sk->sk_socket);
	ks->inner = inner;
	return 0;
}

/* The inner socket is there, with the settings of the outer one.  0 or -errno. */
int kr_inner_get(struct kr_sock *ks)
{
	int err = ks->inner ? 0 : create(ks);

	if (!err)
		kr_inner_push(ks);
	return err;
}

void kr_inner_put(struct kr_sock *ks)
{
	struct socket *inner = ks->inner;

	if (!inner)
		return;
	kr_inner_push(ks);
	WRITE_ONCE(ks->inner, NULL);	/* read by find_listener() */
	ungraft(inner->sk, inner);
	sock_release(inner);
}

/* Before listen(): what accepted TCP sockets inherit must not be ours. */
void kr_inner_plain(struct kr_sock *ks)
{
	struct sock *isk = ks->inner->sk;

	write_lock_bh(&isk->sk_callback_lock);
	isk->sk_error_report = tcp_error_report;
	write_unlock_bh(&isk->sk_callback_lock);
}

/* Settings that a user may change at any time and every call obeys. */
static void copy_timeouts(const struct sock *sk, struct sock *isk)
{
	isk->sk_rcvtimeo = READ_ONCE(sk->sk_rcvtimeo);
	isk->sk_sndtimeo = READ_ONCE(sk->sk_sndtimeo);
	WRITE_ONCE(isk->sk_rcvlowat, READ_ONCE(sk->sk_rcvlowat));
	WRITE_ONCE(isk->sk_lingertime, READ_ONCE(sk->sk_lingertime));
	/* IP_TOS has set the inner one's, unless the user did. */
	if (READ_ONCE(sk->sk_priority))
		WRITE_ONCE(isk->sk_priority, READ_ONCE(sk->sk_priority));
	WRITE_ONCE(isk->sk_mark, READ_ONCE(sk->sk_mark));
	WRITE_ONCE(isk->sk_max_pacing_rate, READ_ONCE(sk->sk_max_pacing_rate));
}

static bool is_flag_changed(const struct sock *sk, const struct sock *isk,
			    enum sock_flags flag)
{
	return sock_flag(sk, flag) != sock_flag(isk, flag);
}

/* TCP changes flags beside these: lock_sock of the inner socket is held. */
static void copy_flags(const struct sock *sk, struct sock *isk)
{
	sock_valbool_flag(isk, SOCK_LINGER, sock_flag(sk, SOCK_LINGER));
	sock_valbool_flag(isk, SOCK_URGINLINE, sock_flag(sk, SOCK_URGINLINE));
}

static void copy_sizes(const struct sock *sk, struct sock *isk)
{
	if (sk->sk_userlocks & SOCK_SNDBUF_LOCK)
		WRITE_ONCE(isk->sk_sndbuf, READ_ONCE(sk->sk_sndbuf));
	if (sk->sk_userlocks & SOCK_RCVBUF_LOCK)
		WRITE_ONCE(isk->sk_rcvbuf, READ_ONCE(sk->sk_rcvbuf));
}

static void copy_buffers(const struct sock *sk, struct sock *isk)
{
	copy_sizes(sk, isk);
	isk->sk_userlocks |= sk->sk_userlocks & (SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);
}

/* SO_KEEPALIVE, which the user may set at any time and TCP acts upon. */
void kr_inner_keepalive(struct kr_sock *ks, bool is_on)
{
	struct sock *isk;

	if (!ks->inner)
		return;
	isk = ks->inner->sk;
	lock_sock(isk);
	tcp_set_keepalive(isk, is_on);
	sock_valbool_flag(isk, SOCK_KEEPOPEN, is_on);
	release_sock(isk);
}

/* All SOL_SOCKET settings, to the inner socket.  Context: lock_sock held. */
void kr_inner_push(struct kr_sock *ks)
{
	struct sock *sk = &ks->inet.sk;
	struct sock *isk;
	bool keep = sock_flag(sk, SOCK_KEEPOPEN);

	if (!ks->inner)
		return;
	isk = ks->inner->sk;
	lock_sock(isk);
	copy_timeouts(sk, isk);
	copy_flags(sk, isk);
	copy_buffers(sk, isk);
	isk->sk_reuse = sk->sk_reuse;
	isk->sk_reuseport = sk->sk_reuseport;
	isk->sk_bound_dev_if = sk->sk_bound_dev_if;
	isk->sk_incoming_cpu = sk->sk_incoming_cpu;
	sock_valbool_flag(isk, SOCK_LOCALROUTE, sock_flag(sk, SOCK_LOCALROUTE));
	if (keep != sock_flag(isk, SOCK_KEEPOPEN)) {
		tcp_set_keepalive(isk, keep);
		sock_valbool_flag(isk, SOCK_KEEPOPEN, keep);
	}
	release_sock(isk);
}

/* Before a call is handed on. */
void kr_inner_sync(struct kr_sock *ks)
{
	struct sock *sk = &ks->inet.sk;
	struct sock *isk = ks->inner->sk;

	copy_timeouts(sk, isk);
	if (is_flag_changed(sk, isk, SOCK_LINGER) ||
	    is_flag_changed(sk, isk, SOCK_URGINLINE) ||
	    (sk->sk_userlocks & ~isk->sk_userlocks & (SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK))) {
		lock_sock(isk);
		copy_flags(sk, isk);
		copy_buffers(sk, isk);
		release_sock(isk);
	} else {
		copy_sizes(sk, isk);
	}
	/* The user has seen the error with SO_ERROR. */
	if (READ_ONCE(ks->is_err_mirrored) && !READ_ONCE(sk->sk_err)) {
		WRITE_ONCE(ks->is_err_mirrored, false);
		WRITE_ONCE(isk->sk_err, 0);
	}
}

/* After it: an error that the call has reported is not reported again. */
int kr_inner_result(struct kr_sock *ks, int ret)
{
	struct sock *sk = &ks->inet.sk;

	if (READ_ONCE(ks->is_err_mirrored) && !READ_ONCE(ks->inner->sk->sk_err)) {
		WRITE_ONCE(ks->is_err_mirrored, false);
		WRITE_ONCE(sk->sk_err, 0);
	}
	return ret;
}

/*
 * From here on this socket is TCP, and why.  A connection attempt that the user
 * does not wait for is started by the caller.  Context: lock_sock held.
 */
void kr_inner_use(struct kr_sock *ks, enum kr_reason reason)
{
	ks->reason = reason;
	atomic64_inc(&kr_fallbacks[reason]);
	kr_stat_inc(KR_STAT_conns_tcp);
	trace_kr_fallback(SOCK_INODE(ks->inner)->i_ino, inet_sk(ks->inner->sk)->inet_num,
			  ks->tuple.dport, reason);
	/* It may have listened, or tried to: kr_inner_plain(). */
	write_lock_bh(&ks->inner->sk->sk_callback_lock);
	ks->inner->sk->sk_error_report = on_error_report;
	write_unlock_bh(&ks->inner->sk->sk_callback_lock);
	/* The outer state stays: poll may still be looking at it. */
	kr_inner_push(ks);
	kr_set_mode(ks, KR_MODE_TCP);
}

/* Local address and port of a bound or connected inner socket, as in a tuple. */
void kr_inner_addr(const struct sock *isk, u8 family, u8 saddr[16], u16 *port)
{
	memset(saddr, 0, 16);
	*port = ntohs(inet_sk(isk)->inet_sport);
	if (family == 4)
		memcpy(saddr, &inet_sk(isk)->inet_rcv_saddr, 4);
	else
		memcpy(saddr, &isk->sk_v6_rcv_saddr, 16);
}
