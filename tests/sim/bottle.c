// SPDX-License-Identifier: MIT
/*
 * Streams from several hosts to one, through the bottleneck in front of it: do
 * they fill it, share it, and leave it when another one comes?
 */
#include <stdio.h>
#include <stdlib.h>
#include "flow.h"

enum {
	STREAMS_MAX = 64,
	MTU = 1024,
	PACKET = MTU + SIM_FRAMING,
	PAYLOAD = 904,			/* bytes of a stream in each */
	PER_S = 10000,			/* packets of the bottleneck */
};

#define RATE ((u64)PER_S * PACKET)
#define GOODPUT ((u64)PER_S * PAYLOAD)
#define RTT (4 * KR_MSEC)
#define START_NS (2 * KR_SEC)
#define MEASURE_NS (3 * KR_SEC)

/* One setting. */
struct bottle {
	u32 hosts;			/* that send, each by one association */
	u32 per_host;			/* connections */
	u32 rtt_factor;			/* of every second host */
	u32 queue_percent;		/* of a bandwidth-delay product */
	u32 loss_ppm;
};

/* What came of it. */
struct outcome {
	double fill;			/* share of the rate that is read */
	double fairness;		/* between associations */
	double inner;			/* between connections of one, the least */
	double lost;			/* for lack of queue, for one that passed */
	double peak;			/* queue, in packets */
};

static u64 host_rtt(const struct bottle *b, u32 host)
{
	return RTT * (host % 2 ? b->rtt_factor : 1);
}

static u64 product(const struct bottle *b)
{
	u64 rtt = b->hosts > 1 ? (host_rtt(b, 0) + host_rtt(b, 1)) / 2 : RTT;

	return RATE * rtt / KR_SEC;
}

static struct scene *create(const struct bottle *b)
{
	struct scene *sc = scene_create(b->hosts + 1, b->hosts * b->per_host);
	struct sim_cfg *c = &sc->sim.cfg;
	u32 i, to = b->hosts;

	c->mtu = MTU;
	c->delay_ns = RTT / 2;
	c->in_rate = RATE;
	c->in_queue = product(b) * b->queue_percent / 100;
	scene_start(sc);
	for (i = 0; i < b->hosts; i++)
		sim_peer(&sc->sim, i, to)->link.extra_ns = host_rtt(b, i) - RTT;
	return sc;
}

static void open_one(struct scene *sc, const struct bottle *b, u32 i)
{
	flow_connect(&sc->flows[i], i % b->hosts, b->hosts);
	flow_write(&sc->flows[i], KR_POS_NONE);
}

static void share(struct scene *sc, const struct bottle *b, struct outcome *o)
{
	double of_host[STREAMS_MAX] = { 0 }, of_flow[STREAMS_MAX];
	u32 h, i, n;

	o->inner = 1;
	for (h = 0; h < b->hosts; h++) {
		for (n = 0, i = h; i < sc->nr_flows; i += b->hosts, n++) {
			of_flow[n] = sc->flows[i].server.read - sc->flows[i].mark;
			of_host[h] += of_flow[n];
		}
		if (flow_fairness(of_flow, n) < o->inner)
			o->inner = flow_fairness(of_flow, n);
	}
	o->fairness = flow_fairness(of_host, b->hosts);
}

static struct outcome measure(const struct bottle *b)
{
	struct scene *sc = create(b);
	struct sim_host *to = &sc->sim.hosts[b->hosts];
	double packets = MEASURE_NS * PER_S / 1e9;
	struct outcome o = { 0 };
	u64 lost;
	u32 i;

	for (i = 0; i < sc->nr_flows; i++) {
		open_one(sc, b, i);
		scene_run(sc, 20 * KR_MSEC);
	}
	sc->sim.cfg.loss = b->loss_ppm;
	scene_run(sc, START_NS);
	for (i = 0; i < sc->nr_flows; i++)
		sc->flows[i].mark = sc->flows[i].server.read;
	lost = to->in_lost;
	scene_run(sc, MEASURE_NS);
	for (i = 0; i < sc->nr_flows; i++)
		o.fill += (sc->flows[i].server.read - sc->flows[i].mark) / packets / PAYLOAD;
	o.lost = (to->in_lost - lost) / packets;
	o.peak = (double)to->in_peak / PACKET;
	share(sc, b, &o);
	scene_destroy(sc);
	return o;
}

/*
 * A host's window goes from 0.8 W to W, its share of product and queue, in 0.2 W round
 * trips, which are 0.18 W^2 packets, and then loses two: one too many, and one more
 * before the word of it is back.
 */
static double lost_bound(const struct bottle *b)
{
	double window = (double)RATE * RTT / KR_SEC;

	window += (double)product(b) * b->queue_percent / 100;
	window /= PACKET * (double)b->hosts;
	return 2 / (0.18 * window * window);
}

/* The worst of the settings of one kind: queue and loss differ. */
static void worst_of(struct bottle b, struct outcome *worst)
{
	static const u32 queues[] = { 50, 100, 400 };
	struct outcome o;
	u32 q;

	*worst = (struct outcome){ .fill = 1, .fairness = 1, .inner = 1 };
	for (q = 0; q < ARRAY_SIZE(queues); q++) {
		for (b.loss_ppm = 0; b.loss_ppm <= 1000; b.loss_ppm += 1000) {
			b.queue_percent = queues[q];
			o = measure(&b);
			worst->fill = o.fill < worst->fill ? o.fill : worst->fill;
			if (o.fairness < worst->fairness)
				worst->fairness = o.fairness;
			worst->inner = o.inner < worst->inner ? o.inner : worst->inner;
			if (o.lost / lost_bound(&b) > worst->lost)
				worst->lost = o.lost / lost_bound(&b);
		}
	}
}

static void kind(u32 hosts, u32 per_host, u32 rtt_factor)
{
	struct bottle b = { hosts, per_host, rtt_factor, 0, 0 };
	struct outcome worst;
	char what[80];
	int n;

	worst_of(b, &worst);
	n = snprintf(what, sizeof(what), "bottleneck: %2u hosts x %2u%s, ", hosts, per_host,
		     rtt_factor > 1 ? ", RTT 1:4" : "");
	snprintf(what + n, sizeof(what) - n, "least used");
	flow_report(what, worst.fill, AT_LEAST, 0.9);
	/* Hosts with the same window share as the inverse of their round trips. */
	snprintf(what + n, sizeof(what) - n, "least fairness of hosts");
	if (hosts > 1)
		flow_report(what, worst.fairness, AT_LEAST,
			    rtt_factor > 1 ? flow_fairness((double[]){ 1, 0.25 }, 2) : 0.95);
	snprintf(what + n, sizeof(what) - n, "least fairness of streams");
	if (per_host > 1)
		flow_report(what, worst.inner, AT_LEAST, 0.98);
	snprintf(what + n, sizeof(what) - n, "most lost, of what it may");
	flow_report(what, worst.lost, AT_MOST, 1);
}

/* A queue without end: windows bound what stands in it. */
static void queue_of(u32 hosts)
{
	struct bottle b = { hosts, 1, 1, 100000, 0 };
	struct outcome o = measure(&b);
	char what[80];

	snprintf(what, sizeof(what), "bottleneck: %2u hosts, queue without end, packets", hosts);
	flow_report(what, o.peak, AT_MOST, hosts * KR_CWND_MAX);
}

/* More hosts than the way has room for their least windows: it stays full. */
static void too_many(u32 hosts)
{
	struct bottle b = { hosts, 1, 1, 100, 0 };
	struct outcome o = measure(&b);
	char what[80];

	snprintf(what, sizeof(what), "bottleneck: %2u hosts with room for 20, used", hosts);
	flow_report(what, o.fill, AT_LEAST, 0.9);
	snprintf(what, sizeof(what), "bottleneck: %2u hosts with room for 20, fairness", hosts);
	flow_report(what, o.fairness, AT_LEAST, 0.7);
}

/*
 * The first one has it all.  Each cycle (0.2 W round trips with the queue, 16 packets
 * over two hosts) closes a fifth of the gap; half of the rate less a fifth takes 7.
 */
static void latecomer(void)
{
	struct bottle b = { 2, 1, 1, 100, 0 };
	u64 began, mark, step = 50 * KR_MSEC;
	double share = 0;
	struct scene *sc;
	struct flow *f;

	sc = create(&b);
	f = &sc->flows[1];
	open_one(sc, &b, 0);
	scene_run(sc, START_NS);
	began = sc->sim.now;
	open_one(sc, &b, 1);
	while (share < 0.4 && sc->sim.now < began + 10 * KR_SEC) {
		mark = f->server.read;
		scene_run(sc, step);
		share = (double)(f->server.read - mark) * KR_SEC / step / GOODPUT;
	}
	flow_report("bottleneck: a second host has 40 % of it after, ms",
		    (sc->sim.now - began) / 1e6, AT_MOST, 7 * 8 * 2 * RTT / 1e6);
	scene_destroy(sc);
}

void flow_bottle(void)
{
	kind(1, 1, 1);
	kind(1, 16, 1);
	kind(2, 1, 1);
	kind(2, 1, 4);
	kind(4, 1, 1);
	kind(4, 1, 4);
	kind(4, 4, 1);
	kind(4, 4, 4);
	kind(16, 1, 1);
	kind(16, 1, 4);
	too_many(64);
	queue_of(1);
	queue_of(4);
	latecomer();
}
