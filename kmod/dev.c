// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices, coming and going.
 *
 * Every RoCE port of every RDMA device becomes a struct kr_dev, with one UD QP
 * (ud.c).  This file makes and destroys them, has the QP rebuilt, watches ports
 * and GIDs, and says at which ends this host can be reached.  Nothing about GIDs
 * is remembered: the RDMA core fills the tables when it likes.
 */
#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include "gid.h"
#include "host.h"
#include "ud.h"

struct workqueue_struct *kr_dev_wq;

static LIST_HEAD(devices);
static DEFINE_MUTEX(devices_lock);	/* ud.h has the order */

/**
 * kr_dev_try_get() - a reference for somebody who will use the device
 * @dev: the device; the caller makes sure that it exists
 *
 * Context: any.
 * Return: false when it is being removed.
 */
bool kr_dev_try_get(struct kr_dev *dev)
{
	return !READ_ONCE(dev->is_dead) && refcount_inc_not_zero(&dev->ref);
}

/**
 * kr_dev_put() - drop a reference
 * @dev: the device
 *
 * Context: any.
 */
void kr_dev_put(struct kr_dev *dev)
{
	if (refcount_dec_and_test(&dev->ref))
		complete(&dev->released);
}

/**
 * kr_dev_name() - the RDMA device's name
 * @dev: the device
 */
const char *kr_dev_name(const struct kr_dev *dev)
{
	return dev_name(&dev->ibdev->dev);
}

bool kr_dev_is_dead(const struct kr_dev *dev)
{
	return READ_ONCE(dev->is_dead);
}

struct ib_pd *kr_dev_pd(const struct kr_dev *dev)
{
	return dev->pd;
}

struct kr_dev *kr_dev_find(const struct ib_device *ibdev, u32 port)
{
	struct kr_dev *dev, *found = NULL;

	mutex_lock(&devices_lock);
	list_for_each_entry(dev, &devices, node)
		if (dev->ibdev == ibdev && dev->port == port && kr_dev_try_get(dev))
			found = dev;
	mutex_unlock(&devices_lock);
	return found;
}

/* Ends. */

static bool is_usable(const struct kr_dev *dev)
{
	return !READ_ONCE(dev->is_dead) && READ_ONCE(dev->is_active) &&
	       READ_ONCE(dev->qpn) && READ_ONCE(dev->mtu) >= KR_PKT_MIN;
}

static void set_end(const struct kr_dev *dev, struct kr_end *end)
{
	end->nr = 0;
	end->qpn = READ_ONCE(dev->qpn);
	end->qkey = dev->qkey;
	end->mtu = READ_ONCE(dev->mtu);
}

static int add_ends(enum kr_gid_class class, struct kr_end *ends, int nr,
		    int max)
{
	struct kr_dev *dev;
	int index;

	list_for_each_entry(dev, &devices, node) {
		if (!is_usable(dev))
			continue;
		index = 0;
		while (nr < max && kr_gid_next(dev->ibdev, dev->port, class,
					       &index, ends[nr].gid))
			set_end(dev, &ends[nr++]);
	}
	return nr;
}

/**
 * kr_dev_ends() - where this host can be reached
 * @ends: filled in
 * @max: how many fit
 *
 * IPv4 first, but a place is left for IPv6; link-local ones only if there is
 * nothing else.
 * Context: may sleep.
 * Return: their number.
 */
int kr_dev_ends(struct kr_end *ends, int max)
{
	int nr;

	mutex_lock(&devices_lock);
	nr = add_ends(KR_GID_IPV4, ends, 0, max > 1 ? max - 1 : max);
	nr = add_ends(KR_GID_IPV6, ends, nr, max);
	if (!nr)
		nr = add_ends(KR_GID_LINK, ends, 0, max);
	mutex_unlock(&devices_lock);
	return nr;
}

/* Looks for this GID, or the first of the class without one. */
static bool find_gid(struct kr_dev *dev, enum kr_gid_class class,
		     const u8 *wanted, u8 gid[16])
{
	int index = 0;

	while (kr_gid_next(dev->ibdev, dev->port, class, &index, gid)) {
		if (!wanted || !memcmp(gid, wanted, 16))
			return true;
	}
	return false;
}

static struct kr_dev *find_for(enum kr_gid_class class, const u8 *wanted,
			       struct kr_end *local)
{
	struct kr_dev *dev;

	list_for_each_entry(dev, &devices, node) {
		if (!is_usable(dev) ||
		    !find_gid(dev, class, wanted, local->gid) ||
		    !kr_dev_try_get(dev))
			continue;
		set_end(dev, local);
		return dev;
	}
	return NULL;
}

/**
 * kr_dev_get_for() - the device to reach a remote end, and our end there
 * @remote: the remote end
 * @local: our end, filled in
 *
 * Routing names the address to use; any of the family when that is no GID.
 * Context: may sleep.
 * Return: the device with a reference, or NULL.
 */
struct kr_dev *kr_dev_get_for(const struct kr_end *remote, struct kr_end *local)
{
	enum kr_gid_class class = kr_gid_class(remote->gid);
	struct kr_dev *dev = NULL;
	u8 source[16];
	bool is_routed;

	if (class == KR_GID_NONE)
		return NULL;
	is_routed = kr_gid_source(remote->gid, source);
	mutex_lock(&devices_lock);
	if (is_routed)
		dev = find_for(class, source, local);
	if (!dev)
		dev = find_for(class, NULL, local);
	mutex_unlock(&devices_lock);
	return dev;
}

/**
 * kr_dev_stats_get() - counters of a device
 * @index: which one, from 0
 * @stats: filled in
 *
 * Context: may sleep.
 * Return: false when there is none.
 */
bool kr_dev_stats_get(int index, struct kr_dev_stats *stats)
{
	struct kr_dev *dev;
	bool is_found = false;

	mutex_lock(&devices_lock);
	list_for_each_entry(dev, &devices, node) {
		if (index--)
			continue;
		snprintf(stats->name, sizeof(stats->name), "%s/%u",
			 kr_dev_name(dev), dev->port);
		stats->qpn = READ_ONCE(dev->qpn);
		stats->mtu = READ_ONCE(dev->mtu);
		stats->tx_packets = READ_ONCE(dev->tx_packets);
		stats->tx_bytes = READ_ONCE(dev->tx_bytes);
		stats->tx_no_slot = READ_ONCE(dev->tx_no_slot);
		stats->rx_packets = READ_ONCE(dev->rx_packets);
		stats->rx_bytes = READ_ONCE(dev->rx_bytes);
		stats->rx_errors = READ_ONCE(dev->rx_errors);
		stats->qp_rebuilt = READ_ONCE(dev->qp_rebuilt);
		is_found = true;
		break;
	}
	mutex_unlock(&devices_lock);
	return is_found;
}

/* What changes while a device is there. */

static void port_read(struct kr_dev *dev)
{
	struct ib_port_attr attr;

	if (ib_query_port(dev->ibdev, dev->port, &attr)) {
		WRITE_ONCE(dev->is_active, false);
		return;
	}
	WRITE_ONCE(dev->mtu, min_t(u32, ib_mtu_enum_to_int(attr.active_mtu),
				   KR_PKT_MAX));
	WRITE_ONCE(dev->is_active, attr.state == IB_PORT_ACTIVE);
}

static void refresh_work(struct work_struct *work)
{
	port_read(container_of(work, struct kr_dev, refresh));
	kr_host_dev_changed();
}

static void rebuild_work(struct work_struct *work)
{
	struct kr_dev *dev = container_of(to_delayed_work(work), struct kr_dev,
					  rebuild);

	mutex_lock(&dev->life);
	if (!dev->is_dead) {
		kr_ud_stop(dev);
		if (kr_ud_start(dev))
			queue_delayed_work(kr_dev_wq, &dev->rebuild, HZ);
		else
			WRITE_ONCE(dev->qp_rebuilt, dev->qp_rebuilt + 1);
	}
	mutex_unlock(&dev->life);
	kr_host_dev_changed();
}

static void on_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct kr_dev *dev = container_of(handler, struct kr_dev, events);

	switch (event->event) {
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_GID_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
		if (event->element.port_num == dev->port)
			queue_work(kr_dev_wq, &dev->refresh);
		break;
	default:
		break;
	}
}

/* Soft-RoCE changes the port's MTU with the net device's, and sends no event. */
static int on_netdev(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct kr_dev *dev;

	if (event != NETDEV_CHANGEMTU)
		return NOTIFY_DONE;
	mutex_lock(&devices_lock);
	list_for_each_entry(dev, &devices, node)
		queue_work(kr_dev_wq, &dev->refresh);
	mutex_unlock(&devices_lock);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = { .notifier_call = on_netdev };

/* Coming. */

static struct kr_dev *dev_alloc(struct ib_device *ibdev, u32 port)
{
	struct kr_dev *dev;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return NULL;
	dev->ibdev = ibdev;
	dev->port = port;
	/*
	 * The high bit must be clear: with it, hardware sends the key of the
	 * sending QP in place of the one in the WR, and two hosts with
	 * different keys would never hear each other.
	 */
	dev->qkey = get_random_u32() & 0x7fffffff;
	refcount_set(&dev->ref, 1);
	init_completion(&dev->released);
	mutex_init(&dev->life);
	INIT_WORK(&dev->refresh, refresh_work);
	INIT_DELAYED_WORK(&dev->rebuild, rebuild_work);
	return dev;
}

static int dev_create(struct ib_device *ibdev, u32 port)
{
	struct kr_dev *dev;
	int err;

	dev = dev_alloc(ibdev, port);
	if (!dev)
		return -ENOMEM;
	dev->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dev->pd)) {
		err = PTR_ERR(dev->pd);
		goto err_pd;
	}
	err = kr_ud_alloc(dev);
	if (err)
		goto err_alloc;
	port_read(dev);
	mutex_lock(&dev->life);
	err = kr_ud_start(dev);
	mutex_unlock(&dev->life);
	if (err)
		goto err_start;

	mutex_lock(&devices_lock);
	list_add_tail(&dev->node, &devices);
	mutex_unlock(&devices_lock);
	INIT_IB_EVENT_HANDLER(&dev->events, ibdev, on_event);
	ib_register_event_handler(&dev->events);
	/* Also for what happened before we listened. */
	queue_work(kr_dev_wq, &dev->refresh);
	return 0;

err_start:
	WRITE_ONCE(dev->is_dead, true);
	cancel_delayed_work_sync(&dev->rebuild);
err_alloc:
	kr_ud_free(dev);
	ib_dealloc_pd(dev->pd);
err_pd:
	kfree(dev);
	return err;
}

static int client_add(struct ib_device *ibdev)
{
	int err, result = -EOPNOTSUPP;
	u32 port;

	if (ibdev->node_type != RDMA_NODE_IB_CA)
		return -EOPNOTSUPP;
	rdma_for_each_port(ibdev, port) {
		if (!rdma_protocol_roce_udp_encap(ibdev, port))
			continue;
		err = dev_create(ibdev, port);
		if (!err)
			result = 0;
		else
			pr_warn("%s/%u cannot be used: %pe\n",
				dev_name(&ibdev->dev), port, ERR_PTR(err));
	}
	return result;
}

/* Going. */

/*
 * Who may still look, in the order in which they are sent away: the list, events,
 * works, hosts, senders and the poller, AHs under destruction, and at last code
 * that has just let go of the device but not yet of its lock (RCU: BH disabled).
 */
static void dev_destroy(struct kr_dev *dev)
{
	ib_unregister_event_handler(&dev->events);
	cancel_work_sync(&dev->refresh);
	mutex_lock(&dev->life);
	WRITE_ONCE(dev->is_dead, true);
	mutex_unlock(&dev->life);
	cancel_delayed_work_sync(&dev->rebuild);

	kr_host_dev_gone(dev);
	mutex_lock(&dev->life);
	kr_ud_stop(dev);
	mutex_unlock(&dev->life);
	/* An event may have queued it before it saw is_dead. */
	cancel_delayed_work_sync(&dev->rebuild);

	kr_dev_put(dev);
	/* A host that took a path meanwhile has it taken away again. */
	while (!wait_for_completion_timeout(&dev->released, HZ))
		kr_host_dev_gone(dev);
	while (!kr_sq_is_idle(dev))
		msleep(1);
	synchronize_rcu();

	kr_ud_free(dev);
	ib_dealloc_pd(dev->pd);
	kfree(dev);
}

static struct kr_dev *dev_unlink(struct ib_device *ibdev)
{
	struct kr_dev *dev, *found = NULL;

	mutex_lock(&devices_lock);
	list_for_each_entry(dev, &devices, node) {
		if (dev->ibdev != ibdev)
			continue;
		list_del(&dev->node);
		found = dev;
		break;
	}
	mutex_unlock(&devices_lock);
	return found;
}

static void client_remove(struct ib_device *ibdev, void *data)
{
	struct kr_dev *dev;

	while ((dev = dev_unlink(ibdev)))
		dev_destroy(dev);
}

static struct ib_client client = {
	.name = "krcore",
	.add = client_add,
	.remove = client_remove,
};

/**
 * kr_dev_init() - begin to use RDMA devices, those there and those to come
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int kr_dev_init(void)
{
	int err;

	/* No WQ_MEM_RECLAIM: the RDMA core waits for works that have it not. */
	kr_dev_wq = alloc_workqueue("krcore_dev", WQ_UNBOUND, 0);
	if (!kr_dev_wq)
		return -ENOMEM;
	err = register_netdevice_notifier(&netdev_notifier);
	if (err)
		goto err_notifier;
	err = ib_register_client(&client);
	if (err)
		goto err_client;
	return 0;

err_client:
	unregister_netdevice_notifier(&netdev_notifier);
err_notifier:
	destroy_workqueue(kr_dev_wq);
	return err;
}

/**
 * kr_dev_exit() - let go of all RDMA devices
 *
 * Context: may sleep.
 */
void kr_dev_exit(void)
{
	ib_unregister_client(&client);
	unregister_netdevice_notifier(&netdev_notifier);
	destroy_workqueue(kr_dev_wq);
}
