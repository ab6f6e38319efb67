// SPDX-License-Identifier: GPL-2.0
/*
 * Answers krcorectl(8): connections, counters, hosts, devices and carriers over
 * generic netlink, as include/krcore/uapi.h says.  Owns the family and nothing else;
 * what is shown comes from sock.c, host.c, dev.c, carrier.c and stats.c.
 *
 * Requests run in the caller's context, side by side, holding no lock that
 * another socket's wait for, so that sources may sleep.  A dump keeps one
 * cursor; an object that does not fit into a message any more is looked up
 * again for the next one.  A dump that is not read to its end holds the module.
 */
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/user_namespace.h>
#include <net/genetlink.h>
#include <net/sock.h>
#include "carrier.h"
#include "dev.h"
#include "netlink.h"

static struct genl_family family;

/* A member of a struct that goes out as an attribute, as it is. */
struct field {
	u16 attr;
	u16 len;
	u16 offset;
};

#define FIELD(attr, type, member) \
	{ attr, sizeof_field(type, member), offsetof(type, member) }

#define CONN(attr, member) \
	FIELD(KRCORE_CONN_A_##attr, struct kr_conn_info, member)
static const struct field conn_fields[] = {
	CONN(STATE, state), CONN(CARRIER, carrier), CONN(ROLE, role),
	CONN(SPORT, sport), CONN(DPORT, dport),
	CONN(TX_RDMA, tx_rdma), CONN(RX_RDMA, rx_rdma),
	CONN(TX_TCP, tx_tcp), CONN(RX_TCP, rx_tcp),
	CONN(TX_LOCAL, tx_local), CONN(RX_LOCAL, rx_local),
	CONN(RX_QUEUE, rx_queue), CONN(TX_QUEUE, tx_queue),
	CONN(AGE_MS, age_ms),
};

/* Those of a host, and those that it has with a path only. */
#define HOST(attr, member) \
	FIELD(KRCORE_HOST_A_##attr, struct kr_host_info, member)
static const struct field host_fields[] = {
	HOST(INSTANCE, instance), HOST(VQPS, nr_vqps),
	HOST(SRTT_US, srtt_us), HOST(RTTVAR_US, rttvar_us),
	HOST(CWND, cwnd), HOST(INFLIGHT, inflight),
	HOST(TX_PACKETS, tx_packets), HOST(TX_BYTES, tx_bytes),
	HOST(RX_PACKETS, rx_packets), HOST(RX_BYTES, rx_bytes),
	HOST(LOST, lost), HOST(SPURIOUS, spurious), HOST(PTO, pto),
	HOST(DUP, dup), HOST(MALFORMED, malformed), HOST(REFUSED, refused),
	HOST(UNKNOWN, unknown), HOST(LANES, nr_lanes),
};

static const struct field path_fields[] = {
	HOST(LOCAL_GID, local_gid), HOST(REMOTE_GID, remote_gid),
	HOST(LOCAL_QPN, local_qpn), HOST(REMOTE_QPN, remote_qpn),
	HOST(MTU, mtu),
};

#define DEV(attr, member) \
	FIELD(KRCORE_DEV_A_##attr, struct kr_dev_stats, member)
static const struct field dev_fields[] = {
	DEV(QPN, qpn), DEV(MTU, mtu),
	DEV(TX_PACKETS, tx_packets), DEV(TX_BYTES, tx_bytes),
	DEV(RX_PACKETS, rx_packets), DEV(RX_BYTES, rx_bytes),
	DEV(TX_NO_SLOT, tx_no_slot), DEV(RX_ERRORS, rx_errors),
	DEV(QP_REBUILT, qp_rebuilt),
};

/* A carrier between hosts; its names and QPNs are put one by one. */
#define QP(attr, member) \
	FIELD(KRCORE_QP_A_##attr, struct kr_carrier_info, member)
static const struct field qp_fields[] = {
	QP(HOST, host_id_prefix), QP(ASKED, is_asked), QP(VQPS, nr_vqps),
	QP(CREDITS, credits), QP(INFLIGHT, inflight),
	QP(TX_BYTES, tx_bytes), QP(RX_BYTES, rx_bytes),
	QP(AGE_MS, age_ms), QP(IDLE_MS, idle_ms), QP(DOUBTS, nr_doubts),
};

/* Every family's padding attribute has this number, for alignment of u64. */
#define PAD KRCORE_CONN_A_PAD
static_assert(KRCORE_CONN_A_PAD == 1 && KRCORE_HOST_A_PAD == 1 &&
	      KRCORE_DEV_A_PAD == 1 && KRCORE_QP_A_PAD == 1 &&
	      KRCORE_COUNTER_A_PAD == 1 && KRCORE_FALLBACK_A_PAD == 1);

static int put_fields(struct sk_buff *skb, const void *from,
		      const struct field *fields, unsigned int nr)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		const struct field *f = &fields[i];
		const void *value = from + f->offset;

		if (f->len == sizeof(u64))
			err = nla_put_64bit(skb, f->attr, f->len, value, PAD);
		else
			err = nla_put(skb, f->attr, f->len, value);
	}
	return err;
}

static int put_conn_who(struct sk_buff *skb, const struct kr_conn_info *info,
			struct user_namespace *user_ns)
{
	kuid_t uid = make_kuid(&init_user_ns, info->uid);
	int len = info->family == 4 ? 4 : 16;

	if (nla_put_u16(skb, KRCORE_CONN_A_FAMILY,
			info->family == 4 ? AF_INET : AF_INET6) ||
	    nla_put(skb, KRCORE_CONN_A_SADDR, len, info->saddr) ||
	    nla_put(skb, KRCORE_CONN_A_DADDR, len, info->daddr) ||
	    nla_put_u32(skb, KRCORE_CONN_A_UID, from_kuid_munged(user_ns, uid)))
		return -EMSGSIZE;
	return 0;
}

/* What not every connection has. */
static int put_conn_maybe(struct sk_buff *skb, const struct kr_conn_info *info)
{
	if ((info->reason != KR_REASON_NONE &&
	     nla_put_string(skb, KRCORE_CONN_A_REASON,
			    kr_reason_token(info->reason))) ||
	    (info->vqp_id &&
	     nla_put_u64_64bit(skb, KRCORE_CONN_A_VQP, info->vqp_id, PAD)) ||
	    (info->host_id_prefix &&
	     nla_put_u64_64bit(skb, KRCORE_CONN_A_HOST, info->host_id_prefix,
			       PAD)) ||
	    (info->inode &&
	     nla_put_u64_64bit(skb, KRCORE_CONN_A_INODE, info->inode, PAD)))
		return -EMSGSIZE;
	return 0;
}

/* What a dump works on: its place, and the object at hand. */
struct dump {
	u64 cursor;
	struct sk_buff *skb;
	struct netlink_callback *cb;
	union {
		struct kr_conn_info conn;
		struct kr_host_info host;
		struct kr_dev_stats dev;
		struct kr_carrier_info qp;
	} is;
};

/* A kind of object: the next one, and how it is put into a message. */
struct dump_kind {
	u8 cmd;
	bool (*next)(struct dump *d);
	int (*put)(struct dump *d);
};

static struct net *dump_net(const struct dump *d)
{
	return sock_net(d->skb->sk);
}

static bool next_conn(struct dump *d)
{
	while (kr_sock_info_get(dump_net(d), &d->cursor, &d->is.conn))
		if (d->is.conn.family)
			return true;
	return false;
}

static int put_conn(struct dump *d)
{
	struct user_namespace *user_ns = sk_user_ns(NETLINK_CB(d->cb->skb).sk);
	int err;

	err = put_conn_who(d->skb, &d->is.conn, user_ns);
	if (!err)
		err = put_fields(d->skb, &d->is.conn, conn_fields,
				 ARRAY_SIZE(conn_fields));
	return err ?: put_conn_maybe(d->skb, &d->is.conn);
}

static bool next_host(struct dump *d)
{
	return net_eq(dump_net(d), &init_net) &&
	       kr_host_info_get(&d->cursor, &d->is.host);
}

static int put_host(struct dump *d)
{
	int err;

	err = put_fields(d->skb, &d->is.host, host_fields, ARRAY_SIZE(host_fields));
	if (!err)
		err = nla_put_string(d->skb, KRCORE_HOST_A_PATH,
				     kr_path_state_name(d->is.host.path));
	if (err || !d->is.host.dev_name[0])
		return err;
	err = nla_put_string(d->skb, KRCORE_HOST_A_DEV, d->is.host.dev_name);
	return err ?: put_fields(d->skb, &d->is.host, path_fields,
				 ARRAY_SIZE(path_fields));
}

static bool next_dev(struct dump *d)
{
	return net_eq(dump_net(d), &init_net) &&
	       kr_dev_stats_get(d->cursor++, &d->is.dev);
}

static int put_dev(struct dump *d)
{
	int err = nla_put_string(d->skb, KRCORE_DEV_A_NAME, d->is.dev.name);

	return err ?: put_fields(d->skb, &d->is.dev, dev_fields,
				 ARRAY_SIZE(dev_fields));
}

static bool next_qp(struct dump *d)
{
	return net_eq(dump_net(d), &init_net) &&
	       kr_carrier_info_get(&d->cursor, &d->is.qp);
}

/* What not every carrier has. */
static int put_qp_maybe(struct sk_buff *skb, const struct kr_carrier_info *info)
{
	if ((info->dev_name[0] &&
	     nla_put_string(skb, KRCORE_QP_A_DEV, info->dev_name)) ||
	    (info->local_qpn &&
	     nla_put_u32(skb, KRCORE_QP_A_LOCAL_QPN, info->local_qpn)) ||
	    (info->remote_qpn &&
	     nla_put_u32(skb, KRCORE_QP_A_REMOTE_QPN, info->remote_qpn)))
		return -EMSGSIZE;
	return 0;
}

static int put_qp(struct dump *d)
{
	const struct kr_carrier_info *info = &d->is.qp;

	if (nla_put_string(d->skb, KRCORE_QP_A_KIND, info->kind) ||
	    nla_put_string(d->skb, KRCORE_QP_A_STATE, info->state) ||
	    put_fields(d->skb, info, qp_fields, ARRAY_SIZE(qp_fields)))
		return -EMSGSIZE;
	return put_qp_maybe(d->skb, info);
}

static const struct dump_kind conn_kind = {
	.cmd = KRCORE_CMD_GET_CONNS, .next = next_conn, .put = put_conn,
};

static const struct dump_kind host_kind = {
	.cmd = KRCORE_CMD_GET_HOSTS, .next = next_host, .put = put_host,
};

static const struct dump_kind dev_kind = {
	.cmd = KRCORE_CMD_GET_DEVS, .next = next_dev, .put = put_dev,
};

static const struct dump_kind qp_kind = {
	.cmd = KRCORE_CMD_GET_QPS, .next = next_qp, .put = put_qp,
};

static int put_message(struct dump *d, const struct dump_kind *kind)
{
	void *hdr;
	int err;

	hdr = genlmsg_put(d->skb, NETLINK_CB(d->cb->skb).portid,
			  d->cb->nlh->nlmsg_seq, &family, NLM_F_MULTI, kind->cmd);
	if (!hdr)
		return -EMSGSIZE;
	err = kind->put(d);
	if (err)
		genlmsg_cancel(d->skb, hdr);
	else
		genlmsg_end(d->skb, hdr);
	return err;
}

/* One part of a dump: as many objects as fit into @skb. */
static int dump_some(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct dump_kind *kind)
{
	u64 *cursor = (u64 *)cb->ctx;
	struct dump d = { .cursor = *cursor, .skb = skb, .cb = cb };
	int err;

	BUILD_BUG_ON(sizeof(*cursor) > sizeof(cb->ctx));
	for (;;) {
		memset(&d.is, 0, sizeof(d.is));
		if (!kind->next(&d))
			return skb->len;
		err = put_message(&d, kind);
		if (err)
			return skb->len ? skb->len : err;
		*cursor = d.cursor;
	}
}

static int get_conns(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_some(skb, cb, &conn_kind);
}

static int get_hosts(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_some(skb, cb, &host_kind);
}

static int get_devs(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_some(skb, cb, &dev_kind);
}

static int get_qps(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_some(skb, cb, &qp_kind);
}

/* The type of each nest in a list. */
enum { LIST_ITEM = 1 };

static int put_counter(struct sk_buff *skb, enum kr_stat stat)
{
	struct nlattr *nest = nla_nest_start(skb, LIST_ITEM);

	if (!nest ||
	    nla_put_string(skb, KRCORE_COUNTER_A_NAME, kr_stat_name(stat)) ||
	    nla_put_u64_64bit(skb, KRCORE_COUNTER_A_VALUE,
			      atomic64_read(&kr_stats[stat]), PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_fallback(struct sk_buff *skb, enum kr_reason reason)
{
	struct nlattr *nest = nla_nest_start(skb, LIST_ITEM);

	if (!nest ||
	    nla_put_string(skb, KRCORE_FALLBACK_A_TOKEN, kr_reason_token(reason)) ||
	    nla_put_string(skb, KRCORE_FALLBACK_A_TEXT, kr_reason_name(reason)) ||
	    nla_put_u64_64bit(skb, KRCORE_FALLBACK_A_COUNT,
			      atomic64_read(&kr_fallbacks[reason]), PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_counters(struct sk_buff *skb)
{
	struct nlattr *list = nla_nest_start(skb, KRCORE_STATS_A_COUNTERS);
	int err = list ? 0 : -EMSGSIZE;
	int i;

	for (i = 0; i < KR_STAT_NR && !err; i++)
		err = put_counter(skb, i);
	if (!err)
		nla_nest_end(skb, list);
	return err;
}

static int put_fallbacks(struct sk_buff *skb)
{
	struct nlattr *list = nla_nest_start(skb, KRCORE_STATS_A_FALLBACKS);
	int err = list ? 0 : -EMSGSIZE;
	int i;

	for (i = KR_REASON_NONE + 1; i < KR_REASON_NR && !err; i++)
		err = put_fallback(skb, i);
	if (!err)
		nla_nest_end(skb, list);
	return err;
}

static int put_stats(struct sk_buff *skb)
{
	int err = nla_put_string(skb, KRCORE_STATS_A_VERSION, KRCORE_VERSION);

	if (!err)
		err = put_counters(skb);
	return err ?: put_fallbacks(skb);
}

/* Room for a counter or a reason; names are shorter than half of it. */
enum { STATS_ITEM_LEN = 192 };

static int get_stats(struct sk_buff *request, struct genl_info *info)
{
	struct sk_buff *skb;
	void *hdr;
	int err;

	skb = genlmsg_new((KR_STAT_NR + KR_REASON_NR + 1) * STATS_ITEM_LEN,
			  GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	hdr = genlmsg_put_reply(skb, info, &family, 0, KRCORE_CMD_GET_STATS);
	err = hdr ? put_stats(skb) : -EMSGSIZE;
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

static const struct genl_small_ops ops[] = {
	{ .cmd = KRCORE_CMD_GET_CONNS, .dumpit = get_conns },
	{ .cmd = KRCORE_CMD_GET_STATS, .doit = get_stats },
	{ .cmd = KRCORE_CMD_GET_HOSTS, .dumpit = get_hosts },
	{ .cmd = KRCORE_CMD_GET_DEVS, .dumpit = get_devs },
	{ .cmd = KRCORE_CMD_GET_QPS, .dumpit = get_qps },
};

static struct genl_family family __ro_after_init = {
	.name = KRCORE_GENL_NAME,
	.version = KRCORE_GENL_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.small_ops = ops,
	.n_small_ops = ARRAY_SIZE(ops),
};

/**
 * kr_netlink_init() - offer the family
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int kr_netlink_init(void)
{
	return genl_register_family(&family);
}

/**
 * kr_netlink_exit() - take the family away
 * Context: may sleep; on return no request runs or comes any more.
 */
void kr_netlink_exit(void)
{
	genl_unregister_family(&family);
}
