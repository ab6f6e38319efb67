// SPDX-License-Identifier: MIT
/* The command line: which command, with which options.  Says and does nothing. */
#include "krcorectl.h"

#include <getopt.h>
#include <string.h>

const struct ctl_command ctl_commands[CTL_NR_COMMANDS] = {
	{ "show", "connections and how each of them goes", "lnprH", ctl_run_show },
	{ "stat", "counters, and why connections use TCP", "aH", ctl_run_stat },
	{ "host", "remote hosts and the paths to them", "H", ctl_run_host },
	{ "dev", "RDMA devices in use", "H", ctl_run_dev },
	{ "qp", "RC QPs and TCP connections that connections share", "H", ctl_run_qp },
};

/* Those that not every command has. */
#define OWN_LETTERS "Halnpr"

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
	}
}

/* @given: which of OWN_LETTERS came, in the order in which they first did. */
static enum ctl_wish parse_options(struct ctl_options *opts, char *given,
				   int argc, char **argv)
{
	int letter;

	while ((letter = getopt_long(argc, argv, "jhV" OWN_LETTERS, long_options,
				     NULL)) != -1) {
		switch (letter) {
		case 'h':
			return CTL_WISH_HELP;
		case 'V':
			return CTL_WISH_VERSION;
		case '?':
			return CTL_WISH_BAD_OPTION;
		}
		set_option(opts, letter);
		if (letter != 'j' && !strchr(given, letter))
			given[strlen(given)] = (char)letter;
	}
	return CTL_WISH_COMMAND;
}

static const struct ctl_command *find_command(const char *name)
{
	for (int i = 0; i < CTL_NR_COMMANDS; i++)
		if (strcmp(ctl_commands[i].name, name) == 0)
			return &ctl_commands[i];
	return NULL;
}

enum ctl_wish ctl_line_parse(struct ctl_line *line, int argc, char **argv)
{
	char given[sizeof(OWN_LETTERS)] = "";
	enum ctl_wish wish;

	*line = (struct ctl_line){ 0 };
	wish = parse_options(&line->opts, given, argc, argv);
	if (wish != CTL_WISH_COMMAND)
		return wish;
	if (optind >= argc)
		return CTL_WISH_NOTHING;
	line->word = argv[optind];
	line->command = find_command(line->word);
	if (!line->command)
		return CTL_WISH_UNKNOWN;
	if (optind + 1 < argc) {
		line->word = argv[optind + 1];
		return CTL_WISH_TOO_MUCH;
	}
	line->letter = given[strspn(given, line->command->letters)];
	return line->letter ? CTL_WISH_NOT_ITS : CTL_WISH_COMMAND;
}
