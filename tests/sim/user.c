// SPDX-License-Identifier: MIT
/*
 * Programs: each connection has one at both ends, which writes its stream in
 * chunks, reads what comes, and ends in one of the ways that programs have.
 * Programs act in events of their own, never inside a callback of core.
 */
#include <stdlib.h>
#include "sim.h"

#define NEVER (~0ull)

enum {
	LAST_MAX = 64,			/* connections of one last round */
	TURNS_MAX = 8,			/* reads and writes in one step of a program */
};

/* What a program may do at any time. */
enum { RASH_SHUTDOWN, RASH_CLOSE, RASH_ABORT, RASH_OPTIONS, RASH_NR };

static void on_step(struct sim *s, void *obj, u64 arg);
static void on_rash(struct sim *s, void *obj, u64 what);

/* A line of the trace about one end of a connection. */
static void say(const struct sim_ep *ep, const char *what)
{
	sim_note(ep->conn->sim, "host %u, connection %u: %s", ep->host->nr,
		 ep->conn->nr, what);
}

static void say_bytes(const struct sim_ep *ep, const char *what, u64 from, u64 to)
{
	sim_note(ep->conn->sim, "host %u, connection %u: %s %lu-%lu", ep->host->nr,
		 ep->conn->nr, what, (unsigned long)from, (unsigned long)to);
}

/* Something happened: the program looks soon. */
static void wake(struct sim_ep *ep, u64 within_ns)
{
	struct sim *s = ep->conn->sim;

	if (ep->is_step_armed)
		return;
	ep->is_step_armed = true;
	sim_host_at(ep->host, s->now + 1000 + sim_below(&s->rng, within_ns),
		    on_step, ep, 0);
}

/* Positions go on from there, as they would in a stream of years. */
static void start_streams(struct sim_ep *ep, u64 tx, u64 rx)
{
	struct kr_vqp *v = &ep->sv->v;

	ep->rx_start = rx;
	v->tx.head = tx;
	v->tx.next = tx;
	v->tx.end = tx;
	v->rx.read = rx;
	v->rx.accepted = rx;
	v->rx.told = rx;
	v->rx.edge += rx;
}

static struct sim_ep *ep_create(struct sim_conn *c, struct sim_host *h, u32 to,
				bool is_server)
{
	struct sim_ep *ep = calloc(1, sizeof(*ep));
	struct sim *s = c->sim;
	struct sim_prng *r = &s->rng;

	if (!ep)
		abort();
	ep->conn = c;
	ep->host = h;
	ep->peer = sim_peer(s, h->nr, to);
	ep->nr = ++s->nr_eps;
	ep->timer_ns = NEVER;
	ep->key = sim_mix(s->seed ^ ep->nr << 32);
	ep->total = sim_chance(r, 100000) ? 0 : sim_spread(r, 1, s->cfg.stream_max);
	ep->abort_at = sim_chance(r, s->cfg.abort) ? sim_below(r, ep->total + 1) :
						     KR_POS_NONE;
	ep->sv = malloc(sizeof(*ep->sv));
	if (!ep->sv)
		abort();
	ep->sv->ep = ep;
	kr_vqp_init(&ep->sv->v, KR_KIND_STREAM, sim_spread(r, 512, s->cfg.tx_limit),
		    sim_spread(r, 512, s->cfg.rx_limit), ep);
	ep->is_server = is_server;
	start_streams(ep, c->start[is_server], c->start[!is_server]);
	ep->sv->v.opts.user_timeout_ns = s->cfg.user_timeout_ns;
	ep->sv->v.opts.orphan_ns = 10 * KR_SEC;
	if (sim_chance(r, s->cfg.keepalive)) {
		ep->sv->v.opts.keep_idle_ns = sim_spread(r, 50 * KR_MSEC, 10 * KR_SEC);
		ep->sv->v.opts.keep_intvl_ns = sim_spread(r, 50 * KR_MSEC, KR_SEC);
		ep->sv->v.opts.keep_cnt = sim_between(r, 2, 9);
	}
	if (sim_chance(r, s->cfg.rash))
		sim_host_at(h, s->now + sim_spread(r, KR_USEC, s->cfg.work_ns), on_rash, ep,
			    sim_below(r, RASH_NR));
	return ep;
}

static void ep_free_vqp(struct sim_ep *ep)
{
	kr_vqp_clean(&ep->sv->v);
	free(ep->sv);
	ep->sv = NULL;
}

/* Both core and the program are done with the VQP. */
static void maybe_free(struct sim_ep *ep)
{
	if (ep->sv && ep->is_released && !ep->held &&
	    (ep->is_closed || ep->is_refused || !ep->is_open))
		ep_free_vqp(ep);
}

static void leave_backlog(struct sim_ep *ep)
{
	if (!ep->is_queued)
		return;
	ep->is_queued = false;
	ep->host->backlog--;
}

/* What core tells. */

static void on_accept(struct sim *s, void *obj, u64 arg)
{
	struct sim_ep *ep = obj;

	leave_backlog(ep);
	wake(ep, s->cfg.think_ns);
}

void sim_event(struct kr_vqp *v, u32 events)
{
	struct sim_ep *ep = container_of(v, struct sim_vqp, v)->ep;
	struct sim *s = ep->conn->sim;

	if (events & KR_EV_OPEN) {
		sim_check_opened(s, ep);
		ep->is_open = true;
		say(ep, "OPEN");
		s->nr_open += !ep->is_server;
		if (ep->is_server)
			sim_host_at(ep->host, s->now +
				    sim_below(&s->rng, s->cfg.think_ns * 4),
				    on_accept, ep, 0);
	}
	if (events & KR_EV_REFUSED) {
		ep->is_refused = true;
		say(ep, "REFUSED");
		s->nr_refused++;
	}
	if (events & KR_EV_END) {
		ep->is_ended = true;
		ep->err = v->err;
		ep->end_state = v->state;
	}
	sim_check_bounds(s, ep);
	if (!ep->is_queued)
		wake(ep, s->cfg.think_ns);
}

void sim_released(struct kr_vqp *v)
{
	struct sim_ep *ep = container_of(v, struct sim_vqp, v)->ep;

	ep->is_released = true;
	ep->accepted = v->rx.accepted - ep->rx_start;
	if (v->assoc)
		sim_check_id(ep->conn->sim, ep);
	sim_note(ep->conn->sim, "host %u, connection %u: %s, error %d, VQP %lu.%lu is free",
		 ep->host->nr, ep->conn->nr, kr_vqp_state_name(v->state), v->err,
		 (unsigned long)(v->id & ((1u << KR_SLOT_BITS) - 1)),
		 (unsigned long)(v->id >> KR_SLOT_BITS));
	sim_check_released(ep->conn->sim, ep);
	if (!ep->is_open)
		leave_backlog(ep);
	maybe_free(ep);
}

static void on_vqp_timer(struct sim *s, void *obj, u64 arg)
{
	struct sim_ep *ep = obj;

	if (!ep->sv || ep->timer_ns > sim_clock(ep->host) || ep->is_released)
		return;
	ep->timer_ns = NEVER;
	ep->nr_timers++;
	sim_met_timeout(&ep->sv->v, sim_clock(ep->host));
	kr_vqp_timeout(&ep->sv->v, sim_clock(ep->host));
	sim_peer_run(ep->peer);
}

void sim_arm(struct kr_vqp *v, u64 when)
{
	struct sim_ep *ep = container_of(v, struct sim_vqp, v)->ep;
	struct sim *s = ep->conn->sim;

	ep->timer_ns = when;
	sim_timer(ep->host, when + sim_below(&s->rng, 100 * KR_USEC),
		  on_vqp_timer, ep, 0);
}

int sim_incoming(struct kr_assoc *a, const struct kr_connect *c, struct kr_vqp **out)
{
	struct sim_peer *p = container_of(a, struct sim_assoc, a)->peer;
	struct sim *s = p->host->sim;
	u32 nr = get_unaligned_be32(c->tuple.daddr);
	struct sim_ep *ep;

	if (nr >= s->nr_conns || !s->conns[nr].sim || s->conns[nr].to != p->host ||
	    s->conns[nr].from->nr != p->to) {
		if (!s->cfg.flips)
			sim_fail(s, "a CONNECT that nobody sent");
		return KR_REJECT_NO_LISTENER;
	}
	if (s->is_faulty && sim_chance(&s->rng, s->cfg.reject))
		return KR_REJECT_NO_LISTENER;
	if (p->host->backlog >= s->cfg.backlog)
		return -EAGAIN;
	if (c->kind != KR_KIND_STREAM)
		sim_fail(s, "a CONNECT of a kind that listeners do not know");
	ep = ep_create(&s->conns[nr], p->host, p->to, true);
	ep->is_queued = true;
	ep->host->backlog++;
	ep->other_attempt = ep->conn->attempts;
	ep->conn->attempts = ep;
	*out = &ep->sv->v;
	return 0;
}

/* What programs do. */

static u32 cork_of(struct sim_ep *ep)
{
	struct sim *s = ep->conn->sim;

	return sim_chance(&s->rng, s->cfg.cork) ? 900 : 0;
}

/* The writer has filled its pages. */
static void finish_write(struct sim_ep *ep)
{
	struct kr_vqp *v = &ep->sv->v;
	u32 len = ep->held, done, room;
	u8 *to;

	ep->held = 0;
	v->tx.is_held = false;
	if (!v->is_attached)
		return;
	for (done = 0; done < len; done += room) {
		to = kr_buf_reserve(&v->tx.buf, v->tx.end + done, &room, true);
		if (!to)
			break;
		room = min(room, len - done);
		sim_stream_fill(ep->key, ep->written + done, to, room);
	}
	if (!done)
		return;
	say_bytes(ep, "writes", ep->written, ep->written + done);
	ep->written += done;
	kr_vqp_wrote(v, done, cork_of(ep), sim_clock(ep->host));
}

static void on_filled(struct sim *s, void *obj, u64 arg)
{
	struct sim_ep *ep = obj;

	finish_write(ep);
	maybe_free(ep);
	wake(ep, s->cfg.think_ns);
	sim_peer_run(ep->peer);
}

/* True when something was written or is being. */
static bool write_some(struct sim_ep *ep)
{
	struct kr_vqp *v = &ep->sv->v;
	struct sim *s = ep->conn->sim;
	u64 len = min(ep->total - ep->written, (u64)kr_tx_room(&v->tx));
	u64 chunk;
	u32 room;

	if (!len || !v->is_attached || ep->is_shut)
		return false;
	chunk = sim_spread(&s->rng, 1, s->cfg.chunk_max);
	len = min(len, chunk);
	/* Without memory the program waits a little and tries again. */
	if (kr_buf_grow(&v->tx.buf, v->tx.head, v->tx.end - v->tx.head + len))
		return true;
	ep->held = len;
	if (!sim_chance(&s->rng, 100000)) {
		finish_write(ep);
		return true;
	}
	/* The copy sleeps while packets come and go. */
	kr_buf_reserve(&v->tx.buf, v->tx.end, &room, true);
	v->tx.is_held = true;
	sim_host_at(ep->host, s->now + sim_below(&s->rng, 5 * KR_MSEC), on_filled,
		    ep, 0);
	return true;
}

static bool read_some(struct sim_ep *ep)
{
	struct kr_vqp *v = &ep->sv->v;
	struct sim *s = ep->conn->sim;
	u64 len = kr_rx_ready(&v->rx), chunk = SIM_PACKET_MAX;
	u8 buf[SIM_PACKET_MAX];

	if (!s->is_draining && ep->stall_ns > s->now)
		return false;
	if (!s->is_draining && sim_chance(&s->rng, s->cfg.stall))
		ep->stall_ns = s->now + sim_spread(&s->rng, KR_MSEC, 2 * KR_SEC);
	if (len && sim_chance(&s->rng, SIM_PPM / 2))
		chunk = sim_spread(&s->rng, 1, s->cfg.chunk_max);
	len = min(len, min(chunk, sizeof(buf)));
	if (len) {
		kr_buf_read(&v->rx.buf, v->rx.read, buf, len);
		sim_check_bytes(s, ep, buf, len);
		say_bytes(ep, "reads", ep->read, ep->read + len);
		ep->read += len;
		s->nr_read += len;
		kr_vqp_consumed(v, len, sim_clock(ep->host));
	}
	if (kr_rx_is_eof(&v->rx) && !ep->is_eof) {
		ep->is_eof = true;
		say(ep, "reads the end");
		sim_check_eof(s, ep);
	}
	return len;
}

static void resize(struct sim_ep *ep)
{
	struct sim *s = ep->conn->sim;

	if (sim_chance(&s->rng, s->cfg.resize))
		ep->sv->v.rx.limit = sim_spread(&s->rng, 512, s->cfg.rx_limit);
}

static void close_ep(struct sim_ep *ep)
{
	ep->is_closed = true;
	ep->is_shut = true;
	say(ep, "closes");
	sim_met_vqp(&ep->sv->v, SIM_MET_CLOSE);
	ep->has_unread = kr_rx_ready(&ep->sv->v.rx) || ep->sv->v.rx.ooo.nr;
	kr_vqp_close(&ep->sv->v, sim_clock(ep->host));
}

static void shut_ep(struct sim_ep *ep)
{
	ep->is_shut = true;
	say(ep, "shuts down");
	sim_met_vqp(&ep->sv->v, SIM_MET_SHUTDOWN);
	kr_vqp_shutdown(&ep->sv->v, sim_clock(ep->host));
}

static void abort_ep(struct sim_ep *ep)
{
	ep->is_closed = true;
	say(ep, "aborts");
	sim_met_vqp(&ep->sv->v, SIM_MET_ABORT);
	kr_vqp_abort(&ep->sv->v, ECONNABORTED, KR_RST_ABORT, sim_clock(ep->host));
}

/* As setsockopt() does, on a connection that is used. */
static void set_opts(struct sim_ep *ep)
{
	struct sim_prng *r = &ep->conn->sim->rng;
	struct kr_vqp_opts opts = { .orphan_ns = sim_spread(r, KR_SEC, 20 * KR_SEC) };

	if (sim_chance(r, SIM_PPM / 2))
		opts.user_timeout_ns = sim_spread(r, KR_SEC, 100 * KR_SEC);
	/* Who is idle sends nothing: see sim_check_idle(). */
	if (!ep->conn->sim->cfg.hold && sim_chance(r, SIM_PPM / 2)) {
		opts.keep_idle_ns = sim_spread(r, 50 * KR_MSEC, 10 * KR_SEC);
		opts.keep_intvl_ns = sim_spread(r, 50 * KR_MSEC, KR_SEC);
		opts.keep_cnt = sim_between(r, 2, 9);
	}
	sim_met_vqp(&ep->sv->v, SIM_MET_OPTIONS);
	kr_vqp_set_opts(&ep->sv->v, &opts, sim_clock(ep->host));
}

/* In whatever state the connection is: killed, hung up early, or options set. */
static void on_rash(struct sim *s, void *obj, u64 what)
{
	struct sim_ep *ep = obj;

	if (!ep->sv || ep->held || ep->is_queued || ep->is_closed || !s->is_faulty)
		return;
	if (what == RASH_SHUTDOWN) {
		shut_ep(ep);
	} else if (what == RASH_OPTIONS) {
		set_opts(ep);
	} else {
		/* Its peer may be one that stays. */
		ep->conn->leaver = 1 + ep->is_server;
		what == RASH_CLOSE ? close_ep(ep) : abort_ep(ep);
	}
	maybe_free(ep);
	sim_peer_run(ep->peer);
}

/* Nobody will accept what waits in the backlog. */
static void reset_queued(struct sim *s, struct sim_ep *ep)
{
	if (!ep->is_queued || !ep->sv)
		return;
	leave_backlog(ep);
	ep->conn->is_unheard = true;
	abort_ep(ep);
	maybe_free(ep);
	sim_peer_run(ep->peer);
}

/* Everything is written: the program says so, now or by closing. */
static void finish(struct sim_ep *ep)
{
	struct sim *s = ep->conn->sim;

	bool is_leaving = ep->conn->leaver == 1 + ep->is_server;

	if (ep->is_shut || ep->written < ep->total ||
	    (ep->conn->is_holder && !is_leaving && !s->is_releasing))
		return;
	shut_ep(ep);
	if (is_leaving || sim_chance(&s->rng, s->cfg.close_early))
		close_ep(ep);
}

static void on_step(struct sim *s, void *obj, u64 arg)
{
	struct sim_ep *ep = obj;
	bool is_busy = false;
	u32 turns;

	ep->is_step_armed = false;
	if (!ep->sv || !ep->is_open || ep->is_closed || ep->held || ep->is_queued) {
		maybe_free(ep);
		return;
	}
	resize(ep);
	if (sim_chance(&s->rng, s->cfg.options))
		set_opts(ep);
	for (turns = sim_between(&s->rng, 1, TURNS_MAX); turns && !ep->held; turns--) {
		is_busy = read_some(ep);
		if (write_some(ep)) {
			is_busy = true;
			sim_peer_run(ep->peer);
		}
		if (!is_busy)
			break;
	}
	if (!ep->held && !ep->is_ended) {
		if (ep->written >= ep->abort_at)
			abort_ep(ep);
		else
			finish(ep);
	}
	if (ep->sv && !ep->held && !ep->is_closed &&
	    ((ep->is_shut && ep->is_eof) || (ep->is_ended && !is_busy)))
		close_ep(ep);
	/* It reads on, and has nothing to say meanwhile. */
	if (ep->sv && !is_busy)
		kr_vqp_hurry(&ep->sv->v);
	maybe_free(ep);
	sim_peer_run(ep->peer);
	if (is_busy || (ep->stall_ns > s->now && !s->is_draining))
		wake(ep, max(s->cfg.think_ns, ep->stall_ns > s->now ?
			     ep->stall_ns - s->now : 0));
}

static void on_cancel(struct sim *s, void *obj, u64 arg)
{
	struct sim_ep *ep = obj;

	if (!ep->sv || ep->is_released || ep->is_open)
		return;
	close_ep(ep);
	sim_peer_run(ep->peer);
}

static void on_connect(struct sim *s, void *obj, u64 arg)
{
	struct sim_conn *c = obj;
	struct sim_peer *p = sim_peer(s, c->from->nr, c->to->nr);
	struct sim_ep *ep;
	struct kr_vqp *v;
	u64 wait;
	int err;

	if (!p->assoc || p->assoc->a.path != KR_PATH_READY)
		sim_hello_ask(p);
	if (!p->assoc) {
		c->is_waiting = c->tries++ < 200;
		if (c->is_waiting)
			sim_host_at(c->from, s->now + 5 * KR_MSEC, on_connect, c, 0);
		return;
	}
	ep = ep_create(c, c->from, c->to->nr, false);
	c->client = ep;
	c->is_waiting = false;
	say(ep, "connects");
	v = &ep->sv->v;
	v->tuple.family = 4;
	v->tuple.sport = 1024 + c->nr % 50000;
	v->tuple.dport = 80;
	put_unaligned_be32(c->nr, v->tuple.daddr);
	wait = sim_spread(&s->rng, KR_MSEC, s->cfg.give_up_ns);
	if (c->nr >= s->cfg.conns)
		wait = 20 * KR_SEC;
	if (c->nr < s->cfg.conns && sim_chance(&s->rng, s->cfg.reject / 8))
		v->kind = KR_KIND_MESSAGE;
	err = kr_vqp_connect(&p->assoc->a, v, sim_clock(c->from) + wait,
			     sim_clock(c->from));
	if (err) {
		if (err != -ENOMEM)
			sim_fail(s, "connection %u: no connect, error %d", c->nr, err);
		ep->is_refused = true;
		ep->is_released = true;
		ep_free_vqp(ep);
		return;
	}
	if (c->nr < s->cfg.conns && sim_chance(&s->rng, 50000))
		sim_host_at(c->from, s->now + sim_below(&s->rng, 2 * wait),
			    on_cancel, ep, 0);
	sim_peer_run(p);
}

/* Any two hosts. */
static void draw_pair(struct sim *s, struct sim_conn *c)
{
	u32 from = sim_below(&s->rng, s->cfg.hosts);
	u32 by = 1 + sim_below(&s->rng, s->cfg.hosts - 1);

	c->from = &s->hosts[from];
	c->to = &s->hosts[(from + by) % s->cfg.hosts];
}

/*
 * Each pair; in half of the runs one side of a pair is passive.  Each host with itself,
 * if some are.
 */
static u32 all_pairs(struct sim *s, struct sim_conn *c)
{
	u32 i, j, nr = 0;

	for (i = 0; i < s->cfg.hosts; i++) {
		for (j = 0; j < s->cfg.hosts; j++) {
			if (i == j ? !s->cfg.local : i < j && s->seed % 2)
				continue;
			c[nr].from = &s->hosts[i];
			c[nr++].to = &s->hosts[j];
		}
	}
	return nr;
}

/* Any pairs, and the other side of pairs that have talked. */
static u32 some_pairs(struct sim *s, struct sim_conn *c)
{
	const struct sim_conn *old;
	u32 nr;

	for (nr = 0; nr < LAST_MAX; nr++) {
		if (!s->cfg.conns || sim_chance(&s->rng, SIM_PPM / 2)) {
			draw_pair(s, &c[nr]);
			continue;
		}
		old = &s->conns[sim_below(&s->rng, s->cfg.conns)];
		c[nr].from = old->to;
		c[nr].to = old->from;
	}
	return nr;
}

static void draw_last(struct sim *s)
{
	struct sim_conn *c = s->conns + s->cfg.conns;
	bool is_few = s->cfg.hosts * s->cfg.hosts <= LAST_MAX;
	u32 round;

	s->nr_last = is_few ? all_pairs(s, c) : some_pairs(s, c);
	for (round = 1; round < SIM_LAST_ROUNDS; round++)
		memcpy(c + round * s->nr_last, c, s->nr_last * sizeof(*c));
	s->nr_conns = s->cfg.conns + SIM_LAST_ROUNDS * s->nr_last;
}

static void start_conn(struct sim *s, u32 nr, u64 when)
{
	s->conns[nr].sim = s;
	s->conns[nr].nr = nr;
	s->conns[nr].start[0] = sim_wrap_stream(s);
	s->conns[nr].start[1] = sim_wrap_stream(s);
	sim_host_at(s->conns[nr].from, when, on_connect, &s->conns[nr], 0);
}

void sim_user_start(struct sim *s)
{
	u64 storm_ns = sim_below(&s->rng, s->cfg.work_ns);
	struct sim_conn *c;
	u64 when;
	u32 i;

	s->conns = calloc(s->cfg.conns + SIM_LAST_ROUNDS * LAST_MAX,
			  sizeof(s->conns[0]));
	if (!s->conns)
		abort();
	for (i = 0; i < s->cfg.conns; i++) {
		c = &s->conns[i];
		c->is_holder = sim_chance(&s->rng, s->cfg.hold);
		if (sim_chance(&s->rng, s->cfg.leave))
			c->leaver = sim_between(&s->rng, 1, 2);
		draw_pair(s, c);
		if (s->cfg.local && sim_chance(&s->rng, s->cfg.local))
			c->to = c->from;
		when = sim_below(&s->rng, s->cfg.work_ns);
		if (sim_chance(&s->rng, s->cfg.storm)) {
			/* From everywhere at once, to one server. */
			when = storm_ns;
			c->to = c->from == s->hosts ? c->to : s->hosts;
		}
		start_conn(s, i, s->now + when);
	}
	draw_last(s);
}

/* Index of the first connection of the round. */
static u32 last_at(const struct sim *s, u32 round)
{
	return s->cfg.conns + round * s->nr_last;
}

void sim_user_last(struct sim *s, u32 round)
{
	u32 nr;

	for (nr = last_at(s, round); nr < last_at(s, round + 1); nr++)
		start_conn(s, nr, s->now + sim_below(&s->rng, KR_SEC));
}

bool sim_user_has_last(const struct sim *s)
{
	u32 i;

	for (i = last_at(s, SIM_LAST_ROUNDS - 1); i < s->nr_conns; i++)
		if (!s->conns[i].client || !s->conns[i].client->is_open)
			return false;
	return true;
}

/* @h: only those of that host, NULL: all. */
static void for_each_ep(struct sim *s, const struct sim_host *h,
			void (*fn)(struct sim *s, struct sim_ep *ep))
{
	struct sim_ep *ep;
	u32 i;

	for (i = 0; i < s->nr_conns; i++) {
		ep = s->conns[i].client;
		if (ep && (!h || ep->host == h))
			fn(s, ep);
		for (ep = s->conns[i].attempts; ep; ep = ep->other_attempt)
			if (!h || ep->host == h)
				fn(s, ep);
	}
}

void sim_user_unlisten(struct sim_host *h)
{
	for_each_ep(h->sim, h, reset_queued);
}

static void hurry(struct sim *s, struct sim_ep *ep)
{
	if (!ep->is_queued)
		wake(ep, KR_MSEC);
}

void sim_user_drain(struct sim *s, bool is_all)
{
	s->is_draining = true;
	s->is_releasing = is_all;
	for_each_ep(s, NULL, hurry);
}

static bool is_ep_done(const struct sim *s, const struct sim_ep *ep, bool is_all)
{
	if (!ep || ep->is_released)
		return true;
	return !is_all && ep->conn->is_holder && ep->is_open &&
	       (ep->is_shut || ep->written == ep->total) && !kr_tx_has_unaccepted(&ep->sv->v.tx);
}

static bool is_conn_done(const struct sim *s, const struct sim_conn *c, bool is_all)
{
	const struct sim_ep *ep;

	if (c->is_waiting || !is_ep_done(s, c->client, is_all))
		return false;
	for (ep = c->attempts; ep; ep = ep->other_attempt)
		if (!is_ep_done(s, ep, is_all))
			return false;
	return true;
}

/* The one that was not done the last time is asked first. */
bool sim_user_is_done(struct sim *s, bool is_all)
{
	u32 i;

	if (!is_conn_done(s, &s->conns[s->undone], is_all))
		return false;
	for (i = 0; i < s->nr_conns; i++) {
		if (is_conn_done(s, &s->conns[i], is_all))
			continue;
		s->undone = i;
		return false;
	}
	return true;
}

static u64 ep_digest(const struct sim_ep *ep, u64 digest)
{
	u64 word;
	size_t i;

	for (i = 0; ep->sv && i + 8 <= sizeof(ep->sv->v); i += 8) {
		memcpy(&word, (const u8 *)&ep->sv->v + i, 8);
		digest = (digest ^ word) * 0x100000001b3ull;
	}
	return digest;
}

static void rearm(struct sim *s, struct sim_ep *ep)
{
	if (ep->timer_ns != NEVER)
		sim_timer(ep->host, ep->timer_ns, on_vqp_timer, ep, 0);
}

u64 sim_user_digest(struct sim_host *h, u32 but)
{
	struct sim *s = h->sim;
	const struct sim_ep *ep;
	u64 digest = 0;
	u32 i;

	for (i = 0; i < s->nr_conns; i++) {
		ep = s->conns[i].client;
		if (ep && ep->host == h && ep->peer->to != but)
			digest = ep_digest(ep, digest);
		for (ep = s->conns[i].attempts; ep; ep = ep->other_attempt)
			if (ep->host == h && ep->peer->to != but)
				digest = ep_digest(ep, digest);
	}
	return digest;
}

void sim_user_rearm(struct sim_host *h)
{
	for_each_ep(h->sim, h, rearm);
}

static void free_ep(struct sim_ep *ep)
{
	if (ep->sv)
		ep_free_vqp(ep);
	free(ep);
}

void sim_user_clean(struct sim *s)
{
	struct sim_ep *ep;
	u32 i;

	for (i = 0; i < s->nr_conns; i++) {
		if (s->conns[i].client)
			free_ep(s->conns[i].client);
		while ((ep = s->conns[i].attempts)) {
			s->conns[i].attempts = ep->other_attempt;
			free_ep(ep);
		}
	}
	free(s->conns);
}
