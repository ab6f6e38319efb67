// SPDX-License-Identifier: GPL-2.0
/*
 * TCP as the last carrier: when no RDMA path to a host is left, a connection between
 * the two kernels, in the initial namespace, carries the association's packets.
 *
 * Set-up.  The asker connects to port 981 and sends its offer; the other side finds
 * the association by it and answers with its own.  Who knows both association ids is
 * the host: they are secrets of the two.  Then packets go back to back both ways,
 * each as long as its header says; whatever else comes ends the connection.
 *
 * Threads.  Socket callbacks only queue works, which they find in sk_user_data under
 * sk_callback_lock.  rx_work does the set-up and all reading, tx_work all writing of
 * packets, watch_work sees to time.  A work item never runs beside itself, so what
 * only one of them touches needs no lock.
 *
 * Lifetime.  A connection that was accepted is a stranger until its offer has come: it
 * is on a list, and who takes it from there owns it.  One that asks is owned by its
 * rx_work at first.  With kr_carrier_init() both become carriers and are owned as such
 * (carrier.h); that happens in rx_work, for which conn_free() waits.  drop_work frees
 * those that never get so far.
 *
 * Lock order: host->lock, then tx_lock.  The socket's lock is taken with none of them
 * held; sk_callback_lock is taken by the network inside the socket's.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "carrier.h"
#include "gid.h"
#include "hello.h"
#include "host.h"
#include "stats.h"
#include "tcplane.h"

enum {
	STRANGERS_MAX = 16,
	CARRIERS_MAX = 256,
	/* With those that are being freed. */
	CONNS_MAX = CARRIERS_MAX + 4 * STRANGERS_MAX,
	BATCH = 16,			/* per run of a work */
	TX_SLOTS = 4,
	SNDBUF = 256 << 10,		/* what waits there is late: little, for its rate */
	SETUP_S = 3,
	USER_TIMEOUT_MS = 10000,
	KEEPALIVE_IDLE_S = 5,
	KEEPALIVE_INTVL_S = 2,
	KEEPALIVE_COUNT = 3,
};

#define IDLE_ASKER_NS (10 * KR_SEC)	/* the asker ends what is not needed */
#define IDLE_OTHER_NS (30 * KR_SEC)

enum conn_state {
	CONN_NEW,			/* asker: for the host in asked */
	CONN_CONNECTING,
	CONN_OFFER,			/* waits for the other's offer */
	CONN_OPEN,
};

struct slot {
	u8 *bytes;			/* KR_LANE_SIZE_MAX */
	u32 len;
};

struct conn {
	struct kr_carrier c;		/* with is_carrier */
	struct socket *sock;
	unsigned long born;		/* jiffies */
	struct work_struct rx_work;
	struct work_struct tx_work;
	struct delayed_work watch_work;
	struct work_struct drop_work;	/* of one that is no carrier */
	bool is_carrier;		/* written once; acquire and release */

	struct list_head node;		/* strangers_lock; empty: it is none */

	/* the socket's callbacks before ours; under sk_callback_lock */
	void (*old_data_ready)(struct sock *sk);
	void (*old_state_change)(struct sock *sk);
	void (*old_write_space)(struct sock *sk);

	/* rx_work's; state is read by others as well */
	enum conn_state state;
	struct kr_host *asked;		/* with reference; NEW */
	union kr_sock_addr to;
	u8 offer[KR_OFFER_LEN];
	u8 *rx;				/* KR_LANE_SIZE_MAX, one packet */
	u32 rx_len;

	/* Fixed once open.  Slots from sent to posted are tx_work's, the others get()'s. */
	struct slot slots[TX_SLOTS];
	u32 tx_done;			/* tx_work's: bytes of the slot at sent */
	spinlock_t tx_lock;		/* the three below */
	u32 posted;
	u32 sent;
	bool is_starved;		/* somebody found no slot */
};

static struct workqueue_struct *tcp_wq;
static atomic_t nr_conns;
static atomic_t nr_carriers;
static bool is_stopping;

static DEFINE_SPINLOCK(strangers_lock);	/* the two below and conn.node */
static LIST_HEAD(strangers);		/* oldest first */
static unsigned int nr_strangers;

static struct {
	struct socket *sock;		/* NULL: there is no listener */
	struct work_struct work;
	void (*old_data_ready)(struct sock *sk);
} listener;

static const struct kr_carrier_ops conn_ops;

/* Callbacks of sockets.  Context: softirq, or whoever holds the socket. */

static void on_data_ready(struct sock *sk)
{
	struct conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (conn)
		queue_work(tcp_wq, &conn->rx_work);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void on_write_space(struct sock *sk)
{
	struct conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	/* The bit stays while there is too little: TCP calls again. */
	if (conn && sk_stream_is_writeable(sk)) {
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		queue_work(tcp_wq, &conn->tx_work);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

/* A child that nobody has accepted yet has this one, too. */
static void on_listen_ready(struct sock *sk)
{
	read_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_state == TCP_LISTEN && sk->sk_user_data)
		queue_work(tcp_wq, &listener.work);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void set_callbacks(struct conn *conn)
{
	struct sock *sk = conn->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	conn->old_data_ready = sk->sk_data_ready;
	if (conn->old_data_ready == on_listen_ready)
		conn->old_data_ready = listener.old_data_ready;
	conn->old_state_change = sk->sk_state_change;
	conn->old_write_space = sk->sk_write_space;
	sk->sk_user_data = conn;
	sk->sk_data_ready = on_data_ready;
	sk->sk_state_change = on_data_ready;
	sk->sk_write_space = on_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void restore_callbacks(struct conn *conn)
{
	struct sock *sk = conn->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data == conn) {
		sk->sk_user_data = NULL;
		sk->sk_data_ready = conn->old_data_ready;
		sk->sk_state_change = conn->old_state_change;
		sk->sk_write_space = conn->old_write_space;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

static void set_options(struct sock *sk)
{
	tcp_sock_set_nodelay(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_keepidle(sk, KEEPALIVE_IDLE_S);
	tcp_sock_set_keepintvl(sk, KEEPALIVE_INTVL_S);
	tcp_sock_set_keepcnt(sk, KEEPALIVE_COUNT);
	tcp_sock_set_user_timeout(sk, USER_TIMEOUT_MS);
	/* What is unsent at the end goes another way; and the port is free at once. */
	sock_no_linger(sk);
	lock_sock(sk);
	sk->sk_sndbuf = SNDBUF;
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	/* Storage may depend on what it carries. */
	sk->sk_allocation = GFP_NOIO;
	sk->sk_use_task_frag = false;
	release_sock(sk);
}

/* Life. */

static void rx_work_fn(struct work_struct *work);
static void tx_work_fn(struct work_struct *work);
static void watch_work_fn(struct work_struct *work);
static void drop_work_fn(struct work_struct *work);

/* Takes over @sock, also when it fails. */
static struct conn *conn_create(struct socket *sock, enum conn_state state)
{
	struct conn *conn = NULL;

	if (atomic_inc_return(&nr_conns) <= CONNS_MAX)
		conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (!conn) {
		atomic_dec(&nr_conns);
		sock_release(sock);
		return NULL;
	}
	conn->sock = sock;
	conn->state = state;
	conn->born = jiffies;
	INIT_WORK(&conn->rx_work, rx_work_fn);
	INIT_WORK(&conn->tx_work, tx_work_fn);
	INIT_DELAYED_WORK(&conn->watch_work, watch_work_fn);
	INIT_WORK(&conn->drop_work, drop_work_fn);
	INIT_LIST_HEAD(&conn->node);
	spin_lock_init(&conn->tx_lock);
	set_options(sock->sk);
	return conn;
}

/*
 * What can still look: the callbacks, which see no sk_user_data any more, and the
 * works, which are over after this.  Not called from one of them.
 */
static void conn_free(struct conn *conn)
{
	int i;

	/* The first run of an asker's sets the callbacks. */
	cancel_work_sync(&conn->rx_work);
	restore_callbacks(conn);
	cancel_work_sync(&conn->rx_work);
	cancel_delayed_work_sync(&conn->watch_work);
	cancel_work_sync(&conn->tx_work);
	sock_release(conn->sock);
	for (i = 0; i < TX_SLOTS; i++)
		kvfree(conn->slots[i].bytes);
	kvfree(conn->rx);
	kfree(conn);
	atomic_dec(&nr_conns);
}

static void drop_work_fn(struct work_struct *work)
{
	conn_free(container_of(work, struct conn, drop_work));
}

static void conn_destroy(struct kr_carrier *c)
{
	conn_free(container_of(c, struct conn, c));
	atomic_dec(&nr_carriers);
}

static bool is_carrier(const struct conn *conn)
{
	return smp_load_acquire(&conn->is_carrier);
}

/* From here on it is owned as a carrier is, else dropped.  Return: 0 or -errno. */
static int conn_adopt(struct conn *conn, struct kr_host *host, bool is_asked)
{
	int err;

	if (atomic_inc_return(&nr_carriers) > CARRIERS_MAX)
		err = -EMFILE;
	else
		err = kr_carrier_init(&conn->c, &conn_ops, host, NULL, is_asked);
	if (!err) {
		smp_store_release(&conn->is_carrier, true);
		return 0;
	}
	atomic_dec(&nr_carriers);
	queue_work(tcp_wq, &conn->drop_work);
	return err;
}

/* Strangers. */

/* True: the caller owns it now. */
static bool stranger_take_locked(struct conn *conn)
{
	lockdep_assert_held(&strangers_lock);
	if (list_empty(&conn->node))
		return false;
	list_del_init(&conn->node);
	nr_strangers--;
	return true;
}

static bool stranger_take(struct conn *conn)
{
	bool is_ours;

	spin_lock(&strangers_lock);
	is_ours = stranger_take_locked(conn);
	spin_unlock(&strangers_lock);
	return is_ours;
}

static void stranger_drop(struct conn *conn)
{
	if (stranger_take(conn))
		queue_work(tcp_wq, &conn->drop_work);
}

/* True: there was one. */
static bool drop_oldest(void)
{
	struct conn *conn;

	spin_lock(&strangers_lock);
	conn = list_first_entry_or_null(&strangers, struct conn, node);
	if (conn) {
		stranger_take_locked(conn);
		queue_work(tcp_wq, &conn->drop_work);
	}
	spin_unlock(&strangers_lock);
	return conn;
}

static void stranger_add(struct conn *conn)
{
	bool is_full;

	spin_lock(&strangers_lock);
	list_add_tail(&conn->node, &strangers);
	is_full = ++nr_strangers > STRANGERS_MAX;
	spin_unlock(&strangers_lock);
	if (is_full)
		drop_oldest();
}

/* It is of no use. */
static void conn_end(struct conn *conn)
{
	if (is_carrier(conn))
		kr_carrier_end(&conn->c);
	else
		stranger_drop(conn);
}

/* Sending packets. */

static void *port_get(void *port, bool is_control, u8 **bytes)
{
	struct conn *conn = container_of(port, struct conn, c);
	struct slot *slot = NULL;

	spin_lock_bh(&conn->tx_lock);
	if (conn->posted - conn->sent < TX_SLOTS)
		slot = &conn->slots[conn->posted % TX_SLOTS];
	else
		conn->is_starved = true;
	spin_unlock_bh(&conn->tx_lock);
	if (slot)
		*bytes = slot->bytes;
	return slot;
}

static void port_put(void *port, void *slot)
{
	/* It is still the next one. */
}

static void port_post(void *port, void *p, u32 len)
{
	struct conn *conn = container_of(port, struct conn, c);
	struct slot *slot = p;

	slot->len = len;
	spin_lock_bh(&conn->tx_lock);
	conn->posted++;
	spin_unlock_bh(&conn->tx_lock);
	queue_work(tcp_wq, &conn->tx_work);
}

static const struct kr_port_ops port_ops = {
	.get = port_get,
	.put = port_put,
	.post = port_post,
};

static int send_bytes(struct conn *conn, u8 *bytes, u32 len, bool is_more)
{
	struct kvec vec = { .iov_base = bytes, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

	if (is_more)
		msg.msg_flags |= MSG_MORE;
	return kernel_sendmsg(conn->sock, &msg, &vec, 1, len);
}

/* The slot to send next, NULL: none. */
static struct slot *tx_next(struct conn *conn, bool *is_more)
{
	struct slot *slot = NULL;

	spin_lock_bh(&conn->tx_lock);
	if (conn->sent != conn->posted)
		slot = &conn->slots[conn->sent % TX_SLOTS];
	*is_more = conn->posted - conn->sent > 1;
	spin_unlock_bh(&conn->tx_lock);
	return slot;
}

/* It has left.  True: somebody waits for it. */
static bool tx_release(struct conn *conn)
{
	bool was_starved;

	spin_lock_bh(&conn->tx_lock);
	conn->sent++;
	was_starved = conn->is_starved;
	conn->is_starved = false;
	spin_unlock_bh(&conn->tx_lock);
	conn->tx_done = 0;
	return was_starved;
}

/* Return: 1 a packet has gone, 0 none, or -errno. */
static int tx_one(struct conn *conn)
{
	struct slot *slot;
	bool is_more;
	int ret;

	slot = tx_next(conn, &is_more);
	if (!slot)
		return 0;
	ret = send_bytes(conn, slot->bytes + conn->tx_done, slot->len - conn->tx_done,
			 is_more);
	if (ret < 0)
		return ret;
	conn->tx_done += ret;
	/* The next call tells why it is not all, and asks for a wakeup. */
	if (conn->tx_done == slot->len && tx_release(conn))
		kr_carrier_tx_ready(&conn->c);
	return 1;
}

static void tx_work_fn(struct work_struct *work)
{
	struct conn *conn = container_of(work, struct conn, tx_work);
	int i, ret = 1;

	for (i = 0; ret > 0 && i < BATCH; i++)
		ret = kr_carrier_is_ending(&conn->c) ? 0 : tx_one(conn);
	if (ret > 0)
		queue_work(tcp_wq, &conn->tx_work);
	else if (ret < 0 && ret != -EAGAIN)
		conn_end(conn);
}

/* Receiving packets. */

/* Up to @len bytes.  Return: their number, 0 at the end, -EAGAIN: none now, or -errno. */
static int receive_bytes(struct conn *conn, u8 *bytes, u32 len)
{
	struct kvec vec = { .iov_base = bytes, .iov_len = len };
	struct msghdr msg = { };

	return kernel_recvmsg(conn->sock, &msg, &vec, 1, len, MSG_DONTWAIT);
}

/* Fills @buf up to @len bytes.  Return: 0 when it is full, or -errno. */
static int receive_up_to(struct conn *conn, u8 *buf, u32 len)
{
	int ret;

	while (conn->rx_len < len) {
		ret = receive_bytes(conn, buf + conn->rx_len, len - conn->rx_len);
		if (ret <= 0)
			return ret ?: -ECONNRESET;
		conn->rx_len += ret;
	}
	return 0;
}

/* Return: 0 when a packet was taken, or -errno. */
static int receive_packet(struct conn *conn)
{
	struct kr_hdr h;
	u32 len;
	int err;

	err = receive_up_to(conn, conn->rx, KR_HDR_LEN);
	if (err)
		return err;
	/* Of the bytes after the header there is room for so many. */
	if (!kr_wire_get_hdr(conn->rx, KR_LANE_SIZE_MAX, &h) || !h.lane)
		return -EPROTO;
	len = KR_HDR_LEN + h.body_len;
	err = receive_up_to(conn, conn->rx, len);
	if (err)
		return err;
	conn->rx_len = 0;
	kr_carrier_receive(&conn->c, conn->rx, len);
	return kr_carrier_is_ending(&conn->c) ? -ECONNRESET : 0;
}

/* Set-up. */

static int alloc_buffers(struct conn *conn)
{
	int i;

	conn->rx = kvmalloc(KR_LANE_SIZE_MAX, GFP_KERNEL);
	if (!conn->rx)
		return -ENOMEM;
	for (i = 0; i < TX_SLOTS; i++) {
		conn->slots[i].bytes = kvmalloc(KR_LANE_SIZE_MAX, GFP_KERNEL);
		if (!conn->slots[i].bytes)
			return -ENOMEM;
	}
	return 0;
}

static int send_offer(struct conn *conn)
{
	u8 bytes[KR_OFFER_LEN];
	struct kr_offer o;
	int ret;

	kr_carrier_offer(&conn->c, KR_LANE_SIZE_MAX, KR_LANE_CREDITS_MAX, &o);
	kr_wire_put_offer(bytes, &o);
	ret = send_bytes(conn, bytes, sizeof(bytes), false);
	if (ret < 0)
		return ret;
	/* A new connection has room for it. */
	return ret == sizeof(bytes) ? 0 : -EPROTO;
}

/* Does it come from the peer of this association?  Both ids are its secrets. */
static bool is_from(struct kr_host *host, const struct kr_offer *o)
{
	const struct kr_assoc *a = &host->assoc;
	bool ret;

	spin_lock_bh(&host->lock);
	ret = !a->is_ended && !a->is_loop && a->is_proven && o->tag == a->local_id &&
	      o->assoc == a->remote_id;
	spin_unlock_bh(&host->lock);
	return ret;
}

/* A peer that asks again has lost what it asked for before. */
static void end_older(struct kr_host *host)
{
	struct kr_carrier *c;

	spin_lock_bh(&host->lock);
	list_for_each_entry(c, &host->carriers, node)
		if (c->ops == &conn_ops && !c->is_asked)
			kr_carrier_end(c);
	spin_unlock_bh(&host->lock);
}

/* A stranger turns out to be @host. */
static int welcome(struct conn *conn, struct kr_host *host)
{
	int err;

	if (!stranger_take(conn))
		return -ECONNRESET;
	end_older(host);
	err = conn_adopt(conn, host, false);
	return err ?: send_offer(conn);
}

static int identify(struct conn *conn, const struct kr_offer *o)
{
	struct kr_host *host;
	int err = -EPROTO;

	if (is_carrier(conn))
		return is_from(conn->c.host, o) ? 0 : err;
	host = kr_host_find_id(o->tag);
	if (!host)
		return err;
	if (is_from(host, o))
		err = welcome(conn, host);
	kr_host_put(host);
	return err;
}

/* Return: 0 it is open, or -errno. */
static int receive_offer(struct conn *conn)
{
	struct kr_offer o;
	int err;

	err = receive_up_to(conn, conn->offer, KR_OFFER_LEN);
	if (err)
		return err;
	conn->rx_len = 0;
	if (!kr_wire_get_offer(conn->offer, KR_OFFER_LEN, &o))
		return -EPROTO;
	err = identify(conn, &o) ?: alloc_buffers(conn);
	if (err)
		return err;
	err = kr_carrier_open(&conn->c, &o, true, &port_ops);
	if (err)
		return err;
	WRITE_ONCE(conn->state, CONN_OPEN);
	kr_stat_inc(KR_STAT_tcp_lanes);
	return 0;
}

static void conn_start(struct conn *conn)
{
	set_callbacks(conn);
	queue_delayed_work(tcp_wq, &conn->watch_work, HZ);
	/* What came before the callbacks were ours. */
	queue_work(tcp_wq, &conn->rx_work);
}

static int addr_len(const union kr_sock_addr *a)
{
	return a->sa.sa_family == AF_INET6 ? sizeof(a->in6) : sizeof(a->in);
}

/* Is there one, or one in the making? */
static bool has_carrier(struct kr_host *host)
{
	struct kr_carrier *c;
	bool ret = false;

	spin_lock_bh(&host->lock);
	list_for_each_entry(c, &host->carriers, node)
		ret |= c->ops == &conn_ops && !kr_carrier_is_ending(c);
	spin_unlock_bh(&host->lock);
	return ret;
}

/* The first run of an asker.  Return: 0 connecting, or -errno. */
static int begin_connect(struct conn *conn)
{
	struct kr_host *host = conn->asked;
	int err;

	conn->asked = NULL;
	WRITE_ONCE(conn->state, CONN_CONNECTING);
	err = conn_adopt(conn, host, true);
	kr_host_put(host);
	if (err)
		return err;
	conn_start(conn);
	err = kernel_connect(conn->sock, &conn->to.sa, addr_len(&conn->to), O_NONBLOCK);
	return err == -EINPROGRESS ? 0 : err;
}

/* Return: 0 connected and our offer is on its way, or -errno. */
static int finish_connect(struct conn *conn)
{
	switch (READ_ONCE(conn->sock->sk->sk_state)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return -EAGAIN;
	case TCP_ESTABLISHED:
		WRITE_ONCE(conn->state, CONN_OFFER);
		return send_offer(conn);
	}
	return -ECONNREFUSED;
}

static int rx_some(struct conn *conn)
{
	int i, err = 0;

	if (conn->state == CONN_NEW)
		err = begin_connect(conn);
	if (!err && conn->state == CONN_CONNECTING)
		err = finish_connect(conn);
	if (!err && conn->state == CONN_OFFER)
		err = receive_offer(conn);
	for (i = 0; !err && i < BATCH; i++)
		err = receive_packet(conn);
	return err;
}

static void rx_work_fn(struct work_struct *work)
{
	struct conn *conn = container_of(work, struct conn, rx_work);
	int err = rx_some(conn);

	if (!err)
		queue_work(tcp_wq, &conn->rx_work);
	else if (err != -EAGAIN)
		conn_end(conn);
}

/* Time. */

/* Nobody needs it any more. */
static bool is_idle(struct conn *conn)
{
	struct kr_host *host = conn->c.host;
	const struct kr_assoc *a = &host->assoc;
	u64 limit = conn->c.is_asked ? IDLE_ASKER_NS : IDLE_OTHER_NS;
	bool ret;

	spin_lock_bh(&host->lock);
	ret = ktime_get_ns() - conn->c.lane.used_ns >= limit &&
	      (!kr_assoc_is_by_lanes(a) || !(a->nr_vqps || a->nr_tombs));
	spin_unlock_bh(&host->lock);
	return ret;
}

static void watch_work_fn(struct work_struct *work)
{
	struct conn *conn = container_of(to_delayed_work(work), struct conn, watch_work);
	bool is_over;

	if (READ_ONCE(conn->state) == CONN_OPEN)
		is_over = is_idle(conn);
	else
		is_over = time_after_eq(jiffies, conn->born + SETUP_S * HZ);
	/* One that is being adopted does not end now. */
	if (is_over)
		conn_end(conn);
	else
		/* A send that lacked memory is called by nobody. */
		queue_work(tcp_wq, &conn->tx_work);
	queue_delayed_work(tcp_wq, &conn->watch_work, HZ);
}

/* Asking. */

int kr_tcp_ask(struct kr_host *host)
{
	union kr_sock_addr to;
	struct socket *sock;
	struct conn *conn;
	u8 gid[16];
	int err;

	if (READ_ONCE(is_stopping))
		return -ESHUTDOWN;
	if (has_carrier(host))
		return 0;
	spin_lock_bh(&host->lock);
	memcpy(gid, host->assoc.remote.gid, sizeof(gid));
	spin_unlock_bh(&host->lock);
	err = kr_gid_sock_addr(gid, KRCORE_HELLO_PORT, &to);
	if (err)
		return err;
	err = sock_create_kern(&init_net, to.sa.sa_family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return err;
	conn = conn_create(sock, CONN_NEW);
	if (!conn)
		return -ENOMEM;
	conn->to = to;
	refcount_inc(&host->ref);
	conn->asked = host;
	queue_work(tcp_wq, &conn->rx_work);
	return 0;
}

/* Being asked. */

static void accept_work_fn(struct work_struct *work)
{
	struct socket *sock;
	struct conn *conn;
	int i, err;

	for (i = 0; i < BATCH; i++) {
		err = kernel_accept(listener.sock, &sock, O_NONBLOCK);
		/* The next one to come wakes it again. */
		if (err)
			return;
		conn = conn_create(sock, CONN_OFFER);
		if (!conn)
			continue;
		/* It cannot be the oldest: nobody drops it before it is started. */
		stranger_add(conn);
		conn_start(conn);
	}
	queue_work(tcp_wq, &listener.work);
}

static int listen_at(int family)
{
	union kr_sock_addr a = { };
	struct socket *sock;
	int err;

	err = sock_create_kern(&init_net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return err;
	sock_set_reuseaddr(sock->sk);
	if (family == AF_INET6)
		sock->sk->sk_ipv6only = false;
	a.sa.sa_family = family;
	a.in.sin_port = htons(KRCORE_HELLO_PORT);	/* as in6.sin6_port */
	err = kernel_bind(sock, &a.sa, addr_len(&a));
	if (err)
		goto err_release;
	listener.sock = sock;
	write_lock_bh(&sock->sk->sk_callback_lock);
	listener.old_data_ready = sock->sk->sk_data_ready;
	sock->sk->sk_user_data = &listener;
	sock->sk->sk_data_ready = on_listen_ready;
	write_unlock_bh(&sock->sk->sk_callback_lock);
	err = kernel_listen(sock, STRANGERS_MAX);
	if (err)
		goto err_release;
	return 0;

err_release:
	listener.sock = NULL;
	sock_release(sock);
	return err;
}

static void listener_close(void)
{
	struct sock *sk;

	if (!listener.sock)
		return;
	sk = listener.sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = listener.old_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	cancel_work_sync(&listener.work);
	sock_release(listener.sock);
	listener.sock = NULL;
}

static void conn_info(const struct kr_carrier *c, struct kr_carrier_info *info)
{
	/* It has neither a device nor queue pairs. */
	info->local_qpn = 0;
	info->remote_qpn = 0;
}

static const struct kr_carrier_ops conn_ops = {
	.kind = "tcp",
	.destroy = conn_destroy,
	.info = conn_info,
};

int kr_tcp_init(void)
{
	int err = -EAFNOSUPPORT;

	/* No WQ_MEM_RECLAIM: releasing a socket waits for works that have it not. */
	tcp_wq = alloc_workqueue("krcore_tcp", WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!tcp_wq)
		return -ENOMEM;
	INIT_WORK(&listener.work, accept_work_fn);
	if (ipv6_mod_enabled())
		err = listen_at(AF_INET6);
	if (err)
		err = listen_at(AF_INET);
	if (err)
		pr_warn("no TCP port %u: connections that lose RDMA depend on the peer's (%pe)\n",
			KRCORE_HELLO_PORT, ERR_PTR(err));
	return 0;
}

void kr_tcp_stop(void)
{
	WRITE_ONCE(is_stopping, true);
	listener_close();
	while (drop_oldest())
		;
	/* Reading may drop one more. */
	flush_workqueue(tcp_wq);
	flush_workqueue(tcp_wq);
}

void kr_tcp_exit(void)
{
	destroy_workqueue(tcp_wq);
	/* A callback may be about to look at its lock: it runs in softirq, under RCU. */
	synchronize_net();
}
