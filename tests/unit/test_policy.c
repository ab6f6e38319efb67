// SPDX-License-Identifier: MIT
/*
 * test_policy: the shim's decisions, row by row.
 */
#include "policy.h"

#include <krcore/uapi.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

enum { UNKNOWN_FLAG = 0x100 };

struct parse_row {
	char krcore[8], fallback[8], verbose[8];	/* "-": unset */
	struct kr_policy expected;
};

static const char *value(const char *text)
{
	return text[0] == '-' ? NULL : text;
}

ParameterizedTestParameters(policy, parse__table)
{
	static struct parse_row rows[] = {
		{ "-", "-", "-", { true, false, KR_FALLBACK_TCP } },
		{ "", "", "", { true, false, KR_FALLBACK_TCP } },
		{ "on", "tcp", "0", { true, false, KR_FALLBACK_TCP } },
		{ "off", "-", "-", { false, false, KR_FALLBACK_TCP } },
		{ "OFF", "-", "-", { true, false, KR_FALLBACK_TCP } },
		{ "offf", "-", "-", { true, false, KR_FALLBACK_TCP } },
		{ "-", "fail", "-", { true, false, KR_FALLBACK_FAIL } },
		{ "-", "Fail", "-", { true, false, KR_FALLBACK_TCP } },
		{ "-", "-", "1", { true, true, KR_FALLBACK_TCP } },
		{ "-", "-", "yes", { true, false, KR_FALLBACK_TCP } },
		{ "off", "fail", "1", { false, true, KR_FALLBACK_FAIL } },
	};

	return cr_make_param_array(struct parse_row, rows,
				   sizeof(rows) / sizeof(rows[0]));
}

ParameterizedTest(struct parse_row *row, policy, parse__table)
{
	struct kr_policy policy;

	kr_policy_parse(&policy, value(row->krcore), value(row->fallback),
			value(row->verbose));

	cr_expect_eq(policy.enabled, row->expected.enabled);
	cr_expect_eq(policy.verbose, row->expected.verbose);
	cr_expect_eq(policy.fallback, row->expected.fallback);
}

struct choose_row {
	int family, type, protocol;
	enum kr_choice expected;
};

ParameterizedTestParameters(policy, choose__table)
{
	static struct choose_row rows[] = {
		{ AF_INET, SOCK_STREAM, 0, KR_CHOICE_KRCORE },
		{ AF_INET, SOCK_STREAM, IPPROTO_TCP, KR_CHOICE_KRCORE },
		{ AF_INET6, SOCK_STREAM, 0, KR_CHOICE_KRCORE },
		{ AF_INET6, SOCK_STREAM, IPPROTO_TCP, KR_CHOICE_KRCORE },
		{ AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, KR_CHOICE_KRCORE },
		{ AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, KR_CHOICE_KRCORE },
		{ AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		  IPPROTO_TCP, KR_CHOICE_KRCORE },
		{ AF_INET, SOCK_STREAM | UNKNOWN_FLAG, 0, KR_CHOICE_OTHER },
		{ AF_INET, SOCK_STREAM, IPPROTO_KRCORE, KR_CHOICE_OTHER },
		{ AF_INET, SOCK_STREAM, IPPROTO_MPTCP, KR_CHOICE_OTHER },
		{ AF_INET, SOCK_STREAM, IPPROTO_SCTP, KR_CHOICE_OTHER },
		{ AF_INET, SOCK_STREAM, IPPROTO_UDP, KR_CHOICE_OTHER },
		{ AF_INET, SOCK_STREAM, -1, KR_CHOICE_OTHER },
		{ AF_INET, SOCK_DGRAM, 0, KR_CHOICE_OTHER },
		{ AF_INET, SOCK_DGRAM, IPPROTO_TCP, KR_CHOICE_OTHER },
		{ AF_INET, SOCK_RAW, IPPROTO_TCP, KR_CHOICE_OTHER },
		{ AF_INET, SOCK_SEQPACKET, 0, KR_CHOICE_OTHER },
		{ AF_INET6, SOCK_DGRAM, 0, KR_CHOICE_OTHER },
		{ AF_INET, 0, 0, KR_CHOICE_OTHER },
		{ AF_INET, -1, 0, KR_CHOICE_OTHER },
		{ AF_UNSPEC, SOCK_STREAM, 0, KR_CHOICE_OTHER },
		{ AF_UNIX, SOCK_STREAM, 0, KR_CHOICE_OTHER },
		{ AF_NETLINK, SOCK_RAW, 0, KR_CHOICE_OTHER },
		{ AF_PACKET, SOCK_RAW, 0, KR_CHOICE_OTHER },
		{ AF_SMC, SOCK_STREAM, 0, KR_CHOICE_OTHER },
		{ AF_VSOCK, SOCK_STREAM, 0, KR_CHOICE_OTHER },
		{ -1, SOCK_STREAM, 0, KR_CHOICE_OTHER },
	};

	return cr_make_param_array(struct choose_row, rows,
				   sizeof(rows) / sizeof(rows[0]));
}

ParameterizedTest(struct choose_row *row, policy, choose__table)
{
	struct kr_policy on = { .enabled = true };
	enum kr_choice choice;

	choice = kr_policy_choose(&on, row->family, row->type, row->protocol);

	cr_expect_eq(choice, row->expected, "(%d, %#x, %d): %d", row->family,
		     row->type, row->protocol, choice);
}

Test(policy, choose__off_is_off_for_tcp_only)
{
	struct kr_policy off = { .enabled = false };

	cr_expect_eq(kr_policy_choose(&off, AF_INET, SOCK_STREAM, 0),
		     KR_CHOICE_OFF);
	cr_expect_eq(kr_policy_choose(&off, AF_INET6, SOCK_STREAM, IPPROTO_TCP),
		     KR_CHOICE_OFF);
	cr_expect_eq(kr_policy_choose(&off, AF_UNIX, SOCK_STREAM, 0),
		     KR_CHOICE_OTHER);
}

struct judge_row {
	int answer;
	enum kr_verdict with_tcp;
};

ParameterizedTestParameters(policy, judge__table)
{
	static struct judge_row rows[] = {
		{ 0, KR_VERDICT_KEEP },
		{ 5, KR_VERDICT_KEEP },
		{ -EPROTONOSUPPORT, KR_VERDICT_ABSENT },
		{ -ESOCKTNOSUPPORT, KR_VERDICT_ABSENT },
		{ -EINVAL, KR_VERDICT_TCP },
		{ -EAFNOSUPPORT, KR_VERDICT_TCP },
		{ -EACCES, KR_VERDICT_TCP },
		{ -EPERM, KR_VERDICT_TCP },
		{ -EMFILE, KR_VERDICT_KEEP },
		{ -ENFILE, KR_VERDICT_KEEP },
		{ -ENOBUFS, KR_VERDICT_KEEP },
		{ -ENOMEM, KR_VERDICT_KEEP },
		{ -EINTR, KR_VERDICT_KEEP },
	};

	return cr_make_param_array(struct judge_row, rows,
				   sizeof(rows) / sizeof(rows[0]));
}

ParameterizedTest(struct judge_row *row, policy, judge__table)
{
	struct kr_policy tcp = { true, false, KR_FALLBACK_TCP };
	struct kr_policy fail = { true, false, KR_FALLBACK_FAIL };

	cr_expect_eq(kr_policy_judge(&tcp, row->answer), row->with_tcp,
		     "answer %d", row->answer);
	cr_expect_eq(kr_policy_judge(&fail, row->answer), KR_VERDICT_KEEP,
		     "answer %d", row->answer);
}
