/* SPDX-License-Identifier: MIT */
/*
 * policy: what the shim does with a socket() call.
 *
 * Pure functions over a struct that is parsed once.  Nothing here makes a
 * system call, keeps state or touches errno.  Addresses play no part: rules
 * about them belong to the kernel, which sees connect() and bind().
 */
#ifndef KRCORE_POLICY_H
#define KRCORE_POLICY_H

#include <stdbool.h>

enum kr_fallback {
	KR_FALLBACK_TCP,	/* a program never notices that krcore is absent */
	KR_FALLBACK_FAIL,	/* no TCP in its place: socket() fails */
};

struct kr_policy {
	bool enabled;
	bool verbose;
	enum kr_fallback fallback;
};

/* What a socket() call asks for, and what becomes of it. */
enum kr_choice {
	KR_CHOICE_OTHER,	/* not a TCP socket: none of our business */
	KR_CHOICE_OFF,		/* a TCP socket, and KRCORE=off */
	KR_CHOICE_KRCORE,	/* a TCP socket: ask for krcore */
};

/* What follows from the kernel's answer to a request for krcore. */
enum kr_verdict {
	KR_VERDICT_KEEP,	/* give the program this answer */
	KR_VERDICT_TCP,		/* this socket becomes plain TCP */
	KR_VERDICT_ABSENT,	/* so do all later ones of this family */
};

void kr_policy_parse(struct kr_policy *policy, const char *krcore,
		     const char *fallback, const char *verbose);
enum kr_choice kr_policy_choose(const struct kr_policy *policy, int family,
				int type, int protocol);
enum kr_verdict kr_policy_judge(const struct kr_policy *policy, int answer);

#endif /* KRCORE_POLICY_H */
