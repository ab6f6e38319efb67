// SPDX-License-Identifier: MIT
/*
 * Many seeds: processes take the next one in turn and add what they did to memory
 * that all share; the first one waits for them and says how far it is.  A seed
 * that fails ends its process, and then the hunt, or with --keep-going another
 * process takes its place.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "sim.h"

enum {
	JOBS_MAX = 1024,
	FAILED_MAX = 1000,
	SEED_LIMIT_S = 120,		/* real time: it does not end */
	SAY_S = 10,			/* between lines, */
	SAY_TERMINAL_S = 1,		/* on a terminal */
};

struct job {
	pid_t pid;
	u64 seed;			/* the one that runs */
	u64 seeds, conns, delivered, lost, simulated_ns;
	u64 slowest_seed;
	double slowest_s;
};

struct hunt {
	const struct sim_options *o;
	double start_s;
	u64 next;			/* the number of seeds taken */
	bool is_over;			/* no more seeds are taken */
	u64 nr_failed;
	u64 failed_seeds[FAILED_MAX];	/* the first ones */
	struct job jobs[];
};

static void run_seed(struct hunt *h, struct job *j, struct sim *s, u64 seed)
{
	const struct sim_options *o = h->o;
	double start = sim_seconds(), took;
	struct sim_cfg cfg;

	j->seed = seed;
	sim_note_command(o, seed);
	sim_cfg_draw(&cfg, o->profile ? o->profile : seed, o->has_flips, o->settings);
	alarm(SEED_LIMIT_S);
	sim_run(s, o, seed, &cfg);
	alarm(0);
	took = sim_seconds() - start;
	if (took > j->slowest_s) {
		j->slowest_s = took;
		j->slowest_seed = seed;
	}
	j->seeds++;
	j->conns += s->nr_open;
	j->delivered += s->nr_delivered;
	j->lost += s->nr_lost;
	j->simulated_ns += s->now;
	if (o->has_digest)
		printf("digest of seed %lu: %016lx\n", (unsigned long)seed,
		       (unsigned long)s->digest);
}

static void on_alarm(int sig)
{
	static const char said[] = "does not end\n";
	ssize_t n = write(STDERR_FILENO, said, sizeof(said) - 1);

	(void)n;
	abort();
}

static void work(struct hunt *h, struct job *j)
{
	struct sim *s = malloc(sizeof(*s));
	u64 nr;

	if (!s)
		abort();
	signal(SIGALRM, on_alarm);
	while (!__atomic_load_n(&h->is_over, __ATOMIC_RELAXED)) {
		nr = __atomic_fetch_add(&h->next, 1, __ATOMIC_RELAXED);
		if (nr >= h->o->nr_seeds)
			break;
		run_seed(h, j, s, h->o->seed + nr);
	}
	free(s);
}

static struct job sum(const struct hunt *h)
{
	struct job t = { 0 };
	const struct job *j;

	for (j = h->jobs; j < h->jobs + h->o->jobs; j++) {
		t.seeds += j->seeds;
		t.conns += j->conns;
		t.delivered += j->delivered;
		t.lost += j->lost;
		t.simulated_ns += j->simulated_ns;
		if (j->slowest_s >= t.slowest_s) {
			t.slowest_s = j->slowest_s;
			t.slowest_seed = j->slowest_seed;
		}
	}
	return t;
}

static void say(const struct hunt *h, const char *end)
{
	double took = max(sim_seconds() - h->start_s, 1e-3);
	struct job t = sum(h);
	double hours = t.simulated_ns / 3.6e12;

	printf("%lu seeds, %lu connections, %lu packets delivered, %lu lost, "
	       "%.1f simulated hours in %.0f s; a minute: %.1f million packets, %.1f hours%s",
	       (unsigned long)t.seeds, (unsigned long)t.conns,
	       (unsigned long)t.delivered, (unsigned long)t.lost, hours, took,
	       t.delivered / took * 60 / 1e6, hours / took * 60, end);
	fflush(stdout);
}

static void say_failed(const struct hunt *h)
{
	u64 i;

	printf("%lu failed, seed%s", (unsigned long)h->nr_failed, h->nr_failed > 1 ? "s" : "");
	for (i = 0; i < min_t(u64, h->nr_failed, FAILED_MAX); i++)
		printf(" %lu", (unsigned long)h->failed_seeds[i]);
	printf("\n");
}

static void write_json(const struct hunt *h)
{
	double took = sim_seconds() - h->start_s;
	struct job t = sum(h);
	FILE *f = fopen(h->o->json, "w");
	u64 i;

	if (!f) {
		perror(h->o->json);
		return;
	}
	fprintf(f, "{\"first_seed\": %lu, \"seeds\": %lu, \"connections\": %lu, "
		"\"delivered\": %lu, \"lost\": %lu, \"simulated_hours\": %.3f, "
		"\"seconds\": %.3f, \"slowest_seed\": %lu, \"slowest_seconds\": %.3f, "
		"\"failed_seeds\": [",
		(unsigned long)h->o->seed, (unsigned long)t.seeds,
		(unsigned long)t.conns, (unsigned long)t.delivered,
		(unsigned long)t.lost, t.simulated_ns / 3.6e12, took,
		(unsigned long)t.slowest_seed, t.slowest_s);
	for (i = 0; i < min_t(u64, h->nr_failed, FAILED_MAX); i++)
		fprintf(f, "%s%lu", i ? ", " : "", (unsigned long)h->failed_seeds[i]);
	fprintf(f, "]}\n");
	fclose(f);
}

static void start(struct hunt *h, struct job *j)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (!pid) {
		work(h, j);
		exit(0);
	}
	j->pid = pid;
}

/*
 * One process ended.  The first that failed takes the others with it, or its seed is
 * noted and the next process adds to what it did.
 */
static void reap(struct hunt *h, pid_t pid, int status)
{
	struct job *j, *other;

	for (j = h->jobs; j->pid != pid; j++)
		;
	j->pid = 0;
	if (!status || (h->nr_failed && !h->o->keeps_going))
		return;
	if (h->nr_failed < FAILED_MAX)
		h->failed_seeds[h->nr_failed] = j->seed;
	h->nr_failed++;
	if (h->o->keeps_going) {
		start(h, j);
		return;
	}
	for (other = h->jobs; other < h->jobs + h->o->jobs; other++)
		if (other->pid)
			kill(other->pid, SIGKILL);
}

static void wait_for_all(struct hunt *h)
{
	struct timespec second = { .tv_sec = SAY_TERMINAL_S };
	bool is_terminal = isatty(STDOUT_FILENO);
	double said = h->start_s, now;
	sigset_t set;
	int status;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (;;) {
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			reap(h, pid, status);
		if (pid < 0)
			return;
		sigtimedwait(&set, NULL, &second);
		now = sim_seconds();
		if (h->o->seconds && now - h->start_s >= h->o->seconds)
			__atomic_store_n(&h->is_over, true, __ATOMIC_RELAXED);
		if (now - said < (is_terminal ? SAY_TERMINAL_S : SAY_S))
			continue;
		said = now;
		say(h, is_terminal ? "\r" : "\n");
	}
}

static void start_all(struct hunt *h)
{
	sigset_t set;
	u64 i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < h->o->jobs; i++)
		start(h, &h->jobs[i]);
}

static void print_profile(const struct sim_options *o)
{
	struct sim_cfg cfg;

	sim_cfg_draw(&cfg, o->profile ? o->profile : o->seed, o->has_flips, o->settings);
	printf("profile:%s\n", sim_cfg_changes(&cfg, 0));
}

int sim_hunt(const struct sim_options *options)
{
	struct sim_options o = *options;
	struct hunt *h;
	struct job t;

	o.jobs = min_t(u64, max_t(u64, o.jobs, 1), JOBS_MAX);
	h = sim_shared(sizeof(*h) + o.jobs * sizeof(h->jobs[0]));
	h->o = &o;
	h->start_s = sim_seconds();
	if (o.nr_seeds == 1 && !o.json) {
		print_profile(&o);
		work(h, h->jobs);
	} else {
		printf("from seed %lu on\n", (unsigned long)o.seed);
		start_all(h);
		wait_for_all(h);
	}
	say(h, "\n");
	t = sum(h);
	if (t.seeds > 1)
		printf("slowest: seed %lu with %.1f s\n", (unsigned long)t.slowest_seed,
		       t.slowest_s);
	sim_met_print();
	if (h->nr_failed)
		say_failed(h);
	else
		printf("none failed\n");
	if (o.json)
		write_json(h);
	return h->nr_failed > 0;
}
