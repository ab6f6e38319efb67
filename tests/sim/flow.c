// SPDX-License-Identifier: MIT
/*
 * Programs that write, read, ask and answer as fast as they are let, on a
 * network that is told what to do; and the table of what that took.  The programs
 * of user.c check bytes, these here only count them.
 */
#include <stdio.h>
#include <stdlib.h>
#include "flow.h"

#define PATIENCE_NS (60 * KR_SEC)

static u32 nr_over;
static bool is_traced;

static struct scene *scene_of(struct sim *s)
{
	return container_of(s, struct scene, sim);
}

/* Programs. */

static void write_some(struct flow_end *e)
{
	struct kr_vqp *v = &e->v;
	u64 len = min(e->to_write, (u64)kr_tx_room(&v->tx));

	if (!len || kr_buf_grow(&v->tx.buf, v->tx.head, v->tx.end - v->tx.head + len))
		return;
	for (u32 done = 0, room; done < len; done += room)
		if (!kr_buf_reserve(&v->tx.buf, v->tx.end + done, &room, true))
			abort();
	e->written += len;
	if (e->to_write != KR_POS_NONE)
		e->to_write -= len;
	kr_vqp_wrote(v, len, 0, e->flow->sim->now);
}

static void on_question(struct sim *s, void *obj, u64 arg)
{
	struct flow *f = obj;

	f->question_ns = s->now;
	flow_write(f, f->message);
}

static void on_answer(struct flow *f)
{
	struct sim *s = f->sim;

	if (f->client.read % f->message)
		return;
	if (f->nr_samples < FLOW_SAMPLES_MAX)
		f->samples[f->nr_samples++] = s->now - f->question_ns;
	sim_at(s, s->now + f->pause_ns, on_question, f, 0);
}

static void read_some(struct flow_end *e)
{
	u64 len = kr_rx_ready(&e->v.rx), before = e->read;
	struct flow *f = e->flow;
	struct sim *s = f->sim;

	if (!len || e->is_stopped)
		return;
	kr_vqp_consumed(&e->v, len, s->now);
	e->read += len;
	e->read_ns = s->now;
	if (!f->message)
		return;
	if (e == &f->client)
		on_answer(f);
	else
		e->to_write += (e->read / f->message - before / f->message) * f->message;
}

static void on_step(struct sim *s, void *obj, u64 arg)
{
	struct flow_end *e = obj;

	e->is_step_armed = false;
	if (!e->is_open || !e->v.is_attached)
		return;
	read_some(e);
	write_some(e);
	sim_peer_run(e->peer);
}

static void wake(struct flow_end *e)
{
	struct sim *s = e->flow->sim;

	if (e->is_step_armed)
		return;
	e->is_step_armed = true;
	sim_at(s, s->now + FLOW_STEP_NS, on_step, e, 0);
}

static void end_start(struct flow_end *e, struct flow *f, struct sim_peer *p)
{
	e->flow = f;
	e->peer = p;
	e->is_used = true;
	kr_vqp_init(&e->v, KR_KIND_STREAM, KR_BUF_BYTES_MAX, KR_BUF_BYTES_MAX, e);
}

static void on_event(struct kr_vqp *v, u32 events)
{
	struct flow_end *e = container_of(v, struct flow_end, v);

	if (events & KR_EV_OPEN) {
		e->is_open = true;
		if (e == &e->flow->client)
			e->flow->opened_ns = e->flow->sim->now;
	}
	if (events & KR_EV_END) {
		e->is_ended = true;
		e->err = v->err;
	}
	wake(e);
}

static void on_released(struct kr_vqp *v)
{
	struct flow_end *e = container_of(v, struct flow_end, v);

	e->is_used = false;
	e->armed++;
	kr_vqp_clean(v);
}

static void on_timer(struct sim *s, void *obj, u64 arg)
{
	struct flow_end *e = obj;

	if (!e->is_used || e->armed != arg)
		return;
	kr_vqp_timeout(&e->v, s->now);
	sim_peer_run(e->peer);
}

static void arm(struct kr_vqp *v, u64 when)
{
	struct flow_end *e = container_of(v, struct flow_end, v);

	sim_at(e->flow->sim, when, on_timer, e, ++e->armed);
}

static int on_incoming(struct kr_assoc *a, const struct kr_connect *c, struct kr_vqp **out)
{
	struct sim_peer *p = container_of(a, struct sim_assoc, a)->peer;
	struct scene *sc = scene_of(p->host->sim);
	struct flow *f = &sc->flows[get_unaligned_be32(c->tuple.daddr)];

	/* A repeated CONNECT that comes late. */
	if (f->server.is_used)
		return -EAGAIN;
	end_start(&f->server, f, p);
	*out = &f->server.v;
	return 0;
}

static const struct kr_ops flow_ops = {
	.incoming = on_incoming,
	.event = on_event,
	.released = on_released,
	.arm = arm,
	.path_event = sim_path_event,
	.path_req = sim_path_req,
	.lane_failed = sim_lane_failed,
};

void flow_connect(struct flow *f, u32 from, u32 to)
{
	struct sim_peer *p = sim_peer(f->sim, from, to);
	struct sim *s = f->sim;
	struct kr_vqp *v = &f->client.v;

	if (from == to)
		sim_peer_self(p);
	if (!p->assoc) {
		sim_hello_ask(p);
		while (!p->assoc || p->assoc->a.path != KR_PATH_READY)
			if (!sim_step(s, s->now + KR_SEC))
				sim_fail(s, "no path");
	}
	end_start(&f->client, f, p);
	v->tuple.family = 4;
	v->tuple.sport = 1024;
	v->tuple.dport = 80;
	put_unaligned_be32(f - scene_of(s)->flows, v->tuple.daddr);
	f->asked_ns = s->now;
	if (kr_vqp_connect(&p->assoc->a, v, s->now + scene_of(s)->patience_ns, s->now))
		abort();
	sim_peer_run(p);
}

void flow_close(struct flow_end *e)
{
	kr_vqp_close(&e->v, e->flow->sim->now);
	sim_peer_run(e->peer);
}

void flow_write(struct flow *f, u64 bytes)
{
	f->client.to_write = bytes == KR_POS_NONE ? bytes : f->client.to_write + bytes;
	wake(&f->client);
}

void flow_ask(struct flow *f, u32 message, u64 pause_ns)
{
	f->message = message;
	f->pause_ns = pause_ns;
	f->nr_samples = 0;
	if (!f->samples)
		f->samples = calloc(FLOW_SAMPLES_MAX, sizeof(f->samples[0]));
	if (!f->samples)
		abort();
	on_question(f->sim, f, 0);
}

void flow_read(struct flow_end *e)
{
	e->is_stopped = false;
	wake(e);
}

bool flow_await_open(struct flow *f)
{
	u64 until = f->sim->now + PATIENCE_NS;

	while (!f->client.is_open || !f->server.is_open)
		if (!sim_step(f->sim, until))
			return false;
	return true;
}

bool flow_await_read(struct flow_end *e, u64 pos)
{
	u64 until = e->flow->sim->now + PATIENCE_NS;

	while (e->read < pos)
		if (!sim_step(e->flow->sim, until))
			return false;
	return true;
}

/* The scene. */

static bool has_msg(const u8 *p, u32 len, u8 type)
{
	const u8 *body = p + KR_HDR_LEN, *end;
	struct kr_hdr h;
	struct kr_msg m;

	if (!kr_wire_get_hdr(p, len, &h))
		return false;
	end = body + h.body_len;
	while (body != end && kr_wire_get_msg(&body, end, &m))
		if (m.type == type)
			return true;
	return false;
}

static bool drops(struct sim *s, u32 from, const u8 *p, u32 len)
{
	struct scene *sc = scene_of(s);

	if (from < ARRAY_SIZE(sc->nr_from))
		sc->nr_from[from]++;
	if (from != sc->drop_from)
		return false;
	if (sc->drop_ack_ppm && !has_msg(p, len, KR_MSG_DATA))
		return sim_chance(&s->rng, sc->drop_ack_ppm);
	if (!sc->drop_nr || (sc->drop_type && !has_msg(p, len, sc->drop_type)))
		return false;
	sc->drop_nr--;
	sc->dropped_ns = s->now;
	return true;
}

struct scene *scene_create(u32 hosts, u32 nr_flows)
{
	struct scene *sc = calloc(1, sizeof(*sc));
	struct sim *s = &sc->sim;

	if (!sc)
		abort();
	sc->flows = calloc(nr_flows, sizeof(sc->flows[0]));
	if (!sc->flows)
		abort();
	sc->nr_flows = nr_flows;
	sc->patience_ns = PATIENCE_NS;
	s->seed = 1;
	s->now = KR_SEC;
	s->ops = &flow_ops;
	s->drops = drops;
	s->is_traced = is_traced;
	s->is_faulty = true;
	s->cfg.hosts = hosts;
	s->cfg.slots = 4096;
	s->cfg.mtu = 4096;
	s->cfg.delay_ns = KR_MSEC;
	s->cfg.rate = 1000000000;
	s->cfg.queue = 1 << 30;
	return sc;
}

void scene_start(struct scene *sc)
{
	struct sim *s = &sc->sim;
	u32 i;

	memset(&sim_env, 0, sizeof(sim_env));
	sim_prng_init(&s->rng, s->seed);
	sim_hosts_start(s);
	for (i = 0; i < sc->nr_flows; i++)
		sc->flows[i].sim = s;
}

void scene_destroy(struct scene *sc)
{
	struct sim *s = &sc->sim;
	u32 i;

	for (i = 0; i < s->cfg.hosts; i++)
		sim_host_halt(&s->hosts[i], ECONNRESET);
	sim_heap_clean(s);
	sim_hosts_clean(s);
	for (i = 0; i < sc->nr_flows; i++)
		free(sc->flows[i].samples);
	free(sc->flows);
	free(sc);
}

void scene_run(struct scene *sc, u64 ns)
{
	u64 until = sc->sim.now + ns;

	while (sim_step(&sc->sim, until))
		;
}

void scene_drop(struct scene *sc, u32 from, u8 type, u32 nr)
{
	sc->drop_from = from;
	sc->drop_type = type;
	sc->drop_nr = nr;
}

u64 scene_rtt(const struct scene *sc)
{
	return 2 * sc->sim.cfg.delay_ns;
}

struct kr_channel *scene_channel(struct scene *sc, u32 from, u32 to)
{
	return &sim_peer(&sc->sim, from, to)->assoc->a.ch;
}

void scene_partition(struct scene *sc, u32 from, u32 to, u64 ns)
{
	sim_peer(&sc->sim, from, to)->link.blocked_ns = sc->sim.now + ns;
	sim_peer(&sc->sim, to, from)->link.blocked_ns = sc->sim.now + ns;
}

/* The table. */

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

u64 flow_quantile(u64 *at, u32 nr, u32 permille)
{
	qsort(at, nr, sizeof(at[0]), compare);
	return nr ? at[min_t(u64, (u64)nr * permille / 1000, nr - 1)] : KR_POS_NONE;
}

double flow_fairness(const double *share, u32 nr)
{
	double sum = 0, squares = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		sum += share[i];
		squares += share[i] * share[i];
	}
	return squares > 0 ? sum * sum / (nr * squares) : 0;
}

void flow_report(const char *what, double measured, enum flow_sense sense, double bound)
{
	bool is_over = sense == AT_MOST ? !(measured <= bound) : !(measured >= bound);

	printf("%-66s %10.3f %s %10.3f%s\n", what, measured,
	       sense == AT_MOST ? "<=" : ">=", bound, is_over ? "  OVER" : "");
	nr_over += is_over;
}

static const struct {
	const char *name;
	void (*run)(void);
} families[] = {
	{ "opening", flow_budget_opening },
	{ "recovery", flow_budget_recovery },
	{ "silence", flow_budget_silence },
	{ "loss", flow_budget_loss },
	{ "window", flow_budget_window },
	{ "turns", flow_budget_turns },
	{ "order", flow_budget_order },
	{ "acks", flow_budget_acks },
	{ "bottleneck", flow_bottle },
	{ "lanes", flow_carrier },
};

int sim_scenarios(char **names, bool has_trace)
{
	bool is_known = !*names;
	char **name;
	u32 i;

	is_traced = has_trace;
	for (i = 0; i < ARRAY_SIZE(families); i++) {
		for (name = names; *name && strcmp(*name, families[i].name); name++)
			;
		if (*names && !*name)
			continue;
		is_known = true;
		families[i].run();
	}
	fflush(stdout);
	if (!is_known)
		return 2;
	if (nr_over)
		fprintf(stderr, "%u over their bound\n", nr_over);
	return nr_over ? 1 : 0;
}
