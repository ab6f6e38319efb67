// SPDX-License-Identifier: GPL-2.0
/* The common life of RC queue pairs and TCP connections between hosts: see carrier.h. */
#include "carrier.h"
#include "dev.h"
#include "host.h"
#include "stats.h"
#include "trace.h"

enum {
	IS_ENDING,			/* bit of kr_carrier.flags */
};

static struct workqueue_struct *end_wq;

static void end_work_fn(struct work_struct *work)
{
	struct kr_carrier *c = container_of(work, struct kr_carrier, end_work);
	struct kr_host *host = c->host;
	struct kr_dev *dev = c->dev;

	kr_host_lock(host);
	kr_assoc_lane_close(&host->assoc, &c->lane, ktime_get_ns());
	list_del_init(&c->node);
	kr_host_unlock(host);
	c->ops->destroy(c);
	if (dev)
		kr_dev_put(dev);
	kr_host_put(host);
}

int kr_carrier_init(struct kr_carrier *c, const struct kr_carrier_ops *ops,
		    struct kr_host *host, struct kr_dev *dev, bool is_asked)
{
	int err = -ECONNRESET;

	if (dev && !kr_dev_try_get(dev))
		return err;
	c->ops = ops;
	c->host = host;
	c->dev = dev;
	c->is_asked = is_asked;
	c->born_ns = ktime_get_ns();
	INIT_WORK(&c->end_work, end_work_fn);
	spin_lock_bh(&host->lock);
	/* Who ends the host's carriers later finds it, or it is not made. */
	if (!host->assoc.is_ended && !(dev && kr_dev_is_dead(dev))) {
		refcount_inc(&host->ref);
		list_add_tail(&c->node, &host->carriers);
		err = 0;
	}
	spin_unlock_bh(&host->lock);
	if (err && dev)
		kr_dev_put(dev);
	return err;
}

int kr_carrier_open(struct kr_carrier *c, const struct kr_offer *peer, bool is_last,
		    const struct kr_port_ops *port_ops)
{
	struct kr_host *host = c->host;
	struct kr_lane_terms terms = {
		.size = peer->size,
		.credits = peer->credits,
		.is_last = is_last,
		.ops = port_ops,
		.port = c,
	};
	int err = -ECONNRESET;

	kr_host_lock(host);
	if (!test_bit(IS_ENDING, &c->flags))
		err = kr_assoc_lane_open(&host->assoc, &c->lane, &terms, ktime_get_ns());
	trace_kr_carrier(get_unaligned_be64(host->assoc.peer_instance), c->ops->kind, !err);
	kr_host_unlock(host);
	return err;
}

void kr_carrier_end(struct kr_carrier *c)
{
	if (test_and_set_bit(IS_ENDING, &c->flags))
		return;
	trace_kr_carrier(get_unaligned_be64(c->host->assoc.peer_instance), c->ops->kind, false);
	queue_work(end_wq, &c->end_work);
}

bool kr_carrier_is_ending(const struct kr_carrier *c)
{
	return test_bit(IS_ENDING, &c->flags);
}

void kr_carrier_receive(struct kr_carrier *c, const u8 *packet, u32 len)
{
	struct kr_host *host = c->host;

	kr_host_lock(host);
	if (c->lane.state != KR_LANE_CLOSED)
		kr_assoc_lane_input(&host->assoc, &c->lane, packet, len, ktime_get_ns());
	kr_host_unlock(host);
}

void kr_carrier_tx_ready(struct kr_carrier *c)
{
	kr_host_lock(c->host);
	kr_host_unlock(c->host);
}

void kr_carrier_lane_failed(struct kr_assoc *a, struct kr_lane *l)
{
	kr_stat_inc(KR_STAT_lanes_failed);
	kr_carrier_end(container_of(l, struct kr_carrier, lane));
}

void kr_carriers_end(struct kr_host *host, const struct kr_dev *dev)
{
	struct kr_carrier *c;

	spin_lock_bh(&host->lock);
	list_for_each_entry(c, &host->carriers, node)
		if (!dev || c->dev == dev)
			kr_carrier_end(c);
	spin_unlock_bh(&host->lock);
}

void kr_carrier_offer(const struct kr_carrier *c, u32 size, u16 credits,
		      struct kr_offer *o)
{
	struct kr_host *host = c->host;

	spin_lock_bh(&host->lock);
	o->tag = host->assoc.remote_id;
	o->assoc = host->assoc.local_id;
	spin_unlock_bh(&host->lock);
	o->size = size;
	o->credits = credits;
}

int kr_carriers_init(void)
{
	/* No WQ_MEM_RECLAIM: the RDMA core waits for works that have it not. */
	end_wq = alloc_workqueue("krcore_carrier", WQ_UNBOUND, 0);
	return end_wq ? 0 : -ENOMEM;
}

void kr_carriers_exit(void)
{
	destroy_workqueue(end_wq);
}
