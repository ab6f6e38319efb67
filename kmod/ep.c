// SPDX-License-Identifier: GPL-2.0
/* Endpoints: VQPs with their timer and their way to the socket.  See ep.h. */
#include <linux/module.h>
#include <linux/slab.h>
#include "ep.h"
#include "sock.h"
#include "trace.h"

static unsigned int max_orphans = 16384;
module_param(max_orphans, uint, 0644);
MODULE_PARM_DESC(max_orphans,
		 "connections that may live on after close(), to deliver what was written");
static atomic_t nr_orphans;		/* up in kr_ep_orphan(), down in settle_orphan() */

static void on_timer(struct timer_list *timer)
{
	struct kr_ep *ep = from_timer(ep, timer, timer);

	rcu_read_lock();
	kr_host_lock(ep->host);
	kr_vqp_timeout(&ep->vqp, ktime_get_ns());
	kr_host_unlock(ep->host);
	rcu_read_unlock();
	kr_ep_put(ep);
}

struct kr_ep *kr_ep_create(struct kr_host *host, u32 tx_limit, u32 rx_limit,
			   void *owner, gfp_t gfp)
{
	struct kr_ep *ep = kzalloc(sizeof(*ep), gfp | __GFP_NOWARN);

	if (!ep)
		return NULL;
	kr_vqp_init(&ep->vqp, KR_KIND_STREAM, tx_limit, rx_limit, owner);
	refcount_set(&ep->ref, 1);
	refcount_inc(&host->ref);
	ep->host = host;
	timer_setup(&ep->timer, on_timer, 0);
	INIT_LIST_HEAD(&ep->accept);
	return ep;
}

void kr_ep_get(struct kr_ep *ep)
{
	refcount_inc(&ep->ref);
}

static void free_rcu_fn(struct rcu_head *rcu)
{
	struct kr_ep *ep = container_of(rcu, struct kr_ep, rcu);
	struct kr_host *host = ep->host;

	kr_vqp_clean(&ep->vqp);
	kfree(ep);
	kr_host_put(host);
}

void kr_ep_put(struct kr_ep *ep)
{
	if (refcount_dec_and_test(&ep->ref))
		call_rcu(&ep->rcu, free_rcu_fn);
}

void kr_ep_arm(struct kr_vqp *v, u64 when)
{
	struct kr_ep *ep = container_of(v, struct kr_ep, vqp);
	u64 now = ktime_get_ns();
	unsigned long wait = when > now ? nsecs_to_jiffies(when - now) + 1 : 1;

	/* A timer that is on its way has its own reference; it looks again. */
	if (!mod_timer(&ep->timer, jiffies + min(wait, (unsigned long)MAX_JIFFY_OFFSET / 2)))
		kr_ep_get(ep);
}

/* One that only waits for the peer's FIN holds no bytes, and for a time only. */
static bool has_to_deliver(const struct kr_ep *ep)
{
	return ep->vqp.is_attached && !ep->vqp.tx.is_fin_accepted;
}

static void settle_orphan(struct kr_ep *ep)
{
	if (!ep->is_orphan || has_to_deliver(ep))
		return;
	ep->is_orphan = false;
	atomic_dec(&nr_orphans);
}

bool kr_ep_orphan(struct kr_ep *ep)
{
	lockdep_assert_held(&ep->host->lock);
	if (!has_to_deliver(ep))
		return true;
	if (atomic_inc_return(&nr_orphans) > READ_ONCE(max_orphans)) {
		atomic_dec(&nr_orphans);
		kr_stat_inc(KR_STAT_orphans_reset);
		return false;
	}
	ep->is_orphan = true;
	return true;
}

static const char *cause_of(u32 events)
{
	if (events & KR_EV_END)
		return "ended";
	return events & KR_EV_REFUSED ? "refused" : "opened";
}

void kr_ep_hurry(struct kr_ep *ep)
{
	/* Racy look: what comes later is not for those who wait now. */
	if (READ_ONCE(ep->vqp.pending) != KR_SEND_CONFIRM)
		return;
	kr_host_lock(ep->host);
	kr_vqp_hurry(&ep->vqp);
	kr_host_unlock(ep->host);
}

void kr_ep_event(struct kr_vqp *v, u32 events)
{
	struct kr_ep *ep = container_of(v, struct kr_ep, vqp);

	lockdep_assert_held(&ep->host->lock);
	if (v->state != ep->traced)
		trace_kr_vqp_state(v->id, ep->traced, v->state, cause_of(events));
	ep->traced = v->state;
	settle_orphan(ep);
	if (events & KR_EV_OPEN && v->is_server)
		kr_listen_confirmed(ep);
	if (ep->sk)
		kr_sock_event(ep->sk, ep, events);
}

void kr_ep_released(struct kr_vqp *v)
{
	struct kr_ep *ep = container_of(v, struct kr_ep, vqp);

	/* Also one that could not even be attached: it is not a server yet. */
	kr_listen_released(ep);
	settle_orphan(ep);
	if (del_timer(&ep->timer))
		kr_ep_put(ep);
	kr_ep_put(ep);
}

int kr_ep_incoming(struct kr_assoc *a, const struct kr_connect *c,
		   struct kr_vqp **out)
{
	struct kr_ep *ep = NULL;
	int ret = kr_listen_incoming(a->owner, c, &ep);

	if (!ret)
		*out = &ep->vqp;
	else if (ret > 0)
		kr_stat_inc(KR_STAT_rejects_sent);
	else
		kr_stat_inc(KR_STAT_backlog_full);
	return ret;
}
