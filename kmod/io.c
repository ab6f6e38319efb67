// SPDX-License-Identifier: GPL-2.0
/*
 * Sending and receiving on a connection of our own, over RDMA or within the host.
 *
 * Operation.  lock_sock serialises the users of a socket, as for TCP.  Bytes are
 * copied between the user and the pages of the stream without the host's lock:
 * a writer fills pages past tx.end (tx.is_held keeps the last page from being
 * given back meanwhile) and then publishes them; a reader notes where accepted
 * bytes are, copies and then consumes them.  Whoever holds the host's lock meanwhile
 * (softirq, and within the host the peer's task) only touches whole pages below tx.end,
 * bytes past rx.accepted, and the ring of pages of rx, so that the two never meet.
 */
#include <linux/sched/signal.h>
#include <net/tcp.h>
#include "sock.h"

enum {
	CHUNK_MAX = 64 * 1024,		/* bytes copied before they may leave */
	SMALL_MAX = 256,		/* bytes that go by way of the stack */
};

/* By a carrier, in one direction: of the socket, and of all. */
static void count_bytes(u64 *of_socket, enum kr_stat of_all, u32 len)
{
	*of_socket += len;
	kr_stat_add(of_all, len);
}

/* Waits for an event on the socket.  Context: lock_sock held, dropped meanwhile. */
static void wait_event_on(struct sock *sk, struct wait_queue_entry *wait, long *timeo)
{
	release_sock(sk);
	*timeo = wait_woken(wait, TASK_INTERRUPTIBLE, *timeo);
	lock_sock(sk);
}

static int wait_connected(struct kr_sock *ks, long *timeo)
{
	struct sock *sk = &ks->inet.sk;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	if (!kr_is_connecting(ks))
		return 0;
	add_wait_queue(sk_sleep(sk), &wait);
	while (kr_is_connecting(ks) && !err) {
		if (!*timeo)
			err = -EAGAIN;
		else if (signal_pending(current))
			err = sock_intr_errno(*timeo);
		else
			wait_event_on(sk, &wait, timeo);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return err;
}

static u32 send_room_locked(struct kr_sock *ks)
{
	struct kr_ep *ep = ks->ep;

	/* SO_SNDBUF may be set at any time. */
	if (ks->inet.sk.sk_userlocks & SOCK_SNDBUF_LOCK)
		ep->vqp.tx.limit = kr_sock_sndlimit(&ks->inet.sk);
	return ep->vqp.is_attached ? kr_tx_room(&ep->vqp.tx) : 0;
}

static u32 send_room(struct kr_sock *ks)
{
	struct kr_ep *ep = ks->ep;
	u32 room;

	/* Disconnected while this thread waited. */
	if (!ep)
		return 0;
	spin_lock_bh(&ep->host->lock);
	room = send_room_locked(ks);
	spin_unlock_bh(&ep->host->lock);
	return room;
}

static bool has_ended(const struct sock *sk)
{
	return !kr_sk(sk)->ep || READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN;
}

/* Room for bytes, waiting for it; 0 room: *timeo, a signal or the end came first. */
static u32 wait_room(struct kr_sock *ks, long *timeo)
{
	struct sock *sk = &ks->inet.sk;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	u32 room = send_room(ks);

	if (room)
		return room;
	if (!*timeo) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		/* What became free before the bit was set wakes nobody. */
		return send_room(ks);
	}
	add_wait_queue(sk_sleep(sk), &wait);
	for (;;) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		room = send_room(ks);
		if (room || !*timeo || has_ended(sk) || signal_pending(current))
			break;
		wait_event_on(sk, &wait, timeo);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return room;
}

/* Copies from the user to positions from @pos on; the number copied or -errno. */
static int copy_in(struct kr_buf *buf, u64 pos, u32 len, struct iov_iter *from)
{
	u32 done = 0, room;
	size_t copied;
	void *to;

	while (done < len) {
		to = kr_buf_reserve(buf, pos + done, &room, true);
		if (!to)
			return done ? done : -ENOMEM;
		room = min(room, len - done);
		copied = copy_from_iter(to, room, from);
		done += copied;
		if (copied < room)
			return done ? done : -EFAULT;
	}
	return done;
}

/* The bytes that a piece must have while the user holds back small ones. */
static u32 cork_bytes(const struct kr_sock *ks, bool is_more)
{
	const struct kr_assoc *a = &ks->ep->host->assoc;

	if (!is_more && !ks->opts.cork)
		return 0;
	return a->mtu - KR_HDR_LEN - KR_MSG_HDR_LEN - KR_DATA_LEN;
}

static int send_chunk(struct kr_sock *ks, struct msghdr *msg, u32 len, bool is_more)
{
	struct kr_ep *ep = ks->ep;
	struct kr_tx *tx = &ep->vqp.tx;
	int ret = 0;
	u64 pos;

	spin_lock_bh(&ep->host->lock);
	pos = tx->end;
	if (kr_buf_grow(&tx->buf, tx->head, pos + len - tx->head))
		ret = -ENOMEM;
	else
		tx->is_held = true;
	spin_unlock_bh(&ep->host->lock);
	if (ret)
		return ret;
	ret = copy_in(&tx->buf, pos, len, &msg->msg_iter);
	kr_host_lock(ep->host);
	tx->is_held = false;
	if (!ep->vqp.is_attached)
		ret = ret < 0 ? ret : -EPIPE;
	else if (ret > 0)
		kr_vqp_wrote(&ep->vqp, ret, cork_bytes(ks, is_more),
			     ktime_get_ns());
	kr_host_unlock(ep->host);
	return ret;
}

/*
 * A small message, by way of the stack: one hold of the lock instead of three.
 * Return: its length; 0: nothing happened, it has to go the long way.
 */
static int send_small(struct kr_sock *ks, struct msghdr *msg)
{
	struct kr_ep *ep = ks->ep;
	struct kr_tx *tx = &ep->vqp.tx;
	u32 len = msg_data_left(msg);
	bool is_sent = false;
	u8 bytes[SMALL_MAX];
	size_t copied;

	copied = copy_from_iter(bytes, len, &msg->msg_iter);
	if (copied == len) {
		kr_host_lock(ep->host);
		if (send_room_locked(ks) >= len &&
		    !kr_buf_grow(&tx->buf, tx->head, tx->end + len - tx->head) &&
		    !kr_buf_write(&tx->buf, tx->end, bytes, len)) {
			is_sent = true;
			kr_vqp_wrote(&ep->vqp, len, cork_bytes(ks, msg->msg_flags & MSG_MORE),
				     ktime_get_ns());
		}
		kr_host_unlock(ep->host);
	}
	if (is_sent)
		return len;
	iov_iter_revert(&msg->msg_iter, copied);
	return 0;
}

static int send_rdma(struct kr_sock *ks, struct msghdr *msg, long timeo)
{
	struct sock *sk = &ks->inet.sk;
	bool is_local = ks->ep->host->assoc.is_loop;
	int flags = msg->msg_flags;
	int sent = 0, err = 0;
	bool is_more;
	u32 room, len;

	sk_clear_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	if (msg_data_left(msg) && msg_data_left(msg) <= SMALL_MAX && !has_ended(sk))
		sent = send_small(ks, msg);
	while (msg_data_left(msg)) {
		err = -EPIPE;
		if (has_ended(sk))
			break;
		room = wait_room(ks, &timeo);
		if (has_ended(sk))
			break;
		if (!room) {
			err = timeo ? sock_intr_errno(timeo) : -EAGAIN;
			break;
		}
		len = min_t(size_t, min_t(u32, room, CHUNK_MAX), msg_data_left(msg));
		is_more = flags & MSG_MORE || len < msg_data_left(msg);
		err = send_chunk(ks, msg, len, is_more);
		if (err < 0)
			break;
		sent += err;
		err = 0;
	}
	/* What was held back for bytes that now do not come must go. */
	if (sent && err && !(flags & MSG_MORE) && !ks->opts.cork)
		kr_sock_uncork(ks);
	if (is_local)
		count_bytes(&ks->tx_local, KR_STAT_tx_bytes_local, sent);
	else
		count_bytes(&ks->tx_rdma, KR_STAT_tx_bytes_rdma, sent);
	return sent ? sent : sk_stream_error(sk, flags, err);
}

static int send_tcp(struct kr_sock *ks, struct msghdr *msg, size_t len)
{
	int ret;

	kr_inner_sync(ks);
	ret = kr_inner_result(ks, ks->inner->ops->sendmsg(ks->inner, msg, len));
	if (ret > 0)
		count_bytes(&ks->tx_tcp, KR_STAT_tx_bytes_tcp, ret);
	return ret;
}

int kr_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct kr_sock *ks = kr_sk(sock->sk);
	struct sock *sk = sock->sk;
	long timeo;
	int ret;

	/* TCP would connect the "socket" of the inner one, which is ours: inner.c. */
	if (msg->msg_flags & MSG_FASTOPEN)
		return -EOPNOTSUPP;
	if (kr_mode(ks) == KR_MODE_TCP)
		return send_tcp(ks, msg, len);
	if (msg->msg_flags & MSG_OOB)
		return -EOPNOTSUPP;
	lock_sock(sk);
	timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	ret = wait_connected(ks, &timeo);
	if (ret)
		goto out;
	if (ks->mode == KR_MODE_TCP) {
		release_sock(sk);
		return send_tcp(ks, msg, len);
	}
	if (ks->mode == KR_MODE_RDMA && ks->ep)
		ret = send_rdma(ks, msg, timeo);
	else
		ret = sk_stream_error(sk, msg->msg_flags, -EPIPE);
out:
	release_sock(sk);
	return ret;
}

/* Where readable bytes are: the ring of pages may grow while they are copied. */
struct view {
	u64 pos;
	void *pages[CHUNK_MAX / KR_PAGE_SIZE + 1];
};

static void look_locked(struct kr_buf *buf, u32 len, struct view *view)
{
	u32 have, done = 0;
	int i;

	for (i = 0; done < len; i++) {
		view->pages[i] = kr_buf_at(buf, view->pos + done, &have);
		done += have;
	}
}

/* Readable bytes past the @peeked ones, at most @max; is_eof: no more will come. */
static u32 ready(struct kr_ep *ep, u64 peeked, u32 max, struct view *view,
		 bool *is_eof)
{
	struct kr_rx *rx = &ep->vqp.rx;
	u64 nr;

	spin_lock_bh(&ep->host->lock);
	/* Another reader may have taken bytes that were peeked at. */
	nr = kr_rx_ready(rx);
	nr -= min(nr, peeked);
	*is_eof = kr_rx_is_fin(rx) && !nr;
	nr = min_t(u64, nr, max);
	view->pos = rx->read + peeked;
	look_locked(&rx->buf, nr, view);
	spin_unlock_bh(&ep->host->lock);
	return nr;
}

/* Copies to the user; the number copied, or -EFAULT when none. */
static int copy_out(const struct view *view, u32 len, struct iov_iter *to)
{
	u32 have = KR_PAGE_SIZE - view->pos % KR_PAGE_SIZE;
	u32 done = 0;
	size_t copied;
	int i;

	for (i = 0; done < len; i++) {
		have = min(have, len - done);
		copied = copy_to_iter(view->pages[i], have, to);
		done += copied;
		if (copied < have)
			return done ? done : -EFAULT;
		have = KR_PAGE_SIZE;
	}
	return done;
}

static void consume(struct kr_sock *ks, u32 len)
{
	struct kr_ep *ep = ks->ep;
	struct kr_rx *rx = &ep->vqp.rx;

	kr_host_lock(ep->host);
	/* SO_RCVBUF may be set at any time. */
	if (ks->inet.sk.sk_userlocks & SOCK_RCVBUF_LOCK)
		rx->limit = kr_sock_rcvlimit(&ks->inet.sk);
	if (kr_vqp_consumed(&ep->vqp, len, ktime_get_ns()))
		kr_host_unlock(ep->host);
	else
		spin_unlock_bh(&ep->host->lock);
	if (ep->host->assoc.is_loop)
		count_bytes(&ks->rx_local, KR_STAT_rx_bytes_local, len);
	else
		count_bytes(&ks->rx_rdma, KR_STAT_rx_bytes_rdma, len);
}

/* What is there now, at most @len bytes; 0: nothing. */
static int take(struct kr_sock *ks, struct msghdr *msg, size_t len, int flags,
		u64 peeked, bool *is_eof)
{
	struct view view;
	int ret;

	ret = ready(ks->ep, peeked, min_t(size_t, len, CHUNK_MAX), &view, is_eof);
	if (!ret)
		return 0;
	if (!(flags & MSG_TRUNC))
		ret = copy_out(&view, ret, &msg->msg_iter);
	if (ret > 0 && !(flags & MSG_PEEK))
		consume(ks, ret);
	return ret;
}

/*
 * No more bytes will come, by the user's will, the peer's or an error.  To be asked
 * before one looks for bytes: the last ones may come just before it is so.
 */
static bool is_over(const struct sock *sk)
{
	bool ret = READ_ONCE(sk->sk_err) ||
		   READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN ||
		   READ_ONCE(sk->sk_state) == TCP_CLOSE;

	/* Softirq accepts bytes first, then says that they were the last. */
	smp_rmb();
	return ret;
}

/* Nothing was read yet: what recv() returns now, 1: wait. */
static int why_wait(struct sock *sk, bool is_ended, long timeo)
{
	if (is_ended)
		return sock_error(sk);
	if (!timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(timeo);
	return 1;
}

static bool is_readable(struct kr_sock *ks)
{
	struct view view;
	bool is_eof;

	return ready(ks->ep, 0, 1, &view, &is_eof);
}

static int recv_rdma(struct kr_sock *ks, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = &ks->inet.sk;
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	size_t target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	bool is_eof, is_ended;
	size_t done;
	int ret;

	/* What is there is mostly enough, and nobody needs to be woken. */
	ret = take(ks, msg, len, flags, 0, &is_eof);
	if (ret < 0 || (ret && ret >= target && ret < CHUNK_MAX))
		return ret;
	done = ret;
	kr_ep_hurry(ks->ep);
	add_wait_queue(sk_sleep(sk), &wait);
	for (;;) {
		is_ended = is_over(sk);
		ret = take(ks, msg, len - done, flags, flags & MSG_PEEK ? done : 0,
			   &is_eof);
		if (ret < 0)
			break;
		done += ret;
		if (done == len && (len || is_readable(ks)))
			break;
		if (ret)
			continue;
		if (done >= target && done)
			break;
		if (done && (is_eof || is_ended || !timeo || signal_pending(current)))
			break;
		ret = 0;
		if (is_eof)
			break;
		ret = done ? 1 : why_wait(sk, is_ended, timeo);
		if (ret <= 0)
			break;
		wait_event_on(sk, &wait, &timeo);
		/* Disconnected meanwhile: nothing is left to read from. */
		ret = 0;
		if (!ks->ep)
			break;
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return done ? done : ret;
}

static int recv_tcp(struct kr_sock *ks, struct msghdr *msg, size_t len, int flags)
{
	int ret;

	kr_inner_sync(ks);
	ret = ks->inner->ops->recvmsg(ks->inner, msg, len, flags);
	kr_inner_result(ks, ret);
	if (ret > 0 && !(flags & MSG_PEEK))
		count_bytes(&ks->rx_tcp, KR_STAT_rx_bytes_tcp, ret);
	return ret;
}

int kr_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct kr_sock *ks = kr_sk(sock->sk);
	struct sock *sk = sock->sk;
	long timeo;
	int ret;

	if (kr_mode(ks) == KR_MODE_TCP)
		return recv_tcp(ks, msg, len, flags);
	if (flags & MSG_ERRQUEUE)
		return -EAGAIN;		/* nothing is ever put there */
	if (flags & MSG_OOB)
		return -EINVAL;
	lock_sock(sk);
	timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	ret = wait_connected(ks, &timeo);
	if (ret)
		goto out;
	if (ks->mode == KR_MODE_TCP) {
		release_sock(sk);
		return recv_tcp(ks, msg, len, flags);
	}
	ret = -ENOTCONN;
	if (ks->mode == KR_MODE_RDMA && ks->ep)
		ret = recv_rdma(ks, msg, len, flags);
	msg->msg_namelen = 0;
out:
	release_sock(sk);
	return ret;
}
