// SPDX-License-Identifier: GPL-2.0
/*
 * Destinations as addresses and routes see them, and the module parameter
 * "prefixes": where a connect may wait for the hello although a router is between.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include "hello.h"
#include "reach.h"

enum {
	PREFIXES_MAX = 32,
	PREFIXES_TEXT_MAX = 1024,
};

struct prefix {
	u8 family;			/* 4 or 6 */
	u8 len;				/* bits */
	u8 addr[16];
};

struct prefix_list {
	struct rcu_head rcu;
	bool is_all;
	int nr;
	struct prefix item[PREFIXES_MAX];
	char text[PREFIXES_TEXT_MAX];	/* as written */
};

/* RCU; replaced under kernel_param_lock, freed with the last reader. */
static struct prefix_list __rcu *prefix_list;

static enum kr_reason refuse4(struct net *net, __be32 daddr)
{
	if (ipv4_is_loopback(daddr) || ipv4_is_zeronet(daddr))
		return KR_REASON_SELF;
	switch (inet_addr_type(net, daddr)) {
	case RTN_LOCAL:
		return KR_REASON_SELF;
	case RTN_BROADCAST:
	case RTN_MULTICAST:
		return KR_REASON_POLICY;
	default:
		return KR_REASON_NONE;
	}
}

static enum kr_reason refuse6(struct net *net, const struct in6_addr *daddr)
{
	int type = ipv6_addr_type(daddr);

	if (!ipv6_mod_enabled())
		return KR_REASON_POLICY;
	if (type == IPV6_ADDR_ANY || (type & IPV6_ADDR_LOOPBACK) ||
	    ipv6_chk_addr(net, daddr, NULL, 0))
		return KR_REASON_SELF;
	/* A tuple has no scope, so a link-local address names nobody. */
	if (type & (IPV6_ADDR_MULTICAST | IPV6_ADDR_LINKLOCAL | IPV6_ADDR_MAPPED))
		return KR_REASON_POLICY;
	return KR_REASON_NONE;
}

enum kr_reason kr_reach_refuse(struct net *net, u8 family, const u8 daddr[16])
{
	struct in6_addr daddr6;

	if (family == 4)
		return refuse4(net, kr_addr_v4(daddr));
	daddr6 = kr_addr_v6(daddr);
	return refuse6(net, &daddr6);
}

static bool has_prefix(const struct prefix *p, const u8 *addr)
{
	int bytes = p->len / 8, bits = p->len % 8;

	if (memcmp(p->addr, addr, bytes))
		return false;
	return !bits || !((p->addr[bytes] ^ addr[bytes]) >> (8 - bits));
}

static bool is_configured(u8 family, const u8 daddr[16])
{
	const struct prefix_list *list;
	bool is_found = false;
	int i;

	rcu_read_lock();
	list = rcu_dereference(prefix_list);
	if (list) {
		is_found = list->is_all;
		for (i = 0; i < list->nr && !is_found; i++)
			is_found = list->item[i].family == family &&
				   has_prefix(&list->item[i], daddr);
	}
	rcu_read_unlock();
	return is_found;
}

static bool is_onlink4(struct net *net, const u8 saddr[16], const u8 daddr[16])
{
	struct flowi4 fl4 = {
		.saddr = kr_addr_v4(saddr),
		.daddr = kr_addr_v4(daddr),
		.flowi4_proto = IPPROTO_TCP,
	};
	struct rtable *rt = ip_route_output_key(net, &fl4);
	bool is_onlink;

	if (IS_ERR(rt))
		return false;
	is_onlink = rt->rt_type == RTN_UNICAST && !rt->rt_gw_family;
	ip_rt_put(rt);
	return is_onlink;
}

static bool is_onlink6(struct net *net, const u8 saddr[16], const u8 daddr[16])
{
	struct flowi6 fl6 = {
		.saddr = kr_addr_v6(saddr),
		.daddr = kr_addr_v6(daddr),
		.flowi6_proto = IPPROTO_TCP,
	};
	struct dst_entry *dst;
	bool is_onlink;

	if (!ipv6_mod_enabled())
		return false;
	dst = ip6_route_output(net, NULL, &fl6);
	is_onlink = !dst->error &&
		    !(container_of(dst, struct rt6_info, dst)->rt6i_flags & RTF_GATEWAY);
	dst_release(dst);
	return is_onlink;
}

bool kr_reach_is_near(struct net *net, u8 family, const u8 saddr[16],
		      const u8 daddr[16])
{
	if (is_configured(family, daddr))
		return true;
	return family == 4 ? is_onlink4(net, saddr, daddr) :
			     is_onlink6(net, saddr, daddr);
}

/* One ADDRESS[/BITS] of the list. */
static int prefix_parse(struct prefix *p, char *text)
{
	char *bits = strchr(text, '/');
	unsigned int len;
	int err;

	if (bits)
		*bits++ = '\0';
	memset(p, 0, sizeof(*p));
	if (in4_pton(text, -1, p->addr, -1, NULL))
		p->family = 4;
	else if (in6_pton(text, -1, p->addr, -1, NULL))
		p->family = 6;
	else
		return -EINVAL;
	len = kr_addr_len(p->family) * 8;
	if (bits) {
		err = kstrtouint(bits, 10, &len);
		if (err || len > kr_addr_len(p->family) * 8)
			return -EINVAL;
	}
	p->len = len;
	return 0;
}

static int prefix_list_parse(struct prefix_list *list, char *text)
{
	char *word;
	int err;

	while ((word = strsep(&text, ", \n"))) {
		if (!*word)
			continue;
		if (!strcmp(word, "all")) {
			list->is_all = true;
			continue;
		}
		if (list->nr == PREFIXES_MAX)
			return -E2BIG;
		err = prefix_parse(&list->item[list->nr], word);
		if (err)
			return err;
		list->nr++;
	}
	return 0;
}

static int prefixes_set(const char *text, const struct kernel_param *param)
{
	struct prefix_list *list, *old;
	char *words;
	int err;

	if (strlen(text) >= PREFIXES_TEXT_MAX)
		return -E2BIG;
	list = kzalloc(sizeof(*list), GFP_KERNEL);
	words = kstrdup(text, GFP_KERNEL);
	err = list && words ? prefix_list_parse(list, words) : -ENOMEM;
	kfree(words);
	if (err) {
		kfree(list);
		return err;
	}
	strscpy(list->text, text, sizeof(list->text));
	strim(list->text);
	/* Writers are serialised by kernel_param_lock. */
	old = rcu_replace_pointer(prefix_list, list, true);
	kfree_rcu(old, rcu);
	return 0;
}

static int prefixes_get(char *text, const struct kernel_param *param)
{
	const struct prefix_list *list = rcu_dereference_protected(prefix_list, true);

	return sysfs_emit(text, "%s\n", list ? list->text : "");
}

/* The parameter goes: at unload, or when loading failed. */
static void prefixes_free(void *arg)
{
	kfree(rcu_replace_pointer(prefix_list, NULL, true));
}

static const struct kernel_param_ops prefixes_ops = {
	.set = prefixes_set,
	.get = prefixes_get,
	.free = prefixes_free,
};

module_param_cb(prefixes, &prefixes_ops, NULL, 0644);
MODULE_PARM_DESC(prefixes,
	"Off-link destinations where a connect may wait for the hello: "
	"ADDRESS/BITS, comma separated, or \"all\"");
