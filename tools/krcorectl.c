// SPDX-License-Identifier: MIT
/*
 * krcorectl: what krcore is doing.  Calls the command that the line names; each
 * has a file of its own.  See krcorectl(8).
 */
#include "krcorectl.h"

#include <krcore/uapi.h>

static void usage(FILE *out)
{
	fputs("Usage: krcorectl [-j] COMMAND [OPTION...]\n"
	      "Show what krcore, sockets over RDMA, is doing.\n\n", out);
	for (int i = 0; i < CTL_NR_COMMANDS; i++)
		fprintf(out, "  %-6s %s\n", ctl_commands[i].name, ctl_commands[i].summary);
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

/* Everything but a command; the exit status. */
static enum ctl_exit answer(enum ctl_wish wish, const struct ctl_line *line)
{
	switch (wish) {
	case CTL_WISH_HELP:
		usage(stdout);
		return CTL_OK;
	case CTL_WISH_VERSION:
		puts("krcorectl " KRCORE_VERSION);
		return CTL_OK;
	case CTL_WISH_NOTHING:
		usage(stderr);
		return CTL_FAILED;
	case CTL_WISH_UNKNOWN:
		fprintf(stderr, "krcorectl: no command '%s'\n", line->word);
		break;
	case CTL_WISH_TOO_MUCH:
		fprintf(stderr, "krcorectl %s: '%s' is too much\n",
			line->command->name, line->word);
		break;
	case CTL_WISH_NOT_ITS:
		fprintf(stderr, "krcorectl %s: it has no option -%c\n",
			line->command->name, line->letter);
		break;
	case CTL_WISH_BAD_OPTION:
	case CTL_WISH_COMMAND:
		break;
	}
	fputs("Try 'krcorectl --help'.\n", stderr);
	return CTL_FAILED;
}

int main(int argc, char **argv)
{
	struct ctl_line line;
	enum ctl_wish wish = ctl_line_parse(&line, argc, argv);
	enum ctl_exit status;

	status = wish == CTL_WISH_COMMAND ? line.command->run(&line.opts) :
					    answer(wish, &line);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("krcorectl: writing");
		return CTL_FAILED;
	}
	return status;
}
