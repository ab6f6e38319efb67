// SPDX-License-Identifier: GPL-2.0
/* The counters of the module and the names of what they count. */
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include "stats.h"

atomic64_t kr_stats[KR_STAT_NR];
atomic64_t kr_fallbacks[KR_REASON_NR];

static const char *const stat_names[KR_STAT_NR] = {
#define KR_STAT_NAME(name) [KR_STAT_##name] = #name,
	KR_STATS(KR_STAT_NAME)
#undef KR_STAT_NAME
};

/* The token is for scripts and never changes; the name is for people. */
static const struct {
	const char *token;
	const char *name;
} reasons[] = {
	[KR_REASON_NONE] = { "none", "uses RDMA" },
	[KR_REASON_NO_DEVICE] = { "no-device", "no RDMA device here" },
	[KR_REASON_NO_ANSWER] = { "no-answer", "peer does not answer" },
	[KR_REASON_UNREACHABLE] = { "unreachable", "peer does not run krcore" },
	[KR_REASON_ASKING] = { "asking", "peer is off-link and still being asked" },
	[KR_REASON_NAT] = { "nat", "an address is translated on the way" },
	[KR_REASON_NO_PATH] = { "no-path", "no RDMA path could be proven" },
	[KR_REASON_PEER_NO_DEVICE] = { "peer-no-device", "peer has no RDMA device" },
	[KR_REASON_SELF] = { "self", "peer is this host" },
	[KR_REASON_VERSION] = { "version", "peer speaks another version" },
	[KR_REASON_NO_LISTENER] = { "no-listener", "no krcore listener at the peer" },
	[KR_REASON_POLICY] = { "policy", "forbidden by policy" },
	[KR_REASON_NAMESPACE] = { "namespace", "wrong network namespace" },
	[KR_REASON_TIMEOUT] = { "timeout", "connect was not answered in time" },
	[KR_REASON_MEMORY] = { "memory", "not enough memory" },
	[KR_REASON_OPTION] = { "option", "a socket option needs TCP itself" },
	[KR_REASON_PLAIN_CLIENT] = { "plain-client", "client came by plain TCP" },
};

static_assert(ARRAY_SIZE(reasons) == KR_REASON_NR);

/* Context: any.  Return: words for people. */
const char *kr_reason_name(enum kr_reason reason)
{
	return (unsigned int)reason < KR_REASON_NR ? reasons[reason].name : "unknown";
}

/* Context: any.  Return: one word that scripts may rely on. */
const char *kr_reason_token(enum kr_reason reason)
{
	return (unsigned int)reason < KR_REASON_NR ? reasons[reason].token : "unknown";
}

/* Context: any.  Return: the name of the counter as in KR_STATS. */
const char *kr_stat_name(enum kr_stat s)
{
	return (unsigned int)s < KR_STAT_NR ? stat_names[s] : "unknown";
}
