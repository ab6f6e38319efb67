// SPDX-License-Identifier: MIT
/*
 * krcorectl: what krcore is doing.  Reads the command line and calls the
 * command; each has a file of its own.  See krcorectl(8).
 */
#include "krcorectl.h"

#include <krcore/uapi.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const struct ctl_command commands[] = {
	{ "show", "connections and how each of them goes", "lnprH", ctl_run_show },
	{ "stat", "counters, and why connections use TCP", "aH", ctl_run_stat },
	{ "host", "remote hosts and the paths to them", "H", ctl_run_host },
	{ "dev", "RDMA devices in use", "H", ctl_run_dev },
};

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "human", no_argument, NULL, 'H' },
	{ "all", no_argument, NULL, 'a' },
	{ "listeners", no_argument, NULL, 'l' },
	{ "numeric", no_argument, NULL, 'n' },
	{ "processes", no_argument, NULL, 'p' },
	{ "resolve", no_argument, NULL, 'r' },
	{ NULL, 0, NULL, 0 },
};

static void usage(FILE *out)
{
	fputs("Usage: krcorectl [-j] COMMAND [OPTION...]\n"
	      "Show what krcore, sockets over RDMA, is doing.\n\n", out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(out, "  %-6s %s\n", commands[i].name, commands[i].summary);
	fputs("\n"
	      "  -j, --json        JSON instead of text\n"
	      "  -H, --human       sizes with units\n"
	      "  -a, --all         stat: zeros, too\n"
	      "  -l, --listeners   show: listeners, too\n"
	      "  -p, --processes   show: whose they are\n"
	      "  -r, --resolve     show: names, not numbers (-n)\n"
	      "  -h, --help        show this text\n"
	      "  -V, --version     show the version\n"
	      "\n"
	      "Exit status: 0; 1 on failure; 2 when krcore is not loaded.\n"
	      "See krcorectl(8).\n", out);
}

__attribute__((noreturn)) static void bad_usage(void)
{
	fputs("Try 'krcorectl --help'.\n", stderr);
	exit(CTL_FAILED);
}

static const struct ctl_command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	fprintf(stderr, "krcorectl: no command '%s'\n", name);
	bad_usage();
}

static void set_option(struct ctl_options *opts, int letter)
{
	switch (letter) {
	case 'j':
		opts->is_json = true;
		break;
	case 'H':
		opts->is_human = true;
		break;
	case 'a':
		opts->with_all = true;
		break;
	case 'l':
		opts->with_listeners = true;
		break;
	case 'p':
		opts->with_processes = true;
		break;
	case 'n':
		opts->with_names = false;
		break;
	case 'r':
		opts->with_names = true;
		break;
	case 'h':
		usage(stdout);
		exit(CTL_OK);
	case 'V':
		puts("krcorectl " KRCORE_VERSION);
		exit(CTL_OK);
	default:
		bad_usage();
	}
}

/* Options come before or after the command; a string of those that came. */
static void parse_options(struct ctl_options *opts, char *given, size_t room,
			  int argc, char **argv)
{
	size_t nr = 0;
	int letter;

	while ((letter = getopt_long(argc, argv, "jhVHalnpr", long_options,
				     NULL)) != -1) {
		set_option(opts, letter);
		if (letter != 'j' && nr + 1 < room)
			given[nr++] = (char)letter;
	}
	given[nr] = '\0';
}

int main(int argc, char **argv)
{
	struct ctl_options opts = { 0 };
	const struct ctl_command *command;
	char given[64];
	enum ctl_exit status;

	parse_options(&opts, given, sizeof(given), argc, argv);
	if (optind == argc) {
		usage(stderr);
		return CTL_FAILED;
	}
	command = find_command(argv[optind]);
	if (optind + 1 != argc) {
		fprintf(stderr, "krcorectl %s: '%s' is too much\n",
			command->name, argv[optind + 1]);
		bad_usage();
	}
	if (given[strspn(given, command->letters)]) {
		fprintf(stderr, "krcorectl %s: it has no option -%c\n",
			command->name, given[strspn(given, command->letters)]);
		bad_usage();
	}
	status = command->run(&opts);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("krcorectl: writing");
		return CTL_FAILED;
	}
	return status;
}
