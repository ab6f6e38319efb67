/* SPDX-License-Identifier: GPL-2.0 */
/* Which GIDs of a RoCE port can be used, and which one leads to a remote GID. */
#ifndef KRCORE_GID_H
#define KRCORE_GID_H

#include <linux/in.h>
#include <linux/in6.h>
#include <rdma/ib_verbs.h>

enum kr_gid_class {
	KR_GID_NONE,			/* not an address to send to */
	KR_GID_IPV4,			/* IPv4-mapped */
	KR_GID_IPV6,			/* global or unique local */
	KR_GID_LINK,			/* IPv6 link-local */
};

union kr_sock_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

enum kr_gid_class kr_gid_class(const u8 gid[16]);

/*
 * The next RoCE v2 GID of @class in the table of a port, from *@index on, which
 * is advanced behind it.  False at the end.  Context: any.
 */
bool kr_gid_next(struct ib_device *ibdev, u32 port, enum kr_gid_class class,
		 int *index, u8 gid[16]);

/*
 * The GID of the source address that routing in the initial network namespace
 * chooses towards @remote.  Context: may sleep.
 */
bool kr_gid_source(const u8 remote[16], u8 gid[16]);

/*
 * The socket address that a GID stands for.  -EADDRNOTAVAIL: it is of one link only, or
 * there is none.  Context: any.
 */
int kr_gid_sock_addr(const u8 gid[16], u16 port, union kr_sock_addr *a);

#endif
