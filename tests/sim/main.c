// SPDX-License-Identifier: MIT
/*
 * Each seed draws a profile and runs it (with --profile another seed draws it).
 * A failure prints the command that repeats it; --shrink makes it short.
 */
#include <argp.h>
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
	int n = snprintf(command, sizeof(command), "repeat with: %s --seed %lu%s",
			 o->program, (unsigned long)seed, o->has_flips ? " --flips" : "");
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

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What to run:", 1 },
	{ "seed", 's', "N", 0, "the first seed (1)", 0 },
	{ "seeds", 'n', "N", 0, "how many (1; without end with --seconds)", 0 },
	{ "seconds", 'S', "N", 0, "no new seed after so much real time", 0 },
	{ "jobs", 'j', "N", 0, "processes (1)", 0 },
	{ "profile", 'p', "N", 0, "the profile of another seed", 0 },
	{ "flips", 'f', NULL, 0, "change bytes so that no checksum shows it", 0 },
	{ "scenarios", 'c', NULL, 0,
	  "measure how long things take, in these families or all: see flow.h", 0 },
	{ NULL, 0, NULL, 0, "What to say:", 2 },
	{ "trace", 't', NULL, 0, "each packet in words", 0 },
	{ "shrink", 'x', NULL, 0, "look for the shortest run with the same failure", 0 },
	{ "keep-going", 'k', NULL, 0, "note seeds that fail and go on", 0 },
	{ "digest", 'd', NULL, 0, "each run as one number", 0 },
	{ "coverage", 'C', NULL, 0, "how often each event was met in each state", 0 },
	{ "json", 'J', "FILE", 0, "the result, for programs", 0 },
	{ 0 },
};

static const char doc[] =
	"Runs the protocol between many hosts in virtual time, on a network and with "
	"programs that each seed draws.\vValues of the profile are in tests/sim/config.c, "
	"what they do in docs/HACKING.md.  Exit status: 0; 1 if a seed failed, 2 for a wrong "
	"command line.";

static u64 read_number(struct argp_state *state, const char *text)
{
	char *end;
	u64 n = strtoull(text, &end, 0);

	if (end == text || *end)
		argp_error(state, "%s is no number", text);
	return n;
}

static error_t take(int c, char *arg, struct argp_state *state)
{
	struct sim_options *o = state->input;
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

	if (c == ARGP_KEY_ARGS)
		o->settings = state->argv + state->next;
	else if (c == 'J')
		o->json = arg;
	else if (arg && c > 0 && c < (int)ARRAY_SIZE(numbers) && numbers[c])
		*numbers[c] = read_number(state, arg);
	else if (!arg && c > 0 && c < (int)ARRAY_SIZE(flags) && flags[c])
		*flags[c] = true;
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		options, take, "[NAME=VALUE...]\n--scenarios [FAMILY...]", doc,
		NULL, NULL, NULL,
	};
	struct sim_options o = { .seed = 1, .jobs = 1, .program = argv[0] };

	argp_err_exit_status = 2;
	o.settings = argv + argc;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (!o.nr_seeds)
		o.nr_seeds = o.seconds ? ~0ull : 1;
	catch_crashes();
	if (o.has_coverage)
		sim_met_start();
	if (o.has_scenarios)
		return sim_scenarios(o.settings, o.is_traced);
	return o.is_shrunk ? sim_shrink(&o) : sim_hunt(&o);
}
