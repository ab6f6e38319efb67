// SPDX-License-Identifier: GPL-2.0
/*
 * The cache of who is at an address, and the questions that fill it.
 *
 * Operation: a peer is what is known about one (namespace, source, destination).
 * All its changes over time happen in its one work: it opens the question, sends
 * it again while the grace time runs, reads the answer, has the path proven by
 * host.c, and calls the waiters.  Lookups only read the state and request work.
 * A question stays open for some seconds after the grace time, so that a late
 * answer still counts.  What is known is used beyond its time while it is asked
 * anew in the background, so nobody waits for a refresh.
 *
 * Lifetime: a peer is owned by its work.  While it is in the table, others may
 * use it under peers_lock.  peer_kill_locked() takes it from the table and runs
 * the work a last time, which frees it.  What can still look then:
 *   1. the question's socket callbacks: end with kr_question_close(), after
 *      which nobody but the work itself can queue the work;
 *   2. waiters that are still on its list: are called before.
 * kr_peer_net_exit() waits until the namespace has no peers.
 */
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "core/discovery.h"
#include "dev.h"
#include "hello.h"
#include "host.h"
#include "netns.h"
#include "peer.h"
#include "reach.h"
#include "stats.h"

enum {
	PEERS_MAX = 4096,
	PEERS_HARD_MAX = 2 * PEERS_MAX,	/* with those that are being freed */
	PEERS_BUCKETS = 1024,		/* power of 2 */
	EVICT_TRIES = 32,
	MISSES_MAX = 3,			/* refreshes without answer: peer is lost */
	PROVE_GRACES = 4,		/* grace times for proving the path */
	ANCIENT_TTLS = 10,		/* lifetimes: then a no is worth nothing */
	NO_PATH_TTL_S = 5,
	RETRY_TTL_S = 10,		/* after a refresh without answer */
	MEMORY_TTL_S = 1,
};

struct peer {
	/* fixed */
	struct kr_netns *ns;
	u8 family;
	u8 saddr[16];
	u8 daddr[16];
	struct delayed_work work;

	/* protected by peers_lock */
	struct hlist_node bucket;
	struct list_head used;		/* all, least recently used first */
	struct list_head waiters;
	enum kr_peer_state state;
	enum kr_reason reason;		/* NO */
	unsigned long expires;		/* READY, NO: jiffies, then ask anew */
	unsigned long prove_until;	/* PROVING: jiffies */
	unsigned long asked_at;		/* jiffies */
	struct kr_host *host;		/* with reference: PROVING, READY, NO_PATH */
	struct kr_host *suspect;	/* with reference: the next answer decides */
	u64 cookie;			/* of the namespace there */
	bool is_wanted;			/* the work shall ask */
	bool has_path_event;		/* since the last proof began */
	bool is_dead;			/* the work shall free this */

	/* only the work touches */
	struct kr_question question;
	unsigned int nr_misses;
};

/* A waiter that is being called; on the stack of the work. */
struct peer_call {
	struct list_head node;		/* peers_lock */
	struct kr_peer_waiter *w;
};

static unsigned int no_ttl_s = 30;
module_param(no_ttl_s, uint, 0644);
MODULE_PARM_DESC(no_ttl_s, "How long a peer that cannot be used is believed to stay so (s)");

static unsigned int ready_ttl_s = 60;
module_param(ready_ttl_s, uint, 0644);
MODULE_PARM_DESC(ready_ttl_s, "How long a peer is used before it is asked anew (s)");

/* Protects the cache; of ours only host.c's spinlocks are taken inside. */
static DEFINE_MUTEX(peers_lock);
static struct hlist_head buckets[PEERS_BUCKETS];
static LIST_HEAD(peers_used);
static unsigned int nr_peers;
static LIST_HEAD(calls);
static u32 hash_seed;
static DECLARE_WAIT_QUEUE_HEAD(peers_wait);	/* calls, ns->nr_peers */

static bool same_host = true;
module_param(same_host, bool, 0644);
MODULE_PARM_DESC(same_host, "connections within this host go through memory, not TCP");

static void peer_work(struct work_struct *work);

static struct kr_host *host_hold(struct kr_host *host)
{
	refcount_inc(&host->ref);
	return host;
}

/* The table. */

static struct hlist_head *peer_bucket(const struct kr_netns *ns, u8 family,
				      const u8 daddr[16])
{
	u32 hash = jhash(daddr, kr_addr_len(family), hash_seed ^ (u32)ns->id);

	return &buckets[hash & (PEERS_BUCKETS - 1)];
}

static bool is_at(const struct peer *peer, const struct kr_netns *ns, u8 family,
		  const u8 daddr[16])
{
	return peer->ns == ns && peer->family == family &&
	       !memcmp(peer->daddr, daddr, kr_addr_len(family));
}

static struct peer *peer_find_locked(const struct kr_netns *ns, u8 family,
				     const u8 saddr[16], const u8 daddr[16])
{
	struct peer *peer;

	lockdep_assert_held(&peers_lock);
	hlist_for_each_entry(peer, peer_bucket(ns, family, daddr), bucket)
		if (is_at(peer, ns, family, daddr) &&
		    !memcmp(peer->saddr, saddr, kr_addr_len(family)))
			return peer;
	return NULL;
}

static void peer_run_locked(struct peer *peer)
{
	lockdep_assert_held(&peers_lock);
	mod_delayed_work(kr_hello_wq, &peer->work, 0);
}

static void peer_kill_locked(struct peer *peer)
{
	lockdep_assert_held(&peers_lock);
	hlist_del(&peer->bucket);
	list_del(&peer->used);
	peer->is_dead = true;
	peer_run_locked(peer);
}

/* Makes room by killing one that nobody needs now. */
static bool evict_locked(void)
{
	struct peer *peer;
	int tries = 0;

	lockdep_assert_held(&peers_lock);
	list_for_each_entry(peer, &peers_used, used) {
		if (list_empty(&peer->waiters) && !peer->suspect) {
			peer_kill_locked(peer);
			return true;
		}
		if (++tries == EVICT_TRIES)
			break;
	}
	return false;
}

static struct peer *peer_create_locked(struct kr_netns *ns, u8 family,
				       const u8 saddr[16], const u8 daddr[16])
{
	struct peer *peer;

	lockdep_assert_held(&peers_lock);
	if (READ_ONCE(ns->is_closing) || nr_peers >= PEERS_HARD_MAX ||
	    (nr_peers >= PEERS_MAX && !evict_locked()))
		return NULL;
	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return NULL;
	peer->ns = ns;
	peer->family = family;
	memcpy(peer->saddr, saddr, kr_addr_len(family));
	memcpy(peer->daddr, daddr, kr_addr_len(family));
	INIT_DELAYED_WORK(&peer->work, peer_work);
	INIT_LIST_HEAD(&peer->waiters);
	peer->state = KR_PEER_ASKING;
	peer->is_wanted = true;
	peer->asked_at = jiffies;
	hlist_add_head(&peer->bucket, peer_bucket(ns, family, daddr));
	list_add_tail(&peer->used, &peers_used);
	atomic_inc(&ns->nr_peers);
	nr_peers++;
	peer_run_locked(peer);
	return peer;
}

static struct peer *peer_get_locked(struct kr_netns *ns, u8 family,
				    const u8 saddr[16], const u8 daddr[16])
{
	struct peer *peer = peer_find_locked(ns, family, saddr, daddr);

	if (!peer)
		return peer_create_locked(ns, family, saddr, daddr);
	list_move_tail(&peer->used, &peers_used);
	return peer;
}

/* In the background, at most once per second. */
static void peer_ask_locked(struct peer *peer)
{
	lockdep_assert_held(&peers_lock);
	if (time_before(jiffies, peer->asked_at + HZ))
		return;
	peer->asked_at = jiffies;
	peer->is_wanted = true;
	peer_run_locked(peer);
}

/* States.  These three alone assign peer->state after its creation. */

static void drop_host_locked(struct peer *peer)
{
	if (peer->host)
		kr_host_put(peer->host);
	peer->host = NULL;
}

static void drop_suspect_locked(struct peer *peer)
{
	if (peer->suspect)
		kr_host_put(peer->suspect);
	peer->suspect = NULL;
}

static void set_no_locked(struct peer *peer, enum kr_reason reason, unsigned int ttl_s)
{
	lockdep_assert_held(&peers_lock);
	peer->state = KR_PEER_NO;
	peer->reason = reason;
	peer->expires = jiffies + ttl_s * HZ;
	if (reason != KR_REASON_NO_PATH)
		drop_host_locked(peer);
}

static void set_ready_locked(struct peer *peer)
{
	lockdep_assert_held(&peers_lock);
	peer->state = KR_PEER_READY;
	peer->expires = jiffies + READ_ONCE(ready_ttl_s) * HZ;
}

/* Anew, when what was known is worth nothing. */
static void set_asking_locked(struct peer *peer)
{
	lockdep_assert_held(&peers_lock);
	peer->state = KR_PEER_ASKING;
	drop_host_locked(peer);
	peer->asked_at = jiffies;
	peer->is_wanted = true;
	peer_run_locked(peer);
}

static void set_proving_locked(struct peer *peer)
{
	lockdep_assert_held(&peers_lock);
	peer->state = KR_PEER_PROVING;
	peer->prove_until = jiffies + PROVE_GRACES * kr_grace_jiffies();
}

/* The question; only the work calls these. */

/* The question ended without an answer. */
static void question_failed(struct peer *peer, enum kr_reason reason, unsigned int ttl_s)
{
	kr_question_close(&peer->question);
	mutex_lock(&peers_lock);
	/* A path that is being proven speaks for itself. */
	if (peer->state != KR_PEER_PROVING)
		set_no_locked(peer, reason, ttl_s);
	drop_suspect_locked(peer);
	mutex_unlock(&peers_lock);
}

static void question_start(struct peer *peer)
{
	int err;

	if (peer->question.sock) {
		kr_question_restart(&peer->question);
		return;
	}
	err = kr_question_open(&peer->question, peer->ns->net, peer->family,
			       peer->saddr, peer->daddr, &peer->work);
	if (err == -ENOMEM || err == -ENOBUFS || err == -EMFILE)
		question_failed(peer, KR_REASON_MEMORY, MEMORY_TTL_S);
	else if (err)
		question_failed(peer, KR_REASON_UNREACHABLE, READ_ONCE(no_ttl_s));
}

/* The grace time is over: who waits shall use TCP. */
static void question_grace_over(struct peer *peer)
{
	mutex_lock(&peers_lock);
	if (peer->state == KR_PEER_ASKING)
		set_no_locked(peer, KR_REASON_NO_ANSWER, READ_ONCE(no_ttl_s));
	mutex_unlock(&peers_lock);
}

/* No answer, not even a late one.  A peer in use may miss some. */
static void question_missed(struct peer *peer)
{
	kr_question_close(&peer->question);
	mutex_lock(&peers_lock);
	if (peer->state == KR_PEER_READY && ++peer->nr_misses < MISSES_MAX)
		peer->expires = jiffies + RETRY_TTL_S * HZ;
	else if (peer->state != KR_PEER_PROVING)
		set_no_locked(peer, KR_REASON_NO_ANSWER, READ_ONCE(no_ttl_s));
	drop_suspect_locked(peer);
	mutex_unlock(&peers_lock);
}

static enum kr_reason judge(const struct kr_hello *ask, const struct kr_hello *answer)
{
	switch (kr_discovery_judge(ask, answer, kr_instance)) {
	case KR_JUDGE_SELF:
		return READ_ONCE(same_host) ? KR_REASON_NONE : KR_REASON_SELF;
	case KR_JUDGE_NAT:
		return KR_REASON_NAT;
	case KR_JUDGE_NO_DEVICE:
		return KR_REASON_PEER_NO_DEVICE;
	case KR_JUDGE_USABLE:
		break;
	}
	return KR_REASON_NONE;
}

/* Another instance is where these were: they are gone. */
static void end_others(struct peer *peer, const u8 instance[16])
{
	struct kr_host *gone[2] = { };
	int i;

	mutex_lock(&peers_lock);
	if (peer->host && memcmp(peer->host->assoc.peer_instance, instance, 16)) {
		swap(gone[0], peer->host);
		/* Until it is known whether the other can be used. */
		set_proving_locked(peer);
	}
	swap(gone[1], peer->suspect);
	mutex_unlock(&peers_lock);
	for (i = 0; i < ARRAY_SIZE(gone); i++) {
		if (!gone[i])
			continue;
		/* An address of ours that is another host's now says nothing of us. */
		if (memcmp(gone[i]->assoc.peer_instance, instance, 16) &&
		    !gone[i]->assoc.is_loop)
			kr_host_gone(gone[i], ECONNRESET);
		kr_host_put(gone[i]);
	}
}

static void peer_refuse(struct peer *peer, enum kr_reason reason, unsigned int ttl_s)
{
	mutex_lock(&peers_lock);
	set_no_locked(peer, reason, ttl_s);
	drop_suspect_locked(peer);
	mutex_unlock(&peers_lock);
}

/* Another namespace of this host: there is nothing to prove. */
static void peer_is_self(struct peer *peer, const struct kr_hello *answer)
{
	mutex_lock(&peers_lock);
	drop_host_locked(peer);
	peer->host = kr_host_self();
	peer->cookie = answer->cookie;
	set_ready_locked(peer);
	mutex_unlock(&peers_lock);
}

/* A good answer: has the path proven, unless there is one. */
static void peer_prove(struct peer *peer, const struct kr_hello *answer)
{
	struct kr_host *host = kr_host_get(answer->instance);
	bool is_ready = false;
	int err;

	if (!host) {
		peer_refuse(peer, KR_REASON_MEMORY, MEMORY_TTL_S);
		return;
	}
	mutex_lock(&peers_lock);
	drop_host_locked(peer);
	peer->host = host_hold(host);
	peer->cookie = answer->cookie;
	/* Before host.c starts, so that no path event is missed. */
	peer->has_path_event = false;
	if (peer->state != KR_PEER_READY)
		set_proving_locked(peer);
	mutex_unlock(&peers_lock);

	err = kr_host_prove(host, answer, peer->ns->id, &is_ready);

	mutex_lock(&peers_lock);
	if (peer->host == host) {
		if (err) {
			set_no_locked(peer, KR_REASON_NO_PATH, NO_PATH_TTL_S);
			drop_host_locked(peer);
		} else if (is_ready) {
			set_ready_locked(peer);
		} else if (!peer->has_path_event) {
			set_proving_locked(peer);
		}
	}
	mutex_unlock(&peers_lock);
	kr_host_put(host);
}

/*
 * An answer in a namespace that is not trusted proves, moves and ends nothing: a known
 * host is used by the path that it has, or not at all.  In one hold of the lock, so that
 * what becomes of host and path comes to the entry after this.
 */
static void peer_use(struct peer *peer, const struct kr_hello *answer)
{
	mutex_lock(&peers_lock);
	drop_host_locked(peer);
	peer->host = kr_host_find(answer->instance);
	peer->cookie = answer->cookie;
	if (peer->host && kr_host_has_path(peer->host, answer))
		set_ready_locked(peer);
	else
		set_no_locked(peer, KR_REASON_NO_PATH, NO_PATH_TTL_S);
	mutex_unlock(&peers_lock);
}

static void question_answered(struct peer *peer, const struct kr_hello *answer)
{
	enum kr_reason reason = judge(&peer->question.hello, answer);
	bool is_trusted = kr_netns_is_trusted(peer->ns);

	kr_question_close(&peer->question);
	peer->nr_misses = 0;
	/* Where anybody may answer, as behind a translation, that says nothing of hosts. */
	if (reason != KR_REASON_NAT && is_trusted)
		end_others(peer, answer->instance);
	if (reason != KR_REASON_NONE)
		peer_refuse(peer, reason, READ_ONCE(no_ttl_s));
	else if (kr_host_is_self(answer->instance))
		peer_is_self(peer, answer);
	else if (is_trusted)
		peer_prove(peer, answer);
	else
		peer_use(peer, answer);
}

static void question_run(struct peer *peer)
{
	struct kr_hello answer;
	int err;

	err = kr_question_run(&peer->question, &answer);
	if (!err)
		question_answered(peer, &answer);
	else if (err == -ETIMEDOUT)
		question_missed(peer);
	else if (err == -EPROTO)
		question_failed(peer, KR_REASON_VERSION, READ_ONCE(no_ttl_s));
	else if (err != -EAGAIN)
		question_failed(peer, KR_REASON_UNREACHABLE, READ_ONCE(no_ttl_s));
	else if (kr_question_is_late(&peer->question))
		question_grace_over(peer);
}

/* The work. */

static void peer_destroy(struct peer *peer)
{
	struct kr_netns *ns = peer->ns;

	kr_question_close(&peer->question);
	/* A socket callback may have queued it once more before that. */
	cancel_delayed_work(&peer->work);
	mutex_lock(&peers_lock);
	drop_host_locked(peer);
	drop_suspect_locked(peer);
	nr_peers--;
	mutex_unlock(&peers_lock);
	kfree(peer);
	/* The namespace may go with this; nothing looks at it afterwards. */
	atomic_dec(&ns->nr_peers);
	wake_up_all(&peers_wait);
}

static bool is_settled_locked(const struct peer *peer)
{
	return peer->is_dead || peer->state == KR_PEER_READY ||
	       peer->state == KR_PEER_NO;
}

static void peer_call_waiters(struct peer *peer)
{
	struct peer_call call;

	mutex_lock(&peers_lock);
	while (is_settled_locked(peer) && !list_empty(&peer->waiters)) {
		call.w = list_first_entry(&peer->waiters, struct kr_peer_waiter, node);
		list_del_init(&call.w->node);
		list_add(&call.node, &calls);
		mutex_unlock(&peers_lock);

		call.w->on_answer(call.w);

		mutex_lock(&peers_lock);
		list_del(&call.node);
		wake_up_all(&peers_wait);
	}
	mutex_unlock(&peers_lock);
}

/* Ends a proof that takes too long, and sees to it that the work runs in time. */
static void peer_rearm(struct peer *peer)
{
	unsigned long delay = MAX_JIFFY_OFFSET;

	mutex_lock(&peers_lock);
	if (peer->state == KR_PEER_PROVING) {
		if (time_after_eq(jiffies, peer->prove_until))
			set_no_locked(peer, KR_REASON_NO_PATH, NO_PATH_TTL_S);
		else
			delay = peer->prove_until - jiffies;
	}
	mutex_unlock(&peers_lock);
	if (peer->question.sock)
		delay = min(delay, kr_question_next(&peer->question));
	/* If it is queued already, that is at once: somebody wants it. */
	if (delay != MAX_JIFFY_OFFSET)
		queue_delayed_work(kr_hello_wq, &peer->work, delay);
}

static void peer_work(struct work_struct *work)
{
	struct peer *peer = container_of(work, struct peer, work.work);
	bool is_dead, is_wanted;

	mutex_lock(&peers_lock);
	is_dead = peer->is_dead;
	is_wanted = peer->is_wanted;
	peer->is_wanted = false;
	mutex_unlock(&peers_lock);
	if (!is_dead) {
		if (is_wanted)
			question_start(peer);
		if (peer->question.sock)
			question_run(peer);
		peer_rearm(peer);
	}
	peer_call_waiters(peer);
	if (is_dead)
		peer_destroy(peer);
}

/* Lookups. */

static bool is_known_locked(const struct kr_netns *ns, u8 family, const u8 daddr[16])
{
	const struct peer *peer;

	lockdep_assert_held(&peers_lock);
	hlist_for_each_entry(peer, peer_bucket(ns, family, daddr), bucket)
		if (is_at(peer, ns, family, daddr) && peer->host)
			return true;
	return false;
}

bool kr_peer_may_wait(struct net *net, u8 family, const u8 saddr[16],
		      const u8 daddr[16])
{
	bool is_known;

	if (kr_reach_is_near(net, family, saddr, daddr))
		return true;
	mutex_lock(&peers_lock);
	is_known = is_known_locked(kr_netns(net), family, daddr);
	mutex_unlock(&peers_lock);
	return is_known;
}

static void refresh_locked(struct peer *peer)
{
	unsigned long ancient = peer->expires + ANCIENT_TTLS * READ_ONCE(no_ttl_s) * HZ;

	lockdep_assert_held(&peers_lock);
	if (peer->state == KR_PEER_NO && time_after(jiffies, ancient)) {
		set_asking_locked(peer);
	} else if ((peer->state == KR_PEER_NO || peer->state == KR_PEER_READY) &&
		 time_after(jiffies, peer->expires)) {
		/* The outcome sets it anew. */
		peer->expires = jiffies + RETRY_TTL_S * HZ;
		peer_ask_locked(peer);
	}
}

/* This host; each connection has the next of its associations. */
static void report_self(u64 cookie, struct kr_peer_answer *answer)
{
	answer->state = READ_ONCE(same_host) ? KR_PEER_READY : KR_PEER_NO;
	answer->reason = KR_REASON_SELF;
	if (answer->state == KR_PEER_READY) {
		answer->host = kr_host_self();
		answer->cookie = cookie;
	}
}

void kr_peer_lookup_own(struct net *net, u8 family, const u8 saddr[16],
			const u8 daddr[16], struct kr_peer_answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	report_self(kr_netns_cookie(kr_netns(net), family, saddr, daddr), answer);
}

static void report_locked(struct peer *peer, bool may_wait, struct kr_peer_waiter *w,
			  struct kr_peer_answer *answer)
{
	lockdep_assert_held(&peers_lock);
	refresh_locked(peer);
	answer->state = peer->state;
	switch (peer->state) {
	case KR_PEER_ASKING:
	case KR_PEER_PROVING:
		if (!may_wait) {
			answer->state = KR_PEER_NO;
			answer->reason = KR_REASON_ASKING;
		} else if (w) {
			list_move_tail(&w->node, &peer->waiters);
		}
		break;
	case KR_PEER_READY:
		if (peer->host->assoc.is_loop) {
			report_self(peer->cookie, answer);
			break;
		}
		answer->host = host_hold(peer->host);
		answer->cookie = peer->cookie;
		break;
	case KR_PEER_NO:
		answer->reason = peer->reason;
		break;
	}
}

/* The short way, when the peer is known and usable. */
static bool report_ready(struct kr_netns *ns, u8 family, const u8 saddr[16],
			 const u8 daddr[16], struct kr_peer_answer *answer)
{
	struct peer *peer;
	bool is_ready;

	mutex_lock(&peers_lock);
	peer = peer_find_locked(ns, family, saddr, daddr);
	is_ready = peer && peer->state == KR_PEER_READY;
	if (is_ready) {
		list_move_tail(&peer->used, &peers_used);
		report_locked(peer, false, NULL, answer);
	}
	mutex_unlock(&peers_lock);
	return is_ready;
}

static enum kr_reason refuse_at_once(struct net *net, u8 family, const u8 daddr[16])
{
	enum kr_reason reason = kr_reach_refuse(net, family, daddr);
	struct kr_end ends[KR_HELLO_ENDS];

	if (reason == KR_REASON_NONE && !kr_dev_ends(ends, ARRAY_SIZE(ends)))
		reason = KR_REASON_NO_DEVICE;
	return reason;
}

void kr_peer_lookup(struct net *net, u8 family, const u8 saddr[16],
		    const u8 daddr[16], struct kr_peer_waiter *w,
		    struct kr_peer_answer *answer)
{
	struct kr_netns *ns = kr_netns(net);
	struct peer *peer;
	bool may_wait;

	memset(answer, 0, sizeof(*answer));
	if (report_ready(ns, family, saddr, daddr, answer))
		return;
	answer->state = KR_PEER_NO;
	answer->reason = refuse_at_once(net, family, daddr);
	if (answer->reason != KR_REASON_NONE)
		return;
	may_wait = kr_peer_may_wait(net, family, saddr, daddr);

	mutex_lock(&peers_lock);
	peer = peer_get_locked(ns, family, saddr, daddr);
	if (peer)
		report_locked(peer, may_wait, w, answer);
	else
		answer->reason = KR_REASON_MEMORY;
	mutex_unlock(&peers_lock);
}

static bool is_called_locked(const struct kr_peer_waiter *w)
{
	const struct peer_call *call;

	lockdep_assert_held(&peers_lock);
	list_for_each_entry(call, &calls, node)
		if (call->w == w)
			return true;
	return false;
}

void kr_peer_cancel(struct kr_peer_waiter *w)
{
	DEFINE_WAIT(wait);

	mutex_lock(&peers_lock);
	list_del_init(&w->node);
	while (is_called_locked(w)) {
		prepare_to_wait(&peers_wait, &wait, TASK_UNINTERRUPTIBLE);
		mutex_unlock(&peers_lock);
		schedule();
		mutex_lock(&peers_lock);
	}
	finish_wait(&peers_wait, &wait);
	mutex_unlock(&peers_lock);
}

/* Events of hosts. */

void kr_peer_on_path(struct kr_host *host, bool is_ready)
{
	struct peer *peer;

	mutex_lock(&peers_lock);
	list_for_each_entry(peer, &peers_used, used) {
		if (peer->host != host)
			continue;
		peer->has_path_event = true;
		if (is_ready)
			set_ready_locked(peer);
		else
			set_no_locked(peer, KR_REASON_NO_PATH, NO_PATH_TTL_S);
		peer_run_locked(peer);
	}
	mutex_unlock(&peers_lock);
}

void kr_peer_forget(struct kr_host *host)
{
	struct peer *peer, *next;

	mutex_lock(&peers_lock);
	list_for_each_entry_safe(peer, next, &peers_used, used) {
		if (peer->suspect == host)
			drop_suspect_locked(peer);
		if (peer->host == host)
			peer_kill_locked(peer);
	}
	mutex_unlock(&peers_lock);
}

void kr_peer_forget_at(struct net *net, u8 family, const u8 saddr[16],
		       const u8 daddr[16])
{
	struct peer *peer;

	mutex_lock(&peers_lock);
	peer = peer_find_locked(kr_netns(net), family, saddr, daddr);
	if (peer)
		peer_kill_locked(peer);
	mutex_unlock(&peers_lock);
}

void kr_peer_check(struct kr_host *host)
{
	u8 saddr[16], daddr[16], family;
	struct peer *peer;
	struct net *net;
	u64 net_id;

	spin_lock_bh(&host->lock);
	net_id = host->hello.net_id;
	family = host->hello.family;
	memcpy(saddr, host->hello.saddr, sizeof(saddr));
	memcpy(daddr, host->hello.daddr, sizeof(daddr));
	spin_unlock_bh(&host->lock);
	net = family ? kr_netns_by_id(net_id) : NULL;
	if (!net)
		return;
	mutex_lock(&peers_lock);
	peer = peer_get_locked(kr_netns(net), family, saddr, daddr);
	if (peer) {
		if (!peer->suspect)
			peer->suspect = host_hold(host);
		peer_ask_locked(peer);
	}
	mutex_unlock(&peers_lock);
	put_net(net);
}

/* Would this peer's answer be another one now that it is known to be awake? */
static bool is_worth_asking(const struct peer *peer, const u8 instance[16])
{
	if (peer->host && memcmp(peer->host->assoc.peer_instance, instance, 16))
		return true;
	return peer->state == KR_PEER_NO &&
	       (peer->reason == KR_REASON_NO_ANSWER ||
		peer->reason == KR_REASON_UNREACHABLE ||
		peer->reason == KR_REASON_PEER_NO_DEVICE);
}

void kr_peer_heard(struct net *net, u8 family, const u8 addr[16],
		   const u8 instance[16])
{
	struct kr_netns *ns = kr_netns(net);
	struct peer *peer;

	mutex_lock(&peers_lock);
	hlist_for_each_entry(peer, peer_bucket(ns, family, addr), bucket)
		if (is_at(peer, ns, family, addr) && is_worth_asking(peer, instance))
			peer_ask_locked(peer);
	mutex_unlock(&peers_lock);
}

/* Namespaces. */

void kr_peer_net_exit(struct kr_netns *ns)
{
	struct peer *peer, *next;

	mutex_lock(&peers_lock);
	list_for_each_entry_safe(peer, next, &peers_used, used)
		if (peer->ns == ns)
			peer_kill_locked(peer);
	mutex_unlock(&peers_lock);
	wait_event(peers_wait, !atomic_read(&ns->nr_peers));
}

int kr_peer_init(void)
{
	int err;

	hash_seed = get_random_u32();
	err = kr_hello_init();
	if (err)
		return err;
	err = kr_netns_init();
	if (err)
		goto err_hello_exit;
	return 0;

err_hello_exit:
	kr_hello_exit();
	return err;
}

void kr_peer_exit(void)
{
	kr_netns_exit();
	kr_hello_exit();
}
