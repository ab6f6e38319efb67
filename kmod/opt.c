// SPDX-License-Identifier: GPL-2.0
/*
 * Options and ioctls.
 *
 * SOL_SOCKET never comes here.  Of the TCP options, those that mean something for
 * an RDMA connection are kept in struct kr_opts, checked as TCP checks them and
 * obeyed by the VQP; all others, and all IP and IPv6 options, belong to the inner
 * socket, which is made for them.  Where there is an inner socket it is told
 * everything, so that a connection that ends up as TCP has its options.
 */
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include "sock.h"

#define RETRIES2_NS (924 * KR_SEC)	/* tcp_retries2 = 15, tcp(7) */

static u64 keep_s(u32 set, int sysctl_jiffies)
{
	return set ? set : sysctl_jiffies / HZ;
}

/* What the VQP shall obey.  Context: lock_sock held or the socket is unused. */
void kr_sock_opts(const struct kr_sock *ks, struct kr_vqp_opts *opts)
{
	const struct sock *sk = &ks->inet.sk;
	const struct net *net = sock_net(sk);
	const struct kr_opts *o = &ks->opts;
	u32 probes = READ_ONCE(net->ipv4.sysctl_tcp_keepalive_probes);

	memset(opts, 0, sizeof(*opts));
	opts->user_timeout_ns = o->user_timeout_ms ? o->user_timeout_ms * KR_MSEC :
						     RETRIES2_NS;
	opts->orphan_ns = (u64)READ_ONCE(net->ipv4.sysctl_tcp_fin_timeout) / HZ * KR_SEC;
	if (o->linger2_s > 0)
		opts->orphan_ns = min(o->linger2_s, TCP_FIN_TIMEOUT_MAX / HZ) * KR_SEC;
	if (!o->is_keepalive)
		return;
	opts->keep_idle_ns = KR_SEC * keep_s(o->keep_idle_s,
			READ_ONCE(net->ipv4.sysctl_tcp_keepalive_time));
	opts->keep_intvl_ns = KR_SEC * keep_s(o->keep_intvl_s,
			READ_ONCE(net->ipv4.sysctl_tcp_keepalive_intvl));
	opts->keep_cnt = o->keep_cnt ? o->keep_cnt : probes;
}

void kr_sock_push_opts(struct kr_sock *ks)
{
	struct kr_vqp_opts opts;

	if (!ks->ep)
		return;
	kr_sock_opts(ks, &opts);
	kr_host_lock(ks->ep->host);
	kr_vqp_set_opts(&ks->ep->vqp, &opts, ktime_get_ns());
	kr_host_unlock(ks->ep->host);
}

/* Bytes that were held back go out now. */
void kr_sock_uncork(struct kr_sock *ks)
{
	if (!ks->ep)
		return;
	kr_host_lock(ks->ep->host);
	if (ks->ep->vqp.is_attached)
		kr_vqp_wrote(&ks->ep->vqp, 0, 0, ktime_get_ns());
	kr_host_unlock(ks->ep->host);
}

/* The integer options of struct kr_opts: where, and the values TCP allows. */
struct int_opt {
	int name;
	u32 offset;
	int min;
	int max;
};

#define INT_OPT(n, field, lo, hi) { n, offsetof(struct kr_opts, field), lo, hi }

static const struct int_opt int_opts[] = {
	INT_OPT(TCP_NODELAY, nodelay, INT_MIN, INT_MAX),
	INT_OPT(TCP_CORK, cork, INT_MIN, INT_MAX),
	INT_OPT(TCP_QUICKACK, quickack, INT_MIN, INT_MAX),
	INT_OPT(TCP_USER_TIMEOUT, user_timeout_ms, 0, INT_MAX),
	INT_OPT(TCP_KEEPIDLE, keep_idle_s, 1, MAX_TCP_KEEPIDLE),
	INT_OPT(TCP_KEEPINTVL, keep_intvl_s, 1, MAX_TCP_KEEPINTVL),
	INT_OPT(TCP_KEEPCNT, keep_cnt, 1, MAX_TCP_KEEPCNT),
	INT_OPT(TCP_LINGER2, linger2_s, INT_MIN, INT_MAX),
};

static const struct int_opt *find_int(int name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(int_opts); i++)
		if (int_opts[i].name == name)
			return &int_opts[i];
	return NULL;
}

static int *field(struct kr_sock *ks, const struct int_opt *o)
{
	return (int *)((char *)&ks->opts + o->offset);
}

static bool is_flag(int name)
{
	return name == TCP_NODELAY || name == TCP_CORK || name == TCP_QUICKACK;
}

static int set_int(struct kr_sock *ks, const struct int_opt *o, sockptr_t val,
		   unsigned int len)
{
	int v;

	if (len < sizeof(v))
		return -EINVAL;
	if (copy_from_sockptr(&v, val, sizeof(v)))
		return -EFAULT;
	if (v < o->min || v > o->max)
		return -EINVAL;
	*field(ks, o) = is_flag(o->name) ? !!v : v;
	if ((o->name == TCP_CORK && !v) || (o->name == TCP_NODELAY && v))
		kr_sock_uncork(ks);
	kr_sock_push_opts(ks);
	return 0;
}

/*
 * These would act on the "socket" of the inner one, which is the outer (inner.c):
 * they replace its ops by TCP's, or connect it.
 */
static bool is_forbidden(int level, int name)
{
	return (level == SOL_TCP &&
		(name == TCP_ULP || name == TCP_FASTOPEN_CONNECT)) ||
	       (level == SOL_IPV6 && name == IPV6_ADDRFORM);
}

/* Options that only TCP itself can serve choose TCP for the connection. */
static bool needs_tcp(int level, int name)
{
	if (level == SOL_TCP)
		return name == TCP_REPAIR || name == TCP_FASTOPEN ||
		       name == TCP_MD5SIG || name == TCP_MD5SIG_EXT ||
		       name == TCP_ZEROCOPY_RECEIVE;
	return (level == SOL_IP && name == IP_TRANSPARENT) ||
	       (level == SOL_IPV6 && name == IPV6_TRANSPARENT);
}

static int set_inner(struct kr_sock *ks, int level, int name, sockptr_t val,
		     unsigned int len)
{
	int err = kr_inner_get(ks);

	if (err)
		return err;
	if (needs_tcp(level, name)) {
		if (ks->mode == KR_MODE_RDMA || ks->mode == KR_MODE_ASKING)
			return -EOPNOTSUPP;
		ks->opts.needs_tcp = true;
	}
	return ks->inner->ops->setsockopt(ks->inner, level, name, val, len);
}

int kr_setsockopt(struct socket *sock, int level, int name, sockptr_t val,
		  unsigned int len)
{
	const struct int_opt *o = level == SOL_TCP ? find_int(name) : NULL;
	struct kr_sock *ks = kr_sk(sock->sk);
	int err = 0;

	if (is_forbidden(level, name))
		return -EOPNOTSUPP;
	if (kr_mode(ks) == KR_MODE_TCP)
		return ks->inner->ops->setsockopt(ks->inner, level, name, val, len);
	lock_sock(sock->sk);
	if (!o)
		err = set_inner(ks, level, name, val, len);
	else
		err = set_int(ks, o, val, len);
	if (o && !err && ks->inner)
		err = ks->inner->ops->setsockopt(ks->inner, level, name, val, len);
	release_sock(sock->sk);
	return err;
}

/* tcp_info of an RDMA connection, in TCP's units. */
static void fill_tcp_info(struct kr_sock *ks, struct tcp_info *info)
{
	struct kr_ep *ep = ks->ep;
	struct kr_assoc *a = &ep->host->assoc;
	u32 mss;

	memset(info, 0, sizeof(*info));
	kr_host_lock(ep->host);
	mss = a->mtu - KR_HDR_LEN - KR_MSG_HDR_LEN - KR_DATA_LEN;
	info->tcpi_state = ks->inet.sk.sk_state;
	info->tcpi_rto = div_u64(kr_channel_pto_ns(&a->ch), NSEC_PER_USEC);
	info->tcpi_snd_mss = mss;
	info->tcpi_rcv_mss = mss;
	info->tcpi_advmss = mss;
	info->tcpi_pmtu = a->mtu;
	info->tcpi_rtt = div_u64(a->ch.srtt_ns, NSEC_PER_USEC);
	info->tcpi_rttvar = div_u64(a->ch.rttvar_ns, NSEC_PER_USEC);
	info->tcpi_min_rtt = div_u64(a->ch.min_rtt_ns, NSEC_PER_USEC);
	info->tcpi_snd_cwnd = kr_cc_window(&a->ch.cc);
	info->tcpi_unacked = ep->vqp.tx.inflight;
	info->tcpi_probes = ep->vqp.probe_count;
	info->tcpi_rcv_space = ep->vqp.rx.limit;
	info->tcpi_bytes_acked = ep->vqp.tx.head;
	info->tcpi_bytes_sent = ep->vqp.tx.next;
	info->tcpi_bytes_received = ep->vqp.rx.accepted;
	info->tcpi_notsent_bytes = ep->vqp.tx.end - ep->vqp.tx.next;
	info->tcpi_total_retrans = a->ch.nr_lost;
	kr_host_unlock(ep->host);
}

static int put_user_opt(char __user *val, int __user *len, const void *from, int size)
{
	int room;

	if (get_user(room, len))
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	room = min(room, size);
	if (put_user(room, len) || copy_to_user(val, from, room))
		return -EFAULT;
	return 0;
}

static int get_int(struct kr_sock *ks, const struct int_opt *o, char __user *val,
		   int __user *len)
{
	struct kr_vqp_opts opts;
	int v = *field(ks, o);
	bool keepalive = ks->opts.is_keepalive;

	/* A time that was never set reads as what applies. */
	ks->opts.is_keepalive = true;
	kr_sock_opts(ks, &opts);
	ks->opts.is_keepalive = keepalive;
	if (o->name == TCP_KEEPIDLE)
		v = div_u64(opts.keep_idle_ns, NSEC_PER_SEC);
	else if (o->name == TCP_KEEPINTVL)
		v = div_u64(opts.keep_intvl_ns, NSEC_PER_SEC);
	else if (o->name == TCP_KEEPCNT)
		v = opts.keep_cnt;
	else if (o->name == TCP_LINGER2 && v >= 0)
		v = div_u64(opts.orphan_ns, NSEC_PER_SEC);
	return put_user_opt(val, len, &v, sizeof(v));
}

static int get_tcp_info(struct kr_sock *ks, char __user *val, int __user *len)
{
	struct tcp_info info;

	fill_tcp_info(ks, &info);
	return put_user_opt(val, len, &info, sizeof(info));
}

static int get_maxseg(struct kr_sock *ks, char __user *val, int __user *len)
{
	struct tcp_info info;
	int v;

	fill_tcp_info(ks, &info);
	v = info.tcpi_snd_mss;
	return put_user_opt(val, len, &v, sizeof(v));
}

static int get_inner(struct kr_sock *ks, int level, int name, char __user *val,
		     int __user *len)
{
	int err = kr_inner_get(ks);

	if (err)
		return err;
	return ks->inner->ops->getsockopt(ks->inner, level, name, val, len);
}

int kr_getsockopt(struct socket *sock, int level, int name, char __user *val,
		  int __user *len)
{
	const struct int_opt *o = level == SOL_TCP ? find_int(name) : NULL;
	struct kr_sock *ks = kr_sk(sock->sk);
	bool is_rdma;
	int err;

	if (kr_mode(ks) == KR_MODE_TCP)
		return ks->inner->ops->getsockopt(ks->inner, level, name, val, len);
	lock_sock(sock->sk);
	is_rdma = ks->mode == KR_MODE_RDMA && ks->ep;
	if (is_rdma && level == SOL_TCP && name == TCP_INFO)
		err = get_tcp_info(ks, val, len);
	else if (is_rdma && level == SOL_TCP && name == TCP_MAXSEG)
		err = get_maxseg(ks, val, len);
	else if (o && !(ks->inner && name == TCP_QUICKACK))
		err = get_int(ks, o, val, len);
	else
		err = get_inner(ks, level, name, val, len);
	release_sock(sock->sk);
	return err;
}

static int ioctl_rdma(struct kr_sock *ks, unsigned int cmd, int *value)
{
	struct kr_vqp *v = &ks->ep->vqp;
	int ret = 0;

	spin_lock_bh(&ks->ep->host->lock);
	switch (cmd) {
	case SIOCINQ:
		*value = kr_rx_ready(&v->rx);
		break;
	case SIOCOUTQ:
		*value = v->tx.end - v->tx.head;
		break;
	case SIOCOUTQNSD:
		*value = v->tx.end - v->tx.next;
		break;
	case SIOCATMARK:
		*value = 0;
		break;
	default:
		ret = -ENOIOCTLCMD;
	}
	spin_unlock_bh(&ks->ep->host->lock);
	return ret;
}

int kr_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct kr_sock *ks = kr_sk(sock->sk);
	int ret = -ENOIOCTLCMD, value;

	if (kr_mode(ks) == KR_MODE_TCP)
		return ks->inner->ops->ioctl(ks->inner, cmd, arg);
	lock_sock(sock->sk);
	if (ks->mode == KR_MODE_RDMA && ks->ep)
		ret = ioctl_rdma(ks, cmd, &value);
	if (ret == -ENOIOCTLCMD)
		ret = kr_inner_get(ks) ? : -ENOIOCTLCMD;
	else
		ret = put_user(value, (int __user *)arg);
	release_sock(sock->sk);
	if (ret != -ENOIOCTLCMD)
		return ret;
	return ks->inner->ops->ioctl(ks->inner, cmd, arg);
}
