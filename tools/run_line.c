// SPDX-License-Identifier: MIT
/*
 * run_line: what the user of krcore-run asks for.
 *
 * Owns the options and the form of LD_PRELOAD; krcore-run.c acts on them.
 */
#include "run_line.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct option long_options[] = {
	{ "fallback", required_argument, NULL, 'f' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/**
 * run_line_parse() - read the command line
 * @opts: filled in
 * @argc: as main() has it
 * @argv: likewise; stays in its order
 *
 * Return: what is asked for; of several wishes the first.
 */
enum run_wish run_line_parse(struct run_options *opts, int argc, char **argv)
{
	int opt;

	*opts = (struct run_options){ 0 };
	while ((opt = getopt_long(argc, argv, "+f:vhV", long_options,
				  NULL)) != -1) {
		switch (opt) {
		case 'f':
			opts->fallback = optarg;
			break;
		case 'v':
			opts->verbose = true;
			break;
		case 'h':
			return RUN_HELP;
		case 'V':
			return RUN_VERSION;
		default:
			return RUN_BAD_OPTION;
		}
	}
	if (opts->fallback && strcmp(opts->fallback, "tcp") != 0 &&
	    strcmp(opts->fallback, "fail") != 0)
		return RUN_BAD_FALLBACK;
	return optind < argc ? RUN_COMMAND : RUN_NO_COMMAND;
}

static bool has_entry(const char *list, const char *entry)
{
	size_t len = strlen(entry);

	for (; *list; list += strspn(list, ": ")) {
		if (strcspn(list, ": ") == len && !strncmp(list, entry, len))
			return true;
		list += strcspn(list, ": ");
	}
	return false;
}

/**
 * run_line_preload() - put the shim before what is preloaded already
 * @shim: its path, without blanks and colons
 * @others: value of LD_PRELOAD, or NULL
 *
 * Return: the new value, to be freed, which is @others if that has the shim;
 * NULL with errno set.
 */
char *run_line_preload(const char *shim, const char *others)
{
	char *list;

	if (!others || !*others)
		return strdup(shim);
	if (has_entry(others, shim))
		return strdup(others);
	return asprintf(&list, "%s:%s", shim, others) < 0 ? NULL : list;
}
