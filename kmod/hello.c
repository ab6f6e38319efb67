// SPDX-License-Identifier: GPL-2.0
/*
 * The hello over UDP: asking and answering.
 *
 * Operation: a question is sent from a connected socket, so that only the peer
 * can answer it and an ICMP error about it comes back to it.  The answerer is
 * stateless: it reads a question and sends an answer of the same length from
 * the address that was asked.  A question is remembered by nobody, but peer.c
 * hears of it, since it tells that a host is awake.
 *
 * Wakeups: data_ready and error_report only queue a work, which they find in
 * sk_user_data under sk_callback_lock.  sock_forget_work() clears it under the
 * same lock; after that a callback that is still running does nothing.
 *
 * Errors: whatever is malformed is dropped and counted.  What a datagram is and
 * whether it is answered is decided by core/discovery.c.
 */
#include <linux/module.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include "core/discovery.h"
#include "dev.h"
#include "hello.h"
#include "host.h"
#include "netns.h"
#include "peer.h"
#include "stats.h"

union hello_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* A datagram and where it came from and went to. */
struct heard {
	union hello_addr from;
	u8 to[16];
	int ifindex;
	int len;
	u8 bytes[KR_HELLO_LEN + 1];	/* one more: a longer one is seen */
};

struct workqueue_struct *kr_hello_wq;

unsigned int kr_grace_ms = 50;
module_param_named(grace_ms, kr_grace_ms, uint, 0644);
MODULE_PARM_DESC(grace_ms, "How long a connect waits for a peer's answer (ms)");

unsigned long kr_grace_jiffies(void)
{
	return msecs_to_jiffies(clamp(READ_ONCE(kr_grace_ms), 1u, 10000u));
}

static int addr_set(union hello_addr *a, u8 family, const u8 addr[16], u16 port)
{
	memset(a, 0, sizeof(*a));
	if (family == 4) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(port);
		a->in.sin_addr.s_addr = kr_addr_v4(addr);
		return sizeof(a->in);
	}
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_port = htons(port);
	a->in6.sin6_addr = kr_addr_v6(addr);
	return sizeof(a->in6);
}

static void addr_get(const union hello_addr *a, u8 addr[16], u16 *port)
{
	memset(addr, 0, 16);
	if (a->sa.sa_family == AF_INET) {
		memcpy(addr, &a->in.sin_addr, 4);
		*port = ntohs(a->in.sin_port);
	} else {
		memcpy(addr, &a->in6.sin6_addr, 16);
		*port = ntohs(a->in6.sin6_port);
	}
}

static void sock_wake_work(struct sock *sk)
{
	struct delayed_work *work;

	read_lock_bh(&sk->sk_callback_lock);
	work = sk->sk_user_data;
	if (work)
		mod_delayed_work(kr_hello_wq, work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void sock_set_work(struct socket *sock, struct delayed_work *work)
{
	struct sock *sk = sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = work;
	sk->sk_data_ready = sock_wake_work;
	sk->sk_error_report = sock_wake_work;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void sock_forget_work(struct socket *sock)
{
	struct sock *sk = sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
}

static int sock_make(struct net *net, u8 family, struct socket **sock)
{
	if (family == 6 && !ipv6_mod_enabled())
		return -EAFNOSUPPORT;
	return sock_create_kern(net, family == 4 ? AF_INET : AF_INET6,
				SOCK_DGRAM, IPPROTO_UDP, sock);
}

/* The address that routing chose for a connected socket. */
static int question_source(struct kr_question *q)
{
	union hello_addr a;
	u16 port;
	int err;

	err = kernel_getsockname(q->sock, &a.sa);
	if (err < 0)
		return err;
	addr_get(&a, q->hello.saddr, &port);
	return 0;
}

static int question_connect(struct kr_question *q, const u8 saddr[16])
{
	u8 family = q->hello.family;
	union hello_addr a;
	int len, err;

	if (!kr_addr_is_any(family, saddr)) {
		len = addr_set(&a, family, saddr, 0);
		err = kernel_bind(q->sock, &a.sa, len);
		if (err)
			return err;
	}
	len = addr_set(&a, family, q->hello.daddr, KRCORE_HELLO_PORT);
	err = kernel_connect(q->sock, &a.sa, len, 0);
	if (err)
		return err;
	return question_source(q);
}

int kr_question_open(struct kr_question *q, struct net *net, u8 family,
		     const u8 saddr[16], const u8 daddr[16],
		     struct delayed_work *work)
{
	int err;

	memset(&q->hello, 0, sizeof(q->hello));
	q->hello.op = KR_HELLO_ASK;
	q->hello.family = family;
	memcpy(q->hello.daddr, daddr, kr_addr_len(family));
	memcpy(q->hello.instance, kr_instance, sizeof(kr_instance));
	get_random_bytes(&q->hello.nonce, sizeof(q->hello.nonce));
	err = sock_make(net, family, &q->sock);
	if (err) {
		q->sock = NULL;
		return err;
	}
	err = question_connect(q, saddr);
	if (err)
		goto err_close;
	sock_set_work(q->sock, work);
	kr_wire_put_hello(q->bytes, &q->hello);
	kr_question_restart(q);
	return 0;

err_close:
	kr_question_close(q);
	return err;
}

void kr_question_restart(struct kr_question *q)
{
	q->started = jiffies;
	q->nr_sent = 0;
}

static unsigned long late_jiffies(void)
{
	return kr_grace_jiffies() + msecs_to_jiffies(KR_HELLO_LATE_MS);
}

static unsigned long send_after(unsigned int i)
{
	return nsecs_to_jiffies(kr_discovery_send_ns(i));
}

bool kr_question_is_late(const struct kr_question *q)
{
	return jiffies - q->started >= kr_grace_jiffies();
}

unsigned long kr_question_next(const struct kr_question *q)
{
	unsigned long passed = jiffies - q->started;
	unsigned long next = late_jiffies();

	if (passed < kr_grace_jiffies())
		next = kr_grace_jiffies();
	if (q->nr_sent < KR_HELLO_SENDS)
		next = min(next, send_after(q->nr_sent));
	return next > passed ? next - passed : 0;
}

/* Return: 0, or -errno: then the answer is no. */
static int question_send(struct kr_question *q)
{
	struct kvec vec = { .iov_base = q->bytes, .iov_len = KR_HELLO_LEN };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	int ret;

	ret = kernel_sendmsg(q->sock, &msg, &vec, 1, KR_HELLO_LEN);
	kr_stat_inc(KR_STAT_hello_asked);
	/* Short of memory or room is like a lost packet: it is sent again. */
	if (ret >= 0 || ret == -EAGAIN || ret == -ENOBUFS || ret == -ENOMEM)
		return 0;
	return ret;
}

static int question_receive(struct kr_question *q, struct kr_hello *answer)
{
	u8 bytes[KR_HELLO_LEN + 1];
	struct kvec vec = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	int i, len, err;

	for (i = 0; i < KR_HELLO_BATCH; i++) {
		struct msghdr msg = { };

		len = kernel_recvmsg(q->sock, &msg, &vec, 1, sizeof(bytes), MSG_DONTWAIT);
		if (len < 0)
			return len;
		err = kr_discovery_read(bytes, len, &q->hello, answer);
		if (!err)
			kr_stat_inc(KR_STAT_hello_answered);
		if (err != -EAGAIN)
			return err;
		kr_stat_inc(KR_STAT_hello_dropped);
	}
	return -EAGAIN;
}

/* However many copies are due, one goes out.  Return: -EAGAIN, or as for run. */
static int question_send_due(struct kr_question *q)
{
	unsigned long passed = jiffies - q->started;
	bool is_due = false;

	while (q->nr_sent < KR_HELLO_SENDS && passed >= send_after(q->nr_sent)) {
		q->nr_sent++;
		is_due = true;
	}
	if (passed >= late_jiffies())
		return -ETIMEDOUT;
	return is_due ? question_send(q) ?: -EAGAIN : -EAGAIN;
}

int kr_question_run(struct kr_question *q, struct kr_hello *answer)
{
	int err = question_receive(q, answer);

	return err == -EAGAIN ? question_send_due(q) : err;
}

void kr_question_close(struct kr_question *q)
{
	if (!q->sock)
		return;
	sock_forget_work(q->sock);
	sock_release(q->sock);
	q->sock = NULL;
}

/* The one control message that we ask for or send. */
struct pktinfo {
	struct cmsghdr hdr;
	union {
		struct in_pktinfo v4;
		struct in6_pktinfo v6;
	};
};

static_assert(offsetof(struct pktinfo, v4) == CMSG_LEN(0));
static_assert(sizeof(struct pktinfo) == CMSG_SPACE(sizeof(struct in6_pktinfo)));

static bool pktinfo_get(const struct pktinfo *info, struct heard *h)
{
	memset(h->to, 0, sizeof(h->to));
	h->ifindex = 0;
	if (info->hdr.cmsg_level == SOL_IP && info->hdr.cmsg_type == IP_PKTINFO) {
		memcpy(h->to, &info->v4.ipi_addr, 4);
		return true;
	}
	if (info->hdr.cmsg_level == SOL_IPV6 && info->hdr.cmsg_type == IPV6_PKTINFO) {
		memcpy(h->to, &info->v6.ipi6_addr, 16);
		/* The interface names a scope; a global address follows routing. */
		if (ipv6_addr_type(&info->v6.ipi6_addr) & IPV6_ADDR_LINKLOCAL)
			h->ifindex = info->v6.ipi6_ifindex;
		return true;
	}
	return false;
}

/* Return: the length of the control message. */
static size_t pktinfo_set(struct pktinfo *info, u8 family, const struct heard *h)
{
	memset(info, 0, sizeof(*info));
	if (family == 4) {
		info->hdr.cmsg_level = SOL_IP;
		info->hdr.cmsg_type = IP_PKTINFO;
		info->hdr.cmsg_len = CMSG_LEN(sizeof(info->v4));
		memcpy(&info->v4.ipi_spec_dst, h->to, 4);
		return CMSG_SPACE(sizeof(info->v4));
	}
	info->hdr.cmsg_level = SOL_IPV6;
	info->hdr.cmsg_type = IPV6_PKTINFO;
	info->hdr.cmsg_len = CMSG_LEN(sizeof(info->v6));
	memcpy(&info->v6.ipi6_addr, h->to, 16);
	info->v6.ipi6_ifindex = h->ifindex;
	return CMSG_SPACE(sizeof(info->v6));
}

/* Return: 1 with a datagram, 0 when there is none, -errno of an old send. */
static int answerer_receive(struct kr_answerer *a, struct heard *h)
{
	struct kvec vec = { .iov_base = h->bytes, .iov_len = sizeof(h->bytes) };
	struct pktinfo info = { };
	struct msghdr msg = {
		.msg_name = &h->from,
		.msg_control = &info,
		.msg_controllen = sizeof(info),
	};

	h->len = kernel_recvmsg(a->sock, &msg, &vec, 1, sizeof(h->bytes), MSG_DONTWAIT);
	if (h->len == -EAGAIN)
		return 0;
	if (h->len < 0)
		return h->len;
	if (msg.msg_namelen == 0 || !pktinfo_get(&info, h))
		h->len = 0;
	return 1;
}

static void answerer_send(struct kr_answerer *a, struct heard *h, const struct kr_hello *answer)
{
	u8 bytes[KR_HELLO_LEN];
	struct kvec vec = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct pktinfo info;
	struct msghdr msg = {
		.msg_name = &h->from,
		.msg_namelen = a->family == 4 ? sizeof(h->from.in) : sizeof(h->from.in6),
		.msg_control = &info,
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
	};

	msg.msg_controllen = pktinfo_set(&info, a->family, h);
	kr_wire_put_hello(bytes, answer);
	if (kernel_sendmsg(a->sock, &msg, &vec, 1, sizeof(bytes)) >= 0)
		kr_stat_inc(KR_STAT_hello_sent_answers);
}

/* A datagram to one of our own addresses, not to a group of hosts. */
static bool is_to_us(const struct kr_answerer *a, const struct heard *h)
{
	struct in6_addr to6;

	if (a->family == 4)
		return inet_addr_type(a->ns->net, kr_addr_v4(h->to)) == RTN_LOCAL;
	to6 = kr_addr_v6(h->to);
	return !ipv6_addr_is_multicast(&to6);
}

static void answer_one(struct kr_answerer *a, struct heard *h)
{
	struct kr_hello ask, answer;
	enum kr_heard heard;
	u8 from[16];
	u16 port;

	addr_get(&h->from, from, &port);
	heard = kr_discovery_hear(h->bytes, h->len, a->family, port, &ask);
	if (heard == KR_HEARD_NOTHING || !is_to_us(a, h)) {
		kr_stat_inc(KR_STAT_hello_dropped);
		return;
	}
	if (heard == KR_HEARD_OTHER_VERSION) {
		kr_discovery_tell_version(&answer, a->family, kr_instance);
		answerer_send(a, h, &answer);
		return;
	}
	kr_discovery_answer(&answer, &ask, kr_instance, from, h->to);
	answer.cookie = kr_netns_cookie(a->ns, a->family, from, h->to);
	answer.token = kr_host_token(ask.instance);
	answer.nr_ends = kr_dev_ends(answer.ends, KR_HELLO_ENDS);
	answerer_send(a, h, &answer);
	kr_peer_heard(a->ns->net, a->family, from, ask.instance);
}

static bool is_over_rate(struct kr_answerer *a)
{
	if (time_after_eq(jiffies, a->window + HZ)) {
		a->window = jiffies;
		a->nr_heard = 0;
	}
	return a->nr_heard++ >= KR_HELLO_RATE;
}

static void answerer_work(struct work_struct *work)
{
	struct kr_answerer *a = container_of(work, struct kr_answerer, work.work);
	struct heard h;
	int i, ret;

	for (i = 0; i < KR_HELLO_BATCH; i++) {
		ret = answerer_receive(a, &h);
		if (!ret)
			return;
		if (ret < 0)
			continue;
		if (is_over_rate(a))
			kr_stat_inc(KR_STAT_hello_dropped);
		else
			answer_one(a, &h);
	}
	queue_delayed_work(kr_hello_wq, &a->work, 0);
}

static int answerer_bind(struct kr_answerer *a)
{
	const u8 any[16] = { };
	union hello_addr addr;
	int len;

	if (a->family == 4) {
		ip_sock_set_pktinfo(a->sock->sk);
	} else {
		ip6_sock_set_v6only(a->sock->sk);
		ip6_sock_set_recvpktinfo(a->sock->sk);
	}
	len = addr_set(&addr, a->family, any, KRCORE_HELLO_PORT);
	return kernel_bind(a->sock, &addr.sa, len);
}

/* Opening, in a worker; then the work becomes that of answering. */
static void answerer_open_work(struct work_struct *work)
{
	struct kr_answerer *a = container_of(work, struct kr_answerer, work.work);

	a->err = sock_make(a->ns->net, a->family, &a->sock);
	if (a->err) {
		a->sock = NULL;
		return;
	}
	a->err = answerer_bind(a);
	if (a->err) {
		sock_release(a->sock);
		a->sock = NULL;
	}
}

void kr_answerer_open(struct kr_answerer *a, struct kr_netns *ns, u8 family)
{
	a->ns = ns;
	a->family = family;
	a->window = jiffies;
	INIT_DELAYED_WORK(&a->work, answerer_open_work);
	queue_delayed_work(kr_hello_wq, &a->work, 0);
	flush_delayed_work(&a->work);
	INIT_DELAYED_WORK(&a->work, answerer_work);
	if (!a->sock)
		return;
	sock_set_work(a->sock, &a->work);
	/* What came between bind and now woke nobody. */
	queue_delayed_work(kr_hello_wq, &a->work, 0);
}

void kr_answerer_close(struct kr_answerer *a)
{
	if (!a->sock)
		return;
	sock_forget_work(a->sock);
	cancel_delayed_work_sync(&a->work);
	sock_release(a->sock);
	a->sock = NULL;
}

int kr_hello_init(void)
{
	kr_hello_wq = alloc_workqueue("krcore_hello", WQ_UNBOUND | WQ_HIGHPRI, 0);
	return kr_hello_wq ? 0 : -ENOMEM;
}

void kr_hello_exit(void)
{
	/* A callback may be about to look at its lock: it runs in softirq, under RCU. */
	synchronize_net();
	destroy_workqueue(kr_hello_wq);
}
