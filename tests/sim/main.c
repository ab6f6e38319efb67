// SPDX-License-Identifier: MIT
/*
 * krsim [--seed N] [--seeds N] [--jobs N] [--seconds N] [--json FILE]
 *       [--profile N] [--trace] [--digest] [--flips] [--shrink] [--keep-going]
 *       [--coverage] [NAME=VALUE...]
 * krsim --scenarios [--trace] [FAMILY...]
 *
 * Each seed draws a profile and runs it (with --profile another seed draws it).
 * A failure prints the command that repeats it; --shrink makes it short.
 * --coverage counts at the end which pairs of state and event were met.
 * Scenarios measure how long things take: see flow.h.
 * Exit status: 0; 1 if a seed failed, 2 for a wrong command line.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "sim.h"

static struct sim_report report;
struct sim_report *sim_report = &report;

static char command[SIM_SETTINGS_MAX];

/* Only what may be called in a signal handler. */
static void print_command(void)
{
	ssize_t n = write(STDERR_FILENO, command, strlen(command));

	(void)n;
}

static void on_abort(int sig)
{
	print_command();
	_exit(1);
}

/* The sanitizer calls this before it prints. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	print_command();
}

void sim_note_command(const struct sim_options *o, u64 seed)
{
	int n = snprintf(command, sizeof(command),
			 "repeat with: build/tests/sim/krsim --seed %lu%s",
			 (unsigned long)seed, o->has_flips ? " --flips" : "");
	char **arg;

	if (o->profile)
		n += snprintf(command + n, sizeof(command) - n, " --profile %lu",
			      (unsigned long)o->profile);
	for (arg = o->settings; *arg && n < (int)sizeof(command) - 2; arg++)
		n += snprintf(command + n, sizeof(command) - n, " %s", *arg);
	if (n < (int)sizeof(command) - 10)
		strcpy(command + n, " --trace\n");
}

double sim_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

void *sim_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* A sanitizer has a handler of its own, which says more. */
static void catch_crashes(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	struct sigaction old;
	u32 i;

	signal(SIGABRT, on_abort);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
			signal(signals[i], on_abort);
}

static const struct option longs[] = {
	{ "seed", required_argument, NULL, 's' },
	{ "seeds", required_argument, NULL, 'n' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "seconds", required_argument, NULL, 'S' },
	{ "profile", required_argument, NULL, 'p' },
	{ "json", required_argument, NULL, 'J' },
	{ "trace", no_argument, NULL, 't' },
	{ "digest", no_argument, NULL, 'd' },
	{ "flips", no_argument, NULL, 'f' },
	{ "shrink", no_argument, NULL, 'x' },
	{ "keep-going", no_argument, NULL, 'k' },
	{ "coverage", no_argument, NULL, 'C' },
	{ "scenarios", no_argument, NULL, 'c' },
	{ 0 },
};

static bool take(struct sim_options *o, int c)
{
	u64 *const numbers[] = {
		['s'] = &o->seed, ['n'] = &o->nr_seeds, ['j'] = &o->jobs,
		['S'] = &o->seconds, ['p'] = &o->profile,
	};
	bool *const flags[] = {
		['t'] = &o->is_traced, ['d'] = &o->has_digest, ['f'] = &o->has_flips,
		['x'] = &o->is_shrunk, ['c'] = &o->has_scenarios,
		['k'] = &o->keeps_going,
		['C'] = &o->has_coverage,
	};
	char *end = "";

	if (optarg && c == 'J')
		o->json = optarg;
	else if (optarg && c < (int)ARRAY_SIZE(numbers) && numbers[c])
		*numbers[c] = strtoull(optarg, &end, 0);
	else if (c < (int)ARRAY_SIZE(flags) && flags[c])
		*flags[c] = true;
	else
		return false;
	return !*end;
}

int main(int argc, char **argv)
{
	struct sim_options o = { .seed = 1, .jobs = 1 };
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		if (!take(&o, c))
			return 2;
	o.settings = argv + optind;
	if (!o.nr_seeds)
		o.nr_seeds = o.seconds ? ~0ull : 1;
	catch_crashes();
	if (o.has_coverage)
		sim_met_start();
	if (o.has_scenarios)
		return sim_scenarios(o.settings, o.is_traced);
	return o.is_shrunk ? sim_shrink(&o) : sim_hunt(&o);
}
