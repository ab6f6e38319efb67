// SPDX-License-Identifier: GPL-2.0
/*
 * Options and ioctls.
 *
 * SOL_SOCKET never comes here.  Of the TCP options, those that mean something for
 * an RDMA connection are kept in struct kr_opts (core/opts.h), checked as TCP checks
 * them and obeyed by the VQP; all others, and all IP and IPv6 options, belong to the inner
 * socket, which is made for them.  Where there is an inner socket it is told
 * everything, so that a connection that ends up as TCP has its options.
 */
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include "sock.h"

static_assert(KR_KEEP_IDLE_MAX_S == MAX_TCP_KEEPIDLE &&
	      KR_KEEP_INTVL_MAX_S == MAX_TCP_KEEPINTVL &&
	      KR_KEEP_CNT_MAX == MAX_TCP_KEEPCNT &&
	      KR_LINGER2_MAX_S == TCP_FIN_TIMEOUT_MAX / HZ);

/* A sysctl may be negative. */
static u32 sysctl_s(int in_jiffies)
{
	return max(in_jiffies, 0) / HZ;
}

static void read_defaults(const struct kr_sock *ks, struct kr_opt_defaults *d)
{
	const struct netns_ipv4 *v4 = &sock_net(&ks->inet.sk)->ipv4;

	d->keep_idle_s = sysctl_s(READ_ONCE(v4->sysctl_tcp_keepalive_time));
	d->keep_intvl_s = sysctl_s(READ_ONCE(v4->sysctl_tcp_keepalive_intvl));
	d->keep_cnt = READ_ONCE(v4->sysctl_tcp_keepalive_probes);
	d->fin_timeout_s = sysctl_s(READ_ONCE(v4->sysctl_tcp_fin_timeout));
}

/* What the VQP shall obey.  Context: lock_sock held or the socket is unused. */
void kr_sock_opts(const struct kr_sock *ks, struct kr_vqp_opts *opts)
{
	struct kr_opt_defaults defaults;

	read_defaults(ks, &defaults);
	kr_opts_apply(&ks->opts, &defaults, opts);
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

static int set_ours(struct kr_sock *ks, int name, sockptr_t val, unsigned int len)
{
	int v, err;

	if (len < sizeof(v))
		return -EINVAL;
	if (copy_from_sockptr(&v, val, sizeof(v)))
		return -EFAULT;
	err = kr_opts_set(&ks->opts, name, v);
	if (err)
		return err;
	if ((name == TCP_CORK && !v) || (name == TCP_NODELAY && v))
		kr_sock_uncork(ks);
	kr_sock_push_opts(ks);
	return 0;
}

/* An option of zero bytes, or one that cannot be read, switches nothing on. */
static bool switches_on(sockptr_t val, unsigned int len)
{
	u32 v = 0;

	return !copy_from_sockptr(&v, val, min_t(unsigned int, len, sizeof(v))) && v;
}

static int set_inner(struct kr_sock *ks, int level, int name, sockptr_t val,
		     unsigned int len)
{
	int err = kr_inner_get(ks);
	bool needs_tcp;

	if (err)
		return err;
	needs_tcp = kr_opt_owner(level, name) == KR_OPT_NEEDS_TCP && switches_on(val, len);
	if (needs_tcp && (ks->mode == KR_MODE_RDMA || ks->mode == KR_MODE_ASKING))
		return -EOPNOTSUPP;
	err = ks->inner->ops->setsockopt(ks->inner, level, name, val, len);
	if (needs_tcp && !err)
		ks->opts.needs_tcp = true;
	return err;
}

int kr_setsockopt(struct socket *sock, int level, int name, sockptr_t val,
		  unsigned int len)
{
	enum kr_opt_owner owner = kr_opt_owner(level, name);
	struct kr_sock *ks = kr_sk(sock->sk);
	int err = 0;

	if (owner == KR_OPT_FORBIDDEN)
		return -EOPNOTSUPP;
	if (kr_mode(ks) == KR_MODE_TCP)
		return ks->inner->ops->setsockopt(ks->inner, level, name, val, len);
	lock_sock(sock->sk);
	if (owner == KR_OPT_OURS)
		err = set_ours(ks, name, val, len);
	else
		err = set_inner(ks, level, name, val, len);
	if (owner == KR_OPT_OURS && !err && ks->inner)
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

static int get_ours(struct kr_sock *ks, int name, char __user *val, int __user *len)
{
	struct kr_opt_defaults defaults;
	int v;

	read_defaults(ks, &defaults);
	v = kr_opts_get(&ks->opts, &defaults, name);
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
	bool is_ours = kr_opt_owner(level, name) == KR_OPT_OURS;
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
	else if (is_ours)
		err = get_ours(ks, name, val, len);
	else if (is_rdma && level == SOL_TCP && name == TCP_ZEROCOPY_RECEIVE)
		err = -EOPNOTSUPP;	/* the inner one has no bytes, ever */
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
