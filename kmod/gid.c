// SPDX-License-Identifier: GPL-2.0
/*
 * GIDs of RoCE ports.  The table of a port is filled by the RDMA core, some
 * time after an address is configured; so it is read when it is needed and
 * nothing is remembered here.
 */
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/ipv6_stubs.h>
#include <net/route.h>
#include <rdma/ib_cache.h>
#include "gid.h"

/**
 * kr_gid_class() - what kind of address a GID is
 * @gid: the GID
 *
 * Context: any.
 * Return: the class; KR_GID_NONE for one that is no unicast address.
 */
enum kr_gid_class kr_gid_class(const u8 gid[16])
{
	struct in6_addr a;
	int type;

	memcpy(&a, gid, sizeof(a));
	if (ipv6_addr_v4mapped(&a))
		return a.s6_addr32[3] && !ipv4_is_multicast(a.s6_addr32[3]) &&
		       !ipv4_is_lbcast(a.s6_addr32[3]) ?
			KR_GID_IPV4 : KR_GID_NONE;
	type = ipv6_addr_type(&a);
	if (type == IPV6_ADDR_ANY || type & IPV6_ADDR_MULTICAST ||
	    type & IPV6_ADDR_LOOPBACK)
		return KR_GID_NONE;
	return type & IPV6_ADDR_LINKLOCAL ? KR_GID_LINK : KR_GID_IPV6;
}

/**
 * kr_gid_next() - walk the usable GIDs of a port
 * @ibdev: the device
 * @port: its port
 * @class: which GIDs
 * @index: where to go on; 0 at first
 * @gid: the GID found
 *
 * Context: any.
 * Return: false when there is no further one.
 */
bool kr_gid_next(struct ib_device *ibdev, u32 port, enum kr_gid_class class,
		 int *index, u8 gid[16])
{
	int nr = ibdev->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	bool is_found;

	while (*index < nr) {
		attr = rdma_get_gid_attr(ibdev, port, (*index)++);
		if (IS_ERR(attr))
			continue;
		is_found = attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
			   kr_gid_class(attr->gid.raw) == class;
		if (is_found)
			memcpy(gid, attr->gid.raw, 16);
		rdma_put_gid_attr(attr);
		if (is_found)
			return true;
	}
	return false;
}

static bool source_ipv4(__be32 daddr, u8 gid[16])
{
	struct flowi4 fl = { .daddr = daddr };
	struct in6_addr mapped;
	struct rtable *rt;

	rt = ip_route_output_key(&init_net, &fl);
	if (IS_ERR(rt))
		return false;
	ip_rt_put(rt);
	ipv6_addr_set_v4mapped(fl.saddr, &mapped);
	memcpy(gid, &mapped, 16);
	return true;
}

static bool source_ipv6(const struct in6_addr *daddr, u8 gid[16])
{
	struct flowi6 fl = { .daddr = *daddr };
	struct dst_entry *dst;

	dst = ipv6_stub->ipv6_dst_lookup_flow(&init_net, NULL, &fl, NULL);
	if (IS_ERR(dst))
		return false;
	dst_release(dst);
	memcpy(gid, &fl.saddr, 16);
	return true;
}

/**
 * kr_gid_source() - the local GID that routing prefers
 * @remote: the GID to reach
 * @gid: the local one
 *
 * Context: may sleep.
 * Return: false when there is no route, or none can be told (link-local).
 */
bool kr_gid_source(const u8 remote[16], u8 gid[16])
{
	struct in6_addr a;

	memcpy(&a, remote, sizeof(a));
	switch (kr_gid_class(remote)) {
	case KR_GID_IPV4:
		return source_ipv4(a.s6_addr32[3], gid);
	case KR_GID_IPV6:
		return source_ipv6(&a, gid);
	case KR_GID_NONE:
	case KR_GID_LINK:
		break;
	}
	return false;
}

int kr_gid_sock_addr(const u8 gid[16], u16 port, union kr_sock_addr *a)
{
	memset(a, 0, sizeof(*a));
	switch (kr_gid_class(gid)) {
	case KR_GID_IPV4:
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(port);
		memcpy(&a->in.sin_addr, gid + 12, 4);
		return 0;
	case KR_GID_IPV6:
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons(port);
		memcpy(&a->in6.sin6_addr, gid, 16);
		return 0;
	case KR_GID_LINK:
	case KR_GID_NONE:
		break;
	}
	return -EADDRNOTAVAIL;
}
