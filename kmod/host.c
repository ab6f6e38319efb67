// SPDX-License-Identifier: GPL-2.0
/*
 * Remote hosts: the glue between packets, time and the association in core.
 *
 * Operation.  dev.c hands in a batch of packets with kr_host_receive(); each goes
 * into its association under the host's lock, and the host is noted on a list of
 * this CPU; kr_host_flush() then sends what the batch caused, so that one
 * acknowledgement answers many packets.  Everybody else takes the lock with
 * kr_host_lock(), calls core, and kr_host_unlock() sends and rearms the timer.
 *
 * Whatever needs to sleep (address handles, the hello, ending thousands of VQPs)
 * is done by the host's works on an own workqueue.
 */
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include "carrier.h"
#include "core/drive.h"
#include "ep.h"
#include "gid.h"
#include "host.h"
#include "netlink.h"
#include "netns.h"
#include "peer.h"
#include "pool.h"
#include "stats.h"
#include "tcplane.h"
#include "trace.h"

enum {
	HOST_HASH_BITS = 8,
	PATH_REQS_MAX = 64,		/* waiting for the worker */
	GONE_PER_SECOND = 100,
	HOSTS_MAX = 16384,
	SELVES_MAX = 16,
};

#define NEVER (~0ull)

static unsigned int host_timeout_ms;
module_param(host_timeout_ms, uint, 0644);
MODULE_PARM_DESC(host_timeout_ms,
		 "end all connections of a host that is silent this long (ms, 0: as TCP would)");

u8 kr_instance[16];
static siphash_key_t token_key;

/* Protects all tables below against change; readers of by_id and by_remote use RCU. */
static DEFINE_SPINLOCK(hosts_lock);
static DEFINE_HASHTABLE(hosts_by_id, HOST_HASH_BITS);
static DEFINE_HASHTABLE(hosts_by_remote, HOST_HASH_BITS);
static DEFINE_HASHTABLE(hosts_by_instance, HOST_HASH_BITS);
static LIST_HEAD(hosts);
static u32 nr_hosts;			/* also those being ended */
static u64 last_serial;			/* the list is in this order */
static DECLARE_WAIT_QUEUE_HEAD(hosts_wait);

/* This host itself: see kr_host_self().  Fixed after init. */
static struct kr_host *selves[SELVES_MAX];
static unsigned int nr_selves;
static atomic_t next_self;

/* Hosts whose output found no send slot. */
static DEFINE_SPINLOCK(starved_lock);
static LIST_HEAD(starved);

static DEFINE_PER_CPU(struct list_head, flush_list);
static struct workqueue_struct *host_wq;
static bool is_stopping;		/* the peer cache is about to go */

/* A PATH_REQ or a PING for nobody, on its way to the worker. */
struct path_item {
	struct list_head node;
	bool is_gone;			/* answer GONE with tag */
	u64 tag;
	struct kr_path_msg pm;
};

static DEFINE_SPINLOCK(items_lock);	/* protects the three below */
static LIST_HEAD(items);
static u32 nr_items;
static struct kr_rate gone_rate;

static void items_work_fn(struct work_struct *work);
static DECLARE_WORK(items_work, items_work_fn);

bool kr_host_is_self(const u8 instance[16])
{
	return !memcmp(instance, kr_instance, 16);
}

u64 kr_host_token(const u8 instance[16])
{
	return siphash(instance, 16, &token_key);
}

static u32 instance_key(const u8 instance[16])
{
	return get_unaligned_be32(instance);
}

static void host_free_rcu(struct rcu_head *rcu)
{
	struct kr_host *host = container_of(rcu, struct kr_host, rcu);

	kfree(host);
	spin_lock_bh(&hosts_lock);
	nr_hosts--;
	spin_unlock_bh(&hosts_lock);
	wake_up(&hosts_wait);
}

void kr_host_put(struct kr_host *host)
{
	if (!refcount_dec_and_test(&host->ref))
		return;
	kr_pool_host_clean(host);
	kr_assoc_clean(&host->assoc);
	call_rcu(&host->rcu, host_free_rcu);
}

/* Output and time. */

static void starve(struct kr_host *host)
{
	spin_lock(&starved_lock);
	if (list_empty(&host->starved)) {
		refcount_inc(&host->ref);
		list_add_tail(&host->starved, &starved);
	}
	spin_unlock(&starved_lock);
}

static void *port_get(void *port, bool is_control, u8 **bytes)
{
	struct kr_host *host = port;
	struct kr_slot_tx *slot = kr_dev_slot_get(host->dev, is_control);

	if (slot)
		*bytes = slot->buf;
	return slot;
}

static void port_put(void *port, void *slot)
{
	struct kr_host *host = port;

	kr_dev_slot_put(host->dev, slot);
}

static void port_post(void *port, void *slot, u32 len)
{
	struct kr_host *host = port;

	kr_dev_post(host->dev, slot, len, host->ah, host->assoc.remote.qpn,
		    host->assoc.remote.qkey);
}

static const struct kr_port_ops port_ops = {
	.get = port_get,
	.put = port_put,
	.post = port_post,
};

/* Jiffies from now until @when, rounded up. */
static unsigned long jiffies_until(u64 when, u64 now)
{
	u64 wait = when > now ? nsecs_to_jiffies64(when - now) + 1 : 1;

	return min_t(u64, wait, MAX_JIFFY_OFFSET / 2);
}

enum { BULK_TOLD = 64 << 10 };		/* bytes */

/* The pool shall know who sends much. */
static void look_at_bulk(struct kr_host *host)
{
	lockdep_assert_held(&host->lock);
	if (host->assoc.bulk_bytes - host->bulk_told < BULK_TOLD)
		return;
	host->bulk_told = host->assoc.bulk_bytes;
	kr_pool_kick();
}

/* Sends all that may go now, and sets the timer. */
static void run_locked(struct kr_host *host)
{
	enum kr_run run = KR_RUN_DONE, lanes = KR_RUN_DONE;
	u64 now = ktime_get_ns();
	u64 when;

	lockdep_assert_held(&host->lock);
	if (host->assoc.is_loop)
		kr_loop_run(&host->assoc, now);
	else if (host->ah)
		run = kr_assoc_run(&host->assoc, &port_ops, host, now);
	if (run == KR_RUN_STARVED)
		starve(host);
	if (host->assoc.nr_lanes)
		lanes = kr_assoc_run_lanes(&host->assoc, now);
	look_at_bulk(host);
	when = kr_assoc_run_at(&host->assoc, max(run, lanes), now);
	/* A timer that fires too early only looks again. */
	if (!kr_timer_moves(host->timer_ns, &when, now))
		return;
	host->timer_ns = when;
	mod_timer(&host->timer, jiffies + jiffies_until(when, now));
}

void kr_host_lock(struct kr_host *host)
	__acquires(&host->lock)
{
	spin_lock_bh(&host->lock);
}

void kr_host_unlock(struct kr_host *host)
	__releases(&host->lock)
{
	run_locked(host);
	spin_unlock_bh(&host->lock);
}

static void on_timer(struct timer_list *timer)
{
	struct kr_host *host = from_timer(host, timer, timer);

	rcu_read_lock();
	spin_lock_bh(&host->lock);
	host->timer_ns = NEVER;
	kr_assoc_timeout(&host->assoc, ktime_get_ns());
	kr_host_unlock(host);
	rcu_read_unlock();
}

void kr_host_tx_ready(struct kr_dev *dev)
{
	struct kr_host *host;
	LIST_HEAD(list);

	spin_lock_bh(&starved_lock);
	list_splice_init(&starved, &list);
	spin_unlock_bh(&starved_lock);
	while (!list_empty(&list)) {
		host = list_first_entry(&list, struct kr_host, starved);
		spin_lock_bh(&starved_lock);
		list_del_init(&host->starved);
		spin_unlock_bh(&starved_lock);
		kr_host_lock(host);
		kr_host_unlock(host);
		kr_host_put(host);
	}
}

/* Finding and making hosts. */

static struct kr_host *find_instance_locked(const u8 instance[16])
{
	struct kr_host *host;

	lockdep_assert_held(&hosts_lock);
	hash_for_each_possible(hosts_by_instance, host, by_instance,
			       instance_key(instance))
		if (!memcmp(host->assoc.peer_instance, instance, 16))
			return host;
	return NULL;
}

static const struct kr_ops host_ops;
static void host_work_fn(struct work_struct *work);
static void end_work_fn(struct work_struct *work);

static struct kr_host *host_create(const u8 instance[16])
{
	struct kr_host *host = kzalloc(sizeof(*host), GFP_KERNEL);
	u64 id = get_random_u64() | 1;

	if (!host)
		return NULL;
	refcount_set(&host->ref, 2);	/* the tables' and the caller's */
	spin_lock_init(&host->lock);
	INIT_LIST_HEAD(&host->flush);
	INIT_LIST_HEAD(&host->carriers);
	kr_pool_host_init(host);
	INIT_LIST_HEAD(&host->starved);
	host->timer_ns = NEVER;
	timer_setup(&host->timer, on_timer, 0);
	INIT_DELAYED_WORK(&host->work, host_work_fn);
	INIT_WORK(&host->end_work, end_work_fn);
	kr_assoc_init(&host->assoc, &host_ops, host, id, kr_instance, instance,
		      ktime_get_ns());
	return host;
}

/* One more of this host itself, which no packet finds. */
static int make_self(void)
{
	struct kr_host *host = host_create(kr_instance);

	if (!host)
		return -ENOMEM;
	kr_loop_init(&host->assoc);
	spin_lock_bh(&hosts_lock);
	hash_add(hosts_by_instance, &host->by_instance, instance_key(kr_instance));
	list_add_tail(&host->node, &hosts);
	host->serial = ++last_serial;
	nr_hosts++;
	spin_unlock_bh(&hosts_lock);
	selves[nr_selves++] = host;
	kr_host_put(host);		/* the tables hold it until kr_host_exit() */
	return 0;
}

struct kr_host *kr_host_self(void)
{
	struct kr_host *host;

	host = selves[(unsigned int)atomic_inc_return(&next_self) % nr_selves];
	refcount_inc(&host->ref);
	return host;
}

struct kr_host *kr_host_get(const u8 instance[16])
{
	struct kr_host *host, *new = host_create(instance);

	spin_lock_bh(&hosts_lock);
	host = find_instance_locked(instance);
	if (host) {
		refcount_inc(&host->ref);
	} else if (new && nr_hosts < HOSTS_MAX) {
		host = new;
		new = NULL;
		hash_add_rcu(hosts_by_id, &host->by_id, (u32)host->assoc.local_id);
		hash_add(hosts_by_instance, &host->by_instance,
			 instance_key(instance));
		list_add_tail(&host->node, &hosts);
		host->serial = ++last_serial;
		nr_hosts++;
		queue_delayed_work(host_wq, &host->work,
				   nsecs_to_jiffies(KR_UNPROVEN_NS));
	}
	spin_unlock_bh(&hosts_lock);
	if (new) {
		kr_assoc_clean(&new->assoc);
		kfree(new);
	}
	return host;
}

struct kr_host *kr_host_find(const u8 instance[16])
{
	struct kr_host *host;

	spin_lock_bh(&hosts_lock);
	host = find_instance_locked(instance);
	if (host)
		refcount_inc(&host->ref);
	spin_unlock_bh(&hosts_lock);
	return host;
}

static struct kr_host *find_id_rcu(u64 id)
{
	struct kr_host *host;

	hash_for_each_possible_rcu(hosts_by_id, host, by_id, (u32)id)
		if (host->assoc.local_id == id)
			return host;
	return NULL;
}

struct kr_host *kr_host_find_id(u64 id)
{
	struct kr_host *host;

	rcu_read_lock();
	host = find_id_rcu(id);
	if (host && !refcount_inc_not_zero(&host->ref))
		host = NULL;
	rcu_read_unlock();
	return host;
}

static struct kr_host *find_remote_rcu(u64 id)
{
	struct kr_host *host;

	hash_for_each_possible_rcu(hosts_by_remote, host, by_remote, (u32)id)
		if (READ_ONCE(host->assoc.remote_id) == id)
			return host;
	return NULL;
}

/*
 * The peer's association id is known, or another one: GONE names us by it.  A reader
 * on the old list goes astray at worst, and then GONE is lost, which comes again.
 */
static void index_remote(struct kr_host *host)
{
	u64 id = READ_ONCE(host->assoc.remote_id);

	spin_lock_bh(&hosts_lock);
	if (!hlist_unhashed(&host->by_instance) && id && host->remote_key != id) {
		hash_del_rcu(&host->by_remote);
		host->remote_key = id;
		hash_add_rcu(hosts_by_remote, &host->by_remote, (u32)id);
	}
	spin_unlock_bh(&hosts_lock);
}

/* The end of a host. */

static void drop_path_locked(struct kr_host *host)
{
	lockdep_assert_held(&host->lock);
	if (host->ah)
		kr_dev_ah_put(host->ah);
	if (host->dev)
		kr_dev_put(host->dev);
	host->ah = NULL;
	host->dev = NULL;
}

/*
 * After the tables have forgotten the host these can still look: the timer and
 * the works (cancelled here), a receive batch (RCU and its own reference), VQPs
 * (a reference each).  Core is ended first, so that none of them changes anything.
 */
static void end_work_fn(struct work_struct *work)
{
	struct kr_host *host = container_of(work, struct kr_host, end_work);
	bool is_more;

	kr_peer_forget(host);
	cancel_delayed_work_sync(&host->work);
	kr_carriers_end(host, NULL);
	do {
		rcu_read_lock();
		kr_host_lock(host);
		is_more = kr_assoc_abort_some(&host->assoc, host->end_err,
					      ktime_get_ns());
		spin_unlock_bh(&host->lock);
		rcu_read_unlock();
		cond_resched();
	} while (is_more);
	del_timer_sync(&host->timer);
	spin_lock_bh(&host->lock);
	drop_path_locked(host);
	spin_unlock_bh(&host->lock);
	kr_host_put(host);
}

/* No connection comes to it any more; kr_host_gone() has to follow. */
static void end_locked(struct kr_host *host, int err)
{
	lockdep_assert_held(&host->lock);
	if (!host->assoc.is_ended)
		host->end_err = err;
	kr_assoc_end(&host->assoc);
}

void kr_host_gone(struct kr_host *host, int err)
{
	bool is_first;

	spin_lock_bh(&hosts_lock);
	is_first = !hlist_unhashed(&host->by_instance);
	if (is_first) {
		hash_del_rcu(&host->by_id);
		hash_del_rcu(&host->by_remote);
		hash_del(&host->by_instance);
		list_del(&host->node);
	}
	spin_unlock_bh(&hosts_lock);
	if (!is_first)
		return;
	spin_lock_bh(&host->lock);
	end_locked(host, err);
	spin_unlock_bh(&host->lock);
	kr_stat_inc(KR_STAT_hosts_gone);
	queue_work(host_wq, &host->end_work);
}

/* Looks for the peer of an unreachable host. */
static void ask_peer(struct kr_host *host)
{
	if (!READ_ONCE(is_stopping))
		kr_peer_check(host);
}

/* The path. */

static void use_path_locked(struct kr_host *host, struct kr_dev *dev,
			    struct kr_ah *ah)
{
	drop_path_locked(host);
	host->dev = dev;
	host->ah = ah;
}

/* An AH from one of our devices to @remote; 0 or -errno. */
static int reach(const struct kr_end *remote, struct kr_dev **dev,
		 struct kr_end *local, struct kr_ah **ah)
{
	*dev = kr_dev_get_for(remote, local);
	if (!*dev)
		return -ENODEV;
	*ah = kr_dev_ah_create(*dev, local, remote);
	if (IS_ERR(*ah)) {
		kr_dev_put(*dev);
		return PTR_ERR(*ah);
	}
	return 0;
}

static void note_hello_locked(struct kr_host *host, const struct kr_hello *answer,
			      u64 net_id)
{
	host->hello.net_id = net_id;
	host->hello.family = answer->family;
	memcpy(host->hello.saddr, answer->saddr, 16);
	memcpy(host->hello.daddr, answer->daddr, 16);
}

static u8 addr_of_gid(const u8 gid[16], u8 addr[16])
{
	bool is_v4 = kr_gid_class(gid) == KR_GID_IPV4;

	memset(addr, 0, 16);
	memcpy(addr, is_v4 ? gid + 12 : gid, is_v4 ? 4 : 16);
	return is_v4 ? 4 : 6;
}

/*
 * It was the peer who asked.  When this host comes back with another QP, only a hello
 * of its own tells it the peer's: by lanes the peer hears it and looks for nothing.
 */
static void note_ends_locked(struct kr_host *host, const struct kr_end *local,
			     const struct kr_end *remote)
{
	lockdep_assert_held(&host->lock);
	if (host->hello.family || kr_gid_class(remote->gid) == KR_GID_LINK)
		return;
	host->hello.net_id = kr_netns(&init_net)->id;
	addr_of_gid(local->gid, host->hello.saddr);
	host->hello.family = addr_of_gid(remote->gid, host->hello.daddr);
}

int kr_host_prove(struct kr_host *host, const struct kr_hello *answer,
		  u64 net_id, bool *is_ready)
{
	struct kr_end local;
	struct kr_dev *dev;
	struct kr_ah *ah;
	enum kr_path_need need;
	int i, err;
	u64 now;

	kr_host_lock(host);
	note_hello_locked(host, answer, net_id);
	need = kr_assoc_path_need(&host->assoc, answer->ends, answer->nr_ends);
	spin_unlock_bh(&host->lock);
	*is_ready = need == KR_PATH_IS_PROVEN;
	err = need == KR_PATH_IS_WANTED ? -ENODEV : 0;
	for (i = 0; err && i < answer->nr_ends; i++) {
		err = reach(&answer->ends[i], &dev, &local, &ah);
		if (err)
			continue;
		kr_host_lock(host);
		now = ktime_get_ns();
		if (host->assoc.is_ended) {
			err = -ECONNRESET;
			kr_host_unlock(host);
			kr_dev_ah_put(ah);
			kr_dev_put(dev);
			break;
		}
		if (host->assoc.path == KR_PATH_READY)
			kr_assoc_path_lost(&host->assoc, now);
		use_path_locked(host, dev, ah);
		kr_assoc_path_start(&host->assoc, &local, &answer->ends[i],
				    answer->token, now);
		kr_host_unlock(host);
	}
	return err;
}

bool kr_host_has_path(struct kr_host *host, const struct kr_hello *answer)
{
	enum kr_path_need need;

	spin_lock_bh(&host->lock);
	need = kr_assoc_path_need(&host->assoc, answer->ends, answer->nr_ends);
	spin_unlock_bh(&host->lock);
	return need == KR_PATH_IS_PROVEN;
}

static void answer_path_req(const struct kr_path_msg *pm)
{
	struct kr_host *host = kr_host_get(pm->instance);
	struct kr_end local;
	struct kr_dev *dev;
	struct kr_ah *ah;
	int err;

	if (!host)
		return;
	err = reach(&pm->end, &dev, &local, &ah);
	if (!err) {
		kr_host_lock(host);
		err = kr_assoc_path_req(&host->assoc, &local, pm, ktime_get_ns());
		if (!err) {
			use_path_locked(host, dev, ah);
			note_ends_locked(host, &local, &pm->end);
		}
		if (err == -ESTALE)
			end_locked(host, ECONNRESET);
		kr_host_unlock(host);
		if (err) {
			kr_dev_ah_put(ah);
			kr_dev_put(dev);
		}
		if (!err)
			index_remote(host);
		else if (err == -ESTALE)
			kr_host_gone(host, ECONNRESET);
		else if (err == -ENOTCONN)
			ask_peer(host);
	}
	kr_host_put(host);
}

/* "There is no association with this tag here", to the sender of a PING. */
static void send_gone(const struct kr_end *to, u64 tag)
{
	struct kr_slot_tx *slot;
	struct kr_end local;
	struct kr_dev *dev;
	struct kr_ah *ah;

	if (reach(to, &dev, &local, &ah))
		return;
	local_bh_disable();
	slot = kr_dev_slot_get(dev, true);
	if (slot) {
		kr_dev_post(dev, slot, kr_packet_put_gone(slot->buf, tag), ah, to->qpn,
			    to->qkey);
		kr_stat_inc(KR_STAT_gone_sent);
	}
	local_bh_enable();
	kr_dev_ah_put(ah);
	kr_dev_put(dev);
}

static void items_work_fn(struct work_struct *work)
{
	struct path_item *item;

	for (;;) {
		spin_lock_bh(&items_lock);
		item = list_first_entry_or_null(&items, struct path_item, node);
		if (item) {
			list_del(&item->node);
			nr_items--;
		}
		spin_unlock_bh(&items_lock);
		if (!item)
			return;
		if (item->is_gone)
			send_gone(&item->pm.end, item->tag);
		else
			answer_path_req(&item->pm);
		kfree(item);
	}
}

static void queue_item(const struct kr_path_msg *pm, bool is_gone, u64 tag)
{
	struct path_item *item = kmalloc(sizeof(*item), GFP_ATOMIC | __GFP_NOWARN);

	if (!item)
		return;
	item->pm = *pm;
	item->is_gone = is_gone;
	item->tag = tag;
	spin_lock_bh(&items_lock);
	if (nr_items < PATH_REQS_MAX) {
		nr_items++;
		list_add_tail(&item->node, &items);
		item = NULL;
	}
	spin_unlock_bh(&items_lock);
	kfree(item);
	queue_work(host_wq, &items_work);
}

static void on_path_req(struct kr_assoc *a, const struct kr_path_msg *pm)
{
	queue_item(pm, false, 0);
}

static void on_path_event(struct kr_assoc *a, enum kr_path_event event)
{
	struct kr_host *host = a->owner;

	switch (event) {
	case KR_PATH_EV_READY:
		kr_stat_inc(KR_STAT_paths_ready);
		break;
	case KR_PATH_EV_FAILED:
		kr_stat_inc(KR_STAT_paths_failed);
		break;
	case KR_PATH_EV_SILENT:
		kr_stat_inc(KR_STAT_paths_silent);
		break;
	}
	trace_kr_path(get_unaligned_be64(a->peer_instance), a->path);
	__set_bit(event, &host->path_events);
	mod_delayed_work(host_wq, &host->work, 0);
}

static void tell_peer_cache(struct kr_host *host, unsigned long events)
{
	if (test_bit(KR_PATH_EV_READY, &events)) {
		index_remote(host);
		kr_peer_on_path(host, true);
	}
	if (test_bit(KR_PATH_EV_FAILED, &events))
		kr_peer_on_path(host, false);
}

static void host_work_fn(struct work_struct *work)
{
	struct kr_host *host = container_of(to_delayed_work(work), struct kr_host,
					    work);
	unsigned long events;
	enum kr_check check;
	bool wants_lane;
	u64 after_ns;
	int err;

	spin_lock_bh(&host->lock);
	events = host->path_events;
	host->path_events = 0;
	check = kr_assoc_check(&host->assoc, host_timeout_ms * KR_MSEC, ktime_get_ns(),
			       &after_ns, &err);
	/* Under the same lock: who comes back in this moment must not be ended. */
	if (check == KR_CHECK_END)
		end_locked(host, err);
	wants_lane = kr_assoc_wants_last_lane(&host->assoc);
	spin_unlock_bh(&host->lock);

	tell_peer_cache(host, events);
	if (check == KR_CHECK_END)
		kr_host_gone(host, err);
	if (check == KR_CHECK_ASK)
		ask_peer(host);
	/* What does not come about is tried again with the next check. */
	if (check == KR_CHECK_ASK && wants_lane)
		kr_tcp_ask(host);
	if (check == KR_CHECK_ASK || check == KR_CHECK_LATER)
		queue_delayed_work(host_wq, &host->work, nsecs_to_jiffies(after_ns));
}

/* Packets. */

static void receive_gone(u64 tag)
{
	struct kr_host *host = find_remote_rcu(tag);

	if (host)
		kr_host_gone(host, ECONNRESET);
}

static bool may_send_gone(void)
{
	bool is_ok;

	spin_lock_bh(&items_lock);
	is_ok = kr_rate_is_ok(&gone_rate, GONE_PER_SECOND, ktime_get_ns());
	spin_unlock_bh(&items_lock);
	if (!is_ok)
		kr_stat_inc(KR_STAT_gone_limited);
	return is_ok;
}

static void note_dirty_locked(struct kr_host *host)
{
	lockdep_assert_held(&host->lock);
	if (host->is_dirty)
		return;
	host->is_dirty = true;
	refcount_inc(&host->ref);
	list_add_tail(&host->flush, this_cpu_ptr(&flush_list));
}

static void receive_tagged_rcu(const struct kr_packet *p)
{
	struct kr_path_msg pm = { 0 };
	struct kr_host *host;

	host = find_id_rcu(p->hdr.tag);
	if (host) {
		spin_lock_bh(&host->lock);
		kr_assoc_input(&host->assoc, &p->hdr, p->body, ktime_get_ns());
		note_dirty_locked(host);
		spin_unlock_bh(&host->lock);
		return;
	}
	kr_stat_inc(KR_STAT_rx_no_assoc);
	if (kr_packet_wants_gone(p, &pm.end) && may_send_gone())
		queue_item(&pm, true, p->hdr.tag);
}

void kr_host_receive(struct kr_dev *dev, const u8 *packet, u32 len)
{
	struct kr_packet p;

	kr_packet_sort(packet, len, &p);
	rcu_read_lock();
	if (p.kind == KR_PACKET_TAGGED)
		receive_tagged_rcu(&p);
	else if (p.kind == KR_PACKET_GONE)
		receive_gone(p.gone_id);
	else if (p.kind == KR_PACKET_PATH_REQ && p.pm.token == kr_host_token(p.pm.instance) &&
		 !kr_host_is_self(p.pm.instance))
		queue_item(&p.pm, false, 0);
	else
		kr_stat_inc(KR_STAT_rx_malformed);
	rcu_read_unlock();
}

void kr_host_flush(void)
{
	struct list_head *list = this_cpu_ptr(&flush_list);
	struct kr_host *host;

	while (!list_empty(list)) {
		host = list_first_entry(list, struct kr_host, flush);
		spin_lock_bh(&host->lock);
		list_del_init(&host->flush);
		host->is_dirty = false;
		kr_host_unlock(host);
		kr_host_put(host);
	}
}

/* Devices. */

void kr_host_for_each(void (*fn)(struct kr_host *host, void *arg), void *arg)
{
	struct kr_host *host, *prev = NULL;

	spin_lock_bh(&hosts_lock);
	list_for_each_entry(host, &hosts, node) {
		refcount_inc(&host->ref);
		spin_unlock_bh(&hosts_lock);
		if (prev)
			kr_host_put(prev);
		fn(host, arg);
		prev = host;
		spin_lock_bh(&hosts_lock);
		/* Ended meanwhile: its place in the list is lost; start over. */
		if (hlist_unhashed(&host->by_instance))
			host = list_entry(&hosts, struct kr_host, node);
	}
	spin_unlock_bh(&hosts_lock);
	if (prev)
		kr_host_put(prev);
}

static void look_for_path(struct kr_host *host, void *arg)
{
	spin_lock_bh(&host->lock);
	/* Under the lock: a host that has ended must not get its work back. */
	if (!host->assoc.is_ended)
		mod_delayed_work(host_wq, &host->work, 0);
	spin_unlock_bh(&host->lock);
}

void kr_host_dev_changed(void)
{
	kr_host_for_each(look_for_path, NULL);
}

static void leave_dev(struct kr_host *host, void *arg)
{
	spin_lock_bh(&host->lock);
	if (host->dev == arg) {
		kr_assoc_path_lost(&host->assoc, ktime_get_ns());
		drop_path_locked(host);
		if (!host->assoc.is_ended)
			mod_delayed_work(host_wq, &host->work,
					 nsecs_to_jiffies(KR_CHECK_NS / 10));
	}
	/* Lanes have to tell the peer. */
	kr_host_unlock(host);
	kr_carriers_end(host, arg);
}

void kr_host_dev_gone(struct kr_dev *dev)
{
	kr_host_for_each(leave_dev, dev);
	/* One that was just about to take the device does so in a worker. */
	flush_workqueue(host_wq);
	kr_host_for_each(leave_dev, dev);
	/* Who waited for a slot of this device waits no more, nor is held for it. */
	kr_host_tx_ready(dev);
}

/* For krcorectl. */

static void fill_info_locked(struct kr_host *host, struct kr_host_info *info)
{
	const struct kr_assoc *a = &host->assoc;

	lockdep_assert_held(&host->lock);
	memcpy(info->instance, a->peer_instance, 16);
	info->path = a->path;
	if (host->dev)
		strscpy(info->dev_name, kr_dev_name(host->dev), sizeof(info->dev_name));
	memcpy(info->local_gid, a->local.gid, 16);
	memcpy(info->remote_gid, a->remote.gid, 16);
	info->local_qpn = a->local.qpn;
	info->remote_qpn = a->remote.qpn;
	info->mtu = a->mtu;
	info->nr_vqps = a->nr_vqps;
	info->srtt_us = div_u64(a->ch.srtt_ns, NSEC_PER_USEC);
	info->rttvar_us = div_u64(a->ch.rttvar_ns, NSEC_PER_USEC);
	info->cwnd = kr_cc_window(&a->ch.cc);
	info->inflight = a->ch.inflight;
	info->tx_packets = a->stats.tx_packets;
	info->tx_bytes = a->stats.tx_bytes;
	info->rx_packets = a->stats.rx_packets;
	info->rx_bytes = a->stats.rx_bytes;
	info->lost = a->ch.nr_lost;
	info->spurious = a->ch.nr_spurious;
	info->pto = a->ch.nr_pto;
	info->dup = a->ch.nr_dup;
	info->malformed = a->stats.rx_malformed;
	info->refused = a->stats.rx_refused;
	info->unknown = a->stats.rx_unknown;
	info->nr_lanes = a->nr_up;
}

bool kr_host_info_get(u64 *cursor, struct kr_host_info *info)
{
	struct kr_host *host;
	bool is_found = false;

	spin_lock_bh(&hosts_lock);
	list_for_each_entry(host, &hosts, node) {
		is_found = host->serial > *cursor && !host->assoc.is_loop;
		if (!is_found)
			continue;
		refcount_inc(&host->ref);
		*cursor = host->serial;
		break;
	}
	spin_unlock_bh(&hosts_lock);
	if (!is_found)
		return false;
	memset(info, 0, sizeof(*info));
	spin_lock_bh(&host->lock);
	fill_info_locked(host, info);
	spin_unlock_bh(&host->lock);
	kr_host_put(host);
	return true;
}

static const struct kr_ops host_ops = {
	.incoming = kr_ep_incoming,
	.event = kr_ep_event,
	.released = kr_ep_released,
	.arm = kr_ep_arm,
	.path_event = on_path_event,
	.path_req = on_path_req,
	.lane_failed = kr_carrier_lane_failed,
};

int kr_host_init(void)
{
	int cpu, err = 0;

	get_random_bytes(kr_instance, sizeof(kr_instance));
	get_random_bytes(&token_key, sizeof(token_key));
	for_each_possible_cpu(cpu)
		INIT_LIST_HEAD(per_cpu_ptr(&flush_list, cpu));
	host_wq = alloc_workqueue("krcore_host", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!host_wq)
		return -ENOMEM;
	while (!err && nr_selves < min_t(unsigned int, nr_cpu_ids, SELVES_MAX))
		err = make_self();
	if (err)
		kr_host_exit();
	return err;
}

static bool is_empty(void)
{
	bool ret;

	spin_lock_bh(&hosts_lock);
	ret = !nr_hosts;
	spin_unlock_bh(&hosts_lock);
	return ret;
}

void kr_host_stop(void)
{
	WRITE_ONCE(is_stopping, true);
	flush_workqueue(host_wq);
}

/* No socket and no device is left, so nobody makes new hosts. */
void kr_host_exit(void)
{
	struct kr_host *host;

	flush_workqueue(host_wq);
	for (;;) {
		spin_lock_bh(&hosts_lock);
		host = list_first_entry_or_null(&hosts, struct kr_host, node);
		if (host)
			refcount_inc(&host->ref);
		spin_unlock_bh(&hosts_lock);
		if (!host)
			break;
		kr_host_gone(host, ECONNRESET);
		kr_host_put(host);
	}
	nr_selves = 0;
	wait_event(hosts_wait, is_empty());
	destroy_workqueue(host_wq);
	rcu_barrier();
}
