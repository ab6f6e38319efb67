// SPDX-License-Identifier: GPL-2.0
/* The RC pool's work: what hosts sent, and what core/pool.c decides: see pool.h. */
#include <linux/module.h>
#include <linux/shrinker.h>
#include "core/limits.h"
#include "host.h"
#include "pool.h"
#include "rc.h"
#include "stats.h"

static void work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(pool_work, work_fn);

static DEFINE_SPINLOCK(pool_lock);
static struct kr_pool pool;
static bool is_ready;			/* pool_lock; between start and stop */

enum {
	IS_KICKED,			/* bit of flags: the work runs soon */
};

static unsigned long flags;

/* Run-time settings, looked at by the work. */
static int set_uint(const char *val, const struct kernel_param *kp)
{
	int err = param_set_uint(val, kp);

	if (!err)
		kr_pool_kick();
	return err;
}

static const struct kernel_param_ops uint_ops = { .set = set_uint, .get = param_get_uint };

static unsigned int rc_max = 64;
module_param_cb(rc_max, &uint_ops, &rc_max, 0644);
MODULE_PARM_DESC(rc_max, "RC queue pairs of this host in all (0: none)");

static unsigned int rc_per_host = 1;
module_param_cb(rc_per_host, &uint_ops, &rc_per_host, 0644);
MODULE_PARM_DESC(rc_per_host, "RC queue pairs to one remote host");

static unsigned int rc_earn_kb = 1024;
module_param_cb(rc_earn_kb, &uint_ops, &rc_earn_kb, 0644);
MODULE_PARM_DESC(rc_earn_kb, "a remote host gets one for so many recent KiB of bulk");

static unsigned int rc_idle_s = 10;
module_param_cb(rc_idle_s, &uint_ops, &rc_idle_s, 0644);
MODULE_PARM_DESC(rc_idle_s, "one is given back after so long without bulk (s)");

static void apply_settings_locked(void)
{
	struct kr_pool_limits limits = {
		.max = READ_ONCE(rc_max),
		.per_host = READ_ONCE(rc_per_host),
		.earn_bytes = (u64)READ_ONCE(rc_earn_kb) << 10,
		.idle_ns = READ_ONCE(rc_idle_s) * KR_SEC,
	};

	lockdep_assert_held(&pool_lock);
	if (memcmp(&limits, &pool.limits, sizeof(limits)))
		kr_pool_set_limits(&pool, &limits);
}

static void note(struct kr_host *host, void *arg)
{
	u64 bytes = READ_ONCE(host->assoc.bulk_bytes);
	bool *is_busy = arg;

	if (bytes == host->pool.seen)
		return;
	*is_busy = true;
	spin_lock_bh(&pool_lock);
	kr_pool_note(&pool, &host->pool.member, bytes - host->pool.seen, ktime_get_ns());
	spin_unlock_bh(&pool_lock);
	host->pool.seen = bytes;
}

/* The next decision, with a reference to its host in *@host. */
static enum kr_pool_act decide(struct kr_host **host)
{
	struct kr_member *m;
	enum kr_pool_act act;

	spin_lock_bh(&pool_lock);
	act = kr_pool_step(&pool, ktime_get_ns(), &m);
	if (act != KR_POOL_NOTHING) {
		*host = container_of(m, struct kr_host, pool.member);
		/* One that is about to go has no QP to end, and gets none. */
		if (!refcount_inc_not_zero(&(*host)->ref)) {
			kr_pool_failed(&pool, m, ktime_get_ns());
			*host = NULL;
		} else if (act != KR_POOL_MAKE) {
			(*host)->pool.nr_told++;
		}
	}
	spin_unlock_bh(&pool_lock);
	return act;
}

static void carry_out(enum kr_pool_act act, struct kr_host *host)
{
	if (act != KR_POOL_MAKE) {
		if (act == KR_POOL_END_EVICTED)
			kr_stat_inc(KR_STAT_rc_evicted);
		if (act == KR_POOL_END_MEMORY)
			kr_stat_inc(KR_STAT_rc_reclaimed);
		kr_rc_end_one(host);
	} else if (kr_rc_ask(host)) {
		kr_pool_rc_gone(host, false);
	}
}

static void work_fn(struct work_struct *work)
{
	struct kr_host *host;
	enum kr_pool_act act;
	bool is_busy = false;
	u64 now, next;

	clear_bit(IS_KICKED, &flags);
	kr_host_for_each(note, &is_busy);
	spin_lock_bh(&pool_lock);
	apply_settings_locked();
	spin_unlock_bh(&pool_lock);
	while ((act = decide(&host)) != KR_POOL_NOTHING) {
		if (!host)
			continue;
		carry_out(act, host);
		kr_host_put(host);
	}
	spin_lock_bh(&pool_lock);
	now = ktime_get_ns();
	next = kr_pool_next_ns(&pool, now);
	spin_unlock_bh(&pool_lock);
	if (is_busy)
		next = min(next, now + KR_POOL_NS);
	if (next != ~0ull)
		queue_delayed_work(system_unbound_wq, &pool_work,
				   nsecs_to_jiffies(max(next, now + KR_POOL_NS / 4) - now));
}

void kr_pool_kick(void)
{
	spin_lock_bh(&pool_lock);
	/* Those who come before the work runs must not put it off. */
	if (is_ready && !test_and_set_bit(IS_KICKED, &flags))
		mod_delayed_work(system_unbound_wq, &pool_work,
				 nsecs_to_jiffies(KR_POOL_NS / 4));
	spin_unlock_bh(&pool_lock);
}

bool kr_pool_may_accept(struct kr_host *host)
{
	bool is_taken;

	spin_lock_bh(&pool_lock);
	is_taken = kr_pool_take(&pool, &host->pool.member, ktime_get_ns());
	spin_unlock_bh(&pool_lock);
	return is_taken;
}

void kr_pool_rc_made(struct kr_host *host)
{
	spin_lock_bh(&pool_lock);
	kr_pool_made(&pool, &host->pool.member, ktime_get_ns());
	spin_unlock_bh(&pool_lock);
	/* Its idle time runs. */
	kr_pool_kick();
}

void kr_pool_rc_gone(struct kr_host *host, bool was_made)
{
	struct kr_member *m = &host->pool.member;
	u64 now = ktime_get_ns();

	spin_lock_bh(&pool_lock);
	if (!was_made) {
		kr_pool_failed(&pool, m, now);
	} else {
		/* One that died counts for one that was told to end, if there is any. */
		if (host->pool.nr_told)
			host->pool.nr_told--;
		else
			kr_pool_lost(&pool, m, now);
		kr_pool_ended(&pool, m);
	}
	spin_unlock_bh(&pool_lock);
	kr_pool_kick();
}

void kr_pool_host_init(struct kr_host *host)
{
	kr_member_init(&host->pool.member);
}

void kr_pool_host_clean(struct kr_host *host)
{
	spin_lock_bh(&pool_lock);
	kr_member_clean(&pool, &host->pool.member);
	spin_unlock_bh(&pool_lock);
}

/* Memory is short: QPs, each with some 1.6 MiB of buffers, go back.  Context: reclaim. */

static unsigned long shrink_count(struct shrinker *s, struct shrink_control *sc)
{
	u32 nr = 0;

	spin_lock_bh(&pool_lock);
	if (is_ready)
		nr = kr_pool_reclaimable(&pool, ktime_get_ns());
	spin_unlock_bh(&pool_lock);
	return nr ?: SHRINK_EMPTY;
}

/* They are freed by the work, soon. */
static unsigned long shrink_scan(struct shrinker *s, struct shrink_control *sc)
{
	u32 nr = 0;

	spin_lock_bh(&pool_lock);
	if (is_ready)
		nr = kr_pool_reclaim(&pool, min_t(ulong, sc->nr_to_scan, U32_MAX), ktime_get_ns());
	spin_unlock_bh(&pool_lock);
	if (!nr)
		return SHRINK_STOP;
	kr_pool_kick();
	return nr;
}

static struct shrinker shrinker = {
	.count_objects = shrink_count,
	.scan_objects = shrink_scan,
	.seeks = DEFAULT_SEEKS,
};

int kr_pool_start(void)
{
	struct kr_pool_limits none = { 0 };

	spin_lock_bh(&pool_lock);
	kr_pool_init(&pool, &none);
	apply_settings_locked();
	is_ready = true;
	spin_unlock_bh(&pool_lock);
	return register_shrinker(&shrinker, "krcore-rc");
}

void kr_pool_stop(void)
{
	unregister_shrinker(&shrinker);
	spin_lock_bh(&pool_lock);
	is_ready = false;		/* nobody queues the work after this */
	spin_unlock_bh(&pool_lock);
	cancel_delayed_work_sync(&pool_work);
}
