// SPDX-License-Identifier: MIT
/*
 * Lanes beside the path: how long a stream stands still when one of them fails, and what
 * they are worth without a path.  Bounds are from limits.h, as in budget.c.
 */
#include <stdio.h>
#include "flow.h"

#define START_NS (KR_SEC / 2)

static double ms(u64 ns)
{
	return ns / 1e6;
}

static struct scene *pair(u32 nr_flows)
{
	struct scene *sc = scene_create(2, nr_flows);

	scene_start(sc);
	flow_connect(&sc->flows[0], 0, 1);
	if (!flow_await_open(&sc->flows[0]))
		sim_fail(&sc->sim, "no connection");
	return sc;
}

static struct sim_lane *add_lane(struct scene *sc, bool is_last)
{
	return sim_lane_open(sim_peer(&sc->sim, 0, 1), is_last);
}

static struct kr_assoc *assoc(struct scene *sc, u32 host)
{
	return &sim_peer(&sc->sim, host, !host)->assoc->a;
}

/* What the path's own timeouts need until it is silent, and then one round trip. */
static u64 silence_ns(const struct scene *sc)
{
	u64 pto = 2 * scene_rtt(sc) + KR_GRANULARITY_NS + KR_ACK_DELAY_NS;

	return ((1 << KR_PTO_SILENT) - 1) * pto + scene_rtt(sc);
}

/* The longest time in which the server read nothing, in the next @ns. */
static u64 longest_pause(struct scene *sc, u64 ns)
{
	const struct flow_end *e = &sc->flows[0].server;
	u64 until = sc->sim.now + ns, longest = 0;

	while (sc->sim.now < until) {
		scene_run(sc, KR_MSEC / 10);
		longest = max(longest, sc->sim.now - e->read_ns);
	}
	return longest;
}

/* A stream that has found its pace. */
static void stream(struct scene *sc)
{
	flow_write(&sc->flows[0], KR_POS_NONE);
	scene_run(sc, START_NS);
}

/* Answers are late by a round trip at most so far, so that the least doubt counts. */
static u64 doubt_bound(const struct scene *sc)
{
	return KR_LANE_DOUBT_MIN_NS + scene_rtt(sc) + KR_ACK_DELAY_NS;
}

static void lane_silent(bool both_ways, bool has_other)
{
	struct scene *sc = pair(1);
	struct sim_lane *lane = add_lane(sc, false);
	char what[80];

	if (has_other)
		add_lane(sc, false);
	stream(sc);
	sim_lane_silence(lane, 0);
	if (both_ways)
		sim_lane_silence(lane, 1);
	snprintf(what, sizeof(what), "lanes: one %s silent%s, pause, ms",
		 both_ways ? "is" : "sends and is", has_other ? ", another is up" : "");
	flow_report(what, ms(longest_pause(sc, 5 * KR_SEC)), AT_MOST, ms(doubt_bound(sc)));
	flow_report("lanes: and within 5 s it is closed",
		    lane->ends[0].state == SIM_LANE_CLOSED, AT_LEAST, 1);
	scene_destroy(sc);
}

static void lane_ends(void)
{
	struct scene *sc = pair(1);
	struct sim_lane *lane = add_lane(sc, false);

	stream(sc);
	sim_lane_cut(lane);
	/* What goes again first the reader has, and says so; then comes what it has not. */
	flow_report("lanes: one ends, pause, ms", ms(longest_pause(sc, KR_SEC)), AT_MOST,
		    ms(2 * scene_rtt(sc)));
	scene_destroy(sc);
}

/* It goes on in time, and so is used again. */
static void lane_stalls(void)
{
	struct scene *sc = pair(1);
	struct sim_lane *lane = add_lane(sc, false);
	u64 bytes;

	stream(sc);
	sim_lane_stall(lane, 0, KR_LANE_STALL_NS * 3 / 4);
	flow_report("lanes: one stalls, pause, ms", ms(longest_pause(sc, KR_LANE_STALL_NS)),
		    AT_MOST, ms(doubt_bound(sc)));
	bytes = lane->ends[0].l.tx_bytes;
	scene_run(sc, KR_SEC);
	flow_report("lanes: it goes on and carries bytes again, MB in a second",
		    (lane->ends[0].l.tx_bytes - bytes) / 1e6, AT_LEAST, 1);
	scene_destroy(sc);
}

/* A stream that is large goes by the lane and leaves the path to others. */
static void lane_share(void)
{
	struct scene *sc = pair(1);
	struct sim_lane *lane;
	u64 by_lane, read;

	/* Which would be asked first. */
	add_lane(sc, true);
	lane = add_lane(sc, false);
	stream(sc);
	by_lane = lane->ends[0].l.tx_bytes;
	read = sc->flows[0].server.read;
	scene_run(sc, KR_SEC);
	flow_report("lanes: a stream by a lane, its share of the bytes",
		    (double)(lane->ends[0].l.tx_bytes - by_lane) /
		    (double)(sc->flows[0].server.read - read), AT_LEAST, 0.95);
	scene_destroy(sc);
}

static void on_device(struct sim *s, void *obj, u64 arg)
{
	sim_peer_check(obj);
}

static void lose_path(struct scene *sc, u32 host, u64 ns)
{
	struct sim_peer *p = sim_peer(&sc->sim, host, !host);
	struct sim *s = &sc->sim;

	sim_host_lose_device(p->host, ns, 0);
	sim_host_at(p->host, p->host->away_ns, on_device, p, 0);
	kr_assoc_path_lost(&p->assoc->a, s->now);
	sim_peer_run(p);
}

/* Who loses its device knows it at once; the other learns it by the lane. */
static void path_lost(u32 host)
{
	struct scene *sc = pair(1);
	char what[80];

	add_lane(sc, true);
	stream(sc);
	lose_path(sc, host, 3 * KR_SEC);
	snprintf(what, sizeof(what), "lanes: the %s loses its path, a last lane is up, pause, ms",
		 host ? "reader" : "writer");
	/* The reader's word that it has none takes half a round trip more. */
	flow_report(what, ms(longest_pause(sc, 2 * KR_SEC)), AT_MOST,
		    ms((2 + host) * scene_rtt(sc) / 2));
	scene_run(sc, 10 * KR_SEC);
	snprintf(what, sizeof(what), "lanes: %s, and then the path is used again",
		 host ? "reader" : "writer");
	flow_report(what, !kr_assoc_is_by_lanes(assoc(sc, 0)) &&
			  !kr_assoc_is_by_lanes(assoc(sc, 1)), AT_LEAST, 1);
	scene_destroy(sc);
}

/* The server lost it while there were no connections, so that it does not look for it. */
static void path_lost_idle(void)
{
	struct scene *sc = pair(2);

	add_lane(sc, true);
	flow_close(&sc->flows[0].client);
	flow_close(&sc->flows[0].server);
	scene_run(sc, 5 * KR_SEC);
	lose_path(sc, 1, 100 * KR_MSEC);
	scene_run(sc, KR_SEC);
	flow_connect(&sc->flows[1], 0, 1);
	flow_write(&sc->flows[1], KR_POS_NONE);
	scene_run(sc, 10 * KR_SEC);
	flow_report("lanes: a path that was lost before is used again",
		    !kr_assoc_is_by_lanes(assoc(sc, 0)), AT_LEAST, 1);
	scene_destroy(sc);
}

static void path_cut(void)
{
	struct scene *sc = pair(1);
	u64 cut_ns = 5 * KR_SEC, began;

	add_lane(sc, true);
	stream(sc);
	scene_partition(sc, 0, 1, cut_ns);
	began = sc->sim.now;
	flow_report("lanes: the path is cut, a last lane is up, pause, ms",
		    ms(longest_pause(sc, cut_ns)), AT_MOST, ms(silence_ns(sc)));
	while (kr_assoc_is_by_lanes(assoc(sc, 0)) && sc->sim.now < began + 60 * KR_SEC)
		scene_run(sc, KR_MSEC);
	/* A hello a second asks for the peer, and another PTO may be waited for. */
	flow_report("lanes: the cut ends, and the path is used again after, ms",
		    ms(sc->sim.now - began - cut_ns), AT_MOST,
		    ms(KR_CHECK_NS + KR_PTO_MAX_NS + 4 * scene_rtt(sc)));
	scene_destroy(sc);
}

/* CONNECT, ACCEPT and the confirmation that nobody's bytes carry. */
static void open_by_lane(void)
{
	struct scene *sc = pair(2);
	struct flow *f = &sc->flows[1];
	u64 began;

	add_lane(sc, true);
	scene_run(sc, KR_SEC);
	scene_partition(sc, 0, 1, 60 * KR_SEC);
	kr_assoc_path_lost(assoc(sc, 0), sc->sim.now);
	sim_peer_run(sim_peer(&sc->sim, 0, 1));
	scene_run(sc, 2 * scene_rtt(sc));
	began = sc->sim.now;
	flow_connect(f, 0, 1);
	if (!flow_await_open(f))
		sim_fail(&sc->sim, "no connection by a lane");
	flow_report("lanes: opening without a path, both ends, ms", ms(sc->sim.now - began),
		    AT_MOST, ms(2 * scene_rtt(sc)));
	scene_destroy(sc);
}

/* Hosts without a path that say nothing: the lane says that they are alive, or that not. */
static void idle_by_lane(bool is_silent)
{
	u64 window = 100 * KR_SEC, began, packets;
	struct scene *sc = scene_create(2, 1);
	struct flow *f = &sc->flows[0];
	struct sim_lane *lane;

	sc->sim.cfg.host_timeout_ns = 3 * KR_SEC;
	scene_start(sc);
	flow_connect(f, 0, 1);
	if (!flow_await_open(f))
		sim_fail(&sc->sim, "no connection");
	lane = add_lane(sc, true);
	scene_run(sc, KR_SEC);
	scene_partition(sc, 0, 1, 2 * window);
	kr_assoc_path_lost(assoc(sc, 0), sc->sim.now);
	kr_assoc_path_lost(assoc(sc, 1), sc->sim.now);
	sim_peer_check(sim_peer(&sc->sim, 0, 1));
	sim_peer_check(sim_peer(&sc->sim, 1, 0));
	began = sc->sim.now;
	if (is_silent) {
		sim_lane_silence(lane, 0);
		sim_lane_silence(lane, 1);
	}
	packets = lane->ends[0].l.tx_packets + lane->ends[1].l.tx_packets;
	while (!f->client.is_ended && sc->sim.now < began + window)
		scene_run(sc, 10 * KR_MSEC);
	if (is_silent) {
		/* The question, which is spread over 2 s, then doubt, then the next check. */
		flow_report("lanes: no path, lane silent, host timeout 3 s: ends after, s",
			    ms(sc->sim.now - began) / 1e3, AT_MOST,
			    ms(KR_KEEPALIVE_NS + 0xff * 8 * KR_MSEC + KR_LANE_DOUBT_MAX_NS +
			       2 * KR_CHECK_NS) / 1e3);
	} else {
		flow_report("lanes: no path, host timeout 3 s: idle connections that end",
			    f->client.is_ended, AT_MOST, 0);
		flow_report("lanes: and packets of 100 s of that",
			    lane->ends[0].l.tx_packets + lane->ends[1].l.tx_packets - packets,
			    AT_MOST, 4 * (window / KR_KEEPALIVE_NS + 1));
	}
	scene_destroy(sc);
}

void flow_carrier(void)
{
	lane_share();
	lane_silent(true, false);
	lane_silent(false, false);
	lane_silent(true, true);
	lane_ends();
	lane_stalls();
	path_lost_idle();
	path_lost(0);
	path_lost(1);
	path_cut();
	open_by_lane();
	idle_by_lane(false);
	idle_by_lane(true);
}
