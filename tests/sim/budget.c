// SPDX-License-Identifier: MIT
/*
 * How long things may take.  Each bound follows from the round trip, the rate and
 * the timers of docs/PROTOCOL.md, written next to it; none is what the present
 * code happens to need.
 */
#include <stdio.h>
#include <stdlib.h>
#include "flow.h"

/* By then a stream has found its pace. */
#define START_NS (KR_SEC / 4)

enum {
	NR_OPENINGS = 1000,
	PACKET = 4096 + SIM_FRAMING,
	PAYLOAD = 3976,			/* bytes of a stream in each */
};

static double ms(u64 ns)
{
	return ns / 1e6;
}

/* A round trip of the scene and a timeout of a path that was measured (PROTOCOL.md, 9). */
static u64 pto_ns(const struct scene *sc)
{
	return scene_rtt(sc) + KR_GRANULARITY_NS + KR_ACK_DELAY_NS;
}

static struct flow *open_flow(struct scene *sc, u32 nr, u32 from, u32 to)
{
	struct flow *f = &sc->flows[nr];

	flow_connect(f, from, to);
	if (!flow_await_open(f))
		sim_fail(&sc->sim, "no connection");
	return f;
}

/* The scene starts with its first connection, open. */
static struct flow *start(struct scene *sc)
{
	scene_start(sc);
	return open_flow(sc, 0, 0, 1);
}

/* Such a scene of two hosts, as it comes. */
static struct scene *pair(u32 nr_flows)
{
	struct scene *sc = scene_create(2, nr_flows);

	start(sc);
	return sc;
}

/* Questions of 64 bytes, so that the channel knows the round trip; then quiet. */
static void warm_up(struct scene *sc, struct flow *f, u64 pause_ns, u64 ns)
{
	flow_ask(f, 64, pause_ns);
	scene_run(sc, ns);
	f->pause_ns = 3600 * KR_SEC;
	scene_run(sc, KR_SEC);
	f->message = 0;
}

/*
 * A try is CONNECT there and ACCEPT back, so it fails with q = 1 - (1 - p)^2; tries
 * go out at 0, 1, 3, 7, ... KR_CONNECT_RETRY_NS.  The quantile @level needs the least
 * k with q^k <= 1 - level.
 */
static double opening_bound_ms(const struct scene *sc, double p, double level)
{
	double q = 1 - (1 - p) * (1 - p), left = q;
	u64 last = 0, gap = KR_CONNECT_RETRY_NS;

	for (; left > 1 - level; left *= q, gap *= 2)
		last += gap;
	return ms(last + 2 * scene_rtt(sc));
}

static void open_under_loss(u32 percent)
{
	struct scene *sc = pair(NR_OPENINGS + 1);
	u64 *took = calloc(NR_OPENINGS, sizeof(*took));
	char what[80];
	struct flow *f;
	u32 i;

	if (!took)
		abort();
	sc->sim.cfg.loss = percent * 10000;
	for (i = 0; i < NR_OPENINGS; i++) {
		flow_connect(&sc->flows[i + 1], 0, 1);
		scene_run(sc, 20 * KR_MSEC);
	}
	scene_run(sc, 30 * KR_SEC);
	for (i = 0; i < NR_OPENINGS; i++) {
		f = &sc->flows[i + 1];
		took[i] = f->opened_ns ? f->opened_ns - f->asked_ns : KR_POS_NONE;
	}
	snprintf(what, sizeof(what), "opening: %u %% lost, median, ms", percent);
	flow_report(what, ms(flow_quantile(took, NR_OPENINGS, 500)), AT_MOST,
		    opening_bound_ms(sc, percent / 100.0, 0.5));
	snprintf(what, sizeof(what), "opening: %u %% lost, 99 of 100, ms", percent);
	flow_report(what, ms(flow_quantile(took, NR_OPENINGS, 990)), AT_MOST,
		    opening_bound_ms(sc, percent / 100.0, 0.99));
	free(took);
	scene_destroy(sc);
}

/* The gap in the numbers tells of the lost ACCEPT: one round trip more. */
static void open_beside_traffic(u8 lost, const char *what)
{
	struct scene *sc = pair(3);
	struct flow *f = &sc->flows[2];
	u32 i;

	flow_write(open_flow(sc, 1, 1, 0), KR_POS_NONE);
	flow_write(&sc->flows[0], KR_POS_NONE);
	scene_run(sc, START_NS);
	scene_drop(sc, lost == KR_MSG_ACCEPT, lost, 1);
	flow_connect(f, 0, 1);
	for (i = 0; i < 1000 && !f->opened_ns; i++)
		scene_run(sc, KR_MSEC / 10);
	flow_report(what, ms(f->opened_ns - f->asked_ns), AT_MOST,
		    ms(5 * scene_rtt(sc) / 2));
	scene_destroy(sc);
}

/* The server has answered, in vain; CANCEL saves it the wait for a confirmation. */
static void open_given_up(bool by_user)
{
	struct scene *sc = pair(2);
	struct flow *f = &sc->flows[1];
	u64 given_up;

	scene_drop(sc, 1, KR_MSG_ACCEPT, 1000);
	if (!by_user)
		sc->patience_ns = 2 * scene_rtt(sc);
	flow_connect(f, 0, 1);
	scene_run(sc, 2 * scene_rtt(sc) - 1);
	if (!f->server.is_used)
		sim_fail(&sc->sim, "no CONNECT came");
	given_up = sc->sim.now + 1;
	if (by_user)
		flow_close(&f->client);
	while (f->server.is_used && sc->sim.now < given_up + 30 * KR_SEC)
		scene_run(sc, KR_MSEC / 10);
	flow_report(by_user ? "opening: closed before it is open, its server lives, ms" :
		    "opening: given up in time, its server lives, ms",
		    ms(sc->sim.now - given_up), AT_MOST, ms(scene_rtt(sc)));
	scene_destroy(sc);
}

/*
 * The server VQP is reset, its RST overtakes its ACCEPT, and what the ACCEPT would make the
 * client say is acknowledged, its answer lost: the next CONNECT makes another one.
 */
static void open_after_reset(void)
{
	struct scene *sc = pair(2);
	struct flow *f = &sc->flows[1];
	struct sim_peer *p = sim_peer(&sc->sim, 1, 0);

	warm_up(sc, &sc->flows[0], KR_MSEC, KR_SEC);
	p->link.extra_ns = 2 * scene_rtt(sc);
	flow_connect(f, 0, 1);
	while (!f->server.is_used)
		scene_run(sc, KR_MSEC / 100);
	p->link.extra_ns = 0;
	kr_vqp_abort(&f->server.v, ECONNRESET, KR_RST_ABORT, sc->sim.now);
	sim_peer_run(p);
	scene_drop(sc, 1, KR_MSG_RST, 1);
	for (u32 i = 0; i < 20 && sc->drop_nr; i++)
		scene_run(sc, scene_rtt(sc) / 2);
	kr_assoc_ping(&p->assoc->a);
	sim_peer_run(p);
	scene_run(sc, 10 * KR_SEC);
	flow_report("opening: a reset overtakes its ACCEPT, clients that are alone then",
		    !f->client.is_ended && !f->server.is_open, AT_MOST, 0);
	scene_destroy(sc);
}

void flow_budget_opening(void)
{
	open_under_loss(10);
	open_under_loss(20);
	open_under_loss(30);
	open_beside_traffic(KR_MSG_CONNECT, "opening: CONNECT lost beside traffic, ms");
	open_beside_traffic(KR_MSG_ACCEPT, "opening: ACCEPT lost beside traffic, ms");
	open_given_up(true);
	open_given_up(false);
	open_after_reset();
}

/* Later packets tell: half a round trip there, one to learn and repeat, and slack. */
static void lose_in_the_middle(u32 nr)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	char what[80];
	u64 accepted;

	flow_write(f, KR_POS_NONE);
	scene_run(sc, START_NS);
	scene_drop(sc, 0, KR_MSG_DATA, nr);
	while (sc->drop_nr)
		sim_step(&sc->sim, KR_POS_NONE);
	accepted = f->client.v.tx.next;
	flow_await_read(&f->server, accepted);
	snprintf(what, sizeof(what), "recovery: %u lost in the middle of a stream, ms", nr);
	flow_report(what, ms(sc->sim.now - sc->dropped_ns), AT_MOST, ms(2 * scene_rtt(sc)));
	accepted = f->server.read;
	scene_run(sc, 10 * scene_rtt(sc));
	/* One cut for all of them, from a window of KR_CWND_MAX. */
	snprintf(what, sizeof(what), "recovery: %u lost, packets in a round trip after", nr);
	flow_report(what, (f->server.read - accepted) / 10.0 / PAYLOAD, AT_LEAST,
		    0.9 * 0.8 * KR_CWND_MAX);
	scene_destroy(sc);
}

/* The next one tells of KR_SACK_BITS packets, and 20 are for 160 of KR_CWND_MAX. */
static void lose_acks(void)
{
	struct scene *sc = pair(1);

	flow_write(&sc->flows[0], KR_POS_NONE);
	scene_run(sc, START_NS);
	scene_drop(sc, 1, 0, 20);
	scene_run(sc, 10 * scene_rtt(sc));
	flow_report("recovery: 20 acknowledgements lost, packets sent again",
		    scene_channel(sc, 0, 1)->nr_lost, AT_MOST, 0);
	scene_destroy(sc);
}

/* Nothing follows: timeouts, which double, then the way there. */
static void lose_the_tail(u32 nr, const char *what)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 began, bound;

	warm_up(sc, f, 10 * KR_MSEC, 2 * KR_SEC);
	began = sc->sim.now;
	scene_drop(sc, 0, KR_MSG_DATA, nr);
	flow_write(f, 64);
	flow_await_read(&f->server, f->server.read + 64);
	bound = pto_ns(sc) * ((1 << nr) - 1) + scene_rtt(sc);
	flow_report(what, ms(sc->sim.now - began), AT_MOST, ms(bound));
	scene_destroy(sc);
}

/*
 * On a long way the timeout counts from the round trip alone, without the time that
 * acknowledgements wait: nobody answers here.
 */
static void lose_the_tail_far_away(void)
{
	struct scene *sc = scene_create(2, 1);
	struct flow *f;
	u64 began, i;

	sc->sim.cfg.delay_ns = 10 * KR_MSEC;
	f = start(sc);
	for (i = 0; i < 40; i++) {
		flow_write(f, 64);
		scene_run(sc, 100 * KR_MSEC);
	}
	began = sc->sim.now;
	scene_drop(sc, 0, KR_MSG_DATA, 1);
	flow_write(f, 64);
	flow_await_read(&f->server, f->server.read + 64);
	flow_report("recovery: the last packet lost, round trip 20 ms, ms",
		    ms(sc->sim.now - began), AT_MOST,
		    ms(pto_ns(sc) + scene_rtt(sc) / 2 + 2 * KR_MSEC));
	scene_destroy(sc);
}

/* What one outage taught must not slow down the next recovery. */
static void lose_the_tail_again(void)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 began;

	warm_up(sc, f, 10 * KR_MSEC, 2 * KR_SEC);
	scene_drop(sc, 0, KR_MSG_DATA, 3);
	flow_write(f, 64);
	flow_await_read(&f->server, f->server.read + 64);
	warm_up(sc, f, 10 * KR_MSEC, 2 * KR_SEC);
	began = sc->sim.now;
	scene_drop(sc, 0, KR_MSG_DATA, 1);
	flow_write(f, 64);
	flow_await_read(&f->server, f->server.read + 64);
	flow_report("recovery: the last packet lost, after an outage, ms",
		    ms(sc->sim.now - began), AT_MOST, ms(pto_ns(sc) + scene_rtt(sc)));
	scene_destroy(sc);
}

/*
 * Half of a hundred packets are lost, and what comes back is as well, so that the next
 * timeout shows more holes at once than a stream notes: all are filled then.
 */
static void lose_every_other(void)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 began, sent;

	flow_write(f, KR_POS_NONE);
	scene_run(sc, START_NS);
	sim_peer(&sc->sim, 0, 1)->link.holes_left = 100;
	scene_run(sc, scene_rtt(sc) / 2);
	began = sc->sim.now;
	sent = f->client.v.tx.next;
	sim_peer(&sc->sim, 1, 0)->link.blocked_ns = began + scene_rtt(sc);
	flow_await_read(&f->server, sent);
	flow_report("recovery: half of 100 lost, and what came back, ms",
		    ms(sc->sim.now - began), AT_MOST, ms(pto_ns(sc) + 2 * scene_rtt(sc)));
	scene_destroy(sc);
}

void flow_budget_recovery(void)
{
	lose_in_the_middle(1);
	lose_in_the_middle(20);
	lose_every_other();
	lose_acks();
	lose_the_tail(1, "recovery: the last packet lost, ms");
	lose_the_tail(2, "recovery: the last packet lost, and its repetition, ms");
	lose_the_tail(3, "recovery: the last packet lost three times, ms");
	lose_the_tail_far_away();
	lose_the_tail_again();
}

/*
 * Timeouts double up to KR_PTO_MAX_NS, so the next one comes when the silence has
 * lasted twice as long, and no more than that maximum later.  A hello, once a second, may find
 * the peer sooner; it is a datagram that somebody may not let through.
 */
static void silence(u64 length, bool has_hello)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 end, before, sent, timeouts = 2;
	const char *how = has_hello ? "" : ", without hello";
	char what[80];

	sc->sim.hosts[0].is_hello_blocked = !has_hello;
	sc->sim.hosts[1].is_hello_blocked = !has_hello;
	flow_write(f, KR_POS_NONE);
	scene_run(sc, START_NS);
	before = sc->nr_from[0];
	end = sc->sim.now + length;
	scene_partition(sc, 0, 1, length);
	scene_run(sc, length);
	sent = sc->nr_from[0] - before;
	before = f->server.read;
	flow_await_read(&f->server, before + 1);
	snprintf(what, sizeof(what), "silence of %g s%s: then the stream goes on after, ms",
		 length / 1e9, how);
	flow_report(what, ms(sc->sim.now - end), AT_MOST,
		    ms(min(length + pto_ns(sc), KR_PTO_MAX_NS) + 2 * scene_rtt(sc)));
	flow_await_read(&f->server, before + 100000000);
	snprintf(what, sizeof(what), "silence of %g s%s: then 100 MB have come after, ms",
		 length / 1e9, how);
	/* A window of KR_CWND_MAX a round trip, and as much again to get there. */
	flow_report(what, ms(sc->sim.now - end), AT_MOST,
		    ms(min(length + pto_ns(sc), KR_PTO_MAX_NS) +
		       2 * scene_rtt(sc) * (100000000 / (KR_CWND_MAX * PAYLOAD) + 1)));
	/* A window under way when it began, then two probes and a PING each time. */
	for (u64 t = pto_ns(sc); t < length; t += min(t, KR_PTO_MAX_NS))
		timeouts++;
	snprintf(what, sizeof(what), "silence of %g s%s: packets sent into it", length / 1e9, how);
	flow_report(what, sent, AT_MOST, KR_CWND_MAX + 3.0 * timeouts);
	scene_destroy(sc);
}

/* The keepalive finds that the peer's host has begun anew; its period is in kr_assoc. */
static void reboot_while_idle(void)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 began;

	scene_run(sc, KR_SEC);
	began = sc->sim.now;
	sim_peer_gone(sim_peer(&sc->sim, 1, 0), ENETDOWN);
	sim_host_boot(&sc->sim.hosts[1], false);
	while (!f->client.is_ended && sc->sim.now < began + 60 * KR_SEC)
		scene_run(sc, KR_MSEC);
	flow_report("silence: an idle connection, whose peer's host rebooted, ends after, ms",
		    ms(sc->sim.now - began), AT_MOST,
		    ms(KR_KEEPALIVE_NS + 255 * 8 * KR_MSEC + 2 * scene_rtt(sc)));
	scene_destroy(sc);
}

/*
 * The peer hears us and acknowledges to elsewhere, as a late PATH_REQ can make it.  Nobody
 * has anything to say but a PING, which shows it; then all is as usual: a PING and its
 * acknowledgement now and then, and a few packets more for the path.
 */
static void taken_for_elsewhere(void)
{
	struct scene *sc = pair(1);
	struct sim_peer *p = sim_peer(&sc->sim, 0, 1);
	u64 length = 600 * KR_SEC, before;

	scene_run(sc, KR_SEC);
	sim_peer(&sc->sim, 1, 0)->assoc->a.remote.qpn++;
	before = sc->nr_from[0];
	kr_assoc_ping(&p->assoc->a);
	sim_peer_run(p);
	scene_run(sc, length);
	flow_report("silence: acknowledged to elsewhere while idle, packets in 600 s",
		    sc->nr_from[0] - before, AT_MOST, 2 * length / KR_KEEPALIVE_NS + 20);
	scene_destroy(sc);
}

/*
 * Somebody always has something to say, more often than a timeout is long: here a PING, as
 * each PATH_REQ of another association makes one.  It is missed all the same that none is
 * answered: a timeout is moved by what is sent meanwhile, to twice its time at most.
 */
static void talking_into_it(void)
{
	struct scene *sc = pair(1);
	struct sim_peer *p = sim_peer(&sc->sim, 0, 1);
	struct kr_assoc *a = &p->assoc->a;
	u64 length = 10 * KR_SEC, began;

	warm_up(sc, &sc->flows[0], KR_MSEC, KR_SEC);
	began = sc->sim.now;
	scene_partition(sc, 0, 1, length);
	while (!kr_channel_is_silent(&a->ch) && sc->sim.now < began + length) {
		kr_assoc_ping(a);
		sim_peer_run(p);
		scene_run(sc, scene_rtt(sc));
	}
	flow_report("silence: a PING each round trip into it, noticed after, ms",
		    ms(sc->sim.now - began), AT_MOST,
		    ms(2 * ((1 << KR_PTO_SILENT) - 1) * pto_ns(sc) + 2 * scene_rtt(sc)));
	scene_destroy(sc);
}

/* DATA of a forgotten association is dropped; after a timeout PING asks, and GONE tells. */
static void forgotten(void)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 began;

	warm_up(sc, f, KR_MSEC, KR_SEC);
	sim_peer_gone(sim_peer(&sc->sim, 1, 0), ENETDOWN);
	began = sc->sim.now;
	flow_write(f, 1000);
	while (!f->client.is_ended && sc->sim.now < began + 60 * KR_SEC)
		scene_run(sc, KR_MSEC / 10);
	flow_report("silence: bytes for a host that has forgotten us end it after, ms",
		    ms(sc->sim.now - began), AT_MOST, ms(pto_ns(sc) + 2 * scene_rtt(sc)));
	scene_destroy(sc);
}

/* A hello that tells of another queue pair is enough: the path is proven, then used. */
static void moved(void)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	struct sim_peer *p = sim_peer(&sc->sim, 0, 1);
	u64 began;

	warm_up(sc, f, KR_MSEC, KR_SEC);
	sc->sim.hosts[1].qpn += 64;
	kr_assoc_path_lost(&sim_peer(&sc->sim, 1, 0)->assoc->a, sc->sim.now);
	began = sc->sim.now;
	flow_write(f, 1000);
	sim_hello_ask(p);
	flow_await_read(&f->server, f->server.read + 1000);
	flow_report("silence: bytes for a host that has moved, as hello says, come after, ms",
		    ms(sc->sim.now - began), AT_MOST, ms(4 * scene_rtt(sc)));
	scene_destroy(sc);
}

void flow_budget_silence(void)
{
	reboot_while_idle();
	forgotten();
	moved();
	taken_for_elsewhere();
	talking_into_it();
	silence(30 * KR_MSEC, true);
	silence(300 * KR_MSEC, true);
	silence(3 * KR_SEC, true);
	silence(30 * KR_SEC, true);
	silence(30 * KR_SEC, false);
}

/* Bytes/s of one stream over @length, after a while to start. */
static double throughput(struct scene *sc, struct flow *f, u64 length)
{
	u64 before;

	flow_write(f, KR_POS_NONE);
	scene_run(sc, START_NS);
	before = f->server.read;
	scene_run(sc, length);
	return (f->server.read - before) * 1e9 / length;
}

/*
 * With a loss in each 1/p packets, +1 per round trip and x 0.8 for each, the window is
 * sqrt(1.8 / (0.4 p)) in the mean: 21 packets for 1 %, 67 for 0.1 %.  Three quarters of
 * that, for losses come in no steady pace, or @share of the rate.
 */
static void lossy(u32 ppm, u64 rate, double window, double share)
{
	struct scene *sc = scene_create(2, 1);
	double wanted, got, full = (double)rate * PAYLOAD / PACKET;
	struct flow *f;
	char what[80];

	sc->sim.cfg.rate = rate;
	sc->sim.cfg.queue = rate * scene_rtt(sc) / KR_SEC;
	f = start(sc);
	sc->sim.cfg.loss = ppm;
	/* Long enough for a few hundred losses. */
	got = throughput(sc, f, ppm ? 5 * KR_SEC : KR_SEC / 2);
	wanted = 0.75 * window * PAYLOAD * 1e9 / scene_rtt(sc);
	snprintf(what, sizeof(what), "loss: %g %% lost, link of %lu MB/s, got MB/s",
		 ppm / 1e4, (unsigned long)(rate / 1000000));
	flow_report(what, got / 1e6, AT_LEAST,
		    (wanted < share * full ? wanted : share * full) / 1e6);
	scene_destroy(sc);
}

void flow_budget_loss(void)
{
	lossy(0, 100000000, KR_CWND_MAX, 0.9);
	lossy(0, 1000000000, KR_CWND_MAX, 0.9);
	lossy(1000, 50000000, 67, 0.9);
	lossy(1000, 1000000000, 67, 0.9);
	/* Two products of the link are 20 packets: the window is often below that. */
	lossy(10000, 20000000, 21, 0.8);
	lossy(10000, 1000000000, 21, 0.9);
}

/* The window is closed for a long time; what the reader frees is told at once. */
static void slow_reader(void)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 began, before;

	f->server.is_stopped = true;
	flow_write(f, KR_POS_NONE);
	scene_run(sc, 20 * KR_SEC);
	began = sc->sim.now;
	flow_read(&f->server);
	scene_run(sc, 10 * KR_USEC);
	before = f->server.read;
	flow_await_read(&f->server, before + 1);
	flow_report("window: closed for 20 s, bytes after it opened came after, ms",
		    ms(sc->sim.now - began), AT_MOST, ms(3 * scene_rtt(sc) / 2));
	scene_destroy(sc);
}

/*
 * The same, and the word of it is lost, which only a timeout can tell.  The reader's host
 * has measured the way with an acknowledgement that waited.
 */
static void lost_window(void)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 began, before;

	f->server.is_stopped = true;
	flow_write(f, KR_POS_NONE);
	scene_run(sc, 20 * KR_SEC);
	began = sc->sim.now;
	scene_drop(sc, 1, 0, 1);
	flow_read(&f->server);
	scene_run(sc, 10 * KR_USEC);
	before = f->server.read;
	flow_await_read(&f->server, before + 1);
	flow_report("window: the same, and the first word of it is lost, ms",
		    ms(sc->sim.now - began), AT_MOST,
		    ms(pto_ns(sc) + KR_ACK_DELAY_NS + 2 * scene_rtt(sc)));
	scene_destroy(sc);
}

/*
 * A host without memory says so, and in the same word, which waited for a send slot, asks
 * whether the peer is there.  It is lost: the packets after it tell, and it is said once
 * more, in two round trips; then the sender waits for two timeouts before it tries.
 */
static void lost_again(void)
{
	struct scene *sc = pair(2);
	struct flow *f = &sc->flows[0];
	struct kr_vqp_opts opts = f->server.v.opts;
	struct sim_host *h = &sc->sim.hosts[1];
	u64 began;

	open_flow(sc, 1, 1, 0);
	opts.keep_idle_ns = KR_SEC;
	opts.keep_intvl_ns = KR_SEC;
	opts.keep_cnt = 2;
	kr_vqp_set_opts(&f->server.v, &opts, sc->sim.now);
	h->stop_ns = sc->sim.now + KR_SEC + 2 * scene_rtt(sc);
	sim_host_at(h, h->stop_ns, sim_host_tx_ready, h, 0);
	scene_run(sc, KR_SEC + scene_rtt(sc));
	sim_env.poor = &f->server;
	flow_write(f, 64);
	flow_write(&sc->flows[1], 16 * PAYLOAD);
	scene_drop(sc, 1, KR_MSG_WINDOW, 1);
	while (sc->drop_nr)
		sim_step(&sc->sim, KR_POS_NONE);
	began = sc->sim.now;
	sim_env.poor = NULL;
	flow_await_read(&f->server, 64);
	flow_report("window: no memory, and the word of it is lost, ms",
		    ms(sc->sim.now - began), AT_MOST, ms(2 * pto_ns(sc) + 2 * scene_rtt(sc)));
	scene_destroy(sc);
}

/*
 * A peer that answers is alive, however long its program does not read, unless the
 * user has set a time for it.
 */
static void stopped_reader(u64 user_timeout, u64 length)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	struct kr_vqp_opts opts = f->client.v.opts;
	char what[80];

	opts.user_timeout_ns = user_timeout;
	kr_vqp_set_opts(&f->client.v, &opts, sc->sim.now);
	f->server.is_stopped = true;
	flow_write(f, KR_POS_NONE);
	scene_run(sc, length);
	snprintf(what, sizeof(what), "window: closed for %g s, user timeout %g s: errors",
		 length / 1e9, user_timeout / 1e9);
	flow_report(what, f->client.is_ended, user_timeout ? AT_LEAST : AT_MOST,
		    user_timeout != 0);
	snprintf(what, sizeof(what), "window: closed for %g s: packets", length / 1e9);
	flow_report(what, sc->nr_from[0] + sc->nr_from[1], AT_MOST,
		    2.0 * KR_BUF_BYTES_MAX / PAYLOAD +
		    4.0 * (20 + length / KR_PROBE_MAX_NS));
	scene_destroy(sc);
}

/*
 * 50 packets, KR_PKT_MSGS_MAX messages each: KR_CWND_INIT, then the others.  One
 * acknowledgement cannot tell all of them what was accepted; the next does.
 */
static void many_news(void)
{
	struct scene *sc = scene_create(2, 400);
	u64 began, last = 0;
	bool is_done;
	u32 i;

	sc->sim.cfg.mtu = 1024;
	scene_start(sc);
	for (i = 0; i < sc->nr_flows; i++)
		flow_connect(&sc->flows[i], 0, 1);
	scene_run(sc, KR_SEC);
	began = sc->sim.now;
	for (i = 0; i < sc->nr_flows; i++)
		flow_write(&sc->flows[i], 8);
	do {
		is_done = true;
		for (i = 0; i < sc->nr_flows; i++)
			is_done &= !kr_tx_has_unaccepted(&sc->flows[i].client.v.tx) &&
				   sc->flows[i].client.written;
		last = sc->sim.now;
	} while (!is_done && sim_step(&sc->sim, began + KR_SEC));
	flow_report("window: 400 connections know that 8 bytes each came after, ms",
		    ms(last - began), AT_MOST, ms(5 * scene_rtt(sc) / 2 + KR_ACK_DELAY_NS));
	scene_destroy(sc);
}

/*
 * Within a host nothing takes time but the programs' turns, two for each message: the reader
 * says what room it has with each, so that the writer never stands at an old edge.
 */
static void messages_within_a_host(void)
{
	struct scene *sc = pair(2);
	struct flow *f = open_flow(sc, 1, 0, 0);
	u64 len = 4000, nr = 3 * KR_BUF_BYTES_MAX / len, began = sc->sim.now;

	for (u64 i = 1; i <= nr; i++) {
		flow_write(f, len);
		flow_await_read(&f->server, i * len);
	}
	flow_report("window: messages within a host, 12 MiB in all, ms",
		    ms(sc->sim.now - began), AT_MOST, ms(2 * FLOW_STEP_NS * (nr + 1)));
	scene_destroy(sc);
}

void flow_budget_window(void)
{
	messages_within_a_host();
	slow_reader();
	lost_window();
	lost_again();
	stopped_reader(0, 3600 * KR_SEC);
	stopped_reader(5 * KR_SEC, 600 * KR_SEC);
	many_news();
}

/*
 * @nr streams and one that asks with 64 bytes.  On the way are at most a window of
 * KR_CWND_MAX packets, of which each connection has one before the small one's turn.
 */
static void small_beside_bulk(u32 nr, u64 rate)
{
	struct scene *sc = scene_create(2, nr + 1);
	struct flow *small = &sc->flows[nr];
	char what[80];
	u64 bound;
	u32 i;

	sc->sim.cfg.rate = rate;
	scene_start(sc);
	for (i = 0; i <= nr; i++)
		open_flow(sc, i, 0, 1);
	for (i = 0; i < nr; i++)
		flow_write(&sc->flows[i], KR_POS_NONE);
	scene_run(sc, START_NS);
	flow_ask(small, 64, 100 * KR_USEC);
	scene_run(sc, KR_SEC / 2);
	bound = 2 * scene_rtt(sc) + (KR_CWND_MAX + nr) * PACKET * KR_SEC / rate;
	snprintf(what, sizeof(what),
		 "turns: 64 bytes and back beside %u streams, %lu MB/s, 99 of 100, ms", nr,
		 (unsigned long)(rate / 1000000));
	flow_report(what, ms(flow_quantile(small->samples, small->nr_samples, 990)),
		    AT_MOST, ms(bound));
	scene_destroy(sc);
}

/* VQPs of one association have turns of one packet each: equal shares. */
static void equal_turns(u32 nr)
{
	struct scene *sc = scene_create(2, nr);
	double share[64];
	char what[80];
	u32 i;

	sc->sim.cfg.rate = 100000000;
	sc->sim.cfg.queue = 200000;
	scene_start(sc);
	for (i = 0; i < nr; i++) {
		flow_write(open_flow(sc, i, 0, 1), KR_POS_NONE);
		scene_run(sc, 10 * KR_MSEC);
	}
	for (i = 0; i < nr; i++)
		sc->flows[i].mark = sc->flows[i].server.read;
	scene_run(sc, KR_SEC);
	for (i = 0; i < nr; i++)
		share[i] = sc->flows[i].server.read - sc->flows[i].mark;
	snprintf(what, sizeof(what), "turns: %u streams of one association, fairness", nr);
	flow_report(what, flow_fairness(share, nr), AT_LEAST, 0.98);
	scene_destroy(sc);
}

void flow_budget_turns(void)
{
	small_beside_bulk(1, 100000000);
	small_beside_bulk(1, 1000000000);
	small_beside_bulk(15, 100000000);
	equal_turns(2);
	equal_turns(16);
	equal_turns(64);
}

/*
 * A network that only repeats or overtakes loses nothing: at least @wanted of the rate
 * remains, and at most @twice of what is sent is sent twice.
 */
static void disorder(const char *name, u64 dup, u64 jitter, u64 ack_loss, double wanted,
		     double twice)
{
	struct scene *sc = scene_create(2, 1);
	struct flow *f;
	char what[80];
	u64 packets;
	double got;

	sc->sim.cfg.rate = 100000000;
	sc->sim.cfg.queue = 800000;
	f = start(sc);
	sc->sim.cfg.dup = dup;
	sc->sim.cfg.jitter_ns = jitter;
	sc->drop_from = 1;
	sc->drop_ack_ppm = ack_loss;
	flow_write(f, KR_POS_NONE);
	scene_run(sc, KR_SEC);
	got = throughput(sc, f, 2 * KR_SEC);
	packets = sc->nr_from[0];
	snprintf(what, sizeof(what), "order: %s, share of the rate", name);
	flow_report(what, got / 100e6 * PACKET / PAYLOAD, AT_LEAST, wanted);
	snprintf(what, sizeof(what), "order: %s, packets for one that was needed", name);
	flow_report(what, (double)packets * PAYLOAD / f->server.read, AT_MOST, twice);
	scene_destroy(sc);
}

void flow_budget_order(void)
{
	disorder("10 % come twice", 100000, 0, 0, 0.9, 1.02);
	disorder("50 % come twice", 500000, 0, 0, 0.9, 1.02);
	disorder("0-0.4 ms of jitter, 10 packets", 0, 400 * KR_USEC, 0, 0.9, 1.02);
	disorder("0-2 ms of jitter, 49 packets", 0, 2 * KR_MSEC, 0, 0.8, 1.02);
	disorder("jitter, and 10 % come twice", 100000, KR_MSEC, 0, 0.8, 1.02);
	disorder("half of the acknowledgements lost", 0, 0, 500000, 0.9, 1.02);
	disorder("jitter, 3 of 4 acknowledgements lost", 0, KR_MSEC, 750000, 0.9, 1.02);
}

/* A stream is acknowledged by far fewer packets than it has. */
static void few_acks(void)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 data, acks;

	flow_write(f, KR_POS_NONE);
	scene_run(sc, START_NS);
	data = sc->nr_from[0];
	acks = sc->nr_from[1];
	scene_run(sc, START_NS);
	data = sc->nr_from[0] - data;
	acks = sc->nr_from[1] - acks;
	/* One for KR_ACK_EVERY, two a window that ask, and WINDOWs of half a buffer. */
	flow_report("acks: packets back for one of a stream", (double)acks / data, AT_MOST,
		    1.0 / KR_ACK_EVERY + 4.0 / KR_CWND_MAX + 0.01);
	scene_destroy(sc);
}

/* Question and answer carry each other's acknowledgement. */
static void no_acks(void)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 packets;

	flow_ask(f, 64, 10 * KR_USEC);
	scene_run(sc, KR_SEC);
	packets = sc->nr_from[0] + sc->nr_from[1];
	scene_run(sc, KR_SEC);
	packets = sc->nr_from[0] + sc->nr_from[1] - packets;
	flow_report("acks: packets for a question and its answer",
		    packets / (1e9 / (scene_rtt(sc) + 15 * KR_USEC)), AT_MOST, 2.1);
	scene_destroy(sc);
}

/* A full window asks for its answer, so that the delay costs nothing. */
static void short_way(u64 delay, u64 queue, double wanted)
{
	struct scene *sc = scene_create(2, 1);
	char what[80];
	double got;

	sc->sim.cfg.delay_ns = delay;
	sc->sim.cfg.queue = queue;
	got = throughput(sc, start(sc), KR_SEC / 5);
	snprintf(what, sizeof(what), "acks: round trip %g us, queue %lu kB, share of the rate",
		 2 * delay / 1e3, (unsigned long)(queue / 1000));
	flow_report(what, got / 1e9 * PACKET / PAYLOAD, AT_LEAST, wanted);
	scene_destroy(sc);
}

/* Small questions do not prove that the network has room for a whole window. */
static void burst_after_quiet(void)
{
	struct scene *sc = pair(1);
	struct flow *f = &sc->flows[0];
	u64 before;

	warm_up(sc, f, 100 * KR_USEC, 10 * KR_SEC);
	before = sc->nr_from[0];
	flow_write(f, KR_POS_NONE);
	scene_run(sc, scene_rtt(sc));
	flow_report("acks: first packets of a stream after questions, in a round trip",
		    sc->nr_from[0] - before, AT_MOST, 2.0 * KR_CWND_INIT);
	scene_destroy(sc);
}

/*
 * The second packet is acknowledged at once and the first one with it, which says nothing
 * of the way: it waited for the second.
 */
static void measured_by_the_last(void)
{
	struct scene *sc = pair(1);

	for (u32 i = 0; i < 200; i++) {
		flow_write(&sc->flows[0], 100);
		scene_run(sc, i % 2 ? KR_SEC / 10 : KR_ACK_DELAY_NS * 9 / 10);
	}
	flow_report("acks: pairs of packets 9 ms apart, round trip as measured, ms",
		    ms(scene_channel(sc, 0, 1)->srtt_ns), AT_MOST, 1.1 * ms(scene_rtt(sc)));
	scene_destroy(sc);
}

void flow_budget_acks(void)
{
	few_acks();
	no_acks();
	short_way(10 * KR_USEC, 100000, 0.9);
	/* Half a window arrives at once, more than this queue holds. */
	short_way(10 * KR_USEC, 20000, 0.8);
	short_way(100 * KR_USEC, 200000, 0.9);
	burst_after_quiet();
	measured_by_the_last();
}
