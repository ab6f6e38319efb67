/* SPDX-License-Identifier: MIT */
/*
 * Scenarios: a few hosts, programs that do one simple thing each, a network
 * that is told what to do, and how long it took in virtual time, against a bound.
 *
 *   flow      the programs, the scene, the table
 *   budget    scenarios of one connection: opening, recovery, silence, windows
 *   bottle    scenarios of many that share one bottleneck
 *   carrier   scenarios of lanes beside a path, or without one
 */
#ifndef KRCORE_SIM_FLOW_H
#define KRCORE_SIM_FLOW_H

#include "sim.h"

enum { FLOW_SAMPLES_MAX = 4096 };

#define FLOW_STEP_NS KR_USEC		/* until a program that can go on does */

struct flow;

struct flow_end {
	struct kr_vqp v;
	struct flow *flow;
	struct sim_peer *peer;
	bool is_used, is_open, is_ended;
	bool is_stopped;		/* does not read */
	bool is_step_armed;
	int err;
	u64 armed;			/* the last timer counts */
	u64 to_write;			/* bytes; KR_POS_NONE: always more */
	u64 written, read;
	u64 read_ns;			/* when it last read something */
};

/* A connection: the client writes a stream, or asks and is answered. */
struct flow {
	struct sim *sim;
	struct flow_end client, server;
	u64 asked_ns, opened_ns;	/* opened: 0 not yet */
	u32 message;			/* bytes of question and answer, 0: a stream */
	u64 pause_ns;			/* between an answer and the next question */
	u64 question_ns;
	u64 mark;			/* read when the measurement began */
	u32 nr_samples;
	u64 *samples;			/* ns from question to answer */
};

struct scene {
	struct sim sim;
	struct flow *flows;
	u32 nr_flows;
	/* The next @drop_nr packets of host @drop_from with such a message are lost. */
	u32 drop_from, drop_nr;
	u8 drop_type;			/* 0: any */
	u64 dropped_ns;			/* when the last one was */
	u64 drop_ack_ppm;		/* of packets of host drop_from without DATA */
	u64 nr_from[2];			/* packets of hosts 0 and 1 */
	u64 patience_ns;		/* of who connects */
};

/*
 * Hosts and flows with a network that is fast, loses nothing and has a round trip
 * of 2 ms; the caller changes sc->sim.cfg and then starts.
 */
struct scene *scene_create(u32 hosts, u32 nr_flows);
void scene_start(struct scene *sc);
void scene_destroy(struct scene *sc);
void scene_run(struct scene *sc, u64 ns);
void scene_drop(struct scene *sc, u32 from, u8 type, u32 nr);
u64 scene_rtt(const struct scene *sc);
struct kr_channel *scene_channel(struct scene *sc, u32 from, u32 to);
void scene_partition(struct scene *sc, u32 from, u32 to, u64 ns);

/* The client writes @bytes more (KR_POS_NONE: for ever). */
void flow_write(struct flow *f, u64 bytes);
void flow_connect(struct flow *f, u32 from, u32 to);
void flow_ask(struct flow *f, u32 message, u64 pause_ns);
void flow_read(struct flow_end *e);
void flow_close(struct flow_end *e);
/* Until it is open; until @e has read @pos; false: not within a minute. */
bool flow_await_open(struct flow *f);
bool flow_await_read(struct flow_end *e, u64 pos);

/* Of numbers, per mille: 500 is the median. */
u64 flow_quantile(u64 *at, u32 nr, u32 permille);
/* Jain's index: 1 when all are equal, 1/nr when one has all. */
double flow_fairness(const double *share, u32 nr);

enum flow_sense { AT_MOST, AT_LEAST };

/* One line of the table; @what: in words, with the unit. */
void flow_report(const char *what, double measured, enum flow_sense sense, double bound);

void flow_budget_opening(void);
void flow_budget_recovery(void);
void flow_budget_silence(void);
void flow_budget_loss(void);
void flow_budget_window(void);
void flow_budget_turns(void);
void flow_budget_order(void);
void flow_budget_acks(void);
void flow_bottle(void);
void flow_carrier(void);

#endif
