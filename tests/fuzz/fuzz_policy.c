// SPDX-License-Identifier: MIT
/*
 * fuzz_policy: any environment, any arguments of socket(), any answer of the kernel,
 * against the words of krcore-preload(7); and any text in a line of the shim.
 */
#include "fuzz.h"
#include "line.h"
#include "policy.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

/* A variable, which may be unset. */
static const char *variable(struct input *in, char *text, size_t room)
{
	return input_byte(in) & 1 ? input_string(in, text, room) : NULL;
}

static void check_choice(const struct kr_policy *p, int family, int type, int protocol)
{
	enum kr_choice choice = kr_policy_choose(p, family, type, protocol);
	bool is_tcp = (family == AF_INET || family == AF_INET6) &&
		      (type == SOCK_STREAM || type == (SOCK_STREAM | SOCK_NONBLOCK) ||
		       type == (SOCK_STREAM | SOCK_CLOEXEC) ||
		       type == (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)) &&
		      (protocol == 0 || protocol == IPPROTO_TCP);

	check((choice == KR_CHOICE_OTHER) == !is_tcp);
	check(!is_tcp || (choice == KR_CHOICE_KRCORE) == p->enabled);
}

static void check_verdict(const struct kr_policy *p, int answer)
{
	enum kr_verdict verdict = kr_policy_judge(p, answer);

	if (answer >= 0 || p->fallback == KR_FALLBACK_FAIL)
		check(verdict == KR_VERDICT_KEEP);
	else if (answer == -EMFILE || answer == -ENFILE || answer == -ENOBUFS ||
		 answer == -ENOMEM)
		check(verdict == KR_VERDICT_KEEP);
	else if (answer == -EPROTONOSUPPORT)
		check(verdict == KR_VERDICT_ABSENT);
	else if (answer == -EACCES || answer == -EPERM || answer == -EAFNOSUPPORT ||
		 answer == -EINVAL)
		check(verdict == KR_VERDICT_TCP);
}

/* What is added follows what was there, as much as there is room for. */
static void check_line(struct input *in)
{
	struct kr_line line = { 0 };
	char text[256], wanted[2 * KR_LINE_MAX];
	size_t len;

	while (in->len) {
		memcpy(wanted, line.text, line.len);
		len = line.len;
		if (input_byte(in) & 1) {
			kr_line_add(&line, input_string(in, text, KR_LINE_MAX));
		} else {
			unsigned int number = (unsigned int)input_number(in, 4);

			snprintf(text, sizeof(text), "%u", number);
			kr_line_add_number(&line, number);
		}
		memcpy(wanted + len, text, strlen(text));
		len += strlen(text);
		check(line.len == (len < KR_LINE_MAX ? len : KR_LINE_MAX));
		check(!memcmp(line.text, wanted, line.len));
	}
	kr_line_add_errno(&line, (int)(line.len * 7));
	check(line.len <= KR_LINE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, len };
	char texts[3][32];
	const char *krcore = variable(&in, texts[0], sizeof(*texts));
	const char *fallback = variable(&in, texts[1], sizeof(*texts));
	const char *verbose = variable(&in, texts[2], sizeof(*texts));
	struct kr_policy p;
	int family, type;

	kr_policy_parse(&p, krcore, fallback, verbose);
	check(p.enabled == !(krcore && !strcmp(krcore, "off")));
	check((p.fallback == KR_FALLBACK_FAIL) == (fallback && !strcmp(fallback, "fail")));
	check(p.verbose == (verbose && !strcmp(verbose, "1")));
	family = (int)input_number(&in, 1);
	type = (int)input_number(&in, 3);
	check_choice(&p, family, type, (int)input_number(&in, 1));
	check_verdict(&p, (int16_t)input_number(&in, 2));
	check_line(&in);
	return 0;
}
