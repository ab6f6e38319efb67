// SPDX-License-Identifier: GPL-2.0
/* The common life of RC queue pairs and TCP connections between hosts: see carrier.h. */
#include <linux/xarray.h>
#include "carrier.h"
#include "dev.h"
#include "host.h"
#include "stats.h"
#include "trace.h"

enum {
	IS_ENDING,			/* bit of kr_carrier.flags */
};

static struct workqueue_struct *end_wq;

/*
 * All carriers by serial number, for krcorectl.  Who finds one here under the array's
 * lock may take a reference to its host, and look for it there.  The lock nests in none
 * and none in it.
 */
static DEFINE_XARRAY_ALLOC1(carriers);
static u32 next_serial;			/* the array's lock */

static void end_work_fn(struct work_struct *work)
{
	struct kr_carrier *c = container_of(work, struct kr_carrier, end_work);
	struct kr_host *host = c->host;
	struct kr_dev *dev = c->dev;

	kr_host_lock(host);
	kr_assoc_lane_close(&host->assoc, &c->lane, ktime_get_ns());
	list_del_init(&c->node);
	kr_host_unlock(host);
	xa_erase(&carriers, c->serial);
	c->ops->destroy(c);
	if (dev)
		kr_dev_put(dev);
	kr_host_put(host);
}

/* Puts it where krcorectl and who ends its host find it; 0 or -errno. */
static int enlist(struct kr_carrier *c)
{
	struct kr_host *host = c->host;
	int err;

	err = xa_alloc_cyclic(&carriers, &c->serial, c, xa_limit_32b, &next_serial,
			      GFP_KERNEL);
	if (err < 0)
		return -ENOMEM;
	err = -ECONNRESET;
	spin_lock_bh(&host->lock);
	/* Who ends the host's carriers later finds it, or it is not made. */
	if (!host->assoc.is_ended && !(c->dev && kr_dev_is_dead(c->dev))) {
		refcount_inc(&host->ref);
		list_add_tail(&c->node, &host->carriers);
		err = 0;
	}
	spin_unlock_bh(&host->lock);
	if (err)
		xa_erase(&carriers, c->serial);
	return err;
}

int kr_carrier_init(struct kr_carrier *c, const struct kr_carrier_ops *ops,
		    struct kr_host *host, struct kr_dev *dev, bool is_asked)
{
	int err;

	if (dev && !kr_dev_try_get(dev))
		return -ECONNRESET;
	c->ops = ops;
	c->host = host;
	c->dev = dev;
	c->is_asked = is_asked;
	c->born_ns = ktime_get_ns();
	INIT_WORK(&c->end_work, end_work_fn);
	err = enlist(c);
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

/* For krcorectl. */

static const char *state_name(const struct kr_carrier *c)
{
	/* A failed one is ended at once; that it failed says more. */
	if (c->lane.state == KR_LANE_FAILED)
		return "FAILED";
	if (kr_carrier_is_ending(c))
		return "ENDING";
	switch (c->lane.state) {
	case KR_LANE_UP:
		return "UP";
	case KR_LANE_DOUBT:
		return "DOUBT";
	default:
		return "SETUP";
	}
}

static void fill_info_locked(const struct kr_carrier *c, struct kr_carrier_info *info)
{
	const struct kr_lane *l = &c->lane;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&c->host->lock);
	info->host_id_prefix = get_unaligned_be64(c->host->assoc.peer_instance);
	info->kind = c->ops->kind;
	info->state = state_name(c);
	if (c->dev)
		strscpy(info->dev_name, kr_dev_name(c->dev), sizeof(info->dev_name));
	info->is_asked = c->is_asked;
	info->nr_vqps = c->host->assoc.nr_vqps;
	info->credits = l->credits;
	if (l->next_pn)
		info->inflight = l->next_pn - 1 - l->acked;
	info->tx_bytes = l->tx_bytes;
	info->rx_bytes = l->rx_bytes;
	info->age_ms = div_u64(now - c->born_ns, NSEC_PER_MSEC);
	info->idle_ms = div_u64(now - max(l->used_ns, c->born_ns), NSEC_PER_MSEC);
	info->nr_doubts = l->nr_doubts;
	if (c->ops->info)
		c->ops->info(c, info);
}

/* The host, with a reference, of the first carrier from *@serial on, or NULL. */
static struct kr_host *find_from(unsigned long *serial)
{
	struct kr_host *host = NULL;
	struct kr_carrier *c;

	xa_lock(&carriers);
	c = xa_find(&carriers, serial, ULONG_MAX, XA_PRESENT);
	if (c) {
		host = c->host;
		refcount_inc(&host->ref);
	}
	xa_unlock(&carriers);
	return host;
}

/* False: it is not the host's yet, or not any more. */
static bool fill_info(struct kr_host *host, u32 serial, struct kr_carrier_info *info)
{
	struct kr_carrier *c;
	bool is_found = false;

	spin_lock_bh(&host->lock);
	list_for_each_entry(c, &host->carriers, node) {
		is_found = c->serial == serial;
		if (!is_found)
			continue;
		fill_info_locked(c, info);
		break;
	}
	spin_unlock_bh(&host->lock);
	return is_found;
}

bool kr_carrier_info_get(u64 *cursor, struct kr_carrier_info *info)
{
	unsigned long serial = *cursor;
	struct kr_host *host;
	bool is_found = false;

	memset(info, 0, sizeof(*info));
	while (!is_found) {
		serial++;
		host = find_from(&serial);
		if (!host)
			return false;
		is_found = fill_info(host, serial, info);
		kr_host_put(host);
	}
	*cursor = serial;
	return true;
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
	xa_destroy(&carriers);
}
