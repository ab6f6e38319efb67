// SPDX-License-Identifier: MIT
/*
 * cmconnect: how long until a new connection of rdma_cm is of use.
 *
 *   cmconnect server PORT
 *   cmconnect client ADDRESS PORT [COUNT]
 *
 * What connect.c does over sockets, over rdma_cm and an RC QP: the client makes
 * COUNT connections (default 100), one after the other.  `connect` is the time
 * for creating the id, resolving address and route, creating the QP and
 * connecting, until RDMA_CM_EVENT_ESTABLISHED; `total` until a message of 64
 * bytes was echoed.  Disconnecting is not timed.  timing.c counts and prints.
 *
 * A program that connects often opens the device once, so event channel, PD,
 * MR and CQ stay; what belongs to one connection is made anew.  Both sides
 * sleep until there is an event.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

enum {
	MESSAGE_LEN = 64, NR_CONNS = 64, NR_CQE = 4 * NR_CONNS,
	RESOLVE_MS = 5000, WAIT_MS = 30000,
};

/* For all connections; those with verbs are made with the first one. */
static struct {
	struct rdma_event_channel *channel;
	struct ibv_comp_channel *completions;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
} dev;

/* The server's connections; the client uses the first buffer only. */
static struct rdma_cm_id *conns[NR_CONNS];
static char buffers[NR_CONNS][MESSAGE_LEN];

static struct rdma_conn_param conn_param = {
	.responder_resources = 1,
	.initiator_depth = 1,
	.retry_count = 7,
	.rnr_retry_count = 7,
};

static void __attribute__((noreturn)) fail(const char *doing, const char *why)
{
	fprintf(stderr, "cmconnect: %s: %s\n", doing, why);
	exit(1);
}

static void __attribute__((noreturn)) die(const char *doing)
{
	fail(doing, strerror(errno));
}

static void open_channel(void)
{
	if (dev.channel)
		return;
	dev.channel = rdma_create_event_channel();
	if (!dev.channel)
		die("rdma_create_event_channel (is rdma_ucm loaded?)");
}

static void open_device(struct ibv_context *verbs)
{
	if (dev.pd)
		return;
	dev.pd = ibv_alloc_pd(verbs);
	if (!dev.pd)
		die("ibv_alloc_pd");
	dev.mr = ibv_reg_mr(dev.pd, buffers, sizeof(buffers),
			    IBV_ACCESS_LOCAL_WRITE);
	if (!dev.mr)
		die("ibv_reg_mr");
	dev.completions = ibv_create_comp_channel(verbs);
	if (!dev.completions)
		die("ibv_create_comp_channel");
	dev.cq = ibv_create_cq(verbs, NR_CQE, NULL, dev.completions, 0);
	if (!dev.cq)
		die("ibv_create_cq");
	if (ibv_req_notify_cq(dev.cq, 0))
		die("ibv_req_notify_cq");
}

static int create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = dev.cq,
		.recv_cq = dev.cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return rdma_create_qp(id, dev.pd, &attr);
}

static struct ibv_sge sge_of(char *buffer)
{
	return (struct ibv_sge){ .addr = (uintptr_t)buffer,
				 .length = MESSAGE_LEN, .lkey = dev.mr->lkey };
}

static int post_recv(struct rdma_cm_id *id, char *buffer, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(buffer);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	return ibv_post_recv(id->qp, &wr, &bad);
}

/* Completes in the CQ only if it fails. */
static int post_send(struct rdma_cm_id *id, char *buffer, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(buffer);
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge,
				  .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	return ibv_post_send(id->qp, &wr, &bad);
}

/* Takes the CQ's event and asks for the next; then the CQ is to be polled. */
static void take_cq_event(void)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(dev.completions, &cq, &context))
		die("ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0))
		die("ibv_req_notify_cq");
}

/* ---- server ---- */

/* Closed connections leave completions behind, hence the look at the QP. */
static void echo(void)
{
	struct rdma_cm_id *id;
	struct ibv_wc wc;

	while (ibv_poll_cq(dev.cq, 1, &wc) == 1) {
		id = conns[wc.wr_id];
		if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_RECV ||
		    !id || id->qp->qp_num != wc.qp_num)
			continue;
		if (post_send(id, buffers[wc.wr_id], wc.wr_id))
			fprintf(stderr, "cmconnect: a client went before its echo\n");
	}
}

static void drop(struct rdma_cm_id *id)
{
	uintptr_t slot = (uintptr_t)id->context;

	rdma_disconnect(id);
	echo();
	conns[slot] = NULL;
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

static void accept_one(struct rdma_cm_id *id)
{
	uintptr_t slot = 0;

	open_device(id->verbs);
	while (slot < NR_CONNS && conns[slot])
		slot++;
	if (slot == NR_CONNS) {
		fprintf(stderr, "cmconnect: refused: %d clients are connected\n",
			NR_CONNS);
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return;
	}
	if (create_qp(id))
		die("rdma_create_qp");
	conns[slot] = id;
	id->context = (void *)slot;
	if (post_recv(id, buffers[slot], slot))
		die("ibv_post_recv");
	if (rdma_accept(id, &conn_param)) {
		fprintf(stderr, "cmconnect: rdma_accept: %s\n", strerror(errno));
		drop(id);
	}
}

static void serve_cm_event(void)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(dev.channel, &event))
		die("rdma_get_cm_event");
	type = event->event;
	id = event->id;
	rdma_ack_cm_event(event);
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		accept_one(id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		drop(id);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		fail("serving", "the RDMA device is gone");
	default:
		break;
	}
}

static int server(in_port_t port)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_port = htons(port) };
	struct pollfd ready[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct rdma_cm_id *id;

	open_channel();
	if (rdma_create_id(dev.channel, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_bind_addr(id, (struct sockaddr *)&any))
		die("rdma_bind_addr");
	if (rdma_listen(id, NR_CONNS))
		die("rdma_listen");
	for (;;) {
		ready[0].fd = dev.channel->fd;
		ready[1].fd = dev.completions ? dev.completions->fd : -1;
		if (poll(ready, 2, -1) < 0 && errno != EINTR)
			die("poll");
		if (ready[1].revents) {
			take_cq_event();
			echo();
		}
		if (ready[0].revents)
			serve_cm_event();
	}
}

/* ---- client ---- */

static void wait_for(int fd, const char *doing)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int nr = poll(&ready, 1, WAIT_MS);

	if (nr < 0)
		die(doing);
	if (nr == 0)
		fail(doing, strerror(ETIMEDOUT));
}

static void expect(enum rdma_cm_event_type wanted, const char *doing)
{
	struct rdma_cm_event *event;

	wait_for(dev.channel->fd, doing);
	if (rdma_get_cm_event(dev.channel, &event))
		die("rdma_get_cm_event");
	if (event->event != wanted) {
		fprintf(stderr, "cmconnect: %s: %s, status %d: %s\n", doing,
			rdma_event_str(event->event), event->status,
			event->event == RDMA_CM_EVENT_REJECTED ?
			"does the server run?" : strerror(abs(event->status)));
		exit(1);
	}
	rdma_ack_cm_event(event);
}

static struct rdma_cm_id *connect_to(const struct sockaddr_in *to)
{
	struct sockaddr_in copy = *to;
	struct rdma_cm_id *id;

	if (rdma_create_id(dev.channel, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&copy, RESOLVE_MS))
		die("rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED, "resolving the address");
	open_device(id->verbs);
	if (rdma_resolve_route(id, RESOLVE_MS))
		die("rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED, "resolving the route");
	if (create_qp(id))
		die("rdma_create_qp");
	if (rdma_connect(id, &conn_param))
		die("rdma_connect");
	expect(RDMA_CM_EVENT_ESTABLISHED, "connecting");
	return id;
}

/* Waits for this connection's completion; earlier ones may have left some. */
static void wait_echo(uint64_t wr_id)
{
	struct ibv_wc wc;

	for (;;) {
		while (ibv_poll_cq(dev.cq, 1, &wc) == 1) {
			if (wc.wr_id != wr_id)
				continue;
			if (wc.status != IBV_WC_SUCCESS)
				fail("waiting for the echo",
				     ibv_wc_status_str(wc.status));
			return;
		}
		wait_for(dev.completions->fd, "waiting for the echo");
		take_cq_event();
	}
}

static struct sample one(const struct sockaddr_in *to)
{
	static uint64_t wr_id;
	double start, connected;
	struct rdma_cm_id *id;
	struct sample s;

	open_channel();
	start = timing_now_us();
	id = connect_to(to);
	connected = timing_now_us();
	s.connect_us = connected - start;
	wr_id++;
	if (post_recv(id, buffers[0], wr_id))
		die("ibv_post_recv");
	if (post_send(id, buffers[0], wr_id))
		die("ibv_post_send");
	wait_echo(wr_id);
	s.total_us = timing_now_us() - start;
	if (rdma_disconnect(id))
		die("rdma_disconnect");
	expect(RDMA_CM_EVENT_DISCONNECTED, "disconnecting");
	rdma_destroy_qp(id);
	if (rdma_destroy_id(id))
		die("rdma_destroy_id");
	return s;
}

int main(int argc, char **argv)
{
	static const struct program program = { "cmconnect", server, one };

	return timing_main(&program, argc, argv);
}
