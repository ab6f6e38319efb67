/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What addresses and routing tell about a destination without asking it: is it
 * this host, can it be a peer at all, is it near enough to wait for its answer.
 */
#ifndef KRCORE_REACH_H
#define KRCORE_REACH_H

#include <net/net_namespace.h>
#include "stats.h"

/* Why TCP is used without a question; KR_REASON_NONE: ask.  Context: any. */
enum kr_reason kr_reach_refuse(struct net *net, u8 family, const u8 daddr[16]);

/* On-link, or in one of the configured prefixes.  Context: process or softirq. */
bool kr_reach_is_near(struct net *net, u8 family, const u8 saddr[16],
		      const u8 daddr[16]);

#endif
