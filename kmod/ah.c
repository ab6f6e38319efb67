// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles.
 *
 * An AH has one owner, and the WRs posted with it, which are counted under the
 * lock of the send queue that is held anyway when one is posted or retired.
 * Drivers want to sleep when they make and destroy one, so destruction is left
 * to a worker once the owner and the last WR have let go.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include "ud.h"

static void destroy_work(struct work_struct *work)
{
	struct kr_ah *ah = container_of(work, struct kr_ah, destroy);
	struct kr_dev *dev = ah->dev;

	rdma_destroy_ah(ah->ah, RDMA_DESTROY_AH_SLEEPABLE);
	kfree(ah);
	kr_dev_put(dev);
}

static void destroy_if_unused_locked(struct kr_ah *ah)
{
	if (ah->is_put && !ah->nr_posted)
		queue_work(kr_dev_wq, &ah->destroy);
}

/**
 * kr_ah_hold_locked() - a WR names this AH
 * @ah: the AH
 */
void kr_ah_hold_locked(struct kr_ah *ah)
{
	lockdep_assert_held(&ah->dev->tx_lock);
	ah->nr_posted++;
}

/**
 * kr_ah_drop_locked() - a WR that named this AH is done
 * @ah: the AH
 */
void kr_ah_drop_locked(struct kr_ah *ah)
{
	lockdep_assert_held(&ah->dev->tx_lock);
	ah->nr_posted--;
	destroy_if_unused_locked(ah);
}

static struct ib_ah *resolve(struct kr_dev *dev, const struct kr_end *local,
			     const struct kr_end *remote)
{
	struct rdma_ah_attr attr = {
		.type = rdma_ah_find_type(dev->ibdev, dev->port),
	};
	const struct ib_gid_attr *sgid;
	union ib_gid gid;
	struct ib_ah *ah;

	memcpy(gid.raw, local->gid, sizeof(gid.raw));
	sgid = rdma_find_gid_by_port(dev->ibdev, &gid,
				     IB_GID_TYPE_ROCE_UDP_ENCAP, dev->port,
				     NULL);
	if (IS_ERR(sgid))
		return ERR_CAST(sgid);

	rdma_ah_set_port_num(&attr, dev->port);
	memcpy(gid.raw, remote->gid, sizeof(gid.raw));
	rdma_move_grh_sgid_attr(&attr, &gid, 0, 64, 0, sgid);
	/*
	 * Not rdma_create_ah(): only this one asks routing and the neighbour
	 * table for the destination's MAC address.  Without udata the driver
	 * sees no user.
	 */
	ah = rdma_create_user_ah(dev->pd, &attr, NULL);
	rdma_destroy_ah_attr(&attr);
	return ah;
}

/**
 * kr_dev_ah_create() - an AH from our end to a remote one
 * @dev: the device; the caller has a reference
 * @local: our end
 * @remote: the other end
 *
 * Context: may sleep, up to a second for a neighbour that does not answer.
 * Return: the AH, or ERR_PTR.
 */
struct kr_ah *kr_dev_ah_create(struct kr_dev *dev, const struct kr_end *local,
			       const struct kr_end *remote)
{
	struct kr_ah *ah;
	int err;

	ah = kzalloc(sizeof(*ah), GFP_KERNEL);
	if (!ah)
		return ERR_PTR(-ENOMEM);
	if (!kr_dev_try_get(dev)) {
		err = -ENODEV;
		goto err_free;
	}
	ah->dev = dev;
	INIT_WORK(&ah->destroy, destroy_work);
	ah->ah = resolve(dev, local, remote);
	if (IS_ERR(ah->ah)) {
		err = PTR_ERR(ah->ah);
		goto err_put;
	}
	return ah;

err_put:
	kr_dev_put(dev);
err_free:
	kfree(ah);
	return ERR_PTR(err);
}

/**
 * kr_dev_ah_put() - the owner is done with an AH
 * @ah: the AH
 *
 * Context: any but hard interrupt.
 */
void kr_dev_ah_put(struct kr_ah *ah)
{
	struct kr_dev *dev = ah->dev;

	spin_lock_bh(&dev->tx_lock);
	ah->is_put = true;
	destroy_if_unused_locked(ah);
	spin_unlock_bh(&dev->tx_lock);
}
