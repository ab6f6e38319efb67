// SPDX-License-Identifier: GPL-2.0
/*
 * The UD QP of a device: its CQ and receive buffers, and the poller that serves both
 * queues.  The send queue's own side is in sq.c.
 *
 * Operation
 *   One CQ for both queues, large enough for every WR, and one tasklet that
 *   polls it; the CQ's own callback runs that at once where it may, and else
 *   schedules it, since some drivers call with interrupts off.  Received packets
 *   go to host.c and the buffers back to the QP, a chain at a time.
 *
 * Errors
 *   Any bad WC while the QP is up, or an event about it or its CQ, has it
 *   rebuilt by a worker.  ib_drain_qp() cannot be used for that: it posts an RDMA
 *   WRITE, which UD has not.  Instead every WR is counted until it was flushed.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "host.h"
#include "ud.h"

enum {
	QUIET_MS = 200,			/* wait for sends under way */
	FLUSH_MS = 2000,		/* wait for flushed WRs */
};

/**
 * kr_ud_fail() - the QP is broken: have it rebuilt
 * @dev: the device
 *
 * Context: any, hard interrupt too.
 */
void kr_ud_fail(struct kr_dev *dev)
{
	bool is_again = time_before(jiffies, READ_ONCE(dev->rebuilt_at) + HZ);

	/* Pairs with kr_dev's removal, which cancels once more at the end. */
	if (!READ_ONCE(dev->is_dead))
		queue_delayed_work(kr_dev_wq, &dev->rebuild,
				   is_again ? HZ / 10 : 0);
}

static int rx_post(struct kr_dev *dev, const struct ib_recv_wr *first, u32 nr)
{
	const struct ib_recv_wr *bad = NULL;
	int err;

	WRITE_ONCE(dev->rx_posted, dev->rx_posted + nr);
	err = ib_post_recv(dev->qp, first, &bad);
	for (; err && bad; bad = bad->next)
		WRITE_ONCE(dev->rx_posted, dev->rx_posted - 1);
	return err;
}

static void rx_packet(struct kr_dev *dev, struct kr_recv *rx,
		      const struct ib_wc *wc)
{
	u32 len = wc->byte_len;

	if (len <= KR_GRH_LEN || !(wc->wc_flags & IB_WC_GRH))
		return;
	ib_dma_sync_single_for_cpu(dev->ibdev, rx->sge.addr, len,
				   DMA_FROM_DEVICE);
	dev->rx_packets++;
	dev->rx_bytes += len - KR_GRH_LEN;
	kr_host_receive(dev, rx->buf + KR_GRH_LEN, len - KR_GRH_LEN);
	ib_dma_sync_single_for_device(dev->ibdev, rx->sge.addr, len,
				      DMA_FROM_DEVICE);
}

/* Handles one poll's WCs.  Return: how many were received packets. */
static u32 handle_wcs(struct kr_dev *dev, int nr)
{
	struct ib_recv_wr head = {}, *last = &head;
	bool is_sent = false, is_bad = false;
	u32 number = 0, nr_rx = 0;
	struct kr_recv *rx;
	int i;

	for (i = 0; i < nr; i++) {
		const struct ib_wc *wc = &dev->wc[i];

		is_bad |= wc->status != IB_WC_SUCCESS;
		if (wc->wr_id & KR_WR_SEND) {
			number = (u32)wc->wr_id;
			is_sent = true;
			continue;
		}
		rx = &dev->rx[wc->wr_id];
		if (wc->status == IB_WC_SUCCESS)
			rx_packet(dev, rx, wc);
		last->next = &rx->wr;
		last = &rx->wr;
		nr_rx++;
	}
	last->next = NULL;
	WRITE_ONCE(dev->rx_posted, dev->rx_posted - nr_rx);
	if (is_sent)
		kr_sq_done(dev, number);
	/* A buffer given to a broken QP comes back at once, for ever. */
	if (!READ_ONCE(dev->is_up) || dev->is_broken)
		return nr_rx;
	if (!is_bad && (!nr_rx || !rx_post(dev, head.next, nr_rx)))
		return nr_rx;
	dev->is_broken = true;
	dev->rx_errors++;
	kr_ud_fail(dev);
	return nr_rx;
}

static void on_poll(struct tasklet_struct *t)
{
	struct kr_dev *dev = from_tasklet(dev, t, poll);
	int nr, done = 0;
	u32 nr_rx = 0;

	if (READ_ONCE(dev->is_closing))
		return;
	do {
		nr = ib_poll_cq(dev->cq, KR_POLL_BATCH, dev->wc);
		if (nr <= 0)
			break;
		nr_rx += handle_wcs(dev, nr);
		done += nr;
	} while (nr == KR_POLL_BATCH && done < KR_POLL_BUDGET);

	if (nr_rx)
		kr_host_flush();
	if (kr_sq_is_wanted(dev))
		kr_host_tx_ready(dev);
	if (nr == KR_POLL_BATCH ||
	    ib_req_notify_cq(dev->cq, IB_CQ_NEXT_COMP |
			     IB_CQ_REPORT_MISSED_EVENTS) > 0)
		tasklet_schedule(&dev->poll);
}

static void on_completion(struct ib_cq *cq, void *context)
{
	struct kr_dev *dev = context;
	struct tasklet_struct *t = &dev->poll;

	if (READ_ONCE(dev->is_closing))
		return;
	/* In softirq the tasklet's turn need not be waited for, only its peers. */
	if (!in_serving_softirq() || irqs_disabled() || !tasklet_trylock(t)) {
		tasklet_schedule(t);
		return;
	}
	if (!atomic_read(&t->count))
		on_poll(t);
	else
		tasklet_schedule(t);
	tasklet_unlock(t);
}

static void on_cq_event(struct ib_event *event, void *context)
{
	kr_ud_fail(context);
}

static void on_qp_event(struct ib_event *event, void *context)
{
	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		kr_ud_fail(context);
		break;
	default:
		break;
	}
}

/* Starting and stopping. */

static int qp_to_rts(struct kr_dev *dev)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = dev->port,
		.qkey = dev->qkey,
	};
	int err;

	err = ib_modify_qp(dev->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_QKEY);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTR;
	err = ib_modify_qp(dev->qp, &attr, IB_QP_STATE);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTS;
	attr.sq_psn = get_random_u32() & 0xffffff;
	return ib_modify_qp(dev->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

static int qp_create(struct kr_dev *dev)
{
	struct ib_cq_init_attr cq_attr = {
		.cqe = KR_TX_SLOTS + 1 + KR_RX_BUFS,
		.comp_vector = (dev->port - 1) % dev->ibdev->num_comp_vectors,
	};
	struct ib_qp_init_attr qp_attr = {
		.event_handler = on_qp_event,
		.qp_context = dev,
		.cap = {
			.max_send_wr = KR_TX_SLOTS + 1,
			.max_recv_wr = KR_RX_BUFS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_UD,
		.port_num = dev->port,
	};
	int err;

	dev->cq = ib_create_cq(dev->ibdev, on_completion, on_cq_event, dev,
			       &cq_attr);
	if (IS_ERR(dev->cq)) {
		err = PTR_ERR(dev->cq);
		goto err_cq;
	}
	qp_attr.send_cq = dev->cq;
	qp_attr.recv_cq = dev->cq;
	dev->qp = ib_create_qp(dev->pd, &qp_attr);
	if (IS_ERR(dev->qp)) {
		err = PTR_ERR(dev->qp);
		goto err_qp;
	}
	return 0;

err_qp:
	ib_destroy_cq(dev->cq);
err_cq:
	dev->cq = NULL;
	dev->qp = NULL;
	return err;
}

struct softirq_barrier {
	struct work_struct work;
	struct tasklet_struct tasklet;
	struct completion done;
};

static void on_barrier(struct tasklet_struct *t)
{
	struct softirq_barrier *b = from_tasklet(b, t, tasklet);

	complete(&b->done);
}

static void barrier_work(struct work_struct *work)
{
	struct softirq_barrier *b = container_of(work, struct softirq_barrier,
						 work);

	local_bh_disable();
	tasklet_schedule(&b->tasklet);
	local_bh_enable();
	wait_for_completion(&b->done);
	tasklet_kill(&b->tasklet);
}

/*
 * Soft-RoCE does not wait for its own tasklets when a CQ is freed: on every CPU
 * let one pass that is queued behind them.
 */
void kr_softirq_barrier(void)
{
	struct softirq_barrier b;
	int cpu;

	INIT_WORK_ONSTACK(&b.work, barrier_work);
	tasklet_setup(&b.tasklet, on_barrier);
	init_completion(&b.done);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		reinit_completion(&b.done);
		schedule_work_on(cpu, &b.work);
		flush_work(&b.work);
	}
	cpus_read_unlock();
	destroy_work_on_stack(&b.work);
}

static bool is_drained(struct kr_dev *dev, bool with_rx)
{
	return kr_sq_is_empty(dev) && (!with_rx || !READ_ONCE(dev->rx_posted));
}

static void wait_drained(struct kr_dev *dev, bool with_rx, unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	while (!is_drained(dev, with_rx) && time_before(jiffies, end))
		usleep_range(1000, 2000);
}

static void qp_destroy(struct kr_dev *dev)
{
	/* A poll that still believed in the QP ends here. */
	tasklet_disable(&dev->poll);
	tasklet_enable(&dev->poll);
	ib_destroy_qp(dev->qp);
	kr_softirq_barrier();

	/* No new poll touches the CQ; no callback comes after it is destroyed. */
	WRITE_ONCE(dev->is_closing, true);
	tasklet_kill(&dev->poll);
	ib_destroy_cq(dev->cq);
	tasklet_kill(&dev->poll);
	dev->qp = NULL;
	dev->cq = NULL;
}

/**
 * kr_ud_stop() - stop sending and receiving, destroy the QP and the CQ
 * @dev: the device; life is held
 *
 * Those that may still look: senders (is_up, under tx_lock), the sweep (its timer
 * is deleted), the poller (until nothing is posted, or the QP is destroyed), the
 * QP's and CQ's events (until they are destroyed; they only queue the rebuild).
 * Context: may sleep.
 */
void kr_ud_stop(struct kr_dev *dev)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	lockdep_assert_held(&dev->life);
	if (!dev->qp)
		return;
	WRITE_ONCE(dev->qpn, 0);
	kr_sq_stop(dev);

	/* Soft-RoCE minds sends that run while the QP changes to ERR. */
	wait_drained(dev, false, QUIET_MS);
	kr_softirq_barrier();
	ib_modify_qp(dev->qp, &attr, IB_QP_STATE);
	wait_drained(dev, true, FLUSH_MS);
	qp_destroy(dev);

	/* What was not flushed in time is nobody's now. */
	kr_sq_reclaim(dev);
	dev->rx_posted = 0;
}

static int rx_post_all(struct kr_dev *dev)
{
	int i;

	for (i = 0; i < KR_RX_BUFS; i++)
		dev->rx[i].wr.next = i + 1 < KR_RX_BUFS ?
			&dev->rx[i + 1].wr : NULL;
	return rx_post(dev, &dev->rx[0].wr, KR_RX_BUFS);
}

/**
 * kr_ud_start() - make a QP and its CQ, and use them
 * @dev: the device, stopped; life is held
 *
 * Context: may sleep.
 * Return: 0 or -errno, and then it is stopped still.
 */
int kr_ud_start(struct kr_dev *dev)
{
	int err;

	lockdep_assert_held(&dev->life);
	err = qp_create(dev);
	if (err)
		return err;
	dev->is_broken = false;
	WRITE_ONCE(dev->is_closing, false);
	WRITE_ONCE(dev->rebuilt_at, jiffies);
	err = qp_to_rts(dev);
	if (!err)
		err = rx_post_all(dev);
	if (err) {
		kr_ud_stop(dev);
		return err;
	}

	kr_sq_start(dev);
	WRITE_ONCE(dev->qpn, dev->qp->qp_num);
	/* Arms the CQ, and calls those who were refused a slot. */
	local_bh_disable();
	tasklet_schedule(&dev->poll);
	local_bh_enable();
	return 0;
}

/* Buffers; they live as long as the device. */

static int rx_init(struct kr_dev *dev, struct kr_recv *rx, u8 *buf, int index)
{
	u64 addr;

	addr = ib_dma_map_single(dev->ibdev, buf, KR_RX_LEN, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev->ibdev, addr))
		return -ENOMEM;
	rx->buf = buf;
	rx->sge.addr = addr;
	rx->sge.length = KR_RX_LEN;
	rx->sge.lkey = dev->pd->local_dma_lkey;
	rx->wr.sg_list = &rx->sge;
	rx->wr.num_sge = 1;
	rx->wr.wr_id = index;
	return 0;
}

static int rx_alloc(struct kr_dev *dev)
{
	const size_t bytes = KR_RX_PER_CHUNK * KR_RX_STRIDE;
	int i, err, chunk;
	u8 *buf = NULL;

	for (i = 0; i < KR_RX_BUFS; i++, buf += KR_RX_STRIDE) {
		chunk = i / KR_RX_PER_CHUNK;
		if (i % KR_RX_PER_CHUNK == 0) {
			buf = alloc_pages_exact(bytes, GFP_KERNEL);
			if (!buf)
				return -ENOMEM;
			dev->rx_chunks[chunk] = buf;
		}
		err = rx_init(dev, &dev->rx[i], buf, i);
		if (err)
			return err;
	}
	return 0;
}

/**
 * kr_ud_alloc() - buffers, slots and the poller of a new device
 * @dev: the device, with its PD
 *
 * Context: may sleep.
 * Return: 0 or -errno; kr_ud_free() is due in either case.
 */
int kr_ud_alloc(struct kr_dev *dev)
{
	int err;

	BUILD_BUG_ON(KR_RX_STRIDE < KR_RX_LEN);
	tasklet_setup(&dev->poll, on_poll);
	dev->is_closing = true;
	err = kr_sq_alloc(dev);
	if (err)
		return err;
	dev->rx = kvcalloc(KR_RX_BUFS, sizeof(*dev->rx), GFP_KERNEL);
	if (!dev->rx)
		return -ENOMEM;
	return rx_alloc(dev);
}

/**
 * kr_ud_free() - undo kr_ud_alloc(), also when it failed
 * @dev: the device, stopped and idle
 *
 * Context: may sleep.
 */
void kr_ud_free(struct kr_dev *dev)
{
	int i;

	kr_sq_free(dev);
	for (i = 0; dev->rx && i < KR_RX_BUFS && dev->rx[i].buf; i++)
		ib_dma_unmap_single(dev->ibdev, dev->rx[i].sge.addr, KR_RX_LEN,
				    DMA_FROM_DEVICE);
	for (i = 0; i < KR_RX_CHUNKS && dev->rx_chunks[i]; i++)
		free_pages_exact(dev->rx_chunks[i],
				 KR_RX_PER_CHUNK * KR_RX_STRIDE);
	kvfree(dev->rx);
}
