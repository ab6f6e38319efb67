// SPDX-License-Identifier: GPL-2.0
/*
 * Ports that rejected a CONNECT: for some seconds they are reached by TCP.  A
 * fixed table of small sets; a full set forgets what would expire first.
 */
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/spinlock.h>
#include "hello.h"
#include "netns.h"
#include "peer.h"

enum {
	REJECT_SECONDS = 5,
	REJECT_SETS = 256,		/* power of 2 */
	REJECT_WAYS = 4,
};

struct reject {
	u64 net_id;			/* 0: free */
	unsigned long until;		/* jiffies */
	u16 dport;
	u8 family;
	u8 daddr[16];
};

static struct reject rejects[REJECT_SETS][REJECT_WAYS];
static DEFINE_SPINLOCK(rejects_lock);	/* protects rejects; softirq too, innermost */

static void reject_key(struct reject *key, struct net *net, u8 family,
		       const u8 daddr[16], u16 dport)
{
	memset(key, 0, sizeof(*key));
	key->net_id = kr_netns(net)->id;
	key->family = family;
	key->dport = dport;
	memcpy(key->daddr, daddr, kr_addr_len(family));
}

/* The id is random and secret enough that nobody can aim at a set. */
static struct reject *reject_set(const struct reject *key)
{
	u32 hash = jhash(key->daddr, sizeof(key->daddr),
			 (u32)key->net_id ^ key->dport);

	return rejects[hash & (REJECT_SETS - 1)];
}

static bool is_same(const struct reject *a, const struct reject *b)
{
	return a->net_id == b->net_id && a->family == b->family &&
	       a->dport == b->dport && !memcmp(a->daddr, b->daddr, sizeof(a->daddr));
}

static bool is_over(const struct reject *r)
{
	return !r->net_id || time_after(jiffies, r->until);
}

void kr_peer_note_reject(struct net *net, u8 family, const u8 daddr[16], u16 dport)
{
	struct reject key, *set, *victim;
	int i;

	reject_key(&key, net, family, daddr, dport);
	key.until = jiffies + REJECT_SECONDS * HZ;
	set = reject_set(&key);
	spin_lock_bh(&rejects_lock);
	victim = &set[0];
	for (i = 0; i < REJECT_WAYS; i++) {
		if (is_same(&set[i], &key)) {
			victim = &set[i];
			break;
		}
		if (is_over(victim))
			continue;
		if (is_over(&set[i]) || time_before(set[i].until, victim->until))
			victim = &set[i];
	}
	*victim = key;
	spin_unlock_bh(&rejects_lock);
}

bool kr_peer_is_rejected(struct net *net, u8 family, const u8 daddr[16], u16 dport)
{
	struct reject key, *set;
	bool is_found = false;
	int i;

	reject_key(&key, net, family, daddr, dport);
	set = reject_set(&key);
	spin_lock_bh(&rejects_lock);
	for (i = 0; i < REJECT_WAYS; i++)
		if (is_same(&set[i], &key) && !is_over(&set[i]))
			is_found = true;
	spin_unlock_bh(&rejects_lock);
	return is_found;
}
