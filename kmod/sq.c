// SPDX-License-Identifier: GPL-2.0
/*
 * The send queue of a device's UD QP, and the slots that go through it.
 *
 * A slot is free, or out (slot_get), or posted.  WRs are numbered; the ring holds
 * the posted ones in order.  A QP completes in order, so the CQE of a signalled WR
 * returns it and all older ones, and only then are their places in the queue free
 * again: hence one count for slots and places.
 *
 * Every 16th WR is signalled, so the queue can never be full of WRs that will not
 * be heard of.  At most the 15 newest are left when sending stops; a timer then
 * posts an empty datagram, signalled, to where the last one went.  Receivers ignore
 * empty datagrams.
 */
#include <linux/gfp.h>
#include <linux/slab.h>
#include "ud.h"

enum { SWEEP_MS = 50 };

static bool has_signalled_locked(const struct kr_dev *dev)
{
	return (s32)(dev->sq_signalled - dev->sq_tail) > 0;
}

static void slot_free_locked(struct kr_dev *dev, struct kr_send *tx)
{
	/* The sweep's slot is never on the free list: it is out of the pool. */
	if (tx == &dev->tx[KR_TX_SLOTS])
		return;
	tx->next = dev->free;
	dev->free = tx;
	dev->nr_free++;
}

static struct kr_send *slot_take_locked(struct kr_dev *dev, bool is_control)
{
	struct kr_send *tx = dev->free;

	if (!dev->is_up || dev->nr_free <= (is_control ? 0 : KR_TX_RESERVE)) {
		dev->is_refused = true;
		dev->tx_no_slot++;
		return NULL;
	}
	dev->free = tx->next;
	dev->nr_free--;
	return tx;
}

/* Posts tx->wr, to @ah; the caller has filled in the rest. */
static int post_locked(struct kr_dev *dev, struct kr_send *tx,
			  struct kr_ah *ah, bool is_signalled)
{
	u32 number = dev->sq_head;
	int err;

	tx->ah = ah;
	tx->wr.ah = ah->ah;
	tx->wr.wr.wr_id = KR_WR_SEND | number;
	tx->wr.wr.send_flags = is_signalled ? IB_SEND_SIGNALED : 0;
	err = ib_post_send(dev->qp, &tx->wr.wr, NULL);
	if (err)
		return err;

	kr_ah_hold_locked(ah);
	dev->ring[number % KR_TX_RING] = tx;
	dev->sq_head = number + 1;
	if (is_signalled)
		dev->sq_signalled = dev->sq_head;
	return 0;
}

/* Gives back all WRs up to this number. */
static void retire_locked(struct kr_dev *dev, u32 number)
{
	struct kr_send *tx;

	while (dev->sq_tail != dev->sq_head &&
	       (s32)(number - dev->sq_tail) >= 0) {
		tx = dev->ring[dev->sq_tail++ % KR_TX_RING];
		kr_ah_drop_locked(tx->ah);
		slot_free_locked(dev, tx);
	}
}

/* Unsignalled WRs are left: have them completed by one more that is signalled. */
static void sweep_locked(struct kr_dev *dev)
{
	struct kr_send *last, *sweep = &dev->tx[KR_TX_SLOTS];

	if (dev->sq_tail == dev->sq_head || has_signalled_locked(dev))
		return;
	last = dev->ring[(dev->sq_head - 1) % KR_TX_RING];
	sweep->wr.wr.num_sge = 0;
	sweep->wr.remote_qpn = last->wr.remote_qpn;
	sweep->wr.remote_qkey = last->wr.remote_qkey;
	/* When this fails the QP is broken, and rebuilding it frees everything. */
	post_locked(dev, sweep, last->ah, true);
}

static void on_sweep(struct timer_list *t)
{
	struct kr_dev *dev = from_timer(dev, t, sweep);

	spin_lock(&dev->tx_lock);
	if (dev->is_up)
		sweep_locked(dev);
	if (dev->is_up && dev->sq_tail != dev->sq_head)
		mod_timer(&dev->sweep, jiffies + msecs_to_jiffies(SWEEP_MS));
	spin_unlock(&dev->tx_lock);
}

/**
 * kr_dev_slot_get() - a free send slot
 * @dev: the device
 * @is_control: may use the reserve
 *
 * Context: BH disabled.
 * Return: the slot; NULL when there is none, and then kr_host_tx_ready()
 * follows unless the device goes away.
 */
struct kr_slot_tx *kr_dev_slot_get(struct kr_dev *dev, bool is_control)
{
	struct kr_send *tx;

	spin_lock(&dev->tx_lock);
	tx = slot_take_locked(dev, is_control);
	spin_unlock(&dev->tx_lock);
	return tx ? &tx->slot : NULL;
}

/**
 * kr_dev_slot_put() - give a slot back unused
 * @dev: the device
 * @slot: the slot
 *
 * Context: BH disabled.
 */
void kr_dev_slot_put(struct kr_dev *dev, struct kr_slot_tx *slot)
{
	spin_lock(&dev->tx_lock);
	slot_free_locked(dev, container_of(slot, struct kr_send, slot));
	spin_unlock(&dev->tx_lock);
}

/**
 * kr_dev_post() - send a slot
 * @dev: the device
 * @slot: the slot, which is taken over in any case
 * @len: its bytes
 * @ah: where to
 * @qpn: remote QP
 * @qkey: its key
 *
 * Errors are not told: a packet may be lost anyway.
 * Context: BH disabled.
 */
void kr_dev_post(struct kr_dev *dev, struct kr_slot_tx *slot, u32 len,
		 struct kr_ah *ah, u32 qpn, u32 qkey)
{
	struct kr_send *tx = container_of(slot, struct kr_send, slot);
	bool is_signalled, is_broken = false;

	ib_dma_sync_single_for_device(dev->ibdev, tx->sge.addr, len,
				      DMA_TO_DEVICE);
	tx->sge.length = len;
	tx->wr.remote_qpn = qpn;
	tx->wr.remote_qkey = qkey;

	spin_lock(&dev->tx_lock);
	is_signalled = dev->sq_head - dev->sq_signalled >= KR_TX_SIGNAL_EVERY - 1;
	if (!dev->is_up || WARN_ON_ONCE(!len || len > KR_PKT_MAX)) {
		slot_free_locked(dev, tx);
	} else if (post_locked(dev, tx, ah, is_signalled)) {
		slot_free_locked(dev, tx);
		is_broken = true;
	} else {
		dev->tx_packets++;
		dev->tx_bytes += len;
		if (!timer_pending(&dev->sweep))
			mod_timer(&dev->sweep, jiffies + msecs_to_jiffies(SWEEP_MS));
	}
	spin_unlock(&dev->tx_lock);
	if (is_broken)
		kr_ud_fail(dev);
}

/**
 * kr_sq_done() - a completion
 * @dev: the device
 * @number: the WR's; all older ones are done as well
 *
 * Context: softirq.
 */
void kr_sq_done(struct kr_dev *dev, u32 number)
{
	spin_lock(&dev->tx_lock);
	retire_locked(dev, number);
	spin_unlock(&dev->tx_lock);
}

/**
 * kr_sq_is_wanted() - whether somebody was refused and should try again
 * @dev: the device
 *
 * Forgets it, too.
 * Context: softirq.
 */
bool kr_sq_is_wanted(struct kr_dev *dev)
{
	bool is_wanted;

	/* Races with a refusal: then there are WRs out, whose end comes here. */
	if (!READ_ONCE(dev->is_refused))
		return false;
	spin_lock(&dev->tx_lock);
	is_wanted = dev->is_refused && dev->is_up &&
		    dev->nr_free >= KR_TX_READY;
	if (is_wanted)
		dev->is_refused = false;
	spin_unlock(&dev->tx_lock);
	return is_wanted;
}

/**
 * kr_sq_start() - the QP is there: hand out slots
 * @dev: the device
 */
void kr_sq_start(struct kr_dev *dev)
{
	spin_lock_bh(&dev->tx_lock);
	dev->sq_signalled = dev->sq_tail;
	WRITE_ONCE(dev->is_up, true);
	spin_unlock_bh(&dev->tx_lock);
}

/**
 * kr_sq_stop() - post no more
 * @dev: the device
 *
 * On return nothing is posted by anyone, and what was posted before completes.
 * Context: may sleep.
 */
void kr_sq_stop(struct kr_dev *dev)
{
	spin_lock_bh(&dev->tx_lock);
	WRITE_ONCE(dev->is_up, false);
	sweep_locked(dev);
	spin_unlock_bh(&dev->tx_lock);
	del_timer_sync(&dev->sweep);
}

/**
 * kr_sq_reclaim() - take back what was posted to a QP that is destroyed
 * @dev: the device
 */
void kr_sq_reclaim(struct kr_dev *dev)
{
	spin_lock_bh(&dev->tx_lock);
	retire_locked(dev, dev->sq_head - 1);
	spin_unlock_bh(&dev->tx_lock);
}

/**
 * kr_sq_is_empty() - whether nothing is posted
 * @dev: the device
 */
bool kr_sq_is_empty(struct kr_dev *dev)
{
	bool is_empty;

	spin_lock_bh(&dev->tx_lock);
	is_empty = dev->sq_tail == dev->sq_head;
	spin_unlock_bh(&dev->tx_lock);
	return is_empty;
}

/**
 * kr_sq_is_idle() - whether every slot is back
 * @dev: the device
 */
bool kr_sq_is_idle(struct kr_dev *dev)
{
	bool is_idle;

	spin_lock_bh(&dev->tx_lock);
	is_idle = dev->nr_free == KR_TX_SLOTS;
	spin_unlock_bh(&dev->tx_lock);
	return is_idle;
}

static int slot_init(struct kr_dev *dev, struct kr_send *tx)
{
	u64 addr;

	tx->slot.buf = (u8 *)__get_free_page(GFP_KERNEL);
	if (!tx->slot.buf)
		return -ENOMEM;
	addr = ib_dma_map_single(dev->ibdev, tx->slot.buf, KR_PKT_MAX,
				 DMA_TO_DEVICE);
	if (ib_dma_mapping_error(dev->ibdev, addr)) {
		free_page((unsigned long)tx->slot.buf);
		tx->slot.buf = NULL;
		return -ENOMEM;
	}
	tx->sge.addr = addr;
	tx->sge.lkey = dev->pd->local_dma_lkey;
	tx->wr.wr.sg_list = &tx->sge;
	tx->wr.wr.num_sge = 1;
	tx->wr.wr.opcode = IB_WR_SEND;
	slot_free_locked(dev, tx);
	return 0;
}

/**
 * kr_sq_alloc() - the slots of a new device
 * @dev: the device, with its PD
 *
 * Context: may sleep.
 * Return: 0 or -errno; kr_sq_free() is due in either case.
 */
int kr_sq_alloc(struct kr_dev *dev)
{
	int i, err;

	BUILD_BUG_ON(KR_TX_RING <= KR_TX_SLOTS);
	BUILD_BUG_ON(PAGE_SIZE < KR_PKT_MAX);
	spin_lock_init(&dev->tx_lock);
	timer_setup(&dev->sweep, on_sweep, 0);
	dev->tx = kvcalloc(KR_TX_SLOTS + 1, sizeof(*dev->tx), GFP_KERNEL);
	if (!dev->tx)
		return -ENOMEM;
	dev->tx[KR_TX_SLOTS].wr.wr.opcode = IB_WR_SEND;
	for (i = 0; i < KR_TX_SLOTS; i++) {
		err = slot_init(dev, &dev->tx[i]);
		if (err)
			return err;
	}
	return 0;
}

/**
 * kr_sq_free() - undo kr_sq_alloc(), also when it failed
 * @dev: the device, stopped and idle
 */
void kr_sq_free(struct kr_dev *dev)
{
	int i;

	for (i = 0; dev->tx && i < KR_TX_SLOTS && dev->tx[i].slot.buf; i++) {
		ib_dma_unmap_single(dev->ibdev, dev->tx[i].sge.addr, KR_PKT_MAX,
				    DMA_TO_DEVICE);
		free_page((unsigned long)dev->tx[i].slot.buf);
	}
	kvfree(dev->tx);
}
