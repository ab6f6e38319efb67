// SPDX-License-Identifier: MIT
/*
 * fuzz_line: any words as the command lines of krcore-run and krcorectl, and any
 * LD_PRELOAD.  What they accept is what their manual pages allow, and the program's
 * own words stay as they are.
 */
#include "fuzz.h"
#include "krcorectl.h"
#include "run_line.h"

#include <getopt.h>

enum { WORDS_MAX = 80 };

static char texts[WORDS_MAX][64];
static char *words[WORDS_MAX + 1], *before[WORDS_MAX + 1];

/* argv[0] and a word for each line. */
static int split(struct input *in)
{
	int nr = 1;

	strcpy(texts[0], "program");
	while (in->len && nr < WORDS_MAX)
		input_string(in, texts[nr++], sizeof(*texts));
	for (int i = 0; i < nr; i++)
		words[i] = texts[i];
	words[nr] = NULL;
	memcpy(before, words, sizeof(words));
	opterr = 0;
	optind = 0;
	return nr;
}

static void try_run(struct input *in)
{
	struct run_options opts;
	int argc = split(in);
	enum run_wish wish = run_line_parse(&opts, argc, words);

	check(!memcmp(before, words, sizeof(words)));
	check(optind <= argc);
	check((wish == RUN_NO_COMMAND) <= (optind == argc));
	if (wish != RUN_COMMAND)
		return;
	check(optind < argc);
	check(!opts.fallback || !strcmp(opts.fallback, "tcp") || !strcmp(opts.fallback, "fail"));
	/* Options end at the first word that is not one. */
	if (argc > 1 && (words[1][0] != '-' || !words[1][1]))
		check(optind == 1 && !opts.verbose && !opts.fallback);
}

static void try_ctl(struct input *in)
{
	int argc = split(in), options = 0;
	struct ctl_line line;
	enum ctl_wish wish = ctl_line_parse(&line, argc, words);
	const struct ctl_options *o = &line.opts;

	if (wish != CTL_WISH_COMMAND) {
		check((wish == CTL_WISH_NOT_ITS) == !!line.letter);
		return;
	}
	check(line.command && !strcmp(line.word, line.command->name));
	for (int i = 1; i < argc; i++)
		options += words[i][0] == '-';
	check(options == argc - 2);
	check(!o->with_all || strchr(line.command->letters, 'a'));
	check(!o->with_listeners || strchr(line.command->letters, 'l'));
	check(!o->with_processes || strchr(line.command->letters, 'p'));
	check(!o->with_names || strchr(line.command->letters, 'r'));
}

static bool is_entry(const char *list, const char *entry)
{
	const char *at = list;
	size_t len = strlen(entry);

	for (; (at = strstr(at, entry)); at++)
		if ((at == list || strchr(": ", at[-1])) && (!at[len] || strchr(": ", at[len])))
			return true;
	return false;
}

static void try_preload(struct input *in)
{
	static const char shim[] = "/l/s";
	char others[256], *list, *again;

	list = run_line_preload(shim, input_string(in, others, sizeof(others)));
	check(is_entry(list, shim));
	if (is_entry(others, shim))
		check(!strcmp(list, others));
	else
		check(!strncmp(list, shim, strlen(shim)) &&
		      !strcmp(list + strlen(list) - strlen(others), others));
	again = run_line_preload(shim, list);
	check(!strcmp(again, list));
	free(again);
	free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, len };

	switch (input_byte(&in) % 3) {
	case 0:
		try_run(&in);
		break;
	case 1:
		try_ctl(&in);
		break;
	case 2:
		try_preload(&in);
		break;
	}
	return 0;
}
