/* SPDX-License-Identifier: GPL-2.0 */
/*
 * krcore sockets.  What a socket is behind its fd is its mode:
 *
 *   NEW        nothing decided: socket(), perhaps bind() and options
 *   ASKING     connect() was called; who answers there is being asked
 *   RDMA       an endpoint: connecting, connected or ended
 *   TCP        everything is handed to the inner TCP socket, for ever
 *   LISTEN     the inner socket listens for TCP, and is what CONNECTs look up
 *
 *   NEW -> ASKING -> RDMA -> TCP (CONNECT was refused)
 *   NEW -> TCP,  ASKING -> TCP,  NEW -> RDMA,  NEW -> LISTEN
 *
 * The inner TCP socket holds address, port and options for all modes; it is made
 * when first needed, in the caller's context.  Its wait queue is the outer one's.
 *
 * Locks, outermost first:
 *   lock_sock(outer)         mode, inner, ep, options; serialises readers and writers
 *   lock_sock(inner)         TCP's own
 *   kr_host.lock             every VQP of the host (softirq too)
 *   kr_sock.accept_lock      a listener's queues (softirq too)
 *   kr_dev's send lock, starved_lock, items_lock (softirq too, innermost)
 * hosts_lock nests inside none and takes none.
 */
#ifndef KRCORE_SOCK_H
#define KRCORE_SOCK_H

#include <linux/ipv6.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include "core/opts.h"
#include "ep.h"
#include "peer.h"

enum kr_mode {
	KR_MODE_NEW,
	KR_MODE_ASKING,
	KR_MODE_RDMA,
	KR_MODE_TCP,
	KR_MODE_LISTEN,
};

/*
 * A socket is held by: its fd (struct socket) until release, which waits for the
 * connect work and the peer's answer; as a listener, by each endpoint at it.
 */
struct kr_sock {
	struct inet_sock inet;		/* first */

	/* protected by lock_sock, mode also read without (acquire) */
	enum kr_mode mode;
	enum kr_reason reason;		/* why TCP */
	struct socket *inner;
	struct kr_ep *ep;		/* with reference */
	struct kr_opts opts;
	struct kr_tuple tuple;		/* of the connection, as dialled */
	bool is_own;			/* which leads to this namespace itself */
	struct sockaddr_storage peer_addr;	/* as given to connect() */
	int peer_addr_len;
	struct kr_peer_waiter waiter;
	struct work_struct connect_work;
	bool is_released;		/* close() has begun */
	u32 serial;			/* in the table of all sockets */
	u64 born_ns;

	/* statistics, racy and harmless: each direction has one writer at a time */
	u64 tx_rdma, rx_rdma, tx_local, rx_local, tx_tcp, rx_tcp;

	bool is_err_mirrored;		/* sk_err is a copy of inner's */

	/* listener */
	struct hlist_node listen_node;	/* RCU; by inner sock */
	struct list_head pending;	/* endpoints that no client confirmed yet */
	struct list_head accept_q;	/* endpoints for accept() */
	u32 nr_ready;			/* on accept_q */
	bool is_stopped;		/* listens no more */
	spinlock_t accept_lock;		/* protects the four above, and kr_ep's part */
};

struct kr6_sock {
	struct kr_sock kr;
	struct ipv6_pinfo np;		/* exactly last */
};

static inline struct kr_sock *kr_sk(const struct sock *sk)
{
	return (struct kr_sock *)sk;
}

static inline enum kr_mode kr_mode(const struct kr_sock *ks)
{
	return smp_load_acquire(&ks->mode);	/* pairs with kr_set_mode() */
}

static inline void kr_set_mode(struct kr_sock *ks, enum kr_mode mode)
{
	smp_store_release(&ks->mode, mode);	/* pairs with kr_mode() */
}

/* Is the connection under way?  Context: lock_sock held. */
static inline bool kr_is_connecting(const struct kr_sock *ks)
{
	return ks->mode == KR_MODE_ASKING ||
	       (ks->mode == KR_MODE_RDMA &&
		READ_ONCE(ks->inet.sk.sk_state) == TCP_SYN_SENT);
}

/* What ss(8) and SO_ACCEPTCONN see; also set in softirq, read without a lock. */
static inline void kr_set_state(struct sock *sk, int state)
{
	WRITE_ONCE(sk->sk_state, state);
}

extern const struct proto_ops kr_ops_v4, kr_ops_v6;
extern unsigned int kr_sndbuf, kr_rcvbuf;

/* sock.c */
int kr_sock_init(void);
void kr_sock_exit(void);
void kr_sock_setup(struct sock *sk);	/* a new struct kr_sock, also of accept */
void kr_sock_event(struct sock *sk, struct kr_ep *ep, u32 events);
u32 kr_sock_sndlimit(const struct sock *sk);
u32 kr_sock_rcvlimit(const struct sock *sk);
void kr_sock_opts(const struct kr_sock *ks, struct kr_vqp_opts *opts);
void kr_sock_push_opts(struct kr_sock *ks);	/* lock_sock held, as for the next */
void kr_sock_uncork(struct kr_sock *ks);

/* connect.c */
int kr_connect(struct socket *sock, struct sockaddr *addr, int len, int flags);
int kr_disconnect(struct kr_sock *ks, struct socket *sock);
void kr_connect_abandon(struct kr_sock *ks);
void kr_connect_work_fn(struct work_struct *work);
void kr_connect_on_answer(struct kr_peer_waiter *w);

/* listen.c */
int kr_listen(struct socket *sock, int backlog);
int kr_accept(struct socket *sock, struct socket *new, int flags, bool kern);
void kr_listen_stop(struct kr_sock *ks);
__poll_t kr_listen_poll(struct file *file, struct kr_sock *ks);
int kr_listen_incoming(struct kr_host *host, const struct kr_connect *c,
		       struct kr_ep **out);
void kr_listen_confirmed(struct kr_ep *ep);
void kr_listen_released(struct kr_ep *ep);

/* inner.c; all but sync and result with lock_sock held */
int kr_inner_get(struct kr_sock *ks);	/* makes it unless there, and pushes */
void kr_inner_put(struct kr_sock *ks);
void kr_inner_push(struct kr_sock *ks);
void kr_inner_keepalive(struct kr_sock *ks, bool is_on);
void kr_inner_plain(struct kr_sock *ks);
void kr_inner_use(struct kr_sock *ks, enum kr_reason reason);
void kr_inner_sync(struct kr_sock *ks);
int kr_inner_result(struct kr_sock *ks, int ret);
void kr_inner_addr(const struct sock *isk, u8 family, u8 saddr[16], u16 *port);

/* io.c */
int kr_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int kr_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);

/* opt.c */
int kr_setsockopt(struct socket *sock, int level, int name, sockptr_t val,
		  unsigned int len);
int kr_getsockopt(struct socket *sock, int level, int name, char __user *val,
		  int __user *len);
int kr_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);

#endif
