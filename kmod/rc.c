// SPDX-License-Identifier: GPL-2.0
/*
 * RC queue pairs between hosts, connected by rdma_cm: see rc.h.
 *
 * Connecting
 *   The private data of REQ and REP is an offer (core/wire.h).  It names the
 *   association ids of both hosts, which only they know: that is the proof of who
 *   asks and who answers.  When both ask at once, the side with the larger id gives
 *   way.  An unanswered REQ would live a minute, so each has a timer of its own.
 *
 *   The asker sends as soon as it has the REP, and its peer takes the first packet
 *   for the RTU, which may come late.  The asker in turn may receive before rdma_cm
 *   has told it of the REP: such packets wait in their buffers.
 *
 * Receiving
 *   Each QP has its own receives.  One SRQ for all would save memory, but
 *   ib_drain_qp() of this kernel does not drain it, and not every device can.
 *   That a packet always finds a buffer is a matter of numbers.  Of the peer, at most
 *   KR_RC_CREDITS numbered packets are there that we have not taken.  A bare
 *   acknowledgement answers at least one packet of ours whose answer we have not
 *   taken, and of these as well there are at most KR_RC_CREDITS, whatever the peer
 *   offers.  While a packet is being taken, its acknowledgement may already allow
 *   the peer the next one, and its buffer is still out; the CQ is polled by one CPU
 *   at a time, so that is one more.
 *
 * Sending
 *   Every KR_RC_SIGNAL_EVERY-th send is signalled, and its completion gives back that
 *   many slots, for they come back in order.  Whoever finds no slot is called when
 *   that happens, and it does: of KR_RC_TX_BUFS slots that are out, all but at most
 *   KR_RC_SIGNAL_EVERY - 1 are posted up to a signalled send.  As many as that may
 *   stay out while nothing is sent; the rest is as many as the packets that we may
 *   have under way at all, but one.
 *
 * Lock order
 *   the id's handler mutex (rdma_cm)	set-up, events
 *   kr_rc.open_lock			spinlock, BH; opening the lane, exactly once
 *   kr_host.lock			the lane and the send queue
 *
 * The end
 *   rc_destroy() comes after the lane is closed, so nobody sends any more.  Those
 *   that may still look, in the order in which they are sent away: set-up and events
 *   (the handler mutex, then IS_ENDING), the timer, completions (drained), Soft-RoCE's
 *   tasklets (the barrier), the last event (rdma_destroy_id() waits).
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include <krcore/uapi.h>
#include "carrier.h"
#include "dev.h"
#include "gid.h"
#include "host.h"
#include "pool.h"
#include "rc.h"
#include "stats.h"

enum {
	KR_RC_ORDER = 3,
	KR_RC_SIZE = 32 << 10,		/* bytes of a packet */
	KR_RC_CREDITS = 16,		/* numbered packets unanswered, either way */
	KR_RC_RX_BUFS = 2 * KR_RC_CREDITS + 1,
	KR_RC_SIGNAL_EVERY = 4,
	KR_RC_TX_BUFS = KR_RC_CREDITS - 1 + KR_RC_SIGNAL_EVERY - 1,
	KR_RC_DRAIN = 1,		/* ib_drain_qp() posts one to each queue */

	KR_RC_RESOLVE_MS = 1000,
	KR_RC_LIMIT_MS = 3000,		/* until it is in use */
	/* 4.096 us << 16 = 268 ms: below that Soft-RoCE repeats what is not lost. */
	KR_RC_ACK_TIMEOUT = 16,
	/* Soft-RoCE takes 7 for "for ever". */
	KR_RC_RETRIES = 6,
	KR_RC_RNR_RETRIES = 7,
	KR_RC_RNR_TIMER = 1,		/* 0.01 ms */
};

/* A DMA-mapped buffer for one packet, of KR_RC_SIZE bytes. */
struct rc_buf {
	struct ib_cqe cqe;
	struct ib_sge sge;
	u8 *bytes;
	u32 len;			/* while it is early */
};

/*
 * Its id exists as long as it does; CQ and QP come once the device is known to be the
 * right one.  It is the carrier that is held: see carrier.h.
 */
struct kr_rc {
	struct kr_carrier c;

	/* fixed after init */
	struct rdma_cm_id *id;
	struct timer_list limit;

	/* written under the handler mutex */
	struct ib_cq *cq;
	struct rc_buf rx[KR_RC_RX_BUFS];
	struct rc_buf tx[KR_RC_TX_BUFS];
	u32 local_qpn, remote_qpn;	/* READ_ONCE() elsewhere */

	bool is_place_given;		/* host->lock; the pool's place is another one's */

	spinlock_t open_lock;
	/* protected by open_lock; is_open is read without it, and set for good */
	bool is_open;
	bool has_offer;
	struct kr_offer offer;		/* of the peer */
	u32 nr_early;			/* packets that came before the offer */
	struct rc_buf *early[KR_RC_RX_BUFS];

	/* protected by host->lock */
	u32 tx_next;			/* index of the next slot */
	u32 nr_out;			/* slots posted and not back */
	u32 nr_unsignalled;		/* sends since the last signalled one */
	bool is_refused;		/* somebody got no slot */
};

static struct rdma_cm_id *listeners[2];

static struct kr_rc *to_rc(const struct kr_carrier *c)
{
	return container_of(c, struct kr_rc, c);
}

static struct ib_device *rc_ibdev(const struct kr_rc *rc)
{
	return kr_dev_pd(rc->c.dev)->device;
}

/* Buffers. */

static int buf_init(struct kr_rc *rc, struct rc_buf *buf, enum dma_data_direction dir,
		    void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	struct ib_device *ibdev = rc_ibdev(rc);

	/* Without order-3 pages at hand the host does without this QP. */
	buf->bytes = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY,
					    KR_RC_ORDER);
	if (!buf->bytes)
		return -ENOMEM;
	buf->sge.addr = ib_dma_map_single(ibdev, buf->bytes, KR_RC_SIZE, dir);
	if (ib_dma_mapping_error(ibdev, buf->sge.addr)) {
		free_pages((unsigned long)buf->bytes, KR_RC_ORDER);
		buf->bytes = NULL;
		return -ENOMEM;
	}
	buf->sge.length = KR_RC_SIZE;
	buf->sge.lkey = kr_dev_pd(rc->c.dev)->local_dma_lkey;
	buf->cqe.done = done;
	return 0;
}

static void bufs_free(struct kr_rc *rc, struct rc_buf *bufs, int nr,
		      enum dma_data_direction dir)
{
	int i;

	for (i = 0; i < nr && bufs[i].bytes; i++) {
		ib_dma_unmap_single(rc_ibdev(rc), bufs[i].sge.addr, KR_RC_SIZE, dir);
		free_pages((unsigned long)bufs[i].bytes, KR_RC_ORDER);
	}
}

static void on_recv(struct ib_cq *cq, struct ib_wc *wc);
static void on_sent(struct ib_cq *cq, struct ib_wc *wc);

/* rc_destroy() undoes it, also when it failed. */
static int bufs_alloc(struct kr_rc *rc)
{
	int i, err = 0;

	for (i = 0; !err && i < KR_RC_RX_BUFS; i++)
		err = buf_init(rc, &rc->rx[i], DMA_FROM_DEVICE, on_recv);
	for (i = 0; !err && i < KR_RC_TX_BUFS; i++)
		err = buf_init(rc, &rc->tx[i], DMA_TO_DEVICE, on_sent);
	return err;
}

/* Sending; the host's lock is held. */

static void *port_get(void *port, bool is_control, u8 **bytes)
{
	struct kr_rc *rc = to_rc(port);

	if (kr_carrier_is_ending(&rc->c))
		return NULL;
	if (rc->nr_out == KR_RC_TX_BUFS) {
		rc->is_refused = true;
		return NULL;
	}
	*bytes = rc->tx[rc->tx_next].bytes;
	return &rc->tx[rc->tx_next];
}

/* Until it is posted, the slot is the next one still. */
static void port_put(void *port, void *slot)
{
}

static void port_post(void *port, void *slot, u32 len)
{
	struct kr_rc *rc = to_rc(port);
	struct rc_buf *buf = slot;
	bool is_signalled = rc->nr_unsignalled == KR_RC_SIGNAL_EVERY - 1;
	struct ib_send_wr wr = {
		.wr_cqe = &buf->cqe,
		.sg_list = &buf->sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = is_signalled ? IB_SEND_SIGNALED : 0,
	};

	ib_dma_sync_single_for_device(rc_ibdev(rc), buf->sge.addr, len, DMA_TO_DEVICE);
	buf->sge.length = len;
	/* Then core has it go another way, with all else that has no answer. */
	if (ib_post_send(rc->id->qp, &wr, NULL)) {
		kr_carrier_end(&rc->c);
		return;
	}
	rc->tx_next = (rc->tx_next + 1) % KR_RC_TX_BUFS;
	rc->nr_out++;
	rc->nr_unsignalled = is_signalled ? 0 : rc->nr_unsignalled + 1;
}

static const struct kr_port_ops port_ops = {
	.get = port_get,
	.put = port_put,
	.post = port_post,
};

/* Context: softirq. */
static void on_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kr_rc *rc = cq->cq_context;
	bool is_wanted;

	/* Unsignalled ones complete as well when they fail, and so do those flushed. */
	if (wc->status != IB_WC_SUCCESS) {
		kr_carrier_end(&rc->c);
		return;
	}
	spin_lock_bh(&rc->c.host->lock);
	rc->nr_out -= KR_RC_SIGNAL_EVERY;
	is_wanted = rc->is_refused;
	rc->is_refused = false;
	spin_unlock_bh(&rc->c.host->lock);
	if (is_wanted)
		kr_carrier_tx_ready(&rc->c);
}

/* Receiving. */

static int recv_post(struct kr_rc *rc, struct rc_buf *buf)
{
	struct ib_recv_wr wr = {
		.wr_cqe = &buf->cqe,
		.sg_list = &buf->sge,
		.num_sge = 1,
	};

	return ib_post_recv(rc->id->qp, &wr, NULL);
}

/* Takes a packet, and gives its buffer back to the QP. */
static void take(struct kr_rc *rc, struct rc_buf *buf, u32 len)
{
	struct ib_device *ibdev = rc_ibdev(rc);

	ib_dma_sync_single_for_cpu(ibdev, buf->sge.addr, len, DMA_FROM_DEVICE);
	kr_carrier_receive(&rc->c, buf->bytes, len);
	ib_dma_sync_single_for_device(ibdev, buf->sge.addr, len, DMA_FROM_DEVICE);
	if (!kr_carrier_is_ending(&rc->c) && recv_post(rc, buf))
		kr_carrier_end(&rc->c);
}

/*
 * Opens the lane now that the offer is there, and takes what came before.  A packet that
 * comes meanwhile waits for the lock, since they have to be taken in their order.
 */
static bool open_locked(struct kr_rc *rc)
{
	u32 i;

	lockdep_assert_held(&rc->open_lock);
	if (kr_carrier_open(&rc->c, &rc->offer, false, &port_ops)) {
		kr_carrier_end(&rc->c);
		return false;
	}
	for (i = 0; i < rc->nr_early; i++)
		take(rc, rc->early[i], rc->early[i]->len);
	/* Pairs with on_recv(). */
	smp_store_release(&rc->is_open, true);
	return true;
}

static void made(struct kr_rc *rc)
{
	kr_stat_inc(KR_STAT_rc_made);
	kr_pool_rc_made(rc->c.host);
}

/* The first packets: may this one be taken? */
static bool recv_first(struct kr_rc *rc, struct rc_buf *buf, u32 len)
{
	bool is_made = false, is_open;

	spin_lock_bh(&rc->open_lock);
	if (!rc->is_open && rc->has_offer) {
		is_made = open_locked(rc);
	} else if (!rc->is_open) {
		buf->len = len;
		rc->early[rc->nr_early++] = buf;
	}
	is_open = rc->is_open;
	spin_unlock_bh(&rc->open_lock);
	if (is_made) {
		/* The RTU is late, or lost. */
		rdma_notify(rc->id, IB_EVENT_COMM_EST);
		made(rc);
	}
	return is_open;
}

/* Context: softirq, one at a time. */
static void on_recv(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rc_buf *buf = container_of(wc->wr_cqe, struct rc_buf, cqe);
	struct kr_rc *rc = cq->cq_context;

	if (wc->status != IB_WC_SUCCESS)
		kr_carrier_end(&rc->c);
	else if (smp_load_acquire(&rc->is_open) || recv_first(rc, buf, wc->byte_len))
		take(rc, buf, wc->byte_len);
}

/* The queue pair. */

/* Context: any, hard interrupt too. */
static void on_qp_event(struct ib_event *event, void *context)
{
	struct kr_rc *rc = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		rdma_notify(rc->id, IB_EVENT_COMM_EST);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
	case IB_EVENT_PATH_MIG_ERR:
		kr_carrier_end(&rc->c);
		break;
	default:
		break;
	}
}

/* Is the id on the device and port of the path? */
static bool is_on_dev(const struct kr_rc *rc)
{
	struct kr_dev *dev = kr_dev_find(rc->id->device, rc->id->port_num);

	if (dev)
		kr_dev_put(dev);
	return dev == rc->c.dev;
}

static int qp_create(struct kr_rc *rc)
{
	struct ib_qp_init_attr attr = {
		.event_handler = on_qp_event,
		.qp_context = rc,
		.cap = {
			.max_send_wr = KR_RC_TX_BUFS + KR_RC_DRAIN,
			.max_recv_wr = KR_RC_RX_BUFS + KR_RC_DRAIN,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_cq *cq;
	int err;

	cq = ib_alloc_cq_any(rc->id->device, rc, attr.cap.max_send_wr + attr.cap.max_recv_wr,
			     IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	rc->cq = cq;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	/* With a PD of rdma_cm's the buffers would have no key. */
	err = rdma_create_qp(rc->id, kr_dev_pd(rc->c.dev), &attr);
	if (!err)
		WRITE_ONCE(rc->local_qpn, rc->id->qp->qp_num);
	return err;
}

/* From an id with a device to a QP that waits for its peer. */
static int qp_setup(struct kr_rc *rc)
{
	int i, err;

	if (!is_on_dev(rc))
		return -EXDEV;
	err = rdma_set_min_rnr_timer(rc->id, KR_RC_RNR_TIMER);
	if (!err)
		err = qp_create(rc);
	for (i = 0; !err && i < KR_RC_RX_BUFS; i++)
		err = recv_post(rc, &rc->rx[i]);
	return err;
}

/* What REQ or REP says; @private has room for our offer. */
static struct rdma_conn_param conn_param(const struct kr_rc *rc, u8 private[KR_OFFER_LEN])
{
	struct rdma_conn_param param = {
		.private_data = private,
		.private_data_len = KR_OFFER_LEN,
		.flow_control = 1,
		.retry_count = KR_RC_RETRIES,
		.rnr_retry_count = KR_RC_RNR_RETRIES,
	};
	struct kr_offer offer;

	kr_carrier_offer(&rc->c, KR_RC_SIZE, KR_RC_CREDITS, &offer);
	kr_wire_put_offer(private, &offer);
	return param;
}

/* We send no more, and keep no more unanswered, than our buffers are made for. */
static void take_offer(struct kr_rc *rc, const struct kr_offer *offer)
{
	rc->offer = *offer;
	rc->offer.size = min_t(u32, offer->size, KR_RC_SIZE);
	rc->offer.credits = min_t(u16, offer->credits, KR_RC_CREDITS);
	rc->has_offer = true;
}

/* Does the offer come from this host? */
static bool is_of_host(struct kr_host *host, const struct kr_offer *offer)
{
	const struct kr_assoc *a = &host->assoc;
	bool ret;

	spin_lock_bh(&host->lock);
	ret = !a->is_ended && a->is_proven && offer->tag == a->local_id &&
	      offer->assoc == a->remote_id;
	spin_unlock_bh(&host->lock);
	return ret;
}

/* Events; the handler mutex is held. */

static int on_route(struct kr_rc *rc)
{
	u8 private[KR_OFFER_LEN];
	struct rdma_conn_param param;
	int err;

	err = qp_setup(rc);
	if (err)
		return err;
	param = conn_param(rc, private);
	return rdma_connect_locked(rc->id, &param);
}

/* The answer to our REQ. */
static int take_answer(struct kr_rc *rc, const struct rdma_conn_param *param)
{
	struct kr_offer offer;

	if (!param->private_data ||
	    !kr_wire_get_offer(param->private_data, param->private_data_len, &offer) ||
	    !is_of_host(rc->c.host, &offer))
		return -EPROTO;
	WRITE_ONCE(rc->remote_qpn, param->qp_num);
	spin_lock_bh(&rc->open_lock);
	take_offer(rc, &offer);
	spin_unlock_bh(&rc->open_lock);
	return 0;
}

static int on_established(struct kr_rc *rc, const struct rdma_cm_event *event)
{
	bool is_made = false;
	int err = 0;

	if (rc->c.is_asked)
		err = take_answer(rc, &event->param.conn);
	if (err)
		return err;
	spin_lock_bh(&rc->open_lock);
	if (!rc->is_open)
		is_made = open_locked(rc);
	spin_unlock_bh(&rc->open_lock);
	if (is_made)
		made(rc);
	return 0;
}

static int on_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kr_rc *rc = id->context;
	int err = 0;

	if (kr_carrier_is_ending(&rc->c))
		return 0;
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = rdma_resolve_route(id, KR_RC_RESOLVE_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = on_route(rc);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		err = on_established(rc, event);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		break;
	default:
		/* Refused, unreachable, disconnected, its device removed. */
		err = -ECONNRESET;
		break;
	}
	if (err)
		kr_carrier_end(&rc->c);
	return 0;
}

static void on_limit(struct timer_list *timer)
{
	struct kr_rc *rc = from_timer(rc, timer, limit);

	if (!smp_load_acquire(&rc->is_open))
		kr_carrier_end(&rc->c);
}

/* Coming and going. */

static void rc_destroy(struct kr_carrier *c)
{
	struct kr_rc *rc = to_rc(c);

	rdma_lock_handler(rc->id);
	rdma_unlock_handler(rc->id);
	del_timer_sync(&rc->limit);
	if (rc->id->qp) {
		rdma_disconnect(rc->id);
		ib_drain_qp(rc->id->qp);
		rdma_destroy_qp(rc->id);
		kr_softirq_barrier();
	}
	if (rc->cq)
		ib_free_cq(rc->cq);
	rdma_destroy_id(rc->id);
	bufs_free(rc, rc->rx, KR_RC_RX_BUFS, DMA_FROM_DEVICE);
	bufs_free(rc, rc->tx, KR_RC_TX_BUFS, DMA_TO_DEVICE);
	if (rc->is_open)
		kr_stat_inc(KR_STAT_rc_ended);
	if (!rc->is_place_given)
		kr_pool_rc_gone(c->host, rc->is_open);
	kfree(rc);
}

static void rc_info(const struct kr_carrier *c, struct kr_carrier_info *info)
{
	const struct kr_rc *rc = to_rc(c);

	strscpy(info->dev_name, kr_dev_name(c->dev), sizeof(info->dev_name));
	info->local_qpn = READ_ONCE(rc->local_qpn);
	info->remote_qpn = READ_ONCE(rc->remote_qpn);
}

static const struct kr_carrier_ops rc_ops = {
	.kind = "rc",
	.destroy = rc_destroy,
	.info = rc_info,
};

/*
 * The carrier of @id, whose handler mutex is held; rc_destroy() waits for that.  On
 * failure nothing is left but the id; later kr_carrier_end() ends all of it.
 */
static struct kr_rc *rc_create(struct rdma_cm_id *id, struct kr_host *host,
			       struct kr_dev *dev, bool is_asked)
{
	struct kr_rc *rc = kzalloc(sizeof(*rc), GFP_KERNEL | __GFP_NOWARN);
	int err;

	if (!rc)
		return ERR_PTR(-ENOMEM);
	rc->id = id;
	spin_lock_init(&rc->open_lock);
	timer_setup(&rc->limit, on_limit, 0);
	err = kr_carrier_init(&rc->c, &rc_ops, host, dev, is_asked);
	if (err) {
		kfree(rc);
		return ERR_PTR(err);
	}
	id->context = rc;
	id->event_handler = on_event;
	mod_timer(&rc->limit, jiffies + msecs_to_jiffies(KR_RC_LIMIT_MS));
	return rc;
}

/* Asking. */

struct ends {
	struct kr_dev *dev;		/* with reference */
	union kr_sock_addr src, dst;
};

/* The two ends of the path to @host, and a reference to its device. */
static int get_ends(struct kr_host *host, struct ends *e)
{
	const struct kr_assoc *a = &host->assoc;
	int err;

	spin_lock_bh(&host->lock);
	if (a->is_ended || a->is_loop)
		err = -ECONNRESET;
	else if (!a->is_proven || a->path != KR_PATH_READY || !host->dev)
		err = -ENETUNREACH;
	else
		err = kr_gid_sock_addr(a->local.gid, 0, &e->src);
	if (!err)
		err = kr_gid_sock_addr(a->remote.gid, KRCORE_HELLO_PORT, &e->dst);
	if (!err && !kr_dev_try_get(host->dev))
		err = -ENODEV;
	if (!err)
		e->dev = host->dev;
	spin_unlock_bh(&host->lock);
	return err;
}

static int ask_locked(struct rdma_cm_id *id, struct kr_host *host, struct ends *e)
{
	struct kr_rc *rc = rc_create(id, host, e->dev, true);
	int err;

	if (IS_ERR(rc))
		return PTR_ERR(rc);
	kr_stat_inc(KR_STAT_rc_asked);
	err = bufs_alloc(rc);
	if (!err)
		err = rdma_set_ack_timeout(id, KR_RC_ACK_TIMEOUT);
	if (!err)
		err = rdma_resolve_addr(id, &e->src.sa, &e->dst.sa, KR_RC_RESOLVE_MS);
	if (err)
		kr_carrier_end(&rc->c);
	return 0;
}

int kr_rc_ask(struct kr_host *host)
{
	struct rdma_cm_id *id;
	struct ends e;
	int err;

	err = get_ends(host, &e);
	if (err)
		return err;
	id = rdma_create_id(&init_net, on_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		err = PTR_ERR(id);
	} else {
		rdma_lock_handler(id);
		err = ask_locked(id, host, &e);
		rdma_unlock_handler(id);
		if (err)
			rdma_destroy_id(id);
	}
	kr_dev_put(e.dev);
	return err;
}

/* Being asked; the handler mutexes of the listener and the new id are held. */

/* Is an attempt of ours under way that can still be stopped?  The host's lock is held. */
static bool is_attempt(const struct kr_carrier *c)
{
	return c->ops == &rc_ops && c->is_asked && !kr_carrier_is_ending(c) &&
	       c->lane.state == KR_LANE_CLOSED;
}

/*
 * Gives way to the peer, who asks at the same time: its QP has the place of our attempt,
 * whose lane cannot open any more once it is ending.
 */
static bool give_way(struct kr_host *host)
{
	struct kr_carrier *c;
	bool ret = false;

	spin_lock_bh(&host->lock);
	list_for_each_entry(c, &host->carriers, node) {
		if (!is_attempt(c))
			continue;
		to_rc(c)->is_place_given = true;
		kr_carrier_end(c);
		ret = true;
		break;
	}
	spin_unlock_bh(&host->lock);
	return ret;
}

/* Do we ask this host at the same time, and is it our attempt that counts? */
static bool is_ours_first(struct kr_host *host)
{
	struct kr_carrier *c;
	bool ret = false;

	spin_lock_bh(&host->lock);
	list_for_each_entry(c, &host->carriers, node)
		ret |= is_attempt(c);
	ret &= host->assoc.local_id < host->assoc.remote_id;
	spin_unlock_bh(&host->lock);
	return ret;
}

/* The host that asks, with a reference; NULL: it is none, or shall not have its way. */
static struct kr_host *get_asker(const struct rdma_conn_param *param, struct kr_offer *offer)
{
	struct kr_host *host;

	if (!param->private_data ||
	    !kr_wire_get_offer(param->private_data, param->private_data_len, offer))
		return NULL;
	host = kr_host_find_id(offer->tag);
	if (host && is_of_host(host, offer) && !is_ours_first(host) &&
	    (give_way(host) || kr_pool_may_accept(host)))
		return host;
	if (host)
		kr_host_put(host);
	return NULL;
}

static int accept(struct kr_rc *rc)
{
	u8 private[KR_OFFER_LEN];
	struct rdma_conn_param param;
	int err;

	/* The peer is known by now, so it may keep rdma_cm busy that long. */
	err = bufs_alloc(rc);
	if (!err)
		err = rdma_set_ack_timeout(rc->id, KR_RC_ACK_TIMEOUT);
	if (!err)
		err = qp_setup(rc);
	if (err)
		return err;
	param = conn_param(rc, private);
	return rdma_accept(rc->id, &param);
}

/* -errno: the id has no carrier. */
static int take_request(struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	struct kr_offer offer;
	struct kr_host *host;
	struct kr_dev *dev;
	struct kr_rc *rc;

	host = get_asker(param, &offer);
	if (!host)
		return -EACCES;
	dev = kr_dev_find(id->device, id->port_num);
	rc = dev ? rc_create(id, host, dev, false) : ERR_PTR(-ENODEV);
	if (dev)
		kr_dev_put(dev);
	if (IS_ERR(rc))
		kr_pool_rc_gone(host, false);
	kr_host_put(host);
	if (IS_ERR(rc))
		return PTR_ERR(rc);
	/* Nobody else looks before the QP is there. */
	take_offer(rc, &offer);
	WRITE_ONCE(rc->remote_qpn, param->qp_num);
	if (accept(rc)) {
		rdma_reject(id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
		kr_carrier_end(&rc->c);
	}
	return 0;
}

static int on_listener_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	int err;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	err = take_request(id, &event->param.conn);
	if (err) {
		kr_stat_inc(KR_STAT_rc_refused);
		rdma_reject(id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	}
	/* With an error rdma_cm destroys the new id, which is nobody's. */
	return err;
}

bool kr_rc_end_one(struct kr_host *host)
{
	struct kr_carrier *c, *oldest = NULL;

	spin_lock_bh(&host->lock);
	list_for_each_entry(c, &host->carriers, node) {
		if (c->ops != &rc_ops || c->lane.state == KR_LANE_CLOSED ||
		    kr_carrier_is_ending(c))
			continue;
		if (!oldest || c->lane.used_ns < oldest->lane.used_ns)
			oldest = c;
	}
	if (oldest)
		kr_carrier_end(oldest);
	spin_unlock_bh(&host->lock);
	return oldest;
}

/* Listening. */

static struct rdma_cm_id *listen_at(struct sockaddr *addr)
{
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(&init_net, on_listener_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	err = rdma_set_afonly(id, 1);
	if (!err)
		err = rdma_bind_addr(id, addr);
	if (!err)
		err = rdma_listen(id, 128);
	if (!err)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(err);
}

static struct rdma_cm_id *try_listen_at(struct sockaddr *addr, const char *family)
{
	struct rdma_cm_id *id = listen_at(addr);

	if (!IS_ERR(id))
		return id;
	pr_warn("no RC queue pairs over %s for hosts that ask: %pe\n", family, id);
	return NULL;
}

void kr_rc_init(void)
{
	struct sockaddr_in any4 = {
		.sin_family = AF_INET,
		.sin_port = htons(KRCORE_HELLO_PORT),
	};
	struct sockaddr_in6 any6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(KRCORE_HELLO_PORT),
	};

	BUILD_BUG_ON(PAGE_SIZE << KR_RC_ORDER < KR_RC_SIZE);
	listeners[0] = try_listen_at((struct sockaddr *)&any4, "IPv4");
	listeners[1] = try_listen_at((struct sockaddr *)&any6, "IPv6");
}

void kr_rc_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(listeners); i++)
		if (listeners[i])
			rdma_destroy_id(listeners[i]);
}
