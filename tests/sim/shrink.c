// SPDX-License-Identifier: MIT
/*
 * The shortest run that fails in the same way: fewer hosts, connections and bytes,
 * each fault left out or made rarer; when the seed does not show it any more, some
 * others may.  Then the seed with the shortest trace, and of its faults those alone
 * that matter.  Each try is a process of its own.
 */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sim.h"

enum {
	TRY_S = 10,			/* of one run: it does not end */
	PROFILE_S = 1,			/* for all seeds of one profile */
	PROFILE_SEEDS = 100,
	LESS_SEEDS = 8,			/* when a value is only halved: it shall not get rare */
	LAST_SEEDS = 1000,		/* of the last profile */
	LAST_S = 10,
	DEFAULT_S = 120,
	SAID_MAX = sizeof(sim_report->said),
};

struct candidate {
	struct sim_cfg cfg;
	u64 seed;
	struct sim_report report;
};

struct shrink {
	const struct sim_options *o;
	struct candidate best;
	double end_s;
	u64 nr_tries;
};

/* Where it goes; what is not named here goes to 0. */
static const struct {
	const char *name;
	u64 to;
} targets[] = {
	{ "hosts", 2 }, { "conns", 1 }, { "work_ns", KR_MSEC }, { "stream_max", 1 },
	{ "chunk_max", 65536 }, { "think_ns", KR_USEC }, { "rx_limit", 65536 },
	{ "tx_limit", 65536 }, { "user_timeout_ns", 120 * KR_SEC },
	{ "give_up_ns", 5 * KR_SEC }, { "backlog", 512 }, { "mtu", 1024 },
	{ "delay_ns", KR_MSEC }, { "rate", 1000000000 }, { "queue", 2000000 },
	{ "outage_ns", KR_MSEC }, { "slots", 256 }, { "pause_ns", KR_MSEC },
	{ "jump_ns", KR_MSEC }, { "faults", ~0ull },
};

static u64 target_of(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(targets); i++)
		if (!strcmp(targets[i].name, name))
			return targets[i].to;
	return 0;
}

/* The same failure has other numbers in another run. */
static bool is_same(const char *a, const char *b)
{
	for (;;) {
		while (isdigit((unsigned char)*a))
			a++;
		while (isdigit((unsigned char)*b))
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
		a++;
		b++;
	}
}

static void run_silently(const struct sim_options *o, const struct candidate *c)
{
	int null = open("/dev/null", O_WRONLY);
	struct sim *s = malloc(sizeof(*s));

	if (null < 0 || !s)
		abort();
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	alarm(TRY_S);
	sim_run(s, o, c->seed, &c->cfg);
	_exit(0);
}

/* Fills c->report; false: it passed. */
static bool fails(struct shrink *sh, struct candidate *c)
{
	struct sim_options o = { .seed = c->seed, .counts_lines = true };
	int status;
	pid_t pid;

	sh->nr_tries++;
	memset(sim_report, 0, sizeof(*sim_report));
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (!pid)
		run_silently(&o, c);
	if (waitpid(pid, &status, 0) != pid)
		abort();
	c->report = *sim_report;
	if (!c->report.said[0])
		strcpy(c->report.said, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ?
				       "does not end" : "crash");
	return status;
}

static bool fails_alike(struct shrink *sh, struct candidate *c)
{
	return fails(sh, c) && is_same(c->report.said, sh->best.report.said);
}

static bool has_time(const struct shrink *sh)
{
	return sim_seconds() < sh->end_s;
}

/* With another value of @name, and with its seed or others. */
static bool is_enough(struct shrink *sh, const struct sim_cfg *cfg, const char *name,
		      u64 nr_seeds)
{
	double end_s = min(sim_seconds() + PROFILE_S, sh->end_s);
	struct candidate c = { .cfg = *cfg, .seed = sh->best.seed };
	u64 nr;

	for (nr = 0; nr < nr_seeds && sim_seconds() < end_s; nr++) {
		if (nr)
			c.seed = sh->o->seed + nr;
		if (!fails_alike(sh, &c))
			continue;
		sh->best = c;
		printf("%s=%lu: %lu lines, seed %lu\n", name,
		       (unsigned long)*sim_cfg_at(&c.cfg, name),
		       (unsigned long)c.report.lines, (unsigned long)c.seed);
		return true;
	}
	return false;
}

/* At once, else by halves. */
static bool shrink_value(struct shrink *sh, const char *name)
{
	u64 to = target_of(name), from, value;
	struct sim_cfg cfg = sh->best.cfg;
	bool is_less = false;

	if (*sim_cfg_at(&cfg, name) == to)
		return false;
	*sim_cfg_at(&cfg, name) = to;
	if (is_enough(sh, &cfg, name, PROFILE_SEEDS))
		return true;
	while (has_time(sh)) {
		cfg = sh->best.cfg;
		from = *sim_cfg_at(&cfg, name);
		value = from > to ? to + (from - to) / 2 : from;
		if (value == from || value == to)
			break;
		*sim_cfg_at(&cfg, name) = value;
		if (!is_enough(sh, &cfg, name, LESS_SEEDS))
			break;
		is_less = true;
	}
	return is_less;
}

static void shrink_profile(struct shrink *sh)
{
	bool is_less = true;
	u32 i;

	while (is_less && has_time(sh)) {
		is_less = false;
		for (i = 0; sim_cfg_name(i) && has_time(sh); i++)
			if (shrink_value(sh, sim_cfg_name(i)))
				is_less = true;
	}
}

static bool take_if_alike(struct shrink *sh, struct candidate *c)
{
	if (!fails_alike(sh, c) || c->report.lines > sh->best.report.lines)
		return false;
	sh->best = *c;
	return true;
}

static void shrink_seed(struct shrink *sh)
{
	double end_s = sim_seconds() + LAST_S;
	struct candidate c = sh->best;
	u64 nr;

	for (nr = 0; nr < LAST_SEEDS && sim_seconds() < end_s; nr++) {
		c.seed = sh->o->seed + nr;
		take_if_alike(sh, &c);
	}
}

/* Only the first ones, and not each of those. */
static void shrink_faults(struct shrink *sh)
{
	u64 lo = 0, hi = min(sh->best.report.faults, sh->best.cfg.faults), nr;
	struct candidate c;

	while (lo < hi) {
		c = sh->best;
		c.cfg.faults = lo + (hi - lo) / 2;
		if (take_if_alike(sh, &c))
			hi = c.cfg.faults;
		else
			lo = c.cfg.faults + 1;
	}
	for (nr = min_t(u64, hi, 64); nr--; ) {
		c = sh->best;
		c.cfg.skip |= 1ull << nr;
		take_if_alike(sh, &c);
	}
}

/* The first seed of those asked for that fails. */
static bool find(struct shrink *sh)
{
	struct candidate *c = &sh->best;
	const struct sim_options *o = sh->o;
	u64 nr;

	for (nr = 0; nr < o->nr_seeds; nr++) {
		c->seed = o->seed + nr;
		sim_cfg_draw(&c->cfg, o->profile ? o->profile : c->seed, o->has_flips,
			     o->settings);
		if (fails(sh, c))
			return true;
	}
	return false;
}

/* In this process, which ends with it. */
static int show(const struct shrink *sh, u64 profile)
{
	char *settings[] = { sim_cfg_changes(&sh->best.cfg, profile) + 1, NULL };
	struct sim_options o = { .seed = sh->best.seed, .profile = profile,
				 .is_traced = true, .settings = settings };
	struct sim *s = malloc(sizeof(*s));

	if (!s)
		abort();
	printf("\n%lu tries, a trace of %lu lines:\n\n", (unsigned long)sh->nr_tries,
	       (unsigned long)sh->best.report.lines);
	sim_note_command(&o, o.seed);
	sim_run(s, &o, o.seed, &sh->best.cfg);
	return 1;
}

int sim_shrink(const struct sim_options *options)
{
	struct sim_options o = *options;
	struct shrink sh = { .o = &o };

	sim_report = sim_shared(sizeof(*sim_report));
	if (!find(&sh)) {
		printf("no seed fails\n");
		return 2;
	}
	o.seed = sh.best.seed;
	if (!o.profile)
		o.profile = o.seed;
	printf("seed %lu: %s\n", (unsigned long)o.seed, sh.best.report.said);
	sh.end_s = sim_seconds() + (o.seconds ? o.seconds : DEFAULT_S);
	shrink_profile(&sh);
	shrink_seed(&sh);
	shrink_faults(&sh);
	return show(&sh, o.profile);
}
