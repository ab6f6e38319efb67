// SPDX-License-Identifier: MIT
/* The profile that a seed draws, and its values by name. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "sim.h"

/* What one seed may cost, in all: a second or two of real time. */
enum {
	BYTES_MAX = 64 << 20,
	PIECES_MAX = 1000000,
};

static const struct {
	const char *name;
	size_t at;
} names[] = {
#define NAME(x) { #x, offsetof(struct sim_cfg, x) }
	NAME(hosts), NAME(conns), NAME(work_ns), NAME(stream_max),
	NAME(chunk_max), NAME(think_ns), NAME(rx_limit), NAME(tx_limit),
	NAME(user_timeout_ns), NAME(host_timeout_ns), NAME(give_up_ns), NAME(backlog), NAME(hold),
	NAME(keepalive), NAME(close_early), NAME(abort), NAME(stall),
	NAME(reject), NAME(cork), NAME(resize), NAME(mtu), NAME(delay_ns),
	NAME(jitter_ns), NAME(rate), NAME(queue), NAME(in_rate), NAME(in_queue),
	NAME(loss), NAME(burst), NAME(holes),
	NAME(dup), NAME(reorder), NAME(flips), NAME(partitions), NAME(outage_ns),
	NAME(reboots),
	NAME(drops), NAME(path_losses), NAME(slots), NAME(slot_stops),
	NAME(nomem), NAME(corrupt), NAME(strange), NAME(stale), NAME(forged),
	NAME(wrap), NAME(storm), NAME(leave),
	NAME(pauses), NAME(pause_ns), NAME(jumps), NAME(jump_ns),
	NAME(late_ns), NAME(rash), NAME(options), NAME(unlistens), NAME(local),
	NAME(lanes), NAME(lane_deaths), NAME(small_tables), NAME(faults), NAME(skip), NAME(last),
#undef NAME
};

static u64 *value_of(struct sim_cfg *cfg, size_t i)
{
	return (u64 *)((char *)cfg + names[i].at);
}

const char *sim_cfg_name(u32 nr)
{
	return nr < ARRAY_SIZE(names) ? names[nr].name : NULL;
}

u64 *sim_cfg_at(struct sim_cfg *cfg, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i].name, name))
			return value_of(cfg, i);
	return NULL;
}

/* Zero in most runs, so that each fault is also met alone. */
static u64 maybe(struct sim_prng *r, u32 ppm, u64 lo, u64 hi)
{
	return sim_chance(r, ppm) ? sim_spread(r, lo, hi) : 0;
}

/* Mostly few, so that much happens between two of them. */
static u64 draw_hosts(struct sim_prng *r)
{
	u64 what = sim_below(r, 100);

	if (what < 65)
		return 2;
	if (what < 87)
		return sim_between(r, 3, 4);
	if (what < 98)
		return sim_between(r, 5, 40);
	return sim_spread(r, 41, SIM_HOSTS_MAX);
}

static void draw_work(struct sim_cfg *c, struct sim_prng *r)
{
	c->hosts = draw_hosts(r);
	c->conns = sim_spread(r, 1, 1000);
	if (c->hosts > 40)
		c->conns = sim_between(r, c->hosts / 2, 2 * c->hosts);
	c->work_ns = sim_spread(r, 20 * KR_MSEC, 20 * KR_SEC);
	c->stream_max = sim_spread(r, 100, c->hosts > 40 ? 10000 : 4 << 20);
	c->chunk_max = sim_spread(r, 1, 65536);
	if (c->stream_max / c->chunk_max > 2000)
		c->chunk_max = c->stream_max / 2000;
	if (c->conns * c->stream_max > BYTES_MAX)
		c->stream_max = BYTES_MAX / c->conns;
	if (c->conns * c->stream_max / c->chunk_max > PIECES_MAX)
		c->chunk_max = c->conns * c->stream_max / PIECES_MAX;
	c->think_ns = sim_spread(r, KR_USEC, KR_MSEC);
	c->rx_limit = sim_spread(r, 1024, 1 << 20);
	c->tx_limit = sim_spread(r, 1024, 1 << 20);
	c->user_timeout_ns = sim_chance(r, 500000) ? 120 * KR_SEC :
			     sim_spread(r, 200 * KR_MSEC, 100 * KR_SEC);
	c->host_timeout_ns = maybe(r, 100000, KR_SEC, 100 * KR_SEC);
	c->give_up_ns = sim_spread(r, 5 * KR_MSEC, 5 * KR_SEC);
	c->backlog = sim_spread(r, 1, 512);
	c->hold = maybe(r, 300000, 10000, SIM_PPM);
	c->keepalive = c->hold ? 0 : maybe(r, 200000, 10000, SIM_PPM);
	c->close_early = maybe(r, 300000, 1000, SIM_PPM);
	c->abort = maybe(r, 200000, 1000, SIM_PPM);
	c->stall = maybe(r, 300000, 100, 100000);
	c->reject = maybe(r, 200000, 1000, 500000);
	c->cork = maybe(r, 200000, 1000, 500000);
	c->resize = maybe(r, 100000, 1000, 500000);
}

static void draw_net(struct sim_cfg *c, struct sim_prng *r)
{
	c->mtu = sim_chance(r, 500000) ? 1024 : sim_between(r, 1024, 4096);
	c->delay_ns = sim_spread(r, KR_USEC, 20 * KR_MSEC);
	c->jitter_ns = sim_below(r, c->delay_ns + 1);
	c->rate = sim_spread(r, 2000000, 5000000000ull);
	c->queue = sim_spread(r, 50000, 2000000);
	c->loss = maybe(r, 600000, 100, 300000);
	c->burst = maybe(r, 300000, 10, 10000);
	c->dup = maybe(r, 400000, 100, 300000);
	c->reorder = maybe(r, 400000, 100, 300000);
}

static void draw_events(struct sim_cfg *c, struct sim_prng *r)
{
	c->partitions = maybe(r, 200000, 1, 10);
	c->outage_ns = sim_spread(r, 10 * KR_MSEC, 600 * KR_SEC);
	c->reboots = maybe(r, 150000, 1, 8);
	c->drops = maybe(r, 100000, 1, 8);
	c->path_losses = maybe(r, 150000, 1, 10);
	c->slots = sim_spread(r, 1, 256);
	c->slot_stops = maybe(r, 150000, 1, 20);
	c->nomem = maybe(r, 200000, 100, 200000);
}

static void draw_strangers(struct sim_cfg *c, struct sim_prng *r)
{
	c->holes = maybe(r, 200000, 10, 5000);
	c->corrupt = maybe(r, 200000, 100, 100000);
	c->strange = maybe(r, 150000, 100, 100000);
	c->stale = maybe(r, 250000, 1, 1000);
	c->forged = maybe(r, 250000, 1, 300);
	c->wrap = maybe(r, 300000, 100000, SIM_PPM);
	c->storm = maybe(r, 200000, 100000, SIM_PPM);
	c->leave = c->hold ? maybe(r, 300000, 100000, SIM_PPM) : 0;
}

static void draw_time(struct sim_cfg *c, struct sim_prng *r)
{
	c->pauses = maybe(r, 150000, 1, 10);
	c->pause_ns = sim_spread(r, KR_MSEC, 100 * KR_SEC);
	c->jumps = maybe(r, 150000, 1, 10);
	c->jump_ns = sim_spread(r, KR_MSEC, 300 * KR_SEC);
	c->late_ns = maybe(r, 200000, 100 * KR_USEC, 20 * KR_MSEC);
}

/* Drawn after the others, so that what they are in a seed stays. */
static void draw_later(struct sim_cfg *c, struct sim_prng *r)
{
	c->rash = maybe(r, 150000, 10000, SIM_PPM);
	c->options = maybe(r, 100000, 1000, 100000);
	c->unlistens = maybe(r, 150000, 1, 20);
	c->small_tables = sim_chance(r, 150000);
	c->local = maybe(r, 250000, 10000, SIM_PPM);
	c->lanes = maybe(r, 500000, 1, 200);
	c->lane_deaths = maybe(r, 600000, 100, 100000);
}

/* No reason for any connection to end with an error: see sim_check_end(). */
static void calm(struct sim_cfg *c)
{
	c->partitions = 0;
	c->reboots = 0;
	c->drops = 0;
	c->path_losses = 0;
	c->slot_stops = 0;
	c->abort = 0;
	c->close_early = 0;
	c->leave = 0;
	c->keepalive = 0;
	c->loss = min_t(u64, c->loss, 100000);
	c->burst = min_t(u64, c->burst, 1000);
	c->holes = min_t(u64, c->holes, 1000);
	c->user_timeout_ns = 120 * KR_SEC;
	c->pause_ns = min_t(u64, c->pause_ns, 100 * KR_MSEC);
	c->jump_ns = min_t(u64, c->jump_ns, 100 * KR_MSEC);
	c->host_timeout_ns = 0;
	c->rash = 0;
	c->options = 0;
	c->unlistens = 0;
}

static void read_settings(struct sim_cfg *cfg, char **settings)
{
	char *eq, *end;
	u64 *at, value;

	for (; *settings; settings++) {
		eq = strchr(*settings, '=');
		if (eq)
			*eq = 0;
		at = sim_cfg_at(cfg, *settings);
		value = eq ? strtoull(eq + 1, &end, 0) : 0;
		if (eq)
			*eq = '=';
		if (!eq || !at || end == eq + 1 || *end) {
			fprintf(stderr, "krsim: %s: not NAME=NUMBER of a profile\n", *settings);
			exit(2);
		}
		*at = value;
	}
}

void sim_cfg_draw(struct sim_cfg *cfg, u64 seed, bool has_flips, char **settings)
{
	struct sim_prng r;
	bool is_calm;

	sim_prng_init(&r, seed ^ 0x636667);
	memset(cfg, 0, sizeof(*cfg));
	draw_work(cfg, &r);
	draw_net(cfg, &r);
	draw_events(cfg, &r);
	draw_time(cfg, &r);
	draw_strangers(cfg, &r);
	is_calm = sim_chance(&r, 400000);
	if (has_flips)
		cfg->flips = sim_spread(&r, 1000, 100000);
	cfg->in_rate = maybe(&r, 200000, 2000000, 1000000000);
	cfg->in_queue = sim_spread(&r, 50000, 2000000);
	draw_later(cfg, &r);
	if (is_calm)
		calm(cfg);
	cfg->faults = ~0ull;
	cfg->last = 1;
	read_settings(cfg, settings);
	if (cfg->hosts < 2 || cfg->hosts > SIM_HOSTS_MAX)
		cfg->hosts = 2;
}

char *sim_cfg_changes(const struct sim_cfg *cfg, u64 profile)
{
	static char *const none[] = { NULL };
	static char text[SIM_SETTINGS_MAX];
	struct sim_cfg copy = *cfg, drawn;
	u32 i, n = 0;
	u64 value;

	sim_cfg_draw(&drawn, profile, false, (char **)none);
	text[0] = 0;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		value = *value_of(&copy, i);
		if ((!profile || value != *value_of(&drawn, i)) && n < sizeof(text))
			n += snprintf(text + n, sizeof(text) - n, " %s=%lu",
				      names[i].name, (unsigned long)value);
	}
	return text;
}
